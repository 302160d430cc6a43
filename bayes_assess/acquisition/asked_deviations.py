"""What designs see of a measure of numbers: how far a label of a cell can move it, and whether it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int

if TYPE_CHECKING:
    from bayes_assess.measures import GroupedRealMeasures, MultiLabelMeasure, RealMeasures


ASKED, VOLUNTEERED = 0, 1  # the outcomes of a label


@partial(register_dataclass, data_fields=["deviation", "size", "block", "mean"], meta_fields=["table", "n_blocks"])
@dataclass(frozen=True)
class AskedDeviations:
    """Deviations of K cells, in the place of a `CellMeasure`, where labels are numbers.

    Labels have two outcomes: of an item that was asked for, and of one that was not, which stands for no others.
    Counts are (K, 2). Within a cell the items asked for are random ones, so that each has the same share of what the
    cell weighs, whichever they are.

    Attributes
    ----------
    deviation : (K,)
        h of one item, the root mean square over the items of the cell.
    size : (K,) integers
        Items.
    block : (K,) integers
        Stratum of every cell, which is the cell itself.
    mean : (K, 2, D)
        Mean losses of the labelled items by cell and outcome; 0 as long as nothing is estimated.
    table : RealMeasures
        What is measured: its `outputs` and `ranges`.
    n_blocks : int
        K.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.measures import RealMeasures
    >>> size, mean = np.array([3, 1]), np.array([[[2.0], [0.0]], [[4.0], [0.0]]])
    >>> measure = AskedDeviations(np.array([0.5, 2.0]), size, np.arange(2), mean, RealMeasures.of("mae"), 2)
    >>> measure.norms(measure.risk(np.ones((2, 2)))).tolist()
    [[0.5, 0.5], [2.0, 2.0]]
    >>> measure.risk(np.array([[0.5, 0.0], [0.5, 0.0]])).tolist()  # half of the mass is on either cell
    [3.0]
    """

    deviation: Float[Array, " K"] | Float[np.ndarray, " K"]
    size: Int[Array, " K"] | Int[np.ndarray, " K"]
    block: Int[Array, " K"] | Int[np.ndarray, " K"]
    mean: Float[Array, "K 2 D"] | Float[np.ndarray, "K 2 D"]
    table: MultiLabelMeasure | RealMeasures | GroupedRealMeasures
    n_blocks: int
    n_outcomes: ClassVar[int] = 2
    stochastic: ClassVar[bool] = False
    has_losses: ClassVar[bool] = False
    asked_only: ClassVar[bool] = True

    def risk(self, mass: Float[Array, "K 2"]) -> Float[Array, " D"]:
        """Compute the sum of mass times mean loss."""
        return xp.einsum("kc,kcd->d", xp.asarray(mass), xp.asarray(self.mean))

    def risks(self, mass: Float[Array, "K 2"], group: Int[Array, " K"], n_groups: int) -> Float[Array, "G D"]:
        """Compute the same sums over the cells of every group."""
        per_cell = xp.einsum("kc,kcd->kd", xp.asarray(mass), xp.asarray(self.mean))
        return engine.at(xp.zeros((n_groups, per_cell.shape[1])))[group].add(per_cell)

    def norms(self, risk: Float[Array, " D"]) -> Float[Array, "K 2"]:
        """Return how far a label of every cell can be expected to move the measure."""
        h = xp.asarray(self.deviation)
        return xp.stack([h, h], axis=-1)

    def by_block(self, mass: Float[Array, "K *C"]) -> Float[Array, "K *C"]:
        """Return a mass by stratum, which is by cell."""
        return xp.asarray(mass)

    @property
    def nonzero(self) -> Bool[np.ndarray, "K 2"]:
        """Whether labels can matter: all can."""
        return np.ones((len(self.size), 2), bool)
