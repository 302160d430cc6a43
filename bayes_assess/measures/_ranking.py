r"""Measures of the order in which scores rank the items: the area under the ROC curve, and average precision.

Items whose scores are close share a level, l = 1..L from below; R = (P_1..P_L, N_1..N_L) are the shares of the pool
that are positive and negative of every level. With what stands below counted in full and what ties by half,

.. math::
    \mathrm{AUC} = \frac{\sum_l P_l (N_{<l} + N_l / 2)}{\sum_l P_l \sum_l N_l}, \qquad
    \mathrm{AP} = \frac{\sum_l P_l \, \pi_l}{\sum_l P_l},

pi_l being the precision among the items that reach the level. Where the items of a level differ in their scores, its
positives may stand anywhere among its m items: half of the pairs within it are in order, and pi_l is the mean precision
at a positive of it. Below n items, k of them positive, that is

.. math::
    \pi_l = \frac{1}{m} \sum_{j=1}^m \frac{k + 1 + p (j - 1)}{n + j}
          = p + \frac{k + 1 - p (n + 1)}{m} \, [\psi(n + m + 1) - \psi(n + 1)], \qquad p = \frac{P_l}{P_l + N_l} .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma

from bayes_assess._tools import engine
from bayes_assess._tools.axes import own_settings, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import jax
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.measures._loss_table import LossTable
from bayes_assess.measures._losses import Ends, ends_of
from bayes_assess.measures._made_once import made_once
from bayes_assess.measures._measure import Measure
from bayes_assess.measures._ratios import divide

N_LEVELS = 256  # at most, unless they are to be exact


class Levels(NamedTuple):
    """Levels of a score from the lowest up.

    Attributes
    ----------
    size : (L,)
        Items of every level.
    above : (L,)
        Items of all higher levels.
    tied : (L,) booleans
        Whether all items of the level have the same score.
    steps : (L,)
        psi(n + m + 1) - psi(n + 1), for m items below n others.
    """

    size: Int[Array, " L"]
    above: Int[Array, " L"]
    tied: Bool[Array, " L"]
    steps: Int[Array, " L"]

    @classmethod
    def of(cls, size: Int[np.ndarray, " L"], tied: Bool[np.ndarray, " L"]) -> Levels:
        """Make levels of so many items.

        Examples
        --------
        >>> Levels.of(np.array([2, 1]), np.array([False, True])).above.tolist()
        [1.0, 0.0]
        """
        size = np.asarray(size, np.float64)
        above = np.cumsum(size[::-1])[::-1] - size
        return cls(size, above, np.asarray(tied, bool), digamma(above + size + 1) - digamma(above + 1))


def area(
    positive: Float[Array, "*batch L"], negative: Float[Array, "*batch L"], levels: Levels
) -> Float[Array, "*batch"]:
    """Compute the area under the ROC curve; NaN where all labels are alike."""
    below = xp.cumsum(negative, -1) - negative / 2
    return (positive * below).sum(-1) / (positive.sum(-1) * negative.sum(-1))


def mean_precision(
    positive: Float[Array, "*batch L"], negative: Float[Array, "*batch L"], levels: Levels
) -> Float[Array, "*batch"]:
    """Compute the average precision; NaN where no label is positive."""
    return (positive * _precision(positive, negative, levels)).sum(-1) / positive.sum(-1)


def _precision(
    positive: Float[Array, "*batch L"], negative: Float[Array, "*batch L"], levels: Levels
) -> Float[Array, "*batch L"]:
    """Compute pi, the mean precision at a positive of every level."""
    items = positive + negative
    hits, reached = (xp.cumsum(x[..., ::-1], -1)[..., ::-1] for x in (positive, items))
    share, at_end = divide(positive, items)[0], divide(hits, reached)[0]
    before = levels.above * divide(hits - positive, reached - items)[0]
    along = share + (before + 1 - share * (levels.above + 1)) * levels.steps / levels.size
    return xp.where(levels.tied, at_end, along)


def area_slopes(positive: Float[Array, " L"], negative: Float[Array, " L"], levels: Levels) -> Float[Array, " D"]:
    """Differentiate `area` by the positives and the negatives of every level, (2L,)."""
    below = xp.cumsum(negative) - negative / 2
    above = xp.cumsum(positive[::-1])[::-1] - positive / 2
    p, n = positive.sum(), negative.sum()
    value = (positive * below).sum() / (p * n)
    return xp.concatenate([below - value * n, above - value * p]) / (p * n)


def precision_slopes(positive: Float[Array, " L"], negative: Float[Array, " L"], levels: Levels) -> Float[Array, " D"]:
    """Differentiate `mean_precision` by the positives and the negatives of every level, (2L,).

    A positive or negative of level l moves the precision at its own level and at those below, from which levels up to
    l are reached.
    """
    items = positive + negative
    hits, reached = (xp.cumsum(x[::-1])[::-1] for x in (positive, items))
    end, beyond = _inverse(reached), _inverse(reached - items)
    share = levels.steps / levels.size
    at_end = xp.where(levels.tied, positive, 0.0) * end
    along = xp.where(levels.tied, 0.0, positive)
    before = along * share * levels.above * beyond
    # By hits and by items among the levels from one on, and above it.
    by_hits = xp.cumsum(at_end) + xp.cumsum(before) - before
    lost = at_end * hits * end, before * (hits - positive) * beyond
    by_items = -xp.cumsum(lost[0]) - xp.cumsum(lost[1]) + lost[1]
    within = along * (1 - share * (levels.above + 1)) * _inverse(items) ** 2
    value = mean_precision(positive, negative, levels)
    total = positive.sum()
    precision = _precision(positive, negative, levels)
    of_positive = precision - value + by_hits + by_items + within * negative
    return xp.concatenate([of_positive, by_items - within * positive]) / total


def _inverse(values: Float[Array, "*batch L"]) -> Float[Array, "*batch L"]:
    """Compute 1 / x, 0 where nothing is counted."""
    return xp.where(values > 0, 1 / xp.where(values > 0, values, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class LevelLosses:
    """The losses of levels, of which an item has one: whether it is of the level, and positive or negative."""

    n_levels: int
    n_classes: int
    positive: int

    is_dense: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of losses, D = 2L."""
        return 2 * self.n_levels

    def mean(self, share: Float[Array, "*batch A C"]) -> Float[Array, "*batch D"]:
        """Add up the shares of positives and of the other labels."""
        hits = share[..., self.positive]
        return xp.concatenate([hits, share.sum(-1) - hits], axis=-1)

    def project(self, jacobian: Float[Array, "K D"]) -> Float[Array, "A C K"]:
        """Compute Dg(R) l(a, y)."""
        hits, others = jacobian[:, : self.n_levels].T, jacobian[:, self.n_levels :].T
        is_hit = (xp.arange(self.n_classes) == self.positive)[None, :, None]
        return xp.where(is_hit, hits[:, None], others[:, None])

    def squares(self, jacobian: Float[Array, "K D"]) -> Float[Array, "A C"]:
        """Compute the squares of `project`, summed over the outputs."""
        return (self.project(jacobian) ** 2).sum(-1)

    def drawn(self, attributes: Bool[Array, " A"]) -> Bool[Array, " D"]:
        """Tell which losses are of these levels."""
        return xp.concatenate([attributes, attributes])

    def ends(self, jacobian: Float[Array, "K D"], weight: Float[Array, " A"]) -> Ends:
        """Compute the least and the greatest of weight times `project`."""
        return ends_of(self.project(jacobian), weight)

    def weighted_squares(self, jacobian: Float[Array, "K D"], mass: Float[Array, "L C"]) -> Float[Array, " K"]:
        """Compute the sum of mass times the squares of `project`."""
        return xp.einsum("ack,ac->k", self.project(jacobian) ** 2, mass, precision="highest")


