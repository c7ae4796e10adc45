#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The hosts of tests/hosts/ with 100,000 random events each, under AddressSanitizer and
# UndefinedBehaviorSanitizer. Prints what each did; the exit status is 1 if one failed.
#
#   tests/soak_hosts.sh [EVENTS [SEED]]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export GANG_EVENTS=${1:-100000} GANG_SEED=${2:-$(date +%s)000}
if [[ ! $GANG_EVENTS =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: tests/soak_hosts.sh [EVENTS [SEED]]" >&2
    exit 2
fi
build=$root/build/soak-hosts
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug -DGANG_SANITIZE=address,undefined >/dev/null
failed=0
for source in tests/hosts/test_*.c; do
    name=$(basename "$source" .c)
    cmake --build "$build" --target "$name" -j 2 >/dev/null
    CK_FORK=no "$build/tests/hosts/$name" || failed=1
done
exit $failed
