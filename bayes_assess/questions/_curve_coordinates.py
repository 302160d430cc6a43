"""What calibration curves know of the cells of a pool: coordinates of the score that announces an event."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.models.curve_rates import N_SMOOTH, Coordinates, TiedCells
from bayes_assess.pool.counting import Times, add_up, count, mean
from bayes_assess.pool.rank_strata import RankedScore, TiedRanks, score_reached_by

_BELOW, _ABOVE = 6.0, 4.0  # where the smooth functions of the rank's log odds lie, about the cut
_LEAST = 1e-12  # probability, for logits of scores
_MOST_LOGIT = 30.0
_WAVES = np.array([1.5, 1.0, 0.7, 0.5, 0.4, 0.0, 0.0, 0.0])  # standard deviations of the cosines (METHODS 12.3)
MOST_GROUPS = 24  # with effects of their own: parameters, of which the particles follow about 40
MOST_JUDGES = 4  # whose patterns are told apart
_OF_VOTES = 0.4  # of a standard deviation between groups, that an item is off for either side of a verdict
# Log odds from the end of a range of ranks that is nearest to the cut, between which it is looked at.
_FROM_END = np.array([0.1, 0.3, 0.7, 1.5, 3.0, 6.0])
_FIRST_STEP = 0.3  # of the smooth deviation at the cut, in steps between neighbours


class _Totals(NamedTuple):
    """Means over the items of every cell."""

    cell: Int[np.ndarray, " M"]
    size: Int[np.ndarray, " K"]
    times: Times

    def mean(self, values: np.ndarray) -> Float[np.ndarray, " K"]:
        values = values if self.times is None else values * self.times
        return np.bincount(self.cell, weights=values, minlength=len(self.size)) / np.maximum(self.size, 1)

    def standard(self, values: Float[np.ndarray, " K"]) -> tuple[Float[np.ndarray, " K"], float]:
        """Return cells' values in standard units over the items, and the unit."""
        share = self.size / self.size.sum()
        away = values - share @ values
        unit = float(np.sqrt(share @ away**2))
        return (away / unit if unit > 1e-9 else np.zeros_like(away)), max(unit, 1e-6)


def coordinates_of(ranked: RankedScore | None, cell: Int[np.ndarray, " M"], size: Int[np.ndarray, " K"]) -> Coordinates:
    """Compute what the curves know of every cell."""
    totals = _Totals(cell, size, None if ranked is None else ranked.times)
    if ranked is None:
        nothing = np.zeros((1, len(size)), np.float32)
        smooth = np.zeros((1, len(size), N_SMOOTH), np.float32)
        return _coordinates(nothing, nothing, smooth, nothing[0], np.ones(1), 0.0)
    if ranked.announced is None:
        return _of_confidence(ranked, totals)
    return _of_positives(ranked, ranked.announced, totals)


def with_groups(
    coordinates: Coordinates,
    cell: Int[np.ndarray, " M"],
    times: Times = None,
    group: Int[np.ndarray, " M"] | None = None,
    kind: Int[np.ndarray, " M"] | None = None,
) -> Coordinates:
    """Let groups have effects of their own: parameters of the curves if they are few, else drawn given the curves.

    Scores may tell more in one group than in another, too. Items of different `kind`, such as predicted class, have
    effects as groups have, and more labels may be of one kind than of another. Curves that know nothing of kinds would
    take those with most labels for all. So where there are very many, several of them that have about as many items
    share a parameter, and each has an effect that is drawn. If there are more than eight, scores tell as much in all.
    """
    few, many = _few_and_many(group, kind, times)
    n_cells = len(coordinates.feature)
    shares = [_shares(by, cell, n_cells, times) for by in few if _number(by) > 1]
    coordinates = coordinates._replace(groups=np.concatenate([coordinates.groups, *shares], axis=1))
    if group is not None and kind is None:
        coordinates = coordinates._replace(own_slopes=np.ones(1, np.int32))
    if many is None:
        return coordinates
    of_cell = np.zeros(n_cells, np.int32)
    of_cell[cell] = many
    return coordinates._replace(many=of_cell)


