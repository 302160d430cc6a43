r"""Intervals of a ratio of sums over the pool, from items drawn with known inclusion probabilities, at few events too.

At a candidate value F an item with z = f - F g speaks for a greater ratio if z > 0 and for a smaller one if z < 0, and
F is the ratio of the pool if the sums of both kinds are equal. Of each kind the items drawn are known, and those not
drawn are estimated by sum z (1 - b) / b, with the variance sum z^2 (1 - b) / b^2. Under Poisson sampling the two are
independent. Each is taken for a Gamma variable with that mean and variance, as for weighted sums of Poisson counts by
M. P. Fay and E. J. Feuer (Statistics in Medicine 16, 1997). Like there, and as [CLOPPER] do, the upper end counts one
event more than was seen of those that raise the ratio: the greatest that could have been missed, and before it in full
the items so few or so unlikely to be drawn that all of them could have been. The lower end does so for the others.
Where probabilities are large, the events drawn may be all there are: an end reaches the value without any other as long
as drawing all of them is not too improbable. For small inclusion probabilities, all alike, and a share, the ends are
those of [CLOPPER], Beta(x + 1, n - x) and Beta(x, n - x + 1). No end lies beyond what the pool could still come to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.arrays import show
from bayes_assess._tools.lazy import optimize
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.errors import DesignError
from bayes_assess.estimators.horvitz_thompson import ratio_bias
from bayes_assess.estimators.ratio_losses import ratio_losses
from bayes_assess.measures.cell_measure import CellMeasure

Ranges = Sequence[tuple[float, float]] | Float[np.ndarray, "k 2"]  # where k measures lie
Events = Float[np.ndarray, " n"]

_LEAST_INCLUSION = 1e-9  # that an item counts as having had
_STEP = 1e-9  # from the ends of the range, where only one kind of events is left
_PRECISION = 1e-10
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


class DrawnItems(NamedTuple):
    """Items that were drawn, and those known without, by kinds of items that show the same; arrays (n,).

    Attributes
    ----------
    f, g : (n,)
        Of an item of the kind, g >= 0.
    known : (n,)
        Items.
    total : (n,)
        How many of the pool they stand for, sum 1 / b; of several rounds a mean over them.
    square : (n,)
        What the variance of the totals weighs f^2 by, sum (1 - b) / b^2.
    log_inclusion : (n,)
        Log of the probability that all of them were drawn.
    """

    f: Events
    g: Events
    known: Events
    total: Events
    square: Events
    log_inclusion: Events

    @classmethod
    def of_items(cls, f: Events, g: Events, inclusion: Events) -> DrawnItems:
        """Take n items of one round by their inclusion probabilities, 1 for known items.

        Examples
        --------
        >>> DrawnItems.of_items(np.ones(1), np.ones(1), np.array([0.5])).square.tolist()
        [2.0]
        """
        f, g, b = (np.asarray(x, np.float64) for x in (f, g, inclusion))
        _check("drawn", g, b)
        return cls(f, g, np.ones(len(b)), 1 / b, (1 - b) / b**2, np.log(b))


class UnseenItems(NamedTuple):
    """What items that were not drawn could show, arrays (J,): a row for every kind of item with every label.

    Attributes
    ----------
    f, g : (J,)
        Of an item of the kind with the label, g >= 0.
    inclusion : (J,) in (0, 1]
        The probability with which an item of the kind was drawn.
    size : (J,)
        Items of the kind that were not drawn.
    """

    f: Float[np.ndarray, " J"]
    g: Float[np.ndarray, " J"]
    inclusion: Float[np.ndarray, " J"]
    size: Float[np.ndarray, " J"]


class _Sum(NamedTuple):
    """A sum over items that were not drawn: a Gamma variable with a mean and a variance; 0 if the mean is."""

    mean: float
    variance: float

    @property
    def some(self) -> bool:
        """Whether it is not 0: items of earlier rounds may stand for fewer than they are, in the mean."""
        return self.mean > 0 and self.variance > 0

    def cdf(self, value: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """Compute the probability of at most a value, which is at least 0."""
        return special.gammainc(*self._scaled(value)) if self.some else np.ones(len(value))

    def reaches(self, value: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """Compute the probability of at least a value, for a positive mean."""
        return special.gammaincc(*self._scaled(value))

    def quantile(self, share: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """Compute quantiles."""
        if not self.some:
            return np.zeros(len(share))
        return special.gammaincinv(self.mean**2 / self.variance, share) * (self.variance / self.mean)

    def _scaled(self, value: Float[np.ndarray, " N"]) -> tuple[float, Float[np.ndarray, " N"]]:
        return self.mean**2 / self.variance, value * (self.mean / self.variance)


def ratio_interval(
    drawn: DrawnItems, unseen: UnseenItems, level: float = 0.95, bounds: tuple[float, float] = (0.0, 1.0)
) -> Float[np.ndarray, " 2"]:
    r"""Compute an interval of sum f / sum g over the pool, which stays honest when few events were drawn.

    The ends solve, with G Gamma variables, + the items with z = f - F g > 0, - those with z < 0, and a prime where what
    could have been missed is counted,

    .. math:: P\Big(\sum_{\mathrm{drawn}} z + G_+' \ge G_-\Big) = \frac{1 - \mathrm{level}}{2}, \qquad
              P\Big(\sum_{\mathrm{drawn}} z + G_+ \le G_-'\Big) = \frac{1 - \mathrm{level}}{2}.

    It leans on no score: where items that could matter were drawn with small probabilities, it is wide.

    Parameters
    ----------
    drawn : DrawnItems
    unseen : UnseenItems
        Without rows, or with none that has a value apart from 0, everything that matters is known.
    level : float in (0, 1)
    bounds : (2,)
        Where the ratio lies for certain.

    Returns
    -------
    (2,) ends, which hold the estimate sum (f / b) / sum (g / b); that alone if everything is known, all of the bounds
    if nothing was drawn that matters.

    Examples
    --------
    >>> drawn = DrawnItems.of_items(np.ones(100), np.ones(100), np.full(100, 0.01))
    >>> unseen = UnseenItems(np.array([0.0, 1.0]), np.ones(2), np.full(2, 0.01), np.full(2, 9_900))
    >>> ratio_interval(drawn, unseen).round(3).tolist()  # 100 right of 100, from 10,000
    [0.964, 1.0]
    """
    rows = UnseenItems(*(np.asarray(x, np.float64) for x in unseen))
    rows = UnseenItems(*(x[(rows.f != 0) | (rows.g != 0)] for x in rows))
    _check("unseen", rows.g, rows.inclusion)
    f, g = drawn.f, drawn.g
    low, high = bounds
    bottom = g @ drawn.total
    if bottom <= 0:
        return np.array([low, high])
    value = min(max(float(f @ drawn.total / bottom), low), high)
    if not ((rows.inclusion < 1) & (rows.size > 0)).any():
        return np.full(2, f @ drawn.known / (g @ drawn.known))

    tail = (1 - level) / 2
    near = _STEP * (high - low)

    def above(ratio: float) -> float:
        return _exceedance(f - ratio * g, drawn, rows.f - ratio * rows.g, rows, tail) - tail

    def below(ratio: float) -> float:
        return _exceedance(ratio * g - f, drawn, ratio * rows.g - rows.f, rows, tail) - tail

    ends = np.array([_crossing(below, high - near, low + near, low), _crossing(above, low + near, high - near, high)])
    return np.array([min(ends[0], value), max(ends[1], value)])


class RatioSample(NamedTuple):
    """What batches of random size have drawn for k ratios, arrays with leading axes of campaigns.

    Attributes
    ----------
    f, g : (..., k, A, C)
        Of an item of every attribute with every label; None as long as the measure is not at hand, see `ratios_of`.
    known, total, square, log_inclusion : (..., A, C)
        As of `DrawnItems`.
    attribute : (..., K) integers
        Of the items of every cell.
    inclusion : (..., K)
        Probability that an item of the cell was drawn.
    unlabelled : (..., K) integers
    """

    known: Float[Array, "*batch A C"]
    total: Float[Array, "*batch A C"]
    square: Float[Array, "*batch A C"]
    log_inclusion: Float[Array, "*batch A C"]
    attribute: Int[Array, "*batch K"]
    inclusion: Float[Array, "*batch K"]
    unlabelled: Int[Array, "*batch K"]
    f: Any = None
    g: Any = None

    def of(self, measure: CellMeasure) -> RatioSample:
        """Return the sample with f and g of a measure of k ratios."""
        f, g = (np.broadcast_to(x, (*np.shape(self.known)[:-2], *x.shape)) for x in ratios_of(measure))
        return self._replace(f=f, g=g)

    def intervals(self, ranges: Ranges, level: float) -> Float[np.ndarray, "*batch k 2"]:
        """Compute the `ratio_interval` of every ratio in every campaign."""
        batch, k = np.shape(self.f)[:-3], np.shape(self.f)[-3]
        ends = np.empty((*batch, k, 2))
        for place in np.ndindex(*batch):
            sample = RatioSample(*(np.asarray(column)[place] for column in self))
            for i in range(k):
                drawn, unseen = sample._ratio(i)
                ends[place][i] = ratio_interval(drawn, unseen, level, (ranges[i][0], ranges[i][1]))
        return ends

    def biases(self) -> Float[np.ndarray, " k"]:
        """Estimate the `ratio_bias` of every ratio of one campaign."""
        biases = []
        for f, g in zip(self.f, self.g, strict=True):
            total = np.array([(f * self.total).sum(), (g * self.total).sum()])
            covariance = np.array([[(x * y * self.square).sum() for y in (f, g)] for x in (f, g)])
            biases.append(ratio_bias(total, covariance))
        return np.array(biases)

    def _ratio(self, i: int) -> tuple[DrawnItems, UnseenItems]:
        f, g = self.f[i], self.g[i]
        columns = (f, g, self.known, self.total, self.square, self.log_inclusion)
        drawn = DrawnItems(*(np.ravel(column).astype(np.float64) for column in columns))
        open_ = np.flatnonzero(self.unlabelled > 0)
        n_labels = f.shape[1]
        b = np.repeat(np.clip(self.inclusion[open_], _LEAST_INCLUSION, 1.0), n_labels)
        rows = np.ravel(f[self.attribute[open_]]), np.ravel(g[self.attribute[open_]])
        return drawn, UnseenItems(*rows, b, np.repeat(self.unlabelled[open_], n_labels).astype(np.float64))


def ratios_of(measure: CellMeasure) -> tuple[Float[np.ndarray, "k A C"], Float[np.ndarray, "k A C"]]:
    """Return f and g of every output of a measure, each of which must be a ratio of sums over items.

    Raises
    ------
    DesignError
        If some output is not.
    """
    ratios = ratio_losses(measure.table)
    outputs: Int[np.ndarray, " J"] = ratios.outputs
    if outputs.tolist() != list(range(len(measure.table.outputs))) or (ratios.sign < 0).any():
        raise DesignError(
            "The interval 'ratio' is of measures that are a ratio of sums over items each, such as precision, recall, "
            f"F1 and accuracy, eight at most; found {', '.join(measure.table.outputs[:8])}. "
            "Take interval='cautious' or 'beta'."
        )
    return ratios.f, ratios.g


def _crossing(excess: Callable[[float], float], inside: float, outside: float, end: float) -> float:
    """Find where the excess of a probability falls to 0 on the way out; the end of the range if it does not."""
    if excess(outside) >= 0:
        return end
    if excess(inside) <= 0:
        return inside
    root: Any = optimize.brentq(excess, inside, outside, xtol=_PRECISION)
    return root


def _exceedance(z: Events, drawn: DrawnItems, missed: Events, unseen: UnseenItems, tail: float) -> float:
    """Compute P(sum z + G'+ >= G-), the confidence that the ratio is at least the candidate."""
    known, missed = float(z @ drawn.known), np.maximum(missed, 0)
    if known + unseen.size @ missed < 0:
        return 0.0  # not even if all that was not drawn spoke for it
    up, down = np.maximum(z, 0), np.maximum(-z, 0)
    rest = drawn.total - drawn.known
    hidden, ghost = _missed(missed, unseen, tail)
    more = _Sum(float(up @ rest) + ghost.mean, float(up**2 @ drawn.square) + ghost.variance)
    greater = _greater(known + hidden, more, _Sum(float(down @ rest), float(down**2 @ drawn.square)))
    # Those drawn that speak against it may be all there are: that they all were drawn has this probability.
    all_drawn = float(np.exp(drawn.log_inclusion[z < 0].sum()))
    return max(greater, all_drawn * _greater(known + hidden, more, _Sum(0.0, 0.0)))


def _missed(z: Float[np.ndarray, " J"], unseen: UnseenItems, tail: float) -> tuple[float, _Sum]:
    """Return what could have been missed: the sum of kinds of few items, and one event of another kind.

    Items are all hidden with at least the probability `tail` if their rates -log(1 - b) sum to at most -log(tail). The
    kinds with the greatest z per rate come first: those of which all items could be hidden count in full, and of the
    first that is too many for that, one more event.
    """
    b = unseen.inclusion
    open_ = (z > 0) & (b < 1) & (unseen.size > 0)
    z, b, size = z[open_], b[open_], unseen.size[open_]
    rate = -np.log1p(-b)
    order = np.argsort(-z / rate)
    n_hidden = int(np.searchsorted(np.cumsum((size * rate)[order]), -np.log(tail)))
    hidden = float((size * z)[order[:n_hidden]].sum())
    if n_hidden == len(order):
        return hidden, _Sum(0.0, 0.0)
    kind = order[n_hidden]
    return hidden, _Sum(float(z[kind] * (1 - b[kind]) / b[kind]), float(z[kind] ** 2 * (1 - b[kind]) / b[kind] ** 2))


def _greater(known: float, first: _Sum, second: _Sum) -> float:
    """Compute P(known + first >= second) for independent sums, over the quantiles of one of them."""
    if not first.some:
        return float(second.cdf(np.array([known]))[0]) if known >= 0 else 0.0
    share = (_NODES + 1) / 2
    quantile = share**3 * (10 - 15 * share + 6 * share**2)  # nodes that are dense at both ends
    weight = 15 * (share * (1 - share)) ** 2 * _WEIGHTS
    if known >= 0:
        return float(weight @ second.cdf(first.quantile(quantile) + known))
    return float(weight @ first.reaches(second.quantile(quantile) - known))


def _check(name: str, g: Events, b: Events) -> None:
    good = (b > 0) & (b <= 1)
    if not good.all():
        raise DesignError(
            f"The inclusion probabilities of {name} items lie above 0, up to 1; found {show(b[~good][0])}. "
            "Items that can matter need a chance to be drawn."
        )
    if (g < 0).any():
        raise DesignError(f"The g of a ratio sum f / sum g is at least 0; found {show(g.min())}.")
