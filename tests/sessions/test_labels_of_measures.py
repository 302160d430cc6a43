"""Labels told for one measure answer the others, groups and calibration, as far as the choice of the items allows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba

OTHERS = {
    "accuracy": ba.Metric("accuracy"),
    "F1 by group": ba.Metric("f1", by="site"),
    "ranking": ba.Metric("roc_auc"),
    "curve": ba.PRCurve([0.2, 0.5]),
    "groups": ba.GroupAccuracy(),
    "groups by site": ba.GroupAccuracy(by="site"),
    "calibration": ba.Calibration(4),
    "calibration of sites": ba.Compare("n", "s", by="site", measure="ece", bins=3),
    "rates": ba.Rate(by="site"),
}


def made(seed: int, n: int = 500) -> tuple[ba.Pool, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, site = (rng.random(n) < 0.25).astype(int), rng.integers(0, 2, n)
    scores = 1 / (1 + np.exp(-1.5 * (rng.normal(size=n) + 2 * y - 1.2 - 0.4 * site)))
    return ba.Pool(scores=scores, groups={"site": np.array(["n", "s"])[site]}), y


POOL, LABELS = made(0)


def session(own, design=None, n=90, pool=POOL, labels=LABELS, seed=0):
    a = ba.assess(pool, own, design=design, seed=seed)
    for _ in range(3):
        ids = a.ask(n // 3).ids
        a.tell(ids, labels[ids])
    return a


SMALL, SMALL_LABELS = made(0, 30)  # all of whose labels are told


def told_everything(own):
    a = ba.assess(SMALL, own)
    a.tell(SMALL.ids, SMALL_LABELS)
    return a


@pytest.fixture(scope="module")
def everything():
    return told_everything(ba.Metric("f1"))


def others(*slow):
    """Questions, of which those alike are left to the slow tests."""
    return pytest.mark.parametrize(
        "question",
        [pytest.param(OTHERS[name], id=name, marks=[pytest.mark.slow] if name in slow else []) for name in OTHERS],
    )


@pytest.mark.slow
@others("groups", "calibration")
def test_labels_of_everything_answer_exactly(everything, question):
    r = everything.result(question=question)
    assert r.guarantee == "exact"
    np.testing.assert_allclose(r.estimate, question.truth(SMALL, SMALL_LABELS), rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def some():
    return session(ba.Metric("f1"), n=30)


@others("rates", "calibration of sites")
def test_every_question_has_an_interval_from_the_labels_of_a_measure(some, question):
    r = some.result(question=question)
    low, high = np.moveaxis(np.reshape(r.interval, (-1, 2)), -1, 0)
    assert ((low <= np.ravel(r.estimate)) & (np.ravel(r.estimate) <= high)).all()
    assert r.summary()


@pytest.mark.slow
def test_intervals_hold_although_the_items_were_chosen_for_another_measure():
    """Misses of R intervals of 95 % are Binomial(R, 0.05): more than its quantile at 0.9995 are none."""
    repeats, missed = 12, dict.fromkeys(OTHERS, 0)
    for seed in range(repeats):
        pool, labels = made(seed, 1500)
        a = session(ba.Metric("f1"), pool=pool, labels=labels, seed=seed)
        for name, question in OTHERS.items():
            truth = np.ravel(question.truth(pool, labels))[0]
            low, high = np.reshape(a.result(question=question).interval, (-1, 2))[0]
            missed[name] += not low <= truth <= high
    assert max(missed.values()) <= stats.binom(repeats, 0.05).ppf(0.9995), missed


def test_labels_of_predicted_classes_answer_measures_and_those_of_sites_do_not():
    """What a predicted class was drawn for says nothing more of its labels; what a site was drawn for does."""
    asked = ba.Metric("f1")
    a = session(ba.GroupAccuracy(), "thompson", 45)
    low, high = a.result(question=asked).interval
    assert low <= asked.truth(POOL, LABELS) <= high
    with pytest.raises(ba.QuestionError, match="whose choice follows from scores and predictions alone"):
        session(ba.GroupAccuracy(by="site"), "thompson", 12).result(question=asked)


@pytest.mark.slow
def test_the_answer_says_what_the_labels_were_drawn_for_and_comes_back():
    a = session(ba.Metric("f1"), n=30)
    a.skip(a.ask(2).ids)
    asked = ba.GroupAccuracy()
    r = a.result(question=asked)
    assert "These labels were drawn for Metric(f1)" in r.summary()
    assert "is learned from all of them" in r.summary()
    assert r.n_skipped == 2
    np.testing.assert_array_equal(a.result(question=asked).estimate, r.estimate)


def test_what_labels_were_drawn_for_is_said_by_the_groups_that_were_asked_about():
    pool = ba.Pool(predictions=[1, 2, 3, 2] * 5, classes=[1, 2, 3], groups={"topic": list("aabbb") * 4})
    for question, design, by in (
        (ba.Mean(by="topic"), "variance_reduction", "topic and prediction"),
        (ba.Mean(), "variance_reduction", "prediction"),
        (ba.Rate(1, by="topic"), "poisson", "topic"),
    ):
        a = ba.assess(pool, question, design=design, seed=0)
        assert repr(a).startswith(f"Assessment({question.name} by {by}, design")
        a.tell(a.ask(6).ids, [1, 2, 3, 1, 2, 3])
        if "topic" in by:
            with pytest.raises(ba.QuestionError, match=f"draws more from some groups by {by}, as their labels tell"):
                a.result(question=ba.ConfusionMatrix())


def test_orders_of_scores_are_of_the_positive_class_whatever_the_event_of_a_session():
    a = told_everything(ba.Metric("accuracy"))
    for question in (ba.PRCurve(6), ba.PRCurve([0.3, 0.6]), ba.Metric("average_precision"), ba.Metric("f1")):
        r = a.result(question=question)
        np.testing.assert_allclose(r.estimate, r.question.truth(SMALL, SMALL_LABELS), atol=1e-9)


@pytest.mark.parametrize("design", ["adaptive", "variance_reduction"])
def test_items_that_were_never_asked_for_are_not_answered_for(design):
    a = session(ba.Metric("precision"), design, 30)
    for question in (ba.Metric("recall"), ba.Rate(), ba.GroupAccuracy(), ba.Metric("roc_auc")):
        with pytest.raises(ba.QuestionError, match="never asks for"):
            a.result(question=question)
