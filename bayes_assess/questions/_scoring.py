"""Scores of simulated campaigns that know all labels."""

from __future__ import annotations

from bayes_assess._tools.engine import xlogy
from bayes_assess._tools.lazy import jnp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition.importance import divergence, optimal_proposal
from bayes_assess.designs import WeightedState


def proposal_divergence(state: WeightedState, left: Int[Array, "K C"]) -> Float[Array, ""]:
    """Compute the divergence of a campaign's proposal from the best one ([NH] Proposition 1 and Figure 2).

    Parameters
    ----------
    state : WeightedState
    left : (K, C) integers
        Unlabelled items of every cell by their true label; where labels are draws from p(y | x), expected numbers of
        all items.
    """
    if state.measure.stochastic:
        return _divergence_of_draws(state, left)
    full = state.counts + left
    best = optimal_proposal(state.measure.norms(state.measure.risk(full / state.n_items)), full)
    return divergence(best, state.draws.proposal, state.counts, full)


def _divergence_of_draws(state: WeightedState, expected: Float[Array, "K C"]) -> Float[Array, ""]:
    """Compute KL(q* || q) for q* prop. to (E ||Dg l||^2)^(1/2) over the labels of every cell."""
    measure, size = state.measure, state.measure.size
    squares = measure.norms(measure.risk(expected / state.n_items)) ** 2
    best = jnp.sqrt((squares * expected).sum(-1) / jnp.maximum(size, 1))
    best = best / jnp.maximum((size * best).sum(), jnp.finfo(jnp.float64).tiny)
    return jnp.where(size > 0, size * (xlogy(best, best) - xlogy(best, state.draws.proposal[:, -1])), 0).sum()
