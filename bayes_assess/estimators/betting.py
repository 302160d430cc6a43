r"""Anytime-valid intervals of a finite pool's ratio of sums from audit draws, which lean on no belief.

The pool's measure is :math:`\theta = \sum_i f_i / \sum_i g_i`, where f and g of an item are known functions of its cell
and its label, g >= 0; a mean has g = 1. Some labels are of *audit* items, drawn at random from all items that were
neither labelled nor handed out: an item of cell c with probability q_c, alike for all items of a cell. Others are
chosen by anything at all. What an audit item in cell c with label y shows of theta is, with
:math:`h_\theta = f - \theta g`, U_c unlabelled items of cell c, and M items,

.. math::
    X(\theta) = \frac{1}{M} \Big[ \sum_{i\ \mathrm{labelled}} h_{\theta,i} + a \sum_c U_c \bar h_{\theta,c}
                + \frac{h_{\theta,cy} - a \bar h_{\theta,c}}{q_c} \Big],
    \quad \bar h_{\theta,c} = \sum_y m_{cy} h_{\theta,cy}.

Its expectation, given all that was known when the item was asked for, is (sum f - theta sum g) / M: the draw takes
every unlabelled item i with its q_i, so that the last term has the mean
:math:`\sum_i q_i (h_{\theta,i} - a \bar h_{\theta,i}) / q_i`, which is the sum over the unlabelled items, and its
part in a cancels the term before it. That is zero at the true theta, for any belief m, any number a and any positive
probabilities q that were fixed before the draw, however they were found (Horvitz and Thompson 1952; a is the weight of
a control variate). Items that are labelled, for whatever
reason, are known exactly: a cell that is labelled whole adds nothing to what is uncertain. Bets lambda that were fixed
before the draw, with 1 + lambda X >= 0 for whatever could be drawn, make of it the capital

.. math::  K_t(\theta) = \prod_{j \le t} (1 + \lambda_j X_j(\theta)).

Its factors have the conditional mean 1 + lambda E[X] = 1, so it is a nonnegative martingale at the true theta. It ever
reaches 1/alpha with a probability of at most alpha (Ville 1939), so that the theta with less capital than that form a
confidence sequence: it holds at all times at once, whatever makes a campaign stop (2010.09686; 2305.06884 for weighted
sampling without replacement and control variates). Labels that others ask for in between, and the choice of whether the
next item is an audit item, are a part of what was known before the draw, and change none of it. Nothing but X(theta)
enters: no count of positives of a stratum, say, of which every theta allows many, and over which a product of
martingales of strata would have to be minimised.

Theta between grid points. The range of theta is cut into pieces. All theta of a piece share one sequence of bets, a and
lambda, which is admissible at both ends and hence between them: X is linear in theta. Then log K_t is a sum of
logarithms of linear functions, so it is concave along the piece, and the capital of every theta in it is at least

.. math::  K_t(\theta_0)^{1-s} K_t(\theta_1)^s \ge \min(K_t(\theta_0), K_t(\theta_1)), \quad
           \theta = (1 - s) \theta_0 + s \theta_1.

A theta is rejected only by this bound, so only when its own capital has reached 1/alpha. That holds for every bet, and
for mixtures of bets, which are averages of martingales, too. It holds for any number of pieces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.estimators.certain_bounds import certain_bounds

# Two fixed shares of the largest admissible bet, in both directions, without control variate: they win on rare labels
# and on few draws. Three plug-in bets, one without and two with control variate: they win on spread. All chosen by
# simulation on good, useless and inverted scores, rare labels, and F1.
_SHARES = ((1.0, 0), (-1.0, 0), (0.3, 0), (-0.3, 0))
_STRENGTHS = ((2.0, 0), (5.0, 1), (50.0, 1))  # audit draws that the believed mean counts as in the plug-in bets
_WEIGHTS = np.array([1, 1, 1, 1, 4, 4, 4]) / 16
_MOST_SHARE = 0.9  # of the largest admissible bet, for plug-in bets
_PRIOR_DRAWS = 4.0  # that the believed variances count as
_PRIOR_RANGE = 0.01  # draws that show the whole range, added to the variance

_SLACK = 1e-9  # that rounding cannot make capital negative
_ROUNDING = 1e-7  # relative size below which a range of X is taken for rounding
_MOST_CAPITAL = 1e100
_SUBPIECES = 32


class Betting(NamedTuple):
    """Capital of all bets on all theta, and what the next bets are chosen by; see `start`.

    Attributes
    ----------
    nodes : (P + 1,)
        Ends of the P pieces of the range of theta, equidistant in the arcsine of its square root: finer near the ends
        of the range, where shares are known better.
    capital : (B, 2, P)
        Of every bet at the lower and at the upper end of every piece, with the bets of the piece.
    best : (P,)
        The most capital that all theta of a piece have had together in the mixture of bets, so far.
    moments : (5, 5)
        Sums over the audit draws of the products of 1, f, g and the believed means of f and g in the item's cell.
    totals : (2,)
        Sums over the audit draws of the two parts of X = A - theta B, with control variate.
    """

    nodes: Float[Array, "*batch P n"]
    capital: Float[Array, "*batch P n"]
    best: Float[Array, "*batch P"]
    moments: Float[Array, "*batch 5 5"]
    totals: Float[Array, "*batch 2"]

    @property
    def n_draws(self) -> Float[Array, "*batch"]:
        """Audit draws so far."""
        return self.moments[..., 0, 0]


def start(low: float = 0.0, high: float = 1.0, n_pieces: int = 64) -> Betting:
    """Return the state before the first draw, with a capital of 1 on everything.

    Everything here belongs under `jax.enable_x64`. A step costs some 2 P K O + 2 B P operations, for audit draws alone:
    under `vmap`, which takes both sides of a condition, a scan over the audit draws spares it the other items.

    Parameters
    ----------
    low, high : float
        Where theta lies for certain.
    n_pieces : int
        P. More pieces cost time and make intervals little shorter: with 64 they are 1 or 2 % wider than with 128.
    """
    share = np.sin(np.pi / 2 * np.arange(n_pieces + 1) / n_pieces) ** 2
    return Betting(
        nodes=low + (high - low) * share,
        capital=np.ones((len(_WEIGHTS), 2, n_pieces)),
        best=np.ones(n_pieces),
        moments=np.zeros((5, 5)),
        totals=np.zeros(2),
    )


def increments(
    f: Float[Array, "K O"],
    g: Float[Array, "K O"],
    counts: Int[Array, "K O"],
    unlabelled: Int[Array, " K"],
    believed: Float[Array, "K O"],
    control: Scalar,
    rates: Scalar = 1.0,
) -> tuple[Float[Array, "K O"], Float[Array, "K O"]]:
    """Compute A and B of X(theta) = A - theta B, for an audit item of every cell with every label.

    Parameters
    ----------
    f, g, counts, unlabelled, believed
        As for `update`.
    control : float
        Share a of the control variate.
    rates : (K,), optional
        As for `update`.

    Examples
    --------
    One of four items is labelled, a positive. A second positive says (1 + 3) / 4 of the rate, a negative 1 / 4:

    >>> f, g = np.array([[0.0, 1.0]]), np.ones((1, 2))
    >>> a, b = increments(f, g, np.array([[0, 1]]), np.array([3]), np.array([[0.5, 0.5]]), 0.0)
    >>> a.tolist(), b.tolist()
    ([[0.25, 1.0]], [[1.0, 1.0]])

    With the whole control variate the others are believed to be positive in one case of two:

    >>> increments(f, g, np.array([[0, 1]]), np.array([3]), np.array([[0.5, 0.5]]), 1.0)[0].tolist()
    [[0.25, 1.0]]

    Of two cells with one item each, an item of the second is drawn three times as often, and counts a third as much:

    >>> nothing, even = np.array([[0, 0], [0, 0]]), np.full((2, 2), 0.5)
    >>> f, g = np.tile([0.0, 1.0], (2, 1)), np.ones((2, 2))
    >>> a, _ = increments(f, g, nothing, np.array([1, 1]), even, 0.0, np.array([1.0, 3.0]))
    >>> (3 * a[:, 1]).tolist()
    [6.0, 2.0]
    """
    f, g, counts, unlabelled, believed = (xp.asarray(x) for x in (f, g, counts, unlabelled, believed))
    n_items = xp.maximum(counts.sum() + unlabelled.sum(), 1)
    weights = inverse_probabilities(unlabelled, rates)[:, None]

    def part(values):
        mean = (believed * values).sum(-1)
        known = (counts * values).sum() + control * (unlabelled * mean).sum()
        return (known + weights * (values - control * mean[:, None])) / n_items

    return part(f), part(g)


def inverse_probabilities(unlabelled: Int[Array, " K"], rates: Scalar) -> Float[Array, " K"]:
    """Compute 1 / q of an unlabelled item of every cell: q is in proportion to the cell's rate."""
    unlabelled, rates = xp.asarray(unlabelled), xp.asarray(rates, xp.result_type(float))
    return (unlabelled * rates).sum() / xp.broadcast_to(rates, unlabelled.shape)


