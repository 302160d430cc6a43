"""What answers say of labels that nobody asked for, where they are not like those that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.designs._belief_state import MeasurePosterior
from bayes_assess.estimators.differing_labels import chance_of_difference
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import ConfusionMatrix, Question
from bayes_assess.sessions.course import Course

_ONE_IN = 1_000  # campaigns, in which chance makes labels differ so much
_ENOUGH = 10  # labels of each kind
_UNLIKE = (
    "Labels that were told without being asked for are unlike labels of like items that were asked for, as chance "
    f"makes them in fewer than one of {_ONE_IN:,} campaigns: they were chosen by something that tells of labels."
)
_HELD = "Intervals hold what random labels alone tell, which take them for known, no more; estimates may be far off."
_MAY_MISS = "Intervals take them for random ones, and may be far off."


def beside_chosen_labels(
    session: Course,
    question: Question,
    cells: Cells,
    counts: Int[np.ndarray, "K O"],
    found: Mapping[str, object],
    random: RandomLabels | None,
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Say that labels that nobody asked for differ from others of like items, where the answer takes them for random.

    What a belief has found then is to hold what random items alone tell.

    Parameters
    ----------
    session : Course
    question, cells
        What is asked, and the groups of items that it is answered by.
    counts : (K, O) integers
        Labels of every cell by outcome.
    found : mapping
        Fields of the result, among them ``found`` of a belief, by which items are alike; without one those of a cell
        are.
    random : RandomLabels, optional
        Which labels are of random items of their cells, where groups are played.

    Returns
    -------
    found : mapping
    sentences : tuple of str
    """
    book, belief = session._items, found.get("found")
    if not book.n_volunteered or question.settled(cells, counts):
        return found, ()
    if random is not None:
        said = _differ(question, cells, random.counts, random.known, None)
        return found, (f"{_UNLIKE} {_MAY_MISS}",) if said else ()
    if not isinstance(belief, MeasurePosterior) or question.labels_each != 1:
        return found, ()
    items, codes = book.told
    alone = book.volunteered(items)
    others, some, codes = np.zeros_like(counts), items[alone], session._units.counted(codes[alone])
    np.add.at(others, (cells.source.cells_of(some), question.outcomes_on(cells, session._pool, some, codes)), 1)
    if not _differ(question, cells, counts - others, others, belief):
        return found, ()
    return {**found, "unlike": True}, (f"{_UNLIKE} {_HELD}",)


def _differ(
    question: Question,
    cells: Cells,
    asked: Int[np.ndarray, "K O"],
    others: Int[np.ndarray, "K O"],
    belief: MeasurePosterior | None,
) -> bool:
    """Tell whether labels of items that were asked for, and others, differ by more than chance."""
    if min(asked.sum(), others.sum()) < _ENOUGH:
        return False
    if belief is None:
        events = [np.full(len(asked), outcome) for outcome in range(asked.shape[1])]
        right = np.arange(len(asked)) if isinstance(question, ConfusionMatrix) else getattr(question, "agreement", None)
        chances = [_chance(event, asked, others) for event in ([*events, right] if right is not None else events)]
    else:
        on: Any = cells
        if belief.exact or on.events.believes_all:
            return False
        # Of the curve alone: a cell with one label would seem to have been as that label says.
        expected, event = np.asarray(belief.curves, np.float64).mean(0), on.events.outcome
        chances = [_chance(event, asked, others, expected)]
        if not on.events.about_agreement and asked.shape[1] == 2:  # whoever tells errors alone tells some of both kinds
            announced = np.asarray(on.events.coordinates.feature) > 0
            right = np.where(announced, expected, 1 - expected)
            chances.append(_chance(np.where(announced, event, 1 - event), asked, others, right))
    return min(chances) * len(chances) < 1 / _ONE_IN


def _chance(
    event: Int[np.ndarray, " K"],
    asked: Int[np.ndarray, "K O"],
    others: Int[np.ndarray, "K O"],
    expected: Float[np.ndarray, " K"] | None = None,
) -> float:
    """Return the chance of so great a difference of events, the outcome `event` of every cell."""
    first, second = (
        np.stack([counts.sum(1) - of_event, of_event], axis=1)
        for counts in (asked, others)
        for of_event in np.take_along_axis(counts, event[:, None], axis=1).T
    )
    return chance_of_difference(first, second, expected)
