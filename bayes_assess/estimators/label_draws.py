"""Measures of a finite pool from draws of the probabilities of labels, such as those of another model."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.estimators.posterior_measure import added_by_attribute, values_by_attribute
from bayes_assess.measures.cell_measure import CellMeasure

_NUMBERS = 4_000_000  # of labels of all cells, at once


def measure_draws_of_labels(
    rng: np.random.Generator,
    measure: CellMeasure,
    labels: Float[np.ndarray, "S K O"],
    weights: Float[np.ndarray, " S"],
    counts: Int[np.ndarray, "K O"],
    n: int,
    labelled: LabelledItems | None = None,
) -> Float[np.ndarray, "n k"]:
    """Draw the pool's measures from draws of the probabilities of labels.

    Parameters
    ----------
    rng : Generator
    measure : CellMeasure
    labels : (S, K, O)
        Probabilities of the outcomes of unlabelled items, posterior draws that know the labels.
    weights : (S,)
        Of the draws.
    counts : (K, O) integers
        Labelled items. Where labels are draws from p(y | x), no item is known by them.
    n : int
        Draws to return; every one takes a draw of `labels`, and labels of all other items.
    labelled : LabelledItems, optional
        Of measures that tell the items of a cell apart, such as those of a ranking.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures.cell_measure import measure_on_cells
    >>> measure = measure_on_cells("accuracy", ba.cells(ba.Pool(predictions=[0, 0, 1, 1])))
    >>> sure = np.array([[[1.0, 0.0], [1.0, 0.0]]])  # no item is positive
    >>> known = np.array([[1, 0], [0, 1]])
    >>> measure_draws_of_labels(np.random.default_rng(0), measure, sure, np.ones(1), known, 2).tolist()
    [[0.75], [0.75]]
    """
    size = np.asarray(measure.size)
    rest, known = (size, 0) if measure.stochastic else (size - counts.sum(-1), counts)
    chosen = rng.choice(len(labels), n, p=np.asarray(weights, np.float64) / np.sum(weights))
    step = max(1, _NUMBERS // labels[0].size)
    values = []
    for some in (chosen[at : at + step] for at in range(0, n, step)):
        share = np.asarray(labels[some], np.float64)
        share = share / share.sum(-1, keepdims=True)
        missing = rest[:, None] * share if measure.stochastic else rng.multinomial(rest, share)
        if labelled is not None:
            table: Any = measure.table
            event = 1 if table.is_averaged else table.losses.positive
            values.append(labelled.values(table, missing[..., event], rest))
            continue
        values.append(values_by_attribute(measure, added_by_attribute(measure, missing + known)))
    return np.concatenate(values)
