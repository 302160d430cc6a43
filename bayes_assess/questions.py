"""What is asked of a pool, apart from how items are chosen.

A question knows its groups, its prior, what a label is worth (the reward that designs maximise), and how to score
estimates against the truth. It holds no labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayes_assess.acquisition.rewards import HighAccuracy, LowAccuracy, Reward, VarianceReduction
from bayes_assess.cells import Cells, cells, label_counts
from bayes_assess.errors import LabelError, PriorError, QuestionError
from bayes_assess.intervals import beta_interval, pool_interval, pool_mean
from bayes_assess.models import BetaBernoulli
from bayes_assess.partition import ScoreBins
from bayes_assess.pool import Pool

PRIORS = ("informative", "uninformative")
TARGETS = ("pool", "population")


@dataclass(frozen=True, eq=False)
class GroupAccuracy:
    """How accurate is the system in every group? See [ABA] "Estimation".

    Parameters
    ----------
    by : str, ScoreBins, array or Partition
        The groups: ``"prediction"``, the name of one of the pool's group columns, bins of the confidence, or one
        group value per item.
    target : {"pool", "population"}
        Whether the accuracy of this finite pool is asked for, which is known exactly once everything is labelled,
        or the accuracy theta of the population that the pool was drawn from.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], classes=["cat", "dog"])
    >>> assessment = ba.assess(pool, ba.GroupAccuracy(by="prediction"))
    >>> assessment.result().estimate.round(2).tolist()  # nothing labelled: the mean scores
    [0.85, 0.7]
    """

    by: Any = "prediction"
    target: str = field(default="pool", kw_only=True)

    default_strength: ClassVar[float] = 2.0
    scores: ClassVar[tuple[str, ...]] = ("rmse",)
    lower_is_better: ClassVar[Mapping[str, bool]] = {"rmse": True, "mrr": False}

    def __post_init__(self):
        if self.target not in TARGETS:
            raise QuestionError(f"target is 'pool' or 'population'; found {self.target!r}.")

    @property
    def reward(self) -> Reward:
        """What one label of a group is worth."""
        return VarianceReduction()

    def cells(self, pool: Pool, seed: int) -> Cells:
        """Collapse the pool into this question's cells, one per group."""
        return cells(pool, self.by, seed=seed)

    def prior(self, cells: Cells, prior: str | BetaBernoulli | None, strength: float | None) -> BetaBernoulli:
        """Build the prior of every group's accuracy.

        Parameters
        ----------
        cells : Cells
        prior : {"informative", "uninformative"}, BetaBernoulli or None
            None takes the informative prior if the pool has scores, else the uninformative one.
        strength : float or None
            Worth of a named prior in labels per group, 2 by default.
        """
        if isinstance(prior, BetaBernoulli):
            if strength is not None:
                raise PriorError("A prior given as a BetaBernoulli has its own strength; leave out prior_strength.")
            return _checked_prior(prior, cells)
        if prior is None:
            prior = "uninformative" if cells.mean_score is None else "informative"
        if prior not in PRIORS:
            raise PriorError(f"A prior is 'informative', 'uninformative' or a BetaBernoulli; found {prior!r}.")
        strength = self.default_strength if strength is None else strength
        if prior == "uninformative":
            return BetaBernoulli.from_prior(strength, n_groups=cells.n_cells)
        if cells.mean_score is None:
            raise PriorError(
                "The informative prior is made of the pool's scores, and this pool has none. "
                "Give the pool scores or confidences, or use prior='uninformative'."
            )
        return BetaBernoulli.from_prior(strength, mean_score=cells.mean_score)

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return 1 where the label agrees with the prediction, else 0."""
        return (labels == pool.predictions[items]).astype(np.int64)

    def truth(self, pool: Pool, labels: Any) -> Float[np.ndarray, " G"]:
        """Compute the exact answer from all labels of a pool, (M,) class names: every group's accuracy, (G,).

        It is 0 for a group without items.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.GroupAccuracy().truth(ba.Pool(predictions=["cat", "cat", "dog"]), ["cat", "dog", "dog"]).tolist()
        [0.5, 1.0]
        """
        codes = pool.label_codes(labels)
        if len(codes) != pool.n_items:
            raise LabelError(f"The truth needs the label of every item; found {len(codes)}, not {pool.n_items}.")
        outcomes = self.outcomes(pool, np.arange(pool.n_items), codes)
        return self.truth_of_counts(label_counts(self.cells(pool, seed=0), outcomes, 2))

    def truth_of_counts(self, counts: Int[np.ndarray, "K O"]) -> Float[np.ndarray, " K"]:
        """Compute the exact answer from the number of items of every cell with every outcome."""
        return counts[:, 1] / np.maximum(counts.sum(1), 1)

    def estimate(self, prior: BetaBernoulli, counts, size) -> Float[np.ndarray, "*batch K"]:
        """Compute the posterior mean of every group's accuracy from counts of outcomes (..., K, 2)."""
        mean = np.asarray(prior.update_counts(counts).mean)
        return pool_mean(counts[..., 1], counts.sum(-1), size, mean) if self.target == "pool" else mean

    def interval(self, prior: BetaBernoulli, counts, size, level) -> Float[np.ndarray, "*batch K 2"]:
        """Compute the equal-tailed credible interval of every group's accuracy from counts (..., K, 2)."""
        posterior = prior.update_counts(counts)
        a, b = np.asarray(posterior.a), np.asarray(posterior.b)
        if self.target == "pool":
            return pool_interval(counts[..., 1], counts.sum(-1), size, a, b, level)
        return beta_interval(a, b, level)

    def evaluate(
        self, estimate: Float[np.ndarray, "*batch K"], truth: Float[np.ndarray, " K"], weight: Float[np.ndarray, " K"]
    ) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates against the truth: RMSE weighted by the groups' shares ([ABA] "Estimation").

        Examples
        --------
        >>> import numpy as np
        >>> scores = GroupAccuracy().evaluate(np.array([0.5, 0.9]), np.array([0.6, 0.9]), np.array([0.5, 0.5]))
        >>> round(float(scores["rmse"]), 4)
        0.0707
        """
        return {"rmse": np.sqrt(np.sum(weight * (estimate - truth) ** 2, axis=-1))}

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if these cells cannot answer the question."""

    def describe(self) -> dict[str, Any]:
        """Say in plain values what is asked, for a journal; an array of groups is named by its type alone."""
        by = self.by
        if isinstance(by, ScoreBins):
            by = {"bins": by.n_bins, "kind": by.kind}
        elif not isinstance(by, str):
            by = {"array": type(by).__name__}
        return {"question": type(self).__name__, "by": by, "target": self.target}


