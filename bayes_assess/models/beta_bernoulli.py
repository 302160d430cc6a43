"""Accuracy of every group, one Beta-Bernoulli model per group ([ABA] "Bayesian Assessment").

Plate ``group`` (G): theta_g ~ Beta(a_g, b_g). Plate ``label`` (N): z_i ~ Bernoulli(theta_{g(i)}), where z_i is 1 when
the *label* of item i agrees with its prediction. The posterior is Beta(a_g + r_g, b_g + N_g - r_g) with r_g
agreements among N_g labels. Any binary outcome per group works the same way.

Shapes: parameters (..., G); draws (S, ..., G). Everything is 64-bit: counts up to 10^9 stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import FloatGroups, IntGroups, PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.levels import checked_strength
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import PriorError
from bayes_assess.models._mean_scores import mean_scores
from bayes_assess.models._numerics.beta_quantile import beta_quantile
from bayes_assess.models._numerics.beta_sampling import standard_beta
from bayes_assess.models._numerics.special import log_beta
from bayes_assess.models.belief import host_generator, pool_shares
from bayes_assess.models.program_items import items_of

# A mean score of exactly 0 or 1 would make an improper prior; it is moved inside by this much.
_SCORE_MARGIN = 1e-6
_LEAST = 1e-12  # of means, of what is left to 1, and of the sum of parameters


def program(
    groups: Int[Array, " N"], agreements: Int[Array, " N"] | None = None, *, a: FloatGroups, b: FloatGroups
) -> None:
    """Run the generative program: an accuracy per group, an outcome per label.

    Parameters
    ----------
    groups : (N,) integers in 0..G-1
        Group of every labelled item.
    agreements : (N,) zeros and ones, optional
        1 where the label agrees with the prediction; left out, the program simulates them.
    a, b : (G,) positive
        Prior parameters.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> groups = jnp.array([0, 0, 1])
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> trace = numpyro.handlers.trace(seeded).get_trace(groups, a=jnp.ones(2), b=jnp.ones(2))
    >>> trace["theta"]["value"].shape, trace["agreement"]["value"].shape
    ((2,), (3,))
    """
    with numpyro.plate("group", len(a)):
        theta = numpyro.sample("theta", dist.Beta(xp.asarray(a), xp.asarray(b)))
    with numpyro.plate("label", len(groups)):
        numpyro.sample("agreement", dist.Bernoulli(probs=xp.asarray(theta)[groups]), obs=agreements)


@partial(register_dataclass, data_fields=["a", "b"], meta_fields=[])
@dataclass(frozen=True)
class BetaBernoulli:
    """Independent Beta distributions over group accuracies: a prior, or the posterior after `update`.

    Parameters
    ----------
    a, b : (..., G) positive floats
        Beta parameters: `a` counts agreements of label and prediction, `b` disagreements.

    Examples
    --------
    >>> prior = BetaBernoulli.from_prior(n_groups=2)
    >>> posterior = prior.update(successes=[3, 0], trials=[4, 0])
    >>> [round(float(m), 3) for m in posterior.mean]
    [0.667, 0.5]
    """

    a: FloatGroups
    b: FloatGroups

    on_any_engine: ClassVar[bool] = True
    on_host: ClassVar[bool] = True

    @classmethod
    @any_engine
    def from_prior(
        cls, strength: float = 2.0, *, mean_score: FloatGroups | None = None, n_groups: int | None = None
    ) -> BetaBernoulli:
        """Build a prior worth `strength` labels per group ([ABA] "Priors").

        Parameters
        ----------
        strength : float, positive
            N0 = a + b, in labels.
        mean_score : (G,) in [0, 1], optional
            Mean confidence of every group's items: the informative prior a = N0 s, b = N0 (1 - s).
        n_groups : int, optional
            Number of groups, for the uninformative prior a = b = N0 / 2.

        Raises
        ------
        PriorError
            If the strength is not positive and finite, a score lies outside [0, 1], or neither or both of
            `mean_score` and `n_groups` are given.

        Examples
        --------
        >>> BetaBernoulli.from_prior(10, mean_score=[0.9, 0.5]).a.tolist()
        [9.0, 5.0]
        """
        checked_strength(strength)
        if (mean_score is None) == (n_groups is None):
            raise PriorError("Pass either `mean_score` (informative prior) or `n_groups` (uninformative prior).")
        if mean_score is None:
            half = xp.full(n_groups, strength / 2, xp.float64)
            return cls(half, half)
        score = xp.asarray(np.clip(mean_scores(mean_score), _SCORE_MARGIN, 1 - _SCORE_MARGIN))
        return cls(strength * score, strength * (1 - score))

    @classmethod
    @any_engine
    def of_moments(cls, mean: FloatGroups, variance: FloatGroups) -> BetaBernoulli:
        """Return the Beta distributions that have these means and variances, (...) each.

        With m the mean and v the variance, a + b = m (1 - m) / v - 1.

        Examples
        --------
        >>> uniform = BetaBernoulli.of_moments(np.array([0.5]), np.array([1 / 12]))
        >>> uniform.a.round(9).tolist(), uniform.b.round(9).tolist()
        ([1.0], [1.0])
        """
        m = xp.clip(xp.asarray(mean), _LEAST, 1 - _LEAST)
        total = xp.clip(m * (1 - m) / xp.maximum(xp.asarray(variance), _LEAST**2) - 1, _LEAST, 1 / _LEAST)
        return cls(m * total, (1 - m) * total)

    @any_engine
    def update(self, successes: IntGroups, trials: IntGroups) -> BetaBernoulli:
        """Add sufficient statistics: `successes` agreements among `trials` labels, each (..., G).

        Examples
        --------
        >>> BetaBernoulli.from_prior(n_groups=1).update([1], [3]).b.tolist()
        [3.0]
        """
        r, n = _floats(successes), _floats(trials)
        return replace(self, a=self.a + r, b=self.b + (n - r))

    @any_engine
    def update_counts(self, counts: IntGroups) -> BetaBernoulli:
        """Add counts (..., G, 2) of outcomes: column 0 disagreements, column 1 agreements.

        Examples
        --------
        >>> BetaBernoulli.from_prior(n_groups=1).update_counts([[2, 1]]).a.tolist()
        [2.0]
        """
        counts = _floats(counts)
        return replace(self, a=self.a + counts[..., 1], b=self.b + counts[..., 0])

    def program_arguments(self, counts: IntGroups | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (G, 2) integers, optional
            Labels of every group: column 0 disagreements, column 1 agreements.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> data = BetaBernoulli.from_prior(n_groups=2).program_arguments([[1, 2], [0, 1]])
        >>> data["groups"].tolist(), data["agreements"].tolist()
        ([0, 0, 0, 1], [0, 1, 1, 1])
        """
        a, b = np.asarray(self.a), np.asarray(self.b)
        groups, agreements = items_of(counts, (*a.shape, 2))
        return {"groups": groups, "agreements": agreements, "a": a, "b": b}

    @any_engine
    def update_at_mean(self, n: IntGroups) -> BetaBernoulli:
        """Imagine `n` more labels of every group, (..., G), that come back at the posterior mean."""
        mean = self.mean
        return replace(self, a=self.a + n * mean, b=self.b + n * (1 - mean))

    @property
    @any_engine
    def mean(self) -> FloatGroups:
        """Posterior mean a / (a + b), (..., G)."""
        return self.a / (self.a + self.b)

    @property
    @any_engine
    def variance(self) -> FloatGroups:
        """Posterior variance a b / ((a + b)^2 (a + b + 1)), (..., G)."""
        total = self.a + self.b
        return (self.a / total) * (self.b / total) / (total + 1)

    @any_engine
    def quantile(self, level: ArrayLike) -> FloatGroups:
        """Quantile of every accuracy at one level, (..., G), or at (L,) of them, (L, ..., G).

        Examples
        --------
        >>> BetaBernoulli.from_prior(n_groups=2).quantile(0.75).round(6).tolist()
        [0.75, 0.75]
        """
        level = xp.asarray(level, xp.float64)
        return beta_quantile(level.reshape(level.shape + (1,) * np.ndim(self.a)), self.a, self.b)

    def beta_marginals(self) -> tuple[FloatGroups, FloatGroups]:
        """Return the parameters themselves; see `belief.beta_marginals`."""
        return self.a, self.b

    @any_engine
    def pool_draws(
        self, key: PRNGKey, n: int, counts: IntGroups, sizes: Int[np.ndarray, " G"]
    ) -> Float[np.ndarray, "S *batch G"]:
        """Draw `n` vectors of the accuracies in a pool of `sizes` items, of which `counts` (..., G, 2) are labelled."""
        key_theta, key_rest = engine.random.split(key)
        a, b = np.asarray(self.a), np.asarray(self.b)
        return pool_shares(key_rest, host_generator(key_theta).beta(a, b, (n, *a.shape)), counts, sizes)

    @any_engine
    def sample(
        self, key: PRNGKey, n: int, *, dtype: type[np.floating] | np.dtype = np.float64
    ) -> Float[Array, "S *batch G"]:
        """Draw `n` independent vectors of accuracies, shape (n, ..., G).

        Draws of `dtype` 32-bit floats cost less than half. They do for ranking groups: accuracies are told apart by
        1e-7, and their distribution is right to some 1e-5.

        Examples
        --------
        >>> import jax
        >>> BetaBernoulli.from_prior(n_groups=3).sample(jax.random.key(0), 5).shape
        (5, 3)
        """
        a, b = (xp.asarray(parameter, dtype) for parameter in (self.a, self.b))
        return _sample(key, n, a, b)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Float[np.ndarray, "*shape G"]:
        """Draw a value of every distribution, (*shape, ..., G), on the host."""
        a, b = np.asarray(self.a), np.asarray(self.b)
        return rng.beta(a, b, (*shape, *a.shape))

    @any_engine
    def log_prob(self, theta: FloatGroups) -> FloatGroups:
        """Log density at accuracies `theta` (..., G)."""
        theta = xp.asarray(theta, xp.float64)
        return engine.xlogy(self.a - 1, theta) + engine.xlog1py(self.b - 1, -theta) - log_beta(self.a, self.b)

    @any_engine
    def log_marginal(self, successes: IntGroups, trials: IntGroups) -> FloatGroups:
        """Log probability of a sequence of labels with these counts, theta integrated out: log B(a', b') / B(a, b).

        Examples
        --------
        >>> import math
        >>> prior = BetaBernoulli.from_prior(n_groups=1)
        >>> round(math.exp(prior.log_marginal([1], [2])[0]), 6)  # int theta (1 - theta) = 1/6
        0.166667
        """
        posterior = self.update(successes, trials)
        return log_beta(posterior.a, posterior.b) - log_beta(self.a, self.b)


