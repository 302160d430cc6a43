"""One session's labels answer other questions, although some groups were drawn from more than others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.pool.cells import cells
from bayes_assess.questions import _priors
from bayes_assess.questions._parts import crossed, group_accuracies
from bayes_assess.sessions.other_questions import answer_another

NAMES = list("abcde")
SITES = ba.GroupAccuracy(by="site")
BY_PART = ba.Metric("accuracy", by="part")


def made(seed: int, n: int = 1200) -> tuple[ba.Pool, np.ndarray]:
    """A pool whose sites differ in what is predicted there, and little in else."""
    rng = np.random.default_rng(seed)
    k = rng.choice(5, n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    share = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.1, 0.2, 0.7]])
    site = (rng.random(n)[:, None] > share[k].cumsum(1)[:, :2]).sum(1)
    right = rng.random(n) < np.array([0.93, 0.9, 0.85, 0.7, 0.4])[k] - 0.06 * (site == 1)
    labels = np.array(NAMES)[np.where(right, k, (k + rng.integers(1, 5, n)) % 5)]
    old = np.array(NAMES)[np.where(rng.random(n) < 0.8, k, (k + 1) % 5)]
    groups = {"site": np.array(["n", "s", "w"])[site]}
    return ba.Pool(predictions=np.array(NAMES)[k], groups=groups, systems={"old": old}, classes=NAMES), labels


POOL, LABELS = made(0)


def session(question=None, design="thompson", n=150, pool=POOL, labels=LABELS, seed=0) -> ba.Assessment:
    asked = ba.LeastAccurate() if question is None else question
    a = ba.assess(pool, asked, design=design, prior="uninformative", seed=seed)
    for _ in range(3):
        ids = a.ask(n // 3).ids
        a.tell(ids, labels[ids])
    return a


@pytest.mark.slow
def test_intervals_of_other_groups_hold_where_pooled_labels_mislead():
    """Misses are Binomial(R, 0.05) at most, if intervals hold as they say; pooled, labels miss nearly always."""
    repeats, missed, pooled = 8, 0, 0
    for seed in range(repeats):
        pool, labels = made(seed)
        r = session(pool=pool, labels=labels, seed=seed).result(question=SITES)
        truth = SITES.truth(pool, labels)
        missed += not r.interval[2, 0] <= truth[2] <= r.interval[2, 1]
        wrong, right = r.counts[2]
        low, high = stats.beta(right + 1, wrong + 1).ppf([0.025, 0.975])
        pooled += not low <= truth[2] <= high
    most = stats.binom(repeats, 0.05).ppf(0.9995)
    assert missed <= most < pooled


def test_new_groups_within_the_sessions_own_are_answered_from_their_own_labels():
    a = session(ba.GroupAccuracy(by=np.where(np.isin(POOL.groups["site"], ["n", "s"]), "other", "w")))
    r = a.result(question=SITES)
    ids, labels = a.labelled
    right = labels == POOL.classes[POOL.predictions[ids]]
    expected = [
        [(~right[POOL.groups["site"][ids] == g]).sum(), right[POOL.groups["site"][ids] == g].sum()] for g in r.groups
    ]
    np.testing.assert_array_equal(r.counts, expected)
    assert r.belief is None
    assert "random items of the groups" in r.summary()


def test_labels_of_everything_answer_exactly():
    a = ba.assess(POOL, ba.LeastAccurate())
    a.tell(POOL.ids, LABELS)
    for question in (SITES, ba.ConfusionMatrix(), ba.Compare("n", "s", by="site")):
        r = a.result(question=question)
        assert r.guarantee == "exact"
        np.testing.assert_allclose(r.estimate, question.truth(POOL, LABELS), atol=1e-9)


def test_labels_drawn_for_groups_teach_measures_and_groups_of_others():
    """All items but one have labels, so that the answer is known but for that one."""
    rng = np.random.default_rng(3)
    scores, labels = rng.random(60), rng.integers(0, 2, 60)
    pool = ba.Pool(scores=scores, groups={"third": np.arange(60) % 3})
    a = ba.assess(pool, ba.LeastAccurate(), design="thompson")  # whose groups follow from the scores
    a.tell(pool.ids[1:], labels[1:])
    for question in (ba.Metric(["accuracy", "f1"]), ba.GroupAccuracy(by="third")):
        possible = [question.truth(pool, np.append(first, labels[1:])) for first in (0, 1)]
        ends = a.result(question=question).interval
        assert (np.min(possible, axis=0) - 1e-12 <= ends[:, 0]).all()
        assert (ends[:, 1] <= np.max(possible, axis=0) + 1e-12).all()


def by_curves(n: int, of: int) -> ba.Assessment:
    """A session on F1 that knows labels of `n` items in two parts alike, whose errors scores foretell."""
    rng = np.random.default_rng(5)
    scores, part = rng.random(of), np.arange(of) % 2
    a = ba.assess(ba.Pool(scores=scores, groups={"part": part}), ba.Metric("f1"), seed=1)
    a.tell(np.arange(n), (rng.random(of) < scores).astype(int)[:n])
    return a


@pytest.mark.slow
def test_the_population_stays_unknown_where_curves_know_the_pool():
    """Labels of all n items leave at most the error of a share of n, and half of its variance if parts are alike.

    Scores foretell 1/48 of the variance of being right, 3/16.
    """
    a = by_curves(40, of=40)
    pool, r = (a.result(question=ba.GroupAccuracy(by="part", target=target)) for target in ("pool", "population"))
    error = np.sqrt(pool.estimate * (1 - pool.estimate) / 20)
    width = np.diff(r.interval)[:, 0] / (2 * stats.norm.ppf(0.975) * error)
    assert ((np.sqrt(0.5 * (1 - 1 / 9)) < width) & (width < 1)).all()
    assert (np.abs(r.estimate - pool.estimate) < error).all()
    assert (pool.guarantee, r.guarantee) == ("exact", "credible")


@pytest.mark.slow
def test_what_unlabelled_items_turn_out_to_be_is_drawn_once():
    """Groups get the intervals that the measure by group has; drawn twice, unlabelled items would widen them by 0.3."""
    a = by_curves(60, of=80)
    groups, measure = (a.result(question=one).interval for one in (ba.GroupAccuracy(by="part"), BY_PART))
    assert np.diff(groups).sum() == pytest.approx(np.diff(measure).sum(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "asked"), [(ba.Metric(["f1_macro", "accuracy"], by="site"), None), (ba.Metric("f1_macro"), SITES)]
)
def test_accuracies_by_group_hold_where_one_predicted_class_has_most_of_the_labels(own, asked):
    """Of the predictions of two classes nine in ten are right, of the third, which has most labels, one in ten.

    If every label counted alike, accuracies would be said to be .6 at most.
    """
    rng = np.random.default_rng(0)
    predicted, site = rng.choice(3, 600, p=[0.6, 0.3, 0.1]), np.arange(600) % 2
    right = rng.random(600) < np.array([0.95, 0.9, 0.1])[predicted]
    labels, confidence = np.where(right, predicted, (predicted + 1) % 3), rng.uniform(0.4, 0.9, (600, 1))
    scores = np.where(np.arange(3) == predicted[:, None], confidence, (1 - confidence) / 2)
    a = ba.assess(ba.Pool(scores=scores, groups={"site": site}), own)
    told = np.concatenate([np.flatnonzero(predicted == c)[:n] for c, n in ((2, 40), (1, 12), (0, 12))])
    a.tell(told, labels[told])
    low, high = a.result(question=asked).interval[-2:].T
    truth = SITES.truth(a.pool, labels)
    assert right[told].mean() < 0.5 < 0.8 < truth.min()
    assert ((low <= truth) & (truth <= high)).all()


@pytest.mark.slow
def test_sites_of_one_predicted_class_are_more_alike_than_predicted_classes_of_one_site(monkeypatch):
    by_class, by_site = session(ba.LeastAccurate()), session(ba.LeastAccurate(by="site"))
    asked = [(by_class, SITES), (by_site, ba.GroupAccuracy())]
    before = [np.diff(a.result(question=question).interval).mean() for a, question in asked]
    monkeypatch.setattr(_priors, "ALIKE", _priors.LOG_STRENGTH)
    after = [np.diff(a.result(question=question).interval).mean() for a, question in asked]
    assert before[0] < 0.98 * after[0]
    assert before[1] == pytest.approx(after[1], rel=0.02)  # but for what is believed of the sites themselves


def test_confusions_and_costs_follow_the_accuracies_of_parts():
    a = session(ba.LeastAccurate(by="site"), n=240)
    matrix = a.result(question=ba.ConfusionMatrix())
    accuracy = a.result(question=ba.GroupAccuracy())
    np.testing.assert_allclose(np.diag(matrix.estimate), accuracy.estimate, atol=0.01)
    np.testing.assert_allclose(matrix.estimate.sum(1), 1)
    cost = 1 - np.eye(5)
    np.testing.assert_allclose(a.result(question=ba.MostCostly(cost)).estimate, 1 - accuracy.estimate, atol=0.01)


@pytest.mark.parametrize("question", [SITES, ba.Compare("prediction", "old"), ba.ConfusionMatrix()])
def test_random_items_answer_every_question_on_groups_from_plain_counts(question):
    a = session(SITES, "random")
    r = a.result(question=question)
    assert r.belief is None
    assert r.counts.sum() == 150
    assert "random items of the pool" in r.summary()


def test_random_items_answer_measures():
    a = session(SITES, "random", n=300)
    ids, labels = a.labelled
    r = a.result(question=ba.Metric("accuracy"))
    share = np.mean(labels == POOL.classes[POOL.predictions[ids]])
    # What is drawn again is known: the estimate is the mean of 300 random items but for that, within a tenth of an SE.
    assert r.estimate == pytest.approx(share, abs=0.1 * np.sqrt(share * (1 - share) / 300))
    assert r.interval[0] < ba.Metric("accuracy").truth(POOL, LABELS) < r.interval[1]
    recall = ba.Metric("recall", positive="a")
    found = a.result(question=recall)
    positive = labels == "a"
    expected = np.mean(POOL.predictions[ids][positive] == 0)
    assert found.estimate == pytest.approx(expected, abs=0.3 * np.sqrt(expected * (1 - expected) / positive.sum()))


def test_items_that_nobody_asked_for_stand_for_no_others_in_measures():
    a = session(SITES, "random", n=90)
    before = a.result(question=ba.Metric("accuracy")).estimate
    wrong = np.flatnonzero((a._items.label < 0) & (LABELS != POOL.classes[POOL.predictions]))[:100]
    a.tell(wrong, LABELS[wrong])
    after = a.result(question=ba.Metric("accuracy")).estimate
    assert abs(after - before) < 0.5 * len(wrong) / POOL.n_items + 0.02  # and not 100 / 190


@pytest.mark.parametrize(
    ("own", "design", "question", "said"),
    [
        (SITES, "thompson", ba.Metric("f1_macro"), "design='random', whose labels answer it, too"),
        (None, "thompson", ba.Compare("prediction", "old"), "not answered from parts of its groups"),
        (
            ba.Compare("n", "s", by="site"),
            "thompson",
            SITES,
            "To answer 'How accurate is the system, by site\\?' takes labels of .* that this session never asks for",
        ),
        (
            ba.Compare("n", "s", by="site"),
            "random",
            ba.Compare("n", "w", by="site"),
            "cannot change the answer to its own question, 'Is n or s more accurate\\?'",
        ),
        (ba.Compare("n", "s", by="site"), "random", ba.Metric("accuracy"), "items that this session never asks for"),
        (None, "random", ba.PRCurve(positive="a"), "needs scores, which this pool lacks"),
        (None, "random", "accuracy", "Did you mean ba.Metric"),
    ],
)
def test_what_labels_cannot_answer_is_refused_in_a_sentence(own, design, question, said):
    a = ba.assess(POOL, ba.LeastAccurate() if own is None else own, design=design, prior="uninformative")
    with pytest.raises(ba.QuestionError, match=said):
        a.result(question=question)


@pytest.mark.parametrize(
    ("refused", "said", "same"),
    [
        (ba.Metric("accuracy"), "answer GroupAccuracy, whose overall accuracy it is", ba.GroupAccuracy()),
        (ba.Metric("accuracy", by="site"), "answer GroupAccuracy by site, whose accuracies these are", SITES),
    ],
)
def test_an_accuracy_that_is_refused_is_pointed_to_the_question_that_answers_it(refused, said, same):
    a = session(n=30)
    with pytest.raises(ba.QuestionError, match=f"too. These labels {said}"):
        a.result(question=refused)
    assert a.result(question=same).labels_used == 30


@pytest.mark.slow
def test_the_best_system_is_asked_of_a_sessions_own_cells_without_naming_systems():
    """Which systems there are the question knows from the pool; a session on a measure asks for it beforehand."""
    binary = (POOL.classes[POOL.predictions] == "a").astype(int)
    pool = ba.Pool(predictions=binary, systems={"old": (POOL.systems["old"] == "a").astype(int)})
    labels = (LABELS == "a").astype(int)
    a = ba.assess(pool, ba.Metric("f1"), design="adaptive", seed=0)
    ids = a.ask(20).ids
    a.tell(ids, labels[ids])
    found, named = (a.result(question=ba.Best(systems)) for systems in (None, ["prediction", "old"]))
    assert found.summary() == named.summary()
    a.tell(pool.ids, labels)
    found = a.result(question=ba.Best(measure="f1"))
    np.testing.assert_allclose(found.estimate, ba.Best(measure="f1").for_pool(pool).truth(pool, labels), atol=1e-9)


def test_a_question_is_not_said_to_be_its_own_groups():
    a = ba.assess(POOL, ba.Metric("accuracy"), design="passive")
    a.tell(POOL.ids[:9], LABELS[:9])
    assert "These labels were drawn for Metric(accuracy), by design 'passive'" in a.result(question=SITES).summary()


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (ba.Metric("f1"), {"design": "passive"}),
        (ba.Metric("f1"), {"oracle": "stochastic"}),
        (ba.Compare("prediction", "old", measure="f1"), {"design": "passive"}),
    ],
)
def test_a_session_is_not_said_to_be_by_its_own_question(question, options):
    pool = ba.Pool(predictions=np.arange(20) % 2, systems={"old": np.arange(20) % 3 % 2})
    assert f"Assessment({question.name}, design " in repr(ba.assess(pool, question, **options))


class Near(ba.GroupAccuracy):
    """A question of a user's own: a class and the one after it count as the same."""

    def outcomes(self, pool, items, labels):
        """Return whether labels are at most one class away."""
        return (np.abs(labels - pool.predictions[items]) <= 1).astype(np.int64)


