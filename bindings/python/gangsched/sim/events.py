# SPDX-License-Identifier: Apache-2.0
"""Plain data about a running simulation: its events, and its counters."""

from typing import NamedTuple, Optional, Tuple

from .._lazy import deprecated


class ReservationEvent(NamedTuple):
    """The reservation that an event is about. Plain data."""

    name: str
    id: int  #: as in :class:`Reservation`
    instance: int  #: which repetition, from 0
    start_s: float  #: planned begin, seconds of the simulation
    end_s: float  #: planned end, seconds of the simulation
    nodes: Tuple[str, ...]  #: names of its nodes
    #: of ``lost`` and ``restored``: ``kept`` (has other nodes), ``later``, ``reduced``,
    #: ``dropped``; else ""
    outcome: str
    #: of ``begin``: indexes of jobs outside the reservation that still hold some of its nodes
    jobs: Tuple[int, ...]


class Event(NamedTuple):
    """Something that happened in a simulation. Plain data."""

    #: a :class:`gangsched.enums.EventKind` or a :class:`gangsched.enums.ReservationEventKind`:
    #: ``submitted``, ``refused``, ``started``, ``grew``, ``shrank``, ``stopped``, ``suspended``,
    #: ``resumed``, ``ended``, ``node-down``, ``node-up``, ``gang-ended``; ``reservation-notice``
    #: (it begins soon), ``reservation-begin``, ``reservation-end``, ``reservation-lost`` (it lost
    #: nodes), ``reservation-restored`` (it has other nodes), ``reservation-purged`` (no job used
    #: it), ``reservation-skipped`` (one repetition could not be planned)
    what: str
    at_s: float  #: seconds of the simulation
    job: int  #: index in the simulation; -1: none
    node: str  #: name; "": none
    tasks: int  #: tasks that the job has now
    end: str  #: how the job ended, a :class:`gangsched.enums.JobEnd`
    text: str  #: one English line
    gang: int = 0  #: which gang of the job, where groups of the job wait for each other
    #: of events with a ``what`` that begins with ``reservation-``
    reservation: Optional[ReservationEvent] = None

    @property
    def part(self) -> int:
        """Deprecated: :attr:`gang`."""
        deprecated("Event.part", "Event.gang")
        return self.gang


class Info(NamedTuple):
    """Counters of a simulation at one instant. Plain data."""

    #: why the last run returned: ``done``, ``until``, ``events``, ``seconds``, ``interrupted``
    stop_reason: str
    now_s: float  #: the clock, seconds
    events: int  #: since the beginning
    runs: int  #: cycles of the scheduler since the beginning
    jobs: int  #: known jobs, also jobs that have not come yet
    to_come: int
    pending: int
    running: int
    suspended: int
    ended: int

    @property
    def why(self) -> str:
        """Deprecated: :attr:`stop_reason`."""
        deprecated("Info.why", "Info.stop_reason")
        return self.stop_reason
