# SPDX-License-Identifier: Apache-2.0
"""Queues at run time: used and guaranteed amounts, limits, shares, demand."""

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from ..cluster import nodes as _nodes
from .._native import lib, new, text
from ..errors import check
from ..queues import Queues

if TYPE_CHECKING:
    import pandas

_AMOUNTS = ("used", "guarantee", "limit", "share", "demand")


class QueueUse(Mapping[str, Dict[str, Any]]):
    """The state of all queues at one instant, by name.

    Plain data.

    Each value is a dict of ``running``, ``pending`` (jobs), ``tasks``, and ``kinds``: for each kind
    ``used``, ``guarantee``, ``limit``, ``share``, ``demand`` (cores, MiB, devices; None: none).
    """

    def __init__(self, tree: Queues, rows: Mapping[str, Dict[str, Any]]) -> None:
        self.tree = tree
        self._rows = dict(rows)

    @classmethod
    def of(cls, sched: Any, tree: Optional[Queues]) -> "QueueUse":
        """Read the queues of a scheduler. The caller holds the lock."""
        names = {0: ("cpu", 1e3), 1: ("mem_mib", 2.0**20), 2: ("gpu", 1e3)}
        for i, kind in enumerate(_nodes.kinds(lib.gang_sched_cluster(sched))):
            names[lib.GANG_KIND_SITE + i] = (kind["name"], 1)
        rows, parents = {}, {}
        info = new("gang_queue_info")
        number = lib.gang_queue_next(sched, lib.GANG_ID_NONE)
        called = {}
        while number != lib.GANG_ID_NONE:
            check(lib.gang_queue_get(sched, number, info))
            name = called[int(number)] = text(info.name)
            rows[name] = _row(info, names)
            parents[name] = called.get(int(info.parent))
            number = lib.gang_queue_next(sched, number)
        said: Dict[str, Dict[str, Any]] = dict(tree) if tree is not None else {}
        nothing: Dict[str, Any] = {}
        listed = [
            {"parent": parents[name], **said.get(name, nothing), "name": name} for name in rows
        ]
        return cls(Queues(listed), rows)

    def __getitem__(self, name: str) -> Dict[str, Any]:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def table(self) -> "pandas.DataFrame":
        """One row a queue, with columns ``gpu_used``, ``gpu_limit``..."""
        import pandas

        flat = {}
        for name, row in self._rows.items():
            made = {key: row[key] for key in ("running", "pending", "tasks")}
            for kind, amounts in row["kinds"].items():
                made.update({"%s_%s" % (kind, what): amounts[what] for what in _AMOUNTS})
            flat[name] = made
        return pandas.DataFrame.from_dict(flat, orient="index")

    def _shown(self) -> Dict[str, Any]:
        used: List[str] = []
        for row in self._rows.values():
            for kind, amounts in row["kinds"].items():
                if kind not in used and any(
                    amounts[what] for what in ("used", "guarantee", "limit", "demand")
                ):
                    used.append(kind)
        return {
            name: {kind: row["kinds"][kind] for kind in used} for name, row in self._rows.items()
        }

    def __repr__(self) -> str:
        return "<QueueUse: %s>" % ", ".join(self._rows)

    def __str__(self) -> str:
        from ..viz.show import queues_text

        return queues_text(self.tree, self._shown())

    def _repr_html_(self) -> str:
        from ..viz.show import queues_html

        return queues_html(self.tree, self._shown())


def _row(info: Any, names: Mapping[int, Any]) -> Dict[str, Any]:
    kinds = {}
    for number, (name, scale) in names.items():
        amounts = {what: getattr(info, what)[number] for what in _AMOUNTS}
        kinds[name] = {
            what: None if value == lib.GANG_UNLIMITED else value / scale
            for what, value in amounts.items()
        }
    return {"running": info.running, "pending": info.pending, "tasks": info.tasks, "kinds": kinds}
