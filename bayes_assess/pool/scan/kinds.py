"""Kinds of rows: rows that are alike in predictions, groups and a fine bin of the score, counted by an engine.

A score s in [0, 1] has the confidence c = max(s, 1 - s), or is one, c = s; s is rounded down to whole multiples of
2^-30. A bin is an interval of c between multiples of 1 / n, which hold their lower edge, cut finer where
t = min(c, 1 - c) is small: by multiples of 1 / 256 of t^(1/8), up to 152 / 256, where t is about 1 / 65. So rare events
are told apart by the odds of their scores. Every step, three square roots among them, is exact or rounded as IEEE 754
says, and sums are of whole numbers (s in units of 2^-30), so that every engine finds the same kinds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, values_of
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import PoolError
from bayes_assess.pool._classes import codes_of
from bayes_assess.pool.scan.engine import Engine, quoted
from bayes_assess.pool.scan.order import order_keys, with_word

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw


KEY, BIN, SCORE, TOP = "__key", "__bin", "__score", "__top"  # columns that are computed
_BAD, _WORD = "__bad", "__word"
_UNITS = 2.0**30
_FINE, _COARSE, _SPAN = 256, 152, 512  # parts of t^(1/8); that of larger t; numbers per multiple of 1 / n
_LARGE = (_COARSE / _FINE) ** 8
_TOLERANCE = 1e-3  # of sums of probabilities
_SINGLE, _DOUBLE = 2.0**-25, 2.0**-30  # what a score may be below an edge of a bin and be in it
_CHECKSUM = order_keys(0, "checksum of a table")[0][:1]  # one round suffices for a sum
MOST_KINDS = 500_000
MOST_ROWS = 2**33  # sums of 30-bit numbers stay in 64 bits


@dataclass(frozen=True)
class Layout:
    """Which columns of a table hold what, see `scan_pool`.

    Attributes
    ----------
    id : str, optional
        None: rows are numbered.
    scores : str or tuple of str, optional
        P(positive), or one column per class.
    confidence, predictions : str, optional
    groups, show : tuple of str
    systems : mapping of str to str
        Column of every system.
    score_classes : tuple
        Classes of the score columns.
    classes : tuple
        All classes, as far as they are known.
    n_bins : int
    single : bool
        Whether scores are in single precision.
    """

    id: str | None
    scores: str | tuple[str, ...] | None = None
    confidence: str | None = None
    predictions: str | None = None
    groups: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    show: tuple[str, ...] = ()
    score_classes: tuple[Hashable, ...] = ()
    classes: tuple[Hashable, ...] = ()
    n_bins: int = 1200
    single: bool = False

    @property
    def columns(self) -> list[str]:
        """Columns that a pool is about."""
        return list(dict.fromkeys([*self.numbers, *self.names]))

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers."""
        several = self.scores if isinstance(self.scores, tuple) else [self.scores]
        return [name for name in (*several, self.confidence) if name is not None]

    @property
    def names(self) -> list[str]:
        """Columns of predictions, groups and systems."""
        own = [] if self.predictions is None else [self.predictions]
        return list(dict.fromkeys([*own, *self.groups, *self.systems.values()]))

    @property
    def keys(self) -> list[str]:
        """Columns in which rows of a kind are alike, as `with_kinds` makes them."""
        computed = [BIN] if self.numbers else []
        computed += [TOP] if isinstance(self.scores, tuple) and self.predictions is None else []
        return [*self.names, *computed]


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
    """

    keys: Mapping[str, np.ndarray]
    size: Int[np.ndarray, " R"]
    score: Float[np.ndarray, "R ..."] | None
    sums: Int[np.ndarray, " R"]

    def fingerprint(self) -> str:
        """Return a hash of the kinds, and of which rows are of which kind, in whatever order the table has them."""
        state = hashlib.sha256(b"bayes_assess table 2")
        for name, values in self.keys.items():
            state.update(f"\n{name}\n".encode() + "\x1f".join(map(str, values.tolist())).encode())
        for numbers in (self.size, self.sums, *([] if self.score is None else [self.score])):
            state.update(np.ascontiguousarray(numbers).tobytes())
        return state.hexdigest()


def with_kinds(frame: nw.LazyFrame, layout: Layout) -> nw.LazyFrame:
    """Add the computed columns of `Layout.keys` to a table, and those of its score."""
    import narwhals as nw

    if not layout.numbers:
        return frame
    if _has_units(frame, layout):
        return nw.from_native(_in_sql(nw.to_native(frame), layout))
    several = layout.scores if isinstance(layout.scores, tuple) else ()
    sure = [nw.col(name).cast(nw.Float64) for name in layout.numbers]
    most = 1 + (_TOLERANCE if several else 0)
    bad = [one.is_null() | _is_nan(one) | ~((one >= 0) & (one <= most)) for one in sure]
    wrong = nw.any_horizontal(*(one.fill_null(True) for one in bad), ignore_nulls=False)
    frame = frame.with_columns(wrong.alias(_BAD))
    names = [f"{SCORE}_{i}" for i in range(len(sure))]
    frame = frame.with_columns(
        *(
            nw.when(nw.col(_BAD)).then(nw.lit(-1.0)).otherwise(one).alias(name)
            for name, one in zip(names, sure, strict=True)
        )
    )
    if several:
        frame = _of_several(frame, layout, names)
        frame = frame.with_columns(nw.when(nw.col(_BAD)).then(nw.lit(-1.0)).otherwise(nw.col(SCORE)).alias(SCORE))
    else:
        frame = frame.with_columns(nw.col(names[0]).alias(SCORE))
    return _with_bins(frame, layout)


def _is_nan(one: nw.Expr) -> nw.Expr:
    """Whether a number is NaN, which DuckDB folds to no by the statistics of Parquet files that leave NaN out."""
    return ~(one.is_finite() | (one.abs() == math.inf))


def _has_units(frame: nw.LazyFrame, layout: Layout) -> bool:
    """Whether the computed columns come from SQL, that of a single score in units of 2^-30 among them."""
    return len(layout.numbers) == 1 and not isinstance(layout.scores, tuple) and frame.implementation.is_duckdb()


def _in_sql(relation: duckdb.DuckDBPyRelation, layout: Layout) -> duckdb.DuckDBPyRelation:
    """Do what `_with_bins` does in DuckDB's SQL, of a single score, where Narwhals takes every root several times."""
    score, (part,) = f"{SCORE}_0", layout.numbers
    given = f"{quoted(part)}::DOUBLE"
    # What is missing is no number between others, and NaN is greater than all of them; statistics of files forget it.
    good = f"isfinite({given}) AND {given} BETWEEN 0 AND 1"
    relation = relation.project(f"*, CASE WHEN {good} THEN {given} ELSE -1.0::DOUBLE END AS {score}")
    relation = relation.project(
        f"*, {score} AS {SCORE}, {score} < 0 AS {_BAD}, floor({score} * {_UNITS!r}::DOUBLE) AS __units"
    )
    down = f"__units / {_UNITS!r}::DOUBLE"
    if signed := isinstance(layout.scores, str):
        c, t = f"CASE WHEN {SCORE} >= 0.5::DOUBLE THEN {down} ELSE 1 - {down} END", "abs(1 - __c)"
    else:
        c, t = down, "least(abs(__c), abs(1 - __c))"
    relation = relation.project(f"*, __units::BIGINT AS {score}_u, {c} AS __c").project(f"*, {t} AS __t")
    root = f"floor(sqrt(sqrt(sqrt(__t))) * {_FINE})"
    edge = _SINGLE if layout.single else _DOUBLE
    relation = relation.project(
        f"*, floor((__c + {edge!r}::DOUBLE) * {layout.n_bins}) AS __b, "
        f"CASE WHEN __t >= {_LARGE!r}::DOUBLE THEN {_COARSE} ELSE {root} END AS __sub"
    )
    relation = relation.project(f"*, __b * {_SPAN} + ({2 * _COARSE} - __sub) AS __number")
    if signed:
        number = f"CASE WHEN {SCORE} >= 0.5::DOUBLE THEN __number ELSE -1 - __number END"
    else:
        number = f"CASE WHEN __c < 0.5::DOUBLE THEN __b * {_SPAN} + __sub ELSE __number END"
    return relation.project(f"*, ({number})::BIGINT AS {BIN}")


