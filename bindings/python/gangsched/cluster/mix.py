# SPDX-License-Identifier: Apache-2.0
"""The mix of shapes that work is expected to have (gang_mix_set()), from what Python gives."""

import re
from typing import Any, Dict, List, Mapping

from .._native import ffi, lib
from ..case import Case, job_dict
from ..errors import GangError, InvalidArgument, check, new_error, placed


def declare(worker: Any, shapes: List[Dict[str, Any]], frame: Mapping[str, Any]) -> None:
    """Declare it, by a worker. The caller has it for himself.

    Raises:
        GangError: with the place: ``shapes[2].gpu``.
    """
    # A job of each: a job has fewer groups than a mix has shapes.
    jobs = [{**job_dict(shape, {}), "name": str(i)} for i, shape in enumerate(shapes)]
    error = new_error()
    try:
        case = Case({**frame, "jobs": jobs})
        # The size of one is the extension's own: gang_group_spec of other sizes is not read.
        made = ffi.new("struct gang_group_spec[]", len(shapes))
        for i in range(len(shapes)):
            request = case.c.jobs[i].request
            if request.group_count != 1:
                raise InvalidArgument("shapes[%d]: one group of tasks is a shape" % i, path="shapes[%d]" % i)
            made[i] = request.groups[0]
        size = ffi.sizeof("struct gang_group_spec")
        check(lib.gang_mix_set(worker, made if shapes else ffi.NULL, size, len(shapes), error), error)
    except GangError as failure:
        raise _placed(failure) from None


def _placed(error: GangError) -> GangError:
    return placed(error, re.sub(r"^jobs\[(\d+)\](\.tasks\[0\])?", r"shapes[\1]", error.path))


__all__ = ["declare"]
