# SPDX-License-Identifier: Apache-2.0
"""``python -m gangsched``: see :mod:`gangsched.cli`."""

import sys

from .cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
