"""Measures that depend on one event of every label: it is the positive class, or it agrees with the prediction.

Whatever else a label says is lost on such a measure, so that a belief on the probability of the event answers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from bayes_assess.measures import LossTable, Measure
from bayes_assess.measures._losses import DenseLosses
from bayes_assess.models.calibration_curve import AGREEMENT, N_SMOOTH, POSITIVES, UNSCORED, Coordinates, Members
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import RankedScore, RankStrata

_MEANS = ("accuracy", "zero_one_loss", "hamming_loss")
_BELOW, _ABOVE = 6.0, 4.0  # where the smooth functions of the rank's log odds lie, about the cut
_LEAST = 1e-12  # probability, for logits of scores
_MOST_LOGIT = 30.0
_WAVES = np.array([1.5, 1.0, 0.7, 0.5, 0.4, 0.0, 0.0, 0.0])  # standard deviations of the cosines (METHODS 12.3)
MOST_CLASSES = 200  # of measures that need all of a label
_FIRST_STEP = 0.3  # of the smooth deviation at the cut, in steps between neighbours


@dataclass(frozen=True, eq=False)
class Subject:
    """What the belief on a measure is about.

    Attributes
    ----------
    event : (M,) integers
        The label of every item that is the event.
    ranked : RankedScore or None
        The score that announces it.
    members : Members
        The curves that the belief mixes.
    decides : bool
        Whether the event is all of a label that the measure depends on.
    """

    event: Int[np.ndarray, " M"]
    ranked: RankedScore | None
    members: Members
    decides: bool = True

    @property
    def about_agreement(self) -> bool:
        """Whether the event is that the prediction is right; else it is the positive class."""
        return self.members is not POSITIVES


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
        Prior of the outcomes of items without the event.
    """

    subject: Subject
    coordinates: Coordinates
    outcome: Int[np.ndarray, " K"]
    row: Int[np.ndarray, " K"]
    errors: ErrorLabels

    @property
    def members(self) -> Members:
        """The curves that the belief mixes."""
        return self.subject.members

    @property
    def about_agreement(self) -> bool:
        """Whether the event is that the prediction is right; else it is the positive class."""
        return self.subject.about_agreement


def has_event(specs: tuple[Any, ...], positive: int | None, n_systems: int, n_classes: int) -> bool:
    """Tell whether one event of every label decides these measures."""
    return _about_positive(specs, positive, n_classes) or (_about_agreement(specs) and n_systems < 2)


def can_believe(specs: tuple[Any, ...], n_classes: int) -> bool:
    """Tell whether a belief on labels can answer these measures: they depend on predictions and labels alone."""
    return n_classes <= MOST_CLASSES and all(_is_plain(one, n_classes) for one in specs)


def _is_plain(one: Any, n_classes: int) -> bool:
    """Tell whether a measure depends on predicted classes and labels alone."""
    if not isinstance(one, Measure) or one.real:
        return False
    return one.for_classes(n_classes).score_kind is None


def subject_of(pool: Pool, specs: tuple[Any, ...], positive: int | None, n_systems: int) -> Subject:
    """Find the event that decides these measures, and the score that announces it; else agreement, which helps."""
    decides = has_event(specs, positive, n_systems, pool.n_classes)
    if _about_agreement(specs) or not decides:
        if pool.confidence is None:
            return Subject(pool.predictions, None, UNSCORED, decides)
        return Subject(pool.predictions, RankedScore(pool.confidence), AGREEMENT, decides)
    code = 1 if positive is None else positive
    announced = pool.predictions == code
    if pool.scores is None:
        score = announced.astype(np.float64) if pool.confidence is None else _signed(pool, announced)
    else:
        score = pool.scores[:, code] if pool.scores.ndim == 2 else pool.scores
        score = 1 - score if pool.scores.ndim == 1 and code == 0 else score
    return Subject(np.full(pool.n_items, code), RankedScore(score, announced), POSITIVES)