def _of_several(frame: nw.LazyFrame, layout: Layout, names: list[str]) -> nw.LazyFrame:
    """Add the score of the predicted class, which is the first of the largest where no prediction is given."""
    import narwhals as nw

    columns = [nw.col(name) for name in names]
    off = (nw.sum_horizontal(*columns) - 1).abs() > _TOLERANCE
    frame = frame.with_columns((nw.col(_BAD) | off).alias(_BAD))
    if layout.predictions is None:
        frame = frame.with_columns(nw.max_horizontal(*columns).alias(SCORE))
        none = nw.lit(len(columns))
        top = [nw.when(one == nw.col(SCORE)).then(nw.lit(i)).otherwise(none) for i, one in enumerate(columns)]
        frame = frame.with_columns(nw.min_horizontal(*top).cast(nw.Int64).alias(TOP))
        return frame.with_columns(nw.min_horizontal(nw.col(SCORE), nw.lit(1.0)).alias(SCORE))
    own, nothing = nw.col(layout.predictions), nw.lit(0.0)
    classes = zip(layout.score_classes, columns, strict=True)
    each = [nw.when(own == name).then(one).otherwise(nothing) for name, one in classes]
    return frame.with_columns(nw.min_horizontal(nw.sum_horizontal(*each), nw.lit(1.0)).alias(SCORE))


