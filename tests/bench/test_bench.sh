#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gangsched-bench: names and fields of its results, comparing two files, wrong input, HdrHistogram
# text, and the instruction counts of the release build.
# shellcheck source-path=SCRIPTDIR source=bench_support.sh disable=SC1091,SC2154,SC2317
. "$(dirname "${BASH_SOURCE[0]}")/bench_support.sh"

# ---- names ---------------------------------------------------------------------------------

lists_every_operation() {
    local impl op
    "$program" --list >"$scratch/names"
    sort "$scratch/names" | uniq -d >"$scratch/twice"
    cat "$scratch/twice"
    [[ ! -s $scratch/twice ]]
    for impl in gangsched mutex locks python; do
        for op in alloc_gpu alloc_node free refuse; do
            grep -q "^$impl/$op/nodes:100000/" "$scratch/names" || { echo "no $impl/$op" && return 1; }
        done
    done
    for op in alloc_share alloc_scarce free_random grow shrink churn node_change read build snapshot; do
        grep -q "^gangsched/$op/nodes:1000/" "$scratch/names" || { echo "no $op" && return 1; }
    done
    for op in submit decide; do
        for gang in 1 20 500 10000; do
            grep -q "^gangsched/sched_$op/nodes:5000/gang:$gang/fill:0/threads:1/" "$scratch/names"
        done
    done
    for op in idle one_freed reclaim admit full_1gpu start_1gpu full_gang start_gang; do
        grep -q "^gangsched/sched_$op/" "$scratch/names" || { echo "no sched_$op" && return 1; }
    done
    for op in start conservative; do
        grep -q "^gangsched/plan_$op/" "$scratch/names" || { echo "no plan_$op" && return 1; }
    done
    grep -q '^gangsched/alloc_node/nodes:1000000/gang:8192/fill:90/threads:1$' "$scratch/names"
    # Gangs beside the mutex in all states.
    for impl in gangsched mutex; do
        for fill in 10 50 90 99; do
            for threads in 1 2; do
                for cluster in '' /cluster:packed; do
                    for nodes in 100000 1000000; do
                        grep -q "^$impl/alloc_node/nodes:$nodes/gang:64/fill:$fill/threads:$threads$cluster\$" \
                            "$scratch/names" || { echo "no $impl/$nodes/$fill/$threads$cluster" && return 1; }
                    done
                done
            done
        done
        grep -q "^$impl/alloc_half/nodes:100000/gang:64/fill:90/threads:1/of:half\$" "$scratch/names"
    done
    # 1 % of 8000 nodes are too few for 512.
    if grep '^gangsched/alloc_node/nodes:8000/gang:512/fill:99/' "$scratch/names"; then return 1; fi
    ! grep -Ev '^(gangsched|mutex|locks|python)/[a-z_]+[a-z0-9_]*/nodes:[0-9]+/gang:[0-9]+/fill:[0-9]+/threads:[0-9]+(/[a-z]+:[a-z0-9]+)*$' \
        "$scratch/names"
}
check bench_lists_every_operation lists_every_operation

# ---- results -------------------------------------------------------------------------------

measures() {
    timeout 120 "$program" --quick --nodes 128,1k --seconds 0.004 --seed 7 --open 20k \
        --json "$scratch/quick.json" --hdr "$scratch/hdr" >"$scratch/table"
    [[ -s $scratch/quick.json ]]
}
check bench_measures measures

