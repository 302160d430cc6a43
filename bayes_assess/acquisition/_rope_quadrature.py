"""P(theta_1 - theta_2 > eps) for two Beta distributions, and how a label moves it: one pass over a fixed set of nodes.

On the part of the square that counts, theta_1 = eps + (1 - eps) t and theta_2 + eps < theta_1. With h_1 the density
of theta_1 and h_2 that of theta_2 = (1 - eps) t, both on the scale z = logit t,

    P(theta_1 - theta_2 > eps) = int h_1(z) int_{-inf}^z h_2(z') dz' dz,

so panels of Gauss-Legendre nodes serve the outer and the inner integral at once, and no incomplete beta function is
evaluated. On the scale z both densities are analytic up to the distance pi from the real axis and fall off
exponentially, singular ends at 0 and 1 included. Panels therefore lie evenly around 0, grow geometrically farther out,
and close up around the peak of either density.

Since I_x(a + 1, b) = I_x(a, b) - x (1 - x) f(x) / a and I_x(a, b + 1) = I_x(a, b) + x (1 - x) f(x) / b, f the density
of Beta(a, b), a label more of either group moves the probability by an integral of the product of the densities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models._numerics.beta_kernel import log_beta_kernel

_ORDER = 16  # nodes of a panel
_LAST = 2600.0  # |z| where a tail of rate 0.01 has fallen below 1e-11
_NEAR = np.arange(0.0, 31.0, 2.0)
_HALF_EDGES = np.concatenate([_NEAR, np.geomspace(30.0, _LAST, 9)[1:]])
_EDGES = np.concatenate([-_HALF_EDGES[:0:-1], _HALF_EDGES])
# Around -log eps and log eps, where theta_2 + eps nears 1 and theta_1 leaves eps: beyond the even panels for tiny eps.
_TURN = np.array([-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0])
# Around a peak, in units of its width.
_PEAK = np.array([-32.0, -16.0, -8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0])


def _rule(order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1], and the matrix that integrates from 0 to every node."""
    x, w = np.polynomial.legendre.leggauss(order)
    basis = np.polynomial.legendre.legvander(x, order)
    # The interpolant of f has coefficients (2 k + 1) / 2 sum_i w_i P_k(x_i) f_i; its integral from -1 is closed form.
    coefficients = (np.arange(order) + 0.5)[:, None] * basis[:, :order].T * w
    antiderivative = np.empty((order, order))
    antiderivative[:, 0] = x + 1
    k = np.arange(1, order)
    antiderivative[:, 1:] = (basis[:, 2 : order + 1] - basis[:, : order - 1]) / (2 * k + 1)
    return (x + 1) / 2, w / 2, antiderivative @ coefficients / 2


_NODES, _WEIGHTS, _CUMULATE = _rule(_ORDER)


class Exceedance(NamedTuple):
    """P(theta_1 - theta_2 > eps), and what one label more adds to it."""

    now: Float[Array, ""]
    label_of_first: Float[Array, " 2"]  # change by a disagreement (b_1 + 1) and by an agreement (a_1 + 1) in group 1
    label_of_second: Float[Array, " 2"]  # likewise in group 2


def exceedance(
    a1: Float[Array, ""], b1: Float[Array, ""], a2: Float[Array, ""], b2: Float[Array, ""], eps: Float[Array, ""]
) -> Exceedance:
    """Compute P(theta_1 - theta_2 > eps), theta_i ~ Beta(a_i, b_i), and its changes; under 64-bit types.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     p = jax.jit(exceedance)(1.0, 1.0, 1.0, 1.0, 0.5)  # a corner triangle of the unit square
    >>> round(float(p.now), 10)
    0.125
    """
    log_eps, log_rest = xp.log(eps), xp.log1p(-eps)
    edges = _panel_edges(a1, b1, a2, b2, eps)
    width = xp.diff(edges)
    z = edges[:-1, None] + width[:, None] * xp.asarray(_NODES)
    log_t, log_u = engine.log_sigmoid(z), engine.log_sigmoid(-z)
    log_low, log_high = log_rest + log_t, log_rest + log_u
    # theta_1, 1 - theta_1, theta_2 and 1 - theta_2, each to full relative precision.
    log_x, log_1mx = xp.logaddexp(log_eps, log_low), log_high
    log_y, log_1my = log_low, xp.logaddexp(log_eps, log_high)
    # The kernels are x (1 - x) f(x); x and y move by (1 - eps) t (1 - t) per unit of z.
    log_step = log_low + log_u
    kernel_1 = xp.exp(log_beta_kernel(log_x, log_1mx, a1, b1))
    kernel_2 = xp.exp(log_beta_kernel(log_y, log_1my, a2, b2))
    step_1, step_2 = xp.exp(log_step - log_x - log_1mx), xp.exp(log_step - log_y - log_1my)
    h1 = kernel_1 * step_1 * width[:, None]
    h2 = kernel_2 * step_2 * width[:, None]
    weights = xp.asarray(_WEIGHTS)
    mass = h2 @ weights
    below = xp.cumsum(mass) - mass
    inside = h2 @ xp.asarray(_CUMULATE).T
    now = xp.sum((h1 * (below[:, None] + inside)) @ weights)
    first = xp.sum((kernel_1 * h2) @ weights)  # int x (1 - x) f_1(x) dF_2
    second = xp.sum((kernel_2 * h1) @ weights)
    return Exceedance(now, xp.stack([-first / b1, first / a1]), xp.stack([second / b2, -second / a2]))


def _panel_edges(a1, b1, a2, b2, eps) -> Float[Array, " P"]:
    log_eps = xp.log(eps)
    turn = xp.asarray(_TURN)
    around_1, around_2 = _peak_edges(a1, b1), _peak_edges(a2, b2)
    # theta_1 to t = (theta_1 - eps) / (1 - eps), theta_2 to t = theta_2 / (1 - eps); outside (0, 1) to an end.
    z1 = _log_or_end(engine.sigmoid(around_1) - eps) - engine.log_sigmoid(-around_1)
    z2 = engine.log_sigmoid(around_2) - _log_or_end(engine.sigmoid(-around_2) - eps)
    # Without a rope both are the logit itself, however near to 0 or 1.
    z1, z2 = xp.where(eps > 0, z1, around_1), xp.where(eps > 0, z2, around_2)
    edges = xp.concatenate([xp.asarray(_EDGES), log_eps + turn, turn - log_eps, z1, z2])
    return xp.sort(xp.clip(edges, -_LAST, _LAST))


def _log_or_end(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return xp.where(x > 0, xp.log(xp.where(x > 0, x, 1.0)), -_LAST)


def _peak_edges(a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, " E"]:
    # Where a < 1 the density on the logit scale is flat on one side; what must be resolved is its fall on the other.
    center = xp.log(xp.maximum(a, 1.0)) - xp.log(xp.maximum(b, 1.0))
    return center + xp.minimum(xp.sqrt(1 / a + 1 / b), 1.0) * xp.asarray(_PEAK)
