"""Every generative model with what the shared suite needs to know about it.

A model joins by adding a `ModelCase` to `MODELS`; `test_shared.py` then runs over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from bayes_assess.models import BetaBernoulli, beta_bernoulli
from bayes_assess.models import calibration_bins as bins
from bayes_assess.models import dirichlet_confusion as confusion
from bayes_assess.models import paired_outcomes as paired
from bayes_assess.models.calibration_bins import CalibrationBins
from bayes_assess.models.dirichlet_confusion import DirichletConfusion
from bayes_assess.models.paired_outcomes import PairedOutcomes

Statistics = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class ModelCase:
    """A model: its program, its closed form, and independent formulas to hold both against."""

    name: str
    program: Callable[..., None]  # program(groups, outcomes or None, **arguments)
    latent: str  # name of the program's latent site, (G, ...)
    observed: str  # name of its observed site, (N,)
    n_outcomes: int  # outcomes are 0..n_outcomes - 1
    prior: Callable[[int], Any]  # a prior over that many groups, unequal in its parameters
    arguments: Callable[[Any], dict]  # keyword arguments of the program, from a prior
    statistics: Callable[[np.ndarray, np.ndarray, int], Statistics]  # (groups, outcomes, G) -> arguments of `update`
    parameters: Callable[[Any], np.ndarray]  # all parameters of a posterior in one array
    exact_log_marginal: Callable[[Any, Statistics], np.ndarray]  # by SciPy, (G,)
    exact_log_prob: Callable[[Any, np.ndarray], np.ndarray]  # by SciPy, (..., G)
    exact_moments: Callable[[Any], tuple[np.ndarray, np.ndarray, np.ndarray]]  # mean, second and fourth central moment
    faults: Mapping[str, Callable[[Any, np.ndarray, np.ndarray, np.ndarray], Any]]
    # Wrong posteriors from (prior, groups, predictions, labels), which calibration must catch. Calibration draws
    # predictions at random, and labels such that outcome(prediction, label) is what the program drew.
    label: Callable[[np.ndarray, np.ndarray], np.ndarray]  # label from (prediction, outcome)
    outcome: Callable[[np.ndarray, np.ndarray], np.ndarray]  # outcome from (prediction, label)
    scalar: Callable[[np.ndarray], np.ndarray] = lambda latent: latent
    # From latent parameters (..., G, ...) to one number per group (..., G), whose ranks calibration takes: ranks of
    # dependent numbers of one group would not be independent.


# -- Beta-Bernoulli --------------------------------------------------------------------------------------------------


def _beta_prior(n_groups: int) -> BetaBernoulli:
    a = np.resize([2.0, 0.7, 5.0, 1.0], n_groups)
    b = np.resize([1.0, 0.4, 2.5, 3.0], n_groups)
    return BetaBernoulli(a, b)


def _beta_posterior(prior, groups, outcomes, *, extra=(0, 0)):
    r, n = beta_bernoulli.statistics(groups, outcomes, len(prior.a))
    return prior.update(r + extra[0], n + extra[1])


def _beta_swapped(prior, groups, predictions, labels):
    posterior = _beta_posterior(prior, groups, predictions == labels)
    return BetaBernoulli(posterior.b, posterior.a)


def _beta_prior_twice(prior, groups, predictions, labels):
    posterior = _beta_posterior(prior, groups, predictions == labels)
    return BetaBernoulli(posterior.a + prior.a, posterior.b + prior.b)


def _beta_narrow(prior, groups, predictions, labels):
    posterior = _beta_posterior(prior, groups, predictions == labels)
    return BetaBernoulli(1.4 * posterior.a, 1.4 * posterior.b)


def _beta_moments(belief):
    distribution = stats.beta(belief.a, belief.b)
    variance, excess = distribution.stats("vk")
    return distribution.mean(), variance, (excess + 3) * variance**2


BETA_BERNOULLI = ModelCase(
    name="beta_bernoulli",
    program=beta_bernoulli.program,
    latent="theta",
    observed="agreement",
    n_outcomes=2,
    prior=_beta_prior,
    arguments=lambda prior: {"a": jnp.asarray(prior.a), "b": jnp.asarray(prior.b)},
    statistics=beta_bernoulli.statistics,
    parameters=lambda belief: np.stack([belief.a, belief.b]),
    exact_log_marginal=lambda prior, s: (
        # The beta-binomial distribution counts orderings; a sequence of labels is one of them.
        stats.betabinom.logpmf(s[0], s[1], prior.a, prior.b) - np.log(special.binom(s[1], s[0]))
    ),
    exact_log_prob=lambda belief, theta: stats.beta.logpdf(theta, belief.a, belief.b),
    exact_moments=_beta_moments,
    faults={
        "the prediction, compared with itself": lambda prior, g, yhat, y: _beta_posterior(prior, g, yhat == yhat),
        "the prediction as the outcome": lambda prior, g, yhat, y: _beta_posterior(prior, g, yhat),
        "the label as the outcome": lambda prior, g, yhat, y: _beta_posterior(prior, g, y),
        "an agreement too many": lambda prior, g, yhat, y: _beta_posterior(prior, g, yhat == y, extra=(1, 1)),
        "a disagreement too many": lambda prior, g, yhat, y: _beta_posterior(prior, g, yhat == y, extra=(0, 1)),
        "a and b swapped": _beta_swapped,
        "the prior counted twice": _beta_prior_twice,
        "too narrow": _beta_narrow,
    },
    label=lambda prediction, outcome: np.where(outcome == 1, prediction, 1 - prediction),
    outcome=lambda prediction, label: (prediction == label).astype(np.int64),
)

# -- Dirichlet confusion matrix; a group is a predicted class (a row), an outcome is the label (a column) --------------

_N_CLASSES = 3


def _confusion_prior(n_predictions: int) -> DirichletConfusion:
    table = [[2.0, 0.7, 0.5], [1.0, 1.0, 1.0], [0.4, 0.8, 5.0]]
    return DirichletConfusion(np.resize(table, (n_predictions, _N_CLASSES)))


def _confusion_statistics(predictions, labels, n_predictions) -> Statistics:
    return (confusion.statistics(predictions, labels, n_predictions, _N_CLASSES),)


def _confusion_posterior(prior, predictions, labels, *, extra=0):
    return prior.update(_confusion_statistics(predictions, labels, len(prior.alpha))[0] + extra)


def _confusion_transposed(prior, predictions, _, labels):
    # Every three rows are a confusion matrix of their own.
    counts = _confusion_statistics(predictions, labels, len(prior.alpha))[0].reshape(-1, _N_CLASSES, _N_CLASSES)
    return prior.update(counts.swapaxes(1, 2).reshape(prior.alpha.shape))


def _confusion_prior_twice(prior, predictions, _, labels):
    return DirichletConfusion(_confusion_posterior(prior, predictions, labels).alpha + prior.alpha)


def _confusion_narrow(prior, predictions, _, labels):
    return DirichletConfusion(1.4 * _confusion_posterior(prior, predictions, labels).alpha)


def _confusion_moments(belief):
    distribution = stats.beta(belief.alpha, belief.alpha.sum(-1, keepdims=True) - belief.alpha)
    variance, excess = distribution.stats("vk")
    return distribution.mean(), variance, (excess + 3) * variance**2


def _confusion_log_marginal(prior, counts):
    # The Dirichlet-multinomial distribution counts orderings; a sequence of labels is one of them.
    n = counts[0].sum(-1)
    orderings = special.gammaln(n + 1) - special.gammaln(counts[0] + 1).sum(-1)
    return stats.dirichlet_multinomial.logpmf(counts[0], prior.alpha, n) - orderings


def _confusion_log_prob(belief, theta):
    constant = special.gammaln(belief.alpha.sum(-1)) - special.gammaln(belief.alpha).sum(-1)
    return special.xlogy(belief.alpha - 1, theta).sum(-1) + constant


DIRICHLET_CONFUSION = ModelCase(
    name="dirichlet_confusion",
    program=confusion.program,
    latent="theta",
    observed="label",
    n_outcomes=_N_CLASSES,
    prior=_confusion_prior,
    arguments=lambda prior: {"alpha": jnp.asarray(prior.alpha)},
    statistics=_confusion_statistics,
    parameters=lambda belief: belief.alpha,
    exact_log_marginal=_confusion_log_marginal,
    exact_log_prob=_confusion_log_prob,
    exact_moments=_confusion_moments,
    faults={
        "the prediction in place of the label": lambda prior, k, _, y: _confusion_posterior(prior, k, k % _N_CLASSES),
        "the transposed counts": _confusion_transposed,
        "a label of class 0 too many": lambda prior, k, _, y: _confusion_posterior(prior, k, y, extra=[1, 0, 0]),
        "the prior counted twice": _confusion_prior_twice,
        "too narrow": _confusion_narrow,
    },
    label=lambda prediction, outcome: outcome,
    outcome=lambda prediction, label: label,
    scalar=lambda theta: theta @ np.array([0.1, 1.0, 0.4]),
)

# -- calibration bins: every two consecutive cells are the bins of one group -----------------------------------------

_N_BINS = 2


def _bins_prior(n_cells: int) -> CalibrationBins:
    accuracy, shape = _beta_prior(n_cells), (n_cells // _N_BINS, _N_BINS)
    score, weight = np.resize([0.3, 0.8], shape), np.resize([0.4, 0.6], shape)
    return CalibrationBins(BetaBernoulli(accuracy.a.reshape(shape), accuracy.b.reshape(shape)), score, weight)


def _bins_statistics(cells, outcomes, n_cells) -> Statistics:
    return bins.statistics(cells, outcomes, (n_cells // _N_BINS, _N_BINS))


def _bins_posterior(prior, cells, outcomes, *, extra=(0, 0)):
    r, n = _bins_statistics(cells, outcomes, prior.score.size)
    return prior.update(r + extra[0], n + extra[1])


def _bins_transposed(prior, cells, predictions, labels):
    r, n = beta_bernoulli.statistics(cells, predictions == labels, prior.score.size)
    return prior.update(r.reshape(_N_BINS, -1).T, n.reshape(_N_BINS, -1).T)


def _bins_scaled(prior, cells, predictions, labels, *, factor):
    posterior = _bins_posterior(prior, cells, predictions == labels)
    return replace(posterior, accuracy=BetaBernoulli(factor * posterior.accuracy.a, factor * posterior.accuracy.b))


def _bins_score_twice(prior, cells, predictions, labels):
    posterior = _bins_posterior(prior, cells, predictions == labels).accuracy
    a, b = prior.accuracy.a, prior.accuracy.b
    return replace(prior, accuracy=BetaBernoulli(posterior.a + a, posterior.b + b))


CALIBRATION_BINS = ModelCase(
    name="calibration_bins",
    program=bins.program,
    latent="theta",
    observed="agreement",
    n_outcomes=2,
    prior=_bins_prior,
    arguments=lambda prior: {"a": jnp.asarray(prior.accuracy.a), "b": jnp.asarray(prior.accuracy.b)},
    statistics=_bins_statistics,
    parameters=lambda belief: np.stack([belief.accuracy.a, belief.accuracy.b]),
    exact_log_marginal=lambda prior, s: BETA_BERNOULLI.exact_log_marginal(prior.accuracy, s),
    exact_log_prob=lambda belief, theta: BETA_BERNOULLI.exact_log_prob(belief.accuracy, theta),
    exact_moments=lambda belief: _beta_moments(belief.accuracy),
    faults={
        "the prediction, compared with itself": lambda prior, c, yhat, y: _bins_posterior(prior, c, yhat == yhat),
        "the label as the outcome": lambda prior, c, yhat, y: _bins_posterior(prior, c, y),
        "an agreement too many": lambda prior, c, yhat, y: _bins_posterior(prior, c, yhat == y, extra=(1, 1)),
        "groups and bins transposed": _bins_transposed,
        "the prior counted twice": _bins_score_twice,
        "too narrow": partial(_bins_scaled, factor=1.4),
        "too wide": partial(_bins_scaled, factor=0.7),
    },
    label=lambda prediction, outcome: np.where(outcome == 1, prediction, 1 - prediction),
    outcome=lambda prediction, label: (prediction == label).astype(np.int64),
)

# -- outcomes of two systems -----------------------------------------------------------------------------------------


def _paired_prior(n_groups: int) -> PairedOutcomes:
    table = [[2.0, 0.7, 0.5, 1.0], [1.0, 1.0, 1.0, 1.0], [4.0, 0.4, 0.8, 0.6]]
    return PairedOutcomes(np.resize(table, (n_groups, 4)))


def _paired_posterior(prior, groups, outcomes, *, order=(0, 1, 2, 3), extra=0):
    return prior.update(paired.statistics(groups, outcomes, len(prior.alpha))[:, order] + extra)


def _paired_seen(predictions, labels):
    return (labels - predictions) % 4


PAIRED_OUTCOMES = ModelCase(
    name="paired_outcomes",
    program=paired.program,
    latent="theta",
    observed="outcome",
    n_outcomes=4,
    prior=_paired_prior,
    arguments=lambda prior: {"alpha": jnp.asarray(prior.alpha)},
    statistics=lambda groups, outcomes, n_groups: (paired.statistics(groups, outcomes, n_groups),),
    parameters=lambda belief: belief.alpha,
    exact_log_marginal=_confusion_log_marginal,  # both are distributions of Dirichlet rows `alpha`
    exact_log_prob=_confusion_log_prob,
    exact_moments=_confusion_moments,
    faults={
        "the label as the outcome": lambda prior, g, yhat, y: _paired_posterior(prior, g, y),
        "the two systems swapped": lambda prior, g, yhat, y: _paired_posterior(
            prior, g, _paired_seen(yhat, y), order=(0, 2, 1, 3)
        ),
        "a win of the first too many": lambda prior, g, yhat, y: _paired_posterior(
            prior, g, _paired_seen(yhat, y), extra=[0, 1, 0, 0]
        ),
        "the prior counted twice": lambda prior, g, yhat, y: PairedOutcomes(
            _paired_posterior(prior, g, _paired_seen(yhat, y)).alpha + prior.alpha
        ),
        "too narrow": lambda prior, g, yhat, y: PairedOutcomes(
            1.4 * _paired_posterior(prior, g, _paired_seen(yhat, y)).alpha
        ),
    },
    # One number stands for a pair of predictions here; all that counts is that both sides know how to read it.
    label=lambda prediction, outcome: (outcome + prediction) % 4,
    outcome=_paired_seen,
    scalar=lambda theta: theta @ np.array([0.1, 1.0, -0.6, 0.4]),
)

MODELS = [BETA_BERNOULLI, DIRICHLET_CONFUSION, CALIBRATION_BINS, PAIRED_OUTCOMES]
