#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched explain: what it says of jobs that wait, and wrong input.
# Needs GANG_BIN_DIR; GANG_SHARED for the shared cases.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
export LC_ALL=C
explain=("$gangsched" explain)

# Two racks: n0 in r1; n1, where a job has two of four GPUs, n2 and n3, which is down, in r2.
cat >"$scratch/racks.json" <<'END'
[{"id":"racks","levels":["block","rack"],"nodes":[
  {"name":"n0","cpus":8,"gpus":2,"topology":{"block":"b1","rack":"r1"}},
  {"name":"n1","cpus":8,"gpus":4,"topology":{"block":"b1","rack":"r2"}},
  {"name":"n2","cpus":8,"gpus":2,"topology":{"block":"b1","rack":"r2"}},
  {"name":"n3","cpus":8,"gpus":2,"state":"down","topology":{"block":"b1","rack":"r2"}}],
 "jobs":[{"name":"runs","min":2,"preemptible":false,"state":"running","running_on":["n1","n1"],
          "tasks":[{"name":"w","count":2,"gpu":1}]},
  {"name":"rack","same":"rack","tasks":[{"name":"w","count":5,"gpu":1}]},
  {"name":"never","tasks":[{"name":"w","cpu":9},{"name":"x","count":2,"gpu":1}]},
  {"name":"pair","tasks":[{"name":"w","count":2,"cpu":6},{"name":"x","count":2,"cpu":5}]}]},
 {"id":"idle","nodes":[{"name":"n","cpus":1}],"jobs":[{"name":"j","tasks":[{"cpu":1}]}]},
 {"id":"queues","nodes":[{"name":"n","cpus":4}],"queues":[{"name":"q","limit":{"cpu":2}}],
  "jobs":[{"name":"a","queue":"q","tasks":[{"cpu":2}]},{"name":"b","queue":"q","tasks":[{"cpu":1}]},
  {"name":"c","queue":"q","tasks":[{"cpu":3}]},{"name":"d","queue":"q","hold":true,"tasks":[{"cpu":1}]}]}]
END

# The output must be this.
says() { # EXPECTED OPTION...
    local expected=$1
    shift
    "${explain[@]}" "$@" "$scratch/racks.json" >"$scratch/out"
    diff <(printf '%s\n' "$expected") "$scratch/out"
}

# ---- English ----

check the_best_rack_is_named says 'case racks, job rack: not now
  group "w": no rack holds 5 tasks: the best, b1/r2, holds 4; gpu is short
    4 nodes: 3 take a task; state stops 1
    best rack: block=b1/rack=r2, 4 of 5 tasks
  preemption: a rule protects each gang that runs
  moves: no moves of gangs make a place for it
    1 gang of queue "default" (job 1): they are not preemptible
    queue "default": turn 1 of 1, 1 job runs
      gpu in milli-GPUs: 2000 used, guarantee none, fair share none, limit none' --job rack
check never_counts_the_empty_nodes says 'case racks, job never: never
  group "w": 0 of 1 task could ever fit; cpu is short (9000 millicores a task)
    4 nodes: 0 take a task; kind stops 4 (cpu 4)
  group "x": 2 of 2 tasks fit now
    4 nodes: 3 take a task; state stops 1' --job never --case racks
check groups_that_do_not_go_together says 'case racks, job pair: not now
  group "w": 2 of 2 tasks fit now
    4 nodes: 3 take a task; state stops 1
  group "x": 2 of 2 tasks fit now
    4 nodes: 3 take a task; state stops 1
  all: each group fits alone, but not all together: 3 of 4 tasks fit now; for group "x" cpu is short
  preemption: a rule protects each gang that runs
  moves: no moves of gangs make a place for it
    1 gang of queue "default" (job 1): they are not preemptible
    queue "default": turn 1 of 1, 1 job runs
      cpu in millicores: 0 used, guarantee none, fair share none, limit none' \
    --job pair
check a_job_that_runs says 'case racks, job runs: runs with 2 of 2 tasks' --job=runs
check a_case_without_waiting_jobs says 'case idle: no job is waiting' --case idle
# Reasons that queues cause; the library words them.
queue_reasons() {
    "${explain[@]}" --case queues "$scratch/racks.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(grep '^case' "$scratch/out" | tr '\n' '|') == 'case queues, job b: not now|'\
'case queues, job c: never|case queues, job d: held|' ]]
    [[ $(grep -c '^  ' "$scratch/out") -ge 3 ]]
}
check queues_are_reasons queue_reasons

all_that_wait() {
    "${explain[@]}" "$scratch/racks.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(grep '^case' "$scratch/out" | tr '\n' '|') == 'case racks, job rack: not now|'\
'case racks, job never: never|case racks, job pair: not now|case idle: no job is waiting|'\
'case queues, job b: not now|case queues, job c: never|case queues, job d: held|' ]]
}
check all_jobs_that_wait_are_listed all_that_wait

# Both queues keep to their share.
protected() {
    cat >"$scratch/protected.json" <<'END'
{"id":"p","nodes":[{"name":"n","gpus":4}],
 "queues":[{"name":"a","guaranteed":{"gpu":2}},{"name":"b","guaranteed":{"gpu":2}}],
 "jobs":[{"name":"x","queue":"a","state":"running","running_on":["n"],"tasks":[{"gpu":2}]},
  {"name":"y","queue":"b","state":"running","running_on":["n"],"tasks":[{"gpu":2}]},
  {"name":"z","queue":"b","tasks":[{"gpu":1}]}]}
END
    "${explain[@]}" --job z "$scratch/protected.json" >"$scratch/out"
    sed -n '/^  preemption/,$p' "$scratch/out" | diff - <(cat <<'END'
  preemption: a rule protects each gang that runs
  moves: moving gangs does not help: less is free in all than it requests
    1 gang of queue "a" (job 1): queue "a" keeps to its fair share of 2 GPUs, 2 are used
    1 gang of queue "b" (job 2): their priority, 0, is not below 0
    queue "b": turn 2 of 2, 1 job runs
      gpu in milli-GPUs: 2000 used, guarantee 2000, fair share 2000, limit none
    queue "a": turn 1 of 2, 1 job runs
      gpu in milli-GPUs: 2000 used, guarantee 2000, fair share 2000, limit none
END
    )
}
check the_rules_that_protect_others_are_listed protected

