from __future__ import annotations

import math

import jax
import numpy as np
import pytest
from scipy import special, stats

from bayes_assess.errors import LabelError, PriorError
from bayes_assess.models.dirichlet_confusion import DirichletConfusion, statistics
from strict import kept_modes

# Two predicted classes (rows), three labels (columns).
ALPHA = np.array([[2.0, 0.3, 1.2], [0.05, 4.0, 30.0]])


# -- priors ----------------------------------------------------------------------------------------------------------


def test_the_uninformative_prior_splits_its_strength_over_the_labels():
    prior = DirichletConfusion.from_prior(6.0, n_predictions=2, n_classes=4)
    np.testing.assert_array_equal(prior.alpha, np.full((2, 4), 1.5))


def test_the_default_strength_is_one_label():
    assert DirichletConfusion.from_prior(n_predictions=1, n_classes=4).alpha.sum() == 1
    assert DirichletConfusion.from_prior(mean_scores=[[0.2, 0.8]]).alpha.sum() == pytest.approx(1, rel=1e-15)


def test_the_informative_prior_has_the_mean_scores_as_its_mean_and_the_strength_as_its_count():
    scores = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05]])
    prior = DirichletConfusion.from_prior(4.0, mean_scores=scores)
    np.testing.assert_allclose(prior.mean, scores, rtol=1e-14)
    np.testing.assert_allclose(prior.alpha.sum(-1), 4.0, rtol=1e-15)


def test_rows_of_scores_are_normalised_each_by_itself():
    prior = DirichletConfusion.from_prior(2.0, mean_scores=[[0.2, 0.2], [0.1, 0.3]])
    np.testing.assert_allclose(prior.alpha, [[1, 1], [0.5, 1.5]], rtol=1e-15)


def test_a_class_that_is_predicted_for_no_item_has_a_uniform_row():
    prior = DirichletConfusion.from_prior(3.0, mean_scores=[[0.5, 0.25, 0.25], [0, 0, 0]])
    np.testing.assert_allclose(prior.alpha[1], 1.0, rtol=1e-15)


def test_scores_of_zero_leave_every_label_a_chance_and_hardly_move_the_mean():
    scores = np.array([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0]])
    prior = DirichletConfusion.from_prior(1.0, mean_scores=scores)
    assert (prior.alpha > 0).all()
    np.testing.assert_allclose(prior.mean, scores, rtol=0, atol=1e-6)
    assert np.isfinite(prior.update([[0, 1, 0, 0], [0, 0, 0, 2]]).log_prob(np.full((2, 4), 0.25))).all()


