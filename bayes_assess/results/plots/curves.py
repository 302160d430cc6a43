"""Precision-recall curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.results.plots._drawing import BLUE, ORANGE, VERMILION, checked_numbers, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 12  # thresholds that are drawn one by one, too


def precision_recall_curve(
    estimate: ArrayLike,
    interval: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    interval_label: str = "interval",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw precision against recall, with the intervals of both at every threshold.

    Up to twelve thresholds are drawn as dots, with a line for each interval: bands of one threshold, or of several that
    the same items reach, have no width.

    Parameters
    ----------
    estimate : array (2 L,)
        Precision at L thresholds, then recall at the same.
    interval : array (2 L, 2)
        Their intervals.
    truth : array (2 L,), optional
        True curve.
    interval_label, title : str
        Words.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> estimate = [0.5, 1.0, 1.0, 0.5]
    >>> ax = precision_recall_curve(estimate, [[x - 0.1, x] for x in estimate])
    >>> ax.get_xlabel()
    'recall'
    """
    curve = checked_numbers("estimate", estimate, (None,))
    ends = checked_numbers("interval", interval, (len(curve), 2))
    n = len(curve) // 2
    precision, recall = curve[:n], curve[n:]
    axes = new_axes(ax, height=4.5, width=6.0)
    order = np.argsort(recall, kind="stable")
    axes.fill_between(
        recall[order],
        ends[:n, 0][order],
        ends[:n, 1][order],
        color=BLUE,
        alpha=0.2,
        linewidth=0,
        label=f"of precision: {interval_label}",
    )
    axes.fill_betweenx(
        precision,
        ends[n:, 0],
        ends[n:, 1],
        color=ORANGE,
        alpha=0.25,
        linewidth=0,
        zorder=0.9,  # below the other band
        label=f"of recall: {interval_label}",
    )
    axes.plot(recall, precision, color=BLUE, marker="o" if n <= _FEW else None, markersize=4.5, label="estimate")
    if n <= _FEW:
        axes.vlines(recall, *ends[:n].T, colors=BLUE, linewidth=1.2)
        axes.hlines(precision, *ends[n:].T, colors=ORANGE, linewidth=1.2)
    if truth is not None:
        exact = checked_numbers("truth", truth, (2 * n,))
        marker = "D" if n <= _FEW else None
        axes.plot(exact[n:], exact[:n], color=VERMILION, linestyle="--", marker=marker, markersize=4.5, label="truth")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.legend(loc="lower left", frameon=False)
    finish(axes, "recall", "precision", title)
    return axes
