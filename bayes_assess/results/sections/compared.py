"""What a comparison of two sides is of: its numbers, the words for them, and what is known of each side."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import points
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.measures import LOSSES
from bayes_assess.questions import GroupAccuracy, GroupPair, MeasureComparison, TwoCalibrations, TwoGroups, TwoSystems
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results import plots
from bayes_assess.results._in_words import (
    accuracies_compared,
    measure_in_words,
    rope_in_words,
    title_of,
    values_compared,
)
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.evidence.kinds import MeasureEvidence
from bayes_assess.results.sections.calibration import CalibrationErrors
from bayes_assess.results.sections.measures import Measures
from bayes_assess.results.sections.section import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Sides(Section):
    """The two sides of a comparison, and the difference of the first less the second."""

    question: GroupPair | TwoSystems | MeasureComparison

    comparatives: ClassVar[tuple[str, str]] = ("lower", "higher")

    @property
    def low_is_best(self) -> bool:
        """Whether the lower of the two is the better one, as of losses."""
        return False

    if TYPE_CHECKING:

        @cached_property
        def masses(self) -> Float[np.ndarray, " 3"]:
            """Probabilities of D < -rope, |D| <= rope and D > rope."""
            ...

    @property
    def rope(self) -> str:
        """Half-width of the region of practical equivalence, in words; "" where it is 0."""
        return points(self.question.rope) if self.question.rope else ""

    @property
    def compared(self) -> str:
        """What is compared, as a title."""
        return "{} compared with {}".format(*self.question.names())

    @property
    def drawn(self) -> str:
        """What a figure shows, as its title."""
        return "{} less {}".format(*self.question.names())

    @abstractmethod
    def event(self, eta: int) -> str:
        """Say one of the three events in words."""

    @abstractmethod
    def answer(self) -> list[str]:
        """Say the difference, and what else there is to say, a sentence per line."""

    @abstractmethod
    def table(self) -> Table:
        """Tabulate what is known of both sides."""

    def verdict_table(self) -> Table:
        """Tabulate the three events."""
        (low, high), rope = self.comparatives, self.rope
        events = [f"{low} by more than {rope}", f"within {rope}", f"{high} by more than {rope}"]
        events = events if rope else [low, "equal", high]
        columns = {f"{self.question.names()[0]} is": events, "probability": self.masses}
        return Table(columns, title=self.compared, formats={"probability": ".3f"})

    def plot(self, truth: float | None, ax: Axes | None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked."""
        first, second = self.question.names()
        return plots.rope_density(
            self.draws.ravel(),
            float(self.question.rope),
            self.masses,
            first=first,
            second=second,
            estimate=float(self.estimate),
            interval=self.interval,
            interval_label=self.evidence.interval_label,
            low_is_best=self.low_is_best,
            truth=truth,
            title=f"{self.drawn}: {self.evidence._progress()}",
            ax=ax,
        )

    @abstractmethod
    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return what is known of the difference as an ArviZ object."""


@dataclass(frozen=True, eq=False, repr=False)
class _ByOutcomes(Sides):
    """Sides whose labels are right or wrong, and counted so."""

    question: GroupPair | TwoSystems
    evidence: Groupwise

    quantity: ClassVar[str] = "Difference of the accuracies"
    comparatives: ClassVar[tuple[str, str]] = ("less accurate", "more accurate")

    @cached_property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Posterior probabilities of D < -rope, |D| <= rope and D > rope."""
        known = self.evidence
        return self.question.masses(known.cells, known.learner, known.counts)

    @property
    def estimate(self) -> float:
        """Posterior mean of the difference."""
        return float(self.evidence.estimate)

    def event(self, eta: int) -> str:
        """Say one of the three events in words."""
        return accuracies_compared(*self.question.names(), eta, self.question.rope)

    def answer(self) -> list[str]:
        """Say the difference with its interval."""
        ends = self.evidence.with_ends(self.interval, "+z.3f")
        second = self.evidence.by_random_labels
        alone = "" if second is None else f"; by random labels alone [{second[0]:+z.3f}, {second[1]:+z.3f}]"
        return [f"{self.quantity} {self.estimate:+z.3f}{ends}{alone}."]

    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return posterior and prior draws of the difference, and the counts."""
        known = self.evidence
        return to_arviz(
            {"difference": self.draws},
            prior={"difference": known.prior_draws(len(self.draws))},
            observed_data={"counts": known.counts},
            constant_data={"items": known.cells.sizes, "rope": float(self.question.rope)},
            dims={"counts": ["group", "outcome"], "items": ["group"]},
            coords={"group": known.cells.names},
            attrs=attributes,
        )


@dataclass(frozen=True, eq=False, repr=False)
class _BothGroups(_ByOutcomes):
    """Two groups, each of which has an estimate and an interval of its own."""

    question: GroupPair
    title: ClassVar[str]

    def table(self) -> Table:
        """Tabulate both groups."""
        pair, columns = list(self.question.pair(self.evidence.cells)), self._columns()
        return Table(
            {name: np.asarray(values)[pair] for name, values in columns.items()},
            title=f"{self.title} of the two groups, {self.evidence.interval_label}s",
            formats=dict.fromkeys(list(columns)[-3:], ".3f"),
        )

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior; None where there is nothing to say."""
        return self.evidence.contradiction()

    @abstractmethod
    def _columns(self) -> dict[str, np.ndarray]:
        """Return what is known of every group by itself."""


