"""How strata are cut, on plain arrays: M items with V distinct scores, or with F features.

"csf" and "weight" strata share out weights: an item weighs 1 if strata shall hold equal numbers, or its part of
sqrt(f) if f items are in its fine bin [DH59]. A score that outweighs a stratum is cut down to the weight of one and
has one to itself; the strata that it would have filled go to the others. "width" and "geometric" [GH04] lay a grid
instead, and leave out the strata that hold no score.

[DH59] T. Dalenius and J. L. Hodges, "Minimum variance stratification", JASA 54, 1959.
[GH04] P. Gunning and J. M. Horgan, "A new algorithm for the construction of stratum boundaries in skewed
populations", Survey Methodology 30, 2004.
"""

from __future__ import annotations

import heapq
import operator
import warnings
from itertools import pairwise
from typing import SupportsIndex

import numpy as np

from bayes_assess._tools.arrays import CHUNK, first_true, frozen, show
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.errors import PartitionError

_FINE_PER_STRATUM = 4
_BATCH = 4096  # items per step of k-means
_OPTIMAL_ORDER = 1024  # clusters; the best order of more takes too long
_NUDGE = 1e-9  # of a stratum; what lies on an edge but for rounding always goes to the same side


def distinct_scores(
    scores: Float[np.ndarray, " M"], times: Int[np.ndarray, " M"] | None = None
) -> tuple[Float[np.ndarray, " V"], Int[np.ndarray, " V"]]:
    """Sorted distinct scores, and how many items have each; `times` are the items that every row stands for."""
    if times is not None:
        order = np.argsort(scores)
        scores, times = scores[order], times[order]
        first = first_of_each(scores)
        return scores[first], np.add.reduceat(times, first)
    ordered = np.sort(scores)
    first = first_of_each(ordered)
    return ordered[first], np.diff(first, append=len(ordered))


def first_of_each(ordered: np.ndarray) -> Int[np.ndarray, " G"]:
    """Where each distinct value of a sorted array begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def csf_weights(
    distinct: Float[np.ndarray, " V"], counts: Int[np.ndarray, " V"], n_strata: int, n_fine: int | None
) -> Float[np.ndarray, " V"]:
    """Share of each score in the square root of its fine bin's count; see `Strata` for ``n_fine``."""
    n_items = int(counts.sum())
    if n_fine is None:
        n_fine = max(_FINE_PER_STRATUM * n_strata, int(np.ceil(2 * n_items ** (1 / 3))))
    first = first_of_each(np.minimum(np.floor(_unit(distinct) * n_fine), n_fine - 1))  # of each occupied fine bin
    alone = counts > n_items / n_strata
    fine = np.add.reduceat(np.where(alone, 0, counts), first)
    fine = np.repeat(fine, np.diff(first, append=len(distinct)))
    return counts / np.sqrt(np.where(alone, counts, fine))


def _unit(distinct: Float[np.ndarray, " V"]) -> Float[np.ndarray, " V"]:
    """Move sorted scores to [0, 1], whatever their scale."""
    if len(distinct) == 1:
        return np.zeros(1)
    scaled = distinct / np.abs(distinct[[0, -1]]).max()  # so that max - min does not overflow
    return (scaled - scaled[0]) / (scaled[-1] - scaled[0])


def share_out(weights: Float[np.ndarray, " V"], n_strata: int) -> Int[np.ndarray, " V"]:
    """Stratum of each of V scores in order: K equal shares of the weight, no score weighing more than a share.

    A score goes where the middle of its weight falls. Two neighbours' middles are at most one share apart, so that
    no stratum is skipped. A score that outweighs a share is left alone: the others of its stratum, which weigh half a
    share at most on either side, go to the next stratum on their side unless such a score holds that too.
    """
    if len(weights) <= n_strata:
        return np.arange(len(weights))
    shares = weights / _fair_share(weights, n_strata)
    capped = np.minimum(shares, 1)
    middles = np.cumsum(capped) - capped / 2
    codes = np.minimum((middles + _NUDGE).astype(np.int64), n_strata - 1)
    heavy = np.flatnonzero(shares > 1 + _NUDGE)
    starts = np.searchsorted(codes, np.arange(n_strata + 1))
    strata = codes[heavy]
    held = {-1, n_strata, *strata.tolist()}
    for at, stratum in zip(heavy, strata, strict=True):
        if stratum - 1 not in held:
            codes[starts[stratum] : at] = stratum - 1
        if stratum + 1 not in held:
            codes[at + 1 : starts[stratum + 1]] = stratum + 1
    return codes


