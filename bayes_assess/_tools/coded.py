"""Columns of few values, as these and a code per row: what holds of a value is found out once, not in every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import CHUNK
from bayes_assess._tools.shapes import Int


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of M rows.

    Attributes
    ----------
    values : (N,)
        Every one is that of some row; in any order, and maybe twice.
    codes : (M,) integers
        Which of them a row has.

    Examples
    --------
    >>> column = CodedColumn(np.array(["dog", "cat"]), np.array([0, 1, 0]))
    >>> len(column), distinct(column).tolist(), spelled_out(column).tolist()
    (3, ['cat', 'dog'], ['dog', 'cat', 'dog'])
    """

    values: np.ndarray
    codes: Int[np.ndarray, " M"]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return self.values.dtype


def taken_apart(column: object) -> tuple[Any, Int[np.ndarray, " M"] | None]:
    """Return the values and the codes of a column that is coded; of others the column itself, and no codes.

    Examples
    --------
    >>> values, codes = taken_apart(CodedColumn(np.array(["dog", "cat"]), np.array([0, 1, 0])))
    >>> values.tolist(), codes.tolist(), taken_apart(["dog"])
    (['dog', 'cat'], [0, 1, 0], (['dog'], None))
    """
    return (column.values, column.codes) if isinstance(column, CodedColumn) else (column, None)


def spelled_out(column: object) -> Any:
    """Return the value of every row, (M,), of a column that is coded; others as they are."""
    values, codes = taken_apart(column)
    return values if codes is None else values[codes]


def distinct(column: np.ndarray | CodedColumn) -> np.ndarray:
    """Return the sorted distinct values of a column, coded or not."""
    return np.unique(taken_apart(column)[0])


def factorised(column: np.ndarray | CodedColumn) -> tuple[np.ndarray, Int[np.ndarray, " M"]]:
    """Return the sorted distinct values of a column, and the place of each row's; sooner than by `numpy.unique`.

    Raises
    ------
    TypeError
        If values of mixed types cannot be sorted.

    Examples
    --------
    >>> values, places = factorised(np.array(["dog", "cat", "dog"]))
    >>> values.tolist(), places.tolist()
    (['cat', 'dog'], [1, 0, 1])
    """
    values, codes = taken_apart(column)
    if codes is not None:
        names, places = np.unique(values, return_inverse=True)
        return names, places.astype(np.int64)[codes]
    if len(np.unique(values[:CHUNK])) > CHUNK // 16:  # many distinct: sort once
        return np.unique(values, return_inverse=True)
    chunks = [np.unique(values[start : start + CHUNK]) for start in range(0, len(values), CHUNK)]
    names = np.unique(np.concatenate(chunks)) if chunks else values
    return names, np.searchsorted(names, values)
