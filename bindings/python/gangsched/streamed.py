# SPDX-License-Identifier: Apache-2.0
"""Results whose tables lie in files: written while the simulation ran, read when they are asked for."""

import fcntl
import os
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Optional, Tuple, Union

from ._native import WRITE, Call, ffi, lib, new
from .errors import Busy, InvalidArgument, Stale, check
from .result import _COLUMNS, Result
from .sim import ENDS, STATES, Session

#: Files, and the tables of the library that are in them.
FILES = {
    "jobs.csv": lib.GANG_SIM_JOBS_CSV,
    "allocations.csv": lib.GANG_SIM_ALLOCATIONS_CSV,
    "timeline.csv": lib.GANG_SIM_TIMELINE_CSV,
}

#: Columns of jobs in the file, where they are called otherwise than in Result.
_IN_FILE = {"cpus": "cpu_milli", "mem_mib": "memory_bytes", "gpus": "gpu_milli"}

#: What is read when it is asked for.
_LAZY = {"names": "_read_jobs", "_raw": "_read_jobs", "_allocations": "_read_allocations", "_samples": "_read_samples"}


#: By which a result knows its file again: length and CRC-32.
Mark = Tuple[int, int]


class Sink(Call):
    """A file that a table is written to (gang_write_fn), for this session alone. It outlives the simulation.

    Raises:
        Busy: another session writes to it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.mark: Mark = (0, 0)
        self.file: BinaryIO = open(path, "ab")  # not emptied before it is known to be ours
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise Busy("stream: another session, which is not closed, writes to %s" % path, path="stream") from None
        except OSError:
            pass  # a file system without locks
        self.file.truncate(0)

    def take(self, piece: bytes) -> None:
        self.file.write(piece)
        size, crc = self.mark
        self.mark = size + len(piece), zlib.crc32(piece, crc)

    def leave(self) -> None:
        """In the child of a fork(): what is in the buffer is the parent's to write, and so is the lock."""
        if self.file.closed:
            return
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nothing, self.file.fileno(), inheritable=False)
        os.close(nothing)
        self.file.close()


class Stream:
    """The tables of a session on their way into files of one directory, which is made if it is not there.

    Raises:
        OSError: they cannot be made. Busy: another session writes there.
    """

    def __init__(self, directory: "Union[str, os.PathLike[str]]") -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        #: when the files were ended: events and jobs until then
        self.ended: Optional[Tuple[int, int]] = None
        self.sinks: Dict[str, Sink] = {}
        try:
            for name in FILES:
                self.sinks[name] = Sink(self.directory / name)
        except BaseException:
            self.close()
            raise

    def begin(self, sim: Any) -> None:
        for name, table in FILES.items():
            check(lib.gang_sim_stream(sim, table, WRITE, self.sinks[name].user), what=name)

    def settle(self) -> None:
        """Raise what writing raised."""
        for sink in self.sinks.values():
            sink.settle()

    def end(self, sim: Any) -> None:
        """Write what is left; a second time there is nothing.

        Raises:
            InvalidArgument: more has happened since.
        """
        info = new("gang_sim_info")
        check(lib.gang_sim_get_info(sim, info))
        now = (int(info.events), int(info.jobs))
        if self.ended is not None and self.ended != now:
            raise InvalidArgument("the files were ended with an earlier result, and the session has gone on since")
        for name, table in FILES.items():
            result = lib.gang_sim_stream(sim, table, ffi.NULL, ffi.NULL)
            self.settle()
            check(result, what=name)
        for sink in self.sinks.values():
            sink.file.flush()
        self.ended = now

    def close(self) -> None:
        with ExitStack() as stack:  # all of them, also if one cannot write what it still has
            for sink in self.sinks.values():
                stack.callback(sink.file.close)

    def leave(self) -> None:
        """In the child of a fork()."""
        for sink in self.sinks.values():
            sink.leave()


