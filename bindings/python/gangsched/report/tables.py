# SPDX-License-Identifier: Apache-2.0
"""Tables of a report."""

from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from ..errors import NotSupported
from .waits import Waited, waits
from .words import NONE, SPREAD, defined, has_gpus, lookup, number, part, span

if TYPE_CHECKING:
    from ..sim.result import Result

#: The highest number of rows of a table of queues or users.
MOST_ROWS = 25


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: int = 1,
    last_word: bool = False,
    few: bool = False,
) -> str:
    """A table from cells that are HTML.

    The first ``words`` columns are text, with ``last_word`` also the last one; the others are
    numbers. ``few`` keeps the table narrow.
    """
    wordy = [i < words or (last_word and i == len(heads) - 1) for i in range(len(heads))]
    head = "".join(
        "<th%s>%s</th>" % (' class="w"' if text else "", escape(name))
        for name, text in zip(heads, wordy)
    )
    out = [
        '<div class="wide"><table%s><thead><tr>%s</tr></thead><tbody>'
        % (' class="few"' if few else "", head)
    ]
    for row in rows:
        cells = (
            "<td%s>%s</td>" % (' class="w"' if text else ' class="n"', cell)
            for cell, text in zip(row, wordy)
        )
        out.append("<tr>%s</tr>" % "".join(cells))
    return "".join([*out, "</tbody></table></div>"])


def _bar(value: float) -> str:
    wide = 100 * min(max(value, 0.0), 1.0)
    return '<span class="bar"><i style="width:%.1f%%"></i></span>%s' % (wide, escape(part(value)))


# ---- by queue, by user, by GPU model ---------------------------------------------------------


def _used_s(result: "Result", kind: str) -> Any:
    """Device-seconds (core-seconds) of each job: as recorded, or else its request times its run
    time.
    """
    import numpy

    rows = result._allocations
    if not len(rows):
        return result.column(kind) * numpy.nan_to_num(result.column("ran_s"))
    end = numpy.where(rows["end_ns"] == -(2**63), int(result.info.now_s * 1e9), rows["end_ns"])
    amount = rows["gpu_milli" if kind == "gpus" else "cpu_milli"] / 1e3
    used = amount * (end - rows["begin_ns"]) / 1e9
    return numpy.bincount(rows["index"].astype(numpy.int64), weights=used, minlength=len(result))


def counts(result: "Result") -> Any:
    """The jobs that count in distributions: those that succeeded or reached their limit."""
    import numpy

    return numpy.isin(result.column("end"), ["success", "timeout"])


def groups(result: "Result", by: str) -> str:
    """A row a queue or user: usage and waits, the largest usage first."""
    import numpy

    kind, unit = ("gpus", "GPU-h") if has_gpus(result) else ("cpus", "core-h")
    codes, words = result._codes(by), result._word_list(by)
    used, wait, jct, run = (
        _used_s(result, kind),
        waits(result),
        result.column("jct_s"),
        result.column("run_s"),
    )
    slow = numpy.maximum(1.0, jct / numpy.maximum(run, 10.0))
    done, total = counts(result), float(used.sum()) or 1.0
    taken = numpy.bincount(codes.clip(0), weights=used, minlength=len(words) + 1)
    listed = sorted(set(codes.tolist()), key=lambda code: (-taken[max(code, 0)], code))
    rows = []
    for code in listed[:MOST_ROWS]:
        mine = codes == code
        ended = mine & done
        name = words[code] if 0 <= code < len(words) and words[code] else "(none)"
        row = [escape(name), number(int(mine.sum())), number(int(mine.sum() - ended.sum()))]
        row += [
            span(_mean(wait[ended])),
            span(_percentile(wait[ended], 99)),
            span(_mean(jct[ended])),
            number(_mean(slow[ended])),
        ]
        rows.append(
            [*row, number(float(used[mine].sum()) / 3600), _bar(float(used[mine].sum()) / total)]
        )
    heads = [
        by, "jobs", "not done", "mean waiting time", "p99 waiting time", "mean completion", "mean bounded slowdown",
        unit, "fraction of all usage",
    ]
    more = (
        '<p class="note">and %s more</p>' % number(len(listed) - MOST_ROWS)
        if len(listed) > MOST_ROWS
        else ""
    )
    return table(heads, rows) + more


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _percentile(values: Any, percent: float) -> float:
    """As in the summary, linear between the two nearest values."""
    import numpy

    return float(numpy.percentile(values, percent)) if len(values) else float("nan")


