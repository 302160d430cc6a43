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
from bayes_assess.pool.scan.engine import quoted

if TYPE_CHECKING:
    import duckdb
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
    >>> found = first_word(np.arange(1000), order_keys(0)[0])
    >>> len(np.unique(found)), int(found.max()) < P
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


def with_first_word(frame: nw.LazyFrame, ids: str, keys: Int[np.ndarray, " 4"], name: str) -> nw.LazyFrame:
    """Add the first word of a column of 64-bit ids to a Narwhals frame.

    A step is a column of its own: engines that nest expressions would compute squares of squares anew.

    Parameters
    ----------
    frame : LazyFrame
    ids : str
    keys : (4,) integers
        The first row of what `order_keys` returned.
    name : str
        Of the new column.
    """
    import narwhals as nw

    if frame.implementation.is_duckdb():
        return nw.from_native(_in_sql(nw.to_native(frame), ids, keys.tolist(), name))
    h, s, hi = nw.col(name), nw.col(f"{name}_s"), nw.col(f"{name}_hi")
    frame = frame.with_columns((nw.col(ids) // P).cast(nw.Int64).alias(f"{name}_hi"))
    frame = frame.with_columns((nw.col(ids) % P + int(keys[0])).alias(name))
    frame = frame.with_columns((h * h % P).alias(f"{name}_s"))
    frame = frame.with_columns(((s * h + hi) % P + int(keys[1])).alias(name))
    return frame.with_columns((h * h % P).alias(name))


def with_square(frame: nw.LazyFrame, ids: str, key: int, name: str) -> nw.LazyFrame:
    """Add (id + key)^2 mod p of a column of 64-bit ids, by whose sum sets of ids are told apart."""
    import narwhals as nw

    if frame.implementation.is_duckdb():
        relation = nw.to_native(frame).project(f"*, {quoted(ids)} % {P} + {key} AS {name}_u")
        return nw.from_native(relation.project(f"*, {name}_u * {name}_u % {P} AS {name}"))
    frame = frame.with_columns((nw.col(ids) % P + key).alias(name))
    return frame.with_columns((nw.col(name) * nw.col(name) % P).alias(name))


def _in_sql(relation: duckdb.DuckDBPyRelation, ids: str, keys: list[int], name: str) -> duckdb.DuckDBPyRelation:
    """Do what `with_first_word` does in DuckDB's SQL, where Narwhals takes remainders three times over.

    Remainders have the sign of what is divided there, which squares take away again.
    """
    id, u, s, h = quoted(ids), f"{name}_u", f"{name}_s", f"{name}_h"
    relation = relation.project(f"*, {id} % {P} + {keys[0]} AS {u}").project(f"*, {u} * {u} % {P} AS {s}")
    cube = f"({s} * {u} + {id} // {P} - ({id} % {P} < 0)::BIGINT) % {P}"
    return relation.project(f"*, {cube} + {keys[1]} AS {h}").project(f"*, {h} * {h} % {P} AS {name}")
