"""Stratified sampling with proportional allocation ([DRUCK])."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_assess._typing import PRNGKey
from bayes_assess.designs._weighted import StratifyingDesign, WeightedState, draw_cell

_FIRST = 2  # labels of every stratum, before any other


@dataclass(frozen=True)
class Stratified(StratifyingDesign):
    """Items in proportion to the sizes of strata, without replacement, after two of every stratum ([DRUCK]).

    The estimate weighs every labelled item by the size of its stratum over the stratum's labels; strata without labels
    enter as the scores say.

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
        """Propose what the next item is drawn by: strata with fewer than two labels first."""
        target = state.target
        taken = target.by_block(state.counts.sum(-1) + state.pending)
        left = target.by_block(state.remaining)
        size = target.by_block(target.size)
        first = (taken < _FIRST) & (left > 0)
        stratum = jnp.where(first.any(), first, left > 0) * size / jnp.maximum(left, 1)
        item = stratum[target.block][:, None]
        return jnp.concatenate([jnp.zeros(state.counts.shape), item], axis=-1)

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Float[Array, ""], WeightedState]:
        """Draw a stratum in proportion to its size, and an item of it uniformly."""
        cell = draw_cell(key, state.remaining * self.propose(state)[:, -1])
        return cell, jnp.ones(()), self.reserve(state, cell)

    def update(
        self,
        state: WeightedState,
        cell: Int[Array, ""],
        outcome: Int[Array, ""],
        weight: Float[Array, ""] | float = 1.0,
    ) -> WeightedState:
        """Learn the label of an item; labels that nobody asked for count as those of random items of their cells."""
        state = replace(
            state,
            counts=state.counts.at[cell, outcome].add(1),
            pending=state.pending.at[cell].add(-1),
        )
        return self._refreshed(state)

    def _refreshed(self, state: WeightedState) -> WeightedState:
        """Weigh all labels anew."""
        target = state.target
        n = state.counts.sum()
        labelled = target.by_block(state.counts.sum(-1))
        size = target.by_block(target.size)
        per_label = (size / jnp.maximum(labelled, 1))[target.block][:, None]
        unseen = (labelled == 0)[target.block][:, None]
        mass = state.counts * per_label + jnp.where(unseen, target.size[:, None] * state.prior, 0)
        uniform = jnp.ones(state.draws.proposal.shape) / state.n_items
        n = jnp.maximum(n, 1).astype(jnp.float64)
        weights = n * mass / state.n_items
        # Items of a stratum stand for as many items each; that strata are known makes the variance smaller than this.
        draws = state.draws._replace(n=n, weights=weights, squares=weights, proposal=uniform)
        return replace(state, draws=draws)

    def notes(self, state: WeightedState) -> Mapping[str, Array]:
        """Return nothing: all follows from the labels."""
        return {}

    def recall(self, state: WeightedState, notes: Mapping[str, np.ndarray]) -> WeightedState:
        """Return the state as it is."""
        return state
