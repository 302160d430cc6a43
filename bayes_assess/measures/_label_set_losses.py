"""Losses of items that have several labels each, and their moments where the labels are independent.

Shapes: n items, C classes, d losses of a family. Predictions f and labels y are indicators (n, C); probabilities p are
those of the labels, independent of each other ([SEME] eq. 92).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from bayes_assess._tools.arrays import quotient
from bayes_assess._tools.shapes import Float

Matrix = Float[np.ndarray, "n C"]
Vector = Float[np.ndarray, " n"]

_NEVER = np.log(1e-20)  # less than rounding, as a share of what is summed

# A ratio per class, of all classes, or per item, is hits / (a hits + b predicted + c labels) with these (a, b, c).
DENOMINATORS = {
    "precision": (0.0, 1.0, 0.0),
    "recall": (0.0, 0.0, 1.0),
    "f1": (0.0, 0.5, 0.5),
    "jaccard": (-1.0, 1.0, 1.0),
}


class LossFamily(Protocol):
    """Losses l(f, y) of an item that measures are functions of."""

    def width(self, n_classes: int) -> int:
        """Return d, the number of losses."""
        ...

    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n d"]:
        """Compute l(f, y)."""
        ...

    def expected(self, predicted: Matrix, probabilities: Matrix) -> Float[np.ndarray, "n d"]:
        """Compute E l(f, y)."""
        ...

    def mean_square(
        self, predicted: Matrix, probabilities: Matrix, gradient: Float[np.ndarray, " d"], centre: float = 0.0
    ) -> Vector:
        """Compute E (gradient . l(f, y) - centre)^2."""
        ...

    def unseen(self, predicted: Float[np.ndarray, "K C"], weight: Float[np.ndarray, " K"]) -> UnseenLosses:
        """Return what an item could show that was not drawn, for better and for worse.

        Parameters
        ----------
        predicted : (K, C)
            Share of the items of every cell of which a class is predicted.
        weight : (K,)
            Items of the cell that one that could be missing stands for; 0 where there is none.
        """
        ...


class UnseenLosses(NamedTuple):
    """What an item that was not drawn could show, in B blocks of J kinds of items that exclude each other.

    Attributes
    ----------
    losses : (B, J, d)
    weight : (B, J)
        Items that one of the kind stands for; 0 where there is none.
    """

    losses: Float[np.ndarray, "B J d"]
    weight: Float[np.ndarray, "B J"]


class _Linear(ABC):
    """Losses that are linear in the labels: the expected ones are those at the probabilities.

    With slopes b_c the derivatives of gradient . l in y_c, the mean square is (gradient . E l - centre)^2 + sum_c b_c^2
    p_c (1 - p_c), which are eqs. (95) to (97) of [SEME], whose centre is 0.
    """

    @abstractmethod
    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n d"]: ...

    @abstractmethod
    def slopes(self, predicted: Matrix, gradient: Float[np.ndarray, " d"]) -> Matrix: ...

    def expected(self, predicted: Matrix, probabilities: Matrix) -> Float[np.ndarray, "n d"]:
        return self.losses(predicted, probabilities)

    def mean_square(
        self, predicted: Matrix, probabilities: Matrix, gradient: Float[np.ndarray, " d"], centre: float = 0.0
    ) -> Vector:
        mean = self.expected(predicted, probabilities) @ gradient - centre
        variance = (self.slopes(predicted, gradient) ** 2 * probabilities * (1 - probabilities)).sum(1)
        return mean**2 + variance


@dataclass(frozen=True)
class Totals(_Linear):
    """Hits, predictions and labels of an item: sum_c y_c f_c, sum_c f_c and sum_c y_c ([SEME] eq. 91)."""

    def width(self, n_classes: int) -> int:
        return 3

    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n 3"]:
        return np.stack([(predicted * labels).sum(1), predicted.sum(1), labels.sum(1)], axis=1)

    def slopes(self, predicted: Matrix, gradient: Float[np.ndarray, " 3"]) -> Matrix:
        return gradient[0] * predicted + gradient[2]

    def unseen(self, predicted: Float[np.ndarray, "K C"], weight: Float[np.ndarray, " K"]) -> UnseenLosses:
        """Return items all right, and all wrong: as many other classes apply as are predicted, one at least."""
        size, none = predicted.sum(1), np.zeros(len(predicted))
        right, wrong = np.stack([size, size, size], axis=1), np.stack([none, size, np.maximum(size, 1)], axis=1)
        return UnseenLosses(np.concatenate([right, wrong])[None], np.tile(weight, 2)[None])


@dataclass(frozen=True)
class PerClass(_Linear):
    """Hits, predictions and labels of every class: y_c f_c, then f_c, then y_c."""

    def width(self, n_classes: int) -> int:
        return 3 * n_classes

    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n 3C"]:
        return np.concatenate([predicted * labels, predicted, labels], axis=1)

    def slopes(self, predicted: Matrix, gradient: Float[np.ndarray, " 3C"]) -> Matrix:
        hits, _, labels = np.split(gradient, 3)
        return hits * predicted + labels

    def unseen(self, predicted: Float[np.ndarray, "K C"], weight: Float[np.ndarray, " K"]) -> UnseenLosses:
        """Return a hit, a false prediction and a missed label of every class, a block per class."""
        n_classes = predicted.shape[1]
        can_hit = np.where(predicted > 0, weight[:, None], 0.0).max(0, initial=0)
        can_miss = np.where(predicted < 1, weight[:, None], 0.0).max(0, initial=0)
        kinds = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        losses = np.einsum("jt,bc->bjtc", kinds, np.eye(n_classes)).reshape(n_classes, 3, -1)
        return UnseenLosses(losses, np.stack([can_hit, can_hit, can_miss], axis=1))


@dataclass(frozen=True)
class WrongShare(_Linear):
    """The share of classes on which prediction and label differ."""

    def width(self, n_classes: int) -> int:
        return 1

    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n 1"]:
        return (predicted + labels - 2 * predicted * labels).mean(1, keepdims=True)

    def slopes(self, predicted: Matrix, gradient: Float[np.ndarray, " 1"]) -> Matrix:
        return gradient * (1 - 2 * predicted) / predicted.shape[1]

    def unseen(self, predicted: Float[np.ndarray, "K C"], weight: Float[np.ndarray, " K"]) -> UnseenLosses:
        """Return items all right, and all wrong as those of `Totals`."""
        size = predicted.sum(1)
        wrong = np.minimum((size + np.maximum(size, 1)) / predicted.shape[1], 1)
        return UnseenLosses(np.concatenate([np.zeros_like(wrong), wrong])[None, :, None], np.tile(weight, 2)[None])


@dataclass(frozen=True)
class AnyWrong:
    """Whether prediction and label differ on some class; its probability is 1 - prod_c P(y_c = f_c)."""

    def width(self, n_classes: int) -> int:
        return 1

    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n 1"]:
        return (predicted != labels).any(1, keepdims=True).astype(np.float64)

    def expected(self, predicted: Matrix, probabilities: Matrix) -> Float[np.ndarray, "n 1"]:
        return 1 - np.where(predicted > 0, probabilities, 1 - probabilities).prod(1, keepdims=True)

    def mean_square(
        self, predicted: Matrix, probabilities: Matrix, gradient: Float[np.ndarray, " 1"], centre: float = 0.0
    ) -> Vector:
        wrong = self.expected(predicted, probabilities)[:, 0]
        return (gradient[0] - centre) ** 2 * wrong + centre**2 * (1 - wrong)

    def unseen(self, predicted: Float[np.ndarray, "K C"], weight: Float[np.ndarray, " K"]) -> UnseenLosses:
        """Return an item that is right, and one that is not."""
        return _either(weight.max(initial=0))


@dataclass(frozen=True)
class ItemRatio:
    """A ratio of an item's own hits, predictions and labels, one of `DENOMINATORS`.

    It is no linear function of the labels. Its moments are exact: of m predicted labels A are right, and B others are
    missed; A and B are independent sums of independent indicators, so that

        E u(phi_m(A, B)) = sum_ab P(A = a) P(B = b) u(phi_m(a, b)),   phi_m(a, b) = a / (a' a + b' m + c' (a + b)),

    with (a', b', c') of `DENOMINATORS` and Poisson-binomial P, at a cost of O(C n_most) per item, see `likely_most`.
    """

    kind: str

    def width(self, n_classes: int) -> int:
        return 1

    def losses(self, predicted: Matrix, labels: Matrix) -> Float[np.ndarray, "n 1"]:
        hits = (predicted * labels).sum(1, keepdims=True)
        return self._ratio(hits, predicted.sum(1, keepdims=True), labels.sum(1, keepdims=True))

    def expected(self, predicted: Matrix, probabilities: Matrix) -> Float[np.ndarray, "n 1"]:
        return self._expectation(predicted, probabilities, lambda phi: phi)[:, None]

    def mean_square(
        self, predicted: Matrix, probabilities: Matrix, gradient: Float[np.ndarray, " 1"], centre: float = 0.0
    ) -> Vector:
        return self._expectation(predicted, probabilities, lambda phi: (gradient[0] * phi - centre) ** 2)

    def unseen(self, predicted: Float[np.ndarray, "K C"], weight: Float[np.ndarray, " K"]) -> UnseenLosses:
        """Return an item all wrong, and one all right where some class is predicted."""
        return _either(weight.max(initial=0), weight[predicted.any(1)].max(initial=0))

    def _ratio(self, hits: np.ndarray, predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
        a, b, c = DENOMINATORS[self.kind]
        return quotient(hits, a * hits + b * predicted + c * labels)

    def _expectation(self, predicted: Matrix, probabilities: Matrix, of: Callable[[np.ndarray], np.ndarray]) -> Vector:
        sizes, moment = predicted.sum(1).astype(np.int64), np.zeros(len(predicted))
        first = np.argsort(-predicted, axis=1, kind="stable")[:, : sizes.max(initial=0)]  # predicted classes are few
        hits = count_distribution(np.take_along_axis(predicted * probabilities, first, axis=1))
        misses = (1 - predicted) * probabilities
        missed = count_distribution(misses, likely_most(misses))
        a, b = np.arange(hits.shape[1])[:, None], np.arange(missed.shape[1])
        for m in np.unique(sizes).tolist():
            rows = sizes == m
            phi = of(self._ratio(a, np.full((1, 1), m), a + b))
            moment[rows] = ((hits[rows] @ phi) * missed[rows]).sum(1)
        return moment


def _either(worst: float, best: float | None = None) -> UnseenLosses:
    return UnseenLosses(np.array([[[0.0], [1.0]]]), np.array([[worst, worst if best is None else best]]))


def count_distribution(probabilities: Matrix, n_most: int | None = None) -> Float[np.ndarray, "n N"]:
    """Compute the Poisson-binomial probabilities of 0, ..., n_most successes in C independent trials, N = n_most + 1.

    One trial at a time: P_c(k) = P_{c-1}(k) (1 - p_c) + P_{c-1}(k - 1) p_c. By default n_most is C.

    Examples
    --------
    >>> count_distribution(np.array([[0.5, 0.5], [1.0, 0.25]])).tolist()
    [[0.25, 0.5, 0.25], [0.0, 0.75, 0.25]]
    """
    n_items, n_trials = probabilities.shape
    limit = n_trials if n_most is None else n_most
    chances = np.zeros((n_items, limit + 1))
    chances[:, 0] = 1
    some = probabilities[:, probabilities.any(0)]  # others change nothing
    for trial, p in enumerate(some.T[:, :, None], start=1):
        most = min(trial, limit)
        shifted = chances[:, :most] * p
        chances[:, :trial] *= 1 - p
        chances[:, 1 : trial + 1] += shifted
    return chances


def likely_most(probabilities: Matrix) -> int:
    """Return a number of successes that is exceeded in C independent trials with a probability below 1e-20.

    With m expected successes that of k or more is at most exp(k - m) (m / k)^k, k > m (Chernoff).

    Examples
    --------
    >>> likely_most(np.full((1, 3), 0.5)), likely_most(np.full((1, 1000), 0.005))
    (3, 38)
    """
    n_trials, mean = probabilities.shape[1], probabilities.sum(1).max(initial=0)
    k = np.arange(1, n_trials + 1)
    with np.errstate(divide="ignore"):  # of a mean of 0
        rare = (k > mean) & (k - mean + k * np.log(mean / k) < _NEVER)
    return int(rare.argmax()) if rare.any() else n_trials
