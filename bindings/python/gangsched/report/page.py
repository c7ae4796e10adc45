# SPDX-License-Identifier: Apache-2.0
"""Puts the page together: a result, or several beside each other."""

import os
from html import escape
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from . import allocations
from . import charts
from . import setup
from . import tables
from ..errors import InvalidArgument
from ..files import writer_for
from ..viz.colours import ranked
from ..viz.load import BINS, max_over, mean_over
from .style import CSS
from .waits import waits, worst
from .words import has_gpus, number, part, span

if TYPE_CHECKING:
    from ..sim.result import Result

Results = Union["Result", Mapping[str, "Result"]]


def write(results: Results, path: "Union[str, os.PathLike[str]]", **options: Any) -> None:
    """Write the page to a file, compressed if its name ends in ``.gz``.

    Parameters
    ----------
    results
        A :class:`Result`, or several by label, as :func:`compare` returns them.
    options
        See :func:`html`.

    Raises
    ------
    InvalidArgument
        ``results`` is empty.
    OSError
        The file cannot be written.
    """
    # complete before the file is truncated
    content = html(results, **options).encode("utf-8", "replace")
    with writer_for(path) as file:
        file.write(content)


def html(
    results: Results,
    *,
    title: Optional[str] = None,
    worst_waits: int = 8,
    command: Optional[str] = None
) -> str:
    """The page as text.

    O(jobs + allocations), one replay of the simulation for ``worst_waits``, and one if nodes went
    down or capacity was reserved.

    The same results give the same page.

    Parameters
    ----------
    title
        The heading; None: a description.
    worst_waits
        The number of longest waits that the page explains. 0: none, and no replay, so that the page
        does not explain refused jobs either.
    command
        The command line that made the page, which the page then shows.

    Raises
    ------
    InvalidArgument
        ``results`` is empty.
    """
    if isinstance(results, Mapping):
        if not results:
            raise InvalidArgument("there is no result to report")
        if len(results) > 1:
            return _page(title or "Comparison of policies", _compared(results, command))
        ((label, result),) = results.items()
        return _page(title or "Simulation: %s" % label, _one(result, worst_waits, command))
    return _page(title or "Simulation", _one(results, worst_waits, command))


def _page(title: str, body: Sequence[str]) -> str:
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">'
    head += "<title>%s</title><style>%s</style></head>\n" % (escape(title), CSS)
    return "%s<body><main><h1>%s</h1>\n%s\n</main></body></html>\n" % (
        head,
        escape(title),
        "\n".join(body),
    )


def _section(title: str, *body: str, note: str = "") -> str:
    said = '<p class="note">%s</p>' % escape(note) if note else ""
    return "<section><h2>%s</h2>%s%s</section>" % (escape(title), said, "".join(body))


# ---- one run ---------------------------------------------------------------------------------


def _one(result: "Result", count: int, command: Optional[str]) -> List[str]:
    out = [
        '<p class="lead">%s</p>' % escape(setup.sentence(result)),
        _interrupted({"": result}),
        _tiles(result),
    ]
    out += _over_time({"": result})
    out.append(_distributions(result))
    out += _gantt(result, "Gantt chart", {"": result})
    out.append(_section("By queue", tables.groups(result, "queue")))
    out.append(_section("By user", tables.groups(result, "user")))
    if has_gpus(result):
        out.append(_section("By GPU model", tables.models(result)))
    if result.summary()["refused"] and count > 0:
        out.append(_section("Refused jobs, with reasons", tables.refused(result)))
    if count > 0:
        out.append(_worst(result, count))
    out.append(_section("All numbers, with definitions", tables.definitions(result)))
    out.append(
        _section(
            "What was simulated",
            setup.machines(result),
            setup.queues(result),
            setup.options({"": result}),
        )
    )
    out.append(_section("Reproducibility", setup.again({"": result}, command)))
    return [one for one in out if one]


def _interrupted(results: Mapping[str, "Result"]) -> str:
    stopped = [label for label, result in results.items() if result.interrupted]
    if not stopped:
        return ""
    subject = "This run was" if stopped == [""] else "%s: this was" % ", ".join(stopped)
    return '<p class="warn">%s interrupted: the page shows what had happened by then.</p>' % escape(
        subject
    )


