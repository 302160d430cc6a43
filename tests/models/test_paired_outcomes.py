from __future__ import annotations

import jax
import numpy as np
import pytest

from bayes_assess.errors import PriorError
from bayes_assess.models.paired_outcomes import (
    OUTCOMES,
    PairedOutcomes,
    outcomes_of,
    statistics,
)
from strict import kept_modes


def test_the_prior_spreads_its_strength_evenly():
    np.testing.assert_array_equal(PairedOutcomes.from_prior().alpha, [0.25] * 4)
    np.testing.assert_array_equal(PairedOutcomes.from_prior(6.0, n_groups=5).alpha, np.full((5, 4), 1.5))


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


def test_one_law_and_distributions_of_groups_run_in_batches_and_results_are_64_bit():
    one = PairedOutcomes.from_prior()
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        batch = one.update(np.ones((7, 4), int))
        results = [
            batch.mean,
            batch.variance,
            batch.log_marginal(np.ones(4, int)),
            batch.sample(jax.random.key(0), 3),
        ]
    assert [result.shape for result in results] == [(7, 4), (7, 4), (7,), (3, 7, 4)]
    assert {result.dtype for result in results} == {np.dtype(np.float64)}
