from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from bayes_assess.acquisition.equivalence import (
    _all_pairs,
    all_pairs_rope,
    beta_expected_lambda,
    rope_masses_beta,
    rope_masses_samples,
    sample_expected_lambda,
    verdict,
)
from bayes_assess.errors import QuestionError
from bayes_assess.models import BetaBernoulli
from strict import kept_modes

parameter = st.floats(-2, 7).map(lambda x: 10.0**x)
ropes = st.sampled_from([0.0, 1e-9, 1e-3, 0.05, 0.3, 0.95])

# Narrow and narrow, narrow and U-shaped, both U-shaped, all mass at the ends, narrow against an end.
HARD = [
    (280, 203, 351, 162),
    (5e6, 5e6, 5.001e6, 4.999e6),
    (5.5e6, 4.5e6, 5e6, 5e6),
    (1e7, 0.01, 0.01, 0.01),
    (0.01, 0.01, 0.01, 0.01),
    (0.01, 1e7, 1e7, 0.01),
    (3e6, 19.0, 0.09, 4592),
    (0.0115, 0.0108, 12.4, 0.0109),
    (9e6, 2.7e5, 1.2, 0.18),
    (2, 3, 0.5, 0.5),
]


# -- against an independent quadrature: SciPy's incomplete beta function inside, thousands of nodes outside ------------

_X, _W = np.polynomial.legendre.leggauss(16)
_QUANTILES = np.concatenate([10.0 ** np.arange(-14, -1), np.linspace(0.05, 0.95, 25)])
_GRID = np.concatenate([[0.0], np.geomspace(0.01, 3000, 90)])


def _cdf(log_y, log_rest, a, b):
    """I_y(a, b), also where y or 1 - y is below the least float."""

    def lower(log_y, a, b):
        leading = np.exp(a * np.minimum(log_y, -690) - np.log(a) - special.betaln(a, b))
        return np.where(log_y > -690, special.betainc(a, b, np.exp(log_y)), leading)

    return np.where(log_y < log_rest, lower(log_y, a, b), 1 - lower(log_rest, b, a))


def _quantiles(a, b):
    """Quantiles and what they lack of 1."""
    low, high = special.betaincinv(a, b, _QUANTILES), special.betaincinv(b, a, _QUANTILES)
    return np.concatenate([low, 1 - high]), np.concatenate([1 - low, high])


def exceedance_by_scipy(a1, b1, a2, b2, eps):
    log_m, log_rest_m = np.log(a1 / (a1 + b1)), np.log(b1 / (a1 + b1))

    def integral(eps, inner):
        (x, x_rest), (y, y_rest) = _quantiles(a1, b1), _quantiles(a2, b2)
        with np.errstate(divide="ignore", invalid="ignore"):
            edges = np.concatenate([-_GRID, _GRID, np.log((x - eps) / x_rest), np.log(y / (y_rest - eps))])
        edges = np.unique(np.clip(edges[np.isfinite(edges)], -3000, 3000))
        half = np.diff(edges)[:, None] / 2
        z = edges[:-1, None] + half * (1 + _X)
        log_t, log_u = -np.logaddexp(0, -z), -np.logaddexp(0, z)
        log_eps = np.log(eps) if eps > 0 else -np.inf
        low, high = np.log1p(-eps) + log_t, np.log1p(-eps) + log_u
        log_x = np.logaddexp(log_eps, low)
        # The density x^(a - 1) (1 - x)^(b - 1), not normalised but 1 at the mean, times dx = (1 - eps) t (1 - t) dz.
        h = np.exp(a1 * (log_x - log_m) + b1 * (high - log_rest_m) + low + log_u - log_x - high)
        return (half * _W * h * inner(low, np.logaddexp(log_eps, high))).sum()

    total = integral(0.0, lambda low, high: 1.0)
    return integral(eps, lambda low, high: _cdf(low, high, a2, b2)) / total


def masses_by_scipy(a1, b1, a2, b2, eps):
    below, above = exceedance_by_scipy(a2, b2, a1, b1, eps), exceedance_by_scipy(a1, b1, a2, b2, eps)
    return np.array([below, 1 - below - above, above])


@pytest.mark.parametrize("rope", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("parameters", HARD)
def test_masses_are_right_to_1e_8_for_hard_pairs(parameters, rope):
    expected = masses_by_scipy(*map(float, parameters), rope)
    np.testing.assert_allclose(rope_masses_beta(*map(float, parameters), rope), expected, rtol=0, atol=1e-8)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(parameter, parameter, parameter, parameter, ropes)
def test_masses_are_right_to_1e_8_for_any_parameters(a1, b1, a2, b2, rope):
    expected = masses_by_scipy(a1, b1, a2, b2, rope)
    np.testing.assert_allclose(rope_masses_beta(a1, b1, a2, b2, rope), expected, rtol=0, atol=1e-8)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.floats(0.01, 0.99), st.floats(1, 7), st.floats(1, 7), st.floats(-3, 3), ropes)
