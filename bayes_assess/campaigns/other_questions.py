"""Other questions from the labels of one session.

Designs that play groups draw the items of each of their cells at random, but some cells more than others. So the labels
answer any question on groups once every part of a group, what it has in common with a cell of the session, counts by
its items. Where all items of the pool were drawn alike, labels of the whole pool are a random sample, and answer
measures, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.text import plural
from bayes_assess.campaigns.campaign import Campaign
from bayes_assess.campaigns.journal import Event
from bayes_assess.designs import ARMS, DESIGNS, WeightedDesign
from bayes_assess.errors import QuestionError
from bayes_assess.models.accuracy_parts import part_draws
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question
from bayes_assess.questions._parts import crossed, group_accuracies
from bayes_assess.questions._priors import accuracy_prior
from bayes_assess.results import make_result, measure_answer

_RANDOM = "random"  # the design whose labels are a random sample of the whole pool
_AS_IF = "passive"  # the design by which such a sample answers measures

_NUMBERS = 10_000_000  # posterior draws: as many as fit in this many, within these bounds
_MOST_DRAWS, _FEWEST_DRAWS = 4000, 500


def answer_another(session: Any, question: Any, level: float) -> Any:
    """Answer another question from the labels of a session whose design plays groups.

    Parameters
    ----------
    session : Assessment
    question : Question
    level : float
        As for `Assessment.result`.

    Returns
    -------
    Result
        By the learned prior, whichever the session's is: that is on other groups.

    Raises
    ------
    QuestionError
        If the labels cannot answer it.
    """
    if not isinstance(question, Question):
        raise QuestionError(f"A question is one such as GroupAccuracy(by='prediction'); found {question!r}.")
    pool = session.pool
    asked = question.for_pool(pool)
    if asked.labels_each != 1:
        raise QuestionError(f"{asked.name} of pairs needs labels of both halves; start a session with it.")
    if asked.designs is None or set(asked.designs) & set(ARMS):
        return _groups(session, asked, level)
    if _AS_IF not in asked.designs:
        raise QuestionError(f"{asked.name} is about ranked lists, which draw items by their ranks; start a session.")
    if session.design.name != _RANDOM:
        raise QuestionError(
            f"{asked.name} needs items drawn from the whole pool with known probabilities, and design "
            f"{session.design.name!r} draws more from some groups, as their labels tell; start a session with it, or "
            "with design='random', whose labels answer it, too."
        )
    return _measured(session, asked, level)


def _groups(session: Any, asked: Any, level: float) -> Any:
    """Answer a question on groups: from their labels where these are random ones, else part by part."""
    pool, seed, book = session.pool, session._seed, session._items
    cells = asked.cells(pool, seed)
    asked.check(cells)
    _check_drawn(session, asked, cells)
    items = np.flatnonzero(book.label >= 0)
    outcomes = asked.outcomes_on(cells, pool, items, book.label[items])
    prior = asked.prior(pool, cells, None, None)
    counts = _counts(cells, items, outcomes, asked.reward(cells, prior).n_outcomes)
    belief, whole = None, "pool" if session.design.name == _RANDOM else "groups"
    how = f"the labels are of random items of the {whole}"
    parts, of = crossed(pool, cells, session.cells)
    if session.design.name != _RANDOM and len(np.unique(of)) < len(of):
        belief = asked.belief_of_accuracies(_accuracies(session, asked, parts, of), prior.update_counts(counts), seed)
        if belief is None:
            raise QuestionError(
                f"{asked.name} is not answered from parts of its groups, and design {session.design.name!r} drew more "
                f"from some groups by {session.cells.description} than from others; start a session with it, or with "
                "design='random'."
            )
        n_parts = plural(int((parts.sizes > 0).sum()), "part")
        how = f"each of {n_parts} of its groups, from which more or fewer were drawn, counts by its items"
    return make_result(
        question=asked,
        prior=prior,
        cells=cells,
        counts=counts,
        level=level,
        design=session.design.name,
        volunteered=book.n_volunteered,
        skipped=np.bincount(cells.source.cells_of(np.flatnonzero(book.skipped)), minlength=cells.n_cells),
        seed=seed,
        belief=belief,
        notes=(_drawn_for(session, how), *session._annotators.said()),
        labelled_by=session._annotators.by_whom(),
        **asked.result_fields(pool),
    )


def _accuracies(session: Any, asked: Any, parts: Cells, of: Int[np.ndarray, " J"]) -> Float[np.ndarray, "S G"]:
    """Draw the accuracies of groups, part by part."""
    pool, book, cells = session.pool, session._items, session.cells
    items = np.flatnonzero(book.label >= 0)
    right = (book.label[items] == pool.predictions[items]).astype(np.int64)
    told = _counts(parts, items, right, 2)
    labels, sizes = told.sum(-1), parts.sizes
    drawn = np.zeros(len(of), np.int64)  # cell of the session of every part
    filled = np.flatnonzero(sizes)
    drawn[filled] = cells.source.cells_of(parts.source.take(filled, np.zeros(len(filled), np.int64)))
    learned: Any = accuracy_prior(cells, None, None, asked.default_strength)
    n = int(np.clip(_NUMBERS // len(of), _FEWEST_DRAWS, _MOST_DRAWS))
    theta = part_draws(learned, drawn, told[:, 1], labels, generator(session._seed, "parts"), n)
    return group_accuracies(theta, sizes - labels, parts, of, asked.target)


def _measured(session: Any, asked: Any, level: float) -> Any:
    """Answer a measure from random items, as the design would that draws them one by one from the whole pool."""
    pool, book = session.pool, session._items
    _check_drawn(session, asked, None)
    design = DESIGNS[_AS_IF]()
    assert isinstance(design, WeightedDesign)
    other = Campaign(pool, asked, design, asked.setting(pool, session._seed), session._seed)
    cells, matters = other.cells, np.asarray(other._state.matters)
    asked_for = np.zeros(pool.n_items, bool)
    for event in session._events:
        if event.kind == "ask":
            asked_for[pool.positions(np.asarray(event.payload["ids"]))] = True
    labelled = np.flatnonzero(book.label >= 0)
    drawn = labelled[asked_for[labelled] & matters[cells.source.cells_of(labelled)]]
    t = np.arange(len(drawn))
    draws = {
        "weight": np.ones(len(drawn)),
        "p_new": (int(cells.sizes[matters].sum()) - t) / pool.n_items,
        "p_pending": t / pool.n_items,
    }
    events = [("ask", drawn, {**draws, "covered": matters})] if len(drawn) else []
    events += [("tell", some, {}) for some in (drawn, np.setdiff1d(labelled, drawn)) if len(some)]
    skipped = np.flatnonzero(book.skipped)
    events += [("skip", skipped, {})] if len(skipped) else []
    other._follow([_event(session, number, *event) for number, event in enumerate(events, start=1)], "this session")
    return make_result(
        question=asked,
        prior=other.prior,
        cells=cells,
        counts=np.asarray(other._state.counts),
        level=level,
        design=_RANDOM,
        volunteered=book.n_volunteered,
        skipped=other._items.skipped_by_cell,
        seed=session._seed,
        notes=(_drawn_for(session, "the labels are of random items of the pool"), *session._annotators.said()),
        labelled_by=session._annotators.by_whom(),
        **asked.result_fields(pool),
        **measure_answer(design, other._state),
    )


def _event(session: Any, number: int, kind: str, items: Int[np.ndarray, " n"], entry: dict[str, Any]) -> Event:
    pool = session.pool
    labels = {"labels": pool.label_space.names(session._items.label[items])} if kind == "tell" else {}
    return Event(number, kind, "", {"ids": pool.ids[items], **labels, **entry})


def _check_drawn(session: Any, asked: Any, cells: Cells | None) -> None:
    """Raise QuestionError if the question is about items that the session never asks for."""
    n_items = session.pool.n_items
    items = np.arange(n_items)
    needed = np.ones(n_items, bool) if cells is None else asked.playable(cells)[cells.source.cells_of(items)]
    never = int((needed & ~session._playable[session.cells.source.cells_of(items)]).sum())
    if never:
        raise QuestionError(
            f"{asked.name} is about {plural(never, 'item')} that {session.question.name} never asks for; start a "
            "session with it."
        )


def _counts(cells: Cells, items: np.ndarray, outcomes: np.ndarray, n_outcomes: int) -> Int[np.ndarray, "K O"]:
    """Count the labels of every cell by outcome."""
    counts = np.zeros((cells.n_cells, n_outcomes), np.int64)
    np.add.at(counts, (cells.source.cells_of(items), outcomes), 1)
    return counts


def _drawn_for(session: Any, how: str) -> str:
    """Say for which question the labels were drawn, and how they serve another one."""
    question, description = session.question, session.cells.description
    return f"These labels were drawn for {question.name} by {description}, by design {session.design.name!r}: {how}."
