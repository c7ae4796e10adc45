# SPDX-License-Identifier: Apache-2.0
"""The common base of simulations and forecasts: commands for jobs, and changes of queues."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from .._native import ffi, lib, new, text, utf8
from ..errors import Busy, GangError, InvalidArgument, NotFound, check, new_error, placed
from ..handle import Handle
from .._lazy import deprecated
from ..dates import dates_of, time_s
from ..values import ns
from ..closest import meant, unknown
from .queue_use import QueueUse
from ..queues import Queues

if TYPE_CHECKING:
    import pandas

    from ..cluster.cluster import Cluster

#: A job of a simulation: its index, or its name.
JobRef = Union[int, str]

#: Members of a tree that a scheduler only gets when it is made.
_FIXED = ("default_queue", "rules", "excluded_kinds", "half_life_s")


class Scheduling(Handle):
    """An object that contains a scheduler of the library."""

    cluster: "Cluster"
    tree: Optional[Queues]
    #: a run is under way, so that the holder of the lock is a callback
    _inside = False

    @contextmanager
    def _scheduler(self) -> Iterator[Any]:
        """The ``gang_sched *``, with the lock held."""
        raise NotImplementedError
        yield

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """The same, for changes that callbacks must not make. Raises Busy in a callback."""
        with self._scheduler() as sched:
            if self._inside:
                raise Busy("called from a callback")
            yield sched

    def _note(self, method: str, /, *arguments: Any, **keywords: Any) -> None:
        """Note a call that changed the object, for replays. The lock is held."""

    def _job_id(self, job: JobRef) -> int:
        """The library's id of a job that has come. Raises NotFound."""
        raise NotImplementedError

    def _job_index(self, number: int) -> Optional[int]:
        """The index of a job with this id; None: there is none."""
        raise NotImplementedError

    _epoch: "Optional[pandas.Timestamp]" = None

    @property
    def epoch(self) -> "Optional[pandas.Timestamp]":
        """The date of second 0; None: it is not known. See :mod:`gangsched.dates`."""
        return self._epoch

    def dates(self, seconds: Any) -> Any:
        """Seconds of the simulation as dates: a ``DatetimeIndex``, or one for one number.

        Raises
        ------
        InvalidArgument
            There is no epoch.
        """
        return dates_of(seconds, self._epoch)

    def _time_s(self, value: Any, name: str) -> Any:
        """A time as seconds of the simulation, see :func:`gangsched.dates.time_s`."""
        return time_s(value, self._epoch, name)

    #: queue of jobs that name none, as the simulation was made
    _default_queue: Optional[str] = None

    def _in_queue(self, job: Dict[str, Any]) -> Dict[str, Any]:
        """The job with a queue: if neither the job nor the tree names one, the queue of such trace
        jobs.
        """
        case = {} if self.tree is None else self.tree.to_dict()
        names = [queue["name"] for queue in case.get("queues", ())]
        if job.get("queue") or not names or case.get("default_queue") or case.get("rules"):
            return job
        only = names[0] if len(names) == 1 else None
        default = self._default_queue or only
        return job if default is None else {**job, "queue": default}

    def _with_meant(self, error: GangError, queue: Any) -> GangError:
        """The same error; if it is that a queue does not exist, with the closest one that does."""
        if not isinstance(error, NotFound) or error.path.split(".")[-1] != "queue":
            return error
        hint = meant(queue, () if self.tree is None else self.tree)
        if not hint:
            return error
        detail: Dict[str, Any] = {**error.__dict__, "text": error.text + hint}
        made = type(error)("%s: %s" % (error.path, detail["text"]), detail.pop("code"), **detail)
        made.__dict__.update(detail)
        return made

    def _frame(self, job: Mapping[str, Any]) -> Dict[str, Any]:
        """What the JSON reader needs to read a job. The lock is held."""
        frame = {**self.cluster._frame(), **(self.tree.to_dict() if self.tree is not None else {})}
        name = job.get("reservation")
        if isinstance(name, str) and name:
            with self._scheduler() as sched:
                found = lib.gang_reservation_find(
                    sched, utf8(name, "reservation"), ffi.new("gang_reservation_id *")
                )
            if found == 0:
                frame["reservations"] = [{"name": name, "stages": [{"tasks": [{"cpu": 1}]}]}]
        return frame

    # ---- commands ------------------------------------------------------------------------

    def _command(self, name: str, job: JobRef, *values: int) -> None:
        """Call gang_job_NAME() for a job."""
        raise NotImplementedError

    def hold(self, job: JobRef) -> None:
        """Keep a waiting job from starting, until :meth:`release`."""
        self._command("hold", job)

    def release(self, job: JobRef) -> None:
        """Let a held job start."""
        self._command("release", job)

    def cancel(self, job: JobRef) -> None:
        """End a job: a waiting job at once, a running job after a request to stop."""
        self._command("cancel", job)

    def set_priority(self, job: JobRef, priority: int) -> None:
        """Set the priority of a waiting or running job. Higher goes first."""
        self._command("set_priority", job, int(priority))

    def set_time_limit(
        self, job: JobRef, time_limit_s: Optional[float] = None, *, limit_s: Optional[float] = None
    ) -> None:
        """Set the time limit of a job, from its start, seconds; 0: none.

        ``limit_s`` is the deprecated name of ``time_limit_s``.
        """
        if limit_s is not None:
            deprecated("the argument limit_s", "time_limit_s")
            time_limit_s = limit_s
        if time_limit_s is None:
            raise TypeError("set_time_limit() needs time_limit_s")
        self._command("set_time_limit", job, ns(time_limit_s, "time_limit_s"))

    # ---- queues --------------------------------------------------------------------------

    @property
    def queues(self) -> QueueUse:
        """The tree with amounts used, guarantees, limits and demand of each queue."""
        with self._scheduler() as sched:
            return QueueUse.of(sched, self.tree)

    def set_queues(self, queues: Any) -> None:
        """Replace the whole tree.

        Queues of the same name keep their jobs; other queues come or go.

        ::

            simulation.set_queues(simulation.tree.added("late", parent="research", weight=2))

        Parameters
        ----------
        queues
            The tree, or the input of :class:`Queues`. It cannot change ``default_queue``,
            ``rules``, ``excluded_kinds`` and ``half_life_s``.

        Raises
        ------
        Busy
            A queue that would go has jobs; or called from a callback.
        GangError
            The tree is wrong, with the place. Nothing has changed.
        """
        given = queues if isinstance(queues, Queues) else Queues(queues)
        with self._changing() as sched:
            before, wanted = (self.tree or _alone()).to_dict(), given.to_dict()
            for name in _FIXED:
                if wanted.get(name, before.get(name)) != before.get(name):
                    raise InvalidArgument("%s: cannot change after the start" % name, path=name)
            fixed = {name: before[name] for name in _FIXED if name in before}
            if fixed.get("default_queue") not in given:
                fixed.pop("default_queue", None)
            tree, error = Queues({**fixed, **wanted}), new_error()
            try:
                case = tree.case(self.cluster._frame())
                check(
                    lib.gang_sched_set_queues(sched, case.c.queues, case.c.queue_count, error),
                    error,
                )
            except GangError as failure:
                raise given.placed(failure) from None
            self.tree = tree
            self._note("set_queues", tree)

    def change_queue(self, name: str, **fields: Any) -> None:
        """Change one queue.

        Given members replace the old ones; None removes a member.

        ::

            simulation.change_queue("research", limit={"gpu": 32}, weight=3)

        With another ``parent`` the queue moves with all queues below it. ``state`` is ``open``,
        ``draining`` (accepts no new jobs) or ``closed`` (starts no jobs either). Running jobs
        continue: if a limit falls below the used amount, no job starts until usage has fallen.

        Raises
        ------
        NotFound
            There is no such queue.
        GangError
            A member is wrong, with its path (``limit.gpu``). Nothing has changed.
        """
        with self._changing() as sched:
            was = self.tree or _alone()
            if name not in was:
                raise NotFound(unknown("queue", name, was))
            at, error = list(was).index(name), new_error()
            try:
                tree = was.changed(name, **fields)
                case = tree.case(self.cluster._frame())
                check(lib.gang_queue_change(sched, case.c.queues + at, error), error)
            except GangError as failure:
                raise _within("queues[%d]" % at, failure) from None
            self.tree = tree
            self._note("change_queue", name, **fields)

    def _queue_name(self, sched: Any, number: int) -> str:
        info = new("gang_queue_info")
        if number == lib.GANG_ID_NONE or lib.gang_queue_get(sched, number, info) != 0:
            return ""
        return text(info.name)


def _alone() -> Queues:
    """The tree of a simulation without queues."""
    return Queues([{"name": "default"}], default_queue="default")


def _within(place: str, error: GangError) -> GangError:
    """The same error, with a path relative to ``place``, which the caller did not write."""
    if not error.path.startswith(place):
        return error
    return placed(error, error.path[len(place) :].lstrip("."))



class NodeNames(Dict[int, str]):
    """The names of the nodes of a ``gang_cluster *`` by id; ``""`` for a removed node."""

    def __init__(self, cluster: Any) -> None:
        super().__init__()
        self._cluster, self._info = cluster, new("gang_node_info")

    def __missing__(self, number: int) -> str:
        found = (
            text(self._info.name)
            if lib.gang_node_get(self._cluster, number, self._info) == 0
            else ""
        )
        self[number] = found
        return found

    def of(self, ids: Any, count: int) -> Tuple[str, ...]:
        """The names of an array of ids."""
        return tuple(self[number] for number in (ffi.unpack(ids, count) if count else ()))


__all__ = ["JobRef", "NodeNames", "Scheduling"]
