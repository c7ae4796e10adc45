# SPDX-License-Identifier: Apache-2.0
"""Allocations, with their tasks, nodes, devices and cores; and explanations of refusals."""

import json
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Type

from .._lazy import deprecated
from .._native import WRITE, Writer, ffi, lib, new
from ..enums import HostsFormat
from ..errors import GangError, StaleHandle, check, new_error

if TYPE_CHECKING:
    from .cluster import Cluster


class Explanation(Mapping[str, Any]):
    """Why a request fits or not, or why a job waits: a dict; ``str(e)`` is one English line.

    For a request: ``answer``, ``text``, ``constraint``, ``kind``, ``requested`` and ``available``
    (in millicores, bytes, milli-GPUs) of the decisive reason, and ``groups`` with the same for each
    group of tasks: ``want``, ``fit``, ``nodes``, ``nodes_fit``, how many nodes each constraint
    ``refused``. For a job: ``state``, ``text``, ``reasons``.

    >>> import gangsched as gs
    >>> why = gs.Cluster.uniform(1).explain(gpu=9)
    >>> why.answer, why["requested"], why["available"]
    ('never', 9000, 8000)

    Plain data of any thread.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)

    def __getitem__(self, key: str) -> Any:
        if key == "class" and "category" in self._data:
            deprecated("Explanation['class']", "Explanation['category']")
            key = "category"
        return self._data[key]

    def __iter__(self) -> Any:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    @property
    def answer(self) -> str:
        """``"fits now"``, ``"not now"`` or ``"never"``."""
        return str(self._data.get("answer", ""))

    @property
    def text(self) -> str:
        """One English line."""
        return str(self._data.get("text", ""))

    def __str__(self) -> str:
        return self.text or self.answer

    def __repr__(self) -> str:
        return "Explanation(%r)" % str(self)


class Task(Dict[str, Any]):
    """A task of an allocation as a dict, see :attr:`Allocation.tasks`.

    The members that version 0.1 had, ``cpu_milli``, ``memory_bytes`` and ``gpus`` (indexes), can
    still be read, with a ``DeprecationWarning``.
    """

    _BEFORE = {"cpu_milli": "cpu", "memory_bytes": "mem_mib", "gpus": "devices"}

    def __missing__(self, key: str) -> Any:
        if key not in self._BEFORE:
            raise KeyError(key)
        deprecated("the member %s of a task" % key, self._BEFORE[key])
        value = self[self._BEFORE[key]]
        if key == "gpus":
            return value
        return round(value * (1000 if key == "cpu_milli" else 2**20))

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Task":
        """A task in the names of now, from the library's JSON."""
        made = cls()
        for key, value in raw.items():
            if key == "cpu_milli":
                made["cpu"] = value / 1000
            elif key == "memory_bytes":
                made["mem_mib"] = value / 2**20
            elif key == "gpus":
                made["gpu"] = round(len(value) * raw.get("share", 1.0), 3)
                made["devices"] = value
            else:
                made[key] = value
        return made


