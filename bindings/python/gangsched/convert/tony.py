# SPDX-License-Identifier: Apache-2.0
"""TonY's ``tony.xml``: one job.

``X`` is a job type: worker, ps, chief, ...

==============================================  ====================================================
TonY                                            scenario
==============================================  ====================================================
``tony.application.name``                       ``jobs[].name``; else the name of the file
``tony.X.instances``                            a task group X with ``count``; none of a type with 0
``tony.X.memory`` (2g), ``.vcores`` (1),        ``mem_mib``, ``cpu``, ``gpu``
``.gpus``
``tony.X.node-label``,                          ``partition``
``tony.application.node-label``
``tony.application.distributed-mode`` = GANG    all tasks are the gang; FCFS: ``min`` 1
``tony.application.prepare-stage``,             ``after``: the types of the second wait for the end
``training-stage``                              of those of the first that are tracked
``tony.X.depends-on``                           ``after``
``tony.application.untracked.jobtypes`` (ps)    ``role: untracked``
``tony.application.sidecar.jobtypes``           ``role: sidecar``
(tensorboard)
``tony.application.stop-on-failure-jobtypes``,  ``role: critical``
``...fail-on-worker-failure-enabled``
type chief                                      ``role: chief``
``tony.yarn.queue`` (default)                   ``queue``
``tony.application.timeout``                    ``time_limit_s``
``tony.container.allocation.timeout``           ``start_within_s``, in mode GANG
``tony.task.heartbeat-interval-ms`` times the   ``heartbeat_s``
larger of 3 and ``max-missed-heartbeats`` (25)
``tony.am.retry-count``                         ``loss: restart``, ``max_restarts``
``tony.task.max-total-*``,                      checked: a job above them is refused, as TonY does
``tony.X.max-instances``
==============================================  ====================================================

Everything else becomes a warning.
"""
from __future__ import annotations

import os.path
import re
from fractions import Fraction
from typing import Any, Dict, List, Optional, Sequence, Set

from ._base import (
    MAX_AMOUNT, MAX_CPUS, MAX_GPUS, MAX_TASKS, MIB, ConvertError, Json, Part, Report, Source,
    boolean, integer, name, number, place_jobs, put_memory, quote, seconds,
)
from ._xml import Configuration
from ._yarn import split_list

_TYPE = re.compile(r"tony\.([A-Za-z][A-Za-z0-9_-]*)\.instances")
#: Words after "tony." that are no job types.
_NOT_TYPES = {
    "application", "am", "task", "yarn", "container", "history", "docker", "keytab", "client",
    "executor", "https", "http", "secret", "security", "horovod", "scheduler", "other", "portal",
    "version-info",
}
_MEMORY = re.compile(r"([0-9]+)\s*([kmgtKMGT]?)[bB]?")
_UNITS = {"": 1, "m": 1, "g": 1024, "t": 1024 * 1024}


def _mib(place: str, text: str) -> int:
    match = _MEMORY.fullmatch(text.strip())
    if not match or match.group(2).lower() not in _UNITS:
        raise ConvertError(place, "not an amount of memory: %s" % quote(text))
    return integer(place, match.group(1), 0, MAX_AMOUNT) * _UNITS[match.group(2).lower()]


