"""Importance sampling until a number of distinct items is expected, [SEME]'s Algorithm 1: draws, totals, intervals."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.acquisition.poisson import blended, deviations, draws_for_distinct
from bayes_assess.designs import Importance
from bayes_assess.errors import DesignError
from bayes_assess.estimators.horvitz_thompson import moment_interval
from designs import random_size
from designs.random_size import F1, LABELS, POOL, PREDICTED, rounds

PUBLISHED = {"n_strata": 16, "lam": 0.9, "epsilon": 1e-9, "floor": 0.0, "size": "random"}
RANDOM = Importance(**PUBLISHED)
told = partial(random_size.told, design=RANDOM)


def published_f1(rng: np.random.Generator, q: np.ndarray, n_draws: int) -> float:
    """Run Algorithm 1 to the letter: F1 from N draws of items with replacement, each counted as often as it came."""
    drawn = rng.choice(len(q), n_draws, p=q)
    y, predicted, weight = LABELS[drawn], PREDICTED[drawn], 1 / q[drawn]
    return float((weight * y * predicted).sum() / (weight * (y + predicted) / 2).sum())


@pytest.mark.slow
def test_estimates_are_those_of_the_listing_with_less_variance():
    n = 1_000
    on, states = rounds(n, 150, design=RANDOM)
    h = deviations(on.reward, blended(on.prior.mean))
    q = h / (h @ on.cells.sizes)
    n_draws = draws_for_distinct(q, 150, on.cells.sizes)
    assert n_draws > 180  # many items come again
    drawn = np.asarray(states.counts).sum(-1)
    expected = on.cells.sizes * -np.expm1(n_draws * np.log1p(-q))
    np.testing.assert_array_less(np.abs(drawn.mean(0) - expected), 4.5 * drawn.std(0) / np.sqrt(n) + 1e-2)
    size = drawn.sum(1)
    assert abs(size.mean() - 150) < 4.5 * size.std() / np.sqrt(n)
    assert size.std() < np.sqrt(expected.sum())  # distinct items of draws lean against each other
    items = q[told(0)._items.cells_of(np.arange(POOL.n_items))]
    for hits, full in random_size.totals_and_truth(on, states):
        assert abs(hits.mean() - full) < 4 * hits.std() / np.sqrt(n)
    weights = np.asarray(states.draws.weights)
    attribute = np.asarray(on.reward.attribute) == 1
    hits = weights[:, attribute, 1].sum(1)
    found = hits / ((weights[:, attribute].sum((1, 2)) + weights[..., 1].sum(1)) / 2)
    rng = np.random.default_rng(0)
    listed = np.array([published_f1(rng, items, round(n_draws)) for _ in range(n)])
    error = np.sqrt((found.var() + listed.var()) / n)
    assert abs(found.mean() - listed.mean()) < 4.5 * error
    assert found.var() < listed.var() * (1 + 4.5 * np.sqrt(4 / n))


def test_a_batch_in_which_no_item_came_twice_has_the_published_estimate_variance_and_interval():
    design = Importance(**PUBLISHED, interval="beta")
    a = ba.assess(POOL, F1, design=design, seed=2)
    queries = a.ask(12)
    ids, n = queries.ids, float(a._state.memory.repeats["draws"])
    assert n == len(ids)
    q = 1 / (queries.weights * POOL.n_items)
    a.tell(ids, LABELS[ids])
    y, predicted = LABELS[ids], PREDICTED[ids]
    f, g = y * predicted, (y + predicted) / 2
    estimate = (f / q).sum() / (g / q).sum()
    deviation = (f - estimate * g) / q
    variance = ((deviation**2).sum()) / (g / q).sum() ** 2  # (17), the factors 1 / (M N) of both cancelling
    r = a.result()
    assert r.estimate == pytest.approx(estimate, rel=1e-9)
    assert r.standard_error == pytest.approx(np.sqrt(variance), rel=1e-5)
    np.testing.assert_allclose(r.interval, moment_interval(estimate, variance), rtol=1e-4)


def test_open_rounds_are_followed_from_the_journal(tmp_path):
    a = told(30, journal=tmp_path / "run.db")
    first, second = a.ask(20), a.ask(15)  # of one round: items that were drawn may come again
    a.tell(first.ids[:7], LABELS[first.ids[:7]])
    a.skip(first.ids[7:9])
    third = a.ask(10)
    again = ba.resume(tmp_path / "run.db", POOL)
    assert again.design == RANDOM
    rest = np.concatenate([first.ids[9:], second.ids, third.ids])
    for session in (a, again):
        session.tell(rest[: len(rest) // 2], LABELS[rest[: len(rest) // 2]])
    part = a.result()
    assert again.result().estimate == part.estimate
    for session in (a, again):
        session.tell(rest[len(rest) // 2 :], LABELS[rest[len(rest) // 2 :]])
    np.testing.assert_array_equal(again.result().interval, a.result().interval)
    assert np.diff(a.result().interval) < np.diff(part.interval)
    assert sorted(again.ask(10).ids.tolist()) == ba.resume(tmp_path / "run.db", POOL).pending.tolist()


@pytest.mark.slow
def test_a_batch_back_in_part_counts_as_random_ones_of_it():
    estimates = []
    for seed in range(60):
        a = told(0, seed=seed)
        ids = np.random.default_rng(seed).permutation(a.ask(120).ids)
        a.tell(ids[:60], LABELS[ids[:60]])
        estimates.append(a.result().estimate)
    error = np.std(estimates) / np.sqrt(60)
    assert abs(np.mean(estimates) - F1.truth(POOL, LABELS)) < 4 * error + 0.02  # the bias of the ratio


def test_another_posterior_chooses_a_round_and_not_the_middle_of_one():
    a = told(40)
    draws = np.full((20, a.cells.n_cells), 0.3)
    queries = a.ask(30, posterior=draws)
    a.tell(queries.ids[:5], LABELS[queries.ids[:5]])
    with pytest.raises(DesignError, match="are still out"):
        a.ask(5, posterior=draws)
    a.tell(queries.ids[5:], LABELS[queries.ids[5:]])
    low, high = a.result().interval
    assert low <= F1.truth(POOL, LABELS) <= high


def test_draws_of_labels_are_refused_in_a_sentence():
    with pytest.raises(DesignError, match="every draw has a label of its own"):
        ba.assess(POOL, F1, design=RANDOM, oracle="stochastic")
