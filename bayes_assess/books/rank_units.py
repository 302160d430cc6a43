"""Ranks of a list as units: labels are of those alone that were drawn."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.books.ranks import RankBook
from bayes_assess.errors import PoolError, UnknownIdError
from bayes_assess.pool._ids import id_array
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.units import Units, UnitSource


class RankUnits(UnitSource):
    """Ranks of a list, 1 to N.

    Parameters
    ----------
    ranked : RankedList
    book : RankBook
        Which knows the ranks that were drawn.
    """

    one_label: ClassVar[bool] = True

    def __init__(self, ranked: RankedList, book: RankBook):
        self._list, self._book = ranked, book
        self.label_space = ranked.label_space
        self._ranks: dict[Hashable, int] = {}  # of ids handed out, where the list cannot find them

    def find(self, ids: ArrayLike) -> Units:
        """Return ranks by ids; raise `UnknownIdError` at the first that was not drawn."""
        ids = id_array(ids)
        ranks = self._list.ranks_of(ids)
        if ranks is None:
            ranks = np.array([self._ranks.get(name, 0) for name in self._list.names_of(ids)], np.int64)
        unasked = np.flatnonzero(~self._book.was_asked(ranks))
        if len(unasked):
            raise UnknownIdError(
                f"Item {show(ids[unasked[0]])} was not asked for; a ranked list takes labels of items that it drew at "
                "random, and of no others."
            )
        return ranks

    def ids_of(self, units: Units) -> np.ndarray:
        """Return ids by rank."""
        return self._list.ids_at(units)

    def known_as(self, id: Hashable) -> Hashable:
        """Return an id as the list has it, of any item that the list can find, or else of those drawn."""
        ranks = self._list.ranks_of([id])
        return self.ids_of(self.find([id]) if ranks is None else ranks).tolist()[0]

    def adopt(self, ids: np.ndarray, ranks: Units) -> None:
        """Know ids that are handed out, where the list cannot find them; raise PoolError if one is that of several."""
        self._ranks |= self.new_names(ids, ranks)

    def new_names(self, ids: np.ndarray, ranks: Units) -> dict[Hashable, int]:
        """Return the ranks of ids that the list cannot find, or raise PoolError if one is that of several."""
        if self._list.id_at is None:
            return {}
        new: dict[Hashable, int] = {}
        for name, rank in zip(ids.tolist(), ranks.tolist(), strict=True):
            earlier = self._ranks.get(name, new.get(name))
            if earlier is not None and earlier != rank:
                raise PoolError(f"id_at gave the id {show(name)} to ranks {earlier:,} and {rank:,}; give each its own.")
            new[name] = rank
        return new
