# SPDX-License-Identifier: Apache-2.0
"""Formats of a report for times, amounts and fractions; and the definitions of the numbers."""

import math
from typing import Any, List, Mapping, Sequence, Tuple

NONE = "–"

_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def span(seconds: Any) -> str:
    """A span of time with three digits, in a suitable unit."""
    if missing(seconds):
        return NONE
    value = float(seconds)
    scale, unit = next((pair for pair in _UNITS if abs(value) >= pair[0]), _UNITS[-1])
    return "%s %s" % (number(value / scale), unit)


def number(value: Any) -> str:
    """A number: three digits if small, all integer digits with separators if large."""
    if missing(value):
        return NONE
    size = abs(float(value))
    if size >= 100 or float(value) == int(value):
        return "{:,.0f}".format(float(value))
    return "%.1f" % value if size >= 10 else "%.2f" % value if size >= 0.005 else "%.2g" % value


def part(value: Any) -> str:
    """A fraction in percent."""
    return NONE if missing(value) else "%.1f %%" % (100 * float(value))


def step_of(last: float, max_marks: int = 8) -> Tuple[float, float, str]:
    """The marks of a time axis up to ``last`` seconds: distance in seconds, seconds of the unit,
    its name.
    """
    scale, unit = next((pair for pair in _UNITS if last >= 3 * pair[0]), _UNITS[-1])
    wanted = last / scale / max_marks
    steps: Sequence[float] = (
        0.001,
        0.01,
        0.1,
        0.2,
        0.5,
        1,
        2,
        3,
        5,
        6,
        10,
        12,
        15,
        20,
        30,
        50,
        100,
        200,
        500,
        1000,
        2000,
        5000,
        1e4,
    )
    step = next((one for one in steps if one >= wanted), wanted)
    return step * scale, scale, {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}[unit]


#: Numbers of a summary: path, name, format, definition (sim.h, "statistics").
DEFINED: Tuple[Tuple[Tuple[str, ...], str, Any, str], ...] = (
    (
        ("jobs",),
        "jobs",
        number,
        "jobs that succeeded or reached their time limit; all distributions are over these",
    ),
    (("failed",), "failed", number, "ended otherwise"),
    (
        ("refused",),
        "refused",
        number,
        "jobs that could never run, or that their queue did not accept",
    ),
    (
        ("unfinished",),
        "unfinished",
        number,
        "jobs not yet submitted, waiting or running at the end",
    ),
    (("wait_s",), "waiting time", span, "from submission to the first start"),
    (("queue_s",), "total queueing time", span, "time neither running nor suspended, also between two starts"),
    (("jct_s",), "job completion time", span, "from submission to the end"),
    (
        ("slowdown",),
        "slowdown",
        number,
        "completion time over run time; without jobs of run time 0",
    ),
    (
        ("bounded_slowdown",),
        "bounded slowdown",
        number,
        "max(1, completion time over max(run time, 10 s)) (Feitelson et al. 1997)",
    ),
    (("makespan_s",), "makespan", span, "from the first submission to the last end"),
    (
        ("gpu_utilisation",),
        "GPU utilisation",
        part,
        "used over available, from the first submission to the last end",
    ),
    (("cpu_utilisation",), "CPU utilisation", part, "the same of cores"),
    (("memory_utilisation",), "memory utilisation", part, "the same of memory"),
    (
        ("fragmentation",),
        "fragmentation",
        part,
        "fraction of the free GPUs that are on partly used nodes; mean over time",
    ),
    (
        ("goodput",),
        "goodput",
        part,
        "fraction of the usage that was useful work: neither lost nor spent on restarts",
    ),
    (("preemptions",), "preemptions", number, "over all jobs"),
    (("failures",), "failures", number, "failures of nodes and tasks that hit jobs"),
    (
        ("lost_gpu_s",),
        "lost work",
        lambda value: number(value / 3600) + " GPU-h",
        "work of preempted and failed jobs since their last checkpoint",
    ),
    (
        ("jain",),
        "fairness (Jain)",
        number,
        "Jain's index of users' mean bounded slowdowns: 1 is equal, 1 over the number of users the worst",
    ),
    (
        ("finish_fairness_mean",),
        "finish-time fairness, mean",
        number,
        "completion time over that with an equal share of the cluster for each active user (Themis, NSDI 2020)",
    ),
    (("finish_fairness_max",), "finish-time fairness, worst", number, "the same, of the worst job"),
)

SPREAD = ("mean", "p50", "p90", "p95", "p99", "max")


def has_gpus(result: Any) -> bool:
    return bool(result.capacity.get("gpus"))


def defined(result: Any) -> List[Tuple[Tuple[str, ...], str, Any, str]]:
    """The numbers that mean something for a cluster."""
    skip = () if has_gpus(result) else ("gpu_utilisation", "fragmentation", "lost_gpu_s")
    return [row for row in DEFINED if row[0][0] not in skip]


def lookup(summary: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = summary
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
