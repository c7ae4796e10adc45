# SPDX-License-Identifier: Apache-2.0
"""Numbers that users give, checked and converted for the library; and the way back."""

import math
from typing import Any, List, Mapping, Optional, Sequence, Union

from .dates import duration_s, is_duration
from .errors import InvalidArgument, OutOfRange


def ns(seconds: float, name: str) -> int:
    """Seconds, or a ``timedelta``, as ns, exact for whole seconds.

    Raises
    ------
    OutOfRange
        More than 2^63 ns, or not finite.
    InvalidArgument
        Not a number.
    """
    if is_duration(seconds):
        seconds = duration_s(seconds)
    if isinstance(seconds, bool) or not hasattr(seconds, "__float__"):
        raise InvalidArgument("%s: expected a number, not %r" % (name, seconds), path=name)
    if not math.isfinite(seconds):
        raise OutOfRange("%s: must be finite" % name, path=name)
    found = int(seconds) * 10**9 if seconds == int(seconds) else round(seconds * 1e9)
    if abs(found) >= 2**63:
        raise OutOfRange("%s: %g s is too large" % (name, seconds), path=name)
    return int(found)


def seconds(value_ns: int) -> Optional[float]:
    """ns of the library as seconds; None: never."""
    return None if value_ns >= 2**63 - 1 else value_ns / 1e9


def runs(
    run_s: Union[Sequence[float], Mapping[str, float]], groups: Sequence[Mapping[str, Any]]
) -> List[int]:
    """Run times of task groups as ns.

    Parameters
    ----------
    run_s : sequence or mapping
        Seconds, in the order of the groups or by their names.

    Raises
    ------
    InvalidArgument
        A group has no run time, or a run time no group.
    OutOfRange
        A run time is too long.
    """
    if not isinstance(run_s, Mapping):
        return [ns(value, "run_s[%d]" % i) for i, value in enumerate(run_s)]
    names = [str(group.get("name", "")) for group in groups]
    for name in [*run_s, *names]:
        if name not in run_s or names.count(name) != 1:
            raise InvalidArgument(
                "run_s: give exactly one run time for the one group '%s'" % name, path="run_s"
            )
    return [ns(run_s[name], "run_s['%s']" % name) for name in names]


def whole(value: Any, name: str, low: int = 1 - 2**63, high: int = 2**63 - 1) -> int:
    """A whole number from ``low`` to ``high``.

    Raises
    ------
    InvalidArgument
        Not a whole number.
    OutOfRange
        Outside of the bounds.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgument("%s: expected a whole number, not %r" % (name, value), path=name)
    found = int(value)
    if not low <= found <= high:
        if (low, high) == (1 - 2**63, 2**63 - 1):
            raise OutOfRange("%s: %d is too large" % (name, found), path=name)
        raise OutOfRange("%s: must be from %d to %d" % (name, low, high), path=name)
    return found


def not_negative(value: float, name: str) -> None:
    """Refuse a negative number.

    Raises
    ------
    OutOfRange
        The number is below 0.
    """
    if value < 0:
        raise OutOfRange("%s: must be 0 or more" % name, path=name)


def span(value_s: float) -> str:
    """A span of time for people, with three digits: "15.2 days". Up to three minutes in seconds."""
    for unit_s, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if value_s >= 3 * unit_s:
            return "%.*f %s" % (1 if value_s < 1000 * unit_s else 0, value_s / unit_s, unit)
    return "%g s" % value_s
