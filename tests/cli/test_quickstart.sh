#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/workload.c and examples/quickstart.sh. Needs GANG_BIN_DIR; the quickstart builds into
# build/release. GANG_SKIP_QUICKSTART=1 leaves that out.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
workload=$bin/workload
quickstart=$root/examples/quickstart.sh
cd "$scratch" || exit 1

# ---- the workload ----

same_everywhere() {
    "$workload" nodes.csv tasks.csv
    "$workload" --seed 1 --gangs 20000 --nodes 128 --load 80 nodes2.csv tasks2.csv
    cmp nodes.csv nodes2.csv && cmp tasks.csv tasks2.csv
    "$workload" --seed 2 nodes2.csv tasks2.csv
    cmp nodes.csv nodes2.csv && ! cmp -s tasks.csv tasks2.csv
}
check same_seed_gives_the_same_files same_everywhere

# Sums of the files as they were on x86-64 with gcc and clang at all levels of optimisation.
known_sums() {
    "$workload" nodes.csv tasks.csv
    cksum nodes.csv tasks.csv | tee sums
    diff sums - <<'SUMS'
3682779856 3798 nodes.csv
1366583800 931118 tasks.csv
SUMS
}
check files_are_the_same_on_every_machine known_sums

shape() {
    "$workload" --gangs 50000 nodes.csv tasks.csv
    awk -F, '
        NR == 1 {next}
        {gpu = $2 * $5; n++; size[gpu]++; time += gpu * $6 / 1000 * $9; if (gpu >= 8) large += gpu * $9}
        $9 > 86400 {long++}
        $8 < last {bad = 1}
        {last = $8; all[n] = $9}
        END {
            print n " gangs, one GPU " size[1] / n ", large " large / time ", above a day " long / n
            # Most gangs are small, most of the time is not theirs, and the tail is heavy.
            if (bad || size[1] / n < 0.6 || size[1] / n > 0.8) exit 1
            if (large / time < 0.5) exit 1
            if (long / n < 0.001 || long / n > 0.05) exit 1
        }' tasks.csv
}
check workload_has_the_promised_shape shape

workload_usage() {
    local status=0
    "$workload" only-one.csv 2>err || status=$?
    [[ $status -eq 2 ]] && grep -q '^usage: workload' err
    status=0
    "$workload" --gangs x a.csv b.csv 2>err || status=$?
    [[ $status -eq 2 && ! -e a.csv ]]
    "$workload" --help | grep -q '^usage: workload'
}
check workload_refuses_wrong_usage workload_usage

workload_full() {
    local status=0
    "$workload" nodes.csv /dev/full 2>err || status=$?
    cat err
    [[ $status -eq 2 ]] && grep -q '/dev/full: ' err
}
if [[ -e /dev/full ]]; then
    check workload_on_a_full_disk workload_full
fi

workload_is_replayed() {
    "$workload" --gangs 2000 nodes.csv tasks.csv
    "$gangsched" replay --nodes nodes.csv --tasks tasks.csv --json >out.json
    grep -q '"timed": true' out.json
    if command -v python3 >/dev/null; then
        [[ $(json_get out.json placed.gangs) -eq 2000 ]]
        [[ $(json_get out.json nodes.gpus) -eq 628 ]]
    fi
}
check workload_is_replayed workload_is_replayed

# ---- the quickstart ----

if command -v shellcheck >/dev/null; then
    check quickstart_passes_shellcheck shellcheck "$quickstart"
else
    skip quickstart_passes_shellcheck "shellcheck is not there"
fi

quickstart_refuses() { # PATTERN ARGUMENT...
    local pattern=$1 status=0
    shift
    "$quickstart" "$@" >out 2>err || status=$?
    cat out err
    [[ $status -eq 2 && ! -s out ]] && grep -q "$pattern" err
}
check quickstart_refuses_missing_trace quickstart_refuses 'no such file or folder' nowhere
check quickstart_refuses_empty_folder quickstart_refuses 'neither tasks.csv nor' "$scratch/.."
check quickstart_refuses_two_arguments quickstart_refuses 'usage: ' a b

if [[ -n ${GANG_SKIP_QUICKSTART:-} ]]; then
    skip quickstart "GANG_SKIP_QUICKSTART is set"
    exit "$failed"
fi

runs() {
    mkdir -p elsewhere
    (cd elsewhere && "$quickstart") >out 2>err
    cat out err
    local step
    for step in packages build 'this machine' replay 'done'; do
        grep -q "^== $step" out
    done
    grep -Eq '^placed +20,000 ' out
    grep -q 'decisions in' out
    [[ -z $(ls -A elsewhere) ]] # it leaves nothing where it was started
}
check quickstart_runs_from_anywhere runs

runs_again() {
    "$quickstart" >again 2>err
    # The same but for the times.
    diff <(grep -v -e decisions -e median out) <(grep -v -e decisions -e median again)
}
check quickstart_runs_again runs_again

own_trace() {
    mkdir -p mine
    printf 'name,tasks,cpu_milli,memory_mib,gpus,gpu_milli\nx,2,1000,1024,8,1000\n' >mine/tasks.csv
    "$quickstart" mine/tasks.csv >out
    grep -q 'it is replayed on the made-up machines' out
    grep -Eq '^placed +1 +2 +16$' out
    printf 'sn,cpu_milli,memory_mib,gpu,model\na,8000,8192,8,T4\nb,8000,8192,8,T4\n' >mine/nodes.csv
    "$quickstart" mine >out
    grep -q '^nodes   2 with 16 GPUs' out
    grep -Eq '^placed +1 +2 +16$' out
}
check quickstart_replays_a_trace own_trace

openb() {
    "$quickstart" "$shared/data/openb" >out
    grep -q '^nodes   1,523 with 6,212 GPUs' out
    grep -Eq '^arrived +8,152 ' out
}
if [[ -n $shared && -d $shared/data/openb ]]; then
    check quickstart_replays_openb openb
else
    skip quickstart_replays_openb "GANG_SHARED is not set"
fi

exit "$failed"
