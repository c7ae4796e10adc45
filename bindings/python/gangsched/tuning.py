# SPDX-License-Identifier: Apache-2.0
"""Which parameters meet a goal: many simulations, the best trade-offs, and how sure they are."""

import itertools
import math
from typing import (
    TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union,
)

from .errors import InvalidArgument, NotFound
from .goals import Goal, Measured, goals_of, named, quantile
from .queues import Queues
from .sim.simulation import simulate
from .sweeps import Executor, sweep
from .trace import Trace, as_trace

if TYPE_CHECKING:
    import pandas

#: Lengths of the blocks of a resampled trace: the longest that a trace has four of.
_BLOCKS_S = (7 * 86400.0, 86400.0, 3600.0, 60.0)

_AMOUNTS = ("guaranteed", "limit", "lending_limit", "weight")


class Effect(NamedTuple):
    """By how much a setting changes a number, against the set-up as it is."""

    #: Setting minus set-up as it is, over the whole trace, in seconds or as a ratio
    difference: float
    #: 95 % of the resampled traces lie between these two
    low: float
    high: float
    #: Fraction of the resampled traces in which the setting is better
    better: float


class Tuning:
    """What :func:`tune` found.

    Attributes
    ----------
    goals : list of Goal
        What was asked for.
    settings : list of dict
        The parameters of each setting; the first is the set-up as it is, ``{}``.
    simulated : list of float
        The fraction of the trace that each setting was simulated on: 1, or less if successive
        halving left it out.
    blocks : int
        The number of blocks of time that resampled traces are drawn from.
    block_s : float
        Their length in seconds.
    """

    def __init__(
        self,
        goals: Sequence[Goal],
        settings: Sequence[Mapping[str, Any]],
        simulated: Sequence[float],
        measured: Sequence[Measured],
        blocks: int,
        block_s: float,
        resamples: int,
        seed: int,
    ) -> None:
        self.goals = list(goals)
        self.settings = [dict(setting) for setting in settings]
        self.simulated = list(simulated)
        self.blocks, self.block_s = blocks, block_s
        self._measured = list(measured)
        self._resamples, self._seed = resamples, seed
        self._draws: Any = None
        self._effects: Dict[Tuple[int, int], Effect] = {}
        self._values = [values_of(one, self.goals) for one in self._measured]
        self._front = pareto(
            [row if self.simulated[i] >= 1 else None for i, row in enumerate(self._values)],
            objectives_of(self.goals),
        )

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def objectives(self) -> List[str]:
        """The columns that the front trades off: the goals, and of a goal with queues the same
        number of the jobs in all other queues."""
        return [name for name, _ in objectives_of(self.goals)]

    @property
    def best(self) -> Dict[str, Any]:
        """The parameters of the best setting, ``{}`` for the set-up as it is.

        Of the settings on the front that meet most goals with a bound, the one with the smallest
        numbers, each as a multiple of the smallest on the front.
        """
        return dict(self.settings[self._best()])

    @property
    def front(self) -> "pandas.DataFrame":
        """The rows of :attr:`table` that no other setting surpasses: none is as good in each
        objective and better in one (the Pareto front)."""
        table = self.table
        found: pandas.DataFrame = table[table["front"]]
        return found

    @property
    def table(self) -> "pandas.DataFrame":
        """One row a setting, the first as it is.

        Columns: the parameters; the objectives (seconds, or ratios); ``met`` (goals met, of those
        with a bound); ``front``; ``refused`` (jobs); ``simulated`` (fraction of the trace).
        """
        import pandas

        names = list(dict.fromkeys(itertools.chain.from_iterable(self.settings)))
        rows = []
        for i, setting in enumerate(self.settings):
            row: Dict[str, Any] = {name: setting.get(name) for name in names}
            row.update(zip(self.objectives, self._values[i]))
            row.update(met=self._met(i), front=i in self._front, refused=self._measured[i].refused)
            row["simulated"] = self.simulated[i]
            rows.append(row)
        return pandas.DataFrame(rows)

    def effect(self, setting: int, goal: int = 0) -> Effect:
        """By how much a setting changes the number of a goal, and how sure that is.

        Traces are resampled: blocks of the trace (weeks; days of a shorter one) are drawn with
        replacement, as many as there are, the same for both set-ups (a paired block bootstrap:
        Kuensch, Annals of Statistics 17(3), 1989; Efron and Tibshirani, An Introduction to the
        Bootstrap, 1993). The simulations are not repeated: what one block does to the next stays.

        Parameters
        ----------
        setting
            The row of :attr:`table`.
        goal
            The index of the goal.

        Raises
        ------
        NotFound
            There is no such setting or goal.
        InvalidArgument
            Successive halving left the setting out.

        Notes
        -----
        With few blocks the interval is too narrow; below ten it is a hint. O(resamples * jobs),
        once for each setting and goal.
        """
        import numpy

        if not (0 <= setting < len(self.settings) and 0 <= goal < len(self.goals)):
            raise NotFound("no setting %d, or no goal %d" % (setting, goal))
        if self.simulated[setting] < 1:
            raise InvalidArgument("setting %d was not simulated on the whole trace" % setting)
        if (setting, goal) not in self._effects:
            asked = self.goals[goal]
            counts = self._counts()
            with numpy.errstate(invalid="ignore"):
                drawn = self._measured[setting].resampled(asked, counts) - self._measured[
                    0
                ].resampled(asked, counts)
            known = numpy.sort(drawn[~numpy.isnan(drawn)])
            low, high, better = math.nan, math.nan, math.nan
            if len(known):
                low, high = (quantile(known, at) for at in (0.025, 0.975))
                better = float((asked.cost(known) < 0).mean())
            difference = self._values[setting][goal] - self._values[0][goal]
            self._effects[setting, goal] = Effect(difference, low, high, better)
        return self._effects[setting, goal]

    @property
    def effects(self) -> "pandas.DataFrame":
        """:meth:`effect` of each setting on the front and each goal: ``setting`` (its row in
        :attr:`table`), ``goal``, ``difference``, ``low``, ``high``, ``better``."""
        import pandas

        rows = [
            {"setting": i, "goal": goal.text, **self.effect(i, g)._asdict()}
            for i in self._front
            for g, goal in enumerate(self.goals)
        ]
        return pandas.DataFrame(rows)

    def plot(self, axes: Any = None, title: Optional[str] = None) -> Any:
        """The settings as points over two objectives, the front as a line. Returns the axes.

        With one objective: bars of the settings on the whole trace, the best first.
        """
        from .viz.tuning import plot

        return plot(self, axes, title)

    def __repr__(self) -> str:
        from .report.words import span as duration

        def said(goal: Goal, value: float) -> str:
            return duration(value) if goal.in_seconds else "%.4g" % value

        best = self._best()
        lines = ["<Tuning: %d settings>" % (len(self.settings) - 1)]
        lines.append("best: %s" % named(self.settings[best]))
        for g, goal in enumerate(self.goals):
            line = "%s: %s, as it is %s" % (
                goal.text, said(goal, self._values[best][g]), said(goal, self._values[0][g])
            )
            if best:
                line += "; better in %.0f %% of %d resampled traces of %d blocks of %s" % (
                    100 * self.effect(best, g).better, self._resamples, self.blocks,
                    duration(self.block_s),
                )
            lines.append(line)
        return "\n".join(lines)

    # ---- internals -----------------------------------------------------------------------

    def _met(self, i: int) -> int:
        return sum(
            goal.bound is not None and goal.met(self._values[i][g])
            for g, goal in enumerate(self.goals)
        )

    def _best(self) -> int:
        signs = [-1.0 if largest else 1.0 for _, largest in objectives_of(self.goals)]
        rows = {i: [s * v for s, v in zip(signs, self._values[i])] for i in self._front}
        least: List[float] = [min(column) for column in zip(*rows.values())]

        def excess(i: int) -> float:
            return math.fsum(
                (value - low) / (abs(low) or 1.0) if math.isfinite(value) else math.inf
                for value, low in zip(rows[i], least)
            )

        return min(self._front, key=lambda i: (-self._met(i), excess(i), i))

    def _counts(self) -> Any:
        import numpy

        if self._draws is None:
            random = numpy.random.default_rng(self._seed)
            self._draws = random.multinomial(
                self.blocks, [1.0 / self.blocks] * self.blocks, size=self._resamples
            )
        return self._draws


