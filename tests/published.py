"""What [SEME] publishes for its samples, and [ADA] leans on, in plain NumPy, to compare with."""

from __future__ import annotations

import math

import numpy as np


def ratio_variance(f, g, b):
    """Estimate the variance of sum (f / b) / sum (g / b) from the items drawn, (28) and (29)."""
    bottom = (g / b).sum()
    if bottom == 0:
        return np.inf
    square = (1 / b - 1) * (f - (f / b).sum() / bottom * g) ** 2 + 1e-10 * (b < 1)
    return (square / b).sum() / bottom**2


def hoeffding_radius(weights, n_samples, delta):
    r"""Compute the half-width of a stratified mean's interval (W. Hoeffding, JASA 58, 1963, Theorem 2).

    .. math:: P\Big( \Big| \sum_j w_j (\bar v_j - p_j) \Big| \ge t \Big) \le \delta, \qquad
              t^2 = \frac{\ln(2 / \delta)}{2} \sum_j \frac{w_j^2}{n_j}

    For the precision at rank r the weights are w_j = size_j / r; they are 0 for strata without sampling error. With
    n_j >= size_j s / r_j labels in every stratum up to r, as of `strata_needed`, and r_j <= r, the sum is at most
    sum_j size_j / (r s) <= 1 / s, so the radius is at most that of s plain samples, which (2) of [ADA] needs: no sample
    of a denser stratum has to be thinned out. Samples without replacement are no worse (Hoeffding, sec. 6).
    """
    counted = weights > 0
    return math.sqrt(math.log(2 / delta) / 2 * float((weights[counted] ** 2 / n_samples[counted]).sum()))
