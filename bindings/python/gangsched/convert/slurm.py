# SPDX-License-Identifier: Apache-2.0
"""Slurm's ``slurm.conf``, ``gres.conf`` and ``topology.conf``.

============================================  ======================================================
Slurm                                         scenario
============================================  ======================================================
``NodeName`` (ranges, DEFAULT)                ``nodes[].name``
``CPUs``, or ``Boards`` x ``Sockets`` x       ``cpus``: what Slurm counts as CPUs, less
``CoresPerSocket`` x ``ThreadsPerCore``       ``CoreSpecCount``
``RealMemory`` - ``MemSpecLimit``             ``mem_mib``
``Sockets``                                   ``numas``, where ``Cores`` of a device names some
``Gres`` = gpu:TYPE:N                         ``gpus``, ``gpu_model``; ``devices`` where they differ
``Gres`` = other:N                            ``kinds``, ``amounts``
``gres.conf`` ``Links``, ``Cores``            ``links`` (1000 MB/s for each), ``devices[].numa``
``Feature``                                   ``labels``, without a value
``State``                                     ``state``; nodes that are FUTURE are left out
``PartitionName``, ``Nodes``                  ``partitions``, of nodes, too; a queue of the same
                                              name: a job goes in the queue, its tasks ask for the
                                              partition
``PriorityTier`` (1)                          ``priority``: fair shares by tier, as all is left over
``PreemptType`` = preempt/partition_prio      ``reclaim: any``; otherwise ``never``
``PreemptMode``                               ``preempt_mode``; OFF: ``no_preemption``
``OverSubscribe`` = FORCE:n with GANG         ``quantum_s`` (``SchedulerTimeSlice``),
                                              ``quantum_rows``
``GraceTime``, ``PreemptExemptTime``          ``grace_s``, ``min_runtime_s``
``MaxTime``, ``DefaultTime``                  ``max_time_limit_s``, ``default_time_limit_s``
``NodeSet``                                   the nodes that it names, or that have its feature
``State`` of a partition                      ``state``
``AllowGroups``                               ``submit_acl``
``Default`` = YES                             ``default_queue``
``PriorityType``                              ``order: priority`` (multifactor) or ``fifo`` (basic)
``SchedulerType`` = sched/backfill (default)  ``backfill: conservative``, ``plan_depth`` =
                                              ``bf_max_job_test``
``SchedulerType`` = sched/builtin             ``block: strict``
``PriorityDecayHalfLife``                     ``half_life_s``, with ``PriorityWeightFairshare``
``Licenses``                                  ``kinds`` of the cluster
``SwitchName``                                ``levels`` switchN ... switch1, ``topology`` of nodes
``BlockName``, ``BlockSizes``                 ``levels`` block, blocks of larger sizes before it
============================================  ======================================================

Limits of accounts and QOS are in Slurm's database, not in these files. Everything else becomes a
warning.
"""
from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from ._base import (MAX_AMOUNT, MAX_CPUS, MAX_GPUS, MAX_NODES, MAX_SECONDS, ConvertError, Json, Part, Report,
                    Source, add_kind, boolean, integer, kind_name, name, number, quote, seconds)
from ._hostlist import expand, indices
from ._slurm_lines import COUNT_UNITS, Line, Node, gres, megabytes, minutes, read_lines
from ._slurm_topology import Topology
from ._yarn import acl

#: The file of a line, by its first key.
_OF_FILE = {"switchname": "topology", "blockname": "topology", "blocksizes": "topology"}

_NODE_KEYS = {"nodename", "cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore",
              "realmemory", "memspeclimit", "corespeccount", "gres", "feature", "features", "state", "weight"}
_NODE_ASIDE = {"nodeaddr", "nodehostname", "port", "reason", "bcastaddr", "tmpdisk", "cpuspeclist", "cpubind",
               "topology", "parameters", "certtoken"}
_PARTITION_KEYS = {"partitionname", "nodes", "prioritytier", "preemptmode", "maxtime", "defaulttime", "state",
                   "allowgroups", "default", "gracetime", "oversubscribe", "shared", "priority"}
