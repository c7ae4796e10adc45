# SPDX-License-Identifier: Apache-2.0
"""Pictures of tunings, by matplotlib."""

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

from ..goals import Goal, named
from .axes import bare, beside, made_axes, set_title, unit_of
from .colours import LIMIT, NEUTRAL, PALETTE, USED

if TYPE_CHECKING:
    from ..tuning import Tuning

_FRONT, _OTHER, _AS_IT_IS, _BOUND = USED, NEUTRAL, PALETTE[1], LIMIT


def plot(tuning: "Tuning", axes: Any = None, title: Optional[str] = None) -> Any:
    """Draw the settings of a tuning. See :meth:`gangsched.Tuning.plot`."""
    table = tuning.table
    whole = table[table["simulated"] >= 1]
    ax = made_axes(axes, 1, 4.5)
    if len(tuning.objectives) == 1:
        _bars(tuning, whole, ax)
        set_title(ax, title, "%d settings" % (len(tuning) - 1))
    else:
        _points(tuning, whole, ax)
        set_title(ax, title, "%d settings, and those that none surpasses" % (len(tuning) - 1))
    bare(ax)
    return ax


def _scale(goal: Goal, values: Any) -> Tuple[float, str]:
    """The divisor of an objective, and the unit of its axis."""
    if goal.in_seconds:
        finite = [value for value in values if value < float("inf")]
        divisor, unit = unit_of(max(finite, default=0.0))
        return divisor, " (%s)" % unit
    return (0.01, " (%)") if goal.largest else (1.0, "")


def _of_objective(tuning: "Tuning", at: int) -> Goal:
    """The goal behind an objective."""
    with_queues = [goal for goal in tuning.goals if goal.queues is not None]
    return [*tuning.goals, *with_queues][at]


def _points(tuning: "Tuning", whole: Any, ax: Any) -> None:
    columns, scales = tuning.objectives[:2], []
    if len(tuning.goals) == 1:  # the goal, and what it costs the other queues
        columns = tuning.objectives
    for at, column in enumerate(columns):
        scales.append(_scale(_of_objective(tuning, at), whole[column]))
    x, y = (whole[column] / scale for column, (scale, _) in zip(columns, scales))
    front = whole["front"]
    order = x[front].sort_values().index
    ax.scatter(x[~front], y[~front], color=_OTHER, label="surpassed")
    ax.plot(x[order], y[order], color=_FRONT, linewidth=1)
    ax.scatter(x[front], y[front], color=_FRONT, label="not surpassed", zorder=3)
    ax.scatter(x.iloc[:1], y.iloc[:1], facecolors="none", edgecolors=_AS_IT_IS, s=110,
               linewidths=2, label="as it is", zorder=4)
    for at, line in enumerate((ax.axvline, ax.axhline)):
        bound = tuning.goals[at].bound if at < len(tuning.goals) else None
        if bound is not None:
            line(bound / scales[at][0], color=_BOUND, linewidth=1, linestyle="--")
    ax.set_xlabel(_label(columns[0]) + scales[0][1])
    ax.set_ylabel(_label(columns[1]) + scales[1][1])
    beside(ax)


def _bars(tuning: "Tuning", whole: Any, ax: Any, most: int = 20) -> None:
    goal, column = tuning.goals[0], tuning.objectives[0]
    kept = whole.sort_values(column, ascending=not goal.largest).head(most)
    divisor, unit = _scale(goal, whole[column])
    values = kept[column] / divisor
    places: List[int] = list(range(len(kept)))
    colors = [_AS_IT_IS if i == 0 else _FRONT for i in kept.index]
    drawn = ax.barh(places, values, color=colors)
    ax.bar_label(drawn, labels=_texts(values), padding=3, fontsize=8)
    ax.set_yticks(places, [named(tuning.settings[i]) for i in kept.index], fontsize=8)
    ax.invert_yaxis()
    if goal.bound is not None:
        ax.axvline(goal.bound / divisor, color=_BOUND, linewidth=1, linestyle="--")
    ax.set_xlabel(_label(column) + unit)


def _texts(values: Sequence[float]) -> List[str]:
    return ["%.3g" % value for value in values]


def _label(column: str) -> str:
    """A goal without its bound."""
    head, sign, rest = column.partition("<" if "<" in column else ">")
    comma = rest.find(",")
    return head.strip() + (rest[comma:] if sign and comma >= 0 else "")


__all__ = ["plot"]
