"""How many labels of random items estimate a share as well as an interval says that it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.measures.cell_measure import CellMeasure

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable


_ROUNDING = 1e-9  # of a number of labels that is whole


def random_labels(
    share: Float[np.ndarray, "*shape"] | float,
    width: Float[np.ndarray, "*shape"] | float,
    size: Int[np.ndarray, "*shape"] | int,
    level: float = 0.95,
) -> Int[np.ndarray, "*shape"]:
    r"""Count the random items whose labels give a share an interval of some width.

    The share p of n items, drawn without replacement from M, has the variance p (1 - p) / n times (M - n) / (M - 1).
    Setting half of the width w of its normal interval to z standard deviations and solving for n,

    .. math::
        n = n_0 M / (n_0 + M - 1), \quad n_0 = z^2 p (1 - p) / (w / 2)^2

    where p = 0 or 1 would need no label at all. There, and near there, it is n_0 = z^2 (1 - w) / w, which gives the
    interval of Wilson, [0, z^2 / (n_0 + z^2)] where no label is positive, the width w.

    Parameters
    ----------
    share : (...) floats in [0, 1]
        p.
    width : (...) floats
        w; 0 takes the labels of all items.
    size : (...) integers
        M.
    level : float in (0, 1)

    Returns
    -------
    (...) integers, at most `size`, rounded up.

    Examples
    --------
    >>> random_labels(0.5, 0.1, 10**9), random_labels(0.5, 0.1, 1000)
    (array(385), array(278))
    >>> int(random_labels(0.0, 0.01, 10**9))  # no positive label
    381
    """
    p = np.asarray(share, np.float64)
    return labels_of_variance(p * (1 - p), width, size, level)


def labels_of_variance(
    variance: Float[np.ndarray, "*shape"] | float,
    width: Float[np.ndarray, "*shape"] | float,
    size: Int[np.ndarray, "*shape"] | int,
    level: float = 0.95,
) -> Int[np.ndarray, "*shape"]:
    """Count the random items whose labels give a mean, or what is one nearly, an interval of some width.

    Parameters
    ----------
    variance : (...) floats
        Of what one random item says, p (1 - p) for a share; of its influence on a measure that is no mean.
    width, size, level
        As for `random_labels`.

    Returns
    -------
    (...) integers, at most `size`, rounded up.

    Examples
    --------
    >>> labels_of_variance(0.25, 0.1, 10**9).tolist()  # as of a share of one half
    385
    """
    v, w, m = (np.asarray(values, np.float64) for values in (variance, width, size))
    z = special.ndtri((1 + level) / 2)
    known = w > 0
    w = np.clip(np.where(known, w, 1), None, 1)
    n = np.maximum(z**2 * v / (w / 2) ** 2, z**2 * (1 - w) / w)
    n = n * m / np.maximum(n + m - 1, np.finfo(float).tiny)
    return np.where(known, np.minimum(np.ceil(n - _ROUNDING * n), m), m).astype(np.int64)


@x64
def item_variance(measure: CellMeasure, full: Int[np.ndarray, "K C"]) -> Float[np.ndarray, " k"]:
    """Compute the variance of one random item's influence on a measure, by the delta method.

    Parameters
    ----------
    measure : CellMeasure
    full : (K, C) integers
        Items of every cell by label.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures.cell_measure import measure_on_cells
    >>> cells = ba.cells(ba.Pool(predictions=[0, 0, 1, 1]))
    >>> item_variance(measure_on_cells("accuracy", cells), np.array([[1, 1], [0, 2]])).round(4)  # p (1 - p)
    array([0.1875])
    """
    share = full / full.sum()
    items = np.zeros((measure.n_attributes, measure.n_outcomes))
    np.add.at(items, np.asarray(measure.attribute), share)
    directions = np.asarray(_directions(measure.table, items))
    mean = np.einsum("ac,ack->k", items, directions)
    return np.einsum("ac,ack->k", items, (directions - mean) ** 2)


@engine.jit
def _directions(table: LossTable | PRCurveTable, items: Float[Array, "A C"]) -> Float[Array, "A C k"]:
    return table.directions(table.mean(items))