def _fair_share(weights: Float[np.ndarray, " V"], n_strata: int) -> float:
    """Solve sum(min(weights, share)) = n_strata * share, where V > n_strata."""
    cut = len(weights) - n_strata
    parts = np.partition(weights, cut)
    heaviest = np.sort(parts[cut:])[::-1]
    # with h scores cut down to one share each, the other strata share the rest
    rest = np.cumsum(np.append(parts[:cut].sum(), heaviest[::-1]))[:0:-1]
    shares = rest / np.arange(n_strata, 0, -1)
    return float(shares[np.argmax(heaviest <= shares)])


def grid_of(distinct: Float[np.ndarray, " V"], n_strata: int, kind: str) -> Float[np.ndarray, " E"]:
    """Edges of equal width or in geometric progression, from the least score to the largest."""
    low, high = distinct[0], distinct[-1]
    steps = np.arange(n_strata + 1) / n_strata
    if kind == "geometric" and low < 0:
        steps = ((n_strata + 1) ** steps - 1) / n_strata
    if kind == "width" or low < 0:
        grid = low * (1 - steps) + high * steps
    elif low > 0:
        with np.errstate(over="ignore"):  # rounding near the greatest number there is
            grid = np.exp(np.log(low) * (1 - steps) + np.log(high) * steps)
    elif n_strata == 1 or high == 0:
        grid = np.array([low, high])
    else:
        grid = np.append(low, grid_of(distinct[1:], n_strata - 1, kind))
    grid[0], grid[-1] = low, high
    return np.maximum.accumulate(np.clip(grid, low, high))


def occupied(grid: Float[np.ndarray, " E"], distinct: Float[np.ndarray, " V"]) -> Float[np.ndarray, " G"]:
    """Left edges of the strata that hold a score."""
    strata = np.searchsorted(grid[1:-1], distinct, side="right")
    return grid[strata[first_of_each(strata)]]


def between(scores: Float[np.ndarray, " M"], edges: Float[np.ndarray, " E"]) -> Int[np.ndarray, " M"]:
    """Stratum of each item; a stratum holds its left edge."""
    codes = np.empty(len(scores), np.min_scalar_type(len(edges) - 2))
    for start in range(0, len(scores), CHUNK):
        rows = slice(start, start + CHUNK)
        codes[rows] = np.searchsorted(edges[1:-1], scores[rows], side="right")
    return frozen(codes)


def few_digits(edges: Float[np.ndarray, " E"]) -> list[str]:
    """Edges as text, with as few significant digits, two or more, as tell them apart."""
    n_distinct = len(np.unique(edges))
    text = []
    for digits in range(2, 18):
        text = [f"{edge:.{digits}g}" for edge in edges.tolist()]
        if len(set(text)) == n_distinct:
            break
    return text


def tree_leaves(features: Float[np.ndarray, "M F"], n_strata: int) -> Int[np.ndarray, " M"]:
    """Leaf of each item, from left to right."""
    waiting = [(-len(features), "", np.arange(len(features)))]  # size, path from the root, rows
    leaves = []
    while waiting and len(waiting) + len(leaves) < n_strata:
        size, path, rows = heapq.heappop(waiting)
        left = _left_half(features, rows)
        if left is None:
            leaves.append((size, path, rows))
            continue
        for turn, child in (("0", rows[left]), ("1", rows[~left])):
            heapq.heappush(waiting, (-len(child), path + turn, child))
    codes = np.empty(len(features), np.int64)
    for leaf, (_, _, rows) in enumerate(sorted(leaves + waiting, key=lambda item: item[1])):
        codes[rows] = leaf
    return codes


