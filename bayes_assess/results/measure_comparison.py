"""Verdicts on measures: is the F1 of one system above another's, or are they practically equal?"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import points
from bayes_assess.questions import MeasureComparison
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results import plots
from bayes_assess.results._in_words import measure_in_words, title_of
from bayes_assess.results._ordered import Ordered
from bayes_assess.results._verdict import Verdict
from bayes_assess.results.belief_metric import BeliefMetricResult
from bayes_assess.results.metric import MetricResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_POINTS_UP_TO = 1.0  # measures that lie within [0, 1] are spoken of in points


@dataclass(frozen=True, eq=False, repr=False)
class MeasureVerdict(Verdict, Ordered):
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

    @property
    @abstractmethod
    def _quantiles(self) -> Float[np.ndarray, " Q"]: ...

    @cached_property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Probabilities of D < -rope, |D| <= rope and D > rope."""
        return self.question.masses(self._quantiles)

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        exact = self.guarantee == "exact"
        how = ", as their labels show" if exact else f" with probability {self.probability:.2f}"
        (first, second), what = self.names, self.question.measure_name
        sides = f"The {what} of {first}", f"that of {second}"
        if self.eta == 1:
            return f"{sides[0]} is within {self._rope} of {sides[1]}{how}."
        return f"{sides[0]} is more than {self._rope} {'below' if self.eta == 0 else 'above'} {sides[1]}{how}."

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

    def _answer(self) -> list[str]:
        return [self.verdict, *super()._answer()]


@dataclass(frozen=True, eq=False, repr=False)
class BeliefComparisonResult(MeasureVerdict, BeliefMetricResult):
    """A measure of two systems or groups compared, from a belief that learns what the scores mean."""

    @property
    def _quantiles(self) -> Float[np.ndarray, " Q"]:
        return self.found.draws[:, 0]

    def plot(self, *, truth: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked."""
        first, second = self.names
        return plots.rope_density(
            self.found.draws[:, 0],
            float(self.question.rope),
            self.masses,
            first=first,
            second=second,
            estimate=float(self.estimate),
            interval=self.interval,
            interval_label=self._interval_label,
            truth=truth,
            title=f"{title_of(self.question)}: {self._progress()}",
            ax=ax,
        )


@dataclass(frozen=True, eq=False, repr=False)
class WeightedComparisonResult(MeasureVerdict, MetricResult):
    """A measure of two systems or groups compared, from weighted draws."""

    @property
    def _quantiles(self) -> Float[np.ndarray, " Q"]:
        return self.question.quantiles(self.answer, cells_table(self.cells).ranges)
