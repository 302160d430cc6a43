"""What every question must do, in the session and in the simulator."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import DESIGNS
from bayes_assess.sessions.description import describe_question
from made import play_on_numpy
from questions.asked import LABELS, POOL, QUESTIONS, RANDOM, TRUTHS

PERFECT = {"rmse": 0, "cost_error": 0, "ece_error": 0, "mrr": 1, "success": 1, "right": 1, "best": 1, "error": 0}
NAMES = list(QUESTIONS)
COUNTED = [name for name, question in QUESTIONS.items() if not isinstance(question, ba.Metric)]  # by counts alone
# Each compiles its campaigns. Other questions on accuracies, calibration, costs or recalls have the same beliefs.
LONG = ("calibration_by", "least_calibrated")  # to compute
QUICK_STUDIES = ("least_accurate", "calibration", "confusion", "two_systems")
SURE = ba.Pool(scores=np.eye(4)[POOL.predictions], groups=POOL.groups, systems=dict(POOL.systems))


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_the_answer_worked_out_by_hand(name):
    np.testing.assert_allclose(QUESTIONS[name].truth(POOL, LABELS), TRUTHS[name], atol=1e-14)


CURVES = {"pr_curve": ba.PRCurve([0.3, 0.7]), "precision_curve": ba.PrecisionCurve(epsilon=0.1, budget=500)}


@pytest.mark.parametrize("question", [*QUESTIONS.values(), *CURVES.values()], ids=[*QUESTIONS, *CURVES])
def test_a_question_is_written_as_it_is_asked(question):
    """Reports give it under "How to get it again"."""
    names = {name: getattr(ba, name) for name in ba.__all__} | {"array": np.array}
    assert repr(eval(repr(question), names)) == repr(question)


@pytest.mark.parametrize("name", NAMES)
def test_at_full_labels_the_estimate_is_the_truth(name):
    a = ba.assess(POOL, QUESTIONS[name], design=RANDOM[name])
    a.tell(POOL.ids, LABELS)
    result = a.result()
    about_the_pool = QUESTIONS[name].target == "pool"
    assert result.guarantee == ("exact" if about_the_pool else "credible")
    if about_the_pool:
        np.testing.assert_allclose(result.estimate, TRUTHS[name], atol=1e-12)
        np.testing.assert_allclose(np.diff(result.interval), 0, atol=1e-12)
    else:  # the posterior mean of an accuracy lies within the prior's two labels of the share, of some fifty items
        np.testing.assert_allclose(result.estimate, TRUTHS[name], atol=2 * 2 / 40)
        assert np.shape(result.estimate) == np.shape(TRUTHS[name])
    assert result.interval.shape == (*np.shape(TRUTHS[name]), 2)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in NAMES])
def test_a_session_is_the_same_after_its_journal_was_read_again(name, tmp_path):
    question, path = QUESTIONS[name], tmp_path / "run.db"
    a = ba.assess(POOL, question, design=RANDOM[name], journal=path, seed=3)
    queries = a.ask(30)
    a.tell(queries.ids[:20], LABELS[queries.ids[:20]])
    before, expected = a.result(), a.ask(5).ids
    a.journal.close()
    again = ba.resume(path, POOL)
    assert describe_question(again.question) == describe_question(question)
    np.testing.assert_array_equal(again.pending, np.sort(np.concatenate([queries.ids[20:], expected])))
    np.testing.assert_array_equal(again.result().estimate, before.estimate)
    np.testing.assert_array_equal(again.result().interval, before.interval)
    again.journal.close()


def test_a_journal_of_another_question_is_refused(tmp_path):
    ba.assess(POOL, QUESTIONS["most_costly"], journal=tmp_path / "run.db").journal.close()
    other = ba.MostCostly(QUESTIONS["most_costly"].cost, m=1)
    with pytest.raises(ba.JournalError, match="asks another question"):
        ba.resume(tmp_path / "run.db", POOL, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_results_speak_tabulate_draw_and_go_to_arviz(name):
    a = ba.assess(POOL, QUESTIONS[name], design=RANDOM[name])
    queries = a.ask(36)
    a.tell(queries.ids, LABELS[queries.ids])
    result = a.result(level=0.8)
    assert result.summary().startswith(f"36 of 160 items labelled (design {RANDOM[name]!r}).")
    assert len(result.table()) > 0
    assert "80%" in result.table().title or "Labels" in result.table().title
    assert repr(result).startswith(result.summary())
    assert "<table" in result._repr_html_()
    assert result.plot().get_title(loc="left")
    if name in COUNTED:
        data = result.to_arviz()
        assert list(data["posterior"].data_vars)
        assert "label" not in data["posterior"].dims  # which ArviZ's summaries call a dimension of their own
    else:
        with pytest.raises(ba.QuestionError, match="without a posterior"):
            result.to_arviz()
    low, high = np.moveaxis(result.interval, -1, 0)
    assert (low <= high).all()
    assert (low < high).any()
    inside = (low <= np.asarray(result.estimate) + 1e-12) & (np.asarray(result.estimate) <= high + 1e-12)
    assert inside.all()


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in NAMES])
def test_an_interval_holds_its_estimate_and_has_a_width_however_sure_the_scores(name):
    """The posterior mean of something rare lies above nearly all of its distribution."""
    a = ba.assess(SURE, QUESTIONS[name], design=RANDOM[name])
    a.tell(SURE.ids[::8], SURE.predictions[::8])
    result = a.result()
    low, high = np.moveaxis(result.interval, -1, 0)
    estimate = np.asarray(result.estimate)
    assert ((low <= estimate) & (estimate <= high)).all()
    if name != "all_pairs":  # a group is as good as itself
        assert (low < high).all()
    if name in ("confusion", "most_costly"):
        costs = result.cost if name == "confusion" else result
        mean, (low, high) = costs.overall
        assert low <= mean <= high


@cache
def study_of(name):
    """Two campaigns of a question through to full labels."""
    question, designs = QUESTIONS[name], {"random": RANDOM[name]}
    budgets = [20, question.setting(POOL).n_playable]
    return ba.simulate(
        POOL, LABELS, question, designs=designs, budgets=budgets, repeats=2, seed=5, prior="uninformative"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_campaigns_end_at_the_truth_with_perfect_scores(name):
    study = study_of(name)
    np.testing.assert_allclose(study.truth, TRUTHS[name], atol=1e-14)
    assert study.estimates["random"].shape == (2, 2, *np.shape(TRUTHS[name]))
    assert study.intervals["random"].shape == (2, 2, *np.shape(TRUTHS[name]), 2)
    for score in study.question.scores:
        values = study.scores["random"][score]
        assert values.shape == (2, 2)
        if score in PERFECT:
            np.testing.assert_allclose(values[:, -1], PERFECT[score], atol=1e-12)
    if study.question.target == "pool":
        np.testing.assert_allclose(study.estimates["random"][:, -1], np.stack([TRUTHS[name]] * 2), atol=1e-12)
        assert study.coverage["random"][-1] == pytest.approx(1)
    assert len(study.table()) == 2
    goals = study.labels_to()
    assert goals["random"] is None or goals["random"] in study.budgets


@pytest.mark.parametrize(
    "name", [name if name in QUICK_STUDIES else pytest.param(name, marks=pytest.mark.slow) for name in COUNTED]
)
def test_estimates_of_a_study_are_those_of_a_session_with_the_same_counts(name, monkeypatch):
    if name != "least_accurate":  # which is played to the end below
        play_on_numpy(monkeypatch)
    study = study_of(name)
    campaign = study.campaigns["random"]
    one = study.question.estimate(study.cells, campaign.prior, campaign.counts[1, 0])
    np.testing.assert_allclose(study.estimates["random"][1, 0], one, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [name for name, question in QUESTIONS.items() if question.designs is not None])
def test_a_design_that_cannot_serve_says_which_can(name):
    able = QUESTIONS[name].designs
    first = next(design for design in DESIGNS if design in able)
    for design in set(DESIGNS) - set(able):
        with pytest.raises(ba.DesignError, match=f"{design!r} cannot serve this question; these can: {first!r}"):
            ba.assess(POOL, QUESTIONS[name], design=design)


def test_campaigns_first_reach_a_goal_no_later_than_their_mean_stays_there():
    study = study_of("least_accurate")
    each = study.labels_each("mrr")["random"]
    assert each.shape == (2,)
    assert set(each.tolist()) <= {20.0, 160.0}
    assert (study.labels_each("mrr", 2.0)["random"] == np.inf).all()  # no rank is as good as that


def test_counts_that_would_not_fit_are_refused_before_anything_runs():
    pool = ba.Pool(predictions=np.arange(1000))
    with pytest.raises(ba.BudgetError, match="would keep 10,000,000,000 counts of outcomes, 40 GB"):
        ba.simulate(pool, np.arange(1000), ba.ConfusionMatrix(), designs="random", budgets=range(1, 11), repeats=1000)
