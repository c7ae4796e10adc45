# SPDX-License-Identifier: Apache-2.0
"""Reservations of future capacity, and the plan: which job or reservation has which nodes when."""

import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .._lazy import deprecated
from .._native import Call, callback, ffi, lib, new, text, utf8
from ..case import Case
from ..errors import DoesNotFit, GangError, NotFound, OutOfRange, check, new_error, placed
from ..dates import times_in
from ..values import ns, seconds
from ..enums import PlanKind, ReservationFlag, ReservationState
from ..rows import Rows
from .outlook import Plan
from .scheduling import JobRef, NodeNames, Scheduling

if TYPE_CHECKING:
    import pandas

#: Members of a reservation in the JSON format. The members of its only stage may stand beside them,
#: and so may those of the only task group.
KEYS = frozenset(
    """name owner arrival_s deadline_s start_s duration_s period_s repetitions until_s objective combine flags queue users
    job purge_s notice_s stages prefer""".split()  # prefer: the key of version 0.1
)
#: Those of them that are times.
TIMES = ("arrival_s", "deadline_s", "start_s", "until_s")
# gang: 0.1
STAGE_KEYS = frozenset("gang_size exclusive tasks nodes level domain domain_count gang".split())

#: Resources of limits: name in Python, member of gang_reservation_limit, units of it in one of
#: ours.
_LIMITED = {
    "cpu": ("cpu_milli", 1e3),
    "mem_mib": ("memory_bytes", 2.0**20),
    "gpu": ("gpu_milli", 1e3),
}


class Reservation(NamedTuple):
    """A reservation at one instant. Plain data.

    >>> import gangsched as gs
    >>> simulation = gs.Simulation(gs.Cluster.uniform(1), queues={"lab": {}})
    >>> talk = simulation.reserve(
    ...     name="talk", queue="lab", count=1, gpu=8, start_s=3600, duration_s=600)
    >>> talk.state, talk.start_s, talk.end_s, talk.nodes
    ('planned', 3600.0, 4200.0, 1)
    """

    name: str
    state: str  #: ``planned`` (this instance has not begun) or ``active``
    start_s: float  #: begin of this instance, or of the next one, seconds
    end_s: float  #: end of its last stage, seconds
    instance: int  #: number of the instance, from 0
    planned: int  #: number of planned instances, this one included
    nodes: int  #: nodes of this instance, counted once for each piece
    running: int  #: gangs that run inside
    waiting: int  #: waiting jobs that name it
    owner: str
    queue: str  #: the queue that may use it; "": any
    job: Optional[int]  #: the index of the only job that may use it; None: any
    flags: Tuple[str, ...]  #: its flags, such as ``maintenance``
    id: int  #: id in the library, never used again


class PlanItem(NamedTuple):
    """Nodes that a job or a reservation has from one time to another.

    >>> import gangsched as gs
    >>> simulation = gs.Simulation(gs.Cluster.uniform(1))
    >>> for name in ("first", "second"):
    ...     _ = simulation.submit(name=name, gpu=8, run_s=60, time_limit_s=100)
    >>> _ = simulation.run(until_s=10)
    >>> [(item.what, item.name, item.end_s, item.nodes) for item in simulation.plan()]
    [('running', 'first', 100.0, ('n0',))]
    """

    #: ``running`` (a job has them until ``end_s`` at the latest), ``start`` (a planned start),
    #: ``reservation``
    what: str
    name: str  #: name of the job or the reservation
    job: Optional[int]  #: index of the job; None: a reservation
    gang: int  #: which gang of the job; of a reservation: which stage, from 0
    instance: int  #: instance of the reservation, from 0
    start_s: float  #: the start or the planned start, seconds
    end_s: Optional[float]  #: the latest end, seconds; None: no end
    nodes: Tuple[str, ...]  #: names of the nodes
    inside: str  #: the reservation inside which the job runs or will start; "": none

    @property
    def kind(self) -> str:
        """Deprecated: :attr:`what`."""
        deprecated("PlanItem.kind", "PlanItem.what")
        return self.what

    @property
    def part(self) -> int:
        """Deprecated: :attr:`gang`."""
        deprecated("PlanItem.part", "PlanItem.gang")
        return self.gang


