"""Ranked lists whose items are the rows of a table, in the order of their score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.shapes import Int
from bayes_assess.errors import EngineError, QuestionError
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.kinds import BIN, KEY, SCORE, with_kinds
from bayes_assess.pool.scan.order import order_keys, with_word

_DOWN, _WORD, _ONE, _PLACE, _RANK = "__down", "__word", "__one", "__place", "__rank"


@dataclass(frozen=True, eq=False, repr=False)
class RankedTable(RankedList):
    """The rows of a table in the order of P(positive), the greatest first, equal ones at random.

    Made by `RankedList.from_pool` of a pool that `scan_pool` has made, for `PrecisionCurve`.

    Attributes
    ----------
    table : TablePool

    Examples
    --------
    >>> import bayes_assess as ba, duckdb
    >>> table = duckdb.sql("SELECT range AS id, range / 1e6 AS score FROM range(1000000)")
    >>> ranked = ba.RankedList.from_pool(ba.scan_pool(table, id="id", scores="score"))
    >>> ranked.ids_at([1, 2, 1000000]).tolist()
    [999999, 999998, 0]
    """

    table: Any = None

    @classmethod
    def of(cls, table: Any, positive: Any = None, seed: int = 0) -> RankedTable:
        """Rank the rows of a table.

        Raises
        ------
        QuestionError
            If the table has no single column of P(positive), or the other class is to be positive.
        """
        if not isinstance(table.layout.scores, str):
            raise QuestionError(
                f"A ranked list of {table.engine.name} is one of a single column of P(positive); scan it with "
                "scores='...', the column of the class that is sought."
            )
        classes = table.classes.tolist()
        if positive is not None and positive != classes[1] and str(positive) != str(classes[1]):
            raise QuestionError(
                f"Scores of {table.engine.name} are P({show(classes[1])}), and the question has {show(positive)} as "
                "positive; scan the column of its probabilities, with classes=[...] in the other order."
            )
        return cls(n_items=table.n_items, id_at=_Finder(table, seed), classes=table.classes, table=table)

    def names_of(self, ids: Any) -> list[Any]:
        """Return ids as the table has them."""
        return self.table.as_ids(values_of(ids))

    def shown_at(self, ranks: Int[np.ndarray, " n"]) -> dict[str, np.ndarray]:
        """Return what annotators see of items by rank."""
        if not self.table.layout.show:
            return {}
        items = self.table.positions(self.ids_at(ranks))
        return {name: values[items] for name, values in self.table.show.items()}

    def as_pool(self) -> NoReturn:
        """Refuse: the items are not in memory."""
        raise QuestionError(
            f"The items stay in {self.table.engine.name}, and designs that learn what scores mean look at all of them: "
            "take one of the designs of ranked lists, such as 'adastrat'."
        )

    def fingerprint(self) -> str:
        """Return that of the table."""
        return self.table.fingerprint()


class _Finder:
    """Finds ids by rank: kinds tell in which bin of the score a rank is, and the engine sorts the rows of that bin."""

    def __init__(self, table: Any, seed: int):
        self._table, self._key = table, order_keys(seed, "ranks of a table")[0]
        bins, place = np.unique(table.kinds.keys[BIN], return_inverse=True)
        self._bins = bins[::-1].astype(np.int64)
        self._sizes = np.bincount(place, table.kinds.size).astype(np.int64)[::-1]
        self._ends = np.cumsum(self._sizes)
        self._known: dict[int, Any] = {}

    def __call__(self, ranks: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return the ids at ranks, 1..N."""
        new = np.array([rank for rank in dict.fromkeys(ranks.tolist()) if rank not in self._known], np.int64)
        if len(new):
            self._fetch(new)
        return values_of([self._known[rank] for rank in ranks.tolist()])

    def _fetch(self, ranks: Int[np.ndarray, " n"]) -> None:
        import narwhals as nw

        table, engine = self._table, self._table.engine
        assert isinstance(engine, Engine)
        at = np.searchsorted(self._ends, ranks)
        wanted = {"__bin_of": self._bins[at], "__at": ranks - (self._ends - self._sizes)[at], _RANK: ranks}

        def rows(frame: Any) -> Any:
            frame = with_kinds(frame, table.layout).filter(nw.col(BIN).is_in(np.unique(self._bins[at]).tolist()))
            frame = with_word(frame, KEY, self._key, _WORD)
            frame = frame.with_columns((-nw.col(SCORE)).alias(_DOWN), nw.lit(1).alias(_ONE))
            place = nw.col(_ONE).cum_sum().over(BIN, order_by=[_DOWN, _WORD, KEY]).cast(nw.Int64).alias(_PLACE)
            found = frame.with_columns(place)
            found = found.join(engine.small(wanted), left_on=[BIN, _PLACE], right_on=["__bin_of", "__at"])
            return found.select(nw.col(table.layout.id or KEY).alias("__id"), nw.col(_RANK)).head(len(ranks) + 1)

        found = engine.collect(rows)
        table.check_unchanged()
        if sorted(found[_RANK].tolist()) != sorted(ranks.tolist()):
            raise EngineError(
                f"The rows of {engine.name} are no longer those that were scanned: some ranks have none. Nothing was "
                "handed out; restore the table, or scan it anew."
            )
        self._known.update(zip(found[_RANK].tolist(), found["__id"].tolist(), strict=True))
