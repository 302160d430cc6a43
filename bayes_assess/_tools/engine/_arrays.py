"""The array namespace of the engine that runs, and what its arrays cannot do alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bayes_assess._tools import pytrees
from bayes_assess._tools.engine._current import EAGER, is_eager
from bayes_assess._tools.lazy import jax, jnp, lax
from bayes_assess._tools.shapes import Array, Scalar

T = TypeVar("T")

_MANY = 50_000  # numbers that are added in rows

if TYPE_CHECKING:
    import jax.numpy as xp
else:

    class _Namespace:
        """`numpy` in eager steps, `jax.numpy` in compiled ones.

        NumPy's names are properties, as they are asked for some thousand times a label: `__getattr__`, which is tried
        after all else, takes eight times as long.
        """

        def __getattr__(self, name: str) -> object:
            return getattr(np if EAGER.get() else jnp, name)

    xp = _Namespace()


def _einsum(subscripts: str, *operands: np.ndarray, precision: object = None) -> np.ndarray:
    return np.einsum(subscripts, *operands)


def _matmul(a: np.ndarray, b: np.ndarray, precision: object = None) -> np.ndarray:
    return np.matmul(a, b)


def _either(name: str, of_numpy: object, eager: Callable[[], object] = EAGER.get) -> property:
    return property(lambda _: of_numpy if eager() else getattr(jnp, name))


def _in_64_bits(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Compute by 64 bits what NumPy computes in other ways on other processors, and with other last digits."""

    def rounded(x: np.ndarray) -> np.ndarray:
        is_single = getattr(x, "dtype", None) == np.float32
        return function(x.astype(np.float64)).astype(np.float32) if is_single else function(x)

    return rounded


_of_any_processor = {name: _in_64_bits(getattr(np, name)) for name in ("log1p", "sinh")}  # unlike exp and log
for _name, _of_numpy in {**vars(np), "einsum": _einsum, "matmul": _matmul, **_of_any_processor}.items():
    if not _name.startswith("_"):
        setattr(type(xp), _name, _either(_name, _of_numpy))


class _Place:
    """Elements of an array, see `at`."""

    def __init__(self, array: Array, index: Any):
        self._array, self._index = array, index

    def set(self, values: Scalar) -> Array:
        if not is_eager():
            return _of_jax(self._array)[self._index].set(values)
        changed = np.array(self._array)
        changed[self._index] = values
        return changed

    def add(self, values: Scalar) -> Array:
        if not is_eager():
            return _of_jax(self._array)[self._index].add(values)
        changed = np.array(self._array)
        index, added = self._index, np.asarray(values).astype(changed.dtype)
        if added.size > _MANY and added.ndim > 1 and _is_of_rows(index, len(added)):
            _add_rows(changed, index, added)
        else:
            np.add.at(changed, index, added)
        return changed

    def max(self, values: Scalar) -> Array:
        if not is_eager():
            return _of_jax(self._array)[self._index].max(values)
        changed = np.array(self._array)
        np.maximum.at(changed, self._index, values)
        return changed


def _is_of_rows(index: object, n: int) -> bool:
    return isinstance(index, np.ndarray) and index.dtype.kind in "iu" and index.shape == (n,)


def _add_rows(array: np.ndarray, index: np.ndarray, rows: np.ndarray) -> None:
    """Add rows to those of an array, of which some may be the same: `np.add.at` takes some times as long."""
    order = np.argsort(index % len(array), kind="stable")
    present, first = np.unique(index[order] % len(array), return_index=True)
    array[present] += np.add.reduceat(rows[order], first, axis=0)


class _Places:
    def __init__(self, array: Array):
        self._array = array

    def __getitem__(self, index: Any) -> _Place:
        return _Place(self._array, index)


def at(array: Array) -> _Places:
    """Return an array's elements by index, to be changed in a copy; an index that occurs twice is added to twice.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess._tools.engine import at, eager
    >>> with eager():
    ...     at(np.zeros(3))[np.array([0, 0, 2])].add(1.0)
    array([2., 0., 1.])
    """
    return _Places(array)


def _of_jax(array: Array) -> Any:
    return jnp.asarray(array).at


def put(tree: T) -> T:
    """Put arrays where steps run: on the device, or nowhere else in eager steps."""
    if is_eager():
        return tree
    return jax.device_put(tree)


def tree_map(function: Callable[..., Any], tree: T, *others: T) -> T:
    """Apply a function to the arrays of trees of one shape."""
    if is_eager():
        return pytrees.tree_map(function, tree, *others)
    return jax.tree.map(function, tree, *others)


def fetched(tree: T) -> T:
    """Return trees of NumPy arrays."""
    if is_eager():
        return tree
    return jax.device_get(tree)


def is_traced(*values: object) -> bool:
    """Tell whether any of some values is not known yet, as inside compiled code."""
    if sys.modules.get("jax") is None:
        return False
    tracer: type = import_module("jax.core").Tracer
    return any(isinstance(value, tracer) for value in values)


def flattened(tree: T) -> tuple[list[Array], Callable[[Iterable[Array]], T]]:
    """Take a tree of arrays apart, and return what puts it together again."""
    if is_eager():
        return list(pytrees.leaves(tree)), lambda values: pytrees.with_leaves(tree, values)
    leaves, structure = jax.tree.flatten(tree)
    return leaves, structure.unflatten


def block(array: Array, start: Scalar, size: int) -> Array:
    """Return so many rows of an array from one on."""
    if is_eager():
        return array[start : start + size]
    return lax.dynamic_slice_in_dim(array, start, size)


def cummax(values: Array) -> Array:
    """Return the greatest value so far."""
    if is_eager():
        return np.maximum.accumulate(values)
    return lax.cummax(jnp.asarray(values))
