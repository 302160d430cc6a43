"""Draws of confusion matrices have the Dirichlet distribution."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from bayes_assess.models.dirichlet_confusion import DirichletConfusion

# Two predicted classes (rows), three labels (columns).
ALPHA = np.array([[2.0, 0.3, 1.2], [0.05, 4.0, 30.0]])


def massart(n: int) -> float:
    """Distance of empirical and exact CDF that n draws exceed in one of a million tests (Massart 1990)."""
    return np.sqrt(np.log(2e6) / (2 * n))


# -- sampling --------------------------------------------------------------------------------------------------------


N = 25_000
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
def test_every_component_has_its_beta_distribution(draws, k):
    for j in range(3):
        distribution = stats.beta(SAMPLED[k, j], SAMPLED[k].sum() - SAMPLED[k, j])
        # Beyond these points rounding piles draws up; the number of draws there is compared, not their place.
        x = np.clip(draws[:, k, j], 1e-300, 1 - 1e-12)
        points = np.unique(np.concatenate([x, [1e-300, 1 - 1e-12]]))
        exact = distribution.cdf(points)
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
    distribution = [stats.dirichlet(alpha) for alpha in ALPHA]
    exact = np.zeros((6, 6))
    exact[:3, :3], exact[3:, 3:] = distribution[0].cov(), distribution[1].cov()
    deviation = draws[:, :2].reshape(N, 6) - np.concatenate([one.mean() for one in distribution])
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


def test_tiny_parameters_beside_large_ones_leave_the_large_ones_their_distribution(draws):
    assert (draws[:, 9, 0] == 0).all()
    assert stats.kstest(draws[:, 9, 1], stats.beta(2, 3).cdf).statistic < massart(N)


def test_a_billion_labels_scatter_as_their_covariance_says(draws):
    belief = DirichletConfusion(np.ones((1, 3))).update([[10**9, 2 * 10**9, 5 * 10**8]])
    np.testing.assert_array_equal(belief.alpha[0], SAMPLED[5])
    z = (draws[:, 5] - belief.mean) / np.sqrt(belief.variance)
    for j in range(3):
        assert stats.kstest(z[:, j], "norm").statistic < massart(N)  # skewness is of the order of 1e-5
