"""Measures and precision-recall curves, from weighted draws."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Adaptive, Stratified
from bayes_assess.estimators.intervals import ellipsoid_radius
from bayes_assess.measures import Measure, measure
from bayes_assess.measures._losses import SparseLosses
from bayes_assess.questions import ScorePrior
from made import labelled_sessions


def rare_pool(n: int = 600, seed: int = 1) -> tuple[ba.Pool, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 20 == 0).astype(int)
    scores = 1 / (1 + np.exp(1.5 - rng.normal(size=n) - 2.5 * labels))
    rival, site = np.where(rng.random(n) < 0.1, 1 - labels, labels), np.array(["a", "b"])[np.arange(n) % 2]
    return ba.Pool(scores=scores, groups={"site": site}, systems={"rival": rival}), labels


POOL, LABELS = rare_pool()
TP = int((POOL.predictions & LABELS).sum())
N_PREDICTED, N_POSITIVE = int(POOL.predictions.sum()), int(LABELS.sum())
F1 = 2 * TP / (N_PREDICTED + N_POSITIVE)


told = labelled_sessions(POOL, LABELS, ba.Metric("f1"), seed=0)


def test_truths_worked_out_by_hand():
    assert ba.Metric("f1").truth(POOL, LABELS) == pytest.approx(F1)
    both = ba.Metric(["precision", "recall"]).truth(POOL, LABELS)
    np.testing.assert_allclose(both, [TP / N_PREDICTED, TP / N_POSITIVE])
    right = POOL.predictions == LABELS
    by_site = ba.Metric("accuracy", by="site").truth(POOL, LABELS)
    np.testing.assert_allclose(by_site, [right[POOL.groups["site"] == site].mean() for site in ("a", "b")])
    systems = ba.Metric("accuracy", systems=["prediction", "rival"]).truth(POOL, LABELS)
    np.testing.assert_allclose(systems, [right.mean(), (POOL.systems["rival"] == LABELS).mean()])
    swapped = ba.Metric("recall", positive=0).truth(POOL, LABELS)
    assert swapped == pytest.approx(np.mean(POOL.predictions[LABELS == 0] == 0))


def test_a_result_says_what_it_knows():
    r = told(300, ba.Metric("f1"), design="passive").result(level=0.9)
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
    wider = told(300, ba.Metric("f1"), design="passive").result(level=0.99).interval
    assert wider[0] < low < high < wider[1]


def test_several_measures_have_a_covariance_and_an_ellipsoid():
    r = told(300, ba.Metric(["precision", "recall", "f1"]), design="passive").result()
    assert r.estimate.shape == (3,)
    assert r.interval.shape == (3, 2)
    np.testing.assert_allclose(np.sqrt(np.diag(r.covariance)), r.standard_error)
    assert np.linalg.eigvalsh(r.covariance).min() > -1e-12
    assert r.in_ellipsoid(r.estimate)
    assert not r.in_ellipsoid([1, 0, 1])
    with pytest.raises(ba.QuestionError, match="3 measures; found 2"):
        r.in_ellipsoid([1, 0])
    assert r.plot(truth=r.question.truth(POOL, LABELS)).get_title(loc="left").startswith("Precision, recall and F1")


def test_an_ellipsoid_counts_what_one_more_draw_could_move():
    r = told(120, ba.Metric(["precision", "recall"]), design="passive").result()
    found = r.evidence.answer
    spread = r.covariance + np.diag(np.maximum(found.rise, found.fall) ** 2)
    away = np.linalg.cholesky(spread) @ [0.6, 0.8]  # at the distance 1
    radius = ellipsoid_radius(r.evidence.n_effective.min(), 2) ** 0.5
    assert r.in_ellipsoid(r.estimate + 0.999 * radius * away)
    assert not r.in_ellipsoid(r.estimate + 1.001 * radius * away)


def test_draws_of_weighted_measures_move_together_as_the_measures_do():
    r = told(120, ba.Metric(["accuracy", "zero_one_loss"]), design="passive").result()
    np.testing.assert_allclose(r.evidence.joint.sum(1), 1, atol=0.01)  # of quantiles of two intervals


@pytest.mark.slow
@pytest.mark.parametrize("design", ["passive", "importance"])
def test_covariances_are_those_of_campaigns_and_ellipsoids_hold_the_truth(design):
    question, repeats = ba.Metric(["precision", "recall", "accuracy"]), 200
    rng = np.random.default_rng(4)
    scores = rng.beta(0.7, 0.9, 2_000)
    labels = (rng.random(2_000) < scores).astype(int)
    pool = ba.Pool(scores=scores)
    results = [
        told(200, question, design=design, seed=seed, labels=labels, pool=pool).result() for seed in range(repeats)
    ]
    truth = question.truth(pool, labels)
    assert np.mean([r.in_ellipsoid(truth) for r in results]) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / repeats)
    found, said = np.cov(np.array([r.estimate for r in results]).T), np.mean([r.covariance for r in results], axis=0)
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(said / scale, found / scale, atol=4.5 * np.sqrt(2 / repeats))


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
    r = told(30, ba.Metric("precision"), design="passive", labels=labels).result()
    assert r.estimate == 1
    assert r.interval[0] < 0.98
    assert r.interval[1] == 1


def test_labels_that_show_no_error_count():
    """All of 500 right: the end of Clopper and Pearson is 0.025^(1/500) = 0.9926."""
    labels = np.arange(4000) % 2
    pool = ba.Pool(scores=np.where(labels == 1, 0.8, 0.2))
    r = told(500, ba.Metric("accuracy"), design="passive", labels=labels, pool=pool).result()
    assert r.estimate == 1
    assert r.interval[1] == 1
    assert 0.99 < r.interval[0] < 1
    assert 450 < r.n_effective < 700


def test_before_any_label_an_answer_is_a_belief_and_everything_is_possible():
    measures = ["accuracy", "brier_score_loss", "log_loss", "balanced_accuracy", "matthews_corrcoef"]
    r = ba.assess(POOL, ba.Metric(measures), design="passive").result()
    s = POOL.scores
    losses = np.stack([s, 1 - s])  # by how far scores miss either label
    brier, log = losses**2, -np.log1p(-losses)
    ends = [[loss.min(0).mean(), loss.max(0).mean()] for loss in (brier, log)]
    np.testing.assert_allclose(r.interval, [[0, 1], *ends, [0, 1], [-1, 1]], rtol=1e-9)
    believed = np.mean(np.maximum(s, 1 - s))  # scores above one half are predicted positive
    np.testing.assert_allclose(r.estimate[:2], [believed, np.mean(s * (1 - s))], rtol=1e-6)
    assert r.guarantee == "credible"
    assert "believes, starting from scores" in r.assumption
    assert r.assumption in r.summary()
    flat = ba.assess(POOL, ba.Metric("accuracy"), design="passive", prior="uninformative").result()
    assert (float(flat.estimate), flat.interval.tolist()) == (0.5, [0, 1])
    assert "equal probabilities of all labels" in flat.summary()


def test_a_group_that_no_draw_has_hit_has_no_perfect_accuracy():
    a = ba.assess(POOL, ba.Metric("accuracy", by="site"), design="passive")
    ids = a.ask(1).ids
    a.tell(ids, LABELS[ids])
    other = int(POOL.groups["site"][ids[0]] == "a")
    assert a.result().interval[other].tolist() == [0, 1]
    assert a.result().interval[1 - other].tolist() != [0, 1]
    assert f"No draw so far defines accuracy (site {'ab'[other]})" in a.result().summary()


def test_a_correlation_that_the_draws_do_not_define_is_said_to_be_a_belief():
    """Without a positive among the draws Matthews' correlation is 0/0."""
    a = ba.assess(POOL, ba.Metric(["accuracy", "matthews_corrcoef"]), design="passive")
    ids = a.ask(3).ids
    a.tell(ids, [0, 0, 0])
    r = a.result()
    assert r.interval[1].tolist() == [-1, 1]
    assert r.guarantee == "asymptotic"
    assert "No draw so far defines matthews_corrcoef: the figure is what design 'passive' believes" in r.assumption
    alone = a.result(question=ba.Metric("matthews_corrcoef"))
    assert alone.guarantee == "credible"
    assert "effective draws" not in alone.summary()


