#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fastest library: gcc lays out and inlines by a profile of a run (profile-guided
# optimization).
#   bench/profile.sh [BUILD]
# BUILD, build/profiled by default, is built with counters, runs typical work of schedulers
# (generated workloads with a fixed seed, under several policies, and the short benchmarks), and is
# built again from the counts. It can be installed from there: cmake --install BUILD. Schedules,
# exports and ABI are those of any other build.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build/profiled}
if [[ $# -gt 1 || $build == -* ]]; then
    echo "usage: bench/profile.sh [BUILD]" >&2
    exit 2
fi
mkdir -p "$build"
build=$(cd "$build" && pwd)

build_as() { # generate, or use
    # A profile brings warnings of its own.
    cmake -S "$here" -B "$build" --preset release -DGANG_WERROR=OFF -DGANG_PROFILE="$1"
    cmake --build "$build"
}

workload() { # JOBS; at 70 % of 128 processors, all sizes and lengths, limits above the run times
    awk -v jobs="$1" 'BEGIN {
        srand(1)
        print "job_id,submit,run,procs,req_time,user"
        for (i = 1; i <= jobs; i++) {
            procs = int(2 ^ int(rand() * 8)); run = 1 + int(exp(rand() * 11))
            time += rand() * 2 * procs * run / (128 * 0.7)
            printf "%d,%d,%d,%d,%d,%d\n", i, time, run, procs, run * (1 + int(rand() * 5)), int(rand() * 40)
        }
    }'
}

rm -rf "$build/profile"
build_as generate
workload 20000 >"$build/workload.csv"
for policy in fcfs easy easy-sjbf; do
    "$build/bench/gangsched-schedules" --processors 128 --policy "$policy" "$build/workload.csv"
done
"$build/bench/gangsched-bench" --quick
build_as use
rm -f "$build/workload.csv"
