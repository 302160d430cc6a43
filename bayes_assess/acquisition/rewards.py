"""What one label of an arm is worth under a posterior draw ([ABA] Table 1).

An arm is what a design plays: a cell, or a group of neighbouring cells. A reward turns a draw theta~ of all cells and
the current belief into one value per arm, the greater the better. Rewards are small pytrees that hold what the pool
and the question fix (scores, costs, the groups to compare), so that compiled designs carry them in their state.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int, Scalar
from bayes_assess.acquisition._after_label import after_label
from bayes_assess.acquisition.accuracy_variance import beta_variance_reduction, sample_variance_reduction
from bayes_assess.acquisition.calibration import calibration_reward
from bayes_assess.acquisition.confusion import (
    cost_reward,
    dirichlet_variance_reduction,
    nested_variance_reduction,
    sample_dirichlet_variance_reduction,
)
from bayes_assess.models.belief import Belief, beta_marginals, is_mixture
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.dirichlet_confusion import DirichletConfusion
from bayes_assess.models.nested_dirichlet import NestedDirichlet
from bayes_assess.models.sampled_belief import as_draws


class Reward(ABC):
    """The interface that designs use."""

    m: int  # arms played in one round
    n_outcomes: int  # outcomes that a label can have
    asked_only: ClassVar[bool] = False  # as of `CellMeasure`
    stochastic: ClassVar[bool] = False  # as of `CellMeasure`
    of_each: ClassVar[bool] = True  # whether an arm's value is greatest or least at a quantile of its probability
    cells_per_arm: int = 1  # arm g consists of cells g * cells_per_arm and the next ones

    @abstractmethod
    def __call__(self, theta: Float[Array, "K *O"], belief: Belief, weight: Float[Array, " K"]) -> Float[Array, " A"]:
        """Value of one label of every arm, under outcome probabilities `theta` of the K cells.

        Beliefs with a closed form, and `theta`, may have axes before these, which the values have then, too, unless all
        are alike.
        """

    def deciding(self, component: Belief, counts: Int[Array, "K O"]) -> Belief:
        """Return what to decide on in the place of a mixture's component; `counts` are the labels in it."""
        return component


# Labels that what other groups have taught counts as where the next label is chosen, as many as [ABA]'s priors do:
# groups may differ by more than a model knows.
MOST_BORROWED = 2.0
_LEAST = 1e-9  # of a Beta distribution's parameters, whose labels are taken off with rounding errors
COUNTS = ["m", "n_outcomes"]  # fields of rewards that are no arrays


@partial(register_dataclass, data_fields=[], meta_fields=[*COUNTS, "most_borrowed"])
@dataclass(frozen=True)
class AccuracyVarianceReduction(Reward):
    """Estimate every cell's accuracy: the weighted reduction of its posterior variance.

    Parameters
    ----------
    most_borrowed : float
        Labels that what other cells have taught may count as in a decision. A strength learned from the cells that
        have labels would leave the others without any, whatever they hold.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from bayes_assess import BetaBernoulli
    >>> belief = BetaBernoulli.from_prior(n_groups=2).update([1, 90], [2, 180])
    >>> value = AccuracyVarianceReduction()(jnp.full(2, 0.5), belief, jnp.full(2, 0.5))
    >>> bool(value[0] > value[1])  # the group with fewer labels has more to give
    True
    """

    m: int = 1
    n_outcomes: int = 2
    most_borrowed: float = math.inf

    @any_engine
    def deciding(self, component: Belief, counts: Int[Array, "K O"]) -> Belief:
        """Let what other cells have taught count as few labels."""
        marginals = beta_marginals(component)
        if marginals is None or self.most_borrowed == math.inf:
            return component
        told = counts[..., 1], counts[..., 0]
        a, b = (xp.maximum(parameter - labels, _LEAST) for parameter, labels in zip(marginals, told, strict=True))
        share = xp.minimum(1.0, self.most_borrowed / (a + b))
        return BetaBernoulli(a * share + told[0], b * share + told[1])

    def __call__(self, theta, belief, weight):
        """Weighted expected variance reduction of every cell."""
        marginals = beta_marginals(belief)
        if marginals is not None:
            return beta_variance_reduction(theta, *marginals, weight)
        if is_mixture(belief):
            (_, wrong), (_, right) = after_label(belief)
            return weight * (belief.variance - (1 - theta) * wrong - theta * right)
        sampled = as_draws(belief)
        return sample_variance_reduction(theta, xp.asarray(sampled.draws), weight, sampled.importance)


@partial(register_dataclass, data_fields=["scale"], meta_fields=[*COUNTS, "most_borrowed"])
@dataclass(frozen=True)
class ScaledVarianceReduction(AccuracyVarianceReduction):
    """Estimate a sum over cells of scale |accuracy - constant|: what a label takes from a bound of its variance.

    A modulus has at most the variance of what is in it, so that sum_k scale_k^2 Var(theta_k) is such a bound.

    Parameters
    ----------
    scale : (K,)
        Weights of the cells in the sum, of either sign.
    """

    scale: Scalar = 1.0

    def __call__(self, theta, belief, weight):
        """Compute the expected variance reduction of every cell, times its squared scale."""
        return super().__call__(theta, belief, xp.broadcast_to(xp.asarray(self.scale) ** 2, weight.shape))


