"""Scanning a table: what its columns hold, checked by the engine, and the pool of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayes_assess._tools.arrays import is_whole, listing, show
from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.suggestions import with_known_arguments
from bayes_assess.errors import PoolError
from bayes_assess.pool._classes import check_classes
from bayes_assess.pool._columns import SHEET_COLUMNS
from bayes_assess.pool._table import Columns, class_names, columns_chosen, columns_named, resolve_columns
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.kind_counts import count_kinds, missing_id
from bayes_assess.pool.scan.kinds import KEY, Layout, is_computed
from bayes_assess.pool.scan.opening import open_engine
from bayes_assess.pool.scan.pool import TablePool

if TYPE_CHECKING:
    import duckdb


@with_known_arguments(PoolError)
@in_progress("Scanning the table")
def scan_pool(
    source: object,
    *,
    id: str | None = None,
    scores: str | Iterable[str] | None = None,
    predictions: str | None = None,
    confidence: str | None = None,
    groups: str | Iterable[str] | None = (),
    systems: str | Iterable[str] | Mapping[str, str] | None = (),
    show: str | Iterable[str] | None = (),
    classes: ArrayLike | None = None,
    n_bins: int = 1200,
    check_ids: bool = True,
    connection: duckdb.DuckDBPyConnection | None = None,
) -> TablePool:
    """Make a pool of a table that stays in its engine: a billion rows are counted there, and few are ever fetched.

    Parameters
    ----------
    source : relation, lazy frame, str or Path
        A DuckDB relation, a Polars LazyFrame, a Spark data frame or an Ibis table; or what DuckDB opens: Parquet or CSV
        files, ``"warehouse/*.parquet"``, with columns of folders such as ``site=north``, a table of a file,
        ``"duckdb:file.db/table"``, or with a connection the name of a table.
    id : str, optional
        Column of ids, whole numbers, texts or UUIDs of DuckDB, each that of one row; the column ``id`` by default.
        Without one, DuckDB and Polars number the rows, which must then stay in their order. Other columns are found by
        their names as `read_pool` finds them.
    scores : str or list of str, optional
        The column of P(positive), or the columns of class probabilities, as for `read_pool`.
    predictions : str, optional
        Column of predicted classes.
    confidence : str, optional
        Column of the probability that the classifier gives to its prediction, where there are no scores.
    groups : str or list of str, optional
        Columns of attributes to assess groups by, of not too many values.
    systems : list of str, or mapping of str to str, optional
        Columns of other systems' predictions; or the names of systems, and the column of each.
    show : str or list of str, optional
        Columns that annotators need to see; they are fetched with the items to label.
    classes : sequence, optional
        Class names, as for `Pool`.
    n_bins : int
        Bins of equal width in which scores are counted, finer at both ends; rows of one bin count with their mean.
        `ScoreBins` of equal width must divide it.
    check_ids : bool
        Whether to look for repeated ids at once, which takes the engine as long as all the rest; otherwise they are
        found when they are fetched.
    connection : DuckDB connection, optional
        That opens paths and names of tables, with its credentials and settings.

    Returns
    -------
    TablePool

    Raises
    ------
    PoolError
        If a column is missing, or a value is missing or no probability: the first such row is named by its id. If there
        is no such argument.
    EngineError
        If the engine gives no answer.

    Examples
    --------
    >>> import bayes_assess as ba, duckdb
    >>> table = duckdb.sql("SELECT range AS id, range % 2 AS answer, range % 7 AS site FROM range(1000000)")
    >>> pool = ba.scan_pool(table, id="id", predictions="answer", groups="site")
    >>> pool
    TablePool(1,000,000 items, 2 classes, groups: site)
    >>> a = ba.assess(pool, ba.GroupAccuracy(by="site"))
    >>> len(a.ask(25))
    25
    """
    engine = open_engine(source, connection)
    systems = systems if isinstance(systems, Mapping) else {name: name for name in columns_named(systems)}
    present = engine.schema
    chosen = columns_chosen(
        id=id,
        scores=scores,
        prediction=predictions,
        confidence=confidence,
        groups=groups,
        systems=systems,
        show=show,
    )
    layout = _layout(resolve_columns(list(present), chosen), classes, n_bins)
    engine.with_names(layout.names)
    if layout.id is not None:
        engine.spell_out(layout.id)
    _check(engine, layout)
    engine.keep(layout.used)
    layout = replace(layout, single=all(str(present[name]) == "Float32" for name in layout.numbers))
    _add_key(engine, layout)
    if check_ids and layout.id is not None:
        _check_ids(engine, layout.id)
    pool: Any = TablePool(engine, layout, count_kinds(engine, layout), classes)
    return pool


def _layout(columns: Columns, classes: ArrayLike | None, n_bins: int) -> Layout:
    single, several = (None, tuple(columns.scores)) if isinstance(columns.scores, list) else (columns.scores, None)
    score_classes = () if several is None else _score_classes(several, classes)
    known = score_classes
    if several is None:
        known = (
            tuple(check_classes(classes).tolist()) if classes is not None else () if columns.scores is None else (0, 1)
        )
    return Layout(
        id=columns.id,
        scores=single if several is None else several,
        confidence=columns.confidence,
        predictions=columns.prediction,
        groups=tuple(columns.groups),
        systems=columns.systems,
        show=tuple(columns.show),
        score_classes=score_classes,
        classes=known,
        n_bins=n_bins,
    )


def _score_classes(columns: tuple[str, ...], classes: ArrayLike | None) -> tuple[Hashable, ...]:
    names = check_classes(class_names(list(columns)) if classes is None else classes)
    if len(names) != len(columns):
        raise PoolError(f"There are {len(names)} classes for {len(columns)} columns of scores; name one per column.")
    return tuple(names.tolist())


def _check(engine: Engine, layout: Layout) -> None:
    """Raise PoolError unless the table has these columns, of these types."""
    present = engine.schema
    for name in layout.used:
        if is_computed(name):
            raise PoolError(f"The scan computes columns that are called like {name!r}; rename it, such as by a view.")
    if layout.confidence is not None and (layout.scores is not None or layout.predictions is None):
        raise PoolError("A confidence stands beside predictions, in the place of scores; leave one of them out.")
    for name in layout.numbers:
        if not present[name].is_numeric():
            raise PoolError(f"The column {name!r} of scores holds {present[name]}, not numbers.")
    for name in layout.names:
        if present[name].is_nested():
            raise PoolError(
                f"The column {name!r} holds {present[name]}; an item has one prediction, and is in one group by "
                "a column, so name columns of plain values."
            )
        odd = engine.odd_type(name)
        if odd is not None:
            raise PoolError(f"The column {name!r} holds values of DuckDB's type {odd}; cast it to text.")
    own = layout.predictions
    if own is not None:
        numbers = present[own].is_numeric() or str(present[own]) == "Boolean"
        if any(isinstance(name, str) == numbers for name in layout.score_classes):
            raise PoolError(
                f"Predictions in {own!r} are {present[own]}, and the scores are of the classes "
                f"{listing(layout.score_classes)}; name the classes as they are predicted, by classes=[...]."
            )
    if layout.id is not None and not (present[layout.id].is_integer() or str(present[layout.id]) == "String"):
        kind = present[layout.id]
        wanted = "whole numbers" if kind.is_numeric() else "text"  # of which 7.0 is no other form of 7
        raise PoolError(f"Ids are whole numbers or texts, and {layout.id!r} holds {kind}; cast it to {wanted}.")
    for name in layout.show:
        if name.strip().casefold() in SHEET_COLUMNS:
            raise PoolError(f"A sheet for annotators has a column {name!r} of its own; show it under another name.")
    if not is_whole(layout.n_bins, 2) or layout.n_bins > 100_000:
        raise PoolError(f"The number n_bins is whole and from 2 to 100,000; found {show(layout.n_bins)}.")


def _add_key(engine: Engine, layout: Layout) -> None:
    """Add the number that the random order is made of: the id, what stands for it, or the row's."""
    import narwhals as nw

    name = layout.id
    if name is None:
        engine.with_row_numbers(KEY)
        engine.frame = engine.frame.with_columns(nw.col(KEY).cast(nw.Int64))
        return
    if engine.schema[name].is_integer():
        _narrow(engine, name)
        engine.frame = engine.frame.with_columns(nw.col(name).cast(nw.Int64).alias(KEY))
    else:
        engine.with_text_key(name, KEY)


