# SPDX-License-Identifier: Apache-2.0
"""Curves and bars of results, by matplotlib, and tables of results in HTML."""

from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import InvalidArgument
from .axes import (
    bare, beside, logarithmic_times, made_axes, set_title, unit_of, width_of_pictures,
)
from .colours import LIMIT, USED, colour_of
from .gantt import gantt
from .load import BINS, max_over, mean_over

if TYPE_CHECKING:
    from ..sim.result import Result

#: Titles of distributions, by column.
_CALLED = {
    "wait_s": "CDF of waiting time",
    "queue_s": "CDF of total queueing time",
    "jct_s": "CDF of job completion time",
    "run_s": "CDF of run time",
    "slowdown": "CDF of slowdown",
}

#: Names of times on the axis of a distribution.
_NAMES = {
    "wait_s": "waiting time", "queue_s": "total queueing time", "jct_s": "job completion time",
    "run_s": "run time",
}

#: Names and units of other columns.
_UNITS = {
    "slowdown": "slowdown (completion time over run time)", "tasks": "tasks of a job",
    "cpus": "cores of a job", "gpus": "GPUs of a job", "mem_mib": "memory of a job (MiB)",
    "starts": "starts of a job", "preemptions": "preemptions of a job",
    "failures": "failures of a job",
}

#: Columns that are instants: a logarithm of them means nothing.
_INSTANTS = ("submit_s", "start_s", "end_s")


def binned(at: Any, value: Any, stop: float) -> Tuple[Any, Any, Any]:
    """Edges, means and maxima of a value over time; of at most :data:`BINS` steps."""
    import numpy

    if len(at) <= BINS:
        return numpy.append(at, max(stop, float(at[-1]))), value, value
    edges = numpy.linspace(float(at[0]), max(stop, float(at[-1])), BINS + 1)
    return edges, mean_over(at, value, edges), max_over(at, value, edges)


def _steps(ax: Any, edges: Any, value: Any, color: Any, label: str) -> None:
    ax.stairs(value, edges, color=color, linewidth=1.4, label=label, baseline=None)


def plot(result: "Result", axes: Any = None, title: Optional[str] = None) -> Any:
    """Draw usage and jobs over time. See :meth:`gangsched.Result.plot`."""
    table = result.timeline
    if not len(table):
        raise InvalidArgument("no timeline was recorded")
    above, below = made_axes(axes, 2, 2.6)
    begin = float(table.at_s.iloc[0])
    stop = float(table.at_s.iloc[-1])
    scale, unit = unit_of(stop - begin)
    at = ((table.at_s - begin) / scale).to_numpy()
    kind = "gpus" if result.capacity["gpus"] else "cpus"
    all_of = result.capacity[kind]
    edges, mean, most = binned(at, table[kind].to_numpy(), (stop - begin) / scale)
    if most is not mean:
        above.stairs(most, edges, fill=True, color=USED, alpha=0.3, label="maximum")
    above.stairs(mean, edges, fill=True, color=USED, label="mean" if most is not mean else "in use")
    above.axhline(all_of, color=LIMIT, linewidth=1, label="capacity")
    called = {"gpus": "GPUs", "cpus": "cores"}[kind]
    above.set_ylabel("%s in use" % called)
    said = "%s in use, of %g; waiting and running jobs"
    set_title(above, title, said % (called[:1].upper() + called[1:], all_of))
    above.set_ylim(0, all_of * 1.05 or 1)
    for column, label, code in (("pending", "waiting", 1), ("running", "running", 0)):
        edges, mean, most = binned(at, table[column].to_numpy(), (stop - begin) / scale)
        _steps(below, edges, mean, colour_of(code), label)
    below.set_ylim(0)
    below.set_ylabel("jobs")
    below.set_xlabel("time (%s)" % unit)
    for one in (above, below):
        beside(one)
        one.margins(x=0)
    bare(above, below)
    return above, below


