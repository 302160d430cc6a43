"""Stratified sampling with proportional allocation ([DRUCK])."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.designs._base import Draw
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import WeightedState, covering, draw_cell
from bayes_assess.estimators.stratified import stratified_draws, stratum_sizes
from bayes_assess.estimators.weighted import WeightedDraws


@dataclass(frozen=True)
class Stratified(Stratifying):
    """Items in proportion to the sizes of strata, one at a time and without replacement ([DRUCK]).

    Every stratum gets its share of the labels so far, as nearly as whole labels allow. The estimate weighs every
    labelled item by the size of its stratum over the stratum's labels. Strata with fewer than two labels are collapsed
    with their neighbours for that, so that labels alone decide, however many strata there are. Items that nobody asked
    for are known, but stand for no others.

    Parameters
    ----------
    n_strata : int
        Strata, at most.
    kind : str
        How the scores are cut, see `Strata`.
    strata : Strata or FeatureStrata, optional
        Other strata, in the place of `n_strata` and `kind`; the order of their groups says which are neighbours.

    Examples
    --------
    >>> Stratified(n_strata=30).name
    'stratified'
    >>> import bayes_assess as ba
    >>> Stratified(strata=ba.FeatureStrata([[0.0], [1.0], [1.0]], n_strata=2))
    Stratified(n_strata=256, kind='csf', strata=FeatureStrata(features=3 x 1, n_strata=2, kind='k_d_tree', seed=0))
    """

    name: ClassVar[str] = "stratified"

    def allocation(self, state: WeightedState) -> Float[Array, " K"]:
        """Compute by what the next item is drawn, (K,) per item: how far every stratum is behind its share."""
        measure = state.measure
        taken = state.draws.new.sum(-1) + state.pending
        taken, remaining = measure.by_block(taken), measure.by_block(state.remaining)
        size = stratum_sizes(measure, state.draws, state.counts)
        behind = (taken.sum() + 1) * size / xp.maximum(size.sum(), 1) - taken
        behind = xp.where(remaining > 0, xp.maximum(behind, 0), 0)
        # Strata may all be exhausted that are behind, if labels were told that nobody asked for.
        stratum = xp.where(behind.sum() > 0, behind, remaining)
        return (stratum / xp.maximum(remaining, 1))[measure.block]

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Draw, WeightedState]:
        """Draw a stratum that is behind its share, and an item of it uniformly."""
        cell = draw_cell(key, state.remaining * self.allocation(state))
        draw = Draw(weight=xp.ones(()), p_new=xp.ones(()), p_pending=xp.zeros(()))
        return cell, draw, self.reserve(covering(state, state.matters), cell)

    def weighed(self, state: WeightedState) -> tuple[WeightedDraws, Float[Array, "B D"]]:
        """Weigh all labels anew by the strata that they collapse, see `stratified_draws`."""
        return stratified_draws(state.measure, state.draws, state.counts)
