from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_assess.estimators.drawn_items import (
    ItemWeights,
    Rounds,
    item_weights,
    missing_items,
    weighted_items_estimate,
)
from bayes_assess.measures import multilabel_measure

ERRORS = multilabel_measure("hamming_loss")


@st.composite
def simple_rounds(draw):
    """Rounds of simple random sampling from a pool, and how many items they leave."""
    told = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    return sum(told) + draw(st.integers(1, 30)), np.array(told)


@given(simple_rounds())
def test_equal_probabilities_weigh_all_items_alike_however_they_are_cut_into_rounds(cut):
    n_items, told = cut
    frame = n_items - np.concatenate([[0], np.cumsum(told)[:-1]])
    drawn_in = np.repeat(np.arange(len(told)), told)
    found = item_weights(Rounds(frame, told, frame), drawn_in, (told / frame)[drawn_in], drawn_in + 1)
    n = told.sum()
    np.testing.assert_allclose(found.total, n_items / n)
    # Times the variance of the losses: that of a total from a simple random sample.
    np.testing.assert_allclose(found.spread.sum(), n_items * (n_items - n) / n)


@given(st.integers(0, 2**32 - 1))
def test_weights_sum_to_the_pool_whatever_the_probabilities(seed):
    rng = np.random.default_rng(seed)
    volunteers, told = rng.integers(0, 4), rng.integers(2, 6, 3)
    n_items = volunteers + told.sum() + rng.integers(1, 20)
    frame = n_items - volunteers - np.concatenate([[0], np.cumsum(told)[:-1]])
    drawn_in = np.concatenate([np.full(volunteers, -1), np.repeat(np.arange(3), told)])
    inclusion = rng.uniform(0.01, 0.99, len(drawn_in))
    certain = np.array([np.flatnonzero(drawn_in == r)[0] for r in range(3)])
    inclusion[certain] = 1  # one item of every round
    known_to = np.where(drawn_in < 0, 0, drawn_in + 1)
    found = item_weights(Rounds(frame, told, frame - 1), drawn_in, inclusion, known_to)
    np.testing.assert_allclose(found.total.sum(), n_items)
    np.testing.assert_allclose(found.total[drawn_in < 0], 1)
    assert (found.spread[certain] == 0).all()


def test_items_of_small_rounds_count_by_their_probabilities():
    """Two rounds of one from many items: the item that is ten times as probable counts a tenth, not as much."""
    n_items = 10**6
    rounds = Rounds(np.array([n_items, n_items - 1]), np.ones(2, int), np.array([n_items, n_items - 1]))
    found = item_weights(rounds, np.arange(2), np.array([1e-5, 1e-6]), np.arange(2) + 1).total
    np.testing.assert_allclose(found / n_items, [1 / 11, 10 / 11], rtol=1e-5)


def test_items_told_between_rounds_are_known_to_later_rounds_alone():
    rounds = Rounds(np.array([10, 7]), np.array([2, 2]), np.array([10, 7]))
    drawn_in, known_to = np.array([0, 0, -1, 1, 1]), np.array([1, 1, 1, 2, 2])
    weights = np.array([2 / (10 * 8), 2 / (7 * 5)])
    weights /= weights.sum()
    found = item_weights(rounds, drawn_in, np.array([0.2, 0.2, np.nan, 2 / 7, 2 / 7]), known_to).total
    np.testing.assert_allclose(found, [5 * weights[0] + weights[1]] * 2 + [weights[1]] + [3.5 * weights[1]] * 2)


def test_the_variance_of_a_mean_is_that_of_a_simple_random_sample():
    losses = np.random.default_rng(0).random((8, 1))
    weights = item_weights(
        Rounds(*(np.array([n]) for n in (20, 8, 20))), np.zeros(8, int), np.full(8, 0.4), np.ones(8, int)
    )
    found = weighted_items_estimate(ERRORS, losses, weights, 20, np.ones((1, 1)), np.array([1.5]), np.zeros)
    np.testing.assert_allclose(found.value, losses.mean())
    np.testing.assert_allclose(found.variance, (1 - 8 / 20) * losses.var(ddof=1) / 8)


def test_one_item_that_was_not_drawn_moves_a_share_as_in_the_interval_of_clopper_and_pearson():
    """All right of n from a large pool: the lower end is 0.025 ** (1 / n)."""
    n, n_items = 60, 10**7
    weights = ItemWeights(np.full(n, n_items / n), np.full(n, n_items * (n_items / n - 1) / n))
    measure = multilabel_measure("accuracy")
    missing = missing_items(np.array([n / n_items]), np.array([n_items - n]))
    found = weighted_items_estimate(measure, np.zeros((n, 1)), weights, n_items, np.ones((1, 2)), missing, np.zeros)
    np.testing.assert_allclose(found.interval(measure.ranges)[0], [0.025 ** (1 / n), 1], rtol=1e-5)


def test_a_class_that_no_draw_has_shown_enters_as_believed_and_may_have_any_ratio():
    measure = multilabel_measure("f1_macro")
    right = np.tile([1.0, 0.0] * 3, (50, 1))  # of two classes, the first always right, the second never seen
    weights = ItemWeights(np.full(50, 20.0), np.full(50, 380.0))
    believed = np.array([0.9, 0.06, 1.0, 0.1, 1.0, 0.1])  # the second has F1 = 0.6
    predicted, missing = np.array([[1.0, 0.1]]), np.array([19.0])
    found = weighted_items_estimate(measure, right, weights, 1000, predicted, missing, lambda: believed)
    np.testing.assert_allclose(found.value, [(1 + 0.6) / 2])
    np.testing.assert_allclose(found.unknown[:, 0], [0.4 / 2, 0.6 / 2])
    low, high = found.interval(measure.ranges)[0]
    assert low < 0.5
    assert high == pytest.approx(1)


def test_a_class_that_is_predicted_of_no_item_cannot_be_hit():
    measure = multilabel_measure("f1_macro")
    losses = np.tile([1.0, 0.0] * 3, (50, 1))
    weights = ItemWeights(np.full(50, 20.0), np.full(50, 380.0))
    believed = np.array([0.9, 0.0, 1.0, 0.0, 1.0, 0.1])
    predicted, missing = np.array([[1.0, 0.0]]), np.array([19.0])
    found = weighted_items_estimate(measure, losses, weights, 1000, predicted, missing, lambda: believed)
    np.testing.assert_allclose(found.value, [0.5])
    np.testing.assert_array_equal(found.unknown, 0)


def test_items_that_are_all_known_are_exact():
    losses = np.random.default_rng(1).random((9, 1))
    measure = ERRORS
    found = weighted_items_estimate(
        measure, losses, ItemWeights.all_known(9), 9, np.ones((1, 1)), np.zeros(1), np.zeros, complete=True
    )
    np.testing.assert_allclose(found.interval(measure.ranges)[0], [losses.mean()] * 2)
    assert found.exact
