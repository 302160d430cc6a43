"""Quantiles of Beta distributions and of mixtures of them inside compiled code; on the host SciPy does the former.

On the scale z = logit x the density x^a (1 - x)^b / B(a, b) is log-concave for all a, b > 0, and so are its CDF F and
survival function S. Newton's method on log F (or log S, whichever is the smaller tail) therefore needs no bracket. For
a mixture it does: steps that leave it, or shrink too slowly, halve it instead.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import betainc, ndtri
from jaxtyping import Array, Float

from bayes_assess._tools.axes import FloatGroups
from bayes_assess.models._numerics.special import log_beta

_MAX_STEPS = 50
_TOLERANCE, _MIXTURE_TOLERANCE = 1e-10, 1e-12  # on z
_FAR_SDS = 8.0  # a start farther than this from the normal approximation is no help
_Z_MAX = 36.7  # beyond, x or 1 - x is lost to rounding
_REACH = 4.0  # in standard deviations or units of z; a longer step could end where the tail is below the least float


def beta_quantile(
    p: FloatGroups, a: FloatGroups, b: FloatGroups, start: FloatGroups | None = None
) -> Float[Array, "*shape"]:
    """Return x with I_x(a, b) = p; under 64-bit types.

    Parameters
    ----------
    p : probabilities in (0, 1)
    a, b : positive parameters
    start : optional
        First guess, such as the quantile before one more label.

    Returns
    -------
    Quantiles, to about 1e-10; those within 1e-16 of 0 or 1 stay at that distance.

    Examples
    --------
    >>> with jax.enable_x64(True):
    ...     round(float(beta_quantile(0.25, 2.0, 1.0)), 9)  # the CDF is x^2
    0.5
    """
    p, a, b = jnp.broadcast_arrays(*(jnp.asarray(x, jnp.float64) for x in (p, a, b)))
    upper = p > 0.5
    tail = jnp.where(upper, 1 - p, p)
    # Below, x is measured from the end of the smaller tail: mirrored where that is the upper one.
    a, b = jnp.where(upper, b, a), jnp.where(upper, a, b)
    sd = jnp.sqrt(1 / a + 1 / b)
    z = jnp.log(a) - jnp.log(b) + ndtri(tail) * sd
    if start is not None:
        x = jnp.clip(jnp.broadcast_to(start, p.shape), 1e-16, 1 - 1e-16)
        z_start = jnp.where(upper, -1.0, 1.0) * (jnp.log(x) - jnp.log1p(-x))
        z = jnp.where(jnp.abs(z_start - z) < _FAR_SDS * sd, z_start, z)
    log_norm, log_tail, reach = log_beta(a, b), jnp.log(tail), _REACH * jnp.minimum(sd, 1.0)

    def newton(carry):
        i, z, _ = carry
        mass = betainc(a, b, jax.nn.sigmoid(z))
        log_density = a * jax.nn.log_sigmoid(z) + b * jax.nn.log_sigmoid(-z) - log_norm
        step = (jnp.log(mass) - log_tail) * mass * jnp.exp(-log_density)
        step = jnp.where(mass > 0, jnp.clip(jnp.nan_to_num(step, nan=0.0), -reach, reach), -reach / 2)
        z_new = jnp.clip(z - step, -_Z_MAX, _Z_MAX)
        return i + 1, z_new, jnp.abs(z_new - z)

    def going(carry):
        i, _, moved = carry
        return (i < _MAX_STEPS) & jnp.any(moved > _TOLERANCE)

    _, z, _ = lax.while_loop(going, newton, (0, jnp.clip(z, -_Z_MAX, _Z_MAX), jnp.full(p.shape, jnp.inf)))
    return jax.nn.sigmoid(jnp.where(upper, -z, z))


def mixture_quantile(
    p: Float[Array, "*levels_batch G"],
    a: Float[Array, "*batch J G"],
    b: Float[Array, "*batch J G"],
    weight: Float[Array, "*batch J"],
) -> Float[Array, "*levels_batch G"]:
    """Return x with sum_j w_j I_x(a_j, b_j) = p; under 64-bit types.

    Parameters
    ----------
    p : probabilities in (0, 1), of a shape that (..., G) extends to
    a, b : (..., J, G), positive
        Parameters of J components.
    weight : (..., J)
        Weights of the components, which sum to 1.

    Returns
    -------
    Quantiles, to about 1e-12; those within 1e-16 of 0 or 1 stay at that distance.

    Examples
    --------
    >>> with jax.enable_x64(True):  # the CDF is (x + x^2) / 2
    ...     x = mixture_quantile(jnp.array([0.375]), jnp.array([[1.0], [2.0]]), jnp.ones((2, 1)), jnp.full(2, 0.5))
    >>> round(float(x[0]), 9)
    0.5
    """
    shape = jnp.broadcast_shapes(p.shape, a[..., 0, :].shape)
    upper = jnp.broadcast_to(p > 0.5, shape)
    tail = jnp.where(upper, 1 - p, p)
    # As above, x is measured from the end of the smaller tail.
    mirrored, w = upper[..., None, :], weight[..., None]
    a, b = jnp.where(mirrored, b, a), jnp.where(mirrored, a, b)
    log_norm, log_tail = log_beta(a, b), jnp.log(tail)
    sd = jnp.sqrt((w * (1 / a + 1 / b)).sum(-2))
    start = (w * (jnp.log(a) - jnp.log(b))).sum(-2) + ndtri(tail) * sd

    def step(carry):
        i, z, low, high, moved = carry
        at = z[..., None, :]
        mass = (w * betainc(a, b, jax.nn.sigmoid(at))).sum(-2)
        density = jnp.exp(a * jax.nn.log_sigmoid(at) + b * jax.nn.log_sigmoid(-at) - log_norm)
        newton = z - (jnp.log(mass) - log_tail) * mass / (w * density).sum(-2)
        low, high = jnp.where(mass < tail, z, low), jnp.where(mass < tail, high, z)
        newton = jnp.clip(newton, -_Z_MAX, _Z_MAX)
        length = jnp.abs(newton - z)
        good = (newton >= low) & (newton <= high) & (length < moved / 2)
        new = jnp.where(length < _MIXTURE_TOLERANCE, z, jnp.where(good, newton, (low + high) / 2))
        return i + 1, new, low, high, jnp.abs(new - z)

    def going(carry):
        return (carry[0] < 2 * _MAX_STEPS) & jnp.any(carry[-1] > _MIXTURE_TOLERANCE)

    ends = jnp.full(shape, -_Z_MAX), jnp.full(shape, _Z_MAX)
    start = jnp.broadcast_to(jnp.clip(start, -_Z_MAX, _Z_MAX), shape)
    _, z, *_ = lax.while_loop(going, step, (0, start, *ends, jnp.full(shape, jnp.inf)))
    return jax.nn.sigmoid(jnp.where(upper, -z, z))
