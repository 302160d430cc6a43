from __future__ import annotations

import jax
import numpy as np

from bayes_assess.acquisition import best_arms
from bayes_assess.acquisition.calibration import calibration_reward
from bayes_assess.models.calibration_bins import CalibrationBins
from strict import kept_modes

SCORE = np.array([[0.6, 0.9], [0.6, 0.9], [0.5, 0.5]])
WEIGHT = np.array([[0.5, 0.5], [0.2, 0.8], [0.0, 0.0]])


def test_the_reward_is_the_calibration_error_of_the_draw():
    theta = np.array([[0.6, 0.8], [0.3, 0.9], [0.0, 1.0]])
    np.testing.assert_allclose(calibration_reward(theta, SCORE, WEIGHT), [0.05, 0.06, 0.0], rtol=1e-12)


def test_the_worst_calibrated_group_is_played_whatever_the_sign_of_its_gap():
    for theta in ([[0.6, 0.9], [0.6, 0.7], [0.0, 0.0]], [[0.6, 0.9], [0.9, 0.9], [1.0, 1.0]]):
        reward = calibration_reward(np.array(theta), SCORE, WEIGHT)
        assert best_arms(jax.random.key(0), reward, np.ones(3, bool), 1).tolist() == [1]


def test_batches_of_draws_give_batches_of_rewards():
    model = CalibrationBins.from_prior(score=SCORE, size=[[5, 5], [2, 8], [0, 0]])
    draws = model.sample(jax.random.key(0), 4)
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        reward = calibration_reward(draws, model.score, model.weight)
    assert reward.shape == (4, 3)
    assert reward.dtype == np.float64
    np.testing.assert_allclose(reward, model.calibration_error(draws))
