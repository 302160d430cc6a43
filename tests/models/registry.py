"""Every generative model with what the shared suite needs to know about it.

A model joins by adding a `ModelCase` to `MODELS`; `test_shared.py` then runs over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from bayes_assess.models import BetaBernoulli, beta_bernoulli

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
    law = stats.beta(belief.a, belief.b)
    variance, excess = law.stats("vk")
    return law.mean(), variance, (excess + 3) * variance**2


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
        # The beta-binomial law counts orderings; a sequence of labels is one of them.
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

MODELS = [BETA_BERNOULLI]
