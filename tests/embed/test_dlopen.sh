#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library as plugins and static hosts use it: loaded at run time, twice, as one file and as two;
# closed while threads that used it live on; linked statically beside another flavour of liburcu.
# Takes the build in GANG_BUILD_DIR.
# shellcheck disable=SC2317 # the functions are called by check()
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${GANG_BUILD_DIR:-$root/build/dev}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

. "$root/tests/tools/checks.sh"

library=$build/lib/libgangsched.so
copy=$scratch/another_name.so
cp -L "$library" "$copy"
host=$scratch/dlopen_host
cc -O1 -g -Wall -Wextra -Werror -pthread -I "$root/include" -o "$host" "$here/dlopen_host.c" -ldl

# A process that hangs in fork() has its signals blocked.
run_host() {
    timeout -s KILL 100 "$host" "$@"
}
check one_library_opened_twice run_host twice "$library" "$library"
check two_copies_of_the_library run_host twice "$library" "$copy"
check fork_with_the_library_opened_twice run_host fork "$library" "$library"
check fork_with_two_copies run_host fork "$library" "$copy"
check closed_before_its_threads_end run_host unload "$library" -

# Our symbols of liburcu are not visible to other libraries.
no_urcu_is_exported() {
    nm -D --defined-only "$library" | awk '/urcu|rcu_/ { print; bad = 1 } END { exit bad }'
}
check nothing_of_liburcu_is_exported no_urcu_is_exported

static_host() {
    local flags
    flags=$(pkg-config --libs jansson hwloc liburcu-bp liburcu-memb)
    # shellcheck disable=SC2086 # these are many words
    cc -O1 -g -Wall -Wextra -Werror -fvisibility=hidden -pthread -I "$root/include" \
        -o "$scratch/static_host" "$here/static_host.c" "$build/lib/libgangsched.a" $flags -lm
    timeout 100 "$scratch/static_host"
}
check static_host_with_another_flavour static_host
exit $failed
