"""The mean of ratings, and what the predictions alone would have said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.random_labels import labels_of_variance
from bayes_assess.results._proxy import ProxyResult
from bayes_assess.results.belief_metric import BeliefMetricResult
from bayes_assess.results.metric import MetricResult


@dataclass(frozen=True, eq=False, repr=False)
class MeanResult(ProxyResult):
    """The mean rating of a pool, or of its groups, beside that of the predictions.

    Attributes
    ----------
    judge_mean : float, or (G,) for groups
        Mean over the predictions: what they alone say.
    bias : float or (G,)
        How far that is above the estimate.
    bias_interval : (2,) or (G, 2)
        Of the bias: the judge's mean less the interval of the mean.
    random_labels : int or (G,) integers
        Labels of random items, of every group, that would have given an interval as narrow, given the variance that
        the labels show; see `bayes_assess.estimators.random_labels`.
    """

    values: Float[np.ndarray, " C"] = field(kw_only=True)
    group: Int[np.ndarray, " M"] = field(kw_only=True)

    @property
    def judge_mean(self) -> Any:
        """What the predictions alone say."""
        return self._shaped(self._judge)

    @property
    def _labels_as_good(self) -> Int[np.ndarray, " G"]:
        mean, width = np.atleast_1d(self.estimate), np.diff(self._ends_of_all(), axis=-1)[:, 0]
        span = float(np.ptp(self.values))
        return labels_of_variance(self._variance(mean) / span**2, width / span, self.items, self.level)

    def _variance(self, mean: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
        """Estimate the variance of the labels: squares of cells by their labels, and by one of the pool's on average.

        Within cells labels are those of random items, whatever the design.
        """
        counts, sizes = np.asarray(self.counts, np.float64), np.asarray(self.cells.sizes, np.float64)
        away = (self.values - mean[self.group[self.cells.one_of_each()]][:, None]) ** 2  # (K, C)
        total = counts.sum(1)
        found = (counts * away).sum(1)
        weight = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)  # items that a label stands for
        overall = (weight * found).sum() / max((weight * total).sum(), 1.0)
        square = (found + overall) / (total + 1)
        group = self.group[self.cells.one_of_each()]
        return np.bincount(group, weights=sizes * square, minlength=len(mean)) / self.items


@dataclass(frozen=True, eq=False, repr=False)
class BeliefMeanResult(MeanResult, BeliefMetricResult):
    """A mean from a belief that learns what predictions and scores mean."""


@dataclass(frozen=True, eq=False, repr=False)
class WeightedMeanResult(MeanResult, MetricResult):
    """A mean from weighted draws."""
