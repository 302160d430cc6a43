"""Posterior draws of the outcome probabilities of cells, checked at the public entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import as_floats, show
from bayes_assess._tools.lazy import jax
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import BudgetError, InferenceError
from bayes_assess.models.posterior_draws import check_probabilities, draws_of_site
from bayes_assess.models.sampled_belief import SampledBelief


class CheckedDraws(NamedTuple):
    """Draws that are probabilities, and their weights.

    Attributes
    ----------
    theta : (S, K) or (S, K, C)
    weights : (S,)
        They sum to 1.
    """

    theta: Float[np.ndarray, "S K *C"]
    weights: Float[np.ndarray, " S"]

    @property
    def mean(self) -> Float[np.ndarray, "K *C"]:
        """Posterior mean of every cell."""
        return np.tensordot(self.weights, self.theta, 1)


def numbers_of_draws(draws: Any, site: str, names: Sequence[np.ndarray] = ()) -> Float[np.ndarray, "S *shape"]:
    """Convert draws to an array: those of an array or of lists, or of a site of an ArviZ object, in the order of names.

    Raises
    ------
    InferenceError
        If they are no numbers, or there is no such site.

    Examples
    --------
    >>> numbers_of_draws([[0.25, 0.5]], "theta").shape
    (1, 2)
    """
    is_array = isinstance(draws, np.ndarray | jax.Array | list | tuple)
    try:
        return as_floats(draws if is_array else draws_of_site(draws, site, names))
    except InferenceError:
        raise
    except (TypeError, ValueError) as error:
        raise InferenceError(
            f"Posterior draws are numbers, (draws, cells) or (draws, cells, outcomes): {error}"
        ) from None


def checked_draws(
    draws: object,
    site: str = "theta",
    weights: ArrayLike | None = None,
    n_cells: int | None = None,
    names: Sequence[np.ndarray] = (),
) -> CheckedDraws:
    """Return draws of probabilities of cells as 64-bit arrays.

    Parameters
    ----------
    draws : (S, K) or (S, K, C), SampledBelief, ArviZ or xarray object, or mapping of str to array
        Probabilities of agreement, or of all of C outcomes, which sum to 1.
    site : str
        Which variable of an object with several.
    weights : (S,) non-negative, optional
        Importance weights, equal if left out; only their ratios matter.
    n_cells : int, optional
        K, where it is known.
    names : sequence of arrays, optional
        Names of cells and outcomes, by which axes of an object are ordered; see `draws_of_site`.

    Raises
    ------
    InferenceError
        If the shape is another, a value is NaN or lies outside [0, 1], the outcomes of a cell do not sum to 1, or the
        weights are no weights.

    Examples
    --------
    >>> checked_draws({"theta": [[0.25, 0.5], [0.75, 1.0]]}).mean.tolist()
    [0.5, 0.75]
    """
    if isinstance(draws, SampledBelief):
        weights = draws.importance if weights is None else weights
        draws = draws.draws
    theta = numbers_of_draws(draws, site, names)
    if theta.ndim not in (2, 3) or 0 in theta.shape:
        raise InferenceError(
            f"Posterior draws have the shape (draws, cells), or (draws, cells, outcomes); found {theta.shape}."
        )
    if n_cells is not None and theta.shape[1] != n_cells:
        raise InferenceError(
            f"The posterior draws are of {theta.shape[1]:,} cells, and there are {n_cells:,}; "
            "pass draws with a column for each, in the order of the cells' names."
        )
    check_probabilities(theta)
    theta = np.clip(theta, 0.0, 1.0)
    if theta.ndim == 3:
        theta = theta / theta.sum(-1, keepdims=True)
    return CheckedDraws(theta, _checked_weights(weights, len(theta)))


def of_outcome(theta: np.ndarray, outcome: ArrayLike | None) -> Float[np.ndarray, "S K"]:
    """Return the probability of one outcome of every cell, (S, K).

    Raises
    ------
    InferenceError
        If it is not said which, or there is no such outcome.

    Examples
    --------
    >>> of_outcome(np.array([[[0.2, 0.8], [0.5, 0.5]]]), [1, 0]).tolist()
    [[0.8, 0.5]]
    """
    if theta.ndim == 2:
        if outcome is not None:
            raise InferenceError("Draws (draws, cells) are of one probability each; leave out `outcome`.")
        return theta
    n_cells, n_outcomes = theta.shape[1:]
    if outcome is None:
        raise InferenceError(
            f"The draws have {n_outcomes} outcomes in every cell: say which one's probability counts, by outcome=; "
            "np.arange(K) is the agreement of predicted classes."
        )
    which = np.asarray(outcome)
    if (
        which.shape not in ((), (n_cells,))
        or which.dtype.kind not in "iu"
        or (which < 0).any()
        or (which >= n_outcomes).any()
    ):
        raise InferenceError(f"`outcome` is one of 0 to {n_outcomes - 1}, or one for every cell; found {show(which)}.")
    return theta[:, np.arange(n_cells), which]


def shares(sizes: ArrayLike | None, n_cells: int) -> Float[np.ndarray, " K"]:
    """Return the share of every cell in all items; alike without sizes.

    Raises
    ------
    InferenceError
        If sizes are not one finite number, 0 or more, for each cell, or all are 0.

    Examples
    --------
    >>> shares([3, 1], 2).tolist()
    [0.75, 0.25]
    """
    numbers = np.ones(n_cells) if sizes is None else as_floats(sizes)
    if numbers.shape != (n_cells,) or not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
        raise InferenceError(
            f"Sizes are numbers of items, 0 or more, one for each of {n_cells:,} cells; found {show(numbers)}."
        )
    return numbers / numbers.sum()


def _checked_weights(weights: ArrayLike | None, n_draws: int) -> Float[np.ndarray, " S"]:
    if weights is None:
        return np.full(n_draws, 1 / n_draws)
    values = as_floats(weights)
    if values.shape != (n_draws,) or not ((values >= 0) & (values < np.inf)).all() or not values.any():
        raise InferenceError(
            f"Weights of draws are finite and 0 or more, not all of them 0, one for each of {n_draws:,} draws; "
            f"found {show(values)} of shape {values.shape}."
        )
    return values / values.sum()


def whole_items(remaining: ArrayLike, n_arms: int) -> Int[np.ndarray, " A"]:
    """Return how many items of every arm remain.

    Raises
    ------
    BudgetError
        If these are not one whole number, 0 or more, for each arm.

    Examples
    --------
    >>> whole_items([3, 1], 2).tolist()
    [3, 1]
    """
    numbers = np.asarray(remaining)
    if numbers.shape != (n_arms,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise BudgetError(f"What remains is a whole number of items of each of {n_arms:,} arms; found {show(numbers)}.")
    return numbers
