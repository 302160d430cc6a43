"""Probabilities of labels in one order where the rate of every cell is a Beta variable, in 32 bits.

Of k events among n labels of a cell whose rate is Beta(nu m, nu (1 - m)),

    p = prod_{i<k} (m + i / nu) prod_{i<n-k} (1 - m + i / nu) / prod_{i<n} (1 + i / nu) :

no large numbers cancel, as they would among logarithms of Gamma functions.

Shapes: particles S, cells K.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float

N_FACTORS = 4  # that are multiplied; where there are more, those from the fifth on have their logarithm by a series


def log_likelihood(
    share: Float[Array, "S K"], strength: Float[Array, "S K"], k: Float[Array, " K"], n: Float[Array, " K"]
) -> Float[Array, " S"]:
    """Compute the log probability of labels in one order, cells' own rates integrated out, (S,)."""
    if not engine.is_eager():
        share, strength = share.T, strength.T
    return log_terms(share, 1 / strength, k, n).sum(0)


def log_terms(
    share: Array,
    scatter: Array,
    k: Float[Array, " K"],
    n: Float[Array, " K"],
    parts: Float[Array, "K P"] | None = None,
) -> Float[Array, "T S"]:
    """Compute terms that add up to the log probability of labels.

    Compiled, there is one for every cell, and cells come first: what is one cell's is the same for all particles of a
    vector, and sums over cells add up vectors.

    Parameters
    ----------
    share, scatter : (K, S), or (S, K) on NumPy
        m, and 1 / nu.
    k, n : (K,)
    parts : (K, P), optional
        Shares of every cell in parts whose sums are wanted.

    Returns
    -------
    (K, S), or (1, S) on NumPy, or (P, S) sums of parts
    """
    if engine.is_eager():
        return _eager_likelihood(share, scatter, k, n, parts)  # type: ignore[arg-type] - arrays are NumPy's
    k, n = k[:, None], n[:, None]
    complement, one, strength = 1 - share, xp.ones_like(share), 1 / scatter
    # One logarithm of all first factors: their product is no less than 1e-36, and no more than 1e4.
    ratio = _first_factors(share, scatter, k) * _first_factors(complement, scatter, n - k)
    seen = engine.log_of_normal(ratio / _first_factors(one, scatter, n))

    def more(start, number):
        rest = xp.maximum(number - N_FACTORS, 0.0)
        # Most blocks of cells have no further factors of one kind or other, and those of others are left out.
        further = lambda: _from_fifth(start, scatter, strength, rest)  # noqa: E731
        return engine.cond(rest.any(), further, lambda: xp.zeros_like(seen))

    terms = seen + more(share, k) + more(complement, n - k) - more(one, n)
    return terms if parts is None else xp.matmul(parts.T, terms, precision="highest")


def _first_factors(
    start: Float[Array, "K S"], step: Float[Array, "K S"], n: Float[Array, "K 1"]
) -> Float[Array, "K S"]:
    """Compute start (start + step) ... of `n` factors, or of the first four where there are more."""
    product = xp.where(n > 0, start, 1.0)
    for i in range(1, N_FACTORS):
        product = xp.where(n > i, product * (start + i * step), product)
    return product


def _from_fifth(start: Array, step: Array, inverse: Array, rest: Array) -> Array:
    """Compute log of the factors from the fifth on by Stirling's series, log Gamma(y + rest) - log Gamma(y)."""
    first, last = start + N_FACTORS * step, start + (N_FACTORS + rest) * step  # y and y + rest, in steps
    from_first, from_last = 1 / first, 1 / last
    below, above = step * from_first, step * from_last
    series = (1 / 12 - above * above / 360) * above - (1 / 12 - below * below / 360) * below
    # log (1 + x) by the logarithm of 1 + x as it is rounded, and what rounding has left out: faster than log1p.
    rise = last * from_first
    log_rise = engine.log_of_normal(rise) + (rest * below - (rise - 1)) * (first * from_last)
    return (first * inverse - 0.5) * log_rise + rest * (engine.log_of_normal(last) - 1) + series


def _eager_likelihood(
    share: Float[np.ndarray, "S K"],
    scatter: Float[np.ndarray, "S K"],
    k: Float[np.ndarray, " K"],
    n: Float[np.ndarray, " K"],
    parts: Float[np.ndarray, "K P"] | None,
) -> Float[Array, "P S"]:
    """Compute sums without the factors that are not there: most cells have few labels, and of one kind."""

    def summed(terms, cells: slice | np.ndarray = slice(None)):
        return terms.sum(0, keepdims=True) if parts is None else engine.product(parts[cells].T, terms)

    share, scatter = np.ascontiguousarray(share.T), np.ascontiguousarray(scatter.T)  # some cells are some rows
    complement, one = 1 - share, np.ones_like(share)
    seen = summed(np.log(_few(complement, scatter, n - k) / _few(one, scatter, n)))
    with_events = np.flatnonzero(k > 0)
    if len(with_events):
        seen += summed(np.log(_few(share[with_events], scatter[with_events], k[with_events])), with_events)
    for start, number, sign in ((share, k, 1), (complement, n - k, 1), (one, n, -1)):
        many = np.flatnonzero(number > N_FACTORS)
        if len(many):
            step = scatter[many]
            rest = number[many, None] - N_FACTORS
            seen += sign * summed(_from_fifth(start[many], step, 1 / step, rest), many)
    return seen


def _few(
    start: Float[np.ndarray, "K S"], step: Float[np.ndarray, "K S"], n: Float[np.ndarray, " K"]
) -> Float[np.ndarray, "K S"]:
    """Compute the product of the first four factors, or of as many as there are."""
    product = np.where(n[:, None] > 0, start, np.float32(1))
    for i in range(1, N_FACTORS):
        more = np.flatnonzero(n > i)
        if len(more):
            product[more] *= start[more] + np.float32(i) * step[more]
    return product
