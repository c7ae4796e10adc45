# SPDX-License-Identifier: Apache-2.0
"""Queues of Kueue and Volcano.

==============================================  ====================================================
Kueue                                           scenario
==============================================  ====================================================
ClusterQueue                                    a leaf of ``queues``
``spec.cohort``, ``cohortName``; Cohort         ``parent``; what it has is the sum of what its
                                                members have, and its own quotas
``resourceGroups[].flavors[].resources[]``:     ``guaranteed``
``nominalQuota``
``borrowingLimit``                              ``limit`` = nominal + borrowing; outside a cohort:
                                                nominal
``lendingLimit``                                ``lending_limit``
flavors with ``nodeLabels``, ResourceFlavor     ``partitions``, of nodes that have all these labels;
                                                quotas are of ``KIND@FLAVOR``; ``partitions`` of the
                                                queue: those of one resource group in order
``preemption.withinClusterQueue`` (Never)       ``within``: never, lower, lower-or-newer
``preemption.reclaimWithinCohort`` (Never)      ``reclaim``: never, lower, any
``preemption.borrowWithinCohort``               ``across``: never, lower (LowerPriority), or
                                                lower-capped with ``across_max_priority``
                                                (``maxPriorityThreshold``); of its cohorts: lower
``flavorFungibility.whenCanBorrow``             ``partition_borrow``: in-order (Borrow,
                                                MayStopSearch) or last (TryNextFlavor)
``flavorFungibility.whenCanPreempt``            ``partition_preempt``: in-order (Preempt,
                                                MayStopSearch) or last (TryNextFlavor)
``queueingStrategy``                            ``block``: strict (StrictFIFO) or none
``fairSharing.weight``                          ``weight``
``stopPolicy``                                  ``state: closed``
LocalQueue                                      another name of its ClusterQueue
==============================================  ====================================================

=========================================  =========================================================
Volcano Queue                              scenario
=========================================  =========================================================
``spec.weight``, ``priority``, ``parent``  ``weight``, ``priority``, ``parent``
``spec.capability``                        ``limit``
``spec.deserved``                          ``guaranteed``
``spec.guarantee.resource``                ``guaranteed``, if nothing is deserved; not lent
``spec.reclaimable`` = false               ``no_preemption``
(always)                                   ``nonpreemptible: limit``: pods that are not preemptable
                                           start up to the capability, too
``status.state`` Closed, Closing           ``state``
=========================================  =========================================================
"""
from __future__ import annotations

from fractions import Fraction
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from ._base import (
    MAX_AMOUNT, MAX_PARTITIONS, MAX_QUEUE_DEPTH, MIB, ConvertError, Json, Report, add_kind,
    kind_name, name, quantity, quote, tidy,
)
from ._manifest import At
from .kubernetes_nodes import GPUS, unit

_WITHIN = {
    "Never": "never",
    "LowerPriority": "lower",
    "LowerOrNewerEqualPriority": "lower-or-newer",
}
_RECLAIM = {"Never": "never", "LowerPriority": "lower", "Any": "any"}

Amounts = Dict[str, Fraction]


def kind_of(at: At, resource: str, scenario: Json) -> str:
    """The key of a quota for a resource of Kubernetes; "": the resource cannot have a quota."""
    if resource in ("cpu", "memory"):
        return {"cpu": "cpu", "memory": "mem_mib"}[resource]
    if resource in GPUS:
        return "gpu"
    if resource == "pods":
        at.report.warn(at.place, "no counterpart: a number of pods")
        return ""
    key = kind_name(at.place, resource)
    add_kind(at.place, scenario, key, unit(resource) or None)
    return key


def value_of(at: At, key: str) -> Fraction:
    """An amount in the unit of the quota."""
    value = quantity(at.place, at.value)
    if value < 0:
        raise at.fail("less than 0: %s" % quote(at.value))
    if key == "mem_mib" or unit(key):
        value = value / MIB
    if value > MAX_AMOUNT:
        raise at.fail("too much: %s" % quote(at.value))
    return value


