# SPDX-License-Identifier: Apache-2.0
"""Clusters and queues as self-contained pictures for notebooks, and as text for terminals."""

from html import escape
from typing import (
    TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union,
)

from ..cluster import nodes as _nodes
from . import node_groups as many
from .colours import GUARANTEED, LIMIT, PALETTE
from .node_groups import shade

if TYPE_CHECKING:
    from ..cluster.cluster import Cluster
    from ..queues import Queues

#: The highest number of machines that are drawn one by one.
MOST_NODES = 128

#: The highest number of machines that the text lists one by one.
MOST_LINES = 48

_BROKEN = "#7a2530"
_STATE = {"up": "#8a949e", "draining": PALETTE[1], "down": LIMIT}

#: Bars of cores and memory, and the demand of a queue.
_OTHER = PALETTE[1]


# ---- a cluster -------------------------------------------------------------------------------


def _title(node: Mapping[str, Any]) -> str:
    lines = [
        "%s (%s)" % (node["name"], node["state"]),
        "%g of %g cores used" % (node["cpus"] - node["cpus_free"], node["cpus"]),
        "%.0f of %.0f GiB used"
        % ((node["mem_mib"] - node["mem_mib_free"]) / 1024, node["mem_mib"] / 1024),
    ]
    if node["gpus"]:
        lines.append(
            "%g of %d GPUs used %s"
            % (node["gpus"] - node["gpu_free"], node["gpus"], node["gpu_model"])
        )
    return "\n".join(lines)


_GPU, _GAP, _ROW = 11, 2, 8  # pixels of a device, pixels between devices, devices in a row
_TOP = 15  # pixels above the devices, for the name


#: Bars of a machine: its amount, what is free of it, and the text on the bar.
_BARS = (
    ("cpus", "cpus_free", "%.4g of %.4g cores"),
    ("mem_mib", "mem_mib_free", "%.0f of %.0f GiB"),
)


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _node_svg(node: Mapping[str, Any], x: int, y: int, height: int) -> str:
    """One machine: a frame, its devices in islands, below them bars of cores and memory."""
    width = _ROW * (_GPU + _GAP) + 8
    out = ['<g transform="translate(%d,%d)"><title>%s</title>' % (x, y, escape(_title(node)))]
    dash = "" if node["state"] == "up" else ' stroke-dasharray="3 2"'
    colour = _STATE.get(node["state"], "#8a949e")
    out.append(
        '<rect x=".5" y=".5" width="%d" height="%d" rx="3" fill="none" stroke="%s"%s/>'
        % (width - 1, height - 1, colour, dash)
    )
    out.append(
        '<text x="4" y="11" font-size="9">%s</text>'
        % escape(_short(node["name"], 18))
    )
    for i, free in enumerate(node["shares"]):
        gx, gy = 4 + i % _ROW * (_GPU + _GAP), _TOP + i // _ROW * (_GPU + _GAP + 3)
        fill = 'fill="%s"' % _BROKEN if i in node["broken"] else shade(1 - free)
        out.append(
            '<rect x="%d" y="%d" width="%d" height="%d" rx="1.5" %s/>'
            % (gx, gy, _GPU, _GPU, fill)
        )
    for island in node["islands"]:
        for begin, end in _runs(island):
            y1 = _TOP + begin // _ROW * (_GPU + _GAP + 3) + _GPU + 1.5
            x1, x2 = 4 + begin % _ROW * (_GPU + _GAP), 4 + end % _ROW * (_GPU + _GAP) + _GPU
            out.append('<path d="M%d %gH%d" stroke="#009e73" stroke-width="1.5"/>' % (x1, y1, x2))
    for k, (all_of, free, said) in enumerate(_BARS):
        part = (1 - node[free] / node[all_of]) if node[all_of] else 0.0
        scale = 1024 if all_of == "mem_mib" else 1
        text = said % ((node[all_of] - node[free]) / scale, node[all_of] / scale)
        by = height - 22 + 11 * k
        out.append(
            '<rect x="4" y="%d" width="%d" height="9" %s/>' % (by, width - 8, shade(0))
        )
        out.append(
            '<rect x="4" y="%d" width="%.1f" height="9" fill="%sb0"/>'
            % (by, part * (width - 8), _OTHER)
        )
        out.append('<text x="6" y="%g" font-size="8">%s</text>' % (by + 7.5, text))
    out.append("</g>")
    return "".join(out)


