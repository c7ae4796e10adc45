# SPDX-License-Identifier: Apache-2.0
"""Chooses the converter of each input, and merges the results to one scenario."""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
from typing import IO, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _node_labels, capacity_scheduler, fair_scheduler, kubernetes, nvidia_topo, slurm, tony
from ._base import (
    ConvertError, ConvertWarning, Finish, Json, Part, Report, Source, merge, quote, settle_jobs,
)
from ._manifest import load_json

MAX_BYTES = 1 << 28

#: The formats, by the name for ``format``.
FORMATS = (
    "capacity-scheduler", "yarn-site", "node-labels", "fair-scheduler", "tony", "slurm", "gres",
    "topology", "qos", "assoc", "sbatch", "kubernetes", "nvidia-topo", "scenario",
)

#: The usual file name of each format, for input that was given as text.
_CALLED = {
    "capacity-scheduler": "capacity-scheduler.xml", "yarn-site": "yarn-site.xml",
    "node-labels": "yarn cluster --list-node-labels",
    "fair-scheduler": "fair-scheduler.xml", "tony": "tony.xml", "slurm": "slurm.conf",
    "gres": "gres.conf", "topology": "topology.conf", "qos": "sacctmgr show qos",
    "assoc": "sacctmgr show assoc", "sbatch": "batch script",
    "kubernetes": "manifest", "nvidia-topo": "nvidia-smi topo -m", "scenario": "scenario",
}

Input = Union[str, bytes, "os.PathLike[str]", IO[str], IO[bytes]]


@dataclasses.dataclass
class Converted:
    """The scenario that the inputs were converted to.

    ``scenario`` is a JSON object of the scenario format; ``warnings`` lists what it lacks, or
    expresses differently than the inputs.
    """

    scenario: Json
    warnings: List[ConvertWarning]
    formats: Dict[str, str]  #: the format of each input

    def json(self, indent: Optional[int] = 2) -> str:
        """The scenario as text."""
        return json.dumps(self.scenario, indent=indent, ensure_ascii=False)


# ---- inputs ----------------------------------------------------------------------------------


def _is_text(value: str) -> bool:
    return "\n" in value or value.lstrip("\ufeff \t")[:1] in ("<", "{", "[") or not value.strip()


def _decode(place: str, raw: bytes) -> str:
    """Decode text by its byte order mark or XML declaration; otherwise as UTF-8."""
    if len(raw) > MAX_BYTES:
        raise ConvertError(place, "larger than %d bytes" % MAX_BYTES)
    declared = re.match(
        rb"\s*<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']", raw[:200]
    )
    encoding = declared.group(1).decode("ascii").lower() if declared else "utf-8"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    if encoding not in (
        "utf-8",
        "utf-16",
        "us-ascii",
        "ascii",
        "iso-8859-1",
        "latin1",
        "iso-8859-15",
        "windows-1252",
    ):
        raise ConvertError(place, "an unsupported encoding: %s" % quote(encoding))
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        raise ConvertError(place, "not text in %s" % encoding) from None


def _read(value: Input, index: int) -> Source:
    """Read an input: text, or the file of a path."""
    unnamed = "<input %d>" % (index + 1)
    if isinstance(value, bytes):
        return _checked(unnamed, _decode(unnamed, value))
    if isinstance(value, str) and _is_text(value):
        return _checked(unnamed, value)
    if hasattr(value, "read"):
        given = getattr(value, "name", unnamed)
        label = os.path.basename(given) if isinstance(given, str) else unnamed
        text: Union[str, bytes] = value.read()
        return _checked(label, _decode(label, text) if isinstance(text, bytes) else text)
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError("a path, text or a file is needed, not %s" % type(value).__name__)
    path = os.fspath(value)
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConvertError(path, getattr(error, "strerror", None) or str(error)) from None
    label = os.path.basename(path)
    return _checked(label, _decode(label, raw))


def _checked(label: str, text: str) -> Source:
    if "\0" in text:
        raise ConvertError(label, "a NUL character: not text")
    return Source(label, text.replace("\r\n", "\n"))


# ---- formats ---------------------------------------------------------------------------------

_XML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def _xml_format(text: str) -> Optional[str]:
    plain = _XML_COMMENT.sub("", text)
    if re.search(r"<allocations[\s>/]", plain):
        return "fair-scheduler"
    if not re.search(r"<configuration[\s>/]", plain):
        return None
    if re.search(r"\byarn\.scheduler\.capacity\.root\.queues\b", plain):
        return "capacity-scheduler"
    if re.search(r"\btony\.[A-Za-z]", plain):
        return "tony"
    if "yarn.scheduler.capacity." in plain:
        return "capacity-scheduler"
    return "yarn-site" if re.search(r"\byarn\.", plain) else None


