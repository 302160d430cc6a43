"""Stratified estimates of a ranked list's precision, exact where all is labelled."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.errors import LabelError
from bayes_assess.estimators.ranked_labels import RankedLabels, debiased_interval
from published import hoeffding_radius


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_strata(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(2, 60))
    told = rng.random(n_items) < rng.random()
    labels = rng.random(n_items) < 0.5
    edges = np.sort(rng.choice(n_items, int(rng.integers(1, n_items)), replace=False)) + 1
    n, positive = RankedLabels(np.flatnonzero(told) + 1, labels[told], n_items).counts(edges)
    parts = list(itertools.pairwise([0, *edges.tolist()]))
    assert n.tolist() == [int(told[a:b].sum()) for a, b in parts]
    assert positive.tolist() == [int((told & labels)[a:b].sum()) for a, b in parts]


def test_full_labels_give_the_precision_without_error():
    labels = np.random.default_rng(0).random(997) < 0.3
    found, edges = RankedLabels(np.arange(1, 998), labels, 997), np.array([7, 500, 997])
    np.testing.assert_array_equal(found.precision_at(edges), np.cumsum(labels)[edges - 1] / edges)
    np.testing.assert_array_equal(found.radius_at(edges, 0.05), 0)
    assert (found.radius_at(edges, 0.05, noisy=True) > 0).all()


def test_estimates_are_unbiased_and_their_intervals_hold():
    rng, n_items, edges, n = np.random.default_rng(1), 300, np.array([20, 100, 300]), [20, 10, 30]
    labels = rng.random(n_items) < np.linspace(0.9, 0.1, n_items)
    truth, estimates, repeats, delta = np.cumsum(labels)[edges - 1] / edges, [], 2000, 0.3
    for _ in range(repeats):
        drawn = [rng.choice(np.arange(a, b), k, replace=False) for a, b, k in zip([0, *edges], edges, n, strict=False)]
        told = np.sort(np.concatenate(drawn))
        found = RankedLabels(told + 1, labels[told], n_items)
        estimates.append(found.precision_at(edges))
    error = np.array(estimates) - truth
    assert (np.abs(error.mean(0)) <= 4 * error.std(0) / math.sqrt(repeats) + 1e-12).all()
    assert (error[:, 0] == 0).all()
    radius = found.radius_at(edges, delta)
    missed = (np.abs(error) > radius + 1e-12).sum(0)
    assert (missed <= stats.binom.ppf(1 - 1e-6, repeats, delta)).all()
    assert (np.abs(error[:, 1:]) > radius[1:] / 4).mean(0).min() > delta  # a quarter of the half-width is too little


def test_half_widths_are_hoeffdings():
    told = np.array([1, 2, 3, 5, 9, 20, 21, 28])
    found, edges = RankedLabels(told, told % 2 == 0, 30), np.array([3, 10, 30])
    expected = [
        0.0,
        0.5,  # five of ten labels are lacking, which is less than 0.61 by chance
        hoeffding_radius(np.array([7 / 30, 20 / 30]), np.array([2, 3]), 0.1),
    ]
    np.testing.assert_allclose(found.radius_at(edges, 0.1), expected)


def test_a_few_labels_that_are_lacking_matter_no_more_than_their_share():
    told = np.delete(np.arange(1, 31), [4, 20])
    found, edges = RankedLabels(told, told % 2 == 0, 30), np.array([10, 30])
    np.testing.assert_allclose(found.radius_at(edges, 0.1), [0.1, 2 / 30])
    by_chance = hoeffding_radius(np.array([10 / 30, 20 / 30]), np.array([9, 19]), 0.1)
    np.testing.assert_allclose(found.radius_at(edges, 0.1, noisy=True)[1], by_chance)


def test_a_stratum_without_labels_may_be_all_positive_or_all_negative():
    found, edges = RankedLabels(np.array([1, 2]), np.array([True, False]), 10), np.array([2, 10])
    p, radius = found.precision_at(edges), found.radius_at(edges, 0.05)
    np.testing.assert_allclose([p[1] - radius[1], p[1] + radius[1]], [0.1, 0.9])


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 1), st.floats(0, 0.45), st.floats(0, 1), st.floats(0, 1))
def test_debiased_intervals_hold_whatever_the_error_rates(p, eta, a, b):
    missed, wrong = a * eta, b * eta
    mean = np.array([p * (1 - missed) + (1 - p) * wrong])
    low, high = debiased_interval(mean, mean, eta)
    assert low[0] - 1e-9 <= p <= high[0] + 1e-9
    alike = np.array([p * (1 - wrong) + (1 - p) * wrong])
    low, high = debiased_interval(alike, alike, eta, same_rate=True)
    assert low[0] - 1e-9 <= p <= high[0] + 1e-9


def test_debiased_intervals_are_reached():
    for p, eta in itertools.product([0.2, 0.6, 0.9], [0.05, 0.2]):
        for missed, wrong, end in [(eta, 0, 1), (0, eta, 0)]:
            mean = np.array([p * (1 - missed) + (1 - p) * wrong])
            assert debiased_interval(mean, mean, eta)[end][0] == pytest.approx(p)
        mean = np.array([p * (1 - eta) + (1 - p) * eta])
        interval = debiased_interval(mean, mean, eta, same_rate=True)
        assert interval[int(mean[0] > 0.5)][0] == pytest.approx(p)


def test_without_annotators_errors_intervals_stay():
    lower, upper = debiased_interval(np.array([0.2]), np.array([0.9]), 0.0)
    assert (lower[0], upper[0]) == (0.2, 0.9)


@pytest.mark.parametrize(
    ("ranks", "labels", "message"),
    [
        ([2, 1], [1, 0], "increase"),
        ([1, 1], [1, 0], "increase"),
        ([1, 11], [1, 0], "10 items"),
        ([1], [1, 0], "one label"),
    ],
)
def test_labels_that_do_not_fit_the_list_are_refused(ranks, labels, message):
    with pytest.raises(LabelError, match=message):
        RankedLabels(np.array(ranks), np.array(labels, bool), 10)


def test_strata_and_probabilities_out_of_range_are_refused():
    found = RankedLabels(np.array([1]), np.array([True]), 10)
    with pytest.raises(LabelError, match="Strata"):
        found.counts(np.array([5, 11]))
    with pytest.raises(LabelError, match="delta"):
        found.radius_at(np.array([5]), 0.0)
    with pytest.raises(LabelError, match="eta"):
        debiased_interval(np.ones(1), np.ones(1), 0.5)


def test_curves_between_ends_of_strata_lead_through_the_precisions_there():
    rng = np.random.default_rng(0)
    ranks = np.sort(rng.choice(np.arange(1, 3001), 1000, replace=False))
    labelled = RankedLabels(np.union1d(np.arange(1, 31), ranks), np.union1d(np.arange(1, 31), ranks) % 3 == 0, 4000)
    edges = np.array([30, 500, 3000, 3500, 4000])  # the last two have no labels
    known, precision = labelled.curve_between(edges, 50)
    assert (np.diff(known) > 0).all()
    assert 10 < len(known) <= 5 + labelled.n_labelled // 50
    at = np.searchsorted(known, edges)
    np.testing.assert_array_equal(known[at], edges)
    np.testing.assert_allclose(precision[at], labelled.precision_at(edges))
    steps = np.diff(known * precision)
    assert (steps >= -1e-9).all()
    assert (steps <= np.diff(known) + 1e-9).all()


def test_a_curve_between_ends_of_strata_is_exact_where_all_items_are_labelled():
    labels = np.random.default_rng(1).random(700) < 0.3
    known, precision = RankedLabels(np.arange(1, 701), labels, 700).curve_between(np.array([300, 700]), 32)
    assert len(known) > 15
    np.testing.assert_allclose(precision, np.cumsum(labels)[known - 1] / known)
