"""A pool: the predictions of one classifier on the items whose labels are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bayes_assess._arrays import CHUNK, first_missing, frozen, listing, show, values_of
from bayes_assess._attributes import check_confidence, check_groups
from bayes_assess._classes import (
    check_classes,
    check_predictions,
    code_predictions,
    codes_of,
    infer_classes,
    score_classes,
)
from bayes_assess._ids import IdIndex, check_ids, find_ids
from bayes_assess._readers import read
from bayes_assess._scores import both_columns, check_positive, check_rows, read_scores
from bayes_assess.errors import LabelError, PoolError


class Pool:
    """Predictions on M items, checked once and never changed.

    Arrays may be NumPy, JAX, lists, or pandas, Polars and Arrow series; two-dimensional scores may be a frame.

    Parameters
    ----------
    scores : array (M, C) or (M,), optional
        Class probabilities; each row sums to 1 within 1e-3. Or P(positive) of a binary classifier, which predicts
        the second class where the score is at least 0.5. float32 is kept.
    predictions : array (M,), optional
        Predicted class of each item, by name, or by code where class names are text. By default the class of the
        largest score.
    confidence : array (M,), optional
        Probability in [0, 1] that the classifier gives to its prediction, where no scores are known.
    ids : array (M,), optional
        Distinct integers or texts; by default the row numbers 0..M-1.
    classes : sequence (C,), optional
        Class names in the order of the score columns, all text or all integers. By default the column names of a
        frame of scores, else 0..C-1. Without scores, inferred from the predictions: 0..max for non-negative
        integers, (0, 1) for booleans, the sorted distinct values for anything else.
    groups : mapping of str to array (M,), optional
        Attributes of the items, such as ``{"site": site}``, to assess groups by.

    Attributes
    ----------
    scores : ndarray (M, C) or (M,), or None
    predictions : ndarray of int32 (M,)
        Codes into ``classes``.
    classes : ndarray (C,)
        Class names: text or int64.
    classes_declared : bool
        False where the classes were inferred from predictions, so that a label may lie outside them.

    Raises
    ------
    PoolError
        What is wrong, in which row, and what to do.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"], groups={"site": ["x", "y"]})
    >>> pool
    Pool(2 items, 2 classes, scores, groups: site)
    >>> pool.predictions
    array([0, 1], dtype=int32)
    """

    scores: np.ndarray | None
    predictions: np.ndarray
    classes: np.ndarray
    classes_declared: bool
    _given_confidence: np.ndarray | None
    _given_ids: np.ndarray | None
    _groups: dict[str, np.ndarray]

    def __init__(
        self,
        scores: Any = None,
        predictions: Any = None,
        *,
        confidence: Any = None,
        ids: Any = None,
        classes: Any = None,
        groups: Mapping[str, Any] | None = None,
    ) -> None:
        if scores is None and predictions is None:
            raise PoolError("a pool needs scores or predictions; pass at least one of them")
        names = None if classes is None else check_classes(classes)
        declared = names is not None or scores is not None
        array = codes = None
        if scores is not None:
            array, columns = read_scores(scores)
            _check_size(len(array))
            names = score_classes(array, columns, names)
            codes = check_positive(array) if array.ndim == 1 else check_rows(array)
        if predictions is not None:
            values, boolean = check_predictions(predictions)
            _check_size(len(values))
            if array is not None and len(values) != len(array):
                raise PoolError(f"there are {len(values):,} predictions but scores of {len(array):,} items")
            if names is None:
                names = infer_classes(values, boolean=boolean)
            codes = code_predictions(values, names)
        assert codes is not None and names is not None  # noqa: PT018 - one of the two was given
        index = check_ids(ids, len(codes)) if ids is not None else None
        self._fill(
            scores=None if array is None else frozen(array),
            predictions=frozen(codes),
            classes=frozen(names),
            classes_declared=declared,
            _given_confidence=check_confidence(confidence, len(codes), scored=array is not None),
            _given_ids=None if index is None else frozen(index),
            _groups=check_groups(groups, len(codes)),
        )
        if self._index is not None:
            self._index.check_unique()

    def _fill(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Pool never changes; make a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Pool never changes; {name!r} cannot be deleted")

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        parts = [_plural(len(self), "item"), _plural(self.n_classes, "class", "classes")]
        if self.scores is not None:
            parts.append("scores")
        elif self._given_confidence is not None:
            parts.append("confidence")
        if self._groups:
            parts.append("groups: " + ", ".join(self._groups))
        return f"Pool({', '.join(parts)})"

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return len(self.predictions)

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return len(self.classes)

    @property
    def groups(self) -> Mapping[str, np.ndarray]:
        """Attributes of the items by name, each an array (M,)."""
        return MappingProxyType(self._groups)

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
        values = np.empty(self.n_items)
        for start in range(0, self.n_items, CHUNK):
            rows = slice(start, start + CHUNK)
            part, codes = self.scores[rows], self.predictions[rows]
            if part.ndim == 1:
                part = both_columns(part)
            values[rows] = part[np.arange(len(part)), codes]
        # a row may exceed 1 by the tolerance of its sum
        return frozen(np.minimum(values, 1.0, out=values))

    @cached_property
    def _index(self) -> IdIndex | None:
        return None if self._given_ids is None else IdIndex(self._given_ids)

    def label_codes(self, labels: Any, ids: Any = None) -> np.ndarray:
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
        values = np.atleast_1d(values_of(labels))
        if values.ndim != 1:
            raise LabelError(f"labels have shape {values.shape}; pass one label per item, (items,)")
        names = None if ids is None else np.atleast_1d(values_of(ids))
        if names is not None and len(names) != len(values):
            raise LabelError(f"there are {len(values):,} labels for {len(names):,} ids; pass one label per id")
        if not values.size:
            return np.empty(0, dtype=np.int32)
        missing = first_missing(values)
        if missing is not None:
            problem = f"is missing ({show(values[missing])}); leave the item out until it is labelled"
            raise LabelError(f"the label {_where(missing, names)} {problem}")
        codes, at = codes_of(values, self.classes)
        if at is None:
            return codes
        remedy = "label with these names" if self.classes_declared else "pass every class as classes=[...] to the pool"
        if self.classes.dtype.kind == "U" and values.dtype.kind in "biuf":
            remedy = "label with these names, not with numbers"
        problem = f"is {show(values[at])}, which is not one of the classes ({listing(self.classes)}); {remedy}"
        raise LabelError(f"the label {_where(at, names)} {problem}")

    def positions(self, ids: Any) -> np.ndarray:
        """Return the row numbers of items by their ids.

        Parameters
        ----------
        ids : array (n,)
            Known ids, in any order, repeated or not. Integers and their plain texts stand for each other
            ("17" and 17; never "017"), since files do not keep the two apart.

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

    def with_classes(self, classes: Any) -> Pool:
        """Return the same pool with more classes declared.

        Parameters
        ----------
        classes : sequence (C',)
            All classes of this pool, in any order, and any others. Scores become 0 for the others.

        Returns
        -------
        Pool

        Raises
        ------
        PoolError
            If a class of this pool is left out.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.Pool(predictions=["cat", "dog"]).with_classes(["bird", "cat", "dog"]).predictions
        array([1, 2], dtype=int32)
        """
        names = check_classes(classes)
        code, lost = codes_of(self.classes, names)
        if lost is not None:
            raise PoolError(
                f"the new classes lack {show(self.classes[lost])}, a class of the pool; keep all of its classes"
            )
        scores = self.scores
        if scores is not None and not np.array_equal(code, np.arange(len(names))):
            both = scores if scores.ndim == 2 else both_columns(scores)
            wide = np.zeros((self.n_items, len(names)), dtype=both.dtype)
            wide[:, code] = both
            scores = frozen(wide)
        pool = object.__new__(Pool)
        pool._fill(**{name: value for name, value in self.__dict__.items() if name != "_fingerprint"})
        pool._fill(
            scores=scores, predictions=frozen(code[self.predictions]), classes=frozen(names), classes_declared=True
        )
        return pool

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

    @cached_property
    def _fingerprint(self) -> str:
        from bayes_assess._fingerprint import digest

        fields = {"predictions": self.predictions, "classes": self.classes}
        optional = {"scores": self.scores, "confidence": self._given_confidence, "ids": self._given_ids}
        fields |= {name: array for name, array in optional.items() if array is not None}
        fields |= {f"group {name}": array for name, array in sorted(self._groups.items())}
        return digest(fields)


