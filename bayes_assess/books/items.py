"""What has become of every item of a session: unseen, handed out with a weight, set aside, or labelled.

Items of a cell come in a random order. Labels that nobody asked for may be those of another session on the pool, with
the same seed: in the same order within other cells. Items that this one passed over are unlike others, and would come
next here. Beside such labels items come in an order that no session had which did not know them all, as the other one
may have had labels of a third.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.seeds import sequence
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import DesignError, PoolError
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.source import ItemSource

_SKIPPED, _UNSEEN, _PENDING = -3, -2, -1  # in place of a label's code
_LOOKED_AT = 32  # places per item that is wanted, at first
_TIMES, _LEAST, _MOST = 4, 20, 256  # random items beside those that nobody asked for: for each, and of a cell


class ItemBook:
    """The items of a session's cells, each cell in its random order.

    Parameters
    ----------
    cells : Cells
    seed : int
        Of the session, by which items come in another order once there are labels that nobody asked for.

    Attributes
    ----------
    label : (N,) integers
        Code of every item's label; negative without one. N is M, or as many items as a source has looked at so far.
    n_asked, n_volunteered, n_labelled, n_pending, n_skipped : int
        Items handed out so far, labelled without having been asked for, labelled, handed out but not labelled yet, and
        set aside.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> book = ItemBook(ba.cells(ba.Pool(predictions=[0, 0, 1])))
    >>> items = book.next_items(np.array([1, 0]))
    >>> draws = book.hand_out(items, np.array([0.5, 1.0]))
    >>> book.n_pending, book.remaining.tolist(), book.out[1].tolist()
    (2, [1, 0], [1.0, 0.5])
    """

    def __init__(self, cells: Cells, seed: int = 0):
        self.cells = cells
        self._seed = seed
        self.n_asked = 0
        self.n_volunteered = 0
        self.n_labelled = 0
        self.n_pending = 0
        self.n_skipped = 0
        self._label = np.full(cells.source.n_known, _UNSEEN, np.int32)
        self._taken = np.zeros(cells.n_cells, np.int64)  # items of every cell that are not unseen
        self._next = np.zeros(cells.n_cells, np.int64)  # place in every cell's order before which all are taken
        self._volunteered = np.zeros(0, np.int64)  # items that nobody asked for, sorted
        self._reordered: ItemSource | None = None  # the order beside these, once it is needed
        self._weight: Float[np.ndarray, " N"] | None = None  # of items handed out, once one of them is not 1

    @property
    def label(self) -> Int[np.ndarray, " N"]:
        """Code of every item's label; negative without one."""
        n_known = self.cells.source.n_known
        if n_known > len(self._label):  # doubled, so that it is copied seldom
            more = np.full(max(n_known, 2 * len(self._label)) - len(self._label), _UNSEEN, np.int32)
            self._label = np.concatenate([self._label, more])
            if self._weight is not None:
                self._weight = np.concatenate([self._weight, np.ones(len(more))])
        return self._label

    @property
    def pending(self) -> Bool[np.ndarray, " N"]:
        """Whether an item was handed out and is not labelled yet."""
        return self.label == _PENDING

    @property
    def skipped(self) -> Bool[np.ndarray, " N"]:
        """Whether an item was set aside."""
        return self.label == _SKIPPED

    @property
    def skipped_by_cell(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that were set aside."""
        if not self.n_skipped:
            return np.zeros(self.cells.n_cells, np.int64)
        return np.bincount(self.cells_of(self.aside), minlength=self.cells.n_cells)

    @property
    def remaining(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that may be handed out: neither labelled nor handed out nor set aside."""
        return self.cells.sizes - self._taken

    def unseen(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are neither labelled nor handed out nor set aside."""
        return self.label[items] == _UNSEEN

    def is_skipped(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items were set aside."""
        return self.label[items] == _SKIPPED

    def open(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are neither labelled nor set aside."""
        return (self.label[items] == _UNSEEN) | (self.label[items] == _PENDING)

    def drawable(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items can have been drawn: those that are unseen."""
        return self.unseen(items)

    def n_labels_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Count the labels of every one of these items: 0 or 1."""
        return (self.label[items] >= 0).astype(np.int64)

    @property
    def out(self) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Items handed out and not labelled yet, in pool order, and their importance weights."""
        items = self.awaited
        return items, np.ones(len(items)) if self._weight is None else self._weight[items]

    @property
    def awaited(self) -> Int[np.ndarray, " n"]:
        """Items handed out and not labelled yet, in pool order."""
        return np.flatnonzero(self.pending)

    @property
    def aside(self) -> Int[np.ndarray, " n"]:
        """Items set aside, in pool order."""
        return np.flatnonzero(self.skipped)

    @property
    def told(self) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Items with a label, in pool order, and its codes."""
        items = np.flatnonzero(self.label >= 0)
        return items, self.label[items]

    def codes_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the code of the label of every one of these items, negative where there is none."""
        return self.label[items]

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cell of every one of these items."""
        return self.cells.source.cells_of(items)

    def next_items(self, cells: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the next items of these cells: each cell's own order is the random draw within it."""
        which, place, wanted = np.unique(cells, return_inverse=True, return_counts=True)
        left = self.remaining[which]
        if (left < wanted).any():
            at = int(np.argmax(left < wanted))
            raise DesignError(
                f"The design has chosen {plural(int(wanted[at]), 'item')} of {self.cells.names[which[at]]}, where "
                f"{int(left[at]):,} {'is' if left[at] == 1 else 'are'} left: let it choose among what is available, "
                "by numbers that are not NaN."
            )
        items = np.empty(len(cells), np.int64)
        items[np.argsort(place, kind="stable")] = self._unseen_of(which, wanted)
        return items

    def _unseen_of(self, which: Int[np.ndarray, " m"], wanted: Int[np.ndarray, " m"]) -> Int[np.ndarray, " n"]:
        """Return so many unseen items of every one of these cells, cell by cell, each in its order.

        Behind the place before which all are taken, so many are among the next places if as many more are looked at as
        were taken there; mostly fewer will do.
        """
        taken = self._taken[which] - self._next[which]
        for more in (np.minimum(taken, _LOOKED_AT * wanted), taken):
            n_looked = wanted + more
            starts = np.cumsum(n_looked) - n_looked
            ranks = np.arange(n_looked.sum()) + np.repeat(self._next[which] - starts, n_looked)
            looked = self._at(np.repeat(which, n_looked), ranks)
            free = self.unseen(looked)
            n_free = np.add.reduceat(free, starts, dtype=np.int64)
            if (n_free >= wanted).all():
                break
        self._next[which] += _leading_taken(free, starts)
        nth = np.cumsum(free) - np.repeat(np.cumsum(n_free) - n_free, n_looked)  # of its cell, from 1
        found = looked[free & (nth <= np.repeat(wanted, n_looked))]
        if len(np.unique(found)) != wanted.sum():
            raise PoolError(
                f"The item source {type(self.cells.source).__name__} hands out the same item at several places: `take` "
                "returns every item of a cell at one."
            )
        return found

    def random_beside(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Return random items of the cells of some that nobody asked for, other ones than these.

        There are four for each of them, if the cells have so many, from 20 to 256 of a cell.
        """
        chosen = np.bincount(self.cells_of(items), minlength=self.cells.n_cells)
        which = np.flatnonzero(chosen)
        wanted = np.clip(_TIMES * chosen[which], _LEAST, _MOST)
        n_looked = np.minimum(wanted + chosen[which], self.cells.sizes[which])
        starts = np.cumsum(n_looked) - n_looked
        cells, ranks = np.repeat(which, n_looked), np.arange(n_looked.sum()) - np.repeat(starts, n_looked)
        looked = self._at(cells, ranks)
        free = ~np.isin(looked, items)
        before = np.cumsum(free) - free  # free ones of all cells that come first
        return looked[free & (before - np.repeat(before[starts], n_looked) < np.repeat(wanted, n_looked))]

    @property
    def _ordered(self) -> ItemSource:
        """The items of the cells in the order in which they come."""
        if not self.n_volunteered:
            return self.cells.source
        if self._reordered is None:
            self._reordered = self._beside(self._volunteered)
        return self._reordered

    def _beside(self, items: Int[np.ndarray, " n"]) -> ItemSource:
        """Return the items of the cells in the order in which they come beside labels of these, told without asking."""
        source: Any = self.cells.source
        if not hasattr(source, "reordered"):  # one of the user's own, which has an order, and no other
            return source
        names = hashlib.sha256("\0".join(sorted(map(str, source.ids_of(items).tolist()))).encode()).hexdigest()
        own = sequence(self._seed, f"order of {source.fingerprint()} beside labels of {names}")
        return source.reordered(int(own.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    def _at(self, cells: Int[np.ndarray, " n"], ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the items at these places of their cells' orders; PoolError if the source returns no items."""
        source = self._ordered
        found = np.asarray(source.take(cells, ranks))
        if found.shape != cells.shape or found.dtype.kind not in "iu" or not self._are_known(found):
            raise PoolError(
                f"The item source {type(source).__name__} returns by `take` an item for each of {len(cells):,} places, "
                f"a number from 0 to {source.n_known - 1:,}; found {show(found)}."
            )
        return found

    def _are_known(self, items: Int[np.ndarray, " n"]) -> bool:
        return items.min(initial=0) >= 0 and items.max(initial=-1) < self.cells.source.n_known

    def hand_out(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Mark items as pending, with their importance weights: the `next_items` of some cells, or any unseen ones.

        Returns
        -------
        (n,) integers
            What their draws are called, as by `take_labels`, `skip` and `put_back`: items, each of which is drawn once.
        """
        self._pass_over(items)
        self._weigh(items, weights)
        self.label[items] = _PENDING
        self.n_asked += len(items)
        self.n_pending += len(items)
        return items

    def _weigh(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> None:
        n_known = len(self.label)
        if self._weight is None and (weights != 1).any():
            self._weight = np.ones(n_known)
        if self._weight is not None:
            self._weight[items] = weights

    def accept(self, items: Int[np.ndarray, " n"]) -> None:
        """Take note of items that nobody asked for; cells' orders, which are other ones now, pass over them."""
        self._pass_over(items)
        self._next[:], self._reordered = 0, None
        self.n_volunteered += len(items)
        self._volunteered = np.union1d(self._volunteered, items)

    def volunteered(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items are labelled, or about to be, without anybody having asked for them."""
        return np.isin(items, self._volunteered)

    def skip(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Set items aside that are pending or unseen; return the draws that are withdrawn."""
        self._pass_over(items[self.unseen(items)])
        withdrawn = items[self.label[items] == _PENDING]
        self.n_pending -= len(withdrawn)
        self.n_skipped += len(items)
        self.label[items] = _SKIPPED
        return withdrawn

    def await_again(self, items: Int[np.ndarray, " n"]) -> None:
        """Count items as handed out again that were, and then set aside."""
        self.n_pending += len(items)
        self.n_skipped -= len(items)
        self.label[items] = _PENDING

    def put_back(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Let items be handed out again that are pending or set aside, each in its place of its cell's order.

        Returns
        -------
        (m,) integers
            The draws that are withdrawn.
        """
        withdrawn = items[self.label[items] == _PENDING]
        self.n_pending -= len(withdrawn)
        self.n_skipped -= int((self.label[items] == _SKIPPED).sum())
        self.label[items] = _UNSEEN
        cells = self.cells_of(items)
        np.minimum.at(self._next, cells, self._ordered.ranks_of(items))
        np.subtract.at(self._taken, cells, 1)
        return withdrawn

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that events have changed, for a snapshot."""
        items = np.flatnonzero(self.label != _UNSEEN)
        return {
            "items": items,
            "label": self.label[items],
            "n": np.array([self.n_asked, self.n_volunteered]),
            "volunteered": self._volunteered,
            "next": self._next,
            "taken": self._taken,
            "weight": np.zeros(0) if self._weight is None else self._weight[items],
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `arrays` returned, into a book of the same cells that is new."""
        items, self.label[arrays["items"]] = arrays["items"], arrays["label"]
        self.n_asked, self.n_volunteered = arrays["n"].tolist()
        self._volunteered, self._reordered = arrays["volunteered"], None
        self.n_labelled = int((arrays["label"] >= 0).sum())
        self.n_pending, self.n_skipped = (int((arrays["label"] == what).sum()) for what in (_PENDING, _SKIPPED))
        self._next, self._taken = arrays["next"].copy(), arrays["taken"].copy()
        if len(arrays["weight"]):
            self._weigh(items, arrays["weight"])

    def _pass_over(self, items: Int[np.ndarray, " n"]) -> None:
        """Hand out none of these items, which are unseen, any more."""
        np.add.at(self._taken, self.cells_of(items), 1)

    def take_labels(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Write down the labels of items, pending or accepted; return their draws."""
        self.n_pending -= int((self.label[items] == _PENDING).sum())
        self.n_labelled += len(items)
        self.label[items] = codes
        return items


def _leading_taken(free: Bool[np.ndarray, " n"], starts: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
    """Count the places at the beginning of every part of a row of places that are not free.

    Examples
    --------
    >>> _leading_taken(np.array([False, False, True, False, True]), np.array([0, 3])).tolist()
    [2, 1]
    """
    at = np.flatnonzero(free)  # some place of every part is free
    return at[np.searchsorted(at, starts)] - starts
