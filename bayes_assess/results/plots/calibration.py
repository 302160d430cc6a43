"""Confidence against accuracy: reliability diagrams, and the calibration error of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import OutputError
from bayes_assess.results.plots._drawing import (
    BLACK,
    BLUE,
    GREY,
    HOLLOW,
    PALE,
    SKY,
    VERMILION,
    checked_numbers,
    finish,
    keep_fractions_in_view,
    legend,
    new_axes,
    short_names,
)
from bayes_assess.results.plots._names import write_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANEL, _GAP = 0.2, 0.03  # heights of the histogram and of the space below it, as parts of the whole


def reliability(
    score: ArrayLike,
    accuracy: ArrayLike,
    interval: ArrayLike,
    *,
    sizes: ArrayLike,
    labelled: ArrayLike | None = None,
    edges: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    xlabel: str = "confidence",
    ylabel: str = "accuracy",
    title: str | None = None,
    interval_label: str = "interval",
    ax: Axes | None = None,
) -> Axes:
    """Draw a reliability diagram: the accuracy of every bin at its mean confidence, below a histogram of the scores.

    Where the system is calibrated, dots lie on the dashed diagonal; the gap between them is drawn. Bins without items
    are left out.

    Parameters
    ----------
    score : array of shape (B,)
        Mean confidence of every bin.
    accuracy : array of shape (B,)
        Dots.
    interval : array of shape (B, 2)
        Lower and upper ends of the lines.
    sizes : array of shape (B,)
        Items of every bin: the histogram.
    labelled : array of shape (B,), optional
        Labelled items of every bin: the dark parts of the histogram's bars.
    edges : array of shape (B + 1,), optional
        Edges of the bins. With them, the histogram's bars are as wide as the bins.
    prior : array of shape (B,), optional
        Prior means, as small ticks.
    truth : array of shape (B,), optional
        True accuracies, as hollow diamonds.
    xlabel, ylabel, title, interval_label : str
        Words.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default. The histogram takes the upper part of its place.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the diagram; those of the histogram are their first child axes.

    Raises
    ------
    OutputError
        If shapes differ, edges fall, or no bin has items.

    Examples
    --------
    >>> ax = reliability([0.3, 0.8], [0.4, 0.6], [[0.2, 0.6], [0.5, 0.7]], sizes=[10, 90])
    >>> ax.get_ylim() == ax.get_xlim()
    True
    >>> [int(bar.get_height()) for bar in ax.child_axes[0].patches]
    [10, 90]
    """
    score = checked_numbers("score", score, (None,))
    shape = score.shape
    middle, items = checked_numbers("accuracy", accuracy, shape), checked_numbers("sizes", sizes, shape)
    ends = checked_numbers("interval", interval, (*shape, 2))
    known = None if labelled is None else checked_numbers("labelled", labelled, shape)
    full = items > 0
    if not full.any():
        raise OutputError("There is no bin with items to draw.")
    sides = _sides(score, full, edges)

    owner, ax = ax is None, new_axes(ax, 6.2)
    ax.axline((0, 0), slope=1, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label="calibrated", zorder=1.5)
    in_view = [score[full], ends[full].ravel(), middle[full], *([] if edges is None else [sides[full].ravel()])]
    ax.vlines(score[full], score[full], middle[full], colors=VERMILION, linewidth=5, alpha=0.4, label="gap", zorder=2)
    ax.plot(score[full], middle[full], "o", color=BLUE, markersize=5, label="estimate", zorder=4)
    ax.vlines(score[full], ends[full, 0], ends[full, 1], colors=BLUE, linewidth=1.5, label=interval_label, zorder=3)
    if prior is not None:
        before = checked_numbers("prior", prior, shape)[full]
        ax.plot(score[full], before, "_", color=GREY, markersize=10, markeredgewidth=1.5, label="prior", zorder=2.5)
    if truth is not None:
        exact = checked_numbers("truth", truth, shape)[full]
        ax.plot(score[full], exact, "D", label="truth", zorder=5, **HOLLOW)
        in_view.append(exact)

    limits = _limits(np.concatenate(in_view))
    ax.set(xlim=limits, ylim=limits)
    ax.grid(color=PALE, linewidth=0.6)
    finish(ax, xlabel, ylabel, title)
    _histogram(_panel_above(ax), sides[full], items[full], None if known is None else known[full])
    if owner:
        for colour, word in ((SKY, "items"), (BLUE, "labelled"))[: 1 if known is None else 2]:
            ax.scatter([], [], 60, color=colour, marker="s", linewidths=0, label=word)
    legend(ax, owner, "outside right upper", leave_out=() if owner else ("calibrated", "estimate", interval_label))
    return ax


def _sides(score: np.ndarray, full: np.ndarray, edges: ArrayLike | None) -> np.ndarray:
    """Left and right sides of the histogram's bars, (B, 2)."""
    if edges is not None:
        edges = checked_numbers("edges", edges, (len(score) + 1,))
        if not (np.diff(edges) >= 0).all():
            raise OutputError(f"The edges of bins must not fall; found {edges.tolist()}.")
        return np.stack([edges[:-1], edges[1:]], axis=1)
    low, high = _limits(score[full])
    apart = np.diff(np.unique(score[full]))
    width = np.clip(0.8 * apart.min(initial=1.0), 0.008 * (high - low), 0.06 * (high - low))
    return score[:, None] + np.array([-0.5, 0.5]) * width


