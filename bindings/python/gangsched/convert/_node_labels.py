# SPDX-License-Identifier: Apache-2.0
"""The node labels of YARN, and which are exclusive: as ``yarn cluster --list-node-labels`` prints
them, as ``yarn rmadmin -addToClusterNodeLabels`` takes them, or as the resource manager's
``/ws/v1/cluster/get-node-labels`` answers."""
from __future__ import annotations

import re
from typing import Any, Dict

from ._base import ConvertError, Source, boolean, name, quote
from ._manifest import load_json

_LISTED = re.compile(r"(?m)^\s*Node Labels\s*:(.*)$")
_ADDED = re.compile(r"-addToClusterNodeLabels\s+(\"[^\"]*\"|'[^']*'|.*)")
#: ``<gpu:exclusivity=false>``, ``gpu(exclusive=false)``, or ``gpu`` alone, which is exclusive.
_ONE = re.compile(
    r"<([^<>:]*)(?::exclusivity=([^<>]*))?>|([^(),<>]*)(?:\(\s*exclusive\s*=\s*([^()]*)\))?"
)


def looks_like(text: str) -> bool:
    """Whether the text lists node labels."""
    if text.lstrip("\ufeff \t\n").startswith("{"):
        return re.search(r'"nodeLabels?Info"\s*:', text) is not None
    return _LISTED.search(text) is not None or _ADDED.search(text) is not None


def read_labels(source: Source) -> Dict[str, bool]:
    """Each label, and whether it is exclusive."""
    if source.text.lstrip("\ufeff \t\n").startswith("{"):
        return _of_json(source)
    match = _LISTED.search(source.text) or _ADDED.search(source.text)
    if match is None:
        raise ConvertError(source.name, "no list of node labels")
    place = "%s:%d" % (source.name, source.text.count("\n", 0, match.start(1)) + 1)
    out: Dict[str, bool] = {}
    for word in match.group(1).strip().strip("\"'").split(","):
        if word.strip():
            one = _ONE.fullmatch(word.strip())
            if one is None:
                raise ConvertError(place, "not a node label: %s" % quote(word.strip()))
            label = one.group(1) if one.group(1) is not None else one.group(3)
            said = next((word for word in one.group(2, 4) if word is not None), "true")
            _add(out, place, label.strip(), said)
    return out


def _of_json(source: Source) -> Dict[str, bool]:
    value: Any = load_json(source)
    place = source.name + ": "
    if isinstance(value, dict) and "nodeLabelsInfo" in value:
        place, value = place + "nodeLabelsInfo.", value["nodeLabelsInfo"]
    listed = value.get("nodeLabelInfo") if isinstance(value, dict) else None
    listed = [listed] if isinstance(listed, dict) else listed  # a list of one, as YARN writes it
    if not isinstance(listed, list):
        raise ConvertError(place + "nodeLabelInfo", "not a list")
    out: Dict[str, bool] = {}
    for i, one in enumerate(listed):
        at = "%snodeLabelInfo[%d]" % (place, i)
        if not isinstance(one, dict):
            raise ConvertError(at, "not an object: %s" % quote(one))
        _add(out, at, one.get("name"), one.get("exclusivity", True))
    return out


def _add(out: Dict[str, bool], place: str, label: object, exclusive: object) -> None:
    checked = name(place, label, "node label")
    if checked in out:
        raise ConvertError(place, "label %s is there twice" % quote(checked))
    out[checked] = boolean(place, exclusive)
