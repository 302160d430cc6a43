from __future__ import annotations

import jax
import numpy as np
import pytest

from bayes_assess.errors import PriorError
from bayes_assess.models.calibration_bins import CalibrationBins, statistics
from sbc import ranks, uniformity
from strict import kept_modes

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
    assert np.isfinite(prior.calibration_error(prior.sample(jax.random.key(0), 10))).all()
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
    assert PRIOR.calibration_error(np.stack([theta] * 5)).shape == (5, 2)


@pytest.mark.slow
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
        draws = belief.calibration_error(belief.sample(jax.random.key(2), n_draws))
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
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        posterior = PRIOR.update(np.ones((2, 3), int), np.full((2, 3), 2))
        theta = posterior.sample(jax.random.key(0), 4)
        results = [
            posterior.gap,
            posterior.calibration_error(theta),
        ]
    assert {result.dtype for result in results} == {np.dtype(np.float64)}
