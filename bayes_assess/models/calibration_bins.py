"""Calibration: the accuracy of every bin of the confidence, alone or inside groups ([ABA] "Calibration").

Plates ``group`` (G) and ``bin`` (B): theta_gb ~ Beta(a_gb, b_gb). Plate ``label`` (N): z_i ~ Bernoulli(theta_{c(i)}),
where z_i is 1 when the *label* of item i agrees with its prediction and c(i) is the item's cell g B + b. Without groups
the bins stand alone. So this is the Beta-Bernoulli model with cells for groups; what is new are the mean confidences
s_gb and the shares p_gb of a group's items in its bins, both known for the whole pool, and what follows from them: the
expected calibration error ECE_g = sum_b p_gb |theta_gb - s_gb|.

Shapes: parameters (..., G, B), or (B,) for bins alone; draws (S, ..., G, B). Everything is 64-bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.models import beta_bernoulli
from bayes_assess.models._mean_scores import binned_scores
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.program_items import items_of

FloatBins = Float[Array, "*batch B"] | Float[np.ndarray, "*batch B"]
FloatGroupsOfBins = Float[Array, "*batch"] | Float[np.ndarray, "*batch"]
IntBins = Int[Array, "*batch B"] | Int[np.ndarray, "*batch B"]


def program(cells: Int[Array, " N"], agreements: Int[Array, " N"] | None = None, *, a: FloatBins, b: FloatBins) -> None:
    """Run the generative program: an accuracy per bin of every group, an outcome per label.

    Parameters
    ----------
    cells : (N,) integers in 0..G*B-1
        Cell g * B + b of every labelled item: bin b of group g, or just the bin where there are no groups.
    agreements : (N,) zeros and ones, optional
        1 where the label agrees with the prediction; left out, the program simulates them.
    a, b : (G, B) or (B,) positive
        Prior parameters.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> trace = numpyro.handlers.trace(seeded).get_trace(jnp.array([0, 5]), a=jnp.ones((2, 3)), b=jnp.ones((2, 3)))
    >>> trace["theta"]["value"].shape, trace["agreement"]["value"].shape
    ((2, 3), (2,))
    """
    a, b = xp.asarray(a), xp.asarray(b)
    with numpyro.plate("bin", a.shape[-1], dim=-1):
        if a.ndim == 1:
            theta = numpyro.sample("theta", dist.Beta(a, b))
        else:
            with numpyro.plate("group", a.shape[0], dim=-2):
                theta = numpyro.sample("theta", dist.Beta(a, b))
    with numpyro.plate("label", len(cells)):
        numpyro.sample("agreement", dist.Bernoulli(probs=xp.ravel(xp.asarray(theta))[cells]), obs=agreements)


@partial(register_dataclass, data_fields=["accuracy", "score", "weight"], meta_fields=[])
@dataclass(frozen=True)
class CalibrationBins:
    """Accuracies of bins of the confidence beside the confidences themselves: a prior, or the posterior after `update`.

    Parameters
    ----------
    accuracy : BetaBernoulli over (..., G, B) or (..., B)
        Distribution of the accuracy theta_gb of every bin.
    score : (G, B) or (B,) in [0, 1]
        Mean confidence s_gb of every bin's items, labelled or not.
    weight : (G, B) or (B,)
        Share p_gb of the group's items in every bin: rows sum to 1, and are all 0 for a group without items.

    Examples
    --------
    >>> prior = CalibrationBins.from_prior(score=[0.6, 0.9], size=[30, 70])
    >>> posterior = prior.update(successes=[3, 5], trials=[4, 10])
    >>> posterior.gap.round(3).tolist()  # the first bin is under-confident, the second over-confident
    [0.1, -0.333]
    >>> round(float(posterior.calibration_error(posterior.mean)), 3)
    0.263
    """

    accuracy: BetaBernoulli
    score: FloatBins
    weight: FloatBins

    @classmethod
    @any_engine
    def from_prior(
        cls, strength: float = 2.0, *, score: FloatBins, size: IntBins, informative: bool = True
    ) -> CalibrationBins:
        """Build a prior worth `strength` labels per bin ([ABA] "Priors").

        Parameters
        ----------
        strength : float, positive
            N0 = a + b, in labels.
        score : (G, B) or (B,) in [0, 1]
            Mean confidence of every bin's items over the whole pool. That of an empty bin may be NaN.
        size : (G, B) or (B,) integers
            Items of every bin, labelled or not.
        informative : bool
            Whether the prior expects calibrated scores, Beta(N0 s, N0 (1 - s)), or is Beta(N0 / 2, N0 / 2), which
            for the default strength is uniform.

        Raises
        ------
        PriorError
            If the strength is not positive and finite, a score lies outside [0, 1], a size is negative, or the
            shapes of `score` and `size` differ.

        Examples
        --------
        >>> prior = CalibrationBins.from_prior(score=[[0.5, 0.75]], size=[[1, 3]])
        >>> prior.accuracy.a.tolist(), prior.weight.tolist()
        ([[1.0, 1.5]], [[0.25, 0.75]])
        """
        score, size = binned_scores(score, size)
        accuracy = BetaBernoulli.from_prior(strength, mean_score=score)
        if not informative:
            half = xp.full(score.shape, strength / 2, xp.float64)
            accuracy = BetaBernoulli(half, half)
        weight = size / np.maximum(size.sum(-1, keepdims=True), 1)
        return cls(accuracy, xp.asarray(score), xp.asarray(weight, xp.float64))

    @any_engine
    def update(self, successes: IntBins, trials: IntBins) -> CalibrationBins:
        """Add sufficient statistics: `successes` agreements among `trials` labels, each (..., G, B).

        Examples
        --------
        >>> prior = CalibrationBins.from_prior(score=[0.5], size=[10])
        >>> prior.update([1], [3]).accuracy.b.tolist()
        [3.0]
        """
        return replace(self, accuracy=self.accuracy.update(successes, trials))

    def program_arguments(self, counts: ArrayLike | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (G * B, 2) integers, optional
            Labels of every cell g * B + b: column 0 disagreements, column 1 agreements.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> data = CalibrationBins.from_prior(score=[0.6, 0.9], size=[30, 70]).program_arguments([[0, 1], [2, 0]])
        >>> data["cells"].tolist(), data["agreements"].tolist()
        ([0, 1, 1], [1, 0, 0])
        """
        a, b = np.asarray(self.accuracy.a), np.asarray(self.accuracy.b)
        cells, agreements = items_of(counts, (a.size, 2))
        return {"cells": cells, "agreements": agreements, "a": a, "b": b}

    def flat(self) -> BetaBernoulli:
        """Return the accuracies of all bins of all groups in a row, cell g * B + b."""
        return BetaBernoulli(np.ravel(self.accuracy.a), np.ravel(self.accuracy.b))

    @property
    @any_engine
    def mean(self) -> FloatBins:
        """Posterior mean of every bin's accuracy, (..., G, B)."""
        return self.accuracy.mean

    @property
    @any_engine
    def variance(self) -> FloatBins:
        """Posterior variance of every bin's accuracy, (..., G, B)."""
        return self.accuracy.variance

    @property
    @any_engine
    def gap(self) -> FloatBins:
        """Posterior mean accuracy less mean confidence, (..., G, B): positive where the system is under-confident."""
        return self.accuracy.mean - self.score

    @any_engine
    def calibration_error(self, theta: FloatBins) -> FloatGroupsOfBins:
        """Compute ECE_g = sum_b p_gb |theta_gb - s_gb| of accuracies (..., G, B), as (..., G).

        Examples
        --------
        >>> prior = CalibrationBins.from_prior(score=[[0.6, 0.9]], size=[[30, 70]])
        >>> prior.calibration_error([[0.5, 0.7]]).round(3).tolist()
        [0.17]
        """
        return expected_calibration_error(theta, self.score, self.weight)

    @any_engine
    def sample(self, key: PRNGKey, n: int) -> Float[Array, "S *batch B"]:
        """Draw `n` independent arrays of accuracies, shape (n, ..., G, B)."""
        return self.accuracy.sample(key, n)

    @any_engine
    def log_prob(self, theta: FloatBins) -> FloatBins:
        """Log density at accuracies `theta` (..., G, B), bin by bin."""
        return self.accuracy.log_prob(theta)

    @any_engine
    def log_marginal(self, successes: IntBins, trials: IntBins) -> FloatBins:
        """Log probability of a sequence of labels with these counts, bin by bin, theta integrated out."""
        return self.accuracy.log_marginal(successes, trials)


