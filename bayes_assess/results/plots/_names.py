"""Where to write the names of points, so that names cover neither each other nor, if possible, points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess.results.plots._drawing import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FONT = 8.5  # points
# Which way a name lies from its point, the most readable first: intervals run across and up.
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))


def write_names(
    ax: Axes,
    names: list[str],
    points: np.ndarray,
    area: np.ndarray,
    groups: np.ndarray,
    *,
    always: np.ndarray,
    others: np.ndarray,
    owner: bool,
) -> None:
    """Write names beside points, one after the other.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Their limits are those to come.
    names : list of length G
    points : array of shape (G, 2)
        In data coordinates.
    area : array of shape (G,)
        Of the points, in square points.
    groups : array of shape (N,)
        Which to name, the most important first.
    always : bool array of shape (G,)
        Those that are named even where there is no room.
    others : array of shape (A, 2)
        Further points that are better not covered.
    owner : bool
        Whether the figure is ours, so that it can be laid out before.
    """
    from matplotlib.figure import Figure

    if owner and isinstance(ax.figure, Figure):
        ax.figure.draw_without_rendering()
    scale = 72.0 / ax.figure.dpi  # all that follows is in points
    centres = ax.transData.transform(points) * scale
    frame = np.asarray(ax.get_window_extent().extents) * scale
    radius = np.sqrt(area) / 2
    dots = np.concatenate([centres - radius[:, None], centres + radius[:, None]], axis=1)
    marks = np.tile(ax.transData.transform(others) * scale, 2) + 2.5 * np.array([-1, -1, 1, 1])
    taken = np.empty((0, 4))
    for group in groups:
        if not np.isfinite(points[group]).all():
            continue
        size = np.array([0.61 * _FONT * len(names[group]), 1.2 * _FONT])
        boxes = np.array([_box(centres[group], float(radius[group]), size, side) for side in _SIDES])
        cost = (
            20 * (_overlaps(boxes, taken) > 0)
            + 10 * (np.any(boxes[:, :2] < frame[:2], axis=1) | np.any(boxes[:, 2:] > frame[2:], axis=1))
            + _overlaps(boxes, np.concatenate([np.delete(dots, group, axis=0), marks]))
            + 0.1 * np.arange(len(_SIDES))
        )
        best = int(np.argmin(cost))
        if cost[best] >= 10 and not always[group]:
            continue
        taken = np.concatenate([taken, boxes[best : best + 1]])
        _write(ax, names[group], points[group], float(radius[group]), _SIDES[best])


def _box(centre: np.ndarray, radius: float, size: np.ndarray, side: tuple[int, int]) -> np.ndarray:
    """Left, bottom, right and top of a name on one side of its point."""
    direction = np.array(side)
    away = (radius + 1.5) * direction * (0.7 if all(side) else 1.0)
    low = centre + away + size * (direction - 1) / 2
    return np.concatenate([low, low + size])


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many of the others each box meets."""
    apart = (boxes[:, None, :2] >= others[None, :, 2:]) | (boxes[:, None, 2:] <= others[None, :, :2])
    return (~apart.any(axis=2)).sum(axis=1)


def _write(ax: Axes, name: str, point: np.ndarray, radius: float, side: tuple[int, int]) -> None:
    from matplotlib.patheffects import withStroke

    away = (radius + 1.5) * np.array(side) * (0.7 if all(side) else 1.0)
    place: dict[str, Any] = {
        "ha": ("right", "center", "left")[side[0] + 1],
        "va": ("top", "center", "bottom")[side[1] + 1],
        "textcoords": "offset points",
    }
    # `parse_math=False`: a name with dollar signs is a name.
    text = ax.annotate(
        name, tuple(point), tuple(away), fontsize=_FONT, color=BLACK, zorder=7, parse_math=False, **place
    )
    text.set_path_effects([withStroke(linewidth=2.0, foreground="white", alpha=0.8)])
