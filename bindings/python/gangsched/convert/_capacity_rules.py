# SPDX-License-Identifier: Apache-2.0
"""Placement rules of YARN's capacity scheduler: queue mappings, in the old format and as JSON."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping, Optional

from ._base import ConvertError, Json, Report, boolean, name, quote
from ._xml import Configuration
from ._yarn import Tree, split_list

PREFIX = "yarn.scheduler.capacity."


class Rules:
    """Converts the placement rules of a configuration.

    Attributes
    ----------
    default
        The default queue, which a rule may set.
    """

    def __init__(
        self, conf: Configuration, report: Report, queues: Mapping[str, Tree[Any]]
    ) -> None:
        self.conf = conf
        self.report = report
        self.by_path = queues
        self.last_words: Dict[str, List[str]] = {}
        for path in queues:
            self.last_words.setdefault(path.rpartition(".")[2], []).append(path)
        self.default: Optional[str] = None

    def convert(self) -> List[Json]:
        """The rules of the scenario."""
        out: List[Json] = []
        override = PREFIX + "queue-mappings-override.enable"
        if boolean(self.conf.place(override), self.conf.get(override) or "false"):
            self.report.warn(self.conf.place(override), "a job that names a queue keeps it")
        written = (self.conf.get(PREFIX + "mapping-rule-format") or "legacy").lower()
        if written == "json":
            out += self._json_rules()
        elif written != "legacy":
            raise ConvertError(
                self.conf.place(PREFIX + "mapping-rule-format"), "neither legacy nor json"
            )
        for key, only in (
            (PREFIX + "queue-mappings", ""),
            ("yarn.scheduler.queue-placement-rules.app-name", "a"),
        ):
            if written == "json" and self.conf.get(key):
                self.report.warn(self.conf.place(key), "mapping-rule-format is json")
                continue
            for word in split_list(self.conf.get(key)):
                out += self._legacy_rule(self.conf.place(key), only + ":" + word if only else word)
        return out

    def _legacy_rule(self, place: str, text: str) -> List[Json]:
        words = [word.strip() for word in text.split(":")]
        if len(words) != 3 or words[0] not in ("u", "g", "a") or not words[1] or not words[2]:
            raise ConvertError(
                place, "not a mapping of a user, group or application: %s" % quote(text)
            )
        match = {"u": "user", "g": "group", "a": "name"}[words[0]]
        rule: Json = {"match": match, "pattern": words[1]}
        if words[1] in ("%user", "%application"):
            rule = {}
        elif "%" in words[1]:
            raise ConvertError(
                place, "not a mapping of a user, group or application: %s" % quote(text)
            )
        queue = self._where_to(place, words[2])
        return [dict(rule, queue=queue)] if queue else []

    def _where_to(self, place: str, text: str) -> Optional[str]:
        """A queue of a rule, with the placeholders for the user and so on."""
        if "%secondary_group" in text:
            self.report.warn(place, "%s: rules ignore secondary groups" % text)
            return None
        path = re.sub(r"%(?!user\b|primary_group\b|application\b)", "%%", text)
        path = path.replace("%primary_group", "%group").replace("%application", "%name")
        path = name(place, path, "queue")
        if path == "root" or path.startswith("root."):
            out = path
        else:
            first, _, rest = path.partition(".")
            named = self.last_words.get(first, [])
            below = "root." + first
            best = below if below in self.by_path or not named else named[0]
            if len(named) > 1 and below not in self.by_path:
                raise ConvertError(place, "several queues are called %s" % quote(first))
            out = best + ("." + rest if rest else "")
        queue = self.by_path.get(out)
        parent = self.by_path.get(out.rpartition(".")[0])
        if "%" not in out:
            if (
                queue is None
                and not (parent and "child" in parent.json)
                or queue is not None
                and queue.children
            ):
                raise ConvertError(place, "no queue %s that takes jobs" % quote(text))
        elif "%" not in out.rpartition(".")[0] and parent is None:
            raise ConvertError(place, "no queue %s" % quote(out.rpartition(".")[0]))
        return out

    def _json_rules(self) -> List[Json]:
        key = PREFIX + "mapping-rule-json"
        place = self.conf.place(key)
        if self.conf.get(key + "-file"):
            self.report.warn(
                self.conf.place(key + "-file"),
                "the file is not read; put its text in mapping-rule-json",
            )
        text = self.conf.get(key)
        if text is None:
            return []
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConvertError(place, "not JSON: %s" % quote(error)) from None
        rules = value.get("rules") if isinstance(value, dict) else None
        if isinstance(value, dict):
            for other in sorted(set(map(str, value)) - {"rules"}):
                self.report.warn("%s: %s" % (place, other), "no counterpart")
        if not isinstance(rules, list):
            raise ConvertError(place, "no list of rules")
        return [
            r
            for i, rule in enumerate(rules)
            for r in self._json_rule("%s: rules[%d]" % (place, i), rule)
        ]

    def _json_rule(self, place: str, rule: Any) -> List[Json]:
        if not isinstance(rule, dict):
            raise ConvertError(place, "not an object")
        fields = (
            "type", "matches", "policy", "parentQueue", "fallbackResult", "value",
            "customPlacement",
        )
        words = {key: rule.get(key, "") for key in fields}
        for key, value in words.items():
            if not isinstance(value, str):
                raise ConvertError("%s.%s" % (place, key), "not text: %s" % quote(value))
        for key in sorted(set(map(str, rule)) - set(fields) - {"create"}):
            self.report.warn("%s.%s" % (place, key), "no counterpart")
        if rule.get("create"):
            self.report.warn(
                place + ".create", "queues are made where the parent has auto-created ones"
            )
        match = {"user": "user", "group": "group", "application": "name"}.get(words["type"])
        if match is None:
            raise ConvertError(
                place + ".type", "neither user, group nor application: %s" % quote(words["type"])
            )
        out: Json = {} if words["matches"] in ("*", "") else {
            "match": match, "pattern": name(place + ".matches", words["matches"])}
        fallback = {"": "skip", "skip": "skip", "reject": "reject", "placeDefault": "default"}.get(
            words["fallbackResult"])
        if fallback is None:
            raise ConvertError(
                place + ".fallbackResult",
                "not one of its values: %s" % quote(words["fallbackResult"]),
            )
        queue = self._json_target(place, words)
        if queue is None:
            return []
        if words["policy"] == "reject":
            fallback = "reject"
        if fallback != "skip":
            out["fallback"] = fallback
        return [dict(out, queue=queue)]

    def _json_target(self, place: str, words: Dict[str, str]) -> Optional[str]:
        policy = words["policy"]
        if policy == "specified":
            return None  # the queue that a job names comes before any rule
        if policy == "reject":
            return "-"  # there is no such queue: use the fallback
        if policy == "setDefaultQueue":
            self.default = self._where_to(place + ".value", words["value"])
            return None
        if policy in ("secondaryGroup", "secondaryGroupUser"):
            self.report.warn(place + ".policy", "rules ignore secondary groups")
            return None
        if policy == "defaultQueue":
            return self.default or "root.default"
        if policy == "custom":
            return self._where_to(place + ".customPlacement", words["customPlacement"])
        last = {
            "user": "%user", "applicationName": "%application", "primaryGroup": "%primary_group",
            "primaryGroupUser": "%primary_group.%user",
        }.get(policy)
        if last is None:
            raise ConvertError(place + ".policy", "not one of its values: %s" % quote(policy))
        return self._where_to(
            place + ".parentQueue", "%s.%s" % (words["parentQueue"] or "root", last)
        )
