"""Array types, axes and the 64-bit scope, fixed once for the whole package.

Axes: S posterior draws, K cells, G groups, C classes, O outcomes, M items. Draws come first.
A confusion matrix has rows = predicted class, columns = label.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy import ndarray

from bayes_assess._tools.engine._arrays import is_traced
from bayes_assess._tools.engine._current import eager, is_chosen, is_eager
from bayes_assess._tools.lazy import jax
from bayes_assess._tools.pytrees import leaves
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess._tools.shapes import PRNGKey as PRNGKey

P = ParamSpec("P")
T = TypeVar("T")

# Public entry points take whatever NumPy takes; inside, arrays are JAX's.
FloatGroups = Float[Array, "*batch G"] | Float[ndarray, "*batch G"]
IntGroups = Int[Array, "*batch G"] | Int[ndarray, "*batch G"]


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
        if is_eager() or _is_64_bit():
            return function(*args, **kwargs)
        with jax.enable_x64(True):
            return jax.tree.map(_to_numpy, function(*args, **kwargs))

    return scoped


def in_64_bits() -> AbstractContextManager[None]:
    """Give JAX's arrays 64 bits, where anybody has imported it: functions of users may be written for it.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> with in_64_bits():
    ...     print(jnp.ones(1).dtype)
    float64
    """
    return jax.enable_x64(True) if _has_jax() else nullcontext()


def any_engine(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function`, which is written against the namespace `xp`, on what its caller runs on.

    That is the engine of the steps that call it; on NumPy where it is called on the host with arrays of NumPy, which
    answers at once; and as `x64` does where it is called with arrays of JAX, or inside compiled code.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess._tools.engine import xp
    >>> any_engine(lambda x: xp.log(x))(np.ones(2))
    array([0., 0.])
    """
    scoped = x64(function)

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if is_chosen() or _is_64_bit() or any(map(_is_of_jax, leaves((args, kwargs)))):
            return scoped(*args, **kwargs)
        with eager():
            return function(*args, **kwargs)

    return run


def _has_jax() -> bool:
    """Whether anybody has imported JAX; where nobody has, nothing is an array of its."""
    return "jax" in sys.modules


def _is_64_bit() -> bool:
    return _has_jax() and jax.config.read("jax_enable_x64")


def _is_of_jax(leaf: object) -> bool:
    """Whether a value is an array of JAX; keys are not, unless they are traced."""
    if not _has_jax() or not isinstance(leaf, jax.Array):
        return False
    return is_traced(leaf) or not jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _to_numpy(leaf: T) -> T | np.ndarray:
    if not isinstance(leaf, jax.Array) or is_traced(leaf):
        return leaf
    return np.asarray(leaf) if leaf.dtype in (np.float64, np.int64) else leaf
