"""Losses of items that differ within an attribute, by their scores: their means, and between which values they lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.measures._loss_table import LossTable
from bayes_assess.measures._losses import DenseLosses


@partial(
    register_dataclass,
    data_fields=["losses", "nonzero", "lowest", "highest"],
    meta_fields=["parts", "outputs", "ranges", "graded"],
)
@dataclass(frozen=True, eq=False, kw_only=True)
class AveragedTable(LossTable):
    """A `LossTable` of means over the items of an attribute, whose losses are not alike.

    Parameters
    ----------
    lowest, highest : (A, C, D)
        The least and the greatest loss of an item of every attribute with every label.
    """

    lowest: Float[Array, "A C D"] | Float[np.ndarray, "A C D"]
    highest: Float[Array, "A C D"] | Float[np.ndarray, "A C D"]
    is_averaged: ClassVar[bool] = True


def averaged(
    codes: Int[np.ndarray, " M"], table: LossTable, group: Int[np.ndarray, " M"], n_groups: int
) -> AveragedTable:
    """Average losses over groups of items, which become the attributes.

    Parameters
    ----------
    codes : (M,) integers
        Attribute of every item.
    table : LossTable
    group : (M,) integers
        Group of every item; each has some.
    n_groups : int

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> codes, table = table_for("brier_score_loss", ba.Pool(scores=[0.0, 0.2, 0.9]))
    >>> whole = averaged(codes, table, np.array([0, 0, 1]), 2)
    >>> whole.losses.dense()[..., 0].round(2).tolist()  # rows = group, columns = label
    [[0.02, 0.82], [0.81, 0.01]]
    >>> whole.highest[..., 0].round(2).tolist()
    [[0.04, 1.0], [0.81, 0.01]]
    """
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(n_groups))
    size = np.diff(first, append=len(group))[:, None]
    total, lowest, highest = (np.empty((n_groups, table.n_classes, table.n_losses)) for _ in range(3))
    for place in range(table.n_losses):
        of_items = table.losses.columns(np.array([place])).dense()[..., 0][codes[order]]
        total[..., place] = np.add.reduceat(of_items, first) / size
        lowest[..., place] = np.minimum.reduceat(of_items, first)
        highest[..., place] = np.maximum.reduceat(of_items, first)
    held: dict[str, Any] = {name: getattr(table, name) for name in ("parts", "outputs", "ranges", "graded")}
    nonzero = ((lowest != 0) | (highest != 0)).any(-1)
    return AveragedTable(losses=DenseLosses(total), nonzero=nonzero, lowest=lowest, highest=highest, **held)
