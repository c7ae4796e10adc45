# SPDX-License-Identifier: Apache-2.0
"""Simulations: the scheduler itself on a virtual clock."""

import json
import os
import time
import weakref
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import options as _options
from ._native import WRITE, Call, Writer, callback, ffi, lib, new, text, texts, utf8
from .allocation import Explanation
from .case import Case, Source, job_dict
from .cluster import Cluster, Node
from .errors import GangError, InvalidArgument, NotFound, OutOfRange, Stale, check, new_error, placed
from .handle import Box
from .policy import MODES, Names, View, write_scores
from .queues import Queues
from .reservations import Reserving
from .scheduling import JobRef, NodeNames
from .trace import Trace, as_trace

if TYPE_CHECKING:
    import pandas

    from .forecast import Forecast
    from .result import Result
    from .streamed import Stream

#: Seconds that a job runs; or one a group, in their order or by name.
RunTime = Union[float, Sequence[float], Mapping[str, float]]

STATES = {0: "pending", 1: "running", 2: "stopping", 3: "suspended", 4: "ended"}
ENDS = {
    0: "",
    1: "success",
    2: "failed",
    3: "cancelled",
    4: "preempted",
    5: "timeout",
    6: "unstarted",
    7: "refused",
    8: "deadline",
}
EVENTS = {
    0: "submitted",
    1: "refused",
    2: "started",
    3: "grew",
    4: "shrank",
    5: "stopped",
    6: "suspended",
    7: "resumed",
    8: "ended",
    9: "node-down",
    10: "node-up",
    11: "part-ended",
    12: "reservation",
}
#: Of events of reservations, whose `what` begins with "reservation-".
RESERVATION_EVENTS = {
    1: "notice",
    2: "begin",
    3: "end",
    4: "lost",
    5: "purged",
    6: "skipped",
    7: "restored",
}
OUTCOMES = {0: "kept", 1: "later", 2: "reduced", 3: "dropped"}
WHY = {0: "done", 1: "until", 2: "events", 3: "interrupted"}

#: Events between two looks at the clock, the progress bar and Ctrl-C.
EVERY = 256


class ReservationEvent(NamedTuple):
    """What an event of a reservation is about. Plain data."""

    name: str
    id: int  #: as in :class:`Reservation`
    instance: int  #: which time of it, from 0
    start_s: float  #: from when to when, now
    end_s: float
    nodes: Tuple[str, ...]  #: names: where, now
    outcome: str  #: of ``lost``, ``restored``: ``kept`` (has other nodes), ``later``, ``reduced``, ``dropped``; else ""
    jobs: Tuple[int, ...]  #: of ``begin``: indexes of the jobs that still hold some of its nodes and are no members


class Event(NamedTuple):
    """Something that happened."""

    #: ``submitted``, ``refused``, ``started``, ``grew``, ``shrank``, ``stopped``, ``suspended``, ``resumed``, ``ended``,
    #: ``node-down``, ``node-up``, ``part-ended``; ``reservation-notice`` (it begins soon), ``reservation-begin``,
    #: ``reservation-end``, ``reservation-lost`` (nodes), ``reservation-restored`` (has others for them), ``reservation-purged`` (was not
    #: used), ``reservation-skipped`` (one more time could not be planned)
    what: str
    at_s: float
    job: int  #: index in the simulation; -1: none
    node: str  #: name; "": none
    tasks: int  #: that the job has now
    end: str  #: how it ended
    text: str  #: one English line
    part: int = 0  #: which gang of the job, where groups of it wait for each other
    reservation: Optional[ReservationEvent] = None  #: of those whose ``what`` begins with ``reservation-``


class Info(NamedTuple):
    """How things are."""

    why: str  #: why the last run returned: ``done``, ``until``, ``events``, ``seconds``, ``interrupted``
    now_s: float
    events: int  #: since the beginning
    runs: int  #: of the cycle, likewise
    jobs: int  #: known, also those to come
    to_come: int
    pending: int
    running: int
    suspended: int
    ended: int


#: How a simulation is run again to hear of refusals alone.
_LISTENING: Mapping[str, Any] = {"events": False, "on_event": None, "_refusals": True}


