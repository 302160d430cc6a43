"""Checking what is known of each item beside its prediction: confidence and group columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import (
    ODD_LETTER,
    dataframe_of,
    first_missing,
    first_nested,
    first_odd_letter,
    frozen,
    listing,
    show,
    to_numpy,
    values_of,
)
from bayes_assess._tools.coded import CodedColumn, distinct, factorised, spelled_out, taken_apart
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import ArrayLike, Frame, Int
from bayes_assess.errors import PoolError
from bayes_assess.pool._classes import Predictions, check_predictions, code_predictions
from bayes_assess.pool._scores import check_unit

RESERVED = "prediction"  # `by="prediction"` means the predicted class
SHEET_COLUMNS = ("id", "label", RESERVED, "score")  # of sheets for annotators, beside what is shown


def check_confidence(confidence: ArrayLike | None, n_items: int, *, scored: bool) -> np.ndarray | None:
    """Return confidences as float64 (M,), or None where none are given; see `Pool`."""
    if confidence is None:
        return None
    if scored:
        raise PoolError("Pass scores or confidence, not both: the confidence follows from the scores.")
    values = values_of(confidence)
    if values.ndim != 1 or len(values) != n_items:
        raise PoolError(f"Confidence has shape {values.shape}, but the pool has {n_items:,} items: pass one per item.")
    if values.dtype.kind not in "biuf":
        raise PoolError(f"Confidence must be numbers, but is {listing(values, 3)}.")
    check_unit(values, "confidence", "it must lie in [0, 1]")
    return frozen(values.astype(np.float64, copy=False))


def check_systems(systems: Mapping[str, ArrayLike] | Frame | None, n_items: int) -> dict[str, tuple[Predictions, bool]]:
    """Return predictions of other systems by name, and whether they were booleans, each (M,); see `Pool`."""
    checked = {}
    for name, column in _named_columns(systems, "Systems", '{"new": predictions}', "system").items():
        try:
            values, boolean = check_predictions(column)
        except PoolError as error:
            raise PoolError(f"In system {name!r}: {error}") from None
        if len(values) != n_items:
            raise PoolError(f"System {name!r} has {len(values):,} predictions, but the pool has {n_items:,} items.")
        checked[name] = values, boolean
    return checked


def check_shared_classes(predictions: Predictions, systems: Mapping[str, tuple[Predictions, bool]]) -> None:
    """Refuse a system that shares no class with the pool's own: some other column would make its values classes."""
    own = distinct(predictions) if systems else np.array([])
    for name, (values, _) in systems.items():
        if own.dtype.kind == values.dtype.kind == "U" and not np.isin(distinct(values), own).any():
            shown = listing(spelled_out(values), 3)
            raise PoolError(
                f"System {name!r} does not hold the predictions of a system: none of its values ({shown}) "
                f"is predicted by the pool's own ({listing(own)}). If it is one, pass all classes as classes=[...]."
            )


def code_systems(systems: Mapping[str, tuple[Predictions, bool]], classes: np.ndarray) -> dict[str, np.ndarray]:
    """Return predictions of other systems, checked, as codes into `classes`."""
    coded = {}
    for name, (values, _) in systems.items():
        try:
            coded[name] = frozen(code_predictions(values, classes))
        except PoolError as error:
            raise PoolError(f"In system {name!r}: {error}") from None
    return coded


def _named_columns(columns: object, what: str, example: str, one: str) -> dict[str, Any]:
    """Return columns by name from a mapping or a frame, none of them called like the pool's own predictions."""
    if columns is None:
        return {}
    frame = None if isinstance(columns, Mapping) else dataframe_of(columns)
    if frame is not None:
        columns = {name: frame[name] for name in frame.columns}
    if not isinstance(columns, Mapping):
        raise PoolError(f"{what} must map names to arrays, such as {example}, not {type(columns).__name__}.")
    for name in columns:
        if not isinstance(name, str) or not name:
            raise PoolError(f"A {one} needs a text as its name, not {show(name)}.")
        if name == RESERVED:
            raise PoolError(f'No {one} may be called "{RESERVED}", which means the predicted class; rename it.')
    return dict(columns)


