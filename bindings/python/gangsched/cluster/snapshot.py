# SPDX-License-Identifier: Apache-2.0
"""A copy of a cluster at one instant, to read and for "what if"."""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Union

from . import nodes as _nodes
from .._native import ffi, lib, new
from ..enums import NodeState
from ..errors import DoesNotFit, check, new_error
from ..handle import Box, Handle

if TYPE_CHECKING:
    import pandas

    from .allocation import Allocation
    from .cluster import Cluster, Node, Wanted


class Snapshot(Handle):
    """All nodes at one instant.

    Changes of the snapshot do not change the cluster.

    >>> import gangsched as gs
    >>> cluster = gs.Cluster.uniform(2)
    >>> old = cluster.allocate(count=2, gpu=8)
    >>> with cluster.snapshot() as then:
    ...     then.release(old)               # if this were released,
    ...     then.fits(count=16, gpu=1)      # would that fit?
    True
    """

    def __init__(self, cluster: "Cluster") -> None:
        out = ffi.new("gang_snapshot **")
        with cluster._working() as worker:
            box = cluster._open()
            check(lib.gang_snapshot_new(box.pointer, out))
            super().__init__(Box(out[0], lib.gang_snapshot_free, box))
            check(lib.gang_snapshot_take(worker, out[0]))
        self.cluster = cluster

    def retake(self) -> None:
        """Copy all nodes again, as they are now."""
        with self.cluster._working() as worker, self._held() as snapshot:
            check(lib.gang_snapshot_take(worker, snapshot))

    def __len__(self) -> int:
        with self._held() as snapshot:
            return int(lib.gang_snapshot_node_count(snapshot))

    def __repr__(self) -> str:
        return "<Snapshot, %s>" % (self._gone if self.closed else "%d nodes" % len(self))

    @property
    def nodes(self) -> "pandas.DataFrame":
        """One row a node, by name, like :attr:`Cluster.nodes` without models, levels and kinds."""
        import pandas

        rows: List[Dict[str, Any]] = []
        info = new("gang_node_info")
        with self._held() as snapshot:
            number = lib.gang_snapshot_node_next(snapshot, lib.GANG_ID_NONE)
            while number != lib.GANG_ID_NONE:
                check(lib.gang_snapshot_node_get(snapshot, number, info))
                rows.append(_nodes.row(info))
                number = lib.gang_snapshot_node_next(snapshot, number)
        columns = list(_nodes.row(new("gang_node_info")))
        return pandas.DataFrame(rows, columns=columns).set_index("name")

    def totals(self) -> Dict[str, float]:
        """Sums over all nodes.

        O(nodes).

        ``nodes``, ``nodes_up``, ``nodes_draining``, ``nodes_down``; ``cpus`` (cores), ``mem_mib``,
        ``gpus`` (devices); free amounts (``cpus_free``, ``mem_mib_free``, ``gpu_free`` with shares,
        ``gpus_free`` entirely free), also only on nodes that are up (``cpus_free_up``...).
        """
        out = new("gang_totals")
        with self._held() as snapshot:
            check(lib.gang_snapshot_totals(snapshot, out))
        found: Dict[str, float] = {"nodes": out.nodes, "gpus": out.gpus}
        for state in ("up", "draining", "down"):
            found["nodes_" + state] = getattr(out, "nodes_" + state)
        found["cpus"], found["mem_mib"] = out.cpu_milli / 1000, out.memory_bytes / 2**20
        for end in ("free", "free_up"):
            found["cpus_" + end] = getattr(out, "cpu_" + end) / 1000
            found["mem_mib_" + end] = getattr(out, "memory_" + end) / 2**20
            found["gpu_" + end] = getattr(out, "gpu_" + end) / 1000
            found["gpus_" + end] = getattr(out, "gpus_" + end)
        return found

    def place(self, request: "Wanted" = None, **keywords: Any) -> None:
        """Place a gang in the snapshot, so that later questions take it into account.

        Raises
        ------
        DoesNotFit, NeverFits
            With the reason.
        """
        self._call(lib.gang_snapshot_place, request, keywords)

    def fits(self, request: "Wanted" = None, **keywords: Any) -> bool:
        """Whether a gang fits. Places nothing."""
        try:
            self._call(lib.gang_snapshot_test, request, keywords)
            return True
        except DoesNotFit:
            return False

    def release(self, allocation: "Union[Allocation, int]") -> None:
        """Release an allocation in the snapshot.

        Raises
        ------
        OutOfRange
            The allocation is younger than the snapshot, or was released in it before.
        """
        with self._held() as snapshot:
            number = allocation if isinstance(allocation, int) else allocation.id
            check(lib.gang_snapshot_release(snapshot, number), what="allocation")

    def set_state(self, node: "Node", state: str) -> None:
        """Set a node ``up``, ``draining`` or ``down`` in the snapshot."""
        value = NodeState.number_of(state, "state")
        number = self.cluster.node_id(node)
        with self._held() as snapshot:
            check(lib.gang_snapshot_set_state(snapshot, number, value), what="node %r" % (node,))

    def _call(self, function: Any, request: "Wanted", keywords: Mapping[str, Any]) -> None:
        error = new_error()
        with self.cluster._working() as worker, self._held() as snapshot:
            wanted = self.cluster._request(request, keywords)
            result = function(worker, snapshot, wanted.pointer, error)
            if wanted.scorer is not None:
                wanted.scorer.settle()
            check(result, error)
