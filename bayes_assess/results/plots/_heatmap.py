"""Matrices as squares, with names on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess.results.plots._drawing import WIDTH, new_axes, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import Colormap, Normalize

SMALLEST_NAMED = 4.5  # points: rows and columns below are not named
_SHORT, _ACROSS = 7, 20  # letters of a name for which there is room in any figure, and of the longest below columns


def matrix_axes(ax: Axes | None, rows: Sequence[object], columns: Sequence[object]) -> Axes:
    """Take the axes, or make a figure in which the cells of a matrix are about square, with room for the names."""
    most = max(len(rows), len(columns))
    side = min(max(0.55 * most, 2.4), 5.6)
    letter = 0.6 * _font(72.0 * side / most) / 72.0
    beside = max(map(len, short_names(rows))) - _SHORT
    below = max(map(len, short_names(columns, _ACROSS))) - _SHORT
    width = min(side * len(columns) / most + 2.4, WIDTH + 2.0) + letter * max(beside, 0)
    return new_axes(ax, side * len(rows) / most + 1.4 + letter * max(below, 0), width)


def squares(ax: Axes, values: np.ndarray, side: np.ndarray, *, cmap: str | Colormap, norm: Normalize) -> PolyCollection:
    """Draw a square per cell of a matrix (R, C), row 0 at the top; NaN is blank.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    values : array of shape (R, C)
        Colours.
    side : array of shape (R, C)
        Sides of the squares, at most 1.
    cmap, norm
        As Matplotlib takes them.
    """
    from matplotlib.collections import PolyCollection

    rows, columns = np.indices(values.shape)
    centre = np.stack([columns, rows], axis=-1)[..., None, :]
    corner = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    drawn = np.isfinite(values)
    shapes = list((centre + corner * side[..., None, None])[drawn])
    cells = PolyCollection(shapes, array=values[drawn], cmap=cmap, norm=norm, edgecolors="white", linewidths=0.4)
    ax.add_collection(cells)
    ax.set(xlim=(-0.5, values.shape[1] - 0.5), ylim=(values.shape[0] - 0.5, -0.5), aspect="equal")
    return cells


def name_sides(ax: Axes, rows: Sequence[object], columns: Sequence[object]) -> None:
    """Write a name at every row and column."""
    room = cell_points(ax, (len(rows), len(columns)))
    font = _font(room)
    across = short_names(columns, _ACROSS)
    tilt = 0 if 0.62 * font * max(map(len, across)) < room else 90
    # `parse_math=False`: a name with dollar signs is a name.
    style = {"fontsize": font, "parse_math": False}
    ax.set_yticks(np.arange(len(rows)), labels=short_names(rows), **style)
    ax.set_xticks(np.arange(len(across)), labels=across, rotation=tilt, **style)
    ax.tick_params(length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def _font(room: float) -> float:
    """Size of names beside rows or below columns that are so many points wide."""
    return float(np.clip(0.9 * room, 4.0, 9.0))


def cell_points(ax: Axes, shape: tuple[int, ...]) -> float:
    """Side of a cell in points, as the axes are now."""
    box = ax.get_window_extent()
    return 72.0 / ax.figure.dpi * min(box.height / shape[0], box.width / shape[1])


def colour_bar(ax: Axes, cells: ScalarMappable, words: str, ticks: Sequence[float]) -> None:
    """Draw a small colour bar beside the matrix."""
    bar = ax.figure.colorbar(cells, ax=ax, shrink=0.8, ticks=ticks)
    bar.ax.set_yticklabels([f"{tick:g}".replace("-", "\N{MINUS SIGN}") for tick in ticks], fontsize=8)
    bar.ax.tick_params(length=2)
    bar.outline.set_visible(False)
    bar.set_label(words, fontsize=9)