class StreamedResult(Result):
    """A :class:`Result` whose tables are read from ``directory`` when they are asked for, and kept then.

    What it tells is the same; rows of :attr:`allocations` that begin in the same instant are in the order of the
    jobs. It can be pickled; where it is unpickled the files must be. Tables raise :class:`Stale` if the files are not those
    that it wrote: another session that streams to the same directory makes them anew.

    Attributes:
        directory: where ``jobs.csv``, ``allocations.csv`` and ``timeline.csv`` are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path()
        self._count = 0
        self._marks: Dict[str, Mark] = {}
        for name in _LAZY:
            del self.__dict__[name]

    @classmethod
    def of(cls, session: Session) -> "StreamedResult":
        """Of a session that writes its tables to files: they are ended with it."""
        made = cls()
        assert session._stream is not None
        with session._held() as sim, session._traces_held():
            session._stream.end(sim)
        made.directory = session._stream.directory
        made._marks = {name: sink.mark for name, sink in session._stream.sinks.items()}
        made._take(session)
        made._count = made.info.jobs
        return made

    def __getattr__(self, name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError("a result has no %r" % name)
        getattr(self, _LAZY[name])()
        return self.__dict__[name]

    def __getstate__(self) -> Dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key not in _LAZY}

    def __len__(self) -> int:
        return self._count

    # ---- reading -------------------------------------------------------------------------

    def _read(self, name: str, texts: List[str]) -> Any:
        """A file as a DataFrame: these columns are text, the others numbers, of which some may be missing."""
        import pandas

        path = self.directory / name
        if _mark_of(path) != self._marks[name]:
            raise Stale("%s is not what this result wrote: it was written anew, or changed" % path, path=str(path))
        columns = pandas.read_csv(path, nrows=0).columns
        missing = {column: [""] for column in columns if column not in texts}
        kinds = {column: str for column in texts}
        return pandas.read_csv(path, dtype=kinds, keep_default_na=False, na_values=missing, encoding="utf-8")

    def _read_jobs(self) -> None:
        import numpy

        table = self._read("jobs.csv", ["job", "queue", "user", "state", "end"])
        table = table.iloc[numpy.argsort(table["index"].to_numpy(), kind="stable")]
        words = {**self._words, "state": list(STATES.values()), "end": list(ENDS.values())}
        raw: Dict[str, Any] = {}
        for name, _, scale in _COLUMNS:
            column = table[_IN_FILE.get(name, name)]
            if scale == 0:
                raw[name] = _numbers_of(column, words[name])
            else:
                raw[name] = _ns(column) if name.endswith("_s") else column.to_numpy(dtype=numpy.int64)
        self.names = table["job"].tolist()
        self._raw = raw

    def _read_allocations(self) -> None:
        import numpy

        table = self._read("allocations.csv", ["job", "node", "gpus"])
        rows = numpy.zeros(len(table), dtype=_kind("gang_sim_allocation"))
        ids = {name: number for number, name in self._node_of.items()}
        rows["index"] = table["index"].to_numpy()
        rows["node"] = [ids.get(name, 0) for name in table["node"]]
        rows["begin_ns"], rows["end_ns"] = _ns(table["begin_s"]), _ns(table["end_s"])
        for name in ("tasks", "cpu_milli", "memory_bytes", "gpu_milli", "part"):
            rows[name] = table[name].to_numpy()
        bits = {text: sum(1 << int(bit) for bit in text.split()) for text in table["gpus"].unique()}
        rows["gpus"] = numpy.array([bits[text] for text in table["gpus"]], dtype=numpy.uint64)
        self._allocations = rows[numpy.lexsort((rows["index"], rows["begin_ns"]))]

    def _read_samples(self) -> None:
        import numpy

        table = self._read("timeline.csv", [])
        rows = numpy.zeros(len(table), dtype=_kind("gang_sim_sample"))
        rows["at_ns"] = _ns(table["at_s"])
        for name in ("running", "pending", "cpu_milli", "memory_bytes", "gpu_milli", "nodes_up"):
            rows[name] = table[name].to_numpy()
        self._samples = rows


def _mark_of(path: Path) -> Mark:
    size = crc = 0
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return size, crc


def _kind(struct: str) -> Any:
    from .result import _rows

    return _rows(None, struct, 0, None).dtype


def _numbers_of(column: Any, words: List[str]) -> Any:
    """Positions of texts in a list; what is not there, "" of no queue, has -1."""
    import numpy

    place = {word: i for i, word in enumerate(words)}
    return numpy.array([place.get(word, -1) for word in column], dtype=numpy.int64)


def _ns(column: Any) -> Any:
    """Seconds as the library wrote them, to the ns, which a float has for some days only."""
    import numpy

    known = column.notna().to_numpy()
    values = column.to_numpy(dtype=numpy.float64)
    found = numpy.full(len(values), lib.GANG_TRACE_UNKNOWN, dtype=numpy.int64)
    whole = numpy.trunc(values[known])
    # Whole seconds are exact; of the rest nine digits are, as long as the float has them.
    found[known] = whole.astype(numpy.int64) * 10**9 + numpy.rint((values[known] - whole) * 1e9).astype(numpy.int64)
    return found


__all__ = ["StreamedResult"]
