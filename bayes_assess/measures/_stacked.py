"""Values and Jacobians of stacked measures, each a function g of its own places in the common risk.

Shapes: the risk R of all measures together (d,), outputs (k,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int


@dataclass(frozen=True)
class Part:
    """One measure g for every system and sub-population; hashable, so that equal measures share one trace."""

    g: Callable[[Any], Any]
    is_defined: Callable[[Any], Any] | None
    size: int  # number of losses of g
    starts: tuple[int, ...]  # where the losses of each copy begin in the common risk
    averaged: int = 1  # so many consecutive copies become one, their mean

    @property
    def places(self) -> Int[np.ndarray, "N D"]:
        """Places of the losses of each copy in the common risk."""
        return np.add.outer(np.asarray(self.starts), np.arange(self.size))

    def value(self, risk: Float[Array, " D"]) -> Float[Array, " K"]:
        """Compute g at the risk of one copy; 0 where it is not finite."""
        values = jnp.atleast_1d(jnp.asarray(self.g(risk), jnp.float64))
        return jnp.where(jnp.isfinite(values), values, 0.0)

    def defined(self, risk: Float[Array, " D"]) -> Bool[Array, " K"]:
        values = jnp.atleast_1d(jnp.asarray(self.g(risk)))
        known = jnp.isfinite(values) if self.is_defined is None else jnp.asarray(self.is_defined(risk))
        return jnp.broadcast_to(known, values.shape)

    def jacobian(self, risk: Float[Array, " D"]) -> Float[Array, "K D"]:
        """Differentiate g at the risk of one copy; 0 where that is not finite."""
        n_outputs = jax.eval_shape(self.value, risk).shape[0]
        differentiate = jax.jacrev if n_outputs <= self.size else jax.jacfwd
        matrix = differentiate(lambda r: jnp.atleast_1d(jnp.asarray(self.g(r), jnp.float64)))(risk)
        return jnp.where(jnp.isfinite(matrix), matrix, 0.0)


@partial(jax.jit, static_argnums=0)
def value(parts: tuple[Part, ...], risk: Float[Array, " D"]) -> Float[Array, " K"]:
    """Compute all outputs, part by part and copy by copy."""
    blocks = [(part, jax.vmap(part.value)(risk[part.places])) for part in parts]
    return jnp.concatenate([_averaged(part, block).mean(1).ravel() for part, block in blocks])


@partial(jax.jit, static_argnums=0)
def defined(parts: tuple[Part, ...], risk: Float[Array, " D"]) -> Bool[Array, " K"]:
    """Tell which outputs have a value."""
    blocks = [(part, jax.vmap(part.defined)(risk[part.places])) for part in parts]
    return jnp.concatenate([_averaged(part, block).all(1).ravel() for part, block in blocks])


@partial(jax.jit, static_argnums=0)
def jacobian(parts: tuple[Part, ...], risk: Float[Array, " D"]) -> Float[Array, "K D"]:
    """Differentiate all outputs; a copy's outputs depend on its own losses alone."""
    blocks = [jax.vmap(part.jacobian)(risk[part.places]) / part.averaged for part in parts]
    sizes = [block.shape[0] // part.averaged * block.shape[1] for part, block in zip(parts, blocks, strict=True)]
    matrix = jnp.zeros((sum(sizes), risk.shape[0]), jnp.float64)
    at = 0
    for part, block, size in zip(parts, blocks, sizes, strict=True):
        n_copies, n_outputs = block.shape[:2]
        rows = at + np.add.outer(np.arange(n_copies) // part.averaged * n_outputs, np.arange(n_outputs))
        matrix = matrix.at[rows[:, :, None], part.places[:, None, :]].set(block)
        at += size
    return matrix


@partial(jax.jit, static_argnums=0)
def touched(parts: tuple[Part, ...], losses: Bool[Array, " D"]) -> Bool[Array, " K"]:
    """Tell which outputs depend on one of these losses; a mean over copies, on one of each."""
    some = [losses[part.places].any(1).reshape(-1, part.averaged).all(1) for part in parts]
    risk = jnp.zeros(losses.shape, jnp.float64)
    n_outputs = [jax.eval_shape(part.value, risk[part.places[0]]).shape[0] for part in parts]
    return jnp.concatenate([jnp.repeat(one, n) for one, n in zip(some, n_outputs, strict=True)])


def _averaged(part: Part, block: Array) -> Array:
    """Set apart the copies that are averaged: (copies, K) becomes (means, averaged, K)."""
    return block.reshape(-1, part.averaged, block.shape[1])
