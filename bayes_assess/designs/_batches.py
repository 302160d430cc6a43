"""Steps of a design on a whole batch in one compiled call, which is the same for all batches of up to 64 items."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

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
    """Return the least of 64, 1,024, 16,384, ... that is not below `n`."""
    length = 64
    while length < n:
        length *= 16
    return length


def _padded(*arrays: np.ndarray) -> tuple[Any, ...]:
    """Pad arrays of one length, and say how many entries are real."""
    n = len(arrays[0])
    return *(np.pad(array, (0, _padded_length(n) - n)) for array in arrays), n


@partial(jax.jit, static_argnums=(0, 1))
def _choose(design: Design, length: int, key: PRNGKey, state: State, first: int, n: int):
    def step(i, carry):
        cells, weights, state = carry
        cell, weight, state = design.choose(jax.random.fold_in(key, first + i), state)
        return cells.at[i].set(cell), weights.at[i].set(weight), state

    return lax.fori_loop(0, n, step, (jnp.zeros(length, jnp.int64), jnp.zeros(length), state))


@partial(jax.jit, static_argnums=0)
def _update(
    design: Design,
    state: State,
    cells: Int[Array, " n"],
    outcomes: Int[Array, " n"],
    weights: Float[Array, " n"],
    n: int,
):
    def step(i, state):
        return design.update(state, cells[i], outcomes[i], weights[i])

    return lax.fori_loop(0, n, step, state)


@partial(jax.jit, static_argnums=0)
def _reserve(design: Design, state: State, cells: Int[Array, " n"], n: int):
    return lax.fori_loop(0, n, lambda i, state: design.reserve(state, cells[i]), state)
