"""A pool whose items are the rows of a table of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import frozen
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import PartitionError, PoolError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.items import MetItems
from bayes_assess.pool.scan.kind_counts import Kinds
from bayes_assess.pool.scan.kinds import TOP, Layout
from bayes_assess.pool.scan.rows import TableRows
from bayes_assess.pool.scan.source import TableSource

_ANSWERED = (
    "GroupAccuracy, ConfusionMatrix, Calibration, Compare, Rate, Mean, Metric of predictions and, with the designs of "
    "ranked lists, PrecisionCurve can be asked of it"
)
_WHAT_TO_DO = "restore it, or start a session on it as it is, and tell it the labels again"


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
    rows : TableRows
        Items as they are fetched.
    met : MetItems
        Items that were fetched so far.

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
    rows: TableRows
    met: MetItems

    def __init__(self, engine: Engine, layout: Layout, kinds: Kinds, classes: ArrayLike | None = None):
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
        rows = TableRows(engine, layout, kinds, self.predictions == 1)
        self._fill(engine=engine, layout=layout, kinds=kinds, rows=rows, met=rows.met)
        self._fill(multiplicity=frozen(kinds.size))

    def __repr__(self) -> str:
        return "Table" + super().__repr__()

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return self.rows.n_items

    @property
    def n_rows(self) -> int:
        """Number of kinds, R."""
        return len(self.kinds.size)

    def rows_of(self, items: Any) -> Int[np.ndarray, " n"]:
        """Return the kinds of items, the rows of scores, predictions, confidence, groups and systems."""
        return self.rows.kinds_of(items)

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
            f"{what}, and those of this pool stay in {self.engine.name}. {_ANSWERED}; for the rest read a "
            "sample of it into memory, by ba.read_pool, or by the command line without --scan."
        )

    def check_bins(self, n_bins: int) -> None:
        """Raise PartitionError if rows do not lie within one of so many bins of equal width."""
        if self.layout.n_bins % n_bins:
            raise PartitionError(
                f"The scores of this table were counted in {self.layout.n_bins:,} bins, which {n_bins} bins of equal "
                "width would cut: take a number that divides it, or in Python scan the table with "
                f"n_bins={100 * n_bins}."
            )

    def source_of(self, codes: np.ndarray, sizes: np.ndarray, seed: int) -> TableSource:
        """Return where the items of cells are: those of the kinds with these codes, (R,)."""
        return TableSource(self.rows, codes, sizes, seed)

    def positions(self, ids: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return items by their ids, which the engine is asked for unless they were fetched before."""
        return self.rows.locate(ids)

    def find(self, ids: np.ndarray) -> Int[np.ndarray, " n"]:
        """Return items by their ids, -1 where there is none."""
        return self.rows.find(ids)

    def confidence_of(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities that the classifier gives to its predictions of items."""
        return self.rows.confidence_of(items)

    def fingerprint(self) -> str:
        """Return the number of rows, and a SHA-256 of what they hold, whatever their order."""
        return self.rows.fingerprint

    def differs_from(self, fingerprint: str, n_items: int | None = None) -> str:
        """Say how the pool differs from that of a fingerprint, the end of a sentence."""
        n_rows = fingerprint.partition(" ")[0]
        if not n_rows.isdecimal():
            return (
                "a pool in memory, and this one is a table that was scanned: read it by ba.read_pool, as at the start"
            )
        if int(n_rows) != self.n_items:
            return f"a table of {int(n_rows):,} rows, and {self.engine.name} has {self.n_items:,} now; {_WHAT_TO_DO}"
        return (
            f"another table, or {self.engine.name} has changed: predictions, scores, groups or ids differ. Scan it by "
            f"the same columns, {_WHAT_TO_DO}"
        )