_GLOBAL_ASIDE = re.compile(
    r"(auth|cred|crypto|slurm|job(?!requeue)|log|mail|mcs|mpi|plugin|proctrack|prolog|epilog|switch|task|state|"
    r"control|backup|cluster|accounting|acct|debug|disable|ext|first|get|group|health|hash|http|inactive|interactive|"
    r"keep|launch|message|min(?!jobage)|plug|private|propagate|reboot|return|route|srun|statesave|tcp|tmp|track|tree|"
    r"unkillable|use|vsize|wait|x11|core|comm|cli_|dependency|node(?!name)|power|resume|suspend|resv|requeue|"
    r"sched(?!uler)|lua|certmgr|namespace|data|nss|rebootprogram|topologyplugin|batch|killwait|max(?!job|array)|gpu)")


class _Converter:
    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        self.report = report
        self.file = sources[0].name
        self.nodes: Dict[str, Node] = {}
        self.scenario: Json = {}
        self.globals: Dict[str, Line] = {}
        self.partitions: List[Tuple[Line, Dict[str, Tuple[str, Line]]]] = []
        self.gres_lines: List[Line] = []
        self.switch_lines: List[Line] = []
        self.node_lines = False
        self.used: Set[str] = set()
        self.sets: Dict[str, Line] = {}
        node_defaults: Dict[str, Tuple[str, Line]] = {}
        part_defaults: Dict[str, Tuple[str, Line]] = {}
        for source in sources:
            lines = read_lines(source, report)
            is_gres = source.form == "gres" or looks_like(source.text) == "gres"
            for line in lines:
                first = next(iter(line.keys))
                if is_gres:
                    self.gres_lines.append(line)
                elif first in _OF_FILE:
                    self.switch_lines.append(line)
                elif first == "nodename":
                    self._take(line, node_defaults, self._add_nodes)
                elif first == "partitionname":
                    self._take(line, part_defaults, self._add_partition)
                elif first == "nodeset":
                    self.sets[line.keys[first]] = line
                elif first in ("downnodes", "frontendname"):
                    report.warn(line.place(first), "no counterpart")
                else:
                    for key in line.keys:
                        self.globals[key] = line

    def _take(self, line: Line, defaults: Dict[str, Tuple[str, Line]], add: Any) -> None:
        """A line with names, completed by the defaults before it."""
        first = next(iter(line.keys))
        own = {key: (value, line) for key, value in line.keys.items()}
        if line.keys[first].upper() == "DEFAULT":
            defaults.update({key: value for key, value in own.items() if key != first})
            return
        add(line, {**defaults, **own})

    # -- settings for all --

    def setting(self, key: str, default: str = "") -> str:
        self.used.add(key)
        line = self.globals.get(key)
        return (line.get(key, default) or default) if line else default

    def place(self, key: str) -> str:
        line = self.globals.get(key)
        return line.place(key) if line else "%s: %s" % (self.file, key)

    def parameter(self, key: str) -> Optional[str]:
        """A word of SchedulerParameters."""
        for word in self.setting("schedulerparameters").split(","):
            left, equals, right = word.strip().partition("=")
            if left == key:
                return right if equals else ""
        return None

    # -- nodes --

    def _add_nodes(self, line: Line, keys: Dict[str, Tuple[str, Line]]) -> None:
        self.node_lines = True
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

    def _number(self, keys: Dict[str, Tuple[str, Line]], key: str, default: int, least: int = 1) -> int:
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
        count = self._number(keys, "cpus", self._number(keys, "procs", 0), 0) or sockets * cores * threads
        if threads > 1 and count == sockets * cores * threads:
            self.report.warn(keys["threadspercore"][1].place("threadspercore"),
                             "a hardware thread counts as a CPU here as there")
        spared = self._number(keys, "corespeccount", 0, 0) * (threads if count == sockets * cores * threads else 1)
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
                raise ConvertError(keys["memspeclimit"][1].place("memspeclimit"), "more than RealMemory")
            memory -= kept
        out["mem_mib"] = memory
        for key in ("feature", "features"):
            if key in keys:
                place = keys[key][1].place(key)
                words = [name(place, word.strip(), "feature") for word in keys[key][0].split(",") if word.strip()]
                out["labels"] = {word: "" for word in words if word != "node"}
                if len(words) > 1000:
                    raise ConvertError(place, "more than 1000 features")
                if "node" in words:
                    self.report.warn(place, "a feature called node is left out: that is a node's name")
        self._state(keys["state"][1] if "state" in keys else line, state, out)
        resources = gres(keys["gres"][1].place("gres"), keys["gres"][0]) if "gres" in keys else []
        if "weight" in keys and integer(keys["weight"][1].place("weight"), keys["weight"][0], 0, 2 ** 32) != 1:
            self.report.warn(keys["weight"][1].place("weight"), "no counterpart: nodes are taken by policy")
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

    def _read_gres(self) -> None:
        defaults: Dict[str, str] = {}
        for line in self.gres_lines:
            keys = {**defaults, **line.keys}
            if "nodename" in line.keys and line.keys["nodename"].upper() == "DEFAULT" or (
                    line.get("name", "") or "").upper() == "DEFAULT":
                defaults.update({k: v for k, v in line.keys.items() if k not in ("nodename", "name")})
                continue
            if "name" not in keys:
                for key in line.keys:
                    self.report.warn(line.place(key), "no counterpart: describe the devices, or read them with hwloc")
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
        links = [integer(line.place("links"), word, -1, 1000) for word in keys["links"].split(",")] if keys.get(
            "links") else []
        type_ = name(line.place("type"), keys["type"], "type") if keys.get("type") else ""
        names = expand(line.place("nodename"), keys["nodename"]) if "nodename" in keys else list(self.nodes)
        for node in names:
            at = self.nodes.get(node)
            if at is None:
                if self.node_lines:
                    self.report.warn(line.place("nodename"), "no node %s in slurm.conf" % quote(node))
                    continue
                at = self.nodes[node] = Node(line, {"name": node}, [], 1, 0)
                if len(self.nodes) > MAX_NODES:
                    raise ConvertError(line.place("nodename"), "more than %d nodes" % MAX_NODES)
            if "nodename" not in keys and self.node_lines and not any(g[0] == "gpu" for g in at.gres):
                continue
            at.links += [(line.place("links"), links, cores)] * count
            at.types += [type_] * count
            if len(at.links) > MAX_GPUS:
                raise ConvertError(line.place("file"), "node %s has more than %d GPUs" % (quote(node), MAX_GPUS))

    def _put_gres(self, node: Node) -> None:
        place = node.line.place("gres" if "gres" in node.line.keys else "")
        models: List[str] = []
        for kind, type_, count in node.gres:
            if kind == "gpu":
                if len(models) + count > MAX_GPUS:
                    raise ConvertError(place, "a node has at most %d GPUs" % MAX_GPUS)
                models += [type_] * count
            elif kind in ("shard", "mps"):
                self.report.warn(place, "%s: no counterpart: tasks ask for a share of any GPU" % kind)
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
                self.report.warn(place, "node %s has other types of GPUs in gres.conf, which are ignored"
                                 % quote(node.json["name"]))
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
                node.json["numas"] = [{"package": i, "mem_mib": node.json.get("mem_mib", 0) // node.sockets}
                                      for i in range(node.sockets)]
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

    # -- partitions --

    def _add_partition(self, line: Line, keys: Dict[str, Tuple[str, Line]]) -> None:
        self.partitions.append((line, keys))

    def _put_partitions(self) -> None:
        seen: Dict[str, Line] = {}
        for line, keys in self.partitions:
            place = line.place("partitionname")
            partition = name(place, line.keys["partitionname"], "partition")
            if partition in seen:
                raise ConvertError(place, "partition %s is there twice" % quote(partition))
            seen[partition] = line
            self._put_nodes(partition, keys)
            self.scenario.setdefault("partitions", []).append({"name": partition})
            self.scenario.setdefault("queues", []).append(self._queue(partition, line, keys))
        tiers: Dict[int, List[str]] = {}
        for queue in self.scenario.get("queues", []):
            tiers.setdefault(queue["priority"], []).append(queue["name"])
        for names in tiers.values():
            if len(names) > 1:
                text = "have one PriorityTier: they take turns by fair share, in Slurm by the priority of jobs"
                if any(q.get("reclaim") == "any" for q in self.scenario["queues"]):
                    text += "; and they may preempt jobs above their share, in Slurm they may not"
                self.report.warn("%s: PartitionName" % self.file, "%s %s" % (", ".join(names[:5]), text))

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
                out += [n for n in self.nodes if feature in self.nodes[n].json.get("labels", {})] if feature else []
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
                raise ConvertError(place, "partition %s is the default, too" % quote(self.scenario["default_queue"]))
            self.scenario["default_queue"] = partition
        for key, (_, at) in keys.items():
            if key not in _PARTITION_KEYS:
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
        exempt = self.setting("preemptexempttime", "-1")
        spared = None if exempt == "-1" else minutes(self.place("preemptexempttime"), exempt)
        if spared:
            out["min_runtime_s"] = seconds(self.place("preemptexempttime"), spared)

    def _preempt(self, value: Any, out: Json) -> None:
        kind = self.setting("preempttype", "preempt/none").lower()
        if kind not in ("preempt/none", "preempt/partition_prio", "preempt/qos"):
            raise ConvertError(self.place("preempttype"), "not a PreemptType: %s" % quote(kind))
        if kind == "preempt/qos":
            self.report.warn(self.place("preempttype"), "QOS are not in these files; nothing is preempted")
        by_tier = kind == "preempt/partition_prio"
        everywhere = self.setting("preemptmode", "OFF")
        text, place = value("preemptmode", everywhere)
        words = {word.strip().upper() for word in text.split(",") if word.strip()}
        gang = "GANG" in {word.strip().upper() for word in everywhere.split(",")}
        unknown = words - {"OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "WITHIN", "PRIORITY"}
        if unknown:
            raise ConvertError(place, "not a PreemptMode: %s" % quote(sorted(unknown)[0]))
        out["within"] = "lower" if "WITHIN" in words and by_tier else "never"
        out["reclaim"] = "any" if by_tier else "never"
        if by_tier and ("OFF" in words or words <= {"GANG", "WITHIN"}):
            out["no_preemption"] = True
        sliced = self._slices(value, gang, out)
        for word, mode in (("CANCEL", "cancel"), ("SUSPEND", "suspend")):
            if word in words and by_tier:
                if mode == "suspend" and sliced:
                    self.report.warn(place, "suspends no job where gangs take turns: preempted jobs are requeued")
                else:
                    out["preempt_mode"] = mode

    def _slices(self, value: Any, gang: bool, out: Json) -> bool:
        text, place = value("oversubscribe", value("shared", "NO")[0])
        word, _, count = text.upper().partition(":")
        if word not in ("NO", "YES", "FORCE", "EXCLUSIVE"):
            raise ConvertError(place, "not a value of OverSubscribe: %s" % quote(text))
        rows = integer(place, count, 1, 65535) if count else 4
        if word == "EXCLUSIVE":
            self.report.warn(place, "EXCLUSIVE: let jobs say `exclusive`")
        elif word == "YES" and rows > 1:
            self.report.warn(place, "YES: no counterpart: jobs only share what they request to share")
        elif word == "FORCE" and rows > 1 and not gang:
            self.report.warn(place, "FORCE without gang scheduling: no counterpart")
        elif word == "FORCE" and rows > 1:
            out["quantum_s"] = seconds(self.place("schedulertimeslice"), number(
                self.place("schedulertimeslice"), self.setting("schedulertimeslice", "30"), 1, 65533))
            out["quantum_rows"] = rows
            return True
        return False

    def _order(self, out: Json) -> None:
        kind = self.setting("prioritytype", "priority/multifactor").lower()
        if kind == "priority/basic":
            out["order"] = "fifo"
        elif kind != "priority/multifactor":
            self.report.warn(self.place("prioritytype"), "no counterpart: jobs go by priority, then age")
        kind = self.setting("schedulertype", "sched/backfill").lower()
        if kind == "sched/builtin":
            out["block"] = "strict"
            return
        if kind != "sched/backfill":
            raise ConvertError(self.place("schedulertype"), "not a SchedulerType: %s" % quote(kind))
        if "quantum_s" in out:
            self.report.warn(self.place("schedulertype"), "no backfill where gangs take turns")
            return
        out["backfill"] = "conservative"
        text = self.parameter("bf_max_job_test")
        out["plan_depth"] = integer(self.place("schedulerparameters"), text or "500", 1, 10 ** 6)

    # -- all of it --

    def _settings(self) -> None:
        for word in self.setting("licenses").split(","):
            kind, _, count = word.strip().replace("*", ":").partition(":")
            if kind:
                place = self.place("licenses")
                add_kind(place, self.scenario, kind_name(place, kind), None,
                         integer(place, count or "1", 0, MAX_AMOUNT))
        if self.setting("priorityweightfairshare", "0") not in ("", "0"):
            half = minutes(self.place("prioritydecayhalflife"), self.setting("prioritydecayhalflife", "7-0"))
            if half:
                self.scenario["half_life_s"] = seconds(self.place("prioritydecayhalflife"), half)
            self.report.warn(self.place("priorityweightfairshare"),
                             "usage counts by half-life; jobs state their priority, which no factor changes")
        for word in self.setting("schedulerparameters").split(","):
            key = word.strip().partition("=")[0]
            if key and key != "bf_max_job_test":
                self.report.warn("%s: %s" % (self.place("schedulerparameters"), key),
                                 "not needed: starts are planned at exact times" if key.startswith("bf_") else
                                 "no counterpart")
        for key, line in self.globals.items():
            if key in self.used:
                continue
            if key == "priorityweightfairshare" or not _GLOBAL_ASIDE.match(key):
                self.report.warn(line.place(key), "no counterpart")
            else:
                self.report.aside(line.file, line.spelled[key])

    def convert(self) -> Part:
        self._read_gres()
        Topology(self.switch_lines, self.nodes, bool(self.node_lines), self.scenario, self.report).convert()
        for node in self.nodes.values():
            self._put_gres(node)
        self._put_partitions()
        self._settings()
        if self.nodes:
            self.scenario["nodes"] = [node.json for node in self.nodes.values()]
        licences = {kind["name"] for kind in self.scenario.get("kinds", []) if "scope" in kind}
        for node in self.nodes.values():
            if licences & set(node.json.get("amounts", ())):
                raise ConvertError(node.line.place("gres"), "a resource of nodes has the name of a licence")
        if not self.scenario:
            raise ConvertError(self.file, "no nodes, partitions or switches")
        return Part(self.scenario)


def looks_like(text: str) -> Optional[str]:
    """Which file the text is: slurm, gres or topology."""
    plain = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    if re.search(r"(?im)^\s*(SwitchName|BlockName)\s*=", plain):
        return "topology"
    if re.search(r"(?im)^\s*(PartitionName|ClusterName|SlurmctldHost|ControlMachine|SchedulerType|SelectType|"
                 r"NodeName\s*=\s*\S+(?!.*\bName\s*=))\s*=?", plain):
        return "slurm"
    if re.search(r"(?im)^\s*(NodeName\s*=\s*\S+.*\s)?(Name|AutoDetect)\s*=", plain):
        return "gres"
    if re.search(r"(?im)^\s*[A-Za-z][A-Za-z0-9_]*\s*=", plain) and not re.search(r"[{<]", plain):
        return "slurm"
    return None


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert those of ``slurm.conf``, ``gres.conf`` and ``topology.conf`` that are given."""
    return _Converter(sources, report).convert()
