"""Steps of a design on a whole batch in one compiled call; batches are padded, so that few lengths are compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from bayes_assess._typing import PRNGKey, x64
from bayes_assess.designs._base import Design, State


@x64
def choose_batch(
    design: Design, key: PRNGKey, state: State, first: int, n: int
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"], State]:
    """Choose `n` items one after the other; query number t uses ``fold_in(key, t)``.

    Parameters
    ----------
    first : int
        Number of queries made before.

    Returns
    -------
    cells, weights : (n,)
    state : State
    """
    cells, weights, state = _choose(design, _padded_length(n), key, state, first, n)
    cells, weights = jax.device_get((cells, weights))
    return cells[:n], weights[:n], state


@x64
def update_batch(
    design: Design,
    state: State,
    cells: Int[np.ndarray, " n"],
    outcomes: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"] | None = None,
) -> State:
    """Learn the outcomes of `n` pending items; weights are 1 unless given."""
    weights = np.ones(len(cells)) if weights is None else weights
    return _update(design, state, *_padded(cells, outcomes, weights))


@x64
def reserve_batch(design: Design, state: State, cells: Int[np.ndarray, " n"]) -> State:
    """Mark one item of each of these cells as handed out, a cell as often as it occurs."""
    return _reserve(design, state, *_padded(cells))


def _padded_length(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _padded(*arrays: np.ndarray) -> tuple[Any, ...]:
    """Pad arrays of one length to a power of two, and say which entries are real."""
    n = len(arrays[0])
    length = _padded_length(n)
    return *(np.pad(array, (0, length - n)) for array in arrays), np.arange(length) < n


@partial(jax.jit, static_argnums=(0, 1))
def _choose(design: Design, length: int, key: PRNGKey, state: State, first: int, n: int):
    def step(state, i):
        cell, weight, chosen = design.choose(jax.random.fold_in(key, first + i), state)
        return jax.tree.map(lambda new, old: jnp.where(i < n, new, old), chosen, state), (cell, weight)

    state, (cells, weights) = lax.scan(step, state, jnp.arange(length))
    return cells, weights, state


@partial(jax.jit, static_argnums=0)
def _update(
    design: Design,
    state: State,
    cells: Int[Array, " n"],
    outcomes: Int[Array, " n"],
    weights: Float[Array, " n"],
    real: Bool[Array, " n"],
):
    def step(state, label):
        cell, outcome, weight, real = label
        return lax.cond(real, lambda: design.update(state, cell, outcome, weight), lambda: state), None

    return lax.scan(step, state, (cells, outcomes, weights, real))[0]


@partial(jax.jit, static_argnums=0)
def _reserve(design: Design, state: State, cells: Int[Array, " n"], real: Bool[Array, " n"]):
    def step(state, item):
        cell, real = item
        return lax.cond(real, lambda: design.reserve(state, cell), lambda: state), None

    return lax.scan(step, state, (cells, real))[0]
