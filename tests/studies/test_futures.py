from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.studies.futures import SessionFutures, imagined_labels, without_pending
from made import labelled_sessions, made_pool

POOL, LABELS = made_pool([0.9, 0.5, 0.7], [300, 200, 40])


told = labelled_sessions(POOL, LABELS, ba.GroupAccuracy(), design="random", prior="uninformative", seed=1)


def imagined(session, n):
    return imagined_labels(session.design, session._state, session._setting, n, seed=3)


@pytest.mark.parametrize(
    "question",
    [
        ba.GroupAccuracy(),
        ba.GroupRecall(np.arange(POOL.n_items) % 3, positive=1),
        ba.ConfusionMatrix(),
        ba.Compare(0, 1, by="prediction"),
    ],
    ids=lambda question: question.name,
)
def test_every_unlabelled_item_gets_one_label(question):
    session = told(60, question)
    unlabelled = imagined(session, 7)
    assert (unlabelled >= 0).all()
    np.testing.assert_array_equal(unlabelled.sum(-1), np.tile(session.cells.sizes - told_per_cell(session), (7, 1)))


def told_per_cell(session):
    return session.counts.sum(-1)


def test_imagined_labels_have_the_moments_of_the_beta_binomial():
    session, n = told(60), 4000
    right = imagined(session, n)[..., 1]
    counts = session.counts
    a, b = 1 + counts[:, 1], 1 + counts[:, 0]
    rest = session.cells.sizes - counts.sum(-1)
    mean, total = rest * a / (a + b), a + b
    variance = rest * a * b * (total + rest) / (total**2 * (total + 1))
    assert (np.abs(right.mean(0) - mean) < 5 * np.sqrt(variance / n)).all()
    # The fourth moment of a Beta-binomial variable is below three times that of a normal one here.
    assert (np.abs(right.var(0) / variance - 1) < 5 * np.sqrt(3 / n)).all()


@pytest.mark.parametrize("prior", ["uninformative", pytest.param("learned", marks=pytest.mark.slow)])
def test_looks_change_nothing(prior):
    """Campaigns that stop to be looked at are those that go on, with a belief that is carried along, too."""
    session = told(60, design="thompson", prior=prior)
    unlabelled = imagined(session, 3)

    def run(*looks):
        args = session.design, session._state, unlabelled, session._setting
        futures = SessionFutures(*args, seed=5, one_by_one=True)
        return [futures.campaigns(np.arange(3), look, 0.95).counts for look in looks][-1]

    np.testing.assert_array_equal(run(64, 69, 80, 91), run(91))


def test_a_future_is_a_session_with_the_labels_of_its_pool():
    """Its choices are those of the session's own steps: of one that is told the same labels."""
    session = told(60, design="random_group")
    unlabelled = imagined(session, 1)
    futures = SessionFutures(session.design, session._state, unlabelled, session._setting, seed=5)
    found = futures.campaigns(np.arange(1), 100, 0.95).counts[0, 0] - session.counts
    assert found.sum() == 40
    assert (found <= unlabelled[0]).all()
    assert found.sum(-1).max() < 30  # of three groups


def test_pending_items_are_as_if_never_asked_for():
    session, other = told(60), told(60)
    session.ask(25)
    state = without_pending(session.design, session._state, None)
    for field in ("pending", "remaining", "counts"):
        np.testing.assert_array_equal(getattr(state, field), np.asarray(getattr(other._state, field)))


@pytest.mark.slow
def test_labels_told_out_of_order_bet_in_a_plan_but_items_without_one_do_not():
    scores = np.random.default_rng(0).random(400)
    pool = ba.Pool(scores=scores)
    session = ba.assess(pool, ba.Metric("f1"), design=ba.designs.VarianceReduction(audit=0.5), seed=0)
    queries = session.ask(40)
    session.tell(queries.ids[1:31], (scores[pool.positions(queries.ids[1:31])] > 0.4).astype(int))
    assert not np.asarray(session._state.audit.counts).sum()  # the first label is missing
    state = without_pending(session.design, session._state, session._steps.take()[1])
    assert np.asarray(state.audit.counts).sum() == (queries.weights[1:31] > 0).sum() > 0
    assert np.asarray(state.audit.known).sum() == 30
    assert np.asarray(state.remaining).sum() == 370
