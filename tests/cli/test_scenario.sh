#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched scenario: what it prints, what it compares, and wrong input.
# Needs GANG_BIN_DIR; GANG_SHARED for the shared cases.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
export LC_ALL=C
scenario=("$gangsched" scenario)

# Print a case: its nodes, its jobs, and more members.
write_case() { # NODES JOBS [MORE]
    printf '{"id":"c","nodes":[%s],"queues":[{"name":"q","parent":null}],"jobs":[%s]%s}\n' \
        "$1" "$2" "${3:+,$3}"
}
two_nodes='{"name":"n0","cpus":8,"mem_mib":64,"gpus":2},{"name":"n1","cpus":8,"mem_mib":64,"gpus":2}'

# The output for a case, without white space, must be this.
prints() { # FILE EXPECTED
    "${scenario[@]}" "$1" >"$scratch/out"
    cat "$scratch/out"
    [[ $(wc -l <"$scratch/out") -eq 1 ]]
    [[ $(tr -d ' ' <"$scratch/out") == "$2" ]]
}

# ---- running ----

write_case "$two_nodes" '{"name":"a","queue":"q","min":2,"tasks":[{"count":2,"cpu":1,"gpu":2}]},
{"name":"b","queue":"q","min":1,"tasks":[{"count":1,"gpu":1}]}' >"$scratch/gang.json"
check gang_takes_both_nodes prints "$scratch/gang.json" '{"id":"c","jobs":{"a":{"state":"running",'\
'"gpus":4,"tasks_running":2,"placement":[{"task":0,"node":"n0","gpus":[0,1],"share":1.0},'\
'{"task":1,"node":"n1","gpus":[0,1],"share":1.0}]},"b":{"state":"pending","gpus":0,'\
'"tasks_running":0,"placement":[]}},"queues":{"q":{"gpus":4,"tasks_running":2}}}'

write_case "$two_nodes" '{"name":"a","queue":"q","min":1,"state":"running","running_on":[null,"n1"],
"running_gpu":[null,["1"]],"tasks":[{"count":2,"gpu":0.6}]},
{"name":"b","queue":"q","min":1,"state":"running","running_on":["n1"],"running_gpu":[["1"]],
"tasks":[{"gpu":0.25}]}' '"rounds":3' >"$scratch/share.json"
check jobs_that_run_keep_task_and_device prints "$scratch/share.json" '{"id":"c","jobs":{"a":{'\
'"state":"running","gpus":1.2,"tasks_running":2,"placement":[{"task":0,"node":"n1","gpus":[0],'\
'"share":0.6},{"task":1,"node":"n1","gpus":[1],"share":0.6}]},"b":{"state":"running","gpus":0.25,'\
'"tasks_running":1,"placement":[{"task":0,"node":"n1","gpus":[1],"share":0.25}]}},'\
'"queues":{"q":{"gpus":1.45,"tasks_running":3}}}'

write_case "$two_nodes" '{"name":"low","queue":"q","priority":1,"min":2,"tasks":[{"count":2,"gpu":2}]},
{"name":"large","queue":"q","priority":9,"min":1,"tasks":[{"gpu":3}]},
{"name":"high","queue":"q","priority":5,"min":1,"tasks":[{"count":9,"gpu":1}]}' >"$scratch/order.json"
higher_priority_first() {
    "${scenario[@]}" "$scratch/order.json" >"$scratch/out"
    cat "$scratch/out"
    grep -q '"low": {"state": "pending"' "$scratch/out"
    grep -q '"large": {"state": "pending"' "$scratch/out"
    grep -q '"high": {"state": "running", "gpus": 4, "tasks_running": 4' "$scratch/out"
}
check higher_priority_first_and_no_job_is_blocked higher_priority_first

# One user has both nodes; half of them is its user limit.
write_case "$two_nodes" '{"name":"old","queue":"q","user":"rich","state":"running","running_on":["n0"],
"running_gpu":[["0","1"]],"submit":0,"tasks":[{"gpu":2}]},
{"name":"new","queue":"q","user":"rich","priority":9,"state":"running","running_on":["n1"],
"running_gpu":[["0","1"]],"submit":1,"tasks":[{"gpu":2}]},
{"name":"own","queue":"q","user":"rich","priority":9,"submit":2,"tasks":[{"gpu":1}]},
{"name":"poor","queue":"q","user":"poor","submit":3,"tasks":[{"count":2,"gpu":1}],"min":2}' |
    sed 's/"parent":null/&,"guaranteed":{"gpu":4},"within":"user-limit","user_limit":0.5/' \
        >"$scratch/users.json"
users_take_above_limits() {
    "${scenario[@]}" "$scratch/users.json" >"$scratch/out"
    cat "$scratch/out"
    grep -q '"poor": {"state": "running", "gpus": 2' "$scratch/out"
    grep -q '"old": {"state": "preempted"' "$scratch/out"
    grep -q '"new": {"state": "running"' "$scratch/out"
}
check users_take_what_is_above_user_limits users_take_above_limits

