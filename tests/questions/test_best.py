"""The best of several systems: leads, how sure they are, and where labels go."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.acquisition.measure_variance import CurveMoments, expected_reduction
from bayes_assess.designs._audit import design_intervals
from bayes_assess.estimators import joint_draws
from bayes_assess.measures import centred_table, table_for
from made import play_on_numpy

LEVEL = 0.95


def five_systems(seed: int, n: int = 2_000, n_classes: int = 4) -> tuple[ba.Pool, np.ndarray]:
    """Systems that find the same items hard, each with errors of its own too."""
    rng = np.random.default_rng(seed)
    label = rng.integers(n_classes, size=n)
    hard = rng.random(n)
    predicted = {}
    for name, accuracy in zip("abcde", rng.uniform(0.7, 0.85, 5), strict=True):
        difficulty = np.where(rng.random(n) < 0.8, hard, rng.random(n))
        wrong = (label + rng.integers(1, n_classes, n)) % n_classes
        predicted[name] = np.where(difficulty < accuracy, label, wrong)
    own = predicted.pop("a")
    return ba.Pool(predictions=own, systems=predicted, classes=list(range(n_classes))), label


def leads_of(pool: ba.Pool, label: np.ndarray) -> np.ndarray:
    right = np.array([(pool.system_codes(name) == label).mean() for name in ("prediction", *pool.systems)])
    return np.array([one - np.delete(right, i).max() for i, one in enumerate(right)])


def leads_by(pool: ba.Pool, label: np.ndarray, measure: str) -> np.ndarray:
    a = ba.assess(pool, ba.Best(measure=measure))
    a.tell(pool.ids, label)
    return a.result().estimate


@pytest.mark.parametrize("measure", ["accuracy", "zero_one_loss"])
def test_only_items_matter_on_which_some_systems_differ(measure):
    pool, _ = five_systems(0)
    codes, table = table_for(measure, pool, systems=["prediction", *pool.systems])
    centred = centred_table(table)
    predicted = np.array([pool.system_codes(name) for name in ("prediction", *pool.systems)])
    np.testing.assert_array_equal(centred.nonzero.any(1)[codes], (predicted != predicted[0]).any(0))
    # Values less their mean, for any shares of the labels.
    share = np.random.default_rng(0).dirichlet(np.ones(np.prod(table.nonzero.shape))).reshape(table.nonzero.shape)
    value = np.asarray(table.value(table.mean(share)))
    np.testing.assert_allclose(centred.value(centred.mean(share)), value - value.mean(), atol=1e-12)
    jacobian = np.asarray(centred.jacobian(centred.mean(share)))
    np.testing.assert_allclose(jacobian, (-1 if measure == "accuracy" else 1) * np.eye(5), atol=1e-12)


def test_other_measures_keep_their_table():
    pool, _ = five_systems(0)
    _, table = table_for("f1_macro", pool, systems=["prediction", "b"])
    assert centred_table(table) is table


@pytest.mark.parametrize("design", ["adaptive", "importance", "passive"])
def test_leads_are_exact_once_every_item_is_labelled_on_which_systems_differ(design):
    pool, label = five_systems(1, n=300)
    a = ba.assess(pool, ba.Best(), design=design, seed=1)
    predicted = np.array([pool.system_codes(name) for name in ("prediction", *pool.systems)])
    differ = (predicted != predicted[0]).any(0)
    queries = a.ask(int(differ.sum()))
    assert differ[queries.ids].all()
    assert a.done
    a.tell(queries.ids, label[queries.ids])
    r = a.result()
    truth = leads_of(pool, label)
    np.testing.assert_allclose(r.estimate, truth, atol=1e-12)
    np.testing.assert_allclose(r.interval, truth[:, None] + np.zeros(2), atol=1e-9)
    assert r.guarantee == "exact"
    assert r.probability_best.max() == 1.0
    np.testing.assert_allclose(a.question.truth(pool, label), truth, atol=1e-12)


def two_classes(seed: int, n: int = 2_000) -> tuple[ba.Pool, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.5, 1.0, n)
    label = (rng.random(n) < score).astype(int)
    others = {
        name: (score + rng.normal(0, noise, n) > 0.5).astype(int) for name, noise in zip("bc", (0.15, 0.3), strict=True)
    }
    return ba.Pool(scores=score, systems=others), label


@pytest.mark.parametrize(
    ("made", "design"),
    [
        (five_systems, "importance"),
        pytest.param(five_systems, "passive", marks=pytest.mark.slow),
        pytest.param(two_classes, "variance_reduction", marks=pytest.mark.slow),
    ],
)
def test_intervals_of_leads_cover(made, design):
    """One campaign on each of 12 pools; the leads of a pool are held or missed together, at worst."""
    held = []
    for seed in range(12):
        pool, label = made(seed)
        a = ba.assess(pool, ba.Best(), design=design, seed=seed)
        queries = a.ask(80)
        a.tell(queries.ids, label[queries.ids])
        low, high = a.result(level=LEVEL).interval.T
        truth = leads_of(pool, label)
        held.append(((low <= truth) & (truth <= high)).mean())
    error = np.sqrt(LEVEL * (1 - LEVEL) / len(held))
    assert np.mean(held) > LEVEL - stats.norm.isf(1e-3) * error


def test_a_relative_fall_of_the_variance_counts_by_what_it_takes_from_the_expected_loss():
    """E max(-D, 0) of a Gaussian lead D, its derivative by the log of the variance found by differences."""
    rng = np.random.default_rng(0)
    rates, strength = rng.beta(2, 3, (64, 5)), np.full((64, 5), 50.0)
    with engine.eager():
        told = CurveMoments.of(rates, strength, np.zeros(64), np.zeros((5, 2))), np.full(5, 40), np.zeros(5, int)
    influence = rng.normal(size=(5, 3))

    def gains(columns, **behind):
        with engine.eager():
            return np.asarray(expected_reduction(*told, influence[:, columns], **behind))

    relative = np.array([gains([j]) for j in range(3)])  # of one measure the relative fall of its variance
    variance = np.array([gains([j], behind=np.zeros(1)) / relative[j] for j in range(3)])[:, 0] ** 2  # weight is sd
    behind = np.array([0.5, 1.0, 2.0]) * np.sqrt(variance)

    def loss(log_variance, j):
        sd = np.exp(log_variance / 2)
        z = behind[j] / sd
        return sd * (stats.norm.pdf(z) - z * stats.norm.sf(z))

    steps = np.log(variance)[:, None] + np.array([1e-4, -1e-4])
    slope = np.array([(loss(up, j) - loss(down, j)) / 2e-4 for j, (up, down) in enumerate(steps)])
    found, expected = gains([0, 1, 2], behind=behind), slope @ relative
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-6)


@pytest.mark.slow
def test_labels_go_to_items_that_tell_the_contenders_apart():
    rng = np.random.default_rng(2)
    label = (rng.random(3_000) < 0.4).astype(int)
    near = {name: np.where(rng.random(3_000) < 0.9, label, 1 - label) for name in ("b", "c")}
    far = np.where(rng.random(3_000) < 0.6, label, 1 - label)
    pool = ba.Pool(predictions=far, systems=near, classes=[0, 1])
    differ, shares = near["b"] != near["c"], {}
    for question in (ba.Best(), ba.Metric("accuracy", systems=["prediction", "b", "c"])):
        a = ba.assess(pool, question, design="variance_reduction", seed=0)
        for _ in range(6):
            queries = a.ask(10)
            a.tell(queries.ids, label[queries.ids])
        shares[question.name] = differ[a._items.label >= 0].mean()
    best, levels = shares.values()
    assert best > levels + 0.2


def test_what_nobody_would_care_about_counts_as_equal():
    pool, label = five_systems(3)
    a, b = (ba.assess(pool, ba.Best(rope=rope), seed=0) for rope in (0.0, 0.05))
    for session in (a, b):
        ids = session.ask(200).ids
        session.tell(ids, label[ids])
    strict, wide = a.result(), b.result()
    np.testing.assert_allclose(strict.estimate, wide.estimate)
    assert (wide.probability_good >= wide.probability_best - 1e-12).all()
    assert wide.probability_good.sum() > 1.5
    assert "or is within 5 points of the best with probability" in wide.verdict


def test_a_journal_brings_the_session_back(tmp_path):
    pool, label = five_systems(4)
    a = ba.assess(pool, ba.Best(), journal=tmp_path / "run.db", seed=0)
    queries = a.ask(30)
    a.tell(queries.ids[:15], label[queries.ids[:15]])
    shutil.copy(tmp_path / "run.db", tmp_path / "copy.db")
    b = ba.resume(tmp_path / "copy.db", pool)
    np.testing.assert_array_equal(a.result().estimate, b.result().estimate)
    np.testing.assert_array_equal(a.ask(5).ids, b.ask(5).ids)


@pytest.mark.parametrize("design", ["variance_reduction", "adaptive", "passive"])
def test_the_best_by_f1_is_exact_once_all_is_labelled(design):
    rng = np.random.default_rng(5)
    label = (rng.random(40) < 0.3).astype(int)
    predicted = {
        name: np.where(rng.random(40) < share, label, 1 - label)
        for name, share in zip("abc", (0.7, 0.9, 0.8), strict=True)
    }
    pool = ba.Pool(predictions=predicted["a"], systems={name: predicted[name] for name in "bc"})
    a = ba.assess(pool, ba.Best(measure="f1"), design=design)
    queries = a.ask(40)
    a.tell(queries.ids, label[queries.ids])
    f1 = np.array([2 * (p & label).sum() / (p.sum() + label.sum()) for p in predicted.values()])
    truth = np.array([one - np.delete(f1, i).max() for i, one in enumerate(f1)])
    np.testing.assert_allclose(a.result().estimate, truth, atol=1e-12)
    assert a.result().best == "b"
    assert a.result().verdict == "b has the highest F1, as the labels show."


def test_plans_follow_the_probability_of_the_verdict():
    """Of systems that differ they rise from that of the result to the one that is wished."""
    rng = np.random.default_rng(1)
    label = rng.random(1_500) < 0.1

    def system(missed, false):
        return np.where(label, rng.random(1_500) > missed, rng.random(1_500) < false).astype(int)

    pool = ba.Pool(predictions=system(0.2, 0.02), systems={"b": system(0.25, 0.03), "c": system(0.15, 0.02)})
    a = ba.assess(pool, ba.Best(measure="f1", rope=0.005), seed=0)
    queries = a.ask(30)
    a.tell(queries.ids, label[queries.ids].astype(int))
    result, wished = a.result(), 0.99
    assert result.probability == result.probability_good.max() < wished
    plan = a.plan(probability=wished, futures=6)
    assert plan.kind == "probability"
    assert not plan.widest  # there is one verdict
    np.testing.assert_allclose(plan.paths[:, 0], result.probability)
    followed = plan.paths[np.isfinite(plan.needed)].max(1)
    assert len(followed) > 0
    assert (followed >= wished).all()
    with pytest.raises(ba.QuestionError, match="one goal"):
        a.plan(width=0.1, probability=wished)


def test_the_verdict_says_its_probability_where_systems_may_be_equal():
    """They differ on two items, of which neither is labelled: a system that shares the first place is the best, too."""
    pool = ba.Pool(predictions=[0, 1, 1, 0] * 5, systems={"b": [0, 1, 0, 1] + [0, 1, 1, 0] * 4})
    result = ba.assess(pool, ba.Best(), seed=0).result()
    assert result.probability_good.sum() > 1.1 > result.probability_best.sum()
    assert f"has the highest accuracy or is as good with probability {result.probability:.2f}" in result.verdict


@pytest.mark.parametrize(("n_systems", "said"), [(5, ""), (9, " and 4 more")])
def test_the_verdict_says_how_many_other_systems_are_possible(n_systems, said):
    predictions = np.random.default_rng(2).integers(0, 2, (n_systems, 60))
    pool = ba.Pool(predictions=predictions[0], systems={f"s{i}": row for i, row in enumerate(predictions[1:])})
    verdict = ba.assess(pool, ba.Best(rope=0.3), seed=0).result().verdict
    others = verdict.split("also possible: ")[1]
    assert others.count("(") == 4
    assert others.endswith(f"){said}.")


@pytest.mark.parametrize(
    ("measure", "within"), [("f1", "2 points of"), ("matthews_corrcoef", "0.02 of"), ("cohen_kappa", "0.02 of")]
)
def test_regions_are_in_points_where_differences_are_of_shares(measure, within):
    pool = ba.Pool(predictions=np.resize([0, 1], 60), systems={"b": np.resize([0, 1, 1], 60)})
    for question in (ba.Best(measure=measure, rope=0.02), ba.Compare("b", "prediction", measure=measure, rope=0.02)):
        a = ba.assess(pool, question)
        shown = f"{a.result().summary()}{getattr(a.result().section, 'rope', '')} of"
        assert within in shown
        assert ("points" in shown) == ("points" in within)


def test_of_losses_the_lowest_is_the_best():
    pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"b": [0, 1, 0, 1]})
    a = ba.assess(pool, ba.Best(measure="zero_one_loss"))
    a.tell(pool.ids, [0, 1, 1, 0])
    r = a.result()
    assert r.best == "prediction"
    assert r.estimate.tolist() == [0.5, -0.5]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda pool: ba.assess(ba.Pool(predictions=[0, 1]), ba.Best()), "Give the pool the predictions of others"),
        (lambda pool: ba.assess(pool, ba.Best(["prediction", "new"])), "no system 'new'"),
        (lambda pool: ba.assess(pool, ba.Best(["b", "b"])), "each named once"),
        (lambda pool: ba.assess(pool, ba.Best(measure=["f1", "recall"])), "one measure"),
        (lambda pool: ba.assess(pool, ba.Best(measure="rate")), "positive labels is the same for all systems"),
        (lambda pool: ba.assess(pool, ba.Best(rope=1.0)), "from 0 up to but not including 1"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ba.QuestionError, match=message):
        ask(five_systems(0, n=50)[0])


def test_a_study_ends_at_the_leads_of_all_labels(monkeypatch):
    play_on_numpy(monkeypatch)
    pool, label = five_systems(1, n=300)
    predicted = np.array([pool.system_codes(name) for name in ("prediction", *pool.systems)])
    looks = [40, int((predicted != predicted[0]).any(0).sum())]
    study = ba.simulate(pool, label, ba.Best(), designs=["passive"], budgets=looks, repeats=4, progress=False)
    truth = leads_of(pool, label)
    np.testing.assert_allclose(study.truth, truth, atol=1e-12)
    np.testing.assert_allclose(study.estimates["passive"][:, 1], np.tile(truth, (4, 1)), atol=1e-9)
    np.testing.assert_allclose(study.intervals["passive"][:, 1], np.tile(truth[:, None], (4, 1, 2)), atol=1e-9)
    low, high = np.moveaxis(study.intervals["passive"][:, 0], -1, 0)
    assert (low < high).all()
    table = study.table()
    assert (np.asarray(table["best"])[np.asarray(table["labels"]) == looks[1]] == 1).all()


@pytest.mark.parametrize("design", ["passive", "variance_reduction"])
def test_standard_errors_and_ellipsoid_are_those_of_the_leads(design):
    """Of two systems one lead is the other's turned round: their correlation is -1."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 400)
    first, second = (np.where(rng.random(400) < error, 1 - labels, labels) for error in (0.1, 0.25))
    pool = ba.Pool(predictions=first, systems={"b": second})
    a = ba.assess(pool, ba.Best(), design=design)
    ids = a.ask(60).ids
    a.tell(ids, labels[ids])
    result: Any = a.result()
    lead, other = result.standard_error
    assert lead == pytest.approx(other)
    # 95 % of a bell curve, up to skewness and draws.
    np.testing.assert_allclose(np.diff(result.interval, axis=1).ravel() / (2 * 1.96), [lead, other], rtol=0.25)
    if design == "importance":
        np.testing.assert_allclose(result.covariance / lead**2, [[1, -1], [-1, 1]], atol=1e-9)
        assert result.in_ellipsoid(result.estimate)
        assert not result.in_ellipsoid(result.estimate + 5 * np.array([lead, -lead]))


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["accuracy", "zero_one_loss", "f1"])
def test_random_items_alone_bound_the_leads(measure):
    """Whatever the belief takes for granted: at all looks of a campaign together, in no fewer than were promised."""
    pool, label = two_classes(3, n=200)
    truth, n = leads_by(pool, label, measure), 100
    study = ba.simulate(
        *(pool, label, ba.Best(measure=measure)), designs=["variance_reduction"], budgets=[10, 40], repeats=n, level=0.8
    )
    ends = study.design_intervals["variance_reduction"]
    assert ends.shape == (n, 2, 3, 2)
    held = ((ends[..., 0] <= truth + 1e-9) & (truth <= ends[..., 1] + 1e-9)).all((1, 2)).sum()
    assert held >= stats.binom.ppf(1e-4, n, 0.8)
    width = np.ptp(ends, axis=-1).mean((0, 2))
    assert width[1] < width[0]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6))
