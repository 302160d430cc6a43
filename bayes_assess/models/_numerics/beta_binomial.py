"""Probabilities of labels in one order where the rate of every cell is a Beta variable, in 32 bits.

Of k events among n labels of a cell whose rate is Beta(nu m, nu (1 - m)),

    p = prod_{i<k} (m + i / nu) prod_{i<n-k} (1 - m + i / nu) / prod_{i<n} (1 + i / nu) :

no large numbers cancel, as they would among logarithms of Gamma functions.

Shapes: particles S, cells K.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int

N_FACTORS = 4  # that are multiplied; where there are more, those from the fifth on have their logarithm by a series


class _Factors(NamedTuple):
    """Where factors are, on NumPy: in a table with rows m of cells with events, 1 - m of all cells, and a last one, 1.

    Attributes
    ----------
    with_events : (E,) integers
        Cells.
    none : (c,) integers
        Rows without factors.
    several : two of (r,) integers
        Rows and cells of products of two factors or more, those of most first.
    upto : tuple of int
        How many of these have more than one, more than two, and so on, up to `N_FACTORS`.
    above, below : two of (c,) integers
        Places in `several` of products that are multiplied, and of those that divide, and which rows.
    many : two of (f,) integers
        Rows and cells of products of more than `N_FACTORS`: with events, without, of all.
    rest : (f, 1)
        How many more factors these have.
    kinds : list of slice
        Which of these are of every kind.
    """

    with_events: Int[np.ndarray, " E"]
    none: Int[np.ndarray, " c"]
    several: tuple[Int[np.ndarray, " r"], Int[np.ndarray, " r"]]
    upto: tuple[int, ...]
    above: tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]
    below: tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]
    many: tuple[Int[np.ndarray, " f"], Int[np.ndarray, " f"]]
    rest: Float[np.ndarray, "f 1"]
    kinds: list[slice]

    @classmethod
    def of(cls, k: Float[np.ndarray, " K"], n: Float[np.ndarray, " K"]) -> _Factors:
        """Find them."""
        with_events, every = np.flatnonzero(k > 0), np.arange(len(n))
        n_events, n_rows = len(with_events), len(with_events) + len(n)
        number = np.concatenate([k[with_events], n - k, n])
        cell = np.concatenate([with_events, every, every])
        upto = tuple(int(np.count_nonzero(number > i)) for i in range(1, N_FACTORS))
        several = np.argsort(-number, kind="stable")[: upto[0]]
        above, below = np.flatnonzero(several < n_rows), np.flatnonzero(several >= n_rows)
        many = np.flatnonzero(number > N_FACTORS)
        ends = [0, *np.searchsorted(many, [n_events, n_rows]).tolist(), len(many)]
        return cls(
            with_events=with_events,
            none=np.flatnonzero(number[:n_rows] <= 0),
            several=(np.minimum(several, n_rows), cell[several]),
            upto=upto,
            above=(above, several[above]),
            below=(below, several[below] - len(n)),
            many=(np.minimum(many, n_rows), cell[many]),
            rest=number[many, None] - N_FACTORS,
            kinds=[slice(*pair) for pair in pairwise(ends)],
        )


@partial(register_dataclass, data_fields=["k", "n", "parts"], meta_fields=[])
@dataclass(frozen=True)
class CellLabels:
    """Labels of cells.

    Attributes
    ----------
    k, n : (K,)
        How many show the event, and how many there are.
    parts : (K, P), optional
        Shares of every cell in parts whose sums are wanted.
    """

    k: Float[Array, " K"]
    n: Float[Array, " K"]
    parts: Float[Array, "K P"] | None = None

    @engine.kept
    def factors(self) -> _Factors:
        """Return where factors are."""
        return _Factors.of(np.asarray(self.k), np.asarray(self.n))

    @engine.kept
    def parts_of(self) -> list[Float[np.ndarray, "c P"]] | None:
        """Return the parts of cells with events, of all, and of the kinds of `_Factors.many`, in 64 bits."""
        if self.parts is None:
            return None
        factors, parts = self.factors(), np.asarray(self.parts, np.float64)
        return [parts[factors.with_events], parts, *(parts[factors.many[1][kind]] for kind in factors.kinds)]


def log_likelihood(
    share: Float[Array, "S K"], strength: Float[Array, "S K"], k: Float[Array, " K"], n: Float[Array, " K"]
) -> Float[Array, " S"]:
    """Compute the log probability of labels in one order, cells' own rates integrated out, (S,)."""
    if not engine.is_eager():
        share, strength = share.T, strength.T
    return log_terms(share, 1 / strength, CellLabels(k, n)).sum(0)


