# SPDX-License-Identifier: Apache-2.0
"""Gantt charts and heat maps: what was not free, large ones, lanes. The tests look at objects of
figures, not at pixels.
"""

import pickle
import random
import re

import numpy
import pytest
from picture_support import QUEUES, legend_of, trace_of

import gangsched as gs
from gangsched import report
from gangsched.viz import blocked, load
from gangsched.viz.lanes import lanes

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def cluster():
    return gs.Cluster.uniform(nodes=4, gpus=8)


@pytest.fixture(scope="module")
def result(cluster):
    return gs.simulate(cluster, trace_of(160), QUEUES)


@pytest.fixture(scope="module")
def repaired(cluster):
    """A day with a node that was down, and two reserved nodes."""
    with gs.Simulation(cluster, trace_of(60), QUEUES) as simulation:
        simulation.reserve(
            name="talk", queue="research", nodes=["n2", "n3"], start_s=36 * 3600,
            duration_s=6 * 3600,
        )
        simulation.set_node("n1", "down", at_s=20 * 3600)
        simulation.set_node("n1", "up", at_s=30 * 3600)
        simulation.run()
        return simulation.result()


# ---- what was not free -------------------------------------------------------------------------


def test_down_nodes_and_reservations_are_known(repaired):
    hour = 3600.0
    found = {(one.what, one.name, one.node): (one.begin_s, one.end_s)
             for one in blocked.blocked(repaired)}
    assert found == {
        ("down", "", "n1"): (20 * hour, 30 * hour),
        ("reserved", "talk", "n2"): (36 * hour, 42 * hour),
        ("reserved", "talk", "n3"): (36 * hour, 42 * hour),
    }


def test_a_cancelled_reservation_ends(cluster):
    with gs.Simulation(cluster, trace_of(30), QUEUES) as simulation:
        simulation.reserve(name="r", nodes=["n3"], start_s=7200, duration_s=7200)
        simulation.run(until_s=9000)
        simulation.cancel_reservation("r")
        simulation.run()
        found = simulation.result()
    (span,) = blocked.blocked(found)
    assert (span.what, span.begin_s, span.end_s) == ("reserved", 7200, 9000)


def test_nodes_that_fail_are_down_as_long_as_the_timeline_says(cluster):
    found = gs.simulate(
        cluster, trace_of(100), QUEUES, node_mtbf_s=2 * 86400, node_repair_s=5000, seed=5
    )
    down = sum(one.end_s - one.begin_s for one in blocked.blocked(found))
    line = found.timeline
    lasts = numpy.diff(numpy.append(line.at_s, found.info.now_s))
    assert down > 0 and down == pytest.approx(float(((4 - line.nodes_up) * lasts).sum()))


def test_a_node_that_was_never_up_is_down_from_the_begin(cluster):
    with cluster.copy() as made:
        made.set_state("n3", "down")
        made.drain("n0")
        found = gs.simulate(made, trace_of(20))
    spans = blocked.blocked(found)
    assert {(one.what, one.node) for one in spans} == {("down", "n3"), ("draining", "n0")}
    assert all(one.end_s == found.info.now_s for one in spans)


def test_nothing_runs_again_where_all_nodes_were_free(result, monkeypatch):
    monkeypatch.setattr(blocked, "_seen", None)
    result._tables.pop(blocked._KEY, None)
    assert blocked.blocked(result) == []


def test_what_was_not_free_is_hatched_and_in_the_legend(repaired):
    axes = repaired.gantt()
    hatched = {one.get_label(): one for one in axes.collections if one.get_hatch()}
    assert set(hatched) == {"node down", "reserved"}
    legend = legend_of(axes)
    assert legend["node down"].get_hatch() != legend["reserved"].get_hatch()
    day = 86400.0
    (down,) = hatched["node down"].get_paths()
    assert down.get_extents().x0 * day == pytest.approx(20 * 3600 - axes_begin(repaired), abs=1)
    assert down.get_extents().y0 == 8 and down.get_extents().y1 == 16
    assert len(hatched["reserved"].get_paths()) == 2
    boxes = [one for one in axes.collections if not one.get_hatch()]
    assert all(one.get_zorder() < boxes[0].get_zorder() for one in hatched.values())


def axes_begin(result):
    return float(result.allocations.begin_s.min())


def test_a_result_that_cannot_run_again_says_that_it_does_not_know(cluster):
    policy = gs.lowest_first(lambda view: view.run_s)
    with gs.Simulation(cluster, trace_of(30), policy=policy) as one:
        one.set_node("n1", "down", at_s=3600)
        one.run()
        found = pickle.loads(pickle.dumps(one.result()))
    axes = found.gantt()
    assert "nodes down or reserved: not known" in legend_of(axes)
    assert "are not shown" in report.html(found, worst_waits=0)


