"""Labels that nobody asked for beside labels of like items that were: whether both can be random ones.

Within a block of like items n labels came, m of them of items that nobody asked for. If these were chosen by nothing
that tells of labels, the events among them exceed their share of all events by a difference of mean zero, whose
variance is that of Mantel and Haenszel (1959). Differences of blocks add up:

    z = sum_b m_b (n_b - m_b) / n_b (r_b - s_b) / sqrt(sum_b m_b (n_b - m_b) / (n_b - 1) v_b)

with the means r_b and s_b over both kinds of labels of the event, less its expected probability, and its variance v_b.
Scores say so before labels do: of random items of a block those of either kind are as high, and as far from the middle.
So do columns of the pool: of random items as many are of every site or month.

Whether a belief that has learned the labels that were asked for explains the others is another question, which needs no
like items. Labels that were chosen by what they say, such as positive ones alone, have the event as often as whoever
chose them likes, whatever the items are: any share is as probable. Theirs is the probability to compare with.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, ndtr

from bayes_assess._tools.shapes import Bool, Float, Int

_OF_BLOCK = 20  # labels of neighbouring cells that make up a block
_FEWEST_OF_KIND = 5  # items among those that others chose, by expectation


def chance_of_difference(
    asked: Int[np.ndarray, "K 2"], others: Int[np.ndarray, "K 2"], expected: Float[np.ndarray, " K"] | None = None
) -> float:
    """Return how probable so great a difference of events is, given like items, if both kinds of labels are random.

    Parameters
    ----------
    asked, others : (K, 2) integers
        Labels of every cell without and with the event, of items that were asked for, and of others.
    expected : (K,), optional
        Probability of the event in every cell; cells of like probability make up a block. By default every cell is a
        block of its own.

    Examples
    --------
    >>> asked, others = np.array([[5, 45], [3, 7]]), np.array([[30, 20], [2, 8]])
    >>> f"{chance_of_difference(asked, others):.6f}"
    '0.000004'
    >>> chance_of_difference(asked, asked)
    1.0
    """
    labelled = np.flatnonzero(asked.sum(1) + others.sum(1))
    mean = np.zeros(len(asked)) if expected is None else np.asarray(expected, np.float64)
    if expected is not None:
        labelled = labelled[np.argsort(mean[labelled], kind="stable")]
    asked, others, mean = asked[labelled], others[labelled], mean[labelled]
    n_asked, n_others = asked.sum(1), others.sum(1)
    before = np.cumsum(n_asked + n_others) - (n_asked + n_others)
    block = np.arange(len(labelled)) if expected is None else before // _OF_BLOCK

    def of_block(values):
        return np.bincount(block, weights=values)

    m, k = of_block(n_others), of_block(n_asked)
    both = (m > 0) & (k > 0)
    if not both.any():
        return 1.0
    m, k, n = m[both], k[both], (m + k)[both]
    of_others = of_block(others[:, 1] - n_others * mean)[both]
    of_asked = of_block(asked[:, 1] - n_asked * mean)[both]
    share = (of_block(asked[:, 1] + others[:, 1])[both]) / n
    within = of_block((n_asked + n_others) * mean * (1 - mean))[both] / n
    variance = m * k / (n - 1) * np.maximum(share * (1 - share), within)
    if not variance.sum():
        return 1.0
    z = (k * of_others - m * of_asked) / n
    return float(2 * ndtr(-abs(z.sum()) / np.sqrt(variance.sum())))


def chance_of_unlike_scores(
    cell: Int[np.ndarray, " n"], score: Float[np.ndarray, " n"], other: Bool[np.ndarray, " n"]
) -> float:
    """Return how probable scores so unlike are, within cells, if both kinds of labels are of random items of these.

    Scores are unlike by where they lie, or by how far from the middle: twice the less probable of two sums of ranks
    over cells (van Elteren 1960), of the scores and of their distances from the middle rank.

    Parameters
    ----------
    cell : (n,) integers
        Cell of every labelled item.
    score : (n,)
    other : (n,) booleans
        Whether nobody asked for its label.

    Examples
    --------
    >>> score = np.linspace(0, 1, 40)
    >>> f"{chance_of_unlike_scores(np.zeros(40, int), score, score > 0.5):.6f}"
    '0.000000'
    >>> chance_of_unlike_scores(np.zeros(40, int), score, np.arange(40) % 2 > 0) > 0.5
    True
    """
    sums, variances = np.zeros(2), np.zeros(2)
    for block in np.unique(cell[other]):
        mine = cell == block
        ranks, told = _middle_ranks(score[mine]), other[mine]
        n, m = len(ranks), int(told.sum())
        if m == n:
            continue
        away = ranks - (n + 1) / 2
        for i, values in enumerate((away, np.abs(away) - np.abs(away).mean())):
            sums[i] += values[told].sum() / (n + 1)
            variances[i] += m * (n - m) / (n * (n - 1)) * (values**2).sum() / (n + 1) ** 2
    known = variances > 0
    if not known.any():
        return 1.0
    return float(min(1.0, 2 * np.min(2 * ndtr(-np.abs(sums[known]) / np.sqrt(variances[known])))))


def chance_of_unlike_kinds(
    cell: Int[np.ndarray, " n"], kind: Int[np.ndarray, " n"], other: Bool[np.ndarray, " n"]
) -> float:
    """Return how probable kinds so unlike are, within cells, if all items are random ones of these.

    The difference of the kind that differs most is held against chance as that of an event is, by half an item less,
    times the number of kinds. Kinds of which fewer than five are expected, or are expected to be missing, among others'
    items are left out.

    Parameters
    ----------
    cell : (n,) integers
        Cell of every item.
    kind : (n,) integers from 0
        Such as its site.
    other : (n,) booleans
        Whether nobody asked for its label.

    Examples
    --------
    >>> cell, month = np.zeros(60, int), np.arange(60) % 2
    >>> f"{chance_of_unlike_kinds(cell, month, (month == 0) & (np.arange(60) > 20)):.6f}"
    '0.000001'
    >>> chance_of_unlike_kinds(cell, month, np.arange(60) > 40)
    1.0
    """
    _, cell = np.unique(cell, return_inverse=True)
    n_told = np.bincount(cell, weights=other)
    n = np.bincount(cell).astype(np.float64)
    factor = n_told * (n - n_told) / np.maximum(n * n * (n - 1), 1)
    found: list[float] = []
    for one in np.flatnonzero(np.bincount(kind) >= _FEWEST_OF_KIND):
        of_kind = np.bincount(cell, weights=kind == one)
        told = np.bincount(cell, weights=(kind == one) & other)
        expected, variance = (n_told * of_kind / n).sum(), (factor * of_kind * (n - of_kind)).sum()
        if min(expected, n_told.sum() - expected) >= _FEWEST_OF_KIND and variance > 0:
            excess = max(abs(told.sum() - expected) - 0.5, 0.0)
            found.append(float(2 * ndtr(-excess / np.sqrt(variance))))
    return min(1.0, min(found) * len(found)) if found else 1.0


def _middle_ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Rank values from 1; those that tie have the middle of their ranks."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[place]


def log_chance_if_chosen(events: Int[np.ndarray, "*batch 2"]) -> float:
    """Return the log probability of labels, one after the other, that were chosen by whether they show an event.

    Parameters
    ----------
    events : (..., 2) integers
        Labels without and with it, in each of some kinds of items whose shares have nothing to do with each other.

    Examples
    --------
    >>> np.exp(log_chance_if_chosen(np.array([0, 9]))).round(3)  # all shares are as probable
    np.float64(0.1)
    """
    return float(betaln(events[..., 0] + 1, events[..., 1] + 1).sum())
