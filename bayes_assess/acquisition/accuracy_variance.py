"""How much one more label of a group is expected to shrink the posterior variance of its accuracy ([ABA] Table 1).

The reward of group g is p_g (Var(theta_g | L) - E_z Var(theta_g | L, z)), z ~ Bernoulli(theta~_g). It is written
twice: in closed form for Beta posteriors, and for posterior draws of any model, where conditioning on an outcome z
re-weights the draws by theta^z (1 - theta)^(1 - z).
"""

from __future__ import annotations

from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.acquisition._reweighted import draw_weights, weights_after


@any_engine
def beta_variance_reduction(
    theta: Float[Array, "*batch G"],
    a: Float[Array, "*batch G"],
    b: Float[Array, "*batch G"],
    weight: Float[Array, "*batch G"],
) -> Float[Array, "*batch G"]:
    """Compute the expected reduction of every group's posterior variance by one label, for Beta(a, b) posteriors.

    Parameters
    ----------
    theta : (..., G)
        Accuracies under which the outcome is imagined: a posterior draw for Thompson sampling, the posterior mean
        for the Bayesian expectation.
    a, b : (..., G)
        Posterior parameters.
    weight : (..., G)
        Share p_g of the pool in every group.

    Returns
    -------
    (..., G) expected reductions, each times its weight. Under one draw it may be negative: a surprising label
    widens the posterior.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> one = jnp.ones(1)
    >>> reward = beta_variance_reduction(0.5 * one, one, one, one)  # 1/12 - 1/18
    >>> round(float(reward[0]), 4)
    0.0278
    """
    theta, a, b, weight = (xp.asarray(x, xp.float64) for x in (theta, a, b, weight))
    total = a + b
    now = a * b / (total * total * (total + 1))
    scale = 1 / ((total + 1) * (total + 1) * (total + 2))
    after_agreement = (a + 1) * b * scale
    after_disagreement = a * (b + 1) * scale
    return weight * (now - theta * after_agreement - (1 - theta) * after_disagreement)


@any_engine
def sample_variance_reduction(
    theta: Float[Array, " G"],
    draws: Float[Array, "S G"],
    weight: Float[Array, " G"],
    importance: Float[Array, " S"] | None = None,
) -> Float[Array, " G"]:
    """Compute the expected reduction of every group's posterior variance by one label, from posterior draws alone.

    Parameters
    ----------
    theta : (G,)
        Accuracies under which the outcome is imagined, usually one of the draws.
    draws : (S, G)
        Posterior draws of the accuracies, from any model and any sampler.
    weight : (G,)
        Share p_g of the pool in every group.
    importance : (S,) non-negative, optional
        Importance weights of the draws, equal if left out; only their ratios matter.

    Returns
    -------
    (G,) expected reductions, each times its weight.

    Examples
    --------
    >>> import jax
    >>> from bayes_assess import BetaBernoulli
    >>> draws = BetaBernoulli.from_prior(n_groups=1).sample(jax.random.key(0), 100_000)
    >>> reward = sample_variance_reduction(draws.mean(0), draws, 1.0)
    >>> abs(float(reward[0]) - 1 / 36) < 1e-3
    True
    """
    theta, draws, weight = (xp.asarray(x, xp.float64) for x in (theta, draws, weight))
    own = draw_weights(importance, len(draws))[:, None]
    now = _weighted_variance(draws, xp.broadcast_to(own, draws.shape))
    after_agreement = _weighted_variance(draws, own * draws)
    after_disagreement = _weighted_variance(draws, own * (1 - draws))
    return weight * (now - theta * after_agreement - (1 - theta) * after_disagreement)


def _weighted_variance(draws: Float[Array, "S G"], likelihood: Float[Array, "S G"]) -> Float[Array, " G"]:
    share = weights_after(likelihood)
    mean = (share * draws).sum(0)
    return (share * (draws - mean) ** 2).sum(0)
