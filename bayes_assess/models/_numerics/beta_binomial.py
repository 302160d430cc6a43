"""Probabilities of labels in one order where the rate of every cell is a Beta variable, in 32 bits.

Of k events among n labels of a cell whose rate is Beta(nu m, nu (1 - m)),

    p = prod_{i<k} (m + i / nu) prod_{i<n-k} (1 - m + i / nu) / prod_{i<n} (1 + i / nu) :

no large numbers cancel, as they would among logarithms of Gamma functions.

Shapes: particles S, cells K.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float


def log_likelihood(
    share: Float[Array, "S K"], strength: Float[Array, "S K"], k: Float[Array, " K"], n: Float[Array, " K"]
) -> Float[Array, " S"]:
    """Compute the log probability of labels in one order, cells' own rates integrated out, (S,)."""
    if engine.is_eager():
        return _eager_likelihood(share, strength, k, n)  # type: ignore[arg-type] - arrays are NumPy's
    inverse = 1 / strength
    seen = _log_rising(share, inverse, k) + _log_rising(1 - share, inverse, n - k)
    return xp.where(n > 0, seen - _log_rising(xp.ones_like(share), inverse, n), 0.0).sum(1)


def _log_rising(start: Float[Array, "S K"], step: Float[Array, "S K"], n: Float[Array, " K"]) -> Float[Array, "S K"]:
    """Compute log of start (start + step) ... (start + (n - 1) step), in 32 bits: no large numbers cancel."""
    product = xp.where(n > 0, start, 1.0)
    for i in range(1, 4):
        product = product * xp.where(n > i, start + i * step, 1.0)
    return xp.log(product) + _from_fifth(start, step, xp.maximum(n - 4, 0.0))


def _from_fifth(start: Any, step: Any, rest: Any) -> Any:
    """Compute log of the factors from the fifth on by Stirling's series, log Gamma(y + rest) - log Gamma(y)."""
    y = start / step + 4
    z = y + rest
    series = (1 / 12 - 1 / (360 * z * z)) / z - (1 / 12 - 1 / (360 * y * y)) / y
    return (y - 0.5) * xp.log1p(rest / y) + rest * (xp.log(z * step) - 1) + series


def _eager_likelihood(
    share: Float[np.ndarray, "S K"],
    strength: Float[np.ndarray, "S K"],
    k: Float[np.ndarray, " K"],
    n: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " S"]:
    """Compute `log_likelihood` without the factors that are not there: most cells have few labels, and of one kind."""
    inverse = 1 / strength
    seen = np.log(_few(1 - share, inverse, n - k) / _few(np.ones_like(share), inverse, n)).sum(1)
    with_events = np.flatnonzero(k > 0)
    if len(with_events):
        seen += np.log(_few(share[:, with_events], inverse[:, with_events], k[with_events])).sum(1)
    for start, number, sign in ((share, k, 1), (1 - share, n - k, 1), (np.ones_like(share), n, -1)):
        many = np.flatnonzero(number > 4)
        if len(many):
            seen += sign * _from_fifth(start[:, many], inverse[:, many], number[many] - 4).sum(1)
    return seen


def _few(
    start: Float[np.ndarray, "S K"], step: Float[np.ndarray, "S K"], n: Float[np.ndarray, " K"]
) -> Float[np.ndarray, "S K"]:
    """Compute the product of the first four factors, or of as many as there are."""
    product = np.where(n > 0, start, np.float32(1))
    for i in range(1, 4):
        more = np.flatnonzero(n > i)
        if len(more):
            product[:, more] *= start[:, more] + np.float32(i) * step[:, more]
    return product
