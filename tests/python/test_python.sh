#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package: it builds beside the library, its types are right, and its tests pass.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/python/python_build.sh
. "$root/tests/python/python_build.sh"
build=${GANG_BUILD_DIR:-$root/build/dev}
failed=0

modules='cffi, setuptools, numpy, pandas, matplotlib, tqdm, pytest, hypothesis, mypy'
if ! "$python" -W ignore -c "import $modules" 2>/dev/null; then
    echo "skip python # Debian's packages for Python are not installed"
    exit 0
fi

check() { # NAME COMMAND...
    local name=$1 status=0
    shift
    "$@" || status=$?
    if ((status == 0)); then echo "ok $name"; else
        echo "not ok $name # status $status"
        failed=1
    fi
}

check python_package_builds gang_build_python "$build"
cd "$root/bindings/python"
export PYTHONDONTWRITEBYTECODE=1
check python_types_are_right "$python" -m mypy --cache-dir "$build/python/mypy" gangsched ffi_headers.py

# tests/run.sh counts one line for each test. The folder of the sources has no extension: leave it.
cd "$build/python"
status=0
PYTHONPATH=$python_lib GANG_SOURCE_DIR=$root MPLBACKEND=Agg HYPOTHESIS_STORAGE_DIRECTORY=$build/python/hypothesis \
    "$python" -W ignore::DeprecationWarning:pandas -m pytest -q -rA -p no:cacheprovider --durations=5 \
    -c "$root/bindings/python/pyproject.toml" "$root/bindings/python/tests" >"$build/python/pytest.log" 2>&1 || status=$?
sed -n -E 's#(\.\./)+bindings/python/tests/##; s/^PASSED (.*)/ok \1/p; s/^(FAILED|ERROR) ([^ ].*)/not ok \2/p; s/^SKIPPED \[[0-9]+\] (.*)/skip python # \1/p' \
    "$build/python/pytest.log"
if ((status)); then
    failed=1
    cat "$build/python/pytest.log"
    echo "not ok pytest # status $status"
fi
exit $failed
