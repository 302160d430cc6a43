"""Functions of `jax.nn` and `jax.scipy`, on either engine; 32-bit arrays stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools.engine._current import is_eager


def logsumexp(values: Any, axis: Any = None) -> Any:
    """Compute log sum exp."""
    if not is_eager():
        import jax

        return jax.nn.logsumexp(values, axis)
    top = values.max(axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.exp(values - top).sum(axis, keepdims=True)) + top
    return total.reshape(()) if axis is None else total.squeeze(axis)


def log_softmax(values: Any, axis: int = -1) -> Any:
    """Compute the logarithm of `softmax`."""
    if not is_eager():
        import jax

        return jax.nn.log_softmax(values, axis)
    shifted = values - values.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def softmax(values: Any, axis: int = -1) -> Any:
    """Compute exp divided by its sum."""
    if not is_eager():
        import jax

        return jax.nn.softmax(values, axis)
    weight = np.exp(values - values.max(axis, keepdims=True))
    return weight / weight.sum(axis, keepdims=True)


def ndtr(x: Any) -> Any:
    """Compute the distribution function of the standard normal distribution."""
    if not is_eager():
        import jax

        return jax.scipy.special.ndtr(x)
    from scipy import special

    return special.ndtr(x)


def ndtri(p: Any) -> Any:
    """Compute quantiles of the standard normal distribution."""
    if not is_eager():
        import jax

        return jax.scipy.special.ndtri(p)
    from scipy import special

    return special.ndtri(p)


def xlogy(x: Any, y: Any) -> Any:
    """Compute x log y, 0 where x is 0."""
    if not is_eager():
        import jax

        return jax.scipy.special.xlogy(x, y)
    from scipy import special

    return special.xlogy(x, y)


def solve_lower(factor: Any, right: Any) -> Any:
    """Solve L x = right for triangular matrices L, (..., D, D), and one right side (D, E)."""
    if not is_eager():
        import jax

        solve = lambda one: jax.scipy.linalg.solve_triangular(one, right, lower=True)  # noqa: E731
        return jax.vmap(solve)(factor)
    return np.linalg.solve(factor, right)
