"""Credible intervals on the host: Beta posteriors, and the accuracy of a finite pool that is partly labelled.

Of the n items of a group N are labelled, r of them in agreement with their predictions. The other R = n - N items
agree K times, K ~ BetaBinomial(R, a, b) under the posterior Beta(a, b), and the accuracy of the pool is
(r + K) / n: known exactly once everything is labelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import special

from bayes_assess._tools.arrays import as_floats, is_whole, show, unmasked
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.errors import LabelError, PriorError, QuestionError
from bayes_assess.estimators.horvitz_thompson import moment_interval as of_beta

if TYPE_CHECKING:
    from bayes_assess.estimators.ratio_interval import Ranges


# Counts spread over more than this many standard deviations' worth of integers are treated as continuous.
_DISCRETE_BELOW_SD = 32.0
_WINDOW_SDS = 12.0
_CHUNK = 1 << 21  # table entries at a time
_LEAST_VARIANCE = 1e-10  # that a Beta distribution has, as [SEME] adds it
_LEAST_RISE, _MOST_RISE = 1e-12, 1e6  # by one draw, as a share of what is left
_ROUNDING, _ROUNDING_OF_VARIANCE = 1e-12, 1e-15  # of a mean in [0, 1]; items are a billion at most


def beta_interval(
    a: Float[np.ndarray, "*shape"], b: Float[np.ndarray, "*shape"], level: float = 0.95
) -> Float[np.ndarray, "*shape 2"]:
    """Equal-tailed credible interval of Beta(a, b).

    Parameters
    ----------
    a, b : (...) positive floats
    level : float in (0, 1)
        Posterior probability of the interval.

    Returns
    -------
    (..., 2) lower and upper ends.

    Examples
    --------
    >>> beta_interval(1.0, 1.0, level=0.9).round(3).tolist()
    [0.05, 0.95]
    """
    tail = (1 - checked_level(level)) / 2
    a, b = _checked_parameters(a, b)
    return np.stack([special.betaincinv(a, b, tail), special.betainccinv(a, b, tail)], axis=-1)


def pool_mean(
    successes: Int[np.ndarray, "*shape"],
    trials: Int[np.ndarray, "*shape"],
    size: Int[np.ndarray, "*shape"],
    mean: Float[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    """Posterior mean of the pool's accuracy: labelled items as they are, the others at the posterior mean.

    Parameters
    ----------
    successes, trials, size : (...) integers
        Agreements, labels, and items of every group.
    mean : (...)
        Posterior mean of the accuracy theta; the answer itself for a group without items.

    Returns
    -------
    (...) means; exactly successes / size where everything is labelled.

    Examples
    --------
    >>> float(pool_mean(3, 4, 4, 0.6)), float(pool_mean(0, 0, 0, 0.5))
    (0.75, 0.5)
    """
    size = np.asarray(unmasked(size))
    _check_counts(successes, trials, size)
    if np.isnan(unmasked(mean)).any():
        raise PriorError("The posterior mean of an accuracy is a number; found nan.")
    return np.where(size > 0, (successes + (size - trials) * mean) / np.maximum(size, 1), mean)


def pool_interval(
    successes: Int[np.ndarray, "*shape"],
    trials: Int[np.ndarray, "*shape"],
    size: Int[np.ndarray, "*shape"],
    a: Float[np.ndarray, "*shape"],
    b: Float[np.ndarray, "*shape"],
    level: float = 0.95,
) -> Float[np.ndarray, "*shape 2"]:
    """Equal-tailed credible interval of the pool's accuracy (r + K) / n, K ~ BetaBinomial(n - N, a, b).

    Parameters
    ----------
    successes, trials, size : (...) integers
        Agreements r, labels N, and items n of every group.
    a, b : (...)
        Posterior parameters.
    level : float in (0, 1)

    Returns
    -------
    (..., 2) ends. The probability inside is at least `level`; the width is zero only where everything is
    labelled. A group without items gets the interval of its Beta distribution.

    Examples
    --------
    >>> pool_interval(8, 10, 12, 9.0, 3.0).round(3).tolist()  # two items are still unknown
    [0.667, 0.833]
    >>> pool_interval(8, 10, 10, 9.0, 3.0).tolist()
    [0.8, 0.8]
    """
    _check_counts(successes, trials, size)
    arrays = np.broadcast_arrays(successes, trials, size, *_checked_parameters(a, b))
    shape = arrays[0].shape
    r, labelled, n, a, b = (np.ravel(x) for x in arrays)
    rest = (n - labelled).astype(np.int64)
    ends = beta_binomial_interval(rest, a, b, level)
    ends = (r[:, None] + ends) / np.maximum(n, 1)[:, None]
    empty = n == 0
    if empty.any():
        ends[empty] = beta_interval(a[empty], b[empty], level)
    return ends.reshape(*shape, 2)


def beta_binomial_interval(
    n: Int[np.ndarray, " J"], a: Float[np.ndarray, " J"], b: Float[np.ndarray, " J"], level: float = 0.95
) -> Float[np.ndarray, "J 2"]:
    """Equal-tailed interval of BetaBinomial(n, a, b) counts, never of zero width unless n = 0.

    Narrow distributions are summed exactly. Wide ones, where a count more or less does not show, take the quantiles of
    n times a Beta variable with the same mean, variance and range.

    Examples
    --------
    >>> beta_binomial_interval(np.array([10]), np.array([1.0]), np.array([1.0])).tolist()  # uniform on 0..10
    [[0.0, 10.0]]
    """
    tail = (1 - checked_level(level)) / 2
    n, a, b = np.broadcast_arrays(np.atleast_1d(n), *_checked_parameters(a, b))
    if not (n >= 0).all():
        raise LabelError(f"Items without a label are 0 or more; found {show(_first_of(n, n >= 0))}.")
    total = a + b
    mean = a / total
    sd = np.sqrt(n * mean * (1 - mean) * (total + n) / (total + 1))
    ends = np.zeros((len(n), 2))
    wide = sd > _DISCRETE_BELOW_SD
    if wide.any():
        matched = n[wide] * (total[wide] + 1) / (total[wide] + n[wide]) - 1
        share = beta_interval(mean[wide] * matched, (1 - mean[wide]) * matched, level)
        ends[wide, 0] = np.floor(n[wide] * share[:, 0])
        ends[wide, 1] = np.ceil(n[wide] * share[:, 1])
    exact = np.flatnonzero(~wide & (n > 0))
    # Cantelli: a tail probability lies within sqrt(1 / tail) standard deviations, however skewed the distribution.
    half = np.ceil(max(_WINDOW_SDS, tail**-0.5) * sd).astype(np.int64) + 1
    step = max(1, _CHUNK // (2 * int(half[exact].max(initial=1)) + 2))
    for i in range(0, len(exact), step):
        j = exact[i : i + step]
        ends[j] = _summed_interval(n[j], a[j], b[j], half[j], tail)
    # A distribution that is all but a point mass would give an interval without width before everything is labelled.
    point = (ends[:, 0] == ends[:, 1]) & (n > 0)
    ends[:, 0] -= point & (ends[:, 1] == n)
    ends[:, 1] += point & (ends[:, 1] < n)
    return ends


def _summed_interval(
    n: Int[np.ndarray, " J"],
    a: Float[np.ndarray, " J"],
    b: Float[np.ndarray, " J"],
    half: Int[np.ndarray, " J"],
    tail: float,
) -> Float[np.ndarray, "J 2"]:
    """Quantiles from the probabilities of a window of counts around the mean, by their ratio recurrence."""
    center = np.floor(n * (a / (a + b))).astype(np.int64)
    first, last = np.maximum(center - half, 0), np.minimum(center + half, n)
    k = first[:, None] + np.arange(int((last - first).max()) + 1)
    inside = k <= last[:, None]
    before = np.where(inside, k, last[:, None])[:, 1:] - 1  # p(k) / p(k - 1), with k - 1 = before
    n_, a_, b_ = n[:, None], a[:, None], b[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log((n_ - before) * (a_ + before)) - np.log((before + 1) * (b_ + (n_ - before - 1)))
    log_p = np.zeros(k.shape)
    log_p[:, 1:] = np.cumsum(np.where(inside[:, 1:], log_ratio, 0.0), axis=1)
    peak = log_p.max(1)
    p = np.where(inside, np.exp(log_p - peak[:, None]), 0.0)
    # A skewed distribution leaves mass outside its window. It lies against one end then, where it is known.
    at_0, at_n = (first == 0) & (last < n), (first > 0) & (last == n)
    total = p.sum(1)
    log_end = np.where(at_n, special.betaln(n + a, b), special.betaln(a, n + b)) - special.betaln(a, b)
    relative = np.where(at_n, log_p[np.arange(len(n)), last - first], 0.0) - peak
    total = np.where(at_0 | at_n, np.exp(np.clip(relative - log_end, -700, 700)), total)
    p /= total[:, None]
    below = np.where(at_n, np.maximum(1 - p.sum(1), 0.0), 0.0)
    cdf = below[:, None] + np.cumsum(p, axis=1)
    rounding = 1e-12  # where a probability equals its bound exactly, as those of uniform distributions do
    lower = first + (cdf <= tail * (1 + rounding)).sum(1)
    upper = np.minimum(first + (cdf < (1 - tail) * (1 - rounding)).sum(1), last)
    return np.stack([lower, upper], axis=-1).astype(np.float64)


def _checked_parameters(a: Array, b: Array) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Return the parameters of Beta distributions as floats."""
    parameters = []
    for given in (a, b):
        values = np.asarray(unmasked(given))
        fits = np.isfinite(values) & (values > 0) if values.dtype.kind in "iuf" else np.zeros(values.shape, bool)
        if not fits.all():
            raise PriorError(
                "Parameters of a Beta distribution are finite numbers above 0, counts of labels with those of the "
                f"prior added; found {show(_first_of(values, fits))}."
            )
        parameters.append(values.astype(np.float64))
    return parameters[0], parameters[1]


