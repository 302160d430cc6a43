"""Logarithms of Beta and Gamma functions to full precision: JAX's own are off by 1e-7 from arguments of ten on."""

from __future__ import annotations

import math

import numpy as np

from bayes_assess._tools.axes import FloatGroups
from bayes_assess._tools.engine import gammaln, is_eager, xp
from bayes_assess._tools.shapes import Array, Float

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Stirling's series: log Gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + sum_j c_j / x^(2 j - 1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_SERIES_FROM = 12.0
_FEW = 0.5  # share of numbers other than 0, below which these are looked at alone
_IN_CACHE = 50_000  # numbers at once, on NumPy
_SHIFT = 8  # arguments from which five terms of the series leave 1e-11


def log_beta(a: FloatGroups, b: FloatGroups) -> Float[Array, "*shape"]:
    """Return log B(a, b) = log Gamma(a) + log Gamma(b) - log Gamma(a + b); under 64-bit types.

    Written with what Stirling's formula leaves over, so that numbers of the size of a log a never cancel.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     round(float(jax.numpy.exp(-log_beta(2.0, 3.0))), 9)
    12.0
    """
    a, b = xp.asarray(a, xp.float64), xp.asarray(b, xp.float64)
    total = a + b
    main = -a * xp.log1p(b / a) - b * xp.log1p(a / b)
    return (
        main
        + 0.5 * (xp.log(total) - xp.log(a) - xp.log(b))
        + HALF_LOG_2PI
        + stirling_rest(a)
        + stirling_rest(b)
        - stirling_rest(total)
    )


def stirling_rest(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return log Gamma(x) less Stirling's formula."""
    large = xp.maximum(x, _SERIES_FROM)
    inverse_square = 1 / (large * large)
    series = xp.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series * inverse_square + coefficient
    small = xp.minimum(x, _SERIES_FROM)
    direct = gammaln(small) - ((small - 0.5) * xp.log(small) - small + HALF_LOG_2PI)
    return xp.where(x >= _SERIES_FROM, series / large, direct)


def log_rising(x: Array, n: Array) -> Array:
    """Return log Gamma(x + n) - log Gamma(x), the logarithm of x (x + 1) ... (x + n - 1); under 64-bit types.

    Both arguments are shifted by x (x + 1) ... (x + 7), so that Stirling's series serves everywhere: three logarithms,
    and no branch, however small x is.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     round(float(jax.numpy.exp(log_rising(0.5, jax.numpy.float64(3.0)))), 9)  # 0.5 * 1.5 * 2.5
    1.875
    """
    if is_eager() and (shape := np.broadcast_shapes(np.shape(x), np.shape(n))):
        few = np.count_nonzero(n) < _FEW * np.size(n)
        if few or math.prod(shape) > _IN_CACHE:
            some = np.broadcast_to(n != 0, shape) if few else slice(None)
            logs = np.zeros(shape)
            logs[some] = _in_blocks(*(np.broadcast_to(part, shape)[some] for part in (x, n)))
            return logs
    return _of_all(x, n)


def _in_blocks(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Compute `log_rising` of so many numbers at once that they stay in the processor's cache."""
    shape, x, n = x.shape, x.ravel(), n.ravel()
    blocks = [slice(start, start + _IN_CACHE) for start in range(0, len(x), _IN_CACHE)]
    return np.concatenate([_of_all(x[some], n[some]) for some in blocks] or [x]).reshape(shape)


def _of_all(x: Array, n: Array) -> Array:
    above = x + n
    y, z = x + _SHIFT, above + _SHIFT

    def shift(w):
        """Return w (w + 1) ... (w + 7), whose factors i and 7 - i are w (w + 7) + i (7 - i) together."""
        ends = w * (w + 7)
        return ends * (ends + 6) * (ends + 10) * (ends + 12)

    def rest(w):
        inverse_square, (series, *others) = 1 / (w * w), _STIRLING[4::-1]
        for coefficient in others:
            series = series * inverse_square + coefficient
        return series / w

    shifts = xp.log(shift(x) / shift(above))
    return shifts + (y - 0.5) * xp.log1p(n / y) + n * (xp.log(z) - 1) + rest(z) - rest(y)
