# SPDX-License-Identifier: Apache-2.0
"""A cluster: machines, what is taken of them, and by whom."""

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

#: A node: its name, or its id.
Node = Union[str, int]

#: A request, or what makes one.
Wanted = Optional[Mapping[str, Any]]

class Cluster(Handle):
    """Machines, and what is taken of them.

    Nodes are dicts of the JSON format (ARCHITECTURE.md, "Formats")::

        with Cluster([{"name": "n1", "cpus": 64, "mem_mib": 524288, "gpus": 8}]) as cluster:
            job = cluster.allocate(count=4, gpu=2, cpu=8)
            print(job.nodes)

    Units: ``cpus`` cores, ``mem_mib`` MiB, ``gpus`` devices.

    Threads: any; calls on one cluster go one at a time. After fork() parent and child each have their own.

    Args:
        nodes: the machines.
        levels: of the topology, widest first, e.g. ``["zone", "rack"]``.
        kinds: ``[{"name", "unit", "scope": "node" | "cluster", "capacity"}]``, resources beside cpu, memory and gpu.
        partitions: ``[{"name", "mode": "shared" | "exclusive" | "lending"}]``.
        policy: of requests that name none: ``pack``, ``spread``, ``topology``, ``fgd``...

    Raises:
        GangError: with the path of what is wrong, e.g. ``nodes[3].gpus``.
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
        #: of "max_tasks" the reader makes a kind, which requests then take one of a task
        self._max_tasks = any(isinstance(node, Mapping) and "max_tasks" in node for node in listed)
        self._partitions = {str(p["name"]) for p in value.get("partitions", ())}
        self._begin()

    def _begin(self) -> None:
        """What is empty at first."""
        self._worker: Any = None
        self._compiled: "weakref.WeakKeyDictionary[Request, Compiled]" = weakref.WeakKeyDictionary()
        #: of allocations whose nodes a function of Python scores: it is asked again when they grow
        self._scored: Dict[int, Compiled] = {}
        #: the mix of shapes that was declared; None: it goes by what it sees
        self._mix: Optional[List[Dict[str, Any]]] = None

    def _inside(self, pointer: Any, owner: Box) -> "Cluster":
        """Another object for a cluster of the same kinds and levels that somebody else of the library owns."""
        return self._like(Box(pointer, lambda _: None, owner))

    def _like(self, box: Box) -> "Cluster":
        """The object of a copy that the library made of this one."""
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
        """So many equal machines, ``n0``, ``n1``...

        Args:
            gpus: devices of each; ``gpu_model`` and ``gpu_mem_gib`` (GiB of one) describe them.
            cpus: cores of each.
            mem_gib: GiB of each.
            racks: > 0: they stand in so many racks, of which neighbours share one; the level is ``rack``.
            island: > 0: so many GPUs, one after the other, are joined by NVLink.
            fields: what else a node may have, the same for each.
        """
        made = _nodes.uniform(nodes, gpus, cpus, mem_gib, gpu_model, gpu_mem_gib, racks, island, name, fields)
        return cls(made, levels=["rack"] if racks else [])

    @classmethod
    def from_json(cls, source: Source) -> "Cluster":
        """From a case in the JSON format: a path, text, or a dict. Its queues and jobs are not looked at.

        Raises:
            ParseError: with line and column; other errors with the path.
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
        """So many machines of the structure that hwloc tells: this one, an XML file, or a synthetic description.

        Args:
            xml: path of a file of ``lstopo``; None: the machine this runs on.
            synthetic: instead, ``"pack:2 numa:1 core:8 pu:2"``.
            count: of equal machines; more than one are called ``name0``, ``name1``...

        Raises:
            InputOutput, ParseError: no such file, or no topology.
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
        """From a table with a header line: one machine a row.

        Columns, by name: ``name`` (or ``sn``, ``node_name``), ``cpus`` (or ``cpu_num``, ``cpu_milli``), ``mem_mib`` (or
        ``memory_mib``), ``gpus`` (or ``gpu``, ``gpu_capacity_num``), ``gpu_model`` (or ``model``), ``gpu_mem_mib``, ``state``; those
        in ``levels`` say where it stands, and any other is a label. The node lists of Alibaba's traces (openb of 2023, that of
        spot jobs of 2026) are such tables. Compressed files
        (``.gz`` and its like) are read as they are.

        Raises:
            ParseError: with the line.
        """
        return cls(_nodes.from_csv(path, levels), levels=levels)

    def __reduce__(self) -> Any:
        """Pickled is what is there, not what is taken: the copy is empty."""
        return _again, (self.to_dict(), self._mix)

    def copy(self) -> "Cluster":
        """Another one with the same machines in their states and the same mix, of which nothing is taken. O(nodes)."""
        return _again(self.to_dict(), self._mix)

    def to_dict(self) -> Dict[str, Any]:
        """It as a case of the JSON format: levels, kinds, partitions, policy, nodes. O(nodes)."""
        found: Dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self, indent: int = 0) -> str:
        """The same as text. ``indent`` is spaces a level; 0: one line."""
        with self._held() as cluster:
            return _nodes.write_case(cluster, self._levels(cluster), self._kinds(cluster), self._partitions, indent, self._policy)

    # ---- what is there -------------------------------------------------------------------

    def __len__(self) -> int:
        """Nodes that are not removed."""
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
        """Names of the levels of the topology, widest first."""
        with self._held() as cluster:
            return self._levels(cluster)

    @property
    def kinds(self) -> List[Dict[str, Any]]:
        """Resources beside cpu, memory and gpu: name, unit, scope, and of pools capacity and ``available``."""
        with self._held() as cluster:
            return self._kinds(cluster)

    @property
    def names(self) -> List[str]:
        """Names of the nodes, in the order of the cluster."""
        with self._held() as cluster:
            return [text(info.name) for info in _nodes.infos(cluster)]

    @property
    def nodes(self) -> "pandas.DataFrame":
        """One row a node, by name: ``state``, and capacity and what is free of it: ``cpus`` (cores),
        ``mem_mib``, ``gpus`` (devices), ``gpus_free`` (wholly free), ``gpu_free`` (shares included),
        ``gpu_model``; levels and kinds of the site. O(nodes)."""
        import pandas

        return pandas.DataFrame(self.table()).set_index("name")

    def table(self) -> Dict[str, List[Any]]:
        """The columns of :attr:`nodes` as lists, for those without pandas."""
        with self._held() as cluster:
            return _nodes.table(cluster, self._levels(cluster), self._site_kinds(cluster))

    def node(self, node: Node) -> Dict[str, Any]:
        """One node: a row of :attr:`nodes` with ``id``, ``gpu_share_free`` (devices, of each) and
        ``gpu_unhealthy`` (numbers).

        Raises:
            NotFound, Stale: no such name, or gone.
        """
        number = self.node_id(node)
        with self._held() as cluster:
            return _nodes.one(cluster, number, self._levels(cluster), self._site_kinds(cluster))

    def node_id(self, node: Node) -> int:
        """The id of a node by its name. An id is given back as it is.

        Raises:
            NotFound: no such name, or no id at all.
        """
        if not isinstance(node, str):
            if isinstance(node, bool) or not hasattr(node, "__index__"):
                raise TypeError("a node is told by its name or its id, not by %r" % (node,))
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
        """All nodes as they are at this instant: to be read, and to ask "what if". O(nodes)."""
        from .snapshot import Snapshot

        return Snapshot(self)

    def check(self) -> None:
        """Audit the records against the sum of the allocations. Nobody may change the cluster meanwhile.
        O(nodes + tasks).

        Raises:
            InvalidArgument: the first discrepancy.
        """
        error = new_error()
        with self._held() as cluster:
            check(lib.gang_cluster_check(cluster, error), error)

    # ---- changing it ---------------------------------------------------------------------

    def add(self, spec: Optional[Mapping[str, Any]] = None, **fields: Any) -> int:
        """Add a machine: ``cluster.add(name="n9", cpus=64, gpus=8, topology={"rack": "r1"})``.

        Returns:
            Its id.

        Raises:
            AlreadyExists: the name; others with the path of the member.
        """
        return self._add([{**(spec or {}), **fields}], "nodes[0]")[0]

    def add_many(self, specs: Iterable[Mapping[str, Any]]) -> List[int]:
        """Add machines, all or none. An error's path begins with ``nodes[i]``. Returns their ids."""
        return self._add(list(specs), "")

    def change(self, node: Node, **fields: Any) -> None:
        """Describe a machine anew: fields that are given replace those there were. Its GPUs, links and cores
        cannot change.

        Raises:
            Busy: more is taken than it is to have.
        """
        number = self.node_id(node)
        with self._working() as worker:
            cluster = self._open().pointer
            old = _nodes.spec_dict(cluster, number, self._levels(cluster), self._kinds(cluster))
            case = self._case({"nodes": [{**old, **fields}]}, "nodes[0]")
            error = new_error()
            check(lib.gang_node_change(worker, number, case.c.nodes, error), error, path_prefix="nodes[0]")

    def remove(self, node: Node) -> None:
        """Remove a machine. What is taken of it stays as it is until it is given back."""
        number = self.node_id(node)
        with self._working() as worker:
            check(lib.gang_node_remove(worker, number), what="node %r" % (node,))

    def set_state(self, node: Node, state: str) -> None:
        """Set it ``up``, ``draining`` (takes nothing new) or ``down`` (lost)."""
        value = NodeState.number_of(state, "state")
        number = self.node_id(node)
        with self._working() as worker:
            check(lib.gang_node_set_state(worker, number, value), what="node %r" % (node,))

    def drain(self, node: Node) -> None:
        """It takes nothing new; what runs there stays."""
        self.set_state(node, "draining")

    def resume(self, node: Node) -> None:
        """It takes work again."""
        self.set_state(node, "up")

    def set_gpu_healthy(self, node: Node, gpu: int, healthy: bool) -> None:
        """Tell that a device is broken, so that it takes nothing new, or well again."""
        number = self.node_id(node)
        state = lib.GANG_GPU_OK if healthy else lib.GANG_GPU_UNHEALTHY
        with self._working() as worker:
            check(lib.gang_gpu_set_state(worker, number, gpu, state), what="gpu %d of node %r" % (gpu, node))

    def set_partition(self, name: str, mode: str) -> None:
        """Who may use the nodes of a partition: ``shared`` (all), ``exclusive`` (who names it), ``lending``
        (others when no other node has room)."""
        value = PartitionMode.number_of(mode, "mode")
        with self._working() as worker:
            check(lib.gang_partition_set(worker, utf8(name, "name"), value), what="partition '%s'" % name)
            self._partitions.add(name)

    def set_mix(self, shapes: Optional[Iterable[Mapping[str, Any]]]) -> None:
        """Declare the mix of tasks that work is expected to have, for the policies ``fgd`` and ``headroom``, which keep free what
        such tasks can use::

            cluster.set_mix([{"count": 70, "gpu": 1, "cpu": 8}, {"count": 30, "gpu": 0.5, "cpu": 4}])

        Args:
            shapes: one task of each as in a request (``cpu`` cores, ``gpu`` devices or a share, ``mem_mib``, ``gpu_models``), at most
                4095; ``count`` is the weight beside the others. None, or none: forget what was declared, and go by the
                requests that came.

        Raises:
            GangError: what is wrong with a shape, with the place (``shapes[2].gpu``). LimitReached: too many, or weights of more than 2^24.
        """
        from .mix import declare

        wrong = isinstance(shapes, (str, Mapping)) or not (shapes is None or hasattr(shapes, "__iter__"))
        given: List[Any] = [None] if wrong else list(shapes or ())
        listed = [dict(shape) for shape in given if isinstance(shape, Mapping)]
        if len(listed) < len(given):
            raise InvalidArgument("shapes: a list of dicts is wanted", path="shapes")
        with self._working() as worker:
            declare(worker, listed, self._frame())
            self._mix = listed or None

    # ---- allocating ----------------------------------------------------------------------

    def allocate(self, request: Wanted = None, **keywords: Any) -> Allocation:
        """Place a whole gang now, in one step, or nothing: ``cluster.allocate(count=16, gpu=1, cpu=8)``.

        Args:
            request: a :class:`Request`, or a dict that makes one; keywords come before it.

        Raises:
            DoesNotFit: not now; NeverFits: not even if all nodes were up and empty. Both say why.
            GangError: a request that is wrong, with the path.
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
        """Would :meth:`allocate` succeed now? Takes nothing."""
        return self._test(lib.gang_alloc_test, request, keywords)

    def fits_ever(self, request: Wanted = None, **keywords: Any) -> bool:
        """Could it ever, on the nodes there are, all up and with nothing taken?"""
        return self._test(lib.gang_request_fits_ever, request, keywords)

    def explain(self, request: Wanted = None, **keywords: Any) -> Explanation:
        """Why a request fits or does not: groups, reasons, numbers. O(nodes)."""
        writer = Writer()
        with self._working() as worker:
            wanted = self._request(request, keywords)
            result = lib.gang_request_write_why(worker, wanted.pointer, WRITE, writer.user)
            if wanted.scorer is not None:
                wanted.scorer.settle()
        writer.settle()
        check(result)
        return Explanation(json.loads(writer.value()))

    @property
    def allocations(self) -> List[Allocation]:
        """Those that live, in no order."""
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
        """End it, with all allocations; a second time does nothing. Waits for a call under way in another thread."""
        with self._lock:
            self._compiled.clear()
            self._scored.clear()
            super().close()

    # ---- inside --------------------------------------------------------------------------

    @contextmanager
    def _working(self) -> Iterator[Any]:
        """The cluster's one worker, for this thread alone."""
        with self._held() as cluster:
            if self._worker is None:
                out = ffi.new("gang_worker **")
                check(lib.gang_worker_new(cluster, out))
                self._worker = out[0]
            yield self._worker

    def _in_child(self, why: str) -> None:
        # The cluster itself is whole; the worker may have been in the midst of something.
        self._worker = None

    def _levels(self, cluster: Any) -> List[str]:
        return [text(lib.gang_cluster_level_name(cluster, i)) for i in range(lib.gang_cluster_level_count(cluster))]

    def _kinds(self, cluster: Any) -> List[Dict[str, Any]]:
        return _nodes.kinds(cluster)

    def _site_kinds(self, cluster: Any) -> List[str]:
        return [kind["name"] for kind in self._kinds(cluster) if kind["scope"] == "node"]

    def _frame(self) -> Dict[str, Any]:
        """What the reader must know of the cluster to read nodes, requests and queues for it."""
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
    """Takes the texts of explanations (gang_explain_fn)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: List[str] = []


@callback(failed=1)
def gangsched_py_explain(explanation: Any, user: Any) -> int:
    lines: Lines = ffi.from_handle(user)
    lines.found.append(text(explanation.text))
    return 0


__all__ = ["Cluster", "Node", "NotFound", "Wanted"]
