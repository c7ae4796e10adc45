# SPDX-License-Identifier: Apache-2.0
"""The public headers in the form that cffi accepts: declarations without comments and preprocessor.

The C headers are the only description of the interface. This module takes from them:

* typedefs, structs, enums and functions, unchanged;
* macros that are numbers or texts (``GANG_UNLIMITED``, ``GANG_LEVEL_NODE``), as constants;
* the initialisers ``GANG_X_INIT`` of ``struct gang_x``, as constants ``gang_x_init`` of that type.

It leaves out functions that the library does not export.
"""

import re
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set

#: The types of hwloc.h, opaque.
HWLOC_TYPES = """
typedef struct hwloc_topology *hwloc_topology_t;
typedef struct hwloc_bitmap_s *hwloc_bitmap_t;
"""

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_DEFINE = re.compile(r"#\s*define\s+(\w+)(\([^)]*\))?[ \t]*(.*)")
_INCLUDE = re.compile(r"#\s*include\s*<gangsched/(\w+)\.h>")
_FUNCTION = re.compile(r"(?!typedef\b)[\w\s*]*?\b(gang_\w+)\s*\(")
_RESULT = re.compile(r"X\((\w+),\s*(-?\d+),")


class Declarations:
    """The declarations of the headers of one directory."""

    def __init__(self) -> None:
        self.body: List[str] = []  #: C text of types and functions, in an order that compiles
        self.numbers: List[str] = []  #: names of macros that are numbers
        self.texts: List[str] = []  #: names of macros that are text
        self.structs: List[str] = []  #: names of structs that have an initialiser
        self.functions: List[str] = []
        self.results = ""  #: the enumerators of GANG_RESULT_LIST
        self.foreign: List[str] = []  #: C text of the declarations that need hwloc's types

    def cdef(self) -> str:
        """The text for ``FFI.cdef()``."""
        lines = list(self.body)
        lines += ["#define %s ..." % name for name in self.numbers]
        lines += ["static char *const %s;" % name for name in self.texts]
        lines += ["static const struct %s %s_init;" % (name, name) for name in self.structs]
        return "\n".join(lines)

    def hwloc(self) -> str:
        """C text of hwloc.h, without hwloc's own header."""
        return "\n".join(self.foreign)

    def source(self) -> str:
        """C definitions of the constants that cdef() adds to the headers."""
        return "\n".join(
            "static const struct %s %s_init = %s_INIT;" % (name, name, name.upper())
            for name in self.structs
        )


def exported(path: Path) -> Set[str]:
    """The names in lib/exports.list."""
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line and not line.startswith("[")}


def without_comments(text: str) -> str:
    """C text without its comments."""
    return _COMMENT.sub(" ", text)


def in_order(directory: Path) -> List[Path]:
    """The headers, each after the headers that it includes."""
    done: Dict[str, Path] = {}

    def add(path: Path) -> None:
        if path.stem in done:
            return
        for name in _INCLUDE.findall(path.read_text()):
            add(directory / (name + ".h"))
        done[path.stem] = path

    for path in sorted(directory.glob("*.h")):
        add(path)
    return list(done.values())


def read(directory: Path, names: Optional[Set[str]]) -> Declarations:
    """The declarations of all public headers in ``directory``; only functions in ``names`` (None:
    all).
    """
    out = Declarations()
    for path in in_order(directory):
        begin = len(out.body)
        if path.stem == "hwloc":
            out.body.append(HWLOC_TYPES)
        _take(out, without_comments(path.read_text()).replace("\\\n", " "), names)
        if path.stem == "hwloc":
            out.foreign = out.body[begin:]
    return out


def _take(out: Declarations, text: str, names: Optional[Set[str]]) -> None:
    kept: List[str] = []
    skip = 0  # nesting depth of preprocessor conditions whose lines are skipped
    guard = True
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped.startswith("#"):
            if not skip:
                kept.append(stripped)
            continue
        if re.match(r"#\s*if", stripped):
            # The include guard comes first and encloses the header; other conditions are about
            # compilers.
            if guard:
                guard = False
            else:
                skip += 1
        elif re.match(r"#\s*endif", stripped):
            skip = max(0, skip - 1)
        elif not skip:
            _take_macro(out, stripped)
    body = re.sub(r"\b(GANG_API|GANG_MUST_CHECK)\b", "", "\n".join(kept))
    body = body.replace("GANG_RESULT_LIST(GANG_RESULT_ENUM)", out.results)
    for statement in _statements(body):
        function = _FUNCTION.match(statement)
        if function is None:
            out.body.append(statement)
        elif names is None or function.group(1) in names:
            out.functions.append(function.group(1))
            out.body.append(statement)


def _statements(text: str) -> Iterator[str]:
    """The statements of a text, each with its semicolon."""
    depth = begin = 0
    for i, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == ";" and depth == 0:
            yield text[begin : i + 1].strip()
            begin = i + 1


def _take_macro(out: Declarations, line: str) -> None:
    match = _DEFINE.match(line)
    if not match:
        return
    name, arguments, value = match.groups()
    if name == "GANG_RESULT_LIST":
        out.results = ", ".join("%s = %s" % pair for pair in _RESULT.findall(value))
    elif arguments or not value:
        return
    elif name.endswith("_INIT"):
        out.structs.append(name[: -len("_INIT")].lower())
    elif value.startswith('"'):
        out.texts.append(name)
    elif name.startswith("GANG_"):
        out.numbers.append(name)

