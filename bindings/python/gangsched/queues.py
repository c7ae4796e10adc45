# SPDX-License-Identifier: Apache-2.0
"""The tree of queues: who shares what."""

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Union

from .case import Case, Source, load
from .errors import AlreadyExists, GangError, InvalidArgument, NotFound, placed

#: Resources that every cluster has; others are kinds of the site.
BUILT_IN = ("gpu", "cpu", "mem_mib", "mem_bytes")

_AMOUNTS = ("guaranteed", "limit", "lending_limit", "weight")


class Queues(Mapping[str, Dict[str, Any]]):
    """A tree of queues, by value: the same for any cluster, of any thread, never changed.

    Members of a queue are those of the JSON format (ARCHITECTURE.md, "Formats")::

        Queues({"research": {"weight": 2, "limit": {"gpu": 64}},
                "prod": {"guaranteed": {"gpu": 32}, "queues": {"web": {}, "batch": {"order": "shortest"}}}})
        Queues([{"name": "a", "guaranteed": {"gpu": 8}}, {"name": "b", "parent": "a"}])
        Queues("cluster.json")

    Units: ``gpu`` devices, ``cpu`` cores, ``mem_mib`` MiB, other kinds as they are counted; times end in
        ``_s``, seconds.

    Args:
        source: nested dicts, where the children of a queue are its ``queues``; a list, where each names its
            ``parent``; a case (dict with a list ``queues``); its path or JSON text; or other Queues.
        default_queue: of jobs that name none, and for which no rule does.
        rules: ``[{"match", "pattern", "queue", "fallback"}]``: where jobs go that name no queue.
        excluded_kinds: kinds that do not count in dominant shares.
        half_life_s: > 0: usage that decays with this half-life lowers weights.

    Raises:
        GangError: with the place in what was given: ``prod.queues.web.limit.gpu``, ``queues[2].limit.gpu``.
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
        self._places: List[str] = []  # where each queue is in nested dicts
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

    def _nested(self, level: Mapping[str, Any], parent: Optional[str], place: str) -> Iterator[Dict[str, Any]]:
        for name, body in level.items():
            if body is not None and not isinstance(body, Mapping):
                raise InvalidArgument("%s%s: a queue is a dict" % (place, name), path="%s%s" % (place, name))
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
        """As far as that goes without a cluster: levels and kinds that are named are taken to be there."""
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
        frame = {"levels": sorted(levels - {"node"}), "kinds": [{"name": kind} for kind in sorted(kinds)]}
        self.case(frame)

    def case(self, frame: Mapping[str, Any]) -> Case:
        """The tree as the library reads it.

        Args:
            frame: levels and kinds of the cluster it is for.

        Raises:
            GangError: with the place in what was given.
        """
        try:
            return Case({**frame, **self._case, "queues": self._list})
        except GangError as error:
            raise self.placed(error) from None

    def placed(self, error: GangError) -> GangError:
        """An error of the library with the place in what was given."""
        found = re.match(r"queues\[(\d+)\]", error.path)
        if not found or int(found.group(1)) >= len(self._places):
            return error
        return placed(error, self._places[int(found.group(1))] + error.path[found.end() :])

    # ---- looking -------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Dict[str, Any]:
        """A copy of what was said of a queue."""
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
        """Of jobs that name none, and for which no rule does."""
        found = self._case.get("default_queue")
        return None if found is None else str(found)

    def children(self, name: Optional[str] = None) -> List[str]:
        """Names of the queues below one; without a name, at the top."""
        return [str(queue["name"]) for queue in self._list if queue.get("parent") == name]

    @property
    def leaves(self) -> List[str]:
        """Those without children, where jobs lie."""
        inner = {queue.get("parent") for queue in self._list}
        return [name for name in self._index if name not in inner]

    def walk(self) -> Iterator[Any]:
        """``(depth, queue)`` of each, parents before children."""
        stack = [(0, name) for name in reversed(self.children())]
        while stack:
            depth, name = stack.pop()
            yield depth, self._index[name]
            stack += [(depth + 1, child) for child in reversed(self.children(name))]

    # ---- making others -------------------------------------------------------------------

    def changed(self, name: str, **fields: Any) -> "Queues":
        """The same tree with other members of one queue; a member that is None is left out.

        Raises:
            NotFound: no such queue; others as the constructor.
        """
        if name not in self._index:
            raise NotFound("no queue '%s'" % name)
        made = [dict(queue) for queue in self._list]
        for queue in made:
            if queue["name"] == name:
                queue.update(fields)
                for key in [key for key, value in fields.items() if value is None and key != "parent"]:
                    del queue[key]
        return Queues({**self._case, "queues": made})

    def added(self, name: str, parent: Optional[str] = None, **fields: Any) -> "Queues":
        """The same tree with one queue more."""
        if name in self._index:
            raise AlreadyExists("there is a queue '%s' already" % name)
        return Queues({**self._case, "queues": [*self._list, {"name": name, "parent": parent, **fields}]})

    def everywhere(self, **fields: Any) -> "Queues":
        """The same tree with these members in each leaf: ``queues.everywhere(order="shortest")``."""
        leaves = set(self.leaves)
        made = [{**queue, **fields} if queue["name"] in leaves else queue for queue in self._list]
        return Queues({**self._case, "queues": made})

    def to_dict(self) -> Dict[str, Any]:
        """As a case of the JSON format."""
        return {**self._case, "queues": [dict(queue) for queue in self._list]}

    def __repr__(self) -> str:
        return "<Queues: %s>" % ", ".join(self._index)

    def __str__(self) -> str:
        from .viz.show import queues_text

        return queues_text(self)

    def _repr_html_(self) -> str:
        from .viz.show import queues_html

        return queues_html(self)