# An own partition, a lent one, a guard and an expression, each sends a job elsewhere.
write_case '{"name":"own","cpus":8,"partitions":["own"]},{"name":"lent","cpus":8,"partitions":["lent"]},
{"name":"gpu","cpus":8,"gpus":1,"labels":{"age":"12"}},{"name":"cpu","cpus":8,"labels":{"age":"9"}}' \
'{"name":"plain","queue":"q","priority":9,"tasks":[{"cpu":8}]},
{"name":"strict","queue":"q","priority":8,"gpu_nodes":"exclude","tasks":[{"cpu":8}]},
{"name":"older","queue":"q","priority":7,"tasks":[{"cpu":8,"where":"age > 10"}]},
{"name":"owner","queue":"q","priority":6,"tasks":[{"cpu":8,"partition":"own"}]},
{"name":"last","queue":"q","priority":5,"tasks":[{"cpu":8}]}' \
'"policy":"first","partitions":[{"name":"own","mode":"exclusive"},{"name":"lent","mode":"lending"}]' \
    >"$scratch/demands.json"
demands_choose_the_nodes() {
    local job
    "${scenario[@]}" "$scratch/demands.json" | tr -d ' ' >"$scratch/out"
    cat "$scratch/out"
    for job in plain:cpu strict:lent older:gpu owner:own; do
        grep -q "\"${job%:*}\":{\"state\":\"running\",\"gpus\":0,\"tasks_running\":1,\"placement\":\[{\"task\":0,\"node\":\"${job#*:}\"" "$scratch/out"
    done
    grep -q '"last":{"state":"pending"' "$scratch/out"
}
check demands_choose_the_nodes demands_choose_the_nodes

# The sums are 4 + 6 and 16 + 0; with the smaller weight 1.75 + 6 and 7 + 0. Nothing is preempted.
cat >"$scratch/sums.json" <<'END'
{"id":"c","nodes":[{"name":"n","cpus":4}],"queues":[{"name":"q","order":"multifactor",
"within":"never","priority_weight_size":16,"priority_weight_job":1}],"jobs":[
{"name":"high","queue":"q","priority":6,"tasks":[{"cpu":1}]},
{"name":"wide","queue":"q","priority":0,"tasks":[{"cpu":4}]}]}
END
sums_decide() {
    "${scenario[@]}" "$scratch/sums.json" | tr -d ' ' >"$scratch/out"
    cat "$scratch/out"
    grep -q '"wide":{"state":"running"' "$scratch/out"
    grep -q '"high":{"state":"pending"' "$scratch/out"
    sed -i 's/"priority_weight_size":16/"priority_weight_size":7/' "$scratch/sums.json"
    "${scenario[@]}" "$scratch/sums.json" | tr -d ' ' >"$scratch/out"
    grep -q '"high":{"state":"running"' "$scratch/out"
}
check weighted_factors_order_the_jobs sums_decide

# A GPU hour is left for jobs with time limits of 40 minutes: for one of them.
cat >"$scratch/budget.json" <<'END'
{"id":"c","nodes":[{"name":"n","gpus":4}],"queues":[{"name":"q","budgets":[{"kind":"gpu",
"amount":3600,"period_s":86400}]}],"jobs":[
{"name":"first","queue":"q","time_limit_s":2400,"tasks":[{"gpu":1}]},
{"name":"second","queue":"q","time_limit_s":2400,"tasks":[{"gpu":1}]},
{"name":"short","queue":"q","time_limit_s":1200,"tasks":[{"gpu":1}]}]}
END
budget_decides() {
    "${scenario[@]}" "$scratch/budget.json" | tr -d ' ' >"$scratch/out"
    cat "$scratch/out"
    grep -q '"first":{"state":"running"' "$scratch/out"
    grep -q '"second":{"state":"pending"' "$scratch/out"
    grep -q '"short":{"state":"running"' "$scratch/out"
    "$gangsched" explain --job second "$scratch/budget.json" >"$scratch/out" || true
    cat "$scratch/out"
    grep -q 'allows 1 GPU hours, 1 GPU hours are used or promised' "$scratch/out"
}
check a_budget_keeps_whole_time_limits budget_decides

# Four GPUs fit in no rack, but in two. An elastic job starts in the rack that holds all of it.
racks='{"name":"n0","gpus":1,"topology":{"rack":"r0"}},{"name":"n1","gpus":3,"topology":{"rack":"r1"}}'
write_case "$racks" '{"name":"elastic","queue":"q","priority":9,"min":1,"same":"rack","tasks":[{"count":2,"gpu":1}]},
{"name":"patient","queue":"q","min":2,"prefer":"rack","prefer_wait_s":60,"tasks":[{"count":2,"gpu":1}]},
{"name":"any","queue":"q","priority":-1,"min":2,"prefer":"rack","tasks":[{"count":2,"gpu":1}]}' \
    '"levels":["rack"]' >"$scratch/racks.json"
