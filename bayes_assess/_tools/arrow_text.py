"""Texts and numbers of Arrow's columns as arrays of NumPy, from their bytes: not one Python object per text.

Arrow's own conversion of columns of several parts imports pandas, which takes longer than reading a million rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


_ROWS = 1 << 18  # at a time, so that what is in between stays small


def text_of(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return a column of texts without nulls as an array of fixed width, ``U``.

    Parameters
    ----------
    column : pyarrow.ChunkedArray or Array
        Of texts, or of a dictionary of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> text_of(pa.array(["a", "", "Gießen"])).tolist()
    ['a', '', 'Gießen']
    >>> text_of(pa.array(["b", "a", "b"]).dictionary_encode()).tolist()
    ['b', 'a', 'b']
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        names, codes = dictionary_of(column)
        return names[codes]
    if not len(column):
        return np.array([], dtype=str)
    compute = import_module("pyarrow.compute")  # its functions are made at import
    letters = max(compute.max(compute.utf8_length(column)).as_py(), 1)
    texts = np.zeros(len(column), f"U{letters}")
    chunks, start = column.chunks if isinstance(column, pa.ChunkedArray) else [column], 0
    for chunk in chunks:
        for at in range(0, len(chunk), _ROWS):
            part = chunk[at : at + _ROWS]
            _fill(texts[start : start + len(part)], part, letters)
            start += len(part)
    return texts


def numbers_of(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return a column of 64-bit floats, NaN where there is none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_of(pa.chunked_array([[0.5, None], [0.25]])).tolist()
    [0.5, nan, 0.25]
    """
    floats, start = np.empty(len(column)), 0
    for chunk in column.chunks:
        filled = chunk.fill_null(np.nan) if chunk.null_count else chunk
        at = slice(filled.offset, filled.offset + len(filled))
        floats[start : start + len(filled)] = np.frombuffer(filled.buffers()[1], np.float64)[at] if len(filled) else 0.0
        start += len(filled)
    return floats


def is_double(column: pa.ChunkedArray | pa.Array) -> bool:
    """Tell whether a column of Arrow holds 64-bit floats."""
    from pyarrow import types

    return types.is_float64(column.type)


def is_text(column: pa.ChunkedArray | pa.Array) -> bool:
    """Tell whether a column of Arrow holds texts, or a dictionary of them, and no nulls."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    return (types.is_string(kind) or types.is_large_string(kind)) and not column.null_count


def dictionary_of(column: pa.ChunkedArray | pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct texts of a column, in the order of their first rows, and the code of every row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names, codes = dictionary_of(pa.chunked_array([["b", "a"], ["c", "b"]]))
    >>> names.tolist(), codes.tolist()
    (['b', 'a', 'c'], [0, 1, 2, 0])
    """
    import pyarrow as pa

    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return np.array([], dtype=str), np.array([], np.int64)
    names = text_of(column.chunk(0).dictionary.cast(pa.string()))
    return names, np.concatenate([_codes(chunk.indices) for chunk in column.chunks])


def _codes(indices: pa.Array) -> np.ndarray:
    kind = np.dtype(str(indices.type))
    if not len(indices):
        return np.array([], kind)
    return np.frombuffer(indices.buffers()[1], kind, len(indices), indices.offset * kind.itemsize)


def _fill(rows: np.ndarray, texts: pa.StringArray, letters: int) -> None:
    """Write some texts into rows of an array of this many letters."""
    import pyarrow as pa

    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.array([], np.uint8)
    if (held >= 128).any():  # letters of several bytes
        rows[:] = texts.to_numpy(zero_copy_only=False).astype(rows.dtype)
        return
    filled = np.arange(letters) < np.diff(ends)[:, None]
    rows.view(np.uint32).reshape(len(rows), letters)[filled] = held
