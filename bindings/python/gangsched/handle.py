# SPDX-License-Identifier: Apache-2.0
"""Lifetimes: which object owns what in the library, which thread may use it, and what fork() does.

* Each object has a lock. One thread at a time uses the object; other threads wait. A callback may
  call the object again on the same thread, and the library decides which calls it accepts.
* ``close()`` and the end of a ``with`` block end an object. Later calls raise
  :class:`gangsched.errors.Closed`. Memory that another object still needs stays until that object
  ends.
* After ``fork()`` the child has its own copy of each object. If another thread was using an object
  during fork(), the object may be half changed, and the child gets ``Closed``. Clusters are an
  exception: the library completes what was under way. A simulation that writes
  its tables to files stays with the parent.
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
    """A pointer of the library with a count of its users. The last user frees it."""

    def __init__(
        self, pointer: Any, free: Callable[[Any], None], parent: Optional["Box"] = None
    ) -> None:
        self.pointer = pointer
        self._free = free
        self._needs: List[Box] = []
        # One element for each user but the last. Appending and popping are atomic; a lock would not
        # do, because the garbage collector may end another user in the middle of retain().
        self._others: List[None] = []
        if parent is not None:
            self.require(parent)

    def require(self, other: "Box") -> None:
        """Keep another box alive until this one is freed."""
        other.retain()
        self._needs.append(other)

    def retain(self) -> None:
        self._others.append(None)

    @contextmanager
    def kept(self) -> Iterator[Any]:
        """The pointer, which cannot be freed inside the block."""
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
    """The base of all objects that stand for an object of the library. See the module."""

    _box: Optional[Box]

    def __init__(self, box: Box) -> None:
        self._lock = threading.RLock()
        self._gone = "closed"
        self._box = box
        self._finalizer = weakref.finalize(self, box.release)
        self._finalizer.atexit = False  # other threads may be inside it when the process ends
        _all[id(self)] = weakref.ref(self, _forget(id(self)))

    def __reduce__(self) -> Any:
        """Classes that can be pickled override this."""
        name = type(self).__name__.lower()
        raise TypeError(
            "a %s cannot be pickled: make it in the process that uses it, or send its results"
            % name
        )

    @property
    def closed(self) -> bool:
        """True after the end of the object. Any thread."""
        return self._box is None

    def close(self) -> None:
        """End the object; a second call does nothing.

        Waits for a call in another thread.
        """
        with self._lock:
            self._box = None
            self._finalizer()

    def __enter__(self: _Self) -> _Self:
        with self._held():
            return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    @contextmanager
    def _held(self) -> Iterator[Any]:
        """The pointer, with the lock held. It stays valid even if a callback closes the object."""
        with self._lock, self._open().kept() as pointer:
            yield pointer

    def _open(self) -> Box:
        box = self._box
        if box is None:
            raise Closed("the %s is %s" % (type(self).__name__.lower(), self._gone))
        return box

    def _lost_by_fork(self) -> str:
        """Why fork() loses the object even if no thread was using it; "": it does not."""
        return ""

    def _in_child(self, why: str) -> None:
        """Mark the object as lost to the child of a fork().

        The pointer is neither used nor freed.
        """
        self._gone = "lost: %s during fork()" % why
        self._box = None
        self._finalizer.detach()


_all: Dict[int, "weakref.ref[Handle]"] = {}


def _forget(key: int) -> Callable[[Any], None]:
    # bound here: when the interpreter ends, the name may be gone before the last object
    def forget(_: Any, pop: Callable[..., Any] = _all.pop) -> None:
        pop(key, None)

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
