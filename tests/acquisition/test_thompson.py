from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from bayes_assess._tools import engine
from bayes_assess.acquisition import best_arm, best_arms, top_two
from bayes_assess.models import BetaBernoulli
from strict import kept_modes

ALPHA = 1e-5  # false-alarm rate of one chi-square test
N = 20_000

A, B = np.array([4.0, 6.0, 2.0, 3.0]), np.array([3.0, 5.0, 2.0, 6.0])


def keys(seed, n=N):
    return jax.random.split(jax.random.key(seed), n)


def winner_probabilities(a, b):
    """P(arm g has the greatest of independent Beta(a_g, b_g) draws), by quadrature."""
    betas = [stats.beta(*parameters) for parameters in zip(a, b, strict=True)]

    def density(x, g):
        return betas[g].pdf(x) * np.prod([one.cdf(x) for h, one in enumerate(betas) if h != g])

    probabilities = np.array([integrate.quad(density, 0, 1, args=(g,), epsabs=1e-10)[0] for g in range(len(betas))])
    assert probabilities.sum() == pytest.approx(1, abs=1e-8)
    return probabilities


def chi_square(arms, probabilities):
    counts = np.bincount(np.asarray(arms), minlength=len(probabilities))
    assert len(counts) == len(probabilities)
    np.testing.assert_array_equal(counts[probabilities == 0], 0)
    return stats.chisquare(counts[probabilities > 0], len(np.asarray(arms)) * probabilities[probabilities > 0]).pvalue


def draw_winner(a, b, key, available):
    key_draw, key_tie = jax.random.split(key)
    return best_arm(key_tie, BetaBernoulli(a, b).sample(key_draw, 1)[0], available)


@jax.jit
def _play_top_two(keys, a, b, available, beta):
    return jax.vmap(lambda key: top_two(key, partial(draw_winner, a, b), available, beta))(keys)


def play_top_two(beta, a=A, b=B, available=None, seed=0):
    available = np.ones(len(a), bool) if available is None else np.array(available)
    with jax.enable_x64(True):
        return np.asarray(_play_top_two(keys(seed, 5000), a, b, available, jnp.float64(beta)))


best_of_each = jax.jit(jax.vmap(best_arm, (0, None, None)))
best_of_size = jax.jit(best_arms, static_argnums=3)
best_of_draws = jax.jit(jax.vmap(best_arm, (0, 0, None)))

# Few values, so that ties are common; one size, so that each function is compiled once per m.
G = 5
rewards_and_availability = st.tuples(
    hnp.arrays(np.float32, G, elements=st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0])), hnp.arrays(bool, G)
)

# -- one arm ---------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(rewards_and_availability, st.integers(0, 2**31))
def test_best_arm_is_available_and_none_available_is_better(case, seed):
    reward, available = case
    if not available.any():
        available[0] = True
    arm = int(best_arm(jax.random.key(seed), reward, available))
    assert available[arm]
    assert reward[arm] == reward[available].max()


def test_ties_are_broken_uniformly():
    reward = jnp.array([1.0, 2.0, 2.0, 0.0, 2.0, 2.0, 3.0])
    available = jnp.array([True, True, True, True, True, False, False])
    arms = best_of_each(keys(0), reward, available)
    assert chi_square(arms, np.array([0, 1, 1, 0, 1, 0, 0]) / 3) > ALPHA


def test_a_single_best_arm_wins_whatever_the_key():
    arms = best_of_each(keys(1, 500), jnp.array([0.1, 0.7, 0.3]), jnp.ones(3, bool))
    assert (arms == 1).all()


def test_an_available_arm_without_any_reward_still_goes_before_an_exhausted_one():
    reward, available = jnp.full(3, -jnp.inf), jnp.array([False, True, False])
    arms = best_of_each(keys(1, 200), reward, available)
    assert (arms == 1).all()


# -- several arms ----------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(rewards_and_availability, st.integers(0, 2**31), st.data())
def test_best_arms_are_the_best_distinct_available_ones_and_then_minus_one(case, seed, data):
    reward, available = case
    m = data.draw(st.integers(1, len(reward)))
    arms = np.asarray(best_of_size(jax.random.key(seed), reward, available, m))
    assert arms.shape == (m,)
    found = min(m, available.sum())
    chosen = arms[:found]
    assert (arms[found:] == -1).all()
    assert len(set(chosen.tolist())) == found
    assert available[chosen].all()
    np.testing.assert_array_equal(reward[chosen], np.sort(reward[available])[::-1][:found])  # best first


@pytest.mark.parametrize("m", [2, 3])
def test_ties_for_the_last_places_are_broken_uniformly(m):
    reward = jnp.array([5.0, 1.0, 1.0, 1.0, 1.0])
    choose = jax.jit(jax.vmap(partial(best_arms, m=m), (0, None, None)))
    arms = np.asarray(choose(keys(2), reward, jnp.ones(5, bool)))
    assert (arms[:, 0] == 0).all()
    for place in range(1, m):
        assert chi_square(arms[:, place], np.array([0, 1, 1, 1, 1]) / 4) > ALPHA


