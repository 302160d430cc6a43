"""Which classes errors are of, before any label: by how often classes are predicted, or never."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike, Float
from bayes_assess.errors import PriorError


def check_predicted(predicted: ArrayLike, n: int) -> np.ndarray:
    """Take what is said of every class, whether or how often it is predicted, if it fits."""
    predicted = np.asarray(predicted)
    if predicted.dtype.kind not in "biu" or predicted.shape != (n,) or (predicted < 0).any():
        raise PriorError(
            f"`predicted` says of each of {n} classes whether it is predicted, or for how many items; found "
            f"{show(predicted)}."
        )
    return predicted


def shares_by_sizes(predicted: np.ndarray) -> Float[np.ndarray, "C C"]:
    """Share errors by the roots of how many items are predicted as the other classes; those of none get even shares.

    Examples
    --------
    >>> shares_by_sizes(np.array([90, 3, 0])).round(2).tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.83, 0.17, 0.0]]
    >>> shares_by_sizes(np.array([True, True, True])).tolist()[0]
    [0.0, 0.5, 0.5]
    """
    other, known = ~np.eye(len(predicted), dtype=bool), predicted > 0
    root = np.where(other & known, np.sqrt(predicted + 1.0), 0.0)
    of_known = (other & known).sum(1) / other.sum(1)
    root *= (of_known / np.maximum(root.sum(1), 1e-300))[:, None]
    return root + (other & ~known) / other.sum(1)[:, None]


def shares_of_new(predicted: np.ndarray) -> Float[np.ndarray, "C C"] | None:
    """Spread errors evenly over the classes that are never predicted; None where that says nothing of its own."""
    n = len(predicted)
    unpredicted = ~predicted & ~np.eye(n, dtype=bool)
    n_unpredicted = unpredicted.sum(1)
    if not predicted.any() or not 0 < n_unpredicted[predicted][0] < n - 1:
        return None
    even = ~np.eye(n, dtype=bool) / (n - 1)
    return np.where(n_unpredicted[:, None] > 0, unpredicted / np.maximum(n_unpredicted, 1)[:, None], even)
