"""What questions on measures add to estimates: nothing, but of labels that predictions are a proxy of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.shapes import Array, Int
from bayes_assess._tools.tables import Table
from bayes_assess.questions import Metric
from bayes_assess.results.evidence.of_measures import MeasureEvidence


@dataclass(frozen=True, eq=False, repr=False)
class Measures:
    """Measures alone."""

    question: Metric
    evidence: MeasureEvidence

    @property
    def measured_items(self) -> Int[np.ndarray, " G"]:
        """Items of every group that is measured, or of the pool."""
        return np.asarray(self.evidence.cells.n_items)

    def columns(self) -> dict[str, Array]:
        """Columns beside estimates and intervals."""
        return {}

    def tables(self) -> list[Table]:
        """Tabulate what a table of estimates has no room for."""
        return []

    def lines(self) -> list[str]:
        """Say what else there is to say, a sentence per line."""
        return []
