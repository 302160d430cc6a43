"""Kinds of rows: rows that are alike in predictions, groups and a fine bin of the score, found by an engine.

A score s in [0, 1] has the confidence c = max(s, 1 - s), or is one, c = s; s is rounded down to whole multiples of
2^-30. A bin is an interval of c between multiples of 1 / n, which hold their lower edge, cut finer where
t = min(c, 1 - c) is small: by multiples of 1 / 128 of t / (t + 2^-11) and of t / (t + 2^-22). So rare events are told
apart by the odds of their scores: with 1,200 bins four edges or more fall into every factor e of t from 2^-26 to 1 / 2.
Every step is exact or rounded as IEEE 754 says, and sums are of whole numbers (s in units of 2^-30), so that every
engine finds the same kinds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.pool._scores import MOST_OFF
from bayes_assess.pool.scan.sql import quoted

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw


KEY, BIN, SCORE, TOP = "__key", "__bin", "__score", "__top"  # columns that are computed
BAD = "__bad"
UNITS = 2.0**30
_PARTS, _SPAN = 128, 512  # of each ratio; numbers per multiple of 1 / n, more than parts of both
_SCALES = 2.0**-11, 2.0**-22
_COMPUTED = re.compile(
    "__(key|bin|score|top|bad|kind|show|n|sum|present|square|word|first|from|to|units|half|[ctb]|sub|number|down|one"
    "|place|rank|at)(_.*)?",
    re.IGNORECASE,
)
_SINGLE, _DOUBLE = 2.0**-25, 2.0**-30  # what a score may be below an edge of a bin and be in it


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
    def used(self) -> list[str]:
        """All columns of the table that are used."""
        own = [] if self.id is None else [self.id]
        return list(dict.fromkeys([*own, *self.numbers, *self.names, *self.show]))

    @property
    def keys(self) -> list[str]:
        """Columns in which rows of a kind are alike, as `with_kinds` makes them."""
        computed = [BIN] if self.numbers else []
        computed += [TOP] if isinstance(self.scores, tuple) and self.predictions is None else []
        return [*self.names, *computed]


def is_computed(name: str) -> bool:
    """Whether a column has a name that is one of those computed, in any case of its letters.

    Examples
    --------
    >>> is_computed("__key"), is_computed("__Score_0"), is_computed("__index_level_0__")
    (True, True, False)
    """
    return _COMPUTED.fullmatch(name) is not None


def with_kinds(frame: nw.LazyFrame, layout: Layout) -> nw.LazyFrame:
    """Add the computed columns of `Layout.keys` to a table, and those of its score."""
    import narwhals as nw

    if not layout.numbers:
        return frame
    if has_units(frame, layout):
        return nw.from_native(_in_sql(nw.to_native(frame), layout))
    several = layout.scores if isinstance(layout.scores, tuple) else ()
    sure = [nw.col(name).cast(nw.Float64) for name in layout.numbers]
    most = 1 + (MOST_OFF if several else 0)
    bad = [expr.is_null() | is_nan(expr) | ~((expr >= 0) & (expr <= most)) for expr in sure]
    wrong = nw.any_horizontal(*(expr.fill_null(True) for expr in bad), ignore_nulls=False)
    frame = frame.with_columns(wrong.alias(BAD))
    names = [f"{SCORE}_{i}" for i in range(len(sure))]
    frame = frame.with_columns(
        *(
            nw.when(nw.col(BAD)).then(nw.lit(-1.0)).otherwise(expr).alias(name)
            for name, expr in zip(names, sure, strict=True)
        )
    )
    if several:
        frame = _of_several(frame, layout, names)
        frame = frame.with_columns(nw.when(nw.col(BAD)).then(nw.lit(-1.0)).otherwise(nw.col(SCORE)).alias(SCORE))
    else:
        frame = frame.with_columns(nw.col(names[0]).alias(SCORE))
    return _with_bins(frame, layout)


def is_nan(one: nw.Expr) -> nw.Expr:
    """Whether a number is NaN, which DuckDB folds to no by the statistics of Parquet files that leave NaN out."""
    return ~(one.is_finite() | (one.abs() == math.inf))


def has_units(frame: nw.LazyFrame, layout: Layout) -> bool:
    """Whether the computed columns come from SQL, that of a single score in units of 2^-30 among them."""
    return len(layout.numbers) == 1 and not isinstance(layout.scores, tuple) and frame.implementation.is_duckdb()


def _in_sql(relation: duckdb.DuckDBPyRelation, layout: Layout) -> duckdb.DuckDBPyRelation:
    """Do what `_with_bins` does in DuckDB's SQL, of one score, where Narwhals computes every step several times."""
    score, (part,) = f"{SCORE}_0", layout.numbers
    given = f"{quoted(part)}::DOUBLE"
    # What is missing is no number between others, and NaN is greater than all of them; statistics of files forget it.
    good = f"isfinite({given}) AND {given} BETWEEN 0 AND 1"
    relation = relation.project(f"*, CASE WHEN {good} THEN {given} ELSE -1.0::DOUBLE END AS {score}")
    relation = relation.project(
        f"*, {score} AS {SCORE}, {score} < 0 AS {BAD}, floor({score} * {UNITS!r}::DOUBLE) AS __units"
    )
    relation = relation.project(f"*, __units::BIGINT AS {score}_u, {UNITS / 2!r}::DOUBLE AS __half")
    signed = isinstance(layout.scores, str)
    # Of P(positive) c - 1/2 is what the score is off 1/2; all in units.
    c = "abs(__units - __half) + __half" if signed else "__units"
    relation = relation.project(f"*, {c} AS __c")
    t = f"{UNITS!r}::DOUBLE - __c"
    relation = relation.project(f"*, {t if signed else f'least(abs(__c), abs({t}))'} AS __t")
    edge = (_SINGLE if layout.single else _DOUBLE) * UNITS
    parts = [f"floor(__t * {_PARTS} / (__t + {scale * UNITS!r}::DOUBLE))" for scale in _SCALES]
    relation = relation.project(
        f"*, floor((__c + {edge!r}::DOUBLE) * {layout.n_bins / UNITS!r}::DOUBLE) * {_SPAN} AS __b, "
        f"{' + '.join(parts)} AS __sub"
    )
    down = f"__b + {_SPAN - 1} - __sub"
    # A product, as DuckDB goes through the branches of CASE one by one.
    number = f"({down}) * (2 * ({SCORE} >= 0.5::DOUBLE)::DOUBLE - 1)"
    if not signed:
        number = f"CASE WHEN __c < __half THEN __b + __sub ELSE {down} END"
    return relation.project(f"*, ({number})::BIGINT AS {BIN}")


