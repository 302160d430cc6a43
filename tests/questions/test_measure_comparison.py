"""Is the F1 of one system, or of one group, above another's? Verdicts, in sessions and in studies."""

from __future__ import annotations

from datetime import date

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits
from bayes_assess.designs import VarianceReduction
from bayes_assess.estimators import betting
from bayes_assess.estimators.verdicts import interval_quantiles, region_masses
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.measures import value_of
from bayes_assess.models.calibration_curve import drawn, prior_curves
from bayes_assess.sessions.description import describe_question, described_question
from made import labelled_sessions, play_on_numpy

RNG = np.random.default_rng(11)
N, FEW = 400, 100  # every label takes milliseconds
SCORES = RNG.beta(0.5, 2.0, N)
LABELS = (RNG.random(N) < SCORES).astype(int)
FIRST, SECOND = (SCORES >= 0.5).astype(int), (SCORES + RNG.normal(0, 0.25, N) >= 0.5).astype(int)
SITE = RNG.choice(["x", "y"], N)


def pool_of(n):
    """The first items."""
    scores = np.stack([1 - SCORES, SCORES], axis=1)
    return ba.Pool(predictions=FIRST[:n], scores=scores[:n], systems={"rival": SECOND[:n]}, groups={"site": SITE[:n]})


POOL = pool_of(N)
SYSTEMS = ba.Compare("prediction", "rival", measure="f1", rope=0.02)
SITES = ba.Compare("x", "y", by="site", measure="f1", rope=0.02)
SMALL = VarianceReduction(n_strata=12)


told = labelled_sessions(POOL, LABELS, SYSTEMS, batch=50, design=SMALL)


def f1(which, predictions=FIRST):
    return value_of("f1", LABELS[which], predictions[which], classes=[0, 1])


@pytest.mark.parametrize("question", [SYSTEMS, ba.Metric("f1", systems=["prediction", "rival"])])
def test_before_labels_either_system_may_be_right_more_often_where_they_differ(question):
    setting = question.setting(POOL, strata=SMALL.strata_of(POOL))
    events, one = setting.cells.events, setting.cells.one_of_each()
    starts = [drawn(prior_curves(seed, events.members, events.coordinates), 400) for seed in range(4)]
    share = np.concatenate([share for share, _, _ in starts])
    logit = np.log(share / (1 - share))
    first, second = ((FIRST == side) & (SECOND != side) for side in (1, 0))
    apart = logit[:, first[one]].mean(1) - logit[:, second[one]].mean(1)
    assert (apart < -0.7).mean() > 0.1
    assert (apart > 0.7).mean() > 0.1
    # One that corrects the other is right nearly always: in 6 of 100 draws, where a normal effect has 2.
    assert (np.abs(apart) > 4).mean() > 0.04


@pytest.mark.parametrize("question", [SITES, ba.Metric("accuracy", by="site")])
def test_before_labels_either_group_may_have_more_positives_where_predictions_are_alike(question):
    setting = question.setting(POOL, strata=SMALL.strata_of(POOL))
    events, one = setting.cells.events, setting.cells.one_of_each()
    share, _, _ = drawn(prior_curves(0, events.members, events.coordinates), 400)
    logit = np.log(share / (1 - share))
    stratum, site, side = setting.cells.measure.block, SITE[one], FIRST[one]
    for predicted in (0, 1):
        at = {s: {b: c for c, b in enumerate(stratum) if site[c] == s and side[c] == predicted} for s in ("x", "y")}
        both = sorted(set(at["x"]) & set(at["y"]))
        apart = np.mean([logit[:, at["x"][b]] - logit[:, at["y"][b]] for b in both], axis=0)
        assert (apart < -0.7).mean() > 0.1  # cells alone scatter by far less in the mean
        assert (apart > 0.7).mean() > 0.1


