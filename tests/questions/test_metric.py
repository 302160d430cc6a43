"""Measures and precision-recall curves, from weighted draws."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Adaptive, Stratified
from bayes_assess.measures import Measure


def rare_pool(n: int = 600, seed: int = 1) -> tuple[ba.Pool, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 20 == 0).astype(int)
    scores = 1 / (1 + np.exp(1.5 - rng.normal(size=n) - 2.5 * labels))
    groups = {
        "rival": np.where(rng.random(n) < 0.1, 1 - labels, labels),
        "site": np.array(["a", "b"])[np.arange(n) % 2],
    }
    return ba.Pool(scores=scores, groups=groups), labels


POOL, LABELS = rare_pool()
TP = int((POOL.predictions & LABELS).sum())
N_PREDICTED, N_POSITIVE = int(POOL.predictions.sum()), int(LABELS.sum())
F1 = 2 * TP / (N_PREDICTED + N_POSITIVE)


def told(question, design, n: int, seed: int = 0, labels=LABELS, pool=POOL) -> ba.Assessment:
    a = ba.assess(pool, question, design=design, seed=seed)
    queries = a.ask(n)
    a.tell(queries.ids, labels[queries.ids])
    return a


def test_truths_worked_out_by_hand():
    assert ba.Metric("f1").truth(POOL, LABELS) == pytest.approx(F1)
    both = ba.Metric(["precision", "recall"]).truth(POOL, LABELS)
    np.testing.assert_allclose(both, [TP / N_PREDICTED, TP / N_POSITIVE])
    right = POOL.predictions == LABELS
    by_site = ba.Metric("accuracy", by="site").truth(POOL, LABELS)
    np.testing.assert_allclose(by_site, [right[POOL.groups["site"] == site].mean() for site in ("a", "b")])
    systems = ba.Metric("accuracy", systems=["prediction", "rival"]).truth(POOL, LABELS)
    np.testing.assert_allclose(systems, [right.mean(), (POOL.groups["rival"] == LABELS).mean()])
    swapped = ba.Metric("recall", positive=0).truth(POOL, LABELS)
    assert swapped == pytest.approx(np.mean(POOL.predictions[LABELS == 0] == 0))


def test_a_result_says_what_it_knows():
    r = told(ba.Metric("f1"), "passive", 300).result(level=0.9)
    assert np.shape(r.estimate) == ()
    low, high = r.interval
    assert 0 <= low < r.estimate < high <= 1
    assert r.guarantee == "asymptotic"
    assert r.n_draws >= 300
    assert r.standard_error > 0
    assert "90% asymptotic interval" in r.summary()
    table = r.table()
    assert table["measure"].tolist() == ["f1"]
    assert (table["lower"][0], table["upper"][0]) == (low, high)
    wider = told(ba.Metric("f1"), "passive", 300).result(level=0.99).interval
    assert wider[0] < low < high < wider[1]


def test_several_measures_have_a_covariance_and_an_ellipsoid():
    r = told(ba.Metric(["precision", "recall", "f1"]), "passive", 300).result()
    assert r.estimate.shape == (3,)
    assert r.interval.shape == (3, 2)
    np.testing.assert_allclose(np.sqrt(np.diag(r.covariance)), r.standard_error)
    assert np.linalg.eigvalsh(r.covariance).min() > -1e-12
    assert r.in_ellipsoid(r.estimate)
    assert not r.in_ellipsoid([1, 0, 1])
    with pytest.raises(ba.QuestionError, match="3 measures; found 2"):
        r.in_ellipsoid([1, 0])
    assert (
        r.plot(truth=r.question.truth(POOL, LABELS)).get_title(loc="left").startswith("Metric(precision, recall, f1)")
    )


def test_without_a_positive_the_figure_is_a_belief_and_the_interval_is_all_there_is():
    """Recall is 0/0 until a positive is found: never NaN, never a point."""
    a = ba.assess(POOL, ba.Metric("recall"), design="passive")
    r = a.result()
    assert np.isfinite(r.estimate)
    np.testing.assert_array_equal(r.interval, [0, 1])
    assert "No draw so far defines recall" in r.summary()
    negatives = np.flatnonzero((LABELS == 0) & (POOL.predictions == 0))[:5]
    a.tell(POOL.ids[negatives], LABELS[negatives])
    np.testing.assert_array_equal(a.result().interval, [0, 1])


def test_a_perfect_sample_is_no_certainty():
    labels = POOL.predictions
    r = told(ba.Metric("precision"), "passive", 30, labels=labels).result()
    assert r.estimate == 1
    assert r.interval[0] < 0.98
    assert r.interval[1] == 1


@pytest.mark.parametrize("design", ["passive", Stratified(n_strata=8)], ids=["passive", "stratified"])
def test_labels_and_not_predictions_are_learned(design):
    wrong = 1 - POOL.predictions
    r = told(ba.Metric(["f1", "accuracy"]), design, POOL.n_items, labels=wrong).result()
    assert r.guarantee == "exact"
    np.testing.assert_allclose(r.estimate, [0, 0], atol=1e-12)
    np.testing.assert_allclose(r.interval, [[0, 0], [0, 0]], atol=1e-12)


def test_only_items_that_can_matter_are_asked_for():
    a = told(ba.Metric("precision"), "passive", N_PREDICTED)
    r = a.result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(TP / N_PREDICTED)
    with pytest.raises(ba.BudgetError, match="can answer this question"):
        a.ask(1)


# -- other measures from the same draws --------------------------------------------------------------------------------


def test_other_measures_come_from_the_same_draws():
    question = ba.Metric(["f1", "precision", "recall", "accuracy"])
    a, together = told(ba.Metric("f1"), "passive", 250), told(question, "passive", 250)
    for i, name in enumerate(["f1", "precision", "recall", "accuracy"]):
        r = a.result(question=ba.Metric(name))
        assert r.estimate == pytest.approx(together.result().estimate[i], rel=1e-9)
        np.testing.assert_allclose(r.interval, together.result().interval[i], rtol=1e-9)


def test_measures_that_the_proposals_do_not_cover_are_refused():
    a = told(ba.Metric("f1"), Adaptive(n_strata=8), 60)
    known = a.ask(5)  # items that are surely no error cannot be drawn again from here on
    a.tell(known.ids, LABELS[known.ids])
    assert np.isfinite(a.result(question=ba.Metric("recall")).estimate)
    with pytest.raises(ba.QuestionError, match=r"needs draws of .* items that the proposals .* left out.*delta"):
        a.result(question=ba.Metric("specificity"))
    mixed = told(ba.Metric("f1"), Adaptive(n_strata=8, delta=0.3), 60)
    known = mixed.ask(5)
    mixed.tell(known.ids, LABELS[known.ids])
    assert 0 < mixed.result(question=ba.Metric("specificity")).estimate < 1


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ba.Metric("accuracy", by="site"), "do not tell apart"),
        (ba.PRCurve([0.2, 0.7]), "do not tell apart"),
        (ba.GroupAccuracy(), "answer measures"),
    ],
)
def test_questions_that_the_cells_cannot_answer_are_refused(question, said):
    with pytest.raises(ba.QuestionError, match=said):
        told(ba.Metric("f1"), "passive", 50).result(question=question)


def test_a_session_of_groups_answers_no_other_question():
    a = ba.assess(POOL, ba.GroupAccuracy())
    with pytest.raises(ba.QuestionError, match="started with, no other"):
        a.result(question=ba.Metric("f1"))


# -- measures of one's own, many classes, curves -----------------------------------------------------------------------


def false_alarms() -> Measure:
    return Measure(loss=lambda y, f: jnp.stack([(1 - y) * f, 1 - y]), g=lambda r: r[0] / r[1], name="fpr", binary=True)


def test_a_measure_of_ones_own(tmp_path):
    question = ba.Metric(false_alarms())
    exact = np.mean(POOL.predictions[LABELS == 0])
    assert question.truth(POOL, LABELS) == pytest.approx(exact)
    assert told(question, "passive", POOL.n_items).result().estimate == pytest.approx(exact)
    with pytest.raises(ba.QuestionError, match="keeps measures by name"):
        ba.assess(POOL, question, design="passive", journal=tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_many_classes():
    rng = np.random.default_rng(0)
    predictions, labels = rng.choice(["a", "b", "c"], (2, 90))
    pool = ba.Pool(predictions=predictions, classes=["a", "b", "c"])
    a = told(ba.Metric(["f1_macro", "f1_per_class"]), "passive", 90, labels=labels, pool=pool)
    score = [
        2 * np.sum((predictions == k) & (labels == k)) / (np.sum(predictions == k) + np.sum(labels == k)) for k in "abc"
    ]
    np.testing.assert_allclose(a.result().estimate, [np.mean(score), *score])
    with pytest.raises(ba.QuestionError, match="positive"):
        ba.assess(pool, ba.Metric("f1"), design="passive")


def test_a_precision_recall_curve():
    question = ba.PRCurve([0.2, 0.4, 0.6])
    truth = question.truth(POOL, LABELS)
    above = POOL.scores >= np.array([0.2, 0.4, 0.6])[:, None]
    hits = (above & (LABELS == 1)).sum(1)
    np.testing.assert_allclose(truth, [*(hits / above.sum(1)), *(hits / N_POSITIVE)])
    r = told(question, Stratified(n_strata=16), 300).result()
    assert list(r.table().columns)[:2] == ["threshold", "precision"]
    assert len(r.table()) == 3
    assert (r.interval[:, 0] <= r.estimate).all()
    assert (r.estimate <= r.interval[:, 1]).all()
    assert r.plot(truth=truth).get_ylabel() == "precision"
    np.testing.assert_allclose(told(question, "passive", POOL.n_items).result().estimate, truth)


def test_a_curve_from_the_draws_of_another_measure_has_thresholds_that_its_cells_tell_apart():
    a = told(ba.Metric("f1"), Stratified(n_strata=16), 300)
    r = a.result(question=ba.PRCurve(6))
    assert 2 <= len(r.question.thresholds) <= 6
    codes = np.searchsorted(r.question.thresholds, POOL.scores, side="right")
    assert all(len(set(codes[a.cells.codes == k])) == 1 for k in range(a.cells.n_cells))
    np.testing.assert_array_equal(r.table()["threshold"], r.question.thresholds)
    given = a.result(question=ba.PRCurve(r.question.thresholds))
    np.testing.assert_array_equal(given.estimate, r.estimate)
    everything = told(ba.Metric("f1"), Stratified(n_strata=16), POOL.n_items).result(question=ba.PRCurve(6))
    np.testing.assert_allclose(everything.estimate, everything.question.truth(POOL, LABELS))


def test_a_curve_of_many_classes_needs_a_positive_one():
    pool = ba.Pool(scores=np.full((6, 3), 1 / 3), classes=list("abc"))
    a = ba.assess(pool, ba.Metric("accuracy"), design="passive")
    with pytest.raises(ba.QuestionError, match="name the positive class"):
        a.result(question=ba.PRCurve(4))


def test_a_macro_average_over_groups():
    question = ba.Metric("f1", by="site", average="macro")
    apart = ba.Metric("f1", by="site").truth(POOL, LABELS)
    assert float(question.truth(POOL, LABELS)) == pytest.approx(apart.mean(), rel=1e-12)
    r = told(question, Adaptive(n_strata=8), 200).result()
    assert r.groups.tolist() == ["f1 (macro)"]
    assert r.interval[0] < r.estimate < r.interval[1]


# -- studies -----------------------------------------------------------------------------------------------------------


def test_a_study_of_measures():
    study = ba.simulate(
        POOL, LABELS, ba.Metric("f1"), designs=["passive", Stratified(n_strata=8)], budgets=[50, 200, 600], repeats=200
    )
    assert study.truth == pytest.approx(F1)
    stratified = next(name for name in study.estimates if name != "passive")
    for name in study.estimates:
        assert study.estimates[name].shape == (200, 3)
        assert study.intervals[name].shape == (200, 3, 2)
        np.testing.assert_allclose(study.estimates[name][:, -1], F1)
        assert study.coverage[name][-1] == 1
        assert study.scores[name]["mse"].shape == (200, 3)
    draws = study.campaigns["passive"].record["n_draws"]
    # After 200 of 600 distinct items: 600 (1/600 + ... + 1/401) draws in the mean ([NH] sec. 3: budgets are distinct).
    expected = 600 * (1 / np.arange(401, 601)).sum()
    assert abs(draws[:, 1].mean() - expected) < 4 * draws[:, 1].std() / np.sqrt(200)
    assert study.scores[stratified]["mse"][:, 1].mean() < study.scores["passive"]["mse"][:, 1].mean()
    assert study.labels_to("mse", 1e-9) == dict.fromkeys(study.estimates, 600)
    assert "divergence" in study.table().columns


@pytest.mark.slow
def test_passive_intervals_hold_the_truth_as_often_as_they_say():
    study = ba.simulate(POOL, LABELS, ba.Metric("accuracy"), designs=["passive"], budgets=[250], repeats=1000)
    error = np.sqrt(0.05 * 0.95 / 1000)
    assert abs(study.coverage["passive"][0] - 0.95) < 0.02 + 4 * error


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: ba.Metric("f2"), ba.QuestionError, "no measure 'f2'"),
        (lambda: ba.Metric([]), ba.QuestionError, "at least one"),
        (lambda: ba.assess(POOL, ba.Metric("f1", positive="cat")), ba.QuestionError, "not a class"),
        (lambda: ba.assess(POOL, ba.Metric("f1", systems=["none"])), ba.QuestionError, "none"),
        (lambda: ba.assess(POOL, ba.Metric("f1", by="shop")), ba.QuestionError, "shop"),
        (lambda: ba.assess(POOL, ba.Metric("f1"), prior_strength=3), ba.PriorError, "takes no prior_strength"),
        (lambda: ba.assess(POOL, ba.Metric("f1"), prior="good"), ba.PriorError, "'good'"),
        (lambda: ba.assess(ba.Pool(predictions=[0, 1]), ba.Metric("f1"), prior="informative"), ba.PriorError, "none"),
        (lambda: ba.PRCurve([0.5, 0.2]), ba.QuestionError, "increase"),
        (lambda: ba.PRCurve(1), ba.QuestionError, "2 thresholds"),
        (lambda: ba.assess(ba.Pool(predictions=[0, 1]), ba.PRCurve(4)), ba.QuestionError, "scores"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_a_posterior_for_arviz_is_refused_with_a_reason():
    r = told(ba.Metric("f1"), "passive", 20).result()
    with pytest.raises(ba.QuestionError, match="without a posterior"):
        r.to_arviz()
    with pytest.raises(ba.QuestionError, match="without a posterior"):
        r.posterior  # noqa: B018
    with pytest.raises(ba.QuestionError, match="no posterior of it"):
        r.draws  # noqa: B018
