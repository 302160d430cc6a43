"""What is taken for what, and what it costs. Rows = PREDICTED class, columns = LABEL, everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import LARGEST, dataframe_of, index_of, listing, show, to_numpy
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.acquisition.rewards import ConfusionVarianceReduction, Cost, Reward
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import value_draws, value_interval, value_mean
from bayes_assess.models.belief import Belief, merge_columns, population_draws
from bayes_assess.models.sampled_belief import SampledBelief, as_draws
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool, check_several_classes
from bayes_assess.questions._base import AnswerT_co, Question, check_target, pool_size
from bayes_assess.questions._bounded import BoundedByShares
from bayes_assess.questions._extremes import ExtremeQuestion, mean_reciprocal_rank, no_interval
from bayes_assess.questions._priors import confusion_prior

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior


_MOST_CLASSES = 2_000  # of which a matrix, with what is learned of its rows, takes some gigabytes
# A quantile of the variance that a label takes away is no bound of anything.
_WITHOUT_QUANTILES = ("thompson", "top_two", "epsilon_greedy", "random", "random_group")


class _CostMatrix:
    """A cost matrix, checked."""

    def __init__(self, cost: ArrayLike):
        frame = dataframe_of(cost)
        self._names = {} if frame is None else {"columns": frame.columns, "rows": index_of(cost)}
        try:
            matrix = np.array(to_numpy(cost), np.float64)
        except (TypeError, ValueError, OverflowError):
            raise QuestionError(
                f"A cost matrix holds numbers, a row per predicted class; found {show(cost)}."
            ) from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise QuestionError(
                "A cost matrix is square, with a row per predicted class and a column per label; "
                f"found shape {matrix.shape}."
            )
        wrong = np.argwhere(~(np.abs(matrix) <= LARGEST))
        if wrong.size:
            k, j = wrong[0].tolist()
            raise QuestionError(
                f"Costs are finite numbers, of {LARGEST:g} at most in size; that of predicted class {k} (row) and "
                f"label {j} (column) is {matrix[k, j]}."
            )
        self.matrix = matrix

    def check(self, pool: Pool) -> None:
        """Raise QuestionError if the matrix is not that of the pool's classes, or has them in another order."""
        if len(self.matrix) != pool.n_classes:
            raise QuestionError(
                f"The cost matrix is that of {len(self.matrix)} classes, but the pool has {pool.n_classes}; it needs "
                "a row per predicted class and a column per label, in the order of pool.classes."
            )
        classes = [str(name) for name in pool.classes.tolist()]
        for what, given in self._names.items():
            names = classes if given is None else [str(name) for name in given]
            if names != classes and set(names) == set(classes):
                raise QuestionError(
                    f"The {what} of the cost matrix are {listing(names)} but the classes {listing(classes)}: the same "
                    "names in another order; reorder them, in pandas by cost.loc[pool.classes, pool.classes]."
                )

    @cached_property
    def levels(self) -> tuple[Float[np.ndarray, "K U"], Int[np.ndarray, "K C"]]:
        """Distinct costs of every row, padded with zeros, and which of them every label has.

        By the aggregation property of the Dirichlet distribution, labels of equal cost may be counted as one outcome.
        The agreement is an outcome of its own whatever it costs, since models may know it apart.
        """
        n = len(self.matrix)
        values, level = np.zeros((n, n)), np.zeros((n, n), np.int64)
        used = 0
        for k, row in enumerate(self.matrix):
            keys = np.stack([row, np.arange(n) != k], axis=1)
            distinct, level[k] = _distinct_rows(keys)
            values[k, : len(distinct)] = distinct[:, 0]
            used = max(used, len(distinct))
        return values[:, :used], level

    def merge(self, table: Float[np.ndarray, "K C"]) -> Float[np.ndarray, "K U"]:
        """Add up the columns of equal cost, row by row."""
        values, level = self.levels
        return merge_columns(table, level, values.shape[1])


