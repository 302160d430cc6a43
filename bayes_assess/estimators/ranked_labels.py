r"""Labels of a ranked list, and what they say of its precision at a few ranks ([ADA] sec. 4.3).

Ranks 0 = e_0 < e_1 < ... < e_k cut the list into strata (e_{i-1}, e_i], in each of which the labelled items are a
random sample, of a density of its own. The precision at e_i is the stratified mean of its strata,

.. math:: \hat p(e_i) = \sum_{j \le i} \frac{e_j - e_{j-1}}{e_i} \bar v_j .
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.errors import LabelError

Edges = Int[np.ndarray, " k"]
Precisions = Float[np.ndarray, " k"]


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """Labelled items of a ranked list.

    Attributes
    ----------
    ranks : (n,) integers
        Increasing, from 1 to the number of items.
    labels : (n,) bool
        Whether the item is positive.
    n_items : int
        Length of the list.

    Raises
    ------
    LabelError
        If the ranks do not increase or leave the list, or there is not one label for each.

    Examples
    --------
    >>> labelled = RankedLabels(np.array([1, 2, 3, 6]), np.array([True, True, False, True]), 7)
    >>> labelled.counts(np.array([3, 7]))
    (array([3, 1]), array([2, 1]))
    >>> labelled.precision_at(np.array([3, 7])).round(4).tolist()  # 2 / 3, (2 + 4) / 7
    [0.6667, 0.8571]
    """

    ranks: Int[np.ndarray, " n"]
    labels: Bool[np.ndarray, " n"]
    n_items: int

    def __post_init__(self):
        ranks, labels = np.asarray(self.ranks, np.int64), np.asarray(self.labels, np.bool_)
        if labels.shape != ranks.shape:
            raise LabelError(f"Every labelled rank has one label; found {len(ranks):,} ranks, {len(labels):,} labels.")
        if len(ranks) and (ranks[0] < 1 or ranks[-1] > self.n_items or (np.diff(ranks) <= 0).any()):
            raise LabelError(
                f"Labelled ranks increase from 1 up to the {self.n_items:,} items; found {show(ranks)}. "
                "Sort them, and label every item once."
            )
        object.__setattr__(self, "ranks", ranks)
        object.__setattr__(self, "labels", labels)

    @property
    def n_labelled(self) -> int:
        """Number of labels, n."""
        return len(self.ranks)

    def known_at(self, ranks: Int[np.ndarray, " m"]) -> tuple[Precisions, Precisions, Precisions]:
        """Say what the labels down to ranks show, whatever the others are.

        Parameters
        ----------
        ranks : (m,) integers

        Returns
        -------
        (m,) least precisions, all others being negative; (m,) greatest ones, all others being positive; and (m,) shares
        of positives among the labels, one half without any.

        Examples
        --------
        >>> labelled = RankedLabels(np.array([1, 2, 4]), np.array([True, False, True]), 9)
        >>> [values.tolist() for values in labelled.known_at(np.array([2, 4]))]
        [[0.5, 0.5], [0.5, 0.75], [0.5, 0.6666666666666666]]
        """
        at = np.searchsorted(self.ranks, ranks, "right")
        positives = np.append(0, np.cumsum(self.labels))[at]
        share = np.divide(positives, at, out=np.full(len(at), 0.5), where=at > 0)
        return positives / ranks, (ranks - at + positives) / ranks, share

    def counts(self, edges: Edges) -> tuple[Edges, Edges]:
        """Count labels and positive ones in every stratum.

        Parameters
        ----------
        edges : (k,) integers
            Increasing last ranks of strata, of which the first begins at rank 1.

        Returns
        -------
        (k,) labelled items and (k,) positive ones in (e_{i-1}, e_i].
        """
        ends = np.asarray(edges, np.int64)
        if len(ends) and (ends[0] < 1 or ends[-1] > self.n_items or (np.diff(ends) <= 0).any()):
            raise LabelError(f"Strata end at increasing ranks up to the {self.n_items:,} items; found {show(ends)}.")
        at = np.searchsorted(self.ranks, ends, "right")
        positives = np.append(0, np.cumsum(self.labels))[at]
        return np.diff(at, prepend=0), np.diff(positives, prepend=0)

    def precision_at(self, edges: Edges) -> Precisions:
        """Estimate the precision at the end of every stratum, without bias.

        Parameters
        ----------
        edges : (k,) integers

        Returns
        -------
        (k,) stratified means; exact where all items are labelled. A stratum without labels counts as half positive,
        and `radius_at` has all of it.
        """
        labelled, positive = self.counts(edges)
        sizes = np.diff(edges, prepend=0)
        share = np.divide(positive, labelled, out=np.full(len(sizes), 0.5), where=labelled > 0)
        estimate = np.where(labelled == sizes, positive, sizes * share)  # whole numbers stay whole
        return np.cumsum(estimate) / edges

    def curve_between(self, edges: Edges, each: int) -> tuple[Edges, Precisions]:
        """Estimate the precision at the end of every stratum, and inside of those that have many labels.

        A stratum with n labels is taken for n slices of equal length, each with the label that comes next by rank. The
        last of them ends where the stratum does, so that the precision there is that of `precision_at`.

        Parameters
        ----------
        edges : (k,) integers
        each : int
            Labels, at least, from one rank inside a stratum to the next.

        Returns
        -------
        (n,) increasing ranks, the edges among them, and (n,) precisions.

        Examples
        --------
        >>> ranks = np.array([1, 2, 5, 9, 14, 16])
        >>> labelled = RankedLabels(ranks, ranks < 10, 18)
        >>> ranks, precisions = labelled.curve_between(np.array([2, 18]), each=2)
        >>> ranks, precisions.round(4).tolist()  # 2 / 2, (2 + 8) / 10, (2 + 8) / 18
        (array([ 2, 10, 18]), [1.0, 1.0, 0.5556])
        """
        labelled, _ = self.counts(edges)
        positives_before, last = np.append(0, np.cumsum(self.labels)), np.cumsum(labelled)
        ranks, positives, total = [], [], 0.0
        for n, stop, size, edge in zip(labelled, last, np.diff(edges, prepend=0), edges, strict=True):
            slices = np.arange(1, max(n // each, 1) + 1) * n // max(n // each, 1)
            positive = positives_before[stop - n + slices] - positives_before[stop - n]
            part = size * positive / n if n else np.array([size / 2])
            ranks.append(edge - size + np.rint(size * slices / n).astype(np.int64) if n else np.array([edge]))
            positives.append(total + part)
            total = positives[-1][-1]
        known = np.concatenate(ranks)
        return known, np.concatenate(positives) / known

    def radius_at(self, edges: Edges, delta: float, *, noisy: bool = False) -> Precisions:
        r"""Compute the half-widths of intervals of the precision at the end of every stratum ([ADA] sec. 4.3).

        .. math:: t_i^2 = \frac{\ln(2 / \delta)}{2} \sum_{j \le i} \Big(\frac{size_j}{e_i}\Big)^2 \frac{1}{n_j},

        each Hoeffding's (JASA 58, 1963, Theorem 2), over strata that are labelled in part. Ours: a stratum without
        labels adds half of its share of the list; and those that lack few labels add these labels' share instead,
        whatever they are, if the sum is less. The density that [ADA] asks for, n_j >= size_j s / e_j, gives at most the
        half-width of s labels.

        Parameters
        ----------
        edges : (k,) integers
        delta : float in (0, 1)
            Probability that an interval misses, of each: for all k together divide it by k.
        noisy : bool, optional
            Whether annotators err: then a stratum that is labelled in full has a sampling error of their errors.

        Returns
        -------
        (k,) half-widths; 0 where all items are labelled.

        Examples
        --------
        >>> ranks = np.append([1, 2], np.arange(3, 31, 3))
        >>> labelled = RankedLabels(ranks, ranks < 20, 30)
        >>> labelled.radius_at(np.array([3, 30]), 0.05).round(4).tolist()  # sqrt(ln 40 / (2 * 9)) 27 / 30
        [0.0, 0.4074]
        """
        if not 0 < delta < 1:
            raise LabelError(f"delta is a probability strictly between 0 and 1; found {show(delta)}.")
        labelled, _ = self.counts(edges)
        sizes = np.diff(edges, prepend=0).astype(np.float64)
        squares = np.divide(sizes**2, labelled, out=np.zeros(len(sizes)), where=labelled > 0)
        per_label = math.log(2 / delta) / 2
        lacking = np.where(labelled == 0, sizes / 2, sizes - labelled)

        def half_width(random: Bool[np.ndarray, " k"]) -> Precisions:
            chance = np.sqrt(per_label * np.cumsum(np.where(random, squares, 0.0)))
            return (chance + np.cumsum(np.where(random, 0.0, lacking))) / edges

        some = (labelled > 0) & (noisy | (labelled < sizes))
        few = lacking**2 < per_label * squares * (not noisy)
        return np.minimum(half_width(some), half_width(some & ~few))


def debiased(shares: Precisions, eta: float) -> Precisions:
    r"""Correct shares of positive labels for annotators who err with a probability of eta ([ADA] sec. 2).

    Labels have the mean M = p (1 - eta) + (1 - p) eta, so that

    .. math:: p = \frac{M - \eta}{1 - 2 \eta}.

    [ADA] takes M itself for an estimate "within a factor of 1 + eta" of p >= 1/3. It is not: for p = 1 and eta = .1 it
    is 1 - eta = .9, a factor of 1 / (1 - eta) = 1.11, as for all p > (1 + eta) / (1 + 2 eta).

    Parameters
    ----------
    shares : (k,)
        M, or estimates of it.
    eta : float in [0, 1/2)

    Returns
    -------
    (k,) precisions, in [0, 1]; the shares themselves for eta = 0.

    Examples
    --------
    >>> debiased(np.array([0.05, 0.5, 0.86]), 0.1).round(4).tolist()
    [0.0, 0.5, 0.95]
    """
    return np.clip((shares - eta) / (1 - 2 * eta), 0.0, 1.0) if eta else shares


def debiased_interval(
    lower: Precisions, upper: Precisions, eta: float, *, same_rate: bool = False
) -> tuple[Precisions, Precisions]:
    r"""Bound precisions from intervals of the mean labels of annotators who err with a probability of at most eta.

    Annotators miss positive items with a probability a and take negative ones for positive with a probability b. Labels
    have the mean M = p (1 - a) + (1 - p) b, so that

    .. math:: p = \frac{M - b}{1 - a - b},

    which rises in a and, as M <= 1 - a, falls in b. Over a, b <= eta it lies between (M - eta) / (1 - eta), at
    a = 0 and b = eta, and M / (1 - eta), at a = eta and b = 0. If a = b, as [ADA] has it, then p = (M - b) / (1 - 2 b)
    is monotone in b, rising if M > 1/2 and falling if M < 1/2: it lies between M and (M - eta) / (1 - 2 eta), whichever
    of the two is less. Both rise in M, so that the ends of an interval of M give those of p.

    Parameters
    ----------
    lower, upper : (k,)
        Intervals of M.
    eta : float in [0, 1/2)
    same_rate : bool, optional
        Whether positive and negative items are taken for the other with one and the same probability, of at most eta.
        It makes the shorter interval.

    Returns
    -------
    (k,) lower and (k,) upper bounds of the precision, in [0, 1].

    Examples
    --------
    >>> lower, upper = debiased_interval(np.array([0.6]), np.array([0.7]), 0.1)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.5556], [0.7778])
    >>> lower, upper = debiased_interval(np.array([0.6]), np.array([0.7]), 0.1, same_rate=True)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.6], [0.75])
    """
    if not 0 <= eta < 0.5:
        raise LabelError(f"Annotators err with a probability eta in [0, 1/2); found {show(eta)}.")
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    if same_rate:
        low, high = np.minimum(low, (low - eta) / (1 - 2 * eta)), np.maximum(high, (high - eta) / (1 - 2 * eta))
    else:
        low, high = (low - eta) / (1 - eta), high / (1 - eta)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
