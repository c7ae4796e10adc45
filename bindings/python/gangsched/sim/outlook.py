# SPDX-License-Identifier: Apache-2.0
"""Plans and forecasts as rows that can be drawn."""

from typing import Any, Iterable, Optional, Sequence, Tuple, TypeVar

from ..rows import Rows

_Row = TypeVar("_Row", bound=Tuple[Any, ...])


class Outlook(Rows[_Row]):
    """Rows about the future, as seen at one instant. Plain data of any thread.

    Attributes
    ----------
    now_s : float
        The clock when the rows were made, seconds.
    nodes : tuple of str
        The names of all nodes.
    """

    def __init__(
        self, kind: Any, rows: Iterable[_Row], now_s: float, nodes: Sequence[str] = ()
    ) -> None:
        super().__init__(kind, rows)
        self.now_s, self.nodes = now_s, tuple(nodes)


class Plan(Outlook[_Row]):
    """Rows of :class:`PlanItem`."""

    def plot(self, axes: Any = None, title: Optional[str] = None) -> Any:
        """Draw which job or reservation has which nodes when, from now on: a line a node.

        Running jobs until their latest end, planned starts, and reservations (hatched). Jobs that
        share a node are below each other. Returns the matplotlib axes.

        Parameters
        ----------
        title : str, optional
            Above the picture; None: a description; "": none.
        """
        from ..viz.outlook import plot_plan

        return plot_plan(self, axes, title)


class Expectations(Outlook[_Row]):
    """Rows of :class:`Expected`."""

    def plot(self, axes: Any = None, title: Optional[str] = None) -> Any:
        """Draw when the waiting jobs are expected to start: a line a job, the first start on top.

        A mark is the median of the samples; a bar goes from ``low_s`` to ``high_s``, if there are
        several samples. Of more than 40 jobs these are the first. Returns the matplotlib axes.

        Parameters
        ----------
        title : str, optional
            Above the picture; None: a description; "": none.
        """
        from ..viz.outlook import plot_forecast

        return plot_forecast(self, axes, title)


__all__ = ["Expectations", "Outlook", "Plan"]
