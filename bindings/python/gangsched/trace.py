# SPDX-License-Identifier: Apache-2.0
"""Workload traces: which jobs came when, and how long they ran."""

import json
import numbers
import os
import re
import warnings
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Tuple,
    Union, cast,
)

from ._lazy import deprecated
from ._native import WRITE, Writer, ffi, lib, new, text, texts, utf8
from .case import dump
from .closest import unknown
from .dated import TIMES, in_seconds
from .dates import (
    as_date, as_epoch, check_zones, dates_of, duration_s, first_of, is_date, is_duration, time_s,
)
from .errors import (
    GangError, InvalidArgument, NotFound, OutOfRange, ParseError, check, new_error, placed,
)
from .files import read_bytes, writer_for
from .handle import Box, Handle
from .selection import position, positions
from .values import whole
from .vocabulary import (
    TraceJob, amounts_of, check_amounts, column_now, old_in_text, old_members, warn_of,
)

if TYPE_CHECKING:
    import pandas

    from .cluster.cluster import Cluster

Path = Union[str, "os.PathLike[str]"]

_NS = 10**9

#: Columns of gang_trace_column(): name in tables, number in the library, units of the library in
#: one of ours.
_COLUMNS: Tuple[Tuple[str, int, float], ...] = (
    ("submit_s", lib.GANG_TRACE_SUBMIT_NS, 1e9),
    ("run_s", lib.GANG_TRACE_RUN_NS, 1e9),
    ("time_limit_s", lib.GANG_TRACE_LIMIT_NS, 1e9),
    ("priority", lib.GANG_TRACE_PRIORITY, 1),
    ("tasks", lib.GANG_TRACE_TASKS, 1),
    ("cpus", lib.GANG_TRACE_CPU_MILLI, 1e3),
    ("mem_mib", lib.GANG_TRACE_MEMORY_BYTES, 2.0**20),
    ("gpus", lib.GANG_TRACE_GPU_MILLI, 1e3),
    ("start_s", lib.GANG_TRACE_STARTED_NS, 1e9),
)


def formats() -> Dict[str, int]:
    """The names of the formats, with their numbers in the library."""
    found: Dict[str, int] = {}
    number = lib.GANG_TRACE_DETECT + 1
    while lib.gang_trace_format_name(number) != ffi.NULL:
        found[text(lib.gang_trace_format_name(number))] = number
        number += 1
    return found


def _format(name: Optional[str]) -> int:
    if name is None:
        return int(lib.GANG_TRACE_DETECT)
    known = formats()
    if name not in known:
        raise InvalidArgument("format: " + unknown("format", name, known), path="format")
    return known[name]


