from __future__ import annotations

import jax
import numpy as np
import pytest

from bayes_assess.acquisition.rope import rope_masses_samples
from bayes_assess.errors import PriorError
from bayes_assess.models.paired_outcomes import (
    OUTCOMES,
    PairedOutcomes,
    accuracies,
    difference,
    outcomes_of,
    statistics,
)

POSTERIOR = PairedOutcomes.from_prior(n_groups=3).update([[60, 12, 4, 23], [0, 0, 0, 0], [3, 900, 2, 1]])


def test_the_prior_spreads_its_strength_evenly():
    np.testing.assert_array_equal(PairedOutcomes.from_prior().alpha, [0.25] * 4)
    assert PairedOutcomes.from_prior(6.0, n_groups=5).alpha.shape == (5, 4)
    np.testing.assert_array_equal(PairedOutcomes.from_prior(6.0, n_groups=5).difference_mean, 0)


@pytest.mark.parametrize("strength", [0, -1, np.inf, np.nan])
def test_a_strength_that_is_not_positive_and_finite_is_refused(strength):
    with pytest.raises(PriorError, match="positive number of labels"):
        PairedOutcomes.from_prior(strength)


def test_outcomes_compare_predictions_with_the_label():
    first, second = np.array(["a", "a", "b", "b"]), np.array(["a", "b", "a", "b"])
    found = outcomes_of(first, second, np.array(["a"] * 4))
    assert [OUTCOMES[j] for j in found] == ["both", "first", "second", "neither"]


def test_outcomes_use_the_label_not_the_prediction():
    first = second = np.arange(5)
    np.testing.assert_array_equal(outcomes_of(first, second, first + 1), 3)


def test_items_with_equal_predictions_contribute_exactly_zero_to_the_difference():
    rng = np.random.default_rng(0)
    first, second, labels = rng.integers(0, 3, (3, 400))
    right = (first == labels).astype(float) - (second == labels)
    differ = first != second
    assert (right[~differ] == 0).all()
    assert right.mean() == pytest.approx(differ.mean() * right[differ].mean(), rel=1e-14)
    counts = statistics(np.zeros(400, int), outcomes_of(first, second, labels), 1)[0]
    assert counts[1] - counts[2] == right.sum()


def test_moments_of_the_difference_are_exact():
    mean, alpha = POSTERIOR.mean, POSTERIOR.alpha
    total = alpha.sum(-1)
    # From the covariance of a Dirichlet law: (diag(m) - m m') / (A + 1).
    covariance = (mean[:, :, None] * np.eye(4) - mean[:, :, None] * mean[:, None, :]) / (total + 1)[:, None, None]
    c = np.array([0, 1, -1, 0])
    np.testing.assert_allclose(POSTERIOR.difference_mean, mean @ c, rtol=1e-13)
    np.testing.assert_allclose(POSTERIOR.difference_variance, c @ covariance @ c, rtol=1e-12)


def test_both_ways_of_drawing_the_difference_have_its_moments():
    n = 100_000
    for draws in (
        POSTERIOR.sample_difference(jax.random.key(0), n),
        difference(POSTERIOR.sample(jax.random.key(1), n)),
    ):
        centred = draws - POSTERIOR.difference_mean
        # 5 standard errors of a mean and of a mean square: 6e-7 for each of 12 comparisons.
        for values, expected in ((centred, 0), (centred**2, POSTERIOR.difference_variance)):
            assert (np.abs(values.mean(0) - expected) < 5 * values.std(0) / np.sqrt(n)).all()


def test_the_difference_is_that_of_the_accuracies_and_swaps_its_sign_with_the_systems():
    theta = POSTERIOR.sample(jax.random.key(0), 10)
    both = accuracies(theta)
    np.testing.assert_allclose(difference(theta), both[..., 0] - both[..., 1], rtol=0, atol=1e-15)
    swapped = PairedOutcomes(POSTERIOR.alpha[:, [0, 2, 1, 3]])
    np.testing.assert_array_equal(swapped.difference_mean, -POSTERIOR.difference_mean)
    np.testing.assert_allclose(swapped.difference_variance, POSTERIOR.difference_variance, rtol=1e-14)


def test_draws_of_the_difference_go_into_the_region_of_practical_equivalence():
    masses = rope_masses_samples(POSTERIOR.sample_difference(jax.random.key(0), 2000), np.zeros(()), 0.05)
    assert masses.shape == (3, 3)
    assert masses[2, 2] > 0.999


def test_one_law_and_laws_of_groups_run_in_batches_and_results_are_64_bit():
    one = PairedOutcomes.from_prior()
    with jax.numpy_dtype_promotion("strict"):
        batch = one.update(np.ones((7, 4), int))
        results = [
            batch.difference_mean,
            batch.difference_variance,
            batch.log_marginal(np.ones(4, int)),
            batch.sample_difference(jax.random.key(0), 3),
        ]
    assert [result.shape for result in results] == [(7,), (7,), (7,), (3, 7)]
    assert {result.dtype for result in results} == {np.dtype(np.float64)}
