"""Quasi-random points: a Sobol sequence with linear matrix scrambling and a digital shift.

They are those of `scipy.stats.qmc.Sobol`, whose import takes longer than a session needs for its first answer: here are
the direction numbers of few dimensions (Joe and Kuo 2008, new-joe-kuo-6.21201), and the few lines that make points of
them. More dimensions are SciPy's.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.lazy import stats
from bayes_assess._tools.shapes import Float

_BITS = 30
# Of every dimension after the first: the inner coefficients of its primitive polynomial, and the first numbers m.
_DIRECTIONS = (
    (0, (1,)),
    (1, (1, 3)),
    (1, (1, 3, 1)),
    (2, (1, 1, 1)),
    (1, (1, 1, 3, 3)),
    (4, (1, 3, 5, 13)),
    (2, (1, 1, 5, 5, 17)),
    (4, (1, 1, 5, 5, 5)),
    (7, (1, 1, 7, 11, 19)),
)


def sobol_points(dimension: int, n: int, seed: int) -> Float[np.ndarray, "N D"]:
    """Return `n` scrambled points in the open unit cube, the same for every call.

    Parameters
    ----------
    dimension : int
    n : int
        A power of 2, so that the points are balanced.
    seed : int
        Of the scrambling.

    Examples
    --------
    >>> sobol_points(2, 4, seed=0).round(3).tolist()
    [[0.41, 0.964], [0.722, 0.108], [0.905, 0.529], [0.217, 0.414]]
    """
    if dimension > len(_DIRECTIONS) + 1:
        return stats.qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed)).random(n)
    rng, powers = np.random.default_rng(seed).spawn(1)[0], 2 ** np.arange(_BITS, dtype=np.uint32)
    shift = rng.integers(2, size=(dimension, _BITS), dtype=np.uint32) @ powers
    scramble = np.tril(rng.integers(2, size=(dimension, _BITS, _BITS), dtype=np.uint32))
    scramble[:, np.arange(_BITS), np.arange(_BITS)] = 1
    directions = np.stack([_directions(d, n.bit_length() - 1) for d in range(dimension)])  # (D, m)
    digits = directions[:, :, None] >> np.arange(_BITS - 1, -1, -1, dtype=np.uint32) & 1  # the leading ones first
    mixed = np.einsum("dab,dmb->dma", scramble, digits) % 2 @ powers[::-1]
    steps = np.arange(1, n)
    changed = np.log2(steps & -steps).astype(int)  # the bit in which the Gray codes of neighbours differ
    points = np.bitwise_xor.accumulate(np.concatenate([shift[None], mixed.T[changed].astype(np.uint32)]), axis=0)
    return points / 2.0**_BITS


def _directions(dimension: int, n_bits: int) -> np.ndarray:
    """Direction numbers of one dimension, (m,)."""
    if dimension == 0:
        numbers = [1] * n_bits
    else:
        inner, first = _DIRECTIONS[dimension - 1]
        degree, numbers = len(first), list(first)
        while len(numbers) < n_bits:
            new = numbers[-degree] ^ (numbers[-degree] << degree)
            for i in range(1, degree):
                if inner >> (degree - 1 - i) & 1:
                    new ^= numbers[-i] << i
            numbers.append(new)
    return np.array([m << (_BITS - 1 - k) for k, m in enumerate(numbers[:n_bits])], np.uint32)
