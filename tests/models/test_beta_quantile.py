from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.models._numerics.beta_quantile import beta_quantile, mixture_quantile

P = np.array([1e-6, 0.001, 0.025, 0.1, 0.5, 0.9, 0.975, 0.999, 1 - 1e-6])
GRID = np.array([0.3, 0.5, 1.0, 1.5, 2.0, 7.0, 40.0, 300.0, 5000.0, 1e5])


@pytest.fixture(scope="module")
def quantile():
    compiled = jax.jit(beta_quantile)

    def call(*arguments):
        """Compiled for eight elements and for the grid; others are added up to there, as none depends on another."""
        given = np.broadcast_arrays(*arguments)
        size = given[0].size
        spare = (8 if size <= 8 else len(P) * len(GRID) ** 2) - size
        padded = [np.pad(column.ravel(), (0, spare), mode="edge") for column in given]
        with jax.enable_x64(True):
            found = np.asarray(compiled(*map(jnp.float64, padded)))
        return found[:size].reshape(given[0].shape)

    return call


def deviations(x, p, a, b):
    """Error in units of the distribution's standard deviation."""
    return np.abs(x - stats.beta.ppf(p, a, b)) / stats.beta.std(a, b)


def test_equals_scipy_over_a_grid(quantile):
    p, a, b = (x.ravel() for x in np.meshgrid(P, GRID, GRID))
    x = quantile(p, a, b)
    np.testing.assert_allclose(x, stats.beta.ppf(p, a, b), rtol=0, atol=1e-10)
    assert deviations(x, p, a, b).max() < 1e-6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    p=st.floats(1e-4, 1 - 1e-4),
    log_a=st.floats(-2, 9),
    log_b=st.floats(-2, 9),
)
def test_equals_scipy(quantile, p, log_a, log_b):
    a, b = np.exp(log_a), np.exp(log_b)
    np.testing.assert_allclose(quantile(p, a, b), stats.beta.ppf(p, a, b), rtol=0, atol=1e-10)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    p=st.floats(1e-3, 1 - 1e-3),
    log_a=st.floats(-1, 9),
    log_b=st.floats(-1, 9),
    start=st.floats(0, 1),
)
def test_any_first_guess_leads_to_the_same_quantile(quantile, p, log_a, log_b, start):
    a, b = np.exp(log_a), np.exp(log_b)
    np.testing.assert_allclose(quantile(p, a, b, start), stats.beta.ppf(p, a, b), rtol=0, atol=1e-10)


def test_a_chain_of_labels_from_the_quantile_before_stays_exact(quantile):
    rng = np.random.default_rng(0)
    a, b, p = 1.0, 1.0, np.array([0.025, 0.975])
    x = quantile(p, a, b)
    for z in rng.random(100) < 0.8:
        a, b = a + z, b + 1 - z
        x = quantile(p, a, b, x)
    np.testing.assert_allclose(x, stats.beta.ppf(p, a, b), rtol=0, atol=1e-10)


@pytest.mark.slow
def test_an_element_does_not_depend_on_its_neighbours(quantile):
    # Elements finish at different steps, and those that are done wait for the others.
    rng = np.random.default_rng(1)
    for _ in range(6):
        a, b = np.exp(rng.uniform(-1, 11, (2, 500)))
        p = rng.choice(P, 500)
        np.testing.assert_allclose(quantile(p, a, b), stats.beta.ppf(p, a, b), rtol=0, atol=1e-10)


def test_known_values(quantile):
    p = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(quantile(p, 1.0, 1.0), p, atol=1e-12)
    np.testing.assert_allclose(quantile(p, 2.0, 1.0), np.sqrt(p), atol=1e-12)
    np.testing.assert_allclose(quantile(p, 1.0, 3.0), 1 - (1 - p) ** (1 / 3), atol=1e-12)
    np.testing.assert_allclose(quantile(0.5, np.array([0.5, 20.0, 1e5]), np.array([0.5, 20.0, 1e5])), 0.5, atol=1e-12)


def test_increases_with_the_probability(quantile):
    p = np.linspace(0.001, 0.999, 400)
    for a, b in [(0.4, 0.6), (3.0, 80.0), (1e4, 2e4)]:
        assert (np.diff(quantile(p, a, b)) > 0).all()


def test_works_inside_jit_and_vmap():
    a, b = np.array([1.0, 3.0, 50.0]), np.array([2.0, 2.0, 10.0])
    with jax.enable_x64(True):
        nested = jax.jit(jax.vmap(jax.vmap(beta_quantile, (None, 0, 0)), (0, None, None)))(P, a, b)
    np.testing.assert_allclose(nested, stats.beta.ppf(P[:, None], a, b), rtol=0, atol=1e-10)


def test_quantiles_too_near_an_end_for_floats_stay_at_the_end(quantile):
    x = quantile(np.array([0.025, 0.975]), np.array([1e-3, 2.0]), np.array([2.0, 1e-3]))
    np.testing.assert_allclose(x, [0, 1], atol=1e-15)


@pytest.mark.parametrize(("a", "b"), [(1e6, 1e6), (1e7, 1e7), (5e8, 5e8), (9e8, 1e8), (1e9, 3.0)])
def test_a_billion_labels_move_a_quantile_by_less_than_a_thousandth_of_a_deviation(quantile, a, b):
    x = quantile(np.array([0.025, 0.975]), a, b)
    assert deviations(x, np.array([0.025, 0.975]), a, b).max() < 1e-3


def test_quantiles_of_mixtures_invert_their_distribution_function():
    """Narrow and wide parts, far from each other, and some whose tails end where floats do."""
    rng = np.random.default_rng(4)
    mean, size = rng.beta(1, 1, (2, 2, 6, 3)), 10 ** rng.uniform(-0.3, 6, (2, 2, 6, 3))
    a, b = mean * size, (1 - mean) * size
    weight = rng.dirichlet(np.full(6, 0.3), (2, 2))
    p = P.reshape(-1, 1, 1, 1)
    with jax.enable_x64(True):
        x = np.asarray(jax.jit(mixture_quantile)(p, a, b, weight))
    assert x.shape == (len(P), 2, 2, 3)
    assert (np.diff(x, axis=0) >= 0).all()
    inside = (x > 1e-9) & (x < 1 - 1e-9)
    assert inside.mean() > 0.7  # of many parts more than 1e-6 lies beyond

    def below(x):
        return np.einsum("bsj,lbsjg->lbsg", weight, stats.beta.cdf(x[..., None, :], a, b))

    # The quantile lies within 2e-11 of x on the scale of log odds; SciPy's own function is off by 1e-13 at most.
    off = 2e-11 * x * (1 - x) + 1e-15
    assert ((below(x - off) <= p + 1e-13) & (below(x + off) >= p - 1e-13))[inside].all()


def test_the_quantile_of_a_mixture_of_one_is_that_of_the_part():
    a, b = np.array([0.3, 2.0, 900.0]), np.array([4.0, 2.0, 100.0])
    with jax.enable_x64(True):
        x = np.asarray(jax.jit(mixture_quantile)(P[:, None], a[None], b[None], np.ones(1)))
    np.testing.assert_allclose(x, stats.beta.ppf(P[:, None], a, b), rtol=1e-9, atol=2e-16)
