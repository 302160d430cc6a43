"""Oracles: whether an item has one label, or every label of it is a draw from p(y | x) ([NH] sec. 2)."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.arrays import first_true, is_one_of, show, values_of
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import ArrayLike, Float
from bayes_assess.designs import Adaptive, find_design
from bayes_assess.errors import LabelError, QuestionError
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Question

ORACLES = ("deterministic", "stochastic")
_ANSWERS = 32  # that a function gives of every item
_ROUNDING = 1e-6  # of probabilities that sum to 1


def check_oracle(oracle: str, question: Question) -> bool:
    """Tell whether an oracle is stochastic, or raise QuestionError if there is none such or a question cannot take it.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> check_oracle("stochastic", ba.Metric("f1")), check_oracle("deterministic", ba.GroupAccuracy())
    (True, False)
    """
    if not is_one_of(oracle, ORACLES):
        raise QuestionError(f"An oracle is 'deterministic' or 'stochastic'; found {show(oracle)}.")
    if oracle not in question.oracles:
        raise QuestionError(
            f"{question.name} takes one label of every item for its truth: oracle={oracle!r}, whose labels of an item "
            "may differ, is for Metric(...) and PRCurve(...) of items with one label each."
        )
    return oracle == "stochastic"


def default_of_draws(question: Question, pool: Pool) -> str:
    """Return the design that a stochastic oracle is asked by unless another is named."""
    name = question.default_design_on(pool)
    return name if "stochastic" in find_design(name, 1, question.designs).oracles else Adaptive.name


def label_probabilities(labels: ArrayLike, pool: Pool, seed: int) -> Float[np.ndarray, "M C"]:
    """Return p(y | x) of every item, from probabilities or from a function that draws labels.

    Parameters
    ----------
    labels : (M, C) probabilities, or a function
        A function takes a NumPy generator and (n,) row numbers, and returns n labels. It is asked for 32 labels of
        every item, whose shares are what is returned.
    pool : Pool
    seed : int

    Raises
    ------
    LabelError
        If the probabilities have another shape, are negative or do not sum to 1, or a label is not one of the classes.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "dog"])
    >>> label_probabilities(lambda rng, items: ["dog"] * len(items), pool, 0).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    shape = pool.n_items, pool.n_classes
    if callable(labels):
        rng, counts = generator(seed, "oracle"), np.zeros(shape)
        items = np.arange(pool.n_items)
        for _ in range(_ANSWERS):
            np.add.at(counts, (items, pool.label_space.complete_codes(labels(rng, items), pool.n_items)), 1)
        return counts / _ANSWERS
    probabilities = np.asarray(values_of(labels))
    if probabilities.shape != shape or probabilities.dtype.kind not in "iuf":
        raise LabelError(
            f"A stochastic oracle is a table of probabilities with a row per item and a column per class, {shape}, or "
            f"a function that draws labels; found values of shape {probabilities.shape}."
        )
    wrong = first_true(~((probabilities >= 0).all(1) & (np.abs(probabilities.sum(1) - 1) <= _ROUNDING)))
    if wrong is not None:
        raise LabelError(
            f"The probabilities of the labels of an item are not negative and sum to 1; those of row {wrong} are "
            f"{show(probabilities[wrong].tolist())}."
        )
    return probabilities / probabilities.sum(1, keepdims=True)


def expected_counts(cells: Cells, probabilities: Float[np.ndarray, "M C"]) -> Float[np.ndarray, "K C"]:
    """Add up the probabilities of the labels of every cell's items.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> expected_counts(ba.cells(ba.Pool(predictions=[0, 0, 1])), np.array([[0.5, 0.5], [1, 0], [0, 1]])).tolist()
    [[1.5, 0.5], [0.0, 1.0]]
    """
    cell = cells.source.cells_of(np.arange(cells.n_items))
    return np.stack([np.bincount(cell, column, cells.n_cells) for column in probabilities.T], axis=-1)