class Allocation:
    """The result of :meth:`gangsched.Cluster.allocate`.

    It stays in the cluster until its release.

    The end of ``with cluster.allocate(...) as a:`` releases it. Calls take the lock of the cluster.

    >>> import gangsched as gs
    >>> cluster = gs.Cluster.uniform(2)
    >>> with cluster.allocate(count=3, min=2, gpu=4) as made:
    ...     made.grow(), made.nodes, made.info()["gpus"]
    (1, ['n0', 'n1'], 12.0)
    >>> cluster.totals()["gpus_free"]
    16
    """

    def __init__(self, cluster: "Cluster", number: int) -> None:
        self.cluster = cluster
        #: the id in the library, never used again
        self.id = number

    def __repr__(self) -> str:
        try:
            info = self.info()
        except (StaleHandle, GangError):
            return "<Allocation %#x, released>" % self.id
        return "<Allocation %#x: %d tasks, %g GPUs>" % (self.id, info["tasks"], info["gpus"])

    def __enter__(self) -> "Allocation":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if not self.cluster.closed and self.alive:
            self.release()

    @property
    def alive(self) -> bool:
        """True until the release."""
        try:
            self.info()
            return True
        except StaleHandle:
            return False

    def info(self) -> Dict[str, Any]:
        """Totals: ``tasks``, ``min``, ``count``, ``cpus`` (cores), ``mem_mib``, ``gpus`` (devices).

        O(tasks).

        Raises
        ------
        StaleHandle
            The allocation was released.
        """
        out = new("gang_alloc_info")
        with self.cluster._held() as cluster:
            check(lib.gang_alloc_get(cluster, self.id, out), what="allocation")
        return {
            "tasks": out.tasks,
            "min": out.min,
            "count": out.count,
            "cpus": out.cpu_milli / 1000,
            "mem_mib": out.memory_bytes / 2**20,
            "gpus": out.gpu_milli / 1000,
        }

    @property
    def tasks(self) -> List[Dict[str, Any]]:
        """One dict for each task.

        O(tasks).

        ``task``, ``group``, ``node``, ``cpu`` (cores), ``mem_mib``, ``gpu`` (GPUs), ``devices``
        (their indexes on the node), ``share`` (of each), ``cores``, and if known ``pci``,
        ``uuids``, ``cpuset``, ``nodeset``.

        >>> import gangsched as gs
        >>> task = gs.Cluster.uniform(1).allocate(count=2, gpu=2, cpu=1.5).tasks[1]
        >>> task["node"], task["cpu"], task["gpu"], task["devices"]
        ('n0', 1.5, 2.0, [2, 3])
        """
        writer = Writer()
        with self.cluster._held() as cluster:
            result = lib.gang_alloc_write_json(cluster, self.id, WRITE, writer.user)
        writer.settle()
        check(result, what="allocation")
        return [Task.of(raw) for raw in json.loads(writer.value())["tasks"]]

    @property
    def nodes(self) -> List[str]:
        """The names of its nodes, each once, in the order of its tasks."""
        return list(dict.fromkeys(task["node"] for task in self.tasks))

    def hosts(self, format: str = "plain", group: int = -1) -> str:
        """The hosts of the ranks, in a format that launchers read.

        Parameters
        ----------
        format
            ``plain`` (machine file), ``horovod`` (``-H``), ``mpi`` (hostfile), ``rankfile``.
        group
            The index of a group; -1: all groups.
        """
        number = HostsFormat.number_of(format, "format")
        writer = Writer()
        with self.cluster._held() as cluster:
            result = lib.gang_alloc_write_hosts(cluster, self.id, group, number, WRITE, writer.user)
        writer.settle()
        check(result, what="allocation")
        return writer.value()

    def ranks(self, group: int = -1) -> List[Dict[str, int]]:
        """The rank of each task, as torchrun and MPI number processes, in the order of ranks.

        One dict for each task: ``task``, ``node`` (id), ``rank``, ``world_size``, ``local_rank``,
        ``local_size``, ``node_rank``, ``nodes``, ``group``, ``group_rank``, ``group_size``. A task
        that takes the number of a lost one takes its rank. Entry ``i`` is of the ``i``-th of
        :attr:`tasks`, if ``group`` is -1. O(tasks * log tasks).

        Parameters
        ----------
        group
            The index of a group, whose ranks count from 0; -1: all groups.
        """
        size, needed = ffi.sizeof("struct gang_rank"), ffi.new("size_t *")
        with self.cluster._held() as cluster:
            result = lib.gang_alloc_ranks(cluster, self.id, group, ffi.NULL, size, 0, needed)
            out = ffi.new("struct gang_rank[]", needed[0])
            if result == lib.GANG_ELIMIT:
                result = lib.gang_alloc_ranks(
                    cluster, self.id, group, out, size, needed[0], needed
                )
        check(result, what="allocation")
        names = [name for name, _ in ffi.typeof("struct gang_rank").fields]
        return [
            {name: int(getattr(rank, name)) for name in names if not name.startswith("reserved")}
            for rank in out
        ]

    def grow(self, tasks: int = 1, group: int = -1, whole: bool = False) -> int:
        """Add up to ``tasks`` tasks, one by one, until the group has its ``count``.

        Parameters
        ----------
        tasks
            How many, at most.
        group
            The index of a group; -1: any group, in order; with ``whole`` the first one.
        whole
            All of the tasks are added in one step, or none.

        Returns
        -------
        int
            The number of tasks added, at least 1.

        Raises
        ------
        DoesNotFit
            No task fits now; with ``whole`` not all of them do.
        OutOfRange
            The group has its ``count``; with ``whole`` it lacks fewer tasks.
        """
        granted, error = ffi.new("int64_t *", tasks), new_error()
        with self.cluster._working() as worker:
            if whole:
                result = lib.gang_alloc_grow_whole(worker, self.id, max(group, 0), tasks, error)
            else:
                result = lib.gang_alloc_grow(worker, self.id, group, tasks, granted, error)
            scorer = self.cluster._scorer_of(self.id)
            if scorer is not None:
                scorer.settle()
        check(result, error)
        return int(granted[0])

    def shrink(self, tasks: Iterable[int]) -> None:
        """Release some tasks (``task`` of :attr:`tasks`), all in one step.

        Raises
        ------
        DoesNotFit
            A group would fall below its minimum; release the allocation instead.
        NotFound
            There is no such task.
        """
        numbers, error = [int(task) for task in tasks], new_error()
        with self.cluster._working() as worker:
            result = lib.gang_alloc_shrink(
                worker, self.id, ffi.new("int64_t[]", numbers), len(numbers), error
            )
        check(result, error)

    def release(self) -> None:
        """Release all tasks in one step.

        This ends the allocation.

        Raises
        ------
        StaleHandle
            The allocation was released before.
        """
        with self.cluster._working() as worker:
            check(lib.gang_alloc_free(worker, self.id), what="allocation")
            self.cluster._forget(self.id)

    def explain(self, group: int = -1) -> List[str]:
        """Why it can grow or not: one English line for each group with fewer tasks than its
        ``count``.

        Raises
        ------
        OutOfRange
            All groups have their ``count``.
        """
        return self.cluster._explain_growth(self.id, group)
