"""Item ids: validation and look-up, without a Python dictionary of ten million entries."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bayes_assess._tools.arrays import (
    CHUNK,
    ODD_LETTER,
    first_beyond,
    first_broken,
    first_missing,
    first_odd_letter,
    first_true,
    index_of,
    listing,
    show,
    text_as_int,
    values_of,
    whole,
)
from bayes_assess._tools.dates import iso_text, zoned_text
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.uuids import uuid_text
from bayes_assess.errors import PoolError, UnknownIdError


def check_ids(ids: ArrayLike, n_items: int) -> np.ndarray | None:
    """Return ids as an integer or text array, or None where they are just 0..M-1; see `Pool`.

    Dates, times and UUIDs become texts.
    """
    array = id_values(ids)
    if array.ndim != 1 or len(array) != n_items:
        raise PoolError(f"Ids have shape {array.shape}, but the pool has {n_items:,} items: pass one id per item.")
    row = first_missing(array)
    if row is not None:
        raise PoolError(
            f"The id in row {row_no(row)} is missing ({show(array[row])}); give every item an id, or pass no ids."
        )
    array = whole(array) if array.dtype.kind == "f" else iso_text(array)
    if array.dtype.kind not in "iuU":
        row, kinds = _first_odd(array), {isinstance(value, str) for value in array}
        if kinds == {True, False}:
            text = next(i for i, value in enumerate(array) if isinstance(value, str))
            raise PoolError(
                f"Ids must be all of one kind, but row {row_no(row)} has {show(array[row])} and row {row_no(text)} "
                f"has {show(array[text])}; convert all of them to text."
            )
        raise PoolError(
            f"Ids must be integers, text, dates, times or UUIDs, but row {row_no(row)} has {show(array[row])}; convert "
            "them to text."
        )
    row = first_beyond(array)
    if row is not None:
        raise PoolError(f"The id in row {row_no(row)} is {array[row]}, beyond 64-bit integers; pass ids as text.")
    if array.dtype.kind == "u":
        array = array.astype(np.int64)
    row = first_odd_letter(array)
    if row is not None:
        raise PoolError(f"The id in row {row_no(row)}, {show(array[row])}, {ODD_LETTER}.")
    if array.dtype.kind == "i" and array[0] == 0 and array[-1] == n_items - 1 and np.all(array[1:] > array[:-1]):
        return None  # strictly increasing from 0 to M-1: the row numbers
    return array


def _first_odd(array: np.ndarray) -> int:
    if array.dtype.kind != "O":
        return first_broken(array) or 0 if array.dtype.kind == "f" else 0
    return next((i for i, value in enumerate(array) if not isinstance(value, str)), 0)


def text_keys(text: np.ndarray) -> np.ndarray:
    """Hash text of one fixed width to uint64 (FNV-1a over its characters)."""
    text = np.ascontiguousarray(text)
    keys = np.full(len(text), 0xCBF29CE484222325, dtype=np.uint64)
    letters = text.view(np.uint32).reshape(len(text), -1)
    prime = np.uint64(0x100000001B3)
    for start in range(0, len(text), CHUNK):  # chunks, so that the column walk stays in cache
        part = keys[start : start + CHUNK]
        for column in letters[start : start + CHUNK].T:
            part ^= column
            part *= prime
    return keys


def _grow(text: np.ndarray) -> bool:
    """Whether every text is longer than the one before, or as long and later in the alphabet: "item-9", "item-10"."""
    for start in range(0, len(text) - 1, CHUNK):
        part = text[start : start + CHUNK + 1]
        n = np.strings.str_len(part)
        if not ((n[1:] > n[:-1]) | ((n[1:] == n[:-1]) & (part[1:] > part[:-1]))).all():
            return False
    return True


class IdIndex:
    """Look-up from id to position by a sorted array of keys: the ids themselves, or hashes of text.

    Equal hashes of different text cost a second look and never a wrong answer.
    """

    def __init__(self, ids: np.ndarray) -> None:
        self.ids = ids
        self.keys = text_keys(ids) if ids.dtype.kind == "U" else ids.astype(np.int64, copy=False)
        self.increasing = bool(np.all(self.keys[1:] > self.keys[:-1]))

    @cached_property
    def order(self) -> np.ndarray | None:
        """Positions in the order of their keys; None where the keys increase already."""
        return None if self.increasing else np.argsort(self.keys, kind="stable")

    @cached_property
    def sorted_keys(self) -> np.ndarray:
        """The keys in increasing order."""
        return self.keys if self.order is None else self.keys[self.order]

    @cached_property
    def has_padded_numbers(self) -> bool:
        """Whether some id is a number written with leading zeros, so that 7 could mean '007'."""
        padded = np.strings.isdecimal(self.ids) & np.strings.startswith(self.ids, "0") & (self.ids != "0")
        return bool(padded.any())

    @cached_property
    def by_stripped(self) -> dict[str, int]:
        """Positions of ids by their text without outer blanks, -1 where several share it."""
        places: dict[str, int] = {}
        for place, text in enumerate(np.strings.strip(self.ids).tolist()):
            places[text] = -1 if text in places else place
        return places

    @cached_property
    def has_outer_blanks(self) -> bool:
        """Whether some id begins or ends with a blank."""
        return bool((np.strings.strip(self.ids) != self.ids).any())

    def check_unique(self) -> None:
        """Raise `PoolError` naming the first repeated id and two of its rows."""
        if self.increasing or (self.ids.dtype.kind == "U" and _grow(self.ids)):
            return
        quick = np.sort(self.keys)
        if not np.any(quick[1:] == quick[:-1]):
            return
        values, first, counts = np.unique(self.ids, return_index=True, return_counts=True)
        if len(values) == len(self.ids):
            return  # only the hashes met
        repeated = int(np.flatnonzero(counts > 1)[np.argmin(first[counts > 1])])
        rows = np.flatnonzero(self.ids == values[repeated])
        raise PoolError(
            f"Ids must be unique, but {show(values[repeated])} is the id of rows {row_no(rows[0])} and "
            f"{row_no(rows[1])}; drop the duplicate rows, or give each its own id."
        )

    def find(self, wanted: np.ndarray) -> np.ndarray:
        """Return the position of each id, -1 where unknown; ``wanted`` has the kind of the pool's ids."""
        positions = np.full(len(wanted), -1, dtype=np.intp)
        pending = np.arange(len(wanted))
        keys = wanted
        if self.ids.dtype.kind == "U":
            pending = np.flatnonzero(np.strings.str_len(wanted) * 4 <= self.ids.dtype.itemsize)
            keys = text_keys(wanted.astype(self.ids.dtype))
        slots = np.searchsorted(self.sorted_keys, keys)
        while pending.size:
            slot = slots[pending]
            inside = slot < len(self.ids)
            inside[inside] = self.sorted_keys[slot[inside]] == keys[pending[inside]]
            pending, slot = pending[inside], slot[inside]
            position = slot if self.order is None else self.order[slot]
            hit = self.ids[position] == wanted[pending]
            positions[pending[hit]] = position[hit]
            pending = pending[~hit]
            slots[pending] += 1
        return positions


