"""Measures of labels that are numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.text import plural
from bayes_assess.estimators.betting_means import bounded_mean_interval
from bayes_assess.estimators.weighted_numbers import numbers_interval
from bayes_assess.questions import NumericMetric
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.questions._number_losses import InOrder
from bayes_assess.results.metric import MetricResult

_MEANS = {"mean_absolute_error": np.asarray, "mean_squared_error": np.asarray, "root_mean_squared_error": np.sqrt}


@dataclass(frozen=True, eq=False, repr=False)
class NumericResult(MetricResult):
    """Measures of labels that are numbers, such as mean absolute errors; attributes are those of `MetricResult`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[1.0, 2.0, 4.0], bounds=(-float("inf"), float("inf")))
    >>> a = ba.assess(pool, ba.Metric(["mae", "mse"]))
    >>> a.tell([0, 1, 2], [1.0, 2.0, 7.0])
    >>> a.result().estimate.tolist(), a.result().guarantee
    ([1.0, 3.0], 'exact')
    """

    question: NumericMetric
    in_order: Callable[[], InOrder] | None = None

    @cached_property
    def design_interval(self) -> Float[np.ndarray, "... 2"] | None:
        """Ends that hold at any time of the campaign whatever errors there are, (2,) or (k, 2).

        They are of means of errors, and their roots, of items in random order (design ``"passive"``) from a pool whose
        labels have finite bounds, see `bounded_mean_interval`; all values of other measures. None where items are in no
        such order, or labels have no bounds.
        """
        spec = self.question.whole
        if self.answer.exact:
            return self.interval
        if self.in_order is None or not set(spec.outputs) & set(_MEANS):
            return None
        drawn, ends = self.in_order(), np.array(spec.ranges, np.float64)
        for k, (name, column) in enumerate(zip(spec.outputs, spec.first_losses, strict=True)):
            if name in _MEANS:
                losses, most, rest, believed = (values[..., column] for values in drawn)
                ends[k] = _MEANS[name](bounded_mean_interval(losses, most, rest, float(believed), self.level))
        return ends[0] if np.ndim(self.estimate) == 0 else ends

    def _answer(self) -> list[str]:
        lines, second = super()._answer(), self.design_interval
        if second is None or self.answer.exact:
            return lines
        shown = zip(self.groups.tolist(), np.reshape(second, (-1, 2)).tolist(), strict=True)
        said = [f"{name} [{low:.3f}, {high:.3f}]" for name, (low, high) in shown if name in _MEANS]
        return [*lines, f"At any time, whatever errors the bounds allow: {', '.join(said)}."]

    @cached_property
    def _names_by(self) -> None:
        """None: groups are not ranked, as intervals of errors without bounds allow no joint draws."""
        return None

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.answer.exact or self.guarantee == "credible":
            return super().assumption
        n = plural(round(float(self.answer.n_draws)), "draw")
        drawn = (
            f"Intervals lean on {n}, and take no error that no draw has shown yet to be far greater than those that "
            "were drawn."
        )
        believed = self._believed()
        return f"{drawn} {believed}" if believed else drawn

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        return numbers_interval(self.answer, cells_table(self.cells).ranges, self.level)

    @property
    def _source_of_belief(self) -> str:
        return "how far off predictions are expected to be"
