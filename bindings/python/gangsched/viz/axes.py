# SPDX-License-Identifier: Apache-2.0
"""What all pictures by matplotlib share: axes, titles, units of time, logarithmic time axes."""

from typing import Any, Optional, Sequence, Tuple

UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))

#: Marks of a logarithmic axis of times.
MARKS = (
    (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"),
    (6 * 3600.0, "6 h"), (86400.0, "1 d"), (7 * 86400.0, "1 week"), (30 * 86400.0, "30 d"),
    (365 * 86400.0, "1 year"),
)


def unit_of(span_s: float) -> Tuple[float, str]:
    """A unit of time that suits a span: its seconds, and its name."""
    return next((unit for unit in UNITS if span_s >= 3 * unit[0]), UNITS[-1])


#: Width of a picture, inches, unless ``figure.figsize`` is set.
WIDTH = 9.0


def width_of_pictures() -> float:
    """Inches: what ``figure.figsize`` of matplotlib is set to."""
    from matplotlib import rcParams, rcParamsDefault

    chosen = float(rcParams["figure.figsize"][0])
    return WIDTH if chosen == float(rcParamsDefault["figure.figsize"][0]) else chosen


def made_axes(axes: Any, count: int = 1, height: float = 3.5) -> Any:
    """The given axes, or new ones below each other."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    size = (width_of_pictures(), height * count)
    _, made = pyplot.subplots(count, 1, sharex=True, figsize=size, constrained_layout=True)
    return made


def below(ax: Any, handles: Sequence[Any]) -> None:
    """A legend below the axes and the name of the time: it covers nothing."""
    if not handles:
        return
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure()
    wide = figure.get_size_inches()[0] * ax.get_position().width
    space = 0.46 if ax.get_xlabel() else 0.08  # inches: marks of the axis, and its name
    shift = ScaledTranslation(0, -space, figure.dpi_scale_trans)
    longest = max(len(str(handle.get_label())) for handle in handles)
    across = max(1, min(8, int(wide / (0.5 + 0.065 * longest))))
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.0), frameon=False, fontsize=8,
        bbox_transform=ax.transAxes + shift, ncols=across, borderaxespad=0,
    )


def beside(ax: Any, size: float = 8) -> None:
    """A legend right of the axes, where it covers no curve; of narrow axes below them."""
    handles, _ = ax.get_legend_handles_labels()
    if ax.get_figure().get_size_inches()[0] < 6:
        below(ax, handles)
    elif handles:
        ax.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=size,
            borderaxespad=0.2,
        )


def set_title(axes: Any, said: Optional[str], default: str) -> None:
    """Set a title. None: the default; "": none."""
    if said != "":
        axes.set_title(default if said is None else said)


def bare(*axes: Any) -> None:
    """Remove the upper and the right line of axes."""
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)


def logarithmic_times(ax: Any, largest_s: float) -> None:
    """Make the horizontal axis one of times from one second on."""
    right = next((at for at, _ in MARKS[1:] if at >= largest_s), largest_s)
    ax.set_xscale("log")
    shown = [(at, said) for at, said in MARKS if at <= right]
    ax.set_xticks([at for at, _ in shown], ["≤ 1 s", *(said for _, said in shown[1:])])
    ax.minorticks_off()
    ax.set_xlim(1.0, right)


__all__ = [
    "MARKS", "bare", "below", "beside", "logarithmic_times", "made_axes", "set_title", "unit_of",
    "width_of_pictures",
]