def _signed(pool: Pool, announced: Bool[np.ndarray, " M"]) -> Float[np.ndarray, " M"]:
    """Take the confidence in a prediction for the probability of the event, or of its opposite."""
    confidence: Any = pool.confidence
    return np.where(announced, confidence, 1 - confidence)


def _about_agreement(specs: tuple[Any, ...]) -> bool:
    return all(isinstance(one, Measure) and one.name in _MEANS for one in specs)


def _about_positive(specs: tuple[Any, ...], positive: int | None, n_classes: int) -> bool:
    plain = all(_is_plain(one, n_classes) for one in specs)
    return plain and (n_classes == 2 or (positive is not None and all(one.binary for one in specs)))


def merged(codes: Int[np.ndarray, " M"], table: LossTable, subject: Subject) -> tuple[Int[np.ndarray, " M"], LossTable]:
    """Write losses as functions of the event: outcome 0 without and 1 with it, and attributes that differ in neither.

    Returns
    -------
    codes : (M,) integers
        New attribute of every item.
    table : LossTable of two outcomes
    """
    n_attributes, n_classes = np.shape(table.nonzero)
    # Items of one attribute may differ in the label that is their event.
    pairs, pair = np.unique(codes * np.int64(n_classes) + subject.event, return_inverse=True)
    present, event = np.divmod(pairs, n_classes)
    losses = table.losses
    dense = losses.values if isinstance(losses, DenseLosses) else _dense(losses, n_attributes, n_classes)
    rows = np.asarray(dense)[present]  # (A, C, D)
    at = np.arange(len(present))
    other = np.where(event == 0, 1, 0)
    both = np.stack([rows[at, other], rows[at, event]], axis=1)  # (A, 2, D)
    distinct, place = np.unique(both.reshape(len(both), -1), axis=0, return_inverse=True)
    values = distinct.reshape(len(distinct), *both.shape[1:])
    return place.ravel()[pair.ravel()], replace(table, losses=DenseLosses(values), nonzero=(values != 0).any(-1))


def _dense(losses: Any, n_attributes: int, n_classes: int) -> Float[np.ndarray, "A C D"]:
    dense = np.zeros((n_attributes, n_classes, losses.size))
    rows, columns = np.ogrid[:n_attributes, :n_classes]
    for place in range(losses.index.shape[-1]):
        dense[rows, columns, losses.index[..., place]] += losses.values[..., place]
    return dense


def error_labels(pool: Pool) -> ErrorLabels:
    """Return the prior of the labels of wrong predictions."""
    if pool.scores is None or pool.scores.ndim == 1:
        return ErrorLabels.from_scores(n_classes=pool.n_classes)
    means = np.zeros((pool.n_classes, pool.n_classes))
    np.add.at(means, pool.predictions, pool.scores)
    return ErrorLabels.from_scores(means / np.maximum(np.bincount(pool.predictions, minlength=len(means)), 1)[:, None])


def strata_codes(pool: Pool, subject: Subject, strata: RankStrata) -> Any:
    """Cut the pool by the ranks of the score, or not at all where there is none."""
    return None if subject.ranked is None else strata.of(subject.ranked)


class _Totals(NamedTuple):
    """Means over the items of every cell."""

    cell: Int[np.ndarray, " M"]
    size: Int[np.ndarray, " K"]

    def mean(self, values: np.ndarray) -> Float[np.ndarray, " K"]:
        return np.bincount(self.cell, weights=values, minlength=len(self.size)) / np.maximum(self.size, 1)

    def standard(self, values: Float[np.ndarray, " K"]) -> tuple[Float[np.ndarray, " K"], float]:
        """Return cells' values in standard units over the items, and the unit."""
        share = self.size / self.size.sum()
        away = values - share @ values
        unit = float(np.sqrt(share @ away**2))
        return (away / unit if unit > 1e-9 else np.zeros_like(away)), max(unit, 1e-6)


