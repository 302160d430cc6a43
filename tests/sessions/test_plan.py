from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayes_assess as ba
from bayes_assess.sessions.planning import labels_needed
from bayes_assess.studies.curve_futures import CurveFutures
from bayes_assess.studies.futures import Longer
from bayes_assess.studies.goals import Goal, random_labels_to
from made import made_pool


def one_group(n_right: int, n_wrong: int, size: int = 20_000):
    """A session of random items of one group, with a flat prior."""
    pool = ba.Pool(predictions=["yes"] * size, classes=["yes", "no"])
    session = ba.assess(pool, ba.GroupAccuracy(), design="random", prior="uninformative", seed=1)
    session.tell(session.ask(n_right + n_wrong).ids, ["yes"] * n_right + ["no"] * n_wrong)
    return session


@pytest.fixture(scope="module")
def half():
    session = one_group(100, 100)
    return session, session.plan(width=0.05, futures=40)


def test_random_labels_are_as_many_as_the_normal_interval_needs(half):
    """Near an accuracy of one half the width hardly depends on it, so that all futures need about as many."""
    _, plan = half
    n = stats.norm.ppf(0.975) ** 2 * 0.25 / 0.025**2
    n = n / (1 + n / 20_000)
    assert abs(plan.labels.expected + 200 - n) < 0.03 * n  # looks are 20 % apart, widths quantiles of 500 draws
    assert abs(plan.random_labels - n) < 0.02 * n
    assert plan.labels.lower <= plan.labels.expected <= plan.labels.upper


def test_random_labels_are_those_of_the_width_that_is_planned_where_no_future_was_followed_so_far(half, monkeypatch):
    session, plan = half
    monkeypatch.setattr("bayes_assess.sessions.planning._MOST", 100)
    short = session.plan(width=0.05, futures=40)
    assert short.n_simulated == 300 < plan.n_simulated
    assert abs(short.random_labels - plan.random_labels) < 0.02 * plan.random_labels
    assert abs(short.labels.expected - plan.labels.expected) < 0.1 * plan.labels.expected


def test_a_plan_changes_nothing_of_its_session(half):
    session, _ = half
    other = one_group(100, 100)
    assert session.ask(30).ids.tolist() == other.ask(30).ids.tolist()


def test_widths_shrink_from_that_of_the_result(half):
    session, plan = half
    np.testing.assert_allclose(plan.paths[:, 0], np.diff(session.result().interval[0])[0])
    middle = plan.table()["width"]
    assert (np.diff(middle) < 0).all()
    assert middle[-1] <= 0.05
    assert plan.budgets[0] == 200


def test_a_plan_says_its_level_with_all_digits(half):
    session, _ = half
    for wanted in (0.5, 0.05):
        said = session.plan(width=wanted, level=0.999, futures=2).summary()
        assert "99.9% interval" in said
        assert "100%" not in said


def test_what_is_known_well_enough_needs_no_labels():
    session = one_group(100, 100)
    plan = session.plan(width=0.5)
    assert plan.labels == (0, 0, 0)
    assert plan.summary() == "No more labels are needed: the widest 95% interval is no wider than 0.5 already."


def test_that_no_labels_are_needed_by_the_prior_alone_is_said_to_be_expected():
    predictions = np.random.default_rng(0).integers(0, 2, (2, 60))
    pool = ba.Pool(predictions=predictions[0], systems={"b": predictions[1]})
    said = ba.plan(pool, ba.Best(rope=0.3), probability=0.8).summary()
    met = "no labels are needed: the verdict has a probability of 0.8 or more already."
    assert said == f"As expected before any label, {met}"


def test_what_predictions_alone_settle_needs_no_labels_whatever_is_expected():
    pool = ba.Pool(predictions=[0] * 20, systems={"b": [0] * 20}, classes=[0, 1])
    plan = ba.plan(pool, ba.Compare("b", "prediction", measure="f1"), probability=0.9)
    assert plan.summary() == "No more labels are needed: the verdict has a probability of 0.9 or more already."


def test_a_small_pool_is_labelled_up_at_most():
    session = one_group(5, 5, size=60)
    plan = session.plan(width=1e-3)
    assert (plan.needed <= 50).all()
    assert (plan.needed > 45).all()
    assert plan.random_labels == 60
    assert (plan.paths[:, -1] <= 1e-3).all()
    assert plan.budgets[-1] == 60


