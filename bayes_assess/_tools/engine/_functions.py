"""Functions of `jax.nn` and `jax.scipy`, on either engine; 32-bit arrays stay what they are."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayes_assess._tools.engine._current import is_eager
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import Array, Scalar


def logsumexp(values: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Compute log sum exp."""
    if not is_eager():
        return jax.nn.logsumexp(values, axis)
    top = values.max(axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.exp(values - top).sum(axis, keepdims=True)) + top
    return total.reshape(()) if axis is None else total.squeeze(axis)


def log_softmax(values: Array, axis: int = -1) -> Array:
    """Compute the logarithm of `softmax`."""
    if not is_eager():
        return jax.nn.log_softmax(values, axis)
    shifted = values - values.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def softmax(values: Array, axis: int = -1) -> Array:
    """Compute exp divided by its sum."""
    if not is_eager():
        return jax.nn.softmax(values, axis)
    weight = np.exp(values - values.max(axis, keepdims=True))
    return weight / weight.sum(axis, keepdims=True)


def power(base: Array, exponent: Scalar) -> Array:
    """Compute powers of positive numbers, in 32 bits and compiled by the logarithm, which is faster than `pow`."""
    if not is_eager():
        of_any = lambda: jnp.exp(exponent * jnp.log(base))  # noqa: E731
        return jax.lax.cond(exponent == -1, lambda: 1 / base, of_any)
    return base**exponent


def ndtr(x: Array) -> Array:
    """Compute the distribution function of the standard normal distribution."""
    if not is_eager():
        return jax.scipy.special.ndtr(x)
    return special.ndtr(x)


def ndtri(p: Array) -> Array:
    """Compute quantiles of the standard normal distribution."""
    if not is_eager():
        return jax.scipy.special.ndtri(p)
    return special.ndtri(p)


def xlogy(x: Array, y: Array) -> Array:
    """Compute x log y, 0 where x is 0."""
    if not is_eager():
        return jax.scipy.special.xlogy(x, y)
    return special.xlogy(x, y)


def solve_lower(factor: Array, right: Array) -> Array:
    """Solve L x = right for triangular matrices L, (..., D, D), and one right side (D, E)."""
    if not is_eager():
        solve = lambda one: jax.scipy.linalg.solve_triangular(one, right, lower=True)  # noqa: E731
        return jax.vmap(solve)(factor)
    return np.linalg.solve(factor, right)


def inverse(matrices: Array) -> Array:
    """Invert matrices (..., D, D); what comes of a singular one is not finite."""
    if not is_eager():
        return jnp.linalg.inv(matrices)
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:  # one singular matrix takes all of them with it
        singular = np.linalg.det(matrices) == 0
        found = np.full_like(matrices, np.nan)
        found[~singular] = np.linalg.inv(matrices[~singular])
        return found


def is_positive_definite(matrices: Array) -> Array:
    """Tell which symmetric matrices (..., D, D) have a Cholesky factor."""
    if not is_eager():
        return jnp.isfinite(jnp.linalg.cholesky(matrices)).all((-1, -2))
    left, positive = np.array(matrices), np.ones(matrices.shape[:-2], bool)
    for i in range(matrices.shape[-1]):  # as NumPy refuses all matrices for one that has no factor
        column, pivot = left[..., i:, i], left[..., i, i]
        positive &= (pivot > 0) & np.isfinite(column).all(-1)
        left[..., i:, i:] -= column[..., :, None] * (column / pivot[..., None])[..., None, :]
    return positive


def xlog1py(x: Array, y: Array) -> Array:
    """Compute x log(1 + y), 0 where x is 0."""
    if not is_eager():
        return jax.scipy.special.xlog1py(x, y)
    return special.xlog1py(x, y)


def sigmoid(x: Array) -> Array:
    """Compute 1 / (1 + exp(-x))."""
    if not is_eager():
        return jax.nn.sigmoid(x)
    return special.expit(x)


def log_sigmoid(x: Array) -> Array:
    """Compute the logarithm of `sigmoid`."""
    if not is_eager():
        return jax.nn.log_sigmoid(x)
    return special.log_expit(x)


def betainc(a: Array, b: Array, x: Array) -> Array:
    """Compute the distribution function of Beta(a, b) at x."""
    if not is_eager():
        return jax.scipy.special.betainc(a, b, x)
    return special.betainc(a, b, x)


def gammaln(x: Array) -> Array:
    """Compute the logarithm of the Gamma function."""
    if not is_eager():
        return jax.scipy.special.gammaln(x)
    return special.gammaln(x)


def erf_inv(x: Array) -> Array:
    """Compute the inverse of the error function."""
    if not is_eager():
        return jax.lax.erf_inv(x)
    return special.erfinv(x)


def top_k(values: Array, k: int) -> tuple[Array, Array]:
    """Return the k greatest values of an array and their places, the first of equals first."""
    if not is_eager():
        found, places = jax.lax.top_k(values, k)
        return found, places
    places = np.argsort(-values, kind="stable")[:k]
    return values[places], places
