from __future__ import annotations

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayes_assess._tools import engine
from bayes_assess.acquisition.accuracy_variance import beta_variance_reduction
from bayes_assess.acquisition.confusion import (
    cost_reward,
    dirichlet_variance_reduction,
    nested_variance_reduction,
    sample_dirichlet_variance_reduction,
)
from bayes_assess.acquisition.rewards import ConfusionVarianceReduction
from bayes_assess.errors import QuestionError
from bayes_assess.models.dirichlet_confusion import DirichletConfusion
from bayes_assess.models.nested_dirichlet import NestedDirichlet
from made import cost_moments
from strict import kept_modes

# Three predicted classes (rows), four labels (columns).
ALPHA = np.array([[1.0, 1.0, 1.0, 1.0], [0.3, 2.0, 0.1, 0.6], [40.0, 2.0, 0.5, 7.0]])
THETA = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.0, 0.3, 0.0], [0.0, 0.0, 1.0, 0.0]])
WEIGHT = np.array([0.5, 0.2, 0.3])


def by_enumeration(theta, alpha, weight):
    """Total variance now, less that after every label by updating the posterior; and the size of the terms."""
    belief = DirichletConfusion(alpha)
    n_predictions, n_classes = alpha.shape
    after = np.zeros(n_predictions)
    for j in range(n_classes):
        one = np.zeros((n_predictions, n_classes), int)
        one[:, j] = 1
        after += theta[:, j] * belief.update(one).variance.sum(-1)
    return weight * (belief.variance.sum(-1) - after), weight * (belief.variance.sum(-1) + after)


# -- closed form -----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(arrays(np.float64, (2, 5), elements=st.floats(1e-3, 1e4)), arrays(np.int64, (2, 5), elements=st.integers(0, 9)))
def test_closed_form_equals_enumerating_every_label(alpha, parts):
    theta = (parts + 1) / (parts + 1).sum(-1, keepdims=True)
    value = dirichlet_variance_reduction(theta, alpha, WEIGHT[:2])
    expected, size = by_enumeration(theta, alpha, WEIGHT[:2])
    assert (np.abs(value - expected) <= 32 * np.finfo(float).eps * size).all()


def test_closed_form_is_exact_in_rational_arithmetic():
    alpha, theta = [Fraction(1, 2), Fraction(3), Fraction(10**9)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]

    def total_variance(alpha):
        total = sum(alpha)
        return (1 - sum((a / total) ** 2 for a in alpha)) / (total + 1)

    after = [total_variance([a + (i == j) for i, a in enumerate(alpha)]) for j in range(3)]
    expected = total_variance(alpha) - sum(t * v for t, v in zip(theta, after, strict=True))
    value = dirichlet_variance_reduction(np.array([theta], float), np.array([alpha], float), np.ones(1))
    assert value[0] == pytest.approx(float(expected), rel=1e-13)


# Agreements in another column of every row; the last outcome of the last row is impossible.
NESTED = NestedDirichlet(
    np.array([5.0, 0.3, 90.0]),
    np.array([1.0, 4.0, 7.0]),
    np.array([[0.0, 1.0, 0.2, 3.0], [0.7, 0.0, 9.0, 0.1], [6.0, 0.4, 0.0, 0.0]]),
    np.array([0, 1, 2]),
)


@pytest.mark.parametrize("theta", [None, THETA], ids=["mean", "fixed"])
def test_that_of_agreement_and_errors_equals_enumerating_every_outcome(theta):
    theta = NESTED.mean if theta is None else theta
    after = np.zeros(3)
    for j in range(4):
        one = np.zeros((3, 4))
        one[:, j] = NESTED.mean[:, j] > 0  # what is impossible is never learned
        after += theta[:, j] * NESTED.update_counts(one).variance.sum(-1)
    exact = WEIGHT * (NESTED.variance.sum(-1) - after)
    found = nested_variance_reduction(theta, NESTED.a, NESTED.b, NESTED.alpha, NESTED.own, WEIGHT)
    np.testing.assert_allclose(found, exact, rtol=1e-10)
    with engine.eager():
        rewarded = ConfusionVarianceReduction(4)(theta, NESTED, WEIGHT)
    np.testing.assert_allclose(rewarded, found, rtol=1e-12)


