#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched replay: small traces with outcomes computed by hand, the openb trace against counts
# of its own files, and wrong input of every kind. Needs GANG_BIN_DIR; GANG_SHARED for openb.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
replay=("$gangsched" replay)
cd "$scratch" || exit 1

have_python=0
if command -v python3 >/dev/null; then have_python=1; fi

# ---- small traces ----

cat >nodes.csv <<'END'
sn,cpu_milli,memory_mib,gpu,model
n1,16000,65536,4,V100
n2,16000,65536,4,V100
n3,8000,32768,0,
END

cat >tasks.csv <<'END'
name,tasks,cpu_milli,memory_mib,gpus,gpu_milli,gpu_model
pair,2,1000,1024,2,1000,V100
share,1,1000,1024,1,250,
six,6,1000,1024,1,,
huge,9,1000,1024,1,1000,
wrong-model,1,1000,1024,1,1000,H100
cores,3,8000,1024,0,,
END

counts() { # JSON-FILE PATH VALUE...
    local file=$1 got
    shift
    while (($#)); do
        got=$(json_get "$file" "$1")
        [[ $got == "$2" ]] || { echo "$1 is $got instead of $2" && return 1; }
        shift 2
    done
}

small_trace() {
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --json >out.json
    is_json out.json
    # 8 GPUs: "pair" takes 4 and "share" a part of one; 3 are left for "six".
    counts out.json nodes.count 3 nodes.gpus 8 nodes.cpu_milli 40000 format gang timed False \
        arrived.gangs 6 arrived.tasks 22 placed.gangs 3 placed.gpu_milli 4250 rejected 3 \
        refused.gangs 1 refused.tasks 6 never.gangs 2 waiting.gangs 0 \
        allocated_gpu_milli 4250 kinds.gpu.capacity 8000 kinds.gpu.taken 4250 \
        kinds.cpu.taken 27000 gpu_models.0.model V100 gpu_models.0.taken 4250 decisions.count 6
    python3 - <<'PYTHON'
import json
reasons = {(r["result"], r["constraint"], r["kind"]): r["gangs"]
           for r in json.load(open("out.json"))["reasons"]}
assert reasons[("GANG_ENOFIT", "kind", "gpu")] == 1, reasons
assert reasons[("GANG_ENEVER", "kind", "gpu")] == 1, reasons
assert reasons[("GANG_ENEVER", "gpu_model", None)] == 1, reasons
PYTHON
}

placements_are_printed() {
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --placements out.csv >/dev/null
    cat out.csv
    [[ $(head -n 1 out.csv) == seq,name,task,node,gpus,gpu_milli,start_s ]]
    [[ $(grep -c '^0,pair,' out.csv) -eq 2 ]]
    grep -Eq '^0,pair,[01],n[12],[0-3] [0-3],1000,$' out.csv
    grep -Eq '^1,share,0,n[12],[0-3],250,$' out.csv
    grep -Fqx '2,six,,,,,' out.csv
    grep -Eq '^5,cores,[0-2],n[1-3],,0,$' out.csv
}
check placements_are_printed placements_are_printed

text_output() {
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --policy first >out.txt
    cat out.txt
    grep -q '^nodes   3 with 8 GPUs, 40 cores, 160 GiB of memory$' out.txt
    grep -q '^policy  first$' out.txt
    grep -Eq '^arrived +6 +22 +' out.txt
    grep -Eq '^placed +3 +6 +4.25$' out.txt
    grep -Eq '^  not now: too little gpu +1 +6 +6$' out.txt
    grep -Eq '^    V100 +4.25 of +8 GPUs +53.1 %$' out.txt
    grep -q 'CLOCK_MONOTONIC' out.txt
    # Nothing of a terminal in it.
    ! grep -q $'[\r\033]' out.txt
}
check text_output text_output

no_escapes_without_terminal() {
    TERM=xterm "${replay[@]}" --nodes nodes.csv --tasks tasks.csv 2>err >/dev/null
    [[ ! -s err ]]
}
check nothing_on_standard_error no_escapes_without_terminal

progress_on_terminal() {
    "$bin/workload" --gangs 300000 big_nodes.csv big_tasks.csv
    # On a terminal both streams are one; the bar is wiped before the result is printed.
    TERM=xterm script -qec "'$gangsched' replay --nodes big_nodes.csv --tasks big_tasks.csv" \
        /dev/null >terminal </dev/null
    grep -q '\] [0-9,]* of 300,000 gangs' terminal
    TERM=dumb script -qec "'$gangsched' replay --nodes big_nodes.csv --tasks big_tasks.csv" \
        /dev/null >terminal </dev/null
    rm -f big_*.csv
    if grep -q $'\033' terminal; then return 1; fi
}
if command -v script >/dev/null; then
    check progress_only_on_a_terminal progress_on_terminal
else
    skip progress_only_on_a_terminal "script is not there"
fi

limit_cuts() {
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --limit 2 --json >out.json
    counts out.json gangs_in_trace 2 arrived.gangs 2 placed.gangs 2
}

# Times: "b" must wait for the end of "a", which is at the moment at which "c" comes; "d" is small
# enough to pass "b" but comes when nothing is free.
cat >timed.csv <<'END'
name,tasks,cpu_milli,memory_mib,gpus,gpu_milli,gpu_model,submit_s,duration_s
a,2,1000,0,4,1000,,0,100
b,2,1000,0,4,1000,,10,50.5
d,1,1000,0,1,1000,,20,1
c,1,1000,0,1,1000,,100,10
END

timed_trace() {
    "${replay[@]}" --nodes nodes.csv --tasks timed.csv --json --placements out.csv >out.json
    cat out.json out.csv
    counts out.json timed True placed.gangs 4 waiting.gangs 0 never.gangs 0 rejected 0 \
        kinds.gpu.peak 8000 time.first_arrival_s 0.0 time.last_arrival_s 100.0 \
        time.last_end_s 160.5 time.waits.max_s 130.5
    # waits of 0, 50.5, 90 and 130.5 s, as by numpy.percentile()
    counts out.json time.waits.p50_s 70.25 time.waits.p90_s 118.35 time.waits.p99_s 129.285
    # a from 0, b from 100, when a ends and before c comes; then d and c when b ends.
    diff <(awk -F, 'NR > 1 {print $2, $7}' out.csv | sort -u) - <<'STARTS'
a 0
b 100
c 150.5
d 150.5
STARTS
    # 8 of 8 GPUs from 0 to 100.
    counts out.json kinds.gpu.average 8000.0 kinds.gpu.percent 100.0
}

timed_text() {
    "${replay[@]}" --nodes nodes.csv --tasks timed.csv >out.txt
    cat out.txt
    grep -q '^trace   4 gangs (gang format), which end when their duration is over$' out.txt
    grep -Eq '^  5-8 +2 +2 +1 +45 s$' out.txt
    grep -q '^time    arrivals over 1 min 40 s, last end after 2 min 41 s$' out.txt
    grep -q 'longest 2 min 11 s$' out.txt
}
check timed_trace_as_text timed_text

unsorted_times() {
    { head -n 1 timed.csv; tail -n +2 timed.csv | tac; } >unsorted.csv
    "${replay[@]}" --nodes nodes.csv --tasks timed.csv --placements a.csv >/dev/null
    "${replay[@]}" --nodes nodes.csv --tasks unsorted.csv --placements b.csv >/dev/null
    diff a.csv b.csv
}
check gangs_arrive_in_the_order_of_time unsorted_times

empty_times() {
    sed '1s/$/,submit_s,duration_s/; 2,$s/$/,,/' tasks.csv >empty_times.csv
    "${replay[@]}" --nodes nodes.csv --tasks empty_times.csv --placements a.csv >/dev/null
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --placements b.csv >/dev/null
    diff a.csv b.csv
}
check empty_times_are_none empty_times

spellings() {
    # CRLF, quotes, a byte order mark, other columns in another order, no line feed at the end.
    printf '\357\273\277"sn",extra,gpu,"cpu_milli",memory_mib,model\r\n"n,""1""",x,4,16000,65536,"V100"\r\nn2,"a\nb",4,16000,65536,V100' \
        >odd.csv
    printf 'name,tasks,cpu_milli,memory_mib,gpus,gpu_milli\r\n"x,y",2,1000,1024,3,1000\r\n' >odd_tasks.csv
    "${replay[@]}" --nodes odd.csv --tasks odd_tasks.csv --placements out.csv >/dev/null
    cat out.csv
    grep -Eq '^0,"x,y",[01],"n,""1""",' out.csv
    grep -Eq '^0,"x,y",[01],n2,' out.csv
}
check rfc_4180_spellings_are_read spellings

from_standard_input() {
    gzip -c tasks.csv >tasks.csv.gz
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv.gz --placements a.csv >/dev/null
    "${replay[@]}" --nodes nodes.csv --tasks - --placements b.csv <tasks.csv >/dev/null
    "${replay[@]}" --nodes - --tasks tasks.csv --placements c.csv <nodes.csv >/dev/null
    diff a.csv b.csv && diff a.csv c.csv
}
check compressed_and_standard_input from_standard_input

policies_differ() {
    "${replay[@]}" --nodes nodes.csv --tasks - --policy spread --placements a.csv \
        >/dev/null <<<$'name,tasks,cpu_milli,memory_mib,gpus,gpu_milli\nx,2,1000,0,1,1000'
    "${replay[@]}" --nodes nodes.csv --tasks - --policy pack --placements b.csv \
        >/dev/null <<<$'name,tasks,cpu_milli,memory_mib,gpus,gpu_milli\nx,2,1000,0,1,1000'
    [[ $(awk -F, 'NR > 1 {print $4}' a.csv | sort -u | wc -l) -eq 2 ]]
    [[ $(awk -F, 'NR > 1 {print $4}' b.csv | sort -u | wc -l) -eq 1 ]]
}
check policies_differ policies_differ

if ((have_python)); then
    check small_trace small_trace
    check limit_cuts_the_trace limit_cuts
    check timed_trace timed_trace
else
    for name in small_trace limit_cuts_the_trace timed_trace; do
        skip "$name" "python3 is not there"
    done
fi

# ---- Ctrl-C ----

interrupted() {
    # Long enough to be interrupted: a made-up workload of more than the cluster can do.
    "$bin/workload" --gangs 300000 --nodes 256 --load 300 big_nodes.csv big_tasks.csv
    local pid status=0
    set -m # else a background job ignores the signal
    "${replay[@]}" --nodes big_nodes.csv --tasks big_tasks.csv --placements placed.csv --json \
        >out.json 2>err &
    pid=$!
    for _ in {1..600}; do
        [[ ! -s placed.csv ]] || break # the replay has begun
        sleep 0.05
    done
    kill -INT "$pid"
    wait "$pid" || status=$?
    cat err
    [[ $status -eq 130 ]] || { echo "exit status $status" && return 1; }
    [[ ! -s err ]]
    is_json out.json
    grep -q '"interrupted": true' out.json
    rm -f big_*.csv placed.csv
}
check interrupted_replay_prints_what_it_did interrupted

# ---- the openb trace, against counts of its own files ----

openb=$shared/data/openb

# Sums of a pod list: gangs, milli-GPUs.
count_pods() { # FILE
    gunzip -c "$1" | awk -F, 'NR > 1 {n++; gpu += $4 * $5} END {print n, gpu}'
}

openb_totals() { # PODS
    "${replay[@]}" --nodes "$openb/openb_node_list_all_node.csv" --tasks "$1" --json >out.json
    local pods gpu nodes gpus cpu
    read -r pods gpu < <(count_pods "$1")
    read -r nodes gpus cpu < <(awk -F, 'NR > 1 {n++; g += $4; c += $2} END {print n, g, c}' \
        "$openb/openb_node_list_all_node.csv")
    counts out.json format openb nodes.count "$nodes" nodes.gpus "$gpus" nodes.cpu_milli "$cpu" \
        arrived.gangs "$pods" arrived.tasks "$pods" arrived.gpu_milli "$gpu" interrupted False
    python3 - <<'PYTHON'
import json
r = json.load(open("out.json"))
for key in ("gangs", "tasks", "gpu_milli"):
    assert r["arrived"][key] == r["placed"][key] + r["refused"][key] + r["never"][key]
    assert sum(x[key] for x in r["reasons"]) == r["refused"][key] + r["never"][key]
assert r["kinds"]["gpu"]["taken"] == r["placed"]["gpu_milli"] == r["allocated_gpu_milli"]
assert sum(m["taken"] for m in r["gpu_models"]) == r["kinds"]["gpu"]["taken"]
assert sum(m["capacity"] for m in r["gpu_models"]) == r["kinds"]["gpu"]["capacity"]
assert sum(s["arrived"] for s in r["gang_sizes"]) == r["arrived"]["gangs"]
assert sum(s["placed"] for s in r["gang_sizes"]) == r["placed"]["gangs"]
PYTHON
}

# By the placements alone, task by task: each is on a node that has the capacity for it and a model
# that it allows, and for each that was refused there was no such node.
cat >verify.awk <<'AWK'
function allowed(task, node) {
    return num[task] == 0 || spec[task] == "" || index("|" spec[task] "|", "|" model[node] "|") > 0
}
function fits(task, node,    i, enough) {
    if (!allowed(task, node) || cpu[task] > ncpu[node] || mem[task] > nmem[node]) return 0
    for (i = 0; i < ngpu[node]; i++) enough += gpu[node, i] >= milli[task]
    return num[task] == 0 || enough >= num[task]
}
function wrong(text) {
    print $0 ": " text
    bad = 1
}
BEGIN {FS = ","}
FNR == 1 {file++; next}
file == 1 {
    ncpu[$1] = $2; nmem[$1] = $3; ngpu[$1] = $4; model[$1] = $5
    for (i = 0; i < $4; i++) gpu[$1, i] = 1000
    next
}
file == 2 {
    cpu[$1] = $2; mem[$1] = $3; num[$1] = $4; milli[$1] = $5; spec[$1] = $6
    next
}
{seen[$2]++}
$4 == "" {
    refused++
    for (node in ncpu) if (fits($2, node)) {wrong("would fit on " node); break}
    next
}
{
    placed++
    n = split($5, index_of, " ")
    if (n != num[$2]) wrong(n " GPUs instead of " num[$2])
    if (!allowed($2, $4)) wrong(model[$4] " is none of " spec[$2])
    for (i = 1; i <= n; i++) {
        if (index_of[i] >= ngpu[$4]) wrong("no such GPU")
        gpu[$4, index_of[i]] -= milli[$2]
        if (gpu[$4, index_of[i]] < 0) wrong("the GPU was taken")
    }
    ncpu[$4] -= cpu[$2]; nmem[$4] -= mem[$2]
    if (ncpu[$4] < 0 || nmem[$4] < 0) wrong("the node was full")
}
END {
    for (task in num) if (seen[task] != 1) {print task " is there " seen[task] + 0 " times"; bad = 1}
    print placed + 0 " placed, " refused + 0 " refused"
    exit bad || placed == 0
}
AWK

openb_placements() { # PODS POLICY
    gunzip -c "$1" >pods.csv
    "${replay[@]}" --nodes "$openb/openb_node_list_all_node.csv" --tasks pods.csv --policy "$2" \
        --placements out.csv >/dev/null
    awk -f verify.awk "$openb/openb_node_list_all_node.csv" pods.csv out.csv
}

if [[ -n $shared && -d $openb ]]; then
    for policy in first pack spread; do
        check "every_answer_is_true_$policy" openb_placements \
            "$openb/openb_pod_list_gpuspec33.csv.gz" "$policy"
    done
    check every_answer_is_true_shared_gpus openb_placements \
        "$openb/openb_pod_list_gpushare60.csv.gz" pack
    for file in "$openb"/openb_pod_list_*.csv.gz; do
        name=$(basename "$file" .csv.gz)
        if ((have_python)); then
            check "totals_of_${name#openb_pod_list_}" openb_totals "$file"
        else
            skip "totals_of_${name#openb_pod_list_}" "python3 is not there"
        fi
    done
else
    skip openb "GANG_SHARED is not set"
fi

# ---- wrong usage ----

refuses nodes_are_needed "option '--nodes' is missing" "${replay[@]}" --tasks tasks.csv
refuses tasks_are_needed "option '--tasks' is missing" "${replay[@]}" --nodes nodes.csv
refuses unknown_policy_is_refused "unknown policy 'best'" \
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --policy best
refuses bad_limit_is_refused "'0' is not a number of gangs" \
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --limit 0
refuses limit_that_is_no_number_is_refused "'1x' is not a number of gangs" \
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --limit 1x
refuses placements_that_cannot_be_written "nowhere/out.csv: No such file" \
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --placements nowhere/out.csv
if [[ -e /dev/full ]]; then
    refuses placements_on_a_full_disk "/dev/full: No space" \
        "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --placements /dev/full
    full_output() {
        "${replay[@]}" --nodes nodes.csv --tasks tasks.csv "$@" >/dev/full
    }
    refuses full_output_is_an_error "standard output: No space" full_output
    refuses full_output_of_json_is_an_error "standard output: No space" full_output --json
fi
closed_output() {
    "${replay[@]}" --nodes nodes.csv --tasks tasks.csv --placements closed.csv >&-
}
refuses closed_output_is_an_error "standard output: Bad file" closed_output
placements_stay_apart() {
    # Standard output was closed; what belongs there must not be in the placements.
    head -n 1 closed.csv | grep -q '^seq,' && ! grep -q 'policy' closed.csv
}
check closed_output_does_not_reach_other_files placements_stay_apart

# ---- wrong files ----

node_header=sn,cpu_milli,memory_mib,gpu,model
task_header=name,tasks,cpu_milli,memory_mib,gpus,gpu_milli,gpu_model,submit_s,duration_s
pod_header=name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec

bad_nodes() { # NAME PATTERN TEXT (printf format)
    # shellcheck disable=SC2059
    printf "$3" >bad.csv
    refuses "nodes_$1" "bad.csv: $2" "${replay[@]}" --nodes bad.csv --tasks tasks.csv
}
bad_tasks() { # NAME PATTERN TEXT (printf format)
    # shellcheck disable=SC2059
    printf "$3" >bad.csv
    refuses "tasks_$1" "bad.csv: $2" "${replay[@]}" --nodes nodes.csv --tasks bad.csv
}

refuses missing_nodes "none.csv: No such file" "${replay[@]}" --nodes none.csv --tasks tasks.csv
refuses missing_tasks "none.csv: No such file" "${replay[@]}" --nodes nodes.csv --tasks none.csv
refuses folder_as_nodes "scratch: Is a directory|tmp.*: Is a directory" \
    "${replay[@]}" --nodes "$scratch" --tasks tasks.csv

bad_nodes empty "the file is empty" ''
bad_nodes only_header "no node after the header" "$node_header\n"
bad_nodes missing_column "line 1: column 'gpu' is missing" 'sn,cpu_milli,memory_mib,model\nn,1,1,\n'
bad_nodes column_twice "line 1: column 'gpu' is there twice" "$node_header,gpu\nn,1,1,0,,0\n"
bad_nodes negative "line 3: column 'cpu_milli': '-5' is negative" \
    "$node_header\na,1,1,0,\nb,-5,1,0,\n"
bad_nodes not_a_number "line 2: column 'memory_mib': '1k' is not a whole number" \
    "$node_header\na,1,1k,0,\n"
bad_nodes fraction "line 2: column 'gpu': '1.5' is not a whole number" "$node_header\na,1,1,1.5,\n"
bad_nodes empty_number "line 2: column 'gpu': '' is not a whole number" "$node_header\na,1,1,,\n"
bad_nodes spaces "line 2: column 'gpu': ' 1' is not a whole number" "$node_header\na,1,1, 1,\n"
bad_nodes plus_sign "line 2: column 'gpu': '\+1' is not a whole number" "$node_header\na,1,1,+1,\n"
bad_nodes too_many_gpus "line 2: column 'gpu': '65' is more than 64" "$node_header\na,1,1,65,\n"
bad_nodes absurd_cores "line 2: column 'cpu_milli': '9{30}' is more than 4,294,967,295" \
    "$node_header\na,999999999999999999999999999999,1,0,\n"
bad_nodes absurd_memory "line 2: column 'memory_mib': '4294967296' is more than 4,294,967,295" \
    "$node_header\na,1,4294967296,0,\n"
bad_nodes name_twice "line 4: column 'sn': a node 'a' is there already" \
    "$node_header\na,1,1,0,\nb,1,1,0,\na,1,1,0,\n"
bad_nodes empty_name "line 2: column 'sn': is empty" "$node_header\n,1,1,0,\n"
bad_nodes long_name "line 2: column 'sn': is longer than 255 bytes" \
    "$node_header\n$(printf 'n%.0s' {1..256}),1,1,0,\n"
bad_nodes long_model "line 2: column 'model': is longer than 255 bytes" \
    "$node_header\nn,1,1,1,$(printf 'm%.0s' {1..256})\n"
bad_nodes too_few_columns "line 2: has 4 columns, the header has 5" "$node_header\na,1,1,0\n"
bad_nodes too_many_columns "line 2: has 6 columns, the header has 5" "$node_header\na,1,1,0,,\n"
bad_nodes empty_line "line 3: has 1 column, the header has 5" "$node_header\na,1,1,0,\n\nb,1,1,0,\n"
bad_nodes nul_byte "line 2: contains a NUL byte" "$node_header\na\\000,1,1,0,\n"
bad_nodes nul_byte_in_quotes "line 2: contains a NUL byte" "$node_header\n\"a\\000\",1,1,0,\n"
bad_nodes not_utf8 "line 2: is not UTF-8 text" "$node_header\na\\377,1,1,0,\n"
bad_nodes overlong_utf8 "line 2: is not UTF-8 text" "$node_header\na\\300\\257,1,1,0,\n"
bad_nodes open_quote "line 2: a quoted field does not end" "$node_header\n\"a,1,1,0,\n"
bad_nodes quote_in_field "line 2: a quote inside a field" "$node_header\na\"b,1,1,0,\n"
bad_nodes text_after_quote "line 2: a quote inside a field" "$node_header\n\"a\"b,1,1,0,\n"
bad_nodes stray_return "line 2: a carriage return" "$node_header\na\\rb,1,1,0,\n"
bad_nodes control_characters "line 2: column 'gpu': '..31m' is not" "$node_header\na,1,1,\\033[31m,\n"
bad_nodes many_columns "line 1: more than 256 columns" "$(seq -s, 300)\n"
bad_nodes lines_in_quotes_count "line 4: column 'gpu': 'x' is not" \
    "$node_header,note\na,1,1,0,,\"a\nb\"\nc,1,1,x,,\n"
bad_nodes line_feed_in_name "line 2: column 'sn': " "$node_header\n\"a\nb\",1,1,0,\n"

bad_tasks empty "the file is empty" ''
bad_tasks only_header "nothing after the header" "$task_header\n"
bad_tasks other_file "line 1: neither column 'tasks' .* nor 'num_gpu'" 'a,b\n1,2\n'
bad_tasks missing_column "line 1: column 'cpu_milli' is missing" \
    'name,tasks,memory_mib,gpus,gpu_milli\nx,1,1,0,0\n'
bad_tasks missing_openb_column "line 1: column 'gpu_milli' is missing" \
    'name,cpu_milli,memory_mib,num_gpu\nx,1,1,0\n'
bad_tasks half_of_the_times "line 1: column 'duration_s' is missing" \
    'name,tasks,cpu_milli,memory_mib,gpus,gpu_milli,submit_s\nx,1,1,1,0,0,0\n'
bad_tasks unknown_column "line 1: unknown column 'gpu_modle'" \
    'name,tasks,cpu_milli,memory_mib,gpus,gpu_milli,gpu_modle\nx,1,1,1,0,0,\n'
bad_tasks no_tasks "line 2: column 'tasks': '0' is less than 1" "$task_header\nx,0,1,1,0,0,,,\n"
bad_tasks absurd_tasks "line 2: column 'tasks': '16777217' is more than 16,777,216" \
    "$task_header\nx,16777217,1,1,0,0,,,\n"
bad_tasks negative "line 2: column 'memory_mib': '-1' is negative" "$task_header\nx,1,1,-1,0,0,,,\n"
bad_tasks share_of_nothing "line 2: column 'gpu_milli': '5' is more than 0" \
    "$task_header\nx,1,1,1,0,5,,,\n"
bad_tasks share_above_one "line 2: column 'gpu_milli': '1001' is more than 1,000" \
    "$task_header\nx,1,1,1,1,1001,,,\n"
bad_tasks share_of_zero "line 2: column 'gpu_milli': '0' is less than 1" \
    "$pod_header\nx,1,1,1,0,\n"
bad_tasks empty_model "line 2: column 'gpu_spec': an empty GPU model" "$pod_header\nx,1,1,1,1000,A||B\n"
bad_tasks model_bar_at_end "line 2: column 'gpu_spec': an empty GPU model" \
    "$pod_header\nx,1,1,1,1000,A|\n"
bad_tasks empty_name "line 2: column 'name': is empty" "$pod_header\n,1,1,0,0,\n"
bad_tasks negative_time "line 2: column 'submit_s': '-1' is negative" \
    "$task_header\nx,1,1,1,0,0,,-1,1\n"
bad_tasks bad_time "line 2: column 'duration_s': '1e3' is not a number of seconds" \
    "$task_header\nx,1,1,1,0,0,,1,1e3\n"
bad_tasks fine_time "line 2: column 'duration_s': '1.0000001' has more than 6 decimals" \
    "$task_header\nx,1,1,1,0,0,,1,1.0000001\n"
bad_tasks absurd_time "line 2: column 'submit_s': '10000000001' is more than 10,000,000,000 seconds" \
    "$task_header\nx,1,1,1,0,0,,10000000001,1\n"
bad_tasks time_missing_later "line 3: column 'submit_s': '' is not a number" \
    "$task_header\nx,1,1,1,0,0,,1,1\ny,1,1,1,0,0,,,\n"
bad_tasks time_only_later "line 3: column 'submit_s': a time here and none" \
    "$task_header\nx,1,1,1,0,0,,,\ny,1,1,1,0,0,,1,1\n"

# ---- damaged and absurd files ----

gzip -c tasks.csv >whole.csv.gz
head -c 60 whole.csv.gz >cut.csv.gz
refuses cut_gzip "cut.csv.gz: .*the compressed file is cut off" \
    "${replay[@]}" --nodes nodes.csv --tasks cut.csv.gz
# Cut off at every length, a compressed file is never taken for a whole one.
cut_anywhere() {
    local size length
    size=$(wc -c <whole.csv.gz)
    for ((length = 1; length < size; length += 3)); do
        head -c "$length" whole.csv.gz >cut.csv.gz
        refuses_now 'cut.csv.gz: ' "${replay[@]}" --nodes nodes.csv --tasks cut.csv.gz
    done
}
check gzip_cut_anywhere_is_refused cut_anywhere
damaged() {
    gzip -c tasks.csv >damaged.csv.gz
    printf '\377\377\377\377' | dd of=damaged.csv.gz bs=1 seek=40 conv=notrunc 2>/dev/null
    refuses_now 'damaged.csv.gz: .*(damaged|cut off)' \
        "${replay[@]}" --nodes nodes.csv --tasks damaged.csv.gz
}
check damaged_gzip damaged

# A line of 1 MiB is the most. A file without a line feed is refused at its beginning: the command
# ends although the pipe that it reads has no end.
long_line() {
    head -c 1048577 /dev/zero | tr '\0' 'x' >"long.csv"
    refuses_now 'long.csv: line 1: longer than 1 MiB' \
        "${replay[@]}" --nodes long.csv --tasks tasks.csv
    rm -f long.csv
    mkfifo endless.csv
    timeout 300 sh -c "tr '\\0' x </dev/zero >endless.csv" 2>/dev/null &
    refuses_now 'endless.csv: line 1: longer than 1 MiB' \
        timeout 300 "${replay[@]}" --nodes endless.csv --tasks tasks.csv
    rm -f endless.csv
    wait
}
check long_line_is_refused_at_once long_line
long_compressed_line() {
    # 2 GiB of "x" would be unpacked if it were read to its end.
    { echo "$node_header"; head -c 64000000 /dev/zero | tr '\0' 'x'; } | gzip -1 -c >long.csv.gz
    refuses_now 'long.csv.gz: line 2: longer than 1 MiB' \
        "${replay[@]}" --nodes long.csv.gz --tasks tasks.csv
    rm -f long.csv.gz
}
check long_compressed_line_is_refused long_compressed_line
quoted_line() {
    { echo "$node_header"; printf '"'; seq 300000; } >quoted.csv
    refuses_now 'quoted.csv: line 2: longer than 1 MiB' \
        "${replay[@]}" --nodes quoted.csv --tasks tasks.csv
}
check quoted_lines_have_the_same_limit quoted_line
longest_line() {
    # 1 MiB with its commas and without its line feed, header included, is read.
    { echo "$node_header,note"; printf 'n1,16000,65536,4,V100,'; head -c 1000000 /dev/zero |
        tr '\0' 'x'; echo; } >longest.csv
    "${replay[@]}" --nodes longest.csv --tasks tasks.csv >/dev/null
}
check line_of_nearly_one_mebibyte_is_read longest_line

random_bytes() {
    local i status
    for i in {1..40}; do
        # Real text with a few bytes of nonsense in it.
        { head -c $((i * 7)) tasks.csv; printf '%b' "\\0$(printf %o $((i * 6)))"
            tail -c +$((i * 7)) tasks.csv; } >random.csv
        status=0
        "${replay[@]}" --nodes nodes.csv --tasks random.csv >out 2>err || status=$?
        [[ $status -eq 0 || $status -eq 2 ]] || { echo "byte $i: status $status" && return 1; }
        [[ $status -eq 0 || ! -s out ]] || { echo "byte $i: output and an error" && return 1; }
    done
}
check nonsense_never_crashes random_bytes

exit "$failed"
