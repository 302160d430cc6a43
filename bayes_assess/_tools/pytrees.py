"""Classes that are taken apart into arrays: pytrees, of JAX and without it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

C = TypeVar("C", bound=type)
T = TypeVar("T")
_Parts = tuple[object, ...]

_FIELDS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}  # those with arrays, and the others
_WAITING: list[type] = []  # for JAX


def register_dataclass(cls: C, data_fields: Sequence[str], meta_fields: Sequence[str]) -> C:
    """Register a dataclass as a pytree, as `jax.tree_util.register_dataclass` does, but as one of its own kind.

    JAX 0.10 takes the structures of two dataclasses for equal if both have as many data fields and the same values of
    meta fields. Its tables of compiled functions look for equals among entries that share some bits of a hash: now and
    then what was compiled for one class runs for the other, and a campaign that looks for the worst group asks as one
    that estimates all of them.

    Parameters
    ----------
    cls : dataclass
    data_fields : sequence of str
        Fields that are arrays or pytrees.
    meta_fields : sequence of str
        Fields that compiled functions take as constants.

    Returns
    -------
    The class.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import jax
    >>> @dataclass
    ... class Sum:
    ...     values: list
    >>> Sum = register_dataclass(Sum, ["values"], [])
    >>> jax.tree.map(lambda x: 10 * x, Sum([1, 2]))
    Sum(values=[10, 20])
    """
    _FIELDS[cls] = tuple(data_fields), tuple(meta_fields)
    if "jax" in sys.modules:
        _register(cls)
    else:
        _WAITING.append(cls)
    return cls


def is_of_another_kind(cls: type) -> bool:
    """Say whether a class descends from one that was registered here and is none itself: only JAX knows it, or nobody.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pair:
    ...     values: list
    >>> class Own(Pair):
    ...     pass
    >>> is_of_another_kind(register_dataclass(Pair, ["values"], [])), is_of_another_kind(Own), is_of_another_kind(dict)
    (False, True, False)
    """
    return cls not in _FIELDS and any(base in _FIELDS for base in cls.__mro__)


def register_waiting() -> None:
    """Make JAX's pytrees of the classes that were registered before it was imported."""
    while _WAITING:
        cls = _WAITING[-1]
        with contextlib.suppress(ValueError):  # it is registered: by another thread, or just before an interrupt
            _register(cls)
        with contextlib.suppress(ValueError):  # another thread has taken it off
            _WAITING.remove(cls)  # no sooner, or an interrupt would lose it


def _register(cls: type) -> None:
    from jax.tree_util import GetAttrKey, register_pytree_with_keys

    data_fields, meta_fields = _FIELDS[cls]
    keys = tuple(map(GetAttrKey, data_fields))

    def flatten(node: object) -> tuple[_Parts, _Parts]:
        return tuple(getattr(node, name) for name in data_fields), tuple(getattr(node, name) for name in meta_fields)

    def flatten_with_keys(node: object) -> tuple[tuple[tuple[object, object], ...], _Parts]:
        children, meta = flatten(node)
        return tuple(zip(keys, children, strict=True)), meta

    def unflatten(meta: _Parts, children: Iterable[object]) -> object:
        return cls(**dict(zip(data_fields, children, strict=True)), **dict(zip(meta_fields, meta, strict=True)))

    register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def tree_map(function: Callable[..., Any], tree: T, *others: T) -> T:
    """Apply a function to the leaves of trees of one shape, without JAX: of our classes, tuples, lists and dicts.

    Examples
    --------
    >>> tree_map(lambda x, y: x + y, {"a": (1, [2])}, {"a": (10, [20])})
    {'a': (11, [22])}
    """
    apart = None if type(tree) is np.ndarray else _taken_apart(tree)  # leaves are most of what is mapped over
    if apart is None:
        return function(tree, *others)
    children, together = apart
    rest = [parts[0] for parts in map(_taken_apart, others) if parts is not None]
    return together([tree_map(function, *nodes) for nodes in zip(children, *rest, strict=True)])


def stacked(trees: Sequence[T]) -> T:
    """Return a tree whose arrays have those of trees of one shape along a first axis.

    Examples
    --------
    >>> stacked([{"a": np.zeros(2)}, {"a": np.ones(2)}])["a"].tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    return tree_map(lambda *parts: np.stack(parts), *trees)


def leaves(tree: object) -> Iterator[Any]:
    """Yield the leaves of a tree, as `tree_map` finds them.

    Examples
    --------
    >>> list(leaves({"a": (1, [2]), "b": None}))
    [1, 2]
    """
    apart = _taken_apart(tree)
    if apart is None:
        yield tree
        return
    for child in apart[0]:
        yield from leaves(child)


def with_leaves(tree: T, found: Iterable[object]) -> T:
    """Return a tree of this shape with other leaves.

    Examples
    --------
    >>> with_leaves({"a": (1, [2])}, [10, 20])
    {'a': (10, [20])}
    """
    rest = iter(found)
    return tree_map(lambda _: next(rest), tree)


def structure(tree: Any) -> str:
    """Describe what is no leaf of a tree: trees of one structure differ in their leaves alone.

    Examples
    --------
    >>> structure({"a": (1, [2])}) == structure({"a": (3, [4])}) != structure({"b": (1, [2])})
    True
    """
    apart = _taken_apart(tree)
    if apart is None:
        return "*"
    kind: type = type(tree)
    if kind in _FIELDS:
        fixed = repr([getattr(tree, name) for name in _FIELDS[kind][1]])
    else:
        fixed = repr(sorted(tree)) if kind is dict else ""
    return f"{kind.__module__}.{kind.__qualname__}{fixed}({', '.join(map(structure, apart[0]))})"


def _taken_apart(node: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """Return the children of a node and what makes a node of others; None of a leaf."""
    kind = type(node)
    if node is None:
        return [], lambda _: None
    if kind in _FIELDS:
        data, meta = _FIELDS[kind]
        static = {name: getattr(node, name) for name in meta}
        made = lambda children: kind(**dict(zip(data, children, strict=True)), **static)  # noqa: E731
        return [getattr(node, name) for name in data], made
    if isinstance(node, tuple):
        return list(node), (lambda children: kind(*children)) if hasattr(node, "_fields") else kind
    if kind is list:
        return node, list
    if kind is dict:
        names = sorted(node)
        return [node[name] for name in names], lambda children: dict(zip(names, children, strict=True))
    return None
