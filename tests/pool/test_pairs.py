"""Pools of pairs: labels are differences, scores their probabilities if halves were independent."""

from __future__ import annotations

import numpy as np

import bayes_assess as ba
from bayes_assess.pool.pairs import PairPool, find_pairs

GROUPS = {"system": ["b", "a", "b", "a"], "prompt": ["p", "q", "q", "p"]}


def paired(values, **columns):
    pool = ba.Pool(groups=GROUPS, **columns)
    return PairPool.of(pool, find_pairs(pool, "system", "a", "b", "prompt"), values)


def test_halves_are_found_wherever_they_are():
    found = paired([0.0, 1.0], predictions=[1, 0, 1, 1])
    assert found.pairs.names.tolist() == ["p", "q"]
    assert found.pairs.first.tolist() == [3, 1]
    assert found.pairs.second.tolist() == [0, 2]
    assert found.prediction_names([0, 1]).tolist() == [0, -1]


def test_labels_are_differences_of_values():
    found = paired([1.0, 1.5, 4.0], predictions=[0, 1, 2, 0])
    assert found.differences.tolist() == [-3, -2.5, -0.5, 0, 0.5, 2.5, 3]
    codes = found.codes_of_halves(np.array([2, 0, 1, 1]))  # of the items: p is 1 less 2, q is 0 less 1
    np.testing.assert_array_equal(found.differences[codes], [1.5 - 4.0, 1.0 - 1.5])


def test_scores_of_differences_are_those_of_independent_halves():
    scores = np.array([[0.1, 0.9], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    found = paired([0.0, 1.0], scores=scores)
    first, second = scores[[3, 1]], scores[[0, 2]]
    up, down = first[:, 1] * second[:, 0], first[:, 0] * second[:, 1]
    np.testing.assert_allclose(found.scores, np.stack([down, 1 - up - down, up], axis=1))
    np.testing.assert_allclose(paired([0.0, 1.0], scores=scores[:, 1]).scores, found.scores)
    sure = paired([0.0, 1.0], predictions=[1, 0, 1, 1], confidence=[0.9, 0.7, 0.6, 0.8])
    np.testing.assert_allclose(sure.scores, found.scores)


def test_rounding_makes_no_new_differences():
    tenths = paired(np.arange(5) / 10, predictions=[0, 1, 2, 4], classes=range(5))
    assert len(tenths.differences) == 9
