"""All pairs of groups by a measure: which has the higher rate, and which is the best?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.questions import MeasurePairs
from bayes_assess.results._ordered import MeasureEvidenceT_co
from bayes_assess.results._pairs import SURE, Pairs
from bayes_assess.results.metric import MeasuresResult

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, repr=False)
class MeasurePairsResult(Pairs[MeasureEvidenceT_co], MeasuresResult[MeasureEvidenceT_co]):
    """All groups compared by one measure, such as systems by their rates of good answers.

    Attributes
    ----------
    estimate : (G,) floats
        The measure of every group.
    interval : (G, 2) floats
    rank, rank_interval, probability_best, probability_worst
        Of every group, see `ranking`.
    difference : (G, G) floats
        Medians of the differences, row less column.
    difference_interval : (G, G, 2) floats
    masses : (G, G, 3) floats
        Probabilities that the row is worse than the column, practically equal, better.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["good"] * 6, classes=["bad", "good"], groups={"system": list("aaabbb")})
    >>> a = ba.assess(pool, ba.Compare(by="system", measure="rate"))
    >>> a.tell(pool.ids, ["good"] * 4 + ["bad"] * 2)
    >>> r = a.result()
    >>> r.masses[0, 1].tolist(), r.probability_best.tolist()
    ([0.0, 0.0, 1.0], [1.0, 0.0])
    """

    question: MeasurePairs

    @property
    def difference(self) -> Float[np.ndarray, "G G"]:
        """Medians of all differences, row less column, (G, G)."""
        return self._compared.estimate

    @property
    def difference_interval(self) -> Float[np.ndarray, "G G 2"]:
        """Intervals of all differences, row less column, (G, G, 2)."""
        return self._compared.interval

    @property
    def masses(self) -> Float[np.ndarray, "G G 3"]:
        """Probabilities that the row is worse than the column, practically equal, better, (G, G, 3)."""
        return self._compared.masses

    @property
    def _names(self) -> np.ndarray:
        return self.ordered_names

    @property
    def _rope(self) -> str:
        return f"{self.question.rope:g}"

    @cached_property
    def _compared(self) -> PairDifferences:
        return self._pairs(self.question.rope)

    def _said_of_the_best(self) -> list[str]:
        masses = self.masses[np.triu_indices(len(self._names), 1)]
        n_equal = int((masses[:, 1] >= SURE).sum())
        are = "is" if n_equal == 1 else "are"
        equal = f"{n_equal:,} of them {are} within {self._rope} of each other"
        return [*super()._said_of_the_best(), f"{self._said_of_pairs()}; {equal}."]