def _few_and_many(
    group: Int[np.ndarray, " M"] | None, kind: Int[np.ndarray, " M"] | None, times: Times
) -> tuple[list[Int[np.ndarray, " M"]], Int[np.ndarray, " M"] | None]:
    """Return which groups of items have effects that are parameters, and which have those that are drawn."""
    groups = [by for by in (kind, group) if by is not None]
    if sum(map(_number, groups)) <= MOST_GROUPS:
        return groups, None
    if kind is None:
        return [], group
    if _number(kind) <= MOST_GROUPS:
        return [kind], group
    if group is None:
        return [_of_like_size(kind, MOST_GROUPS, times)], kind
    if 2 * _number(group) <= MOST_GROUPS:
        return [_of_like_size(kind, MOST_GROUPS - _number(group), times), group], kind
    pair = np.unique(np.stack([kind, group]), axis=1, return_inverse=True)[1].ravel()
    return [_of_like_size(kind, MOST_GROUPS, times)], pair


def _of_like_size(kind: Int[np.ndarray, " M"], n: int, times: Times) -> Int[np.ndarray, " M"]:
    """Put kinds together that have about as many items, as many kinds in each of `n` places.

    Examples
    --------
    >>> _of_like_size(np.array([0, 1, 1, 2, 3, 3, 3]), 2, None).tolist()
    [0, 1, 1, 0, 1, 1, 1]
    """
    sizes = count(kind, _number(kind), times)
    there = np.flatnonzero(sizes)
    place = np.zeros(len(sizes), np.int64)
    place[there[np.argsort(sizes[there], kind="stable")]] = np.arange(len(there)) * n // len(there)
    return place[kind]


def _number(group: Int[np.ndarray, " M"]) -> int:
    return int(group.max()) + 1


def _shares(
    group: Int[np.ndarray, " M"], cell: Int[np.ndarray, " M"], n_cells: int, times: Times
) -> Float[np.ndarray, "K G"]:
    """Count which shares of the items of every cell are of every group."""
    n_groups = _number(group)
    items = count(cell * n_groups + group, n_cells * n_groups, times).reshape(n_cells, n_groups)
    return (items / items.sum(1, keepdims=True)).astype(np.float32)


def patterns(votes: Bool[np.ndarray, "M J"]) -> Int[np.ndarray, " M"]:
    """Return the number of the judges that take each item for the event, or which ones, written in bits, if few vote.

    Examples
    --------
    >>> patterns(np.array([[True, False], [False, True], [False, False]])).tolist()
    [1, 2, 0]
    >>> patterns(np.ones((1, 9), bool)).tolist()
    [9]
    """
    n_judges = votes.shape[1]
    return votes @ (1 << np.arange(n_judges)) if n_judges <= MOST_JUDGES else votes.sum(1)


def with_votes(
    coordinates: Coordinates, votes: Bool[np.ndarray, "M J"], cell: Int[np.ndarray, " M"], times: Times = None
) -> Coordinates:
    """Let the verdict of every further judge have effects of its own, or of many judges how many take it for the event.

    A verdict is a group of items, except that both sides of it count: the odds of the event differ between them by any
    factor, to be learned, and how much the score tells may differ too.
    """
    given = votes if votes.shape[1] <= MOST_JUDGES else votes.mean(1, keepdims=True)
    n_cells = len(coordinates.feature)
    size = count(cell, n_cells, times)
    columns = [add_up(cell, column, n_cells, times) / size for column in given.T.astype(np.float64)]
    sides = _OF_VOTES * (2 * np.stack(columns, axis=1) - 1)
    return coordinates._replace(groups=np.concatenate([coordinates.groups, sides.astype(np.float32)], axis=1))


