"""Verdicts: is one group or system better than another, or are they practically equal?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural, points
from bayes_assess._tools.to_arviz import to_arviz
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.models.paired_outcomes import OUTCOMES
from bayes_assess.questions import AllPairs, GroupAccuracy, GroupPair, TwoCalibrations, TwoGroups, TwoSystems
from bayes_assess.results import plots
from bayes_assess.results._of_groups import OfGroups
from bayes_assess.results._verdict import Verdict, pairs_table
from bayes_assess.results.calibration import CalibrationResult
from bayes_assess.results.evidence.groupwise import Groupwise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class CompareResult(OfGroups, Verdict[Groupwise]):
    """The difference D of two accuracies, first less second, and the verdict on it.

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
    _quantity: ClassVar[str] = "Difference of the accuracies"
    comparatives: ClassVar[tuple[str, str]] = ("less accurate", "more accurate")

    @cached_property
    def estimate(self) -> float:
        """Posterior mean of the difference, first less second."""
        return float(self.question.estimate(self.cells, self.evidence.learner, self.counts))

    @cached_property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Posterior probabilities of D < -rope, |D| <= rope and D > rope."""
        return self.question.masses(self.cells, self.evidence.learner, self.counts)

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        how = "as their labels show" if self.guarantee == "exact" else f"with probability {self.probability:.2f}"
        return f"{self._event()}{',' * (self.guarantee == 'exact')} {how}."

    def _event(self) -> str:
        """Say the most probable of the three events in words."""
        return _event(*self.names, self.eta, self.question.rope)

    def plot(self, *, truth: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked."""
        first, second = self.names
        return self._density(self.draws, f"{first} less {second}", truth, ax)

    def to_arviz(self) -> Any:
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
            f"{self._quantity} {self.estimate:+z.3f}, {self.level:.0%} {self.guarantee} interval "
            f"[{low:+z.3f}, {high:+z.3f}].",
        ]


@dataclass(frozen=True, eq=False, repr=False)
class TwoGroupsResult(CompareResult):
    """Two groups compared."""

    question: TwoGroups | TwoCalibrations
    _title: ClassVar[str] = "Accuracy"

    @cached_property
    def _each(self) -> dict[str, np.ndarray]:
        """Return columns of the table: what is known of each group by itself."""
        by: Any = self.question.by
        question = GroupAccuracy(by, target=self.question.target)
        estimate = question.estimate(self.cells, self.evidence.learner, self.counts)
        low, high = question.interval(self.cells, self.evidence.learner, self.counts, self.level).T
        columns = {"group": self.cells.names, "items": self.cells.sizes, "labelled": self.counts.sum(-1)}
        return columns | {"right": self.counts[:, 1], "accuracy": estimate, "lower": low, "upper": high}

    def table(self) -> Table:
        """Tabulate both groups."""
        pair, columns = list(self.question.pair(self.cells)), self._each
        return Table(
            {name: values[pair] for name, values in columns.items()},
            title=f"{self._title} of the two groups, {self._interval_label}s",
            formats=dict.fromkeys(list(columns)[-3:], ".3f"),
        )

    def _of_the_prior(self) -> str | None:
        return self.evidence.contradiction()


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationComparisonResult(TwoGroupsResult):
    """Calibration errors of two groups compared.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["A"] * 40 + ["B"] * 40, confidence=[0.75] * 80)
    >>> a = ba.assess(pool, ba.Compare("A", "B", by="prediction", measure="ece", bins=2))
    >>> a.tell(pool.ids, ["A"] * 30 + ["B"] * 10 + ["B"] * 20 + ["A"] * 20)  # .75 of A are right, .5 of B
    >>> print(a.result().verdict)
    The calibration error of A is more than 5 points below that of B, as their labels show.
    """

    question: TwoCalibrations
    _title: ClassVar[str] = "Calibration error"
    _quantity: ClassVar[str] = "Difference of the calibration errors"
    comparatives: ClassVar[tuple[str, str]] = ("lower", "higher")

    def _event(self) -> str:
        (first, second), rope = self.names, points(self.question.rope)
        where = f"within {rope} of" if self.eta == 1 else f"more than {rope} {'below' if self.eta == 0 else 'above'}"
        return f"The calibration error of {first} is {where} that of {second}"

    @cached_property
    def _each(self) -> dict[str, np.ndarray]:
        question = self.question.each(self.cells)
        found = CalibrationResult(question, replace(self.evidence, question=question))
        low, high = found.interval.T
        columns = {"group": found.groups, "items": found.size, "labelled": found.labelled}
        return columns | {"ece": found.estimate, "lower": low, "upper": high}


