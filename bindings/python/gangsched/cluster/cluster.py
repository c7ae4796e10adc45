# SPDX-License-Identifier: Apache-2.0
"""A cluster: its machines, and the allocations on them."""

import json
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from . import nodes as _nodes
from .._native import WRITE, Call, Writer, callback, ffi, lib, new, text, utf8
from .allocation import Allocation, Explanation
from ..case import Case, Source, load
from ..enums import NodeState, PartitionMode
from ..errors import GangError, InvalidArgument, NotFound, check, new_error
from ..handle import Box, Handle
from .request import Compiled, Request, Scorer, compile_for

if TYPE_CHECKING:
    import os

    import pandas

    from .snapshot import Snapshot

#: A node, by its name or its id.
Node = Union[str, int]

#: A request, or the input of :class:`Request`.
Wanted = Optional[Mapping[str, Any]]

class Cluster(Handle):
    """Machines, and what is allocated on them.

    Nodes are dicts of the JSON format::

        with Cluster([{"name": "n1", "cpus": 64, "mem_mib": 524288, "gpus": 8}]) as cluster:
            job = cluster.allocate(count=4, gpu=2, cpu=8)
            print(job.nodes)

    Units: ``cpus`` cores, ``mem_mib`` MiB, ``gpus`` devices.

    Threads: any; the cluster serializes calls. After fork() parent and child each have their own
    cluster.

    Parameters
    ----------
    nodes
        The machines.
    levels
        Levels of the topology, widest first, e.g. ``["zone", "rack"]``.
    kinds
        ``[{"name", "unit", "scope": "node" | "cluster", "capacity"}]``: resources besides cpu,
        memory and gpu.
    partitions
        ``[{"name", "mode": "shared" | "exclusive" | "lending"}]``.
    policy
        Policy of requests that name none: ``pack``, ``spread``, ``topology``, ``fgd``...

    Raises
    ------
    GangError
        The path is the place of the error, e.g. ``nodes[3].gpus``.
    """

    def __init__(
        self,
        nodes: Iterable[Mapping[str, Any]] = (),
        *,
        levels: Sequence[str] = (),
        kinds: Iterable[Mapping[str, Any]] = (),
        partitions: Iterable[Mapping[str, Any]] = (),
        policy: str = "default",
    ) -> None:
        listed = list(nodes)
        value: Dict[str, Any] = {"levels": list(levels), "nodes": listed}
        if kinds:
            value["kinds"] = list(kinds)
        if partitions:
            value["partitions"] = list(partitions)
        if policy != "default":
            value["policy"] = policy
        case, error = Case(value), new_error()
        out = ffi.new("gang_cluster **")
        check(lib.gang_cluster_build(case.c, ffi.NULL, out, error), error)
        super().__init__(Box(out[0], lib.gang_cluster_free))
        self._policy = policy
        #: the JSON reader makes a kind of "max_tasks", and each task then takes one of it
        self._max_tasks = any(isinstance(node, Mapping) and "max_tasks" in node for node in listed)
        self._partitions = {str(p["name"]) for p in value.get("partitions", ())}
        self._begin()

    def _begin(self) -> None:
        """Set the members that are empty at first."""
        self._worker: Any = None
        self._compiled: "weakref.WeakKeyDictionary[Request, Compiled]" = weakref.WeakKeyDictionary()
        #: allocations whose nodes a Python function scores: growing them calls the function again
        self._scored: Dict[int, Compiled] = {}
        #: the declared mix; None: the cluster counts the requests that come
        self._mix: Optional[List[Dict[str, Any]]] = None

    def _inside(self, pointer: Any, owner: Box) -> "Cluster":
        """The object for a cluster with the same kinds and levels that ``owner`` owns."""
        return self._like(Box(pointer, lambda _: None, owner))

    def _like(self, box: Box) -> "Cluster":
        """The object for a copy that the library made of this cluster."""
        made = Cluster.__new__(Cluster)
        Handle.__init__(made, box)
        made._policy, made._max_tasks, made._partitions = self._policy, self._max_tasks, set(self._partitions)
        made._begin()
        made._mix = self._mix
        return made

    # ---- making one ----------------------------------------------------------------------

    @classmethod
    def uniform(
        cls,
        nodes: int,
        gpus: int = 8,
        cpus: float = 64,
        mem_gib: float = 512,
        gpu_model: Optional[str] = None,
        gpu_mem_gib: float = 0,
        racks: int = 0,
        island: int = 0,
        name: str = "n",
        **fields: Any,
    ) -> "Cluster":
        """A cluster of equal machines ``n0``, ``n1``...

        Parameters
        ----------
        nodes
            The number of machines.
        gpus
            Devices of each; ``gpu_model`` and ``gpu_mem_gib`` (GiB of one device) describe them.
        cpus
            Cores of each.
        mem_gib
            GiB of each.
        racks
            Above 0: the number of racks, each with consecutive machines; the level is ``rack``.
        island
            Above 0: NVLink joins each so many consecutive GPUs.
        fields
            Other members of the nodes, the same for each.
        """
        made = _nodes.uniform(nodes, gpus, cpus, mem_gib, gpu_model, gpu_mem_gib, racks, island, name, fields)
        return cls(made, levels=["rack"] if racks else [])

    @classmethod
    def from_json(cls, source: Source) -> "Cluster":
        """A cluster from a case in the JSON format: a path, text, or a dict.

        Ignores its queues and jobs.

        Raises
        ------
        ParseError
            With line and column.
        GangError
            Other errors, with the path.
        """
        value = load(source)
        known = ("nodes", "levels", "kinds", "partitions", "policy")
        return cls(**{key: value[key] for key in known if value.get(key) is not None})

    @classmethod
    def from_hwloc(
        cls,
        xml: "Optional[Union[str, os.PathLike[str]]]" = None,
        *,
        synthetic: Optional[str] = None,
        count: int = 1,
        name: Optional[str] = None,
    ) -> "Cluster":
        """Equal machines with the structure that hwloc reports.

        Parameters
        ----------
        xml
            Path of a file of ``lstopo``; None: this machine.
        synthetic
            A synthetic description instead, ``"pack:2 numa:1 core:8 pu:2"``.
        count
            The number of machines. Several machines get the names ``name0``, ``name1``...

        Raises
        ------
        InputOutput, ParseError
            The file does not exist, or is no topology.
        """
        made = cls()
        try:
            made._add_from_hwloc(xml, synthetic, count, name)
        except BaseException:
            made.close()
            raise
        return made

    @classmethod
    def from_csv(cls, path: "Union[str, os.PathLike[str]]", levels: Sequence[str] = ()) -> "Cluster":
        """A cluster from a table with a header line: one machine a row.

        Columns: ``name`` (or ``sn``, ``node_name``), ``cpus`` (or ``cpu_num``, ``cpu_milli``),
        ``mem_mib`` (or ``memory_mib``), ``gpus`` (or ``gpu``, ``gpu_capacity_num``), ``gpu_model``
        (or ``model``), ``gpu_mem_mib``, ``state``. Columns in ``levels`` give the place of the
        machine; any other column is a label. Alibaba's node lists (openb of 2023, spot jobs of
        2026) are such tables. Compressed files (gzip, bzip2, xz) work as well.

        Raises
        ------
        ParseError
            With the line.
        """
        return cls(_nodes.from_csv(path, levels), levels=levels)

    def __reduce__(self) -> Any:
        """Pickling keeps the machines, and drops the allocations."""
        return _again, (self.to_dict(), self._mix)

    def copy(self) -> "Cluster":
        """A cluster with the same machines, states and mix, and without allocations. O(nodes)."""
        return _again(self.to_dict(), self._mix)

    def to_dict(self) -> Dict[str, Any]:
        """The cluster as a case of the JSON format: levels, kinds, partitions, policy, nodes.

        O(nodes).
        """
        found: Dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self, indent: int = 0) -> str:
        """The same as text. ``indent`` is the number of spaces for each level; 0: one line."""
        with self._held() as cluster:
            return _nodes.write_case(cluster, self._levels(cluster), self._kinds(cluster), self._partitions, indent, self._policy)

    # ---- what is there -------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of nodes."""
        with self._held() as cluster:
            return int(lib.gang_node_count(cluster))

    def __contains__(self, name: object) -> bool:
        try:
            self.node(name)  # type: ignore[arg-type]
            return True
        except (GangError, TypeError, ValueError):
            return False

    @property
    def levels(self) -> List[str]:
        """The names of the levels of the topology, widest first."""
        with self._held() as cluster:
            return self._levels(cluster)

    @property
    def kinds(self) -> List[Dict[str, Any]]:
        """Resources besides cpu, memory and gpu: name, unit, scope; of pools capacity and
        ``available``.
        """
        with self._held() as cluster:
            return self._kinds(cluster)

    @property
    def names(self) -> List[str]:
        """The names of the nodes, in the order of the cluster."""
        with self._held() as cluster:
            return [text(info.name) for info in _nodes.infos(cluster)]

    @property
    def nodes(self) -> "pandas.DataFrame":
        """One row a node, by name.

        O(nodes).

        ``state``; capacity and free amounts: ``cpus`` (cores), ``mem_mib``, ``gpus`` (devices),
        ``gpus_free`` (entirely free devices), ``gpu_free`` (with shares); ``gpu_model``; the levels
        and kinds of the site.
        """
        import pandas

        return pandas.DataFrame(self.table()).set_index("name")

    def table(self) -> Dict[str, List[Any]]:
        """The columns of :attr:`nodes` as lists, without pandas."""
        with self._held() as cluster:
            return _nodes.table(cluster, self._levels(cluster), self._site_kinds(cluster))

    def node(self, node: Node) -> Dict[str, Any]:
        """One node: a row of :attr:`nodes` with ``id``, ``gpu_share_free`` and ``gpu_unhealthy``.

        ``gpu_share_free`` has the free part of each device, ``gpu_unhealthy`` the indexes of broken
        ones.

        Raises
        ------
        NotFound, Stale
            There is no such node, or it was removed.
        """
        number = self.node_id(node)
        with self._held() as cluster:
            return _nodes.one(cluster, number, self._levels(cluster), self._site_kinds(cluster))

    def node_id(self, node: Node) -> int:
        """The id of a node by its name.

        An id is returned as it is.

        Raises
        ------
        NotFound
            There is no such name, or the number cannot be an id.
        """
        if not isinstance(node, str):
            if isinstance(node, bool) or not hasattr(node, "__index__"):
                raise TypeError("give a node by its name or its id, not by %r" % (node,))
            number = int(node)
            if not 0 <= number < 2**64:
                raise NotFound("node %d: no such id" % number)
            return number
        out = ffi.new("gang_node_id *")
        with self._held() as cluster:
            check(lib.gang_node_find(cluster, utf8(node, "name"), out), what="node '%s'" % node)
        return int(out[0])

    def totals(self) -> Dict[str, float]:
        """Sums over all nodes at one instant, see :meth:`Snapshot.totals`."""
        with self.snapshot() as snapshot:
            return snapshot.totals()

    def snapshot(self) -> "Snapshot":
        """A copy of all nodes at this instant, to read and for "what if". O(nodes)."""
        from .snapshot import Snapshot

        return Snapshot(self)

    def check(self) -> None:
        """Compare the records with the sum of the allocations.

        O(nodes + tasks).

        The cluster must not change during the call.

        Raises
        ------
        InvalidArgument
            The first difference.
        """
        error = new_error()
        with self._held() as cluster:
            check(lib.gang_cluster_check(cluster, error), error)

    # ---- changing it ---------------------------------------------------------------------

    def add(self, spec: Optional[Mapping[str, Any]] = None, **fields: Any) -> int:
        """Add a machine: ``cluster.add(name="n9", cpus=64, gpus=8, topology={"rack": "r1"})``.

        Returns
        -------
        int
            The id of the node.

        Raises
        ------
        AlreadyExists
            The name is taken.
        GangError
            Other errors, with the path of the member.
        """
        return self._add([{**(spec or {}), **fields}], "nodes[0]")[0]

    def add_many(self, specs: Iterable[Mapping[str, Any]]) -> List[int]:
        """Add machines, all or none, and return their ids.

        Paths of errors begin with ``nodes[i]``.
        """
        return self._add(list(specs), "")

    def change(self, node: Node, **fields: Any) -> None:
        """Replace some members of a machine.

        Its GPUs, links and cores cannot change.

        Raises
        ------
        Busy
            Allocations use more than the new amount.
        """
        number = self.node_id(node)
        with self._working() as worker:
            cluster = self._open().pointer
            old = _nodes.spec_dict(cluster, number, self._levels(cluster), self._kinds(cluster))
            case = self._case({"nodes": [{**old, **fields}]}, "nodes[0]")
            error = new_error()
            check(lib.gang_node_change(worker, number, case.c.nodes, error), error, path_prefix="nodes[0]")

    def remove(self, node: Node) -> None:
        """Remove a machine. Allocations on it stay until their release."""
        number = self.node_id(node)
        with self._working() as worker:
            check(lib.gang_node_remove(worker, number), what="node %r" % (node,))

    def set_state(self, node: Node, state: str) -> None:
        """Set a node ``up``, ``draining`` (starts no new tasks) or ``down`` (lost)."""
        value = NodeState.number_of(state, "state")
        number = self.node_id(node)
        with self._working() as worker:
            check(lib.gang_node_set_state(worker, number, value), what="node %r" % (node,))

    def drain(self, node: Node) -> None:
        """Start no new tasks on a node; running tasks stay."""
        self.set_state(node, "draining")

    def resume(self, node: Node) -> None:
        """Start tasks on a node again."""
        self.set_state(node, "up")

    def set_gpu_healthy(self, node: Node, gpu: int, healthy: bool) -> None:
        """Mark a device as broken, so that no new task gets it, or as healthy again."""
        number = self.node_id(node)
        state = lib.GANG_GPU_OK if healthy else lib.GANG_GPU_UNHEALTHY
        with self._working() as worker:
            check(lib.gang_gpu_set_state(worker, number, gpu, state), what="gpu %d of node %r" % (gpu, node))

    def set_partition(self, name: str, mode: str) -> None:
        """Set which requests may use the nodes of a partition.

        ``shared``: all; ``exclusive``: requests that name it; ``lending``: these, and others if no
        other node has capacity.
        """
        value = PartitionMode.number_of(mode, "mode")
        with self._working() as worker:
            check(lib.gang_partition_set(worker, utf8(name, "name"), value), what="partition '%s'" % name)
            self._partitions.add(name)

    def set_mix(self, shapes: Optional[Iterable[Mapping[str, Any]]]) -> None:
        """Declare the expected mix of tasks.

        ``fgd`` and ``headroom`` keep capacity in usable pieces for it.

        ::

            cluster.set_mix([{"count": 70, "gpu": 1, "cpu": 8}, {"count": 30, "gpu": 0.5, "cpu": 4}])

        Parameters
        ----------
        shapes
            At most 4095 tasks as in a request (``cpu`` cores, ``gpu`` devices or a share,
            ``mem_mib``, ``gpu_models``); ``count`` is the weight. None or empty: withdraw the
            declaration, and count the requests that come.

        Raises
        ------
        GangError
            A shape is wrong, with the place (``shapes[2].gpu``).
        LimitReached
            There are too many shapes, or the weights exceed 2^24.
        """
        from .mix import declare

        wrong = isinstance(shapes, (str, Mapping)) or not (shapes is None or hasattr(shapes, "__iter__"))
        given: List[Any] = [None] if wrong else list(shapes or ())
        listed = [dict(shape) for shape in given if isinstance(shape, Mapping)]
        if len(listed) < len(given):
            raise InvalidArgument("shapes: expected a list of dicts", path="shapes")
        with self._working() as worker:
            declare(worker, listed, self._frame())
            self._mix = listed or None

    # ---- allocating ----------------------------------------------------------------------

    def allocate(self, request: Wanted = None, **keywords: Any) -> Allocation:
        """Place a whole gang now, in one step, or nothing.

        ::

            cluster.allocate(count=16, gpu=1, cpu=8)

        Parameters
        ----------
        request
            A :class:`Request`, or its members as a dict; keywords override them.

        Raises
        ------
        DoesNotFit
            The gang does not fit now; the exception says why.
        NeverFits
            The gang would not fit even if all nodes were up and empty.
        GangError
            The request is wrong, with the path.
        """
        out, error = ffi.new("gang_alloc_id *"), new_error()
        with self._working() as worker:
            wanted = self._request(request, keywords)
            result = lib.gang_alloc(worker, wanted.pointer, out, error)
            if wanted.scorer is not None:
                wanted.scorer.settle()
            check(result, error)
            if wanted.scorer is not None:
                self._scored[int(out[0])] = wanted
        return Allocation(self, int(out[0]))

    def fits(self, request: Wanted = None, **keywords: Any) -> bool:
        """Whether :meth:`allocate` would succeed now. Allocates nothing."""
        return self._test(lib.gang_alloc_test, request, keywords)

    def fits_ever(self, request: Wanted = None, **keywords: Any) -> bool:
        """Whether the request would fit if all nodes were up and empty."""
        return self._test(lib.gang_request_fits_ever, request, keywords)

    def explain(self, request: Wanted = None, **keywords: Any) -> Explanation:
        """Why a request fits or not: groups, reasons, numbers. O(nodes)."""
        writer = Writer()
        with self._working() as worker:
            wanted = self._request(request, keywords)
            result = lib.gang_request_write_explanation(worker, wanted.pointer, WRITE, writer.user)
            if wanted.scorer is not None:
                wanted.scorer.settle()
        writer.settle()
        check(result)
        return Explanation(json.loads(writer.value()))

    @property
    def allocations(self) -> List[Allocation]:
        """The allocations of the cluster, in no particular order."""
        found: List[Allocation] = []
        with self._held() as cluster:
            number = lib.gang_alloc_next(cluster, lib.GANG_ID_NONE)
            while number != lib.GANG_ID_NONE:
                found.append(Allocation(self, int(number)))
                number = lib.gang_alloc_next(cluster, number)
        return found

    # ---- looking at it -------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.closed:
            return "<Cluster, %s>" % self._gone
        sums = self.totals()
        return "<Cluster: %d nodes, %g of %g GPUs and %g of %g cores free>" % (
            sums["nodes"],
            sums["gpu_free"],
            sums["gpus"],
            sums["cpus_free"],
            sums["cpus"],
        )

    def __str__(self) -> str:
        from ..viz.show import cluster_text

        return cluster_text(self)

    def _repr_html_(self) -> str:
        from ..viz.show import cluster_html

        return cluster_html(self)

    def close(self) -> None:
        """End the cluster with all allocations; a second call does nothing.

        Waits for a call in another thread.
        """
        with self._lock:
            self._compiled.clear()
            self._scored.clear()
            super().close()

    # ---- inside --------------------------------------------------------------------------

    @contextmanager
    def _working(self) -> Iterator[Any]:
        """The one worker of the cluster, with the lock held."""
        with self._held() as cluster:
            if self._worker is None:
                out = ffi.new("gang_worker **")
                check(lib.gang_worker_new(cluster, out))
                self._worker = out[0]
            yield self._worker

    def _in_child(self, why: str) -> None:
        # The cluster itself is intact. The worker may have been in the middle of an operation.
        self._worker = None

    def _levels(self, cluster: Any) -> List[str]:
        return [text(lib.gang_cluster_level_name(cluster, i)) for i in range(lib.gang_cluster_level_count(cluster))]

    def _kinds(self, cluster: Any) -> List[Dict[str, Any]]:
        return _nodes.kinds(cluster)

    def _site_kinds(self, cluster: Any) -> List[str]:
        return [kind["name"] for kind in self._kinds(cluster) if kind["scope"] == "node"]

    def _frame(self) -> Dict[str, Any]:
        """Levels and kinds of the cluster: the JSON reader needs them for nodes, requests and
        queues.
        """
        cluster = self._open().pointer
        found = self._kinds(cluster)
        wanted = ("name", "unit", "scope", "capacity")
        listed = [{key: kind[key] for key in wanted if kind[key] is not None} for kind in found]
        frame: Dict[str, Any] = {"levels": self._levels(cluster)}
        if self._max_tasks:
            listed = [kind for kind in listed if kind["name"] != "tasks"]
            frame["nodes"] = [{"name": "one", "max_tasks": 1}]
        if listed:
            frame["kinds"] = listed
        return frame

    def _case(self, value: Mapping[str, Any], path_prefix: str = "") -> Case:
        return Case({**self._frame(), **value}, path_prefix)

    def _add(self, specs: List[Mapping[str, Any]], path_prefix: str) -> List[int]:
        if not specs:
            return []
        with self._working() as worker:
            case, error = self._case({"nodes": specs}, path_prefix), new_error()
            out = ffi.new("gang_node_id[]", len(specs))
            result = lib.gang_nodes_add(worker, case.c.nodes, len(specs), out, error)
            check(result, error, path_prefix=path_prefix)
        return [int(number) for number in out]

    def _add_from_hwloc(
        self,
        xml: "Optional[Union[str, os.PathLike[str]]]",
        synthetic: Optional[str],
        count: int,
        name: Optional[str],
    ) -> None:
        with self._working() as worker:
            _nodes.add_from_hwloc(worker, xml, synthetic, count, name)

    def _request(self, request: Wanted, keywords: Mapping[str, Any]) -> Compiled:
        if keywords or not isinstance(request, Request):
            request = Request(request, **keywords)
        found = self._compiled.get(request)
        if found is None:
            found = compile_for(self._open(), request, self._frame())
            self._compiled[request] = found
        return found

    def _test(self, ask: Any, request: Wanted, keywords: Mapping[str, Any]) -> bool:
        with self._working() as worker:
            wanted = self._request(request, keywords)
            error = new_error()
            result = ask(worker, wanted.pointer, error)
            if wanted.scorer is not None:
                wanted.scorer.settle()
        if result in (lib.GANG_ENOFIT, lib.GANG_ENEVER):
            return False
        check(result, error)
        return True

    def _scorer_of(self, allocation: int) -> Optional[Scorer]:
        found = self._scored.get(allocation)
        return found.scorer if found is not None else None

    def _forget(self, allocation: int) -> None:
        self._scored.pop(allocation, None)

    def _explain_growth(self, allocation: int, group: int) -> List[str]:
        lines = Lines()
        with self._working() as worker:
            result = lib.gang_alloc_explain(worker, allocation, group, lib.gangsched_py_explain, lines.user)
        lines.settle()
        check(result, what="allocation")
        return lines.found


def _again(value: Dict[str, Any], mix: Optional[List[Dict[str, Any]]]) -> Cluster:
    made = Cluster.from_json(value)
    if mix is not None:
        made.set_mix(mix)
    return made


class Lines(Call):
    """Collects the texts of explanations (gang_explain_fn)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: List[str] = []


@callback(failed=1)
def gangsched_py_explain(explanation: Any, user: Any) -> int:
    lines: Lines = ffi.from_handle(user)
    lines.found.append(text(explanation.text))
    return 0


__all__ = ["Cluster", "Node", "NotFound", "Wanted"]
