"""Label sets: the labels of items that have several classes each, or none, and the codes that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bayes_assess._tools.arrays import values_of
from bayes_assess._tools.shapes import ArrayLike, Bool, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import LabelError, PoolError
from bayes_assess.pool._ids import id_values
from bayes_assess.pool._label_rows import NO_LABEL, SEPARATOR, LabelRows, UnreadableRow, read_rows
from bayes_assess.pool.labels import LabelSpace, check_order, needed_of_every_item, where


@dataclass(frozen=True, eq=False)
class MultiLabelSpace(LabelSpace):
    """The labels that items of a multi-label pool can have: each a set of classes, told all at once.

    Every distinct set that is told gets a code, 0, 1, ... in the order of first occurrence, so that sessions handle one
    integer per item as they do for single labels. Codes mean nothing beyond this object: journals and sheets hold the
    texts of `names`.

    Labels of n items are told as

    - a matrix (n, C) of 0 and 1 or of booleans, or lists of C such values; a row of NaN is an item not labelled yet;
    - lists, tuples or arrays of class names as text, or sets of class names; an empty one, or one with ``"-"`` alone,
      says that no class applies;
    - texts such as ``"cat;dog"``; ``"-"`` says that no class applies, and an empty text, NaN or None is an item not
      labelled yet.

    Parameters
    ----------
    classes : ndarray (C,)
        Class names: text or int64.
    declared : bool
        False where the classes were inferred from predictions, so that a label may lie outside them.

    Examples
    --------
    >>> space = MultiLabelSpace(np.array(["cat", "dog"]), declared=True)
    >>> codes = space.codes(["dog;cat", "-", "cat;dog"])
    >>> codes.tolist(), space.names(codes).tolist(), space.indicators(codes[:2]).tolist()
    ([0, 1, 0], ['cat;dog', '-', 'cat;dog'], [[True, True], [False, False]])
    """

    kind: ClassVar[str] = "sets"

    _codes: dict[bytes, int] = field(default_factory=dict, init=False, repr=False)  # of indicators, packed

    @property
    def n_sets(self) -> int:
        """Distinct label sets told so far."""
        return len(self._codes)

    def indicators(self, codes: Int[np.ndarray, "*n"]) -> Bool[np.ndarray, "*n C"]:
        """Return which classes apply where these codes stand.

        Raises
        ------
        LabelError
            If a code stands for no set that was told.
        """
        codes = np.asarray(codes)
        codes = codes if codes.size else codes.astype(np.int64)
        if codes.size and not (0 <= codes.min() and codes.max() < self.n_sets):
            raise LabelError(
                f"Codes of label sets are 0 to {self.n_sets - 1} so far; found {codes.min()} to {codes.max()}."
            )
        n_classes = len(self.classes)
        return np.unpackbits(self.told()[codes], axis=-1, count=n_classes).astype(bool)

    def told(self) -> np.ndarray:
        """Return the sets told so far in the order of their codes, packed, (n_sets, bytes)."""
        return np.frombuffer(b"".join(self._codes), np.uint8).reshape(self.n_sets, -(-len(self.classes) // 8))

    def adopt(self, told: np.ndarray) -> bool:
        """Let codes stand for the sets for which they stood elsewhere; False if they stand for other sets here.

        Examples
        --------
        >>> first, second = (MultiLabelSpace(np.array(["cat", "dog"]), declared=True) for _ in range(2))
        >>> code = first.codes(["dog;cat"])
        >>> second.adopt(first.told()), second.names(code).tolist()
        (True, ['cat;dog'])
        """
        rows = [row.tobytes() for row in told]
        if any(own != theirs for own, theirs in zip(self._codes, rows, strict=False)):
            return False
        self._codes.update({row: code for code, row in enumerate(rows)})
        return True

    @property
    def choices(self) -> tuple[np.ndarray, ...]:
        """None: an item may have several labels."""
        return ()

    def names(self, codes: Int[np.ndarray, "*n"] | Sequence[int]) -> np.ndarray:
        """Return the sets that codes stand for as texts, such as ``"cat;dog"`` or ``"-"``, which `codes` reads."""
        distinct, places = np.unique(codes, return_inverse=True)
        return self.texts(self.indicators(distinct))[places.reshape(np.shape(codes))]

    def texts(self, indicators: Bool[np.ndarray, "n C"]) -> np.ndarray:
        """Return sets as texts, (n,), such as ``"cat;dog"`` or ``"-"``.

        Examples
        --------
        >>> MultiLabelSpace(np.array(["cat", "dog"]), declared=True).texts(np.eye(2, dtype=bool)).tolist()
        ['cat', 'dog']
        """
        texts = [SEPARATOR.join(map(str, self.classes[row].tolist())) or NO_LABEL for row in indicators]
        return np.array(texts, dtype=str)

    def codes(self, labels: ArrayLike, ids: ArrayLike | None = None) -> Int[np.ndarray, " n"]:
        """Return labels as codes of their sets, int32.

        Parameters
        ----------
        labels : array (n, C), or n lists, sets or texts
        ids : array (n,), optional
            The labelled items' ids, to name the first offender in an error.

        Raises
        ------
        LabelError
            At the first item whose labels are missing, incomplete, or name no class.

        Examples
        --------
        >>> space = MultiLabelSpace(np.array(["cat", "dog"]), declared=True)
        >>> space.codes([[0, 1], [1, 1], [0, 1]]).tolist(), space.codes([["dog"], []]).tolist()
        ([0, 1, 0], [0, 2])
        """
        ids = None if ids is None else np.atleast_1d(values_of(ids))
        rows = self._read(labels, ids)
        if not rows.known.all():
            at = int(np.argmin(rows.known))
            raise LabelError(
                f"The labels {where(at, ids)} are missing; leave the item out until it is labelled. "
                f"If no class applies to it, its labels are '{NO_LABEL}'."
            )
        return self._codes_of(rows.indicators)

    def complete_codes(self, labels: ArrayLike, n_items: int) -> Int[np.ndarray, " M"]:
        """Return the codes of the labels of all items, in the order of the pool's rows.

        Raises
        ------
        LabelError
            If there are not the labels of every item; the message names the rows without.

        Examples
        --------
        >>> MultiLabelSpace(np.arange(3), declared=True).complete_codes(["0;2", "-", "2;0"], 3).tolist()
        [0, 1, 0]
        """
        rows = self._read(labels, None)
        needed_of_every_item(~rows.known, n_items)
        return self._codes_of(rows.indicators)

    def labelled_places(
        self, ids: ArrayLike, labels: ArrayLike
    ) -> tuple[np.ndarray, Bool[np.ndarray, "m C"], Int[np.ndarray, " m"]]:
        """Return ids, and the indicators of their labels, of the items that are labelled, and where these stand.

        Raises
        ------
        LabelError
            If there are not labels for every id, or they cannot be read.

        Examples
        --------
        >>> space = MultiLabelSpace(np.array(["cat", "dog"]), declared=True)
        >>> ids, labels, places = space.labelled_places([7, 8, 9], ["dog", None, "-"])
        >>> ids.tolist(), labels.tolist(), places.tolist()
        ([7, 9], [[False, True], [False, False]], [0, 2])
        """
        check_order(ids, labels)
        ids = np.atleast_1d(id_values(ids))
        rows = self._read(labels, ids)
        return ids[rows.known], rows.indicators[rows.known], np.flatnonzero(rows.known)

    def including(self, labels: ArrayLike) -> np.ndarray:
        """Raise PoolError: the classes of a multi-label pool are declared when it is made."""
        raise PoolError("The classes of a multi-label pool are fixed; pass every class as classes=[...] to the pool.")

    def _read(self, labels: ArrayLike, ids: np.ndarray | None) -> LabelRows:
        remedy = f"label with these names, or '{NO_LABEL}' where none applies"
        if not self.declared:
            remedy = "pass every class as classes=[...] to the pool"
        try:
            rows = read_rows(labels, self.classes, remedy)
        except UnreadableRow as error:
            known_ids = None if ids is None or error.at >= len(ids) else ids
            raise LabelError(f"The labels {where(error.at, known_ids)} {error.problem}.") from None
        if ids is not None and (ids.ndim != 1 or len(ids) != len(rows.known)):
            raise LabelError(
                f"Tell the labels of every id; found {plural(ids.size, 'id')} and the labels of "
                f"{plural(len(rows.known), 'item')}."
            )
        return rows

    def _codes_of(self, rows: Bool[np.ndarray, "n C"]) -> Int[np.ndarray, " n"]:
        """Return the codes of indicators, new ones in the order of first occurrence."""
        if not len(rows):
            return np.empty(0, np.int32)
        packed = np.packbits(rows, axis=1)
        whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, places = np.unique(whole, return_index=True, return_inverse=True)
        code = np.empty(len(first), np.int32)
        for slot in np.argsort(first).tolist():
            code[slot] = self._codes.setdefault(packed[first[slot]].tobytes(), self.n_sets)
        return code[places.ravel()]
