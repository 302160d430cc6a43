r"""The envelope of a precision curve: what its values at a few ranks say of it everywhere ([ADA] sec. 3).

The precision p(v) of a ranked list is the share of positives among its first v items, and C(v) = v p(v) their number.
It is weakly monotone from the rank r on with slack m if ([ADA] Definition 1)

.. math:: p(r_1) \ge p(r_2) \quad\text{for } r_1 \ge r,\; r_1 + m \le r_2 \le N.

Given bounds L <= C(y) <= U at a rank y, the number of positives at another rank v is bounded by

.. math:: C(v) &\le U                        && v \le y \\
          C(v) &\le U + v - y                && v > y \\
          C(v) &\le U + \lfloor m U / y \rfloor && y < v \le y + m \le N,\; y \ge r \\
          C(v) &\le v U / y                  && v > y + m,\; y \ge r \\
          C(v) &\ge L                        && v \ge y \\
          C(v) &\ge L - (y - v)              && v < y \\
          C(v) &\ge L - \lfloor m L / y \rfloor && y - m \le v < y,\; y - m \ge r \\
          C(v) &\ge v L / y                  && r \le v \le y - m \\
          C(v) &\ge v L / (v + m)            && r \le v < y \le v + m \le N

and by 0 and v. These are the bounds of [ADA] Definition 2 with three changes. Theorem 2 needs y + m <= N where it steps
up: a list that ends before y + m has no rank whose precision would hold C(v) down. It needs y - m >= r where it steps
down, for the same reason. And the last bound, p(v) >= p(v + m) >= C(y) / (v + m), is new; it is above the step by up to
a share m / y of its height. Each is monotone in U or in whole L, so that bounds may stand where [ADA] has values, and
the envelope of several ranks is the intersection of theirs ([ADA] (3), (4)). Between whole numbers, the step down is
not monotone in L: it is taken of L rounded up, and is at most L.

In v every bound is a constant, v - B, r v, or v L / (v + m), on a range of ranks. So the list falls into O(k) segments
with at most three upper and four lower bounds each: of a kind only the sharpest counts. All ratios of an upper to a
lower bound are monotone in v. Hence the height, the greatest ratio, is found at ends of segments and at the ranks
beside crossings, whatever the length of the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import as_floats, show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import DesignError

Ranks = Int[np.ndarray, " n"]
Values = Float[np.ndarray, " n"]

_WHOLE = 1e-6  # distance from a whole number of positives that rounding of precisions may leave, up to 10^9 items


class _Segments(NamedTuple):
    """Ranges of ranks on which the same bounds hold, arrays (q,): the sharpest bound of every kind."""

    first: np.ndarray
    last: np.ndarray
    most: np.ndarray  # C <= most
    most_behind: np.ndarray  # C <= v - most_behind
    most_rate: np.ndarray  # C <= most_rate v
    least: np.ndarray  # C >= least
    least_behind: np.ndarray  # C >= v - least_behind
    least_rate: np.ndarray  # C >= least_rate v
    least_later: np.ndarray  # C >= least_later v / (v + m)

    def upper(self, v: np.ndarray) -> np.ndarray:
        """Return the most positives at ranks v of these segments."""
        return np.minimum(np.minimum(self.most, v - self.most_behind), self.most_rate * v)

    def lower(self, v: np.ndarray, slack: int) -> np.ndarray:
        """Return the fewest positives at ranks v of these segments."""
        level = np.maximum(self.least, v - self.least_behind)
        return np.maximum(level, np.maximum(self.least_rate * v, self.least_later * (v / (v + slack))))

    def crossings(self, slack: int) -> list[np.ndarray]:
        """Return real ranks at which one upper bound passes another, or one lower bound another."""
        sum_ = self.least_behind + self.least_later - slack  # of v^2 - sum_ v - least_behind m = 0
        with np.errstate(all="ignore"):
            return [
                self.most + self.most_behind,
                self.most / self.most_rate,
                self.most_behind / (1 - self.most_rate),
                self.least + self.least_behind,
                self.least / self.least_rate,
                self.least_behind / (1 - self.least_rate),
                self.least * slack / (self.least_later - self.least),
                self.least_later / self.least_rate - slack,
                (sum_ + np.sqrt(sum_**2 + 4 * self.least_behind * slack)) / 2,
            ]


@dataclass(frozen=True, eq=False)
class Envelope:
    """Bounds of a precision curve at all ranks, from bounds at k of them.

    Attributes
    ----------
    ranks : (k,) integers
        Increasing, from 1 to the number of items.
    lower, upper : (k,)
        Bounds of the precision at these ranks; equal where it is known.
    slack : int
        m of weak monotonicity, at least 1.
    n_items : int
        Length N of the list.
    monotone_from : int
        The rank from which on precision is weakly monotone.

    Raises
    ------
    DesignError
        If the ranks do not increase or leave the list, or a bound is no precision.

    Examples
    --------
    >>> envelope = Envelope(np.array([100, 400]), np.array([0.9, 0.6]), np.array([0.9, 0.6]), 10, 400, 50)
    >>> envelope.upper_at(np.array([105, 109, 200])).round(4).tolist()  # 5 and 9 more positives, then p(100)
    [0.9048, 0.9083, 0.9]
    >>> envelope.lower_at(np.array([105, 200])).round(4).tolist()  # no more positives; p(400)
    [0.8571, 0.6]
    >>> round(envelope.height(100, 400), 4)  # at 150 = 90 / 0.6
    1.5
    """

    ranks: Ranks
    lower: Values
    upper: Values
    slack: int
    n_items: int
    monotone_from: int
    by_windows: ClassVar[bool] = False

    def __post_init__(self):
        ranks = np.asarray(self.ranks, np.int64)
        lower, upper = as_floats(self.lower), as_floats(self.upper)
        if not len(ranks) or (np.diff(ranks) <= 0).any() or ranks[0] < 1 or ranks[-1] > self.n_items:
            raise DesignError(
                f"The ranks of an envelope increase from 1 up to the {self.n_items:,} items; found {show(ranks)}."
            )
        for bound in (lower, upper):
            good = (bound >= 0) & (bound <= 1)
            if bound.shape != ranks.shape or not good.all():
                raise DesignError(f"Bounds are precisions in [0, 1], one at each of {len(ranks)} ranks; found {bound}.")
        if self.slack < 1 or self.monotone_from < 1:
            raise DesignError(
                f"Weak monotonicity has a slack and a first rank of at least 1; found {show(self.slack)} and "
                f"{show(self.monotone_from)}."
            )
        for name, value in (("ranks", ranks), ("lower", lower), ("upper", upper)):
            object.__setattr__(self, name, value)

    @property
    def break_points(self) -> Ranks:
        """First and last ranks of the O(k) segments on which the same bounds hold, increasing.

        Examples
        --------
        >>> p = np.array([0.9, 0.6])
        >>> Envelope(np.array([100, 400]), p, p, 10, 400, 50).break_points[-4:].tolist()
        [390, 391, 399, 400]
        """
        first = self._segments.first
        return np.unique(np.concatenate([first, first[1:] - 1, [self.n_items]]))

    def upper_at(self, ranks: Ranks) -> Values:
        """Compute the greatest precision at given ranks ([ADA] (3)).

        Parameters
        ----------
        ranks : (n,) integers

        Returns
        -------
        (n,) in [0, 1].
        """
        v, segments = self._at(ranks)
        return segments.upper(v) / v

    def lower_at(self, ranks: Ranks) -> Values:
        """Compute the least precision at given ranks ([ADA] (4)).

        It is above `upper_at` where the bounds at the envelope's ranks contradict each other.

        Parameters
        ----------
        ranks : (n,) integers

        Returns
        -------
        (n,) in [0, 1].
        """
        v, segments = self._at(ranks)
        return segments.lower(v, self.slack) / v

    def positives_at(self, ranks: Ranks) -> tuple[Ranks, Ranks]:
        """Compute the fewest and the most positives up to given ranks: the envelope in whole numbers.

        Parameters
        ----------
        ranks : (n,) integers

        Returns
        -------
        (n,) integers each. No sharper ones follow from the precision at one rank y for ranks up to the slack m away,
        the end of the list and `monotone_from` being further off than that. Beyond, counts are whole at each of the
        ranks y + m, y + 2 m, ... too; to follow all of them would gain at most one item per m items, and is not done.

        Examples
        --------
        >>> envelope = Envelope(np.array([100]), np.array([0.5]), np.array([0.5]), 10, 400, 50)
        >>> envelope.positives_at(np.array([97, 103, 333]))
        (array([47, 50, 50]), array([ 50,  53, 166]))
        """
        v, segments = self._at(ranks)
        fewest, most = segments.lower(v, self.slack), segments.upper(v)
        return np.ceil(fewest - _WHOLE).astype(np.int64), np.floor(most + _WHOLE).astype(np.int64)

    def height(self, first: int, last: int) -> float:
        """Compute the greatest ratio of the upper to the lower bound from one rank to another ([ADA] sec. 3).

        Parameters
        ----------
        first, last : int
            Both are included.

        Returns
        -------
        The maximum over all ranks in between, found at O(k) of them; infinite where a lower bound is 0.
        """
        if not 1 <= first <= last <= self.n_items:
            raise DesignError(
                f"A height is taken from a rank of at least 1 to a later one of at most {self.n_items:,}; "
                f"found {show(first)} and {show(last)}."
            )
        start, stop = np.searchsorted(self._segments.first, [first, last], "right") + np.array([-1, 0])
        segments = _Segments(*(values[start:stop] for values in self._segments))
        first_, last_ = np.maximum(segments.first, first), np.minimum(segments.last, last)
        return float(_heights(segments._replace(first=first_, last=last_), self.slack).max())

    def gaps(self) -> Float[np.ndarray, " k-1"]:
        """Compute the heights from each rank of the envelope to the next.

        Returns
        -------
        (k - 1,) heights, both ends included.

        Examples
        --------
        >>> p = np.array([0.9, 0.8, 0.5])
        >>> Envelope(np.array([100, 400, 800]), p, p, 10, 800, 50).gaps().round(4).tolist()
        [1.125, 1.25]
        """
        heights = _heights(self._segments, self.slack)
        at = np.searchsorted(self._segments.first, self.ranks)
        return np.maximum(np.maximum.reduceat(heights, at)[:-1], heights[at[1:]])

    def contradiction(self) -> tuple[int, int] | None:
        """Find the two ranks whose bounds contradict weak monotonicity most.

        Returns
        -------
        The ranks (y1, y2), y2 >= y1 + m, for which the lower bound at y2 exceeds the upper bound at y1 by most; None if
        no lower bound exceeds an upper one that far ahead of it.

        Examples
        --------
        >>> p = np.array([0.5, 0.9])
        >>> Envelope(np.array([100, 400]), p, p, 10, 400, 50).contradiction()
        (100, 400)
        >>> Envelope(np.array([100, 400]), p - 0.4, p + 0.1, 10, 400, 50).contradiction() is None
        True
        """
        eligible = np.where(self.ranks >= self.monotone_from, self.upper, np.inf)
        least = np.minimum.accumulate(eligible)
        n_ahead = np.searchsorted(self.ranks, self.ranks - self.slack, "right")
        excess = np.where(n_ahead > 0, self.lower - least[n_ahead - 1], -np.inf)
        worst = int(excess.argmax())
        if not excess[worst] > 0:
            return None
        return int(self.ranks[eligible[: n_ahead[worst]].argmin()]), int(self.ranks[worst])

    def _at(self, ranks: Ranks) -> tuple[np.ndarray, _Segments]:
        v = np.asarray(ranks, np.int64)
        if v.size and not (v.min() >= 1 and v.max() <= self.n_items):
            raise DesignError(f"Ranks lie between 1 and the {self.n_items:,} items; found {show(v)}.")
        at = np.searchsorted(self._segments.first, v, "right") - 1
        return v, _Segments(*(values[at] for values in self._segments))

    @cached_property
    def _segments(self) -> _Segments:
        """The bounds of the module's docstring, the sharpest of a kind on every segment."""
        y, m, n, start = self.ranks, self.slack, self.n_items, self.monotone_from
        most, least = _nearly_whole(y * self.upper), _nearly_whole(y * self.lower)
        whole = np.ceil(least)
        one, end = np.ones_like(y), np.full_like(y, n)
        nothing = np.zeros_like(y)  # where the condition of a bound fails, its range ends before it begins
        steps_up, steps_down = (y >= start) & (y + m <= n), y - m >= start
        pieces = {
            "most": (
                [one, y + 1],
                [y, np.where(steps_up, y + m, nothing)],
                [most, most + np.floor(m * most / y + _WHOLE)],
            ),
            "most_behind": ([y + 1], [end], [y - most]),
            "most_rate": ([y + m + 1], [np.where(y >= start, n, nothing)], [most / y]),
            "least": (
                [y, y - m],
                [end, np.where(steps_down, y - 1, nothing)],
                [least, np.minimum(least, whole - np.floor(m * whole / y + _WHOLE))],
            ),
            "least_behind": ([one], [y - 1], [y - least]),
            "least_rate": ([np.full_like(y, start)], [y - m], [least / y]),
            "least_later": ([np.maximum(y - m, start)], [np.minimum(y - 1, n - m)], [least]),
        }
        flat = {kind: [np.concatenate(part) for part in piece] for kind, piece in pieces.items()}
        edges = np.concatenate([np.concatenate([a[a <= b], b[a <= b] + 1]) for a, b, _ in flat.values()])
        first = np.unique(np.append(edges[(edges >= 1) & (edges <= n)], 1))
        bounds = [_sharpest(kind, begin, end, value, first) for kind, (begin, end, value) in flat.items()]
        return _Segments._make([first, np.append(first[1:] - 1, n), *bounds])


