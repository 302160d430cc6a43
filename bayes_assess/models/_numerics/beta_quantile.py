"""Quantiles of Beta distributions and of mixtures of them inside compiled code; on the host SciPy does the former.

On the scale z = logit x the density x^a (1 - x)^b / B(a, b) is log-concave for all a, b > 0, and so are its CDF F and
survival function S. Newton's method on log F (or log S, whichever is the smaller tail) therefore needs no bracket. For
a mixture it does: steps that leave it, or shrink too slowly, halve it instead.
"""

from __future__ import annotations

from bayes_assess._tools.axes import FloatGroups
from bayes_assess._tools.engine import betainc, log_sigmoid, ndtri, sigmoid, while_loop, xp
from bayes_assess._tools.shapes import Array, Float
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
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     round(float(beta_quantile(0.25, 2.0, 1.0)), 9)  # the CDF is x^2
    0.5
    """
    p, a, b = xp.broadcast_arrays(*(xp.asarray(x, xp.float64) for x in (p, a, b)))
    upper = p > 0.5
    tail = xp.where(upper, 1 - p, p)
    # Below, x is measured from the end of the smaller tail: mirrored where that is the upper one.
    a, b = xp.where(upper, b, a), xp.where(upper, a, b)
    sd = xp.sqrt(1 / a + 1 / b)
    z = xp.log(a) - xp.log(b) + ndtri(tail) * sd
    if start is not None:
        x = xp.clip(xp.broadcast_to(start, p.shape), 1e-16, 1 - 1e-16)
        z_start = xp.where(upper, -1.0, 1.0) * (xp.log(x) - xp.log1p(-x))
        z = xp.where(xp.abs(z_start - z) < _FAR_SDS * sd, z_start, z)
    log_norm, log_tail, reach = log_beta(a, b), xp.log(tail), _REACH * xp.minimum(sd, 1.0)

    def newton(carry):
        i, z, _ = carry
        mass = betainc(a, b, sigmoid(z))
        log_density = a * log_sigmoid(z) + b * log_sigmoid(-z) - log_norm
        step = (xp.log(mass) - log_tail) * mass * xp.exp(-log_density)
        step = xp.where(mass > 0, xp.clip(xp.nan_to_num(step, nan=0.0), -reach, reach), -reach / 2)
        z_new = xp.clip(z - step, -_Z_MAX, _Z_MAX)
        return i + 1, z_new, xp.abs(z_new - z)

    def going(carry):
        i, _, moved = carry
        return (i < _MAX_STEPS) & xp.any(moved > _TOLERANCE)

    _, z, _ = while_loop(going, newton, (0, xp.clip(z, -_Z_MAX, _Z_MAX), xp.full(p.shape, xp.inf)))
    return sigmoid(xp.where(upper, -z, z))


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
    >>> import jax, jax.numpy as jnp
    >>> with jax.enable_x64(True):  # the CDF is (x + x^2) / 2
    ...     x = mixture_quantile(jnp.array([0.375]), jnp.array([[1.0], [2.0]]), jnp.ones((2, 1)), jnp.full(2, 0.5))
    >>> round(float(x[0]), 9)
    0.5
    """
    shape = xp.broadcast_shapes(p.shape, a[..., 0, :].shape)
    upper = xp.broadcast_to(p > 0.5, shape)
    tail = xp.where(upper, 1 - p, p)
    # As above, x is measured from the end of the smaller tail.
    mirrored, w = upper[..., None, :], weight[..., None]
    a, b = xp.where(mirrored, b, a), xp.where(mirrored, a, b)
    log_norm, log_tail = log_beta(a, b), xp.log(tail)
    sd = xp.sqrt((w * (1 / a + 1 / b)).sum(-2))
    start = (w * (xp.log(a) - xp.log(b))).sum(-2) + ndtri(tail) * sd

    def step(carry):
        i, z, low, high, moved = carry
        at = z[..., None, :]
        mass = (w * betainc(a, b, sigmoid(at))).sum(-2)
        density = xp.exp(a * log_sigmoid(at) + b * log_sigmoid(-at) - log_norm)
        newton = z - (xp.log(mass) - log_tail) * mass / (w * density).sum(-2)
        low, high = xp.where(mass < tail, z, low), xp.where(mass < tail, high, z)
        newton = xp.clip(newton, -_Z_MAX, _Z_MAX)
        length = xp.abs(newton - z)
        good = (newton >= low) & (newton <= high) & (length < moved / 2)
        new = xp.where(length < _MIXTURE_TOLERANCE, z, xp.where(good, newton, (low + high) / 2))
        return i + 1, new, low, high, xp.abs(new - z)

    def going(carry):
        return (carry[0] < 2 * _MAX_STEPS) & xp.any(carry[-1] > _MIXTURE_TOLERANCE)

    ends = xp.full(shape, -_Z_MAX), xp.full(shape, _Z_MAX)
    start = xp.broadcast_to(xp.clip(start, -_Z_MAX, _Z_MAX), shape)
    _, z, *_ = while_loop(going, step, (0, start, *ends, xp.full(shape, xp.inf)))
    return sigmoid(xp.where(upper, -z, z))
