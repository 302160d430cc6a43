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
    n_classes, n_losses, shape = table.n_classes, table.n_losses, (n_groups, table.n_classes, table.n_losses)
    pairs, times = np.unique(group.astype(np.int64) * table.n_attributes + codes, return_counts=True)
    of_pair, attribute = np.divmod(pairs, table.n_attributes)
    size = np.bincount(of_pair, times, n_groups)[:, None, None]
    labels = np.arange(n_classes)
    index, values = table.losses.entries(attribute[:, None], labels[None])
    place = (of_pair[:, None, None] * n_classes + labels[:, None]) * n_losses + index
    some = values != 0  # others are padded, or are 0
    place, values, times = place[some], values[some], np.broadcast_to(times[:, None, None], some.shape)[some]
    total, n_lost = (np.bincount(place, weights, np.prod(shape)).reshape(shape) for weights in (values * times, times))
    ends = []
    for further, start in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        end = np.full(np.prod(shape), start)
        further.at(end, place, values)
        ends.append(np.where(n_lost < size, further(end.reshape(shape), 0.0), end.reshape(shape)))
    lowest, highest = (np.where(n_lost > 0, end, 0.0) for end in ends)
    held: dict[str, Any] = {name: getattr(table, name) for name in ("parts", "outputs", "ranges", "graded")}
    nonzero = ((lowest != 0) | (highest != 0)).any(-1)
    return AveragedTable(losses=DenseLosses(total / size), nonzero=nonzero, lowest=lowest, highest=highest, **held)