def statistics(
    groups: np.ndarray, agreements: np.ndarray, n_groups: int
) -> tuple[Int[np.ndarray, " G"], Int[np.ndarray, " G"]]:
    """Count agreements and labels per group, the sufficient statistics of a set of labels.

    Parameters
    ----------
    groups : (N,) integers in 0..G-1
    agreements : (N,) zeros and ones
        1 where the label agrees with the prediction.
    n_groups : int

    Returns
    -------
    successes, trials : (G,) int64

    Examples
    --------
    >>> statistics([0, 0, 2], [1, 0, 1], 3)
    (array([1, 0, 1]), array([2, 0, 1]))
    """
    groups = np.asarray(groups, np.int64)
    hits = groups[np.asarray(agreements).astype(bool)]
    return np.bincount(hits, minlength=n_groups), np.bincount(groups, minlength=n_groups)


@partial(engine.jit, static_argnums=1)
def _sample(key: PRNGKey, n: int, a: Float[Array, "*batch G"], b: Float[Array, "*batch G"]):
    shape = (n, *a.shape)
    return standard_beta(key, xp.broadcast_to(a, shape), xp.broadcast_to(b, shape))


def _floats(counts: IntGroups) -> Float[Array, "*batch G"]:
    return xp.asarray(counts).astype(xp.float64)