def _narrow(engine: Engine, id: str) -> None:
    """Let ids of wide types be of 64 bits with a sign, or raise PoolError if they do not fit."""
    import narwhals as nw

    if engine.schema[id] not in (nw.UInt64, nw.Int128, nw.UInt128):
        return
    number = nw.col(id).cast(nw.Float64)
    beyond = ((number < -(2.0**63)) | (number >= 2.0**63)).any()
    if engine.collect(lambda frame: frame.select(beyond=beyond))["beyond"].tolist()[0]:
        raise PoolError(
            f"Ids that are whole numbers lie between -2^63 and 2^63, and those of {engine.name} go beyond; cast {id!r} "
            "to text."
        )
    engine.frame = engine.frame.with_columns(nw.col(id).cast(nw.Int64))


def _check_ids(engine: Engine, id: str) -> None:
    """Raise PoolError if two rows have the same id, the least one is named."""
    import narwhals as nw

    several = nw.col("__n") > 1
    twice = engine.collect(lambda frame: frame.group_by(id).agg(nw.len().alias("__n")).filter(several).sort(id).head(1))
    if len(twice[id]):
        first = twice[id].tolist()[0]
        if first is None or first != first or first == "":  # of numbers it is NaN
            raise missing_id(engine)
        raise PoolError(
            f"Ids must be unique, but {show(first)} is the id of {int(twice['__n'][0]):,} rows of "
            f"{engine.name}; drop the duplicates, or give each row its own."
        )
