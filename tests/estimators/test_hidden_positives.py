"""Positives that are supposed to hide: measures worked out by hand, and the exact bound of random labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.estimators.hidden_positives import HiddenPositives, bulk_cells, most_positives
from bayes_assess.pool.rank_strata import RankStrata

SCORES = np.repeat([0.01, 0.02, 0.9], [80, 10, 10])  # ten items are predicted positive
COUNTS = np.array([[0, 0], [0, 0], [2, 8]])


def drawn(curves, counts=COUNTS, measure="f1", n=5) -> HiddenPositives:
    setting = ba.Metric(measure).setting(ba.Pool(scores=SCORES), strata=RankStrata(100))
    assert setting.cells.sizes.tolist() == [80, 10, 10]
    rates = np.tile(np.asarray(curves, np.float64), (n, 1))
    bulk = np.array([True, False, False])
    return HiddenPositives.drawn(
        np.random.default_rng(0), setting.reward, rates, np.full_like(rates, 1e12), counts, bulk
    )


@pytest.mark.parametrize(("share", "hidden"), [(0, 0), (0.2, 2), (0.5, 8), (0.999, 80)])  # 8 positives elsewhere
def test_f1_counts_hidden_positives_among_all_positives(share, hidden):
    expected = 2 * 8 / (10 + 8 + hidden)
    np.testing.assert_allclose(drawn([0, 0, 0.8]).draws(share), expected, rtol=1e-9)


def test_recall_falls_and_precision_does_not():
    np.testing.assert_allclose(drawn([0, 0, 0.8], measure="recall").draws(0.2), 0.8, rtol=1e-9)
    np.testing.assert_allclose(drawn([0, 0, 0.8], measure="precision").draws(0.2), 0.8, rtol=1e-9)


def test_draws_in_which_more_hide_already_stay_as_they_are():
    found = drawn([1, 0, 0.8])  # all of the bulk is positive: 80
    np.testing.assert_allclose(found.draws(0.0), 16 / (18 + 80), rtol=1e-9)
    np.testing.assert_allclose(found.draws(0.5), 16 / (18 + 80), rtol=1e-9)


def test_positives_outside_of_the_bulk_are_no_hidden_ones():
    found = drawn([0, 1, 0.8])  # the ten items in the middle are positive, not predicted so
    assert found.elsewhere.sum(1).tolist() == [18] * 5
    np.testing.assert_allclose(found.draws(0.5), 16 / (10 + 18 + 18), rtol=1e-9)


def test_labelled_items_of_the_bulk_are_what_they_are():
    found = drawn([0, 0, 0.8], counts=np.array([[60, 4], [0, 0], [2, 8]]))
    assert found.unlabelled.sum() == 16
    np.testing.assert_allclose(found.draws(0.5), 16 / (10 + 12 + 12), rtol=1e-9)
    np.testing.assert_allclose(found.draws(0.9), 16 / (10 + 12 + 16), rtol=1e-9)  # no more than there are


def test_items_that_are_known_alone_are_what_they_are_too():
    known = np.array([[60, 4], [0, 0], [0, 0]])
    setting = ba.Metric("f1").setting(ba.Pool(scores=SCORES), strata=RankStrata(100))
    rates, bulk = np.tile([0, 0, 0.8], (5, 1)), np.array([True, False, False])
    parts = np.random.default_rng(0), setting.reward, rates, np.full_like(rates, 1e12), COUNTS, bulk
    found = HiddenPositives.drawn(*parts, known)
    assert found.unlabelled.sum() == 16
    np.testing.assert_allclose(found.draws(0.5), 16 / (10 + 12 + 12), rtol=1e-9)
    all_positive = HiddenPositives.drawn(*parts[:2], np.ones_like(rates), *parts[3:], known)
    assert all_positive.believed.tolist() == [16] * 5


def test_the_bulk_is_rarely_positive_and_never_predicted_so():
    size = np.array([1000, 100, 10, 0])
    expected = np.array([0.001, 0.3, 0.9, 0.0])  # 40 of 1,110: the half of it is 0.018
    assert bulk_cells(expected, size, np.array([True, True, False, True])).tolist() == [True, False, False, False]
    assert not bulk_cells(np.array([0.0, 0.5]), np.array([9, 9]), np.array([False, False])).any()


@pytest.mark.parametrize(
    ("n", "labels", "found"), [(90, 9, 0), (1000, 50, 2), (20, 20, 7), (12, 11, 3), (10**8, 300, 1)]
)
def test_bounds_are_the_greatest_numbers_that_labels_do_not_rule_out(n, labels, found):
    most = most_positives(n, labels, found, 0.95)
    assert stats.hypergeom.cdf(found, n, most, labels) > 0.05 - 1e-6
    if most < n - (labels - found):
        assert stats.hypergeom.cdf(found, n, most + 1, labels) <= 0.05 + 1e-6


def test_bounds_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    found = rng.hypergeometric(6, 194, 40, size=20_000)
    bounds = np.array([most_positives(200, 40, k, 0.9) for k in range(7)])
    miss = (bounds[found] < 6).mean()
    assert miss <= 0.1 + 4 * np.sqrt(0.09 / 20_000)


def test_random_labels_rule_out_a_share_of_all_positives():
    found = drawn([0, 0, 0.8])
    assert found.ruled_out(10, 5, 0, 0.95) == pytest.approx(3 / (3 + 8))  # see `most_positives`
    assert found.ruled_out(10, 10, 0, 0.95) == 0.0
    assert found.ruled_out(80, 0, 0, 0.95) == pytest.approx(80 / 88)