class Trace(Handle):
    """Immutable list of jobs, each with the time of its submission and its run time.

    ::

        trace = gs.Trace.read("philly.csv.gz")        # the first lines tell the format
        trace = gs.Trace([{"submit_s": 0, "run_s": 60, "count": 4, "gpu": 1}, ...])
        trace.to_dataframe().groupby("queue").gpus.sum()

    A job is a dict; a :class:`Request` has the same names:

    ``job`` (or ``name``)
        Its name, unique in the trace; the position if not given.
    ``submit_s``, ``run_s``
        When it came, and how long it ran with all its tasks; required. Times are seconds from the
        begin of the trace, or dates (:mod:`gangsched.dates`); durations seconds or a ``timedelta``.
    ``queue``, ``user``, ``priority``
        Texts, and a whole number (0; higher goes first).
    ``time_limit_s``
        How long it may run, as its user stated; 0: no limit (default).
    ``preemptible``
        ``True`` (default), ``False``, or ``"above-min"``: only the tasks above ``min``.
    ``count``, ``min``
        Its tasks (1), and how many of them must start together (all).
    ``cpu``, ``mem_mib``, ``gpu``
        Of one task: cores, MiB, and GPUs: whole ones, or a share below 1 (of each of
        ``gpu_devices`` devices, 1). Each 0 if not given.
    ``gpu_models``
        A list of models, or ``"A|B"``; any if not given.
    ``partition``
        Its nodes must be in this partition; any if not given.
    ``start_s``, ``end``
        What was recorded: the first start, and ``success``, ``failed``, ``cancelled``,
        ``preempted``, ``timeout``...
    ``tasks``
        Instead of ``count`` to ``partition``: several groups, a list of dicts with these members
        and ``name``.

    >>> import gangsched as gs
    >>> trace = gs.Trace([{"job": "a", "submit_s": 0, "run_s": 60, "count": 4, "gpu": 2}])
    >>> trace[0]["gpu"], trace.column("gpus")
    (2, array([8.]))

    >>> dated = gs.Trace([{"submit_s": "2026-03-29 01:00+01:00", "run_s": 60},
    ...                   {"submit_s": "2026-03-29 03:00+02:00", "run_s": 60}])
    >>> dated.column("submit_s"), str(dated.epoch)
    (array([   0., 3600.]), '2026-03-29 01:00:00+01:00')

    Threads: any, one at a time, also while a simulation runs the trace.

    Parameters
    ----------
    jobs
        The jobs, as dicts.
    epoch
        The date of second 0. None: the earliest date among the jobs, if there are dates; then all
        jobs need one.

    Raises
    ------
    GangError
        A job is impossible. ``line`` is its number, from 1.
    """

    def __init__(self, jobs: Iterable[Mapping[str, Any]] = (), *, epoch: Any = None) -> None:
        lines: List[bytes] = []
        old: Set[str] = set()
        jobs, self._epoch = _in_seconds(jobs, as_epoch(epoch))
        for job in jobs:
            if not isinstance(job, Mapping):
                raise _no_job(jobs, job, len(lines) + 1)
            old |= old_members(job)
            try:
                lines.append(dump(job))
            except ParseError as error:
                error.line = len(lines) + 1
                raise _with_line(error, "job") from None
        warn_of(old)
        if lines:
            super().__init__(_read(b"\n".join(lines) + b"\n", lib.GANG_TRACE_JSONL, {}, "job"))
        else:
            super().__init__(_empty())

    _header: Dict[str, str] = {}
    _epoch: "Optional[pandas.Timestamp]" = None

    # ---- making one ----------------------------------------------------------------------

    @classmethod
    def _of(cls, box: Box) -> "Trace":
        made = cls.__new__(cls)
        Handle.__init__(made, box)
        return made

    @classmethod
    def read(
        cls,
        path: Path,
        format: Optional[str] = None,
        *,
        on_error: str = "raise",
        max_jobs: int = 0,
        gpus_per_task: int = 0,
        batsim_flops: int = 0,
        epoch: Any = None,
        lenient: Optional[bool] = None,
        most: int = 0,
    ) -> "Trace":
        """Read a file, compressed (gzip, bzip2, xz) or not.

        Times in CSV and JSON lines (``submit_s``, ``start_s``) are seconds, or dates as those of
        :class:`Trace`: ISO 8601, with a time zone or without, or another text that pandas reads
        and that has a year.

        >>> import gangsched as gs
        >>> lines = "job,submit_s,run_s\\na,2026-03-29T01:00+01:00,60\\nb,2026-03-29T03:00+02:00,60"
        >>> trace = gs.Trace.from_text(lines)
        >>> trace.column("submit_s"), str(trace.epoch)
        (array([   0., 3600.]), '2026-03-29 01:00:00+01:00')

        Rows of jobs that never ran (a run time of -1, say) are left out, with a warning that says
        how many, and the line of the first one (:attr:`skipped_line`).

        Parameters
        ----------
        format
            ``csv``, ``jsonl``, ``swf``, ``procs``, ``philly``, ``philly-log``, ``helios``, ``pai``,
            ``openb``, ``batsim``, ``tiresias``; None: the first lines decide.
        on_error
            ``raise``: an unusable row is an error; ``skip``: such rows are left out, and counted
            (:attr:`skipped`).
        max_jobs
            Above 0: read only this number of jobs.
        gpus_per_task
            GPUs of a task, for formats that only have the GPUs of a job; 0: 8.
        batsim_flops
            Operations a second of one resource; 0: 10^9.
        epoch
            The date of second 0. None: the earliest date in the file, if there are dates (then
            ``submit_s`` needs one in all rows), or what an SWF log says.
        lenient, most
            Deprecated: ``on_error="skip"``, ``max_jobs``.

        Raises
        ------
        ParseError, OutOfRange, InvalidArgument
            The input is wrong; with line and column.
        NotSupported
            The format is unknown.
        OSError
            The file cannot be read.
        """
        content = read_bytes(path)
        options: Dict[str, Any] = {
            "on_error": on_error, "max_jobs": max_jobs, "gpus_per_task": gpus_per_task,
            "batsim_flops": batsim_flops,
        }
        if most:
            options["most"] = most
        if lenient is not None:
            options["lenient"] = lenient
        return cls._read_of(content, format, _current(options), os.fspath(path), as_epoch(epoch))

    @classmethod
    def _read_of(
        cls,
        content: bytes,
        format: Optional[str],
        options: Mapping[str, Any],
        place: str,
        epoch: "Optional[pandas.Timestamp]",
    ) -> "Trace":
        made = cls._with_dates(content, _format(format), options, epoch)
        warn_of(old_in_text(content, made.format))
        if made.skipped and options.get("on_error", "raise") == "raise":
            line = made.skipped_line
            warnings.warn(
                "%s: %d rows of jobs that did not run are left out%s"
                % (place, made.skipped, ", the first in line %d" % line if line else ""),
                UserWarning,
                stacklevel=3,
            )
        if made.format == "swf":
            made._header = _swf_header(content)
            made._epoch = _swf_epoch(made._header) if epoch is None else epoch
        return made

    @classmethod
    def _with_dates(
        cls,
        content: bytes,
        format: int,
        options: Mapping[str, Any],
        epoch: "Optional[pandas.Timestamp]",
    ) -> "Trace":
        """Read text, again with seconds if a time was not a number but a date."""
        lenient, made, failed = options.get("on_error") == "skip", None, None
        try:
            made = cls._of(_read(content, format, options))
            made._epoch = epoch
            if not made.skipped:
                return made
            is_csv, may_have = made.format == "csv", made.format in ("csv", "jsonl")
        except GangError as wrong:
            failed, may_have = wrong, wrong.path in TIMES
            is_csv = format == lib.GANG_TRACE_CSV or not content.lstrip().startswith(b"{")
        dated = in_seconds(content, is_csv, epoch, lenient) if may_have else None
        if dated is not None:
            made = cls._of(_read(dated[0], format, options))
            made._epoch = dated[1]
        elif failed is not None:
            raise failed
        assert made is not None
        return made

    @classmethod
    def from_text(
        cls, content: Union[str, bytes], format: Optional[str] = None, **options: Any
    ) -> "Trace":
        """As :meth:`read`, from text instead of a file."""
        if isinstance(content, str):
            content = content.encode("utf-8")
        known = ("on_error", "max_jobs", "gpus_per_task", "batsim_flops")
        epoch = as_epoch(options.pop("epoch", None))
        options = _current(options)
        for name in options:
            if name not in known:
                raise InvalidArgument(unknown("option", name, (*known, "epoch")), path=name)
        return cls._read_of(content, format, options, "text", epoch)

    @classmethod
    def from_dataframe(
        cls, table: "pandas.DataFrame", *, amounts: Optional[str] = None, epoch: Any = None
    ) -> "Trace":
        """A trace from a table: one row a job, the members of a job as columns.

        Required: ``submit_s``, ``run_s``. Times may be columns of dates, durations columns of
        ``timedelta``. The column ``job`` (or ``name``), or else the index, has
        the names; ``tasks`` or ``count`` the number of tasks. Empty cells (not-a-number, None)
        count as missing. Tables of :meth:`to_dataframe` work.

        Parameters
        ----------
        amounts : {"task", "job"}, optional
            ``"task"``: ``cpu``, ``mem_mib``, ``gpu`` are those of one task. ``"job"``: ``cpus``,
            ``mem_mib``, ``gpus`` are those of all tasks. None: ``"job"`` if there is a column
            ``cpus``, else ``"task"``.
        epoch
            As for :class:`Trace`.

        Examples
        --------
        >>> import pandas
        >>> import gangsched as gs
        >>> table = pandas.DataFrame({"submit_s": [0], "run_s": [60], "tasks": [4], "gpus": [8]})
        >>> gs.Trace.from_dataframe(table, amounts="job")[0]["gpu"]
        2

        Raises
        ------
        InvalidArgument
            A column contradicts ``amounts``.
        GangError
            ``line`` is the number of the row plus 2, as in a file with a header.
        """
        if not hasattr(table, "to_csv") or not hasattr(table, "columns"):
            raise InvalidArgument("expected a DataFrame, not %s" % type(table).__name__)
        made, at = _table_in_seconds(_in_words_of_now(table, amounts), as_epoch(epoch))
        if "preemptible" in made.columns:
            made = made.assign(preemptible=[_flag(value) for value in made["preemptible"]])
        if "job" not in made.columns and "name" not in made.columns:
            made.insert(0, "job", [str(name) for name in made.index])
        trace = cls._of(_read(made.to_csv(index=False).encode("utf-8"), lib.GANG_TRACE_CSV, {}))
        trace._epoch = at
        return trace

    @classmethod
    def from_batsim(cls, path: Path, *, resource: str = "core", flops: int = 10**9) -> "Trace":
        """Read a workload of Batsim, with what :meth:`to_batsim` added.

        Jobs with the member ``gangsched`` have their requests again; times, queues and users are
        those of the workload. Without such jobs it is :meth:`read`.

        Parameters
        ----------
        resource : {"core", "gpu"}
            What a resource is in other jobs: a task with one core, or one with a GPU.
        flops : int
            Operations a second of one resource.

        Raises
        ------
        GangError, OSError
            As for :meth:`read`.
        """
        from .batsim import read

        return read(cls, path, resource=resource, flops=flops)

    def to_batsim(
        self,
        path: Path,
        cluster: "Optional[Cluster]" = None,
        platform: Optional[Path] = None,
        *,
        profile: str = "delay",
        flops: int = 10**9,
        on_error: str = "raise",
    ) -> None:
        """Write a workload of GPU jobs for Batsim, and the platform: a host of it is one GPU.

        :mod:`gangsched.batsim` says what becomes of each member. :meth:`write` with the format
        ``batsim`` is for jobs of cores.

        ::

            trace.to_batsim("workload.json", cluster, "platform.xml")
            # batsim -p platform.xml -w workload.json -m master_host

        Parameters
        ----------
        path
            The workload; ``.gz`` compresses.
        cluster : Cluster, optional
            The machines; None: as many resources as the widest job needs.
        platform
            The file of the platform; None: none.
        profile : {"delay", "parallel_homogeneous"}
            What a job does.
        flops : int
            Operations a second of a GPU.
        on_error : {"raise", "skip"}
            ``skip``: leave out jobs without GPUs.

        Raises
        ------
        NotSupported
            A job has no GPUs.
        InvalidArgument
            A job comes before second 0; or an option is wrong.
        """
        from .batsim import write

        write(self, path, cluster, platform, profile=profile, flops=flops, on_error=on_error)

    def select(self, which: Any) -> "Trace":
        """A trace of some of the jobs. O(jobs).

        Parameters
        ----------
        which
            By the rules of pandas: a mask (one bool a job: list, array, Series), a slice, or a list
            of positions or of names, whose order the new trace has.

        Examples
        --------
        ::

            table = trace.to_dataframe()
            trace.select(table.gpus > 8)            # those that a mask picks
            trace.select(["train-1", "train-7"])    # by name

        Raises
        ------
        InvalidArgument
            The mask has another length.
        IndexError, NotFound
            There is no such job.
        TypeError
            It is none of these; floats are no positions.
        """
        chosen = positions(which, len(self), self.find)
        return self._made_of(((self, chosen),))

    def query(self, expression: str) -> "Trace":
        """The jobs for which an expression holds, as ``DataFrame.query`` on :meth:`to_dataframe`.

        ::

            trace.query("gpus >= 8 and queue == 'research'")
        """
        table = self.to_dataframe()
        if re.search(r"\blimit_s\b", expression):
            table = table.assign(limit_s=table[column_now("limit_s")])
        return self.select(table.query(expression).index)

    def filter(self, keep: Callable[[Dict[str, Any]], Any]) -> "Trace":
        """The jobs for which ``keep(job)`` is true, called with each job as a dict."""
        return self.select([bool(keep(job)) for job in self])

    @classmethod
    def concat(
        cls, traces: Iterable["Trace"], keys: Optional[Iterable[str]] = None
    ) -> "Trace":
        """One trace of the jobs of several, in this order. O(jobs). ``a + b`` is the same.

        Its epoch is the earliest of theirs. Jobs of a trace with an epoch keep their dates, those
        of a trace without keep their seconds.

        Parameters
        ----------
        keys
            One text for each trace: its jobs are named ``key/name``.

        Raises
        ------
        AlreadyExists
            Two jobs have the same name.
        InvalidArgument
            There is not one key for each trace; or only some epochs have a time zone.
        """
        listed = list(traces)
        for trace in listed:
            if not isinstance(trace, Trace):
                raise TypeError("expected a Trace, not %s" % type(trace).__name__)
        prefixes = None if keys is None else [utf8(key, "keys") for key in keys]
        if prefixes is not None and len(prefixes) != len(listed):
            raise InvalidArgument("%d keys for %d traces" % (len(prefixes), len(listed)))
        return cls._made_of(((trace, range(len(trace))) for trace in listed), prefixes)

    def __add__(self, other: object) -> "Trace":
        if not isinstance(other, Trace):
            return NotImplemented
        return Trace.concat((self, other))

    def __contains__(self, name: object) -> bool:
        """Whether a job has this name. O(1)."""
        if not isinstance(name, str):
            return False
        return self._find(name) is not None

    @staticmethod
    def _made_of(
        parts: Iterable[Tuple["Trace", Iterable[int]]], prefixes: Optional[List[bytes]] = None
    ) -> "Trace":
        parts = list(parts)
        epochs = [part._epoch for part, _ in parts if part._epoch is not None]
        epoch = first_of(epochs, "epoch") if epochs else None
        made, error, job = _empty(), new_error(), new("gang_trace_job")
        try:
            for number, (part, chosen) in enumerate(parts):
                later_ns = 0 if part._epoch is None else part._epoch.value - epoch.value
                with part._held() as trace:
                    for index in chosen:
                        check(lib.gang_trace_get(trace, index, job), what="job %d" % index)
                        if later_ns:
                            job.submit_ns += later_ns
                            if job.started_ns != lib.GANG_TRACE_UNKNOWN:
                                job.started_ns += later_ns
                        if prefixes is not None:
                            name = ffi.new("char[]", prefixes[number] + b"/" + ffi.string(job.name))
                            job.name = name
                        check(lib.gang_trace_add(made.pointer, job, error), error)
        except BaseException:
            made.release()
            raise
        joined = Trace._of(made)
        joined._epoch = epoch
        return joined

    def changed(self, **columns: Any) -> "Trace":
        """Deprecated: :meth:`with_columns`."""
        deprecated("Trace.changed", "with_columns")
        return self.with_columns(**columns)

    def with_columns(self, **columns: Any) -> "Trace":
        """A trace with other numbers in some columns.

        ``submit_s``, ``run_s``, ``time_limit_s`` (seconds; also dates, if there is an epoch, and
        durations) and ``priority`` can change. Each is an array or one value.

        ::

            trace.with_columns(submit_s=trace.column("submit_s") / 1.2)     # 20 % more load
        """
        members = {
            "submit_s": "submit_ns", "run_s": "run_ns", "time_limit_s": "limit_ns",
            "priority": "priority",
        }
        values: Dict[str, List[int]] = {}
        called = {member: name for name, member in members.items()}
        count = len(self)
        for name, given in columns.items():
            name = column_now(name)
            if name not in members:
                raise InvalidArgument(
                    unknown("column that can change", name, members), path=name
                )
            if isinstance(given, numbers.Real) or is_date(given) or is_duration(given):
                given = [given] * count
            listed = (
                list(given)
                if hasattr(given, "__iter__") and not isinstance(given, (str, bytes))
                else []
            )
            if len(listed) != count:
                raise InvalidArgument(
                    "%s: one number for each of %d jobs" % (name, count), path=name
                )
            if name == "submit_s":
                listed = [
                    time_s(value, self._epoch, "%s[%d]" % (name, i))
                    for i, value in enumerate(listed)
                ]
            scale = 1 if name == "priority" else _NS
            values[members[name]] = [
                _whole(value, scale, name, i) for i, value in enumerate(listed)
            ]
        made, error, job = _empty(), new_error(), new("gang_trace_job")
        try:
            with self._held() as trace:
                for i in range(count):
                    check(lib.gang_trace_get(trace, i, job))
                    for member, column in values.items():
                        setattr(job, member, column[i])
                    try:
                        check(lib.gang_trace_add(made.pointer, job, error), error)
                    except GangError as wrong:
                        which = called.get(wrong.path)
                        raise placed(
                            wrong, "%s[%d]" % (which, i) if which else wrong.path
                        ) from None
        except BaseException:
            made.release()
            raise
        changed = Trace._of(made)
        changed._epoch = self._epoch
        return changed

    def __reduce__(self) -> Any:
        text_of = (self.to_text("jsonl"), "jsonl") if len(self) else ("", "jsonl")
        state = {"_header": self._header, "_epoch": self._epoch}
        return (Trace.from_text, text_of, state) if any(
            value not in ({}, None) for value in state.values()
        ) else (Trace.from_text, text_of)

    # ---- looking at it -------------------------------------------------------------------

    def __len__(self) -> int:
        with self._held() as trace:
            return int(lib.gang_trace_count(trace))

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Iterate over the jobs as dicts."""
        for line in self.to_text("jsonl").splitlines():
            yield json.loads(line, object_hook=TraceJob)

    def __getitem__(self, which: Union[int, str, slice]) -> Any:
        """One job as a dict, by position or name; for a slice, a trace.

        Raises
        ------
        IndexError, NotFound
            There is no such job.
        """
        if isinstance(which, slice):
            return self.select(which)
        if isinstance(which, str):
            which = self.find(which)
        with self._made_of(((self, (position(which, len(self)),)),)) as one:
            return next(iter(one))

    def find(self, name: str) -> int:
        """The position of a job by its name.

        O(1).

        Raises
        ------
        NotFound
            There is no such job.
        """
        found = self._find(name)
        if found is None:
            with self._held() as trace:
                raise NotFound(unknown("job", name, _words(trace)["job"]))
        return found

    def _find(self, name: str) -> Optional[int]:
        """The position of a job; None: there is no such job."""
        out = ffi.new("size_t *")
        with self._held() as trace:
            result = lib.gang_trace_find(trace, utf8(name, "name"), out)
            if result == lib.GANG_ENOENT:
                return None
            check(result, what="job '%s'" % name)
        return int(out[0])

    @property
    def format(self) -> str:
        """The format that the trace was read from; ``""`` if it was not read."""
        with self._held() as trace:
            return text(lib.gang_trace_format_name(lib.gang_trace_format(trace)))

    @property
    def skipped(self) -> int:
        """The number of rows that :meth:`read` skipped."""
        with self._held() as trace:
            return int(lib.gang_trace_skipped(trace))

    @property
    def skipped_line(self) -> int:
        """The line of the first row that :meth:`read` skipped; 0: none, or not known."""
        with self._held() as trace:
            return int(lib.gang_trace_skipped_line(trace))

    @property
    def header(self) -> Dict[str, str]:
        """The header fields of a log in the Standard Workload Format: ``MaxNodes``, ``Computer``,
        ``UnixStartTime`` ...; a field that is there several times (``Queue``, ``Note``) has its
        values on lines of their own. Empty for other formats. Pickling keeps it.
        """
        return dict(self._header)

    @property
    def epoch(self) -> "Optional[pandas.Timestamp]":
        """The date of second 0; None: it is not known.

        From dates of the jobs (also in CSV and JSON lines), ``epoch=``, or ``UnixStartTime`` and
        ``TimeZoneString`` of a log in the Standard Workload Format. It is kept by all methods, by
        pickling and by simulations, but not by files.
        """
        return self._epoch

    def with_epoch(self, epoch: Any) -> "Trace":
        """The same jobs with another date of second 0; None: without. O(jobs)."""
        made = self.select(slice(None))
        made._epoch = as_epoch(epoch)
        return made

    def dates(self, seconds: Any) -> Any:
        """Seconds as dates: a ``DatetimeIndex``, or a ``Timestamp`` for one number.

        >>> import gangsched as gs
        >>> trace = gs.Trace([{"submit_s": 5400, "run_s": 60}], epoch="2026-01-05")
        >>> str(trace.dates(trace.column("submit_s"))[0])
        '2026-01-05 01:30:00'

        Raises
        ------
        InvalidArgument
            There is no epoch.
        """
        return dates_of(seconds, self._epoch)

    def column(self, name: str) -> Any:
        """One numeric column of all jobs, as a numpy array of float.

        O(jobs).

        Names: ``submit_s``, ``run_s``, ``time_limit_s``, ``start_s`` (seconds), ``priority``,
        ``tasks``, ``cpus`` (cores), ``mem_mib``, ``gpus`` (devices, shares as fractions), amounts
        as sums over all tasks. Unknown values are not-a-number.
        """
        name = column_now(name)
        found = next((column for column in _COLUMNS if column[0] == name), None)
        if found is None:
            raise NotFound(unknown("column", name, [column[0] for column in _COLUMNS]))
        with self._held() as trace:
            return _column(trace, found[1], found[2])

    def to_dataframe(self, amounts: str = "job") -> "pandas.DataFrame":
        """One row a job: ``job``, ``queue``, ``user``, and the columns of :meth:`column`;
        ``partition`` (of the first group) if some job names one.

        O(jobs).

        Parameters
        ----------
        amounts : {"job", "task"}
            ``"job"``: ``cpus``, ``mem_mib``, ``gpus`` of all tasks. ``"task"``: ``cpu``,
            ``mem_mib``, ``gpu`` of one task (the mean, where its groups differ).

        Examples
        --------
        >>> import gangsched as gs
        >>> trace = gs.Trace([{"submit_s": 0, "run_s": 60, "count": 4, "gpu": 2}])
        >>> trace.to_dataframe().gpus[0], trace.to_dataframe("task").gpu[0]
        (8.0, 2.0)
        """
        from .table import Table

        with self._held() as trace:
            words = _words(trace)
            numbers = {name: _column(trace, number, scale) for name, number, scale in _COLUMNS}
        made: Dict[str, Any] = dict(words)
        shown = amounts_of(numbers.__getitem__, amounts)
        for name, column in numbers.items():
            if name == "cpus":
                made.update(shown)
            elif name not in ("mem_mib", "gpus"):
                made[name] = column
        return Table(made)

    def to_text(self, format: str = "csv") -> str:
        """The trace as text: ``csv``, ``jsonl``, ``swf`` or ``batsim``.

        Raises
        ------
        NotSupported
            The format cannot express a job, which the text names.
        """
        writer = Writer()
        self._write(_format(format), writer)
        return writer.value()

    def write(self, path: Path, format: Optional[str] = None) -> None:
        """Write the trace to a file.

        A name that ends in ``.gz``, ``.bz2`` or ``.xz`` selects compression.

        Parameters
        ----------
        format
            None: by the name, ``.jsonl``, ``.swf``, ``.json`` (Batsim), else CSV.
        """
        if format is None:
            stem = os.fspath(path)
            for ending in (".gz", ".bz2", ".xz"):
                stem = stem[: -len(ending)] if stem.endswith(ending) else stem
            endings = {".jsonl": "jsonl", ".swf": "swf", ".json": "batsim"}
            format = endings.get(os.path.splitext(stem)[1], "csv")
        content = self.to_text(format)  # complete before the file is truncated
        with writer_for(path) as file:
            file.write(content.encode("utf-8"))

    def __repr__(self) -> str:
        if self.closed:
            return "<Trace, %s>" % self._gone
        count = len(self)
        return "<Trace: %d jobs%s>" % (count, ", " + self.format if self.format else "")

    def _repr_html_(self) -> str:
        from html import escape

        if self.closed or not self:
            return "<p>%s</p>" % escape(repr(self))
        with self[:10] as head:
            table: str = head.to_dataframe().to_html()
        return "<p>%s</p>%s" % (escape(repr(self)), table)

    # ---- inside --------------------------------------------------------------------------

    def _write(self, format: int, writer: Writer) -> None:
        error = new_error()
        with self._held() as trace:
            result = lib.gang_trace_write(trace, format, WRITE, writer.user, error)
        writer.settle()
        check(result, error)


def _empty() -> Box:
    out = ffi.new("gang_trace **")
    check(lib.gang_trace_new(ffi.NULL, out))
    return Box(out[0], lib.gang_trace_free)


def _no_job(jobs: Any, job: Any, line: int) -> GangError:
    hint = ""
    if hasattr(jobs, "to_csv"):
        hint = ": Trace.from_dataframe() converts a table"
    elif isinstance(jobs, (str, bytes)):
        hint = ": Trace.read() reads a file"
    return InvalidArgument(
        "job %d: expected a dict, not %s%s" % (line, type(job).__name__, hint), line=line
    )


def as_trace(given: Any) -> Trace:
    """A trace, or the trace of a path.

    Raises
    ------
    TypeError
        The argument is of another type.
    GangError, OSError
        As for :meth:`Trace.read`.
    """
    if isinstance(given, Trace):
        return given
    if isinstance(given, (str, bytes, os.PathLike)):
        return Trace.read(given)  # type: ignore[arg-type]
    hint = ""
    if hasattr(given, "to_csv"):
        hint = ": Trace.from_dataframe() converts a table"
    elif hasattr(given, "__iter__"):
        hint = ": Trace(...) converts dicts"
    raise TypeError("expected a Trace or its path, not %s%s" % (type(given).__name__, hint))


def _current(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of :meth:`Trace.read` with their current names."""
    made = dict(options)
    if "most" in made:
        deprecated("the option most", "max_jobs")
        made["max_jobs"] = made.pop("most")
    if "lenient" in made:
        deprecated("the option lenient", 'on_error="skip"')
        made["on_error"] = "skip" if made.pop("lenient") else "raise"
    return made


