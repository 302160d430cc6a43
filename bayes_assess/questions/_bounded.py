"""Questions whose answers are put together from shares of outcomes in cells, which random labels bound alone."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.pool.cells import Cells
from bayes_assess.questions._setting import Simulated

_AT_ONCE = 2_000_000  # counts whose shares are bounded at a time


class BoundedByShares(ABC):
    """What has intervals that lean on nothing, see `estimators.random_counts`."""

    target: str

    @abstractmethod
    def extremes(
        self, cells: Cells, low: Float[np.ndarray, "*batch K O"], high: Float[np.ndarray, "*batch K O"]
    ) -> Float[np.ndarray, "... 2"]:
        """Return the least and the greatest value of what is asked with shares of outcomes between these."""

    def n_shares(self, cells: Cells) -> int:
        """How many of these shares, at most, an answer is put together from."""
        return 1

    def random_interval(self, cells: Cells, labels: RandomLabels, level: float) -> Float[np.ndarray, "... 2"]:
        """Bound what is asked by random labels alone, (..., *answer, 2).

        Each answer for itself is held with the probability `level` at all moments together; one that is put together
        from several shares has bounds of these that hold all at once (Bonferroni).
        """
        each = 1 - (1 - level) / max(self.n_shares(cells), 1)
        return self.extremes(cells, *labels.shares(cells.sizes, each, of_pool=self.target == "pool"))

    def study_design_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Compute the intervals of simulated campaigns that lean on random labels alone, (R, B, *answer, 2)."""
        counts = campaigns.counts
        step = max(1, _AT_ONCE // counts[0].size)
        some = (RandomLabels.all_of(counts[start : start + step]) for start in range(0, len(counts), step))
        return np.concatenate([self.random_interval(campaigns.cells, labels, level) for labels in some])
