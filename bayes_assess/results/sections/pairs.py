"""What a comparison of all pairs is of: a value of every group, differences, and the words for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural, points
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.questions import AllPairs, GroupAccuracy, MeasurePairs
from bayes_assess.results import plots
from bayes_assess.results._in_words import accuracies_compared, measure_in_words
from bayes_assess.results._order import Order, order_of_groups
from bayes_assess.results._pairs import pairs_table
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.evidence.kinds import MeasureEvidence
from bayes_assess.results.sections.groups import Accuracies
from bayes_assess.results.sections.section import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE = 0.95
_SHOWN = 40  # groups of a figure, at most
_DRAW_NUMBERS = 20_000_000  # of the draws of all differences, within these bounds
_MOST_DRAWS, _FEWEST_DRAWS = 10_000, 250


@dataclass(frozen=True, eq=False, repr=False)
class AllSides(Section):
    """Several groups, or systems, of which every two are compared."""

    question: AllPairs | MeasurePairs

    if TYPE_CHECKING:

        @cached_property
        def order(self) -> Order:
            """A value of every group with items."""
            ...

        @cached_property
        def masses(self) -> Float[np.ndarray, "G G 3"]:
            """Probabilities that the row is worse than the column, practically equal, better."""
            ...

    @property
    @abstractmethod
    def quantity(self) -> str:
        """Whose differences are taken."""

    @property
    @abstractmethod
    def rope(self) -> str:
        """Half-width of the region of practical equivalence, in words."""

    @property
    @abstractmethod
    def differences(self) -> tuple[Float[np.ndarray, "G G"], Float[np.ndarray, "G G 2"]]:
        """Differences of all groups, row less column, and their intervals."""

    @abstractmethod
    def compared_by(self, rope: float) -> PairDifferences:
        """Compare groups with items, row less column."""

    @cached_property
    def compared(self) -> PairDifferences:
        """Groups with items compared by the rope of the question."""
        return self.compared_by(self.question.rope)

    def table(self, compared: PairDifferences | None = None) -> Table:
        """Tabulate every pair of groups with items, the surest verdicts first; by the rope of the question."""
        title = f"Differences of {self.quantity}, {self.evidence.interval_label}s"
        compared = self.compared if compared is None else compared
        return pairs_table(self.order.names, compared, title, self.order.comparatives)

    def plot(self, ax: Axes | None) -> Axes:
        """Draw how sure it is which of every two groups is better, as a heat map; of many, of the first and last."""
        comparatives = self.order.comparatives
        better = comparatives[1].capitalize() + (f" by more than {self.rope}" if self.question.rope else "")
        names, shown = self.order.names, np.arange(len(self.order.names))
        of_groups = ""
        if len(names) > _SHOWN:
            ranked = np.argsort(self.order.value, kind="stable")
            shown = np.sort(np.concatenate([ranked[: _SHOWN // 2], ranked[-_SHOWN // 2 :]]))
            of_groups = f", {_SHOWN // 2} lowest and {_SHOWN // 2} highest of {len(names):,} groups"
        title = f"{better}{of_groups}: {self.evidence._progress()}"
        masses = self.compared.masses[np.ix_(shown, shown)]
        shown_names = [str(name) for name in names[shown]]
        return plots.pairs(masses, shown_names, title=title, comparatives=comparatives, ax=ax)

    @abstractmethod
    def answer(self, best: Callable[[], list[str]]) -> list[str]:
        """Say the answer, a sentence per line, with the groups that may be the best if these are not said otherwise."""

    @abstractmethod
    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return what is known of every group as an ArviZ object."""

    def said_of_pairs(self) -> str:
        """Say how many verdicts are sure, the beginning of a sentence."""
        masses = self._masses_of_pairs
        pairs = plural(len(masses), "pair")
        if self.evidence.guarantee == "exact":
            return f"The labels settle {'all ' * (len(masses) > 1)}{pairs} of groups"
        sure, have = int((masses.max(-1) >= _SURE).sum()), "has" if len(masses) == 1 else "have"
        return f"{sure:,} of {pairs} of groups {have} a verdict of probability {_SURE} or more"

    @property
    def _masses_of_pairs(self) -> Float[np.ndarray, "P 3"]:
        return self.compared.masses[np.triu_indices(len(self.order.names), 1)]


