"""Verdicts: is one group or system better than another, or are they practically equal?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import points
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.questions import AllPairs, GroupPair, TwoSystems
from bayes_assess.results._in_words import accuracies_compared
from bayes_assess.results._of_groups import OfGroups
from bayes_assess.results._pairs import Pairs
from bayes_assess.results._verdict import Verdict
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.sections.compared import SameItems, Sides, TwoAccuracies, TwoCalibrationErrors

if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    SidesT_co = typing_extensions.TypeVar("SidesT_co", bound=Sides, default=Sides, covariant=True)
else:
    SidesT_co = TypeVar("SidesT_co", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class CompareResult(OfGroups, Verdict[Groupwise], Generic[SidesT_co]):
    """The difference D of two accuracies, or of two calibration errors, first less second, and the verdict on it.

    Attributes
    ----------
    estimate : float
        Posterior mean of D.
    interval : (2,) floats
    masses : (3,) floats
        mu: posterior probabilities of D < -rope, |D| <= rope and D > rope.
    eta : int
        The most probable of the three: 0, the first is worse; 1, practically equal; 2, the first is better.
    probability : float
        lambda: the probability of that event.
    verdict : str
        The same as a sentence.
    share_differing : float
        Of systems alone: share of items on which they differ, known without labels.
    section : Sides
        What the question adds to the verdict.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["A"] * 483 + ["B"] * 513, classes=["A", "B"])
    >>> a = ba.assess(pool, ba.Compare("A", "B", by="prediction"), prior="uninformative")
    >>> a.tell(pool.ids, ["A"] * 280 + ["B"] * 203 + ["B"] * 351 + ["A"] * 162)  # [ABA] "Comparison"
    >>> print(a.result().verdict)
    A is more than 5 points less accurate than B, as their labels show.
    """

    question: GroupPair | TwoSystems
    section: SidesT_co

    _of_parts: ClassVar[frozenset[str]] = frozenset({"share_differing"})

    @property
    def share_differing(self: CompareResult[SameItems]) -> float:
        """Share of items on which the systems differ."""
        return self.section.share_differing

    @property
    def comparatives(self) -> tuple[str, str]:
        """What the first side is if it is below, and if it is above."""
        return self.section.comparatives

    @cached_property
    def estimate(self) -> float:
        """Posterior mean of the difference, first less second."""
        return float(self.question.estimate(self.cells, self.evidence.learner, self.counts))

    @cached_property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Posterior probabilities of D < -rope, |D| <= rope and D > rope."""
        return self.question.masses(self.cells, self.evidence.learner, self.counts)

    def table(self) -> Table:
        """Tabulate both groups, or labels by which system was right."""
        return self.section.table()

    def plot(self, *, truth: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked."""
        first, second = self.names
        return self._density(self.draws, f"{first} less {second}", truth, ax)

    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws of the difference, and the counts, as an ArviZ object."""
        prior = self.evidence.prior_draws(len(self.draws))
        return to_arviz(
            {"difference": self.draws},
            prior={"difference": prior},
            observed_data={"counts": self.counts},
            constant_data={"items": self.cells.sizes, "rope": float(self.question.rope)},
            dims={"counts": ["group", "outcome"], "items": ["group"]},
            coords={"group": self.cells.names},
            attrs=self._attributes(),
        )

    def _answer(self) -> list[str]:
        low, high = self.interval
        return [
            self.verdict,
            f"{self.section.quantity} {self.estimate:+z.3f}, {self.level:.0%} {self.guarantee} interval "
            f"[{low:+z.3f}, {high:+z.3f}].",
            *self.section.lines(),
        ]

    def _event(self) -> str:
        return self.section.event(self.eta)

    def _of_the_prior(self) -> str | None:
        return self.section.of_the_prior()


TwoGroupsResult = CompareResult[TwoAccuracies]
CalibrationComparisonResult = CompareResult[TwoCalibrationErrors]
TwoSystemsResult = CompareResult[SameItems]


@dataclass(frozen=True, eq=False, repr=False)
class PairsResult(OfGroups, Pairs[Groupwise]):
    """All pairs of groups compared.

    Attributes
    ----------
    estimate : (G, G) floats
        Posterior means of accuracy differences, row less column.
    interval : (G, G, 2) floats
    masses : (G, G, 3) floats
        Posterior probabilities that the row is worse, practically equal, better.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat"] * 40 + ["dog"] * 40)
    >>> a = ba.assess(pool, ba.Compare(by="prediction"))
    >>> a.tell(pool.ids, ["cat"] * 38 + ["dog"] * 22 + ["cat"] * 20)
    >>> a.result().masses[0, 1].round(2).tolist()
    [0.0, 0.0, 1.0]
    """

    question: AllPairs

    @property
    def size(self) -> Int[np.ndarray, " G"]:
        """Items of every group, (G,)."""
        return self.cells.sizes

    @cached_property
    def masses(self) -> Float[np.ndarray, "G G 3"]:
        """Posterior probabilities that the row is worse than the column, practically equal, better."""
        return self.question.masses(self.cells, self.evidence.learner, self.counts)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G G"]:
        """Posterior draws of all differences, (S, G, G): fewer of them the more groups there are."""
        n_draws = int(np.clip(20_000_000 // self.size.size**2, 250, 10_000))
        return self.evidence.draws(n_draws)

    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws of the groups' accuracies ``theta`` as an ArviZ object."""
        posterior, prior = self.evidence.thetas(self.n_draws)
        observed = {"agreements": self.counts[:, 1]}
        return self.evidence.to_arviz({"theta": posterior}, {"theta": prior}, observed, self._attributes())

    @cached_property
    def _compared(self) -> PairDifferences:
        square = np.ix_(self._filled, self._filled)
        return PairDifferences(self.estimate[square], self.interval[square], self.masses[square])

    @property
    def _filled(self) -> Int[np.ndarray, " J"]:
        """Groups with items, which are compared."""
        return np.flatnonzero(self.size)

    @property
    def _names(self) -> np.ndarray:
        return self.groups[self._filled]

    @property
    def _pairs_title(self) -> str:
        return f"Differences of accuracies, {self._interval_label}s"

    @property
    def _rope(self) -> str:
        return points(self.question.rope)

    def _of_the_prior(self) -> str | None:
        return self.evidence.contradiction()

    def _answer(self) -> list[str]:
        table = self.table()
        row = int(np.abs(table["difference"]).argmax()) if self.guarantee == "exact" else 0
        masses = [table[f"p_{event}"][row] for event in ("worse", "equal", "better")]
        event = accuracies_compared(
            str(table["first"][row]), str(table["second"][row]), int(np.argmax(masses)), self.question.rope
        )
        if self.guarantee == "exact":
            return [f"{self._said_of_pairs()}.", f"The largest difference: {event}."]
        return [f"{self._said_of_pairs()}.", f"The surest: {event} with probability {max(masses):.2f}."]
