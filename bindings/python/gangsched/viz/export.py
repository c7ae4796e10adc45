# SPDX-License-Identifier: Apache-2.0
"""Results in the formats of other programs."""

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Set, Union

from ..files import writer_for
from .lanes import Lanes, lanes

if TYPE_CHECKING:
    from ..sim.result import Result

Path = Union[str, "os.PathLike[str]"]


def perfetto(result: "Result", path: Path) -> None:
    """Write JSON trace events of Chrome, times in us. See :meth:`gangsched.Result.to_perfetto`."""
    with writer_for(path) as raw, io.TextIOWrapper(raw, encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        for i, event in enumerate(_events(result)):
            file.write(("" if i == 0 else ",\n") + json.dumps(event, ensure_ascii=False))
        file.write("\n]}\n")


def _events(result: "Result") -> Iterator[Dict[str, Any]]:
    shown = lanes(result)
    for number, name in enumerate(shown.nodes):
        yield {"ph": "M", "pid": number + 1, "name": "process_name", "args": {"name": name}}
        yield {
            "ph": "M",
            "pid": number + 1,
            "name": "process_sort_index",
            "args": {"sort_index": number},
        }
    queues, users = (result._codes(name) for name in ("queue", "user"))
    queue_words, user_words = [*result._word_list("queue"), ""], [*result._word_list("user"), ""]
    bases = [low for low, _ in shown.nodes.values()]
    for i, place in enumerate(shown.node.tolist()):
        index = int(shown.job[i])
        end = float(shown.end_s[i])
        end = result.info.now_s if end != end else end
        said = {
            "queue": queue_words[queues[index]],
            "user": user_words[users[index]],
            "index": index,
        }
        for lane in range(int(shown.low[i]), int(shown.high[i])):
            yield {
                "ph": "X",
                "pid": place + 1,
                "tid": lane - bases[place],
                "name": result.names[index],
                "ts": float(shown.begin_s[i]) * 1e6,
                "dur": (end - float(shown.begin_s[i])) * 1e6,
                "args": said,
            }
    for row in result.timeline.itertuples(index=False):
        yield {
            "ph": "C",
            "pid": 0,
            "name": "jobs",
            "ts": row.at_s * 1e6,
            "args": {"waiting": row.pending, "running": row.running},
        }


#: Batsim's words for the end of a job.
_FINAL = {
    "success": "COMPLETED_SUCCESSFULLY",
    "timeout": "COMPLETED_WALLTIME_REACHED",
    "refused": "REJECTED",
    "": "NOT_SUBMITTED",
}

_COLUMNS = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
)


def batsim(result: "Result", path: Path) -> None:
    """Write jobs.csv of Batsim. See :meth:`gangsched.Result.to_batsim`."""
    places = _resources(lanes(result), len(result))
    with writer_for(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(_COLUMNS)
        for i, job in enumerate(result.jobs.itertuples(index=False)):
            ran = job.start_s == job.start_s and job.end_s == job.end_s  # both are numbers
            row: List[Any] = [job.job, "w0", str(i), job.submit_s, int(job.gpus or job.cpus)]
            row += [
                job.time_limit_s or -1,
                int(job.end == "success"),
                _FINAL.get(job.end, "COMPLETED_FAILED"),
            ]
            if ran:
                took, whole = job.end_s - job.start_s, job.end_s - job.submit_s
                row += [
                    job.start_s,
                    took,
                    job.end_s,
                    job.start_s - job.submit_s,
                    whole,
                    whole / took if took else "",
                ]
            else:
                row += [""] * 6
            out.writerow([*row, places[i]])


def _resources(shown: Lanes, jobs: int) -> List[str]:
    """The lanes that each job had, as "0-3 8"."""
    spans: Dict[int, Set[int]] = {}
    for index, low, high in zip(shown.job.tolist(), shown.low.tolist(), shown.high.tolist()):
        spans.setdefault(index, set()).update(range(low, high))
    return [_intervals(sorted(spans.get(i, ()))) for i in range(jobs)]


def _intervals(numbers: List[int]) -> str:
    out: List[str] = []
    begin = 0
    for i, number in enumerate(numbers):
        if i + 1 == len(numbers) or numbers[i + 1] != number + 1:
            out.append(str(number) if begin == i else "%d-%d" % (numbers[begin], number))
            begin = i + 1
    return " ".join(out)
