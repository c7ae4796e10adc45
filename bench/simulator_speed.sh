#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much faster than the simulator that one writes first (plain_simulator.py, which ticks once a second)?
#   bench/simulator_speed.sh [DATA] [SECONDS]
# Philly's virtual clusters in the tight size, each a cluster of its own, shortest job first. The plain simulator runs one after
# the other; it gives up a cluster after SECONDS (60), and what it has done by then counts. Ours runs all of them in one
# process. Printed are jobs a second of processor time and the ratio: of two busy clusters, and of all together.
# DATA is ../shared/data beside the repository unless told. GANGSCHED: the program; that of build/release unless told.
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
# Those that the replay counts.
gzip -dc "$data/philly/jobs_all.csv.gz" | awk -F, 'NR == 1 || ($4 >= 0 && $4 <= 5270340)' >"$scratch/all.csv"

user_seconds() { # COMMAND...; its output is in $scratch/out
    local TIMEFORMAT=%U
    { time "$@" >"$scratch/out"; } 2>&1
}

ours() { # JOBS NODES; seconds of processor time
    user_seconds "$program" replay --format philly --tasks "$1" --nodes "$2" --config tight --policy sjf --json
}

row() { # NAME NODES JOBS ENDED PLAIN_SECONDS OUR_SECONDS; of the plain one those that ended count
    awk -v name="$1" -v nodes="$2" -v jobs="$3" -v ended="$4" -v plain="$5" -v ours="$6" 'BEGIN {
        a = ended / plain; b = jobs / ours
        printf "%-8s %6d %8d %14.0f %14.0f %8.0f\n", name, nodes, jobs, a, b, b / a }'
}

all_jobs=0 all_nodes=0 all_ended=0 all_plain=0
head -n 1 "$scratch/all.csv" >"$scratch/fitting.csv"
printf '%-8s %6s %8s %14s %14s %8s\n' cluster nodes jobs plain/s ours/s ratio
while IFS=, read -r vc _ nodes; do
    awk -F, -v vc="$vc" -v most=$((nodes * 8)) 'NR == 1 || ($2 == vc && $3 <= most)' "$scratch/all.csv" >"$scratch/jobs.csv"
    tail -n +2 "$scratch/jobs.csv" >>"$scratch/fitting.csv"
    jobs=$(($(wc -l <"$scratch/jobs.csv") - 1))
    plain=$(user_seconds python3 "$here/bench/plain_simulator.py" "$scratch/jobs.csv" "$vc" "$nodes" sjf "$seconds")
    ended=$(sed 's/.*"ended": \([0-9]*\).*/\1/' "$scratch/out")
    all_jobs=$((all_jobs + jobs)) all_nodes=$((all_nodes + nodes)) all_ended=$((all_ended + ended))
    all_plain=$(awk -v a="$all_plain" -v b="$plain" 'BEGIN { print a + b }')
    if [[ $vc == 11cb48 || $vc == 6214e9 ]]; then
        printf 'vc,nodes_original,nodes_tight\n%s,%s,%s\n' "$vc" "$nodes" "$nodes" >"$scratch/nodes.csv"
        row "$vc" "$nodes" "$jobs" "$ended" "$plain" "$(ours "$scratch/jobs.csv" "$scratch/nodes.csv")"
    fi
done < <(tail -n +2 "$data/philly/vc_nodes.csv" | tr -d '\r')
row all "$all_nodes" "$all_jobs" "$all_ended" "$all_plain" "$(ours "$scratch/fitting.csv" "$data/philly/vc_nodes.csv")"
