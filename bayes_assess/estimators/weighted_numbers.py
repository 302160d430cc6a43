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
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.measures import GroupedRealMeasures, RealMeasures

if TYPE_CHECKING:
    from bayes_assess.estimators.ratio_interval import Ranges


_SHARED = 8.0  # observations of a variance that those of all groups count as, see `benchmarks/study_number_groups.py`
# Variance of one label over the square of the mean, as it is expected, see `benchmarks/study_number_tails.py`.
_EXPECTED = {"mean_absolute_error": 1.2, "mean_squared_error": 8.0, "root_mean_squared_error": 2.0}
_BESIDE = 32.0  # observations of a variance that it counts as
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
    by_group: Float[np.ndarray, "G 2"] | None = None,
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
    by_group : (G, 2), optional
        Labelled items of every group, and all of its items, of measures by group.

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
        by_group=by_group,
        expected_variance=_expected_variance(spec, value, by_group, np.array([[len(losses), n_items]])),
    )
    return estimate, covariance


def _expected_variance(
    spec: RealMeasures | GroupedRealMeasures,
    value: Float[np.ndarray, " k"],
    by_group: Float[np.ndarray, "G 2"] | None,
    whole: Float[np.ndarray, "1 2"],
) -> Float[np.ndarray, " k"]:
    """Return the variances that the estimates would have if errors were as unlike as they are expected to be.

    That of one label, over the square of the measure, is 1.2 of a mean absolute error, 8 of a mean of squares, whose
    errors then have a kurtosis of 9, and 2 of its root; of other measures nothing is expected, and it is 0.
    """
    names = (spec.whole if isinstance(spec, GroupedRealMeasures) else spec).outputs
    n, size = (whole if by_group is None else by_group).T
    unlike = np.array([_EXPECTED.get(name, 0.0) for name in names])
    return np.outer((1 - n / size) / np.maximum(n, 1), unlike).ravel() * np.square(value)


def numbers_interval(estimate: Estimate, ranges: Ranges, level: float = 0.95) -> Float[np.ndarray, "*shape k 2"]:
    r"""Compute the asymptotic interval of measures of numbers: `measure_interval`, longer where the range is open.

    Errors have long tails, and a mean of squares is above its estimate by factors more often than below. On the open
    side of a range that begins at b the end is that of an interval on the logarithmic scale,

    .. math:: b + (m + d) \exp\bigl(t \sqrt{v + d^2} / (m + d)\bigr),

    with m the estimate less b, v its variance, d the most that one more draw could add, and t with f = N - 1 degrees of
    freedom; of a range that ends at b it is mirrored. Of measures by group, v and f are those of `_of_groups`.

    A few labels that have not shown the greatest errors have a small variance, too. Of means of errors, of which a
    variance e is expected (`Estimate.expected_variance`), that end has (32 e + f v) / (32 + f) in the place of v, and
    32 + f degrees of freedom. What is not seen makes them greater, so that their lower end can be on that scale, too:

    .. math:: b + (m - c) \exp\bigl(-t \sqrt{v + c^2} / (m - c)\bigr),

    with c the most that one more draw could take from the estimate, where that is above the end of `measure_interval`.

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
    >>> numbers_interval(estimate._replace(expected_variance=one / 4), [(0, np.inf)]).round(3).tolist()
    [[0.74, 4.367]]
    """
    freedom = np.asarray(estimate.n_draws, np.float64)[..., None] - 1
    if estimate.by_group is not None:
        moderated, freedom = _of_groups(estimate, ranges)
        estimate = estimate._replace(variance=moderated)
    ends = measure_interval(estimate, ranges, level, freedom)
    value, variance = np.asarray(estimate.value, np.float64), np.maximum(estimate.variance, 0.0)
    freedom = np.maximum(freedom, 1) + np.zeros(value.shape)
    expected = np.zeros(value.shape) if estimate.expected_variance is None else estimate.expected_variance
    beside = np.where(expected > 0, _BESIDE, 0.0)
    upper = (beside * expected + freedom * variance) / (beside + freedom)
    exact, defined = np.asarray(estimate.exact, bool)[..., None], np.asarray(estimate.defined, bool)
    spread = variance + estimate.rise + estimate.fall > 0  # else nothing is known
    for column, (low, high) in enumerate(ranges):
        if np.isfinite(low) == np.isfinite(high):
            continue
        at = (..., column)
        start, sign, side = (low, 1, 1) if np.isfinite(low) else (high, -1, 0)
        far = np.abs(value[at] - start)
        away, back = (estimate.rise, estimate.fall) if sign > 0 else (estimate.fall, estimate.rise)
        known = spread[at] & defined[at] & ~exact[..., 0]
        t = special.stdtrit(freedom[at] + beside[at], (1 + level) / 2)
        end, some = _by_a_factor(far, np.asarray(away, np.float64)[at], upper[at], t)
        ends[..., column, side] = np.where(known & some, start + sign * end, ends[..., column, side])
        t = -special.stdtrit(freedom[at], (1 + level) / 2)
        end, some = _by_a_factor(far, -np.asarray(back, np.float64)[at], variance[at], t)
        near = np.abs(ends[..., column, 1 - side] - start)
        end = np.where(known & some & (beside[at] > 0), np.clip(end, near, far), near)
        ends[..., column, 1 - side] = start + sign * end
    if estimate.possible is None:
        return ends
    inside = np.clip(ends, estimate.possible[..., :1], estimate.possible[..., 1:])
    return np.where(exact[..., None], ends, inside)


