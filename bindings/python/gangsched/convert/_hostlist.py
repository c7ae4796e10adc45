# SPDX-License-Identifier: Apache-2.0
"""Slurm's lists of names: ``n[1-3,08-10]x,login1``."""
from __future__ import annotations

import re
from itertools import product
from typing import List

from ._base import MAX_NODES, ConvertError, name, quote

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


def _words(place: str, text: str) -> List[str]:
    """Split at the commas that are outside brackets."""
    words, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
        elif letter == "," and depth == 0:
            words.append(text[start:at])
            start = at + 1
        if depth not in (0, 1):
            raise ConvertError(place, "brackets that do not match: %s" % quote(text))
    if depth:
        raise ConvertError(place, "brackets that do not match: %s" % quote(text))
    return [word for word in words + [text[start:]] if word]


def _numbers(place: str, text: str) -> List[str]:
    """``1-3,08`` without the brackets."""
    out: List[str] = []
    for word in text.split(","):
        match = _RANGE.fullmatch(word)
        if not match:
            raise ConvertError(place, "not a range of numbers: %s" % quote(word))
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) < int(low) or int(high) - int(low) >= MAX_NODES - len(out):
            raise ConvertError(place, "a range that is empty or too long: %s" % quote(word))
        out += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return out


def expand(place: str, text: str, most: int = MAX_NODES) -> List[str]:
    """The names that a list stands for, in its order."""
    out: List[str] = []
    for word in _words(place, text):
        parts = re.split(r"\[([^\[\]]*)\]", word)
        choices = [_numbers(place, part) if i % 2 else [part] for i, part in enumerate(parts)]
        total = 1
        for choice in choices:
            total *= len(choice)
        if total > most - len(out):
            raise ConvertError(place, "more than %d names: %s" % (most, quote(text)))
        out += [name(place, "".join(combination)) for combination in product(*choices)]
    return out


def indices(place: str, text: str, most: int = 65536) -> List[int]:
    """``0-3,8`` as numbers."""
    numbers = [int(word) for word in _numbers(place, text.strip().strip("[]"))]
    if len(numbers) > most:
        raise ConvertError(place, "more than %d numbers" % most)
    return numbers
