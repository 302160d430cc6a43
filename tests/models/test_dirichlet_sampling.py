"""Draws of confusion matrices have the Dirichlet law, and draws of costs the law that follows from it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bayes_assess.models import dirichlet_confusion
from bayes_assess.models.dirichlet_confusion import DirichletConfusion

# Two predicted classes (rows), three labels (columns).
ALPHA = np.array([[2.0, 0.3, 1.2], [0.05, 4.0, 30.0]])
COST = np.array([[0.0, 1.0, 5.0], [10.0, 0.0, -2.0]])


def massart(n: int) -> float:
    """Distance of empirical and exact CDF that n draws of any law exceed once in a million tests (Massart 1990)."""
    return np.sqrt(np.log(2e6) / (2 * n))


# -- sampling --------------------------------------------------------------------------------------------------------


N = 60_000
SAMPLED = np.array(
    [
        *ALPHA,
        [1.0, 1.0, 1.0],
        [0.01, 0.02, 0.03],
        [1e9, 3.0, 5e8],
        [1e9 + 1, 2e9 + 1, 5e8 + 1],
        [1e-5, 2e-5, 7e-5],
        [1e-200, 2e-200, 7e-200],
        [0.0, 1e-310, 0.0],
        [1e-300, 2.0, 3.0],
    ]
)


@pytest.fixture(scope="module")
def draws():
    """Draws (N, 10, 3) of the rows of `SAMPLED`, from one compiled call."""
    return DirichletConfusion(SAMPLED).sample(jax.random.key(0), N)


def test_rows_of_draws_sum_to_one_and_are_never_nan(draws):
    assert (draws >= 0).all()
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-14)


@pytest.mark.parametrize("k", range(5))
def test_every_component_has_its_beta_law(draws, k):
    for j in range(3):
        law = stats.beta(SAMPLED[k, j], SAMPLED[k].sum() - SAMPLED[k, j])
        # Beyond these points rounding piles draws up; the number of draws there is compared, not their place.
        x = np.clip(draws[:, k, j], 1e-300, 1 - 1e-12)
        points = np.unique(np.concatenate([x, [1e-300, 1 - 1e-12]]))
        exact = law.cdf(points)
        at, below = (np.searchsorted(np.sort(x), points, side) / N for side in ("right", "left"))
        at[-1] = below[-1]  # mass above the last point
        below[0] = at[0]
        assert max(np.abs(at - exact).max(), np.abs(below - exact).max()) < massart(N)


def test_draws_have_the_joint_law_of_numpys_generator(draws):
    rng = np.random.default_rng(1)
    for k, alpha in enumerate(ALPHA):
        theirs = rng.dirichlet(alpha, N)
        for statistic in (lambda t: t @ [0.1, 1.0, 0.5], lambda t: t.max(-1), lambda t: (t**2).sum(-1)):
            # Six tests at 1e-6 each.
            assert stats.ks_2samp(statistic(draws[:, k]), statistic(theirs)).pvalue > 1e-6


def test_32_bit_draws_have_the_joint_law_of_numpys_generator():
    draws = np.asarray(DirichletConfusion(ALPHA).sample(jax.random.key(0), N, dtype=np.float32))
    assert draws.dtype == np.float32
    rng = np.random.default_rng(1)
    for k, alpha in enumerate(ALPHA):
        theirs = rng.dirichlet(alpha, N)
        for statistic in (lambda t: t @ [0.1, 1.0, 0.5], lambda t: t.max(-1), lambda t: (t**2).sum(-1)):
            # Six tests at 1e-6 each.
            assert stats.ks_2samp(statistic(draws[:, k]), statistic(theirs)).pvalue > 1e-6


def test_rows_are_independent_and_components_have_the_dirichlet_covariance(draws):
    law = [stats.dirichlet(alpha) for alpha in ALPHA]
    exact = np.zeros((6, 6))
    exact[:3, :3], exact[3:, 3:] = law[0].cov(), law[1].cov()
    deviation = draws[:, :2].reshape(N, 6) - np.concatenate([one.mean() for one in law])
    products = deviation[:, :, None] * deviation[:, None, :]
    # 36 entries, 5 standard errors each: 2e-5.
    assert (np.abs(products.mean(0) - exact) < 5 * products.std(0) / np.sqrt(N)).all()


@pytest.mark.parametrize(("k", "share"), [(6, [0.1, 0.2, 0.7]), (7, [0.1, 0.2, 0.7]), (8, [1 / 3, 1 / 3, 1 / 3])])
def test_tiny_parameters_pick_one_label_with_their_shares(draws, k, share):
    share = np.array(share)
    # Three comparisons, 5 binomial standard errors each: 2e-6. A row without a winner has a probability of the order
    # of the sum of its parameters, 1e-4 at most, which is below a tenth of that. Parameters below 1e-300 are equal.
    frequency = (draws[:, k] > 0.5).mean(0)
    assert (np.abs(frequency - share) < 5 * np.sqrt(share * (1 - share) / N)).all()


def test_tiny_parameters_beside_large_ones_leave_the_large_ones_their_law(draws):
    assert (draws[:, 9, 0] == 0).all()
    assert stats.kstest(draws[:, 9, 1], stats.beta(2, 3).cdf).statistic < massart(N)


def test_a_billion_labels_scatter_as_their_covariance_says(draws):
    belief = DirichletConfusion(np.ones((1, 3))).update([[10**9, 2 * 10**9, 5 * 10**8]])
    np.testing.assert_array_equal(belief.alpha[0], SAMPLED[5])
    z = (draws[:, 5] - belief.mean) / np.sqrt(belief.variance)
    for j in range(3):
        assert stats.kstest(z[:, j], "norm").statistic < massart(N)  # skewness is of the order of 1e-5


def test_one_row_alone_has_the_law_of_that_row():
    n = 20_000
    belief = DirichletConfusion(ALPHA)
    row = belief.sample_row(jax.random.key(6), n, 1)
    assert row.shape == (n, 3)
    for j in range(3):
        law = stats.beta(ALPHA[1, j], ALPHA[1].sum() - ALPHA[1, j])
        assert stats.kstest(row[row[:, j] > 1e-300, j], law.cdf).statistic < massart(n) + law.cdf(1e-300)
    np.testing.assert_array_equal(row, belief.sample_row(jax.random.key(6), n, -1))


@pytest.mark.parametrize("row", [2, -3])
def test_a_row_that_is_not_there_is_refused(row):
    with pytest.raises(IndexError, match=f"Predicted classes are 0..1; found row {row}"):
        DirichletConfusion(ALPHA).sample_row(jax.random.key(0), 2, row)


# -- costs without the matrix ----------------------------------------------------------------------------------------


def test_sampled_costs_have_the_law_of_the_cost_of_sampled_matrices(draws):
    n = 40_000
    belief = DirichletConfusion(ALPHA)
    costs = belief.sample_cost(jax.random.key(7), n, COST)
    from_matrices = (draws[:, :2] * COST).sum(-1)
    for k in range(2):
        assert stats.ks_2samp(costs[:, k], from_matrices[:, k]).pvalue > 1e-6
    error = np.sqrt(belief.cost_variance(COST) / n)
    assert (np.abs(costs.mean(0) - belief.expected_cost(COST)) < 5 * error).all()
    assert abs(np.corrcoef(costs.T)[0, 1]) < 5 / np.sqrt(n)


@pytest.mark.parametrize(("block", "n"), [(1, 5), (9, 1), (12, 5), (10**6, 5)])
def test_blocks_of_any_size_put_every_cost_in_its_place(monkeypatch, block, n):
    monkeypatch.setattr(dirichlet_confusion, "_BLOCK", block)
    # All but certain labels: the cost of every row is known beforehand.
    belief = DirichletConfusion(np.array([[1e12, 1e-9, 1e-9], [1e-9, 1e12, 1e-9], [1e-9, 1e-9, 1e12]]))
    cost = np.arange(9.0).reshape(3, 3)
    with jax.enable_x64(True):
        run = dirichlet_confusion._sample_cost.__wrapped__  # uncompiled: a compiled one would keep the old block size
        values = run(jax.random.key(0), n, jnp.asarray(belief.alpha), jnp.asarray(cost))
    np.testing.assert_allclose(values, np.tile([0.0, 4.0, 8.0], (n, 1)), rtol=1e-12)


def test_no_block_repeats_another():
    belief = DirichletConfusion(np.ones((300, 100)))
    costs = belief.sample_cost(jax.random.key(0), 30, np.arange(30_000.0).reshape(300, 100))  # four blocks
    standard = (costs - np.arange(300) * 100).ravel()
    assert len(np.unique(np.round(standard, 9))) == costs.size


def test_costs_of_a_thousand_classes_never_hold_the_matrices():
    n, size = 1000, 1000
    with jax.enable_x64(True):
        matrix = jax.ShapeDtypeStruct((size, size), jnp.float64)
        compiled = dirichlet_confusion._sample_cost.lower(jax.random.key(0), n, matrix, matrix).compile()
    memory = compiled.memory_analysis()
    # All matrices would take 8 GB; the result takes 8 MB, a block 2 MB for each intermediate value.
    assert memory.temp_size_in_bytes < 100e6


def test_costs_of_a_thousand_classes_have_their_moments():
    rng = np.random.default_rng(0)
    cost = rng.exponential(1.0, (1000, 1000))
    prior = DirichletConfusion.from_prior(2.0, mean_scores=rng.dirichlet(np.full(1000, 0.1), 1000))
    belief = prior.update(rng.poisson(0.02, (1000, 1000)))
    z = (belief.sample_cost(jax.random.key(0), 2, cost) - belief.expected_cost(cost)) / np.sqrt(
        belief.cost_variance(cost)
    )
    # 2,000 independent numbers of mean 0 and variance 1: 5 standard errors each, once in a million tests.
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert abs((z**2).mean() - 1) < 5 * (z**2).std() / np.sqrt(z.size)


def test_sampling_costs_uses_its_key_only_once():
    with jax.debug_key_reuse(True):
        DirichletConfusion(ALPHA).sample_cost(jax.random.key(0), 5, COST)
        DirichletConfusion(ALPHA).sample_row(jax.random.key(0), 5, 0)
