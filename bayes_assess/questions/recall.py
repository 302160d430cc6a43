"""Recall by group, the true positive rate: of every group, or which groups have the lowest or the highest."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import listing
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.acquisition.rewards import MOST_BORROWED, HighAccuracy, LowAccuracy, RecallVarianceReduction, Reward
from bayes_assess.errors import InferenceError, QuestionError
from bayes_assess.estimators.finite_pool import value_draws
from bayes_assess.estimators.intervals import beta_interval, pool_interval
from bayes_assess.measures import positive_code
from bayes_assess.measures._item_attributes import item_scores
from bayes_assess.models.belief import Belief, beta_marginals, check_belief, is_mixture
from bayes_assess.models.true_positive_rate import FOUND, MISSED, NEGATIVE, TruePositiveRate, true_positive_rate
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.counting import add_up
from bayes_assess.pool.groups import Cut, partition
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import AnswerT_co, Question, check_target
from bayes_assess.questions._bounded import BoundedByShares
from bayes_assess.questions._covariates import column_names, mean_columns
from bayes_assess.questions._extremes import ExtremeValue, no_interval
from bayes_assess.questions._priors import LEARNED, accuracy_prior

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior
    from bayes_assess.pool.groups import By


_N_OUTCOMES = 3
# Log odds by which levels may be off what scores say, either way; of None they are as those of accuracies, half way to
# the usual.
_AROUND_RATES, _AROUND_SHARES = 3.0, 3.0


@dataclass(frozen=True, eq=False)
class GroupRecall(BoundedByShares, Question[AnswerT_co, AnswerT_co]):
    """Which share of the positive items does the system find in every group? See [ABA] "Estimation".

    That is the true positive rate of a group, which equality of opportunity compares. Items are drawn at random from
    groups, positive or not, since nobody knows before; those whose label is positive count. How many others are
    positive is learned from the same labels. Predictions of unlabelled items play no part, as in [ABA]; where positive
    items are rare, ``Metric("recall", by=...)`` needs fewer labels.

    Parameters
    ----------
    by : str, ScoreBins, array or Partition
        The groups, as for `GroupAccuracy`; those of ``"prediction"`` would find everything or nothing.
    positive : class name, optional
        The positive class; the second of two by default. Of more than two classes it is one against the rest.
    target : {"pool", "population"}
        Whether the rate of this finite pool is asked for, or theta of the population that it was drawn from.
    covariates : sequence of str
        Columns of the pool with numbers that rates may go with, as for `GroupAccuracy`.

    Raises
    ------
    QuestionError
        If the groups are predicted classes, the target or a covariate is none, or the positive class is not said.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[1, 0, 1, 1, 0], groups={"site": ["a", "a", "a", "b", "b"]})
    >>> a = ba.assess(pool, ba.GroupRecall(by="site"))
    >>> a.tell(range(5), [1, 1, 0, 1, 0])
    >>> a.result().estimate.tolist()  # one of two is found, and the only one
    [0.5, 1.0]
    """

    asks: ClassVar[str] = "What share of the positive items does the system find{of_every}?"
    by: By
    positive: Hashable | None = None
    target: str = field(default="pool", kw_only=True)
    covariates: Sequence[str] = field(default=(), kw_only=True)

    quantity: ClassVar[str] = "recall"
    low_is_worst: ClassVar[bool] = True
    plan_matched: ClassVar[bool] = True

    def __post_init__(self):
        check_target(self.target)
        object.__setattr__(self, "covariates", column_names(self.covariates))
        if isinstance(self.by, str) and self.by == "prediction":
            raise QuestionError(
                "Of the positive items with one prediction the system has found all or none: ask for recall by a "
                "column of the pool, such as by='site'."
            )

    @property
    def scores(self) -> tuple[str, ...]:
        """RMSE over groups."""
        return ("rmse",)

    def check_pool(self, pool: Pool) -> None:
        """Raise QuestionError if it is not said which of more than two classes is the positive one."""
        super().check_pool(pool)
        self._positive(pool)

    def _positive(self, pool: Pool) -> int:
        code = positive_code(pool, self.positive)
        if code is None:
            raise QuestionError(
                f"{self.name} counts items of the positive class, and the pool has {pool.n_classes} classes "
                f"({listing(pool.classes)}): name it, positive=..."
            )
        return code

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into this question's cells, one per group."""
        return cells(pool, self.by, seed=seed)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> TruePositiveRate:
        """Build the prior of every group's rate and of its share of positive items; fixed ones count as two labels.

        A belief of the user's own is one on rates, or a `TruePositiveRate` of `models.true_positive_rate`.
        """
        if isinstance(prior, TruePositiveRate):
            check_belief(prior.share, (cells.n_cells,), "one share of positive items per group")
            check_belief(prior.rate, (cells.n_cells,), "one true positive rate per group")
            return prior
        covariates = mean_columns(pool, self.by, self.covariates)
        expected = self._expected(pool, cells)
        of_rate, of_share = (replace(cells, mean_score=score) for score in expected)
        rate = accuracy_prior(of_rate, prior, strength, self.default_strength, covariates, _AROUND_RATES)
        if prior is not None and not isinstance(prior, str):  # a belief on rates, which says nothing of shares
            prior = LEARNED if is_mixture(rate) else "uninformative"
        share = accuracy_prior(of_share, prior, strength, self.default_strength, around_scores=_AROUND_SHARES)
        return true_positive_rate(rate, share)

    def _expected(self, pool: Pool, cells: Cells) -> tuple[Any, Any]:
        """Rates and shares of positive items as the scores have them, (G,) each, or None of a pool without scores."""
        code = self._positive(pool)
        if pool.scores is None and (pool.confidence is None or pool.n_classes != 2):
            return None, None
        group, n = partition(pool, self.by).codes, cells.n_cells
        score = item_scores(pool, "positive", code, self.name)
        of_found = np.where(pool.predictions == code, score, 0.0)
        found, positive = (add_up(group, values, n, pool.multiplicity) for values in (of_found, score))
        rate = found.sum() / max(positive.sum(), np.finfo(float).tiny)  # where a group's scores say nothing
        rates = np.divide(found, positive, out=np.full(n, rate), where=positive > 0)
        share = positive.sum() / max(cells.n_items, 1)
        return np.clip(rates, 0, 1), np.divide(positive, cells.sizes, out=np.full(n, share), where=cells.sizes > 0)

    def check_posterior(self, belief: Belief) -> None:
        """Raise InferenceError if the posterior of another model is one of rates alone."""
        if getattr(belief, "share", None) is None:
            raise InferenceError(
                f"{self.name} leans on the share of positive items of every group, too, which a posterior of true "
                f"positive rates alone does not have; give a {TruePositiveRate.__module__}.TruePositiveRate, or leave "
                "the posterior out."
            )

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: the variance that it takes away, if its item is positive."""
        return RecallVarianceReduction(n_outcomes=_N_OUTCOMES, most_borrowed=MOST_BORROWED)

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return 0 for a positive item that was missed, 1 for one that was found, 2 for a negative one."""
        code = self._positive(pool)
        predicted = pool.predictions[pool.rows_of(items)] == code
        return np.where(labels == code, np.where(predicted, FOUND, MISSED), NEGATIVE).astype(np.int64)

    def settled(self, cells: Cells, counts: Int[np.ndarray, "K 3"]) -> bool:
        """Tell whether every item is known, and positive ones of every group."""
        return super().settled(cells, counts) and bool((counts[:, :NEGATIVE].sum(-1) > 0)[cells.sizes > 0].all())

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K 3"]) -> Float[np.ndarray, " K"]:
        """Compute every group's recall at full labels; 0 for a group without positive items."""
        return full[:, FOUND] / np.maximum(full[:, FOUND] + full[:, MISSED], 1)

    def n_shares(self, cells: Cells) -> int:
        """Those of positive items that are found, and missed."""
        return 2

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch K 2"]:
        """Bound recall: with few found and many missed, and the other way round; by 0 and 1 if none may be positive."""
        least, most = low[..., FOUND], high[..., FOUND]
        fewest, many = low[..., MISSED], high[..., MISSED]
        lower = np.divide(least, least + many, out=np.zeros(least.shape), where=least > 0)
        upper = np.divide(most, most + fewest, out=np.ones(most.shape), where=most + fewest > 0)
        return np.stack([lower, upper], axis=-1)

    def estimate(self, cells: Cells, prior: Any, counts) -> Float[np.ndarray, "*batch K"]:
        """Compute every group's rate: the items expected to be found by those expected to be positive.

        Of the population it is the posterior mean.
        """
        found, positive, mean = self._expected_items(cells, prior, counts)
        if self.target == "population":
            return mean
        return np.divide(found, positive, out=mean, where=positive > 0)

    def overall(
        self, cells: Cells, prior: Any, counts: Int[np.ndarray, "K 3"], seed: int, n: int
    ) -> tuple[float, Float[np.ndarray, " S"]]:
        """Compute recall over all groups: the estimate, and draws of it (n,), as far as there are positive items."""
        found, positive, mean = self._expected_items(cells, prior, counts)
        posterior, key = prior.update_counts(counts), jax_key(seed, "overall")
        theta, full = posterior.outcome_draws(key, n, counts, cells.sizes)
        if self.target == "population":
            weight = np.asarray(posterior.share.mean) * cells.sizes
            return float(mean @ weight / weight.sum()), theta @ weight / weight.sum()
        drawn = full[..., :NEGATIVE].sum((-2, -1))
        draws = np.divide(full[..., FOUND].sum(-1), drawn, out=theta @ cells.weights, where=drawn > 0)
        return float(found.sum() / positive.sum() if positive.sum() else mean @ cells.weights), draws

    def _expected_items(self, cells: Cells, prior: Any, counts) -> tuple[np.ndarray, ...]:
        """Compute the expected numbers of items that are found, that are positive, and mean rates, (..., K) each."""
        posterior = prior.update_counts(counts)
        mean, rest = np.array(posterior.mean), cells.sizes - counts.sum(-1)
        more = rest * np.asarray(posterior.share.mean)
        return counts[..., FOUND] + more * mean, counts[..., FOUND] + counts[..., MISSED] + more, mean

    def plan_intervals(self, campaigns: Any, level: float) -> np.ndarray:
        """Compute the intervals of a few campaigns, if as many items are positive as are expected."""
        counts, posterior = campaigns.counts, campaigns.prior.update_counts(campaigns.counts)
        marginals = beta_marginals(posterior.rate)
        if marginals is None:
            return super().plan_intervals(campaigns, level)
        a, b = map(np.asarray, marginals)
        if self.target == "population":
            return beta_interval(a, b, level)
        labelled = counts[..., FOUND] + counts[..., MISSED]
        rest = (campaigns.cells.sizes - counts.sum(-1)) * np.asarray(posterior.share.mean)
        size = labelled + np.ceil(rest).astype(np.int64)
        return pool_interval(counts[..., FOUND], labelled, size, a, b, level)

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates against the truth: RMSE weighted by the groups' shares of the positive items."""
        positive = full[:, :NEGATIVE].sum(-1)
        error = self.estimate(cells, prior, counts) - self.truth_of_counts(cells, full)
        return {"rmse": np.sqrt(np.sum(positive / max(positive.sum(), 1) * error**2, axis=-1))}

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        sizes = cells.sizes if self.target == "pool" else None
        return value_draws(prior.update_counts(counts), counts, sizes, seed, n)


