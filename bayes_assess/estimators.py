"""Estimates and posterior draws of a finite pool: labelled items as they are, the others by the posterior.

Of the n items of a cell N are labelled. What the other R = n - N will show is drawn from the posterior predictive
law, so that estimates and intervals close in on the exact answer as labels come in.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy import special

from bayes_assess.models import BetaBernoulli, DirichletConfusion

_BLOCK_NUMBERS = 2_000_000  # drawn at a time
_EXACT_UP_TO = 32  # unlabelled items of a cell, up to which their law is summed exactly


def accuracy_draws(
    posterior: BetaBernoulli,
    counts: Int[np.ndarray, "*batch K 2"],
    size: Int[np.ndarray, " K"] | None,
    seed: int,
    n: int,
) -> Iterator[Float[np.ndarray, "S *batch K"]]:
    """Draw the accuracies of cells, some draws at a time.

    Parameters
    ----------
    posterior : BetaBernoulli over (..., K)
    counts : (..., K, 2) integers
        Labelled items that disagree and that agree with their predictions.
    size : (K,) integers or None
        Items of every cell, for the accuracy of the pool; None for that of the population.
    seed : int
    n : int
        Draws in all.

    Yields
    ------
    (S, ..., K) draws; a cell without items has those of the population.

    Examples
    --------
    >>> posterior = BetaBernoulli.from_prior(n_groups=2).update([1, 0], [1, 0])
    >>> counts, size = np.array([[0, 1], [0, 0]]), np.array([1, 5])
    >>> draws = np.concatenate(list(accuracy_draws(posterior, counts, size, seed=0, n=100)))
    >>> draws.shape, draws[:, 0].min()  # the only item of the first cell is known
    ((100, 2), np.float64(1.0))
    """
    rng = np.random.default_rng(seed)
    labelled, successes = counts.sum(-1), counts[..., 1]
    for i, rows in enumerate(_blocks(n, np.asarray(posterior.a).size)):
        key = jax.random.fold_in(jax.random.key(seed), i)
        block = np.array(posterior.sample(key, rows.step)[: len(range(rows.start, rows.stop))])
        if size is not None:
            rest = rng.binomial(size - labelled, block)
            np.divide(successes + rest, size, out=block, where=np.broadcast_to(size > 0, block.shape))
        yield block


def cost_draws(
    posterior: DirichletConfusion,
    counts: Int[np.ndarray, "*batch K O"],
    size: Int[np.ndarray, " K"] | None,
    cost: Float[np.ndarray, "K O"],
    seed: int,
    n: int,
) -> Iterator[Float[np.ndarray, "S *batch K"]]:
    """Draw the cost of every predicted class, some draws at a time.

    Parameters
    ----------
    posterior : DirichletConfusion over (..., K, O)
    counts : (..., K, O) integers
        Labelled items by outcome.
    size : (K,) integers or None
        Items of every predicted class, for the cost in the pool; None for that in the population.
    cost : (K, O)
        Cost of every outcome. Rows = predicted class.
    seed : int
    n : int
        Draws in all.

    Yields
    ------
    (S, ..., K) mean costs per item; a class without items has those of the population.

    Examples
    --------
    >>> posterior = DirichletConfusion.from_prior(n_predictions=1, n_classes=2).update([[2, 2]])
    >>> cost, counts = np.array([[0.0, 3.0]]), np.array([[2, 2]])
    >>> draws = np.concatenate(list(cost_draws(posterior, counts, np.array([4]), cost, seed=0, n=10)))
    >>> np.unique(draws).tolist()  # everything is labelled
    [1.5]
    """
    rng = np.random.default_rng(seed)
    labelled, known = counts.sum(-1), (counts * cost).sum(-1)
    for i, rows in enumerate(_blocks(n, np.asarray(posterior.alpha).size)):
        key = jax.random.fold_in(jax.random.key(seed), i)
        theta = np.asarray(posterior.sample(key, rows.step)[: len(range(rows.start, rows.stop))])
        if size is None:
            yield (theta * cost).sum(-1)
            continue
        # Rounding may carry the sum of a row's probabilities past 1, which multinomial draws refuse.
        rest = rng.multinomial(size - labelled, theta / np.maximum(theta.sum(-1, keepdims=True), 1.0))
        total = known + (rest * cost).sum(-1)
        yield np.where(size > 0, total / np.maximum(size, 1), (theta * cost).sum(-1))


def mean_absolute_gap(
    posterior: BetaBernoulli,
    counts: Int[np.ndarray, "*batch K 2"],
    size: Int[np.ndarray, " K"] | None,
    score: Float[np.ndarray, " K"],
) -> Float[np.ndarray, "*batch K"]:
    """Compute the posterior mean of |accuracy - score| of every cell.

    Few unlabelled items are summed over exactly. Many agree in a share that is taken as a Beta variable with the mean
    and the variance of the beta-binomial law.

    Parameters
    ----------
    posterior : BetaBernoulli over (..., K)
    counts : (..., K, 2) integers
    size : (K,) integers or None
        Items of every cell, for the accuracy of the pool; None for that of the population.
    score : (K,) in [0, 1]

    Examples
    --------
    >>> uniform = BetaBernoulli.from_prior(n_groups=1)
    >>> mean_absolute_gap(uniform, np.zeros((1, 2), int), None, np.array([0.5])).tolist()
    [0.25]
    """
    a, b = np.asarray(posterior.a), np.asarray(posterior.b)
    if size is None:
        return _beta_gap(a, b, np.broadcast_to(score, a.shape))
    labelled, successes = counts.sum(-1), counts[..., 1]
    a, b, rest, r, n, s = (np.ravel(x) for x in np.broadcast_arrays(a, b, size - labelled, successes, size, score))
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
    kept = np.where(inside, k, 0)
    log_p = special.betaln(kept + a, n - kept + b) - special.betaln(a, b)
    log_p -= np.log(n + 1) + special.betaln(n - kept + 1, kept + 1)
    return np.where(inside, np.exp(log_p) * np.abs(kept / n - c), 0.0).sum(-1)
