"""Measures of a ranking from labelled items where they stand in it, and from the others cell by cell.

A table of levels counts pairs within a level by half. With the scores of the labelled items at hand that is needed only
of those without a label: each score that has a label is a level of its own, and so is what stands between two of them.
Once everything is labelled, nothing is left to halves but what ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.measures import Levels, RankingTable

_NUMBERS = 4_000_000  # in one block of draws


class ScoreOrder(NamedTuple):
    """Items in the order of their scores, from the lowest up, in L levels.

    Attributes
    ----------
    levels : Levels
    positive, negative : (L,) integers
        Labelled items.
    start : (L,) integers
        Where the entries of every level begin.
    cell, open : (E,) integers
        The cells of the items without a label of every level, and how many these are.
    """

    levels: Levels
    positive: Int[np.ndarray, " L"]
    negative: Int[np.ndarray, " L"]
    start: Int[np.ndarray, " L"]
    cell: Int[np.ndarray, " E"]
    open: Int[np.ndarray, " E"]

    def values(
        self, table: RankingTable, events: Float[np.ndarray, "n K"], rest: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "n k"]:
        """Compute measures of so many positives among the items without a label of every cell, (n, k).

        Parameters
        ----------
        table : RankingTable
        events : (n, K)
        rest : (K,)
            Items without a label. Those of one cell are taken to be positive alike, wherever they stand.
        """
        if not self.open.any():
            return np.repeat(table.values_of(self.positive[None], self.negative[None], self.levels), len(events), 0)
        part = self.open / np.maximum(rest[self.cell], 1)
        size = max(1, _NUMBERS // len(self.cell))
        blocks = [self._block(table, events[at : at + size], part) for at in range(0, len(events), size)]
        return np.concatenate(blocks)

    def _block(self, table: RankingTable, events: Float[np.ndarray, "n K"], part: Float[np.ndarray, " E"]):
        positives = np.add.reduceat(events[:, self.cell] * part, self.start, axis=1)
        n_open = np.add.reduceat(self.open, self.start)
        return table.values_of(self.positive + positives, self.negative + n_open - positives, self.levels)


def score_order(
    scores: Float[np.ndarray, " M"],
    level: Int[np.ndarray, " M"],
    cell: Int[np.ndarray, " M"],
    hit: Int[np.ndarray, " M"],
) -> ScoreOrder:
    """Put items in the order of their scores.

    Parameters
    ----------
    scores : (M,)
    level : (M,) integers
        Level of the score in a `RankingTable`; where a level ends, one ends here.
    cell : (M,) integers
    hit : (M,) integers
        1 where the label is positive, 0 where it is not, -1 where there is none.

    Examples
    --------
    >>> none = np.zeros(4, int)
    >>> order = score_order(np.array([0.1, 0.2, 0.3, 0.4]), none, none, np.array([-1, -1, 1, -1]))
    >>> order.levels.size.tolist(), order.positive.tolist(), order.open.tolist()
    ([2.0, 1.0, 1.0], [0, 1, 0], [2, 0, 1])
    """
    distinct, place = np.unique(scores, return_inverse=True)
    known = np.bincount(place, weights=hit >= 0, minlength=len(distinct)) > 0
    at = np.zeros(len(distinct), np.int64)
    at[place] = level
    new = np.ones(len(distinct), bool)
    new[1:] = (np.diff(at) != 0) | known[1:] | known[:-1]
    finer = np.cumsum(new) - 1
    tied, group = np.bincount(finer) == 1, finer[place]
    n_levels, n_cells = len(tied), int(cell.max()) + 1
    positive, negative = (np.bincount(group[hit == value], minlength=n_levels) for value in (1, 0))
    pairs, pair = np.unique(group * np.int64(n_cells) + cell, return_inverse=True)
    groups, cells = np.divmod(pairs, n_cells)
    return ScoreOrder(
        Levels.of(np.bincount(group, minlength=n_levels), tied),
        positive,
        negative,
        np.searchsorted(groups, np.arange(n_levels)),
        cells,
        np.bincount(pair[hit < 0], minlength=len(pairs)),
    )
