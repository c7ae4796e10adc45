#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched replay --order: a trace with outcomes computed by hand, wrong input, and a slice of the
# published results (bench/openb.py runs all). Needs GANG_BIN_DIR; GANG_SHARED for the published
# results.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
cd "$scratch" || exit 1

# ---- by hand ----

cat >nodes.csv <<'END'
sn,cpu_milli,memory_mib,gpu,model
late,16000,65536,2,A
early,16000,65536,2,A
other,16000,65536,1,B
END
cat >pods.csv <<'END'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
whole,1000,1024,1,1000,A
part,1000,1024,1,400,
pair,1000,1024,2,1000,A|B
cores,2000,1024,0,0,
END
cat >order.json <<'END'
[{"seed": 7, "node_rank": [2, 1, 0], "arrivals": [0]},
 {"seed": 8, "node_rank": [1, 0, 2], "arrivals": [0, 1, 2, 3, 1, 1, 2]}]
END
replay=("$gangsched" replay --format openb --nodes nodes.csv --tasks pods.csv --order order.json)

by_hand() {
    "${replay[@]}" --seed 8 --policy first --placements out.csv --json >out.json
    cat out.json out.csv
    is_json out.json
    # "early" ranks first. Two parts of 400 go on one device; the last pair finds none.
    diff out.csv - <<'END'
seq,node,gpu_index
0,early,0
1,early,1
2,late,0-1
3,early,
4,early,1
5,other,0
6,,
END
    [[ $(json_get out.json allocated_gpu_milli) -eq 4200 ]]
    [[ $(json_get out.json arrived_gpu_milli) -eq 6200 ]]
    [[ $(json_get out.json gpu_milli) -eq 5000 ]]
    [[ $(json_get out.json idle_gpu_milli) -eq 800 ]]
    [[ $(json_get out.json rejected) -eq 1 ]]
    [[ $(json_get out.json typical_kinds) -eq 4 ]]
    [[ $(json_get out.json policy) == first ]]
    [[ $(json_get out.json allocated.20) == 20.0 ]]
    [[ $(json_get out.json allocated.28) == 28.0 ]]
    [[ $(json_get out.json allocated.68) == 68.0 ]] # "pair" and "cores"
    [[ $(json_get out.json allocated.84) == 84.0 ]]
    [[ $(json_get out.json allocated.21) == None ]]
    # In the end 200 are free on a device of "early", 600 on "other": "pair" can use nothing of it,
    # nor "whole", nor "cores"; "part" the 600. (4 x 800 - 600) / 4 = 650, 13 % of all.
    [[ $(json_get out.json fragmented_gpu_milli) == 650.0 ]]
    [[ $(json_get out.json fragmented.84) == 13.0 ]]
}

in_words() {
    "${replay[@]}" >out.txt # the first seed, the default policy
    cat out.txt
    grep -q '^policy      default (.*), order of seed 7$' out.txt
    grep -q '^arrived     1 pods, 1 GPUs$' out.txt
    grep -q '^allocated   1 of 5 GPUs (20.0 %)$' out.txt
}
check in_words in_words

compressed() {
    gzip -c order.json >order.json.gz
    gzip -c pods.csv >pods.csv.gz
    "$gangsched" replay --format openb --nodes nodes.csv --tasks pods.csv.gz --order order.json.gz \
        --seed 8 --policy first --placements compressed.csv >/dev/null
    "${replay[@]}" --seed 8 --policy first --placements plain.csv >/dev/null
    diff compressed.csv plain.csv
}
check compressed_files compressed

all_policies() {
    local policy
    for policy in first pack spread best-fit dot-product gpu-packing gpu-clustering fgd default; do
        "${replay[@]}" --seed 8 --policy "$policy" --json >out.json
        is_json out.json
        "$gangsched" replay --nodes nodes.csv --tasks pods.csv --format openb \
            --policy "${policy/default/pack}" >/dev/null
    done
}
check all_policies all_policies

if command -v python3 >/dev/null; then
    check by_hand by_hand
else
    skip by_hand "python3 is not there"
fi

# ---- wrong usage, wrong input ----

refuses order_wants_its_format "'--order' goes with '--format openb'" "$gangsched" replay \
    --nodes nodes.csv --tasks pods.csv --order order.json
refuses order_goes_without_limit "'--order' goes with .* without '--limit'" \
    "${replay[@]}" --limit 3
refuses seed_wants_an_order "'--seed' goes with '--order'" "$gangsched" replay \
    --nodes nodes.csv --tasks pods.csv --seed 8