def test_before_labels_predictions_of_one_class_may_be_right_more_often_than_those_of_another():
    """Where a measure needs all of a label, at the same confidence."""
    rng = np.random.default_rng(3)
    predicted, confidence = np.arange(900) % 3, np.repeat(rng.uniform(0.4, 1, 300), 3)
    pool = ba.Pool(predictions=predicted, confidence=confidence, classes=range(3))
    setting = ba.Metric("balanced_accuracy").setting(pool, strata=SMALL.strata_of(pool))
    events, one = setting.cells.events, setting.cells.one_of_each()
    share, _, _ = drawn(prior_curves(0, events.members, events.coordinates), 400)
    logit = np.log(share / (1 - share))
    first, second = (logit[:, predicted[one] == k] for k in (0, 1))
    apart = (first - second).mean(1)  # cells of one stratum, in the same order
    assert (apart < -0.7).mean() > 0.1
    assert (apart > 0.7).mean() > 0.1


@pytest.mark.parametrize("others", [["rival"], ["rival", "third"]])
def test_effects_of_systems_prefer_none_and_differ_alike_between_any_two(others):
    third = 1 - FIRST
    of_both = (SCORES + SECOND) / 2  # which tells the predictions of neither apart
    pool = ba.Pool(predictions=FIRST, scores=of_both, systems={"rival": SECOND, "third": third})
    cells = ba.Metric("f1", systems=["prediction", *others]).setting(pool, strata=SMALL.strata_of(pool)).cells
    one = cells.one_of_each()
    votes = np.stack([FIRST, SECOND, third][: 1 + len(others)], axis=1)[one]
    effects = cells.events.coordinates.groups
    away = votes - votes.mean(1, keepdims=True)
    np.testing.assert_allclose(effects @ effects.T, away @ away.T, atol=1e-6)  # as of one effect of every system


def test_a_score_that_tells_predictions_of_one_system_apart_ranks_alone_and_others_have_a_say():
    """The rates of items that one system alone predicts follow its score, of the other's what its verdict tells."""
    setting = SYSTEMS.setting(POOL, strata=SMALL.strata_of(POOL))
    events, one = setting.cells.events, setting.cells.one_of_each()
    rank = events.coordinates.place[0]
    assert (rank[FIRST[one] == 1] > 0).all()
    assert (rank[FIRST[one] == 0] < 0).all()
    verdict = events.coordinates.groups[:, 0] / (SECOND[one] - 0.5)
    np.testing.assert_allclose(verdict, verdict[0], rtol=1e-6)
    assert verdict[0] > 0
    assert (events.members.group_mean > 0).all()  # where the other says so, labels are positive more often than not
    share, _, _ = drawn(prior_curves(0, events.members, events.coordinates), 2000)
    logit, stratum = np.log(share / (1 - share)), setting.cells.measure.block
    at = [{b: c for c, b in enumerate(stratum) if SECOND[one][c] == side} for side in (0, 1)]
    both = sorted(set(at[0]) & set(at[1]))
    apart = np.mean([logit[:, at[1][b]] - logit[:, at[0][b]] for b in both], axis=0)
    assert 2 < np.median(apart) < 6
    assert (apart > 7).mean() > 0.08  # one that is right nearly always
    assert (apart < 0.5).mean() > 0.05  # and one that knows nothing of its own


def test_another_cut_of_the_same_score_is_no_verdict_beside_it():
    cuts = {"low": SCORES >= 0.3, "high": SCORES >= 0.7, "none": SCORES > 1}
    systems = {**{name: above.astype(int) for name, above in cuts.items()}, "rival": SECOND}
    pool = ba.Pool(predictions=FIRST, scores=SCORES, systems=systems)

    def coordinates(*names):
        question = ba.Metric("f1", systems=["prediction", *names])
        return question.setting(pool, strata=SMALL.strata_of(pool)).cells.events.coordinates

    assert coordinates("low", "high", "none").groups.shape[1] == 0
    assert coordinates("low", "rival", "high").groups.shape[1] == 1


