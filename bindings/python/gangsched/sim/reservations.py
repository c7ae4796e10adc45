# SPDX-License-Identifier: Apache-2.0
"""Reservations: capacity promised for a time to come; and the plan, which tells who is where until when."""

import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .._native import Call, callback, ffi, lib, new, text, utf8
from ..case import Case
from ..errors import DoesNotFit, GangError, NotFound, OutOfRange, check, new_error, placed
from ..values import ns, seconds
from ..enums import PlanKind, ReservationFlag, ReservationState
from ..rows import Rows
from .scheduling import JobRef, NodeNames, Scheduling

if TYPE_CHECKING:
    import pandas

#: Members of a reservation in the JSON format; those of its only stage may be beside them, and so may those of its only
#: group of tasks.
KEYS = frozenset(
    """name owner arrival_s deadline_s start_s duration_s period_s repetitions until_s prefer combine flags queue users
    job purge_s notice_s stages""".split()
)
STAGE_KEYS = frozenset("gang exclusive tasks nodes level domain domain_count".split())

#: Of limits: resources as Python names them, the member of gang_reservation_limit, units of it in one of Python's.
_LIMITED = {"cpu": ("cpu_milli", 1e3), "mem_mib": ("memory_bytes", 2.0**20), "gpu": ("gpu_milli", 1e3)}


class Reservation(NamedTuple):
    """A reservation as it was when it was asked for. Plain data."""

    name: str
    state: str  #: ``planned`` (this time has not begun) or ``active``
    start_s: float  #: of this time, or the next time
    end_s: float  #: when all of it has ended
    instance: int  #: which time that is, from 0
    planned: int  #: times that are planned, this one included
    nodes: int  #: of this time, each once for each piece
    running: int  #: gangs that run inside
    waiting: int  #: jobs that named it and wait
    owner: str
    queue: str  #: for whom; "": any
    job: Optional[int]  #: for this job alone, by index; None: any
    flags: Tuple[str, ...]  #: ``maintenance`` and its like
    id: int  #: of the library, never used again


class PlanItem(NamedTuple):
    """Somebody's places for a time."""

    kind: str  #: ``running`` (holds them until then, at the latest), ``start`` (is planned to), ``reservation``
    name: str  #: of the job, or of the reservation
    job: Optional[int]  #: index of the job; None: a reservation
    part: int  #: which gang of the job; which stage of the reservation, from 0
    instance: int  #: which time of the reservation, from 0
    start_s: float  #: when it started, or is to
    end_s: Optional[float]  #: at the latest; None: it has no end
    nodes: Tuple[str, ...]  #: names
    inside: str  #: reservation inside which the job runs or is to start; ""


class Reservations(Mapping[str, Reservation]):
    """Reservations by name, in the order in which they were accepted. Plain data, of one instant."""

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
        """One row a reservation, columns as in :class:`Reservation`."""
        return Rows(Reservation, self._rows.values()).table

    def __repr__(self) -> str:
        return "<Reservations: %s>" % ", ".join(self)

    def _repr_html_(self) -> str:
        found: str = self.table._repr_html_()
        return found


def as_case(given: Mapping[str, Any]) -> Tuple[Dict[str, Any], str]:
    """A reservation of the JSON format from what Python gives, and the beginnings of paths that were made up.

    ``{"stages": [...], ...}`` is taken as it is. Else what is of a stage is of its only one, and what is of neither of the
    stage's one group of tasks: ``{"name": "r", "start_s": 60, "duration_s": 60, "count": 4, "gpu": 8}``.

    Raises:
        NotFound: a member that is nowhere, with its name as path.
    """
    spec = {key: value for key, value in given.items() if key in KEYS and key != "job"}
    stage = {key: value for key, value in given.items() if key in STAGE_KEYS}
    task = {key: value for key, value in given.items() if key not in KEYS | STAGE_KEYS}
    lost = {**stage, **task} if "stages" in spec else task if "tasks" in stage else {}
    if lost:
        key, into = sorted(lost)[0], "stages" if "stages" in spec else "tasks"
        raise NotFound("%s: with '%s' it belongs into one of them" % (key, into), path=key)
    prefix = "reservations[0]"
    if "stages" not in spec:
        prefix += " stages[0]"
        if task:
            stage["tasks"] = [task]
            prefix += " tasks[0] groups[0]"
        spec["stages"] = [stage]
    return spec, prefix


