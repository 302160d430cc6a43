"""Betting on audit draws: is the game fair, and does the truth stay inside whatever else is labelled?"""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayes_assess.estimators.betting import certain_bounds, increments, interval, start, update

LEVEL = 0.9
N_CAMPAIGNS = 500
MOST_MISSES = 1 - LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / N_CAMPAIGNS)


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def mean_tables(n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tile([0.0, 1.0], (n_cells, 1)), np.ones((n_cells, 2))


def f1_tables(predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    predicted = np.asarray(predicted)
    return np.stack([0.0 * predicted, 2.0 * predicted], -1), np.stack([0.0 + predicted, 1.0 + predicted], -1)


# Items by cell and label; the cells of the second half are predicted positive.
SPREAD = [[29, 1], [22, 8], [8, 22], [1, 29]]
POOLS = {
    "spread": SPREAD,
    "rare": [[60, 0], [39, 1], [14, 1], [3, 2]],
    "none": [[60, 0], [40, 0], [15, 0], [5, 0]],
    "right": [[0, 30], [0, 30], [0, 30], [0, 30]],
}


# --- the game is fair -------------------------------------------------------------------------------------------


def expected_increment(remaining, f, g, counts, believed, control, play=increments, rates=(1.0, 1.0, 1.0)):
    theta = ((remaining + counts) * f).sum() / ((remaining + counts) * g).sum()
    rates = np.array(rates)
    chance = remaining * rates[:, None] / (remaining.sum(1) * rates).sum()
    a, b = play(f, g, counts, remaining.sum(1), believed, control, rates)
    return float((chance * np.asarray(a - theta * b)).sum())


REMAINING, COUNTS = np.array([[5, 2], [1, 4], [0, 3]]), np.array([[1, 0], [2, 2], [0, 7]])


@pytest.mark.parametrize("tables", [mean_tables(3), f1_tables([0, 1, 1])], ids=["mean", "f1"])
@pytest.mark.parametrize("control", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("rates", [(1.0, 1.0, 1.0), (3.0, 1.0, 0.02)], ids=["uniform", "by cell"])
def test_an_audit_item_is_fair_at_the_truth_whatever_is_believed(tables, control, rates):
    for believed in ([[0.7, 0.3]] * 3, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]):
        found = expected_increment(REMAINING, *tables, COUNTS, np.array(believed), control, rates=rates)
        assert abs(found) < 1e-15


def test_weights_that_are_ignored_are_unfair():
    believed = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])

    def uniform(f, g, counts, unlabelled, believed, control, rates):
        return increments(f, g, counts, unlabelled, believed, control)

    for tables in (mean_tables(3), f1_tables([0, 1, 1])):
        found = expected_increment(REMAINING, *tables, COUNTS, believed, 0.5, uniform, (3.0, 1.0, 0.2))
        assert abs(found) > 1e-3


def with_wrong_sign(f, g, counts, unlabelled, believed, control, rates):
    a, b = increments(f, g, counts, unlabelled, believed, control)
    known_a, known_b = (2 * (counts * x).sum() / (counts.sum() + unlabelled.sum()) for x in (f, g))
    return known_a - a, known_b - b


def without_labelled(f, g, counts, unlabelled, believed, control, rates):
    return increments(f, g, 0 * counts, unlabelled, believed, control)


def with_one_item_too_many(f, g, counts, unlabelled, believed, control, rates):
    return increments(f, g, counts, unlabelled + 1, believed, control)


@pytest.mark.parametrize("fault", [with_wrong_sign, without_labelled, with_one_item_too_many])
def test_planted_faults_are_unfair(fault):
    believed = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
    assert abs(expected_increment(REMAINING, *mean_tables(3), COUNTS, believed, 0.5, fault)) > 1e-3


RATES = np.array([1.0, 3.0])