def id_values(ids: ArrayLike) -> np.ndarray:
    """Return `values_of` ids, but times of a time zone as texts that keep it, and UUIDs as theirs."""
    if isinstance(ids, set | frozenset):
        raise PoolError("A set of ids has no order, which items and labels go by; pass a list, such as sorted(ids).")
    for text_of in (zoned_text, uuid_text):
        text = text_of(ids)
        if text is not None:
            return text
    array = values_of(ids)
    text = uuid_text(array)
    return array if text is None else text


def id_array(ids: ArrayLike) -> np.ndarray:
    """Return ids as an array (n,), or raise UnknownIdError if they have more dimensions."""
    array = np.atleast_1d(id_values(ids))
    if array.ndim != 1:
        raise UnknownIdError(f"Ids must be one-dimensional, but have shape {array.shape}.")
    return array


def find_ids(wanted: ArrayLike, index: IdIndex | None, n_items: int) -> np.ndarray:
    """Return the positions of ids; ``index`` is None for the row numbers 0..M-1. See `Pool.positions`."""
    array = id_array(wanted)
    if not array.size:
        return np.empty(0, dtype=np.intp)
    missing = first_missing(array)
    if missing is not None:
        raise UnknownIdError(
            f"The id at position {missing} is missing ({show(array[missing])}); every label needs its id."
        )
    positions = known_ids(array, index, n_items)
    at = first_true(positions < 0)
    if at is None:
        return positions
    numeric = index is None or index.ids.dtype.kind in "iu"
    known = f"0 to {n_items - 1:,}" if index is None else listing(index.ids, 3)
    hint = ""
    number = array.dtype.kind in "iuf" or str(array[at]).strip().isdecimal()
    if number and not numeric and index is not None and index.has_padded_numbers:
        hint = "; the pool's ids have leading zeros, so read the id column as text"
    raise UnknownIdError(f"The pool has no item with id {show(array[at])} (position {at}); its ids are {known}{hint}.")


