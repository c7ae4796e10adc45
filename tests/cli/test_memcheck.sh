#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wrong and right input to the command line under valgrind: no invalid access, nothing leaked.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
. "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"

if ! command -v valgrind >/dev/null; then
    skip cli_memcheck "valgrind is not installed"
    exit 0
fi
if [[ $(nm "$gangsched" 2>/dev/null | grep -c __asan_init || true) -gt 0 ]]; then
    skip cli_memcheck "this build has AddressSanitizer"
    exit 0
fi

# A command under valgrind ends with the expected status; 99 would be valgrind's.
clean() { # STATUS ARGUMENT...
    local expected=$1 status=0
    shift
    valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        "$gangsched" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/err"
    [[ $status -eq $expected ]] || { echo "exit status $status instead of $expected" && return 1; }
}

cd "$scratch" || exit 1
printf '{"nodes": [{"name": "n", "cpus": 1}' >truncated.json
printf '{"nodes": [{"name": "n", "cpus": -1}]}' >negative.json
printf '{"nodes": [{"name": "n"}, {"name": "n"}]}' >twice.json
printf '{"nodes": [{"name": "n", "cpus": NaN}]}' >nan.json
printf '{"queues": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]}' >cycle.json
printf '%0.s[' {1..2000} >deep.json
printf '{"nodes": [{"name": "n", "cpus": 4, "gpus": 2}], "jobs": [{"name": "j", "tasks": [{"count": 2, "cpu": 1, "gpu": 1}]}]}' >good.json
printf 'sn,cpu_milli,memory_mib,gpu,model\nn0,4000,1024,2,A\n' >nodes.csv
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np0,1000,10,1,500,\np1,9000,10,0,0,\n' >tasks.csv
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np0,-1,10,1,500,\n' >wrong.csv
printf '<?xml version="1.0"?><topology version="2.0"><object type="Machine"' >broken.xml

for name in missing truncated negative twice nan cycle deep; do
    check "memcheck_scenario_$name" clean 2 scenario "$name.json"
done
check memcheck_scenario clean 0 scenario good.json
check memcheck_validate clean 0 validate good.json
check memcheck_validate_wrong clean 1 validate --json negative.json
check memcheck_replay clean 0 replay --nodes nodes.csv --tasks tasks.csv --json
check memcheck_replay_wrong clean 2 replay --nodes nodes.csv --tasks wrong.csv
printf '[{"seed": 1, "node_rank": [0], "arrivals": [0, 1, 0]}]' >order.json
for policy in fgd gpu-clustering; do
    check "memcheck_replay_order_$policy" clean 0 replay --format openb --nodes nodes.csv \
        --tasks tasks.csv --order order.json --policy "$policy" --json
done
printf '[{"seed": 1, "node_rank": [0], "arrivals": [2]}]' >order.json
check memcheck_replay_order_wrong clean 2 replay --format openb --nodes nodes.csv \
    --tasks tasks.csv --order order.json
check memcheck_topo clean 0 topo --cluster good.json --json
check memcheck_topo_broken clean 2 topo --xml broken.xml
exit "$failed"