register_dataclass(LevelLosses, [], ["n_levels", "n_classes", "positive"])


@partial(
    register_dataclass,
    data_fields=["losses", "nonzero", "levels"],
    meta_fields=["parts", "outputs", "ranges", "rankings"],
)
@dataclass(frozen=True, eq=False, kw_only=True)
class RankingTable(LossTable):
    """A `LossTable` of measures of a ranking: the attribute of an item is its level.

    Parameters
    ----------
    levels : Levels
    rankings : tuple of callables (K,)
        Map positives and negatives by level, and the levels, to a measure: `area`, `mean_precision`.
    """

    levels: Levels
    rankings: tuple[Callable[..., Array], ...]
    is_of_scores: ClassVar[bool] = True
    is_ranking: ClassVar[bool] = True

    @x64
    def value(self, risk: Float[Array, "*batch D"]) -> Float[Array, "*batch K"]:
        """Compute the measures g(R), (..., K); 0 where a measure has no value."""
        values = self._g(self._risk(risk))
        return xp.where(xp.isfinite(values), xp.clip(values, 0.0, 1.0), 0.0)  # sums are rounded

    @x64
    def defined(self, risk: Float[Array, "*batch D"]) -> Bool[Array, "*batch K"]:
        """Tell which measures have a value at R, (..., K)."""
        return xp.isfinite(self._g(self._risk(risk)))

    @x64
    def jacobian(self, risk: Float[Array, "*batch D"]) -> Float[Array, "K D"]:
        """Compute Dg(R), (K, D); 0 where a measure has no derivative."""
        risk, n = self._risk(risk), len(self.levels.size)
        matrix = xp.stack([_SLOPES.get(g, _differentiated(g))(risk[:n], risk[n:], self.levels) for g in self.rankings])
        return xp.where(xp.isfinite(matrix), matrix, 0.0)

    @x64
    def touched(self, drawn: Bool[Array, " A"]) -> Bool[Array, " K"]:
        """Return True, (K,): measures are undefined where no draw has a say."""
        return xp.ones(self.n_outputs, bool)

    def for_outcomes(self, n_outcomes: int, positive: int) -> RankingTable:
        """Return the table of labels that are among other classes, such as 0 and 1."""
        losses: Any = LevelLosses(len(self.levels.size), n_outcomes, positive)
        nonzero = np.ones((len(self.levels.size), n_outcomes), bool)
        return RankingTable(
            losses=losses,
            nonzero=nonzero,
            parts=(),
            outputs=self.outputs,
            ranges=self.ranges,
            levels=self.levels,
            rankings=self.rankings,
        )

    @x64
    def values_of(
        self, positive: Float[np.ndarray, "n L"], negative: Float[np.ndarray, "n L"], levels: Levels
    ) -> Float[np.ndarray, "n K"]:
        """Compute the measures of so many positive and negative items of other levels, such as finer ones."""
        return np.asarray(_values_of(self.rankings, positive, negative, levels))

    def _g(self, risk: Float[Array, "*batch D"]) -> Float[Array, "*batch K"]:
        n = len(self.levels.size)
        return _g(self.rankings, risk[..., :n], risk[..., n:], self.levels)


