"""Designs that draw items with known probabilities and weight them: state of their campaigns, and the steps on it.

Items are drawn with replacement ([NH] Algorithm 1). The oracle always gives an item the same label, so that an item
drawn again costs nothing: only distinct items count as labels. A step of a campaign ends with a new item. What it draws
before that, items that are known, enters at its expectation (see `add_steps`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess.acquisition.cell_measure import CellMeasure
from bayes_assess.acquisition.importance import floored, normalised
from bayes_assess.designs._base import Design, Draw
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import (
    Draws,
    Estimate,
    Steps,
    Sums,
    add_steps,
    weighted_covariance,
    weighted_estimate,
)
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.strata import Kind, Strata

_DATA = ["measure", "prior", "counts", "pending", "remaining", "covered", "settled", "draws", "memory"]


@partial(jax.tree_util.register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class WeightedState:
    """Everything a campaign knows, cell by cell; 64-bit, of fixed shape."""

    measure: CellMeasure
    prior: Float[Array, "K C"]  # probability of every label of an item before any label
    counts: Int[Array, "K C"]  # distinct labelled items
    pending: Int[Array, " K"]  # items handed out and not labelled yet
    remaining: Int[Array, " K"]  # items that may be asked for: neither labelled nor handed out
    covered: Bool[Array, " K"]  # whether every step so far could draw unlabelled items of the cell
    settled: Sums  # over the steps before the first whose label is missing
    draws: Draws  # of all steps whose labels are known
    memory: Any  # what the design alone carries

    @property
    def unlabelled(self) -> Int[Array, " K"]:
        """Items without a label, pending ones included."""
        return self.measure.size - self.counts.sum(-1)

    @property
    def items(self) -> Int[Array, "K C+1"]:
        """Items of every cell labelled y, and unlabelled."""
        return jnp.concatenate([self.counts, self.unlabelled[:, None]], axis=-1)

    @property
    def n_items(self) -> Int[Array, ""]:
        """Items of the pool."""
        return self.measure.size.sum()

    @property
    def share_labelled(self) -> Float[Array, ""]:
        """Share of the pool that is labelled."""
        return self.counts.sum() / self.n_items

    @property
    def complete(self) -> Bool[Array, ""]:
        """Whether every item that can matter is labelled."""
        return (self.remaining.sum() + self.pending.sum()) == 0

    def masses(self, pi: Float[Array, "K C"]) -> Float[Array, "K C"]:
        """Share of the pool in every cell with every label, unlabelled items by their probabilities `pi`."""
        return (self.counts + self.unlabelled[:, None] * pi) / self.n_items


@dataclass(frozen=True)
class WeightedDesign(Design):
    """Base of designs that draw with replacement: subclasses say what the next proposal is.

    Parameters
    ----------
    delta : float in [0, 1)
        Share of uniform draws mixed into every proposal, so that the draws can serve other measures too ([NH] 3.3.1).
    """

    delta: float = 0.0

    needs_f_measure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise DesignError(f"The delta of {self.name} lies in [0, 1); found {show(self.delta)}.")
        for option in ("epsilon", "floor"):  # a proposal without a floor could exclude items that matter
            value = getattr(self, option, 1.0)
            if not 0 < value <= 1:
                raise DesignError(f"The {option} of {self.name} lies above 0, up to 1; found {show(value)}.")

    @x64
    def init(
        self, cells: Cells, prior: Any, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign; `prior` is what scores say of every label, (K, C), and `reward` the `CellMeasure`."""
        size = jnp.asarray(cells.sizes, jnp.int64)
        shape = (cells.n_cells, reward.n_outcomes)
        measure = jax.tree.map(jnp.asarray, reward)
        all_covered = jnp.ones(shape[0], bool)
        nothing = Draws(
            n=jnp.zeros(()),
            n_new=jnp.zeros(()),
            weights=jnp.zeros(shape),
            new=jnp.zeros(shape),
            squares=jnp.zeros(shape),
            proposal=jnp.zeros((shape[0], shape[1] + 1)),
            covered=all_covered,
        )
        state = WeightedState(
            measure=measure,
            prior=jnp.asarray(prior.mean, jnp.float64),
            counts=jnp.zeros(shape, jnp.int64),
            pending=jnp.zeros_like(size),
            remaining=size if playable is None else jnp.where(jnp.asarray(playable), size, 0),
            covered=all_covered,
            settled=Sums.zeros(shape),
            draws=nothing,
            memory=(),
        )
        return _begun(self, state)

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Draw, WeightedState]:
        """Draw a new item; what would be drawn before it is known and enters at its expectation."""
        one = state.draws.proposal[:, -1]
        mass = state.remaining * one
        cell = draw_cell(key, mass)
        draw = Draw(
            weight=1 / (state.n_items * one[cell]),
            p_new=jnp.minimum(mass.sum(), 1.0),
            p_pending=(state.pending * one).sum(),
        )
        possible = (one > 0) & state.measure.nonzero.any(-1)
        covered = state.covered & (possible | (state.unlabelled == 0))
        return cell, draw, self.reserve(replace(state, covered=covered), cell)

    def update(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> WeightedState:
        """Learn the label of one pending item of a cell."""
        state = replace(
            state,
            counts=state.counts.at[cell, outcome].add(1),
            pending=state.pending.at[cell].add(-1),
        )
        return replace(state, memory=self.update_memory(state, cell, outcome))

    def settle(self, state: WeightedState, steps: Steps, last: bool = True) -> WeightedState:
        """Count steps whose labels are learned, and propose what is drawn next.

        Parameters
        ----------
        state : WeightedState
            All labels are learned already.
        steps : Steps
            All steps after the settled ones, in the order of asking, up to some step at least as late as the last with
            a label.
        last : bool
            Whether no label is missing among them, so that they are settled from now on.
        """
        sums = add_steps(state.settled, steps, state.n_items)
        counted = {name: getattr(sums, name) for name in ("n", "n_new", "weights", "new", "squares")}
        draws = state.draws._replace(**counted, covered=state.covered)
        state = replace(state, settled=sums if last else state.settled, draws=draws)
        return self._refreshed(replace(state, memory=self.update_memory_from_draws(state)))

    def weighed(self, state: WeightedState) -> WeightedState:
        """Return the state with the weights of `draws` computed, where that is left until somebody looks at them."""
        return state

    def centres(self, state: WeightedState) -> Float[Array, "H D"]:
        """Compute what `Draws.squares` are centred by, (H, D): here one row, for the mean of all new items."""
        draws = state.draws
        return state.measure.risk(draws.new / jnp.sqrt(jnp.maximum(draws.n_new, 1)))[None]

    def answer(self, state: WeightedState) -> Estimate:
        """Estimate the measure, and how well it is known."""
        state = self.weighed(state)
        believed, centres = self.masses(state), self.centres(state)
        return weighted_estimate(state.measure, state.draws, state.counts, believed, state.complete, centres)

    def covariance(self, state: WeightedState) -> Float[Array, "k k"]:
        """Estimate the covariance of the estimates, (k, k)."""
        state = self.weighed(state)
        return weighted_covariance(state.measure, state.draws, state.counts, state.complete, self.centres(state))

    def masses(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return the share of the pool in every cell with every label, as far as labelled, else as believed."""
        return state.masses(self.belief(state))

    def journal_entry(self, state: WeightedState) -> Mapping[str, Array]:
        """Return which cells every step so far could draw from."""
        return {"covered": state.covered}

    def restore(self, state: WeightedState, entry: Mapping[str, np.ndarray]) -> WeightedState:
        """Put back which cells every step so far could draw from."""
        return replace(state, covered=np.asarray(entry["covered"], bool))

    def record(self, state: WeightedState) -> Estimate:
        """Return the estimate of a simulated campaign."""
        return self.answer(state)

    def _refreshed(self, state: WeightedState) -> WeightedState:
        items, measure = state.items, state.measure
        proposal = normalised(self.propose(state), items, self.delta)
        floor = getattr(self, "floor", 0.0)
        if floor:
            proposal = floored(proposal, items[:, -1] * measure.nonzero.any(-1), floor)
        return replace(state, draws=state.draws._replace(proposal=proposal))

    @abstractmethod
    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Return the probability of one item of every cell, labelled y or unlabelled, up to a factor."""

    def belief(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return the probability of every label of the unlabelled items of every cell: what scores say, here."""
        return state.prior

    def init_memory(self, state: WeightedState) -> Any:
        """Build what the design itself carries from step to step."""
        return ()

    def update_memory(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> Any:
        """Refresh what the design carries after a label in `cell`; `state` has the label already."""
        return state.memory

    def update_memory_from_draws(self, state: WeightedState) -> Any:
        """Refresh what the design carries after `state.draws` has changed."""
        return state.memory


@dataclass(frozen=True)
class StratifyingDesign(WeightedDesign):
    """Base of weighted designs that cut the scores into strata.

    Parameters
    ----------
    n_strata : int
        Strata, at most.
    kind : {"csf", "geometric", "width", "weight"}
        How the scores are cut, see `Strata`.
    """

    n_strata: int = 256
    kind: Kind = "csf"

    @property
    def strata(self) -> Strata:  # type: ignore[override]
        """Strata of the scores."""
        return Strata(self.n_strata, self.kind)


def draw_cell(key: PRNGKey, mass: Float[Array, " K"]) -> Int[Array, ""]:
    """Draw a cell in proportion to `mass`, never one of mass 0 unless all are."""
    upto = jnp.cumsum(mass)
    u = upto[-1] * jax.random.uniform(key)
    place = (upto <= u).sum()
    return jnp.minimum(place, jnp.max(jnp.where(mass > 0, jnp.arange(len(mass)), 0)))  # rounding


@partial(jax.jit, static_argnums=0)
def _begun(design: WeightedDesign, state: WeightedState) -> WeightedState:
    """Give a fresh campaign the memory of its design and the first proposal."""
    return design._refreshed(replace(state, memory=design.init_memory(state)))
