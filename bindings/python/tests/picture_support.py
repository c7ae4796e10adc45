# SPDX-License-Identifier: Apache-2.0
"""What can be said of any figure of matplotlib: its texts, those that collide, its legend; and
jobs to draw.
"""

import random

import gangsched as gs


def texts_of(figure):
    """Visible texts of a figure, each with its box in pixels."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    found = []
    for one in _all_texts(figure):
        if one is not None and one.get_visible() and one.get_text().strip():
            box = one.get_window_extent(renderer)
            if box.width > 1 and box.height > 1:
                found.append((one.get_text(), box))
    return found


def _all_texts(figure):
    yield from figure.texts
    for axes in figure.axes:
        yield from (axes.title, axes._left_title, axes._right_title, *axes.texts)
        legend = axes.get_legend()
        yield from [] if legend is None else legend.get_texts()
        for axis in (axes.xaxis, axes.yaxis):
            yield axis.label
            for tick in axis._update_ticks():  # without those beyond the limits
                yield from (tick.label1, tick.label2)


def collisions(figure, least=1.0):
    """Pairs of texts that overlap by more than ``least`` pixels in both directions."""
    boxes = texts_of(figure)
    found = []
    for i, (said, box) in enumerate(boxes):
        for other, second in boxes[i + 1 :]:
            wide = min(box.x1, second.x1) - max(box.x0, second.x0)
            high = min(box.y1, second.y1) - max(box.y0, second.y0)
            if wide > least and high > least:
                found.append((said, other))
    return found


def outside(figure):
    """Texts that the edge of the figure cuts."""
    width, height = figure.canvas.get_width_height()
    return [
        said for said, box in texts_of(figure)
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


def legend_of(axes):
    """Texts of the legend, each with its handle."""
    legend = axes.get_legend()
    if legend is None:
        return {}
    return dict(zip((one.get_text() for one in legend.get_texts()), legend.legendHandles))


def trace_of(count, seed=3, users=6, days=3, sizes=(1, 2, 4, 8)):
    draw = random.Random(seed)
    return gs.Trace([
        {
            "submit_s": round(draw.uniform(0, days * 86400)),
            "run_s": round(draw.lognormvariate(8.2, 1)),
            "count": draw.choice([1, 1, 2]), "gpu": draw.choice(sizes),
            "queue": draw.choice(["research", "production"]),
            "user": "u%d" % draw.randrange(users),
        }
        for _ in range(count)
    ])


QUEUES = {"production": {"guaranteed": {"gpu": 24}, "limit": {"gpu": 28}}, "research": {}}
