"""Values as JSON text, for the journal, and as plain values that can be such."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from bayes_assess._tools.shapes import Json
from bayes_assess.errors import JournalError


def dumps(value: Mapping[str, object], what: str) -> str:
    """Write a mapping as strict JSON: no NaN, no keys but text; `what` names it in the error."""
    if not isinstance(value, Mapping):
        raise JournalError(f"{what} must be a mapping from names to values; found {type(value).__name__}.")
    try:
        return json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise JournalError(f"{what} cannot be written as JSON: {error}.") from error


@overload
def plain(value: Mapping[Any, object]) -> dict[str, Json]: ...
@overload
def plain(value: object) -> Json: ...
def plain(value: object) -> Json:
    """Return values as Python's own that strict JSON can hold: None for what is no number or infinite, keys as text.

    Examples
    --------
    >>> plain({"a": np.array([1.5, np.nan]), 2: np.datetime64("2026-01-01")})
    {'a': [1.5, None], '2': '2026-01-01'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return plain(list(array) if array.dtype.kind in "mM" and array.ndim else array.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def _plain(value: object) -> object:
    """NumPy and JAX values as Python values; text keys only, because JSON would turn others into text silently."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not text")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        plain = np.asarray(value).tolist()
        return [_plain(item) for item in plain] if isinstance(plain, list) else _plain(plain)
    raise TypeError(f"{value!r} is a {type(value).__name__}")
