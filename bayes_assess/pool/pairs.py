"""Pairs of items that belong together, such as two systems' answers to one prompt, as items of a pool of their own."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import PoolError
from bayes_assess.pool.pool import Pool

_NAMED = 3  # pairs that a message names
_DIGITS = 12  # by which differences of values are told apart, of the largest


class Pairs(NamedTuple):
    """The halves of P pairs.

    Attributes
    ----------
    names : (P,)
        What the two halves of a pair have in common.
    first, second : (P,) integers
        Positions of the items of either side.
    """

    names: np.ndarray
    first: Int[np.ndarray, " P"]
    second: Int[np.ndarray, " P"]


def find_pairs(pool: Pool, by: str, first: Hashable, second: Hashable, pair: str) -> Pairs:
    """Find which items of two groups belong together; items of other groups have no part.

    Parameters
    ----------
    pool : Pool
    by : str
        Column of groups.
    first, second
        Names of two of its groups.
    pair : str
        Column with a value for every pair, which one item of either group has.

    Raises
    ------
    PoolError
        If there is no such column or group, or a pair lacks a half or has one twice.

    Examples
    --------
    >>> pool = Pool(predictions=[1, 0, 1], groups={"system": ["b", "a", "c"], "prompt": ["p", "p", "p"]})
    >>> find_pairs(pool, "system", "a", "b", "prompt")
    Pairs(names=array(['p'], dtype='<U1'), first=array([1]), second=array([0]))
    """
    for column in (by, pair):
        if column not in pool.groups:
            raise PoolError(f"The pool has no column {show(column)}; it has {listing(list(pool.groups))}.")
    side, names = pool.groups[by].astype(str), pool.groups[pair]
    sides, halves = (str(first), str(second)), []
    for name in sides:
        items = np.flatnonzero(side == name)
        if not len(items):
            raise PoolError(f"There is no group {show(name)} in {by!r}; it has {listing(np.unique(side))}.")
        ids, place, n = np.unique(names[items], return_index=True, return_counts=True)
        if (n > 1).any():
            raise PoolError(
                f"Every pair has one item of either side; {show(name)} has more than one of {_some(ids[n > 1], pair)}. "
                "Leave all but one of them out."
            )
        halves.append((ids, items[place]))
    (mine, first_items), (theirs, second_items) = halves
    lacking = [np.setdiff1d(theirs, mine), np.setdiff1d(mine, theirs)]
    for name, missing in zip(sides, lacking, strict=True):
        if len(missing):
            raise PoolError(
                f"Every pair has one item of either side; {show(name)} has none of {_some(missing, pair)}. "
                "Leave out the other halves, or compare without pair=."
            )
    return Pairs(mine, first_items, second_items)


def _some(names: np.ndarray, pair: str) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{pair} {', '.join(show(name) for name in names[:_NAMED].tolist())}{more}"


class PairPool(Pool):
    """A pool whose items are pairs, and whose labels are differences of the halves' values, first less second.

    A prediction is the difference that the predictions of both halves make, a score the probability of a difference
    if the labels of the halves were independent given theirs. How much these tell is learned as of any judge, and
    what the halves have in common, such as a prompt that is hard for both systems, cancels in the labels.

    Attributes
    ----------
    whole : Pool
        The pool of the halves.
    pairs : Pairs
    differences : (D,)
        All that labels can be, increasing: the value of every class.
    place : (C, C) integers
        Position among the differences, by the label of the first half and that of the second.

    Examples
    --------
    >>> pool = Pool(predictions=[1, 0, 1], groups={"system": ["b", "a", "c"], "prompt": ["p", "p", "p"]})
    >>> pairs = PairPool.of(pool, find_pairs(pool, "system", "a", "b", "prompt"), [0.0, 1.0])
    >>> pairs.differences.tolist(), pairs.prediction_names([0]).tolist()
    ([-1.0, 0.0, 1.0], [-1])
    """

    paired = True
    whole: Pool
    pairs: Pairs
    differences: Float[np.ndarray, " D"]
    place: Int[np.ndarray, "C C"]

    @classmethod
    def of(cls, pool: Pool, pairs: Pairs, values: ArrayLike) -> PairPool:
        """Make the pool of pairs.

        Parameters
        ----------
        pool : Pool
        pairs : Pairs
        values : (C,)
            Number of every class of the pool.
        """
        value = np.asarray(values, np.float64)
        away, scale = value[:, None] - value, np.ptp(value)
        _, at, place = np.unique((away / scale).round(_DIGITS), return_index=True, return_inverse=True)
        differences, place = away.ravel()[at], place.reshape(away.shape)
        whole = (differences == differences.round()).all()
        classes = differences.astype(np.int64) if whole else differences.astype(str)
        scores = _class_scores(pool)
        pair_scores = None if scores is None else np.zeros((len(pairs.names), len(differences)))
        if pair_scores is not None and scores is not None:
            first, second = scores[pairs.first], scores[pairs.second]
            for (i, j), d in np.ndenumerate(place):
                pair_scores[:, d] += first[:, i] * second[:, j]
        predicted = place[pool.predictions[pairs.first], pool.predictions[pairs.second]]
        made = cls(scores=pair_scores, predictions=classes[predicted], classes=classes, ids=pairs.names)
        made._fill(whole=pool, pairs=pairs, differences=differences, place=place, _fingerprint=pool.fingerprint())
        return made

    def codes_of_halves(self, codes: Int[np.ndarray, " M"]) -> Int[np.ndarray, " P"]:
        """Return the codes of the differences, from the label codes of all items of the pool of halves."""
        return self.place[codes[self.pairs.first], codes[self.pairs.second]]


def _class_scores(pool: Pool) -> Float[np.ndarray, "M C"] | None:
    """Probability of every class; of those that confidences leave, the same for all others."""
    if pool.scores is None:
        if pool.confidence is None:
            return None
        rest = (1 - pool.confidence) / (pool.n_classes - 1)
        own = np.eye(pool.n_classes, dtype=bool)[pool.predictions]
        return np.where(own, pool.confidence[:, None], rest[:, None])
    scores = pool.scores if pool.scores.ndim == 2 else np.stack([1 - pool.scores, pool.scores], axis=1)
    return scores / scores.sum(1, keepdims=True)