def test_bounds_of_leads_hold_them_and_are_reached(systems):
    """Wherever within its bounds every value lies; and at the ends, where the value is low and all others are high."""
    low, width, place = np.array(systems).T
    ends = np.stack([low, low + width], axis=-1)
    lead = joint_draws.leads(low + place * width)
    bounds = joint_draws.bounded_leads(ends)
    assert ((bounds[:, 0] <= lead + 1e-9) & (lead <= bounds[:, 1] + 1e-9)).all()
    for g, bound in enumerate(bounds):
        for own, worst in ((0, 1), (1, 0)):
            values = ends[:, worst].copy()
            values[g] = ends[g, own]
            assert joint_draws.leads(values)[g] == pytest.approx(bound[own], abs=1e-12)


@pytest.mark.slow
def test_what_random_items_tell_of_a_lead_is_said_beside_the_verdict():
    pool, label = two_classes(3, n=300)
    a = ba.assess(pool, ba.Best(), design=ba.designs.VarianceReduction(audit=0.5), seed=2)
    assert "; no random label among" in a.result().summary()
    for _ in range(2):
        ids = a.ask(15).ids
        a.tell(ids, label[ids])
    result: Any = a.result()
    first = list(result.systems).index(result.best)
    low, high = result.design_interval[first]
    assert f"Without trusting the scores: lead of {result.best} [{low:+.3f}, {high:+.3f}]" in result.summary()
    np.testing.assert_array_equal(result.interval, result.credible_interval)
    assert not result.contradicted.any()
    # It is made of bounds of the measures that hold all at once: each misses in a third of the campaigns that all may.
    bounds, state = result.evidence.design_interval, a._state
    bets = engine.tree_map(lambda part: part[None], state.audit.bets)
    with engine.eager():
        alone = replace(state.measure, sought=None)
        given = state.audit, bets, np.asarray(state.settled_counts)[None], alone
        each, of_one = (design_intervals(*given, level)[0] for level in (1 - 0.05 / 3, 0.95))
    np.testing.assert_allclose(bounds, each)
    assert np.ptp(bounds, axis=1).max() > 1.1 * np.ptp(of_one, axis=1).max()
    others = np.delete(bounds, first, axis=0).max(0)
    np.testing.assert_allclose([low, high], bounds[first] - others[::-1])