class _Host(Call):
    """The side of Python in callbacks. It outlives the simulation."""

    def __init__(self) -> None:
        super().__init__()
        self.score: Optional[Callable[[View], Any]] = None
        self.on_event: Optional[Callable[[Event], Any]] = None
        self.speed: Optional[Callable[[int, int, int], float]] = None
        self.restart: Optional[Callable[[int, float], float]] = None
        self.kept: Optional[List[Event]] = None
        #: by index why a job was refused; None: nobody listens, since an op for events costs 1 us a job or more
        self.refused: Optional[Dict[int, str]] = None
        self.cluster: Any = ffi.NULL
        self.sim: Any = None
        self.names = Names(None)
        self.deadline: Optional[float] = None
        self.late = False
        self.tick: Optional[Callable[[], None]] = None

    def ops(self, mode: int) -> Any:
        """The functions that the library is to call: those of these that there are."""
        ops = new("gang_sim_ops")
        ops.go_on = lib.gangsched_py_go_on
        if self.score is not None:
            ops.score, ops.score_mode = lib.gangsched_py_score, mode
        if self.on_event is not None or self.kept is not None:
            ops.event = lib.gangsched_py_event
        elif self.refused is not None:
            ops.event = ffi.addressof(lib, "gangsched_py_refusal")
        if self.speed is not None:
            ops.speed_milli = lib.gangsched_py_speed
        if self.restart is not None:
            ops.restart_ns = lib.gangsched_py_restart
        return ops

    def begin(self, sim: Any) -> None:
        """This is the simulation that calls."""
        self.sim, self.names = sim, Names(sim)

    def twin(self) -> "_Host":
        """With the same functions, for a fork."""
        made = _Host()
        made.score, made.on_event, made.speed, made.restart = self.score, self.on_event, self.speed, self.restart
        made.kept = None if self.kept is None else list(self.kept)
        made.refused = None if self.refused is None else dict(self.refused)
        return made

    def event(self, raw: Any) -> None:
        if raw.what == lib.GANG_SIM_REFUSED and self.refused is not None:
            self.refused[int(raw.index)] = text(raw.text)
        if self.kept is None and self.on_event is None:
            return
        node = ""
        if raw.node != lib.GANG_ID_NONE:
            info = new("gang_node_info")
            if lib.gang_node_get(self.cluster, raw.node, info) == 0:
                node = text(info.name)
        index = -1 if raw.index == 2**64 - 1 else int(raw.index)
        what, end = EVENTS.get(raw.what, str(raw.what)), ENDS.get(raw.end, str(raw.end))
        about = None
        if raw.reservation != ffi.NULL:
            about = self._reservation(raw.reservation)
            what = "reservation-%s" % RESERVATION_EVENTS.get(raw.reservation.what, raw.reservation.what)
        made = Event(what, raw.now_ns / 1e9, index, node, int(raw.tasks), end, text(raw.text), int(raw.part), about)
        if self.kept is not None:
            self.kept.append(made)
        if self.on_event is not None:
            self.on_event(made)

    def _reservation(self, raw: Any) -> ReservationEvent:
        index, jobs = ffi.new("size_t *"), []
        for number in ffi.unpack(raw.jobs, raw.job_count) if raw.job_count else ():
            if lib.gang_sim_find_job(self.sim, number, index) == 0:
                jobs.append(int(index[0]))
        where = NodeNames(self.cluster).of(raw.nodes, raw.node_count)
        lost = raw.what in (lib.GANG_RESERVATION_LOST, lib.GANG_RESERVATION_RESTORED)
        outcome = OUTCOMES.get(raw.outcome, str(raw.outcome)) if lost else ""
        times = (int(raw.instance), raw.start_ns / 1e9, raw.end_ns / 1e9)
        return ReservationEvent(text(raw.name), int(raw.id), *times, where, outcome, tuple(jobs))


