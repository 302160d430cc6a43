"""Labels that nobody asked for: what is learned from them, and said where they are not like others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import in_64_bits
from bayes_assess._tools.coded import taken_apart
from bayes_assess._tools.shapes import Bool, Int
from bayes_assess.designs import State
from bayes_assess.designs._belief_state import BeliefState, MeasurePosterior
from bayes_assess.designs._label_models import CurveLabels, LabelDraws
from bayes_assess.estimators.differing_labels import (
    chance_of_difference,
    chance_of_unlike_kinds,
    chance_of_unlike_scores,
    log_chance_if_chosen,
)
from bayes_assess.estimators.posterior_measure import labelled_events
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.models.belief import Belief, is_mixture
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import ConfusionMatrix, Question
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.questions._events import CellEvents
from bayes_assess.sessions.course import OF_PREDICTIONS, Course, Volunteered

# Campaigns, in which chance makes labels differ so much. Groups lose little where random labels count as known alone.
_ONE_IN, _ONE_IN_OF_GROUPS = 1_000, 100
_ENOUGH = 10  # labels of each kind
_FEWEST = 5  # labels that may have been chosen by what they say
_ODDS = 20.0  # that they were not, before any label is known; even odds while fewer labels than enough were asked for
# The same of groups until then: without scores random labels are no more probable than any share.
_ODDS_OF_GROUPS = 10.0
_UNLIKE = (
    "Labels that were told without being asked for are unlike labels of like items that were asked for, as chance "
    f"makes them in fewer than one of {_ONE_IN_OF_GROUPS} campaigns: they were chosen by something that tells of "
    "labels, and the answer learns nothing of other items from them."
)
_BY_SCORES = (
    "Labels that were told without being asked for are of items whose confidence is unlike that of random items of "
    f"the same groups, as chance makes it in fewer than one of {_ONE_IN_OF_GROUPS} campaigns: they were not chosen at "
    "random within groups, and the answer learns nothing of other items from them."
)
_BY_KIND = (
    "Labels that were told without being asked for are of items that are unlike random items of the same {cells} in "
    "{column}, as chance makes them in fewer than one of {one_in:,} campaigns: the answer learns nothing of other "
    "items from them{instead}."
)
_KNOWN_ALONE = (
    "Labels that were told without being asked for seem chosen by what they say, or by what else tells of it: the "
    "answer learns nothing of other items from them."
)
_FEW_TELL = f" {_ENOUGH} labels that are asked for can tell whether they are random ones after all."


def believed_state(session: Course) -> State:
    """Return the state that a session answers by: without what labels teach that were chosen by what they say.

    These are labels that nobody asked for, if they are less probable by a belief that has learned the others than if
    whoever told them had chosen any share of events, or of right predictions, by a factor of 20 once labels that were
    asked for can contradict them; or if they are unlike labels of items that the belief takes for like ones.
    """
    state, model = session._state, _of_asked_alone(session)
    return _believing(state, model) if model is not None and isinstance(state, BeliefState) else state


def learned_anew(
    session: Course, question: Question, cells: Cells, state: BeliefState
) -> tuple[BeliefState, Int[np.ndarray, "K O"]]:
    """Return the state of another question's belief that has learned all labels: without what those teach.

    The labels that count as known alone come last, by cell and outcome.
    """
    others = np.zeros(state.counts.shape, np.int64)
    if not _can_be_compared(cells, session):
        return state, others
    volunteered = _labels_of_others(session, question, cells, others.shape[1])
    held = _compared(state, cells, np.asarray(state.counts) - volunteered, volunteered)
    unlike = unlike_column(session, cells, _ONE_IN) is not None
    if held.seem_chosen or unlike or known_alone(session).any():
        return _believing(state, held.model), volunteered
    return state, others


def _believing(state: BeliefState, model: CurveLabels) -> BeliefState:
    curve = model.curve if isinstance(state.belief.key, np.ndarray) else engine.put(model.curve)
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
    if not isinstance(state, BeliefState) or not _can_be_compared(cells, session) or bool(state.complete):
        return None
    others = _labels_of_others(session, session.question, cells, state.counts.shape[1])
    asked = np.asarray(state.counts) - others
    held = session._volunteered
    if held is None or not (np.array_equal(held.asked, asked) and np.array_equal(held.others, others)):
        held = _compared(state, cells, asked, others)._replace(column=unlike_column(session, cells, _ONE_IN))
        session._volunteered = held
    return held.model if held.seem_chosen else None


def _can_be_compared(cells: Cells, session: Course) -> TypeGuard[EventCells]:
    """Whether labels that nobody asked for can be held against a belief on one event of every label."""
    book = session._items
    if book.n_volunteered < _FEWEST or book.n_labelled == session.cells.n_items:  # nobody has chosen among these
        return False
    if session._pool.multilabel or session.question.labels_each != 1:
        return False
    return isinstance(cells, EventCells) and not cells.events.believes_all


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
    unlike = enough and others.sum() >= _ENOUGH and min(chances) * len(chances) < 1 / _ONE_IN
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
    prior: Belief,
    cells: Cells,
    counts: Int[np.ndarray, "K O"],
    found: Mapping[str, object],
    random: RandomLabels | None,
) -> tuple[str, ...]:
    """Say that labels that nobody asked for seem chosen, so that the answer takes them for known and no more.

    Parameters
    ----------
    session : Course
    question, prior, cells
        What is asked, the groups of items that it is answered by, and what was believed of them.
    counts : (K, O) integers
        Labels of every cell by outcome.
    found : mapping
        Fields of the result, among them ``found`` of a belief, or a ``belief`` on groups that was formed elsewhere, of
        how many labels that count as known alone.
    random : RandomLabels, optional
        Which labels are of random items of their cells, where groups are played; items of a cell are alike then.
    """
    if not session._items.n_volunteered or question.settled(cells, counts):
        return ()
    if random is not None and found.get("belief") is None:
        if chance_of_labels(question, random.counts, random.known) < 1 / _ONE_IN_OF_GROUPS:
            return (_UNLIKE,)
        log_odds = log_odds_of_random(question, prior, cells, random.counts, random.known)
        if min(log_odds, log_odds_by_prediction(session, random.counts.shape[1])) < 0:
            return (_known_alone(session),)
        if chance_of_scores(session, cells) < 1 / _ONE_IN_OF_GROUPS:
            return (_BY_SCORES,)
        column = unlike_column(session, cells, _ONE_IN_OF_GROUPS)
        return () if column is None else (_said_of_column(session, column, "groups", _ONE_IN_OF_GROUPS),)
    posterior = found.get("found")
    alone = posterior.known.any() if isinstance(posterior, MeasurePosterior) else found.get("known_alone")
    if not alone:
        return ()
    held = session._volunteered
    if held is not None and held.column is not None and not held.tell_of_labels:
        return (_said_of_column(session, held.column, "predictions and scores", _ONE_IN),)
    return (_known_alone(session),)


def _said_of_column(session: Course, column: str, cells: str, one_in: int) -> str:
    """Say in which column items that others chose are unlike random ones."""
    instead = f", which questions by {show(column)} may" if column in session.pool.groups else ""
    name = show(column) if column != RESERVED else column
    return _BY_KIND.format(cells=cells, column=name, one_in=one_in, instead=instead)


def _known_alone(session: Course) -> str:
    """Say that labels count as known alone and, where few were asked for, that more of these could contradict it."""
    n_asked = (session._items.n_labelled - session._items.n_volunteered) * session.question.labels_each
    return _KNOWN_ALONE + _FEW_TELL * (n_asked < _ENOUGH)


def learned_alone(session: Course) -> RandomLabels | None:
    """Return the labels of random items of a session's own groups, if they alone are learned from; None otherwise."""
    if not session._items.n_volunteered:  # which is soon known, at every ask
        return None
    random, counts = session._own_random_labels, np.asarray(session._state.counts)
    if random is None:
        return None
    own = session.question, session.prior, session.cells
    return random if said_of_chosen_labels(session, *own, counts, {}, random) else None