def test_a_heat_map_is_hatched_too(repaired):
    axes = repaired.gantt(heat=True)
    assert {one.get_label() for one in axes.collections if one.get_hatch()} == {
        "node down", "reserved",
    }


def test_the_report_hatches_and_says_so(repaired, result):
    page = report.html(repaired, worst_waits=0)
    assert page.count('class="hatch"') == 2 and "what is hatched was not" in page
    assert '<i class="hdown">' in page and '<i class="hreserved">' in page
    plain = report.html(result, worst_waits=0)
    assert 'class="hatch"' not in plain and "What is blank was free." in plain


@pytest.mark.parametrize("slope", [1, -1])
def test_a_hatching_stays_in_its_frame(slope):
    from gangsched.report.allocations import hatching

    path = hatching(10.0, 40.0, 5.0, 25.0, (slope,))
    lines = re.findall(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", path)
    assert len(lines) >= 6
    for x0, y0, x1, y1 in (map(float, one) for one in lines):
        assert 10 <= x0 < x1 <= 40 and min(y0, y1) >= 4.9 and max(y0, y1) <= 25.1
        assert (y1 - y0) / (x1 - x0) == pytest.approx(-slope, abs=0.05)


# ---- large charts ------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes, users, heat", [(12, 20, False), (13, 20, True), (12, 21, True)])
def test_many_lanes_or_colours_become_a_heat_map(nodes, users, heat):
    jobs = [{"submit_s": 60 * i, "run_s": 900, "gpu": 8, "user": "u%d" % (i % users)}
            for i in range(120)]
    axes = gs.simulate(gs.Cluster.uniform(nodes=nodes, gpus=8), gs.Trace(jobs)).gantt(color="user")
    assert (axes.get_title() == "GPUs in use, of %d nodes" % nodes) == heat
    bars = [one for one in axes.figure.axes if one is not axes]
    assert [one.get_ylabel() for one in bars] == (["GPUs in use (%)"] if heat else [])


def test_a_heat_map_has_the_area_of_the_allocations(result):
    shown = lanes(result)
    stop = numpy.where(numpy.isnan(shown.end_s), result.info.now_s, shown.end_s)
    found = load.load(shown, stop, 0.0, result.info.now_s)
    rows = result.allocations
    used = ((rows.end_s - rows.begin_s) * rows.gpus).sum()
    assert found.part.shape == (4, 240)
    assert found.part.sum() * 8 * result.info.now_s / 240 == pytest.approx(used)
    for i, node in enumerate(result.nodes):
        mine = rows[rows.node == node]
        area = ((mine.end_s - mine.begin_s) * mine.gpus).sum()
        assert found.part[i].sum() * 8 * result.info.now_s / 240 == pytest.approx(area)


def test_neighbouring_nodes_share_a_row_of_a_large_heat_map():
    jobs = [{"submit_s": i, "run_s": 300, "gpu": 8} for i in range(500)]
    found = gs.simulate(gs.Cluster.uniform(nodes=250, gpus=8), gs.Trace(jobs))
    shown = lanes(found)
    made = load.load(shown, shown.end_s, 0.0, found.info.now_s)
    assert len(made.names) == 100 and made.first[0] == 0 and made.first[-1] == 250
    assert made.names[0] == "n0 to n1" and made.names[-1].endswith(" to n249")


def test_no_lane_is_beyond_the_cluster():
    """Jobs with shares of cores: the machine has 4 cores, and 8 half ones are all of it."""
    draw = random.Random(11)
    jobs = [
        {"submit_s": draw.randrange(3000), "run_s": draw.randrange(1, 900),
         "cpu": draw.choice([0.5, 0.25, 1, 1.5])}
        for _ in range(300)
    ]
    with gs.Cluster([{"name": "a", "cpus": 4}, {"name": "b", "cpus": 3}]) as made:
        found = gs.simulate(made, gs.Trace(jobs))
    shown = lanes(found, shares=True)
    assert shown.total == 7 and shown.nodes == {"a": (0, 4), "b": (4, 7)}
    for node, (low, high) in enumerate(shown.nodes.values()):
        mine = shown.node == node
        assert (shown.low[mine] >= low).all() and (shown.high[mine] <= high).all()
    area = ((shown.high - shown.low) * (shown.end_s - shown.begin_s)).sum()
    rows = found.allocations
    assert area == pytest.approx(((rows.end_s - rows.begin_s) * rows.cpus).sum())
    axes = found.gantt()
    assert axes.get_ylim() == (7, 0)
