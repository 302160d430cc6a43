"""Is a system more accurate than another on the same items?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from bayes_assess._arrays import values_of
from bayes_assess._attributes import RESERVED
from bayes_assess.acquisition.paired_rope import paired_rope_masses
from bayes_assess.acquisition.rewards import Indifferent, Reward
from bayes_assess.cells import Cells, cells
from bayes_assess.errors import LabelError, PartitionError, PriorError, QuestionError
from bayes_assess.models import PairedOutcomes
from bayes_assess.models.paired_outcomes import OUTCOMES, outcomes_of
from bayes_assess.partition import Partition
from bayes_assess.pool import Pool
from bayes_assess.questions._base import describe_by
from bayes_assess.questions._comparison import Comparison
from bayes_assess.questions._priors import named_prior

_DIFFER = 1  # the cell of items on which the systems differ; 0 is that where they agree


@dataclass(frozen=True, eq=False, repr=False)
class TwoSystems(Comparison):
    """Which of two systems is more accurate on the same items? Made by `Compare`."""

    first: Any
    second: Any
    rope: float

    default_strength: ClassVar[float] = 1.0
    designs: ClassVar[tuple[str, ...] | None] = ("thompson", "random")

    def predictions(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], Int[np.ndarray, " M"]]:
        """Codes of both systems' predictions for every item."""
        return _system_codes(pool, self.first, "first"), _system_codes(pool, self.second, "second")

    def cells(self, pool: Pool, seed: int, strata: Any = None) -> Cells:
        """Collapse the pool into items on which the systems agree and items on which they differ."""
        first, second = self.predictions(pool)
        codes = (first != second).astype(np.uint8)
        by = Partition(codes, np.array(["agree", "differ"]), "whether the systems agree")
        return cells(pool, by, seed=seed)

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if the systems never differ."""
        if not cells.counts[_DIFFER]:
            raise QuestionError("The two systems predict the same for every item; their accuracies are equal.")

    def playable(self, cells: Cells) -> Bool[np.ndarray, " 2"]:
        """Only items on which the systems differ: the others add nothing to the difference."""
        return np.arange(2) == _DIFFER

    def prior(self, pool: Pool, cells: Cells, prior: Any, strength: float | None) -> PairedOutcomes:
        """Build the prior of the outcomes, worth one label by default, spread evenly over those that are possible."""
        if isinstance(prior, PairedOutcomes):
            alpha = np.asarray(prior.alpha, np.float64)
            if alpha.shape != (4,) or not (np.isfinite(alpha).all() and (alpha > 0).all()):
                raise PriorError(f"The prior needs four positive alphas, in the order {OUTCOMES}; found {alpha!r}.")
        elif named_prior("uninformative" if prior is None else prior, "PairedOutcomes", True) == "informative":
            raise PriorError(
                "The pool's scores are one system's own and would favour it: comparisons of systems take "
                "prior='uninformative' or a PairedOutcomes."
            )
        else:
            alpha = np.asarray(PairedOutcomes.from_prior(1.0 if strength is None else strength).alpha)
        # Systems that agree are both right or both wrong; if they differ, they cannot both be right.
        possible = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]])
        return PairedOutcomes(alpha.sum() * possible * alpha / (possible * alpha).sum(-1, keepdims=True))

    def reward(self, cells: Cells, prior: PairedOutcomes) -> Reward:
        """There is one kind of item to ask for; nothing has to be weighed."""
        return Indifferent(len(OUTCOMES))

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return who is right: positions in `paired_outcomes.OUTCOMES`."""
        first, second = self.predictions(pool)
        return outcomes_of(first[items], second[items], labels)

    def differing(self, prior: PairedOutcomes, counts: Int[np.ndarray, "*batch 2 4"]) -> PairedOutcomes:
        """Posterior of the outcomes of items on which the systems differ."""
        return PairedOutcomes(np.asarray(prior.update_counts(counts).alpha)[..., _DIFFER, :])

    def masses(self, cells: Cells, prior: PairedOutcomes, counts) -> Float[np.ndarray, "*batch 3"]:
        """Compute the three masses of the difference over all items."""
        alpha = np.asarray(self.differing(prior, counts).alpha)
        return paired_rope_masses(alpha, self.rope / cells.weights[_DIFFER])

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "2 4"]) -> Float[np.ndarray, ""]:
        """Compute the difference of the accuracies at full labels, first less second."""
        total = full.sum(0)
        return (total[1] - total[2]) / total.sum()

    def estimate(self, cells: Cells, prior: PairedOutcomes, counts) -> Float[np.ndarray, "*batch"]:
        """Compute the posterior mean of the difference over all items, first less second."""
        return cells.weights[_DIFFER] * np.asarray(self.differing(prior, counts).difference_mean)

    def groups(self, cells: Cells) -> np.ndarray:
        """Whether the systems agree."""
        return cells.names

    def names(self) -> tuple[str, str]:
        """Name the two systems."""
        return _system_name(self.first, "the first system"), _system_name(self.second, "the second system")

    def describe(self) -> dict[str, Any]:
        """Say in plain values what is asked."""
        sides = {"first": describe_by(self.first), "second": describe_by(self.second)}
        return {"question": "Compare", **sides, "by": None, "rope": float(self.rope)}

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        draws = self.differing(prior, counts).sample_difference(jax.random.key(seed), n)
        yield cells.weights[_DIFFER] * np.asarray(draws)


def _system_codes(pool: Pool, system: Any, side: str) -> Int[np.ndarray, " M"]:
    """Predicted classes of a system as codes."""
    if isinstance(system, Pool):
        system = system.classes[system.predictions]
    if isinstance(system, str):
        if system == RESERVED:
            return pool.predictions
        if system not in pool.groups:
            known = ", ".join(repr(name) for name in (RESERVED, *pool.groups))
            raise QuestionError(
                f"The pool has no column {system!r} with a system's predictions; there are {known}, or pass an array."
            )
        system = pool.groups[system]
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


def _system_name(system: Any, otherwise: str) -> str:
    if isinstance(system, str):
        return "the pool's system" if system == RESERVED else system
    return otherwise
