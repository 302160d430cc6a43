"""Designs that play the most rewarding groups: Thompson sampling and its rivals ([ABA] Alg. 1 to 3).

Each design plays `reward.m` groups in a round and hands out one item of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.acquisition.arms import MAX_REDRAWS, best_arms, top_two
from bayes_assess.designs._arms import ArmDesign, CellState
from bayes_assess.designs._base import Draw
from bayes_assess.designs._blocks import SideBySide, best_cells
from bayes_assess.errors import DesignError
from bayes_assess.models._numerics.beta_quantile import beta_quantile
from bayes_assess.models.belief import Belief, beta_marginals, drawn_component, runs_on_numpy

_DRAWS = 400  # of rewards, for a quantile of theirs
_PARTS = 64  # of a mixture, that rewards are averaged over where campaigns stand side by side
_AT_ONCE = 8  # of the redraws of top-two sampling
_Quantiles: TypeAlias = Float[Array, "2 K"] | tuple[()]  # a lower and an upper one of every group, where they decide


@dataclass(frozen=True)
class _PosteriorSampling(ArmDesign):
    """What designs that play the winners of posterior draws share."""

    def draw_winners(self, key: PRNGKey, state: CellState, available: Bool[Array, " K"], m: int) -> Int[Array, " m"]:
        """Best m of the available groups under one posterior draw."""
        key_draw, key_tie = engine.random.split(key)
        if state.carried is None:
            part, belief = state.posterior, state.belief
        else:
            key_part, key_draw = engine.random.split(key_draw)
            part = state.reward.deciding(drawn_component(key_part, state.posterior), state.counts)
            belief = part.update_at_mean(state.pending)
        theta = _draw(key_draw, part, state.playable)
        return best_arms(key_tie, state.reward(theta, belief, state.weight), available, m)

    def draw_all_winners(
        self, rng: np.random.Generator, campaigns: SideBySide, n: int, available: Bool[np.ndarray, "*n F K"]
    ) -> Int[np.ndarray, "n F"]:
        """Best of the available groups under each of `n` posterior draws of every campaign."""
        part = campaigns.reward.deciding(campaigns.parts(rng), campaigns.counts)
        belief = part.update_at_mean(campaigns.pending)
        return best_cells(rng, campaigns.reward(part.draw(rng, (n,)), belief, campaigns.weight), available)


@dataclass(frozen=True)
class Thompson(_PosteriorSampling):
    """Thompson sampling: play the groups that are best under one posterior draw ([ABA] Alg. 1 and 3).

    Examples
    --------
    >>> Thompson().name
    'thompson'
    """

    name: ClassVar[str] = "thompson"

    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " m"]:
        """Best groups under one posterior draw."""
        return self.draw_winners(key, state, state.available, state.reward.m)

    def play_all(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "n F"]:
        """Best group under one posterior draw, each."""
        return self.draw_all_winners(rng, campaigns, n, campaigns.available)


@dataclass(frozen=True)
class TopTwo(_PosteriorSampling):
    """Top-two Thompson sampling: now and then the best challenger instead of the leader ([ABA] Alg. 2, corrected).

    Parameters
    ----------
    beta : float in [0, 1]
        Probability of playing the challenger; 0 is plain Thompson sampling.

    Examples
    --------
    >>> TopTwo(beta=0.3)
    TopTwo(beta=0.3)
    """

    beta: float = 0.5
    name: ClassVar[str] = "top_two"
    max_round: ClassVar[int | None] = 1

    def __post_init__(self):
        _check_probability("TopTwo", "beta", self.beta)

    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " m"]:
        """Leader or challenger."""

        def draw_winner(key, available):
            return self.draw_winners(key, state, available, 1)[0]

        return top_two(key, draw_winner, state.available, self.beta)[None]

    def play_all(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "n F"]:
        """Leader or challenger, each."""
        available = campaigns.available
        leader = self.draw_all_winners(rng, campaigns, n, available)
        others = available & (np.arange(available.shape[1]) != leader[..., None])
        challenge = (rng.random(leader.shape) < self.beta) & others.any(-1)
        winner = leader
        for _ in range(MAX_REDRAWS // _AT_ONCE):
            if not (challenge & (winner == leader)).any():
                break
            drawn = self.draw_all_winners(rng, campaigns, _AT_ONCE * n, available).reshape(_AT_ONCE, *leader.shape)
            first = (drawn != leader).argmax(0)[None]
            winner = np.where(winner == leader, np.take_along_axis(drawn, first, 0)[0], winner)
        if (challenge & (winner == leader)).any():
            winner = np.where(winner == leader, self.draw_all_winners(rng, campaigns, n, others), winner)
        return np.where(challenge, winner, leader)


@dataclass(frozen=True)
class EpsilonGreedy(ArmDesign):
    """Play the groups that are best at the posterior mean, or with probability epsilon random ones.

    Parameters
    ----------
    epsilon : float in [0, 1]

    Examples
    --------
    >>> EpsilonGreedy().epsilon
    0.1
    """

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon_greedy"
    always_plays_best: ClassVar[bool] = True

    def __post_init__(self):
        _check_probability("EpsilonGreedy", "epsilon", self.epsilon)

    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " m"]:
        """Greedy or random groups."""
        key_coin, key_random, key_tie = engine.random.split(key, 3)
        greedy = state.reward(state.posterior.mean, state.belief, state.weight)
        random = engine.random.uniform(key_random, greedy.shape, greedy.dtype)
        explore = engine.random.uniform(key_coin) < self.epsilon
        return best_arms(key_tie, xp.where(explore, random, greedy), state.available, state.reward.m)

    def play_all(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "n F"]:
        """Greedy or random group, each."""
        known = campaigns.whole_or_parts(rng, _PARTS)
        value = campaigns.reward(known.mean, known.update_at_mean(campaigns.pending), campaigns.weight)
        greedy = _mean_of_parts(value, campaigns.available)
        random = rng.random((n, *greedy.shape))
        explore = rng.random((n, len(greedy), 1)) < self.epsilon
        return best_cells(rng, np.where(explore, random, greedy), campaigns.available)


@dataclass(frozen=True)
class BayesUCB(ArmDesign):
    """Play the groups that could be best: the reward at an extreme posterior quantile of the accuracy.

    Where groups learn from each other it is that of the Beta distribution with the accuracy's posterior mean and
    variance. Costs and calibration errors depend on several probabilities: of these the quantile of the reward itself
    is taken, from 400 posterior draws.

    Parameters
    ----------
    quantile : float in (0.5, 1)
        The accuracy is taken at this quantile or at 1 minus it, whichever is worth more: the upper one where the
        maximum is sought, the lower one where the minimum is.

    Examples
    --------
    >>> BayesUCB().quantile
    0.975
    """

    quantile: float = 0.975
    name: ClassVar[str] = "bayes_ucb"
    always_plays_best: ClassVar[bool] = True

    def __post_init__(self):
        if not (is_number(self.quantile) and 0.5 < self.quantile < 1):
            raise DesignError(f"BayesUCB takes a quantile between 0.5 and 1; found {show(self.quantile)}.")

    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " m"]:
        """Play the groups with the greatest optimistic reward."""
        if state.reward.of_each:
            optimistic = state.reward(state.memory, state.belief, state.weight).max(0)
            return best_arms(key, optimistic, state.available, state.reward.m)
        key_draws, key_tie = engine.random.split(key)
        draws = state.posterior.sample(key_draws, _DRAWS)
        rewards = state.reward(draws, state.belief, state.weight)
        return best_arms(key_tie, xp.quantile(rewards, self.quantile, axis=0), state.available, state.reward.m)

    def play_all(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "n F"]:
        """Play the group with the greatest optimistic reward."""
        known = _matched(campaigns.posterior).update_counts(campaigns.since)
        believed = campaigns.whole_or_parts(rng, _PARTS).update_at_mean(campaigns.pending)
        values = [campaigns.reward(theta, believed, campaigns.weight) for theta in known.quantile(self._levels)]
        optimistic = np.maximum(*(_mean_of_parts(value, campaigns.available) for value in values))
        return np.repeat(best_cells(rng, optimistic, campaigns.available)[None], n, axis=0)

    def draw(
        self, key: PRNGKey, state: CellState, first: Int[Array, ""] | int, n: Int[Array, ""] | int, length: int
    ) -> tuple[Int[Array, " L"], Draw, CellState]:
        """Choose a batch: quantiles of a mixture, which every label moves in all groups, are computed once for it."""
        if beta_marginals(state.posterior) is None:
            state = replace(state, memory=self.init_memory(state))
        return super().draw(key, state, first, n, length)

    def init_memory(self, state: CellState) -> _Quantiles:
        """Lower and upper quantile of every group, where they decide."""
        return _matched(state.posterior).quantile(self._levels) if state.reward.of_each else ()

    def update_memory(self, state: CellState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> _Quantiles:
        """Only the quantiles of the group that was labelled have moved, where groups are independent."""
        marginals, old = beta_marginals(state.posterior), state.memory
        if not state.reward.of_each or marginals is None:
            return old
        a, b = (parameter[cell] for parameter in marginals)
        return engine.at(old)[:, cell].set(beta_quantile(self._levels, a, b, old[:, cell]))

    @property
    def _levels(self) -> Float[Array, " 2"]:
        return xp.array([1 - self.quantile, self.quantile])


def _draw(key: PRNGKey, posterior: Belief, playable: Int[Array, " P"]) -> Float[Array, "K *O"]:
    """One posterior draw of the playable cells, and the mean of the others: no arm's reward depends on them.

    Draws only rank arms, for which 32 bits do.
    """
    if beta_marginals(posterior) is None or not len(playable) or not runs_on_numpy(posterior):
        return posterior.sample(key, 1)[0]
    some: Any = engine.tree_map(lambda parameter: parameter[playable], posterior)
    return engine.at(posterior.mean)[playable].set(some.sample(key, 1, dtype=xp.float32)[0])


def _matched(posterior: Any) -> Belief:
    """Return Beta distributions of a mixture's moments, and any other posterior as it is."""
    return posterior.matched() if hasattr(posterior, "matched") else posterior


def _mean_of_parts(
    value: Float[np.ndarray, "*P F K"] | Float[np.ndarray, " K"], available: Bool[np.ndarray, "F K"]
) -> Float[np.ndarray, "F K"]:
    """Return the mean over parts of values of all campaigns; of a closed form, or where all are alike, there is one."""
    value = value.mean(0) if value.ndim > available.ndim else value
    return np.broadcast_to(value, available.shape)


def _check_probability(design: str, option: str, value: float) -> None:
    if not (is_number(value) and 0 <= value <= 1):
        raise DesignError(f"{design} takes {option} as a probability between 0 and 1; found {show(value)}.")
