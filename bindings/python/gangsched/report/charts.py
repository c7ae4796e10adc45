# SPDX-License-Identifier: Apache-2.0
"""SVG pictures for a report.

The style sheet of the page sets their colours.

Series have the classes ``c0`` to ``c9``; text has the colour of the page. One picture thus serves
light pages, dark pages and paper.
"""

import base64
import struct
import zlib
from html import escape
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..viz.raster import paint
from .words import number, span, step_of

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 960, 58, 12, 10, 34

#: Colours of series that are readable on white and on black. The image of the Gantt chart uses
#: them, too.
PALETTE = (
    "#4c84c4", "#e8872b", "#4fa364", "#d65557", "#9a77c2", "#3fa9a5", "#c9a227", "#b5679a",
    "#7b8794", "#8c6d4f",
)

#: The highest number of points across: more are invisible.
BINS = 480

#: A Gantt chart with more rectangles than this is an image.
MOST_BOXES = 2500


class Series(NamedTuple):
    """A line: ``y[i]`` at ``x[i]``. ``high`` is the upper edge of a band, if not empty."""

    label: str
    x: Any
    y: Any
    kind: str = "line"  #: ``line``, ``area``, or ``steps``
    high: Any = None


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


# ---- frames ----------------------------------------------------------------------------------


class _Frame:
    """A picture with axes. ``x`` and ``y`` go from 0 to 1 inside of the axes."""

    def __init__(self, height: int, label: str, left: int = LEFT) -> None:
        self.height, self.left = height, left
        self.wide, self.high = WIDTH - left - RIGHT, height - TOP - BOTTOM
        self.out = [
            '<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">'
            % (WIDTH, height, escape(label))
        ]

    def x(self, part: float) -> float:
        return round(self.left + self.wide * part, 2)

    def y(self, part: float) -> float:
        return round(TOP + self.high * (1 - part), 2)

    def mark_x(self, part: float, said: str, grid: bool = True) -> None:
        x = self.x(part)
        if grid:
            self.out.append('<path class="grid" d="M%g %gV%g"/>' % (x, self.y(1), self.y(0)))
        anchor = "end" if part > 0.985 else "middle"
        self.out.append(
            '<text x="%g" y="%g" text-anchor="%s">%s</text>'
            % (x, self.y(0) + 14, anchor, escape(said))
        )

    def mark_y(self, part: float, said: str) -> None:
        y = self.y(part)
        self.out.append('<path class="grid" d="M%g %gH%g"/>' % (self.x(0), y, self.x(1)))
        self.out.append(
            '<text x="%g" y="%g" text-anchor="end">%s</text>' % (self.left - 6, y + 4, escape(said))
        )

    def name_x(self, said: str) -> None:
        middle = self.x(0.5)
        self.out.append(
            '<text x="%g" y="%d" text-anchor="middle" class="axis">%s</text>'
            % (middle, self.height - 4, escape(said))
        )

    def time(self, last: float) -> None:
        """Marks of a time axis from 0 to ``last_s`` seconds."""
        step, scale, unit = step_of(last)
        i = 0
        while i * step <= last * 1.0001:
            self.mark_x(i * step / last, "%g" % round(i * step / scale, 6))
            i += 1
        self.name_x("time since the first submission (%s)" % unit)

    def end(self) -> str:
        return "".join([*self.out, "</svg>"])


def _points(pairs: Sequence[Tuple[float, float]]) -> str:
    return "M" + "L".join("%.1f %.1f" % pair for pair in pairs)


#: The colour of a single series: that of the text.
PLAIN = -1


def _colour(code: int) -> str:
    return "x" if code == PLAIN else str(code % 10)


def legend(labels: Sequence[str], codes: Optional[Sequence[int]] = None) -> str:
    """A legend of series in this order, with these colours."""
    pairs = zip(labels, codes if codes is not None else range(len(labels)))
    keys = [
        '<span><i class="k%s"></i>%s</span>' % (_colour(code), escape(label))
        for label, code in pairs
    ]
    return '<p class="legend">%s</p>' % "".join(keys)


# ---- over time -------------------------------------------------------------------------------


