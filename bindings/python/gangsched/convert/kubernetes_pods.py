# SPDX-License-Identifier: Apache-2.0
"""What a pod of Kubernetes requests, and where it may run: one task group for a template of pods.

==============================================  ====================================================
Kubernetes                                      task group
==============================================  ====================================================
requests (else limits) of containers; the       ``cpu``, ``mem_mib``, ``gpu``, ``amounts``
largest of init containers; overhead
annotations gpu-fraction, gpu-memory            ``gpu`` below 1, ``gpu_mem_mib``
``nodeSelector``                                ``selector``
required node affinity                          ``where``
annotations                                     ``same``, ``prefer``, ``subgroup_size``,
kueue.x-k8s.io/podset-required-topology,        ``subgroup_same``
-preferred-topology, -slice-...
==============================================  ====================================================
"""
from __future__ import annotations

from fractions import Fraction
from typing import Dict, List

from ._base import (
    MAX_AMOUNT, MAX_GPUS, MAX_MIB, MAX_TASKS, ConvertError, Json, Report, add_kind, cpus, integer,
    kind_name, name, number, plain, put_memory, quantity, quote, tidy,
)
from ._manifest import At
from .kubernetes_nodes import GPUS, HOST, amount, unit

#: Members of a pod that do not affect where it runs.
_POD_ASIDE = (
    "automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy", "enableServiceLinks",
    "hostAliases", "hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname", "imagePullSecrets",
    "initContainers", "os", "readinessGates", "restartPolicy", "securityContext", "serviceAccount",
    "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace", "subdomain",
    "terminationGracePeriodSeconds", "volumes", "schedulerName", "nodeName", "ephemeralContainers",
    "preemptionPolicy", "priority",
)