#: Members of a job that are durations; those that are times: :data:`TIMES`.
_DURATIONS = ("run_s", "time_limit_s", "limit_s")


def _in_seconds(
    jobs: Iterable[Any], epoch: "Optional[pandas.Timestamp]"
) -> "Tuple[Iterable[Any], Optional[pandas.Timestamp]]":
    """Jobs with seconds instead of dates and durations, and their epoch."""
    if not hasattr(jobs, "__iter__") or hasattr(jobs, "to_csv") or isinstance(jobs, (str, bytes)):
        return jobs, epoch  # the caller refuses it
    listed, numbered, given = list(jobs), 0, epoch
    dated: "List[Tuple[int, str, pandas.Timestamp]]" = []
    for line, job in enumerate(listed, 1):
        if not isinstance(job, Mapping):
            continue
        lasting = [name for name in (*TIMES, *_DURATIONS) if is_duration(job.get(name))]
        found = [name for name in TIMES if is_date(job.get(name))]
        if lasting or found:
            listed[line - 1] = {**job, **{name: duration_s(job[name]) for name in lasting}}
        with _of_job(line):
            dated += [(line, name, as_date(job[name], name)) for name in found]
        if not numbered and "submit_s" in job and "submit_s" not in found:
            numbered = line
    if dated and epoch is None:
        if numbered:
            with _of_job(numbered):
                said = "submit_s: a number beside dates needs epoch="
                raise InvalidArgument(said, path="submit_s")
        epoch = dated[0][2]
    for line, name, date in dated:
        with _of_job(line):
            check_zones(date, cast("pandas.Timestamp", epoch), name)
    if dated and given is None:
        epoch = min(date for _, _, date in dated)
    for line, name, date in dated:
        listed[line - 1][name] = time_s(date, epoch, name)
    return listed, epoch