@pytest.mark.slow
@pytest.mark.parametrize(("n_told", "longer"), [(0, 1.8), (20, 1.2)])
def test_campaigns_of_measures_take_longer_than_the_futures_of_their_belief(n_told, longer, monkeypatch):
    a = ba.assess(ba.Pool(scores=np.random.default_rng(2).beta(0.4, 1, 400)), ba.Metric("f1"), seed=1)
    ids = a.ask(20).ids[:n_told]
    a.tell(ids, (a.pool.scores[ids] > 0.5).astype(int))
    plan = a.plan(width=0.2, futures=6)
    monkeypatch.setattr(CurveFutures, "longer", lambda futures, n_told: Longer())
    short = a.plan(width=0.2, futures=6)
    np.testing.assert_array_equal(plan.paths, short.paths)
    assert (np.abs(plan.needed - np.minimum(longer * short.needed, 400 - n_told)) <= 2).all()
    assert (plan.budgets <= 400).all()
    assert (plan.longer, short.longer, short.spread) == (longer, 1.0, 0.0)
    assert f"campaigns take about {longer:g} times as many, and nine of ten lie in the range" in plan.summary()
    assert "times as many" not in short.summary()


@pytest.mark.slow
@pytest.mark.parametrize(("n_told", "longer"), [(0, 1.8), (10, 1.2)])
def test_campaigns_until_a_verdict_take_longer_than_the_futures_of_their_belief_too(n_told, longer, monkeypatch):
    rng = np.random.default_rng(3)
    scores = rng.beta(0.4, 1, 400)
    pool = ba.Pool(scores=scores, systems={"new": (scores > 0.6).astype(int)})
    a = ba.assess(pool, ba.Compare("new", "prediction", measure="f1", rope=0.02), seed=1)
    ids = a.ask(10).ids[:n_told]
    a.tell(ids, (scores[ids] > rng.random(n_told)).astype(int))
    plan = a.plan(probability=0.97, futures=6)
    monkeypatch.setattr(CurveFutures, "longer", lambda futures, n_told: Longer())
    short = a.plan(probability=0.97, futures=6)
    np.testing.assert_array_equal(plan.paths, short.paths)
    seen = np.isfinite(short.needed)
    assert seen.any()
    np.testing.assert_array_equal(np.isfinite(plan.needed), seen)
    assert (np.abs(plan.needed - np.minimum(longer * short.needed, 400 - n_told))[seen] <= 2).all()
    assert plan.longer == longer
    assert f"campaigns take about {longer:g} times as many" in plan.summary()


def test_futures_that_go_on_until_all_is_labelled_need_no_more():
    a = ba.assess(ba.Pool(scores=np.linspace(0.05, 0.95, 60)), ba.Metric("f1"), seed=1)
    plan = a.plan(width=0.02, futures=6)
    assert np.isfinite(plan.needed).all()
    assert (plan.needed <= 60).all()


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.Metric("accuracy"), ba.Rate()])
def test_the_only_item_is_the_label_that_is_needed(question):
    plan = ba.plan(ba.Pool(predictions=[0], classes=[0, 1]), question, width=0.1)
    assert plan.labels == (1, 1, 1)
    assert plan.paths[:, -1].tolist() == [0.0] * len(plan.paths)


def test_before_any_label_the_spread_is_wide_and_the_summary_says_why():
    pool = ba.Pool(predictions=["yes"] * 5000, classes=["yes", "no"])
    plan = ba.plan(pool, ba.GroupAccuracy(), width=0.1, design="random", prior="uninformative")
    assert plan.labels_used == 0
    # A flat prior on p: widths go with p (1 - p), from near 0 to 1 / 4.
    assert plan.labels.upper > 2 * plan.labels.lower
    assert plan.labels.upper <= 1.1 * stats.norm.ppf(0.975) ** 2 * 0.25 / 0.05**2
    assert "the prior alone suggests" in plan.summary()


def test_items_set_aside_leave_an_interval_that_no_label_makes_narrower():
    """Four of forty items may each be right or wrong for ever."""
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 20), ba.GroupAccuracy(), design="random")
    session.skip(range(4))
    session.tell(range(4, 24), ["a", "a"] * 10)
    plan = session.plan(width=0.02, of="overall")
    assert np.isinf(plan.needed).all()
    assert (plan.table()["reached"] == 0).all()
    assert plan.summary().startswith("In none of the futures 16 more labels are enough until the 95% interval is 0.02")
    assert "They were followed" not in plan.summary()
    session.tell(range(24, 40), ["a", "a"] * 8)
    plan = session.plan(width=0.02, of="overall")
    width = float(np.diff(session.result().overall[1])[0])
    said = f"No item is left to label, and the width of the 95% interval is {width:.3f}, not 0.02."
    assert (width > 0.02, plan.summary()) == (True, said)
    assert np.isinf(plan.needed).all()


