"""Stratified estimates, whose strata collapse with their neighbours until each has the labels that it needs."""

from __future__ import annotations

from typing import NamedTuple

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.estimators.weighted import WeightedDraws
from bayes_assess.measures.cell_measure import CellMeasure

_LEAST = 2  # labels of a stratum, below which its variance is unknown


class Collapsed(NamedTuple):
    """Strata, collapsed; arrays (B,) over the strata as they were cut, or over the collapsed ones, which are fewer.

    Attributes
    ----------
    group : (B,) integers
        Collapsed stratum of every stratum.
    per_label : (B,)
        Items that each label of a collapsed stratum stands for, N / n.
    spread : (B,)
        N^2 (1 - n / N) / (n (n - 1)) of every collapsed stratum: times the sum of squared deviations of its labels
        from their mean this is the variance of its estimated total [Cochran]_.
    centre : (B,)
        Square root of spread / n, by which the sum of a stratum's labels enters the variance; 0 for a single label.
    """

    group: Int[Array, " B"]
    per_label: Float[Array, " B"]
    spread: Float[Array, " B"]
    centre: Float[Array, " B"]


def collapse(labels: Int[Array, " B"], size: Int[Array, " B"]) -> Int[Array, " B"]:
    """Collapse neighbouring strata until each has two labels, if there are as many.

    Strata without a label join the nearer of the labelled ones beside them, in items. Then labelled ones join the next
    until they have two labels, and the last joins the one before it if it has not.

    Parameters
    ----------
    labels, size : (B,)
        Labels and items of every stratum, in the order of the scores.

    Returns
    -------
    (B,) integers from 0, not decreasing

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> collapse(jnp.array([0, 3, 0, 0, 1, 0, 1, 1]), jnp.array([9, 9, 1, 9, 9, 9, 9, 9])).tolist()
    [0, 0, 0, 1, 1, 1, 1, 1]
    """
    place, n = xp.arange(len(labels)), len(labels)
    end = xp.cumsum(size)
    middle = end - size / 2
    before = engine.cummax(xp.where(labels > 0, place, -1))
    after = -engine.cummax(xp.where(labels > 0, -place, -n)[::-1])[::-1]
    gap_before = xp.where(before >= 0, middle - end[before], xp.inf)
    last = xp.minimum(after, n - 1)
    gap_after = xp.where(after < n, (end - size)[last] - middle, xp.inf)
    joined = xp.where(labels > 0, place, xp.where(gap_before <= gap_after, xp.maximum(before, 0), last))

    def add(carry, n_labels):
        group, held = carry
        full = held >= _LEAST
        group, held = group + full, xp.where(full, 0, held) + n_labels
        return (group, held), group

    (top, held), group = engine.scan(add, (xp.zeros((), int), xp.zeros((), labels.dtype)), labels)
    group = xp.where((group == top) & (held < _LEAST), xp.maximum(top - 1, 0), group)
    return group[joined]


def collapsed(labels: Int[Array, " B"], size: Int[Array, " B"]) -> Collapsed:
    r"""Collapse strata, and weigh their labels.

    .. math:: \hat R = \sum_g \frac{N_g}{M} \bar l_g, \qquad
              \mathrm{Cov}(\hat R) = \sum_g \frac{N_g^2}{M^2} \Bigl(1 - \frac{n_g}{N_g}\Bigr)
              \frac{1}{n_g (n_g - 1)} \sum_{i \in g} (l_i - \bar l_g)(l_i - \bar l_g)'

    References
    ----------
    .. [Cochran] W. G. Cochran, "Sampling Techniques", 3rd edition, 1977: (5.6), and collapsed strata in section 5A.12.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> strata = collapsed(jnp.array([2, 0, 4]), jnp.array([10, 10, 40]))
    >>> strata.group.tolist(), strata.per_label[:2].tolist(), strata.spread[:2].tolist()
    ([0, 0, 1], [10.0, 10.0], [180.0, 120.0])
    """
    group = collapse(labels, size)
    n, items = (engine.at(xp.zeros(len(size)))[group].add(x) for x in (labels, size))
    some = n > 0
    per_label = xp.where(some, items / xp.where(some, n, 1), 0.0)
    spread = items * xp.maximum(items - n, 0) / xp.maximum(n * xp.maximum(n - 1, 1), 1)
    return Collapsed(
        group=group,
        per_label=per_label,
        spread=xp.where(some, spread, 0.0),
        centre=xp.where(n > 1, xp.sqrt(spread / xp.maximum(n, 1)), 0.0),
    )


def stratum_sizes(measure: CellMeasure, draws: WeightedDraws, counts: Int[Array, "K C"]) -> Float[Array, " B"]:
    """Count the items of every stratum whose labels can matter and that were not told without having been asked for."""
    volunteered = counts.sum(-1) - draws.new.sum(-1)
    return measure.by_block(xp.where(measure.nonzero.any(-1), measure.size - volunteered, 0))


def stratified_draws(
    measure: CellMeasure, draws: WeightedDraws, counts: Int[Array, "K C"]
) -> tuple[WeightedDraws, Float[Array, "B D"]]:
    """Weigh all labels of a stratified sample by the sizes of the collapsed strata, see `collapsed`.

    Parameters
    ----------
    measure : CellMeasure
        Its blocks are the strata.
    draws : WeightedDraws
        Of items that were asked for, each with the weight 1 in `new`.
    counts : (K, C) integers
        Labelled items, those that nobody asked for included: they are known, but stand for no others.

    Returns
    -------
    draws : WeightedDraws
        With weights and squares.
    centres : (B, D)
        What the squares are centred by, a row for every collapsed stratum.
    """
    strata = collapsed(measure.by_block(draws.new.sum(-1)), stratum_sizes(measure, draws, counts))
    group = strata.group[measure.block]
    n: Float[Array, ""] = xp.asarray(draws.n_new)
    n_items = measure.size.sum()
    known = counts - draws.new  # items that nobody asked for
    weights = n / n_items * (known + draws.new * strata.per_label[group][:, None])
    squares = (n / n_items) ** 2 * draws.new * strata.spread[group][:, None]
    scale = draws.n_new / n_items * strata.centre
    centres = scale[:, None] * measure.risks(draws.new, group, measure.n_blocks)
    return draws._replace(n=n, weights=weights, squares=squares), centres
