# SPDX-License-Identifier: Apache-2.0
"""The partitions of Slurm: each becomes a partition of nodes, and a queue of the same name."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Tuple

from ._base import (
    MAX_SECONDS, ConvertError, Json, Report, boolean, integer, name, number, quote, seconds,
)
from ._hostlist import expand
from ._slurm_accounts import Accounts, put_accounts
from ._slurm_budgets import Budgets
from ._slurm_lines import Line, Node, Settings, minutes
from ._slurm_qos import Qos
from ._yarn import acl

_PARTITION_KEYS = {
    "partitionname", "nodes", "prioritytier", "preemptmode", "maxtime", "defaulttime", "state",
    "allowgroups", "default", "gracetime", "oversubscribe", "shared", "priority", "priorityjobfactor",
    "qos",
}
_MODES = {"OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "WITHIN", "PRIORITY"}

#: Members of a queue that are those of its leaves, not inherited.
_OF_LEAVES = ("order", "block", "within", "reclaim", "preempt_mode", "partitions")

#: The weights of multifactor priority.
_WEIGHTS = {
    "priorityweightage": "priority_weight_age",
    "priorityweightfairshare": "priority_weight_fair_share",
    "priorityweightjobsize": "priority_weight_size",
    "priorityweightpartition": "priority_weight_queue",
}


def seen_names(queues: List[Json]) -> List[str]:
    return [queue["name"] for queue in queues]


class Partitions:
    """Converts partitions, with the settings for all of them."""

    def __init__(
        self, settings: Settings, nodes: Dict[str, Node], scenario: Json, report: Report
    ) -> None:
        self.settings = settings
        self.nodes = nodes
        self.scenario = scenario
        self.report = report
        self.lines: List[Tuple[Line, Dict[str, Tuple[str, Line]]]] = []
        #: sets of nodes, by name
        self.sets: Dict[str, Line] = {}
        #: the QOS, if they are given
        self.qos: List[Qos] = []
        #: the accounts, if they are given
        self.accounts = Accounts()
        self.budgets = Budgets(settings, scenario, report)
        #: the partition that is the default
        self.default: Optional[str] = None

    def add(self, line: Line, keys: Dict[str, Tuple[str, Line]]) -> None:
        self.lines.append((line, keys))

    def convert(self) -> None:
        seen: Dict[str, Line] = {}
        for line, keys in self.lines:
            place = line.place("partitionname")
            partition = name(place, line.keys["partitionname"], "partition")
            if partition in seen:
                raise ConvertError(place, "partition %s is there twice" % quote(partition))
            seen[partition] = line
            self._put_nodes(partition, keys)
            self.scenario.setdefault("partitions", []).append({"name": partition})
            queue = self._queue(partition, line, keys)
            # Slurm's jobs run on the nodes of their partition only.
            if any(partition not in node.json.get("partitions", ()) for node in self.nodes.values()):
                queue["partitions"] = [partition]
            self._partition_qos(queue, keys)
            below = self._leaves(queue, keys) or self._accounts(queue)
            self.scenario.setdefault("queues", []).extend([queue] + below)
        self._settle_classes()
        self._settle_budgets()
        self._job_factors()
        tiers: Dict[int, List[str]] = {}
        for queue in self.scenario.get("queues", []):
            if "parent" in queue:
                continue
            tiers.setdefault(queue["priority"], []).append(queue["name"])
        for tier, names in tiers.items():
            if len(names) > 1:
                text = "have one PriorityTier: they take turns by fair share, in Slurm by the priority of jobs"
                if self._join(tier, names):
                    text = "have one PriorityTier: their jobs go in one order, and share by weight"
                if any(q.get("reclaim") == "any" for q in self.scenario["queues"]):
                    text += "; and they may preempt jobs above their share, in Slurm they may not"
                self.report.warn(
                    "%s: PartitionName" % self.settings.file, "%s %s" % (", ".join(names[:5]), text)
                )

    def _join(self, tier: int, names: List[str]) -> bool:
        """With multifactor priority: one parent for partitions of one tier."""
        queues = self.scenario["queues"]
        joined = [queue for queue in queues if queue["name"] in names]
        parent = "tier-%d" % tier
        if any(queue.get("order") != "multifactor" for queue in joined) or parent in seen_names(queues):
            return False
        first = queues.index(joined[0])
        top = {"name": parent, "priority": tier, "child_order": "multifactor",
               "reclaim": joined[0]["reclaim"]}
        for queue in joined:
            queue["parent"] = parent
        queues.insert(first, top)
        return True

    def _job_factors(self) -> None:
        """PriorityJobFactor counts as a part of the highest one."""
        factors: Dict[str, int] = {}
        for line, keys in self.lines:
            if "priorityjobfactor" in keys:
                text, at = keys["priorityjobfactor"]
                factors[line.keys["partitionname"]] = integer(
                    at.place("priorityjobfactor"), text, 0, 65533
                )
        most = max(factors.values(), default=0)
        for queue in self.scenario.get("queues", []):
            partition = queue["parent"] if "preempt_class" in queue else queue["name"]
            if most and factors.get(partition) and queue.get("order") == "multifactor":
                queue["priority_factor"] = round(factors[partition] / most, 6)

    def _multifactor(self, out: Json) -> None:
        """PriorityWeight*, if some weight is given."""
        settings = self.settings
        weights = {
            ours: integer(settings.place(key), settings.get(key, "0") or "0", 0, 2**32 - 1)
            for key, ours in _WEIGHTS.items()
        }
        if not any(weights.values()):
            return
        out["order"] = "multifactor"
        out.update({key: weight for key, weight in weights.items() if weight})
        out["priority_weight_job"] = 1  # minus the nice value of a job
        age = minutes(settings.place("prioritymaxage"), settings.get("prioritymaxage", "7-0"))
        if age is None:
            self.report.warn(settings.place("prioritymaxage"), "no counterpart: 7 days")
        elif age:
            out["priority_max_age_s"] = seconds(settings.place("prioritymaxage"), age)
        period = minutes(
            settings.place("prioritycalcperiod"), settings.get("prioritycalcperiod", "5")
        )
        if period:
            out["priority_period_s"] = seconds(settings.place("prioritycalcperiod"), period)
        place = settings.place("priorityfavorsmall")
        if boolean(place, settings.get("priorityfavorsmall", "NO")):
            out["priority_favor_small"] = True

    def _put_nodes(self, partition: str, keys: Dict[str, Tuple[str, Line]]) -> None:
        if "nodes" not in keys:
            return
        text, line = keys["nodes"]
        place = line.place("nodes")
        for node in self._members(place, text):
            into = self.nodes[node].json.setdefault("partitions", [])
            if partition not in into:
                into.append(partition)

    def _members(self, place: str, text: str) -> List[str]:
        """The nodes of a list, by name or by set."""
        out: List[str] = []
        for word in list(self.nodes) if text.upper() == "ALL" else expand(place, text):
            if word in self.sets:
                line = self.sets[word]
                feature = line.get("feature")
                out += (
                    [n for n in self.nodes if feature in self.nodes[n].json.get("labels", {})]
                    if feature
                    else []
                )
                nodes = line.get("nodes")
                for node in expand(line.place("nodes"), nodes) if nodes else ():
                    if node not in self.nodes:
                        raise ConvertError(line.place("nodes"), "no node %s" % quote(node))
                    out.append(node)
            elif word in self.nodes:
                out.append(word)
            else:
                raise ConvertError(place, "no node %s" % quote(word))
        return out

    def _queue(self, partition: str, line: Line, keys: Dict[str, Tuple[str, Line]]) -> Json:
        def value(key: str, default: str = "") -> Tuple[str, str]:
            text, at = keys.get(key, (default, line))
            return text, at.place(key)
        out: Json = {"name": partition}
        text, place = value("prioritytier", value("priority", "1")[0])
        out["priority"] = integer(place, text, 0, 65533)
        self._partition_state(value, out)
        self._times(value, out)
        self._preempt(value, out)
        self._order(out)
        text, place = value("allowgroups", "ALL")
        if text.upper() != "ALL":
            out["submit_acl"] = acl(place, " " + text)
        text, place = value("default", "NO")
        if boolean(place, text):
            if self.scenario.get("default_queue") is not None:
                raise ConvertError(
                    place,
                    "partition %s is the default, too" % quote(self.scenario["default_queue"]),
                )
            self.scenario["default_queue"] = self.default = partition
        for key, (_, at) in keys.items():
            if key not in _PARTITION_KEYS and not (
                key in ("allowqos", "denyqos") and self._by_qos()
            ):
                self.report.warn(at.place(key), "no counterpart")
        return out

    def _partition_state(self, value: Any, out: Json) -> None:
        text, place = value("state", "UP")
        states = {"UP": None, "DOWN": "closed", "DRAIN": "draining", "INACTIVE": "closed"}
        if text.upper() not in states:
            raise ConvertError(place, "not a state of a partition: %s" % quote(text))
        if states[text.upper()]:
            out["state"] = states[text.upper()]
        if text.upper() == "DOWN":
            self.report.warn(place, "refuses jobs; in Slurm they wait")

    def _times(self, value: Any, out: Json) -> None:
        text, place = value("maxtime", "UNLIMITED")
        most = minutes(place, text)
        if most == 0:
            raise ConvertError(place, "no time at all")
        if most is not None:
            out["max_time_limit_s"] = seconds(place, most)
        text, place = value("defaulttime", "")
        default = minutes(place, text) if text else None
        if default is not None and most is not None and default > most:
            raise ConvertError(place, "above MaxTime")
        default = default or most
        if default:
            out["default_time_limit_s"] = seconds(place, default)
        text, place = value("gracetime", "0")
        grace = number(place, text, 0, MAX_SECONDS)
        if grace:
            out["grace_s"] = seconds(place, grace)
        exempt = self.settings.get("preemptexempttime", "-1")
        spared = (
            None if exempt == "-1" else minutes(self.settings.place("preemptexempttime"), exempt)
        )
        if spared:
            out["min_runtime_s"] = seconds(self.settings.place("preemptexempttime"), spared)

    def _preempt(self, value: Any, out: Json) -> None:
        kind = self.settings.get("preempttype", "preempt/none").lower()
        if kind not in ("preempt/none", "preempt/partition_prio", "preempt/qos"):
            raise ConvertError(
                self.settings.place("preempttype"), "not a PreemptType: %s" % quote(kind)
            )
        if kind == "preempt/qos" and not self.qos:
            self.report.warn(
                self.settings.place("preempttype"),
                "QOS are not in these files; nothing is preempted",
            )
        by_tier = kind == "preempt/partition_prio"
        everywhere = self.settings.get("preemptmode", "OFF")
        text, place = value("preemptmode", everywhere)
        words = {word.strip().upper() for word in text.split(",") if word.strip()}
        gang = "GANG" in {word.strip().upper() for word in everywhere.split(",")}
        unknown = words - _MODES
        if unknown:
            raise ConvertError(place, "not a PreemptMode: %s" % quote(sorted(unknown)[0]))
        out["within"] = "lower" if "WITHIN" in words and by_tier else "never"
        out["reclaim"] = "any" if by_tier else "never"
        sliced = self._slices(value, gang, out)
        if by_tier:
            self._mode(place, words, sliced, out)

    def _mode(self, place: str, words: Set[str], sliced: bool, out: Json) -> None:
        """How the jobs of a queue are preempted."""
        if "OFF" in words or words <= {"GANG", "WITHIN"}:
            out["no_preemption"] = True
        for word, mode in (("CANCEL", "cancel"), ("SUSPEND", "suspend")):
            if word not in words:
                continue
            if mode == "suspend" and sliced:
                self.report.warn(
                    place, "suspends no job where gangs take turns: preempted jobs are requeued"
                )
            else:
                out["preempt_mode"] = mode

    def _by_qos(self) -> bool:
        kind = self.settings.get("preempttype", "preempt/none").lower()
        return bool(self.qos) and kind == "preempt/qos"

    def _allowed(self, keys: Dict[str, Tuple[str, Line]]) -> List[Qos]:
        """The QOS whose jobs may run in a partition."""
        known = {qos.name for qos in self.qos}
        out = list(self.qos)
        for key, wanted in (("allowqos", True), ("denyqos", False)):
            text, line = keys.get(key, ("ALL" if wanted else "", None))
            if not text or (wanted and text.upper() == "ALL"):
                continue
            names = {word.strip() for word in text.split(",") if word.strip()}
            if line and names - known:
                raise ConvertError(line.place(key), "no QOS %s" % quote(sorted(names - known)[0]))
            out = [qos for qos in out if (qos.name in names) == wanted]
        return out

    def _leaves(self, queue: Json, keys: Dict[str, Tuple[str, Line]]) -> List[Json]:
        """A leaf for each QOS of a partition, if jobs are preempted by QOS."""
        if not self._by_qos():
            return []
        common = self._of_leaves(queue)
        everywhere = self.settings.get("preemptmode", "OFF")
        cluster = {word.strip().upper() for word in everywhere.split(",") if word.strip()}
        out: List[Json] = []
        for qos in self._allowed(keys):
            words = qos.modes if qos.modes - {"GANG", "WITHIN"} else qos.modes | cluster
            leaf: Json = {
                "name": "%s.%s" % (queue["name"], qos.name), "parent": queue["name"], **common,
                "priority": qos.priority, "within": "lower" if "WITHIN" in words else "never",
                "preempt_class": qos.name, "grace_s": seconds(qos.place("GraceTime"), qos.grace),
            }
            if qos.preempts:
                leaf["preempts"] = ",".join(qos.preempts)
            if qos.exempt:
                leaf["min_runtime_s"] = seconds(qos.place("PreemptExemptTime"), qos.exempt)
            self._mode(qos.place("PreemptMode"), words, "quantum_s" in queue, leaf)
            budgets = self.budgets.of(qos.place("GrpTRESMins"), qos.mins)
            if budgets:
                leaf["budgets"] = budgets
            out.append(leaf)
        if not out:
            raise ConvertError(self.settings.file, "no QOS for partition %s" % quote(queue["name"]))
        if self.scenario.get("default_queue") == queue["name"]:
            names = [leaf["name"] for leaf in out]
            normal = "%s.normal" % queue["name"]
            self.scenario["default_queue"] = normal if normal in names else names[0]
        return out

    @staticmethod
    def _of_leaves(queue: Json) -> Json:
        """Take the members that are those of leaves."""
        return {
            key: queue.pop(key)
            for key in list(queue)
            if key in _OF_LEAVES or key.startswith("priority_")  # multifactor
        }

    def _partition_qos(self, queue: Json, keys: Dict[str, Tuple[str, Line]]) -> None:
        """The budget of the QOS of a partition."""
        text, line = keys.get("qos", ("", None))
        if line is None or not text:
            return
        qos = next((each for each in self.qos if each.name == text), None)
        if qos is None and self.qos:
            raise ConvertError(line.place("qos"), "no QOS %s" % quote(text))
        if qos is None:
            self.report.warn(line.place("qos"), "QOS are not in these files; no limit of it counts")
            return
        budgets = self.budgets.of(qos.place("GrpTRESMins"), qos.mins)
        if budgets:
            queue["budgets"] = budgets

    def _accounts(self, queue: Json) -> List[Json]:
        """A queue for each account, if accounts are given."""
        if not self.accounts.listed():
            return []
        if self.scenario.get("default_queue") == queue["name"]:
            del self.scenario["default_queue"]
        return put_accounts(queue, self._of_leaves(queue), self.accounts, self.budgets)

    def _settle_budgets(self) -> None:
        """Warn of what budgets of several partitions do not say."""
        if self._by_qos() and self.accounts.rows:
            self.report.warn(
                self.settings.place("preempttype"), "preempt/qos: accounts are not read beside QOS"
            )
        for place, count in self.budgets.uses.items():
            if count > 1:
                self.report.warn(place, "counts in each partition by itself")

    def _settle_classes(self) -> None:
        """Leave out classes if no partition has jobs of them."""
        if not self._by_qos():
            if self.qos:
                self.report.warn(
                    self.settings.place("preempttype"),
                    "not preempt/qos: of QOS only the budgets of those that a partition names count",
                )
            return
        leaves = [queue for queue in self.scenario.get("queues", []) if "preempt_class" in queue]
        there = {leaf["preempt_class"] for leaf in leaves}
        for leaf in leaves:
            names = [word for word in leaf.pop("preempts", "").split(",") if word in there]
            if names:
                leaf["preempts"] = ",".join(names)
        self.report.warn(
            self.settings.place("preempttype"),
            "preempt/qos: jobs name the queue PARTITION.QOS, and fair shares of queues take turns by "
            "the Priority of their QOS",
        )

    def _slices(self, value: Any, gang: bool, out: Json) -> bool:
        text, place = value("oversubscribe", value("shared", "NO")[0])
        word, _, count = text.upper().partition(":")
        if word not in ("NO", "YES", "FORCE", "EXCLUSIVE"):
            raise ConvertError(place, "not a value of OverSubscribe: %s" % quote(text))
        rows = integer(place, count, 1, 65535) if count else 4
        if word == "EXCLUSIVE":
            self.report.warn(place, "EXCLUSIVE: let jobs say `exclusive`")
        elif word == "YES" and rows > 1:
            self.report.warn(
                place, "YES: no counterpart: jobs only share what they request to share"
            )
        elif word == "FORCE" and rows > 1 and not gang:
            self.report.warn(place, "FORCE without gang scheduling: no counterpart")
        elif word == "FORCE" and rows > 1:
            out["quantum_s"] = seconds(
                self.settings.place("schedulertimeslice"),
                number(
                    self.settings.place("schedulertimeslice"),
                    self.settings.get("schedulertimeslice", "30"),
                    1,
                    65533,
                ),
            )
            out["quantum_rows"] = rows
            return True
        return False

    def _order(self, out: Json) -> None:
        kind = self.settings.get("prioritytype", "priority/multifactor").lower()
        if kind == "priority/basic":
            out["order"] = "fifo"
        elif kind == "priority/multifactor":
            self._multifactor(out)
        else:
            self.report.warn(
                self.settings.place("prioritytype"), "no counterpart: jobs go by priority, then age"
            )
        kind = self.settings.get("schedulertype", "sched/backfill").lower()
        if kind == "sched/builtin":
            out["block"] = "strict"
            return
        if kind != "sched/backfill":
            raise ConvertError(
                self.settings.place("schedulertype"), "not a SchedulerType: %s" % quote(kind)
            )
        if "quantum_s" in out:
            self.report.warn(
                self.settings.place("schedulertype"), "no backfill where gangs take turns"
            )
            return
        out["backfill"] = "conservative"
        text = self.settings.parameter("bf_max_job_test")
        out["plan_depth"] = integer(
            self.settings.place("schedulerparameters"), text or "500", 1, 10**6
        )
