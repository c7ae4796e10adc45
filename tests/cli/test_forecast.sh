#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched forecast: expected starts, what-if, and wrong input.
# Needs GANG_BIN_DIR.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
export LC_ALL=C
forecast=("$gangsched" forecast)
backlog=$root/examples/backlog.json

# The output must be this.
says() { # EXPECTED OPTION...
    local expected=$1
    shift
    "${forecast[@]}" "$@" >"$scratch/out"
    diff <(printf '%s\n' "$expected") "$scratch/out"
}

cat >"$scratch/two.json" <<'END'
[{"id":"never","nodes":[{"name":"n","cpus":4}],
  "jobs":[{"name":"endless","state":"running","running_on":["n"],"tasks":[{"cpu":4}]},
          {"name":"waits","time_limit_s":60,"tasks":[{"cpu":1}]},
          {"name":"huge","tasks":[{"cpu":9}]}]},
 {"id":"soon","nodes":[{"name":"n","cpus":4}],
  "jobs":[{"name":"runs","state":"running","running_on":["n"],"ran_s":40,"time_limit_s":100,"tasks":[{"cpu":4}]},
          {"name":"next","time_limit_s":30,"run_time_s":20,"tasks":[{"cpu":4}]},
          {"name":"last","time_limit_s":30,"tasks":[{"cpu":4}]}]}]
END

cat >"$scratch/slices.json" <<'END'
[{"id":"turns","nodes":[{"name":"n","cpus":4}],"queues":[{"name":"q","quantum_s":10,"quantum_rows":2}],
  "jobs":[{"name":"first","queue":"q","time_limit_s":60,"run_time_s":25,"tasks":[{"cpu":4}]},
          {"name":"second","queue":"q","time_limit_s":60,"run_time_s":25,"tasks":[{"cpu":4}]},
          {"name":"third","queue":"q","time_limit_s":60,"tasks":[{"cpu":4}]}]},
 {"id":"for-ever","nodes":[{"name":"n","cpus":4}],"queues":[{"name":"q","quantum_s":10,"quantum_rows":2}],
  "jobs":[{"name":"first","queue":"q","tasks":[{"cpu":4}]},
          {"name":"second","queue":"q","time_limit_s":60,"tasks":[{"cpu":4}]},
          {"name":"third","queue":"q","tasks":[{"cpu":4}]},
          {"name":"fourth","queue":"q","tasks":[{"cpu":4}]}]}]
END

check starts_are_printed says 'case backlog
  job              queue           starts in
  wide-c           research       1 h 30 min
  pair-d           research        3 h 0 min' "$backlog"
check intervals_are_printed says 'case backlog
  job              queue           starts in  10 % within  90 % within
  wide-c           research       1 h 30 min    1 h 0 min   2 h 53 min
  pair-d           research        3 h 0 min   2 h 27 min   4 h 23 min' --samples 200 "$backlog"
check what_has_run_counts says 'case soon
  job              queue           starts in
  next             -               1 min 0 s
  last             -              1 min 20 s' --case soon "$scratch/two.json"
check never_is_printed says 'case never
  job              queue           starts in
  waits            -                   never  no capacity
  huge             -                   never' --case never "$scratch/two.json"
cat >"$scratch/course.json" <<'END'
{"id":"course","nodes":[{"name":"n1","gpus":8},{"name":"n2","gpus":8}],
 "reservations":[{"name":"course","start_s":7200,"duration_s":7200,"notice_s":600,
                  "stages":[{"nodes":["n1","n2"]}]},
                 {"name":"nightly","start_s":36000,"duration_s":3600,"period_s":86400,
                  "flags":["maintenance"],"stages":[{"nodes":["n2"]}]}],
 "jobs":[{"name":"runs","time_limit_s":3000,"tasks":[{"count":16,"gpu":1}],"priority":9},
         {"name":"short","time_limit_s":3600,"tasks":[{"count":16,"gpu":1}],"priority":8},
         {"name":"long","time_limit_s":10800,"tasks":[{"count":8,"gpu":1}],"priority":7},
         {"name":"exercise","time_limit_s":3600,"reservation":"course","tasks":[{"count":16,"gpu":1}]},
         {"name":"second","time_limit_s":3600,"reservation":"course","tasks":[{"count":8,"gpu":1}]},
         {"name":"forever","tasks":[{"count":16,"gpu":1}]},
         {"name":"wide","time_limit_s":90000,"tasks":[{"count":16,"gpu":1}]}]}
END
check reserved_starts_are_forecast says 'case course
  job              queue           starts in
  short            -              50 min 0 s
  long             -               4 h 0 min
  exercise         -               2 h 0 min
  second           -               3 h 0 min
  forever          -                   never  reserved
  wide             -                   never  reserved' "$scratch/course.json"
check the_horizon_is_kept says 'case soon
  job              queue           starts in
  next             -               1 min 0 s
  last             -                   later  no capacity' --case soon --horizon 70 "$scratch/two.json"
check more_nodes says 'case backlog
  job              queue           starts in      without
  wide-c           research       30 min 0 s   1 h 30 min
  pair-d           research       1 h 30 min    3 h 0 min' --add-nodes 2 --like n1 "$backlog"
check a_drained_rack says 'case backlog
  job              queue           starts in      without
  wide-c           research            never   1 h 30 min  no capacity
  pair-d           research       1 h 30 min    3 h 0 min' --drain r2 "$backlog"
# The first runs in 0-10, 20-30 and 40-45; the third comes into its row.
check quanta_are_forecast says 'case turns
  job              queue           starts in
  second           q                    10 s
  third            q                    45 s' --case turns "$scratch/slices.json"
