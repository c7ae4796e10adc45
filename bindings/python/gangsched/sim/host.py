# SPDX-License-Identifier: Apache-2.0
"""The functions that the library calls back during a simulation, and the Python functions behind
them.
"""

import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

from .._native import Call, callback, ffi, lib, new, text
from ..enums import EventKind, JobEnd, ReservationEventKind, ReservationOutcome
from .events import Event, ReservationEvent
from .placing import Placed, Placing
from .policy import Names, View, write_scores
from .scheduling import NodeNames

#: ``index`` of an event that is about no job.
_NO_JOB = 2**64 - 1


class Host(Call):
    """Python's side of the callbacks of one simulation. It outlives the simulation."""

    def __init__(self) -> None:
        super().__init__()
        self.score: Optional[Callable[[View], Any]] = None
        self.on_event: Optional[Callable[[Event], Any]] = None
        self.speed: Optional[Callable[[int, int, int], float]] = None
        self.restart: Optional[Callable[[int, float], float]] = None
        self.placing: Optional[Placing] = None
        #: the scorers of placed jobs: their requests point to them
        self.placed: Placed = {}
        #: events since events() was last called; None: events are not kept
        self.kept: Optional[List[Event]] = None
        #: why jobs were refused, by index; None: refusals are not kept, because an event callback
        #: costs 1 us a job
        self.refused: Optional[Dict[int, str]] = None
        self.cluster: Any = ffi.NULL
        self.sim: Any = None
        self.names = Names(None)
        #: real time at which the run is to stop
        self.deadline: Optional[float] = None
        self.late = False
        self.tick: Optional[Callable[[], None]] = None

    def ops(self, mode: int) -> Any:
        """A ``struct gang_sim_ops *`` with the callbacks that are needed."""
        ops = new("gang_sim_ops")
        ops.go_on = lib.gangsched_py_go_on
        if self.score is not None:
            ops.score, ops.score_mode = lib.gangsched_py_score, mode
        if self.on_event is not None or self.kept is not None or self.placing is not None:
            ops.event = lib.gangsched_py_event
        elif self.refused is not None:
            ops.event = ffi.addressof(lib, "gangsched_py_refusal")
        if self.speed is not None:
            ops.speed = lib.gangsched_py_speed
        if self.restart is not None:
            ops.restart_ns = lib.gangsched_py_restart
        if self.placing is not None:
            ops.place = lib.gangsched_py_place
        return ops

    @contextmanager
    def places(self) -> Iterator[None]:
        """During a call that may place jobs."""
        if self.placing is None:
            yield
            return
        with self.placing.on(self.cluster):
            yield

    def settle(self) -> None:
        """Raise the exception of a callback."""
        if self.placing is not None and self.placing.error is not None:
            self.error = None
            self.placing.settle()
        super().settle()

    def begin(self, sim: Any) -> None:
        """Set the simulation that calls back."""
        self.sim, self.names = sim, Names(sim)

    def copy(self) -> "Host":
        """A host with the same functions, for a fork of the simulation."""
        made = Host()
        made.score, made.on_event, made.speed, made.restart = (
            self.score, self.on_event, self.speed, self.restart,
        )
        made.placing, made.placed = self.placing, dict(self.placed)
        made.kept = None if self.kept is None else list(self.kept)
        made.refused = None if self.refused is None else dict(self.refused)
        return made

    def event(self, raw: Any) -> None:
        """Keep an event, and pass it to ``on_event``."""
        if raw.what == lib.GANG_SIM_REFUSED and self.refused is not None:
            self.refused[int(raw.index)] = text(raw.text)
        if raw.what in (lib.GANG_SIM_ENDED, lib.GANG_SIM_REFUSED):
            self.placed.pop(int(raw.index), None)  # it is not placed again
        if self.kept is None and self.on_event is None:
            return
        made = self._event(raw)
        if self.kept is not None:
            self.kept.append(made)
        if self.on_event is not None:
            self.on_event(made)

    def _event(self, raw: Any) -> Event:
        node = ""
        if raw.node != lib.GANG_ID_NONE:
            info = new("gang_node_info")
            if lib.gang_node_get(self.cluster, raw.node, info) == 0:
                node = text(info.name)
        what, about = EventKind.of(raw.what), None
        if raw.reservation != ffi.NULL:
            about = self._reservation(raw.reservation)
            what = ReservationEventKind.of(raw.reservation.what)
        return Event(
            what=what,
            at_s=raw.now_ns / 1e9,
            job=-1 if raw.index == _NO_JOB else int(raw.index),
            node=node,
            tasks=int(raw.tasks),
            end=JobEnd.of(raw.end),
            text=text(raw.text),
            gang=int(raw.gang),
            reservation=about,
        )

    def _reservation(self, raw: Any) -> ReservationEvent:
        index, jobs = ffi.new("size_t *"), []
        for number in ffi.unpack(raw.jobs, raw.job_count) if raw.job_count else ():
            if lib.gang_sim_find_job(self.sim, number, index) == 0:
                jobs.append(int(index[0]))
        lost = raw.what in (lib.GANG_RESERVATION_LOST, lib.GANG_RESERVATION_RESTORED)
        return ReservationEvent(
            name=text(raw.name),
            id=int(raw.id),
            instance=int(raw.instance),
            start_s=raw.start_ns / 1e9,
            end_s=raw.end_ns / 1e9,
            nodes=NodeNames(self.cluster).of(raw.nodes, raw.node_count),
            outcome=ReservationOutcome.of(raw.outcome) if lost else "",
            jobs=tuple(jobs),
        )


@callback(failed=1)
def gangsched_py_event(event: Any, user: Any) -> int:
    host: Host = ffi.from_handle(user)
    host.event(event)
    return 0 if host.error is None else 1


@callback(failed=1)
def gangsched_py_go_on(now_ns: int, events: int, user: Any) -> int:
    host: Host = ffi.from_handle(user)
    if host.tick is not None:
        host.tick()
    if host.deadline is not None and time.monotonic() >= host.deadline:
        host.late = True
    failed = host.error is not None or (host.placing is not None and host.placing.error is not None)
    return 1 if host.late or failed else 0


@callback(failed=1)
def gangsched_py_score(view: Any, score: Any, user: Any) -> int:
    host: Host = ffi.from_handle(user)
    assert host.score is not None
    write_scores(view, score, host.score, host.names)
    return 0


@callback(failed=10**6)
def gangsched_py_speed(index: int, tasks: int, count: int, user: Any) -> int:
    host: Host = ffi.from_handle(user)
    assert host.speed is not None
    return _clamped(host.speed(index, tasks, count) * lib.GANG_WHOLE)


@callback(failed=0)
def gangsched_py_restart(index: int, gpu_milli: int, user: Any) -> int:
    host: Host = ffi.from_handle(user)
    assert host.restart is not None
    return _clamped(host.restart(index, gpu_milli / 1000) * 1e9)


def _clamped(value: float) -> int:
    """The nearest number that the library takes. Raises ValueError for not-a-number."""
    found: int = round(min(max(value, 0.0), 2.0**60))
    return found
