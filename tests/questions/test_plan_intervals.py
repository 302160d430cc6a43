"""Intervals and verdicts that plans look at: near those of sessions, which are made of many draws."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.studies.futures import with_counts
from made import made_pool

POOL, LABELS = made_pool([0.95, 0.6, 0.8, 0.7], [300, 200, 150, 250])
SITES = np.arange(POOL.n_items) % 3
CONFIDENT = ba.Pool(
    predictions=POOL.predictions, confidence=np.random.default_rng(0).uniform(0.5, 1, POOL.n_items), classes=range(4)
)
_NEAR = 0.08  # of the width: formulas and few draws are for plans, whose futures differ by far more
_DRAWS = 20_000
NUMBERS = pytest.mark.parametrize("n", [60, pytest.param(300, marks=pytest.mark.slow)])  # of labels


def told(question, prior, n):
    session = ba.assess(CONFIDENT, question, design="random_group", prior=prior, seed=1)
    if n:
        queries = session.ask(n)
        session.tell(queries.ids, LABELS[POOL.positions(queries.ids)])
    counts = session.counts[None]
    return session, with_counts(session._setting, counts, counts[0], question.plan_matched)


@NUMBERS
@pytest.mark.parametrize("prior", ["learned", "uninformative"])
@pytest.mark.parametrize(
    "question",
    [
        ba.GroupAccuracy(),
        ba.GroupAccuracy(target="population"),
        ba.GroupRecall(SITES, positive=1),
        ba.GroupRecall(SITES, positive=1, target="population"),
        ba.ConfusionMatrix(),
        ba.Compare(0, 1, by="prediction"),
        ba.Compare(0, 1, by="prediction", target="population"),
    ],
    ids=lambda question: f"{question.name} {question.target}",
)
def test_intervals_of_plans_are_about_as_wide_as_those_of_sessions(question, prior, n):
    session, campaigns = told(question, prior, n)
    counts = campaigns.counts[0, 0]
    with engine.eager():
        planned = np.diff(question.plan_intervals(campaigns, 0.95))[0, 0].max()
        drawn = question.draws(session.cells, session._setting.prior, counts, 0, _DRAWS)
        exact = np.diff(question.interval(session.cells, session._setting.prior, counts, 0.95, drawn)).max()
    assert abs(planned / exact - 1) < _NEAR


@pytest.mark.parametrize("question", [ba.Calibration(bins=4), ba.Calibration(bins=3, by=SITES)], ids=["all", "groups"])
def test_calibration_errors_of_plans_are_those_of_sessions_from_fewer_draws(question):
    """An end of 400 draws is off by 0.13 standard deviations, a width of 4 of them by 5 %: three times that."""
    session, campaigns = told(question, "learned", 150)
    with engine.eager():
        planned = np.diff(question.plan_intervals(campaigns, 0.95))[0, 0]
        exact = np.diff(question.interval(session.cells, session._setting.prior, campaigns.counts[0, 0], 0.95))
    assert (np.abs(planned / exact - 1) < 0.15).all()


@NUMBERS
@pytest.mark.parametrize("target", ["pool", "population"])
def test_verdicts_of_plans_are_as_sure_as_those_of_sessions(target, n):
    for question in (ba.Compare(0, 1, by="prediction", target=target), ba.Compare(by="prediction", target=target)):
        _, campaigns = told(question, "learned", n)
        with engine.eager():
            planned, exact = question.plan_verdicts(campaigns), question.study_verdicts(campaigns)
        assert np.abs(planned - exact).max() < 0.03


def test_what_groups_have_in_common_cancels_in_differences():
    """Before any label groups are known to be alike, and their difference is surer than two independent accuracies."""
    question = ba.Compare(0, 1, by="prediction")
    session, campaigns = told(question, "learned", 0)
    with engine.eager():
        width = np.diff(question.plan_intervals(campaigns, 0.95)).max()
        independent = 2 * 1.96 * np.sqrt(np.asarray(session._setting.prior.variance)[:2].sum())
    assert width < 0.9 * independent
