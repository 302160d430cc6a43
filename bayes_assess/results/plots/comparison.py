"""Is one better than another, or are they as good as equal? Differences, and all pairs of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.text import figures
from bayes_assess.errors import OutputError
from bayes_assess.results.plots._density import density, is_discrete
from bayes_assess.results.plots._drawing import (
    BLACK,
    BLUE,
    GREY,
    HOLLOW,
    PALE,
    VERMILION,
    checked_numbers,
    finish,
    legend,
    new_axes,
    short_names,
)
from bayes_assess.results.plots._heatmap import cell_points, colour_bar, matrix_axes, name_sides, squares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE = 0.95  # the probability at which a pair counts as decided
_SMALL = 0.45  # side of the square of an undecided pair
_COLOURS = (VERMILION, GREY, BLUE)  # the second is better, equivalent, the first is better
_INK = (VERMILION, "#404040", BLUE)


def rope_density(
    draws: ArrayLike,
    rope: float,
    masses: ArrayLike,
    *,
    first: str = "first",
    second: str = "second",
    estimate: float | None = None,
    interval: ArrayLike | None = None,
    truth: float | None = None,
    xlabel: str | None = None,
    title: str | None = None,
    interval_label: str = "interval",
    low_is_best: bool = False,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the posterior of the difference D = first - second beside the region of practical equivalence.

    Parameters
    ----------
    draws : array of shape (S,)
        Draws of D. Few distinct values are drawn as bars, others as a density.
    rope : float
        Half-width of the region [-rope, rope], the pale band.
    masses : array of shape (3,)
        P(D < -rope), P(|D| <= rope) and P(D > rope), written above the parts of the density in their colours.
    first, second : str
        Names of the two.
    estimate, interval : float and array of shape (2,), optional
        A dot and a line below the density; their numbers are in the legend.
    truth : float, optional
        The true difference, as a hollow diamond.
    xlabel, title, interval_label : str
        Words; by default the axis says which is subtracted from which.
    low_is_best : bool
        Whether the one with the lower value is the better one, as of losses.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    OutputError
        If a shape does not fit, there is no finite draw, or the half-width is negative.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(0.1, 0.03, 1000)
    >>> ax = rope_density(draws, 0.05, [0.0, 0.05, 0.95], first="new", second="old")
    >>> [text.get_text() for text in ax.texts]
    ['old better\n0', 'equivalent\n0.05', 'new better\n0.95']
    """
    draws = checked_numbers("draws", draws, (None,))
    masses = checked_numbers("masses", masses, (3,))
    draws = draws[np.isfinite(draws)]
    if not draws.size:
        raise OutputError("There is no finite draw of the difference.")
    if not rope >= 0:
        raise OutputError(f"The half-width of the region of practical equivalence is 0 or more; found {rope}.")
    ends = np.empty(0) if interval is None else checked_numbers("interval", interval, (2,))
    marks = np.array([*ends, *(x for x in (estimate, truth) if x is not None)], dtype=float)
    low = min(float(draws.min()), -rope, float(marks.min(initial=np.inf)))
    high = max(float(draws.max()), rope, float(marks.max(initial=-np.inf)))
    margin = 0.06 * max(high - low, 1e-6)

    owner, ax = ax is None, new_axes(ax, 3.6)
    ax.set_xlim(low - margin, high + margin)
    ax.axvspan(-rope, rope, color=PALE, alpha=0.5, linewidth=0, zorder=0)
    colours, inks = (_COLOURS[::-1], _INK[::-1]) if low_is_best else (_COLOURS, _INK)
    peak = _draw_parts(ax, draws, rope, colours)
    base = -0.09 * peak
    ax.vlines(0, 2 * base, 1.05 * peak, colors=GREY, linewidth=1.0, linestyles="dashed", zorder=1)
    known = [*ends, *(() if estimate is None else (estimate,))]
    said = figures(*known, sign="+") if known else []
    if estimate is not None:
        ax.plot(estimate, base, "o", color=BLACK, markersize=5, label=said[-1])
    if ends.size:
        ax.hlines(base, *ends, colors=BLACK, linewidth=2.0, label=f"{interval_label} [{said[0]}, {said[1]}]")
    if truth is not None:
        ax.plot(truth, base, "D", label="truth", zorder=4, **HOLLOW)
    ax.set_ylim(2 * base if marks.size else 0, 1.32 * peak)
    ax.set_yticks([])
    finish(ax, xlabel, None, title)
    ax.spines["left"].set_visible(False)
    if xlabel is None:
        # `parse_math=False`: a name with dollar signs is a name.
        ax.set_xlabel(" \N{MINUS SIGN} ".join(short_names([first, second])), parse_math=False)
    better = short_names((first, second) if low_is_best else (second, first), 20)
    below = _write_masses(ax, masses, rope, better, inks)
    if owner:
        legend(ax, owner, "outside lower center", ncols=3)
    else:
        _legend_between(ax, below, peak)
    return ax