@contextmanager
def _of_job(line: int, what: str = "job") -> Iterator[None]:
    """Add the number of a job to an error."""
    try:
        yield
    except InvalidArgument as wrong:
        raise InvalidArgument(
            "%s %d: %s" % (what, line, wrong), path=wrong.path, line=line
        ) from None


def _table_in_seconds(
    table: "pandas.DataFrame", epoch: "Optional[pandas.Timestamp]"
) -> "Tuple[pandas.DataFrame, Optional[pandas.Timestamp]]":
    """A table with seconds instead of dates and durations, and its epoch."""
    import pandas

    kinds = pandas.api.types
    columns: Dict[str, List[Any]] = {}
    for name in (*TIMES, *_DURATIONS):
        if name in table.columns and not kinds.is_numeric_dtype(table[name].dtype):
            columns[name] = [None if value is pandas.NaT else value for value in table[name]]
    if not columns:
        return table, epoch
    rows = [
        {name: column[i] for name, column in columns.items() if column[i] is not None}
        for i in range(len(table))
    ]
    if "submit_s" in table.columns and "submit_s" not in columns:
        rows = [{"submit_s": 0, **row} for row in rows]
    try:
        found, epoch = _in_seconds(rows, epoch)
    except InvalidArgument as wrong:
        line = wrong.line + 1  # as in a file with a header
        text_of = str(wrong).split(": ", 1)[1]
        raise InvalidArgument("line %d: %s" % (line, text_of), path=wrong.path, line=line) from None
    listed = list(found)
    made = {name: [row.get(name) for row in listed] for name in columns}
    return table.assign(**made), epoch


