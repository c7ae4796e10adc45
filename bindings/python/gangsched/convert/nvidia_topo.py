# SPDX-License-Identifier: Apache-2.0
"""The matrix that ``nvidia-smi topo -m`` prints.

===========================  =======================================================================
nvidia-smi                   scenario
===========================  =======================================================================
NV#                          ``links`` of type nvlink, 1000 MB/s for each of the #, so that sets
                             compare by numbers of links; ``gpu_locality`` 4
PIX, PXB                     ``gpu_locality`` 3; devices joined by PIX have one ``pcie`` number
PHB, NODE                    ``gpu_locality`` 2: one NUMA domain
SYS (SOC)                    ``gpu_locality`` 0
CPU Affinity, NUMA Affinity  ``numas``, ``devices[].numa``; the CPUs named are ``cpus``
NIC#, mlx5_#                 ``nics``, with the NUMA domain of the GPUs near them
===========================  =======================================================================

Beside other inputs, the devices of every node that has as many GPUs are described; alone, one node
is made.
"""
from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from ._base import MAX_GPUS, ConvertError, Json, Part, Report, Source, name, quote
from ._hostlist import indices

_NEAR = {"X": 0, "PIX": 3, "PXB": 3, "PHB": 2, "NODE": 2, "SYS": 0, "SOC": 0}
#: Escape sequences that colour the heading.
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"NV([0-9]{1,3})", re.ASCII)


