# SPDX-License-Identifier: Apache-2.0
"""What can be read of a cluster at any instant: nodes, kinds, levels, and all of it as JSON."""

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Set, Union

from . import nodes as _nodes
from .._native import ffi, lib, text, utf8
from ..case import Case
from ..closest import unknown
from ..errors import GangError, NotFound, check, new_error
from ..handle import Handle

if TYPE_CHECKING:
    import pandas

#: A node, by its name or its id.
Node = Union[str, int]


class ClusterState(Handle):
    """The part of a cluster that only reads. :class:`Cluster` adds what changes it."""

    _policy: str
    #: the JSON reader makes a kind of "max_tasks", and each task then takes one of it
    _max_tasks: bool
    _partitions: Set[str]
    #: the worker of the library through which all calls of this cluster go
    _worker: Any
    #: the declared mix; None: the cluster counts the requests that come
    _mix: Optional[List[Dict[str, Any]]]

    def to_dict(self) -> Dict[str, Any]:
        """The cluster as a case of the JSON format: levels, kinds, partitions, policy, nodes.

        O(nodes).
        """
        found: Dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self, indent: int = 0) -> str:
        """The same as text. ``indent`` is the number of spaces for each level; 0: one line."""
        with self._held() as cluster:
            return _nodes.write_case(
                cluster,
                self._levels(cluster),
                self._kinds(cluster),
                self._partitions,
                indent,
                self._policy,
            )

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
        NotFound, StaleHandle
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
            result = lib.gang_node_find(cluster, utf8(node, "name"), out)
            if result == lib.GANG_ENOENT:
                raise NotFound(unknown("node", node, self.names))
            check(result, what="node '%s'" % node)
        return int(out[0])

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
        return [
            text(lib.gang_cluster_level_name(cluster, i))
            for i in range(lib.gang_cluster_level_count(cluster))
        ]

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