def shapes(result: "Result") -> List[Tuple[Dict[str, Any], int]]:
    """The machine types, each with its number of machines."""
    found: Dict[Tuple[Any, ...], int] = {}
    for node in result._recipe.arguments["cluster"].get("nodes", ()):
        key = (
            node.get("gpus") or len(node.get("devices") or ()),
            _model(node),
            node.get("cpus", 0),
            node.get("mem_mib", 0),
        )
        found[key] = found.get(key, 0) + 1
    names = ("gpus", "model", "cpus", "mem_mib")
    return [(dict(zip(names, key)), count) for key, count in found.items()]


def _model(node: Mapping[str, Any]) -> str:
    given = [
        str(device.get("model") or "")
        for device in node.get("devices") or ()
        if isinstance(device, Mapping)
    ]
    return str(node.get("gpu_model") or " + ".join(sorted({one for one in given if one})))


def models(result: "Result") -> str:
    """A row a GPU model: the number of GPUs and their usage."""
    devices: Dict[str, float] = {}
    for shape, count in shapes(result):
        devices[shape["model"]] = devices.get(shape["model"], 0) + shape["gpus"] * count
    summary = result.summary()
    makespan = summary["makespan_s"]
    rows = []
    for name, numbers in summary.get("gpu_models", {}).items():
        there = devices.get(name, 0)
        used = numbers["gpu_s"] / (there * makespan) if there and makespan else float("nan")
        rows.append(
            [
                escape(name or "(no model)"),
                number(there) if there else NONE,
                number(numbers["gpu_s"] / 3600),
                _bar(used) if used == used else NONE,
            ]
        )
    return table(["model", "devices", "GPU-h", "of all devices, over the makespan"], rows, few=True)


# ---- waits -----------------------------------------------------------------------------------


def waited(result: "Result", listed: Sequence[Waited]) -> str:
    """The longest waits, with requests and reasons."""
    columns = {
        name: result.column(name) for name in ("tasks", "gpus", "cpus", "submit_s", "user", "queue")
    }
    rows = []
    for one in listed:
        i = one.job
        requested = "%s %s" % (
            number(columns["tasks"][i]),
            "task" if columns["tasks"][i] == 1 else "tasks",
        )
        requested += (
            ", %s GPUs" % number(columns["gpus"][i])
            if columns["gpus"][i]
            else ", %s cores" % number(columns["cpus"][i])
        )
        wait = span(one.wait_s) if one.started else "%s, still waits" % span(one.wait_s)
        words = [result.names[i], columns["user"][i] or NONE, columns["queue"][i] or NONE]
        rows.append(
            [*(escape(word) for word in words), escape(requested), escape(wait), escape(one.why)]
        )
    return table(
        ["job", "user", "queue", "requested", "waited", "why"], rows, words=3, last_word=True
    )


def refused(result: "Result") -> str:
    """Why jobs were refused: a row a reason, the most frequent first; "": no job was refused."""
    found: Dict[str, List[int]] = {}
    try:
        refusals = result.refused
    except NotSupported as error:
        return "<p>Not known: %s.</p>" % escape(str(error))
    for index, why in refusals.items():
        found.setdefault(why, []).append(index)
    listed = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [
        [number(len(jobs)), escape(result.names[min(jobs)]), escape(why)]
        for why, jobs in listed[:MOST_ROWS]
    ]
    more = (
        '<p class="note">and %s more reasons</p>' % number(len(listed) - MOST_ROWS)
        if len(listed) > MOST_ROWS
        else ""
    )
    return (
        table(["refused", "the first", "why"], rows, words=0, last_word=True) + more if rows else ""
    )