def _check_counts(successes: Array, trials: Array, size: Array) -> None:
    """Refuse counts that are none of a group's."""
    r, labelled, n = np.broadcast_arrays(*map(unmasked, (successes, trials, size)))
    fits = (r >= 0) & (r <= labelled) & (labelled <= n)
    if not fits.all():
        r, labelled, n = (show(_first_of(values, fits)) for values in (r, labelled, n))
        raise LabelError(
            "Of a group, successes are no more than labels, which are no more than its items, and none is below 0; "
            f"found {r} successes, {labelled} labels and {n} items."
        )


def _first_of(values: Array, fits: Bool[np.ndarray, "*shape"]) -> Scalar:
    """Return the first value that does not fit."""
    return np.asarray(values)[~fits].ravel()[0]


class _Estimated(Protocol):
    """What intervals look at: an `Estimate`, or an `ItemsEstimate` of items with several labels, (..., k)."""

    @property
    def value(self) -> Float[Array, "*shape k"]: ...
    @property
    def variance(self) -> Float[Array, "*shape k"]: ...
    @property
    def rise(self) -> Float[Array, "*shape k"]: ...
    @property
    def fall(self) -> Float[Array, "*shape k"]: ...
    @property
    def defined(self) -> Bool[Array, "*shape k"]: ...
    @property
    def n_draws(self) -> Scalar: ...
    @property
    def exact(self) -> Scalar: ...
    @property
    def sample(self) -> Any: ...


