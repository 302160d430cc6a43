"""The posterior of a finite pool's measure, from draws of a belief on an event.

Labelled items are as they are. A draw of the belief gives every cell a curve m and a strength nu; the cell's own rate
is Beta(nu m + k, nu (1 - m) + n - k), and the unlabelled items show the event a binomial number of times
(METHODS 12.3). With everything labelled, every draw is the exact measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.drawn_labels import DrawnLabels
from bayes_assess.models.error_labels import ErrorLabels

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable


_N_QUANTILES, _OF_MANY = 400, 100  # of a measure, and of each of many
_MANY = 64
_TAIL = np.append(0.0, 0.5 ** np.arange(6, 0, -1))  # of the probability of the first quantile, where levels are high
_HARDLY = 1e-9  # weight of a precaution that is not probable: none, unless every draw is one
_IN_CACHE = 50_000  # numbers
_LEAST_PARAMETER = 1e-9
_NUMBERS = 4_000_000  # of items by attribute and outcome, at once


class PosteriorMeasure(NamedTuple):
    """Posterior of k measures.

    Attributes
    ----------
    quantiles : (..., k, Q)
        Quantiles at the probabilities (i + 1/2) / Q.
    exact : (...) booleans
        Whether every item is labelled that can matter.
    value : (..., k)
        Point estimates, see `posterior_measure`.
    design_interval : (..., k, 2), optional
        Intervals that lean on random items alone.
    draws : (..., n, k), optional
        Joint draws, where the measures are compared with each other.
    tails : (..., k, 2, T), optional
        Quantiles below the first and above the last one, outwards in: at those shares of its probability that
        `_TAIL` has, and at those of what the last one leaves over.
    sure_design_interval : (..., k, 2), optional
        Those of `design_interval` at a level by which they may contradict a belief, see `contradicting_level`.
    """

    quantiles: Float[np.ndarray, "*batch k Q"]
    exact: Bool[np.ndarray, "*batch"]
    value: Float[np.ndarray, "*batch k"]
    design_interval: Float[np.ndarray, "*batch k 2"] | None = None
    draws: Float[np.ndarray, "*batch n k"] | None = None
    tails: Float[np.ndarray, "*batch k 2 T"] | None = None
    sure_design_interval: Float[np.ndarray, "*batch k 2"] | None = None

    of_posterior = True  # as of `Estimate`
    of_ranks = False

    def interval(self, level: float) -> Float[np.ndarray, "*batch k 2"]:
        """Equal-tailed credible intervals, with the shortest ones where these reach further.

        An equal-tailed interval leaves out the ends of the range, where the truth may well be: that a recall is 1, say.
        """
        low, high = self._equal_tailed((1 - level) / 2)
        starts = np.linspace(0, 1 - level, 41)
        lows, highs = _at(self.quantiles, starts), _at(self.quantiles, starts + level)
        best = np.argmin(highs - lows, axis=-1)[..., None]
        shortest = [np.take_along_axis(ends, best, -1)[..., 0] for ends in (lows, highs)]
        return np.stack([np.minimum(low, shortest[0]), np.maximum(high, shortest[1])], axis=-1)

    def _equal_tailed(self, tail: float) -> tuple[Float[np.ndarray, "*batch k"], Float[np.ndarray, "*batch k"]]:
        """Return quantiles at a probability and at what it leaves of 1."""
        share = 2 * self.quantiles.shape[-1] * tail  # of the probability of the first quantile
        if share >= 1 or self.tails is None:
            return _at(self.quantiles, tail), _at(self.quantiles, 1 - tail)
        known = np.append(_TAIL, 1.0)
        i = int(np.searchsorted(known, share, side="right")) - 1
        ends = []
        for side, first in enumerate((self.quantiles[..., 0], self.quantiles[..., -1])):
            outer = self.tails[..., side, i]
            inner = first if i == len(_TAIL) - 1 else self.tails[..., side, i + 1]
            ends.append(outer + (inner - outer) * (share - known[i]) / (known[i + 1] - known[i]))
        return ends[0], ends[1]


def posterior_measure(
    draws: Float[np.ndarray, "n k"], exact: Scalar, cautious: Bool[np.ndarray, "n P"] | None = None
) -> PosteriorMeasure:
    """Summarise posterior draws: their quantiles and medians.

    Parameters
    ----------
    draws : (n, k)
    exact : bool
        Whether all draws are the values themselves.
    cautious : (n, P) booleans, optional
        Draws of each of P precautions, which count in full for the quantiles. In the medians they count by as much as
        they are more probable than the others, so that fear alone moves no estimate: a share w of the draws weighs
        max(0, 2 w - 1), the others 1 - w. A draw of several counts by the product.

    Examples
    --------
    >>> draws, feared = np.array([[0.9], [0.9], [0.8], [0.2], [0.1]]), np.array([[0], [0], [0], [1], [1]], bool)
    >>> [posterior_measure(draws, False, those).value.round(2).tolist() for those in (feared, None)]
    [[0.9], [0.8]]
    """
    n = _N_QUANTILES if draws.shape[1] <= _MANY else _OF_MANY
    outer = _TAIL / (2 * n)
    found = _quantiles(draws, np.concatenate([(np.arange(n) + 0.5) / n, outer, 1 - outer]))
    quantiles, tails = found[:, :n], found[:, n:].reshape(-1, 2, len(_TAIL))
    value = _at(quantiles, 0.5)
    if cautious is not None and cautious.any():
        share = cautious.mean(0)
        least = np.maximum(2 * share - 1, _HARDLY) / np.maximum(share, _HARDLY)
        value = _medians(draws, np.where(cautious, least, 1.0).prod(1))
    return PosteriorMeasure(quantiles, np.asarray(exact), value, tails=tails)


def _quantiles(draws: Float[np.ndarray, "n k"], at: Float[np.ndarray, " Q"]) -> Float[np.ndarray, "k Q"]:
    """Compute `numpy.quantile` of every column at many probabilities from sorted draws, in a tenth of its time."""
    ordered = np.sort(np.ascontiguousarray(draws.T), axis=1)
    ordered[np.isnan(ordered[:, -1])] = np.nan
    last = len(draws) - 1
    below = np.floor(at * last).astype(np.intp)
    share, low, high = at * last - below, ordered[:, below], ordered[:, np.minimum(below + 1, last)]
    gap = high - low
    return np.where(share < 0.5, low + gap * share, high - gap * (1 - share)).astype(np.float64)


def _medians(draws: Float[np.ndarray, "n k"], weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
    """Compute weighted medians."""
    order = np.argsort(draws, axis=0, kind="stable")
    upto = np.cumsum(weight[order], axis=0)
    place = (upto < upto[-1] / 2).sum(0)
    return np.take_along_axis(draws, np.take_along_axis(order, place[None], 0), 0)[0].astype(np.float64)


def simultaneous_band(draws: Float[np.ndarray, "n k"], level: float) -> Float[np.ndarray, "k 2"]:
    """Return intervals that hold all measures at once with a posterior probability: central ranks of the draws.

    Parameters
    ----------
    draws : (n, k)
    level : float in (0, 1)

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4000, 2))
    >>> low, high = simultaneous_band(draws, 0.95).T
    >>> inside = ((low <= draws) & (draws <= high)).all(1).mean()
    >>> bool(0.95 <= inside < 0.955)
    True
    """
    n = len(draws)
    ordered = np.sort(draws, axis=0)
    depth = np.full(n, n)  # of a draw: by how many others it is exceeded, at the output where that is fewest
    for values, column in zip(draws.T, ordered.T, strict=True):
        upto = np.searchsorted(column, values, side="right")
        beyond = n - np.searchsorted(column, values, side="left")
        depth = np.minimum(depth, np.minimum(upto, beyond))
    least = int(np.sort(depth)[n - int(np.ceil(level * n))])
    return np.stack([ordered[least - 1], ordered[n - least]], axis=-1)


class Completion(NamedTuple):
    """What becomes of the items of a pool that do not show the event.

    Attributes
    ----------
    event, row : (K,) integers
        Outcome that is the event, and row of `errors`.
    errors : ErrorLabels
    counts : (K, O) integers
        Labelled items.
    """

    event: Int[Array, " K"]
    row: Int[Array, " K"]
    errors: ErrorLabels
    counts: Int[Array, "K O"]

    @property
    def events(self) -> Int[np.ndarray, "K 2"]:
        """Labelled items without and with the event."""
        return labelled_events(self.event, self.counts)


def labelled_events(event: Int[Array, " K"], counts: Int[Array, "K O"]) -> Int[np.ndarray, "K 2"]:
    """Count labelled items without and with the event, an outcome of every cell; -1 where none is.

    Examples
    --------
    >>> labelled_events(np.array([1, 0, -1]), np.array([[2, 3], [2, 3], [2, 3]])).tolist()
    [[2, 3], [3, 2], [5, 0]]
    """
    counts = np.asarray(counts)
    shown = (counts * (np.arange(counts.shape[1]) == np.asarray(event)[:, None])).sum(1)
    return np.stack([counts.sum(1) - shown, shown], axis=-1)


def measure_draws(
    rng: np.random.Generator,
    measure: CellMeasure,
    curves: Float[np.ndarray, "n K"],
    strength: Float[np.ndarray, "n K"],
    counts: Int[Array, "K 2"],
    completion: Completion | None = None,
    supposed: Int[np.ndarray, "K 2"] | int = 0,
    labelled: LabelledItems | None = None,
    known: Int[np.ndarray, "K 2"] | int = 0,
) -> Float[np.ndarray, "n k"]:
    """Draw the pool's measures, one for every curve.

    Parameters
    ----------
    rng : Generator
    measure : CellMeasure
    curves, strength : (n, K)
        Draws of the belief.
    counts : (K, 2)
        Labelled items without and with the event.
    completion : Completion, optional
        Where there are more outcomes than the two.
    supposed : (K, 2) integers, optional
        Items without a label of which it is supposed that they are without and with the event, where these are all
        outcomes; the curves have learned it.
    labelled : LabelledItems, optional
        Of measures that tell the items of a cell apart, such as those of a ranking.
    known : (K, 2) integers, optional
        Further labelled items, from which nothing is learned.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.pool.rank_strata import RankStrata
    >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
    >>> setting = ba.Metric("f1").setting(pool, strata=RankStrata(4))
    >>> full = np.eye(2, dtype=int)[[0, 1, 0, 1]]
    >>> measure_draws(np.random.default_rng(0), setting.reward, np.full((3, 4), 0.5), np.ones((3, 4)), full).tolist()
    [[0.5], [0.5], [0.5]]
    """
    supposed, known = (np.broadcast_to(items, counts.shape) for items in (supposed, known))
    rest = np.asarray(measure.size) - (counts + known + supposed).sum(-1)
    events = _event_draws(rng, rest, curves, strength, counts + supposed)
    if labelled is not None:
        table: Any = measure.table
        return labelled.values(table, events + supposed[:, 1], rest + supposed.sum(-1))
    if completion is None or completion.errors.is_trivial:
        return measure_values(measure, events + (counts + known + supposed)[:, 1])
    return _completed(rng, measure, events, rest - events, completion)


def added_by_attribute(measure: CellMeasure, items: Float[np.ndarray, "n K *O"]) -> Float[np.ndarray, "n A *O"]:
    """Add up items over the cells of every attribute."""
    attribute = np.asarray(measure.attribute)
    order = np.argsort(attribute, kind="stable")
    present, first = np.unique(attribute[order], return_index=True)
    totals = np.zeros((len(items), measure.n_attributes, *items.shape[2:]))
    totals[:, present] = np.add.reduceat(items[:, order], first, axis=1)
    return totals


def outcome_draws(
    rng: np.random.Generator,
    size: Int[np.ndarray, " K"],
    curves: Float[np.ndarray, "n K"],
    strength: Float[np.ndarray, "n K"],
    counts: Int[Array, "K 2"],
    completion: Completion,
) -> Int[np.ndarray, "n K O"]:
    """Draw the outcomes of the unlabelled items of every cell, for every curve.

    Parameters
    ----------
    rng, curves, strength, counts, completion
        As for `measure_draws`.
    size : (K,)
        Items of every cell.

    Examples
    --------
    >>> none = Completion(np.array([1]), np.array([0]), ErrorLabels.none(), np.array([[1, 0]]))
    >>> outcome_draws(np.random.default_rng(0), np.array([4]), np.full((2, 1), 1.0), np.full((2, 1), 1e9),
    ...               np.array([[1, 0]]), none).tolist()
    [[[0, 3]], [[0, 3]]]
    """
    rest = size - counts.sum(-1)
    events = _event_draws(rng, rest, curves, strength, counts)
    labels = completion.errors.drawn(rng, len(events))[:, completion.row]
    outcomes = rng.multinomial(rest - events, labels / np.maximum(labels.sum(-1, keepdims=True), 1.0))
    outcomes[:, np.arange(len(size)), completion.event] += events
    return outcomes


def _event_draws(
    rng: np.random.Generator,
    rest: Int[np.ndarray, " K"],
    curves: Float[np.ndarray, "n K"],
    strength: Float[np.ndarray, "n K"],
    counts: Int[Array, "K 2"],
) -> Int[np.ndarray, "n K"]:
    """Draw how many of the unlabelled items of every cell, `rest`, show the event."""
    open_ = np.flatnonzero(rest > 0)
    of_open = slice(None) if len(open_) == len(rest) else open_
    counts = np.asarray(counts)[of_open]
    step = max(1, _IN_CACHE // len(rest))
    blocks = [slice(start, start + step) for start in range(0, len(curves), step)]
    rate = np.empty((len(curves), len(open_)))
    for rows in blocks:
        share, nu = (np.asarray(part[rows], np.float64)[:, of_open] for part in (curves, strength))
        a = np.maximum(nu * share + counts[:, 1], _LEAST_PARAMETER)
        b = np.maximum(nu * (1 - share) + counts[:, 0], _LEAST_PARAMETER)
        rate[rows] = rng.beta(a, b)
    events = np.zeros(curves.shape, np.int64)
    for rows in blocks:
        events[rows, of_open] = rng.binomial(rest[of_open], rate[rows])
    return events


def _completed(
    rng: np.random.Generator,
    measure: CellMeasure,
    events: Int[np.ndarray, "n K"],
    others: Int[np.ndarray, "n K"],
    completion: Completion,
) -> Float[np.ndarray, "n k"]:
    """Draw the outcomes of items without the event, and compute the measures."""
    attribute, n_outcomes = np.asarray(measure.attribute), measure.n_outcomes
    labelled = np.zeros((measure.n_attributes, n_outcomes))
    np.add.at(labelled, attribute, completion.counts)
    # Cells of one attribute, event and row are alike.
    kinds, kind = np.unique(np.stack([attribute, completion.event, completion.row]), axis=1, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    first = np.searchsorted(kind.ravel()[order], np.arange(kinds.shape[1]))
    with_event, missing = (np.add.reduceat(items[:, order], first, axis=1) for items in (events, others))
    right = _right_shares(with_event.mean(0), missing.mean(0), kinds[2], completion)
    completed, values = completion.errors.given_accuracy(right), []
    for some, errors in completed.in_parts(rng, len(events), max(1, _NUMBERS // labelled.size)):
        items = np.tile(labelled, (len(events[some]), 1, 1))
        rest = _rest_by_kind(rng, missing[some], kinds[2], errors)
        for i, (a, event, _) in enumerate(kinds.T):
            items[:, a, event] += with_event[some, i]
            items[:, a] += rest[i]
        values.append(values_by_attribute(measure, items))
    return np.concatenate(values)


def _right_shares(
    with_event: Float[np.ndarray, " kinds"],
    missing: Float[np.ndarray, " kinds"],
    row_of_kind: Int[np.ndarray, " kinds"],
    completion: Completion,
) -> Float[np.ndarray, " R"]:
    """Return what share of the items of every row is believed to show the event; NaN where there is none."""
    row, told = np.asarray(completion.row), np.asarray(completion.counts)
    right, size = np.zeros((2, len(completion.errors.counts)))
    np.add.at(right, row_of_kind, with_event)
    np.add.at(size, row_of_kind, with_event + missing)
    np.add.at(right, row, told[np.arange(len(row)), np.asarray(completion.event)])
    np.add.at(size, row, told.sum(1))
    return np.divide(right, size, out=np.full(len(size), np.nan), where=size > 0)


def _rest_by_kind(
    rng: np.random.Generator, missing: Int[np.ndarray, "n kinds"], row: Int[np.ndarray, " kinds"], errors: DrawnLabels
) -> list[Int[np.ndarray, "n O"]]:
    """Draw the outcomes of items without the event; kinds of one row have one distribution of them."""
    if len(np.unique(row)) == len(row):
        wrong = np.zeros((len(missing), len(errors.counts)), np.int64)
        wrong[:, row] = missing
        labels = errors.completed(rng, wrong)
        return [labels[:, r] for r in row]
    theta = errors.drawn(rng, len(missing))
    return [rng.multinomial(n, theta[:, r]) for n, r in zip(missing.T, row, strict=True)]


def measure_values(measure: CellMeasure, events: Int[np.ndarray, "n K"]) -> Float[np.ndarray, "n k"]:
    """Compute measures of one event from the number of items of every cell that show it."""
    size = np.bincount(np.asarray(measure.attribute), np.asarray(measure.size), measure.n_attributes)
    with_event = added_by_attribute(measure, events)
    return values_by_attribute(measure, np.stack([size - with_event, with_event], axis=-1))


@x64
def values_by_attribute(measure: CellMeasure, items: Float[np.ndarray, "n A O"]) -> Float[np.ndarray, "n k"]:
    """Compute measures from the number of items of every attribute with every outcome."""
    return np.asarray(_values(measure.table, items / np.asarray(measure.size).sum()))


@engine.jit
def _values(table: LossTable | PRCurveTable, share: Float[Array, "n A C"]) -> Float[Array, "n k"]:
    return table.value(table.mean(share))


def _at(
    quantiles: Float[np.ndarray, "*batch Q"], probability: float | Float[np.ndarray, " P"]
) -> Float[np.ndarray, "*batch"] | Float[np.ndarray, "*batch P"]:
    """Interpolate between quantiles, at one probability or at several."""
    n = quantiles.shape[-1]
    place = np.clip(np.asarray(probability) * n - 0.5, 0, n - 1)
    below = np.minimum(place.astype(np.intp), n - 2)
    return quantiles[..., below] + (place - below) * (quantiles[..., below + 1] - quantiles[..., below])
