r"""Measures from the items of one or several rounds of sampling without replacement, each item with a weight.

Round r draws from U_r items, those neither labelled nor handed out before, item i with the inclusion probability b_i.
Its total is that of the items known before and of the others by their weights 1 / b; rounds are averaged with the
weights w_r = n_r / (U_r (U_r - n_r)). The weights 1 / b are scaled to the number of
items that they stand for, of all rounds together: of every round for itself this would be biased where rounds are
small. So the total is a weighted sum over the labelled items,

.. math:: \hat T = \sum_i a_i l_i, \qquad
          a_i = \Big( w_{r(i)} c_i + \sum_{s:\, i\ \mathrm{known\ before}\ s} w_s \Big) \Big/ \sum_s w_s, \qquad
          c_i = \frac{1}{b_i} \frac{\sum_s w_s U_s'}{\sum_s w_s \sum_{j \in s} 1 / b_j},

with U' the items of the round that it drew by chance, and c = 1 of those that it drew for certain. Of equal
probabilities this is the mean of all items drawn, however they were cut into rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.measures import MultiLabelMeasure

if TYPE_CHECKING:
    from bayes_assess.estimators.ratio_interval import Ranges


class Rounds(NamedTuple):
    """Rounds of sampling, arrays (r,).

    Attributes
    ----------
    frame : (r,) integers
        Items that a round drew from, U.
    told : (r,) integers
        Labels of its items that are known, n.
    by_chance : (r,) integers
        Items of the frame that it could draw or not, U'.
    """

    frame: Int[np.ndarray, " r"]
    told: Int[np.ndarray, " r"]
    by_chance: Int[np.ndarray, " r"]


class ItemWeights(NamedTuple):
    """Weights of n labelled items.

    Attributes
    ----------
    total : (n,)
        a.
    spread : (n,)
        (w c)^2 (1 - b), what the variance of the total weighs squared errors by.
    """

    total: Float[np.ndarray, " n"]
    spread: Float[np.ndarray, " n"]

    @classmethod
    def all_known(cls, n: int) -> ItemWeights:
        """Return the weights where every item is labelled."""
        return cls(np.ones(n), np.zeros(n))


def item_weights(
    rounds: Rounds,
    drawn_in: Int[np.ndarray, " n"],
    inclusion: Float[np.ndarray, " n"],
    known_to: Int[np.ndarray, " n"],
) -> ItemWeights:
    """Weigh labelled items by the rounds in which they were drawn.

    Of a round some of whose labels are missing, those told count as random ones of the round.

    Parameters
    ----------
    rounds : Rounds
        At least one has a label.
    drawn_in : (n,)
        Round of every item; negative for items that nobody asked for.
    inclusion : (n,)
        b, of a round that is labelled in part times the share of its labels that are known.
    known_to : (n,)
        The first round that began when the label was known already.

    Examples
    --------
    >>> rounds = Rounds(np.array([10, 8]), np.array([2, 4]), np.array([10, 8]))
    >>> drawn_in = np.array([0, 0, 1, 1, 1, 1])
    >>> item_weights(rounds, drawn_in, np.where(drawn_in, 0.5, 0.2), drawn_in + 1).total.round(6).tolist()
    [1.666667, 1.666667, 1.666667, 1.666667, 1.666667, 1.666667]
    """
    frame, told = rounds.frame.astype(np.float64), rounds.told.astype(np.float64)
    weight = told / (np.maximum(frame, 1) * np.maximum(frame - told, 0.5))
    weight /= weight.sum()
    later = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    total, spread = later[known_to], np.zeros(len(known_to))
    drawn = np.flatnonzero(drawn_in >= 0)
    at, b = drawn_in[drawn], inclusion[drawn]
    inverse = np.where(b < 1, 1 / np.maximum(b, 1e-300), 0.0)
    scale = weight @ rounds.by_chance / max(float(weight[at] @ inverse), 1e-300)
    own = weight[at] * np.where(b < 1, inverse * scale, 1.0)
    total[drawn] += own
    spread[drawn] = own**2 * np.maximum(1 - b, 0)
    return ItemWeights(total, spread)


class ItemsEstimate(NamedTuple):
    """An `Estimate` from weighted items, its arrays (..., k), and what no draw says anything of.

    Attributes
    ----------
    value, variance, rise, fall, defined, n_draws, exact
        As of `Estimate`.
    unknown : (..., 2, k)
        By how much classes that no draw has shown could raise and lower the value, in which they are as believed.
    covariance : (..., k, k)
        Of the estimates.
    beta : booleans
        As of `Estimate`.
    by_ratio, sample
        As of `Estimate`: of batches of random size, which items with several labels have not.
    """

    value: Float[Array, "*batch k"]
    variance: Float[Array, "*batch k"]
    rise: Float[Array, "*batch k"]
    fall: Float[Array, "*batch k"]
    defined: Bool[Array, "*batch k"]
    n_draws: Scalar
    exact: Scalar
    unknown: Float[Array, "*batch 2 k"]
    covariance: Float[Array, "*batch k k"]
    beta: Scalar = False
    by_ratio: Scalar = False
    sample: object = None

    of_posterior = False  # as of `Estimate`, like the next two
    of_ranks = False
    design_interval = None

    def interval(self, ranges: Ranges, level: float = 0.95) -> Float[np.ndarray, "*shape k 2"]:
        """Compute the `measure_interval` of the classes that draws have shown, and add all that the others could be."""
        low, high = np.array(ranges, np.float64).T
        rise, fall = np.moveaxis(np.asarray(self.unknown), -2, 0)
        ends = measure_interval(self, ranges, level)
        return np.stack([np.maximum(ends[..., 0] - fall, low), np.minimum(ends[..., 1] + rise, high)], axis=-1)


def weighted_items_estimate(
    measure: MultiLabelMeasure,
    losses: Float[np.ndarray, "n D"],
    weights: ItemWeights,
    n_items: int,
    predicted: Float[np.ndarray, "K C"],
    missing: Float[np.ndarray, " K"],
    believed: Callable[[], Float[np.ndarray, " D"]],
    complete: bool = False,
) -> ItemsEstimate:
    r"""Estimate measures from weighted items.

    .. math:: \widehat{\mathrm{Cov}} = \frac{n}{n - 1} \sum_i (w c)_i^2 (1 - b_i) (e_i - \bar e) (e_i - \bar e)',
              \qquad e_i = Dg(\hat R) \, l_i / M,

    with the mean of e that is weighted alike, as of samples of fixed size (J. Hajek, Annals of Mathematical
    Statistics 35, 1964).

    Parameters
    ----------
    measure : MultiLabelMeasure
    losses : (n, D)
        Of the labelled items.
    weights : ItemWeights
    n_items : int
        Items of the pool, M.
    predicted : (K, C)
        Share of the items of every cell of which a class is predicted.
    missing : (K,)
        Items of the cell that one stands for that was not drawn, see `missing_items`.
    believed : function
        Returns the mean losses (D,) of the design's belief, for classes and measures of which no draw says anything.
    complete : bool
        Whether every item is labelled.

    Examples
    --------
    >>> from bayes_assess.measures import multilabel_measure
    >>> wrong, weights = np.array([[1.0], [0.0]]), ItemWeights(np.full(2, 5.0), np.full(2, 20.0))
    >>> estimate = weighted_items_estimate(
    ...     multilabel_measure("accuracy"), wrong, weights, 10, np.full((1, 2), 0.5), np.array([4.0]), lambda: 0.0
    ... )
    >>> estimate.value.tolist(), estimate.variance.round(6).tolist(), estimate.fall.round(6).tolist()
    ([0.5], [0.2], [0.2])
    """
    risk = weights.total @ losses / n_items
    unseen = measure.unseen_classes(risk)
    jacobian = measure.jacobian(risk)
    defined = (jacobian != 0).any(1) | complete
    single, unknown = np.zeros((2, 2, len(defined)))
    if not complete:
        if unseen.any():
            risk = measure.with_classes_of(risk, believed(), unseen)
            jacobian = measure.jacobian(risk)
        single, unknown = measure.unseen_changes(risk, predicted, missing / n_items, unseen)
    influence = losses @ jacobian.T / n_items
    n, whole = np.count_nonzero(weights.spread), max(float(weights.spread.sum()), 1e-300)
    centred = influence - weights.spread @ influence / whole
    covariance = n / max(n - 1, 1) * (weights.spread[:, None] * centred).T @ centred
    value = measure.value(risk)
    if not defined.all():
        value = np.where(defined, value, measure.value(believed()))
    return ItemsEstimate(
        value=np.clip(value, *np.array(measure.ranges).T),
        variance=np.diag(covariance),
        rise=single[0],
        fall=single[1],
        defined=defined,
        n_draws=np.float64(len(losses)),
        exact=np.bool_(complete),
        unknown=unknown,
        covariance=covariance,
    )


def missing_items(
    inclusion: Float[np.ndarray, "*shape K"], unlabelled: Int[np.ndarray, "*shape K"]
) -> Float[np.ndarray, "*shape K"]:
    """Return how many items of every cell one stands for that was not drawn, (1 - b) / b, one at least.

    Parameters
    ----------
    inclusion : (..., K)
        Probability that an item of the cell was drawn in some round. Designs give items a probability of 0 only
        where they hold them for irrelevant: of those, one stands for itself.
    unlabelled : (..., K)
        Items without a label.

    Examples
    --------
    >>> missing_items(np.array([0.1, 0.9, 0.5]), np.array([90, 1, 0])).round(6).tolist()
    [9.0, 1.0, 0.0]
    """
    b: np.ndarray = np.asarray(inclusion, np.float64)
    stands = np.where(b > 0, (1 - b) / np.where(b > 0, b, 1), 1.0)
    return np.where(unlabelled > 0, np.maximum(stands, 1.0), 0.0)
