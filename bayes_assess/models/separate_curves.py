"""Accuracy of bins of the confidence in groups of which some learn from their own labels alone.

`HierarchicalCalibration` takes groups to be alike: their curves have one slope, and intercepts around one mean, so that
few labels draw a group to the others. That serves the errors of many groups; a comparison of two must not lean on it,
since what it asks is whether they are alike. Here each of the two has the model of a single group, with a curve and a
departure of its own; the others are as they were.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.models.belief import pool_shares
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration


class SampledOnHost(ABC):
    """A belief on accuracies whose draws are made on NumPy."""

    on_any_engine: ClassVar[bool] = True

    @abstractmethod
    def sample(self, key: PRNGKey, n: int) -> Float[np.ndarray, "S *batch K"]:
        """Draw `n` vectors of accuracies, (n, ..., K)."""

    def pool_draws(
        self, key: PRNGKey, n: int, counts: Int[Array, "*batch K 2"], sizes: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "S *batch K"]:
        """Draw `n` vectors of the accuracies in a pool of `sizes` items, of which `counts` are labelled."""
        with engine.eager():
            key_theta, key_rest = engine.random.split(key)
        return pool_shares(key_rest, self.sample(key_theta, n), counts, sizes)


@dataclass(frozen=True)
class SeparateCurves(SampledOnHost):
    """The posterior of all bins, those of some groups apart from the others; a belief to answer by, on the host.

    Parameters
    ----------
    prior : HierarchicalCalibration
        Of all groups.
    counts : (..., K, 2) integers
        Labels of every cell: column 0 disagreements, column 1 agreements.
    own : mapping from groups to HierarchicalCalibration
        The posterior of each of these groups alone, (..., B).

    Examples
    --------
    >>> prior = HierarchicalCalibration.from_prior(score=[[0.6, 0.9], [0.6, 0.9]], size=[[50, 50], [50, 50]])
    >>> counts = np.array([[2, 18], [1, 19], [0, 0], [0, 0]])
    >>> apart, together = SeparateCurves.of(prior, counts, [0, 1]), prior.update_counts(counts)
    >>> bool(abs(apart.mean[2] - prior.mean[2]) < 0.01 < together.mean[2] - prior.mean[2])  # by labels of group 0
    True
    """

    prior: HierarchicalCalibration
    counts: Int[Array, "*batch K 2"]
    own: Mapping[int, HierarchicalCalibration]

    @classmethod
    def of(
        cls, prior: HierarchicalCalibration, counts: Int[Array, "*batch K 2"], groups: Sequence[int]
    ) -> SeparateCurves:
        """Let these groups learn from their labels alone, and the others from all of them."""
        x, counts = np.asarray(prior.logit_score), np.asarray(counts)
        agreements, labels = np.asarray(prior.agreements) + counts[..., 1], np.asarray(prior.labels) + counts.sum(-1)
        own = {}
        for g in groups:
            at = slice(g * x.shape[1], (g + 1) * x.shape[1])
            own[g] = HierarchicalCalibration.fit(x[g : g + 1], agreements[..., at], labels[..., at])
        return cls(prior, counts, own)

    @cached_property
    def together(self) -> HierarchicalCalibration:
        """The posterior of all groups together, of which those without one of their own have theirs."""
        return self.prior.update_counts(self.counts)

    @property
    def mean(self) -> Float[np.ndarray, "*batch K"]:
        """Posterior mean of every cell, (..., K)."""
        return self._joined(lambda belief, _: belief.mean)

    @property
    def variance(self) -> Float[np.ndarray, "*batch K"]:
        """Posterior variance of every cell, (..., K)."""
        return self._joined(lambda belief, _: belief.variance)

    def update_counts(self, counts: Int[Array, "*batch K 2"]) -> SeparateCurves:
        """Add counts (..., K, 2) of outcomes."""
        return SeparateCurves.of(self.prior, self.counts + np.asarray(counts), list(self.own))

    def update_at_mean(self, n: Int[Array, "*batch K"]) -> SeparateCurves:
        """Imagine `n` more labels of every cell, (..., K), that come back at the posterior mean of that cell."""
        n, mean = np.asarray(n), self.mean
        return self.update_counts(np.stack([n * (1 - mean), n * mean], axis=-1))

    def quantile(self, level: ArrayLike) -> Float[np.ndarray, "*levels_batch K"]:
        """Quantile of every accuracy at one level, (..., K), or at (L,) of them, (L, ..., K)."""
        return self._joined(lambda belief, _: belief.quantile(level))

    def sample(self, key: PRNGKey, n: int) -> Float[np.ndarray, "S *batch K"]:
        """Draw `n` vectors of accuracies, (n, ..., K)."""
        with engine.eager():
            keys = [engine.random.fold_in(key, i) for i in range(len(self.own) + 1)]
        return self._joined(lambda belief, i: belief.sample(keys[i], n))

    def draws(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "S *batch K"]:
        """Draw `n` vectors of accuracies by NumPy's generator, (n, ..., K), 0 for groups that are not apart."""
        values = np.zeros((n, *self.counts.shape[:-1]))
        for g, belief in self.own.items():
            values[..., self._cells(g)] = belief.draws(rng, n)
        return values

    def uncalibrated(self) -> SeparateCurves:
        """Return the posterior under a prior that does not take groups to be about calibrated."""
        return replace(self, own={g: belief.uncalibrated() for g, belief in self.own.items()})

    def _joined(self, of: Callable[[HierarchicalCalibration, int], Array]) -> np.ndarray:
        """Put together values of groups with a belief of their own, and those of all for the others."""
        own = {g: np.asarray(of(belief, i)) for i, (g, belief) in enumerate(self.own.items(), 1)}
        n_groups = np.shape(self.prior.logit_score)[0]
        if len(own) == n_groups:
            return np.concatenate([own[g] for g in range(n_groups)], axis=-1)
        values = np.array(of(self.together, 0))
        for g, value in own.items():
            values[..., self._cells(g)] = value
        return values

    def _cells(self, group: int) -> slice:
        n_bins = np.shape(self.prior.logit_score)[-1]
        return slice(group * n_bins, (group + 1) * n_bins)
