"""Gamma draws in bulk: a vectorised Marsaglia-Tsang sampler, exact in distribution for any positive parameter.

``jax.random.gamma`` runs one rejection loop per element. Here all elements propose together once, and the few that
were rejected are then served row by row: in every round each row of some dozens of elements serves one.

With d = alpha - 1/3, t = 1 + x / sqrt(9 d) and x ~ N(0, 1), the proposal d t^3 is accepted with probability
exp(h), h = x^2 / 2 + d (1 - t^3 + 3 log t) (Marsaglia and Tsang 2000, "A simple method for generating gamma
variables"). Writing e = t - 1, h = -3 d int_0^e s^3 / (1 + s) ds, which small e takes from its series: there the
closed form would subtract numbers of the size of d.

Draws have the precision of the parameters. 32-bit ones cost less than half: one call of the generator serves normal and
uniform variable, and the functions of them are cheaper. Their distribution is right to some 1e-5; that of 64-bit
ones is exact, up to rounding.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float

_ROW = 64  # elements of a row, at most: as many as bits
# Smaller parameters count as this one: below it U^(1/alpha) leaves the range of floats even in logarithms.
_LEAST_ALPHA = {np.dtype(np.float64): 1e-300, np.dtype(np.float32): 1e-30}
_SERIES = (1 / 4, -1 / 5, 1 / 6, -1 / 7, 1 / 8, -1 / 9)


def standard_gamma(
    key: PRNGKey, alpha: Float[Array, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Draw one Gamma(alpha, 1) variable per element, as a pair; to be called under 64-bit types.

    Parameters
    ----------
    key : PRNG key
    alpha : array of 64-bit or 32-bit floats, positive

    Returns
    -------
    x, boost : arrays of the same shape and type
        The variable is x exp(boost), x > 0 of an ordinary size. Far below alpha = 1 it underflows, so that ratios
        of such variables must be taken with the difference of their boosts.
    """
    alpha = xp.maximum(alpha, _LEAST_ALPHA[alpha.dtype])
    small = alpha < 1
    d = xp.where(small, alpha + 1, alpha) - 1 / 3
    t, u = _gamma_cube_root(key, d)
    # Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha); 1 - u > 0 keeps the logarithm finite.
    return d * t**3, xp.where(small, xp.log1p(-u) / alpha, 0.0)


def _gamma_cube_root(key: PRNGKey, d: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...]]:
    """Return t with d t^3 ~ Gamma(d + 1/3, 1), and an independent uniform variable in [0, 1)."""
    n_rows = max(1, -(-d.size // _ROW))
    width = -(-d.size // n_rows)
    rows = xp.pad(d.ravel(), (0, n_rows * width - d.size), constant_values=1.0).reshape(n_rows, width)
    key_first, key_again = engine.random.split(key)
    t, u, accepted = _propose(key_first, rows)
    one, row = xp.uint64(1), xp.arange(n_rows)
    rejected = xp.where(accepted, xp.uint64(0), one << xp.arange(width, dtype=xp.uint64)).sum(1)  # a bit per element

    def serve_one_per_row(carry):
        i, t, u, rejected = carry
        lowest = rejected & (~rejected + one)
        element = xp.where(rejected > 0, xp.bitwise_count(lowest - one), 0).astype(int)
        t_try, u_try, accepted = _propose(engine.random.fold_in(key_again, i), rows[row, element])
        accepted = accepted & (rejected > 0)
        t = engine.at(t)[row, element].set(xp.where(accepted, t_try, t[row, element]))
        u = engine.at(u)[row, element].set(xp.where(accepted, u_try, u[row, element]))
        return i + 1, t, u, xp.where(accepted, rejected ^ lowest, rejected)

    _, t, u, _ = engine.while_loop(lambda carry: carry[3].any(), serve_one_per_row, (0, t, u, rejected))
    return t.ravel()[: d.size].reshape(d.shape), u.ravel()[: d.size].reshape(d.shape)


def _propose(key: PRNGKey, d: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...], Bool[Array, ...]]:
    """One proposal per element: its t, what is left of its uniform, and whether it is accepted."""
    x, u = _normal_and_uniform(key, d)
    t, acceptance = _acceptance(x, d)
    accepted = u < acceptance
    # Given acceptance, u is uniform below `acceptance`: their ratio is a fresh uniform, independent of x.
    return t, xp.where(accepted, u / xp.where(accepted, acceptance, 1.0), 0.0), accepted


def _acceptance(x: Float[Array, ...], d: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...]]:
    """Return t of normal variables, and the probability of taking it."""
    e = x / xp.sqrt(9 * d)
    t = 1 + e
    closed = 0.5 * x * x + d * (1 - t**3 + 3 * xp.log1p(xp.maximum(e, -1 + 1e-12)))
    series = -3 * d * e**4 * xp.polyval(xp.array(_SERIES[::-1], d.dtype), e)
    near = xp.abs(e) < (0.01 if d.dtype == xp.float64 else 0.1)
    return t, xp.where(t > 0, xp.exp(xp.minimum(xp.where(near, series, closed), 0.0)), 0.0)


def _normal_and_uniform(key: PRNGKey, d: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...]]:
    """One standard normal and one uniform variable in [0, 1) per element of `d`, of its precision."""
    if d.dtype == xp.float64:
        key_normal, key_uniform = engine.random.split(key)
        return engine.random.normal(key_normal, d.shape), engine.random.uniform(key_uniform, d.shape)
    bits = engine.random.bits(key, d.shape, xp.uint64)  # costs the generator no more than 32 of them
    signed = (bits >> xp.uint64(32)).astype(xp.uint32).view(xp.int32)
    least = xp.finfo(d.dtype).eps / 2
    centred = xp.clip((signed.astype(d.dtype) + 0.5) * 2.0**-31, -1 + least, 1 - least)
    uniform = ((bits & xp.uint64(0xFFFFFFFF)) >> xp.uint64(8)).astype(d.dtype) * 2.0**-24
    return np.sqrt(2).astype(d.dtype) * engine.erf_inv(centred), uniform
