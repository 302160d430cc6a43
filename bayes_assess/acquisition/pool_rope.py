"""Masses of the difference of two groups or systems in a finite pool that is partly labelled.

Of the n items of a group N are labelled, r of them in agreement. The other R = n - N items agree K times,
K ~ BetaBinomial(R, a, b), so that the accuracy in the pool is X = (r + K) / n. For D = X_1 - X_2 one of the two is
summed over and the other enters by its distribution function,

    P(D > eps) = sum_k P(K_1 = k) P(X_2 < (r_1 + k) / n_1 - eps),

so that everything is exact where few items are unlabelled. A count spread over very many integers is R times a Beta
variable with the mean and variance of the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Bool, Float, Int

_EXACT_BELOW_SD = 32.0  # standard deviations of a count, in items, up to which it is summed exactly
_WINDOW_SDS = 12.0
_NODES = 512  # quantiles of a count that is not
_STATES = 1 << 20  # numbers at a time
_NEARLY = 1e-6  # items: differences of exactly eps must not be lost to rounding
_FEW = 32  # decided items, up to which it is summed exactly how many the first of two systems wins


def pool_rope_masses(
    counts: Int[np.ndarray, "*batch G 2"],
    size: Int[np.ndarray, " G"],
    a: Float[np.ndarray, "*batch G"],
    b: Float[np.ndarray, "*batch G"],
    first: Int[np.ndarray, " P"],
    second: Int[np.ndarray, " P"],
    rope: float,
) -> Float[np.ndarray, "*batch P 3"]:
    """Compute P(D < -rope), P(|D| <= rope) and P(D > rope) for the accuracies of pairs of groups in a pool.

    Parameters
    ----------
    counts : (..., G, 2) integers
        Labelled items of every group that disagree and that agree with their predictions.
    size : (G,) integers
        Items of every group. A group without items has the accuracy of the population.
    a, b : (..., G)
        Posterior parameters of the groups' accuracies.
    first, second : (P,) integers
        The pairs; D is the accuracy of the first less that of the second.
    rope : float in [0, 1)

    Returns
    -------
    (..., P, 3) masses, which sum to 1. Where everything is labelled one of them is 1.

    Examples
    --------
    >>> counts, size = np.array([[1, 9], [3, 6]]), np.array([10, 10])
    >>> a, b = np.array([10.0, 7.0]), np.array([2.0, 4.0])
    >>> first, second = np.array([0]), np.array([1])
    >>> pool_rope_masses(counts, size, a, b, first, second, 0.2).round(4).tolist()  # D is 0.3, or 0.2 with 7 / 11
    [[0.0, 0.6364, 0.3636]]
    """
    shape = a.shape[:-1]
    n_groups = a.shape[-1]
    flat = counts.reshape(-1, n_groups, 2), a.reshape(-1, n_groups), b.reshape(-1, n_groups)
    all_masses = np.empty((len(flat[0]), len(first), 3))
    step = max(1, _STATES // (_NODES * (n_groups + len(first))))
    pairs_at_once = max(1, _STATES // _NODES)
    for start in range(0, len(all_masses), step):
        counts_, a_, b_ = (x[start : start + step] for x in flat)
        n_states = len(a_)
        distributions = _counts_of(counts_[..., 1].ravel(), counts_.sum(-1).ravel(), np.tile(size, n_states), a_, b_)
        base = n_groups * np.arange(n_states)[:, None]
        first_places, second_places = (base + first).ravel(), (base + second).ravel()
        masses = [
            _difference(distributions, first_places[i : i + pairs_at_once], second_places[i : i + pairs_at_once], rope)
            for i in range(0, len(first_places), pairs_at_once)
        ]
        all_masses[start : start + step] = np.concatenate(masses).reshape(n_states, len(first), 3)
    return all_masses.reshape(*shape, len(first), 3)


def paired_pool_rope_masses(
    alpha: Float[np.ndarray, "*batch 4"],
    difference: Int[np.ndarray, "*batch"],
    rest: Int[np.ndarray, "*batch"],
    n_items: int,
    rope: float,
) -> Float[np.ndarray, "*batch 3"]:
    """Compute P(D < -rope), P(|D| <= rope) and P(D > rope) for two systems on the items of a pool.

    Of the R unlabelled items on which they may differ in being right, E ~ BetaBinomial(R, alpha_1 + alpha_2,
    alpha_0 + alpha_3) do, and the first wins W ~ BetaBinomial(E, alpha_1, alpha_2) of those: the difference is
    D = (d + 2 W - E) / M.

    Parameters
    ----------
    alpha : (..., 4)
        Posterior parameters in the order of `paired_outcomes.OUTCOMES`; those of impossible outcomes are 0.
    difference : (...) integers
        Labelled items that the first alone has right, less those that the second alone has: d.
    rest : (...) integers
        Unlabelled items: R.
    n_items : int
        Items of the pool, labelled or not and whether the systems agree or not: M.
    rope : float in [0, 1)

    Examples
    --------
    >>> alpha = np.array([0.0, 1.0, 1.0, 0.0])  # two unlabelled items, of which the first wins 0, 1 or 2
    >>> paired_pool_rope_masses(alpha, np.array(1), np.array(2), 10, 0.1).round(4).tolist()
    [0.0, 0.6667, 0.3333]
    """
    shape = alpha.shape[:-1]
    flat = alpha.reshape(-1, 4), np.ravel(difference), np.ravel(np.broadcast_to(rest, shape))
    all_masses = np.empty((len(flat[0]), 3))
    step = max(1, _STATES // (_FEW + 1) ** 2)
    for start in range(0, len(all_masses), step):
        alpha_, d, rest_ = (x[start : start + step] for x in flat)
        both, first, second, neither = alpha_.T
        tied = np.maximum(both + neither, 1e-12)  # 0 where no other outcome is possible
        decided = _counts_of(np.zeros_like(rest_), np.zeros_like(rest_), rest_, first + second, tied)
        share, weight = decided.nodes(np.arange(len(rest_)))
        e = share * np.maximum(rest_, 1)[:, None]
        e = np.where(rest_[:, None] > 0, e, 0.0)
        bar = rope * n_items
        above = (bar - d[:, None] + e) / 2
        below = (-bar - d[:, None] + e) / 2
        won = _Wins(first, second)
        masses = _completed(
            (weight * won.up_to(np.ceil(below - _NEARLY) - 1, e)).sum(-1),
            (weight * (1 - won.up_to(np.floor(above + _NEARLY), e))).sum(-1),
        )
        all_masses[start : start + step] = masses
    return all_masses.reshape(*shape, 3)


@dataclass(frozen=True)
class _Counts:
    """J accuracies X = (r + K) / n in a pool, K ~ BetaBinomial(R, a, b)."""

    r: Float[np.ndarray, " J"]
    rest: Int[np.ndarray, " J"]
    n: Float[np.ndarray, " J"]  # 1 for a group without items, whose accuracy is the Beta variable itself
    agreeing: Float[np.ndarray, " J"]  # a
    other: Float[np.ndarray, " J"]  # b
    scale: Float[np.ndarray, " J"]  # X = (r + scale * Beta(matched_a, matched_b)) / n, nearly
    matched_a: Float[np.ndarray, " J"]
    matched_b: Float[np.ndarray, " J"]
    spread: Float[np.ndarray, " J"]  # standard deviation of X
    summed: Bool[np.ndarray, " J"]  # whether K is summed exactly

    @cached_property
    def table(self) -> tuple[np.ndarray, ...]:
        """Windows of the counts that are summed: first count, probabilities (J, L), and an atom for what lies outside.

        The atom has the mass that the window leaves over, and lies at its mean.
        """
        n, a, b = np.where(self.summed, self.rest, 0), self.agreeing, self.other
        mean = n * a / (a + b)
        half = np.ceil(_WINDOW_SDS * np.where(self.summed, self.spread * self.n, 0.0)).astype(np.int64) + 1
        center = np.floor(mean).astype(np.int64)
        low, high = np.maximum(center - half, 0), np.minimum(center + half, n)
        k = low[:, None] + np.arange(int((high - low).max(initial=0)) + 1)
        inside = k <= high[:, None]
        k = np.minimum(k, high[:, None])
        n_, a_, b_ = n[:, None], a[:, None], b[:, None]
        before = k[:, 1:] - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log((n_ - before) * (a_ + before)) - np.log((before + 1) * (b_ + (n_ - before - 1)))
        log_p = np.zeros(k.shape)
        log_p[:, 1:] = np.cumsum(np.where(inside[:, 1:], ratio, 0.0), axis=1)
        at = special.betaln(center + a, n - center + b) - special.betaln(a, b)
        at -= np.log(n + 1) + special.betaln(n - center + 1, center + 1)
        log_p += (at - log_p[np.arange(len(n)), center - low])[:, None]
        p = np.where(inside, np.exp(log_p), 0.0)
        outside = np.maximum(1 - p.sum(1), 0.0)
        sure = outside < 1e-9
        p /= np.where(sure, p.sum(1), 1.0)[:, None]
        outside = np.where(sure, 0.0, outside)
        atom = np.clip((mean - (p * k).sum(1)) / np.where(sure, 1.0, outside), 0, n)
        return low, k, p, outside, atom

    @cached_property
    def cumulated(self) -> np.ndarray:
        """Probabilities of at most every count of the window, the atom left out."""
        return np.cumsum(self.table[2], axis=1)

    def nodes(self, j: Int[np.ndarray, " P"]) -> tuple[Float[np.ndarray, "P L"], Float[np.ndarray, "P L"]]:
        """Accuracies and their probabilities, to take means over."""
        summed = self.summed[j]
        _, k, p, outside, atom = self.table
        length = max(k.shape[1] + 1 if summed.any() else 0, _NODES if not summed.all() else 0)
        x, weight = np.zeros((len(j), length)), np.zeros((len(j), length))
        rows = np.flatnonzero(summed)
        if len(rows):
            some = j[rows]
            x[rows, : k.shape[1]], weight[rows, : k.shape[1]] = k[some], p[some]
            x[rows, k.shape[1]], weight[rows, k.shape[1]] = atom[some], outside[some]
        rows = np.flatnonzero(~summed)
        if len(rows):
            some, place = np.unique(j[rows], return_inverse=True)
            levels = (np.arange(_NODES) + 0.5) / _NODES
            quantiles = special.betaincinv(self.matched_a[some, None], self.matched_b[some, None], levels)
            x[rows, :_NODES] = (self.scale[some, None] * quantiles)[place]
            weight[rows, :_NODES] = 1 / _NODES
        return (self.r[j, None] + x) / self.n[j, None], weight

    def at_most(self, j: Int[np.ndarray, " P"], k: Float[np.ndarray, "P L"]) -> Float[np.ndarray, "P L"]:
        """Compute P(K <= k) for whole numbers k; for groups without items, P(K <= k) for any k."""
        probabilities = np.empty(k.shape)
        summed = self.summed[j]
        rows = np.flatnonzero(summed)
        if len(rows):
            some, k_ = j[rows], k[rows]
            low, window, _, outside, atom = self.table
            at = k_ - low[some, None]
            last = window.shape[1] - 1
            inside = np.take_along_axis(self.cumulated[some], np.clip(at, 0, last).astype(np.int64), axis=1)
            probabilities[rows] = np.where(at < 0, 0.0, inside) + outside[some, None] * (k_ >= atom[some, None])
        rows = np.flatnonzero(~summed)
        if len(rows):
            some, k_ = j[rows], k[rows]
            discrete = self.rest[some, None] > 0
            share = np.clip((k_ + 0.5 * discrete) / self.scale[some, None], 0, 1)
            value = special.betainc(self.matched_a[some, None], self.matched_b[some, None], share)
            probabilities[rows] = np.where(discrete & (k_ < 0), 0.0, value)
        return probabilities


def _counts_of(successes, labelled, size, a, b) -> _Counts:
    """Set up the distributions of J counts from flat arrays."""
    r, a, b = np.ravel(successes).astype(np.float64), np.ravel(a).astype(np.float64), np.ravel(b).astype(np.float64)
    rest, empty = np.ravel(size - labelled).astype(np.int64), np.ravel(size) == 0
    total = a + b
    mean = a / total
    sd = np.sqrt(rest * mean * (1 - mean) * (total + rest) / (total + 1))
    n = np.where(empty, 1.0, np.ravel(size))
    matched = np.where(rest > 0, rest * (total + 1) / (total + np.maximum(rest, 1)) - 1, 1.0)
    matched = np.where(empty, total, np.maximum(matched, 1e-300))
    return _Counts(
        r=r,
        rest=rest,
        n=n,
        agreeing=a,
        other=b,
        scale=np.where(empty, 1.0, rest),
        matched_a=mean * matched,
        matched_b=(1 - mean) * matched,
        spread=np.where(empty, np.sqrt(mean * (1 - mean) / (total + 1)), sd / n),
        summed=~empty & (sd <= _EXACT_BELOW_SD),
    )


def _difference(distributions: _Counts, first: np.ndarray, second: np.ndarray, rope: float) -> Float[np.ndarray, "P 3"]:
    """Masses of X_first - X_second: a count that is summed exactly is summed over, else the narrower of the two."""
    alike = distributions.summed[first] == distributions.summed[second]
    swapped = np.where(alike, distributions.spread[first] < distributions.spread[second], distributions.summed[first])
    wide, narrow = np.where(swapped, second, first), np.where(swapped, first, second)
    x, weight = distributions.nodes(narrow)
    n, r = distributions.n[wide, None], distributions.r[wide, None]
    above, below = n * (x + rope) - r, n * (x - rope) - r  # what K must exceed, or stay below
    discrete = (distributions.summed | (distributions.rest > 0))[wide, None]
    above = np.where(discrete, np.floor(above + _NEARLY), above)
    below = np.where(discrete, np.ceil(below - _NEARLY) - 1, below)
    masses = _completed(
        (weight * distributions.at_most(wide, below)).sum(-1),
        (weight * (1 - distributions.at_most(wide, above))).sum(-1),
    )
    return np.where(swapped[:, None], masses[:, ::-1], masses)


class _Wins:
    """How many of E decided items the first of two systems wins: BetaBinomial(E, a, b)."""

    def __init__(self, a: Float[np.ndarray, " J"], b: Float[np.ndarray, " J"]):
        self.first, self.second = a[:, None], b[:, None]
        e, k = np.indices((_FEW + 1, _FEW + 1))
        a, b, inside = a[:, None, None], b[:, None, None], k <= e
        wins = np.where(inside, k, 0)
        log_p = special.betaln(wins + a, e - wins + b) - special.betaln(a, b)
        log_p = log_p - np.log(e + 1) - special.betaln(e - wins + 1, wins + 1)
        self.cumulated = np.cumsum(np.where(inside, np.exp(log_p), 0.0), axis=-1)  # (J, E, k)

    def up_to(self, k: Float[np.ndarray, "J L"], e: Float[np.ndarray, "J L"]) -> Float[np.ndarray, "J L"]:
        """Compute P(W <= k), for many decided items as for E times a Beta variable."""
        total, row = self.first + self.second, np.arange(len(k))[:, None]
        few = np.clip(np.rint(e), 0, _FEW).astype(np.int64)
        exact = self.cumulated[row, few, np.clip(k, 0, _FEW).astype(np.int64)]
        matched = np.maximum(e * (total + 1) / (total + e) - 1, 1e-300)
        share = np.clip((k + 0.5) / np.maximum(e, 1), 0, 1)
        nearly = special.betainc(self.first / total * matched, self.second / total * matched, share)
        return np.where(k < 0, 0.0, np.where(k >= e, 1.0, np.where(e <= _FEW, exact, nearly)))


def _completed(below: Float[np.ndarray, " P"], above: Float[np.ndarray, " P"]) -> Float[np.ndarray, "P 3"]:
    """Masses with the middle one as the rest; rounding never makes it negative."""
    below, above = np.clip(below, 0, 1), np.clip(above, 0, 1)
    total = np.maximum(below + above, 1)
    return np.stack([below / total, np.maximum(1 - (below + above) / total, 0.0), above / total], axis=-1)
