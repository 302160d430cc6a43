"""Strata of the ranks of a score, and the coordinates of a score that need no probability."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeGuard

import numpy as np

from bayes_assess._tools.arrays import frozen
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.sorting import order_of
from bayes_assess.errors import PartitionError
from bayes_assess.pool._cuts import check_count
from bayes_assess.pool.counting import count, distinct_codes
from bayes_assess.pool.groups import Cut, Partition
from bayes_assess.pool.pool import Pool

_BELOW, _ABOVE = 6.0, 5.0  # log odds of ranks around the cut where strata are of equal width
_KINDS = 4  # strata of how opinions differ
_STEEP = 4.0  # of the confidence's strata: the lowest e-fold fraction of items has as many strata as the next
_WIDE = 1.0  # log odds between the ranks that items tie over, beyond which they are not of about one rank
_FALLS = 0.25  # share of pairs of an announced item and another in the order of their scores, below which scores fall
_SURE = 3.5  # standard deviations of that share by chance
_SEPARATED = 0.9  # share of the items announced that have the highest scores, from which on scores are theirs
_ALIKE = 0.9  # share of pairs in the order of the score, from which on it ranks what another system announces, too
_MOST_TIES = 254  # a byte; there are no more than twice the logarithm of the number of items


class TiedRanks(NamedTuple):
    """Ranks that many items have together, whose own ranks may be any within a wide range.

    Attributes
    ----------
    which : (M,) integers
        Number of the range that an item is in, from 1; 0 of most items.
    low, high : (T,) floats
        Ends of the ranges, fractions in [0, 1].
    """

    which: Int[np.ndarray, " M"]
    low: Float[np.ndarray, " T"]
    high: Float[np.ndarray, " T"]


@dataclass(frozen=True, eq=False, repr=False)
class RankedScore:
    """A score of every item, and how many items it is to announce.

    Parameters
    ----------
    score : (M,)
        Finite.
    announced : (M,) booleans, optional
        Whether an item is predicted positive, by which equal scores are ranked; None where the score is a confidence,
        whose lowest values matter most.
    others : (S, M) booleans, optional
        What S other systems predict, which are as good for all that is known: items rank first by how many systems
        predict them positive, and then by the score among items of the same predictions.
    at_cut : bool
        Whether what matters lies about the rank where predicted positives end; else it may lie anywhere.
    times : (M,) integers, optional
        Items that every row stands for, `Pool.multiplicity`: those of a row tie.
    """

    score: Float[np.ndarray, " M"]
    announced: Bool[np.ndarray, " M"] | None = None
    others: Bool[np.ndarray, "S M"] | None = None
    at_cut: bool = True
    times: Int[np.ndarray, " M"] | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.score) if self.times is None else int(self.times.sum())

    @property
    def tells_apart(self) -> bool:
        """Whether some items are predicted positive and some are not; else predictions say nothing of any rank."""
        return self.announced is not None and 0 < _sum(self.votes, self.times) < self.n_systems * self.n_items

    @property
    def separates(self) -> bool:
        """Whether announced items are nearly those of the highest scores: nine of ten of as many as are announced."""
        if self.announced is None:
            return False
        n_announced = _sum(self.announced, self.times)
        if not 0 < n_announced < self.n_items:
            return False
        above = self.announced & (self.score >= score_reached_by(n_announced, self.score, self.times))
        return _sum(above, self.times) >= _SEPARATED * n_announced

    def ranks_positives_of(self, other: Bool[np.ndarray, " M"]) -> bool:
        """Tell whether items that another system alone announces lie near the cut: the score is nearly as good for it.

        Of an item that only the other announces and one that neither does, the first has the higher score in nine of
        ten pairs. Where errors of both have nothing to do with each other, it has so in hardly more than half.
        """
        if self.announced is None:
            return False
        rest = ~self.announced
        alone, times = other[rest], None if self.times is None else self.times[rest]
        if alone.all() or not alone.any():
            return False
        return _share_in_order(self.score[rest], alone, times) >= _ALIKE

    @property
    def is_cut(self) -> bool:
        """Whether announced items are exactly those of the highest scores, which may be all items or none."""
        if self.announced is None or self.announced.all() or not self.announced.any():
            return True
        return bool(self.score[self.announced].min() >= self.score[~self.announced].max())

    @property
    def share(self) -> float:
        """Share of items announced, F / M, the mean over systems; a half where predictions tell no items apart."""
        return _sum(self.votes, self.times) / self.n_systems / self.n_items if self.tells_apart else 0.5

    @property
    def n_systems(self) -> int:
        """Systems that announce items."""
        return 1 + (0 if self.others is None else len(self.others))

    @cached_property
    def votes(self) -> Int[np.ndarray, " M"]:
        """Systems that predict an item positive."""
        own = np.zeros(len(self.score), np.int64) if self.announced is None else self.announced.astype(np.int64)
        return own if self.others is None else own + self.others.sum(0)

    @property
    def fractions(self) -> Float[np.ndarray, " M"]:
        """Rank of every item from below as a fraction, in (0, 1): the middle rank of those that tie."""
        return self._fractions_and_ties[0]

    @property
    def ties(self) -> TiedRanks | None:
        """Items that tie over wide ranges of ranks, if there are any."""
        return self._fractions_and_ties[1]

    @cached_property
    def _fractions_and_ties(self) -> tuple[Float[np.ndarray, " M"], TiedRanks | None]:
        if self.announced is None:
            ranks, ties = self._middle_ranks(self.score)
        elif self.others is None:
            ranks, ties = self._middle_ranks(self.announced, self.score)
        else:
            # Where systems differ, a positive prediction of one is worth that of another, whosever the score is.
            kind = 2 * self.votes + self.announced
            size = count(kind, int(kind.max()) + 1, self.times)
            before = np.cumsum(size) - size
            within = (self._middle_ranks(self.score, kind)[0] - before[kind]) / size[kind]
            ranks, ties = self._middle_ranks(within, self.votes)
        return ranks / self.n_items, ties

    def _middle_ranks(self, *keys: np.ndarray) -> tuple[Float[np.ndarray, " M"], TiedRanks | None]:
        return _middle_ranks(*keys, n_items=self.n_items, times=self.times)


def _middle_ranks(
    *keys: np.ndarray, n_items: int, times: Int[np.ndarray, " M"] | None = None
) -> tuple[Float[np.ndarray, " M"], TiedRanks | None]:
    """Rank of every item from below by several keys, the last one first: the middle rank of those that tie."""
    *others, score = keys
    order = order_of(score)  # which of equal scores comes first is not decided here
    ordered = score[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    if others:
        tied = np.flatnonzero(~new | ~np.append(new[1:], True))
        order[tied] = order[tied][np.lexsort([key[order[tied]] for key in keys])]
        for key in others:
            ordered = key[order]
            new[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    n_rows = np.diff(np.append(first, len(order)))
    size = n_rows if times is None else np.add.reduceat(times[order], first)
    upto = np.cumsum(size)
    rank = np.empty(len(order))
    rank[order] = np.repeat(upto - size / 2, n_rows)
    return rank, _wide_ties(order, first, n_rows, upto, size, n_items)


def _wide_ties(
    order: Int[np.ndarray, " M"],
    first: Int[np.ndarray, " D"],
    n_rows: Int[np.ndarray, " D"],
    upto: Int[np.ndarray, " D"],
    size: Int[np.ndarray, " D"],
    n_items: int,
) -> TiedRanks | None:
    """Find which of D distinct values, of the rows from `first` on in an order, items tie at over a wide range."""
    some = np.flatnonzero(size > 1)
    ends = np.stack([upto[some] - size[some], upto[some]]) / n_items
    # Where items tie up to one end of the ranks, the log odds of half an item are those of the end.
    inner = np.clip(ends, 0.5 / n_items, 1 - 0.5 / n_items)
    span = np.diff(np.log(inner) - np.log1p(-inner), axis=0)[0]
    wide = np.flatnonzero(span > _WIDE)[:_MOST_TIES]
    if not len(wide):
        return None
    which = np.zeros(len(order), np.uint8)
    for number, at in enumerate(some[wide].tolist(), 1):
        which[order[first[at] : first[at] + n_rows[at]]] = number
    low, high = ends[:, wide]
    return TiedRanks(which, low, high)


def falls(
    score: Float[np.ndarray, " M"], announced: Bool[np.ndarray, " M"], times: Int[np.ndarray, " M"] | None = None
) -> bool:
    """Tell whether a score is low where items are announced, as a distance is, or the probability of the other class.

    Of an announced item and one that is not, the first has the lower score in three of four pairs or more, and too
    often for predictions that have nothing to do with the score.

    Examples
    --------
    >>> distance = np.linspace(0, 1, 100)
    >>> falls(distance, distance < 0.2), falls(distance, distance > 0.2)
    (True, False)
    """
    n_above, n_below = _sum(announced, times), _sum(~announced, times)
    above = _sum(score[announced], None if times is None else times[announced])
    if not n_above or not n_below or above * (n_above + n_below) >= _sum(score, times) * n_above:
        return False
    share = _share_in_order(score, announced, times)
    spread = np.sqrt((n_above + n_below) / (12 * n_above * n_below))  # of that share, by chance
    return bool(share < _FALLS and 0.5 - share > _SURE * spread)


def _share_in_order(
    score: Float[np.ndarray, " M"], which: Bool[np.ndarray, " M"], times: Int[np.ndarray, " M"] | None
) -> float:
    """Share of pairs, of one of these items and another, in which the first has the higher score; half of ties."""
    n_above, n_below = _sum(which, times), _sum(~which, times)
    ranks, _ = _middle_ranks(score, n_items=int(n_above + n_below), times=times)
    own = None if times is None else times[which]
    return (_sum(ranks[which], own) / n_above - n_above / 2) / n_below


def score_reached_by(n: float, score: Float[np.ndarray, " M"], times: Int[np.ndarray, " M"] | None = None) -> float:
    """Return the highest score that n items reach, one at least.

    Examples
    --------
    >>> score = np.array([0.1, 0.9, 0.5])
    >>> score_reached_by(2, score), score_reached_by(2, score, np.array([1, 2, 1]))
    (0.5, 0.9)
    """
    n = max(n, 1)
    if times is None:
        return float(np.partition(score, -int(n))[-int(n)])
    order = order_of(score)[::-1]
    return float(score[order[np.searchsorted(np.cumsum(times[order]), n)]])


def _sum(values: np.ndarray, times: Int[np.ndarray, " M"] | None) -> float:
    return float(values.sum() if times is None else values @ times)


@dataclass(frozen=True)
class RankStrata(Cut):
    """Strata of the ranks of a score: many where a few items decide, whatever the score means.

    Half of the cumulated density is that of the square root of frequencies of the logit of the rank (METHODS 12.2),
    the other half spreads evenly over the logits around the rank where predicted positives end. Of a confidence, the
    lowest ranks have the narrowest strata (METHODS 12.3).

    Parameters
    ----------
    n_strata : int
        How many, at most.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> strata = ba.partition(ba.Pool(scores=[0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]), RankStrata(4))
    >>> strata.codes.tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """

    n_strata: int = 128
    of_ranks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_strata", check_count("n_strata", self.n_strata))

    def cut(self, pool: Pool) -> Partition:
        """Return the strata of a pool's P(positive), or of its confidence."""
        if pool.scores is not None and pool.n_classes == 2:
            score = pool.scores[:, 1] if pool.scores.ndim == 2 else pool.scores
            announced, times = pool.predictions == 1, pool.multiplicity
            score = 1 - score if falls(score, announced, times) else score
            return self.of(RankedScore(score, announced, times=times))
        if pool.margins is not None:
            return self.of(RankedScore(pool.margins, pool.predictions == 1, times=pool.multiplicity))
        if pool.confidence is None:
            raise PartitionError("Strata of ranks need scores; pass scores or confidence to the pool.")
        return self.of(RankedScore(pool.confidence, times=pool.multiplicity))

    def of(self, ranked: RankedScore) -> Partition:
        """Return the strata of a score."""
        u = ranked.fractions
        if ranked.announced is None:
            place = -np.expm1(-_STEEP * u) / -np.expm1(-_STEEP)
            n_strata = min(self.n_strata, _CONFIDENCE_STRATA)
        else:
            n_strata = self.n_strata
            t = np.log(u) - np.log1p(-u)
            cut = -_logit(ranked.share)
            low, high = max(t.min(), cut - _BELOW), min(t.max(), cut + _ABOVE)
            near = np.clip((t - low) / (high - low), 0, 1) if high > low else np.zeros(len(t))
            place = (np.arcsin(np.sqrt(u)) * 2 / np.pi + near) / 2
        least, most = place.min(), place.max()
        if most > least:
            place = (place - least) / (most - least)
        strata, codes = distinct_codes(np.minimum((place * n_strata).astype(np.int64), n_strata - 1), n_strata)
        names = np.array([f"stratum {i}" for i in range(len(strata))])
        note = None if len(strata) == n_strata else f"{len(strata)} of {n_strata} strata: ranks tie"
        kind = np.min_scalar_type(max(len(strata) - 1, 0))
        return Partition(frozen(codes.astype(kind)), frozen(names), f"{len(strata)} rank strata", note=note)


