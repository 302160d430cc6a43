"""What weighted designs estimate: a measure, whose losses are constant within cells."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures import LossTable, PRCurveTable, table_for
from bayes_assess.pool.cells import Cells

if TYPE_CHECKING:
    from bayes_assess.measures._pool_losses import Measures


Integers = Int[Array, " K"]  # NumPy's on the host

_LEAST_PROBABILITY = 1e-9  # of a draw, relative to the uniform proposal: what is never drawn has a weight of a billion
_ONE_HOT_UP_TO = 32  # attributes, up to which sums over cells are matrix products


class Sought(NamedTuple):
    """The best of several outputs.

    Attributes
    ----------
    sign : int
        1 if the highest is the best, -1 if the lowest.
    rope : float
        What another one may be better by and count as no better.
    """

    sign: int
    rope: float

    def behind(self, value: Float[Array, " K"]) -> tuple[Array, Float[Array, " K"]]:
        """Return which output leads, and by how much every one is behind it and the rope."""
        signed = self.sign * value
        return xp.argmax(signed), signed.max() - signed + self.rope


@partial(
    register_dataclass,
    data_fields=["table", "attribute", "block", "size", "predicted"],
    meta_fields=["n_attributes", "n_blocks", "n_outcomes", "positive", "f_alpha", "compared", "stochastic", "sought"],
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
    sought : Sought, optional
        Which output is looked for, where one is.
    """

    table: LossTable | PRCurveTable
    attribute: Integers
    block: Integers
    size: Integers
    predicted: Float[Array, " K"] | Float[np.ndarray, " K"]
    n_attributes: int
    n_blocks: int
    n_outcomes: int
    positive: int = -1
    f_alpha: float | None = None
    compared: bool = False
    stochastic: bool = False
    sought: Sought | None = None
    has_losses: ClassVar[bool] = True  # whether it tells the loss of every label
    asked_only: ClassVar[bool] = False  # whether outcomes say no more of a label than whether it was asked for

    def unlabelled(self, counts: Integers) -> Integers:
        """Return the items of every cell whose loss no label has settled; all of them where labels are draws."""
        return self.size if self.stochastic else self.size - counts.sum(-1)

    def by_attribute(self, mass: Float[Array, "K C"]) -> Float[Array, "A C"]:
        """Add up a mass over the cells of every attribute."""
        if self.n_attributes > _ONE_HOT_UP_TO:
            nothing = xp.zeros((self.n_attributes, mass.shape[1]), mass.dtype)
            return engine.at(nothing)[self.attribute].add(mass)
        if engine.is_eager() and mass.dtype == np.float64:  # the same sums in less time
            n_columns = mass.shape[1]
            place = np.asarray(self.attribute)[:, None] * n_columns + np.arange(n_columns)
            total = np.bincount(np.ravel(place), np.ravel(mass), self.n_attributes * n_columns)
            return total.reshape(self.n_attributes, n_columns)
        one_hot = self.attribute == xp.arange(self.n_attributes)[:, None]
        return xp.where(one_hot[:, :, None], mass, 0).sum(1)

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

    def risks(self, mass: Float[Array, "K C"], group: Integers, n_groups: int) -> Float[Array, "G D"]:
        """Compute the same sums over the cells of every group."""
        nothing = xp.zeros((n_groups, self.n_attributes, mass.shape[1]), mass.dtype)
        return self.table.mean(engine.at(nothing)[group, self.attribute].add(mass))

    def norms(self, risk: Float[Array, " D"]) -> Float[Array, "K C"]:
        """Compute ||Dg(R) l|| for items of every cell with every label."""
        return xp.sqrt(self.table.squared_norms(risk))[self.attribute]

    def padded(self, n_cells: int, n_blocks: int) -> CellMeasure:
        """Return the measure with cells and blocks without items behind the others.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> measure_on_cells("f1", ba.cells(ba.Pool(predictions=[0, 0, 1]))).padded(3, 3).size.tolist()
        [2, 1, 0]
        """
        at = np.minimum(np.arange(n_cells), len(self.size) - 1)
        return replace(
            self,
            attribute=self.attribute[at],
            block=self.block[at],
            size=np.where(np.arange(n_cells) < len(self.size), self.size[at], 0),
            predicted=self.predicted[at],
            n_blocks=n_blocks,
        )

    @property
    def nonzero(self) -> Bool[Array, "K C"]:
        """Whether l != 0, by cell and label."""
        nonzero: Array = self.table.nonzero
        return nonzero[self.attribute]


def measure_on_cells(
    measure: Measures | CellMeasure | None, cells: Cells, *, positive: Hashable | None = None
) -> CellMeasure:
    """Put a measure on the cells of a pool.

    Parameters
    ----------
    measure : str, Measure, or a list of these, CellMeasure or None
        Names are scikit-learn's, see `bayes_assess.measures.MEASURES`. None is the measure that the cells were made
        for, as by ``ba.Metric("f1").cells(pool, seed=0)``.
    cells : Cells
        K cells whose items lose alike: cut by the prediction at least.
    positive : class name, optional
        Positive class of two-class measures; the second class of two by default.

    Raises
    ------
    QuestionError
        If the measure does not fit the pool, or tells items of one cell apart.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(predictions=[0, 0, 1]))
    >>> measure_on_cells("f1", cells).size.tolist(), measure_on_cells("f1", cells).attribute.tolist()
    ([2, 1], [0, 1])
    """
    given = getattr(cells, "measure", None) if measure is None else measure
    if isinstance(given, CellMeasure):
        return given
    if given is None:
        raise QuestionError("These cells were made for no measure: say which, such as measure='f1'.")
    if not hasattr(cells, "source"):
        raise QuestionError(
            f"A measure is put on the cells of a pool, as ba.cells(pool) returns them; found {type(cells).__name__}."
        )
    source: Any = cells.source  # in memory
    pool = source.pool
    codes, table = table_for(given, pool, positive=positive)
    filled = np.flatnonzero(cells.sizes > 0)
    attribute = np.zeros(cells.n_cells, np.int64)
    attribute[filled] = codes[cells.source.take(filled, np.zeros(len(filled), np.int64))]
    cell = cells.source.cells_of(np.arange(cells.n_items))
    apart = attribute[cell] != codes
    if apart.any():
        raise QuestionError(
            f"Items of cell {show(cells.names[cell[np.argmax(apart)]])} do not lose alike in "
            f"{', '.join(table.outputs)}; cut the pool by what that looks at, as the cells of ba.Metric(...) are."
        )
    return CellMeasure(
        table=table,
        attribute=attribute,
        block=np.arange(cells.n_cells),
        size=cells.sizes,
        predicted=np.zeros(cells.n_cells),
        n_attributes=table.n_attributes,
        n_blocks=cells.n_cells,
        n_outcomes=pool.n_classes,
    )
