# SPDX-License-Identifier: Apache-2.0
"""Clusters: construction, description, changes, allocations, display."""

import gzip
import json
import pickle

import numpy as np
import pytest

import gangsched as gs


@pytest.fixture
def cluster():
    with gs.Cluster.uniform(
        nodes=8, gpus=8, cpus=64, mem_gib=512, racks=2, island=4, gpu_model="V100"
    ) as made:
        yield made


# ---- made -------------------------------------------------------------------------------------


def test_uniform_makes_equal_nodes(cluster):
    table = cluster.nodes
    assert list(table.index) == ["n%d" % i for i in range(8)] == cluster.names
    assert (
        set(table.cpus) == {64.0}
        and set(table.mem_mib) == {512 * 1024.0}
        and set(table.gpus) == {8}
    )
    assert list(table["rack"]) == ["r0"] * 4 + ["r1"] * 4 and set(table.gpu_model) == {"V100"}
    assert (
        cluster.levels == ["rack"] and len(cluster) == 8 and "n3" in cluster and "n8" not in cluster
    )


def test_islands_of_uniform_are_kept_together(cluster):
    taken = cluster.allocate(gpu=4, same="island").tasks[0]["devices"]
    assert taken in ([0, 1, 2, 3], [4, 5, 6, 7])


def test_a_cluster_survives_a_round_trip_through_json(cluster):
    again = gs.Cluster.from_json(cluster.to_json())
    assert again.to_dict() == cluster.to_dict()
    assert again.nodes.equals(cluster.nodes)


def test_a_case_is_read_from_dict_text_and_file(tmp_path):
    case = {
        "levels": ["rack"],
        "nodes": [{"name": "a", "cpus": 1.5, "topology": {"rack": "r"}}],
        "queues": [],
        "jobs": [],
    }
    path = tmp_path / "case.json"
    path.write_text(json.dumps([case]))
    for source in (case, json.dumps(case), path, str(path)):
        with gs.Cluster.from_json(source) as made:
            assert made.node("a")["cpus"] == 1.5


def test_kinds_pools_and_partitions_are_kept():
    with gs.Cluster(
        [
            {"name": "a", "gpus": 1, "amounts": {"nic": 2}, "partitions": ["p"]},
            {"name": "b", "max_tasks": 3},
        ],
        kinds=[
            {"name": "nic"},
            {"name": "licence", "scope": "cluster", "capacity": 5, "unit": "seats"},
        ],
        partitions=[{"name": "p", "mode": "exclusive"}],
    ) as made:
        assert [kind["name"] for kind in made.kinds][:2] == ["nic", "licence"]
        again = made.copy()
        assert again.to_dict() == made.to_dict()
        assert again.to_dict()["partitions"] == [{"name": "p", "mode": "exclusive"}]
        again.allocate(gpu=1, partition="p", amounts={"nic": 1, "licence": 2})
        assert [kind["available"] for kind in again.kinds][1] == 3
        with pytest.raises(gs.NeverFits):  # "b" serves requests without a partition, and has no GPU
            made.allocate(gpu=1)


def test_max_tasks_of_a_node_is_enforced():
    with gs.Cluster([{"name": "a", "cpus": 64, "max_tasks": 2}]) as made:
        made.allocate(count=2)
        assert not made.fits(count=1) and made.fits_ever(count=2) and not made.fits_ever(count=3)


def test_hwloc_describes_this_machine_and_others(shared):
    with gs.Cluster.from_hwloc(name="here") as this:
        assert this.node("here")["cpus"] >= 1
    with gs.Cluster.from_hwloc(synthetic="pack:2 numa:1 core:8 pu:2", count=3, name="s") as made:
        assert made.names == ["s0", "s1", "s2"] and set(made.nodes.cpus) == {16.0}
    machine = next(iter(sorted((shared / "data").glob("**/*.xml"))), None)
    if machine is not None:
        with gs.Cluster.from_hwloc(machine, count=2) as made:
            assert len(made) == 2 and made.totals()["cpus"] > 0


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"xml": "/nonexistent.xml"}, gs.InputOutput),
        ({"synthetic": "no such thing"}, gs.GangError),
        ({"xml": "a", "synthetic": "b"}, gs.InvalidArgument),
        ({"count": 0}, gs.OutOfRange),
    ],
)
def test_hwloc_errors_name_the_cause(arguments, error):
    with pytest.raises(error):
        gs.Cluster.from_hwloc(**arguments)


