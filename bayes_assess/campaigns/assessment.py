"""The interactive session: ask which items to label, tell their labels, look at the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.campaigns.adjudication import Adjudication
from bayes_assess.campaigns.annotators import for_whom
from bayes_assess.campaigns.asked import check_question
from bayes_assess.campaigns.export import Exporting
from bayes_assess.campaigns.planning import Planning
from bayes_assess.campaigns.queries import Queries as Queries
from bayes_assess.campaigns.turns import in_turn
from bayes_assess.designs import ArmDesign, State, WeightedDesign, WeightedState, choose_batch
from bayes_assess.errors import BudgetError, DesignError, QuestionError
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.multilabel import MultiLabelPool
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.questions import MultiLabelMetric, NumericMetric, Question
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions.multilabel_metric import MultiLabelCells
from bayes_assess.results import Result, make_result, multilabel_answer, numeric_answer


class Assessment(Planning, Exporting, Adjudication):
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
    def pending_queries(self) -> Queries:
        """The items handed out and not labelled yet, in pool order, as `ask` returned them."""
        return self._queries(*self._items.out)

    @in_turn
    def ask(self, n: int = 1, *, posterior: object = None, annotator: str | None = None) -> Queries:
        """Choose the next `n` items to label; they are pending until their labels are told.

        Parameters
        ----------
        n : int
            At least 1. No item is handed out twice.
        posterior : Belief, ArviZ object, or array (S, K) or (S, K, C), optional
            The posterior of another model, or draws of it, to decide on in the place of the session's own, for these
            items alone: those of `fit`, for example. It should have seen all labels told so far. The K cells are in the
            order of ``cells.names``, and `counts` has their labels. For groups draws are (S, K), for confusion matrices
            (S, K, C). For measures, with the designs ``"adaptive"``, ``"importance"``, ``"poisson"`` and
            ``"variance_reduction"``, they are (S, K), the rate of the positive class in every cell (of accuracies with
            the last design, that the prediction is right), or (S, K, C), the probabilities of all labels. Weights and
            inclusion probabilities are those of the items as they are drawn, so that answers are as valid as without.
            In an ArviZ object the variable is ``theta``, and of a Dirichlet tree over the cells ``psi`` with it.
        annotator : str, optional
            Who is to label them, which the journal keeps; anybody may tell their labels.

        Returns
        -------
        Queries

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or fewer than `n` items remain.
        InferenceError
            If the draws do not fit the cells.
        DesignError
            If the design cannot choose by another posterior, or not in the middle of a round.
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
        if not is_whole(n):
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        remaining = self.n_remaining
        if n > remaining:
            useful = "" if self._playable.all() else "can answer this question and "
            raise BudgetError(
                f"Asked for {n:,} items, but only {remaining:,} of {self.pool.n_items:,} {useful}are neither labelled "
                f"nor pending ({self.n_pending:,} are pending); ask for at most {remaining:,}."
            )
        return self._choose(int(n), posterior, annotator)

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
            Its kind follows the question: `GroupResult`, `ConfusionResult`, `CostResult`, `CalibrationResult`,
            `CompareResult`, `PairsResult`, `MetricResult`, `RateResult` or `MeanResult`.

        Raises
        ------
        QuestionError
            If the labels cannot answer the other question: the items that it needs could not be drawn, or the
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
        level = checked_level(level)
        asked, cells, state, extra = self.question, self.cells, self._state, {}
        if question is not None and not self.answers_others:
            raise QuestionError(f"These labels answer {self.question.name} alone; start a session with {question!r}.")
        if question is not None and self._rounds is None and not self.question.numeric:
            from bayes_assess.campaigns.other_questions import answer_another, on_own_cells  # which few sessions need

            if posterior is not None:
                raise QuestionError("Another posterior is on the groups of the session's own question; leave it out.")
            anew, refused = on_own_cells(self, question)
            if anew is None:
                return answer_another(self, question, level, refused)
            asked, cells, state = anew
        if posterior is not None:
            extra["belief"] = self._other_belief(posterior)
        if self._rounds is not None:
            asked, cells, extra = self._multilabel_answer(question)
        elif self.question.numeric:
            asked, cells, extra = self._numeric_answer(question)
        else:
            order = asked.order_of(self._pool, cells, self._counted(self._items.label))
            extra |= self.design.evidence(state, self._seed, level, self._items.skipped_by_cell, order)
        return make_result(
            question=asked,
            prior=self.prior,
            cells=cells,
            counts=np.asarray(self._state.counts),
            level=level,
            design=self.design.name,
            volunteered=self._items.n_volunteered * asked.labels_each,
            skipped=self._items.skipped_by_cell,
            seed=self._seed,
            notes=self._annotators.said(),
            labelled_by=self._annotators.by_whom(),
            **asked.result_fields(self._pool),
            **extra,
        )

    def __repr__(self) -> str:
        return (
            f"Assessment({self.question.name} by {self.cells.description}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {self.pool.n_items:,} items labelled, {self.n_pending:,} pending)"
        )

    def _choose(self, n: int, posterior: object, annotator: str | None) -> Queries:
        """Choose items, by another posterior if one is given, and hand them out."""
        start = self._state if posterior is None else self._believing(posterior)
        cells, draws, state = choose_batch(self.design, self._key, start, self._items.n_asked, n)
        state = state if posterior is None else self.design.own_again(self._state, state)
        items = self._items.next_items(cells)
        entry = {name: np.asarray(value) for name, value in self.design.journal_entry(state).items()}
        entry |= for_whom(annotator) | ({} if self._steps is None else draws._asdict())
        self._write("ask", {"ids": self._names_of(items), **entry})
        self._hand_out(items, cells, draws, state)
        return self._queries(items, np.asarray(draws.weight))

    def _asked(self, question: Question | None) -> Question:
        """Return the session's question, or another, for its pool."""
        if question is not None:
            check_question(question)
        return (self.question if question is None else question).for_pool(self.pool)

    def _multilabel_answer(self, question: Question | None) -> tuple[MultiLabelMetric, Cells, dict[str, object]]:
        """Answer the session's question, or another, from the labelled items themselves."""
        asked, own = self._asked(question), self.cells
        assert isinstance(asked, MultiLabelMetric)
        assert isinstance(own, MultiLabelCells)
        assert isinstance(self.pool, MultiLabelPool)
        assert self._rounds is not None
        cells = replace(own, measure=replace(own.measure, table=asked.spec))
        items, labels = self._items.told
        drawn = self._rounds.weights(items, self._items.cells_of(items)) if self._rounds.n_told else None
        inclusion = self._rounds.inclusion()
        return asked, cells, multilabel_answer(self.pool, asked, cells, items, labels, drawn, inclusion)

    def _numeric_answer(self, question: Question | None) -> tuple[NumericMetric, Cells, dict[str, object]]:
        """Answer the session's question, or another, from the labelled items themselves."""
        asked, own, state, design = self._asked(question), self.cells, self._state, self.design
        if not isinstance(asked, NumericMetric):
            raise QuestionError(f"These labels are numbers, and answer measures of numbers alone; not {asked.name}.")
        assert isinstance(own, MetricCells)
        assert isinstance(state, WeightedState)
        assert isinstance(design, WeightedDesign)
        assert isinstance(self.pool, NumberPool)
        nothing = np.zeros((own.n_cells, 2, asked.spec.n_losses))
        measure = replace(own.measure, table=asked.spec, mean=nothing)
        cells, state = replace(own, measure=measure), replace(state, measure=measure)
        items, codes = self._items.told
        labels = self.pool.label_space.names(codes)
        volunteered = self._items.volunteered(items)
        return asked, cells, numeric_answer(self.pool, asked, cells, design, state, items, labels, volunteered)

    def _other_belief(self, posterior: object) -> Belief:
        """Take another model's posterior for the belief on the session's cells, to answer from."""
        from bayes_assess.campaigns.other_beliefs import other_belief  # NumPyro's samplers, which few sessions need

        if not self.design.plays_arms:
            raise DesignError(
                f"Answers of design {self.design.name!r} are of a model of its own, or of weights, whatever items were "
                "chosen by; another posterior cannot take their place."
            )
        return other_belief(posterior, self.question, np.shape(self.prior.mean))

    def _believing(self, posterior: object) -> State:
        """Return the state with another posterior in the place of what the session believes, to choose by."""
        from bayes_assess.campaigns.other_beliefs import check_takes_posterior, other_labels

        design = self.design
        if isinstance(design, ArmDesign):
            belief = self._other_belief(posterior)
            reward = self.question.reward(self.cells, belief)
            assert isinstance(reward, Reward)
            return design.playing_by(self._state, belief, reward)
        check_takes_posterior(design, self.question, self.pool)
        assert isinstance(self.cells, MetricCells)
        return design.believing(self._state, other_labels(posterior, self.cells, self.pool))

    def _queries(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Queries:
        pool, cells = self.pool, self._items.cells_of(items)
        return Queries(
            ids=pool.ids[items],
            cells=cells,
            weights=weights,
            groups=self.cells.names[cells],
            predictions=pool.prediction_names(items),
            scores=None if pool.multilabel or pool.confidence is None else self.cells.source.confidence_of(items),
            show={name: values[items] for name, values in pool.show.items()},
            choices=pool.label_space.choices,
            label_space=pool.label_space,
        )
