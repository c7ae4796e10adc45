# SPDX-License-Identifier: Apache-2.0
"""XML with line numbers, and Hadoop's configuration files.

The module uses expat directly, because elements need their lines. It refuses a document with a
DOCTYPE: no format needs one, and without it no entity can expand without bound.
"""
from __future__ import annotations

import re
from typing import Dict, List, NoReturn, Optional, Set
from xml.parsers import expat

from ._base import ConvertError, Report, Source, quote

MAX_DEPTH = 100


class Element:
    """An element: its tag, attributes, children, and direct text."""

    def __init__(self, tag: str, attributes: Dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.children: List[Element] = []
        self.words: List[str] = []

    @property
    def text(self) -> str:
        return "".join(self.words)

    def child(self, tag: str) -> Optional[Element]:
        """The first child of a tag."""
        return next((one for one in self.children if one.tag == tag), None)


class _Builder:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.stack: List[Element] = []
        self.root: Optional[Element] = None

    def fail(self, reason: str) -> NoReturn:
        raise ConvertError("%s:%d" % (self.source.name, self.parser.CurrentLineNumber), reason)

    def start(self, tag: str, attributes: Dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if len(self.stack) >= MAX_DEPTH:
            self.fail("more than %d elements inside each other" % MAX_DEPTH)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, _tag: str) -> None:
        self.stack.pop()

    def data(self, text: str) -> None:
        if self.stack:
            self.stack[-1].words.append(text)

    def doctype(
        self, _name: str, _system: Optional[str], _public: Optional[str], _internal: bool
    ) -> None:
        self.fail("a DOCTYPE, which is refused")


def parse(source: Source) -> Element:
    """The root of a document."""
    builder = _Builder(source)
    # The text is decoded. expat would believe its declared encoding.
    text = re.sub(
        r"\A\ufeff?\s*(<\?xml[^>]*?)\s+encoding\s*=\s*(\"[^\"]*\"|'[^']*')",
        r"\1",
        source.text,
        count=1,
    )
    try:
        builder.parser.Parse(text.lstrip("\ufeff").encode("utf-8"), True)
    except expat.ExpatError as error:
        raise ConvertError(
            "%s:%d" % (source.name, error.lineno), expat.ErrorString(error.code)
        ) from None
    except UnicodeEncodeError:
        raise ConvertError(source.name, "not valid text") from None
    if builder.root is None:
        raise ConvertError(source.name, "no element")
    return builder.root


# ---- configuration files of Hadoop -----------------------------------------------------------


class Property:
    """A property: its value, its place, and whether the converter has read it."""

    def __init__(self, key: str, value: str, file: str, line: int, final: bool) -> None:
        self.key = key
        self.value = value
        self.file = file
        self.line = line
        self.final = final
        self.used = False

    @property
    def place(self) -> str:
        return "%s: %s" % (self.file, self.key)


_VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")


class Configuration:
    """The properties of one or more files.

    A later file overrides an earlier one, except final properties.

    ``${other}`` in a value stands for the value of that property.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.properties: Dict[str, Property] = {}

    def read(self, source: Source) -> None:
        root = parse(source)
        if root.tag != "configuration":
            raise ConvertError(
                "%s:%d" % (source.name, root.line), "not a <configuration> but %s" % quote(root.tag)
            )
        for element in root.children:
            place = "%s:%d" % (source.name, element.line)
            if element.tag == "property":
                self._take(source, element)
            elif element.tag.rpartition(":")[2] == "include":
                href = element.attributes.get("href", "")
                self.report.warn(place, "the file %s is not read: give it, too" % quote(href))
            else:
                raise ConvertError(place, "not a <property> but %s" % quote(element.tag))

    def _take(self, source: Source, element: Element) -> None:
        place = "%s:%d" % (source.name, element.line)
        words = dict(element.attributes)
        for child in element.children:
            if child.tag in ("name", "value", "final"):
                words[child.tag] = child.text
            elif child.tag not in ("description", "source", "tag"):
                raise ConvertError(
                    "%s:%d" % (source.name, child.line), "<%s> in a <property>" % child.tag[:40]
                )
        key = words.get("name", "").strip()
        if not key:
            raise ConvertError(place, "a <property> without a <name>")
        if len(key) > 1000:
            raise ConvertError(place, "a <name> longer than 1000 characters")
        old = self.properties.get(key)
        if "value" not in words:
            raise ConvertError(place, "%s has no <value>" % key)
        if old and old.final:
            self.report.warn("%s: %s" % (source.name, key), "ignored: final in %s" % old.file)
            return
        if old and old.value != words["value"]:
            self.report.warn("%s: %s" % (source.name, key), "replaces %s" % quote(old.value))
        final = words.get("final", "").strip().lower() == "true"
        self.properties[key] = Property(key, words["value"], source.name, element.line, final)

    # -- asking --

    def _expand(self, prop: Property, text: str, around: Set[str]) -> str:
        def value_of(match: "re.Match[str]") -> str:
            key = match.group(1)
            other = self.properties.get(key)
            if key in around or len(around) > 20:
                raise ConvertError(prop.place, "the value refers to itself through ${%s}" % key)
            if other is None:
                self.report.warn(
                    prop.place, "${%s} is not set here; the text is taken as it is" % key
                )
                return match.group(0)
            return self._expand(other, other.value, around | {key})
        out = _VARIABLE.sub(value_of, text)
        if len(out) > 1000000:
            raise ConvertError(prop.place, "too long with its variables replaced")
        return out

    def get(self, key: str) -> Optional[str]:
        """The value without blanks around it; None: not set, or empty."""
        return (self.raw(key) or "").strip() or None

    def raw(self, key: str) -> Optional[str]:
        """The value with its blanks: a single blank means something in an ACL."""
        prop = self.properties.get(key)
        if prop is None:
            return None
        prop.used = True
        return self._expand(prop, prop.value, {key})

    def place(self, key: str, default: str = "") -> str:
        """The place of a property."""
        prop = self.properties.get(key)
        if prop is not None:
            return prop.place
        return "%s: %s" % (
            default or next((p.file for p in self.properties.values()), "configuration"),
            key,
        )

    def unused(self) -> List[Property]:
        """Properties that the converter has not read."""
        return [prop for prop in self.properties.values() if not prop.used]
