"""Sums over rounds of batches: what each label stands for, by the textbook."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.designs import Poisson
from bayes_assess.designs._rounds import RoundSums

POOL = ba.Pool(predictions=np.zeros(90, int), classes=[0, 1])
LABELS = (np.arange(90) % 5 == 0).astype(int)


def handed_out(frame, *batches, planned=0.0, random_size=False) -> RoundSums:
    """One round of batches with these inclusion probabilities, and as many items of every cell as that is."""
    rounds = RoundSums.before_labels((len(frame), 2), np.zeros(len(frame)), random_size)
    for i, (included, asked) in enumerate(batches):
        rounds = rounds.handed_out(np.bool_(i == 0), np.zeros((len(frame), 2), int), frame, included, asked, planned)
    return rounds


def test_a_round_of_two_batches_has_drawn_an_item_unless_both_have_missed_it():
    with engine.eager():
        rounds = handed_out(np.array([10, 20]), (np.array([0.5, 0.1]), 7), (np.array([0.4, 0.1]), 4))
    np.testing.assert_allclose(rounds.inclusion, [1 - 0.5 * 0.6, 1 - 0.9 * 0.9])
    assert rounds.asked == 11


@pytest.mark.parametrize("random_size", [False, True])
def test_items_are_included_in_the_end_unless_every_round_has_missed_them(random_size):
    missed = 1.0
    with engine.eager():
        rounds = RoundSums.before_labels((1, 2), np.zeros(1), random_size)
        for b, n in ((0.2, 4), (0.5, 8), (0.25, 2)):
            rounds = rounds.handed_out(np.bool_(True), rounds.drawn, np.array([20]), np.array([b]), n, n)
            rounds = rounds._replace(now=np.array([[1.0, n - 1]]))
            rounds = rounds.with_open_of_random_size(True) if random_size else rounds.with_open()
            missed *= 1 - b
    np.testing.assert_allclose(rounds.included, 1 - missed)


def test_a_cell_that_stands_for_itself_has_the_variance_of_a_simple_random_sample():
    """Squares of its labels sum to N^2 (1 - n / N) / n, and a round weighs by the inverse of that of all its items."""
    size, n = np.array([40, 60]), np.array([8, 30])
    with engine.eager():
        rounds = handed_out(size, (n / size, n.sum()))._replace(now=np.array([[3.0, 5.0], [10.0, 20.0]])).with_open()
    np.testing.assert_allclose(rounds.weight, 38 / (100 * (100 - 38)))
    np.testing.assert_allclose(rounds.alone.sum(-1), rounds.weight * size)
    np.testing.assert_allclose(rounds.alone_squares.sum(-1), rounds.weight**2 * size**2 * (1 - n / size) / n)


def test_a_batch_from_one_cell_has_the_error_of_a_simple_random_sample():
    a = ba.assess(POOL, ba.Metric("accuracy"), design=Poisson(n_strata=1), seed=1)
    assert a.cells.n_cells == 1
    ids = a.ask(30).ids
    a.tell(ids, LABELS[ids])
    right = LABELS[ids] == POOL.predictions[ids]
    assert 0 < right.mean() < 1
    assert a.result().estimate == pytest.approx(right.mean(), rel=1e-12)
    assert a.result().standard_error ** 2 == pytest.approx((1 - 30 / 90) * right.var(ddof=1) / 30, rel=1e-9)


def test_items_drawn_stand_for_those_of_their_cell_that_were_set_aside():
    a = ba.assess(POOL, ba.Metric("accuracy"), design=Poisson(n_strata=1), seed=1)
    a.skip(np.arange(30))
    ids = a.ask(20).ids
    assert len(ids) == 20
    np.testing.assert_allclose(a._state.memory.inclusion, 20 / 90)


def test_the_items_of_a_batch_come_in_no_order_of_cells():
    """So that those labelled first are random ones: of 40 items of two cells all orders are alike probable."""
    pool = ba.Pool(scores=np.repeat([0.2, 0.8], 60))
    a = ba.assess(pool, ba.Metric("accuracy"), design=Poisson(n_strata=2), seed=1)
    cells = a._items.cells_of(a.ask(40).ids)
    n_first = (cells == 0).sum()
    assert 10 <= n_first <= 30
    # Runs of a random order of two kinds (Wald and Wolfowitz), of which a sorted one has two.
    mean = 1 + 2 * n_first * (40 - n_first) / 40
    variance = (mean - 1) * (mean - 2) / 39
    assert abs(1 + (np.diff(cells) != 0).sum() - mean) < 4.4 * np.sqrt(variance)
