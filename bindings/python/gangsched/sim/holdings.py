# SPDX-License-Identifier: Apache-2.0
"""Which nodes, or which GPUs, jobs held: as sets of numbers."""

from typing import TYPE_CHECKING, Any, Tuple

from ..closest import unknown
from ..errors import InvalidArgument
from ..intervals import IntervalSet

if TYPE_CHECKING:
    import pandas

    from .result import Result

#: What can be numbered.
KINDS = ("gpus", "nodes")

#: Number of bits of a device mask.
_BITS = 64


def resources(result: "Result") -> "pandas.DataFrame":
    """See :attr:`gangsched.Result.resources`."""
    import numpy
    import pandas

    names, counts = list(result.nodes), numpy.array(list(result.nodes.values()), dtype=int)
    which = numpy.repeat(numpy.arange(len(names)), counts)
    before = numpy.cumsum(counts) - counts
    made = {
        "node": numpy.array(names, dtype=object)[which],
        "node_number": which,
        "device": numpy.arange(len(which)) - before[which],
    }
    return pandas.DataFrame(made)


def everything(result: "Result", of: str) -> IntervalSet:
    """All numbers of a kind."""
    if of not in KINDS:
        raise InvalidArgument("of: " + unknown("kind", of, KINDS), path="of")
    return IntervalSet(range(len(result.nodes) if of == "nodes" else sum(result.nodes.values())))


def interval_sets(result: "Result", of: str) -> "pandas.Series[Any]":
    """See :meth:`gangsched.Result.interval_sets`."""
    import numpy
    import pandas

    everything(result, of)
    rows = result.allocations
    if not len(rows):
        raise InvalidArgument("no allocations were recorded")
    jobs, numbers = _held(result, rows, of)
    order = numpy.lexsort((numbers, jobs))
    jobs, numbers = jobs[order], numbers[order]
    edges = numpy.searchsorted(jobs, numpy.arange(len(result) + 1))
    made = [IntervalSet(numbers[a:b]) for a, b in zip(edges[:-1], edges[1:])]
    return pandas.Series(made, index=pandas.RangeIndex(len(result)), name=of, dtype=object)


def used_at(result: "Result", at_s: float, of: str) -> IntervalSet:
    """The numbers that jobs hold at a time."""
    everything(result, of)
    rows = result.allocations
    if not len(rows):
        raise InvalidArgument("no allocations were recorded")
    there = rows[(rows.begin_s <= at_s) & ~(rows.end_s <= at_s)]
    return IntervalSet(_held(result, there, of)[1])


def _held(result: "Result", rows: "pandas.DataFrame", of: str) -> Tuple[Any, Any]:
    """Pairs of a job and a number that it holds in a row. Of a node that has gone: none."""
    import numpy

    place = {name: i for i, name in enumerate(result.nodes)}
    node = numpy.array([place.get(name, -1) for name in rows["node"]], dtype=numpy.int64)
    index = rows["index"].to_numpy()
    known = node >= 0
    if of == "nodes":
        return index[known], node[known]
    counts = numpy.array(list(result.nodes.values()), dtype=numpy.int64)
    first = (numpy.cumsum(counts) - counts)[node]
    devices = rows["devices"].to_numpy().astype(numpy.uint64)
    jobs, numbers = [], []
    for bit in range(min(_BITS, int(counts.max(initial=0)))):
        has = known & ((devices >> numpy.uint64(bit)) & numpy.uint64(1)).astype(bool)
        jobs.append(index[has])
        numbers.append(first[has] + bit)
    if not jobs:
        return index[:0], node[:0]
    return numpy.concatenate(jobs), numpy.concatenate(numbers)


__all__ = ["everything", "interval_sets", "resources", "used_at"]
