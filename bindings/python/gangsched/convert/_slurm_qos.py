# SPDX-License-Identifier: Apache-2.0
"""The QOS of Slurm, as ``sacctmgr -P show qos`` prints them: which preempt which, and how,
and their budgets."""
from __future__ import annotations

from fractions import Fraction
from typing import Dict, List, Set

from ._base import MAX_SECONDS, ConvertError, Report, Source, integer, name, quote
from ._slurm_lines import minutes

#: Columns that are read; others are warned of.
_READ = {
    "name", "priority", "gracetime", "preempt", "preemptexempttime", "preemptmode", "grptresmins",
}
_MODES = {"CLUSTER", "OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "WITHIN", "PRIORITY"}

#: Maximum number of preempt classes in one tree of queues.
_MAX_CLASSES = 64


class Qos:
    """A row of the table."""

    def __init__(self, source: Source, number: int, row: Dict[str, str]) -> None:
        self.file = source.name
        self.number = number
        place = self.place("Name")
        self.name = name(place, row["name"], "QOS")
        self.priority = integer(self.place("Priority"), row.get("priority") or "0", 0, 2**32 - 1)
        self.grace = self._time("GraceTime", row.get("gracetime", ""))
        self.exempt = self._time("PreemptExemptTime", row.get("preemptexempttime", ""))
        self.preempts = [word.strip() for word in row["preempt"].split(",") if word.strip()]
        #: its budget, as text; counted in each partition by itself
        self.mins = row.get("grptresmins", "")
        words = {word.strip().upper() for word in row.get("preemptmode", "").split(",")} - {""}
        if words - _MODES:
            raise ConvertError(
                self.place("PreemptMode"), "not a PreemptMode: %s" % quote(sorted(words - _MODES)[0])
            )
        #: empty: those of the cluster
        self.modes: Set[str] = words - {"CLUSTER"}

    def place(self, column: str) -> str:
        return "%s:%d: %s" % (self.file, self.number, column)

    def _time(self, column: str, text: str) -> Fraction:
        value = minutes(self.place(column), text) if text else None
        if value is not None and value > MAX_SECONDS:
            raise ConvertError(self.place(column), "a time of more than %d seconds" % MAX_SECONDS)
        return value or Fraction(0)


def read_qos(source: Source, report: Report) -> List[Qos]:
    """The rows of a table of columns with | between them, by its headings."""
    lines = [(at, line) for at, line in enumerate(source.text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ConvertError(source.name, "no columns: empty")
    headings = [word.strip().lower() for word in lines[0][1].split("|")]
    for heading in ("name", "preempt"):
        if headings.count(heading) != 1:
            raise ConvertError("%s:%d" % (source.name, lines[0][0]), "no column %s" % heading)
    out: List[Qos] = []
    aside: Set[str] = set()
    for at, line in lines[1:]:
        words = line.split("|")
        if len(words) != len(headings):
            raise ConvertError(
                "%s:%d" % (source.name, at), "%d columns, not %d" % (len(words), len(headings))
            )
        row = {heading: word.strip() for heading, word in zip(headings, words)}
        out.append(Qos(source, at, row))
        aside |= {key for key in row if row[key] and key and key not in _READ}
    for key in sorted(aside):
        report.warn("%s: %s" % (source.name, key), "no counterpart: this limit of QOS is not read")
    _check(source, out)
    return out


def _check(source: Source, qos: List[Qos]) -> None:
    known = {each.name: each for each in qos}
    if len(known) < len(qos):
        raise ConvertError(source.name, "a QOS is there twice")
    if len(known) > _MAX_CLASSES:
        raise ConvertError(source.name, "more than %d QOS" % _MAX_CLASSES)
    for each in qos:
        for other in each.preempts:
            if other not in known:
                raise ConvertError(each.place("Preempt"), "no QOS %s" % quote(other))
    for each in qos:
        seen: Set[str] = set()
        ahead = list(each.preempts)
        while ahead:
            other = ahead.pop()
            if other == each.name:
                raise ConvertError(each.place("Preempt"), "the QOS would preempt itself")
            if other not in seen:
                seen.add(other)
                ahead += known[other].preempts