def whole_campaigns(remaining, counts, state, f, g, probability=1.0):
    """All sequences of audit draws from a tiny pool, with their probabilities and the states that they end in.

    Every other item is drawn uniformly, and those between with probabilities that differ by cell.
    """
    if remaining.sum() == 0:
        yield probability, state
        return
    seen = counts + np.array([0.2, 0.6])
    believed = seen / seen.sum(1, keepdims=True)
    rates = RATES ** (counts.sum() % 2)
    for cell, outcome in zip(*np.nonzero(remaining), strict=True):
        chance = probability * remaining[cell, outcome] * rates[cell] / (remaining.sum(1) * rates).sum()
        after = update(state, f, g, counts, remaining.sum(1), believed, cell, outcome, rates=rates)
        left, known = remaining.copy(), counts.copy()
        left[cell, outcome] -= 1
        known[cell, outcome] += 1
        if outcome == 1 and left[1].any():  # somebody labels an item of a label that nobody has asked for
            also = 1, int(np.argmax(left[1]))
            left[also] -= 1
            known[also] += 1
        yield from whole_campaigns(left, known, after, f, g, chance)


@cache
def all_campaigns(low: float) -> tuple[int, np.ndarray, list[Any]]:
    with jax.enable_x64(True):
        first = start(low, 1.0, 8)
        ends = list(whole_campaigns(np.array([[2, 1], [1, 3]]), np.zeros((2, 2), int), first, *mean_tables(2)))
        holds = int(np.searchsorted(np.asarray(first.nodes), 4 / 7 - 1e-9)) - 1
        return holds, np.array([p for p, _ in ends]), [jax.tree.map(np.asarray, state) for _, state in ends]


AT_NODE = 1 / 7  # with a range from here to 1, the truth, 4/7, is its middle


def test_capital_at_the_truth_keeps_its_expectation_through_every_campaign():
    holds, chance, states = all_campaigns(AT_NODE)
    assert chance.sum() == pytest.approx(1)
    assert states[0].nodes[holds + 1] == pytest.approx(4 / 7)
    expected = np.tensordot(chance, np.stack([state.capital for state in states]), 1)
    np.testing.assert_allclose(expected[:, 1, holds], 1, rtol=1e-6)  # from below
    np.testing.assert_allclose(expected[:, 0, holds + 1], 1, rtol=1e-6)  # from above
    elsewhere = np.delete(expected.max((0, 1)), [holds, holds + 1])
    assert elsewhere.min() > 1.01  # some bet wins on what is not true


@pytest.mark.parametrize("alpha", [0.5, 0.3, 0.2, 0.1])
@pytest.mark.parametrize("low", [0.0, 0.1, AT_NODE])
def test_pieces_that_hold_the_truth_are_rejected_at_some_time_with_probability_alpha_at_most(low, alpha):
    holds, chance, states = all_campaigns(low)
    assert chance[[state.best[holds] >= 1 / alpha for state in states]].sum() <= alpha


def test_capital_of_one_draw_by_hand():
    f, g = mean_tables(1)
    one = update(start(0.0, 1.0, 2), f, g, np.zeros((1, 2), int), np.array([4]), np.array([[0.5, 0.5]]), 0, 1)
    np.testing.assert_allclose(one.nodes, [0, 0.5, 1])
    # X = 1 - theta. On [0, 1/2], where X is in [-1/2, 1], bets lie in [-1, 2]; on [1/2, 1] they lie in [-2, 1].
    np.testing.assert_allclose(one.capital[:4, :, 0], [[3, 2], [0, 0.5], [1.6, 1.3], [0.7, 0.85]], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.capital[:4, :, 1], [[1.5, 1], [0, 1], [1.15, 1], [0.7, 1]], rtol=1e-8, atol=1e-8)
    assert float(one.n_draws) == 1


def test_capital_is_never_negative_and_an_impossible_theta_loses_none_of_the_guarantee():
    f, g = f1_tables([0, 1])
    counts, unlabelled = np.array([[3, 0], [0, 9]]), np.array([2, 1])
    for cell, outcome in itertools.product(range(2), range(2)):
        believed = np.array([[1.0, 0.0], [0.3, 0.7]])
        after = update(start(), f, g, counts, unlabelled, believed, cell, outcome)
        assert np.isfinite(after.capital).all()
        assert np.min(after.capital) >= 0


