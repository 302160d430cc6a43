"""The interactive session: ask which items to label, tell their labels, look at the result."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import for_whom
from bayes_assess.designs import State, choose_batch
from bayes_assess.errors import BudgetError, DesignError, QuestionError
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Labelled, Question
from bayes_assess.questions.asked import check_question
from bayes_assess.results import Result
from bayes_assess.sessions.exchange.matching import IdMatcher
from bayes_assess.sessions.export import Exporting
from bayes_assess.sessions.other_beliefs import Other
from bayes_assess.sessions.planning import Planning
from bayes_assess.sessions.queries import Queries as Queries
from bayes_assess.sessions.team.adjudication import Adjudication
from bayes_assess.sessions.turns import in_turn
from bayes_assess.sessions.volunteered import believed_state, choosing_state, learned_alone

ResultT_co = TypeVar("ResultT_co", bound=Result, covariant=True)
BelievedT = TypeVar("BelievedT", bound=Result)
WeighedT = TypeVar("WeighedT", bound=Result)

_A_UNIT: Any = object()  # asked for by default: an item, or both halves of a pair


class Assessment(Planning, Exporting, Adjudication, Generic[ResultT_co]):
    """A campaign on one pool, made by `assess` or `resume`.

    Attributes
    ----------
    pool, question, design : what was given
    cells : Cells
        The pool as decisions see it.
    prior : Belief
        Prior of every cell.
    """

    @property
    def labellable(self) -> Pool:
        """The items whose labels can be told: those of the pool."""
        return self.pool

    def ids_named(self, texts: Sequence[str]) -> list[Hashable]:
        """Return the ids that texts stand for, as in sheets; texts that stand for none as they are.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"], ids=[855, 7]), ba.GroupAccuracy())
        >>> a.ids_named(["0855", "no id"])
        [855, 'no id']
        """
        items = [match.found for match in IdMatcher(self.pool)(texts)]
        ids = iter(self.pool.ids[[int(item) for item in items if item is not None]].tolist())
        return [text if item is None else next(ids) for item, text in zip(items, texts, strict=True)]

    @property
    def pending_queries(self) -> Queries:
        """The items handed out and not labelled yet, in pool order, as `ask` returned them."""
        return self._queries(*self._items.out)

    @in_turn
    def ask(self, n: int = _A_UNIT, *, posterior: object = None, annotator: str | None = None) -> Queries:
        """Choose the next `n` items to label; they are pending until their labels are told.

        Parameters
        ----------
        n : int, optional
            At least 1, which is the default. No item is handed out twice. Of pairs both halves are handed out, one
            after the other: an even number, 2 by default.
        posterior : Belief, ArviZ object, or array (S, K) or (S, K, C), optional
            The posterior of another model, or draws of it, to decide on in the place of the session's own, for these
            items alone: those of `fit`, for example. It should have seen all labels told so far. The K cells are in the
            order of ``cells.names``, and `counts` has their labels. For groups draws are (S, K), for confusion matrices
            (S, K, C). For measures, with the designs ``"adaptive"``, ``"importance"``, ``"poisson"`` and
            ``"variance_reduction"``, they are (S, K), the rate of the positive class in every cell (of accuracies with
            the last design, that the prediction is right), or (S, K, C), the probabilities of all labels. Weights and
            inclusion probabilities are those of the items as they are drawn, so that answers are as valid as without.
            In an ArviZ object the variable is ``theta``, and of a Dirichlet tree over the cells ``psi`` with it;
            coordinates that are the cells' names tell their order.
        annotator : str, optional
            Who is to label them, on a sheet, which the journal keeps; the labelling page does not show them. Anybody
            may tell their labels.

        Returns
        -------
        Queries

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, of pairs an even one, or fewer than `n` items remain.
        InferenceError
            If the draws do not fit the cells.
        DesignError
            If the design cannot choose by another posterior, or not in the middle of a round; if pairs are asked for.
        PriorError
            If a belief does not fit the cells, or compiled steps cannot update it.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=[0, 0, 1, 1]), ba.LeastAccurate(), seed=1)
        >>> first, second = a.ask(2), a.ask(2)
        >>> sorted([*first.ids.tolist(), *second.ids.tolist()])
        [0, 1, 2, 3]
        >>> groups = {"system": ["a", "a", "b", "b"], "prompt": ["p", "q", "q", "p"]}
        >>> pool = ba.Pool(predictions=[1, 0, 1, 1], groups=groups)
        >>> a = ba.assess(pool, ba.Compare("a", "b", by="system", measure="rate", pair="prompt"), seed=1)
        >>> a.ask(2).ids.tolist()  # the answers of both systems to prompt q
        [1, 2]
        """
        each = self.question.labels_each
        if posterior is not None and each > 1:
            raise DesignError("Pairs are chosen by the session's own belief; leave out the other posterior.")
        n = each if n is _A_UNIT else n
        if not is_whole(n):
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        if n % each:
            raise BudgetError(f"Items are asked for in pairs: ask for a positive even number of them; found {show(n)}.")
        remaining = self.n_remaining
        if n > remaining:
            useful = "" if self._playable.all() else "can answer this question and "
            aside = f", {self.n_skipped:,} set aside" if self.n_skipped else ""
            most = f"ask for at most {remaining:,}" if remaining else "nothing is left to ask for"
            raise BudgetError(
                f"Asked for {plural(int(n), 'item')}, but only {remaining:,} of {self._units.n_items:,}"
                f"{self._units.described} {useful}are neither labelled, pending nor set aside ({self.n_pending:,} are "
                f"pending{aside}); {most}."
            )
        return self._choose(int(n) // each, posterior, annotator)

    @overload
    def result(self, level: float = ..., *, question: None = None, posterior: object = None) -> ResultT_co: ...
    @overload
    def result(
        self, level: float = ..., *, question: Question[BelievedT, WeighedT], posterior: object = None
    ) -> BelievedT | WeighedT: ...
    @in_turn
    def result(self, level: float = 0.95, *, question: Question | None = None, posterior: object = None) -> Result:
        """Answer the question from the labels told so far.

        Parameters
        ----------
        level : float in (0, 1)
            Posterior probability of the intervals.
        question : Question, optional
            Another question, answered from the same labels as far as the choice of the items allows: any on groups
            from parts of the groups; measures where items were drawn at random, or by scores and predictions alone.
        posterior : Belief, ArviZ object or array (S, K), optional
            The posterior of another model to answer from, as for `ask`: that which decisions were taken on. Labelled
            items count as they are; what the others show is drawn from it.

        Returns
        -------
        Result
            Its kind follows the question: `GroupResult`, `RecallResult`, `ConfusionResult`, `CostResult`,
            `CalibrationResult`, `CompareResult`, `PairsResult`, `MetricResult`, `RateResult`, `MeanResult`,
            `PrecisionCurveResult`, or the `BestResult` or `CurveResult` of `bayes_assess.results`.

        Raises
        ------
        QuestionError
            If the labels cannot answer the other question: the items that it needs could not be drawn, or the
            session's cells do not tell apart what it tells apart.
        DesignError, InferenceError, PriorError
            If labels are sets or numbers, of which another posterior cannot be, or it does not fit the cells.

        Examples
        --------
        >>> import numpy as np, bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "cat", "dog"]), ba.GroupAccuracy())
        >>> a.result().interval.shape
        (2, 2)
        >>> a = ba.assess(ba.Pool(predictions=[0, 0, 1, 1]), ba.Metric("accuracy"), design="passive")
        >>> a.tell(a.ask(2).ids, [1, 1])
        >>> draws = np.random.default_rng(0).beta(1, 9, (1000, a.cells.n_cells))  # rates of class 1, of any model
        >>> a.result(posterior=draws).guarantee
        'credible'
        """
        level = checked_level(level)
        asked, cells, state = self.question, self.cells, believed_state(self)
        if question is not None and not self.answers_others:
            raise QuestionError(f"These labels answer {self.question.name} alone; start a session with {question!r}.")
        if question is not None and (self._rounds is not None or self.question.numeric):
            check_question(question)
            asked = question.for_pool(self.pool)
            asked, cells, state = asked.on_own_cells(self._pool, cells, self.design, state)
        elif question is not None:
            from bayes_assess.sessions.other_questions import answer_another, on_own_cells  # which few sessions need

            if posterior is not None:
                raise QuestionError("Another posterior is on the groups of the session's own question; leave it out.")
            on_cells, refused = on_own_cells(self, question)
            if on_cells is None:
                return answer_another(self, question, level, refused)
            asked, cells, state = on_cells
        known = self._labelled(cells, state, level)
        if posterior is not None:
            known = known._replace(given=self._other(posterior).answering())
        evidence = asked.evidence(known)
        parts = asked, cells, self.prior, self._state.counts, evidence
        own = question is None and posterior is None
        notes = self._of_labels_in_wait(asked.labels_each) if own else ()
        random = self._random_labels(asked, cells, state.counts) if question is None else None
        return self._answered(*parts, level=level, skipped=self._items.skipped_by_cell, notes=notes, random=random)

    def __repr__(self) -> str:
        return (
            f"Assessment({self._asked_by}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {self._units.n_items:,} items{self._units.described} labelled, "
            f"{self.n_pending:,} pending)"
        )

    def _choose(self, n: int, posterior: object, annotator: str | None) -> Queries:
        """Choose items, by another posterior if one is given, and hand them out."""
        alone = learned_alone(self) if posterior is None and self.design.learns else None
        if alone is not None:
            posterior = self.prior.update_counts(alone.counts)
        start = choosing_state(self) if posterior is None else self._believing(posterior)
        cells, draws, state = choose_batch(self.design, self._key, start, self._items.n_asked, n)
        state = self.design.own_again(self._state, state) if start is not self._state else state
        items = self._items.next_items(cells)
        entry = {name: np.asarray(value) for name, value in self.design.journal_entry(state).items()}
        entry |= for_whom(annotator, self.pool.show) | ({} if self._steps is None else draws._asdict())
        self._write("ask", {"ids": self._units.names_of(items), **entry})
        self._hand_out(items, cells, draws, state)
        return self._queries(items, np.asarray(draws.weight))

    def _labelled(self, cells: Cells, state: State, level: float) -> Labelled:
        """Say what is known by now, on cells and by a state of the design that have what is asked."""
        book, rounds = self._items, self._rounds
        items = book.told[0]
        known = rounds is not None and rounds.n_told
        return Labelled(
            pool=self._pool,
            cells=cells,
            design=self.design,
            state=state,
            codes=self._units.counted(book.label),
            items=items,
            volunteered=book.volunteered(items),
            weights=rounds.weights(items, book.cells_of(items)) if rounds is not None and known else None,
            inclusion=np.ones(cells.n_cells) if rounds is None else rounds.inclusion(),
            skipped=book.skipped_by_cell,
            seed=self._seed,
            level=level,
        )

    def _other(self, posterior: object) -> Other:
        """Take another model's posterior for that on the session's cells."""
        return Other(posterior, self.question, self.pool, self.cells, self.design, np.shape(self.prior.mean))

    def _believing(self, posterior: object) -> State:
        """Return the state with another posterior in the place of what the session believes, to choose by."""
        return self.design.choosing_by(self._state, self._other(posterior))

    def _queries(self, units: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Queries:
        """Return queries of the items of units."""
        each, pool, items = self.question.labels_each, self.pool, self._units.items_of(units)
        cells = np.repeat(self._items.cells_of(units), each)
        return Queries(
            ids=pool.ids[items],
            cells=cells,
            weights=np.repeat(weights, each),
            groups=self._units.groups_of(items, cells, self.cells),
            predictions=pool.prediction_names(items),
            scores=self._units.confidence_of(items, self.cells),
            show={name: values[items] for name, values in pool.show.items()},
            choices=pool.label_space.choices,
            label_space=pool.label_space,
            ranks=self._units.ranks_of(items),
        )