@pytest.mark.slow
def test_leads_that_random_items_contradict_hold_what_these_tell():
    pool, label = two_classes(3, n=300)
    a = ba.assess(pool, ba.Best(), seed=2)
    ids = a.ask(60).ids
    a.tell(ids, label[ids])
    result: Any = a.result()
    ends = np.array([[0.2, 0.25], [-0.1, 0.0], [-0.2, -0.15]])[np.argsort(result.estimate)]  # the worst is the best
    found = result.evidence.found._replace(design_interval=ends, sure_design_interval=ends)
    against = replace(result, evidence=replace(result.evidence, found=found))
    assert against.contradicted.any()
    own, design = against.credible_interval, against.design_interval
    hull = np.stack([np.minimum(own, design)[:, 0], np.maximum(own, design)[:, 1]], axis=-1)
    np.testing.assert_array_equal(against.interval, np.where(against.contradicted[:, None], hull, own))
    assert "intervals of leads hold both." in against.summary()
    # Intervals of low levels part by chance, and count for nothing.
    wide = found._replace(sure_design_interval=np.tile([-1.0, 1.0], (3, 1)))
    by_chance = replace(result, evidence=replace(result.evidence, found=wide, level=0.5))
    assert not by_chance.contradicted.any()
    np.testing.assert_array_equal(by_chance.interval, by_chance.credible_interval)


