"""Measures from weighted draws: estimates, variances, and how far one more draw could move them ([NH]).

N draws j with weights w_j = p / q_j, under proposals that may depend on what was drawn before, estimate the risk by
Rhat = (1/N) sum_j w_j l_j, and the measure by g(Rhat).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.estimators.possible_values import LabelledByAttribute, possible_values
from bayes_assess.measures.cell_measure import CellMeasure

if TYPE_CHECKING:
    from bayes_assess.estimators.ratio_interval import RatioSample


class Sums(NamedTuple):
    """What the draws of a weighted design add up to, for items whose labels are known; see `add_steps`.

    Attributes
    ----------
    n : float
        Draws, N: repeated draws of items that were known count at their expected number.
    n_new : float
        Draws of new items.
    weights : (K, C)
        Sum of the weights p / q of all draws, by cell and label.
    new : (K, C)
        Sum of the weights of new items alone.
    squares : (K, C)
        Sum of their squares.
    counts : (K, C)
        LabelledByAttribute items, those that nobody asked for included; none where labels are draws from p(y | x).
    """

    n: Float[Array, ""]
    n_new: Float[Array, ""]
    weights: Float[Array, "K C"]
    new: Float[Array, "K C"]
    squares: Float[Array, "K C"]
    counts: Float[Array, "K C"]

    @classmethod
    def zeros(cls, shape: tuple[int, int]) -> Sums:
        """Return the sums over nothing."""
        return cls(xp.zeros(()), xp.zeros(()), *(xp.zeros(shape) for _ in range(4)))


class Steps(NamedTuple):
    """Items in the order in which they were asked for, one step of the campaign each; arrays (L,), padded.

    Attributes
    ----------
    cell : integers
    outcome : integers
        The label, -1 as long as it is not known.
    weight : floats
        p / q of the item, 0 for items that nobody asked for.
    p_new : floats
        Probability that a draw of the step was none of the known items asked for before.
    standing : floats, or 1
        For how many items asked for before the step one of them stands whose label is known, itself included.
    """

    cell: Int[Array, " L"]
    outcome: Int[Array, " L"]
    weight: Float[Array, " L"]
    p_new: Float[Array, " L"]
    standing: Float[Array, " L"] | float = 1.0


class WeightedDraws(NamedTuple):
    """What a weighted design has drawn, enough to estimate any measure on the same cells or coarser ones.

    Attributes
    ----------
    n : float
        Draws whose labels are known, N: repeated draws of an item count each time.
    weights : (K, C)
        Sum of the weights p / q of all draws, by cell and label.
    squares : (K, C)
        Second moments: the covariance of the sum of weighted losses is the sum of squares * l l' less the sum of c c'
        over the rows of the centres that `WeightedDesign.weighed` returns.
    proposal : (K, C + 1)
        Probability of one item under the next proposal, labelled y or unlabelled.
    covered : (K,) booleans
        Whether unlabelled items of the cell, if there were any, could be drawn in every step.
    n_new : float
        Draws of new items.
    new : (K, C)
        Sum of the weights of new items alone.
    """

    n: Scalar
    weights: Float[Array, "K C"]
    squares: Float[Array, "K C"]
    proposal: Float[Array, "K C1"]
    covered: Bool[Array, " K"]
    n_new: Scalar = 0.0
    new: Any = 0.0


class Estimate(NamedTuple):
    """Measures estimated from weighted draws, (..., k), and how well they are known.

    Attributes
    ----------
    value : (..., k)
        Estimates, within the ranges of the measures.
    variance : (..., k)
        Of the estimates.
    variance_of_last : (..., k)
        The same as [NH] sec. 3.3.2 has it, with the last proposal in the place of all.
    rise, fall : (..., k)
        By how much one more draw of an unlabelled item could raise and lower an estimate.
    defined : (..., k) booleans
        False where the draws do not define the measure: the value is what the design believes.
    n_draws : (...)
        Draws, repeated ones included.
    exact : (...) booleans
        Whether every item is labelled that can matter.
    beta : (...) booleans
        Whether intervals are those of a Beta distribution with the estimate and its variance ([SEME] eq. 29), which
        leave out what no draw has shown yet.
    by_ratio : (...) booleans
        Whether they are those of `ratio_interval`.
    sample : RatioSample, optional
        Of batches of random size: what that needs.
    labelled : LabelledByAttribute, optional
        Labels by what losses depend on, as long as it is not computed what they leave possible.
    possible : (..., k, 2), optional
        The least and the greatest value that labels leave possible, where some other than the ranges of the measures
        are known; see `within_possible`.
    by_group : (..., G, 2), optional
        Of measures by group, one group after the other: labelled items of every group, and all of its items.
    expected_variance : (..., k), optional
        Of the estimates of numbers, as errors may be expected to be; 0 where nothing is expected.
    """

    value: Float[Array, "*batch k"]
    variance: Float[Array, "*batch k"]
    variance_of_last: Float[Array, "*batch k"] | None
    rise: Float[Array, "*batch k"]
    fall: Float[Array, "*batch k"]
    defined: Bool[Array, "*batch k"]
    n_draws: Scalar
    exact: Scalar
    beta: Scalar = False
    by_ratio: Scalar = False
    sample: RatioSample | None = None
    labelled: LabelledByAttribute | None = None
    possible: Float[np.ndarray, "*batch k 2"] | None = None
    by_group: Float[np.ndarray, "*batch G 2"] | None = None
    expected_variance: Float[np.ndarray, "*batch k"] | None = None

    of_posterior = False  # whether it is a posterior, which has quantiles of its own
    of_ranks = False  # whether it is of a ranked list
    design_interval = None  # besides this one, which leans on random items alone


def add_steps(sums: Sums, steps: Steps, n_items: Scalar, stochastic: bool = False) -> Sums:
    r"""Add steps to sums: their repeated draws enter at their expectation.

    A step draws from q until an item is new. With p_t the probability of that, the step makes 1 / p_t draws in the
    mean, and known items enter with 1 / (M p_t) each whatever their q, so that sum and number of draws become

    .. math::  \frac{1}{p_t} \frac{1}{M} \sum_{i\ \mathrm{known}} l_i + \frac{1}{M q_t(x_t)} l_t
               \qquad\text{and}\qquad \frac{1}{p_t}

    (Rao-Blackwell: [NH] eq. 1 given the new items). Each step's sum less R times its number of draws has mean 0,
    whatever was seen before, provided that labels come back in the order of asking. A step counts from when its own
    label is known. Items asked for before it whose labels are missing are like those asked for whose labels are known,
    if which of them come back depends neither on labels nor on that order, and unlike those never asked for, which the
    proposal found less worth asking about: the known ones stand for them, and the draw for items never asked for alone.
    The variance of a sum of which each term is known with probability 1 / `standing` is added.

    Parameters
    ----------
    sums : Sums
        Of all steps before, with no label missing among them.
    steps : Steps
    n_items : int
        M.
    stochastic : bool, optional
        Whether labels are draws from p(y | x): then no item is known, every step is its own draw, and p_t is the
        probability of an item whose label can matter.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> one = Steps(jnp.array([0]), jnp.array([1]), jnp.array([2.0]), jnp.array([0.5]))
    >>> sums = add_steps(add_steps(Sums.zeros((1, 2)), one, 8), one, 8)
    >>> sums.n.tolist(), sums.weights.tolist()  # 2 * (2 for the new item), and 2 / 8 for the known one
    (4.0, [[0.0, 4.25]])
    >>> add_steps(add_steps(Sums.zeros((1, 2)), one, 8, True), one, 8, True).weights.tolist()
    [[0.0, 4.0]]
    """
    told = steps.outcome >= 0
    counted = told & (steps.weight > 0)
    draws = xp.where(counted, 1 / xp.where(counted, steps.p_new, 1), 0.0)
    weight = xp.where(counted, steps.weight, 0.0)
    later = draws.sum() - xp.cumsum(draws)
    for_others = draws * (steps.standing - 1)
    more = xp.where(steps.weight > 0, for_others.sum() - xp.cumsum(for_others), 0.0) / n_items
    at = steps.cell, xp.maximum(steps.outcome, 0)
    before = sums.weights + sums.counts * (draws.sum() / n_items)
    known = told & (not stochastic)
    return Sums(
        n=sums.n + draws.sum(),
        n_new=sums.n_new + counted.sum(),
        weights=engine.at(before)[at].add(weight + known * (later / n_items + more)),
        new=engine.at(sums.new)[at].add(weight),
        squares=engine.at(sums.squares)[at].add(weight**2 + known * more * (later / n_items + more)),
        counts=engine.at(sums.counts)[at].add(known),
    )


def estimated_risk(measure: CellMeasure, draws: WeightedDraws) -> Float[Array, " D"]:
    """Compute Rhat = (1/N) sum w l ([NH] eq. 1)."""
    return measure.risk(draws.weights / xp.maximum(draws.n, 1))


def second_moments(draws: WeightedDraws) -> Float[Array, "K C"]:
    """Compute the masses m of sum m l l', the second moments of what was drawn, per draw."""
    return draws.squares / xp.maximum(draws.n, 1)