def test_tables_are_read_compressed_or_not(tmp_path):
    text = "sn,cpu_milli,memory_mib,gpu,model,rack,zone\nopenb-1,96000,786432,2,T4,r1,\nopenb-2,500,1024,0,,r2,z\n"
    plain, packed = tmp_path / "nodes.csv", tmp_path / "nodes.csv.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        with gs.Cluster.from_csv(path, levels=["rack"]) as made:
            assert made.nodes.loc["openb-1"][
                ["cpus", "mem_mib", "gpus", "gpu_model", "rack"]
            ].tolist() == [96.0, 786432.0, 2, "T4", "r1"]
            assert made.to_dict()["nodes"][1]["labels"] == {"zone": "z"}
            assert made.node("openb-2")["cpus"] == 0.5


@pytest.mark.parametrize(
    "text, line",
    [
        ("cpus,gpus\n1,1\n", 1),
        ("name,cpus\na,x\n", 2),
        ("name,cpus\na,1\nb,1,2\n", 3),
        ("name,gpus\na,1e999\n", 2),
    ],
)
def test_a_bad_table_names_its_line(tmp_path, text, line):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(gs.ParseError) as caught:
        gs.Cluster.from_csv(path)
    assert caught.value.line == line


def test_the_openb_nodes_are_read(shared):
    path = next(iter((shared / "data").glob("**/openb_node_list_gpu_node.csv*")), None)
    if path is None:
        pytest.skip("no openb data")
    with gs.Cluster.from_csv(path) as made:
        assert len(made) == 1213 and made.totals()["gpus"] == 6212


def test_the_nodes_of_the_spot_trace_are_read(shared):
    path = shared / "data" / "spot_gpu_2026" / "node_info_df.csv.gz"
    if not path.exists():
        pytest.skip("no such data")
    with gs.Cluster.from_csv(path) as made:
        assert (
            len(made) == 4278
            and made.totals()["gpus"] == 10412
            and made.node("2")["gpu_model"] == "A10"
        )
        assert made.node("0")["cpus"] == 192 and len(made._repr_html_()) < 40000


# ---- described and changed --------------------------------------------------------------------


def test_nodes_are_added_changed_and_removed(cluster):
    number = cluster.add(name="x", cpus=2.5, topology={"rack": "r9"})
    assert cluster.node_id("x") == number and cluster.node(number)["name"] == "x"
    cluster.change("x", cpus=4, labels={"a": "b"})
    assert cluster.node("x")["cpus"] == 4.0
    assert cluster.to_dict()["nodes"][-1]["labels"] == {"a": "b"}
    cluster.remove("x")
    assert "x" not in cluster
    with pytest.raises(gs.StaleHandle):
        cluster.node(number)


def test_several_nodes_are_added_all_or_none(cluster):
    with pytest.raises(gs.AlreadyExists) as caught:
        cluster.add_many([{"name": "x"}, {"name": "n1"}])
    assert caught.value.path.startswith("nodes[1]") and "x" not in cluster
    assert len(cluster.add_many([{"name": "x"}, {"name": "y"}])) == 2 and cluster.add_many([]) == []


def test_drained_nodes_and_broken_gpus_get_no_tasks(cluster):
    for name in cluster.names[1:]:
        cluster.drain(name)
    cluster.set_gpu_healthy("n0", 7, False)
    assert cluster.node("n0")["gpu_unhealthy"] == [7]
    assert cluster.fits(gpu=7) and not cluster.fits(gpu=8) and cluster.fits_ever(gpu=8)
    cluster.resume("n1")
    assert cluster.fits(gpu=8)
    cluster.set_state("n2", "down")
    again = cluster.copy()
    assert again.nodes.state.tolist() == ["up"] * 2 + ["down"] + ["draining"] * 5
    assert again.node("n0")["gpu_unhealthy"] == [7]
    with pytest.raises(gs.InvalidArgument):
        cluster.set_state("n0", "sleepy")
    with pytest.raises(gs.NotFound):
        cluster.drain("n77")


def test_a_partition_may_become_exclusive(cluster):
    for name in cluster.names:
        cluster.change(name, partitions=["p"])
    cluster.set_partition("p", "exclusive")
    with pytest.raises(gs.NeverFits) as caught:
        cluster.allocate(gpu=1)
    assert caught.value.constraint == "partition"
    assert cluster.copy().to_dict()["partitions"] == [{"name": "p", "mode": "exclusive"}]