def _runs(island: Sequence[int]) -> Iterable[Tuple[int, int]]:
    """The devices of an island, as runs of neighbours in a row of the picture."""
    begin = last = island[0]
    for i in island[1:]:
        if i != last + 1 or i % _ROW == 0:
            yield begin, last
            begin = i
        last = i
    yield begin, last


def _by_domain(nodes: Sequence[Mapping[str, Any]]) -> Dict[str, List[Mapping[str, Any]]]:
    found: Dict[str, List[Mapping[str, Any]]] = {}
    for node in nodes:
        found.setdefault(node["place"], []).append(node)
    return found


def _summary(totals: Mapping[str, float]) -> str:
    parts = ["%d nodes" % totals["nodes"]]
    for state in ("draining", "down"):
        if totals["nodes_" + state]:
            parts.append("%d %s" % (totals["nodes_" + state], state))
    if totals["gpus"]:
        parts.append(
            "%g of %d GPUs used" % (round(totals["gpus"] - totals["gpu_free"], 3), totals["gpus"])
        )
    parts.append(
        "%g of %g cores used" % (round(totals["cpus"] - totals["cpus_free"], 3), totals["cpus"])
    )
    gib = (totals["mem_mib"] - totals["mem_mib_free"]) / 1024, totals["mem_mib"] / 1024
    parts.append("%.0f of %.0f GiB used" % gib)
    return ", ".join(parts)


