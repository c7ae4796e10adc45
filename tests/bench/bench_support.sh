# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What the tests of the benchmark share. To be sourced; sets
#   root     the source tree (GANG_SOURCE_DIR)
#   bench    the folder with gangsched-bench (in GANG_BUILD_DIR)
#   scratch  an empty folder, removed at the end
set -euo pipefail
root=${GANG_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
bench=${GANG_BUILD_DIR:-$root/build/dev}/bench
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=$bench/gangsched-bench
if [[ ! -x $program ]]; then
    echo "not ok gangsched_bench_is_built"
    echo "  $program is not there" >&2
    exit 1
fi

. "$root/tests/tools/checks.sh"

# The command ends with this status and says this, on either output.
says() { # STATUS PATTERN COMMAND...
    local expected=$1 pattern=$2 status=0
    shift 2
    "$@" >"$scratch/out" 2>&1 </dev/null || status=$?
    cat "$scratch/out"
    [[ $status -eq $expected ]] || { echo "exit status $status instead of $expected" && return 1; }
    grep -Eq -e "$pattern" "$scratch/out" || { echo "expected: $pattern" && return 1; }
}
