# SPDX-License-Identifier: Apache-2.0
"""Pictures say what is true, in units, without collisions; the tests look at objects of figures."""

import random
import re

import numpy
import pytest
from picture_support import collisions, legend_of, outside

import gangsched as gs
from gangsched import report
from gangsched.viz import blocked, colours, load
from gangsched.viz.lanes import lanes

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    pyplot.close("all")


def trace_of(count, seed=3, users=6, days=3, sizes=(1, 2, 4, 8)):
    draw = random.Random(seed)
    return gs.Trace([
        {
            "submit_s": round(draw.uniform(0, days * 86400)),
            "run_s": round(draw.lognormvariate(8.2, 1)),
            "count": draw.choice([1, 1, 2]), "gpu": draw.choice(sizes),
            "queue": draw.choice(["research", "production"]),
            "user": "u%d" % draw.randrange(users),
        }
        for _ in range(count)
    ])


QUEUES = {"production": {"guaranteed": {"gpu": 24}, "limit": {"gpu": 28}}, "research": {}}


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


@pytest.fixture(scope="module")
def lab():
    draw = random.Random(5)
    queues = {"lab": {"backfill": "conservative"}, "course": {}}
    with gs.Simulation(gs.Cluster.uniform(nodes=4, gpus=8), queues=queues) as simulation:
        for i in range(20):
            simulation.submit(
                name="job%d" % i, queue="lab", count=draw.choice([1, 2, 3]),
                gpu=draw.choice([2, 4, 8]), run_s=3600, time_limit_s=draw.randrange(3600, 20000),
            )
        simulation.reserve(
            name="talk", queue="course", nodes=["n1", "n2"], start_s=30000, duration_s=7200
        )
        simulation.run(until_s=600)
        yield simulation


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


# ---- colours -----------------------------------------------------------------------------------


def test_a_queue_has_one_colour_in_all_pictures(result):
    from matplotlib.colors import to_hex

    chart = {said: to_hex(one.get_facecolor()) for said, one in legend_of(result.gantt()).items()}
    groups = {ax.get_title(loc="left"): to_hex(ax.patches[0].get_facecolor())
              for ax in result.plot(by="queue")}
    page = report.html(result, worst_waits=0)
    keys = {}
    for code, said in re.findall(r'<i class="k(\d+)"></i>(\w+)<', page):
        keys.setdefault(said, set()).add(colours.COLOURS[int(code)])
    assert set(chart) == {"research", "production"}
    assert groups == chart and keys == {said: {colour} for said, colour in chart.items()}


