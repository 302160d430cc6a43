"""Queries from posterior draws, against NumPy written out: sums over draws, cells and labels."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayes_assess as ba
from bayes_assess._tools.to_arviz import to_arviz
from bayes_assess.acquisition import (
    SampledBelief,
    cost_reward,
    importance_proposal,
    inclusion_probabilities,
    measure_on_cells,
    rope,
    thompson,
    variance_reduction,
    verdict,
)
from bayes_assess.errors import BudgetError, DesignError, InferenceError, QuestionError
from bayes_assess.pool.groups import cross

RNG = np.random.default_rng(3)
N_DRAWS = 7
SCORE = RNG.beta(0.5, 2.0, 300)
POOL = ba.Pool(scores=SCORE)
CELLS = ba.cells(POOL, cross(ba.partition(POOL), ba.partition(POOL, np.minimum(SCORE * 3, 2).astype(int))))
SIZES, PREDICTED = CELLS.sizes, np.repeat([0, 1], 3)  # cells of nothing are among them
RATES = RNG.beta(1 + 3 * PREDICTED, 2, (N_DRAWS, 6))
WEIGHTS = RNG.dirichlet(np.ones(N_DRAWS))
COUNTS = np.where(SIZES[:, None] > 4, [[2, 1]], 0)


def f1(rates, counts=COUNTS):
    """F1 of the pool, and f and g, the losses of a cell's item with either label, under the rates of one draw."""
    y = np.array([0.0, 1.0])
    f, g = PREDICTED[:, None] * y, (PREDICTED[:, None] + y) / 2
    n = counts + (SIZES - counts.sum(1))[:, None] * np.stack([1 - rates, rates], axis=1)
    return (n * f).sum() / (n * g).sum(), f, g, (n * g).sum() / SIZES.sum()


def norms(rates):
    value, f, g, below = f1(rates)
    return np.abs(f - value * g) / below, np.stack([1 - rates, rates], axis=1)


