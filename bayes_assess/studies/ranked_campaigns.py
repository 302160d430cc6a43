"""Simulated campaigns on ranked lists.

A plan's items are asked for as one batch: none of their labels has a say before all are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Int
from bayes_assess.books.ranks import RankBook
from bayes_assess.designs.ranked import RankedDesign, check_budget
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.questions.precision_curve import RankedRecord
from bayes_assess.results.precision_curve import PrecisionCurveResult
from bayes_assess.studies.simulated import SimulatedCampaigns


class RankedCampaigns(SimulatedCampaigns[RankedDesign, int]):
    """Campaigns of a design of ranked lists, on the list by which scores rank the pool."""

    question: PrecisionCurve

    @cached_property
    def ranked(self) -> RankedList:
        """The list."""
        return RankedList.from_pool(self.pool, self.question.positive, self.seed)

    @cached_property
    def codes_by_rank(self) -> Int[np.ndarray, " N"]:
        """The code of the label of every rank."""
        return self.codes[self.pool.positions(self.ranked.ids_at(np.arange(1, self.ranked.n_items + 1)))]

    @cached_property
    def ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks at which to estimate."""
        return self.question.ranks(self.plan.setting.cells)

    def lots(self, repeats: int) -> Sequence[int]:
        """Return a seed for every campaign; raise BudgetError if the budget of the question does not suffice."""
        if self.question.budget is not None:
            check_budget(self.plan.design, self.question.promise, self.ranked.n_items, self.question.budget)
        return generator(self.seed, "ranked campaigns").integers(2**62, size=repeats).tolist()

    def played(self, lot: int, advance: Callable[[int], None]) -> RankedRecord:
        """Run one campaign; return a RankedRecord."""
        question, design = self.question, self.plan.design
        book = RankBook(design, question.promise, self.ranked.n_items, lot, self.ranked.positive)
        curves, labels = [], []
        for look in self.looks.tolist():
            most = min(look, question.budget or look)  # after which sessions take no more labels
            while book.n_labelled < most and not book.done:
                ranks = book.draw(most - book.n_labelled)
                book.hand_out(ranks)
                book.tell(ranks, self.codes_by_rank[ranks - 1])
            answer = PrecisionCurveResult.of(question, design, self.ranked, book.labels, book.plan, self.level)
            curves.append(answer.at(self.ranks))
            labels.append(answer.labels_used)
        advance(1)
        estimate, lower, upper = (np.stack(column)[None] for column in zip(*curves, strict=True))
        return RankedRecord(estimate, lower, upper, np.array(labels)[None])