racks_are_chosen() {
    "${scenario[@]}" "$scratch/racks.json" | tr -d ' ' >"$scratch/out"
    cat "$scratch/out"
    grep -q '"elastic":{"state":"running","gpus":2,"tasks_running":2,"placement":\[{"task":0,"node":"n1"' "$scratch/out"
    grep -q '"patient":{"state":"pending"' "$scratch/out"
    grep -q '"any":{"state":"running"' "$scratch/out"
}
check a_rack_for_all_tasks_and_a_wait_for_one racks_are_chosen
# Slurm's classes: high preempts scavenger, which is cancelled, though its priority is higher.
printf '%s\n' '[{"id":"classes","nodes":[{"name":"n","gpus":2}],"queues":[
{"name":"high","reclaim":"never","preempt_class":"high","preempts":"normal,scavenger"},
{"name":"normal","reclaim":"never","preempt_class":"normal","preempts":"scavenger"},
{"name":"scavenger","reclaim":"never","preempt_class":"scavenger","preempt_mode":"cancel"}],"jobs":[
{"name":"free","queue":"scavenger","priority":9,"state":"running","running_on":["n"],"tasks":[{"count":1,"gpu":2}]},
{"name":"urgent","queue":"high","tasks":[{"count":1,"gpu":2}]}]},
{"id":"across","nodes":[{"name":"n","gpus":2}],"queues":[{"name":"p","across":"lower-capped","across_max_priority":4},
{"name":"a","parent":"p"},{"name":"b","parent":"p"}],"jobs":[
{"name":"low","queue":"b","priority":4,"state":"running","running_on":["n"],"tasks":[{"count":1,"gpu":1}]},
{"name":"first","queue":"a","priority":7,"state":"running","running_on":["n"],"tasks":[{"count":1,"gpu":1}]},
{"name":"second","queue":"a","priority":6,"tasks":[{"count":1,"gpu":1}]},
{"name":"third","queue":"a","priority":5,"tasks":[{"count":1,"gpu":1}]}]}]' >"$scratch/ranks.json"
ranks_decide() {
    "${scenario[@]}" "$scratch/ranks.json" | tr -d ' ' >"$scratch/out"
    cat "$scratch/out"
    grep -q '"urgent":{"state":"running"' "$scratch/out"
    grep -q '"second":{"state":"running"' "$scratch/out"
    grep -q '"low":{"state":"preempted"' "$scratch/out"
    grep -q '"third":{"state":"pending"' "$scratch/out"
}
check ranks_preempt_across_queues ranks_decide
wait_is_explained() {
    "$gangsched" explain --job patient "$scratch/racks.json" >"$scratch/out" || true
    cat "$scratch/out"
    grep -q 'preferred domains' "$scratch/out"
}
check the_wait_for_a_rack_is_explained wait_is_explained

reads_standard_input() {
    "${scenario[@]}" - <"$scratch/gang.json" >"$scratch/out"
    "${scenario[@]}" --json "$scratch/gang.json" | cmp - "$scratch/out"
}
check standard_input_is_read reads_standard_input

several_files() {
    printf '[{"id":"x"},{"id":"y"}]' >"$scratch/two.json"
    "${scenario[@]}" "$scratch/two.json" "$scratch/gang.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(cut -c 1-10 "$scratch/out" | tr '\n' ' ') == '{"id": "x" {"id": "y" {"id": "c" ' ]]
}
check a_line_for_each_case several_files

no_case() {
    printf '[]' | "${scenario[@]}" --check - >"$scratch/out"
    [[ $(cat "$scratch/out") == '0 passed, 0 failed' ]]
}
check no_case_is_no_error no_case

# ---- partitioned devices ----

