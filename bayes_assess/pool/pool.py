"""A pool: the predictions of one classifier on the items whose labels are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import frozen, listing, show
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import PoolError, QuestionError
from bayes_assess.pool._classes import (
    check_classes,
    check_predictions,
    code_predictions,
    codes_of,
    infer_classes,
    score_classes,
)
from bayes_assess.pool._columns import (
    check_confidence,
    check_groups,
    check_shared_classes,
    check_show,
    check_systems,
    code_systems,
)
from bayes_assess.pool._ids import check_ids
from bayes_assess.pool._memory import check_fits, check_in_memory
from bayes_assess.pool._scores import (
    check_margins,
    check_positive,
    check_rows,
    read_scores,
    spread_columns,
    told_apart,
)
from bayes_assess.pool.items import Items

_DERIVED = ("_fingerprint", "label_space", "groups")  # what follows from the classes, and from columns of groups


class Pool(Items):
    """Predictions on M items, checked once and never changed.

    Arrays may be NumPy, JAX, lists, or pandas, Polars and Arrow series; two-dimensional scores may be a frame. Rows go
    by position; what has the ids for its index in pandas, or that of another column, but in another order, is refused.

    Parameters
    ----------
    scores : array (M, C) or (M,), optional
        Class probabilities; each row sums to 1 within 1e-3. Or P(positive) of a binary classifier, which predicts
        the second class where the score is at least 0.5. float32 is kept. Beside `predictions` of two classes any
        other numbers (M,), such as margins or logits: they rank the items, and nothing else is read from them.
    predictions : array (M,), optional
        Predicted class of each item, by name, or by code where class names are text. By default the class of the
        largest score.
    confidence : array (M,), optional
        Probability in [0, 1] that the classifier gives to its prediction, where no class probabilities are known.
    ids : array (M,), optional
        Distinct integers or texts; by default the row numbers 0..M-1. Dates and times become texts as of ISO 8601, and
        UUIDs those that they are written as.
    classes : sequence (C,), optional
        Class names in the order of the score columns, all text or all integers. By default the column names of a
        frame of scores, else 0..C-1. Without scores, those that are predicted, in order; 0 and 1 of booleans, and of
        integers that are none but these. Name all classes if labels can be others, such as ``[1, 2, 3, 4, 5]`` of
        ratings of which 4 is never predicted.
    groups : mapping of str to array (M,), optional
        Attributes of the items, such as ``{"site": site}``, to assess groups by.
    systems : mapping of str to array (M,), optional
        Predictions of other systems on the same items, such as ``{"new": predictions}``, to compare with: names or
        codes of the same classes.
    show : mapping of str to array (M,), optional
        What annotators need to see of the items, such as ``{"text": text}``: it goes into the sheets of `Queries`, and
        has no part in decisions, answers or the fingerprint.
    multilabel : bool
        Whether an item may have several labels, or none: True makes a `MultiLabelPool`.
    bounds, step : two floats, and a float, optional
        Where labels are numbers: the least and the greatest, and what they are rounded to. Makes a `NumericPool`, or
        without finite bounds, such as ``(-inf, inf)``, a `bayes_assess.pool.numbers.NumberPool`.

    Attributes
    ----------
    scores : ndarray (M, C) or (M,), or None
        Probabilities.
    margins : ndarray of float64 (M,), or None
        Scores that rank the items by the second class, where they are no probabilities.
    predictions : ndarray of int32 (M,)
        Codes into ``classes``.
    classes : ndarray (C,)
        Class names: text or int64.
    classes_declared : bool
        False where the classes were inferred from predictions: a label that lies outside them is refused.

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

    _kinds: ClassVar[list[type[Pool]]] = []  # pools of other labels than classes, which `Pool(...)` may make

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "is_asked_for" in vars(cls):
            Pool._kinds.append(cls)

    def __new__(cls, *args: object, **options: Any) -> Pool:
        """Make a `MultiLabelPool` where items may have several labels, a pool of numbers where labels are numbers."""
        kinds = cls._kinds if cls is Pool else []
        return object.__new__(next((kind for kind in kinds if kind.is_asked_for(**options)), cls))

    @staticmethod
    def is_asked_for(*, multilabel: bool = False, bounds: object = None, **options: object) -> bool:
        """Whether these options of `Pool` ask for a pool of this kind; every kind has its own."""
        return False

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
        multilabel: bool = False,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
    ) -> None:
        if step is not None:
            raise PoolError("A step rounds labels that are numbers; give their bounds, too, or leave it out.")
        if scores is None and predictions is None:
            raise PoolError("A pool needs scores or predictions; pass at least one of them.")
        check_in_memory(scores=scores, predictions=predictions)
        names = None if classes is None else check_classes(classes)
        array, columns = (None, None) if scores is None else read_scores(scores)
        values, boolean = (None, False) if predictions is None else check_predictions(predictions)
        array, margins = (array, None) if values is None else told_apart(array)
        declared = names is not None or array is not None
        codes = None
        n_items = next(len(column) for column in (values, array) if column is not None)
        given = array if margins is None else margins
        if n_items == 0:
            raise PoolError("The pool has no items; pass at least one.")
        check_fits(n_items)
        if given is not None and len(given) != n_items:
            raise PoolError(f"There are {n_items:,} predictions but scores of {len(given):,} items.")
        others = check_systems(systems, n_items)
        if array is not None:
            names = score_classes(array, columns, names)
            codes = check_positive(array) if array.ndim == 1 else check_rows(array)
        if values is not None:
            if names is None:
                check_shared_classes(values, others)
                names = infer_classes(values, boolean, others.values())
            codes = code_predictions(values, names)
        assert codes is not None and names is not None  # noqa: PT018 - one of the two was given
        if margins is not None:
            check_margins(margins, codes, names)
        index = check_ids(ids, len(codes)) if ids is not None else None
        self._fill(
            scores=None if array is None else frozen(array),
            margins=None if margins is None else frozen(margins),
            predictions=frozen(codes),
            classes=frozen(names),
            classes_declared=declared,
            _given_confidence=check_confidence(confidence, len(codes), scored=array is not None),
            _given_ids=None if index is None else frozen(index),
            _groups=check_groups(groups, len(codes)),
            _systems=code_systems(others, names),
            _show=check_show(show, len(codes)),
        )
        self._check_rows(
            ids,
            scores=scores,
            predictions=predictions,
            confidence=confidence,
            groups=groups,
            systems=systems,
            show=show,
        )

    def with_classes(self, classes: ArrayLike) -> Pool:
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
                f"The new classes lack {listing([self.classes[lost]])}, a class of the pool; keep all of its classes."
            )
        scores = self.scores
        if self.margins is not None and len(names) > len(self.classes):
            raise PoolError(
                f"Scores that are no probabilities rank the items of two classes; these are {len(names)}. Pass class "
                "probabilities, or leave the scores out."
            )
        if scores is not None and not np.array_equal(code, np.arange(len(names))):
            scores = frozen(spread_columns(scores, code, len(names)))
        return self._recoded(names, code, scores=scores, classes_declared=True)

    def as_pool(self) -> Pool:
        """Return the pool itself, see `RankedList.as_pool`."""
        return self

    def with_groups(self, **groups: np.ndarray) -> Pool:
        """Return the same pool with more attributes of the items, arrays (M,) by name.

        Examples
        --------
        >>> import bayes_assess as ba, numpy as np
        >>> ba.Pool(predictions=["cat", "dog"]).with_groups(half=np.array([0, 1])).groups["half"].tolist()
        [0, 1]
        """
        return self._recoded(self.classes, np.arange(self.n_classes, dtype=np.int32), _groups=self._groups | groups)

    def _recoded(self, names: np.ndarray, code: np.ndarray, **fields: object) -> Pool:
        """Return the same pool with other classes, and the code there of each of its own that occurs."""
        pool = object.__new__(Pool if self.in_memory else type(self))
        pool._fill(**{name: value for name, value in self.__dict__.items() if name not in _DERIVED})
        pool._fill(
            predictions=frozen(code[self.predictions]),
            classes=frozen(names),
            _systems={name: frozen(code[codes]) for name, codes in self._systems.items()},
            **fields,
        )
        return pool


