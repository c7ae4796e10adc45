# SPDX-License-Identifier: Apache-2.0
"""Pictures of clusters with many machines: a line for each domain or machine type."""

from html import escape
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .colours import FREE, LIMIT, PALETTE, USED

#: A row of nodes.summed() or nodes.pictures().
Node = Mapping[str, Any]

#: The highest number of groups, of squares in all, and of squares in a line.
MOST_GROUPS, MOST_SQUARES, ACROSS = 32, 4096, 72

_SIDE, _STEP = 6, 7  # pixels of a square, and from one to the next
_SHADES = 5  # of a used square
_STATE = {"draining": PALETTE[1], "down": LIMIT}


def shade(used: float, part: str = "fill") -> str:
    """Attributes of a shape, by the part that is in use, from 0 to 1.

    Free is transparent grey, and used is opaque: on a light page the darker the busier, on a dark
    page the brighter.
    """
    if used <= 0:
        return '%s="%s"' % (part, FREE)
    return '%s="%s%02x"' % (part, USED, round(255 * (0.45 + 0.55 * min(used, 1.0))))


class Group(NamedTuple):
    """Machines that share a line."""

    name: str
    nodes: List[Node]

    def used(self, kind: str) -> Tuple[float, float]:
        """The amount of ``gpus`` or ``cpus`` in use, and the capacity."""
        free = {"gpus": "gpu_free", "cpus": "cpus_free"}[kind]
        all_of = sum(node[kind] for node in self.nodes)
        return round(all_of - sum(node[free] for node in self.nodes), 3), all_of


def groups(nodes: Sequence[Node], most: int) -> List[Group]:
    """Group machines by the lowest level with at most ``most`` domains.

    If even the highest level has more, the last group has the rest. Machines without a topology are
    grouped by their GPUs.
    """
    deepest = max((len(node["steps"]) for node in nodes), default=0)
    found: Dict[str, List[Node]] = {}
    for depth in range(deepest, 0, -1):
        found = {}
        for node in nodes:
            found.setdefault(" / ".join(node["steps"][:depth]) or "elsewhere", []).append(node)
        if len(found) <= most:
            break
    if not deepest:
        for node in nodes:
            found.setdefault(_kind(node), []).append(node)
        found = dict(sorted(found.items(), key=lambda item: -len(item[1])))
    made = [Group(name, members) for name, members in found.items()]
    if len(made) > most:
        rest = [node for group in made[most - 1 :] for node in group.nodes]
        made[most - 1 :] = [Group("and %d more" % (len(made) - most + 1), rest)]
    return made


def _kind(node: Node) -> str:
    if not node["gpus"]:
        return "no GPUs"
    return "%d x %s" % (node["gpus"], node["gpu_model"] or "GPU")


def table(nodes: Sequence[Node]) -> str:
    """A row a group: usage, and one square for each machine, the stronger the busier."""
    shown = groups(nodes, MOST_GROUPS)
    each = -(-len(nodes) // MOST_SQUARES) or 1
    kinds = [kind for kind in ("gpus", "cpus") if any(node[kind] for node in nodes)]
    heads = ["", "nodes", *({"gpus": "GPUs", "cpus": "cores"}[kind] for kind in kinds)]
    heads.append("a square a node" if each == 1 else "a square %d nodes" % each)
    out = ['<table style="font:12px sans-serif;border-collapse:collapse"><tr>']
    out += ['<th style="text-align:left">%s</th>' % head for head in heads] + ["</tr>"]
    for group in shown:
        cells = [
            escape(group.name),
            _states(group),
            *(_bar(*group.used(kind)) for kind in kinds),
            _squares(group, each),
        ]
        row = "".join('<td style="text-align:left;vertical-align:top;white-space:nowrap;padding:1px 12px 1px 0">%s</td>' % cell for cell in cells)
        out.append("<tr>%s</tr>" % row)
    return "".join([*out, "</table>", legend("a node", _STATE)])


def legend(what: str, states: Mapping[str, str]) -> str:
    """What the shades and the colours of states mean."""
    keys = [(shade(0), "free"), (shade(1e-9), "%s a little used" % what), (shade(1), "all in use")]
    keys += [('fill="none" stroke="%s"' % colour, state) for state, colour in states.items()]
    form = (
        '<svg width="11" height="11" style="margin:0 4px 0 12px;vertical-align:-1px">'
        '<rect x=".5" y=".5" width="10" height="10" %s/></svg>%s'
    )
    said = "".join(form % key for key in keys)
    return '<div style="font:12px sans-serif;margin:4px 0">%s</div>' % said


def _states(group: Group) -> str:
    said = ["%d" % len(group.nodes)]
    for state, colour in _STATE.items():
        there = sum(node["state"] == state for node in group.nodes)
        if there:
            said.append('<span style="color:%s">%d %s</span>' % (colour, there, state))
    return ", ".join(said)


def _bar(used: float, all_of: float) -> str:
    if not all_of:
        return ""
    wide = 80 * min(max(used / all_of, 0.0), 1.0)
    svg = (
        '<svg width="80" height="9"><path d="M0 0h80v9H0z" %s/>'
        '<path d="M0 0h%.1fv9H0z" %s/></svg>'
    )
    return "%s %g of %g" % (svg % (shade(0), wide, shade(1)), used, all_of)


def _colour(nodes: Sequence[Node]) -> str:
    states = {node["state"] for node in nodes}
    if len(states) == 1 and states <= set(_STATE):
        return 'stroke="%s"' % _STATE[states.pop()]
    used, all_of = Group("", list(nodes)).used(
        "gpus" if any(node["gpus"] for node in nodes) else "cpus"
    )
    if used <= 0 or not all_of:
        return shade(0, "stroke")
    return shade(min(int(_SHADES * used / all_of), _SHADES - 1) / (_SHADES - 1) or 1e-9, "stroke")


def _squares(group: Group, each: int) -> str:
    """Squares as SVG.

    Adjacent squares of one colour are one dashed line, which keeps the picture small.
    """
    colours = [_colour(group.nodes[i : i + each]) for i in range(0, len(group.nodes), each)]
    lines: Dict[str, List[str]] = {}
    begin = 0
    for i, colour in enumerate(colours):
        after: Optional[str] = colours[i + 1] if i + 1 < len(colours) and (i + 1) % ACROSS else None
        if colour != after:
            y = begin // ACROSS * _STEP + _SIDE // 2
            lines.setdefault(colour, []).append(
                "M%d %dh%d" % (begin % ACROSS * _STEP, y, (i - begin) * _STEP + _SIDE)
            )
            begin = i + 1
    wide, high = min(len(colours), ACROSS) * _STEP, -(-len(colours) // ACROSS) * _STEP
    out = ['<svg width="%d" height="%d" role="img" fill="none" stroke-width="%d" stroke-dasharray="%d %d">'
           % (wide, high, _SIDE, _SIDE, _STEP - _SIDE)]
    out += [
        '<path %s d="%s"/>' % (colour, "".join(found)) for colour, found in lines.items()
    ]
    return "".join([*out, "</svg>"])


__all__ = ["Group", "groups", "legend", "shade", "table"]