# A pair of A100s in eight slices each; one slice is broken.
slices() { # PARENT BROKEN
    local i
    for i in 0 1 2 3 4 5 6 7; do
        printf '%s{"model":"A100","mem_mib":5120,"parent":"%s","mig_index":%d%s}' \
            "$([[ $1$i == a0 ]] || printf ,)" "$1" "$i" "$([[ $i != "$2" ]] || printf ',"healthy":false')"
    done
}
write_case '{"name":"n0","cpus":64,"mem_mib":64,"devices":['"$(slices a none)$(slices b 1)"'],"profiles":[
{"name":"1g.5gb","model":"A100","width":1,"starts":[0,1,2,3,4,5,6]},
{"name":"2g.10gb","model":"A100","width":2,"starts":[0,2,4]},
{"name":"3g.20gb","model":"A100","width":4,"starts":[0,4]},
{"name":"7g.40gb","model":"A100","width":8,"starts":[0]}]},{"name":"n1","cpus":8,"mem_mib":64,"gpus":2}' \
    '{"name":"small","queue":"q","tasks":[{"count":3,"cpu":1,"gpu":1,"profile":"1g.5gb"}]},
{"name":"half","queue":"q","tasks":[{"count":2,"gpu":1,"profile":"3g.20gb"}]},
{"name":"whole","queue":"q","tasks":[{"gpu":2}]},
{"name":"all","queue":"q","tasks":[{"gpu":1,"profile":"7g.40gb"}]},
{"name":"none","queue":"q","tasks":[{"gpu":1,"profile":"9g"}]}' >"$scratch/mig.json"
# The small ones on the device that is broken already, so that the other one gives two halves.
check instances_of_profiles prints "$scratch/mig.json" '{"id":"c","jobs":{'\
'"small":{"state":"running","gpus":3,"tasks_running":3,"placement":['\
'{"task":0,"node":"n0","gpus":[8],"share":1.0},{"task":1,"node":"n0","gpus":[10],"share":1.0},'\
'{"task":2,"node":"n0","gpus":[11],"share":1.0}]},'\
'"half":{"state":"running","gpus":8,"tasks_running":2,"placement":['\
'{"task":0,"node":"n0","gpus":[12,13,14,15],"share":1.0},'\
'{"task":1,"node":"n0","gpus":[4,5,6,7],"share":1.0}]},'\
'"whole":{"state":"running","gpus":2,"tasks_running":1,"placement":['\
'{"task":0,"node":"n1","gpus":[0,1],"share":1.0}]},'\
'"all":{"state":"pending","gpus":0,"tasks_running":0,"placement":[]},'\
'"none":{"state":"pending","gpus":0,"tasks_running":0,"placement":[]}},'\
'"queues":{"q":{"gpus":13,"tasks_running":6}}}'

# ---- queues ----

# The state and tasks of the jobs of a case come out as "NAME:STATE:TASKS ...".
comes_out() { # CASE EXPECTED
    printf '%s\n' "$1" >"$scratch/case.json"
    "${scenario[@]}" "$scratch/case.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(grep -o '"[a-z0-9]*": {"state": "[a-z]*", "gpus": [0-9.]*, "tasks_running": [0-9]*' "$scratch/out" |
        sed 's/"\([a-z0-9]*\)": {"state": "\([a-z]*\)".*: /\1:\2:/' | tr '\n' ' ') == "$2 " ]]
}
check a_limit_holds comes_out '{"id":"c","nodes":[{"name":"n","gpus":4}],
    "queues":[{"name":"p","limit":{"gpu":1}},{"name":"q","parent":"p"}],"jobs":[{"name":"a",
    "queue":"q","tasks":[{"gpu":2}]},{"name":"b","queue":"q","min":1,"tasks":[{"count":4,"gpu":1}]}]}' \
    'a:pending:0 b:running:1'
check a_guarantee_bounds_what_stays comes_out '{"id":"c","nodes":[{"name":"n","gpus":4}],
    "queues":[{"name":"q","guaranteed":{"gpu":1}}],"jobs":[{"name":"a","queue":"q",
    "preemptible":false,"tasks":[{"gpu":2}]},{"name":"b","queue":"q","tasks":[{"gpu":2}]}]}' \
    'a:pending:0 b:running:1'
check a_limit_bounds_what_stays comes_out '{"id":"c","nodes":[{"name":"n","gpus":4}],
    "queues":[{"name":"p","nonpreemptible":"limit"},{"name":"q","parent":"p","guaranteed":{"gpu":1},
    "limit":{"gpu":3}}],"jobs":[{"name":"a","queue":"q","preemptible":false,"tasks":[{"gpu":2}]},
    {"name":"b","queue":"q","preemptible":false,"tasks":[{"gpu":2}]}]}' 'a:running:1 b:pending:0'
# a has all its tasks after two seconds, b goes on with one of three, c has too few, d waits on.
check announced_tasks_come_during_the_case comes_out '{"id":"c","rounds":6,"nodes":[{"name":"n","gpus":9}],
    "jobs":[{"name":"a","announced":true,"arrivals":[{"count":1},{"at_s":2,"group":"x","count":2}],
    "tasks":[{"name":"x","count":3,"gpu":1}]},{"name":"b","announced":true,"min":1,"arrivals":[{"count":2},
    {"at_s":1,"count":-1},{"at_s":3,"complete":true}],"tasks":[{"count":3,"gpu":1}]},{"name":"c",
    "announced":true,"start_within_s":2,"tasks":[{"gpu":1}]},{"name":"d","announced":true,
    "arrivals":[{"count":1},{"at_s":99,"count":1}],"tasks":[{"count":2,"gpu":1}]}]}' \
    'a:running:3 b:running:1 c:ended:0 d:pending:0'