# ---- the search ----------------------------------------------------------------------------------


def tune(
    trace: Any,
    cluster: Any,
    queues: Any,
    goal: Union[str, Iterable[str]],
    vary: Mapping[str, Iterable[Any]],
    *,
    method: str = "grid",
    keep: float = 0.5,
    block_s: Optional[float] = None,
    resamples: int = 400,
    seed: int = 0,
    executor: Executor = None,
    progress: bool = False,
    **options: Any,
) -> Tuning:
    """Search for parameters of policies that meet a goal, by simulation.

    ::

        found = gs.tune(trace, cluster, queues, goal="p95 wait of research < 1 h",
                        vary={"queues.research.guaranteed.gpu": [32, 48, 64],
                              "queues.*.backfill": ["none", "easy"]}, executor=4)
        print(found)
        found.front
        found.plot()

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"submit_s": i * 50, "run_s": 600, "gpu": 8, "queue": "ab"[i % 2]}
    ...                  for i in range(60)])
    >>> tuned = gs.tune(jobs, gs.Cluster.uniform(2), {"a": {}, "b": {}},
    ...                 goal="p95 wait of a < 1 h", vary={"queues.a.weight": [1, 8]})
    >>> tuned.best
    {'queues.a.weight': 8}

    Parameters
    ----------
    trace
        The jobs, or the path of a trace.
    cluster
        The machines.
    queues
        The tree as it is, or None.
    goal
        A line of text, or several: ``[p50...p99 | mean | median | max] NUMBER [of QUEUE[, QUEUE]]
        [< BOUND UNIT]``. NUMBER is ``wait``, ``jct`` (from submission to end), ``slowdown``,
        ``bounded slowdown``; or ``gpu utilisation`` (``> 80 %``). UNIT is s, min, h or d. Without
        a bound: as small as possible. A job that did not start counts as an infinite wait.
    vary
        Values by parameter; all combinations are tried. A parameter is an argument of
        :func:`simulate` (``policy``, ``checkpoint_s``...), or a member of a queue:
        ``queues.NAME.MEMBER``, of an amount ``queues.NAME.guaranteed.gpu``; NAME ``*``: of all
        leaves.
    method : {"grid", "halving"}
        ``grid`` simulates each setting on the whole trace. ``halving`` (Jamieson and Talwalkar,
        AISTATS 2016) simulates all on the first blocks of the trace, continues with the best part,
        on more blocks, and so on; a setting that is only good later is missed.
    keep : float
        Of ``halving``: which fraction continues, 0.1 to 0.9.
    block_s : float
        Seconds of a block, see :meth:`Tuning.effect`; None: a week, if the trace has four; else a
        day, an hour or a minute.
    resamples : int
        How many traces are drawn for the intervals.
    seed : int
        Of these draws. Each simulation has the seed of ``options``, or 0: the same for all.
    executor, progress
        See :func:`sweep`.
    options
        Arguments of all simulations.

    Raises
    ------
    InvalidArgument, NotFound
        A goal or a parameter that does not exist, or a value that a simulation refuses. The text
        names it.
    KeyboardInterrupt
        Ctrl-C. Its ``partial_result`` is a Tuning of the settings that were complete; None: the
        set-up as it is was not.
    """
    jobs = as_trace(trace)
    if not len(jobs):
        raise InvalidArgument("trace: no jobs", path="trace")
    if method not in ("grid", "halving"):
        raise InvalidArgument("method is grid or halving", path="method")
    if not 0.1 <= keep <= 0.9:
        raise InvalidArgument("keep is 0.1 to 0.9", path="keep")
    if resamples < 1:
        raise InvalidArgument("resamples: 1 or more", path="resamples")
    tree = None if queues is None else queues if isinstance(queues, Queues) else Queues(queues)
    goals = goals_of(goal, [] if tree is None else tree.leaves)
    settings: List[Dict[str, Any]] = [{}, *_combinations(vary)]
    calls = [_call_of(setting, tree, {"cluster": cluster, **options}) for setting in settings]
    submit = jobs.column("submit_s")
    first, span = float(submit.min()), float(submit.max() - submit.min())
    length = block_s if block_s is not None else _block_of(span)
    if not length > 0:
        raise InvalidArgument("block_s: above 0", path="block_s")
    blocks = int(span // length) + 1

    done: Dict[int, Measured] = {}
    part: Dict[int, float] = {}

    def made() -> Tuning:
        order = sorted(done)
        return Tuning(
            goals, [settings[i] for i in order], [part[i] for i in order],
            [done[i] for i in order], blocks, length, resamples, seed,
        )

    alive = list(range(len(calls)))
    for count in _rungs(method, keep, len(calls), blocks):
        head = jobs if count == blocks else jobs.select(submit < first + count * length)
        grid = [
            {"call": calls[i], "trace": head, "first_s": first, "block_s": length, "blocks": blocks}
            for i in alive
        ]
        try:
            found = sweep(_measure, grid, executor=executor, progress=progress)
        except KeyboardInterrupt as stop:
            partial = stop.partial_result  # type: ignore[attr-defined]
            for params, one in partial:
                i = next(i for i in alive if calls[i] is params["call"])
                done[i], part[i] = one, count / blocks
            stop.partial_result = made() if 0 in done else None  # type: ignore[attr-defined]
            raise
        for i, one in zip(alive, found.values):
            done[i], part[i] = one, count / blocks
        if count < blocks:
            alive = _survivors(alive, done, goals, keep)
    return made()


def _measure(
    call: Mapping[str, Any], trace: Trace, first_s: float, block_s: float, blocks: int
) -> Measured:
    arguments: Dict[str, Any] = {"record": ("timeline",), **call}
    result = simulate(trace=trace, **arguments)
    return Measured(result, first_s, block_s, blocks)


def _combinations(vary: Mapping[str, Iterable[Any]]) -> List[Dict[str, Any]]:
    listed = {name: list(values) for name, values in vary.items()}
    for name, values in listed.items():
        if not values:
            raise InvalidArgument("vary: %r has no values" % name, path="vary")
    if not listed:
        raise InvalidArgument("vary: no parameter", path="vary")
    return [dict(zip(listed, values)) for values in itertools.product(*listed.values())]


def _call_of(
    setting: Mapping[str, Any], tree: Optional[Queues], common: Mapping[str, Any]
) -> Dict[str, Any]:
    call = dict(common)
    for name, value in setting.items():
        if name.startswith("queues."):
            tree = _with_member(tree, name, value)
        else:
            call[name] = value
    return {"queues": tree, **call}


def _with_member(tree: Optional[Queues], name: str, value: Any) -> Queues:
    """The tree with one member changed, named as in ``queues.research.limit.gpu``."""
    if tree is None:
        raise InvalidArgument("vary: %r, but there are no queues" % name, path="vary")
    rest = name[len("queues.") :]
    known = [one for one in ["*", *tree] if rest.startswith(one + ".")]
    if not known:
        raise NotFound("vary: %r names no queue (there are %s)" % (name, ", ".join(tree)),
                       path="vary")
    queue = max(known, key=len)
    member, _, kind = rest[len(queue) + 1 :].partition(".")
    if kind and member not in _AMOUNTS:
        raise InvalidArgument("vary: %r: '%s' has no kinds" % (name, member), path="vary")
    for one in tree.leaves if queue == "*" else [queue]:
        given = value
        if kind:
            before = tree[one].get(member)
            before = before if isinstance(before, Mapping) else (
                {} if before is None else {"default": before}
            )
            given = {**before, kind: value}
        tree = tree.changed(one, **{member: given})
    return tree


def _block_of(span_s: float) -> float:
    return next((one for one in _BLOCKS_S if span_s >= 4 * one), _BLOCKS_S[-1])


def _rungs(method: str, keep: float, settings: int, blocks: int) -> List[int]:
    """How many blocks of the trace each round simulates; the last all."""
    if method == "grid":
        return [blocks]
    rounds = max(1, math.ceil(math.log(settings) / -math.log(keep)))
    found = [max(1, math.ceil(blocks * keep**i)) for i in range(rounds, 0, -1)]
    return sorted({count for count in found if count < blocks}) + [blocks]


def _survivors(
    alive: Sequence[int], done: Mapping[int, Measured], goals: Sequence[Goal], keep: float
) -> List[int]:
    """The set-up as it is, and the best of the others: front by front, those that meet most goals
    first."""
    values = {i: values_of(done[i], goals) for i in alive}
    met = {
        i: sum(goal.met(values[i][g]) for g, goal in enumerate(goals)) for i in alive
    }
    left, ranked = [i for i in alive if i != 0], []
    while left:
        best = pareto([values[i] for i in left], objectives_of(goals))
        layer = [left[at] for at in best]
        ranked += sorted(layer, key=lambda i: (-met[i], i))
        left = [i for i in left if i not in layer]
    return sorted([0, *ranked[: max(1, math.ceil(keep * len(ranked)))]])


# ---- trade-offs ----------------------------------------------------------------------------------


def objectives_of(goals: Iterable[Goal]) -> List[Tuple[str, bool]]:
    """The numbers that are traded off, as column names, each with whether more is better."""
    found: List[Tuple[str, bool]] = []
    for goal in goals:
        found.append((goal.text, goal.largest))
    for goal in goals:
        if goal.queues is not None:
            found.append(("%s, of other queues" % goal.text.split(" of ")[0], goal.largest))
    return found


def values_of(measured: Measured, goals: Sequence[Goal]) -> List[float]:
    """The objectives of one simulation."""
    own = [measured.value(goal) for goal in goals]
    return own + [measured.value(goal, others=True) for goal in goals if goal.queues is not None]


def pareto(
    rows: Sequence[Optional[Sequence[float]]], objectives: Sequence[Tuple[str, bool]]
) -> List[int]:
    """The rows that no other surpasses. Rows that are None are left out; nan is worst."""

    def costs(row: Sequence[float]) -> List[float]:
        return [
            math.inf if math.isnan(value) else -value if largest else value
            for value, (_, largest) in zip(row, objectives)
        ]

    known = {i: costs(row) for i, row in enumerate(rows) if row is not None}

    def surpassed(i: int) -> bool:
        return any(
            all(a <= b for a, b in zip(other, known[i])) and other != known[i]
            for other in known.values()
        )

    return [i for i in known if not surpassed(i)]


__all__ = ["Effect", "Tuning", "tune"]
