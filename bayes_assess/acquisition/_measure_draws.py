"""What posterior draws of the labels of cells say of a measure: how far a label of every cell moves it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayes_assess._tools.axes import x64
from bayes_assess._tools.lazy import jax, jit, jnp, lax
from bayes_assess._tools.shapes import Array, ArrayLike, Bool, Float, Int
from bayes_assess.acquisition._checked_draws import checked_draws
from bayes_assess.errors import BudgetError, InferenceError
from bayes_assess.measures.cell_measure import CellMeasure, measure_on_cells

if TYPE_CHECKING:
    from bayes_assess.measures._pool_losses import Measures
    from bayes_assess.pool.cells import Cells


class BelievedMeasure(NamedTuple):
    """A measure on K cells, and draws of their labels' probabilities.

    Attributes
    ----------
    on : CellMeasure
    known : (K, C)
        Labelled items.
    pi : (S, K, C)
        Probabilities of the labels of unlabelled items.
    weights : (S,)
        They sum to 1.
    """

    on: CellMeasure
    known: Int[np.ndarray, "K C"]
    pi: Float[np.ndarray, "S K C"]
    weights: Float[np.ndarray, " S"]

    @property
    def matters(self) -> Bool[np.ndarray, " A"]:
        """Cells of which some label has a loss, (K,)."""
        return np.any(np.asarray(self.on.nonzero), -1)

    @property
    def open(self) -> Int[np.ndarray, " K"]:
        """Unlabelled items of every cell."""
        return np.asarray(self.on.size) - self.known.sum(-1)


def believed_measure(
    draws: object,
    measure: Measures | CellMeasure | None,
    cells: Cells,
    counts: ArrayLike | None,
    positive: Hashable | None,
    weights: ArrayLike | None,
    site: str,
) -> BelievedMeasure:
    """Check draws, measure and labels against each other; see `from_draws.importance_proposal`."""
    on = measure_on_cells(measure, cells, positive=positive)
    shape = (len(on.size), on.n_outcomes)
    theta, weights = checked_draws(draws, site, weights, shape[0])
    if theta.ndim == 2:
        if shape[1] != 2:
            raise InferenceError(
                f"Labels are of {shape[1]} classes: pass draws (draws, cells, {shape[1]}) of all their probabilities."
            )
        theta = np.stack([1 - theta, theta], axis=-1)
    if theta.shape[2] != shape[1]:
        raise InferenceError(f"The draws have {theta.shape[2]} outcomes, and labels are of {shape[1]} classes.")
    known = np.zeros(shape, np.int64) if counts is None else np.asarray(counts)
    if known.shape != shape or not (np.isfinite(known) & (known >= 0)).all():
        raise BudgetError(f"Counts are numbers of labelled items, (cells, classes) = {shape}; found {known.shape}.")
    believed = BelievedMeasure(on, known, theta, weights)
    if (believed.open < 0).any():
        cell = int(np.argmin(believed.open))
        n = int(np.asarray(on.size)[cell])
        raise BudgetError(f"Cell {cell} has {n:,} items, and counts of {int(known[cell].sum()):,}.")
    if not np.where(believed.matters, believed.open, 0).any():
        raise BudgetError("No unlabelled item can move the measure any more: there is nothing left to draw.")
    return believed


@x64
def expected_norms(found: BelievedMeasure, epsilon: float, power: int) -> Float[Array, " K"]:
    """Compute the mean over draws of sum_y max(||Dg(R_s) l(k, y)||, epsilon_s)^power theta_sky, (K,).

    `epsilon` is a share of the greatest norm of each draw, for labels whose loss is not 0.
    """
    return _expected_norms(jax.device_put(found), epsilon, power)


@jit
def _expected_norms(found: BelievedMeasure, epsilon: float, power: int) -> Float[Array, " K"]:
    on = found.on

    def add(total, draw):
        pi, weight = draw
        norms = on.norms(_risk(found, pi))
        norms = jnp.maximum(norms, epsilon * norms.max() * on.nonzero)
        return total + weight * (norms**power * pi).sum(-1), None

    return lax.scan(add, jnp.zeros(len(on.size)), (found.pi, found.weights))[0]


@x64
def measure_reduction(found: BelievedMeasure) -> Float[Array, " K"]:
    """Compute the expected reduction of the variance of the measures, in sum, by a label of every cell, (K,).

    It is sum_y W_ky (E[v | y] - E v)^2, v_s being the measures under draw s; 0 where no item is left.
    """
    return _measure_reduction(jax.device_put(found))


@jit
def _measure_reduction(found: BelievedMeasure) -> Float[Array, " K"]:
    pi, weights = found.pi, found.weights
    value: Array = lax.map(lambda probabilities: found.on.table.value(_risk(found, probabilities)), pi)  # (S, J)
    away = value - weights @ value
    chance = jnp.tensordot(weights, pi, 1)
    moved = jnp.einsum("s,sky,sj->kyj", weights, pi, away)
    gain = (moved**2).sum(-1) / jnp.where(chance > 0, chance, 1.0)
    return jnp.where(found.on.size > found.known.sum(-1), gain.sum(-1), 0.0)


def _risk(found: BelievedMeasure, pi: Float[Array, "K C"]) -> Float[Array, " D"]:
    unlabelled = (found.on.size - found.known.sum(-1))[:, None]
    return found.on.risk((found.known + unlabelled * pi) / found.on.size.sum())