def checked_pool(given: object, takes: str = "assess takes a Pool first") -> Pool:
    """Return what is a pool, or raise QuestionError and say what the call takes.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> checked_pool(ba.Pool(predictions=["cat", "dog"])).n_items
    2
    """
    if not isinstance(given, Pool):
        raise QuestionError(f"{takes}; found {type(given).__name__}. Make one with ba.Pool(...).")
    return given


def check_several_classes(pool: Items) -> None:
    """Raise QuestionError if all labels can only be the same.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> check_several_classes(ba.Pool(predictions=["cat"] * 3, classes=["cat", "dog"]))
    """
    if pool.n_classes < 2:
        raise QuestionError(
            f"Labels can only be {show(pool.classes[0])} here, the one class of the pool, so that there is nothing "
            "to measure; declare all classes that labels can have, by classes=."
        )


def check_items(given: object, takes: str) -> None:
    """Refuse what is neither a pool nor a ranked list, and say what the call takes.

    Raises
    ------
    QuestionError

    Examples
    --------
    >>> check_items([0, 1], "resume takes the path of a journal and the Pool")
    Traceback (most recent call last):
    bayes_assess.errors.QuestionError: resume takes the path of a journal and the Pool; found list. ...
    """
    if not hasattr(given, "as_pool"):
        raise QuestionError(f"{takes}; found {type(given).__name__}. Make one with ba.Pool(...).")