class Reservations(Mapping[str, Reservation]):
    """Reservations by name, in the order of acceptance. Plain data, of one instant."""

    def __init__(self, rows: List[Reservation]) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> Reservation:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def table(self) -> "pandas.DataFrame":
        """One row a reservation, with the columns of :class:`Reservation`."""
        return Rows(Reservation, self._rows.values()).table

    def __repr__(self) -> str:
        return "<Reservations: %s>" % ", ".join(self)

    def _repr_html_(self) -> str:
        found: str = self.table._repr_html_()
        return found


def as_case(given: Mapping[str, Any]) -> Tuple[Dict[str, Any], str]:
    """A reservation of the JSON format, and the first parts of paths that the caller did not write.

    ``{"stages": [...], ...}`` is copied. Otherwise the members of a stage make its only stage, and
    all other members that no reservation has make its only task group: ``{"name": "r", "start_s":
    60, "duration_s": 60, "count": 4, "gpu": 8}``.

    Raises
    ------
    NotFound
        No reservation, stage or task group has the member that the path names.
    """
    spec = {key: value for key, value in given.items() if key in KEYS and key != "job"}
    stage = {key: value for key, value in given.items() if key in STAGE_KEYS}
    task = {key: value for key, value in given.items() if key not in KEYS | STAGE_KEYS}
    lost = {**stage, **task} if "stages" in spec else task if "tasks" in stage else {}
    if lost:
        key, into = sorted(lost)[0], "stages" if "stages" in spec else "tasks"
        raise NotFound("%s: with '%s', give it in one of them" % (key, into), path=key)
    prefix = "reservations[0]"
    if "stages" not in spec:
        prefix += " stages[0]"
        if task:
            stage["tasks"] = [task]
            prefix += " tasks[0] groups[0]"
        spec["stages"] = [stage]
    return spec, prefix


def _frame_of(frame: Dict[str, Any], spec: Mapping[str, Any]) -> Dict[str, Any]:
    """The names that a reservation uses, for the JSON reader.

    The scheduler checks that they exist.
    """
    nodes = list(frame.get("nodes", ()))
    there = {node["name"] for node in nodes}
    stages = spec["stages"] if isinstance(spec["stages"], (list, tuple)) else ()
    for stage in stages:
        listed = stage.get("nodes") if isinstance(stage, Mapping) else ()
        for name in listed if isinstance(listed, (list, tuple)) else ():
            if (
                isinstance(name, str)
                and 0 < len(name.encode("utf-8", "replace")) < 256
                and name not in there
            ):
                there.add(name)
                nodes.append({"name": name})
    queue = spec.get("queue")
    return {
        **frame,
        "nodes": nodes,
        "queues": [{"name": queue}] if isinstance(queue, str) and queue else [],
    }


class _Items(Call):
    """Collects the rows of a plan (gang_plan_fn)."""

    def __init__(self, nodes: NodeNames) -> None:
        super().__init__()
        self.nodes = nodes
        self.found: List[Tuple[Any, ...]] = []

    def take(self, item: Any) -> None:
        name = text(item.name) if item.name != ffi.NULL else ""
        where = self.nodes.of(item.nodes, item.node_count)
        times = (item.instance, item.start_ns / 1e9, seconds(item.end_ns))
        self.found.append(
            (item.what, int(item.id), name, item.gang, *times, where, int(item.reservation))
        )


@callback(failed=1)
def gangsched_py_plan(item: Any, user: Any) -> int:
    items: _Items = ffi.from_handle(user)
    items.take(item)
    return 0