def _swf_epoch(header: Mapping[str, str]) -> "Optional[pandas.Timestamp]":
    """The date of second 0 of a log in the Standard Workload Format; None: it does not say."""
    try:
        start = int(header.get("UnixStartTime", ""))
    except ValueError:
        return None
    import pandas

    try:
        utc = pandas.Timestamp(start, unit="s", tz="UTC")
    except (ValueError, OverflowError):
        return None
    try:
        return utc.tz_convert(header.get("TimeZoneString", "UTC"))
    except Exception:  # a zone that this machine does not know
        return utc


#: ``; MaxNodes: 100`` before the jobs
_HEADER = re.compile(rb"^;\s*([A-Za-z]\w*)\s*:[ \t]*(.*?)\s*$")


def _swf_header(content: bytes) -> Dict[str, str]:
    """The fields of the comments before the first job; a field that is there again goes on."""
    found: Dict[str, str] = {}
    for line in content.split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b";"):
            break
        match = _HEADER.match(line.strip())
        if match:
            name, value = (part.decode("utf-8", "replace") for part in match.groups())
            found[name] = "%s\n%s" % (found[name], value) if name in found else value
    return found


def _with_line(error: GangError, what: str) -> GangError:
    """The same error with the line in its message, if it only names a member."""
    if not error.line or not error.path:
        return error
    detail: Dict[str, Any] = dict(error.__dict__)
    made = type(error)(
        "%s %d: %s: %s" % (what, error.line, error.path, error.text), detail.pop("code"), **detail
    )
    made.__dict__.update(error.__dict__)
    return made


