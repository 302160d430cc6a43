"""Values of the wrong kind end in a sentence of ours."""

from __future__ import annotations

import dataclasses

import numpy as np
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


def test_a_measure_of_one_class_says_that_there_is_nothing_to_measure():
    with pytest.raises(QuestionError, match=r"only be .cat. here, the one class .* declare all classes"):
        ba.assess(ba.Pool(predictions=["cat"] * 3), ba.Metric("accuracy"))


def test_nothing_can_be_written_as_a_workbook(tmp_path):
    queries = ba.assess(POOL, ba.GroupAccuracy(), prior="uninformative", design="random").ask(1)
    columns = ("ids", "cells", "weights", "groups", "predictions")
    dataclasses.replace(queries, **{name: getattr(queries, name)[:0] for name in columns}).to_xlsx(tmp_path / "a.xlsx")
    ids, labels = ba.read_labels(tmp_path / "a.xlsx", POOL)
    assert len(ids) == len(labels) == 0
