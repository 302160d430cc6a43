"""Ratios of totals that are estimated without bias, from items of known inclusion probabilities ([SEME] sec. 3).

Item i is drawn with probability b_i; the totals of f and g are estimated by sums of f / b and g / b over those drawn
(D. G. Horvitz and D. J. Thompson, "A generalization of sampling without replacement from a finite universe", JASA 47,
1952), and a measure by their ratio.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import ArrayLike, Float

_ROUNDING = 1e-12  # within which a value is at an end of the range


def ratio_bias(total: Float[np.ndarray, " 2"], covariance: Float[np.ndarray, "2 2"]) -> float:
    r"""Estimate by how much the ratio of two unbiased totals is too great on average, to first order.

    .. math:: E \frac{\hat f}{\hat g} - \frac{f}{g} \approx
              \frac{\frac{f}{g} \mathrm{Var}(\hat g) - \mathrm{Cov}(\hat f, \hat g)}{g^2}

    (J. N. K. Rao, "Ratio estimators", Encyclopedia of Statistical Sciences, 1988). [SEME] takes the ratio for unbiased.
    Of a positive item that was not predicted f is 0 and g is not: the less likely such items are to be drawn, the
    more F1 is overstated. It falls as one over the number of labels.

    Parameters
    ----------
    total : (2,)
        Estimated totals of f and g, sum f / b and sum g / b over the items drawn.
    covariance : (2, 2)
        Theirs; estimated by sum (1 - b) / b^2 f g, and alike.

    Returns
    -------
    The bias; 0 where the total of g is.

    Examples
    --------
    >>> ratio_bias(np.array([1.0, 2.0]), np.array([[0.0, 0.0], [0.0, 2.0]]))  # 1 / 2 * 2 / 2^2
    0.25
    """
    (f, g), v = np.asarray(total, np.float64), np.asarray(covariance, np.float64)
    return float((f / g * v[1, 1] - v[0, 1]) / g**2) if g else 0.0


def moment_interval(value: ArrayLike, variance: ArrayLike, level: float = 0.95) -> Float[np.ndarray, "*shape 2"]:
    """Compute the interval of the Beta distribution with this mean and variance ([SEME] sec. 2.2).

    At an end of the range, where there is no such distribution, the interval is that of Beta(a, 1), or Beta(1, a),
    whose mean squared distance from the end is the variance.

    Parameters
    ----------
    value : (...) floats in [0, 1]
    variance : (...) floats
        0 where the value is exact. From value (1 - value) on, where there is no Beta distribution either, the interval
        is all of [0, 1].
    level : float in (0, 1)

    Returns
    -------
    (..., 2) ends, which hold the value.

    Examples
    --------
    >>> moment_interval(0.5, 1 / 12, 0.9).round(6).tolist()  # uniform
    [0.05, 0.95]
    >>> moment_interval(1.0, 1 / 6, 0.96).round(6).tolist()  # Beta(2, 1), where E (1 - x)^2 = 1/6
    [0.2, 1.0]
    """
    v, m = np.asarray(variance, np.float64), np.asarray(value, np.float64)
    m, v = np.broadcast_arrays(m, v)
    m = np.where(np.abs(m - np.round(m)) < _ROUNDING, np.round(m), m)
    inside, some = (m > 0) & (m < 1), v > 0
    total = np.where(inside & some, m * (1 - m) / np.where(some, v, 1.0) - 1, 0.0)
    fits = total > 0
    a, b = np.where(fits, m * total, 1.0), np.where(fits, (1 - m) * total, 1.0)
    tail = (1 - level) / 2
    ends = special.betaincinv(a, b, tail), special.betainccinv(a, b, tail)
    low, high = np.where(fits, np.minimum(ends[0], m), 0.0), np.where(fits, np.maximum(ends[1], m), 1.0)
    # E (1 - x)^2 = 2 / ((a + 1) (a + 2)) for Beta(a, 1)
    a = np.where(some & (v < 1), (np.sqrt(1 + 8 / np.where(some, v, 1.0)) - 3) / 2, 0.0)
    away = np.where(a > 0, 1 - (1 - level) ** (1 / np.where(a > 0, a, 1.0)), 1.0)
    low, high = np.where(m >= 1, 1 - away, low), np.where(m <= 0, away, high)
    return np.where(some[..., None], np.stack([low, high], axis=-1), m[..., None])
