"""Ranks and differences of several values, from joint draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from bayes_assess.estimators.joint_draws import joined_draws, pair_differences, random_ranks

SOME = arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(2, 5)), elements=st.integers(0, 4))


@given(SOME)
def test_every_draw_has_every_rank_once_and_higher_values_rank_higher(draws):
    ranks = random_ranks(draws, seed=1)
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(1, draws.shape[1] + 1), (len(draws), 1)))
    higher = draws[:, :, None] > draws[:, None, :]
    assert (ranks[:, :, None] > ranks[:, None, :])[higher].all()


def test_ties_are_broken_evenly():
    first = (random_ranks(np.full((4000, 4), 0.3), seed=2) == 1).mean(0)
    np.testing.assert_allclose(first, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 4000))


@given(SOME)
def test_a_pair_the_other_way_round_says_the_opposite(draws):
    found = pair_differences(draws, 1.0, 0.9)
    np.testing.assert_allclose(found.estimate, -found.estimate.T, atol=1e-12)
    np.testing.assert_allclose(found.interval, -found.interval.swapaxes(0, 1)[..., ::-1], atol=1e-12)
    np.testing.assert_allclose(found.masses, found.masses.swapaxes(0, 1)[..., ::-1], atol=1e-12)
    np.testing.assert_allclose(found.masses.sum(-1), 1, atol=1e-12)
    n = draws.shape[1]
    away = draws[:, :, None] - draws[:, None, :]
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(found.masses[off][:, 2], (away > 1).mean(0)[off], atol=0.06)  # of 400 quantiles or fewer


def test_differences_are_those_of_joint_draws():
    """Two values that move together differ by less than their own intervals say."""
    rng = np.random.default_rng(3)
    common, own = rng.normal(0, 1, (4000, 1)), rng.normal(0, 0.1, (4000, 2))
    found = pair_differences(common + own + np.array([0.0, 0.5]), 0.3, 0.95)
    spread = np.sqrt(2) * 0.1
    expected = stats.norm.cdf([-0.3, 0.3], -0.5, spread)
    assert found.masses[0, 1, 0] == pytest.approx(expected[0], abs=4 * np.sqrt(0.25 / 4000))
    assert found.estimate[0, 1] == pytest.approx(-0.5, abs=4 * spread * 1.2533 / np.sqrt(4000))
    assert np.diff(found.interval[0, 1])[0] == pytest.approx(2 * 1.96 * spread, rel=0.15)


def test_very_many_values_are_compared_by_fewer_draws():
    draws = np.random.default_rng(4).normal(np.arange(75), 0.1, (8000, 75))
    found = pair_differences(draws, 0.5, 0.95)
    assert (found.masses[np.triu_indices(75, 1)][:, 0] > 0.99).all()


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.9])
def test_joined_draws_keep_margins_and_correlation(correlation):
    at = (np.arange(400) + 0.5) / 400
    quantiles = np.stack([stats.norm.ppf(at), stats.expon.ppf(at)])
    draws = joined_draws(quantiles, np.array([[1, correlation], [correlation, 1]]), 20_000, seed=5)
    error = 4 / np.sqrt(20_000)
    for column, kind in zip(draws.T, (stats.norm, stats.expon), strict=True):
        assert stats.kstest(column, kind.cdf).statistic < 2.3 / np.sqrt(20_000) + 1 / 400
    expected = 6 / np.pi * np.arcsin(correlation / 2)  # Spearman's, of a Gaussian copula
    assert stats.spearmanr(*draws.T).statistic == pytest.approx(expected, abs=error)


def test_what_cannot_be_a_correlation_matrix_keeps_the_margins():
    """Pairs that come from different sums may not fit together: an eigenvalue is negative, and left out."""
    correlation = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert np.linalg.eigvalsh(correlation)[0] < -0.7
    quantiles = np.tile((np.arange(400) + 0.5) / 400, (3, 1))
    for column in joined_draws(quantiles, correlation, 20_000, seed=5).T:
        assert stats.kstest(column, stats.uniform.cdf).statistic < 2.3 / np.sqrt(20_000) + 1 / 400
