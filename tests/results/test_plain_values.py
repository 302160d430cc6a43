"""Every kind of answer as plain values, such as trackers of experiments take."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bayes_assess as ba
from questions.asked import LABELS, POOL, QUESTIONS, RANDOM

POSITIVE = (LABELS == 2).astype(int)
SCORED = ba.Pool(scores=POOL.scores[:, 2], predictions=(POOL.predictions == 2).astype(int), groups=dict(POOL.groups))
RIVALS = ba.Pool(scores=SCORED.scores, predictions=SCORED.predictions, systems={"rival": POSITIVE ^ (LABELS == 3)})
SETS = ba.Pool(predictions=["a;b", "a", "-", "b"] * 5, multilabel=True)
NUMBERS = ba.Pool(predictions=np.linspace(0, 10, 40), bounds=(0, 10))
ASKED = {name: (POOL, question, RANDOM[name], LABELS) for name, question in QUESTIONS.items()} | {
    "f1_weighted": (SCORED, ba.Metric("f1"), "passive", POSITIVE),
    "f1_believed": (SCORED, ba.Metric("f1"), "variance_reduction", POSITIVE),
    "curve": (SCORED, ba.PRCurve(8), "passive", POSITIVE),
    "measures_compared": (RIVALS, ba.Compare("rival", "prediction", measure="f1"), "passive", POSITIVE),
    "rate": (SCORED, ba.Rate(1), "passive", POSITIVE),
    "mean": (NUMBERS, ba.Mean(), None, np.linspace(1, 9, 40)),
    "label_sets": (SETS, ba.Metric("f1_micro"), "passive", np.array(["a;b", "-", "a", "b"] * 5)),
}


def is_plain(found: object) -> bool:
    if isinstance(found, dict):
        return all(type(key) is str and is_plain(value) for key, value in found.items())
    if isinstance(found, list):
        return all(map(is_plain, found))
    return found is None or type(found) in (str, int, float, bool)


# To compute, and like others here.
LONG = ("confusion", "calibration_by", "least_calibrated", "two_calibrations", "mean")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in ASKED])
def test_an_answer_is_plain_values_that_strict_json_holds(name):
    pool, question, design, labels = ASKED[name]
    a = ba.assess(pool, question, design=design)
    for n in (0, 12):  # before the first label, much is unknown
        if n:
            asked = a.ask(n).ids
            a.tell(asked, labels[asked])
        found = a.result().to_dict()
        assert is_plain(found)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert (found["labels_used"], found["design"]) == (n, a.design.name)
        assert isinstance(found["table"], list)
        assert found["table"]


def test_a_ranked_answer_and_a_plan_are_plain_values():
    a = ba.assess(ba.RankedList(1_000), ba.PrecisionCurve(epsilon=0.2, beta=1.5, p_min=0.5))
    asked = a.ask(20)
    a.tell(asked.ids, (asked.ranks < 300).astype(int))
    plan = ba.assess(POOL, ba.GroupAccuracy(), design="random").plan(width=0.3, futures=2)
    for found in (a.result().to_dict(), plan.to_dict()):
        assert is_plain(found)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
