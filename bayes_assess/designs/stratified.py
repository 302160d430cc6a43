"""Stratified sampling with proportional allocation ([DRUCK])."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bayes_assess._tools.axes import PRNGKey
from bayes_assess.designs._base import Draw
from bayes_assess.designs._weighted import StratifyingDesign, WeightedState, draw_cell
from bayes_assess.estimators.stratified import Collapsed, collapsed


@dataclass(frozen=True)
class Stratified(StratifyingDesign):
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

    Examples
    --------
    >>> Stratified(n_strata=30).name
    'stratified'
    """

    name: ClassVar[str] = "stratified"

    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Propose all items alike; what is drawn next is in `allocation`."""
        return jnp.ones_like(state.draws.proposal)

    def allocation(self, state: WeightedState) -> Float[Array, " K"]:
        """Compute by what the next item is drawn, (K,) per item: how far every stratum is behind its share."""
        measure = state.measure
        taken = state.draws.new.sum(-1) + state.pending
        taken, left, size = (measure.by_block(x) for x in (taken, state.remaining, self._size(state)))
        behind = (taken.sum() + 1) * size / jnp.maximum(size.sum(), 1) - taken
        behind = jnp.where(left > 0, jnp.maximum(behind, 0), 0)
        # Strata may all be exhausted that are behind, if labels were told that nobody asked for.
        stratum = jnp.where(behind.sum() > 0, behind, left)
        return (stratum / jnp.maximum(left, 1))[measure.block]

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Draw, WeightedState]:
        """Draw a stratum that is behind its share, and an item of it uniformly."""
        cell = draw_cell(key, state.remaining * self.allocation(state))
        draw = Draw(weight=jnp.ones(()), p_new=jnp.ones(()), p_pending=jnp.zeros(()))
        return cell, draw, self.reserve(state, cell)

    def weighed(self, state: WeightedState) -> WeightedState:
        """Weigh all labels anew."""
        draws, strata = state.draws, self._collapsed(state)
        in_cell = strata.group[state.measure.block][:, None]
        n: Float[Array, ""] = jnp.asarray(draws.n_new)
        known = state.counts - draws.new  # items that nobody asked for
        weights = n / state.n_items * (known + draws.new * strata.per_label[in_cell])
        squares = (n / state.n_items) ** 2 * draws.new * strata.spread[in_cell]
        return replace(state, draws=draws._replace(n=n, weights=weights, squares=squares))

    def centres(self, state: WeightedState) -> Float[Array, "H D"]:
        """Compute what `Draws.squares` are centred by, (B, D): a row for every collapsed stratum."""
        draws, measure, strata = state.draws, state.measure, self._collapsed(state)
        group = strata.group[measure.block]
        scale = draws.n_new / state.n_items * strata.centre
        apart = jnp.where((group == jnp.arange(measure.n_blocks)[:, None])[:, :, None], draws.new, 0.0)
        return jax.vmap(measure.risk)(scale[:, None, None] * apart)

    def _collapsed(self, state: WeightedState) -> Collapsed:
        by_block = state.measure.by_block
        return collapsed(by_block(state.draws.new.sum(-1)), by_block(self._size(state)))

    def _size(self, state: WeightedState) -> Int[Array, " K"]:
        """Items of every cell whose labels can matter and that were not told without having been asked for."""
        volunteered = state.counts.sum(-1) - state.draws.new.sum(-1)
        return jnp.where(state.measure.nonzero.any(-1), state.measure.size - volunteered, 0)