# ---- numbers ---------------------------------------------------------------------------------


def definitions(result: "Result") -> str:
    """All numbers of the summary with their definitions."""
    summary = result.summary()
    spreads, single = [], []
    for path, name, said, what in defined(result):
        value = lookup(summary, path)
        if isinstance(value, Mapping):
            spreads.append(
                [escape(name), *(escape(said(value.get(key))) for key in SPREAD), escape(what)]
            )
        elif value is not None:
            single.append([escape(name), escape(said(value)), escape(what)])
    first = table(["of jobs", *SPREAD, "definition"], spreads, last_word=True)
    return first + "<br>" + table(["number", "value", "definition"], single, last_word=True)


def meanings(result: "Result") -> str:
    """The definitions without the numbers."""
    return table(
        ["number", "definition"],
        [[escape(name), escape(what)] for _, name, _, what in defined(result)],
        words=2,
    )


# ---- several results -------------------------------------------------------------------------

#: Columns of a comparison: path, heading, format, best value (1: highest, -1: lowest, 0: none).
_COMPARED: Tuple[Tuple[Tuple[str, ...], str, Any, int], ...] = (
    (("jobs",), "jobs", number, 0),
    (("wait_s", "mean"), "mean waiting time", span, -1),
    (("wait_s", "p50"), "median", span, -1),
    (("wait_s", "p99"), "p99", span, -1),
    (("jct_s", "mean"), "mean completion", span, -1),
    (("bounded_slowdown", "mean"), "bounded slowdown", number, -1),
    (("makespan_s",), "makespan", span, -1),
    (("gpu_utilisation",), "GPU use", part, 1),
    (("cpu_utilisation",), "CPU use", part, 1),
    (("goodput",), "goodput", part, 1),
    (("preemptions",), "preempted", number, 0),
    (("jain",), "Jain", number, 1),
    (("refused",), "refused", number, 0),
    (("unfinished",), "unfinished", number, 0),
)


def compared(results: Mapping[str, "Result"]) -> str:
    """Summaries as a table, a row a result."""
    summaries = {label: result.summary() for label, result in results.items()}
    gpus = any(has_gpus(result) for result in results.values())
    shown = [
        row for row in _COMPARED if row[0][0] != ("cpu_utilisation" if gpus else "gpu_utilisation")
    ]
    best = [
        _best([lookup(summary, path) for summary in summaries.values()], sign)
        for path, _, _, sign in shown
    ]
    out = ['<div class="wide"><table><thead><tr><th class="w"></th>']
    out += ["<th>%s</th>" % escape(head) for _, head, _, _ in shown] + ["</tr></thead><tbody>"]
    for label, summary in summaries.items():
        out.append('<tr><td class="w">%s</td>' % escape(label))
        for (path, _, said, _), which in zip(shown, best):
            value = lookup(summary, path)
            mark = "n best" if which is not None and value == which else "n"
            out.append('<td class="%s">%s</td>' % (mark, escape(said(value))))
        out.append("</tr>")
    return "".join([*out, "</tbody></table></div>"])


def _best(values: Sequence[Any], sign: int) -> Any:
    """The best value; None if there is no best, or all are equal."""
    known = [value for value in values if value is not None]
    if not sign or len(set(known)) < 2:
        return None
    return max(known) if sign > 0 else min(known)


def by_queue(results: Mapping[str, "Result"]) -> str:
    """Mean waits: a row a queue, a column a result."""
    found: Dict[str, Dict[str, float]] = {}
    for label, result in results.items():
        codes, words, wait, done = (
            result._codes("queue"),
            result._word_list("queue"),
            waits(result),
            counts(result),
        )
        for code in sorted(set(codes.tolist())):
            name = words[code] if 0 <= code < len(words) and words[code] else "(none)"
            found.setdefault(name, {})[label] = _mean(wait[(codes == code) & done])
    rows = [
        [escape(name), *(span(means.get(label)) for label in results)]
        for name, means in list(found.items())[:MOST_ROWS]
    ]
    return table(["queue", *results], rows)
