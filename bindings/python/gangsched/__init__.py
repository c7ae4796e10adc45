# SPDX-License-Identifier: Apache-2.0
"""Gang scheduling for clusters, GPUs and HPC: the production scheduler, also on a virtual clock.

::

    import gangsched as gs

    cluster = gs.Cluster.uniform(nodes=16, gpus=8, racks=4)
    job = cluster.allocate(count=16, gpu=1, cpu=8, same="rack")

The main names: :class:`Cluster` (machines, allocations), :class:`Request` (what a job needs),
:class:`Queues` (how jobs share), :class:`Trace` (jobs of the past), :func:`simulate`,
:class:`Simulation` and :class:`Result` (what would happen), :class:`GangError` (all errors).
``lib`` and ``ffi`` are the whole C interface, by cffi.

The import is cheap: each name is loaded when it is first used.
"""

import sys
from typing import TYPE_CHECKING

from ._lazy import OldModules, names

__version__ = "0.2.0"

#: The module that defines each name.
_WHERE = {
    "Cluster": "cluster.cluster",
    "Request": "cluster.request",
    "Allocation": "cluster.allocation",
    "Explanation": "cluster.allocation",
    "Snapshot": "cluster.snapshot",
    "Queues": "queues",
    "Trace": "trace",
    "IntervalSet": "intervals",
    "Simulation": "sim.simulation",
    "simulate": "sim.simulation",
    "Forecast": "sim.forecast",
    "Expected": "sim.forecast",
    "Reservation": "sim.reservations",
    "PlanItem": "sim.reservations",
    "Result": "sim.result",
    "View": "sim.policy",
    "per_job": "sim.policy",
    "lowest_first": "scoring",
    "highest_first": "scoring",
    "Candidates": "cluster.candidates",
    "compare": "sweeps",
    "sweep": "sweeps",
    "presets": "published",
    "resample": "synthetic",
    "WorkloadModel": "fitted",
    "fit_workload": "fitted",
    "Tuning": "tuning",
    "tune": "tuning",
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
    "StaleHandle": "errors",
}

if TYPE_CHECKING:
    from ._native import ffi as ffi
    from ._native import lib as lib
    from .cluster.allocation import Allocation as Allocation
    from .cluster.allocation import Explanation as Explanation
    from .cluster.cluster import Cluster as Cluster
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
    from .errors import StaleHandle as StaleHandle
    from .sim.forecast import Expected as Expected
    from .sim.forecast import Forecast as Forecast
    from .published import presets as presets
    from .fitted import WorkloadModel as WorkloadModel
    from .fitted import fit_workload as fit_workload
    from .intervals import IntervalSet as IntervalSet
    from .queues import Queues as Queues
    from .cluster.request import Request as Request
    from .sim.reservations import PlanItem as PlanItem
    from .sim.reservations import Reservation as Reservation
    from .cluster.snapshot import Snapshot as Snapshot
    from .sim.policy import View as View
    from .sim.policy import per_job as per_job
    from .cluster.candidates import Candidates as Candidates
    from .scoring import highest_first as highest_first
    from .scoring import lowest_first as lowest_first
    from .sim.result import Result as Result
    from .sim.simulation import Simulation as Simulation
    from .sim.simulation import simulate as simulate
    from .sweeps import compare as compare
    from .synthetic import resample as resample
    from .sweeps import sweep as sweep
    from .trace import Trace as Trace
    from .tuning import Tuning as Tuning
    from .tuning import tune as tune

__all__ = ["__version__", *_WHERE]


#: Module paths of the version before.
_MOVED = {
    "gangsched.allocation": "gangsched.cluster.allocation",
    "gangsched.forecast": "gangsched.sim.forecast",
    "gangsched.plots": "gangsched.viz.plots",
    "gangsched.policy": "gangsched.sim.policy",
    "gangsched.request": "gangsched.cluster.request",
    "gangsched.reservations": "gangsched.sim.reservations",
    "gangsched.result": "gangsched.sim.result",
    "gangsched.snapshot": "gangsched.cluster.snapshot",
    "gangsched.streamed": "gangsched.sim.streamed",
}

__getattr__, __dir__ = names(__name__, _WHERE, {"Session": "Simulation", "Stale": "StaleHandle"})

if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
    sys.meta_path.append(OldModules(_MOVED))
