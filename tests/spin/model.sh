#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Running spin on a model of this folder; sourced by test_spin.sh and soak.sh.
# shellcheck disable=SC2034 # $failed is for them
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failed=0
limit=0 # seconds for a search; 0: as long as it takes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Searches all interleavings (safety), or all and their cycles (cycles: lock-freedom). Leaves what
# pan says in $scratch/log and a short account in $account.
search() { # safety|cycles MODEL COMPILER-OPTIONS PAN-OPTIONS -D...
    local how=$1 model=$here/$2 compile=$3 options=$4 status=0 start=${EPOCHREALTIME/[.,]/}
    shift 4
    rm -rf "$scratch/pan"
    mkdir "$scratch/pan"
    case $how in
    safety) compile+=" -DSAFETY" ;;
    cycles) compile+=" -DNP" options+=" -l" ;;
    esac
    # A thread that is stopped for ever, or that GUIDE holds back, stands at no end state.
    [[ " $* " != *" -DSTOP "* && " $* " != *" -DGUIDE "* ]] || options+=" -E"
    # shellcheck disable=SC2086 # options are words
    (cd "$scratch/pan" && spin -a "$@" "$model" && gcc -w -DVECTORSZ=2048 $compile -o pan pan.c &&
        timeout -s INT "$limit" ./pan -n -m100000 $options) >"$scratch/log" 2>&1 || status=$?
    states=$(sed -n -E 's/^ *([0-9.e+]+) states, stored.*/\1/p' "$scratch/log")
    account="${states:-no} states, $(((${EPOCHREALTIME/[.,]/} - start) / 100000)) tenths of a second"
    return "$status"
}

verdict() { # NAME, ok or not by the status before
    if [[ $2 == 0 ]]; then
        echo "ok $1 # $account"
    else
        echo "not ok $1 # $account"
        tail -n 40 "$scratch/log" | sed 's/^/  /'
        failed=1
    fi
}

# The search must end, be complete, and find nothing.
holds() { # NAME safety|cycles MODEL -D...
    local name=$1 status=0 compile="-O1 -DMEMLIM=4000"
    [[ $3 != index.pml ]] || compile="-DMEMLIM=4000" # compiling it well takes longer than it saves
    search "$2" "$3" "$compile" "" "${@:4}" || status=$?
    grep -q '^State-vector .* errors: 0$' "$scratch/log" || status=1
    ! grep -qE 'Warning: Search not completed|max search depth|out of memory|MEMLIM' "$scratch/log" ||
        status=1
    verdict "$name" "$status"
}

# The search must find an assertion that fails, or a cycle without progress.
caught() { # NAME safety|cycles assertion|cycle MODEL -D...
    local name=$1 status=0
    search "$2" "$4" "-O0 -DMEMLIM=4000" "" "${@:5}" || true
    case $3 in
    assertion) grep -q '^pan:[0-9]*: assertion violated' "$scratch/log" || status=1 ;;
    cycle) grep -q '^pan:[0-9]*: non-progress cycle' "$scratch/log" || status=1 ;;
    esac
    verdict "$name" "$status"
}
