from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from bayes_assess._tools import engine
from bayes_assess.acquisition import best_arms, beta_expected_lambda, beta_variance_reduction
from bayes_assess.acquisition.confusion import sample_dirichlet_variance_reduction
from bayes_assess.acquisition.rewards import (
    AccuracyVarianceReduction,
    ConfusionVarianceReduction,
    HighAccuracy,
    LowAccuracy,
    ScaledVarianceReduction,
)
from bayes_assess.acquisition.verdict_rewards import ExpectedLambda, PairwiseLambda
from bayes_assess.models import BetaBernoulli, HierarchicalAccuracy, HierarchicalConfusion
from bayes_assess.models.sampled_belief import SampledBelief

THETA = np.array([0.9, 0.2, 0.5])
WEIGHT = np.array([0.5, 0.3, 0.2])
BELIEF = BetaBernoulli(np.array([5.0, 1.0, 2.0]), np.array([1.0, 4.0, 2.0]))
REWARDS = [AccuracyVarianceReduction, LowAccuracy, HighAccuracy]


def test_low_accuracy_pays_most_for_the_least_accurate_group_and_high_accuracy_for_the_most_accurate():
    np.testing.assert_array_equal(LowAccuracy()(THETA, BELIEF, WEIGHT), -THETA)
    np.testing.assert_array_equal(HighAccuracy()(THETA, BELIEF, WEIGHT), THETA)
    everything = np.ones(3, bool)
    for reward, order in ((LowAccuracy(3), [1, 2, 0]), (HighAccuracy(3), [0, 2, 1])):
        value = reward(THETA, BELIEF, WEIGHT)
        assert best_arms(jax.random.key(0), value, everything, reward.m).tolist() == order


def test_variance_reduction_is_that_of_the_belief_under_the_drawn_accuracy():
    expected = beta_variance_reduction(THETA, BELIEF.a, BELIEF.b, WEIGHT)
    np.testing.assert_array_equal(AccuracyVarianceReduction()(THETA, BELIEF, WEIGHT), expected)


def test_variance_reduction_prefers_the_greater_and_the_less_labelled_group():
    same = BetaBernoulli(np.array([2.0, 2.0, 20.0]), np.array([2.0, 2.0, 20.0]))
    value = AccuracyVarianceReduction()(np.full(3, 0.5), same, np.array([0.6, 0.3, 0.6]))
    assert value[0] == pytest.approx(2 * value[1])
    assert value[0] > value[2]


def test_what_other_groups_taught_may_count_as_two_labels():
    counts = np.array([[1, 3], [0, 0], [0, 1]])  # disagreements, agreements
    component = BetaBernoulli(
        60 * np.array([0.9, 0.5, 0.5]) + counts[:, 1], 60 * np.array([0.1, 0.5, 0.5]) + counts[:, 0]
    )
    for reward, strength in (
        (AccuracyVarianceReduction(most_borrowed=2), 2),
        (AccuracyVarianceReduction(), 60),
        (LowAccuracy(), 60),
    ):
        a, b = (np.asarray(x) for x in reward.deciding(component, counts).beta_marginals())
        np.testing.assert_allclose(a + b, strength + counts.sum(1))
        np.testing.assert_allclose((a - counts[:, 1]) / strength, [0.9, 0.5, 0.5])
    weak = BetaBernoulli(np.full(3, 0.5), np.full(3, 0.4))
    found = AccuracyVarianceReduction(most_borrowed=2).deciding(weak, np.zeros((3, 2)))
    np.testing.assert_allclose(np.asarray(found.a), 0.5)  # no less than it is


def test_a_sum_of_scaled_values_weighs_variances_by_the_squares():
    scale = np.array([0.5, -2.0, 0.1])
    with engine.eager():
        found = ScaledVarianceReduction(scale=scale)(THETA, BELIEF, WEIGHT)
        expected = AccuracyVarianceReduction()(THETA, BELIEF, scale**2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("outcome", [0, 1])
def test_a_label_that_is_known_to_come_reduces_the_variance_of_a_mixture_to_that_after_it(outcome):
    belief = HierarchicalAccuracy.from_prior(n_groups=3).update_counts(np.array([[1, 9], [4, 2], [0, 1]]))
    with engine.eager():
        found = AccuracyVarianceReduction()(np.full(3, float(outcome)), belief, WEIGHT)
        after = [belief.observe(k, outcome).variance[k] for k in range(3)]
    np.testing.assert_allclose(found, WEIGHT * (belief.variance - after), rtol=1e-6)


def test_rows_of_a_mixture_gain_about_what_its_draws_say_without_a_draw():
    shares = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6]])
    prior = HierarchicalConfusion.from_prior(mean_scores=shares)
    posterior = prior.update_counts(np.array([[9, 1, 0], [0, 4, 1], [0, 0, 2]]))
    value = ConfusionVarianceReduction(3)(posterior.mean, posterior, WEIGHT)
    draws = posterior.sample(jax.random.key(0), 40_000)
    from_draws = sample_dirichlet_variance_reduction(posterior.mean, draws, WEIGHT)
    # Draws know what a label of a row tells of the distribution that all rows share; rows as if they were apart do not.
    assert np.argsort(value).tolist() == np.argsort(from_draws).tolist()
    assert (value < from_draws).all()
    assert (value > 0.6 * np.asarray(from_draws)).all()


