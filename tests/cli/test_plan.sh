#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched plan: what is drawn, and wrong input.
# Needs GANG_BIN_DIR.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
export LC_ALL=C
plan=("$gangsched" plan)
backlog=$root/examples/backlog.json

# The output must be this.
says() { # EXPECTED OPTION...
    local expected=$1
    shift
    "${plan[@]}" "$@" >"$scratch/out"
    diff <(printf '%s\n' "$expected") "$scratch/out"
}

check nodes_are_drawn says 'case backlog: the next 8 h 0 min, by node
  n1           |aaaaaaaaaaaaaaaaaaaaaaaadddddddddddddddeeeeeeeeeeeeeeeeeeeeeeee|
  n2           |aaaaaaaaaaaaaaaaaaaaaaaadddddddddddddddeeeeeeeeeeeeeeeeeeeeeeee|
  n3           |bbbbbbb.................ddddddddddddddd........................|
  n4           |cccc....................ddddddddddddddd........................|
    job              queue                  nodes         from        until
  a train-a          research     running       2            -    3 h 0 min
  b tune-b           research     running       1            -   50 min 0 s
  c short-e          research     running       1          0 s   30 min 0 s
  d wide-c           research     planned       4    3 h 0 min    5 h 0 min
  e pair-d           research     planned       2    5 h 0 min    8 h 0 min' "$backlog"

it_fits() {
    local width
    for width in 40 60 200; do
        "${plan[@]}" --width "$width" "$backlog" >"$scratch/out"
        awk -v width="$width" '/\|$/ { rows++; if (length > width) exit 1 } END { exit rows != 4 }' \
            "$scratch/out" || { echo "width $width" && return 1; }
    done
}
check it_fits it_fits

number=0
# 60 nodes in 3 racks; 10 of the second one are busy for ever, those of the third with two jobs
# each.
{
    printf '{"id":"many","levels":["rack"],"nodes":['
    for i in $(seq 0 59); do
        printf '%s{"name":"n%d","cpus":2,"topology":{"rack":"r%d"}}' "${comma-}" "$i" $((i / 20))
        comma=,
    done
    printf '],"jobs":['
    for i in $(seq 20 29) $(seq 40 59) $(seq 40 59); do
        printf '%s{"name":"j%d-%d","state":"running","running_on":["n%d"],"tasks":[{"cpu":1}]}' \
            "${between-}" "$i" "$((number = number + 1))" "$i"
        between=,
    done
    printf ']}'
} >"$scratch/many.json"
racks_are_drawn_where_nodes_are_many() {
    "${plan[@]}" --width 40 "$scratch/many.json" | head -n 4 >"$scratch/out"
    diff <(printf '%s\n' 'case many: the next 1.0 s, by rack' \
        '  r0           |.......................|' \
        '  r1           |55555555555555555555555|' \
        '  r2           |#######################|') "$scratch/out"
}
check racks_are_drawn_where_nodes_are_many racks_are_drawn_where_nodes_are_many

# Times are of the moment that the case is about, however long its jobs have run.
cat >"$scratch/moment.json" <<'END'
{"id":"moment","nodes":[{"name":"n1","cpus":8,"gpus":4},{"name":"n2","cpus":8,"gpus":4}],
 "queues":[{"name":"q","backfill":"easy"}],
 "reservations":[{"name":"res","start_s":100,"duration_s":50,"stages":[{"nodes":["n1"]}]}],
 "jobs":[{"name":"runs","queue":"q","state":"running","running_on":["n1"],"ran_s":3000,"time_limit_s":3060,
          "tasks":[{"gpu":4}]},
         {"name":"later","queue":"q","begin_s":30,"time_limit_s":40,"tasks":[{"count":2,"gpu":4}]}]}
END
check times_are_of_the_moment says 'case moment: the next 2 min 30 s, by node
  n1           |aaaaaaaaaaaaaaaaaaaaaa...............bbbbbbbbbbbbbbbbbbb|
  n2           |........................................................|
    job              queue                  nodes         from        until
  a runs             q            running       1            -    1 min 0 s
  b res              -            reserved      1   1 min 40 s   2 min 30 s' --width 73 "$scratch/moment.json"
# A kind of the site is reserved: a job that would still use it waits, one that leaves it starts.
cat >"$scratch/kinds.json" <<'END'
{"id":"kinds","kinds":[{"name":"fpga"}],"nodes":[{"name":"n1","cpus":8,"amounts":{"fpga":4}}],
 "queues":[{"name":"q"}],
 "reservations":[{"name":"res","start_s":100,"duration_s":50,
                  "stages":[{"tasks":[{"cpu":1,"amounts":{"fpga":3}}]}]}],
 "jobs":[{"name":"long","queue":"q","time_limit_s":200,"tasks":[{"cpu":1,"amounts":{"fpga":2}}]},
         {"name":"one","queue":"q","time_limit_s":200,"tasks":[{"cpu":1,"amounts":{"fpga":1}}]}]}
END
check kinds_are_reserved says 'case kinds: the next 3 min 20 s, by node
  n1           |aaaaaaaaaaaaaaaaaaaaaaaaaaaa++++++++++++++aaaaaaaaaaaaaa|
    job              queue                  nodes         from        until
  a one              q            running       1          0 s   3 min 20 s
  b res              -            reserved      1   1 min 40 s   2 min 30 s' --width 73 "$scratch/kinds.json"
