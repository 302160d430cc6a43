"""Pairs as units: both halves of a pair are asked for, labelled and counted together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import first_true, show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import LabelError
from bayes_assess.pool.labels import check_labelled, read_labels
from bayes_assess.pool.pairs import PairPool
from bayes_assess.pool.units import Codes, ItemUnits, Units

if TYPE_CHECKING:
    from bayes_assess.pool.cells import Cells

_NAMED = 3  # pairs that a message names


class PairUnits(ItemUnits):
    """Pairs of items of a pool.

    Labels are told of both halves at a time, and corrected of one or both; a pair is found by either of its items. Its
    code is c C + d, of the labels c and d of its halves. Records have the names of pairs, their differences and the
    labels of their halves.

    Parameters
    ----------
    pairs : PairPool
    by, pair : str
        Columns of the groups and of the pairs.
    sides : (first, second)
        The groups.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> groups = {"system": ["a", "b", "b", "a"], "prompt": ["p", "p", "q", "q"]}
    >>> compared = ba.Compare("a", "b", by="system", measure="rate", pair="prompt")
    >>> pairs, _ = compared.posed(ba.Pool(predictions=[1, 0, 1, 1], groups=groups))
    >>> units = compared.units(pairs)
    >>> units.find([2]).tolist(), units.together([2]).tolist()
    ([1], [[3, 2]])
    """

    one_label: ClassVar[bool] = True
    described: ClassVar[str] = " in pairs"

    def __init__(self, pairs: PairPool, by: str, sides: tuple[object, object], pair: str):
        super().__init__(pairs.whole)
        self.pairs, self.by, self.sides, self.pair = pairs, by, sides, pair
        self._halves = np.stack([pairs.pairs.first, pairs.pairs.second], axis=1)  # (P, 2)
        self._pair = np.full(self.pool.n_items, -1)  # of every item, -1 for those of other groups
        self._pair[self._halves] = np.arange(pairs.n_items)[:, None]

    @property
    def n_items(self) -> int:
        """Items that are half of a pair."""
        return self._halves.size

    def find(self, ids: ArrayLike) -> Units:
        """Return the pairs of items."""
        return self._pairs_of(self.pool.positions(ids))

    def ids_of(self, units: Units) -> np.ndarray:
        """Return the ids of the halves of pairs, in the order of the pool."""
        return self.pool.ids[np.sort(self.items_of(units))]

    def names_of(self, units: Units) -> np.ndarray:
        """Return what the halves of pairs have in common."""
        return self.pairs.ids[units]

    def named(self, names: ArrayLike) -> Units:
        """Return pairs by what their halves have in common."""
        return self.pairs.positions(names)

    def labels_of(self, units: Units, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the halves of pairs with these codes, in the order of the pool, and their labels."""
        items, both = self.items_of(units), self._both(codes).ravel()
        order = np.argsort(items)
        return self.pool.ids[items[order]], self.label_space.names(both[order])

    def read(
        self, ids: ArrayLike, labels: ArrayLike, known: Callable[[Units], Codes], *, correcting: bool = False
    ) -> tuple[Units, Codes]:
        """Join the labels of halves; refuse single ones, unless the pair has both labels already.

        Raises
        ------
        LabelError
            If one half of a pair has no label, or labels contradict those told before, unless they correct them.
        """
        items, codes = read_labels(
            self.label_space, ids, labels, self.pool.positions, lambda items: np.full(len(items), -1)
        )
        pairs, place = np.unique(self._pairs_of(items), return_inverse=True)
        before = known(pairs)
        if correcting:
            check_labelled(before[place], self.pool.ids[items])
        both = np.where(before[:, None] < 0, -1, self._both(before))
        both[place, (self._halves[pairs[place], 1] == items).astype(int)] = codes
        self._check_whole(pairs[(both < 0).any(1)])
        now = self._code(both)
        wrong = None if correcting else first_true((before >= 0) & (before != now))
        if wrong is not None:
            halves = self.label_space.names(self._both(np.array([before[wrong], now[wrong]]))).tolist()
            old, new = (", ".join(map(show, labels)) for labels in halves)
            raise LabelError(
                f"The halves of pair {show(self.pairs.ids[pairs[wrong]])} are already labelled {old}, and {new} "
                "contradicts that. Nothing was taken: leave the pair out, or correct its labels."
            )
        return pairs, now

    def recorded(self, units: Units, codes: Codes) -> dict[str, object]:
        """Return the names of pairs, their differences, and the labels of their halves."""
        differences = self.pairs.label_space.names(self.counted(codes))
        halves = self.label_space.names(self._both(codes)).tolist()
        return {"ids": self.names_of(units), "labels": differences, "halves": halves}

    def any_recorded(self, units: Units) -> dict[str, object]:
        """Return what would be recorded of labels that pairs could have, whichever."""
        return self.recorded(units, np.zeros(len(units), np.int64))

    def codes_in(self, records: Sequence[Mapping[str, Any]]) -> Codes:
        """Return the codes of pairs whose halves' labels were recorded."""
        halves = [label for record in records for label in chain.from_iterable(record["halves"])]
        return self._code(self.pool.label_codes(halves).reshape(-1, 2).astype(np.int64))

    def n_differing(self, codes: Codes, others: Codes) -> int:
        """Count the labels of halves that differ."""
        return int((self._both(codes) != self._both(others)).sum())

    def counted(self, codes: Codes) -> Codes:
        """Return the codes of differences; negative ones stay so."""
        return np.where(codes < 0, codes, self.pairs.place.ravel()[codes])

    def together(self, ids: ArrayLike) -> np.ndarray:
        """Return the ids of both halves of the pairs of these items, (n, 2)."""
        return self.pool.ids[self._halves[self.find(ids)]]

    def together_in(self, names: ArrayLike) -> np.ndarray:
        """Return the ids of both halves of pairs by what these have in common, (n, 2)."""
        return self.pool.ids[self._halves[self.named(names)]]

    def items_of(self, units: Units) -> Int[np.ndarray, " m"]:
        """Return the positions of both halves of every pair, one after the other."""
        return self._halves[units].ravel()

    def groups_of(self, items: Int[np.ndarray, " m"], places: Int[np.ndarray, " m"], cells: Cells) -> np.ndarray:
        """Return the groups that are compared."""
        return self.pool.groups[self.by][items]

    def confidence_of(self, items: Int[np.ndarray, " m"], cells: Cells) -> Float[np.ndarray, " m"] | None:
        """Return the scores of the halves' own predictions, if there are any."""
        return None if self.pool.confidence is None else self.pool.confidence[items]

    def _code(self, both: Int[np.ndarray, "n 2"]) -> Codes:
        return both[:, 0] * self.pool.n_classes + both[:, 1]

    def _both(self, codes: Codes) -> Int[np.ndarray, "n 2"]:
        """Return the codes of the labels of both halves, by those of pairs."""
        return np.stack(np.divmod(codes, self.pool.n_classes), axis=-1)

    def _pairs_of(self, items: Int[np.ndarray, " n"]) -> Units:
        pairs = self._pair[items]
        if (pairs < 0).any():
            (first, second), wrong = self.sides, items[pairs < 0][0]
            raise LabelError(
                f"Item {show(self.pool.ids[wrong])} is of neither {first} nor {second}, and has no part in this "
                "comparison; leave it out."
            )
        return pairs

    def _check_whole(self, single: Units) -> None:
        """Refuse pairs of which one half has no label."""
        if len(single):
            names = [show(name) for name in self.names_of(single[:_NAMED]).tolist()]
            more = f" and {len(single) - _NAMED:,} more" if len(single) > _NAMED else ""
            raise LabelError(
                f"Both halves of a pair are told together; of {self.pair} {', '.join(names)}{more} one half has no "
                "label. Nothing was taken: label the other half, or leave the pair out."
            )
