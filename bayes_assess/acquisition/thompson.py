"""Which arms to play, given one posterior draw of every arm's reward ([ABA] Alg. 1 to 3).

An arm is a group of items; it is available while it has unlabelled items. Ties are broken at random.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from bayes_assess._typing import PRNGKey

# Top-two sampling redraws until another arm wins. Once one arm is all but certain that takes for ever, so after
# this many draws the runner-up of the last one plays.
MAX_REDRAWS = 100


def best_arm(key: PRNGKey, reward: Float[Array, " G"], available: Bool[Array, " G"]) -> Int[Array, ""]:
    """Choose the available arm with the greatest reward, ties at random.

    Parameters
    ----------
    key : PRNG key
        Used for ties alone.
    reward : (G,)
    available : (G,) booleans
        At least one is true.

    Returns
    -------
    The arm, an integer.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> int(best_arm(jax.random.key(0), jnp.array([0.3, 0.9, 0.5]), jnp.array([True, False, True])))
    2
    """
    reward = jnp.where(available, reward, -jnp.inf)
    tied = available & (reward == reward.max())
    # +1 keeps a tied arm above the others when its random bits happen to be zero.
    priority = jax.random.bits(key, reward.shape, jnp.uint32) // 2 + 1
    return jnp.argmax(jnp.where(tied, priority, 0))


def best_arms(key: PRNGKey, reward: Float[Array, " G"], available: Bool[Array, " G"], m: int) -> Int[Array, " m"]:
    """Choose the m available arms with the greatest rewards (multiple-play Thompson sampling, [ABA] Alg. 3).

    Parameters
    ----------
    key : PRNG key
        Used for ties alone.
    reward : (G,)
    available : (G,) booleans
    m : int
        At most G.

    Returns
    -------
    (m,) arms, best first; -1 in the last places if fewer than m are available.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> reward, available = jnp.array([0.3, 0.9, 0.5]), jnp.array([True, False, True])
    >>> best_arms(jax.random.key(0), reward, available, 3).tolist()
    [2, 0, -1]
    """
    if m == 1:
        arm = best_arm(key, reward, available)
        return jnp.where(available.any(), arm, -1)[None]
    shuffle = jax.random.permutation(key, reward.shape[0])  # top_k prefers the first of equals
    value, place = lax.top_k(jnp.where(available, reward, -jnp.inf)[shuffle], m)
    return jnp.where(value > -jnp.inf, shuffle[place], -1)


def top_two(
    key: PRNGKey,
    draw_reward: Callable[[PRNGKey], Float[Array, " G"]],
    available: Bool[Array, " G"],
    beta: float = 0.5,
) -> Int[Array, ""]:
    """Play the best arm with probability 1 - beta, else redraw until another arm wins and play that.

    [ABA] Alg. 2 with its Bernoulli draw put right; beta = 0 is plain Thompson sampling.

    Parameters
    ----------
    key : PRNG key
    draw_reward : callable
        From a key to a fresh posterior draw of the rewards, (G,).
    available : (G,) booleans
    beta : float in [0, 1]
        Probability of playing the challenger.

    Returns
    -------
    The arm, an integer.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> rewards = lambda key: jnp.array([0.0, 1.0, 0.5]) + jax.random.normal(key, 3)
    >>> int(top_two(jax.random.key(3), rewards, jnp.ones(3, bool))) in (0, 1, 2)
    True
    """
    key_coin, key_draw, key_tie, key_redraw = jax.random.split(key, 4)
    leader = best_arm(key_tie, draw_reward(key_draw), available)
    others = available & (jnp.arange(available.shape[0]) != leader)
    challenge = (jax.random.uniform(key_coin) < beta) & others.any()

    def redraw(carry):
        tries, _, _ = carry
        key_draw, key_tie = jax.random.split(jax.random.fold_in(key_redraw, tries))
        reward = draw_reward(key_draw)
        return tries + 1, best_arm(key_tie, reward, available), best_arm(key_tie, reward, others)

    def undecided(carry):
        tries, winner, _ = carry
        return challenge & (winner == leader) & (tries < MAX_REDRAWS)

    _, winner, runner_up = lax.while_loop(undecided, redraw, (0, leader, leader))
    return jnp.where(challenge, jnp.where(winner == leader, runner_up, winner), leader)