# ---- allocated on -----------------------------------------------------------------------------


def test_a_gang_is_allocated_whole_and_released(cluster):
    with cluster.allocate(count=16, gpu=1, cpu=8, same="rack") as job:
        assert len(job.tasks) == 16 and len(job.nodes) == 2 and job.info()["gpus"] == 16.0
        assert cluster.totals()["gpu_free"] == 48.0
        assert (
            job.hosts("horovod") == "n0:8,n1:8" and job.hosts("mpi").splitlines()[0] == "n0 slots=8"
        )
        assert [a.id for a in cluster.allocations] == [job.id]
        assert "16 tasks" in repr(job)
    assert not job.alive and "released" in repr(job) and cluster.totals()["gpu_free"] == 64.0
    with pytest.raises(gs.StaleHandle):
        job.release()
    cluster.check()


def test_a_refusal_names_its_reason(cluster):
    with pytest.raises(gs.NeverFits) as caught:
        cluster.allocate(count=65, gpu=1)
    assert (caught.value.name, caught.value.kind, caught.value.constraint) == (
        "GANG_ENEVER", 2, "kind",
    )
    cluster.allocate(count=60, gpu=1)
    with pytest.raises(gs.DoesNotFit) as caught:
        cluster.allocate(count=5, gpu=1)
    assert not isinstance(caught.value, gs.NeverFits) and caught.value.code == -8
    why = cluster.explain(count=5, gpu=1)
    assert (
        why.answer == "not now" and str(why) == str(caught.value) and why["groups"][0]["fit"] == 4
    )
    assert "groups" in why and len(why) > 3 and cluster.explain(gpu=1).answer == "fits now"


def test_ranks_and_growth_by_all_or_nothing(cluster):
    with cluster.allocate(count=20, min=10, gpu=1) as job:
        ranks = job.ranks()
        assert [rank["rank"] for rank in ranks] == list(range(10))
        assert [rank["task"] for rank in ranks] == [task["task"] for task in job.tasks]
        assert {rank["world_size"] for rank in ranks} == {10}
        assert {rank["nodes"] for rank in ranks} == {len(job.nodes)}
        for rank in ranks:
            on_node = [other for other in ranks if other["node"] == rank["node"]]
            assert rank["local_size"] == len(on_node)
            assert on_node[rank["local_rank"]] is rank
        assert job.grow(4, whole=True) == 4 and job.info()["tasks"] == 14
        with pytest.raises(gs.OutOfRange):
            job.grow(7, whole=True)
        with pytest.raises(gs.GangError):
            job.ranks(group=1)
        assert [rank["group_rank"] for rank in job.ranks(group=0)] == list(range(14))


def test_an_allocation_grows_and_shrinks(cluster):
    job = cluster.allocate(count=20, min=2, gpu=1)
    assert len(job.tasks) == 2
    assert job.grow(5) == 5 and job.info()["tasks"] == 7
    assert "could" in job.explain()[0] or job.explain()
    job.shrink([task["task"] for task in job.tasks[2:4]])
    assert job.info()["tasks"] == 5
    with pytest.raises(gs.DoesNotFit) as caught:
        job.shrink([task["task"] for task in job.tasks[:4]])
    assert caught.value.constraint == "min"
    with pytest.raises(gs.NotFound):
        job.shrink([999])
    assert job.grow(100) == 15
    with pytest.raises(gs.OutOfRange):
        job.grow()
    cluster.check()


def test_groups_have_names_and_shapes(cluster):
    job = cluster.allocate(
        tasks=[{"name": "ps", "count": 2, "cpu": 4}, {"name": "worker", "count": 4, "gpu": 2}]
    )
    assert [task["group"] for task in job.tasks] == ["ps"] * 2 + ["worker"] * 4
    assert job.hosts("plain", group=1).split() == [task["node"] for task in job.tasks[2:]]
    with pytest.raises(gs.InvalidArgument):
        job.hosts("yaml")


