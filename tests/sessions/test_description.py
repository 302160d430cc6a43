"""Questions, designs and priors come back from their descriptions, which are JSON."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import DESIGNS
from bayes_assess.measures import measure
from bayes_assess.pool.strata import FeatureStrata, Strata
from bayes_assess.questions import QUESTIONS, ScorePrior
from bayes_assess.sessions.description import (
    describe_belief,
    describe_design,
    describe_question,
    described_belief,
    described_design,
    described_question,
)

POOL = ba.Pool(scores=np.linspace(0.05, 0.95, 40), groups={"site": np.arange(40) % 4})

DESCRIBED = [
    ba.GroupAccuracy(ba.ScoreBins(5, "weight"), target="population"),
    ba.GroupAccuracy(Strata(np.int64(8), "width", "cat")),
    ba.GroupAccuracy(Strata(8, of=1, n_fine=100)),
    ba.LeastAccurate("site", m=np.int64(2)),
    ba.MostAccurate(m=3),
    ba.ConfusionMatrix(),
    ba.ConfusionMatrix(np.eye(2), target="population"),
    ba.MostCostly([[0, 2], [1, 0]], m=1),
    ba.Calibration(7, "site"),
    ba.LeastCalibrated("site", ba.ScoreBins(3, "weight"), m=2),
    ba.Compare("a", "b", by="site", rope=0.1),
    ba.Compare(np.str_("a"), np.str_("b"), by=ba.ScoreBins(3)),
    ba.Compare(by="site", target="population"),
    ba.Compare("prediction", "other"),
    ba.Compare("a", "b", by="site", measure="ece", bins=ba.ScoreBins(3, "weight")),
    ba.GroupRecall("site", "cat", covariates="age"),
    ba.LowestRecall(ba.ScoreBins(3), np.int64(1), m=2, target="population"),
    ba.HighestRecall("site"),
    ba.Best(["prediction", "other"], "f1", rope=0.02, positive="cat"),
    ba.Metric("f1", "cat"),
    ba.Metric(["precision", measure("recall")], positive=np.int64(1), by="site", average="macro"),
    ba.Metric(measure("fbeta", beta=2), systems=["prediction", "other"]),
    ba.Metric(measure("fbeta", beta=0.5, average=None)),
    ba.Metric("recall_per_class"),
    ba.Metric(measure("recall", average=None)),
    ba.PRCurve(20, positive="cat"),
    ba.PRCurve([0.25, 0.5]),
    ba.PrecisionCurve(epsilon=0.1, slack=20, positive="cat"),
    ba.Rate(),
    ba.Rate("cat", by="site"),
    ba.Mean(),
    ba.Mean({1: 0, 2: np.float64(0.5)}, by="site"),
    ba.Mean([1, 2.5]),
]


def as_read(description):
    """What a journal gives back."""
    return json.loads(json.dumps(description))


@pytest.mark.parametrize("question", DESCRIBED, ids=lambda question: question.name)
def test_questions_come_back(question):
    description = describe_question(question)
    again = described_question(as_read(description))
    assert type(again) is type(question)
    assert describe_question(again) == description


def test_every_question_is_tried():
    assert {describe_question(question)["question"] for question in DESCRIBED} == set(QUESTIONS)


def test_options_come_back_as_they_were():
    again = described_question(as_read(describe_question(ba.GroupAccuracy(Strata(8, "weight", 1)))))
    assert again.by == Strata(8, "weight", 1)
    again = described_question(as_read(describe_question(ba.Metric(measure("fbeta", beta=2, average=None)))))
    assert again.measure is measure("fbeta", beta=2, average=None)
    again = described_question(as_read(describe_question(ba.Metric(measure("recall", average=None)))))
    assert measure(again.measure) is measure("recall", average=None)
    again = described_question(as_read(describe_question(ba.ConfusionMatrix(np.arange(4).reshape(2, 2)))))
    np.testing.assert_array_equal(again.cost_matrix, [[0, 1], [2, 3]])


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_come_back(name):
    design = DESIGNS[name]()
    assert described_design(as_read(describe_design(design))) == design


@pytest.mark.parametrize(
    "belief",
    [
        ba.BetaBernoulli(np.array([1.0, 2.0]), np.array([0.1, 1 / 3])),
        ba.DirichletConfusion(np.array([[1.0, 2.0], [0.1, 1 / 3]])),
        ba.HierarchicalAccuracy.from_prior(mean_score=[0.6, 0.9]),
        ba.HierarchicalCalibration.from_prior(score=[[0.6, 0.9], [0.7, 0.8]], size=[[3, 4], [5, 6]]),
        ba.HierarchicalConfusion.from_prior(mean_scores=[[0.6, 0.4], [0.1, 0.9]]),
        ba.HierarchicalConfusion.from_prior(mean_scores=[[0.6, 0.4, 0], [0.1, 0.9, 0], [0, 0, 0]]),
        ba.PairedOutcomes(np.array([[1.0, 2.0, 3.0, 4.0]])),
        ScorePrior(np.array([[0.25, 0.75]])),
    ],
    ids=lambda belief: type(belief).__name__,
)
def test_priors_come_back_to_the_last_bit(belief):
    again = described_belief(as_read(describe_belief(belief)))
    assert type(again) is type(belief)
    for value, kept in zip(jax.tree.leaves(belief), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(kept, value)


@pytest.mark.parametrize(
    "question",
    [
        ba.GroupAccuracy(np.arange(40) % 3),
        ba.GroupAccuracy([*"ab"] * 20),
        ba.GroupAccuracy(ba.partition(POOL, "site")),
        ba.GroupAccuracy(Strata(8, of=np.linspace(0, 1, 40))),
        ba.GroupAccuracy(FeatureStrata(np.ones((40, 2)))),
        ba.Compare("prediction", np.zeros(40, int)),
    ],
    ids=lambda question: question.name,
)
def test_values_of_items_have_to_be_given_again(question):
    description = as_read(describe_question(question))
    assert len(json.dumps(description)) < 200
    with pytest.raises(ba.JournalError, match="given as an array; pass resume"):
        described_question(description)


def test_what_no_journal_can_keep_is_refused():
    class Mine(ba.GroupAccuracy):
        pass

    own = ba.Measure(loss=lambda y, f: (y != f)[None] * 1.0, g=lambda r: r[0], name="f1")
    with pytest.raises(ba.QuestionError, match=r"keeps the questions .*; Mine is none of them. Leave out the journal"):
        describe_question(Mine())
    with pytest.raises(ba.QuestionError, match=r"'f1' has functions of its own.*\. Leave out the journal\."):
        describe_question(ba.Metric(own))
    with pytest.raises(
        ba.PriorError, match=r"priors of the kinds .*\. Leave out the journal, or .*SampledBelief.*posterior="
    ):
        describe_belief(np.ones(2))


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ({"question": "Fairness"}, "There is no question 'Fairness'"),
        ({"question": "GroupAccuracy", "depth": 2}, "question 'GroupAccuracy' has no option 'depth'"),
        ({"question": "GroupAccuracy", "by": {"rings": 2}}, "no groups such as {'rings': 2}"),
        ({"question": "GroupAccuracy", "by": {"bins": 2, "kind": "width", "of": 1}}, "kind of bins has no option 'of'"),
    ],
)
def test_descriptions_of_newer_releases_say_so(description, said):
    with pytest.raises(ba.JournalError, match=f"{said}; a newer release may have written it; upgrade"):
        described_question(description)


# -- journals ----------------------------------------------------------------------------------------------------------


def test_another_question_or_design_than_the_journal_s_is_refused(tmp_path):
    path = tmp_path / "run.db"
    ba.assess(POOL, ba.LeastAccurate("site"), design="epsilon_greedy", journal=path).journal.close()
    for question in (ba.LeastAccurate("site", m=2), ba.MostAccurate("site"), ba.LeastAccurate()):
        with pytest.raises(ba.JournalError, match="asks another question"):
            ba.resume(path, POOL, question)
    for design in (ba.designs.EpsilonGreedy(0.5), ba.designs.Thompson()):
        with pytest.raises(ba.JournalError, match="is of another design"):
            ba.resume(path, POOL, design=design)
    assert ba.resume(path, POOL, ba.LeastAccurate("site"), ba.designs.EpsilonGreedy()).labels_used == 0


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("tell", {"ids": [0], "labels": [1]}, "does not follow from those before it"),
        ("forget", {"ids": [0]}, "unknown kind 'forget'"),
        ("ask", {"ids": [0], "queue": [-1]}, "does not follow from those before it"),
    ],
)
def test_entries_that_contradict_others_are_refused(tmp_path, kind, payload, said):
    path = tmp_path / "run.db"
    a = ba.assess(POOL, ba.GroupAccuracy("site"), design="random", journal=path)
    a.tell([0], [0])
    a.ask(3)
    a.journal.append(kind, payload)
    with pytest.raises(ba.JournalError, match=said):
        ba.resume(path, POOL)


@pytest.mark.parametrize("kind", ["M8[D]", "M8[ns]", object])
def test_groups_that_are_dates_come_back(kind, tmp_path):
    """A journal once held "a value of every item" in the place of a date, and could not be resumed."""
    days = np.array(["2024-05-01", "2024-06-01"] * 4, "M8[D]").astype(kind)
    pool = ba.Pool(predictions=[0, 0, 1, 1] * 2, groups={"day": days})
    a = ba.assess(pool, ba.Compare(days[0], days[1], by="day"), journal=tmp_path / "run.db")
    a.tell(range(8), [0, 1] * 4)
    again = ba.resume(tmp_path / "run.db", pool)
    assert again.result().estimate == a.result().estimate
