# SPDX-License-Identifier: Apache-2.0
"""YARN's ``capacity-scheduler.xml``, with the preemption part of ``yarn-site.xml``.

Queues are named by their whole path, "root.a.b". ``P`` is ``yarn.scheduler.capacity.<path>.``.

==============================================  ====================================================
Hadoop                                          scenario
==============================================  ====================================================
``P queues``                                    ``queues[].name``, ``.parent``
``P capacity`` = 25                             ``guaranteed: {cpu, mem_mib, gpu: {"fraction": 0.25}}``,
                                                and each kind that some queue names
``P capacity`` = 2.5w                           ``guaranteed: {...: {"weight": 5}}``, siblings made
                                                whole numbers together
``P capacity`` =                                ``guaranteed: {mem_mib, cpu, gpu}``; 0 of what is
[memory=..,vcores=..,yarn.io/gpu=..]            not named; scaled down, resource by resource, where
                                                nodes are given that have less
``P maximum-capacity``                          ``limit``: ``{"fraction": ..}`` of the parent's, or
                                                amounts
``P accessible-node-labels[.L.capacity, ...]``  partitions; quotas are of ``KIND@L``, and
                                                ``KIND@default`` for nodes in no other partition;
                                                ``P accessible-node-labels`` without L: nothing
                                                there, and a limit of 0
``P state`` = STOPPED                           ``state: draining``, of queues below, too
``P ordering-policy`` of a parent               ``child_order: utilization`` (default) or
                                                ``priority-utilization``
``P ordering-policy`` of a leaf                 ``order: priority`` (fifo) or ``fair``
``P priority``                                  ``priority``, where siblings take turns by it
``P user-limit-factor`` (1)                     ``user_limit_factor``; -1: none
``P minimum-user-limit-percent`` (100)          ``user_limit_percent``
``P user-settings.U.weight``                    ``users: {U: weight}``, of queues below, too
``P maximum-applications``                      ``max_pending``; the global one times the queue's
                                                part
``P max-parallel-apps``                         ``max_running``
``P maximum-/default-application-lifetime``     ``max_time_limit_s``, ``default_time_limit_s``
``P acl_submit_applications``,                  ``submit_acl``, ``admin_acl``
``acl_administer_queue``                        ``no_preemption`` of the leaves below
``P disable_preemption``                        ``child``, ``max_children``
``P auto-create-child-queue.*``,                ``rules``
``leaf-queue-template.*``,
``auto-queue-creation-v2.*``                    ``default_queue``
``queue-mappings``, ``mapping-rule-json``,      not true: ``reclaim: never`` and ``within: never``
``...queue-placement-rules.app-name`` a leaf
``root.default``
``yarn.resourcemanager.scheduler.monitor.enable``  ``grace_s`` of the root
``...preemption.max_wait_before_kill`` (15 s)
``...preemption.intra-queue-preemption.enabled``  ``within: lower``
==============================================  ====================================================

All kinds count, whatever ``resource-calculator`` says, because a guarantee of GPUs must be
enforced. Everything else becomes a warning.
"""
from __future__ import annotations

import re
from fractions import Fraction
from math import gcd
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from ._base import (BUILT_IN, MAX_AMOUNT, MAX_QUEUE_DEPTH, ConvertError, Json, Part, Report, Source, add_kind, boolean,
                    integer, name, number, part, quote, seconds, tidy)
from ._xml import Configuration
from ._capacity_rules import PREFIX, Rules
from ._yarn import (Tree, acl, bracketed, milliseconds, quota_number, split_list, total, warn_without_preemption,
                    without_acls)

MONITOR = "yarn.resourcemanager.scheduler.monitor."
PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."
DEFAULT_PARTITION = "default"
MAX_QUEUES = 65536

#: Keys without a counterpart, of queues and global, with the reason.
NO_COUNTERPART = {
    "maximum-am-resource-percent": "all tasks belong to the gang, so no bound applies to a task outside of it",
    "maximum-allocation-mb": "only nodes and limits bound tasks",
    "maximum-allocation-vcores": "only nodes and limits bound tasks",
    "maximum-allocation": "only nodes and limits bound tasks",
    "default-application-priority": "jobs state their priority, or have 0",
    "default-node-label-expression": "tasks name their partition",
    "intra-queue-preemption.disable_preemption": "'within' is set from the setting for all queues",
    "node-locality-delay": "jobs name levels, and wait by policy",
    "rack-locality-additional-delay": "jobs name levels, and wait by policy",
    "lazy-preemption-enabled": "preemption always makes capacity for a job that starts",
    "queue-mappings-override.enable": "a job that names a queue keeps it",
    "user.max-parallel-apps": "max_running_per_user bounds jobs in each leaf",
    "reservable": "reservations are made by the host, in any queue",
}