def update(
    state: Betting,
    f: Float[Array, "K O"],
    g: Float[Array, "K O"],
    counts: Int[Array, "K O"],
    unlabelled: Int[Array, " K"],
    believed: Float[Array, "K O"],
    cell: int | Int[Array, ""],
    outcome: int | Int[Array, ""],
    is_audit: bool | Bool[Array, ""] = True,
    rates: Scalar = 1.0,
) -> Betting:
    """Settle the bets on the next item in the order of asking; an item that is no audit changes nothing.

    Labels may come back late or in part: call this for an item once its own label and those of all items asked for
    before it are known. Everything here is as of just before the item was asked for, with all items asked for earlier
    counted as labelled. What came to be known since, such as labels that nobody had asked for, does not count for
    this item. Labels that were known by then count however they came to be known.

    Parameters
    ----------
    state : Betting
    f, g : (K, O)
        Of an item in every cell with every label; g >= 0.
    counts : (K, O) integers
        Labelled items. Items whose f and g are 0 whatever their label may be left out.
    unlabelled : (K,) integers
        The others, out of which an audit item is drawn.
    believed : (K, O)
        Believed probabilities of the labels. Good ones make intervals shorter; nothing else depends on them.
    cell, outcome : integers
        Of the item.
    is_audit : boolean
        Whether it was such a draw.
    rates : (K,), optional
        Positive numbers in proportion to which the items of every cell are drawn; uniformly by default. They may be
        anything that was fixed before the draw.

    Examples
    --------
    >>> f, g = np.array([[0.0, 1.0]]), np.ones((1, 2))
    >>> counts, sizes, believed = np.array([[0, 0]]), np.array([1000]), np.array([[0.9, 0.1]])
    >>> with engine.eager():
    ...     state = start()
    ...     for _ in range(30):
    ...         state = update(state, f, g, counts, sizes - counts.sum(1), believed, 0, 0)
    ...         counts = counts + np.array([[1, 0]])
    ...     ends = interval(state, f, g, counts, sizes - counts.sum(1), level=0.95)
    >>> ends.round(2).tolist()  # 30 random checks found no positive
    [0.0, 0.11]
    """
    return _update(is_audit, state, f, g, counts, unlabelled, believed, cell, outcome, rates)


