"""The search on the grid has the distribution of full posterior draws."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from bayes_assess.acquisition.extreme_draws import extreme_arms, grid_cdf, update_grid_cdf

ALPHA = 1e-5  # false-alarm rate of one chi-square test
N = 40_000

BELIEFS = {
    "moderate": ([4.0, 6.0, 2.0, 3.0], [3.0, 5.0, 2.0, 6.0]),
    "all within one interval": ([4000.0, 4100.0, 8000.0], [4030.0, 4090.0, 8020.0]),
    "against both ends": ([0.3, 0.02, 1.0, 0.5], [0.02, 0.3, 0.5, 0.5]),
    "all against one end": ([200.0, 50.0, 3.0], [0.4, 1.0, 0.05]),
    "one arm": ([2.0], [3.0]),
}


@partial(jax.jit, static_argnums=(4, 5))
def _play(keys, a, b, available, m, greatest):
    cdf = grid_cdf(a, b)
    return jax.vmap(lambda key: extreme_arms(key, cdf, a, b, available, m, greatest=greatest))(keys)


def play(belief, m, greatest, available=None, seed=0, n=N):
    a, b = (np.array(x) for x in belief)
    available = np.ones(len(a), bool) if available is None else np.array(available)
    with jax.enable_x64(True):
        return np.asarray(_play(jax.random.split(jax.random.key(seed), n), a, b, available, m, greatest))


def least_probabilities(a, b):
    """P(arm g has the least draw), by quadrature over the quantile u of arm g, which no density can upset."""
    betas = [stats.beta(*parameters) for parameters in zip(a, b, strict=True)]

    def others_above(u, g):
        x = betas[g].ppf(u)
        return np.prod([one.sf(x) for h, one in enumerate(betas) if h != g])

    return np.array([integrate.quad(others_above, 0, 1, args=(g,), limit=400, epsabs=1e-8)[0] for g in range(len(a))])


@pytest.mark.slow
@pytest.mark.parametrize("greatest", [False, True])
@pytest.mark.parametrize("name", BELIEFS)
def test_one_arm_is_extreme_as_often_as_it_should_be(name, greatest):
    a, b = BELIEFS[name]
    probabilities = least_probabilities(*((b, a) if greatest else (a, b)))  # 1 - theta ~ Beta(b, a)
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    counts = np.bincount(play((a, b), 1, greatest).ravel(), minlength=len(a))
    assert counts.sum() == N
    likely = probabilities * N > 5
    np.testing.assert_array_less(counts[~likely], 30)
    if likely.sum() > 1:
        expected = probabilities[likely] / probabilities[likely].sum() * counts[likely].sum()
        assert stats.chisquare(counts[likely], expected).pvalue > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("greatest", [False, True])
@pytest.mark.parametrize("name", ["moderate", "all within one interval", "all against one end"])
def test_sets_of_two_arms_have_the_law_of_full_draws(name, greatest):
    a, b = map(np.array, BELIEFS[name])
    # On the scale of log(1 - theta), where draws against 1 stay apart, by SciPy's logarithmic gamma variables.
    rng = np.random.default_rng(0)
    value = stats.loggamma.rvs(a, size=(N, len(a)), random_state=rng) - stats.loggamma.rvs(
        b, size=(N, len(a)), random_state=rng
    )
    full = np.sort(np.argsort(-value if greatest else value, axis=1)[:, :2], axis=1)
    fast = np.sort(play((a, b), 2, greatest, seed=1), axis=1)
    table = [[(arms == pair).all(1).sum() for pair in combinations(range(len(a)), 2)] for arms in (full, fast)]
    table = np.array(table)
    assert (table.sum(1) == N).all()
    assert stats.chi2_contingency(table[:, table.sum(0) > 20]).pvalue > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("greatest", [False, True])
@pytest.mark.parametrize("m", [1, 3])
def test_arms_are_distinct_available_and_padded_with_minus_one(m, greatest):
    for available in ([True] * 4, [True, False, True, False], [False, False, True, False], [False] * 4):
        found = min(m, sum(available))
        arms = play(BELIEFS["against both ends"], m, greatest, available, n=500)
        assert (arms[:, found:] == -1).all()
        chosen = arms[:, :found]
        assert (chosen >= 0).all()
        assert np.array(available)[chosen].all()
        assert all(len(set(row)) == found for row in chosen.tolist())


def test_the_grid_carries_the_exact_cdf():
    a, b = np.array([0.3, 1.0, 40.0, 3000.0]), np.array([0.6, 1.0, 7.0, 5000.0])
    with jax.enable_x64(True):
        cdf = np.asarray(grid_cdf(jnp.asarray(a), jnp.asarray(b)))
    x = np.sin(np.pi * np.arange(1, len(cdf) + 1) / (2 * (len(cdf) + 1)))[:, None] ** 2
    np.testing.assert_allclose(cdf, stats.beta.cdf(x, a, b), rtol=0, atol=1e-10)


def test_updating_the_grid_label_by_label_equals_starting_afresh():
    rng = np.random.default_rng(0)
    n = 2000
    outcomes = (rng.random(n) < 0.85).astype(np.int64)
    prior_a, prior_b = np.array([1.0, 1.5, 1.0]), np.array([1.0, 0.5, 1.0])

    def step(carry, outcome):
        cdf, a, b = carry
        cdf = update_grid_cdf(cdf, 1, a, b, outcome)
        return (cdf, a + outcome, b + 1 - outcome), None

    with jax.enable_x64(True):
        start = (grid_cdf(jnp.asarray(prior_a), jnp.asarray(prior_b)), jnp.asarray(1.5), jnp.asarray(0.5))
        (cdf, a, b), _ = jax.jit(lambda start: jax.lax.scan(step, start, jnp.asarray(outcomes)))(start)
        fresh = grid_cdf(jnp.stack([prior_a[0], a, prior_a[2]]), jnp.stack([prior_b[0], b, prior_b[2]]))
    # Each of 2,000 steps rounds a number below 1; anything above that is a wrong recurrence.
    np.testing.assert_allclose(cdf, fresh, rtol=0, atol=1e-10)


def test_no_key_is_used_twice():
    @jax.jit
    def choose(key, a, b):
        return extreme_arms(key, grid_cdf(a, b), a, b, jnp.ones(2, bool), 1, greatest=True)

    with jax.debug_key_reuse(True), jax.enable_x64(True):
        choose(jax.random.key(0), np.array([4.0, 6.0]), np.array([3.0, 5.0]))
