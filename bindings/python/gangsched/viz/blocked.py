# SPDX-License-Identifier: Apache-2.0
"""When nodes were down, drained or reserved: blank lanes of a Gantt chart that were not free."""

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..errors import NotSupported

if TYPE_CHECKING:
    from ..sim.events import Event
    from ..sim.result import Result
    from ..sim.simulation import Simulation

DOWN, DRAINING, RESERVED = "down", "draining", "reserved"

#: What stands in a legend.
SAID = {DOWN: "node down", DRAINING: "node draining", RESERVED: "reserved"}

#: Calls after which a node may be out of use or reserved.
_CAUSES = ("set_node", "reserve", "change_reservation", "cancel_reservation")

_KEY = "blocked"


class Blocked(NamedTuple):
    """A node that could not run every job, from one time to another."""

    what: str  #: ``down``, ``draining`` or ``reserved``
    name: str  #: the reservation; "": none
    node: str
    begin_s: float
    end_s: float


def blocked(result: "Result") -> Optional[List[Blocked]]:
    """Times at which nodes were not free for every job. None: unknown.

    If a node went down or capacity was reserved, the simulation runs again, once; the result keeps
    what was found. Unknown: a function of the simulation could not be pickled.
    """
    if _KEY not in result._tables:
        result._tables[_KEY] = _seen(result) if _possible(result) else []
    found: Optional[List[Blocked]] = result._tables[_KEY]
    return found


def _possible(result: "Result") -> bool:
    recipe = result._recipe
    if any(getattr(step, "method", "") in _CAUSES for step in recipe.log):
        return True
    up = result._samples["nodes_up"] if len(result._samples) else ()
    if len(up):
        return bool((up != len(result.nodes)).any()) or _not_up(recipe.arguments)
    return bool(recipe.arguments.get("node_mtbf_s")) or _not_up(recipe.arguments)


def _not_up(arguments: Dict[str, Any]) -> bool:
    nodes = arguments["cluster"].get("nodes", ())
    return any(node.get("state", "up") != "up" for node in nodes)


def _seen(result: "Result") -> Optional[List[Blocked]]:
    watch = _Watch()
    try:
        made = result._recipe.begin({"events": False, "on_event": watch.event, "record": ()})
    except NotSupported:
        return None
    with made:
        watch.look(made)
        step: Any
        for step in result._recipe.log:
            if hasattr(step, "method"):
                getattr(made, step.method)(*step.arguments, **step.keywords)
                if step.method in _CAUSES:  # not after each of many submissions
                    watch.look(made)
            else:
                made._go(step.until_ns, step.events)
        watch.look(made)
        return watch.all_until(made.now_s)


class _Watch:
    """Collects spans while a simulation runs."""

    def __init__(self) -> None:
        self.found: List[Blocked] = []
        #: begin of what is not over, by kind, reservation and node
        self.open: Dict[Tuple[str, str, str], float] = {}
        self.known: Dict[str, str] = {}  # state of each node that is not up

    def event(self, event: "Event") -> None:
        if event.what == "node-down":
            self._state(event.node, DOWN, event.at_s)
        elif event.what == "node-up":
            self._state(event.node, "up", event.at_s)
        elif event.reservation is not None:
            self._reserved(event)

    def _reserved(self, event: "Event") -> None:
        about = event.reservation
        assert about is not None
        begun = event.what == "reservation-begin" or (
            event.what in ("reservation-lost", "reservation-restored")
            and any(key[:2] == (RESERVED, about.name) for key in self.open)
        )
        if event.what in ("reservation-notice", "reservation-skipped"):
            return
        self._close(about.name, event.at_s, about.nodes if begun else ())
        if begun:
            for node in about.nodes:
                self.open.setdefault((RESERVED, about.name, node), event.at_s)

    def _close(self, name: str, at_s: float, kept: Sequence[str] = ()) -> None:
        for key in [key for key in self.open if key[:2] == (RESERVED, name)]:
            if key[2] not in kept:
                self._end(key, at_s)

    def _end(self, key: Tuple[str, str, str], at_s: float) -> None:
        begin_s = self.open.pop(key)
        if at_s > begin_s:
            self.found.append(Blocked(*key, begin_s, at_s))

    def _state(self, node: str, state: str, at_s: float) -> None:
        before = self.known.pop(node, "up")
        if state in (DOWN, DRAINING):
            self.known[node] = state
        if before == state:
            return
        if (before, "", node) in self.open:
            self._end((before, "", node), at_s)
        if state in (DOWN, DRAINING):
            self.open[state, "", node] = at_s

    def look(self, simulation: "Simulation") -> None:
        """Take over the states of nodes and the reservations of this instant."""
        now_s = simulation.now_s
        table = simulation.cluster.table()
        for node, state in zip(table["name"], table["state"]):
            if self.known.get(node, "up") != state:
                self._state(node, state, now_s)
        there = {row.name for row in simulation.reservations.values() if row.state == "active"}
        for name in {key[1] for key in self.open if key[0] == RESERVED} - there:
            self._close(name, now_s)

    def all_until(self, now_s: float) -> List[Blocked]:
        for key in list(self.open):
            self._end(key, now_s)
        return sorted(self.found, key=lambda one: (one.begin_s, one.node, one.what))


__all__ = ["Blocked", "blocked"]
