# SPDX-License-Identifier: Apache-2.0
"""Pictures of results, by matplotlib."""

from html import escape
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Tuple

from ..errors import InvalidArgument
from .lanes import lanes
from ..values import ns
from .raster import paint

if TYPE_CHECKING:
    from ..sim.result import Result

#: A Gantt chart with more boxes than this is an image of so many pixels.
MOST_BOXES = 20000
PIXELS = (2400, 1400)

_UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def _unit(span_s: float) -> Any:
    """A unit of time that suits a span, in seconds, and its name."""
    return next((unit for unit in _UNITS if span_s >= 3 * unit[0]), _UNITS[-1])


def _axes(axes: Any, count: int = 1, height: float = 3.5) -> Any:
    if axes is not None:
        return axes
    from matplotlib import pyplot

    _, made = pyplot.subplots(
        count, 1, sharex=True, figsize=(9, height * count), constrained_layout=True
    )
    return made


def _title(axes: Any, said: Optional[str], default: str) -> None:
    if said != "":
        axes.set_title(default if said is None else said)


#: Titles of distributions, by column.
_CALLED = {
    "wait_s": "CDF of waiting time",
    "queue_s": "CDF of total queueing time",
    "jct_s": "CDF of job completion time",
    "run_s": "CDF of run time",
    "slowdown": "CDF of slowdown (completion time over run time)",
}


#: Names of times on the axis of a distribution.
_NAMES = {
    "wait_s": "waiting time", "queue_s": "total queueing time", "jct_s": "job completion time",
    "run_s": "run time",
}


def plot(result: "Result", axes: Any = None, title: Optional[str] = None) -> Any:
    """Draw usage and jobs over time. See :meth:`gangsched.Result.plot`."""
    table = result.timeline
    if not len(table):
        raise InvalidArgument("no timeline was recorded")
    above, below = _axes(axes, 2, 2.6)
    begin = float(table.at_s.iloc[0])
    scale, unit = _unit(float(table.at_s.iloc[-1]) - begin)
    at = (table.at_s - begin) / scale
    kind, all_of = (
        ("gpus", result.capacity["gpus"])
        if result.capacity["gpus"]
        else ("cpus", result.capacity["cpus"])
    )
    above.fill_between(at, table[kind], step="post", color="#1f5f99", alpha=0.8, linewidth=0)
    above.axhline(all_of, color="#c23030", linewidth=1)
    called = {"gpus": "GPUs", "cpus": "cores"}[kind]
    above.set_ylabel("%s in use" % called)
    _title(
        above,
        title,
        "%s in use, of %g; waiting and running jobs" % (called[:1].upper() + called[1:], all_of),
    )
    above.set_ylim(0, all_of * 1.05 or 1)
    below.step(at, table.pending, where="post", color="#d9822b", label="waiting")
    below.step(at, table.running, where="post", color="#1f5f99", label="running")
    below.set_ylabel("jobs")
    below.set_xlabel("time (%s)" % unit)
    below.legend(loc="upper right", frameon=False)
    for one in (above, below):
        one.spines[["top", "right"]].set_visible(False)
        one.margins(x=0)
    return above, below


