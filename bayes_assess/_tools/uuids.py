"""UUIDs as the texts that they are usually written as, which ids of items can be."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np

_HYPHENS = (8, 13, 18, 23)
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_ROWS = 1 << 18  # at a time, so that what is in between stays small


def uuid_text(values: object) -> np.ndarray | None:
    """Return UUIDs, an array of objects or a column of Arrow, as texts; None where a value is missing or none.

    Examples
    --------
    >>> uuid_text(np.array([UUID("cfcd2084-95d5-65ef-66e7-dff9f98764da")], object)).tolist()
    ['cfcd2084-95d5-65ef-66e7-dff9f98764da']
    >>> uuid_text(np.array(["cfcd2084", 7], object)) is None
    True
    """
    column: Any = values
    if isinstance(column, np.ndarray):
        if column.dtype.kind != "O" or column.ndim != 1 or not column.size or not isinstance(column[0], UUID):
            return None
        rows = [value.bytes if isinstance(value, UUID) else None for value in column]
    elif is_uuid(column):
        rows = column.cast(column.type.storage_type).to_pylist()
    else:
        return None
    known = [row for row in rows if row is not None]
    return _texts(known) if len(known) == len(rows) else None


def is_uuid(column: object) -> bool:
    """Tell whether a column of Arrow holds UUIDs."""
    return getattr(getattr(column, "type", None), "extension_name", "") == "arrow.uuid"


def _texts(rows: list[bytes]) -> np.ndarray:
    """Write 16 bytes a row in hexadecimal digits, with hyphens between them."""
    letters = np.full((len(rows), 36), ord("-"), np.uint32)
    places = np.setdiff1d(np.arange(36), _HYPHENS)
    for start in range(0, len(rows), _ROWS):
        part = np.frombuffer(b"".join(rows[start : start + _ROWS]), np.uint8).reshape(-1, 16)
        digits = np.stack([part >> 4, part & 15], axis=2).reshape(-1, 32)
        letters[start : start + _ROWS, places] = _DIGITS[digits]
    return letters.view("U36").reshape(len(rows))
