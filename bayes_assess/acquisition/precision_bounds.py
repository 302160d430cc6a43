"""Bounds of a precision from samples of a ranked list."""

from __future__ import annotations

import math


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
