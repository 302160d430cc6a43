"""The share of positive labels, of which predictions and scores are a proxy of any quality."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.designs import VarianceReduction
from bayes_assess.estimators.random_labels import random_labels
from bayes_assess.measures import pool_value
from bayes_assess.models.curve_members import RATES, VERDICTS
from bayes_assess.pool.rank_strata import RankStrata
from bayes_assess.results import RateResult
from bayes_assess.sessions.description import describe_question, described_question
from made import labelled_sessions

RNG = np.random.default_rng(7)
N = 300
SCORES = RNG.beta(2.0, 1.0, N)
LABELS = np.where(RNG.random(N) < SCORES**2, "good", "bad")
SYSTEM = RNG.choice(["a", "b"], N)
SCORED = ba.Pool(scores=np.stack([1 - SCORES, SCORES], axis=1), classes=["bad", "good"], groups={"system": SYSTEM})
VERDICT = ba.Pool(predictions=SCORED.prediction_names(slice(None)), groups={"system": SYSTEM})
JUDGED = VERDICT.prediction_names(slice(None)) == "good"
GOOD = LABELS == "good"
SMALL = VarianceReduction(n_strata=12)


told = labelled_sessions(SCORED, LABELS, ba.Rate(), batch=60, design=SMALL)


def shares(of):
    return shares_of(of, SYSTEM)


def shares_of(of, group):
    return np.array([of[group == name].mean() for name in np.unique(group)])


# -- truth -------------------------------------------------------------------------------------------------------------


def test_truths_worked_out_by_hand():
    assert ba.Rate().truth(SCORED, LABELS) == GOOD.mean()
    assert ba.Rate("bad").truth(VERDICT, LABELS) == pytest.approx(1 - GOOD.mean(), abs=1e-15)
    np.testing.assert_allclose(ba.Rate(by="system").truth(SCORED, LABELS), shares(GOOD), rtol=1e-14)
    by_verdict = ba.Rate("good", by="prediction").truth(VERDICT, LABELS)
    np.testing.assert_allclose(by_verdict, [GOOD[~JUDGED].mean(), GOOD[JUDGED].mean()], rtol=1e-14)


def test_of_more_classes_it_is_one_against_the_rest():
    predictions, labels = RNG.choice(list("abc"), (2, 90))
    pool = ba.Pool(predictions=predictions)
    assert ba.Rate("b").truth(pool, labels) == pytest.approx(np.mean(labels == "b"))
    r = told(90, ba.Rate("b"), pool=pool, design="passive", labels=labels).result()
    assert (r.estimate, r.judge_rate) == (pytest.approx(np.mean(labels == "b")), np.mean(predictions == "b"))


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_the_answer_is_that_of_the_labels_though_predictions_always_differ(design):
    opposite = np.where(JUDGED, "bad", "good")
    r = told(N, ba.Rate(), design=design, labels=opposite).result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(1 - JUDGED.mean(), abs=1e-12)
    np.testing.assert_allclose(r.interval, 1 - JUDGED.mean(), atol=1e-12)
    assert r.bias == pytest.approx(2 * JUDGED.mean() - 1, abs=1e-12)
    assert r.random_labels == N
    assert f"Their bias is {r.bias:+.3f} (exact)." in r.summary()
    assert "random labels would give" not in r.summary()


def test_it_is_the_measure_called_rate():
    np.testing.assert_array_equal(
        pool_value("rate", SCORED, LABELS, by="system"), ba.Rate(by="system").truth(SCORED, LABELS)
    )
    a = told(40, ba.Metric("f1"), design="passive")
    r = a.result(question=ba.Rate())  # from the labels of another measure
    assert isinstance(r, RateResult)
    assert r.interval[0] < r.estimate < r.interval[1]
    assert r.judge_rate == JUDGED.mean()


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_a_result_says_what_the_predictions_alone_say(design):
    r = told(40, ba.Rate(), design=design).result(level=0.9)
    assert isinstance(r, RateResult)
    assert r.judge_rate == JUDGED.mean()
    assert r.bias == r.judge_rate - r.estimate
    np.testing.assert_allclose(r.bias_interval, r.judge_rate - r.interval[::-1], atol=1e-15)
    assert r.random_labels == random_labels(r.estimate, np.diff(r.interval)[0], N, 0.9)
    said = r.summary().splitlines()
    assert said[-2] == (
        f"The predictions alone say {JUDGED.mean():.3f}. Their bias is {r.bias:+.3f}, 90% {r.guarantee} interval "
        f"[{r.bias_interval[0]:+.3f}, {r.bias_interval[1]:+.3f}]."
    )
    assert said[-1] == f"About {r.random_labels:,} random labels would give an interval as narrow; 40 were used."
    table = r.table()
    assert table["judge"].tolist() == [r.judge_rate]
    assert (table["bias_lower"][0], table["bias_upper"][0]) == tuple(r.bias_interval)
    assert r.to_frame()["random_labels"].tolist() == [r.random_labels]
    assert r.plot(truth=GOOD.mean()).get_title(loc="left").startswith("Rate of positive labels: 40 of 300")
    plt.close("all")


def test_random_labels_are_worth_about_what_they_are():
    """From 150 of 300 random items: the interval of [CLOPPER] is wider by about one label in each tail."""
    r = told(150, ba.Rate(), design="passive").result()
    assert 0.8 * 150 < r.random_labels <= 150


def test_groups_have_their_own_judge():
    r = told(60, ba.Rate("good", by="system"), design="passive").result()
    assert r.groups.tolist() == ["rate (system a)", "rate (system b)"]
    np.testing.assert_allclose(r.judge_rate, shares(JUDGED), rtol=1e-14)
    assert r.bias_interval.shape == (2, 2)
    items = np.array([(SYSTEM == name).sum() for name in ("a", "b")])
    np.testing.assert_array_equal(r.random_labels, random_labels(r.estimate, np.diff(r.interval)[:, 0], items))
    said = r.summary()
    assert f"The predictions alone say {r.judge_rate[1]:.3f} for rate (system b)." in said
    assert f"About {r.random_labels.sum():,} random labels would give intervals as narrow; 60 were used." in said


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_the_bias_in_a_group_that_is_labelled_throughout_is_exact(design):
    few = ba.Pool(predictions=["good", "bad"] * 50, groups={"system": ["a"] * 4 + ["b"] * 96})
    a = ba.assess(few, ba.Rate("good", by="system"), design=design)
    a.tell(range(4), ["good"] * 4)
    said = a.result().summary()
    assert "The predictions alone say 0.500 for rate (system a). Their bias is -0.500 (exact)." in said
    assert said.count("(exact).") == 1


def test_one_label_was_used():
    a = ba.assess(ba.Pool(predictions=["good", "bad", "good"]), ba.Rate("good"))
    a.tell([0], ["good"])
    said = a.result().summary()
    assert "as narrow; 1 was used." in said
    assert "no random label among 1 item not predicted positive yet" in said


def test_before_any_label_only_the_predictions_speak():
    said = ba.assess(VERDICT, ba.Rate("good"), design="passive").result().summary()
    assert said.endswith(f"The predictions alone say {JUDGED.mean():.3f}.")


# -- what the belief is about ------------------------------------------------------------------------------------------


def test_the_belief_knows_that_predictions_may_be_of_no_worth():
    confident = ba.Pool(predictions=VERDICT.predictions, classes=["bad", "good"], confidence=np.maximum(SCORES, 0.5))
    for pool, members in ((SCORED, RATES), (confident, RATES), (VERDICT, VERDICTS)):
        subject = ba.Rate("good").subject(pool)
        assert subject.members is members
        assert subject.decides
        assert not subject.about_agreement
        assert subject.is_scored == (members is RATES)
        assert (pool.classes[subject.event] == "good").all()


def test_groups_may_be_judged_in_ways_of_their_own():
    groups = ba.Rate("good", by="system").setting(SCORED, strata=RankStrata(6)).cells
    shares = np.asarray(groups.events.coordinates.groups)
    assert shares.shape == (groups.n_cells, 2)
    items = SYSTEM[groups.one_of_each()]
    np.testing.assert_array_equal(shares, np.stack([items == "a", items == "b"], axis=1))
    for question in (ba.Rate("good"), ba.Rate("good", by="prediction")):
        cells = question.setting(SCORED, strata=RankStrata(6)).cells
        assert cells.events.coordinates.groups.shape == (cells.n_cells, 0)
    cells = ba.Metric("f1", by="system").setting(SCORED, strata=RankStrata(6)).cells
    assert cells.events.coordinates.groups.shape == (cells.n_cells, 4)  # either prediction in either group


def test_very_many_groups_have_none_but_are_told_apart():
    pool = ba.Pool(scores=SCORES, groups={"author": np.arange(N) // 10})  # 30 authors
    cells = ba.Rate(by="author").setting(pool, strata=RankStrata(4)).cells
    assert cells.events.coordinates.groups.shape == (cells.n_cells, 0)
    np.testing.assert_array_equal(cells.events.coordinates.many, cells.one_of_each() // 10)


def test_verdicts_alone_are_two_cells_and_say_nothing_of_scores():
    a = told(40, ba.Rate("good"), pool=VERDICT)
    assert a.cells.n_cells == 2
    assert "if items with the same predictions are alike" in a.result().summary()
    assert "if the scores rank as" in told(40, ba.Rate("good")).result().summary()


def judged_by(*verdicts, **columns):
    """A pool whose items the first of these judges was asked about, and the others beside it."""
    names = np.array(["bad", "good"])
    first, *others = (names[np.asarray(verdict, int)] for verdict in verdicts)
    return ba.Pool(predictions=first, classes=names, systems={f"judge {i}": x for i, x in enumerate(others)}, **columns)


def test_further_judges_make_cells_of_their_patterns_with_effects_of_their_own():
    second, third = np.random.default_rng(8).random((2, N)) < 0.5
    pool = judged_by(JUDGED, second, third, groups={"system": SYSTEM})
    cells = ba.Rate("good", by="system").setting(pool, strata=RankStrata(6)).cells
    assert cells.n_cells == 16
    one = cells.one_of_each()
    columns = np.asarray(cells.events.coordinates.groups)
    np.testing.assert_array_equal(columns[:, :2], np.stack([SYSTEM[one] == "a", SYSTEM[one] == "b"], axis=1))
    np.testing.assert_array_equal(
        columns[:, 2:], np.where(np.stack([second, third], axis=1)[one], np.float32(0.4), np.float32(-0.4))
    )


def test_of_many_further_judges_it_counts_how_many_say_yes():
    others = np.random.default_rng(9).random((5, N)) < 0.5
    cells = ba.Rate("good").setting(judged_by(JUDGED, *others), strata=RankStrata(6)).cells
    one = cells.one_of_each()
    assert cells.n_cells == len(np.unique(JUDGED * 6 + others.sum(0)))
    np.testing.assert_allclose(cells.events.coordinates.groups[:, 0], 0.4 * (2 * others.mean(0)[one] - 1), atol=1e-6)


def test_the_answer_is_that_of_all_labels_whatever_further_judges_say():
    r = told(N, ba.Rate("good"), pool=judged_by(JUDGED, ~GOOD, SYSTEM == "a")).result()
    assert float(r.estimate) == pytest.approx(GOOD.mean())
    assert r.interval.tolist() == [float(r.estimate)] * 2


def test_judges_are_those_that_are_named_and_in_the_pool():
    pool = judged_by(JUDGED, GOOD, ~GOOD)
    for judges, n in ((None, 2), ("judge 1", 1), (["judge 1", "judge 0"], 2), ((), 0)):
        question = ba.Rate("good", judges=judges)
        assert len(question.judges_of(pool)) == n
        assert described_question(describe_question(question)).judges_of(pool) == question.judges_of(pool)
    with pytest.raises(ba.QuestionError, match=r"no system 'gpt' to be a further judge; it has 'judge 0', 'judge 1'\."):
        ba.assess(pool, ba.Rate("good", judges=["gpt"]))


@pytest.mark.parametrize("sure", [GOOD, ~GOOD])
def test_a_further_judge_who_is_always_right_or_always_wrong_is_found_out(sure):
    """Random labels leave sqrt(p (1 - p) / n), and the first judge most of it: the second leaves hardly any."""
    alone = told(60, ba.Rate("good"), pool=VERDICT, batch=20).result()
    both = told(60, ba.Rate("good"), pool=judged_by(JUDGED, sure), batch=20).result()
    random = 2 * stats.norm.ppf(0.975) * np.sqrt(GOOD.mean() * (1 - GOOD.mean()) / 60 * (1 - 60 / N))
    assert np.diff(both.interval)[0] < 0.6 * np.diff(alone.interval)[0]
    assert np.diff(both.interval)[0] < 0.5 * random
    assert both.interval[0] <= GOOD.mean() <= both.interval[1]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_judge_that_tosses_coins_does_no_harm(share):
    """Predictions that say nothing: the errors of random labels, and intervals that hold the truth."""
    rng = np.random.default_rng(3)
    labels, repeats, n = (rng.random(2000) < share).astype(int), 60, 100
    pool = ba.Pool(predictions=rng.integers(2, size=2000))
    study = ba.simulate(pool, labels, ba.Rate(), designs=["variance_reduction"], budgets=[n], repeats=repeats)
    truth, (estimates,) = labels.mean(), study.estimates.values()
    error = np.sqrt(truth * (1 - truth) / n * (2000 - n) / 1999)  # of random items
    # The mean of squares of that many errors of random items exceeds the bound with probability 1e-3.
    assert np.mean((estimates[:, 0] - truth) ** 2) < error**2 * stats.chi2.ppf(0.999, repeats) / repeats
    (covered,) = study.coverage.values()
    # 93 % of intervals hold the truth at least: so few with probability 1e-3.
    assert covered[0] * repeats >= stats.binom.ppf(0.001, repeats, 0.93)


@pytest.mark.slow
def test_a_judge_that_favours_a_system_is_found_out():
    """A judge that takes most bad answers of one system for good ones, and few of the other's."""
    rng = np.random.default_rng(4)
    system, repeats = np.arange(1000) % 2, 40
    labels = (rng.random(1000) < 0.6).astype(int)
    verdicts = np.where(labels == 1, rng.random(1000) < 0.95, rng.random(1000) < np.where(system, 0.8, 0.1))
    pool = ba.Pool(predictions=verdicts.astype(int), groups={"system": system})
    study = ba.simulate(
        pool, labels, ba.Rate(by="system"), designs=["variance_reduction"], budgets=[100], repeats=repeats
    )
    (intervals,) = study.intervals.values()
    held = ((intervals[..., 0] <= study.truth) & (study.truth <= intervals[..., 1])).sum(0)
    assert (held >= stats.binom.ppf(0.0005, repeats, 0.93)).all()  # with probability 1e-3 less than 93 % of either
    (estimates,) = study.estimates.values()
    rmse = np.sqrt(np.mean((estimates[:, 0] - study.truth) ** 2, axis=0))
    assert (rmse < np.abs(shares_of(verdicts, system) - study.truth).max() / 3).all()  # which the judge alone is off by


