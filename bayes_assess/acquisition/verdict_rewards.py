"""What one label of a group is worth to verdicts: which of two groups, or of all pairs, is more accurate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition._after_label import after_label
from bayes_assess.acquisition.rewards import COUNTS, Reward


@partial(register_dataclass, data_fields=["arms", "rope"], meta_fields=COUNTS)
@dataclass(frozen=True)
class ExpectedLambda(Reward):
    """Compare two groups: the probability of the verdict that is to be expected after the label ([ABA] "Comparison").

    The difference is taken as normal with the exact posterior moments after the label. `beta_expected_lambda` has the
    probability of independent Beta distributions exactly; to choose by it finds verdicts with as many labels.

    Parameters
    ----------
    arms : (2,) integers
        The groups.
    rope : scalar
        Half-width of the region of practical equivalence.
    """

    arms: Int[Array, " 2"] | Int[np.ndarray, " 2"]
    rope: float
    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Compute the expected lambda of the two groups; 0 for the others."""
        two = theta[..., self.arms]
        now = belief.mean[..., self.arms], belief.variance[..., self.arms]
        others = now[0][..., ::-1], now[1][..., ::-1]
        wrong, right = (
            _verdict_probability(mean[..., self.arms], variance[..., self.arms], *others, self.rope)
            for mean, variance in after_label(belief)
        )
        value = (1 - two) * wrong + two * right
        return engine.at(xp.zeros(theta.shape))[..., self.arms].set(value)


@partial(register_dataclass, data_fields=["rope"], meta_fields=COUNTS)
@dataclass(frozen=True)
class PairwiseLambda(Reward):
    """Compare all pairs of groups: what the label adds to the probabilities of all their verdicts.

    Differences are taken as normal with the exact posterior moments, before the label and after it.
    """

    rope: float
    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Sum over the pairs of a group of the lambda that its label is expected to add."""
        if engine.is_eager():
            return self._of_sums(theta, belief, weight)
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

    def _of_sums(self, theta, belief, weight):
        """Do the same on NumPy, where draws meet sums over pairs in the place of the pairs: the gain is linear in them.

        Campaigns come one by one, so that what their pairs need stays in the processor's cache.
        """
        own = belief.mean, belief.variance
        pairs = (weight > 0)[:, None] & (weight > 0)[None, :] & ~np.eye(len(weight), dtype=bool)
        moments = [np.reshape(part, (-1, len(weight))) for pair in (own, *after_label(belief)) for part in pair]
        sums = np.empty((3, *moments[0].shape))
        for i, rows in enumerate(zip(*moments, strict=True)):
            for kind in range(3):
                mean, variance = rows[2 * kind : 2 * kind + 2]
                verdict = _verdict_probability(mean[:, None], variance[:, None], rows[0], rows[1], self.rope)
                sums[kind, i] = np.where(pairs, verdict, 0.0).sum(-1)
        now, wrong, right = (part.reshape(np.shape(own[0])) for part in sums)
        return theta * right + (1 - theta) * wrong - now


def _verdict_probability(mean, variance, other_mean, other_variance, rope) -> Float[Array, "*shape"]:
    """Lambda of differences that are normal: the greatest of the masses below, within and above the rope."""
    difference = mean - other_mean
    # Draws may have no spread at all; then the difference lies surely on one side.
    scale = xp.maximum(xp.sqrt(variance + other_variance), 1e-9)
    below, above = engine.ndtr((-rope - difference) / scale), engine.ndtr((difference - rope) / scale)
    return xp.maximum(xp.maximum(below, above), 1 - below - above)
