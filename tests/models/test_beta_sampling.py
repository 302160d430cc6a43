"""The Beta sampler draws from the Beta distribution.

Distributions are compared by the greatest distance D between empirical and exact CDF. For n draws of any distribution
P(D > e) <= 2 exp(-2 n e^2) (Massart 1990), so that `bound(n)` is exceeded once in a million tests.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bayes_assess._tools import engine
from bayes_assess.models import BetaBernoulli
from bayes_assess.models._numerics import beta_sampling, gamma_sampling

N = 25_000
PARAMETERS = [
    (1.0, 1.0),
    (0.3, 2.0),
    (2.0, 0.01),
    (0.01, 2.0),
    (280.0, 203.0),
    (1e9, 3.0),
    (3.0, 1e9),
    (5e8, 5e8),
    (0.05, 0.05),
    (1e-3, 1e-3),
    (1.0, 0.999),
    (7.0, 1e-5),
    (1e6, 1e6),
]


def bound(n: int) -> float:
    return np.sqrt(np.log(2e6) / (2 * n))


def distance(draws: np.ndarray, cdf, ends=(1e-300, 1 - 1e-12)) -> float:
    """Greatest distance of the CDFs, over the points between `ends`, where rounding does not show.

    Draws beyond `ends` count as mass at 0 and at 1: their number is compared, not their place.
    """
    x, count = np.unique(draws, return_counts=True)
    upto = np.cumsum(count) / len(draws)
    below = upto - count / len(draws)
    shown = (x > ends[0]) & (x < ends[1])
    ends = np.array(ends)
    at_ends = np.abs(np.searchsorted(np.sort(draws), ends, side="right") / len(draws) - cdf(ends))
    if not shown.any():
        return at_ends.max()
    exact = cdf(x[shown])
    return max(np.abs(upto[shown] - exact).max(), np.abs(below[shown] - exact).max(), at_ends.max())


@pytest.fixture(scope="module")
def draw():
    return jax.jit(beta_sampling.standard_beta)


def sample(draw, a, b, seed=0, n=N, dtype=jnp.float64):
    with jax.enable_x64(True):
        return np.asarray(draw(jax.random.key(seed), jnp.full(n, a, dtype), jnp.full(n, b, dtype)))


# -- the distribution -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_draws_have_the_beta_distribution(draw, a, b):
    x = sample(draw, a, b)
    assert ((x >= 0) & (x <= 1)).all()
    assert distance(x, stats.beta(a, b).cdf) < bound(N)


@pytest.mark.parametrize(("a", "b"), [(0.01, 2.0), (1e-3, 1e-3), (1e-3, 1e9)])
def test_small_draws_have_the_right_law_of_their_logarithm(draw, a, b):
    # Near 0, x^a is uniform: P(X <= x) = P(X <= y) (x / y)^a. Draws between the least normal float and y.
    x = sample(draw, a, b, seed=1)
    y = min(1e-12, 1e-3 / b)
    x = x[(x > 1e-300) & (x < y)]
    assert len(x) > N / 10
    low = (1e-300 / y) ** a
    u = ((x / y) ** a - low) / (1 - low)
    # F is this power law up to a relative factor of 1e-3, which is far below bound(len(x)).
    assert distance(u, stats.uniform.cdf) < bound(len(x))


@pytest.mark.parametrize("a", [1e-3, 1e-5])
def test_tiny_equal_parameters_give_a_fair_coin(draw, a):
    x = sample(draw, a, a, seed=2)
    # 5 binomial standard errors: 6e-7.
    assert abs((x > 0.5).mean() - 0.5) < 5 * 0.5 / np.sqrt(N)
    inside = stats.beta(a, a).cdf(0.99) - stats.beta(a, a).cdf(0.01)
    assert abs(((x > 0.01) & (x < 0.99)).mean() - inside) < 5 * np.sqrt(inside / N) + 1 / N


def test_swapping_the_parameters_mirrors_the_distribution(draw):
    x, y = sample(draw, 0.3, 2.0, seed=3), sample(draw, 2.0, 0.3, seed=4)
    assert stats.ks_2samp(x, 1 - y).pvalue > 1e-6


def test_unequal_elements_of_one_call_each_have_their_own_distribution(draw):
    # In one array, so that elements that are served at different rounds do not mix.
    n = 4_000
    a, b = (np.tile(column, n) for column in zip(*PARAMETERS, strict=True))
    with jax.enable_x64(True):
        x = np.asarray(draw(jax.random.key(5), jnp.asarray(a), jnp.asarray(b)))
    for i, (a_i, b_i) in enumerate(PARAMETERS):
        assert distance(x[i :: len(PARAMETERS)], stats.beta(a_i, b_i).cdf) < bound(n)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(), (65,), (2, 3, 5)])
def test_every_shape_is_served(shape):
    with jax.enable_x64(True):
        x = np.asarray(beta_sampling.standard_beta(jax.random.key(0), jnp.full(shape, 0.7), jnp.full(shape, 0.2)))
    assert x.shape == shape
    assert x.dtype == np.float64
    assert ((x >= 0) & (x <= 1)).all()
    assert len(np.unique(x)) == x.size


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 65])
def test_small_calls_have_the_law_too(n):
    # One call per key, as a design makes it.
    with jax.enable_x64(True):
        one = partial(beta_sampling.standard_beta, a=jnp.full(n, 0.4), b=jnp.full(n, 1.5))
        x = np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), 5000)))
    for place in {0, n // 2, n - 1}:
        assert distance(x[:, place], stats.beta(0.4, 1.5).cdf) < bound(5000)


# -- 32 bits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(a, b) for a, b in PARAMETERS if a + b < 1e7])
def test_32_bit_draws_have_the_beta_law_up_to_rounding(draw, a, b):
    x = sample(draw, a, b, dtype=jnp.float32)
    assert x.dtype == np.float32
    assert ((x >= 0) & (x <= 1)).all()
    # At 1 - 1e-6, neighbouring 32-bit floats differ by 6 % of 1 - x: (1 - x)^b, b = 0.01, by less than 1e-3.
    assert distance(x.astype(float), stats.beta(a, b).cdf, ends=(1e-30, 1 - 1e-6)) < bound(N)


def test_32_bit_draws_are_uncorrelated_along_the_array(draw):
    u = stats.beta(0.3, 2.0).cdf(sample(draw, 0.3, 2.0, seed=6, dtype=jnp.float32).astype(float)) - 0.5
    for lag in (1, 2, 63, 64, 65):
        assert abs(np.mean(u[lag:] * u[:-lag]) * 12) < 5 / np.sqrt(N - lag), f"lag {lag}"


def test_the_law_of_32_bit_draws_is_right_to_1e_5():
    # In total variation: the distribution of the proposals weighted by the probability of taking them.
    x = np.linspace(-5.4, 5.4, 20_001)
    density = stats.norm.pdf(x)
    for d in np.geomspace(2 / 3, 1e8, 60):
        with engine.eager():
            taken = [
                gamma_sampling._acceptance(x.astype(dtype), np.full(x.shape, d, dtype))[1].astype(float)
                for dtype in (np.float64, np.float32)
            ]
        exact, rounded = (density * one / (density @ one) for one in taken)
        assert 0.5 * np.abs(exact - rounded).sum() < 1e-5


@pytest.mark.parametrize("alpha", [0.0, 1e-310, 1e-40])
def test_parameters_beneath_the_range_of_floats_give_a_coin(draw, alpha):
    for dtype in (jnp.float64, jnp.float32):
        x = sample(draw, alpha, alpha, dtype=dtype)
        assert set(x) == {0, 1}


# -- independence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 2.0), (280.0, 203.0)])
def test_draws_are_uncorrelated_along_the_array(draw, a, b):
    u = stats.beta(a, b).cdf(sample(draw, a, b, seed=6)) - 0.5
    for lag in (1, 2, 3, 16, 32, 63, 64, 65, 128):
        r = np.mean(u[lag:] * u[:-lag]) * 12
        # Under independence r has standard deviation 1 / sqrt(n): 5 of them, 5e-6 over all lags.
        assert abs(r) < 5 / np.sqrt(N - lag), f"lag {lag}"


def test_groups_are_uncorrelated_across_posterior_draws():
    n, groups = 5000, 70
    belief = BetaBernoulli(np.full(groups, 0.5), np.full(groups, 1.2))
    u = stats.beta(0.5, 1.2).cdf(belief.sample(jax.random.key(7), n))
    r = np.corrcoef(u.T)[np.triu_indices(groups, 1)]
    # 2,415 correlations, each N(0, 1 / n): the greatest exceeds 6 deviations once in 200,000.
    assert np.abs(r).max() < 6 / np.sqrt(n)
    # And their squares sum to a chi-square.
    assert stats.chi2.sf(n * (r**2).sum(), len(r)) > 1e-6


def test_different_keys_give_different_draws_and_the_same_key_the_same(draw):
    first = sample(draw, 2.0, 3.0, seed=0)
    np.testing.assert_array_equal(first, sample(draw, 2.0, 3.0, seed=0))
    second = sample(draw, 2.0, 3.0, seed=1)
    assert not (first == second).any()
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(N)


def test_no_draw_repeats(draw):
    x = sample(draw, 2.0, 3.0, seed=8)
    assert len(np.unique(x)) > N - 10  # 53 bits: a repetition among so many draws has probability 1e-7


def test_no_key_is_used_twice():
    with jax.enable_x64(True), jax.debug_key_reuse(True):
        jax.jit(beta_sampling.standard_beta)(jax.random.key(0), jnp.full(70, 0.3), jnp.full(70, 2.0))


# -- the uniform left over from the acceptance test -------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.999])
def test_the_left_over_uniform_is_uniform_and_independent_of_the_gamma_variable(alpha):
    d = alpha - 1 / 3
    with jax.enable_x64(True):
        t, u = map(np.asarray, jax.jit(gamma_sampling._gamma_cube_root)(jax.random.key(9), jnp.full(N, d)))
    gamma = stats.gamma(alpha).cdf(d * t**3)
    assert distance(u, stats.uniform.cdf) < bound(N)
    assert distance(gamma, stats.uniform.cdf) < bound(N)
    counts = np.histogram2d(gamma, u, bins=20, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-6


# -- size ------------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_groups_with_a_billion_labels_are_served():
    rng = np.random.default_rng(0)
    groups = 100_000
    trials = rng.integers(10**9 - 10**6, 10**9, groups)
    successes = rng.binomial(trials, rng.uniform(0.05, 0.95, groups))
    belief = BetaBernoulli.from_prior(n_groups=groups).update(successes, trials)
    x = belief.sample(jax.random.key(0), 3)
    assert x.shape == (3, groups)
    z = (x - belief.mean) / np.sqrt(belief.variance)
    # At these counts the distributions are normal up to a skewness of 1e-4.
    assert distance_to_normal(z.ravel()) < bound(z.size)
    assert (np.abs(z.mean(1)) < 5 / np.sqrt(groups)).all()


def distance_to_normal(z):
    assert np.isfinite(z).all()
    return stats.kstest(z, "norm").statistic


# -- planted faults --------------------------------------------------------------------------------------------------


def worst_distance():
    draw = jax.jit(lambda key, a, b: beta_sampling.standard_beta(key, a, b))
    excess = []
    for a, b in [(1.0, 1.0), (0.3, 2.0), (0.05, 0.05), (280.0, 203.0)]:
        x = sample(draw, a, b)
        excess.append(distance(x, stats.beta(a, b).cdf) / bound(N) if np.isfinite(x).all() else np.inf)
    return max(excess)


QUICK_FAULT = "the same uniform for acceptance and boost"  # every fault is compiled


@pytest.mark.parametrize(
    "fault", [QUICK_FAULT, *(pytest.param(f, marks=pytest.mark.slow) for f in ("no acceptance test", "no boost"))]
)
def test_a_planted_fault_is_caught(monkeypatch, fault):
    right_propose, right_root = gamma_sampling._propose, gamma_sampling._gamma_cube_root

    def accept_everything_positive(*args):
        t, u, _ = right_propose(*args)
        return t, u, t > 0

    def without_boost(key, d):
        t, _ = right_root(key, d)
        return t, jnp.zeros_like(t)

    def boost_from_the_gamma_variable(key, d):
        t, _ = right_root(key, d)
        return t, jax.scipy.special.ndtr((t - 1) * jnp.sqrt(9 * d))

    name, wrong = {
        "no acceptance test": ("_propose", accept_everything_positive),
        "no boost": ("_gamma_cube_root", without_boost),
        "the same uniform for acceptance and boost": ("_gamma_cube_root", boost_from_the_gamma_variable),
    }[fault]
    monkeypatch.setattr(gamma_sampling, name, wrong)
    assert worst_distance() > 1


@pytest.mark.slow  # as `test_draws_have_the_beta_distribution` in the quick tests
def test_without_a_planted_fault_the_same_check_passes():
    assert worst_distance() < 1
