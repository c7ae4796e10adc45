# SPDX-License-Identifier: Apache-2.0
"""Workloads like that of a trace, as long and as heavy as wanted."""

import random
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .errors import InvalidArgument
from .trace import Trace, as_trace
from .vocabulary import in_seconds

WEEK_S = 7 * 86400.0
HOUR_S = 3600.0

#: Times of what happened in the past; they mean nothing for a job that moved.
_RECORDED = ("start_s", "end")

#: Jobs that stay together: a week of a user; without users, an hour of a week.
_Stream = Tuple[str, Any]


def resample(
    trace: Any,
    *,
    weeks: Optional[int] = None,
    load: float = 1.0,
    seed: int = 0,
    week_s: float = WEEK_S,
) -> Trace:
    """A new trace made of the weeks of users of another one.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"submit_s": 3600 * i, "run_s": 60, "user": "u%d" % (i % 3)}
    ...                  for i in range(100)])
    >>> busy = gs.resample(jobs, weeks=8, load=1.2, seed=1)
    >>> len(busy) > 8 * len(jobs)
    True

    ::

        gs.sweep(run, {"seed": range(30)})        # run() simulates resample(trace, seed=seed)

    For each week of the new trace, users' weeks are drawn with replacement: all jobs that one user
    submitted in one week of the trace, at the same times of the week. So bursts, days and nights,
    and the habits of each user stay, while the mix differs (Zakay and Feitelson, Workload
    resampling for performance evaluation of parallel job schedulers, Concurrency and Computation
    26(12), 2014). Jobs without a user are drawn by the hour of the week.

    Parameters
    ----------
    trace
        The jobs, or the path of a trace.
    weeks : int, optional
        Length of the new trace; None: as many weeks as the trace has, begun ones included.
    load : float
        Active users a week, as a multiple of the average of the trace; above 0. The average is
        rounded up or down by chance, so that it holds over many weeks.
    seed : int
        Of the draws. The same seed gives the same trace.
    week_s : float
        Seconds of a week, for traces in other units; at least an hour.

    Returns
    -------
    Trace
        The jobs by time of submission, named ``WEEK.N/NAME``. They have no recorded start and end.
        Its epoch, if the trace has one, is the begin of the first week.

    Raises
    ------
    InvalidArgument
        No jobs; or a parameter out of range.

    Notes
    -----
    A trace does not say which jobs waited for others; the times of submission stay as they were.
    O(jobs).
    """
    trace = as_trace(trace)
    jobs = [in_seconds(job) for job in trace]
    if not jobs:
        raise InvalidArgument("trace: no jobs", path="trace")
    for name, fine in (
        ("weeks", weeks is None or (isinstance(weeks, int) and weeks >= 1)),
        ("load", 0 < load < float("inf")),
        ("week_s", HOUR_S <= week_s < float("inf")),
    ):
        if not fine:
            raise InvalidArgument("%s is out of range" % name, path=name)
    first = min(job["submit_s"] for job in jobs)
    first -= first % week_s
    streams: Dict[_Stream, List[int]] = {}
    for i, job in enumerate(jobs):
        streams.setdefault(_stream_of(job, first, week_s), []).append(i)
    pairs = sorted(streams, key=repr)
    known = 1 + max(int((job["submit_s"] - first) // week_s) for job in jobs)
    draw = random.Random(seed)
    made: List[Tuple[float, Dict[str, Any]]] = []
    for week in range(known if weeks is None else weeks):
        wanted = load * len(pairs) / known
        count = int(wanted) + (draw.random() < wanted % 1)
        for number in range(count):
            for i in streams[draw.choice(pairs)]:
                made.append(_moved(jobs[i], week, number, first, week_s))
    epoch = None if trace.epoch is None else trace.dates(first)
    return Trace((job for _, job in sorted(made, key=lambda one: one[0])), epoch=epoch)


def _stream_of(job: Mapping[str, Any], first: float, week_s: float) -> _Stream:
    week = int((job["submit_s"] - first) // week_s)
    user = job.get("user")
    hour = int((job["submit_s"] - first) % week_s // HOUR_S)
    return ("user", (user, week)) if user else ("hour", (hour, week))


def _moved(
    job: Mapping[str, Any], week: int, number: int, first: float, week_s: float
) -> Tuple[float, Dict[str, Any]]:
    at = week * week_s + (job["submit_s"] - first) % week_s
    made = {key: value for key, value in job.items() if key not in _RECORDED}
    made.update(job="%d.%d/%s" % (week, number, job["job"]), submit_s=at)
    return at, made


__all__ = ["resample"]
