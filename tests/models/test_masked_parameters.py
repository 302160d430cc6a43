"""Parameters, draws and thresholds that are masked: what stands in their place is no value."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.acquisition import SampledBelief

SCORES = np.array([0.2, 0.4, 0.6, 0.9] * 10)


def masked(values):
    """Mask the first of the values."""
    array = np.ma.array(values)
    array[(0,) * array.ndim] = np.ma.masked
    return array


def asked(question=None, **options):
    return ba.assess(ba.Pool(scores=SCORES), question or ba.GroupAccuracy("prediction"), **options)


@pytest.mark.parametrize(
    "made",
    [
        lambda: asked(prior=ba.BetaBernoulli(masked([1.0, 2.0]), np.ones(2))),
        lambda: asked(ba.ConfusionMatrix(), prior=ba.DirichletConfusion(masked(np.ones((2, 2))))),
        lambda: asked(prior=SampledBelief(masked(np.full((9, 2), 0.5)), np.zeros(9))),
        lambda: asked().ask(2, posterior=masked(np.full((9, 2), 0.5))),
        lambda: asked(ba.PRCurve(masked([0.3, 0.5]))),
        lambda: asked(ba.Mean(masked([0.0, 1.0]))),
        lambda: ba.DirichletConfusion.from_prior(2, mean_scores=masked([[0.4, 0.6], [0.5, 0.5]])),
        lambda: ba.BetaBernoulli.from_prior(2, mean_score=masked([0.4, 0.6])),
        lambda: ba.CalibrationBins.from_prior(2, score=[[0.4, 0.6]], size=masked([[3, 4]])),
        lambda: ba.intervals.beta_interval(masked([1.0, 2.0]), 1.0),
        lambda: ba.intervals.pool_mean(1, 2, masked([3, 4]), 0.5),
        lambda: ba.simulate(ba.Pool(scores=SCORES), SCORES > 0.5, ba.Metric("f1"), budgets=masked([10, 20])),
    ],
)
def test_masked_numbers_are_refused_as_missing_ones(made):
    with pytest.raises(ba.BayesAssessError):
        made()


def test_masks_that_hide_nothing_are_none():
    prior = ba.BetaBernoulli(np.ma.array([1.0, 2.0]), np.ma.ones(2))
    assert asked(prior=prior).result().estimate.tolist() == pytest.approx([1 / 2, 2 / 3], abs=0.01)
