"""Precision and recall at many thresholds of the score at once ([NH])."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.measures import curve_scores, pr_curve
from bayes_assess.measures._pool_losses import Measures
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._measures_answered import cell_measure
from bayes_assess.questions.metric import Metric


@dataclass(frozen=True, eq=False, repr=False)
class PRCurve(Metric[BelievedT_co, WeighedT_co]):
    """How do precision and recall change with the threshold? See [NH] Table 1 and Example 2.

    Parameters
    ----------
    thresholds : int or array (L,)
        How many thresholds, placed at scores of the pool, or increasing thresholds on P(positive).
    positive : class name, optional
        As for `Metric`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
    >>> ba.PRCurve([0.3, 0.7]).truth(pool, [0, 1, 0, 1]).tolist()  # precision, then recall
    [0.6666666666666666, 1.0, 1.0, 0.5]
    """

    asks: ClassVar[str] = "How do precision and recall change with the threshold?"
    titled: ClassVar[str] = "Precision and recall by threshold"
    measure: Measures = field(init=False, repr=False)
    thresholds: int | ArrayLike = 1024

    is_curve: ClassVar[bool] = True

    def __init__(self, thresholds: int | ArrayLike = 1024, positive: Hashable | None = None):
        thresholds = int(thresholds) if isinstance(thresholds, np.integer) else thresholds
        curve = pr_curve(n=thresholds) if isinstance(thresholds, int) else pr_curve(thresholds)
        for name, value in (
            ("thresholds", thresholds),
            ("positive", positive),
            ("systems", ()),
            ("by", None),
            ("average", None),
            ("target", "pool"),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "measure", curve)

    @property
    def name(self) -> str:
        """What the question is called."""
        return "PRCurve"

    def __repr__(self) -> str:
        """Write the question as it is asked, without what other measures take."""
        asked = ", ".join(f"{name}={getattr(self, name)!r}" for name in inspect.signature(type(self)).parameters)
        return f"{type(self).__name__}({asked})"

    def on_cells(self, pool: Pool, cells: Cells) -> PRCurve:
        """Return the curve at thresholds that these cells tell apart, at most as many as were asked for.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8], groups={"half": [0, 0, 1, 1]})
        >>> ba.PRCurve(10).on_cells(pool, ba.cells(pool, by="half")).thresholds.tolist()
        [0.2, 0.6]
        """
        if not isinstance(self.thresholds, int):
            return self
        scores, cell = curve_scores(pool, self.positive)[0], cells.source.row_cells
        lowest, highest = np.full(cells.n_cells, np.inf), np.full(cells.n_cells, -np.inf)
        np.minimum.at(lowest, cell, scores)
        np.maximum.at(highest, cell, scores)
        lowest, highest = lowest[cells.sizes > 0], highest[cells.sizes > 0]
        # A threshold cuts no cell if as many cells begin below it as end below it.
        below = np.searchsorted(np.sort(lowest), lowest), np.searchsorted(np.sort(highest), lowest)
        thresholds = np.unique(lowest[below[0] == below[1]])
        places = np.unique(
            np.linspace(0, len(thresholds) - 1, min(self.thresholds, len(thresholds))).round().astype(int)
        )
        return PRCurve(thresholds[places], self.positive)


def reaching(cells: Cells) -> Int[np.ndarray, " T"]:
    """Count the items that reach every threshold, from the lowest one up.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
    >>> reaching(ba.PRCurve([0.3, 0.7]).setting(pool).cells).tolist()
    [3, 1]
    """
    measure = cell_measure(cells)
    reaching = np.bincount(measure.attribute, cells.sizes, measure.table.n_attributes)
    return np.cumsum(reaching[::-1])[::-1][1:].astype(np.int64)
