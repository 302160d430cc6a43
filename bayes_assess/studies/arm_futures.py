"""Futures of a campaign that plays arms, all of them followed at once, a block of labels at a time.

The items of a block are chosen as the design chooses them, see `designs._blocks`. Where groups learn from each other
the points that carry what they have in common are placed anew at every look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Int
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.designs import ARMS, ArmDesign, CellState, Design
from bayes_assess.designs._blocks import SideBySide, drawn_without_replacement
from bayes_assess.models.belief import Belief, draws_on_host, runs_on_numpy
from bayes_assess.studies.futures import Futures


def follows_at_once(design: Design, prior: Belief) -> bool:
    """Whether futures of a design on such a prior can be followed by `ArmFutures`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> prior = ba.BetaBernoulli.from_prior(n_groups=2)
    >>> follows_at_once(ba.designs.Thompson(), prior), follows_at_once(ba.designs.VarianceReduction(), prior)
    (True, False)
    """
    if not isinstance(design, ArmDesign) or ARMS.get(design.name) is not type(design):
        return False
    return design.chooses_at_once and runs_on_numpy(prior) and draws_on_host(prior)


@dataclass(frozen=True, eq=False)
class ArmFutures(Futures[CellState]):
    """Futures that go on side by side.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.studies.futures import imagined_labels
    >>> a = ba.assess(ba.Pool(predictions=[0] * 30 + [1] * 30), ba.GroupAccuracy(), seed=0)
    >>> unlabelled = imagined_labels(a.design, a._state, a._setting, 3, seed=0)
    >>> futures = ArmFutures(a.design, a._state, unlabelled, a._setting, seed=0)
    >>> futures.campaigns(np.arange(3), 20, 0.95).labelled.sum(-1).tolist()
    [[20], [20], [20]]
    """

    design: ArmDesign

    @cached_property
    def _rng(self) -> np.random.Generator:
        return generator(self.seed, "campaigns of futures")

    @cached_property
    def _items(self) -> tuple[Int[np.ndarray, "n K O"], Int[np.ndarray, "n K"], Int[np.ndarray, "n K O"]]:
        """Labels, items that may be asked for, and labels that are left; they change as futures go on."""
        n = len(self.unlabelled)
        counts, remaining = (
            np.repeat(np.asarray(column, np.int64)[None], n, axis=0)
            for column in (self.state.counts, self.state.remaining)
        )
        return counts, remaining, np.array(self.unlabelled)

    def followed(
        self, which: Int[np.ndarray, " f"], n_labels: int, advance: Callable[[int], None]
    ) -> Int[np.ndarray, "f K O"]:
        """Go on to a number of labels; return all labels by cell and outcome."""
        counts, remaining, labels_left = (column[which] for column in self._items)
        prior, placed = self.setting.prior, counts
        posterior = prior.update_counts(placed) if self.design.learns else prior
        for n in self.blocks(int(counts[0].sum()), n_labels):
            campaigns = SideBySide(
                posterior=posterior,
                since=counts - placed,
                counts=counts,
                pending=np.zeros_like(remaining),
                remaining=remaining,
                weight=np.asarray(self.state.weight),
                reward=cast(Reward, self.setting.reward),
            )
            asked = self.design.ask_block(self._rng, campaigns, n)
            labels = drawn_without_replacement(self._rng, labels_left, asked)
            counts, remaining, labels_left = counts + labels, remaining - asked, labels_left - labels
        for all_, some in zip(self._items, (counts, remaining, labels_left), strict=True):
            all_[which] = some
        advance(len(which))
        return counts
