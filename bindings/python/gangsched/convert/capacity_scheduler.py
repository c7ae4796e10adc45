# SPDX-License-Identifier: Apache-2.0
"""YARN's ``capacity-scheduler.xml``, with the preemption part of ``yarn-site.xml``, and the node
labels as ``yarn cluster --list-node-labels`` prints them.

Queues are named by their whole path, "root.a.b". ``P`` is ``yarn.scheduler.capacity.<path>.``.

==============================================  ====================================================
Hadoop                                          scenario
==============================================  ====================================================
``P queues``                                    ``queues[].name``, ``.parent``
``P capacity`` = 25                             ``guaranteed``: ``{"fraction": 0.25}`` of cpu, mem_mib,
                                                gpu, and each kind that some queue names
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
node labels, ``exclusivity`` = false            ``partitions[].mode: lending``; true: exclusive
``P state`` = STOPPED                           ``state: draining``, of queues below, too
``P ordering-policy`` of a parent               ``child_order: utilization`` (default) or
                                                ``priority-utilization``
``P ordering-policy`` of a leaf                 ``order: priority`` (fifo) or ``fair``
``P priority``                                  ``priority``, where siblings take turns by it
``P user-limit-factor`` (1)                     ``user_limit_factor``; -1: none
``P minimum-user-limit-percent`` (100)          ``user_limit``
``P user-settings.U.weight``                    ``users: {U: weight}``, of queues below, too
``P maximum-applications``                      ``max_pending``; the global one times the queue's
                                                part
``P max-parallel-apps``                         ``max_running``
``P maximum-/default-application-lifetime``     ``max_time_limit_s``, ``default_time_limit_s``
``P acl_submit_applications``,                  ``submit_acl``, ``admin_acl``
``acl_administer_queue``
``P disable_preemption``                        ``no_preemption`` of the leaves below
``P auto-create-child-queue.*``,                ``child``, ``max_children``
``leaf-queue-template.*``,
``auto-queue-creation-v2.*``
``queue-mappings``, ``mapping-rule-json``,      ``rules``
``...queue-placement-rules.app-name``
a leaf ``root.default``                         ``default_queue``
``...scheduler.monitor.enable``                 not true: ``reclaim: never`` and ``within: never``
``...preemption.max_wait_before_kill`` (15 s)   ``grace_s`` of the root
``...intra-queue-preemption.enabled``           ``within: user-limit``, or ``lower`` with
                                                ``...preemption-order-policy`` priority_first
``P intra-queue-preemption.``                   ``within: never`` of the leaves below
``disable_preemption``
==============================================  ====================================================

All kinds count, whatever ``resource-calculator`` says, because a guarantee of GPUs must be
enforced. Everything else becomes a warning.
"""
from __future__ import annotations

from typing import Dict, Optional, Sequence

from ._base import ConvertError, Json, Part, Report, Source, boolean, quote, seconds
from ._capacity_queues import QueueMembers
from ._capacity_rules import PREFIX, Rules
from ._capacity_tree import DEFAULT_PARTITION
from ._node_labels import read_labels
from ._yarn import milliseconds, warn_without_preemption, without_acls

MONITOR = "yarn.resourcemanager.scheduler.monitor."
PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."

#: Keys without a counterpart, of queues and global, with the reason.
NO_COUNTERPART = {
    "maximum-am-resource-percent": "all tasks belong to the gang, so no bound applies to a task outside of it",
    "maximum-allocation-mb": "only nodes and limits bound tasks",
    "maximum-allocation-vcores": "only nodes and limits bound tasks",
    "maximum-allocation": "only nodes and limits bound tasks",
    "default-application-priority": "jobs state their priority, or have 0",
    "default-node-label-expression": "tasks name their partition",
    "node-locality-delay": "jobs name levels, and wait by policy",
    "rack-locality-additional-delay": "jobs name levels, and wait by policy",
    "lazy-preemption-enabled": "preemption always makes capacity for a job that starts",
    "queue-mappings-override.enable": "a job that names a queue keeps it",
    "user.max-parallel-apps": "max_running_per_user bounds jobs in each leaf",
    "reservable": "reservations are made by the host, in any queue",
}


