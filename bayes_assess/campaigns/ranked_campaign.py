"""A campaign on a ranked list as its events have made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.campaigns.book import Codes, Units
from bayes_assess.campaigns.journal import Event
from bayes_assess.campaigns.ranks import RankBook
from bayes_assess.campaigns.runs import runs_of
from bayes_assess.campaigns.session import Session
from bayes_assess.designs.ranked import RankedDesign, check_budget
from bayes_assess.errors import BayesAssessError, PoolError, UnknownIdError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve


class RankedCampaign(Session[RankBook]):
    """What events have made of a ranked list and a design; sessions add what people call.

    Parameters
    ----------
    pool : RankedList
    question : PrecisionCurve
    design : RankedDesign
    seed : int

    Raises
    ------
    BudgetError
        If the design cannot keep the question's promise within its budget.
    """

    question: PrecisionCurve

    def __init__(self, pool: RankedList, question: PrecisionCurve, design: RankedDesign, seed: int):
        super().__init__()
        self.pool, self.question, self.design = pool, question, design
        self._seed = seed
        if question.budget is not None:
            check_budget(design, question.promise, pool.n_items, question.budget)
        self._begin()

    def _begin(self) -> None:
        """Start without events."""
        self._items = RankBook(self.design, self.question.promise, self.pool.n_items, self._seed)
        self._ranks: dict[Any, int] = {}  # of ids handed out, where the list cannot find them
        self._codes: dict[int, int] = {}  # of labels, by rank

    @property
    def n_remaining(self) -> int:
        """Items that the design wants next, as far as it can tell before their labels are known."""
        return int(self._items.lacking.sum())

    @property
    def done(self) -> bool:
        """Whether the design needs no more labels; `ask` then returns no items."""
        return self._items.done

    @property
    def handed_out(self) -> Pool:
        """The items asked for so far, in the order of the list, as a pool; their predictions mean nothing."""
        ids, classes = self.pool.ids_at(self._items.taken), self.pool.label_space.classes
        return Pool(predictions=np.full(len(ids), classes[0]), ids=ids, classes=classes)

    @property
    def _pending(self) -> Units:
        return self._items.pending

    @property
    def _skipped(self) -> Units:
        return self._items.skipped

    @property
    def _labelled(self) -> tuple[Units, Codes]:
        ranks = self._items.labels.ranks
        return ranks, self._codes_of(ranks)

    def _find(self, ids: ArrayLike) -> Units:
        ids = np.atleast_1d(values_of(ids))
        ranks = self.pool.ranks_of(ids)
        if ranks is None:
            ranks = np.array([self._ranks.get(name, 0) for name in self.pool.names_of(ids)], np.int64)
        unasked = np.flatnonzero(self._items.unseen(ranks))
        if len(unasked):
            raise UnknownIdError(
                f"Item {show(ids[unasked[0]])} was not asked for; a ranked list takes labels of items that it drew at "
                "random, and of no others."
            )
        return ranks

    def _ids_of(self, units: Units) -> np.ndarray:
        return self.pool.ids_at(units)

    def _codes_of(self, units: Units) -> Codes:
        return np.array([self._codes.get(rank, -1) for rank in units.tolist()], np.int64)

    def _take_labels(self, units: Units, codes: Codes, right: Mapping[int, int], annotators: Any = None) -> None:
        self._codes.update(zip(units.tolist(), codes.tolist(), strict=True))
        self._items.tell(units, codes == self.pool.positive)

    def _set_aside(self, units: Units) -> None:
        self._items.skip(units)

    def _put_back(self, units: Units) -> None:
        self._items.put_back(units)

    def _decide(self, kind: str, units: Units, codes: Codes) -> None:
        self._write(kind, self._labelling(units, codes))
        self._put_right(units, codes)

    def _put_right(self, ranks: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        self._codes.update(zip(ranks.tolist(), codes.tolist(), strict=True))
        self._items.correct(ranks, codes == self.pool.positive)

    def _hand_out(self, ids: np.ndarray, ranks: Int[np.ndarray, " n"]) -> None:
        self._items.hand_out(ranks)
        if self.pool.id_at is not None:
            new = dict(zip(ids.tolist(), ranks.tolist(), strict=True))
            if len(new) < len(ids) or any(self._ranks.get(name, rank) != rank for name, rank in new.items()):
                raise PoolError("id_at gave one id to several ranks; ids must be distinct.")
            self._ranks |= new

    def _follow_others(self, events: Sequence[Event]) -> None:
        self._follow(events)
        self._events.extend(events)

    def _restart(self, events: Sequence[Event]) -> None:
        self._begin()
        self._follow(events)

    def _follow(self, events: Sequence[Event]) -> None:
        for run in runs_of(events, ("tell",)):
            if len(run) == 1 or not self._follow_tells(run):
                for event in run:
                    self._follow_one(event, self._record, {})

    def _follow_tells(self, events: Sequence[Event]) -> bool:
        """Learn labels told one by one together; tell whether they could be, and change nothing if not."""
        ids = [name for event in events for name in event.payload["ids"]]
        try:
            ranks, codes = self._find(ids), self._codes_in([event.payload for event in events])
        except (BayesAssessError, LookupError, TypeError, ValueError):  # found again, and named, one by one
            return False
        if len(np.unique(ranks)) < len(ranks) or (self._codes_of(ranks) >= 0).any():
            return False
        start = 0
        while start < len(ranks):  # the plan is refined at the label that it had lacked, not later
            end = start + max(self._items.n_wanted, 1)
            self._take_labels(ranks[start:end], codes[start:end], {})
            start = end
        return True

    def _units_in(self, event: Event) -> Units:
        if event.kind == "ask":
            return np.asarray(event.payload["ranks"], np.int64)
        if event.kind == "note":  # which may be on any item
            return np.zeros(0, np.int64)
        return self._find(event.payload["ids"])

    def _follow_ask(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        """Hand out items; tell whether the design wanted them."""
        if not self._items.unseen(units).all():
            return False
        lacking = self._items.lacking
        self._hand_out(self.pool.ids_at(units), units)
        return bool((self._items.lacking <= lacking).all())

    def _follow_correct(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        """Put labels right; tell whether there were any."""
        if (self._codes_of(units) < 0).any():
            return False
        self._put_right(units, self._codes_in([entry]))
        return True
