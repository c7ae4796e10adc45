# SPDX-License-Identifier: Apache-2.0
"""Gantt charts of a report, as SVG: which job held what when, and what was not free."""

import base64
import struct
import zlib
from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Tuple

from ..viz.blocked import SAID, Blocked, blocked
from ..viz.colours import COLOURS, MOST_COLOURS, USED, ranked
from ..viz.gantt import MOST_LANES
from ..viz.lanes import Lanes, lanes
from ..viz.load import load
from ..viz.raster import paint
from .charts import BOTTOM, TOP, Frame, legend
from .words import has_gpus, number, span

if TYPE_CHECKING:
    from ..sim.result import Result

#: A Gantt chart with more rectangles than this is an image.
MOST_BOXES = 2500

#: Distance of the lines of a hatching, and their directions: 1 rises, -1 falls.
_STEP, _SLOPES = 7.0, {"down": (1,), "draining": (1, -1), "reserved": (-1,)}


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


def chart(result: "Result", begin: float, end: float) -> Tuple[str, str, str]:
    """The chart, its legend, and the sentence above it; empty texts: no allocations."""
    import numpy

    if not len(result._allocations):
        return "", "", ""
    shown = lanes(result, shares=True)
    if not len(shown.low):
        return "", "", ""
    stop = numpy.where(numpy.isnan(shown.end_s), result.info.now_s, shown.end_s)
    by = "queue" if len(ranked(result, "queue")[1]) > 1 else "user"
    codes, words = ranked(result, by)
    spans = blocked(result)
    heat = shown.total > MOST_LANES or len(words) > MOST_COLOURS
    frame = _frame(shown.total)
    frame.out.append(_hatched(frame, shown, spans or (), begin, end))
    if heat:
        found = load(shown, numpy.minimum(stop, end), begin, end)
        png = _png(
            (100 * found.part).round().astype(numpy.uint8), [USED] * 101,
            [round(2.55 * i) for i in range(101)],
        )
        frame.out.append(_image(frame, png, "pixel"))
        lows = [shown.nodes[name][0] for name in _firsts(shown, found.first)]
        frame.rows(lows, found.names, shown.total)
        drawn = frame.ended(end - begin)
    else:
        boxes = Boxes(
            shown.begin_s - begin, numpy.minimum(stop, end) - begin, shown.low, shown.high,
            codes[shown.job], shown.job, shown.nodes, shown.total,
        )
        drawn = gantt(boxes, result.names, end - begin, frame)
    what = "devices" if has_gpus(result) else "cores"
    return (
        '<div class="scroll">%s</div>' % drawn,
        _legend(words if 1 < len(words) and not heat else [], heat, spans or ()),
        _note(shown, what, by, heat, spans),
    )


def _firsts(shown: Lanes, first: Sequence[int]) -> List[str]:
    names = list(shown.nodes)
    return [names[i] for i in first[:-1]]


def _note(shown: Lanes, what: str, by: str, heat: bool, spans: Any) -> str:
    size = "%s %s of %s nodes" % (number(shown.total), what, number(len(shown.nodes)))
    if heat:
        said = "%s: the stronger the blue, the more of a node was in use." % size
    else:
        said = "%s, one lane each; coloured by %s." % (size, by)
    if spans is None:
        said += " Nodes that were down or reserved are not shown:"
        return said + " the simulation cannot run again."
    blank = " What is blank was free%s." % (", what is hatched was not" if spans else "")
    return said + blank


def _legend(words: Sequence[str], heat: bool, spans: Sequence[Blocked]) -> str:
    keys = []
    if heat:
        keys = [
            '<span><i class="ku" style="opacity:%g"></i>%d %%</span>' % (max(part, 4) / 100, part)
            for part in (0, 25, 50, 75, 100)
        ]
    for what, said in SAID.items():
        if any(one.what == what for one in spans):
            keys.append('<span><i class="h%s"></i>%s</span>' % (what, escape(said)))
    return legend(words, more=keys) if words or keys else ""


def _frame(count: int) -> Frame:
    inside = int(min(max(count * (9 if count <= 64 else 3), 120), 620))
    return Frame(inside + TOP + BOTTOM, "allocations", 96)