@dataclass(frozen=True, eq=False, repr=False)
class AllAccuracies(AllSides):
    """Accuracies of several groups."""

    question: AllPairs
    evidence: Groupwise

    @property
    def quantity(self) -> str:
        """Whose differences are taken."""
        return "accuracies"

    @cached_property
    def order(self) -> Order:
        """Accuracies of groups with items."""
        question = GroupAccuracy(self.question.by, target=self.question.target)
        known, filled = replace(self.evidence, question=question), self._filled
        section = Accuracies(question, known)
        values = known.estimate[filled], section.interval[filled], section.draws[:, filled]
        return Order(known.groups[filled], known.by, question.quantity, *values, widest=1.0)

    def compared_by(self, rope: float) -> PairDifferences:
        """Compare groups with items, row less column."""
        square, masses = np.ix_(self._filled, self._filled), self._masses_by(rope)
        return PairDifferences(*(values[square] for values in (*self.differences, masses)))

    @cached_property
    def masses(self) -> Float[np.ndarray, "G G 3"]:
        """Posterior probabilities that the row is worse than the column, practically equal, better."""
        return self._masses_by(self.question.rope)

    @property
    def rope(self) -> str:
        """Half-width of the region of practical equivalence, in words."""
        return points(self.question.rope)

    @property
    def differences(self) -> tuple[Float[np.ndarray, "G G"], Float[np.ndarray, "G G 2"]]:
        """Posterior means of the differences, row less column, and their intervals."""
        return self.evidence.estimate, self.interval

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G G"]:
        """Posterior draws of all differences: fewer of them the more groups there are."""
        n = self.evidence.cells.n_cells
        return self.evidence.draws(int(np.clip(_DRAW_NUMBERS // n**2, _FEWEST_DRAWS, _MOST_DRAWS)))

    def answer(self, best: Callable[[], list[str]]) -> list[str]:
        """Say how many verdicts are sure, and which is the surest, or of the largest difference."""
        table, exact = self.table(), self.evidence.guarantee == "exact"
        row = int(np.abs(table["difference"]).argmax()) if exact else 0
        masses = [table[f"p_{event}"][row] for event in ("worse", "equal", "better")]
        event = accuracies_compared(
            str(table["first"][row]), str(table["second"][row]), int(np.argmax(masses)), self.question.rope
        )
        surest = f"The surest: {event} with probability {max(masses):.2f}{self.evidence.before_labels}."
        return [f"{self.said_of_pairs()}.", f"The largest difference: {event}." if exact else surest]

    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return posterior and prior draws of the groups' accuracies ``theta``."""
        known = self.evidence
        posterior, prior = known.thetas(known.n_draws)
        observed = {"agreements": known.counts[:, 1]}
        return known.to_arviz({"theta": posterior}, {"theta": prior}, observed, attributes)

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior; None where there is nothing to say."""
        return self.evidence.contradiction()

    def _masses_by(self, rope: float) -> Float[np.ndarray, "G G 3"]:
        known = self.evidence
        return replace(self.question, rope=rope).masses(known.cells, known.learner, known.counts)

    @property
    def _filled(self) -> Int[np.ndarray, " J"]:
        """Groups with items, which are compared."""
        return np.flatnonzero(self.evidence.cells.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class AllMeasures(AllSides):
    """A measure of several groups, such as systems by their rates of good answers."""

    question: MeasurePairs
    evidence: MeasureEvidence

    @property
    def quantity(self) -> str:
        """Whose differences are taken."""
        return measure_in_words(self.order.measure)

    @cached_property
    def order(self) -> Order:
        """The measure of every group."""
        order = order_of_groups(self.question, self.evidence)
        assert order is not None  # such questions have several groups
        return order

    def compared_by(self, rope: float) -> PairDifferences:
        """Compare groups, row less column, by medians of the differences."""
        return self.order.differences(rope, self.evidence.level, self.evidence.guarantee == "exact")

    @cached_property
    def masses(self) -> Float[np.ndarray, "G G 3"]:
        """Probabilities that the row is worse than the column, practically equal, better."""
        return self.compared.masses

    @property
    def rope(self) -> str:
        """Half-width of the region of practical equivalence, in words."""
        return f"{self.question.rope:g}"

    @property
    def differences(self) -> tuple[Float[np.ndarray, "G G"], Float[np.ndarray, "G G 2"]]:
        """Medians of the differences, row less column, and their intervals."""
        return self.compared.estimate, self.compared.interval

    def answer(self, best: Callable[[], list[str]]) -> list[str]:
        """Say the measures, which group may be the best, and how many verdicts are sure."""
        n_equal = int((self._masses_of_pairs[:, 1] >= _SURE).sum())
        alike = f"within {self.rope} of each other" if self.question.rope else "of equal groups"
        number = f"{n_equal:,}" if n_equal else "none"
        equal = f"{number} of them {'is' if n_equal == 1 else 'are'} {alike}"
        return self.evidence.lines([*best(), f"{self.said_of_pairs()}; {equal}."])

    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return posterior draws of the measure by group; see `MetricResult.to_arviz`."""
        return self.evidence.to_arviz(self.order.variables, parameters, attributes)
