# SPDX-License-Identifier: Apache-2.0
"""Slurm's ``topology.conf``: switches or blocks as levels of the scenario."""
from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from ._base import MAX_NODES, ConvertError, Json, Report, integer, quote
from ._hostlist import expand
from ._slurm_lines import Line, Node


class Topology:
    """Converts the lines of ``topology.conf``.

    Parameters
    ----------
    nodes
        The nodes of slurm.conf, by name.
    known
        False: there is no slurm.conf, so that this file adds the nodes.
    """

    def __init__(
        self, lines: List[Line], nodes: Dict[str, Node], known: bool, scenario: Json, report: Report
    ) -> None:
        self.lines = lines
        self.nodes = nodes
        self.known = known
        self.scenario = scenario
        self.report = report

    def convert(self) -> None:
        """Add the levels, and the place of each node."""
        switches: Dict[str, Line] = {}
        blocks: List[Tuple[str, Line]] = []
        sizes: Optional[Line] = None
        for line in self.lines:
            first = next(iter(line.keys))
            if first == "blocksizes":
                sizes = line
                continue
            names = expand(line.place(first), line.keys[first])
            if len(names) != 1:
                raise ConvertError(line.place(first), "not one name: %s" % quote(line.keys[first]))
            if names[0] in switches or any(names[0] == b for b, _ in blocks):
                raise ConvertError(line.place(first), "%s is there twice" % quote(names[0]))
            if first == "switchname":
                switches[names[0]] = line
            else:
                blocks.append((names[0], line))
            for key in set(line.keys) - {first, "nodes", "switches"}:
                self.report.warn(line.place(key), "no counterpart")
        if switches and blocks:
            raise ConvertError(self.lines[0].place(), "both switches and blocks")
        if switches:
            self._put_switches(switches)
        elif blocks:
            self._put_blocks(blocks, sizes)

    def _node_at(self, line: Line, node: str) -> Optional[Json]:
        if node in self.nodes:
            return self.nodes[node].json
        if self.known:
            self.report.warn(line.place("nodes"), "no node %s in slurm.conf" % quote(node))
            return None
        if len(self.nodes) >= MAX_NODES:
            raise ConvertError(line.place("nodes"), "more than %d nodes" % MAX_NODES)
        self.nodes[node] = Node(line, {"name": node}, [], 1, 0)
        return self.nodes[node].json

    def _put_switches(self, switches: Dict[str, Line]) -> None:
        parent: Dict[str, str] = {}
        for switch, line in switches.items():
            for below in expand(line.place("switches"), line.get("switches") or ""):
                if below not in switches:
                    raise ConvertError(line.place("switches"), "no switch %s" % quote(below))
                if below in parent:
                    raise ConvertError(line.place("switches"),
                                       "%s is below %s, too" % (quote(below), quote(parent[below])))
                parent[below] = switch
        height = self._heights(switches, parent)
        depth = max(height.values())
        if depth > 16:
            raise ConvertError(self.lines[0].place(), "more than 16 levels of switches")
        self.scenario["levels"] = ["switch%d" % level for level in range(depth, 0, -1)]
        for switch, line in switches.items():
            path = {}
            at: Optional[str] = switch
            while at is not None:
                path["switch%d" % height[at]] = at
                at = parent.get(at)
            for node in expand(line.place("nodes"), line.get("nodes") or ""):
                json = self._node_at(line, node)
                if json is None:
                    continue
                if "topology" in json:
                    self.report.warn(
                        line.place("nodes"),
                        "node %s is on another switch, too, which is used instead" % quote(node),
                    )
                else:
                    json["topology"] = dict(path)

    def _heights(self, switches: Dict[str, Line], parent: Dict[str, str]) -> Dict[str, int]:
        height = {switch: 1 for switch in switches}
        for switch, line in switches.items():
            at, level = switch, height[switch]
            while at in parent:
                at, level = parent[at], level + 1
                if level > len(switches):
                    raise ConvertError(line.place("switches"), "%s is below itself" % quote(switch))
                if height[at] >= level:
                    break
                height[at] = level
        return height

    def _put_blocks(self, blocks: List[Tuple[str, Line]], sizes: Optional[Line]) -> None:
        words = sizes.keys["blocksizes"].split(",") if sizes else []
        numbers = [
            integer(sizes.place("blocksizes"), word, 1, MAX_NODES) for word in words if sizes
        ]
        for small, large in zip(numbers, numbers[1:]):
            if sizes and (large <= small or large % small):
                raise ConvertError(
                    sizes.place("blocksizes"), "%d is no multiple of %d" % (large, small)
                )
        if len(numbers) > 16:
            raise ConvertError(self.lines[0].place(), "more than 16 sizes of blocks")
        wider = [(size, size // numbers[0]) for size in reversed(numbers[1:])]
        self.scenario["levels"] = ["block%d" % size for size, _ in wider] + ["block"]
        for index, (block, line) in enumerate(blocks):
            for node in expand(line.place("nodes"), line.get("nodes") or ""):
                json = self._node_at(line, node)
                if json is None:
                    continue
                if "topology" in json:
                    raise ConvertError(
                        line.place("nodes"), "node %s is in two blocks" % quote(node)
                    )
                around = {"block%d" % size: "%d" % (index // count) for size, count in wider}
                json["topology"] = {**around, "block": block}
