"""Methods that beliefs share: what follows from their draws, their Dirichlet parameters or their weighted points.

A belief of the package subclasses the one of these that fits, and says what is its own. Values have the shape (..., K),
or (..., K, O) where a label has one of O outcomes, as `belief.Belief` says.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import FloatGroups, IntGroups, PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.models._numerics.dirichlet_sampling import (
    dirichlet_draw,
    log_multivariate_beta,
    others,
    sample_dirichlet,
)
from bayes_assess.models.belief import MANY_VALUES, host_generator, pool_shares
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.program_items import added

Values = Float[Array, "*shape"] | Float[np.ndarray, "*shape"]
Counts = Int[Array, "*batch K O"] | Int[np.ndarray, "*batch K O"]


class _Samples(Protocol):
    def sample(self, key: PRNGKey, n: int) -> Array: ...


class Sampled:
    """A belief whose draws in a pool are draws of the population, completed by what unlabelled items show."""

    on_any_engine: ClassVar[bool] = True
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @any_engine
    def pool_draws(
        self: _Samples, key: PRNGKey, n: int, counts: Counts, sizes: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "S *shape"]:
        """Draw `n` times the values in a pool of `sizes` items, of which `counts` (..., K, O) are labelled."""
        key_theta, key_rest = engine.random.split(key)
        return pool_shares(key_rest, np.asarray(self.sample(key_theta, n)), counts, sizes)


class Dirichlet(Sampled):
    """Independent Dirichlet distributions of O outcomes each, with parameters `alpha` (..., O).

    Every probability is of a Beta distribution, with parameters alpha_j and the sum of the others.
    """

    alpha: Values
    on_host: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Float[np.ndarray, "*shape O"]:
        """Draw a value of every distribution, (*shape, ..., O), on the host."""
        return dirichlet_draw(rng, np.asarray(self.alpha), shape)

    def draws(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "S *batch O"]:
        """Draw `n` times from all distributions by NumPy's generator: other values than `sample`, and sooner."""
        return self.draw(rng, (n,))

    @any_engine
    def update(self, counts: Counts) -> Self:
        """Add sufficient statistics: `counts` (..., O) of labels with every outcome.

        Examples
        --------
        >>> from bayes_assess.models import DirichletConfusion
        >>> DirichletConfusion.from_prior(2, n_predictions=1, n_classes=2).update([[0, 3]]).alpha.tolist()
        [[1.0, 4.0]]
        """
        return replace(self, alpha=self.alpha + xp.asarray(counts).astype(xp.float64))

    def update_counts(self, counts: Counts) -> Self:
        """Add counts (..., O) of outcomes: `update`."""
        return self.update(counts)

    @any_engine
    def update_at_mean(self, n: Int[Array, "*batch"]) -> Self:
        """Imagine `n` more labels of every distribution, (...), that come back at the posterior mean.

        Examples
        --------
        >>> from bayes_assess.models import PairedOutcomes
        >>> PairedOutcomes.from_prior(4.0).update_at_mean(8).alpha.tolist()
        [3.0, 3.0, 3.0, 3.0]
        """
        return replace(self, alpha=self.alpha + xp.asarray(n, xp.float64)[..., None] * self.mean)

    @property
    @any_engine
    def mean(self) -> Values:
        """Posterior mean m_j = alpha_j / A of every outcome's probability, A the sum of alpha, (..., O)."""
        return self.alpha / self.alpha.sum(-1, keepdims=True)

    @property
    @any_engine
    def variance(self) -> Values:
        """Posterior variance m_j (1 - m_j) / (A + 1) of every outcome's probability, (..., O)."""
        alpha = xp.asarray(self.alpha)
        total = alpha.sum(-1, keepdims=True)
        return (alpha / total) * (others(alpha) / total) / (total + 1)

    @any_engine
    def beta_marginals(self) -> tuple[Values, Values]:
        """Return alpha_j and the sum of the others; see `belief.beta_marginals`."""
        alpha = xp.asarray(self.alpha)
        return alpha, others(alpha)

    @any_engine
    def sample(
        self, key: PRNGKey, n: int, *, dtype: type[np.floating] | np.dtype = np.float64
    ) -> Float[Array, "S *batch O"]:
        """Draw `n` times from all distributions, shape (n, ..., O).

        Draws of `dtype` 32-bit floats cost less than half, and do for ranking rows (see `BetaBernoulli.sample`).

        Examples
        --------
        >>> import jax
        >>> from bayes_assess.models import DirichletConfusion
        >>> DirichletConfusion.from_prior(n_predictions=3, n_classes=4).sample(jax.random.key(0), 5).shape
        (5, 3, 4)
        """
        return sample_dirichlet(key, n, xp.asarray(self.alpha, dtype))

    @any_engine
    def log_prob(self, theta: Values) -> Values:
        """Log density at probabilities `theta` (..., O), with respect to the first O - 1 of them, as (...)."""
        alpha, theta = xp.asarray(self.alpha), xp.asarray(theta, xp.float64)
        return engine.xlogy(alpha - 1, theta).sum(-1) - log_multivariate_beta(alpha)

    @any_engine
    def log_marginal(self, counts: Counts) -> Values:
        """Log probability of a sequence of labels with these counts (..., O), theta integrated out, as (...).

        It is log B(alpha + n) - log B(alpha), with B the multivariate Beta function.

        Examples
        --------
        >>> from bayes_assess.models import DirichletConfusion
        >>> prior = DirichletConfusion.from_prior(3, n_predictions=1, n_classes=3)
        >>> round(math.exp(prior.log_marginal([[1, 1, 0]])[0]), 6)  # 1/3 * 1/4
        0.083333
        """
        posterior = xp.asarray(self.update(counts).alpha)
        return log_multivariate_beta(posterior) - log_multivariate_beta(xp.asarray(self.alpha))


