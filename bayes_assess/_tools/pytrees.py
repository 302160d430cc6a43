"""Classes that JAX takes apart into arrays: pytrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from jax.tree_util import GetAttrKey, register_pytree_with_keys

C = TypeVar("C", bound=type)


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
    data_fields, meta_fields = tuple(data_fields), tuple(meta_fields)
    keys = tuple(map(GetAttrKey, data_fields))

    def flatten(node: Any) -> tuple[tuple[Any, ...], Any]:
        return tuple(getattr(node, name) for name in data_fields), tuple(getattr(node, name) for name in meta_fields)

    def flatten_with_keys(node: Any) -> tuple[tuple[tuple[Any, Any], ...], Any]:
        children, meta = flatten(node)
        return tuple(zip(keys, children, strict=True)), meta

    def unflatten(meta: Any, children: Any) -> Any:
        return cls(**dict(zip(data_fields, children, strict=True)), **dict(zip(meta_fields, meta, strict=True)))

    register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
