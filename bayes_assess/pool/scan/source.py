"""The items of cells, taken from a table window by window of a random order."""

from __future__ import annotations

import hashlib
from itertools import count

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import EngineError, PartitionError
from bayes_assess.pool.scan.first_rows import SEED
from bayes_assess.pool.scan.kinds import KEY, with_kinds
from bayes_assess.pool.scan.order import P, order_keys, second_word, with_first_word, with_square
from bayes_assess.pool.scan.rows import TableRows

_AT_ONCE = 20_000  # rows that are fetched ahead, of all cells together
_LEAST, _MOST = 4, 256  # of a cell
_SQUARE, _WORD, _FROM, _TO = "__square", "__word", "__from", "__to"


class TableSource:
    """Items of K cells in a table: within each in the order of `bayes_assess.pool.scan.order`.

    A query fetches the next rows of every cell that runs short, those with h in a window that so many rows are expected
    in, and keeps them. No query returns more rows than a bound that follows from how many are wanted.

    Parameters
    ----------
    rows : TableRows
    codes : (R,) integers
        Cell of every kind.
    sizes : (K,) integers
        Items of every cell.
    seed : int
        Decides the order.

    Examples
    --------
    >>> import bayes_assess as ba, duckdb
    >>> table = duckdb.sql("SELECT range AS id, range % 3 AS answer FROM range(1000000)")
    >>> source = ba.cells(ba.scan_pool(table, id="id", predictions="answer")).source
    >>> items = source.take(np.array([1, 1]), np.array([0, 1]))
    >>> (source.ids_of(items) % 3).tolist(), source.cells_of(items).tolist(), source.ranks_of(items).tolist()
    ([1, 1], [1, 1], [0, 1])
    """

    def __init__(self, rows: TableRows, codes: np.ndarray, sizes: Int[np.ndarray, " K"], seed: int):
        self.rows = rows
        self._codes, self._sizes = codes.astype(np.int64), sizes
        self._keys = order_keys(seed)
        self._upto = np.zeros(len(sizes), np.int64)  # h below which all rows of a cell were fetched
        self._order: list[Int[np.ndarray, " n"]] = [np.zeros(0, np.int64) for _ in sizes]
        self._n = np.zeros(len(sizes), np.int64)  # items fetched of every cell
        self._rank: dict[int, int] = {}
        self._first = rows.kinds.first if seed == SEED else None  # not taken over yet
        self._ahead = int(np.clip(_AT_ONCE // max(np.count_nonzero(sizes), 1), _LEAST, _MOST))

    def take(self, cells: Int[np.ndarray, " n"], ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the items at these places of the cells' orders, 0 first; fetch what is not here yet.

        Raises
        ------
        EngineError
            If the engine gives no answer, or the table has changed.
        """
        needed = np.zeros(len(self._sizes), np.int64)
        np.maximum.at(needed, cells, ranks + 1)
        self._fetch_until(needed)
        return np.array([self._order[cell][rank] for cell, rank in zip(cells, ranks, strict=True)], np.int64)

    def locate(self, ids: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return the items with these ids; see `TableRows.locate`."""
        return self.rows.locate(ids)

    def ids_of(self, items: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return the ids of items, (n,)."""
        return self.rows.met.ids[items]

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cells of items."""
        return self._codes[self.rows.kinds_of(items)]

    def rows_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the kinds of items."""
        return self.rows.kinds_of(items)

    @property
    def row_cells(self) -> Int[np.ndarray, " R"]:
        """Cell of every kind."""
        return self._codes

    def one_of_each(self) -> Int[np.ndarray, " K"]:
        """Return a kind of every cell, none of which may be empty."""
        kinds = np.empty(len(self._sizes), np.int64)
        kinds[self._codes] = np.arange(len(self._codes))
        return kinds

    @property
    def n_known(self) -> int:
        """Number of items that were fetched."""
        return len(self.rows.met)

    def ranks_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the places of items within their cells' orders; the cell's size where it was not come to yet."""
        sizes = self._sizes[self.cells_of(items)].tolist()
        return np.array([self._rank.get(i, size) for i, size in zip(items.tolist(), sizes, strict=True)], np.int64)

    def confidence_of(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities that the classifier gives to its predictions of items."""
        return self.rows.confidence_of(items)

    def split(self, cell: int, items: Int[np.ndarray, " n"]) -> TableSource:
        """Refuse: cells of a table are made of its kinds."""
        raise PartitionError("Cells of a table cannot be split item by item; name what tells them apart as a group.")

    def reordered(self, seed: int) -> TableSource:
        """Return the source with the items of each cell in another random order."""
        return TableSource(self.rows, self._codes, self._sizes, seed)

    def fingerprint(self) -> str:
        """Return a hash of which kinds are in which cell."""
        return hashlib.sha256(self._codes.astype(np.uint32).tobytes()).hexdigest()

    def _fetch_until(self, needed: Int[np.ndarray, " K"]) -> None:
        """Fetch rows until so many items of every cell are here; nothing is kept of a query that fails."""
        if self._first is not None and needed.any():
            self.rows.check_unchanged()
            self._keep(np.arange(len(self._sizes)), np.array(self._first.stop), self._first.fetched(_WORD))
            self._first = None
        for attempt in count():
            short = needed > self._n
            if not short.any():
                return
            # A query goes over the whole table, so that it takes along what will be needed soon.
            soon = short | (needed * 2 > self._n) | (self._n == 0)
            wanted = np.minimum(np.maximum(np.maximum(2 * needed, self._n), self._ahead), self._sizes)
            cells = np.flatnonzero(soon & (wanted > self._n))
            # Twice as far every time: of a table that has lost its rows, a few queries show it.
            self._fetch(cells, (wanted - self._n)[cells] * 2.0**attempt)

    def _fetch(self, cells: Int[np.ndarray, " n"], wanted: Int[np.ndarray, " n"]) -> None:
        """Fetch about so many of the next rows of cells."""
        n_left = self._sizes[cells] - self._n[cells]
        share = np.minimum((wanted + 3 * np.sqrt(wanted) + 3) / n_left, 1.0)
        start = self._upto[cells]
        stop = np.where(share < 1, start + np.ceil((P - start) * share).astype(np.int64), P).clip(max=P)
        expected = (n_left * (stop - start) / np.maximum(P - start, 1)).sum()
        most = int(expected + 10 * np.sqrt(expected) + 1000)
        rows = self._rows_between(cells, start, stop, most)
        self.rows.check_unchanged()
        if len(rows["__kind"]) > most:
            raise EngineError(
                f"More than {most:,} rows of {self.rows.engine.name} came where {expected:,.0f} were expected: ids are "
                "repeated, or the table has changed. Nothing was handed out; give every row an id of its own."
            )
        self._keep(cells, stop, rows)

    def _rows_between(self, cells: np.ndarray, start: np.ndarray, stop: np.ndarray, most: int) -> dict[str, np.ndarray]:
        """Query the rows of cells with h in windows, by a join with the kinds of these cells."""
        import narwhals as nw

        rows, engine, keys = self.rows, self.rows.engine, self._keys[0]
        lower, upper = np.zeros(len(self._sizes), np.int64), np.zeros(len(self._sizes), np.int64)
        lower[cells], upper[cells] = start, stop
        kinds = np.flatnonzero(upper[self._codes] > lower[self._codes])
        window = {"__kind": kinds, _FROM: lower[self._codes[kinds]], _TO: upper[self._codes[kinds]]}
        own = {f"__key_{i}": values[kinds] for i, values in enumerate(rows.kinds.keys.values())}

        def between(frame: nw.LazyFrame) -> nw.LazyFrame:
            frame = with_first_word(with_square(frame, KEY, keys, _SQUARE), KEY, keys, _SQUARE, _WORD)
            # Most rows are beyond all windows, unless a small cell is wanted as a whole.
            frame = frame.filter((nw.col(_WORD) >= int(start.min())) & (nw.col(_WORD) < int(stop.max())))
            frame = with_kinds(frame, rows.layout)
            if own:
                like = dict(zip(own, rows.layout.keys, strict=True))
                wanted = engine.small({**own, **window}, like)
                frame = frame.join(wanted, left_on=rows.layout.keys, right_on=list(own))
                frame = frame.filter((nw.col(_WORD) >= nw.col(_FROM)) & (nw.col(_WORD) < nw.col(_TO)))
            else:
                frame = frame.with_columns(nw.lit(0).alias("__kind"))
            return frame.select(*rows.fetched(), nw.col("__kind"), nw.col(_WORD)).head(most + 1)

        return engine.collect(between)

    def _keep(self, cells: np.ndarray, stop: np.ndarray, found: dict[str, np.ndarray]) -> None:
        """Append rows to the orders of their cells."""
        cell = self._codes[found["__kind"].astype(np.int64)]
        second = second_word(found[KEY].astype(np.int64), self._keys[1])
        order = np.lexsort((found["__id"], second, found[_WORD], cell))
        found, cell = {name: values[order] for name, values in found.items()}, cell[order]
        n_new = np.bincount(cell, minlength=len(self._sizes))
        ends = np.full(len(self._sizes), -1)
        ends[cells] = stop
        total = self._n + n_new
        wrong = (total > self._sizes) | ((ends == P) & (total != self._sizes))
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise EngineError(
                f"A group of {plural(int(self._sizes[at]), 'item')} has {total[at]:,} rows in {self.rows.engine.name} "
                "now: the table has changed. Nothing was handed out; scan it anew and start a session on it."
            )
        items = self.rows.take_over(found)
        if len(np.unique(items)) < len(items) or not self._rank.keys().isdisjoint(items.tolist()):
            values, times = np.unique(items, return_counts=True)
            twice = values[times > 1] if (times > 1).any() else [i for i in items.tolist() if i in self._rank]
            raise EngineError(
                f"The id {self.rows.met.ids[twice[0]]!s} is that of several rows of {self.rows.engine.name}; give "
                "every row an id of its own. Nothing was handed out."
            )
        for at, new in zip(np.unique(cell).tolist(), np.split(items, np.flatnonzero(np.diff(cell)) + 1), strict=False):
            self._rank |= zip(new.tolist(), range(int(self._n[at]), int(total[at])), strict=True)
            self._order[at] = np.concatenate([self._order[at], new])
        self._n = total
        self._upto[cells] = stop
