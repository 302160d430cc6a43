"""What has become of every item of a session: unseen, handed out with a weight, set aside, or labelled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from bayes_assess.pool.cells import Cells

_SKIPPED, _UNSEEN, _PENDING = -3, -2, -1  # in place of a label's code


class ItemBook:
    """The items of a session's cells, each cell in its random order.

    Attributes
    ----------
    label : (M,) integers
        Code of every item's label; negative without one.
    n_asked, n_volunteered, n_labelled, n_pending, n_skipped : int
        Items handed out so far, labelled without having been asked for, labelled, handed out but not labelled yet, and
        set aside.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> book = ItemBook(ba.cells(ba.Pool(predictions=[0, 0, 1])))
    >>> items = book.next_items(np.array([1, 0]))
    >>> book.hand_out(items, np.array([0.5, 1.0]))
    >>> book.n_pending, book.remaining.tolist(), book.weights(items).tolist()
    (2, [1, 0], [0.5, 1.0])
    """

    def __init__(self, cells: Cells):
        self.cells = cells
        self.label = np.full(cells.n_items, _UNSEEN, np.int32)
        self.n_asked = 0
        self.n_volunteered = 0
        self.n_labelled = 0
        self.n_pending = 0
        self.n_skipped = 0
        self._next = np.zeros(cells.n_cells, np.int64)  # place in every cell's order before which all are taken
        self._ahead: dict[int, Int[np.ndarray, " n"]] = {}  # by cell, sorted: later places of items that are taken
        self._volunteered = np.zeros(0, np.int64)  # items that nobody asked for, sorted
        self._weight: Float[np.ndarray, " M"] | None = None  # of items handed out, once one of them is not 1

    @property
    def pending(self) -> Bool[np.ndarray, " M"]:
        """Whether an item was handed out and is not labelled yet."""
        return self.label == _PENDING

    @property
    def skipped(self) -> Bool[np.ndarray, " M"]:
        """Whether an item was set aside."""
        return self.label == _SKIPPED

    @property
    def skipped_by_cell(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that were set aside."""
        if not self.n_skipped:
            return np.zeros(self.cells.n_cells, np.int64)
        return np.bincount(self.cells_of(np.flatnonzero(self.skipped)), minlength=self.cells.n_cells)

    @property
    def remaining(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that may be handed out: neither labelled nor handed out nor set aside."""
        remaining = self.cells.sizes - self._next
        for cell, places in self._ahead.items():
            remaining[cell] -= len(places)
        return remaining

    def unseen(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are neither labelled nor handed out nor set aside."""
        return self.label[items] == _UNSEEN

    def open(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are neither labelled nor set aside."""
        return (self.label[items] == _UNSEEN) | (self.label[items] == _PENDING)

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cell of every one of these items."""
        return self.cells.source.cells_of(items)

    def next_items(self, cells: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the next items of these cells: each cell's own order is the random draw within it."""
        by_cell = np.argsort(cells, kind="stable")
        in_order = cells[by_cell]
        first = np.searchsorted(in_order, in_order, side="left")
        ranks = np.empty(len(cells), np.int64)
        ranks[by_cell] = np.arange(len(cells)) - first
        ranks += self._next[cells]
        for cell in self._ahead.keys() & set(cells.tolist()):
            ranks[cells == cell] = _passing_over(self._ahead[cell], ranks[cells == cell])
        return self.cells.source.take(cells, ranks)

    def hand_out(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> None:
        """Mark items as pending, with their importance weights: the `next_items` of some cells, or any unseen ones."""
        if self._weight is None and (weights != 1).any():
            self._weight = np.ones(self.cells.n_items)
        if self._weight is not None:
            self._weight[items] = weights
        self.label[items] = _PENDING
        self._pass_over(items)
        self.n_asked += len(items)
        self.n_pending += len(items)

    def weights(self, items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the importance weights of items, 0 for those that are not pending."""
        return np.where(self.label[items] == _PENDING, 1.0 if self._weight is None else self._weight[items], 0.0)

    def accept(self, items: Int[np.ndarray, " n"]) -> None:
        """Take note of items that nobody asked for, over which their cells' orders pass from now on."""
        self._pass_over(items)
        self.n_volunteered += len(items)
        self._volunteered = np.union1d(self._volunteered, items)

    def volunteered(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are labelled, or about to be, without anybody having asked for them."""
        return np.isin(items, self._volunteered)

    def skip(self, items: Int[np.ndarray, " n"]) -> None:
        """Set items aside that are pending or unseen."""
        self._pass_over(items[self.unseen(items)])
        self.n_pending -= int((self.label[items] == _PENDING).sum())
        self.n_skipped += len(items)
        self.label[items] = _SKIPPED

    def put_back(self, items: Int[np.ndarray, " n"]) -> None:
        """Let items be handed out again that are pending or set aside, each in its place of its cell's order."""
        self.n_pending -= int((self.label[items] == _PENDING).sum())
        self.n_skipped -= int((self.label[items] == _SKIPPED).sum())
        self.label[items] = _UNSEEN
        cells, ranks = self.cells_of(items), self.cells.source.ranks_of(items)
        for cell in np.unique(cells).tolist():
            back, ahead = ranks[cells == cell], self._ahead.pop(cell, ranks[:0])
            upto = int(self._next[cell])
            first = min(int(back.min()), upto)
            ahead = np.setdiff1d(np.concatenate([np.arange(first, upto), ahead]), back)
            self._next[cell] = first
            if len(ahead):
                self._ahead[cell] = ahead

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that events have changed, for a snapshot."""
        items = np.flatnonzero(self.label != _UNSEEN)
        ahead = [self._ahead[cell] for cell in self._ahead]
        return {
            "items": items,
            "label": self.label[items],
            "n": np.array([self.n_asked, self.n_volunteered]),
            "volunteered": self._volunteered,
            "next": self._next,
            "ahead_of": np.array(list(self._ahead), np.int64),
            "n_ahead": np.array([len(places) for places in ahead], np.int64),
            "ahead": np.concatenate([*ahead, np.zeros(0, np.int64)]),
            "weight": np.zeros(0) if self._weight is None else self._weight[items],
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `arrays` returned, into a book of the same cells that is new."""
        items, self.label[arrays["items"]] = arrays["items"], arrays["label"]
        self.n_asked, self.n_volunteered = arrays["n"].tolist()
        self._volunteered = arrays["volunteered"]
        self.n_labelled = int((arrays["label"] >= 0).sum())
        self.n_pending, self.n_skipped = (int((arrays["label"] == what).sum()) for what in (_PENDING, _SKIPPED))
        self._next = arrays["next"].copy()
        places = np.split(arrays["ahead"], np.cumsum(arrays["n_ahead"])[:-1])
        self._ahead = dict(zip(arrays["ahead_of"].tolist(), places, strict=False))
        if len(arrays["weight"]):
            self._weight = np.ones(self.cells.n_items)
            self._weight[items] = arrays["weight"]

    def _pass_over(self, items: Int[np.ndarray, " n"]) -> None:
        """Hand out none of these items any more."""
        cells, ranks = self.cells_of(items), self.cells.source.ranks_of(items)
        for cell in np.unique(cells).tolist():
            places = np.union1d(self._ahead.pop(cell, ranks[:0]), ranks[cells == cell])
            beyond = places > self._next[cell] + np.arange(len(places))
            self._next[cell] += len(places) - beyond.sum()
            if beyond.any():
                self._ahead[cell] = places[beyond]

    def set_labels(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        """Write down the labels of items, pending or accepted."""
        self.n_pending -= int((self.label[items] == _PENDING).sum())
        self.n_labelled += len(items)
        self.label[items] = codes


def _passing_over(places: Int[np.ndarray, " n"], ranks: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
    """Move ranks up by as many of these places, sorted, as come before: rank r is the r-th place that is left."""
    return ranks + np.searchsorted(places - np.arange(len(places)), ranks, side="right")
