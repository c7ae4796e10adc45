# SPDX-License-Identifier: Apache-2.0
"""Messages about unknown names, with the known name that is closest."""

from typing import Any, Iterable

#: Most names that are compared with an unknown one.
_COMPARED = 5000


def meant(name: Any, known: Iterable[str]) -> str:
    """``; did you mean 'x'?``, for the known name that is closest; ``""``: none is close.

    >>> from gangsched.closest import meant
    >>> meant("gpuss", ["cpu", "gpus"])
    "; did you mean 'gpus'?"
    """
    from difflib import get_close_matches
    from itertools import islice

    listed = list(islice(known, _COMPARED))
    ends = [one for one in listed if one.endswith("_%s" % name)] if name else []
    found = ends or get_close_matches(str(name), listed, 1, 0.6)
    return "; did you mean '%s'?" % found[0] if found else ""


def unknown(what: str, name: Any, known: Iterable[str]) -> str:
    """The message about a name that is unknown: with the closest known one, or with all of them.

    >>> from gangsched.closest import unknown
    >>> unknown("column", "gpuss", ["cpus", "gpus"])
    "there is no column 'gpuss'; did you mean 'gpus'?"
    >>> unknown("column", "x", ["cpus", "gpus"])
    "there is no column 'x'; there are cpus, gpus"
    """
    listed = [str(one) for one in known]
    hint = meant(name, listed)
    if not hint and len(listed) <= 25:
        hint = "; there are %s" % ", ".join(listed) if listed else "; there are none"
    return "there is no %s '%s'%s" % (what, name, hint)


__all__ = ["meant", "unknown"]