def test_of_a_population_no_pool_is_labelled_to_the_end():
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 20), ba.GroupAccuracy(target="population"), design="random")
    session.tell(range(20), ["a", "a"] * 10)
    assert np.isinf(session.plan(width=0.01).needed).all()
    session.tell(range(20, 40), ["a", "a"] * 10)
    assert session.plan(width=0.01).summary().startswith("No item is left to label, and the width of the widest 95%")


def test_a_verdict_that_items_set_aside_leave_open_has_nothing_left_to_label():
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 20), ba.Compare("a", "b", by="prediction"), design="random")
    session.skip(range(4))
    session.tell(range(4, 40), ["a"] * 20 + ["b"] * 16)
    now = session.result().probability
    said = f"No item is left to label, and the probability of the verdict is {now:.3f}, not 0.95."
    assert session.plan().summary() == said


def test_a_width_is_reached_however_its_ends_were_rounded():
    session = ba.assess(ba.Pool(predictions=[0] * 10), ba.GroupAccuracy())
    assert session.goal(0.05).reached(np.array([1 - 0.95, 0.0501])).tolist() == [True, False]


def test_a_verdict_is_planned_by_its_probability():
    pool, labels = made_pool([0.9, 0.5], [2000, 2000])
    session = ba.assess(pool, ba.Compare(0, 1, by="prediction"), prior="uninformative", design="random", seed=2)
    queries = session.ask(20)
    session.tell(queries.ids, labels[pool.positions(queries.ids)])
    plan = session.plan()
    assert (plan.kind, plan.goal) == ("probability", 0.95)
    assert ((plan.paths >= 0.95).any(1) == np.isfinite(plan.needed)).all()
    assert plan.labels.expected < 4000
    assert "verdict has a probability of 0.95 or more" in plan.summary()


def test_the_variance_of_one_random_label_is_that_of_the_delta_method():
    """Of the accuracy p (1 - p); of the precision p (1 - p) over the share that is predicted positive."""
    pool = ba.Pool(predictions=[1] * 40 + [0] * 60)
    for measure, share, p in (("accuracy", 1.0, 0.8), ("precision", 0.4, 0.75)):
        question = ba.Metric(measure)
        cells = question.setting(pool).cells
        full = question.full_counts(pool, cells, np.array([1] * 30 + [0] * 10 + [0] * 50 + [1] * 10), 2)
        goal = Goal.checked(question, cells, 0.01, None, "widest", 0.95)
        n0 = stats.norm.ppf(0.975) ** 2 * p * (1 - p) / share / 0.005**2
        found = random_labels_to(goal, cells, full[None], np.array([0.01]))
        assert found.tolist() == [np.ceil(n0 * 100 / (n0 + 99))]


@given(
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.lists(st.integers(1, 500), min_size=6, max_size=6),
)
def test_labels_needed_lie_between_the_looks_around_the_goal(path, wished, steps):
    pool = ba.Pool(predictions=[0] * 4000)
    question = ba.GroupAccuracy()
    goal = Goal.checked(question, question.setting(pool).cells, wished, None, "widest", 0.95)
    labels = 10 + np.cumsum(steps)[: len(path)]
    (needed,) = labels_needed(goal, labels, np.array([path]), 4000)
    met = np.flatnonzero(goal.reached(np.array(path)))
    if not len(met):
        assert labels[-1] <= needed <= 4000
    else:
        assert labels[max(met[0] - 1, 0)] <= needed <= labels[met[0]]


