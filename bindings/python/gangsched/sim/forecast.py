# SPDX-License-Identifier: Apache-2.0
"""Forecasts: a copy of a simulation's scheduler, run ahead. When do jobs start, and what if?"""

from contextlib import contextmanager
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union,
)

from .._native import Call, callback, ffi, lib, new, text
from ..case import Case, job_dict
from ..cluster.cluster import Node
from ..dates import times_in
from ..enums import ExpectedKind, WaitReason
from ..errors import Busy, InvalidArgument, NotFound, OutOfRange, check, new_error
from ..handle import Box
from ..values import ns, seconds, span, whole
from .outlook import Expectations
from .placing import JobScorer, Placing, job_scorer, score_with
from .reservations import Reserving
from .scheduling import JobRef

if TYPE_CHECKING:
    import pandas

    from .simulation import Simulation

#: The run time of a job, from a start (seconds; None: unknown): ``run_time(job, sample, draw)``.
RunTime = Union[None, str, Callable[[int, int, float], Optional[float]]]

class Expected(NamedTuple):
    """The forecast for a waiting job.

    >>> import gangsched as gs
    >>> simulation = gs.Simulation(gs.Cluster.uniform(1))
    >>> for name in ("first", "second"):
    ...     _ = simulation.submit(name=name, gpu=8, run_s=60, time_limit_s=100)
    >>> _ = simulation.run(until_s=10)
    >>> with simulation.forecast() as ahead:
    ...     found = ahead.run()[0]
    >>> found.name, found.what, found.wait_s
    ('second', 'start', 100.0)
    """

    job: int  #: index
    name: str
    queue: str
    #: ``start``, ``later`` (not before the horizon), ``never`` (not in this configuration), ``end``
    #: (it ends without a start)
    what: str
    start_s: Optional[float]  #: seconds: the median of the samples; None: no start
    #: seconds: the quantile ``low`` of the samples, linear between the two nearest, as by
    #: ``numpy.quantile``; None: one of these two does not start
    low_s: Optional[float]
    high_s: Optional[float]  #: seconds: the same for ``high``
    wait_s: Optional[float]  #: seconds from its submission to ``start_s``
    samples: int  #: number of samples in which it starts
    #: the decisive reason at the end of the run: ``capacity``, ``limit``, ``hold``...; "": it
    #: starts, or the reason is unknown
    wait: str


class _Job(NamedTuple):
    at: int
    name: str
    queue: str
    submit_ns: int
    run_ns: int


