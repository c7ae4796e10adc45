# SPDX-License-Identifier: Apache-2.0
"""How a simulation was made and what was done to it: enough to run it again.

A simulation notes every call that changes it. Results, reports and forks with other arguments
replay these calls.
"""

import pickle
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence,
    Tuple, Union,
)

from ..errors import NotSupported
from ..values import ns

if TYPE_CHECKING:
    from .simulation import Simulation

#: Changes for a replay that only collects why jobs were refused.
LISTENING: Mapping[str, Any] = {"events": False, "on_event": None, "_refusals": True}

#: Arguments that may be functions.
_FUNCTIONS = ("policy", "place", "on_event", "speed", "restart")


class Step(NamedTuple):
    """One call that changed a simulation."""

    method: str
    arguments: Tuple[Any, ...]
    keywords: Mapping[str, Any]


class Run(NamedTuple):
    """One run of a simulation, with the bounds at which it ended."""

    until_ns: Optional[int]  #: None: until nothing more happens
    events: int  #: 0: no bound


class Recipe:
    """The arguments of a simulation, and the calls that changed it.

    It can be pickled.

    Attributes
    ----------
    arguments : dict
        Keyword arguments of the constructor.
    log : list
        :class:`Step` and :class:`Run`, in their order.
    lost : tuple of str
        Arguments that could not be pickled. Such a simulation cannot run again.
    """

    def __init__(self, make: "Callable[..., Simulation]", arguments: Mapping[str, Any]) -> None:
        self._make = make
        self.arguments: Dict[str, Any] = dict(arguments)
        self.log: List[Union[Step, Run]] = []
        self.lost: Tuple[str, ...] = ()

    def copy(self) -> "Recipe":
        """A recipe that grows on its own."""
        made = Recipe(self._make, self.arguments)
        made.log, made.lost = list(self.log), self.lost
        return made

    def note(self, method: str, /, *arguments: Any, **keywords: Any) -> None:
        """Add a call of a method of the simulation."""
        self.log.append(Step(method, arguments, keywords))

    def note_run(self, until_ns: Optional[int], events: int) -> None:
        """Add a run."""
        self.log.append(Run(until_ns, events))

    def begin(self, changes: Mapping[str, Any]) -> "Simulation":
        """A simulation in the state of its construction, with some arguments changed.

        Raises
        ------
        NotSupported
            An argument was a function that could not be pickled.
        """
        if self.lost:
            raise NotSupported(
                "it cannot be run again: %s could not be pickled" % ", ".join(self.lost)
            )
        return self._make(**{**self.arguments, **changes})

    def replay(self, changes: Mapping[str, Any], at_s: Optional[float] = None) -> "Simulation":
        """A simulation that made all these calls, up to the time ``at_s`` (seconds; None: to the
        end).
        """
        at_ns = None if at_s is None else ns(at_s, "at_s")
        made = self.begin(changes)
        try:
            for step in self.log:
                if isinstance(step, Step):
                    _call(made, step)
                elif at_ns is not None and (step.until_ns is None or at_ns < step.until_ns):
                    if made.now_s < at_ns / 1e9:
                        made._go(at_ns, step.events)
                    break
                else:
                    made._go(step.until_ns, step.events)
        except BaseException:
            made.close()
            raise
        return made

    def visit(self, times: Sequence[Tuple[float, int]]) -> "Iterator[Tuple[int, Simulation]]":
        """Run the simulation again, once, and stop at several times.

        Parameters
        ----------
        times : sequence of (float, int)
            Seconds in ascending order, each with a key.

        Yields
        ------
        (int, Simulation)
            A key, and the simulation in the state of that time. Times after the end get the state
            of the end.
        """
        left = list(times)
        if not left:
            return
        with self.begin({"events": False, "on_event": None}) as made:
            for step in self.log:
                if isinstance(step, Step):
                    _call(made, step)
                else:
                    yield from _run_in_pieces(made, left, step)
            for _, key in left:
                yield key, made

    def __getstate__(self) -> Dict[str, Any]:
        arguments, lost = dict(self.arguments), list(self.lost)
        for name in _FUNCTIONS:
            if callable(arguments.get(name)) and not _picklable(arguments[name]):
                arguments[name] = None
                lost.append(name)
        return {**self.__dict__, "arguments": arguments, "lost": tuple(lost)}


def _call(simulation: "Simulation", step: Step) -> None:
    getattr(simulation, step.method)(*step.arguments, **step.keywords)


def _run_in_pieces(
    simulation: "Simulation", left: List[Tuple[float, int]], run: Run
) -> "Iterator[Tuple[int, Simulation]]":
    """Do one run again in pieces that end at the times on its way.

    Removes the times that were reached from ``left``.
    """
    events = run.events
    while left:
        at_ns = ns(left[0][0], "at_s")
        if run.until_ns is not None and at_ns >= run.until_ns:
            break
        if simulation.now_s < at_ns / 1e9:
            before = simulation.info.events
            stop_reason = simulation._go(at_ns, events).stop_reason
            if run.events:
                events -= simulation.info.events - before
                if stop_reason == "events" or events <= 0:
                    return
        yield left.pop(0)[1], simulation
    simulation._go(run.until_ns, events)


def _picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
        return True
    except Exception:
        return False
