"""Effects of very many groups on calibration curves, drawn given a curve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayes_assess.models import group_effects
from bayes_assess.models.group_effects import SPREADS, with_group_effects

S = 4000


def drawn(counts, group, nu=40.0, rate=0.6, n=S, seed=0):
    rng = np.random.default_rng(seed)
    return with_group_effects(
        rng, np.full((n, len(group)), rate), np.full((n, len(group)), nu), np.asarray(counts), np.asarray(group)
    )


def test_the_posterior_is_that_of_a_fine_grid():
    """Effects of two groups and their spread, summed by brute force over betabinomial probabilities."""
    counts, group, nu, rate = np.array([[9, 1], [2, 3], [0, 8]]), np.array([0, 0, 1]), 20.0, 0.6
    u = np.linspace(-9, 9, 2001)
    share = 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + u)))
    cell = [stats.betabinom.pmf(k, n0 + k, nu * share, nu * (1 - share)) for n0, k in counts]
    likelihood = np.stack([cell[0] * cell[1], cell[2]])
    prior = stats.norm.pdf(u, 0, SPREADS[:, None])
    prior /= prior.sum(1, keepdims=True)
    evidence = np.prod(prior @ likelihood.T, axis=1)
    posterior = np.zeros((2, len(u)))
    for weight, one in zip(evidence / evidence.sum(), prior, strict=True):
        given = one * likelihood
        posterior += weight * given / given.sum(1, keepdims=True)
    mean, square = posterior @ share, posterior @ share**2
    error = np.sqrt(square - mean**2)
    found = drawn(counts, group, nu, rate)[:, [0, 2]]
    np.testing.assert_allclose(found.mean(0), mean, atol=4 * error.max() / np.sqrt(S) + 0.003)
    np.testing.assert_allclose(found.std(0), error, rtol=0.08)


def test_cells_of_a_group_move_together_and_groups_without_labels_follow_the_spread():
    counts = np.zeros((5, 2), int)
    counts[0], counts[2] = (0, 30), (30, 0)
    found = drawn(counts, [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    assert found[:, 1].mean() > 0.85
    assert found[:, 3].mean() < 0.15
    assert found[:, 4].std() > 0.2  # groups differ much, so that this one may be anywhere
    assert abs(np.median(found[:, 4]) - 0.6) < 0.05


def test_groups_that_are_alike_are_found_to_be():
    counts = np.tile([8, 12], (60, 1))
    found = drawn(counts, np.arange(60), nu=1e6, n=300)
    assert found.std() < 0.05  # the standard error of 20 labels alone is 0.11


def test_the_order_of_cells_does_not_matter():
    rng = np.random.default_rng(6)
    counts, group = rng.integers(0, 5, (12, 2)), rng.integers(0, 4, 12)
    group[:4] = np.arange(4)
    order = rng.permutation(12)
    one, other = drawn(counts, group, n=2000), drawn(counts[order], group[order], n=2000, seed=1)
    error = 4 * np.sqrt(2 / 2000) * one.std(0)[order]
    np.testing.assert_array_less(np.abs(one.mean(0)[order] - other.mean(0)), error)


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_labels_leave_the_curve_in_the_middle(n):
    counts = np.array([[0, n], [0, 0]])
    found = drawn(counts, [0, 1])
    assert np.isfinite(found).all()
    assert abs(np.median(found[:, 1]) - 0.6) < 4 * 1.2533 * 0.25 / np.sqrt(S) + 0.01


def test_without_labels_effects_have_the_spreads_of_the_prior_in_all_groups_at_once():
    found = drawn(np.zeros((50, 2), int), np.arange(50), rate=0.5)
    square = (np.log(found) - np.log1p(-found)) ** 2
    grid, step = np.linspace(-5, 5, 61, retstep=True)
    prior = stats.norm.pdf(grid, 0, SPREADS[:, None])
    variance = prior @ grid**2 / prior.sum(1) + step**2 / 12  # of an effect, given its spread
    of_draw = square.mean(1)
    assert abs(of_draw.mean() - variance.mean()) < 4 * of_draw.std() / np.sqrt(S)
    product = square[:, :25].mean(1) * square[:, 25:].mean(1)  # of groups that have nothing but the spread in common
    assert abs(product.mean() - (variance**2).mean()) < 4 * product.std() / np.sqrt(S)
    assert (variance**2).mean() > variance.mean() ** 2 + 8 * product.std() / np.sqrt(S)  # the check has teeth


def test_groups_of_few_labels_and_of_many_have_the_likelihood_that_logarithms_give():
    """Some groups have several cells, some more labels than factors are multiplied at once, and most a single label."""
    rng = np.random.default_rng(8)
    counts, group = rng.poisson(0.7, (60, 2)), rng.integers(0, 25, 60)
    counts[:3] = (30, 2), (0, 9), (7, 7)
    counts, group = counts[counts.sum(1) > 0], np.sort(group[counts.sum(1) > 0])
    group = np.unique(group, return_inverse=True)[1]
    logit, nu = rng.normal(size=(5, len(counts))), rng.gamma(3, 10, (5, len(counts)))
    kinds = group_effects._kinds(counts, group)
    assert len(kinds) == 2
    found = np.concatenate([kind.likelihood(logit, nu) for kind in kinds])
    found = found[np.argsort(np.concatenate([kind.groups for kind in kinds]))]
    grid = np.exp(group_effects._GRID)
    share = 1 - 1 / (1 + np.exp(logit)[..., None] * grid)
    cell = stats.betabinom.logpmf(
        counts[:, 1, None], counts.sum(1)[:, None], nu[..., None] * share, nu[..., None] * (1 - share)
    )
    log = np.stack([cell[:, group == g].sum(1) for g in range(group[-1] + 1)])
    np.testing.assert_allclose(found, np.exp(log - log.max(-1, keepdims=True)), rtol=1e-8)
    assert (np.bincount(group, counts.sum(1)) > 2 * group_effects._N_FACTORS).any()
    assert np.bincount(group).max() > 2