def _distinct_rows(table: Float[np.ndarray, "N P"]) -> tuple[Float[np.ndarray, "U P"], Int[np.ndarray, " N"]]:
    """Rows of a table in ascending order without repetition, and which of them every row is."""
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    return distinct, place.ravel()  # NumPy 2.0 kept the table's axes


def check_n_classes(pool: Pool) -> None:
    """Raise QuestionError if there is no matrix of all classes, or it would not fit in memory."""
    check_several_classes(pool)
    n = pool.n_classes
    if n > _MOST_CLASSES:
        raise QuestionError(
            f"A matrix of {n:,} classes has {n * n:,} entries, more than fit in memory; at most {_MOST_CLASSES:,} "
            "classes can be told apart. Merge rare classes, or ask GroupAccuracy, which has one number per class."
        )


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(BoundedByShares, Question[AnswerT_co, AnswerT_co]):
    """How often is the label j where the system predicts k? See [ABA] "Estimation".

    The answer is a matrix (K, C) of shares: rows = predicted class, columns = label, rows sum to 1.

    Parameters
    ----------
    cost : array (C, C), optional
        Cost of an item predicted k (row) whose label is j (column): adds the expected cost of every predicted class
        and of the whole pool to the result. A frame that has the classes for names has them in their order.
    target : {"pool", "population"}
        As for `GroupAccuracy`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
    >>> a = ba.assess(pool, ba.ConfusionMatrix())
    >>> a.tell([0, 1, 2], ["cat", "dog", "dog"])
    >>> a.result().estimate.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    asks: ClassVar[str] = "Which labels do the items of every predicted class have?"
    cost: ArrayLike | None = None
    target: str = field(default="pool", kw_only=True)

    default_strength: ClassVar[float] = 1.0
    designs: ClassVar[tuple[str, ...] | None] = _WITHOUT_QUANTILES
    quantity: ClassVar[str] = "share of labels"
    plan_matched: ClassVar[bool] = True

    def __post_init__(self):
        check_target(self.target)
        self._cost  # noqa: B018 - a wrong matrix is refused at once

    @cached_property
    def _cost(self) -> _CostMatrix | None:
        return None if self.cost is None else _CostMatrix(self.cost)

    @property
    def cost_matrix(self) -> Float[np.ndarray, "K C"] | None:
        """Costs as floats: rows = predicted class, columns = label."""
        return None if self._cost is None else self._cost.matrix

    @property
    def scores(self) -> tuple[str, ...]:
        """RMSE over all entries, and the error of the mean cost of an item."""
        return ("rmse",) if self._cost is None else ("rmse", "cost_error")

    def check_pool(self, pool: Pool) -> None:
        """Raise QuestionError if the pool has too many classes for a matrix of them."""
        super().check_pool(pool)
        check_n_classes(pool)

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into one cell per predicted class."""
        if self._cost is not None:
            self._cost.check(pool)
        return cells(pool, "prediction", seed=seed)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Belief:
        """Build the prior of every row; a fixed one counts as one label."""
        return confusion_prior(pool, prior, strength, self.default_strength)

    def belief_of_accuracies(self, accuracy: Float[np.ndarray, "S K"], pooled: Belief, seed: int) -> SampledBelief:
        """Return rows with these agreements; the other outcomes share what is left as in the pooled labels."""
        return _with_agreement(accuracy, np.arange(accuracy.shape[1]), pooled, seed)

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a predicted class is worth: the variance that it takes from its row."""
        return ConfusionVarianceReduction(cells.n_cells)

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return the labels themselves."""
        return np.asarray(labels, np.int64)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K C"]) -> Float[np.ndarray, "K C"]:
        """Compute the confusion matrix at full labels; a row of zeros for a class that is never predicted."""
        return full / np.maximum(full.sum(-1, keepdims=True), 1)

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch K C 2"]:
        """Return the bounds of all shares."""
        return np.stack([low, high], axis=-1)

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch K C"]:
        """Compute the posterior mean of the confusion matrix from counts of labels (..., K, C)."""
        return value_mean(prior.update_counts(counts), counts, pool_size(self, cells))

    def interval_needs_draws(self, posterior: Belief) -> bool:
        """Entries have quantiles in closed form, or draws of their own."""
        return False

    def _equal_tailed(self, cells, prior, counts, level, draws) -> Float[np.ndarray, "*batch K C 2"]:
        """Compute the equal-tailed credible interval of every entry."""
        return value_interval(prior.update_counts(counts), counts, pool_size(self, cells), level)

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates: (sum_k p_k sum_j (estimate - truth)^2)^(1/2) ([ABA] Table 4), and the error of the cost."""
        error = self.estimate(cells, prior, counts) - self.truth_of_counts(cells, full)
        scores = {"rmse": np.sqrt(np.einsum("k,...kj,...kj->...", cells.weights, error, error))}
        if self._cost is not None:
            scores["cost_error"] = np.abs(np.einsum("k,kj,...kj->...", cells.weights, self._cost.matrix, error))
        return scores

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        yield population_draws(prior.update_counts(counts), jax_key(seed, "draws"), n)


@dataclass(frozen=True, eq=False)
class MostCostly(BoundedByShares, ExtremeQuestion[AnswerT_co]):
    """Which m predicted classes cost most per item? See [ABA] "Identification".

    Parameters
    ----------
    cost : array (C, C)
        Cost of an item predicted k (ROW) whose label is j (COLUMN): in our axes, the transpose of [ABA]'s c_jk.
    m : int
        How many classes to find.
    target : {"pool", "population"}
        As for `GroupAccuracy`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog", "dog"])
    >>> a = ba.assess(pool, ba.MostCostly([[0, 1], [10, 0]]))  # to take a cat for a dog costs 10
    >>> a.tell([0, 1, 2, 3], ["cat", "dog", "dog", "cat"])
    >>> a.result().estimate.tolist(), a.result().identified.tolist()
    ([0.5, 5.0], ['dog'])
    """

    cost: ArrayLike
    m: int = 1
    target: str = field(default="pool", kw_only=True)

    default_strength: ClassVar[float] = 1.0
    quantity: ClassVar[str] = "cost"
    sign: ClassVar[int] = 1
    adjective: ClassVar[str] = "most costly"
    unplannable: ClassVar[str] = no_interval("ConfusionMatrix")

    def __post_init__(self):
        check_target(self.target)
        self._check_m()
        self._cost  # noqa: B018 - a wrong matrix is refused at once

    @cached_property
    def _cost(self) -> _CostMatrix:
        return _CostMatrix(self.cost)

    @property
    def scores(self) -> tuple[str, ...]:
        """Mean reciprocal rank of the most costly classes, and RMSE of the costs."""
        return ("mrr", "rmse")

    @property
    def agreement(self) -> Int[np.ndarray, " K"]:
        """Outcome of every predicted class that is the label's agreement with it."""
        return np.diagonal(self._cost.levels[1])

    @property
    def levels(self) -> Float[np.ndarray, "K U"]:
        """Distinct costs of every predicted class: the outcomes that its labels are counted by."""
        return self._cost.levels[0]

    def check_pool(self, pool: Pool) -> None:
        """Raise QuestionError if the pool has too many classes for a matrix of them."""
        super().check_pool(pool)
        check_n_classes(pool)

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into one cell per predicted class."""
        self._cost.check(pool)
        return cells(pool, "prediction", seed=seed)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Belief:
        """Build the prior of every row, errors of equal cost taken together; a fixed one counts as one label."""
        return self.merged(confusion_prior(pool, prior, strength, self.default_strength))

    def belief_of_accuracies(self, accuracy: Float[np.ndarray, "S K"], pooled: Belief, seed: int) -> SampledBelief:
        """Return rows with these agreements; the other outcomes share what is left as in the pooled labels."""
        return _with_agreement(accuracy, self.agreement, pooled, seed)

    def merged(self, belief: Belief) -> Belief:
        """Take labels of equal cost together, in draws where the belief has no closed form for it."""
        whole: Any = belief if hasattr(belief, "merged") else as_draws(belief)
        return whole.merged(self._cost.levels[1], self.levels.shape[1])

    def merge(self, table: Float[np.ndarray, "K C"]) -> Float[np.ndarray, "K U"]:
        """Add up the columns of equal cost, row by row."""
        return self._cost.merge(table)

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a predicted class is worth: its cost."""
        return Cost(self.levels, self.levels.shape[1], self.n_sought)

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return which of the costs of its predicted class every item has."""
        return self._cost.levels[1][pool.predictions[pool.rows_of(items)], labels].astype(np.int64)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K U"]) -> Float[np.ndarray, " K"]:
        """Compute every predicted class's mean cost at full labels; 0 for a class that is never predicted."""
        return (self.levels * full).sum(-1) / np.maximum(full.sum(-1), 1)

    def n_shares(self, cells: Cells) -> int:
        """Those of all costs that a predicted class can have."""
        return self.levels.shape[1]

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch K 2"]:
        """Bound costs: the shares are as low as they can be, and the rest goes to the least costs, or the greatest."""
        used = np.arange(self.levels.shape[1]) <= self._cost.levels[1].max(1, keepdims=True)
        ends = []
        for order in (np.argsort(self.levels, axis=-1), np.argsort(-self.levels, axis=-1)):
            cost, least, room = (
                np.take_along_axis(part, np.broadcast_to(order, part.shape), axis=-1)
                for part in (self.levels, low, np.where(used, high - low, 0.0))
            )
            before = np.cumsum(room, axis=-1) - room
            rest = 1 - least.sum(-1, keepdims=True)
            ends.append((cost * (least + np.clip(rest - before, 0, room))).sum(-1))
        return np.stack(ends, axis=-1)

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch K"]:
        """Compute the posterior mean of every predicted class's cost from counts of costs (..., K, U)."""
        return (self.levels * value_mean(prior.update_counts(counts), counts, pool_size(self, cells))).sum(-1)

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates: mean reciprocal rank of the most costly classes, and RMSE weighted by their shares."""
        estimate, truth = self.estimate(cells, prior, counts), self.truth_of_counts(cells, full)
        mrr = mean_reciprocal_rank(estimate, truth, cells.sizes > 0, self.m)
        return {"mrr": mrr, "rmse": np.sqrt(np.sum(cells.weights * (estimate - truth) ** 2, axis=-1))}

    def cell_draws(self, draws, shape):
        """Add up the draws of a confusion matrix (S, K, C) over labels of equal cost, (S, K, U)."""
        level = self._cost.levels[1]
        if draws.shape[1:] != level.shape:
            return None
        return np.stack([np.where(level == u, draws, 0.0).sum(-1) for u in range(shape[1])], axis=-1)

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        for shares in value_draws(prior.update_counts(counts), counts, pool_size(self, cells), seed, n):
            yield (self.levels * shares).sum(-1)


def _with_agreement(
    accuracy: Float[np.ndarray, "S K"], own: Int[np.ndarray, " K"], pooled: Belief, seed: int
) -> SampledBelief:
    """Put agreements into draws of rows (S, K, O): errors keep their shares of what is left."""
    draws = np.array(pooled.sample(jax_key(seed, "rows"), len(accuracy)), np.float64)
    rows = np.arange(len(own))
    rest = np.maximum(1 - draws[:, rows, own], np.finfo(float).tiny)
    draws *= ((1 - accuracy) / rest)[:, :, None]
    draws[:, rows, own] = accuracy
    return SampledBelief(draws, np.zeros(len(draws)))