@pytest.mark.slow
def test_random_labels_have_the_errors_of_theory():
    repeats, n = 400, 60
    study = ba.simulate(SCORED, LABELS, ba.Rate(), designs=["passive"], budgets=[n], repeats=repeats)
    truth = GOOD.mean()
    error = np.sqrt(truth * (1 - truth) / n * (N - n) / (N - 1))
    found = study.estimates["passive"][:, 0] - truth
    assert abs(found.mean()) < 4 * error / np.sqrt(repeats)
    low, high = stats.chi2.ppf([0.0005, 0.9995], repeats) / repeats
    assert low < np.mean(found**2) / error**2 < high


# -- comparisons, journals, bad input ----------------------------------------------------------------------------------


def test_systems_are_compared_by_the_rates_of_their_answers():
    question = ba.Compare("b", "a", by="system", measure="rate", rope=0.01)
    difference = np.diff(shares(GOOD))[0]  # b less a
    assert question.truth(SCORED, LABELS) == pytest.approx(difference, abs=1e-12)
    r = told(N, question, design="passive").result()
    assert r.estimate == pytest.approx(difference, abs=1e-12)
    assert r.verdict.startswith("The rate of b is ")
    assert r.eta == (difference >= -0.01) + (difference > 0.01)


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_all_labels_settle_a_verdict_that_the_judge_has_the_wrong_way_round(design):
    """Of two systems of one rate, the judge takes all answers of one for good."""
    labels = np.where(np.arange(N) % 3 == 0, "bad", "good")
    halves = np.where(np.arange(N) % 6 < 3, "a", "b")  # each a third bad
    flattered = ba.Pool(predictions=np.where(halves == "a", "good", labels), groups={"system": halves})
    question = ba.Compare("a", "b", by="system", measure="rate")
    assert question.truth(flattered, flattered.prediction_names(slice(None))) > 0.3
    r = told(N, question, pool=flattered, design=design, labels=labels).result()
    assert (r.estimate, r.eta) == (pytest.approx(0, abs=1e-12), 1)
    assert r.verdict == "The rate of a is within 5 points of that of b, as their labels show."


