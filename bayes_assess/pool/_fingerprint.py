"""A hash of arrays that depends on their values, not on their types or memory layout."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from bayes_assess._tools.arrays import CHUNK


def digest(fields: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of named arrays, in hexadecimal."""
    state = hashlib.sha256(b"bayes_assess pool 1")
    for name, array in fields.items():
        width = _text_width(array) if array.dtype.kind == "U" else 0
        state.update(f"\n{name}\n{array.shape}\n".encode())
        for start in range(0, len(array), CHUNK):
            tag, part = _plain(array[start : start + CHUNK], width)
            state.update(tag)
            state.update(np.ascontiguousarray(part).data)
    return state.hexdigest()


def _text_width(array: np.ndarray) -> int:
    return max(int(np.strings.str_len(array).max(initial=0)), 1)


def _plain(part: np.ndarray, width: int) -> tuple[bytes, np.ndarray]:
    """Return a chunk in the one form, with a tag, in which its values are hashed."""
    kind = part.dtype.kind
    if kind == "U":
        return f"text{width}".encode(), part.astype(f"<U{width}").view(np.uint8)
    if kind == "f":
        with np.errstate(over="ignore"):
            single = part.astype("<f4")
        if np.array_equal(single, part):  # values that float32 holds hash alike in either precision
            return b"f4", single + np.float32(0)  # -0.0 becomes 0.0
        return b"f8", part.astype("<f8") + 0.0
    if kind in "biu":
        return b"i8", part.astype("<i8")
    if kind == "M":
        return b"time", part.astype("M8[ns]").view("<i8")
    return b"object", np.frombuffer("\x1f".join(map(str, part.tolist())).encode(), dtype=np.uint8)
