"""Columns of numbers that a group's accuracy may go with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.shapes import Float
from bayes_assess.errors import PriorError, QuestionError
from bayes_assess.pool.counting import add_up, count, mean
from bayes_assess.pool.groups import partition
from bayes_assess.pool.pool import Pool

if TYPE_CHECKING:
    from bayes_assess.pool.groups import By


def column_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Take names of columns, or one of them.

    Examples
    --------
    >>> column_names("age"), column_names(["age", "length"])
    (('age',), ('age', 'length'))
    """
    columns = (names,) if isinstance(names, str) else names
    if not isinstance(columns, list | tuple) or not all(isinstance(name, str) for name in columns):
        raise QuestionError(f"covariates are names of columns of the pool; found {show(names)}.")
    if len(set(columns)) < len(columns):
        raise QuestionError(f"Each covariate is named once; found {show(list(columns))}.")
    return tuple(columns)


def mean_columns(pool: Pool, by: By, names: Sequence[str]) -> dict[str, Float[np.ndarray, " G"]]:
    """Return the mean of every column in every group; that of all items where a group has none.

    Raises
    ------
    PriorError
        If the pool has no such column, or it does not hold a finite number for every item.

    Examples
    --------
    >>> pool = Pool(predictions=[0, 1, 1], groups={"site": ["a", "b", "b"], "age": [30, 41, 44]})
    >>> mean_columns(pool, "site", ["age"])["age"].tolist()
    [30.0, 42.5]
    """
    if not names:
        return {}
    groups = partition(pool, by)
    size = count(groups.codes, groups.n_groups, pool.multiplicity)
    means = {}
    for name in names:
        if name not in pool.groups:
            raise PriorError(f"The pool has no column {name!r} of numbers; there are {listing(list(pool.groups), 30)}.")
        column = pool.groups[name]
        if column.dtype.kind not in "biuf" or not np.isfinite(column).all():
            raise PriorError(f"Column {name!r} does not hold a finite number for every item; fill in or leave it out.")
        column = column.astype(np.float64)
        total = add_up(groups.codes, column, groups.n_groups, pool.multiplicity)
        means[name] = np.where(size > 0, total / np.maximum(size, 1), mean(column, pool.multiplicity))
    return means
