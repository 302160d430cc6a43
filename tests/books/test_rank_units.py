"""Ranks of a list, by the ids that people name them by."""

from __future__ import annotations

import pytest

import bayes_assess as ba
from bayes_assess.books.rank_units import RankUnits
from bayes_assess.books.ranks import RankBook
from bayes_assess.designs.ranked import AdaStrat
from bayes_assess.errors import PoolError, UnknownIdError


def test_ids_that_a_list_cannot_find_are_known_once_they_are_handed_out():
    ranked = ba.RankedList(100, id_at=lambda ranks: [f"row {rank}" for rank in ranks])
    book = RankBook(AdaStrat(), ba.PrecisionCurve(p_min=0.5).promise, 100, seed=0)
    units = RankUnits(ranked, book)
    ranks = book.draw(2)
    with pytest.raises(UnknownIdError, match="was not asked for"):
        units.find(units.ids_of(ranks))
    units.adopt(units.ids_of(ranks), ranks)
    book.hand_out(ranks)
    assert units.find(units.ids_of(ranks)).tolist() == ranks.tolist()
    with pytest.raises(PoolError, match="give each its own"):
        units.new_names(units.ids_of(ranks), ranks[::-1])