def _with_bins(frame: nw.LazyFrame, layout: Layout) -> nw.LazyFrame:
    """Add the number of the bin of the score: b 512 + 304 - sub, and -1 minus that for P(positive) below 0.5.

    Scores that are no probabilities are -1 here, and get numbers that `_is_bad` knows.
    """
    import narwhals as nw

    s, c, t, b, sub, number = (nw.col(name) for name in (SCORE, "__c", "__t", "__b", "__sub", "__number"))
    signed = isinstance(layout.scores, str)
    frame = frame.with_columns(((s * _UNITS).floor() / _UNITS).alias("__c"))
    if signed:
        frame = frame.with_columns(nw.when(s >= 0.5).then(c).otherwise(1 - c).alias("__c"))
        frame = frame.with_columns((1 - c).abs().alias("__t"))
    else:
        frame = frame.with_columns(nw.min_horizontal(c.abs(), (1 - c).abs()).alias("__t"))
    root = nw.when(t >= _LARGE).then(nw.lit(_COARSE)).otherwise((t.sqrt().sqrt().sqrt() * _FINE).floor())
    edge = _SINGLE if layout.single else _DOUBLE
    frame = frame.with_columns(((c + edge) * layout.n_bins).floor().alias("__b"), root.alias("__sub"))
    frame = frame.with_columns((b * _SPAN + (2 * _COARSE - sub)).alias("__number"))
    if signed:
        number = nw.when(s >= 0.5).then(number).otherwise(-1 - number)
    else:
        number = nw.when(c < 0.5).then(b * _SPAN + sub).otherwise(number)
    return frame.with_columns(number.cast(nw.Int64).alias(BIN))


