"""Is a system more accurate than another on the same items?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import values_of
from bayes_assess._tools.shapes import ArrayLike, Bool, Float, Int
from bayes_assess.acquisition.equivalence import rope_masses_samples
from bayes_assess.acquisition.paired_rope import paired_rope_masses
from bayes_assess.acquisition.pool_rope import paired_pool_rope_masses
from bayes_assess.acquisition.rewards import Indifferent, Reward
from bayes_assess.errors import LabelError, PartitionError, PoolError, PriorError, QuestionError
from bayes_assess.estimators.finite_pool import value_draws, value_mean
from bayes_assess.estimators.random_labels import labels_of_variance
from bayes_assess.models.belief import Belief, beta_marginals, is_belief, with_arrays
from bayes_assess.models.paired_outcomes import OUTCOMES, PairedOutcomes, outcomes_of
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Cut, Partition
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import AnswerT_co, pool_size
from bayes_assess.questions._comparison import Comparison, differences
from bayes_assess.questions._priors import is_learned, named_prior, own_prior

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior


# Systems that agree are both right or both wrong; if they differ, they cannot both be right.
_POSSIBLE = np.array([[True, False, False, True], [False, True, True, True]])
_MASS_DRAWS = 10_000
_DIFFER = 1  # the cell of items on which the systems differ; 0 is that where they agree


@dataclass(frozen=True, eq=False, repr=False)
class TwoSystems(Comparison[AnswerT_co]):
    """Which of two systems is more accurate on the same items? Made by `Compare`."""

    asks: ClassVar[str] = "Is {first} or {second} more accurate?"
    first: Hashable
    second: Hashable
    rope: float
    target: str = field(default="pool", kw_only=True)

    default_strength: ClassVar[float] = 1.0
    designs: ClassVar[tuple[str, ...] | None] = ("thompson", "random")
    plan_drawn: ClassVar[bool] = True
    possible: ClassVar[ArrayLike] = _POSSIBLE

    def predictions(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], Int[np.ndarray, " M"]]:
        """Codes of both systems' predictions for every item."""
        return _system_codes(pool, self.first, "first"), _system_codes(pool, self.second, "second")

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into items on which the systems agree and items on which they differ."""
        first, second = self.predictions(pool)
        codes = (first != second).astype(np.uint8)
        by = Partition(codes, np.array(["agree", "differ"]), "whether the systems agree")
        return cells(pool, by, seed=seed)

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if the systems never differ."""
        if not cells.sizes[_DIFFER]:
            raise QuestionError("The two systems predict the same for every item; their accuracies are equal.")

    def is_single(self, cells: Cells) -> bool:
        """Say yes: there is one difference."""
        return True

    def random_labels(
        self, cells: Cells, full: Int[np.ndarray, "F 2 4"], width: Float[np.ndarray, " F"], level: float, overall: bool
    ) -> Float[np.ndarray, " F"]:
        """Count the random labels that give the interval of the difference a width."""
        n_items = int(cells.sizes.sum())
        first, second = (full[..., outcome].sum(-1) / n_items for outcome in (1, 2))
        return labels_of_variance(first + second - (first - second) ** 2, width, n_items, level)

    def playable(self, cells: Cells) -> Bool[np.ndarray, " 2"]:
        """Only items on which the systems differ: the others add nothing to the difference."""
        return np.arange(2) == _DIFFER

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Belief:
        """Build the prior of the outcomes, worth one label by default, spread evenly over those that are possible."""
        given: Any = with_arrays(prior) if is_belief(prior) else prior
        if is_belief(given) and np.shape(given.mean) == (2, len(OUTCOMES)):
            what = "four outcomes where systems agree and differ"
            given = own_prior(given, strength, (2, len(OUTCOMES)), what, _POSSIBLE)
            if (np.asarray(given.mean)[~_POSSIBLE] > 0).any():
                raise PriorError(
                    "The prior gives a chance to impossible outcomes: systems that agree are both right or both wrong, "
                    "and if they differ they cannot both be right."
                )
            return given
        if isinstance(given, PairedOutcomes):
            given = own_prior(given, strength, (len(OUTCOMES),), f"four alphas, in the order {OUTCOMES}")
        elif is_learned(prior, strength):  # there is one kind of item: nothing to learn from, and a label outweighs it
            given = PairedOutcomes.from_prior(1.0)
        elif named_prior("uninformative" if prior is None else prior, "PairedOutcomes", True) == "informative":
            raise PriorError(
                "The pool's scores are one system's own and would favour it: comparisons of systems take "
                "prior='uninformative', a PairedOutcomes or another Belief on its outcomes."
            )
        else:
            given = PairedOutcomes.from_prior(1.0 if strength is None else strength)
        return given.conditional(_POSSIBLE)

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """There is one kind of item to ask for; nothing has to be weighed."""
        return Indifferent(len(OUTCOMES))

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return who is right: positions in `paired_outcomes.OUTCOMES`."""
        first, second = self.predictions(pool)
        rows = pool.rows_of(items)
        return outcomes_of(first[rows], second[rows], labels)

    def masses(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch 3"]:
        """Compute the three masses of the difference over all items."""
        posterior = prior.update_counts(counts)
        marginals = beta_marginals(posterior)
        if marginals is None:
            draws = np.concatenate(list(self._draw_blocks(cells, prior, counts, 0, _MASS_DRAWS)))
            rounding = 1e-9 if self.target == "pool" else 0.0  # of differences that are exactly the rope
            return np.asarray(rope_masses_samples(draws, np.zeros(()), self.rope + rounding))
        alpha = np.asarray(marginals[0])[..., _DIFFER, :]
        if self.target == "population":
            return paired_rope_masses(alpha, self.rope / cells.weights[_DIFFER])
        told = counts[..., _DIFFER, :]
        rest = cells.sizes[_DIFFER] - told.sum(-1)
        return paired_pool_rope_masses(alpha, told[..., 1] - told[..., 2], rest, cells.n_items, self.rope)

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "*batch 2"]:
        """Bound the difference by those of the items on which one system alone is right, as far as there are such."""
        first, second = ((low[..., _DIFFER, outcome], high[..., _DIFFER, outcome]) for outcome in (1, 2))
        return cells.weights[_DIFFER] * differences(*first, *second).clip(-1, 1)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "2 4"]) -> Float[np.ndarray, ""]:
        """Compute the difference of the accuracies at full labels, first less second."""
        total = full.sum(0)
        return (total[1] - total[2]) / total.sum()

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch"]:
        """Compute the posterior mean of the difference over all items, first less second."""
        shares = value_mean(prior.update_counts(counts), counts, pool_size(self, cells))
        return cells.weights[_DIFFER] * (shares[..., _DIFFER, 1] - shares[..., _DIFFER, 2])

    def groups(self, cells: Cells) -> np.ndarray:
        """Whether the systems agree."""
        return cells.names

    def names(self) -> tuple[str, str]:
        """Name the two systems."""
        return _system_name(self.first, "the first system"), _system_name(self.second, "the second system")

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        for shares in value_draws(prior.update_counts(counts), counts, pool_size(self, cells), seed, n):
            yield cells.weights[_DIFFER] * (shares[..., _DIFFER, 1] - shares[..., _DIFFER, 2])


def _system_codes(pool: Pool, system: object, side: str) -> Int[np.ndarray, " M"]:
    """Predicted classes of a system as codes."""
    if isinstance(system, Pool):
        system = system.classes[system.predictions]
    if isinstance(system, str):
        try:
            return pool.system_codes(system)
        except PoolError as error:
            raise QuestionError(str(error)) from None
    pool.check_in_memory("An array of predictions has one for every item")
    values = values_of(system)
    if values.shape != (pool.n_items,):
        raise PartitionError(
            f"The {side} system's predictions have shape {values.shape}; pass one for each of the {pool.n_items:,} "
            "items."
        )
    try:
        return pool.label_codes(values)
    except LabelError as error:
        raise QuestionError(f"The {side} system predicts what is no class of the pool: {error}") from None


def _system_name(system: Hashable, otherwise: str) -> str:
    if isinstance(system, str):
        return "the pool's system" if system == RESERVED else system
    return otherwise