check a_turn_beyond_the_horizon says 'case turns
  job              queue           starts in
  second           q                   later  waits for its turn
  third            q                   later  no capacity' --case turns --horizon 5 "$scratch/slices.json"
check a_node_more_where_gangs_take_turns says 'case turns
  job              queue           starts in      without
  second           q                    10 s         10 s
  third            q                     0 s         45 s' --case turns --add-nodes 1 "$scratch/slices.json"
check turns_without_end_are_no_hope says 'case for-ever
  job              queue           starts in
  second           q                    10 s
  third            q              2 min 10 s
  fourth           q                   never  no capacity' --case for-ever "$scratch/slices.json"
check a_limit_and_a_job_more says 'case backlog
  job              queue           starts in      without
  wide-c           research            never   1 h 30 min  limit
  pair-d           research       1 h 30 min    3 h 0 min
  short-e          research        3 h 0 min            -' --limit research.gpu=16 \
    --submit "$backlog/short-e" "$backlog"

seeds_repeat() {
    "${forecast[@]}" --samples 50 --seed 3 --json "$backlog" >"$scratch/a"
    "${forecast[@]}" --samples 50 --seed 3 --json "$backlog" >"$scratch/b"
    "${forecast[@]}" --samples 50 --seed 4 --json "$backlog" >"$scratch/c"
    diff "$scratch/a" "$scratch/b" && ! cmp -s "$scratch/a" "$scratch/c"
}
check seeds_repeat seeds_repeat

json_has_all() {
    "${forecast[@]}" --samples 9 --add-nodes 1 --json "$backlog" | head -n 1 >"$scratch/out"
    is_json "$scratch/out"
    local member
    for member in case job queue what start_s low_s high_s samples without_s; do
        grep -q "\"$member\": " "$scratch/out" || { echo "no $member" && return 1; }
    done
    "${forecast[@]}" --json --case never "$scratch/two.json" >"$scratch/out"
    grep -q '"what": "never", "start_s": null, "wait": "no capacity"' "$scratch/out"
}
check json_has_all json_has_all

printf '{"id":"c","nodes":[{"name":"n","gpus":1}],"jobs":[{"name":"bad","same":"rack","tasks":[{"gpu":1}]},
{"name":"runs","state":"running","running_on":["n"],"time_limit_s":60,"tasks":[{"gpu":1}]},
{"name":"waits","time_limit_s":60,"tasks":[{"gpu":1}]}]}' >"$scratch/refused.json"
check a_refused_job_hides_no_other_one says 'case c
  job              queue           starts in
  waits            -               1 min 0 s
  bad              -                 refused  same: no topology level "rack"' "$scratch/refused.json"
a_refused_job_as_json() {
    "${forecast[@]}" --json "$scratch/refused.json" >"$scratch/out"
    [[ $(tail -n 1 "$scratch/out") == '{"case": "c", "job": "bad", "queue": null, "what": "refused", '\
'"start_s": null, "reason": "same: no topology level \"rack\""}' ]]
}
check a_refused_job_as_json a_refused_job_as_json

# ---- wrong input ----

refuses no_file 'no file is given' "${forecast[@]}"
refuses two_files "unexpected argument 'b'" "${forecast[@]}" a b
refuses no_such_file 'nowhere' "${forecast[@]}" "$scratch/nowhere"
refuses no_such_case "no case 'x'" "${forecast[@]}" --case x "$backlog"
refuses wrong_samples 'samples 0' "${forecast[@]}" --samples 0 "$backlog"
refuses wrong_seed 'seed x' "${forecast[@]}" --seed x "$backlog"
refuses wrong_horizon 'horizon -1' "${forecast[@]}" --horizon -1 "$backlog"
refuses wrong_number_of_nodes 'add-nodes many' "${forecast[@]}" --add-nodes many "$backlog"
refuses like_no_job 'like n9: no such node' "${forecast[@]}" --add-nodes 1 --like n9 "$backlog"
refuses like_alone 'like without --add-nodes' "${forecast[@]}" --like n1 "$backlog"
refuses drain_no_node 'drain r9: no such node or domain' "${forecast[@]}" --drain r9 "$backlog"
refuses wrong_limit 'not QUEUE.KIND=AMOUNT' "${forecast[@]}" --limit research.gpu "$backlog"
refuses wrong_amount 'not QUEUE.KIND=AMOUNT' "${forecast[@]}" --limit research.gpu=-3 "$backlog"
refuses limit_of_no_queue "no queue 'x'" "${forecast[@]}" --limit x.gpu=1 "$backlog"
refuses limit_of_nothing 'limit.tea: no such kind' "${forecast[@]}" --limit research.tea=1 "$backlog"
refuses submit_without_a_job 'not FILE/JOB' "${forecast[@]}" --submit job "$backlog"
refuses submit_no_job "no job 'nobody'" "${forecast[@]}" --submit "$backlog/nobody" "$backlog"
wrong_time() { # NAME PATTERN MEMBERS
    printf '{"id":"c","nodes":[{"name":"n","cpus":1}],"jobs":[{"name":"j",%s,"tasks":[{"cpu":1}]}]}' \
        "$3" >"$scratch/wrong.json"
    refuses "$1" "$2" "${forecast[@]}" "$scratch/wrong.json"
}
wrong_time no_run_time 'jobs\[0\]\.run_time_s' '"run_time_s":[]'
wrong_time negative_run_time 'jobs\[0\]\.run_time_s\[1\]' '"run_time_s":[1,-1]'
wrong_time a_waiting_job_has_not_run 'jobs\[0\]\.ran_s' '"ran_s":1'
wrong_time an_unknown_key 'jobs\[0\]\.run_times' '"run_times":1'

exit "$failed"
