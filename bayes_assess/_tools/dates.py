"""Dates and times as the texts of ISO 8601, which ids of items and names of groups can be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time
from typing import Any

import numpy as np

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d(:\d\d){0,2}(\.\d+)?)?")
_DIGITS = {9: 1, 6: 1_000}  # of a second's fraction, and the nanoseconds of the last one


def iso_text(values: np.ndarray) -> np.ndarray:
    """Return dates, times or both as text, each as Python's ``isoformat`` writes it; other values as they are.

    Every text depends on its own value alone, so that some rows of a column are written as in the whole of it.

    Examples
    --------
    >>> iso_text(np.array(["2024-05-01", "2024-05-02"], "M8[D]")).tolist()
    ['2024-05-01', '2024-05-02']
    >>> iso_text(np.array(["2024-05-01T08:30", "2024-05-01T08:30:00.25"], "M8[ms]")).tolist()
    ['2024-05-01T08:30:00', '2024-05-01T08:30:00.250000']
    >>> iso_text(np.array([date(2024, 5, 1)], object)).tolist(), iso_text(np.array([7])).tolist()
    (['2024-05-01'], [7])
    """
    if values.dtype.kind == "M":
        return _of_datetimes(values)
    if values.dtype.kind == "O" and values.size and all(isinstance(value, date | time) for value in values.flat):
        return np.array([value.isoformat() for value in values.flat]).reshape(values.shape)
    return values


def zoned_text(values: Any) -> np.ndarray | None:
    """Return a series of times of a time zone as texts with their offsets, None where it is none, or some are missing.

    Arrays of NumPy have no zones: such times would become those of Greenwich.

    Examples
    --------
    >>> import pandas as pd
    >>> zoned_text(pd.Series(pd.to_datetime(["2024-05-01 08:30"]).tz_localize("Europe/Berlin"))).tolist()
    ['2024-05-01T08:30:00+02:00']
    """
    kind = getattr(values, "type", getattr(values, "dtype", None))  # of Arrow, of others
    if getattr(kind, "tz", None) is None and getattr(kind, "time_zone", None) is None:
        return None
    rows = [value.as_py() if hasattr(value, "as_py") else value for value in values]
    if not all(isinstance(value, date) and value == value for value in rows):  # NaT is no time that equals itself
        return None
    return np.array([value.isoformat() for value in rows], dtype=str)


def places_named(known: Sequence[str], wanted: object) -> list[int]:
    """Return where names are the one that is wanted; a moment may be written in another way, or be one.

    Examples
    --------
    >>> places_named(["1", "2"], 2), places_named(["2020-01-01", "2021-01-01"], np.datetime64("2020-01-01T00:00:00"))
    ([1], [0])
    """
    places = [place for place, name in enumerate(known) if name == str(wanted)]
    moment = _moment(str(wanted))
    if places or moment is None:
        return places
    return [place for place, name in enumerate(known) if _moment(name) == moment]


def _moment(text: str) -> np.datetime64 | None:
    try:
        return np.datetime64(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None


def _of_datetimes(values: np.ndarray) -> np.ndarray:
    unit, _ = np.datetime_data(values.dtype)
    if unit in ("Y", "M", "W", "D"):
        return np.datetime_as_string(values, unit="D")
    seconds = values.astype("M8[s]")
    text = np.datetime_as_string(seconds, unit="s")
    fraction = (values.astype("M8[ns]") - seconds.astype("M8[ns]")).astype(np.int64)
    for digits, step in _DIGITS.items():
        some = (fraction != 0) & ((fraction % 1_000 != 0) == (digits == 9))
        if some.any():
            written = np.char.zfill((fraction[some] // step).astype(str), digits)
            text = text.astype(f"U{max(20 + digits, text.dtype.itemsize // 4)}")
            text[some] = np.strings.add(np.strings.add(text[some], "."), written)
    return text
