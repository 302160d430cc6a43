"""Measures of classifiers that are no ratio of two losses: accuracy, correlation, agreement, scores of probabilities.

Two-class pools use the losses of [NH] Table 1, which vanish where neither label nor prediction is positive; pools
of more classes use scikit-learn's definitions with the indicators of all classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.errors import QuestionError
from bayes_assess.measures._made_once import made_once
from bayes_assess.measures._measure import Measure
from bayes_assess.measures._ratios import (
    Label,
    Risk,
    Value,
    class_loss,
    divide,
    error,
    in_two,
    mean_loss,
    one_hot,
    one_ratio,
    share_right,
    slopes_of_ratio,
)

# 1 - R of an R that is 1 up to rounding; no pool has so many items that a real share is as small.
_ROUNDING = 1e-12
_EPS = float(np.finfo(np.float64).eps)
_CORRELATION = (-1.0, 1.0)
_LOG_LOSS = (0.0, -math.log(_EPS))


@made_once
def accuracy() -> Measure:
    """Make the share of right predictions: l = 1[y != f], g = 1 - R ([NH] Table 1), for any number of classes."""
    return in_two(share_right, loss=error, name="accuracy", bounded=True)


@made_once
def error_rate(name: str) -> Measure:
    """Make the share of wrong predictions: l = 1[y != f], g = R."""
    return in_two(mean_loss, loss=error, name=name, bounded=True)


@made_once
def rate() -> Measure:
    """Make the share of items whose label is positive, whatever is predicted: l = 1[y], g = R."""
    return _mean_loss(lambda y, f: y[None], name="rate", binary=True, bounded=True)


@made_once
def mean_of(values: tuple[float, ...] | None = None) -> Measure:
    """Make the mean of the numbers that labels stand for, whatever is predicted: l = (values[y], 1), g = R1 / R2.

    R2 is 1, but not among items that are drawn: a mean over a group divides by how many of those are of the group, not
    by how many ought to be. Without `values` the label's code stands for itself.

    Examples
    --------
    >>> from bayes_assess.measures import mean_of, value_of
    >>> value_of(mean_of((1.0, 2.0, 5.0)), labels=[0, 2, 2, 1], predictions=[0, 0, 0, 0])
    3.25
    """
    if values is None:
        return Measure(name="mean", build=lambda n_classes: mean_of(tuple(map(float, range(n_classes)))))
    ends = min(values), max(values)

    def loss(y: Label, f: Label) -> Float[Array, "2"]:
        return xp.stack([xp.asarray(values)[y], xp.ones(())])

    return in_two(one_ratio, loss=loss, name="mean", range=ends, graded=True)


@made_once
def balanced_accuracy() -> Measure:
    """Make the mean recall of the classes that have a label, as scikit-learn; [NH] Table 1 for two classes."""
    return Measure(name="balanced_accuracy", build=partial(_balanced, "balanced_accuracy"))


@made_once
def matthews_corrcoef() -> Measure:
    """Make Matthews' correlation of labels and predictions; [NH] Table 1 for two classes."""
    return Measure(name="matthews_corrcoef", build=partial(_matthews, "matthews_corrcoef"))


def cohen_kappa(*, weights: str | None = None) -> Measure:
    """Make Cohen's kappa, 1 - (disagreement) / (disagreement of independent labels and predictions).

    `weights` of the disagreement of class codes: None for 1[y != f], "linear" for |y - f|, "quadratic" for (y - f)^2.
    """
    if weights not in (None, "linear", "quadratic"):
        raise QuestionError(f"The weights of Cohen's kappa are None, 'linear' or 'quadratic'; found {weights!r}.")
    return _kappa_of("cohen_kappa" if weights is None else f"cohen_kappa({weights})", weights)


@made_once
def fowlkes_mallows() -> Measure:
    """Make the geometric mean of precision and recall ([NH] Table 1).

    It is two-class; scikit-learn's ``fowlkes_mallows_score`` compares clusterings and is another thing.
    """

    def pair(risk: Risk) -> Value:
        hits, labels, predicted = risk
        product = labels * predicted
        known = (labels > 0) & (predicted > 0)
        ratio, _ = divide(hits, xp.sqrt(xp.where(known, product, 1.0)))
        return xp.where(known, ratio, 0.0), known

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        _, labels, predicted = risk
        value, known = pair(risk)
        root = xp.sqrt(xp.where(known, labels * predicted, 1.0))
        of_margins = (-divide(value, 2 * margin)[0] for margin in (labels, predicted))
        return xp.where(known, xp.stack([1 / root, *of_margins]), 0.0)[None]

    fields = {"elementwise": True, "derivative": derivative}
    return in_two(pair, loss=_three, name="fowlkes_mallows", binary=True, bounded=True, **fields)


