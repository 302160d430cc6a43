"""Labels that are numbers: rounded to steps within bounds, or taken as they are told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import LARGEST, first_missing, first_true, values_of
from bayes_assess._tools.arrays import show as shown
from bayes_assess._tools.shapes import ArrayLike, Bool, Float, Int
from bayes_assess.errors import LabelError, PoolError
from bayes_assess.pool.labels import LabelSpace, where


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
    >>> import bayes_assess as ba
    >>> space = ba.Pool(predictions=[7.5, 60], bounds=(0, 100)).label_space
    >>> space.names(space.codes([7.2, 99.4, "3.5"])).tolist()
    ['8', '100', '4']
    """

    lowest: float
    highest: float

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of labels."""
        return self.lowest, self.highest

    @property
    def choices(self) -> tuple[float, ...]:
        """None: annotators write numbers."""
        return ()

    def codes(self, labels: ArrayLike, ids: ArrayLike | None = None) -> Int[np.ndarray, " n"]:
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
            these = number_within(self.lowest, self.highest).replace("number", "numbers")
            raise LabelError(f"The label {where(at, names)} is {shown(values[at])}; labels are {these}.")
        return codes

    def _coded(self, values: np.ndarray) -> tuple[Int[np.ndarray, " n"], int | None]:
        """Return the codes of values, and the position of the first that is no label."""
        return nearest(values, self.lowest, self.highest, len(self.classes))

    def including(self, labels: ArrayLike) -> np.ndarray:
        """Return the classes: bounds say what labels can be."""
        return self.classes


@dataclass(frozen=True, eq=False)
class NumberLabels(NumericLabels):
    """Labels that are numbers, none of them rounded.

    Every distinct number that is told gets a code, 0, 1, ... in the order of first occurrence, so that sessions handle
    one integer per item as they do for classes.

    Parameters
    ----------
    classes : ndarray (0,)
        None.
    declared : bool
        Always true.
    lowest, highest : float
        Bounds, which may be infinite.

    Examples
    --------
    >>> space = NumberLabels(np.zeros(0), True, 0.0, np.inf)
    >>> codes = space.codes([7.25, "3.5", 7.25])
    >>> codes.tolist(), space.names(codes).tolist()
    ([0, 1, 0], [7.25, 3.5, 7.25])
    """

    kind: ClassVar[str] = "numbers"

    _codes: dict[float, int] = field(default_factory=dict, init=False, repr=False)

    def names(self, codes: Int[np.ndarray, "*n"] | Sequence[int]) -> Float[np.ndarray, "*n"]:
        """Return the numbers that codes stand for."""
        return self.told()[codes]

    def told(self) -> Float[np.ndarray, " n"]:
        """Return the distinct numbers told so far, in the order of their codes."""
        return np.fromiter(self._codes, np.float64, len(self._codes))

    def adopt(self, told: np.ndarray) -> bool:
        """Let codes stand for the numbers for which they stood elsewhere; False if they stand for others here."""
        numbers = told.tolist()
        if any(own != theirs for own, theirs in zip(self._codes, numbers, strict=False)):
            return False
        self._codes.update({number: code for code, number in enumerate(numbers)})
        return True

    def _coded(self, values: np.ndarray) -> tuple[Int[np.ndarray, " n"], int | None]:
        numbers = as_numbers(values) + 0.0  # no negative zero
        at = first_true(~are_within(numbers, self.lowest, self.highest))
        if at is not None:
            return np.zeros(len(numbers), np.int32), at
        codes = [self._codes.setdefault(number, len(self._codes)) for number in numbers.tolist()]
        return np.array(codes, np.int32), None


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
    return np.array([as_number(value) for value in values.tolist()], np.float64)


def as_number(value: Any) -> float:
    """Convert a number or its text; what is neither becomes NaN."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def are_within(numbers: Float[np.ndarray, "*n"] | float, lowest: float, highest: float) -> Bool[np.ndarray, "*n"]:
    """Tell which numbers lie within bounds, and are not so large that their squares could not be added up.

    Examples
    --------
    >>> are_within(np.array([-1.0, 3.0, 1e300, np.nan]), 0.0, np.inf).tolist()
    [False, True, False, False]
    """
    return (np.abs(numbers) <= LARGEST) & (numbers >= lowest) & (numbers <= highest)


def number_within(lowest: float, highest: float) -> str:
    """Say what a number is that lies within bounds, see `are_within`.

    Examples
    --------
    >>> number_within(0.0, 10.0), number_within(-np.inf, np.inf)
    ('number from 0 to 10', 'finite number of 1e+60 at most in size')
    """
    if math.isinf(lowest) and math.isinf(highest):
        return f"finite number of {LARGEST:g} at most in size"
    return f"number from {lowest:g} to {highest:g}" + f", of {LARGEST:g} at most in size" * math.isinf(highest - lowest)


def number_end(bounds: Any, end: int) -> float:
    """Return the least number of a label, or the greatest, or raise PoolError if these are no bounds.

    Examples
    --------
    >>> number_end((0, float("inf")), 1)
    inf
    """
    try:
        lowest, highest = (as_number(bound) for bound in bounds)
    except (TypeError, ValueError):
        lowest = highest = math.nan
    if not lowest < highest or lowest == math.inf or highest == -math.inf:
        raise PoolError(
            "Bounds are the least and the greatest number of a label, such as (0, 100), or -inf and inf where there is "
            f"none; found {shown(bounds)}."
        )
    sizes = [abs(bound) for bound in (lowest, highest) if math.isfinite(bound)]
    if max(sizes, default=0.0) > LARGEST or highest - lowest < 1 / LARGEST:
        raise PoolError(
            f"Bounds are of {LARGEST:g} at most in size, unless there is none, and {1 / LARGEST:g} apart or more; "
            f"found {shown(bounds)}. Give labels and predictions in another unit."
        )
    return (lowest, highest)[end]


def are_finite(bounds: object) -> bool:
    """Whether both bounds are finite, or raise PoolError if these are no bounds."""
    return math.isfinite(number_end(bounds, 0)) and math.isfinite(number_end(bounds, 1))
