"""Columns of few values, as these and a code per row: what holds of a value is found out once, not in every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
