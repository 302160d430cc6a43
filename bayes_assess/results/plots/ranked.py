"""The precision of a ranked list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.results.plots._drawing import BLACK, DASHES, GREY, PALETTE, checked_numbers, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TICKS = 600  # of labelled ranks


def precision_by_rank(
    ranks: ArrayLike,
    bands: Mapping[str, ArrayLike],
    *,
    queried: tuple[np.ndarray, np.ndarray] | None = None,
    labelled: np.ndarray | None = None,
    truth: ArrayLike | None = None,
    band_label: str = "band",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw precision against rank on a logarithmic axis, with bands, queried ranks and the labels spent.

    Parameters
    ----------
    ranks : (n,) integers
    bands : mapping of str to (n, 3)
        Estimates, lower and upper ends by name.
    queried : (ranks (k,), precisions (k,)), optional
        Points whose precision was estimated from labels.
    labelled : (m,) integers, optional
        Ranks that were labelled, shown as ticks along the axis, 600 of them at most.
    truth : (n,), optional
    band_label, title : str
        Words.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = precision_by_rank([1, 10, 100], {"adastrat": [[1, 1, 1], [0.9, 0.8, 0.95], [0.7, 0.6, 0.8]]})
    >>> ax.get_xscale()
    'log'
    """
    at = checked_numbers("ranks", ranks, (None,))
    axes = new_axes(ax, height=4.2)
    for (name, band), colour, dash in zip(bands.items(), PALETTE, DASHES, strict=False):
        value, lower, upper = checked_numbers(f"the band {name!r}", band, (len(at), 3)).T
        axes.fill_between(at, lower, upper, color=colour, alpha=0.2, linewidth=0, label=f"{name}: {band_label}")
        axes.plot(at, value, color=colour, linestyle=dash, label=f"{name}: estimate")
    if truth is not None:
        axes.plot(
            at, checked_numbers("truth", truth, (len(at),)), color=BLACK, linewidth=1, linestyle=":", label="truth"
        )
    if queried is not None:
        axes.plot(*queried, "o", color=PALETTE[0], markersize=4, label=f"{len(queried[0]):,} queried ranks")
    if labelled is not None and len(labelled):
        shown = np.asarray(labelled)[np.linspace(0, len(labelled) - 1, min(_MOST_TICKS, len(labelled))).astype(int)]
        height = np.full(len(shown), 0.015)
        axes.plot(
            shown,
            height,
            "|",
            color=GREY,
            markersize=7,
            markeredgewidth=0.5,
            transform=axes.get_xaxis_transform(),
            label=f"{len(labelled):,} labels",
        )
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.02)
    axes.legend(loc="lower left", frameon=False)
    finish(axes, "rank", "precision of the items down to the rank", title)
    return axes
