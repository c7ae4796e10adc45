# SPDX-License-Identifier: Apache-2.0
"""YARN's ``fair-scheduler.xml``, with the preemption part of ``yarn-site.xml``.

Queues are named by their whole path, "root.a.b".

==============================================  ====================================================
Hadoop                                          scenario
==============================================  ====================================================
``<queue name=>``, ``<pool>``                   ``queues[].name``, ``.parent``
``weight`` (1)                                  ``weight``
``minResources``                                ``guaranteed``
``maxResources``, ``queueMaxResourcesDefault``  ``limit``; percentages are of the cluster
``maxRunningApps``, ``queueMaxAppsDefault``     ``max_running``
``userMaxAppsDefault``                          ``max_running_per_user``, leaf by leaf
``schedulingPolicy`` of a leaf                  ``order: priority`` (fifo) or ``fair`` (fair, drf)
``aclSubmitApps``, ``aclAdministerApps``        ``submit_acl``, ``admin_acl``
``allowPreemptionFrom`` = false                 ``no_preemption``
``type="parent"`` without queues                ``child``
``<queuePlacementPolicy>``                      ``rules``; with ``create`` the parents make queues:
                                                ``child``
rule ``default``, or a leaf ``root.default``    ``default_queue``
``yarn.scheduler.fair.preemption`` (false)      ``reclaim: any`` or ``never``; ``within: never``
==============================================  ====================================================

Everything else becomes a warning.
"""
from __future__ import annotations

import re
from fractions import Fraction
from typing import Dict, List, Optional, Sequence, Set, Tuple

from ._base import (
    BUILT_IN, MAX_QUEUE_DEPTH, ConvertError, Json, Part, Report, Source, add_kind, boolean, integer,
    name, number, part, quote, tidy,
)
from ._xml import Configuration, Element, parse
from ._yarn import (
    Tree, acl, amount, pairs, quota_number, resource_key, total, warn_without_preemption,
)

#: Elements of a queue without a counterpart, with the reason.
_ASIDE = {
    "maxAMShare": "all tasks belong to the gang, so no bound applies to a task outside of it",
    "maxContainerAllocation": "only nodes and limits bound tasks",
    "maxChildResources": "state maxResources in the children",
    "minSharePreemptionTimeout": "an entitled queue preempts at once",
    "fairSharePreemptionTimeout": "an entitled queue preempts at once",
    "fairSharePreemptionThreshold": "an entitled queue preempts at once",
    "reservation": "reservations are made by the host, in any queue",
}
_TOP_ASIDE = {
    "queueMaxAMShareDefault": _ASIDE["maxAMShare"],
    "defaultMinSharePreemptionTimeout": _ASIDE["minSharePreemptionTimeout"],
    "defaultFairSharePreemptionTimeout": _ASIDE["minSharePreemptionTimeout"],
    "defaultFairSharePreemptionThreshold": _ASIDE["minSharePreemptionTimeout"],
    "fairSharePreemptionTimeout": _ASIDE["minSharePreemptionTimeout"],
    "reservation-agent": _ASIDE["reservation"], "reservation-policy": _ASIDE["reservation"],
    "reservation-planner": _ASIDE["reservation"],
}
_PERCENT = re.compile(r"([0-9.]+)\s*%\s*(\S*)")
_OLD = re.compile(r"([0-9.]+)\s*(mb|vcores)", re.IGNORECASE)

#: Key of a quota -> (whether it is a percentage of the cluster, amount or fraction).
_Resources = Dict[str, Tuple[bool, Fraction]]


