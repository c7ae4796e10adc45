# SPDX-License-Identifier: Apache-2.0
"""Named tuples of one type that are also a table."""

import math
from typing import (
    TYPE_CHECKING, Any, Iterable, Iterator, Sequence, Tuple, Type, TypeVar, Union, overload,
)

if TYPE_CHECKING:
    import pandas

_Row = TypeVar("_Row", bound=Tuple[Any, ...])


class Rows(Sequence[_Row]):
    """An immutable list of named tuples with a table. Plain data of any thread."""

    def __init__(self, kind: Type[_Row], rows: Iterable[_Row]) -> None:
        self.kind = kind
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, at: int) -> _Row: ...

    @overload
    def __getitem__(self, at: slice) -> "Rows[_Row]": ...

    def __getitem__(self, at: Union[int, slice]) -> Any:
        return Rows(self.kind, self._rows[at]) if isinstance(at, slice) else self._rows[at]

    def __iter__(self) -> Iterator[_Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        return self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    @property
    def table(self) -> "pandas.DataFrame":
        """A DataFrame with one column for each member. A time that is None becomes not-a-number."""
        import pandas

        names: Tuple[str, ...] = getattr(self.kind, "_fields", ())
        made = {name: [row[i] for row in self._rows] for i, name in enumerate(names)}
        for name in names:
            if name.endswith("_s"):
                made[name] = [math.nan if value is None else float(value) for value in made[name]]
        return pandas.DataFrame(made, columns=list(names))

    def __repr__(self) -> str:
        return "[%s]" % ",\n ".join(repr(row) for row in self._rows)

    def _repr_html_(self) -> str:
        found: str = self.table._repr_html_()
        return found


__all__ = ["Rows"]