def cdf(
    results: Mapping[str, "Result"], column: str, axes: Any = None, title: Optional[str] = None
) -> Any:
    """Draw the distribution of a column of jobs, a line a result. Empty labels have no legend."""
    import numpy

    ax = made_axes(axes)
    values: Dict[str, Any] = {}
    for label, result in results.items():
        found = result.column(column)
        if found.dtype == object:
            raise InvalidArgument("column: '%s' is no column of numbers" % column, path=column)
        found = numpy.sort(found)
        values[label] = found[numpy.isfinite(found)]
    most = max((float(found[-1]) for found in values.values() if len(found)), default=0.0)
    time = column.endswith("_s") and column not in _INSTANTS
    scale = unit_of(most)[0] if column in _INSTANTS else 1.0
    for code, (label, found) in enumerate(values.items()):
        part = numpy.arange(1, len(found) + 1) / max(len(found), 1)
        shown = numpy.maximum(found, 1.0) if time else found / scale
        if time:  # the line begins at the left edge, and goes on to the right one
            shown = numpy.concatenate([[1.0], shown, [1e12]])
            part = numpy.concatenate([[0.0], part, [1.0 if len(found) else 0.0]])
        ax.step(
            shown, part, where="post", label=label or None, color=colour_of(code),
            linestyle=("-", "--", ":")[code // 8 % 3],
        )
    ax.set_ylim(0, 1.005)
    set_title(ax, title, _CALLED.get(column, "CDF of %s" % column))
    ax.set_ylabel("fraction of jobs")
    called = _NAMES.get(column, column[:-2].replace("_", " "))
    if time:
        logarithmic_times(ax, most)
        ax.set_xlabel("%s, at most (logarithmic)" % called)
    elif column in _INSTANTS:
        ax.set_xlabel("%s (%s)" % (called, unit_of(most)[1]))
    else:
        if all(len(found) and found[0] > 0 for found in values.values()) and most > 0:
            ax.set_xscale("log")
        ax.set_xlabel("%s, at most" % _UNITS.get(column, column.replace("_", " ")))
    bare(ax)
    if any(results):
        beside(ax)
    return ax


def bars(table: Any, columns: Sequence[str], axes: Any = None) -> Any:
    """Draw columns of a table of results as bars with their numbers. See
    :meth:`gangsched.sweeps.Comparison.plot`.
    """
    from matplotlib import pyplot

    if axes is None:
        wide = width_of_pictures()
        across = max(1, min(len(columns), int(wide / 2.6)))
        down = -(-len(columns) // across)
        _, made = pyplot.subplots(
            down, across, figsize=(wide, 3 * down), constrained_layout=True, squeeze=False
        )
        for unused in made.flat[len(columns) :]:
            unused.remove()
        axes = made.flat[: len(columns)]
    for one, column in zip(axes, columns):
        scale, title, unit = _scaled(column, float(table[column].max()))
        values = table[column] / scale
        drawn = one.bar(range(len(values)), values, color=USED)
        said = ["none" if value != value else "%.3g" % value for value in values]
        one.bar_label(drawn, labels=said, fontsize=8, padding=1)
        one.margins(y=0.12)  # the numbers stay below the title
        one.set_ylim(bottom=0)
        one.set_title(title, fontsize=9)
        one.set_ylabel(unit, fontsize=9)
        one.set_xticks(
            range(len(values)), [str(label) for label in table.index], rotation=30, ha="right",
            rotation_mode="anchor", fontsize=8,
        )
        bare(one)
    return axes


_STATISTICS = ("mean", "max", "min", "std", "p50", "p90", "p95", "p99")


def _scaled(column: str, largest: float) -> Tuple[float, str, str]:
    """The divisor of a column of summaries, its title and its unit: ``wait_s_mean`` is "mean
    waiting time" in hours.
    """
    name, _, statistic = column.rpartition("_")
    if statistic not in _STATISTICS:
        name, statistic = column, ""
    head = statistic + " " if statistic else ""
    if name.endswith("_gpu_s"):
        return 3600.0, head + name[:-6].replace("_", " ") + " work", "GPU hours"
    if name.endswith("_s"):
        scale, unit = unit_of(largest)
        return scale, head + _NAMES.get(name, name[:-2].replace("_", " ")), unit
    said = head + name.replace("_", " ").replace("gpu", "GPU").replace("cpu", "CPU")
    if name.endswith(("utilisation", "goodput", "fragmentation")):
        return 0.01, said, "%"
    if name.endswith("slowdown"):
        return 1.0, said, "times the run time"
    return 1.0, said, "index" if name == "jain" else "number"


#: Columns of a table of results: path in the summary, heading, seconds of its unit, format.
SHOWN = (
    (("jobs",), "jobs", "%d"),
    (("wait_s", "mean"), "mean waiting time", "s"),
    (("wait_s", "p99"), "p99 waiting time", "s"),
    (("jct_s", "mean"), "mean JCT", "s"),
    (("bounded_slowdown", "mean"), "mean bounded slowdown", "%.2f"),
    (("makespan_s",), "makespan", "s"),
    (("gpu_utilisation",), "GPU use", "%.1f %%"),
    (("cpu_utilisation",), "CPU use", "%.1f %%"),
    (("preemptions",), "preemptions", "%d"),
    (("unfinished",), "unfinished", "%d"),
)


def _value(summary: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = summary
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _column(
    summaries: Sequence[Mapping[str, Any]], path: Sequence[str], head: str, form: str
) -> List[str]:
    """The heading of a column and its cells. All times of a column have the same unit."""
    values = [_value(summary, path) for summary in summaries]
    if form == "s":
        there = [value for value in values if value is not None and value == value]
        scale, unit = unit_of(max(there, default=0.0))
        cells = ["" if value is None else "%.4g" % (value / scale) for value in values]
        return ["%s (%s)" % (head, unit), *cells]
    cells = [
        "" if value is None else str(form % (value * 100 if "%%" in form else value))
        for value in values
    ]
    return [head, *cells]


def summary_html(results: Mapping[str, "Result"]) -> str:
    """Summaries as an HTML table, a row a result."""
    summaries = [result.summary() for result in results.values()]
    columns = [_column(summaries, path, head, form) for path, head, form in SHOWN]
    cell = '<t%s style="text-align:right;padding:1px 8px">%s</t%s>'
    out = ['<table style="font:12px sans-serif">']
    for i, label in enumerate(["", *results]):
        kind = "d" if i else "h"
        cells = "".join(cell % (kind, escape(column[i]), kind) for column in columns)
        out.append("<tr>%s%s</tr>" % (cell % ("h", escape(label), "h"), cells))
    return "".join([*out, "</table>"])


__all__ = ["bars", "binned", "cdf", "gantt", "plot", "summary_html"]
