r"""Labels that errors have more often, or more seldom, than is expected of them, whatever was predicted.

A classifier that was fitted to as many items of every class expects rare classes far too often, wherever it errs.
Beside the hypotheses h of `error_labels`, by which labels of one predicted class tell of no other, every label has a
factor that all predicted classes share:

.. math::
    a \sim \text{uniform on SHAPES}, \quad w / C \sim \mathrm{Dirichlet}(a, \dots, a), \quad
    \theta_r \sim \mathrm{Dirichlet}\Bigl(\kappa_h \frac{s_{hr} w}{s_{hr} \cdot w}\Bigr)

where s is what a hypothesis expects, kappa how many labels that counts as, and an infinite shape makes all factors 1.
Given h and a, factors are about in proportion to Gamma(a + n_c, a + e_c) variables, with n_c errors that have the label
and e_c that were expected to, of rows that count as far as their labels are independent. They are drawn from that,
weighed by the exact probability of the labels of all errors, and drawn anew by these weights.

Shapes: draws S, hypotheses H, predicted classes (rows) R, labels C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import quotient
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.models.program_items import added, items_of

SHAPES = (np.inf, 2.0, 0.5)
"""Of the distribution of factors, equally probable before any label (`benchmarks/study_label_factors.py`)."""

_LEAST = 1e-30  # factor
_AT_RANDOM = 0.1  # of the shapes that are drawn
_TEMPERED = (1.0, 0.4, 0.1)  # shares of the labels that factors are drawn by


def program(
    share: Float[Array, "R C"],
    strength: float,
    shape: float,
    row: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
) -> None:
    """Run the generative program of the labels of wrong predictions under one hypothesis, with factors of one shape.

    Parameters
    ----------
    share : (R, C)
        Expected distributions of labels; 0 where the label is the prediction.
    strength : float
        Labels that they count as.
    shape : float
        Of the Dirichlet distribution of the factors.
    row : (N,) integers
        Predicted class of every item.
    labels : (N,) integers, optional
        Left out, they are simulated.
    """
    n_rows, n_labels = share.shape
    place = xp.argsort(xp.asarray(share) == 0, axis=-1, stable=True)[:, :-1]  # of the labels that errors have
    factor = n_labels * numpyro.sample("factor_share", dist.Dirichlet(xp.full(n_labels, shape)))
    numpyro.deterministic("factor", factor)
    expected = xp.take_along_axis(xp.asarray(share) * factor, place, axis=-1)
    with numpyro.plate("predicted", n_rows):
        shares = dist.Dirichlet(strength * expected / expected.sum(-1, keepdims=True))
        of_others = xp.asarray(numpyro.sample("shares_of_others", shares))
    theta = engine.at(xp.zeros((n_rows, n_labels)))[xp.arange(n_rows)[:, None], place].set(of_others)
    numpyro.deterministic("theta", theta)
    with numpyro.plate("item", len(row)):
        numpyro.sample("label", dist.CategoricalProbs(theta[row]), obs=labels)


class Factors(NamedTuple):
    """Draws of the factors, whose mean over the labels is 1, and of the hypotheses that they go with.

    Attributes
    ----------
    hypothesis : (S,) integers
    factor : (S, C)
    """

    hypothesis: Int[np.ndarray, " S"]
    factor: Float[np.ndarray, "S C"]


@dataclass(frozen=True)
class LabelFactors:
    """Belief on the factors of labels.

    Attributes
    ----------
    base : (H, R, C)
        Parameters of the Dirichlet distributions of every hypothesis where all factors are 1.
    counts : (R, C)
        Labelled items whose prediction is wrong.
    """

    base: Float[Array, "H R C"]
    counts: Float[Array, "R C"]

    def program_arguments(
        self, counts: Int[Array, "R C"] | None = None, hypothesis: int = 0, shape: float = SHAPES[-1]
    ) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief under one hypothesis and shape.

        Parameters
        ----------
        counts : (R, C) integers, optional
            Further labels of items whose prediction is wrong, predicted classes in rows.
        hypothesis : int
        shape : float
        """
        told = added(np.asarray(self.counts, np.float64), counts)
        row, labels = items_of(told, told.shape)
        base = np.asarray(self.base, np.float64)[hypothesis]
        strength = base.sum(1)
        return {
            "share": base / strength[:, None],
            "strength": float(strength[0]),
            "shape": shape,
            "row": row,
            "labels": labels,
        }

    def drawn(
        self, rng: np.random.Generator, hypothesis: Int[np.ndarray, " S"], shapes: tuple[float, ...] | None = None
    ) -> Factors:
        """Draw the factors of all labels, given the labels of errors.

        Parameters
        ----------
        rng : Generator
        hypothesis : (S,) integers
            Draws from the posterior where all factors are 1.
        shapes : floats, optional
            Of the Dirichlet distributions that are possible, equally probable; `SHAPES` by default.

        Examples
        --------
        >>> base = np.array([[[0.0, 2.0, 2.0], [2.0, 0.0, 2.0], [2.0, 2.0, 0.0]]])
        >>> counts = np.array([[0, 0, 20], [0, 0, 20], [3, 3, 0]])
        >>> drawn = LabelFactors(base, counts).drawn(np.random.default_rng(0), np.zeros(4000, int))
        >>> bool(drawn.factor[:, 2].mean() > 2 * drawn.factor[:, 0].mean())
        True
        """
        counts, base = (np.asarray(part, np.float64) for part in (self.counts, self.base))
        strength, n = base.sum(-1), counts.sum(1)  # (H, R), (R,)
        share = quotient(base, strength[..., None])
        independent = quotient(1 + strength, n + strength)  # share of the labels of a row
        found = np.einsum("hr,rc->hc", independent, counts)[hypothesis]
        expected = np.einsum("hr,hrc->hc", independent * n, share)[hypothesis]
        shape, log_weight = _drawn_shapes(rng, found, expected, np.array(SHAPES if shapes is None else shapes))
        finite = np.flatnonzero(np.isfinite(shape))
        factor = np.ones((len(hypothesis), counts.shape[1]))
        factor[finite], of_density = _drawn_factors(rng, shape[finite, None], found[finite], expected[finite])
        log_weight[finite] += of_density
        log_weight += _log_probability(share, strength, counts, hypothesis, factor)
        weight = np.exp(log_weight - log_weight.max())
        chosen = rng.permutation(_systematic(rng, weight / weight.sum()))
        return Factors(hypothesis[chosen], factor[chosen])


