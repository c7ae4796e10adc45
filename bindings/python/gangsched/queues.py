# SPDX-License-Identifier: Apache-2.0
"""The tree of queues: how jobs share a cluster."""

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Union

from .case import Case, Source, load
from .errors import AlreadyExists, GangError, InvalidArgument, NotFound, placed

#: Resources of every cluster; all other resources are kinds of the site.
BUILT_IN = ("gpu", "cpu", "mem_mib", "mem_bytes")

_AMOUNTS = ("guaranteed", "limit", "lending_limit", "weight")


class Queues(Mapping[str, Dict[str, Any]]):
    """An immutable tree of queues, independent of any cluster.

    Any thread.

    The members of a queue are those of the JSON format::

        Queues({"research": {"weight": 2, "limit": {"gpu": 64}},
                "prod": {"guaranteed": {"gpu": 32},
                         "queues": {"web": {}, "batch": {"order": "shortest"}}}})
        Queues([{"name": "a", "guaranteed": {"gpu": 8}}, {"name": "b", "parent": "a"}])
        Queues("cluster.json")

    A queue with children that names nothing ``guaranteed`` has the sum of what its children name,
    at most its limit. Name 0 if it is to have nothing.

    Units: ``gpu`` devices, ``cpu`` cores, ``mem_mib`` MiB, other kinds in their own unit. Names
    that end in ``_s`` are seconds.

    Parameters
    ----------
    source
        Nested dicts, where ``queues`` has the children of a queue; a list, where each queue names
        its ``parent``; a case (a dict with a list ``queues``); its path or JSON text; or other
        Queues.
    default_queue
        The queue of jobs that name none and match no rule.
    rules
        ``[{"match", "pattern", "queue", "fallback"}]``: queues for jobs that name none.
    excluded_kinds
        Kinds that dominant shares ignore.
    half_life_s
        Seconds. Above 0, usage that decays with this half-life lowers weights.

    Raises
    ------
    GangError
        The path is the place in ``source``: ``prod.queues.web.limit.gpu``, ``queues[2].limit.gpu``.
    """

    def __init__(
        self,
        source: "Union[Source, Sequence[Mapping[str, Any]], Queues]" = (),
        *,
        default_queue: Optional[str] = None,
        rules: Sequence[Mapping[str, Any]] = (),
        excluded_kinds: Sequence[str] = (),
        half_life_s: float = 0,
    ) -> None:
        self._places: List[str] = []  # the place of each queue in nested dicts
        self._case: Dict[str, Any] = {}
        self._list = self._read(source)
        given = {
            "default_queue": default_queue,
            "rules": [dict(rule) for rule in rules],
            "excluded_kinds": list(excluded_kinds),
            "half_life_s": half_life_s,
        }
        self._case.update({key: value for key, value in given.items() if value})
        self._check()
        self._index = {str(queue["name"]): queue for queue in self._list}

    # ---- reading -------------------------------------------------------------------------

    def _read(self, source: Any) -> List[Dict[str, Any]]:
        if isinstance(source, Queues):
            self._case, self._places = dict(source._case), list(source._places)
            return [dict(queue) for queue in source._list]
        if isinstance(source, (str, os.PathLike)):
            return self._read_case(load(source))
        if isinstance(source, Mapping):
            if isinstance(source.get("queues"), (list, tuple)):
                return self._read_case(source)
            return list(self._nested(source, None, ""))
        try:
            return [dict(queue) for queue in source]
        except (TypeError, ValueError):
            raise InvalidArgument("queues are dicts, a list of dicts, or a case") from None

    def _read_case(self, case: Mapping[str, Any]) -> List[Dict[str, Any]]:
        known = ("default_queue", "rules", "excluded_kinds", "half_life_s")
        self._case = {key: case[key] for key in known if case.get(key)}
        return [dict(queue) for queue in case.get("queues") or ()]

    def _nested(
        self, level: Mapping[str, Any], parent: Optional[str], place: str
    ) -> Iterator[Dict[str, Any]]:
        for name, body in level.items():
            if body is not None and not isinstance(body, Mapping):
                raise InvalidArgument(
                    "%s%s: a queue is a dict" % (place, name), path="%s%s" % (place, name)
                )
            if place.count(".queues.") > 64:
                raise InvalidArgument("%s%s: too deep" % (place, name), path="%s%s" % (place, name))
            queue = dict(body or {})
            children = queue.pop("queues", None) or {}
            if not isinstance(children, Mapping):
                where = "%s%s.queues" % (place, name)
                raise InvalidArgument("%s: children are a dict, by name" % where, path=where)
            self._places.append("%s%s" % (place, name))
            yield {"name": name, "parent": parent, **queue}
            yield from self._nested(children, name, "%s%s.queues." % (place, name))

    def _check(self) -> None:
        """Check what can be checked without a cluster, as if all named levels and kinds existed."""
        levels: Set[str] = set()
        kinds: Set[str] = set()
        for queue in self._list:
            for cell in queue.get("cells") or ():
                if isinstance(cell, Mapping) and isinstance(cell.get("level"), str):
                    levels.add(cell["level"])
            for member in _AMOUNTS:
                amounts = queue.get(member)
                if isinstance(amounts, Mapping):
                    kinds.update(str(name).split("@")[0] for name in amounts)
        kinds.update(str(kind) for kind in self._case.get("excluded_kinds", ()))
        kinds -= {*BUILT_IN, "memory", "default"}
        frame = {
            "levels": sorted(levels - {"node"}),
            "kinds": [{"name": kind} for kind in sorted(kinds)],
        }
        self.case(frame)

    def case(self, frame: Mapping[str, Any]) -> Case:
        """The tree as the library reads it.

        Parameters
        ----------
        frame
            Levels and kinds of the cluster.

        Raises
        ------
        GangError
            The path is the place in ``source``.
        """
        try:
            return Case({**frame, **self._case, "queues": self._list})
        except GangError as error:
            raise self.placed(error) from None

    def placed(self, error: GangError) -> GangError:
        """An error of the library with the place in ``source`` as path."""
        found = re.match(r"queues\[(\d+)\]", error.path)
        if not found or int(found.group(1)) >= len(self._places):
            return error
        return placed(error, self._places[int(found.group(1))] + error.path[found.end() :])

    # ---- looking -------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Dict[str, Any]:
        """A copy of the members of a queue."""
        return dict(self._index[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Queues):
            return NotImplemented
        return self._list == other._list and self._case == other._case

    def __hash__(self) -> int:
        return hash(tuple(self._index))

    def __reduce__(self) -> Any:
        return Queues, (self.to_dict(),)

    @property
    def default_queue(self) -> Optional[str]:
        """The queue of jobs that name none and match no rule."""
        found = self._case.get("default_queue")
        return None if found is None else str(found)

    def children(self, name: Optional[str] = None) -> List[str]:
        """The names of the children of a queue; without a name, of the top queues."""
        return [str(queue["name"]) for queue in self._list if queue.get("parent") == name]

    @property
    def leaves(self) -> List[str]:
        """The names of the queues without children. Only these hold jobs."""
        inner = {queue.get("parent") for queue in self._list}
        return [name for name in self._index if name not in inner]

    def walk(self) -> Iterator[Any]:
        """``(depth, queue)`` of each queue, parents before children."""
        stack = [(0, name) for name in reversed(self.children())]
        while stack:
            depth, name = stack.pop()
            yield depth, self._index[name]
            stack += [(depth + 1, child) for child in reversed(self.children(name))]

    # ---- making others -------------------------------------------------------------------

    def changed(self, name: str, **fields: Any) -> "Queues":
        """The same tree with other members of one queue.

        None removes a member.

        Raises
        ------
        NotFound
            There is no such queue.
        GangError
            As for the constructor.
        """
        if name not in self._index:
            raise NotFound("no queue '%s'" % name)
        made = [dict(queue) for queue in self._list]
        for queue in made:
            if queue["name"] == name:
                queue.update(fields)
                for key in [
                    key for key, value in fields.items() if value is None and key != "parent"
                ]:
                    del queue[key]
        return Queues({**self._case, "queues": made})

    def added(self, name: str, parent: Optional[str] = None, **fields: Any) -> "Queues":
        """The same tree with one more queue."""
        if name in self._index:
            raise AlreadyExists("queue '%s' exists" % name)
        return Queues(
            {**self._case, "queues": [*self._list, {"name": name, "parent": parent, **fields}]}
        )

    def everywhere(self, **fields: Any) -> "Queues":
        """The tree with these members in every leaf: ``queues.everywhere(order="shortest")``."""
        leaves = set(self.leaves)
        made = [{**queue, **fields} if queue["name"] in leaves else queue for queue in self._list]
        return Queues({**self._case, "queues": made})

    def to_dict(self) -> Dict[str, Any]:
        """The tree as a case of the JSON format."""
        return {**self._case, "queues": [dict(queue) for queue in self._list]}

    def __repr__(self) -> str:
        return "<Queues: %s>" % ", ".join(self._index)

    def __str__(self) -> str:
        from .viz.show import queues_text

        return queues_text(self)

    def _repr_html_(self) -> str:
        from .viz.show import queues_html

        return queues_html(self)