def coordinates_of(subject: Subject, cell: Int[np.ndarray, " M"], size: Int[np.ndarray, " K"]) -> Coordinates:
    """Compute what the curves know of every cell."""
    totals = _Totals(cell, size)
    if subject.ranked is None:
        nothing = np.zeros((1, len(size)), np.float32)
        smooth = np.zeros((1, len(size), N_SMOOTH), np.float32)
        return _coordinates(nothing, nothing, smooth, nothing[0], np.ones(1), 0.0, 0.5)
    if subject.ranked.announced is None:
        return _of_confidence(subject.ranked, totals)
    return _of_positives(subject.ranked, subject.ranked.announced, totals)


def _of_positives(ranked: RankedScore, announced: Bool[np.ndarray, " M"], totals: _Totals) -> Coordinates:
    u = ranked.fractions()
    log_odds = float(np.log(ranked.share) - np.log1p(-ranked.share))
    rank = totals.mean(np.log(u) - np.log1p(-u)) + log_odds  # 0 where predicted positives end
    logit = _logits(ranked.score)
    # The score where predicted positives end, whatever it is.
    cut = np.partition(logit, -max(int(announced.sum()), 1))[-max(int(announced.sum()), 1)]
    score = totals.mean(np.clip(logit - cut, -_MOST_LOGIT, _MOST_LOGIT))
    (rank_standard, rank_unit), (score_standard, score_unit) = totals.standard(rank), totals.standard(score)
    weight = np.sqrt(totals.size)
    order = np.argsort(score)
    knots = np.interp(np.linspace(0.02, 0.98, N_SMOOTH), np.cumsum(weight[order]) / weight.sum(), score[order])
    knots = np.maximum.accumulate(knots + 1e-6 * np.arange(N_SMOOTH))
    return _coordinates(
        place=np.stack([rank, score]),
        standard=np.stack([score_standard, rank_standard]),
        smooth=np.stack([_walk(rank, np.linspace(-_BELOW, _ABOVE, N_SMOOTH)), _walk(score, knots)]),
        feature=totals.mean(announced) - 0.5,
        unit=np.array([rank_unit, score_unit]),
        log_odds=log_odds,
        share=ranked.share,
    )


def _of_confidence(ranked: RankedScore, totals: _Totals) -> Coordinates:
    fraction = totals.mean(ranked.fractions())
    logit = totals.mean(np.clip(_logits(ranked.score), -15, 15))
    waves = _WAVES * np.cos(np.pi * np.outer(fraction, np.arange(1, N_SMOOTH + 1)))
    return _coordinates(
        place=np.stack([fraction, logit]),
        standard=np.zeros((2, len(fraction))),
        smooth=np.stack([waves, waves]),
        feature=np.log((fraction + 0.05) / 1.05),
        unit=np.ones(2),
        log_odds=0.0,
        share=0.5,
    )


def _coordinates(place, standard, smooth, feature, unit, log_odds, share) -> Coordinates:
    arrays = (place, standard, smooth, feature, unit, log_odds, share)
    return Coordinates(*(np.asarray(array, np.float32) for array in arrays))


def _logits(score: Float[np.ndarray, " M"]) -> Float[np.ndarray, " M"]:
    """Logits of probabilities; other scores in standard units, doubled."""
    score = np.asarray(score, np.float64)
    if score.min() >= 0 and score.max() <= 1:
        return np.log(np.maximum(score, _LEAST)) - np.log(np.maximum(1 - score, _LEAST))
    unit = score.std()
    return 2 * (score - score.mean()) / (unit if unit > 0 else 1.0)


def _walk(x: Float[np.ndarray, " K"], knots: Float[np.ndarray, " J"]) -> Float[np.ndarray, "K J"]:
    """Piecewise linear functions of x that a random walk over the knots, outward from that nearest to 0, weighs."""
    hats = np.stack([np.interp(x, knots, one) for one in np.eye(len(knots))], axis=-1)
    start = int(np.argmin(np.abs(knots)))
    steps = np.zeros((len(knots), len(knots)))
    steps[:, start] = _FIRST_STEP
    for j in range(len(knots)):
        between = slice(start + 1, j + 1) if j > start else slice(j, start)
        steps[j, between] = 1.0
    return hats @ steps
