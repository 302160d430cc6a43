"""Another measure on the cells of a session, if they tell apart what it tells apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_assess.designs import Design, State
from bayes_assess.errors import QuestionError
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Metric, PRCurve, Question
from bayes_assess.questions._event_cells import EventCells, MetricCells
from bayes_assess.questions._events import merged


def asked_anew(
    pool: Pool, cells: Cells, design: Design, state: State, question: Question
) -> tuple[Metric, MetricCells, State]:
    """Put another measure in the place of a session's own.

    Parameters
    ----------
    pool : Pool
    cells : MetricCells
        Cells of the session.
    design : Design
    state : State
    question : Metric
        A curve with a number of thresholds gets thresholds that the cells tell apart.

    Returns
    -------
    The question, and cells and state with its measure.

    Raises
    ------
    QuestionError
        If it is no measure, or of another event than the cells, or they do not tell apart what it tells apart, or not
        the items drawn tell of it.
    """
    if not isinstance(question, Metric) or not isinstance(cells, MetricCells):
        raise QuestionError(f"{design.answering} measures, Metric(...) or PRCurve(...); found {question!r}.")
    if isinstance(question, PRCurve):
        question = question.on_cells(pool, cells)
    subject = cells.events.subject if isinstance(cells, EventCells) else None
    if subject is not None:
        asked = question.subject(pool)
        # Of two classes, whether a label is the event is all of the label, whatever the event; orders are of one event.
        of_order = question.is_curve or question.is_of_order
        same = np.array_equal(asked.event, subject.event) or (pool.n_classes == 2 and not of_order)
        if asked.decides and subject.decides and not same:
            raise QuestionError(
                f"{question.name} depends on another event than this session's measure; start a session."
            )
        if subject.decides and not asked.decides:
            raise QuestionError(f"{question.name} needs more of a label than this session has kept; start a session.")
    codes, table = question.losses(pool)
    if subject is not None and subject.decides:
        codes, table = merged(codes, table, subject)
    attribute = codes[cells.one_of_each()]
    if (codes != attribute[cells.source.row_cells]).any():
        raise QuestionError(
            f"{question.name} depends on what this session does not tell apart; start a session with it, "
            "or with a list of measures that contains it."
        )
    measure = replace(cells.measure, table=table, attribute=attribute, n_attributes=table.n_attributes)
    return question, replace(cells, measure=measure), design.measuring(state, measure, question.name)