@pytest.mark.parametrize(
    "wanted, error, path",
    [
        ({"count": 0}, gs.OutOfRange, "count"),
        ({"gpu": -1}, gs.OutOfRange, "gpu"),
        ({"gpu": "one"}, gs.InvalidArgument, "gpu"),
        ({"gqu": 1}, gs.InvalidArgument, "gqu"),
        ({"same": "zone"}, gs.NotFound, "same"),
        ({"where": "a = "}, gs.ParseError, "where"),
        ({"tasks": [{"count": 1}, {}], "gpu": 1}, gs.NotFound, "gpu"),
        ({"tasks": [{}, {"gpu": -1}]}, gs.OutOfRange, "tasks[1].gpu"),
        ({"policy": "best"}, gs.InvalidArgument, "policy"),
        ({"cpu": float("nan")}, gs.ParseError, "cpu"),
    ],
)
def test_a_wrong_request_names_its_place(cluster, wanted, error, path):
    with pytest.raises(error) as caught:
        cluster.allocate(**wanted)
    assert caught.value.path == path
    cluster.check()


def test_a_request_serves_several_calls_and_clusters(cluster):
    request = gs.Request(count=2, gpu=1)
    assert cluster.allocate(request).info()["tasks"] == 2
    assert cluster.allocate(request, count=3).info()["tasks"] == 3
    assert cluster.allocate(request, min=1).info()["min"] == 1
    assert cluster.allocate({"gpu": 2}, count=1).info()["gpus"] == 2.0
    with gs.Cluster.uniform(1) as other:
        assert other.allocate(request).nodes == ["n0"]
    again = pickle.loads(pickle.dumps(request))
    assert dict(again) == dict(request) and cluster.fits(again)


def test_numbers_of_numpy_are_numbers(cluster):

    assert cluster.allocate(count=np.int64(2), gpu=np.float32(0.5)).info()["gpus"] == 1.0


# ---- scores ------------------------------------------------------------------------------------


def test_a_function_scores_nodes(cluster):
    seen = []

    def last(group, candidates):
        seen.append((group, len(candidates), candidates.node_name[-1]))
        return candidates.node.astype("int64")

    assert cluster.allocate(count=1, gpu=1, score=last).nodes == ["n7"]
    assert seen[0] == (0, 8, "n7")


@pytest.mark.parametrize("scale", [1e-300, 0.25, -1e-9, 1e300])
def test_scores_are_not_rounded(cluster, scale):
    scores = np.array([0.1, 0.2, 0.9, 0.3, -0.5, -0.0, 0.0, 0.5])

    def by_table(group, candidates):
        return scores * scale

    best = int(np.argmax(scores * scale))
    assert cluster.allocate(count=1, gpu=1, score=by_table).nodes == ["n%d" % best]


def test_minus_infinity_excludes_a_node_and_infinity_is_the_best(cluster):
    def table(*values):
        return lambda group, candidates: np.resize(np.array(values), len(candidates))

    assert cluster.allocate(count=1, gpu=1, score=table(1e308, float("inf"))).nodes == ["n1"]
    excluded = [float("-inf")] * 5 + [-1e308] + [float("-inf")] * 2
    assert cluster.allocate(count=1, gpu=1, score=table(*excluded)).nodes == ["n5"]
    with pytest.raises(gs.DoesNotFit):
        cluster.allocate(count=1, gpu=1, score=table(float("-inf")))


def test_nan_is_an_error_that_names_the_node(cluster):
    def bad(group, candidates):
        scores = np.ones(len(candidates))
        scores[3] = float("nan")
        return scores

    with pytest.raises(gs.InvalidArgument, match="NaN for candidate 3, node 'n3'"):
        cluster.allocate(count=1, gpu=1, score=bad)
    cluster.check()


def test_an_exception_in_a_score_function_allocates_nothing(cluster):
    def bad(group, candidates):
        raise KeyError("mine")

    for call in (cluster.allocate, cluster.fits, cluster.explain):
        with pytest.raises(KeyError, match="mine") as caught:
            call(gpu=1, score=bad)
        assert caught.traceback[-1].name == "bad"
    with pytest.raises(gs.InvalidArgument):
        cluster.allocate(gpu=1, score=lambda group, candidates: [1.0])
    with pytest.raises(ValueError):
        cluster.allocate(gpu=1, score=lambda group, candidates: ["x"] * len(candidates))
    assert cluster.totals()["gpu_free"] == 64.0
    cluster.check()


def test_a_score_function_lives_as_long_as_its_allocation(cluster):
    import gc

    def make():
        return cluster.allocate(
            gs.Request(count=4, min=1, gpu=1, score=lambda g, c: c.node.astype("i8"))
        )

    job = make()
    gc.collect()
    assert job.grow(2) == 2 and job.nodes == ["n7"]


