"""Class names and the integer codes that stand for them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from bayes_assess._tools.arrays import (
    ODD_LETTER,
    first_beyond,
    first_broken,
    first_missing,
    first_odd_letter,
    first_true,
    listing,
    show,
    text_as_int,
    values_of,
    whole,
)
from bayes_assess._tools.coded import CodedColumn, distinct, spelled_out, taken_apart
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import PoolError


def check_classes(classes: ArrayLike) -> np.ndarray:
    """Return class names as an int64 or text array; see `Pool`."""
    if isinstance(classes, set | frozenset):
        raise PoolError(
            "A set of classes has no order, which scores and the positive class go by; pass a list, such as "
            "sorted(classes)."
        )
    names = values_of(list(classes) if isinstance(classes, range | dict) else classes)
    if names.ndim != 1 or not names.size:
        raise PoolError(f"Classes must be a list of names, but have shape {names.shape}.")
    at = first_missing(names)
    if at is not None:
        raise PoolError(f"Class {at} has no name ({show(names[at])}); name every class.")
    names = whole(names)
    if names.dtype.kind not in "iuU":
        raise PoolError(
            f"Class names must be all text or all integers, but are {listing(names)}; convert them to text."
        )
    at = first_beyond(names)
    if at is not None:
        raise PoolError(f"The name of class {at} is {names[at]}, beyond 64-bit integers; pass classes as text.")
    if names.dtype.kind != "U":
        names = names.astype(np.int64)
    at = first_odd_letter(names)
    if at is not None:
        raise PoolError(f"The name of class {at}, {show(names[at])}, {ODD_LETTER}.")
    values, counts = np.unique(names, return_counts=True)
    if len(values) < len(names):
        twice = values[counts > 1][0]
        at = np.flatnonzero(names == twice)
        raise PoolError(f"Class names must differ, but {show(twice)} names classes {at[0]} and {at[1]}.")
    return names


Predictions = np.ndarray | CodedColumn


def check_predictions(predictions: ArrayLike | CodedColumn) -> tuple[Predictions, bool]:
    """Return predictions as a one-dimensional int64 or text array without missing values, and if they were booleans."""
    given, codes = taken_apart(predictions)
    if codes is not None:
        try:
            values, boolean = check_predictions(given)
        except PoolError:
            return check_predictions(given[codes])  # which names the row
        return CodedColumn(spelled_out(values), codes), boolean
    values = values_of(given)
    if values.ndim != 1:
        raise PoolError(
            f"Predictions have shape {values.shape}; pass one predicted class per item, (items,). "
            "Probabilities go into scores."
        )
    row = first_missing(values)
    if row is not None:
        raise PoolError(
            f"The prediction in row {row_no(row)} is missing ({show(values[row])}); drop the row or predict it."
        )
    boolean = values.dtype.kind == "b"
    values = whole(values)
    if values.dtype.kind == "f" and values.size:
        row = first_broken(values) or 0
        raise PoolError(
            f"The prediction in row {row_no(row)} is {show(values[row])}, not a class; "
            "if these are probabilities of the positive class, pass them as scores, and if labels are numbers, too, "
            "such as ratings, say between which, by bounds=(1, 5) for example."
        )
    if values.dtype.kind not in "iufU":
        raise PoolError(f"Predictions must be class names or integer codes, but are {listing(values, 3)}.")
    row = first_beyond(values)
    if row is not None:
        raise PoolError(
            f"The prediction in row {row_no(row)} is {values[row]}, beyond 64-bit integers; pass predictions as text."
        )
    row = first_odd_letter(values)
    if row is not None:
        raise PoolError(f"The prediction in row {row_no(row)}, {show(values[row])}, {ODD_LETTER}.")
    return (values if values.dtype.kind == "U" else values.astype(np.int64, copy=False)), boolean


def infer_classes(
    predictions: Predictions, boolean: bool, others: Iterable[tuple[Predictions, bool]] = ()
) -> np.ndarray:
    """Return the sorted distinct values; 0 and 1 if there are no others, even where one of the two does not occur.

    Predictions of other systems count if they are of the same kind; else coding them says what does not fit.

    Examples
    --------
    >>> infer_classes(np.array([500, 200, 404]), False).tolist(), infer_classes(np.array([0, 0]), False).tolist()
    ([200, 404, 500], [0, 1])
    """
    alike = [(values, flags) for values, flags in others if values.dtype.kind == predictions.dtype.kind]
    if boolean and all(flags for _, flags in alike):
        return np.arange(2)
    classes = np.unique(
        np.concatenate([distinct(values) for values in (predictions, *(column for column, _ in alike))])
    )
    both = classes.dtype.kind == "i" and classes[0] >= 0 and classes[-1] <= 1
    return np.arange(2) if both else classes


def codes_of(values: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Return int32 codes into ``classes`` and the position of the first value that names no class (None if all do).

    Text that is the plain form of an integer names an integer class; integers never name a class of text.
    """
    if values.dtype.kind == "O":
        return _one_by_one(values, classes)
    if values.dtype.kind == "b" and sorted(classes.tolist()) != [0, 1]:
        return np.full(len(values), -1, dtype=np.int32), 0 if len(values) else None
    if classes.dtype.kind == "U":
        if values.dtype.kind != "U":
            return np.full(len(values), -1, dtype=np.int32), 0 if len(values) else None
    else:
        values = whole(values)
        if values.dtype.kind == "U":
            converted = text_as_int(values)
            values = _each_as_int(values) if converted is None else converted
        elif values.dtype.kind not in "iu":
            at = first_true(~np.isin(values, classes)) if values.dtype.kind == "f" else None
            at = (at or 0) if len(values) else None  # no float beyond 2^53 names one integer alone
            return np.full(len(values), -1, dtype=np.int32), at
        if np.array_equal(classes, np.arange(len(classes))):
            wrong = (values < 0) | (values >= len(classes))
            return np.where(wrong, -1, values.astype(np.int64)).astype(np.int32), first_true(wrong)
    order = np.argsort(classes)
    slot = np.minimum(np.searchsorted(classes, values, sorter=order), len(classes) - 1)
    codes = order[slot]
    wrong = classes[codes] != values
    return np.where(wrong, -1, codes).astype(np.int32), first_true(wrong)


