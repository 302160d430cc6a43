"""OASIS: stratified adaptive importance sampling of F-measures ([OASIS])."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition.importance import f_measure_masses
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import WeightedState
from bayes_assess.designs._with_replacement import WithReplacement
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import weighted_value
from bayes_assess.measures.cell_measure import CellMeasure


class _Strata(NamedTuple):
    """What OASIS knows of its strata."""

    size: Float[Array, " B"]
    predicted: Float[Array, " B"]  # share of predicted positives
    theta: Float[Array, " B"]  # what scores say of the share of positive labels
    positives: Int[Array, " B"]  # labelled positive
    labelled: Int[Array, " B"]


@dataclass(frozen=True)
class Oasis(Stratifying, WithReplacement):
    """Strata of the scores, one Beta posterior each, and the best proposal over strata for an F-measure ([OASIS]).

    Items are drawn alike within a stratum. An item that is drawn again counts in the estimate, but not again in the
    posterior.

    Parameters
    ----------
    n_strata : int
        Strata, at most.
    kind : str
        How the scores are cut, see `Strata`.
    strata : Strata or FeatureStrata, optional
        Other strata, in the place of `n_strata` and `kind`.
    epsilon : float in (0, 1]
        Share of draws from strata in proportion to their sizes, so that every item can be drawn.
    strength : float
        Worth in labels of the prior of every stratum.
    decay : bool
        Divide that worth by the number of labels of the stratum, as published. (No posterior does.)

    Examples
    --------
    >>> Oasis(n_strata=30).name
    'oasis'
    """

    epsilon: float = 1e-3
    strength: float = 2.0
    decay: bool = True

    name: ClassVar[str] = "oasis"
    needs_f_measure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.strength) and self.strength > 0):
            raise DesignError(f"The strength of oasis is a positive number of labels; found {show(self.strength)}.")

    def init_memory(self, state: WeightedState[_Strata]) -> _Strata:
        """Sum up the strata."""
        measure = state.measure
        size = measure.by_block(measure.size.astype(xp.float64))
        per_item = xp.maximum(size, 1)
        nothing = xp.zeros(measure.n_blocks, xp.int64)
        return _Strata(
            size=size,
            predicted=measure.by_block(measure.size * measure.predicted) / per_item,
            theta=measure.by_block(measure.size * state.prior[:, measure.positive]) / per_item,
            positives=nothing,
            labelled=nothing,
        )

    def update_memory(self, state: WeightedState[_Strata], cell: Int[Array, ""], outcome: Int[Array, ""]) -> _Strata:
        """Count a label."""
        memory = state.memory
        block = state.measure.block[cell]
        return memory._replace(
            positives=engine.at(memory.positives)[block].add(outcome == state.measure.positive),
            labelled=engine.at(memory.labelled)[block].add(1),
        )

    def posterior_mean(self, memory: _Strata) -> Float[Array, " B"]:
        """Compute the share of positive labels in every stratum."""
        strength = self.strength / xp.maximum(memory.labelled, 1) if self.decay else self.strength
        return (strength * memory.theta + memory.positives) / (strength + memory.labelled)

    def belief(self, state: WeightedState[_Strata]) -> Float[Array, "K C"]:
        """Return the posterior mean of every stratum; what is not positive is shared out as the scores do."""
        measure: CellMeasure = state.measure
        theta = self.posterior_mean(state.memory)[measure.block][:, None]
        positive = xp.arange(measure.n_outcomes) == measure.positive
        rest = xp.where(positive, 0, state.prior)
        total = rest.sum(-1, keepdims=True)
        rest = xp.where(total > 0, rest / xp.where(total > 0, total, 1), ~positive / max(measure.n_outcomes - 1, 1))
        return xp.where(positive, theta, (1 - theta) * rest)

    def propose(self, state: WeightedState[_Strata]) -> Float[Array, "K C+1"]:
        """Propose the items of every stratum alike."""
        measure, memory = state.measure, state.memory
        assert measure.f_alpha is not None  # questions see to it
        value = weighted_value(measure, state.draws, state.counts, self.masses(state), state.complete)[0][0]
        share = memory.size / memory.size.sum()
        v = f_measure_masses(share, memory.predicted, self.posterior_mean(memory), value, measure.f_alpha)
        total = v.sum()
        stratum = xp.where(total > 0, (1 - self.epsilon) * v / xp.where(total > 0, total, 1), 0) + self.epsilon * share
        item = stratum / xp.maximum(memory.size, 1)
        return xp.broadcast_to(item[measure.block][:, None], state.draws.proposal.shape)
