"""Bounds of precisions from random items, and from windows of labelled ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bayes_assess.acquisition.precision_curve import geometric_ranks
from bayes_assess.errors import DesignError
from bayes_assess.estimators.precision_bounds import lowest_precision_bound, samples_per_point
from bayes_assess.estimators.precision_windows import window_bounds
from published import hoeffding_radius


def test_the_lower_bound_of_precision_holds_at_all_times_at_once():
    n, repeats, delta, p = 4000, 1000, 0.2, 0.5
    rng, times = np.random.default_rng(5), np.unique(np.geomspace(1, n, 300).astype(int))
    means = np.cumsum(rng.random((repeats, n)) < p, axis=1)[:, times - 1] / times
    radius = np.array([1 - lowest_precision_bound(t, 1.0, delta) for t in times.tolist()])
    missed = (means - radius > p).any(1).sum()
    assert missed <= stats.binom.ppf(1 - 1e-6, repeats, delta)
    fixed = np.sqrt(math.log(1 / delta) / 2 / times)  # Hoeffding's, which holds at one time only
    assert (means - fixed > p).any(1).sum() > stats.binom.ppf(1 - 1e-6, repeats, delta)
    large = radius[times > 100] ** 2 * times[times > 100]
    np.testing.assert_allclose(
        large, 0.6 * np.log(np.log(times[times > 100]) / np.log(1.1) + 1) + 5 / 9 * np.log(12 / delta)
    )
    assert lowest_precision_bound(0, 0.0, delta) == 0


def test_the_number_of_samples_is_that_of_hoeffdings_bound():
    """(5) of [ADA], solved for the half-width: (beta - 1) p_min."""
    for n_points, beta, delta, p_min in [(1, 1.05, 0.05, 0.5), (20, 1.2, 0.1, 0.3)]:
        s = samples_per_point(n_points, beta, delta, p_min)
        half_width = (beta - 1) * p_min
        assert hoeffding_radius(np.ones(1), np.array([s]), delta / n_points) <= half_width
        assert hoeffding_radius(np.ones(1), np.array([s - 1]), delta / n_points) > half_width
    clean, noisy = samples_per_point(20, 1.2, 0.1, 0.3), samples_per_point(20, 1.2, 0.1, 0.3, eta=0.1)
    assert noisy / clean == pytest.approx((1.1 / 0.1 * 0.2) ** 2, rel=0.01)


def test_windows_bound_a_list_whose_density_falls():
    rng = np.random.default_rng(6)
    for _ in range(50):
        rate = np.sort(rng.random(5000))[::-1]
        positives = np.cumsum(rate)  # expected ones: windows without sampling error
        ranks = np.append(200, geometric_ranks(5000, 200, 0.1))
        bounds = window_bounds(ranks, rate[ranks - 1], 0)
        v = np.arange(200, 5001)
        lower, upper = bounds.positives_at(v)
        truth = (positives - positives[199])[v - 1]
        assert (lower <= truth + 1e-9).all()
        assert (truth <= upper + 1e-9).all()
        np.testing.assert_allclose(bounds.precision_at(v) * v, np.sqrt(lower * upper))
        np.testing.assert_allclose(upper[-1], sum(np.diff(ranks) * rate[ranks[:-1] - 1]))
    rising = window_bounds(np.array([10, 20]), np.array([0.2, 0.4]), 5)
    assert (rising.lower[1], rising.upper[1]) == (7.0, 9.0)
    with pytest.raises(DesignError, match="between 10 and 20"):
        rising.positives_at(np.array([21]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: samples_per_point(0, 1.05, 0.05, 0.5), "one rank"),
        (lambda: samples_per_point(1, 1.05, 0.05, 0.5, eta=0.05), "greater one"),
        (lambda: samples_per_point(1, 1.05, 0.05, 0.5, eta=0.5), "eta"),
        (lambda: samples_per_point(1, 1.05, 0.0, 0.5), "delta"),
        (lambda: window_bounds(np.array([2, 1]), np.ones(2), 1), "increasing"),
    ],
)
def test_arguments_out_of_range_are_refused(call, message):
    with pytest.raises(DesignError, match=message):
        call()
