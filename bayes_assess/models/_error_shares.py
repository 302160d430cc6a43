"""Which classes errors are of, before any label: by scores, and by how often classes are predicted, or never."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike, Bool, Float
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


def told_shares(scores: Float[np.ndarray, "C C"]) -> Float[np.ndarray, "C C"]:
    """Share errors by mean scores; evenly where these say nothing of other classes.

    Examples
    --------
    >>> told_shares(np.array([[0.8, 0.15, 0.05], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8]])).round(2).tolist()
    [[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    other = ~np.eye(len(scores), dtype=bool)
    of_errors = scores * other
    total = of_errors.sum(1, keepdims=True)
    return np.divide(of_errors, total, out=other / (len(scores) - 1), where=total > 0)


_POWERS = (1.0, 2.0)  # of the sizes, of scores that know nothing of them: benchmarks/study_error_shares.py --scored
_LEAST_SCORE = 0.002  # of a prediction, or of all other classes: mean scores that are 0 or 1 tell of no odds


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
    return _weighted(told, (predicted + 1.0) ** np.array(_POWERS)[:, None], known)


def shares_by_accuracy(
    scores: Float[np.ndarray, "C C"] | None, predicted: np.ndarray, right: Float[np.ndarray, " C"]
) -> Float[np.ndarray, "2 C C"]:
    """Share errors as scores tell, times how many predictions of a class are right, and times the odds that one is.

    Without scores they are shared by how many are right, and by the roots of that.

    If scores do not know how frequent classes are, how frequent one is stands in proportion to the odds that its
    predictions are right, over those that scores tell, and, about, to how many of them are right.

    Parameters
    ----------
    scores : (C, C), optional
        Mean scores of the items of every predicted class.
    predicted : (C,) integers
        How many there are of them. Classes of none keep their shares.
    right : (C,)
        The share of them that is right, NaN where it is not known: these classes keep their shares, too. Odds are over
        those that scores tell.

    Examples
    --------
    >>> scores = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> found = shares_by_accuracy(scores, np.array([100, 100, 100]), np.array([0.8, 0.8, 0.1]))
    >>> found[:, 0].round(2).tolist()  # errors of predictions of the first class
    [[0.0, 0.88, 0.12], [0.0, 0.97, 0.03]]
    """
    known = (predicted > 0) & np.isfinite(right)
    n_right = np.where(known, right, 0.0) * predicted
    even = ~np.eye(len(predicted), dtype=bool) / (len(predicted) - 1)
    if scores is None:
        return _weighted(even, np.stack([n_right + 1, np.sqrt(n_right + 1)]), known)
    told = told_shares(scores)
    odds = (n_right + 0.5) / (predicted - n_right + 0.5)
    top = np.clip(np.diag(scores), _LEAST_SCORE, 1 - _LEAST_SCORE)
    return _weighted(told, np.stack([n_right + 1, odds * (1 - top) / top]), known)


def _weighted(
    told: Float[np.ndarray, "C C"], weight: Float[np.ndarray, "H C"], known: Bool[np.ndarray, " C"]
) -> Float[np.ndarray, "H C C"]:
    """Share errors of every row by weights of the labels; labels that are not known keep their shares."""
    weighted = np.where(known, told * weight[:, None], 0.0)
    of_known = np.where(known, told, 0.0).sum(-1, keepdims=True)
    weighted *= of_known / np.maximum(weighted.sum(-1, keepdims=True), np.finfo(float).tiny)
    return np.where(known, weighted, told)


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