def test_a_score_that_is_nearly_as_good_for_another_system_ranks_the_items_of_both():
    """As for new versions of a system: items that either alone announces are the next ones on both sides of the cut."""
    version = (SCORES + np.random.default_rng(5).normal(0, 0.03, N) >= 0.5).astype(int)
    pool = ba.Pool(predictions=FIRST, scores=SCORES, systems={"version": version, "rival": SECOND})

    def subject(*names):
        question = ba.Metric("f1", systems=["prediction", *names])
        cells = question.setting(pool, strata=SMALL.strata_of(pool)).cells
        return cells.events.subject, cells.events.coordinates, cells.one_of_each()

    found, coordinates, one = subject("version")
    assert found.votes is None
    assert (
        coordinates.place[0][(FIRST & version)[one] == 1].min() > coordinates.place[0][(FIRST & version)[one] == 0]
    ).all()
    assert subject("version", "rival")[0].votes.shape == (N, 2)  # as one of them errs in its own way


@pytest.mark.parametrize("n_others", [4, 6])
def test_of_many_systems_beside_a_score_each_has_an_effect_of_its_own(n_others):
    """As verdicts, or where these are too many to be told apart, as contrasts of all."""
    rng = np.random.default_rng(5)
    systems = {f"other {i}": np.where(rng.random(N) < 0.1, 1 - SECOND, SECOND) for i in range(n_others)}
    pool = ba.Pool(predictions=FIRST, scores=SCORES, systems=systems)
    question = ba.Metric("f1", systems=["prediction", *systems])
    groups = question.setting(pool, strata=SMALL.strata_of(pool)).cells.events.coordinates.groups
    assert groups.shape[1] == n_others
    assert np.linalg.matrix_rank(groups) == n_others


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (SYSTEMS, f1(slice(FEW)) - f1(slice(FEW), SECOND)),
        pytest.param(
            SITES,
            f1(np.flatnonzero(SITE[:FEW] == "x")) - f1(np.flatnonzero(SITE[:FEW] == "y")),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_with_all_labels_the_verdict_is_exact(question, expected):
    pool = pool_of(FEW)
    assert question.truth(pool, LABELS[:FEW]) == pytest.approx(expected, abs=1e-12)
    r = told(min(FEW, pool.n_items), question, pool=pool).result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(r.interval, [expected, expected], atol=1e-12)
    np.testing.assert_allclose(r.design_interval, [expected, expected], atol=1e-12)
    assert r.masses.max() == 1
    assert r.eta == (expected >= -0.02) + (expected > 0.02)
    assert r.verdict.endswith("as their labels show.")


def test_on_the_way_verdict_and_interval_agree():
    r = told(60).result()
    assert r.masses.sum() == pytest.approx(1)
    assert r.probability == r.masses.max()
    low, high = r.interval
    assert -1 <= r.design_interval[0] <= low < r.estimate < high <= r.design_interval[1] <= 1
    inside = (np.abs(r.draws[:, 0]) <= 0.02 + 1e-12).mean()  # of one draw the difference is .02, but for rounding
    assert r.masses[1] == pytest.approx(inside, abs=1e-12)
    assert r.summary().splitlines()[1].startswith("The F1 of the pool's system is ")
    assert "rival" in r.verdict
    assert r.plot().get_title(loc="left").startswith("F1 of the pool's system less rival")
    plt.close("all")


@pytest.mark.parametrize("n", [0, 6])
def test_of_equally_probable_verdicts_that_of_the_estimate_is_given(n):
    """Intervals of few draws leave a gap around the estimate: the masses below and above are a half each."""
    r = told(n, ba.Compare("rival", "prediction", measure="recall", rope=0.02), design="importance").result()
    assert r.masses.tolist() == [0.5, 0.0, 0.5]
    assert r.estimate > 0.02
    assert r.eta == 2
    said = "The recall of rival is more than 2 points above that of the pool's system with probability 0.50."
    assert r.verdict == (said if n else "There is no label yet that tells how rival and the pool's system compare.")


def test_of_equally_probable_verdicts_none_is_on_the_other_side_of_0_than_the_estimate():
    """An estimate within the region was said to be below it, whichever sign it had."""
    groups = {"system": ["A"] * 40 + ["B"] * 40, "prompt": [*range(40)] * 2}
    pool = ba.Pool(predictions=np.resize([1, 2, 3, 4, 5], 80), classes=[1, 2, 3, 4, 5], groups=groups)
    question = ba.Compare("A", "B", by="system", measure="mean", pair="prompt", rope=1.2)
    sides = set()
    for first, second in ((3, 4), (4, 3)):
        a = ba.assess(pool, question, design="passive")
        a.tell(a.ask(2).ids, [first, second])
        r = a.result()
        assert r.masses.tolist() == [0.5, 0.0, 0.5]
        assert 0 < np.abs(r.estimate) <= 1.2
        assert r.eta == (2 if r.estimate > 0 else 0)
        sides.add(r.eta)
    assert sides == {0, 2}


@pytest.mark.parametrize(
    ("options", "better"),
    [
        ({"measure": "f1"}, ["y", "x"]),
        ({"measure": "zero_one_loss"}, ["x", "y"]),
        ({"measure": "ece", "bins": 2}, ["x", "y"]),
        ({}, ["y", "x"]),
    ],
)
def test_figures_call_the_side_with_the_lower_loss_the_better_one(options, better):
    """Left is where the first side has the lower value."""
    r = told(8, ba.Compare("x", "y", by="site", **options), design=None).result()
    left, _, right = (text.get_text().split(" ")[0].split("\n")[0] for text in r.plot().texts)
    assert [left, right] == better
    plt.close("all")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ba.Compare("x", "y", by="site", rope=0), ["less accurate", "equally accurate", "more accurate"]),
        (ba.Compare("prediction", "rival", rope=0), ["less accurate", "equally accurate", "more accurate"]),
        (ba.Compare("prediction", "rival", measure="f1", rope=0), ["below that", "equal to that", "above that"]),
        (ba.Compare("x", "y", by="site", measure="matthews_corrcoef", rope=0.0), ["below", "equal to", "above"]),
    ],
)
def test_without_a_region_of_equivalence_verdicts_speak_of_no_points(question, said):
    r = told(8, question, design=None).result()
    assert said[r.eta] in r.verdict
    assert [words in r.section.event(eta) for eta, words in enumerate(said)] == [True] * 3
    shown = f"{r.verdict}\n{r.verdict_table()}"
    assert "equal" in shown
    assert " 0 points" not in shown
    assert "more than" not in shown
    pairs = ba.assess(POOL, ba.Compare(by="site", rope=0, measure="rate")).result()
    assert "none of them are of equal groups" in pairs.summary()