def last_second_moments(draws: WeightedDraws, n_items: Scalar) -> Float[Array, "K C"]:
    """Compute the masses m of sum m l l' = (1/N) sum_j p^2 / (q_N q_{j-1}) l l' ([NH] sec. 3.3.2).

    Less Rhat Rhat' it estimates the variance under the last proposal q_N alone: less than that of the estimate, unless
    all proposals were as good as the last.
    """
    last = draws.proposal[:, :-1]
    ratio = xp.where(last > 0, 1 / (n_items * xp.where(last > 0, last, 1)), 0)
    return draws.weights * ratio / xp.maximum(draws.n, 1)


def weighted_value(
    measure: CellMeasure,
    draws: WeightedDraws,
    counts: Int[Array, "K C"],
    believed: Float[Array, "K C"],
    complete: Bool[Array, ""] | bool,
) -> tuple[Float[Array, " k"], Float[Array, " d"], Bool[Array, " k"]]:
    """Compute g(Rhat) and Rhat, with the value at the believed R where the draws leave g undefined.

    They do where Rhat makes it 0/0, and where no item was drawn that the measure depends on: then Rhat = 0 says
    nothing. Rhat is unbiased, and may leave the range of means; g(Rhat) is clipped to the range of the measure, which
    only ever brings it closer to the truth. Arguments are those of `weighted_estimate`.

    Returns
    -------
    value : (k,)
    risk : (d,)
    defined : (k,) booleans
        False where the value is that of the belief.
    """
    table = measure.table
    risk = xp.where(complete, measure.risk(counts / measure.size.sum()), estimated_risk(measure, draws))
    drawn = measure.by_attribute(draws.weights).sum(-1) > 0
    defined = (table.defined(risk) & table.touched(drawn)) | complete
    value = xp.where(defined, table.value(risk), table.value(measure.risk(believed)))
    low, high = np.array(table.ranges).T
    return xp.clip(value, low, high), risk, defined


