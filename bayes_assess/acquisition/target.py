"""What weighted designs estimate: a measure, whose losses are constant within cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.tree_util import register_dataclass
from jaxtyping import Array, Bool, Float

from bayes_assess.measures import LossTable

Integers = Any  # (K,), NumPy's on the host

_ONE_HOT_UP_TO = 32  # attributes, up to which sums over cells are matrix products


@partial(
    register_dataclass,
    data_fields=["table", "attribute", "block", "size", "predicted"],
    meta_fields=["n_attributes", "n_blocks", "n_outcomes", "positive", "f_alpha"],
)
@dataclass(frozen=True)
class Target:
    """A measure on K cells of a pool.

    Attributes
    ----------
    table : LossTable
        Losses l(a, y) by attribute and label, and g.
    attribute : (K,) integers
        What the loss of a cell's items depends on, row of the table.
    block : (K,) integers
        Stratum of every cell, in the order of the scores.
    size : (K,) integers
        Items.
    predicted : (K,)
        Whether a cell's items are predicted positive; summed over systems. 0 where there is no positive class.
    n_attributes, n_blocks, n_outcomes : int
        A, B, and C, the number of classes.
    positive : int
        Code of the positive class; -1 if there is none.
    f_alpha : float, optional
        The measure is F with TP / (alpha PP + (1 - alpha) P).
    """

    table: LossTable
    attribute: Integers
    block: Integers
    size: Integers
    predicted: Any
    n_attributes: int
    n_blocks: int
    n_outcomes: int
    positive: int = -1
    f_alpha: float | None = None

    def by_attribute(self, mass: Float[Array, "K C"]) -> Float[Array, "A C"]:
        """Add up a mass over the cells of every attribute."""
        if self.n_attributes <= _ONE_HOT_UP_TO:
            one_hot = self.attribute == jnp.arange(self.n_attributes)[:, None]
            return jnp.where(one_hot[:, :, None], mass, 0).sum(1)
        return jnp.zeros((self.n_attributes, mass.shape[1]), mass.dtype).at[self.attribute].add(mass)

    def by_block(self, mass: Float[Array, "K *C"]) -> Float[Array, "B *C"]:
        """Add up a mass over the cells of every block."""
        mass = jnp.asarray(mass)
        return jnp.zeros((self.n_blocks, *mass.shape[1:]), mass.dtype).at[self.block].add(mass)

    def risk(self, mass: Float[Array, "K C"]) -> Float[Array, " D"]:
        """Compute R = sum of mass times loss; masses are shares of the pool, by cell and label."""
        return self.table.mean(self.by_attribute(mass))

    def norms(self, risk: Float[Array, " D"]) -> Float[Array, "K C"]:
        """Compute ||Dg(R) l|| for items of every cell with every label."""
        return jnp.sqrt(self.table.squared_norms(risk))[self.attribute]

    @property
    def nonzero(self) -> Bool[Array, "K C"]:
        """Whether l != 0, by cell and label."""
        return jnp.asarray(self.table.nonzero)[self.attribute]


class Draws(NamedTuple):
    """What a weighted design has drawn, enough to estimate any measure on the same cells or coarser ones.

    Attributes
    ----------
    n : float
        Draws whose labels are known, N: repeated draws of an item count each time.
    weights : (K, C)
        Sum of the weights p / q of all draws, by cell and label.
    squares : (K, C)
        Sum of the squared weights.
    proposal : (K, C + 1)
        Probability of one item under the next proposal, labelled y or unlabelled.
    covered : (K, C + 1) booleans
        Whether items of that kind could be drawn whenever there were any.
    """

    n: Any
    weights: Any
    squares: Any
    proposal: Any
    covered: Any


def estimated_risk(target: Target, draws: Draws) -> Float[Array, " D"]:
    """Compute Rhat = (1/N) sum w l ([NH] eq. 1)."""
    return target.risk(draws.weights / jnp.maximum(draws.n, 1))


def second_moments(draws: Draws) -> Float[Array, "K C"]:
    """Compute the masses m of sum m l l' = (1/N) sum_j (p / q_{j-1})^2 l l', the second moment of what was drawn.

    Less Rhat Rhat' it estimates the mean of the variances under all proposals so far, which is what N Var(Rhat) is.
    """
    return draws.squares / jnp.maximum(draws.n, 1)


def last_second_moments(draws: Draws, n_items: Any) -> Float[Array, "K C"]:
    """Compute the masses m of sum m l l' = (1/N) sum_j p^2 / (q_N q_{j-1}) l l' ([NH] sec. 3.3.2).

    Less Rhat Rhat' it estimates the variance under the last proposal q_N alone: less than that of the estimate, unless
    all proposals were as good as the last.
    """
    last = draws.proposal[:, :-1]
    ratio = jnp.where(last > 0, 1 / (n_items * jnp.where(last > 0, last, 1)), 0)
    return draws.weights * ratio / jnp.maximum(draws.n, 1)