def _hatched(
    frame: Frame, shown: Lanes, spans: Sequence[Blocked], begin: float, end: float
) -> str:
    """What was not free, below the boxes: one path a kind."""
    lines: Dict[str, List[str]] = {}
    for one in spans:
        first, last = max(one.begin_s, begin), min(one.end_s, end)
        if last > first and one.node in shown.nodes:
            low, high = shown.nodes[one.node]
            x0, x1 = (frame.x((at - begin) / (end - begin)) for at in (first, last))
            y0, y1 = (frame.y(1 - lane / shown.total) for lane in (low, high))
            lines.setdefault(one.what, []).append(hatching(x0, x1, y0, y1, _SLOPES[one.what]))
    return "".join(
        '<path class="hatch" d="%s"><title>%s</title></path>' % ("".join(paths), escape(SAID[what]))
        for what, paths in lines.items()
    )


def hatching(x0: float, x1: float, y0: float, y1: float, slopes: Sequence[int]) -> str:
    """A frame, and parallel lines inside of it. Lines of neighbouring frames meet."""
    out = ["M%.1f %.1fH%.1fV%.1fH%.1fZ" % (x0, y0, x1, y1, x0)]
    for slope in slopes:
        # the line x + slope * y = at
        corners = [x + slope * y for x in (x0, x1) for y in (y0, y1)]
        at = (min(corners) // _STEP + 1) * _STEP
        while at < max(corners):
            left, right = sorted((at - slope * y0, at - slope * y1))
            left, right = max(left, x0), min(right, x1)
            if right > left:
                ends = (left, slope * (at - left), right, slope * (at - right))
                out.append("M%.1f %.1fL%.1f %.1f" % ends)
            at += _STEP
    return "".join(out)


def gantt(boxes: Boxes, names: Sequence[str], last_s: float, frame: Frame) -> str:
    """Draw lanes from top to bottom, time from left to right."""
    if len(boxes.x0) <= MOST_BOXES:
        drawn = "".join(_box(frame, boxes, i, names, last_s) for i in range(len(boxes.x0)))
        frame.out.append("<g>%s</g>" % drawn)
    else:
        high = min(boxes.lanes * max(1, 620 // boxes.lanes), 620)
        frame.out.append(_image(frame, picture(boxes, last_s, 1400, high), ""))
    lows = [low for low, _ in boxes.nodes.values()]
    frame.rows(lows, list(boxes.nodes), boxes.lanes)
    return frame.ended(last_s)


def _image(frame: Frame, png: bytes, style: str) -> str:
    place = (style, frame.x(0), frame.y(1), frame.wide, frame.high)
    href = base64.b64encode(png).decode("ascii")
    form = (
        '<image class="%s" x="%g" y="%g" width="%d" height="%d" preserveAspectRatio="none" '
        'href="data:image/png;base64,%s"/>'
    )
    return form % (*place, href)


def _box(frame: Frame, boxes: Boxes, i: int, names: Sequence[str], last_s: float) -> str:
    x, y = frame.x(boxes.x0[i] / last_s), frame.y(1 - boxes.low[i] / boxes.lanes)
    wide = max(frame.x(boxes.x1[i] / last_s) - x, 0.4)
    high = frame.y(1 - boxes.high[i] / boxes.lanes) - y
    said = "%s: %s, from %s" % (
        names[int(boxes.job[i])],
        span(boxes.x1[i] - boxes.x0[i]),
        span(boxes.x0[i]),
    )
    form = '<rect class="box f%d" x="%g" y="%g" width="%.4g" height="%.4g"><title>%s</title></rect>'
    return form % (boxes.code[i] % MOST_COLOURS, x, y, wide, high, escape(said))


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
    image = paint(x0, x1, y0, y1, boxes.code % MOST_COLOURS + 1, width, height)
    return _png(image, ["#000000", *COLOURS], [0])


def _png(image: Any, palette: Sequence[str], opacity: Sequence[int]) -> bytes:
    """A PNG of palette indexes; the first colours have an opacity from 0 to 255."""
    import numpy

    height, width = image.shape
    # the first byte of a row selects its filter: none
    rows = numpy.zeros((height, width + 1), dtype=numpy.uint8)
    rows[:, 1:] = image

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
            (b"PLTE", b"".join(bytes.fromhex(colour[1:]) for colour in palette)),
            (b"tRNS", bytes(opacity)),
            (b"IDAT", body),
            (b"IEND", b""),
        )
    )


__all__ = ["Boxes", "chart", "gantt", "hatching", "picture"]
