# SPDX-License-Identifier: Apache-2.0
"""The tree of queues in ``capacity-scheduler.xml``: its keys, queues and labels."""
from __future__ import annotations

import re
from typing import List, Optional, Sequence, Set, Tuple

from ._base import MAX_QUEUE_DEPTH, ConvertError, Report, Source, name, quote
from ._capacity_rules import PREFIX
from ._xml import Configuration
from ._yarn import Tree, split_list

DEFAULT_PARTITION = "default"
MAX_QUEUES = 65536


class Queue(Tree["Queue"]):
    """A queue of the configuration."""


class QueueTree:
    """The queues of a configuration, and the keys of each."""

    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        self.report = report
        self.conf = Configuration(report)
        for source in sources:
            self.conf.read(source)
        if self.conf.get(PREFIX + "root.queues") is None:
            raise ConvertError(self.conf.place(PREFIX + "root.queues", sources[0].name),
                               "not set: there are no queues")
        self.root = self._tree()
        self.by_path = {queue.path: queue for queue in self.root}
        self.labels = self._labels()

    def key(self, queue: Queue, key: str) -> str:
        return "%s%s.%s" % (PREFIX, queue.path, key)

    def get(self, queue: Queue, key: str) -> Optional[str]:
        return self.conf.get(self.key(queue, key))

    def place(self, queue: Queue, key: str) -> str:
        return self.conf.place(self.key(queue, key))

    def inherited(self, queue: Queue, key: str) -> Tuple[Optional[str], str]:
        """The value of the nearest queue up the path that sets it, and its place."""
        for above in queue.up():
            text = self.get(above, key)
            if text is not None:
                return text, self.place(above, key)
        return None, ""

    def _tree(self) -> Queue:
        root = Queue("root", None)
        todo = [(root, 1)]
        count = 1
        while todo:
            queue, depth = todo.pop()
            place = self.place(queue, "queues")
            names = split_list(self.get(queue, "queues"))
            if names and depth >= MAX_QUEUE_DEPTH:
                raise ConvertError(place, "more than %d queues on a path" % MAX_QUEUE_DEPTH)
            count += len(names)
            if count > MAX_QUEUES:
                raise ConvertError(place, "more than %d queues" % MAX_QUEUES)
            seen: Set[str] = set()
            for word in names:
                if "." in word:
                    raise ConvertError(place, "a dot in the name of queue %s" % quote(word))
                child = Queue(name(place, "%s.%s" % (queue.path, word), "name of a queue"), queue)
                if word in seen:
                    raise ConvertError(place, "%s is there twice" % quote(word))
                seen.add(word)
                queue.children.append(child)
                todo.append((child, depth + 1))
        return root

    def _labels(self) -> List[str]:
        found = set()
        for key in list(self.conf.properties):
            match = re.fullmatch(
                re.escape(PREFIX) + r"(.+)\.accessible-node-labels\.([^.]+)\.(?:maximum-)?capacity",
                key,
            )
            if match and match.group(1) in self.by_path:
                found.add(name(self.conf.place(key), match.group(2), "label"))
        for label in sorted(found):
            if label == DEFAULT_PARTITION:
                raise ConvertError(self.conf.properties[next(iter(self.conf.properties))].file,
                                   "a label called %s" % quote(label))
        return sorted(found)

    def accessible(self, queue: Queue, label: str) -> bool:
        for above in queue.up():
            raw = self.conf.raw(self.key(above, "accessible-node-labels"))
            if raw is not None:
                return raw.strip() == "*" or label in split_list(raw)
        return True
