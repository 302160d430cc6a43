"""Measures that are a ratio of two expected losses, for two classes or averaged over classes ([NH] Table 1).

With y and f the indicators of a class, the risk is R = (E numerator, E denominator) and the ratio R1 / R2. A ratio
whose denominator is 0 counts as 0, as in scikit-learn with ``zero_division=0``. Averages run over all classes of
the pool, also those that are neither predicted nor labelled (scikit-learn with ``labels=`` all of them).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar, Shaped
from bayes_assess.measures._made_once import made_once
from bayes_assess.measures._measure import Measure

Label = Shaped[Array, ""]  # or prediction: a code, an indicator or a number
Risk = Float[Array, " D"]  # the mean losses
Value = tuple[Array, Array]  # a function of them, and where it is defined


def divide(
    numerator: Float[Array, "*k"], denominator: Float[Array, "*k"], floor: Scalar = 0.0
) -> tuple[Float[Array, "*k"], Bool[Array, "*k"]]:
    """Divide where the denominator exceeds `floor`; elsewhere the value and its derivatives are 0.

    Returns
    -------
    ratio, known : arrays
        `known` is False where the denominator is 0.
    """
    known = denominator > floor
    return xp.where(known, numerator / xp.where(known, denominator, 1.0), 0.0), known


def one_hot(code: int | Int[Array, ""], n_classes: int) -> Float[Array, " C"]:
    """Return the indicators of all classes: 1 at the code, else 0."""
    return (xp.arange(n_classes) == code).astype(xp.float64)


def in_two(pair: Callable[[Risk], Value], **fields: Any) -> Measure:
    """Make a measure of one function that returns the value and whether it is defined."""
    if pair in _DERIVATIVES:
        fields = {"derivative": _DERIVATIVES[pair], "elementwise": True, **fields}
    return Measure(g=lambda risk: pair(risk)[0], defined=lambda risk: pair(risk)[1], **fields)


@made_once
def ratio(
    name: str,
    kind: str,
    average: str = "binary",
    weight: float = 0.5,
    made_by: tuple[str, tuple[tuple[str, object], ...]] | None = None,
) -> Measure:
    """Make a ratio measure; `kind` names its two losses, `weight` is beta^2 / (1 + beta^2) of an F-measure.

    `average` is "binary" (the positive class), "per_class", "macro", "weighted" or "micro".
    """
    if average == "binary":
        loss = partial(_binary_loss, kind, weight)
        fields = {"name": name, "binary": True, "bounded": True, "outputs": (name,), "made_by": made_by}
        return in_two(one_ratio, loss=loss, **fields)
    if average == "micro" or (average == "weighted" and kind == "recall"):
        # every error is a false alarm of one class and a miss of another, so these depend on the share of errors
        pair = _jaccard_of_errors if kind == "jaccard" else share_right
        return in_two(pair, loss=error, name=name, bounded=True, made_by=made_by)
    return Measure(name=name, made_by=made_by, build=partial(_averaged, name, kind, average, weight))


@made_once
def seme_f1_macro() -> Measure:
    """Make SEME's macro F1, the harmonic mean of macro precision and macro recall ([SEME] app. D)."""
    return Measure(name="seme_f1_macro", build=_harmonic)


def error(y: Label, f: Label) -> Float[Array, "1"]:
    """Return 1[y != f]."""
    return (y != f).astype(xp.float64)[None]


def _terms(kind: str, weight: float, y: Label, f: Label) -> Value:
    """Numerator and denominator of a ratio for indicators y and f, of one class or of all ([NH] Table 1)."""
    if kind == "precision":
        return y * f, f
    if kind == "recall":
        return y * f, y
    if kind == "fbeta":
        return y * f, weight * y + (1 - weight) * f
    if kind == "jaccard":
        return y * f, y + f - y * f
    return (1 - y) * (1 - f), 1 - y  # specificity


def _binary_loss(kind: str, weight: float, y: Label, f: Label) -> Float[Array, "2"]:
    return xp.stack(_terms(kind, weight, y, f))


def one_ratio(risk: Risk) -> Value:
    """Return R1 / R2."""
    return divide(risk[0], risk[1])


def share_right(risk: Risk) -> Value:
    """Return 1 - R."""
    return 1 - risk[0], xp.asarray(True)


def mean_loss(risk: Risk) -> Value:
    """Return R."""
    return risk[0], xp.asarray(True)


def _jaccard_of_errors(risk: Risk) -> Value:
    return divide(1 - risk[0], 1 + risk[0])


