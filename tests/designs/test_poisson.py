"""Batches drawn with the inclusion probabilities of optimal Poisson sampling: sessions, rounds, answers."""

from __future__ import annotations

from functools import cache

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.acquisition.cell_inclusion import cell_inclusion, systematic_cells
from bayes_assess.acquisition.poisson import blended, deviations, inclusion_of_deviations
from bayes_assess.designs import Poisson, compiled_start
from bayes_assess.errors import DesignError
from made import labelled_sessions

RNG = np.random.default_rng(3)
SCORES = RNG.beta(0.4, 2.0, 500)
LABELS = (RNG.random(500) < SCORES).astype(int)
POOL = ba.Pool(scores=np.stack([1 - SCORES, SCORES], axis=1))
SMALL = Poisson(n_strata=16)
F1 = ba.Metric("f1")


@cache
def poisson_study(name, batch, repeats=600):
    """Return campaigns that more than one test looks at."""
    options = {"designs": {"poisson": SMALL}, "budgets": [60, 120, 180], "repeats": repeats, "batch": batch}
    return ba.simulate(POOL, LABELS, ba.Metric(name), **options)


told = labelled_sessions(POOL, LABELS, ba.Metric("f1"), design=SMALL)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_on_cells_the_probabilities_are_those_on_items(data):
    k = 5
    h = np.array(data.draw(st.lists(st.sampled_from([0.0, 1e-9, 0.1, 0.5, 0.5, 2.0, 1e6]), min_size=k, max_size=k)))
    size = np.array(data.draw(st.lists(st.integers(0, 6), min_size=k, max_size=k)))
    if not size.sum():
        return
    n = data.draw(st.integers(1, int(size.sum())))
    found, wanted = cell_inclusion(h, size, n), inclusion_of_deviations(h, n, size)
    some = size > 0
    np.testing.assert_allclose(found[some], wanted[some], rtol=1e-9, atol=1e-12)
    start = data.draw(st.floats(0, 1 - 1e-9))  # nearer to 1 a sum may be rounded to the next whole number
    counts = systematic_cells(start, found * size, size, n)
    assert counts.sum() == n
    assert (counts <= size).all()
    assert (np.abs(counts - found * size) < 1 + 1e-9).all()


def test_a_start_just_below_one_takes_no_item_too_many():
    expected, size = np.array([0.0, 0, 0, 1, 0]), np.array([0, 0, 0, 2, 0])
    assert systematic_cells(np.nextafter(1, 0), expected, size, 1).tolist() == [0, 0, 0, 1, 0]


def test_a_batch_has_the_probabilities_of_the_paper():
    plain = Poisson(n_strata=16, floor=0.0)
    setting = ba.Metric("f1").setting(POOL, strata=plain.strata_of(POOL))
    h = deviations(setting.reward, blended(setting.prior.mean))
    b = inclusion_of_deviations(h, 50, setting.cells.sizes)
    state = compiled_start(plain, *setting)
    with jax.enable_x64(True):
        draw = jax.jit(lambda key: plain.draw(key, state, 0, 50, 64))
        _, _, after = draw(jax.random.key(0))
        np.testing.assert_allclose(after.memory.inclusion, b, rtol=1e-9, atol=1e-12)
        pending = np.array([draw(jax.random.key(i))[2].pending for i in range(400)])
    expected = b * setting.cells.sizes
    # A count is one of two neighbouring integers: its variance is at most 1/4.
    np.testing.assert_array_less(np.abs(pending.mean(0) - expected), 4.5 * 0.5 / np.sqrt(400))
    assert (pending.sum(1) == 50).all()


@pytest.mark.parametrize("question", [ba.Metric("f1"), ba.Metric("accuracy"), ba.Metric(["precision", "recall"])])
def test_the_answer_is_exact_once_everything_is_labelled(question):
    r = told((100, 250, 150), question).result()
    truth = question.truth(POOL, LABELS)
    np.testing.assert_allclose(r.estimate, truth, atol=1e-12)
    assert r.guarantee == "exact"


@pytest.mark.parametrize(
    ("name", "batch", "repeats"),
    [
        ("f1", 60, 300),
        *(pytest.param(*case, 600, marks=pytest.mark.slow) for case in (("accuracy", 20), ("f1", 1), ("f1", 60))),
    ],
)
def test_estimates_are_right_in_the_mean_over_rounds(name, batch, repeats):
    study = poisson_study(name, batch, repeats)
    estimate = study.estimates["poisson"]
    error = estimate.std(0) / np.sqrt(len(estimate))
    # A ratio of sums is biased by about its variance, which is small beside its standard deviation only later.
    bias = np.abs(estimate.mean(0) - study.truth)
    slack = 4 * error + (0 if name == "accuracy" else 2 * estimate.var(0))
    assert (bias < slack).all(), (bias, slack)