@pytest.mark.slow
def test_no_lead_is_further_than_the_measure_ranges():
    """Of accuracies the belief is on what the systems do not have in common, which ranges further."""
    pool, labels = two_classes(0, n=60)
    a = ba.assess(pool, ba.Best(), seed=0)
    result: Any = a.result()
    few = 60 - (pool.system_codes("prediction") == pool.system_codes("c")).sum()  # items that can tell the two apart
    assert np.abs(result.design_interval).max() < 2 * few / 60 < 1
    of_f1: Any = ba.assess(pool, ba.Best(measure="f1"), seed=0).result()
    assert of_f1.design_interval.tolist() == [[-1.0, 1.0]] * 3
    for rope in (-0.1, 1.0, "wide"):
        with pytest.raises(ba.QuestionError, match="from 0 up to but not including 1"):
            result.pairs(rope)
    a.tell(pool.ids, labels)
    exact: Any = a.result()
    assert exact.design_interval.tolist() == exact.interval.tolist()


def test_a_ranking_says_that_it_is_of_leads():
    pool, labels = two_classes(0, n=60)
    for measure, words in (("accuracy", "accuracy"), ("f1", "F1")):
        a = ba.assess(pool, ba.Best(measure=measure), seed=0)
        a.tell(pool.ids[:9], labels[:9])
        ranking = a.result().ranking()
        assert ranking.title == f"Lead in {words} by system, 95% credible intervals; rank 1 is worst"
        assert ranking["estimate"].min() < 0