if command -v python3 >/dev/null; then
    json_has_names_and_fields() {
        "$program" --quick --nodes 128,1k --open 20k --list >"$scratch/names"
        python3 - "$scratch/quick.json" "$scratch/names" <<'PYTHON'
import json, sys

with open(sys.argv[1]) as file:
    result = json.load(file)
with open(sys.argv[2]) as file:
    names = file.read().split()
context = result["context"]
for key in ("date host_name executable num_cpus mhz_per_cpu caches load_avg library_build_type "
            "library_version compiler kernel clock_ns seed").split():
    assert key in context, key
assert context["seed"] == "7" and 1 < context["clock_ns"] < 1e6, context
entries = result["benchmarks"]
assert sorted(entry["name"] for entry in entries) == sorted(names)
for entry in entries:
    name = entry["name"]
    impl, op = name.split("/")[:2]
    assert entry["run_name"] == name and entry["run_type"] == "iteration", entry
    assert entry["time_unit"] == "ns" and entry["repetitions"] == 1, entry
    assert entry["threads"] == int(name.split("threads:")[1].split("/")[0]), entry
    assert entry["iterations"] >= 3, entry
    for key in ("real_time", "cpu_time", "ops_per_s"):
        assert entry[key] > 0, (key, entry)
    ordered = [entry[key] for key in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
    assert ordered == sorted(ordered) and ordered[0] > 0, entry
    if op == "build":
        assert entry["bytes_per_node"] >= 64, entry
    elif impl == "gangsched" and not op.startswith(("sched_", "plan_", "forecast")):
        assert entry["retries"] >= 0 and entry["helps"] >= 0, entry
        # Churn asks for different sizes; two threads may have to try more often than ever before.
        assert entry["allocs_per_op"] <= (0 if op != "churn" and entry["threads"] == 1 else 0.1), entry
    if op == "refuse":
        assert entry["refused"] >= entry["iterations"], entry
    if "ns_per_op" in entry:
        assert 1 <= entry["batch"] <= 64 and entry["ns_per_op"] > 0, entry
PYTHON
    }
    check bench_json_has_names_and_fields json_has_names_and_fields

    hdr_text_is_well_formed() {
        python3 - "$scratch/quick.json" "$scratch/hdr" <<'PYTHON'
import json, os, sys

with open(sys.argv[1]) as file:
    entries = json.load(file)["benchmarks"]
assert len(os.listdir(sys.argv[2])) == len(entries)
for entry in entries:
    path = entry["name"].replace("/", "_").replace(":", "-") + ".hgrm"
    with open(os.path.join(sys.argv[2], path)) as file:
        lines = file.read().split("\n")
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"], lines[0]
    assert lines[1] == ""
    rows = [[float(word) for word in line.split()] for line in lines[2:] if line and line[0] != "#"]
    assert all(len(row) == 4 for row in rows[:-1]) and len(rows[-1]) == 3, path
    for a, b in zip(rows, rows[1:]):
        assert a[0] <= b[0] and a[1] < b[1] and a[2] <= b[2], (path, a, b)
    for row in rows[:-1]:
        assert abs(row[3] - 1 / (1 - row[1])) < 0.01 * row[3], (path, row)
    assert rows[0][1] == 0 and rows[-1][1] == 1, path
    assert rows[-1][0] == entry["max_ns"] and rows[-1][2] == entry["iterations"], path
    median = next(row[0] for row in rows if row[1] >= 0.5)
    assert abs(median - entry["p50_ns"]) <= 0.002 * median + 1, (path, median, entry["p50_ns"])
    notes = [line for line in lines if line.startswith("#[")]
    assert [note.split()[0] for note in notes] == ["#[Mean", "#[Max", "#[Buckets"], notes
PYTHON
    }
    check bench_hdr_text_is_well_formed hdr_text_is_well_formed
else
    skip bench_json_has_names_and_fields "python3 is not installed"
    skip bench_hdr_text_is_well_formed "python3 is not installed"
fi

table_has_peers_side_by_side() {
    cat "$scratch/table"
    grep -Eq '^alloc_node/nodes:1000/gang:8/fill:90/threads:1 +gangsched ' "$scratch/table"
    grep -Eq '^ +mutex .* x' "$scratch/table"
    grep -Eq '^ +locks .* x' "$scratch/table"
    grep -Eq 'bytes a node$' "$scratch/table"
}
check bench_table_has_peers_side_by_side table_has_peers_side_by_side

filter_chooses() {
    "$program" --quick --seconds 0 --nodes 128 --threads 1 --filter '^mutex/.*gang:8/' --json - \
        >"$scratch/some.json"
    [[ $(grep -c '"name":' "$scratch/some.json") -ge 3 ]]
    ! grep '"name":' "$scratch/some.json" | grep -v '"mutex/.*/gang:8/'
}
check bench_filter_chooses filter_chooses

# ---- compare -------------------------------------------------------------------------------

entry() { # NAME P50 P99 OPS
    printf '{"name": "%s", "p50_ns": %s, "p99_ns": %s, "ops_per_s": %s}' "$@"
}
file_of() { # ENTRY...
    local IFS=,
    printf '{"context": {}, "benchmarks": [%s]}\n' "$*"
}
file_of "$(entry a 100 200 1000)" "$(entry b 50 60 70)" >"$scratch/old.json"
file_of "$(entry b 50 60 70)" "$(entry a 105 195 1000)" >"$scratch/same.json"
file_of "$(entry a 150 200 1000)" "$(entry b 50 60 70)" >"$scratch/slower.json"
file_of "$(entry a 100 230 1000)" "$(entry b 50 60 70)" >"$scratch/tail.json"
file_of "$(entry a 100 200 800)" "$(entry c 50 60 70)" >"$scratch/rate.json"
file_of "$(entry x 1 1 1)" >"$scratch/other.json"
echo '{"benchmarks": [' >"$scratch/broken.json"
echo '{}' >"$scratch/empty.json"
compare=("$program" compare)
check bench_compare_same says 0 '^2 within tolerance, 0 outside$' "${compare[@]}" "$scratch"/{old,same}.json
check bench_compare_slower says 1 '^1 within tolerance, 1 outside$' "${compare[@]}" "$scratch"/{old,slower}.json
check bench_compare_ratio says 1 '^a +1.500 +1.000 +1.000  worse$' "${compare[@]}" "$scratch"/{old,slower}.json
check bench_compare_faster says 0 '^2 within tolerance, 0 outside$' "${compare[@]}" "$scratch"/{slower,old}.json
check bench_compare_tail says 1 '^1 within tolerance, 1 outside$' "${compare[@]}" "$scratch"/{old,tail}.json
check bench_compare_rate says 1 '^0 within tolerance, 1 outside$' "${compare[@]}" "$scratch"/{old,rate}.json
check bench_compare_missing says 1 '^1 only in .*old.json$' "${compare[@]}" "$scratch"/{old,rate}.json
check bench_compare_tolerance says 0 ', 0 outside$' "${compare[@]}" "$scratch"/{old,slower}.json --tolerance 51
check bench_compare_own_json says 0 ', 0 outside$' "${compare[@]}" "$scratch"/{quick,quick}.json
check bench_compare_nothing_in_common says 1 'no name in common' "${compare[@]}" "$scratch"/{old,other}.json
check bench_compare_broken says 1 'broken.json: line 2: ' "${compare[@]}" "$scratch"/{old,broken}.json
check bench_compare_no_results says 1 'empty.json: it has no "benchmarks"' "${compare[@]}" "$scratch"/{empty,old}.json
check bench_compare_no_file says 1 'absent.json' "${compare[@]}" "$scratch"/{old,absent}.json
check bench_compare_one_file says 2 'two files' "${compare[@]}" "$scratch/old.json"
check bench_compare_three_files says 2 'more than two' "${compare[@]}" "$scratch"/{old,old,old}.json

# ---- wrong input ---------------------------------------------------------------------------

wrong() { # NAME PATTERN ARGUMENT...
    local name=$1 pattern=$2
    shift 2
    check "bench_wrong_$name" says 2 "^gangsched-bench: $pattern" "$program" "$@"
}
wrong option 'unknown option: --fast' --fast
wrong argument 'unknown option: 128' 128
wrong no_value '--json: its value is missing' --json
wrong seconds '--seconds: not a number: soon' --seconds soon
wrong seconds_negative '--seconds: -1 is not between' --seconds -1
wrong seconds_infinite '--seconds: not a number: inf' --seconds inf
wrong nodes '--nodes: not a number: 1q' --nodes 1q
wrong nodes_zero '--nodes: 0 is not between' --nodes 0
wrong nodes_many '--nodes: 2M is not between' --nodes 2M
wrong nodes_twice '--nodes: 128 is there twice' --nodes 128,128
wrong nodes_end '--nodes: not a number: $' --nodes 128,
wrong threads '--threads: 65 is not between' --threads 65
wrong seed '--seed: not a number: -3' --seed=-3
wrong rate '--open: 0 is not between' --open 0
wrong work 'work: a name is needed' work
wrong work_name 'work: no such work: fly' work fly
wrong work_option 'work: unknown option: --quick' work --quick
wrong tolerance '--tolerance: not a number: x' compare a b --tolerance x
wrong compare_option 'compare: unknown option: --json' compare --json
wrong control_characters 'unknown option: a\?b' $'a\nb'
check bench_filter_wrong says 1 '--filter \(: ' "$program" --filter '('
check bench_filter_nothing says 1 'no case has such a name' "$program" --filter '^nobody'
check bench_cannot_write says 1 '/nonexistent/x.json: No such file' "$program" --quick --seconds 0 \
    --nodes 128 --filter '^mutex/refuse' --json /nonexistent/x.json
check bench_help says 0 '^usage: gangsched-bench ' "$program" --help
check bench_version says 0 '^gangsched-bench [0-9.]+, ' "$program" --version

# ---- instruction counts --------------------------------------------------------------------

# Of the release build, which this brings up to date. Measured once, compared twice.
release=$root/build/release/bench/gangsched-bench
script=$root/bench/instructions.sh
build_release() {
    cmake --preset release -S "$root" >/dev/null
    cmake --build --preset release --target gangsched-bench
}
count_now() {
    GANG_INSTRUCTIONS=$scratch/now.txt "$script" --update "now" "$release"
}
a_rise_is_found() {
    awk '$1 == "alloc_free_gpu" { $2 = int($2 / 1.07) } { print }' "$scratch/now.txt" >"$scratch/less.txt"
    GANG_INSTRUCTIONS=$scratch/less.txt says 1 ' within tolerance, 1 outside$' "$script" \
        --counts "$scratch/now.txt"
    grep -Eq '^alloc_free_gpu .*\+7\.[0-9]%  outside$' "$scratch/out"
    awk '$1 != "read" { print }' "$scratch/now.txt" >"$scratch/less.txt"
    GANG_INSTRUCTIONS=$scratch/less.txt says 1 'not in the baseline$' "$script" --counts "$scratch/now.txt"
    GANG_INSTRUCTIONS=$scratch/now.txt says 1 'not measured$' "$script" --counts "$scratch/less.txt"
}
another_compiler_is_skipped() {
    sed 's/^build: .*/build: another/' "$scratch/now.txt" >"$scratch/another.txt"
    GANG_INSTRUCTIONS=$scratch/another.txt says 0 '^skip: ' "$script" --counts "$scratch/now.txt"
}
if ! command -v valgrind >/dev/null; then
    skip bench_instructions "valgrind is not installed"
else
    (cd "$root" && check bench_release_is_built build_release)
    check bench_instructions_are_counted count_now
    check bench_instructions_rise_is_found a_rise_is_found
    check bench_instructions_another_compiler another_compiler_is_skipped
    "$script" --counts "$scratch/now.txt" >"$scratch/compared" || true
    if grep -q '^skip: ' "$scratch/compared"; then
        skip bench_instructions "$(sed -n 's/^skip: //p' "$scratch/compared")"
    else
        check bench_instructions says 0 ' within tolerance, 0 outside$' "$script" --counts "$scratch/now.txt"
    fi
    check bench_instructions_wrong says 2 '^usage: ' "$script" --update
fi
exit "$failed"
