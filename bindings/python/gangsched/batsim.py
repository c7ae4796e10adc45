# SPDX-License-Identifier: Apache-2.0
"""Workloads and platforms of Batsim for traces of GPU jobs: written, and read back.

A resource (SimGrid: a host) of Batsim is one GPU. Hosts are called ``gpu0``, ``gpu1``... through
the nodes in their order, as :attr:`gangsched.Result.resources` numbers them; Batsim numbers hosts
in the order of their names, numbers in them by value. Their properties are ``node``, ``device`` and
``model``; ``master_host`` is Batsim's own.

===============================  ===================================================================
a job of a trace                 in the workload
===============================  ===================================================================
``job``, ``queue``, ``user``     ``id``, ``queue``, ``user``
``submit_s``, ``time_limit_s``   ``subtime``, ``walltime`` (none: no limit)
``run_s``                        a profile of its own, with the name of the job: ``delay``; or
                                 ``parallel_homogeneous`` of ``run_s`` times ``flops`` on each GPU
GPUs of all tasks                ``res``; a share of a GPU takes a whole one
everything else                  ``gangsched``: the members of the job. Batsim passes them on to the
                                 scheduler under test, and :func:`read` uses them
===============================  ===================================================================

Not in the platform: cores, memory and the network. A scheduler under test that is to place as this
library does must look at ``gangsched`` and the properties of the hosts.
"""

import json
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Type
from xml.sax.saxutils import quoteattr

from .errors import InvalidArgument, NotSupported
from .files import read_text, writer_for
from .values import whole
from .vocabulary import in_seconds

if TYPE_CHECKING:
    from .cluster.cluster import Cluster
    from .trace import Path, Trace

PROFILES = ("delay", "parallel_homogeneous")
RESOURCES = ("core", "gpu")

#: Members of a job that the workload has as its own.
_OWN = ("job", "submit_s", "run_s", "time_limit_s", "queue", "user", "start_s", "end")

#: Batsim has no jobs without a length: a run time of 0 becomes this, in seconds.
_LEAST_S = 1e-9


def write(
    trace: "Trace",
    path: "Path",
    cluster: "Optional[Cluster]" = None,
    platform: "Optional[Path]" = None,
    *,
    profile: str = "delay",
    flops: int = 10**9,
    on_error: str = "raise",
) -> None:
    """See :meth:`gangsched.Trace.to_batsim`."""
    for name, value, known in (
        ("profile", profile, PROFILES), ("on_error", on_error, ("raise", "skip")),
    ):
        if value not in known:
            raise InvalidArgument(
                "%s: expected %r or %r, not %r" % (name, *known, value), path=name
            )
    flops = whole(flops, "flops", 1, 10**18)
    if platform is not None and cluster is None:
        raise InvalidArgument("platform: needs the cluster", path="platform")
    jobs: List[Dict[str, Any]] = []
    profiles: Dict[str, Dict[str, Any]] = {}
    for i, job in enumerate(map(in_seconds, trace)):
        count = _gpus_of(job)
        if not count:
            if on_error == "skip":
                continue
            raise NotSupported(
                "jobs[%d]: job %r has no GPUs, and a resource is one" % (i, job["job"]),
                path="jobs[%d]" % i,
            )
        if job["submit_s"] < 0:
            raise InvalidArgument(
                "jobs[%d].submit_s: Batsim begins at 0, job %r comes at %s s"
                % (i, job["job"], job["submit_s"]), path="jobs[%d].submit_s" % i,
            )
        jobs.append(_job(job, count))
        profiles[job["job"]] = _profile(max(job["run_s"], _LEAST_S), profile, flops)
    if cluster is not None:
        most = sum(cluster.table()["gpus"])
    else:
        most = max((job["res"] for job in jobs), default=1)
    content = json.dumps({"nb_res": most, "jobs": jobs, "profiles": profiles}, indent=1)
    layout = None if cluster is None else _platform(cluster, flops)
    with writer_for(path) as file:
        file.write(content.encode("utf-8") + b"\n")
    if platform is not None and layout is not None:
        with writer_for(platform) as file:
            file.write(layout.encode("utf-8"))


def _gpus_of(job: Mapping[str, Any]) -> int:
    """How many GPUs a job touches."""
    groups = job["tasks"] if isinstance(job.get("tasks"), list) else [job]
    found = 0
    for group in groups:
        gpu = group.get("gpu", 0)
        each = int(gpu) if gpu >= 1 else group.get("gpu_devices", 1) if gpu > 0 else 0
        found += group.get("count", 1) * each
    return found


def _job(job: Mapping[str, Any], count: int) -> Dict[str, Any]:
    made = {"id": job["job"], "subtime": job["submit_s"], "res": count, "profile": job["job"]}
    if job.get("time_limit_s"):
        made["walltime"] = job["time_limit_s"]
    made.update({name: job[name] for name in ("queue", "user") if name in job})
    made["gangsched"] = {key: value for key, value in job.items() if key not in _OWN}
    return made


def _profile(run_s: float, kind: str, flops: int) -> Dict[str, Any]:
    if kind == "delay":
        return {"type": "delay", "delay": run_s}
    return {"type": "parallel_homogeneous", "cpu": run_s * flops, "com": 0}


def _platform(cluster: "Cluster", flops: int) -> str:
    """A platform of SimGrid without a network."""
    table = cluster.table()
    speed = quoteattr("%df" % flops)
    lines = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '  <zone id="cluster" routing="None">',
        '    <host id="master_host" speed=%s/>' % speed,
    ]
    number = 0
    for name, gpus, model in zip(table["name"], table["gpus"], table["gpu_model"]):
        for device in range(int(gpus)):
            lines.append('    <host id="gpu%d" speed=%s>' % (number, speed))
            for key, value in (("node", name), ("device", str(device)), ("model", model)):
                if value:
                    lines.append('      <prop id="%s" value=%s/>' % (key, quoteattr(value)))
            lines.append("    </host>")
            number += 1
    return "\n".join([*lines, "  </zone>", "</platform>", ""])


def read(
    kind: "Type[Trace]", path: "Path", *, resource: str = "core", flops: int = 10**9
) -> "Trace":
    """See :meth:`gangsched.Trace.from_batsim`."""
    if resource not in RESOURCES:
        raise InvalidArgument(
            "resource: expected 'core' or 'gpu', not %r" % (resource,), path="resource"
        )
    content = read_text(path)
    plain = kind.from_text(content, "batsim", batsim_flops=flops)
    given = [job.get("gangsched") for job in json.loads(content)["jobs"]]
    if resource == "core" and not any(given):
        return plain
    made = []
    for i, (job, request) in enumerate(zip(plain, given)):
        if isinstance(request, dict):
            own = {key: value for key, value in job.items() if key not in ("count", "cpu", "min")}
            made.append({**{key: request[key] for key in request if key not in _OWN}, **own})
        elif request is not None:
            raise InvalidArgument(
                "jobs[%d].gangsched: expected an object" % i, path="jobs[%d].gangsched" % i
            )
        elif resource == "gpu":
            made.append({**{key: value for key, value in job.items() if key != "cpu"}, "gpu": 1})
        else:
            made.append(dict(job))
    return kind(made)


__all__ = ["read", "write"]