def test_rows_of_two_stages_that_are_dirichlet_have_its_reduction():
    own = np.array([0, 1, 3])
    diagonal = np.arange(4) == own[:, None]
    errors = np.where(diagonal, 0, ALPHA)
    found = nested_variance_reduction(THETA, ALPHA[diagonal], errors.sum(-1), errors, own, WEIGHT)
    np.testing.assert_allclose(found, dirichlet_variance_reduction(THETA, ALPHA, WEIGHT), rtol=1e-10)


def test_two_labels_give_twice_the_reduction_of_one_accuracy():
    a, b, theta, weight = np.array([1.0, 0.3, 70.0]), np.array([2.0, 0.2, 8.0]), np.array([0.2, 0.9, 1.0]), WEIGHT
    value = dirichlet_variance_reduction(np.stack([theta, 1 - theta], -1), np.stack([a, b], -1), weight)
    np.testing.assert_allclose(value, 2 * beta_variance_reduction(theta, a, b, weight), rtol=1e-11)


def test_at_the_posterior_mean_it_is_the_variance_of_the_next_mean():
    mean = DirichletConfusion(ALPHA).mean
    value = dirichlet_variance_reduction(mean, ALPHA, np.ones(3))
    expected = np.zeros(3)
    for j in range(4):
        after = DirichletConfusion(ALPHA).update(np.tile(np.eye(4, dtype=int)[j], (3, 1))).mean
        # Total variance: Var(theta) - E Var(theta | label) = Var(E(theta | label)), label ~ mean.
        expected += mean[:, j] * ((after - mean) ** 2).sum(-1)
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_a_surprising_label_under_one_draw_may_widen_the_posterior():
    assert dirichlet_variance_reduction(np.array([[0.0, 1.0]]), np.array([[20.0, 1.0]]), np.ones(1))[0] < 0


def test_a_billion_labels_keep_their_digits():
    alpha = np.array([[1e9, 2e9, 1e9], [1e9, 2e9, 1.0001e9]])
    mean = alpha / alpha.sum(-1, keepdims=True)
    total = alpha.sum(-1)
    # At the mean it is (1 - sum m^2) / (A + 1)^2.
    expected = (1 - (mean**2).sum(-1)) / (total + 1) ** 2
    value = dirichlet_variance_reduction(mean, alpha, np.ones(2))
    np.testing.assert_allclose(value, expected, rtol=1e-13)


def test_batches_of_matrices_are_taken_one_by_one():
    theta = DirichletConfusion(ALPHA).sample(jax.random.key(0), 5)
    value = dirichlet_variance_reduction(theta, ALPHA, WEIGHT)
    assert value.shape == (5, 3)
    np.testing.assert_allclose(value[2], dirichlet_variance_reduction(theta[2], ALPHA, WEIGHT), rtol=1e-13)


def test_a_row_without_weight_is_worth_nothing():
    value = dirichlet_variance_reduction(THETA, ALPHA, np.array([0.0, 1.0, 1.0]))
    assert value[0] == 0


# -- from draws ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batches():
    """Independent batches of draws, (50, 10_000, 3, 4)."""
    rng = np.random.default_rng(0)
    return np.stack([rng.dirichlet(alpha, (50, 10_000)) for alpha in ALPHA], axis=2)


@pytest.mark.parametrize("theta", [None, THETA], ids=["mean", "fixed"])
def test_closed_form_equals_samples_within_their_error(theta, batches):
    theta = DirichletConfusion(ALPHA).mean if theta is None else theta
    values = np.stack([sample_dirichlet_variance_reduction(theta, batch, WEIGHT) for batch in batches])
    error = values.std(0, ddof=1) / np.sqrt(len(batches))
    exact = dirichlet_variance_reduction(theta, ALPHA, WEIGHT)
    # 5.5 standard errors of the mean of 50 independent batches (Student's t: 1.4e-6), three rows. The bias of one
    # batch is of the order of one over its effective size, which re-weighting by a component of mean m cuts to at
    # least a m / (1 + a) share: the smallest here, alpha 0.1 of 3, leaves 3 % of 10,000.
    bias = WEIGHT * DirichletConfusion(ALPHA).variance.sum(-1) / 300
    assert (np.abs(values.mean(0) - exact) < 5.5 * error + bias).all()
    assert (error < 0.02 * WEIGHT * DirichletConfusion(ALPHA).variance.sum(-1)).all()  # teeth


