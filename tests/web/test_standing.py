"""The answer so far has the numbers of the session, whatever is asked."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.web.standing import standing

N = 60
RNG = np.random.default_rng(0)
SCORES = RNG.random(N)
POOL = ba.Pool(scores=SCORES, systems={"old": RNG.integers(0, 2, N)}, groups={"site": RNG.integers(0, 2, N)})
HALVES = ba.Pool(predictions=[1, 0] * 20, groups={"system": ["a"] * 20 + ["b"] * 20, "prompt": [*range(20)] * 2})
ASKED = {
    "accuracy": (POOL, ba.GroupAccuracy(), {"design": "random"}),
    "least": (POOL, ba.LeastAccurate(), {}),
    "confusion": (POOL, ba.ConfusionMatrix(), {}),
    "calibration": (POOL, ba.Calibration(bins=4), {}),
    "compare": (POOL, ba.Compare("prediction", "old"), {}),
    "f1": (POOL, ba.Metric("f1"), {}),
    "two": (POOL, ba.Metric(["f1", "recall"]), {}),
    "curve": (POOL, ba.PRCurve(thresholds=8), {}),
    "pairs": (HALVES, ba.Compare("a", "b", by="system", measure="rate", pair="prompt"), {}),
    "ranked": (ba.RankedList(100), ba.PrecisionCurve(p_min=0.5), {}),
    "numbers": (ba.Pool(predictions=100 * SCORES, bounds=(0, 100)), ba.Mean(), {}),
}


@pytest.mark.parametrize("name", ASKED)
def test_every_answer_is_plain_and_the_sessions_own(name):
    pool, question, options = ASKED[name]
    session = ba.assess(pool, question, **options)
    ids = session.ask(12).ids
    session.tell(ids, [int(i) % 2 for i in range(len(ids))])
    found = standing(session, width=0.2)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    result = session.result()
    assert found["lines"] == result.summary().splitlines()
    assert found["labels"] == 12
    if name in ("f1", "compare", "pairs", "numbers"):
        assert found["estimate"] == pytest.approx(float(result.estimate))
        assert found["interval"] == pytest.approx(list(result.interval))
        assert found["stop"] == (found["interval"][1] - found["interval"][0] <= 0.2)
        assert "more for a width of 0.2" in (found["needed"] or "more for a width of 0.2")
    if name == "f1":
        assert found["second"] == pytest.approx(list(result.design_interval))


def test_labels_are_those_of_the_answer_while_others_come(monkeypatch):
    session = ba.assess(ba.Pool(predictions=[0, 1] * 10), ba.GroupAccuracy(), design="random")
    session.tell(range(2), [0, 1])
    answered = session.result

    def late(*level):
        found = answered(*level)
        session.tell(range(2, 6), [0, 1] * 2)
        return found

    monkeypatch.setattr(session, "result", late)
    found = standing(session)
    assert (found["labels"], found["lines"][0].split(" of ")[0], session.labels_used) == (2, "2", 6)


def test_items_that_are_out_are_not_labelled():
    session = ba.assess(ba.Pool(predictions=[0, 1] * 10), ba.GroupAccuracy(), design="random")
    session.tell(range(17), [0, 1] * 8 + [1])
    session.ask(3)
    found = standing(session, width=0.01)
    assert not found["stop"]
    assert found["verdict"].endswith("0.01 is wanted.")


def test_items_set_aside_are_no_labelled_ones():
    session = ba.assess(ba.Pool(predictions=[0, 1] * 10), ba.GroupAccuracy(), design="random")
    session.skip([0, 1])
    session.tell(range(2, 14), [0, 1] * 6)
    assert standing(session, width=0.01)["needed"] == "The 6 that are left may not be enough for a width of 0.01."
    session.tell(range(14, 20), [1, 1] * 3)
    found = standing(session, width=0.01)
    assert (found["stop"], found["verdict"]) == (True, "All is labelled but 2 items that nobody could label.")


def test_a_campaign_that_has_all_labels_may_stop():
    session = ba.assess(ba.Pool(predictions=[0, 1]), ba.GroupAccuracy(), design="random")
    session.tell([0, 1], [0, 1])
    assert standing(session)["stop"]


@pytest.mark.parametrize(
    ("probability", "said"), [(0.94996, "0.949; 0.95 is wanted."), (0.95, "0.950; 0.95 is reached")]
)
def test_a_verdict_is_said_to_be_sure_only_once_it_is(probability, said, monkeypatch):
    session = ba.assess(POOL, ba.Compare("prediction", "old"))
    monkeypatch.setattr(type(session.result()), "probability", probability)
    found = standing(session)  # before any label it is that of the prior, on which nobody stops
    assert not found["stop"]
    shown = f"{said[:5]}, as expected before any label; 0.95 is wanted."
    assert found["verdict"] == f"The verdict has probability {shown}"
    session.tell(session.ask(1).ids, [0])
    found = standing(session)
    assert found["stop"] == (probability >= 0.95)
    assert found["verdict"].startswith(f"The verdict has probability {said}")


@pytest.mark.parametrize("n", [30, 40, 50, 60])
def test_a_width_is_shown_as_more_than_is_wanted_where_it_is(n):
    session = ba.assess(ba.Pool(predictions=[0, 1] * 997), ba.GroupAccuracy(), design="random")
    session.tell(session.ask(n).ids, [0, 1] * (n // 2))
    low, high = session.result().overall[1]
    wide = high - low
    width = (wide + round(wide, 3)) / 2  # three digits are on the other side of it
    said = standing(session, width=width)
    shown = float(said["verdict"].split(" is ")[1].split()[0])
    assert (shown > width) == (wide > width) == (not said["stop"])
