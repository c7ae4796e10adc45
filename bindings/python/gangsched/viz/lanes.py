# SPDX-License-Identifier: Apache-2.0
"""The lanes of a Gantt chart: one for each device, or for each core if jobs have no GPUs."""

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..closest import unknown
from ..errors import NotFound

if TYPE_CHECKING:
    from ..sim.result import Result


class Lanes(NamedTuple):
    """Rectangles: row ``i`` belongs to job ``job[i]``, from lane ``low[i]`` up to ``high[i]``,
    exclusive.
    """

    job: Any
    node: Any  #: index of the node in ``nodes``
    begin_s: Any
    end_s: Any
    low: Any
    high: Any
    nodes: Dict[str, Tuple[int, int]]  #: first lane of each node, and the lane after its last
    total: int  #: number of lanes


def lanes(
    result: "Result", nodes: Optional[Sequence[str]] = None, shares: bool = False
) -> Lanes:
    """The rectangles of all recorded allocations on these nodes (None: all), in their order.

    O(rows), or O(cores) a row for jobs on cores. Devices are those that a job had. The record has
    no cores: a job gets the lowest free lanes. With ``shares`` half a core is half a lane, and a
    node has exactly its cores; otherwise half a core is a lane.

    Raises
    ------
    NotFound
        There is no such node.
    """
    import numpy

    wanted = list(result.nodes) if nodes is None else list(nodes)
    for name in wanted:
        if name not in result.nodes:
            raise NotFound(unknown("node", name, result.nodes))
    rows = result._allocations
    names = result._nodes_of(rows["node"]) if len(rows) else numpy.empty(0, dtype=object)
    numbers = {name: i for i, name in enumerate(wanted)}
    at = numpy.array([numbers.get(name, -1) for name in names], dtype=numpy.int64)
    by_device = any(result.nodes[name] for name in wanted)
    keep = (
        (at >= 0) & ((rows["gpus"] != 0) if by_device else (rows["cpu_milli"] > 0))
        if len(rows)
        else at >= 0
    )
    rows, at = rows[keep], at[keep]
    if by_device:
        which, low, high = _of_devices(rows["gpus"])
        wide = [result.nodes[name] for name in wanted]
    elif shares and getattr(result, "_cores", None):  # version 0.1 pickled none
        wide = [max(1, -(-int(1000 * result._cores[name]) // 1000)) for name in wanted]
        which, low, high = _of_shares(rows, at, wide)
    else:
        which, low, high = _of_cores(rows, at)
        wide = _widths(at[which], high, len(wanted))
    base = numpy.concatenate([[0], numpy.cumsum([max(width, 1) for width in wide])]).astype(
        numpy.int64
    )
    begin_s = rows["begin_ns"] / 1e9
    end_s = numpy.where(rows["end_ns"] == -(2**63), numpy.nan, rows["end_ns"] / 1e9)
    spans = {name: (int(base[i]), int(base[i + 1])) for i, name in enumerate(wanted)}
    place = at[which]
    index = rows["index"].astype(numpy.int64)[which]
    return Lanes(
        index,
        place,
        begin_s[which],
        end_s[which],
        low + base[place],
        high + base[place],
        spans,
        int(base[-1]),
    )


def _of_devices(masks: Any) -> Tuple[Any, Any, Any]:
    """Runs of adjacent bits in each mask: row, first device, device after the last."""
    import numpy

    masks = masks.astype(numpy.uint64)
    one = numpy.uint64(1)
    starts, stops = masks & ~(masks << one), masks & ~(masks >> one)
    which: List[Any] = []
    low: List[Any] = []
    high: List[Any] = []
    for bit in range(64):
        rows = numpy.nonzero(starts >> numpy.uint64(bit) & one)[0]
        if len(rows):
            # The first end at or after this bit ends the run.
            end = numpy.full(len(rows), 64)
            for last in range(63, bit - 1, -1):
                end[(stops[rows] >> numpy.uint64(last) & one).astype(bool)] = last + 1
            which.append(rows)
            low.append(numpy.full(len(rows), bit))
            high.append(end)
    empty = numpy.empty(0, dtype=numpy.int64)
    joined = [numpy.concatenate(parts) if parts else empty for parts in (which, low, high)]
    return joined[0], joined[1], joined[2]


def _of_shares(rows: Any, at: Any, wide: Sequence[int]) -> Tuple[Any, Any, Any]:
    """As :func:`_of_cores`, with half a lane for half a core, and no lane above ``wide[node]``."""
    import numpy

    amounts = numpy.unique(rows["cpu_milli"])
    unit = max(int(numpy.gcd.reduce(amounts, initial=1000)), _FINEST)
    which, low, high = _of_cores(rows, at, unit)
    high = numpy.minimum(high * (unit / 1000), numpy.array(wide)[at[which]] if len(which) else 0)
    low = low * (unit / 1000)
    there = high > low
    return which[there], low[there], high[there]


#: The smallest share of a core with a height of its own, in thousandths.
_FINEST = 50


def _of_cores(rows: Any, at: Any, unit: int = 1000) -> Tuple[Any, Any, Any]:
    """For each row the lowest cores of its node that are free at its begin.

    ``unit``: thousandths of a core that are a lane.
    """
    import numpy

    count = len(rows)
    cores = numpy.maximum(1, -(-rows["cpu_milli"] // unit)).tolist()
    nodes = at.tolist()
    lasting = (rows["begin_ns"] != rows["end_ns"]).tolist()
    taken: Dict[int, int] = {}  # busy cores of each node, one bit a core
    mine: List[int] = [0] * count
    which: List[int] = []
    low: List[int] = []
    high: List[int] = []
    for event in _in_order(rows["begin_ns"], rows["end_ns"]):
        if event < count:
            taken[nodes[event]] ^= mine[event]
            continue
        i = event - count
        node = nodes[i]
        busy = before = taken.get(node, 0)
        wanted = cores[i]
        while wanted:
            free = ~busy
            first = (free & -free).bit_length() - 1
            above = busy >> first
            length = (above & -above).bit_length() - 1 if above else wanted
            last = first + min(wanted, length)
            which.append(i)
            low.append(first)
            high.append(last)
            wanted -= last - first
            busy |= (1 << last) - (1 << first)
        if lasting[i]:
            mine[i], taken[node] = busy ^ before, busy
    return (
        numpy.array(which, dtype=numpy.int64),
        numpy.array(low, dtype=numpy.int64),
        numpy.array(high, dtype=numpy.int64),
    )


def _in_order(begin: Any, end: Any) -> List[int]:
    """Ends and begins of rows by time, ends first.

    ``i`` is the end of row ``i``; ``i`` plus the number of rows is its begin. Rows without duration
    or without an end have no end here.
    """
    import numpy

    ends = numpy.nonzero((end != -(2**63)) & (end != begin))[0]
    events = numpy.concatenate([ends, numpy.arange(len(begin)) + len(begin)])
    times = numpy.concatenate([end[ends], begin])
    order: List[int] = events[numpy.argsort(times, kind="stable")].tolist()
    return order


def _widths(place: Any, high: Any, count: int) -> List[int]:
    import numpy

    wide = numpy.zeros(count, dtype=numpy.int64)
    numpy.maximum.at(wide, place, high)
    found: List[int] = wide.tolist()
    return found