def _frame_of(frame: Dict[str, Any], spec: Mapping[str, Any]) -> Dict[str, Any]:
    """For the reader, what a reservation names is there: whether it is, the scheduler says."""
    nodes = list(frame.get("nodes", ()))
    there = {node["name"] for node in nodes}
    stages = spec["stages"] if isinstance(spec["stages"], (list, tuple)) else ()
    for stage in stages:
        listed = stage.get("nodes") if isinstance(stage, Mapping) else ()
        for name in listed if isinstance(listed, (list, tuple)) else ():
            if isinstance(name, str) and 0 < len(name.encode("utf-8", "replace")) < 256 and name not in there:
                there.add(name)
                nodes.append({"name": name})
    queue = spec.get("queue")
    return {**frame, "nodes": nodes, "queues": [{"name": queue}] if isinstance(queue, str) and queue else []}


class _Items(Call):
    """Takes what the plan is made of (gang_plan_fn)."""

    def __init__(self, nodes: NodeNames) -> None:
        super().__init__()
        self.nodes = nodes
        self.found: List[Tuple[Any, ...]] = []

    def take(self, item: Any) -> None:
        name = text(item.name) if item.name != ffi.NULL else ""
        where = self.nodes.of(item.nodes, item.node_count)
        times = (item.instance, item.start_ns / 1e9, seconds(item.end_ns))
        self.found.append((item.kind, int(item.id), name, item.part, *times, where, int(item.reservation)))


@callback(failed=1)
def gangsched_py_plan(item: Any, user: Any) -> int:
    items: _Items = ffi.from_handle(user)
    items.take(item)
    return 0


