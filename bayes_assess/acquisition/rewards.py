"""What one label of a group is worth under a posterior draw of the accuracies ([ABA] Table 1).

A reward turns accuracies theta~ (..., G) and the current Beta belief into values (..., G), the greater the better.
Rewards are small frozen objects, so that compiled designs can take them as static arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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

    def __call__(
        self, theta: FloatGroups, belief: BetaBernoulli, weight: Float[Array, " G"]
    ) -> Float[Array, "*batch G"]:
        """Value of one label of every group, under accuracies `theta`."""
        ...


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

    def __call__(self, theta, belief, weight):
        """Weighted expected variance reduction of every group."""
        return beta_variance_reduction(theta, belief.a, belief.b, weight)


@dataclass(frozen=True)
class LowAccuracy:
    """Find the m least accurate groups: minus the accuracy."""

    m: int = 1

    def __call__(self, theta, belief, weight):
        """Minus the accuracy of every group."""
        return -theta


@dataclass(frozen=True)
class HighAccuracy:
    """Find the m most accurate groups: the accuracy."""

    m: int = 1

    def __call__(self, theta, belief, weight):
        """Accuracy of every group."""
        return theta