@partial(register_dataclass, data_fields=[], meta_fields=[*COUNTS, "most_borrowed"])
@dataclass(frozen=True)
class RecallVarianceReduction(AccuracyVarianceReduction):
    """Estimate every group's recall, a `TruePositiveRate`: the reduction of its variance, if the item is positive.

    With p_g the share of the items and pi_g that of the positive ones among them, the reduction is p_g pi_g^2 that of
    the rate by a positive item: groups weigh by their positive items, and one item in 1 / pi_g is one.
    """

    n_outcomes: int = 3

    def deciding(self, component, counts):
        """Let what other groups have taught of rates count as few labels."""
        whole: Any = component
        return replace(whole, rate=super().deciding(whole.rate, counts[..., :2]))

    def __call__(self, theta, belief, weight):
        """Weighted expected variance reduction of every group."""
        return super().__call__(theta, belief.rate, weight * belief.share.mean**2)


@partial(register_dataclass, data_fields=[], meta_fields=COUNTS)
@dataclass(frozen=True)
class LowAccuracy(Reward):
    """Find the m least accurate groups: minus the accuracy."""

    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Minus the accuracy of every group."""
        return -theta


@partial(register_dataclass, data_fields=[], meta_fields=COUNTS)
@dataclass(frozen=True)
class HighAccuracy(Reward):
    """Find the m most accurate groups: the accuracy."""

    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Accuracy of every group."""
        return theta


@partial(register_dataclass, data_fields=[], meta_fields=COUNTS)
@dataclass(frozen=True)
class ConfusionVarianceReduction(Reward):
    """Estimate the confusion matrix: the weighted reduction of a row's total posterior variance.

    Rows = predicted class, columns = label, here and in `theta`.
    """

    n_outcomes: int
    m: int = 1

    def __call__(self, theta, belief, weight):
        """Weighted expected variance reduction of every predicted class."""
        marginals = beta_marginals(belief)
        if marginals is not None:
            return dirichlet_variance_reduction(theta, marginals[0], weight)
        if isinstance(belief, NestedDirichlet):
            a, b, alpha, own = (xp.asarray(x) for x in (belief.a, belief.b, belief.alpha, belief.own))
            return nested_variance_reduction(theta, a, b, alpha, own, weight)
        if is_mixture(belief):  # as if rows were independent, of the same means and total variances
            matched = DirichletConfusion.of_moments(belief.mean, belief.variance)
            return dirichlet_variance_reduction(theta, matched.alpha, weight)
        sampled = as_draws(belief)
        return sample_dirichlet_variance_reduction(theta, xp.asarray(sampled.draws), weight, sampled.importance)


@partial(register_dataclass, data_fields=["cost"], meta_fields=COUNTS)
@dataclass(frozen=True)
class Cost(Reward):
    """Find the m predicted classes that cost most: the cost sum_j c_kj theta~_kj.

    Parameters
    ----------
    cost : (K, O)
        Cost of every outcome of a label. Rows = predicted class.
    """

    cost: Float[Array, "K O"] | Float[np.ndarray, "K O"]
    n_outcomes: int
    m: int = 1

    of_each: ClassVar[bool] = False

    def __call__(self, theta, belief, weight):
        """Cost of every predicted class."""
        return cost_reward(theta, xp.asarray(self.cost))


@partial(register_dataclass, data_fields=["score", "weight"], meta_fields=[*COUNTS, "cells_per_arm"])
@dataclass(frozen=True)
class CalibrationError(Reward):
    """Find the m least calibrated groups, whose cells are bins of the confidence: the expected calibration error.

    Parameters
    ----------
    score, weight : (G, B)
        Mean confidence of every bin, and its share of the group's items.
    cells_per_arm : int
        B.
    """

    score: Float[Array, "G B"] | Float[np.ndarray, "G B"]
    weight: Float[Array, "G B"] | Float[np.ndarray, "G B"]
    cells_per_arm: int
    m: int = 1
    n_outcomes: int = 2

    of_each: ClassVar[bool] = False

    def __call__(self, theta, belief, weight):
        """Compute the expected calibration error of every group."""
        score, share = xp.asarray(self.score), xp.asarray(self.weight)
        return calibration_reward(theta.reshape(*theta.shape[:-1], *score.shape), score, share)


@partial(register_dataclass, data_fields=[], meta_fields=COUNTS)
@dataclass(frozen=True)
class Indifferent(Reward):
    """Every arm is worth the same."""

    n_outcomes: int
    m: int = 1

    def __call__(self, theta, belief, weight):
        """Nothing for every arm."""
        return xp.zeros(weight.shape)