def interval(
    state: Betting,
    f: Float[Array, "K O"],
    g: Float[Array, "K O"],
    counts: Int[Array, "K O"],
    unlabelled: Int[Array, " K"],
    level: float = 0.95,
) -> Float[Array, "2"]:
    """Compute the interval of theta: the truth leaves it at any time of a campaign with probability 1 - level at most.

    It holds every theta that was never rejected and that the labels so far do not rule out (`certain_bounds`), so it is
    the exact value once all labels are known. A probability of 1 - level has that everything was rejected at some time:
    then the interval is that of what is not rejected now, and failing that, all that the labels do not rule out.

    Parameters
    ----------
    state : Betting
    f, g, counts, unlabelled
        As for `update`, of all labels that are known now: items that are handed out are unlabelled.
    level : float in (0, 1)
    """
    return _interval(state, f, g, counts, unlabelled, level)


# Compiled as they stand, since `cond` and `while_loop` would compile anew at every call.


@engine.jit
def _update(is_audit, state: Betting, *arrays) -> Betting:
    return engine.cond(is_audit, lambda: _settle(state, *arrays), lambda: state)


@engine.jit
def _interval(state: Betting, f, g, counts, unlabelled, level) -> Float[Array, "2"]:
    nodes, enough = state.nodes, 1 / (1 - level)
    bounds = certain_bounds(f, g, counts, unlabelled, nodes[0], nodes[-1])
    possible = (nodes[1:] >= bounds[0]) & (nodes[:-1] <= bounds[1])
    ever = possible & (state.best < enough)
    now = possible & (_shared(state.capital) < enough)
    is_open = xp.where(ever.any(), ever, xp.where(now.any(), now, possible))
    first = xp.argmax(is_open)
    last = is_open.size - 1 - xp.argmax(is_open[::-1])
    lower = xp.clip(_open_part(state, first, enough)[0], bounds[0], bounds[1])
    upper = xp.clip(_open_part(state, last, enough)[1], bounds[0], bounds[1])
    # The part of a single piece that is open now may lie outside of what the labels leave.
    return xp.where(lower < upper, xp.stack([lower, upper]), bounds)


