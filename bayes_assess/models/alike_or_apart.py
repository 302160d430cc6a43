"""Accuracy of bins of the confidence in groups whose curves may be alike, or each a matter of its own.

`HierarchicalCalibration` takes groups to be alike: one slope, and intercepts around one mean. A group that is odd is
then drawn to the others, and they to it. Here that model and the one in which every group learns from its own labels
alone (`SeparateCurves`) are as probable before any label; the labels decide by Bayes' rule, and the posterior is the
mixture of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.shapes import Array, ArrayLike, Bool, Float, Int
from bayes_assess.models._numerics.calibration_points import DEPARTURES
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration
from bayes_assess.models.separate_curves import SampledOnHost, SeparateCurves

if TYPE_CHECKING:
    from bayes_assess.models.belief import Belief


_DRAWS = 4_000  # that quantiles are taken from
_HALF = np.log(0.5)


@dataclass(frozen=True)
class AlikeOrApart(SampledOnHost):
    """The posterior of all bins, of groups that may be alike; a belief to answer by, on the host.

    Parameters
    ----------
    alike : HierarchicalCalibration
        The posterior if groups are alike, (..., K).
    apart : SeparateCurves
        The posterior if every group is apart.
    probability_apart : (...)
        Posterior probability of the latter.

    Examples
    --------
    >>> prior = HierarchicalCalibration.from_prior(score=[[0.6, 0.9]] * 3, size=[[500, 500]] * 3)
    >>> same, odd = np.tile([[40, 60], [10, 90]], (3, 1)), np.tile([[40, 60], [10, 90]], (3, 1))
    >>> odd[:2] = [[80, 20], [70, 30]]  # the first group
    >>> [bool(AlikeOrApart.of(prior, counts).probability_apart > 0.5) for counts in (same, odd)]
    [False, True]
    """

    alike: HierarchicalCalibration
    apart: SeparateCurves
    probability_apart: Float[np.ndarray, "*batch"]

    @classmethod
    def of(cls, prior: HierarchicalCalibration, counts: Int[Array, "*batch K 2"]) -> AlikeOrApart:
        """Learn counts (..., K, 2) of outcomes of all groups."""
        apart = SeparateCurves.of(prior, counts, range(len(np.asarray(prior.logit_score))))
        alike = prior.update_counts(np.asarray(counts))
        evidence = sum(np.asarray(own.log_evidence()) for own in apart.own.values())
        return cls(alike, apart, special.expit(evidence - np.asarray(alike.log_evidence())))

    @property
    def mean(self) -> Float[np.ndarray, "*batch K"]:
        """Posterior mean of every cell, (..., K)."""
        return self._mixed(lambda belief: belief.mean)

    @property
    def variance(self) -> Float[np.ndarray, "*batch K"]:
        """Posterior variance of every cell, (..., K)."""
        return self._mixed(lambda belief: np.asarray(belief.variance) + np.asarray(belief.mean) ** 2) - self.mean**2

    def update_counts(self, counts: Int[Array, "*batch K 2"]) -> AlikeOrApart:
        """Add counts (..., K, 2) of outcomes."""
        return AlikeOrApart.of(self.apart.prior, self.apart.counts + np.asarray(counts))

    def update_at_mean(self, n: Int[Array, "*batch K"]) -> AlikeOrApart:
        """Imagine `n` more labels of every cell, (..., K), that come back at the posterior mean of that cell."""
        n, mean = np.asarray(n), self.mean
        return self.update_counts(np.stack([n * (1 - mean), n * mean], axis=-1))

    def quantile(self, level: ArrayLike) -> Float[np.ndarray, "*levels_batch K"]:
        """Quantile of every accuracy at one level, (..., K), or at (L,) of them, (L, ..., K): those of draws."""
        with engine.eager():
            return np.quantile(self.sample(engine.random.key(0), _DRAWS), np.asarray(level), axis=0)

    def sample(self, key: PRNGKey, n: int) -> Float[np.ndarray, "S *batch K"]:
        """Draw `n` vectors of accuracies, (n, ..., K)."""
        with engine.eager():
            first, second, which = engine.random.split(key, 3)
            apart = engine.random.uniform(which, (n, *np.shape(self.probability_apart))) < self.probability_apart
        return _drawn_where(
            np.asarray(apart), lambda m: self.apart.sample(first, m), lambda m: np.asarray(self.alike.sample(second, m))
        )

    def draws(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "S *batch K"]:
        """Draw `n` vectors of accuracies by NumPy's generator, (n, ..., K): other ones than `sample`, and sooner."""
        apart = rng.random((n, *np.shape(self.probability_apart))) < self.probability_apart
        return _drawn_where(apart, partial(self.apart.draws, rng), partial(self.alike.draws, rng))

    def uncalibrated(self) -> SeparateCurves:
        """Return the posterior under a prior that takes groups neither to be about calibrated nor to be alike."""
        return self.apart.uncalibrated()

    @property
    def departs(self) -> np.ndarray:
        """Whether a group's own labels leave the greatest departure from the diagonal half as probable, (..., G)."""
        own = self.apart.own.values()
        gains = [np.asarray(belief.uncalibrated().log_evidence()) - np.asarray(belief.log_evidence()) for belief in own]
        return np.stack(gains, axis=-1) + np.log(len(DEPARTURES)) > _HALF  # one of so many, and alone

    def _mixed(self, of: Callable[[Belief], Array]) -> np.ndarray:
        p = np.asarray(self.probability_apart)[..., None]
        return p * np.asarray(of(self.apart)) + (1 - p) * np.asarray(of(self.alike))


def _drawn_where(
    apart: Bool[np.ndarray, "S *batch"],
    draw_apart: Callable[[int], Float[np.ndarray, "M *batch K"]],
    draw_alike: Callable[[int], Float[np.ndarray, "L *batch K"]],
) -> Float[np.ndarray, "S *batch K"]:
    """Draw from one posterior where `apart` says so, and from the other elsewhere: no more than are used."""
    values = np.zeros(())
    for chosen, draw in ((apart, draw_apart), (~apart, draw_alike)):
        most = int(chosen.sum(0).max())
        if most:
            nth = np.maximum(chosen.cumsum(0) - 1, 0)[..., None]
            values = np.where(chosen[..., None], np.take_along_axis(draw(most), nth, 0), values)
    return values
