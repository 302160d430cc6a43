"""Batches drawn by a calibration curve: probabilities, rounds, replay, refusals, and what the curve gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.acquisition.poisson import inclusion_of_deviations
from bayes_assess.designs import Poisson
from bayes_assess.errors import DesignError, PriorError, QuestionError
from made import labelled_sessions

RNG = np.random.default_rng(5)
TRUE = RNG.beta(0.3, 2.0, 600)
LABELS = (RNG.random(600) < TRUE).astype(int)
# Scores that rank well and mean little: a quarter of the log odds, and too high.
SCORES = 1 / (1 + np.exp(-(0.25 * np.log(TRUE / (1 - TRUE)) + 0.3)))
PREDICTED = (TRUE > 0.5).astype(int)
POOL = ba.Pool(predictions=PREDICTED, scores=np.stack([1 - SCORES, SCORES], axis=1))
F1 = ba.Metric("f1")
CURVE = Poisson(n_strata=8, labels="curve")
SETTING = F1.setting(POOL, strata=CURVE.strata_of(POOL))
CELL = SETTING.cells.source.cells_of(np.arange(600))


told = labelled_sessions(POOL, LABELS, F1, design=CURVE)


def believed(state):
    with engine.eager():
        return np.asarray(state.memory.model.mean)


def squared_deviations(state):
    """Compute E (f - F g)^2 over the squared mean of g for F1 = 2 TP / (P + PP), in the mean over the curves."""
    model, size = state.memory.model, np.asarray(state.measure.size, float)
    few, (missed, hit) = model.curve.deciding, np.asarray(model.curve.counts, float).T
    positive = PREDICTED[SETTING.cells.one_of_each()]
    f, g = np.stack([0 * positive, 2 * positive]), np.stack([positive, 1 + positive])
    weight = np.exp(np.asarray(few.log_weight, float))
    total = np.zeros(len(size))
    for share, nu, w in zip(np.asarray(few.share, float), np.asarray(few.strength, float), weight, strict=True):
        p = (nu * share + hit) / (nu + hit + missed)
        p = np.stack([1 - p, p])
        mean = size @ (p * g).sum(0) / size.sum()
        value = size @ (p * f).sum(0) / size.sum() / mean
        total += w * (p * (f - value * g) ** 2).sum(0) / mean**2
    return total / weight.sum()


def test_squared_deviations_are_means_over_the_curves():
    design = Poisson(n_strata=8, labels="curve", floor=0.0)
    with engine.eager():
        before = design.init(*SETTING)
    # As if no item were labelled, so that all of them count by the curve.
    after = replace(told(140)._state, counts=before.counts)
    for state in (before, after):
        with engine.eager():
            found = np.asarray(design.deviations(state))
        np.testing.assert_allclose(found**2, squared_deviations(state), rtol=1e-4)  # curves have 32 bits
    assert np.asarray(after.memory.model.counts).sum() == 140


def test_the_belief_is_the_mean_of_its_curves_as_probable_as_they_are():
    model = told(140)._state.memory.model
    with engine.eager():
        weights = np.asarray(model.weights, float)
        of_curves = np.stack([model.draw(s) for s in range(len(weights))])
        mean = np.asarray(model.mean)
    assert weights.max() > 2 * weights.min()  # labels tell curves apart
    np.testing.assert_allclose(mean, np.tensordot(weights, of_curves, 1), rtol=1e-4)  # curves have 32 bits


def test_labels_move_the_belief_towards_them_and_before_any_ranks_tell_more_than_these_scores():
    states = told(0)._state, told((140, 70))._state
    size = np.asarray(SETTING.reward.size)
    rate = np.bincount(CELL, weights=LABELS) / size
    error = [np.average((believed(state)[:, 1] - rate) ** 2, weights=size) for state in states]
    by_scores = np.average((np.bincount(CELL, weights=SCORES) / size - rate) ** 2, weights=size)
    assert error[1] < error[0] < by_scores


def test_inclusion_probabilities_sum_to_the_batch_in_every_round():
    a = told(0)
    for n in (140, 70):
        open_ = np.asarray(a._state.remaining)
        with engine.eager(CURVE.is_eager(a._state)):
            h = np.asarray(CURVE.deviations(a._state))
        queries = a.ask(n)
        b = np.asarray(a._state.memory.inclusion)
        assert len(queries.ids) == n
        np.testing.assert_allclose(b @ open_, n, rtol=1e-9)
        np.testing.assert_allclose(b[open_ > 0], inclusion_of_deviations(h, n, open_)[open_ > 0], rtol=1e-6)
        # Systematic sampling takes from every cell what is expected, up to less than one.
        taken = np.bincount(queries.cells, minlength=len(b))
        assert (np.abs(taken - b * open_) < 1).all()
        a.tell(queries.ids, LABELS[queries.ids])
    for counts in (a._state.memory.model.counts, a._state.memory.model.curve.counts):  # every label once
        np.testing.assert_array_equal(counts, a.counts)


def test_the_belief_learns_when_a_round_is_complete_and_asking_moves_no_answer():
    a = told(70)
    queries = a.ask(140)  # more than the shortest compiled call takes: a batch stays whole
    before = believed(a._state)
    a.tell(queries.ids[:70], LABELS[queries.ids[:70]])
    np.testing.assert_array_equal(believed(a._state), before)
    a.tell(queries.ids[70:], LABELS[queries.ids[70:]])
    assert a._state.memory.drawn.sum() == a._state.memory.model.counts.sum() == 210
    answer = a.result()
    a.ask(70)
    assert a.result().estimate == answer.estimate
    np.testing.assert_array_equal(a.result().interval, answer.interval)


@pytest.mark.slow
def test_a_session_goes_on_from_its_journal_as_it_would_have(tmp_path):
    plain, kept = told(70), told(70, journal=tmp_path / "run.db")
    for a in (plain, kept):
        queries = a.ask(140)
        a.tell(queries.ids[:70], LABELS[queries.ids[:70]])
    again = ba.resume(tmp_path / "run.db", POOL)
    assert again.design == CURVE
    for a in (plain, again):
        a.tell(queries.ids[70:], LABELS[queries.ids[70:]])
    assert plain.result().estimate == again.result().estimate
    np.testing.assert_array_equal(plain.result().interval, again.result().interval)
    np.testing.assert_array_equal(plain.ask(70).ids, again.ask(70).ids)


def test_the_answer_is_exact_once_everything_is_labelled_and_other_measures_are_answered():
    a = told(300)
    r = a.result(question=ba.Metric("precision"))
    assert r.interval[0] <= ba.Metric("precision").truth(POOL, LABELS) <= r.interval[1]
    queries = a.ask(300)
    a.tell(queries.ids, LABELS[queries.ids])
    np.testing.assert_allclose(a.result().estimate, F1.truth(POOL, LABELS), atol=1e-12)
    accuracy = ba.Metric("accuracy")
    np.testing.assert_allclose(a.result(question=accuracy).estimate, accuracy.truth(POOL, LABELS), atol=1e-12)


def test_what_the_curve_learns_is_refused_as_an_option():
    for options in ({"lam": 0.5}, {"kind": "width"}, {"strata": ba.Strata(4)}):
        (option,) = options
        with pytest.raises(DesignError, match=f"learns what scores mean.*leave out {option}="):
            Poisson(labels="curve", **options)
    with pytest.raises(DesignError, match="'scores' or 'curve'; found 'tree'"):
        Poisson(labels="tree")
    with pytest.raises(PriorError, match="no prior but 'learned'; found 'informative'"):
        told(0, prior="informative")


def test_what_a_curve_cannot_serve_is_refused():
    several = ba.Pool(predictions=["cat;dog", "-"], multilabel=True)
    with pytest.raises(DesignError, match="takes every item to have one label"):
        ba.assess(several, ba.Metric("f1_micro"), design=CURVE)
    three = ba.Pool(scores=[[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    with pytest.raises(QuestionError, match=r"Metric.brier_score_loss. is none of them.*labels='scores'"):
        ba.assess(three, ba.Metric("brier_score_loss"), design=CURVE)
    with pytest.raises(DesignError, match=r"brier_score_loss differ by the scores within a stratum.*labels='scores'"):
        ba.assess(POOL, ba.Metric("brier_score_loss"), design=CURVE)


@pytest.mark.slow
def test_pools_without_scores_and_measures_of_many_classes_are_served():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 90)
    pool = ba.Pool(predictions=np.where(rng.random(90) < 0.7, labels, rng.integers(0, 3, 90)))
    a = ba.assess(pool, ba.Metric("f1_macro"), design=CURVE)
    assert not a.result().estimate > 1
    assert "the prior of a calibration curve" in a.result().assumption
    for n in (45, 45):
        queries = a.ask(n)
        a.tell(queries.ids, labels[queries.ids])
        assert believed(a._state).sum(-1) == pytest.approx(1)
    np.testing.assert_allclose(a.result().estimate, a.question.truth(pool, labels), atol=1e-12)
    assert a.result(question=ba.Metric("accuracy")).estimate == pytest.approx((labels == pool.predictions).mean())


@pytest.mark.slow
def test_estimates_are_right_in_the_mean_over_rounds():
    study = ba.simulate(
        POOL, LABELS, ba.Metric("accuracy"), designs=[CURVE], budgets=[20, 40, 60], repeats=200, batch=20
    )
    (estimate,) = study.estimates.values()
    error = estimate.std(0) / np.sqrt(len(estimate))
    assert (np.abs(estimate.mean(0) - study.truth) < 4 * error).all()


@pytest.mark.slow
def test_the_curve_errs_less_in_a_second_round_where_scores_expect_far_too_many_positives():
    rng = np.random.default_rng(11)
    x = rng.normal(size=4000)
    scores = 1 / (1 + np.exp(-(0.7 * x - 1.8)))  # which rank well, and expect a positive in seven
    labels = (rng.random(4000) < 1 / (1 + np.exp(-5 * (x - 2.5)))).astype(int)
    pool = ba.Pool(scores=np.stack([1 - scores, scores], axis=1))
    assert labels.sum() < 0.02 * len(labels)
    designs = {"scores": Poisson(n_strata=16), "curve": Poisson(n_strata=16, labels="curve")}
    study = ba.simulate(pool, labels, F1, designs=designs, budgets=[60, 120], repeats=60, batch=60)
    squares = {name: (estimate - study.truth) ** 2 for name, estimate in study.estimates.items()}
    gain = squares["scores"].mean(0) - squares["curve"].mean(0)
    error = np.sqrt(sum(one.var(0) / len(one) for one in squares.values()))
    assert gain[1] > 3 * error[1], (gain, error)
    assert (study.coverage["curve"] > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 60)).all()