def _settle(state: Betting, f, g, counts, unlabelled, believed, cell, outcome, rates) -> Betting:
    """Multiply capital by 1 + lambda X, then remember the draw."""
    drawable = (unlabelled > 0)[:, None]
    chance = xp.where(
        drawable[:, 0], unlabelled / inverse_probabilities(unlabelled, rates), 0.0
    )  # relative, of every cell
    chance = (chance / xp.maximum(chance.sum(), 1e-300))[:, None] * believed
    plain, whole = (increments(f, g, counts, unlabelled, believed, a, rates) for a in (0.0, 1.0))
    variates = [p - w for p, w in zip(plain, whole, strict=True)]  # of expectation 0
    control = _control(state, plain, variates, chance)
    helped = tuple(p - control * v for p, v in zip(plain, variates, strict=True))
    most = [_admissible(state.nodes, drawable, parts) for parts in (plain, helped)]
    centre = xp.stack([(chance * part).sum() for part in helped])
    bets = [share * most[kind][0 if share > 0 else 1] for share, kind in _SHARES]
    for strength, kind in _STRENGTHS:
        products = _found(state, control * kind)
        bets.append(_plug_in(state, chance, (plain, helped)[kind], products, most[kind], centre, strength))
    shown = []
    for a, b in (plain, helped):
        x = a[cell, outcome] - state.nodes * b[cell, outcome]
        shown.append(xp.stack([x[:-1], x[1:]]))
    x = xp.stack([shown[kind] for _, kind in (*_SHARES, *_STRENGTHS)])
    # Capital that is cut off is only ever too little, so that no guarantee is lost.
    capital = xp.clip(state.capital * (1 + xp.stack(bets)[:, None] * x), 0, _MOST_CAPITAL)
    seen = xp.stack([xp.ones_like(control), *(part[cell, outcome] for part in (*plain, *variates))])
    return Betting(
        nodes=state.nodes,
        capital=capital,
        best=xp.maximum(state.best, _shared(capital)),
        moments=state.moments + xp.outer(seen, seen),
        totals=state.totals + xp.stack([part[cell, outcome] for part in helped]),
    )


def _control(state: Betting, plain, variates, chance) -> Float[Array, ""]:
    """Estimate the regression coefficient of X on its variate, within [0, 1], from past audits and the belief."""
    total_f, total_g = state.totals + xp.stack([(chance * part).sum() for part in plain])
    theta = xp.where(total_g > 0, total_f / xp.where(total_g > 0, total_g, 1), state.nodes[0])
    theta = xp.clip(theta, state.nodes[0], state.nodes[-1])
    variate = variates[0] - theta * variates[1]
    believed = (chance * variate**2).sum()
    zero = xp.zeros_like(theta)
    values, means = xp.stack([zero, zero + 1, -theta, zero, zero]), xp.stack([zero, zero, zero, zero + 1, -theta])
    spread = _covariance(state)
    both, own = values @ spread @ means + _PRIOR_DRAWS * believed, means @ spread @ means + _PRIOR_DRAWS * believed
    return xp.where(own > 0, xp.clip(both / xp.where(own > 0, own, 1), 0, 1), 0.0)


