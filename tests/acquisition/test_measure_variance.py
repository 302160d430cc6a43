"""Expected reduction of the variance of a measure, against enumerating all labels of small pools."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from scipy import special, stats

from bayes_assess._tools import engine
from bayes_assess.acquisition import measure_variance
from bayes_assess.acquisition.measure_variance import CurveMoments, expected_reduction, without_zeros

UNLABELLED = np.array([4, 1, 6])
COUNTS = np.float32([[2, 1], [0, 0], [0, 3]])
INFLUENCE = np.float32([[0.3], [-0.8], [0.5]])
LOG_WEIGHT = np.float32([0.0, -0.7, 0.4, -1.5, 0.1])


@pytest.fixture
def unclipped(monkeypatch):
    monkeypatch.setattr(measure_variance, "_TAILS", 0.0)


def draws(spread, n_draws=5, n_cells=3, seed=0):
    """Curves that lie `spread` apart on the logit scale."""
    rng = np.random.default_rng(seed)
    return np.float32(special.expit(rng.normal(size=n_cells) + spread * rng.normal(size=(n_draws, n_cells))))


def reduction(rates, nu, counts=COUNTS, influence=INFLUENCE, pending=None, log_weight=None, unlabelled=UNLABELLED):
    """On NumPy, which needs no compiling; `test_it_runs_compiled` holds the other engine to it."""
    log_weight = LOG_WEIGHT[: len(rates)] if log_weight is None else log_weight
    pending = np.zeros(len(unlabelled), int) if pending is None else pending
    nu, unlabelled = np.broadcast_to(np.float32(nu), rates.shape), np.asarray(unlabelled)
    with engine.eager():
        moments = CurveMoments.of(rates, nu, log_weight, counts)
        found = expected_reduction(moments, unlabelled, np.asarray(pending), influence)
    return np.float64(found)


def enumerated(rates, nu, counts=COUNTS, influence=INFLUENCE[:, 0], unlabelled=UNLABELLED):
    """Variance of the sum of influences, and its expected reduction by a label of every cell, from all possible labels.

    Returns
    -------
    variance : float
    reductions : (K,)
    """
    rates, counts, influence = (np.asarray(x, np.float64) for x in (rates, counts, influence))
    weight = special.softmax(np.float64(LOG_WEIGHT[: len(rates)]))
    a, b = nu * rates + counts[:, 1], nu * (1 - rates) + counts[:, 0]
    events = np.array(list(itertools.product(*(range(n + 1) for n in unlabelled))))
    given = np.prod(stats.betabinom.pmf(events[:, None], unlabelled, a, b), axis=-1)  # (E, S)
    p = given @ weight
    assert abs(p.sum() - 1) < 1e-6
    totals = events @ influence

    def variance(p):
        p = p / p.sum()
        return p @ (totals - p @ totals) ** 2

    shows = events / unlabelled  # probability that a labelled item shows the event
    after = [
        sum((p * one).sum() * variance(p * one) for one in (shows[:, c], 1 - shows[:, c]))
        for c in range(len(unlabelled))
    ]
    return variance(p), variance(p) - np.array(after)


# -- against enumeration ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.5, 3.0, 40.0, 1e6])
def test_of_one_curve_the_reduction_is_exact(unclipped, nu):
    rates = draws(0.5, n_draws=1)
    variance, exact = enumerated(rates, nu)
    np.testing.assert_allclose(reduction(rates, nu), exact / variance, rtol=2e-5)


def test_cells_may_scatter_differently(unclipped):
    rates, nu = draws(0.5, n_draws=1), np.array([[0.5, 8.0, 200.0]])
    variance, exact = enumerated(rates, nu)
    np.testing.assert_allclose(reduction(rates, nu), exact / variance, rtol=2e-5)


def test_a_pool_of_one_item_is_settled_by_its_label(unclipped):
    found = reduction(
        np.float32([[0.3]]), 1.0, np.zeros((1, 2), np.float32), np.ones((1, 1), np.float32), unlabelled=[1]
    )
    np.testing.assert_allclose(found, [1.0], rtol=1e-6)


@pytest.mark.parametrize(("nu", "spread"), [(1e6, 1.0), (30.0, 0.3), (3.0, 2.0), (0.5, 1.0)])
@pytest.mark.parametrize("apart", [False, True])
def test_of_several_curves_of_one_strength_it_is_exact(unclipped, nu, spread, apart):
    """Also of a cell without influence, whose label says something of the others."""
    rates, influence = draws(spread), INFLUENCE.copy()
    influence[0] *= not apart
    variance, exact = enumerated(rates, nu, influence=influence[:, 0])
    np.testing.assert_allclose(reduction(rates, nu, influence=influence), exact / variance, rtol=2e-5)


def test_cells_that_rise_together_are_worth_more_and_those_that_cancel_less(unclipped):
    level = special.expit(np.linspace(-1, 1, 5))[:, None]
    together = np.float32(np.repeat(level, 3, 1))
    same, none = np.float32([[1.0]] * 3), np.zeros((3, 2), np.float32)
    ours = {sign: reduction(together, 1e6, none, same * [[1], [1], [sign]]) for sign in (1, -1)}
    exact = {
        sign: enumerated(together, 1e6, none, np.array([1, 1, sign]))[1]
        / enumerated(together, 1e6, none, np.array([1, 1, sign]))[0]
        for sign in (1, -1)
    }
    for c in (0, 1):
        assert ours[1][c] > 2 * ours[-1][c]
        assert exact[1][c] > 2 * exact[-1][c]


# -- outputs ----------------------------------------------------------------------------------------------------------


def test_several_outputs_add_up_relative_to_their_variances():
    rates, rng = draws(0.7), np.random.default_rng(1)
    influence = np.float32(rng.normal(size=(3, 4)))
    alone = [reduction(rates, 20.0, influence=influence[:, [j]]) for j in range(4)]
    np.testing.assert_allclose(reduction(rates, 20.0, influence=influence), sum(alone), rtol=1e-5)
    scaled = influence * np.float32([1, 1e-4, 1e3, -1])
    np.testing.assert_allclose(reduction(rates, 20.0, influence=scaled), sum(alone), rtol=1e-4)


def test_many_outputs_add_up_as_few_do():
    rates, influence = draws(1.0), np.random.default_rng(5).normal(size=(3, 20)).astype(np.float32)
    pending = np.array([1, 0, 2])
    alone = [reduction(rates, 8.0, influence=influence[:, [j]], pending=pending) for j in range(20)]
    np.testing.assert_allclose(reduction(rates, 8.0, influence=influence, pending=pending), sum(alone), rtol=1e-5)


@pytest.mark.parametrize("behind", [None, np.linspace(0, 2, 20)], ids=["all", "the best"])
def test_many_outputs_of_which_cells_bear_on_few_are_summed_as_all(behind, monkeypatch):
    rng = np.random.default_rng(6)
    influence, extra = np.zeros((3, 20), np.float32), rng.random((3, 20)).astype(np.float32)
    influence[[0, 1, 2, 2], [4, 4, 9, 19]] = [0.3, -0.2, 0.8, 0.1]
    few = draws(1.0), np.full((5, 3), np.float32(8)), LOG_WEIGHT, COUNTS

    def reductions(influence, few_measures, many_measures):
        monkeypatch.setattr(measure_variance, "_FEW", few_measures)
        monkeypatch.setattr(measure_variance, "MANY", many_measures)
        with engine.eager():
            return expected_reduction(CurveMoments.of(*few), UNLABELLED, np.array([1, 0, 2]), influence, extra, behind)

    one_by_one = reductions(influence, 20, 20)
    np.testing.assert_allclose(reductions(influence, 8, 20), one_by_one, rtol=1e-5)
    monkeypatch.setattr(measure_variance, "_SMALL", 0)
    monkeypatch.setattr(measure_variance, "SPARSE", 0.1)
    monkeypatch.setattr(measure_variance, "MANY", 8)
    with engine.eager():
        thin = without_zeros(influence)
    assert thin.nnz == 4
    for given in (influence, thin):
        np.testing.assert_allclose(reductions(given, 8, 8), one_by_one, rtol=1e-5)


def test_an_output_without_influence_adds_nothing():
    influence = np.concatenate([INFLUENCE, 0 * INFLUENCE], axis=1)
    np.testing.assert_allclose(reduction(draws(0.7), 20.0, influence=influence), reduction(draws(0.7), 20.0), rtol=1e-6)
    assert reduction(draws(0.7), 20.0, influence=0 * INFLUENCE).tolist() == [0.0, 0.0, 0.0]


def test_of_the_best_of_several_a_label_is_worth_what_it_takes_from_the_expected_loss():
    """Of a difference of mean m and standard deviation s that is s (phi(z) - z Phi(-z)), z = m / s."""
    behind, variances = np.array([0.0, 0.4, 1.5, 0.2]), np.array([1.0, 0.3, 4.0, 0.0])
    step = 1e-5

    def loss(by):
        sd = np.sqrt(variances[:3]) * np.exp(by / 2)
        return sd * (stats.norm.pdf(behind[:3] / sd) - behind[:3] / sd * stats.norm.sf(behind[:3] / sd))

    with engine.eager():
        found = measure_variance._of_regret(behind, variances)
    slope = (loss(step) - loss(-step)) / (2 * step)
    np.testing.assert_allclose(found[:3] / found[0], slope / slope[0], rtol=1e-6)
    assert found[3] == 0  # what is known


# -- clipping ---------------------------------------------------------------------------------------------------------


def test_totals_are_clipped_at_weighted_quantiles_and_centred():
    values = np.float32([5, -300, 1, 2, 700, 3, 4])
    weight = np.float32([0.1, 0.1, 0.2, 0.2, 0.1, 0.2, 0.1])  # in order: -300 .1, 1 .3, 2 .5, 3 .7, 4 .8, 5 .9, 700
    # 4 is where .8 is reached, up to rounding.
    with engine.eager():
        found = measure_variance._clipped(values, weight)
    away = np.subtract.outer(found, found)
    assert found[1] == found[2]
    assert found[4] == found[0]
    assert away[3, 2] == pytest.approx(1, abs=1e-5)
    assert away[4, 2] == pytest.approx(3, abs=1e-5) or away[4, 2] == pytest.approx(4, abs=1e-5)
    assert abs(weight @ found) < 1e-5


def test_ends_are_found_alike_with_and_without_sorting():
    rng = np.random.default_rng(3)
    for n in (1, 2, 9, 128):
        values = np.float32(rng.integers(0, 6, n))  # many are alike
        weight = np.float32(rng.dirichlet(np.ones(n)))
        with engine.eager():
            sorted_ = measure_variance._ends(values, weight)
        np.testing.assert_array_equal(
            measure_variance._ends(jax.numpy.asarray(values), jax.numpy.asarray(weight)), sorted_
        )


def test_a_draw_in_the_tail_is_not_chased():
    rates = np.float32(special.expit(np.random.default_rng(2).normal(0, 0.3, (40, 3))))
    influence, none = np.float32([[0.0], [1.0], [1.0]]), np.zeros((3, 2), np.float32)
    weight = np.zeros(40, np.float32)
    arguments = {"counts": none, "influence": influence, "log_weight": weight, "unlabelled": np.array([50, 50, 50])}
    rates[0] = 0.999  # of all cells: a correlation that one draw makes

    before = reduction(rates, 1e5, **arguments)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure_variance, "_TAILS", 0.0)
        unclipped = reduction(rates, 1e5, **arguments)[0]
    assert before < unclipped / 3


# -- pending items ----------------------------------------------------------------------------------------------------


def centred(rates, counts=COUNTS, nu=1e6):
    weight = special.softmax(np.float64(LOG_WEIGHT[: len(rates)]))
    p = (nu * np.float64(rates) + counts[:, 1]) / (nu + counts.sum(1))
    mean = weight @ p
    return p - mean, weight, mean * (1 - mean)


def observed(away, weight, spread, pending):
    with engine.eager():
        found = measure_variance._observed(*(np.float32(x) for x in (away, weight, spread)), np.asarray(pending))
    return np.float64(found)


@pytest.mark.parametrize("pending", [[1, 0, 0], [0, 0, 5], [2, 1, 0], [3, 1, 6], [0, 0, 0]])
@pytest.mark.parametrize("spread_of_draws", [0.3, 1.5])
def test_pending_items_leave_the_covariance_of_a_kalman_filter(pending, spread_of_draws):
    away, weight, spread = centred(draws(spread_of_draws))
    prior = (weight * away.T) @ away
    seen = np.flatnonzero(pending)
    # A label of cell c is its rate with noise of variance E_s p (1 - p), so many times.
    noise = np.diag((spread - np.diag(prior))[seen] / np.array(pending)[seen])
    gain = prior[:, seen] @ np.linalg.inv(prior[np.ix_(seen, seen)] + noise)
    exact = prior - gain @ prior[seen]
    left = observed(away, weight, spread, pending)
    np.testing.assert_allclose((weight * left.T) @ left, exact, atol=2e-6 * prior.max(), rtol=1e-4)
    np.testing.assert_allclose(weight @ left, 0, atol=1e-6)  # centred they stay


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_one_pending_item_leaves_the_covariance_expected_after_its_label(cell):
    """A label has two values, so that means given it are linear in it: the filter is exact for whatever draws."""
    away, weight, spread = centred(draws(1.5))
    mean = (np.float64(1e6) * draws(1.5) + COUNTS[:, 1]) / (1e6 + COUNTS.sum(1))
    exact = np.zeros((3, 3))
    for likelihood in (mean[:, cell], 1 - mean[:, cell]):
        posterior = weight * likelihood / (weight @ likelihood)
        rest = mean - posterior @ mean
        exact += weight @ likelihood * (posterior * rest.T) @ rest
    left = observed(away, weight, spread, np.eye(3, dtype=int)[cell])
    np.testing.assert_allclose((weight * left.T) @ left, exact, atol=1e-6)


def test_the_order_of_cells_does_not_matter_to_pending_items(unclipped):
    rates, pending, order = draws(2.0), np.array([2, 1, 3]), np.array([2, 0, 1])
    one = reduction(rates, 10.0, pending=pending)
    other = reduction(
        rates[:, order], 10.0, COUNTS[order], INFLUENCE[order], pending[order], unlabelled=UNLABELLED[order]
    )
    np.testing.assert_allclose(other, one[order], rtol=1e-4)


def test_a_pending_item_makes_the_same_cell_worth_less():
    rates, more = draws(0.7), UNLABELLED + 10
    before = reduction(rates, 5.0, unlabelled=more)
    for c in range(3):
        after = reduction(rates, 5.0, unlabelled=more, pending=3 * np.eye(3, dtype=int)[c])
        # Relative to a variance that has itself become smaller, so compare with the other cells.
        assert after[c] / np.delete(after, c).max() < before[c] / np.delete(before, c).max()


@pytest.mark.parametrize("nu", [0.5, 40.0])
def test_of_one_curve_pending_items_count_as_labels_at_their_mean(nu):
    rates, pending = draws(0.5, n_draws=1), np.array([2, 0, 3])
    mean = (nu * rates[0] + COUNTS[:, 1]) / (nu + COUNTS.sum(1))
    told = COUNTS + pending[:, None] * np.stack([1 - mean, mean], axis=1)
    expected = reduction(rates, nu, np.float32(told), unlabelled=UNLABELLED - pending)
    np.testing.assert_allclose(reduction(rates, nu, pending=pending), expected, rtol=1e-5)


def test_without_pending_items_the_draws_are_left_alone():
    away, weight, spread = centred(draws(1.0))
    np.testing.assert_array_equal(observed(away, weight, spread, [0, 0, 0]), np.float32(away))


# -- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unlabelled", "pending"),
    [([0, 1, 6], [0, 0, 0]), ([4, 1, 6], [4, 1, 6]), ([0, 0, 0], [0, 0, 0]), ([4, 0, 0], [4, 0, 0])],
)
@pytest.mark.parametrize("nu", [1e-3, 1e8])
def test_cells_without_items_left_give_numbers(unlabelled, pending, nu):
    found = reduction(draws(1.0), nu, unlabelled=np.array(unlabelled), pending=np.array(pending))
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_rates_at_the_ends_of_the_unit_interval_give_numbers():
    rates = np.float32([[1e-7, 0.5, 1 - 1e-6]] * 5)
    for counts in (np.zeros((3, 2), np.float32), np.float32([[1e6, 0], [3, 3], [0, 1e6]])):
        for pending in ([0, 0, 0], [2, 1, 3]):
            found = reduction(rates, 1e7, counts, pending=np.array(pending))
            assert np.isfinite(found).all()
            assert (found >= 0).all()


def test_it_runs_compiled():
    draws_of_curve = draws(0.7), np.full((5, 3), 20, np.float32), LOG_WEIGHT, COUNTS

    def reductions(draws_of_curve, *pool):
        return expected_reduction(CurveMoments.of(*draws_of_curve), *pool)

    compiled = jax.jit(reductions)(draws_of_curve, UNLABELLED, np.array([1, 0, 2]), INFLUENCE)
    np.testing.assert_allclose(compiled, reduction(draws(0.7), 20.0, pending=[1, 0, 2]), rtol=1e-5)
