"""True positive rates: which labels count, and what a pool's rate can be."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from bayes_assess._tools.seeds import jax_key
from bayes_assess.acquisition.rewards import RecallVarianceReduction
from bayes_assess.models import BetaBernoulli, HierarchicalAccuracy
from bayes_assess.models.true_positive_rate import (
    FOUND,
    MISSED,
    NEGATIVE,
    LearnedTruePositiveRate,
    TruePositiveRate,
    true_positive_rate,
)

COUNTS = np.array([[1, 5, 40], [0, 0, 7], [3, 1, 0]])


def fixed() -> TruePositiveRate:
    rate = BetaBernoulli(np.array([2.0, 1.0, 0.7]), np.array([1.0, 1.0, 0.4]))
    return TruePositiveRate(rate, BetaBernoulli(np.array([1.0, 0.5, 2.0]), np.array([3.0, 2.0, 2.0])))


def learned() -> LearnedTruePositiveRate:
    rate, share = (
        HierarchicalAccuracy.from_prior(n_groups=3),
        HierarchicalAccuracy.from_prior(mean_score=[0.1, 0.2, 0.3]),
    )
    belief = true_positive_rate(rate, share)
    assert isinstance(belief, LearnedTruePositiveRate)
    return belief


def test_negative_items_say_nothing_of_a_rate_and_positive_ones_say_which_share_they_are():
    posterior = fixed().update_counts(COUNTS)
    np.testing.assert_array_equal(posterior.rate.a, [2 + 5, 1, 0.7 + 1])
    np.testing.assert_array_equal(posterior.rate.b, [1 + 1, 1, 0.4 + 3])
    np.testing.assert_array_equal(posterior.share.a, [1 + 6, 0.5, 2 + 4])
    np.testing.assert_array_equal(posterior.share.b, [3 + 40, 2 + 7, 2])


def test_items_that_are_out_tell_a_rate_as_much_as_they_are_expected_to_be_positive():
    belief, out = fixed(), np.array([8, 5, 2])
    after, expected = belief.update_at_mean(out), out * np.array([0.25, 0.2, 0.5])
    np.testing.assert_allclose(after.rate.a + after.rate.b, belief.rate.a + belief.rate.b + expected, rtol=1e-6)
    np.testing.assert_allclose(after.share.a + after.share.b, belief.share.a + belief.share.b + out, rtol=1e-6)
    np.testing.assert_allclose(after.mean, belief.mean, rtol=1e-6)


def test_a_dirichlet_distribution_of_the_three_outcomes_has_the_same_posterior():
    """Shares theta ~ Dirichlet(m, f, n): found / (found + missed) ~ Beta(f, m), found + missed ~ Beta(f + m, n)."""
    alpha = np.array([0.8, 1.5, 2.0])
    belief = TruePositiveRate(
        BetaBernoulli(alpha[[FOUND]], alpha[[MISSED]]), BetaBernoulli(alpha[[0]] + alpha[[1]], alpha[[2]])
    )
    posterior = belief.update_counts(COUNTS[:1])
    theta = np.random.default_rng(0).dirichlet(alpha + COUNTS[0], 4_000)
    positive = theta[:, FOUND] + theta[:, MISSED]
    for belief, values in ((posterior.rate, theta[:, FOUND] / positive), (posterior.share, positive)):
        assert stats.kstest(values, stats.beta(belief.a[0], belief.b[0]).cdf).pvalue > 1e-4


def rank_of_the_truth(rng, posterior_of) -> float:
    """Rank of a pool's recall among draws of it, after random items were labelled: uniform if it is right."""
    theta, share = rng.beta(2, 1), rng.beta(2, 3)
    size, labelled = 30, 8
    positive = rng.random(size) < share
    outcome = np.where(positive, np.where(rng.random(size) < theta, FOUND, MISSED), NEGATIVE)
    counts = np.bincount(outcome[:labelled], minlength=3)[None]
    if not positive.any():
        return rng.random()
    truth = (outcome == FOUND).sum() / positive.sum()
    draws = posterior_of(counts).pool_draws(jax.random.key(rng.integers(2**31)), 200, counts, np.array([size]))[:, 0]
    below, ties = (draws < truth - 1e-12).sum(), (np.abs(draws - truth) < 1e-12).sum()
    return (below + rng.random() * (ties + 1)) / 201


