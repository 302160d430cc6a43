"""What all comparisons share: three posterior masses, and how verdicts are scored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.dates import places_named
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.questions._base import AnswerT_co, Question
from bayes_assess.questions._bounded import BoundedByShares
from bayes_assess.questions._setting import Simulated

_CLOSE = 0.05  # a verdict's probability within 5 % of that at full labels ([ABA] Table 7)


class Comparison(BoundedByShares, Question[AnswerT_co, AnswerT_co]):
    """What all comparisons share: masses of D below, inside and above the region of practical equivalence."""

    rope: float
    made_by: ClassVar[str] = "Compare"
    quantity: ClassVar[str] = "difference of accuracies"
    verdicts = "one"

    @property
    def name(self) -> str:
        """What the question is called."""
        return "Compare"

    @property
    def scores(self) -> tuple[str, ...]:
        """Whether verdict and probability are as at full labels, whether the verdict is, error of the difference."""
        return ("success", "right", "error")

    def study_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the probability of the verdict in simulated campaigns, (R, B, *answer)."""
        return self.masses(campaigns.cells, campaigns.prior, campaigns.record).max(-1)

    def n_shares(self, cells: Cells) -> int:
        """One of either side."""
        return 2

    @abstractmethod
    def masses(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"]) -> np.ndarray:
        """Compute the posterior masses of D < -rope, |D| <= rope and D > rope, (..., *answer, 3)."""

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score verdicts ([ABA] "Evaluation"): eta right, and lambda within 5 % of that at full labels.

        That is 1 where the verdict is about the pool, which full labels settle, and the posterior probability where
        it is about the population, as in [ABA].
        """
        succeeded, right = success(self._masses_once(cells, prior, counts), self.masses(cells, prior, full))
        error = np.abs(self.estimate(cells, prior, counts) - self.truth_of_counts(cells, full))
        return {"success": succeeded.astype(float), "right": right.astype(float), "error": error}

    def _masses_once(self, cells: Cells, prior: Belief, counts: np.ndarray) -> np.ndarray:
        """Masses of many campaigns, each state that occurs computed once."""
        flat = counts.reshape(-1, *counts.shape[-2:])
        distinct, place = np.unique(flat, axis=0, return_inverse=True)
        masses = self.masses(cells, prior, distinct)[place.ravel()]
        return masses.reshape(*counts.shape[:-2], *masses.shape[1:])

    def __repr__(self) -> str:
        options = ("first", "second", "by", "rope", "measure", "bins", "target")
        shown = {name: getattr(self, name, None) for name in options}
        return f"Compare({', '.join(f'{name}={value!r}' for name, value in shown.items() if value is not None)})"


class GroupPair(Comparison[AnswerT_co]):
    """What comparisons of two groups share: which cells they have."""

    first: Hashable
    second: Hashable

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if the groups do not exist, are one, or have no items."""
        first, second = self.pair(cells)
        if first == second:
            raise QuestionError(f"Group {show(self.first)} is compared with itself; name two different groups.")
        sizes = self.group_sizes(cells)
        for name, group in ((self.first, first), (self.second, second)):
            if sizes is None or not sizes[group]:
                raise QuestionError(f"Group {show(name)} has no items in this pool; there is nothing to compare.")

    def pair(self, cells: Cells) -> tuple[int, int]:
        """Numbers of the two groups; plain texts of numbers are accepted for names, as from a command line."""
        return self._find(cells, self.first), self._find(cells, self.second)

    def names(self) -> tuple[str, str]:
        """Name the two groups."""
        return str(self.first), str(self.second)

    def playable(self, cells: Cells) -> Bool[np.ndarray, " K"]:
        """Only cells of the two groups."""
        n_groups = len(self.groups(cells))
        return np.repeat(np.isin(np.arange(n_groups), self.pair(cells)), cells.n_cells // n_groups)

    def _find(self, cells: Cells, name: Hashable) -> int:
        names = self.groups(cells)
        places = places_named(names.astype(str).tolist(), name)
        if len(places) != 1:
            known = ", ".join(str(group) for group in names[:20]) + (", ..." if len(names) > 20 else "")
            raise QuestionError(f"There is no group {show(name)} by {cells.parts[0].description}; there are {known}.")
        return int(places[0])


def success(
    masses: Float[np.ndarray, "*batch 3"], full: Float[np.ndarray, "*batch 3"]
) -> tuple[Bool[np.ndarray, "*batch"], Bool[np.ndarray, "*batch"]]:
    """Say whether verdict and probability are as at full labels, and whether the verdict alone is, (...) each."""
    best = full.max(-1)
    right = masses.argmax(-1) == full.argmax(-1)
    return right & (np.abs(masses.max(-1) - best) < _CLOSE * best), right


def differences(
    low: Float[np.ndarray, "..."], high: Float[np.ndarray, "..."], other_low: np.ndarray, other_high: np.ndarray
) -> Float[np.ndarray, "... 2"]:
    """Bound differences of values between these ends.

    Examples
    --------
    >>> differences(*np.array([0.5, 0.7, 0.1, 0.4])).round(3).tolist()
    [0.1, 0.6]
    """
    return np.stack([low - other_high, high - other_low], axis=-1)
