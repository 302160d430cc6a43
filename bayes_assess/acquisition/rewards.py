"""What one label of a group is worth under a posterior draw of the accuracies ([ABA] Table 1).

A reward turns accuracies theta~ (..., G) and the current Beta belief into values (..., G), the greater the better.
Rewards are small pytrees, so that compiled designs carry them in their state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

from jax.tree_util import register_dataclass
from jaxtyping import Array, Float

from bayes_assess._typing import FloatGroups
from bayes_assess.acquisition.variance_reduction import beta_variance_reduction
from bayes_assess.models import BetaBernoulli


class Reward(Protocol):
    """The interface that designs use: how many arms a round plays, and what each is worth."""

    @property
    def m(self) -> int:
        """Arms played in one round."""
        ...

    @property
    def n_outcomes(self) -> int:
        """Outcomes that a label can have."""
        ...

    def __call__(
        self, theta: FloatGroups, belief: BetaBernoulli, weight: Float[Array, " G"]
    ) -> Float[Array, "*batch G"]:
        """Value of one label of every group, under accuracies `theta`."""
        ...


@partial(register_dataclass, data_fields=[], meta_fields=["m", "n_outcomes"])
@dataclass(frozen=True)
class VarianceReduction:
    """Estimate every group's accuracy: the weighted reduction of its posterior variance.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> belief = BetaBernoulli.from_prior(n_groups=2).update([1, 90], [2, 180])
    >>> value = VarianceReduction()(jnp.full(2, 0.5), belief, jnp.full(2, 0.5))
    >>> bool(value[0] > value[1])  # the group with fewer labels has more to give
    True
    """

    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Weighted expected variance reduction of every group."""
        return beta_variance_reduction(theta, belief.a, belief.b, weight)


@partial(register_dataclass, data_fields=[], meta_fields=["m", "n_outcomes"])
@dataclass(frozen=True)
class LowAccuracy:
    """Find the m least accurate groups: minus the accuracy."""

    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Minus the accuracy of every group."""
        return -theta


@partial(register_dataclass, data_fields=[], meta_fields=["m", "n_outcomes"])
@dataclass(frozen=True)
class HighAccuracy:
    """Find the m most accurate groups: the accuracy."""

    m: int = 1
    n_outcomes: int = 2

    def __call__(self, theta, belief, weight):
        """Accuracy of every group."""
        return theta
