"""Accuracy of parts of groups: what a group's parts have in common is learned, and how much they differ.

Plates ``group`` (K) and ``part`` (J), every part in one group: m_k ~ Beta(nu mu_k, nu (1 - mu_k)) with (mu, nu) as of
`HierarchicalAccuracy`, and theta_j ~ Beta(s m_k(j), s (1 - m_k(j))); log s is normal, as log nu is, and says how alike
the parts of one group are. Plate ``label`` (N): z_i ~ Bernoulli(theta_j(i)), 1 when the *label* of item i agrees with
its prediction.

Given (mu, nu, s) groups are independent, and with r_j agreements in n_j labels

    p(labels of group k | mu, nu, s) = int Beta(m; nu mu_k, nu (1 - mu_k)) prod_j BB(r_j; n_j, s m, s (1 - m)) dm,

BB being the beta-binomial probability. The integral is a sum over a grid of m. The points that carry (mu, nu) in
`HierarchicalAccuracy` are kept, and weighted anew by this in the place of BB(r_k; n_k, nu mu_k, nu (1 - mu_k)).

Parts lie in two kinds of groups, such as sites and predicted classes, and which of them are alike is learned, too: the
probability of all labels under either says how probable it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.models._numerics.regression_points import LOG_STRENGTH
from bayes_assess.models.hierarchical_accuracy import HierarchicalAccuracy

_SPREAD = np.linspace(-2.75, 2.75, 12)  # of log s, in prior standard deviations
_LOG_PRIOR = np.log(special.softmax(-0.5 * _SPREAD**2))
_LOGIT = np.linspace(-9.0, 9.0, 145)  # of m
_M, _ONE_LESS = special.expit(_LOGIT), special.expit(-_LOGIT)
_AT_ONCE = 2000  # parts evaluated at a time


class Alike(NamedTuple):
    """Which parts are alike: those of one group.

    Attributes
    ----------
    prior : HierarchicalAccuracy
        Of the K groups, before any label.
    group : (J,) integers
        Group of every part.
    strength_prior : (2,)
        Mean and standard deviation of log s.
    """

    prior: HierarchicalAccuracy
    group: Int[np.ndarray, " J"]
    strength_prior: tuple[float, float] = LOG_STRENGTH


def part_draws(
    ways: Sequence[Alike],
    agreements: Int[np.ndarray, " J"],
    labels: Int[np.ndarray, " J"],
    rng: np.random.Generator,
    n: int,
) -> Float[np.ndarray, "S J"]:
    """Draw the accuracies of all parts from their joint posterior.

    Parameters
    ----------
    ways : sequence of Alike
        Ways in which they may be alike, as probable as each other before any label.
    agreements, labels : (J,) integers
        Labels of every part that agree with the prediction, and labels in all.
    rng : Generator
    n : int
        S.

    Examples
    --------
    >>> by_row, by_column = (Alike(HierarchicalAccuracy.from_prior(n_groups=2), np.array(group))
    ...                      for group in ([0, 0, 1, 1], [0, 1, 0, 1]))
    >>> agreements, labels, rng = np.array([20, 0, 4, 0]), np.array([20, 0, 20, 0]), np.random.default_rng(0)
    >>> theta = part_draws([by_row, by_column], agreements, labels, rng, 500)
    >>> bool(theta[:, 1].mean() > theta[:, 3].mean() + 0.1)  # parts without labels are like those beside them
    True
    """
    found = [_Weighted.by_labels(way, agreements, labels) for way in ways]
    odds = special.softmax([each.log_evidence for each in found])
    drawn = [each.draws(rng, int(times)) for each, times in zip(found, rng.multinomial(n, odds), strict=True)]
    return rng.permutation(np.concatenate(drawn))


class _Weighted(NamedTuple):
    """Points (mu, nu, s) of one way, weighted by the labels."""

    group: Int[np.ndarray, " J"]
    agreements: Int[np.ndarray, " J"]
    labels: Int[np.ndarray, " J"]
    a: Float[np.ndarray, "H K"]  # of the prior of m
    b: Float[np.ndarray, "H K"]
    likeness: Float[np.ndarray, " L"]  # values of s
    log_likelihood: Float[np.ndarray, "L K grid"]
    log_weight: Float[np.ndarray, "H L"]

    @classmethod
    def by_labels(cls, way: Alike, agreements: Int[np.ndarray, " J"], labels: Int[np.ndarray, " J"]) -> _Weighted:
        n_groups = len(way.prior.covariates)
        r, total = (np.bincount(way.group, values, n_groups) for values in (agreements, labels))
        seen = way.prior.update(r, total)
        a, b = (np.asarray(part) for part in seen.parts)  # (H, K), labels included
        flat_a, flat_b = a - r, b - (total - r)
        likeness = np.exp(way.strength_prior[0] + way.strength_prior[1] * _SPREAD)
        of_strengths = (_labels_on_grid(s, way.group, agreements, labels, n_groups) for s in likeness)
        log_likelihood = np.stack(list(of_strengths))
        pooled = special.betaln(a, b) - special.betaln(flat_a, flat_b)
        log_weight = np.empty((len(a), len(likeness)))
        for h in range(len(a)):
            evidence = special.logsumexp(_prior_on_grid(flat_a[h], flat_b[h]) + log_likelihood, axis=-1)  # (s, K)
            log_weight[h] = np.asarray(seen.log_weight)[h] + _LOG_PRIOR + (evidence - pooled[h]).sum(-1)
        return cls(way.group, agreements, labels, flat_a, flat_b, likeness, log_likelihood, log_weight)

    @property
    def log_evidence(self) -> float:
        """Log probability of the labels, part by part, everything integrated out."""
        return float(special.logsumexp(self.log_weight) - np.log(len(self.log_weight)))

    def draws(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n J"]:
        """Draw the accuracies of the parts, in the order of the points."""
        weight, n_groups = special.softmax(self.log_weight.ravel()), self.a.shape[1]
        point, times = np.unique(rng.choice(len(weight), n, p=weight), return_counts=True)
        draws = [np.empty((0, len(self.group)))]
        for h, k, count in zip(*np.divmod(point, len(self.likeness)), times, strict=True):
            on_grid = _prior_on_grid(self.a[h], self.b[h]) + self.log_likelihood[k]
            upto = np.cumsum(special.softmax(on_grid, axis=-1), axis=-1)
            place = (rng.random((count, n_groups, 1)) * upto[:, -1:] > upto).sum(-1)
            first, second = (self.likeness[k] * m[place][:, self.group] for m in (_M, _ONE_LESS))
            draws.append(rng.beta(first + self.agreements, second + self.labels - self.agreements))
        return np.concatenate(draws)


def _prior_on_grid(a: Float[np.ndarray, " K"], b: Float[np.ndarray, " K"]) -> Float[np.ndarray, "K grid"]:
    """Log prior probability of every value of m, up to what the spacing of the grid leaves out."""
    a, b = a[:, None], b[:, None]
    density = a * np.log(_M) + b * np.log(_ONE_LESS) - special.betaln(a, b)  # of the logit of m
    return density + np.log(_LOGIT[1] - _LOGIT[0])


def _labels_on_grid(
    s: float,
    group: Int[np.ndarray, " C"],
    agreements: Float[np.ndarray, " C"],
    labels: Float[np.ndarray, " C"],
    n_groups: int,
) -> Float[np.ndarray, "K grid"]:
    """Log probability of every group's labels by its m, where s is known."""
    log_likelihood = np.zeros((n_groups, len(_M)))
    some = np.flatnonzero(labels)
    first, second = s * _M, s * _ONE_LESS
    for start in range(0, len(some), _AT_ONCE):
        part = some[start : start + _AT_ONCE]
        r, rest = agreements[part, None], (labels - agreements)[part, None]
        np.add.at(log_likelihood, group[part], special.betaln(first + r, second + rest) - special.betaln(first, second))
    return log_likelihood