def test_an_item_that_is_no_audit_changes_nothing():
    f, g = mean_tables(1)
    arguments = f, g, np.zeros((1, 2), int), np.array([4]), np.array([[0.5, 0.5]]), 0, 1
    before = start()
    after = update(before, *arguments, False)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


# --- what is certain --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("measure", ["mean", "f1"])
def test_certain_bounds_are_those_of_all_possible_labels(seed, measure):
    rng = np.random.default_rng(seed)
    counts, unlabelled = rng.integers(0, 4, (3, 2)), rng.integers(0, 4, 3)
    counts[1, 1] += 1  # F1 is defined
    f, g = mean_tables(3) if measure == "mean" else f1_tables([0, 1, 1])
    ratios = []
    for positives in itertools.product(*(range(n + 1) for n in unlabelled)):
        full = counts + np.stack([unlabelled - positives, positives], -1)
        ratios.append((full * f).sum() / (full * g).sum())
    np.testing.assert_allclose(certain_bounds(f, g, counts, unlabelled), [min(ratios), max(ratios)], rtol=1e-14)


@pytest.mark.parametrize("predicted", [[0, 0], [1, 1], [0, 1]])
@pytest.mark.parametrize("measure", ["precision", "recall", "f1", "specificity"])
def test_certain_bounds_hold_what_nothing_divided_by_nothing_counts_as(measure, predicted):
    y, a = np.array([0.0, 1.0])[None], np.array(predicted, float)[:, None]
    f, g = {
        "precision": (y * a, a + 0 * y),
        "recall": (y * a, y + 0 * a),
        "f1": (y * a, (y + a) / 2),
        "specificity": ((1 - y) * (1 - a), 1 - y + 0 * a),
    }[measure]
    unlabelled = np.array([2, 1])
    for counts in (np.zeros((2, 2), int), np.array([[1, 0], [0, 0]]), np.array([[0, 1], [2, 0]])):
        ratios = []
        for positives in itertools.product(range(3), range(2)):
            full = counts + np.stack([unlabelled - positives, positives], -1)
            over = (full * g).sum()
            ratios.append((full * f).sum() / over if over else 0.0)
        np.testing.assert_allclose(certain_bounds(f, g, counts, unlabelled), [min(ratios), max(ratios)], atol=1e-14)
        found = interval(start(), f, g, counts, unlabelled)
        assert 0 <= found[0] <= found[1] <= 1


def test_certain_bounds_without_any_label_are_the_range():
    nothing, items = np.zeros((2, 2), int), np.array([5, 5])
    assert certain_bounds(*f1_tables([0, 1]), nothing, items).tolist() == [0, 1]
    assert certain_bounds(*f1_tables([0, 0]), nothing, items).tolist() == [0, 0]  # if there is a positive at all
    f, g = np.array([[-2.0, 3.0]]), np.ones((1, 2))
    assert certain_bounds(f, g, np.array([[0, 0]]), np.array([10**9]), -2.0, 3.0).tolist() == [-2, 3]


def test_an_interval_without_a_draw_is_what_is_certain():
    f, g = mean_tables(1)
    ends = interval(start(), f, g, np.array([[1, 2]]), np.array([1]))
    np.testing.assert_allclose(ends, [0.5, 0.75])


def test_what_was_ever_rejected_stays_rejected():
    f, g = mean_tables(1)
    state = start()
    below = state.nodes[1:] <= 0.5
    state = state._replace(best=np.where(below, 1e3, 1.0))  # of all capital 1 is left
    np.testing.assert_allclose(interval(state, f, g, np.array([[0, 0]]), np.array([70])), [0.5, 1.0])