def test_one_draw_is_one_draw():
    a = ba.assess(ba.Pool(predictions=[0, 1] * 20), ba.Metric("accuracy"), design="passive")
    a.tell(a.ask(1).ids, [1])
    assert "Intervals lean on 1 effective draw, and" in a.result().summary()


def test_estimates_stay_in_the_range_of_the_measure():
    """One draw of a weight above 1 that shows an error says 1 - w, less than 0."""
    rng = np.random.default_rng(0)
    s = np.where(np.arange(200) < 190, 0.01, 0.5)
    pool, labels = ba.Pool(scores=s), rng.integers(0, 2, 200)
    seen = []
    for seed in range(20):
        r = told(
            2, ba.Metric(["accuracy", "zero_one_loss"]), design="importance", seed=seed, labels=labels, pool=pool
        ).result()
        assert ((r.interval[:, 0] <= r.estimate) & (r.estimate <= r.interval[:, 1])).all()
        assert (r.interval[:, 0] < r.interval[:, 1]).all()
        seen.append(r.estimate)
    assert np.min(seen) >= 0
    assert np.max(seen) <= 1
    assert np.ptp(seen, axis=0).min() > 0


@pytest.mark.parametrize("design", ["passive", Stratified(n_strata=8)], ids=["passive", "stratified"])
def test_labels_and_not_predictions_are_learned(design):
    wrong = 1 - POOL.predictions
    r = told(POOL.n_items, ba.Metric(["f1", "accuracy"]), design=design, labels=wrong).result()
    assert r.guarantee == "exact"
    np.testing.assert_allclose(r.estimate, [0, 0], atol=1e-12)
    np.testing.assert_allclose(r.interval, [[0, 0], [0, 0]], atol=1e-12)


