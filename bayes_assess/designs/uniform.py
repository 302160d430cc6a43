"""Designs that look at nothing: uniformly random items, and uniformly random groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Int
from bayes_assess.acquisition.arms import best_arm
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.designs._arms import ArmDesign, CellState
from bayes_assess.designs._blocks import SideBySide, best_cells, drawn_without_replacement


@dataclass(frozen=True)
class RandomItem(ArmDesign):
    """Uniformly random items of the pool, without replacement: what most people do.

    Examples
    --------
    >>> RandomItem().name
    'random'
    """

    name: ClassVar[str] = "random"
    learns: ClassVar[bool] = False

    def arms_per_round(self, reward: Reward) -> int:
        """One item at a time, whatever is looked for."""
        return 1

    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " 1"]:
        """Arm of an item drawn uniformly from all that remain."""
        upto = xp.cumsum(state.left)
        item = engine.random.randint(key, (1,), 0, upto[-1])
        return xp.searchsorted(upto, item, side="right")

    def ask_block(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "F K"]:
        """Draw `n` of the items that remain in every campaign."""
        return drawn_without_replacement(rng, campaigns.remaining, np.full(len(campaigns.remaining), n))


@dataclass(frozen=True)
class RandomGroup(ArmDesign):
    """Uniformly random groups among those with unlabelled items, then a random item of the group.

    Examples
    --------
    >>> RandomGroup().name
    'random_group'
    """

    name: ClassVar[str] = "random_group"
    learns: ClassVar[bool] = False

    def arms_per_round(self, reward: Reward) -> int:
        """One group at a time, whatever is looked for."""
        return 1

    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " 1"]:
        """Draw a group; all are tied."""
        return best_arm(key, xp.zeros(state.available.shape), state.available)[None]

    def play_all(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "n F"]:
        """Draw a group, each."""
        available = campaigns.available
        return best_cells(rng, np.zeros((n, *available.shape)), available)
