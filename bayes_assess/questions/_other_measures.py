"""A measure put on the cells of a session on another one, if they tell apart what it tells apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures import LossTable, PRCurveTable
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions._events import Subject, merged


def check_same_event(name: str, asked: Subject, own: Subject, n_classes: int, of_order: bool) -> None:
    """Raise QuestionError unless a measure is of the event that cells were made for, or of no event.

    Parameters
    ----------
    name : str
        Of the question on the measure.
    asked, own : Subject
        What the measure is about, and what the cells are about.
    n_classes : int
    of_order : bool
        Whether it is about an order of the items, which is that of one event.
    """
    # Of two classes, whether a label is the event is all of the label, whatever the event.
    same = np.array_equal(asked.event, own.event) or (n_classes == 2 and not of_order)
    if asked.decides and own.decides and not same:
        raise QuestionError(f"{name} depends on another event than this session's measure; start a session.")
    if own.decides and not asked.decides:
        raise QuestionError(f"{name} needs more of a label than this session has kept; start a session.")


def measured_on(
    name: str, cells: MetricCells, losses: tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]
) -> CellMeasure:
    """Return a measure on cells, in the place of their own.

    Parameters
    ----------
    name : str
        Of the question on the measure.
    cells : MetricCells
    losses : (M,) integers, LossTable
        What the loss of every item depends on, and the table of losses.

    Raises
    ------
    QuestionError
        If the cells do not tell apart what the measure tells apart.
    """
    codes, table = losses
    subject = cells.subject
    if subject is not None and subject.decides:
        codes, table = merged(codes, table, subject)
    attribute = codes[cells.one_of_each()]
    if (codes != attribute[cells.source.row_cells]).any():
        raise QuestionError(
            f"{name} depends on what this session does not tell apart; start a session with it, "
            "or with a list of measures that contains it."
        )
    return replace(cells.measure, table=table, attribute=attribute, n_attributes=table.n_attributes)
