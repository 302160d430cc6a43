"""Labels that nobody asked for: what is learned from them, and said where they are not like others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.shapes import Int
from bayes_assess.designs import State
from bayes_assess.designs._belief_state import BeliefState, MeasurePosterior
from bayes_assess.designs._label_models import CurveLabels, LabelDraws
from bayes_assess.estimators.differing_labels import chance_of_difference, chance_of_unlike_scores, log_chance_if_chosen
from bayes_assess.estimators.posterior_measure import labelled_events
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import ConfusionMatrix, Question
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.questions._events import CellEvents
from bayes_assess.sessions.course import Course, Volunteered

_ONE_IN = 1_000  # campaigns, in which chance makes labels differ so much
_ENOUGH = 10  # labels of each kind
_FEWEST = 5  # labels that may have been chosen by what they say
_ODDS = 20.0  # that they were not, before any label is known; even odds while fewer labels than enough were asked for
_UNLIKE = (
    "Labels that were told without being asked for are unlike labels of like items that were asked for, as chance "
    f"makes them in fewer than one of {_ONE_IN:,} campaigns: they were chosen by something that tells of labels. "
    "Intervals take them for random ones, and may be far off."
)
_BY_SCORES = (
    "Labels that were told without being asked for are of items whose confidence is unlike that of items of the same "
    f"groups that were asked for, as chance makes it in fewer than one of {_ONE_IN:,} campaigns: they were not chosen "
    "at random within groups. Intervals take them for random ones, and may be far off."
)
_KNOWN_ALONE = (
    "Labels that were told without being asked for seem chosen by what they say, or by what else tells of it: the "
    "answer learns nothing of other items from them."
)


def believed_state(session: Course) -> State:
    """Return the state that a session answers by: without what labels teach that were chosen by what they say.

    These are labels that nobody asked for, if they are less probable by a belief that has learned the others than if
    whoever told them had chosen any share of events, or of right predictions, by a factor of 20 once labels that were
    asked for can contradict them; or if they are unlike labels of items that the belief takes for like ones.
    """
    state, model = session._state, _of_asked_alone(session)
    if model is None or not isinstance(state, BeliefState):
        return state
    curve = model.curve if session.design.is_eager(state) else engine.put(model.curve)
    return replace(state, belief=curve, errors=replace(state.errors, **model.errors.learned))


def choosing_state(session: Course) -> State:
    """Return the state that a session chooses items by: random ones are drawn as they would be anyway."""
    state, model = session._state, _of_asked_alone(session)
    if model is None:
        return state
    with engine.eager():
        draws = np.stack([np.asarray(model.draw(s), np.float64) for s in range(len(model.weights))])
        labels = LabelDraws(draws, np.asarray(model.weights, np.float64))
    return session.design.believing(state, labels)


def _of_asked_alone(session: Course) -> CurveLabels | None:
    """Learn the labels that were asked for alone, if the others seem chosen by what they say; None otherwise."""
    state, cells = session._state, session.cells
    if not isinstance(state, BeliefState) or session._items.n_volunteered < _FEWEST or session._pool.multilabel:
        return None
    if session.question.labels_each != 1 or bool(state.complete):
        return None
    if not isinstance(cells, EventCells) or cells.events.believes_all:
        return None
    others = _labels_of_others(session, session.question, cells, state.counts.shape)
    asked = np.asarray(state.counts) - others
    held = session._volunteered
    if held is None or not (np.array_equal(held.asked, asked) and np.array_equal(held.others, others)):
        held = session._volunteered = _compared(state, cells, asked, others)
    return held.model if held.seem_chosen else None


def _compared(
    state: BeliefState, cells: EventCells, asked: Int[np.ndarray, "K O"], others: Int[np.ndarray, "K O"]
) -> Volunteered:
    """Learn the labels that were asked for alone, and look at the others by what they say."""
    with engine.eager():
        model = CurveLabels.before_labels(cells.events, asked.shape[1]).learned(asked.astype(np.float64))
    first, told = (labelled_events(state.event, counts) for counts in (asked, others))
    if_random = _log_evidence(state.belief) - _log_evidence(model.curve)
    if_chosen, enough = _log_chance_of_chosen(cells.events, told, np.asarray(state.row)), asked.sum() >= _ENOUGH
    log_odds = float(np.log(_ODDS if enough else 1.0) + if_random - if_chosen)
    # Of the curve alone: a cell with one label would seem to have been as that label says.
    expected = np.asarray(model.weights, np.float64) @ np.asarray(model.curve.deciding.share, np.float64)
    chances = [chance_of_difference(first, told, expected)]
    if not cells.events.about_agreement and asked.shape[1] == 2:  # whoever tells errors alone tells some of both kinds
        turned = np.asarray(cells.events.coordinates.feature) <= 0
        first, told = (np.where(turned[:, None], events[:, ::-1], events) for events in (first, told))
        chances.append(chance_of_difference(first, told, np.where(turned, 1 - expected, expected)))
    unlike = enough and others.sum() >= _ENOUGH and _improbable(chances)
    return Volunteered(asked, others, model, log_odds, unlike)


def _log_chance_of_chosen(events: CellEvents, told: Int[np.ndarray, "K 2"], row: Int[np.ndarray, " K"]) -> float:
    """Return the log probability of labels that were chosen by the class that they are, or by errors."""
    if events.about_agreement:  # of a class that was chosen predictions are right, and others are not
        of_class = np.stack([np.bincount(row, column) for column in told.T], axis=1)
        of_errors = told.sum(0)
    else:
        announced = np.asarray(events.coordinates.feature) > 0
        of_class, of_errors = told.sum(0), np.where(announced[:, None], told, told[:, ::-1]).sum(0)
    return float(np.logaddexp(log_chance_if_chosen(of_class), log_chance_if_chosen(of_errors)) - np.log(2))


def _log_evidence(belief: Any) -> float:
    """Log probability of all labels that a belief has learned."""
    prior, evidence = (np.asarray(x, np.float64) for x in (belief.members.prior, belief.particles.log_evidence))
    return float(np.logaddexp.reduce(np.log(prior) + evidence))


def said_of_chosen_labels(
    session: Course,
    question: Question,
    cells: Cells,
    counts: Int[np.ndarray, "K O"],
    found: Mapping[str, object],
    random: RandomLabels | None,
) -> tuple[str, ...]:
    """Say that labels that nobody asked for are unlike others, where answers would take them for random ones.

    Parameters
    ----------
    session : Course
    question, cells
        What is asked, and the groups of items that it is answered by.
    counts : (K, O) integers
        Labels of every cell by outcome.
    found : mapping
        Fields of the result, among them ``found`` of a belief.
    random : RandomLabels, optional
        Which labels are of random items of their cells, where groups are played; items of a cell are alike then.
    """
    if not session._items.n_volunteered or question.settled(cells, counts):
        return ()
    if random is not None:
        if _differ(question, random.counts, random.known):
            return (_UNLIKE,)
        return (_BY_SCORES,) if _are_of_unlike_scores(session, cells) else ()
    known = isinstance(found.get("found"), MeasurePosterior) and _of_asked_alone(session) is not None
    return (_KNOWN_ALONE,) if known else ()


def _labels_of_others(
    session: Course, question: Question, cells: Cells, shape: tuple[int, ...]
) -> Int[np.ndarray, "K O"]:
    """Count the labels that nobody asked for by cell and outcome."""
    items, codes = session._items.told
    alone = session._items.volunteered(items)
    others, some, codes = np.zeros(shape, np.int64), items[alone], session._units.counted(codes[alone])
    np.add.at(others, (cells.source.cells_of(some), question.outcomes_on(cells, session._pool, some, codes)), 1)
    return others


def _differ(question: Question, asked: Int[np.ndarray, "K O"], others: Int[np.ndarray, "K O"]) -> bool:
    """Tell whether labels of items that were asked for, and others, differ by more than chance within cells."""
    if min(asked.sum(), others.sum()) < _ENOUGH:
        return False
    events = [np.full(len(asked), outcome) for outcome in range(asked.shape[1])]
    right = np.arange(len(asked)) if isinstance(question, ConfusionMatrix) else getattr(question, "agreement", None)
    return _improbable([_chance(event, asked, others) for event in ([*events, right] if right is not None else events)])


def _are_of_unlike_scores(session: Course, cells: Cells) -> bool:
    """Tell whether items that nobody asked for have other confidences than those that were, by more than chance."""
    items, _ = session._items.told
    other = session._items.volunteered(items)
    if min(other.sum(), (~other).sum()) < _ENOUGH:
        return False
    confidence = session._units.confidence_of(items, cells)
    if confidence is None:
        return False
    return chance_of_unlike_scores(cells.source.cells_of(items), np.asarray(confidence), other) < 1 / _ONE_IN


def _improbable(chances: Sequence[float]) -> bool:
    return min(chances) * len(chances) < 1 / _ONE_IN


def _chance(event: Int[np.ndarray, " K"], asked: Int[np.ndarray, "K O"], others: Int[np.ndarray, "K O"]) -> float:
    """Return the chance of so great a difference of events, the outcome `event` of every cell."""
    first, second = (
        np.stack([counts.sum(1) - of_event, of_event], axis=1)
        for counts in (asked, others)
        for of_event in np.take_along_axis(counts, event[:, None], axis=1).T
    )
    return chance_of_difference(first, second)