def _read(content: bytes, format: int, options: Mapping[str, Any], what: str = "line") -> Box:
    opts = new("gang_trace_opts")
    opts.format = format
    for name, value in options.items():
        if name == "on_error":
            if value not in ("raise", "skip"):
                raise InvalidArgument(
                    "on_error: expected 'raise' or 'skip', not %r" % (value,), path=name
                )
            opts.lenient = int(value == "skip")
        else:
            setattr(opts, name, whole(value, name))
    if not content and format == lib.GANG_TRACE_JSONL:
        return _empty()
    out, error = ffi.new("gang_trace **"), new_error()
    try:
        check(lib.gang_trace_read(ffi.from_buffer(content), len(content), opts, out, error), error)
    except GangError as wrong:
        raise _with_line(wrong, what) from None
    return Box(out[0], lib.gang_trace_free)


def _column(trace: Any, number: int, scale: float) -> Any:
    import numpy

    count = lib.gang_trace_count(trace)
    values = numpy.empty(count, dtype=numpy.int64)
    if count:
        buffer = ffi.cast("int64_t *", ffi.from_buffer(values))
        check(lib.gang_trace_column(trace, number, 0, count, buffer))
    if scale == 1:
        return values
    return numpy.where(values == lib.GANG_TRACE_UNKNOWN, numpy.nan, values / scale)