def test_mean_scores_that_rounding_carries_past_one_are_taken():
    prior = DirichletConfusion.from_prior(mean_scores=np.array([[1 + 1e-7, 0.0]], np.float32))
    assert prior.mean[0, 0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("strength", [0, -1, np.inf, np.nan])
def test_a_strength_that_is_not_positive_and_finite_is_refused(strength):
    with pytest.raises(PriorError, match="positive number of labels"):
        DirichletConfusion.from_prior(strength, n_predictions=1, n_classes=2)


@pytest.mark.parametrize("bad", [-0.01, 1.01, np.nan, np.inf])
def test_a_mean_score_outside_its_range_is_refused_with_its_place(bad):
    with pytest.raises(PriorError, match="predicted class 1, label 0 has"):
        DirichletConfusion.from_prior(mean_scores=[[0.5, 0.5], [bad, 0.5]])


def test_mean_scores_that_are_no_matrix_are_refused():
    with pytest.raises(PriorError, match=r"found shape \(2,\)"):
        DirichletConfusion.from_prior(mean_scores=[0.5, 0.5])


@pytest.mark.parametrize(
    "arguments",
    [{}, {"n_classes": 2}, {"n_predictions": 2}, {"mean_scores": [[1.0]], "n_classes": 1, "n_predictions": 1}],
)
def test_exactly_one_of_mean_scores_and_the_sizes_is_wanted(arguments):
    with pytest.raises(PriorError, match="either"):
        DirichletConfusion.from_prior(**arguments)


# -- counting and updating -------------------------------------------------------------------------------------------


def test_update_uses_the_label_not_the_prediction():
    # Labels and predictions never agree: nothing may land on the diagonal.
    predictions = np.array([0, 1, 1, 2, 0])
    labels = (predictions + 1) % 3
    counts = statistics(predictions, labels, 3, 3)
    np.testing.assert_array_equal(counts, [[0, 2, 0], [0, 0, 2], [1, 0, 0]])
    posterior = DirichletConfusion.from_prior(3.0, n_predictions=3, n_classes=3).update(counts)
    np.testing.assert_array_equal(posterior.alpha, [[1, 3, 1], [1, 1, 3], [2, 1, 1]])


def test_rows_are_predictions_and_columns_are_labels():
    counts = statistics([1, 1, 1, 0], [0, 0, 2, 2], 2, 3)
    np.testing.assert_array_equal(counts, [[0, 0, 1], [2, 0, 1]])
    assert counts.dtype == np.int64


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [([0, 1], [0, 3], "Labels .* 0 to 2; item 1 has 3"), ([0, 2], [0, 0], "Predictions .* 0 to 1; item 1 has 2")],
)
def test_codes_out_of_range_are_refused_and_never_counted_elsewhere(predictions, labels, message):
    with pytest.raises(LabelError, match=message):
        statistics(predictions, labels, 2, 3)
    with pytest.raises(LabelError, match="item 0 has -1"):
        statistics([-1], [0], 2, 3)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, list])
def test_counts_of_any_integer_kind_are_taken(kind):
    counts = [[3, 0, 1], [0, 2, 0]]
    posterior = DirichletConfusion(ALPHA).update(counts if kind is list else kind(counts))
    np.testing.assert_array_equal(posterior.alpha, ALPHA + counts)


def test_batches_of_counts_give_batches_of_posteriors():
    posterior = DirichletConfusion(ALPHA).update(np.arange(30).reshape(5, 2, 3))
    assert posterior.alpha.shape == posterior.mean.shape == posterior.variance.shape == (5, 2, 3)
    assert posterior.sample(jax.random.key(0), 7).shape == (7, 5, 2, 3)


def test_imagined_labels_at_the_mean_leave_the_mean_and_add_their_number():
    belief = DirichletConfusion(ALPHA)
    imagined = belief.update_at_mean([10, 0])
    np.testing.assert_allclose(imagined.mean, belief.mean, rtol=1e-14)
    np.testing.assert_allclose(imagined.alpha.sum(-1), ALPHA.sum(-1) + np.array([10, 0]), rtol=1e-14)
    counts = [[1, 2, 3], [0, 0, 4]]
    np.testing.assert_array_equal(belief.update_counts(counts).alpha, belief.update(counts).alpha)


# -- moments ---------------------------------------------------------------------------------------------------------


def test_moments_equal_scipy_row_by_row():
    belief = DirichletConfusion(ALPHA)
    for k, alpha in enumerate(ALPHA):
        distribution = stats.dirichlet(alpha)
        np.testing.assert_allclose(belief.mean[k], distribution.mean(), rtol=1e-14)
        np.testing.assert_allclose(belief.variance[k], distribution.var(), rtol=1e-12)
        assert belief.variance[k].sum() == pytest.approx(np.trace(distribution.cov()), rel=1e-12)


def test_the_total_variance_of_a_row_is_the_published_formula():
    belief = DirichletConfusion(ALPHA)
    expected = (1 - (belief.mean**2).sum(-1)) / (ALPHA.sum(-1) + 1)
    np.testing.assert_allclose(belief.variance.sum(-1), expected, rtol=1e-14)


