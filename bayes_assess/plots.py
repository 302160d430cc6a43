"""Figures from arrays alone.

Every function draws on the axes it is given, or on a new pyplot figure, and returns the axes. rcParams and the
backend stay as they are. The colours are Okabe and Ito's; dashes and markers differ too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._drawing import (
    BLACK,
    BLUE,
    DASHES,
    GREY,
    HOLLOW,
    PALE,
    PALETTE,
    VERMILION,
    checked,
    draw_prior,
    finish,
    keep_fractions_in_view,
    legend,
    line_style,
    name_rows,
    new_axes,
    plain_log,
    shown_rows,
    write_sizes,
)
from .errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forest(
    names: Sequence[Any],
    estimate: Any,
    interval: Any,
    *,
    prior: Any = None,
    truth: Any = None,
    sizes: Any = None,
    highlight: Any = None,
    order: str = "estimate",
    max_groups: int = 40,
    xlabel: str = "accuracy",
    title: str | None = None,
    sizes_label: str = "labels",
    highlight_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one estimate and interval per group, the lowest at the top.

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
    xlabel, title, sizes_label, highlight_label : str
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
    middle = checked("estimate", estimate, (count,))
    ends = checked("interval", interval, (count, 2))
    marked = np.zeros(count, bool) if highlight is None else checked("highlight", highlight, (count,)).astype(bool)

    ranked = np.argsort(middle, kind="stable") if order == "estimate" else np.arange(count)
    shown, rows, gap = shown_rows(ranked, max_groups)
    height = len(shown) + (gap is not None)
    owner, ax = ax is None, new_axes(ax, 1.3 + 0.25 * max(height, 3))

    if prior is not None:
        draw_prior(ax, np.asarray(prior, dtype=float), shown, rows, count)
    for flag, colour, label in ((False, BLUE, None), (True, VERMILION, highlight_label)):
        chosen = marked[shown] == flag
        groups, at = shown[chosen], rows[chosen]
        ax.hlines(at, ends[groups, 0], ends[groups, 1], colors=colour, linewidth=2.0 if flag else 1.5, zorder=2)
        marker = "s" if flag else "o"  # a shape as well as a colour
        ax.plot(middle[groups], at, marker, color=colour, markersize=5, label=label if len(groups) else None, zorder=3)
    if truth is not None:
        exact = checked("truth", truth, (count,))
        ax.plot(exact[shown], rows, "D", label="truth", zorder=4, **HOLLOW)

    if gap is not None:
        ax.axhline(gap, color=GREY, linewidth=0.8, linestyle=(0, (1, 3)))
    name_rows(ax, names, shown, rows, gap, count - len(shown))
    if sizes is not None:
        write_sizes(ax, checked("sizes", sizes, (count,)), shown, rows, sizes_label)
    ax.set_ylim(height - 0.4, -0.6)
    keep_fractions_in_view(ax, np.concatenate([ends.ravel(), middle]))
    ax.grid(axis="x", color=PALE, linewidth=0.6)
    finish(ax, xlabel, None, title)
    legend(ax, owner, "outside lower center", ncols=4)
    return ax


def rank_plot(
    names: Sequence[Any],
    rank: Any,
    interval: Any,
    *,
    truth: Any = None,
    highlight: Any = None,
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


def label_curves(
    budgets: Any,
    curves: Mapping[str, Any],
    *,
    ylabel: str,
    title: str | None = None,
    reference: float | None = None,
    reference_label: str = "exact",
    xlabel: str = "labels",
    logx: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw what each design reaches with a number of labels.

    Parameters
    ----------
    budgets : array of shape (B,)
        Numbers of labels.
    curves : mapping of str to array of shape (R, B) or (B,)
        One line per design. With repeats: their mean, and a band of two standard errors either side.
    ylabel : str
        What the curves measure.
    title, xlabel, reference_label : str
        Words.
    reference : float, optional
        A horizontal line.
    logx : bool
        Whether budgets are on a logarithmic axis.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    OutputError
        If a curve does not have one value per budget.

    Examples
    --------
    >>> ax = label_curves([10, 20], {"random": [[0.2, 0.1], [0.3, 0.2]], "thompson": [0.1, 0.05]}, ylabel="error")
    >>> len(ax.lines)
    2
    """
    budgets = checked("budgets", budgets, (None,))
    if not curves:
        raise OutputError("There is no curve to draw.")
    owner, ax = ax is None, new_axes(ax, 4.0)
    last: list[float] = []
    for index, (name, values) in enumerate(curves.items()):
        repeats = np.atleast_2d(np.asarray(values, dtype=float))
        repeats = checked(f"the curve {name!r}", repeats, (None, len(budgets)))
        mean = repeats.mean(axis=0)
        style = line_style(index, len(budgets))
        if len(repeats) > 1:
            error = repeats.std(axis=0, ddof=1) / np.sqrt(len(repeats))
            ax.fill_between(budgets, mean - 2 * error, mean + 2 * error, color=style["color"], alpha=0.18, linewidth=0)
        ax.plot(budgets, mean, label=str(name), **style)
        last.append(float(mean[-1]))
    if reference is not None:
        ax.axhline(reference, color=GREY, linewidth=1.0, linestyle=":", label=reference_label, zorder=1)
        last.append(float(reference))
    if logx:
        plain_log(ax, budgets)
    ax.grid(color=PALE, linewidth=0.6)
    finish(ax, xlabel, ylabel, title)
    # The legend lists the lines from top to bottom as they end at the right.
    legend(ax, owner, "outside right upper", order=np.argsort(-np.asarray(last), kind="stable"))
    return ax


