"""The order of many numbers, in half of the time of `numpy.argsort`: they are sorted together with their places."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Float, Int, UInt

_MANY = 2**16  # below which there is no time to save
_MOST_ALIKE = 0.25  # share of numbers that first bits may leave undecided


def order_of(keys: UInt[np.ndarray, " n"] | Int[np.ndarray, " n"] | Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Return the places of numbers from the least to the greatest, those of equal ones in any order.

    Parameters
    ----------
    keys : (n,) integers or floats
        None of them NaN.

    Returns
    -------
    (n,) integers

    Examples
    --------
    >>> order_of(np.array([0.5, -2.0, 0.1])).tolist()
    [1, 2, 0]
    """
    n = len(keys)
    if n < _MANY:
        return np.argsort(keys)
    n_bits = np.uint64((n - 1).bit_length())
    first = _spread_out(keys)
    first >>= n_bits
    first <<= n_bits
    first |= np.arange(n, dtype=np.uint64)
    first.sort()
    order = (first & ((np.uint64(1) << n_bits) - np.uint64(1))).astype(np.int64)
    first >>= n_bits
    same = first[1:] == first[:-1]
    alike = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    if len(alike) > _MOST_ALIKE * n:
        return np.argsort(keys)
    undecided = order[alike]
    order[alike] = undecided[np.argsort(keys[undecided])]
    return order


def _spread_out(keys: np.ndarray) -> UInt[np.ndarray, " n"]:
    """Return 64-bit integers in the same order, a new array whose greatest number has its first bit set."""
    sign = np.uint64(1) << np.uint64(63)
    if keys.dtype.kind == "f":
        whole = (keys.astype(np.float64) + 0.0).view(np.uint64)  # there is one 0
        # Floats are ordered as their bits are, negative ones the other way round.
        whole ^= np.where(whole >= sign, ~np.uint64(0), sign) if keys.min() < 0 else np.uint64(0)
    elif keys.dtype.kind == "i":
        whole = keys.astype(np.int64).view(np.uint64) ^ sign
    else:
        whole = keys.astype(np.uint64)
    whole -= whole.min()
    whole <<= np.uint64(min(64 - int(whole.max()).bit_length(), 63))
    return whole
