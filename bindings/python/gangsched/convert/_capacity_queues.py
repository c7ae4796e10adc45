# SPDX-License-Identifier: Apache-2.0
"""The members of a queue of ``capacity-scheduler.xml`` besides its quotas: state, order, users,
counts, times, and the template of queues that are made on demand.
"""
from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._base import (
    MAX_AMOUNT, ConvertError, Json, Report, Source, boolean, integer, name, number, part, quote,
    seconds, tidy,
)
from ._capacity_quotas import Capacity, Quotas
from ._capacity_rules import PREFIX
from ._capacity_tree import Queue
from ._yarn import acl, bracketed, quota_number


class QueueMembers(Quotas):
    """The queues with all their members."""

    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        super().__init__(sources, report)
        self.user_keys = self._user_keys()

    def members(self, queue: Queue) -> None:
        out = queue.json
        if queue.parent:
            out["parent"] = queue.parent.path
        state, place = self._state(queue)
        if state == "STOPPED":
            out["state"] = "draining"
        elif state != "RUNNING":
            raise ConvertError(place, "neither RUNNING nor STOPPED: %s" % quote(state))
        for key, member in (
            ("acl_submit_applications", "submit_acl"),
            ("acl_administer_queue", "admin_acl"),
        ):
            raw = self.conf.raw(self.key(queue, key))
            if raw is not None:
                out[member] = acl(self.place(queue, key), raw)
        self._priority(queue)
        running = self.get(queue, "max-parallel-apps")
        if (
            running is not None
            and int(number(self.place(queue, "max-parallel-apps"), running)) < 2**31 - 1
        ):
            out["max_running"] = integer(self.place(queue, "max-parallel-apps"), running, 1)
        child = self._template(queue)
        if queue.children or child is not None:
            out["child_order"] = self._child_order(queue)
        else:
            self.leaf(lambda key: self.inherited(queue, key) if key == "" else
                      (self.get(queue, key), self.place(queue, key)), out, True)
            self._users(queue)
            self._count(queue)
        if child is not None:
            if queue.children and "guaranteed" in child:
                weights = any(
                    isinstance(v, dict) and "weight" in v
                    for c in queue.children
                    for v in c.json.get("guaranteed", {}).values()
                )
                if weights != any(
                    isinstance(v, dict) and "weight" in v for v in child["guaranteed"].values()
                ):
                    raise ConvertError(
                        self.place(queue, "queues"),
                        "queues made on demand have a capacity of another kind than the children",
                    )
            out["child"] = child

    def _state(self, queue: Queue) -> Tuple[str, str]:
        for above in queue.up():
            text = self.get(above, "state")
            if text is not None and (above is queue or text.upper() == "STOPPED"):
                return text.upper(), self.place(above, "state")
        return "RUNNING", ""

    def _priority(self, queue: Queue) -> None:
        text = self.get(queue, "priority")
        priority = (
            integer(self.place(queue, "priority"), text, -(2**31), 2**31 - 1)
            if text is not None
            else 0
        )
        if queue.parent and self._child_order(queue.parent) == "priority-utilization":
            queue.json["priority"] = priority
        elif priority:
            self.report.warn(self.place(queue, "priority"),
                             "does not count: the parent's ordering-policy is utilization")

    def _child_order(self, queue: Queue) -> str:
        text = self.get(queue, "ordering-policy") or "utilization"
        if text not in ("utilization", "priority-utilization"):
            if text not in ("fifo", "fair"):
                raise ConvertError(
                    self.place(queue, "ordering-policy"), "not an order of queues: %s" % quote(text)
                )
            self.report.warn(
                self.place(queue, "ordering-policy"), "%s is an order of applications" % text
            )
            text = "utilization"
        return text

    def leaf(
        self, get: Callable[[str], Tuple[Optional[str], str]], out: Json, limits: bool
    ) -> None:
        """The members of leaves and of templates of leaves."""
        policy, place = get("ordering-policy")
        if policy == "fair":
            out["order"] = "fair"
            self.report.warn(
                place, "the user with the lowest usage is first; in YARN the application"
            )
        elif policy not in (None, "fifo"):
            if policy not in ("fifo-with-partitions", "fifo-for-pending-apps", "utilization"):
                raise ConvertError(place, "not an order of applications: %s" % quote(policy))
            self.report.warn(place, "%s is taken for fifo" % policy)
        factor, place = get("user-limit-factor")
        value = number(place, factor, -1, 10 ** 6) if factor is not None else Fraction(1)
        if value < 0 and value != -1:
            raise ConvertError(place, "less than 0, and not -1")
        if value == 0:
            self.report.warn(place, "0 would stop all users; taken for no bound")
        elif value > 0:
            out["user_limit_factor"] = max(tidy(value), 0.001)
        percent, place = get("minimum-user-limit-percent")
        out["user_limit"] = (
            max(1, int(number(place, percent, 0, 100))) / 100 if percent is not None else 1
        )
        if limits:
            self._lifetimes(get, out)

    def _lifetimes(self, get: Callable[[str], Tuple[Optional[str], str]], out: Json) -> None:
        times: Dict[str, Any] = {}
        for key in ("maximum", "default"):
            text, place = get(key + "-application-lifetime")
            value = integer(place, text, -1) if text is not None else 0
            if value > 0:
                times[key] = seconds(place, Fraction(value))
        if "maximum" in times:
            default = times.get("default", times["maximum"])
            out["max_time_limit_s"] = times["maximum"]
            out["default_time_limit_s"] = min(default, times["maximum"])
            if default > times["maximum"]:
                self.report.warn(
                    get("default-application-lifetime")[1],
                    "above the maximum, which is used instead",
                )
        elif "default" in times:
            out["default_time_limit_s"] = times["default"]

    def _user_keys(self) -> Dict[str, List[Tuple[str, str]]]:
        """By queue: the keys of user weights, with the user."""
        out: Dict[str, List[Tuple[str, str]]] = {}
        for key in self.conf.properties:
            path, found, rest = key[len(PREFIX):].partition(".user-settings.")
            if key.startswith(PREFIX) and found and rest.endswith(".weight"):
                out.setdefault(path, []).append((key, rest[:-len(".weight")]))
        return out

    def _users(self, queue: Queue) -> None:
        users: Dict[str, Any] = {}
        for above in reversed(list(queue.up())):
            for key, user in self.user_keys.get(above.path, []):
                weight = number(self.conf.place(key), self.conf.get(key), 0, 10 ** 6)
                if part(weight) > 0:
                    users[name(self.conf.place(key), user, "user")] = part(weight)
                else:
                    self.report.warn(self.conf.place(key), "a weight of 0 is left out")
        if users:
            queue.json["users"] = users

    def _count(self, queue: Queue) -> None:
        text, place = self.get(queue, "maximum-applications"), self.place(
            queue, "maximum-applications"
        )
        if text is None and self.conf.get(PREFIX + "maximum-applications") is not None:
            place = self.conf.place(PREFIX + "maximum-applications")
            share = self._absolute(queue)
            if share is None:
                self.report.warn(place, "not divided among queues that have amounts")
                return
            most = int(
                number(place, self.conf.get(PREFIX + "maximum-applications"), 0, MAX_AMOUNT) * share
            )
        elif text is not None:
            most = integer(place, text)
        else:
            return
        self.report.warn(place, "bounds waiting jobs; in YARN running jobs count, too")
        if most < 1:
            self.report.warn(place, "less than one job for %s; one may wait" % queue.path)
        queue.json["max_pending"] = max(1, most)

    def _absolute(self, queue: Queue) -> Optional[Fraction]:
        """The fraction of the whole cluster that a queue has in the default partition."""
        out = Fraction(1)
        for at in queue.up():
            capacity = self.capacity_of(at, None)
            if at.parent is None:
                break
            if capacity.mode == "resources":
                return None
            if capacity.mode == "percentages":
                out *= capacity.part or 0
            else:
                weights = sum(
                    (
                        self.capacity_of(child, None).weight or Fraction(0)
                        for child in at.parent.children
                    ),
                    Fraction(0),
                )
                out *= (capacity.weight or 0) / weights if weights else 0
        return out

    def _template(self, queue: Queue) -> Optional[Json]:
        """The template of queues that are made on demand."""
        legacy, new = "auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled"
        if boolean(self.place(queue, legacy), self.get(queue, legacy) or "false"):
            stems, most, default = (
                ["leaf-queue-template."],
                "auto-create-child-queue.max-queues",
                None,
            )
        elif boolean(self.place(queue, new), self.get(queue, new) or "false"):
            stems = ["auto-queue-creation-v2.leaf-template.", "auto-queue-creation-v2.template."]
            most, default = "auto-queue-creation-v2.max-queues", "1w"
        else:
            return None

        def get(key: str) -> Tuple[Optional[str], str]:
            texts = [(self.get(queue, stem + key), self.place(queue, stem + key)) for stem in stems]
            return next((one for one in texts if one[0] is not None), texts[0])
        child: Json = {}
        text, place = get("capacity")
        if text is None and default is None:
            raise ConvertError(place, "not set")
        capacity = Capacity(place, text or default or "")
        child["guaranteed"] = {self.dimension(kind, None): self.quota(capacity, kind, Fraction(1))
                               for kind in self.kinds}
        text, place = get("maximum-capacity")
        if text is not None and not text.startswith("["):
            share = part(number(place, text, -1, 100) / 100)
            if 0 < share < 1:
                child["limit"] = {
                    self.dimension(kind, None): {"fraction": share} for kind in self.kinds
                }
        elif text is not None:
            child["limit"] = {self.dimension(kind, None): quota_number(place, kind, most_of)
                              for kind, most_of in sorted(bracketed(place, text).items())
                              if kind in self.kinds}
        self.leaf(get, child, True)
        text = self.get(queue, most)
        if text is not None:
            queue.json["max_children"] = integer(self.place(queue, most), text, 1)
        return child
