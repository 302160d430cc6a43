"""Futures of groups that are followed side by side: their choices, their labels, and what plans make of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.designs._blocks import SideBySide, choose_in_rounds, drawn_without_replacement
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.sessions.planning import labels_needed
from bayes_assess.studies.arm_futures import ArmFutures, follows_at_once
from bayes_assess.studies.futures import SessionFutures, imagined_labels, without_pending
from bayes_assess.studies.goals import Goal
from made import labelled_sessions, made_pool

SIZES = [60, 90, 40, 110]
POOL, LABELS = made_pool([0.95, 0.6, 0.8, 0.7], SIZES)
DESIGNS = [*ba.designs.ARMS]


told = labelled_sessions(POOL, LABELS, ba.GroupAccuracy(), design="thompson", seed=1)


def futures_of(session, n=3, kind: Any = ArmFutures, **options):
    state = without_pending(session.design, session._state, None)
    unlabelled = imagined_labels(session.design, state, session._setting, n, seed=3)
    return kind(session.design, state, unlabelled, session._setting, seed=3, **options)


def side_by_side(session, n):
    state = session._state
    counts, remaining = (np.repeat(np.asarray(x)[None], n, axis=0) for x in (state.counts, state.remaining))
    with engine.eager():
        posterior = session._setting.prior.update_counts(counts)
    nothing = np.zeros_like(counts)
    return SideBySide(
        posterior=posterior,
        since=nothing,
        counts=counts,
        pending=nothing.sum(-1),
        remaining=remaining,
        weight=np.asarray(state.weight),
        reward=session._setting.reward,
    )


def chi_square(first, second):
    """Return the probability of counts so unlike, if both are of one distribution."""
    seen = (first + second) > 0
    found: Any = stats.chi2_contingency(np.stack([first, second])[:, seen]) if seen.sum() > 1 else None
    return 1.0 if found is None else float(found.pvalue)


# Of the learned belief the quick tests have a design that averages and one that draws.
SOON = [("learned", design) for design in ("thompson", "bayes_ucb")]
SOON += [("uninformative", design) for design in DESIGNS]


@pytest.mark.parametrize(
    ("prior", "design"),
    [
        pytest.param(prior, design, marks=[] if (prior, design) in SOON else [pytest.mark.slow])
        for prior in ("learned", "uninformative")
        for design in DESIGNS
    ],
)
def test_a_block_of_one_item_is_chosen_as_the_design_chooses_it(design, prior):
    """Points of what learns are placed anew for a block, so that cells that all but tie may change places."""
    n, k = 200, len(SIZES)
    session = told(12, design=design, prior=prior)
    with engine.eager():
        asked = session.design.ask_block(np.random.default_rng(0), side_by_side(session, n), 1)
        keys = engine.random.split(engine.random.key(1), n)
        played = [int(session.design.choose(key, session._state)[0]) for key in keys]
    assert (asked.sum(1) == 1).all()
    expected = np.bincount(played, minlength=k)
    if session.design.always_plays_best and prior == "learned":
        assert np.abs(asked.sum(0) - expected).sum() < 0.1 * n
    else:
        assert chi_square(asked.sum(0), expected) > 1e-4


@pytest.mark.parametrize(
    ("question", "prior"),
    [
        pytest.param(ba.Compare(0, 1, by="prediction"), "learned", id="two-learned", marks=pytest.mark.slow),
        pytest.param(ba.Compare(0, 1, by="prediction"), "uninformative", id="two"),
        pytest.param(ba.Compare(by="prediction"), "learned", id="all-learned"),
        pytest.param(ba.Compare(by="prediction"), "uninformative", id="all", marks=pytest.mark.slow),
    ],
)
def test_groups_are_compared_by_the_same_groups(question, prior):
    """Two groups are compared by the normal distribution where the session has the masses: nearly the same choices."""
    n, k = 300, len(SIZES)
    session = told(12, question, prior=prior)
    with engine.eager():
        asked = session.design.ask_block(np.random.default_rng(0), side_by_side(session, n), 1).sum(0)
        keys = engine.random.split(engine.random.key(1), n)
        expected = np.bincount([int(session.design.choose(key, session._state)[0]) for key in keys], minlength=k)
    two = len(session._state.playable) == 2
    assert np.abs(asked - expected).sum() < 0.3 * n if two else chi_square(asked, expected) > 1e-4


@pytest.mark.parametrize("design", DESIGNS)
def test_no_cell_is_asked_for_more_items_than_it_has(design):
    session = told(40, design=design)
    side = side_by_side(session, 3)
    n = int(side.remaining[0].sum())
    with engine.eager():
        asked = session.design.ask_block(np.random.default_rng(0), side, n)
        most = session.design.ask_block(np.random.default_rng(0), side, n - 1)
    np.testing.assert_array_equal(asked, side.remaining)
    assert (most.sum(1) == n - 1).all()
    assert (most <= side.remaining).all()


def test_a_block_learns_that_items_are_pending():
    """Without that, the group of the widest posterior would be asked for alone."""
    session = told(4, design="bayes_ucb", prior="uninformative")
    with engine.eager():
        asked = session.design.ask_block(np.random.default_rng(0), side_by_side(session, 1), 40)
    assert (asked[0] > 4).all()


def test_rounds_have_as_many_items_as_are_missing():
    sizes = []

    def choose(campaigns, n):
        sizes.append(n)
        return np.zeros((n, 1), int)

    nothing = np.zeros((1, 1), int)
    nobody: Any = None
    side = SideBySide(nobody, nothing[..., None], nothing[..., None], nothing, nothing + 50, np.ones(1), None)
    assert choose_in_rounds(choose, side, 10, n_rounds=4).tolist() == [[10]]
    assert sizes == [3, 3, 3, 1]


def lagging(labels_before: bool = True):
    """A campaign whose last group is right in one of ten items, the others in nine: no draw of 2,000 leads another."""
    session = told(200, ba.LeastAccurate(), prior="uninformative")
    counts = np.array([[[100, 900], [100, 900], [100, 900], [900, 100]]])
    before = counts if labels_before else np.zeros_like(counts)
    posterior = session._setting.prior.update_counts(before)
    side = replace(side_by_side(session, 1), posterior=posterior, counts=counts, since=counts - before)
    return replace(side, remaining=np.full((1, 4), 50))


def test_top_two_challenges_a_leader_as_often_as_it_should_side_by_side():
    side, rng = lagging(), np.random.default_rng(0)
    for beta in (0.0, 0.2, 1.0):
        leads = (ba.designs.TopTwo(beta=beta).play_all(rng, side, 2000) == 3).sum()
        assert stats.binomtest(int(leads), 2000, 1 - beta).pvalue > 1e-4


def test_epsilon_greedy_leaves_the_best_group_as_often_as_it_should_side_by_side():
    side, rng = lagging(), np.random.default_rng(0)
    for epsilon in (0.0, 0.2, 1.0):
        best = (ba.designs.EpsilonGreedy(epsilon=epsilon).play_all(rng, side, 2000) == 3).sum()
        assert stats.binomtest(int(best), 2000, 1 - 0.75 * epsilon).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("design", ["thompson", "bayes_ucb"])  # by draws, and by quantiles
def test_labels_count_whether_the_posterior_has_them_or_they_came_since(design):
    plays = [
        ba.designs.ARMS[design]().play_all(np.random.default_rng(0), lagging(before), 200) for before in (True, False)
    ]
    np.testing.assert_array_equal(*plays)
    assert (plays[0] == 3).any()


def test_items_are_drawn_without_replacement():
    """Of five items of three kinds three are drawn: means and variances of the hypergeometric distribution."""
    left, n = np.array([[5, 3, 2]]).repeat(20_000, axis=0), np.full(20_000, 3)
    drawn = drawn_without_replacement(np.random.default_rng(0), left, n)
    assert (drawn.sum(1) == 3).all()
    assert (drawn <= left).all()
    p = np.array([0.5, 0.3, 0.2])
    variance = 3 * p * (1 - p) * (10 - 3) / (10 - 1)
    assert (np.abs(drawn.mean(0) - 3 * p) < 5 * np.sqrt(variance / len(drawn))).all()
    assert (np.abs(drawn.var(0) / variance - 1) < 5 * np.sqrt(2 / len(drawn))).all()


def test_of_very_many_items_draws_are_those_with_replacement():
    left = np.array([[2 * 10**9, 10**9, 0]]).repeat(20_000, axis=0)
    drawn = drawn_without_replacement(np.random.default_rng(0), left, np.full(20_000, 30))
    assert (drawn.sum(1) == 30).all()
    assert np.abs(drawn[:, 0].mean() - 20) < 5 * np.sqrt(30 * 2 / 9 / len(drawn))


QUESTIONS = [
    ba.GroupAccuracy(),
    ba.GroupRecall(np.arange(POOL.n_items) % 3, positive=1),
    ba.ConfusionMatrix(),
    ba.Compare(0, 1, by="prediction"),
    ba.Compare(by="prediction"),
]


@pytest.mark.parametrize(
    ("question", "prior", "kind"),
    [
        *((question, prior, ArmFutures) for question in QUESTIONS for prior in ("learned", "uninformative")),
        (QUESTIONS[0], "uninformative", SessionFutures),
        (QUESTIONS[3], "uninformative", SessionFutures),
    ],
)
def test_futures_end_at_their_own_labels(question, prior, kind):
    futures = futures_of(session := told(40, question, design="random", prior=prior), kind=kind)
    n = int(futures.unlabelled[0].sum(-1)[session._setting.playable].sum()) + 40
    found = futures.campaigns(np.arange(3), n, 0.95)
    told_ = found.counts[:, 0] - session.counts
    playable = session._setting.playable
    np.testing.assert_array_equal(told_[:, playable], futures.unlabelled[:, playable])
    assert not told_[:, ~playable].any()
    if playable.all():
        with engine.eager():
            assert np.diff(session.question.plan_intervals(found, 0.95)).max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("design", "n"), [("random", 8), *((design, 24) for design in DESIGNS)])
def test_blocks_need_as_many_labels_as_single_ones(design, n):
    """On the same pools, in the mean of the logarithms, which blocks and single labels spread alike."""
    question = ba.GroupAccuracy()
    session = told(30, question, design=design, prior="uninformative")
    goal = Goal.checked(question, session.cells, 0.22, None, "widest", 0.95)
    looks = np.unique(np.geomspace(40, 300, 10).astype(int))
    needed = []
    for kind, options in ((ArmFutures, {}), (SessionFutures, {"one_by_one": True})):
        futures, values = futures_of(session, n, kind, **options), []
        for look in looks:
            found = futures.campaigns(np.arange(n), int(look), 0.95)
            with engine.eager():
                values.append(goal.measured(found)[1][:, 0])
        needed.append(labels_needed(goal, looks, np.stack(values, axis=1), 300))
    ratio = np.log(needed[0] / needed[1])
    assert abs(ratio.mean()) < 4 * ratio.std(ddof=1) / np.sqrt(n) + 0.01


def test_futures_go_on_only_as_far_as_they_are_asked_to():
    futures = futures_of(told(40), n=4)
    futures.campaigns(np.arange(4), 60, 0.95)
    found = futures.campaigns(np.array([2]), 80, 0.95)
    assert found.labelled.sum(-1).tolist() == [[80]]
    again = futures.campaigns(np.array([0, 1, 3]), 60, 0.95)
    assert again.labelled.sum(-1).tolist() == [[60]] * 3


BY_GROUP = pytest.param(ba.Calibration(bins=3, by="prediction"), marks=pytest.mark.slow)


@pytest.mark.parametrize("question", [*QUESTIONS, ba.Calibration(bins=4), BY_GROUP])
def test_an_eager_session_is_planned_on_numpy_and_plans_do_not_change_it(monkeypatch, question):
    rng = np.random.default_rng(0)
    pool = ba.Pool(predictions=POOL.predictions, confidence=rng.uniform(0.5, 1, POOL.n_items), classes=range(4))
    session, other = (told(40, question, pool=pool) for _ in range(2))
    for name in [name for name in sys.modules if name.split(".")[0] in ("jax", "numpyro")]:
        monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    plan = session.plan(width=0.3, futures=2)
    monkeypatch.undo()
    assert 0 <= plan.labels.lower <= plan.labels.expected <= plan.labels.upper <= 260
    assert session.ask(20).ids.tolist() == other.ask(20).ids.tolist()


def test_designs_and_beliefs_of_users_are_followed_by_their_own_steps():
    class Mine(ba.designs.Thompson):
        def play(self, key, state):
            return super().play(key, state)

    draws = SampledBelief(np.random.default_rng(0).beta(4, 2, (500, 4)), np.zeros(500))
    for design, prior in ((Mine(), "uninformative"), ("thompson", draws)):
        session = told(20, design=design, prior=prior)
        assert not follows_at_once(session.design, session._setting.prior)
        plan = session.plan(width=0.5, futures=2)
        assert 0 <= plan.labels.lower <= plan.labels.upper <= 280


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", [ba.GroupAccuracy(), ba.Calibration(bins=2, by="prediction")], ids=lambda q: q.name
)
def test_a_plan_places_points_for_the_same_labels_once(question, monkeypatch):
    """Answers at a look, and choices after it while no future has arrived, are from one posterior."""
    session = ba.assess(ba.Pool(predictions=POOL.predictions, confidence=np.full(POOL.n_items, 0.8)), question, seed=1)
    prior, placed = session._setting.prior, []
    place = type(prior)._with_labels

    def counted(self, agreements, labels):
        if self is prior:
            placed.append((np.shape(labels), np.asarray(labels).tobytes(), np.asarray(agreements).tobytes()))
        return place(self, agreements, labels)

    monkeypatch.setattr(type(prior), "_with_labels", counted)
    session.plan(width=0.15, futures=3)
    assert len(placed) > 3
    assert all(one != other for one, other in pairwise(placed))
