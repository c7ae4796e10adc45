#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched validate: the queues it prints, the problems it finds, and wrong usage.
# Needs GANG_BIN_DIR; GANG_SHARED for the shared cases.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
export LC_ALL=C
validate=("$gangsched" validate)

# Parents after their children, a part, a partition, a queue that takes no more jobs.
cat >"$scratch/site.json" <<'END'
{"id":"site","nodes":[{"name":"n0","cpus":8,"gpus":8},{"name":"n1","cpus":8,"gpus":8,"partitions":["p"]}],
 "queues":[{"name":"language","parent":"research","guaranteed":{"gpu":8}},
  {"name":"research","guaranteed":{"gpu":{"fraction":0.75}}},
  {"name":"service","guaranteed":{"gpu":4},"limit":{"gpu":4.5,"gpu@p":2},"state":"draining"},
  {"name":"vision","parent":"research","guaranteed":{"gpu":4},"limit":{"gpu":8}}],
 "rules":[{"match":"user","pattern":"a*","queue":"vision"}],"default_queue":"language",
 "jobs":[{"name":"j","tasks":[{"gpu":1}]}]}
END

prints_the_tree() {
    "${validate[@]}" "$scratch/site.json" >"$scratch/out"
    diff "$scratch/out" - <<END
$scratch/site.json: case site: 2 nodes, 4 queues, 1 job
queue        gpu  limit
research      12      -
|- language    8      -
\`- vision      4      8
service        4    4.5  draining
END
}
check the_tree_of_queues_is_printed prints_the_tree

prints_json() {
    "${validate[@]}" --json "$scratch/site.json" >"$scratch/out"
    cat "$scratch/out"
    [[ $(wc -l <"$scratch/out") -eq 1 ]]
    is_json "$scratch/out"
    [[ $(json_get "$scratch/out" id) == site ]]
    [[ $(json_get "$scratch/out" queues.0.name) == research ]]
    [[ $(json_get "$scratch/out" queues.0.parent) == None ]]
    [[ $(json_get "$scratch/out" queues.0.guarantee) == "{'gpu': 12}" ]]
    [[ $(json_get "$scratch/out" queues.0.limit) == '{}' ]]
    [[ $(json_get "$scratch/out" queues.2.name) == vision ]]
    [[ $(json_get "$scratch/out" queues.2.parent) == research ]]
    [[ $(json_get "$scratch/out" queues.3.limit.gpu) == 4.5 ]]
}
check queues_as_json prints_json

several_cases() {
    printf '[{"id":"x"},{"id":"y","queues":[{"name":"q"}]}]' | "${validate[@]}" - >"$scratch/out"
    cat "$scratch/out"
    [[ $(grep -c ': case [xy]: 0 nodes, 1 queue, 0 jobs$' "$scratch/out") -eq 2 ]]
}
check several_cases_on_standard_input several_cases

# ---- problems ----

# The only line is FILE: and this; the status is 1.
finds() { # TEXT PROBLEM
    local status=0
    printf '%s' "$1" >"$scratch/bad.json"
    "${validate[@]}" "$scratch/bad.json" >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/out" "$scratch/err"
    [[ $status -eq 1 && ! -s $scratch/err && $(wc -l <"$scratch/out") -eq 1 ]]
    grep -q "^$scratch/bad\\.json: $2" "$scratch/out"
}
# The same in the second case, behind the table of the first.
finds_second() {
    finds "$@" || [[ $(wc -l <"$scratch/out") -gt 1 ]]
    tail -n 1 "$scratch/out" | grep -q "^$scratch/bad\\.json: $2"
}
check text_that_is_no_json finds '{"queues":[' 'line 1, column 12: queues'
check a_wrong_number finds '{"queues":[{"name":"q","limit":{"gpu":-2}}]}' \
    'queues\[0\]\.limit\.gpu: must be at least 0$'
check a_parent_that_is_not_there finds '{"queues":[{"name":"q","parent":"p"}]}' \
    "queues\\[0\\]\\.parent: no queue 'p'\$"
check a_limit_below_the_guarantee finds \
    '{"nodes":[{"name":"n","gpus":4}],"queues":[{"name":"q","guaranteed":{"gpu":2},"limit":{"gpu":1}}]}' \
    'queues\[0\]\.limit'
check an_unknown_partition finds_second '[{},{"queues":[{"name":"q","limit":{"gpu@p":1}}]}]' \
    '\[1\]\.queues\[0\]\.limit'
check a_job_that_asks_for_nonsense finds \
    '{"nodes":[{"name":"n"}],"jobs":[{"name":"a","tasks":[{}]},{"name":"b","tasks":[{},{"subgroup_size":2}]}]}' \
    'jobs\[1\]\.tasks\[1\]\.'

all_files_are_checked() {
    local status=0
    printf '{"queues":7}' >"$scratch/a.json"
    printf '{"nodes":{}}' >"$scratch/b.json"
    "${validate[@]}" "$scratch/a.json" "$scratch/site.json" "$scratch/b.json" >"$scratch/out" || status=$?
    cat "$scratch/out"
    [[ $status -eq 1 ]]
    grep -q 'a\.json: queues: ' "$scratch/out" && grep -q 'b\.json: nodes: ' "$scratch/out"
    grep -q 'site\.json: case site' "$scratch/out"
}
check all_files_are_checked all_files_are_checked

problems_as_json() {
    local status=0
    printf '{"queues":[{"name":"q","order":"any"}]}' >"$scratch/bad.json"
    "${validate[@]}" --json "$scratch/bad.json" >"$scratch/out" || status=$?
    cat "$scratch/out"
    [[ $status -eq 1 ]]
    is_json "$scratch/out"
    [[ $(json_get "$scratch/out" problems.0.path) == 'queues[0].order' ]]
}
check problems_as_json problems_as_json

shared_cases() {
    "${validate[@]}" "$shared"/scenarios/*.json >"$scratch/out"
}
if [[ -n ${GANG_SHARED:-} && -d ${GANG_SHARED:-}/scenarios ]]; then
    check shared_cases shared_cases
else
    skip shared_cases "no shared cases; set GANG_SHARED"
fi

# ---- wrong usage ----

refuses missing_file 'none\.json: cannot be opened: No such file' "${validate[@]}" "$scratch/site.json" \
    "$scratch/none.json"
refuses no_file 'no file is given' "${validate[@]}"
refuses unknown_option "unknown option '--fast'" "${validate[@]}" --fast "$scratch/site.json"

exit "$failed"
