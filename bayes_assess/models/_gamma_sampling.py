"""Gamma draws in bulk: a vectorised Marsaglia-Tsang sampler, exact in distribution for any positive parameter.

``jax.random.gamma`` runs one rejection loop per element. Here all elements propose together once, and the few that
were rejected are then served row by row: in every round each row of some dozens of elements serves one.

With d = alpha - 1/3, t = 1 + x / sqrt(9 d) and x ~ N(0, 1), the proposal d t^3 is accepted with probability
exp(h), h = x^2 / 2 + d (1 - t^3 + 3 log t) (Marsaglia and Tsang 2000, "A simple method for generating gamma
variables"). Writing e = t - 1, h = -3 d int_0^e s^3 / (1 + s) ds, which small e takes from its series: there the
closed form would subtract numbers of the size of d.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from bayes_assess._typing import PRNGKey

_ROW = 64  # elements of a row, at most


def standard_gamma(
    key: PRNGKey, alpha: Float[Array, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Draw one Gamma(alpha, 1) variable per element, as a pair; to be called under 64-bit types.

    Parameters
    ----------
    key : PRNG key
    alpha : array, positive

    Returns
    -------
    x, boost : arrays of the same shape
        The variable is x exp(boost), x > 0 of an ordinary size. Far below alpha = 1 it underflows, so that ratios
        of such variables must be taken with the difference of their boosts.
    """
    small = alpha < 1
    d = jnp.where(small, alpha + 1, alpha) - 1 / 3
    t, u = _gamma_cube_root(key, d)
    # Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha); 1 - u > 0 keeps the logarithm finite.
    return d * t**3, jnp.where(small, jnp.log1p(-u) / alpha, 0.0)


def _gamma_cube_root(key: PRNGKey, d: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...]]:
    """Return t with d t^3 ~ Gamma(d + 1/3, 1), and an independent uniform variable in [0, 1)."""
    n_rows = max(1, -(-d.size // _ROW))
    width = -(-d.size // n_rows)
    rows = jnp.pad(d.ravel(), (0, n_rows * width - d.size), constant_values=1.0).reshape(n_rows, width)
    key_first, key_again = jax.random.split(key)
    t, u, accepted = _propose(key_first, rows)
    place = jnp.arange(width)

    def serve_one_per_row(carry):
        i, t, u, todo = carry
        element = jnp.where(todo, place, width).min(axis=1, keepdims=True)  # the first; faster than argmax
        d_try = jnp.take_along_axis(rows, element, axis=1, mode="clip")
        t_try, u_try, accepted = _propose(jax.random.fold_in(key_again, i), d_try)
        here = (place == element) & accepted
        return i + 1, jnp.where(here, t_try, t), jnp.where(here, u_try, u), todo & ~here

    _, t, u, _ = lax.while_loop(lambda carry: carry[3].any(), serve_one_per_row, (0, t, u, ~accepted))
    return t.ravel()[: d.size].reshape(d.shape), u.ravel()[: d.size].reshape(d.shape)


def _propose(key: PRNGKey, d: Float[Array, ...]) -> tuple[Float[Array, ...], Float[Array, ...], Bool[Array, ...]]:
    """One proposal per element: its t, what is left of its uniform, and whether it is accepted."""
    key_normal, key_uniform = jax.random.split(key)
    x = jax.random.normal(key_normal, d.shape, jnp.float64)
    u = jax.random.uniform(key_uniform, d.shape, jnp.float64)
    e = x * lax.rsqrt(9 * d)
    t = 1 + e
    closed = 0.5 * x * x + d * (1 - t**3 + 3 * jnp.log1p(jnp.maximum(e, -1 + 1e-12)))
    series = -0.75 * d * e**4 * (1 - 0.8 * e)
    acceptance = jnp.exp(jnp.minimum(jnp.where(jnp.abs(e) < 1e-3, series, closed), 0.0))
    accepted = (t > 0) & (u < acceptance)
    # Given acceptance, u is uniform below `acceptance`: their ratio is a fresh uniform, independent of x.
    return t, jnp.where(accepted, u / jnp.where(accepted, acceptance, 1.0), 0.0), accepted