@pytest.mark.parametrize("measure", ["accuracy", "f1", "zero_one_loss"])
def test_draws_and_band_are_of_the_leads(measure):
    """Draws of accuracies are less what all systems have in common: nobody could read them as accuracies."""
    pool, labels = two_classes(0, n=60)
    a = ba.assess(pool, ba.Best(measure=measure), seed=0)
    a.tell(pool.ids[:20], labels[:20])
    result: Any = a.result()
    np.testing.assert_allclose(np.median(result.draws, axis=0), result.estimate, atol=0.02)
    ends = result.interval
    assert result.credible_interval.tolist() == ends.tolist()
    step = 1.1 / 60  # leads in accuracy move by an item, and ends of intervals lie between two of them
    assert (result.band()[:, 0] <= ends[:, 0] + step).all()
    assert (result.band()[:, 1] >= ends[:, 1] - step).all()
    data = result.to_arviz()["posterior"]
    assert list(data.data_vars) == ["lead"]
    assert data["lead"].dims == ("chain", "draw", "system")
    np.testing.assert_allclose(np.sort(data["lead"].values.ravel()), np.sort(result.draws.ravel()))


@pytest.mark.slow
@pytest.mark.parametrize("rope", [0.0, 0.02])
def test_the_lead_that_a_summary_says_is_that_of_the_system_of_the_verdict(rope):
    """With a rope, the safest one may not lead."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 300)
    systems = {
        name: np.where(rng.random(300) < right, label, 1 - label)
        for name, right in zip("bcd", (0.8, 0.8, 0.7), strict=True)
    }
    pool = ba.Pool(predictions=systems["b"], systems={name: systems[name] for name in "cd"})
    for seed in range(6):
        a = ba.assess(pool, ba.Best(measure="f1", rope=rope), seed=seed)
        queries = a.ask(8)
        a.tell(queries.ids, label[queries.ids])
        _, verdict, lead, *_ = a.result().summary().splitlines()
        assert lead.startswith(f"Lead of {verdict.split()[0]} over the best of the others")


def test_a_comparison_of_two_of_the_systems_is_refused_with_what_answers_it():
    pool, label = five_systems(3)
    a = ba.assess(pool, ba.Best(), seed=0)
    queries = a.ask(50)
    a.tell(queries.ids, label[queries.ids])
    instead = "Of 'b' and 'c' alone Best is answered by these labels: the lead is their difference"
    with pytest.raises(ba.QuestionError, match=instead):
        a.result(question=ba.Compare("b", "c"))
    assert a.result(question=ba.Best(["b", "c"])).labels_used == 50
    with pytest.raises(ba.QuestionError) as refused:
        a.result(question=ba.Compare("b", label))
    assert "alone Best" not in str(refused.value)


@pytest.mark.slow
def test_leads_of_systems_that_are_nearly_equal_hold_the_truth():
    """The highest of many estimates is above the truth, so that all others seem to be further behind than they are."""
    held, n, n_systems = [], 2_000, 20
    for seed in range(12):
        rng = np.random.default_rng([seed, 7])
        label, hard = rng.integers(0, 4, n), rng.random(n)
        predicted = {}
        for system in range(n_systems):
            wrong = np.where(rng.random(n) < 0.8, hard, rng.random(n)) > 0.8
            predicted[f"s{system}"] = np.where(wrong, (label + rng.integers(1, 4, n)) % 4, label)
        pool = ba.Pool(predictions=predicted["s0"], systems={name: predicted[name] for name in list(predicted)[1:]})
        a = ba.assess(pool, ba.Best(), seed=seed)
        queries = a.ask(80)
        a.tell(queries.ids, label[queries.ids])
        result, truth = a.result(), a.question.truth(pool, label)
        held.append(((result.interval[:, 0] <= truth) & (truth <= result.interval[:, 1])).mean())
        foremost = result.systems[np.median(result.evidence.joint, axis=0).argmax()]
        upper = dict(zip(result.systems, result.interval[:, 1], strict=True))
        for pair in result.pairs():
            if foremost == pair["second"]:
                assert upper[pair["first"]] >= pair["upper"] - 1e-9
            elif foremost == pair["first"]:
                assert upper[pair["second"]] >= -pair["lower"] - 1e-9
    assert np.mean(held) > 0.93


def test_titles_say_how_many_systems_there_are_where_names_are_long():
    names = [f"organisation/large-language-model-with-a-long-name-{size}" for size in ("7b", "13b", "70b")]
    pool = ba.Pool(predictions=[0, 1, 1, 0], systems={name: [0, 1, 0, k % 2] for k, name in enumerate(names)})
    title = ba.assess(pool, ba.Best()).result().plot().get_title(loc="left")
    assert title == "Accuracy of 4 systems: 0 of 4 labelled"
    short = ba.assess(pool, ba.Best(["prediction", names[0]])).result().plot().get_title(loc="left")
    assert short.replace("\n", " ").startswith(f"Accuracy of prediction and {names[0]}:")


def test_figures_have_the_best_system_at_the_top_as_tables_have():
    pool, label = five_systems(3)
    a = ba.assess(pool, ba.Best(), seed=0)
    queries = a.ask(200)
    a.tell(queries.ids, label[queries.ids])
    result, truth = a.result(), leads_of(pool, label)
    ax = result.plot(truth=truth)
    assert [name.get_text() for name in ax.get_yticklabels()] == result.table()["system"].tolist()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # from the top down
    found = dict(zip(result.systems, result.estimate, strict=True))
    dots, exact = (np.asarray(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 5)
    np.testing.assert_allclose(dots, [found[name] for name in result.table()["system"]])
    of_systems = dict(zip(result.systems, truth, strict=True))
    np.testing.assert_allclose(exact, [of_systems[name] for name in result.table()["system"]])


@pytest.mark.parametrize("design", ["variance_reduction", "importance"])
@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_of_systems_that_say_the_same_the_lead_over_the_others_is_said(measure, design):
    """The own lead of each is 0 at most, as the other is as good."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 600)
    good, poor = (np.where(rng.random(600) < right, label, 1 - label) for right in (0.95, 0.6))
    pool = ba.Pool(predictions=poor, systems={"x": good, "y": good.copy(), "z": poor.copy()})
    a = ba.assess(pool, ba.Best(measure=measure), design=design, seed=0)
    queries = a.ask(60)
    a.tell(queries.ids, label[queries.ids])
    _, verdict, same, lead, *_ = a.result().summary().splitlines()
    first, second = ("x", "y") if verdict.startswith("x") else ("y", "x")
    assert same == f"No label can tell {first} and {second} apart: they are equally good."
    estimate, low, high = map(float, re.findall(r"[+-]\d\.\d+", lead))
    truth = ba.Best(["x", "prediction"], measure).for_pool(pool).truth(pool, label)[0]
    assert lead.startswith("Their lead over the best of the other systems +0.")
    assert 0 < low < estimate < high
    assert low < truth < high


