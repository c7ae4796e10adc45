# SPDX-License-Identifier: Apache-2.0
"""Pictures of what each queue, user or model of GPU had in use, by matplotlib."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ..errors import GangError, InvalidArgument
from ..queues import Queues
from .axes import bare, beside, unit_of, width_of_pictures
from .colours import GUARANTEED, LIMIT, NEUTRAL, colour_of, ranked
from .plots import binned

if TYPE_CHECKING:
    from ..sim.result import Result

#: Groups with a picture of their own.
MOST = 8

OTHERS = "all others"


def plot_by(
    result: "Result", by: str, axes: Any = None, title: Optional[str] = None
) -> List[Any]:
    """Draw use by group. See :meth:`gangsched.Result.plot`."""
    amount = "gpus" if result.capacity["gpus"] else "cpus"
    table = result.timeline_by(by, amount)
    at = table.pop("at_s").to_numpy()
    table = _largest(table, at, result.info.now_s)
    shown = _many_axes(axes, len(table.columns))
    begin = float(at[0])
    stop = max(float(result.info.now_s), float(at[-1]))
    scale, unit = unit_of(stop - begin)
    called = {"gpus": "GPUs", "cpus": "cores"}[amount]
    colours = _colours(result, by, [str(name) for name in table.columns])
    shown[-1].set_xlabel("time (%s)" % unit)
    for ax, name in zip(shown, table.columns):
        color = NEUTRAL if name == OTHERS else colours.get(str(name), colour_of(0))
        _one(ax, (at - begin) / scale, table[name].to_numpy(), (stop - begin) / scale, color)
        ax.set_title(str(name) or "(none)", fontsize=9, loc="left")
        ax.set_ylabel(called, fontsize=8)
        if by == "queue" and name != OTHERS:
            _bounds(ax, result, str(name), "gpu" if amount == "gpus" else "cpu")
    most = max(ax.get_ylim()[1] for ax in shown)
    for ax in shown:
        ax.set_ylim(0, most or 1)
    if title != "":
        text = "%s in use by %s, of %g" % (called, by, result.capacity[amount])
        shown[0].figure.suptitle(text if title is None else title, fontsize=11)
    return shown


def _many_axes(axes: Any, count: int) -> List[Any]:
    if axes is None:
        from matplotlib import pyplot

        _, made = pyplot.subplots(
            count, 1, sharex=True, squeeze=False, figsize=(width_of_pictures(), 1.3 * count + 0.8),
            constrained_layout=True,
        )
        return [row[0] for row in made]
    listed = list(axes) if hasattr(axes, "__iter__") else [axes]
    if len(listed) != count:
        raise InvalidArgument("axes: %d are needed" % count, path="axes")
    return listed


def _largest(table: Any, at: Any, now_s: float) -> Any:
    """The groups that used most, over time; others as one."""
    import numpy

    if len(table.columns) <= MOST + 1:
        return table
    lasts = numpy.diff(numpy.append(at, max(now_s, at[-1])))
    total = table.mul(lasts, axis=0).sum().sort_values(ascending=False, kind="stable")
    kept = [name for name in table.columns if name in set(total.index[:MOST])]
    made = table[kept].copy()
    made[OTHERS] = table.drop(columns=kept).sum(axis=1)
    return made


def _colours(result: "Result", by: str, names: List[str]) -> Dict[str, str]:
    """The colours that a Gantt chart gives the same queues or users."""
    words = names
    if by != "model":  # a job without a queue or user has the name ""
        words = ["" if word == "(no %s)" % by else word for word in ranked(result, by)[1]]
    return {word: colour_of(code) for code, word in enumerate(words)}


def _one(ax: Any, at: Any, used: Any, end: float, color: Any) -> None:
    edges, mean, _ = binned(at, used, end)
    ax.stairs(mean, edges, fill=True, color=color)
    ax.set_xlim(0, end or 1)
    ax.tick_params(labelsize=8)
    bare(ax)


def _bounds(ax: Any, result: "Result", queue: str, kind: str) -> None:
    """Lines at the guarantee and the limit of a queue."""
    members = _tree(result).get(queue, {})
    handles = []
    for member, style, color in (("guaranteed", "--", GUARANTEED), ("limit", "-", LIMIT)):
        amounts = members.get(member)
        value = amounts.get(kind) if isinstance(amounts, dict) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            handles.append(
                ax.axhline(value, color=color, linewidth=1.2, linestyle=style, label=member)
            )
    if handles:
        low, high = ax.get_ylim()
        ax.set_ylim(low, max(high, *(1.05 * line.get_ydata()[0] for line in handles)))
        beside(ax, 7)


def _tree(result: "Result") -> Dict[str, Dict[str, Any]]:
    """The members of the queues as the simulation began; {}: they are not known any more."""
    given = result._recipe.arguments.get("queues")
    try:
        return {} if given is None else dict(Queues(given))
    except GangError:
        return {}


__all__ = ["plot_by"]
