"""A random order of rows by their ids that comes out the same on every engine, in 64-bit integer arithmetic.

With p = 2^30 - 35, a prime that is 2 mod 3, x -> x^3 mod p permutes 0..p-1. An id x of 64 bits is taken apart as
lo + p hi with lo in 0..p-1, and, with keys k_1, ..., k_R that a seed decides,

    h <- (lo + k_1)^3 + hi mod p,    h <- (h + k_r)^3 mod p,    r = 2..R.

Nothing exceeds 2^62. The order is by h of the first keys, then by h of further keys, then by the id itself: engines
compute the first, by which they cut off what is not wanted yet, and NumPy the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.seeds import sequence
from bayes_assess._tools.shapes import Int

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw


P = 2**30 - 35
_ROUNDS = 4


def order_keys(seed: int, purpose: str = "order of a table") -> Int[np.ndarray, "2 R"]:
    """Return the keys of both words of the order of a seed.

    Examples
    --------
    >>> keys = order_keys(0)
    >>> keys.shape, bool((keys < P).all())
    ((2, 4), True)
    """
    raw = np.random.PCG64(sequence(seed, purpose)).random_raw((2, _ROUNDS))
    return (raw % np.uint64(P)).astype(np.int64)


def word(ids: Int[np.ndarray, " n"], keys: Int[np.ndarray, " R"]) -> Int[np.ndarray, " n"]:
    """Compute h of ids, 0..p-1.

    Examples
    --------
    >>> found = word(np.arange(1000), order_keys(0)[0])
    >>> len(np.unique(found)), int(found.max()) < P
    (1000, True)
    """
    h, hi = np.mod(ids, P), np.floor_divide(ids, P)
    for r, key in enumerate(keys.tolist()):
        h = h + key
        h = np.mod(h * h % P * h + (hi if r == 0 else 0), P)
    return h


def with_word(frame: nw.LazyFrame, ids: str, keys: Int[np.ndarray, " R"], name: str) -> nw.LazyFrame:
    """Add h of a column of 64-bit ids to a Narwhals frame.

    A step is a column of its own: engines that nest expressions would compute squares of squares anew.

    Parameters
    ----------
    frame : LazyFrame
    ids : str
    keys : (R,) integers
        As `order_keys` returned them.
    name : str
        Of the new column.
    """
    import narwhals as nw

    if frame.implementation.is_duckdb():
        return nw.from_native(_in_sql(nw.to_native(frame), ids, keys.tolist(), name))
    h, s, hi = nw.col(name), nw.col(f"{name}_s"), nw.col(f"{name}_hi")
    frame = frame.with_columns((nw.col(ids) % P).alias(name))
    frame = frame.with_columns((nw.col(ids) // P).cast(nw.Int64).alias(f"{name}_hi"))
    for r, key in enumerate(keys.tolist()):
        frame = frame.with_columns((h + key).alias(name))
        frame = frame.with_columns((h * h % P).alias(f"{name}_s"))
        frame = frame.with_columns(((s * h + hi if r == 0 else s * h) % P).alias(name))
    return frame


def _in_sql(relation: duckdb.DuckDBPyRelation, ids: str, keys: list[int], name: str) -> duckdb.DuckDBPyRelation:
    """Do the same in DuckDB's SQL, where Narwhals takes remainders three times over, as numbers may be negative."""
    id, h, hi, rest = (f'"{column}"' for column in (ids.replace('"', '""'), name, f"{name}_hi", f"{name}_rest"))
    floored = f"CASE WHEN {rest} < 0 THEN {rest} + {P} ELSE {rest} END AS {h}"
    relation = relation.project(f"*, {id} % {P} AS {rest}")
    relation = relation.project(f"*, {floored}, {id} // {P} - ({rest} < 0)::BIGINT AS {hi}")
    for r, key in enumerate(keys):
        moved, square = f'"{name}_h{r}"', f'"{name}_s{r}"'
        relation = relation.project(f"*, {h} + {key} AS {moved}")
        relation = relation.project(f"*, {moved} * {moved} % {P} AS {square}")
        if r == 0:
            relation = relation.project(f"* REPLACE (({square} * {moved} + {hi}) % {P} AS {rest})")
            relation = relation.project(f"* REPLACE ({floored})")
        else:
            relation = relation.project(f"* REPLACE ({square} * {moved} % {P} AS {h})")
    return relation