def read_pool(
    source: Any,
    *,
    id: str | None = None,
    scores: str | Iterable[str] | None = None,
    prediction: str | None = None,
    confidence: str | None = None,
    groups: str | Iterable[str] = (),
    classes: Any = None,
) -> Pool:
    """Read a pool from a CSV, Parquet or NPZ file, or from a dataframe.

    Parameters
    ----------
    source : str, Path or dataframe
        A file with suffix ``.csv``, ``.parquet`` or ``.npz``, or any frame that Narwhals reads (pandas, Polars, Arrow).
        An NPZ file holds the arrays ``scores``, ``predictions``, ``confidence``, ``ids`` and ``classes``, as many as
        there are; its ``labels`` are never read.
    id : str, optional
        Column of ids; by default the column ``id`` (``ids`` in NPZ) if there is one, else the row numbers.
    scores : str or list of str, optional
        The column of P(positive), or the columns of class probabilities. In NPZ, the name of the array.
    prediction, confidence : str, optional
        Columns of predicted classes and of their probabilities.
    groups : list of str, optional
        Columns of attributes to assess groups by.
    classes : sequence, optional
        Class names; by default those of the score columns, without the first word up to an underscore if all
        columns share it: ``p_cat, p_dog`` give ``cat, dog``, and ``p_0, p_1`` give the integers 0 and 1.

    Returns
    -------
    Pool
        Where none of ``scores``, ``prediction`` and ``confidence`` is named: the columns ``prediction`` and
        ``confidence``, and those that begin with ``p_`` or with ``score_`` if there are two or more.

    Raises
    ------
    PoolError
        If the file is missing or of another kind, or a column is; the message lists the columns there are.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b"], "p_cat": [0.9, 0.3], "p_dog": [0.1, 0.7], "site": ["x", "y"]})
    >>> pool = ba.read_pool(frame, groups=["site"])
    >>> pool.classes.tolist(), pool.ids.tolist()
    (['cat', 'dog'], ['a', 'b'])
    """
    is_file = isinstance(source, str | Path)
    names = {"id": id, "scores": scores, "prediction": prediction, "confidence": confidence}
    columns = [groups] if isinstance(groups, str) else list(groups)
    return Pool(**read(Path(source) if is_file else source, names, columns, classes))


def _plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _where(at: int, ids: np.ndarray | None) -> str:
    return f"at position {at}" if ids is None else f"of item {show(ids[at])} (position {at})"


def _check_size(n_items: int) -> None:
    if n_items == 0:
        raise PoolError("the pool has no items; pass at least one")
