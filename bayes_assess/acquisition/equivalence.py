"""Is one group better than another, or are they as good as equal? See [ABA] "Comparison".

D = theta_1 - theta_2 falls below, inside or above the region of practical equivalence (ROPE) [-eps, eps], with
posterior masses mu = (P(D < -eps), P(|D| <= eps), P(D > eps)). The verdict is eta = argmax mu, held with probability
lambda = max mu. What a label of either group is worth is the lambda to be expected after it ([ABA] Table 1).

Everything is written twice: to 1e-8 for Beta posteriors, and from posterior draws of any model, where conditioning on
an outcome z of group g re-weights the draws by theta_g^z (1 - theta_g)^(1 - z).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int, Scalar
from bayes_assess.acquisition._rope_quadrature import exceedance
from bayes_assess.errors import QuestionError

FloatBatch = Float[Array, "*batch"] | Float[np.ndarray, "*batch"]

_BATCH = 32  # pairs at a time: their nodes stay in cache


class Verdict(NamedTuple):
    """What the masses say."""

    eta: Int[Array, "*batch"]  # 0: the first is worse, 1: practically equal, 2: the first is better
    probability: Float[Array, "*batch"]  # lambda, the mass of that event


@any_engine
def rope_masses_beta(
    a1: FloatBatch,
    b1: FloatBatch,
    a2: FloatBatch,
    b2: FloatBatch,
    rope: float = 0.05,
) -> Float[Array, "*batch 3"]:
    """Compute the three masses of D = theta_1 - theta_2 for independent theta_i ~ Beta(a_i, b_i).

    Parameters
    ----------
    a1, b1, a2, b2 : (...) positive
        Posterior parameters; they broadcast against each other.
    rope : float in [0, 1)
        Half-width eps of the region of practical equivalence. At 0 the mass inside is exactly 0.

    Returns
    -------
    (..., 3) probabilities of D < -eps, |D| <= eps and D > eps. They sum to 1, and each is within 1e-8 for parameters
    from 0.01 to 1e7.

    Raises
    ------
    QuestionError
        If `rope` is not a number in [0, 1).

    Examples
    --------
    >>> rope_masses_beta(280.0, 203.0, 351.0, 162.0).round(2).tolist()  # [ABA]: 96 % sure of a difference
    [0.96, 0.04, 0.0]
    """
    a1, b1, a2, b2 = _broadcast(a1, b1, a2, b2)
    return _masses(a1, b1, a2, b2, checked_rope(rope))


@any_engine
def rope_masses_samples(
    theta1: Float[Array, "S *batch"] | Float[np.ndarray, "S *batch"],
    theta2: Float[Array, "S *batch"] | Float[np.ndarray, "S *batch"],
    rope: float = 0.05,
    weights: Float[Array, "S *batch"] | None = None,
) -> Float[Array, "*batch 3"]:
    """Compute the three masses of D = theta_1 - theta_2 from joint posterior draws of any model.

    Parameters
    ----------
    theta1, theta2 : (S, ...)
        Draws; `theta2` may be the number 0 where `theta1` holds draws of the difference itself.
    rope : float in [0, 1)
    weights : (S,) or (S, ...) non-negative, optional
        Weights of the draws, equal if left out; only their ratios matter.

    Returns
    -------
    (..., 3) shares of the draws, summing to 1. Where all weights are zero, the draws count equally.

    Examples
    --------
    >>> rope_masses_samples([0.5, 0.7, 0.9, 0.9], [0.7, 0.7, 0.6, 0.7]).tolist()
    [0.25, 0.25, 0.5]
    """
    rope = checked_rope(rope)
    d = xp.asarray(theta1, xp.float64) - xp.asarray(theta2, xp.float64)
    if weights is None:
        return _complete((d < -rope).mean(0, dtype=xp.float64), (d > rope).mean(0, dtype=xp.float64))
    w = xp.asarray(weights, xp.float64)
    w = xp.broadcast_to(w.reshape(w.shape + (1,) * (d.ndim - w.ndim)), d.shape)
    total = w.sum(0)
    w = xp.where(total > 0, w / xp.where(total > 0, total, 1.0), 1 / d.shape[0])
    return _complete(xp.where(d < -rope, w, 0.0).sum(0), xp.where(d > rope, w, 0.0).sum(0))


@any_engine
def all_pairs_rope(
    draws: Float[Array, "S G"] | Float[np.ndarray, "S G"],
    rope: float = 0.05,
    weights: Float[Array, " S"] | Float[np.ndarray, " S"] | None = None,
) -> Float[Array, "G G 3"]:
    """Compute the three masses of theta_g - theta_h for all pairs of groups, from joint posterior draws.

    Draws stream past a (G, G) table of counts; nothing of the size S x G x G exists.

    Parameters
    ----------
    draws : (S, G)
    rope : float in [0, 1)
    weights : (S,) non-negative, optional
        Weights of the draws, not all 0, equal if left out; only their ratios matter.

    Returns
    -------
    (G, G, 3) masses; entry [g, h] reversed is entry [h, g], and a group is practically equal to itself.

    Examples
    --------
    >>> import numpy as np
    >>> masses = all_pairs_rope(np.array([[0.9, 0.5, 0.52], [0.8, 0.4, 0.6]]))
    >>> masses[0, 1].tolist(), masses[1, 2].tolist()
    ([0.0, 0.0, 1.0], [0.5, 0.5, 0.0])
    """
    draws = xp.asarray(draws, xp.float64)
    w = xp.ones(len(draws)) if weights is None else xp.asarray(weights, xp.float64)
    return _all_pairs(draws, w, checked_rope(rope))


@any_engine
def verdict(mu: Float[Array, "*batch 3"]) -> Verdict:
    """Return eta, the most probable of the three events, and its probability lambda ([ABA] "Comparison").

    Examples
    --------
    >>> import numpy as np
    >>> eta, probability = verdict(np.array([0.9, 0.08, 0.02]))
    >>> int(eta), float(probability)  # the first group is worse
    (0, 0.9)
    """
    mu = xp.asarray(mu, xp.float64)
    return Verdict(xp.argmax(mu, axis=-1), mu.max(-1))


@any_engine
def beta_expected_lambda(
    theta: Float[Array, "*batch 2"], a: Float[Array, "*batch 2"], b: Float[Array, "*batch 2"], rope: float = 0.05
) -> Float[Array, "*batch 2"]:
    """Compute the lambda to be expected after one more label of either group, for Beta posteriors ([ABA] Table 1).

    Entry g is E_z lambda(L, (g, z)), z ~ Bernoulli(theta~_g). The masses after all four outcomes come out of one
    quadrature.

    Parameters
    ----------
    theta : (..., 2)
        Accuracies under which the outcome is imagined: a posterior draw for Thompson sampling, the posterior mean
        for the Bayesian expectation.
    a, b : (..., 2)
        Posterior parameters of the two groups.
    rope : float in [0, 1)

    Returns
    -------
    (..., 2) probabilities of the verdict.

    Examples
    --------
    >>> import numpy as np
    >>> a = b = np.array([50.0, 3.0])
    >>> beta_expected_lambda(np.array([0.5, 0.5]), a, b).round(2).tolist()  # the second group has few labels
    [0.42, 0.56]
    """
    theta, a, b = (xp.asarray(x, xp.float64) for x in (theta, a, b))
    a1, b1, a2, b2 = _broadcast(a[..., 0], b[..., 0], a[..., 1], b[..., 1])
    masses = _masses_after(a1, b1, a2, b2, checked_rope(rope))
    return _expectation(theta, masses.max(-1))


@any_engine
def sample_expected_lambda(
    theta: Float[Array, " 2"],
    draws: Float[Array, "S 2"],
    rope: float = 0.05,
    importance: Float[Array, " S"] | None = None,
) -> Float[Array, " 2"]:
    """Compute the lambda to be expected after one more label of either group, from posterior draws alone.

    Parameters
    ----------
    theta : (2,)
        Accuracies under which the outcome is imagined, usually one of the draws.
    draws : (S, 2)
        Joint posterior draws of the two accuracies, from any model and any sampler.
    rope : float in [0, 1)
    importance : (S,) non-negative, optional
        Importance weights of the draws, equal if left out; only their ratios matter.

    Returns
    -------
    (2,) probabilities of the verdict.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from bayes_assess import BetaBernoulli
    >>> a, b = np.array([9.0, 2.0]), np.array([1.0, 2.0])
    >>> belief = BetaBernoulli(a, b)
    >>> value = sample_expected_lambda(belief.mean, belief.sample(jax.random.key(0), 100_000))
    >>> bool(abs(value - beta_expected_lambda(belief.mean, a, b)).max() < 0.01)
    True
    """
    theta, draws = xp.asarray(theta, xp.float64), xp.asarray(draws, xp.float64)
    likelihood = xp.stack([1 - draws, draws], axis=-1).reshape(-1, 4)  # columns: group, then outcome
    if importance is not None:
        likelihood = likelihood * xp.asarray(importance, xp.float64)[:, None]
    d = xp.broadcast_to((draws[:, 0] - draws[:, 1])[:, None], likelihood.shape)
    masses = rope_masses_samples(d, xp.zeros(()), rope, likelihood)
    return _expectation(theta, xp.asarray(masses).reshape(2, 2, 3).max(-1))


def checked_rope(rope: float, below: float = 1.0) -> float:
    """Return the half-width `rope` if it is a number in [0, below), or stands for one inside compiled code.

    Raises
    ------
    QuestionError
        If it is anything else.

    Examples
    --------
    >>> checked_rope(0.05)
    0.05
    """
    if engine.is_traced(rope):
        return rope
    try:
        value = np.nan if isinstance(rope, str) else float(rope)
    except (TypeError, ValueError):
        value = np.nan
    if not 0 <= value < below:
        most = "" if below == np.inf else f" up to but not including {below:g}"
        raise QuestionError(
            f"The rope is the largest difference that counts as none, a number from 0{most or ' on'}; "
            f"found {show(rope)}."
        )
    return value


def _broadcast(*parameters: FloatBatch) -> list[Float[Array, "*batch"]]:
    return list(xp.broadcast_arrays(*(xp.asarray(x, xp.float64) for x in parameters)))


def _complete(below: Float[Array, "*batch"], above: Float[Array, "*batch"]) -> Float[Array, "*batch 3"]:
    """Return the masses with the middle one as the rest, so that they sum to 1."""
    below, above = xp.clip(below, 0.0, 1.0), xp.clip(above, 0.0, 1.0)
    total = xp.maximum(below + above, 1.0)
    below, above = below / total, above / total
    return xp.stack([below, xp.maximum(1 - below - above, 0.0), above], axis=-1)


def _complete_beta(below, above, rope: Scalar) -> Float[Array, "*batch 3"]:
    # Without a rope nothing lies inside it, and what quadrature leaves over goes to the two sides.
    scale = xp.where(rope > 0, 1.0, 1 / (below + above))
    masses = _complete(below * scale, above * scale)
    return engine.at(masses)[..., 1].set(xp.where(rope > 0, masses[..., 1], 0.0))


@engine.jit
def _masses(a1, b1, a2, b2, rope: Scalar) -> Float[Array, "*batch 3"]:
    def of_pair(a1, b1, a2, b2):
        eps = xp.asarray(rope, xp.float64)
        above, below = exceedance(a1, b1, a2, b2, eps), exceedance(a2, b2, a1, b1, eps)
        return _complete_beta(below.now, above.now, eps)

    return _over_pairs(of_pair, a1, b1, a2, b2)


@engine.jit
def _masses_after(a1, b1, a2, b2, rope: Scalar) -> Float[Array, "*batch 2 2 3"]:
    """Masses after one label more: axes group, outcome, event."""

    def of_pair(a1, b1, a2, b2):
        eps = xp.asarray(rope, xp.float64)
        above, below = exceedance(a1, b1, a2, b2, eps), exceedance(a2, b2, a1, b1, eps)
        # `below` has the groups in the other order.
        change_above = xp.stack([above.label_of_first, above.label_of_second])
        change_below = xp.stack([below.label_of_second, below.label_of_first])
        return _complete_beta(below.now + change_below, above.now + change_above, eps)

    return _over_pairs(of_pair, a1, b1, a2, b2)


def _over_pairs(of_pair, *parameters):
    """Apply a function of one pair to arrays of pairs, a batch at a time."""
    shape = parameters[0].shape
    if not shape:
        return of_pair(*parameters)
    flat = engine.mapped(lambda pair: of_pair(*pair), tuple(x.ravel() for x in parameters), _BATCH)
    return flat.reshape(*shape, *flat.shape[1:])


def _expectation(theta: Float[Array, "*batch 2"], after: Float[Array, "*batch 2 2"]) -> Float[Array, "*batch 2"]:
    return (1 - theta) * after[..., 0] + theta * after[..., 1]


@engine.jit
def _all_pairs(draws: Float[Array, "S G"], weights: Float[Array, " S"], rope: Scalar) -> Float[Array, "G G 3"]:
    def add(greater, draw):
        theta, weight = draw
        return greater + weight * (theta[:, None] - theta[None, :] > rope), None

    n_groups = draws.shape[1]
    greater, _ = engine.scan(add, xp.zeros((n_groups, n_groups)), (draws, weights), unroll=8)
    total = weights.sum()
    inside = xp.maximum(total - greater.T - greater, 0.0)
    return xp.stack([greater.T, inside, greater], axis=-1) / total
