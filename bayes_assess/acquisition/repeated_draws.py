"""Draws with replacement on cells, so many that a number of distinct items is expected ([SEME] Algorithm 1).

Of items see `acquisition.poisson`.
"""

from __future__ import annotations

from typing import NamedTuple

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int, Scalar

_MOST_STEPS = 4096  # of Newton's method; a bound that no float64 reaches
_CLOSE = 1e-14


class RepeatedDraws(NamedTuple):
    """What N draws with replacement have found.

    Attributes
    ----------
    cells : (L,) integers
        Of the new items, in the order of their first draws; padded.
    counts : (K,) integers
        New items of every cell.
    times : (K,)
        Draws of the items of every cell that were drawn, new ones or not: given when a draw was no new item, which of
        those drawn before it was enters at its expectation.
    """

    cells: Int[Array, " D"]
    counts: Int[Array, " K"]
    times: Float[Array, " K"]


def log_missed(q: Float[Array, " K"]) -> Float[Array, " K"]:
    """Compute log(1 - q), finite, for the probability that a draw misses an item."""
    return xp.log1p(-xp.minimum(q, 1 - xp.finfo(xp.float64).epsneg))


def distinct_of(n_draws: Scalar, missed: Float[Array, " K"], size: Float[Array, " K"]) -> Float[Array, ""]:
    """Compute the expected number of distinct items in so many draws, sum n (1 - (1 - q)^N) ([SEME] (83))."""
    return -xp.expm1(n_draws * missed) @ size


def draws_of(distinct: Scalar, missed: Float[Array, " K"], size: Float[Array, " K"]) -> Float[Array, ""]:
    """Compute how many draws expect so many distinct items, a real number; fewer than can be drawn at all.

    What is expected is concave in the draws, so that Newton's method comes from below.

    Examples
    --------
    >>> with engine.eager():
    ...     round(float(draws_of(1.5, log_missed(xp.array([0.5, 0.5])), xp.ones(2))), 9)  # both, or one of them twice
    2.0
    """

    def unlike(carry):
        draws, step, i = carry
        return (step > _CLOSE * draws) & (i < _MOST_STEPS)

    def closer(carry):
        draws, _, i = carry
        gap = distinct - distinct_of(draws, missed, size)
        slope = -(xp.exp(draws * missed) * missed) @ size
        step = xp.where(slope > 0, gap / xp.where(slope > 0, slope, 1.0), 0.0)
        return draws + xp.maximum(step, 0.0), step, i + 1

    return engine.while_loop(unlike, closer, (xp.zeros(()), xp.ones(()), 0))[0]


def whole_draws(
    key: PRNGKey, distinct: Scalar, missed: Float[Array, " K"], size: Float[Array, " K"]
) -> Float[Array, ""]:
    """Choose the number of draws that expect so many distinct items: one of two neighbours by chance, at least 1."""
    few = xp.maximum(xp.floor(draws_of(distinct, missed, size)), 1.0)
    at, above = distinct_of(few, missed, size), distinct_of(few + 1, missed, size)
    share = xp.where(above > at, (distinct - at) / xp.where(above > at, above - at, 1.0), 0.0)
    return few + (engine.random.uniform(key) < share)


def draw_repeatedly(
    key: PRNGKey,
    proposal: Float[Array, " K"],
    fresh: Int[Array, " K"],
    drawn: Float[Array, " K"],
    instead: Float[Array, ""] | float,
    n_draws: Float[Array, ""],
    length: int,
) -> RepeatedDraws:
    r"""Draw items with replacement, from those that were drawn before and from others.

    The draws until the next new item are geometric, with p = sum (q over items not drawn yet), so that a step finds an
    item, however often the others are drawn in between: r times, of which every item drawn before has the share
    q / (1 - p).

    Parameters
    ----------
    key : key
    proposal : (K,)
        q of one item of every cell, up to a factor.
    fresh : (K,) integers
        Items of every cell that were not drawn yet.
    drawn : (K,)
        Those that were.
    instead : float
        Sum of q over items that cannot be had; in the place of one of these another fresh one is drawn.
    n_draws : float
        N, a whole number.
    length : int
        New items, at most.

    Returns
    -------
    RepeatedDraws
    """
    q, counted = xp.asarray(proposal, xp.float64), xp.asarray(drawn, xp.float64)
    whole = (q * (fresh + counted)).sum() + instead

    def goes_on(carry):
        i, used, undrawn = carry[:3]
        return (i < length) & (used < n_draws) & ((q * undrawn).sum() > 0)

    def one(carry):
        i, used, undrawn, counted, times, cells = carry
        mass = q * undrawn
        new = xp.minimum((mass.sum() + instead) / whole, 1.0)
        wait, which = engine.random.uniform(engine.random.fold_in(key, i), (2,))
        known = xp.where(new < 1, xp.floor(xp.log1p(-wait) / log_missed(new)), 0.0)
        known = xp.minimum(known, n_draws - used)
        times = times + _repeated(known, q, counted)
        is_new = used + known < n_draws
        upto = xp.cumsum(mass)
        cell = xp.minimum((upto <= upto[-1] * which).sum(), xp.max(xp.where(mass > 0, xp.arange(len(mass)), 0)))
        return (
            i + is_new,
            used + known + is_new,
            engine.at(undrawn)[cell].add(-xp.where(is_new, 1, 0)),
            engine.at(counted)[cell].add(xp.where(is_new, 1.0, 0.0)),
            engine.at(times)[cell].add(xp.where(is_new, 1.0, 0.0)),
            engine.at(cells)[xp.minimum(i, length - 1)].set(xp.where(is_new, cell, 0)),
        )

    start = xp.zeros((), xp.int64), xp.zeros(()), xp.asarray(fresh, xp.int64), counted, xp.zeros(len(q))
    _, used, undrawn, counted, times, cells = engine.while_loop(goes_on, one, (*start, xp.zeros(length, xp.int64)))
    times = times + _repeated(n_draws - used, q, counted)  # nothing new was left
    return RepeatedDraws(cells, xp.asarray(fresh, xp.int64) - undrawn, times)


def _repeated(n: Scalar, q: Float[Array, " K"], drawn: Float[Array, " K"]) -> Float[Array, " K"]:
    """Return how often the items of every cell are expected among draws of items drawn before."""
    mass = q * drawn
    total = mass.sum()
    return n * mass / xp.where(total > 0, total, 1.0)