def measure_interval(
    estimate: _Estimated, ranges: Ranges, level: float = 0.95, freedom: Float[np.ndarray, "*shape #k"] | None = None
) -> Float[np.ndarray, "*shape k 2"]:
    """Asymptotic interval of measures from weighted draws, for few draws too.

    Let m be the estimate as a share of the range of the measure, v its variance, and d the most that one more draw
    of an unlabelled item could add to it, as a share of what is left, 1 - m. The upper end is a quantile of

    .. math::
        Beta((m + d)^2 (1 - m) / u, (m + d) (1 - m)^2 / u),  u = v + d^2 (1 - m)

    and the lower end likewise, seen from the other side. For uniform draws and a share, where d = 1 / N and
    v = m (1 - m) / N, these are the ends of [CLOPPER], Beta(x + 1, N - x) and Beta(x, N - x + 1); where losses are
    rare they are those of [FAY], Gamma((m + d)^2 / u) times u / (m + d), for weighted sums of Poisson counts. A measure
    at the end of its range, whose draws show no spread, has the interval that the losses leave open which no draw has
    shown yet. Where an estimate asks for it, the ends are those of `horvitz_thompson.beta_interval`, or of
    `ratio_interval`. A measure without a finite range gets m + d + t sqrt(v + d^2), and so below, with N - 1 degrees of
    freedom.

    Parameters
    ----------
    estimate : Estimate
        Its arrays are (..., k), or (...) where they are one for all measures.
    ranges : (k, 2)
        Where the measures lie.
    level : float in (0, 1)
    freedom : (..., k), optional
        Degrees of freedom in the place of N - 1.

    Returns
    -------
    (..., k, 2) ends, which hold the estimate: the whole range where the draws do not define the measure, the estimate
    alone where it is exact; nothing beyond what labels leave possible, where the estimate knows of that.

    Examples
    --------
    >>> from bayes_assess.estimators.weighted import Estimate
    >>> right = Estimate(np.ones(1), np.zeros(1), None, np.zeros(1), np.array([1 / 500]), np.array([True]), 500, False)
    >>> measure_interval(right, [(0, 1)]).round(4).tolist()  # 500 right of 500 are 0.025 ** (1 / 500)
    [[0.9926, 1.0]]
    """
    checked_level(level)
    value, variance = np.asarray(estimate.value, np.float64), np.maximum(estimate.variance, 0.0)
    exact, n = (np.asarray(x, np.float64)[..., None] for x in (estimate.exact, estimate.n_draws))
    low, high = np.asarray(ranges, np.float64).T
    finite = np.isfinite(low) & np.isfinite(high)
    start, width = np.where(finite, low, 0), np.where(finite, high - low, 1)
    m, v = _unrounded(np.clip((value - start) / width, 0, 1), variance / width**2)
    rise, fall = np.asarray(estimate.rise) / width, np.asarray(estimate.fall) / width
    upper = _upper_end(m, v, rise, level)
    lower = 1 - _upper_end(1 - m, v, fall, level)
    published = np.asarray(getattr(estimate, "beta", False), bool)[..., None, None]
    share = np.stack([lower, upper], axis=-1)
    if published.any():
        share = np.where(published, of_beta(m, np.maximum(v, _LEAST_VARIANCE), level), share)
    ends = start[..., None] + width[..., None] * share
    if estimate.sample is not None and np.any(getattr(estimate, "by_ratio", False)):
        ends = estimate.sample.intervals(ranges, level)
    t = special.stdtrit(np.maximum(n - 1 if freedom is None else freedom, 1), (1 + level) / 2)
    least = value - estimate.fall - t * np.sqrt(variance + np.square(estimate.fall))
    most = value + estimate.rise + t * np.sqrt(variance + np.square(estimate.rise))
    spread = (variance + estimate.rise + estimate.fall > 0)[..., None]
    whole = np.stack([low, high], axis=-1)
    straight = np.where(spread, np.clip(np.stack([least, most], axis=-1), low[:, None], high[:, None]), whole)
    ends = np.where(finite[:, None], ends, straight)
    ends = np.stack([np.minimum(ends[..., 0], value), np.maximum(ends[..., 1], value)], axis=-1)
    ends = np.where(np.asarray(estimate.defined)[..., None], ends, whole)
    possible = getattr(estimate, "possible", None)
    if possible is not None:
        ends = np.clip(ends, possible[..., :1], possible[..., 1:])
    return np.where(exact[..., None] > 0, value[..., None], ends)


