from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_assess.acquisition._rope_moves import rope_moves
from bayes_assess.acquisition.equivalence import rope_masses_beta

ROPES = [0.0, 1e-3, 0.05, 0.3]


def moves(a, b, rope):
    with jax.enable_x64(True):
        return np.asarray(_moves(jnp.asarray(a), jnp.asarray(b), jnp.float64(rope)))


_moves = jax.jit(jnp.vectorize(rope_moves, signature="(k),(k),()->(k,o,e)", excluded=()))


def differences(a, b, rope):
    """Masses after one label less those before, by quadrature of both."""
    now = np.asarray(rope_masses_beta(a[:, 0], b[:, 0], a[:, 1], b[:, 1], rope))
    found = np.empty((len(a), 2, 2, 3))
    for group in (0, 1):
        for outcome in (0, 1):
            a1, b1 = a.copy(), b.copy()
            (a1 if outcome else b1)[:, group] += 1
            after = rope_masses_beta(a1[:, 0], b1[:, 0], a1[:, 1], b1[:, 1], rope)
            found[:, group, outcome] = after - now
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rope", ROPES)
@pytest.mark.parametrize(("low", "high"), [(0.1, 3), (1, 100), (50, 5000)])
def test_moves_are_differences_of_the_masses(low, high, rope):
    rng = np.random.default_rng(0)
    a, b = (np.exp(rng.uniform(np.log(low), np.log(high), (40, 2))) for _ in range(2))
    # The quadrature of the masses is good to 1e-8, on both sides of a difference.
    np.testing.assert_allclose(moves(a, b, rope), differences(a, b, rope), atol=3e-8)


@pytest.mark.parametrize("rope", ROPES)
def test_moves_of_close_narrow_distributions(rope):
    """Where a label matters: thousands of labels, and a difference of about the rope."""
    rng = np.random.default_rng(1)
    n, mean = np.exp(rng.uniform(6, 13, (40, 2))), rng.uniform(0.1, 0.6, (40, 1))
    mean = np.concatenate([mean, mean + rope + rng.normal(0, 2, (40, 1)) / np.sqrt(n.min(1, keepdims=True))], 1)
    mean = np.clip(mean, 0.02, 0.98)
    a, b = n * mean, n * (1 - mean)
    found = moves(a, b, rope)
    assert np.abs(found).max() > 1e-3
    np.testing.assert_allclose(found, differences(a, b, rope), atol=3e-8)


def test_tiny_parameters_lose_digits_but_no_more():
    a, b = np.array([[0.003, 0.05], [1.4, 0.01]]), np.array([[0.5, 0.003], [0.004, 2.0]])
    np.testing.assert_allclose(moves(a, b, 0.05), differences(a, b, 0.05), atol=1e-3)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(-1, 6).map(lambda x: 10.0**x), min_size=4, max_size=4),
    st.sampled_from(ROPES),
)
def test_moves_add_up_to_nothing_and_are_a_martingale(parameters, rope):
    a, b = np.array(parameters[:2]), np.array(parameters[2:])
    found = moves(a, b, rope)
    np.testing.assert_allclose(found.sum(-1), 0, atol=1e-15)
    # Under the posterior predictive distribution of the next label no mass moves on average.
    agree = a / (a + b)
    np.testing.assert_allclose((1 - agree)[:, None] * found[:, 0] + agree[:, None] * found[:, 1], 0, atol=1e-14)
