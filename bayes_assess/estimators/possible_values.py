"""What labels leave possible: the least and the greatest value that measures could have with all labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.estimators.certain_bounds import certain_bounds
from bayes_assess.estimators.ratio_losses import Ratios, between, nonzero_losses, ratio_losses, ratios_apart
from bayes_assess.measures import LossTable, PRCurveTable
from bayes_assess.measures.cell_measure import CellMeasure

_MOST_NUMBERS = 500_000  # losses of all ratios in all campaigns that are looked at together
_MOST_ITEMS = 50_000_000  # items by attribute and label, of all that is tried to tell whether a measure is constant
_TRIED = 3  # labels at random
_ROUNDING = 1e-9


class LabelledByAttribute(NamedTuple):
    """Items by what their losses depend on, arrays with leading axes of campaigns.

    Attributes
    ----------
    counts : (..., A, C)
        LabelledByAttribute items of every attribute by label.
    unlabelled : (..., A)
        Items without a label, those that are handed out included.
    """

    counts: Float[Array, "*batch A C"]
    unlabelled: Float[Array, "*batch A"]

    @classmethod
    def of(cls, measure: CellMeasure, counts: Int[Array, "K C"]) -> LabelledByAttribute:
        """Add up the labelled and the other items of all cells.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> from bayes_assess.measures.cell_measure import measure_on_cells
        >>> measure = measure_on_cells("f1", ba.cells(ba.Pool(predictions=[0, 0, 1])))
        >>> with engine.eager():
        ...     LabelledByAttribute.of(measure, np.array([[1, 0], [0, 0]])).unlabelled.tolist()
        [1.0, 1.0]
        """
        labelled = measure.by_attribute(counts * 1.0)
        return cls(labelled, measure.by_attribute(measure.size[:, None] * 1.0)[:, 0] - labelled.sum(-1))


@x64
def possible_values(
    table: LossTable | PRCurveTable, labelled: LabelledByAttribute, asked: Bool[np.ndarray, " k"] | None = None
) -> Float[np.ndarray, "*batch k 2"]:
    """Compute the least and the greatest value of every measure that the labels of the other items could make.

    Parameters
    ----------
    table : LossTable or PRCurveTable
        k measures.
    labelled : LabelledByAttribute
        On the host.
    asked : (k,) booleans, optional
        Measures that are asked for; of others that are ratios the whole range is returned.

    Returns
    -------
    (..., k, 2), by `certain_bounds` where a measure is a ratio of sums over items, such as accuracy, recall and F1, or
    a difference of two. Elsewhere, as of macro F1 by group, the value where all items are labelled that enter it, or
    labels make no difference, such as to a correlation with predictions that are all the same; else the range of the
    measure.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> _, table = table_for(["recall", "matthews_corrcoef"], ba.Pool(predictions=[0, 0, 1, 1]))
    >>> counts, unlabelled = np.array([[0, 1], [0, 1]]), np.array([1, 1])  # one positive found, one missed, of 4
    >>> possible_values(table, LabelledByAttribute(counts, unlabelled)).round(3).tolist()
    [[0.333, 0.667], [-1.0, 1.0]]
    """
    counts, unlabelled = (np.asarray(x, np.float64) for x in labelled)
    batch = counts.shape[:-2]
    ends = np.empty((*batch, len(table.ranges), 2))
    ends[:] = np.array(table.ranges, np.float64)
    if table.is_ranking:
        return _of_one_item(table, ends) if counts.sum() + unlabelled.sum() == np.prod(batch) else ends
    if table.is_curve:
        curve: Any = table
        return _of_curve(counts[..., curve.positive], counts.sum(-1), unlabelled)
    if table.is_averaged:
        return _of_averaged(table, counts, unlabelled, ends)
    rows, left = counts.reshape(-1, *counts.shape[-2:]), unlabelled.reshape(-1, unlabelled.shape[-1])
    plain: Any = table
    every = ratios_apart(plain, asked)
    if plain.losses.is_dense and asked is None:
        every = [(ratio_losses(plain, None), np.arange(plain.n_attributes))]
    bounded = np.zeros(len(plain.ranges), bool)
    for ratios, attributes in every:
        bounds = _of_ratios(ratios, rows[:, attributes], left[:, attributes])
        for output in np.unique(ratios.outputs):
            ends[..., output, :] = bounds[ratios.outputs == output].sum(0).reshape(*batch, 2)
            bounded[output] = True
    # Where all is labelled values are exact, and where every attribute is open nothing is settled.
    some = np.flatnonzero((left == 0).any(1) & (left > 0).any(1))
    if len(some) and not bounded.all():
        flat = ends.reshape(-1, *ends.shape[-2:])
        settled = settled_outputs(plain, left[some] > 0) & ~bounded
        if settled.any():
            with engine.eager():
                shares = rows[some] / (rows[some].sum((1, 2)) + left[some].sum(1))[:, None, None]
                values = np.asarray(plain.value(plain.mean(shares)))
            flat[some] = np.where(settled[..., None], values[..., None], flat[some])
    if not bounded.all():
        constant, values = constant_outputs(plain, rows, left)
        ends = np.where((constant & ~bounded).reshape(*batch, -1, 1), values[:, None], ends)
    return np.clip(ends, *np.array(table.ranges, np.float64).T[..., None])


def _of_one_item(table: Any, ends: Float[np.ndarray, "*batch k 2"]) -> Float[np.ndarray, "*batch k 2"]:
    """Set the values of orders of a single item that it has whatever its label is."""
    with engine.eager():
        values = np.asarray(table.value(table.mean(np.eye(table.losses.n_classes)[:, None])))
    low, high = values.min(0), values.max(0)
    return np.where((high - low <= _ROUNDING)[:, None], np.stack([low, high], axis=-1), ends)


def _of_averaged(
    table: LossTable | PRCurveTable,
    counts: Float[np.ndarray, "*batch A C"],
    unlabelled: Float[np.ndarray, "*batch A"],
    ends: Float[np.ndarray, "*batch k 2"],
) -> Float[np.ndarray, "*batch k 2"]:
    """Bound means by the least and the greatest losses of items."""
    ratios, batch = ratio_losses(table), counts.shape[:-2]
    given = counts.reshape(-1, *counts.shape[-2:]), unlabelled.reshape(-1, unlabelled.shape[-1])
    found = _of_ratios(ratios._replace(sign=np.ones_like(ratios.sign)), *given)
    outputs, bounds = between(np.moveaxis(found, 0, -2), ratios)
    for output in np.unique(outputs):
        ends[..., output, :] = bounds[:, outputs == output].sum(1).reshape(*batch, 2)
    return np.clip(ends, *np.array(table.ranges, np.float64).T[..., None])


def settled_outputs(table: LossTable, open_: Bool[np.ndarray, "N A"]) -> Bool[np.ndarray, "N k"]:
    """Tell which outputs depend on no item of the attributes that are open, in every one of N campaigns.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> pool = ba.Pool(predictions=[0, 1, 0, 1], groups={"site": ["a", "a", "b", "b"]})
    >>> _, table = table_for("f1", pool, by="site")
    >>> settled_outputs(table, np.array([[False, True, False, False]])).tolist()
    [[True, False]]
    """
    attribute, place = nonzero_losses(table)
    attribute, place = np.divmod(np.unique(attribute * table.n_losses + place), table.n_losses)
    n_outputs = [part.n_outputs for part in table.parts]
    settled = []
    for row in open_:
        losses = np.zeros(table.n_losses, bool)
        losses[place[row[attribute]]] = True
        of_parts = [losses[part.places].reshape(-1, part.averaged * part.size).any(1) for part in table.parts]
        settled.append(~np.concatenate([np.repeat(is_open, n) for is_open, n in zip(of_parts, n_outputs, strict=True)]))
    return np.array(settled)


def constant_outputs(
    table: LossTable, rows: Float[np.ndarray, "N A C"], left: Float[np.ndarray, "N A"]
) -> tuple[Bool[np.ndarray, "N k"], Float[np.ndarray, " k"]]:
    """Tell which outputs are the same whatever the other labels are, in every one of N campaigns, and their values.

    A closed form that has one value at labels at random has it wherever the same classes have labels; so those are
    tried, too, by which a class is missing, or all but one.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> pool = ba.Pool(predictions=[1, 1, 1], classes=[0, 1])
    >>> _, table = table_for(["matthews_corrcoef", "balanced_accuracy"], pool)
    >>> rows, left = np.array([[[0, 0], [0, 0]], [[0, 0], [1, 1]]]), np.array([[0, 3], [0, 1]])
    >>> constant_outputs(table, rows, left)[0].tolist()  # accuracy is 1/2 once both classes have a label, else 0 or 1
    [[True, False], [True, True]]
    """
    n_campaigns, n_attributes, n_classes = rows.shape
    total = rows[0].sum(-1) + left[0]

    def values_at(items: Float[np.ndarray, "N A C"]) -> Float[np.ndarray, "N k"]:
        with engine.eager():
            return np.asarray(table.value(table.mean(items / max(total.sum(), 1))))

    outputs = [part.n_outputs * len(part.starts) // part.averaged for part in table.parts]
    closed = np.repeat([part.derivative is not None and part.elementwise for part in table.parts], outputs)
    constant = np.zeros((n_campaigns, len(closed)), bool)
    if not closed.any() or 2 * n_classes * rows.size > _MOST_ITEMS:
        return constant, np.zeros(len(closed))
    labels = np.random.default_rng(0).dirichlet(np.ones(n_classes), (_TRIED, n_attributes))
    tried = values_at(labels * total[:, None])
    constant[:] = closed & (np.ptp(tried, axis=0) <= _ROUNDING)
    single, others = np.eye(n_classes), (1 - np.eye(n_classes)) / max(n_classes - 1, 1)
    for share in (*single, *others) if constant.any() else ():
        constant &= np.abs(values_at(rows + left[..., None] * share) - tried[0]) <= _ROUNDING
    return constant, tried[0]


def _of_ratios(
    ratios: Ratios, rows: Float[np.ndarray, "N A C"], left: Float[np.ndarray, "N A"]
) -> Float[np.ndarray, "J N 2"]:
    """Bound ratios, with their signs, in every one of N campaigns."""
    if not len(ratios.outputs):
        return np.empty((0, len(rows), 2))
    step = max(_MOST_NUMBERS // ratios.f.size, 1)
    f, g, low, high = (x[:, None] for x in (ratios.f, ratios.g, *ratios.ranges.T))
    with engine.eager():
        parts = [
            certain_bounds(f, g, rows[i : i + step], left[i : i + step], low, high) for i in range(0, len(rows), step)
        ]
    bounds = np.concatenate(parts, axis=1)
    return np.where(ratios.sign[:, None, None] < 0, -bounds[..., ::-1], bounds)


def _of_curve(
    positive: Float[np.ndarray, "*batch A"],
    labelled: Float[np.ndarray, "*batch A"],
    left: Float[np.ndarray, "*batch A"],
) -> Float[np.ndarray, "*batch k 2"]:
    """Bound precision and recall at every threshold; both rise with the positives above it."""

    def above(x: Float[np.ndarray, "*batch A"]) -> Float[np.ndarray, "*batch L"]:
        return np.cumsum(x[..., ::-1], -1)[..., ::-1][..., 1:]

    hits, others, announced = above(positive), above(left), above(labelled + left)
    missed, below = positive.sum(-1, keepdims=True) - hits, left.sum(-1, keepdims=True) - others
    precision = [_ratio(hits, announced), _ratio(hits + others, announced)]
    recall = [_ratio(hits, hits + missed + below), _ratio(hits + others, hits + others + missed)]
    return np.concatenate([np.stack(precision, -1), np.stack(recall, -1)], axis=-2)


def _ratio(top: Float[np.ndarray, "*batch L"], bottom: Float[np.ndarray, "*batch L"]) -> Float[np.ndarray, "*batch L"]:
    """Divide; 0 / 0 is 0."""
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), 0.0)
