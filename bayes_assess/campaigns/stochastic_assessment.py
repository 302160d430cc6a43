"""The session with a stochastic oracle: every label is a draw from p(y | x), and an item may be asked again ([NH])."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from bayes_assess._tools.arrays import is_whole, missing_mask, show, values_of
from bayes_assess._tools.engine import eager
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess._tools.text import plural
from bayes_assess.campaigns.annotators import UNNAMED, annotator_names
from bayes_assess.campaigns.assessment import Assessment
from bayes_assess.campaigns.drawn_labels import AnswersBy, DrawBook, said_of_labels
from bayes_assess.campaigns.journal import Event
from bayes_assess.campaigns.open_steps import OpenSteps
from bayes_assess.campaigns.queries import Queries
from bayes_assess.campaigns.session import Units
from bayes_assess.campaigns.turns import in_turn
from bayes_assess.designs import Design, Draw, State, settle_batch, update_batch
from bayes_assess.errors import BudgetError, JournalError, LabelError
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Question, Setting


class StochasticAssessment(Assessment):
    """A campaign whose labels are draws, made by `assess(..., oracle="stochastic")` or `resume`: as `Assessment`.

    Every item that `ask` hands out is a draw of its own, of an item that may be out or have labels already; every label
    is that of a draw. Nothing is ever exact: p(y | x) is unknown, however often an item was asked.
    """

    repeats_items = True
    unknown_kinds = ("annotate", "resolve")

    def __init__(self, pool: Pool, question: Question, design: Design, setting: Setting, seed: int, engine: str):
        super().__init__(pool, question, design, setting, seed, engine)
        self._items: Any = DrawBook(self.cells, seed)
        self._annotators: Any = AnswersBy()

    @property
    def done(self) -> bool:
        """Whether all items were set aside; else another label always tells something."""
        return self.n_remaining == 0

    @property
    def pending(self) -> np.ndarray:
        """Ids of the items that are out, in pool order: as often as they were drawn and have no label for it yet."""
        return self.pool.ids[self._items.items_of(self._items.pending_draws)]

    @property
    def labelled(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and labels, one per label: in pool order, those of an item in the order of telling."""
        draws = self._items.labelled_draws
        return self.pool.ids[self._items.items_of(draws)], self.pool.label_space.names(self._items.codes_of(draws))

    @property
    def label_counts(self) -> tuple[np.ndarray, Int[np.ndarray, "n C"]]:
        """Ids of the items with labels, in pool order, and how often each has every label, (n, C)."""
        draws = self._items.labelled_draws
        items, place = np.unique(self._items.items_of(draws), return_inverse=True)
        counts = np.zeros((len(items), self.pool.n_classes), np.int64)
        np.add.at(counts, (place, self._items.codes_of(draws)), 1)
        return self.pool.ids[items], counts

    @property
    def pending_queries(self) -> Queries:
        """What is out, in pool order, as `ask` returned it."""
        draws = self._items.pending_draws
        return self._queries(self._items.items_of(draws), self._items.weights_of(draws))

    def _weighed_labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the items of draws with a label, its codes, and how many items of the pool each stands for."""
        book, draws = self._items, self._items.labelled_draws
        design: Any = self.design  # which weighs draws
        with eager(design.is_eager(self._state)):
            total = design.weighed(self._state)[0]
        weight = book.weights_of(draws) * self.pool.n_items / max(float(total.n), 1.0)
        return book.items_of(draws), book.codes_of(draws), weight

    @property
    def n_disagreements(self) -> int:
        """None: labels of an item may differ."""
        return 0

    @property
    def n_told(self) -> int:
        """Labels told so far."""
        return self.labels_used

    @in_turn
    def ask(self, n: int = 1, *, posterior: Any = None, annotator: str | None = None) -> Queries:
        """Draw the next `n` items to label, which may be the same item several times.

        Parameters
        ----------
        n : int
            At least 1; there is no limit.
        posterior : Belief, ArviZ object or array (S, K) or (S, K, C), optional
            As for `Assessment.ask`.
        annotator : str, optional
            Whom they are for, as for `Assessment.ask`.

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or all items were set aside.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0, 1])
        >>> a = ba.assess(pool, ba.Metric("accuracy"), design="passive", oracle="stochastic")
        >>> len(a.ask(10)), a.n_pending
        (10, 10)
        """
        if not is_whole(n):
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        if self.done:
            raise BudgetError("All items that can matter were set aside; release some of them to ask again.")
        return self._choose(int(n), posterior, annotator)

    @in_turn
    def tell(self, ids: Any, labels: Any, *, annotator: Any = None) -> None:
        """Learn labels of draws that are out: any of them, in any order. All are taken, or none.

        An id that occurs several times has several labels, which may differ. Labels are taken for the oldest draws of
        their item. As every label is a draw of its own, the same sheet must not be told twice.

        Parameters
        ----------
        ids : (n,) item ids
        labels : (n,) class names
            None, NaN, a masked value or an empty text means that there is no label yet.
        annotator : str, or array (n,) of them, optional
            Who told the labels; the summary says how many each has told.

        Raises
        ------
        LabelError
            If there are more labels of an item than draws of it that have none, lengths differ, or a label is not one
            of the classes.
        UnknownIdError
            If an id is not in the pool.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat", "dog"])
        >>> a = ba.assess(pool, ba.Metric("accuracy"), design="passive", oracle="stochastic")
        >>> queries = a.ask(40)
        >>> a.tell(queries.ids, ["cat", "dog"] * 20)
        >>> a.labels_used, a.n_pending
        (40, 0)
        >>> a.result().guarantee
        'asymptotic'
        """
        space = self.pool.label_space
        given = np.atleast_1d(values_of(labels))
        names = None if annotator is None else annotator_names(annotator, len(given), self.pool.show)
        ids, labels = space.labelled_only(ids, labels)
        if not len(ids):
            return
        items, codes = self.pool.positions(ids), space.codes(labels, ids)
        names = np.full(len(items), UNNAMED, object) if names is None else names[~missing_mask(given)]
        for item, n in Counter(items.tolist()).items():
            if n > self._items.n_out(item):
                raise LabelError(
                    f"Item {show(self.pool.ids[item])} has {plural(n, 'label')} here and awaits "
                    f"{self._items.n_out(item):,}. Nothing was taken: every label is that of a draw of its own, and "
                    "those of a sheet count once; ask for items before they are labelled."
                )
        told_by = {} if annotator is None else {"annotators": names}
        self._write("tell", {**self._labelling(items, codes), **told_by})
        self._learn_draws(items, codes, names)

    @in_turn
    def correct(self, ids: ArrayLike, labels: ArrayLike, *, annotator: str | None = None) -> int:
        """Put labels right that were told wrong by whomever, of items that have one label; see `Assessment.correct`.

        Raises
        ------
        LabelError
            Also if an item has several labels, of which it is not said which one was wrong.
        """
        kept, _ = self.pool.label_space.labelled_only(ids, labels)
        for item in self.pool.positions(kept).tolist() if len(kept) else []:
            if self._items.n_told(item) > 1:
                raise LabelError(
                    f"Item {show(self.pool.ids[item])} has {self._items.n_told(item):,} labels, and which of them was "
                    "wrong is not said; nothing was changed. Labels of an item may differ here."
                )
        return super().correct(ids, labels)

    def disagreements(self, **options: Any) -> NoReturn:
        """Refuse: labels of an item may differ."""
        raise self._may_differ()

    def agreement(self) -> NoReturn:
        """Refuse: labels of an item may differ."""
        raise self._may_differ()

    def resolve(
        self, ids: ArrayLike | None = None, labels: ArrayLike | None = None, *, rule: str | None = None
    ) -> NoReturn:
        """Refuse: labels of an item may differ."""
        raise self._may_differ()

    def __repr__(self) -> str:
        n_items = len(self.label_counts[0])
        return (
            f"StochasticAssessment({self.question.name} by {self.cells.description}, design {self.design.name!r}: "
            f"{said_of_labels(self.labels_used, n_items)} of {self.pool.n_items:,}, {self.n_pending:,} pending)"
        )

    @staticmethod
    def _may_differ() -> LabelError:
        return LabelError(
            "With a stochastic oracle labels of an item may differ, whoever gives them, and all of them count: there "
            "is nothing to decide on."
        )

    def _unlabelled(self, ids: ArrayLike, done: str) -> np.ndarray:
        items = np.unique(self._find(ids))
        return items if done == "released" else super()._unlabelled(ids, done)

    def _take_snapshot(self) -> None:
        """Take none: draws are few, as every one costs a label."""

    def _following(self, events: Sequence[Event], name: str, *, recorded: bool = False) -> StochasticAssessment:
        other = StochasticAssessment(self.pool, self.question, self.design, self._setting, self._seed, self.engine)
        other._follow(events, name)
        return other

    @property
    def _followed_at_once(self) -> tuple[str, ...]:
        return ()

    def _follow_ask(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        cells = self._items.cells_of(units)
        draws = Draw(**{field: np.asarray(entry[field], np.float64) for field in Draw._fields})
        state = self.design.restore(self._state, entry)
        pending = np.asarray(state.pending) + np.bincount(cells, minlength=self.cells.n_cells)
        self._hand_out(units, cells, draws, replace(state, pending=pending))
        return not self._items.skipped[units].any()

    def _follow_tell(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        codes = self.pool.label_codes(entry["labels"])
        if any(n > self._items.n_out(item) for item, n in Counter(units.tolist()).items()):
            return False
        first = {item: self._items.n_told(item) == 0 for item in units.tolist()}
        now = [right.get(i, code) if first[i] else code for i, code in zip(units.tolist(), codes.tolist(), strict=True)]
        names = np.array(entry.get("annotators", [UNNAMED] * len(units)), object)
        self._learn_draws(units, np.array(now, np.int64), names)
        return True

    def _follow_skip(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        followed = bool((self._items.label[units] < 0).all())
        self._set_aside(units)
        return followed

    def _follow_release(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        self._put_back(units)
        return True

    def _follow_correct(self, units: Units, entry: Mapping[str, Any], right: Mapping[int, int]) -> bool:
        return all(self._items.n_told(item) == 1 for item in units.tolist())

    def _decide(self, kind: str, units: Units, codes: Int[np.ndarray, " n"]) -> None:
        payload = self._labelling(units, codes)
        self._become(self._decided(kind, payload), kind, payload)

    def _hand_out(self, items: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"], draws: Draw, state: State) -> None:
        self._state = state
        self._open.ask(self._items.hand_out(items, np.asarray(draws.weight)), cells, draws)

    def _learn_draws(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"], names: np.ndarray) -> None:
        """Take labels of draws that are out."""
        self._annotators.record(names)
        cells, outcomes = self._items.cells_of(items), self.question.outcomes_on(self.cells, self.pool, items, codes)
        self._open.tell(self._items.answer(items, codes), outcomes)
        settled, later = self._open.take()
        self._state = update_batch(self.design, self._state, cells, outcomes, settled)
        if len(later.cell):
            self._state = settle_batch(self.design, self._state, later, last=False)

    def _set_aside(self, units: Units) -> None:
        self._items.set_aside(units, True)
        self._withdraw(units)

    def _put_back(self, units: Units) -> None:
        self._items.set_aside(units, False)
        self._withdraw(units)

    def _withdraw(self, items: Int[np.ndarray, " n"]) -> None:
        gone = self._items.withdraw(items)
        out = self._items.cells_of(self._items.items_of(self._items.pending_draws))
        self._state = replace(
            self._state,
            pending=np.bincount(out, minlength=self.cells.n_cells),
            remaining=np.where(self._playable, self._items.remaining, 0),
        )
        if not len(gone):
            return
        self._open.withdraw(gone)
        settled, later = self._open.take()
        self._state = settle_batch(self.design, self._state, settled)
        if len(later.cell):
            self._state = settle_batch(self.design, self._state, later, last=False)

    def _check_agreement(self, name: str) -> None:
        counts = np.zeros(self._state.counts.shape, np.int64)
        draws = self._items.labelled_draws
        items = self._items.items_of(draws)
        np.add.at(counts, (self._items.cells_of(items), self._items.codes_of(draws)), 1)
        if (np.asarray(self._state.counts) != counts).any():
            raise JournalError(
                f"{name[0].upper()}{name[1:]} contradicts itself: its entries count other labels than its items have. "
                "It was changed by hand or by another release; start a new one."
            )

    @property
    def _open(self) -> OpenSteps:
        assert self._steps is not None  # designs that weigh what they draw have some
        return self._steps
