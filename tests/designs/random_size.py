"""A pool, and campaigns on it by designs whose batches have a random size."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import bayes_assess as ba
from bayes_assess.designs import compiled_start
from bayes_assess.designs.step import RandomRounds, one_random_round
from made import labelled_sessions

RNG = np.random.default_rng(3)
SCORES = RNG.beta(0.4, 2.0, 500)
LABELS = (RNG.random(500) < SCORES).astype(int)
POOL = ba.Pool(scores=np.stack([1 - SCORES, SCORES], axis=1))
PREDICTED = (SCORES >= 0.5).astype(int)
F1 = ba.Metric("f1")


told = labelled_sessions(POOL, LABELS, F1)


def rounds(n_campaigns: int, *batches: int, design: Any) -> tuple[Any, Any]:
    """Run rounds of campaigns; the setting, and their states with a leading axis."""
    on = F1.setting(POOL, strata=design.strata_of(POOL))
    full = F1.full_counts(POOL, on.cells, LABELS, on.n_outcomes)
    state, longest = compiled_start(design, *on), max(map(design.longest, batches))
    with jax.enable_x64(True):

        @jax.jit
        @jax.vmap
        def run(key):
            nothing = jnp.zeros((), jnp.int64)
            campaign = RandomRounds(nothing, nothing, state, jnp.asarray(full))

            def play(campaign, n):
                return one_random_round(design, longest, jax.random.split(key), campaign, n), None

            return jax.lax.scan(play, campaign, jnp.asarray(batches))[0].state

        return on, jax.device_get(run(jax.random.split(jax.random.key(0), n_campaigns)))


def totals_and_truth(on: Any, states: Any) -> list[tuple[np.ndarray, int]]:
    """Return the totals that campaigns find of items by prediction and label, and how many there are."""
    memory = states.memory
    totals = np.asarray(memory.before + memory.others) / np.asarray(memory.weight)[:, None, None]
    full = F1.full_counts(POOL, on.cells, LABELS, 2)
    attribute = np.asarray(on.reward.attribute)
    return [
        (totals[:, attribute == predicted, label].sum(1), full[attribute == predicted, label].sum())
        for predicted in (0, 1)
        for label in (0, 1)
    ]