class Session(Reserving):
    """A simulation that can be stopped anywhere, looked at, changed, and gone on with.

    ::

        with gs.Session(cluster, trace, queues) as session:
            session.run(until_s=3600)
            other = session.fork()                  # what if
            other.set_node("n7", "down")
            print(session.run().now_s, other.run().now_s)
            session.result().plot()

    It works on a copy of the cluster: simulations do not disturb each other, nor what is allocated.
    Same input, same output.

    Args:
        cluster: the machines; what is taken of them does not count. Also a case (dict, path, JSON text).
        trace: jobs that come at their time; or the path of one.
        queues: the tree, or what makes one; None: one queue that takes all, in the order of submission.
        policy: ``fifo``, ``sjf`` (shortest first), ``srtf`` (shortest remaining time first), ``las`` (least
            attained service, two queues: Tiresias), ``las-started`` (the same, who runs before who waits),
            ``queues`` (what they say); or a function that scores jobs, lowest first: of all at once
            (:class:`View`), or of one (:class:`per_job`).
        score_mode: how scores are used: ``order`` (of those that wait), ``select`` (they also say who runs).
        seed: of all draws.
        record: ``allocations`` (who was where), ``timeline`` (what was used), both, or ``()``.
        events: True: keep what happens, for :meth:`events`.
        on_event: called with each :class:`Event`.
        speed: ``speed(index, tasks, count)``, the part of its full speed that a job has with fewer tasks.
        restart: ``restart(index, gpus)``, seconds added to what is left of a job that was displaced.
        shift_s: added to the times of the trace.
        default_queue: of jobs that name no queue, or of a trace whose queue is none of the tree; None: an error, but for a tree
            of one queue, which takes all.
        stream: a directory: what has ended is written to ``jobs.csv``, ``allocations.csv`` and ``timeline.csv`` there (which are
            made anew) and forgotten, so that memory does not grow with it but for some 170 bytes a job, from which all
            statistics are the same. Jobs that have ended can then not be asked for any more (:class:`Stale`), but
            :meth:`explain` tells why one was refused;
            :meth:`result` ends the files, and reads them when its tables are asked for. As long as the session is open the
            directory is its own (:class:`Busy`); after fork() the parent's.
        mix: of tasks that are expected, for clusters whose policy is ``fgd`` or ``headroom``, see :meth:`Cluster.set_mix`;
            None: that of the cluster.
        options: ``know`` what of run times: ``limit``, ``run``, ``predicted``; ``same_instant``: ``together``,
            ``one-by-one``; ``place``: ``cluster`` (its policy), ``consolidated``;
            ``start_s``, ``tick_s``, ``pass_s``, ``las_split_gpu_s``, ``restart_s``, ``stop_s``,
            ``checkpoint_s`` (0: all the time; infinite: never), ``elastic`` (exponent, 1), ``node_mtbf_s``,
            ``node_repair_s``, ``task_mtbf_s``, ``loss`` (``count``, ``fail``, ``restart``, ``refill``,
            ``shrink``), ``recorded_ends``, ``max_restarts``, ``sample_s``, ``preemptible``, ``no_limits``,
            ``linger_s``; of the scheduler ``no_preemption``, ``observe_only``, ``scale_guarantees``,
            ``refused_s``, ``max_preempted_tasks``, ``max_moves``, ``saturation_milli``, ``usage_weight_milli``. As
            the structs gang_sim_opts and gang_sched_opts say.

    Exceptions of functions come out of the call in which they were called; everything is consistent then, and
    it can be gone on with. Threads: any, one at a time.
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
        **options: Any,
    ) -> None:
        refusals = bool(options.pop("_refusals", False)) or events or on_event is not None
        for name, function in (("on_event", on_event), ("speed", speed), ("restart", restart)):
            if function is not None and not callable(function):
                raise InvalidArgument("%s: %r is no function" % (name, function), path=name)
        own = cluster.copy() if isinstance(cluster, Cluster) else Cluster.from_json(cluster)
        try:
            if mix is not None:
                own.set_mix(mix)
            tree = queues if queues is None or isinstance(queues, Queues) else Queues(queues)
            #: how it was made, to make it again
            self._made: Dict[str, Any] = {
                "cluster": own.to_dict(),
                "queues": tree,
                "policy": policy,
                "score_mode": score_mode,
                "seed": seed,
                "record": record,
                "events": events,
                "on_event": on_event,
                "speed": speed,
                "restart": restart,
                "default_queue": default_queue,
                **({} if own._mix is None else {"mix": own._mix}),
                **options,
            }
            #: what was done to it since
            self._log: List[Tuple[str, Any]] = []
            self._host = _Host()
            self._host.score = policy if callable(policy) else None
            self._host.on_event, self._host.speed, self._host.restart = on_event, speed, restart
            self._host.kept = [] if events else None
            self._host.refused = {} if refusals else None
            self._keep: List[Any] = [self._host]
            self._said = {}
            with own._held() as pointer:
                self._host.cluster = pointer
                pointer = self._new(own, pointer, tree, options, _options.word(MODES, score_mode, "score_mode"))
            super().__init__(pointer)
        except BaseException:
            own.close()
            raise
        #: the machines of the simulation. What is done to it directly is in a fork() without changes, and not where the
        #: simulation is run again: a fork() with changes, Result.explain()
        self.cluster = own
        self.tree = tree
        self._default_queue = default_queue
        self._traces: List[Trace] = []
        #: of them: they last, even if somebody closes a trace
        self._boxes: List[Box] = []
        self._stream: "Optional[Stream]" = None
        #: why jobs were refused, and the length of the log then
        self._heard: Optional[Tuple[int, Dict[int, str]]] = None
        try:
            if stream is not None:
                self._begin_stream(stream)
            if trace is not None:
                self.add(trace, shift_s)
        except BaseException:
            self.close()
            raise

    def _begin_stream(self, directory: "Union[str, os.PathLike[str]]") -> None:
        from .streamed import Stream

        self._stream = Stream(directory)
        # Who forgets the session without closing it leaves the directory to others.
        weakref.finalize(self, self._stream.close).atexit = False
        self._keep.append(self._stream)
        with self._held() as sim:
            self._stream.begin(sim)

    def _new(self, cluster: Cluster, pointer: Any, tree: Optional[Queues], options: Mapping[str, Any], mode: int) -> Box:
        made, host = self._made, self._host
        case = tree.case(cluster._frame()) if tree is not None and len(tree) else None
        number = _options.policy_number(made["policy"])
        opts = _options.fill(options, case, made["default_queue"], made["seed"], number, made["record"], self._keep)
        out, error = ffi.new("gang_sim **"), new_error()
        result = lib.gang_sim_new(pointer, opts, host.ops(mode), host.user, out, error)
        try:
            check(result, error)
        except GangError as failure:
            failure = _options.said(failure, options)
            raise (tree.placed(failure) if tree is not None else failure) from None
        host.begin(out[0])
        return Box(out[0], lib.gang_sim_free, cluster._open())

    def close(self) -> None:
        """End it; a second time does nothing. Waits for a run that is under way in another thread."""
        with self._lock:
            super().close()
            cluster = getattr(self, "cluster", None)
            if cluster is not None:
                cluster.close()
            stream = getattr(self, "_stream", None)
            if stream is not None:
                stream.close()

    def _stays(self) -> str:
        return "" if getattr(self, "_stream", None) is None else "it was writing to files of the parent"

    def _in_child(self, why: str) -> None:
        super()._in_child(why)
        stream = getattr(self, "_stream", None)
        if stream is not None:
            stream.leave()

    # ---- what comes ----------------------------------------------------------------------

    def add(self, trace: "Union[Trace, str, os.PathLike[str]]", shift_s: float = 0) -> None:
        """Let the jobs of a trace, or of the file of one, come, so much later than it says; those whose time has passed come now.

        Raises:
            NotFound: a queue, with its place. Busy: called from a callback. What :meth:`Trace.read` raises.
        """
        error, shift = new_error(), _options.ns(shift_s, "shift_s")
        trace = as_trace(trace)
        with self._held() as sim, trace._held() as pointer:
            check(lib.gang_sim_add_trace(sim, pointer, shift, error), error)
            self._open().require(trace._open())
            self._boxes.append(trace._open())
            self._traces.append(trace)
            self._log.append(("add", (trace, shift_s)))

    def submit(self, job: Optional[Mapping[str, Any]] = None, *, run_s: RunTime, **keywords: Any) -> int:
        """Submit one job now, with all that a job of the JSON format can say: ``submit(count=4, gpu=1,
        run_s=60, queue="a")``. Groups may start after one another::

            session.submit(
                tasks=[
                    {"name": "data", "count": 2, "cpu": 4},
                    {"name": "train", "count": 8, "gpu": 1, "after": [{"group": "data", "when": "success"}]},
                ],
                run_s={"data": 600, "train": 36000},
            )

        Args:
            run_s: how long it runs with all its tasks; of groups that wait for each other: each gang of them. Or
                a run time for each group: a sequence, or a dict by the names of the groups. Groups that start together are one
                gang, which runs as long as the longest of them.

        Returns:
            Its index.

        Raises:
            GangError: as for a request; NeverFits; NotAllowed, QueueClosed, LimitReached. NotFound: a queue, or the
                ``reservation`` that it names. Busy: called from a callback. What ``on_event`` raises: it is submitted then.
        """
        spec = job_dict(job, keywords)
        out, error = ffi.new("size_t *"), new_error()
        # What is done again finds its queue again: the tree may be another one then.
        asked = self._in_queue(spec)
        given: Any = run_s
        several = not isinstance(given, (int, float, str)) and hasattr(given, "__len__")
        runs = _options.runs(given, spec["tasks"]) if several else [_options.ns(given, "run_s")]
        with self._held() as sim:
            case = Case({**self._frame(asked), "jobs": [asked]}, path_prefix="jobs[0]")
            try:
                if several:
                    check(lib.gang_sim_submit_groups(sim, case.c.jobs, runs, len(runs), out, error), error)
                else:
                    check(lib.gang_sim_submit(sim, case.c.jobs, runs[0], out, error), error)
            except GangError as refusal:
                raise placed(refusal, refusal.path.replace("run_ns", "run_s")) from None
            self._log.append(("submit", (spec, run_s)))
            self._host.settle()  # what on_event raised: it is submitted all the same
        return int(out[0])

    def set_node(self, node: Node, state: str, at_s: Optional[float] = None) -> None:
        """At a time (None: now) a node becomes ``up``, ``draining`` or ``down``. What runs on one that goes down is lost."""
        states = {"up": lib.GANG_NODE_UP, "draining": lib.GANG_NODE_DRAINING, "down": lib.GANG_NODE_DOWN}
        number = self.cluster.node_id(node)
        value = _options.word(states, state, "state")
        with self._held() as sim:
            at = self._info(sim).now_ns if at_s is None else _options.ns(at_s, "at_s")
            check(lib.gang_sim_set_node_state(sim, at, number, value), what="node %r" % (node,))
            self._log.append(("set_node", (node, state, at_s)))

    def requeue(self, job: JobRef) -> None:
        """One that runs stops and waits again, at its old age."""
        self._command("requeue", job)

    def set_target(self, job: JobRef, tasks: int) -> None:
        """So many tasks it is to have at most; -1: as many as it asked for."""
        self._command("set_target", job, _options.whole(tasks, "tasks"))

    def _command(self, name: str, job: JobRef, *values: int) -> None:
        """Commands take effect when the simulation goes on; about a job that has ended they do nothing."""
        with self._held() as sim:
            index, number = self.find(job), self._job_id(job)
            check(getattr(lib, "gang_job_" + name)(lib.gang_sim_sched(sim), number, *values), what="job %r" % (job,))
            self._log.append(("_command", (name, index, *values)))

    # ---- running -------------------------------------------------------------------------

    def run(
        self,
        until_s: Optional[float] = None,
        *,
        events: Optional[int] = None,
        seconds: Optional[float] = None,
        progress: bool = False,
    ) -> Info:
        """Run until a bound is reached, or nothing more happens.

        Args:
            until_s: up to and with this time of the simulation; the clock is then there. Also when all jobs are over: nodes
                fail and are repaired until then, reservations begin and end.
            events: up to the end of the instant in which so many have happened: arrivals, ends, failures, repairs.
            seconds: of real time, about; 0 or more.
            progress: True: show a bar (tqdm).

        Raises:
            KeyboardInterrupt: Ctrl-C; what has happened stays, and it can be gone on with. So it is with what a
                function of yours raises.
        """
        if events is not None and _options.whole(events, "events") < 1:
            raise InvalidArgument("events must be 1 or more", path="events")
        if seconds is not None and _options.ns(seconds, "seconds") < 0:
            raise OutOfRange("seconds: must be 0 or more", path="seconds")
        until_ns = None if until_s is None else _options.ns(until_s, "until_s")
        return self._go(until_ns, events or 0, seconds, progress)

    def _go(self, until_ns: Optional[int], events: int, seconds: Optional[float] = None, progress: bool = False) -> Info:
        bounds, error, host = new("gang_sim_bounds"), new_error(), self._host
        bounds.every, bounds.max_events = EVERY, events
        if until_ns is not None:
            bounds.has_until, bounds.until_ns = 1, until_ns
        with self._held() as sim, self._traces_held(), self._bar(sim, progress):
            host.deadline = None if seconds is None else time.monotonic() + seconds
            host.late = False
            before = self._info(sim).events
            inside, self._inside = self._inside, True
            try:
                result = lib.gang_sim_run(sim, bounds, ffi.NULL, error)
            finally:
                self._inside = inside
            now = self._info(sim)
            why = WHY.get(now.why, str(now.why))
            if result != lib.GANG_EBUSY:
                # Runs end at the end of an instant. Again it is to stop where it did, whatever it was that stopped it.
                stopped = why not in ("done", "until")
                made = (int(now.now_ns), int(now.events - before)) if stopped else (until_ns, 0)
                self._log.append(("_go", made))
            host.settle()
            if self._stream is not None:
                self._stream.settle()
            if not host.late:
                check(result, error)
            return self._told(now, "seconds" if host.late else why)

    @contextmanager
    def _traces_held(self) -> Iterator[None]:
        """Traces are read while they are played: nobody else may read them meanwhile."""
        with ExitStack() as stack:
            for trace in sorted(self._traces, key=id):
                stack.enter_context(trace._lock)
            yield

    @contextmanager
    def _bar(self, sim: Any, wanted: bool) -> Iterator[None]:
        if not wanted:
            yield
            return
        from tqdm.auto import tqdm

        info = self._info(sim)
        with tqdm(total=info.jobs, initial=info.ended, unit=" jobs", mininterval=0.2) as bar:

            def tick() -> None:
                now = self._info(sim)
                bar.total = now.jobs
                bar.update(now.ended - bar.n)

            self._host.tick = tick
            try:
                yield
                tick()
            finally:
                self._host.tick = None

    @property
    def info(self) -> Info:
        """How things are. O(1)."""
        with self._held() as sim:
            raw = self._info(sim)
        return self._told(raw, WHY.get(raw.why, str(raw.why)))

    @property
    def now_s(self) -> float:
        """The clock."""
        return self.info.now_s

    def events(self) -> List[Event]:
        """What happened since this was last asked; needs ``events=True``."""
        with self._held():
            if self._host.kept is None:
                raise InvalidArgument("make the session with events=True")
            found, self._host.kept = self._host.kept, []
        return found

    # ---- what if -------------------------------------------------------------------------

    def fork(self, **changes: Any) -> "Session":
        """Another one in the same state, which goes its own way.

        It is a copy: with the same past and the same future, also of what was done to :attr:`cluster` directly. Both
        call the same functions (``policy``, ``on_event``, ``speed``, ``restart``) from then on, and may end in
        either order. O(nodes + jobs + rows).

        Args:
            changes: arguments of the session that are to be others from the beginning: ``fork(policy="sjf")``. It is
                then, and of a session with ``stream``, made by doing again what was done to this one, so that it costs as much time as this one
                took; functions are called again, and what was changed in :attr:`cluster` directly is not in it.

        Raises:
            Busy: called from a callback; or another thread is changing the cluster.
        """
        return self._again(changes) if changes or self._stream is not None else self._forked()

    def _forked(self) -> "Session":
        other = Session.__new__(Session)
        out, cluster, error = ffi.new("gang_sim **"), ffi.new("gang_cluster **"), new_error()
        with self._held() as sim, self.cluster._lock:
            host = self._host.twin()
            ops = host.ops(_options.word(MODES, self._made["score_mode"], "score_mode"))
            check(lib.gang_sim_fork(sim, ops, host.user, cluster, out, error), error)
            own = self.cluster._like(Box(cluster[0], lib.gang_cluster_free))
            host.cluster = cluster[0]
            box = Box(out[0], lib.gang_sim_free, own._open())
            for trace in self._boxes:
                box.require(trace)
            other._made, other._log, other._host, other._keep = dict(self._made), list(self._log), host, [host]
            host.begin(out[0])
            other._stream, other._said, other._default_queue = None, dict(self._said), self._default_queue
            other._heard = self._heard
            other.cluster, other.tree, other._traces, other._boxes = own, self.tree, list(self._traces), list(self._boxes)
        Reserving.__init__(other, box)
        return other

    def _again(self, changes: Mapping[str, Any]) -> "Session":
        with self._lock:
            self._open()
            made, log = dict(self._made), list(self._log)
        other = Session(**{**made, **changes})
        try:
            for name, arguments in log:
                getattr(other, name)(*arguments) if name != "submit" else other.submit(arguments[0], run_s=arguments[1])
        except BaseException:
            other.close()
            raise
        return other

    def forecast(self, **options: Any) -> "Forecast":
        """When those who wait will start, and what if: the scheduler copied, to be changed and run ahead. O(nodes + jobs).

        ::

            session.forecast().run().table                      # expected starts
            with session.forecast(samples=100, run_time=lambda job, sample, draw: 600 * (1 + draw)) as ahead:
                ahead.add_nodes([{"name": "more", "gpus": 8}])
                print(ahead.run().table[["name", "low_s", "start_s", "high_s"]])

        Args:
            options: ``horizon_s`` (seconds, looks so far ahead; 0: no bound), ``samples`` (1 to 10,000), ``low`` and ``high``
                (parts of the samples, 0.1 and 0.9), ``run_time`` (seconds that a job runs from its start:
                ``run_time(index, sample, draw)``, where ``draw`` is from 0 to 1, each as likely; None: not known; ``"actual"``: what the
                simulation knows; if it is not given: what the scheduler was told, time limits at most), ``seed`` of the draws,
                ``max_events`` (cycles of one sample, at most; 0: 1,000,000).

        Raises:
            InvalidArgument, OutOfRange: an option, by its name. Busy: called from a callback.
        """
        from .forecast import Forecast

        return Forecast(self, **options)

    def what_if(
        self, cases: "Mapping[str, Optional[Callable[[Forecast], Any]]]", **options: Any
    ) -> "pandas.DataFrame":
        """Expected starts (seconds) under several changes: a row a job, a column a case; not a number: it does not start.

        ::

            session.what_if({
                "as it is": None,
                "two nodes more": lambda ahead: ahead.add_nodes([{"name": "a", "gpus": 8}, {"name": "b", "gpus": 8}]),
                "n3 drained": lambda ahead: ahead.drain("n3"),
            })

        Args:
            cases: by label what is done to the :class:`Forecast`; None: nothing.
            options: as of :meth:`forecast`.
        """
        from .forecast import what_if

        return what_if(self, cases, options)

    # ---- looking -------------------------------------------------------------------------

    def __len__(self) -> int:
        """Jobs that are known."""
        return self.info.jobs

    def names(self) -> List[str]:
        """Of all jobs, by index; one without a name has its index, one that was written away (``stream``) none: "". O(jobs)."""
        with self._held() as sim, self._traces_held():
            count = self._info(sim).jobs

            def fill(room: Any, size: int, ends: Any) -> int:
                return int(lib.gangsched_py_sim_names(sim, count, room, size, ends))

            return texts(count, fill)

    def find(self, job: JobRef) -> int:
        """The index of a job by its name, the first one; an index is given back. With ``stream`` those that have ended have
        no name any more.

        Raises:
            NotFound: there is none. InvalidArgument: neither a name nor a number.
        """
        if isinstance(job, str):
            names = self.names()
            if not job or job not in names:
                raise NotFound("no job '%s'" % job)
            return names.index(job)
        if isinstance(job, bool) or not hasattr(job, "__index__"):
            raise InvalidArgument("a job is told by its name or its index, not by %r" % (job,))
        count = len(self)
        if not 0 <= job < count:
            raise NotFound("job %d of %d" % (job, count))
        return int(job)

    def job(self, job: JobRef) -> Dict[str, Any]:
        """One job: ``index``, ``name``, ``user``, ``queue``, ``state``, ``end``, and times in seconds, called as the columns
        of :attr:`Result.jobs`; None: that time has not come."""
        with self._held() as sim, self._traces_held():
            raw = self._job(sim, self.find(job))
            found: Dict[str, Any] = {"index": int(raw.index), "name": text(raw.name) or str(raw.index)}
            found.update(user=text(raw.user), queue=text(raw.queue))
            found.update(state=STATES.get(raw.state, "?"), end=ENDS.get(raw.end, "?"))
            for name in ("submit", "start", "end", "run", "limit", "ran", "suspended", "lost"):
                value = getattr(raw, name + "_ns")
                found[name + "_s"] = None if value == lib.GANG_TRACE_UNKNOWN else value / 1e9
            started = raw.start_ns != lib.GANG_TRACE_UNKNOWN
            found["wait_s"] = (raw.start_ns - raw.submit_ns) / 1e9 if started else None
            found["queue_s"] = raw.wait_ns / 1e9
            found.update(tasks=raw.tasks, cpus=raw.cpu_milli / 1e3, gpus=raw.gpu_milli / 1e3)
            found.update(starts=raw.starts, preemptions=raw.preemptions, failures=raw.failures)
            return found

    def explain(self, job: JobRef) -> Explanation:
        """Why a job waits: all reasons, with numbers, as of the last cycle; of another its state. Of one that was refused why, also
        with ``stream``: for that it is run again, unless it tells events.

        Raises:
            NotFound: no such job. Stale: it ended otherwise, and was written away (``stream``).
        """
        writer = Writer()
        with self._held() as sim, self._traces_held():
            index = self.find(job)
            known = self._host.refused
            if known is None and self._may_be_refused(sim, index):
                known = self._heard_again()
            if known is not None and index in known:
                return Explanation({"state": "ended", "text": "it was refused: %s" % known[index], "reasons": []})
            raw = self._job(sim, index)
            state = STATES.get(raw.state, "?")
            if raw.id == lib.GANG_ID_NONE or raw.state == lib.GANG_JOB_ENDED:
                said = "it has not come" if raw.state != lib.GANG_JOB_ENDED else "it has ended: %s" % ENDS.get(raw.end)
                return Explanation({"state": state, "text": said, "reasons": []})
            result = lib.gang_job_write_explanation(lib.gang_sim_sched(sim), raw.id, WRITE, writer.user)
        writer.settle()
        check(result, what="job %r" % (job,))
        found = json.loads(writer.value())
        if not found.get("text"):
            found["text"] = "it is %s" % state
        return Explanation(found)

    def _may_be_refused(self, sim: Any, index: int) -> bool:
        """Of one that was written away nobody knows; but perhaps none was."""
        try:
            raw = self._job(sim, index)
        except Stale:
            return bool(self.summary()["refused"])
        return bool(raw.end == lib.GANG_END_REFUSED and raw.state == lib.GANG_JOB_ENDED)

    def _heard_again(self) -> Dict[int, str]:
        """By index why jobs were refused until now: it is run again for that, once for all that ask before it goes on."""
        if self._heard is None or self._heard[0] != len(self._log):
            with self._again(_LISTENING) as other:
                self._heard = len(self._log), dict(other._host.refused or {})
        return self._heard[1]

    def summary(
        self,
        warm_up_s: float = 0,
        cool_down_s: float = 0,
        tau_s: float = 10,
        queue: Optional[str] = None,
        user: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Statistics, with the definitions of the field (sim.h, "statistics"); times in seconds.

        Args:
            warm_up_s: jobs submitted in the first so many seconds do not count; ``cool_down_s``: nor those in
                the last.
            tau_s: of the bounded slowdown.
            queue, user: only jobs of these.
        """
        opts, writer, keep = new("gang_sim_stats_opts"), Writer(), []
        opts.warm_up_ns = _options.ns(warm_up_s, "warm_up_s")
        opts.cool_down_ns = _options.ns(cool_down_s, "cool_down_s")
        opts.tau_ns = _options.ns(tau_s, "tau_s")
        for name, span in (("warm_up_s", warm_up_s), ("cool_down_s", cool_down_s), ("tau_s", tau_s)):
            if span < 0:
                raise OutOfRange("%s: must be 0 or more" % name, path=name)
        for name, value in (("queue", queue), ("user", user)):
            if value is not None:
                keep.append(ffi.new("char[]", utf8(value, name)))
                setattr(opts, name, keep[-1])
        with self._held() as sim, self._traces_held():
            result = lib.gang_sim_write_summary(sim, opts, 0, WRITE, writer.user)
        writer.settle()
        asked = ["%s %r" % (name, value) for name, value in (("queue", queue), ("user", user)) if value is not None]
        check(result, what=" of ".join(asked) or "statistics")
        found: Dict[str, Any] = json.loads(writer.value())
        return found

    def result(self) -> "Result":
        """What has come of it so far, which stays as it is. With ``stream`` the files are ended: once, when it is over.

        Raises:
            InvalidArgument: the files were ended, and it has gone on since: what came then is in none of them.
        """
        from .result import Result

        if self._stream is not None:
            from .streamed import StreamedResult

            return StreamedResult.of(self)
        return Result.of(self)

    def __repr__(self) -> str:
        if self.closed:
            return "<Session, %s>" % self._gone
        info = self.info
        counts = ["%d %s" % (getattr(info, name), name.replace("_", " ")) for name in Info._fields[5:]]
        return "<Session at %g s: %s>" % (info.now_s, ", ".join(counts))

    def _repr_html_(self) -> str:
        from html import escape

        if self.closed:
            return "<p>%s</p>" % escape(repr(self))
        return "<p>%s</p>%s%s" % (escape(repr(self)), self.queues._repr_html_(), self.cluster._repr_html_())

    # ---- inside --------------------------------------------------------------------------

    @contextmanager
    def _scheduler(self) -> Iterator[Any]:
        with self._held() as sim, self._traces_held():
            yield lib.gang_sim_sched(sim)

    def _note(self, name: str, *arguments: Any) -> None:
        self._log.append((name, arguments))

    def _now_ns(self) -> int:
        return int(self._info(self._open().pointer).now_ns)

    def _job_id(self, job: JobRef) -> int:
        number = int(self._job(self._open().pointer, self.find(job)).id)
        if number == lib.GANG_ID_NONE:
            raise NotFound("job %r has not come" % (job,))
        return number

    def _job_index(self, number: int) -> Optional[int]:
        out = ffi.new("size_t *")
        found = lib.gang_sim_find_job(self._open().pointer, number, out) == 0
        return int(out[0]) if found else None

    def _info(self, sim: Any) -> Any:
        info = new("gang_sim_info")
        check(lib.gang_sim_get_info(sim, info))
        return info

    def _told(self, raw: Any, why: str) -> Info:
        counts = (raw.jobs, raw.to_come, raw.pending, raw.running, raw.suspended, raw.ended)
        return Info(why, raw.now_ns / 1e9, raw.events, raw.runs, *counts)

    def _job(self, sim: Any, index: int) -> Any:
        raw = new("gang_sim_job")
        check(lib.gang_sim_get_job(sim, index, raw), what="job %d" % index)
        return raw


