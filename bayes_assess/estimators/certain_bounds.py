"""What labels leave for a ratio of sums over the pool: its least and its greatest value, for certain."""

from __future__ import annotations

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int, Scalar


def certain_bounds(
    f: Float[Array, "K O"],
    g: Float[Array, "K O"],
    counts: Int[Array, "K O"],
    unlabelled: Int[Array, " K"],
    low: Scalar = 0.0,
    high: Scalar = 1.0,
) -> Float[Array, "2"]:
    """Compute the least and the greatest theta that the labels of the other items could make.

    Where these labels could leave nothing to divide by, such as no positive for a recall, theta may also be 0, which
    is what 0 / 0 counts as in this package; where nothing can ever be divided by, theta is 0.

    The least ratio is the root of sum_labelled h + sum_c U_c min_y h_cy, which falls with theta. Newton's steps from
    the right, theta <- sum f / sum g over the labels that minimise h, reach it after finitely many (Dinkelbach 1967).

    Parameters
    ----------
    f, g, counts, unlabelled
        As for `betting.update`, of all labels that are known now: items that are handed out are unlabelled.
    low, high : float
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
def _bounds(f, g, counts, unlabelled, low, high) -> Float[Array, "2"]:
    low, high = (xp.asarray(x, xp.result_type(float)) for x in (low, high))

    def least(f, low, high):
        known_f, known_g = (counts * f).sum(), (counts * g).sum()

        def newton(theta):
            at = xp.argmin(f - theta * g, -1)[:, None]
            sum_f = known_f + (unlabelled * xp.take_along_axis(f, at, -1)[:, 0]).sum()
            sum_g = known_g + (unlabelled * xp.take_along_axis(g, at, -1)[:, 0]).sum()
            root = xp.where(sum_g > 0, sum_f / xp.where(sum_g > 0, sum_g, 1), xp.where(sum_f < 0, low, theta))
            return xp.maximum(root, low)

        def body(pair):
            return newton(pair[0]), pair[0]

        theta, before = engine.while_loop(lambda pair: pair[0] < pair[1], body, (newton(high), high))
        return xp.minimum(theta, before)

    ends = xp.stack([least(f, low, high), -least(-f, -high, -low)])
    unknown, zero = (unlabelled > 0)[:, None], xp.clip(0.0, low, high)
    nothing = (counts * g).sum() == 0
    may_be_empty = nothing & ~(unknown & (g > 0)).all(-1).any()
    is_empty = nothing & ~(unknown & (g > 0)).any()
    with_zero = xp.stack([xp.minimum(ends[0], zero), xp.maximum(ends[1], zero)])
    return xp.where(is_empty, zero, xp.where(may_be_empty, with_zero, ends))
