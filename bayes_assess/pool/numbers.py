"""A pool whose labels are numbers as they are told, within bounds or without."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from bayes_assess._tools.arrays import first_true, frozen, missing_mask, values_of
from bayes_assess._tools.arrays import show as shown
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import ArrayLike, Float
from bayes_assess.errors import PoolError
from bayes_assess.pool._columns import check_groups, check_show
from bayes_assess.pool._ids import check_ids
from bayes_assess.pool.number_labels import NumberLabels, are_finite, are_within, as_numbers, number_end, number_within
from bayes_assess.pool.pool import Pool

if TYPE_CHECKING:
    from bayes_assess.pool.items import Rows


_NO_CLASSES = np.zeros(0)


class NumberPool(Pool):
    """Items to be labelled with numbers that are taken as they are; ``ba.Pool(predictions=..., bounds=(-inf, inf))``.

    Of such pools `Metric` asks mean absolute and squared errors, R2 and other measures of regression. A pool of
    finite bounds, a `NumericPool`, is taken for one where these are asked.

    Parameters
    ----------
    predictions : array (M,)
        Finite numbers within the bounds.
    scores : array (M,), optional
        How far off each prediction is expected to be, such as the standard deviation of an ensemble: not negative. They
        decide which items are labelled, and have no part in what is estimated. By default the standard deviation of
        the predictions of all systems, where there are others.
    bounds : two floats
        The least and the greatest number that a label can be; ``-inf`` and ``inf`` where there is none.
    ids, groups, show
        As of every pool.
    systems : mapping of str to array (M,), optional
        Numbers that others predict.

    Attributes
    ----------
    numbers : ndarray of float64 (M,)
        Predictions.
    spread : ndarray of float64 (M,), or None
        How far off they are expected to be, where anything is known of it.
    bounds : tuple of two floats

    Raises
    ------
    PoolError
        What is wrong, in which row, and what to do.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[1.5, 2.25, 40.0], bounds=(0, float("inf")))
    >>> pool
    NumberPool(3 items, numbers from 0 to inf)
    >>> a = ba.assess(pool, ba.Metric("mae"))
    >>> a.tell([0, 1, 2], [2.0, 2.25, 41.0])
    >>> float(a.result().estimate)
    0.5
    """

    numeric = True
    numbers: Float[np.ndarray, " M"]
    spread: Float[np.ndarray, " M"] | None
    bounds: tuple[float, float]

    @staticmethod
    def is_asked_for(*, multilabel: bool = False, bounds: object = None, **options: object) -> bool:
        """Whether labels are numbers that are not bounded on both sides."""
        return bounds is not None and not are_finite(bounds)

    def __init__(
        self,
        scores: ArrayLike | None = None,
        predictions: ArrayLike | None = None,
        *,
        bounds: tuple[float, float],
        step: float | None = None,
        ids: ArrayLike | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
        systems: Mapping[str, ArrayLike] | None = None,
        show: Mapping[str, ArrayLike] | None = None,
        confidence: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        multilabel: bool = False,
    ) -> None:
        refuse_unfit(confidence=confidence, classes=classes, multilabel=multilabel or None)
        if step is not None:  # `NumericPool` keeps its own to itself
            raise PoolError("A step rounds labels between finite bounds; leave it out, or give both bounds.")
        lowest, highest = number_end(bounds, 0), number_end(bounds, 1)
        numbers = checked_numbers(predictions, "prediction", lowest, highest)
        if len(numbers) == 0:
            raise PoolError("The pool has no items; pass at least one.")
        others = {
            name: checked_numbers(values, f"prediction of {name!r}", lowest, highest)
            for name, values in (systems or {}).items()
        }
        odd = next((name for name, values in others.items() if len(values) != len(numbers)), None)
        if odd is not None:
            raise PoolError(
                f"System {odd!r} has {len(others[odd]):,} predictions, but the pool has {len(numbers):,} items."
            )
        index = None if ids is None else check_ids(ids, len(numbers))
        self._fill(
            numbers=frozen(numbers),
            spread=checked_spread(scores, len(numbers)),
            bounds=(lowest, highest),
            scores=None,
            classes=_NO_CLASSES,
            classes_declared=True,
            _given_confidence=None,
            _given_ids=None if index is None else frozen(index),
            _groups=check_groups(groups, len(numbers)),
            _systems={name: frozen(values) for name, values in others.items()},
            _show=check_show(show, len(numbers)),
        )
        self._check_rows(ids, scores=scores, predictions=predictions, groups=groups, systems=systems, show=show)

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return len(self.numbers)

    @cached_property
    def label_space(self) -> NumberLabels:
        """The numbers that labels can be, and their codes."""
        return NumberLabels(self.classes, True, *self.bounds)

    @property
    def exact(self) -> NumberPool:
        """The pool itself, whose labels are as they are told."""
        return self

    @property
    def predictions(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride]
        """No predicted classes: raises PoolError, which names `numbers`."""
        self._refuse_codes()

    def _refuse_codes(self) -> NoReturn:
        raise PoolError(
            "A pool of numbers that are not rounded has no predicted classes; its predictions are pool.numbers. Ask "
            "Metric('mae'), 'mse' or 'r2' of it, or give it finite bounds, such as bounds=(0, 100), to ask Mean()."
        )

    def prediction_names(self, items: Rows) -> np.ndarray:
        """Return what is predicted of items as texts."""
        return np.array([f"{number:.12g}" for number in self.numbers[items]], dtype=str)

    def prediction_counts(self) -> None:
        """Return None: predictions are no classes."""

    def any_labels(self, n: int) -> np.ndarray:
        """Return `n` labels that items could have: the first prediction."""
        return np.repeat(self.numbers[0], n)

    def system_codes(self, name: str) -> NoReturn:
        """Raise PoolError: predictions have no codes."""
        self._refuse_codes()

    def with_classes(self, classes: ArrayLike) -> NoReturn:
        """Raise PoolError: labels are numbers."""
        raise PoolError("Labels of this pool are numbers; it has no classes.")

    def with_groups(self, **groups: np.ndarray) -> NoReturn:
        """Raise PoolError: nothing is asked by groups of such a pool."""
        raise PoolError("Measures of numbers are of the whole pool; leave groups out.")

    def __repr__(self) -> str:
        low, high = self.bounds
        numbers = "numbers" if np.isinf(self.bounds).all() else f"numbers from {low:g} to {high:g}"
        return "Number" + super().__repr__().replace("0 classes", numbers)

    @property
    def _predicted(self) -> dict[str, np.ndarray]:
        given = {} if self.spread is None else {"spread": self.spread}
        return {"numbers": self.numbers, **given, "bounds": np.array(self.bounds)}


def refuse_unfit(**unfit: object) -> None:
    """Raise PoolError if something was given that pools of numbers do not have.

    Examples
    --------
    >>> refuse_unfit(classes=None)
    """
    for name, value in unfit.items():
        if value is not None:
            raise PoolError(f"Items that are labelled with numbers have no {name}; leave out bounds, or {name}.")


def checked_numbers(values: ArrayLike | None, what: str, lowest: float, highest: float) -> Float[np.ndarray, " M"]:
    """Return finite numbers within bounds, or raise PoolError; `what` names one of them.

    Examples
    --------
    >>> checked_numbers(["1.5", 2], "prediction", 0, 10)
    array([1.5, 2. ])
    """
    if values is None:
        raise PoolError("A pool of numbers needs predictions: a number per item, such as a judge's points.")
    array = np.atleast_1d(values_of(values))
    if array.ndim != 1:
        raise PoolError(f"Every {what} is a number; found shape {array.shape}.")
    missing = np.flatnonzero(missing_mask(array))
    if missing.size:
        raise PoolError(f"The {what} in row {row_no(missing[0])} is missing; drop the row, or predict it.")
    numbers = as_numbers(array) + 0.0
    at = first_true(~are_within(numbers, lowest, highest))
    if at is not None:
        raise PoolError(
            f"The {what} in row {row_no(at)} is {shown(array[at])}, which is no {number_within(lowest, highest)}; clip "
            "predictions to what labels can be."
        )
    return numbers


def checked_spread(scores: ArrayLike | None, n_items: int) -> Float[np.ndarray, " M"] | None:
    """Return how far off predictions are expected to be, or raise PoolError.

    Examples
    --------
    >>> checked_spread([0.5, 2], 2)
    array([0.5, 2. ])
    """
    if scores is None:
        return None
    values = values_of(scores)
    if values.ndim != 1 or len(values) != n_items:
        raise PoolError(
            "Scores of a pool of numbers say how far off each prediction is expected to be, one number per item; found "
            f"shape {values.shape} for {n_items:,} items."
        )
    numbers = as_numbers(values)
    at = first_true(~are_within(numbers, 0, np.inf))
    if at is not None:
        raise PoolError(
            f"The score in row {row_no(at)} is {shown(values[at])}; it says how far off the prediction is expected to "
            f"be, and is a {number_within(0, np.inf)}."
        )
    return frozen(numbers)
