r"""Anytime-valid intervals of the mean loss of a finite pool from items in random order, whose losses are bounded.

Items are drawn uniformly without replacement; x_t in [0, u_t] is the loss of the t-th, where u_t follows from what the
label could be. If the mean over all N items is theta, the mean over those left before the t-th draw is

.. math:: m_t(\theta) = \frac{N \theta - \sum_{s<t} x_s}{N - t + 1},

so that at the true theta the capital of bets that were fixed before the draws,

.. math:: K_t^+(\theta) = \prod_{s \le t} (1 + \lambda_s^+ (x_s - m_s)), \qquad
          K_t^-(\theta) = \prod_{s \le t} (1 - \lambda_s^- (x_s - m_s)),

are nonnegative martingales. They ever reach 2/alpha with a probability of alpha/2 each (Ville, 1939), so that the theta
that neither has rejected form a confidence sequence (I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random
variables by betting", JRSS B 86, 2024, sec. 5). Bets are cut to c / m and c / (U - m), with U the greatest loss that an
item left can have; then K^+ falls and K^- rises with theta, and either end is one root.

Labels that are missing are taken for the least loss in K^+, which is no greater then, and for the greatest in K^-;
which are must not follow from labels of items drawn later.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayes_assess._tools.shapes import Float

_CUT = 0.75  # c: the share of capital that one draw can take, at most
_SCALES = np.array([0.25, 1.0, 4.0])  # of the bets, whose capital is averaged
_STEPS = 40  # of bisection
_LEAST = 1e-12


def bounded_mean_interval(
    losses: Float[np.ndarray, " n"],
    most: Float[np.ndarray, " n"],
    rest: Float[np.ndarray, " r"],
    believed: float,
    level: float = 0.95,
) -> Float[np.ndarray, " 2"]:
    """Compute an interval of the mean that misses it at any time of a campaign with probability 1 - level at most.

    Parameters
    ----------
    losses : (n,)
        Of the items in the order in which they were drawn; not a number where the label is missing.
    most : (n,)
        The greatest losses that these items can have; the least is 0.
    rest : (r,)
        Those of the items not drawn.
    believed : float
        What losses are expected to be about. Near guesses make intervals shorter; nothing else depends on it.
    level : float in (0, 1)

    Returns
    -------
    (2,) ends, the mean itself once all losses are known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.beta(1, 9, 2_000)
    >>> ends = bounded_mean_interval(losses[:300], np.ones(300), np.ones(1_700), 0.1)
    >>> bool(ends[0] < losses.mean() < ends[1]), bool(ends[1] - ends[0] < 0.05)
    (True, True)
    """
    x, u, rest = (np.asarray(values, np.float64) for values in (losses, most, rest))
    n, size = len(x), len(x) + len(rest)
    known = np.isfinite(x)
    low, high = np.where(known, x, 0.0), np.where(known, x, u)
    bounds = low.sum() / size, (high.sum() + rest.sum()) / size
    greatest = max(float(u.max(initial=0.0)), float(rest.max(initial=0.0)))
    if bounds[0] == bounds[1] or not n or not greatest > 0:
        return np.array(bounds)
    bets = _bets(np.where(known, x, believed), greatest, believed, level)
    # The greatest loss of an item that was left before every draw.
    most_left = np.maximum(np.maximum.accumulate(u[::-1])[::-1], rest.max(initial=0.0))
    enough = np.log(2 / (1 - level))

    def means(values: np.ndarray, theta: float) -> np.ndarray:
        before = np.append(0.0, np.cumsum(values)[:-1])
        return (size * theta - before) / (size - np.arange(n))

    def rejected_below(theta: float) -> bool:
        m = means(low, theta)
        if (m < -_LEAST * greatest).any():
            return True
        lam = np.minimum(bets, _CUT / np.maximum(m, _LEAST * greatest))
        return _reached(1 + lam * (low - m), enough)

    def rejected_above(theta: float) -> bool:
        m = means(high, theta)
        if (m > most_left * (1 + _LEAST)).any():
            return True
        lam = np.minimum(bets, _CUT / np.maximum(most_left - m, _LEAST * greatest))
        return _reached(1 - lam * (high - m), enough)

    lower = _last(rejected_below, *bounds)
    upper = _last(rejected_above, *bounds[::-1])
    # With a probability of 1 - level all is rejected at some time: then only what labels rule out is.
    return np.array([lower, upper] if lower < upper else bounds)


def _bets(x: Float[np.ndarray, " n"], greatest: float, believed: float, level: float) -> Float[np.ndarray, "B n"]:
    """Choose lambda_t = sqrt(2 log(2 / alpha) / (v_{t-1} t log(1 + t))), v the mean square of losses before, scaled."""
    t = np.arange(1, len(x) + 1)
    first = max(believed, _LEAST * greatest) ** 2
    center = (believed + np.append(0.0, np.cumsum(x)[:-1])) / t
    square = (first + np.append(0.0, np.cumsum((x - center) ** 2)[:-1])) / t
    bet = np.sqrt(2 * np.log(2 / (1 - level)) / (np.maximum(square, _LEAST * greatest**2) * t * np.log1p(t)))
    return _SCALES[:, None] * bet


def _reached(factors: Float[np.ndarray, "B n"], enough: float) -> bool:
    """Whether the average capital of the bets was ever so great, in logarithms."""
    capital = np.cumsum(np.log(np.maximum(factors, _LEAST)), axis=1)
    return bool((np.logaddexp.reduce(capital, axis=0) - np.log(len(capital)) >= enough).any())


def _last(rejected: Callable[[float], bool], start: float, end: float) -> float:
    """Find the last theta from `start` on that is rejected; `start` if it is not."""
    if not rejected(start):
        return start
    if rejected(end):
        return end
    for _ in range(_STEPS):
        middle = (start + end) / 2
        start, end = (middle, end) if rejected(middle) else (start, middle)
    return start
