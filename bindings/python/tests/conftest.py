# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the package is taken from beside them, whatever is installed."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