check what_is_owed_is_reclaimed comes_out '{"id":"c","nodes":[{"name":"n","gpus":4}],"rounds":2,
    "queues":[{"name":"p","guaranteed":{"gpu":2}},{"name":"q","guaranteed":{"gpu":2}}],
    "jobs":[{"name":"a","queue":"q","min":1,"state":"running","running_on":["n","n","n","n"],
    "tasks":[{"count":4,"gpu":1}]},{"name":"b","queue":"p","tasks":[{"count":2,"gpu":1}]}]}' \
    'a:running:2 b:running:2'
check a_lower_priority_is_preempted comes_out '{"id":"c","nodes":[{"name":"n","gpus":1}],"rounds":2,
    "queues":[{"name":"q","guaranteed":{"gpu":1}}],"jobs":[{"name":"a","queue":"q","state":"running",
    "running_on":["n"],"tasks":[{"gpu":1}]},{"name":"b","queue":"q","priority":1,
    "tasks":[{"gpu":1}]}]}' 'a:preempted:0 b:running:1'
# Running jobs come before reservations, but for the reservation that a running job is inside of.
check a_job_that_ends_in_time_is_not_in_the_way comes_out '{"id":"c","nodes":[{"name":"n","cpus":4}],
    "reservations":[{"name":"r","start_s":60,"duration_s":9,"stages":[{"nodes":["n"]}]}],
    "jobs":[{"name":"a","state":"running","running_on":["n"],"time_limit_s":60,"tasks":[{"cpu":4}]}]}' \
    'a:running:1'
check a_job_runs_inside_its_reservation comes_out '{"id":"c","nodes":[{"name":"n","cpus":4},{"name":"m","cpus":4}],
    "reservations":[{"name":"s","start_s":70,"duration_s":9,"stages":[{"nodes":["m"]}]},
    {"name":"r","start_s":0,"duration_s":90,"stages":[{"nodes":["n"]}]}],
    "jobs":[{"name":"a","state":"running","running_on":["n"],"ran_s":5,"time_limit_s":60,"reservation":"r",
    "tasks":[{"cpu":4}]},{"name":"b","state":"running","running_on":["m"],"ran_s":5,"time_limit_s":60,
    "tasks":[{"cpu":4}]},{"name":"c","time_limit_s":5,"reservation":"s","tasks":[{"cpu":4}]}]}' \
    'a:running:1 b:running:1 c:pending:0'
# One that runs waited for another one, which names what is reserved: it is there before that one.
check what_a_job_names_is_there_before_it comes_out '{"id":"c","nodes":[{"name":"n","cpus":4},{"name":"m","cpus":4}],
    "reservations":[{"name":"r","start_s":0,"duration_s":90,"stages":[{"nodes":["m"]}]}],
    "jobs":[{"name":"a","time_limit_s":60,"reservation":"r","tasks":[{"cpu":4}]},
    {"name":"b","state":"running","running_on":["n"],"after":[{"job":"a","when":"start"}],
    "tasks":[{"cpu":4}]}]}' 'a:running:1 b:running:1'
# a could grow onto n2 as soon as it runs, which is before c has its place there.
check no_job_grows_before_all_running_jobs_are_there comes_out '{"id":"c","nodes":[{"name":"n1","cpus":4},
    {"name":"n2","cpus":4}],"jobs":[{"name":"a","state":"running","running_on":["n1"],"ran_s":3000,"min":1,
    "tasks":[{"count":2,"cpu":4}]},{"name":"b","state":"running","running_on":["n1"],"ran_s":100,
    "tasks":[{}]},{"name":"c","state":"running","running_on":["n2"],"ran_s":50,"tasks":[{"cpu":4}]}]}' \
    'a:running:1 b:running:1 c:running:1'
check jobs_wait_for_others comes_out '{"id":"c","rounds":3,"nodes":[{"name":"n","gpus":4}],"jobs":[
    {"name":"a","after":[{"job":"b","when":"success"}],"tasks":[{"gpu":1}]},
    {"name":"b","tasks":[{"gpu":1}]},{"name":"c","hold":true,"tasks":[{"gpu":1}]},
    {"name":"d","tasks":[{"gpu":5}]},{"name":"e","after":[{"job":"d","when":"end"}],"tasks":[{}]},
    {"name":"f","after":[{"job":"b","when":"start"}],"tasks":[{"gpu":1}]}]}' \
    'a:pending:0 b:running:1 c:pending:0 d:pending:0 e:pending:0 f:running:1'

# ---- jobs on reserved nodes ----

