"""Pairs of items compared: both halves are asked for and told together, and what they have in common cancels."""

from __future__ import annotations

import contextlib
import sqlite3

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.designs import VarianceReduction
from made import labelled_sessions

RNG = np.random.default_rng(3)
P = 150
SHARED = RNG.normal(size=(P, 1))  # how easy a prompt is
RATED = np.clip((3 + 1.2 * (np.sqrt(0.9) * SHARED + np.sqrt(0.1) * RNG.normal(size=(P, 2)))).round(), 1, 5).astype(int)
RATED[:, 1] = np.minimum(RATED[:, 1] + (RNG.random(P) < 0.3), 5)
ORDER = RNG.permutation(2 * P)  # items are in no order, halves far from each other
LABELS = RATED.T.ravel()[ORDER]
SYSTEM = np.repeat(["a", "b"], P)[ORDER]
PROMPT = np.tile([f"p{i}" for i in range(P)], 2)[ORDER]
JUDGED = np.clip(LABELS + RNG.choice([-1, 0, 1], 2 * P), 1, 5)
POOL = ba.Pool(predictions=JUDGED, classes=[1, 2, 3, 4, 5], groups={"system": SYSTEM, "prompt": PROMPT})
APART = ba.Compare("a", "b", by="system", measure="mean", rope=0.1)
MEANS = ba.Compare("a", "b", by="system", measure="mean", rope=0.1, pair="prompt")
AWAY = RATED[:, 0] - RATED[:, 1]


told = labelled_sessions(POOL, LABELS, MEANS, design="passive")


def test_both_halves_of_a_pair_are_asked_for():
    a = ba.assess(POOL, MEANS, design="passive")
    queries = a.ask(20)
    assert PROMPT[queries.ids[::2]].tolist() == PROMPT[queries.ids[1::2]].tolist()
    assert set(SYSTEM[queries.ids[::2]]) == {"a"}
    assert set(SYSTEM[queries.ids[1::2]]) == {"b"}
    assert (a.n_pending, a.n_remaining) == (20, 2 * P - 20)
    assert sorted(a.pending) == sorted(queries.ids)
    np.testing.assert_array_equal(queries.predictions, JUDGED[queries.ids])


def test_with_all_labels_the_difference_is_exact():
    r = told(2 * P).result()
    assert pytest.approx(AWAY.mean(), abs=1e-12) == MEANS.truth(POOL, LABELS)
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(AWAY.mean(), abs=1e-12)
    assert r.labels_used == 2 * P
    assert r.verdict == "The mean of a is more than 0.1 below that of b, as their labels show."


def test_rates_are_compared_by_pairs():
    """Labels of 4 and more count; with all of them the difference is that of two shares."""
    pool = ba.Pool(predictions=JUDGED >= 4, groups={"system": SYSTEM, "prompt": PROMPT})
    question = ba.Compare("b", "a", by="system", measure="rate", pair="prompt")
    a = ba.assess(pool, question, design="passive")
    a.tell(pool.ids, (LABELS >= 4).astype(int))
    expected = np.mean(RATED[:, 1] >= 4) - np.mean(RATED[:, 0] >= 4)
    assert a.result().estimate == pytest.approx(expected, abs=1e-12)
    assert question.truth(pool, LABELS >= 4) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_rates_are_learned_by_pairs_too():
    pool = ba.Pool(predictions=JUDGED >= 4, groups={"system": SYSTEM, "prompt": PROMPT})
    question = ba.Compare("b", "a", by="system", measure="rate", pair="prompt")
    a = ba.assess(pool, question, design=VarianceReduction(n_strata=8))
    queries = a.ask(60)
    a.tell(queries.ids, LABELS[queries.ids] >= 4)
    away = (RATED[:, 1] >= 4) * 1.0 - (RATED[:, 0] >= 4)
    r = a.result()
    assert abs(r.estimate - away.mean()) < 4 * away.std() / np.sqrt(30)  # of random pairs
    assert r.masses.sum() == pytest.approx(1)
    low, high = r.design_interval
    assert -1 <= low <= away.mean() <= high <= 1


