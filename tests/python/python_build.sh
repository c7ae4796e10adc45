# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package beside a build of the library. To be sourced, with $root set:
#   gang_build_python BUILD [FOLDER]    into FOLDER/lib, BUILD/python/lib unless told; sets $python and $python_lib
: "${root:?}"
# Debian's interpreter, whatever another "python3" in the path is: the packages are Debian's.
python=/usr/bin/python3
python_lib=

gang_build_python() { # BUILD [FOLDER]
    local build place
    build=$(cd "$1" && pwd)
    place=${2:-$build/python}
    python_lib=$place/lib
    # Sources go from one place to the other; what has been deleted must not stay there.
    rm -rf "$python_lib"
    (cd "$root/bindings/python" && GANGSCHED_BUILD=$build PYTHONDONTWRITEBYTECODE=1 "$python" -W ignore \
        setup.py --quiet build --build-base "$place" --build-lib "$python_lib" \
        --build-temp "$place/temp")
}