# ---- callbacks: the library's borders with the functions of Python -----------------------------


@callback(failed=1)
def gangsched_py_event(event: Any, user: Any) -> int:
    host: _Host = ffi.from_handle(user)
    host.event(event)
    return 0


@callback(failed=1)
def gangsched_py_go_on(now_ns: int, events: int, user: Any) -> int:
    host: _Host = ffi.from_handle(user)
    if host.tick is not None:
        host.tick()
    if host.deadline is not None and time.monotonic() >= host.deadline:
        host.late = True
    return 1 if host.late or host.error is not None else 0


@callback(failed=1)
def gangsched_py_score(view: Any, score: Any, user: Any) -> int:
    host: _Host = ffi.from_handle(user)
    assert host.score is not None
    write_scores(view, score, host.score, host.names)
    return 0


@callback(failed=1000)
def gangsched_py_speed(index: int, tasks: int, count: int, user: Any) -> int:
    host: _Host = ffi.from_handle(user)
    assert host.speed is not None
    return _within(host.speed(index, tasks, count) * 1000)


@callback(failed=0)
def gangsched_py_restart(index: int, gpu_milli: int, user: Any) -> int:
    host: _Host = ffi.from_handle(user)
    assert host.restart is not None
    return _within(host.restart(index, gpu_milli / 1000) * 1e9)