def in_another_order(values: ArrayLike, index: IdIndex, ids: ArrayLike) -> bool:
    """Whether the index of a series or frame of pandas is the ids, each once, in another order.

    Rows go by position, but whoever has such an index has taken them for those of the ids. Not so where the ids are of
    a frame with the same index.

    Examples
    --------
    >>> import pandas as pd
    >>> index = IdIndex(np.array([7, 4]))
    >>> [in_another_order(pd.Series([0, 1], index=own), index, [7, 4]) for own in ([4, 7], [7, 4], [1, 2])]
    [True, False, False]
    """
    own = index_of(values)
    shared = None if own is None else index_of(ids)
    if own is None or (shared is not None and np.array_equal(shared, own)):
        return False
    own, n_items = iso_text(id_values(own)), len(index.ids)
    if own.shape != (n_items,) or own.dtype.kind == "O" or np.array_equal(own, index.ids):
        return False
    if not n_items or known_ids(own[:1], index, n_items)[0] < 0:
        return False
    places = known_ids(own, index, n_items)
    distinct = np.unique(places)
    return bool(distinct[0] >= 0 and len(distinct) == n_items and (places[1:] < places[:-1]).any())


def known_ids(array: np.ndarray, index: IdIndex | None, n_items: int) -> np.ndarray:
    """Return the positions of ids, -1 where there is no such item."""
    numeric = index is None or index.ids.dtype.kind in "iu"
    usable = _as_integers(array) if numeric else _as_text(array, index)
    if usable is None:
        return np.array([_find_one(value, index, n_items) for value in array.tolist()], dtype=np.intp)
    return _look_up(usable, index, n_items)


def _look_up(usable: np.ndarray, index: IdIndex | None, n_items: int) -> np.ndarray:
    if index is not None:
        positions = index.find(usable)
        unknown = np.flatnonzero(positions < 0)
        if len(unknown) and index.ids.dtype.kind == "U":
            positions[unknown] = _without_blanks(usable[unknown], index)
        return positions
    return np.where((usable >= 0) & (usable < n_items), usable, -1).astype(np.intp)


def _without_blanks(unknown: np.ndarray, index: IdIndex) -> np.ndarray:
    """Return the positions of ids that differ in outer blanks alone, -1 where there is none, or are several."""
    stripped = np.strings.strip(unknown)
    if index.has_outer_blanks:
        return np.array([index.by_stripped.get(text, -1) for text in stripped.tolist()], np.intp)
    return index.find(stripped) if (stripped != unknown).any() else np.full(len(unknown), -1, np.intp)


def _find_one(value: object, index: IdIndex | None, n_items: int) -> int:
    """Look up one id of a mixed list, -1 where it has no clean conversion."""
    if isinstance(value, list | tuple | np.ndarray):
        return -1
    single = np.asarray([value])
    numeric = index is None or index.ids.dtype.kind in "iu"
    usable = _as_integers(single) if numeric else _as_text(single, index)
    return -1 if usable is None else int(_look_up(usable, index, n_items)[0])


def _as_integers(array: np.ndarray) -> np.ndarray | None:
    if array.dtype.kind == "U":
        return text_as_int(array)
    array = whole(array) if array.dtype.kind == "f" else array
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max):
        return None
    return array.astype(np.int64, copy=False)


def _as_text(array: np.ndarray, index: IdIndex | None) -> np.ndarray | None:
    array = iso_text(array)
    if array.dtype.kind == "U":
        return array
    integers = _as_integers(array)
    if integers is None or index is None or index.has_padded_numbers:
        return None
    return integers.astype(str)
