"""Measures of labels that are numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.designs import WeightedDesign, WeightedState
from bayes_assess.estimators.weighted_numbers import numbers_interval, weighted_numbers
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.questions import NumericMetric
from bayes_assess.questions.metric import cells_table
from bayes_assess.questions.numeric_metric import believed_risk
from bayes_assess.results.metric import MetricResult


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

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.answer.exact or self.guarantee == "credible":
            return super().assumption
        drawn = (
            f"Intervals lean on {self.answer.n_draws:,.0f} draws, and take no error that no draw has shown yet "
            "to be far greater than those that were drawn."
        )
        believed = self._believed()
        return f"{drawn} {believed}" if believed else drawn

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        return numbers_interval(self.answer, cells_table(self.cells).ranges, self.level)

    @property
    def _source_of_belief(self) -> str:
        return "how far off predictions are expected to be"


def numeric_answer(
    pool: NumberPool,
    question: NumericMetric,
    cells: Any,
    design: WeightedDesign,
    state: WeightedState,
    items: Int[np.ndarray, " n"],
    labels: Float[np.ndarray, " n"],
    volunteered: Bool[np.ndarray, " n"],
) -> dict[str, Any]:
    """Answer a question from labelled items: fields of `NumericResult`.

    Parameters
    ----------
    pool, question, cells, design, state
        Of the session; another question has the same cells.
    items, labels : (n,)
        Labelled items, and their labels.
    volunteered : (n,)
        Whether nobody asked for them.
    """
    spec = question.spec
    found, covariance = weighted_numbers(
        design,
        state,
        spec,
        question.losses_of(pool, items, labels),
        cells.source.cells_of(items),
        volunteered.astype(np.int64),
        lambda: believed_risk(pool, spec),
        possible_losses(pool, question, labels),
    )
    return {"answer": found, "all_covariances": covariance}


def possible_losses(
    pool: NumberPool, question: NumericMetric, labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "4 D"]:
    """Return the losses of the extreme predictions with extreme labels: bounds, else the numbers seen.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = NumberPool(predictions=[1.0, 5.0], bounds=(0, np.inf))
    >>> possible_losses(pool, ba.Metric("mae").for_pool(pool), np.array([7.0])).ravel().tolist()
    [1.0, 6.0, 5.0, 2.0]
    """
    at = np.array([pool.numbers.argmin(), pool.numbers.argmax()])
    seen = np.concatenate([pool.numbers[at], labels])
    low, high = (
        bound if np.isfinite(bound) else end for bound, end in zip(pool.bounds, (seen.min(), seen.max()), strict=True)
    )
    return question.losses_of(pool, np.repeat(at, 2), np.tile([low, high], 2))
