# SPDX-License-Identifier: Apache-2.0
"""The input of a report: machines, queues, options, and what a repetition needs."""

import hashlib
import json
import platform
from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from .. import __version__
from ..sim.recipe import Step
from .tables import shapes, table
from .words import NONE, number

if TYPE_CHECKING:
    from ..sim.result import Result

#: Arguments of a simulation that the page does not list as options.
_NOT_OPTIONS = frozenset(["cluster", "queues", "events", "on_event"])

#: The highest number of listed queues.
MOST_QUEUES = 60


def sentence(result: "Result", policy: bool = True) -> str:
    """One line about the simulation."""
    nodes = len(result.nodes)
    parts = ["%s %s" % (number(nodes), "node" if nodes == 1 else "nodes")]
    if result.capacity.get("gpus"):
        parts.append("%s GPUs" % number(result.capacity["gpus"]))
    parts.append("%s cores" % number(result.capacity.get("cpus", 0)))
    said = "%s jobs on %s" % (number(len(result)), ", ".join(parts))
    return "%s; policy: %s." % (said, policy_name(result)) if policy else said + "."


def policy_name(result: "Result") -> str:
    """The policy as it was given; of a function its name."""
    given = result._recipe.arguments.get("policy")
    if given is None:
        lost = "policy" in result._recipe.lost
        return (
            "a function"
            if lost
            else "queues"
            if result._recipe.arguments.get("queues") is not None
            else "first-fit (one queue)"
        )
    return str(said(given))


def said(value: Any) -> Any:
    """The value in a form that JSON has."""
    if callable(value):
        return "function %s.%s" % (
            getattr(value, "__module__", "?"),
            getattr(value, "__qualname__", type(value).__name__),
        )
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return list(value) if isinstance(value, (list, tuple)) else str(value)


def machines(result: "Result") -> str:
    """The machines, one row a machine type."""
    rows = []
    for shape, count in shapes(result):
        row = [
            number(count),
            number(shape["gpus"]),
            escape(shape["model"] or NONE),
            number(shape["cpus"]),
        ]
        rows.append([*row, "%s GiB" % number(shape["mem_mib"] / 1024)])
    levels = result._recipe.arguments["cluster"].get("levels") or []
    more = (
        '<p class="note">Levels of the topology, widest first: %s.</p>' % escape(", ".join(levels))
        if levels
        else ""
    )
    return (
        "<h3>Machines</h3>"
        + table(["nodes", "GPUs of each", "model", "cores", "memory"], rows, words=0, few=True)
        + more
    )


def queues(result: "Result") -> str:
    """The tree, one row a queue."""
    tree = result._recipe.arguments.get("queues")
    if tree is None:
        return "<h3>Queues</h3><p>One queue that takes all, in the order of submission.</p>"
    rows = []
    for depth, queue in list(tree.walk())[:MOST_QUEUES]:
        skip = ("name", "parent", "guaranteed", "limit", "weight")
        rest = ", ".join(
            "%s %s" % (key, json.dumps(queue[key]))
            for key in queue
            if key not in skip and queue[key] is not None
        )
        name = "&ensp;" * (2 * depth) + escape(str(queue["name"]))
        rows.append(
            [
                name,
                *(_amounts(queue.get(key)) for key in ("guaranteed", "limit", "weight")),
                escape(rest),
            ]
        )
    more = len(tree) - len(rows)
    note = '<p class="note">and %s more</p>' % number(more) if more > 0 else ""
    return (
        "<h3>Queues</h3>"
        + table(["queue", "guaranteed", "limit", "weight", "other"], rows, words=1, last_word=True)
        + note
    )


def _amounts(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return escape(", ".join("%s %s" % (kind, amount) for kind, amount in value.items()))
    return escape(str(value))


def settings(result: "Result") -> Dict[str, Any]:
    """The options that were given."""
    made = result._recipe.arguments
    given = {
        key: said(value)
        for key, value in made.items()
        if key not in _NOT_OPTIONS and value is not None
    }
    if made.get("mix") is not None:
        given["mix"] = "%d shapes" % len(made["mix"])
    if "policy" in made:
        given["policy"] = policy_name(result)
    return given


def options(results: Mapping[str, "Result"]) -> str:
    """Options: one column for a single value, or one for each result."""
    given = {label: settings(result) for label, result in results.items()}
    names: List[str] = list(dict.fromkeys(name for one in given.values() for name in one))
    labels = list(given)
    rows = [[escape(name), *(_value(given[label], name) for label in labels)] for name in names]
    return "<h3>Options</h3>" + table(
        ["option", *(label or "value" for label in labels)], rows, words=1 + len(labels)
    ) + "".join('<p class="note">%s</p>' % line for line in _assumptions(results))


def _assumptions(results: Mapping[str, "Result"]) -> List[str]:
    """Defaults of these simulations that make results look better than they are."""
    given = [result._recipe.arguments for result in results.values()]
    found = []
    if any(not one.get("checkpoint_s") for one in given):
        found.append(
            "Work is saved all the time, at no cost (checkpoint_s = 0): preemptions and failures "
            "lose none."
        )
    in_order = [one for one in given if one.get("policy", "queues") in (None, "queues")]
    if any(not one.get("no_preemption") for one in in_order):
        found.append(
            "In the order of the queues, a job preempts jobs of a lower priority (no_preemption = "
            "false)."
        )
    return found


def _value(given: Mapping[str, Any], name: str) -> str:
    if name not in given:
        return ""
    value = given[name]
    return escape(value if isinstance(value, str) else json.dumps(value))


def again(results: Mapping[str, "Result"], command: Optional[str]) -> str:
    """What a repetition needs: versions, digest of the trace, seed, options."""
    first = next(iter(results.values()))
    rows = [["gangsched", escape(__version__)], ["Python", escape(platform.python_version())]]
    for trace, shift in _traces(first):
        digest = (
            hashlib.sha256(trace.to_text("jsonl").encode("utf-8")).hexdigest()
            if not trace.closed
            else "closed since"
        )
        what = "%s jobs%s%s" % (
            number(len(trace)) if not trace.closed else "?",
            ", read as " + trace.format if not trace.closed and trace.format else "",
            ", %g s later" % shift if shift else "",
        )
        rows.append(["trace", "%s; SHA-256 of it as JSON lines: %s" % (escape(what), digest)])
    tree = first._recipe.arguments.get("queues")
    case = {**first._recipe.arguments["cluster"], **(tree.to_dict() if tree is not None else {})}
    digest = hashlib.sha256(json.dumps(case, sort_keys=True).encode("utf-8")).hexdigest()
    rows.append(["machines and queues", "SHA-256 of their JSON: %s" % digest])
    rows.append(
        [
            "seed",
            escape(
                ", ".join(
                    sorted(
                        {
                            str(result._recipe.arguments.get("seed", 0))
                            for result in results.values()
                        }
                    )
                )
            ),
        ]
    )
    commands = sum(
        1 for step in first._recipe.log if isinstance(step, Step) and step.method != "add"
    )
    if commands:
        rows.append(
            ["commands", "%s during the run, which this page does not list" % number(commands)]
        )
    out = table(["", ""], rows, words=2)
    if command:
        out += "<p>It was made by</p><pre>%s</pre>" % escape(command)
    return out + '<p class="note">The same input gives the same output, byte for byte.</p>'


def _traces(result: "Result") -> Any:
    return [
        step.arguments
        for step in result._recipe.log
        if isinstance(step, Step) and step.method == "add"
    ]
