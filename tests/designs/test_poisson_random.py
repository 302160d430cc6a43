"""Poisson sampling proper, whose batches have a random size: probabilities, totals, bias, intervals, sessions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.acquisition.poisson import blended, deviations, inclusion_probabilities
from bayes_assess.designs import Poisson
from bayes_assess.designs.step import RandomRounds, one_random_round
from bayes_assess.errors import DesignError
from bayes_assess.estimators.horvitz_thompson import beta_interval, ratio_bias
from published import ratio_variance

RNG = np.random.default_rng(3)
SCORES = RNG.beta(0.4, 2.0, 500)
LABELS = (RNG.random(500) < SCORES).astype(int)
POOL = ba.Pool(scores=np.stack([1 - SCORES, SCORES], axis=1))
PREDICTED = (SCORES >= 0.5).astype(int)
RANDOM = Poisson(n_strata=16, floor=0.0, size="random")
F1 = ba.Metric("f1")


def told(*batches: int, design=RANDOM, question=F1, labels=LABELS, **options):
    """Return a session after batches of these expected sizes."""
    a = ba.assess(POOL, question, design=design, **options)
    for n in batches:
        queries = a.ask(n)
        a.tell(queries.ids, labels[queries.ids])
    return a


def setting(question=F1):
    """Return the setting, and the inclusion probabilities of [SEME] in its cells for 50 expected labels."""
    on = question.setting(POOL, strata=RANDOM.strata_of(POOL))
    h = deviations(on.reward, blended(on.prior.mean))
    return on, inclusion_probabilities(h, 50, on.cells.sizes)


def rounds(n_campaigns: int, *batches: int):
    """Run rounds of campaigns; their states, with a leading axis."""
    on, _ = setting()
    full = F1.full_counts(POOL, on.cells, LABELS, on.n_outcomes)
    with jax.enable_x64(True):
        state, longest = RANDOM.init(*on), max(map(RANDOM.longest, batches))

        @jax.jit
        @jax.vmap
        def run(key):
            nothing = jnp.zeros((), jnp.int64)
            campaign = RandomRounds(nothing, nothing, state, jnp.asarray(full))

            def play(campaign, n):
                return one_random_round(RANDOM, longest, jax.random.split(key), campaign, n), None

            return jax.lax.scan(play, campaign, jnp.asarray(batches))[0].state

        return on, jax.device_get(run(jax.random.split(jax.random.key(0), n_campaigns)))


def test_items_are_drawn_on_their_own_with_the_probabilities_of_the_paper():
    on, b = setting()
    with jax.enable_x64(True):
        state, length = RANDOM.init(*on), RANDOM.longest(50)
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
    sizes = np.array([[len(a.ask(n)) for n in (20, 1)] for a in (told(seed=seed) for seed in range(80))])
    assert sizes.mean(0) == pytest.approx([20, 1], abs=4.5 * np.sqrt(20 / 80))
    assert (sizes[:, 1] == 0).any()
    assert len(np.unique(sizes[:, 0])) > 5


def test_totals_are_unbiased_over_rounds_of_unlike_sizes():
    on, states = rounds(3_000, 15, 40, 5)
    totals = np.asarray(states.memory.before + states.memory.others) / np.asarray(states.memory.weight)[:, None, None]
    full = F1.full_counts(POOL, on.cells, LABELS, 2)
    attribute = np.asarray(on.reward.attribute)
    for predicted in (0, 1):
        for label in (0, 1):
            found = totals[:, attribute == predicted, label].sum(1)
            error = found.std() / np.sqrt(len(found))
            assert abs(found.mean() - full[attribute == predicted, label].sum()) < 4 * error
    variances = np.asarray(states.memory.other_squares) / np.asarray(states.memory.weight)[:, None, None] ** 2
    hits = totals[:, attribute == 1, 1].sum(1), variances[:, attribute == 1, 1].sum(1)
    assert hits[1].mean() == pytest.approx(hits[0].var(), rel=0.15)


def test_the_ratio_is_biased_as_the_formula_says():
    study = ba.simulate(POOL, LABELS, F1, designs={"one": RANDOM}, budgets=[25, 50], repeats=4_000, batch=50)
    on, b = setting()
    full, attribute = F1.full_counts(POOL, on.cells, LABELS, 2), np.asarray(on.reward.attribute)
    f = attribute[:, None] * np.array([0.0, 1.0])
    g = (attribute[:, None] + np.array([0.0, 1.0])) / 2
    assert (f * full).sum() / (g * full).sum() == pytest.approx(study.truth)
    weigh = full * ((1 - b) / b)[:, None]
    covariance = np.array([[(x * y * weigh).sum() for y in (f, g)] for x in (f, g)])
    expected = ratio_bias(np.array([(f * full).sum(), (g * full).sum()]), covariance)
    found = study.estimates["one"][:, 1]
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
    np.testing.assert_allclose(r.interval, beta_interval(estimate, variance), rtol=1e-4)


# Of accuracy, whose denominator is known, the quick tests hold the interval of one batch and of all labels.
@pytest.mark.parametrize("name", ["f1", pytest.param("accuracy", marks=pytest.mark.slow)])
def test_intervals_cover_and_the_published_ones_are_the_shortest(name):
    designs = {kind: Poisson(n_strata=16, size="random", interval=kind) for kind in ("cautious", "ratio", "beta")}
    study = ba.simulate(POOL, LABELS, ba.Metric(name), designs=designs, budgets=[40, 120], repeats=300, batch=40)
    for kind in ("cautious", "ratio"):
        assert (study.coverage[kind] > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 300)).all(), kind
    width = {kind: np.diff(study.intervals[kind], axis=-1).mean() for kind in designs}
    assert width["beta"] < min(width["cautious"], width["ratio"])
    assert (study.coverage["beta"] > 0.8).all()


@pytest.mark.parametrize("kind", ["cautious", "beta", "ratio"])
@pytest.mark.parametrize("labels", [np.zeros(500, int), np.ones(500, int), PREDICTED], ids=["none", "all", "right"])
def test_one_kind_of_label_or_no_error_leaves_an_answer(kind, labels):
    question = ba.Metric(["precision", "recall", "accuracy"])
    a = told(1, 60, 1, design=Poisson(n_strata=16, size="random", interval=kind), question=question, labels=labels)
    r, truth = a.result(), question.truth(POOL, labels)
    assert np.isfinite(r.estimate).all()
    assert np.isfinite(r.interval).all()
    assert (np.diff(r.interval, axis=1) > 0).all()
    if kind != "beta":
        assert ((r.interval[:, 0] <= truth + 1e-12) & (truth <= r.interval[:, 1] + 1e-12)).all()


def test_the_answer_is_exact_once_everything_is_labelled():
    a = told(300, 100)
    while not a.done:
        queries = a.ask(a.n_remaining)
        a.tell(queries.ids, LABELS[queries.ids])
    r = a.result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(F1.truth(POOL, LABELS), abs=1e-12)


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
    a = told(seed=0)
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
    a = told(40, 40, design=Poisson(n_strata=16, labels="curve", size="random"))
    low, high = a.result().interval
    assert low <= F1.truth(POOL, LABELS) <= high


def test_what_it_cannot_do_is_refused_in_a_sentence():
    with pytest.raises(DesignError, match="pass size='random'"):
        Poisson(interval="ratio")
    with pytest.raises(DesignError, match="'fixed' or 'random'"):
        Poisson(size="some")
    with pytest.raises(DesignError, match="ratio of sums over items"):
        ba.assess(POOL, ba.Metric("matthews_corrcoef"), design=Poisson(size="random", interval="ratio"))
    sets = ba.Pool(predictions=["cat;dog", "-", "cat"], multilabel=True)
    with pytest.raises(DesignError, match="one label each"):
        ba.assess(sets, ba.Metric("f1_micro"), design=Poisson(size="random"))
    numbers = ba.Pool(predictions=[1.0, 2.0, 3.0], bounds=(0, 5))
    with pytest.raises(DesignError, match="labels that are classes"):
        ba.assess(numbers, ba.Metric("mae"), design=Poisson(size="random"))
