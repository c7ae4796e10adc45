# SPDX-License-Identifier: Apache-2.0
"""The nodes among which a score function chooses."""

from typing import Any, Callable, List

from .._lazy import deprecated
from ..closest import meant

_COLUMNS = ("node", "node_name", "cpus_free", "mem_mib_free", "gpus_free", "gpu_free", "tasks")

#: Members of ``struct gang_candidate`` that had their names and units in version 0.1.
_BEFORE = {
    "cpu_free": "cpus_free (cores)",
    "memory_free": "mem_mib_free (MiB)",
    "gpu_free": "the attribute gpu_free (GPUs)",
}


class Candidates:
    """The nodes that could take the next task of a gang, as columns: numpy arrays with one element
    for each node.

    Names and units are those of :attr:`gangsched.Cluster.nodes`: ``node`` (its id) and
    ``node_name``; ``cpus_free`` (cores), ``mem_mib_free``, ``gpus_free`` (entirely free devices),
    ``gpu_free`` (GPUs, with shares). ``tasks``: tasks of this gang that are planned there so far,
    which the free amounts do not include any more.

    >>> import gangsched as gs
    >>> cluster = gs.Cluster([{"name": "a", "gpus": 4}, {"name": "b", "gpus": 8}])
    >>> cluster.allocate(gpu=1, score=lambda group, nodes: nodes.gpus_free).nodes
    ['b']

    In version 0.1 it was a record array: ``candidates["gpu_free"]`` still is in milli-GPUs,
    ``cpu_free`` in millicores and ``memory_free`` in bytes, with a ``DeprecationWarning``.
    """

    def __init__(self, rows: Any, name_of: Callable[[int], str]) -> None:
        self._rows = rows
        self._name_of = name_of

    def __len__(self) -> int:
        return len(self._rows)

    def __getattr__(self, name: str) -> Any:
        if name not in _COLUMNS:
            raise AttributeError("candidates have no column %r%s" % (name, meant(name, _COLUMNS)))
        found = self._column(name)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> List[str]:
        return sorted({*object.__dir__(self), *_COLUMNS})

    def _column(self, name: str) -> Any:
        import numpy

        if name == "node_name":
            return numpy.array([self._name_of(int(node)) for node in self._rows["node"]], dtype=object)
        if name == "cpus_free":
            return self._rows["cpu_free"] / 1000
        if name == "mem_mib_free":
            return self._rows["memory_free"] / 2**20
        if name == "gpu_free":
            return self._rows["gpu_free"] / 1000
        return self._rows[name]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key not in _BEFORE and key in _COLUMNS:
            return getattr(self, key)
        deprecated("candidates[%r]" % (key,), _BEFORE.get(key, "an attribute")
                   if isinstance(key, str) else "its columns, as attributes")
        return self._rows[key]

    def __repr__(self) -> str:
        return "<Candidates: %d nodes>" % len(self)


__all__ = ["Candidates"]
