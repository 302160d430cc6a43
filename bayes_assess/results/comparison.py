"""Verdicts: is one group or system better than another, or are they practically equal?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.estimators.verdicts import verdict_of
from bayes_assess.questions import AllPairs, GroupPair, MeasureComparison, MeasurePairs, TwoSystems
from bayes_assess.results._base import Result
from bayes_assess.results._order import Order, Ordered
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.evidence.kinds import Counted
from bayes_assess.results.sections.compared import SameItems, Sides, TwoAccuracies, TwoCalibrationErrors
from bayes_assess.results.sections.pairs import AllSides

if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    ComparedT_co = typing_extensions.TypeVar("ComparedT_co", bound=Counted, default=Groupwise, covariant=True)
    SidesT_co = typing_extensions.TypeVar("SidesT_co", bound=Sides, default=Sides, covariant=True)
    AllSidesT_co = typing_extensions.TypeVar("AllSidesT_co", bound=AllSides, default=AllSides, covariant=True)
else:
    ComparedT_co, SidesT_co, AllSidesT_co = (TypeVar(name, covariant=True) for name in ("E_co", "S_co", "A_co"))


@dataclass(frozen=True, eq=False, repr=False)
class CompareResult(Result[ComparedT_co, SidesT_co], Generic[ComparedT_co, SidesT_co]):
    """The difference D of two accuracies, calibration errors or measures, first less second, and the verdict on it.

    Attributes
    ----------
    estimate : float
        Posterior mean of D; of measures, the median, or an estimate from weighted draws.
    interval : (2,) floats
    design_interval : (2,) floats
        From random items alone, of accuracies and calibration errors at all moments together; not of weighted draws.
    masses : (3,) floats
        mu: posterior probabilities of D < -rope, |D| <= rope and D > rope.
    eta : int
        The most probable of the three: 0, the first is worse, or lower; 1, practically equal; 2, the first is better,
        or higher.
    probability : float
        lambda: the probability of that event.
    verdict : str
        The same as a sentence.
    share_differing : float
        Of systems and their accuracies alone: share of items on which they differ, known without labels.
    section : Sides
        What is compared, with the words for it.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["A"] * 483 + ["B"] * 513, classes=["A", "B"])
    >>> a = ba.assess(pool, ba.Compare("A", "B", by="prediction"), prior="uninformative")
    >>> a.tell(pool.ids, ["A"] * 280 + ["B"] * 203 + ["B"] * 351 + ["A"] * 162)  # [ABA] "Comparison"
    >>> print(a.result().verdict)
    A is more than 5 points less accurate than B, as their labels show.
    """

    question: GroupPair | TwoSystems | MeasureComparison

    _of_parts: ClassVar[frozenset[str]] = Result._of_parts | {"share_differing"}

    @property
    def share_differing(self: CompareResult[Groupwise, SameItems]) -> float:
        """Share of items on which the systems differ."""
        return self.section.share_differing

    @property
    def names(self) -> tuple[str, str]:
        """What is compared."""
        return self.question.names()

    @property
    def comparatives(self) -> tuple[str, str]:
        """What the first side is if it is below, and if it is above."""
        return self.section.comparatives

    @property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Posterior probabilities of D < -rope, |D| <= rope and D > rope."""
        return self.section.masses

    @property
    def eta(self) -> int:
        """The most probable of the three events: 0, 1 or 2; of two that are equally probable that of the estimate."""
        return int(verdict_of(self.masses, float(self.estimate), float(self.question.rope)))

    @property
    def probability(self) -> float:
        """Probability of the verdict."""
        return float(self.masses.max())

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        known = self.evidence
        if known.tells_nothing(self.probability):
            return "There is no label yet that tells how {} and {} compare.".format(*self.names)
        sure = f" with probability {self.probability:.2f}{known.before_labels}"
        how = f", {known.from_labels('their')}" if self.guarantee == "exact" else sure
        return f"{self.section.event(self.eta)}{how}."

    def verdict_table(self) -> Table:
        """Tabulate the three events."""
        return self.section.verdict_table()

    def table(self) -> Table:
        """Tabulate both groups, labels by which system was right, or the difference of the measures."""
        return self.section.table()

    def plot(self, *, truth: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked.

        Of weighted draws, which have no posterior, that is the estimate with its interval.
        """
        return self.section.plot(truth, ax)

    def to_arviz(self, *, parameters: bool = False) -> ArvizData:
        """Return posterior and prior draws of the difference, and the counts, as an ArviZ object.

        Parameters
        ----------
        parameters : bool
            Whether to add those of a belief's model, where measures are compared; see `MetricResult.to_arviz`.
        """
        return self.section.to_arviz(parameters, self._attributes())

    def _answer(self) -> list[str]:
        return [self.verdict, *self.section.answer()]


TwoGroupsResult = CompareResult[Groupwise, TwoAccuracies]
CalibrationComparisonResult = CompareResult[Groupwise, TwoCalibrationErrors]
TwoSystemsResult = CompareResult[Groupwise, SameItems]


@dataclass(frozen=True, eq=False, repr=False)
class PairsResult(Ordered[ComparedT_co, AllSidesT_co], Generic[ComparedT_co, AllSidesT_co]):
    """All pairs of groups compared by their accuracies or by another measure, such as systems by rates of good answers.

    Attributes
    ----------
    estimate : (G, G) floats, or (G,)
        Posterior means of accuracy differences, row less column; of another measure, that of every group.
    interval : (G, G, 2) floats, or (G, 2)
    design_interval : (G, G, 2) floats, or (G, 2)
        From random items alone, of accuracy differences each for itself at all moments together; not of weighted draws.
    difference : (G, G) floats
        Differences, row less column: posterior means of accuracies, medians of another measure.
    difference_interval : (G, G, 2) floats
    masses : (G, G, 3) floats
        Posterior probabilities that the row is worse, practically equal, better.
    rank, rank_interval, probability_best, probability_worst
        Of every group with items, see `ranking`.
    section : AllSides
        What is compared, with the words for it.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat"] * 40 + ["dog"] * 40)
    >>> a = ba.assess(pool, ba.Compare(by="prediction"))
    >>> a.tell(pool.ids, ["cat"] * 38 + ["dog"] * 22 + ["cat"] * 20)
    >>> a.result().masses[0, 1].round(2).tolist()
    [0.0, 0.0, 1.0]
    >>> pool = ba.Pool(predictions=["good"] * 6, classes=["bad", "good"], groups={"system": list("aaabbb")})
    >>> a = ba.assess(pool, ba.Compare(by="system", measure="rate"))
    >>> a.tell(pool.ids, ["good"] * 4 + ["bad"] * 2)
    >>> r = a.result()
    >>> r.masses[0, 1].tolist(), r.probability_best.tolist()
    ([0.0, 0.0, 1.0], [1.0, 0.0])
    """

    question: AllPairs | MeasurePairs

    _of_parts: ClassVar[frozenset[str]] = Result._of_parts | {"size"}

    @property
    def size(self: PairsResult[Groupwise]) -> Int[np.ndarray, " G"]:
        """Items of every group, (G,)."""
        return self.evidence.size

    @property
    def difference(self) -> Float[np.ndarray, "G G"]:
        """All differences, row less column, (G, G)."""
        return self.section.differences[0]

    @property
    def difference_interval(self) -> Float[np.ndarray, "G G 2"]:
        """Intervals of all differences, row less column, (G, G, 2)."""
        return self.section.differences[1]

    @property
    def masses(self) -> Float[np.ndarray, "G G 3"]:
        """Probabilities that the row is worse than the column, practically equal, better, (G, G, 3)."""
        return self.section.masses

    @property
    def probability(self) -> float:
        """Probability of the least sure verdict on groups with items."""
        return float(self.section.compared.masses.max(-1).min())

    def table(self) -> Table:
        """Tabulate every pair of groups with items, the surest verdicts first."""
        return self.section.table()

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how sure it is which of every two groups is better, as a heat map."""
        return self.section.plot(ax)

    def to_arviz(self, *, parameters: bool = False) -> ArvizData:
        """Return posterior draws of every group, of accuracies ``theta`` prior ones too, as an ArviZ object.

        Parameters
        ----------
        parameters : bool
            Whether to add those of a belief's model, where measures are compared; see `MetricResult.to_arviz`.
        """
        return self.section.to_arviz(parameters, self._attributes())

    @property
    def _rope_asked(self) -> float:
        return self.question.rope

    def _pairs_table(self, rope: float) -> Table:
        return self.section.table(self.section.compared_by(rope))

    @cached_property
    def _order(self) -> Order:
        return self.section.order

    @property
    def headline(self) -> str:
        """The answer as one sentence: how many verdicts are sure."""
        return next(line for line in self._answer() if line.startswith(self.section.said_of_pairs()))

    def _answer(self) -> list[str]:
        return self.section.answer(self._said_of_the_best)
