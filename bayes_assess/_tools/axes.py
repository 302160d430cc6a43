"""Array types, axes and the 64-bit scope, fixed once for the whole package.

Axes: S posterior draws, K cells, G groups, C classes, O outcomes, M items. Draws come first.
A confusion matrix has rows = predicted class, columns = label.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Key
from numpy import ndarray

from bayes_assess._tools.engine._current import is_eager

P = ParamSpec("P")
T = TypeVar("T")

# Public entry points take whatever NumPy takes; inside, arrays are JAX's.
FloatGroups = Float[Array, "*batch G"] | Float[ndarray, "*batch G"]
IntGroups = Int[Array, "*batch G"] | Int[ndarray, "*batch G"]
PRNGKey = Key[Array, ""]
Scalar = Any


def x64(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` with 64-bit JAX types, whatever the caller's setting, and leave that setting alone.

    32-bit floats stop counting at 2^24, so counts and special functions need this scope; eager steps are NumPy's and do
    without. Outside it JAX would truncate 64-bit arrays at the next operation, so there they are handed out as NumPy
    arrays.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> x64(lambda: jnp.asarray([2**24]) + 1.0)()
    array([16777217.])
    """

    @wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> T:
        if is_eager() or jax.config.read("jax_enable_x64"):
            return function(*args, **kwargs)
        with jax.enable_x64(True):
            return jax.tree.map(_to_numpy, function(*args, **kwargs))

    return scoped


def _to_numpy(leaf: Any) -> Any:
    is_array = isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer)
    return np.asarray(leaf) if is_array and leaf.dtype in (np.float64, np.int64) else leaf