def log_terms(share: Array, scatter: Array, labels: CellLabels) -> Float[Array, "T S"]:
    """Compute terms that add up to the log probability of labels.

    Compiled, there is one for every cell, and cells come first: what is one cell's is the same for all particles of a
    vector, and sums over cells add up vectors.

    Parameters
    ----------
    share, scatter : (K, S), or (S, K) on NumPy
        m, and 1 / nu.
    labels : CellLabels
        On NumPy, what follows from them alone is computed once.

    Returns
    -------
    (K, S), or (1, S) on NumPy, or (P, S) sums of parts
    """
    if engine.is_eager():
        return _eager_likelihood(np.asarray(share), np.asarray(scatter), labels)
    k, n, parts = labels.k[:, None], labels.n[:, None], labels.parts
    complement, one, strength = 1 - share, xp.ones_like(share), 1 / scatter
    # One logarithm of all first factors: their product is no less than 1e-36, and no more than 1e4.
    ratio = _first_factors(share, scatter, k) * _first_factors(complement, scatter, n - k)
    seen = engine.log_of_normal(ratio / _first_factors(one, scatter, n))

    def more(start, number):
        rest = xp.maximum(number - N_FACTORS, 0.0)
        # Most blocks of cells have no further factors of one kind or other, and those of others are left out.
        further = lambda: _from_fifth(start, scatter, strength, rest)  # noqa: E731
        return engine.cond(rest.any(), further, lambda: xp.zeros_like(seen))

    terms = seen + more(share, k) + more(complement, n - k) - more(one, n)
    return terms if parts is None else xp.matmul(parts.T, terms, precision="highest")


def _first_factors(
    start: Float[Array, "K S"], step: Float[Array, "K S"], n: Float[Array, "K 1"]
) -> Float[Array, "K S"]:
    """Compute start (start + step) ... of `n` factors, or of the first four where there are more."""
    product = xp.where(n > 0, start, 1.0)
    for i in range(1, N_FACTORS):
        product = xp.where(n > i, product * (start + i * step), product)
    return product


def _from_fifth(start: Array, step: Array, inverse: Array, rest: Array) -> Array:
    """Compute log of the factors from the fifth on by Stirling's series, log Gamma(y + rest) - log Gamma(y)."""
    first, last = start + N_FACTORS * step, start + (N_FACTORS + rest) * step  # y and y + rest, in steps
    from_first, from_last = 1 / first, 1 / last
    below, above = step * from_first, step * from_last
    series = (1 / 12 - above * above / 360) * above - (1 / 12 - below * below / 360) * below
    # log (1 + x) by the logarithm of 1 + x as it is rounded, and what rounding has left out: faster than log1p.
    rise = last * from_first
    log_rise = engine.log_of_normal(rise) + (rest * below - (rise - 1)) * (first * from_last)
    return (first * inverse - 0.5) * log_rise + rest * (engine.log_of_normal(last) - 1) + series


def _eager_likelihood(
    share: Float[np.ndarray, "S K"], scatter: Float[np.ndarray, "S K"], labels: CellLabels
) -> Float[Array, "P S"]:
    """Compute sums without the factors that are not there: most cells have few labels, and of one kind."""
    factors, parts = labels.factors(), labels.parts_of()
    n_events, n_rows = len(factors.with_events), len(factors.with_events) + share.shape[1]
    share, step = np.ascontiguousarray(share.T), np.ascontiguousarray(scatter.T)  # some cells are some rows
    table = np.empty((n_rows + 1, share.shape[1]), share.dtype)
    table[:n_events] = share[factors.with_events]
    np.subtract(1, share, table[n_events:n_rows])
    table[n_rows] = 1

    def summed(terms, kind):
        return terms.sum(0, keepdims=True) if parts is None else (parts[kind].T @ terms).astype(np.float32)

    further = []
    if len(factors.rest):
        (rows, cells), rest = factors.many, factors.rest
        further = _from_fifth(table[rows], step[cells], 1 / step[cells], rest)
    logs = np.log(_ratios(table, step, factors))
    seen = summed(logs[n_events:], 1)
    if n_events:
        seen += summed(logs[:n_events], 0)
    for number, kind in enumerate(factors.kinds):
        if kind.stop > kind.start:
            seen += (-1 if number == 2 else 1) * summed(further[kind], 2 + number)
    return seen


def _ratios(
    table: Float[np.ndarray, "R+1 S"], step: Float[np.ndarray, "K S"], factors: _Factors
) -> Float[np.ndarray, "R S"]:
    """Compute the products of the first four factors, or of as many as there are; those of all labels divide others."""
    rows, cells = factors.several
    start, step = table[rows], step[cells]
    product = start.copy()
    for i, n in enumerate(factors.upto, 1):
        product[:n] *= start[:n] + np.float32(i) * step[:n]
    table[factors.none] = 1
    (above, times), (below, divided) = factors.above, factors.below
    table[times] = product[above]
    table[divided] /= product[below]
    return table[:-1]
