# SPDX-License-Identifier: Apache-2.0
"""Tables of a simulation on their way into files, while the simulation runs."""

import fcntl
import os
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Dict, Optional, Tuple, Union

from .._native import WRITE, Call, ffi, lib, new
from ..errors import Busy, InvalidArgument, check

#: Names of the files, and their tables in the library.
FILES = {
    "jobs.csv": lib.GANG_SIM_JOBS_CSV,
    "allocations.csv": lib.GANG_SIM_ALLOCATIONS_CSV,
    "timeline.csv": lib.GANG_SIM_TIMELINE_CSV,
}

#: Length and CRC-32 of a file: a result compares them before it reads the file.
Mark = Tuple[int, int]


class Sink(Call):
    """A file that the library writes a table to (gang_write_fn).

    It outlives the simulation.

    Raises
    ------
    Busy
        Another simulation writes to the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.mark: Mark = (0, 0)
        self.file: BinaryIO = open(path, "ab")  # truncated only after the lock is ours
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise Busy(
                "stream: another open simulation writes to %s" % path, path="stream"
            ) from None
        except OSError:
            pass  # a file system without locks
        self.file.truncate(0)

    def take(self, piece: bytes) -> None:
        self.file.write(piece)
        size, crc = self.mark
        self.mark = size + len(piece), zlib.crc32(piece, crc)

    def leave(self) -> None:
        """In the child of a fork(): close the file without writing the buffer or releasing the lock
        of the parent.
        """
        if self.file.closed:
            return
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nothing, self.file.fileno(), inheritable=False)
        os.close(nothing)
        self.file.close()


class Stream:
    """The files of one directory that get the tables of a simulation.

    Makes the directory if necessary.

    Raises
    ------
    OSError
        A file cannot be made.
    Busy
        Another simulation writes there.
    """

    def __init__(self, directory: "Union[str, os.PathLike[str]]") -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        #: events and jobs when the files were ended
        self.ended: Optional[Tuple[int, int]] = None
        self.sinks: Dict[str, Sink] = {}
        try:
            for name in FILES:
                self.sinks[name] = Sink(self.directory / name)
        except BaseException:
            self.close()
            raise

    def begin(self, sim: Any) -> None:
        """Tell the library to write to the files."""
        for name, table in FILES.items():
            check(lib.gang_sim_stream(sim, table, WRITE, self.sinks[name].user), what=name)

    def settle(self) -> None:
        """Raise the exception of a write."""
        for sink in self.sinks.values():
            sink.settle()

    def end(self, sim: Any) -> None:
        """Write the remaining rows.

        A second call writes nothing.

        Raises
        ------
        InvalidArgument
            The simulation has continued since the first call.
        """
        info = new("gang_sim_info")
        check(lib.gang_sim_get_info(sim, info))
        now = (int(info.events), int(info.jobs))
        if self.ended is not None and self.ended != now:
            raise InvalidArgument("the files were ended with an earlier result, and the simulation has continued since")
        for name, table in FILES.items():
            result = lib.gang_sim_stream(sim, table, ffi.NULL, ffi.NULL)
            self.settle()
            check(result, what=name)
        for sink in self.sinks.values():
            sink.file.flush()
        self.ended = now

    def close(self) -> None:
        """Close all files, also if one of them cannot write its buffer."""
        with ExitStack() as stack:
            for sink in self.sinks.values():
                stack.callback(sink.file.close)

    def leave(self) -> None:
        """In the child of a fork()."""
        for sink in self.sinks.values():
            sink.leave()