def _limits(values: np.ndarray) -> tuple[float, float]:
    """All of [0, 1], unless the values keep to a small part of it."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=1.0)), float(finite.max(initial=0.0))
    if high - low > 0.5 or not finite.size:
        return min(low, 0.0) - 0.015, max(high, 1.0) + 0.015
    margin = 0.06 * max(high - low, 0.05)
    return low - margin, high + margin


class _LowerPart:
    """Where axes are, less the upper part; unlike a new position, layout engines and grids keep such a locator."""

    def __init__(self, ax: Axes):
        self._before = ax.get_axes_locator()
        self.get_subplotspec = ax.get_subplotspec  # tight_layout asks the locator

    def __call__(self, ax: Any, renderer: Any) -> Any:
        from matplotlib.transforms import Bbox

        box = ax.get_position(original=True) if self._before is None else self._before(ax, renderer)
        return Bbox.from_bounds(box.x0, box.y0, box.width, box.height * (1 - _PANEL - _GAP))


def _panel_above(ax: Axes) -> Axes:
    """Leave the lower part of its place to the axes, and make axes of the upper part."""
    ax.set_axes_locator(_LowerPart(ax))
    rest = 1 - _PANEL - _GAP
    panel = ax.inset_axes((0, 1 + _GAP / rest, 1, _PANEL / rest), sharex=ax)
    panel.tick_params(axis="x", labelbottom=False, length=0)
    return panel


def _histogram(panel: Axes, sides: np.ndarray, items: np.ndarray, labelled: np.ndarray | None) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    place = {"width": np.diff(sides)[:, 0], "align": "edge", "linewidth": 0}
    panel.bar(sides[:, 0], items, color=SKY, **place)
    words = f"{items.sum():,.0f} items"
    if labelled is not None:
        panel.bar(sides[:, 0], labelled, color=BLUE, **place)
        words += f", {labelled.sum():,.0f} labelled"
    panel.yaxis.set_major_locator(MaxNLocator(2, integer=True, prune="lower"))
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.set_ylim(0, 1.5 * items.max())  # room for the words
    panel.annotate(words, (0.01, 1), xycoords="axes fraction", va="top", fontsize=8.5, color=GREY)
    finish(panel, None, None, None)


def accuracy_against_error(
    names: Sequence[object],
    accuracy: ArrayLike,
    accuracy_interval: ArrayLike,
    error: ArrayLike,
    error_interval: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    highlight: ArrayLike | None = None,
    max_names: int = 12,
    xlabel: str = "accuracy",
    ylabel: str = "expected calibration error",
    title: str | None = None,
    highlight_label: str | None = None,
    interval_label: str = "interval",
    ax: Axes | None = None,
) -> Axes:
    """Draw how accurate every group is against how badly calibrated.

    Parameters
    ----------
    names : sequence of length G
        Names of the groups. Those of highlighted groups are written first, then those of the worst calibrated,
        each where it covers no other; a name that finds no room is left out, unless its group is highlighted.
    accuracy, error : arrays of shape (G,)
        Dots, across and up.
    accuracy_interval, error_interval : arrays of shape (G, 2)
        Lower and upper ends of the lines.
    sizes : array of shape (G,), optional
        Items of every group, as the areas of the dots.
    truth : array of shape (G, 2), optional
        True accuracies and calibration errors, as hollow diamonds.
    highlight : bool array of shape (G,), optional
        Groups in the accent colour; named in the legend if `highlight_label` is given.
    max_names : int
        No more names than this are written.
    xlabel, ylabel, title, highlight_label, interval_label : str
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
    >>> ends = [[[0.8, 0.95], [0.5, 0.85]], [[0.01, 0.05], [0.1, 0.3]]]
    >>> ax = accuracy_against_error(["cat", "dog"], [0.9, 0.7], ends[0], [0.02, 0.2], ends[1], max_names=1)
    >>> [text.get_text() for text in ax.texts]
    ['dog']
    """
    names = short_names(names, 24)
    count = len(names)
    if count == 0:
        raise OutputError("There is no group to draw.")
    x, y = checked_numbers("accuracy", accuracy, (count,)), checked_numbers("error", error, (count,))
    across = checked_numbers("accuracy_interval", accuracy_interval, (count, 2))
    up = checked_numbers("error_interval", error_interval, (count, 2))
    marked = (
        np.zeros(count, bool) if highlight is None else checked_numbers("highlight", highlight, (count,)).astype(bool)
    )
    area = _areas(None if sizes is None else checked_numbers("sizes", sizes, (count,)), count)

    owner, ax = ax is None, new_axes(ax, 5.0)
    faint = 0.5 if count <= 30 else 0.25
    for flag, colour, marker, label in ((False, BLUE, "o", None), (True, VERMILION, "s", highlight_label)):
        groups = np.flatnonzero(marked == flag)
        line: dict[str, Any] = {"colors": colour, "linewidth": 1.0, "alpha": 0.9 if flag else faint, "zorder": 2 + flag}
        named: dict[str, Any] = {"label": interval_label} if flag == marked.all() else {}  # once
        ax.hlines(y[groups], across[groups, 0], across[groups, 1], **line, **named)
        ax.vlines(x[groups], up[groups, 0], up[groups, 1], **line)
        style: dict[str, Any] = {"color": colour, "edgecolors": "white", "linewidths": 0.5, "zorder": 4 + flag}
        ax.scatter(x[groups], y[groups], area[groups], marker=marker, label=label if len(groups) else None, **style)
    exact = np.empty((0, 2))
    if truth is not None:
        exact = checked_numbers("truth", truth, (count, 2))
        ax.plot(exact[:, 0], exact[:, 1], "D", label="truth", zorder=6, **{**HOLLOW, "markersize": 4.5})
        ax.plot([x, exact[:, 0]], [y, exact[:, 1]], color=BLACK, linewidth=0.5, linestyle=(0, (1, 2)), zorder=3.5)
    if sizes is not None:
        ax.scatter([], [], area.max(), color=GREY, label=f"{np.asarray(sizes).max():,.0f} items")
    ax.grid(color=PALE, linewidth=0.6)
    finish(ax, xlabel, ylabel, title)
    keep_fractions_in_view(ax, np.concatenate([across.ravel(), x]))
    ax.set_ylim(bottom=max(ax.get_ylim()[0], -0.015 * float(np.nanmax(up, initial=0.05))))
    legend(ax, owner, "outside lower center", ncols=4)

    worst = np.lexsort((-y, ~marked))
    points = np.stack([x, y], axis=1)
    write_names(ax, names, points, area, worst[:max_names], always=marked, others=exact, owner=owner)
    return ax


def _areas(sizes: np.ndarray | None, count: int) -> np.ndarray:
    """Areas of dots in square points: proportional to the sizes, the smallest still to be seen."""
    if sizes is None:
        return np.full(count, 30.0)
    return np.maximum(110.0 * sizes / max(float(sizes.max()), 1.0), 8.0)
