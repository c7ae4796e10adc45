# SPDX-License-Identifier: Apache-2.0
"""Goals of a tuning: a number of a simulation, the jobs that count, and a bound.

A goal is a line of text::

    p95 wait of research < 1 h
    mean bounded slowdown
    gpu utilisation > 80 %
"""

import re
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from .errors import InvalidArgument, NotFound
from .sim.result import Result

#: Run times below this count as this much in bounded slowdowns, as in the summary.
TAU_S = 10.0

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_CALLED = {
    "wait": "wait", "waiting time": "wait", "jct": "jct", "completion time": "jct",
    "slowdown": "slowdown", "bounded slowdown": "bounded slowdown",
    "gpu utilisation": "gpu utilisation", "gpu utilization": "gpu utilisation",
}
_GOAL = re.compile(
    r"(?:(?P<statistic>p\d+(?:\.\d+)?|mean|median|max) +)?"
    r"(?P<number>%s)"
    r"(?: +of +(?P<queues>\S.*?))?"
    r"(?: *(?P<sign>[<>]) *(?P<bound>\d+(?:\.\d+)?(?:e\d+)?) *(?P<unit>s|min|h|d|%%|))?"
    % "|".join(sorted(_CALLED, key=len, reverse=True)),
    re.IGNORECASE,
)


class Goal(NamedTuple):
    """One number of a simulation, and the bound that it should keep."""

    text: str
    #: ``wait``, ``jct`` (from submission to end), ``slowdown``, ``bounded slowdown``, ``gpu
    #: utilisation``
    number: str
    #: 0 to 1; None: the mean
    quantile: Optional[float]
    #: Jobs of these leaves count; None: all jobs
    queues: Optional[Tuple[str, ...]]
    #: In seconds, or a ratio; None: as small (utilisation: as large) as it gets
    bound: Optional[float]

    @property
    def largest(self) -> bool:
        """True: a larger number is better."""
        return self.number == "gpu utilisation"

    @property
    def in_seconds(self) -> bool:
        """True: the number is a time."""
        return self.number in ("wait", "jct")

    def cost(self, value: Any) -> Any:
        """The number so that less is better."""
        return -value if self.largest else value

    def met(self, value: float) -> bool:
        """Whether the number keeps the bound. Without a bound: True."""
        return self.bound is None or self.cost(value) < self.cost(self.bound)


def goal_of(text: str, leaves: Iterable[str]) -> Goal:
    """Read a goal.

    Parameters
    ----------
    leaves
        The leaves that the tree of queues has.

    Raises
    ------
    InvalidArgument
        It is no goal; the text says what is expected.
    NotFound
        There is no such leaf.
    """
    found = _GOAL.fullmatch(text.strip())
    if not found:
        raise InvalidArgument(
            "goal %r: expected e.g. 'p95 wait of QUEUE < 1 h': p50 to p99, mean, median or max; "
            "then %s; then perhaps 'of QUEUE', and '<' or '>' with a number in s, min, h, d or %%"
            % (text, ", ".join(sorted(set(_CALLED.values())))),
            path="goal",
        )
    number = _CALLED[found["number"].lower()]
    queues = _queues_of(text, found["queues"], leaves)
    made = Goal(text.strip(), number, _quantile_of(found["statistic"]), queues, _bound_of(found))
    if made.largest and (found["statistic"] or queues):
        raise InvalidArgument(
            "goal %r: utilisation is that of the cluster, without statistic and queue" % text,
            path="goal",
        )
    _check_bound(text, made, found)
    return made


def _quantile_of(word: Optional[str]) -> Optional[float]:
    if word is None or word.lower() == "mean":
        return None
    named = {"median": 0.5, "max": 1.0}
    return named.get(word.lower(), float(word[1:]) / 100 if word[1:2].isdigit() else 1.0)


def _queues_of(text: str, named: Optional[str], leaves: Iterable[str]) -> Any:
    if named is None:
        return None
    listed = tuple(name.strip() for name in named.split(","))
    known = list(leaves)
    for name in listed:
        if name not in known:
            raise NotFound(
                "goal %r: no leaf queue '%s' (there are %s)" % (text, name, ", ".join(known)),
                path="goal",
            )
    return listed


def _bound_of(found: Any) -> Optional[float]:
    if found["bound"] is None:
        return None
    unit = found["unit"].lower()
    return float(found["bound"]) * (0.01 if unit == "%" else _UNITS[unit])


def _check_bound(text: str, goal: Goal, found: Any) -> None:
    if goal.bound is None:
        return
    if found["sign"] != (">" if goal.largest else "<"):
        better = "more" if goal.largest else "less"
        raise InvalidArgument("goal %r: %s is better" % (text, better), path="goal")
    if bool(found["unit"] in ("s", "min", "h", "d")) != goal.in_seconds:
        raise InvalidArgument(
            "goal %r: the bound of a time has a unit (s, min, h, d), no other has" % text,
            path="goal",
        )
    if goal.quantile is not None and goal.quantile > 1:
        raise InvalidArgument("goal %r: a percentile is at most 100" % text, path="goal")


# ---- what one simulation gives -------------------------------------------------------------------


