"""Levels of ordinal labels summed out: density against sums written out, draws against the program with levels."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.distributions import biject_to
from scipy import special, stats

from bayes_assess.models import rating_labels as model
from bayes_assess.models._numerics.charts import log_shares
from bayes_assess.models._numerics.level_mixture import LevelMixture
from bayes_assess.models.rating_labels import lines

GROUP = np.array([0, 0, 1])
LINE = lines(np.array([0.0, 1.5, 0.5]), 3)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def mixture(counts=0.0) -> LevelMixture:
    told = jnp.zeros((3, 3)) + counts
    return LevelMixture(LINE, GROUP, 2, np.array(model._STRENGTHS), model._LEVEL_GIVEN, model._CENTRE, told)


def test_the_density_is_the_sum_over_all_levels():
    """Within 1e-9 of sums by SciPy; of logits the shares have the Jacobian prod theta_j sigmoid(-x_j)."""
    x = np.random.default_rng(0).normal(0, 1.5, (3, 2))
    theta = np.exp(np.asarray(log_shares(jnp.asarray(x))))
    groups = np.zeros((2, *LINE.shape[1:3], len(model._STRENGTHS)))
    for g, q, one in zip(GROUP, LINE, theta, strict=True):
        for i, kappa in enumerate(model._STRENGTHS):
            a = kappa * q
            constant = special.gammaln(kappa) - special.gammaln(a).sum(-1)
            groups[g, ..., i] += ((a - 1) * np.log(one)).sum(-1) + constant
    of_first, of_second = np.exp(groups).reshape(2, len(model._LEVELS), -1)
    given = model._LEVEL_GIVEN
    total = np.einsum("t,ta,ah,tb,bh->", model._CENTRE, given, of_first, given, of_second) / of_first.shape[1]
    jacobian = (np.log(theta[:, :-1]) + special.log_expit(-x)).sum()
    assert float(mixture().log_prob(jnp.asarray(x))) == pytest.approx(np.log(total) + jacobian, rel=1e-9)


def test_draws_are_those_of_the_program_with_levels():
    """Kolmogorov and Smirnov's test on the expected label of every cell; one in a thousand of three fails."""
    n = 2000
    theta = np.exp(np.asarray(log_shares(mixture().sample(jax.random.key(0), (n,)))))
    arguments = {"line": LINE, "group": GROUP, "n_groups": 2, "cell": np.zeros(1, int)}
    drawn = numpyro.infer.Predictive(model.program, num_samples=n)(jax.random.key(1), **arguments)["theta"]
    for cell in range(3):
        ours, theirs = ((one[:, cell] @ np.arange(3)) for one in (theta, np.asarray(drawn)))
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-3 / 3
    assert stats.ks_2samp(theta[:, 0] @ np.arange(3), theta[:, 1] @ np.arange(3)).pvalue < 1e-6


def test_coordinates_have_an_inverse_and_a_jacobian():
    onto = biject_to(mixture(np.eye(3)).support)
    u = jnp.asarray(np.random.default_rng(1).normal(0, 2, (3, 2)))
    np.testing.assert_allclose(onto.inv(onto(u)), u, rtol=1e-7, atol=1e-7)
    whole = jax.jacobian(lambda v: onto(v.reshape(3, 2)).ravel())(u.ravel())
    found = float(onto.log_abs_det_jacobian(u, onto(u)))
    assert np.linalg.slogdet(np.asarray(whole))[1] == pytest.approx(found, rel=1e-8)
