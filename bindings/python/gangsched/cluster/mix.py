# SPDX-License-Identifier: Apache-2.0
"""The expected mix of tasks, from dicts."""

import re
from typing import Any, Dict, List, Mapping

from .._native import ffi, lib
from ..case import Case, job_dict
from ..errors import GangError, InvalidArgument, check, new_error, placed


def declare(worker: Any, shapes: List[Dict[str, Any]], frame: Mapping[str, Any]) -> None:
    """Declare a mix through a worker.

    The caller holds the lock of the cluster.

    Raises
    ------
    GangError
        The path is the place: ``shapes[2].gpu``.
    """
    # One job for each shape, because a job has fewer groups than a mix has shapes.
    jobs = [{**job_dict(shape, {}), "name": str(i)} for i, shape in enumerate(shapes)]
    error = new_error()
    try:
        case = Case({**frame, "jobs": jobs})
        # The struct has the size of this extension; the library rejects other sizes.
        made = ffi.new("struct gang_group_spec[]", len(shapes))
        for i in range(len(shapes)):
            request = case.c.jobs[i].request
            if request.group_count != 1:
                raise InvalidArgument(
                    "shapes[%d]: a shape is one group of tasks" % i, path="shapes[%d]" % i
                )
            made[i] = request.groups[0]
        size = ffi.sizeof("struct gang_group_spec")
        check(
            lib.gang_mix_set(worker, made if shapes else ffi.NULL, size, len(shapes), error), error
        )
    except GangError as failure:
        raise _placed(failure) from None


def _placed(error: GangError) -> GangError:
    return placed(error, re.sub(r"^jobs\[(\d+)\](\.tasks\[0\])?", r"shapes[\1]", error.path))


__all__ = ["declare"]
