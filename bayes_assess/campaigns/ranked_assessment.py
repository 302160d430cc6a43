"""The interactive session on a ranked list."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.shapes import Int
from bayes_assess.campaigns.annotators import OneAnnotator, for_whom
from bayes_assess.campaigns.export import NotExporting
from bayes_assess.campaigns.planning import Planning
from bayes_assess.campaigns.queries import RankedQueries as RankedQueries
from bayes_assess.campaigns.ranked_campaign import RankedCampaign
from bayes_assess.campaigns.turns import in_turn
from bayes_assess.errors import BudgetError, QuestionError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results.precision_curve import PrecisionCurveResult


class RankedAssessment(Planning, NotExporting, OneAnnotator, RankedCampaign):
    """A campaign on one ranked list, made by `assess` or `resume`.

    Attributes
    ----------
    pool : RankedList
    question, design : what was given
    """

    @property
    def pending_queries(self) -> RankedQueries:
        """The items handed out and not labelled yet, in the order of the list."""
        return self._queries(self._pending)

    @in_turn
    def ask(self, n: int = 1, *, annotator: str | None = None) -> RankedQueries:
        """Choose the next items to label; they are pending until their labels are told.

        Parameters
        ----------
        n : int
            At most so many: fewer where the labels of others decide what comes next, none once the design is done.
        annotator : str, optional
            Who is to label them, which the journal keeps.

        Returns
        -------
        RankedQueries

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or pending items must be labelled first.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(500), ba.PrecisionCurve(p_min=0.5))
        >>> labels = a.tell(a.ask(500).ids, [1] * 500)  # such a short list is labelled whole
        >>> a.done, len(a.ask(10))
        (True, 0)
        """
        if not is_whole(n):
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        ranks = self._items.draw(self._within_budget(int(n)))
        if not len(ranks) and not self.done:
            raise BudgetError(
                f"What comes next depends on the {self.n_pending:,} items that are pending; tell their labels first."
            )
        ids = self.pool.ids_at(ranks)
        if len(ranks):
            self._write("ask", {"ids": ids, "ranks": ranks, **for_whom(annotator)})
            self._hand_out(ids, ranks)
        return self._queries(ranks)

    @in_turn
    def result(self, level: float | None = None) -> PrecisionCurveResult:
        """Answer the question from the labels told so far.

        Parameters
        ----------
        level : float in (0, 1), optional
            Probability of the band; 1 - delta by default.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5))
        >>> a.tell(a.ask(100).ids, [1] * 100)
        >>> a.result().at(50)
        Bounded(estimate=1.0, lower=1.0, upper=1.0)
        """
        level = 1 - self.question.delta if level is None else level
        book = self._items
        return PrecisionCurveResult.of(
            self.question, self.design, self.pool, book.labels, book.plan, level, n_skipped=self.n_skipped
        )

    def __repr__(self) -> str:
        return (
            f"RankedAssessment({self.question.name}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {self.pool.n_items:,} items labelled, {self.n_pending:,} pending)"
        )

    def _within_budget(self, n: int) -> int:
        """Return how many of `n` items may be asked for."""
        budget = self.question.budget
        if budget is None or self.done:
            return n
        left = budget - self.labels_used - self.n_pending
        if left <= 0:
            promised = self.question.beta * (1 + self.question.epsilon)
            raise BudgetError(
                f"The budget of {budget:,} labels is spent, and the design wants more: the band is within a factor of "
                f"{self.result().factor:.3g} of the estimates so far, and {promised:.3g} was asked for."
            )
        return min(n, left)

    def _queries(self, ranks: Int[np.ndarray, " n"]) -> RankedQueries:
        space = self.pool.label_space
        ids, shown = self.pool.ids_at(ranks), self.pool.shown_at(ranks)
        return RankedQueries(ids, ranks, shown, tuple(space.classes.tolist()), space)


def ranked_list(pool: Any, question: PrecisionCurve, seed: int) -> RankedList:
    """Return the list itself, or that of a pool that its scores rank.

    Raises
    ------
    QuestionError
        If it is neither, the pool has no scores, or the question's positive class is not that of the list.
    """
    if isinstance(pool, RankedList):
        pool.check_positive(question.positive)
        return pool
    if not isinstance(pool, Pool):
        raise QuestionError(f"PrecisionCurve is asked of a RankedList or a Pool; found {type(pool).__name__}.")
    return RankedList.from_pool(pool, question.positive, seed)
