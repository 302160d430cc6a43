"""A campaign on a ranked list as its events have made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.shapes import Int
from bayes_assess.campaigns.journal import Event
from bayes_assess.campaigns.ranks import RankBook
from bayes_assess.campaigns.runs import runs_of
from bayes_assess.campaigns.turns import TakesTurns, readable
from bayes_assess.designs.ranked import RankedDesign, check_budget
from bayes_assess.errors import BayesAssessError, JournalError, PoolError, UnknownIdError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve


class RankedCampaign(TakesTurns):
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

    def __init__(self, pool: RankedList, question: PrecisionCurve, design: RankedDesign, seed: int):
        super().__init__()
        self.pool, self.question, self.design = pool, question, design
        self._seed = seed
        if question.budget is not None:
            check_budget(design, question.promise, pool.n_items, question.budget)
        self._begin()

    def _begin(self) -> None:
        """Start without events."""
        self._book = RankBook(self.design, self.question.promise, self.pool.n_items, self._seed)
        self._ranks: dict[Any, int] = {}  # of ids handed out, where the list cannot find them
        self._codes: dict[int, int] = {}  # of labels, by rank

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self._book.labels.n_labelled

    @property
    def n_pending(self) -> int:
        """Items handed out and not labelled yet."""
        return self._book.n_pending

    @property
    def n_skipped(self) -> int:
        """Items set aside."""
        return len(self._book.skipped)

    @property
    def n_remaining(self) -> int:
        """Items that the design wants next, as far as it can tell before their labels are known."""
        return int(self._book.lacking.sum())

    @property
    def done(self) -> bool:
        """Whether the design needs no more labels; `ask` then returns no items."""
        return self._book.done

    @property
    def pending(self) -> np.ndarray:
        """Ids of the items handed out and not labelled yet, in the order of the list."""
        return self.pool.ids_at(self._book.pending)

    @property
    def handed_out(self) -> Pool:
        """The items asked for so far, in the order of the list, as a pool; their predictions mean nothing."""
        ids, classes = self.pool.ids_at(self._book.taken), self.pool.label_space.classes
        return Pool(predictions=np.full(len(ids), classes[0]), ids=ids, classes=classes)

    @property
    def labelled(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and labels of the items that are labelled, in the order of the list."""
        ranks = self._book.labels.ranks
        return self.pool.ids_at(ranks), self.pool.label_space.names(self._codes_of(ranks))

    @property
    def skipped(self) -> np.ndarray:
        """Ids of the items set aside, in the order of the list."""
        return self.pool.ids_at(self._book.skipped)

    def _ranks_of(self, ids: np.ndarray) -> Int[np.ndarray, " n"]:
        ranks = self.pool.ranks_of(ids)
        if ranks is None:
            ranks = np.array([self._ranks.get(name, 0) for name in self.pool.names_of(ids)], np.int64)
        unasked = np.flatnonzero(~self._book.is_taken(ranks))
        if len(unasked):
            raise UnknownIdError(
                f"Item {show(ids[unasked[0]])} was not asked for; a ranked list takes labels of items that it drew at "
                "random, and of no others."
            )
        return ranks

    def _codes_of(self, ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the codes of labels, -1 where there is none."""
        return np.array([self._codes.get(rank, -1) for rank in ranks.tolist()], np.int64)

    def _learn(self, ranks: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        self._codes.update(zip(ranks.tolist(), codes.tolist(), strict=True))
        self._book.tell(ranks, codes == self.pool.positive)

    def _put_right(self, ranks: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        self._codes.update(zip(ranks.tolist(), codes.tolist(), strict=True))
        self._book.correct(ranks, codes == self.pool.positive)

    def _hand_out(self, ids: np.ndarray, ranks: Int[np.ndarray, " n"]) -> None:
        self._book.hand_out(ranks)
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
                    self._follow_one(event)

    def _follow_one(self, event: Event) -> None:
        record, follow = self._record, getattr(self, f"_follow_{event.kind}", None)
        if follow is None:
            raise JournalError(
                f"Entry {event.sequence} of {record} is of the unknown kind {event.kind!r}; "
                "a newer release may have written it; upgrade bayes_assess to open it."
            )
        with readable(event, record):
            followed = follow(event.payload)
        if not followed:
            raise JournalError(
                f"{record[0].upper()}{record[1:]} contradicts itself in entry {event.sequence}; it was changed by hand "
                "or by another release. Go back to an older copy, or start a new one."
            )

    def _follow_tells(self, events: Sequence[Event]) -> bool:
        """Learn labels told one by one together; tell whether they could be, and change nothing if not."""
        entry = {name: [value for event in events for value in event.payload[name]] for name in ("ids", "labels")}
        try:
            ranks, codes = self._recorded(entry)
        except (BayesAssessError, LookupError, TypeError, ValueError):  # found again, and named, one by one
            return False
        if len(np.unique(ranks)) < len(ranks) or (self._codes_of(ranks) >= 0).any():
            return False
        start = 0
        while start < len(ranks):  # the plan is refined at the label that it had lacked, not later
            end = start + max(self._book.n_wanted, 1)
            self._learn(ranks[start:end], codes[start:end])
            start = end
        return True

    def _follow_ask(self, entry: Mapping[str, Any]) -> bool:
        """Hand out items; tell whether the design wanted them."""
        ranks = np.asarray(entry["ranks"], np.int64)
        if self._book.is_taken(ranks).any():
            return False
        lacking = self._book.lacking
        self._hand_out(self.pool.ids_at(ranks), ranks)
        return bool((self._book.lacking <= lacking).all())

    def _follow_tell(self, entry: Mapping[str, Any]) -> bool:
        """Learn labels; tell whether there were none."""
        ranks, codes = self._recorded(entry)
        if len(np.unique(ranks)) < len(ranks) or (self._codes_of(ranks) >= 0).any():
            return False
        self._learn(ranks, codes)
        return True

    def _follow_correct(self, entry: Mapping[str, Any]) -> bool:
        """Put labels right; tell whether there were any."""
        ranks, codes = self._recorded(entry)
        if (self._codes_of(ranks) < 0).any():
            return False
        self._put_right(ranks, codes)
        return True

    def _follow_skip(self, entry: Mapping[str, Any]) -> bool:
        """Set items aside; tell whether they could be."""
        ranks = self._ranks_of(values_of(entry["ids"]))
        if (self._codes_of(ranks) >= 0).any() or np.isin(ranks, self._book.skipped).any():
            return False
        self._book.skip(ranks)
        return True

    def _follow_release(self, entry: Mapping[str, Any]) -> bool:
        """Let items be drawn again; tell whether they had no label."""
        ranks = self._ranks_of(values_of(entry["ids"]))
        self._book.put_back(ranks)
        return bool((self._codes_of(ranks) < 0).all())

    def _follow_note(self, entry: Mapping[str, Any]) -> bool:
        """Change nothing: notes stand beside labels."""
        return True

    def _recorded(self, entry: Mapping[str, Any]) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        return self._ranks_of(values_of(entry["ids"])), self.pool.label_space.codes(entry["labels"])