refuses seed_is_a_number "'x' is not a seed" "${replay[@]}" --seed x
refuses unknown_format "unknown format 'swf'" "$gangsched" replay --nodes nodes.csv \
    --tasks pods.csv --format swf
refuses host_is_no_policy_here "unknown policy 'host'" "${replay[@]}" --policy host
refuses unknown_policy "unknown policy 'best'" "${replay[@]}" --policy best
refuses unknown_seed "order.json: no order of seed 9" "${replay[@]}" --seed 9
refuses missing_order "none.json: No such file" "$gangsched" replay --format openb \
    --nodes nodes.csv --tasks pods.csv --order none.json
refuses order_that_is_a_folder "cannot be read|Is a directory" "$gangsched" replay --format openb \
    --nodes nodes.csv --tasks pods.csv --order .
refuses unwritable_placements "nowhere/out.csv: No such file" \
    "${replay[@]}" --placements nowhere/out.csv

bad_order() { # NAME PATTERN TEXT
    printf '%s' "$3" >bad.json
    refuses "order_$1" "bad.json: $2" "$gangsched" replay --format openb --nodes nodes.csv \
        --tasks pods.csv --order bad.json
}
bad_order empty "line 1" ''
bad_order no_json "line 1, column" '[{'
bad_order no_array "no array of" '{"seed": 1}'
bad_order no_seed "no array of" '[{"node_rank": [0, 1, 2], "arrivals": [0]}]'
bad_order no_rank "'node_rank' is missing" '[{"seed": 1, "arrivals": [0]}]'
bad_order no_arrivals "'arrivals' is missing" '[{"seed": 1, "node_rank": [0, 1, 2]}]'
bad_order short_rank "'node_rank' does not rank each of the 3 nodes" \
    '[{"seed": 1, "node_rank": [0, 1], "arrivals": [0]}]'
bad_order rank_twice "'node_rank' does not rank each of the 3 nodes" \
    '[{"seed": 1, "node_rank": [0, 1, 1], "arrivals": [0]}]'
bad_order rank_out_of_range "'node_rank', number 2: not a whole number below 3" \
    '[{"seed": 1, "node_rank": [0, 1, 3], "arrivals": [0]}]'
bad_order arrival_out_of_range "'arrivals', number 1: not a whole number below 4" \
    '[{"seed": 1, "node_rank": [0, 1, 2], "arrivals": [0, 4]}]'
bad_order arrival_of_another_type "'arrivals', number 0: not a whole number" \
    '[{"seed": 1, "node_rank": [0, 1, 2], "arrivals": ["0"]}]'
cut_off() {
    gzip -c order.json | head -c 60 >bad.json
    "$gangsched" replay --format openb --nodes nodes.csv --tasks pods.csv --order bad.json
}
refuses order_cut_off "bad.json: (is cut off|cannot be read)" cut_off

bad_pods() { # NAME PATTERN TEXT
    printf '%s\n' "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec" "$3" >bad.csv
    refuses "pods_$1" "bad.csv: $2" "$gangsched" replay --format openb --nodes nodes.csv \
        --tasks bad.csv --order order.json
}
bad_pods part_of_several "line 2: column 'gpu_milli': a part of each of several GPUs" \
    p,1,1,2,500,
bad_pods empty_model "line 2: column 'gpu_spec': an empty GPU model" p,1,1,1,500,A\|
bad_pods too_many_gpus "line 2: column 'num_gpu': '17' is more than 16" p,1,1,17,1000,
no_pods() {
    head -n 1 pods.csv >bad.csv
    "$gangsched" replay --format openb --nodes nodes.csv --tasks bad.csv --order order.json
}
refuses pods_none "bad.csv: nothing after the header" no_pods

no_gpus() {
    sed 's/,[0-9],[AB]$/,0,/' nodes.csv >cores.csv
    "$gangsched" replay --format openb --nodes cores.csv --tasks pods.csv --order order.json
}
refuses a_cluster_without_gpus "cores.csv: no node has a GPU" no_gpus

# ---- what is published ----

reference() {
    "$root/bench/openb.py" --quick --program "$gangsched" "$shared/data" >out.txt || {
        cat out.txt
        return 1
    }
    cat out.txt
    grep -q '^[1-9][0-9]* within tolerance, 0 outside$' out.txt
}
if [[ -z $shared || ! -d $shared/data/openb ]]; then
    skip published_results "GANG_SHARED is not set"
elif ! command -v python3 >/dev/null; then
    skip published_results "python3 is not there"
elif [[ -n ${GANG_SKIP_QUICKSTART:-} ]]; then
    skip published_results "too slow under this tool"
else
    check published_results reference
fi
