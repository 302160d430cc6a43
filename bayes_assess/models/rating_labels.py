r"""Labels on an ordinal scale, given ratings of a judge who may be biased, in every group of items in a way of its own.

Cells hold items of one rating (and about one score) of one group; x_cj is the rating expected there: by the judge, or
by the j-th of several opinions, such as those of two judges and the mean of both, of which one tells most. A label
is a normal variable cut at the middles between neighbours, around a line in x, and cells scatter about that:

.. math::
    a_0 \sim N(0, 1), \quad \log \tau, b, \log s, \log \kappa \sim \text{uniform}, \quad a_g \sim N(a_0, \tau^2)

.. math::
    \mu_c = m + \tfrac{C - 1}{4} a_{g(c)} + b (x_{cj} - m), \quad m = (C - 1) / 2

.. math::
    q_c(y) = (1 - e) \left[\Phi\left(\frac{y + 1/2 - \mu_c}{s (C - 1) / 4}\right) -
    \Phi\left(\frac{y - 1/2 - \mu_c}{s (C - 1) / 4}\right)\right] + e / C, \quad
    \theta_c \sim \mathrm{Dirichlet}(\kappa q_c), \quad y \sim \mathrm{Categorical}(\theta_c)

where Phi counts as 0 below the first class and as 1 above the last, and e is .03, or .003 of two classes, of which one
may be rare. b says how much ratings tell, a_g is the bias of the judge with its sign turned, and kappa how many labels
the line counts as in a cell: all are learned. Given them cells are independent Dirichlet distributions, so that one
more label multiplies the likelihood of its group by (kappa q_cy + n_cy) / (kappa + n_c). The belief has sums over grids
in the place of integrals over a_0, tau, a_g, b, s and kappa: their points are the middles of equal parts. Draws of
answers are moved off these points, see `_rating_moves`.

Shapes: cells K, classes C, groups G, opinions J, points A of a_g, points T of (a_0, tau), points H of (j, b, s, kappa),
of which B of (j, b, s).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import ModuleType
from typing import ClassVar

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.errors import PriorError
from bayes_assess.models._rating_moves import KEPT, Chains, Points, Prior, Steps, Told, log_rising
from bayes_assess.models.drawn_labels import DrawnLabels, GivenLabels
from bayes_assess.models.program_items import added, counts_of, items_of


def _middles(low: float, high: float, n: int) -> Float[np.ndarray, " n"]:
    """Return the middles of `n` equal parts of a range."""
    return low + (high - low) * (np.arange(n) + 0.5) / n


_FEW = 512  # draws, of which steps of grids are no matter
_MANY = 10_000  # labels
MOST_RATINGS = 7  # classes that are believed one by one; of more it is their means

# Levels, spreads and scatters are in quarters of the scale, the steps of ratings from 1 to 5.
_CENTRE_SD = 1.0  # of a_0
_LOG_SPREAD = (np.log(0.06), np.log(1.5))  # range of log tau
_SLOPE = (-0.125, 1.375)  # of b
_LOG_SCATTER = (np.log(0.24), np.log(2.5))  # of log s
_LOG_STRENGTH = (0.0, np.log(256.0))  # of log kappa
_EVEN, _EVEN_OF_TWO = 0.03, 0.003  # e, which of two classes is how seldom the rare one may be
_CUT = 0.1  # about the variance of the rounding of a label

# Steps are such that the mean ratings of 20 cells with 20 labels each have the moments that they have by NUTS, within a
# sixth of a standard deviation in the root mean square; with fewer labels they are closer.
_LEVELS = np.linspace(-3.0, 3.0, 33)
_SPREADS = np.exp(_middles(*_LOG_SPREAD, 3))
_SLOPES = _middles(*_SLOPE, 15)
_SCATTERS = np.exp(_middles(*_LOG_SCATTER, 4))
_STRENGTHS = np.exp(_middles(*_LOG_STRENGTH, 4))


def lines(x: Float[np.ndarray, "*J K"], n_classes: int) -> Float[np.ndarray, "K A B C"]:
    """Compute q for every cell, point of a_g and point of (j, b, s)."""
    if x.ndim > 1:
        return np.concatenate([lines(opinion, n_classes) for opinion in x], axis=2)
    slope, scatter = np.array(list(itertools.product(_SLOPES, _SCATTERS))).T
    return np.asarray(_distribution(x[:, None, None], n_classes, _LEVELS[:, None], slope, scatter, np))


@lru_cache(2)
def _kept_lines(x: bytes, n_opinions: int, n_classes: int) -> Float[np.ndarray, "K A B C"]:
    """Compute `lines`, 32-bit, which are the same at every answer of a session."""
    found = lines(np.frombuffer(x).reshape(n_opinions, -1), n_classes).astype(np.float32)
    found.flags.writeable = False
    return found


def _share_of_anything(n_classes: int) -> float:
    """Return e, the share of labels that may be of any class."""
    return _EVEN if n_classes > 2 else _EVEN_OF_TWO


def _distribution(
    x: Float[Array, "..."],
    n_classes: int,
    level: Float[Array, "..."],
    slope: Float[Array, "..."],
    scatter: Float[Array, "..."],
    module: ModuleType,
) -> Float[Array, "... C"]:
    """Compute q of a rating, a level, a slope and a scatter, arrays of one shape, with a last axis of classes."""
    scale, middle = (n_classes - 1) / 4, (n_classes - 1) / 2
    mu = middle + scale * level + slope * (x - middle)
    cuts = np.arange(n_classes - 1) + 0.5
    ndtr = special.ndtr if module is np else engine.ndtr
    upto = ndtr((cuts - mu[..., None]) / (scale * scatter)[..., None])
    ends = module.concatenate([module.zeros((*mu.shape, 1)), upto, module.ones((*mu.shape, 1))], axis=-1)
    even = _share_of_anything(n_classes)
    return (1 - even) * module.diff(ends, axis=-1) + even / n_classes


def _prior_of_levels() -> tuple[Float[np.ndarray, "T A"], Float[np.ndarray, " T"]]:
    """Compute the probabilities of every point of a_g given (a_0, tau), and of (a_0, tau)."""
    centre = np.exp(-0.5 * (_LEVELS / _CENTRE_SD) ** 2)
    rows = []
    for spread in _SPREADS:
        given = np.exp(-0.5 * (np.subtract.outer(_LEVELS, _LEVELS) / spread) ** 2)
        rows.append(given / given.sum(1, keepdims=True))
    return np.concatenate(rows), np.tile(centre / centre.sum(), len(_SPREADS)) / len(_SPREADS)


_LEVEL_GIVEN, _CENTRE = _prior_of_levels()


def program(
    x: Float[Array, " K"],
    n_classes: int,
    group: Int[Array, " K"],
    n_groups: int,
    cell: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
) -> None:
    """Run the generative program of one opinion.

    Parameters
    ----------
    x : (K,)
        Mean rating of every cell, as a code 0..C-1.
    n_classes : int
        C.
    group : (K,) integers
        Of every cell.
    n_groups : int
    cell : (N,) integers
        Of every item.
    labels : (N,) integers, optional
        Left out, they are simulated.
    """
    from bayes_assess.models._numerics import charts  # imports NumPyro

    told = counts_of(cell, labels, len(x), n_classes)
    centre = xp.asarray(numpyro.sample("centre", dist.Normal(0.0, _CENTRE_SD)))
    spread = xp.exp(numpyro.sample("log_spread", dist.Uniform(*_LOG_SPREAD)))
    slope = xp.asarray(numpyro.sample("slope", dist.Uniform(*_SLOPE)))
    scatter = xp.exp(numpyro.sample("log_scatter", dist.Uniform(*_LOG_SCATTER)))
    strength = xp.exp(numpyro.sample("log_strength", dist.Uniform(*_LOG_STRENGTH)))
    near, information = _told_of_levels(x, group, n_groups, told, slope, strength, scatter**2)
    with numpyro.plate("group", n_groups):
        away = xp.asarray(numpyro.sample("away", charts.NormalNear((near - centre) / spread, spread**2 * information)))
        level = xp.asarray(numpyro.deterministic("level", centre + spread * away))
    q = _distribution(xp.asarray(x), n_classes, level[group], slope, scatter, xp)
    with numpyro.plate("cell", len(x)):
        logit = numpyro.sample("logit", charts.LogitDirichlet(strength * q, told))
        log_theta = charts.log_shares(xp.asarray(logit))
        numpyro.deterministic("theta", xp.exp(log_theta))
    with numpyro.plate("item", len(cell)):
        numpyro.sample("label", dist.CategoricalLogits(log_theta[cell]), obs=labels)


def _told_of_levels(
    x: Float[Array, " K"],
    group: Int[Array, " K"],
    n_groups: int,
    counts: Float[Array, "K C"],
    slope: Scalar,
    strength: Scalar,
    variance: Scalar,
) -> tuple[Float[Array, " G"], Float[Array, " G"]]:
    """Estimate a_g from labels as if they were not cut, and its precision, for the sampler's coordinates."""
    n_classes = counts.shape[1]
    scale, middle = (n_classes - 1) / 4, (n_classes - 1) / 2
    n = counts.sum(1)
    precision = strength * n / (strength + n) / (variance + _CUT)
    rated = counts @ xp.arange(n_classes) / xp.maximum(n, 1)
    level = (rated - middle - slope * (xp.asarray(x) - middle)) / scale
    information = engine.at(xp.zeros(n_groups))[group].add(precision)
    return engine.at(xp.zeros(n_groups))[group].add(precision * level) / xp.maximum(information, 1e-9), information