def _words(trace: Any) -> Dict[str, List[str]]:
    """The names, queues, users and partitions of all jobs."""
    count = lib.gang_trace_count(trace)

    def words(which: int) -> List[str]:
        def fill(buffer: Any, size: int, ends: Any) -> int:
            return int(lib.gangsched_py_trace_words(trace, which, count, buffer, size, ends))

        return texts(count, fill)

    found = {"job": words(0), "queue": words(1), "user": words(2)}
    partitions = words(3)
    return {**found, "partition": partitions} if any(partitions) else found


def _whole(value: Any, scale: int, name: str, i: int) -> int:
    path = "%s[%d]" % (name, i)
    try:
        found = int(value) * scale if isinstance(value, int) else int(round(float(value) * scale))
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument("%s: expected a number, not %r" % (path, value), path=path) from None
    if abs(found) >= 2**63:
        raise OutOfRange("%s: %s is too large" % (path, value), path=path)
    return found


def _flag(value: Any) -> Any:
    """True and False, also of numpy, as text for CSV."""
    return str(value).lower() if str(value) in ("True", "False") else value


def _in_words_of_now(table: "pandas.DataFrame", amounts: Optional[str]) -> "pandas.DataFrame":
    """A table with the columns of the library's CSV, amounts of one task."""
    import pandas

    made = pandas.DataFrame(table, copy=False).copy(deep=False)
    if "limit_s" in made.columns:
        made = made.rename(columns={"limit_s": column_now("limit_s")})
    totals = [name for name in ("cpus", "gpus") if name in made.columns]
    singles = [name for name in ("cpu", "gpu") if name in made.columns]
    if amounts is None:
        amounts = "job" if "cpus" in totals else "task"
        if amounts == "task":
            warn_of({"gpus", "gpu_milli"} & set(made.columns))
            totals = []
    check_amounts(amounts)
    wrong = singles if amounts == "job" else totals
    if wrong:
        raise InvalidArgument(
            "%s: with amounts='%s' the column is %s"
            % (wrong[0], amounts, wrong[0] + "s" if amounts == "job" else wrong[0][:-1]),
            path=wrong[0],
        )
    return _of_one_task(made) if amounts == "job" else made


