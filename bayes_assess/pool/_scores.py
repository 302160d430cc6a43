"""Checking class probabilities and reading predictions off them, in one pass over the rows."""

from __future__ import annotations

from numbers import Real

import numpy as np

from bayes_assess._tools.arrays import CHUNK, dataframe_of, first_nested, first_true, listing, show, values_of
from bayes_assess._tools.row_numbers import row_no, score_column
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import PoolError

ROW_SUM_TOLERANCE = 1e-3
MOST_OFF = ROW_SUM_TOLERANCE + 1e-6  # as sums are computed: 0.125 + 0.375 + 0.499 is a little more than 0.001 off
_ROUNDING = 1e-6  # by which computed probabilities miss 0 and 1
_MOST_RATING = 20  # whole numbers up to here may be ratings
UNSCORED = "score it, or drop the row; an item that the answer is to be about may have the mean score of the others"
_CLIP = "; if that is rounding, pass np.clip(scores, 0, 1)"


def read_scores(scores: ArrayLike, fewest: int = 2) -> tuple[np.ndarray, list[str] | None]:
    """Return scores as a floating array, and the column names where they came as a frame.

    Two-dimensional ones have `fewest` columns or more.
    """
    names = None
    try:
        frame = dataframe_of(scores)
        if frame is not None:
            names = list(frame.columns)
        array = values_of(scores)
    except PoolError:
        raise
    except (TypeError, ValueError) as error:
        raise PoolError(f"Scores must be numbers in rows of equal length: {error}.") from None
    if first_nested(array) is not None:
        raise _nested(array)
    if array.dtype.kind not in "biuf" and array.ndim:
        raise _no_number(array)
    if array.ndim not in (1, 2):
        raise PoolError(
            f"Scores have {array.ndim} dimensions (shape {array.shape}); pass (items, classes) probabilities, "
            "or (items,) probabilities of the positive class."
        )
    if array.ndim == 2 and array.shape[1] < fewest:
        raise PoolError(
            f"Scores have shape {array.shape}: one column is no distribution over classes; "
            "pass a one-dimensional array if it is the probability of the positive class."
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return array, names


def _nested(scores: np.ndarray) -> PoolError:
    """Return the error about a column of lists."""
    lengths = {len(row) for row in scores.ravel().tolist() if hasattr(row, "__len__") and not isinstance(row, str)}
    if len(lengths) == 1:
        return PoolError(
            "Scores must be numbers, but a column holds lists of them; make it a column per class, such as p_cat and "
            "p_dog (of pandas: pd.DataFrame(frame['probs'].tolist(), columns=['p_cat', 'p_dog'])), or pass an array of "
            "shape (items, classes)."
        )
    return PoolError("Scores must be numbers in rows of equal length, but the rows differ in length.")


def _no_number(scores: np.ndarray) -> PoolError:
    """Return the error that names the first score that is no number."""
    if not scores.size:
        return PoolError("The pool has no scores; pass one of every item at least.")
    values = scores.reshape(len(scores), -1).tolist()
    odd = ((row, score) for row, given in enumerate(values) for score in given if not isinstance(score, Real))
    row, value = next(odd, (0, values[0][0]))  # of numbers that no array holds, the first
    return PoolError(
        f"Scores must be numbers, but row {row_no(row)} has {show(value)}; convert them to floating-point numbers."
    )


def check_positive(scores: np.ndarray) -> np.ndarray:
    """Check (M,) probabilities of the positive class; return the codes: 1 where the score is at least 0.5."""
    check_unit(scores, "score", f"P(positive) must lie in [0, 1]{_likely_cause(scores)}")
    return (scores >= 0.5).astype(np.int32)


def told_apart(array: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Tell scores (M,) that may be probabilities from others, which rank the items: return one of both, or neither.

    Examples
    --------
    >>> told_apart(np.array([0.2, 0.8]))[1] is None, told_apart(np.array([-1.0, 2.0]))[1].tolist()
    (True, [-1.0, 2.0])
    """
    if array is None or array.ndim != 1 or not len(array):
        return array, None
    row = first_true(~np.isfinite(array))
    if row is not None:
        value = f"NaN; {UNSCORED}" if np.isnan(array[row]) else "infinite; pass finite numbers"
        raise PoolError(f"The score in row {row_no(row)} is {value}.")
    if array.min() >= -_ROUNDING and array.max() <= 1 + _ROUNDING:
        return array, None
    return None, array.astype(np.float64)


def check_margins(margins: np.ndarray, codes: np.ndarray, names: np.ndarray) -> None:
    """Raise `PoolError` unless scores rank the items of two classes, those of the second one above the others."""
    if len(names) != 2:
        raise PoolError(
            f"Scores that are no probabilities rank the items of two classes; this pool has {len(names)} "
            f"({listing(names)}). Name both classes, classes=[...], pass class probabilities, or leave the scores out."
        )
    second = codes == 1
    if second.any() and not second.all() and margins[second].mean() < margins[~second].mean():
        raise PoolError(
            f"Scores that rank are the greater, the surer an item is of the second class, {names[1]!s}; those of "
            f"its predictions are the smaller ones here. Pass -scores, or classes={names[::-1].tolist()}."
        )


def margins_of(margins: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how far every score (M,) lies on the side of its prediction, from between both sides.

    Examples
    --------
    >>> margins_of(np.array([-2.0, 0.0, 4.0]), np.array([0, 1, 1])).tolist()
    [1.0, 1.0, 5.0]
    """
    second = codes == 1
    ordered, n_below = np.sort(margins), int((~second).sum())
    cut = ordered[[max(n_below - 1, 0), min(n_below, len(ordered) - 1)]].mean()
    return np.where(second, margins - cut, cut - margins)


def _likely_cause(scores: np.ndarray) -> str:
    """Say what one column of numbers that are no probabilities may be instead, and how to turn them into these."""
    known = scores[np.isfinite(scores)]
    if not known.size or (known.min() >= 0 and known.max() <= 1):
        return ""
    if known.min() >= -_ROUNDING and known.max() <= 1 + _ROUNDING:
        return _CLIP
    if known.min() >= 0 and 1 < known.max() <= 100 and np.mean(known > 1) > 0.5:
        if known.max() <= _MOST_RATING and (known == np.floor(known)).all():
            return (
                "; if these are ratings, such as of a judge, pass them as predictions, with bounds=(1, 5) for example "
                "where labels may lie between; if they are per cent, divide them by 100"
            )
        return "; if these are per cent, divide them by 100, and if logits, pass 1 / (1 + exp(-score))"
    return (
        "; if these are logits, pass 1 / (1 + exp(-score)), and if they only rank the items, pass the predictions, "
        "too, or make a RankedList, which --question precision-curve --scores COLUMN does on the command line"
    )


def both_columns(positive: np.ndarray) -> np.ndarray:
    """Return probabilities (M, 2) of both classes from P(positive); float64, as 1 - p is not exact in float32."""
    positive = positive.astype(np.float64)
    return np.stack([1 - positive, positive], axis=1)


def predicted_scores(scores: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the scores of the predicted classes, float64 (M,); a row may exceed 1 by the tolerance of its sum."""
    values = np.empty(len(predictions))
    for start in range(0, len(predictions), CHUNK):
        part, codes = scores[start : start + CHUNK], predictions[start : start + CHUNK]
        if part.ndim == 1:
            part = both_columns(part)
        values[start : start + CHUNK] = part[np.arange(len(part)), codes]
    return np.minimum(values, 1.0, out=values)


def spread_columns(scores: np.ndarray, code: np.ndarray, n_classes: int) -> np.ndarray:
    """Return scores (M, C') of more classes: those of the present ones at their codes, 0 elsewhere."""
    both = scores if scores.ndim == 2 else both_columns(scores)
    wide = np.zeros((len(both), n_classes), dtype=both.dtype)
    wide[:, code] = both
    return wide


def is_single(values: np.ndarray) -> bool:
    """Whether float32 holds every value, whatever the type that they came in."""
    if values.dtype == np.float32:
        return True
    chunks = (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
    with np.errstate(over="ignore"):
        return all(np.array_equal(chunk.astype(np.float32), chunk) for chunk in chunks)


def reached(values: np.ndarray, edges: np.ndarray, *, single: bool) -> np.ndarray:
    """Count the edges in [0, 1], sorted, that each value reaches, up to the rounding of probabilities p and of 1 - p.

    That is at most 2^-25 in single precision, and 2^-54 in double: 0.7 as float32 is less than 0.7, and 1 - 0.8 than
    0.2.
    """
    if single:
        return np.searchsorted(edges - 2.0**-25, values, side="right")
    steps = 2.0**53
    return np.searchsorted(np.rint(edges * steps), np.rint(values * steps), side="right")


def check_unit(values: np.ndarray, what: str, rule: str) -> None:
    """Raise `PoolError` at the first value that is NaN, infinite, or outside [0, 1]."""
    with np.errstate(invalid="ignore"):
        if values.min() >= 0 and values.max() <= 1:  # NaN fails both
            return
    row = first_true(~((values >= 0) & (values <= 1)))
    value = float(values[row or 0])
    if np.isnan(value):
        raise PoolError(f"The {what} in row {row_no(row or 0)} is NaN; {UNSCORED}.")
    if np.isinf(value):
        raise PoolError(f"The {what} in row {row_no(row or 0)} is infinite; pass probabilities, not logits.")
    raise PoolError(f"The {what} in row {row_no(row or 0)} is {shown_outside(value)}; {rule}.")


def shown_outside(value: float) -> str:
    """Write a number that is no probability, with all digits where few would show one.

    Examples
    --------
    >>> shown_outside(63.69616873), shown_outside(1.0000001)
    ('63.6962', '1.0000001')
    """
    short = f"{value:g}"
    return repr(value) if 0 <= float(short) <= 1 else short


def check_rows(scores: np.ndarray) -> np.ndarray:
    """Check (M, C) probabilities row by row; return the code of each row's largest entry (the first, on ties)."""
    codes = np.empty(len(scores), dtype=np.int32)
    ones = np.ones(scores.shape[1], dtype=scores.dtype)
    for start in range(0, len(scores), CHUNK):
        part = scores[start : start + CHUNK]
        with np.errstate(all="ignore"):
            error = np.abs(part @ ones - 1)  # NaN and infinities come through the sum
            sound = error.max() <= MOST_OFF and part.min() >= 0
        if not sound:
            _blame(part, start)
        codes[start : start + CHUNK] = _argmax(part)
    return codes


def _argmax(part: np.ndarray) -> np.ndarray:
    if part.shape[1] == 2:
        return part[:, 1] > part[:, 0]
    return part.argmax(axis=1)


def _blame(part: np.ndarray, start: int) -> None:
    """Raise `PoolError` for the first unsound row of a chunk that begins at row ``start``."""
    with np.errstate(all="ignore"):
        total = part.sum(axis=1, dtype=np.float64)
        sound = (part >= 0).all(axis=1) & (np.abs(total - 1) <= MOST_OFF)
    at = first_true(~sound)
    if at is None:
        return  # the fast sum erred by rounding; the exact one is within tolerance
    row, values = start + at, part[at]
    for test, problem in (
        (np.isnan(values), f"is NaN; {UNSCORED}"),
        (np.isinf(values), "is infinite; pass probabilities, not logits"),
        ((values >= -_ROUNDING) & (values < 0), "is {value:g}, a negative probability" + _CLIP),
        (values < 0, "is {value:g}, a negative probability; pass probabilities, not logits (softmax them first)"),
        (values > 1 + MOST_OFF, "is {value:g}, more than 1; pass probabilities: divide each row by its sum"),
    ):
        column = first_true(test)
        if column is not None:
            place = f"row {row_no(row)}, column {score_column(column)}"
            raise PoolError(f"The score in {place} {problem.format(value=float(values[column]))}.")
    raise PoolError(
        f"The scores of row {row_no(row)} sum to {total[at]:.6g}, not 1 (tolerance {ROW_SUM_TOLERANCE:g}); "
        "normalise: scores / scores.sum(axis=1, keepdims=True). Where an item may have several labels, or none, say "
        "so, by --multilabel or multilabel=True."
    )