@pytest.mark.parametrize("measure", ["accuracy", "f1", "f1_macro", "balanced_accuracy"])
def test_systems_that_all_say_the_same_need_no_label(measure):
    pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"x": [0, 1, 1, 0], "y": [0, 1, 1, 0]})
    a = ba.assess(pool, ba.Best(measure=measure), seed=0)
    result = a.result()
    assert (result.guarantee, result.estimate.tolist()) == ("exact", [0.0] * 3)
    assert "or are as good as that, whatever the labels are." in result.summary()
    assert a.question.truth(pool, [0, 1, 0, 1]).tolist() == [0.0] * 3
    with pytest.raises(ba.BudgetError, match="only 0 of 4 can answer this question"):
        a.ask(1)


def test_before_any_label_verdicts_say_that_they_are_expected_or_that_nothing_is_known():
    rng = np.random.default_rng(2)
    predicted = rng.integers(0, 3, (3, 60))
    groups = {"site": np.resize(["x", "y"], 60)}
    three = ba.Pool(predictions=predicted[0], systems={"b": predicted[1], "c": predicted[2]}, groups=groups)
    two = ba.Pool(predictions=predicted[0] % 2, systems={"b": predicted[1] % 2}, groups=groups)
    expected = ", as expected before any label"
    questions = (
        *(ba.Best(), ba.Compare("b", "prediction"), ba.Compare("b", "prediction", measure="f1")),
        *(ba.Compare("x", "y", by="site"), ba.Compare(by="site"), ba.Metric("f1", by="site"), ba.LeastAccurate("site")),
    )
    for question in questions:
        a = ba.assess(two, question)
        ends_so = rf"probability 0\.\d\d\)?{expected}[.;]"
        assert any(re.search(ends_so, line) for line in a.result().summary().splitlines())
        a.tell([0, 1, 2], [0, 1, 1])
        assert expected not in a.result().summary()
    for question, words in (
        (ba.Best(), "which system has the highest accuracy"),
        (ba.Compare("b", "prediction", measure="f1_macro"), "how b and the pool's system compare"),
        (ba.Metric("accuracy", by="site"), "which of 2 is the best"),
    ):
        answer = ba.assess(three, question, design="passive").result()
        assert f"There is no label yet that tells {words}." in answer.summary()
        assert "probability" not in answer.summary()
        assert answer.headline == f"There is no label yet that tells {words}."
    a = ba.assess(three, ba.Best(measure="f1_macro"), design="passive")
    a.tell([0, 1], [0, 1])  # which define no F1 of the third class
    assert a.result().verdict == "There is no label yet that tells which system has the highest macro F1."


