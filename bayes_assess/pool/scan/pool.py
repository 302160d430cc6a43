"""A pool whose items are the rows of a table of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import first_missing, first_true, frozen, show, text_as_int, values_of, whole
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import EngineError, PartitionError, PoolError, UnknownIdError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.items import MetItems
from bayes_assess.pool.scan.kinds import KEY, SCORE, TOP, Kinds, Layout, with_kinds

_AT_ONCE = 10_000  # ids in a query
_ANSWERED = (
    "GroupAccuracy, ConfusionMatrix, Calibration, Compare, Rate, Mean, Metric of predictions and, with the designs of "
    "ranked lists, PrecisionCurve can be asked of it"
)


class TablePool(Pool):
    """A pool whose items stay where they are, made by `scan_pool`.

    Its arrays have a row for every kind of item: rows of the table that are alike in predictions, groups and a fine bin
    of the score. `multiplicity` says how many items a row stands for; scores are their means. Items are numbers in
    the order in which they were fetched, to be labelled or found by their ids, and `ids` and `show` are of these alone.

    Attributes
    ----------
    engine : Engine
        The table.
    layout : Layout
        Which columns hold what.
    kinds : Kinds
    met : MetItems
        Items that were fetched.

    Examples
    --------
    >>> import bayes_assess as ba, duckdb
    >>> table = duckdb.sql("SELECT range AS id, range / 1e6 AS score FROM range(1000000)")
    >>> pool = ba.scan_pool(table, id="id", scores="score")
    >>> pool
    TablePool(1,000,000 items, 2 classes, scores)
    >>> pool.n_rows < 2000, int(pool.multiplicity.sum())
    (True, 1000000)
    """

    in_memory = False
    engine: Engine
    layout: Layout
    kinds: Kinds
    met: MetItems

    def __init__(self, engine: Engine, layout: Layout, kinds: Kinds, classes: Any = None):
        keys, several = kinds.keys, isinstance(layout.scores, tuple)
        predictions = None if layout.predictions is None else keys[layout.predictions]
        if several and predictions is None:
            predictions = np.array(layout.score_classes)[keys[TOP]]
        super().__init__(
            scores=None if layout.scores is None else kinds.score,
            predictions=predictions,
            confidence=None if layout.confidence is None else kinds.score,
            classes=layout.score_classes or classes,
            groups={name: keys[name] for name in layout.groups},
            systems={name: keys[column] for name, column in layout.systems.items()},
        )
        self._fill(
            engine=engine,
            layout=layout,
            kinds=kinds,
            met=MetItems(layout.show),
            multiplicity=frozen(kinds.size),
        )

    def __repr__(self) -> str:
        return "Table" + super().__repr__()

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return int(self.kinds.size.sum())

    @property
    def n_rows(self) -> int:
        """Number of kinds, R."""
        return len(self.kinds.size)

    def rows_of(self, items: Any) -> Any:
        """Return the kinds of items, the rows of scores, predictions, confidence, groups and systems."""
        return self.met.kinds[items]

    @property
    def ids(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Ids of the items that were fetched so far."""
        return self.met.ids

    @property
    def show(self) -> Mapping[str, np.ndarray]:
        """What annotators see of the items that were fetched so far, by name."""
        return MappingProxyType(self.met.shown)

    def check_in_memory(self, what: str) -> None:
        """Raise PoolError: the items are not in memory."""
        raise PoolError(
            f"{what}, and those of this pool stay in {self.engine.name}. {_ANSWERED}; read a sample of it by "
            "ba.read_pool for the rest."
        )

    def check_bins(self, n_bins: int) -> None:
        """Raise PartitionError if rows do not lie within one of so many bins of equal width."""
        if self.layout.n_bins % n_bins:
            raise PartitionError(
                f"The scores of this table were counted in {self.layout.n_bins:,} bins, which {n_bins} bins of equal "
                f"width would cut: take a number that divides it, or scan the table with n_bins={100 * n_bins}."
            )

    def source_of(self, codes: np.ndarray, sizes: np.ndarray, seed: int) -> Any:
        """Return where the items of cells are: those of the kinds with these codes, (R,)."""
        from bayes_assess.pool.scan.source import TableSource  # which imports this module

        return TableSource(self, codes, sizes, seed)

    def positions(self, ids: Any) -> Int[np.ndarray, " n"]:
        """Return items by their ids, which the engine is asked for unless they were fetched before."""
        array = np.atleast_1d(values_of(ids))
        missing = first_missing(array)
        if missing is not None:
            raise UnknownIdError(
                f"The id at position {missing} is missing ({show(array[missing])}); every label needs its id."
            )
        found = self.find(array)
        at = first_true(found < 0)
        if at is not None:
            raise UnknownIdError(f"There is no item with id {show(array[at])} (position {at}) in {self.engine.name}.")
        return found

    def find(self, ids: np.ndarray) -> Int[np.ndarray, " n"]:
        """Return items by their ids, -1 where there is none."""
        names = self.as_ids(ids)
        new = list(dict.fromkeys(name for name in names if name is not None and name not in self.met.item_of))
        for start in range(0, len(new), _AT_ONCE):
            self._fetch(new[start : start + _AT_ONCE])
        return np.array([self.met.item_of.get(name, -1) for name in names], np.int64)

    def fingerprint(self) -> str:
        """Return the number of rows, and a SHA-256 of what they hold, whatever their order."""
        return self._fingerprint

    def differs_from(self, fingerprint: str) -> str:
        """Say how the pool differs from that of a fingerprint, the end of a sentence."""
        n_rows = fingerprint.partition(" ")[0]
        if not n_rows.isdecimal():
            return super().differs_from(fingerprint)
        if int(n_rows) != self.n_items:
            return f"a table of {int(n_rows):,} rows, and {self.engine.name} has {self.n_items:,} now"
        return f"another table, or {self.engine.name} has changed: predictions, scores, groups or ids differ"

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

    def fetched(self) -> list[Any]:
        """Return the columns of Narwhals that hold what is kept of rows."""
        import narwhals as nw

        layout = self.layout
        columns = [nw.col(layout.id or KEY).alias("__id"), nw.col(KEY)]
        columns += [nw.col(SCORE)] if layout.numbers else []
        return [*columns, *(nw.col(name).alias(f"__show_{i}") for i, name in enumerate(layout.show))]

    def confidence_of(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities that the classifier gives to its predictions of items."""
        assert self.confidence is not None
        score = self.met.scores[items]
        if not isinstance(self.layout.scores, str):
            return score
        return np.where(self.predictions[self.rows_of(items)] == 1, score, 1 - score)

    def _fetch(self, names: list[Any]) -> None:
        """Ask the engine for items with these ids."""
        import narwhals as nw

        own = [nw.col(name).alias(f"__key_{i}") for i, name in enumerate(self.layout.keys)]

        def wanted(frame: Any) -> Any:
            frame = frame.filter(nw.col(self.layout.id or KEY).is_in(names))
            return with_kinds(frame, self.layout).select(*self.fetched(), *own).head(2 * len(names))

        found = self.engine.collect(wanted)
        self.check_unchanged()
        keys = (
            zip(*(found[f"__key_{i}"].tolist() for i in range(len(own))), strict=True)
            if own
            else [()] * len(found[KEY])
        )
        kinds = [self._kind_of.get(key, -1) for key in keys]
        if -1 in kinds:
            item = show(found["__id"].tolist()[kinds.index(-1)])
            raise EngineError(
                f"Item {item} is of a kind that {self.engine.name} did not have when it was scanned: the table has "
                "changed. Scan it anew and start a session on it."
            )
        ids = found["__id"].tolist()
        if len(set(ids)) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise EngineError(f"The id {show(twice)} is that of several rows of {self.engine.name}; give each its own.")
        self.take_over({**found, "__kind": np.array(kinds, np.int64)})

    @cached_property
    def _kind_of(self) -> dict[tuple[Any, ...], int]:
        columns = [values.tolist() for values in self.kinds.keys.values()]
        keys = zip(*columns, strict=True) if columns else [()]
        return {key: kind for kind, key in enumerate(keys)}

    @cached_property
    def _text_ids(self) -> bool:
        return self.layout.id is not None and not self.engine.schema[self.layout.id].is_integer()

    def as_ids(self, ids: np.ndarray) -> list[Any]:
        """Return ids as the table has them, None where that cannot be."""
        if self._text_ids:
            array = whole(ids) if ids.dtype.kind == "f" else ids
            return [str(name) for name in array.tolist()]
        array = text_as_int(ids) if ids.dtype.kind == "U" else whole(ids)
        if array is None or array.dtype.kind not in "iu":
            return [self._as_integer(name) for name in ids.tolist()]
        return array.tolist()

    @staticmethod
    def _as_integer(name: Any) -> int | None:
        try:
            return int(name) if str(int(name)) == str(name).strip() else None
        except (TypeError, ValueError):
            return None

    @cached_property
    def _fingerprint(self) -> str:
        return f"{self.n_items} {self.kinds.fingerprint()}"
