r"""Totals and measures from items drawn without replacement with known inclusion probabilities ([SEME] sec. 3).

Item i with the losses l_i is drawn with probability b_i. With sums over the items drawn, and g a measure,

.. math:: \hat T = \sum_i l_i / b_i, \qquad \hat G = g(\hat T / M), \qquad
          \widehat{\mathrm{Var}}(\hat G) = \sum_i \frac{1 - b_i}{b_i^2} e_i^2, \qquad e_i = Dg(\hat T / M) \, l_i / M.

The total is unbiased (D. G. Horvitz and D. J. Thompson, "A generalization of sampling without replacement from a finite
universe", JASA 47, 1952); the variance is that of Poisson sampling, by linearisation. Items that were known before, or
drawn with certainty, have b = 1: they count as they are and add no variance, so that a pool that is all known is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import DesignError, LabelError

Inclusion = Float[np.ndarray, " n"]
Losses = Float[np.ndarray, "n D"]

_EPSILON = 1e-10  # [SEME] footnote 3, added to every squared deviation


def horvitz_thompson(losses: Losses, inclusion: Inclusion) -> Float[np.ndarray, " D"]:
    """Estimate the total of the losses over the pool, sum l / b, without bias ([SEME] (18)).

    Parameters
    ----------
    losses : (n, D)
        Of the items drawn.
    inclusion : (n,) in (0, 1]
        Probabilities with which they were drawn.

    Examples
    --------
    >>> horvitz_thompson(np.array([[1.0], [0.0], [1.0]]), np.array([1.0, 0.5, 0.25])).tolist()
    [5.0]
    """
    return (1 / _checked(inclusion)) @ np.asarray(losses, np.float64)


def hajek(losses: Losses, inclusion: Inclusion, n_items: int) -> Float[np.ndarray, " D"]:
    """Estimate the mean of the losses over the pool by a weighted mean, which never leaves their range (Hajek, 1971).

    Items drawn with certainty count as they are; the weighted mean of the others, sum (l / b) / sum (1 / b), stands for
    the rest of the pool. Where none of these was drawn, the mean of the certain ones stands for all.

    Parameters
    ----------
    losses : (n, D)
    inclusion : (n,) in (0, 1]
    n_items : int
        Items of the pool, M.

    Examples
    --------
    >>> hajek(np.array([[0.0], [1.0], [0.0]]), np.array([1.0, 0.5, 0.25]), 10).round(6).tolist()  # 9 / 10 * 2 / 6
    [0.3]
    """
    b, values = _checked(inclusion), np.asarray(losses, np.float64)
    if not len(b):
        raise LabelError("A mean cannot be estimated without labels; found none. Label some items first.")
    certain = b == 1
    rest = n_items - np.count_nonzero(certain)
    if certain.all():
        return values.mean(0)
    mean = (1 / b[~certain]) @ values[~certain] / (1 / b[~certain]).sum()
    return (values[certain].sum(0) + rest * mean) / n_items


def poisson_variance(influence: Float[np.ndarray, "n *Q"], inclusion: Inclusion) -> Float[np.ndarray, " *Q"]:
    """Estimate the variance of a measure from independently drawn items, sum (1 - b) / b^2 e^2 ([SEME] (28)).

    Parameters
    ----------
    influence : (n, ...)
        e, what one item adds to the measure: Dg(R) l / M for a function of totals, Dg(R) (l - R) / M for one of
        `hajek` means, with R as estimated.
    inclusion : (n,) in (0, 1]

    Examples
    --------
    >>> poisson_variance(np.array([0.1, 0.1]), np.array([1.0, 0.5])).round(6).tolist()
    0.02
    """
    b = _checked(inclusion)
    return ((1 - b) / b**2) @ np.square(np.asarray(influence, np.float64))


def fixed_size_variance(influence: Float[np.ndarray, "n *Q"], inclusion: Inclusion) -> Float[np.ndarray, " *Q"]:
    r"""Estimate the variance of a measure from a sample of fixed size, drawn in a random order or better.

    .. math:: \frac{n}{n - 1} \sum_i (1 - b_i) (e_i / b_i - \bar e)^2, \qquad
              \bar e = \sum_i (1 - b_i) e_i / b_i \Big/ \sum_i (1 - b_i)

    the approximation for conditional Poisson sampling (J. Hajek, Annals of Mathematical Statistics 35, 1964), with n
    the items that were not drawn with certainty. It is exact for simple random sampling. For systematic samples in the
    order of good scores it is too large, rather.

    Parameters
    ----------
    influence : (n, ...)
        As for `poisson_variance`.
    inclusion : (n,) in (0, 1]

    Returns
    -------
    (...) variances; infinite where a single item was drawn by chance.

    Examples
    --------
    >>> fixed_size_variance(np.array([0.0, 0.1]), np.array([0.2, 0.2])).round(6).tolist()  # 10^2 (1 - 2/10) s^2 / 2
    0.2
    """
    b, e = _checked(inclusion), np.asarray(influence, np.float64)
    chance = b < 1
    n = np.count_nonzero(chance)
    if n < 2:
        return np.full(e.shape[1:], np.inf if n else 0.0)
    rest = 1 - b[chance]
    expanded = e[chance] / b[chance].reshape(-1, *[1] * (e.ndim - 1))
    centred = expanded - np.tensordot(rest, expanded, 1) / rest.sum()
    return n / (n - 1) * np.tensordot(rest, centred**2, 1)


def ratio_variance(f: Float[np.ndarray, " n"], g: Float[np.ndarray, " n"], inclusion: Inclusion) -> float:
    """Estimate the variance of the ratio sum (f / b) / sum (g / b) as published ([SEME] (28), (29)).

    1e-10 is added to every squared deviation of an item that was drawn by chance; [SEME] adds it to all of them, and
    so has a variance left when everything is labelled. With few events this bluffs: see `ratio_interval`.

    Parameters
    ----------
    f, g : (n,)
        Of the items drawn.
    inclusion : (n,) in (0, 1]

    Returns
    -------
    The variance; infinite where sum g / b is 0, and the ratio not defined.

    Examples
    --------
    >>> f, g, b = np.array([1.0, 0.0]), np.array([1.0, 1.0]), np.array([0.5, 0.5])
    >>> round(ratio_variance(f, g, b), 6)  # 2 * 2 (1 / 2)^2 / 4^2
    0.0625
    """
    b = _checked(inclusion)
    f, g = np.asarray(f, np.float64), np.asarray(g, np.float64)
    bottom = (g / b).sum()
    if bottom == 0:
        return float("inf")
    square = (1 / b - 1) * (f - (f / b).sum() / bottom * g) ** 2 + _EPSILON * (b < 1)
    return float((square / b).sum() / bottom**2)


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
        Estimated totals of f and g, as of `Rounds.total`.
    covariance : (2, 2)
        Theirs, as of `Rounds.covariance`.

    Returns
    -------
    The bias; 0 where the total of g is.

    Examples
    --------
    >>> losses, b = np.array([[1.0, 1.0], [0.0, 0.5]]), np.array([1.0, 0.25])
    >>> rounds = Rounds.zeros(2).add(losses, b)
    >>> rounds.total.tolist(), round(ratio_bias(rounds.total, rounds.covariance), 6)  # 1 / 3 (12 / 4) / 3^2
    ([1.0, 3.0], 0.111111)
    """
    (f, g), v = np.asarray(total, np.float64), np.asarray(covariance, np.float64)
    return float((f / g * v[1, 1] - v[0, 1]) / g**2) if g else 0.0