def cluster_html(cluster: "Cluster") -> str:
    """A grid of machines by domain, with devices coloured by usage.

    Islands are underlined; bars show cores and memory. Large clusters get a line for each domain or
    machine type.
    """
    if cluster.closed:
        return "<p>%s</p>" % escape(repr(cluster))
    count = len(cluster)
    nodes, total = _nodes.pictures(cluster, MOST_NODES if count <= MOST_NODES else 0)
    out = ['<div style="font:12px sans-serif;overflow-x:auto"><p><b>Cluster</b>: %s</p>' % escape(_summary(total))]
    if count > MOST_NODES:
        return "".join([*out, many.table(_nodes.summed(cluster)), "</div>"])
    for place, members in _by_domain(nodes).items():
        if place:
            out.append('<div style="margin:6px 0 2px">%s</div>' % escape(place))
        deepest = max(len(node["shares"]) for node in members)
        height = _TOP + 25 + -(-deepest // _ROW) * (_GPU + _GAP + 3)
        width, across = _ROW * (_GPU + _GAP) + 12, 8
        rows = -(-len(members) // across)
        out.append(
            '<svg width="%d" height="%d" role="img" fill="currentColor">'
            % (min(across, len(members)) * width, rows * (height + 4))
        )
        for i, node in enumerate(members):
            out.append(_node_svg(node, i % across * width, i // across * (height + 4), height))
        out.append("</svg>")
    states = {node["state"] for node in nodes}
    shown = {state: colour for state, colour in _STATE.items() if state in states - {"up"}}
    out.append(many.legend("a GPU", shown) + "</div>")
    return "".join(out)


def cluster_text(cluster: "Cluster") -> str:
    """A summary line, and a line for each machine; in a large cluster for each domain or machine
    type.
    """
    if cluster.closed:
        return repr(cluster)
    count = len(cluster)
    nodes, total = _nodes.pictures(cluster, None if count <= MOST_LINES else 0)
    lines = ["Cluster: " + _summary(total)]
    if count <= MOST_LINES:
        width = max((len(node["name"]) for node in nodes), default=0)
        for place, members in _by_domain(nodes).items():
            lines += ["  " + place] if place else []
            for node in members:
                squares = "".join(_square(i, free, node) for i, free in enumerate(node["shares"]))
                state = "" if node["state"] == "up" else "  " + node["state"]
                used = node["cpus"] - node["cpus_free"]
                lines.append(
                    "    %-*s %s  %g/%g cores%s"
                    % (width, node["name"], squares, round(used, 3), node["cpus"], state)
                )
        return "\n".join(lines)
    groups = many.groups(_nodes.summed(cluster), MOST_LINES)
    width = max(len(group.name) for group in groups)
    for group in groups:
        (used, all_of), unit = group.used("gpus"), "GPUs"
        if not all_of:
            (used, all_of), unit = group.used("cpus"), "cores"
        said = (width, group.name, _bar(used, all_of), used, all_of, unit, len(group.nodes))
        lines.append("  %-*s  %s %g/%g %s, %d nodes" % said)
    return "\n".join(lines)


def _square(i: int, free: float, node: Mapping[str, Any]) -> str:
    if i in node["broken"]:
        return "x"
    return "□" if free >= 1 else "■" if free <= 0 else "◧"


def _bar(used: float, all_of: float, width: int = 20) -> str:
    full = round(width * used / all_of) if all_of > 0 else 0
    return "█" * min(full, width) + "░" * (width - min(full, width))


# ---- queues ----------------------------------------------------------------------------------

#: Amounts of a queue: ``used``, ``guarantee``, ``limit``, ``demand``; None: unknown. A text is a
#: part of what the parent has: "50 %", "weight 2".
Amounts = Mapping[str, Union[float, str, None]]


def _declared(queue: Mapping[str, Any], kind: str) -> Amounts:
    def amount(member: str) -> Union[float, str, None]:
        given = (queue.get(member) or {}).get(kind)
        if isinstance(given, Mapping):
            if "fraction" in given:
                return "%g %%" % round(100 * given["fraction"], 4)
            return "weight %g" % given["weight"] if "weight" in given else None
        return float(given) if isinstance(given, (int, float)) and given >= 0 else None

    return {"used": None, "guarantee": amount("guaranteed"), "limit": amount("limit")}


def _kinds_of(queues: "Queues") -> List[str]:
    found: Dict[str, None] = {}
    for queue in queues.values():
        for member in ("guaranteed", "limit"):
            found.update(dict.fromkeys(queue.get(member) or {}))
    return list(found)[:4]


def _number(value: Union[float, str, None]) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else "%g" % round(value, 3)


def _amount(value: Union[float, str, None]) -> Optional[float]:
    return None if isinstance(value, str) else value


def _words(queue: Mapping[str, Any]) -> str:
    skip = ("name", "parent", "guaranteed", "limit")
    said = [
        "%s %s" % item
        for item in queue.items()
        if item[0] not in skip and isinstance(item[1], (str, int, float))
    ]
    return ", ".join(said)


def _amounts(
    queues: "Queues", use: Optional[Mapping[str, Mapping[str, Amounts]]]
) -> Dict[str, Mapping[str, Amounts]]:
    if use is not None:
        return {name: use.get(name, {}) for name in queues}
    kinds = _kinds_of(queues)
    return {
        name: {kind: _declared(queue, kind) for kind in kinds} for name, queue in queues.items()
    }


def queues_text(queues: "Queues", use: Optional[Mapping[str, Mapping[str, Amounts]]] = None) -> str:
    """The tree, a queue a line, with used amounts, guarantees and limits."""
    amounts = _amounts(queues, use)
    width = max((2 * depth + len(queue["name"]) for depth, queue in queues.walk()), default=0)
    lines = []
    for depth, queue in queues.walk():
        said = []
        for kind, has in amounts[queue["name"]].items():
            if all(has.get(key) is None for key in ("used", "guarantee", "limit")):
                continue
            numbers = tuple(_number(has.get(key)) for key in ("used", "guarantee", "limit"))
            bar = "" if has.get("used") is None else _bar(_amount(has["used"]) or 0, _scale([has]), 10) + " "
            said.append("%s %s%s/%s/%s" % ((kind, bar) + numbers))
        words = _words(queue)
        line = "%-*s  %s" % (
            width,
            "  " * depth + queue["name"],
            "  ".join(said + ([words] if words else [])),
        )
        lines.append(line.rstrip())
    if not lines:
        return "no queues"
    return "\n".join([*lines, "(used/guarantee/limit)"])


def _scale(all_of: Iterable[Amounts]) -> float:
    return max(
        (
            value
            for has in all_of
            for value in map(_amount, has.values())
            if value is not None
        ),
        default=0.0,
    )


def queues_html(queues: "Queues", use: Optional[Mapping[str, Mapping[str, Amounts]]] = None) -> str:
    """The tree as a table; a bar with its numbers for each resource: used, guarantee and limit."""
    amounts = _amounts(queues, use)
    kinds = list(dict.fromkeys(kind for has in amounts.values() for kind in has))
    scale = {kind: _scale(has[kind] for has in amounts.values() if kind in has) for kind in kinds}
    out = ['<table style="font:12px sans-serif;border-collapse:collapse"><tr><th style="text-align:left">queue</th>']
    out += ["<th>%s</th>" % escape(kind) for kind in kinds] + ["<th></th></tr>"]
    for depth, queue in queues.walk():
        name = queue["name"]
        out.append(
            '<tr><td style="text-align:left;padding:1px 14px 1px %dpx">%s</td>'
            % (6 + 16 * depth, escape(name))
        )
        for kind in kinds:
            out.append(_CELL % _bar_svg(amounts[name].get(kind, {}), scale[kind]))
        out.append('<td style="text-align:left;opacity:.8">%s</td></tr>' % escape(_words(queue)))
    out.append("</table>")
    out.append(_QUEUE_LEGEND)
    return "".join(out)


_CELL = '<td style="text-align:left;padding:1px 14px 1px 0;white-space:nowrap">%s</td>'

_QUEUE_LEGEND = (
    '<div style="font:12px sans-serif;margin:4px 0">used / '
    '<span style="color:%s">guarantee</span> / <span style="color:%s">limit</span>; pale: what its jobs ask for</div>' % (GUARANTEED, LIMIT)
)


def _bar_svg(has: Amounts, scale: float, width: int = 140) -> str:
    def at(value: float) -> float:
        return width * value / scale if scale > 0 else 0.0

    said = "used %s, guarantee %s, limit %s" % tuple(
        _number(has.get(key)) for key in ("used", "guarantee", "limit")
    )
    used, guarantee, limit, demand = (
        _amount(has.get(key)) for key in ("used", "guarantee", "limit", "demand")
    )
    parts = [
        "%s %s" % (key, has[key])
        for key in ("guarantee", "limit")
        if isinstance(has.get(key), str)
    ]
    if parts:  # of an amount that the tree alone does not tell: no bar can show it
        return escape(", ".join(parts))
    out = ['<svg width="%d" height="16"><title>%s</title>' % (width + 2, escape(said))]
    out.append('<rect x="0" y="3" width="%d" height="10" %s/>' % (width, shade(0)))
    if demand:
        out.append('<rect x="0" y="3" width="%.1f" height="10" %s/>' % (at(demand), shade(1e-9)))
    if used:
        out.append('<rect x="0" y="3" width="%.1f" height="10" %s/>' % (at(used), shade(1)))
    for value, colour in ((guarantee, GUARANTEED), (limit, LIMIT)):
        if value is not None:
            out.append(
                '<path d="M%.1f 0V16" stroke="%s" stroke-width="2"/>'
                % (max(at(value), 1.0), colour)
            )
    numbers = " / ".join(_number(has.get(key)) for key in ("used", "guarantee", "limit"))
    out.append('</svg> <span style="white-space:nowrap">%s</span>' % escape(numbers))
    return "".join(out)
