"""Summaries of posterior draws are those of NumPy, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_assess.estimators.posterior_measure import PosteriorMeasure, posterior_measure


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_draws", "n_measures"), [(1, 1), (2, 3), (999, 5), (1_000, 65), (1_001, 2)])
def test_quantiles_are_those_of_numpy(n_draws, n_measures, dtype):
    rng = np.random.default_rng(n_draws)
    draws = rng.normal(size=(n_draws, n_measures)).round(rng.integers(1, 9)).astype(dtype)
    draws[:, 0] = draws[0, 0]  # all alike
    draws[0, -1] = np.nan if n_measures == 5 else draws[0, -1]
    found = posterior_measure(draws, False).quantiles
    n = found.shape[1]
    assert n == (400 if n_measures <= 64 else 100)
    np.testing.assert_array_equal(found, np.quantile(draws, (np.arange(n) + 0.5) / n, axis=0).T)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("batch", [(2,), (3, 4, 1)])
def test_no_interval_of_the_level_is_shorter_and_the_equal_tailed_one_is_within(level, batch):
    quantiles = np.sort(np.random.default_rng(0).beta(0.5, 3.0, (*batch, 400)), axis=-1)
    places = np.arange(400) + 0.5
    ends = PosteriorMeasure(quantiles, np.asarray(False), quantiles[..., 200]).interval(level)
    assert ends.shape == (*batch, 2)
    for at in np.ndindex(batch):
        at_probability = lambda p, of=quantiles[at]: np.interp(400 * p, places, of)  # noqa: E731
        starts = np.linspace(0, 1 - level, 41)
        lows, highs = at_probability(starts), at_probability(starts + level)
        shortest = np.argmin(highs - lows)
        tail = (1 - level) / 2
        np.testing.assert_allclose(ends[at][0], min(lows[shortest], at_probability(tail)), rtol=1e-12)
        np.testing.assert_allclose(ends[at][1], max(highs[shortest], at_probability(1 - tail)), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 100])  # of many measures fewer quantiles are kept
@pytest.mark.parametrize("level", [0.99, 0.995, 0.999, 0.9999])
def test_intervals_of_a_high_level_reach_as_far_as_the_draws_do(k, level):
    draws = np.random.default_rng(0).normal(size=(4000, k))
    ends = posterior_measure(draws, False).interval(level)
    inside = ((ends[:, 0] <= draws) & (draws <= ends[:, 1])).mean()
    assert inside > level - 5e-4


def test_a_higher_level_never_has_a_narrower_interval():
    draws = np.random.default_rng(1).beta(0.5, 2.0, (4000, 70))
    found = posterior_measure(draws, False)
    ends = np.stack([found.interval(level) for level in (0.9, 0.95, 0.98, 0.989, 0.99, 0.991, 0.995, 0.999, 0.99999)])
    assert (np.diff(ends[..., 0], axis=0) <= 0).all()
    assert (np.diff(ends[..., 1], axis=0) >= 0).all()