def over_time(
    series: Sequence[Series],
    last_s: float,
    top: float,
    label: str,
    percent: bool = False,
    height: int = 190,
) -> str:
    """Lines over time, from 0 to ``last_s`` and from 0 to ``top``, with a legend."""
    frame = _Frame(height, label)
    top = top or 1.0
    if percent:
        for quarter in range(5):
            frame.mark_y(quarter / 4 / top, "%d %%" % (25 * quarter))
    else:
        for value in _round_marks(top):
            frame.mark_y(value / top, number(value))
    frame.time(last_s)
    for i, one in enumerate(series):
        frame.out.append(_drawn(frame, one, i, last_s, top))
    return frame.end() + legend([one.label for one in series])


def _drawn(frame: _Frame, one: Series, i: int, last_s: float, top: float) -> str:
    def at(x: Any, y: Any) -> List[Tuple[float, float]]:
        return [(frame.x(min(a / last_s, 1)), frame.y(min(b / top, 1))) for a, b in zip(x, y)]

    line = at(one.x, one.y)
    title = "<title>%s</title>" % escape(one.label)
    out = []
    if one.kind == "area" and line:
        closed = [(line[0][0], frame.y(0)), *line, (line[-1][0], frame.y(0))]
        out.append('<path class="fill c%d" d="%sZ">%s</path>' % (i % 10, _points(closed), title))
    if one.high is not None and line:
        out.append(
            '<path class="band c%d" d="%sZ"/>'
            % (i % 10, _points([*line, *reversed(at(one.x, one.high))]))
        )
    if line:
        out.append('<path class="line c%d" d="%s">%s</path>' % (i % 10, _points(line), title))
    return "".join(out)


def _round_marks(top: float) -> List[float]:
    """About four round marks for an axis of numbers up to ``top``."""
    power = 10.0 ** len(str(int(top / 4))) / 10 if top >= 4 else 1.0
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times * 5 >= top)
    step = max(step, 1.0)
    return [i * step for i in range(int(top / step * 1.0001) + 1)]


# ---- distributions ---------------------------------------------------------------------------

_MARKS = (
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (6 * 3600.0, "6 h"),
    (86400.0, "1 d"),
    (7 * 86400.0, "1 week"),
    (30 * 86400.0, "30 d"),
    (365 * 86400.0, "1 year"),
)


def cdf(
    values: Mapping[str, Any], label: str, codes: Optional[Sequence[int]] = None, height: int = 230
) -> str:
    """The fraction of jobs with at most so many seconds, a line each.

    The axis is logarithmic from one second on; shorter times are at its left edge.

    Parameters
    ----------
    codes
        Colours of the lines; None: in order.
    """
    import numpy

    most = max((float(found.max()) for found in values.values() if len(found)), default=1.0)
    right = next((seconds for seconds, _ in _MARKS[1:] if seconds >= most), most)
    scale = numpy.log10(right)
    frame = _Frame(height, label)
    for quarter in range(5):
        frame.mark_y(quarter / 4, "%d %%" % (25 * quarter))
    for seconds, said in _MARKS:
        if seconds <= right:
            frame.mark_x(numpy.log10(seconds) / scale, "≤ 1 s" if seconds == 1 else said)
    frame.name_x("%s, at most (logarithmic)" % label)
    shown = codes if codes is not None else list(range(len(values)))
    for code, (name, found) in zip(shown, values.items()):
        if not len(found):
            continue
        sorted_ = numpy.sort(found)
        # As many points as are visible, with the exact fraction of jobs at each.
        at = numpy.concatenate([[1.0], numpy.logspace(0, scale, BINS)])
        reached = numpy.searchsorted(sorted_, at, side="right") / len(sorted_)
        pairs = [(frame.x(numpy.log10(a) / scale), frame.y(b)) for a, b in zip(at, reached)]
        path = "M%.1f %.1f" % pairs[0] + "".join("H%.1fV%.1f" % pair for pair in _changes(pairs))
        said = "%s: half within %s" % (name, span(float(numpy.median(sorted_)))) if name else ""
        frame.out.append(
            '<path class="line c%s" d="%s"><title>%s</title></path>'
            % (_colour(code), path, escape(said))
        )
    return frame.end() + (legend(list(values), shown) if len(values) > 1 else "")


