r"""Intervals of a ratio of sums over the pool, from items drawn with known inclusion probabilities, at few events too.

At a candidate value F an item with z = f - F g speaks for a greater ratio if z > 0 and for a smaller one if z < 0, and
F is the ratio of the pool if the sums of both kinds are equal. Of each kind the items drawn are known, and those not
drawn are estimated by sum z (1 - b) / b, with the variance sum z^2 (1 - b) / b^2. Under Poisson sampling the two are
independent. Each is taken for a Gamma variable with that mean and variance, as for weighted sums of Poisson counts by
M. P. Fay and E. J. Feuer (Statistics in Medicine 16, 1997). Like there, and as [CLOPPER] do, the upper end counts one
event more than was seen of those that raise the ratio: the one of greatest variance that could have been missed. The
lower end counts one more of the others. For small inclusion probabilities, all alike, and a share, the ends are those
of [CLOPPER], Beta(x + 1, n - x) and Beta(x, n - x + 1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import optimize, special

from bayes_assess._tools.arrays import show
from bayes_assess.errors import DesignError

Events = Float[np.ndarray, " n"]

_STEP = 1e-9  # from the ends of the range, where only one kind of events is left
_PRECISION = 1e-12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


class Unseen(NamedTuple):
    """What items that were not drawn could show, arrays (J,): a row for every kind of item with every label.

    Attributes
    ----------
    f, g : (J,)
        Of an item of the kind with the label.
    inclusion : (J,) in (0, 1]
        The probability with which an item of the kind was drawn. The least one matters.
    """

    f: Float[np.ndarray, " J"]
    g: Float[np.ndarray, " J"]
    inclusion: Float[np.ndarray, " J"]


class _Sum(NamedTuple):
    """A sum over items that were not drawn: mean and variance of its Gamma distribution."""

    mean: float
    variance: float

    @property
    def shape(self) -> float:
        return self.mean**2 / self.variance

    @property
    def scale(self) -> float:
        return self.variance / self.mean


def ratio_interval(
    f: Events,
    g: Events,
    inclusion: Events,
    unseen: Unseen,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Float[np.ndarray, " 2"]:
    r"""Compute an interval of sum f / sum g over the pool, which stays honest when few events were drawn.

    The ends solve, with G Gamma variables, + the items with z = f - F g > 0, - those with z < 0, and a prime where the
    event that could have been missed is counted,

    .. math:: P\Big(\sum_{\mathrm{drawn}} z + G_+' \ge G_-\Big) = \frac{1 - \mathrm{level}}{2}, \qquad
              P\Big(\sum_{\mathrm{drawn}} z + G_+ \le G_-'\Big) = \frac{1 - \mathrm{level}}{2}.

    The sample is of Poisson sampling; for one of fixed size, whose variance is less, the interval is too wide, rather.
    It leans on no score: where items that could matter were drawn with small probabilities, it is wide.

    Parameters
    ----------
    f, g : (n,)
        Of the items drawn and of those that are known, g >= 0.
    inclusion : (n,) in (0, 1]
        1 for known items.
    unseen : Unseen
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
    >>> right, half = np.ones(100), np.full(100, 0.01)
    >>> unseen = Unseen(np.array([0.0, 1.0]), np.ones(2), np.full(2, 0.01))
    >>> ratio_interval(right, right, half, unseen).round(3).tolist()  # 100 right of 100, from 10,000
    [0.964, 1.0]
    """
    arrays = tuple(np.asarray(x, np.float64) for x in (f, g, inclusion))
    rows = Unseen(*(np.asarray(x, np.float64) for x in unseen))
    rows = Unseen(*(x[(rows.f != 0) | (rows.g != 0)] for x in rows))
    f, g, b = arrays
    _check(g, b, rows)
    low, high = bounds
    bottom = (g / b).sum()
    if bottom == 0:
        return np.array([low, high])
    value = min(max(float((f / b).sum() / bottom), low), high)
    if (rows.inclusion == 1).all():
        return np.full(2, f.sum() / g.sum())

    tail = (1 - level) / 2
    near = _STEP * (high - low)

    def above(ratio: float) -> float:
        return _exceedance(f - ratio * g, b, rows.f - ratio * rows.g, rows.inclusion) - tail

    def below(ratio: float) -> float:
        return _exceedance(ratio * g - f, b, ratio * rows.g - rows.f, rows.inclusion) - tail

    ends = np.array([_crossing(below, high - near, low + near, low), _crossing(above, low + near, high - near, high)])
    return np.array([min(ends[0], value), max(ends[1], value)])


def _crossing(excess: Callable[[float], float], inside: float, outside: float, end: float) -> float:
    """Find where the excess of a probability falls to 0 on the way out; the end of the range if it does not."""
    if excess(outside) >= 0:
        return end
    if excess(inside) <= 0:
        return inside
    root: Any = optimize.brentq(excess, inside, outside, xtol=_PRECISION)
    return root


def _exceedance(z: Events, b: Events, unseen: Events, unseen_b: Events) -> float:
    """Compute P(sum z + G'+ >= G-), the confidence that the ratio is at least the candidate."""
    up, down = np.maximum(z, 0), np.maximum(-z, 0)
    rest, spread = (1 - b) / b, (1 - b) / b**2
    missed = np.maximum(unseen, 0)
    variances = missed**2 * (1 - unseen_b) / unseen_b**2
    worst = int(np.argmax(variances))
    more = _Sum(
        float(up @ rest + missed[worst] * (1 - unseen_b[worst]) / unseen_b[worst]),
        float(up**2 @ spread + variances[worst]),
    )
    return _greater(float(z.sum()), more, _Sum(float(down @ rest), float(down**2 @ spread)))


def _greater(known: float, first: _Sum, second: _Sum) -> float:
    """Compute P(known + G1 >= G2) for independent Gamma variables, those of mean 0 being 0."""
    if second.mean <= 0 and first.mean <= 0:
        return float(known >= 0)
    if second.mean <= 0:
        return float(special.gammaincc(first.shape, max(-known, 0.0) / first.scale))
    if first.mean <= 0:
        return float(special.gammainc(second.shape, max(known, 0.0) / second.scale))
    # Integrate over the quantiles of one of them, by nodes that are dense at both ends.
    share = (_NODES + 1) / 2
    quantile = share**3 * (10 - 15 * share + 6 * share**2)
    weight = 15 * (share * (1 - share)) ** 2 * _WEIGHTS
    if known >= 0:
        at = special.gammaincinv(first.shape, quantile) * first.scale
        return float(weight @ special.gammainc(second.shape, (at + known) / second.scale))
    at = special.gammaincinv(second.shape, quantile) * second.scale
    return float(weight @ special.gammaincc(first.shape, np.maximum(at - known, 0) / first.scale))


def _check(g: Events, b: Events, unseen: Unseen) -> None:
    for name, values in (("drawn", b), ("unseen", unseen.inclusion)):
        good = (values > 0) & (values <= 1)
        if not good.all():
            raise DesignError(
                f"The inclusion probabilities of {name} items lie above 0, up to 1; found {show(values[~good][0])}. "
                "Items that can matter need a chance to be drawn."
            )
    all_g = np.append(g, unseen.g)
    if (all_g < 0).any():
        raise DesignError(f"The g of a ratio sum f / sum g is at least 0; found {show(all_g.min())}.")
