from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bayes_assess.errors import PriorError
from bayes_assess.models import BetaBernoulli
from bayes_assess.models.calibration_bins import CalibrationBins, _sample_calibration_error, statistics
from sbc import ranks, uniformity

SCORE = np.array([[0.55, 0.8, 0.97], [0.6, 0.75, 0.9]])
SIZE = np.array([[10, 0, 30], [0, 0, 0]])
PRIOR = CalibrationBins.from_prior(score=SCORE, size=SIZE)

# -- priors ----------------------------------------------------------------------------------------------------------


def test_the_informative_prior_expects_calibrated_scores_and_the_other_is_uniform():
    np.testing.assert_allclose(PRIOR.mean, SCORE, rtol=1e-15)
    np.testing.assert_allclose(PRIOR.accuracy.a + PRIOR.accuracy.b, 2.0, rtol=1e-15)
    flat = CalibrationBins.from_prior(score=SCORE, size=SIZE, informative=False)
    np.testing.assert_array_equal([flat.accuracy.a, flat.accuracy.b], np.ones((2, 2, 3)))


def test_weights_are_shares_of_the_group_and_an_empty_group_has_none():
    np.testing.assert_array_equal(PRIOR.weight, [[0.25, 0, 0.75], [0, 0, 0]])


def test_an_empty_bin_needs_no_score():
    prior = CalibrationBins.from_prior(score=[0.7, np.nan], size=[3, 0])
    assert np.isfinite(prior.mean_calibration_error)
    assert np.isfinite(prior.sample_calibration_error(jax.random.key(0), 10)).all()
    with pytest.raises(PriorError, match="between 0 and 1"):
        CalibrationBins.from_prior(score=[0.7, np.nan], size=[3, 1])


@pytest.mark.parametrize(
    ("score", "size", "message"),
    [([0.5], [1, 2], "one entry per bin"), ([0.5], [-1], "0 items or more"), ([1.2], [1], "between 0 and 1")],
)
def test_what_makes_no_bins_is_refused(score, size, message):
    with pytest.raises(PriorError, match=message):
        CalibrationBins.from_prior(score=score, size=size)


# -- labels ----------------------------------------------------------------------------------------------------------


def test_labels_count_not_predictions():
    # Labels never agree with predictions: there is nothing but disagreement to count.
    predictions = np.array([0, 1, 1, 2])
    labels = (predictions + 1) % 3
    successes, trials = statistics(np.array([0, 2, 2, 5]), labels == predictions, (2, 3))
    np.testing.assert_array_equal(successes, np.zeros((2, 3)))
    np.testing.assert_array_equal(trials, [[1, 0, 2], [0, 0, 1]])
    assert PRIOR.update(successes, trials).gap[0, 0] < 0


def test_the_gap_is_positive_where_labels_agree_more_often_than_scores_promise():
    posterior = PRIOR.update(np.full((2, 3), 50), np.full((2, 3), 50))
    assert (posterior.gap > 0).all()


# -- the calibration error -------------------------------------------------------------------------------------------


