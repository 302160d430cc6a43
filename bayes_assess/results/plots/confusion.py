"""Confusion matrices: which labels hide behind each prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import OutputError
from bayes_assess.results.plots._drawing import checked_numbers, finish, short_names
from bayes_assess.results.plots._heatmap import (
    SMALLEST_NAMED,
    cell_points,
    colour_bar,
    matrix_axes,
    name_sides,
    squares,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAMMA = 0.4  # colour = value ** gamma: 0.01 and 0.05 are told apart beside a diagonal near 1
_MOST_NUMBERS = 12  # classes


def confusion_matrix(
    matrix: ArrayLike,
    predicted: Sequence[object],
    labels: Sequence[object] | None = None,
    *,
    interval_width: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    annotate: bool | None = None,
    max_classes: int = 40,
    interval_label: str = "interval",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw P(label | predicted) as a heat map; rows are predicted classes, columns are labels.

    Colours are compressed so that rare errors can be told apart beside a diagonal near 1.

    Parameters
    ----------
    matrix : array of shape (K, C)
        Probabilities; rows = predicted class, columns = label.
    predicted : sequence of length K
        Names of the predicted classes.
    labels : sequence of length C, optional
        Names of the labels; by default those of the predicted classes.
    interval_width : array of shape (K, C), optional
        Widths of the intervals. Half of it is written below a number; without numbers, a square is the smaller the
        wider its interval beside its value.
    sizes : array of shape (K,), optional
        Items of every predicted class, written behind its name.
    annotate : bool, optional
        Whether to write numbers into the cells, except where they round to 0; by default up to 12 classes, if there
        is room.
    max_classes : int
        With more classes, or cells too small for names, the matrix is an image without names.
    interval_label, title : str
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
        If shapes differ or a value lies outside [0, 1].

    Examples
    --------
    >>> ax = confusion_matrix([[0.9, 0.1], [0.3, 0.7]], ["cat", "dog"])
    >>> ax.get_ylabel(), ax.get_xlabel(), [text.get_text() for text in ax.texts]
    ('predicted', 'label', ['0.90', '0.10', '0.30', '0.70'])
    """
    from matplotlib.colors import PowerNorm

    values = checked_numbers("matrix", matrix, (len(predicted), len(predicted if labels is None else labels)))
    width = None if interval_width is None else checked_numbers("interval_width", interval_width, values.shape)
    counts = None if sizes is None else checked_numbers("sizes", sizes, (len(values),))
    if not values.size:
        raise OutputError("There is no class to draw.")
    if np.any((values < 0) | (values > 1)):
        raise OutputError(
            f"The figure needs probabilities; found values from {values.min():.3g} to {values.max():.3g}."
        )

    classes = predicted if labels is None else labels
    rows, named = _with_sizes(predicted, counts), max(values.shape) <= max_classes
    ax = matrix_axes(ax, *((rows, classes) if named else (range(n) for n in values.shape)))
    room = cell_points(ax, values.shape)
    words = "P(label | predicted)"
    style: dict[str, Any] = {"cmap": "Blues", "norm": PowerNorm(_GAMMA, 0.0, 1.0)}
    if not named or room < SMALLEST_NAMED:
        cells = ax.imshow(values, **style)
        ax.set(xticks=[], yticks=[])
        ax.spines[["left", "bottom"]].set_visible(False)
        finish(ax, f"label ({values.shape[1]:,} classes)", f"predicted ({values.shape[0]:,} classes)", title)
    else:
        numbers = annotate if annotate is not None else max(values.shape) <= _MOST_NUMBERS and room >= 16
        side = np.ones(values.shape)
        if width is not None and not numbers:
            side = 1 / np.sqrt(1 + width / 2 / np.maximum(values, 1e-9))
            words += "\nsmall = uncertain"
        cells = squares(ax, values, side, **style)
        if numbers:
            _write_numbers(ax, values, width, cells, room)
            words += "" if width is None else f"\n± half the {interval_label}"
        name_sides(ax, rows, classes)
        finish(ax, "label", "predicted", title)
    colour_bar(ax, cells, words, [0, 0.01, 0.05, 0.2, 0.5, 1])
    return ax


def _with_sizes(names: Sequence[object], sizes: np.ndarray | None) -> Sequence[object]:
    if sizes is None:
        return names
    return [f"{name} ({size:,.0f})" for name, size in zip(short_names(names, 20), sizes, strict=True)]


def _write_numbers(ax: Axes, values: np.ndarray, width: np.ndarray | None, cells: Any, room: float) -> None:
    font = float(np.clip(0.34 * room, 5.0, 10.0))
    for (row, column), value in np.ndenumerate(values):
        half = 0.0 if width is None else width[row, column] / 2
        if not max(value, half) >= 0.005:
            continue  # a page of zeros hides the errors; NaN stays blank
        place: dict[str, Any] = {"ha": "center", "color": "white" if cells.norm(value) > 0.6 else "black"}
        ax.text(column, row, f"{value:.2f}", va="center" if width is None else "bottom", fontsize=font, **place)
        if width is not None:
            ax.text(column, row, f"±{half:.2f}", va="top", fontsize=0.75 * font, **place)
