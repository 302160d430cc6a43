"""Wide tables: one row per prompt and a column of verdicts per system; every answer becomes an item of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import first_missing, listing, show, values_of
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import PoolError
from bayes_assess.pool._ids import check_ids

SYSTEM = "system"  # the group column that says whose answer an item is


def long_form(arguments: Mapping[str, Any], answers: Mapping[str, ArrayLike], id_column: str | None) -> dict[str, Any]:
    """Return the arguments of a `Pool` whose items are the answers of all rows by all systems.

    Parameters
    ----------
    arguments : mapping
        Of a pool of rows, without predictions.
    answers : mapping of str to array (M,)
        Verdicts on every system's answers.
    id_column : str, optional
        Name of the column of ids, which becomes a group column: rows share prompts. ``"row"`` without one.

    Raises
    ------
    PoolError
        If a verdict is missing, or columns have nothing in common.

    Examples
    --------
    >>> arrays = long_form({"ids": np.array([7, 8])}, {"a": ["good", "bad"], "b": ["bad", "bad"]}, "prompt")
    >>> arrays["ids"].tolist(), arrays["groups"]["prompt"].tolist()
    (['7/a', '8/a', '7/b', '8/b'], ['7', '8', '7', '8'])
    """
    columns = {name: values_of(column) for name, column in answers.items()}
    for name, column in columns.items():
        row = first_missing(column)
        if row is not None:
            raise PoolError(
                f"The verdict of {show(name)} in row {row_no(row)} is missing; give one for every answer, or leave "
                "the row out."
            )
    kinds = {column.dtype.kind if column.dtype.kind not in "iu" else "i" for column in columns.values()}
    if len(kinds) > 1:
        raise PoolError(f"Some of the columns {listing(list(columns))} hold text and some numbers; make them alike.")
    first, *others = columns.items()
    for name, column in others:
        if column.dtype.kind == "U" and arguments.get("classes") is None and not np.isin(column, first[1]).any():
            raise PoolError(
                f"The columns {show(first[0])} and {show(name)} have no verdict in common ({listing(first[1], 3)} and "
                f"{listing(column, 3)}). If both hold verdicts, pass all of these as classes=[...]."
            )
    n_rows, n_systems = len(next(iter(columns.values()))), len(columns)
    ids = arguments.get("ids")
    ids = None if ids is None else check_ids(ids, n_rows)
    rows = np.arange(n_rows) if ids is None else ids
    made = {SYSTEM: np.repeat(list(columns), n_rows), id_column or "row": np.tile(rows.astype(str), n_systems)}
    given = {
        name: np.tile(values_of(column, decimals=False), n_systems)
        for name, column in (arguments.get("groups") or {}).items()
    }
    shown = {name: np.tile(column, n_systems) for name, column in (arguments.get("show") or {}).items()}
    names = np.char.add(np.char.add(made[id_column or "row"], "/"), made[SYSTEM])
    return {
        "predictions": np.concatenate(list(columns.values())),
        "ids": names,
        "classes": arguments.get("classes"),
        "groups": made | given,
        "show": shown,
    }