printf '{"id":"c","nodes":[{"name":"n","cpus":8},{"name":"m","cpus":8}],"reservations":[
{"name":"r","start_s":0,"duration_s":90,"stages":[{"nodes":["n"]}]}],"jobs":[
{"name":"member","state":"running","running_on":["n"],"ran_s":5,"time_limit_s":60,"reservation":"r","tasks":[{"cpu":4}]},
{"name":"stranger","state":"running","running_on":["n"],"ran_s":5,"time_limit_s":60,"tasks":[{"cpu":4}]},
{"name":"other","state":"running","running_on":["m"],"tasks":[{"cpu":4}]}]}' >"$scratch/reserved.json"
warns_of_a_reserved_node() {
    "${scenario[@]}" "$scratch/reserved.json" >"$scratch/out" 2>"$scratch/err"
    cat "$scratch/out" "$scratch/err"
    [[ $(grep -o '"warning"' "$scratch/out" | wc -l) -eq 1 && $(wc -l <"$scratch/err") -eq 1 ]]
    grep -q "\"stranger\": {\"state\": \"running\", \"warning\": \"runs on node 'n', which reservation 'r' keeps for others\"" \
        "$scratch/out"
    grep -q "reserved\.json: warning: case 'c': jobs\[1\]: runs on node 'n'" "$scratch/err"
}
check a_job_on_a_reserved_node_is_named warns_of_a_reserved_node

# ---- jobs that the scheduler refuses ----

write_refused() {
    printf '[{"id":"c","levels":["rack"],"nodes":[{"name":"n","gpus":4,"topology":{"rack":"r"}}],
"queues":[{"name":"p"},{"name":"q","parent":"p"}],"jobs":[
{"name":"level","queue":"q","same":"zone","tasks":[{"gpu":1}]},
{"name":"tasklevel","queue":"q","tasks":[{"gpu":1,"same":"zone"}]},
{"name":"min","queue":"q","min":3,"tasks":[{"gpu":1}]},
{"name":"taskmin","queue":"q","tasks":[{"gpu":1,"min":2}]},
{"name":"setmin","queue":"q","groups":[{"name":"g","min":3}],"tasks":[{"gpu":1,"group":"g"}]},
{"name":"inner","queue":"p","tasks":[{"gpu":1}]},
{"name":"nowhere","queue":"x","tasks":[{"gpu":1}]},
{"name":"ran","queue":"q","same":"zone","state":"running","running_on":["n"],"tasks":[{"gpu":1}]},
{"name":"huge","queue":"q","tasks":[{"gpu":9}]},
{"name":"behind","queue":"q","after":[{"job":"min","when":"end"}],"tasks":[{"gpu":1}]},
{"name":"good","queue":"q","tasks":[{"gpu":4}]}],
"expect":{"jobs":{"min":{"state":"refused","gpus":0},"good":{"state":"running","gpus":4}}}},
{"id":"d","nodes":[{"name":"n","gpus":1}],"jobs":[{"name":"other","tasks":[{"gpu":1}]}]}]'
}
write_refused >"$scratch/refused.json"
refused_jobs_hide_no_other_ones() {
    local job
    "${scenario[@]}" "$scratch/refused.json" | tr -d ' ' >"$scratch/out"
    cat "$scratch/out"
    for job in 'level:same:' 'tasklevel:tasks\[0\].same:' min:min: 'taskmin:tasks\[0\].min:' \
        'setmin:groups\[0\].min:' inner:queue: nowhere:queue: ran:same:; do
        grep -q "\"${job%%:*}\":{\"state\":\"refused\",\"reason\":\"${job#*:}" "$scratch/out"
    done
    grep -q '"huge":{"state":"pending"' "$scratch/out"
    grep -q '"behind":{"state":"pending"' "$scratch/out"
    grep -q '"good":{"state":"running","gpus":4,' "$scratch/out"
    grep -q '^{"id":"d","jobs":{"other":{"state":"running"' "$scratch/out"
}
check refused_jobs_hide_no_other_ones refused_jobs_hide_no_other_ones
expects_refusal() {
    "${scenario[@]}" --check "$scratch/refused.json" >"$scratch/out"
    [[ $(tail -n 1 "$scratch/out") == '2 passed, 0 failed' ]]
}
check a_refusal_may_be_expected expects_refusal

# ---- checking ----

# --check with an expectation of the two jobs of gang.json ends like this.
expects() { # STATUS LAST_LINE EXPECT [PATTERN]
    local status=0
    write_case "$two_nodes" '{"name":"a","queue":"q","tasks":[{"count":2,"gpu":2}]},
        {"name":"b","queue":"q","tasks":[{"gpu":1}]}' "\"expect\":$3" >"$scratch/case.json"
    "${scenario[@]}" --check "$scratch/case.json" >"$scratch/out" || status=$?
    cat "$scratch/out"
    [[ $status -eq $1 ]]
    [[ $(tail -n 1 "$scratch/out") == "$2" ]]
    [[ -z ${4:-} ]] || grep -q "$4" "$scratch/out"
}
check passes_as_expected expects 0 '1 passed, 0 failed' \
    '{"jobs":{"a":{"state":"running","gpus":4,"tasks_running":2,"nodes":["n1","n0"]},
      "b":{"state":"pending","gpus":0.0,"tasks_running":0}},"queues":{"q":{"gpus":4}}}' \
    '"passed": true'