def test_questions_with_outcomes_of_their_own_are_not_answered_by_accuracies_of_parts():
    """Of sites that were drawn alike within, labels answer; of parts of other groups, accuracies are another matter."""
    a = session(SITES)
    assert (a.result(question=Near(by="site")).estimate > a.result().estimate).all()
    with pytest.raises(ba.QuestionError, match="Near is not answered from parts of its groups"):
        a.result(question=Near(by="prediction"))


def test_curves_of_ranked_lists_are_refused():
    a = ba.assess(ba.Pool(scores=np.linspace(0, 1, 30)), ba.GroupAccuracy(), design="random")
    with pytest.raises(ba.QuestionError, match="is about ranked lists"):
        a.result(question=ba.PrecisionCurve())


def test_a_resumed_session_gives_the_same_other_answer(tmp_path):
    path = tmp_path / "run.db"
    a = ba.assess(POOL, SITES, design="random", prior="uninformative", journal=path)
    ids = a.ask(40).ids
    a.tell(ids, LABELS[ids])
    a.skip(a.ask(2).ids)
    a.journal.close()
    for question in (ba.GroupAccuracy(), ba.Metric("accuracy")):
        before, after = (one.result(question=question) for one in (a, ba.resume(path, POOL)))
        np.testing.assert_array_equal(before.estimate, after.estimate)
        assert before.n_skipped == after.n_skipped == 2


