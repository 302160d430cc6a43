from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from bayes_assess.errors import PriorError
from bayes_assess.models import BetaBernoulli
from bayes_assess.models.beta_bernoulli import statistics

# -- priors ----------------------------------------------------------------------------------------------------------


def test_the_uninformative_prior_splits_its_strength_evenly():
    prior = BetaBernoulli.from_prior(5.0, n_groups=3)
    np.testing.assert_array_equal(prior.a, [2.5] * 3)
    np.testing.assert_array_equal(prior.b, [2.5] * 3)


def test_the_informative_prior_has_the_mean_score_as_its_mean_and_the_strength_as_its_count():
    score = np.array([0.9, 0.5, 0.123])
    prior = BetaBernoulli.from_prior(4.0, mean_score=score)
    np.testing.assert_allclose(prior.mean, score, rtol=1e-15)
    np.testing.assert_allclose(prior.a + prior.b, 4.0, rtol=1e-15)


def test_the_default_strength_is_two_labels():
    prior = BetaBernoulli.from_prior(n_groups=1)
    assert prior.a + prior.b == 2


def test_mean_scores_of_zero_and_one_give_proper_priors():
    prior = BetaBernoulli.from_prior(2.0, mean_score=[0.0, 1.0])
    assert (prior.a > 0).all()
    assert (prior.b > 0).all()
    np.testing.assert_allclose(prior.mean, [0, 1], atol=1e-5)


@pytest.mark.parametrize("strength", [0, -1, np.inf, np.nan])
def test_a_strength_that_is_not_positive_and_finite_is_refused(strength):
    with pytest.raises(PriorError, match="positive number of labels"):
        BetaBernoulli.from_prior(strength, n_groups=1)


@pytest.mark.parametrize("bad", [-0.01, 1.01, np.nan])
def test_a_mean_score_outside_its_range_is_refused_with_its_group(bad):
    with pytest.raises(PriorError, match="group 1 has"):
        BetaBernoulli.from_prior(mean_score=[0.5, bad])


@pytest.mark.parametrize("arguments", [{}, {"mean_score": [0.5], "n_groups": 1}])
def test_exactly_one_of_mean_score_and_n_groups_is_wanted(arguments):
    with pytest.raises(PriorError, match="either"):
        BetaBernoulli.from_prior(**arguments)


# -- updating --------------------------------------------------------------------------------------------------------


def test_successes_go_to_a_and_failures_to_b():
    posterior = BetaBernoulli.from_prior(n_groups=2).update([3, 0], [10, 4])
    np.testing.assert_array_equal(posterior.a, [4, 1])
    np.testing.assert_array_equal(posterior.b, [8, 5])


def test_statistics_use_the_label_not_the_prediction():
    # Labels and predictions never agree: there is nothing but disagreement to count.
    predictions = np.array([0, 1, 1, 2, 0])
    labels = (predictions + 1) % 3
    successes, trials = statistics(predictions, labels == predictions, 3)
    np.testing.assert_array_equal(successes, [0, 0, 0])
    np.testing.assert_array_equal(trials, [2, 2, 1])


def test_statistics_count_groups_without_labels_and_are_integers():
    successes, trials = statistics(np.array([4, 4, 0]), np.array([True, False, True]), 6)
    np.testing.assert_array_equal(successes, [1, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(trials, [1, 0, 0, 0, 2, 0])
    assert successes.dtype == trials.dtype == np.int64


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, list])
def test_counts_of_any_integer_kind_are_taken(kind):
    successes, trials = ([3, 0], [4, 1])
    if kind is not list:
        successes, trials = kind(successes), kind(trials)
    np.testing.assert_array_equal(BetaBernoulli.from_prior(n_groups=2).update(successes, trials).a, [4, 1])


def test_counts_beyond_32_bit_floats_are_exact():
    posterior = BetaBernoulli.from_prior(n_groups=1).update([2**24 + 1], [10**9 + 7])
    assert posterior.a[0] == 2**24 + 2
    assert posterior.b[0] == 10**9 + 7 - 2**24 - 1 + 1


def test_batches_of_counts_give_batches_of_posteriors():
    posterior = BetaBernoulli.from_prior(n_groups=3).update(np.ones((5, 3), int), np.full((5, 3), 2))
    assert posterior.mean.shape == (5, 3)
    assert posterior.sample(jax.random.key(0), 7).shape == (7, 5, 3)
    np.testing.assert_array_equal(posterior.mean, 0.5)


# -- densities -------------------------------------------------------------------------------------------------------


def test_a_flat_density_is_one_up_to_both_ends():
    prior = BetaBernoulli(np.ones(3), np.ones(3))
    np.testing.assert_allclose(prior.log_prob(np.array([0.0, 0.5, 1.0])), 0, atol=1e-15)


def test_a_density_that_vanishes_or_diverges_at_an_end_says_so():
    belief = BetaBernoulli(np.array([2.0, 0.5, 1.0]), np.array([1.0, 1.0, 0.5]))
    np.testing.assert_array_equal(belief.log_prob(np.array([0.0, 0.0, 1.0])), [-np.inf, np.inf, np.inf])


@pytest.mark.parametrize(
    ("a", "b", "r", "n"),
    [(1, 1, 10**9, 2 * 10**9), (0.5, 8.5, 3, 40), (9, 30, 0, 7), (1e-3, 2, 1, 1), (300, 200, 40, 90)],
)
def test_log_marginal_keeps_its_digits_at_any_size(a, b, r, n):
    prior = BetaBernoulli(np.array([float(a)]), np.array([float(b)]))
    large, small = special.betaln(a + r, b + n - r), special.betaln(a, b)
    # Rounding of the larger term, and nothing else: 16 units in the last place.
    tolerance = 16 * np.finfo(float).eps * max(abs(large), abs(small), 1)
    np.testing.assert_allclose(prior.log_marginal([r], [n]), large - small, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", [1, 6, 30, 10**3, 10**6, 10**9])
def test_log_marginal_of_agreements_alone_is_the_product_of_predictions(n):
    prior = BetaBernoulli(np.array([2.0]), np.array([3.0]))
    # B(n + 2, 3) / B(2, 3) = 24 / ((n + 2) (n + 3) (n + 4)); the result is at most 60.
    expected = np.log(24) - np.log([n + 2.0, n + 3.0, n + 4.0]).sum()
    np.testing.assert_allclose(prior.log_marginal([n], [n]), expected, rtol=0, atol=1e-12)


# -- moments ---------------------------------------------------------------------------------------------------------


def test_moments_at_a_billion_labels_keep_their_digits():
    a, b = 10**9 + 1, 3
    belief = BetaBernoulli(np.array([float(a)]), np.array([float(b)]))
    total = a + b
    assert belief.mean[0] == pytest.approx(a / total, rel=1e-15)
    assert belief.variance[0] == pytest.approx(a * b / (total * total * (total + 1)), rel=1e-14)  # exact integers above


def test_a_posterior_is_a_pytree():
    belief = BetaBernoulli(np.array([1.0]), np.array([2.0]))
    leaves, structure = jax.tree.flatten(belief)
    assert [float(leaf[0]) for leaf in leaves] == [1.0, 2.0]
    assert jax.tree.unflatten(structure, leaves) == belief


def test_inside_a_64_bit_scope_results_stay_jax_arrays():
    with jax.enable_x64(True):
        mean = BetaBernoulli(jnp.ones(2), jnp.ones(2)).mean
    assert isinstance(mean, jax.Array)
    assert mean.dtype == np.float64
