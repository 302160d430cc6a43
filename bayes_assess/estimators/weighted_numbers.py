"""Measures of numbers from weighted draws, whose losses are those of the labelled items themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.measures import GroupedRealMeasures, RealMeasures

if TYPE_CHECKING:
    from bayes_assess.estimators.ratio_interval import Ranges


_LONGEST = 30.0  # natural logarithm of a factor, beyond which nothing is known anyway


def weighted_numbers(
    design: Any,
    state: Any,
    spec: RealMeasures | GroupedRealMeasures,
    losses: Float[np.ndarray, "n D"],
    cells: Int[np.ndarray, " n"],
    outcomes: Int[np.ndarray, " n"],
    believed: Callable[[], Float[np.ndarray, " D"]],
    extremes: Float[np.ndarray, "E D"],
    possible: Float[np.ndarray, "k 2"],
) -> tuple[Estimate, Float[np.ndarray, "k k"]]:
    r"""Estimate measures of numbers from what a design has drawn, and say how well they are known ([NH] eq. 1).

    The weights of all draws of a cell are spread evenly over its labelled items, which given their number are random
    ones of the cell (Rao-Blackwell): with the mean loss of cell c,

    .. math:: \hat R = \frac{1}{N} \sum_c W_c \bar l_c, \qquad
              \widehat{\mathrm{Cov}} = \frac{1}{N^2} \, Dg \Bigl(\sum_c S_c \overline{l l'}_c
              - \sum_h c_h c_h'\Bigr) Dg'

    with the sums of weights W, the second moments S and the centres of `WeightedDesign.weighed`. One more draw could
    move the estimate as far as the most influential one so far; where none has moved it, as the `extremes` could.

    Parameters
    ----------
    design, state
        A weighted design, and its state whose measure is an `AskedDeviations`.
    spec : RealMeasures or GroupedRealMeasures
    losses : (n, D)
        Of the labelled items.
    cells, outcomes : (n,)
        Where these are counted.
    believed : function
        Returns the mean losses that the design believes, (D,), for measures that draws leave undefined.
    extremes : (E, D)
        Losses that an item could have.
    possible : (k, 2)
        The least and the greatest value of every measure that labels leave possible.

    Returns
    -------
    estimate : Estimate
    covariance : (k, k)
    """
    n_items, shape = int(np.asarray(state.measure.size).sum()), np.shape(state.counts)
    complete = len(losses) == n_items
    flat = cells * shape[1] + outcomes
    held = np.maximum(np.bincount(flat, minlength=shape[0] * shape[1]), 1)
    mean, square = np.zeros((len(held), losses.shape[1])), np.zeros((len(held), losses.shape[1], losses.shape[1]))
    np.add.at(mean, flat, losses)
    np.add.at(square, flat, losses[:, :, None] * losses[:, None, :])
    means = (mean / held[:, None]).reshape(*shape, -1)
    squares = (square / held[:, None, None]).reshape(*shape, *square.shape[1:])
    with engine.eager(design.is_eager(state)):
        moments = _moments(design, state, means, squares)
    risk, second, weights, n_draws = map(np.asarray, moments)
    if complete:
        risk = losses.mean(0)
    defined = (spec.defined(risk) & (weights.sum() > 0)) | complete
    value, jacobian = spec.value(risk), spec.jacobian(risk)
    if not defined.all():
        value = np.where(defined, value, spec.value(believed()))
    covariance = jacobian @ second @ jacobian.T
    share = weights.ravel()[flat] / held[flat]
    moves = (share[:, None] * (losses - risk)) @ jacobian.T if len(losses) else np.zeros((1, len(value)))
    rise, fall = np.maximum(moves.max(0), 0), np.maximum(-moves.min(0), 0)
    if len(losses) and not complete:
        next_risks = risk + (extremes - risk) / max(float(n_draws), 1.0)
        could = np.stack([spec.value(losses_then) for losses_then in next_risks]) - value
        still = (rise + fall) <= 1e-12 * np.maximum(np.abs(could).max(0), 1e-300)
        rise = np.where(still, np.maximum(could.max(0), 0), rise)
        fall = np.where(still, np.maximum(-could.min(0), 0), fall)
    variance = np.maximum(np.diag(covariance), 0)
    estimate = Estimate(
        value=value if complete else np.clip(value, *possible.T),
        variance=variance,
        variance_of_last=variance,
        rise=rise,
        fall=fall,
        defined=defined,
        n_draws=np.float64(n_draws),
        exact=np.bool_(complete),
        beta=np.bool_(False),
        possible=possible,
    )
    return estimate, covariance


def numbers_interval(estimate: Estimate, ranges: Ranges, level: float = 0.95) -> Float[np.ndarray, "*shape k 2"]:
    r"""Compute the asymptotic interval of measures of numbers: `measure_interval`, longer where the range is open.

    Errors have long tails, and a mean of squares is above its estimate by factors more often than below. On the open
    side of a range that begins at b the end is at least that of an interval on the logarithmic scale,

    .. math:: b + (m + d) \exp\bigl(t \sqrt{v + d^2} / (m + d)\bigr),

    with m the estimate less b, v its variance, d the most that one more draw could add, and t with N - 1 degrees of
    freedom; of a range that ends at b it is mirrored.

    Parameters
    ----------
    estimate : Estimate
    ranges : (k, 2)
    level : float in (0, 1)

    Examples
    --------
    >>> one = np.array([2.0])
    >>> estimate = Estimate(one, one / 4, one / 4, one / 8, one / 8, one > 0, np.float64(50), np.bool_(False))
    >>> numbers_interval(estimate, [(0, np.inf)]).round(3).tolist()  # 2 + .25 + 2.01 * .75 is 3.757
    [[0.243, 4.396]]
    """
    ends = measure_interval(estimate, ranges, level)
    value, variance = np.asarray(estimate.value, np.float64), np.maximum(estimate.variance, 0.0)
    n, exact = (np.asarray(x, np.float64)[..., None] for x in (estimate.n_draws, estimate.exact))
    t = special.stdtrit(np.maximum(n - 1, 1), (1 + level) / 2)
    for column, (low, high) in enumerate(ranges):
        if np.isfinite(low) == np.isfinite(high):
            continue
        start, sign, side = (low, 1, 1) if np.isfinite(low) else (high, -1, 0)
        step = np.asarray(estimate.rise if sign > 0 else estimate.fall, np.float64)[..., column]
        far = np.abs(value[..., column] - start) + step
        deviation = t[..., 0] * np.sqrt(variance[..., column] + step**2)
        known = (far > 0) & np.asarray(estimate.defined, bool)[..., column] & (exact[..., 0] == 0)
        relative = np.minimum(deviation / np.where(far > 0, far, 1), _LONGEST)
        end = start + sign * far * np.exp(relative)
        outer = np.maximum if sign > 0 else np.minimum
        ends[..., column, side] = np.where(known, outer(ends[..., column, side], end), ends[..., column, side])
    if estimate.possible is None:
        return ends
    inside = np.clip(ends, estimate.possible[..., :1], estimate.possible[..., 1:])
    return np.where(exact[..., None] > 0, ends, inside)


@x64
@partial(engine.jit, static_argnums=0)
def _moments(
    design: Any, state: Any, mean: Float[Array, "K 2 D"], square: Float[Array, "K 2 D D"]
) -> tuple[Array, Array, Array, Array]:
    """Return Rhat, the covariance of it, the share of every cell and outcome in it, and the number of draws."""
    measure = replace(state.measure, mean=mean)
    draws, centres = design.weighed(replace(state, measure=measure))
    n = xp.maximum(draws.n, 1)
    second = xp.einsum("kc,kcde->de", draws.squares, square) - centres.T @ centres
    return measure.risk(draws.weights) / n, second / n**2, draws.weights / n, draws.n
