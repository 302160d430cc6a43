"""Labels as programs take them, one item after the other, and as beliefs do, counted by cell and outcome."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.lazy import jnp
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import LabelError


def items_of(counts: ArrayLike | None, shape: tuple[int, ...]) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """List labelled items by their counts.

    Parameters
    ----------
    counts : (K, O) integers, or None
        Labels of every cell with every outcome; None are no labels.
    shape : (K, O)
        What is expected.

    Returns
    -------
    cells, outcomes : (N,) integers
        Of every item, cell by cell and outcome by outcome.

    Raises
    ------
    LabelError
        If the counts have another shape, or one is no whole number, 0 or more.

    Examples
    --------
    >>> items_of([[2, 0], [0, 1]], (2, 2))
    (array([0, 0, 1]), array([0, 0, 1]))
    """
    table = np.zeros(shape, np.int64) if counts is None else np.asarray(counts)
    if table.shape != tuple(shape):
        raise LabelError(f"Counts have a row per cell and a column per outcome, {tuple(shape)}; found {table.shape}.")
    if table.dtype.kind not in "biuf" or not (np.isfinite(table) & (table >= 0) & (table == np.floor(table))).all():
        raise LabelError(f"Counts of labels are whole numbers, 0 or more; found {show(table)}.")
    cells, outcomes = np.indices(table.shape).reshape(2, -1)
    n = table.astype(np.int64).ravel()
    return np.repeat(cells, n), np.repeat(outcomes, n)


def added(learned: ArrayLike, counts: ArrayLike | None) -> np.ndarray:
    """Add further labels to those that a belief has learned, where they are of the same cells and outcomes.

    Raises
    ------
    LabelError
        If they are not.

    Examples
    --------
    >>> added(np.ones((1, 2)), [[0, 2]]).tolist(), added(np.ones((1, 2)), None).tolist()
    ([[1.0, 3.0]], [[1.0, 1.0]])
    """
    learned = np.asarray(learned)
    if counts is None:
        return learned
    told = np.asarray(counts)
    if told.shape != learned.shape:
        raise LabelError(f"Counts have a row per cell and a column per outcome, {learned.shape}; found {told.shape}.")
    return learned + told


def counts_of(cells: ArrayLike, outcomes: ArrayLike | None, n_cells: int, n_outcomes: int) -> Float[Array, "K O"]:
    """Count labels inside a program, (K, O); none where outcomes are to be simulated.

    Examples
    --------
    >>> counts_of(np.array([0, 0, 1]), np.array([1, 1, 0]), 2, 2).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    table = jnp.zeros((n_cells, n_outcomes))
    return table if outcomes is None else table.at[jnp.asarray(cells), jnp.asarray(outcomes)].add(1.0)
