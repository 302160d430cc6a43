r"""Sampling of a ranked list's precision curve: at which ranks to query it, and how many labels that takes ([ADA]).

All items of a prefix are labelled. Beyond, the precision is estimated at ranks r_1 < ... < r_K = N, each within a
factor beta from s random labels. Estimates share the labels of the ranks before: the stratum (r_{i-1}, r_i] needs the
density s / r_i only, as denser strata serve the ranks before. With weak monotonicity the `Envelope` does the rest: the
geometric mean of its bounds is within beta (1 + epsilon) of the curve everywhere, with probability 1 - delta.

`adastrat` bisects where the envelope is too high, `logstrat` takes a geometric grid. Nothing here costs O(N).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.precision_envelope import Envelope
from bayes_assess.errors import DesignError

Ranks = Int[np.ndarray, " k"]
Values = Float[np.ndarray, " k"]

_WHOLE = 1e-9  # distance from a whole logarithm that rounding may leave


def prefix_length(epsilon: float, slack: int, monotone_from: int) -> int:
    r"""Compute how many items are labelled at the top of the list ([ADA] sec. 4).

    .. math:: \tilde l = \max\left\{ \left\lceil \frac{(1 + \epsilon)^2 m}{2 \epsilon + \epsilon^2} \right\rceil,
              \tilde r \right\}

    From there on the slack m is so short that the envelope of ranks l and r <= (1 + epsilon)^2 l is low enough.

    Parameters
    ----------
    epsilon : float above 0
        The curve is approximated within a factor 1 + epsilon.
    slack, monotone_from : int
        m and the first rank of weak monotonicity.

    Examples
    --------
    >>> prefix_length(0.03, slack=100, monotone_from=3492), prefix_length(0.03, slack=400, monotone_from=3492)
    (3492, 6969)
    """
    _check_epsilon(epsilon)
    if slack < 1 or monotone_from < 1:
        raise DesignError(
            f"Weak monotonicity has a slack and a first rank of at least 1; found {show(slack)} and "
            f"{show(monotone_from)}."
        )
    return max(math.ceil((1 + epsilon) ** 2 * slack / (2 * epsilon + epsilon**2) - _WHOLE), monotone_from)


def telling_ranks(precision: Values, slack: int, monotone_from: int) -> Ranks:
    r"""Find the ranks of a prefix labelled whole whose precisions bound the curve beyond it ([ADA] Algorithm 1).

    Algorithm 1 takes the bounds of every rank y of the prefix. Beyond it, C(v) <= C(y) + floor(m p(y)) for v <= y + m,
    and p(v) <= p(y) after that; all other bounds are no sharper than those of the prefix's last rank. Of the first kind
    only ranks count that no later one undercuts, of the second only those that no earlier one does.

    Parameters
    ----------
    precision : (l,)
        Of the first 1, ..., l items.
    slack, monotone_from : int
        m and the first rank of weak monotonicity.

    Returns
    -------
    (n,) increasing ranks below l, the bounds of which with those of l are all that is known of ranks beyond l.

    Examples
    --------
    >>> p = np.cumsum([1, 1, 0, 0, 0, 1, 1, 1, 1, 1]) / np.arange(1, 11)  # least at 5, which bounds all from 5 + m on
    >>> telling_ranks(p, slack=2, monotone_from=1)
    array([5, 9])
    """
    p = np.asarray(precision, np.float64)
    y = np.arange(monotone_from, len(p) + 1)
    if len(y) < 2:
        return np.zeros(0, np.int64)
    p = p[y - 1]
    lowest_before = np.minimum.accumulate(np.append(np.inf, p[:-1]))
    # A rank further than the slack from the end counts if it is the lowest of those.
    far = y + slack <= y[-1]
    rates = np.where(far, False, p < lowest_before)
    if far.any():
        rates[int(p[far].argmin())] = True
    up_to = np.rint(y * p) + np.floor(slack * p + _WHOLE)
    lowest_after = np.minimum.accumulate(np.append(np.inf, up_to[:0:-1]))[::-1]
    steps = ~far & (up_to < lowest_after)
    return y[:-1][(rates | steps)[:-1]]


def geometric_ranks(n_items: int, prefix: int, epsilon: float) -> Ranks:
    """List the ranks that LogStrat and PAULA query, ceil((1 + epsilon)^j), j = l + 1, ..., L ([ADA] Theorem 1).

    l is the first power of 1 + epsilon that, rounded up, reaches the prefix, and L the last that N reaches. The rank of
    L is moved to N, so that no tail is left to extrapolate: the gap before it, like the one from the prefix to the
    first, is then a factor of less than (1 + epsilon)^2, at which AdaStrat stops, too.

    Parameters
    ----------
    n_items, prefix : int
    epsilon : float above 0

    Returns
    -------
    (L - l,) increasing ranks above the prefix, N the last; N alone if L <= l, none if all items are in the prefix.
    Powers that round to the same rank, below a prefix of about 1 / epsilon, count once.

    Examples
    --------
    >>> [len(geometric_ranks(35_615 * times, 3492, 0.03)) for times in (1, 10, 100, 1000)]  # [ADA] Figure 2
    [78, 156, 234, 312]
    >>> geometric_ranks(300, 100, 0.25)
    array([136, 170, 212, 300])
    """
    _check_epsilon(epsilon)
    if prefix >= n_items:
        return np.zeros(0, np.int64)
    below = math.floor(_logarithm(prefix - 1, epsilon) + _WHOLE) if prefix > 1 else -1
    last = math.floor(_logarithm(n_items, epsilon) + _WHOLE)
    powers = (1 + epsilon) ** np.arange(below + 2, last, dtype=np.float64)
    inner = np.ceil(powers).astype(np.int64)
    return np.append(np.unique(inner[(inner > prefix) & (inner < n_items)]), n_items)


def bisect(ranks: Ranks, heights: Float[np.ndarray, " k-1"], epsilon: float) -> Ranks:
    """Find the ranks that AdaStrat queries next, one in every interval that is still open ([ADA] Algorithm 1).

    An interval [l, r] is closed where the envelope's height or r / l is at most (1 + epsilon)^2. One round takes the
    geometric middle of every open interval. Algorithm 1 goes down into one half before the other; the ranks queried are
    the same as long as only the two ends of an interval bound the curve in it, which is so of precisions that are known
    at ranks at least the slack apart. A round of all intervals can be labelled at once.

    Parameters
    ----------
    ranks : (k,) integers
        The prefix, the ranks queried and the end of the list, increasing.
    heights : (k - 1,)
        Between neighbours: `Envelope.gaps` of the estimates.
    epsilon : float above 0

    Returns
    -------
    (n,) increasing ranks round(sqrt(l r)); none if all intervals are closed.

    Examples
    --------
    >>> bisect(np.array([100, 400, 3600, 3700]), np.array([1.02, 1.3, 1.2]), epsilon=0.03)
    array([1200])
    """
    _check_epsilon(epsilon)
    ranks, enough = np.asarray(ranks, np.int64), (1 + epsilon) ** 2
    left, right = ranks[:-1], ranks[1:]
    middle = np.rint(np.sqrt(left.astype(np.float64) * right)).astype(np.int64)
    open_ = (np.asarray(heights) > enough) & (right > enough * left) & (left < middle) & (middle < right)
    return middle[open_]


def adastrat(
    query: Callable[[int], float],
    n_items: int,
    prefix_precision: float,
    *,
    epsilon: float,
    slack: int,
    prefix: int,
    monotone_from: int | None = None,
) -> tuple[Ranks, Envelope]:
    """Query a precision curve by adaptive stratified sampling ([ADA] Algorithm 1).

    Parameters
    ----------
    query : callable
        Takes a rank, returns the precision there or an estimate.
    n_items : int
        N.
    prefix_precision : float
        The precision at the end of the prefix.
    epsilon : float above 0
    slack, prefix : int
        m of weak monotonicity, and the items labelled at the top (`prefix_length`).
    monotone_from : int, optional
        First rank of weak monotonicity; the prefix by default.

    Returns
    -------
    The ranks queried, increasing, at most log(N / prefix) to the base 1 + epsilon or one ([ADA] Theorem 4); and the
    envelope of their values and the prefix's. Where values are exact, sqrt(lower upper) is within a factor 1 + epsilon
    of the curve from the prefix on.

    Examples
    --------
    >>> ranks, envelope = adastrat(lambda r: 0.5 + 20 / r, 10**9, 0.7, epsilon=0.03, slack=2, prefix=100)
    >>> ranks.tolist()
    [114, 129, 166, 213, 274, 453, 750, 5623, 316228, 1000000000]
    >>> bool(envelope.height(100, 10**9) <= 1.03**2)
    True
    """
    known = {prefix: float(prefix_precision)}
    new = [n_items] if n_items > prefix else []
    start = prefix if monotone_from is None else monotone_from
    while True:
        known |= {rank: float(query(rank)) for rank in new}
        ranks = np.array(sorted(known))
        values = np.array([known[rank] for rank in ranks.tolist()])
        envelope = Envelope(ranks, values, values, slack, n_items, start)
        new = bisect(ranks, envelope.gaps(), epsilon).tolist()
        if not new:
            return ranks[1:], envelope


def logstrat(
    query: Callable[[int], float],
    n_items: int,
    prefix_precision: float,
    *,
    epsilon: float,
    slack: int,
    prefix: int,
    monotone_from: int | None = None,
) -> tuple[Ranks, Envelope]:
    """Query a precision curve at the ranks of a geometric grid: LogStrat, with the envelope of [ADA] between them.

    Parameters and what is returned are those of `adastrat`.

    Examples
    --------
    >>> ranks, envelope = logstrat(lambda r: 0.5 + 20 / r, 200, 0.7, epsilon=0.25, slack=2, prefix=100)
    >>> ranks.tolist(), bool(envelope.height(100, 200) <= 1.25**2)
    ([136, 200], True)
    """
    ranks = geometric_ranks(n_items, prefix, epsilon)
    values = np.array([prefix_precision, *map(query, ranks.tolist())], np.float64)
    start = prefix if monotone_from is None else monotone_from
    return ranks, Envelope(np.append(prefix, ranks), values, values, slack, n_items, start)


def strata_needed(ranks: Ranks, prefix: int, s: int) -> Ranks:
    """Count the labels that each stratum needs for s random labels up to every rank ([ADA] sec. 4.3, strategy S).

    Parameters
    ----------
    ranks : (k,) integers
        Increasing, above the prefix.
    prefix : int
        Items labelled anyway, r_0.
    s : int
        `samples_per_point`.

    Returns
    -------
    (k,) integers: ceil((r_i - r_{i-1}) s / r_i) in the stratum (r_{i-1}, r_i], at most all of its items.

    Examples
    --------
    >>> strata_needed(np.array([2000, 4000]), 1000, 600)
    array([300, 300])
    """
    ends = np.asarray(ranks, np.int64)
    sizes = np.diff(ends, prepend=prefix)
    return np.minimum(-(-sizes * s // ends), sizes)


def random_prefix(n_items: int, s: int) -> int:
    """Choose the prefix of plain random sampling: all items up to it, the others at the uniform density s / prefix.

    That leaves s random labels up to every rank beyond. The labels n + (N - n) s / n are fewest, 2 sqrt(N s) - s, at
    n = sqrt(N s). For the curve within a factor beta (1 + epsilon), as of the other methods, s is
    `samples_per_point` of all N ranks for that factor.

    Examples
    --------
    >>> from bayes_assess.estimators.precision_bounds import samples_per_point
    >>> n_items = 3_561_500
    >>> s = samples_per_point(n_items, 1.05 * 1.03, 0.05, 0.5)
    >>> n = random_prefix(n_items, s)
    >>> n, round(n + (n_items - n) * s / n)  # [ADA] Figure 3 has about 284,000 labels
    (141904, 278154)
    """
    return min(n_items, max(1, round(math.sqrt(n_items * s))))


def _logarithm(value: int, epsilon: float) -> float:
    return math.log(value) / math.log1p(epsilon)


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon < math.inf:
        raise DesignError(f"epsilon, by which a curve may be off, is above 0; found {show(epsilon)}.")