def _sharpest(kind: str, begin: Ranks, end: Ranks, value: Values, first: Ranks) -> Values:
    """Find the sharpest bound of a kind on each segment; without any, 0 <= C <= v."""
    sharper = np.minimum if kind in ("most", "most_rate", "least_behind") else np.maximum
    out = np.full(len(first), np.inf if sharper is np.minimum else 0.0)
    for i, j, bound in zip(np.searchsorted(first, begin), np.searchsorted(first, end, "right"), value, strict=True):
        sharper(out[i:j], bound, out=out[i:j])
    return out


def _heights(segments: _Segments, slack: int) -> Values:
    """Compute the height of every segment, at its ends and beside crossings."""
    heights = np.zeros(len(segments.first))
    beside = [np.floor(np.nan_to_num(v, nan=0.0, posinf=0.0, neginf=0.0)) for v in segments.crossings(slack)]
    for v in (segments.first, segments.last, *beside, *(v + 1 for v in beside)):
        inside = np.clip(v, segments.first, segments.last)
        upper, lower = segments.upper(inside), segments.lower(inside, slack)
        ratio = np.divide(upper, lower, out=np.full(len(heights), np.inf), where=lower > 0)
        np.maximum(heights, ratio, out=heights)
    return heights


def _nearly_whole(positives: Values) -> Values:
    """Return numbers of positives, those that rounding has moved off a whole number put back."""
    whole = np.rint(positives)
    return np.where(np.abs(positives - whole) <= _WHOLE, whole, positives)
