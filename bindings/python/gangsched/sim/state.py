# SPDX-License-Identifier: Apache-2.0
"""What can be read of a simulation at any instant: counters, jobs, reasons, statistics."""

import json
import math
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._native import WRITE, Writer, ffi, lib, new, text, texts, utf8
from ..closest import unknown
from ..cluster.allocation import Explanation
from ..enums import JobEnd, JobState, StopReason
from ..errors import InvalidArgument, NotFound, StaleHandle, check
from ..trace import Trace
from ..values import not_negative, ns, span
from ..vocabulary import COLUMNS_BEFORE, Renamed
from .events import Info
from .host import Host
from .recipe import LISTENING, Recipe
from .reservations import Reserving
from .scheduling import JobRef


class SimulationState(Reserving):
    """The part of a simulation that only reads. :class:`Simulation` adds what changes it."""

    _host: Host
    _recipe: Recipe
    _traces: List[Trace]
    #: why jobs were refused, and the length of the log when that was collected
    _refusals: Optional[Tuple[int, Dict[int, str]]]

    @property
    def info(self) -> Info:
        """The counters and the clock. O(1)."""
        with self._held() as sim:
            raw = self._raw_info(sim)
        return self._info(raw, StopReason.of(raw.stop_reason))

    @property
    def now_s(self) -> float:
        """The clock, seconds."""
        return self.info.now_s

    def __len__(self) -> int:
        """The number of known jobs."""
        return self.info.jobs

    def names(self) -> List[str]:
        """The names of all jobs, by index.

        O(jobs).

        A job without a name has its index. A job that was written away (``stream``) has "".
        """
        with self._held() as sim, self._traces_held():
            count = self._raw_info(sim).jobs

            def fill(buffer: Any, size: int, ends: Any) -> int:
                return int(lib.gangsched_py_sim_names(sim, count, buffer, size, ends))

            return texts(count, fill)

    def find(self, job: JobRef) -> int:
        """The index of the first job with a name.

        An index is returned as it is.

        With ``stream`` a job that has ended has no name any more.

        Raises
        ------
        NotFound
            There is no such job.
        InvalidArgument
            ``job`` is neither a name nor a number.
        """
        if isinstance(job, str):
            names = self.names()
            if not job or job not in names:
                raise NotFound(unknown("job", job, names))
            return names.index(job)
        if isinstance(job, bool) or not hasattr(job, "__index__"):
            raise InvalidArgument("give a job by its name or its index, not by %r" % (job,))
        count = len(self)
        if not 0 <= job < count:
            raise NotFound("job %d of %d" % (job, count))
        return int(job)

    def job(self, job: JobRef) -> Dict[str, Any]:
        """One job as a dict.

        The keys are ``index``, ``name``, ``user``, ``queue``, ``state``, ``end``, and those of the
        columns of :attr:`Result.jobs`. Times are seconds; None: that time has not come.
        """
        with self._held() as sim, self._traces_held():
            raw = self._job(sim, self.find(job))
            found: Dict[str, Any] = {
                "index": int(raw.index),
                "name": text(raw.name) or str(raw.index),
            }
            found.update(user=text(raw.user), queue=text(raw.queue))
            found.update(state=JobState.of(raw.state), end=JobEnd.of(raw.end))
            for name in ("submit", "start", "end", "run", "limit", "ran", "suspended", "lost"):
                value = getattr(raw, name + "_ns")
                key = "time_limit_s" if name == "limit" else name + "_s"
                found[key] = None if value == lib.GANG_TRACE_UNKNOWN else value / 1e9
            started = raw.start_ns != lib.GANG_TRACE_UNKNOWN
            found["wait_s"] = (raw.start_ns - raw.submit_ns) / 1e9 if started else None
            found["queue_s"] = raw.wait_ns / 1e9
            found.update(tasks=raw.tasks, cpus=raw.cpu_milli / 1e3, gpus=raw.gpu_milli / 1e3)
            found.update(starts=raw.starts, preemptions=raw.preemptions, failures=raw.failures)
            return Renamed(found, COLUMNS_BEFORE)

    def explain(self, job: JobRef) -> Explanation:
        """Why a job waits, as of the last cycle: all reasons, with numbers.

        Of another job: its state. ``explain(job)["preemption"]`` of a job that waits says why it
        preempts no other job: the members ``outcome``, ``text``, ``moves``, ``gangs``,
        ``takeable``, ``together``, ``rules`` (which rule protects which gangs) and ``queues`` (of
        both sides).

        Of a job that was refused: the reason, also with ``stream``. If events are not kept, the
        simulation runs again to find that reason.

        Raises
        ------
        NotFound
            There is no such job.
        StaleHandle
            The job ended and was written away (``stream``).
        """
        writer = Writer()
        with self._held() as sim, self._traces_held(), self._host.places():
            index = self.find(job)
            known = self._host.refused
            if known is None and self._may_be_refused(sim, index):
                known = self._replayed_refusals()
            if known is not None and index in known:
                return Explanation(
                    {"state": "ended", "text": "it was refused: %s" % known[index], "reasons": []}
                )
            raw = self._job(sim, index)
            state = JobState.of(raw.state)
            if raw.id == lib.GANG_ID_NONE or raw.state == lib.GANG_JOB_ENDED:
                ended = raw.state == lib.GANG_JOB_ENDED
                line = "it has ended: %s" % JobEnd.of(raw.end) if ended else "it has not come"
                return Explanation({"state": state, "text": line, "reasons": []})
            result = lib.gang_job_write_explanation(
                lib.gang_sim_sched(sim), raw.id, WRITE, writer.user
            )
        writer.settle()
        self._host.settle()
        check(result, what="job %r" % (job,))
        found = json.loads(writer.value())
        if not found.get("text"):
            found["text"] = "it is %s" % state
        return Explanation(found)

    def _may_be_refused(self, sim: Any, index: int) -> bool:
        """Whether a job was refused. Of a job that was written away: whether any job was."""
        try:
            raw = self._job(sim, index)
        except StaleHandle:
            return bool(self.summary()["refused"])
        return bool(raw.end == lib.GANG_END_REFUSED and raw.state == lib.GANG_JOB_ENDED)

    def _replayed_refusals(self) -> Dict[int, str]:
        """Why jobs were refused until now, by index.

        Runs the simulation again, once until the next change.
        """
        if self._refusals is None or self._refusals[0] != len(self._recipe.log):
            with self._recipe.replay(LISTENING) as other:
                self._refusals = len(self._recipe.log), dict(other._host.refused or {})
        return self._refusals[1]

    def summary(
        self,
        warm_up_s: float = 0,
        cool_down_s: float = 0,
        tau_s: float = 10,
        queue: Optional[str] = None,
        user: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Statistics, with the definitions of the field.

        ``jobs`` (that succeeded or reached their time limit), ``failed``, ``refused``,
        ``unfinished``; over these jobs, each a dict of ``mean``, ``p50``, ``p90``, ``p95``, ``p99``
        (as ``numpy.percentile``), ``max``: ``wait_s`` (from submission to the first start),
        ``queue_s`` (neither running nor suspended, also between two starts), ``jct_s`` (from
        submission to the end), ``slowdown`` (that over the run time), ``bounded_slowdown`` (at
        least 1, run times at least ``tau_s``); ``makespan_s`` (from the first submission to the
        last end), ``gpu_utilisation``,
        ``cpu_utilisation``, ``memory_utilisation`` (used over available in that time),
        ``fragmentation`` (fraction of the free GPUs on partly used nodes), ``goodput`` (fraction of
        the use that was neither lost nor spent on restarts), ``preemptions``, ``failures``,
        ``lost_gpu_s``, ``jain`` (index of users' mean bounded slowdowns),
        ``finish_fairness_mean`` and ``finish_fairness_max`` (completion time over that with an
        equal share).

        >>> import gangsched as gs
        >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 60, "gpu": 8}] * 2)
        >>> with gs.Simulation(gs.Cluster.uniform(1), jobs) as simulation:
        ...     end = simulation.run()
        ...     simulation.summary()["wait_s"]["mean"]
        30

        Times are seconds. ``queues`` and ``gpu_models`` tell what was used by each since the
        beginning, a queue with all queues below it. Not a number: there is nothing to judge by
        (``goodput`` if nothing was used, ``jain`` without users).

        Parameters
        ----------
        warm_up_s, cool_down_s : float
            Jobs submitted in the first ``warm_up_s`` or the last ``cool_down_s`` do not count.
        tau_s : float
            The lower bound of run times in the bounded slowdown, seconds.
        queue, user : str, optional
            Only the jobs of these.
        """
        opts, writer, keep = new("gang_sim_stats_opts"), Writer(), []
        opts.warm_up_ns = ns(warm_up_s, "warm_up_s")
        opts.cool_down_ns = ns(cool_down_s, "cool_down_s")
        opts.tau_ns = ns(tau_s, "tau_s")
        for name, span in (
            ("warm_up_s", warm_up_s),
            ("cool_down_s", cool_down_s),
            ("tau_s", tau_s),
        ):
            not_negative(span, name)
        for name, value in (("queue", queue), ("user", user)):
            if value is not None:
                keep.append(ffi.new("char[]", utf8(value, name)))
                setattr(opts, name, keep[-1])
        with self._held() as sim, self._traces_held():
            result = lib.gang_sim_write_summary(sim, opts, 0, WRITE, writer.user)
        writer.settle()
        of = [
            "%s %r" % (name, value)
            for name, value in (("queue", queue), ("user", user))
            if value is not None
        ]
        check(result, what=" of ".join(of) or "statistics")
        found: Dict[str, Any] = json.loads(writer.value())
        return {key: math.nan if value is None else value for key, value in found.items()}

    def __repr__(self) -> str:
        if self.closed:
            return "<Simulation, %s>" % self._gone
        info = self.info
        counts = [
            "%d %s" % (getattr(info, name), name.replace("_", " ")) for name in Info._fields[5:]
        ]
        return "<Simulation at %s: %s>" % (span(info.now_s), ", ".join(counts))

    def _repr_html_(self) -> str:
        from html import escape

        if self.closed:
            return "<p>%s</p>" % escape(repr(self))
        return "<p>%s</p>%s%s" % (
            escape(repr(self)),
            self.queues._repr_html_(),
            self.cluster._repr_html_(),
        )

    # ---- inside --------------------------------------------------------------------------

    @contextmanager
    def _traces_held(self) -> Iterator[None]:
        """The locks of all traces: the simulation reads the traces while it runs."""
        with ExitStack() as stack:
            for trace in sorted(self._traces, key=id):
                stack.enter_context(trace._lock)
            yield

    @contextmanager
    def _scheduler(self) -> Iterator[Any]:
        with self._held() as sim, self._traces_held():
            yield lib.gang_sim_sched(sim)

    def _now_ns(self) -> int:
        return int(self._raw_info(self._open().pointer).now_ns)

    def _job_id(self, job: JobRef) -> int:
        number = int(self._job(self._open().pointer, self.find(job)).id)
        if number == lib.GANG_ID_NONE:
            raise NotFound("job %r has not come" % (job,))
        return number

    def _job_index(self, number: int) -> Optional[int]:
        out = ffi.new("size_t *")
        found = lib.gang_sim_find_job(self._open().pointer, number, out) == 0
        return int(out[0]) if found else None

    def _raw_info(self, sim: Any) -> Any:
        info = new("gang_sim_info")
        check(lib.gang_sim_get_info(sim, info))
        return info

    def _info(self, raw: Any, stop_reason: str) -> Info:
        return Info(
            stop_reason=stop_reason,
            now_s=raw.now_ns / 1e9,
            events=raw.events,
            runs=raw.runs,
            jobs=raw.jobs,
            to_come=raw.to_come,
            pending=raw.pending,
            running=raw.running,
            suspended=raw.suspended,
            ended=raw.ended,
        )

    def _job(self, sim: Any, index: int) -> Any:
        raw = new("gang_sim_job")
        check(lib.gang_sim_get_job(sim, index, raw), what="job %d" % index)
        return raw
