"""Numbers that the classes of a pool stand for, such as ratings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from bayes_assess._tools.arrays import LARGEST, index_of, listing, show
from bayes_assess._tools.shapes import Float
from bayes_assess.errors import QuestionError
from bayes_assess.pool.pool import Pool

_LEADING = re.compile(r"[0-9]+(?:\.[0-9]+)?")  # number of a name such as 4/5 or "3 stars"

Values: TypeAlias = dict[object, float] | tuple[float, ...] | None  # of classes


def checked_values(values: Any) -> Values:
    """Return the values as they were given, a dictionary, a tuple or None, with floats.

    Raises
    ------
    QuestionError
        If they are no finite numbers.

    Examples
    --------
    >>> checked_values({"bad": 1, "good": 2}), checked_values([1, 2]), checked_values(None)
    ({'bad': 1.0, 'good': 2.0}, (1.0, 2.0), None)
    """
    if values is None:
        return None
    index = index_of(values)
    if index is not None:  # of a series, whose order is that of its index, not of the classes
        values = dict(zip(index.tolist(), values, strict=True))
    if isinstance(values, Mapping):
        return {_plain(name): _number(value, f"of class {show(name)}") for name, value in values.items()}
    if isinstance(values, str) or not np.iterable(values):
        raise QuestionError(
            f"The values are a mapping from classes to numbers, or a number for every class; found {show(values)}."
        )
    return tuple(_number(value, f"at position {i}") for i, value in enumerate(values))


def class_values(values: Values, pool: Pool) -> Float[np.ndarray, " C"]:
    """Return the number of every class, in the order of the pool's classes.

    Parameters
    ----------
    values : dict, tuple or None
        As `checked_values` returned them; without any, the classes are the numbers.
    pool : Pool

    Raises
    ------
    QuestionError
        If a class has no number, a number has no class, or all numbers are the same.

    Examples
    --------
    >>> class_values(None, Pool(predictions=["1", "5", "4"])).tolist()
    [1.0, 4.0, 5.0]
    """
    if values is None:
        value = _as_numbers(pool)
    elif isinstance(values, dict):
        value = _looked_up(values, pool)
    elif len(values) != pool.n_classes:
        raise QuestionError(
            f"There are {len(values)} values, and the pool has {pool.n_classes} classes ({listing(pool.classes)}): "
            "give one value per class, in this order, or a mapping from classes to values."
        )
    else:
        value = list(values)
    if min(value) == max(value):
        raise QuestionError(
            f"All classes of the pool ({listing(pool.classes)}) have the value {value[0]:g}, so that there is "
            "nothing to label: declare all classes that labels can be, and give them values that differ."
        )
    if max(value) - min(value) < 1 / LARGEST:
        raise QuestionError(
            f"The values of the classes lie from {min(value):g} to {max(value):g}, less than {1 / LARGEST:g} apart; "
            "give them in another unit."
        )
    return np.array(value, np.float64)


def _plain(name: object) -> object:
    return name.item() if isinstance(name, np.generic) else name


def _number(value: Any, whose: str) -> float:
    try:
        number = math.nan if value is np.ma.masked else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, str | bool) or not abs(number) <= LARGEST:
        number_wanted = f"a finite number, of {LARGEST:g} at most in size"
        raise QuestionError(f"The value {whose} is {show(value)}; give {number_wanted}.")
    return number


def _as_numbers(pool: Pool) -> list[float]:
    try:
        numbers = [float(name) for name in pool.classes.tolist()]
    except ValueError:
        numbers = [math.nan]
    if not (np.abs(numbers) <= LARGEST).all():
        name = str(pool.classes[-1])
        found = _LEADING.match(name)
        one = found[0] if found else str(len(pool.classes))
        raise QuestionError(
            f"The classes of the pool ({listing(pool.classes)}) are no numbers, or of more than {LARGEST:g} in size, "
            f"so that they have no mean: give every class one by values, such as {{{show(name)}: {one}}} in Python and "
            f"--values {name}={one} on the command line."
        )
    return numbers


def _looked_up(values: dict[object, float], pool: Pool) -> list[float]:
    """Look up every class, by its name or, as journals spell it, by its text."""
    named = {str(name): value for name, value in values.items()}
    classes = pool.classes.astype(str).tolist()
    missing = [name for name in classes if name not in named]
    if missing:
        raise QuestionError(
            f"Class {missing[0]!r} has no value; values need one for every class of the pool ({listing(pool.classes)})."
        )
    unknown = [name for name in named if name not in classes]
    if unknown:
        raise QuestionError(
            f"There is a value for {unknown[0]!r}, which is no class of the pool ({listing(pool.classes)}); leave it "
            "out, or declare all classes that labels can be."
        )
    return [named[name] for name in classes]
