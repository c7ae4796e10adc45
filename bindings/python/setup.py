# SPDX-License-Identifier: Apache-2.0
"""The parts of the build that pyproject.toml cannot express: the extension, the abi3 wheel, and a
build that leaves no files beside the sources.
"""

import atexit
import re
import shutil
import sys
import tempfile
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # pip runs this file without its folder in the path


def version() -> str:
    """The version in gangsched/__init__.py. A test compares it with the version of the library."""
    text = (HERE / "gangsched" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.M)
    assert found
    return found.group(1)


SCRATCH = tempfile.mkdtemp(prefix="gangsched-build-")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

setup(
    version=version(),
    cffi_modules=["ffi_build.py:builder"],
    options={
        "bdist_wheel": {"py_limited_api": "cp39"},
        "build": {"build_base": SCRATCH},
        "egg_info": {"egg_base": SCRATCH},
    },
)
