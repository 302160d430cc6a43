"""Charts of Beta and Dirichlet sites: densities, draws, and transforms that have an inverse and a Jacobian."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import Normal, biject_to
from scipy import special, stats

from bayes_assess.models._numerics.charts import LogitDirichlet, ManySizes, NormalNear, log_shares

ALPHA = np.array([[0.02, 3.0, 0.5], [40.0, 2e4, 900.0], [1e-3, 1e-3, 1e-3]])
COUNTS = np.array([[0.0, 5.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 2.0]])


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def distributions():
    wide = ManySizes(Normal(jnp.zeros(2), 1.0).to_event(1), [0.0, 1.0], [0.3, 0.2])
    return {"dirichlet": LogitDirichlet(jnp.asarray(ALPHA), jnp.asarray(COUNTS)), "sizes": wide}


def test_the_density_is_that_of_the_shares_times_their_jacobian():
    """Of logits x the shares have the Jacobian prod theta_j sigmoid(-x_j)."""
    x = np.random.default_rng(0).normal(0, 1.5, (20, 3, 2))
    log_theta = np.asarray(jax.jit(log_shares)(x))
    constant = special.gammaln(ALPHA.sum(-1)) - special.gammaln(ALPHA).sum(-1)
    density = ((ALPHA - 1) * log_theta).sum(-1) + constant
    jacobian = (log_theta[..., :-1] + special.log_expit(-x)).sum(-1)
    found = jax.jit(lambda x: LogitDirichlet(jnp.asarray(ALPHA)).log_prob(x))(x)
    np.testing.assert_allclose(found, density + jacobian, rtol=1e-9)


def test_draws_are_of_the_dirichlet_distribution():
    alpha = np.array([0.3, 2.0, 1.2])
    theta = np.exp(log_shares(LogitDirichlet(jnp.asarray(alpha)).sample(jax.random.key(0), (4000,))))
    for j in range(3):
        distribution = stats.beta(alpha[j], alpha.sum() - alpha[j])
        assert stats.kstest(theta[:, j], distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", distributions())
def test_charts_have_an_inverse_and_a_jacobian(name):
    distribution = distributions()[name]
    onto = biject_to(distribution.support)
    u = jnp.asarray(np.random.default_rng(1).normal(0, 2, (50, *distribution.batch_shape, 2)))
    x, back = jax.jit(lambda u: (onto(u), onto.inv(onto(u))))(u)
    np.testing.assert_allclose(back, u, rtol=1e-7, atol=1e-7)

    def each(i, j):  # of one element, others as they are
        return jax.jacobian(lambda v: onto(u[i].at[j].set(v))[j])(u[i][j])

    places = list(np.ndindex(distribution.batch_shape)) or [()]
    jacobians = jax.jit(lambda: [[each(i, j) for j in places] for i in range(5)])()
    log_determinant = jax.jit(onto.log_abs_det_jacobian)
    for i in range(5):
        found = np.asarray(log_determinant(u[i], x[i]))
        for j, jacobian in zip(places, jacobians[i], strict=True):
            assert np.linalg.slogdet(np.asarray(jacobian))[1] == pytest.approx(float(found[j]), rel=1e-8)


@pytest.mark.slow
def test_coordinates_are_about_standard_whatever_the_parameters_and_the_labels():
    """Quartiles of u, for x of the posterior: between those of a normal and of a logistic variable, roughly."""
    rng = np.random.default_rng(2)

    @jax.jit
    def drawn(alpha, key):
        posterior = LogitDirichlet(alpha).sample(key, (4000,))
        return biject_to(LogitDirichlet(alpha, 0.0).support).inv(posterior)

    for a, b in [(0.05, 0.3), (0.02, 40.0), (3.0, 1.0), (1e5, 3e4), (500.0, 0.01)]:
        u = np.asarray(drawn(jnp.array([a, b]), jax.random.key(rng.integers(99))))
        low, middle, high = np.quantile(u, [0.25, 0.5, 0.75])
        assert abs(middle) < 0.5
        assert 0.9 < high - low < 3.0


def log_density(u, log_a, log_b):
    """Of a Beta variable in its coordinate."""
    distribution = LogitDirichlet(jnp.exp(jnp.stack([log_a, log_b])), jnp.zeros(2))
    onto = biject_to(distribution.support)
    return distribution.log_prob(onto(u[None])) + onto.log_abs_det_jacobian(u[None], onto(u[None]))


slopes_of = jax.jit(jax.vmap(jax.grad(log_density, argnums=(0, 1, 2)), in_axes=(0, None, None)))


@pytest.mark.parametrize(
    ("a", "b"), [(18.0, 6e-4), (18.0, 0.012), (500.0, 0.01), (1e3, 30.0), (0.02, 40.0), (0.05, 0.3), (1e-3, 1e-3)]
)
def test_no_wall_stands_in_the_coordinates(a, b):
    """Slopes of the log density within 7 units, along them and the parameters: some tens, where trajectories turn.

    A step of length 1 against a slope of 45 gains a kinetic energy of 1,000, which counts as a divergence.
    """
    slopes = slopes_of(jnp.linspace(-7, 7, 57), np.log(a), np.log(b))
    assert max(float(abs(slope).max()) for slope in slopes) < 35


def test_sizes_beyond_all_that_have_mass_are_no_wall():
    onto = biject_to(distributions()["sizes"].support)
    distribution = distributions()["sizes"]
    at = jnp.array([[0.0, 0.0], [8.0, 0.0], [-8.0, 0.0], [0.0, 8.0], [5.0, -5.0]])
    log_density = np.asarray(
        jax.jit(lambda at: distribution.log_prob(onto(at)) + onto.log_abs_det_jacobian(at, onto(at)))(at)
    )
    assert float((log_density[0] - log_density[1:]).max()) < 500  # of an exponential, 100,000


def test_a_normal_variable_near_an_estimate_stays_standard_and_has_the_posterior_for_unit():
    near, information = np.array([0.3, -2.0, 5.0]), np.array([0.0, 3.0, 4e4])
    distribution = NormalNear(jnp.asarray(near), jnp.asarray(information))
    z = np.asarray(distribution.sample(jax.random.key(0), (4_000,)))
    assert min(stats.kstest(z[:, i], "norm").pvalue for i in range(3)) > 1e-3
    np.testing.assert_allclose(distribution.log_prob(jnp.asarray(z)), stats.norm.logpdf(z), rtol=1e-9)
    onto = biject_to(distribution.support)
    # A standard normal z, and an estimate of it with the variance 1 / information, have this posterior.
    precision = 1 + information
    np.testing.assert_allclose(onto(jnp.zeros(3)), near * information / precision)
    np.testing.assert_allclose(onto(jnp.ones(3)) - onto(jnp.zeros(3)), precision**-0.5)
    assert float(NormalNear().log_prob(0.0)) == pytest.approx(stats.norm.logpdf(0))
