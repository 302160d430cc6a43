r"""The label that is expected to reduce the posterior variance of a measure most (METHODS 12.3).

A belief is given by S weighted draws of the rates p_sc of an event in every cell c; given a draw, the rate of a cell is
a Beta variable worth A_c labels. The measure is linear near the plug-in: a label with the event adds a_c more to it
than one without. With U_c unlabelled items and T_s = sum_c a_c U_c p_sc,

.. math::
    \mathrm{gain}_c = \frac{1}{p_c (1 - p_c)} \Big[ a_c \mathrm{E}_s [p_{sc} (1 - p_{sc})]
                      \Big(1 + \frac{U_c - 1}{A_c + 1}\Big) + \mathrm{Cov}_s(T_s, p_{sc}) \Big]^2 ,

the square of the covariance of the label with the measure over the variance of the label. The first part is what a
label says of its own cell within a draw, the second what it says of the draws, and so of all cells. Items that are
handed out already count as labelled at their mean, and as one more observation each of the ensemble of draws: an update
of a square-root Kalman filter, which takes out of every draw what that observation will tell.

Draws of another model say all of it by themselves (`drawn_reduction`): labels are independent given a draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int

_FEW, MANY = 1, 64  # measures, beyond which products of matrices are sooner, and those without a number for every cell
_SMALL, SPARSE = 100_000, 0.05  # numbers, and share of those that are not 0, below which these are multiplied alone
_TAILS = 0.2  # share of T_s on either side that is clipped: the covariance would chase draws of the tails


def without_zeros(influence: Float[Array, "K J"]) -> Any:
    """Return the influence on many measures as a sparse matrix, on NumPy, where most cells bear on few of them.

    Examples
    --------
    >>> with engine.eager():
    ...     without_zeros(np.eye(400)).nnz, without_zeros(np.ones((400, 400))).shape
    (400, (400, 400))
    """
    n_numbers = influence.size
    small = influence.shape[1] <= MANY or n_numbers <= _SMALL
    if not engine.is_eager() or small or np.count_nonzero(influence) > SPARSE * n_numbers:
        return influence
    from scipy import sparse  # takes long to import

    return sparse.csr_array(influence)


class CurveMoments(NamedTuple):
    """What weighted draws of a curve say of the next label of every cell, whatever the measure.

    Attributes
    ----------
    weight : (S,)
        Of the draws.
    away : (S, K)
        By how much the probability of the event given a draw is beyond its mean.
    mean, spread : (K,)
        Mean of the label, and its variance.
    worth : (K,)
        A_c, labels that a cell's Beta variable counts as.
    within : (K,)
        Variance of a label within a draw.
    """

    weight: Float[Array, " S"]
    away: Float[Array, "S K"]
    mean: Float[Array, " K"]
    spread: Float[Array, " K"]
    worth: Float[Array, " K"]
    within: Float[Array, " K"]

    @classmethod
    def of(
        cls,
        rates: Float[Array, "S K"],
        strength: Float[Array, "S K"],
        log_weight: Float[Array, " S"],
        counts: Float[Array, "K 2"],
    ) -> CurveMoments:
        """Compute them.

        Parameters
        ----------
        rates : (S, K)
            Draws of the curve, the means of the Beta variables before any label of the cell.
        strength : (S, K)
            Labels that every draw's curve counts as in a cell.
        log_weight : (S,)
            Of the draws.
        counts : (K, 2)
            Labelled items without and with the event.
        """
        weight = engine.softmax(log_weight)
        total = counts.sum(1)
        p = (strength * rates + counts[:, 1]) / (strength + total)
        mean = engine.product(weight, p)
        spread = mean * (1 - mean)
        worth = 1 / engine.product(weight, 1 / (strength + total))
        away = p - mean
        within = xp.maximum(spread - engine.product(weight, away**2), 0.0)
        return cls(weight, away, mean, spread, worth, within)


def expected_reduction(
    moments: CurveMoments,
    unlabelled: Int[Array, " K"],
    pending: Int[Array, " K"],
    influence: Float[Array, "K J"],
    extra: Float[Array, "K J"] | float = 0.0,
    behind: Float[Array, " J"] | None = None,
) -> Float[Array, " K"]:
    """Compute the expected reduction of the variance of J measures by a label of every cell, (K,).

    Parameters
    ----------
    moments : CurveMoments
        Of the labels of all cells.
    unlabelled, pending : (K,)
        Items without a label, and those of them that are handed out.
    influence : (K, J)
        By how much an item with the event raises every measure beyond one without. Of several measures the sum of the
        reductions is returned, each relative to the measure's variance. Of many it may be `without_zeros`.
    extra : (K, J), optional
        What a label reduces the variances by beyond that.
    behind : (J,), optional
        The mean of every measure, if these are differences from the best of several to each of them: then the
        reductions are of the expected loss by taking it for the best where another is, up to a factor.
    """
    weight, _, _, spread, worth, within = moments
    worth = worth + pending
    away = _observed(moments.away, weight, spread, pending)
    n_open = xp.maximum(unlabelled - pending, 0).astype(spread.dtype)
    alike = within * (1 + xp.maximum(n_open - 1, 0) / (worth + 1))

    if engine.is_eager() and influence.shape[1] > MANY:
        return _of_many(influence, away, weight, alike, spread, n_open, extra, behind)

    def reduction(influence: Float[Array, " K"]) -> tuple[Float[Array, " K"], Float[Array, ""]]:
        totals = engine.product(away, influence * n_open)
        covariance = influence * alike + engine.product(weight * _clipped(totals, weight), away)
        inner = (influence**2 * n_open * alike).sum()
        return covariance**2 / xp.maximum(spread, 1e-12), inner + engine.product(weight, totals**2)

    if engine.is_eager() and influence.shape[1] > _FEW:
        gains, variances = _reductions(influence, away, weight, alike, spread, n_open)
    else:
        gains, variances = engine.vmap(reduction, in_axes=1)(influence)
    gains = gains + xp.asarray(extra).T
    relative = gains / xp.maximum(variances, 1e-30)[:, None]
    return relative.sum(0) if behind is None else engine.product(_of_regret(behind, variances), relative)


def _reductions(
    influence: Float[Array, "K J"],
    away: Float[Array, "S K"],
    weight: Float[Array, " S"],
    alike: Float[Array, " K"],
    spread: Float[Array, " K"],
    left: Float[Array, " K"],
) -> tuple[Float[Array, "J K"], Float[Array, " J"]]:
    """Compute the reductions of many measures by products of matrices, on NumPy."""
    totals = engine.product(away, influence * left[:, None])  # (S, J)
    clipped = _clipped(totals, weight)
    covariance = influence.T * alike + engine.product((weight[:, None] * clipped).T, away)
    inner = engine.product(left * alike, influence**2)
    return covariance**2 / xp.maximum(spread, 1e-12), inner + engine.product(weight, totals**2)


def _of_many(
    influence: Any,
    away: Float[Array, "S K"],
    weight: Float[Array, " S"],
    alike: Float[Array, " K"],
    spread: Float[Array, " K"],
    n_open: Float[Array, " K"],
    extra: Float[Array, "K J"] | float,
    behind: Float[Array, " J"] | None,
) -> Float[Array, " K"]:
    """Compute the sum over many measures on NumPy, by products of matrices none of which is (J, K).

    The square of a covariance, influence * alike + moved @ away, is summed term by term.
    """
    told = influence.astype(np.float64)
    squared = told * told
    by_cell = away.T.astype(np.float64)
    totals = (told.T @ (by_cell * n_open[:, None])).T  # (S, J)
    variances = squared.T @ (n_open * alike).astype(np.float64) + weight @ totals**2
    worth = 1 / np.maximum(variances, 1e-30)
    if behind is not None:
        worth = worth * _of_regret(behind, variances)
    moved = weight[:, None] * _clipped(totals, weight)
    weighed = moved * worth
    both = ((told @ weighed.T) * by_cell).sum(1)
    squares = ((by_cell @ (weighed @ moved.T)) * by_cell).sum(1)
    gains = (alike**2 * (squared @ worth) + 2 * alike * both + squares) / np.maximum(spread, 1e-12)
    return (gains + (extra @ worth if np.ndim(extra) else 0.0)).astype(away.dtype)


def _of_regret(behind: Float[Array, " J"], variances: Float[Array, " J"]) -> Float[Array, " J"]:
    """Compute what a relative reduction of each variance is worth, of Gaussian differences, up to a factor.

    E max(-D, 0) = s (phi(z) - z Phi(-z)) with z = behind / s, whose derivative by the log of s^2 is s phi(z) / 2.
    """
    known = variances <= 1e-30
    sd = xp.sqrt(xp.where(known, 1.0, variances))
    exponent = xp.where(known, xp.inf, (behind / sd) ** 2 / 2)
    nearest = exponent.min()
    nearest = xp.where(xp.isfinite(nearest), nearest, 0.0)  # a common factor, so that not all of them underflow
    return xp.where(known, 0.0, sd * xp.exp(nearest - exponent))


def drawn_reduction(
    pi: Float[Array, "S K O"],
    log_weight: Float[Array, " S"],
    left: Int[Array, " K"],
    directions: Float[Array, "K O J"],
) -> Float[Array, " K"]:
    r"""Compute the expected reduction of the variance of J linear measures by a label of every cell, from draws alone.

    With d_ky what an item labelled y adds to the measure, dbar_sk its mean under draw s, and T_s = sum_k U_k dbar_sk,

    .. math::
        \mathrm{gain}_k = \sum_y \frac{1}{W_{ky}} \Big[\sum_s w_s \theta_{sky}
                         (T_s - \mathrm{E} T + d_{ky} - \bar d_{sk})\Big]^2,
        \qquad W_{ky} = \sum_s w_s \theta_{sky} :

    a label says which draws are right, and what its own item adds.

    Parameters
    ----------
    pi : (S, K, O)
        Draws of the probabilities of every outcome, theta.
    log_weight : (S,)
        Of the draws.
    left : (K,)
        U, items without a label.
    directions : (K, O, J)
        d.

    Returns
    -------
    (K,) sums of the reductions over the measures, each relative to the measure's variance; those of cells without items
    say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.array([[[0.1, 0.9], [0.5, 0.5]], [[0.9, 0.1], [0.5, 0.5]]])  # nothing is to be learned of the second
    >>> share = np.array([[[0.0], [0.1]]] * 2)
    >>> with engine.eager():
    ...     drawn_reduction(draws, np.zeros(2), np.array([5, 5]), share).round(3).tolist()
    [0.556, 0.044]
    """
    weight = engine.softmax(log_weight)
    chance = xp.tensordot(weight, pi, 1)  # (K, O)
    by_cell = xp.moveaxis(pi, 0, 1)  # (K, S, O)
    expected = engine.product(by_cell, directions)  # (K, S, J)
    totals = xp.tensordot(left.astype(pi.dtype), expected, 1)  # (S, J)
    away = totals - engine.product(weight, totals)
    weighed = xp.swapaxes(by_cell * weight[:, None], 1, 2)  # (K, O, S)
    moved = engine.product(weighed, away - expected) + chance[..., None] * directions
    gains = (moved**2 / xp.where(chance > 0, chance, 1.0)[..., None]).sum(1)
    own = (chance[..., None] * directions**2).sum(1) - (weight[:, None] * expected**2).sum(1)
    variances = engine.product(weight, away**2) + engine.product(left, xp.maximum(own, 0.0))
    return (gains / xp.maximum(variances, 1e-30)).sum(1)


def _clipped(values: Float[Array, "S *J"], weight: Float[Array, " S"]) -> Float[Array, "S *J"]:
    """Clip values at their weighted quantiles, and centre them; compiled, those of one measure."""
    low, high = _ends(values, weight)
    clipped = xp.clip(values, low, high)
    return clipped - engine.product(weight, clipped)


def _ends(values: Float[Array, "S *J"], weight: Float[Array, " S"]) -> tuple[Float[Array, "*J"], Float[Array, "*J"]]:
    """Return the least values up to which there is as much weight as in the lower tail, and as beside the upper one."""
    if not engine.is_eager():  # without sorting, which takes longer there
        upto = xp.matmul((values[:, None] >= values).astype(weight.dtype), weight, precision="highest")
        low, high = (xp.where(upto >= share, values, xp.inf).min() for share in (_TAILS, 1 - _TAILS))
        return low, high
    values = np.ascontiguousarray(values.T)  # in the order in which NumPy is fast
    order = np.argsort(values)
    upto = np.cumsum(weight[order], axis=-1)
    ends = np.stack([(upto < upto.dtype.type(share)).sum(-1) for share in (_TAILS, 1 - _TAILS)], axis=-1)
    chosen = np.take_along_axis(order, np.minimum(ends, len(weight) - 1), -1)
    low, high = np.moveaxis(np.take_along_axis(values, chosen, -1), -1, 0)
    return low, high


def _observed(
    away: Float[Array, "S K"], weight: Float[Array, " S"], spread: Float[Array, " K"], pending: Int[Array, " K"]
) -> Float[Array, "S K"]:
    """Take out of an ensemble, centred, what the labels of pending items will tell it."""
    observed: Any = _all_at_once if engine.is_eager() else _one_by_one
    return engine.cond((pending > 0).any(), lambda: observed(away, weight, spread, pending), lambda: away)


def _one_by_one(
    away: Float[Array, "S K"], weight: Float[Array, " S"], spread: Float[Array, " K"], pending: Int[Array, " K"]
) -> Float[Array, "S K"]:
    order = xp.argsort(pending == 0, stable=True)
    # Variance of a label within a draw, which no observation of the draws changes.
    within = xp.maximum(spread - engine.product(weight, away**2), 1e-12)

    def observe(i, away):
        cell = order[i]
        column = away[:, cell]
        covariance = engine.product(weight * column, away)
        signal = covariance[cell]
        noise = within[cell] / pending[cell]
        share = 1 / (1 + xp.sqrt(noise / (signal + noise)))
        return away - share * column[:, None] * covariance / (signal + noise)

    return engine.fori_loop(0, (pending > 0).sum(), observe, away)


def _all_at_once(
    away: Float[np.ndarray, "S K"],
    weight: Float[np.ndarray, " S"],
    spread: Float[np.ndarray, " K"],
    pending: Int[np.ndarray, " K"],
) -> Float[np.ndarray, "S K"]:
    """Do as `_one_by_one` does, on NumPy: all changes are one product of matrices, left^T right."""
    within = np.maximum(spread - engine.product(weight, away**2), 1e-12)
    cells, wide = np.flatnonzero(pending), away.astype(np.float64)
    left, right = np.empty((len(cells), len(wide))), np.empty((len(cells), wide.shape[1]))
    for i, cell in enumerate(cells.tolist()):
        column = wide[:, cell] - right[:i, cell] @ left[:i]
        weighed = weight * column
        covariance = weighed @ wide - (left[:i] @ weighed) @ right[:i]
        noise = within[cell] / pending[cell]
        total = covariance[cell] + noise
        left[i], right[i] = column / (total * (1 + np.sqrt(noise / total))), covariance
    return wide - left.T @ right
