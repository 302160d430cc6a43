"""Accuracy of every group where groups learn from each other: a regression on covariates with beta-binomial scatter.

Plate ``group`` (G): theta_g ~ Beta(nu m_g, nu (1 - m_g)), logit m_g = x_g' beta, where x_g is 1, the logit of the
group's mean score less its mean over groups if there are scores, the logarithm of its size and the square of that if
sizes of ten groups or more differ, and what other covariates the user names. Sizes belong here since designs look at
them: a class that is predicted too often is less accurate, and asked about more. Plate ``covariate`` (P): beta_p ~
Normal(location_p, scale_p); log nu ~ Normal(log 12, 1.3) of predicted classes, which differ, and Normal(3.5, 1.8) of
groups of other kinds, which are more alike. Plate ``label`` (N): z_i ~ Bernoulli(theta_{g(i)}), 1 when the *label* of
item i agrees with its prediction (METHODS 12.5, which has the first prior for all).

Systems that are very sure are less accurate than they say, and others more: the level of all groups, at the mean of
their scores' logits, is expected half way from there to that of an accuracy of 0.88, by 1.4 to either side. Were it the
slope times that mean, which METHODS 12.5 has, log odds of groups whose scores are near 1 would be next to anything, and
a few dozen labels without an error would leave no room for one. The constants come from a population of pools (METHODS
12.7; `benchmarks/study_group_prior.py`).

Given (beta, nu) the posterior is BetaBernoulli's. The posterior of (beta, nu) is carried by H weighted points: a
Gaussian around the mode of the quasi-likelihood, over a grid in log nu, is drawn from at quasi-random points, and each
is weighted by the exact beta-binomial probability of the labels:

    log w_h = sum_g log B(nu m + r, nu (1 - m) + n - r) - log B(nu m, nu (1 - m)) + log prior - log proposal.

One more label of group g, agreeing or not, multiplies the weights by (nu m_g + r_g) / (nu + n_g) or its complement, so
that a campaign can go on from label to label at the cost O(H).

Shapes: counts (..., G), points (..., H) and (..., H, P), draws (S, ..., G). Everything is 64-bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.axes import FloatGroups, IntGroups, PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import PriorError
from bayes_assess.models._bases import Agreements
from bayes_assess.models._mean_scores import logits, mean_scores
from bayes_assess.models._numerics.beta_quantile import mixture_quantile
from bayes_assess.models._numerics.beta_sampling import standard_beta
from bayes_assess.models._numerics.regression_points import (
    LOG_STRENGTH,
    N_POINTS,
    expected_accuracy,
    normal_points,
    weighted_points,
)
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.program_items import counts_of, items_of

ALIKE = (3.5, 1.8)  # mean and standard deviation of log nu before labels, of groups that are no predicted classes
# Without scores the intercept alone says how accurate a group is (METHODS 12.5).
_INTERCEPT, _SLOPE, _OTHER = (1.0, 2.0), (1.0, 0.7), (0.0, 0.7)
_USUAL, _TRUST, _AROUND = 2.0, 0.5, 1.4  # of systems with scores: log odds of being right, and how far scores move them
# Of a unit of the logarithm of a group's size, and at most of its standard deviation. Sizes so alike play no part, nor
# do those of so few groups, which tell nothing of what goes with size.
_BY_SIZE, _MOST_BY_SIZE, _SIZES_ALIKE, _FEW_GROUPS = 1.0, 0.5, 0.1, 9


def program(
    groups: Int[Array, " N"],
    agreements: Int[Array, " N"] | None = None,
    *,
    covariates: Float[Array, "G P"],
    location: Float[Array, " P"],
    scale: Float[Array, " P"],
    strength_prior: Float[Array, " 2"] | tuple[float, float] = LOG_STRENGTH,
) -> None:
    """Run the generative program: a regression, an accuracy per group around it, an outcome per label.

    Parameters
    ----------
    groups : (N,) integers in 0..G-1
        Group of every labelled item.
    agreements : (N,) zeros and ones, optional
        1 where the label agrees with the prediction; left out, the program simulates them.
    covariates : (G, P)
        The first column is 1.
    location, scale : (P,)
        Prior means and standard deviations of the coefficients.
    strength_prior : (2,)
        Prior mean and standard deviation of log nu.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> one = jnp.ones((3, 1))
    >>> trace = numpyro.handlers.trace(seeded).get_trace(
    ...     jnp.array([0, 0, 2]), covariates=one, location=jnp.ones(1), scale=jnp.ones(1)
    ... )
    >>> trace["theta"]["value"].shape, trace["agreement"]["value"].shape
    ((3,), (3,))
    """
    from bayes_assess.models._numerics import charts  # imports NumPyro

    expected, strength = regression(covariates, location, scale, strength_prior)
    told = counts_of(groups, agreements, len(covariates), 2)[:, ::-1]
    with numpyro.plate("group", len(covariates)):
        numpyro.deterministic("expected", expected)
        parameters = strength * xp.stack([expected, 1 - expected], axis=-1)
        logit = xp.asarray(numpyro.sample("logit", charts.LogitDirichlet(parameters, told)))[..., 0]
        numpyro.deterministic("theta", engine.sigmoid(logit))
    with numpyro.plate("label", len(groups)):
        numpyro.sample("agreement", dist.Bernoulli(logits=logit[groups]), obs=agreements)


def regression(
    covariates: Float[Array, "G P"],
    location: Float[Array, " P"],
    scale: Float[Array, " P"],
    strength_prior: Float[Array, " 2"] | tuple[float, float] = LOG_STRENGTH,
) -> tuple[Float[Array, " G"], Float[Array, ""]]:
    """Draw the regression inside a program; return the accuracies m expected of groups, and the strength nu."""
    covariates = xp.asarray(covariates)
    with numpyro.plate("covariate", covariates.shape[1]):
        coefficient = numpyro.sample("coefficient", dist.Normal(xp.asarray(location), xp.asarray(scale)))
    strength = xp.exp(numpyro.sample("log_strength", dist.Normal(strength_prior[0], strength_prior[1])))
    return expected_accuracy(covariates @ xp.asarray(coefficient)), strength


_PRIOR = ("covariates", "location", "scale", "strength_prior")
_DATA = [*_PRIOR, "agreements", "labels", "coefficients", "log_strength", "log_weight"]


@partial(register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class HierarchicalAccuracy(Agreements):
    """A mixture of independent Beta distributions over group accuracies, one part per hyperparameter point.

    Made by `from_prior`; `update_counts` adds labels.

    Parameters
    ----------
    covariates : (G, P)
    location, scale : (P,)
        Prior of the coefficients.
    agreements, labels : (..., G)
        Labels that agree with their predictions, and labels in all.
    coefficients : (..., H, P)
    log_strength, log_weight : (..., H)
        log nu, and the logarithm of each point's weight up to a constant.
    strength_prior : (2,)
        Mean and standard deviation of log nu before any label.

    Examples
    --------
    >>> prior = HierarchicalAccuracy.from_prior(n_groups=3)
    >>> posterior = prior.update([9, 10, 0], [10, 10, 0])  # the third group has no label
    >>> bool(posterior.mean[2] > 0.8 > prior.mean[2])
    True
    """

    covariates: Float[Array, "G P"] | Float[np.ndarray, "G P"]
    location: Float[Array, " P"] | Float[np.ndarray, " P"]
    scale: Float[Array, " P"] | Float[np.ndarray, " P"]
    agreements: FloatGroups
    labels: FloatGroups
    coefficients: Float[Array, "*batch H P"] | Float[np.ndarray, "*batch H P"]
    log_strength: Float[Array, "*batch H"] | Float[np.ndarray, "*batch H"]
    log_weight: Float[Array, "*batch H"] | Float[np.ndarray, "*batch H"]
    strength_prior: Float[Array, " 2"] | Float[np.ndarray, " 2"] = field(default_factory=lambda: np.array(LOG_STRENGTH))

    @classmethod
    @any_engine
    def from_prior(
        cls,
        *,
        mean_score: ArrayLike | None = None,
        n_groups: int | None = None,
        sizes: ArrayLike | None = None,
        covariates: Mapping[str, ArrayLike] | None = None,
        around_scores: float | None = None,
        strength_prior: tuple[float, float] = LOG_STRENGTH,
    ) -> HierarchicalAccuracy:
        """Build the prior; it has no strength to choose, since that is learned.

        Parameters
        ----------
        mean_score : (G,) in [0, 1], optional
            Mean confidence of every group's items.
        n_groups : int, optional
            Number of groups, where there are no scores.
        sizes : (G,) integers, optional
            Items of every group; left out, nearly alike or of fewer than ten groups, they play no part.
        covariates : mapping of str to (G,) numbers, optional
            Other knowledge of the groups; every column is standardised.
        around_scores : float, optional
            Standard deviation of the level of all groups around that of their scores, in log odds, of what is no
            accuracy of a system, such as a share of positive items.
        strength_prior : (2,)
            Mean and standard deviation of log nu: how alike groups are, given their covariates. Those of predicted
            classes are apart; `ALIKE` is for groups by sites, sources or bins of the confidence.

        Raises
        ------
        PriorError
            If a score lies outside [0, 1], a covariate or size is not one finite number per group, `around_scores` is
            not a positive number, `strength_prior` is not a number and a positive one, or neither or both of
            `mean_score` and `n_groups` are given.

        Examples
        --------
        >>> prior = HierarchicalAccuracy.from_prior(mean_score=[0.6, 0.9])
        >>> prior.covariates.round(2).tolist(), prior.location.round(2).tolist()
        ([[1.0, -0.86], [1.0, 0.86]], [1.63, 1.0])
        """
        if (mean_score is None) == (n_groups is None):
            raise PriorError("Pass either `mean_score`, or `n_groups` where there are no scores.")
        if around_scores is not None and not (is_number(around_scores) and 0 < around_scores < np.inf):
            raise PriorError(f"`around_scores` is a positive number of log odds; found {show(around_scores)}.")
        strength = _checked_strength(strength_prior)
        columns, priors = [], [_INTERCEPT]
        if mean_score is not None:
            score = logits(mean_scores(mean_score))
            center, level = _level(score, around_scores)
            columns, priors, n_groups = [score - center], [level, _SLOPE], len(score)
        if sizes is not None:
            log_size = np.log1p(_numbers("`sizes`", sizes, n_groups))
            spread = log_size.std()
            if spread > _SIZES_ALIKE and len(log_size) > _FEW_GROUPS:
                away = _standardised(log_size)
                columns += [away, _standardised(away**2)]
                priors += 2 * [(0.0, min(_BY_SIZE * spread, _MOST_BY_SIZE))]
        for name, values in (covariates or {}).items():
            columns.append(_standardised(_numbers(f"Covariate {name!r}", values, n_groups)))
            priors.append(_OTHER)
        design = np.stack([np.ones(n_groups or 0), *columns], axis=1)
        location, scale = np.array(priors).T
        # Without labels the points are draws of the prior, of equal weight.
        points = np.array([strength[0], *location]) + normal_points(len(location) + 1) * [strength[1], *scale]
        nothing = np.zeros(len(design))
        return cls(design, location, scale, nothing, nothing, points[:, 1:], points[:, 0], np.zeros(N_POINTS), strength)

    def program_arguments(self, counts: IntGroups | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (G, 2) integers, optional
            Further labels of every group: column 0 disagreements, column 1 agreements.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> belief = HierarchicalAccuracy.from_prior(n_groups=2).update([1, 0], [1, 1])
        >>> data = belief.program_arguments([[0, 1], [0, 0]])
        >>> data["groups"].tolist(), data["agreements"].tolist()
        ([0, 0, 1], [1, 1, 0])
        """
        groups, outcomes = items_of(self._counts_after(counts), (*self.labels.shape, 2))
        prior = {name: np.asarray(getattr(self, name)) for name in _PRIOR}
        return {"groups": groups, "agreements": outcomes, **prior}

    @any_engine
    def observe(self, group: Int[Array, ""], outcome: Int[Array, ""]) -> HierarchicalAccuracy:
        """Learn one label, 1 if it agrees, at the cost O(H): points stay, their weights move. Not for batches."""
        expected, strength = expected_accuracy(self.coefficients @ self.covariates[group]), xp.exp(self.log_strength)
        r, n = self.agreements[group], self.labels[group]
        agreeing = xp.where(outcome == 1, strength * expected + r, strength * (1 - expected) + n - r)
        return replace(
            self,
            agreements=engine.at(self.agreements)[group].add(outcome == 1),
            labels=engine.at(self.labels)[group].add(1),
            log_weight=self.log_weight + xp.log(agreeing / (strength + n)),
        )

    @any_engine
    def component(self, key: PRNGKey) -> BetaBernoulli:
        """Draw one part of the mixture by its weight; labels that are imagined then leave the others alone.

        Examples
        --------
        >>> import jax
        >>> HierarchicalAccuracy.from_prior(n_groups=3).component(jax.random.key(0)).mean.shape
        (3,)
        """
        return BetaBernoulli(*_component(key, self))

    def components(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> BetaBernoulli:
        """Draw parts of the mixture by their weights, (*shape, ..., G), on the host.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> HierarchicalAccuracy.from_prior(n_groups=3).components(rng, (5,)).draw(rng).shape
        (5, 3)
        """
        with engine.eager():
            return BetaBernoulli(*_at_point(self, self.drawn_points(rng, shape)))

    @property
    @any_engine
    def after_label(self) -> tuple[tuple[FloatGroups, FloatGroups], tuple[FloatGroups, FloatGroups]]:
        """Mean and variance of every group after one more label of it: if that disagrees, and if it agrees."""
        return _after_label(self)

    @property
    @any_engine
    def parts(self) -> tuple[Float[Array, "*batch H G"], Float[Array, "*batch H G"]]:
        """Beta parameters of every part of the mixture, (..., H, G) each."""
        return _parts(self)

    @any_engine
    def pool_draws(
        self, key: PRNGKey, n: int, counts: IntGroups, sizes: Int[np.ndarray, " G"]
    ) -> Float[np.ndarray, "S *batch G"]:
        """Draw `n` vectors of the accuracies in a pool of `sizes` items, of which `counts` (..., G, 2) are labelled."""
        return self._pool_draws_on_host(key, n, counts, sizes)

    def _with_labels(self, agreements: FloatGroups, labels: FloatGroups) -> HierarchicalAccuracy:
        prior = self.covariates, self.location, self.scale
        points = weighted_points(*prior, self.strength_prior, agreements, labels)
        return HierarchicalAccuracy(*prior, agreements, labels, *points, self.strength_prior)

    @engine.jit
    def _moments(self):
        a, b = _parts(self)
        total, w = a + b, self.weight[..., None]
        means = a / total
        mean = (w * means).sum(-2)
        within = means * (b / total) / (total + 1)
        return mean, (w * (within + (means - mean[..., None, :]) ** 2)).sum(-2)

    @engine.jit
    def _quantiles(self, level: Float[Array, "*levels"]):
        level = level.reshape(level.shape + (1,) * self.agreements.ndim)
        a, b = _parts(self)
        return mixture_quantile(level, a, b, xp.asarray(self.weight))

    @partial(engine.jit, static_argnums=(2, 3))
    def _draws(self, key: PRNGKey, n: int, dtype: str):
        key_point, key_beta = engine.random.split(key)
        point = engine.random.categorical(key_point, self.log_weight, (n, *self.log_weight.shape[:-1]))
        a, b = _at_point(self, point)
        return standard_beta(key_beta, a.astype(dtype), b.astype(dtype))


def _numbers(what: str, values: ArrayLike, n_groups: int | None) -> Float[np.ndarray, " G"]:
    column = np.asarray(values)
    if column.shape != (n_groups,):
        raise PriorError(f"{what} has shape {column.shape}; pass one number for each of {n_groups} groups.")
    if column.dtype.kind not in "biuf" or not np.isfinite(column.astype(np.float64)).all():
        raise PriorError(f"{what} is not a finite number for every group; fill in or drop the column.")
    return column.astype(np.float64)


def _checked_strength(strength_prior: tuple[float, float]) -> Float[np.ndarray, " 2"]:
    given = np.asarray(strength_prior)
    if given.shape != (2,) or given.dtype.kind not in "iuf" or not (np.isfinite(given).all() and given[1] > 0):
        raise PriorError(f"`strength_prior` is mean and standard deviation of log nu; found {show(strength_prior)}.")
    return given.astype(np.float64)


def _level(score: Float[np.ndarray, " G"], around_scores: float | None) -> tuple[float, tuple[float, float]]:
    """Return the center of the groups' scores, as logits, and the prior of the intercept there."""
    center = float(score.mean())
    expected = _USUAL + _TRUST * (center - _USUAL)
    return center, ((expected, _AROUND) if around_scores is None else (center, around_scores))


def _standardised(column: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
    spread = column.std()
    return (column - column.mean()) / (spread if spread > 0 else 1.0)


def _expected(belief: HierarchicalAccuracy) -> Float[Array, "*batch H G"]:
    return expected_accuracy(xp.asarray(belief.coefficients) @ xp.asarray(belief.covariates).T)


@engine.jit
def _parts(belief: HierarchicalAccuracy):
    expected, strength = _expected(belief), xp.exp(belief.log_strength)[..., None]
    r, n = (xp.asarray(x)[..., None, :] for x in (belief.agreements, belief.labels))
    return strength * expected + r, strength * (1 - expected) + n - r


@engine.jit
def _after_label(belief: HierarchicalAccuracy):
    """Moments under the parts weighted by what they give the outcome: E[theta^j (1 - theta)] and E[theta^(j + 1)]."""
    a, b = _parts(belief)
    total, w = a + b, belief.weight[..., None]
    first = a / total
    second = first * (a + 1) / (total + 1)
    third = second * (a + 2) / (total + 2)
    powers = [(w * power).sum(-2) for power in (xp.ones_like(first), first, second, third)]
    after = []
    for zeroth, first_power, second_power in ([low - high for low, high in pairwise(powers)], powers[1:]):
        mean = first_power / zeroth
        after.append((mean, xp.maximum(second_power / zeroth - mean**2, 0.0)))
    return tuple(after)


@engine.jit
def _component(key: PRNGKey, belief: HierarchicalAccuracy):
    """Beta parameters (..., G) of one point for every campaign."""
    return _at_point(belief, engine.random.categorical(key, belief.log_weight))


def _at_point(belief: HierarchicalAccuracy, point: Int[Array, "*S *batch"]):
    """Beta parameters (..., G) at points."""
    batch = xp.indices(point.shape, sparse=True)[point.ndim - belief.log_weight.ndim + 1 :]
    strength = xp.exp(xp.asarray(belief.log_strength)[(*batch, point)])[..., None]
    beta = xp.asarray(belief.coefficients)[(*batch, point)]
    m = expected_accuracy(beta @ xp.asarray(belief.covariates).T)
    return strength * m + belief.agreements, strength * (1 - m) + belief.labels - belief.agreements
