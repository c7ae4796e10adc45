# SPDX-License-Identifier: Apache-2.0
"""The enumerations of the library, each with its number in C and its word in Python.

A member is a string: ``NodeState.UP == "up"``. Functions take the member or the word, and return
the member.
"""

from enum import Enum
from typing import Any, Dict, List, Type, TypeVar

from ._native import lib
from .errors import InvalidArgument
from .closest import meant

_Self = TypeVar("_Self", bound="Word")


class Word(str, Enum):
    """A word with the number that the library uses for it."""

    number: int

    def __new__(cls: Type[_Self], word: str, number: int) -> _Self:
        made = str.__new__(cls, word)
        made._value_ = word
        made.number = int(number)
        return made

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return repr(str(self.value))

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)

    @classmethod
    def of(cls, number: int) -> str:
        """The member with this number; the digits of a number that is newer than this package."""
        found = _by_number(cls).get(int(number))
        return str(int(number)) if found is None else found

    @classmethod
    def number_of(cls, word: Any, name: str) -> int:
        """The number of a word that a user gave for the argument ``name``.

        Raises
        ------
        InvalidArgument
            The word is not a member. ``path`` is ``name``.
        """
        if isinstance(word, str):
            for member in cls:
                if member.value == word:
                    return member.number
        raise InvalidArgument(
            "%s: expected one of %s, not %r%s"
            % (name, ", ".join(cls.words()), word, meant(word, cls.words())),
            path=name,
        )

    @classmethod
    def words(cls) -> List[str]:
        """All words as plain strings, in the order of the definition."""
        return [str(member.value) for member in cls]


_TABLES: Dict[Type[Word], Dict[int, Word]] = {}


def _by_number(kind: Type[Word]) -> Dict[int, Word]:
    if kind not in _TABLES:
        _TABLES[kind] = {member.number: member for member in kind}
    return _TABLES[kind]


# ---- clusters --------------------------------------------------------------------------------


class NodeState(Word):
    """Whether a node takes work."""

    UP = "up", lib.GANG_NODE_UP
    DRAINING = "draining", lib.GANG_NODE_DRAINING
    DOWN = "down", lib.GANG_NODE_DOWN


class PartitionMode(Word):
    """Which requests may use the nodes of a partition."""

    SHARED = "shared", lib.GANG_PARTITION_SHARED
    EXCLUSIVE = "exclusive", lib.GANG_PARTITION_EXCLUSIVE
    LENDING = "lending", lib.GANG_PARTITION_LENDING


class HostsFormat(Word):
    """Formats of :meth:`gangsched.Allocation.hosts`."""

    PLAIN = "plain", lib.GANG_HOSTS_PLAIN
    HOROVOD = "horovod", lib.GANG_HOSTS_HOROVOD
    MPI = "mpi", lib.GANG_HOSTS_MPI
    RANKFILE = "rankfile", lib.GANG_HOSTS_RANKFILE


# ---- jobs ------------------------------------------------------------------------------------


class JobState(Word):
    """What a job does now."""

    PENDING = "pending", lib.GANG_JOB_PENDING
    RUNNING = "running", lib.GANG_JOB_RUNNING
    STOPPING = "stopping", lib.GANG_JOB_STOPPING
    SUSPENDED = "suspended", lib.GANG_JOB_SUSPENDED
    ENDED = "ended", lib.GANG_JOB_ENDED


class JobEnd(Word):
    """How a job ended."""

    NONE = "", lib.GANG_END_NONE
    SUCCESS = "success", lib.GANG_END_SUCCESS
    FAILED = "failed", lib.GANG_END_FAILED
    CANCELLED = "cancelled", lib.GANG_END_CANCELLED
    PREEMPTED = "preempted", lib.GANG_END_PREEMPTED
    TIMEOUT = "timeout", lib.GANG_END_TIMEOUT
    UNSTARTED = "unstarted", lib.GANG_END_UNSTARTED
    REFUSED = "refused", lib.GANG_END_REFUSED
    DEADLINE = "deadline", lib.GANG_END_DEADLINE


