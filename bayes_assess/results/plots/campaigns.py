"""Lines over labels: what designs reach, and how one campaign's estimates move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import OutputError
from bayes_assess.estimators.intervals import bootstrap_interval
from bayes_assess.results.plots._drawing import (
    BLACK,
    BLUE,
    DASHES,
    GREY,
    PALE,
    PALETTE,
    checked_numbers,
    finish,
    legend,
    line_style,
    new_axes,
    plain_log,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType


def label_curves(
    budgets: ArrayLike,
    curves: Mapping[str, Any],
    *,
    ylabel: str,
    title: str | None = None,
    reference: float | None = None,
    reference_label: str = "exact",
    xlabel: str = "labels",
    logx: bool = False,
    logy: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw what each design reaches with a number of labels.

    Parameters
    ----------
    budgets : array of shape (B,)
        Numbers of labels.
    curves : mapping of str to array of shape (R, B) or (B,)
        One line per design. With repeats: their mean, and a band with its 95 % bootstrap interval.
    ylabel : str
        What the curves measure.
    title, xlabel, reference_label : str
        Words.
    reference : float, optional
        A horizontal line.
    logx, logy : bool
        Whether budgets, and what is measured, are on logarithmic axes.
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
    budgets = checked_numbers("budgets", budgets, (None,))
    if not curves:
        raise OutputError("There is no curve to draw.")
    owner, ax = ax is None, new_axes(ax, 4.0)
    last: list[float] = []
    for index, (name, values) in enumerate(curves.items()):
        repeats = np.atleast_2d(np.asarray(values, dtype=float))
        repeats = checked_numbers(f"the curve {name!r}", repeats, (None, len(budgets)))
        mean = repeats.mean(axis=0)
        style = line_style(index, len(budgets))
        if len(repeats) > 1:
            ends = bootstrap_interval(repeats)
            ax.fill_between(budgets, ends[:, 0], ends[:, 1], color=style["color"], alpha=0.18, linewidth=0)
        ax.plot(budgets, mean, label=str(name), **style)
        last.append(float(mean[-1]))
    if reference is not None:
        ax.axhline(reference, color=GREY, linewidth=1.0, linestyle=":", label=reference_label, zorder=1)
        last.append(float(reference))
    banded = any(np.ndim(values) > 1 and len(values) > 1 for values in curves.values())
    if banded:
        ax.fill_between([], [], color=GREY, alpha=0.3, linewidth=0, label="95% interval\nof the mean")
    if logx:
        plain_log(ax, budgets)
    if logy:
        ax.set_yscale("log")
    ax.grid(color=PALE, linewidth=0.6)
    finish(ax, xlabel, ylabel, title)
    # The legend lists the lines from top to bottom as they end at the right.
    order = [*np.argsort(-np.asarray(last), kind="stable"), *([len(last)] if banded else [])]
    legend(ax, owner, "outside right upper", order=order)
    return ax


def trajectory(
    ax: Axes | None,
    x: ArrayLike,
    estimate: ArrayLike,
    interval: ArrayLike | None = None,
    truth: float | None = None,
    label: str | None = None,
    *,
    color: str = BLUE,
    linestyle: LineStyleType = "-",
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
    x = checked_numbers("x", x, (None,))
    ax = new_axes(ax, 4.0)
    if interval is not None:
        ends = checked_numbers("interval", interval, (len(x), 2))
        ax.fill_between(x, ends[:, 0], ends[:, 1], color=color, alpha=0.2, linewidth=0)
    ax.plot(
        x, checked_numbers("estimate", estimate, x.shape), color=color, linestyle=linestyle, linewidth=1.8, label=label
    )
    if truth is not None:
        ax.axhline(truth, color=BLACK, linewidth=1.0, linestyle=":", zorder=1)
    return ax


def campaign(
    labels_used: ArrayLike,
    series: Mapping[str, ArrayLike],
    truth: float | None = None,
    *,
    intervals: Mapping[str, ArrayLike] | None = None,
    xlabel: str = "labels",
    ylabel: str = "estimate",
    title: str | None = None,
    interval_label: str = "interval",
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
    xlabel, ylabel, title, interval_label : str
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
    if bands:
        ax.fill_between([], [], color=GREY, alpha=0.3, linewidth=0, label=interval_label)
    ax.grid(color=PALE, linewidth=0.6)
    finish(ax, xlabel, ylabel, title)
    legend(ax, owner, "outside right upper")
    return ax
