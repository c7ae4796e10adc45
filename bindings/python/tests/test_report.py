# SPDX-License-Identifier: Apache-2.0
"""Reports: one self-contained, well-formed page with the tables' numbers; input is escaped."""

import base64
import gzip
import pickle
import re
import zlib
from html.parser import HTMLParser

import numpy
import pytest
from job_support import jobs_of

import gangsched as gs
from gangsched import report
from gangsched.report import allocations as report_allocations
from gangsched.report import charts as report_charts
from gangsched.report import setup as report_setup
from gangsched.report import words
from gangsched.viz import load

HOSTILE = "<script>alert('x')</script>&\"\u202e"
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks the balance of tags; collects external references, text and the rows of tables."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.open, self.loads, self.tags, self.rows, self.text = [], [], set(), [], []
        self.feed(content)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        for name, value in attrs:
            if name in (
                "src", "href", "xlink:href", "srcset", "action", "data", "poster",
            ) or "url(" in (value or ""):
                self.loads.append(value)
            assert not name.startswith("on"), name
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)
        if self.open and "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def row(self, first):
        return next(row for row in self.rows if row and row[0] == first)


def page_of(results, **options):
    content = report.html(results, **options)
    assert not re.search(
        r"http:|https:|//[a-z]|@import|url\(|<script|javascript:", content.replace("</script", "")
    )
    page = Page(content)
    assert "script" not in page.tags and "iframe" not in page.tags
    assert all(value.startswith("data:image/png;base64,") for value in page.loads)
    return page


TREE = {"a": {"weight": 2}, "b": {"limit": {"gpu": 12}}}


@pytest.fixture(scope="module")
def cluster():
    return gs.Cluster.uniform(nodes=2, gpus=8, gpu_model="A100", racks=2)


@pytest.fixture(scope="module")
def result(cluster):
    return gs.simulate(cluster, gs.Trace(jobs_of(60)), TREE, seed=7)


def test_the_page_shows_the_numbers_of_the_tables(result):
    page = page_of(result, command="gangsched report x.csv")
    text = " ".join(page.text)
    table, summary = result.jobs, result.summary()
    assert page.row("jobs")[1] == "60" and page.row("waiting time")[1] == words.span(
        summary["wait_s"]["mean"]
    )
    for name, mine in table.groupby("queue", observed=True):
        row = page.row(name)
        assert row[1:3] == [str(len(mine)), "0"]
        assert row[3] == words.span((mine.start_s - mine.submit_s).mean()) and row[5] == words.span(
            mine.jct_s.mean()
        )
        assert row[7] == words.number((mine.gpus * mine.run_s).sum() / 3600)
    assert page.row("A100")[1:3] == ["16", words.number((table.gpus * table.run_s).sum() / 3600)]
    assert page.row("seed")[1] == "7" and page.row("gangsched")[1] == gs.__version__
    assert "gangsched report x.csv" in text and "limit" in text and "gpu 12" in text


def test_the_page_explains_the_longest_waits(result):
    page = page_of(result, worst_waits=3)
    table = result.jobs.assign(wait=result.jobs.start_s - result.jobs.submit_s).sort_values(
        "wait", ascending=False, kind="stable"
    )
    for row in table.head(3).itertuples():
        said = page.row(row.job)
        assert said[4] == words.span(row.wait)
        assert (
            said[5] == str(result.explain(row.job, row.submit_s + row.wait / 2))
            and "GPU" in said[5]
        )
    assert not any(row and row[0] == table.job.iloc[3] for row in page.rows)


def test_a_replay_repeats_every_change(cluster):
    trace = gs.Trace(jobs_of(60))
    with gs.Simulation(cluster, trace, TREE) as simulation:
        simulation.run(until_s=60)
        simulation.set_node("n0", "down")
        simulation.run(events=7)
        extra = simulation.submit(gpu=8, run_s=100, name="extra", queue="a")
        simulation.run(events=20)
        simulation.cancel("j21")
        simulation.run()
        result = simulation.result()
    came = float(result.jobs.submit_s.iloc[extra])
    instants = [
        (40.0, 9),
        (61.0, 20),
        (came + 1, extra),
        (200.0, 40),
        (float(result.info.now_s) + 1, 3),
    ]
    found = {
        index: str(simulation.explain(index))
        for index, simulation in result._recipe.visit(instants)
    }
    assert found == {index: str(result.explain(index, at)) for at, index in instants}


