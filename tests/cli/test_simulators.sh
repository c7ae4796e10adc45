#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched replay --format jobs, philly and tiresias: workloads with outcomes computed by hand,
# wrong usage and input, and published results (bench/simulators.sh). Needs GANG_BIN_DIR;
# GANG_SHARED for what is published.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$scratch" || exit 1

# ---- workload logs ----

# Four processors. 2 does not fit beside 1; 3 and 4 would pass it: 3 is over in time, 4 is not.
cat >log.csv <<'END'
job_id,submit,run,procs,req_time,user
1,0,100,3,100,7
2,10,50,4,60,7
3,20,40,1,80,8
4,30,10,1,500,8
END

starts() { # EXPECTED OPTION...
    "$gangsched" replay --format jobs --tasks log.csv --processors 4 --starts out.csv "${@:2}" >out.txt
    cat out.txt out.csv
    [[ $(tail -n +2 out.csv | cut -d, -f2 | tr '\n' ' ') == "$1 " ]]
}
check first_come starts "0 100 150 150" --policy fcfs
check first_come_is_the_default starts "0 100 150 150"
check easy starts "0 100 20 150" --policy easy
# With exact run times the last one passes, too: when the third is over.
check easy_clairvoyant starts "0 100 20 60" --policy easy --clairvoyant --same-second reference
check conservative starts "0 100 20 150" --policy conservative
shortest_first() {
    printf '%s\n' job_id,submit,run,procs,req_time 1,0,100,3,100 2,0,20,1,20 3,5,50,4,60 \
        4,6,70,1,70 5,7,40,1,40 >log.csv
    starts "0 0 100 20 150" --policy easy
    starts "0 0 100 150 20" --policy easy-sjbf
}
check shortest_first shortest_first

in_json() {
    printf '%s\n' job_id,submit,run,procs,req_time 1,0,100,3,100 2,10,4,4,60 3,20,4,9,80 >log.csv
    "$gangsched" replay --format jobs --tasks log.csv --processors 4 --json >out.json
    cat out.json
    is_json out.json
    [[ $(json_get out.json jobs) -eq 2 ]]
    [[ $(json_get out.json refused) -eq 1 ]]
    [[ $(json_get out.json avg_wait) == 45* ]]
    [[ $(json_get out.json avg_bounded_slowdown) == 5.2* ]] # (1 + 94 / 10) / 2
}
standard_workload_format() {
    printf '; a comment\n%s\n%s\n' "1 0 -1 100 3 -1 -1 3 100 -1 1 1 1 1 1 1 -1 -1" \
        "2 10 -1 50 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1" | gzip >log.swf.gz
    "$gangsched" replay --format jobs --tasks log.swf.gz --processors 4 --starts out.csv
    diff out.csv <(printf '%s\n' job_id,start 1,0 2,100)
}
check standard_workload_format standard_workload_format

# ---- virtual clusters ----

cat >vcs.csv <<'END'
vc,nodes_original,nodes_tight
one,4,2
two,1,1
END
# In "one", of two nodes: 0 has one and a half; 1 waits at the head, and 2 behind it though it would
# fit.
cat >jobs.csv <<'END'
job_id,vc,gpu_num,submit_time,duration
9,one,8,-5,1000
0,one,12,0,100
1,one,8,10,20
2,one,2,20,10
3,two,4,30,50
4,two,6,40,5
5,other,1,50,5
6,one,1,5270341,5
END
by_hand() { # CONFIG POLICY STARTS JCT
    "$gangsched" replay --format philly --tasks jobs.csv --nodes vcs.csv --config "$1" --policy "$2" \
        --starts out.csv --json >out.json
    cat out.json out.csv
    is_json out.json
    [[ $(tail -n +2 out.csv | tr ',\n' ': ') == "$3 " ]]
    [[ $(json_get out.json vcs.one.jobs) -eq 3 ]] # the others are not in the window
    [[ $(json_get out.json vcs.one.avg_jct) == "$4"* ]]
    [[ $(json_get out.json vcs.two.avg_queue) == "$5"* ]]
}
in_words() {
    "$gangsched" replay --format philly --tasks jobs.csv --nodes vcs.csv --config tight >out.txt
    cat out.txt
    grep -Eq '^one +2 +3 +100\.000 +56\.667 +0$' out.txt
}
check in_words in_words

# A node of two GPUs, another of two: a job of three does not fit on one.
printf '%s\n' num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node 1,2,2,8,8 >nodes.csv
printf '%s\n' job_id,num_gpu,submit_time,iterations,model_name,duration,interval 0,1,0,1,x,100,1 \
    1,1,5,1,x,20,1 2,2,6,1,x,10,1 3,4,7,1,x,10,1 4,1,8,1,x,1,1 >sixty.csv
sixty() { # EXPECTED OPTION...
    "$gangsched" replay --format tiresias --tasks sixty.csv --nodes nodes.csv --starts out.csv \
        "${@:2}" >out.txt
    cat out.txt out.csv
    [[ $(tail -n +2 out.csv | cut -d, -f2 | tr '\n' ' ') == "$1 " ]]
}
check fifo sixty "0 5 6 100 110"
check fit_first sixty "0 5 6 100 16" --policy fjf
check preemption sixty "0 5 6 100 16" --policy dlas --gpus-per-task 1 --json

if command -v python3 >/dev/null; then
    check in_json in_json
    check first_in_first_out by_hand tight fifo "0:0 1:100 2:100 3:30 4:80" 100 20
    check shortest_job_first by_hand tight sjf "0:0 1:100 2:20 3:30 4:80" 73.3 20
    check capacity_for_all by_hand original fifo "0:0 1:10 2:20 3:30 4:80" 43.3 20
