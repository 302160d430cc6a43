"""Designs that draw items with replacement ([NH] Algorithm 1): the steps of their campaigns.

A deterministic oracle always gives an item the same label, so that an item drawn again costs nothing: only distinct
items count as labels. A step of a campaign ends with a new item. What it draws before that, items that are known,
enters at its expectation (see `add_steps`).

A stochastic oracle draws the label of an item from p(y | x) whenever it is asked: every draw is a label of its own, of
an item that may have labels already, and nothing is ever known for good.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.acquisition.importance import floored, normalised
from bayes_assess.designs._base import Draw, own_step
from bayes_assess.designs._label_models import LabelDraws
from bayes_assess.designs._weighted import LabelPrior, WeightedDesign, WeightedState, covering, draw_cell
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import Steps, WeightedDraws
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.pool.cells import Cells


@dataclass(frozen=True)
class WithReplacement(WeightedDesign):
    """Base of designs that draw with replacement: subclasses say what the next proposal is.

    Parameters
    ----------
    delta : float in [0, 1)
        Share of uniform draws mixed into every proposal, so that the draws can serve other measures too ([NH] 3.3.1).
    """

    delta: float = 0.0

    oracles: ClassVar[tuple[str, ...]] = ("deterministic", "stochastic")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.delta) and 0 <= self.delta < 1):
            raise DesignError(f"The delta of {self.name} lies in [0, 1); found {show(self.delta)}.")
        epsilon, floor = getattr(self, "epsilon", 1.0), getattr(self, "floor", 0.0)
        if not (is_number(epsilon) and 0 < epsilon <= 1):  # without it a proposal could exclude items that matter
            raise DesignError(f"The epsilon of {self.name} lies above 0, up to 1; found {show(epsilon)}.")
        if not (is_number(floor) and 0 <= floor <= 1):
            raise DesignError(f"The floor of {self.name} lies in [0, 1]; found {show(floor)}.")

    @property
    def keeps_aside(self) -> bool:
        """Whether labels that came stand for items set aside: where the proposal prefers those that it asks for."""
        return not self.draws_alike and not self.whole_batches

    @x64
    def init(
        self, cells: Cells, prior: LabelPrior, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign, with the memory of the design and the first proposal; see `WeightedDesign.init`."""
        return _begun(self, super().init(cells, prior, reward, playable))

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Draw, WeightedState]:
        """Draw a new item; what would be drawn before it is known and enters at its expectation.

        Items that were drawn and set aside count as pending ones (see `keeps_aside`). Others that were set aside count
        as unlabelled ones that might be drawn: what is drawn in their place stands for them. Either is right if whether
        an item can be labelled depends neither on its label nor on how it is drawn.
        """
        proposal = state.draws.proposal[:, -1]
        mass = state.remaining * proposal
        cell = draw_cell(key, mass)
        draw = Draw(
            weight=1 / (state.n_items * proposal[cell]),
            p_new=xp.minimum(mass.sum() + ((state.undrawn - state.remaining) * proposal).sum(), 1.0),
            p_pending=xp.zeros(()) if state.measure.stochastic else (state.pending * proposal).sum(),
        )
        possible = (proposal > 0) & state.matters
        return cell, draw, self.reserve(covering(state, possible), cell)

    def reserve(self, state: WeightedState, cell: Int[Array, ""]) -> WeightedState:
        """Mark one item of a cell as handed out; where labels are draws it may be drawn again."""
        if state.measure.stochastic:
            return replace(state, pending=engine.at(state.pending)[cell].add(1))
        return super().reserve(state, cell)

    def update(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> WeightedState:
        """Learn the label of one pending item of a cell."""
        state = super().update(state, cell, outcome)
        return replace(state, memory=self.update_memory(state, cell, outcome))

    def settle(self, state: WeightedState, steps: Steps, last: bool = True) -> WeightedState:
        """Count steps whose labels are learned, and propose what is drawn next; see `WeightedDesign.settle`."""
        state = super().settle(state, steps, last)
        return self._refreshed(replace(state, memory=self.update_memory_from_draws(state)))

    def weighed(self, state: WeightedState) -> tuple[WeightedDraws, Float[Array, "1 D"]]:
        """Return the draws, to which every step has added its weight p / q, centred by the mean of all new items."""
        draws = state.draws
        return draws, state.measure.risk(draws.new / xp.sqrt(xp.maximum(draws.n_new, 1)))[None]

    @x64
    def believing(self, state: WeightedState, labels: LabelDraws) -> WeightedState:
        r"""Return the state with the proposal that draws of another model make, to choose items by.

        With v_s the proposal that would be best if draw s were the truth, it is the one of least expected variance,
        v = (sum_s w_s v_s^p)^(1/p), p being 2 where proposals are roots of expected squares ([NH] Propositions 1, 2).
        Mixed with the uniform one and floored as the design's own, it is as positive, and items are weighed by it.
        """
        with engine.eager(self.is_eager(state)):
            return _proposed_by(self, state, engine.tree_map(xp.asarray, labels.positive()))

    def own_again(self, own: WeightedState, chosen: WeightedState) -> WeightedState:
        """Return the state after items were chosen by another posterior, with the design's own proposal."""
        return replace(chosen, draws=own.draws)

    def proposal_given(self, state: WeightedState, pi: Float[Array, "K C"]) -> Float[Array, "K C+1"]:
        """Return the best proposal, up to a factor, if labels of unlabelled items had these probabilities."""
        raise DesignError(f"Design {self.name!r} chooses by no probabilities of labels.")

    def proposal_power(self, state: WeightedState) -> int:
        """Return p such that means over beliefs are of the p-th power of a proposal; see `believing`."""
        return 2

    def _refreshed(self, state: WeightedState) -> WeightedState:
        shape = state.items.shape
        with own_step(self, "propose"):
            own: Any = self.propose(state)
        if getattr(own, "shape", None) != shape:
            found = f"shape {own.shape}" if hasattr(own, "shape") else show(own)
            raise DesignError(
                f"`propose` of design {self.name!r} returns how probable one item of every cell is, labelled as each "
                f"class or unlabelled, an array of shape {shape}; found {found}."
            )
        return self._proposing(state, own)

    def _proposing(self, state: WeightedState, own: Float[Array, "K C+1"]) -> WeightedState:
        items, measure = state.items, state.measure
        proposal = normalised(own, items, self.delta)
        floor = getattr(self, "floor", 0.0)
        if floor:
            proposal = floored(proposal, items[:, -1] * measure.nonzero.any(-1), floor)
        return replace(state, draws=state.draws._replace(proposal=proposal))

    @abstractmethod
    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Return the probability of one item of every cell, labelled y or unlabelled, up to a factor."""

    def init_memory(self, state: WeightedState) -> object:
        """Build what the design itself carries from step to step."""
        return ()

    def update_memory(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> object:
        """Refresh what the design carries after a label in `cell`; `state` has the label already."""
        return state.memory

    def update_memory_from_draws(self, state: WeightedState) -> object:
        """Refresh what the design carries after `state.draws` has changed."""
        return state.memory


@partial(engine.jit, static_argnums=0)
def _begun(design: WithReplacement, state: WeightedState) -> WeightedState:
    """Give a fresh campaign the memory of its design and the first proposal."""
    return design._refreshed(replace(state, memory=design.init_memory(state)))


@partial(engine.jit, static_argnums=0)
def _proposed_by(design: WithReplacement, state: WeightedState, labels: LabelDraws) -> WeightedState:
    """Give a campaign the proposal of least expected variance over these draws."""
    power = design.proposal_power(state)

    def add(total, draw):
        pi, weight = draw
        return total + weight * design.proposal_given(state, pi) ** power, None

    total, _ = engine.scan(add, xp.zeros_like(state.draws.proposal), (labels.pi, labels.weights))
    return design._proposing(state, total ** (1 / power))
