"""Accuracy of bins of the confidence that follow a curve, in groups whose curves are alike.

Plates ``group`` (G) and ``bin`` (B): theta_gb ~ Beta(nu m_gb, nu (1 - m_gb)), logit m_gb = a + slope x_gb + tau z_g,
where x_gb = logit(0.98 s_gb + 0.01) for the bin's mean confidence s_gb, and z_g ~ Normal(0, 1) is left out where there
is one group only. (a, slope) ~ Normal((0, 1), d (1, 0.7)), independently, where the departure d is 2, 1 or 0.3 alike;
log tau ~ Normal(log 0.3, 1), log nu ~ Normal(log 1000, 2). Plate ``label`` (N): z_i ~ Bernoulli(theta_{c(i)}), 1 when
the *label* of item i agrees with its prediction; c(i) = g B + b is its cell (METHODS 12.5).

A calibrated system has a = 0, slope = 1, and nu as large as can be. The small departure is what keeps the calibration
error of such a system from being over-estimated: under a single Normal distribution, few labels would leave the curve
as far from the diagonal as they are uncertain. No confidence is taken for certainty: of systems that are far too sure,
few labels often show no error, and next to no curve would have room for those to come. Both constants come from a
population of pools (METHODS 12.7; `benchmarks/study_calibration_prior.py`).

Given (a, slope, tau, nu) groups are independent, and the integral over z_g is a sum over Q nodes of Gauss and Hermite,
placed where the labels of the group put them (Naylor and Smith 1982); given the node too, the posterior is
BetaBernoulli's. The posterior of (a, slope, tau, nu) is carried by H weighted points. (log tau, log nu) are drawn from
a histogram on a grid of Laplace's approximations of the evidence, (a, slope) from a mixture of Gaussian approximations
given these, one per departure, all at quasi-random points; with (x)_r = x (x + 1) ... (x + r - 1), each is weighted by

    log w_h = sum_g log sum_q v_hgq prod_b (nu m)_r (nu (1 - m))_{n-r} / (nu)_n + log prior - log proposal.

One more label of a cell multiplies the weight of every node of its group by (nu m + r) / (nu + n) or its complement,
so that a campaign can go on from label to label at the cost O(H Q).

Shapes: cells are K = G B; counts (..., K), points (..., H), nodes (..., H, G, Q), draws (S, ..., K). 64-bit throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TypeVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import FloatGroups, IntGroups, PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.models._bases import Agreements, drawn_places, floats
from bayes_assess.models._mean_scores import binned_scores, logits
from bayes_assess.models._numerics.beta_sampling import standard_beta
from bayes_assess.models._numerics.calibration_points import (
    CALIBRATED,
    DEPARTURES,
    LOG_SPREAD,
    LOG_STRENGTH,
    UNITS,
    probability,
    weighted_points,
)
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.program_items import counts_of, items_of

T = TypeVar("T")


_MOST_DRAWS, _FEWEST_DRAWS, _NUMBERS = 10_000, 1_000, 4_000_000  # for quantiles: as many as fit in some numbers


def program(cells: Int[Array, " N"], agreements: Int[Array, " N"] | None = None, *, x: Float[Array, "G B"]) -> None:
    """Run the generative program: a curve for every group, an accuracy per bin around it, an outcome per label.

    Parameters
    ----------
    cells : (N,) integers in 0..G*B-1
        Cell g * B + b of every labelled item: bin b of group g.
    agreements : (N,) zeros and ones, optional
        1 where the label agrees with the prediction; left out, the program simulates them.
    x : (G, B)
        x_gb of every bin.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> trace = numpyro.handlers.trace(seeded).get_trace(jnp.array([0, 5]), x=jnp.ones((2, 3)))
    >>> trace["group_effect"]["value"].shape, trace["theta"]["value"].shape, trace["agreement"]["value"].shape
    ((2, 1), (2, 3), (2,))
    """
    from bayes_assess.models._numerics import charts  # imports NumPyro

    x = xp.asarray(x)
    departure = dist.Normal(xp.asarray(CALIBRATED), xp.outer(xp.asarray(DEPARTURES), xp.asarray(UNITS)))
    alike = dist.Categorical(probs=xp.full(len(DEPARTURES), 1 / len(DEPARTURES)))
    curve = dist.MixtureSameFamily(alike, departure.to_event(1))
    unit = DEPARTURES[-1] * np.array(UNITS)
    coefficients = xp.asarray(numpyro.sample("coefficients", charts.ManySizes(curve, CALIBRATED, unit)))
    logit = coefficients[0] + coefficients[1] * x
    strength = xp.exp(numpyro.sample("log_strength", dist.Normal(*LOG_STRENGTH)))
    groups = numpyro.plate("group", x.shape[0], dim=-2)
    told = counts_of(cells, agreements, x.size, 2).reshape(*x.shape, 2)[..., ::-1]
    if x.shape[0] > 1:
        spread = xp.exp(numpyro.sample("log_spread", dist.Normal(*LOG_SPREAD)))
        near, information = _shift_by_labels(told, logit, strength)
        with groups:
            effect = numpyro.sample("group_effect", charts.NormalNear(near / spread, information * spread**2))
            logit = logit + spread * xp.asarray(effect)
    with groups, numpyro.plate("bin", x.shape[1], dim=-1):
        expected = xp.asarray(numpyro.deterministic("expected", probability(logit)))
        parameters = strength * xp.stack([expected, 1 - expected], axis=-1)
        logit = xp.asarray(numpyro.sample("logit", charts.LogitDirichlet(parameters, told)))[..., 0]
        numpyro.deterministic("theta", engine.sigmoid(logit))
    with numpyro.plate("label", len(cells)):
        numpyro.sample("agreement", dist.Bernoulli(logits=xp.ravel(logit)[cells]), obs=agreements)


def _shift_by_labels(
    told: Float[Array, "G B 2"], curve: Float[Array, "G B"], strength: Float[Array, ""]
) -> tuple[Float[Array, "G 1"], Float[Array, "G 1"]]:
    """Estimate by how much the curve of every group is shifted, (G, 1), and the information of its labels on that."""
    r, n = told[..., 0], told.sum(-1)
    share = (r + 1) / (n + 2)
    information = share * (1 - share) * n * (strength + 1) / (strength + n)
    whole = information.sum(-1, keepdims=True)
    shift = xp.log((r + 0.5) / (n - r + 0.5)) - curve
    return (information * shift).sum(-1, keepdims=True) / xp.maximum(whole, 1e-9), whole


_DATA = [
    *("logit_score", "agreements", "labels", "coefficients", "log_strength", "spread", "log_weight", "shift"),
    "log_node",
]


@partial(register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class HierarchicalCalibration(Agreements):
    """A mixture of independent Beta distributions over the accuracies of bins, one part per point and nodes of groups.

    Made by `from_prior`; `update_counts` adds labels.

    Parameters
    ----------
    logit_score : (G, B)
        x_gb, the logit of the mean confidence of every bin, which is never certain.
    agreements, labels : (..., K)
        Labels that agree with their predictions, and labels in all, of cell g * B + b.
    coefficients : (..., H, 2)
        Intercept and slope.
    log_strength, spread : (..., H)
        log nu, and tau, which is 0 where there is one group only.
    log_weight : (..., H)
        Logarithm of each point's weight up to a constant.
    shift, log_node : (..., H, G, Q)
        Effects tau z_g of every group at the nodes, and the logarithm of each node's probability given the point.

    Examples
    --------
    >>> prior = HierarchicalCalibration.from_prior(score=[0.6, 0.8, 0.95], size=[10, 20, 70])
    >>> posterior = prior.update([4, 0, 40], [10, 0, 60])  # over-confident at both ends
    >>> bool(prior.mean[1] > 0.65 > posterior.mean[1])
    True
    """

    logit_score: Float[Array, "G B"] | Float[np.ndarray, "G B"]
    agreements: FloatGroups
    labels: FloatGroups
    coefficients: Float[Array, "*batch H 2"] | Float[np.ndarray, "*batch H 2"]
    log_strength: Float[Array, "*batch H"] | Float[np.ndarray, "*batch H"]
    spread: Float[Array, "*batch H"] | Float[np.ndarray, "*batch H"]
    log_weight: Float[Array, "*batch H"] | Float[np.ndarray, "*batch H"]
    shift: Float[Array, "*batch H G Q"] | Float[np.ndarray, "*batch H G Q"]
    log_node: Float[Array, "*batch H G Q"] | Float[np.ndarray, "*batch H G Q"]

    @classmethod
    @any_engine
    def from_prior(cls, *, score: ArrayLike, size: ArrayLike) -> HierarchicalCalibration:
        """Build the prior; it has no strength to choose, since that is learned.

        Parameters
        ----------
        score : (G, B) or (B,) in [0, 1]
            Mean confidence of every bin's items over the whole pool. That of an empty bin may be NaN.
        size : (G, B) or (B,) integers
            Items of every bin, labelled or not.

        Raises
        ------
        PriorError
            If a score lies outside [0, 1], a size is negative, or the shapes are no bins or differ.

        Examples
        --------
        >>> prior = HierarchicalCalibration.from_prior(score=[[0.6, 0.9], [0.7, float("nan")]], size=[[3, 9], [5, 0]])
        >>> prior.logit_score.round(2).tolist(), prior.mean.shape
        ([[0.4, 2.11], [0.83, 0.0]], (4,))
        """
        score, _ = binned_scores(score, size)
        return cls.fit(logits(np.atleast_2d(score)), np.zeros(score.size), np.zeros(score.size))

    @classmethod
    @any_engine
    def fit(cls, logit_score: ArrayLike, agreements: ArrayLike, labels: ArrayLike) -> HierarchicalCalibration:
        """Place points and nodes for these agreements and labels, (..., K) each: the same ones for the same counts.

        Examples
        --------
        >>> HierarchicalCalibration.fit([[0.0, 2.0]], [[1, 3], [0, 9]], [[2, 3], [1, 9]]).mean.shape
        (2, 2)
        """
        x, agreements, labels = floats(logit_score), floats(agreements), floats(labels)
        flat = (count.reshape(-1, *x.shape) for count in (agreements, labels))
        points = weighted_points(x, *flat)
        batch = agreements.shape[:-1]
        return cls(x, agreements, labels, *(leaf.reshape(*batch, *leaf.shape[1:]) for leaf in points))

    def program_arguments(self, counts: IntGroups | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (K, 2) integers, optional
            Further labels of every cell g * B + b: column 0 disagreements, column 1 agreements.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> data = HierarchicalCalibration.from_prior(score=[0.6, 0.9], size=[3, 9]).program_arguments([[0, 1], [2, 0]])
        >>> data["cells"].tolist(), data["agreements"].tolist(), data["x"].shape
        ([0, 1, 1], [1, 0, 0], (1, 2))
        """
        cells, outcomes = items_of(self._counts_after(counts), (*self.labels.shape, 2))
        return {"cells": cells, "agreements": outcomes, "x": np.asarray(self.logit_score)}

    @any_engine
    def observe(self, cell: Int[Array, ""], outcome: Int[Array, ""]) -> HierarchicalCalibration:
        """Learn one label, 1 if it agrees, at the cost O(H Q): points and nodes stay, weights move. Not for batches."""
        x = xp.asarray(self.logit_score)
        group, log_node = cell // x.shape[1], xp.asarray(self.log_node)
        strength = xp.exp(xp.asarray(self.log_strength))[:, None]
        intercept, slope = xp.asarray(self.coefficients).T
        curve = (intercept + slope * x.ravel()[cell])[:, None]
        expected = probability(curve + xp.asarray(self.shift)[:, group])
        r, n = xp.asarray(self.agreements)[cell], xp.asarray(self.labels)[cell]
        seen = xp.where(outcome == 1, strength * expected + r, strength * (1 - expected) + n - r) / (strength + n)
        moved = log_node[:, group] + xp.log(seen)
        gain = engine.logsumexp(moved, axis=-1)
        return replace(
            self,
            agreements=engine.at(self.agreements)[cell].add(outcome == 1),
            labels=engine.at(self.labels)[cell].add(1),
            log_weight=self.log_weight + gain,
            log_node=engine.at(log_node)[:, group].set(moved - gain[:, None]),
        )

    @any_engine
    def uncalibrated(self) -> HierarchicalCalibration:
        """Return the posterior under a prior that does not take systems to be about calibrated: departure 2 alone.

        Points stay, and their weights follow the ratio of both priors of (a, slope).
        """
        departures = xp.array(DEPARTURES)
        standard = (xp.asarray(self.coefficients) - xp.array(CALIBRATED)) / xp.array(UNITS)
        standard = standard[..., None] / departures  # (..., H, 2, J)
        log_density = -0.5 * (standard**2).sum(-2) - 2 * xp.log(departures)
        moved = log_density[..., 0] - engine.logsumexp(log_density, axis=-1)
        return replace(self, log_weight=self.log_weight + moved)

    @any_engine
    def component(self, key: PRNGKey) -> BetaBernoulli:
        """Draw a point and a node for every group by their weights, and return the posterior given these, over (K,).

        A draw from it is a joint draw of all accuracies. Not for batches.
        """
        return BetaBernoulli(*(parameter[0] for parameter in _components(key, 1, self)))

    def components(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> BetaBernoulli:
        """Draw points, and a node of each for every group, by their weights, (*shape, ..., K), on the host."""
        with engine.eager():
            point = self.drawn_points(rng, shape)
            node = drawn_places(rng, np.exp(_of_points(self, self.log_node, point)))
            return BetaBernoulli(*_at_nodes(self, point, node))

    def _with_labels(self, agreements: FloatGroups, labels: FloatGroups) -> HierarchicalCalibration:
        return self.fit(self.logit_score, agreements, labels)

    def _moments(self):
        return _moments(self)

    def _draws(self, key: PRNGKey, n: int, dtype: str) -> Float[Array, "S *batch K"]:
        return _sample(key, n, self, dtype)

    def _quantiles(self, level: Float[Array, "*levels"]) -> Float[Array, "*levels_batch K"]:
        """Take those of some thousands of draws, the same ones at every call.

        A distribution function of so many parts would take minutes to invert. The probability below a quantile is off
        by some 0.005 at the median, 0.002 at 0.025.
        """
        return _quantile(self, level.ravel()).reshape(*level.shape, *xp.shape(self.agreements))


def _each(function: Callable[[HierarchicalCalibration], T], belief: HierarchicalCalibration) -> T:
    """Apply a function of one campaign to all of them, one after the other, so that memory stays that of one."""
    batch = xp.shape(belief.log_weight)[:-1]
    if not batch:
        return function(belief)
    varying = {field.name: xp.asarray(getattr(belief, field.name)) for field in fields(belief)}
    x = varying.pop("logit_score")
    flat = {
        name: xp.broadcast_to(leaf, (*batch, *leaf.shape[len(batch) :])).reshape(-1, *leaf.shape[len(batch) :])
        for name, leaf in varying.items()
    }
    values = engine.mapped(lambda campaign: function(HierarchicalCalibration(x, **campaign)), flat)
    return engine.tree_map(lambda leaf: leaf.reshape(*batch, *leaf.shape[1:]), values)


def _given_point(belief: HierarchicalCalibration):
    """Mean and variance of every cell given every point, (H, K) each; one campaign."""
    x, node = xp.asarray(belief.logit_score), xp.exp(xp.asarray(belief.log_node))
    intercept, slope = (c[:, None, None] for c in xp.asarray(belief.coefficients).T)
    m = probability((intercept + slope * x)[:, :, None] + xp.asarray(belief.shift)[..., None])  # (H, G, Q, B)
    strength = xp.exp(xp.asarray(belief.log_strength))[:, None, None]
    r, n = (xp.asarray(count).reshape(x.shape) for count in (belief.agreements, belief.labels))
    total = strength + n
    expected = (node[..., None] * m).sum(2)
    scatter = (node[..., None] * (m - expected[:, :, None]) ** 2).sum(2)
    mean = (strength * expected + r) / total
    between = (strength / total) ** 2 * scatter
    within = (mean * (strength * (1 - expected) + n - r) / total - between) / (total + 1)
    return tuple(value.reshape(len(value), -1) for value in (mean, within + between))


@engine.jit
def _moments(belief: HierarchicalCalibration):
    def one(belief):
        means, variances = _given_point(belief)
        weight = belief.weight
        mean = weight @ means
        return mean, weight @ (variances + (means - mean) ** 2)

    return _each(one, belief)


@engine.jit
def _quantile(belief: HierarchicalCalibration, level: Float[Array, " L"]):
    """Take the quantiles of draws, (L, ..., K), one campaign after the other."""
    key, n = engine.random.key(0), int(np.clip(_NUMBERS // belief.agreements.shape[-1], _FEWEST_DRAWS, _MOST_DRAWS))

    def one(belief):
        key_component, key_beta = engine.random.split(key)
        return xp.quantile(standard_beta(key_beta, *_components(key_component, n, belief)), level, axis=0)

    return xp.moveaxis(_each(one, belief), -2, 0)


def _components(key: PRNGKey, n: int, belief: HierarchicalCalibration):
    """Beta parameters of all cells, (n, ..., K), given points and nodes drawn by their weights."""
    key_point, key_node = engine.random.split(key)
    log_weight = xp.asarray(belief.log_weight)
    point = engine.random.categorical(key_point, log_weight, shape=(n, *log_weight.shape[:-1]))
    return _at_nodes(belief, point, engine.random.categorical(key_node, _of_points(belief, belief.log_node, point)))


def _of_points(belief: HierarchicalCalibration, values: Array, point: Int[Array, "*shape"]) -> Float[Array, "..."]:
    """Values (..., H, *more) at points (*shape, ...)."""
    batch = xp.indices(point.shape, sparse=True)[point.ndim - np.ndim(belief.log_weight) + 1 :]
    return xp.asarray(values)[(*batch, point)]


def _at_nodes(belief: HierarchicalCalibration, point: Int[Array, "*shape"], node: Int[Array, "*shape G"]):
    """Beta parameters of all cells, (*shape, K), at points and nodes."""
    shift, beta, log_strength = (
        _of_points(belief, values, point) for values in (belief.shift, belief.coefficients, belief.log_strength)
    )
    shift, strength = xp.take_along_axis(shift, node[..., None], -1), xp.exp(log_strength)
    m = probability(beta[..., :1, None] + beta[..., 1:, None] * xp.asarray(belief.logit_score) + shift)
    m = m.reshape(*point.shape, -1)
    a = strength[..., None] * m + belief.agreements
    return a, strength[..., None] * (1 - m) + belief.labels - belief.agreements


@partial(engine.jit, static_argnums=(1, 3))
def _sample(key: PRNGKey, n: int, belief: HierarchicalCalibration, dtype: str):
    key_component, key_beta = engine.random.split(key)
    a, b = _components(key_component, n, belief)
    return standard_beta(key_beta, a.astype(dtype), b.astype(dtype))
