"""Cells: items that no decision can tell apart.

A decision needs numbers per cell, never the items; "a random unlabelled item of cell k" is the next one in the order in
which the source of the items keeps the cell.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import CHUNK, frozen, show, values_of
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import BudgetError, PartitionError
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.counting import add_up, count, mean
from bayes_assess.pool.groups import Groups, partition
from bayes_assess.pool.pool import Pool, checked_pool
from bayes_assess.pool.source import ItemSource

if TYPE_CHECKING:
    from bayes_assess.pool.groups import By


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """A pool collapsed into K cells.

    Parameters
    ----------
    sizes : ndarray of int64 (K,)
        Items per cell.
    mean_score : ndarray of float64 (K,), or None
        Mean confidence of each cell; the pool's mean where a cell is empty; None where the pool has no confidence.
    names : ndarray (K,)
        What the cells are called.
    description : str
        What the cells are, as in `Partition`.
    parts : tuple of Groups
        The groups that the cells are, or the two whose cross product they are.
    source : ItemSource
        Where the items are; all else is K numbers.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat", "cat"]))
    >>> cells
    Cells(4 items in 2 cells by prediction)
    >>> cells.sizes, cells.weights
    (array([3, 1]), array([0.75, 0.25]))
    """

    sizes: Int[np.ndarray, " K"]
    mean_score: Float[np.ndarray, " K"] | None
    names: np.ndarray
    description: str
    parts: tuple[Groups, ...]
    source: ItemSource

    @property
    def n_cells(self) -> int:
        """Number of cells, K."""
        return len(self.sizes)

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return int(self.sizes.sum())

    @property
    def weights(self) -> np.ndarray:
        """Share of the items in each cell, float64 (K,)."""
        return self.sizes / self.sizes.sum()

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
            raise BudgetError(f"There is no cell {cell}; the cells are 0 to {self.n_cells - 1}.")
        if not 0 <= start <= stop <= self.sizes[cell]:
            raise BudgetError(
                f"Cell {cell} ({show(self.names[cell])}) has {self.sizes[cell]:,} items; "
                f"items {start} to {stop} cannot be taken."
            )
        ranks = np.arange(start, stop)
        return self.source.take(np.full(len(ranks), cell), ranks)

    def one_of_each(self) -> Int[np.ndarray, " K"]:
        """Return a row of the pool's arrays of every cell, none of which may be empty.

        What cells are constant on can be read off it.
        """
        return self.source.one_of_each()

    def mean(self, values: ArrayLike) -> Float[np.ndarray, "K *axes"]:
        """Average numbers of the items over every cell, such as scores.

        Parameters
        ----------
        values : (M,) or (M, C)
            In the order of the pool, whose arrays have a row for every item.

        Returns
        -------
        (K,) or (K, C); the mean of all items where a cell is empty.

        Raises
        ------
        PartitionError
            If there is not one number per item, or one is not finite.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.cells(ba.Pool(predictions=["cat", "dog", "cat"])).mean([0.5, 0.2, 1.0]).tolist()
        [0.75, 0.2]
        """
        rows, given = self.source.row_cells, values_of(values)
        if given.ndim not in (1, 2) or len(given) != len(rows) or given.dtype.kind not in "biuf":
            raise PartitionError(
                f"Pass a number for each of the {len(rows):,} items, or a row of them; found an array of shape "
                f"{given.shape} and type {given.dtype}."
            )
        if not np.isfinite(given).all():
            raise PartitionError("Numbers to be averaged are finite; some are not.")
        pool = getattr(self.source, "pool", None)
        table, times = given.reshape(len(rows), -1).astype(np.float64), getattr(pool, "multiplicity", None)
        means = np.empty((self.n_cells, table.shape[1]))
        for column in range(table.shape[1]):
            total = add_up(rows, table[:, column], self.n_cells, times)
            whole = mean(table[:, column], times)
            means[:, column] = np.where(self.sizes > 0, total, whole) / np.maximum(self.sizes, 1)
        return means.reshape(self.n_cells, *given.shape[1:])

    def split(self, cell: int, items: Int[np.ndarray, " n"], name: str) -> Cells:
        """Cut a cell in two; the others stay what they are, and so do their numbers.

        Parameters
        ----------
        cell : int
            Which cell, 0..K-1. It keeps its number and its name.
        items : array of int (n,)
            Those of its items, by row number, that become cell K, in the order in which they were. They must be
            chosen without regard to labels: by a score, a feature or a group.
        name : str
            What the new cell is called.

        Returns
        -------
        Cells
            K + 1 cells. Labels belong to items, which are the same, so that counts of other cells do not change.

        Raises
        ------
        PartitionError
            If the items are not some of those of the cell, each once.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat"])).split(0, [2], "other cat")
        >>> cells.sizes.tolist(), cells.names.tolist(), cells.items(2, 0, 1).tolist()
        ([1, 1, 1], ['cat', 'dog', 'other cat'], [2])
        """
        rows = np.unique(np.asarray(items, dtype=np.int64))
        known = rows.size and rows[0] >= 0 and rows[-1] < self.n_items
        if not known or len(rows) != np.size(items) or (self.source.cells_of(rows) != cell).any():
            raise PartitionError(f"The items to split off must be some of those of cell {cell}, each once.")
        source = self.source.split(cell, rows)
        sizes = np.append(self.sizes, len(rows))
        sizes[cell] -= len(rows)
        names = np.append(self.names.astype(str), name)
        mean_score = self.mean_score
        if mean_score is not None:
            total = self.sizes[cell] * mean_score[cell]
            new = self.source.confidence_of(rows).mean()
            mean_score = np.append(mean_score, new)
            if sizes[cell]:
                mean_score[cell] = (total - len(rows) * new) / sizes[cell]
            mean_score = frozen(mean_score)
        description = f"{self.description}, split"
        parts = (Groups(frozen(names), description),)
        return Cells(frozen(sizes), mean_score, frozen(names), description, parts, source)


def cells(pool: Pool, by: By = RESERVED, *, seed: int = 0) -> Cells:
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
    QuestionError
        If there is no pool, but a ranked list or something else.
    PartitionError
        If the pool cannot be cut so, or the seed is no seed.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(scores=[0.9, 0.2, 0.6, 0.7]), seed=1)
    >>> cells.mean_score.round(3).tolist()
    [0.8, 0.733]
    """
    checked_pool(pool, "cells takes a Pool first")
    groups = partition(pool, by)
    seed = _check_seed(seed)
    sizes = count(groups.codes, groups.n_groups, pool.multiplicity)
    confidence = None if pool.multilabel else pool.confidence
    mean_score = None
    if confidence is not None:
        totals = add_up(groups.codes, confidence, groups.n_groups, pool.multiplicity)
        whole = mean(confidence, pool.multiplicity)
        mean_score = frozen(np.where(sizes > 0, totals, whole) / np.maximum(sizes, 1))
    return Cells(
        sizes=frozen(sizes),
        mean_score=mean_score,
        names=groups.names,
        description=groups.description,
        parts=tuple(part.groups for part in groups.parts or (groups,)),
        source=pool.source_of(groups.codes, sizes, seed),
    )