check fails_on_another_state expects 1 '0 passed, 1 failed' \
    '{"jobs":{"b":{"state":"running"}}}' '"differences": \["jobs.b.state: pending, expected running"\]'
check fails_on_other_gpus expects 1 '0 passed, 1 failed' \
    '{"jobs":{"a":{"gpus":3.5}}}' 'jobs.a.gpus: 4, expected 3.5'
check fails_on_other_tasks expects 1 '0 passed, 1 failed' \
    '{"jobs":{"a":{"tasks_running":3}}}' 'jobs.a.tasks_running: 2, expected 3'
check fails_on_other_nodes expects 1 '0 passed, 1 failed' \
    '{"jobs":{"a":{"nodes":["n0"]}}}' 'jobs.a.nodes'
check fails_on_another_sum expects 1 '0 passed, 1 failed' \
    '{"queues":{"q":{"gpus":5,"tasks_running":2}}}' 'queues.q.gpus: 4, expected 5'
check jobs_may_exchange_roles expects 0 '1 passed, 0 failed' \
    '{"jobs":{"b":{"state":"running","gpus":4,"tasks_running":2},"a":{"state":"pending","gpus":0}},
      "interchangeable":[["a","b"]]}'
check a_role_is_taken_once expects 1 '0 passed, 1 failed' \
    '{"jobs":{"b":{"state":"running"},"a":{"state":"running"}},"interchangeable":[["a","b"]]}'

# What users of YARN, Slurm, KAI, Kueue and Volcano take for granted: a case for each.
users_of_others() {
    "${scenario[@]}" --check "$root/tests/scenario/users_of_others.json" >"$scratch/out" ||
        { grep -v '"passed": true' "$scratch/out"; return 1; }
    [[ $(tail -n 1 "$scratch/out") =~ ^([0-9]+)\ passed,\ 0\ failed$ ]]
    ((BASH_REMATCH[1] >= 15))
}
check users_of_others users_of_others

