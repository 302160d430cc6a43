"""Answers on the values of cells, in the population and in a finite pool."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bayes_assess.estimators import finite_pool
from bayes_assess.estimators.finite_pool import _EXACT_UP_TO, difference_in_halves, mean_absolute_gap, pair_masses
from bayes_assess.models import BetaBernoulli, HierarchicalAccuracy


def population_gap(a, b, s):
    counts = np.zeros((1, 2), int)
    return mean_absolute_gap(BetaBernoulli(np.array([a]), np.array([b])), counts, None, np.array([s]))[0]


def absolute_gap(a, b, s):
    """E|theta - s| as the areas under the distribution function up to s and under the survival function from s."""
    distribution = stats.beta(a, b)
    tail, near = 10.0 ** -np.arange(3, 12, 3), 10.0 ** -np.arange(1, 10)
    points = np.concatenate(
        [distribution.ppf(tail), distribution.ppf([0.05, 0.3, 0.5, 0.7, 0.95]), distribution.isf(tail), near, 1 - near]
    )

    def area(function, low, high):
        ends = np.unique(np.concatenate([[low], points[(points > low) & (points < high)], [high]]))
        return sum(integrate.quad(function, *ends[i : i + 2], epsabs=1e-13)[0] for i in range(len(ends) - 1))

    return area(distribution.cdf, 0.0, s) + area(distribution.sf, s, 1.0)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")  # of an error; the comparison says how large
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.floats(-1, 6), st.floats(-1, 6), st.floats(0.001, 0.999))
def test_the_mean_absolute_gap_equals_quadrature(log_a, log_b, s):
    a, b = 10.0**log_a, 10.0**log_b
    assert population_gap(a, b, s) == pytest.approx(absolute_gap(a, b, s), abs=1e-10)


def test_the_mean_absolute_gap_of_a_narrow_law_is_that_of_a_normal_one():
    n = 1e9
    # sqrt(2 / pi) standard deviations; the next term is of the relative order 1 / n.
    assert population_gap(n, n, 0.5) == pytest.approx(np.sqrt(2 / np.pi / (4 * (2 * n + 1))), rel=1e-7)


@pytest.mark.parametrize("rest", [10, 32, 33, 400])
def test_the_mean_absolute_gap_of_a_pool_is_that_of_the_items_without_a_label(rest):
    """Of a uniform rate every number of them that agree is as probable, which of many is a uniform share nearly."""
    uniform, size = BetaBernoulli(np.ones(1), np.ones(1)), rest + 8
    found = mean_absolute_gap(uniform, np.array([[2, 6]]), np.array([size]), np.array([0.4]))
    exact = np.abs((6 + np.arange(rest + 1)) / size - 0.4).mean()
    # Half of the distance between neighbouring shares at most, where they are many.
    assert found == pytest.approx(exact, abs=1e-9 if rest <= _EXACT_UP_TO else 0.5 / size)


def test_differences_have_the_moments_of_the_mixture_of_pools():
    """Given a part of the mixture the unlabelled items of two groups that agree are beta-binomial and independent."""
    told, sizes = np.array([[2, 10], [5, 4], [0, 0]]), np.array([40, 9, 25])
    posterior = HierarchicalAccuracy.from_prior(n_groups=3).update_counts(told)
    half = difference_in_halves(posterior, told, sizes, np.array([0, 0]), np.array([1, 2]))
    weight, (a, b) = np.asarray(posterior.weight), map(np.asarray, posterior.parts)
    distribution = stats.betabinom(sizes - told.sum(1), a, b)
    mean, variance = (told[:, 1] + distribution.mean()) / sizes, distribution.var() / sizes**2
    away, spread = mean[:, [0]] - mean[:, 1:], variance[:, [0]] + variance[:, 1:]
    middle = weight @ away
    np.testing.assert_allclose(half.mean, (1 + middle) / 2, rtol=1e-12)
    np.testing.assert_allclose(half.variance, weight @ (spread + (away - middle) ** 2) / 4, rtol=1e-9)


def test_differences_of_very_many_pairs_are_computed_some_at_a_time(monkeypatch):
    told, sizes = np.array([[[2, 10], [5, 4], [0, 0], [9, 3]]] * 2), np.array([40, 9, 25, 99])
    posterior, pairs = HierarchicalAccuracy.from_prior(n_groups=4).update_counts(told), np.triu_indices(4, 1)
    at_once = difference_in_halves(posterior, told, sizes, *pairs)
    monkeypatch.setattr(finite_pool, "_IN_CACHE", 1)
    one_by_one = difference_in_halves(posterior, told, sizes, *pairs)
    np.testing.assert_array_equal(one_by_one.a, at_once.a)
    np.testing.assert_array_equal(one_by_one.b, at_once.b)


def test_masses_of_very_many_pairs_are_computed_some_at_a_time(monkeypatch):
    told, sizes = np.array([[2, 10], [5, 4], [0, 0], [9, 3]]), np.array([40, 9, 25, 99])
    posterior, (first, second) = HierarchicalAccuracy.from_prior(n_groups=4).update_counts(told), np.triu_indices(4, 1)

    def masses():
        return pair_masses(posterior, told, sizes, first, second, 0.05)

    whole = masses()
    monkeypatch.setattr(finite_pool, "_PAIR_NUMBERS", 25_000)  # two pairs of 10,000 draws
    np.testing.assert_array_equal(masses(), whole)
    monkeypatch.setattr(finite_pool, "_PAIR_DRAWS", 6 * 2000)
    few = masses()
    assert not np.array_equal(few, whole)
    assert (np.abs(few - whole) < 4.5 * np.sqrt(whole * (1 - whole) / 2000)).all()
    np.testing.assert_allclose(few.sum(-1), 1)


def test_no_pairs_have_no_masses():
    told, none = np.array([[2, 10]]), np.zeros(0, int)
    posterior = HierarchicalAccuracy.from_prior(n_groups=1).update_counts(told)
    assert pair_masses(posterior, told, np.array([40]), none, none, 0.05).shape == (0, 3)
