"""Is a group better calibrated than another?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.equivalence import rope_masses_samples
from bayes_assess.acquisition.rewards import MOST_BORROWED, Reward, ScaledVarianceReduction
from bayes_assess.models.belief import Belief
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration
from bayes_assess.models.separate_curves import SeparateCurves
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.groups import By
from bayes_assess.questions._base import AnswerT_co
from bayes_assess.questions._calibration_bins import CalibrationQuestion, as_bins, by_group
from bayes_assess.questions._comparison import GroupPair, differences
from bayes_assess.questions.calibration import Calibration

if TYPE_CHECKING:
    from bayes_assess.pool.groups import ScoreBins


MEASURE = "ece"
_DRAWS = 4_000
_NUMBERS = 20_000_000  # drawn at a time
_ROUNDING = 1e-9  # of differences that are exactly the rope


@dataclass(frozen=True, eq=False)
class CalibrationApart(Calibration):
    """Calibration errors of groups of which some, by their numbers, learn from their own labels alone."""

    apart: tuple[int, ...] = ()

    def posterior(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K 2"]) -> Belief:
        """Return what answers are taken from."""
        if isinstance(prior, HierarchicalCalibration):
            return SeparateCurves.of(prior, counts, self.apart)
        return super().posterior(cells, prior, counts)


@dataclass(frozen=True, eq=False, repr=False)
class TwoCalibrations(GroupPair[AnswerT_co], CalibrationQuestion[AnswerT_co]):
    """Which of two groups has the greater calibration error? Made by `Compare`.

    D = ECE_1 - ECE_2 has no closed form: its masses are those of 4,000 joint posterior draws. Items are drawn at random
    from bins of the confidence within the two groups. By the learned prior each of the two learns from its own labels
    alone (`SeparateCurves`), as a belief that they are alike would answer the question. With few labels per bin draws
    of either error lie above it, the more the better calibrated the group, so that verdicts lean to equivalence.
    """

    asks: ClassVar[str] = "Which has the greater calibration error, {first} or {second}?"
    by: By | None
    rope: float
    first: Hashable
    second: Hashable
    bins: int | ScoreBins = 10
    measure: str = MEASURE
    target: str = field(default="pool", kw_only=True)

    quantity: ClassVar[str] = "difference of calibration errors"
    designs: ClassVar[tuple[str, ...] | None] = ("thompson", "top_two", "epsilon_greedy", "random", "random_group")

    def __post_init__(self):
        as_bins(self.bins)

    def is_single(self, cells: Cells) -> bool:
        """Say yes: there is one difference."""
        return True

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a bin is worth: what it takes from a bound of the variance of the difference."""
        scale = self.shares(cells).ravel() * self.playable(cells)
        return ScaledVarianceReduction(scale=scale, most_borrowed=MOST_BORROWED)

    def posterior(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K 2"]) -> Belief:
        """Return what answers are taken from: by the learned prior, each of the two groups by its own labels."""
        return self.each(cells).posterior(cells, prior, counts)

    def each(self, cells: Cells) -> CalibrationApart:
        """Return the question about the calibration error of each group, those compared by their own labels."""
        return CalibrationApart(self.bins, self.by, self.pair(cells), target=self.target)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K 2"]) -> Float[np.ndarray, ""]:
        """Compute the difference of the calibration errors at full labels, first less second."""
        return self._difference(cells, super().truth_of_counts(cells, full))

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch"]:
        """Compute the posterior mean of the difference, first less second."""
        return self._difference(cells, super().estimate(cells, prior, counts))

    def masses(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch 3"]:
        """Compute the three masses of the difference from draws, always the same for the same counts."""
        flat = counts.reshape(-1, *counts.shape[-2:])
        step = max(1, _NUMBERS // (_DRAWS * flat[0].size))
        parts = []
        for start in range(0, len(flat), step):
            draws = self.draws(cells, prior, flat[start : start + step], 0, _DRAWS)
            parts.append(np.asarray(rope_masses_samples(draws, np.zeros(()), self.rope + _ROUNDING)))
        return np.concatenate(parts).reshape(*counts.shape[:-2], 3)

    def _widened(self, cells, posterior, drawn, level) -> Float[np.ndarray, "N 2"]:
        """Widen either end by what each error leans on: one may be as small, the other as great, as for `Calibration`.

        Absolute gaps of a calibrated group add up to something, so that D draws near to 0.
        """
        (first, second), tails = self.pair(cells), [(1 - level) / 2, (1 + level) / 2]
        errors, least, most = self._error_draws(cells, posterior, drawn)
        low, high = np.quantile(errors[..., first] - errors[..., second], tails, axis=0)
        for great in (errors, most):
            low = np.minimum(low, np.quantile(least[..., first] - great[..., second], tails[0], axis=0))
            high = np.maximum(high, np.quantile(great[..., first] - least[..., second], tails[1], axis=0))
        return np.stack([low, high], axis=-1)

    def n_shares(self, cells: Cells) -> int:
        """Those of right items in the bins of both groups, as many as have items."""
        return int((by_group(cells, cells.sizes)[list(self.pair(cells))] > 0).sum())

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch 2"]:
        """Bound the difference by the calibration errors that are furthest apart."""
        (first, second), (least, most) = self.pair(cells), self._extreme_errors(cells, low, high)
        return differences(least[..., first], most[..., first], least[..., second], most[..., second])

    def _difference(self, cells: Cells, errors: Float[np.ndarray, "*batch G"]) -> Float[np.ndarray, "*batch"]:
        first, second = self.pair(cells)
        return errors[..., first] - errors[..., second]

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        for errors in super()._draw_blocks(cells, prior, counts, seed, n):
            yield self._difference(cells, errors)
