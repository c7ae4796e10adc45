#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak.sh [SECONDS [SEED]]: the models of this folder in bounds that are too large for every run.
# Each search gets an equal part of the time. It stores states as bits of a hash (so it may miss
# some), goes in an order drawn from SEED, and says whether it came to its end. Half a gigabyte of
# memory. Exit status 1 if anything was found.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/model.sh"
seconds=${1:-600}
seed=${2:-$((EPOCHSECONDS % 100000))}
if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
    echo "skip soak # spin or gcc is not installed"
    exit 0
fi

searches=(
    "safety commit.pml -DFINE -DOPS=6"
    "cycles commit.pml -DFINE -DOPS=6"
    "safety commit.pml -DWORKERS=3 -DOPS=2"
    "cycles commit.pml -DWORKERS=3 -DOPS=2"
    "safety commit.pml -DWORKERS=3 -DOPS=2 -DSCRIPT=3 -DCELLS=3 -DCAP=2"
    "cycles commit.pml -DWORKERS=3 -DOPS=1 -DSCRIPT=3 -DCELLS=3"
    "safety commit.pml -DWORKERS=4 -DOPS=1 -DCAP=2"
    "safety commit.pml -DWORKERS=3 -DOPS=2 -DSTOP -DREADERS=1"
    "safety commit.pml -DREADERS=1 -DOPS=2 -DSCRIPT=1"
    "safety commit.pml -DREADERS=2 -DOPS=2 -DSCRIPT=2 -DWPC=2"
    "cycles commit.pml -DREADERS=1 -DOPS=1 -DSCRIPT=1"
    "safety commit.pml -DSNAPSHOT -DREADERS=1 -DSCRIPT=2 -DCAP=2 -DOPS=1"
    "safety commit.pml -DSNAPSHOT -DREADERS=1 -DSCRIPT=1 -DOPS=2"
    "safety index.pml -DTREE=3"
    "safety index.pml -DGIVERS=2 -DON_BOTH"
    "safety index.pml -DTAKERS=2 -DBUCKET1=1 -DON_BOTH"
    "safety commit.pml -DREMOVE -DSCRIPT=5 -DREADERS=1"
    "safety commit.pml -DREMOVE -DSCRIPT=5 -DWORKERS=3"
    "safety commit.pml -DREMOVE -DSCRIPT=5 -DONE_EACH -DHOLDING -DOPS=1 -DREADERS=2"
    "safety commit.pml -DREMOVE -DSCRIPT=5 -DONE_EACH -DHOLDING -DOPS=1 -DREADERS=2 -DBARE"
)

echo "seed $seed, $seconds seconds"
part=$((seconds / ${#searches[@]} + 1))
for line in "${searches[@]}"; do
    read -r -a words <<<"$line"
    status=0
    # shellcheck disable=SC2034 # of the search, not of compiling it; for search()
    limit=$part
    search "${words[0]}" "${words[1]}" "-O1 -DBITSTATE -DT_RAND -DP_RAND" "-w32 -RS$seed" \
        "${words[@]:2}" || status=$?
    if grep -q 'errors: 0$' "$scratch/log"; then
        note=
        ! grep -qE 'Interrupted|Search not completed|max search depth' "$scratch/log" || note=", incomplete"
        account+=$note
        status=0
    elif ((status == 0)); then
        status=1
    fi
    verdict "$line" "$status"
done
exit "$failed"
