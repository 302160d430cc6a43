"""Which of several groups, or systems, is the best, and how all pairs of them compare."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.cli.tables import narrow
from bayes_assess.designs import VarianceReduction
from bayes_assess.sessions.description import describe_question, described_question
from made import labelled_sessions

RNG = np.random.default_rng(12)
N = 240
SYSTEM = np.array(["a", "b", "c"])[np.arange(N) % 3]
LABELS = (np.arange(N) // 3 < np.array([72, 40, 72])[np.arange(N) % 3]).astype(int)  # .9, .5, .9 of 80 each
POOL = ba.Pool(
    predictions=np.where(SYSTEM == "b", 1, LABELS),  # the judge likes all that b says
    groups={"system": SYSTEM},
    systems={"other": 1 - LABELS},
)
ALL = ba.Compare(by="system", measure="rate", rope=0.1)
SMALL = VarianceReduction(n_strata=4)


told = labelled_sessions(POOL, LABELS, ALL, design="passive")


def full(question, design="passive"):
    a = ba.assess(POOL, question, design=design)
    a.tell(POOL.ids, LABELS)
    return a.result()


@pytest.mark.parametrize("design", [SMALL, "passive"])
def test_all_labels_settle_ranks_and_pairs(design):
    r = full(ALL, design)
    assert r.guarantee == "exact"
    assert r.probability_worst.tolist() == [0, 1, 0]
    np.testing.assert_allclose(r.probability_best, [0.5, 0, 0.5], atol=4 * np.sqrt(0.25 / 4000))  # a tie
    np.testing.assert_allclose(r.rank, [2.5, 1, 2.5], atol=4 * np.sqrt(0.25 / 4000))
    np.testing.assert_allclose(r.difference, [[0, 0.4, 0], [-0.4, 0, -0.4], [0, 0.4, 0]], atol=1e-12)
    np.testing.assert_allclose(r.difference_interval[0, 1], 0.4, atol=1e-12)
    assert r.masses.argmax(-1).tolist() == [[1, 2, 1], [0, 1, 0], [1, 2, 1]]
    assert "Highest: a, c are equal (exact)." in r.summary()
    assert "The labels settle all 3 pairs of groups; 1 of them is within 0.1 of each other." in r.summary()


def test_on_the_way_ranks_and_pairs_are_those_of_the_joint_posterior():
    r = told(60, design=SMALL).result()
    draws = r.draws
    best = np.isclose(draws, draws.max(1, keepdims=True), rtol=0, atol=1e-12)  # several, where they are equal
    expected = (best / best.sum(1, keepdims=True)).mean(0)
    np.testing.assert_allclose(r.probability_best, expected, atol=4 * np.sqrt(0.25 / len(draws)))
    away = draws[:, 0] - draws[:, 1]
    assert r.masses[0, 1, 2] == pytest.approx((away > 0.1 + 1e-9).mean(), abs=1e-12)
    low, high = r.difference_interval[0, 1]
    assert low < r.difference[0, 1] < high
    assert r.table().columns[:3] == ("first", "second", "difference")
    assert len(r.to_frame()) == 3
    assert r.ranking()["group"][-1] == "b"
    assert r.rank_interval[1].tolist()[0] == 1
    assert r.probability_among_best(2)[1] + r.probability_worst[1] == pytest.approx(1)
    assert r.plot().get_title(loc="left").startswith("Higher by more than 0.1: 60 of 240")
    plt.close("all")


def test_a_rate_has_the_same_ranks_and_pairs():
    a = told(60, ba.Rate(by="system"))
    r, other = a.result(), a.result(question=ALL)
    np.testing.assert_array_equal(r.probability_best, other.probability_best)
    for name in other.table().columns:
        assert r.pairs(rope=0.1)[name].tolist() == other.table()[name].tolist()
    said = next(line for line in r.summary().splitlines() if line.startswith("Highest of 3: "))
    best = r.ranking()
    assert said.startswith(f"Highest of 3: {best['group'][0]} with probability {best['p_best'][0]:.2f}")
    assert "Best" not in r.summary()  # of a rate of failures the highest is not
    assert "()" not in said  # summaries are read on the command line and in reports, too


def test_intervals_of_differences_of_random_labels_are_about_normal():
    """Two groups of independent labels: the standard error is that of two shares, without replacement."""
    r = told(150).result()
    error = r.standard_error
    spread = np.sqrt(error[0] ** 2 + error[1] ** 2)
    width = np.diff(r.difference_interval[0, 1])[0]
    assert 2 * stats.norm.ppf(0.975) * spread < width < 1.35 * 2 * stats.norm.ppf(0.975) * spread


def test_a_group_is_estimated_by_its_own_labels_alone():
    """The share among the labelled items of a group, not their number over the number that was to be expected."""
    a = ba.assess(POOL, ba.Rate(by="system"), design="passive")
    queries = a.ask(90)
    a.tell(queries.ids, LABELS[queries.ids])
    system, label = SYSTEM[queries.ids], LABELS[queries.ids]
    n = np.array([(system == name).sum() for name in "abc"])
    share = np.array([label[system == name].mean() for name in "abc"])
    r = a.result()
    np.testing.assert_allclose(r.estimate, share, atol=0.02)
    random = np.sqrt(share * (1 - share) / n)  # with replacement
    np.testing.assert_array_less(r.standard_error, 1.1 * random)
    np.testing.assert_array_less(np.sqrt(1 - 90 / 240) * 0.8 * random, r.standard_error)


def test_of_losses_the_lowest_is_best():
    r = full(ba.Metric("zero_one_loss", by="system"))
    accuracy = full(ba.Metric("accuracy", by="system"))
    assert r.probability_worst.argmax() == accuracy.probability_worst.argmax() == 1
    assert set(r.pairs()["verdict"]) == {"first is better", "first is worse", "equivalent"}


@pytest.mark.parametrize(
    ("question", "design", "low", "high"),
    [
        (ALL, "passive", "lower", "higher"),
        (ba.Compare(by="system", rope=0.1), "random", "worse", "better"),
        (ba.Compare(by="system", measure="f1", rope=0.1), "passive", "worse", "better"),
    ],
)
def test_a_high_rate_is_not_called_better(question, design, low, high):
    """A rate may be that of defects; summaries say "Highest", and tables and figures said "better"."""
    r = full(question, design)
    said = {f"first is {low}", f"first is {high}", "equivalent"}
    assert set(r.pairs()["verdict"]) | set(r.table()["verdict"]) <= said
    assert set(narrow(r)[0]["first is"].tolist()) <= {low, "equal", high}
    assert len(set(r.table()["verdict"])) > 1
    ax = r.plot()
    assert ax.get_title(loc="left").startswith(f"{high.capitalize()} by more than")
    assert f"P({high}) \N{MINUS SIGN} P({low})" in {bar.get_ylabel() for bar in ax.figure.axes}


def test_systems_are_ranked_too():
    r = full(ba.Metric("accuracy", systems=["prediction", "other"]))
    assert r.ranking()["group"].tolist() == ["prediction", "other"]


@pytest.mark.parametrize(
    "question",
    [ba.Rate(), ba.Metric(["precision", "recall"]), ba.Metric("accuracy", by="system", average="macro")],
)
def test_a_single_value_has_no_ranks(question):
    r = told(20, question).result()
    for ask in (lambda: r.rank, lambda: r.pairs(), lambda: r.ranking(), lambda: r.probability_best):
        with pytest.raises(ba.QuestionError, match="one measure of several groups"):
            ask()
    assert "Best" not in r.summary()
    assert "Highest" not in r.summary()


@pytest.mark.slow
def test_studies_score_pairs_and_the_best():
    study = ba.simulate(POOL, LABELS, ALL, designs=["passive"], budgets=[30, 240], repeats=20)
    (scores,) = study.scores.values()
    assert set(scores) == {"right", "best", "error"}
    assert scores["right"][:, 1].tolist() == scores["best"][:, 1].tolist() == [1] * 20
    np.testing.assert_allclose(scores["error"][:, 1], 0, atol=1e-12)
    assert 0 < scores["error"][:, 0].mean() < 0.3


def test_the_question_is_kept_and_refused_in_sentences():
    assert repr(described_question(describe_question(ALL))) == repr(ALL)
    assert repr(ALL) == "Compare(by='system', measure='rate', rope=0.1)"
    one = ba.Pool(predictions=[0, 1], groups={"system": ["a", "a"]})
    for ask, said in (
        (lambda: ba.assess(one, ALL), "not two groups"),
        (lambda: ba.Compare(by="system", measure=["f1", "rate"]), "of one measure"),
        (lambda: ba.Compare(by="system", measure="rate", target="population"), "leave out target"),
        (lambda: ba.Compare("a", by="system", measure="rate"), "two sides"),
    ):
        with pytest.raises(ba.QuestionError, match=said):
            ask()


def test_a_terminal_shows_the_pairs():
    (table,) = narrow(told(60).result())
    assert table.columns == ("first", "second", "difference", "interval", "first is", "probability")
    assert len(table["first"]) == 3


def test_accuracies_have_ranks_and_pairs_as_other_measures_have():
    pool = ba.Pool(predictions=np.repeat([0, 1, 2], [40, 50, 60]), classes=[0, 1, 2, 3])  # a class without items
    labels = np.where(RNG.random(150) < np.repeat([0.9, 0.5, 0.6], [40, 50, 60]), pool.predictions, 3)
    a = ba.assess(pool, ba.Compare(by="prediction", rope=0.1))
    asked = a.ask(60).ids
    a.tell(asked, labels[asked])
    r, groups = a.result(), a.result(question=ba.GroupAccuracy("prediction"))
    assert type(r) is type(told(60).result()) is ba.PairsResult
    filled = groups.size > 0
    assert r.ordered_names.tolist() == groups.groups[filled].tolist()
    for name in ("rank", "rank_interval", "probability_best", "probability_worst"):
        np.testing.assert_array_equal(getattr(r, name), getattr(groups, name)[filled])
    assert r.ranking()["estimate"].tolist() == groups.estimate[filled][np.argsort(-r.probability_best)].tolist()
    np.testing.assert_array_equal(r.difference, r.estimate)
    np.testing.assert_array_equal(r.difference_interval, r.interval)
    wider = ba.assess(pool, ba.Compare(by="prediction", rope=0.2))
    wider.tell(asked, labels[asked])
    assert repr(r.pairs(rope=0.1)) == repr(r.table())
    assert r.pairs(rope=0.2)["p_equal"].tolist() == wider.result().table()["p_equal"].tolist()
    with pytest.raises(ba.QuestionError):
        r.pairs(rope=1.0)
    assert not hasattr(told(60).result(), "size")


def test_pairs_and_the_comparison_of_two_measures_are_one_number():
    """Both are medians in which precautions count as they do in estimates; those of pairs counted them in full."""
    rng = np.random.default_rng(2)
    label = (rng.random(300) < 0.15).astype(int)
    scores = np.clip(label / 2 + rng.random(300) / 2, 0, 1)
    systems = {name: np.where(rng.random(300) < right, label, 1 - label) for name, right in (("b", 0.9), ("c", 0.7))}
    a = ba.assess(ba.Pool(scores=scores, systems=systems), ba.Metric("f1", systems=["prediction", "b", "c"]), seed=1)
    queries = a.ask(20)
    a.tell(queries.ids, label[queries.ids])
    result = a.result()
    assert result.evidence.cautious.any()
    pairs = result.pairs()
    for first, second, difference in zip(pairs["first"], pairs["second"], pairs["difference"], strict=True):
        alone = result.difference(f"f1 (system {first})", f"f1 (system {second})").estimate
        assert difference == pytest.approx(alone, abs=1e-12)