def _tiles(result: "Result") -> str:
    summary = result.summary()
    wait, jct, slow = summary["wait_s"], summary["jct_s"], summary["bounded_slowdown"]
    left = [
        ("%s %s" % (number(summary[key]), key))
        for key in ("failed", "refused", "unfinished")
        if summary[key]
    ]
    shown = [
        ("jobs done", number(summary["jobs"]), ", ".join(left) or "all submitted jobs"),
        (
            "mean waiting time",
            span(wait["mean"]),
            "half %s or less, 1 %% over %s" % (span(wait["p50"]), span(wait["p99"])),
        ),
        ("mean completion time", span(jct["mean"]), "half %s or less" % span(jct["p50"])),
        ("mean bounded slowdown", number(slow["mean"]), "half %s or less" % number(slow["p50"])),
    ]
    kind = "gpu" if has_gpus(result) else "cpu"
    other = (
        "cores %s" % part(summary["cpu_utilisation"])
        if kind == "gpu"
        else "memory %s" % part(summary["memory_utilisation"])
    )
    shown.append(("%s utilisation" % kind.upper(), part(summary[kind + "_utilisation"]), other))
    shown.append(("makespan", span(summary["makespan_s"]), "first submission to last end"))
    good = ", ".join(
        "%s %s%s" % (number(summary[key + "s"]), key, "" if summary[key + "s"] == 1 else "s")
        for key in ("preemption", "failure")
    )
    shown.append(("goodput", part(summary["goodput"]), good))
    shown.append(("fairness (Jain)", number(summary["jain"]), "1 is equal between users"))
    tile = '<div class="tile"><b>%s</b><span>%s</span><small>%s</small></div>'
    return '<div class="tiles">%s</div>' % "".join(
        tile % tuple(escape(word) for word in row[1::-1] + row[2:]) for row in shown
    )


# ---- over time -------------------------------------------------------------------------------


def bounds(results: Mapping[str, "Result"]) -> Any:
    """The time from the first submission to the last end; or to the end of the run, if jobs are
    left.
    """
    import numpy

    begins, ends = [], []
    for result in results.values():
        submit, end = result.column("submit_s"), result.column("end_s")
        begins.append(float(submit.min()) if len(submit) else 0.0)
        over = (
            len(end) > 0
            and result.info.ended == result.info.jobs
            and bool(numpy.isfinite(end).any())
        )
        ends.append(float(numpy.nanmax(end)) if over else result.info.now_s)
    begin = min(begins)
    return begin, max(max(ends), begin + 1e-9)


def _over_time(results: Mapping[str, "Result"]) -> List[str]:
    import numpy

    if any(not len(result._samples) for result in results.values()):
        return []
    begin, end = bounds(results)
    edges = numpy.linspace(begin, end, BINS + 1)
    middle = (edges[:-1] + edges[1:]) / 2 - begin
    used: List[charts.Series] = []
    jobs: List[charts.Series] = []
    for label, result in results.items():
        table = result.timeline
        at = table.at_s.to_numpy()
        used += _used(result, table, at, edges, middle, label)
        jobs += _queued(table, at, edges, middle, label)
    span_s = end - begin
    top = max((float((one.y if one.high is None else one.high).max()) for one in jobs), default=1.0)
    top = max(top, 1.0) * 1.05
    kind = "GPUs" if all(has_gpus(result) for result in results.values()) else "cores"
    note = "Fractions of the capacity in use; means over %s." % span(span_s / BINS)
    if "" in results:
        first = charts.over_time(used, span_s, 1.0, "utilisation over time", percent=True)
    else:
        note = "Fraction of the %s in use; means over %s." % (kind, span(span_s / BINS))
        first = charts.multiples(used, span_s, 1.0, "utilisation over time", percent=True)
    draw: Any = charts.over_time if len(results) <= _TOGETHER else charts.multiples
    return [
        _section("Utilisation", first, note=note),
        _section("Queue length", draw(jobs, span_s, top, "jobs over time"), note=_JOBS[not label]),
    ]


#: Curves of up to this many results are readable in one picture.
_TOGETHER = 4

_JOBS = ("Number of waiting jobs.", "Number of jobs.")