class Compiled(Sampled, ABC):
    """A belief that computes moments, draws and quantiles in one compiled function each."""

    @abstractmethod
    def _moments(self) -> tuple[Values, Values]: ...

    @abstractmethod
    def _draws(self, key: PRNGKey, n: int, dtype: str) -> Float[Array, "S *shape"]: ...

    @abstractmethod
    def _quantiles(self, level: Float[Array, "*levels"]) -> Float[Array, "*levels_shape"]: ...

    @property
    @any_engine
    def mean(self) -> Values:
        """Posterior mean of every value."""
        return self._once()[0]

    @property
    @any_engine
    def variance(self) -> Values:
        """Posterior variance of every value."""
        return self._once()[1]

    @any_engine
    def sample(
        self, key: PRNGKey, n: int, *, dtype: type[np.floating] | np.dtype = np.float64
    ) -> Float[Array, "S *shape"]:
        """Draw `n` joint values of all cells, (n, ...): hyperparameters for each draw, if there are any, then the rest.

        Examples
        --------
        >>> import jax
        >>> from bayes_assess.models import HierarchicalConfusion
        >>> HierarchicalConfusion.from_prior(n_classes=3).sample(jax.random.key(0), 5).shape
        (5, 3, 3)
        """
        return self._draws(key, n, np.dtype(dtype).name)

    @any_engine
    def quantile(self, level: ArrayLike) -> Float[Array, "*levels_shape"]:
        """Quantile of every value at one level, or at (L,) of them, (L, ...).

        Where no distribution function can be inverted it is that of some thousands of draws, always the same ones; of
        fewer where values are many, but never below 500.

        Examples
        --------
        >>> from bayes_assess.models import HierarchicalAccuracy
        >>> prior = HierarchicalAccuracy.from_prior(n_groups=1)
        >>> bool(0.6 < prior.quantile(0.5)[0] < 0.8)
        True
        """
        return self._quantiles(xp.asarray(level, xp.float64))

    @engine.kept
    def _once(self) -> tuple[Values, Values]:
        return self._moments()


