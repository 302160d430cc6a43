"""Exact values where every label is known, and losses of single items."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import missing_mask, show, values_of, whole
from bayes_assess._tools.axes import in_64_bits, x64
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import Array, ArrayLike, Float
from bayes_assess.errors import QuestionError
from bayes_assess.measures._measure import Measure, sizes
from bayes_assess.measures._pool_losses import Measures, combine, exact_table_for
from bayes_assess.pool.pool import Pool


def value_of(
    measure: Measures,
    labels: ArrayLike,
    predictions: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    positive: Hashable | None = None,
) -> float | Float[np.ndarray, " K"]:
    """Compute a measure exactly from all labels; equal to scikit-learn where it has the name.

    Parameters
    ----------
    measure : str, Measure, PRCurve, or a list
    labels, predictions : array (M,)
        Class names, or real numbers for measures of regression. Predictions follow from scores if left out.
    scores : array (M,) or (M, C), optional
        P(positive), of the second of two classes, or the probabilities of all classes.
    classes : sequence (C,), optional
        All classes, in the order of the scores' columns; by default those that occur, sorted (0 and 1 where only
        these do, and 0..C-1 where scores have another number of columns).
    positive : class name, optional
        The positive class of two-class measures; by default the second of two classes.

    Returns
    -------
    float or ndarray (K,)
        A number for one measure with one value, else an array. An undefined ratio counts as 0.

    Raises
    ------
    QuestionError
        If the measure does not fit the data; for r2 and explained_share also where all labels are equal.
    PoolError, LabelError
        If scores, predictions or labels are not usable.

    Examples
    --------
    >>> from bayes_assess.measures import value_of
    >>> value_of("f1", labels=[0, 1, 1, 1], predictions=[0, 1, 1, 0])
    0.8
    >>> value_of("precision_per_class", ["a", "b", "b"], ["a", "a", "b"])
    array([0.5, 1. ])
    >>> value_of("r2", labels=[1.0, 2.0, 3.0], predictions=[1.0, 2.0, 2.0])
    0.5
    """
    specs: tuple[Any, ...] = combine(measure)
    real = [spec for spec in specs if spec.real]
    if real:
        values = np.concatenate([_real_value(spec, labels, predictions) for spec in real])
    else:
        names = _classes(labels, predictions, scores) if classes is None else classes
        pool = Pool(scores=scores, predictions=predictions, classes=names)
        values = pool_value(specs, pool, labels, positive=positive)
    is_single = len(values) == 1 and not (specs[0].is_curve or isinstance(measure, list | tuple))
    return float(values[0]) if is_single else values


def pool_value(
    measures: Measures,
    pool: Pool,
    labels: ArrayLike,
    *,
    positive: Hashable | None = None,
    systems: Sequence[str] = (),
    by: str | None = None,
    average: str | None = None,
) -> Float[np.ndarray, " K"]:
    """Compute measures exactly on a pool from the labels of all of its items; see `table_for` and `value_of`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import pool_value
    >>> pool = ba.Pool(predictions=[0, 1, 1], groups={"site": ["x", "x", "y"]})
    >>> pool_value("accuracy", pool, [0, 0, 1], by="site")
    array([0.5, 1. ])
    """
    codes, table = exact_table_for(measures, pool, positive=positive, systems=systems, by=by, average=average)
    label = pool.label_codes(labels)
    if len(label) != pool.n_items:
        raise QuestionError(f"There are {len(label):,} labels for {pool.n_items:,} items; a value needs all of them.")
    counts = np.bincount(codes * pool.n_classes + label, minlength=table.n_attributes * pool.n_classes)
    share = counts.reshape(table.n_attributes, pool.n_classes) / pool.n_items
    with engine.eager(), in_64_bits():
        return np.asarray(table.value(table.mean(share)))


def item_losses(measure: Measures, labels: ArrayLike, predictions: ArrayLike) -> Float[np.ndarray, "M D"]:
    """Compute the losses l(y, f), (M, d), of every item, for a measure of real numbers.

    A weighted mean of the rows estimates R; `Measure.value_at` and `Measure.jacobian_at` take it from there. Where the
    labels' mean is large beside their spread, subtract it from labels and predictions first.

    Raises
    ------
    QuestionError
        If the measure is of classes, or labels and predictions are no finite numbers of equal length.

    Examples
    --------
    >>> from bayes_assess.measures import item_losses
    >>> item_losses("mean_squared_error", labels=[1.0, 2.0], predictions=[1.5, 2.0]).tolist()
    [[0.25], [0.0]]
    """
    specs: list[Any] = [spec for spec in combine(measure) if spec.real]
    if len(specs) != 1:
        raise QuestionError("Losses of single items are those of one measure of real numbers; classes have table_for.")
    return np.asarray(_map(specs[0], _numbers("labels", labels), _numbers("predictions", predictions)))


@x64
def _map(one: Measure, labels: np.ndarray, predictions: np.ndarray) -> Float[Array, "M D"]:
    if len(labels) != len(predictions):
        raise QuestionError(f"There are {len(labels):,} labels for {len(predictions):,} predictions.")
    sizes(one, 2)  # checks the shapes of what its functions return
    assert one.loss is not None
    return jax.vmap(one.loss)(jnp.asarray(labels), jnp.asarray(predictions)).astype(jnp.float64)


def _real_value(one: Measure, labels: ArrayLike, predictions: ArrayLike | None) -> Float[np.ndarray, " K"]:
    y, f = _numbers("labels", labels), _numbers("predictions", predictions)
    if one.shift_invariant:
        centre = y.mean()
        y, f = y - centre, f - centre
    risk = item_losses(one, y, f).mean(0)
    if one.name in ("r2", "explained_share") and np.ptp(y) == 0:
        raise QuestionError(f"Measure {one.name!r} compares with the variance of the labels, and all labels are equal.")
    return np.asarray(one.value_at(risk))


def _numbers(what: str, values: ArrayLike | None) -> Float[np.ndarray, " M"]:
    try:
        numbers = np.asarray(values_of(values), np.float64)
    except (TypeError, ValueError):
        raise QuestionError(f"The {what} of a measure of regression are numbers; found {show(values)}.") from None
    if numbers.ndim != 1 or not numbers.size:
        raise QuestionError(f"The {what} are a list of numbers, one per item; found shape {numbers.shape}.")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise QuestionError(f"The {what} are finite numbers; item {wrong[0]} has {numbers[wrong[0]]}.")
    return numbers


def _classes(labels: ArrayLike, predictions: ArrayLike | None, scores: ArrayLike | None) -> Any:
    """Classes that occur, sorted; None where the pool should number them by the columns of the scores."""
    arrays = [np.atleast_1d(values_of(some)).ravel() for some in (labels, predictions) if some is not None]
    given = [whole(values_of(some[~missing_mask(some)])) for some in arrays]  # what is missing is refused with its row
    if len({some.dtype.kind == "U" for some in given}) > 1:
        return None  # the pool says what does not fit
    names = np.unique(np.concatenate(given))
    if names.dtype.kind == "i" and set(names.tolist()) <= {0, 1}:
        names = np.arange(2)
    columns = None if scores is None else np.shape(values_of(scores))
    width = None if columns is None else columns[1] if len(columns) == 2 else 2
    return names if width in (None, len(names)) else None