@made_once
def brier_score_loss() -> Measure:
    """Make scikit-learn's Brier score: (s - y)^2 for two classes, else sum_c (s_c - 1[y = c])^2 in [0, 2]."""
    return Measure(name="brier_score_loss", build=partial(_brier, "brier_score_loss"))


@made_once
def brier_nh() -> Measure:
    """Make the two-class Brier score 2 (s - y)^2 of [NH] Table 1, twice scikit-learn's."""
    return _mean_loss(lambda y, f, s: (2 * (s - y) ** 2)[None], name="brier_nh", binary=True, range=(0.0, 2.0))


@made_once
def log_loss() -> Measure:
    """Make the mean of -log P(label), with probabilities clipped to [eps, 1 - eps] of 64-bit floats."""
    return Measure(name="log_loss", build=partial(_log_loss, "log_loss"))


def _mean_loss(loss: Callable[..., Array], **fields: object) -> Measure:
    return in_two(mean_loss, loss=loss, **fields)


def _three(y: Label, f: Label) -> Float[Array, "3"]:
    return xp.stack([y * f, y, f])


@made_once
def _balanced(name: str, n_classes: int) -> Measure:
    if n_classes == 2:
        fields = {"elementwise": True, "derivative": _derivative_of_balanced_of_two}
        return in_two(_balanced_of_two, loss=_three, name=name, binary=True, bounded=True, **fields)

    def pair(risk: Risk) -> Value:
        recall, known = divide(*xp.split(risk, 2))
        mean, _ = divide(recall.sum(0), known.sum(0).astype(xp.float64))
        return mean, xp.all(known, 0)

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        hits, labels = xp.split(risk, 2)
        return xp.concatenate(slopes_of_ratio(hits, labels))[None] / (labels > 0).sum().astype(xp.float64)

    fields = {"elementwise": True, "derivative": derivative}
    return in_two(pair, loss=class_loss("recall", 0.5, n_classes), name=name, bounded=True, **fields)


def _balanced_of_two(risk: Risk) -> Value:
    hits, labels, predicted = risk
    recall, positives = divide(hits, labels)
    specificity, negatives = divide(1 - labels - predicted + hits, 1 - labels, _ROUNDING)
    n_classes = positives.astype(xp.float64) + negatives.astype(xp.float64)
    mean, _ = divide(recall + specificity, n_classes)
    return mean, positives & negatives


def _derivative_of_balanced_of_two(risk: Risk) -> Float[Array, "k D"]:
    hits, labels, predicted = risk
    a, b = slopes_of_ratio(hits, labels)
    c, d = slopes_of_ratio(1 - labels - predicted + hits, 1 - labels, _ROUNDING)
    n_classes = (labels > 0).astype(xp.float64) + (1 - labels > _ROUNDING).astype(xp.float64)
    return xp.stack([a + c, b - c - d, -c])[None] / n_classes


@made_once
def _matthews(name: str, n_classes: int) -> Measure:
    if n_classes == 2:
        fields = {"elementwise": True, "derivative": _derivative_of_matthews_of_two}
        return in_two(_matthews_of_two, loss=_three, name=name, binary=True, range=_CORRELATION, **fields)

    def loss(y: Label, f: Label) -> Float[Array, " D"]:
        hit = (y == f).astype(xp.float64)[None]
        return xp.concatenate([hit, one_hot(y, n_classes), one_hot(f, n_classes)])

    def pair(risk: Risk) -> Value:
        labels, predicted = xp.split(risk[1:], 2)
        spread = 1 - (labels**2).sum(0), 1 - (predicted**2).sum(0)
        known = (spread[0] > _ROUNDING) & (spread[1] > _ROUNDING)
        root = xp.sqrt(xp.where(known, spread[0] * spread[1], 1.0))
        return xp.where(known, (risk[0] - (labels * predicted).sum(0)) / root, 0.0), known

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        labels, predicted = xp.split(risk[1:], 2)
        value, known = pair(risk)
        spread = [xp.where(known, 1 - (margin**2).sum(), 1.0) for margin in (labels, predicted)]
        root = xp.sqrt(spread[0] * spread[1])
        of_labels = value * labels / spread[0] - predicted / root
        of_predicted = value * predicted / spread[1] - labels / root
        return xp.where(known, xp.concatenate([1 / root[None], of_labels, of_predicted]), 0.0)[None]

    fields = {"elementwise": True, "derivative": derivative}
    return in_two(pair, loss=loss, name=name, range=_CORRELATION, **fields)


def _matthews_of_two(risk: Risk) -> Value:
    hits, labels, predicted = risk
    rest = 1 - labels, 1 - predicted
    known = (labels > 0) & (predicted > 0) & (rest[0] > _ROUNDING) & (rest[1] > _ROUNDING)
    root = xp.sqrt(xp.where(known, labels * predicted * rest[0] * rest[1], 1.0))
    return xp.where(known, (hits - labels * predicted) / root, 0.0), known


