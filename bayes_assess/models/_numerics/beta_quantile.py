"""Beta quantiles inside compiled code; on the host SciPy does this.

On the scale z = logit x the density x^a (1 - x)^b / B(a, b) is log-concave for all a, b > 0, and so are its CDF F and
survival function S. Newton's method on log F (or log S, whichever is the smaller tail) therefore needs no bracket.
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
_TOLERANCE = 1e-10  # on z
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