@pytest.mark.slow
def test_a_verdict_is_right_more_often_than_that_of_random_labels():
    rng = np.random.default_rng(6)
    system, repeats, n, rope = np.arange(1000) % 2, 30, 60, 0.05
    labels = (rng.random(1000) < np.where(system, 0.55, 0.75)).astype(int)
    verdicts = np.where(labels == 1, rng.random(1000) < 0.95, rng.random(1000) < np.where(system, 0.7, 0.1)).astype(int)
    pool = ba.Pool(predictions=verdicts, groups={"system": system.astype(str)})
    question = ba.Compare("0", "1", by="system", measure="rate", rope=rope)
    assert np.subtract(*shares_of(verdicts, system)) < -rope  # the judge says the opposite
    study = ba.simulate(pool, labels, question, designs=["variance_reduction"], budgets=[n], repeats=repeats)
    error = np.sqrt((0.75 * 0.25 + 0.55 * 0.45) / (n / 2))
    random = stats.norm.sf((rope - float(study.truth)) / error)  # at most: half of the labels of each system
    (right,) = (scores["right"] for scores in study.scores.values())
    assert right.sum() >= stats.binom.ppf(0.001, repeats, random)


def test_a_session_is_the_same_after_its_journal_was_read_again(tmp_path):
    question = ba.Rate("good", by="system")
    assert repr(described_question(describe_question(question))) == repr(question)
    a = told(30, question, design="passive", journal=tmp_path / "run.db")
    again = ba.resume(tmp_path / "run.db", SCORED)
    assert again.result().summary() == a.result().summary()
    np.testing.assert_array_equal(again.result().bias_interval, a.result().bias_interval)
    with pytest.raises(ba.JournalError, match="asks another question"):
        ba.resume(tmp_path / "run.db", SCORED, ba.Rate("bad", by="system"))


