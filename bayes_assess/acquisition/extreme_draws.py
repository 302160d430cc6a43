"""Which arms hold the m smallest (or greatest) of independent Beta draws, without drawing most of them.

Thompson sampling for extreme groups needs the order of one draw per arm, not its values. So the posterior CDF of
every arm is kept on a grid of T accuracies. Arm g gets a uniform u_g, and its draw lies below grid point x_t exactly
if u_g <= F_g(x_t); a binary search over t finds the lowest interval that settles m arms. Only arms that share that
interval need their values, drawn from their posteriors restricted to it. The distribution of the result is that of full
draws. One more label moves one arm's CDF by a recurrence of O(T).

The grid x_t = sin^2(pi t / 2(T + 1)) is even on the scale on which Beta posteriors of equal counts are equally wide.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import FloatGroups, PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.models._numerics.special import log_beta

GRID_SIZE = 63  # T; one less than a power of two, for the binary search
_PROPOSALS = 4  # per arm and round, where values are needed

_POINTS = np.sin(np.pi * np.arange(1, GRID_SIZE + 1) / (2 * (GRID_SIZE + 1))) ** 2
_ENDS = np.concatenate([[0.0], _POINTS, [1.0]])


def grid_cdf(a: FloatGroups, b: FloatGroups) -> Float[Array, "T K"]:
    """Posterior CDF of every arm at the grid points; under 64-bit types.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> with jax.enable_x64(True):
    ...     round(float(grid_cdf(jnp.ones(1), jnp.ones(1))[31, 0]), 6)  # the middle of the grid is 1/2
    0.5
    """
    return engine.betainc(a, b, xp.asarray(_POINTS)[:, None])


def update_grid_cdf(
    cdf: Float[Array, "T K"],
    arm: Int[Array, ""],
    a: Float[Array, ""],
    b: Float[Array, ""],
    outcome: Int[Array, ""],
) -> Float[Array, "T K"]:
    """CDF after one more outcome of an arm whose parameters were a, b.

    I_x(a + 1, b) = I_x(a, b) - D / a and I_x(a, b + 1) = I_x(a, b) + D / b with D = x^a (1 - x)^b / B(a, b).
    """
    x = xp.asarray(_POINTS)
    d = xp.exp(a * xp.log(x) + b * xp.log1p(-x) - log_beta(a, b))
    return engine.at(cdf)[:, arm].add(xp.where(outcome > 0, -d / a, d / b))


def extreme_arms(
    key: PRNGKey,
    cdf: Float[Array, "T K"],
    a: FloatGroups,
    b: FloatGroups,
    available: Bool[Array, " K"],
    m: int,
    *,
    greatest: bool,
) -> Int[Array, " m"]:
    """Draw every available arm's accuracy and return the m arms with the smallest (greatest) draws.

    Parameters
    ----------
    key : PRNG key
    cdf : (T, K)
        From `grid_cdf` and `update_grid_cdf`.
    a, b : (K,)
        Posterior parameters.
    available : (K,) booleans
    m : int
    greatest : bool
        Whether the greatest draws are sought.

    Returns
    -------
    (m,) arms in no particular order; -1 in the last places if fewer than m are available.
    """
    key_uniform, key_inside = engine.random.split(key)
    u = engine.random.uniform(key_uniform, a.shape, xp.float64)
    wanted = xp.minimum(m, available.sum())

    def beyond(t):
        """Arms whose draws lie on the extreme side of end t of the intervals, t = 0..T+1."""
        row = cdf[xp.clip(t - 1, 0, GRID_SIZE - 1)]
        below = xp.where(t == 0, False, (t == GRID_SIZE + 1) | (u <= row))
        return available & (~below if greatest else below)

    def halve(_, bracket):
        few, enough = bracket
        middle = (few + enough) // 2
        suffices = beyond(middle).sum() >= wanted
        return xp.where(suffices, few, middle), xp.where(suffices, middle, enough)

    # Ends are counted from the extreme side inwards: `few` settles fewer than `wanted` arms, `enough` settles them.
    start = (GRID_SIZE + 1, 0) if greatest else (0, GRID_SIZE + 1)
    few, enough = engine.fori_loop(0, (GRID_SIZE + 1).bit_length() - 1, halve, start)
    sure = beyond(few)
    shared = beyond(enough) & ~sure
    undecided = (shared.sum() > wanted - sure.sum()) & (wanted > 0)
    value = _values_inside(key_inside, shared & undecided, a, b, xp.minimum(few, enough))
    value = xp.where(sure, xp.inf, xp.where(shared, value if greatest else -value, -xp.inf))
    if m == 1:
        return xp.where(wanted > 0, xp.argmax(value), -1)[None]
    value, arms = engine.top_k(value, m)
    return xp.where(xp.arange(m) < wanted, arms, -1)


def _values_inside(
    key: PRNGKey, arms: Bool[Array, " K"], a: FloatGroups, b: FloatGroups, interval: Int[Array, ""]
) -> Float[Array, " K"]:
    """Draw Beta(a, b) restricted to one interval of the grid for the arms marked, on a scale that keeps its ends apart.

    The scale is x inside, log x in the first interval and -log(1 - x) in the last: there draws may be closer to the
    end than floating-point numbers are to 0 or 1.
    """
    ends = xp.asarray(_ENDS)
    low, high = ends[interval], ends[interval + 1]
    place = xp.arange(arms.shape[0])

    def draw_next(carry):
        i, todo, value = carry
        arm = xp.argmax(todo)
        drawn, accepted = _propose_inside(engine.random.fold_in(key, i), a[arm], b[arm], low, high)
        here = (place == arm) & accepted
        return i + 1, todo & ~here, xp.where(here, drawn, value)

    carry = (0, arms, xp.zeros_like(a))
    return engine.while_loop(lambda carry: carry[1].any(), draw_next, carry)[2]


def _propose_inside(
    key: PRNGKey, a: Float[Array, ""], b: Float[Array, ""], low: Float[Array, ""], high: Float[Array, ""]
) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """Return the first accepted of a few proposals for one arm, and whether there was one.

    Inside, proposals are uniform under the greatest density of the interval. Where the interval ends at 0 the
    proposal x^(a - 1) takes the factor of the density that may be infinite there, and likewise at 1.
    """
    key_place, key_accept = engine.random.split(key)
    v = engine.random.uniform(key_place, (_PROPOSALS,), xp.float64)
    log_v = xp.log1p(-v)
    first, last = low == 0, high == 1
    log_x_first = xp.log(high) + log_v / a
    log_rest_last = xp.log1p(-low) + log_v / b
    x = xp.where(first, xp.exp(log_x_first), xp.where(last, -xp.expm1(log_rest_last), low + v * (high - low)))
    x = xp.clip(x, 1e-300, 1 - 1e-16)

    def log_density(x):
        return xp.where(first, 0.0, (a - 1) * xp.log(x)) + xp.where(last, 0.0, (b - 1) * xp.log1p(-x))

    # Over an interval the logarithm of the density, less the factor proposed from, is greatest at its mode or an end.
    mode = xp.where((a > 1) & (b > 1), (a - 1) / xp.maximum(a + b - 2, 1e-12), low)
    inner_low, inner_high = xp.maximum(low, 1e-300), xp.minimum(high, 1 - 1e-16)
    peaks = xp.stack([inner_low, inner_high, xp.clip(mode, inner_low, inner_high)])
    accepted = xp.log1p(-engine.random.uniform(key_accept, v.shape)) <= log_density(x) - log_density(peaks).max()
    value = xp.where(first, log_x_first, xp.where(last, -log_rest_last, x))
    return value[xp.argmax(accepted)], accepted.any()