def _of_positives(ranked: RankedScore, announced: Bool[np.ndarray, " M"], totals: _Totals) -> Coordinates:
    u = ranked.fractions
    log_odds = float(np.log(ranked.share) - np.log1p(-ranked.share))
    rank = totals.mean(np.log(u) - np.log1p(-u)) + log_odds  # 0 where predicted positives end
    logit = _logits(ranked.score, ranked.times)
    # The score where predicted positives end, whatever it is.
    cut = _score_at(logit, announced if ranked.tells_apart else None, ranked.times)
    score = totals.mean(np.clip(logit - cut, -_MOST_LOGIT, _MOST_LOGIT))
    (rank_standard, rank_unit), (score_standard, score_unit) = totals.standard(rank), totals.standard(score)
    about_cut = np.linspace(-_BELOW, _ABOVE, N_SMOOTH)
    knots = about_cut if ranked.at_cut else _knots(rank, totals.size), _knots(score, totals.size)
    coordinates = _coordinates(
        place=np.stack([rank, score]),
        standard=np.stack([score_standard, rank_standard]),
        smooth=np.stack([_walk(rank, knots[0]), _walk(score, knots[1])]),
        feature=totals.mean(ranked.votes - ranked.n_systems / 2),
        unit=np.array([rank_unit, score_unit]),
        log_odds=log_odds,
        groups=_differences(ranked, announced, totals),
    )
    if ranked.ties is None:
        return coordinates
    return coordinates._replace(tied=_tied_cells(ranked.ties, totals, log_odds, score, knots))


def _tied_cells(
    ties: TiedRanks,
    totals: _Totals,
    log_odds: float,
    score: Float[np.ndarray, " K"],
    knots: tuple[Float[np.ndarray, " J"], Float[np.ndarray, " J"]],
) -> TiedCells | None:
    """Find the cells most of whose items tie, and points of the ranges of their ranks, of which all are as probable."""
    n_cells, n_ties = len(totals.size), len(ties.low)
    both = totals.cell.astype(np.int64) * (n_ties + 1) + ties.which
    items = count(both, n_cells * (n_ties + 1), totals.times).reshape(n_cells, n_ties + 1)[:, 1:]
    cell = np.flatnonzero(2 * items.sum(1) > totals.size)
    if not len(cell):
        return None
    there = items[cell] > 0
    low, high = np.where(there, ties.low, 1.0).min(1), np.where(there, ties.high, 0.0).max(1)
    edges = _edges(low, high, -log_odds)
    mass = np.diff(edges, axis=1)
    rank = np.where(mass > 0, np.diff(_integral_of_logit(edges), axis=1) / np.maximum(mass, _LEAST) + log_odds, 0.0)
    place = np.stack([rank, np.broadcast_to(score[cell][:, None], rank.shape)])
    smooth = np.stack(
        [_walk(x.ravel(), own_knots).reshape(*x.shape, -1) for x, own_knots in zip(place, knots, strict=True)]
    )
    which = np.full(n_cells, -1, np.int32)
    which[cell] = np.arange(len(cell))
    held = (part.astype(np.float32) for part in (place, smooth, mass / (high - low)[:, None]))
    return TiedCells(which, cell.astype(np.int32), *held)


def _edges(low: Float[np.ndarray, " W"], high: Float[np.ndarray, " W"], cut: float) -> Float[np.ndarray, "W Q+1"]:
    """Divide ranges of fractions, narrowly at the end that is nearer to the cut, which is given by its log odds."""
    below = (low + high) / 2 < 1 / (1 + np.exp(-cut))
    near, far, outward = np.where(below, high, low), np.where(below, low, high), np.where(below, -1.0, 1.0)
    end = np.clip(near, _LEAST, 1 - _LEAST)
    inner = 1 / (1 + np.exp(-(np.log(end) - np.log1p(-end))[:, None] - outward[:, None] * _FROM_END))
    return np.sort(np.column_stack([near, inner.clip(low[:, None], high[:, None]), far]), axis=1)


def _integral_of_logit(u: np.ndarray) -> np.ndarray:
    """Return -H(u), H the entropy in nats."""
    return special.xlogy(u, u) + special.xlog1py(1 - u, -u)


