"""The share of items with a positive label, and what the predictions alone would have said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.estimators.random_labels import random_labels
from bayes_assess.results._proxy import ProxyResult
from bayes_assess.results.belief_metric import BeliefMetricResult
from bayes_assess.results.metric import MetricResult


@dataclass(frozen=True, eq=False, repr=False)
class RateResult(ProxyResult):
    """The rate of positive labels of a pool, or of its groups, beside that of the predictions.

    Attributes
    ----------
    judge_rate : float, or (G,) for groups
        Share of the items that are predicted positive: what the predictions alone say.
    bias : float or (G,)
        How far that is above the estimate.
    bias_interval : (2,) or (G, 2)
        Of the bias: the judge's rate less the interval of the rate.
    random_labels : int or (G,) integers
        Labels of random items, of every group, that would have given an interval as narrow; see
        `bayes_assess.estimators.random_labels`.
    """

    @property
    def judge_rate(self) -> Any:
        """What the predictions alone say."""
        return self._shaped(self._judge)

    @property
    def _labels_as_good(self) -> Int[np.ndarray, " G"]:
        width = np.diff(self._ends_of_all(), axis=-1)[:, 0]
        return random_labels(np.atleast_1d(self.estimate), width, self.items, self.level)


@dataclass(frozen=True, eq=False, repr=False)
class BeliefRateResult(RateResult, BeliefMetricResult):
    """A rate from a belief that learns what predictions and scores mean."""


@dataclass(frozen=True, eq=False, repr=False)
class WeightedRateResult(RateResult, MetricResult):
    """A rate from weighted draws."""
