# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one for each result code of the library, and :class:`GangError` above all of them.

Each is also the builtin exception of the same meaning, so that ``except LookupError`` works.
"""

from typing import Any, Dict, Optional, Type

from ._native import lib, new, text


class GangError(Exception):
    """A call failed, and changed nothing.

    Attributes
    ----------
    code
        The negative result code, e.g. -8.
    name
        The name of the code, e.g. ``"GANG_ENOFIT"``.
    text
        One English line, without the path.
    path
        The place in the input, e.g. ``"queues[2].limit.gpu"``, or ``""``.
    line
        The line of the input text, from 1; 0 if it does not apply.
    column
        The column there, from 1; 0 if it does not apply.
    constraint
        The constraint that refused: ``"kind"``, ``"same"``...; ``"none"``.
    group
        The index of the task group that does not fit, or -1.
    kind
        The number of the resource kind that is short, or -1.
    requested
        The amount that is short, in the unit of the kind (millicores, bytes, milli-GPUs).
    available
        What there is of it, in the same unit.
    nodes
        The number of nodes that were tested.
    id
        The node or allocation of the error, or 0.
    """

    #: The result code of an exception that is made without one.
    default_code = -1

    def __init__(self, message: str = "", code: Optional[int] = None, **detail: Any) -> None:
        super().__init__(message)
        self.code: int = self.default_code if code is None else code
        self.name: str = text(lib.gang_result_name(self.code))
        self.text: str = detail.get("text", message)
        self.path: str = detail.get("path", "")
        self.line: int = detail.get("line", 0)
        self.column: int = detail.get("column", 0)
        self.constraint: str = detail.get("constraint", "none")
        self.group: int = detail.get("group", -1)
        self.kind: int = detail.get("kind", -1)
        self.requested: int = detail.get("requested", 0)
        self.available: int = detail.get("available", 0)
        self.nodes: int = detail.get("nodes", 0)
        self.id: int = detail.get("id", 0)


class InvalidArgument(GangError, ValueError):
    """GANG_EINVAL and GANG_E2BIG: an impossible value."""


class OutOfMemory(GangError, MemoryError):
    """GANG_ENOMEM: no memory."""

    default_code = -2


class NotFound(GangError, LookupError):
    """GANG_ENOENT: an unknown name."""

    default_code = -3


class AlreadyExists(GangError, ValueError):
    """GANG_EEXIST: the name is taken."""

    default_code = -4


class StaleHandle(GangError, LookupError):
    """GANG_ESTALE: a node, job or allocation that has been removed."""

    default_code = -5


class Closed(StaleHandle, ValueError):
    """The object was closed, or in use by another thread at fork(): :mod:`gangsched.handle`."""


class Busy(GangError, RuntimeError):
    """GANG_EBUSY: the object is in use, or a callback made a call that it must not make."""

    default_code = -6


class OutOfRange(GangError, ValueError):
    """GANG_ERANGE: a number that is too large or too small."""

    default_code = -7


class DoesNotFit(GangError, RuntimeError):
    """GANG_ENOFIT: it does not fit now.

    ``constraint`` and the following attributes say why.

    Attributes
    ----------
    next_start_s
        For a refused reservation: the earliest start (seconds of the simulation) that the scheduler
        would accept now. None: unknown, or not about a reservation.
    """

    default_code = -8
    next_start_s: Optional[float] = None


class NeverFits(DoesNotFit):
    """GANG_ENEVER: it does not fit even if all nodes are up and empty."""

    default_code = -9


class LimitReached(GangError, RuntimeError):
    """GANG_ELIMIT: a limit of the library, or of a queue."""

    default_code = -11


class ParseError(GangError, ValueError):
    """GANG_EPARSE: malformed input; ``line`` and ``column``, or ``path``, give the place."""

    default_code = -12


class InputOutput(GangError, OSError):
    """GANG_EIO: a file cannot be read or written."""

    default_code = -13


class NotSupported(GangError, NotImplementedError):
    """GANG_ENOTSUP: not supported."""

    default_code = -14


class Cycle(GangError, ValueError):
    """GANG_ECYCLE: parents form a circle."""

    default_code = -15


class NotAllowed(GangError, PermissionError):
    """GANG_EPERM: the access lists forbid it."""

    default_code = -16


class QueueClosed(GangError, RuntimeError):
    """GANG_ECLOSED: the queue accepts no jobs."""

    default_code = -17


_CLASSES: Dict[int, Type[GangError]] = {
    lib.GANG_EINVAL: InvalidArgument,
    lib.GANG_ENOMEM: OutOfMemory,
    lib.GANG_ENOENT: NotFound,
    lib.GANG_EEXIST: AlreadyExists,
    lib.GANG_ESTALE: StaleHandle,
    lib.GANG_EBUSY: Busy,
    lib.GANG_ERANGE: OutOfRange,
    lib.GANG_ENOFIT: DoesNotFit,
    lib.GANG_ENEVER: NeverFits,
    lib.GANG_E2BIG: InvalidArgument,
    lib.GANG_ELIMIT: LimitReached,
    lib.GANG_EPARSE: ParseError,
    lib.GANG_EIO: InputOutput,
    lib.GANG_ENOTSUP: NotSupported,
    lib.GANG_ECYCLE: Cycle,
    lib.GANG_EPERM: NotAllowed,
    lib.GANG_ECLOSED: QueueClosed,
}


def error_class(code: int) -> Type[GangError]:
    """The exception class of a result code; :class:`GangError` for newer codes."""
    return _CLASSES.get(code, GangError)


def without(path_prefix: str, path: str) -> str:
    """A path without its first parts, if these are among ``path_prefix`` (separated by blanks)."""
    for prefix in path_prefix.split():
        if path.startswith(prefix):
            path = path[len(prefix) :].lstrip(".")
    return path


#: Types of JSON, and the words of Python for them.
_TYPES = {"an object": "a dict", "an array": "a list", "null": "None"}


def _in_python(said: str) -> str:
    """``must be an object, not null`` in the words of Python: ``expected a dict, not None``."""
    if not said.startswith("must be ") or ", not " not in said:
        return said
    wanted, _, given = said[len("must be ") :].partition(", not ")
    return "expected %s, not %s" % (_TYPES.get(wanted, wanted), _TYPES.get(given, given))


def detail_of(error: Any, path_prefix: str = "") -> GangError:
    """The exception for a filled ``struct gang_error *``.

    Parameters
    ----------
    path_prefix
        First parts of the path, separated by blanks, that the caller did not write.
    """
    path = without(path_prefix, text(error.path))
    said = _in_python(text(error.text)) or text(lib.gang_strerror(error.code))
    where = path
    if not where and error.line:
        where = "line %d, column %d" % (error.line, error.column)
    return error_class(error.code)(
        "%s: %s" % (where, said) if where else said,
        error.code,
        text=said,
        path=path,
        line=error.line,
        column=error.column,
        constraint=text(lib.gang_constraint_name(error.constraint)) or "none",
        group=error.group,
        kind=error.kind,
        requested=error.requested,
        available=error.available,
        nodes=error.nodes,
        id=error.id,
    )


def placed(error: GangError, path: str) -> GangError:
    """The same error with the path in the caller's own input."""
    if path == error.path:
        return error
    detail: Dict[str, Any] = {**error.__dict__, "path": path}
    made = type(error)(
        "%s: %s" % (path, error.text) if path else error.text, detail.pop("code"), **detail
    )
    made.__dict__.update({**error.__dict__, "path": path})
    return made


def check(result: int, error: Any = None, what: str = "", path_prefix: str = "") -> None:
    """Raise an exception unless a call succeeded.

    Parameters
    ----------
    result
        The value that the call returned.
    error
        The ``struct gang_error *`` of the call, if it takes one.
    what
        The subject, for results without detail: ``"node 'n7'"``.
    """
    if result == 0:
        return
    if error is not None and error.code == result:
        raise detail_of(error, path_prefix)
    said = text(lib.gang_strerror(result))
    raise error_class(result)("%s: %s" % (what, said) if what else said, result, text=said)


def new_error() -> Any:
    """A new ``struct gang_error *``."""
    return new("gang_error")


__all__ = [
    "AlreadyExists",
    "Busy",
    "Closed",
    "Cycle",
    "DoesNotFit",
    "GangError",
    "InputOutput",
    "InvalidArgument",
    "LimitReached",
    "NeverFits",
    "NotAllowed",
    "NotFound",
    "NotSupported",
    "OutOfMemory",
    "OutOfRange",
    "ParseError",
    "QueueClosed",
    "StaleHandle",
]

