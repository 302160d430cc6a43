"""A pool whose items are labelled with numbers within bounds."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from bayes_assess._tools.arrays import show as shown
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import PoolError
from bayes_assess.pool.number_labels import NumericLabels, are_finite, as_number, nearest
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.pool.pool import Pool

_STEPS = 50  # at most, where the step is ours to choose
_ROUNDING = 1e-6  # of numbers that are those of steps
_MOST_STEPS = 100  # that beliefs can hold


class NumericPool(Pool):
    """Items to be labelled with numbers within bounds; ``ba.Pool(predictions=..., bounds=(0, 100))`` makes it.

    Predictions are the numbers that a judge gives, of whatever quality. Predictions and labels are rounded to steps,
    which are the classes of the pool, so that `Mean` asks for the mean label. Measures of regression, such as
    ``Metric("mae")``, take predictions and labels as they are, those of `exact`.

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
    exact : NumberPool
        The same items with predictions and labels as they are.

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

    @staticmethod
    def is_asked_for(*, multilabel: bool = False, bounds: object = None, **options: object) -> bool:
        """Whether labels are numbers within bounds."""
        return bounds is not None and are_finite(bounds)

    def __init__(self, *args: object, step: float | None = None, **options: object) -> None:
        exact: Any = NumberPool(*args, **options)
        lowest, highest = exact.bounds
        names = _grid(lowest, highest, step)

        def rounded(numbers: np.ndarray) -> Int[np.ndarray, " M"]:
            return nearest(numbers, lowest, highest, len(names))[0]

        super().__init__(
            predictions=rounded(exact.numbers),
            classes=names,
            systems={name: rounded(numbers) for name, numbers in exact._systems.items()},
            ids=exact._given_ids,
            groups=exact._groups,
            show=exact._show,
        )
        width = (highest - lowest) / (len(names) - 1)
        steps = (exact.numbers - lowest) / width
        between = bool((np.abs(steps - np.round(steps)) > _ROUNDING).any())
        self._fill(bounds=exact.bounds, step=width, exact=exact, rounded_to=width if between else None)

    @cached_property
    def label_space(self) -> NumericLabels:
        """The numbers that labels are rounded to, and their codes."""
        return NumericLabels(self.classes, True, *self.bounds)

    def with_classes(self, classes: ArrayLike) -> NoReturn:
        """Raise PoolError: bounds and step say what labels are."""
        raise PoolError("Labels of this pool are numbers within bounds; it has no other classes.")

    def __repr__(self) -> str:
        numbers = f"numbers from {self.bounds[0]:g} to {self.bounds[1]:g} in steps of {self.step:g}"
        return "Numeric" + super().__repr__().replace(plural(self.n_classes, "class", "classes"), numbers)


def _grid(lowest: float, highest: float, step: float | None) -> np.ndarray:
    """Name the numbers that labels are rounded to."""
    span = highest - lowest
    if step is None:
        decade = 10.0 ** math.floor(math.log10(span / _STEPS))
        nice = next(many * decade for many in (1, 2, 5, 10) if many * decade * _STEPS >= span * (1 - 1e-9))
        n = round(span / nice)
    else:
        size = as_number(step)
        times = span / size if size > 0 else math.nan
        n = round(times) if math.isfinite(times) else 0
        if n < 1 or abs(times - n) > 1e-6 * n:
            raise PoolError(f"The bounds are {span:g} apart, which is no whole number of steps of {shown(step)}.")
    if n > _MOST_STEPS:
        raise PoolError(f"There are {n:,} steps between the bounds; at most {_MOST_STEPS} can be told apart.")
    return np.array([f"{number:.12g}" for number in np.linspace(lowest, highest, n + 1)])