def _derivative_of_matthews_of_two(risk: Risk) -> Float[Array, "k D"]:
    _, labels, predicted = risk
    value, known = _matthews_of_two(risk)
    spread = [xp.where(known, margin * (1 - margin), 1.0) for margin in (labels, predicted)]
    root = xp.sqrt(spread[0] * spread[1])
    of_labels = -predicted / root - value * (1 - 2 * labels) / (2 * spread[0])
    of_predicted = -labels / root - value * (1 - 2 * predicted) / (2 * spread[1])
    return xp.where(known, xp.stack([1 / root, of_labels, of_predicted]), 0.0)[None]


@made_once
def _kappa_of(name: str, weights: str | None) -> Measure:
    made_by = None if weights is None else ("cohen_kappa", (("weights", weights),))
    return Measure(name=name, build=partial(_kappa, name, weights), made_by=made_by)


@made_once
def _kappa(name: str, weights: str | None, n_classes: int) -> Measure:
    if n_classes == 2:  # the three weights agree
        fields = {"elementwise": True, "derivative": _derivative_of_kappa_of_two}
        return in_two(_kappa_of_two, loss=_error_and_margins, name=name, binary=True, range=_CORRELATION, **fields)

    def cost(y: Label, f: Label) -> Float[Array, ""]:
        if weights is None:
            return (y != f).astype(xp.float64)
        distance = xp.abs(y - f).astype(xp.float64)
        return distance if weights == "linear" else distance**2

    def loss(y: Label, f: Label) -> Float[Array, " D"]:
        return xp.concatenate([cost(y, f)[None], one_hot(y, n_classes), one_hot(f, n_classes)])

    def costs() -> Float[Array, "C C"]:
        codes = xp.arange(n_classes)
        return cost(codes[:, None], codes[None])

    def pair(risk: Risk) -> Value:
        labels, predicted = xp.split(risk[1:], 2)
        ratio, known = divide(risk[0], (labels * xp.tensordot(costs(), predicted, 1)).sum(0))
        return xp.where(known, 1 - ratio, 0.0), known

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        labels, predicted = xp.split(risk[1:], 2)
        by_chance = costs() @ predicted, costs() @ labels  # costs are symmetric
        inverse, slope = slopes_of_ratio(risk[0], (labels * by_chance[0]).sum())
        return -xp.concatenate([inverse[None], *(slope * each for each in by_chance)])[None]

    fields = {"elementwise": True, "derivative": derivative}
    return in_two(pair, loss=loss, name=name, range=_CORRELATION, **fields)


def _error_and_margins(y: Label, f: Label) -> Float[Array, "3"]:
    return xp.concatenate([error(y, f), xp.stack([y, f])])


def _kappa_of_two(risk: Risk) -> Value:
    wrong, labels, predicted = risk
    ratio, known = divide(wrong, labels * (1 - predicted) + (1 - labels) * predicted, _ROUNDING)
    return xp.where(known, 1 - ratio, 0.0), known


def _derivative_of_kappa_of_two(risk: Risk) -> Float[Array, "k D"]:
    wrong, labels, predicted = risk
    inverse, slope = slopes_of_ratio(wrong, labels * (1 - predicted) + (1 - labels) * predicted, _ROUNDING)
    return -xp.stack([inverse, slope * (1 - 2 * predicted), slope * (1 - 2 * labels)])[None]


@made_once
def _brier(name: str, n_classes: int) -> Measure:
    if n_classes == 2:
        return _mean_loss(lambda y, f, s: ((s - y) ** 2)[None], name=name, binary=True, bounded=True)

    def of_all(y: Label, f: Label, s: Float[Array, " C"]) -> Float[Array, ""]:
        return ((s - one_hot(y, n_classes)) ** 2).sum()[None]

    return _mean_loss(of_all, name=name, score_rows=True, range=(0.0, 2.0))


@made_once
def _log_loss(name: str, n_classes: int) -> Measure:
    def clipped(s: Float[Array, "*k"]) -> Float[Array, "*k"]:
        return xp.clip(s, _EPS, 1 - _EPS)

    def of_two(y: Label, f: Label, s: Float[Array, ""]) -> Float[Array, ""]:
        return -(engine.xlogy(y, clipped(s)) + engine.xlogy(1 - y, clipped(1 - s)))[None]

    if n_classes == 2:
        return _mean_loss(of_two, name=name, binary=True, range=_LOG_LOSS)
    return _mean_loss(
        lambda y, f, s: -engine.xlogy(one_hot(y, n_classes), clipped(s)).sum()[None],
        name=name,
        score_rows=True,
        range=_LOG_LOSS,
    )