def known_alone(session: Course) -> Bool[np.ndarray, " n"]:
    """Tell which labelled items, in pool order, count as known alone, as others chose them by what tells of labels."""
    items, _ = session._items.told
    if learned_alone(session) is not None:
        return _others(session, items)
    return session._items.volunteered(items) & (_of_asked_alone(session) is not None)


def _labels_of_others(session: Course, question: Question, cells: Cells, n_outcomes: int) -> Int[np.ndarray, "K O"]:
    """Count the labels that nobody asked for by cell and outcome."""
    items, codes = session._items.told
    alone = session._items.volunteered(items)
    return session._counted(question, cells, items[alone], codes[alone], n_outcomes)


def chance_of_labels(question: Question, asked: Int[np.ndarray, "K O"], others: Int[np.ndarray, "K O"]) -> float:
    """Return the chance that labels of items that were asked for, and others, differ so much within cells.

    Parameters
    ----------
    question : Question
    asked, others : (K, O) integers
        Labels of every cell by outcome. Of fewer than ten of a kind nothing is said: the chance is 1.
    """
    if min(asked.sum(), others.sum()) < _ENOUGH:
        return 1.0
    events = [np.full(len(asked), outcome) for outcome in range(asked.shape[1])]
    right = _agreement(question, asked) if asked.shape[1] > 2 else None  # else it is one of these
    chances = [_chance(event, asked, others) for event in (events if right is None else [*events, right])]
    return min(1.0, min(chances) * len(chances))


