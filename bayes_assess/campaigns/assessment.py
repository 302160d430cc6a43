"""The interactive session: ask which items to label, tell their labels, look at the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.arrays import show
from bayes_assess.campaigns.items import ItemBook
from bayes_assess.campaigns.journal import Journal
from bayes_assess.campaigns.open_steps import OpenSteps
from bayes_assess.campaigns.queries import Queries as Queries
from bayes_assess.campaigns.rounds import RoundBook, check_inclusion
from bayes_assess.designs import (
    ArmDesign,
    CellState,
    Design,
    Draw,
    State,
    VarianceReduction,
    WeightedDesign,
    carried,
    choose_batch,
    refreshed,
    reserve_batch,
    settle_batch,
    update_batch,
)
from bayes_assess.errors import BudgetError, DesignError, JournalError, QuestionError
from bayes_assess.models.belief import Belief, jax_ready
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.labels import check_consistent
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import MultiLabelMetric, Question, Setting
from bayes_assess.results import asked_anew, belief_answer, events_anew, make_result, measure_answer, multilabel_answer


class Assessment:
    """A campaign on one pool, made by `assess` or `resume`.

    Attributes
    ----------
    pool, question, design : what was given
    cells : Cells
        The pool as decisions see it.
    prior : Belief
        Prior of every cell.
    """

    def __init__(self, pool: Pool, question: Question, design: Design, setting: Setting, seed: int):
        if pool.multilabel:
            check_inclusion(design)
        self.pool, self.question, self.design = pool, question, design
        self.cells, self.prior, _, self._playable = setting
        self.journal: Journal | None = None
        self._sequence = 0  # of the journal's last entry that this session knows
        self._seed = seed
        self._key = jax.random.key(seed)
        self._state = design.init(*setting)
        self._items = ItemBook(self.cells)
        self._steps = OpenSteps(self.cells.n_items) if design.settles else None
        self._rounds = RoundBook(pool.n_items, self.cells.n_cells) if pool.multilabel else None

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self._items.n_labelled

    @property
    def n_pending(self) -> int:
        """Items handed out and not labelled yet."""
        return self._items.n_pending

    @property
    def n_remaining(self) -> int:
        """Items that may still be asked for: neither labelled nor handed out."""
        return int(self._items.remaining[self._playable].sum())

    @property
    def done(self) -> bool:
        """Whether no item is left to ask for."""
        return self.n_remaining == 0

    @property
    def pending(self) -> np.ndarray:
        """Ids of the items handed out and not labelled yet, in pool order."""
        return self.pool.ids[self._items.pending]

    @property
    def pending_queries(self) -> Queries:
        """The items handed out and not labelled yet, in pool order, as `ask` returned them."""
        items = np.flatnonzero(self._items.pending)
        return self._queries(items, self._items.weights(items))

    def ask(self, n: int = 1, *, posterior: Any = None) -> Queries:
        """Choose the next `n` items to label; they are pending until their labels are told.

        Parameters
        ----------
        n : int
            At least 1. No item is handed out twice.
        posterior : Belief, ArviZ object or array (S, K), optional
            The posterior of another model, or draws of it, to decide on in the place of the session's own: those of
            `fit`, for example. It should have seen all labels told so far. Draws are in the order of
            ``cells.names``, for confusion matrices (S, K, C). In an ArviZ object the variable is ``theta``.

        Returns
        -------
        Queries

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or fewer than `n` items remain.
        InferenceError
            If the draws do not fit the cells.
        PriorError
            If a belief does not fit the cells, or compiled steps cannot update it.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=[0, 0, 1, 1]), ba.LeastAccurate(), seed=1)
        >>> first, second = a.ask(2), a.ask(2)
        >>> sorted([*first.ids.tolist(), *second.ids.tolist()])
        [0, 1, 2, 3]
        """
        if isinstance(n, bool) or int(n) != n or n < 1:
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        remaining = self.n_remaining
        if n > remaining:
            useful = "" if self._playable.all() else "can answer this question and "
            raise BudgetError(
                f"Asked for {n:,} items, but only {remaining:,} of {self.pool.n_items:,} {useful}are neither labelled "
                f"nor pending ({self.n_pending:,} are pending); ask for at most {remaining:,}."
            )
        start = self._state if posterior is None else self._believing(posterior)
        cells, draws, state = choose_batch(self.design, self._key, start, self._items.n_asked, int(n))
        if posterior is not None:  # what was chosen stays, the session's own belief comes back
            chosen = {"pending": state.pending, "remaining": state.remaining, "queue": state.queue}
            state = replace(self._state, **chosen)
        items = self._items.next_items(cells)
        entry = {name: np.asarray(value) for name, value in self.design.journal_entry(state).items()}
        self._write("ask", {"ids": self.pool.ids[items], **entry, **({} if self._steps is None else draws._asdict())})
        self._hand_out(items, cells, draws, state)
        return self._queries(items, draws.weight)

    def tell(self, ids: Any, labels: Any) -> None:
        """Learn labels: any subset of the pending items, in any order. All are taken, or none.

        A label that was told before may be told again. Labels of items that were not asked for are taken as labels
        of random items of their cells by designs that play groups; designs for measures count those items as known
        from then on, but let them stand for no others.

        Parameters
        ----------
        ids : (n,) item ids
        labels : (n,) class names
            None, NaN, a masked value or an empty text means that the item is not labelled yet: it stays pending.

        Raises
        ------
        LabelError
            If lengths differ, a label is not one of the classes, or contradicts another label of the same item.
        UnknownIdError
            If an id is not in the pool.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell(a.ask(2).ids, ["cat", "cat"])
        >>> a.labels_used
        2
        """
        space = self.pool.label_space
        ids, labels = space.labelled_only(ids, labels)
        if not len(ids):
            return
        items = self.pool.positions(ids)
        codes = space.codes(labels, ids)
        items, codes = check_consistent(self._items.label[items], items, codes, ids, space)
        new = self._items.label[items] < 0
        items, codes = items[new], codes[new]
        if not len(items):
            return
        self._write("tell", {"ids": self.pool.ids[items], "labels": space.names(codes)})
        self._learn(items, codes)

    def result(self, level: float = 0.95, *, question: Question | None = None, posterior: Any = None) -> Any:
        """Answer the question from the labels told so far.

        Parameters
        ----------
        level : float in (0, 1)
            Posterior probability of the intervals.
        question : Question, optional
            Another measure, answered from the same draws, where the session's own question is a measure too.
        posterior : Belief, ArviZ object or array (S, K), optional
            The posterior of another model to answer from, as for `ask`: that which decisions were taken on. Labelled
            items count as they are; what the others show is drawn from it.

        Returns
        -------
        Result
            Its kind follows the question: `GroupResult`, `ConfusionResult`, `CostResult`, `CalibrationResult`,
            `CompareResult`, `PairsResult`, `MetricResult` or `RateResult`.

        Raises
        ------
        QuestionError
            If the draws cannot answer the other question: the items that it needs could not be drawn, or the
            session's cells do not tell apart what it tells apart.
        DesignError, InferenceError, PriorError
            If the design has no use for another posterior, or that does not fit the cells.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "cat", "dog"]), ba.GroupAccuracy())
        >>> a.result().interval.shape
        (2, 2)
        """
        asked, cells, state, extra = self.question, self.cells, self._state, {}
        if posterior is not None:
            extra["belief"] = self._other_belief(posterior)
        if self._rounds is not None:
            asked, cells, extra = self._multilabel_answer(question)
        elif isinstance(self.design, WeightedDesign):
            if question is not None:
                asked, cells, state = asked_anew(self.pool, cells, state, question)
            extra = measure_answer(self.design, state)
        elif isinstance(self.design, VarianceReduction):
            if question is not None:
                asked, cells, state = events_anew(self.pool, cells, state, question)
            extra = belief_answer(self.design, state, self._seed, level)
        elif question is not None:
            raise QuestionError(f"Design {self.design.name!r} answers the question that it was started with, no other.")
        return make_result(
            question=asked,
            prior=self.prior,
            cells=cells,
            counts=np.asarray(self._state.counts),
            level=level,
            design=self.design.name,
            volunteered=self._items.n_volunteered,
            seed=self._seed,
            **asked.result_fields(self.pool),
            **extra,
        )

    def __repr__(self) -> str:
        return (
            f"Assessment({self.question.name} by {self.cells.description}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {self.pool.n_items:,} items labelled, {self.n_pending:,} pending)"
        )

    def _replay(self, book: Journal) -> None:
        """Bring a fresh session to the state that the journal records; no decision is taken anew."""
        for event in book.events():
            items = self.pool.positions(np.asarray(event.payload["ids"]))
            self._sequence = event.sequence
            if event.kind == "tell":
                self._learn(items, self.pool.label_codes(event.payload["labels"]))
                continue
            if event.kind != "ask":
                raise JournalError(
                    f"Entry {event.sequence} of the journal {str(book.path)!r} is of the unknown kind {event.kind!r}; "
                    "a newer release may have written it; upgrade bayes_assess to open it."
                )
            cells = self._items.cells_of(items)
            # Releases that put items in another random order took other items, which are as random.
            if not self._items.unseen(items).all() or len(np.unique(items)) < len(items):
                raise JournalError(
                    f"Entry {event.sequence} of the journal {str(book.path)!r} does not follow from those before it; "
                    "it was changed by hand or by another release. Start a new one."
                )
            state = reserve_batch(self.design, refreshed(self.design, self._state), cells)
            state = self.design.restore(state, event.payload)
            draws = {name: event.payload.get(name, np.ones(len(items))) for name in Draw._fields}
            if self._steps is not None and not event.payload.keys() >= draws.keys():
                raise JournalError(
                    f"The journal {str(book.path)!r} lacks the probabilities with which items were drawn, which an "
                    "earlier release did not keep; finish it with that release, or start anew."
                )
            self._hand_out(items, cells, Draw(**draws), state)
        self._check_agreement(book)
        self.journal = book

    def _check_agreement(self, book: Journal) -> None:
        """Raise JournalError unless the design has counted every item as what has become of it."""
        items, state = self._items, self._state
        labelled, pending = np.flatnonzero(items.label >= 0), np.flatnonzero(items.pending)
        counts = np.zeros(state.counts.shape, np.int64)
        outcomes = self.question.outcomes_on(self.cells, self.pool, labelled, items.label[labelled])
        np.add.at(counts, (items.cells_of(labelled), outcomes), 1)
        for what, counted, found in (
            ("labels", state.counts, counts),
            ("pending items", state.pending, np.bincount(items.cells_of(pending), minlength=self.cells.n_cells)),
            ("remaining items", state.remaining, np.where(self._playable, items.remaining, 0)),
        ):
            wrong = np.argwhere(np.asarray(counted) != found)
            if len(wrong):
                raise JournalError(
                    f"The journal {str(book.path)!r} contradicts itself: its entries count other {what} in the group "
                    f"{str(self.cells.names[wrong[0, 0]])!r} than its items have. It was changed by hand or by another "
                    "release; start a new one."
                )

    def _multilabel_answer(self, question: Question | None) -> tuple[MultiLabelMetric, Cells, dict[str, Any]]:
        """Answer the session's question, or another, from the labelled items themselves."""
        asked: Any = self.question if question is None else question.for_pool(self.pool)
        own: Any = self.cells
        cells = replace(own, measure=replace(own.measure, table=asked.spec))
        assert self._rounds is not None
        items = np.flatnonzero(self._items.label >= 0)
        drawn = self._rounds.weights(items, self._items.cells_of(items)) if self._rounds.n_told else None
        labels, inclusion = self._items.label[items], self._rounds.inclusion()
        pool: Any = self.pool
        return asked, cells, multilabel_answer(pool, asked, cells, items, labels, drawn, inclusion)

    def _other_belief(self, posterior: Any) -> Belief:
        """Take another model's posterior for the belief on the session's cells."""
        from bayes_assess.campaigns.other_beliefs import other_belief  # NumPyro's samplers, which few sessions need

        if not isinstance(self.design, ArmDesign):
            raise DesignError(f"Design {self.design.name!r} has a model of its own and takes no other posterior.")
        return other_belief(posterior, self.question, np.shape(self.prior.mean))

    def _believing(self, posterior: Any) -> CellState:
        """Return the state with another posterior in the place of the prior and the labels told."""
        belief = jax_ready(self._other_belief(posterior))
        assert isinstance(self.design, ArmDesign)  # others have been refused
        reward = self.question.reward(self.cells, belief)
        state = replace(self._state, prior=belief, counts=np.zeros_like(self._state.counts), memory=(), reward=reward)
        state = replace(state, carried=carried(belief))
        return replace(state, memory=self.design.init_memory(state))

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        """Record an event before it takes effect, unless another session has written to the journal."""
        if self.journal is not None:
            self._sequence = self.journal.append(kind, payload, expected=self._sequence)

    def _queries(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Queries:
        cells = self._items.cells_of(items)
        return Queries(self.pool.ids[items], cells, weights, self.cells.names[cells], self.pool.prediction_names(items))

    def _hand_out(self, items: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"], draws: Draw, state: State) -> None:
        """Take over items drawn, and the state after that."""
        weights = np.asarray(draws.weight, np.float64)
        if self._rounds is not None:
            assert isinstance(self.design, WeightedDesign)  # others do not serve such pools
            if not self._items.n_pending:
                self._rounds.begin(self._items.remaining)
            asked = self._rounds.asked + len(items)
            self._rounds.ask(items, np.asarray(self.design.inclusion(state, self._rounds.frame, asked)))
        self._state = state
        self._items.hand_out(items, weights)
        if self._steps is not None:
            self._steps.ask(items, cells, draws)

    def _learn(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        cells, unasked = self._items.cells_of(items), self._items.unseen(items)
        if unasked.any():
            self._items.accept(items[unasked])
            self._state = reserve_batch(self.design, self._state, cells[unasked])
        outcomes = self.question.outcomes_on(self.cells, self.pool, items, codes)
        settled = later = None
        if self._steps is not None:
            self._steps.volunteer(items[unasked], cells[unasked])
            self._steps.tell(items, outcomes)
            settled, later = self._steps.take()
        self._state = update_batch(self.design, self._state, cells, outcomes, settled)
        self._items.set_labels(items, codes)
        if self._rounds is not None:
            self._rounds.tell(items)
        if later is not None:
            self._state = settle_batch(self.design, self._state, later, last=False)
