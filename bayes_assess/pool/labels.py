"""Labels: which values they can take, and which codes stand for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import (
    first_missing,
    first_true,
    frame_of,
    index_of,
    listing,
    missing_mask,
    show,
    text_as_int,
    values_of,
    whole,
)
from bayes_assess._tools.callers import warn_caller
from bayes_assess._tools.shapes import ArrayLike, Bool, Int
from bayes_assess._tools.text import composed, folded, plural
from bayes_assess.errors import LabelError
from bayes_assess.pool._classes import between_numbers, codes_of
from bayes_assess.pool._ids import IdIndex, id_values, in_another_order

_ROWS_SHOWN = 5
_CLASSES_SHOWN = 8
_NO_VALUE = ("nan", "none", "null", "nat", "<na>")  # as texts of what is missing


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """The labels that items of a pool can have: each exactly one class.

    Parameters
    ----------
    classes : ndarray (C,)
        Class names: text or int64.
    declared : bool
        False where the classes were inferred from predictions: the message on a label outside them says so.

    Examples
    --------
    >>> space = LabelSpace(np.array(["cat", "dog"]), declared=True)
    >>> space.codes(["dog", "cat"]).tolist(), space.names([1, 0]).tolist()
    ([1, 0], ['dog', 'cat'])
    """

    kind: ClassVar[str] = "classes"  # one of them; or "sets" of them, or "numbers"

    classes: np.ndarray
    declared: bool

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Bounds of labels that annotators give as numbers; None of others."""
        return None

    @property
    def choices(self) -> tuple[object, ...]:
        """The labels among which annotators choose one, where they do."""
        return tuple(self.classes.tolist())

    def names(self, codes: Int[np.ndarray, "*n"] | Sequence[int]) -> np.ndarray:
        """Return the labels that codes stand for."""
        return self.classes[codes]

    def told(self) -> np.ndarray:
        """Return what codes stand for that were given out as labels were told, in their order; none here."""
        return np.zeros(0, np.uint8)

    def adopt(self, told: np.ndarray) -> bool:
        """Let codes stand for what they stood for elsewhere, see `told`; False if they stand for other labels here."""
        return True

    def codes(self, labels: ArrayLike, ids: ArrayLike | None = None) -> Int[np.ndarray, " n"]:
        """Return labels as codes into ``classes``, int32.

        Parameters
        ----------
        labels : array (n,)
            Class names. Where the classes are integers, whole floats and plain texts ("3") of them are accepted.
        ids : array (n,), optional
            The labelled items' ids, to name the first offender in an error.

        Raises
        ------
        LabelError
            At the first label that is missing or names no class.

        Examples
        --------
        >>> space = LabelSpace(np.array([1, 2, 3, 5]), declared=False)
        >>> space.codes(["3", "1"]).tolist()
        [2, 0]
        >>> space.codes([4])
        Traceback (most recent call last):
            ...
        bayes_assess.errors.LabelError: The label at position 0 is 4, which is not one of the classes (1, 2, 3, 5); \
only these are predicted: pass every class as classes=[1, 2, 3, 4, 5] to the pool, and start with that.
        """
        values, names = _one_each(labels), None if ids is None else np.atleast_1d(values_of(ids))
        if names is not None and len(names) != len(values):
            raise LabelError(f"There are {len(values):,} labels for {len(names):,} ids; pass one label per id.")
        if not values.size:
            return np.empty(0, dtype=np.int32)
        missing = first_missing(values)
        if missing is not None:
            problem = f"is missing ({show(values[missing])}); leave the item out until it is labelled"
            raise LabelError(f"The label {where(missing, names)} {problem}.")
        codes, at = codes_of(values, self.classes)
        if at is None:
            return codes
        problem = f"is {show(values[at])}, which is not one of the classes ({listing(self.classes)})"
        raise LabelError(f"The label {where(at, names)} {problem}; {self._remedy(values[at])}.")

    def _remedy(self, value: object) -> str:
        if isinstance(value, str) and value.strip().casefold() in _NO_VALUE:
            return "if the item has no label, tell None or leave it out: this is a text"
        if isinstance(value, list | tuple | set | frozenset | np.ndarray):
            return "an item has exactly one label here"
        if self.classes.dtype.kind == "U" and not isinstance(value, str):
            return "label with these names, not with numbers"
        if rated := between_numbers(value, self.classes):
            return rated
        if isinstance(value, str) and self.classes.dtype.kind != "U" and text_as_int(np.array([value])) is None:
            return "label with these names, which are whole numbers"
        alike = [name for name in self.classes.tolist() if folded(str(name)) == folded(str(value))]
        if any(composed(str(name)) == composed(str(value)) for name in alike):
            form = "NFC" if any(composed(str(name)) == name for name in alike) else "NFD"
            return f"its letters are composed in another way: tell unicodedata.normalize({form!r}, label)"
        if alike:
            return f"spell it as the class is, {listing(alike)}"
        if self.declared:
            return "label with these names"
        wider = self.including([value])
        named = "..." if len(wider) > _CLASSES_SHOWN or len(wider) == len(self.classes) else listing(wider)
        return f"only these are predicted: pass every class as classes=[{named}] to the pool, and start with that"

    def complete_codes(self, labels: ArrayLike, n_items: int) -> Int[np.ndarray, " M"]:
        """Return the codes of the labels of all items, in the order of the pool's rows.

        Raises
        ------
        LabelError
            If there is not one label per item; the message names the rows without.

        Examples
        --------
        >>> LabelSpace(np.array(["cat", "dog"]), declared=True).complete_codes(["dog", "cat"], 2).tolist()
        [1, 0]
        """
        values = _one_each(labels)
        needed_of_every_item(missing_mask(values), n_items)
        return self.codes(values)

    def labelled_only(self, ids: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and labels as arrays without the items that have no label: None, NaN, masked or empty text.

        Parameters
        ----------
        ids, labels : array (n,)

        Warns
        -----
        UserWarning
            If a label is NaN, as failed joins of tables leave it.

        Raises
        ------
        LabelError
            If there is not one label per id, or labels are in another order, see `check_order`.

        Examples
        --------
        >>> LabelSpace(np.array(["cat"]), declared=False).labelled_only([7, 8, 9], ["cat", None, ""])
        (array([7]), array(['cat'], dtype='<U3'))
        """
        ids, labels, _ = self.labelled_places(ids, labels)
        return ids, labels

    def labelled_places(
        self, ids: ArrayLike, labels: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, Int[np.ndarray, " m"]]:
        """Return what `labelled_only` does, and where these items stand among all, (m,).

        Examples
        --------
        >>> LabelSpace(np.array(["cat"]), declared=False).labelled_places([7, 8, 9], [None, "cat", ""])[2].tolist()
        [1]
        """
        check_order(ids, labels)
        given = labels
        ids, labels = np.atleast_1d(id_values(ids)), np.atleast_1d(values_of(labels))
        for what, given_values in (("ids", ids), ("labels", labels)):
            if given_values.ndim != 1:
                raise LabelError(f"Pass {what} as a flat list; found an array of shape {given_values.shape}.")
        if len(ids) != len(labels):
            raise LabelError(
                f"Tell one label per id; found {plural(ids.size, 'id')} and {plural(labels.size, 'label')}."
            )
        missing = missing_mask(labels)
        n = int(missing.sum())
        if n and _has_nan(given, labels[missing]):
            warn_caller(
                f"Left out {n:,} of {len(labels):,} labels that are missing, some of them NaN; their items stay "
                "without a label."
            )
        if not n:
            return ids, labels, np.arange(len(ids))
        return ids[~missing], values_of(labels[~missing]), np.flatnonzero(~missing)

    def including(self, labels: ArrayLike) -> np.ndarray:
        """Return the classes together with those that occur in labels, (C',), sorted; missing labels are passed over.

        Labels of another kind than the classes (numbers beside text) are left out, for `codes` to refuse.

        Examples
        --------
        >>> LabelSpace(np.array(["cat"]), declared=False).including(["dog", "cat", None]).tolist()
        ['cat', 'dog']
        """
        values = _one_each(labels)
        values = whole(values_of(values[~missing_mask(values)]))
        if self.classes.dtype.kind == "i" and values.dtype.kind == "U":
            numbers = text_as_int(values)
            values = values if numbers is None else numbers
        alike = "U" if self.classes.dtype.kind == "U" else "iu"
        return np.union1d(self.classes, values) if values.size and values.dtype.kind in alike else self.classes


def check_order(ids: ArrayLike, labels: ArrayLike) -> None:
    """Raise `LabelError` if the index of labels is the ids in another order: they go by position.

    Whoever picks rows of a data frame by a condition gets their labels in the order of the frame, not of the ids.

    Examples
    --------
    >>> import pandas as pd
    >>> check_order([7, 4], pd.Series(["cat", "dog"], index=[7, 4]))
    >>> check_order([7, 4], pd.Series(["dog", "cat"], index=[4, 7]))
    Traceback (most recent call last):
    bayes_assess.errors.LabelError: The index of the labels is the ids in another order, and labels go by position; ...
    """
    wanted = np.atleast_1d(id_values(ids)) if index_of(labels) is not None else np.array([])
    if wanted.dtype.kind not in "iuU" or wanted.ndim != 1 or not in_another_order(labels, IdIndex(wanted), ids):
        return
    rows = wanted.dtype.kind != "U" and np.array_equal(np.sort(wanted), np.arange(len(wanted)))  # of a shuffled frame
    if not rows:
        raise LabelError(
            "The index of the labels is the ids in another order, and labels go by position; nothing was taken: pass "
            "labels.loc[ids], or labels.index as the ids."
        )


def needed_of_every_item(missing: Bool[np.ndarray, " n"], n_items: int) -> None:
    """Raise `LabelError` unless there are labels of all items and none is missing; the message names the rows."""
    if len(missing) != n_items:
        given = f"{plural(len(missing), 'label')} for {plural(n_items, 'item')}"
        raise LabelError(f"The label of every item is needed; found {given}.")
    rows = np.flatnonzero(missing)
    if rows.size:
        named = ", ".join(map(str, rows[:_ROWS_SHOWN].tolist())) + ", ..." * (rows.size > _ROWS_SHOWN)
        raise LabelError(
            f"The label of every item is needed, but {rows.size:,} of {n_items:,} are missing, in row"
            f"{'s' * (rows.size > 1)} {named}; leave such items out of the pool."
        )


def _has_nan(given: ArrayLike, missing: np.ndarray) -> bool:
    """Whether there is a NaN among labels as they were given; made arrays, nulls and masked numbers are NaN, too."""
    values: Sequence[object] = missing.tolist()
    if isinstance(given, list | tuple):
        values = given
    elif isinstance(given, np.ma.MaskedArray):
        values = given.compressed().tolist()
    elif isinstance(given, np.ndarray):
        values = given.tolist()
    else:
        series: Any = frame_of(given)
        if series is not None and series.dtype.is_numeric():
            return series.dtype.is_float() and bool(series.is_nan().any())
        values = values if series is None else series.to_list()
    return any(isinstance(one, float) and one != one for one in values)


def _one_each(labels: ArrayLike) -> np.ndarray:
    values = np.atleast_1d(values_of(labels))
    if values.ndim != 1:
        raise LabelError(f"Labels have shape {values.shape}; pass one label per item, (items,).")
    return values


def where(at: int, ids: np.ndarray | None) -> str:
    """Say which label is meant: by its item's id if there are ids, and by its position."""
    return f"at position {at}" if ids is None else f"of item {show(ids[at])} (position {at})"


def check_labelled(known: Int[np.ndarray, " n"], ids: np.ndarray) -> None:
    """Raise LabelError naming the first item without a label, of which `known` has a negative code."""
    i = first_true(known < 0)
    if i is not None:
        raise LabelError(
            f"Item {show(ids[i])} has no label that could be corrected; nothing was changed. Tell its label instead."
        )


def check_unlabelled(known: Int[np.ndarray, " n"], ids: np.ndarray, done: str) -> None:
    """Raise LabelError naming the first item with a label; `done` says what was to be done to it."""
    i = first_true(known >= 0)
    if i is not None:
        raise LabelError(
            f"Item {show(ids[i])} has a label and cannot be {done}; nothing was changed. Leave it out, or correct its "
            "label."
        )


def read_labels(
    space: LabelSpace,
    ids: ArrayLike,
    labels: ArrayLike,
    find: Callable[[np.ndarray], Int[np.ndarray, " n"]],
    known: Callable[[Int[np.ndarray, " n"]], Int[np.ndarray, " n"]],
    *,
    correcting: bool = False,
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Read labels (n,) of items by their ids: positions (m,) of those that have one, each once, and its codes (m,).

    `find` gives positions by ids, and `known` the codes that items there have already, negative where there is none.
    Labels that are correcting take the place of those, and contradict none.

    Raises
    ------
    LabelError
        If a label is none of the space's, contradicts another one of the same item, or corrects none.
    """
    ids, labels = space.labelled_only(ids, labels)
    if not len(ids):
        return np.zeros(0, np.intp), np.zeros(0, np.int64)
    items = find(ids)
    before = known(items)
    if correcting:
        check_labelled(before, ids)
        before = np.full(len(items), -1)
    return check_consistent(before, items, space.codes(labels, ids), ids, space)


def check_consistent(
    known: Int[np.ndarray, " n"],
    items: Int[np.ndarray, " n"],
    codes: Int[np.ndarray, " n"],
    ids: np.ndarray,
    space: LabelSpace,
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Refuse contradictions, and drop repetitions.

    Parameters
    ----------
    known : (n,)
        Codes of the labels that the items have already; negative where there is none.
    items, codes, ids : (n,)
        Positions of the items, codes of the labels told, and the items' ids for messages.
    space : LabelSpace
        What the codes stand for.

    Returns
    -------
    items, codes : (m,)
        Every item once.

    Raises
    ------
    LabelError
        If a label contradicts another one of the same item.

    Examples
    --------
    >>> known, items, codes = np.array([-1, 0, -1]), np.array([4, 2, 4]), np.array([1, 0, 1])
    >>> check_consistent(known, items, codes, items, LabelSpace(np.array(["cat", "dog"]), declared=True))
    (array([4, 2]), array([1, 0]))
    """
    i = first_true((known >= 0) & (known != codes))
    if i is not None:
        before, now = space.names([known[i], codes[i]])
        raise LabelError(
            f"Item {show(ids[i])} is already labelled {show(before)}, and {show(now)} "
            "contradicts that. Nothing was taken: leave the item out, or correct its label."
        )
    _, first, inverse = np.unique(items, return_index=True, return_inverse=True)
    i = first_true(codes != codes[first][inverse])
    if i is not None:
        old, new = space.names([codes[first][inverse][i], codes[i]])
        raise LabelError(
            f"Item {show(ids[i])} occurs twice with different labels, {show(old)} and {show(new)}; nothing was taken."
        )
    places = np.sort(first)
    return items[places], codes[places]
