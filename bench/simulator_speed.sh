#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much faster than a plain simulator (plain_simulator.py, which ticks once a second)?
#   bench/simulator_speed.sh [DATA] [SECONDS]
# Philly's virtual clusters in the tight size, each a cluster of its own, first come first served
# and shortest job first. The plain simulator runs one after the other; it gives up a cluster after
# SECONDS (400: it needs fewer for each), and what it has done by then counts. Ours runs all of them
# in one process. Printed are jobs a second of processor time, reading the file included, and the
# ratio: of two busy clusters, and of all together. Status 1: where the plain one came to the end,
# its jobs waited or took another time on average than ours. DATA is ../shared/data beside the
# repository by default. GANGSCHED: the program; that of build/release by default.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
data=${1:-$here/../shared/data}
seconds=${2:-400}
program=${GANGSCHED:-$here/build/release/examples/gangsched}
if [[ $# -gt 2 || ! -d $data/philly || ! -x $program ]]; then
    echo "usage: bench/simulator_speed.sh [DATA] [SECONDS]; no data in $data, or no program $program" >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
clusters() { # each "NAME,_,NODES"
    tail -n +2 "$data/philly/vc_nodes.csv" | tr -d '\r'
}

# Those that the replay counts; in $scratch/jobs.NAME those of a cluster that fit, and in
# $scratch/fitting those of all.
gzip -dc "$data/philly/jobs_all.csv.gz" | awk -F, 'NR == 1 || ($4 >= 0 && $4 <= 5270340)' >"$scratch/all"
head -n 1 "$scratch/all" >"$scratch/fitting"
while IFS=, read -r vc _ nodes; do
    awk -F, -v vc="$vc" -v most=$((nodes * 8)) 'NR == 1 || ($2 == vc && $3 <= most)' "$scratch/all" >"$scratch/jobs.$vc"
    tail -n +2 "$scratch/jobs.$vc" >>"$scratch/fitting"
done < <(clusters)

user_seconds() { # OUTPUT COMMAND...
    local TIMEFORMAT=%U output=$1
    shift
    { time "$@" >"$output"; } 2>&1
}

ours() { # POLICY JOBS NODES; seconds of processor time, the output is in $scratch/ours
    user_seconds "$scratch/ours" "$program" replay --format philly --tasks "$2" --nodes "$3" --config tight --policy "$1" --json
}

# Of the plain simulator the jobs that ended count. Less than a millisecond is not measured.
row() { # POLICY NAME NODES JOBS ENDED PLAIN_SECONDS OUR_SECONDS
    awk -v policy="$1" -v name="$2" -v nodes="$3" -v jobs="$4" -v ended="$5" -v plain="$6" -v ours="$7" 'BEGIN {
        a = ended / plain; b = jobs / (ours > 0.001 ? ours : 0.001)
        printf "%-6s %-8s %6d %8d %14.0f %14.0f %8.0f\n", policy, name, nodes, jobs, a, b, (a > 0 ? b / a : 0) }'
}

compare() { # POLICY; $scratch/plain has a line for each cluster
    python3 - "$1" "$scratch/ours" "$scratch/plain" <<'PYTHON'
import json
import sys

with open(sys.argv[2]) as file:
    ours = json.load(file)["vcs"]
same, differ, unknown = 0, 0, 0
with open(sys.argv[3]) as file:
    for line in file:
        name, result = line.split(" ", 1)
        plain = json.loads(result)
        if plain["ended"] < plain["jobs"]:
            unknown += 1
        elif all(abs(plain[key] - ours[name][key]) < 0.001 for key in ("avg_queue", "avg_jct")):
            same += 1
        else:
            differ += 1
            print(f"{sys.argv[1]} {name}: plain {result.strip()}, ours {json.dumps(ours[name])}")
print(f"{sys.argv[1]}: average waiting and completion times of {same} clusters equal, {differ} differ, {unknown} given up")
sys.exit(differ > 0)
PYTHON
}

status=0
printf '%-6s %-8s %6s %8s %14s %14s %8s\n' policy cluster nodes jobs plain/s ours/s ratio
for policy in fifo sjf; do
    all_jobs=0 all_nodes=0 all_ended=0 all_plain=0
    : >"$scratch/plain"
    while IFS=, read -r vc _ nodes; do
        jobs=$(($(wc -l <"$scratch/jobs.$vc") - 1))
        plain=$(user_seconds "$scratch/out" \
            python3 "$here/bench/plain_simulator.py" "$scratch/jobs.$vc" "$vc" "$nodes" "$policy" "$seconds")
        echo "$vc $(cat "$scratch/out")" >>"$scratch/plain"
        ended=$(sed 's/.*"ended": \([0-9]*\).*/\1/' "$scratch/out")
        all_jobs=$((all_jobs + jobs)) all_nodes=$((all_nodes + nodes)) all_ended=$((all_ended + ended))
        all_plain=$(awk -v a="$all_plain" -v b="$plain" 'BEGIN { print a + b }')
        if [[ $vc == 11cb48 || $vc == 6214e9 ]]; then
            printf 'vc,nodes_original,nodes_tight\n%s,%s,%s\n' "$vc" "$nodes" "$nodes" >"$scratch/nodes.csv"
            row "$policy" "$vc" "$nodes" "$jobs" "$ended" "$plain" "$(ours "$policy" "$scratch/jobs.$vc" "$scratch/nodes.csv")"
        fi
    done < <(clusters)
    our=$(ours "$policy" "$scratch/fitting" "$data/philly/vc_nodes.csv")
    row "$policy" all "$all_nodes" "$all_jobs" "$all_ended" "$all_plain" "$our"
    compare "$policy" || status=1
done
exit "$status"
