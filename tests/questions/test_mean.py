"""The mean of ratings, of which predictions and scores are a proxy of any quality."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.designs import VarianceReduction
from bayes_assess.estimators.random_labels import labels_of_variance
from bayes_assess.models.curve_members import RATES, RATINGS
from bayes_assess.models.rating_labels import RatingLabels
from bayes_assess.pool.rank_strata import RankStrata
from bayes_assess.results import MeanResult
from bayes_assess.results._in_words import question_in_words
from bayes_assess.sessions.description import describe_question, described_question
from made import labelled_sessions

RNG = np.random.default_rng(11)
N = 240
LABELS = RNG.choice(5, N, p=[0.1, 0.15, 0.25, 0.3, 0.2]) + 1
SYSTEM = RNG.choice(["a", "b"], N)
JUDGED = np.clip(LABELS + np.where(SYSTEM == "a", 1, 0) + RNG.choice([-1, 0, 0, 1], N), 1, 5)
POOL = ba.Pool(predictions=JUDGED, classes=[1, 2, 3, 4, 5], groups={"system": SYSTEM})
MEAN = LABELS.mean()
SMALL = VarianceReduction(n_strata=12)


told = labelled_sessions(POOL, LABELS, ba.Mean(), batch=60, design="passive")


def by_system(of):
    return np.array([np.asarray(of)[SYSTEM == name].mean() for name in "ab"])


# -- truth -------------------------------------------------------------------------------------------------------------


def test_truths_worked_out_by_hand():
    assert ba.Mean().truth(POOL, LABELS) == pytest.approx(MEAN, abs=1e-12)
    np.testing.assert_allclose(ba.Mean(by="system").truth(POOL, LABELS), by_system(LABELS), rtol=1e-12)
    squares = ba.Mean([1, 4, 9, 16, 25])
    assert squares.truth(POOL, LABELS) == pytest.approx((LABELS**2).mean(), rel=1e-12)
    assert ba.Mean({3: 0, 1: -1, 2: -1, 4: 1, 5: 1}).truth(POOL, LABELS) == pytest.approx(np.sign(LABELS - 3).mean())


def test_values_are_looked_up_by_class():
    pool = ba.Pool(predictions=["good", "bad", "fair"])
    values = {"bad": 0.0, "fair": 1.0, "good": 4.0}
    series = pd.Series(values)
    for given in (values, list(values.values()), dict(reversed(values.items())), series, series[::-1]):
        np.testing.assert_array_equal(ba.Mean(given).values_of(pool), [0, 1, 4])
    np.testing.assert_array_equal(ba.Mean().values_of(ba.Pool(predictions=["10", "9"])), [10, 9])


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_the_answer_is_that_of_the_labels_though_predictions_always_differ(design):
    opposite = np.where(JUDGED == 5, 1, JUDGED + 1)
    r = told(N, design=design, labels=opposite).result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(opposite.mean(), abs=1e-9)
    assert r.bias == pytest.approx(JUDGED.mean() - opposite.mean(), abs=1e-9)
    assert r.random_labels == N


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_a_result_says_what_the_predictions_alone_say(design):
    r = told(40, design=design).result(level=0.9)
    assert isinstance(r, MeanResult)
    assert r.judge_mean == pytest.approx(JUDGED.mean())
    assert r.bias == r.judge_mean - r.estimate
    np.testing.assert_allclose(r.bias_interval, r.judge_mean - r.interval[::-1], atol=1e-15)
    assert r.interval[0] < r.estimate < r.interval[1]
    said = r.summary().splitlines()
    assert said[-2].startswith(f"The predictions alone say {JUDGED.mean():.3f}. Their bias is {r.bias:+.3f}, 90% ")
    assert said[-1] == f"About {r.random_labels:,} random labels would give an interval as narrow; 40 were used."
    assert r.table()["judge"].tolist() == [r.judge_mean]
    assert r.plot(truth=MEAN).get_title(loc="left").startswith("Mean of the labels: 40 of 240 labelled")
    plt.close("all")


def test_random_labels_follow_from_the_variance_that_the_labels_show():
    r = told(120).result()
    width = float(np.diff(r.interval)[0])
    # The sample variance of 120 labels is within a third of the true one, far beyond what chance does.
    low, high = (labels_of_variance(share * LABELS.var() / 16, width / 4, N) for share in (2 / 3, 4 / 3))
    assert low <= r.random_labels <= high


def test_groups_have_their_own_judge():
    r = told(60, ba.Mean(by="system")).result()
    assert r.groups.tolist() == ["mean (system a)", "mean (system b)"]
    np.testing.assert_allclose(r.judge_mean, by_system(JUDGED), rtol=1e-12)
    assert r.bias_interval.shape == (2, 2)
    assert f"The predictions alone say {r.judge_mean[1]:.3f} for mean (system b)." in r.summary()


def test_labels_of_another_measure_answer_it():
    a = told(40, ba.Metric("accuracy"))
    r = a.result(question=ba.Mean())
    assert isinstance(r, MeanResult)
    assert r.estimate == pytest.approx(told(40).result().estimate)


def test_errors_of_a_group_are_those_of_its_labels_and_not_of_its_share_of_random_items():
    a = ba.assess(POOL, ba.Mean(by="system"), design="passive")
    ids = a.ask(50).ids
    a.tell(ids, LABELS[ids])
    groups = [LABELS[ids][SYSTEM[ids] == name] for name in "ab"]
    theory = np.array([labels.std() / np.sqrt(len(labels)) for labels in groups])
    # A sum over the group divided by its share of the pool has errors three times as large.
    np.testing.assert_allclose(a.result().standard_error, theory, rtol=0.3)


# -- what the belief is about ------------------------------------------------------------------------------------------


def test_the_belief_is_about_all_of_a_label_by_rating_and_group():
    cells = ba.Mean(by="system").setting(POOL, strata=RankStrata(6)).cells
    events = cells.events
    assert events.believes_all
    assert isinstance(events.errors, RatingLabels)
    assert events.members is RATINGS
    items = cells.one_of_each()
    np.testing.assert_array_equal(events.errors.group, (SYSTEM == "b")[items])
    np.testing.assert_array_equal(events.row, np.arange(cells.n_cells))
    expected = RatingLabels.from_prior(JUDGED[items] - 1.0, 5, (SYSTEM == "b")[items].astype(int))
    np.testing.assert_array_equal(events.errors.line, expected.line)


def test_scores_say_which_rating_to_expect():
    scores = RNG.dirichlet(np.ones(5), N)
    pool = ba.Pool(scores=scores, classes=[1, 2, 3, 4, 5])
    cells = ba.Mean().setting(pool, strata=RankStrata(6)).cells
    assert cells.n_cells > 5
    cell = cells.source.cells_of(np.arange(N))
    expected = np.bincount(cell, weights=scores @ np.arange(5)) / cells.sizes
    line = RatingLabels.from_prior(expected, 5).line
    np.testing.assert_allclose(cells.events.errors.line, line, atol=1e-6)


def test_of_two_classes_it_is_a_rate():
    pool = ba.Pool(predictions=["no", "yes", "yes"])
    assert ba.Mean([0, 1]).subject(pool).members is not RATINGS
    scored = ba.Pool(scores=[0.1, 0.7, 0.8], classes=["no", "yes"])
    assert ba.Mean([0, 1]).subject(scored).members is RATES
    labels = np.array(["yes", "no", "yes"])
    assert ba.Mean([2, 5]).truth(pool, labels) == pytest.approx(4)


def test_several_judges_have_an_opinion_each_and_their_mean():
    second, third = np.random.default_rng(12).choice(5, (2, N)) + 1
    pool = ba.Pool(predictions=JUDGED, classes=[1, 2, 3, 4, 5], systems={"second": second, "third": third})
    for judges, ratings in ((None, (JUDGED, second, third)), (["third"], (JUDGED, third)), ((), (JUDGED,))):
        subject = ba.Mean(judges=judges).subject(pool)
        every = [np.mean(ratings, axis=0), *(ratings if len(ratings) > 1 else ())]
        np.testing.assert_allclose(subject.opinions, np.array(every) - 1, rtol=1e-14)


@pytest.mark.slow
def test_a_judge_who_knows_the_labels_is_found_among_others_who_do_not():
    strangers = np.random.default_rng(13).choice(5, (2, N)) + 1
    pool = ba.Pool(predictions=strangers[0], classes=[1, 2, 3, 4, 5], systems={"b": strangers[1], "c": LABELS})
    found, alone = (told(60, ba.Mean(judges=judges), pool=pool, design=SMALL).result() for judges in (None, "b"))
    width, of_strangers = (np.diff(r.interval).item() for r in (found, alone))
    assert width < 0.6 * of_strangers
    assert found.interval[0] <= MEAN <= found.interval[1]


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_the_answer_is_that_of_all_labels_whatever_further_judges_say(design):
    pool = ba.Pool(predictions=JUDGED, classes=[1, 2, 3, 4, 5], systems={"second": 6 - LABELS})
    r = told(N, pool=pool, design=design).result()
    assert r.estimate == pytest.approx(MEAN, abs=1e-9)
    np.testing.assert_allclose(r.interval, MEAN, atol=1e-9)


def test_what_an_item_of_the_belief_is_has_no_rate():
    r = told(12, ba.Mean(by="system"), design=SMALL).result()
    assert "if items with the same predictions are alike, as the 12 labels suggest." in r.summary()
    with pytest.raises(ba.QuestionError, match="no event that has a rate"):
        _ = r.posterior
    assert r.draws.shape[1] == 2
    assert ((r.design_interval[:, 0] <= by_system(LABELS)) & (by_system(LABELS) <= r.design_interval[:, 1])).all()
    assert r.to_arviz() is not None


@pytest.mark.slow
def test_a_judge_that_favours_groups_is_found_out():
    """Groups of one mean, of which a judge takes one for far better: errors below those of random labels."""
    rng = np.random.default_rng(4)
    group, repeats, n = np.arange(1200) % 2, 40, 100
    z = rng.normal(size=1200)
    cuts = [-1.2, -0.4, 0.3, 1.1]
    labels, judged = ((x[:, None] > cuts).sum(1) for x in (z, z + 0.8 * group + rng.normal(0, 0.35, 1200)))
    pool = ba.Pool(predictions=judged, classes=range(5), groups={"system": group})
    study = ba.simulate(
        pool, labels, ba.Mean(by="system"), designs=["variance_reduction"], budgets=[n], repeats=repeats
    )
    (intervals,) = study.intervals.values()
    held = ((intervals[..., 0] <= study.truth) & (study.truth <= intervals[..., 1])).sum(0)
    assert (held >= stats.binom.ppf(0.0005, repeats, 0.93)).all()  # with probability 1e-3 less than 93 % of either
    (estimates,) = study.estimates.values()
    error = np.mean((estimates[:, 0] - study.truth) ** 2, axis=0)
    random = np.array([labels[group == g].var() / (n / 2) * (1 - n / 1200) for g in (0, 1)])
    # Random labels have errors as small as half theirs with a probability below 0.1 % in 40 campaigns.
    assert stats.chi2.cdf(0.5 * repeats, repeats) < 1e-3 * 5
    assert (error < random / 2).all()


@pytest.mark.slow
def test_random_labels_have_the_errors_of_theory():
    repeats, n = 400, 60
    study = ba.simulate(POOL, LABELS, ba.Mean(), designs=["passive"], budgets=[n], repeats=repeats)
    error = np.sqrt(LABELS.var() / n * (N - n) / (N - 1))
    found = study.estimates["passive"][:, 0] - MEAN
    assert abs(found.mean()) < 4 * error / np.sqrt(repeats)
    low, high = stats.chi2.ppf([0.0005, 0.9995], repeats) / repeats
    assert low < np.mean(found**2) / error**2 < high


# -- journals, bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [None, {1: 0, 2: 1, 3: 2, 4: 3, 5: 4.5}, [0, 1, 2, 3, 4.5]])
def test_a_session_is_the_same_after_its_journal_was_read_again(tmp_path, values):
    question = ba.Mean(values, by="system")
    assert repr(described_question(describe_question(question))) == repr(question)
    a = told(30, question, journal=tmp_path / "run.db")
    again = ba.resume(tmp_path / "run.db", POOL)
    assert again.result().summary() == a.result().summary()
    with pytest.raises(ba.JournalError, match="asks another question"):
        ba.resume(tmp_path / "run.db", POOL, ba.Mean([9, 1, 2, 3, 4], by="system"))


NAMED = ba.Pool(predictions=["a", "b", "c"])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: ba.assess(NAMED, ba.Mean()), "are no numbers, .* give every class one by values"),
        (lambda: ba.assess(NAMED, ba.Mean({"a": 1, "b": 2})), "Class 'c' has no value"),
        (lambda: ba.assess(NAMED, ba.Mean({"a": 1, "b": 2, "c": 3, "d": 4})), "value for 'd', which is no class"),
        (lambda: ba.assess(NAMED, ba.Mean([1, 2])), "2 values, and the pool has 3 classes"),
        (lambda: ba.assess(NAMED, ba.Mean([1, 1, 1])), "have the value 1, so that there is nothing to label"),
        (lambda: ba.Mean({"a": np.nan}), "The value of class 'a' is nan; give a finite number"),
        (lambda: ba.Mean([1, "2"]), "The value at position 1 is '2'; give a finite number"),
        (lambda: ba.Mean([1, np.inf]), "position 1 is inf"),
        (lambda: ba.Mean([1, -1e154]), "position 1 is -1e.154; give a finite number, of 1e.60 at most in size"),
        (lambda: ba.Mean([1, 10**400]), "position 1 is 1000.* give a finite number"),
        (lambda: ba.assess(NAMED, ba.Mean([0, 0, 1e-300])), "from 0 to 1e-300, less than 1e-60 apart"),
        (lambda: ba.Mean(3), "a mapping from classes to numbers, or a number for every class; found 3"),
        (lambda: ba.assess(POOL, ba.Mean(by="site")), "no group column 'site'"),
        (lambda: ba.Mean(by=["site", "sex"]), "are those of one column, and these are 'site', 'sex': give the pool a"),
        (lambda: ba.Mean(by=["a"] * 3), r"are those of a column of the pool: give its name; found \['a'"),
        (lambda: ba.Mean(by=SYSTEM), "The groups of a mean are those of a column of the pool: give its name"),
        (lambda: ba.assess(ba.Pool(predictions=["1;2", "-"], multilabel=True), ba.Mean()), "one label each"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(ask, said):
    with pytest.raises(ba.QuestionError, match=said) as caught:
        ask()
    assert str(caught.value)[0].isupper()
    assert str(caught.value).endswith(".")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-58, 1e58])
def test_means_have_the_unit_of_the_values(unit):
    pool, found = ba.Pool(predictions=["a", "b", "c", "a", "b", "c", "c"]), []
    for values in ([0, 1, 3], [0, unit, 3 * unit]):
        a = ba.assess(pool, ba.Mean(values), design="passive")
        a.tell(a.ask(5).ids, ["a", "c", "b", "a", "c"])
        found.append(a.result())
    np.testing.assert_allclose(found[1].interval, unit * found[0].interval, rtol=1e-9)
    assert found[1].estimate == pytest.approx(unit * found[0].estimate, rel=1e-12)


def test_designs_are_those_of_measures():
    assert set(ba.Mean().designs) == set(ba.Metric("accuracy").designs)
    with pytest.raises(ba.DesignError, match="cannot serve"):
        ba.assess(POOL, ba.Mean(), design="oasis")


@pytest.mark.parametrize("names", [[1, 2, 3, 4, 5], ["01", "02", "03", "04", "05"]])
def test_values_are_the_numbers_that_the_classes_present_stand_for(names):
    """There is no rating 0 that annotators could give, or that the belief could expect."""
    pool = ba.Pool(predictions=np.array(names)[[4, 0, 2, 1, 3, 3]])
    assert pool.classes.tolist() == names
    assert ba.Mean().values_of(pool).tolist() == [1, 2, 3, 4, 5]
    assert pool.label_space.choices == tuple(names)


def test_means_of_numbers_that_are_rounded_say_so():
    """Else "exact" would promise more than there is: the mean of all labels here is 71.3125."""
    numbers = [61.5, 80, 47, 92]
    a = ba.assess(ba.Pool(predictions=numbers, bounds=(0, 100)), ba.Mean())
    a.tell(range(4), [55, 71.25, 70, 89])
    said = "Predictions and labels are rounded to steps of 2, which moves means by 1 at most, and usually by far less."
    assert said in a.result().summary()
    whole = ba.Pool(predictions=np.round(numbers), bounds=(0, 100), step=1)
    for pool in (whole, ba.Pool(predictions=[1, 2, 3])):
        assert "rounded" not in ba.assess(pool, ba.Mean()).result().summary()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ba.Metric("accuracy"), "and count as the same where they are equal then."),
        (ba.GroupAccuracy(by="site"), "and count as the same where they are equal then."),
        (
            ba.Compare("a", "b", by="site", measure="mean"),
            "which moves differences of means by 2 at most, ",
        ),
        (
            ba.Compare(by="site", measure="mean"),
            "which moves differences of means by 2 at most, and usually by far less.",
        ),
    ],
)
def test_other_questions_of_numbers_that_are_rounded_say_so(question, said):
    """No label here is the number that was predicted, and half of the predictions are right to steps of 2."""
    numbers, labels, groups = [61.5, 80, 47, 92], [62.3, 71.25, 46.9, 89], {"site": ["a", "b", "a", "b"]}
    a = ba.assess(ba.Pool(predictions=numbers, bounds=(0, 100), groups=groups), question)
    a.tell(range(4), labels)
    (line,) = (line for line in a.result().summary().splitlines() if "rounded" in line)
    assert line.startswith(f"Predictions and labels are rounded to steps of 2, {said}")
    whole = ba.Pool(predictions=np.round(numbers), bounds=(0, 100), step=1, groups=groups)
    assert "rounded" not in ba.assess(whole, question).result().summary()
    errors = ba.assess(ba.Pool(predictions=numbers, bounds=(0, 100)), ba.Metric("mae"))  # of labels as they are
    assert "rounded" not in errors.result().summary()


def test_the_question_is_a_sentence():
    assert question_in_words(ba.Mean(by="site")) == "How high is the mean of the labels, by site?"
