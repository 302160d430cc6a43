"""Groups whose calibration curves are alike, or apart: the mixture of both by their evidence."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from bayes_assess.models.alike_or_apart import AlikeOrApart
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration

SCORE = [[0.6, 0.75, 0.9]] * 3
PRIOR = HierarchicalCalibration.from_prior(score=SCORE, size=[[100] * 3] * 3)
COUNTS = np.array([[14, 6], [12, 8], [10, 10], [8, 12], [5, 15], [2, 18], [7, 13], [6, 14], [1, 19]])
BELIEF = AlikeOrApart.of(PRIOR, COUNTS)


def test_the_probability_is_that_of_the_labels_under_either_model():
    x, labels = np.asarray(PRIOR.logit_score), COUNTS.sum(-1)
    own = [
        HierarchicalCalibration.fit(x[g : g + 1], COUNTS[3 * g : 3 * g + 3, 1], labels[3 * g : 3 * g + 3])
        for g in range(3)
    ]
    odds = np.exp(sum(float(one.log_evidence()) for one in own) - float(PRIOR.update_counts(COUNTS).log_evidence()))
    assert BELIEF.probability_apart == pytest.approx(odds / (1 + odds))
    same = np.tile(COUNTS[3:6], (3, 1))
    assert AlikeOrApart.of(PRIOR, same).probability_apart < 0.5 < BELIEF.probability_apart


def test_moments_and_quantiles_are_those_of_draws():
    draws = BELIEF.sample(jax.random.key(1), 20_000)
    error = draws.std(0) / np.sqrt(len(draws))
    np.testing.assert_array_less(np.abs(draws.mean(0) - BELIEF.mean), 4.5 * error)
    np.testing.assert_allclose(draws.var(0), BELIEF.variance, rtol=0.1)
    below = (draws < BELIEF.quantile(0.1)).mean(0)
    np.testing.assert_allclose(below, 0.1, atol=4.5 * np.sqrt(0.09 / 4_000) + 4.5 * np.sqrt(0.09 / 20_000))
    assert BELIEF.quantile([0.1, 0.9]).shape == (2, 9)


def test_an_odd_group_is_drawn_to_the_others_less_than_if_groups_were_alike():
    share = COUNTS[:3, 1] / COUNTS[:3].sum(-1)
    alike = np.asarray(PRIOR.update_counts(COUNTS).mean)[:3]
    assert (np.abs(BELIEF.mean[:3] - share).mean()) < np.abs(alike - share).mean()


def test_counts_in_parts_and_campaigns_side_by_side_are_learned_alike():
    twice = AlikeOrApart.of(PRIOR, COUNTS // 2).update_counts(COUNTS - COUNTS // 2)
    np.testing.assert_allclose(twice.mean, BELIEF.mean)
    both = AlikeOrApart.of(PRIOR, np.stack([0 * COUNTS, COUNTS]))
    np.testing.assert_allclose(both.mean[1], BELIEF.mean, rtol=1e-6)
    assert both.probability_apart[0] == pytest.approx(0.5, abs=0.02)  # without labels, up to what the points miss
    for draws in (both.sample(jax.random.key(0), 4_000), both.draws(np.random.default_rng(0), 4_000)):
        assert draws.shape == (4_000, 2, 9)
        assert len(np.unique(draws[:, 1, 0])) == 4_000  # each is a draw of its own
        error = np.sqrt(both.variance / 4_000)
        np.testing.assert_array_less(np.abs(draws.mean(0) - both.mean), 4.5 * error)
        np.testing.assert_allclose(draws.var(0), both.variance, rtol=0.15)
    imagined = BELIEF.update_at_mean(np.full(9, 50))
    np.testing.assert_allclose(imagined.mean, BELIEF.mean, atol=0.05)
    assert (imagined.variance < BELIEF.variance).all()


def test_the_greatest_departure_is_left_to_groups_whose_labels_do_not_speak_against_it():
    calibrated = 20 * np.array([[8, 12], [5, 15], [2, 18]])
    counts = np.concatenate([COUNTS[:3], calibrated, calibrated])
    assert AlikeOrApart.of(PRIOR, counts).departs.tolist() == [True, False, False]
