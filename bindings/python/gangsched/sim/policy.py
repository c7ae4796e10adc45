# SPDX-License-Identifier: Apache-2.0
"""Policies written in Python: they order jobs, or decide which jobs run."""

from itertools import repeat, starmap
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from .._lazy import deprecated
from .._native import ffi, lib, text
from ..closest import meant
from ..errors import Closed, InvalidArgument
from ..scoring import direction

#: Members of gang_sim_view that are arrays.
COLUMNS = (
    "index",
    "submit_ns",
    "run_ns",
    "limit_ns",
    "left_ns",
    "served_ns",
    "gpu_milli",
    "cpu_milli",
    "tasks",
    "queue",
    "running",
    "user",
)

#: Columns derived from these.
_MORE = ("gpus", "cpus", "queue_name", "user_name", "time_limit_s", "time_limit_ns")

#: Names of version 0.1.
_BEFORE = {"limit_s": "time_limit_s", "limit_ns": "time_limit_ns"}


class Names:
    """The names of a simulation's queues and users, by number. Numbers keep their names."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self._found: Dict[str, List[str]] = {"queue": [], "user": []}
        #: numpy arrays of names with "" at the end, for -1; each with its count
        self._arrays: Dict[str, Tuple[int, Any]] = {}

    def of(self, kind: str, number: int) -> str:
        """The name of a number, while the simulation exists."""
        found = self._found[kind]
        if number >= len(found):
            get = lib.gang_sim_queue_name if kind == "queue" else lib.gang_sim_user_name
            while get(self._sim, len(found)) != ffi.NULL:
                found.append(text(get(self._sim, len(found))))
        return found[number] if 0 <= number < len(found) else ""

    def of_all(self, kind: str, numbers: Any) -> Any:
        """The names of an array of numbers."""
        import numpy

        self.of(kind, int(numbers.max(initial=-1)))
        found = self._found[kind]
        count, names = self._arrays.get(kind, (-1, None))
        if count != len(found):
            names = numpy.array([*found, ""], dtype=object)
            self._arrays[kind] = len(found), names
        return names[numbers]


class View:
    """The jobs that a policy scores: all that wait or run.

    Each column is a numpy array of its own, made at its first use. ``submit_s``, ``run_s``,
    ``left_s`` (remaining work), ``served_s`` (attained service), ``time_limit_s`` (0: none) are seconds;
    ``run_s`` and ``left_s`` are the truth, so that only a clairvoyant policy uses them. ``gpus``
    (devices), ``cpus`` (cores) and ``tasks`` are sums over the job; where its groups wait for each
    other, over the groups that run or may start. ``queue`` and ``user`` are numbers, ``queue_name``
    and ``user_name`` their names. ``running`` is True for running jobs. ``index`` is that of the
    job in the simulation. The integers of the library are there as well: ``submit_ns``,
    ``time_limit_ns``, ``gpu_milli``, ``cpu_milli``...

    A view is valid during the call only; its arrays may be kept.

    >>> import gangsched as gs
    >>> smallest = gs.lowest_first(lambda view: view.time_limit_s * view.gpus)
    >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 5, "gpu": 8, "time_limit_s": limit_s}
    ...                  for limit_s in (30, 10, 20)])
    >>> gs.simulate(gs.Cluster.uniform(1), jobs, policy=smallest).jobs.start_s.tolist()
    [10.0, 0.0, 5.0]
    """

    def __init__(self, raw: Any, names: Names) -> None:
        self._raw: Any = raw
        self._names: Any = names
        self.now_ns = int(raw.now_ns)
        self.now_s = raw.now_ns / 1e9
        self._count = int(raw.count)

    def __len__(self) -> int:
        return self._count

    def __getattr__(self, name: str) -> Any:
        if name in _BEFORE:
            deprecated("the column " + name, _BEFORE[name])
            return getattr(self, _BEFORE[name])
        if name in ("time_limit_ns", "time_limit_s"):
            found = self._column("limit_ns")
            found = found if name == "time_limit_ns" else found / 1e9
        elif name in COLUMNS:
            found = self._column(name)
            if name == "running":
                found = found != 0
        elif name.endswith("_s") and name[:-2] + "_ns" in COLUMNS:
            found = self._column(name[:-2] + "_ns") / 1e9
        elif name in ("queue_name", "user_name"):
            kind = name[: -len("_name")]
            numbers = self._column(kind)
            found = self._names.of_all(kind, numbers)
        elif name in ("gpus", "cpus"):
            found = self._column(name[:-1] + "_milli") / 1e3
        else:
            raise AttributeError("jobs have no column %r%s" % (name, meant(name, self._names_of())))
        self.__dict__[name] = found
        return found

    @staticmethod
    def _names_of() -> List[str]:
        seconds = [name[:-3] + "_s" for name in COLUMNS if name.endswith("_ns")]
        return sorted({*COLUMNS, *seconds, *_MORE} - set(_BEFORE))

    def __dir__(self) -> List[str]:
        return sorted({*object.__dir__(self), *self._names_of()})

    def _column(self, name: str) -> Any:
        import numpy

        if self._raw is None:
            raise Closed("the view is no longer valid: keep its columns")
        if not self._count:
            return numpy.empty(0, dtype=numpy.int64)
        memory = ffi.buffer(getattr(self._raw, name), 8 * self._count)
        return numpy.frombuffer(memory, dtype=numpy.int64).copy()

    def _name(self, kind: str, number: int) -> str:
        if self._names is None:
            raise Closed("the view is no longer valid: keep names")
        found: str = self._names.of(kind, number)
        return found

    def _end(self) -> None:
        self._raw = self._names = None


class Job(NamedTuple):
    """One job of a :class:`View`, with the same columns.

    ``queue_name`` and ``user_name`` are valid during the call only.
    """

    number: int  #: index in the simulation
    submit_ns: int
    run_ns: int
    time_limit_ns: int
    left_ns: int
    served_ns: int
    gpu_milli: int
    cpu_milli: int
    tasks: int
    queue: int
    running: int
    user: int
    view: View

    @property
    def queue_name(self) -> str:
        return self.view._name("queue", self.queue)

    @property
    def user_name(self) -> str:
        return self.view._name("user", self.user)

    @property
    def submit_s(self) -> float:
        return self.submit_ns / 1e9

    @property
    def run_s(self) -> float:
        return self.run_ns / 1e9

    @property
    def time_limit_s(self) -> float:
        return self.time_limit_ns / 1e9

    @property
    def limit_s(self) -> float:
        """Deprecated: :attr:`time_limit_s`."""
        deprecated("limit_s", "time_limit_s")
        return self.time_limit_s

    @property
    def limit_ns(self) -> int:
        """Deprecated: :attr:`time_limit_ns`."""
        deprecated("limit_ns", "time_limit_ns")
        return self.time_limit_ns

    @property
    def left_s(self) -> float:
        return self.left_ns / 1e9

    @property
    def served_s(self) -> float:
        return self.served_ns / 1e9

    @property
    def gpus(self) -> float:
        return self.gpu_milli / 1e3

    @property
    def cpus(self) -> float:
        return self.cpu_milli / 1e3


class per_job:
    """A policy from a function that scores one job.

    ::

        @gs.lowest_first
        @gs.per_job
        def smallest(job):
            return job.gpus

    Simpler than a function of all jobs (:class:`View`), and some fifty times slower.

    >>> import gangsched as gs
    >>> widest = gs.highest_first(gs.per_job(lambda job: job.gpus))
    >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 5, "gpu": gpu} for gpu in (6, 7, 8)])
    >>> gs.simulate(gs.Cluster.uniform(1), jobs, policy=widest).jobs.start_s.tolist()
    [10.0, 5.0, 0.0]
    """

    def __init__(self, score: Callable[[Job], float]) -> None:
        self.score = score

    def __call__(self, view: View) -> List[float]:
        return list(map(self.score, self.jobs(view)))

    @staticmethod
    def jobs(view: View) -> Iterator[Job]:
        """Iterate over the jobs of a view."""
        raw = view._raw
        if raw is None:
            raise Closed("the view is no longer valid")
        count = len(view)
        columns = [ffi.unpack(getattr(raw, name), count) if count else [] for name in COLUMNS]
        return starmap(Job, zip(*columns, repeat(view)))

    def __repr__(self) -> str:
        return "per_job(%s)" % getattr(self.score, "__name__", self.score)


def write_scores(view: Any, buffer: Any, score: Callable[[View], Any], names: Names) -> None:
    """Call a policy, and store its scores for the library.

    Without jobs the policy is not called.

    Raises
    ------
    InvalidArgument
        The policy did not return one number for each job.
    """
    if not view.count:
        return
    seen = View(view, names)
    try:
        found = score(seen)
    finally:
        seen._end()
    count = len(seen)
    lowest = direction(score) is not False
    if isinstance(found, list):
        if len(found) != count:
            raise InvalidArgument("the policy gave %d scores for %d jobs" % (len(found), count))
        buffer[0:count] = found
        if not lowest:
            buffer[0:count] = [-one for one in found]
        return
    import numpy

    scores = numpy.ascontiguousarray(found, dtype=numpy.float64)
    if scores.shape != (count,):
        raise InvalidArgument("the policy must give one score for each of %d jobs" % count)
    ffi.memmove(buffer, scores if lowest else -scores, 8 * count)