def test_from_draws_it_is_the_reduction_under_the_draws_own_distribution():
    # Three atoms of equal mass per row; everything can be enumerated.
    draws = np.random.default_rng(0).dirichlet(np.ones(4), (3, 3))
    expected = draws.var(0).sum(-1)
    for k in range(3):
        for j in range(4):
            p = draws[:, k, j] / draws[:, k, j].sum()
            mean = p @ draws[:, k]
            expected[k] -= THETA[k, j] * (p @ ((draws[:, k] - mean) ** 2).sum(-1))
    value = sample_dirichlet_variance_reduction(THETA, draws, WEIGHT)
    np.testing.assert_allclose(value, WEIGHT * expected, rtol=1e-12, atol=1e-16)


def test_a_label_that_no_draw_gives_a_chance_is_no_nan():
    draws = np.zeros((10, 1, 3))
    draws[:, 0, 0] = np.linspace(0.1, 0.9, 10)
    draws[:, 0, 1] = 1 - draws[:, 0, 0]
    mean = draws.mean(0)
    value = sample_dirichlet_variance_reduction(mean, draws, np.ones(1))
    two_labels = sample_dirichlet_variance_reduction(mean[:, :2], draws[..., :2], np.ones(1))
    np.testing.assert_allclose(value, two_labels, rtol=1e-13)


def test_draws_far_from_zero_variance_do_not_cancel():
    # Scatter of 1e-6 around a common row: variances of 1e-12, differences of 1e-18.
    z = np.array([-1.0, 1.0])[:, None, None] * np.array([1e-6, -1e-6])
    draws = np.array([0.3, 0.7]) + z
    value = sample_dirichlet_variance_reduction(draws.mean(0), draws, np.ones(1))
    # Var(E(theta | label)): the mean of component 0 moves by 1e-12 / 0.3 or by -1e-12 / 0.7.
    expected = 2 * (0.3 * (1e-12 / 0.3) ** 2 + 0.7 * (1e-12 / 0.7) ** 2)
    assert value[0] == pytest.approx(expected, rel=1e-2)


# -- costs -----------------------------------------------------------------------------------------------------------


def test_the_cost_reward_reads_rows_as_predictions():
    theta = np.array([[0.9, 0.1], [0.5, 0.5]])
    cost = np.array([[0.0, 1.0], [10.0, 0.0]])  # predicted 1, label 0: 10
    np.testing.assert_allclose(cost_reward(theta, cost), [0.1, 5.0])
    np.testing.assert_allclose(cost_reward(theta, cost.T), [1.0, 0.5])


def test_the_mean_cost_reward_of_draws_is_the_expected_cost():
    belief = DirichletConfusion(ALPHA)
    cost = np.arange(12.0).reshape(3, 4)
    rewards = cost_reward(belief.sample(jax.random.key(1), 20_000), cost)
    assert rewards.shape == (20_000, 3)
    # Three means, 5 standard errors each: 2e-6.
    mean, variance = cost_moments(ALPHA, cost)
    assert (np.abs(rewards.mean(0) - mean) < 5 * np.sqrt(variance / 20_000)).all()


def test_a_cost_of_another_shape_is_refused():
    with pytest.raises(QuestionError, match="row per predicted class"):
        cost_reward(THETA, np.ones((4, 3)))


def test_results_are_64_bit_and_types_are_never_promoted():
    draws = DirichletConfusion(ALPHA).sample(jax.random.key(0), 10)
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        assert dirichlet_variance_reduction(THETA, ALPHA, WEIGHT).dtype == np.float64
        assert sample_dirichlet_variance_reduction(THETA, draws, WEIGHT).dtype == np.float64
        assert cost_reward(THETA, np.ones((3, 4), int)).dtype == np.float64
