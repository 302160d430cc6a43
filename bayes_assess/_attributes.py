"""Checking what is known of each item beside its prediction: confidence and group columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_assess._arrays import first_missing, frame_of, frozen, listing, show, values_of
from bayes_assess._scores import check_unit
from bayes_assess.errors import PoolError

RESERVED = "prediction"  # `by="prediction"` means the predicted class


def check_confidence(confidence: Any, n_items: int, *, scored: bool) -> np.ndarray | None:
    """Return confidences as float64 (M,), or None where none are given; see `Pool`."""
    if confidence is None:
        return None
    if scored:
        raise PoolError("pass scores or confidence, not both: the confidence follows from the scores")
    values = values_of(confidence)
    if values.ndim != 1 or len(values) != n_items:
        raise PoolError(f"confidence has shape {values.shape}, but the pool has {n_items:,} items: pass one per item")
    if values.dtype.kind not in "biuf":
        raise PoolError(f"confidence must be numbers, but is {listing(values, 3)}")
    check_unit(values, "confidence", "it must lie in [0, 1]")
    return frozen(values.astype(np.float64, copy=False))


def check_groups(groups: Any, n_items: int) -> dict[str, np.ndarray]:
    """Return group columns by name, each (M,) and complete; see `Pool`."""
    if groups is None:
        return {}
    frame = frame_of(groups) if not isinstance(groups, Mapping) else None
    if frame is not None:
        groups = {name: frame[name] for name in frame.columns}
    if not isinstance(groups, Mapping):
        raise PoolError(f'groups must map names to arrays, such as {{"site": site}}, not {type(groups).__name__}')
    checked = {}
    for name, column in groups.items():
        if not isinstance(name, str) or not name:
            raise PoolError(f"a group column needs a text as its name, not {name!r}")
        if name == RESERVED:
            raise PoolError(f'no group column may be called "{RESERVED}", which means the predicted class; rename it')
        values = values_of(column)
        if values.ndim != 1 or len(values) != n_items:
            raise PoolError(f"group column {name!r} has shape {values.shape}, but the pool has {n_items:,} items")
        row = first_missing(values)
        if row is not None:
            raise PoolError(
                f"group column {name!r} has no value in row {row} ({show(values[row])}); "
                'fill it, for example with "unknown", or leave the item out'
            )
        checked[name] = frozen(values)
    return checked