# ---- snapshots ---------------------------------------------------------------------------------


def test_a_snapshot_answers_what_if(cluster):
    job = cluster.allocate(count=8, gpu=8)
    with cluster.snapshot() as then:
        assert len(then) == 8 and then.totals()["gpu_free"] == 0 and not then.fits(gpu=1)
        then.release(job)
        assert then.fits(count=64, gpu=1)
        then.place(count=60, gpu=1)
        assert not then.fits(count=5, gpu=1)
        with pytest.raises(gs.DoesNotFit):
            then.place(count=5, gpu=1)
        then.set_state("n0", "down")
        assert then.nodes.state["n0"] == "down" and cluster.node("n0")["state"] == "up"
        with pytest.raises(gs.OutOfRange):
            then.release(job)
        with pytest.raises(gs.InvalidArgument):
            then.set_state("n0", "gone")
        then.retake()
        assert then.totals()["gpu_free"] == 0
        assert repr(then) == "<Snapshot, 8 nodes>"
    assert repr(then) == "<Snapshot, closed>"


# ---- shown -------------------------------------------------------------------------------------


def test_text_and_html_show_allocations_of_nodes(cluster):
    cluster.allocate(count=9, gpu=1)
    cluster.allocate(gpu=0.5)
    cluster.set_gpu_healthy("n3", 0, False)
    cluster.drain("n4")
    text = str(cluster)
    assert (
        "9.5 of 64 GPUs used" in text
        and "n0 ■■■■■■■■" in text
        and "x□□□□□□□" in text
        and "draining" in text
    )
    html = cluster._repr_html_()
    assert html.count("<g transform") == 8 and "http" not in html and "<script" not in html
    assert "rack=r1" in html and repr(cluster).startswith("<Cluster: 8 nodes, 54.5 of 64 GPUs")


def test_names_are_escaped_in_html():
    with gs.Cluster([{"name": "<b>&", "gpus": 1}]) as made:
        assert "<b>" not in made._repr_html_().replace("<b>Cluster</b>", "")


def test_large_clusters_are_summed_up():
    with gs.Cluster.uniform(2000, racks=50) as made:
        made.allocate(count=8, gpu=1, same="node")
        made.set_state("n1999", "down")
        html, text = made._repr_html_(), str(made)
        assert len(html) < 30000 and "http" not in html and "<script" not in html
        assert (
            "rack=r30" in html and "and 19 more" in html and "1 down" in html and "8 of 320" in html
        )
        assert (
            len(text.splitlines()) < 60 and "8/320 GPUs, 40 nodes" in text and "and 3 more" in text
        )
    kinds = [{"name": "a%d" % i, "gpus": 4, "gpu_model": "<V100>"} for i in range(300)]
    kinds += [{"name": "c%d" % i, "cpus": 8} for i in range(200)]
    with gs.Cluster(kinds) as made:
        made.allocate(count=100, cpu=8)
        html, text = made._repr_html_(), str(made)
        assert (
            "4 x &lt;V100&gt;" in html
            and "no GPUs" in html
            and "800 of 1600" in html
            and len(html) < 10000
        )
        assert "800/1600 cores, 200 nodes" in text and "0/1200 GPUs, 300 nodes" in text
    with gs.Cluster.uniform(20000) as made:
        assert "a square 5 nodes" in made._repr_html_() and len(made._repr_html_()) < 10000


def test_a_large_cluster_is_a_small_picture():
    """At the limit of individual drawing, and above it with mixed loads."""
    with gs.Cluster.uniform(128, racks=16) as made:
        made.allocate(count=700, gpu=1)
        assert made._repr_html_().count("<g transform") == 128 and len(made._repr_html_()) < 150000
    with gs.Cluster.uniform(4096) as made:
        for i in range(4096):
            made.allocate(count=1 + i * 5 % 8, gpu=1, same="node", policy="spread")
        assert len(made._repr_html_()) < 60000


def test_one_node_equals_its_row_in_the_table():
    machine = {
        "name": "a",
        "gpus": 2,
        "gpu_model": "T4",
        "topology": {"rack": "r1"},
        "amounts": {"slots": 5},
    }
    with gs.Cluster([machine, {"name": "b"}], levels=["rack"], kinds=[{"name": "slots"}]) as made:
        for name in ("a", "b"):
            row = made.nodes.loc[name].to_dict()
            assert {key: made.node(name)[key] for key in row} == row
        assert (
            made.node("a")["gpu_model"] == "T4"
            and made.node("a")["slots_free"] == 5
            and made.node("a")["rack"] == "r1"
        )