def check_show(show_columns: Mapping[str, ArrayLike] | Frame | None, n_items: int) -> dict[str, np.ndarray]:
    """Return columns that annotators see by name, each (M,); see `Pool`."""
    checked = {}
    for name, column in _named_columns(show_columns, "Columns to show", '{"text": text}', "column to show").items():
        if name.strip().casefold() in SHEET_COLUMNS:
            raise PoolError(
                f"A sheet for annotators has a column {name.strip().casefold()!r} of its own; show {show(name)} under "
                "another name."
            )
        values = to_numpy(column)
        if values.ndim != 1 or len(values) != n_items:
            raise PoolError(
                f"The column {name!r} to show has shape {values.shape}, but the pool has {n_items:,} items."
            )
        checked[name] = frozen(values)
    return checked


class GroupColumns(Mapping[str, np.ndarray]):
    """Group columns by name, (M,) each; those that are coded are spelled out when somebody asks for them.

    Examples
    --------
    >>> groups = GroupColumns({"site": CodedColumn(np.array(["south", "north"]), np.array([0, 1, 0]))})
    >>> groups["site"].tolist(), groups.coded("site").codes.tolist()
    (['south', 'north', 'south'], [0, 1, 0])
    """

    def __init__(self, columns: Mapping[str, np.ndarray | CodedColumn]) -> None:
        self._columns = columns
        self._spelled_out: dict[str, np.ndarray] = {}
        self._factorised: dict[str, tuple[np.ndarray, Int[np.ndarray, " M"]]] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._spelled_out:
            self._spelled_out[name] = frozen(spelled_out(self._columns[name]))
        return self._spelled_out[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def coded(self, name: str) -> np.ndarray | CodedColumn:
        """Return a column as it is held."""
        return self._columns[name]

    def factorised(self, name: str) -> tuple[np.ndarray, Int[np.ndarray, " M"]]:
        """Return the sorted distinct values of a column, and the place of each item's among them, found out once.

        Examples
        --------
        >>> values, places = GroupColumns({"site": np.array(["south", "north", "south"])}).factorised("site")
        >>> values.tolist(), places.tolist()
        (['north', 'south'], [1, 0, 1])
        """
        if name not in self._factorised:
            values, places = factorised(self._columns[name])
            self._factorised[name] = frozen(values), frozen(places)
        return self._factorised[name]


class EmptyGroupError(PoolError):
    """An item is in no group by a column."""

    def __init__(self, column: str, row: str) -> None:
        super().__init__(
            f"Group column {column!r} has no value in {row}; "
            'fill it, for example with "unknown", or leave the item out.'
        )
        self.column, self.row = column, row

    def __reduce__(self) -> tuple[type[EmptyGroupError], tuple[str, str]]:
        """Return how it is made again."""
        return type(self), (self.column, self.row)


def check_groups(groups: Mapping[str, ArrayLike] | Frame | None, n_items: int) -> dict[str, np.ndarray | CodedColumn]:
    """Return group columns by name, each of M rows and complete; see `Pool`."""
    checked = {}
    for name, column in _named_columns(groups, "Groups", '{"site": site}', "group column").items():
        values, codes = taken_apart(column)
        if codes is not None and len(codes) == n_items and _is_complete(values):
            checked[name] = column
            continue
        values = values_of(spelled_out(column), decimals=False)
        if values.ndim != 1 or len(values) != n_items:
            raise PoolError(f"Group column {name!r} has shape {values.shape}, but the pool has {n_items:,} items.")
        row = first_missing(values)
        if row is not None:
            raise EmptyGroupError(name, f"row {row_no(row)} ({show(values[row])})")
        row = first_odd_letter(values)
        if row is not None:
            raise PoolError(f"The {name!r} of row {row_no(row)}, {show(values[row])}, {ODD_LETTER}.")
        row = first_nested(values)
        if row is not None:
            raise PoolError(
                f"Group column {name!r} has {show(values[row])} in row {row_no(row)}; an item is in exactly one "
                "group, so pass a column of its own for each attribute."
            )
        checked[name] = frozen(_in_days_or_seconds(values))
    return checked


def _in_days_or_seconds(values: np.ndarray) -> np.ndarray:
    """Return times in the coarser unit that holds them, by which names are short; other values as they are."""
    coarser = (values.astype(f"M8[{unit}]") for unit in ("D", "s")) if values.dtype.kind == "M" else ()
    return next((times for times in coarser if (times == values).all()), values)


def _is_complete(values: np.ndarray) -> bool:
    """Whether no value is missing or odd, so that no row has to be named."""
    return values.dtype.kind in "biufU" and first_missing(values) is None and first_odd_letter(values) is None