_CONFIDENCE_STRATA = 32


def _logit(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))


def opinion_strata(
    opinions: Float[np.ndarray, "J M"], n_strata: int, times: Int[np.ndarray, " M"] | None = None
) -> Partition:
    """Cut items into strata by the mean of several opinions, the first row, and by how these differ, if there are any.

    Differences are those in the direction in which they scatter most. `times` are the items that every row stands for.

    Examples
    --------
    >>> a, b = np.array([1.0, 1.0, 5.0, 5.0]), np.array([1.0, 3.0, 5.0, 3.0])
    >>> opinion_strata(np.stack([(a + b) / 2, a, b]), 8).codes.tolist()  # means of 2 and 4 are of two kinds
    [0, 1, 3, 2]
    """
    if len(opinions) == 1:
        return spread_strata(opinions[0], n_strata, times)
    apart = opinions[1:] - opinions[0]
    direction = np.linalg.eigh((apart if times is None else apart * times) @ apart.T)[1][:, -1]
    kinds = spread_strata((direction * direction[np.abs(direction).argmax()]) @ apart, _KINDS, times)
    levels = spread_strata(opinions[0], max(n_strata // 2, 2), times)
    n_kinds = kinds.n_groups
    strata, codes = distinct_codes(levels.codes.astype(np.int64) * n_kinds + kinds.codes, levels.n_groups * n_kinds)
    level, kind = np.divmod(strata, kinds.n_groups)
    names = np.char.add(np.char.add(levels.names[level], ", "), kinds.names[kind])
    return Partition(codes.astype(np.min_scalar_type(len(strata) - 1)), names, "strata of what judges expect")


def spread_strata(
    values: Float[np.ndarray, " M"], n_strata: int, times: Int[np.ndarray, " M"] | None = None
) -> Partition:
    """Cut items into strata of numbers that are close to each other, half by their ranks and half by their range.

    Examples
    --------
    >>> spread_strata(np.array([1.0, 1.1, 1.2, 1.3, 9.0, 5.0]), 4).codes.tolist()
    [0, 0, 0, 1, 3, 2]
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    size = count(inverse, len(distinct), times)
    rank = (np.cumsum(size) - size / 2) / size.sum()
    span = max(float(np.ptp(distinct)), 1e-300)
    place = (rank + (distinct - distinct[0]) / span) / 2
    used, codes = np.unique(np.minimum((place * n_strata).astype(int), n_strata - 1), return_inverse=True)
    names = np.array(
        [f"{distinct[codes == k].min():.4g} to {distinct[codes == k].max():.4g}" for k in range(len(used))]
    )
    return Partition(
        codes[inverse].astype(np.min_scalar_type(len(used) - 1)), names, "strata of what the judge expects"
    )


def cuts_ranks(strata: Cut | None) -> TypeGuard[RankStrata]:
    """Tell whether strata are those of the ranks of a score, which questions say of which.

    Examples
    --------
    >>> cuts_ranks(RankStrata(4)), cuts_ranks(None)
    (True, False)
    """
    return strata is not None and strata.of_ranks
