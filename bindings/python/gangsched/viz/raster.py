# SPDX-License-Identifier: Apache-2.0
"""Very many rectangles as a picture, in the time that those take which can be seen in it."""

from typing import Any


def paint(x0: Any, x1: Any, y0: Any, y1: Any, code: Any, width: int, height: int) -> Any:
    """A picture of ``height`` rows of ``width`` pixels: a pixel is that code (1 to 255) whose rectangle its centre is
    in, 0 where there is none. So each colour has its part of the whole, however many rectangles share a pixel.

    Args:
        x0, x1: where each begins and ends, as parts of the width, from 0 to 1. y0, y1: likewise, from the top.
    """
    import numpy

    left, right = (numpy.ceil(edge * width - 0.5).clip(0, width).astype(numpy.int64) for edge in (x0, x1))
    top, bottom = (numpy.ceil(edge * height - 0.5).clip(0, height).astype(numpy.int64) for edge in (y0, y1))
    image = numpy.zeros((height, width), dtype=numpy.uint8)
    seen = numpy.nonzero((left < right) & (top < bottom))[0]
    columns = (column[seen].tolist() for column in (left, right, top, bottom, code))
    for a, b, c, d, colour in zip(*columns):
        image[c:d, a:b] = colour
    return image