def test_only_items_of_the_two_groups_are_asked_for():
    sites = np.where(np.arange(N) < 100, "other", SITE)
    pool = ba.Pool(predictions=FIRST, scores=POOL.scores, groups={"site": sites})
    a = ba.assess(pool, SITES, design=SMALL)
    assert a.n_remaining <= N - 100
    assert (a.ask(50).ids >= 100).all()


def test_random_labels_answer_it_too():
    r = told(100, design="passive").result()
    assert r.masses.sum() == pytest.approx(1)
    low, high = r.interval
    assert low < r.estimate < high
    assert "with probability" in r.verdict
    assert told(N, design="passive").result().verdict.endswith("as their labels show.")


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_studies_score_verdicts(compiled, monkeypatch):
    designs = ["passive", SMALL] if compiled else ["passive"]
    if not compiled:
        play_on_numpy(monkeypatch)
    study = ba.simulate(POOL, LABELS, SYSTEMS, designs=designs, budgets=[40, 200], repeats=6)
    assert study.truth == pytest.approx(f1(slice(None)) - f1(slice(None), SECOND), abs=1e-12)
    for scores in study.scores.values():
        assert scores["right"].shape == scores["error"].shape == (6, 2)
        assert set(np.unique(scores["right"])) <= {0.0, 1.0}
    assert set(study.labels_to("right")) == set(study.scores)