class _Expectations(Call):
    """Collects expectations (gang_expected_fn)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: List[Tuple[Any, ...]] = []

    def take(self, raw: Any) -> None:
        times = (raw.start_ns, raw.low_ns, raw.high_ns)
        self.found.append((int(raw.job), ExpectedKind.of(raw.what), *times, raw.samples, raw.wait))


class _Ahead(Call):
    """What a run of a forecast calls back: how long jobs run, and whether it goes on.

    Ctrl-C arrives in one of the two.
    """

    def __init__(self) -> None:
        super().__init__()
        self.run_time_of: Optional[Callable[[int, int, float], Optional[float]]] = None
        self.index: Callable[[int], int] = int
        self.placing: Optional[Placing] = None

    def of(self, job: int, sample: int, draw: int) -> int:
        if self.error is not None or self.run_time_of is None:
            return 0
        found = self.run_time_of(self.index(job), sample, draw / 2.0**64)
        return 0 if found is None else min(max(ns(min(found, 9e9), "run_time()"), 0), 2**62)


@callback(failed=1)
def gangsched_py_expected(expected: Any, user: Any) -> int:
    expectations: _Expectations = ffi.from_handle(user)
    expectations.take(expected)
    return 0


@callback(failed=0)
def gangsched_py_run_time(job: int, cookie: int, sample: int, draw: int, user: Any) -> int:
    ahead: _Ahead = ffi.from_handle(user)
    return ahead.of(job, sample, draw)


@callback(failed=lib.GANG_EBUSY)
def gangsched_py_forecast_goes_on(user: Any) -> int:
    ahead: _Ahead = ffi.from_handle(user)
    failed = ahead.error or (ahead.placing.error if ahead.placing is not None else None)
    return 0 if failed is None else int(lib.GANG_EBUSY)


def _jobs(sched: Any) -> Iterator[int]:
    """The ids of all jobs that have come and not ended."""
    number = lib.gang_job_next(sched, lib.GANG_ID_NONE)
    while number != lib.GANG_ID_NONE:
        yield int(number)
        number = lib.gang_job_next(sched, number)


def _job(simulation: "Simulation", number: int) -> _Job:
    index = simulation._job_index(number)
    assert index is not None  # all jobs of the scheduler belong to the simulation
    raw = simulation._job(simulation._open().pointer, index)
    return _Job(index, text(raw.name) or str(index), text(raw.queue), raw.submit_ns, raw.run_ns)


class Forecast(Reserving):
    """A private copy of a simulation's scheduler and cluster, to be changed and run ahead.

    ::

        with simulation.forecast() as ahead:
            before = ahead.run().table
            ahead.add_nodes([{"name": "new%d" % i, "gpus": 8, "cpus": 64} for i in range(4)])
            ahead.change_queue("research", limit={"gpu": 64})
            ahead.drain("n3")
            gang = ahead.submit(count=16, gpu=8, time_limit_s=3600, queue="research")
            print(ahead.run()[-1].start_s, ahead.start_of(gang))

    A job runs for its expected run time: ``run_time``, or what the scheduler knows (``runtime_estimates`` of the
    simulation), at most its time limit. A job without any of these never ends. All jobs succeed,
    nodes do not fail, and no jobs are submitted: jobs of the trace that have not come are not part
    of the forecast. The simulation may continue or end; neither sees the changes of the other. The
    same input gives the same output. Threads: any, one at a time.

    >>> import gangsched as gs
    >>> simulation = gs.Simulation(gs.Cluster.uniform(1))
    >>> for name in ("first", "second"):
    ...     _ = simulation.submit(name=name, gpu=8, run_s=60, time_limit_s=100)
    >>> _ = simulation.run(until_s=10)
    >>> with simulation.forecast() as ahead:
    ...     ahead.run()[0].start_s
    100.0

    Attributes
    ----------
    cluster
        The machines of the copy, which can be changed.
    tree
        The queues of the copy.
    """

    def __init__(
        self,
        simulation: "Simulation",
        *,
        horizon_s: float = 0,
        samples: int = 1,
        low: float = 0.1,
        high: float = 0.9,
        run_time: RunTime = None,
        seed: int = 0,
        max_events: int = 0,
    ) -> None:
        self._ahead = _Ahead()
        opts = self._opts(horizon_s, samples, low, high, seed, max_events)
        with simulation._changing() as sched, simulation.cluster._held():
            opts.now_ns = simulation._now_ns()
            self._at_ns = int(opts.now_ns)
            self._jobs: Dict[int, _Job] = {
                number: _job(simulation, number) for number in _jobs(sched)
            }
            #: index of the next job that is submitted to the forecast
            self._next = len(simulation)
            self._know(opts, run_time)
            out, error = ffi.new("gang_forecast **"), new_error()
            check(lib.gang_forecast_new(sched, opts, out, error), error)
            super().__init__(Box(out[0], lib.gang_forecast_free))
            self.cluster = simulation.cluster._inside(
                lib.gang_forecast_cluster(out[0]), self._open()
            )
            self.tree, self._default_queue = simulation.tree, simulation._default_queue
            self._given = dict(simulation._given)
            self._epoch = simulation.epoch
            # requests of the copy point to what the host keeps
            host = simulation._host
            self._ahead.placing, self._placed = host.placing, dict(host.placed)
        self._ran: Optional[Expectations[Expected]] = None

    def _opts(
        self, horizon_s: float, samples: int, low: float, high: float, seed: int, max_events: int
    ) -> Any:
        opts = new("gang_forecast_opts")
        opts.horizon_ns = ns(horizon_s, "horizon_s")
        for name, value, least, most in (
            ("samples", samples, 1, 10000),
            ("max_events", max_events, 0, 2**62),
        ):
            setattr(opts, name, whole(value, name, least, most))
        for name, part in (("low", low), ("high", high)):
            quantile = round(ns(part, name) / 1e9 * lib.GANG_WHOLE)
            if not 0 < quantile < lib.GANG_WHOLE:
                raise OutOfRange("%s: must be above 0 and below 1" % name, path=name)
            setattr(opts, name, quantile)
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise InvalidArgument("seed: expected a whole number, not %r" % (seed,), path="seed")
        opts.seed = int(seed) % 2**64
        return opts

    def _know(self, opts: Any, run_time: RunTime) -> None:
        """Choose the source of run times."""
        run_time_of: Optional[Callable[[int, int, float], Optional[float]]] = None
        if run_time == "actual":
            by_index = {job.at: job.run_ns for job in self._jobs.values()}

            def actual(index: int, sample: int, draw: float) -> Optional[float]:
                length = by_index.get(index)
                return None if length is None else length / 1e9

            run_time_of = actual
        elif callable(run_time):
            run_time_of = run_time
        elif run_time is not None:
            raise InvalidArgument(
                "run_time: expected a function, 'actual' or None, not %r" % (run_time,), path="run_time"
            )
        if run_time_of is not None:
            self._ahead.run_time_of = run_time_of
            self._ahead.index = lambda number: self._jobs[number].at
            opts.run_time = lib.gangsched_py_run_time
        opts.go_on, opts.user = lib.gangsched_py_forecast_goes_on, self._ahead.user

    def close(self) -> None:
        """End the forecast; a second call does nothing.

        Waits for a run in another thread.
        """
        with self._lock:
            cluster = getattr(self, "cluster", None)
            if cluster is not None:
                cluster.close()
            super().close()

    # ---- what if -------------------------------------------------------------------------

    def add_nodes(self, nodes: Any) -> None:
        """Add machines, all or none, as :meth:`Cluster.add_many` does."""
        with self._held():
            self.cluster.add_many(nodes)

    def drain(self, node: Node) -> None:
        """Start no new tasks on a machine; running tasks stay.

        For other states see ``cluster``.
        """
        with self._held():
            self.cluster.drain(node)

    def submit(self, job: Optional[Mapping[str, Any]] = None, **keywords: Any) -> int:
        """Submit a job to the copy, with all members of a job of the JSON format.

        ::

            ahead.submit(count=4, gpu=8, time_limit_s=600)

        The job runs for ``time_limit_s``, unless ``run_time`` gives its run time. The placement
        policy of the simulation (``place``) places it too, for which ``run_s`` of the job is
        then ``time_limit_s``.

        Returns
        -------
        int
            Its index, after the indexes of the simulation's jobs.

        Raises
        ------
        NeverFits
            The job would not fit even if all machines were up and empty.
        GangError
            As for :meth:`Simulation.submit`.
        """
        spec = times_in(job_dict(job, keywords), ("begin_s", "deadline_s"), self._epoch)
        spec = self._in_queue(spec)
        with self._changing() as sched:
            case, out, error = self._job_case(spec), ffi.new("gang_job_id *"), new_error()
            raw = ffi.new("struct gang_job_spec *", case.c.jobs[0])
            only, queue = None, text(raw.queue)
            if not queue and self.tree is None:
                only = ffi.new("char[]", b"default")
                raw.queue, queue = only, "default"
            index = self._next
            scorer = self._scorer(index, raw)
            with self._places():
                result = lib.gang_job_submit(sched, raw, out, error)
            if self._ahead.placing is not None:
                self._ahead.placing.settle()
            check(result, error)
            if scorer is not None:
                self._placed[index] = scorer
            self._next = index + 1
            name = str(index) if "name" not in {**(job or {}), **keywords} else str(spec["name"])
            default = self.tree.default_queue if self.tree is not None else None
            self._jobs[int(out[0])] = _Job(
                index, name, queue or default or "", self._at_ns, raw.time_limit_ns
            )
            return index

    def _scorer(self, index: int, raw: Any) -> Optional[JobScorer]:
        """Let the placement policy of the simulation place a submitted job; None: there is none."""
        if self._ahead.placing is None:
            return None
        scorer = job_scorer(self._ahead.placing, index, raw.time_limit_ns, raw)
        score_with(raw, scorer)
        return scorer

    def _command(self, name: str, job: JobRef, *values: int) -> None:
        with self._changing() as sched:
            check(
                getattr(lib, "gang_job_" + name)(sched, self._job_id(job), *values),
                what="job %r" % (job,),
            )

    # ---- running -------------------------------------------------------------------------

    def run(self) -> Expectations[Expected]:
        """Run ahead from the current state of the copy, once for each sample.

        The copy keeps its state: it can be changed and run again.

        Returns
        -------
        Expectations
            One row for each job that waited, in the order of submission; ``run().table`` is a
            DataFrame, and ``run().plot()`` draws the starts (:class:`gangsched.sim.outlook.Expectations`).

        Raises
        ------
        OutOfMemory
            No memory.
        Busy
            Called from ``run_time``. An exception of ``run_time`` passes through.
        KeyboardInterrupt
            Ctrl-C, at once. Its ``partial_result`` is None, as no sample is whole; the copy keeps
            its state and can run again.
        """
        expectations, error = _Expectations(), new_error()
        with self._held() as forecast, self.cluster._held():
            if self._inside:
                raise Busy("called from run_time()")
            self._inside = True
            try:
                with self._places():
                    result = lib.gang_forecast_run(forecast, error)
            finally:
                self._inside = False
            try:
                if self._ahead.placing is not None:
                    self._ahead.placing.settle()
                self._ahead.settle()
            except KeyboardInterrupt as stop:
                stop.partial_result = None  # type: ignore[attr-defined]
                raise
            check(result, error)
            result = lib.gang_forecast_each(forecast, lib.gangsched_py_expected, expectations.user)
            expectations.settle()
            check(result)
            rows = [self._told(*found) for found in expectations.found]
            self._ran = Expectations(Expected, rows, self._at_ns / 1e9)
            return self._ran

    @contextmanager
    def _places(self) -> Iterator[None]:
        """During a run, for the placement policy of the simulation."""
        if self._ahead.placing is None:
            yield
            return
        with self._held() as forecast:
            with self._ahead.placing.on(lib.gang_forecast_cluster(forecast)):
                yield

    def _told(
        self, number: int, what: str, start: int, low: int, high: int, samples: int, wait: int
    ) -> Expected:
        job = self._jobs.get(number, _Job(-1, "", "", self._at_ns, 0))
        begin = seconds(start)
        waits = None if begin is None else (start - job.submit_ns) / 1e9
        times = (begin, seconds(low), seconds(high), waits)
        return Expected(job.at, job.name, job.queue, what, *times, samples, WaitReason.of(wait))

    def start_of(self, job: JobRef) -> Optional[float]:
        """The expected start of a job in the last run (seconds); None: no start.

        Raises
        ------
        NotFound
            The job did not wait when the run began, or there was no run.
        """
        with self._held():
            for row in self._ran or ():
                if job in (row.job, row.name):
                    return row.start_s
        raise NotFound("job %r did not wait" % (job,))

    def __repr__(self) -> str:
        if self.closed:
            return "<Forecast, %s>" % self._gone
        ran = "not run yet" if self._ran is None else "%d jobs wait" % len(self._ran)
        return "<Forecast at %s: %s>" % (span(self._at_ns / 1e9), ran)

    # ---- inside --------------------------------------------------------------------------

    @contextmanager
    def _scheduler(self) -> Iterator[Any]:
        with self._held() as forecast:
            yield lib.gang_forecast_sched(forecast)

    def _now_ns(self) -> int:
        return self._at_ns

    def _job_case(self, spec: Mapping[str, Any]) -> Case:
        return Case({**self._frame(spec), "jobs": [spec]}, path_prefix="jobs[0]")

    def _job_id(self, job: JobRef) -> int:
        for number, known in self._jobs.items():
            if job == (known.name if isinstance(job, str) else known.at):
                return number
        raise NotFound("job %r is unknown: it has not come, or it has ended" % (job,))

    def _job_index(self, number: int) -> Optional[int]:
        known = self._jobs.get(number)
        return None if known is None else known.at


def what_if(
    simulation: "Simulation",
    cases: Mapping[str, Optional[Callable[[Forecast], Any]]],
    options: Mapping[str, Any],
    intervals: bool = False,
) -> "pandas.DataFrame":
    """See :meth:`Simulation.what_if`."""
    import pandas

    from .what_if import WhatIf

    shown = {"": "start_s"}
    if intervals:
        shown.update({" low": "low_s", " high": "high_s"})
    columns: Dict[str, Any] = {}
    names: Dict[int, str] = {}
    for label, change in cases.items():
        with Forecast(simulation, **options) as ahead:
            if change is not None:
                change(ahead)
            table = ahead.run()
        names.update({row.job: row.name for row in table})
        for suffix, member in shown.items():
            times = {row.job: getattr(row, member) for row in table}
            columns[label + suffix] = {
                job: float("nan") if time is None else time for job, time in times.items()
            }
    index = pandas.Index(sorted(names), name="job")
    made = {
        label: pandas.Series(column, index=index, dtype=float) for label, column in columns.items()
    }
    found = WhatIf(made, index=index)
    found.insert(0, "name", [names[job] for job in index])
    return found


__all__ = ["Expected", "Forecast", "RunTime", "what_if"]
