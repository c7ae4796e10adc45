# SPDX-License-Identifier: Apache-2.0
"""Published results, reproduced in Python as they are in C.

Placements of openb one by one, backfilling logs start by start, the trace of 60 jobs. See
tests/cli/test_openb.sh and test_simulators.sh. Needs GANG_SHARED.
"""

import csv
import gzip

import pytest
from openb_support import PUBLISHED, Openb, Replay, published_curve

import gangsched as gs

#: milli-GPUs allocated, pods rejected, of the default workload with seed 42.
TOTALS = {
    "best-fit": (5785450, 2676),
    "dot-product": (5624470, 2874),
    "gpu-packing": (5688580, 2794),
    "gpu-clustering": (5686120, 2797),
    "fgd": (5919410, 2532),
}


def found(shared, *path):
    """A file of the data; skips the test without it."""
    place = shared.joinpath("data", *path)
    if not place.exists():
        pytest.skip("no published data at %s" % place)
    return place


@pytest.fixture(scope="module")
def orders():
    """The orders of arrival, each read once."""
    return {}


def openb(shared, orders, workload, seed):
    folder = found(shared, "openb")
    if (workload, seed) not in orders:
        orders[workload, seed] = Openb(folder, workload, seed)
    return folder, orders[workload, seed]


@pytest.mark.parametrize("policy", sorted(TOTALS))
def test_python_and_c_reproduce_the_same_openb_tables(shared, orders, policy):
    folder, read = openb(shared, orders, "default", 42)
    replay = Replay(read, policy)
    assert (replay.allocated, replay.rejected) == TOTALS[policy]
    assert policy != "fgd" or replay.fragmented == 291361.65
    with gzip.open(
        folder / ("placement_default_seed42_%s.csv.gz" % PUBLISHED[policy]), "rt"
    ) as file:
        assert replay.rows == file.read().splitlines()[1:]
    for name, curve in zip(("allo", "frag"), replay.curves):
        assert curve == published_curve(folder, name, "default", policy, 42)


@pytest.mark.parametrize(
    "workload, seed, policy", [("gpuspec33", 42, "fgd"), ("multigpu50", 42, "best-fit")]
)
def test_other_workloads_of_openb(shared, orders, workload, seed, policy):
    folder, read = openb(shared, orders, workload, seed)
    replay = Replay(read, policy)
    for name, curve in zip(("allo", "frag"), replay.curves):
        assert curve == published_curve(folder, name, workload, policy, seed)


WAYS = {
    "fcfs": ({"block": "strict"}, "limit"),
    "easy": ({"backfill": "easy"}, "limit"),
    "easysjbf": ({"backfill": "easy", "backfill_order": "shortest"}, "limit"),
    "easy_clair": ({"backfill": "easy"}, "run"),
    "easysjbf_clair": ({"backfill": "easy", "backfill_order": "shortest"}, "run"),
    "conservative": ({"backfill": "conservative"}, "limit"),
}


@pytest.mark.parametrize("log, processors, way", [
    *(("KTH-SP2", 100, way) for way in WAYS),
    *(("SDSC-SP2", 128, way) for way in WAYS if "clair" not in way),
])
def test_each_job_of_a_log_starts_at_its_published_time(shared, log, processors, way):
    path = found(shared, "swf_sc15", log + ".csv.gz")
    fields, know = WAYS[way]
    with gzip.open(path, "rt") as file:
        expected = [int(row["submit"]) + int(row["wait_" + way]) for row in csv.DictReader(file)]
    queue = {"q": {"order": "fifo", **fields}}
    with gs.Trace.read(path) as jobs, gs.Cluster([{"name": "m", "cpus": processors}]) as machine:
        result = gs.simulate(
            machine,
            jobs,
            queue,
            runtime_estimates=know,
            same_instant="one-by-one",
            no_preemption=True,
            record=(),
        )
    assert result.column("start_s").tolist() == expected


@pytest.mark.parametrize(
    "machines, policy, options, gpus_per_task, jct, queue, end",
    [
        ("n32g4", "fifo", {}, 4, 178.4167, 0, 3271),
        ("n32g4", "first-fit", {}, 4, 178.4167, 0, 3271),
        ("n32g4", "las-started", {}, 4, 178.4167, 0, 3271),
        ("n4g4", "fifo", {}, 4, 219.1833, 40.7667, 3341),
        ("n4g4", "first-fit", {}, 4, 219.1833, 40.7667, 3271),
        ("n4g4", "fifo", {}, 1, 200.8167, 22.4, 3335),
        ("n4g4", "first-fit", {}, 1, 190.6833, 12.2667, 3271),
        ("n4g4", "las-started", {}, 1, 190.6833, 12.2667, 3271),
    ],
)
def test_the_sixty_jobs_of_tiresias(
    shared, machines, policy, options, gpus_per_task, jct, queue, end
):
    folder = found(shared, "tiresias60")
    with open(folder / (machines + ".csv")) as file:
        shape = {key: int(value) for key, value in next(csv.DictReader(file)).items()}
    nodes = shape["num_switch"] * shape["num_node_p_switch"]
    machine = {"cpus": 64, "gpus": shape["num_gpu_p_node"]}
    with gs.Cluster(
        [{"name": "n%d" % i, **machine} for i in range(nodes)], policy="first"
    ) as cluster:
        trace = gs.Trace.read(folder / "60_job.csv", gpus_per_task=gpus_per_task)
        result = gs.simulate(
            cluster,
            trace,
            {"all": options},
            policy,
            default_queue="all",
            no_preemption=True,
            preemptible=True,
        )
    summary = result.summary()
    assert summary["jobs"] == 60 and result.column("end_s").max() == end
    assert (round(summary["jct_s"]["mean"], 4), round(summary["queue_s"]["mean"], 4)) == (
        jct,
        queue,
    )


def test_fifo_waits_as_long_as_helios_says(shared):
    # Two months of one virtual cluster of Philly on three machines of eight GPUs.
    folder = found(shared, "philly")
    with open(folder / "reference_results.csv") as file:
        published = {
            row["policy"]: row for row in csv.DictReader(file)
            if (row["config"], row["vc"]) == ("tight", "11cb48")
        }["fifo"]
    jobs = gs.Trace.read(folder / "jobs_all.csv.gz").query("queue == '11cb48' and submit_s >= 0")
    jobs = jobs.select(jobs.column("submit_s") <= 61 * 86400)
    with gs.Cluster.uniform(nodes=3, gpus=8) as machines:
        summary = gs.simulate(machines, jobs, policy="fifo", record=()).summary()
    assert summary["jobs"] == 11897
    assert round(summary["queue_s"]["mean"], 3) == float(published["avg_queue"])
    assert round(summary["jct_s"]["mean"], 3) == float(published["avg_jct"])
