"""Other questions from the labels of one session.

Designs draw the items of each of their cells at random, but some cells more than others. So the labels answer any
question on groups once every part of a group, what it has in common with a cell of the session, counts by its items.
Where all items of the pool were drawn alike, labels of the whole pool are a random sample, and answer measures, too.
Where which items were drawn follows from scores and predictions (and from labels that are known), calibration curves
that learn from all labels answer measures: given the scores and predictions, the choice says nothing more of a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.designs import ARMS, DESIGNS, State, VarianceReduction, find_engine
from bayes_assess.designs._belief_state import BeliefState
from bayes_assess.errors import QuestionError
from bayes_assess.models.accuracy_parts import Alike, part_draws
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Best, Metric, Question, Setting, TwoSystems
from bayes_assess.questions._event_cells import metric_cells
from bayes_assess.questions._parts import crossed, group_accuracies
from bayes_assess.questions._priors import accuracy_prior, are_of_predictions, strength_prior_of
from bayes_assess.questions.asked import check_question
from bayes_assess.results import Result
from bayes_assess.results._in_words import question_in_words
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.journal import Event
from bayes_assess.sessions.team.adjudication import Adjudication
from bayes_assess.sessions.volunteered import believed_state, known_alone, learned_anew

_RANDOM = "random"  # the design whose labels are a random sample of the whole pool
_ALIKE = (_RANDOM, "passive")  # designs that draw all items alike
_SPARE = 1.5  # runs of a session's cells in the order of the scores, per pair of kind and cell, of those that follow it
_GROUP = "the groups asked for"  # a column of theirs
_LEARNED = "what scores and predictions mean is learned from all of them"
_AS_IF = "passive"  # the design by which such a sample answers measures

_NUMBERS = 10_000_000  # posterior draws: as many as fit in this many, within these bounds
_MOST_DRAWS, _FEWEST_DRAWS = 4000, 500
_TIMES = 1_000_000  # as many items as there are, of which a share is a rate


def on_own_cells(
    session: Campaign, question: Question
) -> tuple[tuple[Question, Cells, State] | None, QuestionError | None]:
    """Put another measure on the cells of a session on measures, if they tell apart what it tells apart.

    Returns
    -------
    (question, cells, state), or None
    refused : QuestionError, optional
        Why not.
    """
    check_question(question)
    if session.design.plays_arms or question.labels_each != session.question.labels_each:
        return None, None
    try:
        return question.on_own_cells(session.pool, session.cells, session.design, believed_state(session)), None
    except QuestionError as refused:
        return None, refused


def take_columns(session: Campaign, pool: Pool) -> None:
    """Let a session have its pool with further columns, which other questions are asked by; items are the same.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(predictions=[0, 0, 1, 1]), ba.Metric("f1"), design="passive")
    >>> take_columns(a, ba.Pool(predictions=[0, 0, 1, 1], groups={"site": ["n", "s", "n", "s"]}))
    >>> a.result(question=ba.Rate(by="site")).groups.tolist()
    ['rate (site n)', 'rate (site s)']
    """
    asked = session.question
    posed = asked.posed(asked.labelled_pool(pool))[0]
    if asked.numeric:  # whose labels have codes in the order in which they were told
        posed.label_space.adopt(session._pool.label_space.told())
    session._pool, session.pool = posed, asked.units(posed).pool


def answer_another(session: Campaign, question: Question, level: float, refused: QuestionError | None = None) -> Result:
    """Answer another question from the labels of a session, on cells of its own.

    Parameters
    ----------
    session : Assessment
    question : Question
    level : float
        As for `Assessment.result`.
    refused : QuestionError, optional
        Why the session's own cells do not answer it.

    Returns
    -------
    Result
        By the learned prior, whichever the session's is: that is on other groups.

    Raises
    ------
    QuestionError
        If the labels cannot answer it, as those that are draws cannot: an item may have several.
    """
    check_question(question)
    pool = session.pool
    asked = question.for_pool(pool)
    if session.repeats_items:
        own = "its items have one label each" if "stochastic" not in asked.oracles else "it is what you want to know"
        raise QuestionError(
            f"Labels of this session are draws, of which an item may have several: they answer {session.question.name} "
            f"and other measures that need not tell more items apart, not {asked.name}. Start a session with that, "
            f"where {own}."
        )
    if asked.labels_each != 1:
        raise QuestionError(f"{asked.name} of pairs needs labels of both halves; start a session with it.")
    if asked.designs is None or set(asked.designs) & set(ARMS):
        try:
            return _groups(session, asked, level)
        except QuestionError as error:
            raise QuestionError(f"{error}{_instead(session.question, asked)}") from None
    if _AS_IF not in asked.designs:
        raise QuestionError(f"{asked.name} is about ranked lists, which draw items by their ranks; start a session.")
    if session.design.name == _RANDOM:
        return _measured(session, asked, level)
    return _by_curves(session, asked, level, refused)


def _groups(session: Campaign, asked: Question, level: float) -> Result:
    """Answer a question on groups: from their labels where these are random ones, else part by part."""
    pool, seed, book = session.pool, session._seed, session._items
    cells = asked.cells(pool, seed)
    asked.check(cells)
    _check_drawn(session, asked, cells)
    items = np.flatnonzero(book.label >= 0)
    outcomes = asked.outcomes_on(cells, pool, items, book.label[items])
    prior = asked.prior(pool, cells, None, None)
    counts = _counts(cells, items, outcomes, asked.reward(cells, prior).n_outcomes)
    belief, n_alone, whole = None, 0, "pool" if session.design.name in _ALIKE else "groups"
    how = f"the labels are of random items of the {whole}"
    parts, of = crossed(pool, cells, session.cells)
    if session.design.name not in _ALIKE and len(np.unique(of)) < len(of):
        if session.design.plays_arms:
            alone = known_alone(session)
            accuracy, n_alone = _accuracies(session, asked, cells, parts, of, alone), int(alone.sum())
        else:
            accuracy, n_alone = _accuracies_by_curves(session, asked, cells)
            alone = book.volunteered(items) & bool(n_alone)
        learned = _counts(cells, items[~alone], outcomes[~alone], counts.shape[1])
        belief = asked.belief_of_accuracies(accuracy, prior.update_counts(learned), seed)
        if belief is None:
            raise QuestionError(
                f"{asked.name} is not answered from parts of its groups, and design {session.design.name!r} drew more "
                f"from some groups by {session._drawn_by} than from others; start a session with it, or with "
                "design='random'."
            )
        n_parts = plural(int((parts.sizes > 0).sum()), "part")
        how = f"each of {n_parts} of its groups, from which more or fewer were drawn, counts by its items"
        how = how if session.design.plays_arms else _LEARNED
    return session._answered(
        asked,
        cells,
        prior,
        counts,
        {"belief": belief, "known_alone": n_alone} if n_alone else {"belief": belief},
        level=level,
        random=session._random_labels(asked, cells, counts) if belief is None else None,
        skipped=np.bincount(cells.source.cells_of(np.flatnonzero(book.skipped)), minlength=cells.n_cells),
        notes=(_drawn_for(session, how),),
    )


def _accuracies(
    session: Campaign,
    asked: Question,
    groups: Cells,
    parts: Cells,
    of: Int[np.ndarray, " J"],
    alone: Bool[np.ndarray, " n"],
) -> Float[np.ndarray, "S G"]:
    """Draw the accuracies of groups, part by part; labels that are known `alone` teach nothing of other items."""
    pool, book, cells = session.pool, session._items, session.cells
    items = np.flatnonzero(book.label >= 0)
    outcomes = (book.label[items] == pool.predictions[pool.rows_of(items)]).astype(np.int64)
    sizes, labels = parts.sizes, _counts(parts, items, outcomes, 2).sum(-1)
    taught = _counts(parts, items[~alone], outcomes[~alone], 2)
    drawn = np.zeros(len(of), np.int64)  # cell of the session of every part
    drawn[parts.source.row_cells] = cells.source.row_cells
    n = int(np.clip(_NUMBERS // len(of), _FEWEST_DRAWS, _MOST_DRAWS))
    rng = generator(session._seed, "parts")
    # Parts of one predicted class are alike; of other groups labels say which are.
    kinds = [(cells, drawn, groups), (groups, of, cells)]
    ways = []
    for kind, group, other in [kind for kind in kinds if are_of_predictions(kind[0])] or kinds:
        prior: Any = accuracy_prior(kind, None, None, asked.default_strength)
        ways.append(Alike(prior, group, strength_prior_of(other)))
    theta = part_draws(ways, taught[:, 1], taught.sum(-1), rng, n)
    return group_accuracies(theta, sizes - labels, parts, of, asked.target)


def _accuracies_by_curves(session: Campaign, asked: Question, cells: Cells) -> tuple[Float[np.ndarray, "S G"], int]:
    """Draw the accuracies of groups, see `group_accuracies`, by calibration curves, which know what chose the items.

    How many labels taught the curves nothing, as others chose them, comes last.
    """
    pool, book = session.pool, session._items
    labelled = np.flatnonzero(book.label >= 0)
    names = np.char.zfill(np.arange(cells.n_cells).astype(str), len(str(cells.n_cells)))  # whose order is their own
    grouped = pool.with_groups(**{_GROUP: names[cells.source.row_cells]})
    # Beside a measure of the classes, accuracies are told apart by predicted class, as the choice of items may be.
    beside = "f1" if pool.n_classes == 2 else "f1_macro"
    question = Metric([beside, "accuracy"], by=_GROUP)
    design = VarianceReduction()
    campaign = _without_labels(
        grouped, question, design, question.setting(grouped, session._seed, design.strata_of(grouped))
    )
    _check_follows_scores(session, asked.name, question, campaign)
    (state, others), of_pool = _learned_anew(session, campaign), asked.target == "pool"
    # The curves draw what unlabelled items turn out to be; of many times as many items that is their rate.
    labels = np.asarray(state.belief.counts, np.int64).sum(-1) + others.sum(-1)
    sizes = np.asarray(state.measure.size, np.int64)
    many = labels + _TIMES * (sizes - labels if of_pool else sizes)
    state = replace(state, measure=replace(state.measure, size=many))
    draws = design.posterior(state, session._seed, 0.95).draws
    present = np.flatnonzero(cells.sizes)
    accuracy = np.full((len(draws), cells.n_cells), 0.5)
    accuracy[:, present] = draws[:, -len(present) :]
    cell, agrees = cells.source.cells_of(labelled), book.label[labelled] == pool.predictions[pool.rows_of(labelled)]
    n_told = np.bincount(cell, minlength=cells.n_cells)
    n_right = np.bincount(cell, weights=agrees, minlength=cells.n_cells)
    more = _TIMES * (cells.sizes - n_told if of_pool else cells.sizes)
    drawn = np.where(more > 0, (accuracy * (n_told + more) - n_right) / np.maximum(more, 1), accuracy).clip(0.0, 1.0)
    return drawn, int(others.sum())


def _measured(session: Campaign, asked: Question, level: float) -> Result:
    """Answer a measure from random items, as the design would that draws them one by one from the whole pool."""
    pool, book = session.pool, session._items
    _check_drawn(session, asked, None)
    design = DESIGNS[_AS_IF]()
    campaign = Adjudication(pool, asked, design, asked.setting(pool, session._seed), session._seed, session.engine)
    cells, matters = campaign.cells, np.asarray(campaign._state.matters)
    asks = [pool.positions(np.asarray(event.payload["ids"])) for event in session._events if event.kind == "ask"]
    labelled = np.flatnonzero(book.label >= 0)
    asked_for = np.isin(labelled, np.concatenate([*asks, labelled[:0]]))
    drawn = labelled[asked_for & matters[cells.source.cells_of(labelled)]]
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
    campaign._follow([_event(session, number, *event) for number, event in enumerate(events, start=1)], "this session")
    skipped, note = campaign._items.skipped_by_cell, _drawn_for(session, "the labels are of random items of the pool")
    evidence = design.evidence(campaign._state, session._seed, level, skipped)
    parts = asked, cells, campaign.prior, campaign._state.counts, evidence
    return session._answered(*parts, level=level, skipped=skipped, design=_RANDOM, notes=(note,))


def _by_curves(session: Campaign, asked: Question, level: float, refused: QuestionError | None) -> Result:
    """Answer a measure by calibration curves that learn from all labels, whatever design has drawn their items."""
    pool, book, seed = session.pool, session._items, session._seed
    if asked.default_design_on(pool) != VarianceReduction.name:
        raise refused or QuestionError(f"{asked.name} is answered from random items alone; start a session with it.")
    design = VarianceReduction()
    campaign = _without_labels(pool, asked, design, asked.setting(pool, seed, design.strata_of(pool)), seed)
    _check_drawn(session, asked, campaign.cells)
    _check_follows_scores(session, asked.name, asked, campaign)
    state, _ = _learned_anew(session, campaign)
    cells, skipped = campaign.cells, campaign._items.skipped_by_cell
    evidence = design.evidence(state, seed, level, skipped, asked.labelled_items(pool, cells, book.label))
    parts = asked, cells, campaign.prior, state.counts, evidence
    return session._answered(*parts, level=level, skipped=skipped, notes=(_drawn_for(session, _LEARNED),))


def _without_labels(
    pool: Pool, asked: Question, design: VarianceReduction, setting: Setting, seed: int = 0
) -> Campaign:
    """Return a campaign without labels, on the engine that a session would take."""
    engine = find_engine(None, design, setting.cells.n_cells, setting.prior)
    return Adjudication(pool, asked, design, setting, seed, engine)


def _learned_anew(session: Campaign, other: Campaign) -> tuple[BeliefState, Int[np.ndarray, "K O"]]:
    """Tell a campaign without labels those of a session; return its state, without account of random items.

    Labels that count as known alone come last, see `learned_anew`.
    """
    book = session._items
    items = generator(session._seed, "labels anew").permutation(np.flatnonzero(book.label >= 0))
    if len(items):
        other._learn(items, book.label[items])
    other._set_aside(np.flatnonzero(book.skipped))
    assert isinstance(other._state, BeliefState)
    state, others = learned_anew(session, other.question, other.cells, other._state)
    return replace(state, audit=state.audit._replace(f=state.audit.f[:0])), others


def _instead(own: Question, asked: Question) -> str:
    """Say which question a session on several systems answers where two of them are compared, the end of a sentence."""
    if not (isinstance(own, Best) and isinstance(asked, TwoSystems) and own.measure_name == "accuracy"):
        return ""
    pair = [side for side in (asked.first, asked.second) if isinstance(side, str) and side in own.systems]
    both = " and ".join(map(show, pair))
    return f" Of {both} alone Best is answered by these labels: the lead is their difference." if len(pair) == 2 else ""


def _check_follows_scores(session: Campaign, name: str, asked: Question, other: Campaign) -> None:
    """Raise QuestionError if which items were drawn follows from more than calibration curves know."""
    if session.design.name in _ALIKE or _follows_scores(session, asked, other):
        return
    raise QuestionError(
        f"{name} needs items whose choice follows from scores and predictions alone, or random ones, and design "
        f"{session.design.name!r} draws more from some groups by {session._drawn_by or 'prediction'}, as their labels "
        "tell; start a session with it, or with design='random', whose labels answer it, too."
        f"{_as_accuracy(session, asked)}"
    )


def _as_accuracy(session: Campaign, asked: Question) -> str:
    """Say which question on groups says the same as an accuracy that was refused, the end of a sentence."""
    if not (session.design.plays_arms and isinstance(asked, Metric) and asked.of_shares):
        return ""
    same = ", whose overall accuracy it is" if asked.by is None else f" by {asked.by}, whose accuracies these are"
    return f" These labels answer GroupAccuracy{same}."


def _follows_scores(session: Campaign, asked: Question, other: Campaign) -> bool:
    """Tell whether the session's cells follow from what the curves know of an item.

    In the order of the scores, among items that are of one kind to the measure, cells that follow from the scores come
    in runs, about one of each.
    """
    cells = metric_cells(other.cells)
    drawn, cell = session.cells.source.row_cells, cells.source.row_cells
    kind = np.asarray(cells.measure.attribute)[cell]
    if cells.measure.table.is_of_scores or cells.measure.table.is_averaged:
        kind = np.zeros_like(kind)  # kinds are levels of the score
    ranked = asked.ranked(other.pool)
    if ranked is not None and ranked.announced is not None:  # which are ranked before the others
        kind = 2 * kind + ranked.announced
    order = np.lexsort((np.zeros(len(cell)) if ranked is None else ranked.fractions, kind))
    pair = (kind.astype(np.int64) * session.cells.n_cells + drawn)[order]
    return bool(1 + np.count_nonzero(np.diff(pair)) <= _SPARE * len(np.unique(pair)))


def _event(
    session: Campaign, number: int, kind: str, items: Int[np.ndarray, " n"], entry: Mapping[str, object]
) -> Event:
    pool = session.pool
    labels = {"labels": pool.label_space.names(session._items.label[items])} if kind == "tell" else {}
    return Event(number, kind, "", {"ids": pool.ids[items], **labels, **entry})


def _check_drawn(session: Campaign, asked: Question, cells: Cells | None) -> None:
    """Raise QuestionError if the question is about items that the session never asks for."""
    never_asked, times = ~session._playable[session.cells.source.row_cells], session.pool.multiplicity
    needed = never_asked if cells is None else never_asked & asked.playable(cells)[cells.source.row_cells]
    never = int(needed.sum() if times is None else times[needed].sum())
    if never:
        them, their = ("it", "Its label") if never == 1 else ("them", "Their labels")
        raise QuestionError(
            f"To answer {question_in_words(asked)!r} takes labels of {plural(never, 'item')} that this session never "
            f"asks for. {their} cannot change the answer to its own question, {question_in_words(session.question)!r}. "
            f"Start a session with the one that needs {them}, or, of two measures, with both in a list."
        )


def _counts(cells: Cells, items: np.ndarray, outcomes: np.ndarray, n_outcomes: int) -> Int[np.ndarray, "K O"]:
    """Count the labels of every cell by outcome."""
    counts = np.zeros((cells.n_cells, n_outcomes), np.int64)
    np.add.at(counts, (cells.source.cells_of(items), outcomes), 1)
    return counts


def _drawn_for(session: Campaign, how: str) -> str:
    """Say for which question the labels were drawn, and how they serve another one."""
    return f"These labels were drawn for {session._asked_by}, by design {session.design.name!r}: {how}."
