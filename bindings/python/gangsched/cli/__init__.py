# SPDX-License-Identifier: Apache-2.0
"""The command line ``gangsched``, also ``python -m gangsched``: simulate, compare, convert and report, without a
notebook.
"""

from .commands import main as main

__all__ = ["main"]
