# SPDX-License-Identifier: Apache-2.0
"""The nodes of Slurm: lines of ``NodeName`` in ``slurm.conf``, and devices in ``gres.conf``."""
from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from ._base import (
    MAX_AMOUNT, MAX_CPUS, MAX_GPUS, MAX_NODES, ConvertError, Json, Report, add_kind, integer,
    kind_name, name, quote,
)
from ._hostlist import expand, indices
from ._slurm_lines import COUNT_UNITS, Line, Node, gres, megabytes

_NODE_KEYS = {
    "nodename", "cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket",
    "threadspercore", "realmemory", "memspeclimit", "corespeccount", "gres", "feature", "features",
    "state", "weight",
}
_NODE_ASIDE = {
    "nodeaddr", "nodehostname", "port", "reason", "bcastaddr", "tmpdisk", "cpuspeclist", "cpubind",
    "topology", "parameters", "certtoken",
}


class Nodes:
    """Converts nodes: cores, memory, labels, states, devices."""

    def __init__(self, scenario: Json, report: Report) -> None:
        self.scenario = scenario
        self.report = report
        self.nodes: Dict[str, Node] = {}
        #: whether slurm.conf declares nodes; if not, gres.conf does
        self.declared = False

    def add(self, line: Line, keys: Dict[str, Tuple[str, Line]]) -> None:
        self.declared = True
        place = line.place("nodename")
        names = expand(place, line.keys["nodename"], MAX_NODES - len(self.nodes))
        if not names:
            raise ConvertError(place, "no name")
        state = keys["state"][0].upper() if "state" in keys else "UNKNOWN"
        if "FUTURE" in state:
            self.report.warn(keys["state"][1].place("state"), "nodes that are FUTURE are left out")
            return
        plan, resources, sockets, cores = self._node(line, keys, state)
        for node in names:
            if node in self.nodes:
                raise ConvertError(place, "node %s is there twice" % quote(node))
            json: Json = {"name": node, **plan}
            if "labels" in json:
                json["labels"] = dict(json["labels"])
            self.nodes[node] = Node(line, json, resources, sockets, cores)

    def _number(
        self, keys: Dict[str, Tuple[str, Line]], key: str, default: int, least: int = 1
    ) -> int:
        if key not in keys:
            return default
        text, line = keys[key]
        return integer(line.place(key), text, least, MAX_CPUS)

    def _node(self, line: Line, keys: Dict[str, Tuple[str, Line]],
              state: str) -> Tuple[Json, List[Tuple[str, str, int]], int, int]:
        out: Json = {}
        boards = self._number(keys, "boards", 1)
        sockets = self._number(keys, "sockets", boards * self._number(keys, "socketsperboard", 1))
        cores = self._number(keys, "corespersocket", 1)
        threads = self._number(keys, "threadspercore", 1)
        count = (
            self._number(keys, "cpus", self._number(keys, "procs", 0), 0)
            or sockets * cores * threads
        )
        if threads > 1 and count == sockets * cores * threads:
            self.report.warn(keys["threadspercore"][1].place("threadspercore"),
                             "a hardware thread counts as a CPU here as there")
        spared = self._number(keys, "corespeccount", 0, 0) * (
            threads if count == sockets * cores * threads else 1
        )
        if spared >= count and spared:
            raise ConvertError(keys["corespeccount"][1].place("corespeccount"), "leaves no CPU")
        if not 0 < count - spared <= MAX_CPUS:
            raise ConvertError(line.place(), "not a number of CPUs that a node may have")
        out["cpus"] = count - spared
        memory = 1  # Slurm's default
        if "realmemory" in keys:
            memory = megabytes(keys["realmemory"][1].place("realmemory"), keys["realmemory"][0])
        if "memspeclimit" in keys:
            kept = megabytes(keys["memspeclimit"][1].place("memspeclimit"), keys["memspeclimit"][0])
            if kept > memory:
                raise ConvertError(
                    keys["memspeclimit"][1].place("memspeclimit"), "more than RealMemory"
                )
            memory -= kept
        out["mem_mib"] = memory
        for key in ("feature", "features"):
            if key in keys:
                place = keys[key][1].place(key)
                words = [
                    name(place, word.strip(), "feature")
                    for word in keys[key][0].split(",")
                    if word.strip()
                ]
                out["labels"] = {word: "" for word in words if word != "node"}
                if len(words) > 1000:
                    raise ConvertError(place, "more than 1000 features")
                if "node" in words:
                    self.report.warn(
                        place, "a feature called node is left out: that is a node's name"
                    )
        self._state(keys["state"][1] if "state" in keys else line, state, out)
        resources = gres(keys["gres"][1].place("gres"), keys["gres"][0]) if "gres" in keys else []
        if (
            "weight" in keys
            and integer(keys["weight"][1].place("weight"), keys["weight"][0], 0, 2**32) != 1
        ):
            self.report.warn(
                keys["weight"][1].place("weight"), "no counterpart: nodes are taken by policy"
            )
        for key, (_, at) in keys.items():
            if key in _NODE_ASIDE:
                self.report.aside(at.file, at.spelled.get(key, key))
            elif key not in _NODE_KEYS:
                self.report.warn(at.place(key), "no counterpart")
        known = "sockets" in keys or "socketsperboard" in keys or "corespersocket" in keys
        return out, resources, sockets, cores if known else 0

    def _state(self, line: Line, text: str, out: Json) -> None:
        state = re.sub(r"[*~#$!%@^+-]+$", "", text)
        if state in ("DOWN", "FAIL", "ERROR"):
            out["state"] = "down"
        elif state in ("DRAIN", "DRAINED", "DRAINING", "FAILING"):
            out["state"] = "draining"
        elif state == "CLOUD":
            self.report.warn(line.place("state"), "nodes that are CLOUD are taken for up")
        elif state not in ("UNKNOWN", "IDLE", "ALLOC", "ALLOCATED", "MIXED", "RESUME", "UNDRAIN"):
            raise ConvertError(line.place("state"), "not a state of a node: %s" % quote(text))

    # -- gres.conf --

    def read_gres(self, lines: Sequence[Line]) -> None:
        defaults: Dict[str, str] = {}
        for line in lines:
            keys = {**defaults, **line.keys}
            if "nodename" in line.keys and line.keys["nodename"].upper() == "DEFAULT" or (
                    line.get("name", "") or "").upper() == "DEFAULT":
                defaults.update(
                    {k: v for k, v in line.keys.items() if k not in ("nodename", "name")}
                )
                continue
            if "name" not in keys:
                for key in line.keys:
                    self.report.warn(
                        line.place(key),
                        "no counterpart: describe the devices, or read them with hwloc",
                    )
                continue
            self._gres_line(line, keys)

    def _gres_line(self, line: Line, keys: Dict[str, str]) -> None:
        kind = name(line.place("name"), keys["name"]).lower()
        for key in line.keys:
            if key in ("flags", "autodetect", "multiplefiles", "uniqueid"):
                self.report.warn(line.place(key), "no counterpart")
            elif key not in ("name", "type", "file", "count", "cores", "cpus", "links", "nodename"):
                self.report.warn(line.place(key), "no counterpart")
        files = expand(line.place("file"), keys["file"], 4096) if "file" in keys else []
        if "count" in keys:
            match = re.fullmatch(r"([0-9]{1,12})([KMGTkmgt]?)", keys["count"], re.ASCII)
            if not match:
                raise ConvertError(line.place("count"), "not a number: %s" % quote(keys["count"]))
            count = int(match.group(1)) * COUNT_UNITS[match.group(2).lower()]
        else:
            count = len(files) or 1
        if kind != "gpu":
            return  # slurm.conf has their number
        if count > MAX_GPUS:
            raise ConvertError(line.place("count" if "count" in line.keys else "file"),
                               "a node has at most %d GPUs" % MAX_GPUS)
        cores_key = "cores" if "cores" in keys else "cpus"
        cores = indices(line.place(cores_key), keys[cores_key]) if cores_key in keys else []
        links = (
            [integer(line.place("links"), word, -1, 1000) for word in keys["links"].split(",")]
            if keys.get("links")
            else []
        )
        type_ = name(line.place("type"), keys["type"], "type") if keys.get("type") else ""
        names = (
            expand(line.place("nodename"), keys["nodename"])
            if "nodename" in keys
            else list(self.nodes)
        )
        for node in names:
            at = self.nodes.get(node)
            if at is None:
                if self.declared:
                    self.report.warn(
                        line.place("nodename"), "no node %s in slurm.conf" % quote(node)
                    )
                    continue
                at = self.nodes[node] = Node(line, {"name": node}, [], 1, 0)
                if len(self.nodes) > MAX_NODES:
                    raise ConvertError(line.place("nodename"), "more than %d nodes" % MAX_NODES)
            if "nodename" not in keys and self.declared and not any(g[0] == "gpu" for g in at.gres):
                continue
            at.links += [(line.place("links"), links, cores)] * count
            at.types += [type_] * count
            if len(at.links) > MAX_GPUS:
                raise ConvertError(
                    line.place("file"), "node %s has more than %d GPUs" % (quote(node), MAX_GPUS)
                )

    def put_gres(self, node: Node) -> None:
        place = node.line.place("gres" if "gres" in node.line.keys else "")
        models: List[str] = []
        for kind, type_, count in node.gres:
            if kind == "gpu":
                if len(models) + count > MAX_GPUS:
                    raise ConvertError(place, "a node has at most %d GPUs" % MAX_GPUS)
                models += [type_] * count
            elif kind in ("shard", "mps"):
                self.report.warn(
                    place, "%s: no counterpart: tasks request a share of any GPU" % kind
                )
            else:
                key = kind_name(place, kind)
                add_kind(place, self.scenario, key)
                amounts = node.json.setdefault("amounts", {})
                if amounts.get(key, 0) + count > MAX_AMOUNT:
                    raise ConvertError(place, "too many: %s" % kind)
                amounts[key] = amounts.get(key, 0) + count
        if not models and node.types and not node.gres:
            models = list(node.types)
        if not models:
            return
        if node.types and len(node.types) != len(models):
            self.report.warn(place, "node %s has %d GPUs here, %d in gres.conf, which is ignored"
                             % (quote(node.json["name"]), len(models), len(node.types)))
            node.types, node.links = [], []
        elif node.types:
            # One list may leave the types to the other. If both have types, gres.conf gives the
            # order.
            if any(node.types) and (not any(models) or sorted(node.types) == sorted(models)):
                models = list(node.types)
            elif any(node.types) and sorted(node.types) != sorted(models):
                self.report.warn(
                    place,
                    "node %s has other types of GPUs in gres.conf, which are ignored"
                    % quote(node.json["name"]),
                )
        self._put_devices(node, models)

    def _put_devices(self, node: Node, models: List[str]) -> None:
        numas = [self._socket(node, cores) for _, _, cores in node.links]
        if len(set(models)) == 1 and not any(n is not None for n in numas):
            node.json["gpus"] = len(models)
            if models[0]:
                node.json["gpu_model"] = models[0]
        else:
            devices: List[Json] = [{"model": model} if model else {} for model in models]
            for device, numa in zip(devices, numas):
                if numa is not None:
                    device["numa"] = numa
            if any("numa" in d for d in devices):
                node.json["numas"] = [
                    {"package": i, "mem_mib": node.json.get("mem_mib", 0) // node.sockets}
                    for i in range(node.sockets)
                ]
            node.json["devices"] = devices
        links: List[Json] = []
        for a, (place, row, _) in enumerate(node.links):
            if row and len(row) != len(models):
                raise ConvertError(place, "%d numbers for %d GPUs of node %s"
                                   % (len(row), len(models), quote(node.json["name"])))
            for b in range(a + 1, len(row)):
                other = node.links[b][1]
                count = max(row[b], other[a] if len(other) == len(models) else 0)
                if count > 0:
                    links.append({"a": a, "b": b, "type": "nvlink", "bandwidth_mbps": 1000 * count})
        if links:
            node.json["links"] = links

    def _socket(self, node: Node, cores: List[int]) -> Optional[int]:
        """The socket of all cores of a device."""
        if not cores or not node.cores or node.sockets < 2 or node.sockets > 256:
            return None
        found = {core // node.cores for core in cores}
        if len(found) != 1:
            return None
        socket = found.pop()
        return socket if socket < node.sockets else None
