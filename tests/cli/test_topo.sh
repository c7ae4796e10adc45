#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched topo: this machine, synthetic ones, real ones as XML, clusters; and wrong input.
# Needs GANG_BIN_DIR; GANG_SHARED for the real machines.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"
topo=("$gangsched" topo)
export LC_ALL=C

# ---- machines ----

this_machine() {
    # Plugins of hwloc, and what they load, leak a little; that is not ours.
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    "${topo[@]}" >"$scratch/out"
    cat "$scratch/out"
    head -n 1 "$scratch/out" | grep -Eq '^[^ ]+: .*[0-9]+ cores?, .*[0-9] .iB$'
    "${topo[@]}" --json >"$scratch/json"
    is_json "$scratch/json"
}
check this_machine this_machine

synthetic_tree() {
    "${topo[@]}" --synthetic "pack:2 numa:1 core:4 pu:2" >"$scratch/out"
    diff "$scratch/out" - <<'END'
node: 2 packages, 2 NUMA domains, 8 cores, 2 GiB
|- package 0
|  `- NUMA domain 0: 1 GiB, cores 0-3 (CPUs 0-7)
`- package 1
   `- NUMA domain 1: 1 GiB, cores 4-7 (CPUs 8-15)
END
}
check synthetic_machine_is_a_tree synthetic_tree

boxes_in_utf8() {
    locale -a 2>/dev/null | grep -Eiq '^C\.utf-?8$' || return 0
    LC_ALL=C.UTF-8 "${topo[@]}" --synthetic "pack:2 numa:1 core:2 pu:1" >"$scratch/out"
    grep -q '└─ package 1' "$scratch/out"
    LC_ALL=C "${topo[@]}" --synthetic "pack:2 numa:1 core:2 pu:1" >"$scratch/out"
    ! grep -q '[^ -~]' "$scratch/out"
}
check box_characters_only_in_utf8 boxes_in_utf8

# --cluster reads a machine that --json wrote, with the same cores and GPUs.
round_trip() { # OPTION...
    "${topo[@]}" "$@" --json >"$scratch/machine.json"
    is_json "$scratch/machine.json"
    "${topo[@]}" --cluster "$scratch/machine.json" >"$scratch/cluster"
    "${topo[@]}" --cluster "$scratch/machine.json" --json >"$scratch/cluster.json"
    is_json "$scratch/cluster.json"
    cat "$scratch/cluster"
}
check machine_is_read_back_as_cluster round_trip --synthetic "pack:2 numa:1 core:4 pu:2"

# The numbers of GPUs were counted by hand (README of the data).
real_machine() { # FILE GPUS PATTERN...
    local file=$1 gpus=$2 pattern
    shift 2
    "${topo[@]}" --xml "$file" >"$scratch/out"
    [[ $(grep -Ec '^[|` ]*- GPU [0-9]+: ' "$scratch/out") -eq $gpus ]] || {
        cat "$scratch/out"
        return 1
    }
    for pattern in "$@"; do
        grep -Eq -e "$pattern" "$scratch/out" || { echo "no $pattern" && return 1; }
    done
    gunzip -c "$file" >"$scratch/plain.xml"
    "${topo[@]}" --xml "$scratch/plain.xml" | diff "$scratch/out" -
    round_trip --xml "$file"
    if command -v python3 >/dev/null; then
        [[ $(json_get "$scratch/cluster.json" kinds.gpu.capacity) -eq $((gpus * 1000)) ]]
    fi
}
machines=$shared/data/hwloc_topologies
if [[ -n $shared && -d $machines ]]; then
    check machine_corona real_machine "$machines/flux-core_corona.xml.gz" 8
    check machine_sierra real_machine "$machines/flux-core_sierra.xml.gz" 4 'V100-SXM2-16GB'
    check machine_ipa20 real_machine "$machines/flux-core_ipa20.xml.gz" 4 ' NV +NVLink'
    check machine_tuo_spx real_machine "$machines/flux-core_tuo.SPX.xml.gz" 4 ' XGMI  AMD'
    check machine_tuo_cpx real_machine "$machines/flux-core_tuo.CPX.xml.gz" 24
    check machine_chimera real_machine "$machines/flux-sched_chimera.xml.gz" 2 'GTX 1070'
    check machine_lassen real_machine "$machines/flux-sched_lassen.xml.gz" 4
    check machine_power8 real_machine "$machines/hwloc2.9_power8gpudistances.xml.gz" 4 \
        '^  0    X   NV  SYS  SYS$' ' NV    NVLink, 40 GB/s' ' SYS   across packages'
    check machine_dgx2 real_machine "$machines/hwloc2.x_nvidiaDGX2.xml.gz" 16 ' NV +NVLink'
    for file in "$machines"/*.xml.gz; do
        check "every_file_is_drawn_$(basename "$file" .xml.gz)" "${topo[@]}" --xml "$file"
    done
else
    skip real_machines "GANG_SHARED is not set"
fi

# ---- clusters ----

cat >"$scratch/cluster.json" <<'END'
{"levels": ["zone", "rack"],
 "nodes": [
  {"name": "n1", "cpus": 16, "mem_mib": 65536, "gpus": 4, "topology": {"zone": "a", "rack": "r2"}},
  {"name": "n2", "cpus": 16, "mem_mib": 65536, "gpus": 4, "topology": {"zone": "a", "rack": "r10"}},
  {"name": "n3", "cpus": 16, "mem_mib": 65536, "gpus": 4, "topology": {"zone": "b", "rack": "r2"},
   "unschedulable": true},
  {"name": "n4", "cpus": 8, "mem_mib": 32768}],
 "queues": [{"name": "q"}],
 "jobs": [
  {"name": "whole", "queue": "q", "min": 2, "state": "running",
   "tasks": [{"count": 2, "cpu": 4, "gpu": 1}], "running_on": ["n1", "n2"]},
  {"name": "shared", "queue": "q", "min": 2, "state": "running",
   "tasks": [{"count": 2, "cpu": 1, "mem_mib": 1024, "gpu": 0.5}],
   "running_on": ["n1", "n1"], "running_gpu": [["x"], ["x"]]},
  {"name": "waiting", "queue": "q", "min": 1, "tasks": [{"count": 1, "gpu": 1}]}]}
END

cluster_tree() {
    "${topo[@]}" --cluster "$scratch/cluster.json" >"$scratch/out"
    diff "$scratch/out" - <<'END'
                cores        memory            GPUs
                taken  free   taken     free  taken  free
cluster            10    30   2 GiB  158 GiB      3     5
|- n4               0     8     0 B   32 GiB      -     -
|- zone a          10    22   2 GiB  126 GiB      3     5
|  |- rack r2       6    10   2 GiB   62 GiB      2     2
|  |  `- n1         6    10   2 GiB   62 GiB      2     2
|  `- rack r10      4    12     0 B   64 GiB      1     3
|     `- n2         4    12     0 B   64 GiB      1     3
`- zone b           0     0     0 B      0 B      0     0
   `- rack r2       0     0     0 B      0 B      0     0
      `- n3         0     0     0 B      0 B      0     0  draining
END
}
check cluster_with_running_jobs_is_a_tree cluster_tree

cluster_json() {
    "${topo[@]}" --cluster "$scratch/cluster.json" --json >"$scratch/out"
    is_json "$scratch/out"
    [[ $(json_get "$scratch/out" kinds.gpu.taken) -eq 3000 ]]
    [[ $(json_get "$scratch/out" kinds.gpu.free) -eq 5000 ]]
    [[ $(json_get "$scratch/out" kinds.gpu.capacity) -eq 12000 ]]
    [[ $(json_get "$scratch/out" domains.0.domains.0.nodes.0.kinds.cpu.taken) -eq 6000 ]]
    [[ $(json_get "$scratch/out" domains.1.domains.0.nodes.0.state) == draining ]]
    [[ $(json_get "$scratch/out" nodes.0.name) == n4 ]]
}
if command -v python3 >/dev/null; then
    check cluster_as_json cluster_json
else
    skip cluster_as_json "python3 is not there"
fi

several_cases() {
    printf '[{"id": "one", "nodes": [{"name": "a", "cpus": 1}]}, {"id": "two", "nodes": []}]' |
        "${topo[@]}" --cluster - >"$scratch/out"
    grep -q '^one ' "$scratch/out"
    grep -q '^two$' "$scratch/out"
}
check file_with_several_cases several_cases

if [[ -n $shared && -d $shared/scenarios ]]; then
    for file in "$shared"/scenarios/*.json; do
        check "scenarios_$(basename "$file" .json)" "${topo[@]}" --cluster "$file" --json
    done
else
    skip scenarios "GANG_SHARED is not set"
fi

# ---- wrong input ----

refuses missing_xml_is_refused "none.xml: No such file" "${topo[@]}" --xml "$scratch/none.xml"
refuses folder_as_xml_is_refused "directory" "${topo[@]}" --xml "$scratch"
: >"$scratch/empty.xml"
refuses empty_xml_is_refused "empty.xml: " "${topo[@]}" --xml "$scratch/empty.xml"
echo 'no topology' >"$scratch/text.xml"
refuses text_as_xml_is_refused "text.xml: " "${topo[@]}" --xml "$scratch/text.xml"
echo '<topology version="2.0"><object type="Machine"' >"$scratch/cut.xml"
refuses cut_xml_is_refused "cut.xml: " "${topo[@]}" --xml "$scratch/cut.xml"
printf '\037\213\010\000\000\000\000\000garbage' >"$scratch/damaged.xml.gz"
refuses damaged_gzip_is_refused "damaged.xml.gz: " "${topo[@]}" --xml "$scratch/damaged.xml.gz"
seq 100000 | gzip -c >"$scratch/whole.xml.gz"
head -c 5000 "$scratch/whole.xml.gz" >"$scratch/cut.xml.gz"
refuses cut_gzip_is_refused "cut.xml.gz: the compressed file is cut off" "${topo[@]}" \
    --xml "$scratch/cut.xml.gz"
refuses bad_synthetic_is_refused "--synthetic: " "${topo[@]}" --synthetic "no:such:thing"
refuses two_sources_are_refused "only one of" "${topo[@]}" --xml a --synthetic b
refuses missing_cluster_is_refused "none.json: " "${topo[@]}" --cluster "$scratch/none.json"
echo '{"nodes": [{"name": "a"},' >"$scratch/cut.json"
refuses cut_json_is_refused "cut.json: line 2" "${topo[@]}" --cluster "$scratch/cut.json"
echo '{"nodes": [{"name": "a", "cpus": -1}]}' >"$scratch/negative.json"
refuses negative_number_is_refused 'negative.json: .*nodes\[0\]\.cpus: ' "${topo[@]}" \
    --cluster "$scratch/negative.json"
cat >"$scratch/full.json" <<'END'
{"nodes": [{"name": "a", "cpus": 1, "gpus": 1}], "queues": [{"name": "q"}],
 "jobs": [{"name": "j", "queue": "q", "min": 2, "state": "running",
           "tasks": [{"count": 2, "gpu": 1}], "running_on": ["a", "a"]}]}
END
refuses jobs_that_do_not_fit_are_refused "full.json: job 'j': " "${topo[@]}" \
    --cluster "$scratch/full.json"
second_case_is_wrong() {
    { echo '[{"id": "fine", "nodes": []},'
        sed '$a ]' "$scratch/full.json"; } | "${topo[@]}" --cluster -
}
refuses nothing_is_printed_if_a_later_case_is_wrong "standard input: job 'j': " second_case_is_wrong

no_temporary_file_is_left() {
    mkdir "$scratch/tmp"
    TMPDIR=$scratch/tmp "${topo[@]}" --xml "$scratch/cut.xml.gz" || true
    gzip -c "$scratch/text.xml" >"$scratch/text.xml.gz"
    TMPDIR=$scratch/tmp "${topo[@]}" --xml "$scratch/text.xml.gz" || true
    [[ -z $(ls "$scratch/tmp") ]]
}
check no_temporary_file_is_left no_temporary_file_is_left
no_temporary_folder() {
    TMPDIR=$scratch/nowhere "${topo[@]}" --xml "$scratch/text.xml.gz"
}
refuses missing_temporary_folder_is_an_error "temporary file: No such file" no_temporary_folder

exit "$failed"