def test_only_items_that_can_matter_are_asked_for():
    a = told(N_PREDICTED, ba.Metric("precision"), design="passive")
    r = a.result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(TP / N_PREDICTED)
    with pytest.raises(ba.BudgetError, match="can answer this question"):
        a.ask(1)


# -- other measures from the same draws --------------------------------------------------------------------------------


def test_other_measures_come_from_the_same_draws():
    question = ba.Metric(["f1", "precision", "recall", "accuracy"])
    a, together = told(250, ba.Metric("f1"), design="passive"), told(250, question, design="passive")
    for i, name in enumerate(["f1", "precision", "recall", "accuracy"]):
        r = a.result(question=ba.Metric(name))
        assert r.estimate == pytest.approx(together.result().estimate[i], rel=1e-9)
        np.testing.assert_allclose(r.interval, together.result().interval[i], rtol=1e-9)


def test_measures_of_items_that_could_not_be_drawn_are_refused():
    a = told(30, ba.Metric("precision"), design=Adaptive(n_strata=8))  # of predicted positives alone
    with pytest.raises(ba.QuestionError, match=r"items that this session never asks for.*'How high is precision\?'"):
        a.result(question=ba.Metric("recall"))
    a = told(60, ba.Metric("f1"), design=Adaptive(n_strata=8))
    known = a.ask(5)
    a.tell(known.ids, LABELS[known.ids])  # items that are surely no error are known now, and need not be drawn again
    exact = np.mean(POOL.predictions[LABELS == 0] == 0)
    specificity = a.result(question=ba.Metric("specificity"))
    assert specificity.interval[0] < exact < specificity.interval[1]


@pytest.mark.parametrize("question", [ba.Metric("brier_score_loss"), ba.Metric(["log_loss", "f1_macro"])])
def test_measures_of_what_the_groups_of_a_session_do_not_tell_apart_are_refused(question):
    scores = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 90)
    three = ba.Pool(scores=scores)
    with pytest.raises(ba.QuestionError, match="does not tell apart"):
        told(50, ba.Metric("f1_macro"), design="passive", labels=scores.argmax(1), pool=three).result(question=question)


@pytest.mark.parametrize("question", [ba.Metric("accuracy", by="site"), ba.PRCurve([0.2, 0.7]), ba.GroupAccuracy()])
def test_other_questions_are_answered_from_labels_of_a_measure(question):
    pool, labels = rare_pool(120)
    everything = told(120, ba.Metric("f1"), design="passive", labels=labels, pool=pool).result(question=question)
    np.testing.assert_allclose(everything.estimate, question.truth(pool, labels), atol=1e-9)


