"""What sessions with a belief on an event answer: their own question, or another measure of the same event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.designs.variance_reduction import BeliefState, VarianceReduction
from bayes_assess.estimators.score_order import ScoreOrder
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Metric
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.results._base import many_skipped
from bayes_assess.results._measured_anew import measured_anew


def belief_answer(
    design: VarianceReduction,
    state: BeliefState,
    seed: int,
    level: float,
    skipped: Int[np.ndarray, " K"],
    order: ScoreOrder | None = None,
) -> dict[str, Any]:
    """Answer the question of a session, or `events_anew`'s: fields of `BeliefMetricResult`."""
    found = {"found": design.posterior(state, seed, level, order=order)}
    labels = np.asarray(state.counts)
    if labels.shape[1] == 2 and many_skipped(int(skipped.sum()), int(labels.sum())):
        found["supposed"] = design.supposing(state, seed, skipped, order=order)  # type: ignore[assignment]
    return found


def events_anew(pool: Pool, cells: Any, state: BeliefState, question: Any) -> tuple[Metric, EventCells, BeliefState]:
    """Put another measure of the same event in the place of a session's own.

    Raises
    ------
    QuestionError
        If the belief is about another event, or cells do not tell apart what the measure tells apart.
    """
    question, cells = measured_anew(pool, cells, question, "This session answers")
    measure = cells.measure
    matters = np.asarray(measure.nonzero).any(-1)
    remaining = np.where(matters, np.asarray(state.unlabelled) - np.asarray(state.pending), 0)
    state = replace(state, measure=measure, remaining=remaining, audit=state.audit._replace(f=state.audit.f[:0]))
    return question, cells, state
