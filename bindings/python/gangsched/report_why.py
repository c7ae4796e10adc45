# SPDX-License-Identifier: Apache-2.0
"""Who waited longest, and why: of many jobs by running once more, not once a job."""

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from .errors import NotSupported
from .options import ns
from .sim import Session

if TYPE_CHECKING:
    from .result import Result


class Waited(NamedTuple):
    """A job that waited."""

    job: int  #: its index
    wait_s: float
    started: bool  #: False: it still waits
    at_s: float  #: when it was asked why
    why: str


def waits(result: "Result") -> Any:
    """Seconds from submission to the first start; of those that still wait, to the end of the simulation; not a
    number of those that never did: refused, ended before, still to come."""
    import numpy

    submit, start = result.column("submit_s"), result.column("start_s")
    found = start - submit
    waiting = numpy.isnan(start) & (result.column("state") == "pending") & (submit <= result.info.now_s)
    # Those still to come are told as pending, too; one that came later than this has not waited.
    return numpy.where(waiting, result.info.now_s - submit, found)


def worst(result: "Result", count: int) -> List[Waited]:
    """The jobs that waited longest, and why they did: half way through their wait, or at the end if it goes on."""
    import numpy

    found = waits(result)
    order = numpy.argsort(-numpy.nan_to_num(found, nan=-1.0), kind="stable")[:count]
    listed = [int(i) for i in order if found[i] > 0]
    submit, start = result.column("submit_s"), result.column("start_s")
    ask = {i: float(submit[i] + found[i] / 2) if start[i] == start[i] else result.info.now_s for i in listed}
    try:
        told = {i: str(session.explain(i)) for i, session in visit(result, sorted((at, i) for i, at in ask.items()))}
    except NotSupported as error:
        told = {i: "not known: %s" % error for i in listed}
    return [Waited(i, float(found[i]), bool(start[i] == start[i]), ask[i], told.get(i, "")) for i in listed]


def visit(result: "Result", times: Sequence[Tuple[float, int]]) -> Iterator[Tuple[int, Session]]:
    """Run a simulation once more, and give the session at each of these times, which are in order. Commands that it
    was given are given again.

    Raises:
        NotSupported: a function of it could not be pickled.
    """
    left = list(times)
    if not left:
        return
    lost = result._made.get("_lost")
    if lost:
        raise NotSupported("it cannot be run again: %s could not be pickled" % ", ".join(lost))
    made: Dict[str, Any] = {**result._made, "events": False, "on_event": None}
    with Session(**made) as session:
        for name, arguments in result._log:
            if name != "_go":
                _again(session, name, arguments)
                continue
            until_ns, events = arguments
            yield from _up_to(session, left, until_ns, events)
        for _, index in left:
            yield index, session


def _again(session: Session, name: str, arguments: Any) -> None:
    if name == "submit":
        session.submit(arguments[0], run_s=arguments[1])
    else:
        getattr(session, name)(*arguments)


def _up_to(session: Session, left: List[Tuple[float, int]], until_ns: Any, events: int) -> Iterator[Tuple[int, Session]]:
    """One run again, in pieces that end at the times on the way. Takes off ``left`` those that were reached."""
    more = events
    while left:
        at_ns = ns(left[0][0], "at_s")
        if until_ns is not None and at_ns >= until_ns:
            break
        if session.now_s < at_ns / 1e9:
            before = session.info.events
            why = session._go(at_ns, more).why
            if events:
                more -= session.info.events - before
                if why == "events" or more <= 0:
                    return
        yield left.pop(0)[1], session
    session._go(until_ns, more)


__all__ = ["Waited", "visit", "waits", "worst"]
