# SPDX-License-Identifier: Apache-2.0
"""Means of what is in use, over time: for curves and for heat maps."""

from typing import TYPE_CHECKING, Any, List, NamedTuple

if TYPE_CHECKING:
    from .lanes import Lanes

#: The highest number of points across a picture, and of rows of a heat map: more are invisible.
BINS, MOST_ROWS = 480, 100


def mean_over(at: Any, value: Any, edges: Any) -> Any:
    """Means over time between ``edges`` of a value that is ``value[i]`` from ``at[i]`` on, and 0
    before.
    """
    import numpy

    area = numpy.concatenate([[0.0], numpy.cumsum(value[:-1] * numpy.diff(at))])
    # The last value lasts to the end.
    last = max(float(edges[-1]), float(at[-1]))
    whole = numpy.interp(edges, [*at, last], [*area, area[-1] + value[-1] * (last - at[-1])])
    return numpy.diff(whole) / numpy.diff(edges)


def max_over(at: Any, value: Any, edges: Any) -> Any:
    """Maxima over time between ``edges`` of the same value."""
    import numpy

    begin = numpy.maximum(numpy.searchsorted(at, edges[:-1], side="right") - 1, 0)
    end = numpy.maximum(numpy.searchsorted(at, edges[1:], side="left"), begin + 1)
    # reduceat() takes from each index up to the next: every second piece is wanted.
    pairs = numpy.stack([begin, end], axis=1).ravel()
    return numpy.maximum.reduceat(numpy.append(value, value[-1]), pairs)[::2]


class Load(NamedTuple):
    """A heat map: ``part[i, j]`` of the lanes of row ``i`` were in use between ``edges_s[j]`` and
    ``edges_s[j + 1]``. A row is a node, or some neighbouring nodes.
    """

    part: Any
    edges_s: Any
    names: List[str]  #: of rows: "n0", or "n0 to n3"
    first: List[int]  #: index of the first node of each row, and of the node after the last


def load(shown: "Lanes", stop_s: Any, begin_s: float, end_s: float, bins: int = 240) -> Load:
    """The fraction of each node in use over time. O(boxes log boxes + rows * bins)."""
    import numpy

    count = len(shown.nodes)
    rows = min(count, MOST_ROWS) or 1
    first = [count * i // rows for i in range(rows + 1)]
    row = numpy.searchsorted(first, numpy.asarray(shown.node), side="right") - 1
    edges = numpy.linspace(begin_s, end_s, bins + 1)
    widths = [high - low for low, high in shown.nodes.values()]
    names, made = list(shown.nodes), numpy.zeros((rows, bins))
    weight = numpy.asarray(shown.high - shown.low, dtype=float)
    for i in range(rows):
        mine = row == i
        used = _area(shown.begin_s[mine], weight[mine], edges)
        used -= _area(numpy.asarray(stop_s)[mine], weight[mine], edges)
        made[i] = numpy.diff(used) / numpy.diff(edges) / (sum(widths[first[i] : first[i + 1]]) or 1)
    said = [
        names[a] if b == a + 1 else "%s to %s" % (names[a], names[b - 1])
        for a, b in zip(first, first[1:])
    ]
    return Load(made.clip(0.0, 1.0), edges, said, first)


def _area(at: Any, weight: Any, edges: Any) -> Any:
    """The integral up to each edge of the sum of the weights that came before."""
    import numpy

    order = numpy.argsort(at, kind="stable")
    at, weight = at[order], weight[order]
    place = numpy.searchsorted(at, edges, side="right")
    sums = numpy.concatenate([[0.0], numpy.cumsum(weight)])[place]
    moments = numpy.concatenate([[0.0], numpy.cumsum(weight * at)])[place]
    return sums * edges - moments


__all__ = ["BINS", "Load", "load", "max_over", "mean_over"]
