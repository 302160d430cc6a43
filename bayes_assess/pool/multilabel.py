"""A pool whose items may have several labels each, or none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bayes_assess._tools.arrays import CHUNK, first_true, frozen
from bayes_assess._tools.arrays import show as shown
from bayes_assess._tools.callers import warn_caller
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.shapes import ArrayLike, Bool
from bayes_assess.errors import PoolError
from bayes_assess.pool._classes import check_classes, score_classes
from bayes_assess.pool._columns import check_groups, check_show
from bayes_assess.pool._ids import check_ids
from bayes_assess.pool._label_rows import (
    NO_LABEL,
    UnreadableRow,
    check_label_names,
    distinct_names,
    frame_columns,
    read_rows,
    separators_hint,
)
from bayes_assess.pool._scores import MOST_OFF, read_scores
from bayes_assess.pool.label_sets import MultiLabelSpace
from bayes_assess.pool.pool import Pool

if TYPE_CHECKING:
    from bayes_assess.pool.items import Rows


_REMEDY = f"pass every class that can be predicted as classes=[...]; '{NO_LABEL}' stands for no class"


class MultiLabelPool(Pool):
    """Predictions on M items of which every class may apply or not; ``ba.Pool(..., multilabel=True)`` makes it.

    Labelling an item tells of all classes whether they apply. Such a pool has no single prediction per item: in the
    place of ``predictions`` and ``confidence`` it has `indicators`, and what is made for one label per item (systems,
    groups by predicted class, bins of the confidence) raises a PoolError.

    Parameters
    ----------
    scores : array (M, C), optional
        Probability of every class that it applies, each in [0, 1]; rows need not sum to 1.
    predictions : array (M, C), or M lists, sets or texts, optional
        Which classes are predicted of each item: indicators, lists of class names, or texts such as ``"cat;dog"``, with
        ``"-"`` where none is. By default those whose score is at least 0.5.
    ids, groups, show
        As of every pool.
    classes : sequence (C,), optional
        Class names in the order of the columns. By default the column names of a frame, 0..C-1 of an array, or the
        sorted distinct names that are predicted. No name contains ``";"``.

    Attributes
    ----------
    indicators : ndarray of bool (M, C)
        Whether a class is predicted of an item.
    scores, classes, classes_declared
        As of every pool.

    Raises
    ------
    PoolError
        What is wrong, in which row, and what to do.

    Warns
    -----
    UserWarning
        If every row of scores sums to 1, as probabilities of single labels do, or a class that is predicted has the
        name of several others at once, such as "cat,dog".

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.9, 0.6], [0.2, 0.1]], classes=["cat", "dog"], multilabel=True)
    >>> pool
    Pool(2 items, 2 classes, multi-label, scores)
    >>> pool.indicators.tolist()
    [[True, True], [False, False]]
    >>> ba.Pool(predictions=["dog;cat", "-"], multilabel=True).indicators.tolist()
    [[True, True], [False, False]]
    """

    multilabel = True
    indicators: Bool[np.ndarray, "M C"]

    @staticmethod
    def is_asked_for(*, multilabel: bool = False, bounds: object = None, **options: object) -> bool:
        """Whether items may have several labels."""
        try:
            return bool(multilabel) and bounds is None
        except TypeError:  # of pd.NA, which is neither
            raise PoolError(f"multilabel is True or False; found {shown(multilabel)}.") from None

    def __init__(
        self,
        scores: ArrayLike | None = None,
        predictions: ArrayLike | None = None,
        *,
        confidence: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
        systems: Mapping[str, ArrayLike] | None = None,
        show: Mapping[str, ArrayLike] | None = None,
        multilabel: bool = True,
        bounds: None = None,
        step: None = None,
    ) -> None:
        if step is not None:
            raise PoolError("A step rounds labels that are numbers; leave it out where labels are sets of classes.")
        if scores is None and predictions is None:
            raise PoolError("A pool needs scores or predictions; pass at least one of them.")
        if confidence is not None:
            raise PoolError("A multi-label pool has no confidence; pass the probabilities of its classes as scores.")
        if systems:
            raise PoolError("A multi-label pool holds the predictions of one system; make a pool for each system.")
        names = None if classes is None else check_classes(classes)
        declared = names is not None or scores is not None
        array = None
        if scores is not None:
            array, columns = read_scores(scores, fewest=1)
            names = check_label_names(_score_classes(array, columns, names))
            _check_scores(array, names)
        if names is None:
            columns = frame_columns(predictions)
            names = distinct_names(predictions) if columns is None else check_classes(columns)
            declared = columns is not None or names.dtype.kind != "U"
            if not declared:
                _warn_of_separators(names)
        check_label_names(names)
        indicators = _read_predictions(predictions, names) if array is None or predictions is not None else array >= 0.5
        n_items = len(indicators)
        if n_items == 0:
            raise PoolError("The pool has no items; pass at least one.")
        if array is not None and len(array) != n_items:
            raise PoolError(f"There are {n_items:,} predictions but scores of {len(array):,} items.")
        index = None if ids is None else check_ids(ids, n_items)
        self._fill(
            scores=None if array is None else frozen(array),
            indicators=frozen(indicators),
            classes=frozen(names),
            classes_declared=declared,
            _given_confidence=None,
            _given_ids=None if index is None else frozen(index),
            _groups=check_groups(groups, n_items),
            _systems={},
            _show=check_show(show, n_items),
        )
        self._check_rows(ids, scores=scores, predictions=predictions, groups=groups, show=show)

    @property
    def n_items(self) -> int:
        """Number of items, M."""
        return len(self.indicators)

    @cached_property
    def label_space(self) -> MultiLabelSpace:
        """The label sets that items can have, and their codes."""
        return MultiLabelSpace(self.classes, self.classes_declared)

    @property
    def predictions(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride]
        """No single prediction per item: raises PoolError, which names `indicators`."""
        self._refuse("predicted class per item", "its predictions are pool.indicators, (items, classes)")

    @property
    def confidence(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride]
        """No confidence in a single prediction: raises PoolError, which names `scores`."""
        self._refuse("confidence per item", "the probabilities of its classes are pool.scores, (items, classes)")

    def prediction_names(self, items: Rows) -> np.ndarray:
        """Return the classes predicted of items as texts such as ``"cat;dog"``, (n,)."""
        return self.label_space.texts(self.indicators[items])

    def prediction_counts(self) -> np.ndarray:
        """Count how often every class is predicted, (C,)."""
        return self.indicators.sum(0)

    def any_labels(self, n: int) -> np.ndarray:
        """Return `n` labels that items could have: that no class applies."""
        return np.repeat(NO_LABEL, n)

    def system_codes(self, name: str) -> NoReturn:
        """Raise PoolError: there are no codes of single predictions."""
        self._refuse("predicted class per item", "its predictions are pool.indicators; make a pool for each system")

    def with_classes(self, classes: ArrayLike) -> NoReturn:
        """Raise PoolError: the classes of a multi-label pool are declared when it is made."""
        raise PoolError("The classes of a multi-label pool are fixed; pass every class as classes=[...] to the pool.")

    def _refuse(self, lacking: str, instead: str) -> NoReturn:
        raise PoolError(
            f"A multi-label pool has no {lacking}; {instead}. What it is measured by, such as 'f1_micro', is made by "
            "bayes_assess.measures.multilabel_measure."
        )

    @property
    def _predicted(self) -> dict[str, np.ndarray]:
        return {"indicators": self.indicators}


def _score_classes(scores: np.ndarray, columns: list[str] | None, names: np.ndarray | None) -> np.ndarray:
    if scores.ndim != 2:
        raise PoolError(
            f"Scores of a multi-label pool have one column per class, (items, classes); found shape {scores.shape}."
        )
    if len(scores) == 0:
        raise PoolError("The pool has no items; pass at least one.")
    return score_classes(scores, columns, names)


def _check_scores(scores: np.ndarray, classes: np.ndarray) -> None:
    """Check probabilities of independent labels, and warn if they look like those of single labels."""
    alike = True
    for start in range(0, len(scores), CHUNK):
        part = scores[start : start + CHUNK]
        with np.errstate(invalid="ignore"):
            wrong = np.logical_not((part >= 0) & (part <= 1))
        row = first_true(np.any(wrong, axis=1))
        if row is not None:
            column = int(wrong[row].argmax())
            where, value = f"row {row_no(start + row)} of class {shown(classes[column])}", float(part[row, column])
            remedy = "drop the row or score it" if np.isnan(value) else "pass probabilities, not logits (sigmoid them)"
            raise PoolError(f"The score in {where} is {value:g}, not a number in [0, 1]; {remedy}.")
        alike = alike and bool((np.abs(part.sum(axis=1, dtype=np.float64) - 1) <= MOST_OFF).all())
    if alike:
        warn_caller(
            "Every row of scores sums to 1, as the probabilities of single labels do; a multi-label pool takes the "
            "probability of each class apart from the others. Leave out multilabel=True if items have one label."
        )


def _warn_of_separators(names: np.ndarray) -> None:
    """Warn of a class whose name is that of several others, with something else than a semicolon between them."""
    known = set(names.tolist())
    for name in names.tolist():
        hint = separators_hint(name, known)
        if hint:
            warn_caller(f"The class {shown(name)} looks like several others at once{hint}.")
            return


def _read_predictions(predictions: Any, classes: np.ndarray) -> Bool[np.ndarray, "M C"]:
    try:
        rows = read_rows(predictions, classes, _REMEDY)
    except UnreadableRow as error:
        raise PoolError(f"The predictions in row {row_no(error.at)} {error.problem}.") from None
    row = first_true(~rows.known)
    if row is not None:
        raise PoolError(
            f"The predictions in row {row_no(row)} are missing; write '{NO_LABEL}' or an empty list where no class is "
            "predicted, or drop the row."
        )
    return rows.indicators
