# SPDX-License-Identifier: Apache-2.0
"""SVG pictures for a report.

The style sheet of the page sets their colours.

Series have the classes ``c0`` to ``c9``; text has the colour of the page. One picture thus serves
light pages, dark pages and paper.
"""

from html import escape
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..viz.axes import MARKS
from ..viz.colours import MOST_COLOURS
from ..viz.load import BINS
from .words import number, span, step_of

#: Width of a picture, and of the one that a phone shows instead.
WIDTH, NARROW = 960, 400
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 34

class Series(NamedTuple):
    """A line: ``y[i]`` at ``x[i]``. ``high`` is the upper edge of a band, if not empty."""

    label: str
    x: Any
    y: Any
    kind: str = "line"  #: ``line``, ``area``, or ``steps``
    high: Any = None
    code: Optional[int] = None  #: number of its colour; None: its place


# ---- frames ----------------------------------------------------------------------------------


class Frame:
    """A picture with axes. ``x`` and ``y`` go from 0 to 1 inside of the axes."""

    def __init__(
        self, height: int, label: str, left: int = LEFT, width: int = WIDTH, named: bool = True
    ) -> None:
        self.height, self.left, self.width = height, left, width
        self.wide, self.high = width - left - RIGHT, height - TOP - (BOTTOM if named else 4)
        self.out = [
            '<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">'
            % (width, height, escape(label))
        ]

    def x(self, part: float) -> float:
        return round(self.left + self.wide * part, 2)

    def y(self, part: float) -> float:
        return round(TOP + self.high * (1 - part), 2)

    def mark_x(self, part: float, said: str, grid: bool = True) -> None:
        x = self.x(part)
        if grid:
            self.out.append('<path class="grid" d="M%g %gV%g"/>' % (x, self.y(1), self.y(0)))
        if not said:
            return
        anchor = "end" if part > 0.985 else "middle"
        self.out.append(
            '<text x="%g" y="%g" text-anchor="%s">%s</text>'
            % (x, self.y(0) + 16, anchor, escape(said))
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

    def name_y(self, said: str) -> None:
        self.out.append(
            '<text x="12" y="%g" text-anchor="middle" class="axis" '
            'transform="rotate(-90 12 %g)">%s</text>'
            % (self.y(0.5), self.y(0.5), escape(said))
        )

    def time(self, last: float, named: bool = True) -> None:
        """Marks of a time axis from 0 to ``last_s`` seconds."""
        step, scale, unit = step_of(last, 8 if self.width == WIDTH else 4)
        i = 0
        while i * step <= last * 1.0001:
            said = "%g" % round(i * step / scale, 6) if named else ""
            self.mark_x(i * step / last, said)
            i += 1
        if named:
            self.name_x("time since the first submission (%s)" % unit)

    def rows(self, lows: Sequence[float], names: Sequence[str], lanes: int) -> None:
        """Names of rows as far as they fit, and lines between rows. ``lows``: their first lanes."""
        height = self.high / max(len(names), 1)
        free = 0.0
        for i, (low, high, name) in enumerate(zip(lows, [*lows[1:], lanes], names)):
            y = self.y(1 - low / lanes)
            if i and height >= 6:
                self.out.append('<path class="grid" d="M%g %gH%g"/>' % (self.x(0), y, self.x(1)))
            middle = (y + self.y(1 - high / lanes)) / 2
            if middle >= free:
                free = middle + 11
                short = name if len(name) <= 14 else name[:13] + "…"
                self.out.append(
                    '<text x="%d" y="%g" text-anchor="end">%s</text>'
                    % (self.left - 6, middle + 4, escape(short))
                )

    def ended(self, last_s: float) -> str:
        """The picture, with a frame and a time axis."""
        x0, y0 = self.x(0), self.y(0)
        self.out.append('<path class="frame" d="M%g %gV%gH%g"/>' % (x0, self.y(1), y0, self.x(1)))
        self.time(last_s)
        return self.end()

    def end(self) -> str:
        return "".join([*self.out, "</svg>"])


def _points(pairs: Sequence[Tuple[float, float]]) -> str:
    return "M" + "L".join("%.1f %.1f" % pair for pair in pairs)


#: Colours of series that stand for no queue and no policy: that of the text, and a softer one.
PLAIN, SOFT, DASHED = -1, -2, -3

_PLAIN = {PLAIN: "x", SOFT: "s", DASHED: "d"}


def _colour(code: int) -> str:
    return _PLAIN[code] if code < 0 else str(code % 10)


def legend(
    labels: Sequence[str], codes: Optional[Sequence[int]] = None, more: Sequence[str] = ()
) -> str:
    """A legend of series in this order, with these colours, and further keys in HTML."""
    pairs = zip(labels, codes if codes is not None else range(len(labels)))
    keys = [
        '<span><i class="k%s"></i>%s</span>'
        % (_PLAIN[code] if code < 0 else code % MOST_COLOURS, escape(label))
        for label, code in pairs
    ]
    return '<p class="legend">%s</p>' % "".join([*keys, *more])


def both(draw: Callable[[int], str]) -> str:
    """A picture for screens and paper, and one for phones; the style sheet shows one of them."""
    return '<div class="large">%s</div><div class="small">%s</div>' % (draw(WIDTH), draw(NARROW))


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
    codes = _codes(series)

    def draw(width: int) -> str:
        frame = Frame(height, label, width=width)
        _heights(frame, top or 1.0, percent)
        frame.name_y("in use" if percent else "jobs")
        frame.time(last_s)
        for one, code in zip(series, codes):
            frame.out.append(_drawn(frame, one, code, last_s, top or 1.0))
        return frame.end()

    return both(draw) + legend([one.label for one in series], codes)


def multiples(
    series: Sequence[Series], last_s: float, top: float, label: str, percent: bool = False
) -> str:
    """Small pictures below each other, one a series, with common scales."""
    codes = _codes(series)

    def draw(width: int) -> str:
        out = []
        for one, code in zip(series, codes):
            last = one is series[-1]
            frame = Frame(104 if last else 74, "%s: %s" % (label, one.label), LEFT, width, last)
            _heights(frame, top or 1.0, percent, 2)
            frame.time(last_s, last)
            frame.out.append(_drawn(frame, one._replace(kind="area"), code, last_s, top or 1.0))
            said = '<p class="multiple"><i class="k%s"></i>%s</p>'
            out.append(said % (_colour(code), escape(one.label)) + frame.end())
        return "".join(out)

    return both(draw)


def _codes(series: Sequence[Series]) -> List[int]:
    return [i if one.code is None else one.code for i, one in enumerate(series)]


def _heights(frame: Frame, top: float, percent: bool, steps: int = 4) -> None:
    if percent:
        for i in range(steps + 1):
            frame.mark_y(i / steps / top, "%d %%" % (100 * i // steps))
        return
    marks = _round_marks(top)
    for value in marks if steps == 4 else (marks[0], marks[-1]):
        frame.mark_y(value / top, number(value))


def _drawn(frame: Frame, one: Series, code: int, last_s: float, top: float) -> str:
    def at(x: Any, y: Any) -> List[Tuple[float, float]]:
        return [(frame.x(min(a / last_s, 1)), frame.y(min(b / top, 1))) for a, b in zip(x, y)]

    line = at(one.x, one.y)
    title = "<title>%s</title>" % escape(one.label)
    out = []
    if one.kind == "area" and line:
        closed = [(line[0][0], frame.y(0)), *line, (line[-1][0], frame.y(0))]
        out.append('<path class="fill c%s" d="%sZ">%s</path>' % (_colour(code), _points(closed), title))
    if one.high is not None and line:
        out.append(
            '<path class="band c%s" d="%sZ"/>'
            % (_colour(code), _points([*line, *reversed(at(one.x, one.high))]))
        )
    if line:
        out.append('<path class="line c%s" d="%s">%s</path>' % (_colour(code), _points(line), title))
    return "".join(out)


def _round_marks(top: float) -> List[float]:
    """About four round marks for an axis of numbers up to ``top``."""
    power = 10.0 ** len(str(int(top / 4))) / 10 if top >= 4 else 1.0
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times * 5 >= top)
    step = max(step, 1.0)
    return [i * step for i in range(int(top / step * 1.0001) + 1)]


# ---- distributions ---------------------------------------------------------------------------

def cdf(
    values: Mapping[str, Any], label: str, codes: Optional[Sequence[int]] = None, height: int = 230
) -> str:
    """The fraction of jobs with at most a given number of seconds, one line for each label.

    The axis is logarithmic from one second on; shorter times are at its left edge.

    Parameters
    ----------
    codes
        Colours of the lines; None: in order.
    """
    import numpy

    most = max((float(found.max()) for found in values.values() if len(found)), default=1.0)
    right = next((seconds for seconds, _ in MARKS[1:] if seconds >= most), most)
    scale = numpy.log10(right)
    shown = codes if codes is not None else list(range(len(values)))
    # As many points as are visible, with the exact fraction of jobs at each.
    at = numpy.concatenate([[1.0], numpy.logspace(0, scale, BINS)])

    def draw(width: int) -> str:
        frame = Frame(height, label, width=width)
        for quarter in range(5):
            frame.mark_y(quarter / 4, "%d %%" % (25 * quarter))
        marks = [(seconds, said) for seconds, said in MARKS if seconds <= right]
        for seconds, said in marks if width == WIDTH else marks[:: 1 + len(marks) // 5]:
            frame.mark_x(numpy.log10(seconds) / scale, "≤ 1 s" if seconds == 1 else said)
        frame.name_x("%s, at most (logarithmic)" % label)
        frame.name_y("fraction of jobs")
        for code, (name, found) in zip(shown, values.items()):
            if len(found):
                reached = numpy.searchsorted(numpy.sort(found), at, side="right") / len(found)
                steps = [(frame.x(numpy.log10(a) / scale), frame.y(b)) for a, b in zip(at, reached)]
                frame.out.append(_steps(steps, code, name, found))
        return frame.end()

    return both(draw) + (legend(list(values), shown) if len(values) > 1 else "")


def _steps(pairs: Sequence[Tuple[float, float]], code: int, name: str, found: Any) -> str:
    import numpy

    path = "M%.1f %.1f" % pairs[0] + "".join("H%.1fV%.1f" % pair for pair in _changes(pairs))
    said = "%s: half within %s" % (name, span(float(numpy.median(found)))) if name else ""
    form = '<path class="line c%s" d="%s"><title>%s</title></path>'
    return form % (_colour(code), path, escape(said))


def _changes(pairs: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """The points where the height changes, and the end."""
    return [
        pair for before, pair in zip(pairs, pairs[1:]) if pair[1] != before[1] or pair is pairs[-1]
    ]
