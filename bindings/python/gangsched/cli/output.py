# SPDX-License-Identifier: Apache-2.0
"""Prints and writes the output of the command line."""

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence

from ..report.words import defined, has_gpus, lookup, number, part, span

if TYPE_CHECKING:
    from ..sim.result import Result


def as_dict(result: "Result") -> Dict[str, Any]:
    """A result as a JSON object."""
    info = result.info._asdict()
    return {"interrupted": result.interrupted, "info": info, "summary": result.summary()}


def as_json(found: "Mapping[str, Result]", several: bool) -> str:
    """One line of JSON. Several results are in ``results``, by name."""
    if several:
        return json.dumps({"results": {label: as_dict(result) for label, result in found.items()}})
    ((label, result),) = found.items()
    return json.dumps({"policy": label, **as_dict(result)})


def as_text(found: "Mapping[str, Result]", several: bool) -> str:
    """A table: one result a number a line, several results a row each."""
    if several:
        return _beside(found)
    ((_, result),) = found.items()
    summary = result.summary()
    lines: List[Sequence[str]] = [["", "mean", "median", "p99", "max"]]
    for path, name, said, _ in defined(result):
        value = lookup(summary, path)
        if isinstance(value, Mapping):
            lines.append([name, *(said(value.get(key)) for key in ("mean", "p50", "p99", "max"))])
        elif value is not None:
            lines.append([name, said(value)])
    # Numbers first, then distributions, which have more columns.
    return _columns(
        sorted(lines[1:], key=len)
        if not summary["jobs"]
        else [*_short(lines), [""], lines[0], *_long(lines)]
    )


def _short(lines: Sequence[Sequence[str]]) -> List[Sequence[str]]:
    return [line for line in lines if len(line) == 2]


def _long(lines: Sequence[Sequence[str]]) -> List[Sequence[str]]:
    return [line for line in lines[1:] if len(line) > 2]


#: Columns of a comparison: path, heading, format.
_BESIDE = (
    (("jobs",), "jobs", number),
    (("failed",), "failed", number),
    (("refused",), "refused", number),
    (("unfinished",), "unfinished", number),
    (("wait_s", "mean"), "mean waiting time", span),
    (("wait_s", "p99"), "p99 waiting time", span),
    (("jct_s", "mean"), "mean completion", span),
    (("bounded_slowdown", "mean"), "bounded slowdown", number),
    (("makespan_s",), "makespan", span),
    (("gpu_utilisation",), "GPU use", part),
    (("cpu_utilisation",), "CPU use", part),
    (("preemptions",), "preempted", number),
)


def _beside(found: "Mapping[str, Result]") -> str:
    gpus = any(has_gpus(result) for result in found.values())
    skip = {"cpu_utilisation" if gpus else "gpu_utilisation"}
    # Two rare columns: with them the other columns are not over all jobs.
    skip |= {
        key
        for key in ("failed", "refused")
        if not any(result.summary()[key] for result in found.values())
    }
    shown = [row for row in _BESIDE if row[0][0] not in skip]
    lines: List[Sequence[str]] = [["", *(head for _, head, _ in shown)]]
    for label, result in found.items():
        summary = result.summary()
        lines.append([label, *(said(lookup(summary, path)) for path, _, said in shown)])
    return _columns(lines)


def _columns(lines: Sequence[Sequence[str]]) -> str:
    """Align the first column left, the others right."""
    count = max(len(line) for line in lines)
    wide = [max((len(line[i]) for line in lines if i < len(line)), default=0) for i in range(count)]
    out = []
    for line in lines:
        cells = [line[0].ljust(wide[0])] + [
            cell.rjust(wide[i + 1]) for i, cell in enumerate(line[1:])
        ]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out) + "\n"


def refusals(found: "Mapping[str, Result]", several: bool) -> str:
    """A line about the first result that refused jobs: how many, and why the first one.

    "": none did.

    This replays the simulation.
    """
    for label, result in found.items():
        refused = result.refused if result.summary()["refused"] else {}
        if refused:
            index = min(refused)
            said = "%d of %d jobs refused; '%s': %s" % (
                len(refused),
                len(result),
                result.names[index],
                refused[index],
            )
            return "%s: %s" % (label, said) if several else said
    return ""


def write_tables(result: "Result", folder: str, run: Mapping[str, Any]) -> None:
    """Write jobs.csv, allocations.csv, timeline.csv, summary.json, run.json.

    Raises
    ------
    OSError
        With the path.
    """
    os.makedirs(folder, exist_ok=True)
    for name in ("jobs", "allocations", "timeline"):
        table = getattr(result, name)
        table.to_csv(os.path.join(folder, name + ".csv"), index=False, lineterminator="\n")
    for name, value in (("summary", as_dict(result)), ("run", run)):
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=2) + "\n")