def test_verdicts_from_draws_say_what_their_intervals_say():
    one, tiny = np.ones(1), np.full(1, 1e-9)
    answer = Estimate(0.03 * one, 1e-4 * one, 1e-4 * one, tiny, tiny, one > 0, np.array(1e6), np.array(False))
    quantiles = interval_quantiles(answer, ((-1.0, 1.0),))[..., 0, :]
    assert (np.diff(quantiles) >= 0).all()
    # P(D > .02) = Phi(1) of Normal(.03, .01), to the resolution of the quantiles
    assert region_masses(quantiles, 0.02)[2] == pytest.approx(0.8413, abs=0.01)


def test_journals_keep_it(tmp_path):
    for question in (SYSTEMS, SITES):
        assert repr(described_question(describe_question(question))) == repr(question)
    a = told(30, journal=tmp_path / "run.db")
    again = ba.resume(tmp_path / "run.db", POOL)
    assert again.result().verdict == a.result().verdict


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ba.Compare("prediction", None, measure="f1"), "two sides"),
        (lambda: ba.Compare("rival", "rival", measure="f1"), "with itself"),
        (lambda: ba.Compare("prediction", SECOND, measure="f1"), "systems="),
        (lambda: ba.Compare("x", "y", by=SITE, measure="f1"), "name"),
        (lambda: ba.Compare("x", "y", by="site", measure=["f1", "recall"]), "one measure"),
        (lambda: ba.Compare("x", "y", by="site", measure="f1", target="population"), "pool"),
        (lambda: ba.assess(POOL, ba.Compare("x", "q", by="site", measure="f1")), "no group 'q'"),
        (lambda: ba.assess(POOL, ba.Compare("prediction", "q", measure="f1")), "no system 'q'"),
        (lambda: ba.Compare("x", "y", by="site", measure="no such measure"), "no such measure"),
    ],
)
def test_what_cannot_be_compared_is_refused(ask, message):
    with pytest.raises(ba.QuestionError, match=message):
        ask()