def pairs(
    masses: ArrayLike,
    names: Sequence[object],
    *,
    max_groups: int = 40,
    title: str | None = None,
    comparatives: tuple[str, str] = ("worse", "better"),
    ax: Axes | None = None,
) -> Axes:
    """Draw how every group compares with every other: blue where the row's is better, orange where it is worse.

    Colours are P(better) - P(worse), each by more than the region of practical equivalence. A square that fills its
    cell is decided: better, worse or equivalent with probability 0.95 at least. The others are small. Circles mark
    the equivalent.

    Parameters
    ----------
    masses : array of shape (G, G, 3)
        Of row i and column j: P(D < -rope), P(|D| <= rope) and P(D > rope), D = theta_i - theta_j. The diagonal is not
        read.
    names : sequence of length G
        Names of the groups.
    max_groups : int
        More groups than this are refused.
    title : str, optional
        Words.
    comparatives : two words
        What is said of the first and the last of the probabilities, such as "lower" and "higher" of a rate.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    OutputError
        If the shape does not fit, or there are fewer than two groups or too many.

    Examples
    --------
    >>> import numpy as np
    >>> masses = np.zeros((2, 2, 3))
    >>> masses[0, 1], masses[1, 0] = [0.01, 0.01, 0.98], [0.98, 0.01, 0.01]
    >>> ax = pairs(masses, ["new", "old"])
    >>> ax.collections[0].get_array().round(2).tolist()
    [0.97, -0.97]
    """
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    count = len(names)
    if count < 2:
        raise OutputError(f"A figure of pairs needs at least 2 groups; found {count}.")
    if count > max_groups:
        raise OutputError(
            f"A figure of pairs shows up to {max_groups} groups; found {count}. "
            "Choose groups, such as the first and last by estimate, or pass more max_groups to plots.pairs; "
            "tables have all pairs."
        )
    table = checked_numbers("masses", masses, (count, count, 3))
    value = table[..., 2] - table[..., 0]
    np.fill_diagonal(value, np.nan)
    decided = table.max(axis=2) >= _SURE
    equal = table[..., 1] >= _SURE
    np.fill_diagonal(equal, False)

    owner, ax = ax is None, matrix_axes(ax, names, names)
    colours = LinearSegmentedColormap.from_list("worse to better", [VERMILION, "#E4E4E4", BLUE])
    cells = squares(ax, value, np.where(decided, 1.0, _SMALL), cmap=colours, norm=Normalize(-1, 1))
    rows, columns = np.nonzero(equal)
    style = {"color": BLACK, "markersize": min(6.0, 0.45 * cell_points(ax, value.shape)), "zorder": 3}
    if equal.any():
        ax.plot(columns, rows, "o", linestyle="none", markerfacecolor="none", label="equivalent", **style)
    name_sides(ax, names, names)
    finish(ax, "compared with", "group", title)
    colour_bar(ax, cells, "P({1}) \N{MINUS SIGN} P({0})".format(*comparatives), [-1, -0.5, 0, 0.5, 1])
    if owner:  # inside axes that are not ours a legend would cover cells
        ax.scatter([], [], 90, color=GREY, marker="s", label=f"decided with probability {_SURE}")
        ax.scatter([], [], 90 * _SMALL**2, color=GREY, marker="s", label="undecided")
        legend(ax, owner, "outside lower center", ncols=3)
    return ax


