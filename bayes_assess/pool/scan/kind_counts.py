"""How many rows of every kind a table has, counted in one pass, with what is wrong in any of them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, values_of
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import PoolError
from bayes_assess.pool._classes import codes_of
from bayes_assess.pool._scores import ROW_SUM_TOLERANCE, shown_outside
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.first_rows import FIRST, MOST_FIRST, NONE, SEED, FirstRows, bound_of
from bayes_assess.pool.scan.kinds import (
    BAD,
    BIN,
    KEY,
    SCORE,
    TOP,
    UNITS,
    Layout,
    bins_of,
    has_units,
    is_bad,
    is_nan,
    with_kinds,
)
from bayes_assess.pool.scan.order import order_keys, with_first_word, with_square

if TYPE_CHECKING:
    import narwhals as nw


_SQUARE, _WORD = "__square", "__word"  # columns that are computed
MOST_KINDS = 500_000
MOST_ROWS = 2**33  # sums of 30-bit numbers stay in 64 bits


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of a table's rows, in an order that follows from their keys.

    Attributes
    ----------
    keys : mapping of str to (R,)
        Values of the columns that `Layout.keys` names.
    size : (R,) integers
        Rows.
    score : (R,) or (R, C) floats, optional
        Means.
    sums : (R,) integers
        Sums of what ids are hashed to, whatever the order of the rows.
    first : FirstRows, optional
        Rows that were found on the way.
    """

    keys: Mapping[str, np.ndarray]
    size: Int[np.ndarray, " R"]
    score: Float[np.ndarray, "R ..."] | None
    sums: Int[np.ndarray, " R"]
    first: FirstRows | None = None

    def fingerprint(self) -> str:
        """Return a hash of the kinds, and of which rows are of which kind, in whatever order the table has them."""
        state = hashlib.sha256(b"bayes_assess table 3")
        for name, values in self.keys.items():
            state.update(f"\n{name}\n".encode() + "\x1f".join(map(str, values.tolist())).encode())
        for numbers in (self.size, self.sums, *([] if self.score is None else [self.score])):
            state.update(np.ascontiguousarray(numbers).tobytes())
        return state.hexdigest()


def count_kinds(engine: Engine, layout: Layout) -> Kinds:
    """Count the rows of every kind, in one pass over the table.

    Raises
    ------
    PoolError
        If an id is missing, or a value is missing or no probability: the row is named by its id; or if there are too
        many kinds.
    """
    import narwhals as nw

    sums = [nw.len().alias("__n"), nw.col(_SQUARE).sum().cast(nw.Int64).alias("__sum")]
    sums += [nw.col(KEY).count().alias("__present")]
    parts = [f"{SCORE}_{i}" for i in range(len(layout.numbers))]
    if parts:
        sums += [nw.col(f"{p}_u").sum().cast(nw.Int64).alias(f"{p}_u") for p in parts]
    stop, keys = bound_of(engine, layout), order_keys(SEED)[0]
    by = [*layout.keys, *([FIRST] if stop else [])]
    most = MOST_KINDS + 1 + (MOST_FIRST if stop else 0)

    def counted(frame: nw.LazyFrame) -> nw.LazyFrame:
        frame = with_square(with_kinds(frame, layout), KEY, keys, _SQUARE, bool(stop))
        if stop:
            frame = with_first_word(frame, KEY, keys, _SQUARE, _WORD, small=True)
            first = nw.when(nw.col(_WORD) < stop).then(nw.col(KEY)).otherwise(nw.lit(NONE))
            frame = frame.with_columns(first.alias(FIRST))
        if parts and not has_units(frame, layout):
            frame = frame.with_columns(*((nw.col(p) * UNITS).floor().cast(nw.Int64).alias(f"{p}_u") for p in parts))
        return (frame.group_by(*by).agg(*sums) if by else frame.select(*sums)).head(most)

    columns = engine.collect(counted)
    size = columns["__n"].astype(np.int64)
    if not len(size) or not size.sum():
        raise PoolError(f"There are no rows in {engine.name}; a pool has at least one.")
    if (columns["__present"] < size).any():
        raise missing_id(engine)
    if len(size) >= most:
        raise _too_many(engine, layout)
    if size.sum() > MOST_ROWS:
        raise PoolError(f"There are {size.sum():,} rows in {engine.name}, and pools have up to {MOST_ROWS:,}.")
    check_complete_rows(engine, layout, columns)
    keyed = {name: values_of(columns[name], decimals=False) for name in layout.keys}
    codes = np.array([np.unique(values, return_inverse=True)[1] for values in keyed.values()] or [np.zeros(len(size))])
    order = np.lexsort(codes)
    begins = np.append(True, (np.diff(codes[:, order]) != 0).any(axis=0))  # a kind, of which first rows were apart
    at = np.flatnonzero(begins)
    if len(at) > MOST_KINDS:
        raise _too_many(engine, layout)
    keyed = {name: values[order][at] for name, values in keyed.items()}
    numbers = {name: columns[name][order].astype(np.int64) for name in columns if name not in layout.keys}
    totals = {name: np.add.reduceat(values, at) for name, values in numbers.items() if name != FIRST}
    first = None
    if stop:
        is_first = numbers[FIRST] != NONE
        kind = (np.cumsum(begins) - 1)[is_first]
        first = FirstRows.of(stop, {name: values[is_first] for name, values in numbers.items()}, kind)
    score = _means(layout, keyed, totals)
    return Kinds(keyed, totals["__n"], score, totals["__sum"], first)


