"""All pairs of groups by a measure: which has the higher rate, and which is the best?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.questions import MeasurePairs
from bayes_assess.results import plots
from bayes_assess.results._ordered import MeasureEvidenceT_co
from bayes_assess.results._verdict import pairs_table
from bayes_assess.results.metric import MeasuresResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class MeasurePairsResult(MeasuresResult[MeasureEvidenceT_co]):
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
    def probability(self) -> float:
        """Probability of the least sure verdict."""
        return float(self.masses.max(-1).min())

    def table(self) -> Table:
        """Tabulate every pair of groups, the surest verdicts first; `ranking` has a row per group."""
        return pairs_table(self.ordered_names, self._compared, self._pairs_title)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how sure it is which of every two groups is better, as a heat map."""
        title = f"Better by more than {self.question.rope:g}: {self._progress()}"
        return plots.pairs(self.masses, self.ordered_names.tolist(), title=title, ax=ax)

    @cached_property
    def _compared(self) -> PairDifferences:
        return self._pairs(self.question.rope)

    def _said_of_the_best(self) -> list[str]:
        first, second = np.triu_indices(len(self.ordered_names), 1)
        masses, rope = self.masses[first, second], f"{self.question.rope:g}"
        n_pairs, sure = len(first), int((masses.max(-1) >= _SURE).sum())
        pairs, have = plural(n_pairs, "pair"), "has" if n_pairs == 1 else "have"
        if self.guarantee == "exact":
            settled = f"The labels settle {'all ' * (n_pairs > 1)}{pairs} of groups"
        else:
            settled = f"{sure:,} of {pairs} of groups {have} a verdict of probability {_SURE} or more"
        n_equal = int((masses[:, 1] >= _SURE).sum())
        are = "is" if n_equal == 1 else "are"
        return [*super()._said_of_the_best(), f"{settled}; {n_equal:,} of them {are} within {rope} of each other."]
