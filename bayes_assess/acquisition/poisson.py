r"""Poisson (Bernoulli) sampling: every item is drawn independently, with an inclusion probability of its own ([SEME]).

With the deviation h of every item, the error that its label adds to the estimate of a measure, the estimate's variance
is up to a constant

.. math:: \sum_i h_i^2 (1 / b_i - 1)  \qquad\text{from Poisson sampling with inclusion probabilities } b_i, \\
          \frac{1}{N} \sum_i h_i^2 / q_i  \qquad\text{from } N \text{ draws with replacement, by probabilities } q_i.

`inclusion_of_deviations` minimises the first for a number of labels, q proportional to h the second ([SEME] app. A.2);
at equal expected labels (`expected_distinct`) Poisson sampling never has the greater variance ([SEME] app. C; the
draws' own chances of inclusion are among those that are minimised over). Items may be cells: then everything is of one
item of the cell, and `size` counts its items. Everything here is NumPy on the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import CHUNK, as_floats, show, unmasked
from bayes_assess._tools.axes import x64
from bayes_assess._tools.lazy import jnp
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.acquisition.importance import stochastic_proposal
from bayes_assess.acquisition.repeated_draws import distinct_of, draws_of, log_missed
from bayes_assess.errors import BudgetError, DesignError
from bayes_assess.measures.cell_measure import CellMeasure

Items = Float[np.ndarray, " K"]
Sizes = Int[np.ndarray, " K"] | None  # items of every cell; None where every cell is one item

_BOTTOM, _TOP = -600, 960  # exponents of the greatest deviation between which sums stay within range
_LEAST = 5e-324  # that a positive deviation counts as, if it is that much smaller than the greatest


def blended(probabilities: Float[np.ndarray, "*shape C"], lam: float = 0.9) -> Float[np.ndarray, "*shape C"]:
    """Blend scores with the uniform distribution: lam s + (1 - lam) / C, the labels' model before any ([SEME] (13)).

    Parameters
    ----------
    probabilities : (..., C)
        Scores; they sum to 1 over the classes.
    lam : float in [0, 1]
        How far scores are trusted. With 1, items of sure scores would never be drawn.

    Examples
    --------
    >>> blended(np.array([0.0, 1.0])).round(2).tolist()
    [0.05, 0.95]
    """
    if not 0 <= lam <= 1:
        raise DesignError(f"The share lam of the scores lies in [0, 1]; found {show(lam)}.")
    scores = np.asarray(probabilities, np.float64)
    return lam * scores + (1 - lam) / scores.shape[-1]


@x64
def deviations(measure: CellMeasure, probabilities: Float[np.ndarray, "K C"]) -> Items:
    r"""Compute how far one label of each cell can be expected to move a measure ([SEME] (12), [NH] Remark 4).

    .. math:: h_c^2 = E_y \|Dg(R_a) l(c, y)\|^2, \qquad R_a = E l

    with both expectations over `probabilities`. Of a ratio, sum f / sum g, it is E (f - F g)^2 over the square of the
    mean of g, with F the ratio of the expected sums. It is the static proposal of importance sampling, too.

    Parameters
    ----------
    measure : CellMeasure
        On K cells.
    probabilities : (K, C)
        Of the labels of an item in every cell, such as `blended` scores.

    Returns
    -------
    (K,) deviations, of one item.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> _, table = table_for("precision", ba.Pool(predictions=[0, 1]))
    >>> cells, blocks = np.arange(2), np.zeros(2, int)
    >>> measure = CellMeasure(table, cells, blocks, np.array([6, 2]), cells, 2, 1, 2)
    >>> deviations(measure, np.array([[1.0, 0.0], [0.5, 0.5]])).round(6).tolist()  # |y - 1/2| / (2 / 8)
    [0.0, 2.0]
    """
    size = jnp.asarray(measure.size, jnp.float64)[:, None]
    pi = jnp.asarray(probabilities, jnp.float64)
    norms = measure.norms(measure.risk(pi * size / size.sum()))
    return np.asarray(stochastic_proposal(norms, measure.nonzero, pi, 0.0)[:, -1])


def inclusion_of_deviations(deviation: Items, budget: float, size: Sizes = None) -> Items:
    r"""Choose the inclusion probabilities of least variance that expect `budget` labels ([SEME] app. B.1).

    .. math:: b = \min(1, h / \tau) \quad\text{minimises}\quad \sum_k n_k h_k^2 / b_k
              \quad\text{subject to}\quad \sum_k n_k b_k = B, \; b \le 1,

    with tau such that the sum is B. In x = 1 / tau the sum is concave and piecewise linear; Newton's method from the
    left takes a pass over the items per step, and in each the distance to B or the slope is at most half of what it
    was. Five to ten passes are usual, and no sort. ([SEME] Algorithm 3 has (M - j) / (H - S_j), which is one saturated
    item too many: its probabilities do not sum to M.)

    Parameters
    ----------
    deviation : (K,)
        h of one item of every cell, at least 0, in any unit.
    budget : float
        Expected labels B; above 0, at most the number of items.
    size : (K,) integers, optional
        Items of every cell; 1 each by default.

    Returns
    -------
    (K,) probabilities of one item. Items without deviation are never drawn, unless the budget exceeds the number of
    the others: then what is left of it goes to them evenly.

    Raises
    ------
    BudgetError
        If the budget is not positive, or exceeds the pool.
    DesignError
        If a deviation is negative, infinite or NaN.

    Examples
    --------
    >>> inclusion_of_deviations(np.array([6.0, 2.0, 1.0, 1.0]), 2).tolist()
    [1.0, 0.5, 0.25, 0.25]
    >>> inclusion_of_deviations(np.array([1.0, 0.0]), 12, size=np.array([10, 20])).tolist()
    [1.0, 0.1]
    """
    h = np.asarray(deviation)
    sizes = _checked_sizes(size, len(h))
    greatest, n_items, n_positive = 0.0, 0.0, 0.0
    for part, n in _parts(h, sizes):
        _check_deviations(part)
        greatest = max(greatest, float(part.max()))
        n_items += _total(n, np.ones(len(part), bool))
        n_positive += _total(n, part > 0)
    if not 0 < budget <= n_items * (1 + 1e-12):
        raise BudgetError(
            f"The budget is {show(budget)} labels; it lies above 0, and the pool has {int(n_items):,} items. "
            "Ask for a number of labels in between."
        )
    if budget >= n_positive:
        n_zero = n_items - n_positive
        rest = min((budget - n_positive) / n_zero, 1.0) if n_zero else 0.0
        return np.where(h > 0, 1.0, rest)
    # Very large and small deviations are moved by a power of two, so that sums stay within range and keep their digits.
    exponent = math.frexp(greatest)[1]
    unit = 1.0 if _BOTTOM < exponent < _TOP else 2.0 ** min(_TOP - exponent, 1000)
    tau = _level(h, sizes, float(budget), unit)
    out = np.empty(len(h))
    with np.errstate(over="ignore"):
        for rows in _rows(len(h)):
            np.divide(_scaled(h[rows], unit), tau, out=out[rows])
            np.minimum(out[rows], 1.0, out=out[rows])
    return out


def _level(h: Items, sizes: Sizes, budget: float, unit: float) -> float:
    """Find tau, in the unit, for fewer labels than items with a positive deviation."""
    tau, n_before = math.inf, 0.0
    while True:  # each step saturates another item, or is the last
        sums, n_saturated = [], 0.0
        for part, n in _parts(h, sizes):
            part = _scaled(part, unit)
            open_ = part < tau
            n_saturated += _total(n, ~open_)
            part = part * open_
            sums.append(float(part.sum() if n is None else part @ n))
        if n_saturated >= budget or (n_saturated == n_before and tau < math.inf):
            return tau  # up to rounding, as many are saturated as there are labels; or no more than before
        tau, n_before = min(tau, math.fsum(sums) / (budget - n_saturated)), n_saturated


def _scaled(h: Items, unit: float) -> Items:
    return h if unit == 1 else np.maximum(h * unit, (h > 0) * _LEAST)


def expected_distinct(proposal: Items, n_draws: float, size: Sizes = None) -> float:
    """Compute the expected number of distinct items in draws with replacement, sum n (1 - (1 - q)^N) ([SEME] (83)).

    That many labels N draws cost, and so it is the budget of Poisson sampling to compare them with.

    Parameters
    ----------
    proposal : (K,)
        Probability q that one draw is a given item.
    n_draws : float
        N, at least 0.
    size : (K,) integers, optional

    Examples
    --------
    >>> expected_distinct(np.array([0.5, 0.5]), 2)  # both, or one of them twice
    1.5
    """
    missed, n = _missed(proposal, size)
    if not n_draws >= 0:
        raise BudgetError(f"The number of draws is at least 0; found {show(n_draws)}.")
    with engine.eager():
        return float(distinct_of(n_draws, missed, n)) if n_draws > 0 else 0.0


def draws_for_distinct(proposal: Items, expected: float, size: Sizes = None) -> float:
    """Compute how many draws with replacement expect so many distinct items: the inverse of `expected_distinct`.

    Parameters
    ----------
    proposal : (K,)
    expected : float
        Distinct items, fewer than can be drawn at all.
    size : (K,) integers, optional

    Returns
    -------
    Draws, a real number.

    Examples
    --------
    >>> round(draws_for_distinct(np.array([0.5, 0.5]), 1.5), 9)
    2.0
    """
    missed, n = _missed(proposal, size)
    possible = float(n[missed < 0].sum())
    if not 0 <= expected < possible:
        raise BudgetError(
            f"Draws with replacement expect fewer than the {possible:,.0f} distinct items that they can reach; "
            f"found {show(expected)}. Ask for fewer."
        )
    with engine.eager():
        return float(draws_of(expected, missed, n))


def _rows(n: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))


def _parts(values: Items, size: Sizes) -> Iterator[tuple[Items, Items | None]]:
    """Yield values and sizes as floats, some rows at a time: pools may be large."""
    for rows in _rows(len(values)):
        part = np.asarray(values[rows], np.float64)
        yield part, None if size is None else np.asarray(size[rows], np.float64)


def _total(size: Items | None, among: np.ndarray) -> float:
    return float(np.count_nonzero(among) if size is None else size @ among)


def _checked_sizes(size: Sizes, n_cells: int) -> Sizes:
    if size is None:
        return None
    sizes = np.asarray(unmasked(size))
    if sizes.shape != (n_cells,) or not (sizes >= 0).all():
        raise DesignError(
            f"Sizes are numbers of items, at least 0, one for each of {n_cells:,} groups; "
            f"found {show(sizes)} of the shape {sizes.shape}."
        )
    return sizes


def _check_deviations(h: Items) -> None:
    good = (h >= 0) & (h < np.inf)
    if not good.all():
        raise DesignError(f"Deviations are finite and at least 0; found {show(h[~good][0])}.")


def _missed(proposal: ArrayLike, size: Sizes) -> tuple[Float[Array, " K"], Items]:
    """Return log(1 - q), finite, and the sizes as floats."""
    q = as_floats(proposal)
    good = (q >= 0) & (q <= 1)
    if not good.all():
        raise DesignError(f"Probabilities of draws lie in [0, 1]; found {show(q[~good][0])}.")
    sizes = _checked_sizes(size, len(q))
    with engine.eager():
        return log_missed(q), np.ones(len(q)) if sizes is None else np.asarray(sizes, np.float64)
