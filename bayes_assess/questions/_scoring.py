"""Scores of simulated campaigns that know all labels."""

from __future__ import annotations

from jaxtyping import Array, Float, Int

from bayes_assess.acquisition.importance import divergence, optimal_proposal
from bayes_assess.designs import WeightedState


def proposal_divergence(state: WeightedState, left: Int[Array, "K C"]) -> Float[Array, ""]:
    """Compute the divergence of a campaign's proposal from the best one ([NH] Proposition 1 and Figure 2).

    Parameters
    ----------
    state : WeightedState
    left : (K, C) integers
        Unlabelled items of every cell by their true label.
    """
    full = state.counts + left
    best = optimal_proposal(state.measure.norms(state.measure.risk(full / state.n_items)), full)
    return divergence(best, state.draws.proposal, state.counts, full)
