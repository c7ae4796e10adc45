# SPDX-License-Identifier: Apache-2.0
"""Reads the lines, times, amounts and Gres of Slurm's configuration files."""
from __future__ import annotations

import re
from fractions import Fraction
from typing import Dict, List, Optional, Set, Tuple

from ._base import MAX_AMOUNT, MAX_MIB, MAX_SECONDS, ConvertError, Json, Report, Source, name, quote

_WORD = re.compile(r'([A-Za-z][A-Za-z0-9_]*)\s*=\s*("[^"]*"|[^\s"]*(?:"[^"]*"[^\s"]*)*)')


class Line:
    """A line of a file: its keys in lower case, with their values."""

    def __init__(
        self, file: str, number_: int, keys: Dict[str, str], spelled: Dict[str, str]
    ) -> None:
        self.file = file
        self.number = number_
        self.keys = keys
        self.spelled = spelled

    def place(self, key: str = "") -> str:
        where = "%s:%d" % (self.file, self.number)
        return "%s: %s" % (where, self.spelled.get(key, key)) if key else where

    def get(self, key: str, default: Optional[str] = None) -> Optional[str]:
        return self.keys.get(key, default)


class Settings:
    """The keys of ``slurm.conf`` that hold for the whole cluster."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: Dict[str, Line] = {}
        #: the keys that the converter read
        self.used: Set[str] = set()

    def get(self, key: str, default: str = "") -> str:
        self.used.add(key)
        line = self.lines.get(key)
        return (line.get(key, default) or default) if line else default

    def place(self, key: str) -> str:
        line = self.lines.get(key)
        return line.place(key) if line else "%s: %s" % (self.file, key)

    def parameter(self, key: str) -> Optional[str]:
        """A word of SchedulerParameters."""
        for word in self.get("schedulerparameters").split(","):
            left, equals, right = word.strip().partition("=")
            if left == key:
                return right if equals else ""
        return None


def read_lines(source: Source, report: Report) -> List[Line]:
    """Lines of ``Key=Value``: # begins a comment, a backslash at the end continues, quotes enclose
    blanks.
    """
    out: List[Line] = []
    text, first = "", 0
    for count, raw in enumerate(source.text.split("\n"), 1):
        first = first or count
        piece = _uncommented(raw.rstrip("\r"))
        if piece.rstrip().endswith("\\"):
            text += piece.rstrip()[:-1]
            continue
        text += piece
        if text.strip():
            line = _line(source.name, first, text.strip(), report)
            if line:
                out.append(line)
        text, first = "", 0
    if text.strip():
        line = _line(source.name, first, text.strip(), report)
        if line:
            out.append(line)
    return out


def _uncommented(text: str) -> str:
    for at, letter in enumerate(text):
        if letter == "#" and (at == 0 or text[at - 1] != "\\"):
            return text[:at]
    return text


def _line(file: str, count: int, text: str, report: Report) -> Optional[Line]:
    place = "%s:%d" % (file, count)
    if re.match(r"(?i)include\s", text):
        report.warn(place, "the file %s is not read: give it, too" % quote(text[7:].strip()))
        return None
    keys: Dict[str, str] = {}
    spelled: Dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _WORD.match(text, at)
        if not match:
            raise ConvertError(place, "not Key=Value: %s" % quote(text[at:]))
        key = match.group(1).lower()
        if key in keys:
            raise ConvertError("%s: %s" % (place, match.group(1)), "is there twice")
        keys[key] = match.group(2).replace('"', "")
        spelled[key] = match.group(1)
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return Line(file, count, keys, spelled)


def minutes(place: str, text: str) -> Optional[Fraction]:
    """Seconds of a partition's time: minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s; None: unlimited."""
    if text.upper() in ("INFINITE", "UNLIMITED", "NONE", "-1"):
        return None
    days, dash, rest = text.rpartition("-")
    words = rest.split(":")
    numbers = words + ([days] if dash else [])
    if len(words) > 3 or not all(re.fullmatch(r"[0-9]{1,9}", word, re.ASCII) for word in numbers):
        raise ConvertError(place, "not a time: %s" % quote(text))
    values = [int(word) for word in words]
    if dash:
        hours = values + [0] * (3 - len(values))
        total = ((int(days) * 24 + hours[0]) * 60 + hours[1]) * 60 + hours[2]
    elif len(values) == 3:
        total = (values[0] * 60 + values[1]) * 60 + values[2]
    else:
        total = values[0] * 60 + (values[1] if len(values) == 2 else 0)
    if total > MAX_SECONDS:
        raise ConvertError(place, "a time of more than %d seconds" % MAX_SECONDS)
    return Fraction(total)


def megabytes(place: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,18})([KMGTkmgt]?)", text, re.ASCII)
    if not match:
        raise ConvertError(place, "not an amount of memory: %s" % quote(text))
    value = (
        int(match.group(1))
        * {"": 1024, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}[match.group(2).lower()]
    )
    if value // 1024 > MAX_MIB:
        raise ConvertError(place, "more memory than any machine has")
    return value // 1024


COUNT_UNITS = {"": 1, "k": 1024, "m": 1024 ** 2, "g": 1024 ** 3, "t": 1024 ** 4}


def gres(place: str, text: str) -> List[Tuple[str, str, int]]:
    """``gpu:a100:4(S:0),fpga:2`` as (name, type, count)."""
    out = []
    for word in re.sub(r"\([^()]*\)", "", text).split(","):
        words = word.strip().split(":")
        if words == [""]:
            continue
        if words[-1:] and words[-1] == "no_consume":
            words.pop()
        match = (
            re.fullmatch(r"([0-9]{1,12})([KMGTkmgt]?)", words[-1], re.ASCII)
            if len(words) > 1
            else None
        )
        if match:
            count = int(match.group(1)) * COUNT_UNITS[match.group(2).lower()]
            words.pop()
        else:
            count = 1
        if not 1 <= len(words) <= 2 or not all(words) or count > MAX_AMOUNT:
            raise ConvertError(place, "not name:type:count: %s" % quote(word))
        out.append(
            (
                name(place, words[0]).lower(),
                name(place, words[1], "type") if len(words) == 2 else "",
                count,
            )
        )
    return out


class Node:
    """A node of slurm.conf, with its Gres."""

    def __init__(
        self, line: Line, json: Json, gres_: List[Tuple[str, str, int]], sockets: int, cores: int
    ) -> None:
        self.line = line
        self.json = json
        self.gres = gres_
        self.sockets = sockets
        self.cores = cores  #: of a socket; 0: unknown
        #: for each device: place, Links, Cores
        self.links: List[Tuple[str, List[int], List[int]]] = []
        self.types: List[str] = []  #: types of these devices
