"""Precision and recall at many thresholds at once ([NH] Table 1, PR curve), in time linear in the thresholds.

An item of rank j exceeds the first j of the L thresholds t_1 < ... < t_L, its score being at least t_j. With
A_l = P(rank >= l), B_l = P(y = 1, rank >= l) and P = P(y = 1), the risk is R = (A_1..A_L, B_1..B_L, P), and the outputs
are precision_l = B_l / A_l and recall_l = B_l / P. Both are homogeneous of degree 0, so that Dg(R) R = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import as_floats, show
from bayes_assess._tools.axes import any_engine, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Bool, Float, Int, Scalar
from bayes_assess.errors import QuestionError
from bayes_assess.measures._ratios import divide
from bayes_assess.measures._shapes import as_cells, as_risk
from bayes_assess.pool._scores import is_single

_DIGITS = 4  # of thresholds in sentences

FloatCells = Float[Array, "*batch A C"] | Float[np.ndarray, "*batch A C"]
FloatRisk = Float[Array, "*batch D"] | Float[np.ndarray, "*batch D"]


@dataclass(frozen=True)
class PRCurveMeasure:
    """The precision-recall curve at thresholds on P(positive); made by `pr_curve`."""

    thresholds: tuple[float, ...] | None
    n: int
    name: str = "pr_curve"

    is_curve: ClassVar[bool] = True
    # What a `Measure` says of itself:
    binary: ClassVar[bool] = False
    real: ClassVar[bool] = False
    made_by: ClassVar[None] = None
    ranking: ClassVar[None] = None
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)


def pr_curve(thresholds: int | ArrayLike | None = None, *, n: int = 1024) -> PRCurveMeasure:
    """Ask for precision and recall of the rule "positive if P(positive) >= t" at many thresholds t.

    Parameters
    ----------
    thresholds : array (L,), optional
        Increasing numbers. By default at most `n` scores of the pool: the scores at ranks that are half of them
        evenly and half geometrically spaced from the top, where precision and recall change most.
    n : int
        Number of thresholds where none are given.

    Returns
    -------
    PRCurveMeasure
        To pass to `table_for` or `value_of`, alone.

    Raises
    ------
    QuestionError
        If the thresholds are not increasing finite numbers.

    Examples
    --------
    >>> from bayes_assess.measures import pr_curve, value_of
    >>> value_of(pr_curve([0.3, 0.6]), labels=[0, 1, 0, 1], scores=[0.1, 0.4, 0.5, 0.9]).tolist()
    [0.6666666666666666, 1.0, 1.0, 0.5]
    """
    if thresholds is None:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
            raise QuestionError(f"A curve has 2 thresholds or more; found n = {show(n)}.")
        return PRCurveMeasure(None, int(n))
    try:
        values = as_floats(thresholds)
    except (TypeError, ValueError):
        raise QuestionError(f"Thresholds are numbers; found {show(thresholds)}.") from None
    if values.ndim != 1 or not values.size:
        raise QuestionError(f"Thresholds are a list of numbers, (L,); found shape {values.shape}.")
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise QuestionError(f"Thresholds are finite numbers; threshold {wrong[0]} is {values[wrong[0]]}.")
    wrong = np.flatnonzero(np.diff(values) <= 0)
    if wrong.size:
        at = int(wrong[0])
        raise QuestionError(
            f"Thresholds increase; threshold {at + 1} is {values[at + 1]:g} after {values[at]:g}: sort them and leave "
            "out what is double, as np.unique does."
        )
    return PRCurveMeasure(tuple(values.tolist()), len(values))


@partial(register_dataclass, data_fields=["thresholds"], meta_fields=["n_classes", "positive"])
@dataclass(frozen=True, eq=False)
class PRCurveTable:
    """A `LossTable` of the precision-recall curve, all of whose sums are cumulative: O(L) instead of O(L^2).

    The attribute of an item is the number of thresholds that its score reaches, so that A = L + 1; D = 2L + 1 losses
    and K = 2L outputs, first the precisions, then the recalls. Methods are those of `LossTable`.

    Parameters
    ----------
    thresholds : (L,)
        Increasing.
    n_classes : int
        C.
    positive : int
        Code of the positive class.
    """

    thresholds: Float[Array, " L"] | Float[np.ndarray, " L"]
    n_classes: int
    positive: int

    is_curve: ClassVar[bool] = True
    is_of_scores: ClassVar[bool] = True
    is_ranking: ClassVar[bool] = False
    is_averaged: ClassVar[bool] = False
    graded: ClassVar[bool] = False

    def for_outcomes(self, n_outcomes: int, positive: int) -> PRCurveTable:
        """Return the table of labels that are among other classes, such as 0 and 1."""
        return replace(self, n_classes=n_outcomes, positive=positive)

    @property
    def n_attributes(self) -> int:
        """Number of attributes, A = L + 1."""
        return len(self.thresholds) + 1

    @property
    def n_losses(self) -> int:
        """Number of losses, D = 2L + 1."""
        return 2 * len(self.thresholds) + 1

    @property
    def n_outputs(self) -> int:
        """Number of outputs, K = 2L."""
        return 2 * len(self.thresholds)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, such as "precision[0.25]"."""
        return self._named([repr(t) for t in np.asarray(self.thresholds).tolist()])

    @property
    def names_said(self) -> tuple[str, ...]:
        """Names of the outputs in sentences, by as few digits as tell the thresholds apart, four at least."""
        at = np.asarray(self.thresholds).tolist()
        rounded = ([f"{t:.{digits}g}" for t in at] for digits in range(_DIGITS, 17))
        return self._named(next((texts for texts in rounded if len(set(texts)) == len(at)), [repr(t) for t in at]))

    def _named(self, at: list[str]) -> tuple[str, ...]:
        return tuple(f"{what}[{t}]" for what in ("precision", "recall") for t in at)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Every output lies in [0, 1]."""
        return (PRCurveMeasure.range,) * self.n_outputs

    @property
    @any_engine
    def nonzero(self) -> Bool[Array, "A C"]:
        """Where a loss is not 0: every rank but the lowest, and every positive label."""
        ranks, labels = xp.arange(self.n_attributes), xp.arange(self.n_classes)
        return (ranks[:, None] > 0) | (labels[None] == self.positive)

    @x64
    def mean(self, share: FloatCells) -> Float[Array, "*batch D"]:
        """Compute the risk R = (A_1..A_L, B_1..B_L, P), (..., D), of a share (..., A, C) of every cell."""
        cells = as_cells(share, self.n_attributes, self.n_classes)
        positive = cells[..., self.positive]
        hits = _above(positive)
        total = hits[..., :1] + positive[..., :1]  # to the digit, so that a threshold that all reach has recall 1
        return xp.concatenate([_above(cells.sum(-1)), hits, total], -1)

    @x64
    def value(self, risk: FloatRisk) -> Float[Array, "*batch K"]:
        """Compute the precisions and recalls, (..., K); 0 where a denominator is 0."""
        predicted, hits, positive = self._split(risk)
        curves = []
        for whole in (predicted, positive):
            ratio, known = divide(hits, whole)
            curves.append(xp.where(known & (hits >= whole), 1.0, ratio))  # sums and quotients are rounded
        return xp.concatenate(curves, -1)

    @x64
    def defined(self, risk: FloatRisk) -> Bool[Array, "*batch K"]:
        """Tell which outputs have a value, (..., K): False where none is predicted, or none labelled, positive."""
        predicted, _, positive = self._split(risk)
        return xp.concatenate([predicted > 0, xp.broadcast_to(positive > 0, predicted.shape)], -1)

    @x64
    def jacobian(self, risk: Float[Array, " D"]) -> Float[Array, "K D"]:
        """Compute Dg(R), (K, D): O(L^2) numbers, of which most are 0."""
        precision, recall, inverse, whole = self._curves(risk)
        size = len(self.thresholds)
        corner, none = xp.diag(inverse), xp.zeros((size, size), xp.float64)
        upper = xp.concatenate([-precision[:, None] * corner, corner, none[:, :1]], 1)
        lower = xp.concatenate([none, whole[None] * xp.eye(size), -recall[:, None] * whole[None]], 1)
        return xp.concatenate([upper, lower])

    @x64
    def directions(self, risk: Float[Array, " D"], every: int = 1) -> Float[Array, "A C K"]:
        """Compute Dg(R) l(a, y), (A, C, K): O(L^2) numbers, for few thresholds, or some of them: one in `every`."""
        precision, recall, inverse, whole = self._curves(risk)
        precision, recall, inverse = (curve[None, None, every // 2 :: every] for curve in (precision, recall, inverse))
        thresholds, whole = xp.arange(len(self.thresholds))[None, None, every // 2 :: every], whole[None, None]
        reached = xp.arange(self.n_attributes)[:, None, None] > thresholds
        label = (xp.arange(self.n_classes) == self.positive).astype(xp.float64)[None, :, None]
        return xp.concatenate(
            [
                xp.where(reached, (label - precision) * inverse, 0.0),
                label * (reached.astype(xp.float64) - recall) * whole,
            ],
            -1,
        )

    @x64
    def squared_norms(self, risk: Float[Array, " D"]) -> Float[Array, "A C"]:
        """Compute ||Dg(R) l(j, y)||^2, (A, C), in O(L).

        It is sum_{l <= j} (y - precision_l)^2 / A_l^2 + y sum_l (1[l <= j] - recall_l)^2 / P^2.
        """
        precision, recall, inverse, whole = self._curves(risk)
        negative = _below((precision * inverse) ** 2)
        recalls = _below((1 - recall) ** 2) + (recall**2).sum() - _below(recall**2)
        positive = _below(((1 - precision) * inverse) ** 2) + recalls * whole**2
        return xp.where((xp.arange(self.n_classes) == self.positive)[None], positive[:, None], negative[:, None])

    @x64
    def covariance(
        self, risk: Float[Array, " D"], mass: FloatCells, n: Scalar = 1, centres: Float[Array, "H D"] | None = None
    ) -> Float[Array, "K K"]:
        """Compute the covariance of an estimate from `n` draws, (K, K), as `LossTable.covariance`; O(L^2) numbers."""
        precision, recall, inverse, whole = self._curves(risk)
        positive, negative, total = self._masses(mass)
        size = len(self.thresholds)
        later = xp.maximum(xp.arange(size)[:, None], xp.arange(size)[None])  # the rarer of two events
        both, miss = positive[later], 1 - precision
        precisions = both * xp.outer(miss, miss) + negative[later] * xp.outer(precision, precision)
        hit = xp.outer(positive, recall)  # sums of y over the items above a threshold, times the other's recall
        crossed = (miss * inverse)[:, None] * (both - hit) * whole[None]
        recalls = both - hit - hit.T + total * xp.outer(recall, recall)
        blocks = [[precisions * xp.outer(inverse, inverse), crossed], [crossed.T, recalls * whole[None] ** 2]]
        centre = self._centres(risk, centres)
        return (xp.block(blocks) - centre.T @ centre) / n

    @x64
    def variances(
        self, risk: Float[Array, " D"], mass: FloatCells, n: Scalar = 1, centres: Float[Array, "H D"] | None = None
    ) -> Float[Array, " K"]:
        """Compute the diagonal of `covariance` alone, (K,), in O(L)."""
        precision, recall, inverse, whole = self._curves(risk)
        positive, negative, total = self._masses(mass)
        precisions = (positive * (1 - precision) ** 2 + negative * precision**2) * inverse**2
        recalls = (positive * (1 - recall) ** 2 + (total - positive) * recall**2) * whole**2
        moments = xp.concatenate([precisions, recalls])
        return xp.maximum(moments - (self._centres(risk, centres) ** 2).sum(0), 0.0) / n

    def _centres(self, risk: Float[Array, " D"], centres: Float[Array, "H D"] | None) -> Float[Array, "H K"]:
        """Compute Dg(R) c for every centre; 0 for R itself, since ratios do not change with the scale of R."""
        if centres is None:
            return xp.zeros((1, self.n_outputs))
        precision, recall, inverse, whole = self._curves(risk)
        above, hits, positives = self._split(centres)
        return xp.concatenate([(hits - precision * above) * inverse, (hits - recall * positives) * whole], axis=-1)

    @x64
    def influence_ends(
        self,
        risk: Float[Array, " D"],
        weight: Float[Array, " A"],
        seen: Bool[Array, " C"] | None = None,
        n: Scalar = math.inf,
    ) -> Float[Array, "2 K"]:
        """Compute the least and the greatest influence of a draw, (2, K), as `LossTable.influence_ends`, in O(L)."""
        del seen, n  # labels are of two kinds
        precision, recall, inverse, whole = self._curves(risk)
        above = engine.cummax(weight[:0:-1])[::-1]  # the greatest weight of those that reach a threshold
        below = engine.cummax(weight)[:-1]
        least = xp.concatenate([-precision * inverse * above, -recall * whole * below])
        return xp.stack([least, xp.concatenate([(1 - precision) * inverse * above, (1 - recall) * whole * above])])

    @x64
    def touched(self, drawn: Bool[Array, " A"]) -> Bool[Array, " K"]:
        """Return True, (K,): ratios are undefined where no draw has a say."""
        return xp.ones(self.n_outputs, bool)

    def _split(self, risk: FloatRisk) -> tuple[Array, Array, Array]:
        """Return A and B, (..., L), and P, (..., 1)."""
        values, size = as_risk(risk, self.n_losses), len(self.thresholds)
        return values[..., :size], values[..., size : 2 * size], values[..., 2 * size :]

    def _curves(self, risk: FloatRisk) -> tuple[Any, Any, Any, Any]:
        """Precision and recall, and 1 / A and 1 / P; all 0 where a denominator is."""
        predicted, hits, positive = self._split(risk)
        inverse, whole = divide(xp.ones_like(predicted), predicted)[0], divide(xp.ones_like(positive), positive)[0]
        return hits * inverse, hits * whole, inverse, whole

    def _masses(self, mass: FloatCells) -> tuple[Any, Any, Any]:
        """Mass of positive and of other labels above every threshold, (L,), and of all positive labels."""
        cells = as_cells(mass, self.n_attributes, self.n_classes)
        positive = cells[..., self.positive]
        above = _above(positive)
        return above, _above(cells.sum(-1)) - above, positive.sum(-1)


def curve_table(
    curve: PRCurveMeasure, scores: Float[np.ndarray, " M"], n_classes: int, positive: int
) -> tuple[Int[np.ndarray, " M"], PRCurveTable]:
    """Return the rank of every item among the thresholds, and the table."""
    thresholds = _usual(scores, curve.n) if curve.thresholds is None else np.asarray(curve.thresholds)
    # 0.7 as float32 is less than 0.7, and reaches it
    edges = thresholds.astype(np.float32) if is_single(scores) else thresholds
    return np.searchsorted(edges, scores, side="right"), PRCurveTable(thresholds, n_classes, positive)


def _usual(scores: Float[np.ndarray, " M"], n: int) -> Float[np.ndarray, " L"]:
    """At most `n` scores of the pool, denser at the top."""
    distinct = np.unique(scores)
    if len(distinct) <= n:
        return distinct
    even = np.linspace(1, len(scores), n - n // 2)
    ranks = np.concatenate([even, np.geomspace(1, len(scores), n // 2)]).round().astype(np.int64)
    return np.unique(np.sort(scores)[-ranks])


def _above(cells: Float[Array, "*batch A"]) -> Float[Array, "*batch L"]:
    """Sum over the attributes that reach threshold l: those of rank l and more, l = 1..L."""
    return xp.cumsum(cells[..., :0:-1], -1)[..., ::-1]


def _below(terms: Float[Array, " L"]) -> Float[Array, " A"]:
    """Sum over the thresholds that an attribute reaches: the first j, j = 0..L."""
    return xp.concatenate([xp.zeros(1, terms.dtype), xp.cumsum(terms)])