# The same without run times, also after several passes.
cat >"$scratch/unlimited.json" <<'END'
{"id":"unlimited","rounds":3,"nodes":[{"name":"n1","cpus":8,"gpus":4},{"name":"n2","cpus":8,"gpus":4}],
 "queues":[{"name":"q","backfill":"easy"}],
 "reservations":[{"name":"res","start_s":100,"duration_s":50,"stages":[{"nodes":["n1"]}]},
                 {"name":"now","start_s":0,"duration_s":20,"stages":[{"nodes":["n2"]}]}],
 "jobs":[{"name":"runs","queue":"q","state":"running","running_on":["n1"],"time_limit_s":60,"tasks":[{"gpu":4}]},
         {"name":"later","queue":"q","begin_s":30,"time_limit_s":40,"tasks":[{"count":2,"gpu":4}]}]}
END
check times_are_of_the_moment_without_run_times says 'case unlimited: the next 2 min 30 s, by node
  n1           |aaaaaaaaaaaaaaaaaaaaaa...............bbbbbbbbbbbbbbbbbbb|
  n2           |ccccccc.................................................|
    job              queue                  nodes         from        until
  a runs             q            running       1          0 s    1 min 0 s
  b res              -            reserved      1   1 min 40 s   2 min 30 s
  c now              -            reserved      1          0 s         20 s' --width 73 "$scratch/unlimited.json"
unlimited_begins() {
    "$gangsched" forecast --json "$scratch/unlimited.json" >"$scratch/out"
    grep -q '"job": "later", "queue": "q", "what": "starts", "start_s": 60.0' "$scratch/out"
}
check begins_are_of_the_moment_without_run_times unlimited_begins
later_begins() {
    "$gangsched" forecast --json "$scratch/moment.json" >"$scratch/out"
    grep -q '"job": "later", "queue": "q", "what": "starts", "start_s": 60.0' "$scratch/out"
}
check begins_are_of_the_moment later_begins
another_begins() {
    printf "%s" '{"id":"more","nodes":[{"name":"n"}],"jobs":[{"name":"more","queue":"r","begin_s":70,"time_limit_s":10,"tasks":[{"cpu":1}]}],"queues":[{"name":"r"}]}' \
        >"$scratch/more.json"
    sed -i 's/"queues":\[{"name":"q","backfill":"easy"}\]/"queues":[{"name":"q","backfill":"easy"},{"name":"r"}]/' "$scratch/moment.json"
    "$gangsched" forecast --json --submit "$scratch/more.json/more" "$scratch/moment.json" >"$scratch/out"
    grep -q '"job": "more", "queue": "r", "what": "starts", "start_s": 70.0' "$scratch/out"
}
check begins_of_another_job_are_from_now_on another_begins

json_has_all() {
    "${plan[@]}" --json "$backlog" >"$scratch/out"
    is_json "$scratch/out"
    grep -q '"job": "train-a", "queue": "research", "what": "running", "start_s": -3600.0, "end_s": 10800.0, "nodes": \["n1", "n2"\]' \
        "$scratch/out"
    grep -q '"job": "wide-c", "queue": "research", "what": "planned", "start_s": 10800.0' "$scratch/out"
    "${plan[@]}" --json "$scratch/many.json" >"$scratch/out"
    grep -q '"end_s": null' "$scratch/out"
}
check json_has_all json_has_all

nothing_runs() {
    printf '{"id":"idle","nodes":[{"name":"n","cpus":1}]}' >"$scratch/idle.json"
    "${plan[@]}" --width 40 --horizon 10 "$scratch/idle.json" >"$scratch/out"
    diff <(printf '%s\n' 'case idle: the next 10 s, by node' \
        '  n            |.......................|') "$scratch/out"
}
check nothing_runs nothing_runs

printf '{"id":"c","nodes":[{"name":"n","gpus":1}],"jobs":[{"name":"bad","same":"rack","tasks":[{"gpu":1}]},
{"name":"good","tasks":[{"gpu":1}]}]}' >"$scratch/refused.json"
lists_refusal() {
    "${plan[@]}" "$scratch/refused.json" >"$scratch/out"
    cat "$scratch/out"
    grep -q '^  a good .* running ' "$scratch/out"
    grep -q '^    bad  *refused: same: no topology level "rack"$' "$scratch/out"
    "${plan[@]}" --json "$scratch/refused.json" >"$scratch/out"
    grep -q '"refused": \[{"job": "bad", "reason": "same: no topology level' "$scratch/out"
}
check a_refused_job_hides_no_other_one lists_refusal

# ---- wrong input ----

refuses no_file 'no file is given' "${plan[@]}"
refuses two_files "unexpected argument 'b'" "${plan[@]}" a b
refuses no_such_file 'nowhere' "${plan[@]}" "$scratch/nowhere"
refuses no_such_case "no case 'x'" "${plan[@]}" --case x "$backlog"
refuses too_narrow 'width 39' "${plan[@]}" --width 39 "$backlog"
refuses wrong_horizon 'horizon 0' "${plan[@]}" --horizon 0 "$backlog"

exit "$failed"
