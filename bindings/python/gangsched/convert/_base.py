# SPDX-License-Identifier: Apache-2.0
"""Shared by all converters: input, errors, warnings, numbers, and building the scenario."""
from __future__ import annotations

import dataclasses
import json
import re
from fractions import Fraction
from typing import (
    Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union,
)

Json = Dict[str, Any]

#: Bounds of the scenario format (include/gangsched/model.h). Converters refuse larger values, with
#: their place.
MAX_NAME = 255
MAX_AMOUNT = (1 << 40) - 1
MAX_CPUS = ((1 << 32) - 1) // 1000
MAX_GPUS = 64
MAX_NODES = (1 << 20) - 1
MAX_TASKS = 1 << 24
MAX_QUEUE_DEPTH = 32
MAX_PARTITIONS = 16
MAX_SECONDS = 10 ** 9

#: Memory of a node or task, in MiB.
MAX_MIB = (1 << 40) * 4096 // (1 << 20) - 1

WHOLE = 1000000
MIB = 1 << 20


class ConvertError(ValueError):
    """Input that cannot be converted.

    The text begins with the place: the file, then its line or the path of the key, as in
    ``capacity-scheduler.xml: yarn.scheduler.capacity.root.a.capacity: not a number:
    "x"``. ``place`` is that part alone, ``reason`` the rest.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__("%s: %s" % (place, reason))
        self.place = place
        self.reason = reason

    def __reduce__(self) -> Tuple[Any, Tuple[str, str]]:
        return type(self), (self.place, self.reason)


@dataclasses.dataclass(frozen=True)
class ConvertWarning:
    """Something in the input that the scenario lacks, or expresses differently."""

    place: str  #: file, and line or key
    text: str

    def __str__(self) -> str:
        return "%s: %s" % (self.place, self.text)


@dataclasses.dataclass(frozen=True)
class Source:
    """One input: its name for messages, and its text."""

    name: str
    text: str
    form: str = ""  #: the format, one of FORMATS


class Report:
    """Collects warnings."""

    def __init__(self) -> None:
        self.warnings: List[ConvertWarning] = []
        self._seen: Set[Tuple[str, str]] = set()
        self._aside: Dict[Tuple[str, str], List[str]] = {}

    def warn(self, place: str, text: str) -> None:
        """Add a warning, once."""
        if (place, text) not in self._seen:
            self._seen.add((place, text))
            self.warnings.append(ConvertWarning(place, text))

    def aside(self, file: str, key: str, why: str = "not about scheduling") -> None:
        """Ignore a key for a reason that many keys share. They become one warning."""
        keys = self._aside.setdefault((file, why), [])
        if key not in keys:
            keys.append(key)

    def finish(self) -> List[ConvertWarning]:
        """All warnings, those of aside() last."""
        for (file, why), keys in self._aside.items():
            self.warn(file, "left out, %s: %s" % (why, ", ".join(keys)))
        self._aside.clear()
        return self.warnings


#: A step that needs the merged scenario of all inputs.
Finish = Callable[[Json, Report], None]


@dataclasses.dataclass
class Part:
    """The result of one converter."""

    scenario: Json
    finish: Sequence[Finish] = ()


# ---- text ------------------------------------------------------------------------------------


def quote(text: object) -> str:
    """Text for messages: quoted, without control characters, and shortened."""
    if isinstance(text, (dict, list)):  # aliases in YAML may expand without bound
        return "an object" if isinstance(text, dict) else "a list"
    shown = _shown(text)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return json.dumps(shown, ensure_ascii=False)


def _shown(value: object) -> str:
    """A value as text; Python refuses to print numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a number of %d bits" % value.bit_length()
    return str(value)


def name(place: str, text: object, what: str = "name") -> str:
    """A name that the scenario format accepts."""
    if not isinstance(text, str) or not text:
        raise ConvertError(
            place, "no %s" % what if text in (None, "") else "not a %s: %s" % (what, quote(text))
        )
    return plain(place, text, what)


