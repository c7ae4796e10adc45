# SPDX-License-Identifier: Apache-2.0
"""GrpTRESMins of Slurm's QOS and accounts: budgets of queues."""
from __future__ import annotations

import re
from typing import Dict, List, Optional

from ._base import Json, MAX_AMOUNT, ConvertError, Report, add_kind, kind_name, quote
from ._slurm_lines import Settings, minutes

#: PriorityUsageResetPeriod in seconds; months and longer are not of one length.
_PERIODS = {
    "NONE": 0, "NOW": 0, "DAILY": 86400, "WEEKLY": 7 * 86400, "MONTHLY": 30 * 86400,
    "QUARTERLY": 91 * 86400, "YEARLY": 365 * 86400,
}
_KINDS = {"cpu": "cpu", "mem": "mem_mib", "gres/gpu": "gpu"}
#: Resources that the library does not count.
_UNCOUNTED = ("node", "billing", "energy", "vmem", "pages", "fs/disk", "bb/")
_MEM_UNITS = {"": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}


class Budgets:
    """Makes budgets, as the settings of the cluster say."""

    def __init__(self, settings: Settings, scenario: Json, report: Report) -> None:
        self.settings = settings
        self.scenario = scenario
        self.report = report
        #: by place: how many queues have this budget
        self.uses: Dict[str, int] = {}

    def of(self, place: str, text: str, per_user: bool = False) -> List[Json]:
        """The budgets of ``cpu=1000,gres/gpu=600``, each in minutes of its resource."""
        amounts = self._amounts(place, text)
        exhausted = self._enforced(place) if amounts else None
        if exhausted is None:
            return []
        self.uses[place] = self.uses.get(place, 0) + 1
        common: Json = {"exhausted": exhausted}
        period = self._period()
        if period:
            common["period_s"] = period
        if per_user:
            common["per_user"] = True
        return [{"kind": kind, "amount": amount, **common} for kind, amount in amounts.items()]

    def _amounts(self, place: str, text: str) -> Dict[str, int]:
        """For each kind the amount times seconds."""
        out: Dict[str, int] = {}
        for word in text.split(","):
            if not word.strip():
                continue
            match = re.fullmatch(
                r"\s*([A-Za-z][^=\s]*)\s*=\s*(-1|[0-9]{1,15})([MGTPmgtp]?)\s*", word, re.ASCII
            )
            if match is None or (match.group(3) and match.group(1).lower() != "mem"):
                raise ConvertError(place, "not RESOURCE=MINUTES: %s" % quote(word.strip()))
            kind = self._kind(place, match.group(1))
            if not kind or match.group(2) == "-1":  # -1: no bound
                continue
            if kind in out:
                raise ConvertError(place, "%s is there twice" % quote(match.group(1)))
            out[kind] = int(match.group(2)) * _MEM_UNITS[match.group(3).upper()] * 60
            if out[kind] > MAX_AMOUNT:
                raise ConvertError(place, "too much: %s" % quote(word.strip()))
        return out

    def _kind(self, place: str, resource: str) -> str:
        word = resource.lower()
        if word in _KINDS:
            return _KINDS[word]
        if word.startswith(_UNCOUNTED) or word.startswith("gres/gpu"):
            self.report.warn(place, "no counterpart: %s" % quote(resource))
            return ""
        stem, _, rest = resource.partition("/")
        kind = kind_name(place, rest or stem)
        if stem.lower() == "license":
            licences = [k["name"] for k in self.scenario.get("kinds", []) if "scope" in k]
            if kind not in licences:
                raise ConvertError(place, "no licence %s" % quote(kind))
        else:
            add_kind(place, self.scenario, kind)
        return kind

    def _enforced(self, place: str) -> Optional[str]:
        """What happens when the budget is used up; None: Slurm does not enforce it."""
        key = "accountingstorageenforce"
        words = {word.strip().lower() for word in self.settings.get(key).split(",")}
        if words & {"safe", "all"}:
            return "safe"
        if "limits" in words:
            return "kill"
        self.report.warn(
            place, "not enforced: AccountingStorageEnforce has neither limits nor safe"
        )
        return None

    def _period(self) -> int:
        key, half = "priorityusageresetperiod", "prioritydecayhalflife"
        word = self.settings.get(key, "NONE").upper()
        place = self.settings.place(key)
        if word not in _PERIODS:
            raise ConvertError(place, "not a period: %s" % quote(word))
        if word in ("MONTHLY", "QUARTERLY", "YEARLY"):
            self.report.warn(place, "taken for %d days" % (_PERIODS[word] // 86400))
        if minutes(self.settings.place(half), self.settings.get(half, "7-0")):
            self.report.warn(
                self.settings.place(half),
                "the use of budgets does not decay; it counts until its period ends",
            )
        return _PERIODS[word]
