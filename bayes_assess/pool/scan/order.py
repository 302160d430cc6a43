"""A random order of rows by their ids that comes out the same on every engine, in 64-bit integer arithmetic.

With p = 2^30 - 35, a prime that is 2 mod 3, x -> x^3 mod p permutes 0..p-1. An id x of 64 bits is taken apart as
lo + p hi with lo in 0..p-1, and, with keys k_1, ..., k_4 that a seed decides,

    h <- (lo + k_1)^3 + hi mod p.

Engines go on to (h + k_2)^2 mod p, the first word of the order, by which they cut off what is not wanted yet. One cube
would not do for it: its fourth differences are constant, so that any five ids at equal distances would know of one
another. Rows whose first words are equal are ordered by a second word, which NumPy computes with further keys, going on
to h <- (h + k_r)^3 mod p for r = 2, 3, 4; and at last by the id itself. Nothing exceeds 2^62.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.seeds import sequence
from bayes_assess._tools.shapes import Int
from bayes_assess.pool.scan.sql import quoted

if TYPE_CHECKING:
    import narwhals as nw


P = 2**30 - 35
_N_KEYS = 4


def order_keys(seed: int, purpose: str = "order of a table") -> Int[np.ndarray, "2 4"]:
    """Return the keys of both words of the order of a seed.

    Examples
    --------
    >>> keys = order_keys(0)
    >>> keys.shape, bool((keys < P).all())
    ((2, 4), True)
    """
    raw = np.random.PCG64(sequence(seed, purpose)).random_raw((2, _N_KEYS))
    return (raw % np.uint64(P)).astype(np.int64)


def first_word(ids: Int[np.ndarray, " n"], keys: Int[np.ndarray, " 4"]) -> Int[np.ndarray, " n"]:
    """Compute the first word of ids, 0..p-1, as engines do.

    Examples
    --------
    >>> words = first_word(np.arange(1000), order_keys(0)[0])
    >>> len(np.unique(words)), int(words.max()) < P
    (1000, True)
    """
    moved = _cube(ids, int(keys[0])) + int(keys[1])
    return moved * moved % P


def second_word(ids: Int[np.ndarray, " n"], keys: Int[np.ndarray, " 4"]) -> Int[np.ndarray, " n"]:
    """Compute the second word of ids, 0..p-1.

    Examples
    --------
    >>> len(np.unique(second_word(np.arange(1000), order_keys(0)[1])))
    1000
    """
    h = _cube(ids, int(keys[0]))
    for key in keys[1:].tolist():
        h = h + key
        h = h * h % P * h % P
    return h


def _cube(ids: Int[np.ndarray, " n"], key: int) -> Int[np.ndarray, " n"]:
    h = np.mod(ids, P) + key
    return (h * h % P * h + np.floor_divide(ids, P)) % P


def with_square(
    frame: nw.LazyFrame, ids: str, keys: Int[np.ndarray, " 4"], name: str, small: bool = False
) -> nw.LazyFrame:
    """Add (id + k_1)^2 mod p of a column of 64-bit ids to a Narwhals frame; its sums tell sets of ids apart.

    A step is a column of its own: engines that nest expressions would compute squares of squares anew.

    Parameters
    ----------
    frame : LazyFrame
    ids : str
    keys : (4,) integers
        The first row of what `order_keys` returned.
    name : str
        Of the new column; beside it there is another one.
    small : bool
        Whether all ids are known to be 0..p-1, where there is less to compute.
    """
    import narwhals as nw

    moved = f"{name}_u"
    if frame.implementation.is_duckdb():  # in SQL, as Narwhals takes remainders three times over
        rest = quoted(ids) if small else f"{quoted(ids)} % {P}"
        relation = nw.to_native(frame).project(f"*, {rest} + {keys[0]} AS {moved}")
        return nw.from_native(relation.project(f"*, {moved} * {moved} % {P} AS {name}"))
    frame = frame.with_columns((nw.col(ids) % P + int(keys[0])).alias(moved))
    return frame.with_columns((nw.col(moved) * nw.col(moved) % P).alias(name))


def with_first_word(
    frame: nw.LazyFrame, ids: str, keys: Int[np.ndarray, " 4"], square: str, name: str, small: bool = False
) -> nw.LazyFrame:
    """Add the first word of a column of ids, given their square as `with_square` added it, of the same keys."""
    import narwhals as nw

    moved, h = f"{square}_u", f"{name}_h"
    if frame.implementation.is_duckdb():
        # Remainders have the sign of what is divided there, which the last square takes away again.
        high = "0" if small else f"{quoted(ids)} // {P} - ({quoted(ids)} % {P} < 0)::BIGINT"
        relation = nw.to_native(frame).project(f"*, ({square} * {moved} + {high}) % {P} + {keys[1]} AS {h}")
        return nw.from_native(relation.project(f"*, {h} * {h} % {P} AS {name}"))
    frame = frame.with_columns((nw.col(ids) // P).cast(nw.Int64).alias(f"{name}_hi"))
    cube = (nw.col(square) * nw.col(moved) + nw.col(f"{name}_hi")) % P
    frame = frame.with_columns((cube + int(keys[1])).alias(h))
    return frame.with_columns((nw.col(h) * nw.col(h) % P).alias(name))
