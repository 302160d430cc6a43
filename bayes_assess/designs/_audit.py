"""The audit of a belief by random items: bets on the measures that are ratios (`bayes_assess.estimators.betting`)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bayes_assess._tools.axes import x64
from bayes_assess.acquisition.cell_measure import CellMeasure
from bayes_assess.estimators import betting
from bayes_assess.estimators.betting import Betting
from bayes_assess.estimators.ratio_losses import ratio_losses


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
        Labels of random items.
    """

    f: Any
    g: Any
    bets: Betting
    known: Any
    believed: Any
    counts: Any


@x64
def design_intervals(
    audit: Audit, bets: Betting, counts: Int[np.ndarray, "N K O"], measure: CellMeasure, level: float
) -> Float[np.ndarray, "N k 2"]:
    """Compute the intervals that lean on random items alone; the whole range for measures that are no ratios.

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
        together = np.bincount(ratios.outputs)[ratios.outputs]  # ratios of an output, all of which are to be held
        each = 1 - (1 - level) / together
        found = np.asarray(_intervals(audit.f, audit.g, bets, counts, np.asarray(measure.size), each))
        found = np.where(ratios.sign[:, None] < 0, -found[..., ::-1], found)
        for output in np.unique(ratios.outputs):
            ends[:, output] = found[:, ratios.outputs == output].sum(1)
    return ends


@partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
def _intervals(f, g, bets, counts, size, level):
    def one(bets, counts):
        open_ = size - counts.sum(-1)
        return jax.vmap(lambda bets, f, g, level: betting.interval(bets, f, g, counts, open_, level))(bets, f, g, level)

    return jax.vmap(one)(bets, counts)


def first_audit(measure: CellMeasure, playable: Bool[np.ndarray, " K"]) -> Audit:
    """Return the audit before any label, on the host, as nothing needs to be compiled for it."""
    ratios, attribute = ratio_losses(measure.table), np.asarray(measure.attribute)
    started = [betting.start(low, high) for low, high in ratios.ranges.tolist()]
    bets = jax.tree.map(lambda *parts: np.stack(parts), *started) if started else betting.start()
    size = np.asarray(measure.size)
    return Audit(
        f=ratios.f[:, attribute],
        g=ratios.g[:, attribute],
        bets=bets,
        known=np.where(np.asarray(playable)[:, None], 0, any_label(size, measure.n_outcomes)),
        believed=np.zeros((len(size), measure.n_outcomes)),
        counts=np.zeros((len(size), measure.n_outcomes), np.int64),
    )


def any_label(size: Any, n_outcomes: int) -> Int[Array, "K O"]:
    """Return counts of labels that make no odds."""
    return size[:, None] * (np.arange(n_outcomes) == 0)
