# SPDX-License-Identifier: Apache-2.0
"""The longest waits and their reasons, from one replay of the simulation for all jobs."""

from typing import TYPE_CHECKING, Any, List, NamedTuple

from ..errors import NotSupported

if TYPE_CHECKING:
    from ..sim.result import Result


class Waited(NamedTuple):
    """A job that waited."""

    job: int  #: its index
    wait_s: float
    started: bool  #: False: it still waits
    at_s: float  #: the time of the explanation, seconds
    why: str


def waits(result: "Result") -> Any:
    """Seconds from submission to the first start.

    For waiting jobs: to the end of the simulation. Not-a-number for jobs that never waited:
    refused, ended before a start, not yet submitted.
    """
    import numpy

    submit, start = result.column("submit_s"), result.column("start_s")
    found = start - submit
    waiting = (
        numpy.isnan(start) & (result.column("state") == "pending") & (submit <= result.info.now_s)
    )
    # Jobs that have not come are pending, too, and have not waited.
    return numpy.where(waiting, result.info.now_s - submit, found)


def worst(result: "Result", count: int) -> List[Waited]:
    """The longest waits with reasons: half way through the wait, or at the end if it continues."""
    import numpy

    found = waits(result)
    order = numpy.argsort(-numpy.nan_to_num(found, nan=-1.0), kind="stable")[:count]
    listed = [int(i) for i in order if found[i] > 0]
    submit, start = result.column("submit_s"), result.column("start_s")
    instants = {
        i: float(submit[i] + found[i] / 2) if start[i] == start[i] else result.info.now_s
        for i in listed
    }
    try:
        stops = sorted((at, i) for i, at in instants.items())
        explanations = {
            i: str(simulation.explain(i)) for i, simulation in result._recipe.visit(stops)
        }
    except NotSupported as error:
        explanations = {i: "not known: %s" % error for i in listed}
    return [
        Waited(i, float(found[i]), bool(start[i] == start[i]), instants[i], explanations.get(i, ""))
        for i in listed
    ]


__all__ = ["Waited", "waits", "worst"]