@dataclass(frozen=True, eq=False, repr=False)
class TwoSystemsResult(CompareResult):
    """Two systems compared on the same items.

    Attributes
    ----------
    share_differing : float
        Share of items on which the systems differ, known without labels.
    """

    @property
    def share_differing(self) -> float:
        """Share of items on which the systems differ."""
        return float(self.cells.weights[1])

    def table(self) -> Table:
        """Tabulate labels by who was right."""
        names = dict(zip(OUTCOMES, ("both", *self.names, "neither"), strict=True))
        return Table(
            {
                "systems": self.cells.names,
                "items": self.cells.sizes,
                "labelled": self.counts.sum(-1),
                **{f"{names[name]} right": self.counts[:, j] for j, name in enumerate(OUTCOMES)},
            },
            title="Labels by whether the systems agree, and who is right",
        )

    def _answer(self) -> list[str]:
        differing = int(self.cells.sizes[1])
        return [
            *super()._answer(),
            f"The systems differ on {differing:,} of {self.cells.n_items:,} items, the only ones worth a label.",
        ]


@dataclass(frozen=True, eq=False, repr=False)
class PairsResult(OfGroups):
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

    @property
    def probability(self) -> float:
        """Probability of the least sure verdict on groups with items."""
        filled = np.flatnonzero(self.size)
        return float(self.masses.max(-1)[np.ix_(filled, filled)].min())

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G G"]:
        """Posterior draws of all differences, (S, G, G): fewer of them the more groups there are."""
        n_draws = int(np.clip(20_000_000 // self.size.size**2, 250, 10_000))
        return self.evidence.draws(n_draws)

    def table(self) -> Table:
        """Tabulate every pair of groups with items, the surest verdicts first."""
        used = np.flatnonzero(self.size)
        square = np.ix_(used, used)
        found = PairDifferences(self.estimate[square], self.interval[square], self.masses[square])
        title = f"Differences of accuracies, {self._interval_label}s"
        return pairs_table(self.groups[used], found, title)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how sure it is which of every two groups is better, as a heat map."""
        used = np.flatnonzero(self.size)
        names = [str(name) for name in self.groups[used]]
        title = f"Better by more than {points(self.question.rope)}: {self._progress()}"
        return plots.pairs(self.masses[np.ix_(used, used)], names, title=title, ax=ax)

    def to_arviz(self) -> Any:
        """Return posterior and prior draws of the groups' accuracies ``theta`` as an ArviZ object."""
        posterior, prior = self.evidence.thetas(self.n_draws)
        observed = {"agreements": self.counts[:, 1]}
        return self.evidence.to_arviz({"theta": posterior}, {"theta": prior}, observed, self._attributes())

    def _of_the_prior(self) -> str | None:
        return self.evidence.contradiction()

    def _answer(self) -> list[str]:
        table = self.table()
        masses = np.stack([table[f"p_{event}"] for event in ("worse", "equal", "better")], axis=-1)
        n_pairs, known = len(masses), self.guarantee == "exact"
        row = int(np.abs(table["difference"]).argmax()) if known else 0
        names = str(table["first"][row]), str(table["second"][row])
        event = _event(*names, int(masses[row].argmax()), self.question.rope)
        if known:
            settled = f"The labels settle {'all ' * (n_pairs > 1)}{plural(n_pairs, 'pair')} of groups."
            return [settled, f"The largest difference: {event}."]
        sure, have = (masses.max(-1) >= _SURE).sum(), "has" if n_pairs == 1 else "have"
        lines = [f"{sure} of {plural(n_pairs, 'pair')} of groups {have} a verdict of probability {_SURE} or more."]
        return [*lines, f"The surest: {event} with probability {masses[row].max():.2f}."]


def _event(first: str, second: str, eta: int, rope: float) -> str:
    """Say one of the three events in words."""
    if eta == 1:
        return f"{first} and {second} are within {points(rope)} of each other in accuracy"
    return f"{first} is more than {points(rope)} {'less' if eta == 0 else 'more'} accurate than {second}"
