# SPDX-License-Identifier: Apache-2.0
"""What came of a simulation: numbers, tables, pictures, and why a job waited."""

import pickle
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._native import ffi, lib, text
from .allocation import Explanation
from .errors import NotFound, NotSupported, check
from .options import ns
from .scheduling import JobRef
from .sim import _LISTENING, ENDS, STATES, Info, Session

if TYPE_CHECKING:
    import os

    import pandas

#: Columns of jobs: name, number in the library, how many of it are one of the library's; 0: a word.
_COLUMNS: Tuple[Tuple[str, int, float], ...] = (
    ("submit_s", lib.GANG_SIM_JOB_SUBMIT_NS, 1e9),
    ("start_s", lib.GANG_SIM_JOB_START_NS, 1e9),
    ("end_s", lib.GANG_SIM_JOB_END_NS, 1e9),
    ("run_s", lib.GANG_SIM_JOB_RUN_NS, 1e9),
    ("limit_s", lib.GANG_SIM_JOB_LIMIT_NS, 1e9),
    ("tasks", lib.GANG_SIM_JOB_TASKS, 1),
    ("cpus", lib.GANG_SIM_JOB_CPU_MILLI, 1e3),
    ("mem_mib", lib.GANG_SIM_JOB_MEMORY_BYTES, 2.0**20),
    ("gpus", lib.GANG_SIM_JOB_GPU_MILLI, 1e3),
    ("ran_s", lib.GANG_SIM_JOB_RAN_NS, 1e9),
    ("queue_s", lib.GANG_SIM_JOB_WAIT_NS, 1e9),
    ("suspended_s", lib.GANG_SIM_JOB_SUSPENDED_NS, 1e9),
    ("lost_s", lib.GANG_SIM_JOB_LOST_NS, 1e9),
    ("starts", lib.GANG_SIM_JOB_STARTS, 1),
    ("preemptions", lib.GANG_SIM_JOB_PREEMPTIONS, 1),
    ("failures", lib.GANG_SIM_JOB_FAILURES, 1),
    ("state", lib.GANG_SIM_JOB_STATE, 0),
    ("end", lib.GANG_SIM_JOB_END, 0),
    ("queue", lib.GANG_SIM_JOB_QUEUE, 0),
    ("user", lib.GANG_SIM_JOB_USER, 0),
)


