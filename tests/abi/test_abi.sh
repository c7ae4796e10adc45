#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the ABI of this tree with the committed baseline. Any difference fails: an intended one
# needs an entry in gangsched.abignore, or a new baseline by update.sh "reason".
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

skip() { # REASON
    echo "skip abi_is_that_of_the_baseline # $1"
    echo "skip baseline_knows_every_symbol # $1"
    echo "skip check_notices_a_changed_struct # $1"
    exit 0
}

command -v abidiff >/dev/null || skip "abigail-tools is not installed"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
abi_build_library >"$scratch/log" 2>&1 || {
    echo "not ok abi_is_that_of_the_baseline"
    sed 's/^/  /' "$scratch/log"
    exit 1
}
if [[ ! -e $baseline ]]; then
    echo "not ok abi_is_that_of_the_baseline"
    echo "  ${baseline#"$root"/} is missing: make it with tests/abi/update.sh \"first baseline\""
    exit 1
fi
# Another compiler may describe the same types in other words.
recorded=$(sed -n 's/^<!-- toolchain: \(.*\) -->$/\1/p' "$baseline")
current=$(abi_toolchain)
[[ $recorded == "$current" ]] || skip "baseline by $recorded, this is $current"

abi_dump "$scratch/now.xml"
failed=0
compare() { # NAME ABIDIFF-OPTION...
    local name=$1 status=0
    shift
    # Two dumps, and no --headers-dir here: with that, abidiff takes int32_t for a private type and
    # does not mention that a result became int64_t. A renamed member is no "harmless" change to us.
    abidiff --harmless --suppressions "$root/tests/abi/gangsched.abignore" "$@" \
        "$baseline" "$scratch/now.xml" >"$scratch/log" 2>&1 || status=$?
    if [[ $status -eq 0 ]]; then echo "ok $name"; else
        echo "not ok $name"
        sed 's/^/  /' "$scratch/log"
        echo "  abidiff: exit status $status"
        echo "  intended? an entry in gangsched.abignore, or tests/abi/update.sh \"reason\""
        failed=1
    fi
}
compare abi_is_that_of_the_baseline --no-added-syms
# A baseline that lacks new functions would not notice when they go.
((failed)) || compare baseline_knows_every_symbol

# The check itself: a public struct of another size is a break.
sed -E "s/(<class-decl name='gang_error' size-in-bits=')[0-9]+'/\164'/" "$baseline" >"$scratch/other.xml"
if ! cmp -s "$baseline" "$scratch/other.xml" && ! abidiff "$baseline" "$scratch/other.xml" >/dev/null; then
    echo "ok check_notices_a_changed_struct"
else
    echo "not ok check_notices_a_changed_struct"
    failed=1
fi
exit $failed
