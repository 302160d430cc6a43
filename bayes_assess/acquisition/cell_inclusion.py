"""Inclusion probabilities, and samples of fixed size or of independent items, on cells, in compiled steps.

Of items see `acquisition.poisson`.

Cells are few, so that everything is a sort and some cumulated sums.
"""

from __future__ import annotations

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int


@any_engine
def cell_inclusion(
    deviation: Float[Array, " K"], size: Int[Array, " K"], budget: Int[Array, ""] | float
) -> Float[Array, " K"]:
    """Choose the inclusion probabilities of least variance, min(1, h / tau), as `inclusion_probabilities` does.

    Parameters
    ----------
    deviation : (K,)
        h of one item of every cell, at least 0.
    size : (K,) integers
        Items of every cell.
    budget : float
        Expected labels, at most the number of items.

    Returns
    -------
    (K,) probabilities of one item; those of cells without items say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> cell_inclusion(np.array([6.0, 2.0, 1.0]), np.array([1, 1, 2]), 2).tolist()
    [1.0, 0.5, 0.25]
    >>> cell_inclusion(np.array([1.0, 0.0]), np.array([10, 20]), 12).tolist()
    [1.0, 0.1]
    """
    h = xp.where(size > 0, xp.asarray(deviation, xp.float64), 0.0)
    h = h / xp.maximum(h.max(), xp.finfo(xp.float64).tiny)
    n = xp.asarray(size, xp.float64)
    order = xp.argsort(-h, stable=True)
    ordered, mass = h[order], (n * h)[order]
    # With the first j cells saturated, the others share the rest of the budget in proportion to h.
    saturated = xp.concatenate([xp.zeros(1), xp.cumsum(n[order])])
    mass_left = xp.concatenate([xp.cumsum(mass[::-1])[::-1], xp.zeros(1)])
    rest = budget - saturated
    tau = mass_left / xp.where(rest > 0, rest, 1.0)
    following = xp.append(ordered, 0.0)
    possible = (rest > 0) & (following <= tau) & (mass_left > 0)
    filled = xp.minimum(h / xp.where(possible.any(), tau[xp.argmax(possible)], 1.0), 1.0)
    # More labels than items that can matter: the others share what is left.
    positive, others = (n * (h > 0)).sum(), (n * (h <= 0)).sum()
    spread = xp.where(h > 0, 1.0, xp.clip((budget - positive) / xp.maximum(others, 1.0), 0.0, 1.0))
    return xp.where(budget >= positive, spread, filled)


@any_engine
def systematic_cells(
    start: Float[Array, ""] | float, expected: Float[Array, " K"], size: Int[Array, " K"], n: Int[Array, ""] | int
) -> Int[Array, " K"]:
    """Draw `n` items from cells, each as many as expected up to less than one, by systematic sampling.

    With the cumulated expectations E_k and one uniform number u, cell k gives n_k = floor(E_k + u) - floor(E_{k-1} + u)
    items (W. G. Madow, "On the theory of systematic sampling, II", Annals of Mathematical Statistics 20, 1949). With
    cells in the order of their scores the sample is spread over the scores.

    Parameters
    ----------
    start : float in [0, 1)
        Uniform.
    expected : (K,)
        Items expected from every cell; they sum to `n` up to rounding.
    size : (K,) integers
        Items of every cell, of which no more are taken.
    n : int

    Examples
    --------
    >>> import numpy as np
    >>> systematic_cells(0.6, np.array([0.5, 2.0, 0.25, 0.25]), np.array([3, 2, 1, 1]), 3).tolist()
    [1, 2, 0, 0]
    """
    upto = xp.cumsum(xp.asarray(expected, xp.float64))
    upto = upto * (n / xp.maximum(upto[-1], xp.finfo(xp.float64).tiny))
    # A start that rounding takes to 1 would end one item too late.
    ends = engine.at(xp.minimum(xp.floor(upto + start), n).astype(xp.int64))[-1].set(n)
    counts = xp.clip(xp.diff(ends, prepend=0), 0, size)
    # Rounding can take an item too many from a cell that is taken whole; others take its place.
    spare = size - counts
    before = xp.cumsum(spare) - spare
    return counts + xp.clip(n - counts.sum() - before, 0, spare)


@any_engine
def independent_cells(
    key: PRNGKey, inclusion: Float[Array, " K"], size: Int[Array, " K"], most: int
) -> Int[Array, " K"]:
    """Draw every item of the cells on its own, and return how many of each cell were drawn ([SEME] sec. 3).

    Parameters
    ----------
    key : key
    inclusion : (K,) in [0, 1]
        Probability of an item of every cell.
    size : (K,) integers
    most : int
        Items in all, above which those of the last cells are left out; so many that it does not happen.

    Examples
    --------
    >>> import jax, numpy as np
    >>> independent_cells(jax.random.key(0), np.array([1.0, 0.0, 0.5]), np.array([3, 2, 0]), 9).tolist()
    [3, 0, 0]
    """
    b, n = xp.asarray(inclusion, xp.float64)[:, None], xp.asarray(size, xp.int64)[:, None]
    k = xp.arange(most + 1)
    rest = xp.maximum(n - k, 0)
    ways = engine.gammaln(n + 1.0) - engine.gammaln(k + 1.0) - engine.gammaln(rest + 1.0)
    chance = xp.where(k <= n, xp.exp(ways + engine.xlogy(k, b) + engine.xlog1py(rest, -b)), 0.0)
    # Quantiles of the binomial distribution.
    counts = (xp.cumsum(chance, axis=1) <= engine.random.uniform(key, (len(n), 1))).sum(1)
    counts = xp.minimum(counts, n[:, 0])
    return xp.clip(counts, 0, xp.maximum(most - (xp.cumsum(counts) - counts), 0))
