"""Answers against the share of positives that are supposed to hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.results.plots._drawing import (
    DASHES,
    GREY,
    PALE,
    PALETTE,
    checked_numbers,
    finish,
    new_axes,
    short_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def hidden_shares(
    shares: ArrayLike,
    estimate: ArrayLike,
    interval: ArrayLike,
    names: Sequence[str],
    *,
    ruled_out: float | None = None,
    interval_label: str = "interval",
    which: str = "of low score",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates and intervals against the share of positives that are supposed to hide.

    Parameters
    ----------
    shares : array (H,)
        Increasing, in [0, 1).
    estimate, interval : arrays (H, k), (H, k, 2)
    names : sequence of str (k,)
        What is measured.
    ruled_out : float, optional
        Share above which random labels leave little probability; the region beyond is pale.
    interval_label, which, title : str
        Words: what intervals are, among which items positives hide, and what stands above.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = hidden_shares([0, 0.5], [[0.8], [0.5]], [[[0.7, 0.9]], [[0.4, 0.6]]], ["f1"])
    >>> ax.get_ylabel()
    'f1'
    """
    x = checked_numbers("shares", shares, (None,))
    value = checked_numbers("estimate", estimate, (len(x), len(names)))
    ends = checked_numbers("interval", interval, (len(x), len(names), 2))
    axes = new_axes(ax, height=4.0, width=6.0)
    for i, name in enumerate(short_names(names)):
        color = PALETTE[i % len(PALETTE)]
        said = interval_label if len(names) == 1 else None
        axes.fill_between(x, ends[:, i, 0], ends[:, i, 1], color=color, alpha=0.2, linewidth=0, label=said)
        label = "estimate" if len(names) == 1 else name
        axes.plot(x, value[:, i], color=color, linestyle=DASHES[i % len(DASHES)], label=label)
    if ruled_out is not None and ruled_out < x[-1]:
        axes.axvspan(ruled_out, float(x[-1]), color=PALE, zorder=0, label="ruled out by random labels")
        axes.axvline(ruled_out, color=GREY, linewidth=1, zorder=0)
    axes.set_xlim(float(x[0]), float(x[-1]))
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    for text in axes.legend(loc="best", frameon=False).get_texts():
        text.set_parse_math(False)
    spread = np.ptp(ends)
    if spread > 0:
        axes.set_ylim(ends.min() - 0.05 * spread, ends.max() + 0.05 * spread)
    finish(axes, f"share of all positives hidden among items {which}", None, title)
    axes.set_ylabel(short_names(names)[0] if len(names) == 1 else "measure", parse_math=False)
    return axes
