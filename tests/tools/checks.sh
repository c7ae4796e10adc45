# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# How shell tests say what they found. To be sourced; needs `scratch`, an empty folder; sets
# `failed`.
failed=0

# Run a test and print its line; its output only if it failed.
check() { # NAME COMMAND...
    local name=$1 status
    shift
    set +e
    (set -e && "$@") >"$scratch/log" 2>&1
    status=$?
    set -e
    if [[ $status -eq 0 ]]; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/  /' "$scratch/log"
        echo "  status $status"
        failed=1
    fi
}

skip() { # NAME REASON
    echo "skip $1 # $2"
}
