"""Estimates of measures of labels that are numbers, and the words for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.text import plural
from bayes_assess.estimators.betting_means import bounded_mean_interval
from bayes_assess.estimators.weighted_numbers import numbers_interval
from bayes_assess.questions import NumericMetric
from bayes_assess.questions._number_losses import OF_MEANS, InOrder
from bayes_assess.results.evidence.weighted import Weighted


@dataclass(frozen=True, eq=False, repr=False)
class WeightedNumbers(Weighted):
    """Evidence on measures of labels that are numbers, such as mean absolute errors, from weighted draws.

    Attributes
    ----------
    in_order : function, optional
        Returns the errors in the order in which items were drawn, where that is random and labels have bounds.
    """

    question: NumericMetric
    in_order: Callable[[], InOrder] | None = field(kw_only=True, default=None)

    has_joint: ClassVar[bool] = False  # intervals of errors without bounds allow none

    @cached_property
    def design_interval(self) -> Float[np.ndarray, "k 2"] | None:
        """Ends that hold at any time of the campaign whatever errors there are, (k, 2).

        They are of means of errors, and their roots, of items in random order (design ``"passive"``) from a pool whose
        labels have finite bounds, see `bounded_mean_interval`; all values of other measures. None where items are in no
        such order, or labels have no bounds.
        """
        spec = self.question.whole
        if self.exact:
            return self.ends
        if self.in_order is None or not set(spec.outputs) & set(OF_MEANS):
            return None
        drawn, ends = self.in_order(), np.array(spec.ranges, np.float64)
        for k, (name, column) in enumerate(zip(spec.outputs, spec.first_losses, strict=True)):
            if name in OF_MEANS:
                losses, most, rest, believed = (values[..., column] for values in drawn)
                ends[k] = OF_MEANS[name](bounded_mean_interval(losses, most, rest, float(believed), self.level))
        return ends

    def lines(self, on_ranks: list[str]) -> list[str]:
        """Say estimates, intervals and what these lean on."""
        lines, second = super().lines(on_ranks), self.design_interval
        if second is None or self.exact:
            return lines
        shown = zip(self.groups.tolist(), second.tolist(), strict=True)
        said = [f"{name} [{low:.3f}, {high:.3f}]" for name, (low, high) in shown if name in OF_MEANS]
        return [*lines, f"At any time, whatever errors the bounds allow: {', '.join(said)}."]

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.exact or self.guarantee == "credible":
            return super().assumption
        n = plural(round(float(self.answer.n_draws)), "draw")
        drawn = (
            f"Intervals lean on {n}, and take no error that no draw has shown yet to be far greater than those that "
            "were drawn."
        )
        believed = self._believed()
        return f"{drawn} {believed}" if believed else drawn

    @property
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Intervals."""
        return numbers_interval(self.answer, self._ranges, self.level)

    @property
    def _source_of_belief(self) -> str:
        return "how far off predictions are expected to be"
