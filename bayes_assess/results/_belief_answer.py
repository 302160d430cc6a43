"""What sessions with a belief on an event answer: their own question, or another measure of the same event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from bayes_assess.designs.variance_reduction import BeliefState, VarianceReduction
from bayes_assess.errors import QuestionError
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Metric, PRCurve
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.questions._events import merged
from bayes_assess.results._base import many_skipped


def belief_answer(
    design: VarianceReduction, state: BeliefState, seed: int, level: float, skipped: Int[np.ndarray, " K"]
) -> dict[str, Any]:
    """Answer the question of a session, or `events_anew`'s: fields of `BeliefMetricResult`."""
    found = {"found": design.posterior(state, seed, level)}
    labels = np.asarray(state.counts)
    if labels.shape[1] == 2 and many_skipped(int(skipped.sum()), int(labels.sum())):
        found["supposed"] = design.supposing(state, seed, skipped)  # type: ignore[assignment]
    return found


def events_anew(pool: Pool, cells: Any, state: BeliefState, question: Any) -> tuple[Metric, EventCells, BeliefState]:
    """Put another measure of the same event in the place of a session's own.

    Raises
    ------
    QuestionError
        If the belief is about another event, or cells do not tell apart what the measure tells apart.
    """
    if not isinstance(question, Metric):
        raise QuestionError(f"This belief answers measures, Metric(...) or PRCurve(...); found {question!r}.")
    if isinstance(question, PRCurve):
        question = question.on_cells(pool, cells)
    subject = cells.events.subject
    asked = question.subject(pool)
    if asked.decides and subject.decides and not np.array_equal(asked.event, subject.event):
        raise QuestionError(f"{question.name} depends on another event than this session's measure; start a session.")
    if subject.decides and not asked.decides:
        raise QuestionError(f"{question.name} needs more of a label than this session has kept; start a session.")
    codes, table = question.losses(pool)
    if subject.decides:
        codes, table = merged(codes, table, subject)
    attribute = codes[cells.one_of_each()]
    if (codes != attribute[cells.source.cells_of(np.arange(cells.n_items))]).any():
        raise QuestionError(
            f"{question.name} depends on what the cells of this session do not tell apart; start a session with it, "
            "or with a list of measures that contains it."
        )
    measure = replace(cells.measure, table=table, attribute=attribute, n_attributes=table.n_attributes)
    matters = np.asarray(measure.nonzero).any(-1)
    remaining = np.where(matters, np.asarray(state.unlabelled) - np.asarray(state.pending), 0)
    state = replace(state, measure=measure, remaining=remaining, audit=state.audit._replace(f=state.audit.f[:0]))
    return question, replace(cells, measure=measure), state