def test_masses_are_right_to_1e_8_where_the_groups_are_about_a_rope_apart(mean, log_n1, log_n2, shift, rope):
    n1, n2 = 10.0**log_n1, 10.0**log_n2
    other = np.clip(mean - rope + shift * np.sqrt(mean * (1 - mean) * (1 / n1 + 1 / n2)), 0.001, 0.999)
    parameters = (n1 * mean, n1 * (1 - mean), n2 * other, n2 * (1 - other))
    np.testing.assert_allclose(rope_masses_beta(*parameters, rope), masses_by_scipy(*parameters, rope), atol=1e-8)


# -- against closed forms --------------------------------------------------------------------------------------------


def test_the_example_of_the_paper():
    mu = rope_masses_beta(280.0, 203.0, 351.0, 162.0, 0.05)
    assert round(float(mu[0]), 2) == 0.96
    eta, probability = verdict(mu)
    assert (eta, probability) == (0, mu[0])


@pytest.mark.parametrize("rope", [0.0, 1e-12, 0.05, 0.3, 0.9, 0.999])
def test_two_uniform_distributions_leave_the_corners_of_a_square(rope):
    corner = (1 - rope) ** 2 / 2
    expected = [corner, 1 - 2 * corner, corner]
    np.testing.assert_allclose(rope_masses_beta(1.0, 1.0, 1.0, 1.0, rope), expected, rtol=0, atol=1e-13)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(parameter, parameter)