def test_a_session_of_groups_by_something_else_than_scores_answers_measures_from_random_items_alone():
    a = ba.assess(POOL, ba.GroupAccuracy(by="site"))
    with pytest.raises(ba.QuestionError, match="whose labels answer it, too"):
        a.result(question=ba.Metric("f1"))


# -- measures of one's own, many classes, curves -----------------------------------------------------------------------


def false_alarms(name: str = "fpr") -> Measure:
    return Measure(loss=lambda y, f: jnp.stack([(1 - y) * f, 1 - y]), g=lambda r: r[0] / r[1], name=name, binary=True)


def test_a_measure_of_ones_own(tmp_path):
    question = ba.Metric(false_alarms())
    exact = np.mean(POOL.predictions[LABELS == 0])
    assert question.truth(POOL, LABELS) == pytest.approx(exact)
    assert told(POOL.n_items, question, design="passive").result().estimate == pytest.approx(exact)
    with pytest.raises(ba.QuestionError, match="keeps measures by name"):
        ba.assess(POOL, question, design="passive", journal=tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        measure("recall_per_class"),
        measure("fbeta", beta=0.5),
        measure("fbeta", beta=np.inf),
        ["accuracy", measure("fbeta", beta=2, average="macro"), measure("f1", average=None)],
        measure("cohen_kappa", weights="linear"),
    ],
    ids=lambda asked: ba.Metric(asked).name,
)
def test_measures_with_options_come_back_from_a_journal(asked, tmp_path):
    a = ba.assess(POOL, ba.Metric(asked), design="passive", journal=tmp_path / "run.db")
    ids = a.ask(5).ids
    a.tell(ids, LABELS[ids])
    back = ba.resume(tmp_path / "run.db", POOL)
    assert back.question.name == a.question.name
    np.testing.assert_array_equal(back.result().estimate, a.result().estimate)
    assert ba.resume(tmp_path / "run.db", POOL, question=ba.Metric(asked)).labels_used == 5


def test_measures_of_all_classes_are_no_f_measures_of_one():
    """Their names begin alike; oasis would have measured the recall of the last class alone."""
    for asked in (
        measure("recall_per_class"),
        measure("f1", average=None),
        measure("f1_macro"),
        false_alarms("f1"),
        false_alarms("fbeta"),
    ):
        assert ba.Metric(asked).f_alpha is None
        with pytest.raises(ba.DesignError, match="'oasis' cannot serve this question"):
            ba.assess(POOL, ba.Metric(asked), design="oasis")
    assert [ba.Metric(name).f_alpha for name in ("precision", "recall", "f1_score")] == [1.0, 0.0, 0.5]
    assert ba.Metric(measure("fbeta", beta=2)).f_alpha == pytest.approx(0.2)
    assert ba.Metric(measure("fbeta", beta=np.inf)).f_alpha == 0


def test_many_classes():
    rng = np.random.default_rng(0)
    predictions, labels = rng.choice(["a", "b", "c"], (2, 90))
    pool = ba.Pool(predictions=predictions, classes=["a", "b", "c"])
    a = told(90, ba.Metric(["f1_macro", "f1_per_class"]), design="passive", labels=labels, pool=pool)
    score = [
        2 * np.sum((predictions == k) & (labels == k)) / (np.sum(predictions == k) + np.sum(labels == k)) for k in "abc"
    ]
    np.testing.assert_allclose(a.result().estimate, [np.mean(score), *score])
    with pytest.raises(ba.QuestionError, match="positive"):
        ba.assess(pool, ba.Metric("f1"), design="passive")


@pytest.mark.slow
def test_accuracies_of_many_classes_by_many_groups_never_hold_every_loss(monkeypatch):
    dense, rng = SparseLosses.dense, np.random.default_rng(0)
    sizes = []
    monkeypatch.setattr(SparseLosses, "dense", lambda losses: sizes.append(losses.index.shape) or dense(losses))
    site, labels = rng.integers(0, 100, 4000), rng.integers(0, 30, 4000)
    predictions = np.where(rng.random(4000) < 0.8, labels, rng.integers(0, 30, 4000))
    pool = ba.Pool(predictions=predictions, classes=list(range(30)), groups={"site": site})
    a = ba.assess(pool, ba.Metric("accuracy", by="site"), seed=0)
    assert max(n_attributes for n_attributes, _, _ in sizes) <= 100  # of 3,000 predictions in groups
    a.tell(pool.ids[:3000], labels[:3000])
    result = a.result()
    known = np.bincount(site[:3000], minlength=100) == np.bincount(site, minlength=100)
    truth = np.bincount(site, predictions == labels) / np.bincount(site)
    np.testing.assert_allclose(result.estimate[known], truth[known])
    assert np.abs(result.estimate - truth).max() < 0.2


