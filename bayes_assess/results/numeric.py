"""Measures of labels that are numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.designs import WeightedDesign, WeightedState
from bayes_assess.estimators.betting_means import bounded_mean_interval
from bayes_assess.estimators.weighted_numbers import numbers_interval, weighted_numbers
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.questions import NumericMetric
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.questions.numeric_metric import believed_losses, believed_risk
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


class InOrder(NamedTuple):
    """Losses of the items of a pool in the order in which they were drawn at random; see `bounded_mean_interval`.

    Attributes
    ----------
    losses : (n, D)
        Of the items drawn; not a number where the label is missing.
    most : (n, D)
        The greatest that they can have.
    rest : (r, D)
        The greatest losses of the items not drawn.
    believed : (D,)
        Mean losses that are expected.
    """

    losses: Float[np.ndarray, "n D"]
    most: Float[np.ndarray, "n D"]
    rest: Float[np.ndarray, "r D"]
    believed: Float[np.ndarray, " D"]


def losses_in_order(
    pool: NumberPool,
    question: NumericMetric,
    order: Int[np.ndarray, " M"],
    items: Int[np.ndarray, " n"],
    labels: Float[np.ndarray, " n"],
) -> InOrder:
    """Put losses in the order in which items were drawn, up to the last that is labelled.

    Parameters
    ----------
    order : (M,)
        All items, in random order.
    items, labels : (n,)
        Labelled items, and their labels.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = NumberPool(predictions=[1.0, 5.0, 2.0], bounds=(0, 10))
    >>> asked, order = ba.Metric("mae").for_pool(pool), np.array([2, 0, 1])
    >>> drawn = losses_in_order(pool, asked, order, np.array([0]), np.array([3.0]))
    >>> drawn.losses.ravel().tolist(), drawn.most.ravel().tolist(), drawn.rest.ravel().tolist()
    ([nan, 2.0], [8.0, 9.0], [5.0])
    """
    place = np.empty(pool.n_items, np.int64)
    place[order] = np.arange(pool.n_items)
    n = int(place[items].max(initial=-1)) + 1
    ends = [question.losses_of(pool, order, np.full(pool.n_items, bound)) for bound in pool.bounds]
    most = np.maximum(*ends)  # losses that grow with the distance from the prediction
    losses = np.full((n, question.whole.n_losses), np.nan)
    losses[place[items]] = question.losses_of(pool, items, labels)
    return InOrder(losses, most[:n], most[n:], believed_risk(pool, question.whole))


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
        lambda: believed_losses(pool, question),
        possible_losses(pool, question, labels),
    )
    ordered = design.draws_alike and cells.n_cells == 1 and np.isfinite(pool.bounds).all()
    answer = {"answer": found, "all_covariances": covariance}
    if not ordered or volunteered.any() or question.by is not None:
        return answer
    order = cells.source.take(np.zeros(pool.n_items, np.int64), np.arange(pool.n_items))
    return answer | {"in_order": partial(losses_in_order, pool, question, order, items, labels)}


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
    return question.losses_of_any(pool, np.repeat(at, 2), np.tile([low, high], 2))