def _of_one_task(table: "pandas.DataFrame") -> "pandas.DataFrame":
    """The same table with amounts of one task instead of all tasks."""
    import numpy

    named = next((name for name in ("tasks", "count") if name in table.columns), None)
    tasks = numpy.ones(len(table)) if named is None else _numbers(table, named, 1)
    each_of = numpy.where(tasks == 0, 1, tasks)  # reading the table reports a task count of 0
    found = {}
    for name, one in (("cpus", "cpu"), ("mem_mib", "mem_mib"), ("gpus", "gpu")):
        if name in table.columns:
            found[one] = _numbers(table, name, numpy.nan) / each_of
    if "gpu" in found:
        found["gpu"] = numpy.round(found["gpu"], 3)
    return table.drop(columns=["cpus", "gpus"], errors="ignore").assign(**found)


def _numbers(table: "pandas.DataFrame", name: str, missing: float) -> Any:
    """A column as numbers, with ``missing`` in empty cells.

    Raises
    ------
    InvalidArgument
        A cell is no number.
    """
    import numpy
    import pandas

    try:
        found = pandas.to_numeric(table[name]).to_numpy(dtype=numpy.float64, na_value=numpy.nan)
    except (TypeError, ValueError) as error:
        raise InvalidArgument("%s: %s" % (name, error), path=name) from None
    if not (abs(found[~numpy.isnan(found)]) < 2**53).all():
        raise OutOfRange("%s: must be finite, and less than 2^53" % name, path=name)
    return numpy.where(numpy.isnan(found), missing, found)


__all__ = ["Trace", "as_trace", "formats"]

