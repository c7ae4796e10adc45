# SPDX-License-Identifier: Apache-2.0
"""How a report says numbers: spans of time, amounts, parts; and what each number of a summary is."""

import math
from typing import Any, List, Mapping, Sequence, Tuple

NONE = "–"

_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def span(seconds: Any) -> str:
    """A span of time with three digits, in the unit in which it reads well."""
    if missing(seconds):
        return NONE
    value = float(seconds)
    scale, unit = next((pair for pair in _UNITS if abs(value) >= pair[0]), _UNITS[-1])
    return "%s %s" % (number(value / scale), unit)


def number(value: Any) -> str:
    """Three digits of a small number, all of the whole part of a large one, thousands apart."""
    if missing(value):
        return NONE
    size = abs(float(value))
    if size >= 100 or float(value) == int(value):
        return "{:,.0f}".format(float(value))
    return "%.1f" % value if size >= 10 else "%.2f" % value if size >= 0.005 else "%.2g" % value


def part(value: Any) -> str:
    """A part of one, in percent."""
    return NONE if missing(value) else "%.1f %%" % (100 * float(value))


def step_of(last: float, most: int = 8) -> Tuple[float, float, str]:
    """Marks of a time axis that goes up to ``last`` seconds: seconds between two, seconds of their unit, its name."""
    scale, unit = next((pair for pair in _UNITS if last >= 3 * pair[0]), _UNITS[-1])
    wanted = last / scale / most
    steps: Sequence[float] = (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 3, 5, 6, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 1e4)
    step = next((one for one in steps if one >= wanted), wanted)
    return step * scale, scale, {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}[unit]


#: Numbers of a summary: path, name, how it is said, what it is (sim.h, "statistics").
DEFINED: Tuple[Tuple[Tuple[str, ...], str, Any, str], ...] = (
    (("jobs",), "jobs", number, "that ended well, or at their time limit; all distributions are over these"),
    (("failed",), "failed", number, "ended otherwise"),
    (("refused",), "refused", number, "not accepted: they could never run, or their queue does not take them"),
    (("unfinished",), "unfinished", number, "still to come, waiting or running at the end"),
    (("wait_s",), "wait", span, "from submission to the first start"),
    (("queue_s",), "queued", span, "neither running nor suspended, with the waits between two starts"),
    (("jct_s",), "job completion time", span, "from submission to the end"),
    (("slowdown",), "slowdown", number, "completion time over run time; jobs of no run time are left out"),
    (("bounded_slowdown",), "bounded slowdown", number,
     "max(1, completion time over max(run time, 10 s)) (Feitelson et al. 1997)"),
    (("makespan_s",), "makespan", span, "from the first submission to the last end"),
    (("gpu_utilisation",), "GPU utilisation", part, "used over what was up, from the first submission to the last end"),
    (("cpu_utilisation",), "CPU utilisation", part, "the same of cores"),
    (("memory_utilisation",), "memory utilisation", part, "the same of memory"),
    (("fragmentation",), "fragmentation", part, "of the GPUs that are free, those on nodes where some are taken; mean over time"),
    (("goodput",), "goodput", part, "of what was used, work that counted: neither lost nor for a restart"),
    (("preemptions",), "preemptions", number, "over all jobs"),
    (("failures",), "failures", number, "of nodes and tasks that hit jobs"),
    (("lost_gpu_s",), "lost work", lambda value: number(value / 3600) + " GPU-h", "of preempted and failed jobs since their last checkpoint"),
    (("jain",), "fairness (Jain)", number,
     "Jain's index of users' mean bounded slowdowns: 1 is equal, 1 over the number of users the worst"),
    (("finish_fairness_mean",), "finish-time fairness, mean", number,
     "completion time over what it would be with an equal part of the cluster for each user at work (Themis, NSDI 2020)"),
    (("finish_fairness_max",), "finish-time fairness, worst", number, "the same, of the job that has it worst"),
)

SPREAD = ("mean", "p50", "p90", "p95", "p99", "max")


def has_gpus(result: Any) -> bool:
    return bool(result.capacity.get("gpus"))


def defined(result: Any) -> List[Tuple[Tuple[str, ...], str, Any, str]]:
    """Those that mean something for its cluster."""
    skip = () if has_gpus(result) else ("gpu_utilisation", "fragmentation", "lost_gpu_s")
    return [row for row in DEFINED if row[0][0] not in skip]


def lookup(summary: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = summary
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