def resources(place: str, text: str) -> _Resources:
    """"X mb, Y vcores", "50.0% cpu, 20% memory", "40%" or "vcores=5,memory-mb=1024"."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise ConvertError(place, "no resources")
    if all("=" in word for word in words):
        out: _Resources = {}
        plainly = [word for word in words if not word.endswith("%")]
        if plainly:
            out.update(
                {key: (False, value) for key, value in pairs(place, ",".join(plainly)).items()}
            )
        for word in words:
            if word.endswith("%"):
                left, _, right = word.partition("=")
                out[resource_key(place, left)] = (True, number(place, right[:-1], 0, 100) / 100)
        return out
    out = {}
    for word in words:
        percent, old = _PERCENT.fullmatch(word), _OLD.fullmatch(word)
        if percent:
            share = number(place, percent.group(1), 0, 100) / 100
            which = percent.group(2).lower()
            keys = (
                list(BUILT_IN)
                if not which
                else [
                    {"cpu": "cpu", "memory": "mem_mib"}.get(which)
                    or resource_key(place, percent.group(2))
                ]
            )
            out.update({key: (True, share) for key in keys})
        elif old:
            key = "mem_mib" if old.group(2).lower() == "mb" else "cpu"
            out[key] = (False, amount(place, key, old.group(1)))
        else:
            raise ConvertError(place, "not an amount of a resource: %s" % quote(word))
    return out


class _Queue(Tree["_Queue"]):
    """A queue of the configuration, with its element."""

    def __init__(self, path: str, element: Optional[Element], parent: Optional["_Queue"]) -> None:
        super().__init__(path, parent)
        self.element = element
        self.words: Dict[str, Element] = {}
        if parent:
            self.json["parent"] = parent.path


class _Converter:
    def __init__(self, allocations: Source, sites: Sequence[Source], report: Report) -> None:
        self.file = allocations.name
        self.report = report
        self.conf = Configuration(report)
        for site in sites:
            self.conf.read(site)
        self.top = parse(allocations)
        if self.top.tag != "allocations":
            raise ConvertError(
                "%s:%d" % (self.file, self.top.line),
                "not <allocations> but %s" % quote(self.top.tag),
            )
        self.defaults: Dict[str, Element] = {}
        self.placement: Optional[Element] = None
        self.scenario: Json = {}
        self.paths: Set[str] = set()
        self.shares: List[Tuple[Json, str, Fraction, str]] = []
        self.root = self._tree()
        self.by_path = {queue.path: queue for queue in self.root}

    def at(self, element: Element) -> str:
        return "%s:%d" % (self.file, element.line)

    def place(self, queue: _Queue, key: str) -> str:
        element = queue.words.get(key) or queue.element
        return "%s: %s: %s" % (self.at(element) if element else self.file, queue.path, key)

    def _tree(self) -> _Queue:
        queues = []
        for element in self.top.children:
            if element.tag in ("queue", "pool"):
                queues.append(element)
            elif element.tag == "queuePlacementPolicy":
                self.placement = element
            elif element.tag == "user":
                self.report.warn(
                    "%s: user %s" % (self.at(element), quote(element.attributes.get("name", ""))),
                    "no bound of one user over all queues",
                )
            elif element.tag in _TOP_ASIDE:
                self.report.warn("%s: %s" % (self.at(element), element.tag),
                                 "no counterpart: " + _TOP_ASIDE[element.tag])
            elif element.tag in (
                "userMaxAppsDefault",
                "queueMaxAppsDefault",
                "queueMaxResourcesDefault",
                "defaultQueueSchedulingPolicy",
                "defaultQueueSchedulingMode",
            ):
                self.defaults[element.tag.replace("Mode", "Policy")] = element
            else:
                self.report.warn("%s: %s" % (self.at(element), element.tag[:60]), "no counterpart")
        named = [e for e in queues if e.attributes.get("name", "").strip().lower() == "root"]
        if len(named) > 1:
            raise ConvertError(self.at(named[1]), "the root is there twice")
        root = _Queue("root", named[0] if named else None, None)
        for element in queues:
            if element not in named:
                self._add(root, element, 2)
        if named:
            self._read(root, named[0], 1)
        return root

    def _add(self, parent: _Queue, element: Element, depth: int) -> None:
        word = element.attributes.get("name", "").strip()
        place = self.at(element)
        if not word or "." in word:
            raise ConvertError(place, "not the name of a queue: %s" % quote(word))
        if depth > MAX_QUEUE_DEPTH:
            raise ConvertError(place, "more than %d queues on a path" % MAX_QUEUE_DEPTH)
        queue = _Queue(
            name(place, "%s.%s" % (parent.path, word), "name of a queue"), element, parent
        )
        if queue.path in self.paths:
            raise ConvertError(place, "queue %s is there twice" % quote(queue.path))
        self.paths.add(queue.path)
        parent.children.append(queue)
        self._read(queue, element, depth)

    def _read(self, queue: _Queue, element: Element, depth: int) -> None:
        for child in element.children:
            if child.tag in ("queue", "pool"):
                self._add(queue, child, depth + 1)
            elif child.tag in queue.words:
                raise ConvertError(self.at(child), "<%s> is there twice" % child.tag[:60])
            else:
                queue.words[child.tag] = child
        for key in sorted(set(element.attributes) - {"name", "type"}):
            self.report.warn("%s: %s: %s" % (self.at(element), queue.path, key), "no counterpart")

    # -- members of a queue --

    def text(
        self, queue: _Queue, key: str, default: Optional[str] = None
    ) -> Tuple[Optional[str], str]:
        """The text of an element of a queue, or its global default; and its place."""
        if key in queue.words:
            return queue.words[key].text.strip(), self.place(queue, key)
        if default and default in self.defaults:
            return self.defaults[default].text.strip(), "%s: %s" % (
                self.at(self.defaults[default]),
                default,
            )
        return None, self.place(queue, key)

    def quotas(self, queue: _Queue, above: Dict[str, Fraction]) -> Dict[str, Fraction]:
        """Guarantee and limit.

        `above` and the result are the fractions of the cluster within the limits.
        """
        text, place = self.text(queue, "minResources")
        minimum = resources(place, text) if text is not None else {}
        text, place = self.text(
            queue, "maxResources", "queueMaxResourcesDefault" if queue.parent else None
        )
        most = resources(place, text) if text is not None else {}
        for key in [*minimum, *most]:
            if key not in BUILT_IN:
                add_kind(place, self.scenario, key)
        # A kind that the element omits has a minimum of 0, and not an unlimited one.
        guaranteed = (
            {
                key: self._quota(place, key, minimum[key], Fraction(1)) if key in minimum else 0
                for key in sorted({*BUILT_IN, *minimum})
            }
            if minimum
            else {}
        )
        if guaranteed:
            queue.json["guaranteed"] = guaranteed
            if queue.parent and any(percent for percent, _ in minimum.values()):
                raise ConvertError(self.place(queue, "minResources"), "a percentage")
        left = dict(above)
        limit: Json = {}
        for key, (percent, value) in sorted(most.items()):
            if percent:
                around = above.get(key, Fraction(1))
                if around < 0:
                    limit[key] = self._quota(place, key, (True, value), Fraction(1))
                    self.shares.append((limit, key, value, place))
                elif value < around:
                    limit[key] = self._quota(place, key, (True, value), around)
                    left[key] = value
            else:
                limit[key] = self._quota(place, key, (False, value), Fraction(1))
                left[key] = Fraction(-1)  # its fraction of the cluster is not known yet
            floor = guaranteed.get(key, 0)
            if (
                isinstance(limit.get(key), (int, float))
                and isinstance(floor, (int, float))
                and floor > limit[key]
            ):
                self.report.warn(place, "%s: below minResources, which is used instead" % key)
                limit[key] = floor
        if limit:
            queue.json["limit"] = limit
        return left

    def _quota(
        self, place: str, key: str, stated: Tuple[bool, Fraction], around: Fraction
    ) -> object:
        percent, value = stated
        if percent:
            share = part(value / around) if around else 0
            return {"fraction": share} if share else 0
        return quota_number(place, key, value)

    def members(self, queue: _Queue) -> None:
        out = queue.json
        text, place = self.text(queue, "weight")
        if text is not None:
            out["weight"] = tidy(number(place, text, 0, 10 ** 6), 10 ** 6)
        text, place = self.text(
            queue, "maxRunningApps", "queueMaxAppsDefault" if queue.parent else None
        )
        if text is not None:
            running = integer(place, text)
            if running > 0:
                out["max_running"] = running
            else:
                self.report.warn(place, "0: the queue starts nothing")
                out["state"] = "closed"
        for key, member in (("aclSubmitApps", "submit_acl"), ("aclAdministerApps", "admin_acl")):
            if key in queue.words:
                out[member] = acl(self.place(queue, key), queue.words[key].text)
        text, place = self.text(queue, "allowPreemptionFrom")
        if text is not None and not boolean(place, text):
            out["no_preemption"] = True
        self._policy(queue)
        for key, element in queue.words.items():
            if key in _ASIDE:
                self.report.warn(self.place(queue, key), "no counterpart: " + _ASIDE[key])
            elif key not in (
                "weight",
                "maxRunningApps",
                "aclSubmitApps",
                "aclAdministerApps",
                "allowPreemptionFrom",
                "schedulingPolicy",
                "schedulingMode",
                "minResources",
                "maxResources",
            ):
                self.report.warn(
                    "%s: %s: %s" % (self.at(element), queue.path, key[:60]), "no counterpart"
                )
        if (
            queue.element
            and queue.element.attributes.get("type", "").strip() == "parent"
            and not queue.children
        ):
            out["child"] = {}
            self.report.warn(
                self.at(queue.element), "%s: queues below it are made on demand" % queue.path
            )

    def _policy(self, queue: _Queue) -> None:
        key = "schedulingPolicy" if "schedulingPolicy" in queue.words else "schedulingMode"
        text, place = self.text(queue, key, "defaultQueueSchedulingPolicy")
        word = (text or "fair").rpartition(".")[2].lower().replace("policy", "")
        word = {"dominantresourcefairness": "drf", "fairshare": "fair"}.get(word, word)
        if word not in ("fifo", "fair", "drf"):
            raise ConvertError(place, "not a scheduling policy: %s" % quote(text))
        if queue.children:
            if word == "fifo":
                self.report.warn(place, "queues below take turns by their fair shares")
            return
        if word != "fifo":
            queue.json["order"] = "fair"
            self.report.warn(
                self.file,
                "in fair leaves the user with the lowest usage is first; in YARN the "
                "application",
            )
        if word == "fair":
            self.report.warn(
                self.file, "fair only divides memory in YARN; here it divides each resource"
            )
        text, place = self.text(queue, "", "userMaxAppsDefault")
        if text is not None:
            most = integer(place, text)
            if most > 0:
                queue.json["max_running_per_user"] = most
            self.report.warn(
                place, "bounds the jobs of a user in each leaf; in YARN over all queues"
            )

    # -- rules, and the rest --

    def rules(self) -> List[Json]:
        out: List[Json] = []
        if self.placement is None:
            return out
        for element in self.placement.children:
            place = self.at(element)
            if element.tag != "rule":
                raise ConvertError(place, "not a <rule> but %s" % quote(element.tag))
            create = boolean(place, element.attributes.get("create", "true"))
            kind = element.attributes.get("name", "")
            target = self._target(element, kind, "root")
            if kind == "reject":
                out.append({"queue": "-", "fallback": "reject"})
            elif kind == "default":
                self._default(place, element.attributes.get("queue", "default"))
            elif target:
                out.append({"queue": target})
                parent = self.by_path.get(target.rpartition(".")[0])
                if create and parent:
                    parent.json.setdefault("child", {})
                elif create:
                    self.report.warn(
                        place, "queues below %s are not made on demand" % target.rpartition(".")[0]
                    )
            for key in sorted(set(element.attributes) - {"name", "create", "queue"}):
                self.report.warn("%s: %s" % (place, key), "no counterpart")
        return out

    def _target(self, element: Element, kind: str, above: str) -> Optional[str]:
        place = self.at(element)
        if kind in ("specified", "reject", "default"):
            return None
        if kind in ("secondaryGroupExistingQueue", "secondaryGroup"):
            self.report.warn(place, "rules ignore secondary groups")
            return None
        if kind == "user":
            return above + ".%user"
        if kind == "primaryGroup":
            return above + ".%group"
        if kind == "nestedUserQueue" and above == "root":
            inner = element.child("rule")
            if inner is None:
                raise ConvertError(place, "a nestedUserQueue without a <rule>")
            word = inner.attributes.get("name", "")
            around = (
                self._rooted(self.at(inner), inner.attributes.get("queue", "default"))
                if word == "default"
                else self._target(inner, word, above)
            )
            return around + ".%user" if around else None
        raise ConvertError(place, "not a rule: %s" % quote(kind))

    def _rooted(self, place: str, text: str) -> str:
        return name(
            place, text if text == "root" or text.startswith("root.") else "root." + text, "queue"
        )

    def _default(self, place: str, text: str) -> None:
        path = self._rooted(place, text)
        queue = self.by_path.get(path)
        if queue is None:
            parent = self.by_path.get(path.rpartition(".")[0])
            if parent is None:
                raise ConvertError(place, "no queue %s" % quote(path.rpartition(".")[0]))
            # YARN makes the queue of a rule if it is missing.
            queue = _Queue(path, None, parent)
            parent.children.append(queue)
            self.by_path[path] = queue
        if queue.children:
            raise ConvertError(place, "queue %s has queues below it" % quote(path))
        self.scenario["default_queue"] = path

    def preemption(self) -> None:
        key = "yarn.scheduler.fair.preemption"
        enabled = boolean(self.conf.place(key), self.conf.get(key) or "false")
        warn_without_preemption(self.conf, self.report, key)
        for queue in self.root:
            for into in [queue.json.get("child"), queue.json if not queue.children else None]:
                if into is not None:
                    into["within"] = "never"
                    into["reclaim"] = "any" if enabled else "never"
        for prop in self.conf.unused():
            if prop.key.startswith("yarn.scheduler."):
                self.report.warn(prop.place, "no counterpart")
            else:
                self.report.aside(prop.file, prop.key, "not about queues")

    def convert(self) -> Part:
        rules = self.rules()
        todo: List[Tuple[_Queue, Dict[str, Fraction]]] = [(self.root, {})]
        while todo:
            queue, above = todo.pop()
            self.members(queue)
            left = self.quotas(queue, above)
            todo += [(child, left) for child in queue.children]
        self.preemption()
        self.scenario["queues"] = [queue.json for queue in self.root]
        default = self.by_path.get("root.default")
        if default and not default.children and "child" not in default.json:
            self.scenario.setdefault("default_queue", "root.default")
        wanted = self.scenario.get("default_queue")
        if wanted and "child" in self.by_path[wanted].json:
            raise ConvertError(
                self.file, "queue %s, the default, has queues below it" % quote(wanted)
            )
        if rules:
            self.scenario["rules"] = rules
        return Part(self.scenario, [self._settle_shares])

    def _settle_shares(self, scenario: Json, report: Report) -> None:
        """Resolve percentages of the cluster below a limit that is an amount."""
        for limit, key, share, place in self.shares:
            if scenario.get("nodes"):
                limit[key] = quota_number(place, key, total(scenario, key, None) * share)
            else:
                report.warn(
                    place, "%s: a percentage of the parent's limit, since there are no nodes" % key
                )


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert ``fair-scheduler.xml`` and, if it is among the inputs, ``yarn-site.xml``."""
    allocations = [source for source in sources if "<allocations" in source.text]
    if len(allocations) != 1:
        raise ConvertError(
            sources[0].name, "one fair-scheduler.xml, with <allocations>, must be given"
        )
    return _Converter(
        allocations[0], [source for source in sources if source is not allocations[0]], report
    ).convert()
