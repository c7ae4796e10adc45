# SPDX-License-Identifier: Apache-2.0
"""Colours, units, titles and numbers of pictures; plans and forecasts; no texts that collide."""

import random
import re

import numpy
import pytest
from picture_support import QUEUES, collisions, legend_of, outside, trace_of

import gangsched as gs
from gangsched import report
from gangsched.viz import colours, load

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
    goals = ["mean wait of research", "mean wait of production"]
    for count in (1, 2):
        tuned = gs.tune(
            trace_of(60), cluster, QUEUES, goal=goals[:count],
            vary={"queues.*.order": ["priority", "shortest"],
                  "queues.production.guaranteed.gpu": [0, 24]},
        )
        yield "tuned %d" % count, [tuned.plot()]
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


def test_lines_of_a_comparison_have_the_colours_of_the_palette(cluster):
    found = gs.compare(["fifo", "first-fit", "sjf", "srtf"], cluster, trace_of(60))
    axes = found.cdf("jct_s")
    assert [line.get_color() for line in axes.lines] == list(colours.PALETTE[:4])
    assert list(legend_of(axes)) == list(found)


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
    cells = re.findall(r'<td style="([^"]*)"', html)
    assert all("padding" in style for style in cells if "opacity" not in style) and len(cells) == 6


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


def svg_texts(svg):
    """Texts of a picture with their boxes, of letters that are 0.58 of their size wide."""
    for tag, said in re.findall(r"<text ([^>]*)>([^<]*)</text>", svg):
        if "rotate" in tag:
            continue
        x, y = (float(re.search(r'\b%s="([-\d.]+)"' % name, tag)[1]) for name in "xy")
        wide, size = 0.58 * 11.5 * len(said), 11.5
        anchor = re.search(r'text-anchor="(\w+)"', tag)[1]
        left = x - {"end": wide, "middle": wide / 2, "start": 0}[anchor]
        yield said, left, left + wide, y - 0.75 * size, y + 0.2 * size


@pytest.mark.parametrize("days", [0.02, 0.4, 3, 40])
def test_texts_of_a_report_do_not_collide(cluster, days):
    found = gs.compare(["fifo", "sjf"], cluster, trace_of(60, days=days))
    pages = [report.html(found), report.html(found["fifo"], worst_waits=0)]
    drawn = [svg for page in pages for svg in re.findall(r"<svg class=\"chart\".*?</svg>", page)]
    assert len(drawn) >= 15
    for svg in drawn:
        width = int(re.search(r'viewBox="0 0 (\d+)', svg)[1])
        boxes = list(svg_texts(svg))
        for i, (said, x0, x1, y0, y1) in enumerate(boxes):
            assert x0 > -16 and x1 < width + 16, (said, width)
            for other, a0, a1, b0, b1 in boxes[i + 1 :]:
                apart = min(x1, a1) <= max(x0, a0) or min(y1, b1) <= max(y0, b0)
                assert apart, (said, other, width)


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
        for rows in (simulation.plan(), simulation.what_if({"a": None})):
            with pytest.raises(gs.InvalidArgument):
                rows.plot()
        with simulation.forecast() as ahead:
            with pytest.raises(gs.InvalidArgument, match="no job waits"):
                ahead.run().plot()
