r"""What random labels alone say of the outcomes of cells, at whatever moment one looks.

Designs choose cells by their beliefs, and the items within a cell at random, without replacement. So whatever decides
which cell comes next, the next item of a cell is any of those left in it with the same probability, and a bet on its
label at odds that were set before is fair. Of a cell of N items, K of which show an outcome, n were drawn and k showed
it. Who believes every K from 0 to N to be as probable as any other expects k to be any of 0 to n with probability
1 / (n + 1), so that

.. math:: W_n(K) = \frac{1 / (n + 1)}{\binom{K}{k} \binom{N - K}{n - k} / \binom{N}{n}}

is what a bettor against the true K has made of 1: a martingale, which ever reaches 1 / alpha with probability alpha at
most (Ville's inequality; METHODS 12.4, "leaning on nothing"). The values of K at which it is below that hold the truth
at all moments together with probability 1 - alpha, and so at whichever moment a campaign stops. Of a population from
which the pool was drawn it is the binomial distribution in the place of the hypergeometric one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Float, Int

_HALVINGS = 60  # of an interval of rates, until it is as narrow as numbers are
_ROUNDING = 1e-5  # of logarithms of ways to choose among a billion items; bounds are the wider for it


class RandomLabels(NamedTuple):
    """Labels of items that were drawn at random within K cells, and what came of the others.

    Attributes
    ----------
    counts : (..., K, O) integers
        Labels of items that were drawn, by outcome.
    lost : (..., K) integers
        Items that were drawn and have no label: pending, set aside, or released.
    known : (..., K, O) integers
        Labels of items that nobody drew.
    aside : (..., K) integers
        Items that nobody drew and nobody can label.
    """

    counts: Int[np.ndarray, "*batch K O"]
    lost: Int[np.ndarray, "*batch K"]
    known: Int[np.ndarray, "*batch K O"]
    aside: Int[np.ndarray, "*batch K"]

    @classmethod
    def all_of(cls, counts: Int[np.ndarray, "*batch K O"]) -> RandomLabels:
        """Take all labels for random ones, none of which were lost."""
        nothing = np.zeros(counts.shape[:-1], np.int64)
        return cls(counts, nothing, np.zeros_like(counts), nothing)

    def merged(self, merge: Callable[[Int[np.ndarray, "*batch K O"]], np.ndarray]) -> RandomLabels:
        """Take outcomes together, by a function that adds up the columns of a table."""
        counts, known = (np.asarray(merge(part)).astype(np.int64) for part in (self.counts, self.known))
        return self._replace(counts=counts, known=known)

    def shares(
        self, sizes: Int[np.ndarray, " K"], level: float, *, of_pool: bool = True
    ) -> tuple[Float[np.ndarray, "*batch K O"], Float[np.ndarray, "*batch K O"]]:
        """Bound the shares of outcomes in every cell, whatever items without a label would have shown.

        Every bound of its own holds with the probability `level` at all moments together. What was told without having
        been drawn counts as known in the pool, and nothing for the population.

        Parameters
        ----------
        sizes : (K,) integers
            Items of every cell.
        level : float in (0, 1)
        of_pool : bool
            Whether shares are of the pool's items, or of the population that these were drawn from.

        Returns
        -------
        lower, upper : (..., K, O)
            0 and 1 for a cell without items.

        Examples
        --------
        >>> labels = RandomLabels.all_of(np.array([[2, 18], [0, 0], [1, 2]]))
        >>> low, high = labels.shares(np.array([1000, 50, 3]), 0.95)
        >>> np.stack([low, high], axis=-1)[:, 1].round(3).tolist()
        [[0.593, 0.995], [0.0, 1.0], [0.667, 0.667]]
        """
        lost = self.lost[..., None]
        n = self.counts.sum(-1, keepdims=True) + lost
        if not of_pool:
            return _rates(self.counts, n, level, lower=True), _rates(self.counts + lost, n, level, lower=False)
        sizes = sizes[:, None]
        n_open = sizes - self.known.sum(-1, keepdims=True) - self.aside[..., None]
        low = _counts(self.counts, n, n_open, level, lower=True) + self.known
        high = _counts(self.counts + lost, n, n_open, level, lower=False) + self.known + self.aside[..., None]
        some = np.maximum(sizes, 1)
        return np.where(sizes > 0, low / some, 0.0), np.where(sizes > 0, high / some, 1.0)


def _counts(k: np.ndarray, n: np.ndarray, size: np.ndarray, level: float, *, lower: bool) -> np.ndarray:
    """Return the least, or the greatest, K among `size` items that `n` draws, `k` of which showed it, do not rule out.

    The probability of k rises with K up to one place and falls from there; beyond k and size - (n - k) it is 0.
    """
    k, n, size = np.broadcast_arrays(k, n, size)
    first, last = k, size - (n - k)
    top = np.clip(k * (size + 1) // np.maximum(n, 1), first, last)

    def held(value: np.ndarray) -> np.ndarray:
        ways = _log_choose(value, k) + _log_choose(size - value, n - k) - _log_choose(size, n)
        return ways >= _least(n, level)

    inner, outer = top, first if lower else last
    inner = np.where(held(outer), outer, inner)
    while (far := np.abs(inner - outer) > 1).any():
        middle = (inner + outer) // 2
        is_held = held(middle)
        inner, outer = np.where(far & is_held, middle, inner), np.where(far & ~is_held, middle, outer)
    return inner


def _rates(k: np.ndarray, n: np.ndarray, level: float, *, lower: bool) -> np.ndarray:
    """Return the least, or the greatest, rate that `n` draws, `k` of which showed it, do not rule out."""
    k, n = np.broadcast_arrays(k, n)
    outer = np.full(k.shape, 0.0 if lower else 1.0)
    inner = np.where(n > 0, k / np.maximum(n, 1), outer)

    def held(rate: np.ndarray) -> np.ndarray:
        probability = _log_choose(n, k) + special.xlogy(k, rate) + special.xlog1py(n - k, -rate)
        return probability >= _least(n, level)

    inner = np.where(held(outer), outer, inner)
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2
        is_held = held(middle)
        inner, outer = np.where(is_held, middle, inner), np.where(is_held, outer, middle)
    return inner


def _least(n: np.ndarray, level: float) -> np.ndarray:
    """Return the logarithm of the probability of k below which a value is ruled out."""
    return np.log1p(-level) - np.log1p(n) - _ROUNDING


def _log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute log of n over k."""
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
