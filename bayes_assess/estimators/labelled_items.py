"""Labelled items one by one, for measures that tell the items of a cell apart."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from bayes_assess._tools.shapes import Float, Int


class LabelledItems(Protocol):
    """What is known of a measure from labelled items: where they stand in an order, or what they lose."""

    def values(
        self, table: Any, events: Float[np.ndarray, "n K"], rest: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "n k"]:
        """Compute measures of so many events, (n, K), among the items without a label of every cell, `rest`."""
        ...
