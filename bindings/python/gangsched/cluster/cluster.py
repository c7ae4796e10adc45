# SPDX-License-Identifier: Apache-2.0
"""How a cluster is made, and how gangs are allocated on it."""

import json
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import nodes as _nodes
from .._native import WRITE, Call, Writer, callback, ffi, lib, text
from .allocation import Allocation, Explanation
from ..case import Case, Source, load
from ..errors import NotFound, check, new_error
from ..handle import Box, Handle
from .changes import ChangeableCluster
from .request import Compiled, Request, Scorer, compile_for
from .state import Node

if TYPE_CHECKING:
    import os

    from .snapshot import Snapshot

#: A request, or the input of :class:`Request`.
Wanted = Optional[Mapping[str, Any]]


class Cluster(ChangeableCluster):
    """Machines, and what is allocated on them.

    A machine is a dict; amounts that are not given are 0:

    ``name``
        Must be there.
    ``cpus``, ``mem_mib``, ``gpus``
        Cores, MiB, and devices, all alike, with ``gpu_model`` and ``gpu_mem_mib`` each.
    ``devices``
        Instead of these: a list of dicts, ``model``, ``mem_mib``, ``numa`` (index), ``pci``,
        ``uuid``, ``healthy`` (True); a MIG instance has the number of its ``parent`` and its
        ``mig_index``.
    ``links``, ``gpu_locality``
        ``[{"a", "b", "type": "nvlink" | "xgmi" | "other"}]`` between two devices; or a string for
        each device with a digit for each (0: nothing in common, 1: package, 2: NUMA domain, 3: PCIe
        bridge, 4: link).
    ``numas``, ``cores``, ``nics``, ``profiles``
        NUMA domains (``package``, ``mem_mib``), cores (``numa``, ``threads``, ``cpuset``), network
        cards, MIG profiles.
    ``topology``, ``labels``
        Its place, a dict by level; texts by key.
    ``amounts``, ``max_tasks``, ``partitions``, ``state``
        Other resources, a dict by kind; how many tasks it takes (any); partitions; ``"up"``
        (default), ``"draining"`` or ``"down"``.

    >>> import gangsched as gs
    >>> with gs.Cluster([{"name": "n1", "cpus": 64, "mem_mib": 524288, "gpus": 8}]) as cluster:
    ...     job = cluster.allocate(count=4, gpu=2, cpu=8)
    ...     job.nodes, cluster.totals()["gpus_free"]
    (['n1'], 0)

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
        self._max_tasks = any(isinstance(node, Mapping) and "max_tasks" in node for node in listed)
        self._partitions = {str(p["name"]) for p in value.get("partitions", ())}
        self._begin()

    def _begin(self) -> None:
        """Set the members that are empty at first."""
        self._worker = None
        self._compiled: "weakref.WeakKeyDictionary[Request, Compiled]" = weakref.WeakKeyDictionary()
        #: requests with a Python score function, by allocation: growing calls the function again
        self._scored: Dict[int, Compiled] = {}
        self._mix = None

    def _inside(self, pointer: Any, owner: Box) -> "Cluster":
        """The object for a cluster with the same kinds and levels that ``owner`` owns."""
        return self._like(Box(pointer, lambda _: None, owner))

    def _like(self, box: Box) -> "Cluster":
        """The object for a copy that the library made of this cluster."""
        made = Cluster.__new__(Cluster)
        Handle.__init__(made, box)
        made._policy, made._max_tasks, made._partitions = (
            self._policy,
            self._max_tasks,
            set(self._partitions),
        )
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
            Above 0: NVLink joins each group of this many consecutive GPUs.
        fields
            Other members of the nodes, the same for each.
        """
        made = _nodes.uniform(
            nodes, gpus, cpus, mem_gib, gpu_model, gpu_mem_gib, racks, island, name, fields
        )
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
    def from_csv(
        cls, path: "Union[str, os.PathLike[str]]", levels: Sequence[str] = ()
    ) -> "Cluster":
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

    # ---- copies of one instant -----------------------------------------------------------

    def totals(self) -> Dict[str, float]:
        """Sums over all nodes at one instant, see :meth:`Snapshot.totals`."""
        with self.snapshot() as snapshot:
            return snapshot.totals()

    def snapshot(self) -> "Snapshot":
        """A copy of all nodes at this instant, to read and for "what if". O(nodes)."""
        from .snapshot import Snapshot

        return Snapshot(self)

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

    def _request(self, request: Wanted, keywords: Mapping[str, Any]) -> Compiled:
        if keywords or not isinstance(request, Request):
            request = Request(request, **keywords)
        found = self._compiled.get(request)
        if found is None:
            found = compile_for(self._open(), request, self._frame())
            self._compiled[request] = found
        return found

    def _test(self, test: Any, request: Wanted, keywords: Mapping[str, Any]) -> bool:
        with self._working() as worker:
            wanted = self._request(request, keywords)
            error = new_error()
            result = test(worker, wanted.pointer, error)
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
            result = lib.gang_alloc_explain(
                worker, allocation, group, lib.gangsched_py_explain, lines.user
            )
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