def _draw_parts(ax: Axes, draws: np.ndarray, rope: float, colours: Sequence[str]) -> float:
    """Draw the density in three colours, split at the ends of the region; return its peak."""
    parts = zip((-np.inf, -rope, rope), (-rope, rope, np.inf), colours, strict=True)
    if is_discrete(draws):
        values, counts = np.unique(draws, return_counts=True)
        share = counts / len(draws)
        part = np.where(np.abs(values) <= rope, 1, np.where(values < 0, 0, 2))
        for index, (_, _, colour) in enumerate(parts):
            ax.vlines(values[part == index], 0, share[part == index], colors=colour, linewidth=4, zorder=2)
        return float(share.max())
    grid, height = density(draws)
    for left, right, colour in parts:
        inside = np.unique(np.clip(grid, left, right))
        if len(inside) > 1:
            ax.fill_between(inside, np.interp(inside, grid, height), color=colour, alpha=0.55, linewidth=0, zorder=2)
    ax.plot(grid[[0, *range(len(grid)), -1]], [0, *height, 0], color=BLACK, linewidth=0.9, zorder=3)
    return float(height.max())


def _legend_between(ax: Axes, top: float, peak: float) -> None:
    """Put the legend below the words of the masses, which end at the height `top`, and the density below it."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    width, height = (72.0 * side / ax.figure.dpi for side in ax.get_window_extent().size)
    font = float(np.clip(width / (0.55 * max(map(len, labels)) + 4.0), 5.0, 10.0))
    ax.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, top), frameon=False, fontsize=font)
    left = max(top - (1.5 * len(labels) + 1.2) * font / height, 0.3)  # of the height, for the density
    low = ax.get_ylim()[0]
    ax.set_ylim(low, low + (1.05 * peak - low) / left)


def _write_masses(ax: Axes, masses: np.ndarray, rope: float, better: Sequence[str], inks: Sequence[str]) -> float:
    """Write each mass above its part, moved sideways where the parts are too narrow for words.

    `better` are the names of those that are better in the first and in the last part. Returns the height in the axes at
    which the words end.
    """
    low, high = ax.get_xlim()
    borders = (np.array([low, -rope, rope, high]) - low) / (high - low)
    parts = [0, 2] if rope == 0 else [0, 1, 2]
    ideal = [(borders[part] + borders[part + 1]) / 2 for part in parts]
    room = 72.0 * ax.get_window_extent().width / ax.figure.dpi
    for gap in (" ", "\n"):
        heads = [(f"{better[0]}{gap}better", "equivalent", f"{better[1]}{gap}better")[part] for part in parts]
        # Widths at a font size of 1, as parts of the axes.
        width = np.array([0.6 * max(map(len, head.split("\n"))) + 1.0 for head in heads]) / room
        font = 0.98 / width.sum()
        if font >= 7.0:
            break
    font = float(np.clip(font, 5.0, 9.5))
    for part, head, x in zip(parts, heads, _apart(ideal, width * font), strict=True):
        style = {
            "fontsize": font,
            "color": inks[part],
            "parse_math": False,
            "ha": "center",
            "va": "top",
        }
        weight = "bold" if masses[part] == masses.max() else "normal"
        ax.text(x, 0.99, f"{head}\n{_probability(masses[part])}", transform=ax.transAxes, weight=weight, **style)
    lines = 1 + max(head.count("\n") + 1 for head in heads)
    return 0.99 - 1.25 * lines * font * ax.figure.dpi / 72.0 / ax.get_window_extent().height


def _apart(centre: Sequence[float], width: np.ndarray) -> np.ndarray:
    """Move intervals of these widths, in their order, so far that they keep apart and, if possible, in [0, 1]."""
    end = np.cumsum(width)
    start = np.maximum.accumulate(np.asarray(centre) + width / 2 - end)  # each less those before it
    return np.clip(start, 0.0, max(1.0 - end[-1], 0.0)) + end - width / 2


def _probability(value: float) -> str:
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    return "<0.01" if value < 0.005 else ">0.99" if value >= 0.995 else f"{value:.2f}"
