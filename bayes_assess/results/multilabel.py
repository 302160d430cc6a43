"""Measures of items that may have several labels each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.drawn_items import ItemWeights, missing_items, weighted_items_estimate
from bayes_assess.pool.multilabel import MultiLabelPool
from bayes_assess.questions.multilabel_metric import MultiLabelCells, MultiLabelMetric, believed_risk
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


def multilabel_answer(
    pool: MultiLabelPool,
    question: MultiLabelMetric,
    cells: MultiLabelCells,
    items: Int[np.ndarray, " n"],
    labels: Int[np.ndarray, " n"],
    weights: ItemWeights | None,
    inclusion: Float[np.ndarray, " K"],
) -> dict[str, object]:
    """Answer a question from labelled items: fields of `MultiLabelResult`.

    Parameters
    ----------
    pool, question, cells
        Of the session; another question has the same cells.
    items, labels : (n,)
        Labelled items, and the codes of their label sets.
    weights : ItemWeights, optional
        None while no item is labelled that was drawn.
    inclusion : (K,)
        Probability that an item of every cell was drawn.
    """
    complete = len(items) == pool.n_items
    if complete:
        weights = ItemWeights.all_known(pool.n_items)
    if weights is None:  # as if there were no labels
        items, labels, weights = items[:0], labels[:0], ItemWeights.all_known(0)
    unlabelled = cells.sizes - np.bincount(cells.source.cells_of(items), minlength=cells.n_cells)
    answer = weighted_items_estimate(
        question.spec,
        question.losses_of(pool, items, labels),
        weights,
        pool.n_items,
        cells.predicted,
        missing_items(inclusion, unlabelled),
        lambda: believed_risk(pool, question.spec, cells.lam),
        complete,
    )
    if not len(items):
        answer = answer._replace(
            value=question.spec.value(believed_risk(pool, question.spec, cells.lam)),
            defined=np.zeros(len(answer.value), bool),
        )
    return {"answer": answer, "all_covariances": answer.covariance}
