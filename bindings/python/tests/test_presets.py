# SPDX-License-Identifier: Apache-2.0
"""Presets: each runs, on one queue and on a tree, and gives what was published."""

import csv
import pickle

import pytest

import gangsched as gs

#: Published averages over two months of a virtual cluster of Philly, three nodes of 8 GPUs.
PHILLY = {"philly-fifo": "fifo", "philly-sjf": "sjf", "philly-srtf": "srtf", "tiresias": "tiresias"}


def jobs(count=60):
    return gs.Trace(
        {
            "submit_s": 40 * i,
            "run_s": 300 + (i * 7919) % 4000,
            "time_limit_s": 5000,
            "queue": "ab"[i % 2],
            "count": 1 + i % 4,
            "gpu": 1 + i % 3,
        }
        for i in range(count)
    )


@pytest.mark.parametrize("name", list(gs.presets))
def test_a_preset_is_a_mapping_of_arguments(name):
    preset = gs.presets[name]
    assert preset.name == name and preset.text.endswith(".") and len(preset.source) > 20
    assert name in repr(preset) and name in repr(gs.presets)
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        one = gs.simulate(cluster, jobs(), **preset)
        assert one.summary()["jobs"] == 60 and one.summary()["unfinished"] == 0
        tree = preset.on({"a": {"guaranteed": {"gpu": 8}, "order": "shortest"}, "b": {}})
        assert tree["queues"]["a"]["order"] == "shortest"  # its own stays
        assert tree["queues"]["b"].items() >= preset.members.items()
        assert gs.simulate(cluster, jobs(), **tree).summary()["unfinished"] == 0
        again = gs.simulate(cluster, jobs(), **pickle.loads(pickle.dumps(dict(preset))))
        assert again == one


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(gs.NotFound, match="no preset 'slurm'.*slurm-default"):
        gs.presets["slurm"]
    assert "slurm" not in gs.presets and len(gs.presets) == len(list(gs.presets)) >= 7


def test_presets_are_policies_of_a_comparison():
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        both = {name: gs.presets[name] for name in ("philly-fifo", "philly-srtf")}
        found = gs.compare(both, cluster, jobs()).table
    assert found.wait_s_mean["philly-srtf"] < found.wait_s_mean["philly-fifo"]


@pytest.mark.parametrize("name", list(PHILLY))
def test_presets_give_the_published_averages(shared, name):
    folder = shared / "data" / "philly"
    if not folder.exists():
        pytest.skip("no published data at %s" % folder)
    with open(folder / "reference_results.csv") as file:
        published = {
            row["policy"]: row for row in csv.DictReader(file)
            if (row["config"], row["vc"]) == ("tight", "11cb48")
        }[PHILLY[name]]
    trace = gs.Trace.read(folder / "jobs_all.csv.gz").query("queue == '11cb48' and submit_s >= 0")
    trace = trace.select(trace.column("submit_s") <= 5270340)
    nodes = [{"name": "n%d" % i, "gpus": 8, "cpus": 64} for i in range(3)]
    with gs.Cluster(nodes, policy="first") as machines:
        summary = gs.simulate(machines, trace, record=(), **gs.presets[name]).summary()
    # Where jobs are preempted, the reference decides in steps of a second (simulators.sh).
    exact = name in ("philly-fifo", "philly-sjf")
    for ours, theirs in (("queue_s", "avg_queue"), ("jct_s", "avg_jct")):
        assert summary[ours]["mean"] == pytest.approx(
            float(published[theirs]), abs=0.0005 if exact else None, rel=None if exact else 0.005
        )
    assert summary["preemptions"] == pytest.approx(int(published["preemptions"]), rel=0.005)


def test_slurm_by_default_keeps_planned_starts_and_yarn_passes_the_head():
    head = [
        {"submit_s": 0, "run_s": 1000, "time_limit_s": 1000, "gpu": 6},
        {"submit_s": 1, "run_s": 1000, "time_limit_s": 1000, "gpu": 8},  # waits
        {"submit_s": 2, "run_s": 2000, "time_limit_s": 2000, "gpu": 2},  # would delay it
        {"submit_s": 3, "run_s": 900, "time_limit_s": 900, "gpu": 2},  # does not
    ]
    with gs.Cluster.uniform(nodes=1, gpus=8) as cluster:
        slurm = gs.simulate(cluster, gs.Trace(head), **gs.presets["slurm-default"])
        yarn = gs.simulate(cluster, gs.Trace(head), **gs.presets["yarn-capacity"])
        fifo = gs.simulate(cluster, gs.Trace(head), **gs.presets["philly-fifo"])
    assert slurm.column("start_s").tolist() == [0, 1000, 2000, 3]
    assert yarn.column("start_s").tolist()[2] == 2
    assert fifo.column("start_s").tolist() == [0, 1000, 2000, 2000]


def test_kai_reclaims_and_yarn_by_default_does_not():
    trace = gs.Trace(
        [
            {"submit_s": 0, "run_s": 10000, "gpu": 8, "queue": "b", "preemptible": True},
            {"submit_s": 100, "run_s": 1000, "gpu": 8, "queue": "a"},
        ]
    )
    tree = {"a": {"guaranteed": {"gpu": 8}}, "b": {}}
    with gs.Cluster.uniform(nodes=1, gpus=8) as cluster:
        kai = gs.simulate(cluster, trace, **gs.presets["kai"].on(tree))
        yarn = gs.simulate(cluster, trace, **gs.presets["yarn-capacity"].on(tree))
    assert kai.column("start_s")[1] == 100 and yarn.column("start_s")[1] == 10000
