# SPDX-License-Identifier: Apache-2.0
"""Guarantees and limits of the queues of ``capacity-scheduler.xml``, by kind and label."""
from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import Any, Dict, List, Optional, Sequence

from ._base import BUILT_IN, ConvertError, Json, Report, Source, add_kind, number, part, tidy
from ._capacity_rules import PREFIX
from ._capacity_tree import DEFAULT_PARTITION, Queue, QueueTree
from ._yarn import bracketed, quota_number, total


class Capacity:
    """A value of `capacity`: a fraction, a weight, or amounts."""

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        self.part: Optional[Fraction] = None
        self.weight: Optional[Fraction] = None
        self.amounts: Dict[str, Fraction] = {}
        word = text.strip()
        if word.startswith("["):
            self.mode = "resources"
            self.amounts = bracketed(place, word)
        elif word.endswith("w"):
            self.mode = "weights"
            self.weight = number(place, word[:-1], 0, 10 ** 6)
        else:
            self.mode = "percentages"
            self.part = number(place, word[:-1] if word.endswith("%") else word, 0, 100) / 100


class Quotas(QueueTree):
    """The queues with their guarantees and limits."""

    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        super().__init__(sources, report)
        self.kinds: List[str] = list(BUILT_IN)
        self.weights = self._weights()
        self.has_amounts = False

    def capacity_of(self, queue: Queue, label: Optional[str]) -> Capacity:
        key = "capacity" if label is None else "accessible-node-labels.%s.capacity" % label
        text = self.get(queue, key)
        if text is None:
            if label is None and queue.parent is not None:
                raise ConvertError(self.place(queue, key), "not set")
            return Capacity(self.place(queue, key), "100" if label is None else "0")
        return Capacity(self.place(queue, key), text)

    def _children(
        self, queue: Queue, label: Optional[str], above: Optional[Capacity]
    ) -> List[Capacity]:
        """The capacities of the children, which must have one mode and add up."""
        out = [self.capacity_of(child, label) for child in queue.children]
        if not out:
            return out
        place = self.place(queue, "queues")
        stated = [c for c in out if label is None or c.part != 0] or out
        if len({c.mode for c in stated}) > 1:
            raise ConvertError(
                place,
                "some children have %s, some %s" % tuple(sorted({c.mode for c in stated})[:2]),
            )
        if stated[0].mode == "percentages":
            full = sum((c.part or Fraction(0) for c in out), Fraction(0))
            none = full == 0 and (
                queue.parent is None or not above or above.part == 0 or label is not None
            )
            # YARN compares floating-point numbers, too.
            if abs(full - 1) > Fraction(1, 10000) and not none:
                raise ConvertError(
                    place,
                    "the capacities of the children%s add up to %s, not 100"
                    % ("" if label is None else " for label " + label, tidy(full * 100)),
                )
        elif stated[0].mode == "resources" and above and above.mode == "resources":
            for key in sorted({key for c in out for key in c.amounts}):
                claimed = sum((c.amounts.get(key, Fraction(0)) for c in out), Fraction(0))
                if claimed > above.amounts.get(key, Fraction(0)):
                    raise ConvertError(
                        place,
                        "the children have %s of %s, the queue itself %s"
                        % (tidy(claimed), key, tidy(above.amounts.get(key, Fraction(0)))),
                    )
        return out

    def _weights(self) -> int:
        """The factor that makes all weights whole numbers."""
        out = 1
        for key in list(self.conf.properties):
            text = self.conf.properties[key].value.strip()
            if key.startswith(PREFIX) and key.endswith(".capacity") and text.endswith("w"):
                denominator = number(self.conf.place(key), text[:-1], 0, 10 ** 6).denominator
                out = out * denominator // gcd(out, denominator)
        return min(out, 10 ** 6)

    def quota(self, capacity: Capacity, kind: str, shrink: Fraction) -> Any:
        if capacity.mode == "resources":
            return quota_number(capacity.place, kind, capacity.amounts.get(kind, Fraction(0)))
        if capacity.mode == "weights":
            return {"weight": max(1, int(capacity.weight * self.weights))} if capacity.weight else 0
        share = part((capacity.part or Fraction(0)) * shrink)
        return {"fraction": share} if share else 0

    def guarantee(self, queue: Queue, label: Optional[str], above: Optional[Capacity]) -> None:
        """The guarantees of the children of a queue, and of all queues below."""
        capacities = self._children(queue, label, above)
        full = sum((c.part or Fraction(0) for c in capacities), Fraction(0))
        shrink = min(Fraction(1), 1 / full) if full else Fraction(1)
        weighted = any(c.weight for c in capacities)
        for child, capacity in zip(queue.children, capacities):
            into = child.json.setdefault("guaranteed", {})
            for kind in self.kinds:
                quota = self.quota(capacity, kind, shrink)
                if quota != 0 or not weighted:
                    into[self.dimension(kind, label)] = quota
            self.has_amounts = self.has_amounts or capacity.mode == "resources"
            self.limit(child, label, capacity)
            self.guarantee(child, label, capacity)

    def dimension(self, kind: str, label: Optional[str]) -> str:
        if label is not None:
            return "%s@%s" % (kind, label)
        return "%s@%s" % (kind, DEFAULT_PARTITION) if self.labels else kind

    def limit(self, queue: Queue, label: Optional[str], capacity: Capacity) -> None:
        key = (
            "maximum-capacity"
            if label is None
            else "accessible-node-labels.%s.maximum-capacity" % label
        )
        text = self.get(queue, key)
        into: Json = {}
        if label is not None and not self.accessible(queue, label):
            if capacity.part != 0:
                self.report.warn(capacity.place, "the queue has no access to label %s" % label)
            into = {self.dimension(kind, label): 0 for kind in self.kinds}
            queue.json["guaranteed"].update({key: 0 for key in into})
        elif text is not None and text.startswith("["):
            amounts = bracketed(self.place(queue, key), text)
            for kind, most in sorted(amounts.items()):
                if capacity.mode == "resources" and capacity.amounts.get(kind, Fraction(0)) > most:
                    raise ConvertError(self.place(queue, key), "%s: below the capacity" % kind)
                into[self.dimension(kind, label)] = quota_number(self.place(queue, key), kind, most)
        elif text is not None and number(self.place(queue, key), text, -1, 100) not in (-1, 100):
            most = number(self.place(queue, key), text, 0, 100) / 100
            if capacity.part is not None and capacity.part > most:
                raise ConvertError(self.place(queue, key), "below the capacity")
            into = {
                self.dimension(kind, label): {"fraction": part(most)} if part(most) else 0
                for kind in self.kinds
            }
        if into:
            queue.json.setdefault("limit", {}).update(into)

    def read_kinds(self, scenario: Json) -> None:
        """The kinds of the site: those in a capacity in brackets."""
        for queue in self.root:
            for label in [None, *self.labels]:
                stem = "" if label is None else "accessible-node-labels.%s." % label
                for key in ("capacity", "maximum-capacity"):
                    text = self.get(queue, stem + key)
                    place = self.place(queue, stem + key)
                    for kind in bracketed(place, text) if text and text.startswith("[") else ():
                        if kind not in self.kinds:
                            self.kinds.append(kind)
                            add_kind(place, scenario, kind)
        if len(self.kinds) * (len(self.labels) + 1) > 64:
            raise ConvertError(
                self.place(self.root, "queues"), "more than 64 pairs of resource and label"
            )

    # -- amounts that the nodes do not have --

    def scale(self, scenario: Json, report: Report) -> None:
        """Scale down amounts that the nodes do not have, by resource, from the top down."""
        if not self.has_amounts or not scenario.get("nodes"):
            return
        for label in [None, *self.labels]:
            partition = label or (DEFAULT_PARTITION if self.labels else None)
            for kind in self.kinds:
                self._scale_below(
                    self.root, self.dimension(kind, label), total(scenario, kind, partition), report
                )

    def _scale_below(self, queue: Queue, key: str, capacity: Fraction, report: Report) -> None:
        members = [
            c for c in queue.children if isinstance(c.json["guaranteed"].get(key), (int, float))
        ]
        claimed = sum((Fraction(str(c.json["guaranteed"][key])) for c in members), Fraction(0))
        for child in members:
            own = Fraction(str(child.json["guaranteed"][key]))
            if claimed > capacity:
                # Whole units, as in YARN.
                own = Fraction(own * capacity / claimed // 1)
                child.json["guaranteed"][key] = int(own)
                report.warn(
                    self.place(child, "capacity"),
                    "%s: scaled to %d, since the nodes have %s" % (key, int(own), tidy(capacity)),
                )
            self._scale_below(child, key, own, report)
