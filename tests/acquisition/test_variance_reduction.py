from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.acquisition import beta_variance_reduction, sample_variance_reduction
from bayes_assess.models import BetaBernoulli
from strict import kept_modes

A = np.array([1.0, 0.3, 7.0, 40.0, 2.0])
B = np.array([1.0, 2.0, 3.0, 90.0, 0.5])
WEIGHT = np.array([0.1, 0.4, 0.2, 0.25, 0.05])

parameter = st.floats(0.01, 1e4)
probability = st.floats(0, 1, allow_subnormal=False)  # XLA flushes subnormal numbers to zero


def by_enumeration(theta, a, b):
    """Variance now, less the variances after either outcome, by updating the posterior; and the size of the terms."""
    belief = BetaBernoulli(np.atleast_1d(a), np.atleast_1d(b))
    one = np.ones(belief.a.shape, int)
    now = belief.variance
    after = theta * belief.update(one, one).variance + (1 - theta) * belief.update(0 * one, one).variance
    return now - after, now + after


# -- closed form -----------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(parameter, parameter, probability, probability)
def test_closed_form_equals_enumerating_both_updates(a, b, theta, weight):
    value = beta_variance_reduction(np.array([theta]), np.array([a]), np.array([b]), np.array([weight]))
    expected, size = by_enumeration(theta, a, b)
    np.testing.assert_array_less(abs(value - weight * expected), 16 * np.finfo(float).eps * weight * size + 1e-300)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(parameter, parameter)
def test_at_the_posterior_mean_it_is_the_variance_of_the_next_mean(a, b):
    mean = a / (a + b)
    value = beta_variance_reduction(np.array([mean]), np.array([a]), np.array([b]), np.ones(1))[0]
    # Total variance: Var(theta) - E Var(theta | z) = Var(E(theta | z)), z ~ Bernoulli(mean).
    means = np.array([(a + 1) / (a + b + 1), a / (a + b + 1)])
    p = np.array([mean, 1 - mean])
    expected = (p * (means - p @ means) ** 2).sum()
    assert value == pytest.approx(expected, rel=1e-9, abs=32 * np.finfo(float).eps * stats.beta.var(a, b))
    # Never negative, so the expected value of a label never is.
    assert value >= -32 * np.finfo(float).eps * stats.beta.var(a, b)


def test_a_known_value():
    # Uniform: 1/12 now, 1/18 after either outcome.
    np.testing.assert_allclose(beta_variance_reduction(np.full(1, 0.3), np.ones(1), np.ones(1), np.ones(1)), [1 / 36])


def test_a_surprising_label_under_one_draw_may_widen_the_posterior():
    value = beta_variance_reduction(np.zeros(1), np.array([20.0]), np.ones(1), np.ones(1))
    assert value[0] < 0


def test_it_is_linear_in_the_weight_and_in_theta():
    zero, one = (beta_variance_reduction(np.full(5, t), A, B, WEIGHT) for t in (0.0, 1.0))
    np.testing.assert_allclose(beta_variance_reduction(np.full(5, 0.3), A, B, 2 * WEIGHT), 2 * (0.7 * zero + 0.3 * one))
    np.testing.assert_array_equal(beta_variance_reduction(np.full(5, 0.3), A, B, 0 * WEIGHT), 0)


def test_agreement_and_disagreement_mirror_each_other():
    theta = np.array([0.2, 0.9, 0.5, 0.0, 1.0])
    mirrored = beta_variance_reduction(1 - theta, B, A, WEIGHT)
    np.testing.assert_allclose(beta_variance_reduction(theta, A, B, WEIGHT), mirrored, rtol=1e-12)


def test_a_billion_labels_keep_the_order_of_groups():
    a = np.array([1e9, 1.001e9])
    value = beta_variance_reduction(np.full(2, 0.5), a, a, np.ones(2))
    # Var(E(theta | z)) = 1 / (4 (2a + 1)^2) at theta = mean = 1/2; differences of numbers 10^9 times as large.
    np.testing.assert_allclose(value, 1 / (4 * (2 * a + 1) ** 2), rtol=1e-5)
    assert value[0] > value[1]


# -- from draws ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batches():
    """Independent batches of draws, (50, 20_000, G)."""
    return np.random.default_rng(0).beta(A, B, (50, 20_000, len(A)))


@pytest.mark.parametrize("theta", [None, 0.25, *(pytest.param(end, marks=pytest.mark.slow) for end in (0.0, 1.0))])
def test_closed_form_equals_samples_within_their_error(theta, batches):
    theta = A / (A + B) if theta is None else np.full(len(A), theta)
    values = np.stack([sample_variance_reduction(theta, batch, WEIGHT) for batch in batches])
    error = values.std(0, ddof=1) / np.sqrt(len(batches))
    exact = beta_variance_reduction(theta, A, B, WEIGHT)
    # 5.5 standard errors of the mean of 50 independent batches (Student's t: 1.4e-6); the bias of one batch is a
    # 20,000th of the variances involved.
    bias = 4 * WEIGHT * BetaBernoulli(A, B).variance / batches.shape[1]
    assert (np.abs(values.mean(0) - exact) < 5.5 * error + bias).all()
    assert (error < 0.01 * WEIGHT * BetaBernoulli(A, B).variance).all()  # teeth


def test_from_draws_it_is_the_reduction_under_the_draws_own_distribution():
    # Three atoms of equal mass; everything can be enumerated.
    draws = np.array([[0.1], [0.5], [0.9]])
    after = []
    for likelihood in (draws, 1 - draws):
        p = likelihood / likelihood.sum()
        mean = (p * draws).sum()
        after.append((p * (draws - mean) ** 2).sum())
    theta = 0.3
    expected = draws.var() - theta * after[0] - (1 - theta) * after[1]
    np.testing.assert_allclose(sample_variance_reduction(np.array([theta]), draws, np.ones(1)), [expected], rtol=1e-13)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(probability, min_size=7, max_size=7))
def test_under_the_mean_of_any_draws_it_is_the_variance_of_the_next_mean(values):
    draws = np.array(values)[:, None]
    mean = draws.mean()
    value = sample_variance_reduction(np.array([mean]), draws, np.ones(1))[0]
    up = (draws**2).sum() / draws.sum() if mean > 1e-300 else mean
    down = (draws * (1 - draws)).sum() / (1 - draws).sum() if mean < 1 else mean
    expected = mean * (up - mean) ** 2 + (1 - mean) * (down - mean) ** 2
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-14)
    assert value >= -1e-14


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_draws_that_leave_an_outcome_no_chance_give_zero_not_nan(value):
    draws = np.full((10, 1), value)
    np.testing.assert_allclose(sample_variance_reduction(np.full(1, value), draws, np.ones(1)), 0, atol=1e-30)


def test_results_are_64_bit_and_types_are_never_promoted():
    theta = np.full(5, 0.5)
    draws = BetaBernoulli(A, B).sample(jax.random.key(0), 10)
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        assert beta_variance_reduction(theta, A, B, WEIGHT).dtype == np.float64
        assert sample_variance_reduction(theta, draws, WEIGHT).dtype == np.float64