class _Matrix:
    def __init__(self, source: Source, report: Report) -> None:
        self.file = source.name
        self.report = report
        self.columns: List[str] = []
        self.rows: Dict[str, Tuple[int, List[str]]] = {}
        self.affinity: Dict[str, Dict[str, str]] = {}
        self.legend: Dict[str, str] = {}
        self._read(source.text)
        self.gpus = [word for word in self.columns if re.fullmatch(r"GPU[0-9]+", word, re.ASCII)]
        if not self.gpus:
            raise ConvertError(self.file, "no line that begins with GPU0")
        if len(self.gpus) > MAX_GPUS:
            raise ConvertError(self.file, "a node has at most %d GPUs" % MAX_GPUS)

    def _read(self, text: str) -> None:
        extra: List[str] = []
        tabs = False
        for count, raw in enumerate(text.split("\n"), 1):
            line = COLOURS.sub("", raw).rstrip()
            words = line.split()
            if not words:
                continue
            if not self.columns:
                if words[0] == "GPU0":
                    tabs = "\t" in line
                    heads = (
                        [w.strip() for w in line.split("\t") if w.strip()]
                        if tabs
                        else re.split(
                            r"\s{2,}",
                            re.sub(r"\s+(?=(CPU|NUMA|GPU NUMA) (Affinity|ID))", "  ", line.strip()),
                        )
                    )
                    self._head(count, heads, extra)
                continue
            if words[0] in self.columns:
                self._row(count, line, words, extra, tabs)
            elif re.fullmatch(r"(NIC[0-9]+):", words[0], re.ASCII) and len(words) == 2:
                self.legend[words[0][:-1]] = words[1]

    def _head(self, count: int, heads: Sequence[str], extra: List[str]) -> None:
        for word in heads:
            for piece in [word] if "ffinity" in word or "NUMA" in word else word.split():
                if "ffinity" in piece or "NUMA" in piece:
                    extra.append(" ".join(piece.split()))
                elif extra:
                    raise ConvertError(
                        "%s:%d" % (self.file, count), "not a column: %s" % quote(piece)
                    )
                else:
                    self.columns.append(name("%s:%d" % (self.file, count), piece, "column"))
        if len(set(self.columns)) != len(self.columns) or len(self.columns) > 1000:
            raise ConvertError(
                "%s:%d" % (self.file, count), "a column is there twice, or there are too many"
            )

    def _row(
        self, count: int, line: str, words: List[str], extra: Sequence[str], tabs: bool
    ) -> None:
        place = "%s:%d" % (self.file, count)
        if words[0] in self.rows:
            raise ConvertError(place, "%s is there twice" % words[0])
        cells = words[1:1 + len(self.columns)]
        if len(cells) < len(self.columns):
            raise ConvertError(place, "%d columns for %d" % (len(cells), len(self.columns)))
        for cell in cells:
            if cell not in _NEAR and not _LINK.fullmatch(cell):
                raise ConvertError(place, "not a connection: %s" % quote(cell))
        self.rows[words[0]] = (count, cells)
        rest = words[1 + len(self.columns):]
        if tabs and extra:
            fields = [w.strip() for w in line.split("\t")]
            fields = fields[1 + len(self.columns):]
            rest = [f for f in fields][:len(extra)]
        self.affinity[words[0]] = dict(zip(extra, rest))

    def cell(self, a: str, b: str) -> str:
        """The connection of two devices; both halves of the matrix must agree."""
        row = self.rows.get(a)
        if row is None:
            raise ConvertError(self.file, "no line for %s" % a)
        found = row[1][self.columns.index(b)]
        if b in self.rows and self.rows[b][1][self.columns.index(a)] != found:
            raise ConvertError(
                "%s:%d" % (self.file, row[0]),
                "%s and %s: %s here, %s in the other line"
                % (a, b, found, self.rows[b][1][self.columns.index(a)]),
            )
        if (a == b) != (found == "X"):
            raise ConvertError("%s:%d" % (self.file, row[0]), "%s and %s: %s" % (a, b, found))
        return found

    # -- what it comes to --

    def links(self) -> List[Json]:
        out: List[Json] = []
        for i, a in enumerate(self.gpus):
            for j in range(i + 1, len(self.gpus)):
                match = _LINK.fullmatch(self.cell(a, self.gpus[j]))
                if match and int(match.group(1)):
                    out.append(
                        {
                            "a": i,
                            "b": j,
                            "type": "nvlink",
                            "bandwidth_mbps": 1000 * int(match.group(1)),
                        }
                    )
        return out

    def locality(self) -> List[str]:
        return ["".join(str(_NEAR.get(self.cell(a, b), 4)) for b in self.gpus) for a in self.gpus]

    def numa(self, device: str) -> Optional[int]:
        text = self.affinity.get(device, {}).get("NUMA Affinity", "N/A")
        if not re.fullmatch(r"[0-9]{1,4}", text, re.ASCII):
            return None
        return int(text)

    def cpus(self) -> int:
        found = set()
        for device in self.gpus:
            text = self.affinity.get(device, {}).get("CPU Affinity", "")
            if text and text != "N/A":
                found.update(indices("%s:%d" % (self.file, self.rows[device][0]), text))
        return len(found)

    def switches(self) -> Dict[str, int]:
        """Devices and network cards joined by PIX, by the number of their switch, from 1."""
        around: Dict[str, str] = {word: word for word in self.columns}

        def top(word: str) -> str:
            while around[word] != word:
                word = around[word]
            return word
        for a in self.columns:
            for b in self.columns:
                if a in self.rows and a != b and self.cell(a, b) == "PIX":
                    around[top(a)] = top(b)
        groups: Dict[str, List[str]] = {}
        for word in self.columns:
            groups.setdefault(top(word), []).append(word)
        numbers: Dict[str, int] = {}
        for group in groups.values():
            if len(group) > 1:
                numbers.update({word: max(numbers.values(), default=0) + 1 for word in group})
        return numbers

    def describe(self) -> Json:
        """The members of a node."""
        domains = sorted({n for n in (self.numa(gpu) for gpu in self.gpus) if n is not None})
        numbers = self.switches()
        devices: List[Json] = []
        for gpu in self.gpus:
            device: Json = {}
            numa = self.numa(gpu)
            if numa is not None:
                device["numa"] = domains.index(numa)
            if gpu in numbers:
                device["pcie"] = numbers[gpu]
            devices.append(device)
        out: Json = {"devices": devices, "gpu_locality": self.locality()}
        links = self.links()
        if links:
            out["links"] = links
        if domains:
            out["numas"] = [{"os_index": n} for n in domains]
        nics = [word for word in self.columns if word not in self.gpus]
        if nics:
            out["nics"] = [self._nic(word, domains) for word in nics]
        return out

    def _nic(self, word: str, domains: List[int]) -> Json:
        out: Json = {"name": name(self.file, self.legend.get(word, word))}
        near = [gpu for gpu in self.gpus if self.cell(gpu, word) in ("PIX", "PXB", "PHB", "NODE")]
        numas = {self.numa(gpu) for gpu in near} - {None}
        if len(numas) == 1:
            out["numa"] = domains.index(numas.pop() or 0)
        return out


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert one matrix."""
    if len(sources) != 1:
        raise ConvertError(sources[1].name, "a second matrix")
    matrix = _Matrix(sources[0], report)
    described = matrix.describe()
    count = len(matrix.gpus)

    def finish(scenario: Json, report_: Report) -> None:
        nodes = scenario.get("nodes", [])
        alike = [node for node in nodes if node.get("gpus", len(node.get("devices", []))) == count]
        for node in alike:
            _apply(node, described)
        if alike:
            return
        if nodes:
            report_.warn(matrix.file, "no node has %d GPUs: nothing is described" % count)
            return
        node = {"name": "node0", **described}
        if matrix.cpus():
            node["cpus"] = matrix.cpus()
            report_.warn(matrix.file, "a hardware thread counts as a CPU")
        scenario.setdefault("nodes", []).append(node)
    return Part({}, [finish])


def _apply(node: Json, described: Json) -> None:
    """Describe the devices of a node; members that it already has stay."""
    model, memory = node.pop("gpu_model", None), {
        k: node.pop(k) for k in ("gpu_mem_mib", "gpu_mem_bytes") if k in node
    }
    had: List[Json] = node.pop("devices", [{} for _ in described["devices"]])
    node.pop("gpus", None)
    devices = []
    for old, new in zip(had, described["devices"]):
        device = {
            **({"model": model} if model else {}),
            **{k[4:]: v for k, v in memory.items()},
            **old,
        }
        if "numas" in described:
            device.pop("numa", None)
        devices.append({**device, **new})
    for key in ("links", "gpu_locality"):
        node.pop(key, None)
    node.update({**described, "devices": devices})
