"""Measures on cells of as many cells for every pool, so that one compiled program serves all pools of a study.

A program is compiled for the shapes of its arrays, and those are as long as a pool has cells: some more or fewer for
every pool, by which scores tie. Empty cells change no decision and no answer, and save nine tenths of a study's time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import bayes_assess as ba
from bayes_assess.models.curve_rates import TiedCells
from bayes_assess.questions._event_cells import EventCells

_TIED = (16, 64, 256)  # cells whose items tie
_LADDER = (40, 132, 264, 520, 1032)  # with one event: up to 128 strata, of which the prediction cuts one or more


@dataclass(frozen=True, eq=False)
class PaddedMetric(ba.Metric):
    """A `Metric` whose beliefs are on one of few numbers of cells.

    Examples
    --------
    >>> pool = ba.Pool(scores=[0.1, 0.2, 0.8, 0.9])
    >>> strata = ba.designs.VarianceReduction().strata_of(pool)
    >>> PaddedMetric("f1").cells(pool, 0, strata).sizes[:6].tolist()
    [1, 1, 1, 1, 0, 0]
    """

    def cells(self, pool: ba.Pool, seed: int, strata: Any = None) -> Any:
        """Collapse the pool, and add cells without items."""
        found = super().cells(pool, seed, strata)
        return padded(found) if isinstance(found, EventCells) else found


def padded(cells: EventCells) -> EventCells:
    """Return the cells with as many empty ones behind them as the next size has more, of the kind of the last one.

    Cells whose rows of errors are their own stay as they are.
    """
    n = next((size for size in _LADDER if size >= cells.n_cells), cells.n_cells)
    if n == cells.n_cells or cells.events.believes_all:
        return cells
    last = np.append(np.arange(cells.n_cells), np.full(n - cells.n_cells, cells.n_cells - 1))
    there = np.arange(n) < cells.n_cells
    sizes = np.where(there, cells.sizes[last], 0)
    at, events = cells.events.coordinates, cells.events
    coordinates = at._replace(
        place=at.place[:, last],
        standard=at.standard[:, last],
        smooth=at.smooth[:, last],
        feature=at.feature[last],
        groups=at.groups[last],
        many=at.many[last] if len(at.many) else at.many,
        tied=None if at.tied is None else _padded_ties(at.tied, last),
    )
    events = replace(events, coordinates=coordinates, outcome=events.outcome[last], row=events.row[last])
    measure = replace(
        cells.measure,
        attribute=np.asarray(cells.measure.attribute)[last],
        block=np.asarray(cells.measure.block)[last],
        size=sizes,
        predicted=np.asarray(cells.measure.predicted)[last],
        n_blocks=n,
    )
    names = np.append(cells.names.astype(str), np.full(n - cells.n_cells, "empty"))
    mean_score = None if cells.mean_score is None else cells.mean_score[last]
    return replace(cells, sizes=sizes, names=names, mean_score=mean_score, measure=measure, events=events)


def _padded_ties(tied: TiedCells, last: np.ndarray) -> TiedCells:
    """Return as many tied cells as the next size has; those that are added are no cell's."""
    n = len(tied.cell)
    more = next((size for size in _TIED if size >= n), n)
    which = np.minimum(np.arange(more), n - 1)
    return TiedCells(tied.which[last], tied.cell[which], tied.place[:, which], tied.smooth[:, which], tied.mass[which])
