#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory stays bounded: an hour (or so many seconds) of everything at once, half of it with a thread
# that is stopped in the midst of a commit. Prints what was held; the exit status is 1 if it grew.
# tests/run.sh runs a slice of the same program, and its rule stands in its head comment:
# tests/place/test_soak_threads.c.
#
#   tests/soak.sh [SECONDS [SEED]]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
seconds=${1:-3600}
if [[ ! $seconds =~ ^[0-9]+$ ]] || ((seconds < 10)); then
    echo "usage: tests/soak.sh [SECONDS [SEED]], at least 10 seconds" >&2
    exit 2
fi
export GANG_SEED=${2:-$(date +%s)000}
cmake --preset dev >/dev/null
cmake --build --preset dev --target test_soak_threads
unset GANG_TEST_QUICK
GANG_TEST_SECONDS=$seconds exec build/dev/tests/place/test_soak_threads
