# SPDX-License-Identifier: Apache-2.0
"""The openb replay of the FGD paper (Weng et al., USENIX ATC 2023) in Python.

The README of the data defines its semantics.
"""

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np

import gangsched as gs

#: Names of the policies in the published tables.
PUBLISHED = {
    "best-fit": "BestFit", "dot-product": "DotProd", "gpu-packing": "GpuPacking",
    "gpu-clustering": "GpuClustering", "fgd": "FGD",
}

#: The load at the end, in per cent of the cluster's GPUs.
LOADS = 131


class Openb:
    """Machines, pods and the order of their arrival."""

    def __init__(self, folder, workload, seed):
        with gzip.open(folder / ("order_%s.json.gz" % workload)) as file:
            order = next(entry for entry in json.load(file) if entry["seed"] == seed)
        with gs.Cluster.from_csv(folder / "openb_node_list_gpu_node.csv") as listed:
            nodes = listed.to_dict()["nodes"]
        # Of equal nodes the search takes the first: add them by rank. A node holds 1001 pods.
        ranked = sorted(zip(order["node_rank"], range(len(nodes))))
        self.nodes = [{**nodes[i], "max_tasks": 1001} for _, i in ranked]
        with gs.Trace.read(folder / ("openb_pod_list_%s.csv.gz" % workload)) as trace:
            self.pods = [kind_of(pod) for pod in trace]
        self.arrivals = order["arrivals"]
        self.capacity = sum(1000 * node.get("gpus", 0) for node in self.nodes)

    def ranked(self):
        """Kinds of pods without their memory, and their numbers: most frequent first, then larger
        first.
        """
        counts = Counter(kind[:1] + kind[2:] for kind in self.pods)
        # the next sort is stable
        by_text = sorted(counts.items(), key=lambda item: "|".join(item[0][3]), reverse=True)
        return sorted(by_text, key=lambda item: (-item[1], -item[0][0], -item[0][2], -item[0][1]))


def kind_of(pod):
    """(milli-cores, MiB, GPUs, milli-GPUs of each, models)"""
    gpu = pod.get("gpu", 0)
    gpus = int(gpu) if gpu >= 1 else pod.get("gpu_devices", 1) if gpu else 0
    milli = min(round(1000 * gpu), 1000)
    return (
        round(1000 * pod.get("cpu", 0)),
        pod.get("mem_mib", 0),
        gpus,
        milli,
        tuple(pod.get("gpu_models", ())),
    )


def shape_of(cpu_milli, gpus, milli, models):
    """One task of a request."""
    made = {"cpu": cpu_milli / 1000, "gpu": gpus if gpus > 1 or milli == 1000 else milli / 1000}
    return {**made, "gpu_models": list(dict.fromkeys(models))} if gpus and models else made


class Fragments:
    """milli-GPUs that are free but useless, averaged over the typical pods by weight."""

    def __init__(self, openb):
        ranked, taken, weight = openb.ranked(), 0, 0
        while taken < len(ranked) and weight * 100 < 95 * len(openb.pods):
            weight += ranked[taken][1]
            taken += 1
        typical = ranked[:taken]
        self.weight = weight
        self.cpu, self.gpus, self.milli = (
            np.array([kind[i] for kind, _ in typical]) for i in range(3)
        )
        self.count = np.array([count for _, count in typical])
        self.allowed = {
            model: np.array([not kind[3] or model in kind[3] for kind, _ in typical])
            for model in {node.get("gpu_model") for node in openb.nodes}
        }

    def of(self, cpu, free, model):
        fits = free[None, :] >= self.milli[:, None]
        usable = (
            (self.gpus > 0)
            & (fits.sum(axis=1) >= self.gpus)
            & (cpu >= self.cpu)
            & self.allowed[model]
        )
        lost = np.where(usable, (free[None, :] * ~fits).sum(axis=1), free.sum())
        return int((self.count * lost).sum())


class Replay:
    """All pods of one order under one policy.

    Attributes
    ----------
    rows
        The node and devices of each arrival, in the form of the published files.
    allocated, rejected, fragmented
        At the end: milli-GPUs, pods, milli-GPUs.
    curves
        Per cent allocated and fragmented, by per cent of load.
    """

    def __init__(self, openb, policy):
        self.rows, self.allocated, self.rejected = [], 0, 0
        arrived, fragments = 0, Fragments(openb)
        cpu = {node["name"]: round(1000 * node["cpus"]) for node in openb.nodes}
        free = {node["name"]: np.full(node.get("gpus", 0), 1000) for node in openb.nodes}
        model = {node["name"]: node.get("gpu_model") for node in openb.nodes}
        lost = {name: fragments.of(cpu[name], free[name], model[name]) for name in cpu}
        total = sum(lost.values())
        sums, counts = np.zeros((2, LOADS)), np.zeros(LOADS)
        requests = {}
        with gs.Cluster(openb.nodes) as cluster:
            cluster.set_mix([{**shape_of(*kind), "count": count} for kind, count in openb.ranked()])
            for seq, at in enumerate(openb.arrivals):
                kind = openb.pods[at]
                cpu_milli, mem_mib, gpus, milli, models = kind
                if kind not in requests:
                    shape = shape_of(cpu_milli, gpus, milli, models)
                    requests[kind] = gs.Request(
                        shape, mem_mib=mem_mib, policy=policy, gpu_nodes="allow"
                    )
                arrived += gpus * milli
                try:
                    task = cluster.allocate(requests[kind]).tasks[0]
                except gs.DoesNotFit:
                    self.rejected += 1
                    self.rows.append("%d,," % seq)
                else:
                    name = task["node"]
                    self.rows.append("%d,%s,%s" % (seq, name, "-".join(map(str, task["devices"]))))
                    self.allocated += gpus * milli
                    cpu[name] -= cpu_milli
                    free[name][task["devices"]] -= milli
                    was, lost[name] = lost[name], fragments.of(cpu[name], free[name], model[name])
                    total += lost[name] - was
                load = round(100 * arrived / openb.capacity)
                if load < LOADS:
                    counts[load] += 1
                    sums[0, load] += round(1e4 * self.allocated / openb.capacity)
                    sums[1, load] += 1e4 * total / fragments.weight / openb.capacity
            cluster.check()
        self.fragmented = round(total / fragments.weight, 2)
        with np.errstate(invalid="ignore"):
            means = np.rint(sums / counts) / 100
        self.curves = [
            [None if np.isnan(value) else float(value) for value in curve] for curve in means
        ]


def published_curve(folder, name, workload, policy, seed):
    """131 numbers; None where the file has none."""
    with gzip.open(Path(folder) / ("expected_%s_discrete.csv.gz" % name), "rt") as file:
        for row in csv.DictReader(file):
            same = row["workload"][len("openb_pod_list_"):] == workload and int(row["seed"]) == seed
            if same and row["sc_policy"].split("-", 1)[1] == PUBLISHED[policy]:
                return [float(row[str(i)]) if row[str(i)] else None for i in range(LOADS)]
    raise LookupError((name, workload, policy, seed))
