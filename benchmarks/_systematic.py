"""Systematic sampling: a sample of fixed size with given inclusion probabilities, spread over the order of the items.

With the cumulated expectations E_k and one uniform number u, cell k gives n_k = floor(E_k + u) - floor(E_{k-1} + u)
items (W. G. Madow, "On the theory of systematic sampling, II", Annals of Mathematical Statistics 20, 1949).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.arrays import CHUNK, show
from bayes_assess.errors import DesignError

Expected = Float[np.ndarray, " K"]

_WHOLE = 1e-6  # relative distance from a whole number that rounding of expected numbers may leave


def systematic_counts(rng: np.random.Generator, expected: Expected) -> Int[np.ndarray, " K"]:
    """Draw a fixed number of items from cells, each as many as expected up to less than one.

    Neighbours seldom come up together, so with cells in the order of their scores the sample is spread over the scores.
    Within cells, draw items without replacement.

    Parameters
    ----------
    rng : numpy.random.Generator
        One uniform number is drawn.
    expected : (K,)
        Items expected from every cell, such as its size times the inclusion probability; they sum to an integer n.

    Returns
    -------
    (K,) integers n_k that sum to n, with |n_k - expected_k| < 1 and the expectation `expected`, up to rounding.

    Examples
    --------
    >>> systematic_counts(np.random.default_rng(0), np.array([0.5, 2.0, 0.25, 0.25])).tolist()
    [1, 2, 0, 0]
    """
    e = np.asarray(expected)
    counts = np.empty(len(e), np.int64)
    for rows, part in _systematic(rng, e):
        counts[rows] = part
    return counts


def systematic_sample(rng: np.random.Generator, inclusion: Expected) -> Int[np.ndarray, " n"]:
    """Draw a fixed number of items with given inclusion probabilities, spread evenly over their order.

    Systematic sampling, see `systematic_counts`: one pass over the items and one random number. In the order of the
    scores it does the work of stratification: neighbours, whose labels are alike, seldom come up together, and the
    variance is at most about that of fixed-size samples in a random order, which the usual formulas estimate. Pivotal
    sampling in order gives much the same spread, item after item. Beware of orders with a period; permute the items
    at random where the order means nothing.

    Parameters
    ----------
    rng : numpy.random.Generator
        One uniform number is drawn.
    inclusion : (M,) in [0, 1]
        They sum to an integer n.

    Returns
    -------
    (n,) positions of the items drawn, in order.

    Examples
    --------
    >>> systematic_sample(np.random.default_rng(0), np.array([0.5, 1.0, 0.25, 0.25])).tolist()
    [0, 1]
    """
    b = np.asarray(inclusion)
    if len(b) and b.max() > 1:
        raise DesignError(f"Inclusion probabilities are at most 1; found {show(b.max())}.")
    found = [np.flatnonzero(part) + rows.start for rows, part in _systematic(rng, b)]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _systematic(rng: np.random.Generator, expected: Expected) -> Iterator[tuple[slice, Int[np.ndarray, " k"]]]:
    """Count what is drawn from the cells, some rows at a time."""
    total = math.fsum(float(expected[rows].sum(dtype=np.float64)) for rows in _rows(len(expected)))
    n = round(total) if math.isfinite(total) else 0
    least = expected.min() if len(expected) else 0
    if not (least >= 0 and abs(total - n) <= _WHOLE * max(n, 1)):
        raise DesignError(
            f"The expected numbers of items are at least 0 and sum to a whole number, the size of the sample; found a "
            f"sum of {show(total)} and a least one of {show(least)}. Choose them for a whole number of labels."
        )
    # Fractions become multiples of a power of two so small that their sums are exact: no count is ever off by one, and
    # the start stays clear of the ends by as much as the sum misses a whole number.
    grain = 2.0 ** (51 - max(n, 1).bit_length())
    off = math.fsum(float(_fractions(expected[rows], grain).sum()) for rows in _rows(len(expected))) % 1
    off = min(off, 1 - off)
    before = math.floor(rng.uniform(off, 1 - off) * grain) / grain
    for rows in _rows(len(expected)):
        ends = before + np.cumsum(_fractions(expected[rows], grain))
        yield rows, (np.floor(expected[rows]) + np.diff(np.floor(ends), prepend=np.floor(before))).astype(np.int64)
        before = float(ends[-1])


def _fractions(values: Expected, grain: float) -> Expected:
    values = np.asarray(values, np.float64)
    return np.rint((values - np.floor(values)) * grain) / grain


def _rows(n: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))