def _within(value: float) -> int:
    """A number that the library takes.

    Raises:
        ValueError: not a number.
    """
    found: int = round(min(max(value, 0.0), 2.0**60))
    return found


def simulate(
    cluster: Union[Cluster, Source],
    trace: "Union[Trace, str, os.PathLike[str]]",
    queues: Any = None,
    policy: _options.Policy = None,
    *,
    until_s: Optional[float] = None,
    progress: bool = False,
    **options: Any,
) -> "Result":
    """Play a trace on a cluster, and tell what came of it.

    ::

        result = gs.simulate(gs.Cluster.uniform(16), gs.Trace.read("philly.csv.gz"), policy="srtf")
        print(result.summary()["jct_s"]["mean"])

    Args:
        trace: or the path of one.
        until_s: stop at this time of the simulation; None: when all is over.
        progress: True: show a bar.
        options: as of :class:`Session`.

    Returns:
        The result. After Ctrl-C it is that of what has happened until then (``result.interrupted``).

    Raises:
        GangError: wrong input, with its place. What a function of yours raises.
    """
    trace = as_trace(trace)
    session = Session(cluster, trace, queues, policy=policy, **options)
    try:
        interrupted = False
        try:
            session.run(until_s, progress=progress)
        except KeyboardInterrupt:
            interrupted = True
        result = session.result()
        result.interrupted = interrupted
        return result
    finally:
        session.close()
