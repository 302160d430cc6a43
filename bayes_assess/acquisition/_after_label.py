"""Moments of groups' accuracies after one more label, under any belief."""

from __future__ import annotations

from collections.abc import Sequence

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models.belief import Belief, beta_marginals
from bayes_assess.models.sampled_belief import as_draws


def after_label(belief: Belief) -> Sequence[tuple[Float[Array, "*batch K"], Float[Array, "*batch K"]]]:
    """Compute mean and variance of every group after one more label of it: if that disagrees, and if it agrees."""
    marginals = beta_marginals(belief)
    if marginals is not None:
        a, b = marginals
        return _beta_moments(a, b + 1), _beta_moments(a + 1, b)
    closed = getattr(belief, "after_label", None)
    if closed is not None:
        return closed
    sampled = as_draws(belief)
    draws, importance = xp.asarray(sampled.draws), sampled.importance
    return tuple(_sample_moments(draws, importance[:, None] * chance) for chance in (1 - draws, draws))


def _sample_moments(
    draws: Float[Array, "S G"], weight: Float[Array, "S G"]
) -> tuple[Float[Array, " G"], Float[Array, " G"]]:
    """Compute mean and variance of weighted draws; equal weights where no draw has any."""
    total = weight.sum(0)
    weight = xp.where(total > 0, weight / xp.where(total > 0, total, 1.0), 1 / len(draws))
    mean = (weight * draws).sum(0)
    return mean, (weight * (draws - mean) ** 2).sum(0)


def _beta_moments(a: Float[Array, " G"], b: Float[Array, " G"]) -> tuple[Float[Array, " G"], Float[Array, " G"]]:
    total = a + b
    return a / total, a * b / (total * total * (total + 1))
