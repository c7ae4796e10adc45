# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What the tests of the command line share. To be sourced; sets
#   root     the source tree (GANG_SOURCE_DIR)
#   bin      the folder with gangsched and the examples (GANG_BIN_DIR)
#   shared   the folder with the reference data (GANG_SHARED), or empty
#   scratch  an empty folder, removed at the end
set -euo pipefail
root=${GANG_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
bin=${GANG_BIN_DIR:-$root/build/dev/examples}
shared=${GANG_SHARED:-}
[[ -n $shared && -d $shared/data ]] || shared=''
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
gangsched=$bin/gangsched
if [[ ! -x $gangsched ]]; then
    echo "not ok gangsched_is_built"
    echo "  $gangsched is not there" >&2
    exit 1
fi

. "$root/tests/tools/checks.sh"

# A test: the command ends with status 2, prints nothing on standard output, and on standard error
# one line "gangsched: ..." that matches the pattern (usage errors: and a usage line).
refuses() { # NAME PATTERN COMMAND...
    local name=$1 pattern=$2
    shift 2
    check "$name" refuses_now "$pattern" "$@"
}

refuses_now() { # PATTERN COMMAND...
    local pattern=$1 status=0 lines
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/err"
    lines=$(grep -vc '^usage: ' "$scratch/err" || true)
    [[ $status -eq 2 ]] || { echo "exit status $status instead of 2" && return 1; }
    [[ ! -s $scratch/out ]] || { echo "something was printed on standard output" && return 1; }
    [[ $lines -eq 1 ]] || { echo "$lines lines instead of one" && return 1; }
    grep -Eq -e "^gangsched: .*$pattern" "$scratch/err" || { echo "expected: $pattern" && return 1; }
    ! LC_ALL=C grep -q '[[:cntrl:]]' "$scratch/err" || { echo "control characters" && return 1; }
}

# Is the file one JSON value?
is_json() { # FILE
    if command -v python3 >/dev/null; then
        python3 -m json.tool "$1" >/dev/null
    else
        # Better than nothing: it begins and ends as an object or array does.
        head -c 1 "$1" | grep -q '[[{]' && tail -n 1 "$1" | grep -q '[]}]$'
    fi
}

# Prints a number of a JSON file by path, e.g. "placed.gangs".
json_get() { # FILE PATH
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value)
PYTHON
}
