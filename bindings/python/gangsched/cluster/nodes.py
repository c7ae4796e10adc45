# SPDX-License-Identifier: Apache-2.0
"""Conversions between the node structs of the library and dicts.

These functions take no locks: the caller holds the lock of the cluster.
"""

import csv
import io
import json
import os
from typing import (
    TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple,
    Union,
)

from .._native import WRITE, Writer, ffi, lib, new, text, utf8
from ..enums import NodeState
from ..errors import InvalidArgument, OutOfRange, ParseError, check, new_error
from ..files import plain_file, read_text

if TYPE_CHECKING:
    from .cluster import Cluster

_MIB = 2**20


def uniform(
    nodes: int,
    gpus: int,
    cpus: float,
    mem_gib: float,
    gpu_model: Optional[str],
    gpu_mem_gib: float,
    racks: int,
    island: int,
    name: str,
    fields: Mapping[str, Any],
) -> List[Dict[str, Any]]:
    """The machines of :meth:`gangsched.Cluster.uniform`."""
    if nodes < 0 or racks < 0 or island < 0 or gpus < 0:
        raise OutOfRange("nodes, gpus, racks and island must not be negative")
    one: Dict[str, Any] = {"cpus": cpus, "mem_mib": round(mem_gib * 1024), "gpus": gpus}
    if gpu_model and gpus:
        one["gpu_model"] = gpu_model
    if gpu_mem_gib and gpus:
        one["gpu_mem_mib"] = round(gpu_mem_gib * 1024)
    if island > 1:
        pairs = [
            (a, b) for a in range(gpus) for b in range(a + 1, gpus) if a // island == b // island
        ]
        one["links"] = [{"a": a, "b": b, "type": "nvlink"} for a, b in pairs]
    one.update(fields)
    made = []
    for i in range(nodes):
        node: Dict[str, Any] = {"name": "%s%d" % (name, i), **one}
        if racks:
            node["topology"] = {**node.get("topology", {}), "rack": "r%d" % (i * racks // nodes)}
        made.append(node)
    return made


#: Columns of node tables: the member of a node, and units of the column in one of the member.
_COLUMNS = {
    "name": ("name", 1.0),
    "sn": ("name", 1.0),
    "node_name": ("name", 1.0),
    "cpus": ("cpus", 1.0),
    "cpu_num": ("cpus", 1.0),
    "cpu_milli": ("cpus", 0.001),
    "mem_mib": ("mem_mib", 1.0),
    "memory_mib": ("mem_mib", 1.0),
    "gpus": ("gpus", 1.0),
    "gpu": ("gpus", 1.0),
    "gpu_capacity_num": ("gpus", 1.0),
    "gpu_model": ("gpu_model", 1.0),
    "model": ("gpu_model", 1.0),
    "gpu_mem_mib": ("gpu_mem_mib", 1.0),
    "state": ("state", 1.0),
}
_WORDS = ("name", "gpu_model", "state")


def from_csv(path: "Union[str, os.PathLike[str]]", levels: Sequence[str]) -> List[Dict[str, Any]]:
    """The machines of :meth:`gangsched.Cluster.from_csv`."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        if not reader.fieldnames or not any(
            _COLUMNS.get(column, ("",))[0] == "name" for column in reader.fieldnames
        ):
            raise ParseError("line 1: no column `name`", line=1)
        return [_row(row, levels, reader.line_num) for row in reader]
    except csv.Error as error:
        raise ParseError("line %d: %s" % (reader.line_num, error), line=reader.line_num) from None


def _row(row: Mapping[Any, Any], levels: Sequence[str], line: int) -> Dict[str, Any]:
    node: Dict[str, Any] = {}
    labels: Dict[str, str] = {}
    topology: Dict[str, str] = {}
    for column, value in row.items():
        if not isinstance(column, str) or not isinstance(value, str):
            raise ParseError(
                "line %d: the number of fields differs from the header" % line, line=line
            )
        if not value:
            continue
        if column in _COLUMNS:
            key, factor = _COLUMNS[column]
            node[key] = value if key in _WORDS else _number(value, factor, column, line)
        elif column in levels:
            topology[column] = value
        else:
            labels[column] = value
    if not node.get("gpus"):
        node.pop("gpu_model", None)
        node.pop("gpu_mem_mib", None)
    return {
        **node,
        **({"labels": labels} if labels else {}),
        **({"topology": topology} if topology else {}),
    }


def _number(value: str, factor: float, column: str, line: int) -> float:
    try:
        number = float(value) if factor == 1.0 else round(float(value) * factor, 3)
        return int(number) if number == int(number) else number
    except (ValueError, OverflowError):
        raise ParseError(
            "line %d, %s: '%s' is no number" % (line, column, value), line=line, path=column
        ) from None


def add_from_hwloc(
    worker: Any,
    xml: "Optional[Union[str, os.PathLike[str]]]",
    synthetic: Optional[str],
    count: int,
    name: Optional[str],
) -> None:
    """Add the machines of :meth:`gangsched.Cluster.from_hwloc`."""
    if xml is not None and synthetic is not None:
        raise InvalidArgument("either xml or synthetic")
    if count < 1:
        raise OutOfRange("count must be 1 or more")
    error = new_error()
    called = ffi.NULL if name is None else ffi.new("char[]", utf8(name, "name"))
    with plain_file(xml) as path:
        kind, source = lib.GANG_HWLOC_THIS, ffi.NULL
        if path is not None:
            kind, source = lib.GANG_HWLOC_XML_FILE, ffi.new("char[]", os.fsencode(path))
        elif synthetic is not None:
            kind, source = lib.GANG_HWLOC_SYNTHETIC, ffi.new("char[]", utf8(synthetic, "synthetic"))
        out = ffi.new("struct gang_node_spec **")
        check(lib.gang_node_spec_from_hwloc_source(kind, source, called, out, error), error)
    spec = ffi.gc(out[0], lib.gang_node_spec_free)
    specs = ffi.new("struct gang_node_spec[]", count)
    names = []
    for i in range(count):
        specs[i] = spec[0]
        if count > 1:
            names.append(ffi.new("char[]", ("%s%d" % (text(spec.name), i)).encode("utf-8")))
            specs[i].name = names[-1]
    check(lib.gang_nodes_add(worker, specs, count, ffi.NULL, error), error)


def ids(cluster: Any) -> Iterator[int]:
    """The ids of the nodes in the order of the cluster."""
    number = lib.gang_node_next(cluster, lib.GANG_ID_NONE)
    while number != lib.GANG_ID_NONE:
        yield number
        number = lib.gang_node_next(cluster, number)


def infos(cluster: Any) -> Iterator[Any]:
    """``struct gang_node_info *`` of each node. All iterations reuse the same memory."""
    info = new("gang_node_info")
    for number in ids(cluster):
        result = lib.gang_node_get(cluster, number, info)
        if result != lib.GANG_ESTALE:  # removed in the meantime
            check(result)
            yield info


def kinds(cluster: Any) -> List[Dict[str, Any]]:
    """Kinds of the site, in the order of their numbers."""
    found = []
    info = new("gang_kind_info")
    for number in range(lib.GANG_KIND_SITE, lib.GANG_MAX_KINDS):
        if lib.gang_kind_get(cluster, number, info) != 0:
            break
        pool = info.scope == lib.GANG_SCOPE_CLUSTER
        found.append(
            {
                "name": text(info.name),
                "unit": text(info.unit),
                "scope": "cluster" if pool else "node",
                "capacity": info.capacity if pool else None,
                "available": info.available if pool else None,
            }
        )
    return found


def row(info: Any) -> Dict[str, Any]:
    """A node as a row of a table."""
    return {
        "name": text(info.name),
        "state": NodeState.of(info.state) if info.state != lib.GANG_NODE_REMOVED else "gone",
        "cpus": info.cpu_milli / 1000,
        "cpus_free": info.cpu_free / 1000,
        "mem_mib": info.memory_bytes / _MIB,
        "mem_mib_free": info.memory_free / _MIB,
        "gpus": info.gpu_count,
        "gpus_free": info.gpus_free,
        "gpu_free": info.gpu_free / 1000,
    }


def shares(info: Any) -> List[float]:
    """The free part of each device."""
    return [info.gpu_share_free[i] / 1000 for i in range(info.gpu_count)]


def one(
    cluster: Any, number: int, levels: Sequence[str], kind_names: Sequence[str]
) -> Dict[str, Any]:
    """A node with the members that a table does not have."""
    info, out = new("gang_node_info"), ffi.new("struct gang_node_spec **")
    check(lib.gang_node_get(cluster, number, info), what="node")
    check(lib.gang_node_get_spec(cluster, number, out), what="node")
    made = _described(
        info, ffi.gc(out[0], lib.gang_node_spec_free), levels, _numbers(cluster, kind_names)
    )
    broken = [i for i in range(info.gpu_count) if info.gpu_unhealthy >> i & 1]
    return {"id": number, **made, "gpu_share_free": shares(info), "gpu_unhealthy": broken}


def _numbers(cluster: Any, kind_names: Sequence[str]) -> Dict[str, int]:
    """The numbers of the site's kinds, by name."""
    known = {
        kind["name"]: lib.GANG_KIND_SITE + number for number, kind in enumerate(kinds(cluster))
    }
    return {name: known[name] for name in kind_names}


def _described(
    info: Any, spec: Any, levels: Sequence[str], kind_numbers: Mapping[str, int]
) -> Dict[str, Any]:
    """A row of :attr:`gangsched.Cluster.nodes`."""
    made = row(info)
    made["gpu_model"] = model_of(spec)
    place = {
        text(spec.topology[i].key): text(spec.topology[i].value) for i in range(spec.topology_count)
    }
    for level in levels:
        made[level] = place.get(level, "")
    for name, at in kind_numbers.items():
        made[name], made[name + "_free"] = info.amount[at], info.amount_free[at]
    return made


class Specs:
    """Copies of the specifications of nodes, freed with this object."""

    def __init__(self, cluster: Any, numbers: Iterable[int]) -> None:
        self.all: List[Any] = []
        out = ffi.new("struct gang_node_spec **")
        for number in numbers:
            result = lib.gang_node_get_spec(cluster, number, out)
            if result != lib.GANG_ESTALE:
                check(result, what="node")
                self.all.append(ffi.gc(out[0], lib.gang_node_spec_free))


def model_of(spec: Any) -> str:
    """The GPU models of a node, each once."""
    models = dict.fromkeys(text(spec.gpus[i].model) for i in range(spec.gpu_count))
    return "|".join(model for model in models if model)


def table(cluster: Any, levels: Sequence[str], kind_names: Sequence[str]) -> Dict[str, List[Any]]:
    """The columns of :attr:`gangsched.Cluster.nodes`."""
    rows = []
    out = ffi.new("struct gang_node_spec **")
    numbers = _numbers(cluster, kind_names)
    for info in infos(cluster):
        if lib.gang_node_get_spec(cluster, info.id, out) != 0:
            continue
        spec = ffi.gc(out[0], lib.gang_node_spec_free)
        rows.append(_described(info, spec, levels, numbers))
        ffi.release(spec)
    columns = list(row(new("gang_node_info"))) + ["gpu_model", *levels]
    columns += [name + end for name in kind_names for end in ("", "_free")]
    return {column: [made[column] for made in rows] for column in columns}


def write_case(
    cluster: Any,
    levels: List[str],
    kind_dicts: List[Dict[str, Any]],
    named: Set[str],
    indent: int,
    policy: str,
) -> str:
    """A cluster as a case of the JSON format, with the states that nodes have now."""
    specs, number = Specs(cluster, list(ids(cluster))).all, ffi.new("int32_t *")
    check(lib.gang_policy_find(policy.encode("utf-8"), number), what="policy '%s'" % policy)
    return _write(cluster, specs, levels, kind_dicts, named, indent, int(number[0]))


def spec_dict(
    cluster: Any, number: int, levels: List[str], kind_dicts: List[Dict[str, Any]]
) -> Dict[str, Any]:
    """One node as a dict of the JSON format."""
    case = _write(cluster, Specs(cluster, [number]).all, levels, kind_dicts, set(), 0)
    nodes = json.loads(case)["nodes"]
    if not nodes:
        check(lib.GANG_ESTALE, what="node")
    found: Dict[str, Any] = nodes[0]
    return found


def _write(
    cluster: Any,
    specs: List[Any],
    levels: List[str],
    kind_dicts: List[Dict[str, Any]],
    named: Set[str],
    indent: int,
    policy: int = lib.GANG_POLICY_DEFAULT,
) -> str:
    keep: List[Any] = []

    def chars(value: Optional[str]) -> Any:
        if value is None:
            return ffi.NULL
        keep.append(ffi.new("char[]", value.encode("utf-8")))
        return keep[-1]

    case = new("gang_scenario")
    case.policy = policy
    array = ffi.new("struct gang_node_spec[]", max(1, len(specs)))
    for i, spec in enumerate(specs):
        array[i] = spec[0]
        _as_now(cluster, array[i])
    case.nodes, case.node_count = array, len(specs)
    level_array = ffi.new("char *[]", [chars(level) for level in levels])
    case.levels, case.level_count = level_array, len(levels)
    kind_array = ffi.new("struct gang_kind_spec[]", max(1, len(kind_dicts)))
    for i, kind in enumerate(kind_dicts):
        kind_array[i].size = ffi.sizeof("struct gang_kind_spec")
        kind_array[i].name, kind_array[i].unit = chars(kind["name"]), chars(kind["unit"])
        kind_array[i].scope = (
            lib.GANG_SCOPE_CLUSTER if kind["scope"] == "cluster" else lib.GANG_SCOPE_NODE
        )
        kind_array[i].capacity = kind["capacity"] or 0
    case.kinds, case.kind_count = kind_array, len(kind_dicts)
    modes = _modes(cluster, specs, named)
    partitions = ffi.new("struct gang_partition_spec[]", max(1, len(modes)))
    for i, (name, mode) in enumerate(modes.items()):
        partitions[i].size = ffi.sizeof("struct gang_partition_spec")
        partitions[i].name, partitions[i].mode = chars(name), mode
    case.partitions, case.partition_count = partitions, len(modes)
    case.rounds = 1
    writer, error = Writer(), new_error()
    result = lib.gang_scenario_write(case, indent, WRITE, writer.user, error)
    writer.settle()
    check(result, error)
    return writer.value()


def _as_now(cluster: Any, spec: Any) -> None:
    """Replace state and GPU health in a copied specification by the current ones."""
    number, info = ffi.new("gang_node_id *"), new("gang_node_info")
    if (
        lib.gang_node_find(cluster, spec.name, number) != 0
        or lib.gang_node_get(cluster, number[0], info) != 0
    ):
        return
    spec.state = info.state
    for i in range(spec.gpu_count):
        spec.gpus[i].state = (
            lib.GANG_GPU_UNHEALTHY if info.gpu_unhealthy >> i & 1 else lib.GANG_GPU_OK
        )


def _modes(cluster: Any, specs: List[Any], named: Set[str]) -> Dict[str, int]:
    """The modes of partitions that differ from the default."""
    names = set(named)
    for spec in specs:
        names.update(text(spec.partitions[i]) for i in range(spec.partition_count))
    found = {}
    mode = ffi.new("int32_t *")
    for name in sorted(names):
        check(lib.gang_partition_get(cluster, name.encode("utf-8"), mode))
        if mode[0] != lib.GANG_PARTITION_SHARED:
            found[name] = int(mode[0])
    return found


def pictures(
    cluster: "Cluster", most: Optional[int]
) -> Tuple[List[Dict[str, Any]], Dict[str, float]]:
    """The data for drawing at most ``most`` machines, and the sums over all machines.

    A row of the table and ``shares`` (free part of each device), ``broken`` (devices), ``islands``
    (devices joined by links), ``steps`` (domains, widest first), ``place`` (the steps as one text).
    """
    found: List[Dict[str, Any]] = []
    out = ffi.new("struct gang_node_spec **")
    total = cluster.totals()
    with cluster._held() as pointer:
        for info in infos(pointer):
            if most is not None and len(found) == most:
                break
            if lib.gang_node_get_spec(pointer, info.id, out) != 0:
                continue
            spec = ffi.gc(out[0], lib.gang_node_spec_free)
            made: Dict[str, Any] = {**row(info), "gpu_model": model_of(spec), "steps": _steps(spec)}
            made["shares"], made["islands"] = shares(info), islands(spec)
            made["broken"] = {i for i in range(info.gpu_count) if info.gpu_unhealthy >> i & 1}
            made["place"] = " / ".join(made["steps"])
            found.append(made)
            ffi.release(spec)
    return found, total


def _steps(spec: Any) -> List[str]:
    steps = (spec.topology[i] for i in range(spec.topology_count))
    return ["%s=%s" % (text(step.key), text(step.value)) for step in steps]


def summed(cluster: "Cluster") -> List[Dict[str, Any]]:
    """The data of machines not drawn one by one: table rows, ``gpu_model`` and ``steps``."""
    found: List[Dict[str, Any]] = []
    out = ffi.new("struct gang_node_spec **")
    with cluster._held() as pointer:
        for info in infos(pointer):
            if lib.gang_node_get_spec(pointer, info.id, out) != 0:
                continue
            spec = ffi.gc(out[0], lib.gang_node_spec_free)
            found.append({**row(info), "gpu_model": model_of(spec), "steps": _steps(spec)})
            ffi.release(spec)
    return found


def islands(spec: Any) -> List[List[int]]:
    """Groups of devices that links join, directly or through other devices.

    Omits single devices.
    """
    group = list(range(spec.gpu_count))
    for i in range(spec.link_count):
        a, b = group[spec.links[i].a], group[spec.links[i].b]
        group = [a if member == b else member for member in group]
    found: Dict[int, List[int]] = {}
    for device, member in enumerate(group):
        found.setdefault(member, []).append(device)
    return [members for members in found.values() if len(members) > 1]
