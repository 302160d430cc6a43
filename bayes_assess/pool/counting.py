"""Counts and means over the items of a pool, whose arrays have a row for every item, or for many that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools.arrays import CHUNK
from bayes_assess._tools.shapes import Float, Int

Times = Int[np.ndarray, " R"] | None
_FEW = 1_000_000  # codes that are counted rather than sorted


def count(codes: Int[np.ndarray, " R"], n_groups: int, times: Times) -> Int[np.ndarray, " G"]:
    """Count the items of every group.

    Parameters
    ----------
    codes : (R,) integers
        Group of every row.
    n_groups : int
    times : (R,) integers, optional
        Items that every row stands for; None where it is one, see `Pool.multiplicity`.

    Examples
    --------
    >>> codes = np.array([0, 1, 1])
    >>> count(codes, 2, None).tolist(), count(codes, 2, np.array([5, 1, 3])).tolist()
    ([1, 2], [5, 4])
    """
    if times is not None:  # exact below 2^53 items
        return np.bincount(codes, weights=times, minlength=n_groups).astype(np.int64)
    total = np.zeros(n_groups, np.int64)
    for start in range(0, len(codes), CHUNK):  # chunks, since bincount makes 8-byte copies of what it counts
        total += np.bincount(codes[start : start + CHUNK], minlength=n_groups)
    return total


def distinct_codes(codes: Int[np.ndarray, " R"], below: int) -> tuple[Int[np.ndarray, " D"], Int[np.ndarray, " R"]]:
    """Return the distinct codes, in increasing order, and the place of each: `np.unique`, unsorted where they are few.

    Parameters
    ----------
    codes : (R,) integers from 0 on
    below : int
        What all are below.

    Examples
    --------
    >>> distinct, place = distinct_codes(np.array([7, 2, 7]), below=8)
    >>> distinct.tolist(), place.tolist()
    ([2, 7], [1, 0, 1])
    """
    if below > _FEW:
        return np.unique(codes, return_inverse=True)
    present = count(codes, below, None) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]


def add_up(codes: Int[np.ndarray, " R"], values: Any, n_groups: int, times: Times) -> Float[np.ndarray, " G"]:
    """Add up values over the items of every group, in float64.

    Examples
    --------
    >>> add_up(np.array([0, 1, 1]), np.array([0.5, 1.0, 2.0]), 2, np.array([4, 1, 1])).tolist()
    [2.0, 3.0]
    """
    total = np.zeros(n_groups)
    for start in range(0, len(codes), CHUNK):
        rows = slice(start, start + CHUNK)
        part = values[rows] if times is None else values[rows] * times[rows]
        total += np.bincount(codes[rows], weights=part, minlength=n_groups)
    return total


def mean(values: Float[np.ndarray, " R"], times: Times) -> float:
    """Average values over the items.

    Examples
    --------
    >>> mean(np.array([0.0, 1.0]), np.array([3, 1]))
    0.25
    """
    return float(values.mean() if times is None else values @ times / times.sum())