@dataclass(frozen=True, eq=False, repr=False)
class TwoAccuracies(_BothGroups):
    """Accuracies of two groups."""

    question: TwoGroups
    title: ClassVar[str] = "Accuracy"

    def _columns(self) -> dict[str, np.ndarray]:
        known, question = self.evidence, GroupAccuracy(self.question.by, target=self.question.target)
        estimate = question.estimate(known.cells, known.learner, known.counts)
        low, high = question.interval(known.cells, known.learner, known.counts, known.level).T
        columns = {"group": known.cells.names, "items": known.cells.sizes, "labelled": known.counts.sum(-1)}
        return columns | {"right": known.counts[:, 1], "accuracy": estimate, "lower": low, "upper": high}


@dataclass(frozen=True, eq=False, repr=False)
class TwoCalibrationErrors(_BothGroups):
    """Calibration errors of two groups.

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
    title: ClassVar[str] = "Calibration error"
    quantity: ClassVar[str] = "Difference of the calibration errors"
    comparatives: ClassVar[tuple[str, str]] = ("lower", "higher")

    @property
    def low_is_best(self) -> bool:
        """Whether the lower of the two is the better one: errors are."""
        return True

    def event(self, eta: int) -> str:
        """Say one of the three events in words."""
        return values_compared("calibration error", self.question.names(), eta, self.rope)

    def _columns(self) -> dict[str, np.ndarray]:
        question = self.question.each(self.evidence.cells)
        known = replace(self.evidence, question=question)
        low, high = CalibrationErrors(question, known).interval.T
        columns = {"group": known.groups, "items": known.size, "labelled": known.labelled}
        return columns | {"ece": known.estimate, "lower": low, "upper": high}


@dataclass(frozen=True, eq=False, repr=False)
class SameItems(_ByOutcomes):
    """Two systems on the same items."""

    question: TwoSystems

    @property
    def share_differing(self) -> float:
        """Share of items on which the systems differ."""
        return float(self.evidence.cells.weights[1])

    def event(self, eta: int) -> str:
        """Say one of the three events in words, with a capital letter unless a name of the user's comes first."""
        said, first = super().event(eta), self.question.first
        return said if isinstance(first, str) and said.startswith(first) else said[0].upper() + said[1:]

    def table(self) -> Table:
        """Tabulate labels by who was right."""
        known, names = self.evidence, ("both", *self.question.names(), "neither")
        return Table(
            {
                "systems": known.cells.names,
                "items": known.cells.sizes,
                "labelled": known.counts.sum(-1),
                **{f"{name} right": known.counts[:, j] for j, name in enumerate(names)},
            },
            title="Labels by whether the systems agree, and who is right",
        )

    def answer(self) -> list[str]:
        """Say the difference with its interval, and on how many items the systems differ."""
        n, all_items = int(self.evidence.cells.sizes[1]), self.evidence.cells.n_items
        differ = f"The systems differ on {n:,} of {all_items:,} items, the only ones worth a label."
        return [*super().answer(), differ]


@dataclass(frozen=True, eq=False, repr=False)
class TwoMeasures(Measures, Sides):
    """A measure of two systems, or of two groups."""

    question: MeasureComparison
    evidence: MeasureEvidence

    @property
    def low_is_best(self) -> bool:
        """Whether the lower of the two is the better one, as of losses."""
        return self.question.measure_name in LOSSES

    @cached_property
    def masses(self) -> Float[np.ndarray, " 3"]:
        """Probabilities of D < -rope, |D| <= rope and D > rope."""
        return self.question.masses(self.evidence.quantiles_of_first)

    @property
    def rope(self) -> str:
        """Half-width of the region of practical equivalence, in words; "" where it is 0."""
        rope, widest = self.question.rope, cells_table(self.evidence.cells).ranges[0][1]
        return rope_in_words(rope, widest, self.question.measure_name) if rope else ""

    @property
    def compared(self) -> str:
        """What is compared, as a title."""
        title = "{} of {} and of {}".format(measure_in_words(self.question.measure_name), *self.question.names())
        return title[:1].upper() + title[1:]

    @property
    def drawn(self) -> str:
        """What a figure shows, as its title."""
        return title_of(self.question)

    def event(self, eta: int) -> str:
        """Say one of the three events in words."""
        return values_compared(measure_in_words(self.question.measure_name), self.question.names(), eta, self.rope)

    def answer(self) -> list[str]:
        """Say the difference with its interval, and what these and the verdict lean on."""
        contradicted = "The verdict leans on what random items contradict."
        return self.evidence.lines([contradicted] if self.evidence.warning("") else [])

    def plot(self, truth: float | None, ax: Axes | None) -> Axes:
        """Draw the posterior density of the difference, or where it has none, the estimate with its interval."""
        if not self.evidence.has_posterior:
            return self.forest(truth, ax)
        return super().plot(truth, ax)

    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return posterior draws of the difference, by its name; see `MetricResult.to_arviz`."""
        return self.evidence.to_arviz(self.evidence.variables, parameters, attributes)
