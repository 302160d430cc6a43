"""What weighted designs estimate: a measure, whose losses are constant within cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from jaxtyping import Array, Bool, Float

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess.measures import LossTable

Integers = Any  # (K,), NumPy's on the host

_LEAST_PROBABILITY = 1e-9  # of a draw, relative to the uniform proposal: what is never drawn has a weight of a billion
_ONE_HOT_UP_TO = 32  # attributes, up to which sums over cells are matrix products


@partial(
    register_dataclass,
    data_fields=["table", "attribute", "block", "size", "predicted"],
    meta_fields=["n_attributes", "n_blocks", "n_outcomes", "positive", "f_alpha", "compared", "stochastic"],
)
@dataclass(frozen=True)
class CellMeasure:
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
    compared : bool
        Whether the outputs matter by their differences.
    stochastic : bool
        Whether labels are draws from p(y | x), so that an item may be asked again and is never known: the measure is
        then that of the expected losses over p(y | x).
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
    compared: bool = False
    stochastic: bool = False
    has_losses: ClassVar[bool] = True  # whether it tells the loss of every label

    def unlabelled(self, counts: Integers) -> Integers:
        """Return the items of every cell whose loss no label has settled; all of them where labels are draws."""
        return self.size if self.stochastic else self.size - counts.sum(-1)

    def by_attribute(self, mass: Float[Array, "K C"]) -> Float[Array, "A C"]:
        """Add up a mass over the cells of every attribute."""
        if self.n_attributes <= _ONE_HOT_UP_TO:
            one_hot = self.attribute == xp.arange(self.n_attributes)[:, None]
            return xp.where(one_hot[:, :, None], mass, 0).sum(1)
        return engine.at(xp.zeros((self.n_attributes, mass.shape[1]), mass.dtype))[self.attribute].add(mass)

    def by_block(self, mass: Float[Array, "K *C"]) -> Float[Array, "B *C"]:
        """Add up a mass over the cells of every block."""
        mass = xp.asarray(mass)
        return engine.at(xp.zeros((self.n_blocks, *mass.shape[1:]), mass.dtype))[self.block].add(mass)

    def new_weights(self, unlabelled: Float[Array, " K"], probability: Float[Array, " K"]) -> Float[Array, " A"]:
        """Average the weight p / q of unlabelled items by attribute, (A,); 0 where there are none."""
        weight = 1 / xp.maximum(self.size.sum() * probability, _LEAST_PROBABILITY)
        per_cell = xp.stack([unlabelled.astype(xp.float64), unlabelled * weight], axis=-1)
        n, total = xp.moveaxis(self.by_attribute(per_cell), -1, 0)
        return total / xp.maximum(n, 1)

    def risk(self, mass: Float[Array, "K C"]) -> Float[Array, " D"]:
        """Compute R = sum of mass times loss; masses are shares of the pool, by cell and label."""
        return self.table.mean(self.by_attribute(mass))

    def norms(self, risk: Float[Array, " D"]) -> Float[Array, "K C"]:
        """Compute ||Dg(R) l|| for items of every cell with every label."""
        return xp.sqrt(self.table.squared_norms(risk))[self.attribute]

    @property
    def nonzero(self) -> Bool[Array, "K C"]:
        """Whether l != 0, by cell and label."""
        nonzero: Any = self.table.nonzero
        return nonzero[self.attribute]
