"""Labels of items that are yet without one, from distributions that are drawn of every row of a belief."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.models._numerics.polya_urn import are_few, urn_counts


class DrawnLabels(ABC):
    """A belief on labels whose distributions can be drawn, those of all R rows at a time."""

    of_all: ClassVar[bool] = False  # whether it is about all labels, not about those of items without an event alone
    counts: Float[Array, "R C"]  # (R, C)

    @abstractmethod
    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        """Draw `n` distributions of labels for every row, on the host."""

    def completed(self, rng: np.random.Generator, wrong: Int[np.ndarray, "n R"]) -> Int[np.ndarray, "n R C"]:
        """Draw the labels of so many further items of every row, on the host."""
        return _labelled(rng, self.drawn(rng, len(wrong)), wrong)

    def given_accuracy(self, right: Float[np.ndarray, " R"]) -> DrawnLabels:
        """Take into account what share of the predictions of every class is right, where that tells of other labels."""
        return self

    def in_parts(self, rng: np.random.Generator, n: int, most: int) -> Iterator[tuple[slice, DrawnLabels]]:
        """Divide `n` draws into parts of at most so many, and say from what to draw those of every part in turn.

        Examples
        --------
        >>> from bayes_assess.models.error_labels import ErrorLabels
        >>> [some for some, _ in ErrorLabels.none().in_parts(np.random.default_rng(0), 5, 2)]
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
        """
        return ((slice(start, min(start + most, n)), self) for start in range(0, n, most))


class DirichletLabels(DrawnLabels):
    """A belief on labels whose distributions are Dirichlet ones once their parameters are drawn."""

    @abstractmethod
    def _parameters(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        """Draw the parameters of all rows `n` times, 0 where a label is impossible."""

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        """Draw `n` distributions of labels for every row, on the host."""
        return _distributions(rng, self._parameters(rng, n))

    def completed(self, rng: np.random.Generator, wrong: Int[np.ndarray, "n R"]) -> Int[np.ndarray, "n R C"]:
        """Draw the labels of so many further items of every row, on the host."""
        alpha = self._parameters(rng, len(wrong))
        if are_few(wrong, alpha.shape[-1]):
            return urn_counts(rng, alpha, wrong)
        return _labelled(rng, _distributions(rng, alpha), wrong)


def _distributions(rng: np.random.Generator, alpha: Float[np.ndarray, "n R C"]) -> Float[np.ndarray, "n R C"]:
    gamma = rng.standard_gamma(alpha)
    return gamma / np.maximum(gamma.sum(-1, keepdims=True), 1e-300)


def _labelled(
    rng: np.random.Generator, theta: Float[np.ndarray, "n R C"], items: Int[np.ndarray, "n R"]
) -> Int[np.ndarray, "n R C"]:
    return rng.multinomial(items, theta / np.maximum(theta.sum(-1, keepdims=True), 1.0))


@dataclass(frozen=True)
class GivenLabels(DrawnLabels):
    """Distributions of labels that have been drawn: all that there are, or their first ones.

    Attributes
    ----------
    counts : (R, C)
        Labelled items.
    distributions : (n, R, C)
    """

    counts: Float[Array, "R C"]
    distributions: Float[np.ndarray, "n R C"]

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        """Return the first `n` of them."""
        return self.distributions[:n]