shared_cases() {
    "${scenario[@]}" --check "$shared"/scenarios/*.json >"$scratch/out"
    tail -n 1 "$scratch/out"
    [[ -z $(grep -v '"passed": true' "$scratch/out" | grep '^{' || true) ]]
    [[ $(tail -n 1 "$scratch/out") =~ ^([0-9]+)\ passed,\ 0\ failed$ ]]
    ((BASH_REMATCH[1] >= 106))
}
if [[ -n ${GANG_SHARED:-} && -d ${GANG_SHARED:-}/scenarios ]]; then
    check shared_cases shared_cases
else
    skip shared_cases "no shared cases; set GANG_SHARED"
fi

# ---- wrong input ----

refuses_text() { # NAME TEXT PATTERN
    printf '%s' "$2" >"$scratch/bad.json"
    refuses "$1" "bad\\.json: $3" "${scenario[@]}" "$scratch/bad.json"
}
refuses missing_file 'none\.json: cannot be opened: No such file' "${scenario[@]}" "$scratch/none.json"
refuses folder ': is a directory' "${scenario[@]}" "$scratch"
refuses no_file 'no file is given' "${scenario[@]}"
refuses unknown_option "unknown option '--fast'" "${scenario[@]}" --fast "$scratch/gang.json"
refuses second_file_is_wrong 'none\.json: ' "${scenario[@]}" "$scratch/gang.json" "$scratch/none.json"
refuses_text empty_file '' 'line 1, column 1: '
refuses_text truncated_text '[{"nodes":[{"name":"n0","cpus":1}' 'line 1, column 34: '
refuses_text trailing_text '{} x' 'line 1, column 4: '
refuses_text negative_count '[{},{"jobs":[{"name":"j","tasks":[{"count":-1}]}]}]' \
    '\[1\]\.jobs\[0\]\.tasks\[0\]\.count: must be at least 1$'
refuses_text node_twice '{"nodes":[{"name":"a"},{"name":"b"},{"name":"a"}]}' \
    "nodes\\[2\\]\\.name: 'a' is there twice\$"
refuses_text key_twice '{"nodes":[{"name":"a","gpus":1,"gpus":2}]}' \
    'line 1, column 32: nodes\[0\]\.gpus: '
refuses_text unknown_key '{"nodes":[{"name":"a","gpu":1}]}' "nodes\\[0\\]\\.gpu: unknown key; did you mean 'gpus'\\?\$"
refuses_text cyclic_queues '{"queues":[{"name":"a","parent":"b"},{"name":"b","parent":"a"}]}' \
    'queues\[0\]\.parent: '
refuses_text cyclic_groups '{"jobs":[{"name":"j","tasks":[{}],"groups":[{"name":"a","parent":"b"},
{"name":"b","parent":"a"}]}]}' 'jobs\[0\]\.groups\[0\]\.parent: '
refuses_text not_a_number '{"nodes":[{"name":"a","cpus":NaN}]}' \
    'line 1, column 30: nodes\[0\]\.cpus: '
refuses_text infinite '{"nodes":[{"name":"a","cpus":1e999}]}' \
    'line 1, column 30: nodes\[0\]\.cpus: number out of range$'
refuses_text control_characters_stay_out $'{"nodes":[{"name":"a","\\u001b[2J\\n":1}]}' \
    'nodes\[0\]\["\?\[2J\?"\]: unknown key$'
refuses_text too_many_gpus '{"nodes":[{"name":"a","gpus":65}]}' 'nodes\[0\]\.gpus: '
refuses_text running_where_nothing_is '{"nodes":[{"name":"a"}],"jobs":[{"name":"j","state":"running",
"running_on":["b"],"tasks":[{}]}]}' "jobs\\[0\\]\\.running_on\\[0\\]: no node 'b'\$"
refuses_text unknown_partition_of_a_quota '{"id":"x","queues":[{"name":"q","limit":{"gpu@p":1}}]}' \
    "case 'x': queues\\[0\\]\\.limit"
refuses_text running_on_more_than_there_is '{"id":"x","nodes":[{"name":"a","gpus":1}],
"jobs":[{"name":"j","state":"running","running_on":["a"],"tasks":[{"gpu":2}]}]}' "case 'x': jobs\\[0\\]"
refuses_text reserved_where_a_job_runs '{"id":"x","nodes":[{"name":"a","cpus":4}],"reservations":[{"name":"r",
"start_s":59,"duration_s":9,"stages":[{"nodes":["a"]}]}],"jobs":[{"name":"j","state":"running","running_on":["a"],
"time_limit_s":60,"tasks":[{"cpu":1}]}]}' "case 'x': reservations\\[0\\]\\.stages\\[0\\]: too little is free"
refuses_text reserved_where_a_job_has_run_long '{"id":"x","nodes":[{"name":"a","cpus":4}],"reservations":[{"name":"r",
"start_s":0,"duration_s":9,"stages":[{"nodes":["a"]}]}],"jobs":[{"name":"j","state":"running","running_on":["a"],
"ran_s":50,"time_limit_s":60,"tasks":[{"cpu":1}]}]}' "case 'x': reservations\\[0\\]\\.stages\\[0\\]: too little is free"
refuses_text running_jobs_are_listed_first '{"id":"x","nodes":[{"name":"a","cpus":4}],"reservations":[{"name":"r",
"start_s":0,"duration_s":9,"stages":[{"nodes":["a"]}]}],"jobs":[{"name":"j","state":"running","running_on":["a"],
"tasks":[{"cpu":3}]},{"name":"k","state":"running","running_on":["a"],"tasks":[{"cpu":3}]}]}' \
    "case 'x': jobs\\[1\\]: its places are not free"
refuses_text too_many_devices '{"id":"x","nodes":[{"name":"a","gpus":1}],"jobs":[{"name":"j",
"state":"running","running_on":["a","a"],"running_gpu":[["x"],["y"]],
"tasks":[{"count":2,"gpu":0.5}]}]}' "case 'x': jobs\\[0\\]\\.running_gpu\\[1\\]: "

refuses_text second_case_is_wrong '[{"id":"good"},{"id":"x","nodes":[{"name":"a"}],"jobs":[{"name":"j",
"state":"running","running_on":["a"],"tasks":[{"cpu":2}]}]}]' "case 'x': jobs\\[0\\]"

refuses_text deep_nesting "$(printf '[%.0s' {1..100000})" 'line 1, column 65: .*nested too deeply$'
printf '{"nodes":[{"name":"a\0"}]}' >"$scratch/nul.json"
refuses nul_byte 'nul\.json: line 1, column 21: nodes\[0\]\.name: ' "${scenario[@]}" "$scratch/nul.json"
printf '{"nodes":[{"name":"\xff"}]}' >"$scratch/utf.json"
refuses no_utf8 'utf\.json: line 1, column 20: nodes\[0\]\.name: ' "${scenario[@]}" "$scratch/utf.json"

# One line of 2 GiB; nothing of it may be read.
truncate -s 2G "$scratch/huge.json"
refuses huge_file 'huge\.json: the text is longer than 268435456 bytes$' \
    timeout 10 "${scenario[@]}" "$scratch/huge.json"
if [[ -c /dev/zero ]]; then
    refuses endless_file 'zero: the text is longer than 268435456 bytes$' \
        timeout 60 "${scenario[@]}" /dev/zero
fi

full_disk() {
    local status=0
    "${scenario[@]}" "$scratch/gang.json" >/dev/full 2>"$scratch/err" || status=$?
    cat "$scratch/err"
    [[ $status -eq 2 && $(wc -l <"$scratch/err") -eq 1 ]]
}
if [[ -c /dev/full ]]; then
    check full_disk_is_noticed full_disk
fi

exit "$failed"