def test_names_are_escaped_in_the_page():
    jobs = [
        {**job, "user": "%s%d" % (HOSTILE, i % 2), "queue": "%s%d" % (HOSTILE, i % 3)}
        for i, job in enumerate(jobs_of(40))
    ]
    jobs[20]["job"] = HOSTILE
    node = {
        "name": HOSTILE,
        "gpus": 8,
        "gpu_model": HOSTILE,
        "cpus": 8,
        "topology": {HOSTILE: "r"},
        "amounts": {HOSTILE: 5},
    }
    with gs.Cluster([node], levels=[HOSTILE], kinds=[{"name": HOSTILE}]) as made:
        tree = [
            {
                "name": "%s%d" % (HOSTILE, i),
                "limit": {"gpu": 8, HOSTILE: 5},
                "cells": [{"level": HOSTILE, "count": 1}],
            }
            for i in range(3)
        ]
        result = gs.simulate(
            made, gs.Trace(jobs), tree, default_queue=HOSTILE + "0", policy=gs.lowest_first(lambda view: view.run_s)
        )
        result.interrupted = True
        for options in ({}, {"title": HOSTILE, "command": HOSTILE, "worst_waits": 40}):
            content = report.html(result, **options)
            assert "<script" not in content and HOSTILE not in content
            page = Page(content)
            assert HOSTILE in "".join(page.text) and page.tags.isdisjoint({"script", "lambda"})
        content = report.html({HOSTILE: result, "other": result})
        page = Page(content)
        assert (
            "<script" not in content and HOSTILE in "".join(page.text) and "lambda" not in page.tags
        )


def test_results_are_put_beside_each_other(cluster):
    found = gs.compare(["fifo", "sjf", "srtf"], cluster, gs.Trace(jobs_of(60)))
    page = page_of(found)
    for label in found:
        row = page.row(label)
        assert row[2] == words.span(found[label].summary()["wait_s"]["mean"])
    options = page.row("policy")
    assert options[1:] == ["fifo", "sjf", "srtf"]
    assert page_of({"alone": found["sjf"]}).row("policy")[1] == "sjf"
    with pytest.raises(gs.InvalidArgument):
        report.html({})


@pytest.mark.parametrize(
    "what",
    ["empty", "one", "instant", "refused", "unfinished", "cores", "unrecorded", "function", "late"],
)
def test_the_page_is_well_formed_for_any_result(cluster, what):
    jobs, options, machines = jobs_of(20), {}, cluster
    if what == "empty":
        jobs = []
    elif what == "one":
        jobs = jobs[:1]
    elif what == "instant":
        jobs = [{"submit_s": 0, "run_s": 0, "gpu": 1}]
    elif what == "refused":
        jobs = [{"submit_s": 0, "run_s": 5, "gpu": 64}]
    elif what == "unfinished":
        options["until_s"] = 60
    elif what == "cores":
        machines, jobs = [{"name": "a", "cpus": 4}], [
            {"submit_s": i, "run_s": 9, "cpu": 1 + i % 3} for i in range(30)
        ]
        machines = gs.Cluster(machines)
    elif what == "unrecorded":
        options["record"] = ()
    elif what == "function":
        options["policy"] = gs.lowest_first(lambda view: view.run_s)
    else:
        jobs = [{**job, "submit_s": 1e9 + job["submit_s"]} for job in jobs]
    result = gs.simulate(machines, gs.Trace(jobs), **options)
    if what == "function":
        result = pickle.loads(pickle.dumps(result))
    page = page_of(result)
    text = " ".join(page.text)
    assert page.row("jobs")[1] == str(result.summary()["jobs"])
    assert ("still waits" in text) == (what == "unfinished") and "nan" not in text.lower().replace(
        "nanos", ""
    )
    assert ("cannot be run again" in text) == (what == "function")
    assert ("Gantt chart" in text) == (what not in ("empty", "refused", "unrecorded"))


def test_an_interrupted_run_says_so(result):
    again = pickle.loads(pickle.dumps(result))
    again.interrupted = True
    assert "interrupted" in " ".join(page_of(again).text) and "interrupted" not in " ".join(
        page_of(result).text
    )


