# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests, YAML or JSON, of any of the kinds below, in any number of files.

* nodes, and Topology of Kueue: :mod:`gangsched.convert.kubernetes_nodes`
* ClusterQueue, Cohort, ResourceFlavor, LocalQueue of Kueue, Queue of Volcano:
  :mod:`gangsched.convert.kubernetes_queues`
* PodGroup, Volcano Job, TFJob, PyTorchJob, MPIJob, XGBoostJob, PaddleJob, JAXJob, Job, Pod,
  PriorityClass: :mod:`gangsched.convert.kubernetes_jobs`

Objects of other kinds become warnings. YAML needs PyYAML.
"""
from __future__ import annotations

from typing import Dict, List, Sequence

from . import kubernetes_jobs, kubernetes_nodes, kubernetes_queues
from ._base import Json, Part, Report, Source
from ._manifest import At, load

_TRAINING = ("TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "MXJob", "JAXJob")
_KINDS = (
    "Node", "Topology", "ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue", "PodGroup", "Pod",
    "PriorityClass", "WorkloadPriorityClass",
)


def _sort(at: At, objects: Dict[str, List[At]], report: Report) -> None:
    kind, version = at.get("kind").text(), at.get("apiVersion").text("")
    if kind in _TRAINING:
        kind = "TrainingJob"
    elif kind == "Job":
        kind = "VolcanoJob" if version.startswith("batch.volcano.sh/") else "Job"
    elif kind == "Queue" and "volcano" in version:
        kind = "VolcanoQueue"
    elif kind not in _KINDS:
        report.warn(at.get("kind").place, "no counterpart: %s" % kind[:80])
        return
    objects.setdefault(kind, []).append(at)


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert manifests."""
    objects: Dict[str, List[At]] = {}
    for source in sources:
        for at in load(source, report):
            _sort(at, objects, report)
    scenario: Json = {}
    if objects.get("Node") or objects.get("Topology"):
        kubernetes_nodes.convert(
            objects.get("Node", []), objects.get("Topology", []), scenario, report
        )
    kueue = kubernetes_queues.kueue(objects.get("ClusterQueue", []), objects.get("Cohort", []),
                                    objects.get("ResourceFlavor", []), scenario, report)
    kubernetes_queues.volcano(objects.get("VolcanoQueue", []), scenario, report)
    names = [queue["name"] for queue in scenario.get("queues", [])]
    for at in objects.get("ClusterQueue", []) + objects.get("VolcanoQueue", []):
        if names.count(at.way("metadata.name").value) > 1:
            raise at.fail("a queue of this name is there twice")
    jobs = kubernetes_jobs.convert(objects, scenario, report)

    def finish(merged: Json, _report: Report) -> None:
        kueue.nodes(merged)
        jobs.place(merged)
        jobs.flavors(kueue.only_flavor)
    return Part(scenario, [finish])
