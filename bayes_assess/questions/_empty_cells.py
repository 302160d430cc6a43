"""Settings with cells that have no items, so that pools of few sizes are compiled for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayes_assess.models.curve_rates import padded as padded_coordinates
from bayes_assess.questions._event_cells import metric_cells
from bayes_assess.questions._setting import Setting

_SMALL, _UP_TO, _LARGE = 32, 256, 128  # cells come in multiples of the first up to the second, and of the third beyond


def few_sizes(n: int) -> int:
    """Return the least of few sizes that is `n` or more.

    Examples
    --------
    >>> few_sizes(99), few_sizes(128), few_sizes(300)
    (128, 128, 384)
    """
    step = _SMALL if n <= _UP_TO else _LARGE
    return -(-n // step) * step


def with_empty_cells(setting: Setting) -> Setting:
    """Return the setting of a measure with cells without items behind the others, of which it has one of few sizes.

    What is compiled for so many cells serves all pools that have no more. Nothing is learned of cells without items,
    nor from them, and none is asked for.

    Parameters
    ----------
    setting : Setting of MetricCells

    Examples
    --------
    >>> import bayes_assess as ba
    >>> setting = with_empty_cells(ba.Metric("f1").setting(ba.Pool(predictions=[0, 0, 1])))
    >>> setting.cells.n_cells, setting.cells.sizes[:3].tolist(), setting.n_playable
    (32, [2, 1, 0], 3)
    """
    cells, prior, playable = setting.cells, setting.prior, np.asarray(setting.playable)
    n_cells = few_sizes(cells.n_cells)
    at, there = np.minimum(np.arange(n_cells), cells.n_cells - 1), np.arange(n_cells) < cells.n_cells
    given: tuple[Any, Any] = setting.reward, metric_cells(cells).measure  # the first may be centred
    reward, measure = (cell_measure.padded(n_cells, few_sizes(cell_measure.n_blocks)) for cell_measure in given)
    changed: dict[str, object] = {"sizes": measure.size, "names": cells.names[at], "measure": measure}
    if cells.mean_score is not None:
        changed["mean_score"] = cells.mean_score[at]
    events = getattr(cells, "events", None)
    if events is not None:
        coordinates = padded_coordinates(events.coordinates, n_cells)
        changed["events"] = replace(events, coordinates=coordinates, outcome=events.outcome[at], row=events.row[at])
    more: Any = replace(cells, **changed)
    believed = replace(prior, mean=np.asarray(prior.mean)[at])
    return setting._replace(cells=more, prior=believed, reward=reward, playable=playable[at] & there)