def _of_several(frame: nw.LazyFrame, layout: Layout, names: list[str]) -> nw.LazyFrame:
    """Add the score of the predicted class, which is the first of the largest where no prediction is given."""
    import narwhals as nw

    columns = [nw.col(name) for name in names]
    off = (nw.sum_horizontal(*columns) - 1).abs() > MOST_OFF
    frame = frame.with_columns((nw.col(BAD) | off).alias(BAD))
    if layout.predictions is None:
        frame = frame.with_columns(nw.max_horizontal(*columns).alias(SCORE))
        none = nw.lit(len(columns))
        top = [nw.when(column == nw.col(SCORE)).then(nw.lit(i)).otherwise(none) for i, column in enumerate(columns)]
        frame = frame.with_columns(nw.min_horizontal(*top).cast(nw.Int64).alias(TOP))
        return frame.with_columns(nw.min_horizontal(nw.col(SCORE), nw.lit(1.0)).alias(SCORE))
    own, nothing = nw.col(layout.predictions), nw.lit(0.0)
    classes = zip(layout.score_classes, columns, strict=True)
    each = [nw.when(own == name).then(column).otherwise(nothing) for name, column in classes]
    return frame.with_columns(nw.min_horizontal(nw.sum_horizontal(*each), nw.lit(1.0)).alias(SCORE))


def _with_bins(frame: nw.LazyFrame, layout: Layout) -> nw.LazyFrame:
    """Add the number of the bin of the score: b 512 + 511 - sub, and minus that for P(positive) below 0.5.

    Scores that are no probabilities are -1 here, and get numbers that `is_bad` knows.
    """
    import narwhals as nw

    s, c, t, b, sub, number = (nw.col(name) for name in (SCORE, "__c", "__t", "__b", "__sub", "__number"))
    signed = isinstance(layout.scores, str)
    frame = frame.with_columns(((s * UNITS).floor() / UNITS).alias("__c"))
    if signed:
        frame = frame.with_columns(nw.when(s >= 0.5).then(c).otherwise(1 - c).alias("__c"))
        frame = frame.with_columns((1 - c).alias("__t"))
    else:
        frame = frame.with_columns(nw.min_horizontal(c.abs(), (1 - c).abs()).alias("__t"))
    edge = _SINGLE if layout.single else _DOUBLE
    first, second = ((t * _PARTS / (t + scale)).floor() for scale in _SCALES)
    frame = frame.with_columns(((c + edge) * layout.n_bins).floor().alias("__b"), (first + second).alias("__sub"))
    frame = frame.with_columns((b * _SPAN + (_SPAN - 1 - sub)).alias("__number"))
    if signed:
        number = nw.when(s >= 0.5).then(number).otherwise(-number)
    else:
        number = nw.when(c < 0.5).then(b * _SPAN + sub).otherwise(number)
    return frame.with_columns(number.cast(nw.Int64).alias(BIN))


def bins_of(layout: Layout, numbers: Int[np.ndarray, " R"]) -> Int[np.ndarray, " R"]:
    """Return the bins of width 1 / n of numbers that `_with_bins` made."""
    return np.minimum(np.abs(numbers) // _SPAN, layout.n_bins - 1)


def is_bad(layout: Layout, numbers: np.ndarray) -> np.ndarray:
    """Whether numbers of bins are of scores that are no probabilities."""
    if isinstance(layout.scores, str):
        return -numbers >= 2 * layout.n_bins * _SPAN  # of a confidence of 2
    return numbers < 0