def plain(place: str, text: str, what: str = "text") -> str:
    """Short text without control characters; may be empty."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise ConvertError(
            place, "the %s is not valid text: %s" % (what, quote(ascii(text)))
        ) from None
    if size > MAX_NAME:
        raise ConvertError(
            place, "the %s is longer than %d bytes: %s" % (what, MAX_NAME, quote(text))
        )
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text):
        raise ConvertError(place, "a control character in the %s %s" % (what, quote(text)))
    return text


# ---- numbers ---------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?", re.ASCII
)


def number(
    place: str, text: object, least: Optional[int] = 0, most: Optional[int] = None
) -> Fraction:
    """An exact decimal number within bounds."""
    shown = (
        _shown(text).strip()
        if isinstance(text, (str, int, float)) and not isinstance(text, bool)
        else ""
    )
    if not _NUMBER.fullmatch(shown):
        raise ConvertError(place, "not a number: %s" % quote(text))
    value = Fraction(shown)
    if least is not None and value < least:
        raise ConvertError(place, "less than %d: %s" % (least, quote(text)))
    if most is not None and value > most:
        raise ConvertError(place, "more than %d: %s" % (most, quote(text)))
    return value


def integer(
    place: str, text: object, least: Optional[int] = 0, most: Optional[int] = MAX_AMOUNT
) -> int:
    """A whole number within bounds."""
    value = number(place, text, least, most)
    if value.denominator != 1:
        raise ConvertError(place, "not a whole number: %s" % quote(text))
    return value.numerator


_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}


def boolean(place: str, text: object) -> bool:
    """true or false, as configuration files write it."""
    if isinstance(text, bool):
        return text
    word = text.strip().lower() if isinstance(text, str) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ConvertError(place, "neither true nor false: %s" % quote(text))


def tidy(value: Fraction, unit: int = 1000) -> Union[int, float]:
    """A number for JSON, rounded down to 1/unit."""
    steps = value * unit // 1
    return steps // unit if steps % unit == 0 else float(Fraction(steps, unit))


def part(value: Fraction) -> Union[int, float]:
    """A part of a whole, down to millionths."""
    return tidy(value, WHOLE)


def seconds(place: str, value: Fraction, least: int = 0) -> Union[int, float]:
    """Seconds for JSON, within the bounds of the format."""
    if value < least or value > MAX_SECONDS:
        raise ConvertError(place, "not a time between %d and %d seconds" % (least, MAX_SECONDS))
    return tidy(value)


_BINARY = {
    "Ki": 1024,
    "Mi": 1024**2,
    "Gi": 1024**3,
    "Ti": 1024**4,
    "Pi": 1024**5,
    "Ei": 1024**6,
}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(1000),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
}


def quantity(place: str, text: object) -> Fraction:
    """A Kubernetes quantity ("500m", "1Gi", "2e3"), in its base unit."""
    shown = (
        _shown(text).strip()
        if isinstance(text, (str, int, float)) and not isinstance(text, bool)
        else ""
    )
    if _NUMBER.fullmatch(shown):
        return number(place, shown)
    for suffix, factor in list(_BINARY.items()) + [(k, v) for k, v in _DECIMAL.items() if k]:
        if shown.endswith(suffix) and _NUMBER.fullmatch(shown[:-len(suffix)]):
            return number(place, shown[:-len(suffix)]) * factor
    raise ConvertError(place, "not a quantity: %s" % quote(text))


def cpus(place: str, value: Fraction) -> Union[int, float]:
    """Cores, down to thousandths."""
    if value > MAX_CPUS:
        raise ConvertError(place, "more than %d cores" % MAX_CPUS)
    return tidy(value)


def put_memory(place: str, into: Json, size: Fraction, key: str = "mem") -> None:
    """Memory of `size` bytes as `mem_mib`, or as `mem_bytes` if it is no whole number of MiB."""
    whole = size // 1
    if whole > MAX_MIB * MIB:
        raise ConvertError(place, "more memory than any machine has")
    if whole % MIB == 0:
        into[key + "_mib"] = whole // MIB
    else:
        into[key + "_bytes"] = whole


# ---- kinds -----------------------------------------------------------------------------------

BUILT_IN = ("cpu", "mem_mib", "gpu")
_TAKEN = {"cpu", "memory", "gpu", "mem_mib", "mem_bytes", "default", "tasks"}
MAX_KINDS = 28


def kind_name(place: str, text: str) -> str:
    """A resource of the site as a kind."""
    checked = name(place, text, "resource")
    if checked in _TAKEN or "@" in checked:
        raise ConvertError(place, "a resource cannot be called %s" % quote(checked))
    return checked


def add_kind(place: str, scenario: Json, kind: str, unit: Optional[str] = None,
             capacity: Optional[int] = None) -> None:
    """Declare a kind, once. Kinds of the cluster have a capacity; capacities add up."""
    kinds: List[Json] = scenario.setdefault("kinds", [])
    for old in kinds:
        if old["name"] == kind:
            if (old.get("scope") == "cluster") != (capacity is not None):
                raise ConvertError(
                    place, "%s is counted on nodes and for the cluster" % quote(kind)
                )
            if capacity is not None:
                old["capacity"] = min(MAX_AMOUNT, old["capacity"] + capacity)
            return
    if len(kinds) >= MAX_KINDS:
        raise ConvertError(place, "more than %d resources" % MAX_KINDS)
    made: Json = {"name": kind_name(place, kind)}
    if unit:
        made["unit"] = unit
    if capacity is not None:
        made.update(scope="cluster", capacity=capacity)
    kinds.append(made)


# ---- merging ---------------------------------------------------------------------------------

#: Lists of named elements, and the word for one element.
_NAMED = {
    "nodes": "node", "queues": "queue", "jobs": "job", "reservations": "reservation",
    "kinds": "kind", "partitions": "partition",
}


def merge(into: Json, more: Mapping[str, Any], place: str) -> None:
    """Add the result of a converter to the scenario; elements of one name must be the same.

    If both describe a node, the node gets the members of both: "topology" and "labels" from one
    file, amounts from another.
    """
    for key, value in more.items():
        if key in _NAMED:
            _merge_named(into, key, value, place)
        elif key == "levels":
            _merge_levels(into, value, place)
        elif key in ("rules", "needs", "excluded_kinds"):
            into.setdefault(key, []).extend(v for v in value if v not in into.get(key, []))
        elif key in into and into[key] != value:
            raise ConvertError(
                place, "%s: %s here, %s in another file" % (key, quote(value), quote(into[key]))
            )
        else:
            into[key] = value


def _merge_named(into: Json, key: str, more: Iterable[Json], place: str) -> None:
    have: List[Json] = into.setdefault(key, [])
    index = {one["name"]: one for one in have}
    for one in more:
        old = index.get(one["name"])
        if old is None:
            have.append(one)
            index[one["name"]] = one
        elif key == "nodes":
            _merge_node(old, one, place)
        elif old != one:
            raise ConvertError(
                place, "%s %s is there twice, and differs" % (_NAMED[key], quote(one["name"]))
            )


#: Pairs of members that mean the same in different units.
_EITHER = (("mem_mib", "mem_bytes"), ("gpu_mem_mib", "gpu_mem_bytes"), ("state", "unschedulable"))


def _merge_node(old: Json, more: Json, place: str) -> None:
    for pair in _EITHER:
        for mine, other in (pair, pair[::-1]):
            if mine in more and mine not in old and other in old:
                raise ConvertError(
                    place, "node %s: %s here, %s elsewhere" % (quote(old["name"]), mine, other)
                )
    if "devices" in old or "devices" in more:
        more = _merge_devices(old, more, place)
    for key, value in more.items():
        if key in ("labels", "topology", "amounts") and key in old:
            for word, own in value.items():
                if old[key].setdefault(word, own) != own:
                    raise ConvertError(place, "node %s: %s.%s: %s here, %s elsewhere" % (
                        quote(old["name"]), key, word, quote(own), quote(old[key][word])))
        elif key == "partitions":
            old[key] = old.get(key, []) + [p for p in value if p not in old.get(key, [])]
        elif key in old and old[key] != value:
            raise ConvertError(place, "node %s: %s: %s here, %s elsewhere"
                               % (quote(old["name"]), key, quote(value), quote(old[key])))
        else:
            old[key] = value


def _merge_devices(old: Json, more: Json, place: str) -> Json:
    """Merge a list of devices with a number of GPUs and a model from another input."""
    both = [dict(one) for one in (old, more)]
    counts = {one["gpus"] for one in both if "gpus" in one} | {
        len(one["devices"]) for one in both if "devices" in one
    }
    if len(counts) > 1:
        raise ConvertError(
            place, "node %s: another number of GPUs than elsewhere" % quote(old["name"])
        )
    for key in ("model", "mem_mib", "mem_bytes"):
        for one in both:
            value = one.pop("gpu_" + key, None)
            for device in [d for other in both for d in other.get("devices", [])]:
                if value is not None and not (
                    key.startswith("mem") and {"mem_mib", "mem_bytes"} & set(device)
                ):
                    device.setdefault(key, value)
    for one in both:
        one.pop("gpus", None)
    old.clear()
    old.update(both[0])
    return both[1]


def _merge_levels(into: Json, more: Sequence[str], place: str) -> None:
    have: List[str] = into.setdefault("levels", [])
    common = [level for level in more if level in have]
    if common != [level for level in have if level in more]:
        raise ConvertError(place, "the levels come in another order than in another file")
    at = 0
    for level in more:
        if level in have:
            at = have.index(level) + 1
        else:
            have.insert(at, level)
            at += 1


def leaf_names(scenario: Json) -> List[str]:
    """The names of the queues that may hold jobs."""
    inner = {queue.get("parent") for queue in scenario.get("queues", [])}
    return [
        q["name"] for q in scenario.get("queues", []) if q["name"] not in inner and "child" not in q
    ]


#: The queue of jobs that name none and match no rule.
DEFAULT_QUEUE = "default"


def settle_jobs(scenario: Json, report: Report) -> None:
    """Give each job a queue, if there are queues."""
    rest = [job for job in scenario.get("jobs", []) if "queue" not in job]
    if (
        not rest
        or not scenario.get("queues")
        or scenario.get("default_queue")
        or scenario.get("rules")
    ):
        return
    if DEFAULT_QUEUE not in {queue["name"] for queue in scenario["queues"]}:
        scenario["queues"].append({"name": DEFAULT_QUEUE})
    report.warn(
        "job %s" % quote(rest[0]["name"]),
        "names no queue, nor do %d others: they are in queue %s" % (len(rest) - 1, DEFAULT_QUEUE),
    )
    place_jobs(scenario, [(job, DEFAULT_QUEUE, "job %s" % quote(job["name"])) for job in rest])


def place_jobs(scenario: Json, wanted: Sequence[Tuple[Json, str, str]]) -> None:
    """Give jobs the queues that they name: (job, queue, place of the name).

    Queues of YARN have their whole path as name; a job may give the last word only. If there are no
    queues, the named queues are made, without guarantees.
    """
    if not scenario.get("queues") and wanted:
        scenario["queues"] = [
            {"name": queue} for queue in dict.fromkeys(queue for _, queue, _ in wanted)
        ]
    leaves = leaf_names(scenario)
    last: Dict[str, List[str]] = {}
    for leaf in leaves:
        last.setdefault(leaf.rsplit(".", 1)[-1], []).append(leaf)
    whole = set(leaves)
    made_below = {q["name"] for q in scenario.get("queues", []) if "child" in q}
    for job, queue, place in wanted:
        if queue in whole or queue.rpartition(".")[0] in made_below:
            job["queue"] = queue
        elif "root." + queue in whole or ("root." + queue).rpartition(".")[0] in made_below:
            job["queue"] = "root." + queue
        elif len(last.get(queue, [])) == 1:
            job["queue"] = last[queue][0]
        else:
            raise ConvertError(
                place,
                "no queue %s that takes jobs" % quote(queue)
                if not last.get(queue)
                else "several queues are called %s" % quote(queue),
            )
