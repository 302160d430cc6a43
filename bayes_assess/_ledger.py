"""What has become of every item of a session: unseen, handed out with a weight, or labelled."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from bayes_assess.cells import Cells

_UNSEEN, _PENDING = -2, -1  # in place of a label's code


class Ledger:
    """The items of a session's cells, each cell in its random order.

    Attributes
    ----------
    label : (M,) integers
        Code of every item's label; negative without one.
    n_asked, n_volunteered, n_labelled, n_pending : int
        Items handed out so far, labelled without having been asked for, labelled, and handed out but not labelled yet.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> ledger = Ledger(ba.cells(ba.Pool(predictions=[0, 0, 1])))
    >>> items = ledger.next_items(np.array([1, 0]))
    >>> ledger.hand_out(items, np.array([0.5, 1.0]))
    >>> ledger.n_pending, ledger.remaining.tolist(), ledger.weights(items).tolist()
    (2, [1, 0], [0.5, 1.0])
    """

    def __init__(self, cells: Cells):
        self.cells = cells
        self.label = np.full(cells.n_items, _UNSEEN, np.int32)
        self.n_asked = 0
        self.n_volunteered = 0
        self.n_labelled = 0
        self.n_pending = 0
        self._order = cells.order
        self._taken = np.zeros(cells.n_cells, np.int64)  # items of every cell's order that are handed out or labelled
        self._weight: Float[np.ndarray, " M"] | None = None  # of items handed out, once one of them is not 1

    @property
    def pending(self) -> Bool[np.ndarray, " M"]:
        """Whether an item was handed out and is not labelled yet."""
        return self.label == _PENDING

    @property
    def remaining(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that are neither labelled nor handed out."""
        return self.cells.counts - self._taken

    def unseen(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are neither labelled nor handed out."""
        return self.label[items] == _UNSEEN

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cell of every one of these items."""
        return self.cells.codes[items].astype(np.int64)

    def next_items(self, cells: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the next items of these cells: each cell's own order is the random draw within it."""
        by_cell = np.argsort(cells, kind="stable")
        in_order = cells[by_cell]
        first = np.searchsorted(in_order, in_order, side="left")
        nth = np.empty(len(cells), np.int64)
        nth[by_cell] = np.arange(len(cells)) - first
        return self._order[self.cells.starts[cells] + self._taken[cells] + nth]

    def hand_out(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> None:
        """Mark the `next_items` of some cells as pending, with their importance weights."""
        if self._weight is None and (weights != 1).any():
            self._weight = np.ones(self.cells.n_items)
        if self._weight is not None:
            self._weight[items] = weights
        self.label[items] = _PENDING
        np.add.at(self._taken, self.cells_of(items), 1)
        self.n_asked += len(items)
        self.n_pending += len(items)

    def weights(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the importance weights of items, 0 for those that are not pending."""
        return np.where(self.label[items] == _PENDING, 1.0 if self._weight is None else self._weight[items], 0.0)

    def accept(self, items: Int[np.ndarray, " n"]) -> None:
        """Move items that nobody asked for to the front of their cells' orders, as if they had been drawn."""
        volunteered = np.zeros(self.cells.n_items, bool)
        volunteered[items] = True
        cell_of_place = np.repeat(np.arange(self.cells.n_cells), self.cells.counts)
        place_in_cell = np.arange(self.cells.n_items) - self.cells.starts[cell_of_place]
        taken = place_in_cell < self._taken[cell_of_place]
        rank = np.where(taken, 0, np.where(volunteered[self._order], 1, 2))
        self._order = self._order[np.argsort(3 * cell_of_place + rank, kind="stable")]
        np.add.at(self._taken, self.cells_of(items), 1)
        self.n_volunteered += len(items)

    def learn(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        """Write down the labels of items, pending or accepted."""
        self.n_pending -= int((self.label[items] == _PENDING).sum())
        self.n_labelled += len(items)
        self.label[items] = codes
