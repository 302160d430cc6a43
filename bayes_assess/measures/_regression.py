"""Measures of predictions that are real numbers ([NH] Table 2).

They have no table of losses over classes: sessions on pools of numbers take the losses of the items themselves, see
`RealMeasures`, and `value_of` and `item_losses` serve them without a session.
"""

from __future__ import annotations

import math

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.measures._made_once import made_once
from bayes_assess.measures._measure import Measure
from bayes_assess.measures._ratios import Risk, Value, divide, in_two, mean_loss, slopes_of_ratio

_POSITIVE = (0.0, math.inf)
_UP_TO_ONE = (-math.inf, 1.0)
_ROUNDING = 1e-15  # a variance that is as small a share of the mean square is 0 up to rounding


@made_once
def mean_absolute_error() -> Measure:
    """Make E|y - f|."""
    return in_two(
        mean_loss,
        loss=lambda y, f: xp.abs(y - f)[None],
        name="mean_absolute_error",
        real=True,
        shift_invariant=True,
        range=_POSITIVE,
    )


@made_once
def mean_squared_error() -> Measure:
    """Make E(y - f)^2."""
    return in_two(
        mean_loss,
        loss=lambda y, f: ((y - f) ** 2)[None],
        name="mean_squared_error",
        real=True,
        shift_invariant=True,
        range=_POSITIVE,
    )


@made_once
def root_mean_squared_error() -> Measure:
    """Make the square root of E(y - f)^2."""

    def root(risk: Risk) -> Float[Array, ""]:
        return xp.sqrt(xp.maximum(risk[0], 0.0))

    return in_two(
        lambda risk: (root(risk), xp.asarray(True)),
        loss=lambda y, f: ((y - f) ** 2)[None],
        name="root_mean_squared_error",
        derivative=lambda risk: 0.5 / root(risk)[None, None],
        elementwise=True,
        real=True,
        shift_invariant=True,
        range=_POSITIVE,
    )


@made_once
def r2() -> Measure:
    """Make the coefficient of determination, 1 - E(y - f)^2 / Var y, as scikit-learn."""

    def pair(risk: Risk) -> Value:
        ratio, known = divide(risk[0], risk[2] - risk[1] ** 2, _ROUNDING * risk[2])
        return xp.where(known, 1 - ratio, 0.0), known

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        inverse, slope = slopes_of_ratio(risk[0], risk[2] - risk[1] ** 2, _ROUNDING * risk[2])
        return -xp.stack([inverse, -2 * risk[1] * slope, slope])[None]

    return in_two(
        pair,
        derivative=derivative,
        elementwise=True,
        loss=lambda y, f: xp.stack([(y - f) ** 2, y, y**2]),
        name="r2",
        real=True,
        shift_invariant=True,
        range=_UP_TO_ONE,
    )


@made_once
def explained_share() -> Measure:
    """Make E(f - E y)^2 / Var y, which [NH] Table 2 calls coefficient of determination.

    It equals R^2 only where f is a least-squares fit.
    """

    def pair(risk: Risk) -> Value:
        y, y2, f, f2 = risk
        return divide(f2 - 2 * y * f + y**2, y2 - y**2, _ROUNDING * y2)

    def derivative(risk: Risk) -> Float[Array, "k D"]:
        y, y2, f, f2 = risk
        inverse, slope = slopes_of_ratio(f2 - 2 * y * f + y**2, y2 - y**2, _ROUNDING * y2)
        return xp.stack([2 * (y - f) * inverse - 2 * y * slope, slope, -2 * y * inverse, inverse])[None]

    return in_two(
        pair,
        derivative=derivative,
        elementwise=True,
        loss=lambda y, f: xp.stack([y, y**2, f, f**2]),
        name="explained_share",
        real=True,
        shift_invariant=True,
    )
