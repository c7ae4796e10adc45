# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests: reading YAML or JSON, and walking through objects with their path."""
from __future__ import annotations

import importlib
import json
from typing import Any, Dict, Iterator, List, Optional

from ._base import ConvertError, Report, Source, boolean, integer, quote

MAX_OBJECTS = 1 << 20


class At:
    """A value of a manifest, with its place.

    done() warns of keys that the converter has not read.
    """

    def __init__(self, value: Any, place: str, file: str, report: Report) -> None:
        self.value = value
        self.place = place
        self.file = file
        self.report = report
        self._asked: List[str] = []

    def __bool__(self) -> bool:
        return self.value is not None

    def fail(self, reason: str) -> ConvertError:
        return ConvertError(self.place, reason)

    def get(self, key: str) -> At:
        """A member; one that is absent or null has the value None."""
        self._asked.append(key)
        if self.value is None:
            return At(None, self._below(key), self.file, self.report)
        if not isinstance(self.value, dict):
            raise self.fail("not an object: %s" % quote(self.value))
        return At(self.value.get(key), self._below(key), self.file, self.report)

    def _below(self, key: str) -> str:
        return (
            self.place
            + (" " if self.place.endswith(":") else ".")
            + (key if len(key) < 80 else key[:77] + "...")
        )

    def way(self, path: str) -> At:
        """A nested member: "spec.template"."""
        at = self
        for key in path.split("."):
            at = at.get(key)
        return at

    def items(self) -> List[At]:
        """Elements of a list; none if it is absent."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.fail("not a list: %s" % quote(self.value))
        return [
            At(one, "%s[%d]" % (self.place, i), self.file, self.report)
            for i, one in enumerate(self.value)
        ]

    def members(self) -> Dict[str, At]:
        """Members of a map; none if it is absent."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.fail("not an object: %s" % quote(self.value))
        out = {}
        for key in self.value:
            if not isinstance(key, str):
                raise self.fail("a key that is not text: %s" % quote(key))
            out[key] = self.get(key)
        return out

    def text(self, default: Optional[str] = None) -> str:
        """Text. Numbers and booleans are errors."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, str):
            raise self.fail("missing" if self.value is None else "not text: %s" % quote(self.value))
        return self.value

    def number(self, default: int, least: int = 0, most: int = 1 << 31) -> int:
        if self.value is None:
            return default
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.fail("not a number: %s" % quote(self.value))
        return integer(self.place, self.value, least, most)

    def flag(self, default: bool = False) -> bool:
        return default if self.value is None else boolean(self.place, self.value)

    def words(self) -> Dict[str, str]:
        """A map of text to text."""
        return {key: at.text("") for key, at in self.members().items()}

    def done(self, *aside: str) -> None:
        """Warn of members that the converter has not read; those in `aside` do not affect
        scheduling.
        """
        if not isinstance(self.value, dict):
            return
        for key in self.value:
            if key in self._asked or self.value[key] in (None, {}, []):
                continue
            if key in aside:
                self.report.aside(self.file, str(key))
            else:
                self.report.warn(self._below(str(key)), "no counterpart")


def _load_yaml(source: Source) -> List[Any]:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise ConvertError(
            source.name, "reading YAML needs the package PyYAML (python3-yaml)"
        ) from None

    # Times stay text, because JSON has no times.
    resolvers = {first: [one for one in some if one[0] != "tag:yaml.org,2002:timestamp"]
                 for first, some in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    loader: Any = type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})
    try:
        return list(yaml.load_all(source.text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = "%s:%d" % (source.name, mark.line + 1) if mark else source.name
        raise ConvertError(place, "not YAML: %s" % (error.problem or "cannot be read")) from None
    except yaml.YAMLError as error:
        raise ConvertError(source.name, "not YAML: %s" % quote(error)) from None
    except (ValueError, TypeError, OverflowError, KeyError, AttributeError, IndexError) as error:
        # PyYAML does not wrap exceptions of its constructors for malformed numbers and keys.
        raise ConvertError(source.name, "not YAML: %s" % quote(error)) from None


def _refuse_constant(word: str) -> Any:
    raise ValueError("%s is not JSON" % word)


def load_json(source: Source) -> Any:
    """Read JSON strictly; errors have the line."""
    try:
        return json.loads(source.text.lstrip("\ufeff"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ConvertError(
            "%s:%d" % (source.name, error.lineno), "not JSON: %s" % error.msg
        ) from None
    except ValueError as error:
        raise ConvertError(source.name, "not JSON: %s" % quote(error)) from None


def load(source: Source, report: Report) -> Iterator[At]:
    """All objects of a file, also those inside lists."""
    text = source.text.lstrip("\ufeff").lstrip()
    documents = [load_json(source)] if text[:1] in ("{", "[") else _load_yaml(source)
    found = [
        At(
            one,
            "%s:" % source.name + (" [%d]" % i if len(documents) > 1 else ""),
            source.name,
            report,
        )
        for i, one in enumerate(documents)
        if one is not None
    ]
    count = 0
    while found:
        at = found.pop(0)
        if isinstance(at.value, list):
            found = at.items() + found
            continue
        if not isinstance(at.value, dict):
            raise at.fail("not an object: %s" % quote(at.value))
        kind = at.get("kind")
        if kind.value is None and isinstance(at.value.get("items"), list) or \
                isinstance(kind.value, str) and kind.value.endswith("List"):
            found = at.get("items").items() + found
            continue
        count += 1
        if count > MAX_OBJECTS:
            raise at.fail("more than %d objects" % MAX_OBJECTS)
        yield at
