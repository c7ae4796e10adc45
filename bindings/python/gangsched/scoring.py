# SPDX-License-Identifier: Apache-2.0
"""Functions that score, jobs or nodes alike: which end of the scores goes first.

:func:`highest_first` and :func:`lowest_first` say so. A function without them that scores nodes
(``Request(score=...)``) has the highest first. One that scores jobs (``policy=...``) has the lowest
first in version 0.2, with a ``FutureWarning``, and the highest from the next version on.
"""

import functools
import sys
import warnings
from typing import Any, Callable, Optional


_PACKAGE = __name__.split(".")[0]


class Scored:
    """A function that scores, and whether its lowest scores go first."""

    def __init__(self, score: Callable[..., Any], lowest: bool) -> None:
        if not callable(score):
            raise TypeError("expected a function that scores, not %r" % (score,))
        functools.update_wrapper(self, score)
        self.score = score
        self.lowest = lowest

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.score(*arguments, **keywords)

    def __repr__(self) -> str:
        name = getattr(self.score, "__name__", None) or repr(self.score)
        return "%s_first(%s)" % ("lowest" if self.lowest else "highest", name)

    def __reduce__(self) -> Any:
        # A function that was decorated is found by its name, where this object is now.
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (Scored, (self.score, self.lowest))


def lowest_first(score: Callable[..., Any]) -> Scored:
    """Say that the lowest scores of a function go first. Also a decorator.

    For jobs (``policy=``) and for nodes (``Request(score=)``) alike.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"job": "long", "submit_s": 0, "run_s": 60, "gpu": 8},
    ...                  {"job": "short", "submit_s": 0, "run_s": 9, "gpu": 8}])
    >>> shortest = gs.lowest_first(lambda view: view.run_s)
    >>> gs.simulate(gs.Cluster.uniform(1), jobs, policy=shortest).jobs.start_s.tolist()
    [9.0, 0.0]
    """
    return Scored(score, True)


def highest_first(score: Callable[..., Any]) -> Scored:
    """Say that the highest scores of a function go first. Also a decorator.

    For jobs (``policy=``) and for nodes (``Request(score=)``) alike.

    >>> import gangsched as gs
    >>> emptiest = gs.highest_first(lambda group, nodes: nodes.gpus_free)
    >>> cluster = gs.Cluster.uniform(2)
    >>> cluster.allocate(gpu=1).nodes, cluster.allocate(gpu=1, score=emptiest).nodes
    (['n0'], ['n1'])
    """
    return Scored(score, False)


def direction(score: Any) -> Optional[bool]:
    """Whether the lowest scores go first; None: the function does not say."""
    if isinstance(score, Scored):
        return score.lowest
    inner = getattr(score, "score", None)  # per_job
    return inner.lowest if isinstance(inner, Scored) else None


def with_direction(policy: Any) -> Any:
    """A policy that says which end goes first: the lowest, with a warning, if a function does not.
    Names of policies, and None, are left alone.
    """
    if not callable(policy) or direction(policy) is not None:
        return policy
    warnings.warn(
        "policy: the lowest score of %s goes first; from the next version on the highest does, "
        "as for nodes: say gs.lowest_first(...) or gs.highest_first(...)"
        % getattr(policy, "__name__", policy),
        FutureWarning,
        _levels_to_the_caller(),
    )
    return Scored(policy, True)


def _levels_to_the_caller() -> int:
    """How far up the first function is that is not of this package, for ``warnings.warn``."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


__all__ = ["Scored", "direction", "highest_first", "lowest_first", "with_direction"]