def beta_interval(value: Any, variance: Any, level: float = 0.95) -> Float[np.ndarray, "*shape 2"]:
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
    >>> beta_interval(0.5, 1 / 12, 0.9).round(6).tolist()  # uniform
    [0.05, 0.95]
    >>> beta_interval(1.0, 1 / 6, 0.96).round(6).tolist()  # Beta(2, 1), where E (1 - x)^2 = 1/6
    [0.2, 1.0]
    """
    v, m = np.asarray(variance, np.float64), np.asarray(value, np.float64)
    m, v = np.broadcast_arrays(m, v)
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


class Rounds(NamedTuple):
    r"""What rounds of sampling without replacement add up to ([SEME] app. E); made by `zeros`, grown by `add`.

    Round r draws among the items that were not known before, with inclusion probabilities b that may depend on all
    labels so far. Its total is, and the total from all rounds is a weighted mean of these,

    .. math:: T_r = \sum_{i\ \mathrm{known\ before}} l_i + \sum_{i\ \mathrm{drawn}} l_i / b_i, \qquad
              \hat T = \sum_r w_r T_r \Big/ \sum_r w_r.

    Given what was known before, E T_r is the total T, so that T_r - T are martingale differences: uncorrelated, which
    is why the variance of the mean is the weighted sum of theirs. The mean is exactly unbiased if w_r / sum w is known
    before round r. That holds for weights that were fixed before the first round (1 each by default, or those of
    `round_weights`), and for weights that depend on earlier labels as long as their sum is fixed (what is left of 1
    goes to the last round). Weights that follow labels, and are divided by whatever sum they come to, are biased.

    Attributes
    ----------
    known : (D,)
        Total of the losses of the known items, each once.
    n_known : int
    weight : float
        Sum of the weights of the rounds.
    totals : (D,)
        Sum of w_r T_r.
    squares : (D, D)
        Sum of w_r^2 Cov_r, with Cov_r = sum (1 - b) / b^2 l l' over the items drawn: that of Poisson sampling, and
        more than that of samples of fixed size.

    Examples
    --------
    >>> rounds = Rounds.zeros(1).add(np.array([[1.0], [0.0]]), np.array([0.5, 0.5]))
    >>> rounds = rounds.add(np.array([[1.0]]), np.array([0.25]))
    >>> rounds.total.tolist(), rounds.covariance.tolist()  # (2 + (1 + 4)) / 2, and (2 + 12) / 4
    ([3.5], [[3.5]])
    """

    known: Float[np.ndarray, " D"]
    n_known: int
    weight: float
    totals: Float[np.ndarray, " D"]
    squares: Float[np.ndarray, "D D"]

    @classmethod
    def zeros(cls, n_losses: int) -> Rounds:
        """Return the sums over no round."""
        return cls(np.zeros(n_losses), 0, 0.0, np.zeros(n_losses), np.zeros((n_losses, n_losses)))

    def tell(self, losses: Losses) -> Rounds:
        """Add items that became known without having been drawn, between two rounds."""
        values = np.asarray(losses, np.float64)
        return self._replace(known=self.known + values.sum(0), n_known=self.n_known + len(values))

    def add(self, losses: Losses, inclusion: Inclusion, weight: float = 1.0) -> Rounds:
        """Add a round.

        Parameters
        ----------
        losses : (n, D)
            Of the items drawn in the round, none of which was known before.
        inclusion : (n,) in (0, 1]
            Their probabilities. Every item that is not known and can have a loss must have had a positive one.
        weight : float
            w_r, at least 0.
        """
        if not weight >= 0:
            raise DesignError(f"The weight of a round is at least 0; found {show(weight)}.")
        b, values = _checked(inclusion), np.asarray(losses, np.float64)
        spread = (values * ((1 - b) / b**2)[:, None]).T @ values
        return self.tell(values)._replace(
            weight=self.weight + weight,
            totals=self.totals + weight * (self.known + horvitz_thompson(values, b)),
            squares=self.squares + weight**2 * spread,
        )

    @property
    def total(self) -> Float[np.ndarray, " D"]:
        """Unbiased estimate of the total of the losses; once everything is known, `known` is the total itself."""
        return self.totals / self._some_weight

    @property
    def covariance(self) -> Float[np.ndarray, "D D"]:
        """Unbiased estimate of the covariance of `total`, for weights fixed before the first round."""
        return self.squares / self._some_weight**2

    @property
    def _some_weight(self) -> float:
        if not self.weight > 0:
            raise LabelError("No round with a positive weight has been added; add one before asking for the total.")
        return self.weight


def round_weights(n_items: int, labels: Int[np.ndarray, " r"]) -> Float[np.ndarray, " r"]:
    r"""Weigh planned rounds by their precision: w_r prop. to n_r / (U_r (U_r - n_r)), U_r items not known before.

    The inverse of the variance of T_r if all items had the same chance and spread. For rounds of one label these are
    the weights of S. Farquhar, Y. Gal and T. Rainforth, "On statistical bias in active learning", ICLR 2021 (LURE). A
    round after which all is known gets all the weight: then the total is exact.

    Parameters
    ----------
    n_items : int
    labels : (r,)
        Planned labels of every round: fixed before the first, so that the total stays unbiased.

    Returns
    -------
    (r,) weights; they sum to 1.

    Examples
    --------
    >>> round_weights(10, np.array([2, 4])).round(6).tolist()  # 2 / (10 * 8) and 4 / (8 * 4)
    [0.166667, 0.833333]
    >>> round_weights(10, np.array([2, 8])).tolist()
    [0.0, 1.0]
    """
    n = np.asarray(labels, np.float64)
    left = n_items - np.concatenate([[0.0], np.cumsum(n)])
    if not ((n >= 0).all() and n.sum() > 0 and left[-1] >= 0):
        raise DesignError(
            f"Rounds have at least 0 labels each and some in all, and no more than the {n_items:,} items of the pool; "
            f"found {show(labels)}."
        )
    # n / (U (U - n)) = 1 / (U - n) - 1 / U: the weights are differences, here times the items left at the end.
    share = np.where(left > 0, left[-1] / np.maximum(left, 1e-300), 1.0)
    weights = np.diff(share)
    return weights / weights.sum()


def _checked(inclusion: Inclusion) -> Inclusion:
    b = np.asarray(inclusion, np.float64)
    good = (b > 0) & (b <= 1)
    if not good.all():
        raise DesignError(
            f"Items are drawn with inclusion probabilities above 0, up to 1; found {show(b[~good][0])}. "
            "Pass the probabilities that the items had when they were drawn."
        )
    return b
