# SPDX-License-Identifier: Apache-2.0
"""The scheduler on a virtual clock: what happens to jobs on a cluster, and what would happen.

:func:`simulate` plays a trace and returns a :class:`Result`. A :class:`Simulation` can be stopped,
read, changed and continued. A :class:`Forecast` runs a copy of its scheduler ahead.
"""

from typing import TYPE_CHECKING

from .._lazy import names

if TYPE_CHECKING:
    from .events import Event as Event
    from .events import Info as Info
    from .events import ReservationEvent as ReservationEvent
    from .forecast import Expected as Expected
    from .forecast import Forecast as Forecast
    from .policy import View as View
    from .policy import per_job as per_job
    from .reservations import PlanItem as PlanItem
    from .reservations import Reservation as Reservation
    from .result import Result as Result
    from .simulation import Simulation as Simulation
    from .simulation import simulate as simulate

_WHERE = {
    "Event": "events",
    "Expected": "forecast",
    "Forecast": "forecast",
    "Info": "events",
    "PlanItem": "reservations",
    "Reservation": "reservations",
    "ReservationEvent": "events",
    "Result": "result",
    "Simulation": "simulation",
    "View": "policy",
    "per_job": "policy",
    "simulate": "simulation",
}

__all__ = [*_WHERE]

__getattr__, __dir__ = names(__name__, _WHERE, {"Session": "Simulation"})
