# SPDX-License-Identifier: Apache-2.0
"""Gantt charts, and heat maps of load where a Gantt chart could not be read, by matplotlib."""

from typing import TYPE_CHECKING, Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import InvalidArgument
from ..values import ns
from .axes import below, made_axes, set_title, unit_of
from .blocked import DOWN, DRAINING, RESERVED, SAID, Blocked, blocked
from .colours import COLOURS, MOST_COLOURS, NEUTRAL, USED, ranked, rgba
from .lanes import Lanes, lanes
from .load import load
from .raster import paint

if TYPE_CHECKING:
    from ..sim.result import Result

#: A Gantt chart with more boxes than this becomes an image of this many pixels.
MOST_BOXES = 20000
PIXELS = (2400, 1400)

#: A chart with more lanes or more colours than this is a heat map of load.
MOST_LANES = 100

#: Names of nodes in a chart.
MOST_NAMES = 40

#: What a legend says if the simulation cannot run again: a function could not be pickled.
UNKNOWN = "nodes down or reserved: not known"

HATCHES = {DOWN: "////", DRAINING: "....", RESERVED: "\\\\\\\\"}


class _Window(NamedTuple):
    """The time that a chart shows."""

    first_s: float
    last_s: float
    scale: float  #: seconds of its unit
    unit: str

    def x(self, at_s: Any) -> Any:
        return (at_s - self.first_s) / self.scale

    @property
    def wide(self) -> float:
        return (self.last_s - self.first_s) / self.scale or 1.0


def gantt(
    result: "Result",
    axes: Any = None,
    color: str = "queue",
    nodes: Optional[Sequence[str]] = None,
    begin_s: Optional[float] = None,
    end_s: Optional[float] = None,
    title: Optional[str] = None,
    heat: Optional[bool] = None,
) -> Any:
    """Draw a Gantt chart. See :meth:`gangsched.Result.gantt`."""
    import numpy

    if color not in ("queue", "user", "job"):
        raise InvalidArgument("color is queue, user or job")
    for name, value in (("begin_s", begin_s), ("end_s", end_s)):
        if value is not None:
            ns(value, name)
    shown = lanes(result, nodes, shares=True)
    if not len(shown.low):
        raise InvalidArgument("no allocations were recorded")
    stop = numpy.where(numpy.isnan(shown.end_s), result.info.now_s, shown.end_s)
    first = float(shown.begin_s.min()) if begin_s is None else begin_s
    last = float(stop.max()) if end_s is None else end_s
    window = _Window(first, last, *unit_of(last - first))
    keep = (stop > first) & (shown.begin_s < last)
    codes, words = (shown.job[keep], []) if color == "job" else _coded(result, color, shown, keep)
    ax = made_axes(axes, 1, 5.5)
    if heat is None:
        heat = shown.total > MOST_LANES or len(numpy.unique(codes)) > MOST_COLOURS
    what = "GPUs" if any(result.nodes[name] for name in shown.nodes) else "cores"
    if heat:
        _heat(ax, shown, stop, window, what)
        called = "%s in use, of %d nodes" % (what, len(shown.nodes))
    else:
        _boxes(ax, shown, stop, keep, codes, window)
        _names(ax, [(low, high, name) for name, (low, high) in shown.nodes.items()], what)
        called = "Gantt chart of %d nodes, by %s" % (len(shown.nodes), color)
    set_title(ax, title, called)
    ax.set_xlim(0, window.wide)
    ax.set_ylim(shown.total, 0)
    ax.set_xlabel("time (%s)" % window.unit)
    known = blocked(result)
    spans = [one for one in known or () if one.node in shown.nodes]
    kinds = _hatched(ax, shown, spans, window)
    if known is None:
        kinds = {UNKNOWN: ""}
    _legend(ax, [] if heat else words, numpy.unique(codes), kinds)
    return ax


def _coded(result: "Result", by: str, shown: Lanes, keep: Any) -> Tuple[Any, List[str]]:
    codes, words = ranked(result, by)
    return codes[shown.job[keep]], words


