"""Which classes errors are of, before any label: by scores, and by how often classes are predicted, or never."""

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


_POWERS = (1.0, 2.0)  # of the sizes, of scores that know nothing of them: benchmarks/study_error_shares.py --scored


def shares_resized(told: Float[np.ndarray, "C C"], predicted: np.ndarray) -> Float[np.ndarray, "H C C"] | None:
    """Share errors as scores that know nothing of how frequent classes are, were they told: by powers of the sizes.

    Classes that are predicted for no item keep their shares. None where that says nothing of its own.

    Examples
    --------
    >>> told = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    >>> shares_resized(told, np.array([99, 29, 9]))[0].round(2).tolist()
    [[0.0, 0.75, 0.25], [0.91, 0.0, 0.09], [0.77, 0.23, 0.0]]
    """
    known = predicted > 0
    if len(told) == 2 or predicted.dtype == bool or len(np.unique(predicted[known])) < 2:
        return None
    weight = np.where(known, told * (predicted + 1.0) ** np.array(_POWERS)[:, None, None], 0.0)
    of_known = np.where(known, told, 0.0).sum(-1, keepdims=True)
    weight *= of_known / np.maximum(weight.sum(-1, keepdims=True), np.finfo(float).tiny)
    return np.where(known, weight, told)


def shares_of_new(predicted: np.ndarray) -> Float[np.ndarray, "C C"] | None:
    """Spread errors evenly over the classes that are never predicted; None where that says nothing of its own."""
    n = len(predicted)
    unpredicted = ~predicted & ~np.eye(n, dtype=bool)
    n_unpredicted = unpredicted.sum(1)
    if not predicted.any() or not 0 < n_unpredicted[predicted][0] < n - 1:
        return None
    even = ~np.eye(n, dtype=bool) / (n - 1)
    return np.where(n_unpredicted[:, None] > 0, unpredicted / np.maximum(n_unpredicted, 1)[:, None], even)


_MORE = (0.2, 0.8)  # of errors that are of a class that is never predicted, besides those that have another reason
_NEARLY_NEVER = 1e-8  # the share of such a class where no item is of it: Dirichlet distributions have no share of 0


def shares_if_unpredicted(
    shares: Float[np.ndarray, "N C C"], predicted: np.ndarray
) -> list[Float[np.ndarray, "N C C"]]:
    """Share errors anew if classes that are never predicted have more of them, and if no item is of these classes.

    Examples
    --------
    >>> even = np.array([[[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]])
    >>> found = shares_if_unpredicted(even, np.array([True, True, False]))
    >>> [shares[0, 0].round(2).tolist() for shares in found]  # errors of predictions of the first class
    [[0.0, 0.4, 0.6], [0.0, 0.1, 0.9], [0.0, 1.0, 0.0]]
    """
    new, never = shares_of_new(predicted), shares_without_unpredicted(shares, predicted)
    if new is None or never is None:
        return []
    return [*((1 - more) * shares + more * new for more in _MORE), never]


def shares_without_unpredicted(
    shares: Float[np.ndarray, "N C C"], predicted: np.ndarray
) -> Float[np.ndarray, "N C C"] | None:
    """Share errors anew if no item is of classes that are never predicted; None where that says nothing of its own.

    Examples
    --------
    >>> even = np.array([[[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]])
    >>> shares_without_unpredicted(even, np.array([True, True, False]))[0, 0].round(2).tolist()
    [0.0, 1.0, 0.0]
    """
    if shares_of_new(predicted) is None:
        return None
    other = ~np.eye(len(predicted), dtype=bool)
    known, unknown = other & predicted, other & ~predicted
    of_known = np.where(known, np.maximum(shares, np.finfo(float).tiny), 0.0)  # even shares where they have none
    of_known /= of_known.sum(-1, keepdims=True)
    return (1 - _NEARLY_NEVER * unknown.sum(-1, keepdims=True)) * of_known + _NEARLY_NEVER * unknown
