"""Is a group more accurate than another? Two groups, or all pairs of groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.acquisition.verdict_rewards import ExpectedLambda, PairwiseLambda
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import difference_in_halves, pair_masses, value_draws, value_mean
from bayes_assess.estimators.random_labels import labels_of_variance
from bayes_assess.estimators.widest_intervals import widest_beta_intervals
from bayes_assess.models.belief import Belief, beta_marginals, is_mixture
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import AnswerT_co, pool_size
from bayes_assess.questions._comparison import Comparison, GroupPair, differences, success
from bayes_assess.questions._priors import accuracy_prior
from bayes_assess.questions._setting import Simulated

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior
    from bayes_assess.pool.groups import By


@dataclass(frozen=True, eq=False, repr=False)
class _GroupComparison(Comparison[AnswerT_co]):
    """Accuracies of groups compared; the groups' posteriors are independent Beta distributions.

    Decisions are [ABA]'s for either target: a label is worth the verdict on the population that it is expected to
    allow. Only where few items of a group remain would the pool's own verdict choose otherwise.
    """

    by: By
    rope: float
    target: str = field(default="pool", kw_only=True)

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into its groups, compared or not."""
        return cells(pool, self.by, seed=seed)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Belief:
        """Build the prior of every group's accuracy; a fixed one counts as two labels."""
        return accuracy_prior(cells, prior, strength, self.default_strength)

    def random_labels(
        self, cells: Cells, full: Int[np.ndarray, "F K 2"], width: Float[np.ndarray, " F"], level: float, overall: bool
    ) -> Float[np.ndarray, " F"]:
        """Count the random labels that give the widest interval of a difference a width."""
        n_items = int(cells.sizes.sum())
        filled = np.flatnonzero(self.playable(cells) & (cells.sizes > 0))
        p = full[:, filled, 1] / cells.sizes[filled]
        of_groups = np.sort(p * (1 - p) * n_items / cells.sizes[filled], axis=-1)
        return labels_of_variance(of_groups[:, -2:].sum(-1), width, n_items, level)

    def belief_of_accuracies(self, accuracy: Float[np.ndarray, "S K"], pooled: Belief, seed: int) -> SampledBelief:
        """Return the draws as a belief."""
        return SampledBelief(accuracy, np.zeros(len(accuracy)))

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return 1 where the label agrees with the prediction, else 0."""
        return (labels == pool.predictions[pool.rows_of(items)]).astype(np.int64)

    def accuracy(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch K"]:
        """Compute the posterior mean accuracy of every group, in the pool or in the population."""
        return value_mean(prior.update_counts(counts), counts, pool_size(self, cells))

    def plan_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Compute the intervals of a few campaigns, (R, B, 1, P, 2): by moments, unless accuracies are draws.

        Of several pairs those that may be the widest; the ends of the others coincide.
        """
        half = self._plan_halves(campaigns)
        if half is None:
            return super().plan_intervals(campaigns, level)
        return (2 * widest_beta_intervals(half.a, half.b, level) - 1)[..., None, :, :]

    def plan_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the probability of the least sure verdict in a few campaigns: by moments, where groups learn."""
        half = self._plan_halves(campaigns) if is_mixture(campaigns.prior) else None
        if half is None:
            return super().plan_verdicts(campaigns)
        below, above = (
            special.betainc(half.a, half.b, (1 - self.rope) / 2),
            special.betaincc(half.a, half.b, (1 + self.rope) / 2),
        )
        return np.maximum(np.maximum(below, above), 1 - below - above).min(-1)

    def _plan_halves(self, campaigns: Simulated) -> Any:
        """Return Beta variables in the place of (1 + D) / 2, None where the belief is one of draws."""
        posterior: Any = campaigns.prior.update_counts(campaigns.counts)
        if beta_marginals(posterior) is None and not hasattr(posterior, "parts"):
            return None
        sizes = pool_size(self, campaigns.cells)
        return difference_in_halves(posterior, campaigns.counts, sizes, *self._pairs(campaigns.cells))

    @abstractmethod
    def _pairs(self, cells: Cells) -> tuple[Int[np.ndarray, " P"], Int[np.ndarray, " P"]]:
        """Return the groups that are compared, first and second."""

    def pair_masses(
        self, cells: Cells, prior: Belief, counts, first: Int[np.ndarray, " P"], second: Int[np.ndarray, " P"]
    ) -> Float[np.ndarray, "*batch P 3"]:
        """Compute the three masses of the differences of some pairs."""
        return pair_masses(prior.update_counts(counts), counts, pool_size(self, cells), first, second, self.rope)


@dataclass(frozen=True, eq=False, repr=False)
class TwoGroups(GroupPair[AnswerT_co], _GroupComparison[AnswerT_co]):
    """Which of two groups is more accurate? Made by `Compare`."""

    asks: ClassVar[str] = "Is {first} or {second} more accurate?"
    first: Hashable
    second: Hashable

    designs: ClassVar[tuple[str, ...] | None] = ("thompson", "top_two", "epsilon_greedy", "random", "random_group")

    def is_single(self, cells: Cells) -> bool:
        """Say yes: there is one difference."""
        return True

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of either group is worth: the probability of the verdict to be expected after it."""
        return ExpectedLambda(np.array(self.pair(cells)), np.float64(self.rope))

    def _pairs(self, cells: Cells) -> tuple[Int[np.ndarray, " 1"], Int[np.ndarray, " 1"]]:
        first, second = np.array(self.pair(cells))[:, None]
        return first, second

    def masses(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch 3"]:
        """Compute the three masses of the difference."""
        first, second = self._pairs(cells)
        return self.pair_masses(cells, prior, counts, first, second)[..., 0, :]

    def _masses_once(self, cells: Cells, prior: Belief, counts: np.ndarray) -> np.ndarray:
        if beta_marginals(prior) is None:  # the others have a say
            return self.masses(cells, prior, counts)
        others = np.ones(cells.n_cells, bool)
        others[list(self.pair(cells))] = False
        counts = counts.copy()
        counts[..., others, :] = 0  # so that more states are the same
        return super()._masses_once(cells, prior, counts)

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch 2"]:
        """Bound the difference by the accuracies that are furthest apart."""
        first, second = self.pair(cells)
        return differences(low[..., first, 1], high[..., first, 1], low[..., second, 1], high[..., second, 1])

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K 2"]) -> Float[np.ndarray, ""]:
        """Compute the difference of the accuracies at full labels, first less second."""
        accuracy = full[:, 1] / np.maximum(full.sum(1), 1)
        first, second = self.pair(cells)
        return accuracy[first] - accuracy[second]

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch"]:
        """Compute the posterior mean of the difference, first less second."""
        mean = self.accuracy(cells, prior, counts)
        first, second = self.pair(cells)
        return mean[..., first] - mean[..., second]

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        first, second = self.pair(cells)
        for theta in value_draws(prior.update_counts(counts), counts, pool_size(self, cells), seed, n):
            yield theta[..., first] - theta[..., second]


@dataclass(frozen=True, eq=False, repr=False)
class AllPairs(_GroupComparison[AnswerT_co]):
    """Which groups are more accurate than which? Made by `Compare`."""

    asks: ClassVar[str] = "Which groups{by} are more accurate than which?"
    verdicts = "several"
    designs: ClassVar[tuple[str, ...] | None] = ("thompson", "top_two", "epsilon_greedy", "random", "random_group")

    def study_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the probability of the least sure verdict on groups with items in simulated campaigns."""
        sure, filled = super().study_verdicts(campaigns), np.flatnonzero(campaigns.cells.sizes)
        return sure[:, :, filled][..., filled].min(axis=(2, 3))

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if there are fewer than two groups with items."""
        if (cells.sizes > 0).sum() < 2:
            raise QuestionError(f"There are not two groups with items by {cells.description} that could be compared.")

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: what it adds to the verdicts on all its pairs."""
        return PairwiseLambda(np.float64(self.rope))

    def _pairs(self, cells: Cells) -> tuple[Int[np.ndarray, " P"], Int[np.ndarray, " P"]]:
        filled = np.flatnonzero(cells.sizes)
        first, second = np.triu_indices(len(filled), 1)
        return filled[first], filled[second]

    def masses(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch G G 3"]:
        """Compute the three masses of every pair's difference, row less column."""
        n_groups = cells.n_cells
        first, second = np.triu_indices(n_groups, 1)
        upper = self.pair_masses(cells, prior, counts, first, second)
        masses = np.zeros((*counts.shape[:-2], n_groups, n_groups, 3))
        masses[..., first, second, :] = upper
        masses[..., second, first, :] = upper[..., ::-1]
        masses[..., np.arange(n_groups), np.arange(n_groups), 1] = 1.0  # a group is as good as itself
        return masses

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch G G 2"]:
        """Bound all differences by the accuracies that are furthest apart, row less column."""
        low, high = low[..., 1], high[..., 1]
        ends = differences(low[..., :, None], high[..., :, None], low[..., None, :], high[..., None, :])
        return np.where(np.eye(cells.n_cells, dtype=bool)[..., None], 0.0, ends)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K 2"]) -> Float[np.ndarray, "G G"]:
        """Compute the differences of all accuracies at full labels, row less column."""
        accuracy = full[:, 1] / np.maximum(full.sum(1), 1)
        return accuracy[:, None] - accuracy[None, :]

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch G G"]:
        """Compute the posterior means of all differences, row less column."""
        mean = self.accuracy(cells, prior, counts)
        return mean[..., :, None] - mean[..., None, :]

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score verdicts, as means over all pairs of groups with items."""
        first, second = self._pairs(cells)
        masses = self.pair_masses(cells, prior, counts, first, second)
        succeeded, right = success(masses, self.pair_masses(cells, prior, full, first, second))
        error = self.estimate(cells, prior, counts) - self.truth_of_counts(cells, full)
        error = np.abs(error[..., first, second])
        return {"success": succeeded.mean(-1), "right": right.mean(-1), "error": error.mean(-1)}

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        for theta in value_draws(prior.update_counts(counts), counts, pool_size(self, cells), seed, n):
            yield theta[..., :, None] - theta[..., None, :]
