"""The density of the Beta distribution to full precision at any size of its parameters."""

from __future__ import annotations

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models._numerics.special import HALF_LOG_2PI, stirling_rest


def log_beta_kernel(
    log_x: Float[Array, "*shape"], log_1mx: Float[Array, "*shape"], a: Float[Array, "*shape"], b: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Return log(x^a (1 - x)^b / B(a, b)), x (1 - x) times the density of Beta(a, b); under 64-bit types.

    Powers are taken of x and 1 - x relative to their means, so that terms of the size of a never cancel.

    Parameters
    ----------
    log_x, log_1mx : (...)
        log x and log(1 - x), both, for x may be nearer to 0 or 1 than floats are.
    a, b : (...) positive

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     log_half, one = -jax.numpy.log(2.0), jax.numpy.float64(1)
    ...     round(float(jax.numpy.exp(log_beta_kernel(log_half, log_half, one, one))), 9)
    0.25
    """
    total = a + b
    mean, rest = a / total, b / total
    log_mean, log_rest = -xp.log1p(b / a), -xp.log1p(a / b)
    d = xp.where(mean < 0.5, xp.exp(log_x) - mean, rest - xp.exp(log_1mx))
    main = a * _log_ratio(d / mean, log_x - log_mean) + b * _log_ratio(-d / rest, log_1mx - log_rest)
    # log(1 / B(a, b)) is -a log_mean - b log_rest, taken into `main` already, and what follows.
    scale = 0.5 * (xp.log(a) + xp.log(b) - xp.log(total)) - HALF_LOG_2PI
    return main + scale + stirling_rest(total) - stirling_rest(a) - stirling_rest(b)


def _log_ratio(excess: Float[Array, "*shape"], far: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return log(1 + excess), which is `far` where the excess is not small."""
    near = xp.abs(excess) < 0.5
    return xp.where(near, xp.log1p(xp.where(near, excess, 0.0)), far)