def test_means_are_learned_by_pairs_too():
    """The belief on ratings is that of differences, and what the judge says of both halves tells of them."""
    a = ba.assess(POOL, MEANS)
    assert a.design.name == "variance_reduction"
    before = a.result()
    queries = a.ask(60)
    assert PROMPT[queries.ids[::2]].tolist() == PROMPT[queries.ids[1::2]].tolist()
    a.tell(queries.ids, LABELS[queries.ids])
    r = a.result()
    low, high = r.interval
    assert r.guarantee == "credible"
    assert low <= AWAY.mean() <= high
    assert high - low < np.ptp(before.interval) / 4
    assert r.masses.sum() == pytest.approx(1)
    assert -4 <= r.design_interval[0] <= AWAY.mean() <= r.design_interval[1] <= 4


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["close", "alike for both", "of no use"])
def test_the_belief_on_differences_of_ratings_holds_and_needs_fewer_pairs_than_chance(judge):
    rng = np.random.default_rng(17)
    said = {"close": JUDGED, "alike for both": np.full(2 * P, 4), "of no use": rng.integers(1, 6, 2 * P)}[judge]
    pool = ba.Pool(predictions=said, classes=[1, 2, 3, 4, 5], groups={"system": SYSTEM, "prompt": PROMPT})
    held, widths = [], {"variance_reduction": [], "passive": []}
    for seed in range(24):
        for design, of_design in widths.items():
            a = ba.assess(pool, MEANS, design=design, seed=seed)
            for _ in range(3):
                queries = a.ask(20)
                a.tell(queries.ids, LABELS[queries.ids])
            low, high = a.result().interval
            of_design.append(high - low)
            if design == "variance_reduction":
                held.append(low <= AWAY.mean() <= high)
    assert stats.binom.cdf(np.sum(held), 24, 0.95) > 0.001
    narrower = np.mean(widths["variance_reduction"]) / np.mean(widths["passive"])
    assert narrower < (1 if judge != "of no use" else 1.1)


def test_items_of_other_groups_have_no_part():
    other = np.where(np.arange(2 * P + 5) < 2 * P, np.append(SYSTEM, ["c"] * 5), "c")
    prompts = np.append(PROMPT, [f"p{i}" for i in range(5)])
    pool = ba.Pool(predictions=np.append(JUDGED, [1] * 5), groups={"system": other, "prompt": prompts})
    a = ba.assess(pool, MEANS, design="passive")
    assert a.n_remaining == 2 * P
    assert (other[a.ask(2 * P).ids] != "c").all()
    with pytest.raises(ba.LabelError, match="is of neither a nor b"):
        a.tell([2 * P], [3])


