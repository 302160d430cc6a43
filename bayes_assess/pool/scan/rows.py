"""The rows of a table as items: fetched when somebody asks for them, and kept from then on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import first_missing, first_true, show, text_as_int, whole
from bayes_assess._tools.shapes import ArrayLike, Bool, Float, Int
from bayes_assess.errors import EngineError, UnknownIdError
from bayes_assess.pool._ids import id_array
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.items import MetItems
from bayes_assess.pool.scan.kind_counts import Kinds
from bayes_assess.pool.scan.kinds import KEY, SCORE, Layout, with_kinds

if TYPE_CHECKING:
    import narwhals as nw


_AT_ONCE = 10_000  # ids in a query


class TableRows:
    """Rows of a table of known kinds; items are numbers in the order in which they were fetched.

    Parameters
    ----------
    engine : Engine
        The table.
    layout : Layout
        Which columns hold what.
    kinds : Kinds
    positive : (R,) booleans
        Whether the prediction of a kind is the second class.

    Attributes
    ----------
    met : MetItems
        Items that were fetched.

    Examples
    --------
    >>> import bayes_assess as ba, duckdb
    >>> table = duckdb.sql("SELECT range AS id, range / 1e6 AS score FROM range(1000000)")
    >>> rows = ba.scan_pool(table, id="id", scores="score").rows
    >>> rows.locate([700_000, 5]).tolist(), rows.met.ids.tolist(), rows.confidence_of(np.array([0, 1])).tolist()
    ([0, 1], [700000, 5], [0.7, 0.999995])
    """

    def __init__(self, engine: Engine, layout: Layout, kinds: Kinds, positive: Bool[np.ndarray, " R"]):
        self.engine, self.layout, self.kinds = engine, layout, kinds
        self.met = MetItems(layout.show)
        self._positive = positive

    @cached_property
    def n_items(self) -> int:
        """Number of rows, M."""
        return int(self.kinds.size.sum())

    def kinds_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the kinds of items."""
        return self.met.kinds[items]

    def locate(self, ids: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return items by their ids, which the engine is asked for unless they were fetched before.

        Raises
        ------
        UnknownIdError
            If an id is missing, or that of no row.
        """
        array = id_array(ids)
        missing = first_missing(array)
        if missing is not None:
            raise UnknownIdError(
                f"The id at position {missing} is missing ({show(array[missing])}); every label needs its id."
            )
        items = self.find(array)
        at = first_true(items < 0)
        if at is not None:
            raise UnknownIdError(f"There is no item with id {show(array[at])} (position {at}) in {self.engine.name}.")
        return items

    def find(self, ids: np.ndarray) -> Int[np.ndarray, " n"]:
        """Return items by their ids, -1 where there is none."""
        names = self.as_ids(ids)
        new = list(dict.fromkeys(name for name in names if name is not None and name not in self.met.item_of))
        for start in range(0, len(new), _AT_ONCE):
            self._fetch(new[start : start + _AT_ONCE])
        return np.array([self.met.item_of.get(name, -1) for name in names], np.int64)

    def as_ids(self, ids: np.ndarray) -> list[Hashable]:
        """Return ids as the table has them, None where that cannot be."""
        if ids.dtype.kind == "b":  # no id is yes or no, of which Python makes 1 and 0
            return [None] * len(ids)
        if self._text_ids:
            array = whole(ids) if ids.dtype.kind == "f" else ids
            return [str(name) for name in array.tolist()]
        array = text_as_int(ids) if ids.dtype.kind == "U" else whole(ids)
        if array is None or array.dtype.kind not in "iu":
            return [self._as_integer(name) for name in ids.tolist()]
        return array.tolist()

    def check_unchanged(self) -> None:
        """Raise EngineError if the table has more or fewer rows than when it was scanned."""
        n_rows = self.engine.n_rows()
        if n_rows != self.n_items:
            raise EngineError(
                f"There are {n_rows:,} rows in {self.engine.name}, and there were {self.n_items:,} when it was "
                "scanned: the table has changed under the session. Nothing was handed out; restore it, or start anew."
            )

    def take_over(self, found: Mapping[str, np.ndarray]) -> Int[np.ndarray, " n"]:
        """Keep rows that were fetched, of known kinds; return their items."""
        score = found[SCORE].astype(np.float64) if SCORE in found else np.full(len(found["__kind"]), np.nan)
        shown = {name: found[f"__show_{i}"] for i, name in enumerate(self.layout.show)}
        return self.met.add(found["__id"], found["__kind"].astype(np.int64), score, shown)

    def fetched(self) -> list[nw.Expr]:
        """Return the columns of Narwhals that hold what is kept of rows."""
        import narwhals as nw

        layout = self.layout
        columns = [nw.col(layout.id or KEY).alias("__id"), nw.col(KEY)]
        columns += [nw.col(SCORE)] if layout.numbers else []
        return [*columns, *(nw.col(name).alias(f"__show_{i}") for i, name in enumerate(layout.show))]

    def confidence_of(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities that the classifier gives to its predictions of items."""
        score = self.met.scores[items]
        if not isinstance(self.layout.scores, str):
            return score
        return np.where(self._positive[self.kinds_of(items)], score, 1 - score)

    @cached_property
    def fingerprint(self) -> str:
        """The number of rows, and a SHA-256 of what they hold, whatever their order."""
        return f"{self.n_items} {self.kinds.fingerprint()}"

    def _fetch(self, names: list[Hashable]) -> None:
        """Ask the engine for items with these ids."""
        import narwhals as nw

        own = [nw.col(name).alias(f"__key_{i}") for i, name in enumerate(self.layout.keys)]

        def wanted(frame: nw.LazyFrame) -> nw.LazyFrame:
            frame = frame.filter(nw.col(self.layout.id or KEY).is_in(names))
            return with_kinds(frame, self.layout).select(*self.fetched(), *own).head(2 * len(names))

        columns = self.engine.collect(wanted)
        self.check_unchanged()
        keys = (
            zip(*(columns[f"__key_{i}"].tolist() for i in range(len(own))), strict=True)
            if own
            else [()] * len(columns[KEY])
        )
        kinds = [self._kind_of.get(key, -1) for key in keys]
        if -1 in kinds:
            item = show(columns["__id"].tolist()[kinds.index(-1)])
            raise EngineError(
                f"Item {item} is of a kind that {self.engine.name} did not have when it was scanned: the table has "
                "changed. Scan it anew and start a session on it."
            )
        ids = columns["__id"].tolist()
        if len(set(ids)) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise EngineError(f"The id {show(twice)} is that of several rows of {self.engine.name}; give each its own.")
        place = {name: at for at, name in enumerate(names)}  # engines answer in another order every time
        order = np.argsort([place.get(name, len(names)) for name in ids])
        columns = {name: values[order] for name, values in columns.items()}
        self.take_over({**columns, "__kind": np.array(kinds, np.int64)[order]})

    @cached_property
    def _kind_of(self) -> dict[tuple[Hashable, ...], int]:
        columns = [values.tolist() for values in self.kinds.keys.values()]
        keys = zip(*columns, strict=True) if columns else [()]
        return {key: kind for kind, key in enumerate(keys)}

    @cached_property
    def _text_ids(self) -> bool:
        return self.layout.id is not None and not self.engine.schema[self.layout.id].is_integer()

    @staticmethod
    def _as_integer(name: Any) -> int | None:
        try:
            return int(name) if str(int(name)) == str(name) else None
        except (TypeError, ValueError):
            return None
