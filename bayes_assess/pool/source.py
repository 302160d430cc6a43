"""Where the items of cells live: arrays in memory here, or a table of an engine, see `bayes_assess.pool.scan`.

Decisions are made on cells, K numbers each; only what hands out items and takes their labels asks a source.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayes_assess._tools.arrays import frozen
from bayes_assess._tools.seeds import sequence
from bayes_assess._tools.shapes import ArrayLike, Float, Int, UInt
from bayes_assess._tools.sorting import order_of


@runtime_checkable
class ItemSource(Protocol):
    """Items of K cells, in one random order within each cell; an item is a number, in memory its row in the pool."""

    def take(self, cells: Int[np.ndarray, " n"], ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the items at these places of the cells' orders, 0 first."""
        ...

    def locate(self, ids: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return the items with these ids; raise `UnknownIdError` at the first that there is not."""
        ...

    def ids_of(self, items: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return the ids of items, (n,)."""
        ...

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cells of items."""
        ...

    def rows_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the rows of the pool's arrays that hold what is known of items, see `Pool.rows_of`."""
        ...

    @property
    def row_cells(self) -> Int[np.ndarray, " R"]:
        """Cell of every row of the pool's arrays."""
        ...

    def one_of_each(self) -> Int[np.ndarray, " K"]:
        """Return a row of the pool's arrays of every cell, none of which may be empty."""
        ...

    @property
    def n_known(self) -> int:
        """Items are numbers below this one: M, or as many as have been looked at so far."""
        ...

    def ranks_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the places of items within their cells' orders; of items never taken, any place after those taken."""
        ...

    def confidence_of(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities that the classifier gives to its predictions of items."""
        ...

    def split(self, cell: int, items: Int[np.ndarray, " n"]) -> ItemSource:
        """Return the source in which some items of a cell are cell K, in the order in which they were."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of which items are in which cell."""
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """The items of a pool in memory.

    Parameters
    ----------
    pool : Pool
        M items.
    codes : ndarray of unsigned integers (M,)
        Cell of each item.
    order : ndarray of int32 or int64 (M,)
        Items, cell by cell, at random within each.
    starts : ndarray of int64 (K,)
        Where each cell begins in ``order``.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> source = ba.cells(ba.Pool(predictions=["cat", "dog", "cat"], ids=[7, 8, 9])).source
    >>> item = source.take(np.array([1]), np.array([0]))
    >>> source.ids_of(item), source.cells_of(item), source.ranks_of(item), source.locate([8])
    (array([8]), array([1]), array([0]), array([1]))
    """

    pool: Any  # which makes its sources, so that this file knows none
    codes: UInt[np.ndarray, " M"]
    order: Int[np.ndarray, " M"]
    starts: Int[np.ndarray, " K"]

    @classmethod
    def shuffled(cls, pool: object, codes: np.ndarray, sizes: Int[np.ndarray, " K"], seed: int) -> ArraySource:
        """Put the items of each cell in a random order; see `random_order`."""
        order = frozen(random_order(codes, len(sizes), seed))
        return cls(pool, codes, order, frozen(np.cumsum(sizes) - sizes))

    def take(self, cells: Int[np.ndarray, " n"], ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the items at these places of the cells' orders, 0 first; places beyond a cell are not checked."""
        return self.order[self.starts[cells] + ranks]

    def locate(self, ids: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return the items with these ids; see `Pool.positions`."""
        return self.pool.positions(ids)

    def ids_of(self, items: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return the ids of items, (n,)."""
        return self.pool.ids[items]

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cells of items."""
        return self.codes[items].astype(np.int64)

    def rows_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the items, which are rows of the pool's arrays."""
        return items

    @property
    def row_cells(self) -> Int[np.ndarray, " M"]:
        """Cell of every item."""
        return self.codes.astype(np.int64)

    def one_of_each(self) -> Int[np.ndarray, " K"]:
        """Return an item of every cell, none of which may be empty."""
        return self.order[self.starts]

    @property
    def n_known(self) -> int:
        """Number of items, M."""
        return len(self.codes)

    def ranks_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the places of items within their cells' orders."""
        return self._ranks[items].astype(np.int64)

    def confidence_of(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities that the classifier gives to its predictions of items."""
        assert self.pool.confidence is not None
        return self.pool.confidence[items]

    @cached_property
    def _ranks(self) -> Int[np.ndarray, " M"]:
        ranks = np.empty_like(self.order)
        places = np.arange(len(self.order), dtype=self.order.dtype)
        places -= self.starts.astype(self.order.dtype)[self.codes[self.order]]
        ranks[self.order] = places
        return frozen(ranks)

    def split(self, cell: int, items: Int[np.ndarray, " n"]) -> ArraySource:
        """Return the source in which some items of a cell are cell K, in the order in which they were.

        What was handed out first is first in either part, and no other cell changes.
        """
        kind = np.min_scalar_type(len(self.starts))
        codes = self.codes.astype(np.promote_types(self.codes.dtype, kind))
        codes[items] = len(self.starts)
        start = int(self.starts[cell])
        stop = start + int(np.count_nonzero(self.codes == cell))
        segment = self.order[start:stop]
        moves = codes[segment] != cell
        order = self.order.copy()
        order[start:stop] = np.concatenate([segment[~moves], segment[moves]])
        starts = np.append(self.starts, stop - int(moves.sum()))
        return ArraySource(self.pool, frozen(codes), frozen(order), frozen(starts))

    def reordered(self, seed: int) -> ArraySource:
        """Return the source with the items of each cell in another random order."""
        sizes = np.bincount(self.codes, minlength=len(self.starts))
        return ArraySource.shuffled(self.pool, self.codes, sizes, seed)

    def fingerprint(self) -> str:
        """Return a hash of which items are in which cell."""
        return hashlib.sha256(self.codes.astype(np.uint32).tobytes()).hexdigest()


def random_order(codes: np.ndarray, n_cells: int, seed: int) -> np.ndarray:
    """Return the positions sorted by cell and, within a cell, uniformly at random.

    Items are sorted by a key: their cell in the high bits, raw random bits below. The raw stream of PCG64 never
    changes between NumPy versions, while the shuffles built on it may; a campaign must replay after an upgrade.
    """
    bits = np.random.PCG64(sequence(seed, "order")).random_raw(len(codes))
    shift = np.uint64(max(int(n_cells - 1).bit_length(), 1))
    keys = codes.astype(np.uint64)
    keys <<= np.uint64(64) - shift
    keys |= bits >> shift
    order = order_of(keys)
    keys = keys[order]
    if np.any(keys[1:] == keys[:-1]):  # next to never: let all 64 random bits decide
        order = np.lexsort((bits, codes))
    return order.astype(np.int32 if len(codes) < 2**31 else np.int64)
