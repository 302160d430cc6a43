"""The rows of a table in the order of their score."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.errors import EngineError, QuestionError
from bayes_assess.pool.scan.kinds import BIN, KEY, SCORE, with_kinds
from bayes_assess.pool.scan.order import order_keys, with_first_word, with_square
from bayes_assess.pool.scan.rows import TableRows

_DOWN, _SQUARE, _WORD, _ONE, _PLACE, _RANK = "__down", "__square", "__word", "__one", "__place", "__rank"


class RankedRows:
    """The rows of a table in the order of P(positive), the greatest first, equal ones at random.

    Kinds tell in which bin of the score a rank is, and the engine sorts the rows of that bin.

    Parameters
    ----------
    rows : TableRows
    classes : (2,) class names
        The negative first.
    positive : class name, optional
        That whose probabilities the table has, if it is named at all.
    seed : int
        Of the order of equal scores.

    Raises
    ------
    QuestionError
        If the table has no single column of P(positive), or the other class is to be positive.

    Examples
    --------
    >>> import bayes_assess as ba, duckdb
    >>> table = duckdb.sql("SELECT range AS id, range / 1e6 AS score FROM range(1000000)")
    >>> pool = ba.scan_pool(table, id="id", scores="score")
    >>> RankedRows(pool.rows, pool.classes, None, seed=0).ids_at(np.array([1, 2, 1000000])).tolist()
    [999999, 999998, 0]
    """

    def __init__(self, rows: TableRows, classes: np.ndarray, positive: Hashable | None, seed: int):
        if not isinstance(rows.layout.scores, str):
            raise QuestionError(
                f"A ranked list of {rows.engine.name} is one of a single column of P(positive); scan it with "
                "scores='...', the column of the class that is sought."
            )
        own = classes.tolist()[1]
        if positive is not None and positive != own and str(positive) != str(own):
            raise QuestionError(
                f"Scores of {rows.engine.name} are P({show(own)}), and the question has {show(positive)} as "
                "positive; scan the column of its probabilities, with classes=[...] in the other order."
            )
        self._rows, self._key = rows, order_keys(seed, "ranks of a table")[0]
        bins, place = np.unique(rows.kinds.keys[BIN], return_inverse=True)
        self._bins = bins[::-1].astype(np.int64)
        self._sizes = np.bincount(place, rows.kinds.size).astype(np.int64)[::-1]
        self._ends = np.cumsum(self._sizes)
        self._known: dict[int, object] = {}

    @property
    def n_items(self) -> int:
        """Number of rows, N."""
        return self._rows.n_items

    @property
    def place(self) -> str:
        """Where the rows are, in words."""
        return self._rows.engine.name

    def names_of(self, ids: ArrayLike) -> list[Hashable]:
        """Return ids as the table has them."""
        return self._rows.as_ids(values_of(ids))

    def shown_at(self, ranks: Int[np.ndarray, " n"]) -> dict[str, np.ndarray]:
        """Return what annotators see of items by rank."""
        if not self._rows.layout.show:
            return {}
        items = self._rows.locate(self.ids_at(ranks))
        return {name: values[items] for name, values in self._rows.met.shown.items()}

    def fingerprint(self) -> str:
        """Return that of the table."""
        return self._rows.fingerprint

    def ids_at(self, ranks: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return the ids at ranks, 1..N."""
        new = np.array([rank for rank in dict.fromkeys(ranks.tolist()) if rank not in self._known], np.int64)
        if len(new):
            self._fetch(new)
        return values_of([self._known[rank] for rank in ranks.tolist()])

    def _fetch(self, ranks: Int[np.ndarray, " n"]) -> None:
        import narwhals as nw

        rows, engine = self._rows, self._rows.engine
        at = np.searchsorted(self._ends, ranks)
        wanted = {"__bin_of": self._bins[at], "__at": ranks - (self._ends - self._sizes)[at], _RANK: ranks}

        def wanted_rows(frame: nw.LazyFrame) -> nw.LazyFrame:
            frame = with_kinds(frame, rows.layout).filter(nw.col(BIN).is_in(np.unique(self._bins[at]).tolist()))
            frame = with_first_word(with_square(frame, KEY, self._key, _SQUARE), KEY, self._key, _SQUARE, _WORD)
            frame = frame.with_columns((-nw.col(SCORE)).alias(_DOWN), nw.lit(1).alias(_ONE))
            place = nw.col(_ONE).cum_sum().over(BIN, order_by=[_DOWN, _WORD, KEY]).cast(nw.Int64).alias(_PLACE)
            placed = frame.with_columns(place)
            placed = placed.join(engine.small(wanted), left_on=[BIN, _PLACE], right_on=["__bin_of", "__at"])
            return placed.select(nw.col(rows.layout.id or KEY).alias("__id"), nw.col(_RANK)).head(len(ranks) + 1)

        columns = engine.collect(wanted_rows)
        rows.check_unchanged()
        if sorted(columns[_RANK].tolist()) != sorted(ranks.tolist()):
            raise EngineError(
                f"The rows of {engine.name} are no longer those that were scanned: some ranks have none. Nothing was "
                "handed out; restore the table, or scan it anew."
            )
        self._known.update(zip(columns[_RANK].tolist(), columns["__id"].tolist(), strict=True))
