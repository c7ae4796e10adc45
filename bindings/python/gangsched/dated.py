# SPDX-License-Identifier: Apache-2.0
"""Dates in the text of traces: ``submit_s`` and ``start_s`` of CSV and JSON lines.

A date becomes its seconds from the epoch. It is written over the date, at the same place, so that
lines and columns of later errors are those of the text.
"""

import re
from typing import TYPE_CHECKING, Iterator, List, NamedTuple, Optional, Tuple

from .dates import as_date, check_zones, is_date
from .errors import InvalidArgument

if TYPE_CHECKING:
    import pandas

#: The members of a job that are times.
TIMES = ("submit_s", "start_s")

_FIELD = re.compile(rb'"((?:[^"]|"")*)"|([^,]*)')
_MEMBER = re.compile(
    rb'"(submit_s|start_s)"[ \t]*:[ \t]*(?:("(?:[^"\\]|\\.)*")|(-?[0-9][0-9.eE+-]*))'
)


class _Cell(NamedTuple):
    """A value of a time column; ``begin`` and ``end`` are where it is in its line."""

    line: int
    begin: int
    end: int
    name: str
    value: str


def _fields(line: bytes) -> Iterator[Tuple[int, int]]:
    """Where the fields of a line of CSV are, without their quotes."""
    at = 0
    while at <= len(line):
        found = _FIELD.match(line, at)
        assert found is not None  # the second alternative matches everywhere
        yield found.span(2 if found.group(1) is None else 1)
        at = found.end() + 1


def _csv_cells(lines: List[bytes]) -> Iterator[_Cell]:
    wanted: Optional[List[Tuple[int, str]]] = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        spans = list(_fields(line.rstrip(b"\r")))
        if wanted is None:  # the header
            names = [line[begin:end].decode("utf-8", "replace") for begin, end in spans]
            wanted = [(at, name) for at, name in enumerate(names) if name in TIMES]
            continue
        for at, name in wanted:
            if at < len(spans):
                begin, end = spans[at]
                yield _Cell(number, begin, end, name, line[begin:end].decode("utf-8", "replace"))


def _json_cells(lines: List[bytes]) -> Iterator[_Cell]:
    for number, line in enumerate(lines, 1):
        for found in _MEMBER.finditer(line):
            begin, end = found.span(3 if found.group(2) is None else 2)
            value = line[begin:end].decode("utf-8", "replace").strip('"')
            yield _Cell(number, begin, end, found.group(1).decode(), value)


def in_seconds(
    content: bytes, is_csv: bool, epoch: "Optional[pandas.Timestamp]", lenient: bool
) -> "Optional[Tuple[bytes, pandas.Timestamp]]":
    """The text with seconds instead of dates, and its epoch; None: there is no date.

    With ``lenient`` wrong dates stay, so that their rows are skipped.

    Raises
    ------
    InvalidArgument
        With line and column: not a date; only some dates have a time zone; or a number beside
        dates without an epoch.
    """
    lines = content.split(b"\n")
    found: "List[Tuple[_Cell, pandas.Timestamp]]" = []
    numbered: Optional[_Cell] = None
    wrong: Optional[InvalidArgument] = None
    for cell in (_csv_cells if is_csv else _json_cells)(lines):
        if not is_date(cell.value):
            if cell.name == "submit_s" and cell.value.strip():
                numbered = numbered or cell
            continue
        try:
            date = as_date(cell.value, cell.name)
            check_zones(date, found[0][1] if epoch is None and found else epoch or date, cell.name)
            found.append((cell, date))
        except InvalidArgument as error:
            wrong = wrong or _at(cell, str(error), lines)
    if not found:
        return None
    if wrong is not None and not lenient:
        raise wrong
    if epoch is None and numbered is not None:
        raise _at(numbered, "submit_s: a number beside dates needs epoch=", lines)
    first = min(date for _, date in found) if epoch is None else epoch
    for cell, date in reversed(found):  # backwards: what is before a cell stays where it is
        line, room = lines[cell.line - 1], cell.end - cell.begin
        number = _number(date.value - first.value, room, is_csv)
        lines[cell.line - 1] = line[: cell.begin] + number + line[cell.end :]
    return b"\n".join(lines), first


def _number(value_ns: int, width: int, is_csv: bool) -> bytes:
    """ns as seconds, as wide as the date was: CSV has zeros before it, JSON has blanks after it."""
    whole, rest = divmod(abs(value_ns), 10**9)
    sign = "-" if value_ns < 0 else ""
    text = "%d" % whole + (".%09d" % rest if rest else "")
    if is_csv:
        return (sign + text.zfill(width - len(sign))).encode()
    return (sign + text).ljust(width).encode()


def _at(cell: _Cell, said: str, lines: List[bytes]) -> InvalidArgument:
    column = len(lines[cell.line - 1][: cell.begin].decode("utf-8", "replace")) + 1
    return InvalidArgument(
        "line %d: %s" % (cell.line, said), text=said, path=cell.name, line=cell.line, column=column
    )


__all__ = ["TIMES", "in_seconds"]
