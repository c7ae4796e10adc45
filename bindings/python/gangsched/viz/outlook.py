# SPDX-License-Identifier: Apache-2.0
"""Pictures of plans, forecasts and what-ifs, by matplotlib."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from ..errors import InvalidArgument
from .axes import bare, below, made_axes, set_title, unit_of
from .colours import NEUTRAL, PALETTE, USED, colour_of
from .gantt import HATCHES, MOST_NAMES

if TYPE_CHECKING:
    import pandas

    from ..sim.outlook import Expectations, Plan

#: Jobs in a picture of a forecast.
MOST_JOBS = 40

_RUNNING, _START, _RESERVATION = "running", "start", "reservation"

_SAID = {
    _RUNNING: "running, until its latest end", _START: "planned start", _RESERVATION: "reservation",
}

#: What stands in the line of a job that has no expected start.
_NO_START = {
    "later": "not before the horizon", "never": "never in this configuration",
    "end": "ends without a start",
}


# ---- plan ------------------------------------------------------------------------------------


def plot_plan(plan: "Plan[Any]", axes: Any = None, title: Optional[str] = None) -> Any:
    """Draw a plan. See :meth:`gangsched.sim.outlook.Plan.plot`."""
    if not len(plan):
        raise InvalidArgument("nothing runs, is planned or reserved")
    ends = [item.end_s for item in plan if item.end_s is not None]
    ends += [item.start_s for item in plan]
    last = max([*ends, plan.now_s + 1.0])
    right = plan.now_s + 1.05 * (last - plan.now_s)  # what has no end goes beyond the last one
    scale, unit = unit_of(right - plan.now_s)
    placed, lines = _stacked(plan)
    total = max(low + high for low, high in lines.values())
    ax = made_axes(axes, 1, min(max(1.4 + 0.2 * total, 2.6), 9.0))
    wide = (right - plan.now_s) / scale
    for item, line in placed:
        end_s = right if item.end_s is None else item.end_s
        x0, x1 = ((max(at, plan.now_s) - plan.now_s) / scale for at in (item.start_s, end_s))
        if x1 > x0:
            _box(ax, item, x0, x1, line, (wide, total))
    shown = [(low + high / 2, name) for name, (low, high) in lines.items()]
    shown = shown[:: -(-len(shown) // MOST_NAMES)]
    ax.set_yticks([at for at, _ in shown], [name for _, name in shown], fontsize=8)
    for low, _ in list(lines.values())[1:]:
        ax.axhline(low, color=NEUTRAL, linewidth=0.4)
    ax.set_ylabel("nodes")
    ax.set_xlabel("time from now (%s)" % unit)
    ax.set_xlim(0, wide)
    ax.set_ylim(total, 0)
    set_title(ax, title, "Plan of %d nodes: who has which node when" % len(lines))
    bare(ax)
    _plan_legend(ax, [item.what for item in plan])
    return ax


def _stacked(plan: "Plan[Any]") -> Tuple[List[Tuple[Any, int]], Dict[str, Tuple[int, int]]]:
    """A line for each item on each of its nodes; the first line of each node, and their number.

    Items of one node that overlap have different lines.
    """
    by_node: Dict[str, List[Any]] = {name: [] for name in plan.nodes}
    for item in sorted(plan, key=lambda item: float(item.start_s)):
        for node in item.nodes:
            by_node.setdefault(node, []).append(item)
    placed, lines, base = [], {}, 0
    for name, items in by_node.items():
        busy: List[float] = []  # until when each line is taken
        for item in items:
            free = [i for i, until in enumerate(busy) if until <= item.start_s]
            line = free[0] if free else len(busy)
            if not free:
                busy.append(0.0)
            busy[line] = float("inf") if item.end_s is None else item.end_s
            placed.append((item, base + line))
        lines[name] = (base, max(len(busy), 1))
        base += max(len(busy), 1)
    return placed, lines


def _style(what: str) -> Dict[str, Any]:
    if what == _RESERVATION:
        hatch = HATCHES["reserved"]
        return {"facecolor": "none", "edgecolor": NEUTRAL, "hatch": hatch, "linewidth": 0.8}
    colour = USED if what == _RUNNING else PALETTE[1]
    return {"facecolor": colour, "edgecolor": "white", "linewidth": 0.5}


def _box(ax: Any, item: Any, x0: float, x1: float, line: int, size: Tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x0, line + 0.06), x1 - x0, 0.88, **_style(item.what)))
    inches = ax.get_figure().get_size_inches() * 72 * 0.8  # about the size of the axes, points
    if len(item.name) * 4.6 < inches[0] * (x1 - x0) / size[0] and inches[1] / size[1] >= 9:
        reserved = item.what == _RESERVATION
        ax.text(
            (x0 + x1) / 2, line + 0.5, item.name, ha="center", va="center", fontsize=7,
            color="black", clip_on=True,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8} if reserved else None,
        )


def _plan_legend(ax: Any, there: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(**_style(what), label=said) for what, said in _SAID.items() if what in there]
    below(ax, patches)


# ---- forecast --------------------------------------------------------------------------------


def plot_forecast(
    rows: "Expectations[Any]", axes: Any = None, title: Optional[str] = None
) -> Any:
    """Draw expected starts. See :meth:`gangsched.sim.outlook.Expectations.plot`."""
    if not len(rows):
        raise InvalidArgument("no job waits")
    far = float("inf")
    listed = sorted(rows, key=lambda row: far if row.start_s is None else float(row.start_s))
    shown = listed[:MOST_JOBS]
    times = [at for row in shown for at in (row.start_s, row.high_s) if at is not None]
    scale, unit = unit_of(max(times, default=rows.now_s + 1.0) - rows.now_s)
    ax = made_axes(axes, 1, 1.3 + 0.2 * len(shown))

    def x(at_s: float) -> float:
        return (at_s - rows.now_s) / scale

    bars = [
        (i, row) for i, row in enumerate(shown)
        if row.low_s is not None and row.high_s is not None and row.high_s > row.low_s
    ]
    handles = []
    if bars:
        places = [i for i, _ in bars]
        handles.append(
            ax.hlines(
                places, [x(row.low_s) for _, row in bars], [x(row.high_s) for _, row in bars],
                color=USED, alpha=0.45, linewidth=5, label="from low to high, of the samples",
            )
        )
    starts = [(x(row.start_s), i) for i, row in enumerate(shown) if row.start_s is not None]
    handles += ax.plot(
        [at for at, _ in starts], [i for _, i in starts], "|", color=PALETTE[5], markersize=9,
        markeredgewidth=2, label="expected start" + (" (median)" if bars else ""),
    )
    for i, row in enumerate(shown):
        if row.start_s is None:
            said = _NO_START.get(row.what, row.what)
            ax.annotate(
                said, (0.0, i), (4, 0), textcoords="offset points", va="center", fontsize=7,
                color=NEUTRAL,
            )
    _lines(ax, [_label(row.name, row.queue) for row in shown])
    ax.set_xlim(left=0)
    ax.set_xlabel("time from now (%s)" % unit)
    waiting = "%d waiting jobs" % len(rows)
    if len(rows) > len(shown):
        waiting = "the first %d of %s" % (len(shown), waiting)
    set_title(ax, title, "Expected starts of %s" % waiting)
    below(ax, handles)
    return ax


def _label(name: str, queue: str) -> str:
    return "%s (%s)" % (name, queue) if queue else name


def _lines(ax: Any, names: Sequence[str]) -> None:
    """A line a job, from top to bottom."""
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_ylabel("jobs")
    ax.grid(axis="x", color=NEUTRAL, alpha=0.3, linewidth=0.6)
    bare(ax)


# ---- what if ---------------------------------------------------------------------------------


def plot_what_if(table: "pandas.DataFrame", axes: Any = None, title: Optional[str] = None) -> Any:
    """Draw the expected starts of each case beside each other. See
    :meth:`gangsched.Simulation.what_if`.
    """
    columns = [column for column in table.columns if column != "name"]
    cases = [
        column for column in columns
        if not (column.endswith((" low", " high")) and column.rpartition(" ")[0] in columns)
    ]
    if not len(table) or not cases:
        raise InvalidArgument("no job waits")
    first = table[cases].min(axis=1).sort_values(kind="stable").index[:MOST_JOBS]
    shown = table.loc[first]
    most = float(shown[columns].max().max())
    scale, unit = unit_of(most if most == most else 1.0)
    ax = made_axes(axes, 1, 1.3 + 0.22 * len(shown))
    step, handles = 0.7 / max(len(cases), 1), []
    for k, case in enumerate(cases):
        at = [i + (k - (len(cases) - 1) / 2) * step for i in range(len(shown))]
        if case + " low" in columns:
            ax.hlines(
                at, shown[case + " low"] / scale, shown[case + " high"] / scale,
                color=colour_of(k), alpha=0.45, linewidth=3,
            )
        handles += ax.plot(
            shown[case] / scale, at, "os^Dv"[k % 5], color=colour_of(k), markersize=4, label=case,
            linestyle="none",
        )
    _lines(ax, [str(name) for name in shown["name"]])
    for i in range(len(shown) - 1):
        ax.axhline(i + 0.5, color=NEUTRAL, linewidth=0.3)
    ax.set_xlabel("expected start (%s of the simulation)" % unit)
    set_title(ax, title, "Expected starts of %d waiting jobs, by case" % len(table))
    below(ax, handles)
    return ax


__all__ = ["plot_forecast", "plot_plan", "plot_what_if"]
