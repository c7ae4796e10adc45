# SPDX-License-Identifier: Apache-2.0
"""What goes wrong: one exception for each result of the library, below one that is all of them.

Each is also the builtin that says the same, so that ``except LookupError`` works as one would think.
"""

from typing import Any, Dict, Optional, Type

from ._native import lib, new, text


class GangError(Exception):
    """A call did not do what it was asked to. Nothing has changed.

    Attributes:
        code: the negative number of the result, e.g. -8.
        name: its name, e.g. ``"GANG_ENOFIT"``.
        text: one English line, without the path.
        path: the place in the input, e.g. ``"queues[2].limit.gpu"``; ``""`` if there is none.
        line, column: of the input text, from 1; 0 if that does not apply.
        constraint: of a refusal, which one: ``"kind"``, ``"same"``...; ``"none"``.
        group: index of the task group that does not fit, or -1.
        kind: number of the resource kind that is short, or -1.
        requested, available: amounts in the unit of the kind (millicores, bytes, milli-GPUs).
        nodes: that were looked at.
        id: of the node or allocation it is about, or 0.
    """

    #: What a result is, if nothing else is said.
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
    """GANG_EINVAL, and GANG_E2BIG: a value that makes no sense."""


class OutOfMemory(GangError, MemoryError):
    """GANG_ENOMEM."""

    default_code = -2


class NotFound(GangError, LookupError):
    """GANG_ENOENT: no such name."""

    default_code = -3


class AlreadyExists(GangError, ValueError):
    """GANG_EEXIST: a name twice."""

    default_code = -4


class Stale(GangError, LookupError):
    """GANG_ESTALE: a node, job or allocation that is gone."""

    default_code = -5


class Closed(Stale, ValueError):
    """The object was closed; or was lost to the child of a fork, see :mod:`gangsched.handle`."""


class Busy(GangError, RuntimeError):
    """GANG_EBUSY: in use, or called from inside a callback that must not."""

    default_code = -6


class OutOfRange(GangError, ValueError):
    """GANG_ERANGE: a number that is too large or too small."""

    default_code = -7


class DoesNotFit(GangError, RuntimeError):
    """GANG_ENOFIT: not now. A refusal is an answer; its reason is in ``constraint`` and its like.

    Attributes:
        next_start_s: of a reservation that was refused: the earliest time (seconds of the simulation) at which it would be
            accepted as things are; None: none is known, or it is about something else.
    """

    default_code = -8
    next_start_s: Optional[float] = None


class NeverFits(DoesNotFit):
    """GANG_ENEVER: not even if all nodes were up and empty."""

    default_code = -9


class LimitReached(GangError, RuntimeError):
    """GANG_ELIMIT: a limit of the library, or of a queue."""

    default_code = -11


class ParseError(GangError, ValueError):
    """GANG_EPARSE: malformed input; ``line`` and ``column``, or ``path``, say where."""

    default_code = -12


class InputOutput(GangError, OSError):
    """GANG_EIO: a file cannot be read or written."""

    default_code = -13


class NotSupported(GangError, NotImplementedError):
    """GANG_ENOTSUP."""

    default_code = -14


class Cycle(GangError, ValueError):
    """GANG_ECYCLE: a parent relation goes in a circle."""

    default_code = -15


class NotAllowed(GangError, PermissionError):
    """GANG_EPERM: the access lists say no."""

    default_code = -16


class QueueClosed(GangError, RuntimeError):
    """GANG_ECLOSED: the queue takes no jobs."""

    default_code = -17


_CLASSES: Dict[int, Type[GangError]] = {
    lib.GANG_EINVAL: InvalidArgument,
    lib.GANG_ENOMEM: OutOfMemory,
    lib.GANG_ENOENT: NotFound,
    lib.GANG_EEXIST: AlreadyExists,
    lib.GANG_ESTALE: Stale,
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
    """The exception for a result of the library; :class:`GangError` itself for one that is newer than this."""
    return _CLASSES.get(code, GangError)


def without(path_prefix: str, path: str) -> str:
    """A path without beginnings (with blanks between) that were made up for a call."""
    for prefix in path_prefix.split():
        if path.startswith(prefix):
            path = path[len(prefix) :].lstrip(".")
    return path


def detail_of(error: Any, path_prefix: str = "") -> GangError:
    """The exception that a filled ``struct gang_error *`` describes.

    Args:
        path_prefix: beginnings of the path, with blanks between, that were made up for the call and mean nothing to
            the caller.
    """
    path = without(path_prefix, text(error.path))
    said = text(error.text) or text(lib.gang_strerror(error.code))
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
    """The same error with another path, that of the caller's own input."""
    if path == error.path:
        return error
    detail: Dict[str, Any] = {**error.__dict__, "path": path}
    made = type(error)("%s: %s" % (path, error.text) if path else error.text, detail.pop("code"), **detail)
    made.__dict__.update({**error.__dict__, "path": path})
    return made


def check(result: int, error: Any = None, what: str = "", path_prefix: str = "") -> None:
    """Raise unless a call went well.

    Args:
        result: what it returned.
        error: the ``struct gang_error *`` it was given, if it takes one.
        what: what was asked, for results that come without detail: ``"node 'n7'"``.
    """
    if result == 0:
        return
    if error is not None and error.code == result:
        raise detail_of(error, path_prefix)
    said = text(lib.gang_strerror(result))
    raise error_class(result)("%s: %s" % (what, said) if what else said, result, text=said)


def new_error() -> Any:
    """A ``struct gang_error *`` for a call."""
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
    "Stale",
]