def gantt(
    result: "Result",
    axes: Any = None,
    color: str = "queue",
    nodes: Optional[Sequence[str]] = None,
    begin_s: Optional[float] = None,
    end_s: Optional[float] = None,
    title: Optional[str] = None,
) -> Any:
    """Draw a Gantt chart. See :meth:`gangsched.Result.gantt`."""
    import numpy
    from matplotlib.collections import PolyCollection

    if color not in ("queue", "user", "job"):
        raise InvalidArgument("color is queue, user or job")
    for name, value in (("begin_s", begin_s), ("end_s", end_s)):
        if value is not None:
            ns(value, name)
    shown = lanes(result, nodes)
    if not len(shown.low):
        raise InvalidArgument("no allocations were recorded")
    stop = numpy.where(numpy.isnan(shown.end_s), result.info.now_s, shown.end_s)
    first = float(shown.begin_s.min()) if begin_s is None else begin_s
    last = float(stop.max()) if end_s is None else end_s
    keep = (stop > first) & (shown.begin_s < last)
    scale, unit = _unit(last - first)
    x0, x1 = (shown.begin_s[keep] - first) / scale, (stop[keep] - first) / scale
    y0, y1 = shown.low[keep], shown.high[keep]
    ax = _axes(axes, 1, 5.5)
    codes = shown.job[keep] if color == "job" else result._codes(color)[shown.job[keep]]
    wide = (last - first) / scale or 1
    if len(x0) > MOST_BOXES:
        _picture(
            ax,
            x0 / wide,
            x1 / wide,
            y0 / shown.total,
            y1 / shown.total,
            codes,
            (0, wide, shown.total, 0),
        )
    else:
        corners = numpy.stack([x0, y0, x0, y1, x1, y1, x1, y0], axis=1).reshape(-1, 4, 2)
        few = len(corners) < 2000
        boxes = PolyCollection(
            corners, array=None, facecolors=_colours(codes), linewidths=0.3 if few else 0
        )
        boxes.set(edgecolor="white" if few else "none", rasterized=not few, antialiased=few)
        ax.add_collection(boxes, autolim=False)
    _title(ax, title, "Gantt chart of %d nodes, one colour for each %s" % (len(shown.nodes), color))
    ax.set_xlim(0, wide)
    ax.set_ylim(shown.total, 0)
    ax.set_xlabel("time (%s)" % unit)
    if len(shown.nodes) <= 40:
        ax.set_yticks([(a + b) / 2 for a, b in shown.nodes.values()], list(shown.nodes), fontsize=7)
        for a, _ in list(shown.nodes.values())[1:]:
            ax.axhline(a, color="#8a949e", linewidth=0.4)
    else:
        kind = "devices" if any(result.nodes[name] for name in shown.nodes) else "cores"
        ax.set_ylabel("%s of %d nodes" % (kind, len(shown.nodes)))
    if color != "job":
        _legend(ax, result._word_list(color), numpy.unique(codes))
    return ax


def _picture(ax: Any, x0: Any, x1: Any, y0: Any, y1: Any, codes: Any, extent: Any) -> None:
    """Draw boxes as an image with twice the pixels of a screen. Free lanes are transparent."""
    import numpy

    pixels = paint(x0, x1, y0, y1, codes % 20 + 1, *PIXELS)
    colours = numpy.concatenate([[[0.0, 0.0, 0.0, 0.0]], _colours(numpy.arange(20))])
    image = (colours * 255).round().astype(numpy.uint8)[pixels]
    ax.imshow(image, extent=extent, aspect="auto", interpolation="nearest", zorder=1)


