"""How one more label moves the masses of a ROPE comparison of two Beta distributions, without the masses themselves.

A label of either group moves P(theta_1 - theta_2 > eps) by an integral over the line theta_1 - theta_2 = eps, of the
product of both densities (see `_rope_quadrature`): one-dimensional, smooth, and hundreds of times cheaper than the
masses. A campaign that knows its masses once can therefore carry them along.

With x = eps + (1 - eps) t, y = x - eps and t = 1 / (1 + exp(-z)), the product is analytic in z up to the distance pi
and falls off exponentially. The trapezoidal rule on z = c + w sinh(u), with c the peak and w its width, then
converges geometrically, whether the distribution is nearly normal or has a long tail.
"""

from __future__ import annotations

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models._numerics.special import log_beta

_NODES = 64
_NEWTON_STEPS = 8
_CUT = 28.0  # exp(-28) is below 1e-12


def rope_moves(a: Float[Array, " 2"], b: Float[Array, " 2"], eps: Float[Array, ""] | float) -> Float[Array, "2 2 3"]:
    """Compute what one more label of either group adds to the masses of D = theta_1 - theta_2; under 64-bit types.

    Parameters
    ----------
    a, b : (2,)
        Parameters of both groups' Beta distributions. The changes are within 1e-10 where all are at least 0.1, within
        1e-3 at 0.003, where the distribution all but sits on the ends.
    eps : scalar in [0, 1)

    Returns
    -------
    (2, 2, 3) changes: axes group, outcome (0: disagreement, 1: agreement), and mass of D < -eps, |D| <= eps, D > eps.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> with jax.enable_x64(True):
    ...     moves = jax.jit(rope_moves)(jnp.ones(2), jnp.ones(2), 0.0)
    >>> round(float(moves[0, 1, 2]), 4)  # an agreement in group 1: P(D > 0) from 1/2 to 2/3
    0.1667
    """
    both_ways = engine.vmap(_line_integrals, (0, 0, 0, 0, None))  # compiles faster than two calls
    (above_1, below_2), (above_2, below_1) = both_ways(a, b, a[::-1], b[::-1], eps)
    above = xp.stack([xp.stack([-above_1 / b[0], above_1 / a[0]]), xp.stack([above_2 / b[1], -above_2 / a[1]])])
    below = xp.stack([xp.stack([below_1 / b[0], -below_1 / a[0]]), xp.stack([-below_2 / b[1], below_2 / a[1]])])
    return xp.stack([below, -(below + above), above], axis=-1)


def _line_integrals(a1, b1, a2, b2, eps) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Integrate f_1(x) f_2(x - eps) times x (1 - x), and times y (1 - y) with y = x - eps."""
    rest = 1 - eps
    center, width = _peak(a1 - 0.5, b1 + 0.5, a2 + 0.5, b2 - 0.5, eps)
    # The slowest decay on either side is that of t^a2 and (1 - t)^b1.
    left = xp.arcsinh(_CUT / (a2 * width) + 8)
    right = xp.arcsinh(_CUT / (b1 * width) + 8)
    step = (left + right) / (_NODES - 1)
    u = -left + step * xp.arange(_NODES)
    up = xp.exp(u)
    down = 1 / up
    z = center + 0.5 * width * (up - down)  # c + w sinh(u)
    t, s, log_1p = _logistic(z)
    log_t, log_s = xp.minimum(z, 0.0) - log_1p, xp.minimum(-z, 0.0) - log_1p
    x, v = eps + rest * t, eps + rest * s  # v = 1 - y
    log_x = xp.where(eps > 0, xp.log(x), log_t)
    log_v = xp.where(eps > 0, xp.log(v), log_s)
    log_rest = xp.log(rest)
    # f_1(x) f_2(y) dx/dz, with 1 - x = rest * s and y = rest * t
    log_product = (
        (a1 - 1) * log_x
        + (b1 - 1) * (log_rest + log_s)
        + (a2 - 1) * (log_rest + log_t)
        + (b2 - 1) * log_v
        + log_rest
        + log_t
        + log_s
        - log_beta(a1, b1)
        - log_beta(a2, b2)
    )
    weight = xp.exp(log_product) * (0.5 * step * width * rest * (up + down))  # dz / du = w cosh(u)
    return (weight * x * s).sum(), (weight * t * v).sum()


def _logistic(z: Float[Array, "*n"]) -> tuple[Float[Array, "*n"], Float[Array, "*n"], Float[Array, "*n"]]:
    """Return t = 1 / (1 + exp(-z)) and 1 - t, both to full precision, and log(1 + exp(-|z|))."""
    q = xp.exp(-xp.abs(z))
    small, large = q / (1 + q), 1 / (1 + q)
    return xp.where(z > 0, large, small), xp.where(z > 0, small, large), xp.log1p(q)


def _peak(p_x, p_s, p_t, p_v, eps) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Place and width of the maximum over z of t^p_t s^p_s x^p_x v^p_v, by Newton's method."""
    rest = 1 - eps

    def slopes(z):
        t, s, _ = _logistic(z)
        x, v = eps + rest * t, eps + rest * s
        q = t * s
        x1, v1 = rest * s * t / x, rest * s * t / v
        slope = p_t * s - p_s * t + p_x * x1 - p_v * v1
        bend = -(p_t + p_s) * q + p_x * x1 * (s - t - x1) - p_v * v1 * (s - t + v1)
        return slope, xp.minimum(bend, -1e-3 * (p_t + p_s) * xp.maximum(q, 1e-3))

    def newton(_, z):
        slope, bend = slopes(z)
        return z + xp.clip(-slope / bend, -2.0, 2.0)

    start = xp.log(p_t + xp.maximum(p_x, 0.0)) - xp.log(p_s + xp.maximum(p_v, 0.0))
    center = engine.fori_loop(0, _NEWTON_STEPS, newton, start)
    _, bend = slopes(center)
    return center, xp.minimum(1 / xp.sqrt(-bend), 2.0)