def test_the_answer_says_what_labels_were_drawn_for_and_who_differs():
    a = session()
    a.tell(a.labelled[0][:5], LABELS[a.labelled[0][:5]], annotator="A2")
    *_, drawn, differing = a.result(question=SITES).summary().splitlines()
    assert drawn.startswith("These labels were drawn for LeastAccurate by prediction, by design 'thompson': each of 15")
    assert differing == "5 items have labels of two annotators or more, who agree."
    np.testing.assert_array_equal(
        answer_another(a, SITES, 0.95).estimate, a.result(question=SITES).estimate
    )  # the same draws at every call


def test_crossed_groups_hold_all_items_and_empty_groups_stay():
    groups = cells(POOL, "prediction")
    by = ba.ScoreBins(3)
    pool = ba.Pool(predictions=[0, 0, 1], confidence=[0.9, 0.95, 0.9])
    parts, of = crossed(pool, cells(pool, by), cells(pool, "prediction"))
    assert (parts.sizes.tolist(), of.tolist()) == ([0, 0, 2, 1], [0, 1, 2, 2])
    parts, of = crossed(POOL, cells(POOL, "site"), groups)
    np.testing.assert_array_equal(np.bincount(of, parts.sizes), cells(POOL, "site").sizes)
    theta = np.random.default_rng(0).random((4, len(of)))
    whole = group_accuracies(theta, parts.sizes, parts, of, "population")
    np.testing.assert_allclose(whole @ cells(POOL, "site").sizes, theta @ parts.sizes)