def _drawn_shapes(
    rng: np.random.Generator,
    found: Float[np.ndarray, "S C"],
    expected: Float[np.ndarray, "S C"],
    shapes: Float[np.ndarray, " A"],
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Draw a shape for every draw of factors, these summed out, and minus the logarithm of what it is drawn by.

    Labels are taken for Poisson numbers, of which factors have Gamma posteriors.
    """
    score = np.empty((len(found), len(shapes)))
    for i, a in enumerate(shapes):
        if np.isinf(a):
            score[:, i] = -expected.sum(1)
        else:
            of_label = special.gammaln(a + found) - special.gammaln(a) + a * np.log(a)
            score[:, i] = (of_label - (a + found) * np.log(a + expected)).sum(1)
    probability = (1 - _AT_RANDOM) * special.softmax(score, axis=1) + _AT_RANDOM / len(shapes)
    at = (rng.random(len(found))[:, None] > np.cumsum(probability, axis=1)[:, :-1]).sum(1)
    return shapes[at], -np.log(probability[np.arange(len(at)), at])


def _drawn_factors(
    rng: np.random.Generator,
    shape: Float[np.ndarray, "S 1"],
    found: Float[np.ndarray, "S C"],
    expected: Float[np.ndarray, "S C"],
) -> tuple[Float[np.ndarray, "S C"], Float[np.ndarray, " S"]]:
    """Draw factors whose mean is 1, with the logarithms of their prior density over that by which they are drawn.

    Some are drawn as if fewer labels were known, since labels of a row are less independent where a factor is small.
    """
    n_labels = found.shape[1]
    part = rng.choice(_TEMPERED, (len(found), 1))
    log_gamma = np.log(np.maximum(rng.standard_gamma(shape + part * found), _LEAST)) - np.log(shape + part * expected)
    log_share = log_gamma - special.logsumexp(log_gamma, axis=1, keepdims=True)
    prior = special.gammaln(n_labels * shape[:, 0]) - n_labels * special.gammaln(shape[:, 0])
    prior += ((shape - 1) * log_share).sum(1)
    by = [_log_density(log_share, shape + part * found, shape + part * expected) for part in _TEMPERED]
    return n_labels * np.exp(log_share), prior - special.logsumexp(by, axis=0) + np.log(len(_TEMPERED))


def _log_density(
    log_share: Float[np.ndarray, "S C"], of_label: Float[np.ndarray, "S C"], rate: Float[np.ndarray, "S C"]
) -> Float[np.ndarray, " S"]:
    """Logarithm of the density of shares that are in proportion to Gamma variables of these shapes and rates."""
    total = of_label.sum(1)
    by_label = of_label * np.log(rate) + (of_label - 1) * log_share - special.gammaln(of_label)
    return special.gammaln(total) + by_label.sum(1) - total * special.logsumexp(log_share, b=rate, axis=1)


def _log_probability(
    share: Float[np.ndarray, "H R C"],
    strength: Float[np.ndarray, "H R"],
    counts: Float[np.ndarray, "R C"],
    hypothesis: Int[np.ndarray, " S"],
    factor: Float[np.ndarray, "S C"],
) -> Float[np.ndarray, " S"]:
    """Logarithm of the probability of the labels over what it is where all factors are 1."""
    row, label = np.nonzero(counts)
    told, total = counts[row, label], np.zeros(len(factor))
    if not len(row):
        return total
    rows, of_row = np.unique(row, return_inverse=True)
    for h in np.unique(hypothesis):
        some = np.flatnonzero(hypothesis == h)
        normal = factor[some] @ share[h, rows].T
        plain = strength[h, row] * share[h, row, label]
        alpha = plain * factor[some][:, label] / normal[:, of_row]
        total[some] = (log_rising(alpha, told) - log_rising(plain, told)).sum(1)
    return total


def log_rising(alpha: Float[np.ndarray, "*s n"], told: Float[np.ndarray, " n"]) -> Float[np.ndarray, "*s n"]:
    """Logarithm of Gamma(alpha + n) over Gamma(alpha), on the host."""
    alpha = np.maximum(alpha, _LEAST)
    return special.gammaln(alpha + told) - special.gammaln(alpha)


def _systematic(rng: np.random.Generator, weight: Float[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
    """Draw as many places as there are by weights, at evenly spaced quantiles."""
    n = len(weight)
    return np.minimum(np.searchsorted(np.cumsum(weight), (np.arange(n) + rng.random()) / n), n - 1)
