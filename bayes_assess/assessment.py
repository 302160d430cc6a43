"""The interactive session: ask which items to label, tell their labels, look at the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from bayes_assess._labels import check_consistent
from bayes_assess._ledger import Ledger
from bayes_assess._record import describe, digest, read_description
from bayes_assess.acquisition.rewards import Belief
from bayes_assess.cells import Cells
from bayes_assess.designs import (
    DESIGNS,
    ArmDesign,
    CellState,
    Design,
    WeightedDesign,
    choose_batch,
    find_design,
    reserve_batch,
    update_batch,
)
from bayes_assess.errors import BudgetError, DesignError, JournalError, LabelError, QuestionError
from bayes_assess.journal import Journal
from bayes_assess.pool import Pool
from bayes_assess.queries import Queries as Queries
from bayes_assess.questions import QUESTIONS, Question
from bayes_assess.results import asked_anew, make_result, measure_answer


class Assessment:
    """A campaign on one pool, made by `assess` or `resume`.

    Attributes
    ----------
    pool, question, design : what was given
    cells : Cells
        The pool as decisions see it.
    prior : BetaBernoulli, DirichletConfusion or PairedOutcomes
        Prior of every cell.
    """

    def __init__(self, pool: Pool, question: Question, design: Design, cells: Cells, prior: Belief, seed: int):
        self.pool, self.question, self.design = pool, question, design
        self.cells, self.prior = cells, prior
        self.journal: Journal | None = None
        self._sequence = 0  # of the journal's last entry that this session knows
        self._seed = seed
        self._key = jax.random.key(seed)
        self._playable = question.playable(cells)
        self._state = design.init(cells, prior, question.reward(cells, prior), self._playable)
        self._items = Ledger(cells)

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
        posterior : ArviZ object or array (S, K), optional
            Posterior draws of another model, in the order of ``cells.names``, to decide on in the place of the
            session's own posterior: those of `fit`, for example. They should have seen all labels told so far. For
            confusion matrices (S, K, C). In an ArviZ object the variable is ``theta``.

        Returns
        -------
        Queries

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or fewer than `n` items remain.
        InferenceError
            If the draws do not fit the cells.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=[0, 0, 1, 1]), ba.LeastAccurate(), seed=1)
        >>> first, second = a.ask(2), a.ask(2)
        >>> sorted([*first.ids.tolist(), *second.ids.tolist()])
        [0, 1, 2, 3]
        """
        if isinstance(n, bool) or int(n) != n or n < 1:
            raise BudgetError(f"Ask for a positive whole number of items; found {n!r}.")
        remaining = self.n_remaining
        if n > remaining:
            useful = "" if self._playable.all() else "can answer this question and "
            raise BudgetError(
                f"Asked for {n:,} items, but only {remaining:,} of {self.pool.n_items:,} {useful}are neither labelled "
                f"nor pending ({self.n_pending:,} are pending); ask for at most {remaining:,}."
            )
        start = self._state if posterior is None else self._believing(posterior)
        cells, weights, state = choose_batch(self.design, self._key, start, self._items.n_asked, int(n))
        if posterior is not None:  # what was chosen stays, the session's own belief comes back
            chosen = {"pending": state.pending, "remaining": state.remaining, "queue": state.queue}
            state = replace(self._state, **chosen)
        items = self._items.next_items(cells)
        notes = {name: np.asarray(note) for name, note in self.design.notes(state).items()}
        if (weights != 1).any():
            notes["weights"] = weights
        self._write("ask", {"ids": self.pool.ids[items], **notes})
        self._state = state
        self._items.hand_out(items, weights)
        return self._queries(items, weights)

    def tell(self, ids: Any, labels: Any) -> None:
        """Learn labels: any subset of the pending items, in any order. All are taken, or none.

        A label that was told before may be told again. Labels of items that were not asked for are taken as labels
        of random items of their cells.

        Parameters
        ----------
        ids : (n,) item ids
        labels : (n,) class names

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
        ids, labels = np.atleast_1d(np.asarray(ids)), np.atleast_1d(np.asarray(labels))
        if ids.ndim != 1 or ids.shape != labels.shape:
            raise LabelError(f"Tell one label per id; found {ids.size} ids and {labels.size} labels.")
        if not len(ids):
            return
        items = self.pool.positions(ids)
        codes = self.pool.label_codes(labels, ids=ids)
        items, codes = check_consistent(self._items.label[items], items, codes, ids, self.pool.classes)
        new = self._items.label[items] < 0
        items, codes = items[new], codes[new]
        if not len(items):
            return
        self._write("tell", {"ids": self.pool.ids[items], "labels": self.pool.classes[codes]})
        self._learn(items, codes)

    def result(self, level: float = 0.95, *, question: Question | None = None) -> Any:
        """Answer the question from the labels told so far.

        Parameters
        ----------
        level : float in (0, 1)
            Posterior probability of the intervals.
        question : Question, optional
            Another measure, answered from the same draws, where the session's own question is a measure too.

        Returns
        -------
        Result
            Its kind follows the question: `GroupResult`, `ConfusionResult`, `CostResult`, `CalibrationResult`,
            `CompareResult`, `PairsResult` or `MetricResult`.

        Raises
        ------
        QuestionError
            If the draws cannot answer the other question: the items that it needs could not be drawn, or the
            session's cells do not tell apart what it tells apart.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "cat", "dog"]), ba.GroupAccuracy())
        >>> a.result().interval.shape
        (2, 2)
        """
        asked, cells, state, extra = self.question, self.cells, self._state, {}
        if isinstance(self.design, WeightedDesign):
            if question is not None:
                asked, cells, state = asked_anew(self.pool, cells, state, question)
            extra["answer"] = measure_answer(self.design, state)
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
            **extra,
        )

    def __repr__(self) -> str:
        return (
            f"Assessment({self.question.name} by {self.cells.description}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {self.pool.n_items:,} items labelled, {self.n_pending:,} pending)"
        )

    def _replay(self, book: Journal) -> None:
        """Bring a fresh session to the state that the journal records; no decision is taken anew."""
        if book.meta["cells"] != digest(self.cells.codes):
            raise JournalError(f"The journal {str(book.path)!r} was written with other groups than these.")
        for event in book.events():
            items = self.pool.positions(np.asarray(event.payload["ids"]))
            self._sequence = event.sequence
            if event.kind == "tell":
                self._learn(items, self.pool.label_codes(event.payload["labels"]))
                continue
            cells = self._items.cells_of(items)
            if not np.array_equal(items, self._items.next_items(cells)):
                raise JournalError(f"Entry {event.sequence} of the journal does not follow from those before it.")
            state = reserve_batch(self.design, self._state, cells)
            weights = np.asarray(event.payload.get("weights", np.ones(len(items))), np.float64)
            self._state = self.design.recall(state, event.payload)
            self._items.hand_out(items, weights)
        self.journal = book

    def _believing(self, posterior: Any) -> CellState:
        """Return the state with posterior draws in the place of the prior and the labels told."""
        from bayes_assess.inference import sampled_belief  # NumPyro's samplers, which few sessions need

        if not isinstance(self.design, ArmDesign):
            raise DesignError(f"Design {self.design.name!r} has a model of its own and takes no other posterior.")
        belief = sampled_belief(posterior, self.question, np.shape(self.prior.mean))
        state = replace(self._state, prior=belief, counts=np.zeros_like(self._state.counts), memory=())
        return replace(state, memory=self.design.remember(state))

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        """Record an event before it takes effect, unless another session has written to the journal."""
        if self.journal is not None:
            self._sequence = self.journal.append(kind, payload, expected=self._sequence)

    def _queries(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Queries:
        cells = self._items.cells_of(items)
        predictions = self.pool.classes[self.pool.predictions[items]]
        return Queries(self.pool.ids[items], cells, weights, self.cells.names[cells], predictions)

    def _learn(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        unasked = self._items.unseen(items)
        if unasked.any():
            self._items.accept(items[unasked])
            self._state = reserve_batch(self.design, self._state, self._items.cells_of(items[unasked]))
            # They come first: they have no part in the weights of pending items.
            first = np.argsort(~unasked, kind="stable")
            items, codes = items[first], codes[first]
        outcomes = self.question.outcomes(self.pool, items, codes)
        weights = self._items.weights(items)
        self._state = update_batch(self.design, self._state, self._items.cells_of(items), outcomes, weights)
        self._items.learn(items, codes)


def assess(
    pool: Pool,
    question: Question,
    *,
    design: str | Design | None = None,
    prior: str | Belief | None = None,
    prior_strength: float | None = None,
    seed: int = 0,
    journal: str | PathLike[str] | None = None,
    source: Mapping[str, Any] | None = None,
) -> Assessment:
    """Start to assess a pool.

    Parameters
    ----------
    pool : Pool
        Predictions to be assessed.
    question : Question
        What is asked: `GroupAccuracy`, `LeastAccurate`, `MostAccurate`, `ConfusionMatrix`, `MostCostly`,
        `Calibration`, `LeastCalibrated`, `Compare`, `Metric` or `PRCurve`.
    design : str or Design, optional
        How items are chosen: ``"thompson"`` (the default), ``"top_two"``, ``"epsilon_greedy"``, ``"bayes_ucb"``,
        ``"random"``, ``"random_group"``; for measures ``"adaptive"`` (the default), ``"oasis"``, ``"importance"``,
        ``"stratified"``, ``"passive"``; or a design object with options.
    prior : {"informative", "uninformative"}, or a distribution of the question's model, optional
        By default the informative prior if the pool has scores, else the uninformative one. The model is
        `BetaBernoulli` over cells, `DirichletConfusion` for confusion matrices and costs, `PairedOutcomes` for two
        systems.
    prior_strength : float, optional
        Worth of a named prior in labels per cell; by default 2 for accuracies, 1 for the others.
    seed : int
        Decides the order of items within cells and every random choice.
    journal : path, optional
        A new file that records every ask and tell, so that `resume` can go on from it.
    source : mapping, optional
        How the pool was read, kept in the journal for the command line; nothing else looks at it.

    Returns
    -------
    Assessment

    Raises
    ------
    QuestionError, DesignError, PriorError, PartitionError, JournalError
        If the question, design or prior does not fit the pool, or the journal exists already.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog", "dog"])
    >>> a = ba.assess(pool, ba.LeastAccurate(by="prediction"), design="thompson", seed=0)
    >>> queries = a.ask(3)
    >>> a.tell(queries.ids, ["cat"] * 3)
    >>> a.result().identified.tolist()
    ['dog']
    """
    assessment = _start(pool, question, design, prior, prior_strength, seed)
    if journal is not None:
        if type(assessment.design) is not DESIGNS.get(assessment.design.name):
            raise DesignError(
                f"A journal can bring back the designs {', '.join(DESIGNS)}; {assessment.design!r} is none of them."
            )
        kept = describe(pool, question, assessment.design, assessment.prior, assessment.cells, seed, source)
        assessment.journal = Journal.create(journal, kept)
    return assessment


def resume(journal: str | PathLike[str], pool: Pool, question: Question | None = None) -> Assessment:
    """Go on with an assessment from its journal, exactly where it stopped.

    Parameters
    ----------
    journal : path
    pool : Pool
        The same pool as before.
    question : optional
        Needed only if groups or predictions were given as an array, which the journal does not hold.

    Raises
    ------
    JournalError
        If the file is no journal, or belongs to another pool or question.

    Examples
    --------
    >>> import bayes_assess as ba, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> pool = ba.Pool(predictions=[0, 0, 1, 1])
    >>> a = ba.assess(pool, ba.GroupAccuracy(), journal=path)
    >>> a.tell(a.ask(2).ids, [0, 0])
    >>> ba.resume(path, pool).labels_used
    2
    """
    book = Journal.open(journal)
    question, design, prior, seed = read_description(book, pool, question)
    assessment = Assessment(pool, question, design, _checked_cells(pool, question, seed, design), prior, seed)
    assessment._replay(book)
    return assessment


def _start(pool, question, design, prior, prior_strength, seed) -> Assessment:
    if not isinstance(pool, Pool):
        raise QuestionError(f"assess takes a Pool first; found {type(pool).__name__}. Make one with ba.Pool(...).")
    if not isinstance(question, Question):
        names = ", ".join(QUESTIONS)
        raise QuestionError(f"A question is one of {names}; found {type(question).__name__}.")
    if isinstance(seed, bool) or int(seed) != seed or seed < 0:
        raise DesignError(f"A seed is a whole number, 0 or more; found {seed!r}.")
    design = find_design(question.default_design if design is None else design, question.n_sought, question.designs)
    cells = _checked_cells(pool, question, int(seed), design)
    belief = question.prior(pool, cells, prior, prior_strength)
    return Assessment(pool, question, design, cells, belief, int(seed))


def _checked_cells(pool: Pool, question: Question, seed: int, design: Design) -> Cells:
    cells = question.cells(pool, seed, design.strata)
    question.check(cells)
    return cells