growth() {
    cat >"$scratch/grow.json" <<'END'
{"id":"g","nodes":[{"name":"n","cpus":2}],"jobs":[{"name":"j","min":1,"tasks":[{"count":4,"cpu":1}]}]}
END
    "${explain[@]}" --job j "$scratch/grow.json" >"$scratch/out"
    diff "$scratch/out" - <<'END'
case g, job j: runs with 2 of 4 tasks
  group "tasks": 0 of 1 more task could ever fit; cpu is short (1000 millicores a task)
    1 node: 0 take a task; kind stops 1 (cpu 1)
END
}
check why_a_job_does_not_grow growth

reads_standard_input() {
    "${explain[@]}" - <"$scratch/racks.json" >"$scratch/out"
    "${explain[@]}" "$scratch/racks.json" | cmp - "$scratch/out"
}
check standard_input_is_read reads_standard_input

# ---- JSON ----

json_lines() {
    "${explain[@]}" --json "$scratch/racks.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(wc -l <"$scratch/out") -eq 6 ]]
    head -n 1 "$scratch/out" >"$scratch/one"
    is_json "$scratch/one"
    [[ $(json_get "$scratch/one" why.answer) == 'not now' ]]
    [[ $(json_get "$scratch/one" why.groups.0.domain.path) == 'block=b1/rack=r2' ]]
    [[ $(json_get "$scratch/one" why.groups.0.domain.holds) -eq 4 ]]
    [[ $(json_get "$scratch/one" why.groups.0.refused.state) -eq 1 ]]
    [[ $(json_get "$scratch/one" why.because.group) == w ]]
    [[ $(json_get "$scratch/one" wait.reasons.0.reason) == capacity ]]
    sed -n 4p "$scratch/out" >"$scratch/one"
    [[ $(json_get "$scratch/one" wait.reasons.0.queue) == q ]]
    ! grep -q '"why"' "$scratch/one"
}
check one_object_a_job json_lines
check a_running_job_as_json says \
    '{"case": "racks", "job": "runs", "state": "running", "tasks": 2, "count": 2}' --json --job runs

shared_cases() {
    local file
    for file in "$shared"/scenarios/*.json; do
        "${explain[@]}" "$file" >"$scratch/out"
        "${explain[@]}" --json "$file" >"$scratch/json"
        ! grep -q ': not now$\|: never$' "$scratch/out" || grep -q '"answer"\|"wait"' "$scratch/json"
    done
}
if [[ -n ${GANG_SHARED:-} && -d ${GANG_SHARED:-}/scenarios ]]; then
    check shared_cases shared_cases
else
    skip shared_cases "no shared cases; set GANG_SHARED"
fi

# ---- jobs that the scheduler refuses ----

printf '{"id":"c","nodes":[{"name":"n","gpus":1}],"jobs":[{"name":"bad","same":"rack","tasks":[{"gpu":1}]},
{"name":"good","tasks":[{"gpu":1}]},{"name":"waits","tasks":[{"gpu":1}]}]}' >"$scratch/refused.json"
tells_refusal() {
    "${explain[@]}" "$scratch/refused.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(head -n 2 "$scratch/out") == 'case c, job bad: refused
  same: no topology level "rack"' ]]
    grep -q '^case c, job waits: not now$' "$scratch/out"
    "${explain[@]}" --json "$scratch/refused.json" >"$scratch/out"
    [[ $(head -n 1 "$scratch/out") == '{"case": "c", "job": "bad", "state": "refused", '\
'"reason": "same: no topology level \"rack\""}' ]]
    [[ $(wc -l <"$scratch/out") -eq 2 ]]
}
check a_refused_job_hides_no_other_one tells_refusal

# ---- wrong input ----

refuses missing_file 'none\.json: cannot be opened: No such file' "${explain[@]}" "$scratch/none.json"
refuses no_file 'no file is given' "${explain[@]}"
refuses two_files "unexpected argument 'b'" "${explain[@]}" a b
refuses unknown_option "unknown option '--fast'" "${explain[@]}" --fast "$scratch/racks.json"
refuses unknown_case "racks\\.json: no case 'none'" "${explain[@]}" --case none "$scratch/racks.json"
refuses unknown_job "racks\\.json: no job 'none'" "${explain[@]}" --job none "$scratch/racks.json"
refuses job_of_another_case "racks\\.json: no job 'j'" "${explain[@]}" --case racks --job j \
    "$scratch/racks.json"
printf '[{"nodes":[{"name":"n0","cpus":1}' >"$scratch/cut.json"
refuses truncated_text 'cut\.json: line 1, column 34: ' "${explain[@]}" "$scratch/cut.json"
printf '{"nodes":[{"name":"n0"}],"jobs":[{"name":"j","tasks":[{"gpu":1,"same":7}]}]}' \
    >"$scratch/bad.json"
refuses wrong_type 'bad\.json: jobs\[0\]\.tasks\[0\]\.same: ' "${explain[@]}" "$scratch/bad.json"

exit "$failed"