def _g(
    rankings: Sequence[Callable[..., Array]],
    positive: Float[Array, "*batch L"],
    negative: Float[Array, "*batch L"],
    levels: Levels,
) -> Float[Array, "*batch K"]:
    return xp.stack([g(positive, negative, levels) for g in rankings], axis=-1)


@partial(engine.jit, static_argnums=0)
def _values_of(
    rankings: Sequence[Callable[..., Array]],
    positive: Float[Array, "n L"],
    negative: Float[Array, "n L"],
    levels: Levels,
) -> Float[Array, "n K"]:
    values = _g(rankings, positive, negative, levels)
    return xp.where(xp.isfinite(values), xp.clip(values, 0.0, 1.0), 0.0)


_SLOPES: dict[object, Callable[..., Array]] = {area: area_slopes, mean_precision: precision_slopes}


def _differentiated(ranking: Callable[..., Array]) -> Callable[..., Array]:
    """Return what computes the derivatives of another measure of the order of all scores: JAX."""

    def slopes(positive, negative, levels):
        if not engine.is_eager():
            return _by_jax(ranking, positive, negative, levels)
        with engine.compiled(), own_settings():
            return np.asarray(_by_jax(ranking, positive, negative, levels))

    return slopes


@partial(engine.jit, static_argnums=0)
def _by_jax(
    ranking: Callable[..., Array], positive: Float[Array, " L"], negative: Float[Array, " L"], levels: Levels
) -> Float[Array, " D"]:
    return xp.concatenate(jax.jacrev(ranking, argnums=(0, 1))(positive, negative, levels))