def _colours(codes: Any) -> Any:
    from matplotlib import colormaps

    return colormaps["tab20"]((codes * 2 % 20 + codes // 10 % 2) % 20)


def _legend(ax: Any, words: Sequence[str], codes: Any) -> None:
    import numpy
    from matplotlib.patches import Patch

    shown = [int(code) for code in codes if 0 <= code < len(words) and words[int(code)]]
    if not 1 < len(shown) <= 12:
        return
    colours = _colours(numpy.array(shown))
    patches = [Patch(color=colour, label=words[code]) for code, colour in zip(shown, colours)]
    ax.legend(
        handles=patches, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8
    )


def cdf(
    results: Mapping[str, "Result"], column: str, axes: Any = None, title: Optional[str] = None
) -> Any:
    """Draw the distribution of a column of jobs, a line a result. Empty labels have no legend."""
    import numpy

    ax = _axes(axes)
    spans, values = [], {}
    for label, result in results.items():
        found = result.column(column)
        if found.dtype == object:
            raise InvalidArgument("column: '%s' is no column of numbers" % column, path=column)
        found = numpy.sort(found)
        values[label] = found[numpy.isfinite(found)]
        spans.append(float(values[label][-1]) if len(values[label]) else 0.0)
    scale, unit = _unit(max(spans, default=0.0)) if column.endswith("_s") else (1.0, "")
    for label, found in values.items():
        part = numpy.arange(1, len(found) + 1) / max(len(found), 1)
        ax.step(found / scale, part, where="post", label=label or None)
    ax.set_ylim(0, 1)
    _title(ax, title, _CALLED.get(column, "CDF of %s" % column))
    ax.set_ylabel("fraction of jobs")
    called = _NAMES.get(column, column[:-2])
    ax.set_xlabel("%s (%s)" % (called, unit) if unit else column)
    ax.spines[["top", "right"]].set_visible(False)
    if any(results):
        ax.legend(loc="lower right", frameon=False)
    return ax


def bars(table: Any, columns: Sequence[str], axes: Any = None) -> Any:
    """Draw columns of a table of results as bars with their numbers. See
    :meth:`gangsched.sweeps.Comparison.plot`.
    """
    from matplotlib import pyplot

    if axes is None:
        _, axes = pyplot.subplots(
            1, len(columns), figsize=(3.2 * len(columns), 3), constrained_layout=True, squeeze=False
        )
        axes = axes[0]
    for one, column in zip(axes, columns):
        scale, title = _scaled(column, float(table[column].max()))
        drawn = one.bar(list(table.index), table[column] / scale, color="#1f5f99")
        one.bar_label(drawn, fmt="%.3g", fontsize=8, padding=1)
        one.set_title(title, fontsize=9)
        one.tick_params(axis="x", rotation=30)
        one.spines[["top", "right"]].set_visible(False)
    return axes


def _scaled(column: str, largest: float) -> Tuple[float, str]:
    """Units of a column of summaries in one of the picture, and the title: ``wait_s_mean`` is
    "mean waiting time (hours)".
    """
    name, _, statistic = column.rpartition("_")
    if not name.endswith("_s"):
        return 1.0, column.replace("_", " ")
    scale, unit = _unit(largest)
    said = "%s %s" % (statistic, _NAMES.get(name, name[:-2].replace("_", " ")))
    return scale, "%s (%s)" % (said, unit)


#: Columns of a table of results: path in the summary, heading, format.
SHOWN = (
    (("jobs",), "jobs", "%d"),
    (("wait_s", "mean"), "mean waiting time (s)", "%.0f"),
    (("wait_s", "p99"), "p99 waiting time (s)", "%.0f"),
    (("jct_s", "mean"), "mean JCT (s)", "%.0f"),
    (("bounded_slowdown", "mean"), "mean bounded slowdown", "%.2f"),
    (("makespan_s",), "makespan (s)", "%.0f"),
    (("gpu_utilisation",), "GPU use", "%.1f %%"),
    (("cpu_utilisation",), "CPU use", "%.1f %%"),
    (("preemptions",), "preemptions", "%d"),
    (("unfinished",), "unfinished", "%d"),
)


def _cell(summary: Mapping[str, Any], path: Sequence[str], form: str) -> str:
    value: Any = summary
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    return str(form % (value * 100 if "%%" in form else value))


def summary_html(results: Mapping[str, "Result"]) -> str:
    """Summaries as an HTML table, a row a result."""
    out = ['<table style="font:12px sans-serif"><tr><th></th>']
    out += ["<th>%s</th>" % escape(head) for _, head, _ in SHOWN] + ["</tr>"]
    for label, result in results.items():
        summary = result.summary()
        cells: List[str] = [_cell(summary, path, form) for path, _, form in SHOWN]
        out.append(
            "<tr><th>%s</th>%s</tr>"
            % (escape(label), "".join("<td>%s</td>" % cell for cell in cells))
        )
    return "".join([*out, "</table>"])
