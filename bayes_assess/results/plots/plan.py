"""What is expected of a campaign as labels come in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.results.plots._drawing import BLACK, BLUE, GREY, PALE, VERMILION, checked_numbers, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def expected_path(
    labels: ArrayLike,
    expected: ArrayLike,
    spread: ArrayLike,
    goal: float,
    *,
    used: int = 0,
    needed: Any = None,
    ylabel: str = "width of the interval",
    goal_label: str = "wished",
    spread_label: str = "spread",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what is expected after a number of labels, its spread, and where it meets a goal.

    Parameters
    ----------
    labels : array of shape (B,)
        Labels in all.
    expected : array of shape (B,)
        The line.
    spread : array of shape (B, 2)
        The band.
    goal : float
        A horizontal line.
    used : int
        Labels so far, a vertical line unless 0.
    needed : three numbers, optional
        Labels in all at which the goal is met, expected and from where to where; infinite ones are left out.
    ylabel, goal_label, spread_label, title : str
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
    >>> ax = expected_path([20, 50, 100], [0.3, 0.2, 0.1], [[0.3, 0.3], [0.1, 0.3], [0.05, 0.15]], 0.12, used=20)
    >>> ax.get_xlabel()
    'labels'
    """
    x = checked_numbers("labels", labels, (None,))
    line, band = checked_numbers("expected", expected, x.shape), checked_numbers("spread", spread, (len(x), 2))
    ax = new_axes(ax, 4.0)
    ax.plot(x, line, color=BLUE, linewidth=1.8, label="expected")
    ax.fill_between(x, band[:, 0], band[:, 1], color=BLUE, alpha=0.2, linewidth=0, label=spread_label)
    ax.axhline(goal, color=BLACK, linewidth=1.0, linestyle=":", zorder=1)
    ax.annotate(
        goal_label, (1, goal), (-2, 3), xycoords=ax.get_yaxis_transform(), textcoords="offset points", ha="right"
    )
    if used:
        ax.axvline(used, color=GREY, linewidth=1.0, zorder=1)
        ax.annotate(
            "now", (used, 1), (3, -2), xycoords=ax.get_xaxis_transform(), textcoords="offset points", va="top",
            color=GREY,
        )  # fmt: skip
    if needed is not None:
        middle, *ends = (float(value) for value in needed)
        if np.isfinite(middle):
            ax.plot([middle], [goal], "o", color=VERMILION, markersize=6, label=f"{middle:,.0f} labels needed")
        if np.isfinite(ends).all():
            words = f"{ends[0]:,.0f} to {ends[1]:,.0f}: {spread_label}"
            ax.plot(ends, [goal, goal], color=VERMILION, linewidth=3.0, solid_capstyle="butt", alpha=0.6, label=words)
    ax.grid(color=PALE, linewidth=0.6)
    ax.set_ylim(bottom=0)
    finish(ax, "labels", ylabel, title)
    ax.legend(loc="best", frameon=False)
    return ax
