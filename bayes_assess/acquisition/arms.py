"""Which arms to play, given one posterior draw of every arm's reward ([ABA] Alg. 1 to 3).

An arm is a group of items; it is available while it has unlabelled items. Ties are broken at random.
"""

from __future__ import annotations

from collections.abc import Callable

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int

MAX_REDRAWS = 32  # of top-two sampling
# Units in the last place by which rewards that are equal may differ, as sums are rounded in other orders.
_ROUNDING = 64


def best_arm(key: PRNGKey, reward: Float[Array, " G"], available: Bool[Array, " G"]) -> Int[Array, ""]:
    """Choose the available arm with the greatest reward, ties at random, where rewards are equal up to rounding.

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
    reward = xp.where(available, reward, -xp.inf)
    top = reward.max()
    tied = available & (reward >= top - _ROUNDING * xp.finfo(reward.dtype).eps * xp.abs(top))
    # +1 keeps a tied arm above the others when its random bits happen to be zero.
    priority = engine.random.bits(key, reward.shape, xp.uint32) // 2 + 1
    return xp.argmax(xp.where(tied, priority, 0))


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
        return xp.where(available.any(), arm, -1)[None]
    shuffle = engine.random.permutation(key, reward.shape[0])  # top_k prefers the first of equals
    value, place = engine.top_k(xp.where(available, reward, -xp.inf)[shuffle], m)
    return xp.where(value > -xp.inf, shuffle[place], -1)


@x64
def top_two(
    key: PRNGKey,
    draw_winner: Callable[[PRNGKey, Bool[Array, " G"]], Int[Array, ""]],
    available: Bool[Array, " G"],
    beta: float = 0.5,
) -> Int[Array, ""]:
    """Play the best arm with probability 1 - beta, else redraw until another arm wins and play that.

    [ABA] Alg. 2 with its Bernoulli draw put right; beta = 0 is plain Thompson sampling. Once one arm is all but
    certain, redrawing would take for ever: after `MAX_REDRAWS` the winner among the others plays.

    Parameters
    ----------
    key : PRNG key
    draw_winner : callable
        From a key and the available arms to the arm that is best under a fresh posterior draw.
    available : (G,) booleans
    beta : float in [0, 1]
        Probability of playing the challenger.

    Returns
    -------
    The arm, an integer.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> mean = jnp.array([0.0, 1.0, 0.5])
    >>> def draw_winner(key, available):
    ...     return jnp.argmax(jnp.where(available, mean + jax.random.normal(key, (3,)), -jnp.inf))
    >>> int(top_two(jax.random.key(3), draw_winner, jnp.ones(3, bool))) in (0, 1, 2)
    True
    """
    key_coin, key_leader, key_redraw, key_others = engine.random.split(key, 4)
    leader = draw_winner(key_leader, available)
    others = available & (xp.arange(available.shape[0]) != leader)
    challenge = (engine.random.uniform(key_coin) < beta) & others.any()

    def redraw(carry):
        tries, _ = carry
        return tries + 1, draw_winner(engine.random.fold_in(key_redraw, tries), available)

    def undecided(carry):
        tries, winner = carry
        return challenge & (winner == leader) & (tries < MAX_REDRAWS)

    _, winner = engine.while_loop(undecided, redraw, (0, leader))
    winner = xp.where(winner == leader, draw_winner(key_others, others), winner)
    return xp.where(challenge, winner, leader)
