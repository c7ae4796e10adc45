# SPDX-License-Identifier: Apache-2.0
"""``compare --jobs N``: one process for each policy.

After Ctrl-C, running policies return what they have.
"""

import signal
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from .input import Run
    from ..sim.result import Result


def simulate(run: "Run", jobs: int) -> "Tuple[Dict[str, Result], bool]":
    """One result for each policy, in their order; and whether Ctrl-C made some missing or
    incomplete.

    An exception of a simulation passes through.
    """
    begun: "Dict[str, Future[Optional[Result]]]" = {}
    to_come: List[Optional[str]] = list(run.policies)
    with ProcessPoolExecutor(min(jobs, len(to_come)), initializer=_deaf) as pool:
        try:
            # Not all at once: the pool would queue one more call than it has processes, and could
            # not cancel it.
            while to_come:
                if sum(not future.done() for future in begun.values()) >= jobs:
                    wait(
                        [future for future in begun.values() if not future.done()],
                        return_when=FIRST_COMPLETED,
                    )
                if any(
                    future.done() and (future.exception() or _stopped(future))
                    for future in begun.values()
                ):
                    break
                policy = to_come.pop(0)
                begun[policy or "queues"] = pool.submit(_one, run, policy)
            wait(begun.values())
        except KeyboardInterrupt:
            # A terminal sends Ctrl-C to all processes: running ones return what they have.
            wait(begun.values())
    made = {label: future.result() for label, future in begun.items()}
    found = {label: result for label, result in made.items() if result is not None}
    return found, len(found) < len(run.policies) or any(
        result.interrupted for result in found.values()
    )


def _stopped(future: "Future[Optional[Result]]") -> bool:
    result = future.result()
    return result is None or result.interrupted


def _deaf() -> None:
    """Ignore Ctrl-C in an idle process, which could not report it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(run: "Run", policy: Optional[str]) -> "Optional[Result]":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run.simulate(policy, False)
    except KeyboardInterrupt:  # before the call began
        return None
    finally:
        _deaf()


__all__ = ["simulate"]