def log_odds_of_random(
    question: Question, prior: Any, cells: Cells, asked: Int[np.ndarray, "K O"], others: Int[np.ndarray, "K O"]
) -> float:
    """Return the log odds that labels of others are random ones, and were not chosen by what they say.

    That is whether predictions are right or, where predictions of two classes make up the cells, which class they are.
    Infinite where no agreement is among the outcomes, or the prior learns nothing from group to group.
    """
    right = _agreement(question, asked)
    if right is None or not is_mixture(prior) or others.sum() < _FEWEST:
        return np.inf
    evidence: list[float] = []
    with engine.eager(), in_64_bits():
        for counts in (asked + others, asked):
            belief = prior.update_counts(counts)
            evidence.append(float(getattr(belief, "agreement", belief).log_evidence()))
    n_right = others[np.arange(len(others)), right]
    told = np.stack([others.sum(-1) - n_right, n_right], axis=-1)
    if_chosen = log_chance_if_chosen(told.sum(0))
    if len(told) == 2 and [part.description for part in cells.parts] == [RESERVED]:
        of_class = log_chance_if_chosen(told[0] + told[1, ::-1])
        if_chosen = np.logaddexp(if_chosen, of_class) - np.log(2)
    odds = _ODDS if asked.sum() >= _ENOUGH else _ODDS_OF_GROUPS
    return float(np.log(odds) + evidence[0] - evidence[1] - if_chosen)


def log_odds_by_prediction(session: Course, n_outcomes: int) -> float:
    """Return the same for accuracies by prediction, which see more; infinite where groups are these or no accuracies.

    Of two classes alone.
    """
    pool, question = session._pool, session.question
    is_own = [part.description for part in session.cells.parts] == [RESERVED]
    of_two = n_outcomes == 2 and not (is_own or question.numeric or pool.multilabel) and pool.n_classes == 2
    if not of_two or question.labels_each != 1 or session._items.n_volunteered < _FEWEST:
        return np.inf
    cells, prior = session._by_prediction
    items, codes = session._items.told
    other = _others(session, items)
    counts = (session._counted(OF_PREDICTIONS, cells, items[kind], codes[kind], 2) for kind in (~other, other))
    return log_odds_of_random(OF_PREDICTIONS, prior, cells, *counts)


def _others(session: Course, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Tell which items nobody asked for: whatever became since of those that were asked for, they are random."""
    return ~np.isin(items, session._handed_out)


def _agreement(question: Question, counts: Int[np.ndarray, "K O"]) -> Int[np.ndarray, " K"] | None:
    """Return the outcome of every cell that is the label's agreement with the prediction; None where none is."""
    if isinstance(question, ConfusionMatrix):
        return np.arange(len(counts))
    return getattr(question, "agreement", np.ones(len(counts), np.int64) if counts.shape[1] == 2 else None)


def chance_of_scores(session: Course, cells: Cells) -> float:
    """Return the chance that confidences of random items, and of those that others chose, differ so much within cells.

    Of the session's own cells any random items will do, labelled or not: where many labels were told already, a design
    may ask for none.
    """
    items, other = _beside_random_ones(session, cells)
    confidence = session._units.confidence_of(items, cells)
    if confidence is None or min(other.sum(), (~other).sum()) < _ENOUGH:
        return 1.0
    return chance_of_unlike_scores(cells.source.cells_of(items), np.asarray(confidence), other)


def unlike_column(session: Course, cells: Cells, one_in: int) -> str | None:
    """Return the column of the pool by which others chose items within cells, such as a month; None if there is none.

    Parameters
    ----------
    session : Course
    cells : Cells
        Within which items that nobody asked for are taken for random ones.
    one_in : int
        Campaigns, in one of which chance makes items differ so much from random ones, in any column.
    """
    pool = session.pool
    if pool.numeric or pool.multilabel:
        return None
    items, other = _beside_random_ones(session, cells)
    if min(other.sum(), (~other).sum()) < _ENOUGH:
        return None
    rows, cell = pool.rows_of(items), cells.source.cells_of(items)
    columns = {RESERVED: pool.predictions, **{name: pool.groups.coded(name) for name in pool.groups}, **pool.systems}
    chances: dict[str, float] = {}
    for name, column in columns.items():
        values, codes = taken_apart(column)
        here = values[rows] if codes is None else values[codes[rows]]
        here = here.astype(str) if here.dtype == object else here
        chances[name] = chance_of_unlike_kinds(cell, np.unique(here, return_inverse=True)[1], other)
    name = min(chances, key=chances.__getitem__)
    return name if chances[name] * len(chances) < 1 / one_in else None


def _beside_random_ones(session: Course, cells: Cells) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return the items whose labels nobody asked for among random ones of the same cells, and which these are."""
    items, _ = session._items.told
    other = _others(session, items)
    if cells is not session.cells:
        return items, other
    chosen = items[other]
    random = session._items.random_beside(chosen)
    return np.concatenate([chosen, random]), np.arange(len(chosen) + len(random)) < len(chosen)


def _chance(event: Int[np.ndarray, " K"], asked: Int[np.ndarray, "K O"], others: Int[np.ndarray, "K O"]) -> float:
    """Return the chance of so great a difference of events, the outcome `event` of every cell."""
    first, second = (
        np.stack([counts.sum(1) - of_event, of_event], axis=1)
        for counts in (asked, others)
        for of_event in np.take_along_axis(counts, event[:, None], axis=1).T
    )
    return chance_of_difference(first, second)