def test_nodes_by_number():
    import numpy

    with gs.Cluster.uniform(2) as made:
        number = made.node("n1")["id"]
        assert made.node(number)["name"] == made.node(numpy.int64(number))["name"] == "n1"
        assert number in made and "n1" in made and numpy.int64(number) in made
        for wrong in (-1, 2**64, 2**40, 12345, numpy.int64(-5)):
            assert wrong not in made
            with pytest.raises((gs.StaleHandle, gs.NotFound)):
                made.node(wrong)
        assert True not in made and None not in made and 1.0 not in made and "" not in made


def test_an_empty_cluster_is_fine():
    with gs.Cluster() as made:
        assert (
            len(made) == 0
            and made.nodes.empty
            and str(made)
            and made._repr_html_()
            and len(made.copy()) == 0
        )
        assert made.allocations == [] and not made.fits_ever(count=1)


# ---- the mix -------------------------------------------------------------------------------


def test_a_copy_has_the_policy_and_the_mix():
    shapes = [{"count": 3, "gpu": 0.5, "cpu": 1}, {"gpu": 2, "gpu_models": ["A"]}]
    with gs.Cluster(
        [{"name": "a", "cpus": 8, "gpus": 2, "gpu_model": "A"}], policy="fgd"
    ) as cluster:
        cluster.set_mix(shapes)
        for again in (
            cluster.copy(),
            pickle.loads(pickle.dumps(cluster)),
            gs.Cluster.from_json(cluster.to_json()),
        ):
            assert again.to_dict()["policy"] == "fgd" and again.to_dict() == cluster.to_dict()
        with gs.Simulation(cluster) as simulation, simulation.fork() as other:
            assert (
                other.cluster.to_dict()["policy"] == "fgd"
                and other._recipe.arguments["mix"] == simulation._recipe.arguments["mix"] == shapes
            )


@pytest.mark.parametrize("wanted, taken", [("A", "b"), ("B", "a")])
def test_the_mix_decides_what_fgd_keeps_free(wanted, taken):
    nodes = [{"name": name.lower(), "cpus": 8, "gpus": 1, "gpu_model": name} for name in "AB"]
    mix = [{"gpu": 1, "cpu": 1, "gpu_models": [wanted]}]
    with gs.Cluster(nodes, policy="fgd") as cluster:
        cluster.set_mix(mix)
        assert cluster.allocate(gpu=0.5).nodes == [taken]
    with gs.Cluster(nodes, policy="fgd") as cluster:
        half = gs.Trace(
            [{"job": "half", "submit_s": 0, "run_s": 1, "count": 1, "gpu": 0.5}]
        )
        assert gs.simulate(cluster, half, mix=mix).allocations.node.tolist() == [taken]
        cluster.set_mix(mix)
        assert gs.simulate(cluster, half).allocations.node.tolist() == [taken]
        cluster.set_mix(None)
        assert cluster.copy()._mix is None


@pytest.mark.parametrize("shapes, error, path", [
    ([{"gpu": 1}, {"gpu": -1}], gs.OutOfRange, "shapes[1].gpu"),
    ([{"colour": 1}], gs.InvalidArgument, "shapes[0].colour"),
    ([{"gpu": 1, "gpu_models": ["A", "A"]}], gs.AlreadyExists, "shapes[0].gpu_models[1]"),
    ([{"tasks": [{"gpu": 1}, {"gpu": 2}]}], gs.InvalidArgument, "shapes[0]"),
    ([{"gpu": 1}] * 4096, gs.LimitReached, "shapes"),
    ([{"gpu": 1, "count": 2**24}] * 2, gs.LimitReached, "shapes"),
])
def test_a_wrong_mix_is_refused_with_its_path(shapes, error, path):
    with gs.Cluster.uniform(1) as cluster:
        cluster.set_mix([{"gpu": 1}])
        with pytest.raises(error) as raised:
            cluster.set_mix(shapes)
        assert raised.value.path.startswith(path) and cluster._mix == [{"gpu": 1}]
        with pytest.raises(error):
            gs.Simulation(cluster, mix=shapes)
