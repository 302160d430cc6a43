"""The audit of a belief by random items: bets on the measures that are ratios (`bayes_assess.estimators.betting`).

Random items are uniform draws in part; the others are drawn with probabilities that follow what an item is believed to
tell. Any probabilities may be chosen, as long as they depend on nothing but what was known before the draw and every
item may be drawn: see `audit_plan`.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.estimators import betting
from bayes_assess.estimators.betting import Betting
from bayes_assess.estimators.ratio_losses import area_from_ratios, between, ratio_losses, signed
from bayes_assess.measures.cell_measure import CellMeasure

_MORE = 5.0  # random items for every uniform one, at most
_MOST_RANDOM = 0.3  # of all items
_OF_EVENTS = 25.0  # where one item in so many has the event, or more, there are as many as that
_LEARNING = 100  # labels from which on there are as many as that
_POWER = 0.75  # of the variance of a label: with 1/2 bets vary least, with 1 the estimate loses least


class Audit(NamedTuple):
    """What random items alone say of the measures that are ratios.

    Attributes
    ----------
    f, g : (J, K, O)
        Losses of the ratios sum f / sum g.
    bets : Betting of arrays (J, ...)
    known : (K, O) integers
        Labelled items that no item without a label was asked for before; items that cannot matter are among them.
    believed : (K, O)
        Probability of every outcome, as it was believed when no item was pending last.
    counts : (K, O) integers
        Labels of uniformly random items.
    doublings : (K,) integers
        Of the probability of an item beyond the least one, in halves, as it was when no item was pending last.
    """

    f: Float[Array, "J K O"]
    g: Float[Array, "J K O"]
    bets: Betting
    known: Int[Array, "K O"]
    believed: Float[Array, "K O"]
    counts: Int[Array, "K O"]
    doublings: Int[Array, " K"]

    @property
    def rates(self) -> Float[Array, " K"]:
        """What the probability of an item of every cell is in proportion to."""
        return xp.exp2(self.doublings / 2)


def telling(variance: Float[Array, "K J"]) -> Float[Array, "K J"]:
    """Compute what a label tells of every measure, from the variance of what it adds to it: a power of that."""
    return xp.maximum(variance, 0.0) ** _POWER


def audit_plan(
    audit: float,
    events: Float[Array, ""] | float,
    remaining: Int[Array, " K"],
    told: Float[Array, "K J"],
    n_asked: Scalar = _LEARNING,
) -> tuple[Float[Array, ""], Int[Array, " K"]]:
    """Choose the share of random items, and how often those of every cell are drawn.

    A share of `audit` is drawn uniformly. Up to five times as many more, as long as three in ten of all items are
    random, are drawn in proportion to what their label is believed to tell, so that they tell the estimate about as
    much as items that the belief chooses. Where events are rare, random items find none, whatever is done: then there
    are fewer, and so at first, while labels teach the curve more than a random one would. The interval is valid for any
    share and any doublings that follow from what is known.

    Parameters
    ----------
    audit : float in [0, 1)
    events : float
        Believed share of items with the event.
    remaining : (K,) integers
        Items that may be drawn.
    told : (K, J)
        What the label of an item tells of every measure, see `telling`.
    n_asked : integer, optional
        Items that were asked for so far; many by default.

    Returns
    -------
    share : float
        Of random items.
    doublings : (K,) integers
        The probability of an item of every cell is in proportion to 2 to the power of half of this; 0 at the least.

    Examples
    --------
    >>> with engine.eager():
    ...     share, doublings = audit_plan(0.05, 0.3, np.array([900, 100]), np.array([[0.0], [1.0]]))
    >>> share.tolist(), doublings.tolist()  # 5 of 6 from the second cell, an item 45 times as often
    (0.3, [0, 11])
    """
    rare = xp.minimum(_OF_EVENTS * xp.minimum(events, 1 - events), 1.0)
    more = xp.maximum(xp.minimum(_MORE * audit * rare, _MOST_RANDOM - audit), 0.0)
    more = more * xp.minimum(n_asked / _LEARNING, 1.0)
    total = remaining.astype(xp.float64) @ told
    share = told @ (1 / xp.where(total > 0, total, xp.inf)) / told.shape[1]  # of an item, where it is not uniform
    among = xp.where(remaining > 0, share, 0.0) * remaining.sum()
    beside = 1 + more / max(audit, 1e-12) * among
    return audit + more, xp.round(2 * xp.log2(beside)).astype(xp.int64)


@x64
def design_intervals(
    audit: Audit, bets: Betting, counts: Int[np.ndarray, "N K O"], measure: CellMeasure, level: float
) -> Float[np.ndarray, "N k 2"]:
    """Compute the intervals that lean on random items alone; the whole range for measures that are no ratios.

    Of systems of which the best is sought they hold all at once, by Bonferroni's inequality, so that leads follow from
    them.

    Parameters
    ----------
    audit : Audit
        Losses.
    bets : Betting of arrays (N, J, ...)
    counts : (N, K, O) integers
        Labelled items, see `BeliefState.settled_counts`.
    measure : CellMeasure
    level : float in (0, 1)
    """
    ends = np.tile(np.array(measure.table.ranges, np.float64), (len(counts), 1, 1))
    if audit.f.shape[0]:
        ratios = ratio_losses(measure.table)
        output = ratios.outputs if measure.sought is None else np.zeros_like(ratios.outputs)
        together = np.bincount(output)[output]  # ratios of an output, or of all, all of which are to be held
        each = 1 - (1 - level) / together
        intervals = np.asarray(_intervals(audit.f, audit.g, bets, counts, np.asarray(measure.size), each))
        if measure.table.is_averaged:
            outputs, intervals = between(intervals, ratios)
        else:
            outputs, intervals = ratios.outputs, signed(intervals, ratios.sign)
        for output in np.unique(outputs):
            own = intervals[:, outputs == output]
            of_order = measure.table.is_ranking
            ends[:, output] = area_from_ratios(own[:, 0], own[:, 1]) if of_order else own.sum(1)
    return ends


@partial(engine.jit, compiler_options={"xla_backend_optimization_level": 0})
def _intervals(f, g, bets, counts, size, level):
    def one(bets, counts):
        open_ = size - counts.sum(-1)

        def of_ratio(bets, f, g, level):
            return betting.interval(bets, f, g, counts, open_, level)

        return engine.vmap(of_ratio)(bets, f, g, level)

    return engine.vmap(one)(bets, counts)


def first_audit(measure: CellMeasure, playable: Bool[np.ndarray, " K"]) -> Audit:
    """Return the audit before any label, on the host, as nothing needs to be compiled for it."""
    ratios, attribute = ratio_losses(measure.table), np.asarray(measure.attribute)
    started = [betting.start(low, high) for low, high in ratios.ranges.tolist()]
    bets = engine.tree_map(lambda *parts: np.stack(parts), *started) if started else betting.start()
    size = np.asarray(measure.size)
    return Audit(
        f=ratios.f[:, attribute],
        g=ratios.g[:, attribute],
        bets=bets,
        known=np.where(np.asarray(playable)[:, None], 0, any_label(size, measure.n_outcomes)),
        believed=np.zeros((len(size), measure.n_outcomes)),
        counts=np.zeros((len(size), measure.n_outcomes), np.int64),
        doublings=np.zeros(len(size), np.int64),
    )


def any_label(size: Int[Array, " K"], n_outcomes: int) -> Int[Array, "K O"]:
    """Return counts of labels that make no odds."""
    return size[:, None] * (np.arange(n_outcomes) == 0)
