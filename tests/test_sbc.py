from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sbc import ranks, uniformity

N, L = 4000, 63
ALPHA = 1e-4


def normal_posterior(rng, n=N, *, bias=0.0, scale=1.0):
    """theta ~ N(0, 1), x ~ N(theta, 1), so theta | x ~ N(x / 2, 1 / 2); bias and scale in posterior deviations."""
    theta = rng.normal(size=n)
    x = theta + rng.normal(size=n)
    sd = np.sqrt(0.5)
    return theta, x / 2 + bias * sd + scale * sd * rng.normal(size=(L, n))


@pytest.mark.parametrize("seed", range(5))
def test_a_right_posterior_passes(seed):
    rng = np.random.default_rng(seed)
    theta, draws = normal_posterior(rng)
    assert uniformity(ranks(theta, draws, rng), L) > ALPHA  # false alarm: 1e-4 per seed


@pytest.mark.parametrize(
    "fault",
    [{"bias": 0.15}, {"bias": -0.15}, {"scale": 0.87}, {"scale": 1.15}],
    ids=["too high", "too low", "too narrow", "too wide"],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_posterior_off_by_15_percent_of_its_deviation_fails(seed, fault):
    rng = np.random.default_rng(seed)
    theta, draws = normal_posterior(rng, **fault)
    assert uniformity(ranks(theta, draws, rng), L) < ALPHA


def test_the_prior_in_place_of_the_posterior_passes_so_that_calibration_needs_exact_tests_beside_it():
    # A known blind spot: the prior is calibrated too. The log-joint identity is what tells it from the posterior.
    rng = np.random.default_rng(0)
    assert uniformity(ranks(rng.normal(size=N), rng.normal(size=(L, N)), rng), L) > ALPHA


def test_p_values_of_a_right_posterior_are_uniform():
    rng = np.random.default_rng(7)
    p = [uniformity(ranks(*normal_posterior(rng, 400), rng), L) for _ in range(400)]
    # Kolmogorov-Smirnov on 400 p-values, false-alarm rate 1e-4; chi-square on 16 bins of 25 is all but continuous.
    assert stats.kstest(p, "uniform").pvalue > ALPHA


def test_ranks_count_the_draws_below():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(
        ranks(np.array([0.5, 9.0, -1.0]), np.arange(4.0)[:, None] * np.ones(3), rng), [1, 4, 0]
    )


def test_ties_are_broken_evenly():
    rng = np.random.default_rng(0)
    rank = ranks(np.ones(N), np.ones((L, N)), rng)
    assert rank.min() == 0
    assert rank.max() == L
    assert uniformity(rank, L) > ALPHA


def test_unequal_bins_and_too_few_ranks_are_refused():
    with pytest.raises(ValueError, match="multiple of the 16 bins"):
        uniformity(np.zeros(N, int), 64)
    with pytest.raises(ValueError, match="need 400 ranks"):
        uniformity(np.zeros(10, int), L)
