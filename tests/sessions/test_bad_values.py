"""Values of the wrong kind end in a sentence of ours."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import bayes_assess as ba
from bayes_assess.errors import BudgetError, DesignError, QuestionError

POOL = ba.Pool(predictions=["cat", "dog"] * 4)
CURVE = ba.PrecisionCurve(p_min=0.5)
WRONG = [None, "3", float("nan"), float("inf"), [2], True, 2.5, 0]


@pytest.mark.parametrize("seed", [None, "7", -1, 0.5, float("nan"), 2**63, 10**30, True, [1]])
def test_a_seed_that_is_none_is_refused(seed):
    for attempt in (
        lambda: ba.assess(POOL, ba.GroupAccuracy(), seed=seed),
        lambda: ba.assess(ba.RankedList(100), CURVE, seed=seed),
        lambda: ba.simulate(POOL, ["cat", "dog"] * 4, ba.GroupAccuracy(), repeats=2, seed=seed),
    ):
        with pytest.raises(DesignError, match="less than 2"):
            attempt()


def test_the_greatest_seed_works():
    assert len(ba.assess(POOL, ba.GroupAccuracy(), design="random", prior="uninformative", seed=2**63 - 1).ask(1)) == 1
    assert len(ba.assess(ba.RankedList(100), CURVE, seed=np.uint64(2**63 - 1)).ask(1)) == 1


@pytest.mark.parametrize("n", WRONG)
def test_a_number_of_items_that_is_none_is_refused(n):
    for a in (ba.assess(POOL, ba.GroupAccuracy()), ba.assess(ba.RankedList(100), CURVE)):
        with pytest.raises(BudgetError, match="positive whole number"):
            a.ask(n)
    with pytest.raises(BudgetError, match="repeats"):
        ba.simulate(POOL, ["cat", "dog"] * 4, ba.GroupAccuracy(), repeats=n)
    with pytest.raises(BudgetError, match="futures"):
        ba.assess(POOL, ba.GroupAccuracy()).plan(0.1, futures=n)


@pytest.mark.parametrize("level", ["0.9", [0.9], float("nan"), 1, 95])
def test_a_level_that_is_none_is_refused(level):
    a = ba.assess(POOL, ba.GroupAccuracy(), prior="uninformative")
    for attempt in (
        lambda: a.result(level),
        lambda: ba.assess(ba.RankedList(100), CURVE).result(level),
        lambda: a.plan(0.1, level=level),
    ):
        with pytest.raises(QuestionError, match="lies between 0 and 1"):
            attempt()


@pytest.mark.parametrize(
    ("question", "design"),
    [
        *(
            (ba.Metric(name), design)
            for name in ("accuracy", "f1_macro")
            for design in ("variance_reduction", "passive")
        ),
        (ba.ConfusionMatrix(), "thompson"),
        (ba.MostCostly([[0.0]]), "random"),
    ],
)
def test_a_question_on_one_class_says_that_there_is_nothing_to_measure(question, design):
    pool = ba.Pool(predictions=["cat"] * 3, confidence=[0.5, 0.6, 0.7])
    with pytest.raises(QuestionError, match=r"only be .cat. here, the one class .* declare all classes"):
        ba.assess(pool, question, design=design)


def test_nothing_can_be_written_as_a_workbook(tmp_path):
    queries = ba.assess(POOL, ba.GroupAccuracy(), prior="uninformative", design="random").ask(1)
    columns = ("ids", "cells", "weights", "groups", "predictions")
    dataclasses.replace(queries, **{name: getattr(queries, name)[:0] for name in columns}).to_xlsx(tmp_path / "a.xlsx")
    ids, labels = ba.read_labels(tmp_path / "a.xlsx", POOL)
    assert len(ids) == len(labels) == 0


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: ba.designs.TopTwo(beta="x"), "between 0 and 1; found 'x'"),
        (lambda: ba.designs.BayesUCB(quantile=None), "between 0.5 and 1; found None"),
        (lambda: ba.designs.Adaptive(delta="0.1"), "lies in [0, 1); found '0.1'"),
        (lambda: ba.designs.Adaptive(stage=[1]), "at least one label; found [1]"),
        (lambda: ba.designs.Oasis(strength="2"), "a positive number of labels; found '2'"),
        (lambda: ba.designs.Importance(lam=None), "lies in [0, 1]; found None"),
        (lambda: ba.designs.Poisson(floor="x"), "lies in [0, 1]; found 'x'"),
        (lambda: ba.designs.VarianceReduction(audit=[0.1]), "lies in [0, 1); found [0.1]"),
        (lambda: ba.PrecisionCurve(epsilon="x", beta=1.5), "a number in (0, 1]"),
        (lambda: ba.PrecisionCurve(epsilon=0.1, beta=1.5, slack=None), "a whole number, 1 or more"),
        (lambda: ba.Metric("f1", systems=3), "systems are names of columns of predictions; found 3"),
        (lambda: ba.Metric("f1", by=np.array(["a", "b"])), "a column of the pool: give its name"),
        (lambda: ba.Best(systems=True), "systems are names of columns of predictions; found True"),
        (lambda: ba.Rate(judges=[1]), "judges are names of columns of predictions; found [1]"),
        (lambda: ba.GroupAccuracy(target=["pool"]), "target is 'pool' or 'population'; found ['pool']"),
        (lambda: started(ba.Metric("f1", positive=["b"])), "the name of one class; found ['b']"),
        (lambda: started(ba.GroupAccuracy(), prior="informative", prior_strength="3"), "of labels; found '3'"),
        (lambda: started(ba.Metric("f1"), design=ba.designs.Adaptive(depth=2.5)), "depth of a tree is a whole number"),
    ],
)
def test_options_that_are_no_numbers_or_names_are_refused_in_a_sentence(ask, said):
    with pytest.raises(ba.BayesAssessError, match=re.escape(said)):
        ask()


def started(question, **options):
    return ba.assess(ba.Pool(scores=[0.1, 0.4, 0.6, 0.9], classes=["a", "b"]), question, **options)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({0: "a", 1: "b"}, "of a dictionary, {}(list(labels), list(labels.values()))."),
        (pd.DataFrame({"id": [0, 1], "y": ["a", "b"]}), "columns 'id', 'y', {}(frame['id'], frame['label'])."),
        ([0, 1], "and one was found: {}(ids, labels)."),
    ],
)
@pytest.mark.parametrize("named", [{}, {"annotator": "anna"}])
@pytest.mark.parametrize("call", ["tell", "correct"])
def test_ids_and_labels_in_one_argument_are_refused_in_a_sentence(call, told, said, named):
    a = started(ba.GroupAccuracy())
    with pytest.raises(ba.LabelError, match=re.escape(said.format(call))):
        getattr(a, call)(told, **named)
    assert not a.events


@pytest.mark.parametrize("own", [None, list("abcdefgh")])
@pytest.mark.parametrize(
    "ids", [[[0], 1], [1, [0, 1]], [[1], [0, 1]], [0, np.array([0, 1])], ["a", ("a", "b")], [[[0]], []]]
)
def test_lists_among_ids_are_the_ids_of_no_item(own, ids):
    a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 4, ids=own), ba.GroupAccuracy())
    for attempt in (
        lambda: a.tell(ids, ["cat", "dog"]),
        lambda: a.tell(ids, ["cat", "dog"], annotator="A1"),
        lambda: a.correct(ids, ["cat", "dog"]),
        lambda: a.skip(ids),
        lambda: a.release(ids),
    ):
        with pytest.raises(ba.UnknownIdError):
            attempt()
    assert not a.events


def test_parts_of_curves_are_asked_for_by_whole_numbers():
    ranked = ba.assess(ba.RankedList(50), ba.PrecisionCurve(p_min=0.5)).result()
    with pytest.raises(ba.QuestionError, match=r"Ranks are whole numbers from 1 to 50; found \[\[1\]\]"):
        ranked.at([[1]])
    curve = ba.assess(ba.Pool(scores=np.linspace(0, 1, 30)), ba.PRCurve(5)).result()
    assert len(curve.table(3)) == 3
    for rows in (-1, 0, 1.5, "x", [3]):
        with pytest.raises(ba.QuestionError, match="A table has a whole number of rows, 1 or more"):
            curve.table(rows)


def test_a_masked_number_is_none():
    a = ba.assess(ba.Pool(predictions=[0, 1, 1, 0]), ba.GroupAccuracy())
    with pytest.raises(ba.BudgetError, match="a positive whole number of items"):
        a.ask(np.ma.masked)
    with pytest.raises(ba.QuestionError, match="The level of an interval"):
        a.result(level=np.ma.masked)
