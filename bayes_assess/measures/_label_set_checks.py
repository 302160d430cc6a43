"""Checks of indicators and probabilities of several labels per item."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import QuestionError


def checked_label_sets(predicted: ArrayLike, probabilities: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return indicators of predictions, and probabilities of labels, as arrays of one shape."""
    f, p = checked_indicators("predictions", predicted), np.asarray(probabilities)
    if p.ndim != 2 or p.dtype.kind not in "biuf" or not ((p >= 0) & (p <= 1)).all():
        raise QuestionError(
            "Probabilities of labels are numbers in [0, 1], one for every item and class, (items, classes); found "
            f"shape {p.shape} of {p.dtype}."
        )
    check_shapes(f, p, "probabilities")
    return f, p


def checked_indicators(what: str, values: ArrayLike) -> np.ndarray:
    """Return indicators as an array (items, classes), or raise QuestionError."""
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise QuestionError(
            f"The {what} are indicators, True or False for every item and class, (items, classes); found shape "
            f"{array.shape} of {array.dtype}."
        )
    return array


def check_shapes(predicted: np.ndarray, other: np.ndarray, what: str) -> None:
    """Raise QuestionError unless there is a row for every item and a column for every class in both."""
    if predicted.shape != other.shape:
        raise QuestionError(
            f"Predictions have shape {predicted.shape}, but {what} have {other.shape}; pass one row per item."
        )
