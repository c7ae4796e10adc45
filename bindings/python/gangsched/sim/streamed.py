# SPDX-License-Identifier: Apache-2.0
"""Results with tables in files: the simulation writes them while it runs, the result reads them
when they are used.
"""

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List

from .._native import lib
from ..enums import JobEnd, JobState
from ..errors import StaleHandle
from .result import COLUMNS, Result, row_type
from .stream import Mark

if TYPE_CHECKING:
    from .simulation import Simulation

#: Amounts in files: column, units of the library in one of the file.
_AMOUNTS = {
    "cpu_milli": ("cpus", 1e3), "memory_bytes": ("mem_mib", 2.0**20), "gpu_milli": ("gpus", 1e3),
}

#: Attributes that are read from files when they are used, and the methods that read them.
_LAZY = {
    "names": "_read_jobs", "_raw": "_read_jobs", "_allocations": "_read_allocations",
    "_samples": "_read_samples",
}


class StreamedResult(Result):
    """A :class:`Result` that reads its tables from ``directory`` when they are first used.

    The contents are the same; rows of :attr:`allocations` that begin in the same instant are in the
    order of the jobs. It can be pickled; the files must exist where it is unpickled. Tables raise
    :class:`StaleHandle` if another simulation has replaced the files.

    Attributes
    ----------
    directory : Path
        The directory with ``jobs.csv``, ``allocations.csv`` and ``timeline.csv``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path()
        self._count = 0
        self._marks: Dict[str, Mark] = {}
        for name in _LAZY:
            del self.__dict__[name]

    @classmethod
    def of(cls, simulation: "Simulation") -> "StreamedResult":
        """The results of a simulation that writes its tables to files. Ends the files."""
        made = cls()
        stream = simulation._stream
        assert stream is not None
        with simulation._held() as sim, simulation._traces_held():
            stream.end(sim)
        made.directory = stream.directory
        made._marks = {name: sink.mark for name, sink in stream.sinks.items()}
        made._take(simulation)
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
        """A file as a DataFrame: the columns ``texts`` are text, the others numbers, which may be
        missing.
        """
        import pandas

        path = self.directory / name
        if _mark_of(path) != self._marks[name]:
            raise StaleHandle(
                "%s is not the file that this result wrote: it was replaced or changed" % path,
                path=str(path),
            )
        columns = pandas.read_csv(path, nrows=0).columns
        missing = {column: [""] for column in columns if column not in texts}
        kinds = {column: str for column in texts}
        return pandas.read_csv(
            path, dtype=kinds, keep_default_na=False, na_values=missing, encoding="utf-8"
        )

    def _read_jobs(self) -> None:
        import numpy

        table = self._read("jobs.csv", ["job", "queue", "user", "state", "end"])
        table = table.iloc[numpy.argsort(table["index"].to_numpy(), kind="stable")]
        words = {**self._words, "state": JobState.words(), "end": JobEnd.words()}
        raw: Dict[str, Any] = {}
        in_library = {shown: member for member, (shown, _) in _AMOUNTS.items()}
        for name, _, scale in COLUMNS:
            if name in in_library:
                raw[name] = _amounts(table, in_library[name])
                continue
            column = table[name]
            if scale == 0:
                raw[name] = _numbers_of(column, words[name])
            else:
                raw[name] = (
                    _ns(column) if name.endswith("_s") else column.to_numpy(dtype=numpy.int64)
                )
        self.names = table["job"].tolist()
        self._raw = raw

    def _read_allocations(self) -> None:
        import numpy

        table = self._read("allocations.csv", ["job", "node", "devices"])
        rows = numpy.zeros(len(table), dtype=row_type("gang_sim_allocation"))
        ids = {name: number for number, name in self._node_of.items()}
        rows["index"] = table["index"].to_numpy()
        rows["node"] = [ids.get(name, 0) for name in table["node"]]
        rows["begin_ns"], rows["end_ns"] = _ns(table["begin_s"]), _ns(table["end_s"])
        rows["tasks"], rows["gang"] = table["tasks"].to_numpy(), table["gang"].to_numpy()
        for name in _AMOUNTS:
            rows[name] = _amounts(table, name)
        bits = {text: sum(1 << int(bit) for bit in text.split()) for text in table["devices"].unique()}
        rows["gpus"] = numpy.array([bits[text] for text in table["devices"]], dtype=numpy.uint64)
        self._allocations = rows[numpy.lexsort((rows["index"], rows["begin_ns"]))]

    def _read_samples(self) -> None:
        import numpy

        table = self._read("timeline.csv", [])
        rows = numpy.zeros(len(table), dtype=row_type("gang_sim_sample"))
        rows["at_ns"] = _ns(table["at_s"])
        for name in ("running", "pending", "nodes_up"):
            rows[name] = table[name].to_numpy()
        for name in _AMOUNTS:
            rows[name] = _amounts(table, name)
        self._samples = rows


def _mark_of(path: Path) -> Mark:
    size = crc = 0
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return size, crc


def _amounts(table: Any, name: str) -> Any:
    """A column of amounts in the units of the library."""
    import numpy

    shown, scale = _AMOUNTS[name]
    return numpy.rint(table[shown].to_numpy(dtype=numpy.float64) * scale).astype(numpy.int64)


def _numbers_of(column: Any, words: List[str]) -> Any:
    """The positions of texts in a list; -1 for a text not in it, such as "" for no queue."""
    import numpy

    place = {word: i for i, word in enumerate(words)}
    return numpy.array([place.get(word, -1) for word in column], dtype=numpy.int64)


def _ns(column: Any) -> Any:
    """Seconds as the library wrote them, as exact ns.

    One float alone is exact to the ns for some days only.
    """
    import numpy

    known = column.notna().to_numpy()
    values = column.to_numpy(dtype=numpy.float64)
    found = numpy.full(len(values), lib.GANG_TRACE_UNKNOWN, dtype=numpy.int64)
    whole = numpy.trunc(values[known])
    # Whole seconds are exact. The fraction has nine digits if the float has that many.
    found[known] = whole.astype(numpy.int64) * 10**9 + numpy.rint(
        (values[known] - whole) * 1e9
    ).astype(numpy.int64)
    return found


__all__ = ["StreamedResult"]
