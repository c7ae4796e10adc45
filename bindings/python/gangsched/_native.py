# SPDX-License-Identifier: Apache-2.0
"""The C library as it is: ``ffi`` and ``lib``, and the few ways in which all other modules use them."""

from typing import Any, List, Optional

from ._gangsched import ffi, lib

__all__ = ["ffi", "lib", "new", "text", "utf8", "Writer", "Call"]


def new(name: str) -> Any:
    """A ``struct name *`` set up as its ``_INIT`` macro does; without one, zero but for its ``size``."""
    init = getattr(lib, name + "_init", None)
    if init is not None:
        return ffi.new("struct %s *" % name, init)
    made = ffi.new("struct %s *" % name)
    made.size = ffi.sizeof("struct " + name)
    return made


def text(pointer: Any) -> str:
    """A C string as Python has it; NULL is ``""``."""
    if pointer == ffi.NULL:
        return ""
    found: bytes = ffi.string(pointer)
    return found.decode("utf-8", "replace")


def utf8(value: str, what: str = "text") -> bytes:
    """Text as C has it, which ends at a NUL.

    Raises:
        TypeError: it is no text.
        ValueError: it has a NUL, or half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise TypeError("%s must be str, not %s" % (what, type(value).__name__))
    if "\0" in value:
        raise ValueError("%s must not contain NUL" % what)
    return value.encode("utf-8")


class Call:
    """One call that calls back: keeps what a Python function raised, to raise it again at the call.

    C code cannot be unwound, so that an exception ends at the border, the library is told to stop, and it goes
    on from here with its own traceback.
    """

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None
        self.user = ffi.new_handle(self)

    def failed(self, error: BaseException) -> int:
        """Keep an exception, the first one; what the callback is to return."""
        if self.error is None:
            self.error = error
        return 1

    def settle(self) -> None:
        """Raise what was kept."""
        error, self.error = self.error, None
        if error is not None:
            raise error


class Writer(Call):
    """Takes what the library writes piece by piece (gang_write_fn)."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: List[bytes] = []

    def take(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def value(self) -> str:
        return b"".join(self.pieces).decode("utf-8", "replace")


@ffi.def_extern()  # type: ignore[misc]
def gangsched_py_write(piece: Any, length: int, user: Any) -> int:
    writer: Writer = ffi.from_handle(user)
    try:
        writer.take(bytes(ffi.buffer(piece, length)))
        return 0
    except BaseException as error:
        return writer.failed(error)


WRITE = lib.gangsched_py_write
