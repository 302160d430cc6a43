"""Libraries that few calls need and that take long to import: imported at their first use.

JAX takes half a second that a session on NumPy would pay before its first answer, though only compiled steps use it.
NumPyro's distributions bring all of SciPy's statistics along, half a second more, though only `fit` and programs look
at them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Generic, ParamSpec, TypedDict, TypeVar, Unpack

P = ParamSpec("P")
T = TypeVar("T")

if TYPE_CHECKING:
    import jax as jax
    import jax.numpy as jnp
    import numpyro as numpyro
    import numpyro.distributions as dist
    from jax import lax as lax
    from scipy import optimize as optimize
    from scipy import stats as stats
else:

    class _Lazy:
        """A module that is imported when one of its names is looked up."""

        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, name: str) -> object:
            from bayes_assess._tools.pytrees import register_waiting

            value = getattr(import_module(self._name), name)
            if "jax" in sys.modules:
                register_waiting()
            setattr(self, name, value)
            return value

    jax, jnp, lax = _Lazy("jax"), _Lazy("jax.numpy"), _Lazy("jax.lax")
    numpyro, dist = _Lazy("numpyro"), _Lazy("numpyro.distributions")
    optimize, stats = _Lazy("scipy.optimize"), _Lazy("scipy.stats")


class JitOptions(TypedDict, total=False):
    """Options of `jax.jit` that are used here."""

    static_argnums: int | Sequence[int]
    compiler_options: dict[str, object]


class _Compiled(Generic[P, T]):
    """A function that `jax.jit` compiles when it is first called."""

    def __init__(self, function: Callable[P, T], options: JitOptions):
        update_wrapper(self, function)
        self._function, self._options = function, options

    @cached_property
    def _compiled(self) -> Callable[P, T]:
        return jax.jit(self._function, **self._options)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> T:
        return self._compiled(*arguments, **named)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._compiled, name)


def jit(function: Callable[P, T], **options: Unpack[JitOptions]) -> Callable[P, T]:
    """Compile a function at its first call, as `jax.jit` with these options does at each new shape.

    Examples
    --------
    >>> jit(lambda x: 2 * x)(1.5).item()
    3.0
    """
    return _Compiled(function, options)


def names_of(
    package: str, owners: Mapping[str, str], then: Callable[[], None] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are imported when they are looked up.

    Parameters
    ----------
    package : str
    owners : mapping
        Module of the package by name.
    then : callable, optional
        Called after every import.
    """

    def look_up(name: str) -> object:
        if name not in owners:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{owners[name]}"), name)
        if then is not None:
            then()
        setattr(sys.modules[package], name, value)
        return value

    return look_up, lambda: sorted(owners)