def test_an_interval_survives_the_rejection_of_everything():
    f, g = mean_tables(1)
    counts, unlabelled, state = np.array([[10, 20]]), np.array([70]), start()
    ever = state._replace(best=state.best * 1e9)
    np.testing.assert_allclose(interval(ever, f, g, counts, unlabelled), [0.2, 0.9])
    always = ever._replace(capital=state.capital * 1e9)
    np.testing.assert_allclose(interval(always, f, g, counts, unlabelled), [0.2, 0.9])


# --- campaigns --------------------------------------------------------------------------------------------------


BELIEFS = ["true", "learned", "even", "inverted", "peeking"]


def believed_by(kind: Any, items: Any, counts: Any, cell: Any, outcome: Any) -> Any:
    true = items / items.sum(1, keepdims=True)
    learned = (counts + 0.5) / (counts + 0.5).sum(1, keepdims=True)
    peeking = 0.5 + 0 * true
    peeking = peeking.at[cell].set(jax.nn.one_hot(outcome, 2))  # of the item itself: not fixed before the draw
    return jnp.stack([true, learned, 0.5 + 0 * true, true[:, ::-1], peeking])[kind]


@partial(jax.jit, static_argnames=["n_steps"])
@partial(jax.vmap, in_axes=(0, *[None] * 9))
def campaign(key, f, g, items, belief, hunt, tilt, rates, known_rates, n_steps):
    """Label n items: three audits in ten draws, else an item of the label `hunt` while there is one.

    Audits are drawn with weights `tilt` for the two labels, which should be equal, times `rates` for the cells, which
    are taken for `known_rates`.
    """

    def step(carry, key):
        state, counts = carry
        left = items - counts
        keys = jax.random.split(key, 3)
        is_audit = jax.random.bernoulli(keys[0], 0.3)
        drawn = jax.random.categorical(keys[1], jnp.log((left * tilt * rates[:, None]).ravel() + 1e-300))
        hunted = jnp.where((left[:, hunt] > 0).any(), left * jnp.eye(2)[hunt], left)
        cell, outcome = jnp.divmod(jnp.where(is_audit, drawn, jnp.argmax(hunted)), 2)
        believed = believed_by(belief, items, counts, cell, outcome)
        state = update(state, f, g, counts, left.sum(1), believed, cell, outcome, is_audit, known_rates)
        counts = counts.at[cell, outcome].add(1)
        return (state, counts), interval(state, f, g, counts, items.sum(1) - counts.sum(1), LEVEL)

    keys = jax.random.split(key, n_steps)
    return jax.lax.scan(step, (start(n_pieces=32), jnp.zeros_like(items)), keys)[1]


ALIKE = (1.0, 1.0, 1.0, 1.0)


@cache
def intervals_of(pool: str, measure: str, belief: str, hunt: int = 1, tilt=(1.0, 1.0), rates=ALIKE, known=None):
    """The intervals of many campaigns, (R, T, 2), and the truth."""
    items = np.array(POOLS[pool])
    f, g = mean_tables(4) if measure == "mean" else f1_tables([0, 0, 1, 1])
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(11), N_CAMPAIGNS)
        both = np.array(rates), np.array(rates if known is None else known)
        arguments = f, g, items, BELIEFS.index(belief), hunt, np.array(tilt), *both
        ends = np.asarray(campaign(keys, *arguments, int(items.sum())))
    return ends, (items * f).sum() / (items * g).sum()


def share_that_ever_misses(ends: np.ndarray, truth: float) -> float:
    return float(((ends[..., 0] > truth + 1e-12) | (ends[..., 1] < truth - 1e-12)).any(1).mean())


