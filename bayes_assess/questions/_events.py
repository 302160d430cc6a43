"""Measures that depend on one event of every label: it is the positive class, or it agrees with the prediction.

Whatever else a label says is lost on such a measure, so that a belief on the probability of the event answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.measures import (
    MEASURES,
    MULTILABEL_MEASURES,
    LossTable,
    Measure,
    PRCurveMeasure,
    PRCurveTable,
)
from bayes_assess.measures._losses import distinct_rows, losses_of
from bayes_assess.models.curve_members import (
    AGREEMENT,
    AGREEMENT_APART,
    POSITIVES,
    RATES,
    RATINGS,
    UNSCORED,
    VERDICTS,
    Members,
)
from bayes_assess.models.curve_rates import Coordinates
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.models.rating_labels import MOST_RATINGS, RatingLabels
from bayes_assess.models.valued_labels import ValuedLabels
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool._scores import margins_of
from bayes_assess.pool.counting import add_up, count, distinct_codes
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import RankedScore, falls
from bayes_assess.questions._curve_coordinates import MOST_GROUPS, MOST_JUDGES

_LARGEST_DENSE = 2**26  # losses: 0.5 GB
_MEANS = ("accuracy", "zero_one_loss", "hamming_loss")
MOST_CLASSES = 200  # of measures that need all of a label


@dataclass(frozen=True, eq=False)
class Subject:
    """What the belief on a measure is about.

    Attributes
    ----------
    event : (M,) integers
        The label of every item that is the event.
    members : Members
        The curves that the belief mixes.
    decides : bool
        Whether the event is all of a label that the measure depends on.
    group : (M,) integers, optional
        Groups of items for which predictions and scores may mean different things.
    kind : (M,) integers, optional
        Groups of another kind beside them, such as predicted classes, of which the event may be more or less probable.
    values : (C,), optional
        Numbers that ordinal labels stand for.
    opinions : (J, M), optional
        Ordinal labels as all judges expect them in the mean, and as every single one does, as codes.
    votes : (M, J) booleans, optional
        Whether every further judge, or system, takes an item for the event.
    """

    event: Int[np.ndarray, " M"]
    members: Members
    decides: bool = True
    group: Int[np.ndarray, " M"] | None = None
    kind: Int[np.ndarray, " M"] | None = None
    values: Float[np.ndarray, " C"] | None = None
    opinions: Float[np.ndarray, "J M"] | None = None
    votes: Bool[np.ndarray, "M J"] | None = None
    scored: bool = True  # by more than the predictions
    turned: bool = False  # whether scores are low where the event is predicted

    @property
    def is_scored(self) -> bool:
        """Whether a score announces the event."""
        return self.scored and self.members.names not in (UNSCORED.names, VERDICTS.names, RATINGS.names)

    @property
    def about_agreement(self) -> bool:
        """Whether the event is that the prediction is right; else it is the positive class."""
        return self.members.names in (AGREEMENT.names, UNSCORED.names)


@dataclass(frozen=True, eq=False)
class CellEvents:
    """The event on cells: its coordinates, and the label that it is for every item.

    Attributes
    ----------
    subject : Subject
    coordinates : Coordinates
    outcome : (K,) integers
        The outcome that is the event.
    row : (K,) integers
        Row of `errors`.
    errors : ErrorLabels
        Prior of the outcomes of items without the event, which is all of them where `outcome` is -1.
    """

    subject: Subject
    coordinates: Coordinates
    outcome: Int[np.ndarray, " K"]
    row: Int[np.ndarray, " K"]
    errors: ErrorLabels | RatingLabels | ValuedLabels

    @property
    def believes_all(self) -> bool:
        """Whether the belief is about all of a label, in `errors`, and no label is an event."""
        return self.errors.of_all

    @property
    def members(self) -> Members:
        """The curves that the belief mixes."""
        return self.subject.members

    @property
    def about_agreement(self) -> bool:
        """Whether the event is that the prediction is right; else it is the positive class."""
        return self.subject.about_agreement


def has_event(specs: Sequence[Measure | PRCurveMeasure], positive: int | None, n_systems: int, n_classes: int) -> bool:
    """Tell whether one event of every label decides these measures."""
    return _about_positive(specs, positive, n_classes) or (_about_agreement(specs) and n_systems < 2)


def can_believe(specs: Sequence[Measure | PRCurveMeasure], n_classes: int, n_systems: int = 0) -> bool:
    """Tell whether a belief on labels can answer these measures: they depend on predictions and labels alone.

    It tells wrong predictions of one system apart, not which of several systems is right where they differ.
    """
    return n_systems < 2 and n_classes <= MOST_CLASSES and all(_is_plain(spec, n_classes) for spec in specs)


def _is_plain(one: Measure | PRCurveMeasure, n_classes: int) -> bool:
    """Tell whether a measure depends on predicted classes and labels alone."""
    if isinstance(one, PRCurveMeasure) or one.real:
        return False
    return one.for_classes(n_classes).score_kind is None


def subject_of(
    pool: Pool,
    specs: Sequence[Measure | PRCurveMeasure],
    positive: int | None,
    systems: Sequence[str],
    by: str | None = None,
) -> tuple[Subject, RankedScore | None]:
    """Find the event that decides these measures, else agreement, which helps; and the score that announces it.

    `systems` are those that are measured or, where only labels matter, the further judges.
    """
    decides = has_event(specs, positive, len(systems), pool.n_classes)
    group = None if by is None or by == RESERVED else pool.groups.factorised(by)[1]
    if is_of_labels(specs) and not decides:
        return _rating(pool, systems, group if by != RESERVED else _predicted_ratings(pool))
    code = 1 if positive is None else positive
    announced = pool.predictions == code
    # Predictions alone rank the items, too: those of the positive class above the others.
    ranking = _is_scored(pool) or (group is None and announced.any() and not announced.all())
    # Of two classes the curve of the positives knows right and wrong, too.
    if not decides or (_about_agreement(specs) and not (ranking and pool.n_classes == 2)):
        return _agreement(pool, decides, group)
    score = _score_of(pool, code)
    turned = pool.scores is not None and falls(score, announced, pool.multiplicity)
    score = 1 - score if turned else score
    if is_of_labels(specs):
        subject, ranked = _proxy(pool, code, score, systems)
        return replace(subject, group=group, turned=turned), ranked
    subject, ranked = _positives(pool, code, score, systems, ranking, group)
    return replace(subject, turned=turned), ranked


def _rating(
    pool: Pool, judges: Sequence[str], group: Int[np.ndarray, " M"] | None
) -> tuple[Subject, RankedScore | None]:
    """Believe in ordinal labels, by what judges expect."""
    opinions = expected_ratings(pool, judges)
    alike = pool.scores is None and not judges and pool.n_classes <= MOST_RATINGS  # a rating's items
    ranked = None if alike else RankedScore(opinions[0], times=pool.multiplicity)
    return Subject(pool.predictions, RATINGS, decides=False, group=group, opinions=opinions), ranked


def _predicted_ratings(pool: Pool) -> Int[np.ndarray, " M"] | None:
    """Return the predictions as groups where ratings are too many to be believed one by one."""
    return pool.predictions if pool.n_classes > MOST_RATINGS else None


def _agreement(pool: Pool, decides: bool, group: Int[np.ndarray, " M"] | None) -> tuple[Subject, RankedScore | None]:
    """Believe in predictions that are right, by how sure the system is of them."""
    # Predictions of one class may be right more often than those of another, in all groups.
    kind = None if decides else pool.predictions.astype(np.int64)
    members = AGREEMENT if group is None and kind is None else AGREEMENT_APART
    if pool.confidence is not None:
        score = pool.confidence
    elif pool.margins is not None:
        score = margins_of(pool.margins, pool.predictions)
    else:
        return Subject(pool.predictions, UNSCORED, decides), None
    return Subject(pool.predictions, members, decides, group, kind), RankedScore(score, times=pool.multiplicity)


def _proxy(pool: Pool, code: int, score: Float[np.ndarray, " M"], judges: Sequence[str]) -> tuple[Subject, RankedScore]:
    """Believe in rates of the positive class, of which predictions and scores are a proxy."""
    members = RATES if _is_scored(pool) else VERDICTS
    votes = np.stack([pool.system_codes(name) == code for name in judges], axis=1) if judges else None
    ranked = RankedScore(score, pool.predictions == code, at_cut=False, times=pool.multiplicity)
    return Subject(_event(pool, code), members, votes=votes), ranked


def _positives(
    pool: Pool,
    code: int,
    score: Float[np.ndarray, " M"],
    systems: Sequence[str],
    ranking: bool,
    group: Int[np.ndarray, " M"] | None,
) -> tuple[Subject, RankedScore]:
    """Believe in items that are positive, by a score that predictions follow."""
    announced, scored = pool.predictions == code, _is_scored(pool)
    others = [pool.system_codes(name) == code for name in systems if name != RESERVED]
    ranked = RankedScore(score, announced, times=pool.multiplicity)
    few = 0 < len(others) <= MOST_JUDGES  # whose verdicts are told apart
    if few and scored and group is None and ranked.separates:  # the score is of the predictions, and of no others
        apart = [other for other in others if not replace(ranked, announced=other).is_cut]
        if not apart:  # other cuts of the same score say nothing beside it
            return Subject(_event(pool, code), POSITIVES), ranked
        if not all(ranked.ranks_positives_of(other) for other in apart):
            return Subject(_event(pool, code), POSITIVES.beside(), votes=np.stack(apart, axis=1)), ranked
    if others:
        ranked = replace(ranked, others=np.array(others))
    members = POSITIVES if ranking else VERDICTS
    if scored and not ranked.tells_apart:
        members = members.anywhere()
    if scored and group is not None:  # predictions of either kind may be right more often in one group than in another
        members, group = members.apart(), 2 * group + announced
    return Subject(_event(pool, code), members, group=group if scored else None, scored=scored), ranked


def _event(pool: Pool, code: int) -> Int[np.ndarray, " M"]:
    return np.full(pool.n_rows, code, pool.predictions.dtype)


def _is_scored(pool: Pool) -> bool:
    """Tell whether items are ranked by more than their predictions."""
    return any(given is not None for given in (pool.scores, pool.margins, pool.confidence))


def _score_of(pool: Pool, code: int) -> Float[np.ndarray, " M"]:
    """Return what announces the positive class: its score or margin, or by default its prediction."""
    if pool.margins is not None:
        return pool.margins if code == 1 else -pool.margins
    if pool.scores is not None:
        if pool.scores.ndim == 2:
            return pool.scores[:, code]
        return 1 - pool.scores if code == 0 else pool.scores
    announced = pool.predictions == code
    return announced.astype(np.float64) if pool.confidence is None else _signed(pool, announced)


def _signed(pool: Pool, announced: Bool[np.ndarray, " M"]) -> Float[np.ndarray, " M"]:
    """Take the confidence in a prediction for the probability of the event, or of its opposite."""
    confidence: Any = pool.confidence
    return np.where(announced, confidence, 1 - confidence)


def _about_agreement(specs: Sequence[Measure | PRCurveMeasure]) -> bool:
    return all(spec.name in _MEANS for spec in specs)


def takes_scores(specs: Sequence[Measure | PRCurveMeasure], n_classes: int) -> bool:
    """Tell whether what an item loses depends on its score, such as its part in a Brier score."""
    return any(_takes_score(spec, n_classes) for spec in specs)


def _takes_score(one: Measure | PRCurveMeasure, n_classes: int) -> bool:
    if isinstance(one, PRCurveMeasure) or one.real or one.ranking is not None:
        return False
    return one.for_classes(n_classes).score_kind is not None


def alike_but_for_scores(
    pool: Pool, specs: Sequence[Measure | PRCurveMeasure], by: str | None
) -> Int[np.ndarray, " M"] | None:
    """Group items whose losses differ by their scores alone; None where scores make no difference."""
    if not takes_scores(specs, pool.n_classes):
        return None
    codes = pool.predictions.astype(np.int64)
    if by is not None and by != RESERVED:
        codes = codes + pool.n_classes * pool.groups.factorised(by)[1]
    return np.unique(codes, return_inverse=True)[1]


def is_of_labels(specs: Sequence[Measure | PRCurveMeasure]) -> bool:
    """Tell whether only labels matter: predictions and scores are a proxy, however biased."""
    return all(spec.name in ("rate", "mean") for spec in specs)


def _about_positive(specs: Sequence[Measure | PRCurveMeasure], positive: int | None, n_classes: int) -> bool:
    if specs[0].is_curve:
        return n_classes == 2 or positive is not None
    if any(spec.real for spec in specs):
        return False
    return n_classes == 2 or (positive is not None and all(spec.binary for spec in specs))


def merged(
    codes: Int[np.ndarray, " M"], table: LossTable | PRCurveTable, subject: Subject, largest: int = _LARGEST_DENSE
) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
    """Write losses as functions of the event: outcome 0 without and 1 with it, and attributes that differ in neither.

    Where they are more than `largest` numbers, those that are not 0 are held alone.

    Returns
    -------
    codes : (M,) integers
        New attribute of every item.
    table : LossTable or PRCurveTable of two outcomes
    """
    given: Any = table
    if given.is_of_scores:
        return codes, given.for_outcomes(2, 1)
    n_attributes, n_classes = np.shape(table.nonzero)
    # Items of one attribute may differ in the label that is their event.
    pairs, pair = distinct_codes(codes * np.int64(n_classes) + subject.event, n_attributes * n_classes)
    present, event = np.divmod(pairs, n_classes)
    outcomes = np.stack([np.where(event == 0, 1, 0), event], axis=1)  # without the event, by another label, and with it
    index, values = given.losses.entries(present[:, None], outcomes)
    size, shape = given.losses.size, (len(present), -1)
    places = index + np.array([[0], [size]])
    distinct, place = distinct_rows(places.reshape(shape), values.reshape(shape), 2 * size)
    losses = losses_of(index[distinct], values[distinct], size, largest)
    matters = bool(np.asarray(table.nonzero).any())  # nothing does to a difference of what is alike
    nonzero = (values[distinct] != 0).any(-1) & matters
    return place[pair.ravel()], replace(table, losses=losses, nonzero=nonzero)


def error_labels(pool: Pool) -> ErrorLabels:
    """Return the prior of the labels of wrong predictions."""
    times = pool.multiplicity
    sizes = count(pool.predictions, pool.n_classes, times)
    if pool.scores is None or pool.scores.ndim == 1:
        return ErrorLabels.from_scores(n_classes=pool.n_classes, sizes=sizes)
    means = np.zeros((pool.n_classes, pool.n_classes))
    np.add.at(means, pool.predictions, pool.scores if times is None else pool.scores * times[:, None])
    return ErrorLabels.from_scores(means / np.maximum(sizes, 1)[:, None], sizes=sizes)


def expected_ratings(pool: Pool, judges: Sequence[str] = ()) -> Float[np.ndarray, "J M"]:
    """Return the rating of every item that the judge expects, as a code: the mean by its scores, or its prediction.

    With further judges the first row is the mean of what all of them expect, and the others are of each, unless they
    are many.
    """
    if pool.scores is None or pool.scores.ndim == 1:
        own = pool.predictions.astype(np.float64)
    else:
        own = pool.scores @ np.arange(pool.n_classes) / np.maximum(pool.scores.sum(1), 1e-300)
    each = np.array([own, *(pool.system_codes(name) for name in judges)])
    return np.concatenate([each.mean(0, keepdims=True), each if 0 < len(judges) <= MOST_JUDGES else each[:0]])


def rating_labels(
    pool: Pool, subject: Subject, cell: Int[np.ndarray, " M"], sizes: Int[np.ndarray, " K"]
) -> RatingLabels | ValuedLabels:
    """Return the prior of ordinal labels in cells that are each of one group: one by one, or if many by their means."""
    opinions, values, few = subject.opinions, subject.values, pool.n_classes <= MOST_RATINGS
    assert opinions is not None and values is not None  # noqa: PT018 - of such a question
    if not few:
        opinions = np.interp(opinions, np.arange(pool.n_classes), values)
    sums = np.array([add_up(cell, opinion, len(sizes), pool.multiplicity) for opinion in opinions])
    x = sums / np.maximum(sizes, 1)
    group = None
    if subject.group is not None and subject.group.max() < MOST_GROUPS:
        group = np.zeros(len(sizes), np.int64)
        group[cell] = subject.group
    if few:
        return RatingLabels.from_prior(x, pool.n_classes, group)
    return ValuedLabels.from_prior(x, values, group, sizes)


def of_label_sets(measure: object) -> bool:
    """Whether some name is one of measures of items with several labels each, and of no other."""
    names = [str(name).removesuffix("_score") for name in (measure if isinstance(measure, list | tuple) else [measure])]
    return any(name in MULTILABEL_MEASURES and name not in MEASURES for name in names)
