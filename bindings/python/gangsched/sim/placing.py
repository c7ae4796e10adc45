# SPDX-License-Identifier: Apache-2.0
"""Placement policies of users inside a simulation: functions that score the nodes for a job."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Optional, Sequence

from .._native import callback, ffi, lib, new, text
from ..cluster.candidates import Candidates
from ..cluster.request import Scorer
from ..scoring import direction

#: ``place(job, candidates) -> scores``
Place = Callable[["PlacedJob", Candidates], Any]


@dataclass(frozen=True)
class PlacedJob:
    """The job for which a placement policy scores nodes. Plain data.

    >>> import gangsched as gs
    >>> def apart(job, nodes):                  # small jobs where most is free, wide ones packed
    ...     return nodes.gpus_free if job.count * job.gpu < 8 else -nodes.gpus_free
    >>> jobs = gs.Trace([{"submit_s": i, "run_s": 60, "gpu": 1} for i in range(2)])
    >>> result = gs.simulate(gs.Cluster.uniform(2), jobs, place=apart)
    >>> result.allocations.node.tolist()
    ['n0', 'n1']
    """

    index: int  #: in the simulation
    name: str
    queue: str
    user: str
    priority: int
    run_s: float  #: the truth, so that only a clairvoyant policy uses it
    time_limit_s: float  #: 0: none
    group: int  #: the group of tasks that is placed, from 0
    count: int  #: tasks of this group
    cpu: float  #: cores of one task
    mem_mib: float  #: of one task
    gpu: float  #: GPUs of one task: whole ones, or a share of each of ``gpu_devices``
    gpu_devices: int


class _Running(threading.local):
    """What runs in this thread."""

    cluster: Any = None
    error: Optional[BaseException] = None


class Placing:
    """A placement policy, shared by a simulation, its forks and their forecasts.

    They may run in several threads: each callback runs in the thread of the call, and so an
    exception stays in its thread.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.lowest = direction(place)
        self._running = _Running()

    @property
    def error(self) -> Optional[BaseException]:
        """The exception of a call in this thread that :meth:`settle` has not raised."""
        return self._running.error

    def failed(self, error: BaseException) -> None:
        """Keep an exception, if it is the first one."""
        if self._running.error is None:
            self._running.error = error

    def settle(self) -> None:
        """Raise the exception that was kept."""
        error, self._running.error = self._running.error, None
        if error is not None:
            raise error

    @contextmanager
    def on(self, cluster: Any) -> Iterator[None]:
        """During a call that may place jobs on this ``gang_cluster *``."""
        before, self._running.cluster = self._running.cluster, cluster
        if before is None:
            self._running.error = None  # of a call that does not look for it
        try:
            yield
        finally:
            self._running.cluster = before

    def node_name(self, number: int) -> str:
        """The name of a node, for a message."""
        info = new("gang_node_info")
        if self._running.cluster is None:
            return "?"
        if lib.gang_node_get(self._running.cluster, number, info) != lib.GANG_OK:
            return "?"
        return text(info.name)


class JobScorer(Scorer):
    """The placement policy for one job: ``score_user`` of its request."""

    def __init__(self, placing: Placing, jobs: Sequence[PlacedJob]) -> None:
        super().__init__(self._score, None)
        self.lowest = placing.lowest
        self.what = "place() for job %r" % jobs[0].name
        self._placing, self._jobs = placing, jobs

    def failed(self, error: BaseException) -> None:
        self._placing.failed(error)

    def node_name(self, number: int) -> str:
        return self._placing.node_name(number)

    def _score(self, group: int, candidates: Candidates) -> Any:
        error = self._placing.error
        if error is not None:  # the run is about to end
            raise error
        return self._placing.place(self._jobs[group], candidates)


def job_scorer(placing: Placing, index: int, run_ns: int, raw: Any) -> JobScorer:
    """The scorer of a ``struct gang_job_spec *``. It keeps nothing of the library."""
    request, jobs = raw.request, []
    words = (text(raw.name) or str(index), text(raw.queue), text(raw.user))
    times = (int(raw.priority), run_ns / 1e9, raw.time_limit_ns / 1e9)
    start = ffi.cast("char *", request.groups)
    for i in range(request.group_count):
        group = ffi.cast("struct gang_group_spec *", start + i * request.group_size)
        amounts = (group.cpu_milli / 1e3, group.memory_bytes / 2.0**20, group.gpu_milli / 1e3)
        jobs.append(PlacedJob(
            index, *words, *times, i, int(group.count), *amounts, int(group.gpu_devices) or 1
        ))
    return JobScorer(placing, jobs)


def score_with(job: Any, scorer: JobScorer) -> None:
    """Let a scorer, which the caller keeps, place the job of a ``struct gang_job_spec *``."""
    job.request.policy = lib.GANG_POLICY_HOST
    job.request.score = lib.gangsched_py_place_score
    job.request.score_user = scorer.user


@callback(failed=lib.GANG_EINVAL)
def gangsched_py_place(index: int, run_ns: int, job: Any, user: Any) -> int:
    host: Any = ffi.from_handle(user)
    placing, placed = host.placing, host.placed
    scorer = placed[index] = job_scorer(placing, index, run_ns, job)
    score_with(job, scorer)
    return 0


#: The scorers of the jobs of a simulation, by index.
Placed = Dict[int, JobScorer]

__all__ = ["JobScorer", "Place", "Placed", "PlacedJob", "Placing", "job_scorer", "score_with"]