def label_counts(cells: Cells, outcomes: ArrayLike, n_outcomes: int) -> np.ndarray:
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
    >>> from bayes_assess.pool.cells import label_counts
    >>> label_counts(ba.cells(ba.Pool(predictions=["cat", "dog", "cat"])), [0, 1, 1], 2)
    array([[1, 1], [0, 1]])
    """
    outcomes = np.asarray(outcomes)
    if outcomes.shape != (cells.n_items,):
        raise PartitionError(f"Outcomes have shape {outcomes.shape}; pass one for each of the {cells.n_items:,} items.")
    if outcomes.dtype.kind not in "biu" or outcomes.min() < 0 or outcomes.max() >= n_outcomes:
        raise PartitionError(f"Outcomes must be integers from 0 to {n_outcomes - 1}.")
    counts = np.zeros(cells.n_cells * n_outcomes, dtype=np.int64)
    for start in range(0, cells.n_items, CHUNK):
        rows = np.arange(start, min(start + CHUNK, cells.n_items))
        pairs = cells.source.cells_of(rows) * n_outcomes + outcomes[rows]
        counts += np.bincount(pairs, minlength=len(counts))
    return counts.reshape(cells.n_cells, n_outcomes)


def _check_seed(seed: int) -> int:
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise PartitionError(f"Seed must be a non-negative integer, not {show(seed)}.")
    return number
