"""Poisson sampling proper, whose batches have a random size: probabilities, totals, bias, intervals, sessions."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.acquisition.poisson import blended, deviations, inclusion_of_deviations
from bayes_assess.designs import Poisson, compiled_start
from bayes_assess.errors import DesignError
from bayes_assess.estimators.horvitz_thompson import moment_interval, ratio_bias
from designs import random_size
from designs.random_size import F1, LABELS, POOL, PREDICTED
from published import ratio_variance

RANDOM = Poisson(n_strata=16, floor=0.0, size="random")
told = partial(random_size.told, design=RANDOM)


def setting(n: int, question=F1):
    """Return the setting, and the inclusion probabilities of [SEME] in its cells for n expected labels."""
    on = question.setting(POOL, strata=RANDOM.strata_of(POOL))
    h = deviations(on.reward, blended(on.prior.mean))
    return on, inclusion_of_deviations(h, n, on.cells.sizes)


def test_items_are_drawn_on_their_own_with_the_probabilities_of_the_paper():
    on, b = setting(50)
    state, length = compiled_start(RANDOM, *on), RANDOM.longest(50)
    with jax.enable_x64(True):
        draw = jax.jit(jax.vmap(lambda key: RANDOM.draw(key, state, 0, 50, length)[2]))
        after = draw(jax.random.split(jax.random.key(1), 4_000))
        np.testing.assert_allclose(after.memory.inclusion[0], b, rtol=1e-9, atol=1e-12)
        drawn = np.asarray(after.pending)
    size = on.cells.sizes
    variance = size * b * (1 - b)
    np.testing.assert_array_less(np.abs(drawn.mean(0) - b * size), 4.5 * np.sqrt(variance / len(drawn)) + 1e-9)
    # Independent items: counts of cells are uncorrelated, so that the size has the sum of their variances.
    total = drawn.sum(1)
    assert abs(total.mean() - 50) < 4.5 * np.sqrt(variance.sum() / len(drawn))
    assert total.var() == pytest.approx(variance.sum(), rel=4.5 * np.sqrt(2 / len(drawn)) + 0.02)
    assert (drawn <= size).all()


def test_a_session_asks_for_so_many_on_average_and_once_for_none():
    sizes = np.array([[len(a.ask(n)) for n in (20, 1)] for a in (told(0, seed=seed) for seed in range(80))])
    assert sizes.mean(0) == pytest.approx([20, 1], abs=4.5 * np.sqrt(20 / 80))
    assert (sizes[:, 1] == 0).any()
    assert len(np.unique(sizes[:, 0])) > 5


@pytest.mark.slow  # `test_horvitz_thompson.py` has the formula in the quick tests
def test_the_ratio_is_biased_as_the_formula_says():
    n = 20  # few labels have more bias
    study = ba.simulate(POOL, LABELS, F1, designs={"one": RANDOM}, budgets=[n], repeats=1_500, batch=n)
    on, b = setting(n)
    full, attribute = F1.full_counts(POOL, on.cells, LABELS, 2), np.asarray(on.reward.attribute)
    f = attribute[:, None] * np.array([0.0, 1.0])
    g = (attribute[:, None] + np.array([0.0, 1.0])) / 2
    assert (f * full).sum() / (g * full).sum() == pytest.approx(study.truth)
    weigh = full * ((1 - b) / b)[:, None]
    covariance = np.array([[(x * y * weigh).sum() for y in (f, g)] for x in (f, g)])
    expected = ratio_bias(np.array([(f * full).sum(), (g * full).sum()]), covariance)
    found = study.estimates["one"][:, 0]
    error = found.std() / np.sqrt(len(found))
    assert found.mean() - study.truth > 4 * error  # there is some
    assert found.mean() - study.truth == pytest.approx(expected, abs=4 * error + 0.5 * expected)  # of first order


@pytest.mark.parametrize("name", ["f1", "accuracy"])
def test_a_batch_has_the_published_estimate_variance_and_interval(name):
    design = Poisson(n_strata=16, floor=0.0, size="random", interval="beta")
    a = ba.assess(POOL, ba.Metric(name), design=design)
    ids = a.ask(80).ids
    b = np.asarray(a._state.memory.inclusion)[a._items.cells_of(ids)]
    a.tell(ids, LABELS[ids])
    y, predicted = LABELS[ids], PREDICTED[ids]
    f, g = (predicted * y, (predicted + y) / 2) if name == "f1" else (y == predicted, np.ones(len(y)))
    f = f.astype(float)
    estimate, variance = (f / b).sum() / (g / b).sum(), ratio_variance(f, g, b)
    r = a.result()
    assert r.estimate == pytest.approx(estimate, rel=1e-6)
    assert r.standard_error == pytest.approx(np.sqrt(variance), rel=1e-5)
    np.testing.assert_allclose(r.covariance, [[variance]], rtol=1e-5)
    np.testing.assert_allclose(r.interval, moment_interval(estimate, variance), rtol=1e-4)


def test_an_empty_batch_is_a_round_and_is_followed_from_the_journal(tmp_path):
    for seed in range(20):
        a = told(20, seed=seed, journal=tmp_path / f"{seed}.db")
        before = np.asarray(a._state.memory.totals)
        queries = a.ask(1)
        if not len(queries):
            break
        a.journal.close()
    assert len(queries) == 0
    assert a.n_pending == 0
    assert float(a._state.memory.weight) == 21  # the planned sizes of both rounds
    both = (20 * before + a.counts) / 21  # a round that found nothing besides what was known
    np.testing.assert_allclose(a._state.memory.totals, both, rtol=1e-6)
    later = a.ask(30)
    a.tell(later.ids[:7], LABELS[later.ids[:7]])
    again = ba.resume(tmp_path / f"{seed}.db", POOL)
    for session in (a, again):
        session.tell(later.ids[7:], LABELS[later.ids[7:]])
    assert again.result().estimate == a.result().estimate
    np.testing.assert_array_equal(again.result().interval, a.result().interval)
    assert sorted(again.ask(10).ids.tolist()) == ba.resume(tmp_path / f"{seed}.db", POOL).pending.tolist()


def test_asks_after_empty_batches_draw_anew():
    a = told(0, seed=0)
    sizes = [len(a.ask(1)) for _ in range(12)]
    assert 0 < sum(sizes) < 40
    assert len(set(sizes)) > 1


def test_part_of_a_batch_or_one_without_some_items_counts_as_random_ones_of_it():
    a = told(40)
    queries = a.ask(60)
    half = len(queries) // 2
    a.skip(queries.ids[:3])
    a.tell(queries.ids[3:half], LABELS[queries.ids[3:half]])
    part = a.result()
    assert 0 < part.estimate < 1
    a.tell(queries.ids[half:], LABELS[queries.ids[half:]])
    whole = a.result()
    assert np.diff(whole.interval) < np.diff(part.interval)
    assert whole.labels_used == a.labels_used


def test_the_summary_says_what_the_bias_is():
    said = told(60).result().summary()
    assert "of random size" in said
    assert "biased: f1 by about +0.0" in said
    assert "biased" not in told(60, design=Poisson(n_strata=16)).result().summary()
    ratio = Poisson(n_strata=16, size="random", interval="ratio")
    assert "lean on no score" in told(60, design=ratio).result().summary()
    other = told(60).result(question=ba.Metric("matthews_corrcoef"))  # no ratio of sums: no formula
    assert "biased" not in other.summary()


def test_another_measure_has_its_own_ratio_interval():
    a = told(150, design=Poisson(n_strata=16, size="random", interval="ratio"))
    low, high = a.result(question=ba.Metric("precision")).interval
    assert low <= ba.Metric("precision").truth(POOL, LABELS) <= high
    with pytest.raises(DesignError, match="ratio of sums over items"):
        a.result(question=ba.Metric("matthews_corrcoef"))


def test_a_learned_curve_decides_on_batches_of_random_size():
    a = told((40, 40), design=Poisson(n_strata=16, labels="curve", size="random"))
    low, high = a.result().interval
    assert low <= F1.truth(POOL, LABELS) <= high


def test_sets_of_labels_are_refused_in_a_sentence():
    sets = ba.Pool(predictions=["cat;dog", "-", "cat"], multilabel=True)
    with pytest.raises(DesignError, match="one label each"):
        ba.assess(sets, ba.Metric("f1_micro"), design=Poisson(size="random"))
