# SPDX-License-Identifier: Apache-2.0
"""The colours of all pictures: each queue, user or job has one, the same in every picture."""

from typing import TYPE_CHECKING, Any, List, Sequence, Tuple

if TYPE_CHECKING:
    from ..sim.result import Result

#: The first eight are colours that readers with a colour-vision deficiency can tell apart, on white
#: and on black: six of Okabe and Ito, without yellow and black, and two of Tol. The others only
#: differ for other readers.
PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#aa3377", "#117733",
    "#8f99a3", "#8c510a",
)

#: Maximum number of colours of a picture: those of the palette, and a lighter one of each.
MOST_COLOURS = 2 * len(PALETTE)

#: What is in use. Free capacity is transparent grey: dim on light and on dark pages.
USED, FREE = "#2f86d0", "#808a9447"

#: Lines at a guarantee, and at a limit or a capacity.
GUARANTEED, LIMIT = "#009e73", "#d55e00"

#: Text and axes that are readable on white and on black.
NEUTRAL = "#737d87"


def _lighter(colour: str) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#%02x%02x%02x" % tuple(round(255 - (255 - part) * 0.45) for part in parts)


#: All colours, by code.
COLOURS: Tuple[str, ...] = PALETTE + tuple(_lighter(colour) for colour in PALETTE)


def colour_of(code: int) -> str:
    """The colour of a queue, user or job with this number. Colours repeat after the last."""
    return COLOURS[code % MOST_COLOURS]


def rgba(codes: Sequence[int]) -> Any:
    """Colours of many codes, as a numpy array of red, green, blue and opacity, from 0 to 1."""
    import numpy

    table = [[int(one[i : i + 2], 16) / 255 for i in (1, 3, 5)] + [1.0] for one in COLOURS]
    return numpy.array(table)[numpy.asarray(codes, dtype=numpy.int64) % MOST_COLOURS]


def ranked(result: "Result", by: str) -> Tuple[Any, List[str]]:
    """Queues or users with jobs, renumbered: the number of each job, and the names.

    The number is that of the colour.
    """
    import numpy

    words = result._word_list(by)
    used, codes = numpy.unique(result._codes(by), return_inverse=True)
    return codes, [
        words[code] if 0 <= code < len(words) and words[code] else "(no %s)" % by for code in used
    ]


__all__ = ["COLOURS", "MOST_COLOURS", "PALETTE", "colour_of", "ranked", "rgba"]