def quotas(amounts: Amounts) -> Json:
    """Amounts for the scenario: whole numbers, except for cores and GPUs."""
    return {key: tidy(value) if key.partition("@")[0] in ("cpu", "gpu") else int(value // 1)
            for key, value in amounts.items()}


def add(into: Amounts, more: Amounts) -> None:
    """Sum amounts up."""
    for key, value in more.items():
        into[key] = into.get(key, Fraction(0)) + value


class _Quota:
    """The resource groups of a ClusterQueue or Cohort."""

    def __init__(self) -> None:
        self.nominal: Amounts = {}
        self.borrowing: Amounts = {}
        self.lending: Amounts = {}
        self.groups: List[List[str]] = []

    @property
    def flavors(self) -> List[str]:
        """Return the names of all flavors, each once."""
        return list(dict.fromkeys(flavor for group in self.groups for flavor in group))


class _Kueue:
    def __init__(
        self,
        queues: Sequence[At],
        cohorts: Sequence[At],
        flavors: Sequence[At],
        scenario: Json,
        report: Report,
    ) -> None:
        self.queues = queues
        self.cohorts = cohorts
        self.scenario = scenario
        self.report = report
        self.flavors: Dict[str, Dict[str, str]] = {}
        self.only_flavor: Dict[str, str] = {}
        for at in flavors:
            self._flavor(at)

    def _flavor(self, at: At) -> None:
        at.get("apiVersion"), at.get("kind"), at.get("status")
        flavor = name(at.place, at.way("metadata.name").value)
        spec = at.get("spec")
        self.flavors[flavor] = spec.get("nodeLabels").words()
        if spec.get("nodeTaints"):
            self.report.warn(spec.get("nodeTaints").place, "no counterpart")
        spec.get("tolerations"), spec.get("topologyName")
        spec.done()
        at.done()

    def _read_quota(self, at: At) -> _Quota:
        out = _Quota()
        for group in at.get("resourceGroups").items():
            group.get("coveredResources")
            out.groups.append([])
            for flavor in group.get("flavors").items():
                word = name(flavor.place, flavor.get("name").value, "flavor")
                out.groups[-1].append(word)
                for resource in flavor.get("resources").items():
                    self._read_resource(resource, word, out)
                flavor.done()
            group.done()
        return out

    def _read_resource(self, at: At, flavor: str, out: _Quota) -> None:
        key = kind_of(at, at.get("name").text(), self.scenario)
        if not key:
            return
        if self.flavors.get(flavor):
            key = "%s@%s" % (key, flavor)
        nominal = at.get("nominalQuota")
        value = value_of(nominal, key.partition("@")[0]) if nominal else Fraction(0)
        add(out.nominal, {key: value})
        for member, into in (("borrowingLimit", out.borrowing), ("lendingLimit", out.lending)):
            limit = at.get(member)
            if limit:
                add(into, {key: value_of(limit, key.partition("@")[0])})
        if out.lending.get(key, Fraction(0)) > value:
            raise at.get("lendingLimit").fail("above the nominal quota")
        at.done()

    def convert(self) -> None:
        cohorts: Dict[str, Json] = {}
        own: Dict[str, _Quota] = {}
        self.above: Dict[str, str] = {}
        for at in self.cohorts:
            cohort = name(at.place, at.way("metadata.name").value)
            spec = at.get("spec")
            if cohort in own:
                raise at.fail("cohort %s is there twice" % quote(cohort))
            own[cohort] = self._read_quota(spec)
            parent = spec.get("parentName") or spec.get("parent")
            if parent and parent.text():
                self.above[cohort] = name(parent.place, parent.text())
            cohorts[cohort] = {}
            self._weight(spec, cohorts[cohort])
            spec.done()
        leaves = [self._leaf(at) for at in self.queues]
        for leaf, quota in leaves:
            if leaf["name"] in own:
                raise ConvertError(
                    self.queues[0].file, "a cohort and a queue are called %s" % quote(leaf["name"])
                )
        for cohort in [leaf["parent"] for leaf, _ in leaves if "parent" in leaf] + list(
            self.above.values()
        ):
            own.setdefault(cohort, _Quota())
            cohorts.setdefault(cohort, {})
        self._check_depth(cohorts)
        self._put(cohorts, own, leaves)

    def _check_depth(self, cohorts: Dict[str, Json]) -> None:
        for cohort in cohorts:
            seen: Set[str] = set()
            at: Optional[str] = cohort
            while at is not None:
                if at in seen:
                    raise ConvertError(
                        self.cohorts[0].file, "cohort %s is its own ancestor" % quote(at)
                    )
                seen.add(at)
                at = self.above.get(at)
            if len(seen) >= MAX_QUEUE_DEPTH:
                raise ConvertError(
                    self.cohorts[0].file, "more than %d queues on a path" % MAX_QUEUE_DEPTH
                )

    def _put(
        self, cohorts: Dict[str, Json], own: Dict[str, _Quota], leaves: List[Tuple[Json, _Quota]]
    ) -> None:
        sums: Dict[str, Amounts] = {cohort: dict(own[cohort].nominal) for cohort in cohorts}
        for leaf, quota in leaves:
            at = leaf.get("parent")
            while at is not None:
                add(sums[at], quota.nominal)
                at = self.above.get(at)
        for cohort in cohorts:
            at = self.above.get(cohort)
            while at is not None:
                add(sums[at], own[cohort].nominal)
                at = self.above.get(at)
        out: List[Json] = []
        for cohort in sorted(cohorts, key=self._depth):
            queue: Json = {"name": cohort}
            if cohort in self.above:
                queue["parent"] = self.above[cohort]
            queue.update(cohorts[cohort])
            queue["guaranteed"] = quotas(sums[cohort])
            self._limits(queue, sums[cohort], own[cohort], cohort not in self.above)
            out.append(queue)
        self._rivals(out, [leaf for leaf, _ in leaves])
        self.scenario.setdefault("queues", []).extend(out + [leaf for leaf, _ in leaves])
        self._partitions([quota for _, quota in leaves] + list(own.values()))

    def _depth(self, cohort: str) -> int:
        depth = 0
        while cohort in self.above:
            cohort, depth = self.above[cohort], depth + 1
        return depth

    def _limits(self, queue: Json, nominal: Amounts, quota: _Quota, alone: bool) -> None:
        """Limit the top of a tree to its own quota, because it cannot borrow from outside."""
        limit = {
            key: value + quota.borrowing.get(key, Fraction(0))
            for key, value in nominal.items()
            if alone or key in quota.borrowing
        }
        if limit:
            queue["limit"] = quotas(limit)
        if quota.lending:
            queue["lending_limit"] = quotas(quota.lending)

    def _weight(self, spec: At, out: Json) -> None:
        weight = spec.way("fairSharing.weight")
        if weight:
            value = quantity(weight.place, weight.value)
            if not 0 <= value <= 10 ** 6:
                raise weight.fail("not a weight between 0 and 1000000")
            out["weight"] = tidy(value, 10 ** 6)

    def _leaf(self, at: At) -> Tuple[Json, _Quota]:
        out: Json = {"name": name(at.place, at.way("metadata.name").value)}
        spec = at.get("spec")
        cohort = spec.get("cohort") or spec.get("cohortName")
        if cohort and cohort.text():
            out["parent"] = name(cohort.place, cohort.text(), "cohort")
            spec.get("cohortName")
        quota = self._read_quota(spec)
        out["guaranteed"] = quotas(quota.nominal)
        self._limits(out, quota.nominal, quota, "parent" not in out)
        self._weight(spec, out)
        preemption = spec.get("preemption")
        for key, member, values in (("withinClusterQueue", "within", _WITHIN),
                                    ("reclaimWithinCohort", "reclaim", _RECLAIM)):
            word = preemption.get(key)
            if word.text("Never") not in values:
                raise word.fail("not one of %s: %s" % (", ".join(values), quote(word.value)))
            out[member] = values[word.text("Never")]
        self._borrow(preemption.get("borrowWithinCohort"), out)
        preemption.done()
        strategy = spec.get("queueingStrategy")
        if strategy.text("BestEffortFIFO") == "StrictFIFO":
            out["block"] = "strict"
        elif strategy.text("BestEffortFIFO") != "BestEffortFIFO":
            raise strategy.fail("neither StrictFIFO nor BestEffortFIFO: %s" % quote(strategy.value))
        stop = spec.get("stopPolicy")
        if stop.text("None") != "None":
            out["state"] = "closed"
            if stop.value == "HoldAndDrain":
                self.report.warn(stop.place, "what runs goes on")
        spec.get("namespaceSelector")
        order = self._order(spec, quota)
        if len(order) > 1:
            out["partitions"] = order
        elif order:
            self.only_flavor[out["name"]] = order[0]
        self._fungibility(spec.get("flavorFungibility"), out)
        for key in (
            "admissionChecks",
            "admissionChecksStrategy",
            "admissionScope",
        ):
            if spec.get(key):
                self.report.warn(spec.get(key).place, "no counterpart")
        spec.done()
        return out, quota

    def _borrow(self, at: At, out: Json) -> None:
        """Which jobs of other queues of its cohort it preempts while it borrows."""
        policy, threshold = at.get("policy"), at.get("maxPriorityThreshold")
        if policy.text("Never") not in ("Never", "LowerPriority"):
            raise policy.fail("neither Never nor LowerPriority: %s" % quote(policy.value))
        if policy.text("Never") == "LowerPriority":
            if out["reclaim"] == "never":
                raise policy.fail("LowerPriority, and reclaimWithinCohort is Never")
            out["across"] = "lower"
            if threshold:
                out["across"] = "lower-capped"
                out["across_max_priority"] = threshold.number(0, -2 ** 31, 2 ** 31)
        at.done()

    def _rivals(self, cohorts: List[Json], leaves: Sequence[Json]) -> None:
        """Let leaves of a cohort preempt across, if one of them does, but no others than those."""
        tops = {leaf["name"]: self._top(leaf) for leaf in leaves}
        borrowing = {tops[leaf["name"]] for leaf in leaves if "across" in leaf} - {None}
        for cohort in cohorts:
            if cohort["name"] in borrowing:
                cohort["across"] = "lower"
        for leaf in leaves:
            if tops[leaf["name"]] in borrowing:
                leaf.setdefault("across", "never")
            else:  # it is in no cohort
                leaf.pop("across", None), leaf.pop("across_max_priority", None)

    def _top(self, leaf: Json) -> Optional[str]:
        at = leaf.get("parent")
        while at in self.above:
            at = self.above[at]
        return at

    def _order(self, spec: At, quota: _Quota) -> List[str]:
        """Return the flavors with labels that jobs try in order: those of one resource group."""
        labelled = [[f for f in group if self.flavors.get(f)] for group in quota.groups]
        groups = [flavors for flavors in labelled if flavors]
        order = groups[0] if groups else []
        place = spec.get("resourceGroups").place
        if len(groups) > 1 and any(flavors != order for flavors in groups):
            self.report.warn(place, "jobs try the flavors of the first resource group with labels")
        elif any(0 < len(some) < len(group) for some, group in zip(labelled, quota.groups)):
            self.report.warn(place, "jobs do not try flavors without labels")
        if len(order) > MAX_PARTITIONS:
            self.report.warn(place, "jobs try the first %d flavors" % MAX_PARTITIONS)
            order = order[:MAX_PARTITIONS]
        return order

    def _fungibility(self, at: At, out: Json) -> None:
        for key, member, words in (
            ("whenCanBorrow", "partition_borrow", {"Borrow": "", "TryNextFlavor": "last"}),
            ("whenCanPreempt", "partition_preempt", {"TryNextFlavor": "", "Preempt": "in-order"}),
        ):
            words["MayStopSearch"] = words.get("Borrow", "in-order")
            word = at.get(key).text(next(iter(words)))
            if word not in words:
                raise at.get(key).fail("not one of %s: %s" % (", ".join(words), quote(word)))
            if words[word]:
                out[member] = words[word]
        at.done()

    def _partitions(self, all_quotas: Sequence[_Quota]) -> None:
        used = sorted({f for quota in all_quotas for f in quota.flavors if self.flavors.get(f)})
        for flavor in used:
            self.scenario.setdefault("partitions", []).append({"name": flavor})
        dimensions = {key for quota in all_quotas for key in quota.nominal}
        if len(dimensions) > 60:
            raise ConvertError(self.queues[0].file if self.queues else self.cohorts[0].file,
                               "more than 60 pairs of resource and flavor")

    def nodes(self, scenario: Json) -> None:
        """Put nodes into the partitions of their flavors."""
        for partition in scenario.get("partitions", []):
            labels = self.flavors.get(partition["name"])
            for node in scenario.get("nodes", []) if labels else []:
                if all(
                    node.get("labels", {}).get(key) == value
                    for key, value in (labels or {}).items()
                ):
                    into = node.setdefault("partitions", [])
                    if partition["name"] not in into:
                        into.append(partition["name"])


def kueue(
    queues: Sequence[At],
    cohorts: Sequence[At],
    flavors: Sequence[At],
    scenario: Json,
    report: Report,
) -> _Kueue:
    """Convert ClusterQueues, Cohorts and ResourceFlavors."""
    out = _Kueue(queues, cohorts, flavors, scenario, report)
    if queues or cohorts:
        out.convert()
    return out


# ---- Volcano ---------------------------------------------------------------------------------


def _resources(at: At, scenario: Json) -> Amounts:
    out: Amounts = {}
    for resource, value in at.members().items():
        key = kind_of(value, resource, scenario)
        if not key:
            continue
        add(out, {key: value_of(value, key)})
    return out


def volcano(queues: Sequence[At], scenario: Json, report: Report) -> None:
    """Convert Queues of Volcano."""
    out: List[Json] = []
    have: Dict[str, At] = {}
    for at in queues:
        queue = _volcano(at, scenario, report)
        if queue["name"] in have:
            raise at.fail("queue %s is there twice" % quote(queue["name"]))
        have[queue["name"]] = at
        out.append(queue)
    for queue in out:
        if queue.get("parent") == "root" and "root" not in have:
            del queue["parent"]  # every queue is below the root, which has no bounds
        elif "parent" in queue and queue["parent"] not in have:
            raise have[queue["name"]].fail("spec.parent: no queue %s" % quote(queue["parent"]))
    above = {queue["name"]: queue.get("parent") for queue in out}
    for word, at in have.items():
        seen: Set[Any] = set()
        up: Any = word
        while up is not None:
            if up in seen or len(seen) >= MAX_QUEUE_DEPTH:
                raise at.fail("spec.parent: the queue is its own ancestor, or below too many")
            seen.add(up)
            up = above[up]
    if out:
        scenario.setdefault("queues", []).extend(out)


def _volcano(at: At, scenario: Json, report: Report) -> Json:
    out: Json = {"name": name(at.place, at.way("metadata.name").value)}
    spec = at.get("spec")
    parent = spec.get("parent")
    if parent and parent.text():
        out["parent"] = name(parent.place, parent.text())
    weight = spec.get("weight")
    if weight:
        out["weight"] = weight.number(1, 0, 10 ** 6)
    priority = spec.get("priority")
    if priority:
        out["priority"] = priority.number(0, -2 ** 31, 2 ** 31)
    deserved = _resources(spec.get("deserved"), scenario)
    kept = _resources(spec.way("guarantee.resource"), scenario)
    most = _resources(spec.get("capability"), scenario)
    if deserved or kept:
        both = dict(deserved)
        both.update({key: max(value, both.get(key, Fraction(0))) for key, value in kept.items()})
        out["guaranteed"] = quotas(both)
    if kept:
        out["lending_limit"] = quotas({key: max(Fraction(0), deserved.get(key, Fraction(0)) - value)
                                       for key, value in kept.items()})
    for key, value in most.items():
        if (
            key in out.get("guaranteed", {})
            and max(deserved.get(key, Fraction(0)), kept.get(key, Fraction(0))) > value
        ):
            raise spec.get("capability").fail("%s: below what is deserved or guaranteed" % key)
    if most:
        out["limit"] = quotas(most)
    out["nonpreemptible"] = "limit"
    if not spec.get("reclaimable").flag(True):
        out["no_preemption"] = True
    state = at.way("status.state").text("Open")
    if state in ("Closed", "Closing"):
        out["state"] = "draining" if state == "Closing" else "closed"
    for key in ("affinity", "extendClusters", "type", "dequeueStrategy"):
        if spec.get(key):
            report.warn(spec.get(key).place, "no counterpart")
    spec.done()
    return out
