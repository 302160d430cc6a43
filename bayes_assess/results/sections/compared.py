"""What a comparison adds to its verdict: words for the two sides, and what is known of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import points
from bayes_assess.questions import GroupAccuracy, GroupPair, TwoCalibrations, TwoGroups, TwoSystems
from bayes_assess.results._in_words import accuracies_compared, values_compared
from bayes_assess.results.calibration import CalibrationResult
from bayes_assess.results.evidence.groupwise import Groupwise


@dataclass(frozen=True, eq=False, repr=False)
class Sides(ABC):
    """What a comparison of two sides adds to its verdict."""

    question: GroupPair | TwoSystems
    evidence: Groupwise

    quantity: ClassVar[str] = "Difference of the accuracies"
    comparatives: ClassVar[tuple[str, str]] = ("less accurate", "more accurate")

    def event(self, eta: int) -> str:
        """Say one of the three events in words."""
        return accuracies_compared(*self.question.names(), eta, self.question.rope)

    @abstractmethod
    def table(self) -> Table:
        """Tabulate what is known of both sides."""

    def lines(self) -> list[str]:
        """Say what else there is to say, a sentence per line."""
        return []

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior; None where there is nothing to say."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class _BothGroups(Sides):
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

    def event(self, eta: int) -> str:
        """Say one of the three events in words."""
        return values_compared("calibration error", self.question.names(), eta, points(self.question.rope))

    def _columns(self) -> dict[str, np.ndarray]:
        question = self.question.each(self.evidence.cells)
        found = CalibrationResult(question, replace(self.evidence, question=question))
        low, high = found.interval.T
        columns = {"group": found.groups, "items": found.size, "labelled": found.labelled}
        return columns | {"ece": found.estimate, "lower": low, "upper": high}


@dataclass(frozen=True, eq=False, repr=False)
class SameItems(Sides):
    """Two systems on the same items."""

    question: TwoSystems

    @property
    def share_differing(self) -> float:
        """Share of items on which the systems differ."""
        return float(self.evidence.cells.weights[1])

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

    def lines(self) -> list[str]:
        """Say on how many items the systems differ."""
        n, all_items = int(self.evidence.cells.sizes[1]), self.evidence.cells.n_items
        return [f"The systems differ on {n:,} of {all_items:,} items, the only ones worth a label."]
