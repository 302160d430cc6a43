"""What designs see of a measure whose losses they do not need to know: how far one label of a cell can move it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int

if TYPE_CHECKING:
    from bayes_assess.measures import GroupedRealMeasures, MultiLabelMeasure, RealMeasures


@partial(register_dataclass, data_fields=["deviation", "size"], meta_fields=["table"])
@dataclass(frozen=True)
class CellDeviations:
    """Deviations of K cells, in the place of a `CellMeasure`: designs draw by them, and estimates are made elsewhere.

    A label has a single outcome, which says that an item has one, so that counts are (K, 1).

    Attributes
    ----------
    deviation : (K,)
        h of one item, the root mean square over the items of the cell.
    size : (K,) integers
        Items.
    table : MultiLabelMeasure
        What is measured: its `outputs` and `ranges`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.measures import multilabel_measure
    >>> measure = CellDeviations(np.array([0.5, 2.0]), np.array([3, 1]), multilabel_measure("f1_micro"))
    >>> measure.norms(measure.risk(np.ones((2, 1)))).tolist()
    [[0.5], [2.0]]
    """

    deviation: Float[Array, " K"] | Float[np.ndarray, " K"]
    size: Int[Array, " K"] | Int[np.ndarray, " K"]
    table: MultiLabelMeasure | RealMeasures | GroupedRealMeasures
    n_outcomes: ClassVar[int] = 1
    stochastic: ClassVar[bool] = False
    has_losses: ClassVar[bool] = False
    asked_only: ClassVar[bool] = True

    def risk(self, mass: Float[Array, "K 1"]) -> Float[Array, " 1"]:
        """Return the sum of the masses, the one thing that is known of labels here."""
        return xp.asarray(mass).sum(0)

    def norms(self, risk: Float[Array, " 1"]) -> Float[Array, "K 1"]:
        """Return how far a label of every cell can be expected to move the measure."""
        return xp.asarray(self.deviation)[:, None]

    @property
    def nonzero(self) -> Bool[np.ndarray, "K 1"]:
        """Whether labels can matter: all can."""
        return np.ones((len(self.size), 1), bool)
