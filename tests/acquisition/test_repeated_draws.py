"""Draws with replacement: what they find, how often, and how many of them expect so many distinct items."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayes_assess._tools import engine
from bayes_assess.acquisition.repeated_draws import distinct_of, draw_repeatedly, log_missed, whole_draws

Q = np.array([0.5, 0.3, 0.2])


def drawn(n_campaigns: int, n_draws: float, *, fresh=(1, 1, 1), before=(0.0, 0.0, 0.0), instead=0.0, length=8):
    """Draw in many campaigns; counts and times, (R, 3)."""
    with jax.enable_x64(True):

        @jax.jit
        @jax.vmap
        def run(key):
            return draw_repeatedly(key, Q, jnp.asarray(fresh), jnp.asarray(before), instead, n_draws, length)

        found = jax.device_get(run(jax.random.split(jax.random.key(0), n_campaigns)))
    return found.counts, found.times


def test_sets_of_items_and_their_repeats_are_those_of_all_sequences():
    n = 4
    chances, times = {}, {}
    for sequence in itertools.product(range(3), repeat=n):
        seen = tuple(np.isin(range(3), sequence).astype(int))
        chance = np.prod(Q[list(sequence)])
        chances[seen] = chances.get(seen, 0) + chance
        times[seen] = times.get(seen, 0) + chance * np.bincount(sequence, minlength=3)
    counts, found = drawn(40_000, n)
    assert counts.max() == 1
    np.testing.assert_allclose(found.sum(1), n, rtol=1e-12)  # every draw is one of an item that was drawn
    for seen, chance in chances.items():
        of = (counts == seen).all(1)
        assert abs(of.mean() - chance) < 4.5 * np.sqrt(chance * (1 - chance) / len(counts))  # 7e-6
        error = found[of].std(0) / np.sqrt(of.sum())
        np.testing.assert_array_less(np.abs(found[of].mean(0) - times[seen] / chance), 4.5 * error + 1e-9)


def test_items_of_cells_items_drawn_before_and_items_set_aside_have_their_shares():
    n, fresh, before = 6, np.array([2, 3, 1]), np.array([1.0, 0.0, 2.0])
    q = Q / (Q @ (fresh + before))
    counts, times = drawn(20_000, n, fresh=fresh, before=before)
    expected = fresh * -np.expm1(n * np.log1p(-q))
    np.testing.assert_array_less(np.abs(counts.mean(0) - expected), 4.5 * counts.std(0) / np.sqrt(20_000))
    np.testing.assert_array_less(np.abs(times.mean(0) - n * q * (fresh + before)), 4.5 * times.std(0) / np.sqrt(20_000))
    # An item set aside in the place of which one of the others is drawn: of one draw, half goes to it.
    counts, _ = drawn(20_000, 1, fresh=[1, 1, 0], before=[0, 0, 1], instead=1.0)
    new = (0.8 + 1.0) / 2.0
    assert abs(counts.sum(1).mean() - new) < 4.5 * np.sqrt(new * (1 - new) / 20_000)


def test_draws_end_when_nothing_new_is_left_and_with_the_length():
    counts, times = drawn(50, 1e12)
    np.testing.assert_array_equal(counts, 1)
    np.testing.assert_allclose(times.sum(1), 1e12)
    assert drawn(50, 30, fresh=[9, 9, 9], length=4)[0].sum(1).max() == 4


@pytest.mark.parametrize("distinct", [1, 2.4, 7, 9.5, 9.999])
def test_numbers_of_draws_expect_the_distinct_items_asked_for(distinct):
    size = np.array([1.0, 6.0, 3.0])
    q = np.array([0.4, 0.1, 1e-6]) / (np.array([0.4, 0.1, 1e-6]) @ size)
    with engine.eager():
        key, missed = engine.random.key(3), log_missed(q)
        draws = np.array([whole_draws(engine.random.fold_in(key, i), distinct, missed, size) for i in range(500)])
        expected = np.array([distinct_of(n, missed, size) for n in np.unique(draws)])
    assert len(expected) <= 2
    assert (draws == np.floor(draws)).all()
    assert expected.min() <= distinct + 1e-9
    error = np.ptp(expected) / np.sqrt(4 * 500)
    if draws.max() < 1e4:
        share = np.array([(draws == n).mean() for n in np.unique(draws)])
        assert abs(share @ expected - distinct) <= 4.5 * error + 1e-9
