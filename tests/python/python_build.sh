# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package beside a build of the library. Source this file with $root set:
#   gang_build_python BUILD [FOLDER]
# builds into FOLDER/lib (default: BUILD/python/lib), and sets $python and $python_lib.
: "${root:?}"
# Debian's interpreter, which has Debian's packages; PATH may have another "python3" first.
python=/usr/bin/python3
python_lib=

gang_build_python() { # BUILD [FOLDER]
    local build place
    build=$(cd "$1" && pwd)
    place=${2:-$build/python}
    python_lib=$place/lib
    # A deleted module must not stay in the copy.
    rm -rf "$python_lib"
    (cd "$root/bindings/python" && GANGSCHED_BUILD=$build PYTHONDONTWRITEBYTECODE=1 "$python" -W ignore \
        setup.py --quiet build --build-base "$place" --build-lib "$python_lib" \
        --build-temp "$place/temp")
}