class LossPolicy(Word):
    """What a job does when it loses tasks."""

    COUNT = "count", lib.GANG_LOSS_COUNT
    FAIL = "fail", lib.GANG_LOSS_FAIL
    RESTART = "restart", lib.GANG_LOSS_RESTART
    REFILL = "refill", lib.GANG_LOSS_REFILL
    SHRINK = "shrink", lib.GANG_LOSS_SHRINK


# ---- simulations -----------------------------------------------------------------------------


class EventKind(Word):
    """What happened in a simulation. Events of reservations are a :class:`ReservationEventKind`."""

    SUBMITTED = "submitted", lib.GANG_SIM_SUBMITTED
    REFUSED = "refused", lib.GANG_SIM_REFUSED
    STARTED = "started", lib.GANG_SIM_STARTED
    GREW = "grew", lib.GANG_SIM_GREW
    SHRANK = "shrank", lib.GANG_SIM_SHRANK
    STOPPED = "stopped", lib.GANG_SIM_STOPPED
    SUSPENDED = "suspended", lib.GANG_SIM_SUSPENDED
    RESUMED = "resumed", lib.GANG_SIM_RESUMED
    ENDED = "ended", lib.GANG_SIM_ENDED
    NODE_DOWN = "node-down", lib.GANG_SIM_NODE_DOWN
    NODE_UP = "node-up", lib.GANG_SIM_NODE_UP
    GANG_ENDED = "gang-ended", lib.GANG_SIM_GANG_ENDED


class ReservationEventKind(Word):
    """What happened to a reservation."""

    NOTICE = "reservation-notice", lib.GANG_RESERVATION_NOTICE
    BEGIN = "reservation-begin", lib.GANG_RESERVATION_BEGIN
    END = "reservation-end", lib.GANG_RESERVATION_END
    LOST = "reservation-lost", lib.GANG_RESERVATION_LOST
    PURGED = "reservation-purged", lib.GANG_RESERVATION_PURGED
    SKIPPED = "reservation-skipped", lib.GANG_RESERVATION_SKIPPED
    RESTORED = "reservation-restored", lib.GANG_RESERVATION_RESTORED


class ReservationOutcome(Word):
    """What became of a reservation that lost nodes."""

    KEPT = "kept", lib.GANG_RESERVATION_KEPT
    LATER = "later", lib.GANG_RESERVATION_LATER
    REDUCED = "reduced", lib.GANG_RESERVATION_REDUCED
    DROPPED = "dropped", lib.GANG_RESERVATION_DROPPED


class StopReason(Word):
    """Why a run of a simulation returned."""

    DONE = "done", lib.GANG_SIM_DONE
    UNTIL = "until", lib.GANG_SIM_AT_UNTIL
    EVENTS = "events", lib.GANG_SIM_AT_EVENTS
    INTERRUPTED = "interrupted", lib.GANG_SIM_INTERRUPTED


class PolicyName(Word):
    """Orders in which a simulation tries jobs."""

    QUEUES = "queues", lib.GANG_SIM_POLICY_QUEUES
    FIFO = "fifo", lib.GANG_SIM_POLICY_FIFO
    SJF = "sjf", lib.GANG_SIM_POLICY_SJF
    SRTF = "srtf", lib.GANG_SIM_POLICY_SRTF
    LAS = "las", lib.GANG_SIM_POLICY_LAS
    LAS_STARTED = "las-started", lib.GANG_SIM_POLICY_LAS_STARTED
    FIRST_FIT = "first-fit", lib.GANG_SIM_POLICY_FIRST_FIT


class ScoreMode(Word):
    """How the scores of a policy function are used."""

    ORDER = "order", lib.GANG_SIM_SCORE_ORDER
    SELECT = "select", lib.GANG_SIM_SCORE_SELECT


class Know(Word):
    """What the scheduler of a simulation knows of run times."""

    LIMIT = "limit", lib.GANG_SIM_KNOW_LIMIT
    RUN = "run", lib.GANG_SIM_KNOW_RUN
    PREDICTED = "predicted", lib.GANG_SIM_KNOW_PREDICTED


