#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the hot path does without: memory, locks, system calls. Works of gangsched-bench allocate and
# free many times once they are warm; calls are counted by a library that is preloaded, by the
# cluster's allocator, and by strace.
# shellcheck source-path=SCRIPTDIR source=bench_support.sh disable=SC1091,SC2154,SC2317
. "$(dirname "${BASH_SOURCE[0]}")/bench_support.sh"

calls=$bench/gangsched-bench-calls.so
# Allocations only: jobs are records that come and go.
mapfile -t works < <("$program" work --list | grep -v '^sched_')

# Nothing is called while a work runs, though the counters do count: building took locks and memory.
calls_nothing() { # WORK
    local nodes=1500 operations=1000
    [[ $1 != *_512 ]] || { nodes=6000 operations=50; }
    LD_PRELOAD=$calls "$program" work "$1" --nodes "$nodes" --operations "$operations" >"$scratch/counted"
    cat "$scratch/counted"
    grep -Eq '"allocations": 0, "lock_calls": 0, "heap_calls": 0, ' "$scratch/counted"
    grep -Eq '"lock_calls_before": [1-9][0-9]*, "heap_calls_before": [1-9][0-9]{2,}' "$scratch/counted"
}

hundred_thousand() {
    LD_PRELOAD=$calls "$program" work alloc_free_gpu alloc_free_random_gpu alloc_free_node_1 \
        --nodes 1500 --operations 100k >"$scratch/counted"
    cat "$scratch/counted"
    [[ $(grep -c '"operations": 100000, "allocations": 0, "lock_calls": 0, "heap_calls": 0, ' \
        "$scratch/counted") -eq 3 ]]
}

# All calls of the system from start to end.
system_calls() { # OPERATIONS
    strace -f -c -o "$scratch/strace" "$program" work alloc_free_gpu alloc_free_node_8 \
        alloc_free_random_node grow_shrink_node refuse_node_1024 read --nodes 1500 --operations "$1" >"$scratch/out"
    awk '$NF == "total" { print $4 }' "$scratch/strace"
}
no_system_calls() {
    local few many
    few=$(system_calls 200)
    many=$(system_calls 2000)
    echo "$few system calls with 200 operations of each work, $many with 2000"
    cat "$scratch/strace"
    [[ -n $few && $few -gt 20 && $few -eq $many ]]
}

if [[ -e $calls ]]; then
    for work in "${works[@]}"; do
        check "hot_path_${work}_calls_nothing" calls_nothing "$work"
    done
    check hot_path_hundred_thousand_pairs hundred_thousand
else
    skip hot_path_calls_nothing "calls are not counted in a build with sanitizers"
fi
if ! command -v strace >/dev/null; then
    skip hot_path_makes_no_system_call "strace is not installed"
elif ! strace -o /dev/null true 2>/dev/null; then
    skip hot_path_makes_no_system_call "strace may not trace here"
else
    check hot_path_makes_no_system_call no_system_calls
fi
exit "$failed"
