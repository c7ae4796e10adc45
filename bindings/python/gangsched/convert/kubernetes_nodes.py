# SPDX-License-Identifier: Apache-2.0
"""Kubernetes nodes, as ``kubectl get nodes -o json`` (or ``yaml``) prints them.

==============================================  ====================================================
Kubernetes                                      scenario
==============================================  ====================================================
``metadata.name``                               ``nodes[].name``
``status.allocatable`` (else ``capacity``):     ``cpus``, ``mem_mib``, ``max_tasks``
cpu, memory, pods
nvidia.com/gpu, amd.com/gpu,                    ``gpus``
gpu.intel.com/i915
other resources, with whole amounts             ``kinds``, ``amounts``; of ephemeral-storage and
                                                hugepages MiB
``metadata.labels``                             ``labels``
label nvidia.com/gpu.product, gpu.memory        ``gpu_model``, ``gpu_mem_mib``
labels of region and zone, of a Kueue Topology  ``levels``, ``topology``
``spec.unschedulable``                          ``unschedulable``
condition Ready not True                        ``state: down``
==============================================  ====================================================

Taints become warnings: the scenario format has no tolerations.
"""
from __future__ import annotations

from fractions import Fraction
from typing import Any, Dict, List, Sequence, Set

from ._base import (
    MAX_AMOUNT, MAX_GPUS, MAX_MIB, MIB, Json, Report, add_kind, cpus, integer, kind_name, name,
    plain, put_memory, quantity,
)
from ._manifest import At

GPUS = (
    "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi",
)
HOST = "kubernetes.io/hostname"
#: Levels that nodes may have even without a Topology, widest first.
LEVELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def amount(place: str, kind: str, text: Any) -> int:
    """An amount of a kind of the site; bytes become MiB."""
    value = quantity(place, text)
    if kind == "ephemeral-storage" or kind == "storage" or kind.startswith("hugepages-"):
        value = value / MIB
    return integer(place, str(value // 1), 0, MAX_AMOUNT)


def unit(kind: str) -> str:
    """The unit of a kind."""
    return (
        "MiB" if kind in ("ephemeral-storage", "storage") or kind.startswith("hugepages-") else ""
    )


def levels_of(nodes: Sequence[At], topologies: Sequence[At]) -> List[str]:
    """Labels that are topology levels: those of the first Topology, or else those of the nodes."""
    for topology in topologies[1:]:
        topology.report.warn(topology.place, "a second Topology is left out")
    for topology in topologies[:1]:
        out: List[str] = []
        for level in topology.way("spec.levels").items():
            label = name(level.place, level.get("nodeLabel").text(), "level")
            if label != HOST and label not in out:
                out.append(label)
        if len(out) > 16:
            raise topology.fail("more than 16 levels")
        return out
    seen: Set[str] = set()
    for node in nodes:
        seen.update(key for key in node.way("metadata.labels").members() if key in LEVELS)
    return [level for level in LEVELS if level in seen]


class _Node:
    def __init__(self, at: At, levels: Sequence[str], scenario: Json) -> None:
        self.at = at
        self.levels = levels
        self.scenario = scenario

    def convert(self) -> Json:
        meta = self.at.get("metadata")
        out: Json = {"name": name(meta.place + ".name", meta.get("name").value)}
        labels = {name(at.place, key, "label"): plain(at.place, at.text(""), "label")
                  for key, at in meta.get("labels").members().items()}
        if labels.pop("node", None) is not None:
            self.at.report.warn(meta.place + ".labels.node", "left out: that is a node's name")
        self._amounts(out, labels)
        topology = {level: labels[level] for level in self.levels if labels.get(level)}
        if len(labels) > 1000:
            raise meta.get("labels").fail("more than 1000")
        if labels:
            out["labels"] = labels
        if topology:
            out["topology"] = topology
        self._state(out)
        return out

    def _amounts(self, out: Json, labels: Dict[str, str]) -> None:
        status = self.at.get("status")
        whole = status.get("capacity")
        resources = status.get("allocatable") or whole
        status.get("conditions")
        status.done(
            "addresses",
            "daemonEndpoints",
            "images",
            "nodeInfo",
            "volumesAttached",
            "volumesInUse",
            "phase",
            "config",
            "features",
            "runtimeHandlers",
        )
        gpus = 0
        for key, at in resources.members().items():
            if key == "cpu":
                out["cpus"] = cpus(at.place, max(Fraction(0), quantity(at.place, at.value)))
            elif key == "memory":
                put_memory(at.place, out, max(Fraction(0), quantity(at.place, at.value)))
            elif key == "pods":
                out["max_tasks"] = integer(at.place, at.value, 0, MAX_AMOUNT)
            elif key in GPUS:
                gpus += integer(at.place, at.value, 0, MAX_GPUS)
            elif integer(at.place, str(quantity(at.place, at.value) // 1), 0, None):
                add_kind(at.place, self.scenario, kind_name(at.place, key), unit(key) or None)
                out.setdefault("amounts", {})[key] = amount(at.place, key, at.value)
        if gpus > MAX_GPUS:
            raise resources.fail("a node has at most %d GPUs" % MAX_GPUS)
        if gpus:
            out["gpus"] = gpus
            place = "%s.%s" % (self.at.place, "metadata.labels")
            model, memory = labels.get("nvidia.com/gpu.product"), labels.get(
                "nvidia.com/gpu.memory"
            )
            if model:
                out["gpu_model"] = model
            if memory:
                out["gpu_mem_mib"] = integer(place + ".nvidia.com/gpu.memory", memory, 0, MAX_MIB)

    def _state(self, out: Json) -> None:
        spec = self.at.get("spec")
        ready = "True"
        for condition in self.at.way("status.conditions").items():
            if condition.get("type").value == "Ready":
                ready = condition.get("status").text("Unknown")
        if ready != "True":
            out["state"] = "down"
        elif spec.get("unschedulable").flag():
            out["unschedulable"] = True
        for taint in spec.get("taints").items():
            key = taint.get("key").text("")
            if not key.startswith("node.kubernetes.io/"):
                self.at.report.warn(taint.place, "no counterpart: %s" % key)
        spec.get("unschedulable")
        spec.done("podCIDR", "podCIDRs", "providerID", "configSource", "externalID")


def convert(nodes: Sequence[At], topologies: Sequence[At], scenario: Json, _report: Report) -> None:
    """Add nodes and their levels to the scenario."""
    levels = levels_of(nodes, topologies)
    if levels:
        scenario["levels"] = levels
    scenario["nodes"] = [_Node(at, levels, scenario).convert() for at in nodes]