def test_powers_of_uniform_variables_compare_in_closed_form(a, c):
    # U^(1/a) > V^(1/c) with probability a / (a + c).
    expected = [c / (a + c), 0, a / (a + c)]
    np.testing.assert_allclose(rope_masses_beta(a, 1.0, c, 1.0, 0.0), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(rope_masses_beta(1.0, c, 1.0, a, 0.0), expected, rtol=0, atol=1e-9)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(parameter, parameter, parameter, parameter, ropes)
def test_masses_sum_to_one_and_mirror_each_other(a1, b1, a2, b2, rope):
    mu = rope_masses_beta(a1, b1, a2, b2, rope)
    assert (mu >= 0).all()
    assert mu.sum() == pytest.approx(1, abs=4e-16)
    np.testing.assert_allclose(mu[::-1], rope_masses_beta(a2, b2, a1, b1, rope), rtol=0, atol=1e-9)
    np.testing.assert_allclose(mu[::-1], rope_masses_beta(b1, a1, b2, a2, rope), rtol=0, atol=1e-8)
    if rope == 0:
        assert mu[1] == 0


def test_a_wider_rope_holds_more():
    inside = [rope_masses_beta(20.0, 10.0, 3.0, 2.0, rope)[1] for rope in np.linspace(0, 0.99, 30)]
    assert (np.diff(inside) > 0).all()


# -- from draws ------------------------------------------------------------------------------------------------------

A, B = np.array([12.0, 30.0, 0.6, 150.0]), np.array([5.0, 20.0, 0.4, 90.0])


def test_samples_agree_with_quadrature_within_their_error():
    n = 50_000
    draws = BetaBernoulli(A, B).sample(jax.random.key(0), n)
    exact = rope_masses_beta(A, B, np.roll(A, 1), np.roll(B, 1))
    masses = rope_masses_samples(draws, np.roll(draws, 1, axis=1))
    # 5 binomial standard errors: 6e-7 for each of 12 masses.
    assert (np.abs(masses - exact) < 5 * np.sqrt(exact * (1 - exact) / n)).all()


def test_weights_of_draws_count_as_repetition():
    theta1, theta2 = np.array([0.1, 0.5, 0.9]), np.array([0.5, 0.48, 0.2])
    repeated = rope_masses_samples(np.repeat(theta1, [1, 2, 5]), np.repeat(theta2, [1, 2, 5]))
    np.testing.assert_allclose(rope_masses_samples(theta1, theta2, weights=np.array([1, 2, 5])), repeated)
    np.testing.assert_allclose(rope_masses_samples(theta1, theta2, weights=np.zeros(3)), np.full(3, 1 / 3))


def test_importance_of_draws_counts_as_repetition_in_what_a_label_is_expected_to_show():
    theta, draws = np.array([0.6, 0.3]), np.array([[0.1, 0.5], [0.5, 0.48], [0.9, 0.2]])
    repeated = sample_expected_lambda(theta, np.repeat(draws, [1, 2, 5], axis=0))
    np.testing.assert_allclose(sample_expected_lambda(theta, draws, importance=np.array([1, 2, 5])), repeated)


def test_all_pairs_equal_pair_by_pair():
    draws = np.random.default_rng(0).uniform(size=(501, 7))
    masses = all_pairs_rope(draws, 0.1)
    expected = [[rope_masses_samples(draws[:, g], draws[:, h], 0.1) for h in range(7)] for g in range(7)]
    np.testing.assert_allclose(masses, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(masses[np.arange(7), np.arange(7)], [[0, 1, 0]] * 7, rtol=1e-15)  # n times 1 / n


def test_all_pairs_stream_over_the_draws():
    draws = np.zeros((10_000, 1000))
    with jax.enable_x64(True):
        memory = jax.jit(_all_pairs).lower(draws, np.ones(10_000), 0.05).compile().memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes < 20 * 8 * 1000**2  # a few tables of pairs; all at once would be 10^10 numbers


# -- the worth of a label --------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, derandomize=True)
@given(parameter, parameter, parameter, parameter, ropes, st.floats(0, 1), st.floats(0, 1))
def test_expected_lambda_equals_enumerating_the_four_posteriors(a1, b1, a2, b2, rope, t1, t2):
    a, b, theta = np.array([a1, a2]), np.array([b1, b2]), np.array([t1, t2])
    expected = []
    for group in (0, 1):
        one = np.eye(2)[group]
        after = []
        for z in (0, 1):
            a_z, b_z = a + z * one, b + (1 - z) * one
            after.append(verdict(rope_masses_beta(a_z[0], b_z[0], a_z[1], b_z[1], rope)).probability)
        expected.append((1 - theta[group]) * after[0] + theta[group] * after[1])
    np.testing.assert_allclose(beta_expected_lambda(theta, a, b, rope), expected, rtol=0, atol=2e-8)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(parameter, parameter, parameter, parameter, ropes)
def test_under_the_posterior_mean_a_label_never_lowers_lambda(a1, b1, a2, b2, rope):
    a, b = np.array([a1, a2]), np.array([b1, b2])
    now = rope_masses_beta(a1, b1, a2, b2, rope).max()
    assert (beta_expected_lambda(a / (a + b), a, b, rope) > now - 2e-8).all()


@pytest.mark.slow
@pytest.mark.parametrize("theta", [[0.7, 0.6], [0.1, 0.9]])
def test_expected_lambda_from_samples_agrees_within_its_error(theta):
    batches, size = 40, 10_000
    a, b = np.array([12.0, 3.0]), np.array([5.0, 2.0])
    draws = BetaBernoulli(a, b).sample(jax.random.key(1), batches * size).reshape(batches, size, 2)
    values = np.stack([sample_expected_lambda(np.array(theta), batch) for batch in draws])
    error = values.std(0, ddof=1) / np.sqrt(batches)
    exact = beta_expected_lambda(np.array(theta), a, b)
    # 6 standard errors of 40 independent batches (Student's t: 5e-7); a ratio's bias is of the order 1 / size.
    assert (np.abs(values.mean(0) - exact) < 6 * error + 2 / size).all()
    assert (error < 2e-3).all()


def test_expected_lambda_takes_batches():
    theta = np.array([[0.7, 0.6], [0.1, 0.9]])
    a, b = np.array([12.0, 3.0]), np.array([5.0, 2.0])
    batch = beta_expected_lambda(theta, np.broadcast_to(a, (2, 2)), np.broadcast_to(b, (2, 2)))
    for row, one in zip(batch, theta, strict=True):
        np.testing.assert_allclose(row, beta_expected_lambda(one, a, b), rtol=1e-14)


# -- use -------------------------------------------------------------------------------------------------------------


def test_parameters_broadcast_and_pairs_do_not_disturb_each_other():
    mu = rope_masses_beta(A[:, None], B[:, None], A, B)
    assert mu.shape == (4, 4, 3)
    np.testing.assert_allclose(mu[1, 2], rope_masses_beta(A[1], B[1], A[2], B[2]), rtol=1e-13)


def test_masses_pass_through_jit_and_types_are_never_promoted():
    expected = rope_masses_beta(A, B, B, A, 0.02)
    with kept_modes(), jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        compiled = jax.jit(rope_masses_beta)(A, B, B, A, 0.02)
    np.testing.assert_allclose(compiled, expected, rtol=1e-12, atol=1e-14)
    assert expected.dtype == np.float64


@pytest.mark.parametrize("rope", [-0.01, 1, np.nan, np.inf, "wide", None])
def test_a_rope_that_is_no_half_width_is_refused(rope):
    for ask in (
        lambda: rope_masses_beta(1.0, 1.0, 1.0, 1.0, rope),
        lambda: rope_masses_samples(np.ones(2), np.ones(2), rope),
        lambda: all_pairs_rope(np.ones((2, 2)), rope),
        lambda: beta_expected_lambda(np.ones(2), np.ones(2), np.ones(2), rope),
    ):
        with pytest.raises(QuestionError, match="from 0 up to but not including 1"):
            ask()