def weighted_estimate(
    measure: CellMeasure,
    draws: WeightedDraws,
    counts: Int[Array, "K C"],
    believed: Float[Array, "K C"],
    complete: Bool[Array, ""] | bool,
    centres: Float[Array, "H D"] | None = None,
) -> Estimate:
    """Estimate a measure from weighted draws, and say how well it is known ([NH] eq. 1 and sec. 3.3.2).

    Parameters
    ----------
    measure : CellMeasure
    draws : WeightedDraws
    counts : (K, C) integers
        LabelledByAttribute items, each once.
    believed : (K, C)
        Share of the pool in every cell with every label, as the design believes.
    complete : boolean
        Whether every item is labelled that can matter: the measure is that of `counts` then.
    centres : (H, D), optional
        What second moments are centred by; by default Rhat, times the square root of N.
    """
    value, risk, defined = weighted_value(measure, draws, counts, believed, complete)
    n: Array = xp.maximum(draws.n, 1)
    n_items = measure.size.sum()
    last = last_second_moments(draws, n_items)
    new = measure.new_weights(measure.unlabelled(counts), draws.proposal[:, -1])
    fall, rise = measure.table.influence_ends(risk, new, counts.sum(0) > 0, n) / n
    return Estimate(
        value=value,
        variance=measure.table.variances(risk, measure.by_attribute(second_moments(draws)), n, _per_draw(centres, n)),
        variance_of_last=measure.table.variances(risk, measure.by_attribute(last), n),
        rise=xp.maximum(rise, 0),
        fall=xp.maximum(-fall, 0),
        defined=defined,
        n_draws=draws.n,
        exact=complete,
        labelled=None if measure.stochastic else LabelledByAttribute.of(measure, counts),
    )


def within_possible(estimate: Estimate, measure: CellMeasure) -> Estimate:
    """Return an estimate, on the host, within what its labels leave possible, where intervals will stay, too.

    Weights of items stand for others like them, whose number labels may rule out: of forty items of which thirty have
    labels an estimated recall may be one that no labels of the other ten would give. Intervals of kind "beta" stay as
    they are published.

    Parameters
    ----------
    estimate : Estimate of arrays (..., k)
    measure : CellMeasure
    """
    if estimate.labelled is None or np.any(estimate.beta):
        return estimate._replace(labelled=None)
    possible = possible_values(measure.table, LabelledByAttribute(*map(np.asarray, estimate.labelled)))
    value = np.clip(estimate.value, possible[..., 0], possible[..., 1])
    exact = np.asarray(estimate.exact, bool)[..., None]
    return estimate._replace(value=np.where(exact, estimate.value, value), labelled=None, possible=possible)


def weighted_covariance(
    measure: CellMeasure,
    draws: WeightedDraws,
    counts: Int[Array, "K C"],
    complete: Bool[Array, ""] | bool,
    centres: Float[Array, "H D"] | None = None,
) -> Float[Array, "k k"]:
    """Estimate the covariance of measures from weighted draws, (k, k) ([NH] sec. 3.3.2); arguments as above."""
    risk = xp.where(complete, measure.risk(counts / measure.size.sum()), estimated_risk(measure, draws))
    mass = measure.by_attribute(second_moments(draws))
    n: Array = xp.maximum(draws.n, 1)
    return measure.table.covariance(risk, mass, n, _per_draw(centres, n))


def _per_draw(centres: Float[Array, "H D"] | None, n: Scalar) -> Float[Array, "H D"] | None:
    return None if centres is None else centres / xp.sqrt(n)
