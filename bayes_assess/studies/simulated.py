"""Simulated campaigns: the loop that runs those of a design, whatever the kind of labels.

Kinds of labels differ in how campaigns get them and in what is kept of a campaign: labels that are classes are drawn
one by one in a compiled loop; of others it is found afterwards which items were drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.lazy import jax
from bayes_assess._tools.shapes import Int
from bayes_assess.designs import Design
from bayes_assess.designs.ranked import RankedDesign
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Question, Setting
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.studies.study import Campaigns

DesignT = TypeVar("DesignT", bound=Design | RankedDesign)
LotT = TypeVar("LotT")  # of what a lot of campaigns starts from


@dataclass(frozen=True)
class StudiedDesign(Generic[DesignT]):
    """A design in its setting.

    Attributes
    ----------
    design : Design or RankedDesign
    setting : Setting
    full : (K, O) integers
        Items of every cell by outcome.
    """

    design: DesignT
    setting: Setting
    full: Int[np.ndarray, "K O"]

    @property
    def counts(self) -> Int[np.ndarray, "K O"]:
        """Items that campaigns draw from, by outcome."""
        if self.setting.reward.asked_only:  # which knows of labels only that there are any
            return np.pad(self.setting.cells.sizes[:, None], [(0, 0), (0, self.setting.n_outcomes - 1)])
        return self.full

    @property
    def n_recorded(self) -> int:
        """Numbers kept of a campaign at a look."""
        if self.design.weighs:
            return 7 * len(cells_table(self.setting.cells).outputs)
        return self.full.size

    def chooses_as(self, other: StudiedDesign) -> bool:
        """Whether campaigns of both label the same items: their beliefs differ, but have no say."""
        return self.design == other.design and not self.design.learns and self.setting.cells is other.setting.cells


@dataclass(frozen=True)
class SimulatedCampaigns(ABC, Generic[DesignT, LotT]):
    """Campaigns of one design on a pool whose labels are all known.

    Attributes
    ----------
    plan : StudiedDesign
    pool : Pool
    codes : (M,)
        Of the labels of all items.
    question : Question
    looks : (B,)
        Labels at which to look.
    batch, seed : int
    level : float
        As of `simulate`.
    """

    plan: StudiedDesign[DesignT]
    pool: Pool
    codes: Int[np.ndarray, " M"]
    question: Question
    looks: Int[np.ndarray, " B"]
    batch: int
    seed: int
    level: float

    n_threads: ClassVar[int] = 1

    def run(self, repeats: int, advance: Callable[[int], None]) -> Campaigns:
        """Run so many campaigns, some side by side; `advance` is told how many are done."""
        n_left = repeats  # lots may have more campaigns than are wanted

        def advance_wanted(n: int) -> None:
            nonlocal n_left
            wanted = min(n, n_left)
            n_left -= wanted
            advance(wanted)

        with ThreadPoolExecutor(self.n_threads) as threads:
            records = list(threads.map(lambda lot: self.played(lot, advance_wanted), self.lots(repeats)))
        return self.campaigns(jax.tree.map(lambda *parts: np.concatenate(parts)[:repeats], *records))

    @abstractmethod
    def lots(self, repeats: int) -> Sequence[LotT]:
        """Return what lots of campaigns start from, in all as many as are wanted or more."""

    @abstractmethod
    def played(self, lot: LotT, advance: Callable[[int], None]) -> object:
        """Run a lot of campaigns; what is recorded has leading axes (campaigns, looks)."""

    def campaigns(self, record: object) -> Campaigns:
        """Return what is kept of all campaigns."""
        return Campaigns(record, self.plan.setting.prior, self.plan.setting.cells, self.plan.full)
