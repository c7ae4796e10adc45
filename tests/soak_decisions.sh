#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Decisions in random small worlds, beside a naive scheduler, for 20 minutes (or so many seconds) on
# one core. Prints worlds, events (submissions, starts, growths, stops), violations of an invariant
# and worlds that the two schedulers decided otherwise; the exit status is 1 after a violation.
# tests/run.sh runs a slice of the same program; what is checked stands in its head comment:
# tests/sched/test_oracle.c.
#
#   tests/soak_decisions.sh [SECONDS [SEED]]
#   SOAK_BUILD=FOLDER   build there; build/soak unless told
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
seconds=${1:-1200}
if [[ ! $seconds =~ ^[0-9]+$ ]] || ((seconds < 3)); then
    echo "usage: tests/soak_decisions.sh [SECONDS [SEED]], at least 3 seconds" >&2
    exit 2
fi
export GANG_SEED=${2:-$(date +%s)000}
build=${SOAK_BUILD:-build/soak}
[[ -f $build/build.ninja ]] ||
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O2 -g" >/dev/null
cmake --build "$build" --target test_oracle >/dev/null
GANG_TEST_SECONDS=$((seconds / 3)) nice "$build/tests/sched/test_oracle" | tee /dev/stderr |
    awk '/ comparisons, / { worlds += $1; events += $5; violations += $7; otherwise += $9 }
         / Failures: / { failed = $0 !~ / Failures: 0, Errors: 0/ }
         END { printf "in all: %d worlds, %d events, %d violations, %d decided otherwise\n",
                      worlds, events, violations, otherwise
               exit failed || violations > 0 || worlds == 0 }'
