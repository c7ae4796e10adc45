# SPDX-License-Identifier: Apache-2.0
"""Life of the objects: who owns what of the library, which thread may use it, and what fork() leaves.

* Each object has a lock of its own and is used by one thread at a time; others wait. Calls from inside a
  callback, on the same thread, are let through, and the library says which of them it takes.
* ``close()`` ends an object, and so does the end of a ``with`` block; whatever is done with it then raises
  :class:`gangsched.errors.Closed`. What others still need of it stays until they have ended, too.
* After ``fork()`` the child has a copy of its own, and goes on with it. An object that another thread was using
  at that moment is lost to the child, where it raises ``Closed``, since it may be half changed. A cluster is
  not lost so: the library brings to its end what was under way (core.h, "fork()"). Nor does a session go on in the
  child that writes its tables to files: they belong to the parent.
"""

import os
import threading
import weakref
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Type, TypeVar

from .errors import Closed

_Self = TypeVar("_Self", bound="Handle")


class Box:
    """A pointer of the library, freed when nobody needs it any more: its own object, and the boxes inside."""

    def __init__(self, pointer: Any, free: Callable[[Any], None], parent: Optional["Box"] = None) -> None:
        self.pointer = pointer
        self._free = free
        self._needs: List[Box] = []
        # One element for each user but the last. Lists are changed in one step, which a lock would not be for
        # the garbage collector: it may end another object of the same parent in the midst of retain().
        self._others: List[None] = []
        if parent is not None:
            self.require(parent)

    def require(self, other: "Box") -> None:
        """That one must outlive this."""
        other.retain()
        self._needs.append(other)

    def retain(self) -> None:
        self._others.append(None)

    @contextmanager
    def kept(self) -> Iterator[Any]:
        """The pointer, which lasts meanwhile."""
        self.retain()
        try:
            yield self.pointer
        finally:
            self.release()

    def release(self) -> None:
        try:
            self._others.pop()
        except IndexError:
            self._free(self.pointer)
            for other in self._needs:
                other.release()


class Handle:
    """What all objects that stand for one of the library have in common. See the module's text."""

    _box: Optional[Box]

    def __init__(self, box: Box) -> None:
        self._lock = threading.RLock()
        self._gone = "closed"
        self._box = box
        self._finalizer = weakref.finalize(self, box.release)
        self._finalizer.atexit = False  # other threads may be inside it when the process ends
        _all[id(self)] = weakref.ref(self, _forget(id(self)))

    def __reduce__(self) -> Any:
        """What can be pickled says how; the rest lives in this process alone."""
        name = type(self).__name__.lower()
        raise TypeError("a %s cannot be pickled: make it where it is used, or send its results" % name)

    @property
    def closed(self) -> bool:
        """True: it has ended. Any thread."""
        return self._box is None

    def close(self) -> None:
        """End it; a second time does nothing. Waits for a call that is under way in another thread."""
        with self._lock:
            self._box = None
            self._finalizer()

    def __enter__(self: _Self) -> _Self:
        with self._held():
            return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    @contextmanager
    def _held(self) -> Iterator[Any]:
        """The pointer, for this thread alone. It lasts until the end, even if a callback closes the object."""
        with self._lock, self._open().kept() as pointer:
            yield pointer

    def _open(self) -> Box:
        box = self._box
        if box is None:
            raise Closed("the %s is %s" % (type(self).__name__.lower(), self._gone))
        return box

    def _lost_by_fork(self) -> str:
        """Why it is lost to the child of a fork(), even if nobody was using it; "": it is not."""
        return ""

    def _in_child(self, why: str) -> None:
        """fork() has happened, and it is lost to the child: it must not be touched, nor freed."""
        self._gone = "lost: %s when this process was forked" % why
        self._box = None
        self._finalizer.detach()


_all: Dict[int, "weakref.ref[Handle]"] = {}


def _forget(key: int) -> Callable[[Any], None]:
    def forget(_: Any) -> None:
        _all.pop(key, None)

    return forget


def _after_fork() -> None:
    for reference in list(_all.values()):
        handle = reference()
        if handle is None:
            continue
        if handle._lock.acquire(blocking=False):
            handle._lock.release()
            why = handle._lost_by_fork()
        else:
            handle._lock = threading.RLock()
            why = "another thread was using it"
        if why:
            handle._in_child(why)


os.register_at_fork(after_in_child=_after_fork)
