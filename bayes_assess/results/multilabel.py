"""Measures of items that may have several labels each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.questions.multilabel_metric import MultiLabelCells
from bayes_assess.results.metric import MetricResult


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelResult(MetricResult):
    """Measures of items that may have several labels each; attributes are those of `MetricResult`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.9, 0.6], [0.2, 0.1]], classes=["cat", "dog"], multilabel=True)
    >>> a = ba.assess(pool, ba.Metric("hamming_loss"))
    >>> a.tell([0, 1], ["cat;dog", "-"])
    >>> float(a.result().estimate), a.result().guarantee
    (0.0, 'exact')
    """

    cells: MultiLabelCells
    answer: Any = field(kw_only=True)  # an ItemsEstimate

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.answer.exact or not self.answer.unknown.any():
            return super().assumption
        return (
            f"{super().assumption} Classes that no draw has shown enter as {self._source_of_belief} make one expect, "
            "and the intervals hold all that they could be."
        )

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        return self.answer.interval(self.question.spec.ranges, self.level)

    @property
    def _source_of_belief(self) -> str:
        return "scores" if self.cells.lam > 0 else "the shares of the predicted classes"
