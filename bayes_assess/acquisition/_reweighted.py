"""Posterior draws, weighted anew as if an outcome had been seen."""

from __future__ import annotations

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float


def draw_weights(importance: Float[Array, " S"] | None, n_draws: int) -> Float[Array, " S"]:
    """Return the weights of draws as floats, 1 each where none are given."""
    return xp.ones(n_draws) if importance is None else xp.asarray(importance, xp.float64)


def weights_after(likelihood: Float[Array, "S J"]) -> Float[Array, "S J"]:
    """Return the weights of draws after every outcome, which sum to 1, from weight times likelihood.

    Where no draw leaves an outcome any chance, its weight in a reward is zero; any finite value serves, and it is 0.
    """
    total = likelihood.sum(0)
    return likelihood / xp.where(total > 0, total, 1.0)
