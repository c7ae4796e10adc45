# SPDX-License-Identifier: Apache-2.0
"""Many rectangles as an image, in time proportional to the visible ones."""

from typing import Any


def paint(x0: Any, x1: Any, y0: Any, y1: Any, code: Any, width: int, height: int) -> Any:
    """An image of ``height`` rows of ``width`` pixels.

    A pixel has the code (1 to 255) of the last rectangle that contains its centre, or 0. Thus each
    colour covers its true fraction, even if many rectangles share a pixel.

    Parameters
    ----------
    x0, x1
        Left and right edges of the rectangles, as fractions of the width, from 0 to 1.
    y0, y1
        Upper and lower edges, as fractions of the height, from the top.
    """
    import numpy

    left, right = (
        numpy.ceil(edge * width - 0.5).clip(0, width).astype(numpy.int64) for edge in (x0, x1)
    )
    top, bottom = (
        numpy.ceil(edge * height - 0.5).clip(0, height).astype(numpy.int64) for edge in (y0, y1)
    )
    image = numpy.zeros((height, width), dtype=numpy.uint8)
    seen = numpy.nonzero((left < right) & (top < bottom))[0]
    columns = (column[seen].tolist() for column in (left, right, top, bottom, code))
    for a, b, c, d, colour in zip(*columns):
        image[c:d, a:b] = colour
    return image
