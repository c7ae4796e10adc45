# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package beside a build of the library. To be sourced, with $root set:
#   gang_build_python BUILD    into BUILD/python/lib; sets $python and $python_lib
: "${root:?}"
# Debian's interpreter, whatever another "python3" in the path is: the packages are Debian's.
python=/usr/bin/python3
python_lib=

gang_build_python() { # BUILD
    local build
    build=$(cd "$1" && pwd)
    python_lib=$build/python/lib
    # Sources go from one place to the other; what has been deleted must not stay there.
    rm -rf "$python_lib"
    (cd "$root/bindings/python" && GANGSCHED_BUILD=$build PYTHONDONTWRITEBYTECODE=1 "$python" -W ignore \
        setup.py --quiet build --build-base "$build/python" --build-lib "$python_lib" \
        --build-temp "$build/python/temp")
}