def _each_as_int(text: np.ndarray) -> np.ndarray:
    """Text of which some is no integer: the least int64, which names no class, stands for that."""
    nothing = np.iinfo(np.int64).min
    clean = [text_as_int(np.asarray([value])) for value in text.tolist()]
    return np.array([nothing if number is None else number[0] for number in clean], dtype=np.int64)


def _one_by_one(values: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Values without a common type: code those that name a class."""
    known = {name: code for code, name in enumerate(classes.tolist())}
    usable = str if classes.dtype.kind == "U" else (int, np.integer)
    codes = [known.get(value, -1) if isinstance(value, usable) else -1 for value in values.tolist()]
    return np.array(codes, dtype=np.int32), first_true(np.array(codes) < 0)


def code_predictions(predictions: Predictions, classes: np.ndarray) -> np.ndarray:
    """Return int32 codes of predictions: names, or integers as codes where the names are text."""
    values, of_rows = taken_apart(predictions)
    if of_rows is not None:
        try:
            return code_predictions(values, classes)[of_rows]
        except PoolError:
            return code_predictions(values[of_rows], classes)  # which names the row
    by_code = classes.dtype.kind == "U" and values.dtype.kind == "i"
    codes, row = codes_of(values, np.arange(len(classes)) if by_code else classes)
    if row is None:
        return codes
    known = f"the codes 0 to {len(classes) - 1}" if by_code else listing(classes)
    raise PoolError(
        f"The prediction in row {row_no(row)} is {show(values[row])}, which is not among the {len(classes)} classes "
        f"({known}); pass every class that can be predicted as classes=[...], in the order of the scores if there are "
        "any."
    )


def score_classes(scores: np.ndarray, columns: list[str] | None, names: np.ndarray | None) -> np.ndarray:
    """Return the class names of scores: those given, those of a frame's columns, or 0..C-1."""
    width = 2 if scores.ndim == 1 else scores.shape[1]
    if names is None:
        return np.arange(width) if columns is None else check_classes(columns)
    if len(names) != width:
        what = "binary scores" if scores.ndim == 1 else f"scores with {width} columns"
        raise PoolError(
            f"There are {len(names)} classes ({listing(names)}) for {what}; name one class per column, in order."
        )
    if columns is not None and set(columns) == set(names.tolist()) and columns != names.tolist():
        raise PoolError(
            f"The score columns are {listing(columns)} but classes {listing(names)}: the same names in another order; "
            "leave classes out, or reorder the columns."
        )
    return names


def between_numbers(value: object, classes: np.ndarray) -> str:
    """Say what to do about a label that is a number between classes that are whole numbers; nothing about others.

    Examples
    --------
    >>> between_numbers("4.5", np.array([1, 2, 5]))
    'ratings between whole numbers are labels of a pool that is made with bounds=(1, 5): start with that'
    >>> between_numbers("4.5", np.array(["bad", "good"])), between_numbers(4, np.array([1, 2, 5]))
    ('', '')
    """
    if classes.dtype.kind not in "iu" or len(classes) < 3 or not isinstance(value, str | float | np.floating):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    if not math.isfinite(number) or number.is_integer():
        return ""
    low, high = classes.min(), classes.max()
    return (
        f"ratings between whole numbers are labels of a pool that is made with bounds=({low}, {high}): start with that"
    )
