"""Items of a pool as they are asked for: by their ids, with what is predicted of them and how they are labelled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bayes_assess._tools.arrays import frozen, listing, own_index
from bayes_assess._tools.coded import CodedColumn
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import PoolError
from bayes_assess.pool._columns import RESERVED, GroupColumns
from bayes_assess.pool._ids import IdIndex, find_ids, in_another_order, known_ids
from bayes_assess.pool._scores import predicted_scores
from bayes_assess.pool.labels import LabelSpace, check_order
from bayes_assess.pool.source import ArraySource

if TYPE_CHECKING:
    from bayes_assess.pool.source import ItemSource


Rows: TypeAlias = "Int[np.ndarray, ' n'] | slice"

_WHAT_TO_DO = "give it the pool that it was started with, or start a session on this one and tell it the labels again"


class Items:
    """What a pool holds of its items, and how they are found; `Pool` makes one."""

    is_ranked: bool = False  # True of a `RankedList`
    paired: bool = False  # True of a `PairPool`, whose items are pairs
    multilabel: bool = False
    in_memory: bool = True  # False where the items are rows of a table of an engine
    rows: Any = None  # of such a table
    multiplicity: np.ndarray | None = None  # items per row of the arrays below, int64; None: a row is an item
    numeric: bool = False  # whether labels are numbers that are not rounded
    exact: Any = None  # of pools of numbers: the same items, whose labels are not rounded
    rounded_to: float | None = None  # of pools of numbers: the step, where numbers lie between steps
    scores: np.ndarray | None
    margins: np.ndarray | None = None
    predictions: np.ndarray
    classes: np.ndarray
    classes_declared: bool
    _given_confidence: np.ndarray | None
    _given_ids: np.ndarray | None
    _groups: dict[str, np.ndarray | CodedColumn]
    _systems: dict[str, np.ndarray]
    _show: dict[str, np.ndarray]

    def _fill(self, **fields: object) -> None:
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Pool never changes; make a new one instead of setting {name!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A Pool never changes; {name!r} cannot be deleted.")

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        parts = [plural(len(self), "item"), plural(self.n_classes, "class", "classes")]
        if self.multilabel:
            parts.append("multi-label")
        if self.scores is not None:
            parts.append("scores")
        elif self.margins is not None:
            parts.append("scores that rank")
        elif self._given_confidence is not None:
            parts.append("confidence")
        if self._groups:
            parts.append("groups: " + ", ".join(self._groups))
        if self._systems:
            parts.append("systems: " + ", ".join(self._systems))
        return f"Pool({', '.join(parts)})"

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return len(self.predictions)

    @property
    def n_rows(self) -> int:
        """Number of rows of scores, predictions, confidence, groups and systems: M, unless they have a multiplicity."""
        return self.n_items

    def rows_of(self, items: Rows) -> Rows:
        """Return the rows of scores, predictions, confidence, groups and systems that hold what is known of items."""
        return items

    def check_in_memory(self, what: str) -> None:
        """Raise PoolError if the items are not in memory; `what` needs them, the beginning of a sentence."""

    def source_of(self, codes: np.ndarray, sizes: np.ndarray, seed: int) -> ItemSource:
        """Return where the items of cells are, see `ItemSource`: those of the rows with these codes, (R,)."""
        return ArraySource.shuffled(self, codes, sizes, seed)

    def check_bins(self, n_bins: int) -> None:
        """Raise PartitionError if rows of these arrays do not lie within one of so many bins of equal width."""

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return len(self.classes)

    @cached_property
    def groups(self) -> GroupColumns:
        """Attributes of the items by name, each an array (M,)."""
        return GroupColumns(self._groups)

    @property
    def systems(self) -> Mapping[str, np.ndarray]:
        """Predictions of other systems by name, each codes into ``classes``, int32 (M,)."""
        return MappingProxyType(self._systems)

    @property
    def show(self) -> Mapping[str, np.ndarray]:
        """What annotators see of the items by name, each an array (M,)."""
        return MappingProxyType(self._show)

    def system_codes(self, name: str) -> np.ndarray:
        """Return the predictions of a system as codes into ``classes``.

        Parameters
        ----------
        name : str
            ``"prediction"`` for the pool's own, or one of ``systems``.

        Returns
        -------
        ndarray of int32 (M,)

        Raises
        ------
        PoolError
            If there is no such system.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat", "dog"], systems={"new": ["dog", "dog"]})
        >>> pool.system_codes("new"), pool.system_codes("prediction")
        (array([1, 1], dtype=int32), array([0, 1], dtype=int32))
        """
        if name == RESERVED:
            return self.predictions
        if name in self._systems:
            return self._systems[name]
        known = listing([RESERVED, *self._systems], 30)
        raise PoolError(f"The pool has no system {name!r}; it has {known}. Pass others to it as systems={{...}}.")

    @cached_property
    def ids(self) -> np.ndarray:
        """Ids of the items, (M,): those given, else the row numbers."""
        return frozen(np.arange(self.n_items)) if self._given_ids is None else self._given_ids

    @cached_property
    def confidence(self) -> np.ndarray | None:
        """Probability that the classifier gives to its prediction, float64 (M,), or None if it is not known.

        It is the score of the *predicted* class ([ABA] writes s for it), which is the largest score unless
        the predictions were given and differ from the argmax.
        """
        if self.scores is None:
            return self._given_confidence
        return frozen(predicted_scores(self.scores, self.predictions))

    @cached_property
    def _index(self) -> IdIndex | None:
        return None if self._given_ids is None else IdIndex(self._given_ids)

    @cached_property
    def label_space(self) -> LabelSpace:
        """The labels that items can have, and their codes."""
        return LabelSpace(self.classes, self.classes_declared)

    def prediction_names(self, items: Rows) -> np.ndarray:
        """Return the names of what is predicted of items, (n,)."""
        return self.classes[self.predictions[self.rows_of(items)]]

    def shown_of(self, ids: ArrayLike) -> dict[str, np.ndarray]:
        """Return what annotators see of items by their ids.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat", "dog"], ids=["a", "b"], show={"text": ["purrs", "barks"]})
        >>> pool.shown_of(["b"])["text"].tolist()
        ['barks']
        """
        if not self.show:
            return {}
        items = self.positions(ids)
        return {name: values[items] for name, values in self.show.items()}

    def prediction_counts(self) -> np.ndarray | None:
        """Count how often every class is predicted, (C,); None where predictions are no classes.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.Pool(predictions=["cat", "dog", "dog"]).prediction_counts().tolist()
        [1, 2]
        """
        return np.bincount(self.system_codes(RESERVED), minlength=self.n_classes)

    def any_labels(self, n: int) -> np.ndarray:
        """Return `n` labels that items could have, whichever.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.Pool(predictions=["cat", "dog"]).any_labels(2).tolist()
        ['cat', 'cat']
        """
        return np.repeat(self.label_space.names([0]), n)

    def label_codes(self, labels: ArrayLike, ids: ArrayLike | None = None) -> np.ndarray:
        """Return labels as codes into ``classes``.

        Parameters
        ----------
        labels : array (n,)
            Class names. Where the classes are integers, whole floats and plain texts ("3") of them are accepted.
        ids : array (n,), optional
            The labelled items' ids, to name the first offender in an error.

        Returns
        -------
        ndarray of int32 (n,)

        Raises
        ------
        LabelError
            At the first label that is missing or names no class.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.Pool(predictions=["cat", "dog"]).label_codes(["dog", "dog", "cat"])
        array([1, 1, 0], dtype=int32)
        """
        return self.label_space.codes(labels, ids)

    def _check_rows(self, ids: ArrayLike | None, **columns: Any) -> None:
        """Raise PoolError if ids are not unique, or indexes show columns, as given, to be in different orders.

        Those are the index of a column that is the ids in another order, or that of another column.
        """
        if self._index is None or ids is None:
            _check_indexes({"ids": ids, **columns})
            return
        self._index.check_unique()
        for what, given in columns.items():
            for name, column in given.items() if isinstance(given, Mapping) else [("", given)]:
                if column is not None and in_another_order(column, self._index, ids):
                    of_column = f" {name!r} in {what}" if name else f" {what}"
                    raise PoolError(
                        f"The index of{of_column} is the ids in another order, and rows go by position: pass it in the "
                        "order of the ids, as .loc[ids] does."
                    )
        _check_indexes({"ids": ids, **columns})

    def complete_codes(self, labels: ArrayLike) -> np.ndarray:
        """Return the codes of the labels of all items, in the order of the rows.

        Raises
        ------
        LabelError
            If there is not one label per item, or their index is the ids in another order, see `check_order`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.Pool(predictions=["cat", "dog"]).complete_codes(["dog", "cat"]).tolist()
        [1, 0]
        """
        if self._given_ids is not None:
            check_order(self._given_ids, labels)
        return self.label_space.complete_codes(labels, self.n_items)

    def positions(self, ids: ArrayLike) -> np.ndarray:
        """Return the row numbers of items by their ids.

        Parameters
        ----------
        ids : array (n,)
            Known ids, in any order, repeated or not. Integers and their plain texts stand for each other
            ("17" and 17; never "017"), since files do not keep the two apart. A text that is no id stands for the one
            that differs from it by blanks at its ends alone, if there is just one.

        Returns
        -------
        ndarray of intp (n,)

        Raises
        ------
        UnknownIdError
            At the first id that names no item.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.Pool(predictions=[0, 1, 1], ids=["a", "b", "c"]).positions(["c", "a"])
        array([2, 0])
        """
        return find_ids(ids, self._index, self.n_items)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Return the row numbers of items by their ids, -1 where there is no such item; see `positions`."""
        return known_ids(ids, self._index, self.n_items)

    def differs_from(self, fingerprint: str, n_items: int | None = None) -> str:
        """Say of what pool a fingerprint is that is not this one's, of so many items if they are known."""
        if n_items is not None and n_items != self.n_items:
            return f"another pool, of {plural(n_items, 'item')}, and this one has {self.n_items:,}: {_WHAT_TO_DO}"
        if " " in fingerprint:  # of a `TablePool`
            return (
                "a table that was scanned, and this pool is in memory: scan it by ba.scan_pool, as it was at the start"
            )
        return (
            "another pool: predictions, systems, scores, ids, classes, groups and the order of items must be the same "
            f"as when it was started. Either {_WHAT_TO_DO}"
        )

    def fingerprint(self) -> str:
        """Return a SHA-256 of the pool's values, the same in every process and for every kind of array.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> import numpy as np
        >>> ba.Pool(predictions=[0, 1]).fingerprint() == ba.Pool(predictions=np.array([0, 1])).fingerprint()
        True
        """
        return self._fingerprint

    @property
    def _predicted(self) -> dict[str, np.ndarray]:  # by the name under which it is hashed
        return {"predictions": self.predictions}

    @cached_property
    def _fingerprint(self) -> str:
        from bayes_assess.pool._fingerprint import digest

        fields = {**self._predicted, "classes": self.classes}
        optional = {
            "scores": self.scores,
            "margins": self.margins,
            "confidence": self._given_confidence,
            "ids": self._given_ids,
        }
        fields |= {name: array for name, array in optional.items() if array is not None}
        fields |= {f"group {name}": array for name, array in sorted(self.groups.items())}
        fields |= {f"system {name}": array for name, array in sorted(self._systems.items())}
        return digest(fields)


def _check_indexes(columns: Mapping[str, Any]) -> None:
    """Raise PoolError if two columns of pandas have the same index in different orders.

    Examples
    --------
    >>> import pandas as pd
    >>> _check_indexes({"scores": pd.Series([0.2, 0.7]), "groups": {"site": pd.Series(["a", "b"], index=[1, 0])}})
    Traceback (most recent call last):
    bayes_assess.errors.PoolError: The index of 'site' in groups is that of scores in another order, and ...
    """
    named = {
        f"{name!r} in {what}" if name else what: column
        for what, given in columns.items()
        for name, column in (given.items() if isinstance(given, Mapping) else [("", given)])
    }
    first, known = "", None
    for name, column in named.items():
        index = own_index(column)
        if known is None:
            first, known = name, index
        elif index is not None and len(index) == len(known) and not index.equals(known):
            if index.is_unique and known.isin(index).all():
                raise PoolError(
                    f"The index of {name} is that of {first} in another order, and rows go by position: pass it in "
                    "that order, as .loc[index] does, or without an index, as .to_numpy() does, if its rows are right."
                )
