"""Reading which of the classes apply to every item: indicators, lists of names, or texts such as ``"cat;dog"``.

Shapes: n items, C classes.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import (
    dataframe_of,
    first_true,
    listing,
    missing_mask,
    objects,
    show,
    to_numpy,
    values_of,
)
from bayes_assess._tools.shapes import ArrayLike, Bool
from bayes_assess.errors import PoolError

SEPARATOR = ";"
NO_LABEL = "-"  # the text of an item to which no class applies; an empty text is an item without answer
NO_LABEL_BESIDE = f"{NO_LABEL!r}, which says that no class applies, beside other names; leave out the one or the others"
_OTHERS = (",", "|", "/", "+", " ")  # what people put between names instead
_SEVERAL = (list, tuple, set, frozenset, np.ndarray)


class LabelRows(NamedTuple):
    """What was read of n items."""

    indicators: Bool[np.ndarray, "n C"]  # whether a class applies; False throughout where nothing is known
    known: Bool[np.ndarray, " n"]  # False where an item has no answer: None, NaN, empty text, a row of NaN


class UnreadableRow(Exception):
    """A row that names no set of classes; `problem` goes on where "The labels of item 7" begins."""

    def __init__(self, at: int, problem: str) -> None:
        super().__init__(at, problem)
        self.at, self.problem = at, problem


def check_label_names(classes: np.ndarray) -> np.ndarray:
    """Refuse class names that could not be read back from a text of several."""
    for name in map(str, classes.tolist()):
        if SEPARATOR in name or name != name.strip() or name == NO_LABEL:
            raise PoolError(
                f"The class name {show(name)} cannot stand in a text of several labels, such as 'cat;dog': rename it, "
                f"without '{SEPARATOR}' and without spaces around it; '{NO_LABEL}' alone stands for no label."
            )
    return classes


def read_rows(values: ArrayLike, classes: np.ndarray, remedy: str) -> LabelRows:
    """Read indicators or names of n items.

    Rows of numbers or booleans are indicators, one per class in the order of the classes; the columns of a frame are
    taken by name where they are the classes' names. Rows of text are names, and an empty list, or "-" alone in it, is
    an item to which no class applies. A text holds names between semicolons, or "-" where no class applies; one that
    is a list in writing, as CSV files have them, is that list. Sets hold names.

    Raises
    ------
    UnreadableRow
        At the first row that is none of these. `remedy` says what to do about a name that is unknown.

    Examples
    --------
    >>> rows = read_rows(["dog;cat", "-", None], np.array(["cat", "dog"]), "label with these names")
    >>> rows.indicators.tolist(), rows.known.tolist()
    ([[True, True], [False, False], [False, False]], [True, True, False])
    """
    array = _in_order(values, classes)
    if array.ndim == 2 and array.dtype.kind in "biuf" and array.shape[1]:
        return _read_matrix(array, classes)
    rows = _rows(array)
    indicators = np.zeros((len(rows), len(classes)), bool)
    known = ~missing_mask(rows)
    lookup = {str(name): code for code, name in enumerate(classes.tolist())}
    for at in np.flatnonzero(known).tolist():
        row = _read_row(at, rows[at], classes, lookup, remedy)
        known[at] = row is not None
        indicators[at] = False if row is None else row
    return LabelRows(indicators, known)


def distinct_names(values: ArrayLike | None) -> np.ndarray:
    """Return the sorted distinct names in rows of names, for classes that are not declared; 0..C-1 of indicators."""
    array = to_numpy(values)
    if array.ndim == 2 and array.dtype.kind in "biuf" and array.shape[1]:
        return np.arange(array.shape[1])
    names: set[str] = set()
    for row in _rows(array).tolist():
        row = _as_meant(row)
        if isinstance(row, str):
            names.update(names_in(row) or ())
        elif isinstance(row, _SEVERAL):
            names.update(name for name in row if isinstance(name, str) and name != NO_LABEL)
    if not names:
        raise PoolError("The predictions name no class; pass every class that can be predicted as classes=[...].")
    return np.array(sorted(names))


def frame_columns(values: ArrayLike | None) -> list[str] | None:
    """Return the column names of a frame, or None of anything else."""
    frame = dataframe_of(values)
    return None if frame is None else list(frame.columns)


def _in_order(values: ArrayLike, classes: np.ndarray) -> np.ndarray:
    """Return values as an array, the columns of a frame in the order of the classes if it names them."""
    frame = dataframe_of(values)
    columns = () if frame is None else frame.columns
    names = [str(name) for name in classes.tolist()]
    if frame is not None and columns and set(columns) == set(names):
        return np.column_stack([values_of(frame[name]) for name in names])
    if not set(columns).isdisjoint(names):
        problem = f"have the columns {listing(list(columns))}, and the classes are {listing(classes)}"
        raise UnreadableRow(0, f"{problem}; name one column after each class")
    return to_numpy(values)


def _rows(array: np.ndarray) -> np.ndarray:
    """Return rows as a one-dimensional array of objects."""
    return objects(np.atleast_1d(array))


def _read_matrix(array: np.ndarray, classes: np.ndarray) -> LabelRows:
    """Read indicators, the fast way."""
    if array.shape[1] != len(classes):
        raise UnreadableRow(0, _wrong_width(array.shape[1], classes))
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    known = np.logical_not(missing.all(axis=1))
    at = first_true(np.any((array != 0) & (array != 1), axis=1) & known)  # NaN is neither
    if at is not None:
        _read_indicators(at, array[at].tolist(), classes)
    return LabelRows(array == 1, known)


def _read_row(
    at: int, row: object, classes: np.ndarray, lookup: dict[str, int], remedy: str
) -> Bool[np.ndarray, " C"] | None:
    """Return the indicators of one row, or None where nothing is known."""
    row = row if isinstance(row, str) and row in lookup else _as_meant(row)
    if isinstance(row, str):
        names = names_in(row)
        return None if names is None else _read_names(at, names, classes, lookup, remedy)
    if not isinstance(row, _SEVERAL):
        raise UnreadableRow(at, f"are {show(row)}; pass a list of names, a text such as 'cat;dog', or indicators")
    if isinstance(row, set | frozenset):  # without order, so that numbers are names
        return _read_names(at, sorted(map(str, row)), classes, lookup, remedy)
    values = list(row)
    texts = sum(isinstance(value, str) for value in values)
    if texts == len(values):  # also where there are none: no class applies
        return _read_names(at, values, classes, lookup, remedy)
    if texts:
        raise UnreadableRow(at, f"are {show(values)}, text beside other values; pass a list of names or indicators")
    return _read_indicators(at, values, classes)


def names_in(text: str) -> list[str] | None:
    """Return the names in a text; None where it is empty.

    Examples
    --------
    >>> names_in("cat; dog"), names_in("-"), names_in("")
    (['cat', 'dog'], [], None)
    """
    text = text.strip()
    if not text:
        return None
    return [] if text == NO_LABEL else [name.strip() for name in text.split(SEPARATOR)]


def as_list(text: str) -> list[object] | None:
    """Return the list that a text is in writing, of Python or JSON; None if it is none.

    Examples
    --------
    >>> as_list("['cat', 'dog']"), as_list("[UNK]")
    (['cat', 'dog'], None)
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _as_meant(row: object) -> object:
    """Return the list where a row is one in writing, else the row."""
    listed = as_list(row) if isinstance(row, str) else None
    return row if listed is None else listed


