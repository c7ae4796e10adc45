# SPDX-License-Identifier: Apache-2.0
"""Policies written in Python: the order in which jobs are tried, and who runs."""

from itertools import repeat, starmap
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from .._native import ffi, lib, text
from ..errors import Closed, InvalidArgument

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

#: Columns that are made of these.
_MORE = ("gpus", "cpus", "queue_name", "user_name")


class Names:
    """What numbers of queues and users of a simulation stand for. They only become more, and are asked for once."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self._found: Dict[str, List[str]] = {"queue": [], "user": []}
        #: as numpy arrays with "" behind, for -1: that of so many
        self._arrays: Dict[str, Tuple[int, Any]] = {}

    def of(self, kind: str, number: int) -> str:
        """Of one number, while the simulation is there."""
        found = self._found[kind]
        if number >= len(found):
            get = lib.gang_sim_queue_name if kind == "queue" else lib.gang_sim_user_name
            while get(self._sim, len(found)) != ffi.NULL:
                found.append(text(get(self._sim, len(found))))
        return found[number] if 0 <= number < len(found) else ""

    def of_all(self, kind: str, numbers: Any) -> Any:
        """Of an array of numbers."""
        import numpy

        self.of(kind, int(numbers.max(initial=-1)))
        found = self._found[kind]
        count, names = self._arrays.get(kind, (-1, None))
        if count != len(found):
            names = numpy.array([*found, ""], dtype=object)
            self._arrays[kind] = len(found), names
        return names[numbers]


class View:
    """The jobs that a policy scores: those that wait or run.

    Each column is a numpy array of its own, made when it is first asked for: ``submit_s``, ``run_s`` (in truth;
        a policy that is not clairvoyant looks at ``limit_s``, 0: none), ``left_s`` (of its work, in truth),
        ``served_s`` (that it has run), ``gpus`` and ``cpus`` (of all its tasks), ``tasks``, ``queue`` (number),
        ``user`` (number), ``running`` (True: it runs), ``index`` (of the job in the simulation). Where groups of a job wait for
        each other ``gpus`` and ``cpus`` are those of the groups that run or may start. The same as the library has
        them, whole numbers: ``submit_ns``, ``gpu_milli``... Only during the call; arrays may be kept.
        ``queue_name`` and ``user_name`` are what the numbers stand for, texts.
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
        if name in COLUMNS:
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
            raise AttributeError("jobs have no column %r" % name)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> List[str]:
        seconds = [name[:-3] + "_s" for name in COLUMNS if name.endswith("_ns")]
        return sorted({*object.__dir__(self), *COLUMNS, *seconds, *_MORE})

    def _column(self, name: str) -> Any:
        import numpy

        if self._raw is None:
            raise Closed("the view is over: keep its columns, not it")
        if not self._count:
            return numpy.empty(0, dtype=numpy.int64)
        memory = ffi.buffer(getattr(self._raw, name), 8 * self._count)
        return numpy.frombuffer(memory, dtype=numpy.int64).copy()

    def _name(self, kind: str, number: int) -> str:
        if self._names is None:
            raise Closed("the view is over: keep names, not its jobs")
        found: str = self._names.of(kind, number)
        return found

    def _end(self) -> None:
        self._raw = self._names = None


class Job(NamedTuple):
    """A job as a policy for one job sees it; see :class:`View` for what each is. ``queue_name`` and ``user_name`` are there
    during the call only."""

    number: int  #: index in the simulation
    submit_ns: int
    run_ns: int
    limit_ns: int
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
    def limit_s(self) -> float:
        return self.limit_ns / 1e9

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
    """A policy from a function of one job: the score, lowest first.

    ::

        @gs.per_job
        def smallest(job):
            return job.gpus

    Simpler than one of all jobs (:class:`View`), and some fifty times slower.
    """

    def __init__(self, score: Callable[[Job], float]) -> None:
        self.score = score

    def __call__(self, view: View) -> List[float]:
        return list(map(self.score, self.jobs(view)))

    @staticmethod
    def jobs(view: View) -> Iterator[Job]:
        """The jobs of a view, one by one."""
        raw = view._raw
        if raw is None:
            raise Closed("the view is over")
        count = len(view)
        columns = [ffi.unpack(getattr(raw, name), count) if count else [] for name in COLUMNS]
        return starmap(Job, zip(*columns, repeat(view)))

    def __repr__(self) -> str:
        return "per_job(%s)" % getattr(self.score, "__name__", self.score)


def write_scores(view: Any, room: Any, score: Callable[[View], Any], names: Names) -> None:
    """Ask a policy and put its answer where the library wants it. It is not asked about nobody.

    Raises:
        InvalidArgument: not one number for each job. What the policy raises.
    """
    if not view.count:
        return
    seen = View(view, names)
    try:
        found = score(seen)
    finally:
        seen._end()
    count = len(seen)
    if isinstance(found, list):
        if len(found) != count:
            raise InvalidArgument("the policy gave %d scores for %d jobs" % (len(found), count))
        room[0:count] = found
        return
    import numpy

    scores = numpy.ascontiguousarray(found, dtype=numpy.float64)
    if scores.shape != (count,):
        raise InvalidArgument("the policy must give one score for each of %d jobs" % count)
    ffi.memmove(room, scores, 8 * count)