def slopes_of_ratio(numerator: Float[Array, "*k"], denominator: Float[Array, "*k"], floor: Scalar = 0.0) -> Value:
    """Return the derivatives of n / d in n and in d, 0 where `divide` has no ratio."""
    inverse, known = divide(xp.ones_like(denominator), denominator, floor)
    return inverse, -xp.where(known, numerator * inverse, 0.0) * inverse


def derivative_of_ratio(risk: Risk) -> Float[Array, "k D"]:
    """Differentiate R1 / R2 ([NH] Table 1)."""
    return xp.stack(slopes_of_ratio(risk[0], risk[1]))[None]


def _derivative_of_share_right(risk: Risk) -> Float[Array, "k D"]:
    return -xp.ones_like(risk)[None]


def _derivative_of_mean(risk: Risk) -> Float[Array, "k D"]:
    return xp.ones_like(risk)[None]


def _derivative_of_jaccard_of_errors(risk: Risk) -> Float[Array, "k D"]:
    return (-2 / (1 + risk) ** 2)[None]


_DERIVATIVES: dict[Callable[..., Value], Callable[..., Array]] = {
    one_ratio: derivative_of_ratio,
    share_right: _derivative_of_share_right,
    mean_loss: _derivative_of_mean,
    _jaccard_of_errors: _derivative_of_jaccard_of_errors,
}
AT_ONCE = frozenset(_DERIVATIVES.values())  # which take risks (d, ...) with more axes, too


@made_once
def _averaged(name: str, kind: str, average: str, weight: float, n_classes: int) -> Measure:
    loss = class_loss(kind, weight, n_classes, with_labels=average == "weighted")

    def pair(risk: Risk) -> Value:
        numerator, denominator, *labels = xp.split(risk, len(risk) // n_classes)
        ratios, known = divide(numerator, denominator)
        if average == "per_class":
            return ratios, known
        if average == "macro":
            return ratios.mean(0), xp.all(known, 0)
        mean, some = divide((labels[0] * ratios).sum(0), labels[0].sum(0))
        return mean, some & (known | (labels[0] <= 0)).all(0)

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        numerator, denominator, *labels = xp.split(risk, len(risk) // n_classes)
        slopes = slopes_of_ratio(numerator, denominator)
        if average == "per_class":
            return xp.concatenate([xp.diag(slope) for slope in slopes], axis=1)
        if average == "macro":
            return xp.concatenate(slopes)[None] / n_classes
        per_label, _ = divide(xp.ones(()), labels[0].sum())
        ratios, mean = divide(numerator, denominator)[0], pair(risk)[0]
        return xp.concatenate([*(labels[0] * slope for slope in slopes), ratios - mean])[None] * per_label

    fields = {"per_class": average == "per_class", "elementwise": True, "derivative": derivative}
    return in_two(pair, loss=loss, name=name, bounded=True, **fields)


@cache
def class_loss(kind: str, weight: float, n_classes: int, *, with_labels: bool = False) -> Callable[..., Array]:
    """Return the loss (2C,) or (3C,): numerators, denominators and, if asked for, labels of every class."""

    def loss(y: Label, f: Label) -> Float[Array, " D"]:
        label = one_hot(y, n_classes)
        terms = _terms(kind, weight, label, one_hot(f, n_classes))
        return xp.concatenate([*terms, label] if with_labels else terms)

    return loss


@made_once
def _harmonic(n_classes: int) -> Measure:
    def loss(y: Label, f: Label) -> Float[Array, " D"]:
        label, predicted = one_hot(y, n_classes), one_hot(f, n_classes)
        return xp.concatenate([label * predicted, predicted, label])

    def pair(risk: Risk) -> Value:
        hits, predicted, labels = xp.split(risk, 3)
        (precision, some), (recall, others) = divide(hits, predicted), divide(hits, labels)
        precision, recall = precision.mean(0), recall.mean(0)
        mean, known = divide(2 * precision * recall, precision + recall)
        return mean, known & some.all(0) & others.all(0)

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        hits, predicted, labels = xp.split(risk, 3)
        of_precision, of_recall = slopes_of_ratio(hits, predicted), slopes_of_ratio(hits, labels)
        precision, recall = divide(hits, predicted)[0].mean(), divide(hits, labels)[0].mean()
        # 2 P R / (P + R) rises by 2 R^2 / (P + R)^2 with P.
        a, b = (2 * divide(other, precision + recall)[0] ** 2 / n_classes for other in (recall, precision))
        return xp.concatenate([a * of_precision[0] + b * of_recall[0], a * of_precision[1], b * of_recall[1]])[None]

    fields = {"elementwise": True, "derivative": derivative}
    return in_two(pair, loss=loss, name="seme_f1_macro", bounded=True, **fields)