THREE = ba.Pool(predictions=["a", "b", "c"])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: ba.assess(VERDICT, ba.Rate("god")), r"'god' is not a class of the pool \('bad', 'good'\)"),
        (lambda: ba.assess(THREE, ba.Rate()), "name the positive one"),
        (lambda: ba.assess(ba.Pool(predictions=["a", "a"]), ba.Rate("a")), "one class, 'a'"),
        (lambda: ba.assess(VERDICT, ba.Rate(by="site")), "no group column 'site'"),
        (lambda: ba.Rate(by=SYSTEM), "give its name"),
        (lambda: ba.assess(VERDICT, ba.Compare("a", "q", by="system", measure="rate")), "no group 'q' in 'system'"),
        (lambda: ba.Compare("prediction", "rival", measure="rate"), "the same for all systems"),
        (lambda: ba.assess(ba.Pool(predictions=["x;y", "-"], multilabel=True), ba.Rate("x")), "one label each"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(ask, said):
    with pytest.raises(ba.QuestionError, match=said) as caught:
        ask()
    assert str(caught.value)[0].isupper()
    assert str(caught.value).endswith(".")


def test_designs_that_need_a_measure_of_predictions_are_refused():
    assert set(ba.Rate().designs) == set(ba.Metric("accuracy").designs)
    with pytest.raises(ba.DesignError, match="'oasis' cannot serve"):
        ba.assess(SCORED, ba.Rate(), design="oasis")
