r"""Queries straight from posterior draws of any model: of NUTS, of a closed form, or of somebody else's sampler.

Draws are joint over K cells, (S, K), the probabilities that a label agrees with the prediction, or (S, K, C), those of
all labels. What a label would teach is known from the draws alone, since Bayes' rule re-weights them: label y of cell k
multiplies the weight of draw s by theta_sky. So the expected reduction of the variance of any function v of theta is
the variance of its mean given the label,

.. math::
    \mathrm{Var}(v) - \mathrm{E}_y \mathrm{Var}(v \mid y) = \sum_y W_{ky} (\mathrm{E}[v \mid y] - \mathrm{E} v)^2,
    \qquad W_{ky} = \sum_s w_s \theta_{sky} .

Proposals of measures minimise the variance of an estimate, in the mean over the draws: each brings its own measure G_s
and its own derivative along.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Literal

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_one_of, is_whole, show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.lazy import jax, jit, jnp, lax
from bayes_assess._tools.seeds import checked_seed, jax_key
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int, Key
from bayes_assess.acquisition import poisson
from bayes_assess.acquisition._checked_draws import CheckedDraws, checked_draws, of_outcome, shares, whole_items
from bayes_assess.acquisition._measure_draws import believed_measure, expected_norms, measure_reduction
from bayes_assess.acquisition.accuracy_variance import sample_variance_reduction
from bayes_assess.acquisition.arms import best_arm
from bayes_assess.acquisition.confusion import sample_dirichlet_variance_reduction
from bayes_assess.acquisition.equivalence import all_pairs_rope
from bayes_assess.acquisition.importance import floored, normalised
from bayes_assess.errors import BudgetError, DesignError, QuestionError
from bayes_assess.pool.cells import Cells

if TYPE_CHECKING:
    from bayes_assess.measures._pool_losses import Measures
    from bayes_assess.measures.cell_measure import CellMeasure

Goal = Literal["low", "high", "variance"] | Callable[[np.ndarray], ArrayLike]


def importance_proposal(
    draws: object,
    measure: Measures | CellMeasure | None,
    cells: Cells,
    *,
    counts: ArrayLike | None = None,
    positive: Hashable | None = None,
    oracle: Literal["deterministic", "stochastic"] = "deterministic",
    epsilon: float = 1e-3,
    floor: float = 0.1,
    weights: ArrayLike | None = None,
    site: str = "theta",
) -> Float[np.ndarray, " K"]:
    r"""Propose how probable every item is to be drawn next, with replacement, so that a measure varies least ([NH]).

    .. math::
        q_k \propto \sum_s w_s \sum_y \max(\|Dg(R_s) l(k, y)\|, \epsilon_s) \theta_{sky}, \qquad
        R_s = \frac{1}{M} \sum_k \Big[\sum_y n_{ky} l(k, y) + U_k \sum_y \theta_{sky} l(k, y)\Big]

    for an oracle that always gives an item the same label, and the root of the sum of the squares for one that draws
    labels (Propositions 1 and 2). With a single draw, the posterior mean, this is [NH]'s plug-in.

    Parameters
    ----------
    draws : (S, K, C), or (S, K) where there are two classes, or an ArviZ or xarray object or mapping of these
        Probabilities of the labels in every cell; those of the second class where they are (S, K).
    measure : str, Measure, or a list of these, CellMeasure, or None
        What is measured, see `measure_on_cells`.
    cells : Cells
        K cells on which losses are constant.
    counts : (K, C) integers, optional
        Labelled items: they are known, and are not drawn.
    positive : class name, optional
        Positive class of two-class measures.
    oracle : {"deterministic", "stochastic"}
    epsilon : float in [0, 1]
        Least norm where a loss is not 0, as a share of the draw's greatest one.
    floor : float in [0, 1]
        Share of draws that is uniform over the items that can matter, so that no weight p / q exceeds 1 / floor.
    weights : (S,), optional
        Importance weights of the draws.
    site : str
        Name of the variable where `draws` is an object with several.

    Returns
    -------
    (K,) probability that a draw is a given unlabelled item of the cell; times the unlabelled items they sum to 1. Cells
    whose labels cannot matter, and those without unlabelled items, have 0.

    Raises
    ------
    InferenceError
        If the draws are not probabilities of the cells' labels.
    QuestionError
        If the measure does not fit the pool or the cells.
    BudgetError
        If no unlabelled item can matter, or counts do not fit the cells.
    DesignError
        If an option lies outside its range.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(predictions=[0] * 90 + [1] * 10))
    >>> draws = np.array([[0.01, 0.7], [0.03, 0.9]])  # P(label 1) where 0 and where 1 is predicted
    >>> importance_proposal(draws, "f1", cells).round(4)
    array([0.0033, 0.0704])
    """
    _check_share("epsilon", epsilon)
    _check_share("floor", floor)
    if not is_one_of(oracle, ("deterministic", "stochastic")):
        raise DesignError(f"The oracle is 'deterministic' or 'stochastic'; found {show(oracle)}.")
    believed = believed_measure(draws, measure, cells, counts, positive, weights, site)
    power = 1 if oracle == "deterministic" else 2
    own = np.asarray(expected_norms(believed, epsilon, power)) ** (1 / power)
    return _proposed(own, np.where(believed.matters, believed.open, 0), floor)


def inclusion_probabilities(
    draws: object,
    measure: Measures | CellMeasure | None,
    cells: Cells,
    n: float,
    *,
    counts: ArrayLike | None = None,
    positive: Hashable | None = None,
    floor: float = 0.1,
    weights: ArrayLike | None = None,
    site: str = "theta",
) -> Float[np.ndarray, " K"]:
    r"""Choose with what probability every item is in the next batch, so that a measure varies least ([SEME]).

    .. math::
        b_k = \min(1, h_k / \tau), \qquad h_k^2 = \sum_s w_s \sum_y \|Dg(R_s) l(k, y)\|^2 \theta_{sky}

    with tau such that `n` labels are expected (eqs. 12 and app. B.1; R_s as in `importance_proposal`).

    Parameters
    ----------
    draws, measure, cells, counts, positive, weights, site
        As of `importance_proposal`.
    n : float
        Expected labels, at most the unlabelled items.
    floor : float, at least 0
        Share of the mean of h over the items that can matter that is added to theirs; 0 is as published.

    Returns
    -------
    (K,) probability of a given unlabelled item of the cell; times the unlabelled items they sum to `n`. Items that
    cannot matter have 0, unless `n` exceeds the others.

    Raises
    ------
    InferenceError, QuestionError
        As of `importance_proposal`.
    BudgetError
        If `n` is not positive, or exceeds the unlabelled items.
    DesignError
        If the floor is negative or not finite.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> cells = ba.cells(ba.Pool(predictions=[0] * 90 + [1] * 10))
    >>> b = inclusion_probabilities(np.array([[0.01, 0.7], [0.03, 0.9]]), "f1", cells, n=20)
    >>> b.round(3), round(float(b @ cells.sizes), 9)
    (array([0.151, 0.637]), 20.0)
    """
    _check_share("floor", floor)
    believed = believed_measure(draws, measure, cells, counts, positive, weights, site)
    h = np.sqrt(np.asarray(expected_norms(believed, 0.0, 2)))
    among = np.where(believed.matters, believed.open, 0)
    h = np.where(believed.matters, h + floor * (among @ h) / among.sum(), 0.0)
    return poisson.inclusion_of_deviations(np.where(believed.open > 0, h, 0.0), n, believed.open)


def variance_reduction(
    draws: object,
    sizes: ArrayLike | None = None,
    *,
    measure: Measures | CellMeasure | None = None,
    cells: Cells | None = None,
    counts: ArrayLike | None = None,
    positive: Hashable | None = None,
    weights: ArrayLike | None = None,
    site: str = "theta",
) -> Float[np.ndarray, " K"]:
    """Compute by how much one label of every cell is expected to reduce the posterior variance ([ABA] Table 1).

    That of the cells' own accuracies or rows, each times its share of the pool; or that of a measure, to which all
    cells contribute and which a label of one moves as far as the draws say so. With C outcomes, the variance of a row
    is the sum of those of its probabilities; with several measures, the sum of theirs.

    Parameters
    ----------
    draws : (S, K) or (S, K, C), or an ArviZ or xarray object or mapping of these
    sizes : (K,) non-negative, optional
        Items of every cell, whose shares weigh its reduction; alike if left out. Not with a measure.
    measure, cells : optional
        A measure on cells, see `importance_proposal`; then draws (S, K) are probabilities of the second of two classes.
    counts, positive, weights, site
        As of `importance_proposal`; the first two with a measure.

    Returns
    -------
    (K,) expected reductions, 0 or more.

    Raises
    ------
    InferenceError, QuestionError, BudgetError
        As of `importance_proposal`; and if a measure comes without cells, or sizes with a measure.

    Examples
    --------
    >>> draws = np.array([[0.2, 0.5], [0.8, 0.5]])  # nothing is left to learn of the second cell
    >>> variance_reduction(draws).round(4)  # half of 0.3^2, of which 0.6^2 goes
    array([0.0162, 0.    ])
    """
    if measure is None and cells is None:
        theta, w = checked_draws(draws, site, weights)
        share, mean = shares(sizes, theta.shape[1]), np.tensordot(w, theta, 1)
        return np.maximum(_reductions(mean, theta, share, w), 0.0)
    if cells is None or sizes is not None:
        raise QuestionError("A measure comes with `cells`, which say how many items there are, and without `sizes`.")
    return np.asarray(measure_reduction(believed_measure(draws, measure, cells, counts, positive, weights, site)))


def thompson(
    draws: object,
    n: int = 1,
    *,
    key: Key[jax.Array, ""] | int,
    goal: Goal = "low",
    outcome: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    remaining: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    site: str = "theta",
) -> Int[np.ndarray, " n"]:
    """Choose cells by Thompson sampling: for each of `n` labels the best cell of another posterior draw ([ABA] Alg. 1).

    Parameters
    ----------
    draws : (S, K) or (S, K, C), or an ArviZ or xarray object or mapping of these
    n : int
        Labels to ask for.
    key : PRNG key, or seed
        The same one gives the same cells.
    goal : {"low", "high", "variance"}, or callable
        What is looked for: the least or the greatest probability; the greatest expected reduction of the variance, the
        label being imagined under the draw; or a reward of one's own from one draw, (K,) or (K, C), to (A,) arms, such
        as ``lambda theta: cost_reward(theta, cost)``.
    outcome : int or (K,) integers, optional
        Which outcome's probability is low or high, where draws have C of them: ``np.arange(K)`` is the agreement of
        predicted classes.
    sizes : (K,), optional
        Items of every cell, whose shares weigh reductions of the variance.
    remaining : (A,) integers, optional
        Items of every arm that may still be asked for: no arm is chosen more often.
    weights, site
        As of `importance_proposal`.

    Returns
    -------
    (n,) integers, arms in the order of the draws; ties are broken at random.

    Raises
    ------
    InferenceError
        If the draws are no probabilities, or it is not said which outcome counts.
    DesignError
        If the goal is unknown, a reward has another shape or is not finite, or the seed is none.
    BudgetError
        If `n` is no positive whole number, or exceeds what remains.

    Examples
    --------
    >>> draws = np.array([[0.9, 0.5, 0.6], [0.8, 0.6, 0.5]])
    >>> sorted(set(thompson(draws, 20, key=0).tolist()))  # either draw has its own least accurate cell
    [1, 2]
    >>> sorted(thompson(draws, 3, key=0, remaining=[5, 1, 1]).tolist())
    [0, 1, 2]
    """
    if not is_whole(n):
        raise BudgetError(f"Ask for a positive whole number of labels; found {show(n)}.")
    if isinstance(goal, str) and goal not in ("low", "high", "variance"):
        raise DesignError(f"The goal is 'low', 'high', 'variance' or a function of a draw; found {show(goal)}.")
    theta, w = checked_draws(draws, site, weights)
    given = key if isinstance(key, jax.Array) else jax_key(checked_seed(key), "thompson")
    key_draw, key_ties = engine.random.split(given)
    u = np.asarray(jax.random.uniform(key_draw, (int(n),), np.float32))
    place = np.searchsorted(np.cumsum(w), u * w.sum(), side="right")
    place = np.minimum(place, np.flatnonzero(w)[-1])  # rounding
    value = _rewards(CheckedDraws(theta, w), place, goal, outcome, sizes)
    n_open = np.full(value.shape[1], int(n)) if remaining is None else whole_items(remaining, value.shape[1])
    if n > n_open.sum():
        raise BudgetError(f"Asked for {n:,} labels, but only {int(n_open.sum()):,} items remain; ask for fewer.")
    return np.asarray(_best_arms_in_turn(key_ties, value, n_open))


def rope(
    draws: object,
    rope: float = 0.05,
    *,
    outcome: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    site: str = "theta",
) -> Float[np.ndarray, "K K 3"]:
    """Compute how probable it is that one cell is worse than, practically equal to, or better than another ([ABA]).

    Parameters
    ----------
    draws : (S, K) or (S, K, C), or an ArviZ or xarray object or mapping of these
    rope : float in [0, 1)
        Half-width of the region of practical equivalence.
    outcome : int or (K,) integers, optional
        As of `thompson`: which outcome's probability is compared, where draws have C of them.
    weights, site
        As of `importance_proposal`.

    Returns
    -------
    (K, K, 3) masses of theta_g - theta_h below -rope, within, and above rope; they sum to 1. `verdict` reads them.

    Raises
    ------
    InferenceError
        If the draws are no probabilities, or it is not said which outcome counts.
    QuestionError
        If the rope is no number in [0, 1).

    Examples
    --------
    >>> rope(np.array([[0.9, 0.5], [0.6, 0.58]]))[0, 1].tolist()
    [0.0, 0.5, 0.5]
    """
    theta, w = checked_draws(draws, site, weights)
    return np.asarray(all_pairs_rope(of_outcome(theta, outcome), rope, w))


def _rewards(
    found: CheckedDraws, place: Int[np.ndarray, " n"], goal: Goal, outcome: ArrayLike | None, sizes: ArrayLike | None
) -> Float[np.ndarray, "n A"]:
    """Compute the reward of every arm under each of the draws chosen."""
    theta, w = found
    if goal == "variance":
        share = shares(sizes, theta.shape[1])
        return np.stack([_reductions(draw, theta, share, w) for draw in theta[place]])
    if isinstance(goal, str):
        value = of_outcome(theta, outcome)[place]
        return value if goal == "high" else -value
    values = [np.asarray(goal(draw), np.float64) for draw in theta[place]]
    if values[0].ndim != 1 or not np.isfinite(values).all():
        raise DesignError(
            f"A reward is a finite number for every arm, (A,), of one draw; found shape {values[0].shape}, or NaN."
        )
    return np.stack(values)


def _reductions(
    at: Float[np.ndarray, "K *C"], theta: Float[np.ndarray, "S K *C"], share: Float[np.ndarray, " K"], w: np.ndarray
) -> Float[np.ndarray, " K"]:
    """Compute what a label of every cell, drawn at these probabilities, takes from the variances of draws."""
    reduction = sample_variance_reduction if theta.ndim == 2 else sample_dirichlet_variance_reduction
    return np.asarray(reduction(at, theta, share, w))


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise DesignError(f"The {name} lies in [0, 1]; found {show(value)}.")


def _proposed(own: Float[np.ndarray, " K"], among: Int[np.ndarray, " K"], floor: float) -> Float[np.ndarray, " K"]:
    """Scale a proposal for the items `among` which it draws, with the floor."""
    labelled = np.zeros(len(own))  # of which none is drawn
    table: Float[Array, "A 2"] = np.stack([labelled, own], axis=-1)
    numbers: Float[Array, "A 2"] = np.stack([labelled, among], axis=-1)
    with engine.eager():
        proposal = floored(normalised(table, numbers), numbers[:, 1], floor)
    return np.where(among > 0, proposal[:, -1], 0.0)


@x64
def _best_arms_in_turn(key: PRNGKey, value: Array, remaining: Array) -> Int[Array, " n"]:
    return _best_arms_compiled(key, jnp.asarray(value), jnp.asarray(remaining))


@jit
def _best_arms_compiled(key, value, remaining):
    def choose(left, one):
        i, reward = one
        arm = best_arm(jax.random.fold_in(key, i), reward, left > 0)
        return left.at[arm].add(-1), arm

    return lax.scan(choose, remaining, (jnp.arange(len(value)), value))[1]