def _queued(table: Any, at: Any, edges: Any, middle: Any, label: str) -> List[charts.Series]:
    """Waiting jobs; of one result also the highest number, and running jobs."""
    waiting = mean_over(at, table.pending.to_numpy(), edges)
    if label:
        return [charts.Series(label, middle, waiting)]
    highest = max_over(at, table.pending.to_numpy(), edges)
    running = mean_over(at, table.running.to_numpy(), edges)
    return [
        charts.Series("waiting (band: maximum)", middle, waiting, "line", highest, charts.PLAIN),
        charts.Series("running", middle, running, "line", None, charts.DASHED),
    ]


def _used(
    result: "Result", table: Any, at: Any, edges: Any, middle: Any, label: str
) -> List[charts.Series]:
    """Fractions in use: of one result for each kind, of several results for their main kind."""
    kinds = [("gpus", "GPUs"), ("cpus", "cores"), ("mem_mib", "memory")]
    kinds = [(key, said) for key, said in kinds if result.capacity[key] > 0]
    found = []
    for i, (key, said) in enumerate(kinds if not label else kinds[:1]):
        mean = mean_over(at, table[key].to_numpy(), edges) / result.capacity[key]
        if i > 0 and not mean.any():  # no job uses this kind
            continue
        form = "area" if i == 0 and not label else "line"
        code = None if label else (charts.PLAIN, charts.SOFT, charts.DASHED)[i]
        found.append(charts.Series(label or said, middle, mean, form, None, code))
    return found


# ---- waits -----------------------------------------------------------------------------------


def _distributions(result: "Result") -> str:
    import numpy

    wait = waits(result)
    there = numpy.isfinite(wait)
    if not there.any():
        return ""
    if not wait[there].max() > 0:
        return _section("CDF of waiting time", "<p>No job waited.</p>")
    codes, words = ranked(result, "queue")
    values, shown = {"all jobs": wait[there]}, [charts.PLAIN]
    if 1 < len(words) <= 8:
        values.update({word: wait[there & (codes == code)] for code, word in enumerate(words)})
        shown += range(len(words))
    waiting = int(numpy.isnan(result.column("start_s")[there]).sum())
    note = "Fraction of jobs that had started after this time."
    if waiting:
        note += " The %s that still wait count with their wait so far." % number(waiting)
    return _section("CDF of waiting time", charts.cdf(values, "waiting time", shown), note=note)


def _worst(result: "Result", count: int) -> str:
    listed = worst(result, count)
    if not listed:
        return ""
    note = "The reasons are those at half of the wait, or at the end for jobs that still wait."
    return _section("Longest waiting times, with reasons", tables.waited(result, listed), note=note)


def _gantt(result: "Result", title: str, among: Mapping[str, "Result"]) -> List[str]:
    """A Gantt chart for each result, on one time axis."""
    drawn, legend, note = allocations.chart(result, *bounds(among))
    return [_section(title, drawn, legend, note=note)] if drawn else []


# ---- several ---------------------------------------------------------------------------------


def _compared(results: Mapping[str, "Result"], command: Optional[str]) -> List[str]:
    import numpy

    first = next(iter(results.values()))
    out = [
        '<p class="lead">%s</p>' % escape(setup.sentence(first, policy=False)),
        _interrupted(results),
    ]
    out.append(
        _section(
            "Comparison", tables.compared(results), note="The best of a column is bold."
        )
    )
    for column, said in (
        ("waiting time", "CDF of waiting time"),
        ("completion time", "CDF of job completion time"),
    ):
        values = {}
        for label, result in results.items():
            found = waits(result) if column == "waiting time" else result.column("jct_s")
            values[label] = found[numpy.isfinite(found)]
        out.append(_section(said, charts.cdf(values, column)))
    out += _over_time(results)
    out.append(_section("Mean waiting time by queue", tables.by_queue(results)))
    for label, result in results.items():
        out += _gantt(result, "Gantt chart: %s" % label, results)
    out.append(_section("Definitions of the numbers", tables.meanings(first)))
    out.append(
        _section(
            "What was simulated", setup.machines(first), setup.queues(first), setup.options(results)
        )
    )
    out.append(_section("Reproducibility", setup.again(results, command)))
    return [one for one in out if one]
