"""Control flow: JAX's in compiled steps, Python's in eager ones. Signatures are those of `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar, Unpack

import numpy as np

from bayes_assess._tools import lazy
from bayes_assess._tools.engine._current import is_eager
from bayes_assess._tools.lazy import JitOptions, jax, jnp, lax
from bayes_assess._tools.pytrees import leaves, tree_map
from bayes_assess._tools.shapes import Array, Scalar

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X")
Y = TypeVar("Y")


def cond(condition: Scalar, then: Callable[..., T], otherwise: Callable[..., T], *operands: object) -> T:
    """Call one of two functions."""
    if is_eager():
        return then(*operands) if condition else otherwise(*operands)
    return lax.cond(condition, then, otherwise, *operands)


def fori_loop(start: Scalar, stop: Scalar, body: Callable[[int, T], T], carry: T) -> T:
    """Carry something through a loop over integers."""
    if is_eager():
        for i in range(int(start), int(stop)):
            carry = body(i, carry)
        return carry
    return lax.fori_loop(start, stop, body, carry)


def while_loop(condition: Callable[[T], Scalar], body: Callable[[T], T], carry: T) -> T:
    """Carry something through a loop as long as a condition holds."""
    if is_eager():
        while condition(carry):
            carry = body(carry)
        return carry
    return lax.while_loop(condition, body, carry)


def scan(body: Callable[[T, X], tuple[T, Y]], carry: T, inputs: X, unroll: int = 1) -> tuple[T, Y]:
    """Carry something along the first axis of arrays, and stack what each step returns beside it.

    Compiled, `unroll` steps are one turn of the loop.
    """
    if not is_eager():
        return lax.scan(body, carry, inputs, unroll=unroll)
    outputs = []
    for row in _rows(inputs):
        carry, out = body(carry, row)
        outputs.append(out)
    return carry, _stacked(outputs)


def mapped(function: Callable[[X], Y], inputs: X, at_once: int | None = None) -> Y:
    """Apply a function to the rows of arrays, one after the other; compiled, so many of them side by side."""
    if not is_eager():
        return lax.map(function, inputs, batch_size=at_once)
    return _stacked([function(row) for row in _rows(inputs)])


def replaced(which: Array, function: Callable[[object, T], T], rows: T) -> T:
    """Return trees of arrays, some of whose rows are replaced by what a function makes of their number and of the row.

    Compiled, nothing is done for other rows, nor are they copied.

    Examples
    --------
    >>> from bayes_assess._tools import engine
    >>> with engine.eager():
    ...     engine.replaced(np.array([True, False]), lambda i, row: 10 * row + i, np.array([3, 4])).tolist()
    [30, 4]
    """
    if is_eager():
        return _stacked([function(i, row) if which[i] else row for i, row in enumerate(_rows(rows))])
    order = jnp.argsort(~which, stable=True)

    def one(i, rows):
        at = order[i]
        new = function(at, jax.tree.map(lambda column: column[at], rows))
        return jax.tree.map(lambda column, row: column.at[at].set(row), rows, new)

    return lax.fori_loop(0, which.sum(), one, rows)


def vmap(function: Callable[..., T], in_axes: int | Sequence[int | None] = 0) -> Callable[..., T]:
    """Make a function of arrays with one axis more, which comes first in what it returns.

    `in_axes` is one axis of all arguments, or one for each: None for those that have no such axis.
    """

    @wraps(function)
    def over_rows(*arguments: object) -> T:
        if not is_eager():
            return jax.vmap(function, in_axes)(*arguments)
        axes = in_axes if isinstance(in_axes, Sequence) else [in_axes] * len(arguments)
        columns = [None if axis is None else _rows(x, axis) for x, axis in zip(arguments, axes, strict=True)]
        n = next(len(column) for column in columns if column is not None)
        calls = ([x if c is None else c[i] for x, c in zip(arguments, columns, strict=True)] for i in range(n))
        return _stacked([function(*call) for call in calls])

    return over_rows


def jit(function: Callable[P, T], **options: Unpack[JitOptions]) -> Callable[P, T]:
    """Compile a function where steps are compiled; `options` are those of `jax.jit`."""
    compiled = lazy.jit(function, **options)

    @wraps(function)
    def either(*arguments: P.args, **named: P.kwargs) -> T:
        return function(*arguments, **named) if is_eager() else compiled(*arguments, **named)

    return either


def _rows(tree: T, axis: int = 0) -> list[T]:
    """Take trees of arrays apart along an axis."""
    columns = tree_map(lambda leaf: np.moveaxis(np.asarray(leaf), axis, 0) if axis else np.asarray(leaf), tree)
    if isinstance(columns, np.ndarray):
        return [columns[i] for i in range(len(columns))]
    n = len(next(leaves(columns)))
    return [tree_map(lambda column, i=i: column[i], columns) for i in range(n)]


def _stacked(trees: Sequence[T]) -> T:
    """Put trees of arrays together along a new first axis."""
    return tree_map(lambda *rows: np.stack(rows), *trees)
