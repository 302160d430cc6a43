"""Array types, axes and the 64-bit scope, fixed once for the whole package.

Axes: S posterior draws, K cells, G groups, C classes, O outcomes, M items. Draws come first.
A confusion matrix has rows = predicted class, columns = label.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
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
from bayes_assess.errors import InferenceError

P = ParamSpec("P")
T = TypeVar("T")

# Public entry points take whatever NumPy takes; inside, arrays are JAX's.
FloatGroups = Float[Array, "*batch G"] | Float[ndarray, "*batch G"]
IntGroups = Int[Array, "*batch G"] | Int[ndarray, "*batch G"]

# Settings of JAX that code here and NumPyro's needs, whatever the user's are: strict ones are for code that is written
# for them, and other random bits would be other choices than those of the same seed.
SETTINGS: dict[str, object] = {
    "enable_x64": True,
    "numpy_rank_promotion": "allow",
    "numpy_dtype_promotion": "standard",
    "default_prng_impl": "threefry2x32",
    "threefry_partitionable": True,
    "transfer_guard_host_to_device": "allow",
    "transfer_guard_device_to_host": "allow",
    "transfer_guard_device_to_device": "allow",
}
_UNSET = None  # of transfer guards, which is to allow
_NARROW = (
    "`{}` computes in 64 bits, and was called inside compiled code of 32 bits, such as `jax.jit` of your own: call "
    "that within `with jax.enable_x64(True):`, or set JAX_ENABLE_X64=1."
)
_SCOPED: ContextVar[bool] = ContextVar("bayes_assess_scoped", default=False)


def x64(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` with 64-bit JAX types, whatever the caller's settings, and leave these alone; see `own_settings`.

    32-bit floats stop counting at 2^24, so counts and special functions need this scope; eager steps are NumPy's and do
    without. Where callers have 32 bits JAX would truncate 64-bit arrays at the next operation, so there they are handed
    out as NumPy arrays.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> x64(lambda: jnp.asarray([2**24]) + 1.0)()
    array([16777217.])
    """

    @wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> T:
        if is_eager() or _SCOPED.get():
            return function(*args, **kwargs)
        if _is_64_bit():
            with own_settings():
                return function(*args, **kwargs)
        with own_settings():
            try:
                found = function(*args, **kwargs)
            except TypeError as error:
                if is_traced(*leaves((args, kwargs))):
                    raise InferenceError(_NARROW.format(function.__name__)) from error
                raise
            return jax.tree.map(_to_numpy, found)

    return scoped


@contextmanager
def own_settings() -> Iterator[None]:
    """Give JAX's arrays 64 bits, and JAX the settings that the package needs, whatever the caller's are.

    Examples
    --------
    >>> import jax
    >>> with jax.numpy_rank_promotion("raise"), own_settings():
    ...     (jax.numpy.ones((2, 3)) + jax.numpy.ones(3)).dtype
    dtype('float64')
    """
    token = _SCOPED.set(True)
    try:
        with ExitStack() as stack:
            for name, value in SETTINGS.items():
                if getattr(jax.config, f"jax_{name}") not in (value, _UNSET):
                    stack.enter_context(getattr(jax, name)(value))
            yield
    finally:
        _SCOPED.reset(token)


def in_64_bits() -> AbstractContextManager[None]:
    """Do as `own_settings` does, where anybody has imported JAX: functions of users may be written for it.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> with in_64_bits():
    ...     print(jnp.ones(1).dtype)
    float64
    """
    return own_settings() if _has_jax() else nullcontext()


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
        if is_chosen() or _SCOPED.get() or any(map(_is_of_jax, leaves((args, kwargs)))):
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