def _admissible(nodes, drawable, parts) -> tuple[Float[Array, " P"], Float[Array, " P"], Float[Array, " P"]]:
    """Find the greatest bets in both directions with 1 + lambda X >= 0 on the pieces, and the range of X on them."""
    # Cells without items as one that has some, so that what is done for every node is a difference and no choice.
    first = xp.argmax(drawable[:, 0])
    a, b = (xp.where(drawable, part, part[first]).ravel() for part in parts)
    size = (xp.abs(a) + xp.abs(nodes).max() * xp.abs(b)).max()
    if engine.is_eager():  # in the order in which NumPy is fast
        x = a - nodes[:, None] * b
        least, most = x.min(1), x.max(1)
    else:
        x = a[:, None] - b[:, None] * nodes
        least, most = x.min(0), x.max(0)
    least, most = xp.minimum(least[1:], least[:-1]), xp.maximum(most[1:], most[:-1])
    # X of one sign at both ends: no theta of the piece is possible, and any bet will do.
    floor = xp.maximum(_ROUNDING * size, xp.finfo(size.dtype).tiny ** 0.5)
    return (1 - _SLACK) / xp.maximum(-least, floor), (1 - _SLACK) / xp.maximum(most, floor), most - least


def _plug_in(state: Betting, chance, parts, found, admissible, centre, strength: float) -> Float[Array, " P"]:
    """Choose the bet mean / (variance + mean^2), the best for small X, as past audits and the belief estimate them."""
    theta, n = (state.nodes[1:] + state.nodes[:-1]) / 2, state.n_draws
    up, down, width = admissible
    mean = (state.totals + strength * centre) / (n + strength)
    mean = mean[0] - theta * mean[1]
    a, b = parts
    own_a, own_b = (chance * a).sum(), (chance * b).sum()
    squares = [(chance * p * q).sum() for p, q in ((a, a), (a, b), (b, b))]
    believed = squares[0] - 2 * theta * squares[1] + theta**2 * squares[2] - (own_a - theta * own_b) ** 2
    found = found[0, 0] - 2 * theta * found[0, 1] + theta**2 * found[1, 1]
    variance = _PRIOR_DRAWS * xp.maximum(believed, 0) + xp.maximum(found, 0) + _PRIOR_RANGE * width**2
    variance = variance / (_PRIOR_DRAWS + n + _PRIOR_RANGE)
    square = variance + mean**2
    bet = xp.where(square > 0, mean / xp.where(square > 0, square, 1), 0)
    return xp.clip(bet, -_MOST_SHARE * down, _MOST_SHARE * up)


def _found(state: Betting, control) -> Float[Array, "2 2"]:
    """Sum the products of deviations of the parts of X with so much control variate."""
    zero, one = xp.zeros_like(control), xp.ones_like(control)
    residual = xp.stack([xp.stack([zero, one, zero, -control, zero]), xp.stack([zero, zero, one, zero, -control])])
    return residual @ _covariance(state) @ residual.T


def _covariance(state: Betting) -> Float[Array, "5 5"]:
    """Sum the products of deviations from the mean, of what audit draws showed."""
    return state.moments - xp.outer(state.moments[0], state.moments[0]) / xp.maximum(state.n_draws, 1)


def _shared(capital: Float[Array, "B 2 P"]) -> Float[Array, " P"]:
    """Find the capital that all theta of a piece have at least, in the mixture of bets."""
    return (xp.asarray(_WEIGHTS)[:, None] * capital.min(1)).sum(0)


def _open_part(state: Betting, piece, enough) -> Float[Array, "2"]:
    """Find the ends of the part of a piece that is not rejected now; its own ends where that cannot be told.

    The bound of the capital within the piece is a sum of exponential functions of s, so convex: it falls below 1/alpha
    in one stretch, whose ends lie between two neighbours of some equidistant s. The outer ones are taken.
    """
    s = xp.linspace(0, 1, _SUBPIECES + 1)
    ends = state.capital[:, :, piece]
    logs = xp.log(xp.where(ends > 0, ends, 1))
    within = xp.exp(logs[:, :1] * (1 - s) + logs[:, 1:] * s)
    within = xp.where(xp.all(ends > 0, 1)[:, None], within, 0)
    is_open = (xp.asarray(_WEIGHTS)[:, None] * within).sum(0) < enough
    first = xp.maximum(xp.argmax(is_open) - 1, 0)
    last = xp.minimum(_SUBPIECES + 1 - xp.argmax(is_open[::-1]), _SUBPIECES)
    share = xp.where(is_open.any(), xp.stack([s[first], s[last]]), xp.array([0.0, 1.0]))
    return state.nodes[piece] + (state.nodes[piece + 1] - state.nodes[piece]) * share
