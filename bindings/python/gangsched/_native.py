# SPDX-License-Identifier: Apache-2.0
"""The C library itself, ``ffi`` and ``lib``, and the helpers by which all other modules call it."""

from typing import Any, Callable, List, Optional

from ._gangsched import ffi, lib

__all__ = ["callback", "ffi", "lib", "new", "text", "texts", "utf8", "Writer", "Call"]


def new(name: str) -> Any:
    """A ``struct name *``, initialised by its ``_INIT`` macro, or else zeroed with ``size`` set."""
    init = getattr(lib, name + "_init", None)
    if init is not None:
        return ffi.new("struct %s *" % name, init)
    made = ffi.new("struct %s *" % name)
    made.size = ffi.sizeof("struct " + name)
    return made


def text(pointer: Any) -> str:
    """A C string as ``str``; NULL is ``""``."""
    if pointer == ffi.NULL:
        return ""
    found: bytes = ffi.string(pointer)
    return found.decode("utf-8", "replace")


def utf8(value: str, what: str = "text") -> bytes:
    """A ``str`` as the bytes of a C string.

    Raises
    ------
    TypeError
        The value is no text.
    ValueError
        The text contains NUL, or half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise TypeError("%s must be str, not %s" % (what, type(value).__name__))
    if "\0" in value:
        raise ValueError("%s must not contain NUL characters" % what)
    return value.encode("utf-8")


def texts(count: int, fill: Callable[[Any, int, Any], int]) -> List[str]:
    """Read many texts with one call of C.

    Parameters
    ----------
    fill
        Called with a buffer, its size in bytes and an array. Writes the texts one after the other,
        and the end of each into the array. If the buffer is too small, ``fill`` returns GANG_ELIMIT
        and the last end is the size that it needs.

    Raises
    ------
    MemoryError
        The buffer cannot be allocated.
    RuntimeError
        The texts changed between two calls.
    """
    ends = ffi.new("int64_t[]", max(count, 1))
    size = 32 * count
    for _ in range(2):
        buffer = bytearray(size)
        result = fill(ffi.from_buffer("char[]", buffer) if size else ffi.NULL, size, ends)
        if result == 0:
            break
        size = ends[max(count, 1) - 1] if result == lib.GANG_ELIMIT else 0
    else:
        raise RuntimeError("the names of jobs cannot be read: %s" % text(lib.gang_strerror(result)))
    found: List[str] = []
    begin = 0
    for end in ffi.unpack(ends, count) if count else ():
        found.append(buffer[begin:end].decode("utf-8", "replace"))
        begin = end
    return found


class Call:
    """One call of C that calls back.

    It keeps an exception of a callback, and raises it after the call.

    An exception cannot pass through C. The callback returns a failure, the library returns, and
    :meth:`settle` raises the exception with its own traceback.
    """

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None
        self.user = ffi.new_handle(self)

    def failed(self, error: BaseException) -> None:
        """Keep an exception, if it is the first one."""
        if self.error is None:
            self.error = error

    def settle(self) -> None:
        """Raise the exception that was kept."""
        error, self.error = self.error, None
        if error is not None:
            raise error


class Writer(Call):
    """Collects the text that the library writes piece by piece (gang_write_fn)."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: List[bytes] = []

    def take(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def value(self) -> str:
        return b"".join(self.pieces).decode("utf-8", "replace")


def callback(failed: int) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function the body of the ``extern "Python"`` function with its name.

    The last argument of the function is ``user``, the handle of a :class:`Call`, which keeps an
    exception. A "try" inside the function would not do: Ctrl-C may arrive before its first line.

    Parameters
    ----------
    failed
        The value that the library gets after an exception.
    """

    def keep(kind: Any, error: BaseException, trace: Any) -> None:
        if trace is not None:
            call: Call = ffi.from_handle(trace.tb_frame.f_locals["user"])
            call.failed(error.with_traceback(trace))

    def wrap(function: Callable[..., int]) -> Callable[..., int]:
        ffi.def_extern(name=function.__name__, error=failed, onerror=keep)(function)
        return function

    return wrap


@callback(failed=1)
def gangsched_py_write(piece: Any, length: int, user: Any) -> int:
    writer: Writer = ffi.from_handle(user)
    writer.take(bytes(ffi.buffer(piece, length)))
    return 0


WRITE = lib.gangsched_py_write