def detect(text: str) -> Optional[str]:
    """The format of a text; None: unknown."""
    head = text.lstrip("\ufeff").lstrip()
    if head.startswith("<"):
        return _xml_format(text)
    if re.search(r"(?m)^\s*GPU0\s+(GPU1|X|NIC0|mlx)", nvidia_topo.COLOURS.sub("", text)):
        return "nvidia-topo"
    if _node_labels.looks_like(text):
        return "node-labels"
    if head.startswith(("{", "[")):
        if re.search(r'"(apiVersion|kind|items)"\s*:', text):
            return "kubernetes"
        return (
            "scenario"
            if re.search(r'"(nodes|queues|jobs|levels|kinds|partitions)"\s*:', text)
            else None
        )
    if re.search(r"(?m)^\s*-?\s*(apiVersion|kind)\s*:", text):
        return "kubernetes"
    return slurm.looks_like(text)


# ---- converters ------------------------------------------------------------------------------


def _scenario(sources: Sequence[Source], _report: Report) -> Part:
    """Files that are scenarios already, which other inputs complete."""
    out: Json = {}
    for source in sources:
        value = load_json(source)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, dict):
            raise ConvertError(source.name, "not one case of a scenario")
        for key in ("nodes", "queues", "jobs", "reservations", "kinds", "partitions"):
            for i, one in enumerate(_list(source, value, key)):
                place = "%s: %s[%d]" % (source.name, key, i)
                if not isinstance(one, dict) or not isinstance(one.get("name"), str):
                    raise ConvertError(place, "not an object with a name")
                for member in [member for member in one if one[member] is None]:
                    del one[member]  # like an absent member
                _check_members(place, one)
        for key in ("levels", "rules", "needs", "excluded_kinds"):
            if not all(
                isinstance(one, dict if key == "rules" else str)
                for one in _list(source, value, key)
            ):
                raise ConvertError("%s: %s" % (source.name, key), "not a list of %s" % (
                    "objects" if key == "rules" else "names"))
        merge(out, value, source.name)
    return Part(out)


def _list(source: Source, value: Json, key: str) -> List[object]:
    found = value.get(key, [])
    if not isinstance(found, list):
        raise ConvertError("%s: %s" % (source.name, key), "not a list")
    return found


#: Members that other converters read, with their types.
_TYPES: Dict[str, type] = {
    "labels": dict, "topology": dict, "amounts": dict, "partitions": list, "devices": list,
    "tasks": list, "parent": str,
}


def _check_members(place: str, one: Json) -> None:
    for key, kind in _TYPES.items():
        if one.get(key) is not None and not isinstance(one[key], kind):
            raise ConvertError("%s.%s" % (place, key), "of the wrong type")
    for key in ("devices", "tasks"):
        if not all(isinstance(item, dict) for item in one.get(key) or []):
            raise ConvertError("%s.%s" % (place, key), "not a list of objects")
    for key in ("cpus", "mem_mib", "mem_bytes", "gpus", "capacity"):
        number = one.get(key, 0)
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not 0 <= number <= 1 << 62
        ):
            raise ConvertError("%s.%s" % (place, key), "not a number")
    for key, number in (one.get("amounts") or {}).items():
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not 0 <= number <= 1 << 62
        ):
            raise ConvertError("%s.amounts.%s" % (place, key), "not a number")


Convert = Callable[[Sequence[Source], Report], Part]

#: Converters, by the formats that they read together.
_CONVERTERS: Tuple[Tuple[Tuple[str, ...], Convert], ...] = (
    (("scenario",), _scenario),
    (("kubernetes",), kubernetes.convert),
    (("slurm", "gres", "topology", "qos", "assoc", "sbatch"), slurm.convert),
    (("capacity-scheduler", "node-labels"), capacity_scheduler.convert),
    (("fair-scheduler",), fair_scheduler.convert),
    (("tony",), tony.convert),
    (("nvidia-topo",), nvidia_topo.convert),
)

#: The order of the members.
_ORDER = (
    "id", "source", "note", "needs", "levels", "kinds", "policy", "partitions", "nodes", "queues",
    "default_queue", "rules", "excluded_kinds", "half_life_s", "reservations", "jobs",
)


