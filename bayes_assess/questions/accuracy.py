"""Accuracy by group: of every group, or which groups are the least or the most accurate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.rewards import (
    MOST_BORROWED,
    AccuracyVarianceReduction,
    HighAccuracy,
    LowAccuracy,
    Reward,
)
from bayes_assess.estimators.finite_pool import value_draws, value_interval, value_mean
from bayes_assess.estimators.random_labels import random_labels
from bayes_assess.models.belief import Belief, beta_marginals
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import AnswerT_co, Question, check_target, pool_size
from bayes_assess.questions._bounded import BoundedByShares
from bayes_assess.questions._covariates import column_names, mean_columns
from bayes_assess.questions._extremes import ExtremeValue, no_interval
from bayes_assess.questions._priors import accuracy_prior

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior
    from bayes_assess.pool.groups import By


@dataclass(frozen=True, eq=False)
class GroupAccuracy(BoundedByShares, Question[AnswerT_co, AnswerT_co]):
    """How accurate is the system in every group? See [ABA] "Estimation".

    Parameters
    ----------
    by : str, ScoreBins, array or Partition
        The groups: ``"prediction"``, the name of one of the pool's group columns, bins of the confidence, or one
        group value per item.
    target : {"pool", "population"}
        Whether the accuracy of this finite pool is asked for, which is known exactly once everything is labelled,
        or the accuracy theta of the population that the pool was drawn from.
    covariates : sequence of str
        Columns of the pool with numbers, such as the age or the length of an item. The learned prior finds out how far
        a group's accuracy goes with their means; fixed priors take no notice of them.

    Raises
    ------
    QuestionError
        If `target` or a name of a covariate is none.
    PriorError
        When asked of a pool without such a column of numbers.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], classes=["cat", "dog"])
    >>> assessment = ba.assess(pool, ba.GroupAccuracy(by="prediction"), prior="informative")
    >>> assessment.result().estimate.round(2).tolist()  # nothing labelled: the mean scores
    [0.85, 0.7]
    """

    asks: ClassVar[str] = "How accurate is the system{of_every}?"
    by: By = "prediction"
    target: str = field(default="pool", kw_only=True)
    covariates: Sequence[str] = field(default=(), kw_only=True)

    quantity: ClassVar[str] = "accuracy"
    low_is_worst: ClassVar[bool] = True
    has_overall: ClassVar[bool] = True
    plan_matched: ClassVar[bool] = True

    def __post_init__(self):
        check_target(self.target)
        object.__setattr__(self, "covariates", column_names(self.covariates))

    @property
    def scores(self) -> tuple[str, ...]:
        """RMSE over groups."""
        return ("rmse",)

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into this question's cells, one per group."""
        return cells(pool, self.by, seed=seed)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Belief:
        """Build the prior of every group's accuracy; a fixed one counts as two labels."""
        covariates = mean_columns(pool, self.by, self.covariates)
        return accuracy_prior(cells, prior, strength, self.default_strength, covariates)

    def belief_of_accuracies(
        self, accuracy: Float[np.ndarray, "S K"], pooled: Belief, seed: int
    ) -> SampledBelief | None:
        """Return the draws as a belief; None of a question with outcomes of its own, which are no accuracies."""
        if type(self).outcomes is not GroupAccuracy.outcomes:
            return None
        return SampledBelief(accuracy, np.zeros(len(accuracy)))

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: the variance that it takes away."""
        return AccuracyVarianceReduction(most_borrowed=MOST_BORROWED)

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return 1 where the label agrees with the prediction, else 0."""
        return (labels == pool.predictions[pool.rows_of(items)]).astype(np.int64)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K 2"]) -> Float[np.ndarray, " K"]:
        """Compute every group's accuracy at full labels; 0 for a group without items."""
        return full[:, 1] / np.maximum(full.sum(1), 1)

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch K 2"]:
        """Return the bounds of the share of agreements."""
        return np.stack([low[..., 1], high[..., 1]], axis=-1)

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch K"]:
        """Compute the posterior mean of every group's accuracy from counts of outcomes (..., K, 2)."""
        return value_mean(prior.update_counts(counts), counts, pool_size(self, cells))

    def random_labels(
        self, cells: Cells, full: Int[np.ndarray, "F K 2"], width: Float[np.ndarray, " F"], level: float, overall: bool
    ) -> Float[np.ndarray, " F"]:
        """Count the random labels that give the widest interval, or the overall one, a width."""
        sizes, n_items = cells.sizes, int(cells.sizes.sum())
        if overall:
            return random_labels(full[..., 1].sum(-1) / n_items, width, n_items, level)
        some = sizes > 0
        share = full[:, some, 1] / sizes[some]
        return (random_labels(share, width[:, None], sizes[some], level) * n_items / sizes[some]).max(-1)

    def interval_needs_draws(self, posterior: Belief) -> bool:
        """Accuracies have no closed form in a pool where groups learn from each other."""
        return self.target == "pool" and beta_marginals(posterior) is None

    def _equal_tailed(self, cells, prior, counts, level, draws) -> Float[np.ndarray, "*batch K 2"]:
        """Compute the equal-tailed credible interval of every group's accuracy from counts (..., K, 2)."""
        if draws is not None:
            return super()._equal_tailed(cells, prior, counts, level, draws)
        return value_interval(prior.update_counts(counts), counts, pool_size(self, cells), level)

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates against the truth: RMSE weighted by the groups' shares ([ABA] "Estimation")."""
        error = self.estimate(cells, prior, counts) - self.truth_of_counts(cells, full)
        return {"rmse": np.sqrt(np.sum(cells.weights * error**2, axis=-1))}

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        return value_draws(prior.update_counts(counts), counts, pool_size(self, cells), seed, n)


@dataclass(frozen=True, eq=False)
class _ExtremeAccuracy(ExtremeValue[AnswerT_co], GroupAccuracy[AnswerT_co]):
    """Which m groups have the most extreme accuracy?"""

    m: int = 1

    unplannable: ClassVar[str] = no_interval("GroupAccuracy")

    def __post_init__(self):
        super().__post_init__()
        self._check_m()


@dataclass(frozen=True, eq=False)
class LeastAccurate(_ExtremeAccuracy[AnswerT_co]):
    """Which m groups are the least accurate? See [ABA] "Identification".

    Parameters
    ----------
    by : str, ScoreBins, array or Partition
        The groups, as for `GroupAccuracy`.
    m : int
        How many groups to find.
    target : {"pool", "population"}
        As for `GroupAccuracy`.
    covariates : sequence of str
        As for `GroupAccuracy`.

    Examples
    --------
    >>> LeastAccurate(by="site", m=3)
    LeastAccurate(by='site', target='pool', covariates=(), m=3)
    """

    sign: ClassVar[int] = -1
    adjective: ClassVar[str] = "least accurate"

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: minus its accuracy."""
        return LowAccuracy(self.n_sought)


@dataclass(frozen=True, eq=False)
class MostAccurate(_ExtremeAccuracy[AnswerT_co]):
    """Which m groups are the most accurate? See [ABA] "Identification".

    Parameters
    ----------
    by, m, target, covariates
        As for `LeastAccurate`.

    Examples
    --------
    >>> MostAccurate(m=2)
    MostAccurate(by='prediction', target='pool', covariates=(), m=2)
    """

    sign: ClassVar[int] = 1
    adjective: ClassVar[str] = "most accurate"

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: its accuracy."""
        return HighAccuracy(self.n_sought)