def trajectory(
    ax: Axes | None,
    x: Any,
    estimate: Any,
    interval: Any = None,
    truth: float | None = None,
    label: str | None = None,
    *,
    color: str = BLUE,
    linestyle: Any = "-",
) -> Axes:
    """Draw an estimate and its band as labels come in.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure.
    x : array of shape (T,)
        Labels used.
    estimate : array of shape (T,)
        The line.
    interval : array of shape (T, 2), optional
        The band.
    truth : float, optional
        A horizontal line.
    label : str, optional
        Name of the line in a legend, which the caller adds.
    color, linestyle
        As Matplotlib takes them.

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
    >>> ax = trajectory(None, [1, 2], [0.5, 0.6], [[0.1, 0.9], [0.3, 0.8]], truth=0.7)
    >>> len(ax.lines)
    2
    """
    x = checked("x", x, (None,))
    ax = new_axes(ax, 4.0)
    if interval is not None:
        ends = checked("interval", interval, (len(x), 2))
        ax.fill_between(x, ends[:, 0], ends[:, 1], color=color, alpha=0.2, linewidth=0)
    ax.plot(x, checked("estimate", estimate, x.shape), color=color, linestyle=linestyle, linewidth=1.8, label=label)
    if truth is not None:
        ax.axhline(truth, color=BLACK, linewidth=1.0, linestyle=":", zorder=1)
    return ax


def campaign(
    labels_used: Any,
    series: Mapping[str, Any],
    truth: float | None = None,
    *,
    intervals: Mapping[str, Any] | None = None,
    xlabel: str = "labels",
    ylabel: str = "estimate",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one campaign: how estimates move as labels come in.

    Parameters
    ----------
    labels_used : array of shape (T,)
        Labels used.
    series : mapping of str to array of shape (T,)
        One line each.
    truth : float, optional
        The exact answer, as a horizontal line.
    intervals : mapping of str to array of shape (T, 2), optional
        A band for some or all of the lines.
    xlabel, ylabel, title : str
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
        If shapes differ, or an interval belongs to no line.

    Examples
    --------
    >>> ax = campaign([1, 2, 3], {"accuracy": [0.5, 0.6, 0.65]}, truth=0.7)
    >>> ax.get_xlabel()
    'labels'
    """
    bands = dict(intervals or {})
    strangers = set(bands) - set(series)
    if strangers or not series:
        raise OutputError(f"Intervals need a line of their name; found {sorted(bands)} for the lines {sorted(series)}.")
    owner, ax = ax is None, new_axes(ax, 4.0)
    for index, (name, values) in enumerate(series.items()):
        color, dash = PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)]
        trajectory(ax, labels_used, values, bands.get(name), label=str(name), color=color, linestyle=dash)
    if truth is not None:
        ax.axhline(truth, color=BLACK, linewidth=1.0, linestyle=":", label="truth", zorder=1)
    ax.grid(color=PALE, linewidth=0.6)
    finish(ax, xlabel, ylabel, title)
    legend(ax, owner, "outside right upper")
    return ax
