# SPDX-License-Identifier: Apache-2.0
"""How the machines of a cluster change: added, removed, drained, lost; partitions and the mix."""

from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Union

from . import nodes as _nodes
from .._native import ffi, lib, utf8
from ..enums import NodeState, PartitionMode
from ..errors import InvalidArgument, check, new_error
from .state import ClusterState, Node

if TYPE_CHECKING:
    import os


class ChangeableCluster(ClusterState):
    """The part of a cluster that changes its machines. :class:`Cluster` adds allocations."""

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
            check(
                lib.gang_node_change(worker, number, case.c.nodes, error),
                error,
                path_prefix="nodes[0]",
            )

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
            check(
                lib.gang_gpu_set_state(worker, number, gpu, state),
                what="gpu %d of node %r" % (gpu, node),
            )

    def set_partition(self, name: str, mode: str) -> None:
        """Set which requests may use the nodes of a partition.

        ``shared``: all; ``exclusive``: requests that name it; ``lending``: these, and others if no
        other node has capacity.
        """
        value = PartitionMode.number_of(mode, "mode")
        with self._working() as worker:
            check(
                lib.gang_partition_set(worker, utf8(name, "name"), value),
                what="partition '%s'" % name,
            )
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

        wrong = isinstance(shapes, (str, Mapping)) or not (
            shapes is None or hasattr(shapes, "__iter__")
        )
        given: List[Any] = [None] if wrong else list(shapes or ())
        listed = [dict(shape) for shape in given if isinstance(shape, Mapping)]
        if len(listed) < len(given):
            raise InvalidArgument("shapes: expected a list of dicts", path="shapes")
        with self._working() as worker:
            declare(worker, listed, self._frame())
            self._mix = listed or None

    # ---- inside --------------------------------------------------------------------------

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