def test_the_same_result_gives_the_same_page(cluster, result, tmp_path):
    other = gs.simulate(cluster, gs.Trace(jobs_of(60)), TREE, seed=7)
    assert report.html(result) == report.html(other)
    result.report(tmp_path / "a.html")
    report.write(result, str(tmp_path / "b.html.gz"))
    plain = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert (
        plain
        == gzip.decompress((tmp_path / "b.html.gz").read_bytes()).decode("utf-8")
        == report.html(result)
    )
    gs.compare({"x": {}}, cluster, gs.Trace(jobs_of(9))).report(
        tmp_path / "c.html", title="Nine jobs"
    )
    assert "<h1>Nine jobs</h1>" in (tmp_path / "c.html").read_text(encoding="utf-8")
    with pytest.raises(OSError):
        result.report(tmp_path / "no" / "such" / "folder.html")


# ---- pictures ----------------------------------------------------------------------------------


def decoded(png):
    """Rows of palette indexes of a picture."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, body, head = 8, b"", b""
    while at < len(png):
        length, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        content = png[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + content) == int.from_bytes(
            png[at + 8 + length : at + 12 + length], "big"
        )
        head, body = (content if kind == b"IHDR" else head), body + (
            content if kind == b"IDAT" else b""
        )
        at += 12 + length
    width, height = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    rows = numpy.frombuffer(zlib.decompress(body), dtype=numpy.uint8).reshape(height, width + 1)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:]


def boxes_of(rows, lanes):
    x0, x1, low, high, code = (numpy.array(column, dtype=float) for column in zip(*rows))
    return report_allocations.Boxes(
        x0, x1, low, high, code.astype(int), numpy.arange(len(x0)), {"n": (0, lanes)}, lanes
    )


def test_a_pixel_shows_the_job_at_its_centre():
    pixels = decoded(
        report_allocations.picture(
            boxes_of([(0, 5, 0, 2, 0), (5, 10, 1, 2, 3), (9.6, 10, 3, 4, 1)], 4), 10.0, 10, 4
        )
    )
    assert pixels.tolist() == [[1] * 5 + [0] * 5, [1] * 5 + [4] * 5, [0] * 10, [0] * 10]


def test_numbers_of_parts_do_not_depend_on_the_number_of_boxes():
    chance = numpy.random.RandomState(5)
    rows = []
    for lane in range(1300):
        at = 0.0
        while at < 1000:
            end = at + chance.exponential(8.0)
            if chance.rand() < 0.6:
                rows.append((at, min(end, 1000), lane, lane + 1, lane % 2))
            at = end
    used = sum(row[1] - row[0] for row in rows) / 1.3e6
    pixels = decoded(report_allocations.picture(boxes_of(rows, 1300), 1000.0, 1400, 620))
    assert (pixels > 0).mean() == pytest.approx(used, abs=0.02)


def test_many_lanes_become_a_heat_map():
    jobs = gs.Trace([{"submit_s": i, "run_s": 300, "gpu": 1 + i % 4} for i in range(4000)])
    result = gs.simulate(gs.Cluster.uniform(100), jobs)
    content = report.html(result, worst_waits=0)
    assert len(content) < 400000 and content.count("data:image/png;base64,") == 1
    png = base64.b64decode(re.search(r"base64,([^\"]+)", content).group(1))
    pixels = decoded(png)
    used = (result.jobs.gpus * result.jobs.run_s).sum() / (800 * result.jobs.end_s.max())
    assert pixels.shape == (100, 240) and pixels.max() <= 100
    assert pixels.mean() / 100 == pytest.approx(used, abs=0.005)
    assert "25 %" in content and "one lane each" not in content


def test_many_allocations_become_a_picture():
    jobs = gs.Trace([{"submit_s": i, "run_s": 30, "gpu": 1 + i % 4} for i in range(4000)])
    result = gs.simulate(gs.Cluster.uniform(12), jobs)
    content = report.html(result, worst_waits=0)
    assert len(content) < 400000 and content.count("data:image/png;base64,") == 1
    png = base64.b64decode(re.search(r"base64,([^\"]+)", content).group(1))
    pixels = decoded(png)
    used = (result.jobs.gpus * result.jobs.run_s).sum() / (96 * result.jobs.end_s.max())
    assert (pixels > 0).mean() == pytest.approx(used, abs=0.02) and "one lane each" in content


def test_means_over_time_keep_the_area():
    at, value = numpy.array([0.0, 1.0, 4.0, 4.0, 9.0]), numpy.array([2.0, 0.0, 7.0, 5.0, 1.0])
    edges = numpy.linspace(0, 12, 8)
    found = load.mean_over(at, value, edges)
    assert (found * numpy.diff(edges)).sum() == pytest.approx(2 * 1 + 0 * 3 + 5 * 5 + 1 * 3)
    most = load.max_over(at, value, numpy.array([0.0, 2.0, 3.0, 5.0, 12.0]))
    assert most.tolist() == [2.0, 0.0, 7.0, 5.0]


def test_spans_of_time_read_well():
    said = [
        words.span(seconds) for seconds in (0, 0.25, 59, 60, 5400, 86400, 1e7, float("nan"), None)
    ]
    assert said == ["0 s", "0.25 s", "59 s", "1 min", "1.50 h", "1 d", "116 d", "–", "–"]


def test_node_names_do_not_overlap():
    with gs.Cluster(
        [{"name": "n%d" % i, "gpus": 1 + i % 2 * 7, "cpus": 8} for i in range(90)]
    ) as made:
        content = report.html(gs.simulate(made, gs.Trace(jobs_of(90, run_s=500, queue="a"))))
    drawing = content[content.index("allocations") :]
    heights = [
        float(y) for y in re.findall(r'<text x="90" y="([\d.]+)" text-anchor="end">n\d+<', drawing)
    ]
    assert len(heights) > 30 and min(b - a for a, b in zip(heights, heights[1:])) >= 10.9


def test_a_page_without_waits():
    text = " ".join(page_of(gs.simulate(gs.Cluster.uniform(9), gs.Trace(jobs_of(9)))).text)
    assert (
        "No job waited" in text
        and "Longest waiting times" not in text
        and "memory" not in text.split("Queue length")[0].split("Utilisation")[-1]
    )


def test_names_and_amounts_of_queues_are_text():
    """Values that no tree accepts are escaped, too."""
    with gs.Cluster.uniform(1) as cluster:
        trace = gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 1, "queue": "<b>"}])
        result = gs.simulate(cluster, trace, {"<b>": {"weight": 2.5, "limit": {"gpu": 8}}})
    assert ["<b>", "", "gpu 8", "2.5", ""] in Page(report.html(result)).rows
    setup = Page(report_setup.queues(result))
    assert setup.rows[1][:4] == ["<b>", "", "gpu 8", "2.5"] and "b" not in setup.tags
    result._recipe.arguments["queues"]._index["<b>"]["weight"] = "<b>"
    odd = Page(report_setup.queues(result))
    assert odd.rows[1][3] == "<b>" and "b" not in odd.tags


def test_the_page_shortens_a_long_mix():
    with gs.Cluster.uniform(1) as cluster:
        result = gs.simulate(
            cluster, gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 1}]), mix=[{"gpu": 1}] * 3
        )
    assert Page(report.html(result)).row("mix")[1] == "3 shapes"


def test_the_page_says_which_defaults_flatter(tmp_path):
    """By default a higher priority preempts, and no work is lost."""
    trace = gs.Trace([
        {"job": "low", "submit_s": 0, "run_s": 100, "gpu": 8},
        {"job": "high", "submit_s": 10, "run_s": 100, "gpu": 8, "priority": 5},
    ])

    def page(**options):
        result = gs.simulate(gs.Cluster.uniform(1), trace, **options)
        result.report(tmp_path / "page.html")
        return result.jobs.end_s.tolist(), (tmp_path / "page.html").read_text(encoding="utf-8")

    saved, preempts = "Work is saved all the time, at no cost", "preempts jobs of a lower priority"
    ends, text = page()
    assert ends == [200, 110] and saved in text and preempts in text
    ends, text = page(no_preemption=True, checkpoint_s=60)
    assert ends == [100, 200] and saved not in text and preempts not in text
    ends, text = page(policy="fifo")
    assert ends == [100, 200] and saved in text and preempts not in text
    for name in ("checkpoint_s=0", "no_preemption"):
        assert name in gs.simulate.__doc__
