# SPDX-License-Identifier: Apache-2.0
"""One set of names for jobs, requests and tables, and the names that some of them had before.

===================  ==========================================================================
``count``            tasks of a group (of a job with one group: of the job)
``cpu``              cores of one task
``mem_mib``          MiB of one task; in tables of whole jobs: of all its tasks
``gpu``              GPUs of one task: whole ones, or a share below 1 of each of ``gpu_devices``
``tasks``            in a job: its groups, a list of dicts; in tables: the number of all tasks
``cpus``, ``gpus``   cores and GPUs of all tasks, or of a node
``time_limit_s``     seconds that a job may run
===================  ==========================================================================

A trace, a request, a submitted job, a policy and a file say the same: one for one task, the plural
for all of them.
"""

import re
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Set, Tuple

from ._lazy import deprecated
from .errors import InvalidArgument

#: Members of a job of a trace in version 0.1, with the names of now.
BEFORE = {
    "limit_s": "time_limit_s",
    "limit_ns": "time_limit_ns",
    "gpus": "gpu",
    "gpu_milli": "gpu",
    "groups": "tasks",
    "group": "name",
}

#: Columns of tables in version 0.1, with the names of now.
COLUMNS_BEFORE = {"limit_s": "time_limit_s"}

AMOUNTS = ("task", "job")


class TraceJob(Dict[str, Any]):
    """A job of a trace, or a group of its tasks, as a dict.

    Members have the names of :mod:`gangsched.vocabulary`. Those of version 0.1 can still be read,
    with a ``DeprecationWarning``.

    >>> import gangsched as gs
    >>> gs.Trace([{"job": "a", "submit_s": 0, "run_s": 60, "count": 2, "gpu": 0.5}])[0]
    {'job': 'a', 'submit_s': 0, 'run_s': 60, 'count': 2, 'gpu': 0.5}
    """

    def __missing__(self, key: str) -> Any:
        new, value = self._before(key)
        if new is None:
            raise KeyError(key)
        deprecated("the member %s of a job" % key, new)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """The member; ``default`` if there is none."""
        if key in self:
            return self[key]
        new, value = self._before(key)
        if new is None:
            return default
        deprecated("the member %s of a job" % key, new)
        return value

    def _before(self, key: str) -> Tuple[Optional[str], Any]:
        """The name of now, and the value as version 0.1 had it; None: it had none."""
        gpu = dict.get(self, "gpu", 0)
        if key == "tasks" and "count" in self:
            return "count", self["count"]
        if key == "gpus" and gpu:
            return "gpu", int(gpu) if gpu >= 1 else dict.get(self, "gpu_devices", 1)
        if key == "gpu_milli" and 0 < gpu < 1:
            return "gpu", round(1000 * gpu)
        if key in ("limit_s", "limit_ns", "groups", "group") and BEFORE[key] in self:
            return BEFORE[key], self[BEFORE[key]]
        return None, None


def in_seconds(job: Mapping[str, Any]) -> Dict[str, Any]:
    """A job of a trace with all its times in seconds: those that a float does not hold are ns."""
    exact = [key for key in job if key.endswith("_ns")]
    rest = {key: value for key, value in job.items() if key not in exact}
    return {**rest, **{key[:-3] + "_s": job[key] / 1e9 for key in exact}}


#: What a trace says of the past of a job.
_RECORDED = ("submit_s", "submit_ns", "run_s", "run_ns", "start_s", "start_ns", "end", "end_s")

#: Members that the one group of a flat job has.
_OF_GROUP = ("count", "min", "cpu", "mem_mib", "gpu", "gpu_devices", "gpu_models", "partition")


def request_members(job: Any) -> Dict[str, Any]:
    """The members of a request for a job of a trace, or for a row of its table."""
    given = dict(job.to_dict() if hasattr(job, "to_dict") else job)
    given = {key: value for key, value in given.items() if not _is_missing(value)}
    warn_of({"limit_s"} & set(given) if "cpus" in given else old_members(given))
    made = {key: value for key, value in _of_now(given).items() if key not in _RECORDED}
    if "time_limit_ns" in made:
        made["time_limit_s"] = made.pop("time_limit_ns") / 1e9
    if "job" in made:
        made["name"] = str(made.pop("job"))
    named = made.pop("group", None)
    groups = made.get("tasks")
    if named and groups is None:
        groups = [{"name": named, **{key: made.pop(key) for key in _OF_GROUP if key in made}}]
    if groups is not None:
        made["tasks"] = [_with_models(_of_now(group)) for group in groups]
    known = {*_OF_GROUP, "name", "queue", "user", "priority", "preemptible", "time_limit_s", "tasks"}
    return _with_models({key: value for key, value in made.items() if key in known and value != ""})


def _nonzero(members: Dict[str, Any]) -> Dict[str, Any]:
    """Without amounts of 0, which a request need not name."""
    none = [key for key in ("cpu", "mem_mib", "gpu") if key in members and not members[key]]
    return {key: value for key, value in members.items() if key not in none}


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _with_models(members: Dict[str, Any]) -> Dict[str, Any]:
    models = members.get("gpu_models")
    return {**members, "gpu_models": models.split("|")} if isinstance(models, str) else members