def effective_draws(estimate: _Estimated, ranges: Ranges) -> Float[np.ndarray, "*shape k"]:
    """Count the uniform draws of a share that would tell as much as the draws that inform each measure.

    Every draw counts that could have changed the estimate, also one that shows no error: draws of the greatest
    influence would carry the measure through its range in so many steps. Where the estimate has a spread, no more than
    the m (1 - m) / v draws that would have the same.

    Parameters
    ----------
    estimate : Estimate
    ranges : (k, 2)
        Where the measures lie; all draws count for those without a finite range.

    Examples
    --------
    >>> from bayes_assess.estimators.weighted import Estimate
    >>> right = Estimate(np.ones(1), np.zeros(1), None, np.zeros(1), np.array([1 / 500]), np.array([True]), 500, False)
    >>> effective_draws(right, [(0, 1)]).round(9).tolist()
    [500.0]
    """
    low, high = np.asarray(ranges, np.float64).T
    finite = np.isfinite(low) & np.isfinite(high)
    start, width = np.where(finite, low, 0), np.where(finite, high - low, 1)
    m, v = _unrounded((np.asarray(estimate.value) - start) / width, np.asarray(estimate.variance) / width**2)
    n = np.asarray(estimate.n_draws, np.float64)[..., None]
    step = (estimate.rise + estimate.fall) / width
    n_effective = np.where(step > 0, 1 / np.where(step > 0, step, 1), n)
    spread = (v > 0) & (m > 0) & (m < 1)
    n_effective = np.where(spread, np.minimum(n_effective, m * (1 - m) / np.where(spread, v, 1)), n_effective)
    return np.where(estimate.defined, np.where(finite, np.minimum(n_effective, n), n), 0.0)