def test_moments_at_a_billion_labels_keep_their_digits():
    counts = np.array([[10**9 + 7, 3, 0], [10**9, 10**9, 2**24 + 1]])
    belief = DirichletConfusion(np.ones((2, 3))).update(counts)
    for k in range(2):
        alpha = [int(n) + 1 for n in counts[k]]  # exact integers below
        total = sum(alpha)
        assert belief.alpha[k].tolist() == alpha
        spread = sum(a * (total - a) for a in alpha)
        assert belief.variance[k].sum() == pytest.approx(spread / (total**2 * (total + 1)), rel=1e-14)
        for j in range(3):
            expected = alpha[j] * (total - alpha[j]) / (total**2 * (total + 1))
            assert belief.variance[k, j] == pytest.approx(expected, rel=1e-14)


# -- densities -------------------------------------------------------------------------------------------------------


def test_a_flat_density_is_two_up_to_the_corners():
    prior = DirichletConfusion(np.ones((3, 3)))
    theta = np.array([[1.0, 0, 0], [0.2, 0.3, 0.5], [0, 0.5, 0.5]])
    np.testing.assert_allclose(prior.log_prob(theta), np.log(2), rtol=1e-14)  # the simplex has area 1/2


def test_two_labels_are_a_beta_distribution():
    theta = np.array([[0.2, 0.8], [0.9, 0.1]])
    belief = DirichletConfusion(np.array([[0.3, 2.0], [50.0, 4.0]]))
    expected = stats.beta.logpdf(theta[:, 0], belief.alpha[:, 0], belief.alpha[:, 1])
    np.testing.assert_allclose(belief.log_prob(theta), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "counts"),
    [([1, 1, 1], [10**9, 10**9, 5]), ([0.5, 8.5, 2], [3, 40, 0]), ([1e-3, 2, 1e-9], [1, 0, 3])],
)
def test_log_marginal_keeps_its_digits_at_any_size(alpha, counts):
    alpha, counts = np.array([alpha], float), np.array([counts])

    def log_beta(x):  # two Beta functions
        return special.betaln(x[:, 0], x[:, 1]) + special.betaln(x[:, 0] + x[:, 1], x[:, 2])

    large, small = log_beta(alpha + counts), log_beta(alpha)
    # Rounding of the larger term, and nothing else: 32 units in the last place.
    tolerance = 32 * np.finfo(float).eps * max(np.abs(large).max(), np.abs(small).max(), 1)
    value = DirichletConfusion(alpha).log_marginal(counts)
    np.testing.assert_allclose(value, large - small, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", [1, 30, 10**6, 10**9])
def test_log_marginal_of_one_label_alone_is_the_product_of_predictions(n):
    # With alpha = (2, 1, 2): B(n + 2, 1, 2) / B(2, 1, 2) = 24 / ((n + 2) (n + 3) (n + 4)), at most 60 in logarithms.
    value = DirichletConfusion(np.array([[2.0, 1.0, 2.0]])).log_marginal([[n, 0, 0]])
    expected = np.log(24) - np.log([n + 2.0, n + 3.0, n + 4.0]).sum()
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)


# -- as a pytree -----------------------------------------------------------------------------------------------------


def test_a_posterior_is_a_pytree():
    leaves, structure = jax.tree.flatten(DirichletConfusion(ALPHA))
    assert len(leaves) == 1
    assert jax.tree.unflatten(structure, leaves).alpha is ALPHA


def test_types_are_never_promoted():
    belief = DirichletConfusion(ALPHA)
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        assert belief.variance.dtype == belief.update_at_mean(np.array([1, 2])).alpha.dtype == np.float64


def test_the_prior_predicts_labels_at_its_mean():
    prior = DirichletConfusion(ALPHA)
    for j in range(3):
        one = statistics([0, 1], [j, j], 2, 3)
        np.testing.assert_allclose(np.exp(prior.log_marginal(one)), prior.mean[:, j], rtol=1e-12)
    assert math.isclose(prior.mean.sum(), 2)
