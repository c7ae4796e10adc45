# SPDX-License-Identifier: Apache-2.0
"""Tables whose columns can still be read by the names that they had before. Needs pandas."""

from typing import Any

import pandas

from ._lazy import deprecated
from .vocabulary import COLUMNS_BEFORE


class Table(pandas.DataFrame):  # type: ignore[misc]
    """A DataFrame in which ``limit_s`` is read as ``time_limit_s``, with a warning."""

    @property
    def _constructor(self) -> Any:
        return Table

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._now(key))

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(self._now(name))

    def _now(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in COLUMNS_BEFORE:
            return name
        columns, now = object.__getattribute__(self, "columns"), COLUMNS_BEFORE[name]
        if name in columns or now not in columns:
            return name
        deprecated("the column %s" % name, now)
        return now


__all__ = ["Table"]
