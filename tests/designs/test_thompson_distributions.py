"""Thompson sampling plays every arm as often as it is worth most under a posterior draw, here one of NumPy's."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.acquisition import beta_expected_lambda
from bayes_assess.designs import DESIGNS
from questions.asked import COST, LABELS, POOL

N = 6000
SEEN = np.arange(0, 160, 4)


def state_of(question, design="thompson"):
    a = ba.assess(POOL, question, design=design, prior="informative")
    a.tell(POOL.ids[SEEN], LABELS[SEEN])
    return a


def first_cells(a) -> np.ndarray:
    """First choices of a session under many keys."""
    with jax.enable_x64(True):
        state = jax.device_put(a.design.compiled_state(a._state))
        choose = jax.jit(jax.vmap(lambda key: a.design.choose(key, state)[0]))
        return np.asarray(choose(jax.random.split(jax.random.key(5), N)))


def as_likely(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two samples of arms come from one distribution (chi-square, one in ten thousand)."""
    table = np.stack([counts, expected])
    return stats.chi2_contingency(table[:, table.sum(0) > 0], correction=False).pvalue > 1e-4


def dirichlet(rng, alpha: np.ndarray, n: int) -> np.ndarray:
    gamma = rng.standard_gamma(alpha, (n, *alpha.shape))
    return gamma / gamma.sum(-1, keepdims=True)


def test_the_most_costly_class():
    a = state_of(ba.MostCostly(COST))
    alpha = np.asarray(ba.assess(POOL, ba.ConfusionMatrix(), prior="informative").prior.alpha).copy()
    np.add.at(alpha, (POOL.predictions[SEEN], LABELS[SEEN]), 1)
    drawn = (COST * dirichlet(np.random.default_rng(0), alpha, 4 * N)).sum(-1).argmax(1)
    assert as_likely(np.bincount(first_cells(a), minlength=4), np.bincount(drawn, minlength=4))


def test_the_confusion_matrix():
    a = state_of(ba.ConfusionMatrix())
    alpha = np.asarray(a.result().posterior.alpha)
    total, theta = alpha.sum(1), dirichlet(np.random.default_rng(1), alpha, 4 * N)

    def spread(alpha):
        mean = alpha / alpha.sum(-1, keepdims=True)
        return (1 - (mean**2).sum(-1)) / (alpha.sum(-1) + 1)

    after = np.stack([spread(alpha + np.eye(4)[j]) for j in range(4)], -1)
    share = np.bincount(POOL.predictions, minlength=4) / 160
    reward = share * (spread(alpha) - (theta * after).sum(-1))
    assert as_likely(np.bincount(first_cells(a), minlength=4), np.bincount(reward.argmax(1), minlength=4))
    assert total.shape == (4,)


def test_the_least_calibrated_group_and_a_random_item_of_it():
    a = state_of(ba.LeastCalibrated(bins=3))
    belief, cells = a.result().posterior, a.cells
    rng = np.random.default_rng(2)
    theta = rng.beta(belief.a, belief.b, (4 * N, 12))
    size = cells.sizes.reshape(4, 3)
    gap = np.abs(theta - cells.mean_score).reshape(-1, 4, 3)
    drawn = (size / size.sum(1, keepdims=True) * gap).sum(-1).argmax(1)
    chosen = first_cells(a)
    assert as_likely(np.bincount(chosen // 3, minlength=4), np.bincount(drawn, minlength=4))
    left = cells.sizes - np.bincount(cells.source.cells_of(SEEN), minlength=12)
    share = left / np.repeat(left.reshape(4, 3).sum(1), 3)
    expected = share * np.repeat(np.bincount(chosen // 3, minlength=4), 3)
    counts, bins_left = np.bincount(chosen, minlength=12), int((left > 0).sum())
    assert (left[counts > 0] > 0).all()
    assert bins_left - 4 >= 2  # at least two free counts, or nothing is tested
    assert stats.chisquare(counts[expected > 0], expected[expected > 0], ddof=3).pvalue > 1e-4


@pytest.mark.slow
def test_two_groups_by_the_probability_of_the_verdict_to_be_expected():
    a = state_of(ba.Compare("west", "east", by="site"))
    belief = a.result().posterior
    own_a, own_b = (np.asarray(x)[[2, 0]] for x in (belief.a, belief.b))
    theta = np.random.default_rng(3).beta(own_a, own_b, (2000, 2))
    n = len(theta)
    value = np.asarray(beta_expected_lambda(theta, np.tile(own_a, (n, 1)), np.tile(own_b, (n, 1)), 0.05))
    drawn = np.array([2, 0])[value.argmax(1)]
    assert as_likely(np.bincount(first_cells(a), minlength=3), np.bincount(drawn, minlength=3))


@pytest.mark.parametrize("name", ["random", "random_group"])
def test_designs_without_a_reward_keep_to_the_groups_that_are_compared(name):
    a = state_of(ba.Compare("west", "east", by="site"), design=name)
    counts = np.bincount(first_cells(a), minlength=3)
    left = a.cells.sizes - np.bincount(a.cells.source.cells_of(SEEN), minlength=3)
    expected = np.array([left[0], 0, left[2]]) if name == "random" else np.array([1, 0, 1])
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2]], N * expected[[0, 2]] / expected.sum()).pvalue > 1e-4
    assert DESIGNS[name] is type(a.design)
