"""Labels of items that are yet without one, from distributions that are drawn of every row of a belief."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from bayes_assess._tools.shapes import Array, Float, Int


class DrawnLabels(ABC):
    """A belief on labels whose distributions can be drawn, those of all R rows at a time."""

    of_all: ClassVar[bool] = False  # whether it is about all labels, not about those of items without an event alone
    counts: Float[Array, "R C"]  # (R, C)

    @abstractmethod
    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        """Draw `n` distributions of labels for every row, on the host."""

    def completed(self, rng: np.random.Generator, wrong: Int[np.ndarray, "n R"]) -> Int[np.ndarray, "n R C"]:
        """Draw the labels of so many further items of every row, on the host."""
        theta = self.drawn(rng, len(wrong))
        return rng.multinomial(wrong, theta / np.maximum(theta.sum(-1, keepdims=True), 1.0))
