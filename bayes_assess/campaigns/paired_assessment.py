"""The session on pairs of items, both halves of which are asked for and told together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.campaigns.annotators import OneAnnotator
from bayes_assess.campaigns.export import NotExporting
from bayes_assess.campaigns.journal import Event
from bayes_assess.campaigns.pair_session import PairSession
from bayes_assess.campaigns.queries import Queries
from bayes_assess.campaigns.turns import Note, in_turn
from bayes_assess.designs import Design
from bayes_assess.errors import BudgetError, LabelError
from bayes_assess.pool.labels import read_labels
from bayes_assess.pool.pairs import PairPool
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import PairedComparison, Setting
from bayes_assess.results.plan import Plan

_NAMED = 3  # pairs that a message names


class PairedAssessment(NotExporting, OneAnnotator):
    """A campaign on pairs, made by `assess` or `resume`: as `Assessment`, of whole pairs.

    Everything is counted in items and labels, two for every pair.

    Attributes
    ----------
    pool : Pool
        That of the halves.
    question, design, cells, prior
        As of `Assessment`; the cells are of pairs.
    """

    def __init__(
        self, pool: PairPool, question: PairedComparison, design: Design, setting: Setting, seed: int, engine: str
    ):
        self.pool: Pool = pool.whole
        self._pool = pool
        self._session = PairSession(pool, question, design, setting, seed, engine)
        self._halves = np.stack([pool.pairs.first, pool.pairs.second], axis=1)  # (P, 2)
        self._pair = np.full(pool.whole.n_items, -1)  # of every item, -1 for those of other groups
        self._pair[self._halves] = np.arange(pool.n_items)[:, None]

    @property
    def question(self) -> Any:
        """What is asked."""
        return self._session.question

    @property
    def design(self) -> Design:
        """How pairs are chosen."""
        return self._session.design

    @property
    def cells(self) -> Any:
        """The pairs as decisions see them."""
        return self._session.cells

    @property
    def prior(self) -> Any:
        """Prior of every cell."""
        return self._session.prior

    @property
    def journal(self) -> Any:
        """The journal, if there is one."""
        return self._session.journal

    @journal.setter
    def journal(self, book: Any) -> None:
        self._session.journal = book

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return 2 * self._session.labels_used

    @property
    def n_pending(self) -> int:
        """Items handed out and not labelled yet."""
        return 2 * self._session.n_pending

    @property
    def n_skipped(self) -> int:
        """Items set aside."""
        return 2 * self._session.n_skipped

    @property
    def n_remaining(self) -> int:
        """Items that may still be asked for."""
        return 2 * self._session.n_remaining

    @property
    def done(self) -> bool:
        """Whether no pair is left to ask for."""
        return self._session.done

    @property
    def pending(self) -> np.ndarray:
        """Ids of the items handed out and not labelled yet, in pool order."""
        return self._ids(self._session.pending)

    @property
    def skipped(self) -> np.ndarray:
        """Ids of the items set aside, in pool order."""
        return self._ids(self._session.skipped)

    @property
    def labelled(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and labels of the items that are labelled, in pool order."""
        told = self._session.told
        codes = {item: code for pair, both in told.items() for item, code in zip(self._halves[pair], both, strict=True)}
        items = np.array(sorted(codes), np.intp)
        return self.pool.ids[items], self.pool.label_space.names(np.array([codes[i] for i in items], np.intp))

    @property
    def pending_queries(self) -> Queries:
        """The items handed out and not labelled yet, as `ask` returned them, pair by pair."""
        return self._of_halves(self._session.pending_queries)

    @in_turn
    def ask(self, n: int = 2, *, annotator: str | None = None) -> Queries:
        """Choose the next pairs to label, and hand out both halves of each.

        Parameters
        ----------
        n : int
            Items: an even number, two for every pair.
        annotator : str, optional
            Who is to label them, which the journal keeps.

        Raises
        ------
        BudgetError
            If `n` is no positive even number, or fewer items remain.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> groups = {"system": ["a", "a", "b", "b"], "prompt": ["p", "q", "q", "p"]}
        >>> pool = ba.Pool(predictions=[1, 0, 1, 1], groups=groups)
        >>> a = ba.assess(pool, ba.Compare("a", "b", by="system", measure="rate", pair="prompt"), seed=1)
        >>> a.ask(2).ids.tolist()  # the answers of both systems to prompt q
        [1, 2]
        """
        if not is_whole(n, 2) or n % 2:
            raise BudgetError(f"Items are asked for in pairs: ask for a positive even number of them; found {show(n)}.")
        if n > self.n_remaining:
            raise BudgetError(
                f"Asked for {n:,} items, but only {self.n_remaining:,} in pairs are neither labelled nor pending; ask "
                f"for at most {self.n_remaining:,}."
            )
        return self._of_halves(self._session.ask(int(n) // 2, annotator=annotator))

    @in_turn
    def tell(self, ids: ArrayLike, labels: ArrayLike, *, annotator: Any = None) -> None:
        """Learn the labels of pairs, both halves at a time. All are taken, or none.

        Parameters
        ----------
        ids : (n,) item ids
        labels : (n,) class names
            None, NaN, a masked value or an empty text means that the item is not labelled yet, nor then is its pair.
        annotator : None
            Comparisons of pairs keep one label of every item, whoever told it.

        Raises
        ------
        LabelError
            If only one half of a pair has a label, or a label is not one of the classes or contradicts another.
        UnknownIdError
            If an id is not in the pool.
        """
        if annotator is not None:
            self._tell_named(ids, labels, annotator)
        pairs, both = self._joined(ids, labels)
        if len(pairs):
            self._session.tell_halves(pairs, both)

    @in_turn
    def correct(self, ids: ArrayLike, labels: ArrayLike) -> int:
        """Put labels right that were told wrong, of one half of a pair or of both; say how many changed."""
        items, codes = self._checked(ids, labels)
        told = self._session.told
        wrong: dict[int, tuple[int, ...]] = {}
        changed = 0
        for item, code in zip(items.tolist(), codes.tolist(), strict=True):
            pair = int(self._pair[item])
            if pair not in told:
                raise LabelError(f"Item {show(self.pool.ids[item])} has no label yet that could be corrected; tell it.")
            side = int(self._halves[pair, 1] == item)
            found = list(wrong.get(pair, told[pair]))
            changed += found[side] != code
            found[side] = code
            wrong[pair] = tuple(found)
        if changed:
            self._session.correct_halves(np.array(list(wrong)), np.array(list(wrong.values())))
        return int(changed)

    @in_turn
    def skip(self, ids: ArrayLike) -> int:
        """Set the pairs of these items aside, of which nobody can label a half; say how many items that are."""
        return 2 * self._session.skip(self._pair_ids(ids))

    @in_turn
    def release(self, ids: ArrayLike) -> int:
        """Let the pairs of these items be asked for again; say how many items that are."""
        return 2 * self._session.release(self._pair_ids(ids))

    @in_turn
    def result(self, level: float = 0.95) -> Any:
        """Answer the question from the labels told so far, see `Assessment.result`."""
        return self._session.result(level)

    def plan(self, width: float | None = None, **options: Any) -> Plan:
        """Say how many more labels it takes until enough is known, see `Assessment.plan`; two for every pair."""
        found: Plan = self._session.plan(width, **options)
        return replace(
            found,
            labels_used=2 * found.labels_used,
            n_items=2 * found.n_items,
            budgets=2 * found.budgets,
            needed=2 * found.needed,
            random=None if found.random is None else 2 * found.random,
        )

    def __repr__(self) -> str:
        return (
            f"PairedAssessment({self.question.name} by {self.question.by}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {2 * self._pool.n_items:,} items in pairs labelled, {self.n_pending:,} pending)"
        )

    def catch_up(self) -> int:
        """Follow what others have written to the journal, see `Assessment.catch_up`."""
        return self._session.catch_up()

    def rehearse(self) -> None:
        """Compile what the next label will need, see `Assessment.rehearse`."""
        self._session.rehearse()

    @property
    def engine(self) -> str:
        """What runs the design's steps, see `assess`."""
        return self._session.engine

    @property
    def events(self) -> tuple[Event, ...]:
        """All that has happened so far, in order; ids are those of pairs."""
        return self._session.events

    @property
    def notes(self) -> tuple[Note, ...]:
        """What annotators wrote beside their labels, in order, on pairs."""
        return self._session.notes

    def note(self, id: Any, text: str, *, annotator: str | None = None) -> None:
        """Keep a note on the pair of an item, see `Assessment.note`."""
        self._session.note(self._pair_ids([id])[0], text, annotator=annotator)

    def halves_of(self, ids: ArrayLike) -> np.ndarray:
        """Return the ids of both halves of the pairs of these items, (n, 2)."""
        return self.pool.ids[self._halves[self._pairs_of(self.pool.positions(ids))]]

    def halves_named(self, pairs: Any) -> np.ndarray:
        """Return the ids of both halves of pairs by the pairs' ids, (n, 2)."""
        return self.pool.ids[self._halves[self._pool.positions(pairs)]]

    def _take_turn(self, act: Callable[[], Any]) -> Any:
        return self._session._take_turn(act)

    def _replay(self, book: Any) -> None:
        self._session._replay(book)

    def _ids(self, pairs: np.ndarray) -> np.ndarray:
        """Return the ids of both halves of pairs, in pool order."""
        return self.pool.ids[np.sort(self._halves[self._pool.positions(pairs)].ravel())]

    def _pair_ids(self, ids: ArrayLike) -> np.ndarray:
        return self._pool.ids[np.unique(self._pairs_of(self.pool.positions(ids)))]

    def _pairs_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        found = self._pair[items]
        if (found < 0).any():
            question, wrong = self.question, items[found < 0][0]
            raise LabelError(
                f"Item {show(self.pool.ids[wrong])} is of neither {question.first} nor {question.second}, and has no "
                "part in this comparison; leave it out."
            )
        return found

    def _checked(self, ids: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of items with labels, each once, and the codes of these."""
        space, unknown = self.pool.label_space, lambda items: np.full(len(items), -1)
        items, codes = read_labels(space, ids, labels, self.pool.positions, unknown)
        self._pairs_of(items)
        return items, codes

    def _joined(self, ids: ArrayLike, labels: ArrayLike) -> tuple[Int[np.ndarray, " p"], Int[np.ndarray, "p 2"]]:
        """Join the halves of pairs; refuse single ones."""
        items, codes = self._checked(ids, labels)
        pairs = np.unique(self._pair[items])
        both = np.full((len(pairs), 2), -1)
        place = np.searchsorted(pairs, self._pair[items])
        both[place, (self._halves[self._pair[items], 1] == items).astype(int)] = codes
        single = np.flatnonzero((both < 0).any(1))
        if len(single):
            names = [show(self._pool.ids[pairs[i]]) for i in single[:_NAMED].tolist()]
            more = f" and {len(single) - _NAMED:,} more" if len(single) > _NAMED else ""
            raise LabelError(
                f"Both halves of a pair are told together; of {self.question.pair} {', '.join(names)}{more} one half "
                "has no label. Nothing was taken: label the other half, or leave the pair out."
            )
        return pairs, both

    def _of_halves(self, queries: Queries) -> Queries:
        """Return queries of both halves of every pair, one after the other."""
        pairs = self._pool.positions(queries.ids)
        items, pool = self._halves[pairs].ravel(), self.pool
        return Queries(
            ids=pool.ids[items],
            cells=np.repeat(queries.cells, 2),
            weights=np.repeat(queries.weights, 2),
            groups=pool.groups[self.question.by][items],
            predictions=pool.prediction_names(items),
            scores=None if pool.confidence is None else pool.confidence[items],
            show={name: values[items] for name, values in pool.show.items()},
            choices=pool.label_space.choices,
            label_space=pool.label_space,
        )
