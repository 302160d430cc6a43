"""Values and Jacobians of stacked measures, each a function g of its own places in the common risk.

Shapes: the risk R of all measures together (d,), outputs (k,).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits, own_settings
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import jax
from bayes_assess._tools.shapes import Array, Bool, Float, Int


@dataclass(frozen=True)
class Part:
    """One measure g for every system and sub-population; hashable, so that equal measures share one trace."""

    g: Callable[[Float[Array, " D"]], Array]
    is_defined: Callable[[Float[Array, " D"]], Array] | None
    size: int  # number of losses of g
    starts: tuple[int, ...]  # where the losses of each copy begin in the common risk
    averaged: int = 1  # so many consecutive copies become one, their mean
    derivative: Callable[[Float[Array, " D"]], Array] | None = None  # Dg, in closed form
    elementwise: bool = False  # whether g and is_defined take arrays of risks, whose losses come first
    at_once: bool = False  # whether the derivative does, too, and returns (k, d, ...)

    @property
    def places(self) -> Int[np.ndarray, "N D"]:
        """Places of the losses of each copy in the common risk."""
        return np.add.outer(np.asarray(self.starts), np.arange(self.size))

    def value(self, risk: Float[Array, " D"]) -> Float[Array, " K"]:
        """Compute g at the risk of one copy; 0 where it is not finite."""
        with self._exactly():
            values = xp.atleast_1d(xp.asarray(self.g(risk), xp.float64))
        return xp.where(xp.isfinite(values), values, 0.0)

    def defined(self, risk: Float[Array, " D"]) -> Bool[Array, " K"]:
        with self._exactly():
            values = xp.atleast_1d(xp.asarray(self.g(risk)))
            known = xp.isfinite(values) if self.is_defined is None else xp.asarray(self.is_defined(risk))
        return xp.broadcast_to(known, values.shape)

    def jacobian(self, risk: Float[Array, " D"]) -> Float[Array, "K D"]:
        """Differentiate g at the risk of one copy; 0 where that is not finite."""
        if self.derivative is not None:
            matrix = xp.asarray(self.derivative(risk), xp.float64)
        elif engine.is_eager():
            with engine.compiled(), own_settings():
                matrix = np.asarray(_differentiated(self, risk))
        else:
            matrix = _differentiated(self, risk)
        return xp.where(xp.isfinite(matrix), matrix, 0.0)

    def jacobians(self, risks: Float[Array, "N D"]) -> Float[Array, "N K D"]:
        """Differentiate g at the risks of all copies."""
        if self.derivative is None or not (self.at_once and engine.is_eager()):
            return engine.vmap(self.jacobian)(risks)
        matrices = xp.moveaxis(xp.asarray(self.derivative(risks.T), xp.float64), -1, 0)
        return xp.where(xp.isfinite(matrices), matrices, 0.0)

    def _exactly(self) -> AbstractContextManager[None]:
        """Give functions of users 64 bits, which may be written for JAX."""
        return in_64_bits() if self.derivative is None and engine.is_eager() else nullcontext()

    @property
    def n_outputs(self) -> int:
        """Number of values of g."""
        if self.derivative is not None:  # written for either engine
            with engine.eager():
                return len(self.value(xp.full(self.size, 0.5)))
        with engine.compiled(), own_settings():
            return jax.eval_shape(self.value, jax.ShapeDtypeStruct((self.size,), np.float64)).shape[0]


@partial(engine.jit, static_argnums=0)
def _differentiated(part: Part, risk: Float[Array, " D"]) -> Float[Array, "K D"]:
    differentiate = jax.jacrev if part.n_outputs <= part.size else jax.jacfwd
    return differentiate(lambda r: xp.atleast_1d(xp.asarray(part.g(r), xp.float64)))(risk)


@partial(engine.jit, static_argnums=0)
def value(parts: tuple[Part, ...], risk: Float[Array, "*batch D"]) -> Float[Array, "*batch K"]:
    """Compute all outputs, part by part and copy by copy; of batches where all parts work entry by entry."""
    blocks = [_averaged(part, _by_copy(part, part.value, risk)).mean(-2) for part in parts]
    return xp.concatenate([_flat(block) for block in blocks], axis=-1)


@partial(engine.jit, static_argnums=0)
def defined(parts: tuple[Part, ...], risk: Float[Array, "*batch D"]) -> Bool[Array, "*batch K"]:
    """Tell which outputs have a value; see `value`."""
    blocks = [xp.all(_averaged(part, _by_copy(part, part.defined, risk)), -2) for part in parts]
    return xp.concatenate([_flat(block) for block in blocks], axis=-1)


@partial(engine.jit, static_argnums=0)
def jacobian(parts: tuple[Part, ...], risk: Float[Array, " D"]) -> Float[Array, "K D"]:
    """Differentiate all outputs; a copy's outputs depend on its own losses alone."""
    blocks = [part.jacobians(risk[part.places]) / part.averaged for part in parts]
    sizes = [block.shape[0] // part.averaged * block.shape[1] for part, block in zip(parts, blocks, strict=True)]
    matrix = xp.zeros((sum(sizes), risk.shape[0]), xp.float64)
    at = 0
    for part, block, size in zip(parts, blocks, sizes, strict=True):
        n_copies, n_outputs = block.shape[:2]
        rows = at + np.add.outer(np.arange(n_copies) // part.averaged * n_outputs, np.arange(n_outputs))
        matrix = engine.at(matrix)[rows[:, :, None], part.places[:, None, :]].set(block)
        at += size
    return matrix


@partial(engine.jit, static_argnums=0)
def touched(parts: tuple[Part, ...], losses: Bool[Array, " D"]) -> Bool[Array, " K"]:
    """Tell which outputs depend on one of these losses; a mean over copies, on one of each."""
    some = [losses[part.places].any(1).reshape(-1, part.averaged).all(1) for part in parts]
    n_outputs = [part.n_outputs for part in parts]
    return xp.concatenate([xp.repeat(is_touched, n) for is_touched, n in zip(some, n_outputs, strict=True)])


def _by_copy(
    part: Part, function: Callable[[Float[Array, " D"]], Array], risk: Float[Array, "*batch D"]
) -> Float[Array, "*batch N K"]:
    """Apply a function of the risk of one copy to all copies."""
    if not part.elementwise:
        return engine.vmap(function)(risk[part.places])
    outputs = function(xp.moveaxis(risk, -1, 0)[part.places.T])  # (N, *batch) of one output, (K, N, *batch) of several
    outputs = outputs[None] if outputs.ndim == risk.ndim else outputs
    return xp.moveaxis(outputs, (0, 1), (-1, -2))


def _averaged(part: Part, block: Float[Array, "*batch N K"]) -> Float[Array, "*batch M A K"]:
    """Set apart the copies that are averaged: M means of A copies each."""
    return block.reshape(*block.shape[:-2], -1, part.averaged, block.shape[-1])


def _flat(block: Float[Array, "*batch M K"]) -> Float[Array, "*batch MK"]:
    return block.reshape(*block.shape[:-2], -1)
