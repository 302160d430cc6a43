"""Kinds of rows: rows that are alike in predictions, groups and a fine bin of the score, counted by an engine.

A score s in [0, 1] has the confidence c = max(s, 1 - s), or is one, c = s. A bin is an interval of c between multiples
of 1 / n, which hold their lower edge, cut finer where t = min(c, 1 - c) is below 2^-6: eight parts of each of
[2^-o, 2^-o + 2^-o), down to o = 27. So rare events are told apart by the odds of their scores. All of it is exact in
double precision, and sums are of whole numbers (s in units of 2^-30), so that every engine finds the same kinds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, values_of
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import PoolError
from bayes_assess.pool._classes import codes_of
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.order import order_keys, with_word

KEY, BIN, SCORE, TOP = "__key", "__bin", "__score", "__top"  # columns that are computed
_BAD, _WORD = "__bad", "__word"
_UNITS = 2.0**30
_FIRST, _LAST = 6, 27  # octaves of small t
_FINE, _SPAN, _COARSE = 8, 256, 200  # parts of an octave; bins per multiple of 1 / n; that of larger t
_TOLERANCE = 1e-3  # of sums of probabilities
_SINGLE, _DOUBLE = 2.0**-25, 2.0**-53  # rounding of edges, see `reached`
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
    score_classes: tuple[Any, ...] = ()
    classes: tuple[Any, ...] = ()
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
        state = hashlib.sha256(b"bayes_assess table 1")
        for name, values in self.keys.items():
            state.update(f"\n{name}\n".encode() + "\x1f".join(map(str, values.tolist())).encode())
        for numbers in (self.size, self.sums, *([] if self.score is None else [self.score])):
            state.update(np.ascontiguousarray(numbers).tobytes())
        return state.hexdigest()


def with_kinds(frame: Any, layout: Layout) -> Any:
    """Add the computed columns of `Layout.keys` to a table, and those of its score."""
    import narwhals as nw

    if not layout.numbers:
        return frame
    several = layout.scores if isinstance(layout.scores, tuple) else ()
    sure = [nw.col(name).cast(nw.Float64) for name in layout.numbers]
    bad = [one.is_null() | one.is_nan() | ~((one >= 0) & (one <= 1 + (_TOLERANCE if several else 0))) for one in sure]
    wrong = nw.any_horizontal(*(one.fill_null(True) for one in bad), ignore_nulls=False)
    frame = frame.with_columns(wrong.alias(_BAD))
    names = [f"{SCORE}_{i}" for i in range(len(sure))]
    frame = frame.with_columns(
        *(
            nw.when(nw.col(_BAD)).then(nw.lit(0.0)).otherwise(one).alias(name)
            for name, one in zip(names, sure, strict=True)
        )
    )
    if several:
        frame = _of_several(frame, layout, names)
    else:
        frame = frame.with_columns(nw.col(names[0]).alias(SCORE))
    return _with_bins(frame, layout)


def _of_several(frame: Any, layout: Layout, names: list[str]) -> Any:
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


def _with_bins(frame: Any, layout: Layout) -> Any:
    """Add the number of the bin of the score; -1 of P(positive) is just below 0.5, and 2 bins further up above it."""
    import narwhals as nw

    n, eps = layout.n_bins, _SINGLE if layout.single else _DOUBLE
    s, c, t, b, sub = (nw.col(name) for name in (SCORE, "__c", "__t", "__b", "__sub"))
    signed = isinstance(layout.scores, str)
    if signed:
        frame = frame.with_columns(
            nw.when(s >= 0.5).then(s).otherwise(1 - s).alias("__c"),
            nw.when(s >= 0.5).then(1 - s).otherwise(s).alias("__t"),
        )
    else:
        frame = frame.with_columns(s.alias("__c"), nw.min_horizontal(s, 1 - s).alias("__t"))
    frame = frame.with_columns((c * n).floor().cast(nw.Int64).alias("__b"))
    down = nw.when(c < b / n - eps).then(nw.lit(-1)).otherwise(nw.lit(0))
    up = nw.when(c >= (b + 1) / n - eps).then(nw.lit(1)).otherwise(down)
    frame = frame.with_columns((b + up).alias("__b"))
    part = nw.lit(0)
    for o in range(_LAST, _FIRST, -1):  # of t in [2^-o, 2^(1-o))
        inside = (t * (2.0**o * _FINE)).floor().cast(nw.Int64) + (_FINE * (_LAST - o - 1) + 1)
        part = nw.when(t >= 2.0**-o).then(inside).otherwise(part)
    frame = frame.with_columns(nw.when(t >= 2.0**-_FIRST).then(nw.lit(_COARSE)).otherwise(part).alias("__sub"))
    if signed:
        frame = frame.with_columns((nw.min_horizontal(b, nw.lit(n - 1)) * _SPAN + (_SPAN - 1) - sub).alias(BIN))
        number = nw.when(s >= 0.5).then(nw.col(BIN)).otherwise(-1 - nw.col(BIN))
        return frame.with_columns(number.alias(BIN))
    upper = nw.when(c < 0.5).then(sub).otherwise(_SPAN - 1 - sub)
    return frame.with_columns((nw.min_horizontal(b, nw.lit(n - 1)) * _SPAN + upper).alias(BIN))


def count_kinds(engine: Engine, layout: Layout) -> Kinds:
    """Count the rows of every kind, in one pass over the table.

    Raises
    ------
    PoolError
        If a value is missing or no probability: the row is named by its id; or if there are too many kinds.
    """
    import narwhals as nw

    sums = [nw.len().alias("__n"), nw.col(_WORD).sum().cast(nw.Int64).alias("__sum")]
    parts = [f"{SCORE}_{i}" for i in range(len(layout.numbers))]
    if parts:
        sums += [nw.col(f"{p}_u").sum().cast(nw.Int64).alias(f"{p}_u") for p in parts]
        sums += [nw.col(SCORE).min().alias("__min"), nw.col(SCORE).max().alias("__max")]
    by = [*layout.keys, *([_BAD] if parts else [])]

    def counted(frame: Any) -> Any:
        frame = with_word(with_kinds(frame, layout), KEY, order_keys(0, "checksum of a table")[0], _WORD)
        if parts:
            frame = frame.with_columns(*((nw.col(p) * _UNITS).floor().cast(nw.Int64).alias(f"{p}_u") for p in parts))
        return (frame.group_by(*by).agg(*sums) if by else frame.select(*sums)).head(MOST_KINDS + 1)

    found = engine.collect(counted)
    size = found["__n"].astype(np.int64)
    if not len(size) or not size.sum():
        raise PoolError(f"There are no rows in {engine.name}; a pool has at least one.")
    if len(size) > MOST_KINDS:
        raise PoolError(
            f"The rows of {engine.name} are of more than {MOST_KINDS:,} kinds by {listing(layout.names, 10)} and scores"
            "; name fewer groups, or take fewer bins of the score, n_bins=..."
        )
    if size.sum() > MOST_ROWS:
        raise PoolError(f"There are {size.sum():,} rows in {engine.name}, and pools have up to {MOST_ROWS:,}.")
    check_rows(engine, layout, found)
    keys = {name: values_of(found[name]) for name in layout.keys}
    order = np.lexsort([np.unique(values, return_inverse=True)[1] for values in keys.values()]) if keys else [0]
    keys = {name: values[order] for name, values in keys.items()}
    score = _means(layout, keys, {name: values[order] for name, values in found.items()}, size[order])
    return Kinds(keys, size[order], score, found["__sum"].astype(np.int64)[order])


def _means(layout: Layout, keys: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], size: np.ndarray) -> Any:
    """Return the mean score of every kind, within the bin that its rows are in."""
    if not layout.numbers:
        return None
    means = [(found[f"{SCORE}_{i}_u"] / size + 0.5) / _UNITS for i in range(len(layout.numbers))]
    number = keys[BIN]
    below = number < 0
    bin_ = np.where(below, -1 - number, number) // _SPAN
    low, high = bin_ / layout.n_bins, (bin_ + 1) / layout.n_bins
    high = np.where(bin_ == layout.n_bins - 1, 1.0, np.nextafter(high, 0))
    least, most = np.where(below, 1 - high, low), np.where(below, 1 - low, high)
    if not isinstance(layout.scores, tuple):
        return means[0].clip(found["__min"], found["__max"]).clip(least, most)
    table = np.stack(means, axis=1)
    top = keys[TOP] if layout.predictions is None else _places(keys[layout.predictions], layout.score_classes)
    rows = np.arange(len(table))
    table[rows, top] = table[rows, top].clip(found["__min"], found["__max"]).clip(least, most)
    return table


def _places(values: np.ndarray, classes: tuple[Any, ...]) -> Int[np.ndarray, " R"]:
    known = {name: place for place, name in enumerate(classes)}
    return np.array([known[value] for value in values.tolist()], np.int64)


def check_rows(engine: Engine, layout: Layout, found: Mapping[str, np.ndarray]) -> None:
    """Raise PoolError at the first row, by its id, with a value that is missing or no probability."""
    import narwhals as nw

    for name in layout.names:
        if any(value is None or value != value for value in found[name].tolist()):
            what = "prediction" if name in (layout.predictions, *layout.systems.values()) else f"value of {name!r}"
            one = nw.col(name)
            gone = one.is_null() | one.is_nan() if engine.schema[name].is_float() else one.is_null()
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
    if layout.numbers and found[_BAD].astype(bool).any():
        item, values = first_row(engine, layout, nw.col(_BAD), layout.numbers)
        raise PoolError(
            _blame(item, {name: float("nan") if one is None else float(one) for name, one in values.items()})
        )


def _is_class(value: Any, layout: Layout) -> bool:
    """Whether a prediction is one of the classes, if these are known."""
    if not layout.classes:
        return True
    names = values_of(list(layout.classes))
    single = values_of([value])
    by_code = not layout.score_classes and names.dtype.kind == "U" and single.dtype.kind == "i"
    return codes_of(single, np.arange(len(names)) if by_code else names)[1] is None


def first_row(engine: Engine, layout: Layout, condition: Any, columns: list[str]) -> tuple[str, dict[str, Any]]:
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