def _of_now(members: Mapping[str, Any]) -> Dict[str, Any]:
    """A job or a group with the names of now, amounts of one task."""
    made = dict(members)
    if "cpus" in made:  # a row of a table: of all tasks
        tasks = int(made.pop("tasks", 1)) or 1
        made.update(count=tasks, cpu=made.pop("cpus") / tasks)
        made["gpu"] = round(made.pop("gpus", 0) / tasks, 3)
        made["mem_mib"] = made.get("mem_mib", 0) / tasks
        made = _nonzero(made)
    if "limit_s" in made:
        made["time_limit_s"] = made.pop("limit_s")
    if "limit_ns" in made:
        made["time_limit_ns"] = made.pop("limit_ns")
    if "groups" in made:
        made["tasks"] = made.pop("groups")
        made["tasks"] = [
            {"name" if key == "group" else key: value for key, value in group.items()}
            for group in made["tasks"]
        ]
    elif "tasks" in made and not isinstance(made["tasks"], (list, tuple)):
        made["count"] = made.pop("tasks")
    if "gpus" in made or "gpu_milli" in made:
        milli = made.pop("gpu_milli", 1000)
        devices = made.pop("gpus", 1)
        made["gpu"] = devices if milli >= 1000 else milli / 1000 if devices else 0
        if milli < 1000 and devices > 1:
            made["gpu_devices"] = devices
    return made


class Renamed(Dict[str, Any]):
    """A dict whose members can still be read by the names that they had before, with a warning."""

    def __init__(self, members: Mapping[str, Any], before: Mapping[str, str]) -> None:
        super().__init__(members)
        self._before = before

    def __missing__(self, key: str) -> Any:
        if key not in self._before or self._before[key] not in self:
            raise KeyError(key)
        deprecated(key, self._before[key])
        return self[self._before[key]]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def old_members(job: Mapping[str, Any]) -> Set[str]:
    """The members of a job of a trace, as a dict, that have names of version 0.1."""
    found = set(job) & {"limit_s", "limit_ns", "gpus", "gpu_milli", "groups"}
    groups = next((job[key] for key in ("groups", "tasks") if key in job), None)
    if isinstance(groups, (list, tuple)):
        for group in groups:
            if isinstance(group, Mapping):
                found |= old_members(group)
    elif "tasks" in job:
        found.add("tasks")
    return found


#: Bytes of a file that are searched for old names.
_LOOKED_AT = 4 << 20

_IN_JSON = re.compile(rb'"(limit_s|limit_ns|gpus|gpu_milli|groups)"\s*:|"(tasks)"\s*:\s*\d')


def old_in_text(content: bytes, format: str) -> Set[str]:
    """The names of version 0.1 in a trace of the library's own formats: in its first megabytes."""
    content = content[:_LOOKED_AT]
    if format == "csv":
        header = content.lstrip(b"\xef\xbb\xbf\r\n \t").split(b"\n", 1)[0]
        columns = {name.strip().strip(b'"').decode("utf-8", "replace") for name in header.split(b",")}
        return columns & {"limit_s", "gpus", "gpu_milli", "tasks"}
    if format == "jsonl" and _IN_JSON.search(content):
        return {(one or two).decode() for one, two in set(_IN_JSON.findall(content))}
    return set()


def warn_of(names: Set[str]) -> None:
    """Warn of names of version 0.1 in a trace."""
    for name in sorted(names):
        deprecated("the member %s of a job" % name, BEFORE.get(name, "count"))


def column_now(name: str) -> str:
    """The name of a column now, with a warning if it has another one."""
    if name in COLUMNS_BEFORE:
        deprecated("the column %s" % name, COLUMNS_BEFORE[name])
    return COLUMNS_BEFORE.get(name, name)


def check_amounts(amounts: str) -> None:
    """Refuse another word than ``task`` and ``job``.

    Raises
    ------
    InvalidArgument
        With the argument as path.
    """
    if amounts not in AMOUNTS:
        raise InvalidArgument(
            "amounts: expected 'task' or 'job', not %r" % (amounts,), path="amounts"
        )


def amounts_of(column: Callable[[str], Any], amounts: str) -> Dict[str, Any]:
    """The columns of a table of jobs that are amounts: of all tasks, or of one (the mean, where
    groups differ).
    """
    check_amounts(amounts)
    if amounts == "job":
        return {name: column(name) for name in ("cpus", "mem_mib", "gpus")}
    import numpy

    tasks = numpy.maximum(column("tasks"), 1)
    return {
        now: column(name) / tasks
        for name, now in (("cpus", "cpu"), ("mem_mib", "mem_mib"), ("gpus", "gpu"))
    }


__all__ = [
    "AMOUNTS", "BEFORE", "COLUMNS_BEFORE", "Renamed", "TraceJob", "amounts_of", "check_amounts",
    "column_now", "old_in_text", "old_members", "request_members",
    "warn_of",
]
