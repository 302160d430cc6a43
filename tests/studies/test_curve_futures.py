"""Futures that are followed by blocks of labels: their beliefs, their labels, and what plans make of their widths."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.designs import variance_reduction
from bayes_assess.estimators.rough_measure import rough_measure_draws
from bayes_assess.models import curve_blocks
from bayes_assess.models._numerics import particles as smc
from bayes_assess.sessions.planning import falling
from bayes_assess.studies.curve_futures import CurveFutures, draws_at
from bayes_assess.studies.futures import PART, imagined_labels, without_pending

N = 300


def told(measure="f1", n=30, classes=2, items=N, **options):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.full(classes, 0.5), items)
    labels = np.array([rng.choice(classes, p=p) for p in scores])
    session = ba.assess(ba.Pool(scores=scores), ba.Metric(measure), seed=1, **options)
    queries = session.ask(n)
    session.tell(queries.ids, labels[queries.ids])
    return session


def futures_of(session, n=3, **options):
    state = without_pending(session.design, session._state, None)
    unlabelled = imagined_labels(session.design, state, session._setting, n, seed=3)
    return CurveFutures(session.design, state, unlabelled, session._setting, seed=3, **options)


def test_a_block_weighs_particles_as_its_labels_one_by_one_do(monkeypatch):
    monkeypatch.setattr(smc, "_UNEVEN", 0.0)
    effort = curve_blocks.Effort(negligible=0.0, uneven=0.0, n_group_steps=0)
    monkeypatch.setattr(curve_blocks.Effort, "of", lambda _: effort)
    belief = told()._state.belief
    block = np.zeros((len(belief.counts), 2), int)
    some = np.flatnonzero(belief.counts.sum(1))[:2]
    block[[*some, np.flatnonzero(belief.counts.sum(1) == 0)[0]]] = [[2, 1], [0, 1], [7, 0]]
    with engine.eager():
        one_by_one = belief
        for cell, event in zip(*np.nonzero(block), strict=True):
            for _ in range(block[cell, event]):
                one_by_one = one_by_one.observe(cell, np.bool_(event))
    at_once = curve_blocks.learned(belief, block)
    np.testing.assert_array_equal(at_once.counts, one_by_one.counts)
    for found, expected in zip(at_once.particles[1:], one_by_one.particles[1:], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-3)  # of 32 bits: tens of logarithms


def test_a_thinned_belief_keeps_its_members_and_some_of_their_particles():
    belief = told()._state.belief
    thin = curve_blocks.thinned(belief, np.random.default_rng(0), 64)
    kept = np.flatnonzero(belief.member_weights > 1e-3)
    assert thin.particles.place.shape[:2] == (len(kept), 64)
    for found, all_ in zip(thin.particles.place, belief.particles.place[kept], strict=True):
        places, times = np.unique(found, axis=0, return_counts=True)
        there = (places[:, None] == all_).all(-1).sum(1)  # copies of a particle that no step has moved are some
        assert (times <= there).all()


@pytest.mark.slow
def test_ends_of_a_high_level_take_more_draws():
    """Of 256 draws those of .999 are the outermost ones, a seventh too near; ends of .95 are as well known."""
    session, levels = told(), (0.95, 0.999)

    def width(n_draws):
        record = futures_of(session, n=6, n_draws=n_draws).campaigns(np.arange(6), 40, 0.95).record
        return np.array([np.diff(record.interval(level)).mean() for level in levels])

    few, more, many = (width(n) for n in (draws_at(0.95), draws_at(0.999), 20_000))
    assert few[1] < 0.93 * many[1]
    assert more[1] > 0.95 * many[1]
    np.testing.assert_allclose(few[0], many[0], rtol=0.1)


@pytest.mark.parametrize(("measure", "classes", "items"), [("f1", 2, N), ("f1_macro", 3, 40)])
def test_futures_that_are_labelled_in_full_are_exact(measure, classes, items):
    session = told(measure, classes=classes, items=items)
    futures = futures_of(session)
    answers = futures.campaigns(np.arange(3), items, 0.95).record
    assert answers.exact.all()
    for left, value, ends in zip(futures.unlabelled, answers.value, answers.interval(0.95), strict=True):
        truth = session.question.truth_of_counts(session.cells, session.counts + left)
        np.testing.assert_allclose(value, np.reshape(truth, (1, 1)))
        np.testing.assert_allclose(ends, np.reshape(truth, (1, 1, 1)) * np.ones(2))


def test_blocks_are_alike_and_none_is_left_over():
    futures = futures_of(told())
    for first, last in [(0, 10), (72, 87), (87, 104), (300, 301), (550, 660)]:
        sizes = list(futures.blocks(first, last))
        assert sum(sizes) == last - first
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) > 0
        assert max(sizes) <= 1.3 * (1 + last / PART)


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "classes"), [("f1", 2), ("f1_macro", 3)])
def test_only_measures_of_two_outcomes_are_drawn_roughly(measure, classes, monkeypatch):
    rough = []
    monkeypatch.setattr(
        variance_reduction, "rough_measure_draws", lambda *given: rough.append(1) or rough_measure_draws(*given)
    )
    session = told(measure, classes=classes)
    futures_of(session).campaigns(np.arange(3), 40, 0.95)
    assert len(rough) == (3 if classes == 2 else 0)
    rough.clear()
    session.result()
    assert not rough


def test_futures_go_on_from_where_they_are_and_each_by_itself():
    session = told()
    futures, others = futures_of(session), futures_of(session)
    futures.campaigns(np.arange(3), 40, 0.95)
    others.campaigns(np.array([2]), 40, 0.95)
    found = [one.campaigns(np.array([2]), 50, 0.95).record.quantiles for one in (futures, others)]
    np.testing.assert_array_equal(*found)


def test_an_eager_session_is_planned_on_numpy_and_plans_do_not_change_it(monkeypatch):
    session, other = told(), told()
    for name in [name for name in sys.modules if name.split(".")[0] in ("jax", "numpyro")]:
        monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    plan = session.plan(width=0.1, futures=2)
    monkeypatch.undo()
    assert 0 < plan.labels.lower <= plan.labels.expected <= plan.labels.upper <= N - 30
    assert session.ask(20).ids.tolist() == other.ask(20).ids.tolist()


def test_futures_of_a_compiled_session_are_those_of_an_eager_one():
    session = told()
    eager = futures_of(session)
    session._state = session.design.compiled_state(session._state)
    found = [one.campaigns(np.arange(2), 40, 0.95).record.quantiles for one in (eager, futures_of(session))]
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
def test_sessions_of_either_engine_are_planned_alike():
    """Their beliefs differ in the last digits of 32 bits, and what follows by as much as one particle's choice."""
    eager, compiled = (told(engine=name).plan(width=0.15, futures=4).labels for name in ("eager", "compiled"))
    assert 0.5 < eager.expected / compiled.expected < 2


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=8))
def test_widths_that_are_smoothed_never_rise_and_keep_their_mean(path):
    (smooth,) = falling(np.array([[1.0, *path]]))
    assert (np.diff(smooth) <= 1e-12).all()
    np.testing.assert_allclose(np.log(smooth[1:]).sum(), np.log(path).sum(), atol=1e-9)
    if (np.diff(path) <= 0).all():
        np.testing.assert_allclose(smooth[1:], path)
