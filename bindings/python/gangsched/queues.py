# SPDX-License-Identifier: Apache-2.0
"""The tree of queues: how jobs share a cluster."""

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Union

from ._lazy import deprecated
from .case import Case, Source, load
from .errors import AlreadyExists, GangError, InvalidArgument, NotFound, placed
from .closest import unknown

#: Resources of every cluster; all other resources are kinds of the site.
BUILT_IN = ("gpu", "cpu", "mem_mib", "mem_bytes")

_AMOUNTS = ("guaranteed", "limit", "lending_limit", "weight")


class Queues(Mapping[str, Dict[str, Any]]):
    """An immutable tree of queues, independent of any cluster.

    Any thread.

    ::

        Queues({"research": {"weight": 2, "limit": {"gpu": 64}},
                "prod": {"guaranteed": {"gpu": 32},
                         "queues": {"web": {}, "batch": {"order": "shortest"}}}})
        Queues([{"name": "a", "guaranteed": {"gpu": 8}}, {"name": "b", "parent": "a"}])
        Queues("cluster.json")

    Units: ``gpu`` devices, ``cpu`` cores, ``mem_mib`` MiB, other kinds in their own unit. Names
    that end in ``_s`` are seconds. "As the parent" means: inherited; a queue at the top has the
    default in brackets. Members of a queue:

    ``guaranteed``, ``limit``, ``lending_limit``
        Amounts: a dict by resource; -1: unlimited. ``"gpu@NAME"``: of what is in a partition.
        Instead of a number, ``{"fraction": 0.25}`` of the parent's amount; for ``guaranteed`` also
        ``{"weight": 2}``: this weight over the sum of the siblings' weights. Default: nothing
        guaranteed, no limits. A queue with children that names nothing ``guaranteed`` has the sum
        of what its children name, at most its limit. Name 0 if it is to have nothing.
    ``weight``, ``surplus``
        The weight by which siblings divide the rest: a number (1), or a dict by resource. How the
        children of this queue divide it: ``"by-weight"`` (default) or ``"evenly"``.
    ``priority``
        Of the queue among its siblings (100).
    ``order``, ``child_order``
        Of its jobs: ``"priority"`` (default), ``"fifo"``, ``"fair"``, ``"shortest"``,
        ``"least-served"``, ``"deadline"``, ``"multifactor"``. Of its children: ``"fair"``
        (default), ``"utilization"``, ``"priority-utilization"``, ``"multifactor"``.
    ``block``, ``backfill``, ``plan_depth``, ``backfill_order``
        ``"strict"``: a job that cannot start holds back the jobs behind it; ``"none"`` (default).
        Which blocked jobs have planned starts that no other job delays: ``"none"``, ``"easy"`` (the
        first ``plan_depth``, 1), ``"conservative"`` (all); as the parent. The order in which
        backfill tries the jobs behind them: ``"leaf"``, ``"shortest"``, ``"widest"``,
        ``"smallest"``.
    ``max_blocked_s``, ``max_bypasses``, ``max_wait_s``
        A job is starved when it has found no capacity for ``max_blocked_s`` (3600; -1: no bound),
        when ``max_bypasses`` jobs have passed it, or when it has waited for ``max_wait_s`` (no
        bound). Then no other job of the queue passes it; after ``max_blocked_s`` only jobs of
        higher priority do. As the parent.
    ``within``, ``reclaim``, ``across``, ``preempt_class``, ``preempts``
        Which jobs its jobs may preempt: in the queue (``"never"``, ``"lower"``, the default,
        ``"lower-or-newer"``, ``"user-limit"``: jobs of users above their limit); in queues above
        their share (``"never"``, ``"lower"``, ``"any"``, the default); among the leaves below
        (``"never"``, ``"lower"``, ``"lower-capped"`` with ``across_max_priority``); classes of
        jobs.
    ``no_preemption``, ``nonpreemptible``, ``preempt_mode``
        True: nothing is preempted from it (False). How much non-preemptible work may run in it:
        ``"guaranteed"`` (at the top), ``"limit"``. How jobs stop: ``"requeue"`` (default),
        ``"suspend"``, ``"cancel"``.
    ``grace_s``, ``min_runtime_s``, ``stale_s``, ``fence_s``
        Seconds from the request to stop to the kill; for which a job runs before it may be
        preempted; for which a gang may stay below its minimum; for which lost tasks keep their
        places. As the parent.
    ``max_running``, ``max_pending``, ``max_running_per_user``
        Maximum numbers of jobs (no bound).
    ``default_time_limit_s``, ``max_time_limit_s``, ``overrun``
        The time limit of jobs that have none; the longest that a job may have (none); what happens
        at the limit: ``"kill"`` (at the top), ``"extend"`` (by ``extend_s``
        while no job waits), ``"ask"``.
    ``users``, ``user_limit``, ``user_limit_factor``, ``submit_acl``, ``admin_acl``
        Weights by name (1). With N active users each may use the larger of 1/N and the fraction
        ``user_limit`` of the queue, at most ``user_limit_factor`` times its guarantee (no bound).
        Who may submit and administer: ``"user1,user2 group1"``, ``"*"`` (all), ``" "`` (none).
    ``budgets``
        ``[{"kind", "amount", "period_s", "per_user", "exhausted"}]``: how much of a kind, times
        seconds (GPU seconds), jobs may use in each period. When it is used up: ``"safe"`` (default:
        a job starts only if its whole time limit fits), ``"kill"`` (running jobs are stopped) or
        ``"finish"`` (they continue).
    ``quantum_s``, ``quantum_rows``, ``quantum_gpus``
        Gangs take turns of ``quantum_s`` seconds on the nodes that they share (they take no turns),
        in at most ``quantum_rows`` rows (4); ``quantum_gpus`` True: GPUs are shared, too (False).
    ``cells``
        ``[{"level", "count"}]``: this many whole domains of the level stay available to it.
    ``partitions``, ``partition_borrow``, ``partition_preempt``
        The partitions of jobs that list none, in order of preference. When a job starts in a
        partition in which its queue exceeds its guarantee: ``"in-order"`` (default), or ``"last"``,
        after all others. When gangs are preempted for it: ``"last"`` (default), when it can start
        in no partition, or ``"in-order"``, before the next one is tried.
    ``priority_weight_age``, ``..._fair_share``, ``..._size``, ``..._queue``, ``..._job``
        Weights of the factors in the order ``"multifactor"`` (0 each), with
        ``priority_max_age_s`` (7 days), ``priority_period_s`` (300), ``priority_factor`` of the
        queue (0 to 1),
        ``priority_favor_small``.
    ``state``, ``policy``, ``child``, ``max_children``, ``child_idle_s``
        ``"open"`` (default), ``"draining"`` (takes no new jobs), ``"closed"`` (starts none); how
        its jobs are placed. Of the queues that are made on demand below it: their members, their
        maximum number (1000), and after how long without jobs one is removed (never).

    >>> import gangsched as gs
    >>> tree = gs.Queues({"a": {"guaranteed": {"gpu": 8}}, "b": {"queues": {"c": {}, "d": {}}}})
    >>> tree.leaves, tree["a"]["guaranteed"]
    (['a', 'c', 'd'], {'gpu': 8})

    Parameters
    ----------
    source
        Nested dicts, where ``queues`` has the children of a queue; a list, where each queue names
        its ``parent``; a case (a dict with a list ``queues``); its path or JSON text; or other
        Queues.
    default_queue
        The queue of jobs that name none and match no rule.
    rules
        ``[{"match", "pattern", "queue", "fallback"}]``: queues for jobs that name none.
    excluded_kinds
        Kinds that dominant shares ignore.
    half_life_s
        Seconds. Above 0, usage that decays with this half-life lowers weights.

    Raises
    ------
    GangError
        The path is the place in ``source``: ``prod.queues.web.limit.gpu``, ``queues[2].limit.gpu``.
    """

    def __init__(
        self,
        source: "Union[Source, Sequence[Mapping[str, Any]], Queues]" = (),
        *,
        default_queue: Optional[str] = None,
        rules: Sequence[Mapping[str, Any]] = (),
        excluded_kinds: Sequence[str] = (),
        half_life_s: float = 0,
    ) -> None:
        self._places: List[str] = []  # the place of each queue in nested dicts
        self._case: Dict[str, Any] = {}
        self._list = self._read(source)
        given = {
            "default_queue": default_queue,
            "rules": [dict(rule) for rule in rules],
            "excluded_kinds": list(excluded_kinds),
            "half_life_s": half_life_s,
        }
        self._case.update({key: value for key, value in given.items() if value})
        self._check()
        self._index = {str(queue["name"]): queue for queue in self._list}

    # ---- reading -------------------------------------------------------------------------

    def _read(self, source: Any) -> List[Dict[str, Any]]:
        if isinstance(source, Queues):
            self._case, self._places = dict(source._case), list(source._places)
            return [dict(queue) for queue in source._list]
        if isinstance(source, (str, os.PathLike)):
            return self._read_case(load(source))
        if isinstance(source, Mapping):
            if isinstance(source.get("queues"), (list, tuple)):
                return self._read_case(source)
            return list(self._nested(source, None, ""))
        try:
            return [dict(queue) for queue in source]
        except (TypeError, ValueError):
            raise InvalidArgument(
                "expected a dict of queues, a list of dicts, or a case, not %s" % type(source).__name__
            ) from None

    def _read_case(self, case: Mapping[str, Any]) -> List[Dict[str, Any]]:
        known = ("default_queue", "rules", "excluded_kinds", "half_life_s")
        self._case = {key: case[key] for key in known if case.get(key)}
        return [dict(queue) for queue in case.get("queues") or ()]

    def _nested(
        self, level: Mapping[str, Any], parent: Optional[str], place: str
    ) -> Iterator[Dict[str, Any]]:
        for name, body in level.items():
            if body is not None and not isinstance(body, Mapping):
                raise InvalidArgument(
                    "%s%s: expected a dict, not %s" % (place, name, type(body).__name__),
                    path="%s%s" % (place, name),
                )
            if place.count(".queues.") > 64:
                raise InvalidArgument("%s%s: too deep" % (place, name), path="%s%s" % (place, name))
            queue = dict(body or {})
            children = queue.pop("queues", None) or {}
            if not isinstance(children, Mapping):
                where = "%s%s.queues" % (place, name)
                raise InvalidArgument(
                    "%s: expected a dict of queues by name, not %s"
                    % (where, type(children).__name__),
                    path=where,
                )
            self._places.append("%s%s" % (place, name))
            yield {"name": name, "parent": parent, **queue}
            yield from self._nested(children, name, "%s%s.queues." % (place, name))

    def _check(self) -> None:
        """Check what can be checked without a cluster, as if all named levels and kinds existed."""
        levels: Set[str] = set()
        kinds: Set[str] = set()
        for queue in self._list:
            for cell in queue.get("cells") or ():
                if isinstance(cell, Mapping) and isinstance(cell.get("level"), str):
                    levels.add(cell["level"])
            for member in _AMOUNTS:
                amounts = queue.get(member)
                if isinstance(amounts, Mapping):
                    kinds.update(str(name).split("@")[0] for name in amounts)
        kinds.update(str(kind) for kind in self._case.get("excluded_kinds", ()))
        kinds -= {*BUILT_IN, "memory", "default"}
        frame = {
            "levels": sorted(levels - {"node"}),
            "kinds": [{"name": kind} for kind in sorted(kinds)],
        }
        self.case(frame)

    def case(self, frame: Mapping[str, Any]) -> Case:
        """The tree as the library reads it.

        Parameters
        ----------
        frame
            Levels and kinds of the cluster.

        Raises
        ------
        GangError
            The path is the place in ``source``.
        """
        try:
            return Case({**frame, **self._case, "queues": self._list})
        except GangError as error:
            raise self.placed(error) from None

    def placed(self, error: GangError) -> GangError:
        """An error of the library with the place in ``source`` as path."""
        found = re.match(r"queues\[(\d+)\]", error.path)
        if not found or int(found.group(1)) >= len(self._places):
            return error
        return placed(error, self._places[int(found.group(1))] + error.path[found.end() :])

    # ---- looking -------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Dict[str, Any]:
        """A copy of the members of a queue."""
        return dict(self._index[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Queues):
            return NotImplemented
        return self._list == other._list and self._case == other._case

    def __hash__(self) -> int:
        return hash(tuple(self._index))

    def __reduce__(self) -> Any:
        return Queues, (self.to_dict(),)

    @property
    def default_queue(self) -> Optional[str]:
        """The queue of jobs that name none and match no rule."""
        found = self._case.get("default_queue")
        return None if found is None else str(found)

    def children(self, name: Optional[str] = None) -> List[str]:
        """The names of the children of a queue; without a name, of the top queues."""
        return [str(queue["name"]) for queue in self._list if queue.get("parent") == name]

    @property
    def leaves(self) -> List[str]:
        """The names of the queues without children. Only these hold jobs."""
        inner = {queue.get("parent") for queue in self._list}
        return [name for name in self._index if name not in inner]

    def walk(self) -> Iterator[Any]:
        """``(depth, queue)`` of each queue, parents before children."""
        stack = [(0, name) for name in reversed(self.children())]
        while stack:
            depth, name = stack.pop()
            yield depth, self._index[name]
            stack += [(depth + 1, child) for child in reversed(self.children(name))]

    # ---- making others -------------------------------------------------------------------

    def changed(self, name: str, **fields: Any) -> "Queues":
        """The same tree with other members of one queue.

        None removes a member.

        Raises
        ------
        NotFound
            There is no such queue.
        GangError
            As for the constructor.
        """
        if name not in self._index:
            raise NotFound(unknown("queue", name, self._index))
        made = [dict(queue) for queue in self._list]
        for queue in made:
            if queue["name"] == name:
                queue.update(fields)
                for key in [
                    key for key, value in fields.items() if value is None and key != "parent"
                ]:
                    del queue[key]
        return Queues({**self._case, "queues": made})

    def added(self, name: str, parent: Optional[str] = None, **fields: Any) -> "Queues":
        """The same tree with one more queue."""
        if name in self._index:
            raise AlreadyExists("queue '%s' exists" % name)
        return Queues(
            {**self._case, "queues": [*self._list, {"name": name, "parent": parent, **fields}]}
        )

    def with_all(self, **fields: Any) -> "Queues":
        """The tree with these members in every leaf.

        >>> import gangsched as gs
        >>> tree = gs.Queues({"a": {}, "b": {"order": "fifo"}}).with_all(order="shortest")
        >>> tree["b"]["order"]
        'shortest'
        """
        leaves = set(self.leaves)
        made = [{**queue, **fields} if queue["name"] in leaves else queue for queue in self._list]
        return Queues({**self._case, "queues": made})

    def everywhere(self, **fields: Any) -> "Queues":
        """Deprecated: :meth:`with_all`."""
        deprecated("Queues.everywhere", "with_all")
        return self.with_all(**fields)

    def to_dict(self) -> Dict[str, Any]:
        """The tree as a case of the JSON format."""
        return {**self._case, "queues": [dict(queue) for queue in self._list]}

    def __repr__(self) -> str:
        return "<Queues: %s>" % ", ".join(self._index)

    def __str__(self) -> str:
        from .viz.show import queues_text

        return queues_text(self)

    def _repr_html_(self) -> str:
        from .viz.show import queues_html

        return queues_html(self)
