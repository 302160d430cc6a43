"""What labels leave for a ratio of sums over the pool: its least and its greatest value, for certain."""

from __future__ import annotations

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int


def certain_bounds(
    f: Float[Array, "*batch K O"],
    g: Float[Array, "*batch K O"],
    counts: Int[Array, "*batch K O"],
    unlabelled: Int[Array, "*batch K"],
    low: Float[Array, "*batch"] | float = 0.0,
    high: Float[Array, "*batch"] | float = 1.0,
) -> Float[Array, "*batch 2"]:
    """Compute the least and the greatest theta that the labels of the other items could make.

    Where these labels could leave nothing to divide by, such as no positive for a recall, theta may also be 0, which
    is what 0 / 0 counts as in this package; where nothing can ever be divided by, theta is 0.

    The least ratio is the root of sum_labelled h + sum_c U_c min_y h_cy, which falls with theta. Newton's steps from
    the right, theta <- sum f / sum g over the labels that minimise h, reach it after finitely many (Dinkelbach 1967).

    Parameters
    ----------
    f, g, counts, unlabelled
        As for `betting.update`, of all labels that are known now: items that are handed out are unlabelled. Leading
        axes are of campaigns, or of ratios.
    low, high : floats
        Where theta lies for certain.

    Examples
    --------
    >>> import numpy as np
    >>> f, g = np.array([[0.0, 1.0]]), np.ones((1, 2))
    >>> with engine.eager():
    ...     certain_bounds(f, g, np.array([[1, 2]]), np.array([1])).tolist()
    [0.5, 0.75]
    """
    return _bounds(f, g, counts, unlabelled, low, high)


@engine.jit
def _bounds(f, g, counts, unlabelled, low, high) -> Float[Array, "*batch 2"]:
    low, high = (xp.asarray(x, xp.result_type(float)) for x in (low, high))
    known_g = (counts * g).sum((-2, -1))

    def least(f, low, high):
        known_f = (counts * f).sum((-2, -1))

        def newton(theta):
            h = f - theta[..., None, None] * g
            chosen = xp.argmin(h, -1)[..., None] == xp.arange(h.shape[-1])
            sum_f = known_f + (unlabelled * xp.where(chosen, f, 0.0).sum(-1)).sum(-1)
            sum_g = known_g + (unlabelled * xp.where(chosen, g, 0.0).sum(-1)).sum(-1)
            root = xp.where(sum_g > 0, sum_f / xp.where(sum_g > 0, sum_g, 1), xp.where(sum_f < 0, low, theta))
            return xp.maximum(root, low)

        def body(pair):
            theta, before = pair
            return xp.where(theta < before, newton(theta), theta), theta

        start = high + xp.zeros_like(known_f + known_g)
        theta, before = engine.while_loop(lambda pair: xp.any(pair[0] < pair[1]), body, (newton(start), start))
        return xp.minimum(theta, before)

    ends = xp.stack([least(f, low, high), -least(-f, -high, -low)], -1)
    unknown, zero = (unlabelled > 0)[..., None], xp.clip(xp.zeros_like(known_g), low, high)
    nothing = known_g == 0
    may_be_empty = nothing & ~(unknown & (g > 0)).all(-1).any(-1)
    is_empty = nothing & ~(unknown & (g > 0)).any((-2, -1))
    with_zero = xp.stack([xp.minimum(ends[..., 0], zero), xp.maximum(ends[..., 1], zero)], -1)
    return xp.where(is_empty[..., None], zero[..., None], xp.where(may_be_empty[..., None], with_zero, ends))