@dataclass(frozen=True, eq=False)
class _ExtremeAccuracy(GroupAccuracy):
    """Which m groups have the most extreme accuracy?"""

    m: int = 1

    scores: ClassVar[tuple[str, ...]] = ("mrr", "rmse")
    sign: ClassVar[int]  # the extreme is the greatest value of sign * accuracy
    adjective: ClassVar[str]

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.m, bool) or int(self.m) != self.m or self.m < 1:
            raise QuestionError(f"{type(self).__name__} looks for m >= 1 groups, a whole number; found {self.m!r}.")

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if there are fewer than m groups with items."""
        n_groups = int((cells.counts > 0).sum())
        if self.m > n_groups:
            raise QuestionError(
                f"{type(self).__name__} looks for m = {self.m} groups, but only {n_groups} groups "
                f"(by {cells.description}) have items; ask for at most {n_groups}."
            )

    def evaluate(self, estimate, truth, weight):
        """Score estimates: mean reciprocal rank of the true extremes, and RMSE.

        Groups that tie with the m-th most extreme count as extreme; a tied estimate counts half a rank.

        Examples
        --------
        >>> import numpy as np
        >>> truth, third = np.array([0.2, 0.5, 0.9]), np.full(3, 1 / 3)
        >>> float(LeastAccurate().evaluate(np.array([0.6, 0.5, 0.9]), truth, third)["mrr"])  # ranked second
        0.5
        """
        rmse = super().evaluate(estimate, truth, weight)
        return {"mrr": mean_reciprocal_rank(self.sign * estimate, self.sign * truth, weight > 0, self.m), **rmse}

    def describe(self) -> dict[str, Any]:
        """Say in plain values what is asked."""
        return {**super().describe(), "m": int(self.m)}


@dataclass(frozen=True, eq=False)
class LeastAccurate(_ExtremeAccuracy):
    """Which m groups are the least accurate? See [ABA] "Identification".

    Parameters
    ----------
    by : str, ScoreBins, array or Partition
        The groups, as for `GroupAccuracy`.
    m : int
        How many groups to find.
    target : {"pool", "population"}
        As for `GroupAccuracy`.

    Examples
    --------
    >>> LeastAccurate(by="site", m=3)
    LeastAccurate(by='site', target='pool', m=3)
    """

    sign: ClassVar[int] = -1
    adjective: ClassVar[str] = "least accurate"

    @property
    def reward(self) -> Reward:
        """What one label of a group is worth."""
        return LowAccuracy(self.m)


@dataclass(frozen=True, eq=False)
class MostAccurate(_ExtremeAccuracy):
    """Which m groups are the most accurate? See [ABA] "Identification".

    Parameters
    ----------
    by, m, target
        As for `LeastAccurate`.

    Examples
    --------
    >>> MostAccurate(m=2).describe()["question"]
    'MostAccurate'
    """

    sign: ClassVar[int] = 1
    adjective: ClassVar[str] = "most accurate"

    @property
    def reward(self) -> Reward:
        """What one label of a group is worth."""
        return HighAccuracy(self.m)


QUESTIONS: dict[str, type[GroupAccuracy]] = {
    question.__name__: question for question in (GroupAccuracy, LeastAccurate, MostAccurate)
}


def mean_reciprocal_rank(
    estimate: Float[np.ndarray, "*batch K"], truth: Float[np.ndarray, " K"], member: Bool[np.ndarray, " K"], m: int
) -> Float[np.ndarray, "*batch"]:
    """Mean over the true top m of 1 / rank, rank counting only groups outside the true top m ([ABA] "Evaluation").

    Parameters
    ----------
    estimate : (..., K)
        The greater the more extreme.
    truth : (K,)
    member : (K,) booleans
        Groups with items; the others do not count.
    m : int

    Examples
    --------
    >>> import numpy as np
    >>> estimate, truth = np.array([2.5, 3.0, 1.0]), np.array([1.0, 5.0, 2.0])
    >>> float(mean_reciprocal_rank(estimate, truth, np.ones(3, bool), m=2))  # (1 + 1/2) / 2
    0.75
    """
    bar = np.sort(truth[member])[-m]
    top, rest = member & (truth >= bar), member & (truth < bar)
    outside, inside = estimate[..., rest], estimate[..., top]
    above = np.zeros(inside.shape)
    for j in range(inside.shape[-1]):
        one = inside[..., j, None]
        above[..., j] = (outside > one).sum(-1) + 0.5 * (outside == one).sum(-1)
    return np.mean(np.sort(1 / (1 + above), axis=-1)[..., -m:], axis=-1)


def _checked_prior(prior: BetaBernoulli, cells: Cells) -> BetaBernoulli:
    a, b = np.asarray(prior.a, np.float64), np.asarray(prior.b, np.float64)
    if a.shape != (cells.n_cells,) or b.shape != (cells.n_cells,):
        raise PriorError(
            f"The prior needs one a and b per group, shape ({cells.n_cells},); found {a.shape} and {b.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all() and (a > 0).all() and (b > 0).all()):
        raise PriorError("The prior's a and b must be positive and finite.")
    return BetaBernoulli(a, b)
