"""What every design that plays arms must do."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.acquisition.rewards import LowAccuracy
from bayes_assess.designs import ARMS, CellState, Design, Poisson, choose_batch, reserve_batch, update_batch
from bayes_assess.questions import Question
from made import made_pool, run_campaign, same_session, start

POOL, LABELS = made_pool([0.9, 0.5, 0.7, 0.8], [30, 20, 1, 25])
# For beliefs that learn, whose steps take far longer. Two batches; points are placed anew within and between them.
SMALL, SMALL_LABELS = made_pool([0.9, 0.5, 0.7, 0.8], [5, 4, 1, 4])
COSTS = [[0, 1, 1, 5], [1, 0, 1, 1], [1, 1, 0, 1], [2, 1, 1, 0]]
RIVAL = np.where(np.arange(POOL.n_items) % 3 > 0, LABELS, POOL.predictions)
QUESTIONS = [
    ba.GroupAccuracy(),
    ba.LeastAccurate(),
    ba.MostAccurate(m=2),
    ba.LowestRecall(POOL.predictions, positive=1),  # so that every item of a group can show what another has
    ba.ConfusionMatrix(),
    ba.MostCostly(COSTS),
    ba.Calibration(bins=3),
    ba.LeastCalibrated(bins=ba.ScoreBins(3, kind="weight"), m=2),
    ba.Compare(0, 1, by="prediction"),
    ba.Compare(by="prediction"),
    ba.Compare(second=RIVAL),
]
BATCH = 7
KEY = np.array([0, 2], np.uint32)
# Every design on three questions, and two designs on every question.
PAIRS = [
    pytest.param(design, question, id=f"{name}-{type(question).__name__}")
    for name, design in ARMS.items()
    for question in QUESTIONS
    if (design.max_round is None or question.n_sought <= design.max_round)
    and (question.designs is None or name in question.designs)
    and (name in ("thompson", "random") or type(question) in (ba.GroupAccuracy, ba.LeastAccurate, ba.LeastCalibrated))
]


def fresh_state(design, question=QUESTIONS[0], eager=False) -> CellState:
    return start(design, question, POOL, "uninformative", eager)[1]


# Every pair on a prior that computes fast, and one of every kind of belief that learns.
PLAYED = [(*pair.values, "uninformative") for pair in PAIRS] + [
    (ARMS["thompson"], ba.LeastAccurate(), "learned"),
    (ARMS["epsilon_greedy"], ba.GroupAccuracy(), "learned"),
    (ARMS["bayes_ucb"], ba.GroupAccuracy(), "learned"),
    (ARMS["thompson"], ba.MostCostly(COSTS), "learned"),
    (ARMS["thompson"], ba.LeastCalibrated(bins=3), "learned"),
    (ARMS["top_two"], ba.Compare(0, 1, by="prediction"), "learned"),
]
# All of them on NumPy, and compiled, which takes seconds each: in the quick tests two designs, as `test_engines.py`
# compiles them all.
SOON = [(ARMS[name], ba.LeastAccurate, "uninformative") for name in ("thompson", "random")]
RUNS = [
    pytest.param(
        (design, question, prior, eager),
        id=f"{design.name}-{type(question).__name__}-{prior}-{'eager' if eager else 'compiled'}",
        marks=[] if eager or (design, type(question), prior) in SOON else [pytest.mark.slow],
    )
    for design, question, prior in PLAYED
    for eager in (True, False)
]


class Campaign(NamedTuple):
    """A whole simulated campaign, with the key of a session of seed 0."""

    design: Design
    question: Question
    prior: str
    pool: ba.Pool
    labels: np.ndarray
    cells: np.ndarray  # in the order told
    outcomes: np.ndarray
    state: CellState


@pytest.fixture(scope="module", params=RUNS)
def campaign(request) -> Campaign:
    design, question, prior, eager = request.param
    pool, labels = (SMALL, SMALL_LABELS) if prior == "learned" else (POOL, LABELS)
    n = question.setting(pool).n_playable
    key = ba.assess(pool, question, design=design(), prior="uninformative", seed=0)._key
    told = run_campaign(design(), question, pool, labels, n, key, BATCH, prior, eager)
    return Campaign(design(), question, prior, pool, labels, *told)


def test_a_campaign_asks_every_item_once_and_ends_at_the_exact_answer(campaign):
    _, question, _, pool, labels, played, _, state = campaign
    cells, _, _, playable = question.setting(pool)
    asked = np.where(playable, cells.sizes, 0)
    np.testing.assert_array_equal(np.bincount(played, minlength=cells.n_cells), asked)
    full = question.full_counts(pool, cells, labels, state.counts.shape[1])
    full[asked == 0] = 0
    np.testing.assert_array_equal(state.counts, full)
    assert not np.asarray(state.pending).any()
    assert not np.asarray(state.remaining).any()


def test_a_session_takes_the_steps_of_a_simulated_campaign_in_batches(campaign):
    design, question, prior, pool, _, cells, outcomes, state = campaign
    a = same_session(design, question, pool, cells, outcomes, BATCH, prior)
    for one, other in zip(jax.tree.leaves(a._state), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("design", "question"), PAIRS)
def test_the_same_key_gives_the_same_choices_and_another_key_others(design, question):
    setting = question.setting(POOL)
    n, several = min(setting.n_playable, 30), setting.playable.sum() > 1
    keys = [np.array([0, seed], np.uint32) for seed in (1, 1, 2)]
    runs = [
        run_campaign(design(), question, POOL, LABELS, n, key, BATCH, "uninformative", eager=True)[0] for key in keys
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any() == several


@pytest.mark.parametrize(("design", "question"), PAIRS)
def test_states_hold_no_numbers_of_python_whose_type_would_change_with_the_first_step(design, question):
    with engine.eager():
        state = design().init(*question.setting(POOL))
    assert all(hasattr(leaf, "dtype") for leaf in jax.tree.leaves(state))


@pytest.mark.parametrize("design", ARMS.values(), ids=ARMS)
def test_nothing_recompiles_as_labels_arrive(design):
    """What a step returns is of the types of what it takes, so that one program serves all labels."""

    def step(key, state):
        cell, _, state = design().choose(key, state)
        return design().update(state, cell, jnp.ones((), jnp.int64))

    with jax.enable_x64(True):
        arguments = jax.random.key(0), jax.device_put(fresh_state(design()))
        before, after = (jax.tree.flatten(jax.eval_shape(f, *arguments)) for f in (lambda _, state: state, step))
    assert after == before


@pytest.mark.parametrize("design", ARMS.values(), ids=ARMS)
def test_an_exhausted_cell_is_never_chosen(design):
    state = reserve_batch(design(), fresh_state(design(), eager=True), np.full(30, 0))
    cells, _, state = choose_batch(design(), KEY, state, 0, 46)  # all that is left
    assert 0 not in cells
    assert not np.asarray(state.remaining).any()


@pytest.mark.parametrize("design", ARMS.values(), ids=ARMS)
def test_updating_in_a_batch_equals_updating_one_by_one_in_any_order(design):
    start = reserve_batch(design(), fresh_state(design(), ba.LeastAccurate(), eager=True), np.array([0, 0, 1, 3, 3]))
    at, outcomes = np.array([0, 3, 1, 0, 3]), np.array([1, 0, 1, 0, 1])
    together = update_batch(design(), start, at, outcomes)
    apart = start
    for i in (4, 2, 0, 3, 1):
        apart = update_batch(design(), apart, at[i : i + 1], outcomes[i : i + 1])
    for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def few_shares(design, state) -> np.ndarray:
    """First choices under so few keys that compiling would take longer."""
    with engine.eager():
        keys = engine.random.split(engine.random.key(5), 50)
        return np.bincount([int(design.choose(key, state)[0]) for key in keys], minlength=4)


def chosen_shares(design, state, n=4000) -> np.ndarray:
    """First choices under many keys."""
    with jax.enable_x64(True):
        state = jax.device_put(design.compiled_state(state))
        choose = jax.jit(jax.vmap(lambda key: design.choose(key, state)[0]))
        cells = choose(jax.random.split(jax.random.key(5), n))
    return np.bincount(np.asarray(cells), minlength=4)


def test_no_query_repeats_the_random_numbers_of_an_earlier_one():
    """Of two groups that are alike so far, a query and a later one choose the same one every other time.

    With one key they always would. Thompson sampling chooses by draws of the posterior, which no label moves here.
    """
    pool = ba.Pool(predictions=np.arange(2_000) % 2)
    a = ba.assess(pool, ba.LeastAccurate(), design="thompson", prior="uninformative", seed=3)
    cells = np.concatenate([a.ask(n).cells for n in (1, 63, 64, 128, 128)])
    for apart in range(1, 257):
        same = cells[apart:] == cells[:-apart]
        assert abs(same.mean() - 0.5) < 6 * 0.5 / np.sqrt(len(same)), apart  # 256 of these: once in 2 million seeds


def test_random_draws_items_uniformly():
    counts = chosen_shares(ARMS["random"](), fresh_state(ARMS["random"]()))
    assert stats.chisquare(counts, counts.sum() * np.array([30, 20, 1, 25]) / 76).pvalue > 1e-4


def test_random_group_draws_groups_uniformly():
    counts = chosen_shares(ARMS["random_group"](), fresh_state(ARMS["random_group"]()))
    assert stats.chisquare(counts).pvalue > 1e-4


def test_epsilon_greedy_leaves_the_best_group_to_others_with_probability_epsilon():
    prior = ba.BetaBernoulli(np.array([9.0, 1.0, 9.0, 9.0]), np.array([1.0, 9.0, 1.0, 1.0]))
    design = ba.designs.EpsilonGreedy(epsilon=0.4)
    cells = ba.LeastAccurate().cells(POOL, seed=0)
    with engine.eager():
        state = design.init(cells, prior, LowAccuracy())
    counts = chosen_shares(design, state)
    assert stats.chisquare(counts, counts.sum() * np.array([0.1, 0.7, 0.1, 0.1])).pvalue > 1e-4


BETAS = np.array([3.0, 0.6, 20.0, 5.0]), np.array([1.0, 1.4, 6.0, 2.0])


@pytest.fixture(scope="module")
def least():
    """How often each of four independent Beta variables is the least, by quadrature."""
    root = np.linspace(0, 1, 2_001)[1:-1, None]  # the fourth one, as a density is infinite at 0
    pdf, sf = (distribution(root**4, *BETAS) for distribution in (stats.beta.pdf, stats.beta.sf))
    others = np.stack([np.delete(sf, g, 1).prod(1) for g in range(4)], 1)
    return np.trapezoid(pdf * others * 4 * root**3, root, axis=0)


def test_thompson_chooses_every_group_as_often_as_its_draw_is_the_least(least):
    design, cells = ARMS["thompson"](), ba.LeastAccurate().cells(POOL, seed=0)
    with engine.eager():
        state = design.init(cells, ba.BetaBernoulli(*BETAS), LowAccuracy())
    counts = chosen_shares(design, state)
    assert stats.chisquare(counts, counts.sum() * least / least.sum()).pvalue > 1e-4


def test_bayes_ucb_plays_the_group_with_the_lowest_lower_quantile():
    a, b = np.array([30.0, 2.0, 4.0, 9.0]), np.array([20.0, 1.0, 1.0, 1.0])
    design, cells = ARMS["bayes_ucb"](), ba.LeastAccurate().cells(POOL, seed=0)
    with engine.eager():
        state = design.init(cells, ba.BetaBernoulli(a, b), LowAccuracy())
    assert few_shares(design, state).argmax() == stats.beta.ppf(0.025, a, b).argmin()


@pytest.mark.parametrize("prior", ["uninformative", "learned"])
def test_bayes_ucb_follows_all_labels_told_so_far(prior):
    """With a learned prior a label moves the quantiles of all groups, not of its own alone."""
    pool, labels = made_pool([0.9, 0.5, 0.7, 0.8], [40, 40, 40, 40])
    a = ba.assess(pool, ba.LeastAccurate("prediction"), design="bayes_ucb", prior=prior, seed=0)
    asked = []
    for _ in range(12):
        posterior = a.result().posterior
        lower = np.asarray((posterior.matched() if prior == "learned" else posterior).quantile(0.025))
        np.testing.assert_allclose(lower, posterior.quantile(0.025), atol=0.05)  # a mixture has longer tails
        queries = a.ask(1)
        asked.append(int(queries.cells[0]))
        assert lower[asked[-1]] <= lower.min() + 1e-9
        a.tell(queries.ids, labels[queries.ids])
    assert len(set(asked)) > 1


@pytest.mark.parametrize(
    ("question", "belief"),
    [
        (
            ba.MostCostly(COSTS),
            ba.DirichletConfusion(np.array([[9.0, 1, 1, 2], [2, 9, 2, 2], [4, 4, 40, 4], [9, 1, 1, 9]])),
        ),
        (
            ba.LeastCalibrated(bins=1),
            ba.BetaBernoulli(np.array([30.0, 1.0, 40.0, 9.0]), np.array([20.0, 4.0, 10.0, 1.0])),
        ),
    ],
)
def test_bayes_ucb_plays_the_group_with_the_greatest_upper_quantile_of_a_reward(question, belief):
    setting = question.setting(POOL, prior=belief)
    cells = setting.cells
    with engine.eager():
        state = ARMS["bayes_ucb"]().init(*setting)
    rng = np.random.default_rng(0)
    if isinstance(belief, ba.BetaBernoulli):
        rewards = np.abs(rng.beta(belief.a, belief.b, (20_000, 4)) - cells.mean_score)
    else:
        rows = zip(belief.alpha, np.array(COSTS), strict=True)
        rewards = np.stack([rng.dirichlet(alpha, 20_000) @ costs for alpha, costs in rows], axis=1)
    best, second = np.sort(np.quantile(rewards, 0.975, axis=0))[[-1, -2]]
    assert best > 1.1 * second  # 400 draws tell them apart
    assert few_shares(ARMS["bayes_ucb"](), state).argmax() == np.quantile(rewards, 0.975, axis=0).argmax()


def test_multiple_play_hands_out_one_item_of_each_of_m_different_groups_before_any_twice():
    pool, _ = made_pool([0.9, 0.5, 0.7, 0.8], [20, 20, 20, 20])
    question = ba.LeastAccurate(m=3)
    design = ARMS["thompson"]()
    _, state = start(design, question, pool, eager=True)
    played, _, _ = choose_batch(design, KEY, state, 0, 12)
    turns = played[:9].reshape(3, 3)
    assert all(len(set(turn)) == 3 for turn in turns.tolist())


def test_a_group_of_a_round_whose_items_are_all_labelled_by_now_is_not_waited_for():
    a = ba.assess(POOL, ba.MostAccurate(m=2), design="thompson", prior="uninformative", seed=3)
    first = a.ask(1).ids
    (waiting,) = (arm for arm in np.asarray(a._state.queue).tolist() if arm >= 0)
    others = np.setdiff1d(np.flatnonzero(POOL.predictions == waiting), POOL.positions(first))
    a.tell(POOL.ids[others], LABELS[others])
    assert a.n_remaining == POOL.n_items - 1 - len(others)
    assert POOL.predictions[POOL.positions(a.ask(1).ids)][0] != waiting


def test_what_is_carried_from_label_to_label_is_what_it_would_be_at_the_posterior():
    design = ARMS["bayes_ucb"]()
    state = fresh_state(design, ba.LeastAccurate(), eager=True)
    assert not isinstance(state.memory, tuple)
    cells, outcomes = np.array([0, 1, 1, 3, 0, 1]), np.array([1, 0, 1, 0, 1, 0])
    state = update_batch(design, reserve_batch(design, state, cells), cells, outcomes)
    with engine.eager():
        anew = design.init_memory(replace(state, prior=state.posterior, counts=np.zeros_like(state.counts)))
    np.testing.assert_allclose(state.memory, anew, rtol=1e-6, atol=1e-9)


def test_pending_items_lower_the_worth_of_their_group():
    design = ARMS["epsilon_greedy"](epsilon=0.0)
    state = fresh_state(design, eager=True)
    cells, _, _ = choose_batch(design, KEY, state, 0, 30)
    # Without that, the group that leads at the start gives all its 20 items, and only then another one the rest.
    assert len(set(cells.tolist())) >= 3


@pytest.mark.parametrize("design", [ARMS["thompson"], ARMS["random"]])
def test_keys_are_used_once(design):
    with jax.debug_key_reuse(True), jax.enable_x64(True):
        state = jax.device_put(fresh_state(design()))
        jax.jit(design().choose)(jax.random.key(0), state)


def test_an_unknown_design_is_refused_with_the_list_of_those_there_are():
    with pytest.raises(ba.DesignError, match=r"no design 'thomson'.*'thompson', 'top_two'.* Did you mean 'thompson'\?"):
        ba.assess(POOL, ba.GroupAccuracy(), design="thomson")


def test_a_design_that_cannot_serve_a_question_names_those_that_can():
    with pytest.raises(ba.DesignError, match=r"'top_two' plays one group at a time.*m = 2.*'thompson'"):
        ba.assess(POOL, ba.LeastAccurate(m=2), design="top_two")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ba.designs.TopTwo(beta=1.5), "TopTwo takes beta as a probability"),
        (lambda: ba.designs.EpsilonGreedy(epsilon=-0.1), "EpsilonGreedy takes epsilon as a probability"),
        (lambda: ba.designs.BayesUCB(quantile=0.4), "quantile between 0.5 and 1"),
    ],
)
def test_options_outside_their_range_are_refused(build, message):
    with pytest.raises(ba.DesignError, match=message):
        build()


def test_a_class_in_the_place_of_a_design_is_named():
    with pytest.raises(ba.DesignError, match=r"a Design object, such as Thompson\(\); found the class Poisson"):
        ba.assess(ba.Pool(predictions=[0, 1]), ba.Metric("f1"), design=Poisson)
    with pytest.raises(ba.DesignError, match="found 3"):
        ba.assess(ba.Pool(predictions=[0, 1]), ba.Metric("f1"), design=3)
