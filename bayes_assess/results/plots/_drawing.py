"""The strokes that figures share: palette, rows of groups, axes, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.text import shortened
from bayes_assess.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
)
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY, PALE = "#6E6E6E", "#D9D9D9"
WIDTH = 7.0  # inches
LONGEST_NAME = 32  # characters of a group's name before it is cut


HOLLOW: dict[str, Any] = {
    "markersize": 6,
    "markerfacecolor": "none",
    "markeredgecolor": BLACK,
    "markeredgewidth": 1.1,
}


def new_axes(ax: Axes | None, height: float, width: float = WIDTH) -> Axes:
    if ax is not None:
        return checked_axes(ax)
    # A figure of pyplot's, so that notebooks show it and scripts can call plt.show().
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    return plt.figure(figsize=(width, min(height, 30.0)), layout=layout).add_subplot()


def checked_axes(ax: object) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise OutputError(
            "A figure is drawn on the axes of Matplotlib that are passed as ax=, such as those of plt.subplots()[1]; "
            f"found {show(ax)}."
        )
    return ax


def checked_numbers(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise OutputError(f"The figure needs numbers for {name}; found {show(values)}.") from None
    fits = array.ndim == len(shape) and all(want in (None, have) for have, want in zip(array.shape, shape, strict=True))
    if not fits:
        expected = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
        raise OutputError(f"The figure needs {name} of shape {expected}; found {array.shape}.")
    return array


def shown_rows(ranked: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Which groups to show, in which rows, and which row is the gap."""
    if len(ranked) <= most:
        return ranked, np.arange(len(ranked)), None
    head = most - most // 2
    shown = np.concatenate([ranked[:head], ranked[len(ranked) - most // 2 :]])
    rows = np.arange(most)
    rows[head:] += 1
    return shown, rows, head


def draw_prior(ax: Axes, prior: np.ndarray, shown: np.ndarray, rows: np.ndarray, count: int, label: str) -> None:
    if prior.ndim == 2:
        prior = checked_numbers("prior", prior, (count, 2))
        ax.hlines(rows, prior[shown, 0], prior[shown, 1], colors=PALE, linewidth=7, label=label, zorder=1)
    else:
        prior = checked_numbers("prior", prior, (count,))
        ax.plot(prior[shown], rows, "|", color=GREY, markersize=10, markeredgewidth=1.5, label=label, zorder=1)


def name_rows(ax: Axes, names: list[str], shown: np.ndarray, rows: np.ndarray, gap: int | None, hidden: int) -> None:
    words = short_names([names[group] for group in shown])
    places = list(rows)
    if gap is not None:
        words.insert(gap, f"… {hidden:,} more")
        places.insert(gap, gap)
    # `parse_math=False`: a name with dollar signs is a name.
    ax.set_yticks(places, labels=words, fontsize=9, parse_math=False)
    ax.tick_params(axis="y", length=0)
    if gap is not None:
        ax.get_yticklabels()[gap].set(color=GREY, style="italic")


def short_name(name: object, longest: int = LONGEST_NAME) -> str:
    name = " ".join(str(name).split())
    return name if len(name) <= longest else name[: longest - 1] + "…"


def short_names(names: Sequence[object], longest: int = LONGEST_NAME) -> list[str]:
    """Return names as `short_name` does, those that would look alike then cut where they do not.

    Examples
    --------
    >>> short_names(["north/ward-1", "north/ward-2"], 9), short_names(["north/ward-1", "south"], 9)
    (['nor...d-1', 'nor...d-2'], ['north/wa…', 'south'])
    """
    whole = [" ".join(str(name).split()) for name in names]
    short = [short_name(name, longest) for name in whole]
    return short if len(set(short)) == len(set(whole)) else shortened(whole, longest)


def write_sizes(ax: Axes, sizes: np.ndarray, shown: np.ndarray, rows: np.ndarray, label: str) -> None:
    place = {
        "xycoords": ax.get_yaxis_transform(),
        "textcoords": "offset points",
        "color": GREY,
        "fontsize": 8.5,
        "ha": "right",
    }
    widest = max([len(label), *(len(f"{sizes[group]:,.0f}") for group in shown)])
    offset = 8 + 5.2 * widest
    for group, row in zip(shown, rows, strict=True):
        ax.annotate(f"{sizes[group]:,.0f}", (1, row), (offset, 0), va="center", **place)
    ax.annotate(label, (1, -0.6), (offset, 3), va="bottom", **place)


def keep_fractions_in_view(ax: Axes, values: np.ndarray) -> None:
    """Let an axis of accuracies end at 0 and 1 rather than at margins beyond them."""
    finite = values[np.isfinite(values)]
    low, high = ax.get_xlim()
    if finite.size and finite.min() >= 0 and finite.max() <= 1:
        ax.set_xlim(max(low, -0.015), min(high, 1.015))


def line_style(index: int, points: int) -> dict[str, Any]:
    return {
        "color": PALETTE[index % len(PALETTE)],
        "linestyle": DASHES[index % len(DASHES)],
        "linewidth": 1.8,
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 4.5,
        "markevery": max(1, points // 10),
    }


def plain_log(ax: Axes, budgets: np.ndarray) -> None:
    """Make a logarithmic axis that reads 100, 200, 500 rather than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    if not (budgets > 0).all():
        raise OutputError("A logarithmic axis needs budgets above 0; leave logx out, or the budget 0.")
    ax.set_xscale("log")
    wide = budgets.max() / budgets.min() > 1000
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def finish(ax: Axes, xlabel: str | None, ylabel: str | None, title: str | None) -> None:
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if xlabel:
        ax.set_xlabel(xlabel)
    if ylabel:
        ax.set_ylabel(ylabel)
    if title:
        # Lines are wrapped by the width of formulas, whatever `parse_math` says: a name with dollar signs is a name.
        ax.set_title(title.replace("$", r"\$"), loc="left", fontsize=11, wrap=True)


def legend(
    ax: Axes, owner: bool, place: Any, *, order: Any = None, ncols: int = 1, leave_out: tuple[str, ...] = ()
) -> None:
    """Beside the axes in a figure of our own; wherever there is room inside axes that are not."""
    entries = zip(*ax.get_legend_handles_labels(), strict=True)
    handles, labels = [], []
    for handle, label in entries:
        if label not in leave_out:
            handles.append(handle)
            labels.append(label)
    if not handles or (len(handles) == 1 and order is not None):
        return
    if order is not None:
        handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    if owner:
        ax.figure.legend(handles, labels, loc=place, ncols=ncols, frameon=False)
    else:
        ax.legend(handles, labels, loc="best", frameon=False)
