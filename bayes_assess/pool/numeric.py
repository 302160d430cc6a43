"""A pool whose items are labelled with numbers within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from bayes_assess._tools.arrays import first_missing, first_true, missing_mask, values_of
from bayes_assess._tools.arrays import show as shown
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import LabelError, PoolError
from bayes_assess.pool.labels import LabelSpace, where
from bayes_assess.pool.pool import Pool

_STEPS = 50  # at most, where the step is ours to choose
_MOST_STEPS = 100  # that beliefs can hold


@dataclass(frozen=True, eq=False)
class NumericLabels(LabelSpace):
    """Labels that are numbers within bounds, rounded to steps.

    Parameters
    ----------
    classes : ndarray of text (C,)
        The numbers that labels are rounded to.
    declared : bool
        Always true.
    lowest, highest : float
        Bounds.

    Examples
    --------
    >>> space = Pool(predictions=[7.5, 60], bounds=(0, 100)).label_space
    >>> space.names(space.codes([7.2, 99.4, "3.5"])).tolist()
    ['8', '100', '4']
    """

    lowest: float
    highest: float

    @property
    def choices(self) -> tuple[Any, ...]:
        """None: annotators write numbers."""
        return ()

    def codes(self, labels: Any, ids: Any = None) -> Int[np.ndarray, " n"]:
        """Return the numbers of the steps that are nearest to labels, int32.

        Parameters
        ----------
        labels : array (n,)
            Numbers, or their texts.
        ids : array (n,), optional
            The labelled items' ids, to name the first offender in an error.

        Raises
        ------
        LabelError
            At the first label that is missing, no number, or out of bounds.
        """
        values = np.atleast_1d(values_of(labels))
        names = None if ids is None else np.atleast_1d(values_of(ids))
        if values.ndim != 1 or (names is not None and len(names) != len(values)):
            raise LabelError(f"Pass one number per item; found labels of shape {values.shape}.")
        at = first_missing(values)
        if at is not None:
            problem = f"is missing ({shown(values[at])}); leave the item out until it is labelled"
            raise LabelError(f"The label {where(at, names)} {problem}.")
        codes, at = self._coded(values)
        if at is not None:
            bounds = f"numbers from {self.lowest:g} to {self.highest:g}"
            bounds = "finite numbers" if math.isinf(self.lowest) and math.isinf(self.highest) else bounds
            raise LabelError(f"The label {where(at, names)} is {shown(values[at])}; labels are {bounds}.")
        return codes

    def _coded(self, values: np.ndarray) -> tuple[Int[np.ndarray, " n"], int | None]:
        """Return the codes of values, and the position of the first that is no label."""
        return nearest(values, self.lowest, self.highest, len(self.classes))

    def including(self, labels: Any) -> np.ndarray:
        """Return the classes: bounds say what labels can be."""
        return self.classes


class NumericPool(Pool):
    """Items to be labelled with numbers within bounds; ``ba.Pool(predictions=..., bounds=(0, 100))`` makes it.

    Predictions are the numbers that a judge gives, of whatever quality. Predictions and labels are rounded to steps,
    which are the classes of the pool, so that `Mean` asks for the mean label. Measures of regression, such as
    ``Metric("mae")``, take predictions and labels as they are, see `exact`.

    Parameters
    ----------
    predictions : array (M,)
        Numbers within the bounds.
    bounds : two floats
        The least and the greatest number that a label can be.
    step : float, optional
        What numbers are rounded to, so that the mean moves by half of it at most, and usually by far less. By default
        about a round number of which at most 50 make up the range.
    ids, groups, show
        As of every pool.
    systems : mapping of str to array (M,), optional
        Numbers of further judges.
    scores : array (M,), optional
        How far off each prediction is expected to be, see `bayes_assess.pool.numbers.NumberPool`.

    Attributes
    ----------
    bounds : tuple of two floats
    step : float

    Raises
    ------
    PoolError
        What is wrong, in which row, and what to do.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0.31, 0.9, 0.55], bounds=(0, 1))
    >>> pool, pool.step
    (NumericPool(3 items, numbers from 0 to 1 in steps of 0.02), 0.02)
    >>> a = ba.assess(pool, ba.Mean())
    >>> a.tell(a.ask(3).ids, [0.4, 0.8, 0.9])
    >>> r = a.result()
    >>> round(float(r.estimate), 6), round(float(r.judge_mean), 6)  # of 0.32, 0.9 and 0.56
    (0.7, 0.593333)
    """

    bounds: tuple[float, float]
    step: float
    _numbers: dict[str, Any]

    def __init__(
        self,
        scores: Any = None,
        predictions: Any = None,
        *,
        bounds: Any,
        step: float | None = None,
        ids: Any = None,
        groups: Mapping[str, Any] | None = None,
        systems: Mapping[str, Any] | None = None,
        show: Mapping[str, Any] | None = None,
        confidence: Any = None,
        classes: Any = None,
        multilabel: bool = False,
    ) -> None:
        from bayes_assess.pool.numbers import checked_spread, refuse_unfit  # which imports this module

        refuse_unfit(confidence=confidence, classes=classes, multilabel=multilabel or None)
        if predictions is None:
            raise PoolError("A pool of numbers needs predictions: a number per item, such as a judge's points.")
        lowest, highest = number_end(bounds, 0), number_end(bounds, 1)
        names = _grid(lowest, highest, step)
        codes = _rounded(predictions, "prediction", lowest, highest, len(names))
        others = {
            name: _rounded(one, f"prediction of {name!r}", lowest, highest, len(names))
            for name, one in (systems or {}).items()
        }
        super().__init__(predictions=codes, classes=names, ids=ids, groups=groups, systems=others, show=show)
        self._fill(bounds=(lowest, highest), step=(highest - lowest) / (len(names) - 1))
        exact = {name: as_numbers(np.atleast_1d(values_of(one))) for name, one in (systems or {}).items()}
        numbers = as_numbers(np.atleast_1d(values_of(predictions)))
        self._fill(_numbers={"scores": checked_spread(scores, len(codes)), "predictions": numbers, "systems": exact})

    @cached_property
    def exact(self) -> Pool:
        """The same items with predictions and labels as they are, a `NumberPool`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0.311, 0.9], bounds=(0, 1))
        >>> pool.prediction_names([0]).tolist(), pool.exact.prediction_names([0]).tolist()
        (['0.32'], ['0.311'])
        """
        from bayes_assess.pool.numbers import NumberPool

        same = {"ids": self._given_ids, "groups": self._groups, "show": self._show}
        return NumberPool(bounds=self.bounds, **same, **self._numbers)

    @cached_property
    def label_space(self) -> NumericLabels:
        """The numbers that labels are rounded to, and their codes."""
        return NumericLabels(self.classes, True, *self.bounds)

    def with_classes(self, classes: Any) -> NoReturn:
        """Raise PoolError: bounds and step say what labels are."""
        raise PoolError("Labels of this pool are numbers within bounds; it has no other classes.")

    def __repr__(self) -> str:
        numbers = f"numbers from {self.bounds[0]:g} to {self.bounds[1]:g} in steps of {self.step:g}"
        return "Numeric" + super().__repr__().replace(plural(self.n_classes, "class", "classes"), numbers)


def nearest(
    values: np.ndarray, lowest: float, highest: float, n_classes: int
) -> tuple[Int[np.ndarray, " n"], int | None]:
    """Return the numbers of the nearest steps, int32, and the position of the first value that is out of bounds.

    Examples
    --------
    >>> nearest(np.array([0.0, 4.4, 11.0]), 0, 10, 11)
    (array([0, 4, 0], dtype=int32), 2)
    """
    numbers = as_numbers(values)
    with np.errstate(invalid="ignore"):
        wrong = np.logical_not((numbers >= lowest) & (numbers <= highest))
    place = (np.where(wrong, lowest, numbers) - lowest) / (highest - lowest) * (n_classes - 1)
    return np.rint(place).astype(np.int32), first_true(wrong)


def as_numbers(values: np.ndarray) -> Float[np.ndarray, " n"]:
    """Convert numbers and their texts; what is neither becomes NaN.

    Examples
    --------
    >>> as_numbers(np.array(["1.5", "many"]))
    array([1.5, nan])
    """
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values.tolist()], np.float64)


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return math.nan


def number_end(bounds: Any, end: int) -> float:
    """Return the least number of a label, or the greatest, or raise PoolError if these are no bounds.

    Examples
    --------
    >>> number_end((0, float("inf")), 1)
    inf
    """
    try:
        lowest, highest = (_number(one) for one in bounds)
    except (TypeError, ValueError):
        lowest = highest = math.nan
    if not lowest < highest or lowest == math.inf or highest == -math.inf:
        raise PoolError(
            "Bounds are the least and the greatest number of a label, such as (0, 100), or -inf and inf where there is "
            f"none; found {shown(bounds)}."
        )
    return (lowest, highest)[end]


def _grid(lowest: float, highest: float, step: float | None) -> np.ndarray:
    """Name the numbers that labels are rounded to."""
    span = highest - lowest
    if step is None:
        decade = 10.0 ** math.floor(math.log10(span / _STEPS))
        nice = next(many * decade for many in (1, 2, 5, 10) if many * decade * _STEPS >= span * (1 - 1e-9))
        n = round(span / nice)
    else:
        found = _number(step)
        times = span / found if found > 0 else math.nan
        n = round(times) if math.isfinite(times) else 0
        if n < 1 or abs(times - n) > 1e-6 * n:
            raise PoolError(f"The bounds are {span:g} apart, which is no whole number of steps of {shown(step)}.")
    if n > _MOST_STEPS:
        raise PoolError(f"There are {n:,} steps between the bounds; at most {_MOST_STEPS} can be told apart.")
    return np.array([f"{number:.12g}" for number in np.linspace(lowest, highest, n + 1)])


def _rounded(values: Any, what: str, lowest: float, highest: float, n_classes: int) -> Int[np.ndarray, " M"]:
    array = np.atleast_1d(values_of(values))
    if array.ndim != 1:
        raise PoolError(f"Every {what} is a number; found shape {array.shape}.")
    missing = np.flatnonzero(missing_mask(array))
    codes, at = nearest(array, lowest, highest, n_classes)
    if missing.size:
        raise PoolError(f"The {what} in row {row_no(missing[0])} is missing; drop the row, or predict it.")
    if at is not None:
        raise PoolError(
            f"The {what} in row {row_no(at)} is {shown(array[at])}, which is no number from {lowest:g} to {highest:g}; "
            "clip predictions to what labels can be."
        )
    return codes
