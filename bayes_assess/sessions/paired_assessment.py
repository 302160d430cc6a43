"""The session on pairs of items, both halves of which are asked for and told together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import first_true, is_whole, show
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.books.book import Codes, Units
from bayes_assess.books.items import ItemBook
from bayes_assess.designs import Design
from bayes_assess.errors import BudgetError, DesignError, LabelError
from bayes_assess.pool.labels import check_labelled, read_labels
from bayes_assess.pool.pairs import PairPool
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import PairedComparison, Question, Setting
from bayes_assess.sessions.assessment import Assessment, ResultT_co
from bayes_assess.sessions.queries import Queries
from bayes_assess.sessions.team.no_disagreements import OneAnnotator
from bayes_assess.sessions.turns import in_turn

_NAMED = 3  # pairs that a message names


class PairedAssessment(OneAnnotator[Pool, Question, Design, ItemBook], Assessment[ResultT_co]):
    """A campaign on pairs, made by `assess` or `resume`: as `Assessment`, of whole pairs.

    Everything is counted in items and labels, two for every pair. Labels are told of both halves at a time, and
    corrected of one or both; a pair is set aside, released and noted by either of its items. The journal has the names
    of pairs, their differences and the labels of their halves.

    Attributes
    ----------
    pool : Pool
        That of the halves.
    question, design, cells, prior
        As of `Assessment`; the cells are of pairs.
    """

    _pool: PairPool

    def __init__(
        self, pool: PairPool, question: PairedComparison, design: Design, setting: Setting, seed: int, engine: str
    ):
        super().__init__(pool, question, design, setting, seed, engine)
        self.pool, self._comparison = pool.whole, question
        self._halves = np.stack([pool.pairs.first, pool.pairs.second], axis=1)  # (P, 2)
        self._pair = np.full(pool.whole.n_items, -1)  # of every item, -1 for those of other groups
        self._pair[self._halves] = np.arange(pool.n_items)[:, None]

    @property
    def labelled(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and labels of the items that are labelled, in pool order."""
        pairs, codes = self._items.told
        items, both = self._halves[pairs].ravel(), self._both(codes).ravel()
        order = np.argsort(items)
        return self.pool.ids[items[order]], self.pool.label_space.names(both[order])

    @in_turn
    def ask(self, n: int = 2, *, posterior: object = None, annotator: str | None = None) -> Queries:
        """Choose the next pairs to label, and hand out both halves of each.

        Parameters
        ----------
        n : int
            Items: an even number, two for every pair.
        posterior : None
            Pairs are chosen by the session's own belief.
        annotator : str, optional
            Who is to label them, which the journal keeps.

        Raises
        ------
        BudgetError
            If `n` is no positive even number, or fewer items remain.
        DesignError
            If another posterior is given.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> groups = {"system": ["a", "a", "b", "b"], "prompt": ["p", "q", "q", "p"]}
        >>> pool = ba.Pool(predictions=[1, 0, 1, 1], groups=groups)
        >>> a = ba.assess(pool, ba.Compare("a", "b", by="system", measure="rate", pair="prompt"), seed=1)
        >>> a.ask(2).ids.tolist()  # the answers of both systems to prompt q
        [1, 2]
        """
        if posterior is not None:
            raise DesignError("Pairs are chosen by the session's own belief; leave out the other posterior.")
        if not is_whole(n, 2) or n % 2:
            raise BudgetError(f"Items are asked for in pairs: ask for a positive even number of them; found {show(n)}.")
        if n > self.n_remaining:
            raise BudgetError(
                f"Asked for {n:,} items, but only {self.n_remaining:,} in pairs are neither labelled nor pending; ask "
                f"for at most {self.n_remaining:,}."
            )
        return self._choose(int(n) // 2, None, annotator)

    def labelled_with(self, ids: ArrayLike) -> np.ndarray:
        """Return the ids of both halves of the pairs of these items, (n, 2)."""
        return self.pool.ids[self._halves[self._find(ids)]]

    def recorded_as(self, names: ArrayLike) -> np.ndarray:
        """Return the ids of both halves of pairs by the pairs' ids, (n, 2)."""
        return self.pool.ids[self._halves[self._units_named(names)]]

    def __repr__(self) -> str:
        return (
            f"PairedAssessment({self.question.name} by {self._comparison.by}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {2 * self._pool.n_items:,} items in pairs labelled, {self.n_pending:,} pending)"
        )

    # A code of a pair is c C + d, of the labels c and d of its halves.

    def _code(self, both: Int[np.ndarray, "n 2"]) -> Codes:
        return both[:, 0] * self.pool.n_classes + both[:, 1]

    def _both(self, codes: Codes) -> Int[np.ndarray, "n 2"]:
        """Return the codes of the labels of both halves, by those of pairs."""
        return np.stack(np.divmod(codes, self.pool.n_classes), axis=-1)

    def _counted(self, codes: Codes) -> Codes:
        return np.where(codes < 0, codes, self._pool.place.ravel()[codes])

    def _n_differing(self, codes: Codes, others: Codes) -> int:
        return int((self._both(codes) != self._both(others)).sum())

    def _find(self, ids: ArrayLike) -> Units:
        return self._pairs_of(self.pool.positions(ids))

    def _ids_of(self, units: Units) -> np.ndarray:
        return self.pool.ids[np.sort(self._halves[units].ravel())]

    def _names_of(self, units: Units) -> np.ndarray:
        return self._pool.ids[units]

    def _units_named(self, names: ArrayLike) -> Units:
        return self._pool.positions(names)

    def _labelling(self, units: Units, codes: Codes) -> dict[str, object]:
        differences = self._pool.label_space.names(self._counted(codes))
        halves = self.pool.label_space.names(self._both(codes)).tolist()
        return {"ids": self._names_of(units), "labels": differences, "halves": halves}

    def _any_labelling(self, units: Units) -> dict[str, object]:
        return self._labelling(units, np.zeros(len(units), np.int64))

    def _codes_in(self, entries: Sequence[Mapping[str, Any]]) -> Codes:
        halves = [label for entry in entries for label in chain.from_iterable(entry["halves"])]
        return self._code(self.pool.label_codes(halves).reshape(-1, 2).astype(np.int64))

    def _pairs_of(self, items: Int[np.ndarray, " n"]) -> Units:
        found = self._pair[items]
        if (found < 0).any():
            question, wrong = self._comparison, items[found < 0][0]
            raise LabelError(
                f"Item {show(self.pool.ids[wrong])} is of neither {question.first} nor {question.second}, and has no "
                "part in this comparison; leave it out."
            )
        return found

    def _read(self, ids: ArrayLike, labels: ArrayLike, *, correcting: bool = False) -> tuple[Units, Codes]:
        """Join the labels of halves; refuse single ones, unless the pair has both labels already."""
        space, unknown = self.pool.label_space, lambda items: np.full(len(items), -1)
        items, codes = read_labels(space, ids, labels, self.pool.positions, unknown)
        pairs, place = np.unique(self._pairs_of(items), return_inverse=True)
        before = self._items.codes_of(pairs)
        if correcting:
            check_labelled(before[place], self.pool.ids[items])
        both = np.where(before[:, None] < 0, -1, self._both(before))
        both[place, (self._halves[pairs[place], 1] == items).astype(int)] = codes
        self._check_whole(pairs[(both < 0).any(1)])
        now = self._code(both)
        wrong = None if correcting else first_true((before >= 0) & (before != now))
        if wrong is not None:
            halves = space.names(self._both(np.array([before[wrong], now[wrong]]))).tolist()
            one, other = (", ".join(map(show, labels)) for labels in halves)
            raise LabelError(
                f"The halves of pair {show(self._pool.ids[pairs[wrong]])} are already labelled {one}, and {other} "
                "contradicts that. Nothing was taken: leave the pair out, or correct its labels."
            )
        return pairs, now

    def _check_whole(self, single: Units) -> None:
        """Refuse pairs of which one half has no label."""
        if len(single):
            names = [show(name) for name in self._names_of(single[:_NAMED]).tolist()]
            more = f" and {len(single) - _NAMED:,} more" if len(single) > _NAMED else ""
            raise LabelError(
                f"Both halves of a pair are told together; of {self._comparison.pair} {', '.join(names)}{more} one "
                "half has no label. Nothing was taken: label the other half, or leave the pair out."
            )

    def _queries(self, items: Int[np.ndarray, " n"], weights: np.ndarray) -> Queries:
        """Return queries of both halves of every pair, one after the other."""
        halves, pool = self._halves[items].ravel(), self.pool
        cells, groups = np.repeat(self._items.cells_of(items), 2), pool.groups[self._comparison.by][halves]
        scores = None if pool.confidence is None else pool.confidence[halves]
        return self._sheet(halves, cells, np.repeat(weights, 2), groups, scores)
