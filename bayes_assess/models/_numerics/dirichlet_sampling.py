"""Dirichlet draws in bulk, from normalised Gamma draws, and the normalising constant of the distribution."""

from __future__ import annotations

from functools import partial

import numpy as np

from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import jit, xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models._numerics.gamma_sampling import standard_gamma
from bayes_assess.models._numerics.special import HALF_LOG_2PI, stirling_rest


def standard_dirichlet(key: PRNGKey, alpha: Float[Array, "*batch C"]) -> Float[Array, "*batch C"]:
    """Draw one Dirichlet(alpha) vector per row; to be called under 64-bit types.

    Parameters
    ----------
    key : PRNG key
    alpha : (..., C) 64-bit or 32-bit floats, positive
        Parameters. Values far below 1 are fine: such a row is all but a single one and zeros.

    Returns
    -------
    (..., C) in [0, 1]; rows sum to 1 up to rounding.
    """
    gamma, boost = standard_gamma(key, alpha)
    # The greatest boost taken out, one term at least is of an ordinary size: the sum is never 0.
    weight = gamma * xp.exp(boost - boost.max(-1, keepdims=True))
    return weight / weight.sum(-1, keepdims=True)


def dirichlet_draw(
    rng: np.random.Generator, alpha: Float[np.ndarray, "*batch C"], shape: tuple[int, ...] = ()
) -> Float[np.ndarray, "*shape C"]:
    """Draw a Dirichlet(alpha) vector per row by NumPy's generator, (*shape, ..., C); alpha is 0 where impossible.

    Examples
    --------
    >>> dirichlet_draw(np.random.default_rng(0), np.array([[1.0, 0.0], [1e-9, 1e-9]])).sum(-1).tolist()
    [1.0, 1.0]
    """
    full = (*shape, *alpha.shape)
    with np.errstate(divide="ignore"):  # a Gamma variable of alpha is one of alpha + 1 times U^(1 / alpha)
        log_weight = np.log(rng.standard_gamma(alpha + 1, full)) - rng.standard_exponential(full) / alpha
    weight = np.exp(log_weight - log_weight.max(-1, keepdims=True))
    return weight / weight.sum(-1, keepdims=True)


@partial(jit, static_argnums=1)
def sample_dirichlet(key: PRNGKey, n: int, alpha: Float[Array, "*batch C"]) -> Float[Array, "S *batch C"]:
    """Draw `n` Dirichlet(alpha) vectors per row; to be called under 64-bit types."""
    return standard_dirichlet(key, xp.broadcast_to(alpha, (n, *alpha.shape)))


@jit
def others(alpha: Float[Array, "*batch C"]) -> Float[Array, "*batch C"]:
    """Return sum_{i != j} alpha_i for every j, without cancellation where one alpha_j is nearly the whole sum.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     print(others(jax.numpy.array([1e20, 1.0, 2.0])))
    [3.e+00 1.e+20 1.e+20]
    """
    total = alpha.sum(-1, keepdims=True)
    # All but the greatest are at most half of the sum: there the difference keeps its digits.
    greatest = xp.arange(alpha.shape[-1]) == alpha.argmax(-1, keepdims=True)
    return xp.where(greatest, xp.where(greatest, 0.0, alpha).sum(-1, keepdims=True), total - alpha)


@jit
def log_multivariate_beta(alpha: Float[Array, "*batch C"]) -> Float[Array, "*batch"]:
    """Return sum_j log Gamma(alpha_j) - log Gamma(sum_j alpha_j); under 64-bit types.

    Written with what Stirling's formula leaves over, so that numbers of the size of A log A never cancel.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     round(float(jax.numpy.exp(-log_multivariate_beta(jax.numpy.array([1.0, 2.0, 3.0])))), 9)  # 5! / (0! 1! 2!)
    60.0
    """
    total = alpha.sum(-1)
    rest = others(alpha)
    share = alpha / (alpha + rest)
    # log(alpha_j / A), from the side on which it keeps its digits.
    log_share = xp.where(share > 0.5, -xp.log1p(rest / alpha), xp.log(share))
    per_class = alpha * log_share - 0.5 * xp.log(alpha) + HALF_LOG_2PI + stirling_rest(alpha)
    return per_class.sum(-1) + 0.5 * xp.log(total) - HALF_LOG_2PI - stirling_rest(total)
