"""True positive rates of groups, where labels tell which items are positive at all.

In the plate ``item`` of group g: the label is positive with probability pi_g, and the prediction of a positive item is
positive with probability theta_g, the true positive rate. The outcomes of a label are 0, a positive item that was
missed, 1, one that was found, and 2, a negative item. After m missed, f found and n negative ones the likelihood is

    theta_g^f (1 - theta_g)^m  pi_g^(f + m) (1 - pi_g)^n,

so that rates and shares stay independent. Of theta_g this is [ABA]'s Beta-Bernoulli model ("Estimation") on the items
of positive label, whatever is believed of pi_g; of R items without a label, pi_g R are expected to count.

Either factor is a belief on accuracies with a closed form, or that which learns how much groups differ.

Shapes: counts (..., G, 3), values (..., G), draws (S, ..., G). Everything is 64-bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.models.belief import (
    Belief,
    drawn_component,
    draws_on_host,
    host_generator,
    is_mixture,
    population_draws,
    runs_on_numpy,
)

MISSED, FOUND, NEGATIVE = range(3)  # outcomes of a label
_DATA = ["rate", "share"]


@partial(register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class TruePositiveRate:
    """A belief on the true positive rate of G groups, and on their shares of positive items.

    Parameters
    ----------
    rate : Belief on (G,) values
        Of the true positive rates.
    share : Belief on (G,) values
        Of the shares of positive items.

    Examples
    --------
    >>> from bayes_assess.models import BetaBernoulli
    >>> prior = TruePositiveRate(BetaBernoulli.from_prior(n_groups=1), BetaBernoulli.from_prior(n_groups=1))
    >>> posterior = prior.update_counts([[1, 5, 40]])  # one missed, five found, forty negative
    >>> posterior.mean.tolist(), posterior.share.mean.round(3).tolist()  # (1 + 5) / (2 + 6), (1 + 6) / (2 + 46)
    ([0.75], [0.146])
    """

    rate: Any
    share: Any

    @property
    def on_any_engine(self) -> bool:
        """Whether both beliefs run on NumPy, too."""
        return runs_on_numpy(self.rate) and runs_on_numpy(self.share)

    @property
    def on_host(self) -> bool:
        """Whether both beliefs hand out draws on the host, see `belief.draws_on_host`."""
        return draws_on_host(self.rate) and draws_on_host(self.share)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Float[np.ndarray, "*shape G"]:
        """Draw every rate, (*shape, ..., G), on the host."""
        return self.rate.draw(rng, shape)

    @any_engine
    def update_counts(self, counts: Int[Array, "*batch G 3"]) -> TruePositiveRate:
        """Add counts (..., G, 3) of outcomes: missed, found, negative."""
        of_rate, of_share = split_outcomes(counts)
        return replace(self, rate=self.rate.update_counts(of_rate), share=self.share.update_counts(of_share))

    @any_engine
    def update_at_mean(self, n: Int[Array, "*batch G"]) -> TruePositiveRate:
        """Imagine `n` more labels of every group, (..., G), that come back at the posterior mean."""
        positive = n * self.share.mean
        return replace(self, rate=self.rate.update_at_mean(positive), share=self.share.update_at_mean(n))

    @property
    def mean(self) -> Float[Array, "*batch G"]:
        """Posterior mean of every rate, (..., G)."""
        return self.rate.mean

    @property
    def variance(self) -> Float[Array, "*batch G"]:
        """Posterior variance of every rate, (..., G)."""
        return self.rate.variance

    def quantile(self, level: ArrayLike) -> Float[Array, "*levels_batch G"]:
        """Quantile of every rate at one level, (..., G), or at (L,) of them, (L, ..., G)."""
        return self.rate.quantile(level)

    def sample(self, key: PRNGKey, n: int) -> Float[Array, "S *batch G"]:
        """Draw `n` vectors of rates, (n, ..., G)."""
        return self.rate.sample(key, n)

    @any_engine
    def pool_draws(
        self, key: PRNGKey, n: int, counts: Int[Array, "*batch G 3"], sizes: Int[np.ndarray, " G"]
    ) -> Float[np.ndarray, "S *batch G"]:
        """Draw `n` vectors of the rates in a pool of `sizes` items, of which `counts` (..., G, 3) are labelled.

        A group without positive items has the rate of the population.
        """
        return share_found(*self.outcome_draws(key, n, counts, sizes))

    @any_engine
    def outcome_draws(
        self, key: PRNGKey, n: int, counts: Int[Array, "*batch G 3"], sizes: Int[np.ndarray, " G"]
    ) -> tuple[Float[np.ndarray, "S *batch G"], Int[np.ndarray, "S *batch G 3"]]:
        """Draw rates of the population, and how many items of a pool have which outcome, labelled ones as they are.

        Examples
        --------
        >>> import jax
        >>> from bayes_assess.models import BetaBernoulli
        >>> belief = TruePositiveRate(BetaBernoulli.from_prior(n_groups=1), BetaBernoulli.from_prior(n_groups=1))
        >>> theta, full = belief.outcome_draws(jax.random.key(0), 2, [[1, 2, 3]], np.array([6]))
        >>> theta.shape, full.tolist()  # everything is labelled
        ((2, 1), [[[1, 2, 3]], [[1, 2, 3]]])
        """
        theta, _, full = self.joint_draws(key, n, counts, sizes)
        return theta, full

    @any_engine
    def joint_draws(
        self, key: PRNGKey, n: int, counts: Int[Array, "*batch G 3"], sizes: Int[np.ndarray, " G"]
    ) -> tuple[Float[np.ndarray, "S *batch G"], Float[np.ndarray, "S *batch G"], Int[np.ndarray, "S *batch G 3"]]:
        """Draw rates and shares of positive items, and how many items of a pool have which outcome."""
        key_rate, key_share, key_rest = engine.random.split(key, 3)
        theta, share = (
            np.clip(population_draws(belief, part, n), 0.0, 1.0)
            for belief, part in ((self.rate, key_rate), (self.share, key_share))
        )
        counts, rng = np.asarray(counts), host_generator(key_rest)
        rest = np.asarray(sizes) - counts.sum(-1)
        positive = rng.binomial(rest, share)
        hits = rng.binomial(positive, theta)
        return theta, share, counts + np.stack([positive - hits, hits, rest - positive], axis=-1)


@partial(register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class LearnedTruePositiveRate(TruePositiveRate):
    """The same where rate and share are mixtures, so that groups learn from each other.

    Examples
    --------
    >>> from bayes_assess.models import HierarchicalAccuracy
    >>> learned = HierarchicalAccuracy.from_prior(n_groups=3)
    >>> posterior = LearnedTruePositiveRate(learned, learned).update_counts([[0, 9, 1], [1, 9, 0], [0, 0, 0]])
    >>> bool(posterior.mean[2] > learned.mean[2])  # the third group has no label
    True
    """

    @any_engine
    def observe(self, cell: Int[Array, ""], outcome: Int[Array, ""]) -> LearnedTruePositiveRate:
        """Learn one label: points stay, their weights move, those of the rate where the item is positive."""
        positive = outcome != NEGATIVE
        rate = self.rate.observe(cell, outcome)
        rate = engine.tree_map(lambda new, old: xp.where(positive, new, old), rate, self.rate)
        return replace(self, rate=rate, share=self.share.observe(cell, xp.asarray(positive).astype(xp.int64)))

    def refreshed(self) -> LearnedTruePositiveRate:
        """Place the points anew."""
        return replace(self, rate=self.rate.refreshed(), share=self.share.refreshed())

    def components(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> TruePositiveRate:
        """Draw parts of either mixture by their weights, on the host."""
        return TruePositiveRate(self.rate.components(rng, shape), self.share.components(rng, shape))

    def matched(self) -> TruePositiveRate:
        """Return independent Beta distributions with the means and the variances of rates and shares."""
        return TruePositiveRate(self.rate.matched(), self.share.matched())

    @any_engine
    def component(self, key: PRNGKey) -> TruePositiveRate:
        """Draw one part of either mixture by its weight."""
        key_rate, key_share = engine.random.split(key)
        return TruePositiveRate(drawn_component(key_rate, self.rate), drawn_component(key_share, self.share))


def true_positive_rate(rate: Belief, share: Belief) -> TruePositiveRate:
    """Join beliefs on rates and on shares, both mixtures or neither."""
    return (LearnedTruePositiveRate if is_mixture(rate) else TruePositiveRate)(rate, share)


def split_outcomes(counts: Int[Array, "*batch G 3"]) -> tuple[Int[Array, "*batch G 2"], Int[Array, "*batch G 2"]]:
    """Split counts of outcomes (..., G, 3) into those of the rate and those of the share, (..., G, 2) each.

    Missed and found count for the rate, negative and positive for the share.

    Examples
    --------
    >>> [part.tolist() for part in split_outcomes(np.array([[1, 5, 40]]))]
    [[[1, 5]], [[40, 6]]]
    """
    counts = np.asarray(counts) if isinstance(counts, list | tuple) else counts
    stack = np.stack if isinstance(counts, np.ndarray) else xp.stack
    positive = counts[..., MISSED] + counts[..., FOUND]
    return counts[..., :NEGATIVE], stack([counts[..., NEGATIVE], positive], axis=-1)


def share_found(
    theta: Float[np.ndarray, "*batch G"], full: Int[np.ndarray, "*batch G 3"]
) -> Float[np.ndarray, "*batch G"]:
    """Return which share of the positive items of a pool is found, `theta` where it has none.

    Examples
    --------
    >>> share_found(np.array([0.7, 0.7]), np.array([[1, 3, 5], [0, 0, 9]])).tolist()
    [0.75, 0.7]
    """
    positive = full[..., :NEGATIVE].sum(-1)
    return np.divide(full[..., FOUND], positive, out=theta.copy(), where=positive > 0)
