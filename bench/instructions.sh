#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of fixed works of gangsched-bench and compares with
# bench/instructions.txt. Unlike times, counts hardly differ from run to run, so a loss of speed
# shows on any machine.
#   instructions.sh [PROGRAM]                     compare; status 1 if a count rose by more than 5 %
#   instructions.sh --update "reason" [PROGRAM]   write the counts and the reason
#   instructions.sh --counts FILE                 compare counts that --update wrote to another file
#                                                 ($GANG_INSTRUCTIONS instead of the baseline)
# PROGRAM: default build/release/bench/gangsched-bench. The last line is "N within tolerance, M
# outside", or "skip: " with the reason why counts cannot be compared here: they depend on compiler
# and C library.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
baseline=${GANG_INSTRUCTIONS:-$root/bench/instructions.txt}
tolerance=5

reason=
counts=
if [[ ${1:-} == --update ]]; then
    reason=${2:-}
    if [[ -z $reason || $reason == *$'\n'* ]]; then
        echo "usage: instructions.sh --update \"reason in one line\" [PROGRAM]" >&2
        exit 2
    fi
    shift 2
fi
if [[ ${1:-} == --counts && -r ${2:-} ]]; then
    counts=$2
    shift 2
fi
if (($# > 1)) || [[ ${1:-} == -* ]]; then
    echo "usage: instructions.sh [--update \"reason\" | --counts FILE] [PROGRAM]" >&2
    exit 2
fi
program=${1:-$root/build/release/bench/gangsched-bench}

# NAME COUNT a work.
measure() {
    local i=0 name operations total
    # Each end of gang_bench_work() writes the counts since the one before: of a warm-up, of the
    # work.
    if ! valgrind --quiet --tool=callgrind --toggle-collect=gang_bench_work \
        --dump-after=gang_bench_work --callgrind-out-file="$scratch/out" \
        "$program" work all >"$scratch/works" 2>"$scratch/log"; then
        cat "$scratch/log" >&2
        exit 2
    fi
    while read -r name operations; do
        i=$((i + 2))
        total=$(sed -n 's/^totals: //p' "$scratch/out.$i")
        echo "$name $((total / operations))"
    done < <(sed -E 's/.*"work": "([^"]*)", "operations": ([0-9]+).*/\1 \2/' "$scratch/works")
}

if [[ -n $counts ]]; then
    build=$(sed -n 's/^build: //p' "$counts")
elif [[ ! -x $program ]]; then
    echo "instructions.sh: $program is not there" \
        "(cmake --preset release && cmake --build --preset release)" >&2
    exit 2
elif ! command -v valgrind >/dev/null; then
    echo "skip: valgrind is not installed"
    exit 0
else
    build=$("$program" --version)
    build="${build#*, }, $(uname -m)"
fi
if [[ -z $reason ]]; then
    expected=$(sed -n 's/^build: //p' "$baseline")
    if [[ $build != "$expected" ]]; then
        echo "skip: this is \"$build\", the counts are of \"$expected\""
        exit 0
    fi
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [[ -n $counts ]]; then
    grep -E '^[a-z0-9_]+ [0-9]+$' "$counts" >"$scratch/now"
else
    measure >"$scratch/now"
fi

if [[ -n $reason ]]; then
    {
        echo "# Instructions of one operation of each work of gangsched-bench work (a pair of operations"
        echo "# counts as one). Written by: bench/instructions.sh --update \"reason\""
        echo "reason: $reason"
        echo "build: $build"
        cat "$scratch/now"
    } >"$baseline.new"
    mv "$baseline.new" "$baseline"
    cat "$baseline"
    exit 0
fi

awk -v tolerance=$tolerance '
    FNR == NR { if (NF == 2 && $2 ~ /^[0-9]+$/) before[$1] = $2; next }
    FNR == 1 { printf "%-28s %12s %12s %9s\n", "", "baseline", "now", "change" }
    !($1 in before) {
        printf "%-28s %12s %12d %9s  not in the baseline\n", $1, "-", $2, "-"
        outside++
        next
    }
    {
        change = 100 * ($2 / before[$1] - 1)
        note = ""
        if (change > tolerance) { note = "  outside"; outside++ } else within++
        if (change < -tolerance) note = "  less: time for --update"
        printf "%-28s %12d %12d %+8.1f%%%s\n", $1, before[$1], $2, change, note
        delete before[$1]
    }
    END {
        for (name in before) {
            printf "%-28s %12d %12s %9s  not measured\n", name, before[name], "-", "-"
            outside++
        }
        printf "%d within tolerance, %d outside\n", within, outside
        exit outside > 0
    }' "$baseline" "$scratch/now"