@pytest.mark.slow
def test_leads_of_a_system_that_corrects_another_hold():
    """Of 12 campaigns in which intervals hold with .9, fewer than 7 do in one of 1,000."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p = np.clip(rng.beta(0.4, 1.0, 800), 1e-6, 1 - 1e-6)
        labels = (rng.random(800) < p).astype(int)
        first = (p > 0.5).astype(int)
        better = np.where(rng.random(800) < 0.5, labels, first)
        worse = np.where(rng.random(800) < 0.12, rng.integers(0, 2, 800), first)
        pool = ba.Pool(predictions=first, scores=p, systems={"better": better, "worse": worse})
        a = ba.assess(pool, ba.Best(), seed=seed)
        for _ in range(3):
            queries = a.ask(10)
            a.tell(queries.ids, labels[queries.ids])
        truth, (low, high) = ba.Best().truth(pool, labels)[1], a.result().interval[1]
        held.append(low - 1e-12 <= truth <= high + 1e-12)
    assert sum(held) >= 7


@pytest.mark.slow
def test_differences_of_systems_whose_errors_are_independent_hold():
    """One of them has scores. Of 12 campaigns in which intervals hold with .9, fewer than 7 do in one of 1,000.

    Items that one system alone predicts are ranked among each other by two scores that have nothing in common: with one
    curve over both, as a planted fault, 3 of 12 held.
    """
    rng, n = np.random.default_rng(0), 40_000
    labels = rng.random(n) < 0.004
    seen = labels & (rng.random(n) >= 0.15)
    first, second = (2.6 * seen + rng.normal(size=n) for _ in range(2))
    cut = np.quantile(first, 1 - 0.006)
    systems = {"new": (second > cut).astype(int)}
    pool = ba.Pool(predictions=(first > cut).astype(int), scores=1 / (1 + np.exp(2 - first)), systems=systems)
    question, design = ba.Compare("new", "prediction", measure="f1"), "variance_reduction"
    study = ba.simulate(pool, labels.astype(int), question, designs=design, budgets=[200], repeats=12, batch=50)
    low, high = np.moveaxis(study.intervals[design][:, 0], -1, 0)
    assert ((low - 1e-9 <= study.truth) & (study.truth <= high + 1e-9)).sum() >= 7


def test_a_difference_without_trust_is_that_of_two_intervals_that_hold_together():
    """Each misses with half of the probability that is left."""
    a = told(30, design=VarianceReduction(n_strata=4, audit=0.9))
    state, counts = a._state, np.asarray(a._state.settled_counts)
    unlabelled = np.asarray(state.measure.size) - counts.sum(1)
    ends = []
    for side in range(2):
        f, g = state.audit.f[side], state.audit.g[side]
        bets = engine.tree_map(lambda x, side=side: np.asarray(x)[side], state.audit.bets)
        with engine.eager(), in_64_bits():
            ends.append(betting.interval(bets, f, g, counts, unlabelled, 0.95))
    (low, high), (least, most) = ends
    found = a.result(level=0.9).design_interval
    np.testing.assert_allclose(found, [low - most, high - least], atol=1e-9)
    assert np.diff(a.result(level=0.8).design_interval) < 0.999 * np.diff(found) < 1.9  # known from random items


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_of_systems_that_predict_the_same_the_difference_is_exactly_0(design):
    """Intervals were [0, 0] and credible, and verdicts of probability 0.5 said that one of them is better."""
    pool = ba.Pool(predictions=[0, 1] * 50, systems={"b": [0, 1] * 50})
    question = ba.Compare("b", "prediction", measure="f1")
    a = ba.assess(pool, question, design=design)
    assert a.n_remaining == 0
    assert a.result().summary().splitlines()[1:] == [
        "The F1 of b is within 5 points of that of the pool's system, whatever their labels are.",
        "f1 (system b) less f1 (system prediction) 0.000 (exact).",
    ]
    with pytest.raises(ba.BudgetError, match="No label can change the answer to this question on this pool"):
        ba.simulate(pool, [0, 1] * 50, question, designs=design)


@pytest.mark.parametrize("measure", ["accuracy", "rate"])
@pytest.mark.parametrize(
    ("days", "named", "sides"),
    [
        (["2020-01-01", "2021-01-01"], ["2020-01-01", "2021-01-01"], [pd.Timestamp("2020-01-01"), date(2021, 1, 1)]),
        (["2020-01-01", "2021-01-01"], ["2020-01-01", "2021-01-01"], ["2020-01-01T00:00:00", "2021-01-01"]),
        (
            ["2020-01-01 10:30", "2021-01-01 00:00"],
            ["2020-01-01T10:30:00", "2021-01-01T00:00:00"],
            ["2020-01-01 10:30", np.datetime64("2021-01-01")],
        ),
    ],
)
def test_groups_that_are_dates_are_compared_however_a_date_is_written(measure, days, named, sides):
    pool = ba.Pool(predictions=["a", "b"] * 10, groups={"day": pd.to_datetime(days * 10)})
    assert ba.assess(pool, ba.GroupAccuracy(by="day")).cells.names.astype(str).tolist() == named
    a = ba.assess(
        pool, ba.Compare(*sides, by="day", measure=measure, **({} if measure == "accuracy" else {"positive": "a"}))
    )
    a.tell(pool.ids, ["a"] * 20)
    assert a.result().estimate == (1.0 if measure == "accuracy" else 0.0)
    with pytest.raises(ba.QuestionError, match="There is no group '2020-01-02'"):
        ba.assess(pool, ba.Compare("2020-01-02", sides[1], by="day", measure=measure))
