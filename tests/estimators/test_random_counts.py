"""Bounds from random labels alone: what they rule out, and that they hold at all moments together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.estimators.random_counts import RandomLabels

NEAR = 1e-4  # relative distance from the threshold within which rounding decides


def bounds(labels: RandomLabels, sizes, level, **options):
    return [np.asarray(part) for part in labels.shares(np.asarray(sizes), level, **options)]


@given(st.data())
def test_the_counts_that_are_not_ruled_out_are_those_of_the_bet(data):
    size = data.draw(st.integers(1, 60))
    n = data.draw(st.integers(0, size))
    k = data.draw(st.integers(0, n))
    level = data.draw(st.sampled_from([0.5, 0.9, 0.95]))
    probability = stats.hypergeom(size, np.arange(size + 1), n).pmf(k) * (n + 1)
    left = np.flatnonzero(probability >= (1 - level) * (1 + NEAR))
    near = np.flatnonzero(probability >= (1 - level) * (1 - NEAR))
    low, high = bounds(RandomLabels.all_of(np.array([[n - k, k]])), [size], level)
    assert near[0] <= round(low[0, 1] * size) <= left[0]
    assert left[-1] <= round(high[0, 1] * size) <= near[-1]
    assert low[0, 0] == pytest.approx(1 - high[0, 1])  # of two outcomes one is what the other is not


@given(st.data())
def test_the_rates_that_are_not_ruled_out_are_those_of_the_bet(data):
    n = data.draw(st.integers(1, 200))
    k = data.draw(st.integers(0, n))
    low, high = bounds(RandomLabels.all_of(np.array([[n - k, k]])), [10**6], 0.9, of_pool=False)
    rates = np.array([low[0, 1], high[0, 1]])
    assert rates[0] <= k / n <= rates[1]
    at_ends = stats.binom(n, rates).pmf(k) * (n + 1)
    inside = (rates > 0) & (rates < 1)
    np.testing.assert_allclose(at_ends[inside], 0.1, rtol=1e-3)
    assert (rates[0] == 0) == (k == 0)
    assert (rates[1] == 1) == (k == n)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "n_right"), [(50, 3), (200, 100), (300, 5), (30, 29)])
def test_bounds_hold_at_all_moments_together(size, n_right):
    rng, level, repeats = np.random.default_rng(size), 0.9, 1000
    shows = rng.permuted(np.tile(np.arange(size) < n_right, (repeats, 1)), axis=1)
    k = np.pad(np.cumsum(shows, axis=1), [(0, 0), (1, 0)])
    counts = np.stack([np.arange(size + 1) - k, k], axis=-1)[:, :, None]
    low, high = bounds(RandomLabels.all_of(counts), [size], level)
    share = n_right / size
    missed = ((low[..., 0, 1] > share + 1e-9) | (high[..., 0, 1] < share - 1e-9)).any(axis=1)
    assert missed.sum() <= stats.binom(repeats, 1 - level).ppf(1 - 1e-6)
    assert (low[:, -1, 0, 1] == share).all()  # all labelled
    assert (high[:, -1, 0, 1] == share).all()


def test_labels_that_were_lost_may_have_shown_anything():
    counts = np.array([[2, 18]])
    some = RandomLabels.all_of(counts)
    lossy = some._replace(lost=np.array([5]))
    low, high = bounds(lossy, [1000], 0.95)
    (worst, _), (_, best) = (
        bounds(RandomLabels.all_of(counts + more), [1000], 0.95) for more in (np.array([[5, 0]]), np.array([[0, 5]]))
    )
    np.testing.assert_array_equal(low[0, 1], worst[0, 1])
    np.testing.assert_array_equal(high[0, 1], best[0, 1])


def test_what_was_told_without_having_been_drawn_is_known_and_says_nothing_of_others():
    drawn = RandomLabels.all_of(np.array([[2, 18]]))
    told = drawn._replace(known=np.array([[30, 0]]), aside=np.array([10]))
    low, high = bounds(told, [1000], 0.95)
    inner_low, inner_high = bounds(drawn, [960], 0.95)
    np.testing.assert_allclose(low[0, 1] * 1000, inner_low[0, 1] * 960)
    np.testing.assert_allclose(high[0, 1] * 1000, inner_high[0, 1] * 960 + 10)
    for mine, theirs in zip(
        bounds(told, [1000], 0.95, of_pool=False), bounds(drawn, [1000], 0.95, of_pool=False), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_a_billion_items_are_no_more_work():
    low, high = bounds(RandomLabels.all_of(np.array([[100, 900]])), [10**9], 0.95)
    of_population = bounds(RandomLabels.all_of(np.array([[100, 900]])), [10**9], 0.95, of_pool=False)
    np.testing.assert_allclose([low[0, 1], high[0, 1]], [part[0, 1] for part in of_population], atol=1e-4)
