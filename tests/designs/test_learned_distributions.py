"""Campaigns that carry a mixture from label to label decide as if they placed its points anew after each."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.designs import ARMS, refreshed, reserve_batch, update_batch
from made import made_pool, start

POOL, LABELS = made_pool([0.9, 0.5, 0.7, 0.8], [300, 200, 100, 250])
N_KEYS, ALPHA = 3000, 1e-4


def shares(design, state) -> np.ndarray:
    """First choices under many keys."""
    with jax.enable_x64(True):
        state = jax.device_put(state)
        cells = jax.vmap(lambda key: design.choose(key, state)[0])(jax.random.split(jax.random.key(5), N_KEYS))
    return np.bincount(np.asarray(cells), minlength=4)


def learned_state(design, question, n: int):
    """State after the first `n` of a hundred labels, as they are told one after the other."""
    _, state = start(design, question, POOL, "learned")
    rng = np.random.default_rng(0)
    at = rng.integers(0, 4, 100)
    outcomes = (rng.random(100) < np.array([0.9, 0.5, 0.7, 0.8])[at]).astype(int)
    for first, last in ((0, n // 2), (n // 2, n)):
        state = refreshed(design, state)
        state = reserve_batch(design, state, at[first:last])
        state = update_batch(design, state, at[first:last], outcomes[first:last])
    return state


@pytest.mark.slow
@pytest.mark.parametrize("question", [ba.LeastAccurate(), ba.GroupAccuracy()], ids=lambda question: question.name)
def test_weights_that_labels_moved_decide_as_points_placed_anew(question):
    design = ARMS["thompson"]()
    moved = learned_state(design, question, 60)
    anew = design.refreshed(moved)
    assert not np.allclose(moved.carried.posterior.log_strength, anew.carried.posterior.log_strength)
    together = np.stack([shares(design, moved), shares(design, anew)])
    assert stats.chi2_contingency(together[:, together.sum(0) > 0]).pvalue > ALPHA
    # Most labels forgotten is another distribution.
    together = np.stack([shares(design, learned_state(design, question, 6)), shares(design, anew)])
    assert stats.chi2_contingency(together[:, together.sum(0) > 0]).pvalue < ALPHA


def test_points_are_placed_anew_on_a_schedule_of_labels():
    design, question = ARMS["thompson"](), ba.LeastAccurate()
    state = learned_state(design, question, 10)
    assert bool(design.due(state))
    state = refreshed(design, state)
    assert not bool(design.due(state))
    assert int(state.carried.n_placed) == int(state.carried.n_labels) == 10
    assert design.due(replace(state, carried=None)) is False
