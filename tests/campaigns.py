"""Small pools and hand-driven campaigns that several test modules use."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import bayes_assess as ba
from bayes_assess.designs import Design
from bayes_assess.questions import Question


def made_pool(
    accuracies: list[float], sizes: list[int], *, scores: bool = True, seed: int = 0
) -> tuple[ba.Pool, np.ndarray]:
    """A pool with one group per class: exactly round(accuracy * size) of its items are predicted correctly."""
    rng = np.random.default_rng(seed)
    n_classes = len(accuracies)
    predictions = np.repeat(np.arange(n_classes), sizes)
    labels = np.concatenate(
        [
            np.where(np.arange(size) < round(accuracy * size), k, (k + 1) % n_classes)
            for k, (accuracy, size) in enumerate(zip(accuracies, sizes, strict=True))
        ]
    )
    confidence = None
    if scores:  # confidences that know the accuracy roughly, as real ones do
        center = np.repeat(accuracies, sizes) + rng.normal(0, 0.05, len(predictions))
        confidence = np.clip(center, 0.5 / n_classes, 0.99)
    shuffle = rng.permutation(len(predictions))
    pool = ba.Pool(
        predictions=predictions[shuffle],
        confidence=None if confidence is None else confidence[shuffle],
        classes=list(range(n_classes)),
    )
    return pool, labels[shuffle]


def like_20news(seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Twenty groups of some hundreds of items with accuracies from 0.6 to 0.95, as of a news classifier."""
    rng = np.random.default_rng(seed)
    return made_pool(rng.uniform(0.6, 0.95, 20).tolist(), rng.integers(250, 420, 20).tolist(), seed=seed)


def like_cifar10(seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Ten groups of about a thousand items with accuracies from 0.85 to 0.98, as of an image classifier."""
    rng = np.random.default_rng(seed)
    accuracies = [0.85, *np.linspace(0.9, 0.98, 9)]
    return made_pool(accuracies, rng.integers(900, 1100, 10).tolist(), seed=seed)


def run_campaign(design: Design, question: Question, pool: ba.Pool, labels: np.ndarray, n: int, key: jax.Array):
    """Run one campaign by the design's own steps; return the cells in the order played and the final state."""
    cells = question.cells(pool, 0, design.strata)
    prior = question.prior(pool, cells, None, None)
    reward = question.reward(cells, prior)
    state = design.init(cells, prior, reward, question.playable(cells))
    left = question.full_counts(pool, cells, labels, reward.n_outcomes)
    with jax.enable_x64(True):
        played, state = _play(design, n, key, jax.tree.map(jnp.asarray, state), jnp.asarray(left))
    return np.asarray(played), state


@partial(jax.jit, static_argnums=(0, 1))
def _play(design, n, key, state, left):
    def step(carry, t):
        state, left = carry
        cell, weight, state = design.choose(jax.random.fold_in(key, t), state)
        place = jax.random.uniform(jax.random.fold_in(key, -1 - t)) * left[cell].sum()
        outcome = (jnp.cumsum(left[cell]) <= place).sum()
        return (design.update(state, cell, outcome, weight), left.at[cell, outcome].add(-1)), cell

    (state, _), played = lax.scan(step, (state, left), jnp.arange(n))
    return played, state
