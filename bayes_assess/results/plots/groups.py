"""One row per group: accuracies and ranks with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.text import figures
from bayes_assess.errors import OutputError
from bayes_assess.results.plots._drawing import (
    BLUE,
    GREY,
    HOLLOW,
    PALE,
    VERMILION,
    checked_numbers,
    draw_prior,
    finish,
    keep_fractions_in_view,
    legend,
    name_rows,
    new_axes,
    shown_rows,
    write_sizes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forest(
    names: Sequence[object],
    estimate: ArrayLike,
    interval: ArrayLike,
    *,
    prior: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    highlight: ArrayLike | None = None,
    order: str = "estimate",
    max_groups: int = 40,
    xlabel: str = "accuracy",
    title: str | None = None,
    sizes_label: str = "labels",
    highlight_label: str | None = None,
    prior_label: str = "prior",
    ax: Axes | None = None,
) -> Axes:
    """Draw one estimate and interval per group, the lowest at the top; the numbers, too, where there is one group.

    Parameters
    ----------
    names : sequence of length G
        Names of the groups.
    estimate : array of shape (G,)
        Dots.
    interval : array of shape (G, 2)
        Lower and upper ends of the lines.
    prior : array of shape (G,) or (G, 2), optional
        Prior means (small ticks) or prior intervals (pale bars).
    truth : array of shape (G,), optional
        True values, as hollow diamonds.
    sizes : array of shape (G,), optional
        Numbers written at the right margin under `sizes_label`.
    highlight : bool array of shape (G,), optional
        Groups in the accent colour; named in the legend if `highlight_label` is given.
    order : {"estimate", "given"}
        Sort by estimate, or keep the order of `names`.
    max_groups : int
        With more groups, only the first and the last halves of this number are shown, with a gap between them.
    xlabel, title, sizes_label, highlight_label, prior_label : str
        Words.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    OutputError
        If shapes differ or the order is unknown.

    Examples
    --------
    >>> ax = forest(["cat", "dog"], [0.9, 0.7], [[0.8, 0.95], [0.5, 0.85]], truth=[0.88, 0.6])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['dog', 'cat']
    """
    names = [str(name) for name in names]
    count = len(names)
    if count == 0:
        raise OutputError("There is no group to draw.")
    if max_groups < 2:
        raise OutputError(f"max_groups must be at least 2; found {max_groups}.")
    if order not in ("estimate", "given"):
        raise OutputError(f"order is 'estimate' or 'given'; found {order!r}.")
    middle = checked_numbers("estimate", estimate, (count,))
    ends = checked_numbers("interval", interval, (count, 2))
    marked = (
        np.zeros(count, bool) if highlight is None else checked_numbers("highlight", highlight, (count,)).astype(bool)
    )

    ranked = np.argsort(middle, kind="stable") if order == "estimate" else np.arange(count)
    shown, rows, gap = shown_rows(ranked, max_groups)
    height = len(shown) + (gap is not None)
    owner, ax = ax is None, new_axes(ax, 1.3 + 0.25 * max(height, 3))

    if prior is not None:
        draw_prior(ax, np.asarray(prior, dtype=float), shown, rows, count, prior_label)
    for flag, colour, label in ((False, BLUE, None), (True, VERMILION, highlight_label)):
        chosen = marked[shown] == flag
        groups, at = shown[chosen], rows[chosen]
        ax.hlines(at, ends[groups, 0], ends[groups, 1], colors=colour, linewidth=2.0 if flag else 1.5, zorder=2)
        marker = "s" if flag else "o"  # a shape as well as a colour
        ax.plot(middle[groups], at, marker, color=colour, markersize=5, label=label if len(groups) else None, zorder=3)
    if truth is not None:
        exact = checked_numbers("truth", truth, (count,))
        ax.plot(exact[shown], rows, "D", label="truth", zorder=4, **HOLLOW)

    if count == 1 and np.isfinite([*middle, *ends[0]]).all():
        value, low, high = figures(middle[0], *ends[0])
        words = f"{value} [{low}, {high}]"
        ax.annotate(words, (middle[0], 0), (0, 9), textcoords="offset points", ha="center", fontsize=9)
    if gap is not None:
        ax.axhline(gap, color=GREY, linewidth=0.8, linestyle=(0, (1, 3)))
    name_rows(ax, names, shown, rows, gap, count - len(shown))
    if sizes is not None:
        write_sizes(ax, checked_numbers("sizes", sizes, (count,)), shown, rows, sizes_label)
    ax.set_ylim(height - 0.4, -0.6)
    keep_fractions_in_view(ax, np.concatenate([ends.ravel(), middle]))
    ax.grid(axis="x", color=PALE, linewidth=0.6)
    finish(ax, xlabel, None, title)
    legend(ax, owner, "outside lower center", ncols=4)
    return ax


def rank_plot(
    names: Sequence[object],
    rank: ArrayLike,
    interval: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    highlight: ArrayLike | None = None,
    max_groups: int = 40,
    xlabel: str = "rank",
    title: str | None = None,
    highlight_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rank of every group with its interval, rank 1 at the top.

    Parameters
    ----------
    names : sequence of length G
        Names of the groups.
    rank : array of shape (G,)
        Ranks from 1, means or medians.
    interval : array of shape (G, 2)
        Lower and upper ends.
    truth : array of shape (G,), optional
        True ranks, as hollow diamonds.
    highlight : bool array of shape (G,), optional
        Groups in the accent colour; named in the legend if `highlight_label` is given.
    max_groups : int
        With more groups, only the first and the last halves of this number are shown.
    xlabel, title, highlight_label : str
        Words.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    OutputError
        If shapes differ.

    Examples
    --------
    >>> ax = rank_plot(["cat", "dog"], [1.8, 1.2], [[1, 2], [1, 2]])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['dog', 'cat']
    """
    ax = forest(
        names,
        rank,
        interval,
        truth=truth,
        highlight=highlight,
        max_groups=max_groups,
        xlabel=xlabel,
        title=title,
        highlight_label=highlight_label,
        ax=ax,
    )
    count = len(names)
    margin = 0.03 * count + 0.2
    ax.set_xlim(1 - margin, count + margin)
    ax.set_xticks(np.arange(1, count + 1, 1 if count <= 12 else -(-count // 8)))
    return ax
