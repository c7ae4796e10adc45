# SPDX-License-Identifier: Apache-2.0
"""What was in use over time, by queue, user or model of GPU."""

from typing import TYPE_CHECKING, Any, Optional, Tuple

from ..closest import unknown
from ..dates import Time, time_s
from ..errors import InvalidArgument
from ..values import ns

if TYPE_CHECKING:
    import pandas

    from .result import Result

#: What use can be divided by, and the amounts that can be divided.
GROUPS = ("queue", "user", "model")
AMOUNTS = ("gpus", "cpus", "mem_mib", "tasks")


def timeline_by(
    result: "Result",
    by: str,
    of: str,
    begin_s: Optional[Time] = None,
    end_s: Optional[Time] = None,
) -> "pandas.DataFrame":
    """See :meth:`gangsched.Result.timeline_by`."""
    import numpy
    import pandas

    if by not in GROUPS:
        raise InvalidArgument("by: " + unknown("group", by, GROUPS), path="by")
    if of not in AMOUNTS:
        raise InvalidArgument("of: " + unknown("amount", of, AMOUNTS), path="of")
    rows = result.allocations
    if not len(rows):
        raise InvalidArgument("no allocations were recorded")
    codes, words = _groups(result, rows, by)
    end = rows["end_s"].to_numpy()
    ended = ~numpy.isnan(end)
    amount = rows[of].to_numpy(dtype=float)
    at = numpy.concatenate([rows["begin_s"].to_numpy(), end[ended]])
    times, place = numpy.unique(at, return_inverse=True)
    change = numpy.zeros((len(times), len(words)))
    numpy.add.at(
        change,
        (place, numpy.concatenate([codes, codes[ended]])),
        numpy.concatenate([amount, -amount[ended]]),
    )
    used = numpy.cumsum(change, axis=0)
    # Sums of shares (0.3 + 0.6 - 0.9) leave a rest.
    used[numpy.abs(used) < 1e-6] = 0.0
    made = pandas.DataFrame(used, columns=pandas.Index(words, name=by))
    made.insert(0, "at_s", times)
    first, last = (
        None if given is None else ns(time_s(given, result.epoch, name), name) / 1e9
        for name, given in (("begin_s", begin_s), ("end_s", end_s))
    )
    return _between(made, first, last)


def _between(
    table: "pandas.DataFrame", begin: Optional[float], end: Optional[float]
) -> "pandas.DataFrame":
    """The rows from one time on, the first with what is in use then, and before another time."""
    if end is not None:
        table = table[table.at_s < end]
    if begin is not None and len(table):
        # what was in use before is in the last row that is not later
        first = max(int(table.at_s.searchsorted(begin, side="right")) - 1, 0)
        table = table.iloc[first:].copy()
        table.iloc[0, 0] = max(begin, float(table.iloc[0, 0]))
    return table.reset_index(drop=True)


def _groups(result: "Result", rows: Any, by: str) -> Tuple[Any, Any]:
    """The group of each row as a number, and the names of the groups that occur, sorted."""
    import numpy

    if by == "model":
        names = numpy.array([result.models.get(node, "") for node in rows["node"]], dtype=object)
    else:
        names = result.column(by)[rows["index"].to_numpy()]
    words, codes = numpy.unique(names.astype(str), return_inverse=True)
    return codes, words


__all__ = ["timeline_by"]