class _Converter:
    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        self.report = report
        self.conf = Configuration(report)
        self.file = sources[0].name
        for source in sources:
            self.conf.read(source)
        self.types: List[str] = []
        for key in list(self.conf.properties):
            match = _TYPE.fullmatch(key)
            if match and match.group(1) not in _NOT_TYPES and self.count(match.group(1)) > 0:
                self.types.append(match.group(1))
        if not self.types:
            raise ConvertError(self.file, "no tony.X.instances above 0: there are no tasks")

    def text(self, key: str, default: Optional[str] = None) -> Optional[str]:
        return self.conf.get(key) or default

    def place(self, key: str) -> str:
        return self.conf.place(key)

    def count(self, kind: str) -> int:
        key = "tony.%s.instances" % kind
        return integer(self.place(key), self.text(key, "0"), 0, MAX_TASKS)

    def listed(self, key: str, default: str = "") -> List[str]:
        return split_list(self.text(key, default))

    # -- tasks --

    def task(self, kind: str) -> Json:
        key = "tony.%s." % kind
        out: Json = {"name": name(self.place(key + "instances"), kind), "count": self.count(kind)}
        cores = integer(self.place(key + "vcores"), self.text(key + "vcores", "1"), 0, MAX_CPUS)
        if cores:
            out["cpu"] = cores
        put_memory(
            self.place(key + "memory"),
            out,
            Fraction(_mib(self.place(key + "memory"), self.text(key + "memory", "2g") or "")) * MIB,
        )
        gpus = integer(self.place(key + "gpus"), self.text(key + "gpus", "0"), 0, MAX_GPUS)
        if gpus:
            out["gpu"] = gpus
        label = (
            key + "node-label" if self.text(key + "node-label") else "tony.application.node-label"
        )
        if self.text(label):
            out["partition"] = name(self.place(label), self.text(label), "label")
        most = integer(
            self.place(key + "max-instances"),
            self.text(key + "max-instances", "-1"),
            -1,
            MAX_AMOUNT,
        )
        if 0 <= most < out["count"]:
            raise ConvertError(
                self.place(key + "max-instances"), "%d: the job has %d" % (most, out["count"])
            )
        return out

    def check_totals(self, tasks: Sequence[Json]) -> None:
        for member, word in (
            ("", "instances"),
            ("gpu", "gpus"),
            ("cpu", "vcores"),
            ("mem_mib", "memory"),
        ):
            key = "tony.task.max-total-" + word
            text = self.text(key)
            if text is None:
                continue
            most = (
                _mib(self.place(key), text)
                if word == "memory"
                else integer(self.place(key), text, -1, MAX_AMOUNT)
            )
            requested = sum(
                task["count"] * (task.get(member, 0) if member else 1) for task in tasks
            )
            if 0 <= most < requested:
                raise ConvertError(self.place(key), "%d: the job requests %d" % (most, requested))
        if sum(task["count"] for task in tasks) > MAX_TASKS:
            raise ConvertError(self.file, "more than %d tasks" % MAX_TASKS)

    def roles(self) -> Dict[str, str]:
        out: Dict[str, str] = {}
        if boolean(self.place("tony.application.fail-on-worker-failure-enabled"),
                   self.text("tony.application.fail-on-worker-failure-enabled", "false")):
            out["worker"] = "critical"
        out.update(
            {kind: "critical" for kind in self.listed("tony.application.stop-on-failure-jobtypes")}
        )
        out.update(
            {kind: "untracked" for kind in self.listed("tony.application.untracked.jobtypes", "ps")}
        )
        out.update(
            {
                kind: "sidecar"
                for kind in self.listed("tony.application.sidecar.jobtypes", "tensorboard")
            }
        )
        if "chief" in self.types:
            out["chief"] = "chief"
        elif "worker" in self.types:
            self.report.warn("%s: tony.worker.instances" % self.file,
                             "worker:0 is the chief in TonY; here no task of a group is apart")
        return out

    def waits(self, roles: Dict[str, str]) -> Dict[str, Set[str]]:
        """The types that each type waits for."""
        out: Dict[str, Set[str]] = {}
        first, second = "tony.application.prepare-stage", "tony.application.training-stage"
        prepare, training = self.listed(first), self.listed(second)
        if prepare and not training:
            training = [kind for kind in self.types if kind not in prepare]
        elif training and not prepare:
            prepare = [kind for kind in self.types if kind not in training]
        for key, kinds in ((first, prepare), (second, training)):
            for kind in kinds:
                if kind not in self.types:
                    self.report.warn(self.place(key), "%s has no instances" % quote(kind))
        missing = [kind for kind in self.types if kind not in prepare and kind not in training]
        if prepare and missing:
            raise ConvertError(self.place(first), "neither stage has %s" % quote(missing[0]))
        before = {
            kind
            for kind in prepare
            if kind in self.types and roles.get(kind) not in ("untracked", "sidecar")
        }
        for kind in training:
            out[kind] = before - {kind}
        for kind in self.types:
            key = "tony.%s.depends-on" % kind
            for other in self.listed(key):
                if other not in self.types:
                    raise ConvertError(self.place(key), "no such job type: %s" % quote(other))
                out.setdefault(kind, set()).add(other)
        self._check_cycles(out)
        return out

    def _check_cycles(self, waits: Dict[str, Set[str]]) -> None:
        left = {kind: set(waits.get(kind, ())) for kind in self.types}
        while left:
            ready = [kind for kind, others in left.items() if not others & set(left)]
            if not ready:
                raise ConvertError("%s: depends-on" % self.file,
                                   "job types wait for each other: %s" % ", ".join(sorted(left)))
            for kind in ready:
                del left[kind]

    # -- the job --

    def convert(self) -> Part:
        key = "tony.application.name"
        stem = (
            "tony"
            if self.file.startswith("<")
            else os.path.splitext(os.path.basename(self.file))[0]
        )
        job: Json = {"name": name(self.place(key), self.text(key, stem))}
        roles = self.roles()
        tasks = [self.task(kind) for kind in self.types]
        self.check_totals(tasks)
        waits = self.waits(roles)
        for task in tasks:
            if roles.get(task["name"]):
                task["role"] = roles[task["name"]]
            others = [
                {"group": kind, "when": "end"}
                for kind in self.types
                if kind in waits.get(task["name"], ())
            ]
            if others:
                task["after"] = others
        self._whole(job)
        if "min" in job and any("after" in task for task in tasks):
            del job["min"]  # groups that do not start together have no common minimum
            for task in tasks:
                task["min"] = 1
        job["tasks"] = tasks
        partitions = sorted({task["partition"] for task in tasks if "partition" in task})
        queue = name(
            self.place("tony.yarn.queue"), self.text("tony.yarn.queue", "default"), "queue"
        )
        self._unused()
        scenario: Json = {"jobs": [job]}

        def finish(merged: Json, _report: Report) -> None:
            place_jobs(merged, [(job, queue, self.place("tony.yarn.queue"))])
            have = {one["name"] for one in merged.get("partitions", [])}
            for partition in partitions:
                if partition not in have:
                    merged.setdefault("partitions", []).append(
                        {"name": partition, "mode": "exclusive"}
                    )
        return Part(scenario, [finish])

    def _whole(self, job: Json) -> None:
        key = "tony.application.distributed-mode"
        mode = (self.text(key, "GANG") or "").upper()
        if mode not in ("GANG", "FCFS"):
            raise ConvertError(self.place(key), "neither GANG nor FCFS: %s" % quote(mode))
        if mode == "FCFS":
            job["min"] = 1
        for key, member in (("tony.application.timeout", "time_limit_s"),
                            ("tony.container.allocation.timeout", "start_within_s")):
            value = self._time(key, "0")
            if value and (mode == "GANG" or member != "start_within_s"):
                job[member] = seconds(self.place(key), value)
            elif value:
                self.report.warn(self.place(key), "applies to mode GANG only")
        beat, missed = "tony.task.heartbeat-interval-ms", "tony.task.max-missed-heartbeats"
        if self.text(beat) or self.text(missed):
            every = self._time(beat, "1000")
            job["heartbeat_s"] = seconds(self.place(beat), every * max(3, integer(
                self.place(missed), self.text(missed, "25"), 0, MAX_AMOUNT)))
        retries = integer(self.place("tony.am.retry-count"), self.text("tony.am.retry-count", "0"))
        if retries:
            job["loss"] = "restart"
            job["max_restarts"] = retries
        tags = self.listed("tony.application.tags")
        if tags:
            job["labels"] = {
                name(self.place("tony.application.tags"), tag, "tag"): "" for tag in tags[:64]
            }

    def _time(self, key: str, default: str) -> Fraction:
        value: Any = self.text(key, default)
        return max(Fraction(0), number(self.place(key), value, -1, 10 ** 12) / 1000)

    def _unused(self) -> None:
        for prop in self.conf.unused():
            words = prop.key.split(".")
            if (
                words[-1] == "instances"
                or len(words) > 2
                and words[1] == "application"
                and words[2] in ("dependency", "group")
            ):
                self.report.warn(
                    prop.place,
                    "no counterpart: groups wait for each other, but not for so long"
                    if words[-1] != "instances"
                    else "no counterpart",
                )
            elif words[-1] in ("placement-spec", "allocation-tags"):
                self.report.warn(
                    prop.place,
                    "no counterpart: say it with `spread` or `max_per_node` of the tasks",
                )
            elif words[:2] == ["tony", "am"] and words[-1] in ("memory", "vcores", "gpus"):
                self.report.warn(
                    prop.place, "no counterpart: the gang has no leader besides its tasks"
                )
            elif prop.key.startswith(
                ("tony.application.", "tony.task.", "tony.container.", "tony.yarn.")
            ) and words[-1] not in ("framework", "docker", "image", "enabled", "command"):
                self.report.warn(prop.place, "no counterpart")
            else:
                self.report.aside(prop.file, prop.key)


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert ``tony.xml``."""
    return _Converter(sources, report).convert()