def _boxes(ax: Any, shown: Lanes, stop: Any, keep: Any, codes: Any, window: _Window) -> None:
    import numpy
    from matplotlib.collections import PolyCollection

    x0, x1 = window.x(shown.begin_s[keep]), window.x(stop[keep])
    y0, y1 = shown.low[keep], shown.high[keep]
    if len(x0) > MOST_BOXES:
        edges = (x0 / window.wide, x1 / window.wide, y0 / shown.total, y1 / shown.total)
        _picture(ax, edges, codes, (0, window.wide, shown.total, 0))
        return
    corners = numpy.stack([x0, y0, x0, y1, x1, y1, x1, y0], axis=1).reshape(-1, 4, 2)
    few = len(corners) < 2000
    boxes = PolyCollection(
        corners, array=None, facecolors=rgba(codes), linewidths=0.3 if few else 0
    )
    boxes.set(edgecolor="white" if few else "none", rasterized=not few, antialiased=few)
    ax.add_collection(boxes, autolim=False)


def _picture(ax: Any, edges: Any, codes: Any, extent: Any) -> None:
    """Draw boxes as an image with twice the pixels of a screen. Free lanes are transparent."""
    import numpy

    x0, x1, y0, y1 = edges
    pixels = paint(x0, x1, y0, y1, codes % MOST_COLOURS + 1, *PIXELS)
    colours = numpy.concatenate([[[0.0, 0.0, 0.0, 0.0]], rgba(list(range(MOST_COLOURS)))])
    image = (colours * 255).round().astype(numpy.uint8)[pixels]
    ax.imshow(image, extent=extent, aspect="auto", interpolation="nearest", zorder=1)


def _heat(ax: Any, shown: Lanes, stop: Any, window: _Window, what: str) -> None:
    """Load of each node, or of neighbouring nodes together: free is transparent, used is blue."""
    from matplotlib.colors import LinearSegmentedColormap

    found = load(shown, stop, window.first_s, window.last_s)
    ramp = LinearSegmentedColormap.from_list("load", [USED + "00", USED + "ff"])
    names = list(shown.nodes.values())
    lines = [names[i][0] for i in found.first[:-1]] + [shown.total]
    mesh = ax.pcolormesh(
        window.x(found.edges_s), lines, 100 * found.part, cmap=ramp, vmin=0, vmax=100,
        rasterized=True, zorder=1,
    )
    bar = ax.figure.colorbar(mesh, ax=ax, fraction=0.03, pad=0.01)
    bar.set_label("%s in use (%%)" % what)
    bar.outline.set_visible(False)
    said = [(a, b, name) for a, b, name in zip(lines, lines[1:], found.names)]
    _names(ax, said, what, grid=False)


def _names(
    ax: Any, rows: Sequence[Tuple[float, float, str]], what: str, grid: bool = True
) -> None:
    """Names of rows, as many as fit."""
    every = -(-len(rows) // MOST_NAMES)
    shown = rows[::every]
    ax.set_yticks([(a + b) / 2 for a, b, _ in shown], [name for _, _, name in shown], fontsize=7)
    each = {round(high - low, 6) for low, high, _ in rows}
    size = "a lane for one of its %s" % what
    if len(each) == 1:
        size = "%g %s each" % (each.pop(), what)
    ax.set_ylabel("%s (%s)" % ("nodes" if every == 1 else "nodes, some are named", size))
    if grid and every == 1:
        for low, _, _ in rows[1:]:
            ax.axhline(low, color=NEUTRAL, linewidth=0.4)


def _hatched(
    ax: Any, shown: Lanes, spans: Sequence[Blocked], window: _Window
) -> Mapping[str, str]:
    """Draw what was not free, below the boxes. Returns the kinds that are visible."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    kinds = {}
    for what, hatch in HATCHES.items():
        patches = []
        for one in spans:
            x0, x1 = max(window.x(one.begin_s), 0.0), min(window.x(one.end_s), window.wide)
            if one.what == what and x1 > x0:
                low, high = shown.nodes[one.node]
                patches.append(Rectangle((x0, low), x1 - x0, high - low))
        if patches:
            drawn = PatchCollection(
                patches, facecolor="none", edgecolor=NEUTRAL, linewidth=0.6, hatch=hatch, zorder=0.6
            )
            drawn.set_label(SAID[what])
            ax.add_collection(drawn, autolim=False)
            kinds[what] = hatch
    return kinds


def _legend(ax: Any, words: Sequence[str], codes: Any, kinds: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    shown = [int(code) for code in codes if 0 <= code < len(words)]
    patches = [
        Patch(color=COLOURS[code % MOST_COLOURS], label=words[code])
        for code in (shown if 1 < len(shown) <= MOST_COLOURS else ())
    ]
    patches += [
        Patch(facecolor="none", edgecolor=NEUTRAL, hatch=hatch, label=SAID.get(what, what))
        for what, hatch in kinds.items()
    ]
    below(ax, patches)


__all__ = ["gantt"]
