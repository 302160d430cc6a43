"""Verdicts on measures: is the F1 of one system above another's, or are they practically equal?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import points
from bayes_assess.questions import MeasureComparison
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._in_words import measure_in_words, title_of, values_compared
from bayes_assess.results._ordered import MeasureEvidenceT_co
from bayes_assess.results._verdict import Verdict
from bayes_assess.results.metric import MetricResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS_UP_TO = 1.0  # measures that lie within [0, 1] are spoken of in points


@dataclass(frozen=True, eq=False, repr=False)
class MeasureVerdict(Verdict[MeasureEvidenceT_co], MetricResult[MeasureEvidenceT_co]):
    """The verdict on the difference D of a measure of two systems or groups, first less second.

    Attributes
    ----------
    masses : (3,) floats
        Probabilities of D < -rope, |D| <= rope and D > rope.
    eta : int
        The most probable of the three: 0, the first is lower; 1, practically equal; 2, the first is higher.
    probability : float
        The probability of that event.
    verdict : str
        The same as a sentence.
    """

    question: MeasureComparison

    @cached_property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Probabilities of D < -rope, |D| <= rope and D > rope."""
        return self.question.masses(self.evidence.quantiles_of_first)

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        return self.verdict

    @property
    def _rope(self) -> str:
        rope, high = self.question.rope, cells_table(self.cells).ranges[0][1]
        in_points = high <= _POINTS_UP_TO and self.question.measure_name != "mean"
        return points(rope) if in_points else f"{rope:g}"

    def verdict_table(self) -> Table:
        """Tabulate the three events."""
        first, second = self.names
        events = [f"lower by more than {self._rope}", f"within {self._rope}", f"higher by more than {self._rope}"]
        columns = {f"{first} is": events, "probability": self.masses}
        title = f"{measure_in_words(self.question.measure_name)} of {first} and of {second}"
        title = title[:1].upper() + title[1:]
        return Table(columns, title=title, formats={"probability": ".3f"})

    def _event(self) -> str:
        return values_compared(self.question.measure_name, self.names, self.eta, self._rope)

    def _answer(self) -> list[str]:
        return [self.verdict, *super()._answer()]

    def plot(self, *, truth: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the difference: its posterior density, with the region of practical equivalence, where it has one."""
        if not self.evidence.has_posterior:
            return super().plot(truth=truth, ax=ax)
        return self._density(self.draws[:, 0], title_of(self.question), truth, ax)