class _Queue(Tree["_Queue"]):
    """A queue of the configuration."""


class _Capacity:
    """A value of `capacity`: a fraction, a weight, or amounts."""

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        self.part: Optional[Fraction] = None
        self.weight: Optional[Fraction] = None
        self.amounts: Dict[str, Fraction] = {}
        word = text.strip()
        if word.startswith("["):
            self.mode = "resources"
            self.amounts = bracketed(place, word)
        elif word.endswith("w"):
            self.mode = "weights"
            self.weight = number(place, word[:-1], 0, 10 ** 6)
        else:
            self.mode = "percentages"
            self.part = number(place, word[:-1] if word.endswith("%") else word, 0, 100) / 100


class _Converter:
    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        self.report = report
        self.conf = Configuration(report)
        for source in sources:
            self.conf.read(source)
        if self.conf.get(PREFIX + "root.queues") is None:
            raise ConvertError(self.conf.place(PREFIX + "root.queues", sources[0].name),
                               "not set: there are no queues")
        self.root = self._tree()
        self.by_path = {queue.path: queue for queue in self.root}
        self.labels = self._labels()
        self.kinds: List[str] = list(BUILT_IN)
        self.weights = self._weights()
        self.has_amounts = False
        self.user_keys = self._user_keys()

    # -- keys --

    def key(self, queue: _Queue, key: str) -> str:
        return "%s%s.%s" % (PREFIX, queue.path, key)

    def get(self, queue: _Queue, key: str) -> Optional[str]:
        return self.conf.get(self.key(queue, key))

    def place(self, queue: _Queue, key: str) -> str:
        return self.conf.place(self.key(queue, key))

    def inherited(self, queue: _Queue, key: str) -> Tuple[Optional[str], str]:
        """The value of the nearest queue up the path that sets it, and its place."""
        for above in queue.up():
            text = self.get(above, key)
            if text is not None:
                return text, self.place(above, key)
        return None, ""

    # -- the tree --

    def _tree(self) -> _Queue:
        root = _Queue("root", None)
        todo = [(root, 1)]
        count = 1
        while todo:
            queue, depth = todo.pop()
            place = self.place(queue, "queues")
            names = split_list(self.get(queue, "queues"))
            if names and depth >= MAX_QUEUE_DEPTH:
                raise ConvertError(place, "more than %d queues on a path" % MAX_QUEUE_DEPTH)
            count += len(names)
            if count > MAX_QUEUES:
                raise ConvertError(place, "more than %d queues" % MAX_QUEUES)
            seen: Set[str] = set()
            for word in names:
                if "." in word:
                    raise ConvertError(place, "a dot in the name of queue %s" % quote(word))
                child = _Queue(name(place, "%s.%s" % (queue.path, word), "name of a queue"), queue)
                if word in seen:
                    raise ConvertError(place, "%s is there twice" % quote(word))
                seen.add(word)
                queue.children.append(child)
                todo.append((child, depth + 1))
        return root

    def _labels(self) -> List[str]:
        found = set()
        for key in list(self.conf.properties):
            match = re.fullmatch(
                re.escape(PREFIX) + r"(.+)\.accessible-node-labels\.([^.]+)\.(?:maximum-)?capacity", key)
            if match and match.group(1) in self.by_path:
                found.add(name(self.conf.place(key), match.group(2), "label"))
        for label in sorted(found):
            if label == DEFAULT_PARTITION:
                raise ConvertError(self.conf.properties[next(iter(self.conf.properties))].file,
                                   "a label called %s" % quote(label))
        return sorted(found)

    def accessible(self, queue: _Queue, label: str) -> bool:
        for above in queue.up():
            raw = self.conf.raw(self.key(above, "accessible-node-labels"))
            if raw is not None:
                return raw.strip() == "*" or label in split_list(raw)
        return True

    # -- capacities --

    def capacity_of(self, queue: _Queue, label: Optional[str]) -> _Capacity:
        key = "capacity" if label is None else "accessible-node-labels.%s.capacity" % label
        text = self.get(queue, key)
        if text is None:
            if label is None and queue.parent is not None:
                raise ConvertError(self.place(queue, key), "not set")
            return _Capacity(self.place(queue, key), "100" if label is None else "0")
        return _Capacity(self.place(queue, key), text)

    def _children(self, queue: _Queue, label: Optional[str], above: Optional[_Capacity]) -> List[_Capacity]:
        """The capacities of the children, which must have one mode and add up."""
        out = [self.capacity_of(child, label) for child in queue.children]
        if not out:
            return out
        place = self.place(queue, "queues")
        stated = [c for c in out if label is None or c.part != 0] or out
        if len({c.mode for c in stated}) > 1:
            raise ConvertError(place, "some children have %s, some %s" % tuple(sorted({c.mode for c in stated})[:2]))
        if stated[0].mode == "percentages":
            full = sum((c.part or Fraction(0) for c in out), Fraction(0))
            none = full == 0 and (queue.parent is None or not above or above.part == 0 or label is not None)
            # YARN compares floating-point numbers, too.
            if abs(full - 1) > Fraction(1, 10000) and not none:
                raise ConvertError(place, "the capacities of the children%s add up to %s, not 100"
                                   % ("" if label is None else " for label " + label, tidy(full * 100)))
        elif stated[0].mode == "resources" and above and above.mode == "resources":
            for key in sorted({key for c in out for key in c.amounts}):
                claimed = sum((c.amounts.get(key, Fraction(0)) for c in out), Fraction(0))
                if claimed > above.amounts.get(key, Fraction(0)):
                    raise ConvertError(place, "the children have %s of %s, the queue itself %s"
                                       % (tidy(claimed), key, tidy(above.amounts.get(key, Fraction(0)))))
        return out

    def _weights(self) -> int:
        """The factor that makes all weights whole numbers."""
        out = 1
        for key in list(self.conf.properties):
            text = self.conf.properties[key].value.strip()
            if key.startswith(PREFIX) and key.endswith(".capacity") and text.endswith("w"):
                denominator = number(self.conf.place(key), text[:-1], 0, 10 ** 6).denominator
                out = out * denominator // gcd(out, denominator)
        return min(out, 10 ** 6)

    def _quota(self, capacity: _Capacity, kind: str, shrink: Fraction) -> Any:
        if capacity.mode == "resources":
            return quota_number(capacity.place, kind, capacity.amounts.get(kind, Fraction(0)))
        if capacity.mode == "weights":
            return {"weight": max(1, int(capacity.weight * self.weights))} if capacity.weight else 0
        share = part((capacity.part or Fraction(0)) * shrink)
        return {"fraction": share} if share else 0

    def guarantee(self, queue: _Queue, label: Optional[str], above: Optional[_Capacity]) -> None:
        """The guarantees of the children of a queue, and of all queues below."""
        capacities = self._children(queue, label, above)
        full = sum((c.part or Fraction(0) for c in capacities), Fraction(0))
        shrink = min(Fraction(1), 1 / full) if full else Fraction(1)
        weighted = any(c.weight for c in capacities)
        for child, capacity in zip(queue.children, capacities):
            into = child.json.setdefault("guaranteed", {})
            for kind in self.kinds:
                quota = self._quota(capacity, kind, shrink)
                if quota != 0 or not weighted:
                    into[self.dimension(kind, label)] = quota
            self.has_amounts = self.has_amounts or capacity.mode == "resources"
            self.limit(child, label, capacity)
            self.guarantee(child, label, capacity)

    def dimension(self, kind: str, label: Optional[str]) -> str:
        if label is not None:
            return "%s@%s" % (kind, label)
        return "%s@%s" % (kind, DEFAULT_PARTITION) if self.labels else kind

    def limit(self, queue: _Queue, label: Optional[str], capacity: _Capacity) -> None:
        key = "maximum-capacity" if label is None else "accessible-node-labels.%s.maximum-capacity" % label
        text = self.get(queue, key)
        into: Json = {}
        if label is not None and not self.accessible(queue, label):
            if capacity.part != 0:
                self.report.warn(capacity.place, "the queue has no access to label %s" % label)
            into = {self.dimension(kind, label): 0 for kind in self.kinds}
            queue.json["guaranteed"].update({key: 0 for key in into})
        elif text is not None and text.startswith("["):
            amounts = bracketed(self.place(queue, key), text)
            for kind, most in sorted(amounts.items()):
                if capacity.mode == "resources" and capacity.amounts.get(kind, Fraction(0)) > most:
                    raise ConvertError(self.place(queue, key), "%s: below the capacity" % kind)
                into[self.dimension(kind, label)] = quota_number(self.place(queue, key), kind, most)
        elif text is not None and number(self.place(queue, key), text, -1, 100) not in (-1, 100):
            most = number(self.place(queue, key), text, 0, 100) / 100
            if capacity.part is not None and capacity.part > most:
                raise ConvertError(self.place(queue, key), "below the capacity")
            into = {self.dimension(kind, label): {"fraction": part(most)} if part(most) else 0 for kind in self.kinds}
        if into:
            queue.json.setdefault("limit", {}).update(into)

    def _read_kinds(self, scenario: Json) -> None:
        """The kinds of the site: those in a capacity in brackets."""
        for queue in self.root:
            for label in [None, *self.labels]:
                stem = "" if label is None else "accessible-node-labels.%s." % label
                for key in ("capacity", "maximum-capacity"):
                    text = self.get(queue, stem + key)
                    place = self.place(queue, stem + key)
                    for kind in bracketed(place, text) if text and text.startswith("[") else ():
                        if kind not in self.kinds:
                            self.kinds.append(kind)
                            add_kind(place, scenario, kind)
        if len(self.kinds) * (len(self.labels) + 1) > 64:
            raise ConvertError(self.place(self.root, "queues"), "more than 64 pairs of resource and label")

    # -- members of a queue --

    def members(self, queue: _Queue) -> None:
        out = queue.json
        if queue.parent:
            out["parent"] = queue.parent.path
        state, place = self._state(queue)
        if state == "STOPPED":
            out["state"] = "draining"
        elif state != "RUNNING":
            raise ConvertError(place, "neither RUNNING nor STOPPED: %s" % quote(state))
        for key, member in (("acl_submit_applications", "submit_acl"), ("acl_administer_queue", "admin_acl")):
            raw = self.conf.raw(self.key(queue, key))
            if raw is not None:
                out[member] = acl(self.place(queue, key), raw)
        self._priority(queue)
        running = self.get(queue, "max-parallel-apps")
        if running is not None and int(number(self.place(queue, "max-parallel-apps"), running)) < 2 ** 31 - 1:
            out["max_running"] = integer(self.place(queue, "max-parallel-apps"), running, 1)
        child = self._template(queue)
        if queue.children or child is not None:
            out["child_order"] = self._child_order(queue)
        else:
            self.leaf(lambda key: self.inherited(queue, key) if key == "" else
                      (self.get(queue, key), self.place(queue, key)), out, True)
            self._users(queue)
            self._count(queue)
        if child is not None:
            if queue.children and "guaranteed" in child:
                weights = any(isinstance(v, dict) and "weight" in v
                              for c in queue.children for v in c.json.get("guaranteed", {}).values())
                if weights != any(isinstance(v, dict) and "weight" in v for v in child["guaranteed"].values()):
                    raise ConvertError(self.place(queue, "queues"),
                                       "queues made on demand have a capacity of another kind than the children")
            out["child"] = child

    def _state(self, queue: _Queue) -> Tuple[str, str]:
        for above in queue.up():
            text = self.get(above, "state")
            if text is not None and (above is queue or text.upper() == "STOPPED"):
                return text.upper(), self.place(above, "state")
        return "RUNNING", ""

    def _priority(self, queue: _Queue) -> None:
        text = self.get(queue, "priority")
        priority = integer(self.place(queue, "priority"), text, -2 ** 31, 2 ** 31 - 1) if text is not None else 0
        if queue.parent and self._child_order(queue.parent) == "priority-utilization":
            queue.json["priority"] = priority
        elif priority:
            self.report.warn(self.place(queue, "priority"),
                             "does not count: the parent's ordering-policy is utilization")

    def _child_order(self, queue: _Queue) -> str:
        text = self.get(queue, "ordering-policy") or "utilization"
        if text not in ("utilization", "priority-utilization"):
            if text not in ("fifo", "fair"):
                raise ConvertError(self.place(queue, "ordering-policy"), "not an order of queues: %s" % quote(text))
            self.report.warn(self.place(queue, "ordering-policy"), "%s is an order of applications" % text)
            text = "utilization"
        return text

    def leaf(self, get: Callable[[str], Tuple[Optional[str], str]], out: Json, limits: bool) -> None:
        """The members of leaves and of templates of leaves."""
        policy, place = get("ordering-policy")
        if policy == "fair":
            out["order"] = "fair"
            self.report.warn(place, "the user with the lowest usage is first; in YARN the application")
        elif policy not in (None, "fifo"):
            if policy not in ("fifo-with-partitions", "fifo-for-pending-apps", "utilization"):
                raise ConvertError(place, "not an order of applications: %s" % quote(policy))
            self.report.warn(place, "%s is taken for fifo" % policy)
        factor, place = get("user-limit-factor")
        value = number(place, factor, -1, 10 ** 6) if factor is not None else Fraction(1)
        if value < 0 and value != -1:
            raise ConvertError(place, "less than 0, and not -1")
        if value == 0:
            self.report.warn(place, "0 would stop all users; taken for no bound")
        elif value > 0:
            out["user_limit_factor"] = max(tidy(value), 0.001)
        percent, place = get("minimum-user-limit-percent")
        out["user_limit_percent"] = max(1, int(number(place, percent, 0, 100))) if percent is not None else 100
        if limits:
            self._lifetimes(get, out)

    def _lifetimes(self, get: Callable[[str], Tuple[Optional[str], str]], out: Json) -> None:
        times: Dict[str, Any] = {}
        for key in ("maximum", "default"):
            text, place = get(key + "-application-lifetime")
            value = integer(place, text, -1) if text is not None else 0
            if value > 0:
                times[key] = seconds(place, Fraction(value))
        if "maximum" in times:
            default = times.get("default", times["maximum"])
            out["max_time_limit_s"] = times["maximum"]
            out["default_time_limit_s"] = min(default, times["maximum"])
            if default > times["maximum"]:
                self.report.warn(get("default-application-lifetime")[1], "above the maximum, which is used instead")
        elif "default" in times:
            out["default_time_limit_s"] = times["default"]

    def _user_keys(self) -> Dict[str, List[Tuple[str, str]]]:
        """By queue: the keys of user weights, with the user."""
        out: Dict[str, List[Tuple[str, str]]] = {}
        for key in self.conf.properties:
            path, found, rest = key[len(PREFIX):].partition(".user-settings.")
            if key.startswith(PREFIX) and found and rest.endswith(".weight"):
                out.setdefault(path, []).append((key, rest[:-len(".weight")]))
        return out

    def _users(self, queue: _Queue) -> None:
        users: Dict[str, Any] = {}
        for above in reversed(list(queue.up())):
            for key, user in self.user_keys.get(above.path, []):
                weight = number(self.conf.place(key), self.conf.get(key), 0, 10 ** 6)
                if part(weight) > 0:
                    users[name(self.conf.place(key), user, "user")] = part(weight)
                else:
                    self.report.warn(self.conf.place(key), "a weight of 0 is left out")
        if users:
            queue.json["users"] = users

    def _count(self, queue: _Queue) -> None:
        text, place = self.get(queue, "maximum-applications"), self.place(queue, "maximum-applications")
        if text is None and self.conf.get(PREFIX + "maximum-applications") is not None:
            place = self.conf.place(PREFIX + "maximum-applications")
            share = self._absolute(queue)
            if share is None:
                self.report.warn(place, "not divided among queues that have amounts")
                return
            most = int(number(place, self.conf.get(PREFIX + "maximum-applications"), 0, MAX_AMOUNT) * share)
        elif text is not None:
            most = integer(place, text)
        else:
            return
        self.report.warn(place, "bounds waiting jobs; in YARN running jobs count, too")
        if most < 1:
            self.report.warn(place, "less than one job for %s; one may wait" % queue.path)
        queue.json["max_pending"] = max(1, most)

    def _absolute(self, queue: _Queue) -> Optional[Fraction]:
        """The fraction of the whole cluster that a queue has in the default partition."""
        out = Fraction(1)
        for at in queue.up():
            capacity = self.capacity_of(at, None)
            if at.parent is None:
                break
            if capacity.mode == "resources":
                return None
            if capacity.mode == "percentages":
                out *= capacity.part or 0
            else:
                weights = sum((self.capacity_of(child, None).weight or Fraction(0) for child in at.parent.children),
                              Fraction(0))
                out *= (capacity.weight or 0) / weights if weights else 0
        return out

    def _template(self, queue: _Queue) -> Optional[Json]:
        """The template of queues that are made on demand."""
        legacy, new = "auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled"
        if boolean(self.place(queue, legacy), self.get(queue, legacy) or "false"):
            stems, most, default = ["leaf-queue-template."], "auto-create-child-queue.max-queues", None
        elif boolean(self.place(queue, new), self.get(queue, new) or "false"):
            stems = ["auto-queue-creation-v2.leaf-template.", "auto-queue-creation-v2.template."]
            most, default = "auto-queue-creation-v2.max-queues", "1w"
        else:
            return None

        def get(key: str) -> Tuple[Optional[str], str]:
            texts = [(self.get(queue, stem + key), self.place(queue, stem + key)) for stem in stems]
            return next((one for one in texts if one[0] is not None), texts[0])
        child: Json = {}
        text, place = get("capacity")
        if text is None and default is None:
            raise ConvertError(place, "not set")
        capacity = _Capacity(place, text or default or "")
        child["guaranteed"] = {self.dimension(kind, None): self._quota(capacity, kind, Fraction(1))
                               for kind in self.kinds}
        text, place = get("maximum-capacity")
        if text is not None and not text.startswith("["):
            share = part(number(place, text, -1, 100) / 100)
            if 0 < share < 1:
                child["limit"] = {self.dimension(kind, None): {"fraction": share} for kind in self.kinds}
        elif text is not None:
            child["limit"] = {self.dimension(kind, None): quota_number(place, kind, most_of)
                              for kind, most_of in sorted(bracketed(place, text).items())
                              if kind in self.kinds}
        self.leaf(get, child, True)
        text = self.get(queue, most)
        if text is not None:
            queue.json["max_children"] = integer(self.place(queue, most), text, 1)
        return child

    # -- preemption --

    def preemption(self) -> None:
        key = MONITOR + "enable"
        enabled = boolean(self.conf.place(key), self.conf.get(key) or "false")
        policies = self.conf.get(MONITOR + "policies")
        if enabled and policies and "Proportional" not in policies:
            self.report.warn(self.conf.place(MONITOR + "policies"), "none of these policies preempts")
            enabled = False
        if not enabled:
            warn_without_preemption(self.conf, self.report, key)
        observe = PREEMPTION + "observe_only"
        if boolean(self.conf.place(observe), self.conf.get(observe) or "false"):
            self.report.warn(self.conf.place(observe), "taken for switched off")
            enabled = False
        intra = PREEMPTION + "intra-queue-preemption.enabled"
        within = enabled and boolean(self.conf.place(intra), self.conf.get(intra) or "false")
        order = PREEMPTION + "intra-queue-preemption.preemption-order-policy"
        if within and (self.conf.get(order) or "userlimit_first") != "priority_first":
            self.report.warn(self.conf.place(order), "userlimit_first: jobs only preempt jobs of lower priority")
        if enabled:
            wait = PREEMPTION + "max_wait_before_kill"
            self.root.json["grace_s"] = seconds(self.conf.place(wait),
                                                milliseconds(self.conf.place(wait), self.conf.get(wait) or "15000"))
        for queue in self.root:
            if queue.children:
                continue
            into = queue.json.get("child", queue.json)
            into["within"] = "lower" if within else "never"
            into["reclaim"] = "any" if enabled else "never"
            text, place = self.inherited(queue, "disable_preemption")
            if text is not None and boolean(place, text) and enabled:
                into["no_preemption"] = True

    # -- all of it --

    def convert(self) -> Part:
        scenario: Json = {}
        self._read_kinds(scenario)
        root = self.capacity_of(self.root, None)
        if root.mode != "percentages" or root.part != 1:
            self.report.warn(root.place, "the root has all there is")
        self.root.json["guaranteed"] = {self.dimension(kind, label): {"fraction": 1}
                                        for label in [None, *self.labels] for kind in self.kinds}
        for label in [None, *self.labels]:
            self.guarantee(self.root, label, None)
        for queue in self.root:
            self.members(queue)
        self.preemption()
        scenario["queues"] = [_in_order(queue.json) for queue in self.root]
        default = self.by_path.get("root.default")
        rules = Rules(self.conf, self.report, self.by_path)
        rules.default = "root.default" if default and not default.children else None
        listed = rules.convert()
        wanted = self.by_path.get(rules.default or "")
        if wanted and not wanted.children and "child" not in wanted.json:
            scenario["default_queue"] = wanted.path
        if listed:
            scenario["rules"] = listed
        if self.labels:
            scenario["partitions"] = [{"name": label, "mode": "exclusive"} for label in self.labels]
            scenario["partitions"].append({"name": DEFAULT_PARTITION})
            self.report.warn(self.place(self.root, "accessible-node-labels"),
                             "labels are taken for exclusive; that is set where labels are made, not here")
        self._calculator()
        without_acls(self.conf, self.report, scenario["queues"])
        self._unused()
        return Part(scenario, [self._put_default, self._scale])

    def _calculator(self) -> None:
        key = PREFIX + "resource-calculator"
        text = self.conf.get(key)
        if text is None or "DominantResourceCalculator" not in text:
            self.report.warn(self.conf.place(key), "YARN counts memory alone without DominantResourceCalculator; "
                             "here cores and GPUs count, too")

    def _put_default(self, scenario: Json, _report: Report) -> None:
        """Put nodes and tasks without a partition into the default partition."""
        if not self.labels:
            return
        for node in scenario.get("nodes", []):
            node["partitions"] = node.get("partitions") or [DEFAULT_PARTITION]
        for job in scenario.get("jobs", []):
            for task in job.get("tasks", []):
                task.setdefault("partition", DEFAULT_PARTITION)

    def _scale(self, scenario: Json, report: Report) -> None:
        """Scale down amounts that the nodes do not have, by resource, from the top down."""
        if not self.has_amounts or not scenario.get("nodes"):
            return
        for label in [None, *self.labels]:
            partition = label or (DEFAULT_PARTITION if self.labels else None)
            for kind in self.kinds:
                self._scale_below(self.root, self.dimension(kind, label), total(scenario, kind, partition), report)

    def _scale_below(self, queue: _Queue, key: str, room: Fraction, report: Report) -> None:
        members = [c for c in queue.children if isinstance(c.json["guaranteed"].get(key), (int, float))]
        claimed = sum((Fraction(str(c.json["guaranteed"][key])) for c in members), Fraction(0))
        for child in members:
            own = Fraction(str(child.json["guaranteed"][key]))
            if claimed > room:
                # Whole units, as in YARN.
                own = Fraction(own * room / claimed // 1)
                child.json["guaranteed"][key] = int(own)
                report.warn(self.place(child, "capacity"), "%s: scaled to %d, since the nodes have %s"
                            % (key, int(own), tidy(room)))
            self._scale_below(child, key, own, report)

    def _unused(self) -> None:
        for prop in self.conf.unused():
            key = prop.key
            if key.startswith(PREFIX):
                rest = key[len(PREFIX):]
                owner = self._owner(rest)
                own = rest[len(owner) + 1:] if owner else rest
                if owner and (own.split(".")[0] in self.by_path or _below(owner, own)):
                    self.report.warn(prop.place, "no such queue")
                else:
                    self.report.warn(prop.place, "no counterpart" + (": " + NO_COUNTERPART[own] if own in NO_COUNTERPART
                                                                     else ""))
            elif key.startswith((PREEMPTION, MONITOR, "yarn.scheduler.")):
                self.report.warn(prop.place, "no counterpart")
            else:
                self.report.aside(prop.file, key, "not about queues")


    def _owner(self, rest: str) -> Optional[str]:
        """The queue with the longest path that begins the key."""
        at = rest.rfind(".")
        while at > 0 and rest[:at] not in self.by_path:
            at = rest.rfind(".", 0, at)
        return rest[:at] if at > 0 else None


_QUEUE_KEYS = ("capacity", "maximum-capacity", "state", "queues", "priority", "user-limit-factor",
               "minimum-user-limit-percent", "acl_submit_applications", "acl_administer_queue", "ordering-policy")


def _below(owner: str, own: str) -> bool:
    """Whether the key belongs to a queue that does not exist, below this one."""
    words = own.split(".")
    return len(words) > 1 and words[-1] in _QUEUE_KEYS and words[0] not in (
        "accessible-node-labels", "user-settings", "leaf-queue-template", "auto-queue-creation-v2")


_ORDER = ("name", "parent")


def _in_order(queue: Json) -> Json:
    first = {key: queue[key] for key in _ORDER if key in queue}
    return {**first, **{key: value for key, value in queue.items() if key not in _ORDER}}


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert ``capacity-scheduler.xml`` and, if it is among the inputs, ``yarn-site.xml``."""
    return _Converter(sources, report).convert()
