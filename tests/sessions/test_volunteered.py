"""What answers say of labels that nobody asked for."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import bayes_assess as ba
from bayes_assess.sessions import volunteered

UNLIKE, KNOWN = "unlike labels of like items", "learns nothing of other items from them"
N = 3_000


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    label = (rng.random(N) < 0.2).astype(int)
    scores = 1 / (1 + np.exp(1.5 - 2 * rng.normal(1.8 * label, 1.0)))
    return ba.Pool(scores=scores, groups={"site": rng.integers(0, 3, N)}), label


_SESSIONS = {}


def session_after(world, question, told, n=60, **options):
    """Return a session that was told labels and then asked for `n`, the same one for all tests: none asks for more."""
    key = (id(world[0]), repr(question), np.asarray(told).tobytes(), n, repr(options))
    if key not in _SESSIONS:
        _SESSIONS[key] = new_session_after(world, question, told, n, **options)
    return _SESSIONS[key]


def new_session_after(world, question, told, n=60, seed=0, **options):
    pool, label = world
    a = ba.assess(pool, question, seed=seed, **options)
    a.tell(told, label[told])
    queries = a.ask(n)
    a.tell(queries.ids, label[queries.ids])
    return a


def result_after(world, question, told, n=60, **options):
    return session_after(world, question, told, n, **options).result()


def summary_after(world, question, told, n=60, **options):
    return result_after(world, question, told, n, **options).summary()


def errors(world):
    pool, label = world
    return np.flatnonzero(pool.predictions != label)[:60]


def positives(world):
    return np.flatnonzero(world[1])[:60]


def hidden_positives(world):
    pool, label = world
    return np.flatnonzero(label & (pool.predictions == 0))[:60]


def first_of_another_score(world):
    return np.argsort(-np.random.default_rng(1).normal(2.0 * world[1], 1.0))[:100]


MEASURES = [ba.Metric("f1"), ba.Rate(), ba.Metric("accuracy")]
QUESTIONS = [*MEASURES, ba.GroupAccuracy(by="site"), ba.ConfusionMatrix()]


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_labels_of_errors_alone_are_spoken_of(world, question):
    said = summary_after(world, question, errors(world))
    assert said.index("told without being asked for") < said.index(KNOWN)
    assert "can tell whether they are random" not in said


@pytest.mark.slow
@pytest.mark.parametrize("question", [*MEASURES, QUESTIONS[-1]], ids=lambda question: question.name)
def test_labels_of_positive_items_alone_are_spoken_of(world, question):
    said = summary_after(world, question, positives(world))
    assert KNOWN in said
    assert (UNLIKE in said) == (question not in MEASURES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "chosen"),
    [
        ("f1", errors),
        (["recall", "accuracy"], errors),
        ("f1", hidden_positives),
        ("rate", positives),
        ("f1", first_of_another_score),
    ],
    ids=["f1-errors", "two-errors", "f1-hidden", "rate-positives", "f1-another-score"],
)
def test_measures_learn_nothing_from_labels_that_something_chose_which_tells_of_them(
    world, measure, chosen, monkeypatch
):
    pool, label = world
    question = ba.Rate() if measure == "rate" else ba.Metric(measure)
    truth = np.ravel(question.for_pool(pool).truth(pool, label))

    def chance_of_holding(results):
        """Return how probable it is that so few intervals hold, or fewer."""
        ends = np.reshape([result.interval for result in results], (-1, len(truth), 2))
        held = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
        return binom.cdf(held.all(1).sum(), len(held), 0.95)

    results = [result_after(world, question, chosen(world), seed=seed) for seed in range(2)]
    assert chance_of_holding(results) > 5e-3
    for result in results:
        assert result.guarantee == "credible"
        assert "and count as known, no more" in result.summary()
        assert "as the 60 labels suggest" in result.summary()
    monkeypatch.setattr(volunteered, "_of_asked_alone", lambda session: None)
    as_random = [result_after(world, question, chosen(world), seed=seed) for seed in range(2)]
    assert chance_of_holding(as_random) < 5e-3


@pytest.mark.slow
def test_what_they_say_counts_all_the_same(world):
    told = np.flatnonzero(world[1])[:-3]
    result = result_after(world, ba.Rate(), told)
    assert KNOWN in result.summary()
    assert result.draws.min() >= len(told) / N


def test_a_single_surprise_is_no_choice(world):
    pool, label = world
    told = np.concatenate([np.flatnonzero(label & (pool.predictions == 0))[:1], np.flatnonzero(label == 0)[:2]])
    assert KNOWN not in summary_after(world, ba.Metric("f1"), told)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["eager", "compiled"])
def test_a_campaign_goes_on_as_it_was(world, engine, tmp_path):
    pool, label = world
    a = ba.assess(pool, ba.Metric("f1"), seed=0, engine=engine, journal=tmp_path / "j.jsonl")
    told = positives(world)
    a.tell(told, label[told])
    for _ in range(3):
        queries = a.ask(20)
        a.tell(queries.ids, label[queries.ids])
    assert a._state.other is None  # once they are chosen, nothing is left of it
    again = ba.resume(shutil.copy(tmp_path / "j.jsonl", tmp_path / "copy.jsonl"), pool)
    assert KNOWN in a.result().summary()
    assert again.result().summary() == a.result().summary()
    np.testing.assert_array_equal(again.ask(10).ids, a.ask(10).ids)


@pytest.mark.slow
def test_items_are_chosen_by_what_was_asked_for(world, monkeypatch):
    """Sixty positives of whatever score send the belief to where no others are."""
    pool, label = world
    told = hidden_positives(world)

    def found():
        a = ba.assess(pool, ba.Metric("f1"), seed=0)
        a.tell(told, label[told])
        for _ in range(4):
            queries = a.ask(20)
            a.tell(queries.ids, label[queries.ids])
        return np.std(a.result().draws)

    learned_nothing = found()
    monkeypatch.setattr("bayes_assess.sessions.assessment.choosing_state", lambda session: session._state)
    assert learned_nothing < found()


@pytest.mark.slow
def test_labels_of_errors_are_those_that_were_asked_for():
    rng = np.random.default_rng(0)
    label, logits = rng.integers(3, size=2_000), rng.normal(size=(2_000, 3))
    logits[np.arange(2_000), label] += 1.5
    scores = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    pool = ba.Pool(scores=scores)
    a = ba.assess(pool, ba.Metric("f1_macro"), seed=0)
    told = np.flatnonzero((pool.predictions == 0) & (label == 2))[:60]
    a.tell(told, label[told])
    asked = a.ask(60).ids
    a.tell(asked, label[asked])
    wrong = pool.predictions[asked] != label[asked]
    expected = np.zeros((3, 3))
    np.add.at(expected, (pool.predictions[asked][wrong], label[asked][wrong]), 1)
    np.testing.assert_array_equal(volunteered.believed_state(a).errors.counts, expected)
    assert KNOWN in a.result().summary()


@pytest.mark.slow
def test_plans_learn_nothing_from_them_either(world, monkeypatch):
    a = session_after(world, ba.Metric("f1"), positives(world))
    width = 0.5 * np.diff(a.result().interval)[0]
    learned_nothing = a.plan(width=width, futures=8).labels.expected
    monkeypatch.setattr("bayes_assess.sessions.planning.believed_state", lambda session: session._state)
    assert learned_nothing > a.plan(width=width, futures=8).labels.expected


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_random_labels_are_not(world, question):
    rng = np.random.default_rng(1)
    told = rng.choice(N, 150, replace=False)
    said = summary_after(world, question, told)
    assert "150 labels were told without being asked for" in said
    assert UNLIKE not in said
    assert KNOWN not in said


def test_labels_that_the_pool_s_own_scores_chose_are_not(world):
    pool, _ = world
    assert KNOWN not in summary_after(world, ba.Metric("f1"), np.argsort(-pool.scores)[:150])


def in_doubt(world):
    return np.argsort(np.abs(world[0].scores - 0.5))[:150]


OF_GROUPS = [
    *[ba.GroupAccuracy(), ba.GroupAccuracy(by="site"), ba.ConfusionMatrix(), ba.Calibration(bins=4)],
    *[ba.Compare(by="site"), ba.MostCostly([[0, 1], [3, 0]]), ba.LeastAccurate(by="site")],
]


@pytest.mark.parametrize("chosen", [errors, in_doubt], ids=lambda chosen: chosen.__name__)
@pytest.mark.parametrize("question", OF_GROUPS, ids=lambda question: question.name)
def test_answers_about_groups_learn_from_what_was_asked_for_alone(world, question, chosen):
    told, n = chosen(world), 90
    result = result_after(world, question, told, n)
    known = result.evidence
    assert known.known_alone == len(told)
    assert KNOWN in result.summary()
    assert f"as the {n} labels suggest" in known.assumption
    assert known.labels_used == n + len(told)
    own = known.prior.update_counts(known.random.counts)
    np.testing.assert_allclose(np.asarray(known.posterior.mean), np.asarray(own.mean), rtol=1e-9)


def test_comparisons_of_systems_go_on_beside_them(world):
    """Where systems agree or differ some outcomes are impossible, and the belief has parameters of 0."""
    pool, label = world
    rival = np.where(np.random.default_rng(2).random(N) < 0.85, label, 1 - label)
    a = ba.assess(ba.Pool(scores=pool.scores, systems={"rival": rival}), ba.Compare("rival", "prediction"), seed=0)
    told = errors(world)
    a.tell(told, label[told])
    for _ in range(2):
        queries = a.ask(20)
        a.tell(queries.ids, label[queries.ids])
    assert KNOWN in a.result().summary()
    assert len(a.ask(5, posterior=a.result().posterior)) == 5


@pytest.mark.parametrize("question", OF_GROUPS[:3], ids=lambda question: question.name)
def test_intervals_of_groups_hold_beside_them(world, question):
    pool, label = world
    truth = np.ravel(question.truth(pool, label))
    held = {True: [], False: []}
    for chosen in (errors, in_doubt, first_of_another_score):
        result = result_after(world, question, chosen(world), 90)
        for asked_alone in held:
            known = replace(result.evidence, known_alone=len(chosen(world)) if asked_alone else 0)
            low, high = np.reshape(known.interval(lambda known=known: known.draws(4_000)), (-1, 2)).T
            held[asked_alone] += ((low <= truth) & (truth <= high)).tolist()
    assert binom.cdf(sum(held[True]), len(held[True]), 0.95) > 1e-3
    assert binom.cdf(sum(held[False]), len(held[False]), 0.95) < 1e-6


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        (ba.GroupAccuracy(by="site"), errors),
        *[(ba.GroupAccuracy(), positives), (ba.ConfusionMatrix(), positives), (ba.Calibration(bins=4), positives)],
        (ba.GroupAccuracy(by="site"), positives),
    ],
    ids=lambda given: getattr(given, "name", None) or given.__name__,
)
def test_what_labels_say_tells_that_they_were_chosen_before_any_was_asked_for(world, question, chosen):
    pool, label = world
    truth = np.ravel(question.truth(pool, label))
    random = np.random.default_rng(1).choice(N, 60, replace=False)
    for told, seem_chosen in ((chosen(world), True), (random, False)):
        a = ba.assess(pool, question, seed=0)
        a.tell(told, label[told])
        result = a.result()
        low, high = np.reshape(result.interval, (-1, 2)).T
        assert ((low <= truth) & (truth <= high)).all()
        assert (KNOWN in result.summary()) == seem_chosen
        assert ("expected before any label" in result.assumption) == seem_chosen
        assert ("10 labels that are asked for can tell" in result.summary()) == seem_chosen


def test_items_set_aside_may_be_right_or_wrong_beside_them(world):
    a = new_session_after(world, ba.GroupAccuracy(by="site"), errors(world))
    before = a.result().overall[0]
    a.skip(a.ask(20).ids)
    said = a.result().summary()
    right, wrong = (float(re.search(rf"if all of them were {kind}, ([0-9.]+)", said)[1]) for kind in ("right", "wrong"))
    assert wrong < before < right


@pytest.mark.slow
@pytest.mark.parametrize("which", ["other groups", "same groups", "both beside labels of a third"])
def test_a_session_with_the_same_seed_asks_for_random_items_beside_the_labels_of_another(which):
    """Whoever tells labels of one kind alone leaves items of the other kind at the head of every order."""
    asked_of, left, n = [], [], 60
    by, of_both = ("kind" if which == "other groups" else "half"), which == "both beside labels of a third"
    for seed in range(4):
        rng = np.random.default_rng([1, seed])
        kind, third = rng.integers(0, 2, 1_000), rng.choice(1_000, 40, replace=False)
        pool = ba.Pool(predictions=np.zeros(1_000, int), classes=[0, 1], groups={"kind": kind, "half": [0, 1] * 500})
        first, second = (
            ba.assess(pool, ba.GroupAccuracy(by=of), design=design, seed=seed)
            for of, design in ((by, "random"), ("half", "thompson"))
        )
        for session in (first, second)[: 2 if of_both else 0]:
            session.tell(third, np.zeros(40, int))
        some = first.ask(300).ids
        some = some[kind[some] == 1]
        first.tell(some, np.zeros(len(some), int))
        second.tell(*first.labelled)
        asked = second.ask(n).ids
        asked_of.append(kind[asked].mean())
        left.append(np.delete(kind, first.labelled[0]).mean())
    difference = np.subtract(asked_of, left)
    assert abs(difference.mean()) < 4 * np.sqrt(0.25 / n / len(difference))


def test_labels_of_groups_that_scores_chose_are_spoken_of(world):
    """Right or wrong tells nothing here: all labels are what is predicted."""
    pool, _ = world
    surest = np.argsort(-pool.confidence)[:150]
    for told, spoken_of in ((surest, True), (np.arange(150), False)):
        said = summary_after((pool, pool.predictions), ba.GroupAccuracy(by="site"), told)
        assert UNLIKE not in said
        assert ("whose confidence is unlike that of random items of the same groups" in said) == spoken_of
        assert (KNOWN in said) == spoken_of
    without = ba.Pool(predictions=pool.predictions, groups=pool.groups)
    assert "unlike" not in summary_after((without, pool.predictions), ba.GroupAccuracy(by="site"), surest)


@pytest.fixture(scope="module")
def two_months():
    """Scores tell less in the second month."""
    rng = np.random.default_rng(2)
    label, late = (rng.random(N) < 0.3).astype(int), np.arange(N) >= N // 2
    scores = 1 / (1 + np.exp(1.5 - 2 * rng.normal(np.where(late, 0.3, 2.0) * label, 1.0)))
    return ba.Pool(scores=scores, groups={"month": np.where(late, "May", "April")}), label


OF_MONTHS = [ba.Metric("accuracy"), ba.GroupAccuracy(by="prediction"), ba.ConfusionMatrix()]


@pytest.mark.parametrize("question", OF_MONTHS, ids=lambda question: question.name)
def test_labels_of_one_month_teach_nothing_of_both(two_months, question):
    april = np.random.default_rng(3).choice(N // 2, 150, replace=False)
    result = result_after(two_months, question, april)
    assert "unlike random items of the same" in result.summary()
    assert "in 'month'" in result.summary()
    assert "of other items from them, which questions by 'month' may." in result.summary()
    pool, label = two_months
    truth = np.asarray(question.truth(pool, label))
    low, high = np.moveaxis(np.asarray(result.interval), -1, 0)
    assert ((low <= truth) & (truth <= high)).all()
    both = np.random.default_rng(3).choice(N, 150, replace=False)
    assert KNOWN not in summary_after(two_months, question, both)


@pytest.mark.slow
def test_questions_by_month_learn_from_labels_of_one(two_months):
    april = np.random.default_rng(3).choice(N // 2, 150, replace=False)
    for question in (ba.GroupAccuracy(by="month"), ba.Metric("accuracy", by="month")):
        assert KNOWN not in summary_after(two_months, question, april)


def test_labels_that_predictions_chose_within_groups_are_spoken_of(two_months):
    pool, _ = two_months
    positive = np.flatnonzero((pool.predictions == 1) & (pool.groups["month"] == "April"))[:60]
    plain = ba.Pool(predictions=pool.predictions, groups={"month": pool.groups["month"]})
    said = summary_after((plain, two_months[1]), ba.GroupAccuracy(by="month"), positive)
    assert "of the same groups in prediction, as chance" in said
    assert KNOWN in said


def test_items_need_not_have_been_asked_for_to_tell_which_scores_chose(two_months):
    """Where many labels of a group were told, a design asks for those of others."""
    pool, label = two_months
    for told, are_unlike in ((np.argsort(pool.confidence[: N // 2])[:150], True), (np.arange(150), False)):
        a = ba.assess(pool, ba.GroupAccuracy(by="month"), seed=0)
        a.tell(told, label[told])
        assert (volunteered.chance_of_scores(a, a.cells) < 0.01) == are_unlike


def test_designs_that_take_them_for_known_say_no_more(world):
    assert KNOWN not in summary_after(world, ba.Metric("f1"), errors(world), design="poisson")


def test_other_questions_say_so_too(world):
    a = session_after(world, ba.Metric("f1"), errors(world))
    said = a.result(question=ba.Metric("recall")).summary()
    assert KNOWN in said
    assert "as the 60 labels suggest" in said


def test_a_few_are_not_compared(world):
    assert UNLIKE not in summary_after(world, ba.GroupAccuracy(by="site"), errors(world)[:9])


def test_nothing_is_said_where_the_answer_is_exact():
    pool = ba.Pool(predictions=[0, 1] * 20)
    a = ba.assess(pool, ba.GroupAccuracy(), seed=0)
    queries = a.ask(20)
    a.tell(queries.ids, pool.predictions[queries.ids])
    rest = np.setdiff1d(pool.ids, queries.ids)
    a.tell(rest, 1 - pool.predictions[rest])
    assert a.result().guarantee == "exact"
    assert UNLIKE not in a.result().summary()


def test_groups_are_chosen_by_what_was_asked_for(world, monkeypatch):
    """Errors of one site alone make it the least accurate one, of which all others would be asked for."""
    pool, label = world
    told = np.flatnonzero((pool.predictions != label) & (np.asarray(pool.groups["site"]) == 0))[:40]

    def share_of_site():
        a = ba.assess(pool, ba.LeastAccurate(by="site"), seed=0)
        a.tell(told, label[told])
        items = []
        for _ in range(9):
            items += a.ask(10).ids.tolist()
            a.tell(items[-10:], label[items[-10:]])
        return np.mean(np.asarray(pool.groups["site"])[items[30:]] == 0)

    by_some = share_of_site()
    monkeypatch.setattr("bayes_assess.sessions.assessment.learned_alone", lambda session: None)
    assert by_some < 0.7 * share_of_site()


@pytest.mark.slow
def test_beliefs_that_designs_cannot_compile_are_chosen_by_too(world):
    question = ba.LeastCalibrated(by="site", bins=2)  # whose groups are alike or apart
    a = new_session_after(world, question, errors(world), engine="compiled")
    assert KNOWN in a.result().summary()
    assert len(a.ask(5)) == 5


@pytest.mark.parametrize("chosen", [errors, None], ids=["errors", "random"])
def test_they_stand_for_no_others_in_what_is_exported(world, chosen):
    told = np.random.default_rng(1).choice(N, 60, replace=False) if chosen is None else chosen(world)
    a = session_after(world, ba.GroupAccuracy(by="site"), told)
    table = a.export()
    ids, weight = (np.asarray(table[name]) for name in ("id", "weight"))
    assert weight.sum() == pytest.approx(N)
    assert (weight[np.isin(ids, told)] == 1).all() == (chosen is not None)


ANOTHER = [
    (ba.Metric("f1"), ba.GroupAccuracy()),
    *[(ba.GroupAccuracy(), ba.Metric("accuracy")), (ba.GroupAccuracy(), ba.GroupAccuracy(by="site"))],
    *[(ba.GroupAccuracy(by="site"), ba.GroupAccuracy()), (ba.GroupAccuracy(by="site"), ba.ConfusionMatrix())],
]


@pytest.mark.slow
@pytest.mark.parametrize(("own", "another"), ANOTHER, ids=lambda question: question.name)
def test_other_questions_learn_from_what_was_asked_for_alone(world, own, another, monkeypatch):
    pool, label = world
    truth = np.ravel(another.truth(pool, label))
    a = session_after(world, own, errors(world), seed=1)

    def missed():
        """Return how far the truth is from an interval, at most."""
        result = a.result(question=another)
        low, high = np.reshape(result.interval, (-1, 2)).T
        return np.maximum(low - truth, truth - high).clip(0).max(), result

    by_how_much, result = missed()
    assert "and count as known, no more" in result.summary()
    assert KNOWN in result.summary()
    assert "as the 60 labels suggest" in result.assumption
    others = "bayes_assess.sessions.other_questions"
    monkeypatch.setattr(f"{others}.known_alone", lambda session: np.zeros(a.labels_used, bool))
    monkeypatch.setattr(f"{others}.learned_anew", lambda *given: (given[-1], np.zeros((1, 2), int)))
    monkeypatch.setattr("bayes_assess.sessions.volunteered.chance_of_labels", lambda *counts: 1.0)
    monkeypatch.setattr("bayes_assess.sessions.volunteered.log_odds_of_random", lambda *counts: 1.0)
    by_all, _ = missed()
    assert by_all > 0
    assert by_how_much < 0.3 * by_all


@pytest.mark.slow
@pytest.mark.parametrize("design", ["thompson", "random", "bayes_ucb"])
def test_plans_of_groups_learn_nothing_from_them_either(world, design, monkeypatch):
    """Of a session that was never told these labels they are the plans, up to the items that are left out."""
    pool, told = world[0], errors(world)
    a = session_after(world, ba.GroupAccuracy(by="site"), told, design=design)
    b = ba.assess(pool, a.question, seed=0, design=design)
    ids, labels = a.labelled
    asked = ~np.isin(ids, told)
    b.tell(ids[asked], labels[asked])
    plans = [session.plan(width=0.15, futures=24) for session in (a, b)]
    assert (plans[0].labels_used, plans[0].n_items) == (120, N)
    assert plans[0].table()["labels"][0] == 120
    expected = plans[1].labels.expected
    assert plans[0].labels.expected == pytest.approx(expected, rel=0.15)
    monkeypatch.setattr("bayes_assess.sessions.planning.learned_alone", lambda session: None)
    by_all = a.plan(width=0.15, futures=24).labels.expected
    assert abs(by_all - expected) > abs(plans[0].labels.expected - expected)
