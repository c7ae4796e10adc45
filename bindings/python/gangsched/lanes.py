# SPDX-License-Identifier: Apache-2.0
"""Where a job is drawn: a lane a device, or of jobs without GPUs a core."""

import heapq
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .errors import NotFound

if TYPE_CHECKING:
    from .result import Result


class Lanes(NamedTuple):
    """Rectangles: row ``i`` is of job ``job[i]``, from lane ``low[i]`` up to ``high[i]``, not included."""

    job: Any
    node: Any  #: number of the node in ``nodes``
    begin_s: Any
    end_s: Any
    low: Any
    high: Any
    nodes: Dict[str, Tuple[int, int]]  #: lanes of each node
    total: int  #: lanes


def lanes(result: "Result", nodes: Optional[Sequence[str]] = None) -> Lanes:
    """All that was recorded, on these nodes (None: all), in their order. O(rows); of jobs on cores O(cores) a row.

    Devices are those they had. Which cores a job had is not recorded: it gets the lowest lanes that are free.

    Raises:
        NotFound: no such node.
    """
    import numpy

    wanted = list(result.nodes) if nodes is None else list(nodes)
    for name in wanted:
        if name not in result.nodes:
            raise NotFound("no node '%s'" % name)
    rows = result._allocations
    names = result._nodes_of(rows["node"]) if len(rows) else numpy.empty(0, dtype=object)
    numbers = {name: i for i, name in enumerate(wanted)}
    at = numpy.array([numbers.get(name, -1) for name in names], dtype=numpy.int64)
    by_device = any(result.nodes[name] for name in wanted)
    keep = (at >= 0) & ((rows["gpus"] != 0) if by_device else (rows["cpu_milli"] > 0)) if len(rows) else at >= 0
    rows, at = rows[keep], at[keep]
    which, low, high = _of_devices(rows["gpus"]) if by_device else _of_cores(rows, at)
    wide = [result.nodes[name] for name in wanted] if by_device else _widths(at[which], high, len(wanted))
    base = numpy.concatenate([[0], numpy.cumsum([max(width, 1) for width in wide])]).astype(numpy.int64)
    begin_s = rows["begin_ns"] / 1e9
    end_s = numpy.where(rows["end_ns"] == -(2**63), numpy.nan, rows["end_ns"] / 1e9)
    spans = {name: (int(base[i]), int(base[i + 1])) for i, name in enumerate(wanted)}
    place = at[which]
    index = rows["index"].astype(numpy.int64)[which]
    return Lanes(index, place, begin_s[which], end_s[which], low + base[place], high + base[place], spans, int(base[-1]))


def _of_devices(masks: Any) -> Tuple[Any, Any, Any]:
    """Runs of neighbours in each mask: number of the row, first device, the one after the last."""
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
            # The first end from here on is that of this run.
            end = numpy.full(len(rows), 64)
            for last in range(63, bit - 1, -1):
                end[(stops[rows] >> numpy.uint64(last) & one).astype(bool)] = last + 1
            which.append(rows)
            low.append(numpy.full(len(rows), bit))
            high.append(end)
    empty = numpy.empty(0, dtype=numpy.int64)
    joined = [numpy.concatenate(parts) if parts else empty for parts in (which, low, high)]
    return joined[0], joined[1], joined[2]


def _of_cores(rows: Any, at: Any) -> Tuple[Any, Any, Any]:
    """The lowest cores of the node that are free when a row begins."""
    import numpy

    free: Dict[int, List[Tuple[int, int]]] = {}  # of each node, what is free between those that are taken
    ends: Dict[int, List[Tuple[int, int, int]]] = {}
    found: List[Tuple[int, int, int]] = []
    order = numpy.argsort(rows["begin_ns"], kind="stable")
    begins, stops = rows["begin_ns"].tolist(), rows["end_ns"].tolist()
    cores = numpy.maximum(1, -(-rows["cpu_milli"] // 1000)).tolist()
    nodes = at.tolist()
    for i in order.tolist():
        gaps = free.setdefault(nodes[i], [(0, 2**40)])
        leaving = ends.setdefault(nodes[i], [])
        while leaving and leaving[0][0] <= begins[i]:
            _, low, high = heapq.heappop(leaving)
            _give_back(gaps, low, high)
        wanted = cores[i]
        end = stops[i] if stops[i] != -(2**63) else 2**63
        while wanted:
            low, high = gaps[0]
            taken = min(wanted, high - low)
            gaps[0:1] = [(low + taken, high)] if low + taken < high else []
            found.append((i, low, low + taken))
            heapq.heappush(leaving, (end, low, low + taken))
            wanted -= taken
    table = numpy.array(found, dtype=numpy.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _give_back(gaps: List[Tuple[int, int]], low: int, high: int) -> None:
    """Put a piece back among the free ones, which are in order, and join it with its neighbours."""
    from bisect import bisect_left

    i = bisect_left(gaps, (low, high))
    if i < len(gaps) and gaps[i][0] == high:
        high = gaps.pop(i)[1]
    if i > 0 and gaps[i - 1][1] == low:
        low = gaps.pop(i - 1)[0]
        i -= 1
    gaps.insert(i, (low, high))


def _widths(place: Any, high: Any, count: int) -> List[int]:
    import numpy

    wide = numpy.zeros(count, dtype=numpy.int64)
    numpy.maximum.at(wide, place, high)
    found: List[int] = wide.tolist()
    return found
