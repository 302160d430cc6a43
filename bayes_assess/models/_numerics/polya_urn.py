"""Labels of items from Dirichlet distributions that are never drawn: of few items an urn is sooner done than they are.

Given the labels before it, the label of the k-th item of a row with parameters alpha, of sum A, is a new draw from
alpha / A with probability A / (A + k), and that of one of the k items before it, each alike, otherwise (Blackwell and
MacQueen 1973). Items cost some tens of nanoseconds each, and labels, of which there may be a thousand for every item,
what adding them up costs.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Float, Int

_CELLS_OF_AN_ITEM = 1.5  # whose Gamma and binomial variables take as long


def are_few(items: Int[np.ndarray, "*batch"], n_labels: int) -> bool:
    """Say whether the urn takes less time than drawing distributions of `n_labels`, and labels from these.

    Examples
    --------
    >>> are_few(np.array([3, 5]), 100), are_few(np.array([300, 500]), 100)
    (True, False)
    """
    return bool(_CELLS_OF_AN_ITEM * items.sum() < items.size * n_labels)


def urn_counts(
    rng: np.random.Generator, alpha: Float[np.ndarray, "*batch C"], items: Int[np.ndarray, "*batch"]
) -> Int[np.ndarray, "*batch C"]:
    """Draw how many items of every row have which label, Dirichlet-multinomial.

    Parameters
    ----------
    rng : Generator
    alpha : (..., C)
        Parameters, 0 where a label is impossible.
    items : (...)
        Items of every row.

    Examples
    --------
    >>> alpha = np.array([[0.5, 0.0, 0.5], [0.0, 2.0, 0.0]])
    >>> counts = urn_counts(np.random.default_rng(0), alpha, np.array([9, 3]))
    >>> counts.sum(-1).tolist(), counts[:, 1].tolist()
    ([9, 3], [0, 3])
    """
    n_labels = alpha.shape[-1]
    upto = np.cumsum(alpha.reshape(-1, n_labels), axis=1, dtype=np.float64)
    strength = np.maximum(upto[:, -1], np.finfo(np.float64).tiny)
    # All rows one after the other, each of length 1, in which its labels have their shares.
    upto = upto / strength[:, None] + np.arange(len(upto))[:, None]
    each = items.ravel()
    start = np.cumsum(each) - each
    row = np.repeat(np.arange(len(each)), each)
    before = np.arange(len(row)) - start[row]  # items of the row that came before
    total = strength[row]
    place = rng.random(len(row)) * (total + before)
    is_new = place < total
    label = np.zeros(len(row), np.int64)
    found = np.searchsorted(upto.ravel(), row[is_new] + (place / total)[is_new], side="right")
    label[is_new] = _possible(alpha, np.minimum(found, (row[is_new] + 1) * n_labels - 1))
    source = np.arange(len(row))
    like = np.flatnonzero(~is_new)
    source[like] = start[row[like]] + np.minimum((place - total)[like].astype(np.int64), before[like] - 1)
    while len(like):  # each step doubles how far back they look
        source[like] = source[source[like]]
        like = like[~is_new[source[like]]]
    return np.bincount(label[source], minlength=alpha.size).reshape(alpha.shape)


def _possible(alpha: Float[np.ndarray, "*batch C"], found: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Move what rounding has put behind the last possible label of its row to that, as places among all cells."""
    beyond = np.flatnonzero(alpha.ravel()[found] == 0)
    if len(beyond):
        row = found[beyond] // alpha.shape[-1]
        after = (alpha.reshape(-1, alpha.shape[-1])[row, ::-1] > 0).argmax(1)
        found[beyond] = (row + 1) * alpha.shape[-1] - 1 - after
    return found