@pytest.mark.slow
def test_the_error_is_that_of_random_pairs_and_what_they_share_cancels():
    """Var D = s^2 (1 - n / P) / n for n random pairs; apart it is the sum of two variances.

    Over 200 campaigns the mean squared error, in units of its expectation, is about chi2(200) / 200, and the coverage
    of intervals that promise 95 % at least 0.95 less three standard errors of 200 trials. Seeds are fixed.
    """
    studies = [
        ba.simulate(POOL, LABELS, asked, designs="passive", budgets=[80], repeats=200, seed=1)
        for asked in (MEANS, APART)
    ]
    paired, apart = (((s.estimates["passive"][:, 0] - s.truth) ** 2).mean() for s in studies)
    n = 40
    expected = AWAY.var(ddof=1) / n * (1 - n / P)
    low, high = stats.chi2(200).ppf([0.0005, 0.9995]) / 200
    # Estimates start from a belief, which shrinks them a little and costs less than a tenth of the error
    assert 0.8 * low < paired / expected < 1.2 * high
    covariance = np.cov(RATED.T)
    without = np.trace(covariance) / n * (1 - n / P)
    assert expected < without / 3  # the labels of halves are correlated
    assert paired < apart / 2
    widths = [np.diff(s.intervals["passive"], axis=-1).mean() for s in studies]
    assert widths[0] < widths[1]
    for study in studies:
        assert study.coverage["passive"][0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def test_few_pairs_tell_nearly_as_much_as_students_interval_of_their_differences():
    """Differences could be 4 in size and are 1 or 2: one more draw counts as far as the farthest that was seen."""
    held, ratio = [], []
    for seed in range(40):
        a = ba.assess(POOL, MEANS, design="passive", seed=seed)
        queries = a.ask(60)
        a.tell(queries.ids, LABELS[queries.ids])
        low, high = a.result().interval
        seen = (LABELS[queries.ids[::2]] - LABELS[queries.ids[1::2]]).astype(float)
        assert low <= seen.mean() <= high
        held.append(low <= AWAY.mean() <= high)
        error = seen.std(ddof=1) * np.sqrt((1 - 30 / P) / 30)
        ratio.append((high - low) / (2 * stats.t.ppf(0.975, 29) * error))
    assert np.mean(ratio) < 1.5
    assert stats.binom.sf(np.sum(held), 40, 0.95) < 0.999
    assert "no draw has shown yet to be farther off than those that were drawn" in a.result().assumption


def test_a_session_is_the_same_after_its_journal_was_read_again(tmp_path):
    a = told(30, journal=tmp_path / "run.db")
    ids, labels = a.labelled
    np.testing.assert_array_equal(labels, LABELS[ids])
    wrong = LABELS[ids[0]] % 5 + 1
    assert a.correct(ids[:1], [wrong]) == 1
    assert a.skip(a.ask(2).ids[:1]) == 2
    pending = a.ask(4).ids
    before = a.result()
    a.journal.close()
    again = ba.resume(tmp_path / "run.db", POOL)
    assert repr(again.question) == repr(MEANS)
    assert again.labelled[1].tolist() == [wrong, *LABELS[ids[1:]]]
    assert (again.n_skipped, sorted(again.pending)) == (2, sorted(pending))
    np.testing.assert_array_equal(again.result().interval, before.interval)
    again.journal.close()


def test_a_snapshot_keeps_the_labels_of_both_halves(tmp_path):
    path = tmp_path / "run.db"
    a = ba.assess(POOL, MEANS, design="passive", journal=path)
    for _ in range(130):  # more events than lie between two snapshots
        ids = a.ask(2).ids
        a.tell(ids, LABELS[ids])
    with contextlib.closing(sqlite3.connect(path)) as kept:
        assert kept.execute("SELECT COUNT(*) FROM snapshots").fetchone() == (1,)
    again = ba.resume(path, POOL)
    np.testing.assert_array_equal(again.labelled[1], LABELS[again.labelled[0]])
    wrong = LABELS[ids[:1]] % 5 + 1
    assert again.correct(ids[:1], wrong) == 1
    assert again.labelled[1].sum() == LABELS[again.labelled[0]].sum() - LABELS[ids[0]] + wrong[0]
    a.catch_up()
    np.testing.assert_array_equal(a.labelled[1], again.labelled[1])
    np.testing.assert_array_equal(a.result().interval, again.result().interval)


def test_labels_of_pairs_are_of_one_annotator_and_answer_one_question():
    a = ba.assess(POOL, MEANS, design="passive")
    ids = a.ask(2).ids
    with pytest.raises(ba.LabelError, match="pairs keep one label of every item"):
        a.tell(ids, LABELS[ids], annotator="anna")
    with pytest.raises(ba.QuestionError, match=r"answer .* alone"):
        a.result(question=APART)
    with pytest.raises(ba.DesignError, match="leave out the other posterior"):
        a.ask(2, posterior=np.full((10, 4), 0.5))


@pytest.mark.parametrize("design", ["passive", "adaptive", "variance_reduction"])
def test_labels_of_items_do_not_answer_what_is_asked_of_pairs(design):
    a = told(20, ba.Mean(), design=design)
    with pytest.raises(ba.QuestionError, match="of pairs needs labels of both halves; start a session with it"):
        a.result(question=MEANS)


def test_a_corrected_half_counts_as_if_it_had_been_told_right():
    a, other = told(20), ba.assess(POOL, MEANS, design="passive")
    ids = other.ask(20).ids
    wrong = LABELS[ids].copy()
    wrong[0] = wrong[0] % 5 + 1
    other.tell(ids, wrong)
    assert other.result().estimate != a.result().estimate
    assert other.correct(ids, LABELS[ids]) == 1
    assert other.result().estimate == a.result().estimate
    np.testing.assert_array_equal(other.labelled[1], a.labelled[1])
    shifted = LABELS[ids[2:4]].clip(1, 4) + 1  # a pair whose difference stays keeps the labels of its halves
    other.correct(ids[2:4], shifted)
    found = dict(zip(*(x.tolist() for x in other.labelled), strict=True))
    assert [found[i] for i in ids[2:4].tolist()] == shifted.tolist()


def test_nothing_is_taken_of_half_a_pair_or_a_contradiction():
    a = ba.assess(POOL, MEANS, design="passive")
    ids = a.ask(4).ids
    with pytest.raises(ba.LabelError, match=rf"of prompt '{PROMPT[ids[2]]}' one half has no label"):
        a.tell(ids[:3], LABELS[ids[:3]])
    with pytest.raises(ba.LabelError, match="one half has no label"):
        a.tell(ids, [*LABELS[ids[:3]].tolist(), None])
    assert a.labels_used == 0
    a.tell(ids, LABELS[ids])
    a.tell(ids, LABELS[ids])
    a.tell(ids[:1], LABELS[ids[:1]])  # once both halves have labels, one of them may be told again
    assert a.labels_used == 4
    with pytest.raises(ba.LabelError, match="already labelled"):
        a.tell(ids[:1], LABELS[ids[:1]] % 4 + 1)
    both = LABELS[ids[:2]] % 4 + 1
    with pytest.raises(ba.LabelError, match="already labelled"):
        a.tell(ids[:2], both)


def test_a_plan_counts_the_labels_of_both_halves():
    pool = ba.Pool(predictions=JUDGED >= 4, groups={"system": SYSTEM, "prompt": PROMPT})
    question = ba.Compare("a", "b", by="system", measure="rate", pair="prompt")
    a = ba.assess(pool, question, design=VarianceReduction(n_strata=8))
    ids = a.ask(20).ids
    a.tell(ids, (LABELS[ids] >= 4).astype(int))
    before = a.result().interval
    plan = a.plan(width=0.15, futures=2)
    assert (plan.labels_used, plan.n_items) == (20, 2 * P)
    assert plan.budgets[0] == 20
    assert (plan.budgets % 2 == 0).all()
    assert (0 < plan.needed).all()
    assert (plan.needed <= 2 * P - 20).all()
    np.testing.assert_array_equal(a.result().interval, before)
    assert a.labels_used == 20


SMALL = {"system": ["a", "a", "b", "b"], "prompt": ["p", "q", "p", "q"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": ["p", "q", "p", "r"]}, "'a' has none of prompt 'r'"),
        ({"prompt": ["p", "p", "p", "p"]}, "'a' has more than one of prompt 'p'"),
        ({"system": ["a", "a", "c", "c"]}, "no group 'b' in 'system'; it has 'a', 'c'"),
    ],
)
def test_pairs_that_are_not_whole_are_refused_by_name(change, message):
    pool = ba.Pool(predictions=[1, 2, 3, 3], groups=SMALL | change)
    with pytest.raises(ba.PoolError, match=message):
        ba.assess(pool, MEANS)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ba.Compare("a", "b", by="system", pair="prompt"), "leave out pair= to compare accuracies"),
        (lambda: ba.Compare("a", "b", by="system", measure="f1", pair="prompt"), "means over items; found f1"),
        (lambda: ba.Compare(by="system", measure="rate", pair="prompt"), "Pairs have two halves"),
        (lambda: ba.Compare("a", "b", by="system", measure="rate", pair=list("pp")), "a column of the pool"),
        (lambda: ba.assess(POOL, MEANS, design="passive").plan(width=0.1), "cannot be planned: it has no model"),
        (lambda: ba.assess(POOL, MEANS).ask(3), "positive even number"),
        (lambda: ba.assess(POOL, MEANS, design="passive").ask(2 * P + 2), "only 300"),
        (lambda: ba.assess(POOL, MEANS, design="thompson"), "cannot serve this question; these can: "),
        (lambda: ba.simulate(POOL, LABELS, MEANS, designs="passive", budgets=[21]), "even numbers"),
    ],
)
def test_what_pairs_cannot_do_is_refused(ask, message):
    with pytest.raises((ba.QuestionError, ba.BudgetError, ba.DesignError), match=message):
        ask()


def test_a_half_that_cannot_be_set_aside_is_named_as_it_was_given():
    a = ba.assess(POOL, MEANS, design="passive")
    queries = a.ask(4)
    a.tell(queries.ids[:2], LABELS[queries.ids[:2]])
    for half in queries.ids[:2].tolist():
        with pytest.raises(ba.LabelError, match=rf"^Item {half} has a label and cannot be set aside"):
            a.skip([queries.ids[2], half])
        with pytest.raises(ba.LabelError, match=rf"^Item {half} has a label and cannot be released"):
            a.release([half])
    assert a.n_pending == 2
