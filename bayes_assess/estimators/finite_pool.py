"""Estimates and posterior draws of a finite pool: labelled items as they are, the others by the posterior.

Of the n items of a cell N are labelled. What the other R = n - N will show is drawn from the posterior predictive
distribution, so that estimates and intervals close in on the exact answer as labels come in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.equivalence import rope_masses_beta, rope_masses_samples
from bayes_assess.acquisition.pool_rope import pool_rope_masses
from bayes_assess.estimators.intervals import beta_interval, pool_interval, pool_mean
from bayes_assess.models.belief import Belief, beta_marginals, check_draws, runs_on_numpy
from bayes_assess.models.beta_bernoulli import BetaBernoulli

Sizes = Int[np.ndarray, " K"] | None  # items of every cell, for a pool; None for the population it was drawn from

_BLOCK_NUMBERS = 2_000_000  # drawn at a time
_MOST_DRAWS, _FEWEST_DRAWS = 10_000, 500  # where there is no closed form: as many as fit in some numbers
_NUMBERS, _MANY_NUMBERS = 6_000_000, 50_000_000
_IN_CACHE = 50_000  # numbers at once
_PAIR_NUMBERS, _PAIR_DRAWS = 2_000_000, 1_000_000_000  # of some pairs at a time, and of all pairs together
_EXACT_UP_TO = 32  # unlabelled items of a cell, up to which their distribution is summed exactly


def value_draws(
    posterior: Belief, counts: Int[np.ndarray, "*batch K O"], sizes: Sizes, seed: int, n: int
) -> Iterator[Float[np.ndarray, "S *batch K *O"]]:
    """Draw the values of cells, some draws at a time.

    Parameters
    ----------
    posterior : Belief over (..., K) or (..., K, O)
    counts : (..., K, O) integers
        Labelled items by outcome, those of disagreement first where values are accuracies.
    sizes : (K,) integers or None
        Items of every cell, for the values in the pool; None for those in the population.
    seed : int
    n : int
        Draws in all.

    Yields
    ------
    (S, ..., K) accuracies or (S, ..., K, O) shares; a cell without items has those of the population.

    Examples
    --------
    >>> from bayes_assess import BetaBernoulli
    >>> posterior = BetaBernoulli.from_prior(n_groups=2).update([1, 0], [1, 0])
    >>> counts, sizes = np.array([[0, 1], [0, 0]]), np.array([1, 5])
    >>> draws = np.concatenate(list(value_draws(posterior, counts, sizes, seed=0, n=100)))
    >>> draws.shape, draws[:, 0].min()  # the only item of the first cell is known
    ((100, 2), np.float64(1.0))
    """
    for i, rows in enumerate(_blocks(n, int(np.prod(np.shape(posterior.mean))))):
        with engine.eager(runs_on_numpy(posterior)):  # others take keys of JAX
            part = engine.random.fold_in(jax_key(seed, "draws"), i)
        if sizes is None:
            block = np.asarray(posterior.sample(part, rows.step))
        else:
            block = posterior.pool_draws(part, rows.step, counts, sizes)
            if not runs_on_numpy(posterior):  # one of the user's own
                block = check_draws(posterior, "pool_draws", block, (rows.step, *np.shape(posterior.mean)))
        yield block[: rows.stop - rows.start]


def value_mean(
    posterior: Belief, counts: Int[np.ndarray, "*batch K O"], sizes: Sizes
) -> Float[np.ndarray, "*batch K *O"]:
    """Compute the posterior mean of every cell's value: labelled items as they are, the others at their mean.

    Examples
    --------
    >>> from bayes_assess import BetaBernoulli
    >>> posterior = BetaBernoulli.from_prior(n_groups=1).update([3], [4])
    >>> value_mean(posterior, np.array([[1, 3]]), np.array([10])).round(6).tolist()  # (3 + 6 * 4 / 6) / 10
    [0.7]
    """
    mean = np.asarray(posterior.mean)
    if sizes is None:
        return mean
    labelled = counts.sum(-1)
    if mean.ndim < counts.ndim:
        return pool_mean(counts[..., 1], labelled, sizes, mean)
    return pool_mean(counts, labelled[..., None], sizes[:, None], mean)


def value_interval(
    posterior: Belief, counts: Int[np.ndarray, "*batch K O"], sizes: Sizes, level: float
) -> Float[np.ndarray, "*batch K *O 2"]:
    """Compute the equal-tailed credible interval of every cell's value, in the pool or in the population.

    Examples
    --------
    >>> from bayes_assess import BetaBernoulli
    >>> posterior = BetaBernoulli(np.array([9.0]), np.array([3.0]))
    >>> value_interval(posterior, np.array([[2, 8]]), np.array([12]), 0.95).round(3).tolist()
    [[0.667, 0.833]]
    """
    tails, marginals = np.array([(1 - level) / 2, (1 + level) / 2]), beta_marginals(posterior)
    if marginals is not None:
        a, b = (np.asarray(parameter) for parameter in marginals)
        if sizes is None:
            return beta_interval(a, b, level)
        if a.ndim < counts.ndim:
            return pool_interval(counts[..., 1], counts.sum(-1), sizes, a, b, level)
        return pool_interval(counts, counts.sum(-1, keepdims=True), sizes[:, None], a, b, level)
    if sizes is None:
        return np.moveaxis(np.asarray(posterior.quantile(tails)), 0, -1)
    draws = _all_draws(posterior, counts, sizes)
    return np.moveaxis(np.quantile(draws, tails, axis=0, overwrite_input=True), 0, -1).astype(np.float64)


def pair_masses(
    posterior: Belief,
    counts: Int[np.ndarray, "*batch K 2"],
    sizes: Sizes,
    first: Int[np.ndarray, " P"],
    second: Int[np.ndarray, " P"],
    rope: float,
) -> Float[np.ndarray, "*batch P 3"]:
    """Compute P(D < -rope), P(|D| <= rope) and P(D > rope) for the accuracies of pairs of cells.

    Examples
    --------
    >>> from bayes_assess import BetaBernoulli
    >>> posterior = BetaBernoulli(np.array([280.0, 351.0]), np.array([203.0, 162.0]))  # [ABA] "Comparison"
    >>> first, second, nothing = np.array([0]), np.array([1]), np.zeros((2, 2), int)
    >>> pair_masses(posterior, nothing, None, first, second, 0.05).round(2).tolist()
    [[0.96, 0.04, 0.0]]
    """
    marginals = beta_marginals(posterior)
    if marginals is None:
        draws = _all_draws(posterior, counts, sizes)
        rounding = 0.0 if sizes is None else 1e-9  # of differences in a pool that are exactly the rope
        return _masses_of_draws(draws, first, second, rope + rounding)
    used, place = np.unique(np.stack([first, second]), return_inverse=True)
    first, second = place.reshape(2, -1)
    a, b = (np.asarray(parameter)[..., used] for parameter in marginals)
    if sizes is None:
        return np.asarray(rope_masses_beta(a[..., first], b[..., first], a[..., second], b[..., second], rope))
    return pool_rope_masses(counts[..., used, :], sizes[used], a, b, first, second, rope)


def _masses_of_draws(
    draws: Float[np.ndarray, "S *batch K"], first: Int[np.ndarray, " P"], second: Int[np.ndarray, " P"], rope: float
) -> Float[np.ndarray, "*batch P 3"]:
    """Compute the masses of pairs from draws: of very many pairs from fewer draws, and some pairs at a time."""
    draws = draws[: max(_FEWEST_DRAWS, _PAIR_DRAWS // max(len(first), 1))]
    step = max(1, _PAIR_NUMBERS // (draws.size // draws.shape[-1]))
    blocks = (slice(start, start + step) for start in range(0, max(len(first), 1), step))
    masses = [rope_masses_samples(draws[..., first[b]], draws[..., second[b]], rope) for b in blocks]
    return np.concatenate(masses, axis=-2)


def difference_in_halves(
    posterior: Any,
    counts: Int[np.ndarray, "*batch K 2"],
    sizes: Sizes,
    first: Int[np.ndarray, " P"],
    second: Int[np.ndarray, " P"],
) -> BetaBernoulli:
    """Return Beta variables with the means and variances of (1 + D) / 2, D the differences of pairs of cells.

    Given a part h of the posterior cells are independent, so that with m and v means and variances of D given h

        Var D = E v_h + Var m_h.

    Parameters
    ----------
    posterior : HierarchicalAccuracy or belief with `beta_marginals`, over (..., K)
    counts : (..., K, 2) integers
    sizes : (K,) integers or None
        As in `value_draws`.
    first, second : (P,) integers

    Returns
    -------
    BetaBernoulli over (..., P)

    Examples
    --------
    >>> from bayes_assess import BetaBernoulli
    >>> posterior, nothing = BetaBernoulli(np.array([280.0, 351.0]), np.array([203.0, 162.0])), np.zeros((2, 2), int)
    >>> half = difference_in_halves(posterior, nothing, None, np.array([0]), np.array([1]))
    >>> (2 * beta_interval(half.a, half.b) - 1).round(2).tolist()
    [[-0.16, -0.04]]
    """
    marginals = beta_marginals(posterior)
    parts, weight = ([x[..., None, :] for x in marginals], 1.0) if marginals else (posterior.parts, posterior.weight)
    a, b = (np.asarray(parameter) for parameter in parts)  # (..., H, K)
    total = a + b
    mean, variance = a / total, a * b / (total**2 * (total + 1))
    if sizes is not None:
        told, n = counts[..., None, :, :], np.maximum(sizes, 1)
        rest = sizes - told.sum(-1)
        filled = sizes > 0  # others have the value of the population
        mean = np.where(filled, (told[..., 1] + rest * mean) / n, mean)
        variance = np.where(filled, variance * rest * (total + rest) / n**2, variance)
    weight = np.asarray(weight)[..., None]
    step = max(1, _IN_CACHE // mean[..., 0].size)
    moments = []
    for some in (slice(start, start + step) for start in range(0, max(len(first), 1), step)):
        one, other = first[some], second[some]
        difference = mean[..., one] - mean[..., other]
        middle = (weight * difference).sum(-2)
        spread = variance[..., one] + variance[..., other] + (difference - middle[..., None, :]) ** 2
        moments.append(((1 + middle) / 2, (weight * spread).sum(-2) / 4))
    return BetaBernoulli.of_moments(*(np.concatenate(part, axis=-1) for part in zip(*moments, strict=True)))


def mean_absolute_gap(
    posterior: Belief, counts: Int[np.ndarray, "*batch K 2"], sizes: Sizes, score: Float[np.ndarray, " K"]
) -> Float[np.ndarray, "*batch K"]:
    """Compute the posterior mean of |accuracy - score| of every cell.

    Few unlabelled items are summed over exactly. Many agree in a share that is taken as a Beta variable with the mean
    and the variance of the beta-binomial distribution. Where the accuracies are no Beta variables, draws are taken.

    Parameters
    ----------
    posterior : Belief over (..., K)
    counts : (..., K, 2) integers
    sizes : (K,) integers or None
        Items of every cell, for the accuracy of the pool; None for that of the population.
    score : (K,) in [0, 1]

    Examples
    --------
    >>> from bayes_assess import BetaBernoulli
    >>> uniform = BetaBernoulli.from_prior(n_groups=1)
    >>> mean_absolute_gap(uniform, np.zeros((1, 2), int), None, np.array([0.5])).tolist()
    [0.25]
    """
    marginals = beta_marginals(posterior)
    if marginals is None:
        gap = np.abs(_all_draws(posterior, counts, sizes) - score).mean(0)
        if sizes is None:
            return gap
        known = (sizes > 0) & (counts.sum(-1) == sizes)  # where a mean of equal draws has a rounding error
        return np.where(known, np.abs(counts[..., 1] / np.maximum(sizes, 1) - score), gap)
    a, b = (np.asarray(parameter) for parameter in marginals)
    if sizes is None:
        return _beta_gap(a, b, np.broadcast_to(score, a.shape))
    labelled, successes = counts.sum(-1), counts[..., 1]
    a, b, rest, r, n, s = (np.ravel(x) for x in np.broadcast_arrays(a, b, sizes - labelled, successes, sizes, score))
    # |(r + K) / n - s| = (R / n) |K / R - c|
    target = (n * s - r) / np.maximum(rest, 1)
    gap = np.abs(r / np.maximum(n, 1) - s)
    few, many = (rest > 0) & (rest <= _EXACT_UP_TO), rest > _EXACT_UP_TO
    gap[few] = rest[few] / n[few] * _beta_binomial_gap(rest[few], a[few], b[few], target[few])
    total, share = a[many] + b[many], a[many] / (a[many] + b[many])
    matched = rest[many] * (total + 1) / (total + rest[many]) - 1
    gap[many] = rest[many] / n[many] * _beta_gap(share * matched, (1 - share) * matched, target[many])
    empty = n == 0
    gap[empty] = _beta_gap(a[empty], b[empty], s[empty])
    return gap.reshape(np.broadcast_shapes(counts.shape[:-1]))


def extended(
    interval: Float[np.ndarray, "*shape 2"], estimate: Float[np.ndarray, "*shape"] | float
) -> Float[np.ndarray, "*shape 2"]:
    """Extend equal-tailed intervals to the posterior means that lie outside of them.

    A mean follows a long tail that has less than half of the probability left out. The interval is the shortest that
    holds both, its posterior probability is at least what it was, and it has a width while anything is open: a mean
    lies strictly between what is possible.

    Examples
    --------
    >>> extended(np.array([[0.0, 0.0], [0.2, 0.4]]), np.array([0.01, 0.3])).tolist()
    [[0.0, 0.01], [0.2, 0.4]]
    """
    estimate = np.asarray(estimate)
    return np.stack([np.minimum(interval[..., 0], estimate), np.maximum(interval[..., 1], estimate)], axis=-1)


def _all_draws(posterior: Belief, counts: np.ndarray, sizes: Sizes) -> Float[np.ndarray, "S *batch K *O"]:
    """Draws of the cells' values, the same ones at every call, the fewer the more values there are.

    Very many are kept in 32 bits.
    """
    shape = np.shape(posterior.mean)
    n = int(np.clip(_NUMBERS // max(math.prod(shape), 1), _FEWEST_DRAWS, _MOST_DRAWS))
    blocks = value_draws(posterior, counts, sizes, 0, n)
    if n * math.prod(shape) <= _MANY_NUMBERS:
        return np.concatenate(list(blocks))
    draws, at = np.empty((n, *shape), np.float32), 0
    for block in blocks:
        draws[at : at + len(block)] = block
        at += len(block)
    return draws


def _blocks(n: int, numbers: int) -> Iterator[slice]:
    """Ranges of draws; `step` is the length of a full block, so that all are compiled once."""
    rows = min(n, max(1, _BLOCK_NUMBERS // max(numbers, 1)))
    return (slice(start, min(start + rows, n), rows) for start in range(0, n, rows))


def _beta_gap(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """E|X - c| for X ~ Beta(a, b), which is E(X - c) + 2 E max(c - X, 0); c may lie outside [0, 1]."""
    mean, inside = a / (a + b), np.clip(c, 0.0, 1.0)
    below = inside * special.betainc(a, b, inside) - mean * special.betainc(a + 1, b, inside)
    return np.where(c >= 1, c - mean, mean - c + 2 * below)


def _beta_binomial_gap(n: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """E|K / n - c| for K ~ BetaBinomial(n, a, b), summed."""
    k = np.arange(_EXACT_UP_TO + 1)
    n, a, b, c = (x[:, None] for x in (n, a, b, c))
    inside = k <= n
    count = np.where(inside, k, 0)
    log_p = special.betaln(count + a, n - count + b) - special.betaln(a, b)
    log_p -= np.log(n + 1) + special.betaln(n - count + 1, count + 1)
    return np.where(inside, np.exp(log_p) * np.abs(count / n - c), 0.0).sum(-1)
