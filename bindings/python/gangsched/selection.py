# SPDX-License-Identifier: Apache-2.0
"""Which of many: masks, slices, positions and names, by the rules of pandas."""

import operator
from typing import Any, Callable, List, Mapping

from .errors import InvalidArgument


def positions(which: Any, count: int, find: Callable[[str], int]) -> List[int]:
    """The positions that a selection names, among ``count``.

    Parameters
    ----------
    which
        A slice; one bool for each (list, array or Series); whole numbers, from -count to count - 1;
        or names.
    find
        The position of a name; raises if there is none.

    Raises
    ------
    InvalidArgument
        The mask has another length.
    IndexError
        There is no such position.
    TypeError
        The selection is none of these: it has floats, say, or mixes names and numbers.
    """
    if isinstance(which, slice):
        return list(range(*which.indices(count)))
    if isinstance(which, (str, bytes, set, frozenset, Mapping)) or not hasattr(which, "__iter__"):
        raise TypeError("expected a mask, a slice, or a list of positions or names")
    listed = list(getattr(which, "tolist", lambda: which)())
    if listed and all(isinstance(item, bool) or _is_numpy_bool(item) for item in listed):
        if len(listed) != count:
            raise InvalidArgument("the mask has %d values for %d jobs" % (len(listed), count))
        return [i for i, taken in enumerate(listed) if taken]
    if listed and all(isinstance(item, str) for item in listed):
        return [find(name) for name in listed]
    return [position(item, count) for item in listed]


def _is_numpy_bool(item: Any) -> bool:
    return type(item).__module__ == "numpy" and type(item).__name__ in ("bool_", "bool")


def position(item: Any, count: int) -> int:
    """One position, from -count to count - 1, as one from 0."""
    if isinstance(item, bool) or _is_numpy_bool(item):
        raise TypeError("expected a position, not a bool")
    try:
        index = operator.index(item)
    except TypeError:
        raise TypeError(
            "expected whole numbers as positions, not %s (%r)" % (type(item).__name__, item)
        ) from None
    if not -count <= index < count:
        raise IndexError("job %d of %d" % (index, count))
    return index % count