@partial(register_dataclass, data_fields=["x", "line", "group", "counts", "log_weight"], meta_fields=["is_trivial"])
@dataclass(frozen=True)
class RatingLabels(DrawnLabels):
    """Belief on ordinal labels: sums over grids, with a Dirichlet distribution in every cell.

    Attributes
    ----------
    x : (J, K)
        Mean rating of every cell in every opinion.
    line : (K, A, B, C)
    group : (K,) integers
    counts : (K, C)
        Labelled items.
    log_weight : (G, A, H)
        Log likelihood of the labels of every group.

    Examples
    --------
    >>> belief = RatingLabels.from_prior(np.array([0.0, 2.0, 4.0]), 5)
    >>> with engine.eager():
    ...     for _ in range(20):  # labels of the lowest rating are the middle one
    ...         belief = belief.observe(0, 2)
    ...     mean = belief.mean @ np.arange(5)
    >>> bool(mean[0] > 1.8), bool(mean[1] > 2.0)  # so that others are expected to be above theirs
    (True, True)
    """

    of_all: ClassVar[bool] = True

    x: Float[Array, "J K"]
    line: Float[Array, "K A B C"]
    group: Int[Array, " K"]
    counts: Float[Array, "K C"]
    log_weight: Float[Array, "G A H"]
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
        x = np.atleast_2d(np.asarray(x, np.float64))
        line = _kept_lines(x.tobytes(), len(x), n_classes)
        group = np.zeros(len(line), np.int32) if group is None else np.asarray(group, np.int32)
        weight = np.zeros((int(group.max()) + 1, len(_LEVELS), line.shape[2] * len(_STRENGTHS)), np.float32)
        return cls(x, line, group, np.zeros((len(line), n_classes), np.float32), weight)

    def program_arguments(self, counts: Int[Array, "K C"] | None = None, opinion: int = 0) -> dict[str, object]:
        """Return the arguments of `program` of one opinion, of which this is the posterior after `counts`.

        With several opinions it is the mixture of their posteriors.

        Parameters
        ----------
        counts : (K, C) integers, optional
            Further labelled items of every cell.
        opinion : int
            0..J-1.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.
        PriorError
            If there is no such opinion.

        Examples
        --------
        >>> belief = RatingLabels.from_prior(np.array([0.0, 2.0]), 3)
        >>> belief.program_arguments([[1, 0, 0], [0, 0, 2]])["labels"].tolist()
        [0, 2, 2]
        """
        x = np.asarray(self.x)
        if not 0 <= opinion < len(x):
            raise PriorError(f"There are {len(x)} opinions, counted from 0; found {opinion}.")
        told = added(np.asarray(self.counts, np.float64), counts)
        cell, labels = items_of(told, told.shape)
        items = {"cell": cell, "labels": labels}
        groups = {"group": np.asarray(self.group), "n_groups": self.log_weight.shape[0]}
        return {"x": x[opinion], "n_classes": told.shape[1], **groups, **items}

    def observe(
        self, cell: Int[Array, ""] | int, label: Int[Array, ""] | int, matters: Bool[Array, ""] | bool = True
    ) -> RatingLabels:
        """Learn one label of a cell, if that matters."""
        count, line = xp.asarray(self.counts)[cell], xp.asarray(self.line)[cell][:, :, label]
        kappa = xp.asarray(_STRENGTHS, xp.float32)
        seen = (kappa * line[..., None] + count[label]) / (kappa + count.sum())  # (A, B, strengths)
        gained = xp.where(matters, xp.log(seen).reshape(len(_LEVELS), -1), 0.0)
        increment = xp.asarray(matters, xp.float32)
        return replace(
            self,
            counts=engine.at(xp.asarray(self.counts))[cell, label].add(increment),
            log_weight=engine.at(xp.asarray(self.log_weight))[xp.asarray(self.group)[cell]].add(gained),
        )

    def after(self, counts: Float[np.ndarray, "K C"]) -> RatingLabels:
        """Learn the labels of all cells at once, on the host.

        Parameters
        ----------
        counts : (K, C)
            Labelled items.

        Examples
        --------
        >>> belief = RatingLabels.from_prior(np.array([0.0, 2.0]), 3)
        >>> with engine.eager():
        ...     one_by_one = belief.observe(1, 2).observe(1, 2).log_weight
        >>> bool(np.allclose(belief.after(np.array([[0, 0, 0], [0, 0, 2]])).log_weight, one_by_one, atol=1e-6))
        True
        """
        cell, label = np.nonzero(counts)
        told, group = counts[cell, label], np.asarray(self.group)
        alpha = _STRENGTHS * np.moveaxis(np.asarray(self.line, np.float64), -1, 1)[cell, label][..., None]
        gained = log_rising(alpha, told)  # (E, A, B, strengths)
        fewer = log_rising(np.broadcast_to(_STRENGTHS, (len(counts), len(_STRENGTHS))), counts.sum(1))
        gain = [gained[group[cell] == g].sum(0) - fewer[group == g].sum(0) for g in range(len(self.log_weight))]
        weight = np.asarray(self.log_weight) + np.reshape(gain, self.log_weight.shape)
        return replace(self, counts=np.asarray(self.counts + counts), log_weight=weight.astype(np.float32))

    @property
    def log_marginal(self) -> Float[Array, ""]:
        """Log probability of the labels so far, in one order."""
        return engine.logsumexp(self._log_joint()[0]) - xp.log(float(self.log_weight.shape[-1]))

    @property
    def learned(self) -> dict[str, Float[Array, "..."]]:
        """What labels change, by field."""
        return {"counts": self.counts, "log_weight": self.log_weight}

    @property
    @engine.kept
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label of the next item of every cell."""
        joint, groups, top = self._log_joint()
        share = xp.exp(joint - engine.logsumexp(joint))  # (T, H)
        likelihood = xp.exp(self.log_weight - top)  # (G, A, H)
        ratio = xp.moveaxis(share[:, None] / xp.maximum(xp.exp(groups), 1e-37), 1, 0)  # (G, T, H)
        weight = xp.matmul(xp.asarray(_LEVEL_GIVEN.T, xp.float32), ratio) * likelihood
        weight = weight / xp.maximum(weight.sum((1, 2), keepdims=True), 1e-37)
        kappa, total = xp.asarray(_STRENGTHS, xp.float32), xp.asarray(self.counts).sum(1)
        weight = weight.reshape(len(weight), -1, len(kappa))[xp.asarray(self.group)]  # (K, A B, strengths)
        of_line = xp.matmul(weight, (kappa / (kappa + total[:, None]))[..., None])[..., 0]  # (K, A B)
        line = xp.asarray(self.line).reshape(*of_line.shape, -1)
        shares = xp.asarray(self.counts) / xp.maximum(total, 1)[:, None]
        return xp.matmul(of_line[:, None], line)[:, 0] + (1 - of_line.sum(1))[:, None] * shares

    @property
    def strength(self) -> Float[Array, " K"]:
        """Labels that every cell counts as for decisions: its own and one, so that allocation tends to Neyman's."""
        return xp.asarray(self.counts).sum(1) + 1.0

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n K C"]:
        """Draw `n` distributions of labels for every cell, on the host."""
        return self._shares(rng, *self._points(rng, n))

    def in_parts(self, rng: np.random.Generator, n: int, most: int) -> Iterator[tuple[slice, DrawnLabels]]:
        """Divide `n` draws into parts of at most so many, by parameters that are drawn once."""
        points, opinion = self._points(rng, n)
        for start in range(0, n, most):
            some = slice(start, min(start + most, n))
            part = Points(*(values[some] for values in points))
            yield some, GivenLabels(self.counts, self._shares(rng, part, opinion[some]))

    def _points(self, rng: np.random.Generator, n: int) -> tuple[Points, Int[np.ndarray, " n"]]:
        """Draw parameters, and which of the opinions they are of; few of them from the grids, for looks of plans."""
        if n < _FEW:
            return self._on_grids(rng, n)
        start, opinion = self._on_grids(rng, -(-n // KEPT))
        n_classes, group = np.shape(self.counts)[1], np.asarray(self.group)
        even = _share_of_anything(n_classes)
        prior = Prior(_CENTRE_SD, _LOG_SPREAD, _SLOPE, _LOG_SCATTER, _LOG_STRENGTH, even)
        spreads, scatters, strengths = (np.log(grid) for grid in (_SPREADS, _SCATTERS, _STRENGTHS))
        steps = Steps(*(float(grid[1] - grid[0]) for grid in (spreads, _LEVELS, _SLOPES, scatters, strengths)))
        counts = np.asarray(self.counts, np.float64)
        real = np.float32 if counts.sum() < _MANY else np.float64  # of many labels sums would be rounded too far
        told = Told.of(np.asarray(self.x, real)[opinion], group, counts.astype(real), len(self.log_weight))
        start = Points(*(part.astype(real) for part in start))
        found = Chains(rng, start, told, prior, steps).run()
        return Points(*(part[:n].astype(np.float64) for part in found)), np.tile(opinion, KEPT)[:n]

    def _on_grids(self, rng: np.random.Generator, n: int) -> tuple[Points, Int[np.ndarray, " n"]]:
        weight = np.asarray(self.log_weight, np.float64)
        top = weight.max(1, keepdims=True)
        likelihood = np.exp(weight - top)
        groups = np.moveaxis(_LEVEL_GIVEN @ likelihood, 0, 1)  # (T, G, H)
        joint = np.log(_CENTRE)[:, None] + (np.log(np.maximum(groups, 1e-300)) + top[:, 0]).sum(1)
        share = np.exp(joint - joint.max()).ravel()
        t, h = np.divmod(rng.choice(len(share), n, p=share / share.sum()), joint.shape[1])
        upto = np.cumsum(_LEVEL_GIVEN[t][:, None] * likelihood[:, :, h].transpose(2, 0, 1), axis=-1)  # (n, G, A)
        level = (upto < rng.random((n, len(weight), 1)) * upto[..., -1:]).sum(-1)
        spread, centre = np.divmod(t, len(_LEVELS))
        opinion, of_line = np.divmod(h // len(_STRENGTHS), len(_SLOPES) * len(_SCATTERS))
        slope, scatter = np.divmod(of_line, len(_SCATTERS))
        points = Points(
            centre=_LEVELS[centre],
            log_spread=np.log(_SPREADS)[spread],
            level=_LEVELS[level],
            slope=_SLOPES[slope],
            log_scatter=np.log(_SCATTERS)[scatter],
            log_strength=np.log(_STRENGTHS)[h % len(_STRENGTHS)],
        )
        return points, opinion

    def _shares(
        self, rng: np.random.Generator, points: Points, opinion: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n K C"]:
        """Draw the distributions of cells given their lines."""
        counts, x = np.asarray(self.counts, np.float64), np.asarray(self.x, np.float64)[opinion]
        slope, scatter = points.slope[:, None], np.exp(points.log_scatter)[:, None]
        base = _distribution(x, counts.shape[1], points.level[:, np.asarray(self.group)], slope, scatter, np)
        gamma = rng.standard_gamma(np.exp(points.log_strength)[:, None, None] * np.asarray(base) + counts)
        return gamma / np.maximum(gamma.sum(-1, keepdims=True), 1e-300)

    def _log_joint(self) -> tuple[Float[Array, "T H"], Float[Array, "T G H"], Float[Array, "G 1 H"]]:
        """Compute the log probability of (a_0, tau) and h with all labels, and of those of every group given them.

        The latter are relative to the greatest of the group's likelihoods, the third array.
        """
        weight = xp.asarray(self.log_weight)
        top = weight.max(1, keepdims=True)
        likelihood = xp.matmul(xp.asarray(_LEVEL_GIVEN, weight.dtype), xp.exp(weight - top))  # (G, T, H)
        groups = xp.moveaxis(xp.log(xp.maximum(likelihood, 1e-37)), 0, 1)
        centre = xp.log(xp.asarray(_CENTRE, weight.dtype))
        return centre[:, None] + (groups + top[:, 0]).sum(1), groups, top
