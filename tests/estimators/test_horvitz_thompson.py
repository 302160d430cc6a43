"""Ratios of totals from known inclusion probabilities: their bias, and Beta intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.estimators.horvitz_thompson import moment_interval, ratio_bias


@given(st.floats(0.1, 0.9), st.floats(1e-6, 0.5))
def test_beta_intervals_have_the_mean_and_the_variance(value, share):
    variance = share * value * (1 - value)
    low, high = moment_interval(value, variance, 0.9)
    total = 1 / share - 1
    distribution = stats.beta(value * total, (1 - value) * total)
    assert distribution.var() == pytest.approx(variance, rel=1e-6)
    assert 0 <= low <= value <= high <= 1
    # Ends are rounded, and beside 0 and 1 the density can be infinite.
    assert distribution.cdf(np.nextafter(low, -1)) <= 0.05 + 1e-6
    assert distribution.sf(np.nextafter(high, 2)) <= 0.05 + 1e-6


def test_beta_intervals_at_the_ends_have_a_width_unless_exact():
    assert moment_interval(1.0, 0.0).tolist() == [1, 1]
    assert moment_interval(0.3, 0.0).tolist() == [0.3, 0.3]
    low, high = moment_interval(1.0, 1e-4, 0.9)
    assert high == 1
    a = np.log(0.1) / np.log(low)  # P(x < low) of Beta(a, 1)
    assert 2 / ((a + 1) * (a + 2)) == pytest.approx(1e-4, rel=1e-9)
    np.testing.assert_allclose(moment_interval(0.0, 1e-4, 0.9), [0, 1 - low])
    for value, variance in [(0.2, 0.17), (0.2, 9.0), (0.2, np.inf), (1.0, 2.0), (0.0, np.inf)]:
        assert moment_interval(value, variance).tolist() == [0, 1]


@pytest.mark.parametrize(("end", "near"), [(0.0, 1e-16), (1.0, 1 - 2.0**-53)])
def test_rounding_does_not_take_the_interval_from_an_end(end, near):
    np.testing.assert_allclose(moment_interval(near, 1e-3), moment_interval(end, 1e-3), atol=1e-15)


def test_the_ratio_of_independent_draws_is_off_by_its_first_order_bias():
    """F1 of Poisson samples of 60 labels is too great: missed positives are seldom drawn, and then weigh much."""
    rng = np.random.default_rng(0)
    predicted = rng.random(1_000) < 0.05
    label = np.where(predicted, rng.random(1_000) < 0.7, rng.random(1_000) < 0.02)
    losses = np.stack([predicted * label, (predicted + label.astype(float)) / 2], axis=1)
    b = np.where(predicted, 0.8, 0.12)
    truth = losses.sum(0)
    covariance = (losses * ((1 - b) / b)[:, None]).T @ losses
    first_order = ratio_bias(truth, covariance)
    ratios, estimated = [], []
    for _ in range(4_000):
        drawn = rng.random(1_000) < b
        found, chance = losses[drawn], b[drawn, None]
        total = (found / chance).sum(0)
        ratios.append(total[0] / total[1])
        estimated.append(ratio_bias(total, (found * (1 - chance) / chance**2).T @ found))
    bias, error = np.mean(ratios) - truth[0] / truth[1], np.std(ratios) / np.sqrt(4_000)
    assert bias > 5 * error
    # The next order is that of the bias times the squared coefficient of variation of the denominator.
    assert abs(bias - first_order) < 4 * error + 3 * first_order * covariance[1, 1] / truth[1] ** 2
    assert abs(np.mean(estimated) - first_order) < 0.3 * first_order
    left = np.mean(np.subtract(ratios, estimated)) - truth[0] / truth[1]
    assert abs(left) < 0.3 * bias


def test_a_ratio_without_a_denominator_has_no_bias():
    assert ratio_bias(np.zeros(2), np.zeros((2, 2))) == 0
