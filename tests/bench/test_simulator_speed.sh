#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/simulator_speed.sh on a workload made up: the plain simulator does the same as ours, and a
# difference is reported.
# Needs GANG_BIN_DIR, where the program is.
# shellcheck source-path=SCRIPTDIR source=bench_support.sh disable=SC1091,SC2154,SC2317
. "$(dirname "${BASH_SOURCE[0]}")/bench_support.sh"
gangsched=${GANG_BIN_DIR:-$root/build/dev/examples}/gangsched
speed=$root/bench/simulator_speed.sh
if ! command -v python3 >/dev/null; then
    skip bench_simulator_speed "python3 is not installed"
    exit 0
fi

# Two virtual clusters, busy enough that jobs wait; several come in one second, some last as long as
# others, and some are too large.
seed=${GANG_SEED:-$RANDOM}
echo "# seed $seed"
mkdir -p "$scratch/data/philly"
printf '%s\n' vc,nodes_original,nodes_tight 11cb48,4,3 small,2,1 >"$scratch/data/philly/vc_nodes.csv"
awk -v seed="$seed" 'BEGIN {
    srand(seed)
    split("1 1 1 2 2 4 8 12 16 32", sizes)
    print "job_id,vc,gpu_num,submit_time,duration"
    for (i = 0; i < 600; i++) {
        now += int(rand() * 4) * 25
        vc = rand() < 0.8 ? "11cb48" : "small"
        printf "%d,%s,%d,%d,%d\n", i, vc, sizes[1 + int(rand() * 10)], now, 1 + int(rand() * 30) * 7
    }
}' | gzip >"$scratch/data/philly/jobs_all.csv.gz"

agrees() {
    GANGSCHED=$gangsched "$speed" "$scratch/data" 100 >"$scratch/table"
    cat "$scratch/table"
    local policy
    for policy in fifo sjf; do
        grep -q "^$policy: .* of 2 clusters equal, 0 differ, 0 given up\$" "$scratch/table"
        [[ $(grep -Ec "^$policy +(11cb48|all) .* [0-9]+\$" "$scratch/table") -eq 2 ]]
    done
}
check bench_simulator_speed_agrees agrees

# A program that is always first come, first served.
cat >"$scratch/stubborn" <<END
#!/bin/sh
exec "$gangsched" \$(echo "\$@" | sed 's/ sjf/ fifo/')
END
chmod +x "$scratch/stubborn"
differs() {
    GANGSCHED=$scratch/stubborn says 1 '^sjf 11cb48: plain ' "$speed" "$scratch/data" 100
    grep -q '^fifo: .* 0 differ, ' "$scratch/out"
}
check bench_simulator_speed_differs differs
GANGSCHED=$gangsched check bench_simulator_speed_gives_up says 0 ' of 0 clusters equal, 0 differ, 2 given up$' "$speed" "$scratch/data" 0
GANGSCHED=$gangsched check bench_simulator_speed_no_data says 2 '^usage: .*; no data in /nonexistent' "$speed" /nonexistent
exit "$failed"