def test_a_precision_recall_curve():
    question = ba.PRCurve([0.2, 0.4, 0.6])
    truth = question.truth(POOL, LABELS)
    above = POOL.scores >= np.array([0.2, 0.4, 0.6])[:, None]
    hits = (above & (LABELS == 1)).sum(1)
    np.testing.assert_allclose(truth, [*(hits / above.sum(1)), *(hits / N_POSITIVE)])
    r = told(300, question, design=Stratified(n_strata=16)).result()
    assert list(r.table().columns)[:2] == ["threshold", "precision"]
    assert len(r.table()) == 3
    assert (r.interval[:, 0] <= r.estimate).all()
    assert (r.estimate <= r.interval[:, 1]).all()
    assert r.plot(truth=truth).get_ylabel() == "precision"
    np.testing.assert_allclose(told(POOL.n_items, question, design="passive").result().estimate, truth)


def test_a_curve_from_the_draws_of_another_measure_has_thresholds_that_its_cells_tell_apart():
    a = told(300, ba.Metric("f1"), design=Stratified(n_strata=16))
    r = a.result(question=ba.PRCurve(6))
    assert 2 <= len(r.question.thresholds) <= 6
    codes = np.searchsorted(r.question.thresholds, POOL.scores, side="right")
    assert all(
        len(set(codes[a.cells.source.cells_of(np.arange(a.cells.n_items)) == k])) == 1 for k in range(a.cells.n_cells)
    )
    np.testing.assert_array_equal(r.table()["threshold"], r.question.thresholds)
    given = a.result(question=ba.PRCurve(r.question.thresholds))
    np.testing.assert_array_equal(given.estimate, r.estimate)
    everything = told(POOL.n_items, ba.Metric("f1"), design=Stratified(n_strata=16)).result(question=ba.PRCurve(6))
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
    r = told(200, question, design=Adaptive(n_strata=8)).result()
    assert r.groups.tolist() == ["f1 (macro)"]
    assert r.interval[0] < r.estimate < r.interval[1]


# -- studies -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
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
    draws = study.campaigns["passive"].record.n_draws
    # 200 of 600 distinct items take 600 (1/600 + ... + 1/401) draws in the mean ([NH] sec. 3: budgets are distinct).
    np.testing.assert_allclose(draws[:, 1], 600 * (1 / np.arange(401, 601)).sum(), rtol=1e-12)
    assert study.scores[stratified]["mse"][:, 1].mean() < study.scores["passive"]["mse"][:, 1].mean()
    assert study.labels_to("mse", 1e-9) == dict.fromkeys(study.estimates, 600)
    assert "divergence" in study.table().columns


@pytest.mark.slow
def test_passive_intervals_hold_the_truth_as_often_as_they_say():
    study = ba.simulate(POOL, LABELS, ba.Metric("accuracy"), designs=["passive"], budgets=[250], repeats=1000)
    error = np.sqrt(0.05 * 0.95 / 1000)
    assert abs(study.coverage["passive"][0] - 0.95) < 0.02 + 4 * error


# -- bad input ---------------------------------------------------------------------------------------------------------


