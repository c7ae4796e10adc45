#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The build by profile: its options, and that it is the same library.
# shellcheck source-path=SCRIPTDIR source=bench_support.sh disable=SC1091,SC2154,SC2317
. "$(dirname "${BASH_SOURCE[0]}")/bench_support.sh"

configure() { # VALUE
    cmake -S "$root" -B "$scratch/build" -G Ninja -DGANG_BUILD_TESTS=OFF -DGANG_PROFILE="$1"
}

needs_the_name_of_a_work() {
    says 1 'GANG_PROFILE: generate or use, not both' configure both
    says 1 'GANG_PROFILE: nothing was generated in .*/build/profile' configure use
    says 2 '^usage: bench/profile.sh' "$root/bench/profile.sh" one two
}
check profile_needs_the_name_of_a_work needs_the_name_of_a_work

if [[ -n ${GANG_TEST_QUICK:-} ]]; then
    echo "skip profile_builds_the_same_library # it takes two minutes, and GANG_TEST_QUICK is set"
    exit 0
fi

exported() { # BUILD
    nm -D --defined-only "$1/lib/libgangsched.so" | awk '{ print $2, $3 }' | sort
}

waits() { # BUILD; of 500 jobs on 16 processors under EASY, in all
    awk 'BEGIN {
        print "job_id,submit,run,procs,req_time,user"
        for (i = 1; i <= 500; i++)
            printf "%d,%d,%d,%d,%d,1\n", i, i * 7, 1 + i * 37 % 211, 1 + i * 13 % 16, 300
    }' >"$scratch/log.csv"
    "$1/bench/gangsched-schedules" --processors 16 --policy easy "$scratch/log.csv" | awk '$1 == "easy" { print $3 }'
}

builds_the_same_library() {
    "$root/bench/profile.sh" "$scratch/profiled"
    diff <(exported "$bench/..") <(exported "$scratch/profiled")
    [[ -n $(waits "$bench/..") && $(waits "$bench/..") == "$(waits "$scratch/profiled")" ]]
}
check profile_builds_the_same_library builds_the_same_library
