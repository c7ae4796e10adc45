# SPDX-License-Identifier: Apache-2.0
"""The JSON format of the library as dicts: clusters, requests, queues and jobs.

:class:`gangsched.Cluster`, :class:`gangsched.Request`, :class:`gangsched.Queues` and
:meth:`gangsched.Simulation.reserve` describe the members. Keywords and dicts of
Python go through the library's own strict reader. Its errors carry the place.
"""

import itertools
import json
import math
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from ._lazy import warn_outside
from ._native import ffi, lib, new, text
from .closest import meant
from .dates import duration_s, is_date, is_duration
from .errors import (
    GangError, InvalidArgument, NotFound, ParseError, check, new_error, without,
)
from .files import read_text

#: A case: a path, JSON text, or the equivalent dict.
Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def plain(value: Any) -> Any:
    """Convert numbers of numpy, durations and iterables, for json."""
    if is_duration(value):
        return duration_s(value)
    if hasattr(value, "item") and not is_date(value):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError("%s cannot be written as JSON" % type(value).__name__)


def dump(value: Any, path_prefix: str = "") -> bytes:
    """A value as JSON text.

    ``path_prefix``: see :func:`gangsched.errors.detail_of`.

    Raises
    ------
    ParseError
        A number is not finite, or a container contains itself.
    TypeError
        JSON has no such type.
    """
    try:
        return json.dumps(value, allow_nan=False, default=plain, ensure_ascii=True).encode("ascii")
    except RecursionError as error:
        raise ParseError(str(error)) from None
    except ValueError as error:
        path, number = _endless(value)
        if not path:
            raise ParseError(str(error)) from None
        path = without(path_prefix, path)
        raise ParseError(
            "%s: %r is not finite" % (path, number), path=path, text="%r is not finite" % number
        ) from None


def _endless(value: Any, path: str = "") -> Tuple[str, float]:
    """The place of the first number that is not finite, and the number. ``""``: there is none."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return ("", 0.0) if math.isfinite(value) else (path, value)
    inside: Iterable[Tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        inside = (("%s.%s" % (path, key) if path else str(key), one) for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        inside = (("%s[%d]" % (path, i), one) for i, one in enumerate(value))
    return next(
        (found for found in (_endless(one, place) for place, one in inside) if found[0]), ("", 0.0)
    )


def load(source: Source) -> Dict[str, Any]:
    """A case as a dict, from a path, JSON text (which begins with a brace), or a dict.

    Raises
    ------
    ParseError
        The text is no JSON object.
    TypeError
        The source is of another type.
    OSError
        The file cannot be read.
    """
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        content = source
    else:
        content = read_text(source)
    try:
        value = json.loads(content, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ParseError(str(error), line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise ParseError("nested too deep") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise ParseError("expected one JSON object")
    return value


def _unique(pairs: List[Any]) -> Dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ParseError("the key '%s' is repeated" % twice)
    return made


class Case:
    """A case that the library has read.

    Its C structs are valid as long as this object exists. One thread at a time.
    """

    def __init__(self, value: Mapping[str, Any], path_prefix: str = "") -> None:
        content = dump(value, path_prefix)
        out, error = ffi.new("gang_scenarios **"), new_error()
        result = lib.gang_scenarios_read(content, len(content), out, error)
        try:
            check(result, error, path_prefix=path_prefix)
        except InvalidArgument as failure:
            raise _of_a_job(failure) if path_prefix.startswith("jobs[0]") else failure from None
        self._all = ffi.gc(out[0], lib.gang_scenarios_free)
        self._warn(path_prefix)
        self.c = new("gang_scenario")
        check(lib.gang_scenarios_get(self._all, 0, self.c))

    def _warn(self, path_prefix: str) -> None:
        """Pass on the reader's warnings of keys that version 0.1 had."""
        for i in itertools.count():
            warning = lib.gang_scenarios_warning(self._all, i)
            if warning == ffi.NULL:
                break
            line = without(path_prefix, text(warning))
            warn_outside(line.lstrip(": "))

    def node_count(self) -> int:
        return int(self.c.node_count)


def _of_a_job(error: InvalidArgument) -> GangError:
    """An error about an unknown keyword with the member of a job that was meant: the library knows
    it as one of a task.
    """
    if error.text != "unknown key":
        return error
    detail: Dict[str, Any] = {**error.__dict__, "text": error.text + meant(error.path.split(".")[-1], JOB_KEYS)}
    made = type(error)("%s: %s" % (error.path, detail["text"]), detail.pop("code"), **detail)
    made.__dict__.update(detail)
    return made


#: Members of a job. Other keywords of a request belong to its one task group.
JOB_KEYS = frozenset(
    """name queue priority submit preemptible user user_groups min tasks same prefer groups policy
    gpu_nodes exclusive labels affinity state running_on running_gpu stale never_preempts hold
    time_limit_s begin_s deadline_s loss max_restarts restart_delay_s refill_s start_within_s
    back_off_s heartbeat_s parallelism prefer_wait_s reservation array array_max_running announced arrivals partitions after ran_s
    run_time_s start_full""".split()
)

#: Members of a job in version 0.1. The library reads them with a warning.
_OLD_JOB_KEYS = frozenset(["sca" "rce", "pee" "rs"])

#: Members of both: they belong to the task group if there is only one.
_TASK_FIRST = frozenset(["min"])


def job_dict(spec: Optional[Mapping[str, Any]], keywords: Mapping[str, Any]) -> Dict[str, Any]:
    """A job of the JSON format from a dict and keywords.

    A job with ``tasks`` is copied. Otherwise members that no job has belong to its one task group:
    ``job_dict(None, {"count": 8, "gpu": 1, "same": "rack"})``.
    """
    if spec is not None and not isinstance(spec, Mapping):
        raise InvalidArgument("expected a dict of members, not %s" % type(spec).__name__)
    given: Dict[str, Any] = {**(spec or {}), **keywords}
    if hasattr(given.get("tasks"), "__index__"):
        raise InvalidArgument(
            "tasks: expected a list of groups; the number of tasks is 'count'", path="tasks"
        )
    job = {key: value for key, value in given.items() if key in JOB_KEYS | _OLD_JOB_KEYS}
    task = {key: value for key, value in given.items() if key not in JOB_KEYS | _OLD_JOB_KEYS}
    groups = job.get("tasks", [{}])
    alone = (
        isinstance(groups, (list, tuple)) and len(groups) == 1 and isinstance(groups[0], Mapping)
    )
    if not alone and task:
        raise NotFound(
            "%s: with several groups, give it in one of them" % ", ".join(sorted(task)),
            path=sorted(task)[0],
        )
    if alone:
        if "tasks" not in given or "min" in keywords:
            task.update({key: job.pop(key) for key in _TASK_FIRST & set(job)})
        job["tasks"] = [{**groups[0], **task}]
    job.setdefault("name", "job")
    return job