def _convert(sources: List[Source], wanted: Optional[str]) -> Converted:
    report = Report()
    by_format: Dict[str, List[Source]] = {}
    formats: Dict[str, str] = {}
    for source in sources:
        found = wanted or detect(source.text)
        if found is None:
            raise ConvertError(source.name, "unknown format; known are " + ", ".join(FORMATS))
        name = _named(source, found, formats)
        by_format.setdefault(found, []).append(dataclasses.replace(source, name=name, form=found))
        formats[name] = found
    _settle_sites(by_format)
    scenario: Json = {}
    finish: List[Finish] = []
    for group, converter in _CONVERTERS:
        given = [source for word in group for source in by_format.get(word, [])]
        if given:
            part = converter(given, report)
            merge(scenario, part.scenario, given[0].name)
            finish += part.finish
    for step in finish:
        step(scenario, report)
    settle_jobs(scenario, report)
    ordered = {key: scenario[key] for key in _ORDER if key in scenario}
    ordered.update({key: value for key, value in scenario.items() if key not in ordered})
    return Converted(ordered, report.finish(), formats)


def _named(source: Source, found: str, taken: Dict[str, str]) -> str:
    """The name of a source in messages: its own, or the usual file name of its format."""
    if not source.name.startswith("<input "):
        return source.name
    # Slurm's files all have the format "slurm".
    kind = (slurm.looks_like(source.text) or found) if found == "slurm" else found
    name, number = "%s (text)" % _CALLED[kind], 1
    while name in taken:
        number += 1
        name = "%s (text %d)" % (_CALLED[kind], number)
    return name


def _settle_sites(by_format: Dict[str, List[Source]]) -> None:
    """Assign yarn-site.xml to the scheduler among the inputs, and gres.conf to Slurm."""
    sites = by_format.pop("yarn-site", [])
    if not sites:
        return
    owner = "fair-scheduler" if "fair-scheduler" in by_format else "capacity-scheduler"
    by_format[owner] = by_format.get(owner, []) + sites


def convert(*inputs: Input, format: Optional[str] = None) -> Converted:
    """Convert configuration of other systems to a scenario.

    Each input is a path, an open file, or text (bytes; or ``str`` with a line break or a leading
    ``<``, ``{`` or ``[``). Its contents tell its format, unless ``format``, one of FORMATS, is
    given ("slurm": any of its files). Messages name inputs by their file, and text by its
    usual file: ``capacity-scheduler.xml (text)``. Related inputs are read together: ``slurm.conf``
    with ``gres.conf`` and ``topology.conf``, a scheduler's file with ``yarn-site.xml``. Inputs of
    different systems, such as queues of one, nodes of another and jobs of a third, make one
    scenario. A node in two inputs gets the members of both.

    Raises ConvertError for input that it cannot convert.

    >>> convert("<allocations><queue name='a'><weight>2</weight></queue></allocations>").scenario["queues"][1]["weight"]
    2
    """
    if format is not None and format not in FORMATS:
        raise ValueError("format: one of %s, not %r" % (", ".join(FORMATS), format))
    if not inputs:
        raise TypeError("at least one input is needed")
    sources = [_read(value, i) for i, value in enumerate(inputs)]
    try:
        return _convert(sources, format)
    except RecursionError:
        raise ConvertError(sources[0].name, "nested too deeply") from None


# ---- the command line ------------------------------------------------------------------------


def main(argv: Optional[Sequence[str]] = None) -> int:
    """``convert FILE... [-o OUT] [--format F]``: writes the scenario to standard output, warnings
    to standard error.

    The exit status is 0; 1 for input that cannot be converted; 2 for wrong usage.
    """
    parser = argparse.ArgumentParser(
        prog="gangsched convert",
        description="Convert configuration of YARN, TonY, Slurm, Kubernetes, and nvidia-smi topo -m, to a scenario.")
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help='files that belong together; "-": standard input'
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="write there, not to standard output")
    parser.add_argument(
        "--format", choices=FORMATS, help="format of the files (default: the contents tell)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no warnings")
    arguments = parser.parse_args(argv)
    # Here an argument is always a file name, never text.
    inputs: List[Input] = [
        sys.stdin.buffer.read() if one == "-" else _Path(one) for one in arguments.files
    ]
    try:
        converted = convert(*inputs, format=arguments.format)
        if not arguments.quiet:
            for warning in converted.warnings:
                print("warning: %s" % warning, file=sys.stderr)
        if arguments.output:
            with open(arguments.output, "w", encoding="utf-8") as file:
                file.write(converted.json() + "\n")
        else:
            sys.stdout.write(converted.json() + "\n")
    except ConvertError as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    except OSError as error:
        print(
            "error: %s: %s" % (arguments.output or "standard output", error.strerror),
            file=sys.stderr,
        )
        return 1
    return 0


class _Path:
    """Marks an input as a path."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return self.path