class Pods:
    """Converts templates of pods to task groups; learns levels that no node has."""

    def __init__(self, scenario: Json, report: Report) -> None:
        self.scenario = scenario
        self.report = report
        self.levels: List[str] = list(scenario.get("levels", []))

    def requests(self, pod: At) -> Dict[str, Fraction]:
        """The resources that a pod requests."""
        out: Dict[str, Fraction] = {}
        for container in pod.get("containers").items():
            for key, value in self._container(container).items():
                out[key] = out.get(key, Fraction(0)) + value
        first: Dict[str, Fraction] = {}
        aside: Dict[str, Fraction] = {}
        for container in pod.get("initContainers").items():
            for key, value in self._container(container).items():
                # a sidecar runs beside the containers
                if container.get("restartPolicy").value == "Always":
                    aside[key] = aside.get(key, Fraction(0)) + value
                else:
                    first[key] = max(first.get(key, Fraction(0)), value)
        for key in {*out, *aside, *first}:
            out[key] = max(
                out.get(key, Fraction(0)) + aside.get(key, Fraction(0)), first.get(key, Fraction(0))
            )
        for key, at in pod.get("overhead").members().items():
            out[key] = out.get(key, Fraction(0)) + self.quantity(at)
        whole = pod.get("resources")
        for key, value in self._container(pod).items() if whole else ():
            out[key] = value
        return out

    def quantity(self, at: At) -> Fraction:
        value = quantity(at.place, at.value)
        if value < 0:
            raise at.fail("less than 0: %s" % quote(at.value))
        return value

    def _container(self, container: At) -> Dict[str, Fraction]:
        resources = container.get("resources")
        out = {key: self.quantity(at) for key, at in resources.get("limits").members().items()}
        out.update(
            {key: self.quantity(at) for key, at in resources.get("requests").members().items()}
        )
        if resources.get("claims"):
            self.report.warn(resources.get("claims").place, "no counterpart: devices of claims")
        return out

    def put(self, place: str, task: Json, requested: Dict[str, Fraction]) -> None:
        """Set the amounts of a task."""
        gpus = 0
        for key, value in sorted(requested.items()):
            if key == "cpu" and value:
                task["cpu"] = cpus(place, value)
            elif key == "memory" and value:
                put_memory(place, task, Fraction(-(-value // 4096) * 4096))
            elif key in GPUS:
                if value.denominator != 1 or value + gpus > MAX_GPUS:
                    raise ConvertError(place, "%s: not a number of GPUs that a node has" % key)
                gpus += int(value)
            elif key not in ("cpu", "memory") and value:
                add_kind(place, self.scenario, kind_name(place, key), unit(key) or None)
                task.setdefault("amounts", {})[key] = amount(place, key, tidy(value))
        if gpus:
            task["gpu"] = gpus

    def task(self, template: At, count: int, word: str = "", scale: bool = True) -> Json:
        """A task group for the pods of a template."""
        spec = template.get("spec")
        task: Json = {}
        if word:
            task["name"] = name(template.place, word)
        if count != 1 or not scale:
            task["count"] = count
        self.put(spec.place, task, self.requests(spec))
        self._fraction(template, task)
        selector = {name(at.place, key, "label"): plain(at.place, at.text(""), "label")
                    for key, at in spec.get("nodeSelector").members().items()}
        if selector:
            if HOST in selector:
                selector["node"] = selector.pop(HOST)
            task["selector"] = selector
        self._affinity(spec.get("affinity"), task)
        self._topology(template, task, count)
        for key in (
            "tolerations",
            "topologySpreadConstraints",
            "resourceClaims",
            "runtimeClassName",
            "schedulingGates",
        ):
            if spec.get(key) and spec.get(key).value:
                self.report.warn(spec.get(key).place, "no counterpart")
        spec.get("activeDeadlineSeconds"), spec.get("priorityClassName")
        spec.done(*_POD_ASIDE)
        return task

    def _fraction(self, template: At, task: Json) -> None:
        notes = template.way("metadata.annotations").members()
        share, memory = notes.get("gpu-fraction"), notes.get("gpu-memory")
        if share is not None:
            value = number(share.place, share.text(), 0, 1)
            if value == 0 or tidy(value) == 0:
                raise share.fail("not a share of a GPU")
            task["gpu"] = tidy(value)
        elif memory is not None:
            task.pop("gpu", None)
            task["gpu_mem_mib"] = integer(memory.place, memory.text(), 1, MAX_MIB)
        many = notes.get("gpu-fraction-num-devices")
        if many is not None and (
            share is not None and task["gpu"] != 1 or memory is not None and share is None
        ):
            task["gpu_devices"] = integer(many.place, many.text(), 1, MAX_GPUS)

    def _affinity(self, affinity: At, task: Json) -> None:
        if not affinity:
            return
        required = affinity.way("nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")
        terms = [self._term(term) for term in required.get("nodeSelectorTerms").items()]
        terms = [term for term in terms if term]
        if len(terms) == 1:
            task["where"] = terms[0]
        elif terms:
            text = " or ".join(
                "(%s)" % " and ".join(_expression(rule) for rule in term) for term in terms
            )
            if len(text.encode("utf-8", "replace")) > 4096:
                raise required.fail("longer than 4096 bytes as an expression")
            task["where"] = text
        if affinity.way("nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution").items():
            self.report.warn(
                affinity.place + ".nodeAffinity", "what is preferred has no counterpart"
            )
        for key in ("podAffinity", "podAntiAffinity"):
            if affinity.get(key):
                self.report.warn(
                    affinity.get(key).place,
                    "no counterpart: say it with `affinity` and labels of jobs",
                )
        affinity.done()

    def _term(self, term: At) -> List[Json]:
        words = {
            "In": "in", "NotIn": "not_in", "Exists": "exists", "DoesNotExist": "not_exists",
            "Gt": "gt", "Lt": "lt",
        }
        out: List[Json] = []
        for rule in [*term.get("matchExpressions").items(), *term.get("matchFields").items()]:
            key, operator = rule.get("key").text(), rule.get("operator")
            if operator.text() not in words:
                raise operator.fail("not an operator: %s" % quote(operator.value))
            key = "node" if key in ("metadata.name", HOST) else key
            made: Json = {"key": name(rule.place, key, "label"), "op": words[operator.text()]}
            values = [plain(at.place, at.text(), "label") for at in rule.get("values").items()]
            if made["op"] in ("exists", "not_exists"):
                pass
            elif not values or made["op"] in ("gt", "lt") and len(values) != 1:
                raise rule.fail("not the number of values that goes with %s" % operator.value)
            elif made["op"] in ("gt", "lt"):
                made["values"] = [str(integer(rule.place, values[0], -MAX_AMOUNT, MAX_AMOUNT))]
            else:
                made["values"] = values
            out.append(made)
        return out

    def _topology(self, template: At, task: Json, count: int) -> None:
        notes = template.way("metadata.annotations").members()
        stem = "kueue.x-k8s.io/podset-"
        for key, member in (
            (stem + "required-topology", "same"),
            (stem + "preferred-topology", "prefer"),
            (stem + "slice-required-topology", "subgroup_same"),
        ):
            at = notes.get(key)
            if at is None:
                continue
            level = "node" if at.text() == HOST else name(at.place, at.text(), "level")
            if level != "node" and level not in self.levels:
                self.levels.append(level)
                self.report.warn(
                    at.place,
                    "no Topology and no node has this level; it is taken for the narrowest",
                )
                if len(self.levels) > 16:
                    raise at.fail("more than 16 levels")
            task[member] = level
        size = notes.get(stem + "slice-size")
        if "subgroup_same" in task and size is not None:
            task["subgroup_size"] = integer(size.place, size.text(), 1, MAX_TASKS)
            if count % task["subgroup_size"]:
                raise size.fail("%d is no multiple of it" % count)
        elif "subgroup_same" in task or size is not None:
            raise template.fail("a size of slices and their level go together")


def _word(text: str) -> str:
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def _expression(rule: Json) -> str:
    """A node affinity rule as an expression of the scenario format."""
    key, op, values = _word(rule["key"]), rule["op"], rule.get("values", [])
    if op in ("exists", "not_exists"):
        return ("" if op == "exists" else "not ") + "exists " + key
    if op in ("gt", "lt"):
        return "%s %s %s" % (key, ">" if op == "gt" else "<", values[0])
    return "%s %s (%s)" % (
        key,
        "in" if op == "in" else "not in",
        ", ".join(_word(v) for v in values),
    )