def seen(colour, matrix):
    """CIE L*a*b* of a colour, as an eye with this matrix of linear sRGB sees it."""
    rgb = numpy.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = numpy.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = numpy.clip(matrix @ linear, 0, 1)
    to_xyz = numpy.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722],
                          [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / [0.9505, 1.0, 1.089]
    x, y, z = numpy.where(xyz > 0.008856, numpy.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return numpy.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


#: Machado, Oliveira and Fernandes 2009, severity 1.
EYES = {
    "normal": numpy.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}


@pytest.mark.parametrize("eye", EYES)
def test_the_first_colours_differ_for_all_eyes(eye):
    labs = [seen(colour, numpy.array(EYES[eye])) for colour in colours.PALETTE[:8]]
    nearest = min(
        numpy.linalg.norm(a - b) for i, a in enumerate(labs) for b in labs[i + 1 :]
    )
    assert nearest > 15
    assert len(set(colours.COLOURS)) == colours.MOST_COLOURS == 20


def test_free_is_dim_and_used_is_strong_on_light_and_dark_pages():
    """The contrast with the page grows with the load; free is nearly the page."""
    from gangsched.viz.node_groups import shade

    def contrast(used, page):
        colour = re.search(r'"(#\w+)"', shade(used))[1]
        part = int(colour[7:9], 16) / 255
        mixed = [part * int(colour[i : i + 2], 16) + (1 - part) * page for i in (1, 3, 5)]
        return abs(numpy.array(mixed) @ [0.2126, 0.7152, 0.0722] - page)

    for page in (255, 20):
        steps = [contrast(used, page) for used in (0, 0.01, 0.5, 1)]
        assert steps == sorted(steps) and steps[0] < 40 and steps[-1] > 80


# ---- units, titles, numbers --------------------------------------------------------------------

UNITS = r"seconds|minutes|hours|days|%|GPUs|cores|jobs|logarithmic|nodes|fraction|over run time"


def pictures(result, cluster, lab):
    found = gs.compare(["fifo", "first-fit", "sjf", "srtf"], cluster, trace_of(60))
    yield "plot", result.plot()
    yield "by queue", result.plot(by="queue")
    yield "by user", result.plot(by="user")
    yield "gantt", [result.gantt()]
    yield "heat", [result.gantt(heat=True)]
    yield "part", [result.gantt(nodes=["n0"], color="job", begin_s=86400, end_s=90000)]
    yield "cdf", [result.cdf()]
    yield "slowdown", [result.cdf("slowdown")]
    yield "gpus", [result.cdf("gpus")]
    yield "compared", [found.cdf("jct_s")]
    yield "bars", list(found.plot())
    yield "plan", [lab.plan().plot()]
    with lab.forecast(samples=20, run_time=lambda job, sample, luck: 2000 + 9000 * luck) as ahead:
        yield "forecast", [ahead.run().plot()]
    yield "what if", [lab.what_if({"now": None, "n": lambda ahead: ahead.drain("n0")}).plot()]


@pytest.mark.parametrize("wide", [6.4, 4.3])  # 6.4: the default of matplotlib, drawn 9 inches wide
def test_texts_do_not_collide_and_axes_have_units(result, cluster, lab, wide):
    found = []
    with pyplot.rc_context({"figure.figsize": (wide, 3.2)}):
        for name, axes in pictures(result, cluster, lab):
            figure = axes[0].figure
            wrong = collisions(figure) + outside(figure)
            found += [(name, wrong)] if wrong else []
            assert figure.get_size_inches()[0] == (9 if wide == 6.4 else wide), name
            if name != "bars":
                assert re.search(UNITS, axes[-1].get_xlabel()), (name, axes[-1].get_xlabel())
            assert all(one.get_ylabel() for one in axes), name
            pyplot.close(figure)
    assert found == []


def test_the_axis_of_a_cdf_is_logarithmic_with_both_titles(result):
    axes = result.cdf()
    assert axes.get_xscale() == "log" and axes.get_xlim()[0] == 1
    assert axes.get_xlabel() == "waiting time, at most (logarithmic)"
    assert axes.get_ylabel() == "fraction of jobs"
    marks = [one.get_text() for one in axes.get_xticklabels()]
    assert marks[0] == "≤ 1 s" and "1 h" in marks and not any("e" in one[:-4] for one in marks)
    x, y = axes.lines[0].get_data()
    waits = result.column("wait_s")
    for limit in (60, 3600, 86400):
        assert y[numpy.searchsorted(x, limit, side="right") - 1] == pytest.approx(
            (waits <= limit).mean()
        )


def test_every_bar_has_its_number(cluster):
    found = gs.compare(["fifo", "sjf"], cluster, trace_of(60))
    for axes in found.plot(["wait_s_p99", "gpu_utilisation", "preemptions"]):
        assert len(axes.texts) == len(axes.patches) == 2
        for text, bar in zip(axes.texts, axes.patches):
            assert float(text.get_text()) == pytest.approx(bar.get_height(), rel=0.01)
    assert [axes.get_ylabel() for axes in found.plot(["gpu_utilisation", "jain"])] == ["%", "index"]


def test_the_table_of_results_has_hours_and_no_exponents():
    from gangsched.viz.plots import summary_html

    jobs = [{"submit_s": 0, "run_s": 1317190, "gpu": 8} for _ in range(2)]
    found = gs.simulate(gs.Cluster.uniform(1), gs.Trace(jobs))
    html = summary_html({"": found})
    assert "makespan (days)" in html and "30.49" in html and "e+" not in html
    assert "e+" not in repr(found) and "30.5 days" in repr(found)


def test_a_queue_has_a_bar_with_numbers():
    html = gs.Queues(QUEUES)._repr_html_()
    assert "- / 24 / 28" in html and "guarantee" in html


def test_curves_of_many_samples_are_binned_and_keep_their_area():
    jobs = [{"submit_s": 40 * i, "run_s": 30 + i % 50, "gpu": 1 + i % 8} for i in range(3000)]
    found = gs.simulate(gs.Cluster.uniform(2), gs.Trace(jobs))
    assert len(found.timeline) > 3000
    above, below = found.plot()
    most, mean = (one.get_data() for one in above.patches)
    assert len(mean.values) == load.BINS and (most.values >= mean.values - 1e-9).all()
    line = found.timeline
    area = float((line.gpus[:-1].to_numpy() * numpy.diff(line.at_s)).sum())
    hours = float((mean.values * numpy.diff(mean.edges)).sum())
    assert above.get_figure() and below.get_xlabel() == "time (hours)"
    assert hours * 3600 == pytest.approx(area)
    assert set(legend_of(above)) == {"maximum", "mean", "capacity"}


def test_policies_are_small_multiples_in_a_report(cluster):
    found = gs.compare(["fifo", "first-fit", "sjf", "srtf", "las"], cluster, trace_of(60))
    page = report.html(found)
    use = page[page.index("<h2>Utilisation") : page.index("<h2>Queue length")]
    large = use[: use.index('class="small"')]
    assert large.count("<svg") == 5 and large.count('class="line') == 5
    for label in found:
        assert "</i>%s</p><svg" % label in large


# ---- plans and forecasts -----------------------------------------------------------------------


def test_a_plan_shows_every_item_once_a_node(lab):
    plan = lab.plan()
    axes = plan.plot()
    ahead = [item for item in plan if item.end_s is None or item.end_s > plan.now_s]
    assert len(axes.patches) == sum(len(item.nodes) for item in ahead)
    assert {item.what for item in plan} == {"running", "start", "reservation"}
    assert set(legend_of(axes)) == {"running, until its latest end", "planned start", "reservation"}
    boxes = [one.get_window_extent() for one in axes.patches]
    for i, one in enumerate(boxes):  # items of one node at one time have different lines
        for other in boxes[i + 1 :]:
            wide = min(one.x1, other.x1) - max(one.x0, other.x0)
            high = min(one.y1, other.y1) - max(one.y0, other.y0)
            assert wide < 0.5 or high < 0.5
    hatched = [one for one in axes.patches if one.get_hatch()]
    assert [one.get_x() for one in hatched] == [pytest.approx((30000 - 600) / 3600)] * 2
    assert [one.get_text() for one in axes.get_yticklabels()] == ["n0", "n1", "n2", "n3"]


def test_a_forecast_shows_starts_and_ranges(lab):
    with lab.forecast(samples=20, run_time=lambda job, sample, luck: 2000 + 9000 * luck) as ahead:
        rows = ahead.run()
    axes = rows.plot()
    shown = sorted((row for row in rows), key=lambda row: row.start_s)
    assert axes.lines[0].get_xdata() == pytest.approx(
        [(row.start_s - 600) / 3600 for row in shown]
    )
    assert [one.get_text() for one in axes.get_yticklabels()] == [
        "%s (lab)" % row.name for row in shown
    ]
    ranges = axes.collections[0].get_segments()
    wide = [row for row in shown if row.high_s > row.low_s]
    assert [list(one[:, 0]) for one in ranges] == [
        pytest.approx([(row.low_s - 600) / 3600, (row.high_s - 600) / 3600]) for row in wide
    ]


def test_a_job_without_a_start_says_why(lab):
    with lab.forecast(horizon_s=4000) as ahead:
        axes = ahead.run().plot()
    assert "not before the horizon" in {one.get_text() for one in axes.texts}


def test_a_what_if_compares_its_cases(lab):
    table = lab.what_if({"as it is": None, "drained": lambda ahead: ahead.drain("n0")})
    axes = table.plot()
    assert list(legend_of(axes)) == ["as it is", "drained"]
    for line in axes.lines[:2]:
        case = table[line.get_label()].sort_values()
        assert sorted(line.get_xdata() * 3600) == pytest.approx(list(case), nan_ok=True)
    bars = table.plot.bar()  # what pandas draws is still there
    assert len(bars.patches) == 2 * len(table)


def test_nothing_to_draw_is_an_error():
    with gs.Simulation(gs.Cluster.uniform(1)) as simulation:
        for draw in (lambda: simulation.plan().plot(), lambda: simulation.what_if({"a": None}).plot()):
            with pytest.raises(gs.InvalidArgument):
                draw()
        with simulation.forecast() as ahead, pytest.raises(gs.InvalidArgument, match="no job waits"):
            ahead.run().plot()
