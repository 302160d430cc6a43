"""Answers from counts: estimates, credible intervals and draws, of a session or of many simulated campaigns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from bayes_assess._tools.engine import eager
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.models.belief import Belief, beta_marginals, runs_on_numpy
from bayes_assess.pool.cells import Cells
from bayes_assess.questions._setting import Simulated

_STUDY_DRAWS = 1000  # for the intervals of many campaigns
_NUMBERS = 5_000_000  # drawn at a time
_COUNTS_AT_ONCE = 20_000_000  # evaluated at a time
_FEW = 64  # counts, whose answers are there on NumPy before a program is compiled
_DRAWS_EACH = 200  # or points of a mixture, where there is no closed form


class Answered(ABC):
    """What follows from the labels of K cells by outcome, `counts` (..., K, O), and a `prior` of these cells."""

    @abstractmethod
    def estimate(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"]) -> np.ndarray:
        """Compute the posterior mean of what is asked, (..., *answer)."""

    @abstractmethod
    def evaluate(
        self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"], full: Int[np.ndarray, "K O"]
    ) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates against the answer at full labels ([ABA] "Evaluation")."""

    def study_estimates(self, campaigns: Simulated) -> np.ndarray:
        """Compute the estimates of simulated campaigns, (R, B, *answer)."""
        estimate = partial(self.estimate, campaigns.cells, campaigns.prior)
        with _engine_for(campaigns):
            return np.concatenate([estimate(counts) for counts in _blocks(campaigns)])

    def study_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Compute the intervals of simulated campaigns, (R, B, *answer, 2)."""
        interval = partial(self.interval, campaigns.cells, campaigns.prior)
        with _engine_for(campaigns):
            return np.concatenate([interval(counts, level) for counts in _blocks(campaigns)])

    def plan_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Compute the intervals of a few campaigns that a plan follows, (R, B, *answer, 2): those of studies.

        Questions whose intervals are made of draws may have a formula here that comes near: the widest of many
        intervals of draws is too wide.
        """
        return self.study_intervals(campaigns, level)

    def study_design_intervals(self, campaigns: Simulated, level: float) -> np.ndarray | None:
        """Return intervals that lean on random items alone, (R, B, *answer, 2); None where there are none."""
        return None

    def study_scores(self, campaigns: Simulated) -> dict[str, Float[np.ndarray, "R B"]]:
        """Score simulated campaigns."""
        with _engine_for(campaigns):
            blocks = [
                self.evaluate(campaigns.cells, campaigns.prior, counts, campaigns.full) for counts in _blocks(campaigns)
            ]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    def draws(
        self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"], seed: int, n: int
    ) -> Float[np.ndarray, "S ..."]:
        """Draw what is asked from its posterior, (n, ..., *answer)."""
        return np.concatenate(list(self._draw_blocks(cells, prior, counts, seed, n)))

    @abstractmethod
    def _draw_blocks(self, cells: Cells, prior: Belief, counts: np.ndarray, seed: int, n: int) -> Iterator[np.ndarray]:
        """Draw what is asked from its posterior, some draws at a time."""

    def interval_needs_draws(self, posterior: Belief) -> bool:
        """Tell whether credible intervals are made of posterior draws, as there is no closed form."""
        return True

    def interval(
        self,
        cells: Cells,
        prior: Belief,
        counts: Int[np.ndarray, "*batch K O"],
        level: float,
        draws: Float[np.ndarray, "S ..."] | None = None,
        estimate: Float[np.ndarray, "..."] | None = None,
    ) -> Float[np.ndarray, "... 2"]:
        """Compute the credible interval of what is asked, (..., *answer, 2).

        It is equal-tailed, extended to the posterior mean where a long tail puts that outside.

        Parameters
        ----------
        draws : (S, ..., *answer), optional
            Posterior draws to take its ends from, where there is no closed form; 1,000 are made if left out.
        estimate : (..., *answer), optional
            The posterior mean, if it is known; it is computed if left out.
        """
        ends = self._equal_tailed(cells, prior, counts, level, draws)
        return extended(ends, self.estimate(cells, prior, counts) if estimate is None else estimate)

    def _equal_tailed(
        self,
        cells: Cells,
        prior: Belief,
        counts: Int[np.ndarray, "*batch K O"],
        level: float,
        draws: Float[np.ndarray, "S ..."] | None,
    ) -> Float[np.ndarray, "... 2"]:
        """Compute the equal-tailed credible interval of what is asked, (..., *answer, 2)."""
        tails = [(1 - level) / 2, (1 + level) / 2]
        if draws is not None:
            return np.moveaxis(np.quantile(draws, tails, axis=0), 0, -1)
        flat = counts.reshape(-1, *counts.shape[-2:])
        step = max(1, _NUMBERS // (_STUDY_DRAWS * flat[0].size))
        parts = []
        for start in range(0, len(flat), step):
            some = self.draws(cells, prior, flat[start : start + step], start, _STUDY_DRAWS)
            parts.append(np.moveaxis(np.quantile(some, tails, axis=0), 0, -1))
        ends = np.concatenate(parts)
        return ends.reshape(*counts.shape[:-2], *ends.shape[1:])


def _engine_for(campaigns: Simulated) -> AbstractContextManager[None]:
    """Compute on NumPy if what is known of campaigns is little, and compiled if it is much."""
    return eager(math.prod(campaigns.counts.shape[:2]) <= _FEW and runs_on_numpy(campaigns.prior))


def _blocks(campaigns: Simulated) -> Iterator[Int[np.ndarray, "R B K O"]]:
    """Yield the counts of some campaigns at a time, so that memory holds the counts and little else."""
    counts = campaigns.counts
    closed = beta_marginals(campaigns.prior) is not None
    step = max(1, (_COUNTS_AT_ONCE if closed else _COUNTS_AT_ONCE // _DRAWS_EACH) // counts[0].size)
    return (counts[start : start + step] for start in range(0, len(counts), step))
