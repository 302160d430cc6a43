"""The widest of the intervals of many Beta variables, without those of all others."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import Float
from bayes_assess.estimators.intervals import beta_interval

_ROUNDER = 1.02  # than Beta variables are those whose intervals are the widest


def widest_beta_intervals(
    a: Float[np.ndarray, "*batch P"], b: Float[np.ndarray, "*batch P"], level: float = 0.95
) -> Float[np.ndarray, "*batch P 2"]:
    """Return those of the intervals of many Beta variables that may be the widest of a row; of others, ends of 0.

    With a and b of 1 or more an interval is, in standard deviations, at most as wide as that of a normal, a uniform or
    an exponential variable, whichever is wider, but for three thousandths: variables whose standard deviation is some
    percent below the greatest have a narrower one.

    Examples
    --------
    >>> widest_beta_intervals(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 1.0]), level=0.9).round(3).tolist()
    [[0.05, 0.95], [0.0, 0.0], [0.0, 0.0]]
    """
    tail = (1 - checked_level(level)) / 2
    most = _ROUNDER * max(2 * special.ndtri(1 - tail), math.sqrt(12) * level, math.log((1 - tail) / tail))
    sd = np.sqrt(a * b / (a + b + 1)) / (a + b)
    top = sd.argmax(-1, keepdims=True)
    first, second = (np.take_along_axis(part, top, -1) for part in (a, b))
    width = np.diff(beta_interval(first, second, level), axis=-1)[..., 0]
    some = (most * sd >= width) | (a < 1) | (b < 1)
    ends = np.zeros((*sd.shape, 2))
    ends[some] = beta_interval(a[some], b[some], level)
    return ends
