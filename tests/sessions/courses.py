"""Small campaigns of every design, and what makes two of them the same."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Adaptive, Importance, Oasis, Poisson, Stratified, VarianceReduction

RNG = np.random.default_rng(8)
N = 90
SCORES = np.round(RNG.random(N), 3)
POSITIVE = (RNG.random(N) < SCORES).astype(int)
BINARY = ba.Pool(scores=SCORES)
INDICATORS = RNG.random((N, 3)) < 0.4
SETS = ba.Pool(scores=np.clip(INDICATORS * 0.6 + RNG.random((N, 3)) * 0.4, 0, 1), multilabel=True, classes=list("abc"))
TEXTS = np.array([";".join(np.array(list("abc"))[row]) or "-" for row in INDICATORS])
_KEYS = jax.dtypes.prng_key
F1, MICRO = ba.Metric("f1"), ba.Metric(["f1_micro", "hamming_loss"])
CASES = {
    "arms": (BINARY, ba.GroupAccuracy(), "thompson", POSITIVE),
    "rounds of arms": (BINARY, ba.LeastAccurate(by=ba.ScoreBins(6), m=2), "epsilon_greedy", POSITIVE),
    "belief": (BINARY, F1, VarianceReduction(n_strata=8, audit=0.3), POSITIVE),
    "adaptive": (BINARY, F1, Adaptive(n_strata=8), POSITIVE),
    "oasis": (BINARY, F1, Oasis(n_strata=8), POSITIVE),
    "importance": (BINARY, F1, Importance(n_strata=8), POSITIVE),
    "passive": (BINARY, F1, "passive", POSITIVE),
    "stratified": (BINARY, F1, Stratified(n_strata=8), POSITIVE),
    "poisson": (BINARY, F1, Poisson(n_strata=8), POSITIVE),
    "label sets": (SETS, MICRO, Poisson(n_strata=8), TEXTS),
    "label sets at random": (SETS, MICRO, "passive", TEXTS),
}


def started(case: str, journal=None) -> ba.Assessment:
    pool, question, design, _ = CASES[case]
    prior = "uninformative" if case.startswith("arms") else None
    return ba.assess(pool, question, design=design, prior=prior, seed=2, journal=journal)


def numbers_of(state) -> list:
    """The state's leaves, keys as numbers."""
    return [
        jax.random.key_data(leaf) if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, _KEYS) else leaf
        for leaf in jax.tree.leaves(state)
    ]


def assert_same(one: ba.Assessment, other: ba.Assessment) -> None:
    for mine, theirs in zip(numbers_of(one._state), numbers_of(other._state), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.pending, other.pending)
    np.testing.assert_array_equal(one._items.label, other._items.label)
    np.testing.assert_array_equal(one.result().estimate, other.result().estimate)
    np.testing.assert_array_equal(one.result().interval, other.result().interval)
    assert one.result().summary() == other.result().summary()


SLOW = "adaptive", "oasis", "importance"
every_case = pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.slow] * (c in SLOW)) for c in CASES])