def test_what_pairs_gain_is_the_same_from_draws():
    n = 200_000
    draws = np.random.default_rng(0).beta(BELIEF.a, BELIEF.b, (n, 3))
    with engine.eager():
        exact = PairwiseLambda(0.05)(THETA, BELIEF, WEIGHT)
        sampled = PairwiseLambda(0.05)(THETA, SampledBelief(draws, np.zeros(n)), WEIGHT)
    np.testing.assert_allclose(sampled, exact, atol=1 / np.sqrt(n))  # of moments with deviations up to 0.22
    assert np.abs(exact).max() > 0.01


def test_what_pairs_gain_is_the_same_on_either_engine():
    """Of two draws of each of two campaigns; one group has no items."""
    rng, weight = np.random.default_rng(1), np.array([0.5, 0.0, 0.2, 0.3])
    a, b = rng.uniform(1, 9, (2, 2, 4))
    theta = rng.beta(a, b, (2, 2, 4))
    with engine.eager():
        eager = PairwiseLambda(0.05)(theta, BetaBernoulli(a, b), weight)
    with jax.enable_x64(True):
        compiled = jax.jit(PairwiseLambda(0.05).__call__)(theta, BetaBernoulli(a, b), weight)
    np.testing.assert_allclose(eager, compiled, rtol=1e-9, atol=1e-12)
    assert (eager[..., 1] == 0).all()


@pytest.mark.parametrize("rope", [0.02, 0.05, 0.1])
def test_the_verdict_of_two_groups_is_about_as_probable_after_a_label_as_by_quadrature(rope):
    rng, arms = np.random.default_rng(0), np.array([2, 0])
    for _ in range(100):
        n, mean = rng.uniform(20, 300, 3), rng.uniform(0.2, 0.95, 3)
        a, b = n * mean, n * (1 - mean)
        theta = rng.beta(a, b)
        with engine.eager():
            value = ExpectedLambda(arms, rope)(theta, BetaBernoulli(a, b), WEIGHT)
        assert value[1] == 0
        exact = beta_expected_lambda(theta[arms], a[arms], b[arms], rope)
        # Both ends of a mass are off by the terms of Edgeworth's series that follow the normal one.
        variance, skewness, excess = stats.beta.stats(a[arms], b[arms], moments="vsk")
        total = variance.sum()
        skewness = abs((skewness * variance**1.5) @ [1, -1]) / total**1.5
        excess = abs((excess * variance**2).sum()) / total**2
        bound = 2 * (0.0665 * skewness + 0.023 * excess + 0.032 * skewness**2) + 1 / n.min() ** 1.5
        assert np.abs(value[arms] - exact).max() < bound


@pytest.mark.parametrize("rope", [0.0, 0.05])
def test_groups_that_are_known_gain_nothing_from_labels(rope):
    """All draws are the same: the posterior has no variance."""
    belief = SampledBelief(np.tile([0.9, 0.2, 0.0, 0.2], (50, 1)), np.zeros(50))
    with engine.eager():
        value = PairwiseLambda(rope)(belief.mean, belief, np.full(4, 0.25))
    np.testing.assert_allclose(value, 0, atol=1e-6)  # rounding, over the least scale


@pytest.mark.parametrize("reward", REWARDS)
def test_rewards_take_batches_of_draws(reward):
    batch = np.stack([THETA, 1 - THETA])
    value = reward()(batch, BELIEF, WEIGHT)
    assert value.shape == (2, 3)
    np.testing.assert_array_equal(value[1], reward()(1 - THETA, BELIEF, WEIGHT))


@pytest.mark.parametrize("reward", REWARDS)
def test_equal_rewards_are_one_static_argument(reward):
    assert reward(2) == reward(2)
    assert hash(reward(2)) == hash(reward(2))
    assert reward(2) != reward(1)
    assert reward().m == 1
    traces = []

    def value(reward, theta):
        traces.append(1)
        return reward(theta, BELIEF, WEIGHT)

    compiled = jax.jit(value, static_argnums=0)
    with jax.enable_x64(True):
        compiled(reward(2), THETA)
        compiled(reward(2), 1 - THETA)
    assert len(traces) == 1