def test_what_predictions_alone_settle_is_not_said_to_be_shown_by_labels():
    same = np.resize([0, 1, 2], 30)
    pool = ba.Pool(predictions=same, systems={"b": same})
    question = ba.Compare("b", "prediction", measure="f1_macro")
    a = ba.assess(pool, question)
    assert a.result().verdict.endswith(", whatever their labels are.")
    a.tell(pool.ids, same)
    assert a.result().verdict.endswith(", as their labels show.")


def test_what_cannot_be_asked_is_refused_in_words_that_help():
    labels = ba.Pool(scores=[[0.9, 0.6], [0.2, 0.1]], classes=["cat", "dog"], multilabel=True)
    with pytest.raises(ba.QuestionError, match="Best is asked of items with one label each"):  # not "give it systems"
        ba.assess(labels, ba.Best(measure="f1_micro"))
    pool, _ = five_systems(0, 50)
    with pytest.raises(ba.QuestionError, match="with one value, such as 'f1_macro'; found 'f1_per_class'"):
        ba.assess(pool, ba.Best(measure="f1_per_class"))
    pairs = ba.Compare(by="site", measure="f1_macro")  # of which there are results with a `probability`
    groups = ba.Pool(predictions=[0, 1] * 20, groups={"site": ["a", "b"] * 20})
    with pytest.raises(ba.QuestionError, match="This Compare gives no verdict whose probability a plan could follow"):
        ba.plan(groups, pairs, probability=0.9)