def _read_names(
    at: int, names: Iterable[str], classes: np.ndarray, lookup: dict[str, int], remedy: str
) -> Bool[np.ndarray, " C"]:
    row, names = np.zeros(len(classes), bool), list(names)
    if names == [NO_LABEL]:
        return row
    for name in names:
        if name == NO_LABEL and len(names) > 1:
            raise UnreadableRow(at, f"have {NO_LABEL_BESIDE}")
        if name not in lookup:
            known = listing(classes)
            problem = f"name {show(name)}, which is not one of the classes ({known}); {remedy}"
            raise UnreadableRow(at, f"{problem}{separators_hint(name, lookup)}")
        row[lookup[name]] = True
    return row


def separators_hint(name: str, classes: Container[str]) -> str:
    """Say what stands between names, where a name that is no class holds several with something else between them.

    Examples
    --------
    >>> separators_hint("cat, dog", ["cat", "dog"])
    "; several names stand between semicolons, such as 'cat;dog'"
    """
    for other in _OTHERS:
        parts = [part.strip() for part in name.split(other)]
        if len(parts) > 1 and all(part in classes for part in parts):
            return f"; several names stand between semicolons, such as {SEPARATOR.join(parts)!r}"
    return ""


def _read_indicators(at: int, values: list[object], classes: np.ndarray) -> Bool[np.ndarray, " C"] | None:
    if len(values) != len(classes):
        raise UnreadableRow(at, _wrong_width(len(values), classes))
    missing = missing_mask(objects(values))
    if missing.all():
        return None
    for name, value, unknown in zip(classes, values, missing, strict=True):
        if unknown:
            problem = "and all labels of an item are needed: 1 where a class applies, 0 where it does not"
            raise UnreadableRow(at, f"lack that of class {show(name)}, {problem}")
        if isinstance(value, _SEVERAL) or value not in (0, 1):
            raise UnreadableRow(at, f"have {show(value)} for class {show(name)}; an indicator is 0 or 1, or a boolean")
    return np.array(values, bool)


def _wrong_width(width: int, classes: np.ndarray) -> str:
    return (
        f"are {width} number{'s' * (width != 1)} for {len(classes)} classes ({listing(classes)}); numbers are "
        "indicators, one per class in this order; write names as text"
    )