@pytest.mark.slow
@pytest.mark.parametrize(
    ("posterior_of", "right"),
    [
        (lambda prior, counts: prior.update_counts(counts), True),
        (lambda prior, counts: prior.update_counts(counts[:, [1, 0, 2]]), False),  # missed for found
        (lambda prior, counts: prior.update_counts(np.add(counts, [0, 0, 300])), False),  # few positive items left
    ],
    ids=["as it is", "missed for found", "hardly any left"],
)
def test_the_rate_of_a_pool_is_calibrated_and_wrong_posteriors_are_not(posterior_of, right):
    prior = TruePositiveRate(
        BetaBernoulli(np.array([2.0]), np.array([1.0])), BetaBernoulli(np.array([2.0]), np.array([3.0]))
    )
    rng = np.random.default_rng(1)
    ranks = [rank_of_the_truth(rng, lambda counts: posterior_of(prior, counts)) for _ in range(200)]
    p = stats.chisquare(np.histogram(ranks, 10, (0, 1))[0]).pvalue
    assert (p > 1e-3) if right else (p < 1e-6)


def test_labels_learned_one_by_one_are_those_learned_at_once():
    one_by_one, rng = learned(), np.random.default_rng(2)
    cells, outcomes = (x.ravel() for x in np.indices(COUNTS.shape))
    told = np.repeat(np.stack([cells, outcomes], axis=1), COUNTS.ravel(), axis=0)
    for cell, outcome in rng.permutation(told):
        one_by_one = one_by_one.observe(np.int64(cell), np.int64(outcome))
    at_once = learned().update_counts(COUNTS)
    again = one_by_one.refreshed()
    for part in ("rate", "share"):
        np.testing.assert_allclose(getattr(again, part).mean, getattr(at_once, part).mean, atol=1e-12)
        # Points that stay where the prior put them are the fewer the more labels there are.
        np.testing.assert_allclose(getattr(one_by_one, part).mean, getattr(at_once, part).mean, atol=0.05)
    np.testing.assert_array_equal(one_by_one.rate.labels, [6, 0, 4])
    np.testing.assert_array_equal(one_by_one.share.agreements, [6, 0, 4])


def test_a_label_is_worth_the_variance_that_it_takes_away_if_its_item_is_positive():
    """[ABA] Table 1 over the three outcomes of a label, groups weighted by their positive items."""
    belief, weight = fixed().update_counts(COUNTS), np.array([0.5, 0.3, 0.2])
    theta, share = np.asarray(belief.mean), np.asarray(belief.share.mean)
    chance = np.stack([share * (1 - theta), share * theta, 1 - share], axis=1)
    after = np.zeros((3, 3))
    for outcome in range(3):
        one = np.zeros((3, 3), np.int64)
        one[:, outcome] = 1
        after[:, outcome] = belief.update_counts(one).variance
    expected = weight * share * (np.asarray(belief.variance) - (chance * after).sum(1))
    with jax.enable_x64(True):
        found = RecallVarianceReduction()(jax.numpy.asarray(theta), belief, jax.numpy.asarray(weight))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_group_without_positive_items_has_the_rate_of_the_population():
    counts = np.array([[0, 0, 9], [0, 0, 0], [4, 4, 0]])
    posterior = fixed().update_counts(counts)
    draws = posterior.pool_draws(jax_key(0, "draws"), 4_000, counts, np.array([9, 0, 8]))
    assert (draws[:, 2] == 0.5).all()
    for g in (0, 1):
        distribution = stats.beta(posterior.rate.a[g], posterior.rate.b[g])
        assert stats.kstest(draws[:, g], distribution.cdf).pvalue > 1e-4
