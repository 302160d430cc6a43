"""Bounds of the positives of a ranked list from windows of labelled items (PAULA, A. Sabharwal and H. Sedghi, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import DesignError

Ranks = Int[np.ndarray, " k"]
Values = Float[np.ndarray, " k"]


@dataclass(frozen=True, eq=False)
class WindowBounds:
    """Bounds of the number of positives at the ranks of a grid, linear between them.

    Attributes
    ----------
    ranks : (k,) integers
    lower, upper : (k,)
        Bounds of the number of positives up to each.
    """

    ranks: Ranks
    lower: Values
    upper: Values

    def positives_at(self, ranks: Int[np.ndarray, " n"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Compute the bounds of the number of positives up to given ranks, from the first of the grid to the last."""
        v = np.asarray(ranks, np.int64)
        if v.size and not (v.min() >= self.ranks[0] and v.max() <= self.ranks[-1]):
            raise DesignError(f"Ranks lie between {self.ranks[0]:,} and {self.ranks[-1]:,}; found {show(v)}.")
        return np.interp(v, self.ranks, self.lower), np.interp(v, self.ranks, self.upper)

    def precision_at(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Compute the geometric mean of the precision's bounds at given ranks, PAULA's output."""
        lower, upper = self.positives_at(ranks)
        return np.sqrt(lower * upper) / ranks


def window_bounds(ranks: Ranks, window_precision: Values, prefix_positives: int) -> WindowBounds:
    r"""Bound the positives of a list from the precision of a window of labelled items at each rank of a grid (PAULA).

    Under local monotonicity the share of positives falls from window to window, so that in between

    .. math:: (v - y_{i-1}) q_i \le C(v) - C(y_{i-1}) \le (v - y_{i-1}) q_{i-1}, \qquad y_{i-1} \le v \le y_i,

    for the precision q_i of the window at y_i. Where a window is more precise than the one before, which chance can do,
    the smaller of the two is the lower bound. How far windows are off by chance is not part of these bounds: they lean
    on windows long enough, and on an assumption that weak monotonicity does not imply.

    Parameters
    ----------
    ranks : (k,) integers
        The prefix and `geometric_ranks`.
    window_precision : (k,)
        q.
    prefix_positives : int
        Positives up to the first of these ranks, all of whose items are labelled.

    Examples
    --------
    >>> bounds = window_bounds(np.array([100, 200, 400]), np.array([0.9, 0.7, 0.6]), 95)
    >>> bounds.lower.round(6).tolist(), bounds.upper.round(6).tolist()
    ([95.0, 165.0, 285.0], [95.0, 185.0, 325.0])
    >>> bounds.precision_at(np.array([200, 300])).round(3).tolist()
    [0.874, 0.798]
    """
    y, q = np.asarray(ranks, np.int64), np.asarray(window_precision, np.float64)
    if q.shape != y.shape or not len(y) or (np.diff(y) <= 0).any():
        raise DesignError(f"Windows lie at increasing ranks, one precision each; found {show(y)} and {show(q)}.")
    sizes = np.diff(y)
    fewest, most = sizes * np.minimum(q[1:], q[:-1]), sizes * np.maximum(q[1:], q[:-1])
    lower, upper = (prefix_positives + np.append(0.0, np.cumsum(part)) for part in (fewest, most))
    return WindowBounds(y, lower, upper)