def adaptive(pool, question=ba.Metric("f1"), **options):  # noqa: B008 - questions do not change
    """Start a session of a design with a fixed prior."""
    return ba.assess(pool, question, design="adaptive", **options)


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: ba.Metric("f2"), ba.QuestionError, "no measure 'f2'"),
        (lambda: ba.Metric([]), ba.QuestionError, "at least one"),
        (lambda: ba.assess(POOL, ba.Metric("r2")), ba.QuestionError, "'r2' is of labels that are real numbers"),
        (lambda: ba.assess(POOL, ba.Metric("f1", positive="cat")), ba.QuestionError, "not a class"),
        (lambda: ba.assess(POOL, ba.Metric("f1", systems=["none"])), ba.QuestionError, "none"),
        (lambda: ba.assess(POOL, ba.Metric("f1", by="shop")), ba.QuestionError, "shop"),
        (lambda: ba.assess(POOL, ba.Metric("f1"), prior_strength=3), ba.PriorError, "no prior_strength"),
        (lambda: ba.assess(POOL, ba.Metric("f1"), prior="good"), ba.PriorError, "'good'"),
        (lambda: ba.assess(POOL, ba.Metric("f1"), prior="informative"), ba.PriorError, "for the other designs"),
        (lambda: adaptive(ba.Pool(predictions=[0, 1]), prior="informative"), ba.PriorError, "none"),
        (lambda: adaptive(POOL, prior_strength=3), ba.PriorError, "takes no prior_strength"),
        (lambda: ba.PRCurve([0.5, 0.2]), ba.QuestionError, "increase"),
        (lambda: ba.PRCurve(1), ba.QuestionError, "2 thresholds"),
        (lambda: ba.assess(ba.Pool(predictions=[0, 1]), ba.PRCurve(4)), ba.QuestionError, "scores"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_a_posterior_for_arviz_is_refused_with_a_reason():
    r = told(20, ba.Metric("f1"), design="passive").result()
    with pytest.raises(ba.QuestionError, match="without a posterior"):
        r.to_arviz()
    with pytest.raises(ba.QuestionError, match="without a posterior"):
        r.posterior  # noqa: B018
    with pytest.raises(ba.QuestionError, match="no posterior of it"):
        r.draws  # noqa: B018


def test_a_prior_of_no_probabilities_is_refused():
    pool = ba.Pool(predictions=[0, 1, 1])
    with pytest.raises(ba.PriorError, match=r"lie between 0 and 1; that of row 1, label 0 is 1\.5"):
        adaptive(pool, ba.Metric("accuracy"), prior=ScorePrior(np.array([[0.5, 0.5], [1.5, -0.5]])))
    with pytest.raises(ba.PriorError, match="takes the prior 'informative' or 'uninformative'; found"):
        adaptive(pool, ba.Metric("accuracy"), prior=np.full((2, 2), 0.5))


def test_measures_of_several_labels_are_named_before_there_is_a_pool():
    assert ba.Metric("f1_samples").name == "Metric(f1_samples)"
    assert ba.Metric(["hamming_loss", "f1_micro"]).name == "Metric(hamming_loss, f1_micro)"


def test_balanced_accuracy_says_of_which_classes_no_label_is_and_what_it_makes_of_them():
    labels = np.tile(list("abc"), 60)
    pool = ba.Pool(predictions=labels, classes=list("abcde"))
    a = ba.assess(pool, ba.Metric("balanced_accuracy"), seed=0)
    a.tell(pool.ids[:60], labels[:60])
    said = "No label is of 'd', 'e' so far: balanced accuracy leaves such a class out if no item is of it, and counts"
    assert said in a.result().summary()
    assert "No label is of" not in a.result(question=ba.Metric("f1_macro")).summary()
    a.tell([60], ["d"])
    assert "No label is of 'e' so far: balanced accuracy leaves the class out" in a.result().summary()
    a.tell(pool.ids[61:], labels[61:])
    assert "No label" not in a.result().summary()  # which is exact


def test_declared_classes_that_no_item_is_of_leave_balanced_accuracy_as_it_is():
    """It was .70 in [.66, .86] after 300 labels, as some item was believed to be of the fifth class."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 1000)
    predictions = np.where(rng.random(1000) < 0.85, labels, rng.integers(0, 4, 1000))
    a = ba.assess(ba.Pool(predictions=predictions, classes=range(5)), ba.Metric("balanced_accuracy"), seed=0)
    queries = a.ask(200)
    a.tell(queries.ids, labels[queries.ids])
    truth = np.mean([(predictions[labels == c] == c).mean() for c in range(4)])
    result = a.result()
    low, high = result.interval
    assert low <= truth <= high
    assert (result.draws < truth - 0.1).mean() < 0.05  # where a class counts of which nothing is right