def _by_a_factor(
    far: Float[np.ndarray, "*shape"],
    step: Float[np.ndarray, "*shape"],
    variance: Float[np.ndarray, "*shape"],
    t: Float[np.ndarray, "*shape"],
) -> tuple[Float[np.ndarray, "*shape"], Bool[np.ndarray, "*shape"]]:
    """Return the end of an interval on the logarithmic scale, and where there is one."""
    far = far + step
    known = far > 0
    relative = t * np.sqrt(variance + step**2) / np.where(known, far, 1.0)
    return far * np.exp(np.clip(relative, -_LONGEST, _LONGEST)), known


def _of_groups(
    estimate: Estimate, ranges: Ranges
) -> tuple[Float[np.ndarray, "*shape k"], Float[np.ndarray, "*shape k"]]:
    r"""Return the variances of measures by group for intervals, and their degrees of freedom.

    Those of a group are the n - 1 of its own labels. A group of few labels that has not shown its greatest errors has
    a small estimate and a small variance. Where a range has one end, b, variances are therefore moderated (Smyth 2004):
    relative to the square of the estimate less b, that of one label,

    .. math:: u_g = \frac{n_g v_g}{m_g^2 (1 - n_g / N_g)}, \qquad
              \tilde u_g = \frac{8 \bar u + (n_g - 1) u_g}{8 + n_g - 1},

    counts as n_g - 1 observations beside 8 of the mean over all groups, weighted by n_g - 1, and t has n_g + 7 degrees
    of freedom.
    """
    value, variance = (np.asarray(x, np.float64) for x in (estimate.value, estimate.variance))
    n, size = np.moveaxis(np.asarray(estimate.by_group, np.float64), -1, 0)
    n_groups = n.shape[-1]
    low, high = np.asarray(ranges, np.float64).T
    one_end = (np.isfinite(low) != np.isfinite(high)).reshape(n_groups, -1)
    far = np.abs(value - np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0)))
    far, own_variance = (x.reshape(*n.shape, -1) for x in (far, variance))  # (..., G, k)
    own = np.maximum(n - 1, 0.0)[..., None]
    left = 1 - n / np.maximum(size, 1)
    one_label = far**2 * (left / np.maximum(n, 1))[..., None]
    known = one_end & (one_label > 0) & (n > 0)[..., None]
    unit = np.where(known, own_variance / np.where(known, one_label, 1.0), 0.0)
    weight = known * own
    total = weight.sum(-2, keepdims=True)
    shared = (weight * unit).sum(-2, keepdims=True) / np.maximum(total, 1.0)
    moderated = (_SHARED * shared + own * unit) / (_SHARED + own) * one_label
    taken = known & (total > 0)
    freedom = own + np.where(taken, _SHARED, 0.0)
    return np.where(taken, moderated, own_variance).reshape(value.shape), freedom.reshape(value.shape)


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
