# SPDX-License-Identifier: Apache-2.0
"""Dates where a time is expected: seconds from an epoch, and the way back.

Each time (``submit_s``, ``start_s``, ``until_s``...) is a number of seconds, or a date: a
``datetime``, a ``date``, a ``pandas.Timestamp``, a ``numpy.datetime64``, or a text that pandas
reads and that contains a year. A duration (``run_s``, ``duration_s``...) is a number of seconds or
a ``timedelta`` (also of pandas and numpy). Trace files in CSV and JSON lines may have dates in
``submit_s`` and ``start_s``: :meth:`Trace.read`.

An *epoch* is the date of second 0. Dates with a time zone are instants: between 1 a.m. and 3 a.m.
of the night in which clocks go forward lies one hour. Dates without a time zone are those of a
clock that is never set. The two kinds do not mix: an epoch with a time zone takes dates with one,
in any zone, and an epoch without takes dates without.
"""

import datetime
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Union

from .errors import InvalidArgument

if TYPE_CHECKING:
    import pandas

_NS = 10**9

# A time: seconds, or a date (also a ``numpy.datetime64``).
Time = Union[float, str, datetime.date, datetime.timedelta, Any]


def is_date(value: Any) -> bool:
    """Whether a value is a date, or a text that is no number."""
    if isinstance(value, str):
        return bool(value.strip()) and not _is_number(value)
    return isinstance(value, datetime.date) or type(value).__name__ == "datetime64"


def _is_number(value: str) -> bool:
    try:
        float(value)
        return True
    except ValueError:
        return False


def is_duration(value: Any) -> bool:
    """Whether a value is a ``timedelta`` of Python, pandas or numpy."""
    return isinstance(value, datetime.timedelta) or type(value).__name__ == "timedelta64"


def as_date(value: Any, name: str) -> "pandas.Timestamp":
    """A date as pandas has it.

    Raises
    ------
    InvalidArgument
        The value is no date; ``name`` is the path.
    """
    import pandas

    wrong = "%s: expected a date with its year, not %r" % (name, value)
    if isinstance(value, str) and not _has_year(value):
        raise InvalidArgument(wrong, path=name)
    if not is_date(value):
        raise InvalidArgument(wrong, path=name)
    try:
        made = pandas.Timestamp(value)
    except (ValueError, OverflowError, TypeError) as error:
        said = "%s: %r is not a date: %s" % (name, value, error)
        raise InvalidArgument(said, path=name) from None
    if made is pandas.NaT:
        raise InvalidArgument(wrong, path=name)
    return made


def _has_year(value: str) -> bool:
    """Whether a text has four digits in a row."""
    digits = "".join(c if c.isdigit() else " " for c in value).split()
    return any(len(run) >= 4 for run in digits)


def as_epoch(value: Any, name: str = "epoch") -> "Optional[pandas.Timestamp]":
    """The date of second 0; None: there is none."""
    return None if value is None else as_date(value, name)


def duration_s(value: Any) -> Any:
    """A ``timedelta`` as seconds; all else as it is."""
    if not is_duration(value):
        return value
    import pandas

    return _seconds(pandas.Timedelta(value).value)


def _seconds(value_ns: int) -> Any:
    """ns as seconds: a whole number where possible, which is exact."""
    return int(value_ns) // _NS if value_ns % _NS == 0 else value_ns / _NS


def time_s(value: Any, epoch: "Optional[pandas.Timestamp]", name: str) -> Any:
    """A time as seconds from the epoch: of a date, or of a ``timedelta``; all else as it is.

    Raises
    ------
    InvalidArgument
        Not a date; there is no epoch; or only one of the two has a time zone. ``name`` is the path.
    """
    if is_duration(value):
        return duration_s(value)
    if not is_date(value):
        return value
    date = as_date(value, name)
    if epoch is None:
        raise InvalidArgument(
            "%s: %s is a date, but there is no epoch: give epoch=, or a trace with dates"
            % (name, date), path=name
        )
    check_zones(date, epoch, name)
    return _seconds(date.value - epoch.value)


def check_zones(date: "pandas.Timestamp", epoch: "pandas.Timestamp", name: str) -> None:
    """Refuse a date without a time zone beside an epoch with one, and the other way round."""
    if (date.tzinfo is None) != (epoch.tzinfo is None):
        has = ("has no time zone, but", "has one") if date.tzinfo is None else (
            "has a time zone, but", "has none")
        raise InvalidArgument(
            "%s: %s %s the epoch %s %s" % (name, date, has[0], epoch, has[1]), path=name
        )


def times_in(
    given: Mapping[str, Any], names: Iterable[str], epoch: "Optional[pandas.Timestamp]"
) -> Dict[str, Any]:
    """A copy of members in which those with these names are seconds."""
    made = dict(given)
    for name in names:
        if name in made:
            made[name] = time_s(made[name], epoch, name)
    return made


def dates_of(seconds: Any, epoch: "Optional[pandas.Timestamp]") -> Any:
    """Seconds as dates: an index of pandas, or one date for one number. Not a number: NaT.

    Raises
    ------
    InvalidArgument
        There is no epoch.
    """
    import numpy
    import pandas

    if epoch is None:
        raise InvalidArgument("there is no epoch: give epoch=, or a trace with dates", path="epoch")
    values = numpy.asarray(seconds, dtype=numpy.float64)
    known = numpy.isfinite(values)
    whole = numpy.floor(numpy.where(known, values, 0))
    rest = numpy.rint((numpy.where(known, values, 0) - whole) * _NS)
    passed = whole.astype("int64") * _NS + rest.astype("int64")
    passed = numpy.where(known, passed, numpy.iinfo(numpy.int64).min)  # NaT
    found = epoch + pandas.to_timedelta(numpy.atleast_1d(passed), unit="ns")
    return found if values.ndim else found[0]


def first_of(dates: "List[pandas.Timestamp]", name: str) -> "pandas.Timestamp":
    """The earliest of several dates, which all have a time zone, or none of them."""
    for date in dates:
        check_zones(date, dates[0], name)
    return min(dates)


__all__ = [
    "Time", "as_date", "as_epoch", "check_zones", "dates_of", "duration_s", "first_of", "is_date",
    "is_duration", "time_s", "times_in",
]