def _bins_of(layout: Layout, numbers: Int[np.ndarray, " R"]) -> Int[np.ndarray, " R"]:
    """Return the bins of width 1 / n of numbers that `_with_bins` made."""
    return np.minimum(np.where(numbers < 0, -1 - numbers, numbers) // _SPAN, layout.n_bins - 1)


def _is_bad(layout: Layout, numbers: np.ndarray) -> np.ndarray:
    """Whether numbers of bins are of scores that are no probabilities."""
    if isinstance(layout.scores, str):
        return -1 - numbers >= 2 * layout.n_bins * _SPAN  # of a confidence of 2
    return numbers < 0


def count_kinds(engine: Engine, layout: Layout) -> Kinds:
    """Count the rows of every kind, in one pass over the table.

    Raises
    ------
    PoolError
        If an id is missing, or a value is missing or no probability: the row is named by its id; or if there are too
        many kinds.
    """
    import narwhals as nw

    sums = [nw.len().alias("__n"), nw.col(_WORD).sum().cast(nw.Int64).alias("__sum")]
    sums += [nw.col(KEY).count().alias("__present")]
    parts = [f"{SCORE}_{i}" for i in range(len(layout.numbers))]
    if parts:
        sums += [nw.col(f"{p}_u").sum().cast(nw.Int64).alias(f"{p}_u") for p in parts]
    by = layout.keys

    def counted(frame: nw.LazyFrame) -> nw.LazyFrame:
        frame = with_word(with_kinds(frame, layout), KEY, _CHECKSUM, _WORD)
        if parts and not _has_units(frame, layout):
            frame = frame.with_columns(*((nw.col(p) * _UNITS).floor().cast(nw.Int64).alias(f"{p}_u") for p in parts))
        return (frame.group_by(*by).agg(*sums) if by else frame.select(*sums)).head(MOST_KINDS + 1)

    found = engine.collect(counted)
    size = found["__n"].astype(np.int64)
    if not len(size) or not size.sum():
        raise PoolError(f"There are no rows in {engine.name}; a pool has at least one.")
    if (found["__present"] < size).any():
        raise missing_id(engine)
    if len(size) > MOST_KINDS:
        raise PoolError(
            f"The rows of {engine.name} are of more than {MOST_KINDS:,} kinds by {listing(layout.names, 10)} and scores"
            "; name fewer groups, or take fewer bins of the score, n_bins=..."
        )
    if size.sum() > MOST_ROWS:
        raise PoolError(f"There are {size.sum():,} rows in {engine.name}, and pools have up to {MOST_ROWS:,}.")
    check_rows(engine, layout, found)
    keys = {name: values_of(found[name], decimals=False) for name in layout.keys}
    order = np.lexsort([np.unique(values, return_inverse=True)[1] for values in keys.values()]) if keys else [0]
    keys = {name: values[order] for name, values in keys.items()}
    score = _means(layout, keys, {name: values[order] for name, values in found.items()}, size[order])
    return Kinds(keys, size[order], score, found["__sum"].astype(np.int64)[order])


def missing_id(engine: Engine) -> PoolError:
    """Return what to say of a table in which a row has no id."""
    return PoolError(f"The id of a row of {engine.name} is missing; give every row one, or leave these rows out.")


def _means(
    layout: Layout, keys: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], size: np.ndarray
) -> Float[np.ndarray, " R"] | None:
    """Return the mean score of every kind, within the bin that its rows are in."""
    if not layout.numbers:
        return None
    means = [found[f"{SCORE}_{i}_u"] / size / _UNITS for i in range(len(layout.numbers))]
    below, bin_ = keys[BIN] < 0, _bins_of(layout, keys[BIN])
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


def check_rows(engine: Engine, layout: Layout, found: Mapping[str, np.ndarray]) -> None:
    """Raise PoolError at the first row, by its id, with a value that is missing or no probability."""
    import narwhals as nw

    for name in layout.names:
        if any(value is None or value != value or value == "" for value in found[name].tolist()):
            what = "prediction" if name in (layout.predictions, *layout.systems.values()) else f"value of {name!r}"
            one, kind = nw.col(name), engine.schema[name]
            gone = one.is_null()
            if kind.is_float():
                gone = gone | _is_nan(one)
            elif not kind.is_numeric() and "" in found[name].tolist():
                gone = gone | (one == "")
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
    if layout.numbers and _is_bad(layout, found[BIN]).any():
        item, values = first_row(engine, layout, nw.col(_BAD), layout.numbers)
        raise PoolError(
            _blame(item, {name: float("nan") if one is None else float(one) for name, one in values.items()})
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
    found = engine.collect(lambda frame: with_kinds(frame, layout).filter(condition).select(*wanted).sort(ids).head(1))
    found = {name: values.tolist() for name, values in found.items()}
    return show(found[ids][0]), {name: found[name][0] for name in columns}


def _blame(item: str, values: Mapping[str, float]) -> str:
    """Say what is wrong with the scores of an item."""
    for name, value in values.items():
        where = f"The score of item {item} in column {name!r}"
        if np.isnan(value):
            return f"{where} is NaN or missing; leave the row out of the table, or score it."
        if np.isinf(value):
            return f"{where} is infinite; give probabilities, not logits."
        if not 0 <= value <= 1:
            return f"{where} is {value:g}; probabilities lie in [0, 1], and tables take no other scores."
    return (
        f"The scores of item {item} sum to {sum(values.values()):.6g}, not 1 (tolerance {_TOLERANCE:g}); divide each "
        "row by its sum."
    )