class _Converter(QueueMembers):
    """The scenario of a configuration: queues, preemption, rules, and warnings of the rest."""

    def preemption(self) -> None:
        key = MONITOR + "enable"
        enabled = boolean(self.conf.place(key), self.conf.get(key) or "false")
        policies = self.conf.get(MONITOR + "policies")
        if enabled and policies and "Proportional" not in policies:
            self.report.warn(
                self.conf.place(MONITOR + "policies"), "none of these policies preempts"
            )
            enabled = False
        if not enabled:
            warn_without_preemption(self.conf, self.report, key)
        observe = PREEMPTION + "observe_only"
        if boolean(self.conf.place(observe), self.conf.get(observe) or "false"):
            self.report.warn(self.conf.place(observe), "taken for switched off")
            enabled = False
        intra = PREEMPTION + "intra-queue-preemption.enabled"
        within = enabled and boolean(self.conf.place(intra), self.conf.get(intra) or "false")
        order = self.conf.get(PREEMPTION + "intra-queue-preemption.preemption-order-policy")
        rule = "lower" if order == "priority_first" else "user-limit"
        if enabled:
            wait = PREEMPTION + "max_wait_before_kill"
            self.root.json["grace_s"] = seconds(
                self.conf.place(wait),
                milliseconds(self.conf.place(wait), self.conf.get(wait) or "15000"),
            )
        for queue in self.root:
            if queue.children:
                continue
            into = queue.json.get("child", queue.json)
            text, place = self.inherited(queue, "intra-queue-preemption.disable_preemption")
            spared = text is not None and boolean(place, text)
            into["within"] = rule if within and not spared else "never"
            into["reclaim"] = "any" if enabled else "never"
            text, place = self.inherited(queue, "disable_preemption")
            if text is not None and boolean(place, text) and enabled:
                into["no_preemption"] = True

    # -- the scenario --

    def convert(self) -> Part:
        scenario: Json = {}
        self.read_kinds(scenario)
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
            scenario["partitions"] = [
                {"name": label, "mode": self._mode(label)} for label in self.labels
            ]
            scenario["partitions"].append({"name": DEFAULT_PARTITION})
            if not self.listed:
                self.report.warn(
                    self.place(self.root, "accessible-node-labels"),
                    "labels are taken for exclusive; that is set where labels are made, not here: "
                    "give the output of yarn cluster --list-node-labels, too",
                )
        self._calculator()
        without_acls(self.conf, self.report, scenario["queues"])
        self._unused()
        return Part(scenario, [self._put_default, self.scale])

    #: the node labels of the site, and whether they are exclusive; empty: not given
    listed: Dict[str, bool] = {}

    def _mode(self, label: str) -> str:
        if self.listed and label not in self.listed:
            raise ConvertError(
                self.place(self.root, "accessible-node-labels"),
                "no node label %s is listed" % quote(label),
            )
        return "exclusive" if self.listed.get(label, True) else "lending"

    def _calculator(self) -> None:
        key = PREFIX + "resource-calculator"
        text = self.conf.get(key)
        if text is None or "DominantResourceCalculator" not in text:
            self.report.warn(
                self.conf.place(key),
                "YARN counts memory alone without DominantResourceCalculator; "
                "here cores and GPUs count, too",
            )

    def _put_default(self, scenario: Json, _report: Report) -> None:
        """Put nodes and tasks without a partition into the default partition."""
        if not self.labels:
            return
        for node in scenario.get("nodes", []):
            node["partitions"] = node.get("partitions") or [DEFAULT_PARTITION]
        for job in scenario.get("jobs", []):
            for task in job.get("tasks", []):
                task.setdefault("partition", DEFAULT_PARTITION)

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
                    self.report.warn(
                        prop.place,
                        "no counterpart"
                        + (": " + NO_COUNTERPART[own] if own in NO_COUNTERPART else ""),
                    )
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


_QUEUE_KEYS = (
    "capacity", "maximum-capacity", "state", "queues", "priority", "user-limit-factor",
    "minimum-user-limit-percent", "acl_submit_applications", "acl_administer_queue",
    "ordering-policy",
)


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
    """Convert ``capacity-scheduler.xml`` and, if they are among the inputs, ``yarn-site.xml`` and
    the list of node labels.
    """
    lists = [source for source in sources if source.form == "node-labels"]
    listed: Dict[str, bool] = {}
    for source in lists:
        for label, exclusive in read_labels(source).items():
            if listed.setdefault(label, exclusive) != exclusive:
                raise ConvertError(source.name, "label %s is there twice" % quote(label))
    rest = [source for source in sources if source.form != "node-labels"]
    if not rest:
        raise ConvertError(
            lists[0].name, "node labels complete a capacity-scheduler.xml: give it, too"
        )
    converter = _Converter(rest, report)
    converter.listed = listed
    return converter.convert()