BY_CELL = (1.0, 2.0, 8.0, 0.5)
CASES = [
    ("spread", "mean", "true", 1, BY_CELL),
    ("spread", "f1", "inverted", 1, BY_CELL),
    ("rare", "f1", "learned", 0, BY_CELL),
    ("right", "mean", "even", 0, BY_CELL),
    ("spread", "mean", "true", 1),
    ("spread", "mean", "learned", 0),
    ("spread", "mean", "inverted", 1),
    ("spread", "f1", "true", 0),
    ("spread", "f1", "inverted", 1),
    ("rare", "mean", "learned", 1),
    ("rare", "f1", "even", 1),
    ("none", "mean", "true", 1),
    ("right", "mean", "even", 0),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_truth_never_leaves_the_interval_too_often_at_any_time(case):
    pool, measure, belief, hunt, *rates = case
    ends, truth = intervals_of(pool, measure, belief, hunt, rates=rates[0] if rates else ALIKE)
    assert share_that_ever_misses(ends, truth) <= MOST_MISSES
    np.testing.assert_allclose(ends[:, -1], truth, rtol=0, atol=1e-14)  # everything is labelled
    assert (ends[..., 0] <= ends[..., 1]).all()
    assert (np.diff(ends[:, :-1]) > 0).mean() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("belief", "tilt"), [("true", (1.0, 3.0)), ("peeking", (1.0, 1.0))], ids=["draws that are not uniform", "peeking"]
)
def test_planted_faults_are_missed_too_often(belief, tilt):
    assert share_that_ever_misses(*intervals_of("spread", "mean", belief, 0, tilt)) > MOST_MISSES


@pytest.mark.slow
def test_weights_that_are_ignored_are_missed_too_often():
    ends, truth = intervals_of("spread", "mean", "even", 0, rates=(0.2, 0.5, 2.0, 5.0), known=ALIKE)
    assert share_that_ever_misses(ends, truth) > MOST_MISSES


@pytest.mark.slow
def test_a_good_belief_shortens_intervals_and_a_bad_one_costs_little():
    widths = {}
    for belief in ("true", "even", "inverted"):
        ends, _ = intervals_of("spread", "mean", belief, 0)
        widths[belief] = np.diff(ends[:, 59]).mean()
    assert widths["true"] < 0.9 * widths["even"]
    assert widths["inverted"] < 1.3 * widths["even"]


@pytest.mark.slow
def test_compiled_and_mapped_updates_are_the_plain_ones():
    f, g = f1_tables([0, 0, 1, 1])
    items, rng = np.array(SPREAD), np.random.default_rng(3)
    steps = []
    for _ in range(2):
        order = rng.permutation(np.repeat(np.arange(8), items.ravel()))[:6]
        counts = np.cumsum(np.eye(8, dtype=int)[order], 0).reshape(-1, 4, 2)
        counts = np.concatenate([np.zeros((1, 4, 2), int), counts])
        steps.append((counts, items.sum(1) - counts.sum(2), order // 2, order % 2))
    believed = np.array([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]])

    def run(counts, unlabelled, cells, outcomes):
        def step(state, x):
            return update(state, f, g, x[0], x[1], believed, x[2], x[3]), None

        state, _ = jax.lax.scan(step, start(), (counts[:-1], unlabelled[:-1], cells, outcomes))
        return interval(state, f, g, counts[-1], unlabelled[-1], 0.6)

    mapped = jax.jit(jax.vmap(run))(*(np.stack(x) for x in zip(*steps, strict=True)))
    for row, (counts, unlabelled, cells, outcomes) in zip(mapped, steps, strict=True):
        state = start()
        for t in range(6):
            state = update(state, f, g, counts[t], unlabelled[t], believed, cells[t], outcomes[t])
        plain = interval(state, f, g, counts[-1], unlabelled[-1], 0.6)
        np.testing.assert_allclose(row, plain, rtol=1e-10)
        assert np.diff(plain) < 1


def test_the_bound_of_a_billion_items_is_about_that_of_a_thousand():
    f, g = mean_tables(2)
    for size in (1000, 10**9):
        counts, state = np.zeros((2, 2), int), start()
        for t in range(40):
            state = update(state, f, g, counts, size - counts.sum(1), np.full((2, 2), 0.5), t % 2, 0)
            counts[t % 2, 0] += 1
        ends = interval(state, f, g, counts, size - counts.sum(1))
        assert ends[0] == 0
        assert -np.log(0.05) / 40 < ends[1] < 0.15  # the rule of three is for one time, fixed beforehand