def _differences(ranked: RankedScore, announced: Bool[np.ndarray, " M"], totals: _Totals) -> Float[np.ndarray, "K G"]:
    """Compute S - 1 contrasts of what S systems predict, by which the event may be more probable where one is right.

    They are orthonormal, so that effects of one standard deviation prefer no system: those of any two differ alike.
    """
    if ranked.others is None or len(ranked.others) > MOST_GROUPS:
        return np.zeros((len(totals.size), 0))
    each = np.stack([totals.mean(votes) for votes in (announced, *ranked.others)], axis=1)
    after = np.arange(1, ranked.n_systems)
    # Of every further system the mean of those before it, less its own.
    before = np.cumsum(each, axis=1)[:, :-1]
    return (before - after * each[:, 1:]) / np.sqrt(after * (after + 1))


def _of_confidence(ranked: RankedScore, totals: _Totals) -> Coordinates:
    fraction = totals.mean(ranked.fractions)
    logit = totals.mean(np.clip(_logits(ranked.score, ranked.times), -15, 15))
    waves = _WAVES * np.cos(np.pi * np.outer(fraction, np.arange(1, N_SMOOTH + 1)))
    return _coordinates(
        place=np.stack([fraction, logit]),
        standard=np.zeros((2, len(fraction))),
        smooth=np.stack([waves, waves]),
        feature=np.log((fraction + 0.05) / 1.05),
        unit=np.ones(2),
        log_odds=0.0,
    )


def _coordinates(place, standard, smooth, feature, unit, log_odds, groups=None) -> Coordinates:
    groups = np.zeros((len(feature), 0)) if groups is None else groups
    arrays = (place, standard, smooth, feature, unit, log_odds, groups)
    place, standard, smooth, feature, unit, log_odds, groups = (np.asarray(array, np.float32) for array in arrays)
    return Coordinates(place, standard, smooth, feature, unit, log_odds, groups)


def _score_at(score: Float[np.ndarray, " M"], announced: Bool[np.ndarray, " M"] | None, times: Times) -> float:
    """Score that as many items reach as are announced, or that half of them reach."""
    if announced is None:
        n = (len(score) if times is None else int(times.sum())) // 2
    else:
        n = int(announced.sum() if times is None else times[announced].sum())
    return score_reached_by(n, score, times)


def _logits(score: Float[np.ndarray, " M"], times: Times) -> Float[np.ndarray, " M"]:
    """Logits of probabilities; other scores in standard units, doubled."""
    score = np.asarray(score, np.float64)
    if score.min() >= 0 and score.max() <= 1:
        return np.log(np.maximum(score, _LEAST)) - np.log(np.maximum(1 - score, _LEAST))
    score = np.ldexp(score, -int(np.frexp(np.abs(score).max())[1]))  # of up to 1, as squares of 1e160 overflow; exact
    away = score - mean(score, times)
    unit = np.sqrt(mean(away**2, times))
    return 2 * away / (unit if unit > 0 else 1.0)


def _knots(x: Float[np.ndarray, " K"], size: Int[np.ndarray, " K"]) -> Float[np.ndarray, " J"]:
    """Spread knots over the cells, by the roots of their sizes."""
    # Cells of one place but for rounding stand in the same order, however their means were summed up.
    weight, order = np.sqrt(size), np.lexsort((size, x.astype(np.float32)))
    knots = np.interp(np.linspace(0.02, 0.98, N_SMOOTH), np.cumsum(weight[order]) / weight.sum(), x[order])
    return np.maximum.accumulate(knots + 1e-6 * np.arange(N_SMOOTH))


def _walk(x: Float[np.ndarray, " K"], knots: Float[np.ndarray, " J"]) -> Float[np.ndarray, "K J"]:
    """Piecewise linear functions of x that a random walk over the knots, outward from that nearest to 0, weighs."""
    hats = np.stack([np.interp(x, knots, heights) for heights in np.eye(len(knots))], axis=-1)
    start = int(np.argmin(np.abs(knots)))
    steps = np.zeros((len(knots), len(knots)))
    steps[:, start] = _FIRST_STEP
    for j in range(len(knots)):
        between = slice(start + 1, j + 1) if j > start else slice(j, start)
        steps[j, between] = 1.0
    return hats @ steps
