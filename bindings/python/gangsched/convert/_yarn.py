# SPDX-License-Identifier: Apache-2.0
"""Shared by the two schedulers of YARN."""
from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Dict, Generic, Iterator, List, Optional, Tuple, TypeVar, Union, cast

from ._base import (
    BUILT_IN, MAX_AMOUNT, MIB, ConvertError, Json, Report, cpus, integer, kind_name, name, number,
    quantity, quote, tidy,
)
from ._xml import Configuration

#: Resource of YARN -> key of a quota.
RESOURCES = {
    "memory": "mem_mib", "memory-mb": "mem_mib", "vcores": "cpu", "yarn.io/gpu": "gpu",
    "gpu": "gpu",
}

_UNIT = re.compile(r"([0-9.]+)\s*([A-Za-z]+)?")


def resource_key(place: str, text: str) -> str:
    """The key of a quota for a resource of YARN."""
    return RESOURCES.get(text.strip(), "") or kind_name(place, text.strip())


def amount(place: str, key: str, text: str) -> Fraction:
    """An amount in the unit of the quota; memory without a unit is in MiB, as in YARN."""
    match = _UNIT.fullmatch(text.strip())
    if not match:
        raise ConvertError(place, "not an amount: %s" % quote(text))
    if not match.group(2):
        return number(place, match.group(1), 0, MAX_AMOUNT)
    unit = match.group(2)
    if key == "mem_mib" and unit.lower() in ("mb", "mib"):
        return number(place, match.group(1), 0, MAX_AMOUNT)
    value = (
        number(place, match.group(1)) / 10**12
        if unit == "p"
        else quantity(place, match.group(1) + unit)
    )
    value = value / MIB if key == "mem_mib" else value
    if value > MAX_AMOUNT:
        raise ConvertError(place, "too much: %s" % quote(text))
    return value


def quota_number(place: str, key: str, value: Fraction) -> Union[int, float]:
    """An amount for a quota of this key."""
    return cpus(place, value) if key == "cpu" else tidy(value) if key == "gpu" else value // 1


def bracketed(place: str, text: str) -> Dict[str, Fraction]:
    """`[memory=10240,vcores=12,yarn.io/gpu=4]`, by key of a quota."""
    inside = text.strip()
    if not (inside.startswith("[") and inside.endswith("]")):
        raise ConvertError(place, "not a list of resources in brackets: %s" % quote(text))
    return pairs(place, inside[1:-1])


def pairs(place: str, text: str) -> Dict[str, Fraction]:
    """`memory=10240, vcores=12`, by key of a quota."""
    out: Dict[str, Fraction] = {}
    for word in text.split(","):
        left, equals, right = word.partition("=")
        if not equals or not left.strip():
            raise ConvertError(place, "not resource=amount: %s" % quote(word.strip()))
        key = resource_key(place, left)
        if key in out:
            raise ConvertError(place, "%s is there twice" % left.strip())
        out[key] = amount(place, key, right)
    return out


def acl(place: str, text: str) -> str:
    """An ACL, "users groups", without surplus blanks and empty words; "*" for all users, " " for
    none.
    """
    if text.strip() == "*":
        return "*"
    users, _, groups = text.partition(" ")
    lists = [
        split_list(users.replace("\n", ",").replace("\t", ",")),
        split_list(" ".join(groups.split())),
    ]
    for word in lists[0] + lists[1]:
        if name(place, word, "user or group") == "*" or " " in word:
            raise ConvertError(place, "not users and groups: %s" % quote(text))
    out = "%s %s" % (",".join(lists[0]), ",".join(lists[1]))
    if len(out.encode("utf-8")) > 65000:
        raise ConvertError(place, "longer than 65000 bytes")
    return out if lists[1] or not lists[0] else out.rstrip(" ")


def without_acls(conf: Configuration, report: Report, queues: List[Json]) -> None:
    """Warn that the scenario enforces ACLs which the site has switched off."""
    enabled = conf.get("yarn.acl.enable")
    there = any("submit_acl" in queue or "admin_acl" in queue for queue in queues)
    if there and enabled is not None and enabled.lower() == "false":
        report.warn(conf.place("yarn.acl.enable"), "ACLs of queues apply here nevertheless")


def quota_keys(queues: List[Dict[str, Fraction]]) -> List[str]:
    """Keys of quotas: the built-in ones and the kinds of the site."""
    more = sorted({key for amounts in queues for key in amounts} - set(BUILT_IN))
    return list(BUILT_IN) + more


def total(scenario: Json, key: str, partition: Optional[str]) -> Fraction:
    """The capacity of all nodes, or of one partition, in the unit of a quota."""
    out = Fraction(0)
    for node in scenario.get("nodes", []):
        if partition is not None and partition not in node.get("partitions", []):
            continue
        if key == "cpu":
            out += Fraction(str(node.get("cpus", 0)))
        elif key == "mem_mib":
            out += (
                Fraction(node["mem_bytes"], MIB) if "mem_bytes" in node else node.get("mem_mib", 0)
            )
        elif key == "gpu":
            out += node.get("gpus", len(node.get("devices", [])))
        else:
            out += node.get("amounts", {}).get(key, 0)
    return out


def split_list(text: Optional[str]) -> List[str]:
    """Words between commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def milliseconds(place: str, text: str) -> Fraction:
    return Fraction(integer(place, text, 0, 10 ** 12), 1000)


def target(place: str, text: str) -> Tuple[str, List[str]]:
    """The words of the path of a queue."""
    words = text.split(".")
    if any(not word.strip() for word in words):
        raise ConvertError(place, "not a queue: %s" % quote(text))
    return text, words


_Node = TypeVar("_Node", bound="Tree[Any]")


class Tree(Generic[_Node]):
    """A queue with its path, its parent, the queues below it, and its members in the scenario."""

    def __init__(self, path: str, parent: Optional[_Node]) -> None:
        self.path = path
        self.parent = parent
        self.children: List[_Node] = []
        self.json: Json = {"name": path}

    def __iter__(self) -> Iterator[_Node]:
        """This queue and all queues below it, parents first."""
        yield cast(_Node, self)
        for child in self.children:
            yield from child

    def up(self) -> Iterator[_Node]:
        """This queue and its parents, up to the root."""
        queue: Optional[_Node] = cast(_Node, self)
        while queue:
            yield queue
            queue = queue.parent


def warn_without_preemption(conf: Configuration, report: Report, key: str) -> None:
    """Warn if the key that switches preemption on is missing."""
    if key not in conf.properties:
        report.warn(key, "not set, so that nothing is preempted; yarn-site.xml, which may set it, can be given, too")
