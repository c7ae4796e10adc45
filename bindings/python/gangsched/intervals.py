# SPDX-License-Identifier: Apache-2.0
"""Sets of whole numbers as intervals: which nodes, or which GPUs."""

import re
from typing import Any, Callable, Iterable, Iterator, List, Tuple, Union, overload

from .errors import InvalidArgument, OutOfRange

_PIECE = re.compile(r"(\d+)(?:-(\d+))?\Z")


class IntervalSet:
    """An immutable set of whole numbers from 0 on, stored as intervals. It can be hashed.

    As procset of evalys and Batsim: numbers of nodes, or of GPUs (:meth:`Result.interval_sets`).
    The operators are those of ``frozenset``; each costs O(intervals), but ``len`` and ``in``, which
    cost less.

    >>> import gangsched as gs
    >>> mine, yours = gs.IntervalSet("0-3,7"), gs.IntervalSet(range(2, 6))
    >>> mine | yours, mine & yours, mine - yours
    (IntervalSet('0-5,7'), IntervalSet('2-3'), IntervalSet('0-1,7'))
    >>> len(mine), list(mine), 7 in mine, mine.intervals
    (5, [0, 1, 2, 3, 7], True, [(0, 3), (7, 7)])

    Parameters
    ----------
    numbers
        Whole numbers in any order, pairs of first and last, or a text: ``"0-3,7"``, also with
        spaces, as Batsim writes.

    Raises
    ------
    InvalidArgument
        It is none of these; the text names the piece.
    OutOfRange
        A number is negative, or 2^62 or more.
    """

    __slots__ = ("_bounds", "_ends")

    def __init__(self, numbers: Any = ()) -> None:
        import numpy

        if isinstance(numbers, IntervalSet):
            self._set(numbers._bounds)
            return
        if isinstance(numbers, str):
            numbers = _parsed(numbers)
        elif isinstance(numbers, range) and numbers.step == 1:
            numbers = [(numbers[0], numbers[-1])] if numbers else ()
        first, last = _pairs(numbers)
        if len(first) and (first.min() < 0 or last.max() >= 2**62):
            raise OutOfRange("numbers of an IntervalSet are from 0 to 2^62 - 1")
        order = numpy.argsort(first, kind="stable")
        first, last = first[order], numpy.maximum.accumulate(last[order])
        # an interval begins where all before it end at least two numbers earlier
        begins = numpy.ones(len(first), dtype=bool)
        begins[1:] = first[1:] > last[:-1] + 1
        ends = numpy.concatenate((begins[1:], numpy.ones(min(1, len(first)), dtype=bool)))
        self._set(numpy.column_stack((first[begins], last[ends] + 1)).ravel())

    def _set(self, bounds: Any) -> None:
        # begin, end, begin, end ... strictly ascending; a number is inside where the count of
        # bounds that are not above it is odd
        import numpy

        self._bounds = bounds
        self._ends = numpy.cumsum(bounds[1::2] - bounds[::2])

    @classmethod
    def _of(cls, bounds: Any) -> "IntervalSet":
        made = cls.__new__(cls)
        made._set(bounds)
        return made

    # ---- looking at it -------------------------------------------------------------------

    @property
    def intervals(self) -> List[Tuple[int, int]]:
        """The first and the last number of each interval, ascending."""
        pairs = self._bounds.reshape(-1, 2).tolist()
        return [(begin, end - 1) for begin, end in pairs]

    def to_numpy(self) -> Any:
        """All numbers as an array, ascending. O(numbers)."""
        import numpy

        lengths = self._bounds[1::2] - self._bounds[::2]
        if not len(lengths):
            return numpy.empty(0, dtype=numpy.int64)
        before = self._ends - lengths
        return numpy.arange(self._ends[-1]) + numpy.repeat(self._bounds[::2] - before, lengths)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __bool__(self) -> bool:
        return len(self._bounds) > 0

    def __iter__(self) -> Iterator[int]:
        for begin, last in self.intervals:
            yield from range(begin, last + 1)

    def __contains__(self, number: object) -> bool:
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            return False
        return bool(self._bounds.searchsorted(number, side="right") % 2)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> "IntervalSet": ...

    def __getitem__(self, at: Union[int, slice]) -> Any:
        """The number at a position, ascending; of a slice, the set of these numbers."""
        if isinstance(at, slice):
            if at.step in (None, 1):
                start, stop, _ = at.indices(len(self))
                if start >= stop:
                    return IntervalSet()
                return self & IntervalSet([(self[start], self[stop - 1])])
            return IntervalSet(self.to_numpy()[at])
        place = at.__index__()
        place += len(self) if place < 0 else 0
        if not 0 <= place < len(self):
            raise IndexError("position %d of %d" % (at, len(self)))
        which = int(self._ends.searchsorted(place, side="right"))
        return int(self._bounds[2 * which + 1] - (self._ends[which] - place))

    # ---- algebra -------------------------------------------------------------------------

    def _with(self, other: "IntervalSet", keep: Callable[[Any, Any], Any]) -> "IntervalSet":
        """The numbers for which ``keep(in this set, in the other)`` holds."""
        import numpy

        points = numpy.union1d(self._bounds, other._bounds)
        kept = keep(
            self._bounds.searchsorted(points, side="right") % 2 == 1,
            other._bounds.searchsorted(points, side="right") % 2 == 1,
        )
        changes = kept.copy()
        changes[1:] ^= kept[:-1]
        return IntervalSet._of(points[changes])

    def __or__(self, other: object) -> "IntervalSet":
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._with(other, lambda a, b: a | b)

    def __and__(self, other: object) -> "IntervalSet":
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._with(other, lambda a, b: a & b)

    def __sub__(self, other: object) -> "IntervalSet":
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._with(other, lambda a, b: a & ~b)

    def __xor__(self, other: object) -> "IntervalSet":
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._with(other, lambda a, b: a ^ b)

    def union(self, *others: Any) -> "IntervalSet":
        """The numbers of this set or any other; others may be what :class:`IntervalSet` takes."""
        found = [self, *(IntervalSet(other) for other in others)]
        return IntervalSet([pair for one in found for pair in one.intervals])

    def intersection(self, *others: Any) -> "IntervalSet":
        """The numbers of this set and all others."""
        made = self
        for other in others:
            made = made & IntervalSet(other)
        return made

    def difference(self, *others: Any) -> "IntervalSet":
        """The numbers of this set and none of the others."""
        return self - IntervalSet().union(*others)

    def isdisjoint(self, other: Any) -> bool:
        """Whether no number is in both."""
        return not self & IntervalSet(other)

    def __le__(self, other: object) -> bool:
        """Whether all numbers are in the other set."""
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return not self - other

    def __ge__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return not other - self

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self <= other and self != other

    def __gt__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return other < self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return bool(self._bounds.tobytes() == other._bounds.tobytes())

    def __hash__(self) -> int:
        return hash(self._bounds.tobytes())

    # ---- text ----------------------------------------------------------------------------

    def to_text(self, separator: str = ",") -> str:
        """The intervals as text: ``0-3,7``; with ``" "`` as Batsim writes."""
        return separator.join(
            "%d" % begin if begin == last else "%d-%d" % (begin, last)
            for begin, last in self.intervals
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return "IntervalSet(%s)" % (repr(self.to_text()) if self else "")

    def __reduce__(self) -> Any:
        return IntervalSet, (self.to_text(),)


def _parsed(text: str) -> List[Tuple[int, int]]:
    made = []
    for piece in text.replace(",", " ").split():
        found = _PIECE.match(piece)
        if not found:
            raise InvalidArgument("%r in %r: expected a number or FIRST-LAST" % (piece, text))
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise InvalidArgument("%r in %r: the last is below the first" % (piece, text))
        if last >= 2**62:
            raise OutOfRange("%r in %r: must be below 2^62" % (piece, text))
        made.append((first, last))
    return made


def _pairs(numbers: Iterable[Any]) -> Tuple[Any, Any]:
    """The first and last numbers of intervals: of single numbers, or of pairs."""
    import numpy

    listed: Any = numbers if hasattr(numbers, "dtype") else list(numbers)
    given = numpy.asarray(listed if len(listed) else numpy.empty(0, dtype=numpy.int64))
    if given.dtype.kind not in "iu" or given.ndim > 2 or (given.ndim == 2 and given.shape[1] != 2):
        raise InvalidArgument("expected whole numbers, or pairs of first and last, or a text")
    if given.dtype.kind == "u" and given.size and given.max() >= 2**62:
        raise OutOfRange("numbers of an IntervalSet are from 0 to 2^62 - 1")
    given = given.astype(numpy.int64)
    if given.ndim == 1:
        return given, given
    if (given[:, 1] < given[:, 0]).any():
        raise InvalidArgument("a pair has its last number below its first")
    return given[:, 0], given[:, 1]


__all__ = ["IntervalSet"]
