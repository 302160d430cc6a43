"""How well random items of a ranked list tell a precision ([ADA])."""

from __future__ import annotations

import math

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Int
from bayes_assess.errors import DesignError

Ends = Int[np.ndarray, " n"] | float


def samples_per_point(n_points: int, beta: float, delta: float, p_min: float, eta: float = 0.0) -> int:
    r"""Compute how many random labels estimate the precision at every one of K ranks within a factor ([ADA] (5)).

    .. math:: s = \left\lceil \frac{(1 + \eta)^2}{2 (\beta - 1 - \eta)^2 p_{\min}^2} \ln \frac{2 K}{\delta} \right\rceil

    Parameters
    ----------
    n_points : int
        K, at least 1.
    beta : float above 1 + eta
        The factor.
    delta : float in (0, 1)
        Probability that some estimate is off by more.
    p_min : float in (0, 1]
        A lower bound of the precision at all of these ranks.
    eta : float in [0, 1/2), optional
        Probability that an annotator takes a positive item for a negative one or the other way round, for which
        estimates are corrected, see `bayes_assess.estimators.ranked_labels.debiased`. That makes their errors greater
        by 1 / (1 - 2 eta), so that no fewer labels are taken than the noiseless number over (1 - 2 eta)^2.

    Raises
    ------
    DesignError
        If an argument is out of its range.

    Examples
    --------
    >>> samples_per_point(78, beta=1.05, delta=0.05, p_min=0.5)
    6437
    """
    if n_points < 1:
        raise DesignError(f"The precision is estimated at one rank at least; found {show(n_points)} ranks.")
    if not 0 <= eta < 0.5:
        raise DesignError(f"Annotators err with a probability eta in [0, 1/2); found {show(eta)}.")
    if not beta > 1 + eta:
        raise DesignError(
            f"Estimates within a factor beta of the precision need beta > 1 + eta = {show(1 + eta)}; "
            f"found {show(beta)}. Choose a greater one."
        )
    if not (0 < delta < 1 and 0 < p_min <= 1):
        raise DesignError(
            f"delta lies strictly between 0 and 1 and p_min in (0, 1]; found {show(delta)} and {show(p_min)}."
        )
    width = min((beta - 1 - eta) / (1 + eta), (beta - 1) * (1 - 2 * eta)) * p_min  # of the error of a share of labels
    return math.ceil(math.log(2 * n_points / delta) / (2 * width**2))


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


def positives_in_all(
    ranks: Int[np.ndarray, " n"], found: tuple[Ends, Ends], total: tuple[Ends, Ends], n_items: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many positives there are in all, at most and at least, if down to ranks there are fewest and most.

    Those beyond a rank are none at least, and no more than the items there. So a recall or F1 is bounded by values
    that occur together: TP / P rises in TP, whether P is bounded or the positives beyond are.

    Parameters
    ----------
    ranks : (n,) integers
    found, total : pairs of (n,) and of numbers
        Bounds of the positives down to the ranks, and of those in all.
    n_items : int

    Returns
    -------
    (n,) most that go with the lower bound of `found`; (n,) fewest that go with the upper one.

    Examples
    --------
    >>> ranks = np.array([5, 10])
    >>> [ends.tolist() for ends in positives_in_all(ranks, (np.array([2, 3]), np.array([4, 6])), (3, 6), 10)]
    [[6, 3], [4, 6]]
    """
    (fewest, most), (least, all_) = found, total
    return np.minimum(all_, fewest + (n_items - ranks)), np.maximum(least, most)