class Reserving(Scheduling):
    """An object with a scheduler that can reserve capacity.

    The scheduler plans a reservation at once, also between runs. A job names its reservation:
    ``submit(reservation="demo", ...)``. Jobs of a trace match reservations with the flag
    ``magnetic``.
    """

    #: the members that each reservation was made with, by id
    _given: Dict[int, Dict[str, Any]]

    def _now_ns(self) -> int:
        """The clock, ns. The lock is held."""
        raise NotImplementedError

    def reserve(
        self, reservation: Optional[Mapping[str, Any]] = None, **fields: Any
    ) -> Reservation:
        """Reserve capacity for the jobs of a queue, of users, or one job; or take nodes out of use.

        ::

            simulation.reserve(
                name="demo", queue="demo", start_s=14 * 3600, duration_s=7200, nodes=["n0", "n1"])
            simulation.reserve(
                name="weekly", count=4, gpu=8, duration_s=3600, deadline_s=86400, period_s=7 * 86400,
                objective="cheapest", flags=["magnetic"])
            simulation.reserve(name="steps", combine="order", stages=[
                {"duration_s": 600, "tasks": [{"count": 1, "cpu": 8}]},
                {"duration_s": 3600, "level": "rack", "domain": "r0"}])
            simulation.reserve(
                name="repair", start_s=3600, duration_s=3600, nodes=["n7"], flags=["maintenance"])

        The reservation lies in the window from ``arrival_s`` (default: now) to ``deadline_s``
        (default: no bound), or begins exactly at ``start_s``. Afterwards the scheduler starts no
        job that might still hold the capacity at that time. After an error nothing has changed.

        Parameters
        ----------
        reservation
            Its members as a dict; keywords override them.
        fields
            Times are seconds of the simulation, or dates; durations seconds, or a ``timedelta``
            (:mod:`gangsched.dates`).

            ``name``, ``owner``
                Its name (must be there), and the user whose limits apply (none).
            ``start_s``; or ``arrival_s``, ``deadline_s``, ``objective``
                Its exact begin; or the window (from now, no bound) and where in it it lies:
                ``"earliest"`` (default), ``"latest"``, ``"cheapest"``.
            ``duration_s``
                Duration of stages that name none.
            ``period_s``, ``repetitions``, ``until_s``
                It recurs with this period, for this number of times, or as long as it begins before
                ``until_s`` (never).
            ``queue``, ``users``, ``job``
                Who may use it: a queue, users, or a job that has come, by index or name (all).
            ``flags``
                ``"maintenance"`` (no job runs there), ``"overlap"`` (accepted even if others
                overlap it), ``"ignore-jobs"`` (even if running jobs will not have ended),
                ``"flex"`` (its jobs may also start before it and elsewhere, if there is capacity),
                ``"magnetic"`` (jobs that may use it start inside without naming it).
            ``purge_s``, ``notice_s``
                It is cancelled after ``purge_s`` without use (never); ``notice_s`` before its begin
                there is an event (none).
            ``stages``, ``combine``
                Capacity: a list of dicts, joined by ``"all"`` (default), ``"any"``, ``"order"``,
                ``"order-no-gap"``. Members of a stage, which may stand beside the others if it is
                the only one: ``duration_s``, ``exclusive`` (nodes alone), ``gang_size`` (tasks that
                must be there together), and ``nodes`` (names), or ``level`` with ``domain`` or
                ``domain_count``, or ``tasks``, whose members are those of a
                :class:`gangsched.Request` (``count``, ``cpu``, ``gpu``, ``amounts``, ``profile``).

        Examples
        --------
        >>> import gangsched as gs
        >>> with gs.Simulation(gs.Cluster.uniform(2)) as simulation:
        ...     found = simulation.reserve(name="demo", start_s=60, duration_s=30, count=1, gpu=8)
        ...     found.start_s, found.end_s, found.nodes
        (60.0, 90.0, 1)

        Returns
        -------
        Reservation
            With its planned ``start_s`` and ``end_s``.

        Raises
        ------
        DoesNotFit
            It does not fit in this window. ``next_start_s`` is the earliest start that the
            scheduler would accept now, also beyond the window; None: there is none. The text says
            why.
        NeverFits
            It exceeds the cluster.
        LimitReached
            It exceeds a limit of its owner.
        AlreadyExists
            The name is taken.
        NotFound
            A job, queue, node, domain... does not exist.
        GangError
            Another error, with the member as path (``stages[0].nodes[3]``).
        Busy
            Called from a callback.
        """
        given = {
            key: value
            for key, value in {**(reservation or {}), **fields}.items()
            if value is not None
        }
        given = times_in(given, TIMES, self._epoch)
        with self._changing() as sched:
            if "job" in given:
                given["job"] = self._job_of(given["job"])
            number = self._place(sched, given, None)
            self._given[number] = given
            self._note("reserve", given)
            return self._reservation(sched, number)

    def change_reservation(self, reservation: str, /, **fields: Any) -> Reservation:
        """Change a reservation.

        Given members replace the old ones; None removes a member; ``name=`` renames it. The
        scheduler plans the reservation again. If it refuses, the old reservation stays. A
        reservation that has begun keeps its nodes as far as the new members allow.

        Raises
        ------
        NotFound
            There is no such reservation.
        GangError
            As for :meth:`reserve`.
        """
        fields = times_in(fields, TIMES, self._epoch)
        with self._changing() as sched:
            number = self._reservation_id(sched, reservation)
            given = {**self._given.get(number, {}), **fields}
            given = {
                "name": reservation,
                **{key: value for key, value in given.items() if value is not None},
            }
            if "job" in given:
                given["job"] = self._job_of(given["job"])
            self._place(sched, given, number)
            self._given[number] = given
            self._note("change_reservation", reservation, **fields)
            return self._reservation(sched, number)

    def cancel_reservation(self, name: str) -> None:
        """Cancel a reservation with all its instances.

        Running jobs inside continue outside of it; waiting jobs wait like any other job.

        Raises
        ------
        NotFound
            There is no such reservation.
        Busy
            Called from a callback.
        """
        with self._changing() as sched:
            number = self._reservation_id(sched, name)
            check(lib.gang_reservation_cancel(sched, number), what="reservation '%s'" % name)
            self._given.pop(number, None)
            self._note("cancel_reservation", name)

    def limit_reservations(
        self,
        owner: Optional[str] = None,
        *,
        maximum: Optional[Mapping[str, float]] = None,
        average: Optional[Mapping[str, float]] = None,
        window_s: float = 0,
        most: Optional[Mapping[str, float]] = None,
    ) -> None:
        """Limit what an owner may reserve from now on.

        ::

            simulation.limit_reservations("ada", maximum={"gpu": 16})

        Parameters
        ----------
        owner
            The owner of reservations; None: all owners without a limit of their own.
        maximum
            Amounts at any instant: ``cpu`` (cores), ``mem_mib``, ``gpu`` (devices). Other kinds are
            unlimited.
        average
            Average amounts over every window of ``window_s`` seconds. Neither ``maximum`` nor
            ``average``: remove the limit.

        Raises
        ------
        NotFound
            There is no such resource.
        OutOfRange
            An amount or the window is negative.
        Busy
            Called from a callback.
        """
        limit = new("gang_reservation_limit")
        limit.window_ns = ns(window_s, "window_s")
        if limit.window_ns < 0:
            raise OutOfRange("window_s: must be 0 or more", path="window_s")
        if most is not None:
            deprecated("the argument most", "maximum")
            maximum = most
        for name, prefix, amounts in (("maximum", "max", maximum), ("average", "average", average)):
            for kind, amount in (amounts or {}).items():
                path = "%s.%s" % (name, kind)
                if kind not in _LIMITED:
                    raise NotFound("%s: it is one of %s" % (path, ", ".join(_LIMITED)), path=path)
                member, scale = _LIMITED[kind]
                value = round(ns(amount, path) * scale / 1e9)  # ns() checks that it is a number
                if not 0 <= value < 2**62:
                    raise OutOfRange("%s: must be 0 or more, and below 2^62" % path, path=path)
                setattr(limit, "%s_%s" % (prefix, member), value)
        with self._changing() as sched:
            user = ffi.NULL if owner is None else utf8(owner, "owner")
            error, none = new_error(), maximum is None and average is None
            check(
                lib.gang_reservation_set_limit(sched, user, ffi.NULL if none else limit, error),
                error,
            )
            self._note(
                "limit_reservations", owner, maximum=maximum, average=average, window_s=window_s
            )

    # ---- looking -------------------------------------------------------------------------

    @property
    def reservations(self) -> Reservations:
        """The reservations that have not ended, by name. O(reservations)."""
        with self._scheduler() as sched:
            found = []
            number = lib.gang_reservation_next(sched, lib.GANG_ID_NONE)
            while number != lib.GANG_ID_NONE:
                found.append(self._reservation(sched, number))
                number = lib.gang_reservation_next(sched, number)
            there = {row.id for row in found}
            for over in [number for number in self._given if number not in there]:
                del self._given[over]
            return Reservations(found)

    def occurrences(self, name: str) -> Rows[PlanItem]:
        """The planned pieces of a reservation, by start: of all its planned instances, at most the
        next 8.

        An instance is one row, or several rows if it has stages, or if gangs of a stage have
        different times.

        Raises
        ------
        NotFound
            There is no such reservation.
        """
        with self._scheduler() as sched:
            number = self._reservation_id(sched, name)
            items = _Items(NodeNames(lib.gang_sched_cluster(sched)))
            result = lib.gang_reservation_pieces(sched, number, lib.gangsched_py_plan, items.user)
            return self._items(sched, items, result)

    def plan(self) -> Plan[PlanItem]:
        """All nodes in the plan, as of the last cycle.

        O(everything).

        Rows are running jobs until their latest end, planned starts (of queues with ``backfill``),
        and pieces of reservations. ``simulation.plan().table`` is a DataFrame, and
        ``simulation.plan().plot()`` draws the plan (:class:`gangsched.sim.outlook.Plan`).
        """
        with self._scheduler() as sched:
            items = _Items(NodeNames(lib.gang_sched_cluster(sched)))
            rows = self._items(
                sched, items, lib.gang_plan_each(sched, lib.gangsched_py_plan, items.user)
            )
            now_s, names = self._now_ns() / 1e9, self.cluster.table()["name"]
            return Plan(PlanItem, rows, now_s, names)

    # ---- inside --------------------------------------------------------------------------

    def _job_of(self, job: JobRef) -> int:
        """The index of a job that has come. Replays need the index instead of the id."""
        index = self._job_index(self._job_id(job))
        if index is None:
            raise NotFound("job: no job %r" % (job,), path="job")
        return index

    def _place(self, sched: Any, given: Mapping[str, Any], number: Optional[int]) -> int:
        """Add a reservation, or change the one with a number. Returns its number."""
        wanted, prefix = as_case(given)
        case = Case(
            {**_frame_of(self.cluster._frame(), wanted), "reservations": [wanted]},
            path_prefix=prefix,
        )
        spec = ffi.new("struct gang_reservation_spec *", case.c.reservations[0])
        if "job" in given:
            spec.job = self._job_id(given["job"])
        begun = number is not None and self._reservation(sched, number).state == "active"
        if spec.start_ns < 0 and not begun:
            # the scheduler's own clock is the time of its last cycle
            spec.arrival_ns = max(spec.arrival_ns, self._now_ns())
        out, when, error = ffi.new("gang_reservation_id *"), ffi.new("int64_t *"), new_error()
        if number is None:
            result = lib.gang_reservation_add(sched, spec, out, when, error)
        else:
            result = lib.gang_reservation_change(sched, number, spec, when, error)
        try:
            check(result, error, path_prefix=prefix)
        except DoesNotFit as refusal:
            if result == lib.GANG_ENOFIT:
                refusal.next_start_s = seconds(when[0])
            raise
        except GangError as failure:
            # C has groups and ns; the JSON format has tasks and seconds.
            path = re.sub(r"^(stages\[\d+\]\.)?groups\[", r"\1tasks[", failure.path)
            raise placed(failure, re.sub(r"_ns$", "_s", path)) from None
        return int(out[0]) if number is None else number

    def _reservation_id(self, sched: Any, name: str) -> int:
        out = ffi.new("gang_reservation_id *")
        check(
            lib.gang_reservation_find(sched, utf8(name, "name"), out),
            what="reservation '%s'" % name,
        )
        return int(out[0])

    def _reservation(self, sched: Any, number: int) -> Reservation:
        raw = new("gang_reservation_info")
        check(lib.gang_reservation_get(sched, number, raw), what="reservation")
        job = None if raw.job == lib.GANG_ID_NONE else self._job_index(raw.job)
        return Reservation(
            text(raw.name),
            ReservationState.of(raw.state),
            raw.start_ns / 1e9,
            raw.end_ns / 1e9,
            raw.instance,
            raw.planned,
            raw.nodes,
            raw.running,
            raw.waiting,
            text(raw.owner),
            self._queue_name(sched, raw.queue),
            job,
            tuple(flag for flag in ReservationFlag if raw.flags & flag.number),
            int(raw.id),
        )

    def _items(self, sched: Any, items: _Items, result: int) -> Rows[PlanItem]:
        items.settle()
        check(result, what="plan")
        names: Dict[int, str] = {lib.GANG_ID_NONE: ""}
        rows = []
        for what, number, name, gang, instance, start_s, end_s, nodes, inside in items.found:
            if inside not in names:
                raw = new("gang_reservation_info")
                names[inside] = (
                    text(raw.name) if lib.gang_reservation_get(sched, inside, raw) == 0 else ""
                )
            of_job = what != lib.GANG_PLAN_RESERVATION
            job = self._job_index(number) if of_job else None
            where = names[inside] if of_job else ""
            name = name or ("" if job is None else str(job))
            rows.append(
                PlanItem(PlanKind.of(what), name, job, gang, instance, start_s, end_s, nodes, where)
            )
        return Rows(PlanItem, rows)


__all__ = ["GangError", "PlanItem", "Reservation", "Reservations", "Reserving"]