# -- importance proposals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_a_proposal_is_the_mean_over_draws_of_how_far_a_label_moves_the_measure(oracle, floor):
    epsilon, own = 0.2, np.zeros(6)
    nonzero = (PREDICTED[:, None] + [0, 1]) > 0
    for w, rates in zip(WEIGHTS, RATES, strict=True):
        moves, pi = norms(rates)
        moves = np.maximum(moves, epsilon * moves.max() * nonzero)
        own += w * ((moves if oracle == "deterministic" else moves**2) * pi).sum(1)
    own = own if oracle == "deterministic" else np.sqrt(own)
    open_ = SIZES - COUNTS.sum(1)
    expected = np.where(open_ > 0, (1 - floor) * own / (own @ open_) + floor / open_.sum(), 0)
    found = importance_proposal(
        RATES, "f1", CELLS, counts=COUNTS, weights=WEIGHTS, oracle=oracle, epsilon=epsilon, floor=floor
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert found @ open_ == pytest.approx(1, abs=1e-12)


def test_a_proposal_of_one_draw_has_the_least_variance_of_all():
    """[NH] Proposition 1: of sum n q^-1 E ||Dg l||^2, among proposals that sum to 1."""
    moves, pi = norms(RATES[0])
    open_ = SIZES - COUNTS.sum(1)
    second = (moves**2 * pi).sum(1)
    options = {"counts": COUNTS, "oracle": "stochastic", "epsilon": 0.0, "floor": 0.0}
    best = importance_proposal(RATES[:1], "f1", CELLS, **options)
    filled = open_ > 0
    for seed in range(200):
        other = best * np.exp(0.3 * np.random.default_rng(seed).normal(size=6))
        other /= other @ open_
        assert (open_ * second)[filled] @ (1 / other[filled]) >= (open_ * second)[filled] @ (1 / best[filled])


def test_items_that_cannot_matter_are_not_proposed():
    """Precision: only predicted positives have a loss."""
    found = importance_proposal(RATES, "precision", CELLS, floor=0.5)
    assert (found[PREDICTED == 0] == 0).all()
    assert found @ SIZES == pytest.approx(1)


def test_draws_of_all_labels_are_those_of_the_second_of_two_classes():
    both = np.stack([1 - RATES, RATES], axis=-1)
    for function in (importance_proposal, partial(inclusion_probabilities, n=20)):
        np.testing.assert_allclose(function(RATES, "f1", CELLS), function(both, "f1", CELLS), rtol=1e-12)


# -- inclusion probabilities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 40, 200.5])
def test_inclusion_probabilities_expect_n_labels_and_are_those_of_least_variance(n):
    h = np.zeros(6)
    for w, rates in zip(WEIGHTS, RATES, strict=True):
        moves, pi = norms(rates)
        h += w * (moves**2 * pi).sum(1)
    open_ = SIZES - COUNTS.sum(1)
    h = np.sqrt(h) + 0.1 * (open_ @ np.sqrt(h)) / open_.sum()
    low, high = 0.0, 1e6  # of 1 / tau
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if open_ @ np.minimum(1, middle * h) < n else (low, middle)
    found = inclusion_probabilities(RATES, "f1", CELLS, n, counts=COUNTS, weights=WEIGHTS)
    np.testing.assert_allclose(found[open_ > 0], np.minimum(1, low * h)[open_ > 0], rtol=1e-9)
    assert found @ open_ == pytest.approx(n, rel=1e-12)


def test_a_batch_of_all_items_includes_all():
    np.testing.assert_array_equal(inclusion_probabilities(RATES, "f1", CELLS, 300)[SIZES > 0], 1)


# -- variance ----------------------------------------------------------------------------------------------------------


def test_the_reduction_of_accuracies_is_that_of_a_beta_distribution():
    """Draws at the nodes of a fine grid, weighted by Beta densities: sums are integrals but for 1e-6."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    a, b = 3.0, 2.0
    found = variance_reduction(np.stack([grid, 0 * grid + 0.5], axis=1), [3, 1], weights=stats.beta.pdf(grid, a, b))
    total = a + b
    now = a * b / (total**2 * (total + 1))
    after = [(a + 1) * b / ((total + 1) ** 2 * (total + 2)), a * (b + 1) / ((total + 1) ** 2 * (total + 2))]
    expected = now - a / total * after[0] - b / total * after[1]
    np.testing.assert_allclose(found, [0.75 * expected, 0], rtol=1e-6, atol=1e-12)


def test_the_reduction_of_rows_is_the_variance_of_the_mean_given_the_label():
    draws = RNG.dirichlet(np.ones(3), (N_DRAWS, 4))
    mean = np.tensordot(WEIGHTS, draws, 1)
    expected = np.zeros(4)
    for k in range(4):
        for y in range(3):
            given = WEIGHTS * draws[:, k, y]
            expected[k] += given.sum() * ((given @ draws[:, k] / given.sum() - mean[k]) ** 2).sum()
    found = variance_reduction(draws, [1, 2, 3, 4], weights=WEIGHTS)
    np.testing.assert_allclose(found, expected * np.arange(1, 5) / 10, rtol=1e-9)


def test_the_reduction_of_a_measure_is_that_of_reweighted_draws():
    value = np.array([f1(rates)[0] for rates in RATES])

    def variance(weights):
        weights = weights / weights.sum()
        return weights @ value**2 - (weights @ value) ** 2

    expected = np.zeros(6)
    for k in np.flatnonzero(SIZES > COUNTS.sum(1)):
        for chance in (1 - RATES[:, k], RATES[:, k]):
            expected[k] += (WEIGHTS @ chance) * (variance(WEIGHTS) - variance(WEIGHTS * chance))
    found = variance_reduction(RATES, measure="f1", cells=CELLS, counts=COUNTS, weights=WEIGHTS)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)
    assert (found[SIZES > 4] > 0).all()


def test_one_draw_leaves_nothing_to_learn():
    assert (variance_reduction(RATES[:1]) == 0).all()
    assert (variance_reduction(RATES[:1], measure="f1", cells=CELLS) == 0).all()


# -- Thompson sampling -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("goal", "best"), [("low", np.argmin), ("high", np.argmax)])
def test_cells_are_chosen_as_often_as_they_are_best_under_a_draw(goal, best):
    n = 4000
    chosen = np.bincount(thompson(RATES, n, key=1, goal=goal, weights=WEIGHTS), minlength=6) / n
    expected = np.bincount([best(rates) for rates in RATES], WEIGHTS, minlength=6)
    assert (np.abs(chosen - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)).all()


def test_ties_are_broken_evenly():
    chosen = np.bincount(thompson(np.full((3, 4), 0.5), 4000, key=0), minlength=4) / 4000
    assert (np.abs(chosen - 0.25) <= 5 * np.sqrt(0.25 * 0.75 / 4000)).all()


def test_the_same_key_chooses_the_same_cells_and_another_key_others():
    choices = [thompson(RATES, 40, key=key).tolist() for key in (0, 0, 1, jax.random.key(0))]
    assert choices[0] == choices[1]
    assert choices[2] != choices[0] != choices[3]


def test_costs_and_rewards_of_ones_own_are_sought():
    draws, cost = RNG.dirichlet(np.ones(3), (N_DRAWS, 3)), np.array([[0, 1, 9], [1, 0, 1], [4, 1, 0]])
    chosen = thompson(draws, 300, key=2, goal=lambda theta: cost_reward(theta, cost))
    expected = {int((draw * cost).sum(1).argmax()) for draw in draws}
    assert set(chosen.tolist()) == expected


def test_the_cell_whose_variance_falls_most_is_sought():
    draws = np.stack([np.tile([0.1, 0.9], 50), np.tile([0.45, 0.55], 50)], axis=1)
    assert (thompson(draws, 50, key=0, goal="variance") == 0).all()
    assert (thompson(draws, 50, key=0, goal="variance", sizes=[1, 10**6]) == 1).all()


def test_no_cell_is_chosen_more_often_than_it_has_items():
    chosen = np.bincount(thompson(RATES, 12, key=0, remaining=[2] * 6), minlength=6)
    assert (chosen == 2).all()


# -- practical equivalence ---------------------------------------------------------------------------------------------


def test_masses_are_weighted_shares_of_draws():
    found = rope(RATES, 0.1, weights=WEIGHTS)
    for g in range(6):
        for h in range(6):
            d = RATES[:, g] - RATES[:, h]
            expected = [WEIGHTS[d < -0.1].sum(), WEIGHTS[np.abs(d) <= 0.1].sum(), WEIGHTS[d > 0.1].sum()]
            np.testing.assert_allclose(found[g, h], expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-12)
    assert int(verdict(found)[0][2, 2]) == 1


def test_the_outcome_says_what_is_compared():
    draws = RNG.dirichlet(np.ones(3), (N_DRAWS, 3))
    own = np.stack([draws[:, k, k] for k in range(3)], axis=1)
    np.testing.assert_array_equal(rope(draws, outcome=np.arange(3)), rope(own))
    np.testing.assert_array_equal(rope(draws, outcome=1), rope(draws[:, :, 1]))
    np.testing.assert_array_equal(thompson(draws, 9, key=0, outcome=np.arange(3)), thompson(own, 9, key=0))


# -- where draws come from ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        RATES.tolist(),
        jax.numpy.asarray(RATES.astype(np.float32)),
        {"theta": RATES},
        xr.DataArray(RATES.T, dims=["cell", "draw"]),
        to_arviz({"theta": RATES[None]}, chains=True),
        SampledBelief(RATES, np.zeros(N_DRAWS)),
    ],
    ids=["list", "jax", "mapping", "xarray", "arviz", "belief"],
)
def test_draws_may_come_from_anywhere(given):
    np.testing.assert_allclose(variance_reduction(given), variance_reduction(RATES), rtol=1e-4)


def test_chains_come_one_after_the_other():
    two = xr.DataArray(np.stack([RATES, RATES[::-1]]), dims=["chain", "draw", "cell"])
    np.testing.assert_allclose(
        variance_reduction(two, weights=[*WEIGHTS, *np.zeros(N_DRAWS)]), variance_reduction(RATES, weights=WEIGHTS)
    )


def test_a_belief_brings_its_weights_along():
    belief = SampledBelief(RATES, np.log(WEIGHTS))
    np.testing.assert_allclose(rope(belief), rope(RATES, weights=WEIGHTS), atol=1e-12)


def test_a_measure_is_put_on_cells_once():
    on = measure_on_cells("f1", CELLS)
    np.testing.assert_array_equal(importance_proposal(RATES, on, CELLS), importance_proposal(RATES, "f1", CELLS))
    own = ba.Metric("f1").cells(POOL, seed=0)
    rates = np.full((2, own.n_cells), [[0.2], [0.3]])
    np.testing.assert_array_equal(importance_proposal(rates, None, own), importance_proposal(rates, "f1", own))


# -- what cannot be ----------------------------------------------------------------------------------------------------

NAN = np.where(np.arange(6) == 4, np.nan, RATES)
ROWS = np.full((5, 6, 2), [0.5, 0.4])


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (RATES[0], r"shape \(draws, cells\).*found \(6,\)"),
        (np.zeros((0, 6)), r"found \(0, 6\)"),
        (NAN, "draw 0, cell 4 has nan"),
        (RATES + 0.9, "from 0 to 1; draw"),
        (ROWS, "draw 0, cell 0 sum to 0.9"),
        ("theta", "found str"),
        ({"alpha": RATES}, "no 'theta'; it has 'alpha'"),
        ([[0.1, 0.2], [0.3]], "numbers"),
        (xr.DataArray(RATES, dims=["s", "cell"], name="theta"), "no axis of draws"),
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        variance_reduction,
        rope,
        partial(thompson, key=0),
        partial(importance_proposal, measure="f1", cells=CELLS),
        partial(inclusion_probabilities, measure="f1", cells=CELLS, n=10),
        partial(variance_reduction, measure="f1", cells=CELLS),
    ],
)
def test_draws_that_are_none_are_named(function, draws, message):
    with pytest.raises(InferenceError, match=message):
        function(draws)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: importance_proposal(RATES[:, :5], "f1", CELLS), InferenceError, "of 5 cells, and there are 6"),
        (lambda: importance_proposal(np.full((2, 6, 3), 1 / 3), "f1", CELLS), InferenceError, "3 outcomes.*2 classes"),
        (lambda: importance_proposal(RATES, "f2", CELLS), QuestionError, "f2"),
        (lambda: importance_proposal(RATES, None, CELLS), QuestionError, "made for no measure"),
        (
            lambda: importance_proposal(RATES[:, :2], "f1", ba.cells(POOL, SCORE > 0.3)),
            QuestionError,
            "do not lose alike in f1",
        ),
        (lambda: importance_proposal(RATES, "f1", CELLS, floor=2), DesignError, r"floor lies in \[0, 1\]; found 2"),
        (lambda: importance_proposal(RATES, "f1", CELLS, floor=float("nan")), DesignError, "floor lies"),
        (lambda: importance_proposal(RATES, "f1", CELLS, oracle="x"), DesignError, "oracle is"),
        (lambda: importance_proposal(RATES, "f1", CELLS, weights=[1, 2]), InferenceError, "one for each of 7 draws"),
        (lambda: importance_proposal(RATES, "f1", CELLS, counts=[[1, 1]]), BudgetError, r"\(6, 2\); found \(1, 2\)"),
        (lambda: importance_proposal(RATES, "f1", CELLS, counts=np.full((6, 2), 900)), BudgetError, "counts of 1,800"),
        (
            lambda: importance_proposal(RATES, "f1", CELLS, counts=np.stack([SIZES, 0 * SIZES], 1)),
            BudgetError,
            "nothing left",
        ),
        (lambda: inclusion_probabilities(RATES, "f1", CELLS, 0), BudgetError, "budget is 0"),
        (lambda: inclusion_probabilities(RATES, "f1", CELLS, 301), BudgetError, "300 items"),
        (lambda: inclusion_probabilities(RATES, "f1", CELLS, float("nan")), BudgetError, "budget is nan"),
        (lambda: variance_reduction(RATES, [1, 2]), InferenceError, "one for each of 6 cells"),
        (lambda: variance_reduction(RATES, measure="f1"), QuestionError, "comes with `cells`"),
        (lambda: thompson(RATES, 0, key=0), BudgetError, "positive whole number"),
        (lambda: thompson(RATES, 5, key=0, remaining=[1, 1, 1, 0, 0, 0]), BudgetError, "only 3 items remain"),
        (lambda: thompson(RATES, 5, key=0, remaining=[1.5] * 6), BudgetError, "whole number of items"),
        (lambda: thompson(RATES, key=0, goal="worst"), DesignError, "'low', 'high', 'variance'"),
        (lambda: thompson(RATES, key=0, goal=lambda theta: theta * np.nan), DesignError, "finite number"),
        (lambda: thompson(RATES, key=0, goal=lambda theta: theta.sum()), DesignError, r"found shape \(\)"),
        (lambda: thompson(RATES, key=-1), DesignError, "seed is a whole number"),
        (lambda: thompson(ROWS + 0.05, key=0), InferenceError, "say which one's probability"),
        (lambda: rope(ROWS + 0.05, outcome=2), InferenceError, "0 to 1, or one for every cell; found 2"),
        (lambda: rope(RATES, outcome=0), InferenceError, "leave out `outcome`"),
        (lambda: rope(RATES, 1.0), QuestionError, "rope is the largest difference"),
        (lambda: rope(RATES, weights=np.zeros(7)), InferenceError, "not all of them 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()
