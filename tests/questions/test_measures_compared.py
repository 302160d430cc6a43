"""Mean ratings compared between groups: in units of the values, in sessions, journals and studies."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import VarianceReduction
from bayes_assess.results._in_words import question_in_words
from bayes_assess.sessions.description import describe_question, described_question
from made import labelled_sessions

RNG = np.random.default_rng(5)
N = 300
SYSTEM = RNG.choice(["a", "b", "c"], N, p=[0.4, 0.4, 0.2])
LABELS = np.clip(RNG.normal(3 + 0.8 * (SYSTEM == "a"), 1.2, N).round(), 1, 5).astype(int)
JUDGED = 6 - LABELS  # which never agrees but in the middle: the answer is about labels
POOL = ba.Pool(predictions=JUDGED, classes=[1, 2, 3, 4, 5], groups={"system": SYSTEM})
TWO = ba.Compare("a", "b", by="system", measure="mean", rope=0.3)
ALL = ba.Compare(by="system", measure="mean", rope=0.3)


told = labelled_sessions(POOL, LABELS, ALL, design="passive", seed=0)


def mean_of(name, values=LABELS):
    return values[SYSTEM == name].mean()


def test_all_labels_settle_the_difference_of_means():
    expected = mean_of("a") - mean_of("b")
    assert pytest.approx(expected, abs=1e-12) == TWO.truth(POOL, LABELS)
    r = told(int(np.isin(SYSTEM, ["a", "b"]).sum()), TWO).result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(expected, abs=1e-12)
    assert expected > 0.3
    assert r.masses.tolist() == [0, 0, 1]
    assert r.verdict == "The mean of a is more than 0.3 above that of b, as their labels show."


def test_all_labels_settle_pairs_and_ranks():
    r = told(N).result()
    means = np.array([mean_of(name) for name in "abc"])
    np.testing.assert_allclose(r.estimate, means, atol=1e-12)
    np.testing.assert_allclose(r.difference, means[:, None] - means, atol=1e-12)
    assert r.probability_best.tolist() == [1, 0, 0]
    assert r.ranking()["group"][0] == "a"
    assert (r.pairs(4.5 - 1)["verdict"] == "equivalent").all()  # more than 1 is a difference of ratings, too
    wide = told(N, ba.Compare(by="system", measure="mean", rope=3.5)).result()
    assert (wide.pairs()["verdict"] == "equivalent").all()  # by the rope of the question


def test_another_unit_scales_the_answer_and_leaves_the_verdict():
    """Values 10 v - 7 with ten times the rope: the same question in another unit."""
    scaled = ba.Compare(by="system", measure="mean", values={v: 10 * v - 7 for v in range(1, 6)}, rope=3)
    one, other = told(120).result(), told(120, scaled).result()
    np.testing.assert_allclose(other.estimate, 10 * one.estimate - 7, rtol=1e-9)
    np.testing.assert_allclose(other.difference_interval, 10 * one.difference_interval, atol=1e-6)
    np.testing.assert_array_equal(other.masses, one.masses)
    np.testing.assert_array_equal(other.probability_best, one.probability_best)


def test_sides_that_change_places_change_the_sign():
    there = told(100, TWO).result()
    back = told(100, ba.Compare("b", "a", by="system", measure="mean", rope=0.3)).result()
    assert back.estimate == pytest.approx(-there.estimate, abs=1e-12)
    np.testing.assert_allclose(back.masses[::-1], there.masses, atol=0.011)  # to the resolution of the quantiles


def test_the_error_of_random_labels_is_that_of_two_means():
    """Var = sum over both sides of s^2 / n (1 - n / N), n within each side being random: at most 15 % off in the error.

    The standard deviation of a sample of some 60 is known to 1 / sqrt(120), 9 %, on either side: 6.5 % on both.
    """
    r = told(120, TWO).result()
    shares = [(SYSTEM == name).sum() for name in "ab"]
    n = [120 * size / sum(shares) for size in shares]
    variance = sum(
        LABELS[SYSTEM == name].var() / k * (1 - k / size) for name, k, size in zip("ab", n, shares, strict=True)
    )
    assert r.standard_error == pytest.approx(np.sqrt(variance), rel=0.15)
    assert abs(r.estimate - TWO.truth(POOL, LABELS)) < 4 * np.sqrt(variance)


def test_the_belief_learns_from_a_judge_that_rates_upside_down():
    a = ba.assess(POOL, ALL, design=VarianceReduction(n_strata=8))
    queries = a.ask(60)
    a.tell(queries.ids, LABELS[queries.ids])
    r = a.result()
    assert r.design == "variance_reduction"
    truth = np.array([mean_of(name) for name in "abc"])
    first, second = np.triu_indices(3, 1)
    gap = r.difference[first, second] - (truth[first] - truth[second])
    # 60 random labels know a difference to about 1.2 sqrt(2 / 20) = 0.38; the judge explains all but the noise
    assert (np.abs(gap) < 2 * 0.38).all()
    np.testing.assert_allclose(r.masses.sum(-1), 1)
    inside = (np.abs(r.draws[:, 0] - r.draws[:, 1]) <= 0.3).mean()
    assert r.masses[0, 1, 1] == pytest.approx(inside, abs=0.02)


@pytest.mark.parametrize("question", [TWO, ALL, ba.Compare(by="system", measure="mean", values=[1, 2, 4, 8, 16])])
def test_journals_keep_it(question):
    kept = describe_question(question)
    assert kept["measure"] == "mean"
    assert repr(described_question(kept)) == repr(question)
    assert "mean" in question_in_words(question)


@pytest.mark.slow
def test_studies_score_means():
    study = ba.simulate(POOL, LABELS, ALL, designs="passive", budgets=[60, N], repeats=8)
    np.testing.assert_allclose(study.truth, [mean_of(name) for name in "abc"], atol=1e-12)
    assert study.scores["passive"]["right"][:, -1].tolist() == [1.0] * 8
    np.testing.assert_allclose(study.scores["passive"]["error"][:, -1], 0, atol=1e-12)
    assert (study.scores["passive"]["error"][:, 0] > 0).all()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ba.Compare("a", "b", measure="mean"), "mean of the labels is the same for all systems"),
        (lambda: ba.Compare(by="system", values=[1, 2]), "Values of classes are for measure='mean'"),
        (lambda: ba.Compare(by="system", measure="rate", values=[1, 2]), "instead of rate"),
        (lambda: ba.Compare(by="system", measure="mean", positive=1), "leave out the positive class"),
        (lambda: ba.Compare(by="system", measure="mean", rope=-1), "a number from 0 on; found -1"),
        (lambda: ba.Compare(by="system", rope="0.05"), "up to but not including 1; found '0.05'"),
        (lambda: ba.Compare(by="system", measure="mean", values=[1, np.nan]), "finite number"),
        (lambda: ba.Compare(by="system", measure="rate", rope=1), "up to but not including 1"),
        (lambda: ba.assess(POOL, ba.Compare(by="system", measure="mean", rope=4)), "lie 4 apart at most; found 4"),
        (lambda: ba.assess(POOL, ba.Compare(by="system", measure="mean", values=[1, 2])), "2 values"),
        (lambda: told(30).result().pairs(4), "not including 4"),
    ],
)
def test_what_cannot_be_compared_is_refused(ask, message):
    with pytest.raises(ba.QuestionError, match=message):
        ask()
