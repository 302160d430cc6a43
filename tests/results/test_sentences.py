"""Sentences and tables in the corners: one group, one label, no label, classes that are never predicted, zeros."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.tables import Table
from bayes_assess.results.report import sections


def told(pool: ba.Pool, question, ids, labels) -> list[str]:
    a = ba.assess(pool, question)
    a.tell(ids, labels)
    return a.result().summary().splitlines()


def test_one_group_is_said_in_the_singular():
    pool = ba.Pool(predictions=["cat"] * 4, classes=["cat", "dog"])
    assert told(pool, ba.GroupAccuracy(), [0], ["cat"])[2].startswith("1 group by prediction; its interval is ")
    assert "The least accurate of 1 group: cat (" in told(pool, ba.LeastAccurate(), [0], ["cat"])[2]


def test_groups_that_are_known_to_be_equal_are_named():
    pool = ba.Pool(predictions=["x"] * 9, classes=["x", "y"], groups={"site": ["a", "b", "c"] * 3})

    def said(question, right):
        labels = np.where(np.arange(9) // 3 < np.tile(right, 3), "x", "y")
        return next(line for line in told(pool, question, range(9), labels) if " groups: " in line)

    all_equal = said(ba.LeastAccurate("site"), [2, 2, 2])
    assert re.fullmatch(r"The least accurate of 3 groups: . \(0.667\); ., . are equal to .\.", all_equal)
    two = said(ba.MostAccurate("site", m=2), [3, 1, 1])
    assert re.fullmatch(r"The 2 most accurate of 3 groups: a \(1.000\), (.) \(0.333\); [bc] is equal to \1\.", two)
    for m, right in ((1, [3, 1, 2]), (2, [3, 1, 1])):
        assert "equal" not in said(ba.LeastAccurate("site", m=m), right)
        assert said(ba.LeastAccurate("site", m=m), right).count("probability 1.00") == m


def test_one_pair_is_said_in_the_singular():
    pool = ba.Pool(predictions=["cat", "dog"] * 4, classes=["cat", "dog"])
    pairs = ba.Compare(by="prediction")
    assert told(pool, pairs, [0], ["cat"])[1] == "0 of 1 pair of groups has a verdict of probability 0.95 or more."
    assert told(pool, pairs, range(8), ["cat", "dog"] * 4)[1] == "The labels settle 1 pair of groups."


def test_what_no_label_and_one_label_suggest():
    pool = ba.Pool(scores=np.linspace(0.1, 0.9, 30))
    for ids, end in (([], "as expected before any label."), ([3], "as the 1 label suggests.")):
        assert told(pool, ba.Metric("f1"), ids, [0] * len(ids))[1].endswith(f", if the scores rank {end}")


def test_classes_that_are_never_predicted_come_last_and_have_no_frequent_errors():
    pool = ba.Pool(predictions=["b"] * 6 + ["c"] * 4, classes=["a", "b", "c"])
    a = ba.assess(pool, ba.ConfusionMatrix())
    a.tell(pool.ids, ["b"] * 4 + ["a"] * 2 + ["c"] * 4)
    said = a.result().summary().splitlines()[2]
    assert said == "Most frequent errors, as shares of their predicted class: a taken for b (0.333)."
    for question in (ba.GroupAccuracy(), ba.MostCostly(1 - np.eye(3))):
        a = ba.assess(pool, question)
        a.tell(pool.ids, ["b"] * 4 + ["a"] * 2 + ["c"] * 4)
        assert a.result().table()["group"].tolist() == ["b", "c", "a"]


def test_errors_that_no_label_has_shown_are_not_named_as_the_most_frequent():
    pool = ba.Pool(scores=np.random.default_rng(0).dirichlet(np.ones(3), 60), classes=["a", "b", "c"])
    a = ba.assess(pool, ba.ConfusionMatrix(), seed=0)
    assert "Most frequent errors" in a.result().summary()  # as the scores have it
    first, *rest = a.ask(9).ids.tolist()
    a.tell(rest, pool.classes[pool.predictions[rest]])
    said = a.result().summary()
    assert "No label has shown an error yet: which errors are the most frequent is open." in said
    assert "Most frequent errors" not in said
    a.tell([first], [pool.classes[(pool.predictions[first] + 1) % 3]])
    assert "Most frequent errors" in a.result().summary()


def test_what_rounds_to_zero_has_no_sign():
    text = str(Table({"x": [-1e-9, 0.5], "y": [-1e-9, -0.5]}, formats={"x": "+.3f", "y": ".2f"}))
    assert [line.split() for line in text.splitlines()[2:]] == [["+0.000", "0.00"], ["+0.500", "-0.50"]]


def test_where_labels_stand_for_no_others_the_interval_is_said_to_be_the_range():
    pool = ba.Pool(scores=np.linspace(0.1, 0.9, 30))
    a = ba.assess(pool, ba.Metric("recall"), design="passive")
    assert "and the interval is all that is possible." in a.result().summary()
    a.tell([1, 2], [0, 0])
    assert "and the interval is the whole range of the measure." in a.result().summary()
    of_both = ba.assess(pool, ba.Metric("accuracy"), design="passive")
    of_both.tell([1, 2], [0, 1])  # one is right, and one is wrong
    assert of_both.result().interval.round(3).tolist() == [0.033, 0.967]
    assert "and the interval is all that is possible." in of_both.result().summary()


@pytest.mark.parametrize(("level", "said"), [(0.999, "99.9%"), (0.975, "97.5%"), (0.95, "95%"), (0.001, "0.1%")])
def test_levels_are_said_with_the_digits_that_they_have(level, said):
    """No interval that leaves values out is one of 100 %."""
    pool = ba.Pool(scores=np.linspace(0.1, 0.9, 30))
    for question, design in ((ba.GroupAccuracy(), "thompson"), (ba.Metric("f1"), "passive")):
        result = ba.assess(pool, question, design=design).result(level=level)
        assert f" {said} credible interval [" in result.summary()
        assert f", {said} credible intervals" in result.table().title
        assert type(result.to_dict()["level"]) is float


@pytest.mark.slow
def test_what_is_exact_is_said_once():
    """No interval of one value stands beside it, no width 0.000, and reports give neither values nor reasons twice."""
    rng = np.random.default_rng(0)
    groups = {"site": np.resize(["x", "y"], 20)}
    scores = rng.random((20, 2))
    pool = ba.Pool(scores=scores[:, 0], systems={"b": (scores[:, 1] > 0.5).astype(int)}, groups=groups)
    labels = (rng.random(20) < scores[:, 0]).astype(int)
    for question in (
        *(ba.GroupAccuracy("site"), ba.GroupAccuracy(np.zeros(20, int)), ba.ConfusionMatrix(cost=1 - np.eye(2))),
        *(ba.Calibration(3), ba.Calibration(3, by="site"), ba.GroupRecall("site"), ba.Compare("x", "y", by="site")),
        *(ba.Compare("b", "prediction"), ba.Metric("f1"), ba.Metric(["f1", "precision"]), ba.Metric("f1", by="site")),
        *(ba.Best(), ba.Compare("b", "prediction", measure="f1"), ba.LeastAccurate("site"), ba.Rate(by="site")),
    ):
        a = ba.assess(pool, question)
        a.tell(pool.ids, labels)
        result = a.result()
        assert result.guarantee == "exact"
        said = result.summary()
        assert not re.search(r"interval|wide", said), said
        answer, leans = sections(result)[:2]
        assert len(leans.lines) == 1
        found = [re.findall(r"(?:f1|precision|F1)(?: \(site .\))? (0\.\d+)", line) for line in answer.lines]
        assert sum(map(len, found)) <= 2  # of two measures


@pytest.mark.slow
@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_small_rates_keep_two_digits_in_sentences_and_tables(design):
    n = 5_000
    pool = ba.Pool(predictions=np.arange(n) < 4, classes=[0, 1])
    a = ba.assess(pool, ba.Rate(1), design=design)
    a.tell(pool.ids, (np.arange(n) < 3).astype(int))
    summary, table = a.result().summary(), a.result().table()
    assert "rate 0.00060 (exact)." in summary
    assert "The predictions alone say 0.00080." in summary
    assert "bias is +0.00020 (exact)" in summary
    assert repr(table).splitlines()[3].split()[1:4] == ["0.00060"] * 3


def test_measures_and_systems_are_named_as_people_say_them():
    pool = ba.Pool(predictions=[0, 1] * 20, groups={"g": ["alpha"] * 20 + ["beta"] * 20})
    by_group = ba.Compare("alpha", "beta", by="g", measure="f1_macro")
    verdict = ba.assess(pool, by_group, design="passive")
    verdict.tell(pool.ids, [0, 1] * 20)
    assert verdict.result().verdict == "The macro F1 of alpha is within 5 points of that of beta, as their labels show."
    pairs = ba.assess(pool, ba.Compare(by="g", measure="f1")).result()
    assert pairs.table().title.startswith("Differences of F1, ")
    assert pairs.pairs(0.1).title.startswith("Differences of F1, ")
    classes = ba.Metric(["f1_per_class", "f1"])
    assert classes.name == "Metric(f1_per_class, f1)"
    assert ba.assess(pool, ba.Metric(ba.measures.measure("f1", average=None))).question.name == "Metric(f1_per_class)"
    assert ba.assess(pool, ba.Metric("f1_per_class")).result().headline.startswith("F1[0] 0.")
    assert " and F1[1] 0." in ba.assess(pool, ba.Metric("f1_per_class")).result().headline