def random_study():
    return ba.simulate(POOL, LABELS, F1, designs=["passive"], budgets=[60, 120, 180], repeats=600, batch=60)


@pytest.mark.parametrize(
    ("study", "repeats"),
    [
        (lambda: poisson_study("f1", 60, 300), 300),
        pytest.param(lambda: poisson_study("f1", 60), 600, marks=pytest.mark.slow),
        pytest.param(random_study, 600, marks=pytest.mark.slow),
    ],
    ids=["poisson", "more poisson", "random"],
)
def test_intervals_cover(study, repeats):
    for covered in study().coverage.values():
        assert (covered > 0.95 - 4 * np.sqrt(0.05 * 0.95 / repeats)).all()


@pytest.mark.slow
def test_batches_beat_random_labels():
    found, by_chance = poisson_study("f1", 60).scores["poisson"], random_study().scores["passive"]
    assert (found["mse"].mean(0) < by_chance["mse"].mean(0)).all()


def test_asking_alone_moves_no_answer():
    a = told(60)
    before = a.result()
    a.ask(40)
    after = a.result()
    assert before.estimate == after.estimate
    np.testing.assert_array_equal(before.interval, after.interval)


def test_labels_of_a_batch_that_came_back_in_part_count_as_random_ones():
    a = told(60)
    queries = a.ask(60)
    before = a.result()
    a.tell(queries.ids[:30], LABELS[queries.ids[:30]])
    part = a.result()
    assert part.labels_used == 90
    assert part.estimate != before.estimate
    a.tell(queries.ids[30:], LABELS[queries.ids[30:]])
    whole = a.result()
    assert np.diff(whole.interval) < np.diff(before.interval)
    # A second batch that is asked for while the first is out makes one round with it.
    b = ba.assess(POOL, ba.Metric("f1"), design=SMALL)
    first, second = b.ask(40), b.ask(40)
    assert not set(first.ids) & set(second.ids)
    ids = np.concatenate([first.ids, second.ids])
    b.tell(ids, LABELS[ids])
    assert b._state.memory.drawn.sum() == 80
    assert float(b._state.memory.asked) == 0


def test_labels_that_nobody_asked_for_stand_for_no_others():
    a = told(60)
    before = a.result()
    missing = np.setdiff1d(np.flatnonzero(LABELS == 1), np.flatnonzero(a._items.label >= 0))[:10]
    a.tell(missing, LABELS[missing])
    assert a.result().estimate == before.estimate
    queries = a.ask(400)
    a.tell(queries.ids, LABELS[queries.ids])
    assert a.result().labels_used == 470


def test_another_measure_is_answered_from_the_same_batch():
    a = told(200)
    r = a.result(question=ba.Metric("precision"))
    low, high = r.interval
    assert low <= ba.Metric("precision").truth(POOL, LABELS) <= high


def test_a_session_goes_on_from_its_journal(tmp_path):
    plain, kept = told(40), told(40, journal=tmp_path / "run.db")
    for a in (plain, kept):
        queries = a.ask(40)
        a.tell(queries.ids[:10], LABELS[queries.ids[:10]])
    again = ba.resume(tmp_path / "run.db", POOL)
    for a in (plain, again):
        a.tell(queries.ids[10:], LABELS[queries.ids[10:]])
    assert plain.result().estimate == again.result().estimate
    np.testing.assert_array_equal(plain.result().interval, again.result().interval)


@pytest.mark.parametrize("options", [{"lam": 1.5}, {"lam": -0.1}, {"floor": 2.0}])
def test_shares_lie_between_0_and_1(options):
    with pytest.raises(DesignError, match=r"lies in \[0, 1\]"):
        Poisson(**options)


@pytest.mark.parametrize("labels", [np.zeros(500, int), np.ones(500, int), (SCORES >= 0.5).astype(int)])
def test_one_kind_of_label_or_no_error_leaves_an_interval_that_holds_the_truth(labels):
    question = ba.Metric(["precision", "recall", "accuracy"])
    a = ba.assess(POOL, question, design=SMALL)
    queries = a.ask(80)
    a.tell(queries.ids, labels[queries.ids])
    r, truth = a.result(), question.truth(POOL, labels)
    assert np.isfinite(r.estimate).all()
    assert np.isfinite(r.interval).all()
    assert ((r.interval[:, 0] <= truth + 1e-12) & (truth <= r.interval[:, 1] + 1e-12)).all()
    assert (np.diff(r.interval, axis=1) > 0).all()
