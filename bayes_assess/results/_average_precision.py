"""The average precision of ranked lists of which the numbers of positives in parts are known, and some labels."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Bool, Float, Int


def average_precisions(
    rng: np.random.Generator,
    ends: Int[np.ndarray, " T"],
    positives: Float[np.ndarray, "S T"],
    first: Int[np.ndarray, " F"],
) -> Float[np.ndarray, " S"]:
    """Compute average precisions of draws whose positives are in random order between thresholds.

    Among the first items labels stay where they are, and further positives are placed at random. Beyond, where a place
    more or less makes little difference, the mean over all orders is taken: of g positives in random order at the ranks
    from s + 1 to s + m, after c of them,

        g ((c + 1) a + (g - 1) b),   a = mean of 1 / r over these ranks,   b = (1 - (s + 1) a) / (m - 1).

    Parameters
    ----------
    rng : NumPy generator
    ends : (T,) integers
        Ranks of the thresholds, increasing.
    positives : (S, T)
        Positives in each part, from one threshold to the next.
    first : (F,) integers
        Labels of the first items: 1, 0, or -1 where there is none. F is a threshold's rank, or 0.

    Returns
    -------
    (S,) means over all positives of the precision at their ranks, 0 where there are none.

    Examples
    --------
    >>> ends, positives = np.array([3, 100]), np.array([[2.0, 0.0]])
    >>> average_precisions(np.random.default_rng(0), ends, positives, np.array([1, 0, -1])).round(4).tolist()
    [0.8333]
    """
    starts = np.append(0, ends[:-1])
    sizes = ends - starts
    counts = np.clip(positives, 0, sizes)  # sums are rounded
    before = counts.cumsum(1) - counts
    placed = int(np.searchsorted(ends, len(first), side="right"))
    tail = slice(placed, None)
    mean_inverse = (special.digamma(ends[tail] + 1.0) - special.digamma(starts[tail] + 1.0)) / sizes[tail]
    growth = (1 - (starts[tail] + 1) * mean_inverse) / np.maximum(sizes[tail] - 1, 1)
    precision = (before[:, tail] + 1) * mean_inverse + (counts[:, tail] - 1) * growth
    summed = (counts[:, tail] * precision).sum(1)
    parts = np.split(first, ends[: max(placed - 1, 0)]) if placed else []
    hits = [_in_random_order(rng, number, part) for number, part in zip(counts.T, parts, strict=False)]
    if hits:
        hit = np.concatenate(hits, axis=1)
        summed += (hit * hit.cumsum(1) / np.arange(1, hit.shape[1] + 1)).sum(1)
    total = counts.sum(1)
    return np.divide(summed, total, out=np.zeros(len(total)), where=total > 0)


def _in_random_order(
    rng: np.random.Generator, number: Float[np.ndarray, " S"], labels: Int[np.ndarray, " m"]
) -> Bool[np.ndarray, "S m"]:
    """Draw which of some items are positive, a whole number of them in every draw; labels stay as they are."""
    hit = np.tile(labels == 1, (len(number), 1))
    open_ = np.flatnonzero(labels < 0)
    last = np.minimum(np.rint(number).astype(np.int64) - np.count_nonzero(labels == 1), len(open_)) - 1
    if len(open_):
        key = rng.random((len(number), len(open_)))
        enough = np.take_along_axis(np.sort(key, axis=1), np.maximum(last, 0)[:, None], axis=1)
        hit[:, open_] = (key <= enough) & (last >= 0)[:, None]
    return hit
