"""Values of measures of several labels per item, and their gradients, at mean losses.

The last axis holds the mean losses of one family of `_label_set_losses`: totals, or three blocks of one number per
class, in the order hits, predictions, labels. Gradients take one vector of them, (d,).
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.arrays import quotient
from bayes_assess._tools.shapes import Float
from bayes_assess.measures._label_set_losses import DENOMINATORS

Risk = Float[np.ndarray, "*batch d"]
OneRisk = Float[np.ndarray, " d"]
Value = Float[np.ndarray, "*batch"]


def _ratios(kind: str, hits: np.ndarray, predicted: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return hits / (a hits + b predicted + c labels), see `DENOMINATORS`, and that denominator."""
    a, b, c = DENOMINATORS[kind]
    below = a * hits + b * predicted + c * labels
    return quotient(hits, below), below


def _ratio_slopes(kind: str, hits: np.ndarray, predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Differentiate ratios in hits, predicted and labels, (3, ...): (1[hits] - ratio (a, b, c)) / denominator."""
    ratios, below = _ratios(kind, hits, predicted, labels)
    top = np.multiply.outer([1.0, 0.0, 0.0], np.ones_like(ratios)) - np.multiply.outer(DENOMINATORS[kind], ratios)
    return quotient(top, np.broadcast_to(below, top.shape))


def micro(kind: str, risk: Risk) -> Value:
    """Compute the ratio of totals over all classes."""
    return _ratios(kind, *np.moveaxis(risk, -1, 0))[0]


def micro_gradient(kind: str, risk: OneRisk) -> OneRisk:
    """Differentiate `micro` in the three totals."""
    return _ratio_slopes(kind, *risk)


def macro(kind: str, risk: Risk) -> Value:
    """Compute the mean of the ratios of the classes."""
    return _ratios(kind, *np.split(risk, 3, axis=-1))[0].mean(-1)


def macro_gradient(kind: str, risk: OneRisk) -> OneRisk:
    """Differentiate `macro` in hits, predictions and labels of every class."""
    slopes = _ratio_slopes(kind, *np.split(risk, 3))
    return slopes.ravel() / slopes.shape[1]


def weighted(kind: str, risk: Risk) -> Value:
    """Compute the mean of the ratios of the classes, weighted by their labels."""
    hits, predicted, labels = np.split(risk, 3, axis=-1)
    return quotient((labels * _ratios(kind, hits, predicted, labels)[0]).sum(-1), labels.sum(-1))


def weighted_gradient(kind: str, risk: OneRisk) -> OneRisk:
    """Differentiate `weighted`, the weights too."""
    hits, predicted, labels = np.split(risk, 3)
    slopes = labels * _ratio_slopes(kind, hits, predicted, labels)
    slopes[2] += _ratios(kind, hits, predicted, labels)[0] - weighted(kind, risk)
    return quotient(slopes, np.full_like(slopes, labels.sum())).ravel()


def harmonic(risk: Risk) -> Value:
    """Compute the harmonic mean of macro precision and macro recall ([SEME] eq. 102)."""
    precision, recall = macro("precision", risk), macro("recall", risk)
    return quotient(2 * precision * recall, precision + recall)


def harmonic_gradient(risk: OneRisk) -> OneRisk:
    """Differentiate `harmonic`; with precision P and recall R, dF/dP = 2 R^2 / (P + R)^2 and dF/dR likewise."""
    precision, recall = macro("precision", risk), macro("recall", risk)
    by_precision, by_recall = quotient(2 * np.array([recall, precision]) ** 2, (precision + recall) ** 2)
    return by_precision * macro_gradient("precision", risk) + by_recall * macro_gradient("recall", risk)


def first(risk: Risk) -> Value:
    """Return the one mean loss."""
    return risk[..., 0]


def complement(risk: Risk) -> Value:
    """Return one minus the one mean loss."""
    return 1 - risk[..., 0]