class SameInstant(Word):
    """Whether jobs that come in the same instant are scheduled together."""

    TOGETHER = "together", lib.GANG_SIM_TOGETHER
    ONE_BY_ONE = "one-by-one", lib.GANG_SIM_ONE_BY_ONE


class Place(Word):
    """Where a simulation places jobs."""

    CLUSTER = "cluster", lib.GANG_SIM_PLACE_CLUSTER
    CONSOLIDATED = "consolidated", lib.GANG_SIM_PLACE_CONSOLIDATED


class Record(Word):
    """Tables that a simulation records. The numbers are bits."""

    ALLOCATIONS = "allocations", lib.GANG_SIM_RECORD_ALLOCATIONS
    TIMELINE = "timeline", lib.GANG_SIM_RECORD_TIMELINE


# ---- reservations, plans and forecasts -------------------------------------------------------


class ReservationState(Word):
    """Whether a reservation has begun."""

    PLANNED = "planned", lib.GANG_RESERVATION_PLANNED
    ACTIVE = "active", lib.GANG_RESERVATION_ACTIVE


class ReservationFlag(Word):
    """Flags of reservations. The numbers are bits."""

    MAINTENANCE = "maintenance", lib.GANG_RESERVATION_MAINTENANCE
    OVERLAP = "overlap", lib.GANG_RESERVATION_OVERLAP
    IGNORE_JOBS = "ignore-jobs", lib.GANG_RESERVATION_IGNORE_JOBS
    FLEX = "flex", lib.GANG_RESERVATION_FLEX
    MAGNETIC = "magnetic", lib.GANG_RESERVATION_MAGNETIC


class PlanKind(Word):
    """What a row of the plan is about."""

    RUNNING = "running", lib.GANG_PLAN_RUNNING
    START = "start", lib.GANG_PLAN_START
    RESERVATION = "reservation", lib.GANG_PLAN_RESERVATION


class ExpectedKind(Word):
    """What a forecast expects of a job that waits."""

    START = "start", lib.GANG_EXPECTED_START
    LATER = "later", lib.GANG_EXPECTED_LATER
    NEVER = "never", lib.GANG_EXPECTED_NEVER
    END = "end", lib.GANG_EXPECTED_END


class WaitReason(Word):
    """The decisive reason for which a job waits. The words are those of explanations."""

    NONE = "", 0
    CAPACITY = "capacity", lib.GANG_WAIT_CAPACITY
    LIMIT = "limit", lib.GANG_WAIT_LIMIT
    GUARANTEE = "guarantee", lib.GANG_WAIT_GUARANTEE
    USER_LIMIT = "user-limit", lib.GANG_WAIT_USER_LIMIT
    MAX_RUNNING = "max-running", lib.GANG_WAIT_MAX_RUNNING
    HOLD = "hold", lib.GANG_WAIT_HOLD
    AFTER = "after", lib.GANG_WAIT_AFTER
    QUEUE = "queue", lib.GANG_WAIT_QUEUE
    BEHIND = "behind", lib.GANG_WAIT_BEHIND
    BACK_OFF = "back-off", lib.GANG_WAIT_BACK_OFF
    VICTIMS = "victims", lib.GANG_WAIT_VICTIMS
    CELLS = "cells", lib.GANG_WAIT_CELLS
    LENDING = "lending", lib.GANG_WAIT_LENDING
    NOT_TRIED = "not-tried", lib.GANG_WAIT_NOT_TRIED
    PLANNED = "planned", lib.GANG_WAIT_PLANNED
    BEGIN = "begin", lib.GANG_WAIT_BEGIN
    STARVED = "starved", lib.GANG_WAIT_STARVED
    SLICE = "slice", lib.GANG_WAIT_SLICE
    RESERVATION = "reservation", lib.GANG_WAIT_RESERVATION
    PREFER = "prefer", lib.GANG_WAIT_PREFER
    ARRAY = "array", lib.GANG_WAIT_ARRAY
    ANNOUNCED = "announced", lib.GANG_WAIT_ANNOUNCED
    BUDGET = "budget", lib.GANG_WAIT_BUDGET
