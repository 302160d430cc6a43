"""Accuracies of parts of groups, held against draws of the prior weighted by the labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from bayes_assess.models import HierarchicalAccuracy
from bayes_assess.models.accuracy_parts import part_draws
from bayes_assess.models.hierarchical_accuracy import ALIKE, LOG_STRENGTH

GROUP = np.array([0, 0, 0, 1, 1])
AGREEMENTS, LABELS = np.array([6, 1, 0, 1, 0]), np.array([6, 3, 0, 5, 0])


@pytest.mark.parametrize("strength_prior", [LOG_STRENGTH, ALIKE], ids=["classes", "sites"])
def test_posterior_means_and_variances_are_those_of_weighted_draws_of_the_prior(strength_prior):
    """Importance sampling from the plates, in which no grid and no points occur."""
    rng, n = np.random.default_rng(0), 150_000
    nu, s = np.exp(rng.normal(np.log(12), 1.3, n)), np.exp(rng.normal(*strength_prior, n))
    mu = special.expit(rng.normal(1.0, 2.0, n))
    m = np.clip(rng.beta((nu * mu)[:, None] + 1e-12, (nu * (1 - mu))[:, None] + 1e-12, (n, 2)), 1e-12, 1 - 1e-12)
    center = m[:, GROUP]
    # theta is integrated out: the labels of a part are beta-binomial given its group
    a, b = s[:, None] * center, s[:, None] * (1 - center)
    log_weight = special.betaln(a + AGREEMENTS, b + LABELS - AGREEMENTS) - special.betaln(a, b)
    weight = special.softmax(log_weight.sum(1))
    mean = (a + AGREEMENTS) / (a + b + LABELS)
    expected = weight @ mean
    error = np.sqrt(weight**2 @ (mean - expected) ** 2)
    prior = HierarchicalAccuracy.from_prior(n_groups=2)
    theta = part_draws(prior, GROUP, AGREEMENTS, LABELS, rng, 20_000, strength_prior)
    se = np.hypot(error, theta.std(0) / np.sqrt(20_000))
    # twelve values of s and 64 points stand for the hyperprior: what that costs was measured at below 0.01
    assert np.abs(theta.mean(0) - expected).max() < 0.012 + 4 * se.max()
    within = mean * (1 - mean) / (a + b + LABELS + 1)
    variance = weight @ within + weight @ (mean - expected) ** 2
    assert theta.var(0) == pytest.approx(variance, rel=0.15)


def test_parts_that_are_whole_groups_with_many_labels_have_the_shares_of_their_labels():
    labels = np.array([4000, 4000, 4000])
    right = np.array([400, 2000, 3600])
    theta = part_draws(
        HierarchicalAccuracy.from_prior(n_groups=3), np.arange(3), right, labels, np.random.default_rng(1), 3000
    )
    exact = stats.beta(right + 1, labels - right + 1)  # any prior is forgotten
    assert np.abs(theta.mean(0) - exact.mean()).max() < 5 * exact.std().max()
    assert theta.std(0) == pytest.approx(exact.std(), rel=0.1)


def test_a_part_without_labels_is_like_its_own_group():
    theta = part_draws(
        HierarchicalAccuracy.from_prior(n_groups=2),
        np.array([0, 0, 0, 1, 1, 1]),
        np.array([30, 30, 0, 3, 3, 0]),
        np.array([30, 30, 0, 30, 30, 0]),
        np.random.default_rng(2),
        4000,
    )
    # Two million draws of the prior, weighted by the labels, say 0.973 and 0.209.
    assert theta[:, [2, 5]].mean(0) == pytest.approx([0.973, 0.209], abs=0.02)
    assert theta[:, 2].std() > theta[:, 0].std()