else
    skip in_json "python3 is not there"
fi

# ---- wrong usage, wrong input ----

jobs=("$gangsched" replay --format jobs --tasks log.csv)
philly=("$gangsched" replay --format philly --tasks jobs.csv)
refuses jobs_want_processors "option '--processors' is missing" "${jobs[@]}"
refuses processors_are_a_number "'0' is not a number of processors" "${jobs[@]}" --processors 0
refuses jobs_know_their_policies "unknown policy 'sjf'" "${jobs[@]}" --processors 4 --policy sjf
refuses one_order_of_a_second "unknown order 'mine'" "${jobs[@]}" --processors 4 --same-second mine
refuses jobs_want_no_nodes "'--nodes' does not go with '--format jobs'" "${jobs[@]}" --processors 4 \
    --nodes vcs.csv
refuses jobs_have_no_limit "'--limit' does not go with '--format jobs'" "${jobs[@]}" --limit 3
refuses jobs_have_no_config "'--config' goes with '--format philly'" "${jobs[@]}" --processors 4 \
    --config tight
refuses a_log_is_no_list_of_gpus "is of format philly" "$gangsched" replay --format jobs \
    --tasks jobs.csv --processors 4
refuses philly_wants_nodes "option '--nodes' is missing" "${philly[@]}" --config tight
refuses philly_wants_a_config "option '--config' is missing" "${philly[@]}" --nodes vcs.csv
refuses two_configs "unknown configuration 'big'" "${philly[@]}" --nodes vcs.csv --config big
refuses philly_knows_its_policies "unknown policy 'fcfs'" "${philly[@]}" --nodes vcs.csv \
    --config tight --policy fcfs
refuses tasks_are_missing "option '--tasks' is missing" "$gangsched" replay --format jobs --processors 4
refuses starts_are_of_simulations "'--starts' goes with" "$gangsched" replay --nodes nodes.csv \
    --tasks jobs.csv --starts out.csv
refuses clairvoyance_is_of_jobs "'--clairvoyant' goes with '--format jobs'" "${philly[@]}" \
    --nodes vcs.csv --config tight --clairvoyant
refuses no_such_log "none.csv: No such file" "$gangsched" replay --format jobs --tasks none.csv \
    --processors 4
refuses unwritable_starts "nowhere/out.csv: No such file" "${jobs[@]}" --processors 4 \
    --starts nowhere/out.csv
bad_vcs() { # NAME PATTERN TEXT
    printf '%s\n' "$3" >bad.csv
    refuses "vcs_$1" "bad.csv: line [0-9]+: (column .*: )?$2" "${philly[@]}" --nodes bad.csv --config tight
}
bad_vcs without_a_column "there is no column 'nodes_tight'" "vc,nodes"
bad_vcs none "has no machines" "vc,nodes_tight"
bad_vcs twice "'one' is there twice" $'vc,nodes_tight\none,1\none,2'
bad_vcs of_no_nodes "'0' is less than 1" $'vc,nodes_tight\none,0'
bad_vcs without_a_name "is empty" $'vc,nodes_tight\n,1'
bad_jobs() {
    printf '%s\n' job_id,vc,gpu_num,submit_time,duration 0,one,0,0,1 >bad.csv
    "$gangsched" replay --format philly --tasks bad.csv --nodes vcs.csv --config tight
}
refuses jobs_of_no_gpus "bad.csv: line 2" bad_jobs
bad_nodes() {
    printf '%s\n' num_switch,num_node_p_switch 1,2 >bad.csv
    "$gangsched" replay --format tiresias --tasks sixty.csv --nodes bad.csv
}
refuses machines_without_gpus "no column 'num_gpu_p_node'" bad_nodes

# ---- published results ----

published() {
    GANGSCHED=$gangsched "$source_dir/bench/simulators.sh" "$@" "$GANG_SHARED/data" >out.txt
    cat out.txt
    tail -n 1 out.txt | grep -Eq '^[0-9]{2,} within tolerance, 0 outside$'
}
# Published numbers come out, and a copy with one changed number is noticed.
differs() {
    mkdir -p altered/tiresias60 altered/philly altered/swf_sc15 altered/swf_other
    for file in "$GANG_SHARED"/data/{tiresias60,philly,swf_sc15,swf_other}/*.*; do
        ln -sf "$file" "altered/${file#"$GANG_SHARED"/data/}"
    done
    rm altered/philly/reference_results.csv
    sed 's/^tight,ee9e8c,fifo,1053,294684.102/tight,ee9e8c,fifo,1053,294684.103/' \
        "$GANG_SHARED/data/philly/reference_results.csv" >altered/philly/reference_results.csv
    local status=0
    GANGSCHED=$gangsched "$source_dir/bench/simulators.sh" --quick altered >out.txt || status=$?
    cat out.txt
    [[ $status -eq 1 ]]
    grep -q 'tight ee9e8c fifo .*OUTSIDE$' out.txt
    tail -n 1 out.txt | grep -q ' within tolerance, 1 outside$'
}
if [[ ! -d ${GANG_SHARED:-}/data/philly ]]; then
    skip published "no reference data; set GANG_SHARED"
elif [[ -n ${GANG_TEST_QUICK:-} ]]; then
    check published_quick published --quick
else
    check published published
    check what_differs_is_seen differs
fi

exit "$failed"
