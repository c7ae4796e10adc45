# SPDX-License-Identifier: Apache-2.0
"""How a simulation is made, copied and ended: the scheduler itself on a virtual clock."""

import os
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .._native import ffi, lib
from ..case import Source
from ..cluster.cluster import Cluster
from ..dates import Time, as_epoch, times_in
from ..enums import ScoreMode
from ..errors import Closed, GangError, InvalidArgument, check, new_error
from ..handle import Box
from ..queues import Queues
from ..scoring import with_direction
from ..trace import Trace, as_trace
from . import options as _options
from .events import Event
from .host import Host
from .placing import Placing
from .recipe import Recipe
from .reservations import Reserving
from .running import RunningSimulation
from .stream import Stream

if TYPE_CHECKING:
    import pandas

    from .forecast import Forecast
    from .result import Result


class Simulation(RunningSimulation):
    """A simulation that can be stopped anywhere, read, changed, and continued.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 600, "gpu": 8} for _ in range(4)])
    >>> with gs.Simulation(gs.Cluster.uniform(2), jobs) as simulation:
    ...     at = simulation.run(until_s=300).now_s
    ...     other = simulation.fork()                  # what if
    ...     other.set_node("n1", "down")
    ...     at, simulation.run().now_s, other.run().now_s
    (300.0, 1200.0, 2100.0)

    It works on a copy of the cluster, so that simulations disturb neither each other nor
    allocations. The same input gives the same output.

    Parameters
    ----------
    cluster
        The machines, all free. Also a case (dict, path, JSON text).
    trace
        Jobs that come at their time; or the path of a trace.
    queues
        The tree, or the input of :class:`Queues`; None: one queue for all jobs, in the order of
        submission, in which a job that does not fit holds back none.
    policy
        ``fifo`` (in the order of submission; a job that does not fit holds back all later ones of
        its queue), ``first-fit`` (the same order, and none is held back), ``sjf`` (shortest job
        first), ``srtf`` (shortest remaining time first), ``las`` (least attained service with two
        queues, as in Tiresias), ``las-started`` (the same, running jobs before waiting ones),
        ``queues`` (the order of the queues); or a function that scores jobs, all at once
        (:class:`View`) or one by one (:class:`per_job`), in :func:`lowest_first` or
        :func:`highest_first`. Without these the lowest goes first, with a warning, as the highest
        will from the next version on.
    score_mode : {"order", "select"}
        Use of the scores: ``order`` ranks waiting jobs; ``select`` also decides which jobs run.
    seed : int
        Seed of all random draws.
    record
        ``allocations`` (which job held which node when), ``timeline`` (amounts in use), both, or
        ``()``.
    events : bool
        True: keep the events for :meth:`events`.
    on_event
        Function that is called with each :class:`Event`.
    speed
        ``speed(index, tasks, count)``: the fraction of its full speed that a job has with fewer
        tasks.
    restart
        ``restart(index, gpus)``: seconds added to the remaining run time of a job that was
        preempted.
    shift_s : float
        Seconds added to the times of the trace.
    default_queue
        Queue of jobs that name none, or name one that is not in the tree. None: an error,
        except for a tree of one queue, which takes all jobs.
    stream
        A directory. The simulation writes ended jobs to ``jobs.csv``, ``allocations.csv`` and
        ``timeline.csv`` there, which it replaces, and forgets them. Memory then grows by some 170
        bytes a job, which keep all statistics exact. A job that has ended can then not be read any
        more (:class:`StaleHandle`), but :meth:`explain` still says why a job was refused. :meth:`result`
        ends the files, and reads them when its tables are used. While the simulation is open the
        directory is its own (:class:`Busy`); after fork() it belongs to the parent.
    epoch
        The date of second 0, see :mod:`gangsched.dates`; None: that of the first trace that has
        one.
    mix
        Expected tasks, for clusters with the policy ``fgd`` or ``headroom``, see
        :meth:`Cluster.set_mix`; None: the mix of the cluster.
    options
        Names that end in ``_s`` are seconds; 0, False or none unless stated.

        ``runtime_estimates``
            What the scheduler knows of run times: ``"limit"`` (default: the time limits), ``"run"``
            (the truth), ``"predicted"``.
        ``place``
            ``"cluster"`` (default: its policy), ``"consolidated"``; or a function ``place(job,
            nodes)``, which scores nodes for a :class:`gangsched.sim.placing.PlacedJob`, one number
            for each of the :class:`Candidates`, as :class:`Request` ``(score=)`` does: the highest
            goes first (:func:`lowest_first`), minus infinity excludes a node.
        ``start_s``, ``tick_s``, ``pass_s``, ``same_instant``
            The begin; submissions and ends wait for a multiple; the scheduler runs at multiples
            only; jobs of one instant: ``"together"`` (default), ``"one-by-one"``.
        ``restart_s``, ``stop_s``, ``checkpoint_s``, ``teardown_s``
            Added to the rest of a preempted job; what a job needs to stop and save; how often work
            is saved (0: always, infinite: never); how long a job holds its allocation after its
            work.
        ``node_mtbf_s``, ``node_repair_s``, ``task_mtbf_s``, ``loss``, ``max_restarts``
            Mean times between failures (none), and to repair. What jobs of traces do that lose
            tasks: ``"restart"`` (default), ``"fail"``, ``"refill"``, ``"shrink"``, ``"count"``
            (they go on with the others, slower). Restarts of a job (no bound).
        ``elastic``, ``preemptible``, ``recorded_ends``, ``enforce_time_limits``
            Exponent of the speed with fewer tasks (1); overrides the trace; True: jobs that failed
            in the trace fail; False: limits stop no job (True).
        ``las_split_gpu_s``, ``sample_s``
            GPU seconds after which a job of ``las`` goes to the second queue; the shortest time
            between two rows of the timeline (each change).
        ``no_preemption``, ``observe_only``, ``scale_guarantees``
            True: no job preempts another; preemptions are planned, not done; guarantees above the
            capacity are scaled down.
        ``preempt_cooldown_s``, ``max_preempted_tasks``, ``max_moves``, ``refused_s``
            How long a preempted gang is spared by its queue (600); tasks preempted in one run (no
            bound); gangs moved for one gang (-1: none; 0: 16); wait after a refused start.
        ``saturation``, ``usage_weight``
            Factor of the preemptor's ratio when it reclaims (1); effect of past use on weights (1).

        With ``no_preemption`` no
        job preempts another by the rules of the queues, and nothing else changes: policies that
        stop jobs by their scores (``srtf``, ``las``, ``las-started``, ``score_mode="select"``)
        still do.

    Notes
    -----
    A function ``place`` is called for each task that could be placed, also for starts that are only
    planned, or come to nothing: it must depend on its arguments only. The scheduler then judges
    each waiting job on its own. A call takes 20 to 60 us with up to 1,000 nodes, so that a
    simulation takes three to ten times as long. Jobs that are submitted to a forecast are placed by
    the function, too.

    An exception in a function of yours leaves the call that called the function. The simulation is
    consistent then and can continue. Threads: any, one at a time.
    """

    def __init__(
        self,
        cluster: Union[Cluster, Source],
        trace: "Optional[Union[Trace, str, os.PathLike[str]]]" = None,
        queues: Any = None,
        *,
        policy: _options.Policy = None,
        score_mode: str = "order",
        seed: int = 0,
        record: Union[str, Sequence[str]] = ("allocations", "timeline"),
        events: bool = False,
        on_event: Optional[Callable[[Event], Any]] = None,
        speed: Optional[Callable[[int, int, int], float]] = None,
        restart: Optional[Callable[[int, float], float]] = None,
        shift_s: float = 0,
        default_queue: Optional[str] = None,
        stream: "Optional[Union[str, os.PathLike[str]]]" = None,
        mix: Optional[Sequence[Mapping[str, Any]]] = None,
        epoch: Any = None,
        **options: Any,
    ) -> None:
        refusals = bool(options.pop("_refusals", False)) or events or on_event is not None
        for name, function in (("on_event", on_event), ("speed", speed), ("restart", restart)):
            if function is not None and not callable(function):
                raise InvalidArgument("%s: expected a function, not %r" % (name, function), path=name)
        trace = None if trace is None else as_trace(trace)
        self._epoch = as_epoch(epoch) if trace is None or epoch is not None else trace.epoch
        options = times_in(options, ("start_s",), self._epoch)
        own = cluster.copy() if isinstance(cluster, Cluster) else Cluster.from_json(cluster)
        try:
            if mix is not None:
                own.set_mix(mix)
            tree = queues if queues is None or isinstance(queues, Queues) else Queues(queues)
            arguments: Dict[str, Any] = {
                "cluster": own.to_dict(),
                "queues": tree,
                "policy": with_direction(policy),
                "score_mode": score_mode,
                "seed": seed,
                "record": record,
                "events": events,
                "on_event": on_event,
                "speed": speed,
                "restart": restart,
                "default_queue": default_queue,
                **({} if own._mix is None else {"mix": own._mix}),
                **({} if self._epoch is None else {"epoch": self._epoch}),
                **options,
            }
            self._recipe = Recipe(Simulation, arguments)
            self._host = Host()
            policy = arguments["policy"]
            self._host.score = policy if callable(policy) else None
            self._host.on_event, self._host.speed, self._host.restart = on_event, speed, restart
            place = options.get("place")
            if callable(place):
                self._host.placing = Placing(place)
                options = {name: value for name, value in options.items() if name != "place"}
            self._host.kept = [] if events else None
            self._host.refused = {} if refusals else None
            self._keep: List[Any] = [self._host]
            self._given = {}
            with own._held() as pointer:
                self._host.cluster = pointer
                box = self._new(
                    own, pointer, tree, options, ScoreMode.number_of(score_mode, "score_mode")
                )
            super().__init__(box)
        except BaseException:
            own.close()
            raise
        #: the machines of the simulation. Direct changes are in a fork() without changes, but not
        #: where the simulation runs again: a fork() with changes, Result.explain()
        self.cluster = own
        self.tree = tree
        self._default_queue = default_queue
        self._traces: List[Trace] = []
        self._boxes = []
        self._stream = None
        self._refusals = None
        try:
            if stream is not None:
                self._begin_stream(stream)
            if trace is not None:
                self.add(trace, shift_s)
        except BaseException:
            self.close()
            raise

    def _begin_stream(self, directory: "Union[str, os.PathLike[str]]") -> None:
        self._stream = Stream(directory)
        # A simulation that is dropped without close() must still unlock the directory.
        weakref.finalize(self, self._stream.close).atexit = False
        self._keep.append(self._stream)
        with self._held() as sim:
            self._stream.begin(sim)

    def _new(
        self,
        cluster: Cluster,
        pointer: Any,
        tree: Optional[Queues],
        options: Mapping[str, Any],
        mode: int,
    ) -> Box:
        arguments, host = self._recipe.arguments, self._host
        case = tree.case(cluster._frame()) if tree is not None and len(tree) else None
        general = _options.General(
            default_queue=arguments["default_queue"],
            seed=arguments["seed"],
            policy=_options.policy_number(arguments["policy"]),
            record=arguments["record"],
        )
        opts = _options.fill(options, case, general, self._keep)
        out, error = ffi.new("gang_sim **"), new_error()
        result = lib.gang_sim_new(pointer, opts, host.ops(mode), host.user, out, error)
        try:
            check(result, error)
        except GangError as failure:
            failure = _options.in_seconds(failure, options)
            raise (tree.placed(failure) if tree is not None else failure) from None
        host.begin(out[0])
        return Box(out[0], lib.gang_sim_free, cluster._open())

    def close(self) -> None:
        """End the simulation; a second call does nothing.

        Waits for a run in another thread. In a function of yours that a run calls, it stops that
        run at the end of the instant, and the run raises :class:`Closed`.
        """
        with self._lock:
            if self._inside and not self.closed:
                self._host.failed(Closed("a function that the run called closed the simulation"))
            super().close()
            cluster = getattr(self, "cluster", None)
            if cluster is not None:
                cluster.close()
            stream = getattr(self, "_stream", None)
            if stream is not None:
                stream.close()

    def _lost_by_fork(self) -> str:
        return (
            ""
            if getattr(self, "_stream", None) is None
            else "it was writing to files of the parent"
        )

    def _in_child(self, why: str) -> None:
        super()._in_child(why)
        stream = getattr(self, "_stream", None)
        if stream is not None:
            stream.leave()

    # ---- what if -------------------------------------------------------------------------

    def fork(self, **changes: Any) -> "Simulation":
        """Another simulation in the same state, which continues on its own.

        It is a copy with the same past and the same future, including direct changes of
        :attr:`cluster`. Both call the same functions (``policy``, ``on_event``, ``speed``,
        ``restart``) from then on, and may end in either order. O(nodes + jobs + rows).

        Parameters
        ----------
        changes
            Arguments of the constructor that the fork is to have from the beginning:
            ``fork(policy="sjf")``. The fork then replays all calls that this simulation got, so
            that it takes as long as this one took; functions are called again, and direct changes
            of :attr:`cluster` are not in it. A simulation with ``stream`` always replays.

        Raises
        ------
        Busy
            Called from a callback; or another thread changes the cluster.
        """
        if changes or self._stream is not None:
            with self._lock:
                self._open()
                recipe = self._recipe.copy()
            return recipe.replay(changes)
        return self._forked()

    def _forked(self) -> "Simulation":
        other = Simulation.__new__(Simulation)
        out, cluster, error = ffi.new("gang_sim **"), ffi.new("gang_cluster **"), new_error()
        with self._held() as sim, self.cluster._lock:
            host = self._host.copy()
            ops = host.ops(ScoreMode.number_of(self._recipe.arguments["score_mode"], "score_mode"))
            check(lib.gang_sim_fork(sim, ops, host.user, cluster, out, error), error)
            own = self.cluster._like(Box(cluster[0], lib.gang_cluster_free))
            host.cluster = cluster[0]
            box = Box(out[0], lib.gang_sim_free, own._open())
            for trace in self._boxes:
                box.require(trace)
            other._recipe, other._host, other._keep = self._recipe.copy(), host, [host]
            host.begin(out[0])
            other._stream, other._given, other._default_queue = (
                None,
                dict(self._given),
                self._default_queue,
            )
            other._refusals, other._epoch = self._refusals, self._epoch
            other.cluster, other.tree, other._traces, other._boxes = (
                own,
                self.tree,
                list(self._traces),
                list(self._boxes),
            )
        Reserving.__init__(other, box)
        return other

    def forecast(self, **options: Any) -> "Forecast":
        """A copy of the scheduler, to be changed and run ahead: when waiting jobs start, and what
        if.

        O(nodes + jobs).

        >>> import gangsched as gs
        >>> with gs.Simulation(gs.Cluster.uniform(1)) as simulation:
        ...     one = simulation.submit(gpu=8, run_s=50, time_limit_s=60)
        ...     two = simulation.submit(gpu=8, run_s=50, time_limit_s=60)
        ...     at = simulation.run(until_s=10)
        ...     [(row.job, row.start_s) for row in simulation.forecast().run()]
        [(1, 60.0)]

        With random run times::

            with simulation.forecast(samples=100, run_time=lambda job, sample, draw: 600 * (1 + draw)) as ahead:
                ahead.add_nodes([{"name": "more", "gpus": 8}])
                print(ahead.run().table[["name", "low_s", "start_s", "high_s"]])

        Parameters
        ----------
        options
            ``horizon_s`` (seconds to look ahead; 0: no bound), ``samples`` (1 to 10,000), ``low``
            and ``high`` (quantiles of the samples, 0.1 and 0.9), ``run_time`` (a function
            ``run_time(index, sample, draw)`` that returns the seconds from a start to the end,
            where ``draw`` is uniform from 0 to 1, or None for unknown; or ``"actual"``: the run
            times of the simulation; default: the run times that the scheduler knows, at most the
            time limits), ``seed`` of the draws, ``max_events`` (cycles of one sample, at most; 0:
            1,000,000).

        Raises
        ------
        InvalidArgument, OutOfRange
            An option, with its name as path.
        Busy
            Called from a callback.
        """
        from .forecast import Forecast

        return Forecast(self, **options)

    def what_if(
        self,
        cases: "Mapping[str, Optional[Callable[[Forecast], Any]]]",
        *,
        intervals: bool = False,
        **options: Any,
    ) -> "pandas.DataFrame":
        """Expected starts (seconds) under several changes: a row a job, a column a case.

        Not a number: no start. With several ``samples`` it is the median. ``what_if(...).plot()``
        draws the cases beside each other; ``.plot.bar()`` and others are those of pandas.

        ::

            simulation.what_if({
                "as it is": None,
                "two nodes more": lambda ahead: ahead.add_nodes([{"name": "a", "gpus": 8}, {"name": "b", "gpus": 8}]),
                "n3 drained": lambda ahead: ahead.drain("n3"),
            })

        Parameters
        ----------
        cases : mapping
            By label a function that changes the :class:`Forecast`; None: no change.
        intervals : bool
            True: two more columns a case, ``LABEL low`` and ``LABEL high``: the quantiles
            ``low`` and ``high`` of the samples (not a number: a sample without a start).
        options
            As for :meth:`forecast`.
        """
        from .forecast import what_if

        return what_if(self, cases, options, intervals)

    def result(self) -> "Result":
        """The results until now, which do not change any more.

        With ``stream`` this ends the files, which works once.

        Raises
        ------
        InvalidArgument
            The files were ended before, and the simulation has continued since.
        """
        if self._stream is not None:
            from .streamed import StreamedResult

            return StreamedResult.of(self)
        from .result import Result

        return Result.of(self)

    # ---- inside --------------------------------------------------------------------------

    def _note(self, method: str, /, *arguments: Any, **keywords: Any) -> None:
        self._recipe.note(method, *arguments, **keywords)


