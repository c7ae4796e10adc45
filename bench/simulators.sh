#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Other people's simulators beside ours: what they got of the same workloads, and what we do.
#   bench/simulators.sh [--quick] [DATA]
# DATA is ../shared/data beside the repository by default. Compared are
#   - workload logs under FCFS, EASY, EASY with the shortest first (both also with exact run times)
#   and
#     conservative backfilling (pyss and its descendants): average wait, and the start of every job;
#   - Philly's virtual clusters under FIFO, SJF, SRTF (Helios' simulator) and Tiresias (Lucid's):
#   average
#     completion and queueing time, preemptions, and under FIFO and SJF the start of every job;
#   - the trace of 60 jobs of Tiresias' simulator: the same averages.
# Starts and the averages of what does not preempt are to be equal; averages of SRTF and Tiresias
# may differ by half a per cent. The last line is "N within tolerance, M outside"; the exit status
# is 1 if M > 0, and 2 if something could not be run. --quick: one log and the short ones, and the
# tight virtual clusters under FIFO. GANGSCHED: the program; that of build/release, else of
# build/dev, by default.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
quick=
if [[ ${1:-} == --quick ]]; then
    quick=yes
    shift
fi
data=${1:-$here/../shared/data}
program=${GANGSCHED:-}
for preset in release dev; do
    [[ -n $program ]] || [[ ! -x $here/build/$preset/examples/gangsched ]] ||
        program=$here/build/$preset/examples/gangsched
