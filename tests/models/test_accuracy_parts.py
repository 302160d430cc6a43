"""Accuracies of parts of groups, held against draws of the prior weighted by the labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from bayes_assess.models import HierarchicalAccuracy
from bayes_assess.models.accuracy_parts import Alike, part_draws
from bayes_assess.models.hierarchical_accuracy import ALIKE, LOG_STRENGTH

GROUP = np.array([0, 0, 0, 1, 1])
AGREEMENTS, LABELS = np.array([6, 1, 0, 1, 0]), np.array([6, 3, 0, 5, 0])


def weighted_prior(rng, group, strength_prior, n=150_000):
    """Draw from the plates, in which no grid and no points occur: means and variances of theta, and weights."""
    nu, s = np.exp(rng.normal(np.log(12), 1.3, n)), np.exp(rng.normal(*strength_prior, n))
    mu = special.expit(rng.normal(1.0, 2.0, n))
    m = np.clip(rng.beta((nu * mu)[:, None] + 1e-12, (nu * (1 - mu))[:, None] + 1e-12, (n, 2)), 1e-12, 1 - 1e-12)
    center = m[:, group]
    # theta is integrated out: the labels of a part are beta-binomial given its group
    a, b = s[:, None] * center, s[:, None] * (1 - center)
    log_weight = special.betaln(a + AGREEMENTS, b + LABELS - AGREEMENTS) - special.betaln(a, b)
    mean = (a + AGREEMENTS) / (a + b + LABELS)
    return mean, mean * (1 - mean) / (a + b + LABELS + 1), np.exp(log_weight.sum(1))


def assert_drawn(theta, mean, within, weight):
    """Means and variances are those of the weighted draws.

    Twelve values of s and 64 points stand for the hyperprior: what that costs was measured at below 0.01.
    """
    weight = weight / weight.sum()
    expected = weight @ mean
    error = np.sqrt(weight**2 @ (mean - expected) ** 2)
    se = np.hypot(error, theta.std(0) / np.sqrt(len(theta)))
    assert np.abs(theta.mean(0) - expected).max() < 0.012 + 4 * se.max()
    assert theta.var(0) == pytest.approx(weight @ within + weight @ (mean - expected) ** 2, rel=0.15)


@pytest.mark.parametrize("strength_prior", [LOG_STRENGTH, ALIKE], ids=["classes", "sites"])
def test_posterior_means_and_variances_are_those_of_weighted_draws_of_the_prior(strength_prior):
    rng = np.random.default_rng(0)
    drawn = weighted_prior(rng, GROUP, strength_prior)
    way = Alike(HierarchicalAccuracy.from_prior(n_groups=2), GROUP, strength_prior)
    assert_drawn(part_draws([way], AGREEMENTS, LABELS, rng, 20_000), *drawn)


def test_ways_of_being_alike_are_as_probable_as_their_labels_make_them():
    rng, prior = np.random.default_rng(1), HierarchicalAccuracy.from_prior(n_groups=2)
    ways = [Alike(prior, GROUP, LOG_STRENGTH), Alike(prior, np.array([0, 1, 1, 0, 1]), ALIKE)]
    drawn = [weighted_prior(rng, way.group, way.strength_prior) for way in ways]
    share = drawn[1][2].mean() / sum(weight.mean() for *_, weight in drawn)
    assert 0.05 < share < 0.45  # neither way is left out
    both = [np.concatenate(pair) for pair in zip(*drawn, strict=True)]
    assert_drawn(part_draws(ways, AGREEMENTS, LABELS, rng, 20_000), *both)


def test_parts_that_are_whole_groups_with_many_labels_have_the_shares_of_their_labels():
    labels = np.array([4000, 4000, 4000])
    right = np.array([400, 2000, 3600])
    way = Alike(HierarchicalAccuracy.from_prior(n_groups=3), np.arange(3))
    theta = part_draws([way], right, labels, np.random.default_rng(1), 3000)
    exact = stats.beta(right + 1, labels - right + 1)  # any prior is forgotten
    assert np.abs(theta.mean(0) - exact.mean()).max() < 5 * exact.std().max()
    assert theta.std(0) == pytest.approx(exact.std(), rel=0.1)


def test_a_part_without_labels_is_like_its_own_group():
    theta = part_draws(
        [Alike(HierarchicalAccuracy.from_prior(n_groups=2), np.array([0, 0, 0, 1, 1, 1]))],
        np.array([30, 30, 0, 3, 3, 0]),
        np.array([30, 30, 0, 30, 30, 0]),
        np.random.default_rng(2),
        4000,
    )
    # Two million draws of the prior, weighted by the labels, say 0.973 and 0.209.
    assert theta[:, [2, 5]].mean(0) == pytest.approx([0.973, 0.209], abs=0.02)
    assert theta[:, 2].std() > theta[:, 0].std()