@pytest.mark.slow
def test_accuracies_less_their_mean_are_not_said_to_be_accuracies():
    """They were, where items were set aside and where positives may hide: accuracy -0.22."""
    rng = np.random.default_rng(2)
    label = (rng.random(400) < 0.2).astype(int)
    scores = np.clip(label / 2 + rng.random(400) / 2, 0, 1)
    systems = {name: np.where(rng.random(400) < right, label, 1 - label) for name, right in (("b", 0.9), ("c", 0.6))}
    a = ba.assess(ba.Pool(scores=scores, systems=systems), ba.Best(), seed=1)
    queries = a.ask(40)
    a.tell(queries.ids[:30], label[queries.ids[:30]])
    a.skip(queries.ids[30:])
    result, less = a.result(), "ccuracy (system c) less the mean of all"
    (aside,) = (line for line in result.summary().splitlines() if "ccuracy (system c)" in line)
    assert aside.startswith(f"A{less}, with a 95% credible interval, would be if all of them were positive, -0.")
    assert set(result.sensitivity([0.1]).table()["measure"]) >= {f"a{less}"}
    assert result.systems.tolist() == ["prediction", "b", "c"]
    assert (
        (ba.assess(ba.Pool(scores=scores, systems=systems), ba.Best(measure="f1")).result().groups[2])
        == "f1 (system c)"
    )


def test_ends_of_what_is_possible_are_no_probabilities():
    """Labels that nobody asked for stand for no other item: until they decide, nothing says which system is ahead."""
    rng = np.random.default_rng(0)
    first, labels = rng.integers(0, 3, (2, 300))
    labels = np.where(rng.random(300) < 0.6, first, labels)
    pool = ba.Pool(predictions=first, systems={"b": rng.integers(0, 3, 300)}, classes=[0, 1, 2])
    for question in (ba.Best(["prediction", "b"]), ba.Metric("accuracy", systems=["prediction", "b"])):
        a = ba.assess(pool, question, design="importance")
        a.tell(range(20), labels[:20])
        said = a.result().summary()
        assert "There is no label yet that tells which" in said
        assert "with probability" not in said
        a.tell(range(20, 290), labels[20:290])
        assert "with probability 1.00" in a.result().summary()