@pytest.mark.parametrize(
    ("question", "arguments", "said"),
    [
        (ba.LeastAccurate(), {"width": 0.1}, "has no interval; plan GroupAccuracy, in a campaign of its own"),
        (ba.HighestRecall(np.arange(40) % 2), {"width": 0.1}, "has no interval; plan GroupRecall, in"),
        (ba.MostCostly([[0, 1], [1, 0]]), {"width": 0.1}, "has no interval; plan ConfusionMatrix, in"),
        (ba.LeastCalibrated(), {"width": 0.1}, "has no interval; plan Calibration, in"),
        (ba.GroupAccuracy(), {}, "needs the width"),
        (ba.GroupAccuracy(), {"probability": 0.9}, "gives no verdict"),
        (ba.GroupAccuracy(), {"width": 0.1, "of": "mean"}, "found 'mean'"),
        (ba.GroupAccuracy(), {"width": 1.5}, "lies between 0 and 1; found 1.5"),
        (ba.GroupAccuracy(), {"width": 0.1, "level": 1.0}, "such as 0.95; found 1.0"),
        (ba.Compare(0, 1, by="prediction"), {"width": 0.1, "probability": 0.9}, "not both"),
        (ba.ConfusionMatrix(), {"width": 0.1, "of": "overall"}, "for GroupAccuracy"),
    ],
)
def test_what_cannot_be_planned_is_said_in_one_sentence(question, arguments, said):
    pool, _ = made_pool([0.9, 0.5], [20, 20])
    with pytest.raises(ba.QuestionError, match=said) as error:
        ba.plan(pool, question, design="random", **arguments)
    assert str(error.value).count(". ") == 0


def test_widths_of_means_are_in_their_units():
    ratings = ba.Pool(predictions=np.linspace(20, 80, 40), bounds=(0, 100))
    a = ba.assess(ratings, ba.Mean())
    assert a.goal(5).reached(np.array([4.9, 5.1])).tolist() == [True, False]
    with pytest.raises(ba.QuestionError, match="lies between 0 and 100; found 150"):
        a.goal(150)
    valued = ba.Pool(predictions=["bad", "good"] * 20)
    assert ba.assess(valued, ba.Mean({"bad": -1, "good": 4})).goal(4.5).value == 4.5
    assert ba.assess(ratings, ba.Metric("mae")).goal(5).value == 5
    with pytest.raises(ba.QuestionError, match=r"lies between 0 and 1; found 1\.5"):
        ba.assess(valued, ba.Metric("f1")).goal(1.5)


def test_curves_of_ranked_lists_are_refused():
    session = ba.assess(ba.RankedList(1000), ba.PrecisionCurve(p_min=0.5))
    with pytest.raises(ba.QuestionError, match="PrecisionCurve cannot be planned: it answers with a band"):
        session.plan(width=0.1)
    pool = ba.Pool(scores=np.linspace(0.01, 0.99, 200))
    believed = ba.assess(pool, ba.PrecisionCurve(), design="variance_reduction")
    with pytest.raises(ba.QuestionError, match="PrecisionCurve cannot be planned: it answers with a band"):
        believed.plan(width=0.1)  # which has no budget


def test_designs_without_a_belief_are_refused():
    pool = ba.Pool(predictions=[0, 1] * 50)
    with pytest.raises(ba.DesignError, match=r"'adaptive' cannot be planned.*; plan with 'variance_reduction'\."):
        ba.plan(pool, ba.Metric("f1"), width=0.1, design="adaptive")
    sets = ba.Pool(predictions=["a;b", "a", "-", "b"] * 5, multilabel=True)
    with pytest.raises(ba.DesignError, match=r"futures could be drawn, and no other design of this question has one\."):
        ba.plan(sets, ba.Metric("f1_micro"), width=0.1)
    many = ba.Pool(predictions=[0, 1, 2] * 5, systems={"b": [0, 2, 1] * 5})  # which no belief serves
    with pytest.raises(ba.DesignError, match=r"futures could be drawn, and no other design of this question has one\."):
        ba.plan(many, ba.Best(), probability=0.9)
    with pytest.raises(ba.BudgetError, match="at least 2 futures"):
        ba.plan(pool, ba.GroupAccuracy(), width=0.1, futures=1)


@pytest.mark.slow
def test_a_measure_is_planned_by_its_own_design():
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 2, 3000)
    labels = (rng.random(3000) < scores).astype(int)
    session = ba.assess(ba.Pool(scores=scores), ba.Metric("f1"), seed=0)
    queries = session.ask(60)
    session.tell(queries.ids, labels[queries.ids])
    plan = session.plan(width=0.08)
    assert 0 < plan.labels.lower <= plan.labels.expected < plan.random_labels
    while np.diff(session.result().interval)[0] > 0.08:
        queries = session.ask(40)
        session.tell(queries.ids, labels[queries.ids])
    assert plan.labels.lower <= session.labels_used - 60 <= plan.labels.upper + 40
