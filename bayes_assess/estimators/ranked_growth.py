r"""Whether labels of a ranked list show that its precision grows, where it is taken to fall.

The list is cut at some of its ranks e_1 < e_2 < ..., between which items are labelled at random. Where rates fall, no
block of items (e_a, e_b] has a rate above that of all items before it. The estimates of both, stratified means, are
compared for all pairs,

.. math:: T = \max_{a < b} \frac{\hat P(e_a, e_b) - \hat P(0, e_a)}{\sqrt{\hat V(e_a, e_b) + \hat V(0, e_a)}}

and T with what chance makes of it where all rates are equal, which of falling ones let it be greatest. Bounds of
precisions contradict each other much later: they hold whatever the labels, each by itself.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.lazy import stats
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.ranked_labels import RankedLabels

_BLOCKS, _FEWEST = 24, 8  # blocks at most, and labels of each at least
_LISTS = 999  # with equal rates


def growth(
    labels: RankedLabels, edges: Int[np.ndarray, " k"], slack: int, monotone_from: int, alpha: float
) -> tuple[int, int] | None:
    """Find two ranks between which precision grows by more than chance explains.

    Parameters
    ----------
    labels : RankedLabels
    edges : (k,) integers
        Last ranks of the strata within which items are drawn at random.
    slack, monotone_from : int
        Growth over fewer ranks, or from a rank before, is none.
    alpha : float in (0, 1)
        Probability to find growth where all rates are equal.

    Returns
    -------
    (int, int) or None
        The rank from which precision grows, and that to which.

    Examples
    --------
    >>> ranks = np.arange(1, 1001, 2)
    >>> growing, falling = ranks % 7 < 2 + ranks // 250, ranks % 7 < 5 - ranks // 250
    >>> growth(RankedLabels(ranks, growing, 1000), np.array([1000]), 20, 1, 0.05) is None
    False
    >>> growth(RankedLabels(ranks, falling, 1000), np.array([1000]), 20, 1, 0.05) is None
    True
    """
    ends = _blocks(labels, np.asarray(edges, np.int64))
    n, positive = labels.counts(ends)
    if len(ends) < 2 or not n.all():
        return None
    sizes = np.diff(ends, prepend=0)
    first, last = np.triu_indices(len(ends), 1)
    fits = (ends[first] >= monotone_from) & (ends[last] - ends[first] >= slack)
    if not fits.any():
        return None
    pairs = first[fits], last[fits]
    excess = _excess(positive[None], n, sizes, ends, *pairs)[0]
    if excess.max() < stats.norm.isf(alpha):  # too little for one pair alone
        return None
    equal = generator(0, "ranked growth").binomial(n, positive.sum() / n.sum(), (_LISTS, len(n)))
    chance = _excess(equal, n, sizes, ends, *pairs).max(1)
    if (1 + (chance >= excess.max()).sum()) / (1 + _LISTS) > alpha:
        return None
    worst = excess.argmax()
    return int(ends[pairs[0][worst]]), int(ends[pairs[1][worst]])


def _blocks(labels: RankedLabels, edges: Int[np.ndarray, " k"]) -> Int[np.ndarray, " B"]:
    """Cut strata, by ranks alone, into blocks of about as many labels; strata without any join the next."""
    each = max(_FEWEST, -(-labels.n_labelled // _BLOCKS))
    ends: list[int] = []
    n, _ = labels.counts(edges)
    for stop, held, edge in zip(np.cumsum(n), n, edges, strict=True):
        parts = max(int(held) // each, 1)
        inside = stop - held + np.arange(1, parts) * int(held) // parts  # labels before a cut
        ends += [*labels.ranks[inside - 1].tolist(), int(edge)]
    cuts = np.array(ends)
    n, _ = labels.counts(cuts)
    return cuts[(n > 0) | (cuts == cuts[-1])]


def _excess(
    positive: Int[np.ndarray, "S B"],
    n: Int[np.ndarray, " B"],
    sizes: Int[np.ndarray, " B"],
    ends: Int[np.ndarray, " B"],
    first: Int[np.ndarray, " P"],
    last: Int[np.ndarray, " P"],
) -> Float[np.ndarray, "S P"]:
    """Compute, in standard errors, by how much a block's rate is above that of all items before it."""
    rate, likely = positive / n, (positive + 1) / (n + 2)  # of nearly all or nothing, some variance is left
    total = np.cumsum(sizes * rate, axis=1)
    variance = np.cumsum(sizes.astype(float) ** 2 * likely * (1 - likely) / n, axis=1)
    before, within = ends[first], ends[last] - ends[first]
    excess = (total[:, last] - total[:, first]) / within - total[:, first] / before
    squares = (variance[:, last] - variance[:, first]) / within**2 + variance[:, first] / before**2
    return excess / np.sqrt(squares)