def _unrounded(
    m: Float[np.ndarray, "*shape"], v: Float[np.ndarray, "*shape"]
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Put means that rounding alone keeps from an end of [0, 1] there, and take away what is a variance by rounding.

    A recall where all items are predicted positive is 1; v / (1 - m) of 1 - 2e-16 would be a spread of any size.
    """
    end = np.where(m < 0.5, 0.0, 1.0)
    there = np.abs(m - end) < _ROUNDING
    return np.where(there, end, m), np.where(there & (v < _ROUNDING_OF_VARIANCE), 0.0, v)


def _upper_end(
    m: Float[np.ndarray, "*shape"], v: Float[np.ndarray, "*shape"], rise: Float[np.ndarray, "*shape"], level: float
) -> Float[np.ndarray, "*shape"]:
    """Upper end of the interval of a mean m in [0, 1] of variance v that one more draw could raise."""
    rest = 1 - m
    inside = (m > 0) & (rest > 0)
    # No draw adds less than what those so far added on average.
    own = np.where(inside, v / np.where(inside, m * rest, 1), 0)
    d = np.maximum(np.where(rest > 0, rise / np.where(rest > 0, rest, 1), 0), own)
    d = np.minimum(d, _MOST_RISE)
    u = np.maximum(v + d**2 * rest, np.finfo(float).tiny)
    a, b = (m + d) ** 2 * rest / u, (m + d) * rest**2 / u
    known = (rest > 0) & (d > _LEAST_RISE)
    end = special.betaincinv(np.where(known, a, 1), np.where(known, b, 1), (1 + level) / 2)
    return np.where(known, end, 1.0)  # at the end of the range, or no draw says how much could be missing


def bootstrap_interval(
    values: Float[np.ndarray, "R *shape"], level: float = 0.95, n_resamples: int = 1000, seed: int = 0
) -> Float[np.ndarray, "*shape 2"]:
    """Percentile bootstrap interval of the mean over replicates, which are resampled whole.

    Parameters
    ----------
    values : (R, ...)
        A row per replicate.
    level : float in (0, 1)
    n_resamples, seed : int

    Returns
    -------
    (..., 2) lower and upper ends; they never leave the range of the values.

    Examples
    --------
    >>> bootstrap_interval(np.repeat([[0.0], [1.0]], 50, axis=0)).round(1).tolist()
    [[0.4, 0.6]]
    """
    checked_level(level)
    values = as_floats(values)
    n = len(values) if values.ndim else 0
    if not n or not np.isfinite(values).all():
        raise QuestionError(f"A bootstrap takes finite values, a row per replicate; found {show(values)}.")
    if not is_whole(n_resamples, 1):
        raise QuestionError(f"Resamples are a whole number of at least 1; found {show(n_resamples)}.")
    times = generator(seed, "bootstrap").multinomial(n, np.full(n, 1 / n), n_resamples)
    means = np.tensordot(times / n, values, axes=1)
    ends = np.moveaxis(np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0), 0, -1)
    return np.clip(ends, values.min(0)[..., None], values.max(0)[..., None])  # rounding


def ellipsoid_radius(n: float, k: int, level: float = 0.95) -> float:
    """Compute r of the confidence ellipsoid (G - Ghat)' S^-1 (G - Ghat) <= r, S the covariance of Ghat ([NH] 3.3.2).

    r = k (N - 1) / (N - k) times the quantile of F(k, N - k); [NH] writes Sigma / N for S.

    Parameters
    ----------
    n : float
        Draws, N.
    k : int
        Measures; infinite unless N > k.
    level : float in (0, 1)

    Examples
    --------
    >>> round(ellipsoid_radius(10**9, 2), 3)  # chi-square with 2 degrees of freedom
    5.991
    """
    checked_level(level)
    if not is_whole(k, 1) or not n >= 0:
        raise QuestionError(f"An ellipsoid is of 1 measure or more, from 0 draws or more; found {show(k)}, {show(n)}.")
    if n <= k:
        return float("inf")
    return float(k * (n - 1) / (n - k) * special.fdtri(k, n - k, level))
