"""Rough draws of measures for plans have the moments of the draws that answers are made of."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.estimators import rough_measure
from bayes_assess.estimators.posterior_measure import measure_draws
from bayes_assess.estimators.rough_measure import rough_measure_draws
from bayes_assess.pool.rank_strata import RankStrata

N = 20_000
ITEMS = 9_000
SCORES = np.random.default_rng(0).beta(0.5, 1.5, ITEMS)
POOL = ba.Pool(scores=SCORES, groups={"site": np.arange(ITEMS) % 3})


def drawn(measure, strength, labelled, rare=1.0):
    """Draw the measure in both ways: some items of every cell are labelled, and those of the curves are rare or not."""
    reward = ba.Metric(measure, by="site").setting(POOL, strata=RankStrata(12)).reward
    size, rng = np.asarray(reward.size), np.random.default_rng(1)
    curves = rare * rng.beta(2, 5, (N, len(size)))
    known = np.minimum(size, labelled)
    counts = np.stack([known - known // 3, known // 3], axis=1)
    given = reward, curves, np.full_like(curves, strength), counts
    return measure_draws(np.random.default_rng(2), *given), rough_measure_draws(np.random.default_rng(3), *given)


@pytest.mark.parametrize("strength", [2.0, 30.0, 1e9])
@pytest.mark.parametrize("rare", [1.0, 1e-2])
@pytest.mark.parametrize("labelled", [0, 20])
def test_means_and_variances_of_a_linear_measure_are_those_of_the_cells(strength, rare, labelled):
    """Of skewed sums of rare events fourth moments are below 100 variances."""
    exact, rough = drawn("accuracy", strength, labelled, rare)
    spread = exact.std(0)
    assert (np.abs(rough.mean(0) - exact.mean(0)) < 5 * spread * np.sqrt(2 / N)).all()
    assert (np.abs(np.log(rough.std(0) / spread)) < 5 * np.sqrt(100 / 2 / N)).all()


@pytest.mark.parametrize("strength", [30.0, 1e9])
def test_quantiles_of_f1_are_about_those_of_the_cells(strength):
    exact, rough = drawn("f1", strength, 2)
    found, expected = (np.quantile(draws, [0.025, 0.5, 0.975], axis=0) for draws in (rough, exact))
    assert (np.abs(found - expected) < 0.1 * exact.std(0)).all()


def test_of_a_pool_that_is_labelled_in_full_every_draw_is_the_measure():
    exact, rough = drawn("f1", 30.0, ITEMS)
    np.testing.assert_allclose(rough, exact, rtol=1e-12)
    assert (np.ptp(rough, axis=0) == 0).all()


@pytest.mark.slow
def test_draws_do_not_depend_on_how_many_are_computed_at_once(monkeypatch):
    monkeypatch.setattr(rough_measure, "_AT_ONCE", 1)
    one_by_one = drawn("f1", 30.0, 2)[1]
    monkeypatch.setattr(rough_measure, "_AT_ONCE", 10**9)
    np.testing.assert_array_equal(one_by_one, drawn("f1", 30.0, 2)[1])
