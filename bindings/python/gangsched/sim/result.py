# SPDX-License-Identifier: Apache-2.0
"""The results of a simulation: numbers, tables, pictures, and why a job waited."""

import pickle
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from .._lazy import deprecated
from .._native import ffi, lib, text
from ..cluster.allocation import Explanation
from ..dates import Time, dates_of, time_s, times_in
from ..enums import JobEnd, JobState
from ..errors import NotFound, check
from ..intervals import IntervalSet
from ..closest import unknown
from ..values import ns, span
from ..vocabulary import amounts_of, check_amounts, column_now
from .events import Info
from .recipe import LISTENING, Recipe
from .scheduling import JobRef

if TYPE_CHECKING:
    import os

    import pandas

    from .simulation import Simulation

#: Columns of jobs: name, number in the library, units of the library in one of ours; 0: an index of
#: a word.
COLUMNS: Tuple[Tuple[str, int, float], ...] = (
    ("submit_s", lib.GANG_SIM_JOB_SUBMIT_NS, 1e9),
    ("start_s", lib.GANG_SIM_JOB_START_NS, 1e9),
    ("end_s", lib.GANG_SIM_JOB_END_NS, 1e9),
    ("run_s", lib.GANG_SIM_JOB_RUN_NS, 1e9),
    ("time_limit_s", lib.GANG_SIM_JOB_LIMIT_NS, 1e9),
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
    """The results of a simulation.

    Plain data of any thread, which can be pickled.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"job": name, "submit_s": 0, "run_s": 60, "gpu": 8} for name in "ab"])
    >>> result = gs.simulate(gs.Cluster.uniform(1), jobs, policy="fifo")
    >>> result.jobs[["job", "wait_s", "jct_s", "gpus"]]
      job  wait_s  jct_s  gpus
    0   a     0.0   60.0   8.0
    1   b    60.0  120.0   8.0
    >>> result.timeline.gpus.max(), result.allocations.node.unique().tolist()
    (8.0, ['n0'])

    Attributes
    ----------
    info : Info
        The counters at the end.
    names : list of str
        The names of the jobs, by index.
    capacity : dict
        ``gpus`` (devices), ``cpus`` (cores), ``mem_mib`` of all nodes.
    nodes : dict
        The names of the nodes, in the order of the cluster, each with its number of devices.
    models : dict
        The names of the nodes, each with the model of its first GPU; "": none.
    interrupted : bool
        True: Ctrl-C ended the simulation; the results cover the time before.
    """

    def __init__(self) -> None:
        self.info: Info = Info("done", 0.0, 0, 0, 0, 0, 0, 0, 0, 0)
        self.names: List[str] = []
        self.capacity: Dict[str, float] = {}
        self.nodes: Dict[str, int] = {}
        self.models: Dict[str, str] = {}
        self._cores: Dict[str, float] = {}
        self._refused: Optional[Dict[int, str]] = None
        self.interrupted = False
        self._raw: Dict[str, Any] = {}
        self._words: Dict[str, List[str]] = {}
        self._node_of: Dict[int, str] = {}
        self._allocations: Any = None
        self._samples: Any = None
        self._summary: Dict[str, Any] = {}
        self._recipe: Recipe
        self._epoch: "Optional[pandas.Timestamp]" = None
        self._source: "Optional[weakref.ref[Simulation]]" = None
        self._tables: Dict[str, Any] = {}

    @classmethod
    def of(cls, simulation: "Simulation") -> "Result":
        """Copy the results of a simulation. O(jobs + rows)."""
        made = cls()
        made._take(simulation)
        made.names = simulation.names()
        with simulation._held() as sim:
            made._raw = {name: _column(sim, number, made.info.jobs) for name, number, _ in COLUMNS}
            count = lib.gang_sim_allocation_count(sim)
            made._allocations = _rows(
                sim, "gang_sim_allocation", count, lib.gangsched_py_allocations
            )
            made._samples = _rows(
                sim, "gang_sim_sample", lib.gang_sim_sample_count(sim), lib.gangsched_py_samples
            )
        return made

    def _take(self, simulation: "Simulation") -> None:
        """Copy all but the tables."""
        self.info = simulation.info
        with simulation._held() as sim:
            self._words = {
                "queue": _names(sim, lib.gang_sim_queue_name),
                "user": _names(sim, lib.gang_sim_user_name),
            }
            self._recipe = simulation._recipe.copy()
            self._source = weakref.ref(simulation)
            self._epoch = simulation.epoch
            known = simulation._host.refused
            self._refused = None if known is None else dict(known)
        self._summary = simulation.summary()
        table = simulation.cluster.table()
        self.nodes = dict(zip(table["name"], table["gpus"]))
        self.models = dict(zip(table["name"], table["gpu_model"]))
        self._cores = dict(zip(table["name"], table["cpus"]))
        self._node_of = {simulation.cluster.node_id(name): name for name in table["name"]}
        self.capacity = {key: float(sum(table[key])) for key in ("gpus", "cpus", "mem_mib")}

    # ---- numbers -------------------------------------------------------------------------

    def summary(self, **options: Any) -> Dict[str, Any]:
        """Statistics with the definitions of the field, see :meth:`Simulation.summary`.

        With options (``warm_up_s``, ``queue``...) the simulation computes them, if it is still open
        and has not continued. Otherwise the simulation runs again, which takes as long as it took.
        """
        if not options:
            copied: Dict[str, Any] = pickle.loads(pickle.dumps(self._summary))
            return copied
        with self._live() as live:
            if live is not None:
                return live.summary(**options)
        with self._recipe.replay({}) as simulation:
            return simulation.summary(**options)

    def __len__(self) -> int:
        """The number of jobs."""
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        """Whether two simulations had the same course: the same jobs at the same times, on the same
        nodes, with the same samples of use. O(jobs + rows). What decided so is not compared: two
        policies are equal if nothing came of the difference.
        """
        import numpy

        if not isinstance(other, Result):
            return NotImplemented
        if self is other:
            return True
        if (self.info.now_s, self.names, self.nodes) != (other.info.now_s, other.names, other.nodes):
            return False
        words = [name for name, _, scale in COLUMNS if not scale]
        numbers = [name for name, _, scale in COLUMNS if scale]
        return (
            all(numpy.array_equal(self._raw[name], other._raw[name]) for name in numbers)
            and all(numpy.array_equal(self.column(name), other.column(name)) for name in words)
            and self.allocations.equals(other.allocations)
            and self.timeline.equals(other.timeline)
        )

    #: equal results would need equal hashes, and a hash over all tables costs too much
    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> Any:
        """One column of :attr:`jobs` as a numpy array."""
        import numpy

        known = {column[0]: column[2] for column in COLUMNS}
        name = column_now(name)
        if name in ("wait_s", "jct_s"):
            return self.column("start_s" if name == "wait_s" else "end_s") - self.column("submit_s")
        if name == "slowdown":
            run = self.column("run_s")
            return self.column("jct_s") / numpy.where(run > 0, run, numpy.nan)
        if name not in known:
            raise NotFound(unknown("column", name, [*known, "wait_s", "jct_s", "slowdown"]))
        raw, scale = self._raw[name], known[name]
        if scale == 0:
            return numpy.array([*self._word_list(name), ""], dtype=object)[raw]
        if scale == 1:
            return raw.copy()
        return numpy.where(raw == lib.GANG_TRACE_UNKNOWN, numpy.nan, raw / scale)

    def _word_list(self, name: str) -> List[str]:
        if name in self._words:
            return self._words[name]
        return JobState.words() if name == "state" else JobEnd.words()

    @property
    def jobs(self) -> "pandas.DataFrame":
        """One row a job; :meth:`to_dataframe` with amounts of whole jobs.

        ``job``, ``queue``, ``user``, ``state``, ``end`` (how it ended); times in seconds:
        ``submit_s``, ``start_s`` (the first start), ``end_s``, ``run_s``, ``time_limit_s``, ``wait_s``
        (from submission to the first start, as in the summary), ``jct_s`` (from submission to the
        end), ``queue_s`` (neither running nor suspended, until now, also between two starts);
        ``tasks``, ``cpus``, ``mem_mib``, ``gpus`` (of all tasks); ``ran_s``, ``suspended_s``,
        ``lost_s``; ``starts``, ``preemptions``, ``failures``. Not a number: that time has not come.
        """
        return self.to_dataframe()

    def to_dataframe(self, amounts: str = "job") -> "pandas.DataFrame":
        """One row a job, as :attr:`jobs`.

        Parameters
        ----------
        amounts : {"job", "task"}
            ``"job"``: ``cpus``, ``mem_mib``, ``gpus`` of all tasks. ``"task"``: ``cpu``,
            ``mem_mib``, ``gpu`` of one task (the mean, where its groups differ).

        Examples
        --------
        >>> import gangsched as gs
        >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 60, "count": 4, "gpu": 2}])
        >>> result = gs.simulate(gs.Cluster.uniform(1), jobs)
        >>> result.jobs.gpus[0], result.to_dataframe("task").gpu[0]
        (8.0, 2.0)
        """
        check_amounts(amounts)
        key = "jobs" if amounts == "job" else "jobs of a task"
        if key not in self._tables:
            import pandas

            from ..table import Table

            made: Dict[str, Any] = {"job": self.names}
            for name in ("queue", "user", "state", "end"):
                made[name] = pandas.Categorical.from_codes(self._codes(name), self._word_list(name))
            shown = amounts_of(self.column, amounts)
            for name in (name for name, _, scale in COLUMNS if scale):
                if name == "cpus":
                    made.update(shown)
                elif name not in ("mem_mib", "gpus"):
                    made[name] = self.column(name)
            table = Table(made)
            for name in ("wait_s", "jct_s"):
                table.insert(table.columns.get_loc("run_s"), name, self.column(name))
            self._tables[key] = table
        # From pandas 3 on, copies are copy-on-write. Before that a shallow copy would let callers
        # change this table.
        return self._tables[key].copy(deep=_pandas_major() < 3)

    def _codes(self, name: str) -> Any:
        import numpy

        return numpy.asarray(self._raw[name])

    @property
    def allocations(self) -> "pandas.DataFrame":
        """One row for each stay of a job on a node.

        Empty unless recorded.

        ``job``, ``index`` (of the job), ``node``, ``begin_s``, ``end_s`` (seconds; not a number: it
        has not ended), ``tasks``, ``cpus``, ``mem_mib``, ``gpus``, ``devices`` (bit i: device i of
        the node), ``gang`` (which gang of the job, where its groups wait for each other; else 0).
        """
        import numpy
        import pandas

        rows = self._allocations
        names = numpy.array([*self.names, ""], dtype=object)
        index = rows["index"].astype("int64")
        made = {"job": names[index], "index": index, "node": self._nodes_of(rows["node"])}
        made.update(
            begin_s=rows["begin_ns"] / 1e9, end_s=_seconds(rows["end_ns"]), tasks=rows["tasks"]
        )
        made.update(
            cpus=rows["cpu_milli"] / 1e3,
            mem_mib=rows["memory_bytes"] / 2.0**20,
            gpus=rows["gpu_milli"] / 1e3,
        )
        made["devices"] = rows["gpus"]
        made["gang"] = rows["gang"]
        return pandas.DataFrame(made)

    def _nodes_of(self, ids: Any) -> Any:
        import numpy

        unique, codes = numpy.unique(ids, return_inverse=True)
        return numpy.array(
            [self._node_of.get(int(number), "") for number in unique] or [""], dtype=object
        )[codes]

    @property
    def timeline(self) -> "pandas.DataFrame":
        """Amounts in use, from ``at_s`` (seconds) until the next row.

        Empty unless recorded.

        ``running``, ``pending`` (jobs), ``cpus``, ``mem_mib``, ``gpus``, ``nodes_up``.
        """
        import pandas

        rows = self._samples
        made = {"at_s": rows["at_ns"] / 1e9, "running": rows["running"], "pending": rows["pending"]}
        made.update(cpus=rows["cpu_milli"] / 1e3, mem_mib=rows["memory_bytes"] / 2.0**20)
        made.update(gpus=rows["gpu_milli"] / 1e3, nodes_up=rows["nodes_up"])
        return pandas.DataFrame(made)

    @property
    def epoch(self) -> "Optional[pandas.Timestamp]":
        """The date of second 0; None: it is not known. See :mod:`gangsched.dates`."""
        return self._epoch

    def dates(self, seconds: Any) -> Any:
        """Seconds as dates: a ``DatetimeIndex``, or a ``Timestamp`` for one number.

        >>> import gangsched as gs
        >>> jobs = gs.Trace([{"submit_s": "2026-01-05 09:00", "run_s": 5400, "gpu": 8}])
        >>> result = gs.simulate(gs.Cluster.uniform(1), jobs)
        >>> result.timeline.set_index(result.dates(result.timeline.at_s)).gpus
        2026-01-05 09:00:00    8.0
        2026-01-05 10:30:00    0.0
        Name: gpus, dtype: float64

        Raises
        ------
        InvalidArgument
            There is no epoch.
        """
        return dates_of(seconds, self._epoch)

    def timeline_by(
        self,
        by: str = "queue",
        of: str = "gpus",
        *,
        begin_s: Optional[Time] = None,
        end_s: Optional[Time] = None,
    ) -> "pandas.DataFrame":
        """Amounts in use by group, from ``at_s`` (seconds) until the next row: a column a group.

        Computed from the allocations, which must be recorded. O(rows * groups).

        Parameters
        ----------
        by : {"queue", "user", "model"}
            What a column stands for. ``model``: the GPU model of the nodes; "": they have none.
        of : {"gpus", "cpus", "mem_mib", "tasks"}
            Devices (shares as fractions), cores, MiB, or tasks.
        begin_s, end_s
            Only the rows from this time on, the first with what was in use then, and before that
            time; None: all.

        Raises
        ------
        InvalidArgument
            Unknown ``by`` or ``of``, or no allocations were recorded.
        """
        from .timelines import timeline_by

        return timeline_by(self, by, of, begin_s, end_s)

    @property
    def resources(self) -> "pandas.DataFrame":
        """The GPUs by their number, as :meth:`interval_sets` and :meth:`to_batsim` number them: a
        row a GPU, with ``node``, ``node_number`` (from 0, in the order of ``nodes``) and
        ``device`` (its index on the node).
        """
        from .holdings import resources

        return resources(self)

    def interval_sets(self, of: str = "gpus") -> "pandas.Series[Any]":
        """Which GPUs, or which nodes, each job has held: a Series of :class:`IntervalSet`.

        Of all stays together; a share of a GPU counts as that GPU. Empty: none. O(rows).

        >>> import gangsched as gs
        >>> jobs = gs.Trace([{"submit_s": 0, "run_s": 60, "count": 2, "gpu": gpu}
        ...                  for gpu in (8, 2)])
        >>> result = gs.simulate(gs.Cluster.uniform(3), jobs)
        >>> [str(one) for one in result.interval_sets()], str(result.free_at(30))
        (['0-15', '16-19'], '20-23')
        >>> result.jobs.assign(nodes=result.interval_sets("nodes").map(str))[["job", "nodes"]]
          job nodes
        0   0   0-1
        1   1     2

        Parameters
        ----------
        of : {"gpus", "nodes"}
            What is numbered, see :attr:`resources`.

        Raises
        ------
        InvalidArgument
            Unknown ``of``, or no allocations were recorded.
        """
        from .holdings import interval_sets

        return interval_sets(self, of)

    def used_at(self, at_s: Time, of: str = "gpus") -> IntervalSet:
        """Which GPUs, or nodes, jobs hold at a time (seconds, or a date). O(rows)."""
        from .holdings import used_at

        return used_at(self, ns(time_s(at_s, self._epoch, "at_s"), "at_s") / 1e9, of)

    def free_at(self, at_s: Time, of: str = "gpus") -> IntervalSet:
        """Which GPUs, or nodes, no job holds at a time, also of nodes that are down. O(rows)."""
        from .holdings import everything

        return everything(self, of) - self.used_at(at_s, of)

    # ---- explanations --------------------------------------------------------------------

    @property
    def refused(self) -> Dict[int, str]:
        """Why jobs were refused, by index.

        If there are refused jobs and the simulation did not keep events, it runs again, once.

        Raises
        ------
        NotSupported
            The policy was a function that could not be pickled.
        """
        if self._refused is None:
            if not self._summary["refused"]:
                self._refused = {}
            else:
                with self._recipe.replay(LISTENING) as simulation:
                    self._refused = dict(simulation._host.refused or {})
        return dict(self._refused)

    def explain(self, job: JobRef, at_s: Time) -> Explanation:
        """Why a job waited at a time (seconds, or a date), or was refused.

        The simulation runs again up to that time.

        Parameters
        ----------
        job : int or str
            The index or the name of the job.

        Raises
        ------
        NotFound
            There is no such job.
        NotSupported
            The policy was a function that could not be pickled.
        """
        index = self._index(job)
        at_s = time_s(at_s, self._epoch, "at_s")
        with self._recipe.replay(LISTENING, at_s) as simulation:
            return simulation.explain(index)

    def _index(self, job: JobRef) -> int:
        if isinstance(job, str):
            if job not in self.names:
                raise NotFound(unknown("job", job, self.names))
            return self.names.index(job)
        if not 0 <= job < len(self.names):
            raise NotFound("job %d of %d" % (job, len(self.names)))
        return int(job)

    def simulation(self, at_s: Optional[Time] = None) -> "Simulation":
        """A simulation in the state of a time (seconds, or a date; None: of the end), to read,
        change and continue it.

        The simulation runs again up to that time. For the end it is a fork, if the original
        simulation is still open and has not continued.
        """
        if at_s is None:
            with self._live() as live:
                if live is not None:
                    return live.fork()
        return self._recipe.replay({}, time_s(at_s, self._epoch, "at_s"))

    def session(self, at_s: Optional[float] = None) -> "Simulation":
        """Deprecated: :meth:`simulation`."""
        deprecated("Result.session()", "Result.simulation()")
        return self.simulation(at_s)

    @contextmanager
    def _live(self) -> "Iterator[Optional[Simulation]]":
        """The simulation of these results, locked; None: it is closed, or has continued."""
        simulation = self._source() if self._source is not None else None
        if simulation is None:
            yield None
            return
        with simulation._lock:
            unchanged = len(simulation._recipe.log) == len(self._recipe.log)
            same = not simulation.closed and not simulation._inside and unchanged
            yield simulation if same else None

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_source": None, "_tables": {}}

    # ---- pictures ------------------------------------------------------------------------

    def plot(
        self, axes: Any = None, title: Optional[str] = None, *, by: Optional[str] = None
    ) -> Any:
        """Amounts in use, and waiting and running jobs, over time.

        Returns the two matplotlib axes; with ``by`` a list of axes, one a group.

        Parameters
        ----------
        title : str, optional
            Above the picture; None: a description; "": none.
        by : {"queue", "user", "model"}, optional
            Small pictures of the GPUs (of a cluster without GPUs: cores) in use by each group, the
            eight largest and the sum of all others, with a common scale. A queue has lines at its
            ``guaranteed`` amount (dashed) and its ``limit``, if the tree names them as numbers.
        """
        from ..viz.plots import plot

        if by is not None:
            from ..viz.groups import plot_by

            return plot_by(self, by, axes, title)
        return plot(self, axes, title)

    def gantt(self, axes: Any = None, color: str = "queue", **options: Any) -> Any:
        """Which job held what when: one lane a device; for jobs without GPUs, a core.

        Hatched: nodes that were down, draining or reserved, for which the simulation runs again
        once. More than 100 lanes or 20 colours become a heat map: what part of each node was used.
        Returns the matplotlib axes.

        Parameters
        ----------
        color : {"queue", "user", "job"}
            What a colour stands for.
        options
            ``nodes`` (names, in this order), ``begin_s``, ``end_s`` (seconds, or dates), ``title``
            (None: a description; "": none), ``heat`` (True or False: choose a heat map or boxes,
            whose colours repeat after the twentieth).
        """
        from ..viz.gantt import gantt

        return gantt(self, axes, color, **times_in(options, ("begin_s", "end_s"), self._epoch))

    def cdf(
        self,
        column: str = "wait_s",
        axes: Any = None,
        label: Optional[str] = None,
        title: Optional[str] = None,
    ) -> Any:
        """The distribution of a column of jobs.

        Returns the matplotlib axes.

        Parameters
        ----------
        title : str, optional
            Above the picture; None: a description; "": none.
        """
        from ..viz.plots import cdf

        return cdf({label or "": self}, column, axes, title)

    def report(self, path: "Union[str, os.PathLike[str]]", **options: Any) -> None:
        """Write one self-contained HTML page, see :func:`gangsched.report.html`."""
        from ..report.page import write

        write(self, path, **options)

    # ---- other programs ------------------------------------------------------------------

    def to_perfetto(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write the allocations for https://ui.perfetto.dev: a process a node, a thread a device.

        ``.gz`` compresses.
        """
        from ..viz.export import perfetto

        perfetto(self, path)

    def to_batsim(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write the jobs with Batsim's columns, as evalys reads them.

        Resources are numbered through the nodes: GPUs, or cores in a cluster without GPUs.
        """
        from ..viz.export import batsim

        batsim(self, path)

    def __repr__(self) -> str:
        state = ", interrupted" if self.interrupted else ""
        return "<Result: %d jobs, %d ended, %s%s>" % (
            len(self),
            self.info.ended,
            span(self.info.now_s),
            state,
        )

    def _repr_html_(self) -> str:
        from ..viz.plots import summary_html

        return "<p>%s</p>%s" % (repr(self).strip("<>"), summary_html({"": self}))


def _pandas_major() -> int:
    import pandas

    return int(pandas.__version__.split(".")[0])


def _seconds(values: Any) -> Any:
    import numpy

    return numpy.where(values == lib.GANG_TRACE_UNKNOWN, numpy.nan, values / 1e9)


def _column(sim: Any, number: int, count: int) -> Any:
    import numpy

    values = numpy.empty(count, dtype=numpy.int64)
    if count:
        check(
            lib.gang_sim_job_column(
                sim, number, 0, count, ffi.cast("int64_t *", ffi.from_buffer(values))
            )
        )
    return values


def _names(sim: Any, get: Any) -> List[str]:
    found: List[str] = []
    while get(sim, len(found)) != ffi.NULL:
        found.append(text(get(sim, len(found))))
    return found


def _rows(sim: Any, struct: str, count: int, get: Any) -> Any:
    """Rows of the library as a numpy array of records with the members of the struct."""
    import numpy

    rows = numpy.zeros(count, dtype=row_type(struct))
    if count:
        check(get(sim, 0, count, ffi.cast("struct %s *" % struct, ffi.from_buffer(rows))))
    return rows


def row_type(struct: str) -> Any:
    """The numpy type of a struct of numbers."""
    import numpy

    members = ffi.typeof("struct " + struct).fields
    kinds = {"size_t": "u8", "uint64_t": "u8", "int64_t": "i8"}
    return numpy.dtype(
        {
            "names": [name for name, _ in members],
            "formats": [kinds.get(field.type.cname, "u8") for _, field in members],
            "offsets": [field.offset for _, field in members],
            "itemsize": ffi.sizeof("struct " + struct),
        }
    )


def flat(summary: Mapping[str, Any], prefix: str = "") -> Dict[str, float]:
    """A summary without nesting: ``wait_s_mean``, ``gpu_utilisation``..."""
    found: Dict[str, float] = {}
    for key, value in summary.items():
        if isinstance(value, Mapping):
            found.update(flat(value, "%s%s_" % (prefix, key)))
        else:
            found[prefix + key] = value
    return found


__all__ = ["Result", "flat"]
