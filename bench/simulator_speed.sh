#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much faster than the simulator that one writes first (plain_simulator.py, which ticks once a second)?
#   bench/simulator_speed.sh [DATA] [SECONDS]
# Two virtual clusters of Philly in the tight size, and all its jobs on all its nodes as one cluster, shortest job first:
# both run the same jobs on the same nodes, one after the other. The plain one gives up after SECONDS (60), and what it has done by then counts. Printed are jobs a second of
# processor time, and the ratio. DATA is ../shared/data beside the repository unless told. GANGSCHED: the program; that
# of build/release unless told.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
data=${1:-$here/../shared/data}
seconds=${2:-60}
program=${GANGSCHED:-$here/build/release/examples/gangsched}
if [[ $# -gt 2 || ! -d $data/philly || ! -x $program ]]; then
    echo "usage: bench/simulator_speed.sh [DATA] [SECONDS]; no data in $data, or no program $program" >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Those that the replay counts. Virtual cluster "all": every job, on the nodes of all.
gzip -dc "$data/philly/jobs_all.csv.gz" |
    awk -F, -v OFS=, 'NR == 1 || ($4 >= 0 && $4 <= 5270340) { print; if (NR > 1) { $2 = "all"; print } }' >"$scratch/all.csv"

user_seconds() { # COMMAND...; its output is in $scratch/out
    local TIMEFORMAT=%U
    { time "$@" >"$scratch/out"; } 2>&1
}

printf '%-8s %6s %8s %14s %14s %8s\n' cluster nodes jobs plain/s ours/s ratio
for vc in 11cb48 6214e9 all; do
    nodes=$(awk -F, -v vc=$vc 'NR > 1 && (vc == "all" || $1 == vc) { n += vc == "all" ? $2 : $3 } END { print n }' "$data/philly/vc_nodes.csv")
    awk -F, -v vc=$vc -v most=$((nodes * 8)) 'NR == 1 || ($2 == vc && $3 <= most)' "$scratch/all.csv" >"$scratch/jobs.csv"
    printf 'vc,nodes_original,nodes_tight\n%s,%s,%s\n' $vc "$nodes" "$nodes" >"$scratch/nodes.csv"
    jobs=$(($(wc -l <"$scratch/jobs.csv") - 1))
    plain=$(user_seconds python3 "$here/bench/plain_simulator.py" "$scratch/jobs.csv" $vc "$nodes" sjf "$seconds")
    ended=$(sed 's/.*"ended": \([0-9]*\).*/\1/' "$scratch/out")
    ours=$(user_seconds "$program" replay --format philly --tasks "$scratch/jobs.csv" --nodes "$scratch/nodes.csv" \
        --config tight --policy sjf --json)
    awk -v vc=$vc -v nodes="$nodes" -v jobs="$jobs" -v ended="$ended" -v plain="$plain" -v ours="$ours" 'BEGIN {
        a = ended / plain; b = jobs / ours
        printf "%-8s %6d %8d %14.0f %14.0f %8.0f\n", vc, nodes, jobs, a, b, b / a }'
done
