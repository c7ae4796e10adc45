#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The notebooks of the Python package: each runs completely, with and without real traces, is
# committed as run.py writes it, and shows what it puts out today.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# The notebooks simulate a lot: the release build is twice as fast, and tests/run.sh has built it.
build=$root/build/release
[[ -e $build/lib/libgangsched.a ]] || build=${GANG_BUILD_DIR:-$root/build/dev}
# shellcheck source=tests/python/python_build.sh
. "$root/tests/python/python_build.sh"
export GANG_SHARED=${GANG_SHARED:-$root/../shared}
export PYTHONDONTWRITEBYTECODE=1
failed=0

modules='cffi, setuptools, numpy, pandas, matplotlib, yaml, nbformat, nbclient, ipykernel, matplotlib_inline'
if ! "$python" -W ignore -c "import $modules" 2>/dev/null; then
    echo "skip notebooks # Debian's packages for Python and Jupyter are not installed"
    exit 0
fi

# In its own folder: test_python.sh builds the package at the same time.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
gang_build_python "$build" "$place"
notebooks=$root/bindings/python/notebooks

run_check() { # ARGUMENT...
    PYTHONPATH=$python_lib timeout 400 "$python" -W ignore "$notebooks/run.py" --check "$@" 2>"$place/errors"
}

run() { # ARGUMENT...
    run_check "$@" && return
    failed=1
    cat "$place/errors"
}

run
# Notebooks on real traces make their own where there are none.
mapfile -t readers < <(grep -l GANG_SHARED "$notebooks"/*.ipynb)
((${#readers[@]} == 0)) || run --no-data "${readers[@]}"
# The check sees a number that is no longer true, and a picture of other data.
stale() { # NAME WHAT SED-SCRIPT
    sed -E "$3" "$notebooks/1-quick-start.ipynb" >"$place/stale.ipynb"
    if cmp -s "$notebooks/1-quick-start.ipynb" "$place/stale.ipynb"; then
        echo "not ok $1 # nothing was changed"
        failed=1
    elif run_check "$place/stale.ipynb" >"$place/said"; then
        echo "not ok $1"
        failed=1
    elif grep -q "stored output is stale: $2" "$place/said"; then
        echo "ok $1"
    else
        echo "not ok $1"
        cat "$place/said"
        failed=1
    fi
}
stale a_stale_number_is_found '29\.2, now 23\.2' 's/over after 23\.2 h/over after 29.2 h/'
stale a_stale_picture_is_found 'the data of a picture' 's/"sha256": "[0-9a-f]{8}/"sha256": "00000000/'
exit $failed
