# SPDX-License-Identifier: Apache-2.0
"""Use by group: the groups add up to what was in use, at each instant."""

import random

import numpy
import pytest

import gangsched as gs

QUEUES = {
    "a": {"guaranteed": {"gpu": 8}, "limit": {"gpu": 12}},
    "b": {"weight": 2},
    "idle": {"limit": {"cpu": 16}},
}


def trace(seed, jobs=120):
    draw = random.Random(seed)
    rows = [
        {
            "submit_s": draw.randrange(40000),
            "run_s": draw.randrange(60, 9000),
            "queue": draw.choice("ab"),
            "user": "u%d" % draw.randrange(12),
            "count": draw.choice([1, 2, 4]),
            "gpu": draw.choice([0.3, 0.5, 1]),
            "cpu": draw.choice([1, 2]),
        }
        for _ in range(jobs)
    ]
    return gs.Trace(sorted(rows, key=lambda row: row["submit_s"]))


@pytest.fixture(scope="module", params=[1, 20261127])
def result(request):
    cluster = gs.Cluster()
    for i, model in enumerate(["A100", "A100", "H100"]):
        cluster.add(name="n%d" % i, gpus=8, cpus=32, gpu_model=model)
    return gs.simulate(cluster, trace(request.param), QUEUES)


@pytest.mark.parametrize("by", ["queue", "user", "model"])
@pytest.mark.parametrize("of", ["gpus", "cpus"])
def test_the_groups_add_up_to_the_timeline(result, by, of):
    table = result.timeline_by(by, of)
    assert table.at_s.is_monotonic_increasing and table.at_s.is_unique
    groups = table.drop(columns="at_s")
    assert (groups >= 0).all().all() and groups.columns.name == by
    whole = result.timeline
    at = numpy.union1d(table.at_s, whole.at_s)

    def level(times, values):
        place = numpy.searchsorted(times, at, side="right") - 1
        return numpy.where(place < 0, 0.0, numpy.asarray(values)[numpy.maximum(place, 0)])

    assert level(table.at_s, groups.sum(axis=1)) == pytest.approx(level(whole.at_s, whole[of]))


def test_a_group_is_what_its_jobs_have(result):
    table = result.timeline_by("user")
    jobs = result.jobs
    rows = result.allocations
    user = sorted(set(jobs.user))[3]
    mine = rows[rows["index"].map(jobs.user) == user]
    for at in list(table.at_s)[::7]:
        running = mine[(mine.begin_s <= at) & (at < mine.end_s)]
        assert table.loc[table.at_s == at, user].iloc[0] == pytest.approx(running.gpus.sum())
    assert set(result.timeline_by("model").columns) <= {"at_s", "A100", "H100"}


def test_wrong_arguments_are_named(result):
    with pytest.raises(gs.InvalidArgument, match="by: there is no group"):
        result.timeline_by("project")
    with pytest.raises(gs.InvalidArgument, match="of: there is no amount"):
        result.timeline_by("user", "fun")
    bare = gs.simulate(gs.Cluster.uniform(nodes=1, gpus=8), gs.Trace(), record=())
    with pytest.raises(gs.InvalidArgument, match="no allocations"):
        bare.timeline_by()
    with pytest.raises(gs.InvalidArgument, match="2 are needed"):
        result.plot(by="queue", axes=[None])


def test_a_picture_a_queue_has_its_guarantee_and_limit(result):
    from matplotlib import pyplot

    axes = result.plot(by="queue")
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b"]
    lines = [(line.get_label(), line.get_ydata()[0]) for line in axes[0].lines]
    assert lines == [("guaranteed", 8), ("limit", 12)] and not axes[1].lines
    assert len({ax.get_ylim() for ax in axes}) == 1 and axes[0].get_ylim()[1] > 12
    assert axes[-1].get_xlabel() == "time (hours)"
    chart = result.gantt(color="queue")
    legend = {one.get_label(): one.get_facecolor()[:3] for one in chart.get_legend().get_patches()}
    for ax in axes:
        assert tuple(ax.patches[0].get_facecolor()[:3]) == legend[ax.get_title(loc="left")]
    users = result.plot(by="user", title="")
    assert len(users) == 9 and users[-1].get_title(loc="left") == "all others"
    pyplot.close("all")
