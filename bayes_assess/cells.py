"""Cells: items that no decision can tell apart, each cell in one random order.

A decision needs counts per cell, never the items; "a random unlabelled item of cell k" is the next one in its order.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayes_assess._arrays import CHUNK, frozen
from bayes_assess._attributes import RESERVED
from bayes_assess.errors import BudgetError, PartitionError
from bayes_assess.partition import Partition, partition
from bayes_assess.pool import Pool


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """A pool collapsed into K cells.

    Parameters
    ----------
    counts : ndarray of int64 (K,)
        Items per cell.
    mean_score : ndarray of float64 (K,), or None
        Mean confidence of each cell; the pool's mean where a cell is empty; None where the pool has no confidence.
    names : ndarray (K,)
        What the cells are called.
    codes : ndarray (M,)
        Cell of each item, unsigned integers.
    order : ndarray of int32 or int64 (M,)
        Positions of all items: cell by cell, at random within each.
    starts : ndarray of int64 (K + 1,)
        Where each cell begins in ``order``.
    description : str
        What the cells are, as in `Partition`.
    parts : tuple of Partition
        The partition that the cells are, or the two whose cross product they are.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat", "cat"]))
    >>> cells
    Cells(4 items in 2 cells by prediction)
    >>> cells.counts, cells.weights
    (array([3, 1]), array([0.75, 0.25]))
    """

    counts: np.ndarray
    mean_score: np.ndarray | None
    names: np.ndarray
    codes: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    description: str
    parts: tuple[Partition, ...]

    @property
    def n_cells(self) -> int:
        """Number of cells, K."""
        return len(self.counts)

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return len(self.order)

    @property
    def weights(self) -> np.ndarray:
        """Share of the items in each cell, float64 (K,)."""
        return self.counts / self.counts.sum()

    def __repr__(self) -> str:
        return f"Cells({self.n_items:,} items in {self.n_cells:,} cells by {self.description})"

    def items(self, cell: int, start: int, stop: int) -> np.ndarray:
        """Return the positions of some items of a cell.

        Parameters
        ----------
        cell : int
            Which cell, 0..K-1.
        start, stop : int
            Range in the cell's random order, as in a slice.

        Returns
        -------
        ndarray (stop - start,)
            Positions in the pool.

        Raises
        ------
        BudgetError
            If the cell does not have so many items, or there is no such cell.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat"]))
        >>> sorted(cells.items(0, 0, 2).tolist())
        [0, 2]
        """
        if not 0 <= cell < self.n_cells:
            raise BudgetError(f"there is no cell {cell}; the cells are 0 to {self.n_cells - 1}")
        if not 0 <= start <= stop <= self.counts[cell]:
            raise BudgetError(
                f"cell {cell} ({self.names[cell]}) has {self.counts[cell]:,} items; cannot take items {start} to {stop}"
            )
        first = int(self.starts[cell])
        return self.order[first + start : first + stop]

    def ranks(self) -> np.ndarray:
        """Return the place of each item within its cell's order, (M,), 0 first.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat"]))
        >>> sorted(cells.ranks()[[0, 2]].tolist())
        [0, 1]
        """
        return self._ranks

    @cached_property
    def _ranks(self) -> np.ndarray:
        ranks = np.empty_like(self.order)
        places = np.arange(self.n_items, dtype=self.order.dtype)
        places -= np.repeat(self.starts[:-1].astype(self.order.dtype), self.counts)
        ranks[self.order] = places
        return frozen(ranks)


def cells(pool: Pool, by: Any = RESERVED, *, seed: int = 0) -> Cells:
    """Collapse a pool into cells, each in a random order.

    Parameters
    ----------
    pool : Pool
        M items.
    by : str, ScoreBins, array (M,) or Partition
        What tells the cells apart; see `partition`.
    seed : int
        Decides the orders, together with the cells; at least 0.

    Returns
    -------
    Cells

    Raises
    ------
    PartitionError
        If the pool cannot be cut so, or the seed is no seed.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(scores=[0.9, 0.2, 0.6, 0.7]), seed=1)
    >>> cells.mean_score.round(3).tolist()
    [0.8, 0.733]
    """
    groups = partition(pool, by)
    seed = _check_seed(seed)
    counts = np.zeros(groups.n_groups, dtype=np.int64)
    totals = np.zeros(groups.n_groups)
    for start in range(0, pool.n_items, CHUNK):  # chunks, since bincount makes 8-byte copies of what it counts
        rows = slice(start, start + CHUNK)
        counts += np.bincount(groups.codes[rows], minlength=groups.n_groups)
        if pool.confidence is not None:
            totals += np.bincount(groups.codes[rows], weights=pool.confidence[rows], minlength=groups.n_groups)
    mean_score = None
    if pool.confidence is not None:
        mean_score = frozen(np.where(counts > 0, totals, pool.confidence.mean()) / np.maximum(counts, 1))
    return Cells(
        counts=frozen(counts),
        mean_score=mean_score,
        names=groups.names,
        codes=groups.codes,
        order=frozen(random_order(groups.codes, groups.n_groups, seed)),
        starts=frozen(np.concatenate([[0], np.cumsum(counts)])),
        description=groups.description,
        parts=groups.parts or (groups,),
    )


def label_counts(cells: Cells, outcomes: Any, n_outcomes: int) -> np.ndarray:
    """Count outcomes per cell.

    Parameters
    ----------
    cells : Cells
        K cells of M items.
    outcomes : array of int (M,)
        Outcome of each item, 0..O-1: a label's code, or whether the prediction was right.
    n_outcomes : int
        O.

    Returns
    -------
    ndarray of int64 (K, O)

    Raises
    ------
    PartitionError
        If there is not one outcome per item, or one is out of range.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.cells import label_counts
    >>> label_counts(ba.cells(ba.Pool(predictions=["cat", "dog", "cat"])), [0, 1, 1], 2)
    array([[1, 1], [0, 1]])
    """
    outcomes = np.asarray(outcomes)
    if outcomes.shape != (cells.n_items,):
        raise PartitionError(f"outcomes have shape {outcomes.shape}; pass one for each of the {cells.n_items:,} items")
    if outcomes.dtype.kind not in "biu" or outcomes.min() < 0 or outcomes.max() >= n_outcomes:
        raise PartitionError(f"outcomes must be integers from 0 to {n_outcomes - 1}")
    counts = np.zeros(cells.n_cells * n_outcomes, dtype=np.int64)
    for start in range(0, cells.n_items, CHUNK):
        rows = slice(start, start + CHUNK)
        pairs = cells.codes[rows].astype(np.int64) * n_outcomes + outcomes[rows]
        counts += np.bincount(pairs, minlength=len(counts))
    return counts.reshape(cells.n_cells, n_outcomes)


def random_order(codes: np.ndarray, n_cells: int, seed: int) -> np.ndarray:
    """Return the positions sorted by cell and, within a cell, uniformly at random.

    Items are sorted by a key: their cell in the high bits, raw random bits below. The raw stream of PCG64 never
    changes between NumPy versions, while the shuffles built on it may; a campaign must replay after an upgrade.
    """
    bits = np.random.PCG64(seed).random_raw(len(codes))
    shift = np.uint64(max(int(n_cells - 1).bit_length(), 1))
    keys = codes.astype(np.uint64)
    keys <<= np.uint64(64) - shift
    keys |= bits >> shift
    order = np.argsort(keys)
    keys = keys[order]
    if np.any(keys[1:] == keys[:-1]):  # next to never: let all 64 random bits decide
        order = np.lexsort((bits, codes))
    return order.astype(np.int32 if len(codes) < 2**31 else np.int64)


def _check_seed(seed: int) -> int:
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise PartitionError(f"seed must be a non-negative integer, not {seed!r}")
    return number
