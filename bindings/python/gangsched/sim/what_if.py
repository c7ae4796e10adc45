# SPDX-License-Identifier: Apache-2.0
"""The table of a what-if, which draws itself. Needs pandas."""

from typing import Any, Optional

import pandas
from pandas.plotting import PlotAccessor


class _Plot(PlotAccessor):  # type: ignore[misc]
    """``table.plot()`` compares the cases; ``table.plot.bar()`` and others are those of pandas."""

    def __call__(
        self, axes: Any = None, title: Optional[str] = None, **options: Any
    ) -> Any:
        if options:
            return super().__call__(title=title, **options)
        from ..viz.outlook import plot_what_if

        return plot_what_if(self._parent, axes, title)


class WhatIf(pandas.DataFrame):  # type: ignore[misc]
    """A row a waiting job: its ``name``, and its expected start (seconds) in each case."""

    plot = pandas.core.accessor.CachedAccessor("plot", _Plot)

    @property
    def _constructor(self) -> Any:
        return WhatIf


__all__ = ["WhatIf"]
