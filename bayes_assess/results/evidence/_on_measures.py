"""Evidence on measures, whatever it is: estimates, intervals, and joint draws by which measures are compared."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits
from bayes_assess._tools.shapes import Array, Bool, Float
from bayes_assess._tools.text import figures
from bayes_assess.estimators.possible_values import LabelledByAttribute
from bayes_assess.estimators.posterior_measure import PosteriorMeasure
from bayes_assess.measures import MEASURES, OF_CLASSES_THAT_OCCUR, LossTable
from bayes_assess.questions import Metric
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._in_words import SAID
from bayes_assess.results.evidence.told import EvidenceBase

if TYPE_CHECKING:
    from functools import cached_property

_NOT_DEFINED = (  # of one measure, and of several
    "{} is not defined, as its denominator is 0, and counts as 0.",
    "{} are not defined, as their denominators are 0, and count as 0.",
)
_NEED_NOT_BE_DEFINED = (
    "{} counts as 0 if its denominator turns out to be 0, which the labels so far leave possible.",
    "{} count as 0 if their denominators turn out to be 0, which the labels so far leave possible.",
)
_PERHAPS_NOT_DEFINED = (
    "{} is 0, or not defined, if its denominator turns out to be 0.",
    "{} are 0, or not defined, if their denominators turn out to be 0.",
)
_NOT_ALL_DEFINED = (
    "In {} a ratio is not defined, as its denominator is 0, and counts as 0.",
    "In each of {} a ratio is not defined, as its denominator is 0, and counts as 0.",
)
ROUNDING = 1e-9  # of differences that are exactly the rope, and of values that are known


class Variables(NamedTuple):
    """Draws of measures by the names of variables, with their dimensions and coordinates."""

    posterior: dict[str, Float[np.ndarray, "S ..."]]
    dims: dict[str, list[str]]
    coords: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class OnMeasures(EvidenceBase):
    """What all evidence on measures has."""

    question: Metric
    cells: MetricCells

    has_posterior: ClassVar[bool] = True  # of the measures

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether every item is labelled that can matter."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What estimates and intervals lean on."""

    @property
    def assumption_of_functions(self) -> str:
        """What functions of the measures lean on."""
        return self.assumption

    @property
    @abstractmethod
    def value(self) -> Float[np.ndarray, " k"]:
        """Estimates."""

    @property
    @abstractmethod
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Intervals."""

    @property
    @abstractmethod
    def certain(self) -> Bool[np.ndarray, " k"]:
        """Measures that no label which is missing can change, (k,)."""

    @property
    @abstractmethod
    def standard_error(self) -> Float[np.ndarray, " k"]:
        """Posterior standard deviations, or standard errors."""

    if TYPE_CHECKING:

        @cached_property
        def joint(self) -> Float[np.ndarray, "S k"]:
            """Posterior draws of the measures, or those that estimates stand for."""
            ...

    @property
    def cautious(self) -> Bool[np.ndarray, "S P"] | None:
        """Which of the `joint` draws are of precautions, that move no estimate; None where there are none."""
        return None

    @abstractmethod
    def summarised(self, draws: Float[np.ndarray, "S n"]) -> PosteriorMeasure:
        """Summarise draws of something that were made of `joint`."""

    def function(
        self, of: Callable[[Float[np.ndarray, "*batch k"]], Float[np.ndarray, "*batch n"]], level: float | None = None
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"]]:
        """Estimate a function of the measures, with intervals of a level, by default that of the answer."""
        summary = self.summarised(of(self.joint))
        return summary.value, summary.interval(self.level if level is None else level)

    @property
    def undefined(self) -> Bool[np.ndarray, " k"]:
        """Measures with a ratio whose denominator is 0 whatever the labels are that are missing, (k,).

        Such as the precision of a system that predicts no item positive.
        """
        if not self._has_ratios:
            return np.zeros(len(self.groups), bool)
        table = cells_table(self.cells)
        return ~self._defined_if(np.full((1, table.n_classes), 1 / table.n_classes))[0]  # of all labels possible

    @property
    def _has_ratios(self) -> bool:
        """Whether the measures are of sums over items, which may make a denominator 0."""
        table = cells_table(self.cells)
        return isinstance(table, LossTable) and not table.is_ranking and not self.cells.measure.stochastic

    def _defined_if(self, shares: Float[np.ndarray, "n C"]) -> Bool[np.ndarray, "n k"]:
        """Tell which measures are defined if items without a label have these shares of labels, (n, k)."""
        table = cells_table(self.cells)
        with engine.eager(), in_64_bits():
            counts, left = LabelledByAttribute.of(self.cells.measure, self.counts)
            items = np.asarray(counts) + np.asarray(left)[:, None] * shares[:, None]
            return np.asarray(table.defined(table.mean(items / items.sum((1, 2), keepdims=True))))

    @property
    def perhaps_undefined(self) -> Bool[np.ndarray, " k"]:
        """Measures with a ratio whose denominator is 0 if all labels that are missing are of some class, (k,).

        Such as the recall of a group in which no positive item is known.
        """
        if not self._has_ratios:
            return np.zeros(len(self.groups), bool)
        # Of two labels at least one is not the positive one, without which a denominator may be 0.
        return np.asarray(~self._defined_if(np.eye(2, cells_table(self.cells).n_classes)).all(0))

    @property
    def undefined_in_draws(self) -> Bool[np.ndarray, " k"]:
        """Measures that need not be defined, and that are 0 in many draws for that, (k,)."""
        return np.zeros(len(self.groups), bool)

    def if_undefined(self) -> list[str]:
        """Say of which measures a denominator is, or may be, 0, and what such ratios count as."""
        heads = [re.split(r"[ \[(]", name)[0] for name in self.groups.tolist()]
        counted = np.isin(heads, [name for name in MEASURES if name not in OF_CLASSES_THAT_OCCUR])
        undefined = self.undefined
        known_zero = self.certain & (self.value == 0)
        zero, open_ = undefined & known_zero, ~undefined & counted & known_zero
        if open_.any():
            open_ &= self.perhaps_undefined
        lines = []
        for which, words in (
            (zero, _NOT_DEFINED),
            (open_, _PERHAPS_NOT_DEFINED),
            (undefined & counted & ~zero, _NOT_ALL_DEFINED),
            (self.undefined_in_draws, _NEED_NOT_BE_DEFINED),
        ):
            names = self.groups[which].tolist()
            more = f" and {len(names) - SAID:,} more" * (len(names) > SAID)
            lines += [words[len(names) > 1].format(", ".join(names[:SAID]) + more)] * bool(names)
        return lines

    @staticmethod
    def in_words_exact(name: str, value: float) -> str:
        """Say a measure once everything is labelled."""
        return f"{name} {figures(value)[0]} (exact)."

    @property
    def is_single(self) -> bool:
        """Whether one measure was asked for, so that the answer is a number."""
        return len(self.groups) == 1 and not isinstance(self.question.measure, list | tuple)

    def shaped(self, values: Array) -> Any:
        """Give values of all outputs, (k, ...), the shape of the answer."""
        return values[0] if self.is_single else values

    @property
    def estimate(self) -> Any:
        """Estimates in the shape of the answer."""
        return self.shaped(self.value)

    def interval(self, draws: Callable[[], Float[np.ndarray, "S k"]]) -> Float[np.ndarray, "... 2"]:
        """Return the intervals in the shape of the answer, which need no draws but the evidence's own."""
        return self.shaped(self.ends)

    def draws(self, n: int) -> Float[np.ndarray, "S k"]:
        """Return the posterior draws of the measures, as many as there are."""
        if self.has_posterior:
            return self.joint
        return self.question.draws(self.cells, self.prior, self.counts, self.seed, n)  # which says why not

    def variables(self) -> Variables:
        """Return posterior draws of the measures as variables."""
        return Variables(dict(zip(self.groups.tolist(), self.draws(self.n_draws).T, strict=True)), {}, {})