@dataclass(frozen=True, eq=False)
class _ExtremeRecall(ExtremeValue[AnswerT_co], GroupRecall[AnswerT_co]):
    """Which m groups have the most extreme recall?"""

    m: int = 1

    unplannable: ClassVar[str] = no_interval("GroupRecall")

    def __post_init__(self):
        super().__post_init__()
        self._check_m()

    def _members(self, cells: Cells, full: np.ndarray) -> Bool[np.ndarray, " K"]:
        """Tell which groups have positive items."""
        return full[:, :NEGATIVE].sum(-1) > 0


@dataclass(frozen=True, eq=False)
class LowestRecall(_ExtremeRecall[AnswerT_co]):
    """Which m groups have the lowest recall? See [ABA] "Identification".

    Parameters
    ----------
    by, positive, target, covariates
        As for `GroupRecall`.
    m : int
        How many groups to find.

    Examples
    --------
    >>> LowestRecall("site", m=2)
    LowestRecall(by='site', positive=None, target='pool', covariates=(), m=2)
    """

    sign: ClassVar[int] = -1
    adjective: ClassVar[str] = "lowest in recall"

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: minus its recall."""
        return LowAccuracy(self.n_sought, _N_OUTCOMES)


@dataclass(frozen=True, eq=False)
class HighestRecall(_ExtremeRecall[AnswerT_co]):
    """Which m groups have the highest recall? See [ABA] "Identification".

    Parameters
    ----------
    by, positive, m, target, covariates
        As for `LowestRecall`.

    Examples
    --------
    >>> HighestRecall("site", "ill").adjective
    'highest in recall'
    """

    sign: ClassVar[int] = 1
    adjective: ClassVar[str] = "highest in recall"

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: its recall."""
        return HighAccuracy(self.n_sought, _N_OUTCOMES)