def test_one_best_arm_is_best_arm():
    reward, available = jnp.array([1.0, 1.0, 0.0]), jnp.array([True, True, True])
    for key in keys(3, 20):
        assert best_arms(key, reward, available, 1)[0] == best_arm(key, reward, available)


# -- Thompson sampling -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [((3, 2), (4, 4)), ((280, 203), (351, 162)), ((0.5, 0.5), (1, 3))])
def test_thompson_plays_the_second_of_two_arms_as_often_as_it_is_the_better_one(first, second):
    one, two = stats.beta(*first), stats.beta(*second)
    p = integrate.quad(lambda x: two.pdf(x) * one.cdf(x), 0, 1, points=[0.5, 0.6, 0.7], epsabs=1e-10, limit=200)[0]
    a, b = np.array([first, second], float).T
    n = 200_000
    draws = BetaBernoulli(a, b).sample(jax.random.key(4), n)
    arms = best_of_draws(keys(4, n), draws, jnp.ones(2, bool))
    # 5 binomial standard errors: 6e-7.
    assert abs(float(np.asarray(arms).mean()) - p) < 5 * np.sqrt(p * (1 - p) / n)


def test_thompson_plays_every_arm_as_often_as_it_is_the_best():
    draws = BetaBernoulli(A, B).sample(jax.random.key(5), N)
    arms = best_of_draws(keys(5), draws, jnp.ones(4, bool))
    assert chi_square(arms, winner_probabilities(A, B)) > ALPHA


# -- top-two ---------------------------------------------------------------------------------------------------------


def challenger_probabilities(probabilities):
    """P(J): leader I with probability p_I, then redrawn until J != I wins, with probability p_J / (1 - p_I)."""
    return probabilities * ((probabilities / (1 - probabilities)).sum() - probabilities / (1 - probabilities))


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_top_two_plays_leader_and_challenger_as_often_as_it_should(beta):
    probabilities = winner_probabilities(A, B)
    expected = (1 - beta) * probabilities + beta * challenger_probabilities(probabilities)
    arms = play_top_two(beta, seed=6)
    assert chi_square(arms, expected) > ALPHA
    # The check has teeth: the coin the other way round would be another distribution.
    if beta != 0.5:
        assert chi_square(arms, beta * probabilities + (1 - beta) * challenger_probabilities(probabilities)) < ALPHA


@pytest.mark.slow
def test_top_two_never_plays_an_exhausted_arm():
    available = [True, False, True, True]
    probabilities = np.zeros(4)
    probabilities[available] = winner_probabilities(A[available], B[available])
    expected = np.zeros(4)
    expected[available] = 0.5 * probabilities[available] + 0.5 * challenger_probabilities(probabilities[available])
    assert chi_square(play_top_two(0.5, available=available, seed=7), expected) > ALPHA


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_top_two_plays_the_only_arm_that_is_left(beta):
    assert (play_top_two(beta, available=[False, False, True, False]) == 2).all()


@pytest.mark.slow
def test_top_two_ends_when_one_arm_is_certain_and_then_plays_the_winner_among_the_others():
    a, b = np.array([1e6, 3.0, 2.0]), np.array([1.0, 2.0, 2.0])
    arms = play_top_two(1.0, a, b, seed=8)
    others = winner_probabilities(a[1:], b[1:])
    assert chi_square(arms, np.array([0, *others])) > ALPHA


def test_a_leader_that_is_certain_is_challenged_by_the_best_of_the_others():
    mean = np.array([0.2, 0.9, 0.5])

    def certain(key, available):
        return np.where(available, mean, -np.inf).argmax()

    with engine.eager():
        key = engine.random.as_key(np.array([0, 1], np.uint32))
        assert [int(top_two(key, certain, np.ones(3, bool), beta)) for beta in (0.0, 1.0)] == [1, 2]


# -- strict modes ----------------------------------------------------------------------------------------------------


def test_no_key_is_used_twice_and_no_type_is_promoted():
    reward, available = jnp.array([0.0, 1.0, 1.0]), jnp.ones(3, bool)
    with kept_modes(), jax.debug_key_reuse(True), jax.numpy_dtype_promotion("strict"):
        jax.jit(best_arm)(jax.random.key(0), reward, available)
        jax.jit(best_arms, static_argnums=3)(jax.random.key(1), reward, available, 2)


def test_choices_are_compiled_once():
    traces = []

    @jax.jit
    def choose(key, reward, available):
        traces.append(1)
        return best_arms(key, reward, available, 2)

    for seed in range(3):
        choose(jax.random.key(seed), jnp.arange(4.0) * seed, jnp.arange(4) != seed)
    assert len(traces) == 1