class Measured:
    """What goals need of one simulation: numbers of jobs, and use of GPUs, by block of time.

    A job that has not started, or not ended, at the end of the simulation has an infinite wait, or
    time to completion. Jobs that were refused do not count.

    Attributes
    ----------
    refused : int
        The number of jobs that were refused.
    """

    def __init__(self, result: Result, first_s: float, block_s: float, blocks: int) -> None:
        import numpy

        ends = result.column("end")
        keep = ends != "refused"
        self.refused = int(len(ends) - keep.sum())
        submit = result.column("submit_s")[keep]
        self.block = numpy.clip(((submit - first_s) // block_s).astype(int), 0, blocks - 1)
        self.queue = result.column("queue")[keep]
        wait, jct = result.column("wait_s")[keep], result.column("jct_s")[keep]
        ran = numpy.nan_to_num(result.column("run_s")[keep])
        jct = numpy.where(numpy.isnan(jct), numpy.inf, jct)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            slowdown = jct / numpy.where(ran > 0, ran, numpy.nan)
        self.numbers: Dict[str, Any] = {
            "wait": numpy.where(numpy.isnan(wait), numpy.inf, wait),
            "jct": jct,
            "slowdown": slowdown,
            "bounded slowdown": numpy.maximum(jct / numpy.maximum(ran, TAU_S), 1.0),
        }
        self.used = _use_by_block(result, first_s, block_s, blocks)

    def values(self, goal: Goal, others: bool = False) -> Tuple[Any, Any]:
        """The numbers of the jobs that a goal names (or of all others), and their blocks."""
        import numpy

        kept = numpy.ones(len(self.block), dtype=bool)
        if goal.queues is not None:
            kept = numpy.isin(self.queue, goal.queues) != others
        kept &= ~numpy.isnan(self.numbers[goal.number])
        return self.numbers[goal.number][kept], self.block[kept]

    def value(self, goal: Goal, others: bool = False) -> float:
        """The number of a goal; nan: there is no such job."""
        import numpy

        if goal.largest:
            used, most = self.used
            return float(used.sum() / most.sum()) if most.sum() else float("nan")
        values, _ = self.values(goal, others)
        if not len(values):
            return float("nan")
        if goal.quantile is None:
            return float(values.mean())
        return quantile(numpy.sort(values), goal.quantile)

    def resampled(self, goal: Goal, counts: Any) -> Any:
        """The number of a goal, for each row of ``counts``: how often each block counts."""
        import numpy

        if goal.largest:
            used, most = self.used
            return (counts @ used) / numpy.maximum(counts @ most, 1e-300)
        values, block = self.values(goal)
        order = numpy.argsort(values, kind="stable")
        values, block = values[order], block[order]
        found = numpy.full(len(counts), numpy.nan)
        for i, row in enumerate(counts):
            weight = numpy.cumsum(row[block])
            if not len(weight) or weight[-1] == 0:
                continue
            if goal.quantile is None:
                kept = row[block] > 0  # 0 times an infinite wait is not a number
                found[i] = (values[kept] * row[block][kept]).sum() / weight[-1]
            else:
                found[i] = quantile(values, goal.quantile, weight)
        return found


def quantile(values: Any, fraction: float, counted: Any = None) -> float:
    """A quantile of sorted values, as ``numpy.quantile()``, also of infinite ones.

    Between a finite and an infinite value the infinite one is taken.

    Parameters
    ----------
    counted
        How often the values up to each one count; None: once each.
    """
    import numpy

    count = len(values) if counted is None else int(counted[-1])
    at = fraction * (count - 1)
    first = int(at)
    last = min(first + 1, count - 1)
    if counted is not None:
        first, last = numpy.searchsorted(counted, [first, last], side="right")
    below, above, part = float(values[first]), float(values[last]), at - int(at)
    if part == 0 or below == above:
        return below
    if numpy.isinf(below):
        return above if numpy.isinf(above) and part >= 0.5 else below
    step = above - below
    # numpy rounds so; the second form may subtract an infinity from itself
    if part < 0.5 or numpy.isinf(step):
        return below + step * part
    return above - step * (1 - part)


def _use_by_block(result: Result, first_s: float, block_s: float, blocks: int) -> Tuple[Any, Any]:
    """GPU seconds in use, and GPU seconds of the cluster, in each block."""
    import numpy

    table = result.timeline
    edges = first_s + block_s * numpy.arange(blocks + 1)
    most = numpy.full(blocks, block_s * result.capacity["gpus"])
    if not len(table):
        return numpy.zeros(blocks), most
    at = table.at_s.to_numpy()
    gpus = table.gpus.to_numpy()
    total = numpy.concatenate(([0.0], numpy.cumsum(gpus[:-1] * numpy.diff(at))))
    last = numpy.searchsorted(at, edges, side="right") - 1
    before = numpy.maximum(last, 0)
    integral = numpy.where(
        last < 0, 0.0, total[before] + gpus[before] * numpy.maximum(edges - at[before], 0.0)
    )
    return numpy.diff(integral), most


def goals_of(texts: Union[str, Iterable[str]], leaves: Iterable[str]) -> List[Goal]:
    """Read one goal or several."""
    known = list(leaves)
    made = [goal_of(text, known) for text in ([texts] if isinstance(texts, str) else texts)]
    if not made:
        raise InvalidArgument("goal: one or more", path="goal")
    return made


def named(values: Mapping[str, Any]) -> str:
    """Parameters in one line, e.g. ``policy=srtf, order=shortest``."""
    return ", ".join("%s=%s" % (key, value) for key, value in values.items()) or "as it is"


__all__ = ["Goal", "Measured", "goal_of", "goals_of", "named"]