def _changes(pairs: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """The points where the height changes, and the end."""
    return [
        pair for before, pair in zip(pairs, pairs[1:]) if pair[1] != before[1] or pair is pairs[-1]
    ]


# ---- allocations ---------------------------------------------------------------------------


class Boxes(NamedTuple):
    """The boxes of a Gantt chart, in seconds from its left edge, and in lanes."""

    x0: Any
    x1: Any
    low: Any
    high: Any
    code: Any  #: colour
    job: Any
    nodes: Dict[str, Tuple[int, int]]
    lanes: int


def gantt(boxes: Boxes, names: Sequence[str], last_s: float, label: str) -> str:
    """Draw lanes from top to bottom, time from left to right."""
    inside = int(min(max(boxes.lanes * (9 if boxes.lanes <= 64 else 3), 120), 620))
    frame = _Frame(inside + TOP + BOTTOM, label, 96)
    if len(boxes.x0) <= MOST_BOXES:
        frame.out.append(
            "<g>%s</g>"
            % "".join(_box(frame, boxes, i, names, last_s) for i in range(len(boxes.x0)))
        )
    else:
        png = picture(boxes, last_s, 1400, min(boxes.lanes * max(1, 620 // boxes.lanes), 620))
        place = (frame.x(0), frame.y(1), frame.wide, frame.high)
        href = base64.b64encode(png).decode("ascii")
        frame.out.append(
            '<image x="%g" y="%g" width="%d" height="%d" preserveAspectRatio="none" href="data:image/png;base64,%s"/>' % (*place, href)
        )
    _nodes(frame, boxes)
    frame.time(last_s)
    return frame.end()


def _box(frame: _Frame, boxes: Boxes, i: int, names: Sequence[str], last_s: float) -> str:
    x, y = frame.x(boxes.x0[i] / last_s), frame.y(1 - boxes.low[i] / boxes.lanes)
    wide = max(frame.x(boxes.x1[i] / last_s) - x, 0.4)
    high = frame.y(1 - boxes.high[i] / boxes.lanes) - y
    said = "%s: %s, from %s" % (
        names[int(boxes.job[i])],
        span(boxes.x1[i] - boxes.x0[i]),
        span(boxes.x0[i]),
    )
    form = '<rect class="box f%d" x="%g" y="%g" width="%.4g" height="%.4g"><title>%s</title></rect>'
    return form % (boxes.code[i] % 10, x, y, wide, high, escape(said))


def _nodes(frame: _Frame, boxes: Boxes) -> None:
    """Names of nodes as far as they fit, and lines between nodes."""
    height = frame.high / max(len(boxes.nodes), 1)
    free = 0.0
    for i, (name, (low, high)) in enumerate(boxes.nodes.items()):
        y = frame.y(1 - low / boxes.lanes)
        if i and height >= 6:
            frame.out.append('<path class="grid" d="M%g %gH%g"/>' % (frame.x(0), y, frame.x(1)))
        middle = (y + frame.y(1 - high / boxes.lanes)) / 2
        if middle >= free:
            free = middle + 11
            short = name if len(name) <= 14 else name[:13] + "…"
            frame.out.append(
                '<text x="%d" y="%g" text-anchor="end">%s</text>'
                % (frame.left - 6, middle + 4, escape(short))
            )
    x0, y0 = frame.x(0), frame.y(0)
    frame.out.append('<path class="frame" d="M%g %gV%gH%g"/>' % (x0, frame.y(1), y0, frame.x(1)))


def picture(boxes: Boxes, last_s: float, width: int, height: int) -> bytes:
    """The boxes as a PNG.

    A pixel shows the job at its centre, so that each colour covers its fraction.

    Free lanes are transparent.
    """
    x0, x1, y0, y1 = (
        boxes.x0 / last_s,
        boxes.x1 / last_s,
        boxes.low / boxes.lanes,
        boxes.high / boxes.lanes,
    )
    return _png(paint(x0, x1, y0, y1, boxes.code % 10 + 1, width, height))


def _png(image: Any) -> bytes:
    """A PNG of palette indexes; 0 is transparent."""
    import numpy

    height, width = image.shape
    # the first byte of a row selects its filter: none
    rows = numpy.zeros((height, width + 1), dtype=numpy.uint8)
    rows[:, 1:] = image
    colours = b"\0\0\0" + b"".join(bytes.fromhex(colour[1:]) for colour in PALETTE)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, content)
        for kind, content in (
            (b"IHDR", head),
            (b"PLTE", colours),
            (b"tRNS", b"\0"),
            (b"IDAT", body),
            (b"IEND", b""),
        )
    )