@any_engine
def expected_calibration_error(theta: FloatBins, score: FloatBins, weight: FloatBins) -> FloatGroupsOfBins:
    """Compute ECE = sum_b p_b |theta_b - s_b| ([ABA] "Calibration").

    Parameters
    ----------
    theta : (..., B)
        Accuracies of the bins.
    score, weight : (..., B)
        Mean confidence s_b of every bin, and share p_b of the items in it.

    Returns
    -------
    (...) errors in [0, 1].

    Examples
    --------
    >>> round(float(expected_calibration_error([0.5, 0.7], [0.6, 0.9], [0.3, 0.7])), 3)
    0.17
    """
    theta, score, weight = (xp.asarray(x, xp.float64) for x in (theta, score, weight))
    return (weight * xp.abs(theta - score)).sum(-1)


def statistics(
    cells: np.ndarray, agreements: np.ndarray, shape: tuple[int, ...]
) -> tuple[Int[np.ndarray, "*shape"], Int[np.ndarray, "*shape"]]:
    """Count agreements and labels per bin, the sufficient statistics of a set of labels.

    Parameters
    ----------
    cells : (N,) integers in 0..G*B-1
        Cell g * B + b of every label.
    agreements : (N,) zeros and ones
        1 where the label agrees with the prediction.
    shape : (G, B) or (B,)

    Returns
    -------
    successes, trials : int64 arrays of that shape

    Examples
    --------
    >>> statistics([0, 0, 3], [1, 0, 1], (2, 2))[1].tolist()
    [[2, 0], [0, 1]]
    """
    successes, trials = beta_bernoulli.statistics(cells, agreements, int(np.prod(shape)))
    return successes.reshape(shape), trials.reshape(shape)
