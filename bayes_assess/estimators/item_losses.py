"""Measures whose losses differ within a cell: those of labelled items one by one, and of the others by their means.

A table of means takes all items of a cell for alike. With the losses of the labelled items at hand that is needed only
of those without a label. Once everything is labelled, the measure is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.measures import AveragedTable, LossTable


class ItemLosses(NamedTuple):
    """Losses of labelled items, and mean losses of those without a label.

    Attributes
    ----------
    labelled : (D,)
        Sum over the labelled items.
    open : (K, 2, D)
        Mean over the items without a label of every cell, if they are without and with the event.
    n_items : int
        Of all cells.
    """

    labelled: Float[np.ndarray, " D"]
    open: Float[np.ndarray, "K 2 D"]
    n_items: int

    def values(
        self, table: AveragedTable, events: Float[np.ndarray, "n K"], rest: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "n k"]:
        """Compute measures of so many events among the items without a label of every cell, (n, k).

        Parameters
        ----------
        table : AveragedTable
        events : (n, K)
        rest : (K,)
            Items without a label. Those of one cell are taken to show the event alike, whatever they lose.
        """
        without, having = self.open[:, 0], self.open[:, 1]
        risk = self.labelled + rest @ without + events @ (having - without)
        return np.asarray(table.value(risk / self.n_items))


def item_losses(
    codes: Int[np.ndarray, " M"],
    table: LossTable,
    means: AveragedTable,
    cell: Int[np.ndarray, " M"],
    sizes: Int[np.ndarray, " K"],
    event: Int[np.ndarray, " M"],
) -> ItemLosses:
    """Add up the losses of labelled items, and average those of the others.

    Parameters
    ----------
    codes : (M,) integers
        Attribute of every item, row of `table`.
    table : LossTable
        Losses of items, by whether they show the event.
    means : AveragedTable
        Mean losses of cells.
    cell : (M,) integers
    sizes : (K,) integers
    event : (M,) integers
        1 where a label is the event, 0 where it is not, -1 where there is none.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import averaged, table_for
    >>> codes, table = table_for("brier_score_loss", ba.Pool(scores=[0.0, 0.2, 0.9]))
    >>> cell, sizes = np.array([0, 0, 1]), np.array([2, 1])
    >>> means = averaged(codes, table, cell, 2)
    >>> found = item_losses(codes, table, means, cell, sizes, np.array([1, -1, -1]))
    >>> found.labelled.tolist(), found.open[..., 0].round(2).tolist()
    ([1.0], [[0.04, 0.64], [0.81, 0.01]])
    """
    items = np.flatnonzero(event >= 0)
    n_cells, n_losses = len(sizes), table.n_losses
    both = np.zeros((n_cells, 2, n_losses))
    index, values = table.losses.entries(codes[items][:, None], np.arange(2)[None])
    np.add.at(both, (cell[items][:, None, None], np.arange(2)[None, :, None], index), values)
    told = np.arange(len(items)), event[items]
    labelled = np.bincount(index[told].ravel(), values[told].ravel(), n_losses)
    left = (np.asarray(sizes) - np.bincount(cell[items], minlength=n_cells))[:, None, None]
    total = np.asarray(means.losses.dense()) * np.asarray(sizes)[:, None, None]
    rest = np.where(left > 0, (total - both) / np.maximum(left, 1), 0.0)
    return ItemLosses(labelled, np.clip(rest, means.lowest, means.highest), int(np.sum(sizes)))
