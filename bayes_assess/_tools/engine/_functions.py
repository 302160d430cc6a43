"""Functions of `jax.nn` and `jax.scipy`, on either engine; 32-bit arrays stay what they are."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayes_assess._tools.engine._current import is_eager
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import Array, Scalar

_SINGLE = np.dtype(np.float32)
_SMALL = 32  # matrices, which take longer one by one than column by column
_ROOT_HALF = 0x3F3504F3  # bits of sqrt(1/2)
_LOG_2 = (0.693359375, -2.12194440e-4)  # in two parts, of which the first has few bits
_LOGARITHM = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)

_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_BEYOND = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


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
        return jax.lax.cond(exponent == 1, lambda: base, lambda: jnp.exp(exponent * jnp.log(base)))
    return base if exponent == 1 else base**exponent


def product(a: Array, b: Array) -> Array:
    """Compute a @ b; on NumPy with sums of 64 bits.

    The last digit of a sum of 32 bits depends on the processor that a library of matrices is written for, and with it,
    sooner or later, what a Metropolis step accepts.
    """
    if not is_eager() or {a.dtype, b.dtype} != {_SINGLE}:
        return a @ b
    return (a.astype(np.float64) @ b).astype(np.float32)


def log_of_normal(x: Array) -> Array:
    """Compute the logarithm of positive numbers; compiled and of 32 bits, of normal ones, and without a derivative.

    That is a polynomial (Moshier's, of the Cephes library), which takes less time than `jax.numpy.log`: that also knows
    0, infinity and subnormal numbers.
    """
    if is_eager():
        return np.log(x)
    if x.dtype != jnp.float32:
        return jnp.log(x)
    bits = jax.lax.bitcast_convert_type(x, jnp.int32)
    exponent = (bits - _ROOT_HALF) >> 23
    rest = jax.lax.bitcast_convert_type(bits - (exponent << 23), jnp.float32) - 1  # sqrt(1/2) - 1 to sqrt(2) - 1
    doublings, square = exponent.astype(jnp.float32), rest * rest
    series = jnp.full_like(rest, _LOGARITHM[0])
    for coefficient in _LOGARITHM[1:]:
        series = series * rest + coefficient
    return rest + (series * rest * square + doublings * _LOG_2[1] - 0.5 * square) + doublings * _LOG_2[0]


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


def normal_quantile(p: Array) -> Array:
    """Compute `ndtri` of numbers of 32 bits between 2^-24 and 1 - 2^-24; compiled, in a fifth of its time.

    Compiled, it is Giles's approximation of the inverse of the error function by two polynomials (Approximating the
    erfinv function, 2011), with errors of 3e-7 of the quantile.
    """
    if is_eager():
        return special.ndtri(p)
    tail = -log_of_normal(4 * p * (1 - p))
    middle, far = tail - 2.5, jnp.sqrt(tail) - 3
    near, beyond = (jnp.full_like(p, series[0]) for series in (_NEAR, _BEYOND))
    for a, b in zip(_NEAR[1:], _BEYOND[1:], strict=True):
        near, beyond = near * middle + a, beyond * far + b
    return jnp.where(tail < 5, near, beyond) * (2 * p - 1) * np.float32(2**0.5)


def xlogy(x: Array, y: Array) -> Array:
    """Compute x log y, 0 where x is 0."""
    if not is_eager():
        return jax.scipy.special.xlogy(x, y)
    return special.xlogy(x, y)


def solve_lower(factor: Array, right: Array) -> Array:
    """Solve L x = right for triangular matrices L, (..., D, D), and one right side (D, E)."""
    if not is_eager():
        right = jnp.broadcast_to(right, (*factor.shape[:-2], *right.shape))
        return jax.scipy.linalg.solve_triangular(factor, right, lower=True)
    return np.linalg.solve(factor, right)


def inverse(matrices: Array) -> Array:
    """Invert matrices (..., D, D); what comes of a singular one is not finite."""
    if not is_eager():
        return jnp.linalg.inv(matrices)
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:  # one singular matrix takes all of them with it
        singular = np.linalg.det(matrices) == 0
        inverses = np.full_like(matrices, np.nan)
        inverses[~singular] = np.linalg.inv(matrices[~singular])
        return inverses


def is_positive_definite(matrices: Array) -> Array:
    """Tell which symmetric matrices (..., D, D) have a Cholesky factor."""
    if not is_eager():
        return jnp.isfinite(jnp.linalg.cholesky(matrices)).all((-1, -2))
    return _have_factors(np.asarray(matrices))


def _have_factors(matrices: np.ndarray) -> np.ndarray:
    """Tell which matrices (..., D, D) have a Cholesky factor; NumPy refuses all of them for one that has none."""
    try:
        return np.asarray(np.isfinite(np.linalg.cholesky(matrices)).all((-1, -2)))
    except np.linalg.LinAlgError:
        batch, size = matrices.shape[:-2], matrices.shape[-1]
    if size <= _SMALL:
        return _has_positive_pivots(matrices)
    if math.prod(batch) == 1:
        return np.zeros(batch, bool)
    halves = np.array_split(matrices.reshape(-1, size, size), 2)
    return np.concatenate([_have_factors(half) for half in halves]).reshape(batch)


def _has_positive_pivots(matrices: np.ndarray) -> np.ndarray:
    """Tell the same, column by column of all matrices."""
    rest, positive = np.array(matrices), np.ones(matrices.shape[:-2], bool)
    for i in range(matrices.shape[-1]):
        column, pivot = rest[..., i:, i], rest[..., i, i]
        positive &= (pivot > 0) & np.isfinite(column).all(-1)
        rest[..., i:, i:] -= column[..., :, None] * (column / pivot[..., None])[..., None, :]
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
        greatest, places = jax.lax.top_k(values, k)
        return greatest, places
    places = np.argsort(-values, kind="stable")[:k]
    return values[places], places