class Result:
    """What came of a simulation. Plain data of any thread, which can be pickled.

    Attributes:
        info: how things were at the end.
        names: of the jobs, by index.
        capacity: ``gpus``, ``cpus``, ``mem_mib`` of all nodes.
        nodes: names of the nodes, in the order of the cluster, and the number of devices of each.
        interrupted: True: by Ctrl-C; it is that of what has happened until then.
    """

    def __init__(self) -> None:
        self.info: Info = Info("done", 0.0, 0, 0, 0, 0, 0, 0, 0, 0)
        self.names: List[str] = []
        self.capacity: Dict[str, float] = {}
        self.nodes: Dict[str, int] = {}
        self._refused: Optional[Dict[int, str]] = None
        self.interrupted = False
        self._raw: Dict[str, Any] = {}
        self._words: Dict[str, List[str]] = {}
        self._node_of: Dict[int, str] = {}
        self._allocations: Any = None
        self._samples: Any = None
        self._summary: Dict[str, Any] = {}
        self._made: Dict[str, Any] = {}
        self._log: List[Tuple[str, Any]] = []
        self._source: "Optional[weakref.ref[Session]]" = None
        self._tables: Dict[str, Any] = {}

    @classmethod
    def of(cls, session: Session) -> "Result":
        """Copy what a session has. O(jobs + rows)."""
        made = cls()
        made._take(session)
        made.names = session.names()
        with session._held() as sim:
            made._raw = {name: _column(sim, number, made.info.jobs) for name, number, _ in _COLUMNS}
            count = lib.gang_sim_allocation_count(sim)
            made._allocations = _rows(sim, "gang_sim_allocation", count, lib.gangsched_py_allocations)
            made._samples = _rows(sim, "gang_sim_sample", lib.gang_sim_sample_count(sim), lib.gangsched_py_samples)
        return made

    def _take(self, session: Session) -> None:
        """All but its tables."""
        self.info = session.info
        with session._held() as sim:
            self._words = {"queue": _names(sim, lib.gang_sim_queue_name), "user": _names(sim, lib.gang_sim_user_name)}
            self._made, self._log = dict(session._made), list(session._log)
            self._source = weakref.ref(session)
            known = session._host.refused
            self._refused = None if known is None else dict(known)
        self._summary = session.summary()
        table = session.cluster.table()
        self.nodes = dict(zip(table["name"], table["gpus"]))
        self._node_of = {session.cluster.node_id(name): name for name in table["name"]}
        self.capacity = {key: float(sum(table[key])) for key in ("gpus", "cpus", "mem_mib")}

    # ---- numbers -------------------------------------------------------------------------

    def summary(self, **options: Any) -> Dict[str, Any]:
        """Statistics with the definitions of the field, see :meth:`Session.summary`. With options
        (``warm_up_s``, ``queue``...) the session is asked, if it is still open and was not gone on with; else the
        simulation is run again, which takes as long as it took."""
        if not options:
            copied: Dict[str, Any] = pickle.loads(pickle.dumps(self._summary))
            return copied
        with self._live() as live:
            if live is not None:
                return live.summary(**options)
        with self._again() as session:
            return session.summary(**options)

    def __len__(self) -> int:
        """Jobs."""
        return len(self.names)

    def column(self, name: str) -> Any:
        """One column of :attr:`jobs` as a numpy array."""
        import numpy

        known = {column[0]: column[2] for column in _COLUMNS}
        if name in ("wait_s", "jct_s"):
            return self.column("start_s" if name == "wait_s" else "end_s") - self.column("submit_s")
        if name == "slowdown":
            run = self.column("run_s")
            return self.column("jct_s") / numpy.where(run > 0, run, numpy.nan)
        if name not in known:
            raise NotFound("columns are %s" % ", ".join([*known, "wait_s", "jct_s", "slowdown"]))
        raw, scale = self._raw[name], known[name]
        if scale == 0:
            return numpy.array([*self._word_list(name), ""], dtype=object)[raw]
        if scale == 1:
            return raw.copy()
        return numpy.where(raw == lib.GANG_TRACE_UNKNOWN, numpy.nan, raw / scale)

    def _word_list(self, name: str) -> List[str]:
        if name in self._words:
            return self._words[name]
        table = STATES if name == "state" else ENDS
        return [table[i] for i in range(len(table))]

    @property
    def jobs(self) -> "pandas.DataFrame":
        """One row a job: ``job``, ``queue``, ``user``, ``state``, ``end`` (how it ended), ``submit_s``,
        ``start_s`` (the first one), ``end_s``, ``run_s``, ``limit_s``, ``wait_s`` (from submission to the first
        start, as in the summary), ``jct_s`` (to the end), ``queue_s`` (neither running nor suspended, until now: also between
        two starts), ``tasks``, ``cpus``, ``mem_mib``, ``gpus`` (of all tasks), ``ran_s``, ``suspended_s``, ``lost_s``, ``starts``,
        ``preemptions``, ``failures``. Times in seconds; not a number: that time has not come."""
        if "jobs" not in self._tables:
            import pandas

            made: Dict[str, Any] = {"job": self.names}
            for name in ("queue", "user", "state", "end"):
                made[name] = pandas.Categorical.from_codes(self._codes(name), self._word_list(name))
            made.update({name: self.column(name) for name, _, scale in _COLUMNS if scale})
            table = pandas.DataFrame(made)
            for name in ("wait_s", "jct_s"):
                table.insert(table.columns.get_loc("run_s"), name, self.column(name))
            self._tables["jobs"] = table
        # From pandas 3 on a copy shares what neither changes; before that what is done to it would be done to this one.
        return self._tables["jobs"].copy(deep=_pandas_major() < 3)

    def _codes(self, name: str) -> Any:
        import numpy

        return numpy.asarray(self._raw[name])

    @property
    def allocations(self) -> "pandas.DataFrame":
        """Who was where: ``job``, ``index`` (of the job), ``node``, ``begin_s``, ``end_s`` (not a number: still
        there), ``tasks``, ``cpus``, ``mem_mib``, ``gpus``, ``devices`` (bit i: device i of the node),
        ``part`` (which gang of the job, where its groups wait for each other; else 0). Empty unless recorded."""
        import numpy
        import pandas

        rows = self._allocations
        names = numpy.array([*self.names, ""], dtype=object)
        index = rows["index"].astype("int64")
        made = {"job": names[index], "index": index, "node": self._nodes_of(rows["node"])}
        made.update(begin_s=rows["begin_ns"] / 1e9, end_s=_seconds(rows["end_ns"]), tasks=rows["tasks"])
        made.update(cpus=rows["cpu_milli"] / 1e3, mem_mib=rows["memory_bytes"] / 2.0**20, gpus=rows["gpu_milli"] / 1e3)
        made["devices"] = rows["gpus"]
        made["part"] = rows["part"]
        return pandas.DataFrame(made)

    def _nodes_of(self, ids: Any) -> Any:
        import numpy

        unique, codes = numpy.unique(ids, return_inverse=True)
        return numpy.array([self._node_of.get(int(number), "") for number in unique] or [""], dtype=object)[codes]

    @property
    def timeline(self) -> "pandas.DataFrame":
        """What was used, from ``at_s`` until the next row: ``running``, ``pending`` (jobs), ``cpus``,
        ``mem_mib``, ``gpus``, ``nodes_up``. Empty unless recorded."""
        import pandas

        rows = self._samples
        made = {"at_s": rows["at_ns"] / 1e9, "running": rows["running"], "pending": rows["pending"]}
        made.update(cpus=rows["cpu_milli"] / 1e3, mem_mib=rows["memory_bytes"] / 2.0**20)
        made.update(gpus=rows["gpu_milli"] / 1e3, nodes_up=rows["nodes_up"])
        return pandas.DataFrame(made)

    # ---- why -----------------------------------------------------------------------------

    @property
    def refused(self) -> Dict[int, str]:
        """By index of a job that was not accepted, why. If there are some the simulation is run again for that, once, unless
        it told events.

        Raises:
            NotSupported: the policy was a function that could not be pickled.
        """
        if self._refused is None:
            if not self._summary["refused"]:
                self._refused = {}
            else:
                with self._again(listening=True) as session:
                    self._refused = dict(session._host.refused or {})
        return dict(self._refused)

    def explain(self, job: JobRef, at_s: float) -> Explanation:
        """Why a job waited at a time, or was refused. The simulation is run again up to that time and no further, which takes as long
        as it took to get there.

        Args:
            job: its index or its name.

        Raises:
            NotFound: no such job. NotSupported: the policy was a function that could not be pickled.
        """
        index = self._index(job)
        with self._again(at_s, listening=True) as session:
            return session.explain(index)

    def _index(self, job: JobRef) -> int:
        if isinstance(job, str):
            if job not in self.names:
                raise NotFound("no job '%s'" % job)
            return self.names.index(job)
        if not 0 <= job < len(self.names):
            raise NotFound("job %d of %d" % (job, len(self.names)))
        return int(job)

    def session(self, at_s: Optional[float] = None) -> Session:
        """A session in the state of a time (None: of the end): to look, change and go on from there. It is made by running
        again up to then; that of the end by a fork, if the session this came from is open and was not gone on with."""
        if at_s is None:
            with self._live() as live:
                if live is not None:
                    return live.fork()
        return self._again(at_s)

    @contextmanager
    def _live(self) -> Iterator[Optional[Session]]:
        """The session that this came from, for this thread alone; None: it is not there any more, or not where it was."""
        session = self._source() if self._source is not None else None
        if session is None:
            yield None
            return
        with session._lock:
            same = not session.closed and not session._inside and len(session._log) == len(self._log)
            yield session if same else None

    def _again(self, at_s: Optional[float] = None, listening: bool = False) -> Session:
        lost = self._made.get("_lost")
        if lost:
            raise NotSupported("it cannot be run again: %s could not be pickled" % ", ".join(lost))
        session = Session(**{**self._made, **(_LISTENING if listening else {})})
        try:
            for name, arguments in self._log:
                if name == "_go":
                    if not _advance(session, at_s, *arguments):
                        break
                elif name == "submit":
                    session.submit(arguments[0], run_s=arguments[1])
                else:
                    getattr(session, name)(*arguments)
        except BaseException:
            session.close()
            raise
        return session

    def __getstate__(self) -> Dict[str, Any]:
        made, lost = dict(self._made), []
        for name in ("policy", "on_event", "speed", "restart"):
            if callable(made.get(name)) and not _picklable(made[name]):
                made[name] = None
                lost.append(name)
        if lost:
            made["_lost"] = lost
        return {**self.__dict__, "_made": made, "_source": None, "_tables": {}}

    # ---- pictures ------------------------------------------------------------------------

    def plot(self, axes: Any = None, title: Optional[str] = None) -> Any:
        """What was used over time, and who waited. Returns the matplotlib axes: use and jobs.

        Args:
            title: above the picture; None: what it shows; "": none.
        """
        from .plots import plot

        return plot(self, axes, title)

    def gantt(self, axes: Any = None, color: str = "queue", **options: Any) -> Any:
        """Who was where, a lane a device (of jobs without GPUs, a core). Returns the matplotlib axes.

        Args:
            color: by ``queue``, ``user`` or ``job``.
            options: ``nodes`` (names, in this order), ``begin_s``, ``end_s``, ``title`` (None: what it shows; "": none).
        """
        from .plots import gantt

        return gantt(self, axes, color, **options)

    def cdf(
        self, column: str = "wait_s", axes: Any = None, label: Optional[str] = None, title: Optional[str] = None
    ) -> Any:
        """The distribution of a column of jobs. Returns the matplotlib axes.

        Args:
            title: above the picture; None: what it shows; "": none.
        """
        from .plots import cdf

        return cdf({label or "": self}, column, axes, title)

    def report(self, path: "Union[str, os.PathLike[str]]", **options: Any) -> None:
        """Write it all as one HTML page that needs nothing else, see :func:`gangsched.report.html`."""
        from .report import write

        write(self, path, **options)

    # ---- for others ----------------------------------------------------------------------

    def to_perfetto(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write who was where for https://ui.perfetto.dev: a process a node, a thread a device. Compressed by ``.gz``."""
        from .export import perfetto

        perfetto(self, path)

    def to_batsim(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write the jobs with Batsim's columns, as evalys reads them. Resources are numbered through the nodes:
        GPUs, or cores in a cluster without."""
        from .export import batsim

        batsim(self, path)

    def __repr__(self) -> str:
        state = ", interrupted" if self.interrupted else ""
        return "<Result: %d jobs, %d ended, %g s%s>" % (len(self), self.info.ended, self.info.now_s, state)

    def _repr_html_(self) -> str:
        from .plots import summary_html

        return "<p>%s</p>%s" % (repr(self).strip("<>"), summary_html({"": self}))


def _advance(session: Session, at_s: Optional[float], until_ns: Optional[int], events: int) -> bool:
    """One run again, as far as ``at_s``; False: there it is."""
    at_ns = None if at_s is None else ns(at_s, "at_s")
    if at_ns is not None and (until_ns is None or at_ns < until_ns):
        if session.now_s < at_ns / 1e9:
            session._go(at_ns, events)
        return False
    session._go(until_ns, events)
    return True


def _pandas_major() -> int:
    import pandas

    return int(pandas.__version__.split(".")[0])


def _picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
        return True
    except Exception:
        return False


def _seconds(values: Any) -> Any:
    import numpy

    return numpy.where(values == lib.GANG_TRACE_UNKNOWN, numpy.nan, values / 1e9)


def _column(sim: Any, number: int, count: int) -> Any:
    import numpy

    values = numpy.empty(count, dtype=numpy.int64)
    if count:
        check(lib.gang_sim_job_column(sim, number, 0, count, ffi.cast("int64_t *", ffi.from_buffer(values))))
    return values


def _names(sim: Any, get: Any) -> List[str]:
    found: List[str] = []
    while get(sim, len(found)) != ffi.NULL:
        found.append(text(get(sim, len(found))))
    return found


def _rows(sim: Any, struct: str, count: int, get: Any) -> Any:
    """Rows as a numpy array of records with the members of the struct."""
    import numpy

    members = ffi.typeof("struct " + struct).fields
    kinds = {"size_t": "u8", "uint64_t": "u8", "int64_t": "i8"}
    kind = numpy.dtype(
        {
            "names": [name for name, _ in members],
            "formats": [kinds.get(field.type.cname, "u8") for _, field in members],
            "offsets": [field.offset for _, field in members],
            "itemsize": ffi.sizeof("struct " + struct),
        }
    )
    rows = numpy.zeros(count, dtype=kind)
    if count:
        check(get(sim, 0, count, ffi.cast("struct %s *" % struct, ffi.from_buffer(rows))))
    return rows


def flat(summary: Mapping[str, Any], prefix: str = "") -> Dict[str, float]:
    """A summary as one row: ``wait_s_mean``, ``gpu_utilisation``..."""
    found: Dict[str, float] = {}
    for key, value in summary.items():
        if isinstance(value, Mapping):
            found.update(flat(value, "%s%s_" % (prefix, key)))
        else:
            found[prefix + key] = value
    return found


__all__ = ["Result", "flat"]