def test_calibration_errors_of_given_accuracies():
    theta = np.array([[0.45, 0.0, 0.99], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(PRIOR.calibration_error(theta), [0.25 * 0.1 + 0.75 * 0.02, 0], rtol=1e-12)
    # The second bin of the first group is off by 0.8, and empty.
    np.testing.assert_allclose(PRIOR.maximum_calibration_error(theta), [0.1, 0], rtol=1e-12)
    np.testing.assert_allclose(PRIOR.overall_calibration_error(theta, np.array([1.0, 0.0])), 0.04, rtol=1e-12)
    assert PRIOR.calibration_error(np.stack([theta] * 5)).shape == (5, 2)


def absolute_gap(a, b, s):
    """E|theta - s| as the areas under the distribution function up to s and under the survival function from s."""
    law = stats.beta(a, b)
    points = law.ppf([1e-12, 1e-6, 1e-3, 0.05, 0.3, 0.5, 0.7, 0.95, 1 - 1e-3, 1 - 1e-6])

    def area(function, low, high):
        ends = np.unique(np.concatenate([[low], points[(points > low) & (points < high)], [high]]))
        return sum(integrate.quad(function, *ends[i : i + 2], epsabs=1e-13)[0] for i in range(len(ends) - 1))

    return area(law.cdf, 0.0, s) + area(law.sf, s, 1.0)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.floats(-1, 6), st.floats(-1, 6), st.floats(0.001, 0.999))
def test_the_mean_absolute_gap_equals_quadrature(log_a, log_b, s):
    a, b = 10.0**log_a, 10.0**log_b
    model = CalibrationBins(BetaBernoulli(np.array([a]), np.array([b])), np.array([s]), np.ones(1))
    assert model.mean_absolute_gap[0] == pytest.approx(absolute_gap(a, b, s), abs=1e-10)
    assert model.mean_calibration_error == pytest.approx(model.mean_absolute_gap[0], rel=1e-15)


def test_the_mean_absolute_gap_of_a_narrow_law_is_that_of_a_normal_one():
    n = 1e9
    model = CalibrationBins(BetaBernoulli(np.array([n]), np.array([n])), np.array([0.5]), np.ones(1))
    # sqrt(2 / pi) standard deviations; the next term is of the relative order 1 / n.
    assert model.mean_absolute_gap[0] == pytest.approx(np.sqrt(2 / np.pi / (4 * (2 * n + 1))), rel=1e-7)


def test_sampled_calibration_errors_have_the_exact_mean_and_are_drawn_in_blocks():
    rng = np.random.default_rng(0)
    trials = rng.integers(0, 30, (30, 10))
    prior = CalibrationBins.from_prior(score=rng.uniform(0.1, 1, (30, 10)), size=rng.integers(30, 90, (30, 10)))
    posterior = prior.update(rng.binomial(trials, 0.7), trials)
    n = 3001  # several blocks, the last of them cut
    draws = posterior.sample_calibration_error(jax.random.key(0), n)
    assert draws.shape == (n, 30)
    # 5 standard errors: 6e-7 for each of 30 groups.
    assert (np.abs(draws.mean(0) - posterior.mean_calibration_error) < 5 * draws.std(0) / np.sqrt(n)).all()
    assert np.unique(draws[:, 0]).size == n  # no block repeats another


def test_sampling_calibration_errors_never_holds_all_draws():
    shape, n = (1000, 10), 10_000
    prior = CalibrationBins.from_prior(score=np.full(shape, 0.7), size=np.ones(shape, int))
    with jax.enable_x64(True):
        memory = _sample_calibration_error.lower(jax.random.key(0), n, prior).compile().memory_analysis()
    assert memory is not None
    # Draws of all bins would take 800 MB; the errors themselves take 80.
    assert memory.temp_size_in_bytes < 3e8


def test_the_posterior_of_the_calibration_error_is_calibrated_and_faults_are_caught():
    """Every group is a replicate: parameters and labels from the prior, the rank of the true ECE among draws."""
    n_groups, n_bins, n_labels, n_draws = 3000, 3, 5, 63
    rng = np.random.default_rng(1)
    shape = (n_groups, n_bins)
    prior = CalibrationBins.from_prior(4.0, score=np.resize([0.4, 0.6, 0.9], shape), size=np.resize([2, 5, 3], shape))
    theta = rng.beta(prior.accuracy.a, prior.accuracy.b)
    successes, trials = rng.binomial(n_labels, theta), np.full(shape, n_labels)
    truth = prior.calibration_error(theta)

    def p_value(belief):
        draws = belief.sample_calibration_error(jax.random.key(2), n_draws)
        return uniformity(ranks(truth, draws, np.random.default_rng(3)), n_draws)

    # A right posterior fails once in 10,000 seeds.
    assert p_value(prior.update(successes, trials)) > 1e-4
    for wrong in (
        prior.update(trials - successes, trials),
        prior.update(2 * successes, 2 * trials),
        CalibrationBins(prior.update(successes, trials).accuracy, prior.score, np.full(shape, 1 / 3)),
    ):
        assert p_value(wrong) < 1e-4


def test_a_posterior_is_a_pytree_and_types_are_never_promoted():
    leaves, structure = jax.tree.flatten(PRIOR)
    assert len(leaves) == 4
    assert jax.tree.unflatten(structure, leaves) is not None
    with jax.numpy_dtype_promotion("strict"):
        posterior = PRIOR.update(np.ones((2, 3), int), np.full((2, 3), 2))
        theta = posterior.sample(jax.random.key(0), 4)
        results = [
            posterior.gap,
            posterior.mean_calibration_error,
            posterior.calibration_error(theta),
            posterior.maximum_calibration_error(theta),
            posterior.sample_calibration_error(jax.random.key(0), 3),
        ]
    assert {result.dtype for result in results} == {np.dtype(np.float64)}