done
if [[ $# -gt 1 || ! -d $data/philly || ! -x $program ]]; then
    echo "usage: bench/simulators.sh [--quick] [DATA]; no data in $data, or no program '$program'" >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
verdicts=$scratch/verdicts
: >"$verdicts"

replay() { # OPTION...
    "$program" replay "$@" || exit 2
}

# CASE MEASURE OURS REFERENCE TOLERANCE: equal but for so much, as a part of the reference. Numbers
# are compared with the digits that the reference has.
judge() {
    awk -v name="$1" -v measure="$2" -v ours="$3" -v theirs="$4" -v tolerance="$5" 'BEGIN {
        point = index(theirs, ".")
        digits = point ? length(theirs) - point : 0
        ours = sprintf("%." digits "f", ours)
        off = ours - theirs
        off = off < 0 ? -off : off
        fine = off <= tolerance * theirs + 1e-9
        printf "%-34s %-22s %16s %16s  %s\n", name, measure, ours, theirs, fine ? "" : "OUTSIDE"
        print fine >>"'"$verdicts"'"
    }'
}

# CASE STARTS KEY COLUMN [MINUS]: jobs of standard input with a start other than that column (plus
# another).
judge_starts() {
    awk -F, -v column="$3" -v plus="${4:-}" '
        FNR == NR { start[$1] = $2; next }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        column in at {
            n++
            differ += start[$1] != $at[column] + (plus == "" ? 0 : $at[plus])
        }
        END { print n + 0, differ + 0 }' "$2" - >"$scratch/differ"
    local n differ
    read -r n differ <"$scratch/differ"
    ((n == 0)) || judge "$1" "jobs that differ" "$differ" 0 0
}

member() { # NAME: of a JSON object of one line
    sed -E "s/.*\"$1\": ([-+.e0-9]+).*/\1/"
}

# ---- workload logs ----

log() { # FILE PROCESSORS NAME
    local policy column clairvoyant header
    header=$(zcat "$1" | awk 'NR == 1')
    while read -r policy clairvoyant column; do
        [[ ,$header, == *,$column,* ]] || continue
        local options=()
        [[ $clairvoyant == - ]] || options=(--clairvoyant)
        replay --format jobs --tasks "$1" --processors "$2" --policy "$policy" "${options[@]}" \
            --same-second reference --starts "$scratch/starts" --json >"$scratch/out"
        local theirs
        theirs=$(zcat "$1" | awk -F, -v column="$column" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { sum += $at[column] } END { printf "%.3f", sum / (NR - 1) }')
        judge "$3 ${column#wait_}" "average wait" "$(member avg_wait <"$scratch/out")" "$theirs" 0
        theirs=$(zcat "$1" | awk -F, -v column="$column" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            {
                run = $at["run"]
                slowdown = ($at[column] + run) / (run > 10 ? run : 10)
                sum += slowdown > 1 ? slowdown : 1
            } END { printf "%.4f", sum / (NR - 1) }')
        judge "$3 ${column#wait_}" "bounded slowdown" \
            "$(member avg_bounded_slowdown <"$scratch/out")" "$theirs" 0
        zcat "$1" | judge_starts "$3 ${column#wait_}" "$scratch/starts" "$column" submit
    done <<'END'
fcfs - wait_fcfs
easy - wait_easy
easy-sjbf - wait_easysjbf
easy clairvoyant wait_easy_clair
easy-sjbf clairvoyant wait_easysjbf_clair
conservative - wait_conservative
END
}

# ---- virtual clusters ----

philly() { # CONFIG POLICY TOLERANCE
    replay --format philly --tasks "$data/philly/jobs_all.csv.gz" --nodes "$data/philly/vc_nodes.csv" \
        --config "$1" --policy "$2" --starts "$scratch/starts" >"$scratch/out"
    local config vc policy jct queue preempted name ours_jct ours_queue ours_preempted
    while IFS=, read -r config vc policy _ jct queue preempted _; do
        [[ $config == "$1" && $policy == "$2" ]] || continue
        read -r name _ _ ours_jct ours_queue ours_preempted < <(grep "^$vc " "$scratch/out") || exit 2
        judge "$1 $name $2" "completion time" "$ours_jct" "$jct" "$3"
        judge "$1 $name $2" "queueing time" "$ours_queue" "$queue" "$3"
        judge "$1 $name $2" "preemptions" "$ours_preempted" "$preempted" "$3"
    done <"$data/philly/reference_results.csv"
    [[ $1 == original ]] ||
        zcat "$data/philly/perjob_tight.csv.gz" | judge_starts "$1 $2" "$scratch/starts" "$2_start"
}

# ---- sixty jobs ----

sixty() { # NODES POLICY JCT QUEUE END OPTION...
    replay --format tiresias --tasks "$data/tiresias60/60_job.csv" --nodes "$data/tiresias60/$1.csv" \
        --policy "$2" --json "${@:6}" | tr -d '\n' >"$scratch/out"
    local name="60 jobs $1 $2${6:+ count}"
    judge "$name" "completion time" "$(member avg_jct <"$scratch/out")" "$3" 0
    judge "$name" "queueing time" "$(member avg_queue <"$scratch/out")" "$4" 0
    judge "$name" "last end" "$(member last_end <"$scratch/out")" "$5" 0
}

# ---- all ----

printf '%-34s %-22s %16s %16s\n' "" "" ours reference
log "$data/swf_sc15/KTH-SP2.csv.gz" 100 KTH-SP2
log "$data/swf_other/hpc2n_alea.csv.gz" 240 HPC2N
log "$data/swf_other/sdsc_sp2_5k.csv.gz" 128 SDSC-SP2-5K
if [[ -z $quick ]]; then
    log "$data/swf_sc15/SDSC-SP2.csv.gz" 128 SDSC-SP2
    log "$data/swf_other/lublin_256.csv.gz" 256 Lublin-256
    for config in original tight; do
        philly "$config" fifo 0
        philly "$config" sjf 0
        philly "$config" srtf 0.005
        philly "$config" tiresias 0.005
    done
else
    philly tight fifo 0
fi
for policy in fifo fjf dlas; do
    sixty n32g4 "$policy" 178.4167 0 3271
done
sixty n4g4 fifo 219.1833 40.7667 3341
sixty n4g4 fjf 219.1833 40.7667 3271
sixty n4g4 fifo 200.8167 22.4000 3335 --gpus-per-task 1
sixty n4g4 fjf 190.6833 12.2667 3271 --gpus-per-task 1
sixty n4g4 dlas 190.6833 12.2667 3271 --gpus-per-task 1 # it places nothing

within=$(grep -c 1 "$verdicts" || true)
outside=$(grep -c 0 "$verdicts" || true)
echo "$within within tolerance, $outside outside"
((outside == 0))