def ranking_table(
    measures: tuple[Measure, ...],
    scores: Float[np.ndarray, " M"],
    n_classes: int,
    positive: int,
    n_levels: int | None = N_LEVELS,
) -> tuple[Int[np.ndarray, " M"], RankingTable]:
    """Return the level of every item, and the table of measures of the ranking.

    Parameters
    ----------
    measures : tuple of Measure
        With `ranking`.
    scores : (M,)
    n_classes, positive : int
    n_levels : int, optional
        About how many at most; by default every score is a level of its own.

    Examples
    --------
    >>> from bayes_assess.measures import measure
    >>> codes, table = ranking_table((measure("roc_auc"),), np.array([0.1, 0.4, 0.4, 0.9]), 2, 1)
    >>> codes.tolist(), table.levels.size.tolist(), table.levels.tied.tolist()
    ([0, 1, 1, 2], [1.0, 2.0, 1.0], [True, True, True])
    """
    distinct, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    level = np.arange(len(distinct))
    if n_levels is not None and len(distinct) > n_levels:
        level = _grouped(times, n_levels)
    size = np.bincount(level, weights=times)
    levels = Levels.of(size, np.bincount(level) == 1)
    losses: Any = LevelLosses(len(size), n_classes, positive)
    table = RankingTable(
        losses=losses,
        nonzero=np.ones((len(size), n_classes), bool),
        parts=(),
        outputs=tuple(spec.name for spec in measures),
        ranges=((0.0, 1.0),) * len(measures),
        levels=levels,
        rankings=tuple(spec.ranking for spec in measures if spec.ranking is not None),
    )
    return level[place.ravel()], table


def _grouped(times: Int[np.ndarray, " U"], n_levels: int) -> Int[np.ndarray, " U"]:
    """Group distinct scores, from the lowest up, that so many items have: evenly and densely at the top, in halves.

    A score that as many items have as a level should is a level of its own.
    """
    n_items, upto = times.sum(), np.cumsum(times)
    above = n_items - upto  # items with higher scores
    half = n_levels // 2
    even = above * half // n_items
    steep = (np.log1p(above) / np.log1p(n_items) * half).astype(np.int64)
    large = times * half >= n_items
    new = np.ones(len(times), bool)
    new[1:] = (np.diff(even) != 0) | (np.diff(steep) != 0) | large[1:] | large[:-1]
    return np.cumsum(new) - 1


@made_once
def roc_auc() -> Measure:
    """Make the area under the ROC curve: the share of pairs of a positive and a negative whose scores are in order."""
    return Measure(name="roc_auc", ranking=area, binary=True, bounded=True)


@made_once
def average_precision() -> Measure:
    """Make the average precision: the mean over the positives of the precision among items that score as high."""
    return Measure(name="average_precision", ranking=mean_precision, binary=True, bounded=True)