def _too_many(engine: Engine, layout: Layout) -> PoolError:
    return PoolError(
        f"The rows of {engine.name} are of more than {MOST_KINDS:,} kinds by {listing(layout.names, 10)} and scores; "
        "name fewer groups, or in Python take fewer bins of the score, n_bins=..."
    )


def missing_id(engine: Engine) -> PoolError:
    """Return what to say of a table in which a row has no id."""
    return PoolError(f"The id of a row of {engine.name} is missing; give every row one, or leave these rows out.")


def _means(
    layout: Layout, keys: Mapping[str, np.ndarray], totals: Mapping[str, np.ndarray]
) -> Float[np.ndarray, " R"] | None:
    """Return the mean score of every kind, within the bin that its rows are in."""
    if not layout.numbers:
        return None
    means = [totals[f"{SCORE}_{i}_u"] / totals["__n"] / UNITS for i in range(len(layout.numbers))]
    below, bin_ = keys[BIN] < 0, bins_of(layout, keys[BIN])
    low, high = bin_ / layout.n_bins, (bin_ + 1) / layout.n_bins
    high = np.where(bin_ == layout.n_bins - 1, 1.0, np.nextafter(high, 0))
    least, most = np.where(below, 1 - high, low), np.where(below, 1 - low, high)
    if not isinstance(layout.scores, tuple):
        return means[0].clip(least, most)
    table = np.stack(means, axis=1)
    top = keys[TOP] if layout.predictions is None else _places(keys[layout.predictions], layout.score_classes)
    rows = np.arange(len(table))
    table[rows, top] = table[rows, top].clip(least, most)
    return table


def _places(values: np.ndarray, classes: tuple[Hashable, ...]) -> Int[np.ndarray, " R"]:
    known = {name: place for place, name in enumerate(classes)}
    return np.array([known[value] for value in values.tolist()], np.int64)


def check_complete_rows(engine: Engine, layout: Layout, found: Mapping[str, np.ndarray]) -> None:
    """Raise PoolError at the first row, by its id, with a value that is missing or no probability."""
    import narwhals as nw

    for name in layout.names:
        if any(value is None or value != value or value == "" for value in found[name].tolist()):
            what = "prediction" if name in (layout.predictions, *layout.systems.values()) else f"value of {name!r}"
            cell, kind = nw.col(name), engine.schema[name]
            gone = cell.is_null()
            if kind.is_float():
                gone = gone | is_nan(cell)
            elif not kind.is_numeric() and "" in found[name].tolist():
                gone = gone | (cell == "")
            item, values = first_row(engine, layout, gone, [name])
            raise PoolError(
                f"The {what} of item {item} is missing ({show(values[name])}); fill it, or leave the row out."
            )
    for name in [*filter(None, [layout.predictions]), *layout.systems.values()]:
        unknown = [value for value in dict.fromkeys(found[name].tolist()) if not _is_class(value, layout)]
        if unknown:
            item, _ = first_row(engine, layout, nw.col(name) == unknown[0], [])
            raise PoolError(
                f"The prediction of item {item} in column {name!r} is {show(unknown[0])}, which is not among the "
                f"{len(layout.classes)} classes ({listing(list(layout.classes))}); name all of them, in the order of "
                "the scores if there are any, by classes=[...]."
            )
    if layout.numbers and is_bad(layout, found[BIN]).any():
        item, values = first_row(engine, layout, nw.col(BAD), layout.numbers)
        raise PoolError(
            _blame(item, {name: float("nan") if cell is None else float(cell) for name, cell in values.items()})
        )


def _is_class(value: object, layout: Layout) -> bool:
    """Whether a prediction is one of the classes, if these are known."""
    if not layout.classes:
        return True
    names = values_of(list(layout.classes))
    single = values_of([value])
    by_code = not layout.score_classes and names.dtype.kind == "U" and single.dtype.kind == "i"
    return codes_of(single, np.arange(len(names)) if by_code else names)[1] is None


def first_row(engine: Engine, layout: Layout, condition: nw.Expr, columns: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the id, to be shown, and the values of the row with the least id for which a condition holds."""
    ids = layout.id or KEY
    wanted = list(dict.fromkeys([ids, *columns]))
    row = engine.collect(lambda frame: with_kinds(frame, layout).filter(condition).select(*wanted).sort(ids).head(1))
    row = {name: values.tolist() for name, values in row.items()}
    return show(row[ids][0]), {name: row[name][0] for name in columns}


def _blame(item: str, values: Mapping[str, float]) -> str:
    """Say what is wrong with the scores of an item."""
    for name, value in values.items():
        where = f"The score of item {item} in column {name!r}"
        if np.isnan(value):
            return f"{where} is NaN or missing; leave the row out of the table, or score it."
        if np.isinf(value):
            return f"{where} is infinite; give probabilities, not logits."
        if not 0 <= value <= 1:
            shown = shown_outside(float(value))
            return f"{where} is {shown}; probabilities lie in [0, 1], and tables take no other scores."
    return (
        f"The scores of item {item} sum to {sum(values.values()):.6g}, not 1 (tolerance {ROW_SUM_TOLERANCE:g}); "
        "divide each row by its sum."
    )
