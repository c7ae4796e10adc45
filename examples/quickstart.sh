#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a checkout to a replayed trace: installs the packages a build needs (if any is missing),
# builds, shows this machine, and replays a workload of gangs through the allocator.
#
# usage: examples/quickstart.sh [TRACE]
#   without TRACE    a made-up workload of 20,000 gangs on 128 machines (examples/workload.c)
#   TRACE a file     that trace: CSV, plain or compressed (examples/man/gangsched-replay.1), on the
#                    nodes of a nodes.csv beside it, else on the made-up ones
#   TRACE a folder   nodes.csv and tasks.csv in it, or the node and pod lists of the openb trace
#
# May be started from anywhere, and again: what is done already is not done twice. Needs no network
# once the packages are there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
bin=$build/examples
work=$build/quickstart

say() {
    printf '\n== %s\n' "$*"
}

fail() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 2
}

# Prints the first of the names that is a file in the folder.
first_file() { # FOLDER NAME...
    local folder=$1 name
    shift
    for name in "$@"; do
        if [[ -f $folder/$name ]]; then
            printf '%s\n' "$folder/$name"
            return 0
        fi
    done
    return 1
}

# Sets `nodes` and `tasks` (empty: generated ones).
find_trace() { # [TRACE]
    local trace=${1:-} folder
    nodes='' tasks=''
    [[ -n $trace ]] || return 0
    [[ -e $trace ]] || fail "$trace: no such file or folder"
    folder=$trace
    [[ -d $trace ]] || folder=$(dirname "$trace")
    folder=$(cd "$folder" && pwd)
    nodes=$(first_file "$folder" nodes.csv openb_node_list_all_node.csv || true)
    if [[ ! -d $trace ]]; then
        tasks=$folder/$(basename "$trace")
        return 0
    fi
    tasks=$(first_file "$folder" tasks.csv tasks.csv.gz openb_pod_list_default.csv \
        openb_pod_list_default.csv.gz) ||
        fail "$trace: neither tasks.csv nor openb_pod_list_default.csv in it"
    [[ -n $nodes ]] || fail "$trace: neither nodes.csv nor openb_node_list_all_node.csv in it"
}

configure() {
    # A build that is there stays as it is. Warnings of a compiler that we have not met yet are no
    # reason to stop here.
    [[ -f $build/build.ninja ]] || (cd "$root" && cmake --preset release -DGANG_WERROR=OFF)
}

build_programs() {
    local log=$build/quickstart.log
    mkdir -p "$build"
    if ! { configure && cmake --build "$build" --target gangsched-cli workload; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        fail "the build failed; all of it is in $log"
    fi
}

[[ $# -le 1 ]] || fail "usage: examples/quickstart.sh [TRACE]"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
fi
find_trace "$@"

say "packages"
# shellcheck source-path=SCRIPTDIR source=../tests/tools/packages.sh disable=SC1091
source "$root/tests/tools/packages.sh"
gang_install_packages build
echo "all there"

say "build (into build/release)"
build_programs
"$bin/gangsched" --version

say "this machine: gangsched topo"
"$bin/gangsched" topo

mkdir -p "$work"
if [[ -z $nodes || -z $tasks ]]; then
    say "a made-up workload in the shape of published statistics: workload --seed 1"
    "$bin/workload" --seed 1 "$work/nodes.csv" "$work/tasks.csv"
    echo "build/release/quickstart/nodes.csv and tasks.csv"
fi
if [[ -n $tasks && -z $nodes ]]; then
    echo "no nodes.csv beside $tasks: it is replayed on the made-up machines"
fi

say "replay: gangsched replay --nodes ${nodes:-nodes.csv} --tasks ${tasks:-tasks.csv}"
"$bin/gangsched" replay --nodes "${nodes:-$work/nodes.csv}" --tasks "${tasks:-$work/tasks.csv}"

say "done"
echo "next: build/release/examples/gangsched help, and examples/first_gang.c for the library"
