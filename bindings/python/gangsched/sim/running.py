# SPDX-License-Identifier: Apache-2.0
"""How far a simulation runs: bounds, the progress bar, Ctrl-C, the events that it kept."""

import time
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional

from .._native import ffi, lib, new
from ..dates import Time
from ..enums import StopReason
from ..errors import InvalidArgument, check, new_error
from ..values import not_negative, ns, whole
from .events import Event, Info
from .intake import SimulationIntake
from .stream import Stream

#: Events between two looks at the real clock, the progress bar and Ctrl-C.
EVENTS_PER_CHECK = 256


class RunningSimulation(SimulationIntake):
    """The part of a simulation that moves the clock."""

    #: the files to which the simulation writes ended jobs, if any
    _stream: Optional[Stream]

    def run(
        self,
        until_s: Optional[Time] = None,
        *,
        events: Optional[int] = None,
        seconds: Optional[float] = None,
        progress: bool = False,
    ) -> Info:
        """Run until a bound is reached, or nothing more happens.

        Parameters
        ----------
        until_s
            Time of the simulation, seconds, inclusive, or a date. The clock then shows it, even if
            all jobs ended earlier: up to this time nodes fail and are repaired, and reservations
            begin and end.
        events : int, optional
            Stop at the end of the instant in which this number of events is reached: arrivals,
            ends, failures, repairs.
        seconds : float, optional
            Approximate bound of real time, seconds, 0 or more.
        progress : bool
            True: show a bar (tqdm).

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. As after an exception in a function of yours, the simulation keeps its state and
            can continue.
        """
        if events is not None and whole(events, "events") < 1:
            raise InvalidArgument("events must be 1 or more", path="events")
        if seconds is not None:
            not_negative(ns(seconds, "seconds"), "seconds")
        until_ns = None if until_s is None else ns(self._time_s(until_s, "until_s"), "until_s")
        return self._go(until_ns, events or 0, seconds, progress)

    def _go(
        self,
        until_ns: Optional[int],
        events: int,
        seconds: Optional[float] = None,
        progress: bool = False,
    ) -> Info:
        bounds, error, host = new("gang_sim_bounds"), new_error(), self._host
        # an exception of a placement policy is to stop the run at once
        bounds.every = EVENTS_PER_CHECK if host.placing is None else 1
        bounds.max_events = events
        if until_ns is not None:
            bounds.has_until, bounds.until_ns = 1, until_ns
        with self._held() as sim, self._traces_held(), self._bar(sim, progress), host.places():
            host.deadline = None if seconds is None else time.monotonic() + seconds
            host.late = False
            before = self._raw_info(sim).events
            inside, self._inside = self._inside, True
            try:
                result = lib.gang_sim_run(sim, bounds, ffi.NULL, error)
            finally:
                self._inside = inside
            now = self._raw_info(sim)
            stop_reason = StopReason.of(now.stop_reason)
            if result != lib.GANG_EBUSY:
                # A run stops at the end of an instant. A replay stops at the same instant, whatever
                # stopped this run.
                if stop_reason in (StopReason.DONE, StopReason.UNTIL):
                    self._recipe.note_run(until_ns, 0)
                else:
                    self._recipe.note_run(int(now.now_ns), int(now.events - before))
            host.settle()
            if self._stream is not None:
                self._stream.settle()
            if not host.late:
                check(result, error)
            return self._info(now, "seconds" if host.late else stop_reason)

    @contextmanager
    def _bar(self, sim: Any, wanted: bool) -> Iterator[None]:
        if not wanted:
            yield
            return
        from tqdm.auto import tqdm

        info = self._raw_info(sim)
        with tqdm(total=info.jobs, initial=info.ended, unit=" jobs", mininterval=0.2) as bar:

            def tick() -> None:
                now = self._raw_info(sim)
                bar.total = now.jobs
                bar.update(now.ended - bar.n)

            self._host.tick = tick
            try:
                yield
                tick()
            finally:
                self._host.tick = None

    def events(self) -> List[Event]:
        """The events since the last call; needs ``events=True``."""
        with self._held():
            if self._host.kept is None:
                raise InvalidArgument("make the simulation with events=True")
            found, self._host.kept = self._host.kept, []
        return found