def _left_half(features: Float[np.ndarray, "M F"], rows: Int[np.ndarray, " N"]) -> Bool[np.ndarray, " N"] | None:
    """Which rows lie below the median of their widest feature, half of them but for ties; None if all rows tie."""
    low, high = features[rows[0]], features[rows[0]]
    for start in range(0, len(rows), CHUNK):
        part = features[rows[start : start + CHUNK]]
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
    with np.errstate(over="ignore"):
        widest = np.argmax(high - low)
    values = features[rows, widest]
    half = len(values) // 2
    median = np.partition(values, half)[half]
    below, upto = values < median, values <= median
    n_below, n_upto = int(below.sum()), int(upto.sum())
    if n_below and (n_upto == len(values) or half - n_below <= n_upto - half):
        return below
    return upto if n_upto < len(values) else None


def clusters(features: Float[np.ndarray, "M F"], n_clusters: int, seed: int) -> Int[np.ndarray, " M"]:
    """Cluster of each item, similar clusters side by side."""
    try:
        from sklearn.cluster import MiniBatchKMeans, kmeans_plusplus
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits  # which scikit-learn requires
    except ImportError:
        raise PartitionError("K-means strata need scikit-learn, which is missing: pip install scikit-learn.") from None
    from scipy.cluster.hierarchy import leaves_list, linkage

    batch = max(_BATCH, n_clusters)
    # scikit-learn itself would draw the first centres from a sample with replacement, which misses items of small pools
    some = generator(seed, "first centres").choice(len(features), min(len(features), 3 * batch), replace=False)
    # one thread: the same sums on any machine, and threads would mostly wait for each other
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        first, _ = kmeans_plusplus(features[np.sort(some)], n_clusters, random_state=seed)
        means = MiniBatchKMeans(
            n_clusters,
            init=first,  # pyright: ignore[reportArgumentType]
            n_init="auto",
            batch_size=batch,
            reassignment_ratio=0.0,  # no centre is given up for its small cluster: a stratum may be small
            random_state=seed,
        )
        labels = means.fit_predict(features)
    used, labels = np.unique(labels, return_inverse=True)
    if len(used) < 3:  # nothing to order
        return labels
    centres = np.asarray(means.cluster_centers_, np.float64)[used]
    order = leaves_list(linkage(centres, "ward", optimal_ordering=len(used) <= _OPTIMAL_ORDER))
    return np.argsort(order)[labels]


def check_count(name: str, value: SupportsIndex) -> int:
    """Return an integer of at least 1; raise PartitionError if it is none."""
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise PartitionError(f"The number {name} must be an integer of at least 1, not {show(value)}.")
    return count


def check_finite(array: np.ndarray, what: str) -> None:
    """Raise PartitionError at the first NaN or infinity of an array (M,) or (M, F), naming its row and column."""
    for start in range(0, len(array), CHUNK):
        at = first_true(~np.isfinite(array[start : start + CHUNK]).ravel())
        if at is not None:
            row, *column = map(int, np.unravel_index(at, array[start : start + CHUNK].shape))
            where = f"row {start + row}" + "".join(f", column {index}" for index in column)
            value = show(array[(start + row, *column)])
            raise PartitionError(f"The {what} in {where} is {value}; pass finite numbers, or leave the item out.")


def shortfall(found: int, asked: int, what: str, n_items: int, cause: str = "scores tie") -> str | None:
    """Say why fewer groups came out than asked for; None if they did not."""
    if found == asked:
        return None
    if asked > n_items:
        cause = f"only {n_items} item{'s' * (n_items != 1)}"
    return f"{found} of {asked} {what}: {cause}"


def interval_names(text: list[str]) -> np.ndarray:
    """Names of bins from their edges as text: only the last bin holds its right edge."""
    names = [f"[{low}, {high})" for low, high in pairwise(text)]
    names[-1] = names[-1][:-1] + "]"
    return np.array(names)
