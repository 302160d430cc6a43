"""Bounds of a precision from samples of a ranked list."""

from __future__ import annotations

import math

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import DesignError

Ranks = Int[np.ndarray, " k"]
Values = Float[np.ndarray, " k"]


def lowest_precision_bound(n: int, mean: float, delta: float) -> float:
    r"""Bound a precision from below at any time of a random sample ([ADA] footnote 5).

    .. math:: p \ge \bar v_n - \sqrt{\frac{0.6 \ln(\log_{1.1} n + 1) + \frac{5}{9} \ln(12 / \delta)}{n}}

    for all n at once with probability 1 - delta (S. Zhao, E. Zhou, A. Sabharwal, S. Ermon, "Adaptive concentration
    inequalities for sequential decision problems", NIPS 2016, Corollary 1): sampling may stop whenever the bound is
    good enough to be the p_min of `samples_per_point`. The same radius above the mean holds with that probability, too;
    both together with 1 - 2 delta.

    Parameters
    ----------
    n : int
        Labels of items drawn uniformly, with or without replacement.
    mean : float in [0, 1]
        Share of positives among them.
    delta : float in (0, 1)

    Returns
    -------
    The bound, at least 0; 0 without labels.

    Examples
    --------
    >>> round(lowest_precision_bound(1000, 0.6, 0.05), 4)
    0.525
    """
    if n < 1:
        return 0.0
    return max(0.0, mean - math.sqrt((0.6 * math.log(math.log(n, 1.1) + 1) + 5 / 9 * math.log(12 / delta)) / n))


def hoeffding_radius(weights: Values, n_samples: Ranks, delta: float) -> float:
    r"""Compute the half-width of a stratified mean's interval (W. Hoeffding, JASA 58, 1963, Theorem 2).

    .. math:: P\Big( \Big| \sum_j w_j (\bar v_j - p_j) \Big| \ge t \Big) \le \delta, \qquad
              t^2 = \frac{\ln(2 / \delta)}{2} \sum_j \frac{w_j^2}{n_j}

    For the precision at rank r the weights are w_j = size_j / r. With n_j >= size_j s / r_j labels in every stratum
    up to r, as of `strata_needed`, and r_j <= r,

    .. math:: \sum_j \frac{w_j^2}{n_j} \le \sum_j \frac{size_j^2}{r^2} \frac{r_j}{size_j\, s}
              \le \sum_j \frac{size_j}{r\, s} \le \frac{1}{s},

    so the radius is at most that of s plain samples, which (2) of [ADA] needs: no sample of a denser stratum has to be
    thinned out. Samples without replacement are no worse (Hoeffding, sec. 6).

    Parameters
    ----------
    weights : (k,)
        w; 0 for strata without sampling error.
    n_samples : (k,) integers
        n. The radius is infinite if a stratum with a weight has none.
    delta : float in (0, 1)

    Examples
    --------
    >>> round(hoeffding_radius(np.array([0.5, 0.5]), np.array([300, 100]), 0.05), 4)  # sum = 1 / 300
    0.0784
    """
    if not 0 < delta < 1:
        raise DesignError(f"delta is a probability strictly between 0 and 1; found {show(delta)}.")
    w, n = np.asarray(weights, np.float64), np.asarray(n_samples, np.float64)
    counted = w > 0
    with np.errstate(divide="ignore"):
        return math.sqrt(math.log(2 / delta) / 2 * float((w[counted] ** 2 / n[counted]).sum()))