class Reserving(Scheduling):
    """An object in whose scheduler capacity can be reserved.

    Reservations are asked for and placed at once, also between runs. A job is told its own by ``submit(reservation="demo",
    ...)``; those of a trace are drawn into one with the flag ``magnetic``.
    """

    #: what was said of each reservation, by id
    _given: Dict[int, Dict[str, Any]]

    def _now_ns(self) -> int:
        """The clock. The lock is held."""
        raise NotImplementedError

    def reserve(self, reservation: Optional[Mapping[str, Any]] = None, **fields: Any) -> Reservation:
        """Reserve capacity for a time to come, for jobs of a queue, of users, or one job; or take it out of use.

        ::

            session.reserve(name="demo", queue="demo", start_s=14 * 3600, duration_s=7200, nodes=["n0", "n1"])
            session.reserve(name="weekly", count=4, gpu=8, duration_s=3600, deadline_s=86400, period_s=7 * 86400,
                            prefer="cheapest", flags=["magnetic"])
            session.reserve(name="steps", combine="order", stages=[
                {"duration_s": 600, "tasks": [{"count": 1, "cpu": 8}]}, {"duration_s": 3600, "level": "rack", "domain": "r0"}])
            session.reserve(name="repair", start_s=3600, duration_s=3600, nodes=["n7"], flags=["maintenance"])

        All of it lies in the window from ``arrival_s`` (not given: now) to ``deadline_s`` (not given: no bound), or begins
        exactly at ``start_s``. Once accepted it is kept free: nobody starts who might still be there.

        Args:
            reservation: a dict of members; keywords come before it.
            fields: members of the JSON format (ARCHITECTURE.md, "Formats"; plan.h says what they do): ``name``, and
                of when: ``start_s``, or ``arrival_s``, ``deadline_s`` and ``prefer`` (``earliest``, ``latest``, ``cheapest``);
                ``duration_s``; ``period_s``, ``repetitions``, ``until_s``. For whom: ``queue``, ``users``, ``job`` (index or
                name of one that has come). ``owner``: whose limits count. ``flags``: of ``maintenance``, ``overlap``,
                ``ignore-jobs``, ``flex``, ``magnetic``. ``purge_s``, ``notice_s``. What: ``stages``, which ``combine`` joins
                (``all``, ``any``, ``order``, ``order-no-gap``); of one stage its members may be given as they are: ``nodes``, ``level``
                with ``domain`` or ``domain_count``, or those of its tasks (``count``, ``cpu``, ``gpu``...), with ``gang`` (so many
                at a time) and ``exclusive``. Times are seconds of the simulation.

        Returns:
            It as it is planned: ``start_s``, ``end_s``.

        Raises:
            DoesNotFit: not in this window. ``next_start_s`` is the earliest time at which it would be accepted as things
                are, also beyond the window; None: there is none. Its text says why.
            NeverFits: larger than what there is. LimitReached: beyond what its owner may have.
            AlreadyExists: the name. NotFound: a job, queue, node, domain... GangError: what is wrong, with the member as path
                (``stages[0].nodes[3]``). Busy: called from a callback. On an error nothing changed.
        """
        given = {key: value for key, value in {**(reservation or {}), **fields}.items() if value is not None}
        with self._changing() as sched:
            if "job" in given:
                given["job"] = self._job_of(given["job"])
            number = self._place(sched, given, None)
            self._given[number] = given
            self._note("reserve", given)
            return self._reservation(sched, number)

    def change_reservation(self, reservation: str, /, **fields: Any) -> Reservation:
        """Change one: members that are given replace those it was made with, None takes one away; ``name=`` calls it
        otherwise. It is placed anew, as if it were not there; if that is refused it stays as it was. One that has begun goes on where
        it is, as far as what is asked for now allows.

        Raises:
            NotFound: no such reservation. Others as :meth:`reserve`.
        """
        with self._changing() as sched:
            number = self._reservation_id(sched, reservation)
            given = {**self._given.get(number, {}), **fields}
            given = {"name": reservation, **{key: value for key, value in given.items() if value is not None}}
            if "job" in given:
                given["job"] = self._job_of(given["job"])
            self._place(sched, given, number)
            self._given[number] = given
            self._note("change_reservation", reservation, **fields)
            return self._reservation(sched, number)

    def cancel_reservation(self, name: str) -> None:
        """Give one up, all its times. Members that run go on as jobs outside; those that wait do so as any other.

        Raises:
            NotFound: no such reservation. Busy: called from a callback.
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
        most: Optional[Mapping[str, float]] = None,
        average: Optional[Mapping[str, float]] = None,
        window_s: float = 0,
    ) -> None:
        """What an owner may have reserved from now on: ``limit_reservations("ada", most={"gpu": 16})``.

        Args:
            owner: as reservations name it; None: each of those that have no limit of their own.
            most: at any instant: ``cpu`` (cores), ``mem_mib``, ``gpu`` (devices); what is not named: any amount.
            average: likewise, over any ``window_s`` (seconds), wherever it begins. Neither: no limit.

        Raises:
            NotFound: no such resource. OutOfRange: a negative amount or window. Busy: called from a callback.
        """
        limit = new("gang_reservation_limit")
        limit.window_ns = ns(window_s, "window_s")
        if limit.window_ns < 0:
            raise OutOfRange("window_s: must be 0 or more", path="window_s")
        for part, amounts in (("most", most), ("average", average)):
            for kind, amount in (amounts or {}).items():
                if kind not in _LIMITED:
                    raise NotFound("%s.%s: it is one of %s" % (part, kind, ", ".join(_LIMITED)), path="%s.%s" % (part, kind))
                member, scale = _LIMITED[kind]
                path = "%s.%s" % (part, kind)
                value = round(ns(amount, path) * scale / 1e9)  # ns() checks that it is a number
                if not 0 <= value < 2**62:
                    raise OutOfRange("%s: must be 0 or more, and not so much" % path, path=path)
                setattr(limit, "%s_%s" % (part, member), value)
        with self._changing() as sched:
            name = ffi.NULL if owner is None else utf8(owner, "owner")
            error, none = new_error(), most is None and average is None
            check(lib.gang_reservation_set_limit(sched, name, ffi.NULL if none else limit, error), error)
            self._note("limit_reservations", owner, most=most, average=average, window_s=window_s)

    # ---- looking -------------------------------------------------------------------------

    @property
    def reservations(self) -> Reservations:
        """Those that are not over, by name: when, where they stand, who runs inside. O(reservations)."""
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
        """Where and when one is, by start: what is not over of all times that are planned (of one that is repeated the
        next 8). A time of it is one row, or several where it has stages, or where gangs of a stage are at different times.

        Raises:
            NotFound: no such reservation.
        """
        with self._scheduler() as sched:
            number = self._reservation_id(sched, name)
            items = _Items(NodeNames(lib.gang_sched_cluster(sched)))
            result = lib.gang_reservation_pieces(sched, number, lib.gangsched_py_plan, items.user)
            return self._items(sched, items, result)

    def plan(self) -> Rows[PlanItem]:
        """All that is in the plan as of the last cycle: who holds nodes until when, at the latest; planned starts (of queues with
        ``backfill``); pieces of reservations. ``session.plan().table`` is a DataFrame. O(everything)."""
        with self._scheduler() as sched:
            items = _Items(NodeNames(lib.gang_sched_cluster(sched)))
            return self._items(sched, items, lib.gang_plan_each(sched, lib.gangsched_py_plan, items.user))

    # ---- inside --------------------------------------------------------------------------

    def _job_of(self, job: JobRef) -> int:
        """The index of a job that has come: what is written down."""
        index = self._job_index(self._job_id(job))
        if index is None:
            raise NotFound("job: no job %r" % (job,), path="job")
        return index

    def _place(self, sched: Any, given: Mapping[str, Any], number: Optional[int]) -> int:
        """Add one, or change the one of a number. Returns its number."""
        wanted, prefix = as_case(given)
        case = Case({**_frame_of(self.cluster._frame(), wanted), "reservations": [wanted]}, path_prefix=prefix)
        spec = ffi.new("struct gang_reservation_spec *", case.c.reservations[0])
        if "job" in given:
            spec.job = self._job_id(given["job"])
        begun = number is not None and self._reservation(sched, number).state == "active"
        if spec.start_ns < 0 and not begun:
            spec.arrival_ns = max(spec.arrival_ns, self._now_ns())  # the scheduler itself knows its last cycle alone
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
            # What C calls groups are "tasks" in the JSON format, and times are in seconds there.
            path = re.sub(r"^(stages\[\d+\]\.)?groups\[", r"\1tasks[", failure.path)
            raise placed(failure, re.sub(r"_ns$", "_s", path)) from None
        return int(out[0]) if number is None else number

    def _reservation_id(self, sched: Any, name: str) -> int:
        out = ffi.new("gang_reservation_id *")
        check(lib.gang_reservation_find(sched, utf8(name, "name"), out), what="reservation '%s'" % name)
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
        for kind, number, name, part, instance, start_s, end_s, nodes, inside in items.found:
            if inside not in names:
                raw = new("gang_reservation_info")
                names[inside] = text(raw.name) if lib.gang_reservation_get(sched, inside, raw) == 0 else ""
            of_job = kind != lib.GANG_PLAN_RESERVATION
            job = self._job_index(number) if of_job else None
            where = names[inside] if of_job else ""
            name = name or ("" if job is None else str(job))
            rows.append(PlanItem(PlanKind.of(kind), name, job, part, instance, start_s, end_s, nodes, where))
        return Rows(PlanItem, rows)


__all__ = ["GangError", "PlanItem", "Reservation", "Reservations", "Reserving"]
