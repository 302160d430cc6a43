"""What one label of a group is worth to verdicts: which of two groups, or of all pairs, is more accurate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition._after_label import after_label
from bayes_assess.acquisition._rope_moves import rope_moves
from bayes_assess.acquisition.equivalence import sample_expected_lambda
from bayes_assess.acquisition.rewards import COUNTS, Reward
from bayes_assess.models.belief import beta_marginals
from bayes_assess.models.sampled_belief import as_draws


@partial(register_dataclass, data_fields=["arms", "rope", "masses"], meta_fields=COUNTS)
@dataclass(frozen=True)
class ExpectedLambda(Reward):
    """Compare two groups: the probability of the verdict that is to be expected after the label.

    Parameters
    ----------
    arms : (2,) integers
        The groups.
    rope : scalar
        Half-width of the region of practical equivalence.
    masses : (3,), optional
        Posterior masses of the three events; labels move them along. None where the belief is a mixture, whose parts
        have masses of their own: differences are then taken as normal, as `PairwiseLambda` takes them.
    """

    arms: Int[Array, " 2"] | Int[np.ndarray, " 2"]
    rope: float
    masses: Float[Array, " 3"] | Float[np.ndarray, " 3"] | None
    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Compute the expected lambda of the two groups; 0 for the others."""
        two = theta[..., self.arms]
        marginals = beta_marginals(belief)
        if self.masses is None:
            now = belief.mean[..., self.arms], belief.variance[..., self.arms]
            other = now[0][..., ::-1], now[1][..., ::-1]
            wrong, right = (
                _verdict_probability(m[..., self.arms], v[..., self.arms], *other, self.rope)
                for m, v in after_label(belief)
            )
            value = (1 - two) * wrong + two * right
        elif marginals is None:
            sampled = as_draws(belief)
            value = sample_expected_lambda(two, xp.asarray(sampled.draws)[:, self.arms], self.rope, sampled.importance)
        else:
            # Pending items have narrowed the belief but not moved the masses: they cancel between the two groups.
            a, b = (xp.asarray(parameter)[self.arms] for parameter in marginals)
            after = (self.masses + rope_moves(a, b, self.rope)).max(-1)
            value = (1 - two) * after[:, 0] + two * after[:, 1]
        return engine.at(xp.zeros(theta.shape))[..., self.arms].set(value)

    def by_moments(self) -> ExpectedLambda:
        """Return the reward with differences taken as normal."""
        return replace(self, masses=None)

    def updated(self, posterior, cell, outcome):
        """Move the masses by what the label has added."""
        marginals = beta_marginals(posterior)
        if marginals is None or self.masses is None:
            return self
        own = (self.arms == cell).astype(xp.float64)
        a, b = (xp.asarray(parameter)[self.arms] for parameter in marginals)
        moves = rope_moves(a - own * outcome, b - own * (1 - outcome), self.rope)
        return replace(self, masses=self.masses + (own[:, None] * moves[:, outcome]).sum(0))


@partial(register_dataclass, data_fields=["rope"], meta_fields=COUNTS)
@dataclass(frozen=True)
class PairwiseLambda(Reward):
    """Compare all pairs of groups: what the label adds to the probabilities of all their verdicts.

    Differences are taken as normal with the exact posterior moments, before the label and after it: near enough to
    say where to look, and G^2 numbers instead of as many quadratures.
    """

    rope: float
    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Sum over the pairs of a group of the lambda that its label is expected to add."""
        own = belief.mean, belief.variance
        others = own[0][..., None, :], own[1][..., None, :]
        now, wrong, right = (
            _verdict_probability(mean[..., None], variance[..., None], *others, self.rope)
            for mean, variance in (own, *after_label(belief))
        )
        used = weight > 0
        pairs = used[:, None] & used[None, :] & ~xp.eye(len(weight), dtype=bool)
        gain = theta[..., None] * right + (1 - theta[..., None]) * wrong - now
        return xp.where(pairs, gain, 0.0).sum(-1)


def _verdict_probability(mean, variance, other_mean, other_variance, rope) -> Float[Array, "*shape"]:
    """Lambda of differences that are normal: the greatest of the masses below, within and above the rope."""
    difference = mean - other_mean
    # Draws may have no spread at all; then the difference lies surely on one side.
    scale = xp.maximum(xp.sqrt(variance + other_variance), 1e-9)
    below, above = engine.ndtr((-rope - difference) / scale), engine.ndtr((difference - rope) / scale)
    return xp.maximum(xp.maximum(below, above), 1 - below - above)