class Points(Compiled):
    """A mixture over hyperparameter points with logarithms of weights `log_weight` (..., H)."""

    log_weight: Float[Array, "*batch H"] | Float[np.ndarray, "*batch H"]
    on_host: ClassVar[bool] = True

    def drawn_points(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Int[np.ndarray, "*shape"]:
        """Draw points by their weights, (*shape, ...), on the host."""
        return drawn_places(rng, np.asarray(self.weight), shape)

    @any_engine
    def pool_draws(
        self: Any, key: PRNGKey, n: int, counts: Counts, sizes: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "S *shape"]:
        """Draw `n` times the values in a pool of `sizes` items, of which `counts` (..., K, O) are labelled.

        Draws of many values at once are those of NumPy's generator where NumPy computes, which are made sooner.
        """
        if not engine.is_eager() or math.prod(np.shape(counts)[-2:]) < MANY_VALUES:
            return super().pool_draws(key, n, counts, sizes)
        return self._pool_draws_on_host(key, n, counts, sizes)

    def _pool_draws_on_host(
        self, key: PRNGKey, n: int, counts: Counts | IntGroups, sizes: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "S *shape"]:
        key_theta, key_rest = engine.random.split(key)
        return pool_shares(key_rest, self.draws(host_generator(key_theta), n), counts, sizes)

    def draws(self: Any, rng: np.random.Generator, n: int) -> Float[np.ndarray, "S *shape"]:
        """Draw `n` joint values by NumPy's generator, (n, ...): other ones than `sample`, and sooner."""
        return self.components(rng, (n,)).draw(rng)

    def matched(self) -> BetaBernoulli:
        """Return independent Beta distributions with the means and the variances of all values.

        Examples
        --------
        >>> from bayes_assess.models import HierarchicalAccuracy
        >>> posterior = HierarchicalAccuracy.from_prior(n_groups=2).update([8, 0], [10, 0])
        >>> bool(np.allclose(posterior.matched().variance, posterior.variance))
        True
        """
        return BetaBernoulli.of_moments(self.mean, self.variance)

    @property
    @any_engine
    def weight(self) -> Float[Array, "*batch H"]:
        """Probability of every point, (..., H)."""
        return engine.softmax(xp.asarray(self.log_weight), axis=-1)


class Agreements(Points):
    """A mixture that counts `agreements` of label and prediction among the `labels` of every cell, (..., K) each."""

    agreements: FloatGroups
    labels: FloatGroups

    @abstractmethod
    def _with_labels(self, agreements: FloatGroups, labels: FloatGroups) -> Self:
        """Return the posterior of the same prior after these labels in all, its points placed for them."""

    @engine.kept_last
    def _after(self, agreements: FloatGroups, labels: FloatGroups) -> Self:
        """Do the same; what a plan answers from at a look is where its next choices start."""
        return self._with_labels(agreements, labels)

    @any_engine
    def update(self, successes: IntGroups, trials: IntGroups) -> Self:
        """Add `successes` agreements among `trials` labels, each (..., K), and place the points anew."""
        return self._after(self.agreements + floats(successes), self.labels + floats(trials))

    def update_counts(self, counts: IntGroups) -> Self:
        """Add counts (..., K, 2) of outcomes: column 0 disagreements, column 1 agreements."""
        counts = np.asarray(counts) if isinstance(counts, list | tuple) else counts
        return self.update(counts[..., 1], counts.sum(-1))

    @any_engine
    def refreshed(self) -> Self:
        """Place the points anew where the labels learned by `observe` have carried the hyperposterior."""
        return self._with_labels(floats(self.agreements), floats(self.labels))

    @any_engine
    def update_at_mean(self, n: IntGroups) -> Self:
        """Imagine `n` more labels of every cell, (..., K), that come back at the posterior mean of that cell."""
        n = floats(n)
        return replace(self, agreements=self.agreements + n * self.mean, labels=self.labels + n)

    @any_engine
    def log_evidence(self) -> Float[Array, "*batch"]:
        """Log probability of the labels as a sequence, everything integrated out, from the points."""
        log_weight = xp.asarray(self.log_weight)
        return engine.logsumexp(log_weight, axis=-1) - math.log(log_weight.shape[-1])

    def _counts_after(self, counts: IntGroups | None) -> np.ndarray:
        """Count (..., K, 2) all labels learned, and some more."""
        labels, agreements = np.asarray(self.labels), np.asarray(self.agreements)
        return added(np.stack([labels - agreements, agreements], axis=-1), counts)


def drawn_places(
    rng: np.random.Generator, weight: Float[np.ndarray, "*batch H"], shape: tuple[int, ...] = ()
) -> Int[np.ndarray, "*shape"]:
    """Draw places on the last axis by their weights, (*shape, ...)."""
    upto = np.cumsum(weight, axis=-1)
    place = (rng.random((*shape, *upto.shape[:-1], 1)) > upto / upto[..., -1:]).sum(-1)
    return np.minimum(place, upto.shape[-1] - 1)


def floats(counts: ArrayLike) -> Float[Array, "*shape"]:
    """Convert counts to 64-bit floats on the engine in use."""
    return xp.asarray(counts).astype(xp.float64)