def simulate(
    cluster: Union[Cluster, Source],
    trace: "Union[Trace, str, os.PathLike[str]]",
    queues: Any = None,
    policy: _options.Policy = None,
    *,
    until_s: Optional[Time] = None,
    progress: bool = False,
    **options: Any,
) -> "Result":
    """Play a trace on a cluster, and return the results.

    Two defaults flatter the results. Work is saved all the time, at no cost (``checkpoint_s=0``), so
    that preemptions and failures lose none. And without ``policy``, in the order of the queues, a
    job preempts jobs of a lower priority (the column ``priority`` of a trace) unless
    ``no_preemption`` is set.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 600, "count": 2, "gpu": 8},
    ...                  {"submit_s": 60, "run_s": 60, "count": 1, "gpu": 8}])
    >>> result = gs.simulate(gs.Cluster.uniform(2), jobs, policy="srtf")
    >>> result.summary()["jct_s"]["mean"]
    360

    Parameters
    ----------
    trace
        Also the path of a trace.
    until_s
        Stop at this time of the simulation, seconds or a date; None: when nothing more happens.
    progress : bool
        True: show a bar.
    options
        As for :class:`Simulation`.

    Returns
    -------
    Result

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C, within a second. Its ``partial_result`` is the result up to then
        (``result.interrupted``).
    GangError
        Wrong input, with its place. Also the exceptions of functions of yours.
    """
    trace = as_trace(trace)
    simulation = Simulation(cluster, trace, queues, policy=policy, **options)
    try:
        try:
            simulation.run(until_s, progress=progress)
        except KeyboardInterrupt as stop:
            partial = simulation.result()
            partial.interrupted = True
            stop.partial_result = partial  # type: ignore[attr-defined]
            raise
        return simulation.result()
    finally:
        simulation.close()
