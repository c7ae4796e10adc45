# SPDX-License-Identifier: Apache-2.0
"""Gang scheduling for clusters, GPUs and HPC: the production scheduler, and what it would do.

::

    import gangsched as gs

    cluster = gs.Cluster.uniform(nodes=16, gpus=8, racks=4)
    job = cluster.allocate(count=16, gpu=1, cpu=8, same="rack")

What is where: :class:`Cluster` (machines, allocations), :class:`Request` (what a job needs), :class:`Queues`
(who shares what), :class:`Trace` (jobs of the past), :func:`simulate`, :class:`Session` and :class:`Result`
(what would happen), :class:`GangError` (what goes wrong). ``lib`` and ``ffi`` are the whole C interface, by
cffi.

Importing this is cheap: what is needed is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any, List

__version__ = "0.2.0"

#: Where each name is.
_WHERE = {
    "Cluster": "cluster",
    "Request": "request",
    "Allocation": "allocation",
    "Explanation": "allocation",
    "Snapshot": "snapshot",
    "Queues": "queues",
    "Trace": "trace",
    "Session": "sim",
    "simulate": "sim",
    "Forecast": "forecast",
    "Expected": "forecast",
    "Reservation": "reservations",
    "PlanItem": "reservations",
    "Result": "result",
    "View": "policy",
    "per_job": "policy",
    "compare": "sweeps",
    "sweep": "sweeps",
    "ffi": "_native",
    "lib": "_native",
    "AlreadyExists": "errors",
    "Busy": "errors",
    "Closed": "errors",
    "Cycle": "errors",
    "DoesNotFit": "errors",
    "GangError": "errors",
    "InputOutput": "errors",
    "InvalidArgument": "errors",
    "LimitReached": "errors",
    "NeverFits": "errors",
    "NotAllowed": "errors",
    "NotFound": "errors",
    "NotSupported": "errors",
    "OutOfMemory": "errors",
    "OutOfRange": "errors",
    "ParseError": "errors",
    "QueueClosed": "errors",
    "Stale": "errors",
}

if TYPE_CHECKING:
    from ._native import ffi as ffi
    from ._native import lib as lib
    from .allocation import Allocation as Allocation
    from .allocation import Explanation as Explanation
    from .cluster import Cluster as Cluster
    from .errors import AlreadyExists as AlreadyExists
    from .errors import Busy as Busy
    from .errors import Closed as Closed
    from .errors import Cycle as Cycle
    from .errors import DoesNotFit as DoesNotFit
    from .errors import GangError as GangError
    from .errors import InputOutput as InputOutput
    from .errors import InvalidArgument as InvalidArgument
    from .errors import LimitReached as LimitReached
    from .errors import NeverFits as NeverFits
    from .errors import NotAllowed as NotAllowed
    from .errors import NotFound as NotFound
    from .errors import NotSupported as NotSupported
    from .errors import OutOfMemory as OutOfMemory
    from .errors import OutOfRange as OutOfRange
    from .errors import ParseError as ParseError
    from .errors import QueueClosed as QueueClosed
    from .errors import Stale as Stale
    from .forecast import Expected as Expected
    from .forecast import Forecast as Forecast
    from .queues import Queues as Queues
    from .request import Request as Request
    from .reservations import PlanItem as PlanItem
    from .reservations import Reservation as Reservation
    from .snapshot import Snapshot as Snapshot
    from .policy import View as View
    from .policy import per_job as per_job
    from .result import Result as Result
    from .sim import Session as Session
    from .sim import simulate as simulate
    from .sweeps import compare as compare
    from .sweeps import sweep as sweep
    from .trace import Trace as Trace

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError("module 'gangsched' has no attribute %r" % name)
    value = getattr(importlib.import_module("." + where, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
