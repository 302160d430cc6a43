r"""Labels on an ordinal scale, given ratings of a judge who may be biased, in every group of items in a way of its own.

Cells hold items of one rating (and about one score) of one group; x_cj is the rating expected there: by the judge, or
by the j-th of several opinions, such as those of two judges and the mean of both, of which one is worth most. A label
is a normal variable cut at the middles between neighbours, around a line in x, and cells scatter about that:

    t = (a_0, tau) and h = (j, b, s, kappa) on grids,   a_g ~ Normal(a_0, tau) on a grid, in the plate ``group`` (G)
    mu_c = m + a_g(c) + b (x_cj - m),   m = (C - 1) / 2
    q_c(y) = (1 - e) [Phi((y + 1/2 - mu_c) / s) - Phi((y - 1/2 - mu_c) / s)] + e / C
    theta_c ~ Dirichlet(kappa q_c)  in the plate ``cell`` (K),   label ~ Categorical(theta_c)

where Phi counts as 0 below the first class and as 1 above the last. b says what ratings are worth, a_g is the bias of
the judge with its sign turned, and kappa how many labels the line is worth in a cell: all are learned. Given (a, h)
cells are independent Dirichlet distributions, so that one more label multiplies the likelihood of its group by
(kappa q_cy + n_cy) / (kappa + n_c), and sums over the grids are exact.

Shapes: cells K, classes C, groups G, opinions J, levels A of a_g, levels T of (a_0, tau), levels H of h, of which B of
(j, b, s).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.models.drawn_labels import DrawnLabels
from bayes_assess.models.program_items import added, counts_of, items_of

# In quarters of the scale, the steps of ratings from 1 to 5.
_LEVELS = np.linspace(-3.0, 3.0, 25)
_CENTRE_SD = 1.0  # of a_0
_SPREADS = (0.1, 0.4, 1.0)  # tau
_SLOPES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.3)  # b
_SCATTERS = (0.3, 0.5, 0.8, 1.2, 2.0)  # s
_STRENGTHS = (2.0, 8.0, 32.0, 128.0)  # kappa
_EVEN = 0.03  # e


def lines(x: Float[np.ndarray, "*J K"], n_classes: int) -> Float[np.ndarray, "K A B C"]:
    """Compute q for every cell, level of a_g and level of (j, b, s)."""
    if x.ndim > 1:
        return np.concatenate([lines(opinion, n_classes) for opinion in x], axis=2)
    scale, middle = (n_classes - 1) / 4, (n_classes - 1) / 2
    slope, scatter = np.array(list(itertools.product(_SLOPES, _SCATTERS))).T
    mu = middle + scale * _LEVELS[:, None] + slope * (x[:, None, None] - middle)  # (K, A, B)
    cuts = np.arange(n_classes - 1) + 0.5
    upto = special.ndtr((cuts - mu[..., None]) / (scale * scatter)[:, None])
    ends = np.concatenate([np.zeros((*mu.shape, 1)), upto, np.ones((*mu.shape, 1))], axis=-1)
    return (1 - _EVEN) * np.diff(ends, axis=-1) + _EVEN / n_classes


def _prior_of_levels() -> tuple[Float[np.ndarray, "T A"], Float[np.ndarray, " T"]]:
    """Compute the probabilities of every level of a_g given (a_0, tau), and of (a_0, tau)."""
    centre = np.exp(-0.5 * (_LEVELS / _CENTRE_SD) ** 2)
    rows = []
    for spread in _SPREADS:
        given = np.exp(-0.5 * (np.subtract.outer(_LEVELS, _LEVELS) / spread) ** 2)
        rows.append(given / given.sum(1, keepdims=True))
    return np.concatenate(rows), np.tile(centre / centre.sum(), len(_SPREADS)) / len(_SPREADS)


_LEVEL_GIVEN, _CENTRE = _prior_of_levels()


def _kappa(n_lines: int) -> Float[np.ndarray, " H"]:
    """Return kappa at every level of h, the strength running fastest."""
    return np.tile(_STRENGTHS, n_lines)


def program(
    line: Float[Array, "K A B C"],
    group: Int[Array, " K"],
    n_groups: int,
    cell: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
    *,
    levels: bool = True,
) -> None:
    """Run the generative program.

    Parameters
    ----------
    line : (K, A, B, C)
        What `lines` computes.
    group : (K,) integers
        Of every cell.
    n_groups : int
    cell : (N,) integers
        Of every item.
    labels : (N,) integers, optional
        Left out, they are simulated.
    levels : bool
        Whether ``centre``, ``line`` and ``level`` are sites. Without them they are summed out, as samplers need that
        move continuously: theta has the same distribution.
    """
    if not levels:
        _without_levels(np.asarray(line, np.float64), np.asarray(group), n_groups, cell, labels)
        return
    n_classes, kappa = line.shape[-1], _kappa(line.shape[2])
    n_levels = len(kappa)
    centre = numpyro.sample("centre", dist.CategoricalProbs(xp.asarray(_CENTRE)))
    h = xp.asarray(numpyro.sample("line", dist.CategoricalProbs(xp.full(n_levels, 1 / n_levels))))
    with numpyro.plate("group", n_groups):
        level = xp.asarray(numpyro.sample("level", dist.CategoricalProbs(xp.asarray(_LEVEL_GIVEN)[centre])))
    base = xp.asarray(line)[xp.arange(len(group)), level[group], h // len(_STRENGTHS)]
    with numpyro.plate("cell", len(group)):
        theta = xp.asarray(numpyro.sample("theta", dist.Dirichlet(xp.asarray(kappa)[h] * base)))
    assert theta.shape[-1] == n_classes
    with numpyro.plate("item", len(cell)):
        numpyro.sample("label", dist.CategoricalProbs(theta[cell]), obs=labels)


def _without_levels(line: Any, group: Any, n_groups: int, cell: Any, labels: Any) -> None:
    """Run the program with all levels summed out."""
    from bayes_assess.models._numerics import charts, level_mixture  # import NumPyro

    told = counts_of(cell, labels, len(line), line.shape[-1])
    law = level_mixture.LevelMixture(line, group, n_groups, np.array(_STRENGTHS), _LEVEL_GIVEN, _CENTRE, told)
    logit: Any = numpyro.sample("logit", law)
    log_theta = charts.log_shares(logit)
    numpyro.deterministic("theta", xp.exp(log_theta))
    with numpyro.plate("item", len(cell)):
        numpyro.sample("label", dist.CategoricalLogits(log_theta[cell]), obs=labels)


@partial(register_dataclass, data_fields=["line", "group", "counts", "log_weight"], meta_fields=["is_trivial"])
@dataclass(frozen=True)
class RatingLabels(DrawnLabels):
    """Belief on ordinal labels: exact sums over grids, with a Dirichlet distribution in every cell.

    Attributes
    ----------
    line : (K, A, B, C)
    group : (K,) integers
    counts : (K, C)
        Labelled items.
    log_weight : (G, A, H)
        Log likelihood of the labels of every group.

    Examples
    --------
    >>> belief = RatingLabels.from_prior(np.array([0.0, 2.0, 4.0]), 5)
    >>> for _ in range(20):  # labels of the lowest rating are the middle one
    ...     belief = belief.observe(0, 2)
    >>> mean = np.asarray(belief.mean) @ np.arange(5)
    >>> bool(mean[0] > 1.8), bool(mean[1] > 2.0)  # so that others are expected to be above theirs
    (True, True)
    """

    line: Any
    group: Any
    counts: Any
    log_weight: Any
    is_trivial: bool = False

    @classmethod
    def from_prior(
        cls, x: Float[np.ndarray, "*J K"], n_classes: int, group: Int[np.ndarray, " K"] | None = None
    ) -> RatingLabels:
        """Build the belief before any label.

        Parameters
        ----------
        x : (K,) or (J, K)
            Mean rating of every cell by the judge, as a code 0..C-1, or in every one of several opinions.
        n_classes : int
            C.
        group : (K,) integers 0..G-1, optional
            Groups of which the judge may be biased in different ways.
        """
        line = lines(np.asarray(x, np.float64), n_classes).astype(np.float32)
        group = np.zeros(len(line), np.int32) if group is None else np.asarray(group, np.int32)
        weight = np.zeros((int(group.max()) + 1, len(_LEVELS), line.shape[2] * len(_STRENGTHS)), np.float32)
        return cls(line, group, np.zeros((len(line), n_classes), np.float32), weight)

    def program_arguments(self, counts: Any = None) -> dict[str, Any]:
        """Return the arguments of `program`, its levels summed out, under which its posterior is this after `counts`.

        Parameters
        ----------
        counts : (K, C) integers, optional
            Further labelled items of every cell.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> belief = RatingLabels.from_prior(np.array([0.0, 2.0]), 3)
        >>> belief.program_arguments([[1, 0, 0], [0, 0, 2]])["labels"].tolist()
        [0, 2, 2]
        """
        told = added(np.asarray(self.counts, np.float64), counts)
        cell, labels = items_of(told, told.shape)
        line, group = np.asarray(self.line, np.float64), np.asarray(self.group)
        items = {"cell": cell, "labels": labels}
        return {"line": line, "group": group, "n_groups": self.log_weight.shape[0], **items, "levels": False}

    def observe(
        self, cell: Int[Array, ""] | int, label: Int[Array, ""] | int, matters: Bool[Array, ""] | bool = True
    ) -> RatingLabels:
        """Learn one label of a cell, if that matters."""
        count, line = xp.asarray(self.counts)[cell], xp.asarray(self.line)[cell][:, :, label]
        kappa = xp.asarray(_STRENGTHS, xp.float32)
        seen = (kappa * line[..., None] + count[label]) / (kappa + count.sum())  # (A, B, strengths)
        gained = xp.where(matters, xp.log(seen).reshape(len(_LEVELS), -1), 0.0)
        one = xp.asarray(matters, xp.float32)
        return replace(
            self,
            counts=engine.at(xp.asarray(self.counts))[cell, label].add(one),
            log_weight=engine.at(xp.asarray(self.log_weight))[xp.asarray(self.group)[cell]].add(gained),
        )

    @property
    def log_marginal(self) -> Float[Array, ""]:
        """Log probability of the labels so far, in one order."""
        return engine.logsumexp(self._log_joint()[0]) - xp.log(float(self.log_weight.shape[-1]))

    @property
    def learned(self) -> dict[str, Any]:
        """What labels change, by field."""
        return {"counts": self.counts, "log_weight": self.log_weight}

    @property
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label of the next item of every cell."""
        joint, groups, top = self._log_joint()
        share = xp.exp(joint - engine.logsumexp(joint))  # (T, H)
        likelihood = xp.exp(self.log_weight - top)  # (G, A, H)
        given = xp.asarray(_LEVEL_GIVEN, xp.float32)
        weight = xp.einsum("tgh,ta->gah", share[:, None] / xp.maximum(xp.exp(groups), 1e-37), given) * likelihood
        weight = weight / xp.maximum(weight.sum((1, 2), keepdims=True), 1e-37)
        n_levels, kappa = len(_LEVELS), xp.asarray(_STRENGTHS, xp.float32)
        weight = weight.reshape(len(weight), n_levels, -1, len(kappa))
        total = xp.asarray(self.counts).sum(1)
        of_line = xp.einsum("gabk,kc->gabc", weight, kappa[:, None] / (kappa[:, None] + total))  # by cell, for all g
        own = xp.moveaxis(of_line, -1, 0)[xp.arange(len(total)), self.group]  # (K, A, B)
        by_label = weight.sum((1, 2))[self.group] @ xp.ones(len(kappa)) - own.sum((1, 2))
        shares = xp.asarray(self.counts) / xp.maximum(total, 1)[:, None]
        return xp.einsum("cab,caby->cy", own, self.line) + by_label[:, None] * shares

    @property
    def strength(self) -> Float[Array, " K"]:
        """Labels that every cell counts as for decisions: its own and one, so that allocation tends to Neyman's."""
        return xp.asarray(self.counts).sum(1) + 1.0

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n K C"]:
        """Draw `n` distributions of labels for every cell, on the host."""
        line, counts = np.asarray(self.line, np.float64), np.asarray(self.counts, np.float64)
        weight = np.asarray(self.log_weight, np.float64)
        top = weight.max(1, keepdims=True)
        likelihood = np.exp(weight - top)
        groups = np.einsum("ta,gah->tgh", _LEVEL_GIVEN, likelihood)
        joint = np.log(_CENTRE)[:, None] + (np.log(np.maximum(groups, 1e-300)) + top[:, 0]).sum(1)
        share, kappa = np.exp(joint - joint.max()).ravel(), _kappa(line.shape[2])
        t, h = np.divmod(rng.choice(len(share), n, p=share / share.sum()), len(kappa))
        upto = np.cumsum(_LEVEL_GIVEN[t][:, None] * likelihood[:, :, h].transpose(2, 0, 1), axis=-1)  # (n, G, A)
        level = (upto < rng.random((n, len(weight), 1)) * upto[..., -1:]).sum(-1)
        cells = np.arange(len(line))
        base = line[cells, level[:, self.group], (h // len(_STRENGTHS))[:, None]]  # (n, K, C)
        gamma = rng.standard_gamma(kappa[h][:, None, None] * base + counts)
        return gamma / np.maximum(gamma.sum(-1, keepdims=True), 1e-300)

    def _log_joint(self) -> tuple[Float[Array, "T H"], Float[Array, "T G H"], Float[Array, "G 1 H"]]:
        """Compute the log probability of (a_0, tau) and h with all labels, and of those of every group given them.

        The latter are relative to the greatest of the group's likelihoods, the third array.
        """
        weight = xp.asarray(self.log_weight)
        top = weight.max(1, keepdims=True)
        likelihood = xp.einsum("ta,gah->tgh", xp.asarray(_LEVEL_GIVEN, weight.dtype), xp.exp(weight - top))
        groups = xp.log(xp.maximum(likelihood, 1e-37))
        centre = xp.log(xp.asarray(_CENTRE, weight.dtype))
        return centre[:, None] + (groups + top[:, 0]).sum(1), groups, top
